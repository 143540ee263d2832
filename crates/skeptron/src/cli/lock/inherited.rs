//! What this process got from whoever started it.

use std::fs;

/// The signals that it was told to ignore, signal S at bit S−1: under `nohup`, or as a background job
/// of a script. None where the system does not tell.
pub(super) fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Who that is, for those who wonder who holds a lock.
pub(super) fn owner() -> String {
    let user = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = if host.trim().is_empty() { "localhost" } else { host.trim() };
    let process = std::process::id();
    match user {
        Some(user) => format!("{user}@{host}, process {process}"),
        None => format!("{host}, process {process}"),
    }
}

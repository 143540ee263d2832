//! Tests hold whatever the signals are that their caller ignores.

use std::sync::Once;

use nix::sys::signal::Signal;
use tokio::signal::unix::SignalKind;

/// What this process was started to ignore, as under `nohup`, its children would ignore, too; but not what
/// it catches.
pub(crate) fn heed_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _context = runtime.enter();
        for signal in [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGHUP, Signal::SIGTERM] {
            // The others are left alone: Ctrl-C shall end the tests.
            if has_signal(std::process::id(), "SigIgn:", signal) {
                let kind = SignalKind::from_raw(signal as i32);
                drop(tokio::signal::unix::signal(kind).unwrap());
            }
        }
    });
}

/// Whether a signal is in that set of a process, as the system shows it.
pub(crate) fn has_signal(process: u32, set: &str, signal: Signal) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix(set));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal as u32 - 1)) != 0)
}

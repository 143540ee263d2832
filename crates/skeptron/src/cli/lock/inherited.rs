//! What this process got from whoever started it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

/// The process that holds the locks under which another one runs.
pub(super) const HOLDER: &str = "SKEPTRON_HOLDER";
/// Those locks, with their fences.
pub(super) const FENCES: &str = "SKEPTRON_FENCES";

/// The locks that a `skeptron lock` around this one holds. Its variables alone say nothing: whoever it started
/// may have outlived it. But it is there for as long as it is an ancestor.
pub(super) fn held_around() -> BTreeMap<String, String> {
    let holder: Option<u32> = std::env::var(HOLDER).ok().and_then(|text| text.parse().ok());
    if !holder.is_some_and(|holder| ancestors().any(|ancestor| ancestor == holder)) {
        return BTreeMap::new();
    }
    let fences = std::env::var(FENCES).unwrap_or_default();
    serde_json::from_str(&fences).unwrap_or_default()
}

/// The parent of this process, its parent, and so on.
fn ancestors() -> impl Iterator<Item = u32> {
    std::iter::successors(parent("self"), |process| parent(&process.to_string()))
}

fn parent(process: &str) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program stands in brackets, and may have brackets and spaces itself.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok().filter(|&parent| parent > 0)
}

/// Who that is, for those who wonder who holds a lock.
pub(super) fn owner() -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = if host.trim().is_empty() { "localhost" } else { host.trim() };
    let process = std::process::id();
    match user() {
        Some(user) => format!("{user}@{host}, process {process}"),
        None => format!("{host}, process {process}"),
    }
}

/// The user that this process runs as. The system knows better than the environment, which cron
/// leaves empty and `su` leaves as it was.
fn user() -> Option<String> {
    let number = fs::metadata("/proc/self").ok().map(|process| process.uid());
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let said = || ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    let named = number.and_then(|number| name_of(number, &users));
    named.or_else(said).or_else(|| number.map(|number| format!("user {number}")))
}

/// The name of a user, of the lines of `/etc/passwd`.
fn name_of(number: u32, users: &str) -> Option<String> {
    let of_line = |line: &str| {
        let mut fields = line.split(':');
        let (name, _password, uid) = (fields.next()?, fields.next()?, fields.next()?);
        (uid.parse() == Ok(number) && !name.is_empty()).then(|| name.to_string())
    };
    users.lines().find_map(of_line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_the_name_that_the_system_knows() {
        let users =
            "root:x:0:0:root:/root:/bin/sh\n# a comment\n\n:x:7:7::/:\ndeploy:x:1001:1001::/:\n";
        assert_eq!(name_of(0, users).as_deref(), Some("root"));
        assert_eq!(name_of(1001, users).as_deref(), Some("deploy"));
        assert_eq!([7, 100].map(|number| name_of(number, users)), [None, None]);
    }
}

//! Everything that a command has started, wherever it has hidden: in sessions and process groups of
//! its own, or orphaned.

use std::fs;

use nix::errno::Errno;
use nix::sys::signal::{self, Signal};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{self, Pid};

/// A process, as the system lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Listed {
    pid: Pid,
    parent: Pid,
    group: Pid,
    /// In ticks since the machine started. Numbers of processes are used again, these pairs are not.
    started: u64,
    /// It only waits for its parent to take note of its end.
    ended: bool,
}

impl Listed {
    /// Of a line of `/proc/PID/stat`. The name in it may have spaces and brackets.
    fn read(stat: &str) -> Option<Self> {
        let (before, after) = stat.rsplit_once(')')?;
        let pid = before.split_once(' ')?.0.parse().ok()?;
        let fields: Vec<&str> = after.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse().ok().map(Pid::from_raw);
        Some(Listed {
            pid: Pid::from_raw(pid),
            parent: number(1)?,
            group: number(2)?,
            started: fields.get(19)?.parse().ok()?,
            ended: matches!(*fields.first()?, "Z" | "X"),
        })
    }

    /// Sends it a signal; whoever has ended meanwhile needs none.
    fn signal(&self, signal: Signal) {
        let _ = signal::kill(self.pid, signal);
    }
}

/// All processes; none where the system does not list them.
fn all() -> Vec<Listed> {
    let Ok(folders) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = folders.filter_map(|folder| {
        let name = folder.ok()?.file_name().into_string().ok()?;
        name.bytes().all(|b| b.is_ascii_digit()).then_some(name)
    });
    numbers
        .filter_map(|number| {
            Listed::read(&fs::read_to_string(format!("/proc/{number}/stat")).ok()?)
        })
        .collect()
}

/// What one command has started and is still alive, itself included.
#[derive(Debug)]
pub(super) struct Descendants {
    living: Vec<Listed>,
}

impl Descendants {
    /// All that `root` has started, except one. As `root` adopts orphans, nobody is missed.
    pub(super) fn of(root: Pid, except: Option<Pid>) -> Self {
        let all = all();
        let is_root = |it: &Listed| it.pid == root;
        Descendants { living: below(&all, is_root, except) }
    }

    /// The command, all below it and all in its process group. Orphans that left the group are missed.
    pub(super) fn of_command(command: Pid, leads_group: bool) -> Self {
        let all = all();
        let mut living = below(&all, |it| it.pid == command, None);
        let known = |living: &[Listed], it: &Listed| living.iter().any(|other| other.pid == it.pid);
        for it in all.iter().filter(|it| !it.ended) {
            let belongs = it.pid == command || (leads_group && it.group == command);
            if belongs && !known(&living, it) {
                living.push(*it);
            }
        }
        Descendants { living }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.living.is_empty()
    }

    pub(super) fn signal(&self, signal: Signal) {
        self.living.iter().for_each(|it| it.signal(signal));
    }

    /// The same without this process.
    pub(super) fn except(mut self, process: Pid) -> Self {
        self.living.retain(|it| it.pid != process);
        self
    }

    /// The same without those in this process group.
    pub(super) fn outside(mut self, group: Pid) -> Self {
        self.living.retain(|it| it.group != group);
        self
    }

    /// The same ones as far as they live, and what they have started since.
    pub(super) fn refreshed(&self) -> Self {
        let all = all();
        let is_same = |it: &Listed| {
            self.living.iter().any(|old| (old.pid, old.started) == (it.pid, it.started))
        };
        let mut living: Vec<Listed> =
            all.iter().filter(|it| is_same(it) && !it.ended).copied().collect();
        living.extend(below(&all, is_same, None).into_iter().filter(|it| !is_same(it)));
        Descendants { living }
    }
}

/// Those below the roots that have not ended.
fn below(all: &[Listed], is_root: impl Fn(&Listed) -> bool, except: Option<Pid>) -> Vec<Listed> {
    let mut parents: Vec<Pid> = all.iter().filter(|it| is_root(it)).map(|it| it.pid).collect();
    let mut found: Vec<Listed> = Vec::new();
    while let Some(parent) = parents.pop() {
        let children = all.iter().filter(|it| it.parent == parent && Some(it.pid) != except);
        for child in children {
            if !found.iter().any(|known| known.pid == child.pid) {
                found.push(*child);
                parents.push(child.pid);
            }
        }
    }
    found.retain(|it| !it.ended);
    found
}

/// From now on this process adopts what its descendants leave behind, where the system can do that.
pub(super) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    // Without it, orphans that leave the command's process group outlive a loss.
    let _ = nix::sys::prctl::set_child_subreaper(true);
}

/// Takes note of the end of orphans that this process adopted; its own children are not among them.
pub(super) fn bury_orphans(own: &[Pid]) {
    let this = unistd::getpid();
    let is_orphan = |it: &Listed| it.parent == this && it.ended && !own.contains(&it.pid);
    for it in all().into_iter().filter(is_orphan) {
        match waitpid(it.pid, Some(WaitPidFlag::WNOHANG)) {
            Ok(_) | Err(Errno::ECHILD) => {}
            Err(error) => tracing::debug!("cannot take note of the end of {}: {error}", it.pid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(pid: i32, parent: i32, ended: bool) -> Listed {
        let pid = Pid::from_raw(pid);
        Listed { pid, parent: Pid::from_raw(parent), group: pid, started: 0, ended }
    }

    #[test]
    fn a_name_with_brackets_and_spaces_is_no_trouble() {
        let stat = "42 (a) b (c) S 7 40 40 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 12345 1 2 3";
        let read = Listed::read(stat).unwrap();
        let expected = Listed {
            pid: Pid::from_raw(42),
            parent: Pid::from_raw(7),
            group: Pid::from_raw(40),
            started: 12345,
            ended: false,
        };
        assert_eq!(read, expected);
        assert_eq!(Listed::read("42 (a"), None);
    }

    #[test]
    fn descendants_are_found_through_those_that_have_ended() {
        let all = [
            listed(1, 0, false),
            listed(2, 1, false),
            listed(3, 2, true),
            listed(4, 3, false),
            listed(5, 1, false),
            listed(6, 9, false),
        ];
        let is_root = |it: &Listed| it.pid == Pid::from_raw(1);
        let found = below(&all, is_root, Some(Pid::from_raw(5)));
        let numbers: Vec<i32> = found.iter().map(|it| it.pid.as_raw()).collect();
        assert_eq!(numbers, [2, 4]);
    }
}

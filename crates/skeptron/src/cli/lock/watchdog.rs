//! A second process that ends the command in time when the one that holds the lock cannot: because it
//! was stopped or killed.
//!
//! It is told the deadlines through its standard input. It shares neither terminal nor process group
//! with anybody, so that keys which stop or end the others do not reach it.

use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdin, Command, Stdio};

use anyhow::Result;
use clap::Args;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Pid;
use skeptron_member::clock::MonoTime;

use super::super::Verdict;
use super::leash::THIS_PROGRAM;

/// Not for people.
#[derive(Debug, Args)]
pub(crate) struct WatchdogArgs {
    /// The process that holds the lock
    holder: i32,
}

/// The name of the command.
pub(crate) const NAME: &str = "watchdog";

/// What the watchdog is to do if it hears nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Orders {
    /// When to ask the command to end.
    pub(super) term: MonoTime,
    /// When to kill it.
    pub(super) kill: MonoTime,
    /// The command, once it runs, and whether it leads a process group.
    pub(super) command: Option<(Pid, bool)>,
}

impl Orders {
    /// One line.
    fn written(&self) -> String {
        let (pid, leads) = self.command.map_or((0, false), |(pid, leads)| (pid.as_raw(), leads));
        format!("{} {} {pid} {}\n", self.term.nanos(), self.kill.nanos(), u8::from(leads))
    }

    fn read(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let mut moment = || words.next()?.parse().ok().map(MonoTime::from_nanos);
        let (term, kill) = (moment()?, moment()?);
        let pid: i32 = words.next()?.parse().ok()?;
        let leads = words.next()? == "1";
        let command = (pid > 0).then_some((Pid::from_raw(pid), leads));
        Some(Orders { term, kill, command })
    }
}

/// The last line: nothing is left to be watched.
const DONE: &str = "done\n";

/// The watchdog of this process, if the system can have one.
#[derive(Debug)]
pub(super) struct Watchdog {
    pid: Pid,
    input: ChildStdin,
}

impl Watchdog {
    pub(super) fn start() -> Option<Self> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        let mut command = Command::new(THIS_PROGRAM);
        command.arg0("skeptron").arg(NAME).arg(std::process::id().to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut process = command.spawn().ok()?;
        let input = process.stdin.take()?;
        Some(Watchdog { pid: Pid::from_raw(process.id().cast_signed()), input })
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    pub(super) fn order(&mut self, orders: Orders) {
        self.tell(&orders.written());
    }

    pub(super) fn dismiss(mut self) {
        self.tell(DONE);
    }

    /// Never waits: a watchdog that does not listen must not hold up whoever keeps the lock.
    fn tell(&mut self, line: &str) {
        let mut ready = [PollFd::new(self.input.as_fd(), PollFlags::POLLOUT)];
        // A pipe with any room has room for a line.
        if poll(&mut ready, PollTimeout::ZERO).is_ok_and(|ready| ready > 0) {
            // A watchdog that has died does not bite; the command goes on without it.
            let _ = self.input.write_all(line.as_bytes());
        }
    }
}

impl WatchdogArgs {
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn run(self) -> Result<Verdict> {
        anyhow::bail!("there is no watchdog on this system")
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn run(self) -> Result<Verdict> {
        watch::Watch::begin(Pid::from_raw(self.holder))?.until_done()?;
        Ok(Verdict::Fine)
    }
}

#[cfg(target_os = "linux")]
mod watch {
    use std::io::{self, BufRead as _};
    use std::os::fd::AsFd as _;
    use std::thread::sleep;
    use std::time::Duration;

    use anyhow::Result;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use nix::sys::signal::{self, Signal};
    use nix::sys::time::TimeSpec;
    use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
    use nix::unistd::{self, Pid};
    use skeptron_member::clock::MonoTime;

    use super::super::deadlines::now;
    use super::super::descendants::Descendants;
    use super::{DONE, Orders};

    /// How often it is looked whether everybody has died.
    const LOOK: Duration = Duration::from_millis(10);
    /// The same while nothing is urgent.
    const SELDOM: Duration = Duration::from_millis(100);

    pub(super) struct Watch {
        holder: Pid,
        orders: Orders,
        /// It rings on the clock of the deadlines, also when the machine wakes up.
        timer: TimerFd,
        /// The beginning of a line.
        heard: String,
    }

    enum News {
        Orders,
        Done,
        HolderDied,
    }

    impl Watch {
        pub(super) fn begin(holder: Pid) -> Result<Self> {
            // It can only fail for the leader of a group, which this process is not.
            let _ = unistd::setsid();
            let _ = std::env::set_current_dir("/");
            let orders = Orders { term: MonoTime::NEVER, kill: MonoTime::NEVER, command: None };
            let timer = TimerFd::new(ClockId::CLOCK_BOOTTIME, TimerFlags::empty())?;
            Ok(Watch { holder, orders, timer, heard: String::new() })
        }

        pub(super) fn until_done(mut self) -> Result<()> {
            loop {
                if self.is_readable(self.orders.term.min(self.orders.kill))? {
                    match self.listen() {
                        News::Orders => continue,
                        News::Done => return Ok(()),
                        News::HolderDied => {
                            self.end_the_orphaned();
                            return Ok(());
                        }
                    }
                }
                let now = now();
                if now >= self.orders.kill {
                    self.kill_group();
                    let all = self.all();
                    all.signal(Signal::SIGKILL);
                    // Somebody may have been started meanwhile.
                    let again = if all.is_empty() { MonoTime::NEVER } else { now.after(LOOK) };
                    (self.orders.term, self.orders.kill) = (MonoTime::NEVER, again);
                } else if now >= self.orders.term {
                    self.all().signal(Signal::SIGTERM);
                    self.orders.term = MonoTime::NEVER;
                }
            }
        }

        /// Waits for news, but no longer than that.
        fn is_readable(&self, deadline: MonoTime) -> Result<bool> {
            if deadline == MonoTime::NEVER {
                self.timer.unset()?;
            } else {
                // Zero would unset it.
                let at = TimeSpec::from(Duration::from_nanos(deadline.nanos().max(1)));
                self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
            }
            let input = io::stdin();
            let mut ready = [
                PollFd::new(input.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.timer.as_fd(), PollFlags::POLLIN),
            ];
            match poll(&mut ready, PollTimeout::NONE) {
                Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
            Ok(ready[0].any().unwrap_or(false))
        }

        fn listen(&mut self) -> News {
            let mut input = io::stdin().lock();
            let bytes = input.fill_buf().unwrap_or_default();
            let length = bytes.len();
            if length == 0 {
                return News::HolderDied;
            }
            self.heard.push_str(&String::from_utf8_lossy(bytes));
            input.consume(length);
            while let Some(end) = self.heard.find('\n') {
                let line: String = self.heard.drain(..=end).collect();
                if line == DONE {
                    return News::Done;
                }
                if let Some(orders) = Orders::read(&line) {
                    self.orders = orders;
                }
            }
            News::Orders
        }

        fn all(&self) -> Descendants {
            Descendants::of(self.holder, Some(unistd::getpid()))
        }

        /// At once: to list all processes takes a while on a busy machine.
        fn kill_group(&self) {
            if let Some((command, true)) = self.orders.command {
                // Whoever has ended needs no signal.
                let _ = signal::killpg(command, Signal::SIGKILL);
            }
        }

        /// Nobody keeps the lock any more: the command is asked to end now, and killed when the lock
        /// ends.
        fn end_the_orphaned(&self) {
            let Some((command, leads_group)) = self.orders.command else { return };
            let mut all = Descendants::of_command(command, leads_group);
            all.signal(Signal::SIGTERM);
            while !all.is_empty() {
                let left = self.orders.kill.since(now());
                if left.is_zero() {
                    self.kill_group();
                    all.signal(Signal::SIGKILL);
                    sleep(LOOK);
                } else {
                    sleep(left.min(SELDOM));
                    if now() >= self.orders.kill {
                        continue;
                    }
                }
                all = all.refreshed();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_survive_their_text() {
        let (term, kill) = (MonoTime::from_nanos(7), MonoTime::NEVER);
        for command in [None, Some((Pid::from_raw(42), true)), Some((Pid::from_raw(42), false))] {
            let orders = Orders { term, kill, command };
            assert_eq!(Orders::read(&orders.written()), Some(orders));
        }
        assert_eq!(Orders::read(DONE), None);
    }
}

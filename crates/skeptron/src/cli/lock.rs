//! `skeptron lock`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use nix::sys::signal::Signal;
use serde_json::json;
use skeptron_client::{
    Client, ClientConfig, ClientError, Fence, Guard, Guards, Mode, ReleaseError,
};

use super::Verdict;
use super::duration;
use super::failure::{self, Failure};
use super::reach::ReachArgs;
use super::runtime::{self, Signals};
use child::Child;
use deadlines::{Deadlines, Due, Grace, now};

mod child;
mod deadlines;
mod descendants;
mod inherited;
pub(crate) mod leash;
mod waiting;
pub(crate) mod watchdog;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skeptron lock deploy -- ./deploy.sh                 run it while no other machine does
  skeptron lock deploy --wait 5s -- ./deploy.sh       … waiting at most 5 seconds
  skeptron lock nightly --no-wait -- ./report         … or skip it if the lock is held
  skeptron lock orders/42 -- sh -c 'write --fence $SKEPTRON_FENCE'
  skeptron lock accounts/7 accounts/9 -- ./transfer   hold both, or neither
  skeptron lock catalogue --shared -- ./read          shared with other readers, but no writer
  skeptron lock gpus --permits 4 -- ./train           shared with at most three others
  skeptron lock deploy                                hold it until Ctrl-C, and print the fence
  skeptron lock deploy --reentrant -- ./step          for scripts that may run under the same lock

CMD finds the lock's name in SKEPTRON_LOCK and the fence of this entry in SKEPTRON_FENCE: a number
that rises from holder to holder, so that a resource can reject a holder that has lost the lock
without knowing it. Of several locks, SKEPTRON_FENCES has all names and fences as one JSON object, and
the two others those of the first. They are acquired in the order of their names, so that two commands
cannot deadlock. TERM, INT, HUP, QUIT, USR1 and USR2 are forwarded to CMD; while the command waits for
the lock they end the wait.

Two commands never run at once: if the node does not answer in time, CMD and all processes it has started
get TERM, and KILL after --kill-after, before the lock can be granted to anybody else.

Exit codes: that of CMD, 128+S if signal S ended it, or
   2  bad input, or the node rejects the request, or a certificate is not accepted
  69  no node is reachable
  71  the cluster cannot grant it now: members are unreachable, or the node is not a member;
      a request that was accepted keeps waiting unless --wait or --no-wait limits it
  75  not acquired within --wait, or not immediately with --no-wait: others hold it or wait for it
  76  the lock was lost while CMD ran
 126  CMD cannot be run
 127  CMD was not found")]
pub(crate) struct LockArgs {
    /// Name of the lock: 1 to 255 bytes without control characters; of several, all are held
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// Share it with other holders that use --shared: an exclusive request waits for all of them, and
    /// later shared ones wait for that request
    #[arg(long)]
    shared: bool,
    /// Share it with other holders, at most K in all
    #[arg(long, value_name = "K", conflicts_with = "shared",
        value_parser = clap::value_parser!(u32).range(1..))]
    permits: Option<u32>,
    /// Do not acquire what an enclosing `skeptron lock` already holds: CMD runs as part of it
    #[arg(long)]
    reentrant: bool,
    /// Wait at most this long, as in 500ms, 5s or 2m [default: without limit]
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    wait: Option<Duration>,
    /// Acquire the lock only if no member holds it: give up as soon as a member reports that it holds
    /// it, and after one second if it was not granted by then; the exit code tells which
    #[arg(long, conflicts_with = "wait")]
    no_wait: bool,
    /// Time without a keep-alive after which this process counts as dead and its lock is released
    #[arg(long, value_name = "TIME", value_parser = duration::some, default_value = "10s")]
    ttl: Duration,
    /// Name of the holder in listings [default: user, host and process]
    #[arg(long, value_name = "TEXT")]
    owner: Option<String>,
    /// Time between TERM and KILL for CMD if the lock cannot be kept; less than --ttl, and at most
    /// two fifths of the node's lease [default: a third of the shorter of both, up to 5s]
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    kill_after: Option<Duration>,
    /// Print nothing; the exit code tells the outcome
    #[arg(short, long)]
    quiet: bool,
    /// Report waiting, acquiring and releasing; at a terminal the current holder is always reported
    #[arg(short, long, conflicts_with = "quiet")]
    verbose: bool,
    /// Use only the given endpoints, not other nodes that they announce: the lock is lost when the last of
    /// them fails
    #[arg(long)]
    no_discovery: bool,
    /// Report a failure as one line of JSON; without CMD, report what is held as JSON too
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    reach: ReachArgs,
    /// How it leads, if it does.
    #[arg(skip)]
    leads: Option<Leads>,
    /// Command to run while the lock is held [default: none; hold the lock until INT or TERM]
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// What `skeptron elect` adds.
#[derive(Debug)]
pub(super) struct Leads {
    /// What observers are shown.
    pub(super) value: String,
    /// Whether to campaign again when the lead is lost.
    pub(super) again: bool,
}

/// The wait before it is tried again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// How long a node is told that nothing is wanted any more, before its session's end has to do.
const FAREWELL: Duration = Duration::from_secs(2);

impl LockArgs {
    pub(crate) fn run(mut self) -> Result<Verdict> {
        // Whoever forgot the dashes would hold a lock with the name of its command.
        if let ([first, .., last], []) = (self.names.as_slice(), self.command.as_slice()) {
            bail!(
                "there is no command: `--` comes before it, as in skeptron lock {first} -- {last}; \
                 several locks are held only while one runs"
            );
        }
        if self.reentrant {
            // The one around ends everything that it has started before its lock goes to another one.
            let around = inherited::held_around();
            self.names.retain(|name| !around.contains_key(name));
            if self.names.is_empty() {
                return Err(child::replace_this(&self.command));
            }
        }
        let quiet = self.quiet;
        let ended = runtime::on_one_thread(self.lock_and_run());
        match ended {
            Err(error) if quiet => Ok(Verdict::Exited(super::code(&error))),
            ended => ended,
        }
    }

    /// The same, to lead.
    pub(super) fn lead(mut self, leads: Leads) -> Result<Verdict> {
        if self.names.len() != 1 || self.shared || self.permits.is_some() || self.reentrant {
            bail!(
                "one name is led at a time, and by one alone; run `skeptron elect` once for each"
            );
        }
        self.leads = Some(leads);
        self.run()
    }

    async fn lock_and_run(self) -> Result<Verdict> {
        // From the first moment on: whoever gives up must leave the queue, not only die.
        let mut signals = Signals::listen(&child::forwarded())?;
        let mut has_queued = false;
        loop {
            let ended = self.once(&mut signals, &mut has_queued).await;
            let Err(error) = ended else { return ended };
            let failure = error.downcast_ref::<Failure>();
            if !failure.is_some_and(|failure| self.tries_again(failure, has_queued)) {
                return Err(error);
            }
            let again = if self.leads.is_some() { "campaigning" } else { "waiting" };
            self.warn(&format!("{error}; {again} again"));
            if let Err(signal) = signals.unless(tokio::time::sleep(AGAIN_AFTER)).await {
                return Ok(self.gives_up(signal));
            }
        }
    }

    /// Whether it goes on after this: `elect --again` when the lead is lost, and whoever waits for as long
    /// as it takes through an outage, but not before a node has taken it.
    fn tries_again(&self, failure: &Failure, has_queued: bool) -> bool {
        let again = self.leads.as_ref().is_some_and(|leads| leads.again);
        let is_patient = again || self.wait.is_none() && !self.no_wait;
        let is_lost = matches!(failure, Failure::Lost { .. });
        again && is_lost || is_patient && has_queued && failure.is_outage()
    }

    async fn once(&self, signals: &mut Signals, has_queued: &mut bool) -> Result<Verdict> {
        let grace = Grace::new(self.ttl, self.kill_after)?;
        let owner = self.owner.clone().unwrap_or_else(inherited::owner);
        let config =
            ClientConfig { discovery: !self.no_discovery, ..self.reach.config(self.ttl, owner)? };
        let client = match signals.unless(connect(config.clone())).await {
            Ok(client) => client?,
            Err(signal) => return Ok(self.gives_up(signal)),
        };
        *has_queued = true;
        let ended = match signals.unless(self.acquire(&client, &config)).await {
            Ok(Ok(guard)) if self.command.is_empty() => self.hold(guard, signals).await,
            Ok(Ok(guard)) => self.run_holding(guard, grace, signals).await,
            Ok(Err(error)) => Err(error),
            Err(signal) => Ok(self.gives_up(signal)),
        };
        // A node that does not take the farewell notices by itself, after the TTL.
        let _ = tokio::time::timeout(FAREWELL, client.close()).await;
        ended
    }

    fn gives_up(&self, signal: Signal) -> Verdict {
        self.tell(|| format!("{signal}: gave up waiting for `{}`", self.title()));
        Verdict::Exited(runtime::exit_code(signal))
    }

    /// The names, for people.
    fn title(&self) -> String {
        self.names.join("`, `")
    }

    fn mode(&self) -> Mode {
        match self.permits {
            Some(permits) => Mode::permits(permits).unwrap_or_default(),
            None if self.shared => Mode::SHARED,
            None => Mode::EXCLUSIVE,
        }
    }

    async fn acquire(&self, client: &Client, config: &ClientConfig) -> Result<Guards> {
        let name = &self.title();
        self.tell(|| format!("waiting for `{name}`"));
        let wait = if self.no_wait { Some(Duration::ZERO) } else { self.wait };
        let acquired = async {
            match &self.leads {
                Some(leads) => {
                    let led = client.campaign_or_why(name, &leads.value, wait).await?;
                    Ok(led.map(Guards::from))
                }
                None => {
                    let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
                    client.enter_all(&names, self.mode(), wait).await
                }
            }
        };
        let somebody_reads = self.verbose || (io::stderr().is_terminal() && !self.quiet);
        let got = tokio::select! {
            got = acquired => got,
            never = waiting::say_for_whom(&self.names, config), if somebody_reads => match never {},
        };
        let refusal = |why| Failure::NotGranted {
            name: name.clone(),
            wait: wait.unwrap_or_default(),
            why: Box::new(why),
        };
        let got = got.map_err(|error| match error {
            ClientError::SessionOver => Failure::SessionEnded(name.clone()).into(),
            error => failure::of_client(error),
        })?;
        Ok(got.map_err(refusal)?)
    }

    /// Holds the lock until a signal asks for its release.
    async fn hold(&self, guards: Guards, signals: &mut Signals) -> Result<Verdict> {
        let mut out = io::stdout();
        for guard in guards.iter() {
            let (name, fence) = (guard.name(), guard.fence());
            match self.json {
                true => writeln!(out, "{}", json!({ "lock": name, "fence": fence }))?,
                false => writeln!(out, "{fence}")?,
            }
        }
        out.flush()?;
        if io::stderr().is_terminal() && !self.quiet || self.verbose {
            say(&format!("skeptron: holding {}; Ctrl-C releases it", held(&guards)));
        }
        loop {
            tokio::select! {
                lost = guards.lost() => return Err(self.lost(lost, "").into()),
                signal = signals.next() => match signal {
                    Signal::SIGUSR1 | Signal::SIGUSR2 => {}
                    _ => break,
                },
            }
        }
        self.release(guards).await?;
        Ok(Verdict::Fine)
    }

    async fn run_holding(
        &self,
        guards: Guards,
        mut grace: Grace,
        signals: &mut Signals,
    ) -> Result<Verdict> {
        let holding = if self.leads.is_some() { "leading" } else { "holding" };
        self.tell(|| format!("{holding} {}", held(&guards)));
        let Some(first) = guards.iter().next() else { bail!("no lock was asked for") };
        let mut deadlines = newest(&guards, &mut grace);
        // This process may have stood still since the grant.
        if now() >= deadlines.term {
            return Err(self.lost(first, "it was not started").into());
        }
        if let Some(asked) = grace.shortened() {
            self.warn(&shortened(asked, &grace));
        }
        let number = first.fence().to_string();
        let fences: BTreeMap<&str, Fence> =
            guards.iter().map(|guard| (guard.name(), guard.fence())).collect();
        let fences = serde_json::to_string(&fences)?;
        let holder = std::process::id().to_string();
        let mut variables = vec![
            ("SKEPTRON_LOCK", first.name()),
            ("SKEPTRON_FENCE", &number),
            (inherited::FENCES, &fences),
            (inherited::HOLDER, &holder),
        ];
        variables.extend(self.leads.as_ref().map(|_| ("SKEPTRON_TERM", number.as_str())));
        let child = Child::start(&self.command, self.quiet, &variables, deadlines);
        let mut child = match child {
            Ok(child) => child,
            Err(failure) => {
                self.release(guards).await?;
                return Err(failure.into());
            }
        };
        let mut orphans = Signals::listen(&[Signal::SIGCHLD])?;
        let code = loop {
            let given = deadlines;
            let pause = match deadlines.look(now(), newest(&guards, &mut grace)) {
                Due::Nothing(pause) => pause,
                Due::Term => {
                    child.terminate(deadlines.kill).await;
                    child.dismiss_watchdog();
                    return Err(self.lost(first, "it was ended in time").into());
                }
                Due::Kill => return Err(self.killed(child, first).await.into()),
            };
            if deadlines != given {
                child.watch_until(deadlines);
            }
            tokio::select! {
                code = child.exit_code() => break code?,
                // The node says so: somebody else may have it already.
                lost = guards.lost() => return Err(self.killed(child, lost).await.into()),
                signal = signals.next() => child.forward(signal),
                _ = orphans.next() => child.bury_orphans(),
                () = tokio::time::sleep(pause) => {}
            }
        };
        child.dismiss_watchdog();
        self.release(guards).await?;
        Ok(Verdict::Exited(code))
    }

    async fn killed(&self, mut child: Child, lost: &Guard) -> Failure {
        child.kill().await;
        child.dismiss_watchdog();
        self.lost(lost, "it was killed")
    }

    /// Not being able to tell the node is no failure of the command, which ended in time; having lost
    /// the lock before is.
    async fn release(&self, guards: Guards) -> Result<()> {
        let fences: BTreeMap<String, Fence> =
            guards.iter().map(|guard| (guard.name().to_string(), guard.fence())).collect();
        match tokio::time::timeout(FAREWELL, guards.release()).await {
            Ok(Ok(())) => self.tell(|| format!("released `{}`", self.title())),
            Ok(Err(ReleaseError::Lost(name))) => {
                let entry = (name.as_str(), fences.get(&name).copied().unwrap_or_default());
                return Err(self.lost_entry(entry, "it ended by itself afterwards").into());
            }
            Ok(Err(error @ ReleaseError::Unreachable { .. })) => self.warn(&error.to_string()),
            Err(_) => {
                self.warn("the node does not answer; the lock goes to the next after the TTL")
            }
        }
        Ok(())
    }

    fn lost(&self, guard: &Guard, ended: &'static str) -> Failure {
        self.lost_entry((guard.name(), guard.fence()), ended)
    }

    fn lost_entry(&self, (name, fence): (&str, Fence), ended: &'static str) -> Failure {
        let during = match self.command.first() {
            Some(command) => format!(" while `{}` ran; {ended}", command.to_string_lossy()),
            None => String::new(),
        };
        Failure::Lost { name: name.to_string(), fence, during }
    }

    fn tell(&self, what: impl FnOnce() -> String) {
        if self.verbose {
            say(&format!("skeptron: {}", what()));
        }
    }

    fn warn(&self, what: &str) {
        if !self.quiet {
            say(&format!("warning: {what}"));
        }
    }
}

/// What the newest sign of life allows. The clock is read first, so that it allows too little rather
/// than too much.
fn newest(guards: &Guards, grace: &mut Grace) -> Deadlines {
    let now = now();
    grace.learn(guards.promised());
    grace.deadlines(now, guards.valid_for())
}

/// What is held, for people.
fn held(guards: &Guards) -> String {
    let each = guards.iter().map(|guard| {
        let mode = match guard.mode() {
            Mode::EXCLUSIVE => String::new(),
            mode => format!(" as {mode}"),
        };
        format!("`{}`{mode}, fence {:#}", guard.name(), guard.fence())
    });
    each.collect::<Vec<_>>().join("; ")
}

fn shortened(asked: Duration, grace: &Grace) -> String {
    let (asked, length) = (duration::written(asked), grace.length().as_millis());
    format!(
        "CMD gets {length} ms instead of --kill-after {asked} to end if the lock cannot be kept: the \
         node's lease is too short for more; `skeptron voters lease` lengthens it"
    )
}

/// If nobody listens, the command goes on all the same.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

async fn connect(config: ClientConfig) -> Result<Client> {
    Client::connect(config).await.map_err(failure::of_client)
}

//! The command line: one file per command.

use std::io;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::ask::usage;

pub mod check;
pub(crate) mod compare;
mod completions;
mod drain;
mod duration;
mod elect;
pub mod explain;
mod failure;
mod interrupt;
mod lab;
mod leader;
mod leave;
pub(crate) mod list;
mod lock;
mod locks;
mod logs;
mod members;
mod node;
mod order;
mod output;
mod plans;
pub(crate) mod quorum;
mod reach;
mod runtime;
mod sessions;
pub mod sim;
mod status;
mod storm;
pub(crate) mod structure;
mod sweep;
pub mod textbook;
mod tls;
mod traces;
mod unlock;
mod up;
mod voters;
mod work;

pub(crate) use crate::ask::names;
pub(crate) use crate::table;

/// Locks among machines, and the classical algorithms behind them: run, measure, check and see them.
#[derive(Debug, Parser)]
#[command(name = "skeptron", version, about, long_about = None, max_term_width = 100)]
#[command(after_help = "Examples:
  skeptron up                                     a cluster on this machine, to try things out
  skeptron lab                                    see every algorithm think, in a browser
  skeptron lock deploy -- ./deploy.sh             run it while nobody else runs it
  skeptron locks                                  who holds what, who waits
  skeptron elect scheduler -- ./scheduler         run it at one machine, at another if that fails
  skeptron list                                   what algorithms there are
  skeptron explain maekawa                        one page on an algorithm
  skeptron sim raymond -n 15 --tree balanced:2    run and measure one
  skeptron compare -n 4,16,64                     all of them, claim beside measurement
  skeptron sweep wan.toml                         a grid of settings, as a table and plots
  skeptron sim bully -n 5 --crash 5@0             the leader is down: elect another
  skeptron compare --elections                    best, average and worst case of each
  skeptron check ricart-agrawala -n 3             explore everything that 3 nodes can do
  skeptron storm --seeds 1..1000                  whole members in a simulated world of faults
  skeptron quorum best -n 13                      which quorums for 13 nodes?

Exit codes: 0 fine, 1 a property was violated or a claim missed, 2 bad input,
3 a search ended before everything was explored, 69 no node can be reached. `lock` has more.")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start a cluster on this machine, in one process, to try things out
    Up(Box<up::UpArgs>),
    /// Serve the lab: a web page on which to run, check and see the algorithms
    Lab(lab::LabArgs),
    /// Run a command while holding a lock
    Lock(Box<lock::LockArgs>),
    /// Run a command while leading an election
    #[command(after_help = elect::EXAMPLES)]
    Elect(Box<elect::ElectArgs>),
    /// Show who leads an election
    Leader(leader::LeaderArgs),
    /// List the locks that are held or waited for: holder, fence, waiters, since when
    Locks(locks::LocksArgs),
    /// Break a lock: whoever holds it has lost it
    Unlock(unlock::UnlockArgs),
    /// List the sessions of clients: owner, node, what each holds and waits for
    Sessions(sessions::SessionsArgs),
    /// Show a node, its members and its links
    Status(status::StatusArgs),
    /// Run one node of a real cluster
    Node(Box<node::NodeArgs>),
    /// Run a node that joins a cluster, without a file of settings
    Join(Box<node::join::JoinArgs>),
    /// Make a node leave its cluster and end
    Leave(leave::LeaveArgs),
    /// Make a node serve no clients, which move with their locks, or serve them again
    Drain(drain::DrainArgs),
    /// List the members of the cluster, or remove one that is certainly off
    Members(members::MembersArgs),
    /// List the voters of the cluster, or add, remove and replace them
    Voters(voters::VotersArgs),
    /// Make certificates for nodes and clients
    Tls(tls::TlsArgs),
    /// List the algorithms: name, paper, family, channel, claims
    List(list::ListArgs),
    /// Explain one algorithm: idea, rules, costs, assumptions
    Explain(explain::ExplainArgs),
    /// Simulate one algorithm, judge and measure it
    Sim(Box<sim::SimArgs>),
    /// Compare the algorithms: claim beside measurement
    Compare(compare::CompareArgs),
    /// Run a grid of algorithms, sizes, layouts, networks and loads; resume it, divide it among machines
    Sweep(sweep::SweepArgs),
    /// Explore every interleaving of a small system and judge each
    Check(Box<check::CheckArgs>),
    /// Run whole members in a simulated world of faults and judge them
    Storm(storm::StormArgs),
    /// Build, check and analyse a quorum system
    Quorum(Box<quorum::QuorumArgs>),
    /// Judge an information structure, or search the best one for given request rates
    Structure(structure::StructureArgs),
    #[command(name = lock::leash::NAME, hide = true)]
    Leash(lock::leash::LeashArgs),
    #[command(name = lock::watchdog::NAME, hide = true)]
    Watchdog(lock::watchdog::WatchdogArgs),
    /// Write a completion script for your shell
    Completions(completions::CompletionsArgs),
}

/// How a command ended, if nothing was wrong with its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything held.
    Fine,
    /// A property was violated, or a claim missed.
    Violated,
    /// Nothing was violated as far as the search went, but it ended before everything was explored.
    Incomplete,
    /// With a code that is another program's, or says of itself what it means.
    Exited(u8),
}

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    match completions::answer() {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        Err(error) => return say_usage(&error),
    }
    let parsed = reflowed(with_one_leader(Cli::command())).try_get_matches();
    let cli = match parsed.and_then(|found| Cli::from_arg_matches(&found)) {
        Ok(cli) => cli,
        Err(error) => return say_usage(&error),
    };
    let ended = cli.run();
    logs::finish();
    match ended {
        Ok(Verdict::Fine) => ExitCode::SUCCESS,
        Ok(Verdict::Violated) => ExitCode::from(1),
        Ok(Verdict::Incomplete) => ExitCode::from(3),
        Ok(Verdict::Exited(code)) => ExitCode::from(code),
        // Whoever reads our output has had enough: not an error.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let code = code(&error);
            complain(&format!("error: {}", one_line(&error)), code);
            ExitCode::from(code)
        }
    }
}

/// `elect` takes what `lock` does, but one alone leads, and one name.
fn with_one_leader(command: clap::Command) -> clap::Command {
    command.mut_subcommand("elect", |elect| {
        let name = "Its name: 1 to 255 bytes without control characters";
        // An argument that is changed comes last unless it says where it stands.
        let elect = elect
            .mut_arg("names", |names| names.num_args(1).help(name).index(1))
            .mut_arg("command", |command| command.index(2));
        ["shared", "permits", "reentrant"]
            .into_iter()
            .fold(elect, |elect, option| elect.mut_arg(option, |it| it.hide(true)))
    })
}

/// Paragraphs of help are written in lines here, but broken where the terminal ends.
fn reflowed(command: clap::Command) -> clap::Command {
    let text = command.get_after_help().map(|text| unbroken(&text.to_string()));
    let command = match text {
        Some(text) => command.after_help(text),
        None => command,
    };
    command.mut_subcommands(reflowed)
}

/// Each paragraph in one line. Lines that are indented stand for themselves.
fn unbroken(text: &str) -> String {
    let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        match lines.last_mut() {
            Some(last) if is_prose(last) && is_prose(line) => {
                last.push(' ');
                last.push_str(line);
            }
            _ => lines.push(line.to_string()),
        }
    }
    lines.join("\n")
}

/// Says on standard error why nothing came of it: as one line of JSON to those who asked for JSON.
fn complain(line: &str, code: u8) {
    let words = std::env::args_os().take_while(|word| word != "--");
    let json = words.skip(1).any(|word| word == "--json");
    if json {
        let error = line.strip_prefix("error: ").unwrap_or(line);
        logs::last_word(&serde_json::json!({ "error": error, "exit_code": code }).to_string());
    } else {
        logs::last_word(line);
    }
}

/// The error and its causes; what a text already says of its cause is not said again.
fn one_line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if line.is_empty() {
            line = cause;
        } else if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    line
}

/// 2 for bad input; some other failures have a code of their own.
fn code(error: &anyhow::Error) -> u8 {
    error.downcast_ref::<failure::Failure>().map_or(2, failure::Failure::code)
}

/// Help goes to standard output as it is; a mistake becomes one line.
fn say_usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let line = if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        "error: which command?".to_string()
    } else {
        usage(error)
    };
    complain(&format!("{line} (see --help)"), 2);
    ExitCode::from(2)
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}

impl Cli {
    fn run(self) -> anyhow::Result<Verdict> {
        let mut out = io::stdout().lock();
        match self.command {
            Command::Up(args) => args.run(&mut out),
            Command::Lab(args) => args.run(&mut out),
            Command::Lock(args) => args.run(),
            Command::Elect(args) => args.run(),
            Command::Leader(args) => args.run(&mut out),
            Command::Locks(args) => args.run(&mut out),
            Command::Sessions(args) => args.run(&mut out),
            Command::Status(args) => args.run(&mut out),
            Command::Node(args) => args.run(&mut out),
            Command::Join(args) => args.run(&mut out),
            Command::Unlock(args) => args.run(&mut out),
            Command::Leave(args) => args.run(&mut out),
            Command::Drain(args) => args.run(&mut out),
            Command::Members(args) => args.run(&mut out),
            Command::Voters(args) => args.run(&mut out),
            Command::Tls(args) => args.run(&mut out),
            Command::List(args) => args.run(&mut out),
            Command::Explain(args) => args.run(&mut out),
            Command::Sim(args) => args.run(&mut out),
            Command::Compare(args) => args.run(&mut out),
            Command::Sweep(args) => args.run(&mut out),
            Command::Check(args) => args.run(&mut out),
            Command::Storm(args) => args.run(&mut out),
            Command::Quorum(args) => args.run(&mut out),
            Command::Structure(args) => args.run(&mut out),
            Command::Leash(args) => args.run(),
            Command::Watchdog(args) => args.run(),
            Command::Completions(args) => args.run(&mut out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::unbroken;

    #[test]
    fn paragraphs_of_help_are_broken_by_the_terminal_only() {
        let text = "Examples:\n  skeptron up\n  skeptron lab\n\nOne paragraph\nof two lines.\n\nExit codes:\n  2  bad";
        let whole = "Examples:\n  skeptron up\n  skeptron lab\n\nOne paragraph of two lines.\n\nExit codes:\n  2  bad";
        assert_eq!(unbroken(text), whole);
    }
}

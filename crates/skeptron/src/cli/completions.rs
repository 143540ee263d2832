//! `skeptron completions`, and what the scripts that it writes ask when somebody presses Tab.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::builder::PossibleValuesParser;
use clap::{Arg, Args, Command, CommandFactory as _, FromArgMatches as _, ValueEnum};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};
use skeptron_client::{Client, ClientConfig};
use skeptron_core::catalogue;
use skeptron_quorum::Construction;

use super::reach::ReachArgs;
use super::{Cli, Verdict, runtime};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  source <(skeptron completions bash)             in ~/.bashrc
  source <(skeptron completions zsh)              in ~/.zshrc, after compinit
  skeptron completions fish | source              in ~/.config/fish/config.fish

The script asks skeptron itself at each Tab, so it need not be written anew with each version. Names of
locks and numbers of members are asked of the node that --endpoint or SKEPTRON_ENDPOINT names; if it
does not answer within half a second there are none.")]
pub(super) struct CompletionsArgs {
    /// Which shell
    shell: Shell,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    Bash,
    Elvish,
    Fish,
    #[value(name = "powershell")]
    Powershell,
    Zsh,
}

impl CompletionsArgs {
    pub(super) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let shells = Shells::builtins();
        let name = self.shell.to_possible_value().context("every shell has a name")?;
        let shell = shells.completer(name.get_name()).context("every shell is known")?;
        shell.write_registration(ASKED_BY, "skeptron", "skeptron", "skeptron", out)?;
        Ok(Verdict::Fine)
    }
}

/// The scripts set it.
const ASKED_BY: &str = "SKEPTRON_COMPLETE";

/// Answers if a script asks what can follow; whether one did.
///
/// # Errors
/// If it asks for a shell that is not known.
pub(super) fn answer() -> clap::error::Result<bool> {
    CompleteEnv::with_factory(|| knowing_names(Cli::command()))
        .var(ASKED_BY)
        .try_complete(std::env::args_os(), None)
}

/// The command line with the names that its arguments can have. Parsing does not use it: there, a wrong
/// name gets a better answer, and a file may stand in its place.
fn knowing_names(command: Command) -> Command {
    let asks = matches!(command.get_name(), "lock" | "locks" | "unlock");
    let command = command.mut_args(|arg| if asks { with_locks(arg) } else { with_names(arg) });
    command.mut_subcommands(knowing_names)
}

fn with_locks(arg: Arg) -> Arg {
    match arg.get_id().as_str() {
        "name" | "names" | "lock" | "prefix" => arg.add(ArgValueCompleter::new(locks)),
        _ => arg,
    }
}

fn with_names(arg: Arg) -> Arg {
    if !arg.get_action().takes_values() {
        return arg;
    }
    let mut names: Vec<&'static str> = match arg.get_id().as_str() {
        "algorithm" | "algorithms" => {
            let mutexes = catalogue::all().map(|info| info.name);
            mutexes.chain(catalogue::elections().map(|info| info.name)).collect()
        }
        "quorum" | "kind" => Construction::NAMES.into_iter().chain(["best"]).collect(),
        "latency" => skeptron_sim::LATENCY_PRESETS.into_iter().chain(["1", "exp:1"]).collect(),
        "tree" => vec!["balanced:2", "star", "line", "elected"],
        "member" | "old" | "new" => return arg.add(ArgValueCompleter::new(members)),
        _ => return arg,
    };
    // A default must be among them; this one stands for several names.
    if arg.get_default_values().iter().any(|value| value == "all") {
        names.push("all");
    }
    arg.value_parser(PossibleValuesParser::new(names))
}

/// Whoever presses Tab does not wait longer.
const ANSWER_WITHIN: Duration = Duration::from_millis(500);
/// More names than these are of no help.
const MOST_NAMES: usize = 200;

/// The locks that are held or waited for whose names begin like that.
fn locks(begun: &OsStr) -> Vec<CompletionCandidate> {
    let Some(begun) = begun.to_str() else { return Vec::new() };
    let found =
        ask(async |config| Client::locks(&config, begun).await.map(|listing| listing.locks));
    let mut names: Vec<String> = found.into_iter().flatten().map(|lock| lock.name).collect();
    names.dedup();
    names.into_iter().take(MOST_NAMES).map(CompletionCandidate::new).collect()
}

/// The members and voters, with their addresses.
fn members(begun: &OsStr) -> Vec<CompletionCandidate> {
    let Some(status) = ask(async |config| Client::status(&config).await) else {
        return Vec::new();
    };
    let members = status.members.into_iter().map(|it| (it.node, it.address));
    let voters =
        status.views.voters.into_iter().map(|it| (it.node, it.address.unwrap_or_default()));
    let mut known: Vec<_> = members.chain(voters).collect();
    known.sort();
    known.dedup_by_key(|(node, _)| *node);
    // As it was begun: 4 or P4.
    let is_named = begun.to_string_lossy().starts_with(['P', 'p']);
    let candidate = |(node, address): (skeptron_net::MemberId, String)| {
        let name = if is_named { node.to_string() } else { node.number().to_string() };
        CompletionCandidate::new(name).help(Some(address.into()))
    };
    let begun = begun.to_string_lossy().to_uppercase();
    let fits = |it: &CompletionCandidate| it.get_value().to_string_lossy().starts_with(&begun);
    known.into_iter().map(candidate).filter(fits).collect()
}

/// What a node says that the unfinished line, or the environment, names; nothing if it does not in time.
fn ask<T, E>(question: impl AsyncFnOnce(ClientConfig) -> Result<T, E>) -> Option<T> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let line = words.iter().position(|word| word == "--").map_or(&[][..], |at| &words[at + 1..]);
    let config = reach(line)?.question().ok()?;
    let asked = async {
        let answer = tokio::time::timeout(ANSWER_WITHIN, question(config)).await;
        Ok(answer.ok().and_then(Result::ok))
    };
    runtime::on_one_thread(asked).ok()?
}

/// The options of an unfinished line that say which node is meant.
fn reach(line: &[OsString]) -> Option<ReachArgs> {
    let command = ReachArgs::augment_args(Command::new("skeptron"));
    let mut said = vec![OsString::from("skeptron")];
    let mut words = line.iter();
    while let Some(word) = words.next() {
        let Some(option) = word.to_str().and_then(|word| word.strip_prefix("--")) else { continue };
        let (name, value) = option.split_once('=').map_or((option, None), |(n, v)| (n, Some(v)));
        if command.get_arguments().any(|arg| arg.get_long() == Some(name)) {
            said.push(word.clone());
            said.extend(if value.is_none() { words.next().cloned() } else { None });
        }
    }
    let matches = command.try_get_matches_from(said).ok()?;
    ReachArgs::from_arg_matches(&matches).ok()
}

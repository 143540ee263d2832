//! `skeptron completions`.

use std::io::Write;

use anyhow::Result;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Args, Command, CommandFactory as _};
use clap_complete::Shell;
use skeptron_core::catalogue;
use skeptron_quorum::Construction;

use super::{Cli, Verdict};

#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// Which shell
    shell: Shell,
}

impl CompletionsArgs {
    pub(super) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        // Into memory first: the generator panics if the reader goes away.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut knowing_names(), "skeptron", &mut script);
        out.write_all(&script)?;
        Ok(Verdict::Fine)
    }
}

/// The command line with the names that its arguments can have. Parsing does not use it: there, a wrong
/// name gets a better answer, and a file may stand in its place.
fn knowing_names() -> Command {
    Cli::command().mut_subcommands(|command| command.mut_args(with_names))
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
        "tree" => vec!["balanced:2", "star", "line", "elected"],
        _ => return arg,
    };
    // A default must be among them; this one stands for several names.
    if arg.get_default_values().iter().any(|value| value == "all") {
        names.push("all");
    }
    arg.value_parser(PossibleValuesParser::new(names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_learns_the_names() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Elvish, Shell::PowerShell] {
            let mut script = Vec::new();
            CompletionsArgs { shell }.run(&mut script).unwrap();
            let script = String::from_utf8(script).unwrap();
            // These complete only commands and options.
            let names = if shell == Shell::Elvish || shell == Shell::PowerShell {
                &["sim"][..]
            } else {
                &["ricart-agrawala", "bully", "projective", "balanced"]
            };
            for name in names {
                assert!(script.contains(name), "{shell}: {name}");
            }
        }
    }
}

//! `skeptron structure optimise`.

use std::io::Write;

use anyhow::Result;
use clap::Args;

use super::OutputArgs;
use crate::ask::OptimiseRequest;
use crate::cli::Verdict;

#[derive(Args, Debug)]
#[command(mut_arg("rates", |rates| rates.required(true)))]
#[command(after_help = "Examples:
  skeptron structure optimise --rates 4,3,2,1                 a star: nothing takes fewer messages
  skeptron structure optimise --rates 4,3,2,1 --busiest 0.5   but its centre has to do less here
  skeptron structure optimise --rates 1,1,1 --delay 1         one latency from any node to any other

What is minimised is the mean of the |I∖i| + 2|R∖i| messages that an entry takes at low load.
Up to 6 nodes no structure is left out; beyond, up to 64, the best one found is given with a
lower bound.

Exit codes: 0 found, 2 bad input or demands that no structure meets.")]
pub(super) struct OptimiseArgs {
    #[command(flatten)]
    ask: OptimiseRequest,
    #[command(flatten)]
    output: OutputArgs,
}

impl OptimiseArgs {
    pub(super) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let (structure, report) = self.ask.search(self.output.delays)?;
        self.output.save(&structure)?;
        self.output.say(&report, out)?;
        Ok(Verdict::Fine)
    }
}

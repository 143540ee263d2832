//! `skeptron structure optimise`.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use skeptron_core::topology::Structure;
use skeptron_quorum_analysis::structure::{Demands, optimise};

use super::report::{Optimal, Report};
use super::{OutputArgs, rates};
use crate::cli::sim::quoted;
use crate::cli::{Verdict, names};

#[derive(Args, Debug, Default)]
#[command(after_help = "Examples:
  skeptron structure optimise --rates 4,3,2,1                 a star: nothing takes fewer messages
  skeptron structure optimise --rates 4,3,2,1 --busiest 0.5   but its centre has to do less here
  skeptron structure optimise --rates 1,1,1 --delay 1         one latency from any node to any other

What is minimised is the mean of the |I∖i| + 2|R∖i| messages that an entry takes at low load.
Up to 6 nodes no structure is left out; beyond, up to 64, the best one found is given with a
lower bound.

Exit codes: 0 found, 2 bad input or demands that no structure meets.")]
pub(crate) struct OptimiseArgs {
    /// How often each node asks, as in 5,1,1,1; only the ratios matter
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) rates: String,
    /// No node may be asked by others for more than this share of all entries
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, value_parser = names::real)]
    pub(crate) busiest: Option<f64>,
    /// The synchronisation delay between nodes, weighted by how often they ask, may be at most so many
    /// latencies in the mean; it is between 1 and 2
    #[arg(long, value_name = "T", allow_negative_numbers = true, value_parser = names::real)]
    pub(crate) delay: Option<f64>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl OptimiseArgs {
    pub(super) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let (structure, report) = self.search()?;
        self.output.save(&structure)?;
        self.output.say(&report, out)?;
        Ok(Verdict::Fine)
    }

    /// The best structure, and what there is to say of it.
    ///
    /// # Errors
    /// If the rates are malformed, or nothing meets the demands.
    pub(crate) fn search(&self) -> Result<(Structure, Report)> {
        let rates = rates(&self.rates)?;
        let demands = Demands { busiest: self.busiest, delay: self.delay };
        let found = optimise(&rates, &demands)?;
        let mut report = Report::of("optimised", &found.structure, &rates, self.output.delays);
        report.optimal = Some(Optimal {
            proved: found.is_proved(),
            lower_bound: found.lower_bound,
            busiest: demands.busiest,
            delay: demands.delay,
        });
        Ok((found.structure, report))
    }

    /// The command that searches the same again.
    pub(crate) fn command(&self) -> String {
        let demand = |option, value: Option<f64>| value.map(|value| format!(" {option} {value}"));
        format!(
            "skeptron structure optimise --rates {}{}{}",
            quoted(&self.rates),
            demand("--busiest", self.busiest).unwrap_or_default(),
            demand("--delay", self.delay).unwrap_or_default()
        )
    }
}

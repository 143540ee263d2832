//! `skeptron explain`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;

use super::{Verdict, list, names};

pub mod docs;
mod page;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skeptron explain ricart-agrawala
  skeptron explain bully            an election
  skeptron explain singhal-1989     what is wrong with a broken variant
  skeptron explain ./my_mutex.py    what a program of your own says of itself")]
pub(crate) struct ExplainArgs {
    /// Which algorithm
    algorithm: Option<String>,
    /// What `skeptron list --json` says of it
    #[arg(long, conflicts_with = "docs")]
    json: bool,
    /// Write the pages of all algorithms, with figures and an index, into this folder
    #[arg(long, value_name = "DIR", hide_short_help = true, conflicts_with = "algorithm")]
    docs: Option<PathBuf>,
}

impl ExplainArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        if let Some(dir) = self.docs {
            let count = docs::write(&dir)?;
            writeln!(out, "{count} files in {}", dir.display())?;
            return Ok(Verdict::Fine);
        }
        let Some(name) = self.algorithm else {
            bail!("which algorithm? `skeptron list` shows them all");
        };
        names::start_programs([&name])?;
        let algorithm = names::algorithm(&name)?;
        if self.json {
            writeln!(out, "{}", list::as_json(algorithm)?)?;
            return Ok(Verdict::Fine);
        }
        out.write_all(page::of(algorithm).as_bytes())?;
        Ok(Verdict::Fine)
    }
}

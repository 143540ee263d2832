//! `skeptron quorum`.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, ensure};
use clap::Args;
use indicatif::ProgressBar;
use skeptron_quorum::System;
use skeptron_quorum_analysis::picture;

use super::Verdict;
use crate::ask::quorum::{Answer, source};
use crate::ask::{Files, QuorumRequest};

mod print;

#[derive(Args, Clone, Debug)]
#[command(mut_arg("kind", |kind| kind.required_unless_present("check")))]
#[command(after_help = "Examples:
  skeptron quorum projective -n 13           Maekawa's planes; folded where N has none
  skeptron quorum projective --order 4       exactly the plane of order 4: 21 nodes
  skeptron quorum wall --rows 1,2,3,4 --svg wall.svg
  skeptron quorum weighted --weights 3,1,1,1,1 --p 0.05
  skeptron quorum best -n 20                 all constructions side by side
  skeptron quorum my.quorums --json          any system, from a file
  skeptron quorum --check my.quorums         do they meet?
  skeptron sim maekawa --quorum wall:1,2,3,4 the same names, with a colon, in `sim` and `check`

Constructions: singleton, all, majority, weighted, grid, cyclic, projective, triangle, wall, tree,
hierarchical, maekawa-13, fano.

A file has a line of members for each node (`1: 1 2 4`, or the members alone), or a line `nodes 7`
and then any quorums, a line each; or JSON: [[1,2],[2,3],[1,3]] or what --json writes.

Exit codes: 0 fine, 1 two quorums do not meet, 2 bad input.")]
pub(crate) struct QuorumArgs {
    #[command(flatten)]
    ask: QuorumRequest,
    /// Only check whether the quorums of this file meet, and conditions 2–4
    #[arg(long, value_name = "FILE", conflicts_with_all = ["kind", "rows", "weights", "height", "order"])]
    check: Option<String>,
    /// Write the picture to a file, as SVG
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    svg: Option<PathBuf>,
    /// All quorums and the whole strategy, however long
    #[arg(long, help_heading = "Output")]
    all: bool,
    /// As JSON
    #[arg(long, help_heading = "Output")]
    json: bool,
}

impl QuorumArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        if let Some(path) = &self.check {
            return self.check(path, out);
        }
        let subject = self.ask.subject(Files::Disk)?;
        let system = subject.system()?;
        // Before long work rather than after it.
        let text = system.map_or(Ok(String::new()), |system| self.draw(system))?;
        // Large systems take seconds each.
        let spinner = ProgressBar::new_spinner();
        spinner.enable_steady_tick(Duration::from_millis(100));
        let say = |name: &str| spinner.set_message(name.to_owned());
        let answer = subject.analyse(&self.ask.question(), say);
        spinner.finish_and_clear();
        self.say(&answer?, &text, out)
    }

    fn say(&self, answer: &Answer, picture: &str, out: &mut impl Write) -> Result<Verdict> {
        let verdict = match answer.report.conditions.violation {
            Some(_) => Verdict::Violated,
            None => Verdict::Fine,
        };
        if self.json {
            writeln!(out, "{}", print::compact(answer)?)?;
            return Ok(verdict);
        }
        if let Some(compared) = &answer.compared {
            print::comparison(answer.report.nodes, compared, self.ask.p, out)?;
            writeln!(out)?;
        }
        print::report(&answer.report, self.all, out)?;
        if !picture.is_empty() {
            write!(out, "\n{picture}")?;
        }
        Ok(verdict)
    }

    /// Writes the picture to its file, and returns it as text. What does not fit a terminal is left out
    /// unless that is what was asked for.
    fn draw(&self, system: &System) -> Result<String> {
        let Some((picture, highlight)) = self.ask.picture(system)? else {
            ensure!(self.svg.is_none(), "--svg needs a picture; leave out --picture none");
            return Ok(String::new());
        };
        let chosen = self.ask.picture.is_some();
        if let Some(path) = &self.svg {
            let svg = picture::svg(system, picture, highlight)?;
            fs::write(path, svg).with_context(|| path.display().to_string())?;
        }
        match picture::text(system, picture, highlight) {
            // Long ones would push the figures off the screen.
            Ok(text) if !chosen && text.lines().count() > 24 => Ok(String::new()),
            Ok(text) => Ok(text),
            Err(error) if chosen && self.svg.is_none() => Err(anyhow!("{error}, with --svg FILE")),
            Err(_) => Ok(String::new()),
        }
    }

    fn check(&self, path: &str, out: &mut impl Write) -> Result<Verdict> {
        let family = source::family(path, self.ask.nodes, Files::Disk)?;
        let checked = print::Checked::of(path, &family);
        if self.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&checked)?)?;
        } else {
            checked.print(out)?;
        }
        Ok(if checked.conditions.intersecting { Verdict::Fine } else { Verdict::Violated })
    }
}

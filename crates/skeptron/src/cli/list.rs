//! `skeptron list`.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use skeptron_core::Claim;
use skeptron_core::catalogue::{self, Breaks, Broken, Info};

use super::Verdict;
use super::table::table;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skeptron list
  skeptron list --all           with the variants that are broken on purpose
  skeptron list --json | jq '.[].name'")]
pub(crate) struct ListArgs {
    /// Also the variants that are broken on purpose
    #[arg(long)]
    all: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// One algorithm in the JSON output.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    title: &'static str,
    paper: &'static str,
    family: String,
    channel: String,
    claims: ClaimsRow,
    broken: Option<BrokenRow>,
}

#[derive(Serialize)]
struct ClaimsRow {
    messages_first: String,
    messages_again: String,
    messages_saturated: String,
    messages_uniform: Option<String>,
    client_delay_first: String,
    client_delay_again: String,
    sync_delay: String,
    ordered: bool,
}

#[derive(Serialize)]
struct BrokenRow {
    flaw: &'static str,
    breaks: &'static str,
    shown_by: String,
    refuted_by: String,
}

impl From<&Info> for Row {
    fn from(info: &Info) -> Self {
        let claims = &info.claims;
        Row {
            name: info.name,
            title: info.title,
            paper: info.paper,
            family: info.family.to_string(),
            channel: info.channel.to_string(),
            claims: ClaimsRow {
                messages_first: claims.messages_first.to_string(),
                messages_again: claims.messages_again.to_string(),
                messages_saturated: claims.messages_saturated.to_string(),
                messages_uniform: claims.messages_uniform.map(|claim| claim.to_string()),
                client_delay_first: claims.client_first.to_string(),
                client_delay_again: claims.client_again.to_string(),
                sync_delay: claims.sync_delay.to_string(),
                ordered: claims.ordered,
            },
            broken: info.broken.map(|broken| BrokenRow {
                flaw: broken.flaw,
                breaks: breaks(broken.breaks),
                shown_by: shown(info.name, &broken),
                refuted_by: refuted(info.name, &broken),
            }),
        }
    }
}

pub(crate) fn breaks(breaks: Breaks) -> &'static str {
    match breaks {
        Breaks::Safety => "safety",
        Breaks::Liveness => "liveness",
        Breaks::Order => "order",
        Breaks::Refused => "the contract",
        Breaks::Agreement => "agreement",
        Breaks::Validity => "validity",
        Breaks::Termination => "termination",
    }
}

/// The command that shows what is wrong with a broken variant; some seed is always enough.
pub(crate) fn shown(name: &str, broken: &Broken) -> String {
    format!("skeptron sim {name} {} --seeds 1..500", broken.shown_by)
}

/// The command by which the checker refutes a broken variant.
pub(crate) fn refuted(name: &str, broken: &Broken) -> String {
    format!("skeptron check {name} {}", broken.refuted_by)
}

/// Two claims as one, where they say the same.
pub(crate) fn first_and_again(first: &Claim, again: &Claim) -> String {
    if first == again { first.to_string() } else { format!("{first}, then {again}") }
}

impl ListArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let shown: Vec<&Info> =
            catalogue::all().filter(|info| self.all || info.broken.is_none()).collect();
        if self.json {
            let rows: Vec<Row> = shown.into_iter().map(Row::from).collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
            return Ok(Verdict::Fine);
        }
        let sound = shown.iter().filter(|info| info.broken.is_none());
        let mut rows = table([
            "name",
            "family",
            "channel",
            "messages, lone",
            "saturated",
            "client delay",
            "sync delay",
            "paper",
        ]);
        for info in sound {
            let claims = &info.claims;
            rows.add_row([
                info.name.to_string(),
                info.family.to_string(),
                info.channel.to_string(),
                first_and_again(&claims.messages_first, &claims.messages_again),
                claims.messages_saturated.to_string(),
                first_and_again(&claims.client_first, &claims.client_again),
                claims.sync_delay.to_string(),
                short_paper(info.paper),
            ]);
        }
        writeln!(out, "{rows}")?;
        writeln!(
            out,
            "Messages per entry; delays in units of the message latency T. N nodes, K quorum size, D diameter of\n\
             the tree, d distance to the first holder, L and U Sanders' bounds. Channel: the weakest it is correct on,\n\
             any where messages may overtake each other."
        )?;
        // Not a table: a command that is broken over several lines cannot be copied.
        for (place, info) in shown.iter().filter(|info| info.broken.is_some()).enumerate() {
            let Some(broken) = info.broken else { continue };
            if place == 0 {
                writeln!(out, "\nBroken on purpose, each with the command that refutes it:")?;
            }
            let (flaw, breaks) = (broken.flaw, breaks(broken.breaks));
            writeln!(out, "\n {} breaks {breaks}: {flaw}", info.name)?;
            writeln!(out, "   {}", refuted(info.name, &broken))?;
        }
        Ok(Verdict::Fine)
    }
}

/// Surnames and year: what stands before the colon without initials, and the first number that is a
/// year.
pub(crate) fn short_paper(paper: &str) -> String {
    let authors = paper.split(':').next().unwrap_or(paper);
    let is_initial = |word: &&str| word.len() == 2 && word.ends_with('.');
    let surnames: Vec<&str> = authors.split(' ').filter(|word| !is_initial(word)).collect();
    let surnames = surnames.join(" ");
    let mut numbers = paper.split(|c: char| !c.is_ascii_digit());
    match numbers.find(|n| n.len() == 4 && (n.starts_with("19") || n.starts_with("20"))) {
        Some(year) => format!("{surnames} {year}"),
        None => surnames,
    }
}

//! `skeptron list`.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use skeptron_core::catalogue::{self, Algorithm, Broken, ElectionInfo, Entry, Info};
use skeptron_core::claims::{Claims, Condition, Quantity};
use skeptron_core::election::Case;

use super::Verdict;
use super::table::{fitted, folded, table};
use crate::published::{breaks, messages};
use row::Row;

mod row;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skeptron list
  skeptron list --all           with the variants that are broken on purpose
  skeptron list --json | jq '.[].name'
  skeptron list --json | jq -r '.[] | select(.kind == \"election\") | .name'")]
pub(crate) struct ListArgs {
    /// Also the variants that are broken on purpose
    #[arg(long)]
    all: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// The command that shows what is wrong with a broken variant; some seed is always enough.
pub(crate) fn shown(name: &str, broken: &Broken) -> String {
    format!("skeptron sim {name} {} --seeds 1..500", broken.shown_by)
}

/// The command by which the checker refutes a broken variant.
pub(crate) fn refuted(name: &str, broken: &Broken) -> String {
    format!("skeptron check {name} {}", broken.refuted_by)
}

/// The sharpest claim of a quantity under such a load.
pub(crate) fn claimed(claims: &Claims, load: Condition, quantity: Quantity) -> String {
    claims.under(load, quantity).map_or("–".into(), |published| published.claim.to_string())
}

/// What is claimed of the first and of further entries of a lone requester, as one where that is the
/// same.
pub(crate) fn first_and_again(claims: &Claims, quantity: Quantity) -> String {
    let [first, again] =
        [Condition::First, Condition::Again].map(|load| claimed(claims, load, quantity));
    if first == again { first } else { format!("{first}, then {again}") }
}

impl ListArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let mutexes: Vec<&Info> = catalogue::all().filter(|info| self.shows(info)).collect();
        let elections: Vec<&ElectionInfo> =
            catalogue::elections().filter(|info| self.shows(info)).collect();
        if self.json {
            let rows = mutexes.into_iter().map(row::mutex);
            let rows: Vec<Row> = rows.chain(elections.into_iter().map(row::election)).collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
            return Ok(Verdict::Fine);
        }
        print_mutexes(&mutexes, out)?;
        writeln!(out)?;
        print_elections(&elections, out)?;
        let broken = broken(&mutexes).chain(broken(&elections));
        // Not a table: a command that is broken over several lines cannot be copied.
        for (place, (name, broken)) in broken.enumerate() {
            if place == 0 {
                writeln!(out, "\nBroken on purpose, each with the command that refutes it:")?;
            }
            let (flaw, breaks) = (broken.flaw, breaks(broken.breaks));
            writeln!(out, "\n{}", folded(&format!("{name} breaks {breaks}: {flaw}")))?;
            writeln!(out, "   {}", refuted(name, &broken))?;
        }
        Ok(Verdict::Fine)
    }

    fn shows<C>(&self, info: &Entry<C>) -> bool {
        self.all || info.broken.is_none()
    }
}

/// One algorithm as `--json` shows it.
pub(crate) fn as_json(algorithm: Algorithm) -> serde_json::Result<String> {
    serde_json::to_string_pretty(&match algorithm {
        Algorithm::Mutex(info) => row::mutex(info),
        Algorithm::Election(info) => row::election(info),
    })
}

/// The names of the broken ones and what is wrong with them.
fn broken<C>(infos: &[&'static Entry<C>]) -> impl Iterator<Item = (&'static str, Broken)> {
    infos.iter().filter_map(|info| Some((info.name, info.broken?)))
}

fn print_mutexes(infos: &[&Info], out: &mut impl Write) -> Result<()> {
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
    for info in infos.iter().filter(|info| info.broken.is_none()) {
        let claims = &info.claims;
        rows.add_row([
            info.name.to_string(),
            info.family.to_string(),
            info.channel.to_string(),
            first_and_again(claims, Quantity::Messages),
            claimed(claims, Condition::Saturated, Quantity::Messages),
            first_and_again(claims, Quantity::ClientDelay),
            claimed(claims, Condition::Saturated, Quantity::SyncDelay),
            short_paper(info.paper),
        ]);
    }
    let without = fitted(&mut rows, &["paper", "family", "channel", "sync delay", "client delay"]);
    writeln!(out, "Mutual exclusion\n{rows}")?;
    let letters = "Messages per entry; delays in units of the message latency T. N nodes, K quorum size, \
         D diameter of the tree, d distance to the first holder, i the requester's id, L and U Sanders' bounds; \
         `skeptron explain NAME` says under which conditions. Channel: the weakest it is correct on, any where \
         messages may overtake each other.";
    let said = [Some(letters.to_string()), without].into_iter().flatten().collect::<Vec<_>>();
    writeln!(out, "{}", folded(&said.join(" ")))?;
    Ok(())
}

/// One line for each situation for which figures are published.
fn print_elections(infos: &[&ElectionInfo], out: &mut impl Write) -> Result<()> {
    let mut rows =
        table(["name", "family", "channel", "wins", "situation", "messages", "time", "paper"]);
    for info in infos.iter().filter(|info| info.broken.is_none()) {
        let about = [
            info.name.to_string(),
            info.family.to_string(),
            info.channel.to_string(),
            wins(info).into(),
        ];
        let paper = short_paper(info.paper);
        for (place, case) in info.claims.cases.iter().enumerate() {
            // Said once.
            let about = about.iter().map(|cell| if place == 0 { cell.as_str() } else { "" });
            let paper = if place == 0 { paper.as_str() } else { "" };
            let figures = [case.name.to_string(), messages(case), time(case), paper.into()];
            rows.add_row(about.map(String::from).chain(figures));
        }
    }
    let without = fitted(&mut rows, &["paper", "wins", "family", "channel"]);
    writeln!(out, "Elections\n{rows}")?;
    let letters = "Messages of one election, and from the call until everybody knows the leader, in units of \
         the message latency T, which is also the bound that timers count in; `skeptron explain NAME` describes \
         the situations. N nodes, H harmonic number.";
    let said = [Some(letters.to_string()), without].into_iter().flatten().collect::<Vec<_>>();
    writeln!(out, "{}", folded(&said.join(" ")))?;
    Ok(())
}

/// Who is elected.
fn wins(info: &ElectionInfo) -> &'static str {
    if info.claims.highest { "highest" } else { "a live one" }
}

/// How long an election takes in this situation.
pub(crate) fn time(case: &Case) -> String {
    case.time.map_or("–".into(), |claim| claim.to_string())
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

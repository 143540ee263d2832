//! One page on an algorithm, in Markdown that also reads well as text.

use std::fmt::Write as _;

use skeptron_core::catalogue::{
    Algorithm, ElectionInfo, Entry, Info, Layout, Order, OwnClock, Variable,
};
use skeptron_core::claims::Quantity;
use skeptron_core::mutex::foreign;
use skeptron_core::{Claim, Formula};

use super::list;
use crate::published::{cost, messages};

/// The page of an algorithm of either kind.
#[must_use]
pub(super) fn of(algorithm: Algorithm) -> String {
    match algorithm {
        Algorithm::Mutex(info) => mutex(info),
        Algorithm::Election(info) => election(info),
    }
}

fn mutex(info: &Info) -> String {
    let claims = &info.claims;
    let mut page = Page::begun(info);
    page.line("\n## Costs\n");
    page.line("| figure | claim | when |\n|---|---|---|");
    for published in claims.figures {
        let (quantity, when) = (published.quantity, published.conditions());
        page.line(&format!("| {quantity} | {published} | {when} |"));
    }
    if claims.most(Quantity::Bypass).is_none() {
        page.line(&format!("| {} | no bound | |", Quantity::Bypass));
    }
    page.end_of_table();
    let figures: Vec<Claim> = claims.figures.iter().map(|published| published.claim).collect();
    page.line(&format!(
        "For two nodes or more, without faults and on channels as good as it needs; delays are means over a \
         run: {}.\n",
        symbols(&figures)
    ));
    page.line("## Assumptions\n");
    page.line(match info.channel {
        Order::Fifo => "- Channels are reliable, deliver once, and keep the order (FIFO).",
        Order::Any => "- Channels are reliable and deliver once; messages may overtake each other.",
    });
    page.layout(info);
    let rule = if info.layout == Layout::Arbitration { " with a fair rule" } else { "" };
    let inside = match info.layout {
        Layout::Capacity => "at most k nodes are inside",
        Layout::ReadWrite => "only readers are inside together, and a writer is alone",
        Layout::Beginning => "from some point on at most one node is inside (GA1, EM1)",
        _ => "at most one node is inside (GA1, EM1)",
    };
    let promised =
        format!("{inside}, there is no deadlock (GA2), and nobody starves{rule} (GA2', EM2).");
    page.line(&match foreign::find(info.name) {
        None => format!("- Then {promised}"),
        Some(_) => format!("- `skeptron check {}` finds out whether {promised}", info.name),
    });
    page.line(if claims.ordered {
        "- Requests ordered by happened-before are served in that order (EM3)."
    } else {
        "- It does not promise to serve requests in the order of happened-before (EM3)."
    });
    if info.broken.is_none() {
        page.line(if info.offers_kinds() {
            "- Kinds of locks (`--modes`): shared entries, semaphores, upgrades and downgrades are offered \
             over it."
        } else {
            "- Kinds of locks (`--modes`) are not offered over it in `sim` and `check`."
        });
    }
    page.notes(info);
    page.text
}

fn election(info: &ElectionInfo) -> String {
    let claims = &info.claims;
    let mut page = Page::begun(info);
    page.line("\n## Costs\n");
    page.line("| case | messages | time |\n|---|---|---|");
    for case in claims.cases {
        let time = case.time.map_or("–".into(), |time| format!("{time} T"));
        let (name, when) = (case.name, case.when);
        page.line(&format!("| {name}: {when} | {} | {time} |", messages(case)));
    }
    page.end_of_table();
    let figures: Vec<Claim> =
        claims.cases.iter().flat_map(|case| [Some(case.messages), case.time]).flatten().collect();
    page.line(&format!(
        "Of one election among two live nodes or more; time is from the call until all of them know the \
         leader. {}.\n",
        symbols(&figures)
    ));
    page.line("## Assumptions\n");
    page.line(&format!("- It survives {}.", claims.survives));
    page.line(match info.channel {
        Order::Fifo => "- Channels keep the order (FIFO).",
        Order::Any => "- Messages may overtake each other.",
    });
    page.layout(info);
    if claims.highest {
        page.line("- The highest id among those that are alive throughout wins.");
    }
    if info.is_randomised() {
        page.line(
            "- Nodes draw random numbers. At most one leader in one round holds in every run; that there is one \
             in the end, with probability 1: no run is too long to happen.",
        );
    }
    page.notes(info);
    page.text
}

/// A page that is being written.
struct Page {
    text: String,
}

impl Page {
    /// With all that comes before the costs.
    fn begun<C>(info: &Entry<C>) -> Self {
        let mut page = Page { text: String::new() };
        page.line(&format!("# {} (`{}`)\n", info.title, info.name));
        if !info.paper.is_empty() {
            page.line(&format!("{}\n", info.paper));
        }
        if let Some(broken) = info.broken {
            page.line(&format!(
                "**Broken on purpose**: {}; {}. It is here to be refuted:\n",
                broken.flaw,
                cost(broken.breaks)
            ));
            page.line(&format!("    {}", list::refuted(info.name, &broken)));
            page.line(&format!("    {}\n", list::shown(info.name, &broken)));
            page.line("What follows is about the algorithm without this flaw.\n");
        }
        // A program need not say everything.
        if !info.idea.is_empty() {
            page.line("## Idea\n");
            page.line(&format!("{}\n", info.idea));
        }
        if !info.rules.is_empty() {
            page.line("## Rules\n");
        }
        for (number, rule) in info.rules.iter().enumerate() {
            page.line(&format!("{}. {rule}", number + 1));
        }
        page.line("\n## Variables\n");
        page.line("| in the paper | says |\n|---|---|");
        for Variable { symbol, meaning, .. } in info.variables {
            page.line(&format!("| {symbol} | {meaning} |"));
        }
        for Variable { symbol, clock, .. } in info.variables {
            if let Some(OwnClock { counts, receipt, why }) = clock {
                page.end_of_table();
                page.line(&format!(
                    "The clock of the lectures counts every local event and every send, and is max(C, t) + 1 after \
                     the receipt of what was sent at t (`--show-clocks lamport` shows it). {symbol} is another \
                     one here: {counts} {receipt} {why}"
                ));
            }
        }
        page
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{}", textwrap(text));
    }

    /// Without an empty line the next one would be a row.
    fn end_of_table(&mut self) {
        self.line("");
    }

    fn layout<C>(&mut self, info: &Entry<C>) {
        self.line(match info.layout {
            Layout::None => "- It needs no layout.",
            Layout::Coordinator => "- One node is the coordinator (`--coordinator`).",
            Layout::Quorums => "- Each node has a quorum, and any two quorums meet (`--quorum`).",
            Layout::Structure => "- A valid information structure (`--structure`).",
            Layout::Tree => "- The nodes form a tree (`--tree`).",
            Layout::Arbitration => {
                "- The holder chooses the next one by an arbitration rule (`--arbitration`)."
            }
            Layout::Capacity => {
                "- It is known how many may be inside at once (`--capacity`): k, fewer than all."
            }
            Layout::ReadWrite => {
                "- Some nodes read, the others write (`--readers`), and the quorum of a writer meets every other one \
                 (`--read-quorums`)."
            }
            Layout::Beginning => {
                "- The nodes and channels may begin in any state (`--begin`); one message is in some channel."
            }
            Layout::Ring => "- The nodes stand in a ring (`--ring`).",
            Layout::Graph => "- The nodes are linked to a connected network (`--graph`).",
            Layout::Clusters => "- The nodes are divided into clusters (`--clusters`).",
            Layout::Detector => {
                "- A failure detector tells each node who has crashed (`--detector` in `sim`); the tree follows from the numbers."
            }
        });
    }

    fn notes<C>(&mut self, info: &Entry<C>) {
        for note in info.notes {
            self.line(&format!("- {note}"));
        }
    }
}

/// What the letters in the formulas of these claims mean.
fn symbols(claims: &[Claim]) -> String {
    const MEANINGS: [(char, &str); 11] = [
        ('N', "N the number of nodes"),
        ('K', "K the size of a quorum"),
        ('k', "k how many may be inside at once"),
        ('D', "D the diameter of the tree"),
        ('d', "d the distance to the first holder"),
        ('m', "m the mean distance between two nodes, each any of all"),
        ('i', "i the id of the lone requester"),
        ('H', "H(n) = 1 + 1/2 + … + 1/n the harmonic number"),
        ('L', "L the lower of Sanders' bounds"),
        ('U', "U the upper one"),
        ('T', "T the mean latency of a message"),
    ];
    let formulas = |claim: &Claim| [Some(claim.low), claim.typical, Some(claim.high)];
    let formulas: Vec<Formula> = claims.iter().flat_map(formulas).flatten().collect();
    let used = |letter: char| letter == 'T' || formulas.iter().any(|text| text.0.contains(letter));
    let said: Vec<&str> =
        MEANINGS.iter().filter(|(letter, _)| used(*letter)).map(|(_, meaning)| *meaning).collect();
    said.join(", ")
}

/// Breaks long lines of prose at 96 columns, with what follows a list mark indented.
fn textwrap(text: &str) -> String {
    const WIDTH: usize = 96;
    if text.starts_with(['|', ' ', '#']) || text.chars().count() <= WIDTH {
        return text.to_string();
    }
    let indent = match text.split_once(' ') {
        Some(("-", _)) => "  ",
        // `1.`, but not the initial of an author.
        Some((mark, _))
            if mark.ends_with('.') && mark.starts_with(|c: char| c.is_ascii_digit()) =>
        {
            "   "
        }
        _ => "",
    };
    let mut wrapped = text[..text.len() - text.trim_start().len()].to_string();
    let mut column = 0;
    let trailing = &text[text.trim_end().len()..];
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > WIDTH {
            wrapped.push('\n');
            wrapped.push_str(indent);
            column = indent.len();
        } else if column > 0 {
            wrapped.push(' ');
            column += 1;
        }
        wrapped.push_str(word);
        column += length;
    }
    wrapped + trailing
}

#[cfg(test)]
mod tests {
    use super::*;
    use skeptron_core::catalogue;

    /// Else Markdown takes the paragraph for a row.
    #[test]
    fn tables_end_with_an_empty_line() {
        let mutexes = catalogue::all().map(Algorithm::Mutex);
        for algorithm in mutexes.chain(catalogue::elections().map(Algorithm::Election)) {
            let page = of(algorithm);
            let lines: Vec<&str> = page.lines().collect();
            for pair in lines.windows(2).filter(|pair| pair[0].starts_with('|')) {
                assert!(pair[1].starts_with('|') || pair[1].is_empty(), "{algorithm:?}: {pair:?}");
            }
        }
    }

    #[test]
    fn only_letters_in_use_are_explained() {
        let symbols = |name| {
            let figures = catalogue::find(name).unwrap().claims.figures;
            symbols(&figures.iter().map(|published| published.claim).collect::<Vec<_>>())
        };
        assert_eq!(symbols("central"), "T the mean latency of a message");
        assert!(symbols("naimi-trehel").contains("H(n)"));
        assert!(!symbols("lamport").contains("tree"));
    }
}

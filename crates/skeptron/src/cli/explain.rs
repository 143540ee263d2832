//! `skeptron explain`.

use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use skeptron_core::catalogue::{Breaks, Claims, Info, Layout, Order};

use super::{Verdict, list, names};

pub mod docs;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skeptron explain ricart-agrawala
  skeptron explain singhal-1989     what is wrong with a broken variant")]
pub(crate) struct ExplainArgs {
    /// Which algorithm
    algorithm: Option<String>,
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
        out.write_all(page(names::mutex(&name)?).as_bytes())?;
        Ok(Verdict::Fine)
    }
}

/// One page on an algorithm, in Markdown that also reads well as text.
#[must_use]
pub(crate) fn page(info: &Info) -> String {
    let mut page = String::new();
    let mut line = |text: &str| {
        let _ = writeln!(page, "{}", textwrap(text));
    };
    line(&format!("# {} (`{}`)\n", info.title, info.name));
    line(&format!("{}\n", info.paper));
    if let Some(broken) = info.broken {
        let cost = match broken.breaks {
            Breaks::Safety => "two nodes can be inside at once",
            Breaks::Liveness => "somebody can wait for ever",
            Breaks::Order => "a request can be served before one that happened before it",
            Breaks::Refused => "a node can get what it has to refuse",
            Breaks::Agreement => "one epoch can have two leaders",
            Breaks::Validity => "the leader can be dead, or not the highest",
            Breaks::Termination => "an election may never end",
        };
        line(&format!(
            "**Broken on purpose**: {}; {cost}. It is here to be refuted:\n",
            broken.flaw
        ));
        line(&format!("    {}", list::refuted(info.name, &broken)));
        line(&format!("    {}\n", list::shown(info.name, &broken)));
    }
    if info.broken.is_some() {
        line("What follows is about the algorithm without this flaw.\n");
    }
    line("## Idea\n");
    line(&format!("{}\n", info.idea));
    line("## Rules\n");
    for (number, rule) in info.rules.iter().enumerate() {
        line(&format!("{}. {rule}", number + 1));
    }
    let claims = &info.claims;
    line("\n## Costs\n");
    line("| figure | claim |\n|---|---|");
    line(&format!("| messages, first entry of a lone requester | {} |", claims.messages_first));
    line(&format!("| messages, each further entry of it | {} |", claims.messages_again));
    line(&format!("| messages per entry, saturated | {} |", claims.messages_saturated));
    if let Some(uniform) = claims.messages_uniform {
        line(&format!(
            "| messages per entry, one uniformly chosen requester at a time | {uniform} |"
        ));
    }
    line(&format!("| client delay, first entry | {} T |", claims.client_first));
    line(&format!("| client delay, each further entry | {} T |", claims.client_again));
    line(&format!("| synchronisation delay, saturated | {} T |", claims.sync_delay));
    // A table ends at an empty line; without it the next one would be a row.
    line("");
    line(&format!("{}\n", symbols(claims)));
    line("## Assumptions\n");
    line(match info.channel {
        Order::Fifo => "- Channels are reliable, deliver once, and keep the order (FIFO).",
        Order::Any => "- Channels are reliable and deliver once; messages may overtake each other.",
    });
    line(match info.layout {
        Layout::None => "- It needs no layout.",
        Layout::Coordinator => "- One node is the coordinator (`--coordinator`).",
        Layout::Quorums => "- Each node has a quorum, and any two quorums meet (`--quorum`).",
        Layout::Structure => "- A valid information structure (`--structure`).",
        Layout::Tree => "- The nodes form a tree (`--tree`).",
        Layout::Arbitration => {
            "- The holder chooses the next one by an arbitration rule (`--arbitration`)."
        }
        Layout::Ring => "- The nodes stand in a ring (`--ring`).",
        Layout::Graph => "- The nodes are linked to a connected network (`--graph`).",
    });
    line(if claims.ordered {
        "- Requests ordered by happened-before are served in that order."
    } else {
        "- It does not promise to serve requests in the order of happened-before."
    });
    for note in info.notes {
        line(&format!("- {note}"));
    }
    page
}

/// What the letters in the formulas of these claims mean.
fn symbols(claims: &Claims) -> String {
    const MEANINGS: [(char, &str); 8] = [
        ('N', "N the number of nodes"),
        ('K', "K the size of a quorum"),
        ('D', "D the diameter of the tree"),
        ('d', "d the distance to the first holder"),
        ('H', "H(n) = 1 + 1/2 + … + 1/n the harmonic number"),
        ('L', "L the lower of Sanders' bounds"),
        ('U', "U the upper one"),
        ('T', "T the mean latency of a message"),
    ];
    let formulas: Vec<String> = [
        Some(claims.messages_first),
        Some(claims.messages_again),
        Some(claims.messages_saturated),
        claims.messages_uniform,
    ]
    .into_iter()
    .flatten()
    .chain([claims.client_first, claims.client_again, claims.sync_delay])
    .map(|claim| claim.to_string().replace("about", ""))
    .collect();
    let used = |letter: char| letter == 'T' || formulas.iter().any(|text| text.contains(letter));
    let said: Vec<&str> =
        MEANINGS.iter().filter(|(letter, _)| used(*letter)).map(|(_, meaning)| *meaning).collect();
    format!("For two nodes or more: {}.", said.join(", "))
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
        for info in catalogue::all() {
            let page = page(info);
            let lines: Vec<&str> = page.lines().collect();
            for pair in lines.windows(2).filter(|pair| pair[0].starts_with('|')) {
                assert!(pair[1].starts_with('|') || pair[1].is_empty(), "{}: {pair:?}", info.name);
            }
        }
    }

    #[test]
    fn only_letters_in_use_are_explained() {
        let symbols = |name| symbols(&catalogue::find(name).unwrap().claims);
        assert_eq!(symbols("central"), "For two nodes or more: T the mean latency of a message.");
        assert!(symbols("naimi-trehel").contains("H(n)"));
        assert!(!symbols("lamport").contains("tree"));
    }
}

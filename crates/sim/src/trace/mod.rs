//! What happened in a run, and the forms in which it is written: each form is one file.

mod causality;
mod clocks;
mod consistency;
mod content;
mod json_lines;
mod mermaid;
pub mod message;
mod perfetto;
#[cfg(test)]
pub(crate) mod sample;
mod shiviz;
pub mod svg;
mod text;
mod tikz;
mod timeline;
mod wording;

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use skeptron_core::catalogue::{Algorithm, Order};
use skeptron_core::election::Epoch;
use skeptron_core::monitor::Admission;
use skeptron_core::{NodeId, Setup};
use thiserror::Error;

pub use causality::{Causality, Event, EventError, EventName, Hop, Relation, relation};
pub use clocks::{ClockKind, Clocks, Stamp};
pub use consistency::Inconsistent;
pub(crate) use consistency::{Flight, Flights};
pub use content::Content;
pub use json_lines::{Cause, ReadError};
pub use wording::words;

/// The version of the format that [`Trace::read`] reads.
pub const VERSION: u32 = 1;

/// Simulated time. One unit, the `1` of the command line, is [`TICKS_PER_UNIT`] ticks.
pub type Ticks = u64;

/// How finely a unit of time is divided. Decimal, so that 0.1 units are a whole number of ticks.
pub const TICKS_PER_UNIT: Ticks = 1000;

/// A recorded run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// What was run.
    pub header: Header,
    /// What happened, in order.
    pub records: Vec<Record>,
}

/// What was run: enough to build the same nodes again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The version of the format.
    pub skeptron: u32,
    /// The algorithm's name in the catalogue.
    pub algorithm: String,
    /// The system.
    pub setup: Setup,
    /// The order in which its channels delivered.
    pub order: Order,
    /// How many ticks of `t` are one unit of time.
    pub ticks_per_unit: Ticks,
    /// What the alarms of an election count in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// The command that makes the same run again, if a command made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

impl Header {
    /// Of a run in the present version and unit of time.
    #[must_use]
    pub fn of(algorithm: &str, setup: &Setup, order: Order) -> Self {
        Header {
            skeptron: VERSION,
            algorithm: algorithm.into(),
            setup: setup.clone(),
            order,
            ticks_per_unit: TICKS_PER_UNIT,
            bounds: None,
            command: None,
        }
    }

    /// Who may be inside together.
    fn admission(&self) -> Admission {
        match Algorithm::find(&self.algorithm) {
            Some(Algorithm::Mutex(info)) => info.admission(&self.setup),
            _ => Admission::ONE,
        }
    }

    /// Whether the algorithm elects a leader.
    fn is_election(&self) -> bool {
        matches!(Algorithm::find(&self.algorithm), Some(Algorithm::Election(_)))
    }
}

/// What is said of a run whose algorithm is not known. Programs are not started because a file names them.
pub(crate) fn unknown_algorithm(name: &str) -> String {
    if !skeptron_core::mutex::foreign::is_path(name) {
        return format!("there is no algorithm named `{name}`");
    }
    format!(
        "it is a run of the program `{name}`, which runs only where you name it: `skeptron sim {name} --replay FILE`, \
         `skeptron check {name} --from FILE` or `skeptron lab --algorithm {name}`"
    )
}

/// When the bounds pass in which the alarms of an election count: the longest that messages are expected to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// One passes every so many ticks.
    pub length: Ticks,
    /// From this moment on every step takes one unit, as in what the checker finds: one passes in each unit in which
    /// nothing else happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps_from: Option<Ticks>,
}

/// One thing that happened at one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// When.
    pub t: Ticks,
    /// Where.
    pub node: NodeId,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What can happen. Inputs come from outside the algorithm; what a node does about an input follows
/// it at the same node and time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum What {
    /// Input: the application wants in.
    Request,
    /// Input: the application leaves.
    Release,
    /// Input: a message arrives.
    Deliver {
        /// Which copy of which message: the `id` of a `send` or `duplicate` before.
        id: u64,
    },
    /// Input: the node stops and forgets everything.
    Crash,
    /// Input: the node begins again in its initial state, but for the epoch that an election keeps in
    /// stable storage.
    Restart,
    /// Input: the node stands still; what arrives waits.
    Pause,
    /// Input: the node goes on.
    Resume,
    /// Input: the network loses a message (recorded at its sender).
    Lose {
        /// Which copy.
        id: u64,
        /// To what.
        cause: Loss,
    },
    /// Input: the network makes a second copy of a message (recorded at its sender).
    Duplicate {
        /// The copy's own id.
        id: u64,
        /// The message it is a copy of.
        of: u64,
    },
    /// Input: the application wants an election.
    Call,
    /// Input: the failure detector says that another node has crashed.
    Suspect {
        /// Which one.
        whom: NodeId,
    },
    /// Input: the failure detector says that a suspected node is alive after all.
    Trust {
        /// Which one.
        whom: NodeId,
    },
    /// Input: the random number for which the node has asked.
    Draw {
        /// From 1 on.
        number: u32,
    },
    /// Input: an alarm rings.
    Expire {
        /// Which one.
        timer: Value,
    },
    /// Effect: the node sends a message.
    Send {
        /// Its number, unique in the run.
        id: u64,
        /// To whom.
        to: NodeId,
        /// The name of its kind.
        label: Cow<'static, str>,
        /// What it says.
        message: Content,
    },
    /// Effect: the node enters the section.
    Enter {
        /// The entry's fence.
        fence: u64,
    },
    /// Effect: the node sets an alarm, anew if it is set already.
    Arm {
        /// Which one.
        timer: Value,
        /// After how many bounds it rings.
        after: u32,
    },
    /// Effect: the node stops an alarm, if it is set.
    Disarm {
        /// Which one.
        timer: Value,
    },
    /// Effect: the node names its leader.
    Elect {
        /// Who leads.
        leader: NodeId,
        /// Since which election.
        epoch: Epoch,
    },
    /// Effect: the node does not take the input before.
    Refuse {
        /// Why not.
        why: String,
    },
    /// A judge's finding: a property is violated here.
    Violation {
        /// Which one: `exclusion`, `progress`, `order`, `fence`, `refused`, `messages`, `rest`; of an
        /// election `agreement`, `validity`, `termination`.
        property: String,
        /// What happened.
        detail: String,
    },
}

impl What {
    /// Whether it comes from outside the algorithm, and so begins a step.
    #[must_use]
    pub fn is_input(&self) -> bool {
        match self {
            What::Request | What::Release | What::Deliver { .. } | What::Call => true,
            What::Crash | What::Restart | What::Pause | What::Resume => true,
            What::Lose { .. } | What::Duplicate { .. } => true,
            What::Suspect { .. } | What::Trust { .. } => true,
            What::Draw { .. } | What::Expire { .. } => true,
            What::Send { .. } | What::Enter { .. } | What::Refuse { .. } => false,
            What::Arm { .. } | What::Disarm { .. } | What::Elect { .. } => false,
            What::Violation { .. } => false,
        }
    }

    /// Whether it is an event of its node: not what the network does to a message, a refusal (the input
    /// before it is the event), an alarm that is set or stopped, and what a judge finds.
    #[must_use]
    pub fn is_event(&self) -> bool {
        !matches!(
            self,
            What::Lose { .. }
                | What::Duplicate { .. }
                | What::Refuse { .. }
                | What::Arm { .. }
                | What::Disarm { .. }
                | What::Violation { .. }
        )
    }

    /// The word of `do`.
    fn kind(&self) -> String {
        let written = serde_json::to_value(self).unwrap_or_default();
        written["do"].as_str().unwrap_or_default().to_string()
    }

    /// Whether pictures show it: alarms are seen when they ring.
    fn is_shown(&self) -> bool {
        !matches!(self, What::Arm { .. } | What::Disarm { .. })
    }
}

/// How a message is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// By chance.
    Chance,
    /// Its way was cut when it was sent.
    Partition,
    /// Its receiver was down when it arrived.
    Down,
    /// A hand took it away.
    Hand,
}

impl Trace {
    /// Writes the run in one of the forms.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write(&self, format: Format, out: &mut impl io::Write) -> io::Result<()> {
        self.write_picture(format, Picture::default(), out)
    }

    /// Writes what a picture shows of the run; all of it where a form is none ([`Format::is_picture`]).
    /// ShiViz always has vector clocks, and Perfetto and TikZ show none.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write_picture(
        &self,
        format: Format,
        picture: Picture,
        out: &mut impl io::Write,
    ) -> io::Result<()> {
        let part = self.records_of(picture.steps);
        match format {
            Format::JsonLines => json_lines::write(self, picture.clocks, out),
            Format::Text => text::write(self, part, picture.clocks, out),
            Format::Svg => {
                let options = svg::Options { picture, ..svg::Options::default() };
                out.write_all(svg::draw(self, &options).as_bytes())
            }
            Format::Tikz => tikz::write(self, part, out),
            Format::Mermaid => mermaid::write(self, part, picture.clocks, out),
            Format::ShiViz => shiviz::write(self, out),
            Format::Perfetto => perfetto::write(self, out),
        }
    }

    /// How many steps it has: each is one input with all that comes of it.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.beginnings().count()
    }

    /// Where the steps begin. What the start of the nodes brings about is the first one.
    fn beginnings(&self) -> impl Iterator<Item = usize> {
        let records = self.records.iter().enumerate();
        records.filter(|(index, record)| *index == 0 || record.what.is_input()).map(|(i, _)| i)
    }

    /// The records of some steps.
    fn records_of(&self, steps: Option<Steps>) -> Range<usize> {
        let all = 0..self.records.len();
        let Some(Steps { from, to }) = steps else { return all };
        let place = |step: usize| self.beginnings().nth(step).unwrap_or(all.end);
        let start = place(from.saturating_sub(1));
        start..place(to).max(start)
    }

    /// What it is called: `Ricart–Agrawala, 3 nodes, FIFO channels`.
    #[must_use]
    pub fn title(&self) -> String {
        wording::title(&self.header)
    }

    /// The records that logs show.
    fn shown(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(|record| record.what.is_shown())
    }

    /// Reads a run that was written as [`Format::JsonLines`].
    ///
    /// # Errors
    /// [`ReadError`] says in which line what is wrong.
    pub fn read(input: impl io::BufRead) -> Result<Self, ReadError> {
        json_lines::read(input)
    }
}

/// What a picture shows of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// Which steps, if not all.
    pub steps: Option<Steps>,
    /// Whether delays are drawn as measures, where that is possible: in SVG.
    pub measures: bool,
    /// Which clocks stand at the events.
    pub clocks: Option<ClockKind>,
}

/// Some steps of a run, counted from 1 as the lab counts them; both ends count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// The first one.
    pub from: usize,
    /// The last one.
    pub to: usize,
}

/// The forms in which a run can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The project's own form, the only one that can be read again: `docs/trace-format.md`.
    JsonLines,
    /// A timeline for terminals.
    Text,
    /// A space-time diagram.
    Svg,
    /// A space-time diagram as a LaTeX document.
    Tikz,
    /// A Mermaid sequence diagram.
    Mermaid,
    /// A ShiViz log with vector clocks.
    ShiViz,
    /// Trace events for Perfetto and `chrome://tracing`.
    Perfetto,
}

impl Format {
    /// All forms, each with the file extensions that stand for it.
    pub const ALL: [(Format, &'static [&'static str]); 7] = [
        (Format::JsonLines, &["jsonl"]),
        (Format::Text, &["txt"]),
        (Format::Svg, &["svg"]),
        (Format::Tikz, &["tex"]),
        (Format::Mermaid, &["mmd"]),
        (Format::ShiViz, &["shiviz", "log"]),
        (Format::Perfetto, &["json"]),
    ];

    /// Whether some steps can be written alone.
    #[must_use]
    pub fn is_picture(self) -> bool {
        matches!(self, Format::Text | Format::Svg | Format::Tikz | Format::Mermaid)
    }

    /// The form that a file's extension asks for.
    ///
    /// # Errors
    /// If no form has that extension.
    pub fn of_path(path: &Path) -> Result<Format, UnknownFormat> {
        let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        let named = |known: &[&str]| extension.as_deref().is_some_and(|e| known.contains(&e));
        let found = Format::ALL.iter().find(|(_, known)| named(known));
        found.map(|&(format, _)| format).ok_or(UnknownFormat { extension })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::JsonLines => "JSON Lines",
            Format::Text => "text",
            Format::Svg => "SVG",
            Format::Tikz => "TikZ",
            Format::Mermaid => "Mermaid",
            Format::ShiViz => "ShiViz",
            Format::Perfetto => "Perfetto",
        })
    }
}

/// A file name does not say in which form to write.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct UnknownFormat {
    extension: Option<String>,
}

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.extension {
            Some(extension) => write!(f, "no form of a trace is called `.{extension}`; known are")?,
            None => write!(f, "the file's extension chooses the form of a trace; known are")?,
        }
        for (i, (format, extensions)) in Format::ALL.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            write!(f, "{comma} .{} ({format})", extensions.join(" and ."))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_chooses_the_form() {
        for (format, extensions) in Format::ALL {
            for extension in extensions {
                let path = format!("some/run.v2.{extension}");
                assert_eq!(Format::of_path(Path::new(&path)), Ok(format));
            }
        }
        assert_eq!(Format::of_path(Path::new("RUN.SVG")), Ok(Format::Svg));
    }

    #[test]
    fn an_unknown_extension_names_the_known_ones() {
        let wrong = Format::of_path(Path::new("run.png")).unwrap_err();
        insta::assert_snapshot!(wrong, @"no form of a trace is called `.png`; known are .jsonl (JSON Lines), .txt (text), .svg (SVG), .tex (TikZ), .mmd (Mermaid), .shiviz and .log (ShiViz), .json (Perfetto)");
        let none = Format::of_path(Path::new("run")).unwrap_err();
        insta::assert_snapshot!(none, @"the file's extension chooses the form of a trace; known are .jsonl (JSON Lines), .txt (text), .svg (SVG), .tex (TikZ), .mmd (Mermaid), .shiviz and .log (ShiViz), .json (Perfetto)");
    }

    /// Formats draw what they are given: no trace makes them panic.
    #[test]
    fn nonsense_is_drawn_without_complaint() {
        let mut trace = sample::Scene::new(2).play();
        let node = NodeId::new(7);
        for what in [What::Deliver { id: 999 }, What::Enter { fence: 0 }, What::Restart] {
            trace.records.insert(0, Record { t: u64::MAX, node, what });
        }
        trace.header.ticks_per_unit = 0;
        trace.header.algorithm = "<unknown>".into();
        for (format, _) in Format::ALL {
            for clocks in [None, Some(ClockKind::Both)] {
                let mut out = Vec::new();
                let picture = Picture { clocks, ..Picture::default() };
                trace.write_picture(format, picture, &mut out).unwrap();
                assert!(!out.is_empty());
            }
        }
    }
}

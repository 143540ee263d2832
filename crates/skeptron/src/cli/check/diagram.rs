//! A counterexample as a space-time diagram in text: a lifeline for each node, a row for each step, and
//! beside it what the node that took the step knows then.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::Result;
use skeptron_check::{Counterexample, Property};
use skeptron_core::NodeId;
use skeptron_sim::trace::{Loss, Record, TICKS_PER_UNIT, What};

use super::super::table::folded;
use super::super::traces::painted;
use super::Question;
use super::print;
use crate::ask::check::trace::{ReplayedStep, ReplayedSteps, SentMessage};
use crate::state::{self, Live};

/// How wide a row may be.
const WIDTH: usize = 120;
/// What happens gets so many columns before the state moves to a row of its own.
const EVENT: usize = 58;
/// A state gets so many columns at least.
const STATE: usize = 40;
/// A message's payload is repeated when it arrives, unless that is longer than this.
const PAYLOAD: usize = 12;
/// A state takes so many rows at most: a token may carry a counter for each node.
const STATE_ROWS: usize = 4;
/// So many steps are shown of a run that had begun before the search.
const BEFORE: usize = 8;
/// With more nodes than this only those that do something have a lifeline.
const LIFELINES: usize = 7;

/// Draws it.
///
/// # Errors
/// If writing fails.
pub(super) fn draw(
    question: &Question,
    property: Property,
    counterexample: &Counterexample,
    out: &mut impl Write,
) -> Result<()> {
    let replayed = question.follow(counterexample)?;
    let n = question.setup().nodes();
    let mut involved: BTreeSet<NodeId> =
        replayed.records.iter().map(|record| record.node).collect();
    involved.extend(replayed.messages.values().map(|message| message.to));
    let lanes: Vec<NodeId> =
        NodeId::all(n).filter(|node| n <= LIFELINES || involved.contains(node)).collect();
    let begun = question.begun();
    let mut diagram = Diagram {
        gap: if lanes.len() <= 4 { 5 } else { 4 },
        lanes,
        doing: vec![Doing::Idle; n],
        number_width: counterexample.steps.len().to_string().len().max("step".len()),
        replayed: &replayed,
        begun,
    };
    let shortest = match (counterexample.cycle, counterexample.shortest) {
        (Some(_), _) => "",
        (None, true) => ", and in no fewer",
        (None, false) => ", perhaps in fewer",
    };
    let when = print::when(counterexample, begun);
    match property {
        Property::Extreme => writeln!(out, "such a run, {when}{shortest}")?,
        _ if begun < counterexample.steps.len() => {
            writeln!(out, "{property} is violated {when}{shortest}")?;
        }
        _ => writeln!(out, "{property} is violated {when}")?,
    }
    let [waiting, inside] = match question {
        Question::Mutex(..) => ["waiting", "inside"],
        Question::Election(..) => ["calling", "leading"],
    };
    if !counterexample.beginnings.is_empty() {
        writeln!(out, "{}", folded(&beginning(question, counterexample, &replayed)?))?;
    }
    writeln!(out, "┆ {waiting}  ┃ {inside}  ● takes the step  ─▶ gets a message  ! violated\n")?;
    diagram.rows(counterexample, property, out)?;
    if let Some(first) = counterexample.cycle {
        writeln!(out, "\nFrom step {} on it repeats for ever.", first + 1)?;
    }
    Ok(())
}

/// In which state a run begins that may begin in any: what differs from the initial one.
fn beginning(
    question: &Question,
    run: &Counterexample,
    replayed: &ReplayedSteps,
) -> Result<String> {
    let initial = question.initial()?;
    let mut live = Live::with_zeros();
    for (initial, begun) in initial.iter().zip(&replayed.initial) {
        live.note(initial, begun);
    }
    let told = NodeId::all(initial.len()).zip(&replayed.initial);
    let told: Vec<String> =
        told.map(|(node, begun)| format!("{node} {}", state::state(begun, &live))).collect();
    let numbers: Vec<String> = run.beginnings.iter().map(ToString::to_string).collect();
    Ok(format!("begun with {} (--begin {})", told.join(", "), numbers.join(",")))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    Idle,
    Waiting,
    Inside,
    Down,
}

impl Doing {
    /// How a lifeline looks.
    fn sign(self) -> char {
        match self {
            Doing::Idle => '│',
            Doing::Waiting => '┆',
            Doing::Inside => '┃',
            Doing::Down => ' ',
        }
    }

    /// How a lifeline looks where a message crosses it.
    fn crossed(self) -> char {
        match self {
            Doing::Idle | Doing::Waiting => '┼',
            Doing::Inside => '╂',
            Doing::Down => '─',
        }
    }
}

/// What is drawn on the lifelines of a row.
#[derive(Clone, Copy)]
enum Mark {
    None,
    At(NodeId, char),
    Arrives { from: NodeId, to: NodeId },
    Lost { from: NodeId, to: NodeId },
}

struct Diagram<'a> {
    lanes: Vec<NodeId>,
    /// From one lifeline to the next.
    gap: usize,
    doing: Vec<Doing>,
    number_width: usize,
    replayed: &'a ReplayedSteps,
    /// How many steps had been taken before the search began.
    begun: usize,
}

impl Diagram<'_> {
    fn rows(
        &mut self,
        counterexample: &Counterexample,
        property: Property,
        out: &mut impl Write,
    ) -> Result<()> {
        let replayed = self.replayed;
        let mut bounds = 0;
        let tell = |moment: &ReplayedStep| {
            bounds = if moment.is_tick { bounds + 1 } else { 0 };
            self.event(moment, bounds)
        };
        let events: Vec<String> = replayed.moments.iter().map(tell).collect();
        let states = self.states();
        let left = self.number_width + 2 + self.gap * self.lanes.len();
        let longest = |texts: &[String], most: usize| {
            texts.iter().map(|text| text.chars().count()).filter(|&width| width <= most).max()
        };
        let whole = |texts: &[String]| longest(texts, usize::MAX).unwrap_or_default();
        let fits = left + whole(&events) + 2 + whole(&states) <= WIDTH;
        let most = if fits { usize::MAX } else { EVENT };
        let columns = longest(&events, most).unwrap_or(EVENT).max("what happens".len());
        let room = WIDTH.saturating_sub(left + columns + 2).max(STATE);

        write!(out, "{:>width$}  ", "step", width = self.number_width)?;
        for node in &self.lanes {
            write!(out, "{:<gap$}", node.to_string(), gap = self.gap)?;
        }
        writeln!(out, "{:<columns$}  state of the node after it", "what happens")?;
        for (number, ((moment, event), state)) in
            replayed.moments.iter().zip(&events).zip(&states).enumerate()
        {
            let goes_on = |next: &ReplayedStep| moment.is_tick && next.is_tick;
            let is_last = !replayed.moments.get(number + 1).is_some_and(goes_on);
            if moment.records.is_empty() && !(moment.is_tick && is_last) {
                continue;
            }
            let mark = self.mark(&replayed.records[moment.records.clone()]);
            let lifelines = self.lifelines(mark);
            self.go_on(&replayed.records[moment.records.clone()]);
            if number + BEFORE <= self.begun {
                continue;
            }
            let mut lines = wrapped(state, room).into_iter();
            let fits = event.chars().count() <= columns;
            let first = if fits { lines.next().unwrap_or_default() } else { String::new() };
            self.row(&number.to_string(), &lifelines, &format!("{event:<columns$}  {first}"), out)?;
            let after = self.lifelines(Mark::None);
            for line in lines {
                self.row("", &after, &format!("{:<columns$}  {line}", ""), out)?;
            }
            if number == self.begun && number > 0 {
                self.row("", &after, "the run so far; from here on everything is explored", out)?;
            }
        }
        let lifelines = self.lifelines(Mark::At(counterexample.node, '!'));
        let text = match property {
            Property::Extreme => counterexample.detail.clone(),
            _ => format!("{property} is violated: {}", counterexample.detail),
        };
        self.row("", &lifelines, &text, out)
    }

    fn row(&self, number: &str, lifelines: &str, text: &str, out: &mut impl Write) -> Result<()> {
        let row = format!("{number:>width$}  {lifelines}{text}", width = self.number_width);
        writeln!(out, "{}", painted(row.trim_end()))?;
        Ok(())
    }

    /// The state of whoever took each step.
    fn states(&self) -> Vec<String> {
        let after = || self.replayed.moments.iter().map(|moment| moment.after.as_ref());
        let mut live = Live::default();
        for (node, value) in after().flatten() {
            live.note(&self.replayed.initial[node.index()], value);
        }
        let words = |state: Option<&(_, _)>| {
            state.map(|(_, value)| state::state(value, &live)).unwrap_or_default()
        };
        after().map(words).collect()
    }

    fn mark(&self, records: &[Record]) -> Mark {
        let Some(first) = records.first() else { return Mark::None };
        let ends =
            |id: u64| self.replayed.messages.get(&id).map(|message| (message.from, message.to));
        match first.what {
            What::Deliver { id } => match ends(id) {
                Some((from, to)) => Mark::Arrives { from, to },
                None => Mark::At(first.node, '●'),
            },
            What::Lose { id, .. } => match ends(id) {
                Some((from, to)) => Mark::Lost { from, to },
                None => Mark::None,
            },
            What::Duplicate { .. } => Mark::None,
            What::Crash => Mark::At(first.node, '╳'),
            _ => Mark::At(first.node, '●'),
        }
    }

    fn lifelines(&self, mark: Mark) -> String {
        let mut cells = vec![' '; self.gap * self.lanes.len()];
        for (lane, node) in self.lanes.iter().enumerate() {
            cells[lane * self.gap] = self.doing[node.index()].sign();
        }
        let column =
            |node: NodeId| self.lanes.iter().position(|n| *n == node).map(|l| l * self.gap);
        let mut line = |from: NodeId, to: NodeId, part: usize, heads: [char; 2]| {
            let (Some(from), Some(to)) = (column(from), column(to)) else { return };
            let (left, right) = (from.min(to), from.max(to));
            let mut length = (right - left - 1).div_ceil(part);
            if length.is_multiple_of(self.gap) {
                length -= 1;
            }
            let (head, heads) =
                if from < to { (left + length, heads[0]) } else { (right - length, heads[1]) };
            let shaft = if from < to { left + 1..head } else { head + 1..right };
            for at in shaft {
                cells[at] = match at % self.gap {
                    0 => self.doing[self.lanes[at / self.gap].index()].crossed(),
                    _ => '─',
                };
            }
            cells[head] = heads;
        };
        match mark {
            Mark::None => {}
            Mark::At(node, sign) => {
                if let Some(at) = column(node) {
                    cells[at] = sign;
                }
            }
            Mark::Arrives { from, to } => {
                line(from, to, 1, ['▶', '◀']);
                if let Some(at) = column(to) {
                    cells[at] = '●';
                }
            }
            Mark::Lost { from, to } => line(from, to, 2, ['╳', '╳']),
        }
        cells.into_iter().collect()
    }

    /// What the users do after these records.
    fn go_on(&mut self, records: &[Record]) {
        for (i, record) in records.iter().enumerate() {
            let refused =
                matches!(records.get(i + 1), Some(Record { what: What::Refuse { .. }, .. }));
            let doing = &mut self.doing[record.node.index()];
            match record.what {
                What::Request if !refused => *doing = Doing::Waiting,
                What::Release if !refused => *doing = Doing::Idle,
                What::Call if !refused => *doing = Doing::Waiting,
                What::Restart => *doing = Doing::Idle,
                What::Elect { leader, .. } if leader == record.node => *doing = Doing::Inside,
                What::Elect { .. } => *doing = Doing::Idle,
                What::Enter { .. } => *doing = Doing::Inside,
                What::Crash => *doing = Doing::Down,
                _ => {}
            }
        }
    }

    /// What happens in a step, in a few words: first what the node got, then what it does. Where only
    /// time passes, so many bounds have by now.
    fn event(&self, moment: &ReplayedStep, bounds: usize) -> String {
        let records = &self.replayed.records[moment.records.clone()];
        let mut parts: Vec<String> = Vec::new();
        match bounds {
            0 => {}
            1 => parts.push("one bound passes".into()),
            many => parts.push(format!("{many} bounds pass")),
        }
        // The message that was sent last and to whom, so that equal ones share their words.
        let mut sending: Option<(String, Vec<String>)> = None;
        let mut lost_to_crash = 0;
        let crashed = matches!(records.first(), Some(Record { what: What::Crash, .. }));
        let mut actor = None;
        for record in records {
            if let What::Arm { .. } | What::Disarm { .. } = record.what {
                continue;
            }
            if let What::Send { id, to, .. } = record.what {
                let said = self.said(id);
                match &mut sending {
                    Some((same, receivers)) if *same == said && actor == Some(record.node) => {
                        receivers.push(to.to_string());
                    }
                    _ => {
                        parts.extend(sending.take().map(to_whom));
                        let who = self.who(record.node, &mut actor);
                        sending = Some((format!("{who}{said}"), vec![to.to_string()]));
                    }
                }
                continue;
            }
            parts.extend(sending.take().map(to_whom));
            match &record.what {
                What::Lose { .. } if crashed => lost_to_crash += 1,
                What::Lose { id, cause: Loss::Down } => {
                    let message = self.replayed.messages.get(id);
                    parts.extend(message.map(|message| format!("{} is down", message.to)));
                }
                What::Lose { id, .. } => parts.push(format!("{} is lost", self.towards(*id))),
                What::Duplicate { of, .. } => {
                    parts.push(format!("{} is duplicated", self.towards(*of)));
                }
                what => {
                    let who = self.who(record.node, &mut actor);
                    parts.push(format!("{who}{}", self.input(what)));
                }
            }
        }
        parts.extend(sending.map(to_whom));
        match lost_to_crash {
            0 => {}
            1 => parts.push("1 message to it is lost".into()),
            many => parts.push(format!("{many} messages to it are lost")),
        }
        parts.join(" · ")
    }

    /// A node is named where it begins to act.
    fn who(&self, node: NodeId, actor: &mut Option<NodeId>) -> String {
        if actor.replace(node) == Some(node) { String::new() } else { format!("{node} ") }
    }

    fn input(&self, what: &What) -> String {
        match what {
            What::Request => "requests".into(),
            What::Release => "leaves".into(),
            What::Crash => "crashes".into(),
            What::Restart => "comes back".into(),
            What::Call => "calls".into(),
            What::Suspect { whom } => format!("suspects {whom}"),
            What::Trust { whom } => format!("trusts {whom} again"),
            What::Draw { number } => format!("draws {number}"),
            What::Expire { timer } => format!("alarm {} rings", timer.as_str().unwrap_or_default()),
            What::Elect { leader, epoch } => format!("names {leader} in {epoch}"),
            What::Enter { fence } => format!("enters, fence {fence}"),
            What::Refuse { why } => format!("refuses: {why}"),
            What::Deliver { id } => match self.replayed.messages.get(id) {
                Some(SentMessage { from, label, name, t, .. }) => {
                    let sent = t / TICKS_PER_UNIT;
                    let when = if sent == 0 { "start".into() } else { format!("step {sent}") };
                    let name = if name.len() > label.len() + PAYLOAD { label } else { &**name };
                    format!("{name} ← {from} ({when})")
                }
                None => format!("message {id} arrives"),
            },
            other => format!("{other:?}"),
        }
    }

    /// A message as diagrams name it.
    fn said(&self, id: u64) -> String {
        let message = self.replayed.messages.get(&id);
        message.map_or_else(|| format!("message {id}"), |message| message.name.clone())
    }

    /// A message on its way.
    fn towards(&self, id: u64) -> String {
        match self.replayed.messages.get(&id) {
            Some(SentMessage { from, name, to, .. }) => format!("{from} {name} → {to}"),
            None => format!("message {id}"),
        }
    }
}

fn to_whom((said, receivers): (String, Vec<String>)) -> String {
    format!("{said} → {}", receivers.join(", "))
}

/// Breaks a text at blanks; what is too long ends with an ellipsis.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    let cut = lines.len() > STATE_ROWS;
    lines.truncate(STATE_ROWS);
    let last = lines.len().saturating_sub(1);
    for (i, line) in lines.iter_mut().enumerate() {
        if line.chars().count() > width || cut && i == last {
            *line = line.chars().take(width.saturating_sub(2)).chain(" …".chars()).collect();
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use skeptron_check::{Scenario, Step, Which};
    use skeptron_core::catalogue::{self, Order};
    use skeptron_core::{NodeId, Setup};

    use super::*;

    fn drawn(name: &str, nodes: usize, told: &Counterexample) -> String {
        let info = catalogue::find(name).unwrap();
        let scenario = Scenario::new(Setup::new(nodes).unwrap(), 1, Order::Fifo);
        let mut out = Vec::new();
        draw(&Question::Mutex(info, scenario), Property::Progress, told, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn oldest(from: usize, to: usize) -> Which {
        Which { from: NodeId::new(from - 1), to: NodeId::new(to - 1), nth: 0 }
    }

    #[test]
    fn everything_that_can_happen() {
        let [p1, p2, p3] = [0, 1, 2].map(NodeId::new);
        let told = Counterexample {
            beginnings: Vec::new(),
            steps: vec![
                Step::Request(p2),
                Step::Duplicate(oldest(2, 3)),
                Step::Deliver(oldest(2, 3)),
                Step::Deliver(oldest(2, 3)),
                Step::Lose(oldest(2, 1)),
                Step::Request(p1),
                Step::Crash(p3),
            ],
            node: p2,
            detail: "P1, P2 wait for ever".into(),
            cycle: None,
            shortest: false,
        };
        insta::assert_snapshot!(drawn("ricart-agrawala", 3, &told), @"
        progress is violated in 7 steps, perhaps in fewer
        ┆ waiting  ┃ inside  ● takes the step  ─▶ gets a message  ! violated

        step  P1   P2   P3   what happens                             state of the node after it
           1  │    ●    │    P2 requests · REQUEST 1 → P1, P3         waiting clock=1 stamp=1 awaiting={P1,P3}
           2  │    ┆    │    P2 REQUEST 1 → P3 is duplicated
           3  │    ┆───▶●    P3 REQUEST 1 ← P2 (step 1) · REPLY → P2  idle clock=1
           4  │    ┆───▶●    P3 REQUEST 1 ← P2 (step 1) · REPLY → P2  idle clock=1
           5  │  ╳─┆    │    P2 REQUEST 1 → P1 is lost
           6  ●    ┆    │    P1 requests · REQUEST 1 → P2, P3         waiting clock=1 stamp=1 awaiting={P2,P3}
           7  ┆    ┆    ╳    P3 crashes · 1 message to it is lost
              ┆    !         progress is violated: P1, P2 wait for ever
        ");
    }

    #[test]
    fn a_run_without_an_end_says_where_it_repeats() {
        let told = Counterexample {
            beginnings: Vec::new(),
            steps: vec![
                Step::Request(NodeId::new(0)),
                Step::Deliver(oldest(1, 2)),
                Step::Deliver(oldest(2, 1)),
            ],
            node: NodeId::new(0),
            detail: "P1 waits for ever".into(),
            cycle: Some(1),
            shortest: true,
        };
        let drawn = drawn("token-ring", 2, &told);
        assert!(drawn.starts_with("progress is violated in 3 steps\n"), "{drawn}");
        assert!(drawn.ends_with("\nFrom step 2 on it repeats for ever.\n"), "{drawn}");
    }

    #[test]
    fn a_long_state_takes_a_few_rows() {
        assert_eq!(wrapped("a bb cc", 4), ["a bb", "cc"]);
        assert_eq!(wrapped("aaaa bbbb cccc dddd eeee", 5), ["aaaa", "bbbb", "cccc", "ddd …"]);
        assert_eq!(wrapped("abcdefgh", 5), ["abc …"]);
        assert!(wrapped("", 5).is_empty());
    }
}

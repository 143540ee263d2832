//! What `skeptron check` prints, apart from counterexamples.

use std::io::{self, Write};

use serde::Serialize;
use skeptron_check::{
    Counterexample, CrashWhen, ElectionFaults, ElectionScenario, Faults, Property, Report, Verdict,
    Walked,
};
use skeptron_core::NodeId;
use skeptron_core::catalogue::Order;
use skeptron_core::claims::Quantity;

use super::super::interrupt;
use super::super::table::{counted_in_thousands, folded, table};
use super::Question;
use super::memory::readable;

/// More states than this in expectation, lost to equal fingerprints, are worth a word.
const WORTH_A_WORD: f64 = 1e-6;

/// The report as JSON.
#[derive(Serialize)]
pub(super) struct Json<'a> {
    algorithm: &'a str,
    nodes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<&'a [u8]>,
    /// How many steps had been taken before: `trace_length` counts them, too.
    #[serde(skip_serializing_if = "is_zero")]
    after: usize,
    #[serde(flatten)]
    election: Option<Calls<'a>>,
    order: Order,
    faults: AnyFaults<'a>,
    /// In how many states it begins, where it may begin in several.
    #[serde(skip_serializing_if = "is_one")]
    starts: u64,
    states: u64,
    transitions: u64,
    depth: usize,
    complete: bool,
    out_of_memory: bool,
    reduction: bool,
    properties: Vec<Judged<'a>>,
    /// With requests without end.
    #[serde(skip_serializing_if = "is_zero")]
    endless_states: usize,
    overlooked_states_expected: f64,
    peak_bytes: usize,
    /// Where walks were taken instead of a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    walked: Option<Walked>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disk_bytes: Option<u64>,
    seconds: f64,
    command: String,
}

/// Who calls elections.
#[derive(Serialize)]
struct Calls<'a> {
    initiators: &'a [NodeId],
    calls: usize,
    detector: u8,
}

/// What goes wrong.
#[derive(Serialize)]
#[serde(untagged)]
enum AnyFaults<'a> {
    Mutex(&'a Faults),
    Election(&'a ElectionFaults),
}

#[derive(Serialize)]
pub(super) struct Judged<'a> {
    name: &'a str,
    holds: Option<bool>,
    trace_length: Option<usize>,
    counterexample: Option<&'a Counterexample>,
}

/// What is known of one property.
pub(super) fn judged(verdict: &Verdict) -> Judged<'_> {
    Judged {
        name: verdict.property.name(),
        holds: verdict.holds,
        trace_length: verdict.counterexample.as_ref().map(|c| c.steps.len()),
        counterexample: verdict.counterexample.as_ref(),
    }
}

impl<'a> Json<'a> {
    pub(super) fn new(question: &'a Question, report: &'a Report, command: String) -> Self {
        let (requests, election, faults) = match question {
            Question::Mutex(_, scenario) => {
                (Some(&scenario.requests[..]), None, AnyFaults::Mutex(&scenario.faults))
            }
            Question::Election(_, scenario) => {
                let initiators = &scenario.initiators;
                let calls = usize::from(scenario.calls).min(initiators.len());
                let election = Calls { initiators, calls, detector: scenario.detector };
                (None, Some(election), AnyFaults::Election(&scenario.faults))
            }
        };
        Json {
            algorithm: question.name(),
            nodes: question.setup().nodes(),
            requests,
            after: question.begun(),
            election,
            order: question.order(),
            faults,
            starts: report.starts,
            states: report.states,
            transitions: report.transitions,
            depth: report.depth,
            complete: report.complete,
            out_of_memory: report.out_of_memory,
            reduction: report.reduction,
            properties: report.verdicts.iter().map(judged).collect(),
            endless_states: report.endless_states,
            overlooked_states_expected: overlooked(report),
            peak_bytes: report.peak_bytes,
            walked: report.walked,
            disk_bytes: (report.disk_bytes > 0).then_some(report.disk_bytes),
            seconds: report.seconds,
            command,
        }
    }
}

fn is_one(starts: &u64) -> bool {
    *starts == 1
}

fn is_zero(states: &usize) -> bool {
    *states == 0
}

/// The report as text.
pub(super) fn report(
    question: &Question,
    report: &Report,
    (max_memory, resumed): (usize, Option<String>),
    asked_alone: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let order = match question.order() {
        Order::Fifo => "FIFO channels",
        Order::Any => "channels in any order",
    };
    let reduction = match report.walked {
        Some(_) => "random walks",
        None if report.reduction => "reduced",
        None => "every interleaving",
    };
    let said = format!(
        "{} · {} · {} · {order} · {} · {reduction}",
        question.name(),
        counted_in_thousands(question.setup().nodes() as u64, "node"),
        match question {
            Question::Mutex(_, scenario) if scenario.after.is_empty() =>
                requests(&scenario.requests),
            Question::Mutex(_, scenario) => format!(
                "after {} of a run · {} from there on",
                counted_in_thousands(scenario.after.len() as u64, "step"),
                requests(&scenario.requests)
            ),
            Question::Election(_, scenario) if scenario.after.is_empty() => calls(scenario),
            Question::Election(_, scenario) => format!(
                "after {} of a run · {} from there on",
                counted_in_thousands(scenario.after.len() as u64, "step"),
                calls(scenario)
            ),
        },
        match question {
            Question::Mutex(_, scenario) => faults(&scenario.faults),
            Question::Election(_, scenario) => election_faults(&scenario.faults),
        }
    );
    writeln!(out, "{}", folded(&said))?;
    match (question.channel(), question.order()) {
        (Order::Fifo, Order::Any) => {
            writeln!(out, "It is correct on FIFO channels only: these are worse than it needs.")?;
        }
        (Order::Any, Order::Fifo) => {
            writeln!(out, "It claims to need no FIFO channels: --order any checks that.")?;
        }
        _ => {}
    }
    if let Some(flaw) = question.setup().flaw() {
        writeln!(out, "{}", folded(&format!("Unsafe structure: {flaw}.")))?;
    }
    if report.starts > 1 {
        let starts = counted_in_thousands(report.starts, "state");
        let said = format!(
            "It begins in any of {starts}: all of the nodes, with at most one message in each channel and one \
             in all. What is promised is promised from a legitimate state on."
        );
        writeln!(out, "{}", folded(&said))?;
    }
    let mut rows = table(["property", "meaning", "verdict"]);
    for verdict in &report.verdicts {
        let said = match report.walked {
            Some(_) if verdict.counterexample.is_none() => "no violation seen".into(),
            _ => in_words(verdict, question.begun()),
        };
        let admission = question.admission();
        let meaning = match verdict.property {
            Property::Exclusion if !admission.is_exclusive() => format!("inside are {admission}"),
            Property::Termination if question.is_randomised() => {
                "an election ends with a live leader, with probability 1".into()
            }
            property => property.meaning().to_string(),
        };
        rows.add_row([verdict.property.name(), &meaning, &said]);
    }
    writeln!(out, "{rows}")?;
    // Starvation alone needs no search with bounded requests.
    if report.states > 0 {
        writeln!(out, "{}", folded(&figures(report, interrupt::came())))?;
    }
    if report.verdict(Property::Starvation).is_some() {
        let states = counted_in_thousands(report.endless_states as u64, "state");
        writeln!(out, "requests without end: {states}")?;
    }
    if let Some(walked) = &report.walked {
        writeln!(out, "{}", folded(&walks(walked)))?;
    }
    let overlooked = overlooked(report);
    if overlooked > WORTH_A_WORD {
        writeln!(
            out,
            "states that equal fingerprints of 64 bits may have hidden: {overlooked:.0e} in expectation"
        )?;
    }
    let unjudged = if asked_alone { Vec::new() } else { unjudged(question, report) };
    if !unjudged.is_empty() {
        writeln!(out, "{}", folded(&format!("not judged: {}", unjudged.join("; "))))?;
    }
    writeln!(out, "{}", folded(&ending(question, report, max_memory, interrupt::came())))?;
    let is_over = report.complete || report.violation().is_some() && !interrupt::came();
    match resumed {
        Some(command) if !is_over => writeln!(out, "continue it  {command}"),
        _ => Ok(()),
    }
}

pub(super) fn in_words(verdict: &Verdict, begun: usize) -> String {
    match (verdict.holds, &verdict.counterexample) {
        (_, Some(c)) => format!("VIOLATED {}", when(c, begun)),
        (Some(true), None) => "holds".into(),
        _ => "undecided".into(),
    }
}

/// After how many steps it shows, of which so many had been taken before the search began.
pub(super) fn when(counterexample: &Counterexample, begun: usize) -> String {
    let steps = counterexample.steps.len();
    match steps.checked_sub(begun) {
        Some(steps) if begun == 0 => format!("in {}", counted_in_thousands(steps as u64, "step")),
        Some(0) => "here".into(),
        Some(further) => format!("in {}", counted_in_thousands(further as u64, "further step")),
        None => format!("at step {steps} already"),
    }
}

/// What a property says of a lock with kinds.
pub(super) fn meaning_of_kinds(property: Property) -> &'static str {
    match property {
        Property::Exclusion => "nobody is among more than it tolerates",
        Property::Progress => "no deadlock, and everyone is served",
        Property::Messages => "no more messages per entry than docs/kinds.md says",
        other => other.meaning(),
    }
}

pub(super) fn figures(report: &Report, interrupted: bool) -> String {
    let Report { states, transitions, depth, seconds, .. } = *report;
    let per_state = report.peak_bytes as f64 / states.max(1) as f64;
    let counted = format!(
        "{}, {}, depth {depth}, {}",
        counted_in_thousands(states, "state"),
        counted_in_thousands(transitions, "transition"),
        duration(seconds),
    );
    if interrupted {
        // What the level under way had found is not counted, but its time is.
        return counted;
    }
    let rate = short(states as f64 / seconds.max(1e-9));
    if report.disk_bytes > 0 {
        let (memory, disk) = (readable(report.peak_bytes), readable(report.disk_bytes as usize));
        return format!("{counted}: {rate} states/s, {memory} in memory, {disk} on disk");
    }
    let per_state = counted_in_thousands(per_state.round() as u64, "byte");
    format!("{counted}: {rate} states/s, {per_state} per state")
}

/// How a search of a lock with kinds ended.
pub(super) fn ending_of_kinds(report: &Report, max_memory: usize, interrupted: bool) -> String {
    if report.out_of_memory {
        out_of_memory(report, max_memory)
    } else if report.complete {
        "complete: nothing else can happen".into()
    } else if interrupted {
        format!("incomplete: it was interrupted at depth {}", report.depth)
    } else {
        "ended at the first violation; --keep-going decides the rest".into()
    }
}

fn out_of_memory(report: &Report, max_memory: usize) -> String {
    format!(
        "incomplete: the memory limit of {} ended the search; everything up to depth {} was explored; \
         raise --max-memory or ask for less",
        readable(max_memory),
        report.depth
    )
}

fn ending(question: &Question, report: &Report, max_memory: usize, interrupted: bool) -> String {
    let limit = readable(max_memory);
    if report.walked.is_some() {
        return match (report.holds(), report.out_of_memory) {
            (true, true) => format!(
                "incomplete: the memory limit of {limit} ended the walks; raise --max-memory or ask for fewer"
            ),
            (true, false) => {
                "incomplete: walks are samples; what they do not show is unknown".into()
            }
            (false, _) => {
                "incomplete: walks are samples; others may be shorter, or violate more".into()
            }
        };
    }
    let undecided = report.verdicts.iter().any(|verdict| verdict.holds.is_none());
    if report.out_of_memory {
        out_of_memory(report, max_memory)
    } else if report.complete && undecided && report.holds() {
        format!(
            "incomplete: every state was seen, but the memory limit of {limit} is too low to look for \
             endless runs among them; raise --max-memory or ask for less"
        )
    } else if report.complete {
        let most = ElectionScenario::MOST_HURRY;
        match question {
            Question::Mutex(..) => "complete: nothing else can happen".into(),
            Question::Election(..) => format!(
                "complete: nothing else can happen unless more than {most} new rounds begin within one bound"
            ),
        }
    } else if undecided && interrupted {
        format!("incomplete: it was interrupted at depth {}", report.depth)
    } else if undecided {
        "ended at the first violation; --keep-going decides the rest".into()
    } else {
        "ended when every property was decided".into()
    }
}

/// How much of the system random walks have seen.
fn walks(walked: &Walked) -> String {
    let Walked { walks, cut_short, new_states } = *walked;
    let cut = match cut_short {
        0 => String::new(),
        _ => format!(", {} cut short by --walk-steps", counted_in_thousands(cut_short, "walk")),
    };
    format!(
        "{}{cut}; of the last tenth's steps {} led to a state that no earlier walk had seen",
        counted_in_thousands(walks, "random walk"),
        format_args!("{:.1} %", 100.0 * new_states),
    )
}

/// What was not judged, and why not.
fn unjudged(question: &Question, report: &Report) -> Vec<String> {
    let starvation = match question {
        Question::Mutex(..) => Some(Property::Starvation),
        Question::Election(..) => None,
    };
    let properties = question.properties().iter().copied().chain(starvation);
    let missing = properties.filter(|&property| report.verdict(property).is_none());
    let why = |property| match (question, property) {
        (Question::Mutex(info, _), Property::Order) if !info.claims.ordered => "not claimed",
        (_, Property::Fence) if !question.admission().is_exclusive() => {
            "entries that share the section are not ordered"
        }
        (Question::Mutex(info, _), Property::Messages | Property::Rest)
            if info.claims.most(Quantity::Messages).is_none() =>
        {
            "no bound on messages is claimed"
        }
        (_, Property::Starvation) if report.walked.is_some() => "no walk goes on for ever",
        (Question::Mutex(_, scenario), Property::Starvation) if scenario.faults.is_none() => {
            match (report.holds(), report.endless_states) {
                (false, 0) => "something else is violated",
                (true, 0) => "its rule compares numbers that grow for ever",
                _ => "too many states with requests without end; --judge starvation tries longer",
            }
        }
        _ => "promised only where the assumptions hold",
    };
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for property in missing {
        match reasons.iter_mut().find(|(reason, _)| *reason == why(property)) {
            Some((_, names)) => names.push(property.name()),
            None => reasons.push((why(property), vec![property.name()])),
        }
    }
    reasons.into_iter().map(|(reason, names)| format!("{} ({reason})", names.join(", "))).collect()
}

/// How many states two of which have the same fingerprint of 64 bits, in expectation.
fn overlooked(report: &Report) -> f64 {
    let states = report.states as f64;
    states * states / 65f64.exp2()
}

pub(super) fn requests(requests: &[u8]) -> String {
    match requests {
        [first, rest @ ..] if rest.iter().all(|other| other == first) => {
            let each = if rest.is_empty() { "" } else { " each" };
            format!("{}{each}", counted_in_thousands(u64::from(*first), "request"))
        }
        _ => {
            let counts: Vec<String> = requests.iter().map(ToString::to_string).collect();
            format!("requests {}", counts.join(","))
        }
    }
}

fn faults(faults: &Faults) -> String {
    if faults.is_none() {
        return "no faults".into();
    }
    let when = match faults.crash_when {
        CrashWhen::Any => "",
        CrashWhen::Idle => " when idle",
        CrashWhen::Waiting => " when waiting",
        CrashWhen::Holding => " when holding",
    };
    let whose = whose(faults.victims.as_deref());
    let kinds = [
        (faults.losses, ["loss", "losses"], String::new()),
        (faults.duplicates, ["duplicate", "duplicates"], String::new()),
        (faults.crashes, ["crash", "crashes"], format!("{whose}{when}")),
        (faults.suspicions, ["false suspicion", "false suspicions"], String::new()),
    ];
    up_to(kinds)
}

fn election_faults(faults: &ElectionFaults) -> String {
    if faults.is_none() {
        return "no faults".into();
    }
    let nothing = String::new;
    up_to([
        (faults.losses, ["loss", "losses"], nothing()),
        (faults.duplicates, ["duplicate", "duplicates"], nothing()),
        (faults.crashes, ["crash", "crashes"], whose(faults.victims.as_deref())),
        (faults.restarts, ["return", "returns"], nothing()),
        (faults.premature, ["early alarm", "early alarms"], nothing()),
        (faults.suspicions, ["false suspicion", "false suspicions"], nothing()),
    ])
}

fn whose(victims: Option<&[NodeId]>) -> String {
    victims.map(|victims| format!(" of {}", named(victims, " or "))).unwrap_or_default()
}

fn named(nodes: &[NodeId], between: &str) -> String {
    nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}

fn up_to<const N: usize>(kinds: [(u8, [&str; 2], String); N]) -> String {
    let kinds = kinds.into_iter().filter(|(count, ..)| *count > 0);
    let said = kinds.map(|(count, [one, many], more)| {
        format!("{count} {}{more}", if count == 1 { one } else { many })
    });
    format!("up to {}", said.collect::<Vec<_>>().join(", "))
}

/// Who calls, and how soon detectors tell.
fn calls(scenario: &ElectionScenario) -> String {
    let initiators = &scenario.initiators;
    let who = match initiators.len() {
        all if all == scenario.setup.nodes() => "everybody".into(),
        _ => named(initiators, " and "),
    };
    let unasked = match usize::from(scenario.calls) {
        0 => " when its leader is gone".into(),
        calls if calls < initiators.len() => format!(", {calls} of their own accord"),
        _ => String::new(),
    };
    let verb = if initiators.len() == 1 || who == "everybody" { "calls" } else { "call" };
    format!(
        "{who} {verb}{unasked} · detectors take up to {}",
        counted_in_thousands(scenario.detector.into(), "bound")
    )
}

pub(super) fn duration(seconds: f64) -> String {
    match seconds {
        _ if seconds < 1.0 => format!("{:.1} ms", seconds * 1e3),
        _ if seconds < 100.0 => format!("{seconds:.1} s"),
        _ => format!("{seconds:.0} s"),
    }
}

/// A large number in three digits.
pub(super) fn short(value: f64) -> String {
    let (value, unit) = match value {
        _ if value >= 1e9 => (value / 1e9, " G"),
        _ if value >= 1e6 => (value / 1e6, " M"),
        _ if value >= 1e3 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    let decimals = match value {
        _ if value >= 100.0 || unit.is_empty() => 0,
        _ if value >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(
            [999.0, 1234.0, 12_345.0, 999_400.0, 2.5e9].map(short),
            ["999", "1.23 k", "12.3 k", "999 k", "2.50 G"]
        );
    }

    #[test]
    fn faults_are_told() {
        let mut some = Faults { losses: 1, crashes: 2, ..Faults::default() };
        assert_eq!(faults(&some), "up to 1 loss, 2 crashes");
        some.crash_when = CrashWhen::Holding;
        some.victims = Some(skeptron_core::NodeId::all(2).collect());
        assert_eq!(faults(&some), "up to 1 loss, 2 crashes of P1 or P2 when holding");
        assert_eq!(faults(&Faults::default()), "no faults");
        assert_eq!(requests(&[1]), "1 request");
        assert_eq!(requests(&[2, 2]), "2 requests each");
        assert_eq!(requests(&[0, 2]), "requests 0,2");
    }
}

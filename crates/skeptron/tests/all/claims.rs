//! Every claim of the catalogue is attacked: settings are drawn at random inside its conditions, run, and
//! held against it. What was claimed once and is not true is refuted in the same way.

use rayon::prelude::*;
use skeptron::ask::{Files, Request as _, SimOptions};
use skeptron::cli::check::CheckArgs;
use skeptron_core::catalogue::{self, Info, Layout, Order};
use skeptron_core::claims::{Condition, Published, Quantity};
use skeptron_core::mutex::{Mutex as _, lamport::Lamport};
use skeptron_core::{Claim, Effect, Input, Lock, NodeId, Outbox, Protocol as _, Setup};
use skeptron_quorum::Construction;
use skeptron_sim::claims::measured;
use skeptron_sim::value::Value;
use skeptron_sim::{Options, Scenario, run};
use skeptron_testing::{Chance, amount};

use crate::random_runs::{clusters, quorums};

const LATENCIES: [&str; 7] =
    ["1", "0.3", "uniform:0.1..2", "exp:1", "normal:1,0.5", "pareto:0.2,1.2", "three-dc"];
const BOUNDED: [&str; 5] = ["1", "0.3", "uniform:0.1..2", "uniform:0..1", "three-dc"];
const CONSTANT: [&str; 4] = ["1", "0.5", "2", "3.7"];
const SECTIONS: [&str; 6] = ["1", "0.1", "uniform:0..3", "exp:1", "uniform:2..5", "30"];
const THINKING: [&str; 4] = ["0", "0.5", "exp:3", "uniform:0..5"];

/// Options of a run that may keep the conditions of a claim; `fixed` are taken as they are.
fn options(info: &Info, published: &Published, fixed: &str, dice: &mut Chance) -> String {
    let needs = |condition| published.when.contains(&condition);
    let n = 2 + dice.below(12);
    let mut words = format!("{} {fixed}", info.name);
    let mut add = |option: &str, value: String| {
        if !fixed.contains(option) {
            words.push_str(&format!(" {option} {value}"));
        }
    };
    add("-n", n.to_string());
    match info.layout {
        Layout::Coordinator => add("--coordinator", format!("P{}", 1 + dice.below(n))),
        Layout::Quorums => add("--quorum", quorums(dice, n)),
        Layout::Structure => match dice.below(2) {
            0 => add("--quorum", quorums(dice, n)),
            _ => add("--structure", dice.pick(&["lamport", "ricart-agrawala", "star"]).into()),
        },
        Layout::Tree => {
            add("--tree", dice.pick(&["balanced:2", "balanced:3", "star", "line"]).into());
        }
        Layout::Arbitration => {
            add(
                "--arbitration",
                dice.pick(&["round-robin", "smallest-sequence", "nearest"]).into(),
            );
        }
        Layout::Capacity => add("--capacity", (1 + dice.below(n - 1)).to_string()),
        Layout::ReadWrite => {
            add("--readers", dice.below(n + 1).to_string());
            add("--read-quorums", dice.pick(&["grid", "majority", "read-one"]).into());
        }
        Layout::Clusters => add("--clusters", clusters(dice, n)),
        Layout::None | Layout::Ring | Layout::Graph | Layout::Beginning | Layout::Detector => {}
    }
    if info.variables.iter().any(|variable| variable.clock.is_some()) && dice.below(3) == 0 {
        let clocks: Vec<String> = (0..n).map(|_| dice.below(50).to_string()).collect();
        add("--clocks", clocks.join(","));
    }
    if info.channel == Order::Any {
        add("--order", dice.pick(&["fifo", "any"]).into());
    }
    let loads = [Condition::Lone, Condition::OneAtATime, Condition::Saturated, Condition::Sound];
    let load = published.load().unwrap_or(loads[dice.below(4) as usize]);
    add(
        "--latency",
        match load {
            _ if needs(Condition::ConstantLatency) => dice.pick(&CONSTANT),
            Condition::OneAtATime => dice.pick(&BOUNDED),
            _ if needs(Condition::CloseBehind) => dice.pick(&BOUNDED),
            _ => dice.pick(&LATENCIES),
        }
        .into(),
    );
    add("--section", dice.pick(&SECTIONS).into());
    let all = (1..=n).map(|i| format!("P{i}")).collect::<Vec<_>>().join(",");
    let (entries, warmup) = match load {
        Condition::First => (1, 0),
        Condition::Again => (1 + dice.below(20), 1 + dice.below(3)),
        Condition::Lone => (1 + dice.below(20), dice.below(3)),
        _ => (60 * n, 12 * n),
    };
    add("--entries", entries.to_string());
    add("--warmup", warmup.to_string());
    let mut think = dice.pick(&THINKING);
    match load {
        Condition::First | Condition::Again | Condition::Lone => {
            add("--requesters", format!("P{}", 1 + dice.below(n)));
            think = if needs(Condition::AtOnce) { "0" } else { think };
        }
        Condition::OneAtATime => {
            add("--requesters", all);
            add("--workload", "sequential".into());
            think = dice.pick(&["8", "100", "uniform:100..200"]);
        }
        _ => match dice.below(3) {
            _ if needs(Condition::Everybody) => add("--requesters", all),
            0 => add("--requesters", all),
            1 if n > 2 => add("--requesters", (2 + dice.below(n - 2)).to_string()),
            _ => {}
        },
    }
    match load {
        Condition::Saturated => {}
        Condition::Sound => match dice.below(4) {
            0 => add("--workload", format!("poisson:{}", 1 + dice.below(5))),
            1 => add("--workload", format!("bursts:2,{}", 1 + dice.below(9))),
            2 => add("--workload", format!("hot:1,0.8,{}", 1 + dice.below(5))),
            _ => add("--think", think.into()),
        },
        _ => add("--think", think.into()),
    }
    words
}

/// A run in which all conditions of the claim hold.
fn draw(
    info: &Info,
    published: &'static Published,
    fixed: &str,
    seed: u64,
) -> (SimOptions, Scenario) {
    let mut dice = Chance::new(seed);
    let tries = (0..10_000).find_map(|_| {
        let words = options(info, published, fixed, &mut dice);
        let args = SimOptions { seed, ..SimOptions::parse(&words).unwrap() };
        // Not every layout is for every size.
        let (_, scenario) = args.scenario(Files::Disk).ok()?;
        scenario.unmet(published, info).unmet.is_empty().then_some((args, scenario))
    });
    tries.unwrap_or_else(|| panic!("{}: never {}", info.name, published.conditions()))
}

/// Tries to refute a claim in one setting: the command that shows it, and what is wrong.
fn refute(
    info: &'static Info,
    published: &'static Published,
    fixed: &str,
    seed: u64,
) -> Option<String> {
    let (args, scenario) = draw(info, published, fixed, seed);
    let expected = scenario.expected(info, vec![published]);
    let options = Options { skip_order: true, ..Options::default() };
    let report = |seed| run(info, &Scenario { seed, ..scenario.clone() }, &options).unwrap().report;
    let said = |value: f64| {
        format!(
            "{}: {} {published} ({}) is {value}\n  {}",
            info.name,
            published.quantity,
            published.conditions(),
            args.command()
        )
    };
    let first = report(seed);
    assert!(first.is_fine(), "{}: {:?}", args.command(), first.violations);
    let value = measured(&first, published.quantity)?;
    if !expected.admits(value) {
        return Some(said(value));
    }
    // A mean is told from others by many runs: six standard errors, and there are ten thousand settings.
    let typical = expected.typical.filter(|_| !published.claim.is_exact())?;
    let values = (1..=30).filter_map(|seed| measured(&report(seed), published.quantity));
    let values: Vec<f64> = values.collect();
    let mean = values.iter().sum::<f64>() / 30.0;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 29.0;
    let is_near = (mean - typical).abs() <= 6.0 * (variance / 30.0).sqrt() + 1e-9;
    (!is_near).then(|| said(mean))
}

/// `SKEPTRON_CLAIMS` settings from `SKEPTRON_SEED` on; a setting is the same whatever their number.
#[test]
fn no_claim_is_refuted() {
    let (settings, start) = (amount("SKEPTRON_CLAIMS", 800, 10_000), amount("SKEPTRON_SEED", 1, 1));
    let claims: Vec<_> = catalogue::sound()
        .flat_map(|info| info.claims.figures.iter().map(move |published| (info, published)))
        .collect();
    let attack = |seed: u64| {
        let (info, published) = claims[seed as usize % claims.len()];
        let refuted = refute(info, published, "", seed)?;
        Some(format!("{refuted}\n  SKEPTRON_CLAIMS=1 SKEPTRON_SEED={seed}"))
    };
    let seeds: Vec<u64> = (start..start + settings).collect();
    let refuted: Vec<String> = seeds.into_par_iter().filter_map(attack).collect();
    assert!(refuted.is_empty(), "{} refuted:\n{}", refuted.len(), refuted.join("\n"));
}

/// What was claimed once, or is easily claimed: an algorithm, options, the claim.
static FALSE: [(&str, &str, Published); 15] = {
    use Condition::{
        Again, ConstantLatency, Everybody, First, Lone, NotHolder, OneAtATime, Saturated,
    };
    use Quantity::{ClientDelay, Messages, SyncDelay};
    [
        // On any tree, whatever the latency and the section.
        (
            "raymond",
            "",
            Published::new(Messages, Claim::exactly("4(N-1)/N"), &[Saturated, Everybody]),
        ),
        (
            "raymond",
            "--latency 1 --section 0.1 --think exp:3",
            Published::new(Messages, Claim::exactly("4(N-1)/N"), &[Everybody]),
        ),
        // Whoever asks.
        ("singhal", "", Published::new(Messages, Claim::exactly("N"), &[First, NotHolder])),
        ("singhal", "", Published::new(Messages, Claim::exactly("i"), &[First])),
        // Whatever the time between two requests.
        ("token-ring", "", Published::new(Messages, Claim::between("0", "N"), &[Again])),
        ("token-ring", "", Published::new(Messages, Claim::between("0", "N"), &[First])),
        // Three nodes with majorities hand over for 3 messages.
        (
            "maekawa",
            "-n 3 --quorum majority",
            Published::new(Messages, Claim::exactly("3(K-1)"), &[Saturated, Everybody]),
        ),
        (
            "agrawal-el-abbadi",
            "",
            Published::new(Messages, Claim::exactly("3(K-1)"), &[Saturated, Everybody]),
        ),
        // However short the sections are.
        (
            "cao-singhal",
            "",
            Published::new(SyncDelay, Claim::exactly("1"), &[Saturated, ConstantLatency]),
        ),
        // On any channel.
        ("maekawa", "", Published::new(Messages, Claim::exactly("3(K-1)"), &[Lone])),
        // Whoever asks, also who needs nobody else.
        ("maekawa", "", Published::new(ClientDelay, Claim::exactly("2"), &[Lone, ConstantLatency])),
        ("suzuki-kasami", "", Published::new(Messages, Claim::exactly("N"), &[Saturated])),
        ("lamport-lazy", "", Published::new(Messages, Claim::exactly("2(N-1)"), &[Saturated])),
        ("lamport", "", Published::new(SyncDelay, Claim::exactly("1"), &[ConstantLatency])),
        // A mean that is nearly right.
        (
            "naimi-trehel",
            "",
            Published::new(Messages, Claim::between("0", "N").typically("H(N)"), &[OneAtATime]),
        ),
    ]
};

#[test]
fn what_is_false_is_refuted() {
    for (name, fixed, published) in &FALSE {
        let info = catalogue::find(name).unwrap();
        let refuted = (1..=200).find_map(|seed| refute(info, published, fixed, seed));
        assert!(refuted.is_some(), "{name}: {published} ({}) stands", published.conditions());
    }
}

/// What the docs say in words, as questions for the checker: it stands if none of the drawn ones has a
/// counterexample.
struct Sentence {
    says: &'static str,
    is_true: bool,
    draw: fn(&mut Chance) -> String,
}

const SENTENCES: [Sentence; 5] = [
    Sentence {
        says: "a duplicate is harmless to Maekawa and Sanders",
        is_true: false,
        draw: |dice| {
            let (name, order) = (dice.pick(&["maekawa", "sanders"]), dice.pick(&["fifo", "any"]));
            format!("{name} -n {} --duplicate 1 --order {order}", 2 + dice.below(2))
        },
    },
    Sentence {
        says: "a duplicate is harmless to Maekawa and Sanders on FIFO channels",
        is_true: true,
        draw: |dice| {
            let name = dice.pick(&["maekawa", "sanders"]);
            format!("{name} -n {} --duplicate 1", 2 + dice.below(2))
        },
    },
    Sentence {
        says: "Maekawa survives the crash of a node in nobody's quorum",
        is_true: false,
        draw: |dice| {
            let moment = dice.pick(&["any", "idle", "waiting", "holding"]);
            let size = 2 + dice.below(2);
            format!(
                "maekawa -n {size} --quorum singleton --crashes 1 --victims P2 --crash-when {moment}"
            )
        },
    },
    Sentence {
        says: "Maekawa survives the crash of an idle node in nobody's quorum",
        is_true: true,
        draw: |dice| {
            let (size, requests) = (2 + dice.below(2), 1 + dice.below(2));
            let victim = 2 + dice.below(size - 1);
            format!(
                "maekawa -n {size} --quorum singleton --requests {requests} --crashes 1 --victims P{victim} --crash-when idle"
            )
        },
    },
    Sentence {
        says: "S4.3: a system at rest is totally ordered by whom its nodes ask",
        is_true: false,
        draw: |dice| {
            let name = dice.pick(&["singhal", "singhal-1989"]);
            let requests = 1 + dice.below(2);
            format!("{name} -n 3 --requests {requests} --invariant S4.3")
        },
    },
];

#[test]
fn sentences_are_true_or_refuted() {
    for Sentence { says, is_true, draw } in SENTENCES {
        let refuted = (1..=8).find_map(|seed| {
            let words = draw(&mut Chance::new(seed));
            let found = CheckArgs::parse(&words).unwrap().refutations().unwrap();
            (!found.is_empty()).then_some(words)
        });
        assert_eq!(refuted.is_none(), is_true, "{says}: skeptron check {refuted:?}");
    }
}

/// Cyclic quorums: 1.5 √N at N = 4, and no more; 1.2 √N is no bound.
#[test]
fn cyclic_quorums_of_few_nodes_are_larger_than_said() {
    let share = |nodes: usize| {
        let quorums = skeptron_quorum::quorums(&Construction::Cyclic, nodes).unwrap();
        let size = NodeId::all(nodes).map(|node| quorums.of(node).len()).max().unwrap();
        size as f64 / (nodes as f64).sqrt()
    };
    let mut dice = Chance::new(1);
    let drawn: Vec<usize> = (0..40).map(|_| 2 + dice.below(60) as usize).collect();
    assert!(drawn.iter().any(|&nodes| share(nodes) > 1.2), "1.2 √N stands");
    assert!(drawn.iter().all(|&nodes| share(nodes) <= 1.5), "1.5 √N does not");
    assert_eq!(share(4), 1.5);
}

/// Lamport's clock does not advance on every receipt: an ACK and a RELEASE that bring no news leave it.
#[test]
fn lamports_clock_does_not_count_every_receipt() {
    let mut nodes = Lamport::build("lamport", &Setup::new(2).unwrap()).unwrap();
    let clock = |node: &Lamport| Value::of(node).field("clock").unwrap().written();
    let mut out = Outbox::new();
    let mut receipts_without_tick = 0;
    nodes[0].step(Input::Command(Lock::Request), &mut out).unwrap();
    let mut from = 0;
    for release in [false, false, true, true] {
        if release && from == 0 {
            nodes[0].step(Input::Command(Lock::Release), &mut out).unwrap();
        }
        let sent: Vec<_> = out.drain().collect();
        for effect in sent {
            let to = 1 - from;
            let message = match effect {
                Effect::Send { message, .. } | Effect::Broadcast { message } => message,
                _ => continue,
            };
            let before = clock(&nodes[to]);
            let deliver = Input::Deliver { from: NodeId::new(from), message };
            nodes[to].step(deliver, &mut out).unwrap();
            receipts_without_tick += usize::from(clock(&nodes[to]) == before);
        }
        from = 1 - from;
    }
    assert!(receipts_without_tick > 0, "every receipt counted");
}

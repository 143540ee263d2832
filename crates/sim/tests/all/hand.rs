//! Runs that a hand plays: what it does happens where it says, leaves everything before as it was,
//! and the run can be made and played again.

use skeptron_core::catalogue::{self, ElectionInfo, Info, Order};
use skeptron_core::topology::{Graph, Quorums, ReadWrite, ReadWriteKind, Structure, Tree};
use skeptron_core::{NodeId, Setup};
use skeptron_sim::replay::{replay, states};
use skeptron_sim::trace::{Record, Ticks, Trace, What};
use skeptron_sim::value::Value;
use skeptron_sim::{
    Act, Deed, Distribution, Hand, Impossible, Latency, Options, Outcome, QueueKind, Scenario,
    ScenarioError, Workload, election, run,
};
use skeptron_testing::amount;

/// Enough for every story told here; a token that nobody wants makes more.
fn recorded() -> Options {
    Options { record: true, most_records: Some(MOST_RECORDS), ..Options::default() }
}

const MOST_RECORDS: usize = 10_000;

fn node(number: usize) -> NodeId {
    NodeId::new(number - 1)
}

fn setup(n: usize) -> Setup {
    let all: Vec<NodeId> = NodeId::all(n).collect();
    let setup = Setup::new(n).unwrap();
    let setup = setup.with_quorums(Quorums::new(vec![all; n]).unwrap()).unwrap();
    let setup = setup.with_structure(Structure::ricart_agrawala(n)).unwrap();
    let links = (1..n).map(|i| (NodeId::new(i / 2), NodeId::new(i)));
    let setup = setup.with_graph(Graph::of_links(n, links).unwrap()).unwrap();
    let readers = [NodeId::new(0)].into_iter().collect();
    let system = ReadWrite::of_kind(ReadWriteKind::Majority, n, readers).unwrap();
    setup.with_tree(Tree::balanced(n, 2)).unwrap().with_read_write(system).unwrap()
}

/// Nobody does anything but by hand.
fn idle(n: usize) -> Scenario {
    Scenario { workload: Workload::None, ..Scenario::new(setup(n)) }
}

fn play(name: &str, scenario: &Scenario) -> Result<Outcome, ScenarioError> {
    run(catalogue::find(name).unwrap(), scenario, &recorded())
}

fn act(after: usize, t: Ticks, deed: Deed) -> Act {
    Act { after, t, deed }
}

/// Plays acts one after the other, each at the end of what came of those before it.
fn played(name: &str, mut scenario: Scenario, deeds: &[Deed]) -> (Scenario, Outcome) {
    let mut outcome = play(name, &scenario).unwrap();
    for deed in deeds {
        let records = &outcome.trace.as_ref().unwrap().records;
        let t = records.last().map_or(0, |record| record.t);
        scenario.hand.acts.push(act(records.len(), t, deed.clone()));
        outcome = play(name, &scenario).unwrap_or_else(|error| panic!("{deed:?}: {error}"));
    }
    (scenario, outcome)
}

fn why(error: ScenarioError) -> String {
    assert!(matches!(error, ScenarioError::Act { .. }), "{error:?}");
    error.to_string()
}

/// The times of the deliveries of one link, with the numbers of the messages.
fn deliveries(trace: &Trace, from: NodeId, to: NodeId) -> Vec<(u64, Ticks)> {
    let sent: Vec<u64> = trace
        .records
        .iter()
        .filter_map(|record| match record.what {
            What::Send { id, to: receiver, .. } if record.node == from && receiver == to => {
                Some(id)
            }
            _ => None,
        })
        .collect();
    let delivered = trace.records.iter().filter_map(|record| match record.what {
        What::Deliver { id } if sent.contains(&id) => Some((id, record.t)),
        _ => None,
    });
    delivered.collect()
}

fn properties(outcome: &Outcome) -> Vec<&'static str> {
    outcome.report.violations.iter().map(|violation| violation.property).collect()
}

#[test]
fn a_run_without_requests_is_empty_and_fine() {
    for info in catalogue::all() {
        let outcome = run(info, &idle(3), &recorded()).unwrap();
        let trace = outcome.trace.unwrap();
        assert!(outcome.report.is_fine() && !outcome.cut_short, "{}", info.name);
        let circling = info.name.starts_with("token-ring") || info.is_stabilising();
        assert_eq!(trace.records.is_empty(), !circling, "{}", info.name);
        replay(&trace).unwrap();
    }
}

#[test]
fn who_is_held_inside_leaves_by_hand() {
    let mut scenario = idle(3);
    scenario.hand.holds = true;
    let request = |number| Deed::Request { node: node(number) };
    let (scenario, outcome) = played("ricart-agrawala", scenario, &[request(1), request(2)]);
    assert!(outcome.report.is_fine(), "P2 waits only for the hand: {:?}", properties(&outcome));
    assert_eq!((outcome.report.entries, outcome.acted.len()), (0, 2));
    let release = Deed::Release { node: node(1) };
    let (_, outcome) = played("ricart-agrawala", scenario, &[release]);
    let entered = outcome.trace.unwrap().records;
    let entered = entered.iter().filter(|record| matches!(record.what, What::Enter { .. }));
    assert_eq!(entered.map(|record| record.node).collect::<Vec<_>>(), [node(1), node(2)]);
}

/// Whoever leaves early by hand does not leave again when it was planned.
#[test]
fn a_planned_exit_is_replaced_by_that_of_the_hand() {
    let mut scenario = idle(3);
    scenario.section = Distribution::constant(50.0);
    let first = act(0, 500, Deed::Request { node: node(2) });
    scenario.hand.acts.push(first);
    let long = play("central", &scenario).unwrap();
    let records = long.trace.unwrap().records;
    let inside = 1 + records.iter().position(|r| matches!(r.what, What::Enter { .. })).unwrap();
    assert_eq!(records[0].t, 500);
    scenario.hand.acts.push(act(inside, 7000, Deed::Release { node: node(2) }));
    let outcome = play("central", &scenario).unwrap();
    let trace = outcome.trace.unwrap();
    let left = |record: &&Record| record.what == What::Release;
    assert_eq!(trace.records.iter().filter(left).map(|r| r.t).collect::<Vec<_>>(), [7000]);
    assert!(outcome.report.is_fine());
    replay(&trace).unwrap();
}

#[test]
fn a_request_that_is_dropped_is_waited_for_in_vain() {
    let mut scenario = idle(3);
    scenario.hand.acts.push(act(0, 0, Deed::Request { node: node(1) }));
    // The request, its two messages, and one of them is lost.
    scenario.hand.acts.push(act(3, 300, Deed::Drop { message: 2 }));
    let outcome = play("ricart-agrawala", &scenario).unwrap();
    assert_eq!(properties(&outcome), ["progress"]);
    assert_eq!((outcome.report.lost, outcome.acted), (1, vec![0, 3]));
    let records = outcome.trace.unwrap().records;
    let lost = serde_json::to_string(&records[3]).unwrap();
    assert_eq!(lost, r#"{"t":300,"node":1,"do":"lose","id":2,"cause":"hand"}"#);
    // It is said before the hand goes on, and not again.
    let (_, more) = played("ricart-agrawala", scenario, &[Deed::Request { node: node(2) }]);
    assert_eq!(properties(&more), ["progress", "progress"]);
    let again = more.trace.unwrap().records;
    assert_eq!(again[..records.len()], records);
}

/// What a hand has paused may still go on; who has crashed may not.
#[test]
fn a_pause_by_hand_is_not_the_end() {
    let deeds = |second| [second, Deed::Request { node: node(1) }];
    let (scenario, paused) = played("central", idle(3), &[Deed::Pause { node: node(1) }]);
    assert!(paused.report.is_fine());
    let (scenario, asked) = played("central", scenario, &[Deed::Request { node: node(2) }]);
    assert!(asked.report.is_fine(), "{:?}", asked.report.violations);
    let (_, resumed) = played("central", scenario, &[Deed::Resume { node: node(1) }]);
    assert_eq!((resumed.report.entries, resumed.report.is_fine()), (1, true));
    let (_, crashed) = played("ricart-agrawala", idle(3), &deeds(Deed::Crash { node: node(3) }));
    assert_eq!(properties(&crashed), ["progress"]);
}

/// P1 asks P2 twice over; the first message is delayed, and the channel keeps its promise.
#[test]
fn on_a_fifo_channel_nothing_overtakes_what_the_hand_delays_or_delivers() {
    let two = [Deed::Request { node: node(1) }, Deed::Request { node: node(1) }];
    for order in [Order::Fifo, Order::Any] {
        for latency in ["1", "uniform:0.5..1.5"] {
            let mut scenario = idle(2);
            scenario.order = order;
            scenario.latency = Latency::parse(latency, 2).unwrap();
            scenario.section = Distribution::constant(0.0);
            scenario.hand.acts.push(act(0, 0, two[0].clone()));
            let quick = play("lamport", &scenario).unwrap().trace.unwrap();
            let released =
                |r: &Record| matches!(&r.what, What::Send { label, .. } if label == "RELEASE");
            let at = 1 + quick.records.iter().position(released).unwrap();
            let What::Send { id, .. } = quick.records[at - 1].what else { unreachable!() };
            // The RELEASE is slow, and the next REQUEST would be there before it.
            scenario.hand.acts.push(act(at, 0, Deed::Delay { message: id, by: 9000 }));
            scenario.hand.acts.push(act(at, 0, two[1].clone()));
            let trace = play("lamport", &scenario).unwrap().trace.unwrap();
            let got = deliveries(&trace, node(1), node(2));
            let ids: Vec<u64> = got.iter().map(|&(id, _)| id).collect();
            assert_eq!(ids.is_sorted(), order == Order::Fifo, "{order} {latency}: {got:?}");
            replay(&trace).unwrap();
            // Delivering the one behind now delivers the one before it too.
            let next = id + 1;
            scenario.hand.acts.push(act(at + 2, 0, Deed::Deliver { message: next }));
            let trace = play("lamport", &scenario).unwrap().trace.unwrap();
            let got = deliveries(&trace, node(1), node(2));
            let time = |id| got.iter().find(|&&(other, _)| other == id).unwrap().1;
            assert_eq!(time(next), trace.records[at].t, "it is there at once");
            assert_eq!(time(id) == time(next), order == Order::Fifo, "{order} {latency}: {got:?}");
        }
    }
}

#[test]
fn a_copy_comes_after_its_original_on_a_fifo_channel() {
    let mut scenario = idle(2);
    scenario.hand.acts.push(act(0, 0, Deed::Request { node: node(2) }));
    scenario.hand.acts.push(act(2, 0, Deed::Delay { message: 1, by: 5000 }));
    scenario.hand.acts.push(act(2, 0, Deed::Duplicate { message: 1 }));
    let outcome = play("central", &scenario).unwrap();
    let trace = outcome.trace.unwrap();
    let at = |id| trace.records.iter().find(|r| r.what == What::Deliver { id }).unwrap().t;
    assert_eq!((at(1), at(2), outcome.report.duplicated), (6000, 6000, 1));
    replay(&trace).unwrap();
}

#[test]
fn a_cut_loses_what_is_sent_across_it_until_it_is_mended() {
    let cut = Deed::Cut { from: vec![node(1)], to: vec![node(2)], both_ways: false };
    let deeds = [cut.clone(), Deed::Request { node: node(2) }];
    let (_, outcome) = played("central", idle(2), &deeds);
    assert_eq!((properties(&outcome), outcome.report.lost), (vec!["progress"], 1));
    let (_, mended) = played("central", idle(2), &[cut, Deed::Mend, deeds[1].clone()]);
    assert!(mended.report.is_fine());
}

#[test]
fn a_limit_on_records_is_no_lack_of_progress() {
    let info = catalogue::find("ricart-agrawala").unwrap();
    let scenario = Scenario::new(setup(5));
    let limited = Options { most_records: Some(100), ..recorded() };
    let outcome = run(info, &scenario, &limited).unwrap();
    let trace = outcome.trace.unwrap();
    assert!(outcome.cut_short && outcome.report.is_fine());
    assert!((100..130).contains(&trace.records.len()), "{}", trace.records.len());
    assert!(!replay(&trace).unwrap().waiting.is_empty());
    let info = catalogue::find_election("bully").unwrap();
    let scenario = election::Scenario::new(setup(5));
    let limited = Options { most_records: Some(4), ..recorded() };
    let outcome = election::run(info, &scenario, &limited).unwrap();
    assert!(outcome.cut_short && outcome.report.is_fine());
}

#[test]
fn what_is_impossible_is_said_in_plain_words() {
    let [first, second] = [1, 2].map(node);
    let waiting = [act(0, 0, Deed::Request { node: first })];
    let refused = |deed: Deed| {
        let mut scenario = idle(2);
        scenario.hand.acts.extend(waiting.clone());
        scenario.hand.acts.push(act(2, 0, deed));
        why(play("ricart-agrawala", &scenario).unwrap_err())
    };
    let causes = [
        refused(Deed::Deliver { message: 17 }),
        refused(Deed::Drop { message: u64::MAX }),
        refused(Deed::Duplicate { message: 0 }),
        refused(Deed::Delay { message: 2, by: 1 }),
        refused(Deed::Request { node: first }),
        refused(Deed::Release { node: second }),
        refused(Deed::Restart { node: second }),
        refused(Deed::Resume { node: second }),
        refused(Deed::Mend),
        refused(Deed::Call { node: second }),
    ];
    insta::assert_snapshot!(causes.join("\n"), @"
    act 2: message 17 is not in flight
    act 2: message 18446744073709551615 is not in flight
    act 2: message 0 is not in flight
    act 2: message 2 is not in flight
    act 2: P1 waits already
    act 2: P2 is not inside, so it cannot leave
    act 2: P2 is not down, so it cannot restart
    act 2: P2 is not paused, so it cannot resume
    act 2: the network is not cut, so there is nothing to mend
    act 2: this is mutual exclusion, where nobody calls an election; request instead
    ");
    let two = |first: Deed, second: Deed| {
        let mut scenario = idle(2);
        scenario.hand = Hand { acts: vec![act(0, 0, first), act(1, 0, second)], holds: true };
        why(play("ricart-agrawala", &scenario).unwrap_err())
    };
    let crash = Deed::Crash { node: first };
    let pause = Deed::Pause { node: first };
    let causes = [
        two(crash.clone(), crash.clone()),
        two(crash.clone(), pause.clone()),
        two(crash, Deed::Request { node: first }),
        two(pause.clone(), pause.clone()),
        two(pause, Deed::Request { node: first }),
        two(Deed::Mend, Deed::Mend),
    ];
    insta::assert_snapshot!(causes.join("\n"), @"
    act 2: P1 is down already
    act 2: P1 is down; restart it first
    act 2: P1 is down; restart it first
    act 2: P1 is paused already
    act 2: P1 is paused; resume it first
    act 1: the network is not cut, so there is nothing to mend
    ");
    let mut alone = idle(1);
    alone.hand.holds = true;
    alone.hand.acts = vec![act(0, 0, Deed::Request { node: first }); 2];
    assert_eq!(
        why(play("ricart-agrawala", &alone).unwrap_err()),
        "act 2: P1 is inside; release it before it asks again"
    );
}

#[test]
fn acts_that_fit_no_run_are_refused_before_it() {
    let refused = |acts: Vec<Act>| {
        let mut scenario = idle(3);
        scenario.hand.acts = acts;
        play("central", &scenario).unwrap_err().to_string()
    };
    let nine = node(9);
    let causes = [
        refused(vec![act(0, 0, Deed::Crash { node: nine })]),
        refused(vec![act(0, 0, Deed::Cut { from: vec![], to: vec![nine], both_ways: true })]),
        refused(vec![act(5, 0, Deed::Mend), act(4, 0, Deed::Mend)]),
        refused(vec![act(0, 1_000_000_000_001, Deed::Mend)]),
        refused(vec![act(0, 0, Deed::Delay { message: 1, by: 1_000_000_000_001 })]),
        refused(vec![act(7, 0, Deed::Mend)]),
    ];
    insta::assert_snapshot!(causes.join("\n"), @"
    an act names P9, but there are only 3 nodes
    an act names P9, but there are only 3 nodes
    act 2: it comes after 4 records, but the one before it after 5; put them in order
    the time of an act is 1000000000.001; it must be at most 1000000000
    the delay of a message is 1000000000.001; it must be at most 1000000000
    act 1: it comes after 7 records, but the run ends after 0
    ");
    let mut scenario = idle(3);
    scenario.hand.acts = vec![act(0, 0, Deed::Mend)];
    let info = catalogue::find("central").unwrap();
    let unrecorded = run(info, &scenario, &Options::default()).unwrap_err();
    assert_eq!(unrecorded, ScenarioError::Unrecorded);
}

#[test]
fn acts_are_written_as_the_page_writes_them() {
    let text = r#"[{"after":3,"t":1500,"do":"request","node":2},{"after":4,"t":0,"do":"delay","message":7,"by":500},{"after":9,"t":2,"do":"cut","from":[1,2],"to":[3],"both_ways":true},{"after":9,"t":2,"do":"mend"}]"#;
    let acts: Vec<Act> = serde_json::from_str(text).unwrap();
    assert_eq!(acts[0], act(3, 1500, Deed::Request { node: node(2) }));
    assert_eq!(serde_json::to_string(&acts).unwrap(), text);
    for wrong in [
        r#"{"after":3,"t":1,"do":"dance","node":2}"#,
        r#"{"after":3,"t":1,"do":"crash","node":0}"#,
        r#"{"after":-1,"t":1,"do":"mend"}"#,
    ] {
        assert!(serde_json::from_str::<Act>(wrong).is_err(), "{wrong}");
    }
}

/// Draws a run and what is done to it from a seed (SplitMix).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ z >> 31) % sides
    }

    fn pick<T: Clone>(&mut self, options: &[T]) -> T {
        options[self.roll(options.len() as u64) as usize].clone()
    }

    fn node(&mut self, n: usize) -> NodeId {
        NodeId::new(self.roll(n as u64) as usize)
    }

    /// Anything that a hand could try after so many records.
    fn act(&mut self, n: usize, records: &[Record]) -> Act {
        let after = self.roll(records.len() as u64 + 1) as usize;
        let t = records[..after].last().map_or(0, |record| record.t) + self.roll(3) * 400;
        let sent = records[..after].iter().filter_map(|record| match record.what {
            What::Send { id, .. } => Some(id),
            _ => None,
        });
        // The youngest are the likeliest to be in flight.
        let sent: Vec<u64> = sent.collect();
        let message = self.pick(&[&[1], &sent[sent.len().saturating_sub(6)..]].concat());
        let node = self.node(n);
        let deed = match self.roll(14) {
            0 => Deed::Request { node },
            1 => Deed::Release { node },
            2 => Deed::Call { node },
            3 => Deed::Crash { node },
            4 => Deed::Restart { node },
            5 => Deed::Pause { node },
            6 => Deed::Resume { node },
            7 => Deed::Deliver { message },
            8 => Deed::Drop { message },
            9 => Deed::Duplicate { message },
            10 => Deed::Delay { message, by: self.roll(5000) },
            11 => {
                let (from, to) = (vec![node], vec![self.node(n), self.node(n)]);
                Deed::Cut { from, to, both_ways: self.roll(2) == 0 }
            }
            12 => Deed::Draw { node, number: 1 + self.roll(4) as u32 },
            _ => Deed::Mend,
        };
        act(after, t, deed)
    }
}

const LATENCIES: [&str; 4] = ["1", "0", "uniform:0.1..2", "exp:1"];

/// What both kinds of runs have in common.
struct Made {
    trace: Trace,
    acted: Vec<usize>,
    hash: String,
    found: Vec<&'static str>,
}

/// Adds acts at random points, and tries each run and what came of it.
fn plays(
    what: &str,
    dice: &mut Dice,
    n: usize,
    hand: &mut Hand,
    made: &dyn Fn(&Hand, QueueKind) -> Result<Made, ScenarioError>,
) -> usize {
    let mut before = made(hand, QueueKind::Wheel).unwrap();
    for _ in 0..10 {
        let act = dice.act(n, &before.trace.records);
        // Going back and acting makes another history.
        let mut tried = hand.clone();
        tried.acts.retain(|earlier| earlier.after < act.after);
        tried.acts.push(act.clone());
        let again = match made(&tried, QueueKind::Wheel) {
            Ok(again) => again,
            Err(ScenarioError::Act { number, why }) => {
                assert_eq!(number, tried.acts.len(), "{what}: {act:?}");
                let is_over =
                    matches!(why, Impossible::Never { .. } | Impossible::Unordered { .. });
                assert!(!is_over, "{what}: {why}");
                continue;
            }
            Err(other) => panic!("{what}: {other}"),
        };
        let records = &again.trace.records;
        let (place, earlier) = (again.acted[tried.acts.len() - 1], &before.trace.records);
        assert!(place >= act.after, "{what}");
        assert_eq!(records[..act.after], earlier[..act.after], "{what}: {act:?}");
        assert_eq!(again.acted.len(), tried.acts.len());
        judge(what, &again);
        let heap = made(&tried, QueueKind::Heap).unwrap();
        assert_eq!((&heap.hash, &heap.trace), (&again.hash, &again.trace), "{what}: {act:?}");
        (*hand, before) = (tried, again);
    }
    hand.acts.len()
}

/// The trace replays, and the judges that need nothing but a trace agree with those of the run.
fn judge(what: &str, made: &Made) {
    let replayed = replay(&made.trace).unwrap_or_else(|error| panic!("{what}: {error}"));
    for property in ["exclusion", "fence", "agreement"] {
        let found = replayed.violations.iter().any(|violation| violation.property == property);
        assert_eq!(found, made.found.contains(&property), "{what}: {property}");
    }
    let mut last: Vec<Option<Value>> = vec![None; replayed.nodes.len()];
    let mut seen = None;
    states(&made.trace, &mut |record, node, state| {
        assert!(record >= seen, "{what}: in order");
        seen = record;
        last[node.index()] = state.cloned();
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(last, replayed.nodes, "{what}");
}

fn mutex_run(info: &'static Info, seed: u64) -> usize {
    let mut dice = Dice(seed);
    let n = 2 + dice.roll(4) as usize;
    let mut scenario = Scenario::new(setup(n));
    scenario.seed = seed;
    scenario.entries = 1 + dice.roll(8);
    scenario.order = dice.pick(&[Order::Fifo, info.channel]);
    scenario.latency = Latency::parse(dice.pick(&LATENCIES), n).unwrap();
    scenario.hand.holds = dice.roll(3) == 0;
    let think = Distribution::constant(3.0);
    scenario.workload = dice.pick(&[
        Workload::None,
        Workload::saturated(),
        Workload::Sequential { think: think.clone() },
        Workload::Closed { think },
        Workload::Bursts { size: 2, every: 4000 },
    ]);
    let mut hand = scenario.hand.clone();
    let what = format!("{} with SKEPTRON_SEED={seed} SKEPTRON_RUNS=1", info.name);
    plays(&what, &mut dice, n, &mut hand, &|hand, queue| {
        let scenario = Scenario { hand: hand.clone(), ..scenario.clone() };
        let outcome =
            run(info, &scenario, &Options { queue, most_records: Some(300), ..recorded() })?;
        Ok(Made {
            found: properties(&outcome),
            trace: outcome.trace.unwrap(),
            acted: outcome.acted,
            hash: outcome.report.trace_hash,
        })
    })
}

fn election_run(info: &'static ElectionInfo, seed: u64) -> usize {
    let mut dice = Dice(seed);
    let n = 2 + dice.roll(4) as usize;
    let mut scenario = election::Scenario::new(setup(n));
    scenario.seed = seed;
    scenario.order = dice.pick(&[Order::Fifo, info.channel]);
    scenario.latency = Latency::parse(dice.pick(&LATENCIES), n).unwrap();
    if dice.roll(3) == 0 {
        scenario.initiators.clear();
    }
    let mut hand = Hand::default();
    let what = format!("{} with SKEPTRON_SEED={seed} SKEPTRON_RUNS=1", info.name);
    plays(&what, &mut dice, n, &mut hand, &|hand, queue| {
        let scenario = election::Scenario { hand: hand.clone(), ..scenario.clone() };
        let outcome = election::run(
            info,
            &scenario,
            &Options { queue, most_records: Some(300), ..recorded() },
        )?;
        Ok(Made {
            found: outcome.report.violations.iter().map(|v| v.property).collect(),
            trace: outcome.trace.unwrap(),
            acted: outcome.acted,
            hash: outcome.report.trace_hash,
        })
    })
}

#[test]
fn whatever_a_hand_does_the_run_before_it_stays_and_all_of_it_replays() {
    let (runs, start) = (amount("SKEPTRON_RUNS", 1, 4), amount("SKEPTRON_SEED", 1, 1));
    let mut acts = 0;
    for seed in start..start + runs {
        for info in catalogue::all() {
            acts += mutex_run(info, seed);
        }
        for info in catalogue::elections() {
            acts += election_run(info, seed);
        }
    }
    assert!(acts > 100 * runs as usize, "hands were idle: {acts}");
}

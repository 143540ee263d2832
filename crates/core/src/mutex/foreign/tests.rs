use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::catalogue::{Family, Layout, Order, find as find_info};
use crate::claims::Claims;
use crate::mutex::stage::Stage;
use crate::mutex::{Visitor, dispatch};
use crate::{Effect, Formula};

/// P1 lets in whoever asks it, and itself; nobody waits for anybody.
struct Careless {
    failed: AtomicBool,
}

const KINDS: &[&str] = &["ASK", "GO"];
static CLOCK: &str = "clock";

fn message(kind: usize) -> ForeignMsg {
    ForeignMsg::new(kind, KINDS[kind], Content::new(Data::Fields(Vec::new())))
}

impl Program for Careless {
    fn recorded(&self, _: usize, _: &str) -> Option<ForeignMsg> {
        None
    }

    fn kinds(&self) -> &'static [&'static str] {
        KINDS
    }

    fn init(&self, _: NodeId, _: usize) -> Option<Content> {
        Some(Content::new(Data::Fields(vec![(CLOCK, Data::Clock(0))])))
    }

    fn step(&self, step: &Step) -> Option<Arc<Answer>> {
        let first = NodeId::new(0);
        let effects = match &step.input {
            Occurrence::Start => vec![],
            Occurrence::Command(Lock::Request) if step.me == first => vec![Deed::Enter],
            Occurrence::Command(Lock::Request) => vec![Deed::Send(first, message(0))],
            Occurrence::Command(_) => vec![],
            Occurrence::Deliver { from, message: asked } if asked.kind() == 0 => {
                vec![Deed::Send(*from, message(1))]
            }
            Occurrence::Deliver { from, .. } if *from != first => {
                self.failed.store(true, Ordering::Relaxed);
                return None;
            }
            Occurrence::Deliver { .. } => vec![Deed::Enter],
        };
        let state = step.state.clone();
        Some(Arc::new(Answer::Taken { state, effects, absorbs: false }))
    }

    fn failure(&self) -> Option<String> {
        self.failed.load(Ordering::Relaxed).then(|| "GO from a stranger".into())
    }
}

fn careless(name: &'static str) -> &'static Loaded {
    let info = Info {
        name,
        title: "Careless",
        paper: "",
        family: Family::Central,
        channel: Order::Any,
        layout: Layout::None,
        memory: Formula("100N"),
        claims: Claims { figures: &[], ordered: false },
        idea: "",
        rules: &[],
        fires: &[],
        variables: &[],
        notes: &[],
        broken: None,
    };
    register(info, Box::new(Careless { failed: AtomicBool::new(false) }))
}

struct Kinds(&'static Info);

impl Visitor for Kinds {
    type Output = &'static [&'static str];

    fn visit<P: Mutex>(self) -> Self::Output {
        P::kinds(self.0)
    }
}

#[test]
fn a_registered_program_is_found_and_runs() {
    careless("./runs.py");
    let info = find_info("./runs.py").unwrap();
    assert_eq!(dispatch(info, Kinds(info)), KINDS);
    let mut stage = Stage::<Foreign>::new("./runs.py", &Setup::new(2).unwrap());
    stage.ask([1]);
    assert_eq!(stage.entries(), [1]);
    stage.release(1);
    assert_eq!(check(info), Ok(()));
}

#[test]
fn what_is_out_of_order_is_refused_without_asking() {
    careless("./order.py");
    let setup = Setup::new(2).unwrap();
    let mut nodes = Foreign::build("./order.py", &setup).unwrap();
    let mut out = Outbox::new();
    let mut step = |input| nodes[0].step(input, &mut out);
    assert_eq!(step(Input::Command(Lock::Release)), Err(Refused::NotHeld));
    assert_eq!(step(Input::Command(Lock::Request)), Ok(()));
    assert_eq!(step(Input::Command(Lock::Request)), Err(Refused::Busy));
    let myself = Input::Deliver { from: NodeId::new(0), message: message(0) };
    assert!(matches!(step(myself), Err(Refused::Unexpected(_))));
    assert_eq!(out.drain().collect::<Vec<_>>(), [Effect::Emit(Entered)]);
}

#[test]
fn entering_without_having_asked_is_refused() {
    careless("./unasked.py");
    let mut nodes = Foreign::build("./unasked.py", &Setup::new(2).unwrap()).unwrap();
    let mut out = Outbox::new();
    let go = Input::Deliver { from: NodeId::new(0), message: message(1) };
    let refused = Err(Refused::Unexpected("it would enter without having asked"));
    assert_eq!(nodes[1].step(go, &mut out), refused);
    assert!(out.effects().is_empty());
}

#[test]
fn a_failure_belongs_to_the_program_that_failed() {
    let loaded = careless("./fails.py");
    let mut nodes = Foreign::build("./fails.py", &Setup::new(3).unwrap()).unwrap();
    let go = Input::Deliver { from: NodeId::new(2), message: message(1) };
    assert!(nodes[1].step(go, &mut Outbox::new()).is_err());
    let failed = Err(SetupError::Program("GO from a stranger".into()));
    assert_eq!(check(loaded.info()), failed);
    assert_eq!(Foreign::build("./fails.py", &Setup::new(3).unwrap()).map(drop), Ok(()));
    let again = careless("./fails.py");
    assert_eq!(check(again.info()), Ok(()), "it was loaded anew");
    assert_eq!(check(loaded.info()), failed, "and the old one is as it was");
    assert_eq!(all().iter().filter(|loaded| loaded.info.name == "./fails.py").count(), 1);
}

#[test]
fn clocks_begin_where_they_are_told() {
    careless("./clocks.py");
    let setup = Setup::new(2).unwrap().with_clocks(vec![40, 7]).unwrap();
    let nodes = Foreign::build("./clocks.py", &setup).unwrap();
    let clocks: Vec<_> = nodes.iter().map(|node| node.state.to_string()).collect();
    assert_eq!(clocks, ["(clock: 40)", "(clock: 7)"]);
}

#[test]
fn counters_are_shown_and_changed() {
    let counts = vec![Data::Requests(3), Data::Requests(5)];
    let stamp = crate::time::Timestamp::new(9, NodeId::new(1));
    let mut content = Content::new(Data::Fields(vec![
        ("clock", Data::Clock(4)),
        ("mine", Data::Requests(2)),
        ("all", Data::List(counts)),
        ("queue", Data::Set(vec![Data::Stamp(stamp)])),
    ]));
    let before = content.clone();
    let mut seen = Vec::new();
    content.counters(NodeId::new(1), &mut |counter, value| {
        seen.push((counter, *value));
        *value += 1;
    });
    let requests = |node| Counter::Requests(NodeId::new(node));
    let expected = [
        (Counter::Clock, 4),
        (requests(1), 2),
        (requests(0), 3),
        (requests(1), 5),
        (Counter::Clock, 9),
    ];
    assert_eq!(seen, expected);
    assert_ne!(content, before);
    let written = "(clock: 5, mine: 3, all: [4, 6], queue: {(10, P2)})";
    assert_eq!(content.to_string(), written);
}

#[test]
fn data_is_serialised_as_the_catalogue_does() {
    let nodes = Data::Set(vec![Data::Node(NodeId::new(0)), Data::Node(NodeId::new(2))]);
    let fields = vec![("among", nodes), ("t", Data::Clock(300)), ("whom", Data::None)];
    let said = ForeignMsg::new(1, "GO", Content::new(Data::Fields(fields)));
    let json = serde_json::to_string(&said).unwrap();
    assert_eq!(json, r#"{"GO":{"among":[1,3],"t":300,"whom":null}}"#);
    assert_eq!(said.payload(), "{P1, P3}, 300, –");
    assert_eq!(serde_json::to_string(&message(0)).unwrap(), r#""ASK""#);
    assert!(serde_json::from_str::<ForeignMsg>(&json).is_err());
    // The kind and a number, as in an enum with these variants.
    let plain =
        ForeignMsg::new(0, "ASK", Content::new(Data::Fields(vec![("t", Data::Clock(300))])));
    assert_eq!(postcard::to_stdvec(&plain).unwrap(), [0, 172, 2]);
}

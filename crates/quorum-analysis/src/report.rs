//! Everything that can be said about a system, at once.

use std::any::Any;
use std::panic::resume_unwind;
use std::thread;

use serde::Serialize;
use skeptron_core::NodeId;
use skeptron_quorum::conditions::{Conditions, conditions, contained};
use skeptron_quorum::{Disjoint, Family, Shape, System, braced};

use super::capacity::{Performance, PerformanceError, performance};
use super::domination::{Domination, domination};
use super::failure::{Failure, FailureError, Sampling, failure};
use super::load::{Load, bounds, load};
use super::resilience::{Resilience, resilience};
use super::sizes::{Sizes, sizes};
use super::strategy::Share;

/// What to ask.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// With which probability each node has failed, independently of the others.
    pub p: f64,
    /// How to sample where nothing exact is in reach.
    pub sampling: Sampling,
    /// How many requests each node can serve in a unit of time; 1 if nothing is said.
    pub capacities: Option<Vec<f64>>,
    /// How long each node takes to answer; 1 if nothing is said.
    pub latencies: Option<Vec<f64>>,
}

/// The answers. As JSON, nodes are counted from 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "QuorumReport"))]
pub struct Report {
    /// The construction, or `file`.
    pub kind: String,
    /// The construction as it would be typed, or the name of the file.
    pub name: String,
    /// How many nodes there are.
    pub nodes: usize,
    /// All quorums, unless they are too many.
    #[cfg_attr(feature = "typescript", ts(type = "number[][] | null"))]
    pub quorums: Option<Vec<Vec<NodeId>>>,
    /// How many there are, all digits.
    pub quorum_count: Option<String>,
    /// The quorum of each node.
    #[cfg_attr(feature = "typescript", ts(type = "number[][]"))]
    pub assignment: Vec<Vec<NodeId>>,
    /// How large the quorums are.
    pub size: Sizes,
    /// Conditions 1–4 of what the nodes ask.
    pub conditions: Verdicts,
    /// Whether no quorum contains another.
    pub coterie: bool,
    /// Whether some other coterie is better in every respect; none if that is not known.
    pub dominated: Option<bool>,
    /// If so: a set that meets every quorum and contains none, so it could be one too.
    #[cfg_attr(feature = "typescript", ts(type = "number[] | null"))]
    pub could_be_added: Option<Vec<NodeId>>,
    /// The smallest possible largest probability that a node is asked.
    pub load: Option<f64>,
    /// The same as a fraction, where it is proved in exact arithmetic.
    pub load_fraction: Option<String>,
    /// No strategy has a smaller load than this.
    pub load_at_least: Option<f64>,
    /// 1/c and c/N with c the smallest size: no system has a smaller load (Naor & Wool 1998).
    pub load_bounds: Option<(f64, f64)>,
    /// How the load was found and what that proves.
    pub load_method: Option<String>,
    /// How often to ask which quorum for that load.
    pub strategy: Vec<Share>,
    /// How many nodes may crash, whichever they are; none if it is only known in bounds.
    pub resilience: Option<usize>,
    /// The resilience is at least the first and at most the second.
    pub resilience_bounds: Option<(usize, usize)>,
    /// A smallest known set of nodes whose crash leaves no quorum.
    #[cfg_attr(feature = "typescript", ts(type = "number[]"))]
    pub fatal: Vec<NodeId>,
    /// The probability that no quorum is alive.
    pub failure_probability: Option<Failure>,
    /// What the nodes can serve, if their capacities or latencies were given.
    pub performance: Option<Performance>,
    /// What else there is to say.
    pub notes: Vec<String>,
}

/// Conditions 1–4 (spec 3).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "QuorumConditions"))]
pub struct Verdicts {
    /// 1: any two meet.
    pub intersecting: bool,
    /// 2: each node is in its own.
    pub contains_self: bool,
    /// 3: all have the same size.
    pub equal_size: bool,
    /// 4: each node is in equally many.
    pub equal_degree: bool,
    /// What violates the first, in words.
    pub violation: Option<String>,
}

/// Why there are no answers.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum QuestionError {
    /// The probability is none.
    #[error(transparent)]
    Failure(#[from] FailureError),
    /// Capacities or latencies make no sense.
    #[error(transparent)]
    Performance(#[from] PerformanceError),
}

/// Up to so many quorums, and so many members of all of them, are listed.
const LISTED: usize = 10_000;
const LISTED_MEMBERS: usize = 4_000_000;

/// Everything about a system.
///
/// # Errors
/// If the question makes no sense.
pub fn analyse(system: &System, question: &Question) -> Result<Report, QuestionError> {
    Figures::of(system, met(system), question)?.report(system, question)
}

/// What systems are compared by; the rest of a [`Report`] is for one.
pub(crate) struct Figures {
    pub(crate) conditions: Conditions,
    pub(crate) load: Load,
    pub(crate) resilience: Resilience,
    pub(crate) failure: Failure,
}

impl Figures {
    pub(crate) fn of(
        system: &System,
        conditions: Conditions,
        question: &Question,
    ) -> Result<Self, QuestionError> {
        // Each of them can take a second.
        let (load, resilience, failure) = thread::scope(|scope| {
            let load = scope.spawn(|| load(system));
            let resilience = scope.spawn(|| resilience(system));
            let failure = failure(system, question.p, &question.sampling);
            (load.join(), resilience.join(), failure)
        });
        let (load, resilience) =
            (load.unwrap_or_else(go_on_panicking), resilience.unwrap_or_else(go_on_panicking));
        Ok(Figures { conditions, load, resilience, failure: failure? })
    }

    pub(crate) fn report(
        self,
        system: &System,
        question: &Question,
    ) -> Result<Report, QuestionError> {
        let Figures { conditions: met, load, resilience, failure } = self;
        let nodes = system.nodes();
        let performance = match (&question.capacities, &question.latencies) {
            (None, None) => None,
            (capacities, latencies) => {
                let ones = || vec![1.0; nodes];
                let capacities = capacities.clone().unwrap_or_else(ones);
                let latencies = latencies.clone().unwrap_or_else(ones);
                Some(performance(system, &capacities, &latencies)?)
            }
        };
        let sizes = sizes(system);
        let inside = match system.shape() {
            Shape::Listed(quorums) | Shape::Grid { quorums, .. } => contained(quorums)
                .map(|(inner, outer)| (quorums[inner].clone(), quorums[outer].clone())),
            Shape::Gates(_) => None,
        };
        let domination = domination(system);
        let mut notes = system.notes().to_vec();
        notes.extend(idle(system, met.without_self));
        if let Some((inner, outer)) = &inside {
            notes.push(format!("no coterie: {} contains {}", braced(outer), braced(inner)));
        }
        if load.is_turned {
            notes.push(
                "the strategy shows one quorum of each form; to share the load, alike nodes take turns in it"
                    .to_owned(),
            );
        }
        if domination == Domination::Unknown {
            notes.push(
                "whether it is dominated is not known: there are too many sets to try".to_owned(),
            );
        }
        let (dominated, could_be_added) = match domination {
            Domination::NonDominated => (Some(false), None),
            Domination::Dominated { witness } => (Some(true), Some(witness)),
            Domination::Unknown => (None, None),
        };
        Ok(Report {
            kind: system.kind().to_owned(),
            name: system.name().to_owned(),
            nodes,
            quorums: listing(system),
            quorum_count: sizes.count.as_ref().map(ToString::to_string),
            assignment: system.assignment().iter().map(<[NodeId]>::to_vec).collect(),
            size: sizes,
            conditions: Verdicts::of(&met, None),
            coterie: inside.is_none(),
            dominated,
            could_be_added,
            load: Some(load.value),
            load_fraction: load.fraction.as_ref().map(ToString::to_string),
            load_at_least: Some(load.lower_bound),
            load_bounds: Some(bounds(system)),
            load_method: Some(load.method.to_string()),
            strategy: load.strategy,
            resilience: resilience.exact(),
            resilience_bounds: Some((resilience.at_least, resilience.at_most)),
            fatal: resilience.fatal,
            failure_probability: Some(failure),
            performance,
            notes,
        })
    }
}

/// For what a thread of ours leaves behind.
fn go_on_panicking<T>(panic: Box<dyn Any + Send>) -> T {
    resume_unwind(panic)
}

/// What holds of the quorums that the nodes ask.
pub(crate) fn met(system: &System) -> Conditions {
    let sets: Vec<&[NodeId]> = system.assignment().iter().collect();
    conditions(&sets, system.nodes())
}

/// What is left to say about sets that do not meet.
#[must_use]
pub fn reject(name: &str, family: &Family, disjoint: &Disjoint) -> Report {
    let inside = contained(family.sets());
    let lengths = || family.sets().iter().map(Vec::len);
    Report {
        kind: "file".to_owned(),
        name: name.to_owned(),
        nodes: family.nodes(),
        quorums: Some(family.sets().to_vec()),
        quorum_count: Some(family.sets().len().to_string()),
        assignment: family.assignment().to_vec(),
        size: Sizes {
            count: None,
            min: lengths().min().unwrap_or_default(),
            max: lengths().max().unwrap_or_default(),
            mean: Some(lengths().sum::<usize>() as f64 / family.sets().len() as f64),
        },
        conditions: Verdicts::of_family(family, Some(disjoint)),
        notes: inside
            .map(|(inner, outer)| {
                let [inner, outer] = [inner, outer].map(|index| braced(&family.sets()[index]));
                format!("{outer} contains {inner}")
            })
            .into_iter()
            .collect(),
        ..Report::default()
    }
}

impl Verdicts {
    /// Of sets that may not meet; `disjoint` are two that do not.
    #[must_use]
    pub fn of_family(family: &Family, disjoint: Option<&Disjoint>) -> Self {
        let met = conditions(family.assignment(), family.nodes());
        let verdicts = Verdicts::of(&met, disjoint.map(ToString::to_string));
        Verdicts { intersecting: disjoint.is_none(), ..verdicts }
    }

    fn of(met: &Conditions, violation: Option<String>) -> Self {
        Verdicts {
            intersecting: met.disjoint.is_none(),
            contains_self: met.without_self.is_none(),
            equal_size: met.equal_size,
            equal_degree: met.equal_degree,
            violation,
        }
    }
}

fn listing(system: &System) -> Option<Vec<Vec<NodeId>>> {
    let quorums = system.quorums(LISTED)?;
    let members: usize = quorums.iter().map(Vec::len).sum();
    (members <= LISTED_MEMBERS).then(|| quorums.into_owned())
}

/// Says which nodes are not in their own quorum, and why.
fn idle(system: &System, without_self: Option<NodeId>) -> Option<String> {
    without_self?;
    let outside = |node: &NodeId| !system.assignment().of(*node).contains(node);
    let outside: Vec<NodeId> = NodeId::all(system.nodes()).filter(outside).collect();
    let shown = match &outside[..] {
        few if few.len() <= 10 => braced(few),
        many => format!("{} nodes, {} first,", many.len(), many[0]),
    };
    let are = if outside.len() == 1 { "is" } else { "are" };
    Some(format!(
        "{shown} {are} not in the quorum asked: to ask it costs one message more of each kind"
    ))
}

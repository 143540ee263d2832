//! Which construction for N nodes? All of them side by side, and one for each goal.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use serde::Serialize;
use skeptron_quorum::conditions::Conditions;
use skeptron_quorum::{Construction, QuorumError, System, build};

use super::report::{Figures, Question, QuestionError, Report, met};

/// All constructions that exist for so many nodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// How many nodes.
    pub nodes: usize,
    /// One for each construction, smallest quorums first.
    pub candidates: Vec<Candidate>,
    /// One for each goal.
    pub recommendations: Vec<Recommendation>,
    /// Why some are missing.
    pub missing: Vec<String>,
    /// All that is known of the smallest one with conditions 1–4, where there is one.
    #[serde(skip)]
    pub best: Option<Report>,
}

/// What counts when constructions are compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "QuorumCandidate"))]
pub struct Candidate {
    /// As it would be typed.
    pub name: String,
    /// How many nodes each node asks in the mean: K.
    pub asked: f64,
    /// Whether conditions 1–4 hold.
    pub symmetric: bool,
    /// Whether each node is in its own quorum.
    pub contains_self: bool,
    /// The load.
    pub load: f64,
    /// The load as a fraction, where it is proved.
    pub load_fraction: Option<String>,
    /// How many crashes it survives for sure.
    pub resilience: usize,
    /// Whether that is exact, or perhaps more.
    pub resilience_is_exact: bool,
    /// The probability that no quorum is alive.
    pub failure_probability: f64,
    /// Whether that is exact, or sampled.
    pub failure_is_exact: bool,
}

/// What to optimise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "QuorumGoal"))]
pub enum Goal {
    /// Conditions 1–4 with the smallest quorums: everybody does the same work.
    EqualWork,
    /// The smallest quorums, whoever does the work.
    FewestMessages,
    /// The smallest load.
    LowestLoad,
    /// The most crashes survived for sure.
    MostCrashes,
    /// The smallest probability that no quorum is alive.
    Availability,
}

/// A construction for a goal.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "QuorumRecommendation"))]
pub struct Recommendation {
    /// The goal.
    pub goal: Goal,
    /// The construction, as it would be typed.
    pub name: String,
    /// Why, and at which price.
    pub why: String,
}

/// Every construction for N nodes, built once.
#[derive(Clone, Debug)]
pub struct Built {
    nodes: usize,
    systems: Vec<System>,
    /// What holds of each.
    conditions: Vec<Conditions>,
    /// Where the smallest one with conditions 1–4 stands; it has a note that says why.
    best: Option<usize>,
    /// What does not exist for so many nodes, and why.
    missing: Vec<(Construction, QuorumError)>,
}

impl Built {
    /// Builds all that exist for `nodes` nodes.
    #[must_use]
    pub fn of(nodes: usize) -> Self {
        let mut built = Built {
            nodes,
            systems: Vec::new(),
            conditions: Vec::new(),
            best: None,
            missing: Vec::new(),
        };
        for construction in Construction::of_any_size() {
            match build(&construction, nodes) {
                Ok(system) => built.systems.push(system),
                Err(error) => built.missing.push((construction, error)),
            }
        }
        built.conditions = built.systems.iter().map(met).collect();
        built.choose();
        built
    }

    /// The smallest one that satisfies conditions 1–4, with a note that says why.
    ///
    /// # Errors
    /// If there are no nodes, or too many.
    pub fn best(&self) -> Result<&System, QuorumError> {
        match self.best {
            Some(place) => Ok(&self.systems[place]),
            // What exists for nearly every size says best why nothing does.
            None => {
                let cyclic = self.missing.iter().find(|(which, _)| *which == Construction::Cyclic);
                Err(cyclic.map_or(QuorumError::NoNodes, |(_, error)| error.clone()))
            }
        }
    }

    /// Compares all of them, on all cores. `progress` hears which one is next.
    ///
    /// # Errors
    /// If there are none, or the question makes no sense.
    pub fn compare(
        &self,
        question: &Question,
        progress: impl FnMut(&str),
    ) -> Result<Comparison, CompareError> {
        let nodes = self.nodes;
        if nodes == 0 {
            return Err(QuorumError::NoNodes.into());
        }
        if self.systems.is_empty() {
            let construction = Construction::Cyclic;
            let most = construction.most_nodes();
            return Err(QuorumError::TooManyNodes { construction, nodes, most }.into());
        }
        let mut best = None;
        let mut candidates = Vec::new();
        for (place, figures) in self.figures(question, progress)?.into_iter().enumerate() {
            let system = &self.systems[place];
            candidates.push(Candidate::of(system, &figures));
            if self.best == Some(place) {
                best = Some(figures.report(system, question)?);
            }
        }
        candidates.sort_by(|a, b| a.asked.total_cmp(&b.asked));
        let recommendations =
            Goal::ALL.iter().filter_map(|goal| goal.best_of(&candidates)).collect();
        let missing = self.missing.iter().map(|(_, error)| error.to_string()).collect();
        Ok(Comparison { nodes, candidates, recommendations, missing, best })
    }

    fn figures(
        &self,
        question: &Question,
        mut progress: impl FnMut(&str),
    ) -> Result<Vec<Figures>, QuestionError> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let next = AtomicUsize::new(0);
        let (sender, receiver) = mpsc::channel();
        let mut all: Vec<_> = self.systems.iter().map(|_| None).collect();
        thread::scope(|scope| {
            for _ in 0..threads.min(self.systems.len()) {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || {
                    loop {
                        let place = next.fetch_add(1, Ordering::Relaxed);
                        let Some(system) = self.systems.get(place) else { break };
                        // Whoever asks listens to the end.
                        let _ = sender.send((place, None));
                        let figures = Figures::of(system, self.conditions[place], question);
                        let _ = sender.send((place, Some(figures)));
                    }
                });
            }
            drop(sender);
            for (place, figures) in receiver {
                match figures {
                    None => progress(self.systems[place].kind()),
                    Some(figures) => all[place] = Some(figures),
                }
            }
        });
        all.into_iter().flatten().collect()
    }

    /// Finds the best, and notes why it is.
    fn choose(&mut self) {
        let by_size = |a: &usize, b: &usize| self.size(*a).total_cmp(&self.size(*b));
        let (mut equal, mut other): (Vec<usize>, Vec<usize>) =
            (0..self.systems.len()).partition(|&place| self.is_symmetric(place));
        // Where sizes are equal the first one wins.
        equal.sort_by(by_size);
        other.sort_by(by_size);
        let Some((&first, rest)) = equal.split_first() else { return };
        let size = self.size(first);
        let smaller: Vec<usize> = other.into_iter().filter(|&one| self.size(one) < size).collect();
        let nodes = self.nodes;
        let mut why = format!(
            "best: the smallest quorums ({}) of all constructions with conditions 1–4 for {nodes} nodes",
            round(size)
        );
        if !rest.is_empty() {
            why += &format!("; next are {}", self.sized(rest));
        }
        if !smaller.is_empty() {
            why += &format!("; smaller, but with unequal work: {}", self.sized(&smaller));
        }
        let system = self.systems.remove(first);
        self.systems.insert(first, system.with_note(why));
        self.best = Some(first);
    }

    fn size(&self, place: usize) -> f64 {
        self.systems[place].assignment().mean_size()
    }

    fn is_symmetric(&self, place: usize) -> bool {
        let met = &self.conditions[place];
        met.without_self.is_none() && met.equal_size && met.equal_degree
    }

    fn sized(&self, places: &[usize]) -> String {
        let one =
            |&place: &usize| format!("{} {}", self.systems[place].name(), round(self.size(place)));
        places.iter().map(one).collect::<Vec<_>>().join(", ")
    }
}

/// Why nothing could be compared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CompareError {
    /// There is no system of so many nodes.
    #[error(transparent)]
    Quorum(#[from] QuorumError),
    /// The question makes no sense.
    #[error(transparent)]
    Question(#[from] QuestionError),
}

impl Candidate {
    fn of(system: &System, figures: &Figures) -> Self {
        let Figures { conditions, load, resilience, failure } = figures;
        let contains_self = conditions.without_self.is_none();
        Candidate {
            name: system.name().to_owned(),
            asked: system.assignment().mean_size(),
            symmetric: contains_self && conditions.equal_size && conditions.equal_degree,
            contains_self,
            load: load.value,
            load_fraction: load.fraction.as_ref().map(ToString::to_string),
            resilience: resilience.at_least,
            resilience_is_exact: resilience.exact().is_some(),
            failure_probability: failure.value,
            failure_is_exact: failure.interval.is_none(),
        }
    }
}

impl Goal {
    const ALL: [Goal; 5] = [
        Goal::EqualWork,
        Goal::FewestMessages,
        Goal::LowestLoad,
        Goal::MostCrashes,
        Goal::Availability,
    ];

    /// What is wanted, in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Goal::EqualWork => "equal work",
            Goal::FewestMessages => "fewest messages",
            Goal::LowestLoad => "lowest load",
            Goal::MostCrashes => "most crashes survived",
            Goal::Availability => "availability",
        }
    }

    /// Equal in what is wanted, the one with the smaller quorums.
    fn best_of(self, candidates: &[Candidate]) -> Option<Recommendation> {
        // One node for all is no answer to how work is shared, except that nobody waits for others.
        let admitted = candidates.iter().filter(|candidate| match self {
            Goal::EqualWork => candidate.symmetric,
            Goal::Availability => true,
            _ => candidate.contains_self,
        });
        let cost = |candidate: &Candidate| match self {
            Goal::EqualWork | Goal::FewestMessages => candidate.asked,
            Goal::LowestLoad => candidate.load,
            Goal::MostCrashes => -(candidate.resilience as f64),
            Goal::Availability => candidate.failure_probability,
        };
        let order = |a: &&Candidate, b: &&Candidate| {
            let by_cost = if (cost(a) - cost(b)).abs() < 1e-12 * cost(a).abs() {
                std::cmp::Ordering::Equal
            } else {
                cost(a).total_cmp(&cost(b))
            };
            by_cost.then(a.asked.total_cmp(&b.asked))
        };
        let best = admitted.min_by(order)?;
        Some(Recommendation { goal: self, name: best.name.clone(), why: self.reason(best) })
    }

    fn reason(self, best: &Candidate) -> String {
        let asked = round(best.asked);
        let load = best.load_fraction.clone().unwrap_or_else(|| round(best.load));
        match self {
            Goal::EqualWork => format!("{asked} nodes asked by each, every node by as many"),
            Goal::FewestMessages if best.symmetric => format!("{asked} nodes asked, by all alike"),
            Goal::FewestMessages => {
                format!("{asked} nodes asked in the mean, but some nodes more often than others")
            }
            Goal::LowestLoad => format!("the busiest node is asked for {load} of the entries"),
            Goal::MostCrashes if best.resilience_is_exact => {
                format!("any {} may crash; {asked} nodes asked", best.resilience)
            }
            Goal::MostCrashes => {
                format!("any {} or more may crash; {asked} nodes asked", best.resilience)
            }
            Goal::Availability => {
                format!(
                    "fails with probability {:.3e}; {asked} nodes asked",
                    best.failure_probability
                )
            }
        }
    }
}

fn round(value: f64) -> String {
    ((value * 1000.0).round() / 1000.0).to_string()
}

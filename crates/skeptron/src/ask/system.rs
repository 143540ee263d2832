//! Which system to build: options that `sim` and other commands share.

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};
use skeptron_core::catalogue::{self, Entry, Layout};
use skeptron_core::topology::{Clusters, Quorums, ReadWrite, ReadWriteKind, Structure, Tree};
use skeptron_core::{Arbitration, NodeId, NodeSet, Setup};
use ts_rs::TS;

use super::command::long;
use super::quorum::source::{self, Source};
use super::{Files, names};

mod elected;
mod network;

pub use elected::{Elected, Network};

/// The information structures that have a name.
pub(crate) const STRUCTURES: [&str; 5] =
    ["lamport", "ricart-agrawala", "maekawa", "sanders-4", "star"];

/// Every pair of nodes of an information structure is judged.
pub(crate) const MOST_STRUCTURED: usize = 10_000;

/// The system: how many nodes, and the layout that some algorithms need.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
#[ts(optional_fields)]
pub struct SystemArgs {
    /// How many nodes [default: 5, or as many as the layout has]
    #[arg(short = 'n', long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = names::whole::<usize>)]
    pub nodes: Option<usize>,
    /// Who coordinates in `central` [default: P1]
    #[arg(long, value_name = "NODE", help_heading = "Layout")]
    pub coordinator: Option<String>,
    /// Quorums for `maekawa`, `sanders` and `cao-singhal`: singleton, all, majority, weighted:3,1,1, grid,
    /// cyclic, projective, triangle, wall, tree, hierarchical (or projective:4, wall:1,2,3, tree:2,
    /// hierarchical:2), maekawa-13, fano, best, or a file; `skeptron quorum` tells all about them
    /// [default: cyclic]
    #[arg(long, value_name = "KIND|FILE", help_heading = "Layout")]
    pub quorum: Option<String>,
    /// Information structure for `sanders`: lamport, ricart-agrawala, maekawa, sanders-4, star or
    /// star:NODE, or a JSON file with `request` and `inform` lists; `skeptron structure` tells all about
    /// them [default: maekawa]
    #[arg(long, value_name = "PRESET|FILE", help_heading = "Layout")]
    pub structure: Option<String>,
    /// Tree for `raymond` and `neilsen-mizuno`: balanced:K, star, line, elected (by `spanning-tree`, in
    /// the same network), or a file with a `CHILD PARENT` pair on each line [default: balanced:2]
    #[arg(long, value_name = "KIND|FILE", help_heading = "Layout")]
    pub tree: Option<String>,
    /// How the holder chooses in `singhal`: round-robin, smallest-sequence or nearest
    /// [default: round-robin]
    #[arg(long, value_name = "RULE", help_heading = "Layout")]
    pub arbitration: Option<String>,
    /// How many may be inside at once in `raymond-k`: at least 1, and fewer than all [default: 2, of
    /// two nodes 1]
    #[arg(long, value_name = "K", help_heading = "Layout")]
    pub capacity: Option<String>,
    /// Who reads in `quorum-readers-writers`, as in P1,P3 or a number: the first so many; the others write
    /// [default: all but the last one]
    #[arg(long, value_name = "LIST", help_heading = "Layout")]
    pub readers: Option<String>,
    /// Whom readers and writers ask in `quorum-readers-writers`: grid (a row; a row and a column), majority,
    /// read-one (oneself; everybody), or a JSON file with `quorums` and `readers` [default: grid]
    #[arg(long, value_name = "KIND|FILE", help_heading = "Layout")]
    pub read_quorums: Option<String>,
    /// In which state `dijkstra` begins: initial, random (any at all, drawn by the seed), or a number for each
    /// node, as a counterexample has them [default: initial; of `check` every state]
    #[arg(long, value_name = "STATE|LIST", help_heading = "Layout")]
    pub begin: Option<String>,
    /// The ring of an election: ascending, descending, random:SEED, or a list like P3,P1,P2
    /// [default: ascending]
    #[arg(long, value_name = "ORDER", help_heading = "Layout")]
    pub ring: Option<String>,
    /// The network of `spanning-tree`, also where it elects a tree: complete, ring, line, star, grid,
    /// hypercube, or a file with two linked nodes on each line [default: complete]
    #[arg(long, value_name = "KIND|FILE", help_heading = "Layout")]
    pub graph: Option<String>,
    /// Clusters of `composed`: their sizes, as in 3,3,2; latency (who reaches whom fast by --latency); or square
    /// (about √N of about √N nodes) [default: latency if that tells nodes apart, else square]
    #[arg(long, value_name = "SIZES|KIND", help_heading = "Layout")]
    pub clusters: Option<String>,
    /// Where the logical clocks begin, for algorithms that stamp their requests: a number for each
    /// node, as in 40,0,33 [default: 0 everywhere]
    #[arg(long, value_name = "LIST", help_heading = "Layout")]
    pub clocks: Option<String>,
    /// Take quorums from a file also if they do not meet, and an information structure also if it is invalid,
    /// to see what comes of it
    #[arg(long, help_heading = "Layout")]
    #[ts(as = "Option<_>")]
    pub unsafe_structure: bool,
}

/// Whether algorithms with that layout take an option, by the name of its field.
pub(super) fn takes(layout: Layout, option: &str) -> bool {
    let takers: &[Layout] = match option {
        "coordinator" => &[Layout::Coordinator],
        "quorum" | "unsafe_structure" => &[Layout::Quorums, Layout::Structure],
        "structure" => &[Layout::Structure],
        "tree" => &[Layout::Tree],
        "arbitration" => &[Layout::Arbitration],
        "capacity" => &[Layout::Capacity],
        "readers" | "read_quorums" => &[Layout::ReadWrite],
        "begin" => &[Layout::Beginning],
        "ring" => &[Layout::Ring],
        "graph" => &[Layout::Graph, Layout::Tree],
        "clusters" => &[Layout::Clusters],
        // Not about the layout.
        _ => return true,
    };
    takers.contains(&layout)
}

impl SystemArgs {
    /// The system for `info`, of `default_nodes` if nothing says otherwise, in the network for which
    /// figures are published.
    ///
    /// # Errors
    /// If a layout is unknown, malformed, impossible, or not for this algorithm.
    pub fn setup<C>(&self, info: &Entry<C>, default_nodes: usize, files: Files) -> Result<Setup> {
        Ok(self.setup_in(info, default_nodes, &Network::default(), files)?.0)
    }

    /// The system for `info` in that network, and how its tree was elected, if it was.
    ///
    /// # Errors
    /// As [`SystemArgs::setup`], and if an election comes to nothing.
    pub fn setup_in<C>(
        &self,
        info: &Entry<C>,
        default_nodes: usize,
        network: &Network,
        files: Files,
    ) -> Result<(Setup, Option<Elected>)> {
        self.refuse_foreign_layouts(info)?;
        let nodes = match self.nodes {
            Some(nodes) => nodes,
            None => self.nodes_of_layout(files)?.unwrap_or(default_nodes),
        };
        let mut setup = Setup::new(nodes)?.with_clocks(self.clocks()?).context("--clocks")?;
        if self.unsafe_structure {
            setup = setup.with_unsafe_structure();
        }
        if !self.elects_tree() {
            return Ok((self.laid_out(info, setup, network, files)?, None));
        }
        let graph = network::graph(self.graph.as_deref().unwrap_or("complete"), nodes, files)?;
        let elected = Elected::in_network(setup.clone(), graph, network, files)?;
        Ok((setup.with_tree(elected.tree.clone())?, Some(elected)))
    }

    /// Whether anything but the number of nodes was given.
    pub(crate) fn has_layout(&self) -> bool {
        *self != SystemArgs { nodes: self.nodes, ..SystemArgs::default() }
    }

    /// Whether the nodes elect their tree themselves.
    pub(crate) fn elects_tree(&self) -> bool {
        self.tree.as_deref() == Some("elected")
    }

    /// Whether the state in which it begins is drawn by the seed.
    pub(crate) fn begins_at_random(&self) -> bool {
        self.begin.as_deref() == Some("random")
    }

    fn laid_out<C>(
        &self,
        info: &Entry<C>,
        setup: Setup,
        network: &Network,
        files: Files,
    ) -> Result<Setup> {
        let nodes = setup.nodes();
        Ok(match info.layout {
            Layout::None | Layout::Detector => setup,
            Layout::Coordinator => match &self.coordinator {
                Some(text) => {
                    setup.with_coordinator(names::node(text).context("--coordinator")?)?
                }
                None => setup,
            },
            Layout::Quorums => setup.with_quorums(self.quorums(nodes, files)?)?,
            Layout::Structure => setup.with_structure(self.structure(nodes, files)?)?,
            Layout::Tree => {
                let name = self.tree.as_deref().unwrap_or("balanced:2");
                setup.with_tree(tree(name, nodes, files)?)?
            }
            Layout::Arbitration => match &self.arbitration {
                Some(rule) => setup.with_arbitration(arbitration(rule)?),
                None => setup,
            },
            Layout::Capacity => setup.with_capacity(self.capacity(nodes)?).context("--capacity")?,
            Layout::ReadWrite => setup.with_read_write(self.read_write(nodes, files)?)?,
            Layout::Beginning => self.begun(info.name, setup, network.seed).context("--begin")?,
            Layout::Ring => match &self.ring {
                Some(order) => setup.with_ring(network::ring(order, nodes)?)?,
                None => setup,
            },
            Layout::Graph => match &self.graph {
                Some(name) => setup.with_graph(network::graph(name, nodes, files)?)?,
                None => setup,
            },
            Layout::Clusters => setup.with_clusters(self.clusters(nodes, network, files)?)?,
        })
    }

    fn refuse_foreign_layouts<C>(&self, info: &Entry<C>) -> Result<()> {
        let elects_tree = info.layout == Layout::Tree && self.elects_tree();
        ensure!(
            info.layout != Layout::Tree || self.graph.is_none() || elects_tree,
            "{} takes --graph only where its tree is elected in it; add --tree elected",
            info.name
        );
        let given = [
            ("coordinator", self.coordinator.is_some()),
            ("quorum", self.quorum.is_some()),
            ("structure", self.structure.is_some()),
            ("unsafe_structure", self.unsafe_structure),
            ("tree", self.tree.is_some()),
            ("arbitration", self.arbitration.is_some()),
            ("capacity", self.capacity.is_some()),
            ("readers", self.readers.is_some()),
            ("read_quorums", self.read_quorums.is_some()),
            ("begin", self.begin.is_some()),
            ("ring", self.ring.is_some()),
            ("graph", self.graph.is_some()),
            ("clusters", self.clusters.is_some()),
        ];
        for (option, is_given) in given {
            ensure!(
                !is_given || takes(info.layout, option),
                "{} takes no {}; leave it out (`skeptron explain {}` says what it needs)",
                info.name,
                long(option),
                info.name
            );
        }
        Ok(())
    }

    /// Presets and files know how many nodes they are for.
    ///
    /// # Errors
    /// If a layout is unknown, or a file cannot be read.
    pub(crate) fn nodes_of_layout(&self, files: Files) -> Result<Option<usize>> {
        Ok(match (self.quorum.as_deref(), self.structure.as_deref(), self.tree.as_deref()) {
            (Some(quorum), ..) => Source::parse(quorum, files)?.nodes(files)?,
            (_, Some("sanders-4"), _) => Some(4),
            (_, Some(path), _) if files.has_regular(path) => {
                Some(structure_file(path, files)?.nodes())
            }
            (_, _, Some(path)) if files.has_regular(path) => {
                Some(tree_file(path, None, files)?.nodes())
            }
            _ => match self.graph.as_deref() {
                Some(path) if files.has_regular(path) => Some(network::nodes_of_file(path, files)?),
                _ => {
                    let clocks = self.clocks.as_ref().map(|clocks| clocks.split(',').count());
                    let clusters = || cluster_sizes(self.clusters.as_deref()?).ok();
                    let clusters = || clusters().map(|sizes| sizes.iter().sum());
                    let ring = || self.ring.as_deref().and_then(network::listed);
                    clocks.or_else(ring).or_else(clusters)
                }
            },
        })
    }

    /// Where logical clocks begin; nothing if that is left out.
    fn clocks(&self) -> Result<Vec<u64>> {
        let Some(text) = &self.clocks else { return Ok(Vec::new()) };
        let clock = |clock: &str| match clock.trim().parse() {
            Ok(clock) => Ok(clock),
            Err(_) => bail!("--clocks {text}: `{clock}` is no whole number from 0 up"),
        };
        text.split(',').map(clock).collect()
    }

    /// The system begun in the state that is wanted.
    fn begun(&self, name: &str, setup: Setup, seed: u64) -> Result<Setup> {
        let info = catalogue::find(name).context("an algorithm of the catalogue")?;
        match self.begin.as_deref() {
            None | Some("initial") => Ok(setup),
            Some("random") => Ok(skeptron_sim::begun_anywhere(info, setup, seed)?),
            Some(list) => {
                let state = |state: &str| match state.trim().parse() {
                    Ok(state) => Ok(state),
                    Err(_) => bail!("`{state}` is neither initial, nor random, nor a number"),
                };
                let states = list.split(',').map(state).collect::<Result<Vec<u64>>>()?;
                Ok(setup.with_beginnings(states)?)
            }
        }
    }

    /// How many may be inside at once.
    fn capacity(&self, nodes: usize) -> Result<usize> {
        match &self.capacity {
            Some(text) => match text.trim().parse() {
                Ok(capacity) => Ok(capacity),
                Err(_) => bail!("--capacity {text}: `{text}` is no whole number from 1 up"),
            },
            None => Ok(if nodes > 2 { 2 } else { 1 }),
        }
    }

    /// Readers and writers, and whom they ask.
    fn read_write(&self, nodes: usize, files: Files) -> Result<ReadWrite> {
        let name = self.read_quorums.as_deref().unwrap_or("grid");
        let known = ReadWriteKind::ALL.iter().find(|(known, _)| *known == name);
        let Some(&(_, kind)) = known else {
            let names = ReadWriteKind::ALL.map(|(name, _)| name);
            ensure!(
                files.has(name),
                "there are no quorums of readers and writers `{name}`; there are {}{}{}",
                names.join(", "),
                files.or_a_file(),
                names::did_you_mean(name, names.into_iter())
            );
            ensure!(self.readers.is_none(), "{name} says who reads; leave out --readers");
            return serde_json::from_str(&files.read(name)?).with_context(|| name.to_string());
        };
        let readers: NodeSet = match self.readers.as_deref() {
            None => NodeId::all(nodes - 1).collect(),
            Some(text) => match text.trim().parse() {
                Ok(count) if count <= nodes => NodeId::all(count).collect(),
                Ok(count) => bail!("--readers is {count}, but there are only {nodes} nodes"),
                Err(_) => names::nodes(text).context("--readers")?.into_iter().collect(),
            },
        };
        ReadWrite::of_kind(kind, nodes, readers).context("--readers")
    }

    fn quorums(&self, nodes: usize, files: Files) -> Result<Quorums> {
        let source = match self.quorum.as_deref() {
            None => Source::Construction(skeptron_quorum::default_for(nodes)),
            Some(name) => Source::parse(name, files)?,
        };
        match &source {
            Source::File(path) if self.unsafe_structure => {
                let sets = source::family(path, Some(nodes), files)?.assignment().to_vec();
                Quorums::unchecked(sets).with_context(|| path.clone())
            }
            _ => Ok(source.system(nodes, files)?.into()),
        }
    }

    fn clusters(&self, nodes: usize, network: &Network, files: Files) -> Result<Clusters> {
        let by_latency = || -> Result<Option<Clusters>> {
            let latency = files.latency(network.latency, nodes).context("--latency")?;
            Ok(latency.clusters(nodes))
        };
        match self.clusters.as_deref() {
            None => Ok(by_latency()?.unwrap_or_else(|| Clusters::square(nodes))),
            Some("square") => Ok(Clusters::square(nodes)),
            Some("latency") => by_latency()?.with_context(|| {
                format!(
                    "--clusters latency: --latency {} is the same for all; give sizes, as in 3,3,2",
                    network.latency
                )
            }),
            Some(sizes) => Clusters::of_sizes(&cluster_sizes(sizes)?).context("--clusters"),
        }
    }

    fn structure(&self, nodes: usize, files: Files) -> Result<Structure> {
        ensure!(
            nodes <= MOST_STRUCTURED,
            "{nodes} nodes are too many for an information structure; at most {MOST_STRUCTURED} are allowed"
        );
        let name = self.structure.as_deref().unwrap_or("maekawa");
        ensure!(
            self.quorum.is_none() || name == "maekawa",
            "--quorum goes with the structure maekawa, which is derived from quorums"
        );
        Ok(match name {
            "lamport" => Structure::lamport(nodes),
            "ricart-agrawala" => Structure::ricart_agrawala(nodes),
            "maekawa" => Structure::maekawa(&self.quorums(nodes, files)?),
            "sanders-4" => Structure::four_nodes(),
            "star" => Structure::star(nodes, NodeId::new(0)),
            star if star.starts_with("star:") => {
                let centre =
                    names::node(&star["star:".len()..]).context("the centre of the star")?;
                ensure!(
                    centre.index() < nodes,
                    "the centre of the star is {centre}, but there are only {nodes} nodes"
                );
                Structure::star(nodes, centre)
            }
            path if files.has(path) => {
                let structure = structure_file(path, files)?;
                match structure.flaw().filter(|_| !self.unsafe_structure) {
                    Some(flaw) => return Err(flaw.clone()).with_context(|| path.to_string()),
                    None => structure,
                }
            }
            unknown => bail!(
                "there is no information structure `{unknown}`; there are {}{}{}",
                STRUCTURES.join(", "),
                files.or_a_file(),
                names::did_you_mean(unknown, STRUCTURES.into_iter())
            ),
        })
    }
}

fn tree(name: &str, nodes: usize, files: Files) -> Result<Tree> {
    const KINDS: [&str; 4] = ["balanced:2", "star", "line", "elected"];
    match name.split_once(':') {
        _ if name == "star" => Ok(Tree::star(nodes)),
        _ if name == "line" => Ok(Tree::line(nodes)),
        Some(("balanced", k)) => match k.parse() {
            Ok(k @ 1..) => Ok(Tree::balanced(nodes, k)),
            _ => bail!(
                "`{name}` is no tree: in balanced:K, K is how many children a node has, at least 1"
            ),
        },
        _ if files.has(name) => tree_file(name, Some(nodes), files),
        _ => bail!(
            "there is no tree `{name}`; there are balanced:K, star, line, elected{}{}",
            files.or_a_file(),
            names::did_you_mean(name, KINDS.into_iter())
        ),
    }
}

fn cluster_sizes(text: &str) -> Result<Vec<usize>> {
    let size = |size: &str| match size.trim().parse() {
        Ok(size @ 1..=Setup::MOST_NODES) => Ok(size),
        _ => bail!(
            "--clusters {text}: `{size}` is no size of a cluster; give sizes, as in 3,3,2, or latency, or square"
        ),
    };
    text.split(',').map(size).collect()
}

fn arbitration(name: &str) -> Result<Arbitration> {
    let known = Arbitration::ALL.map(|rule| rule.to_string());
    Arbitration::ALL.into_iter().find(|rule| rule.to_string() == name).ok_or_else(|| {
        let hint = names::did_you_mean(name, known.iter().map(String::as_str));
        anyhow!("there is no arbitration rule `{name}`; there are {}{hint}", known.join(", "))
    })
}

fn structure_file(path: &str, files: Files) -> Result<Structure> {
    serde_json::from_str(&files.read(path)?).with_context(|| path.to_string())
}

/// A JSON list with the parent of each node (`null` for the root), or lines `CHILD PARENT`.
fn tree_file(path: &str, nodes: Option<usize>, files: Files) -> Result<Tree> {
    let text = files.read(path)?;
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(&text).with_context(|| path.to_string());
    }
    let mut edges = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let at = || format!("{path}: line {}", number + 1);
        match *line.split_whitespace().collect::<Vec<_>>() {
            [] => {}
            [child, parent] => {
                edges.push((
                    names::node(child).with_context(at)?,
                    names::node(parent).with_context(at)?,
                ));
            }
            _ => bail!("{}: a line is a child and its parent, as in `3 1`", at()),
        }
    }
    let largest = edges.iter().map(|&(child, parent)| child.max(parent).index() + 1).max();
    let size = nodes.or(largest).unwrap_or(1).min(Setup::MOST_NODES);
    if let Some(largest) = largest {
        ensure!(
            largest <= size,
            "{path}: it names {}, but there are only {size} nodes",
            NodeId::new(largest - 1)
        );
    }
    let mut parents = vec![None; size];
    for (child, parent) in edges {
        let before = parents[child.index()].replace(parent);
        ensure!(before.is_none(), "{path}: {child} has two parents");
    }
    Tree::new(parents).with_context(|| path.to_string())
}

//! A tree that the nodes elect themselves: `--tree elected`.

use anyhow::{Context as _, Result, bail};
use serde::Serialize;
use skeptron_core::catalogue::{self, Order};
use skeptron_core::topology::{Graph, Tree};
use skeptron_core::{NodeId, Setup};
use skeptron_sim::Options;
use skeptron_sim::election::{Initiator, Scenario, run};

use super::super::Files;
use crate::table::number;

/// The algorithm that elects it.
const ALGORITHM: &str = "spanning-tree";

/// The network in which a system runs, as it is typed, and with it the election before.
#[derive(Clone, Copy, Debug)]
pub struct Network<'a> {
    /// How long messages take.
    pub latency: &'a str,
    /// In which order a channel delivers.
    pub order: Order,
    /// Determines all chance.
    pub seed: u64,
}

impl Default for Network<'_> {
    /// As fast as the figures that are published assume.
    fn default() -> Self {
        Network { latency: "1", order: Order::Fifo, seed: 1 }
    }
}

/// A tree, and what its election cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Elected {
    /// Its root.
    pub leader: NodeId,
    /// Edges between the two nodes farthest apart.
    pub diameter: usize,
    /// How many messages the election took.
    pub messages: u64,
    /// From the call until everybody knew the leader, in units.
    pub time: f64,
    /// The parent of each node.
    pub tree: Tree,
}

impl Elected {
    /// All nodes call at once, in that network of links, and what they build is the tree.
    ///
    /// # Errors
    /// If there can be no such network, or the election came to nothing in it.
    pub(super) fn in_network(
        setup: Setup,
        graph: Graph,
        network: &Network,
        files: Files,
    ) -> Result<Self> {
        let nodes = setup.nodes();
        let info = catalogue::find_election(ALGORITHM)
            .with_context(|| format!("--tree elected: there is no {ALGORITHM} to elect it"))?;
        let scenario = Scenario {
            seed: network.seed,
            initiators: NodeId::all(nodes).map(|node| Initiator { node, at: Some(0) }).collect(),
            latency: files.latency(network.latency, nodes).context("--latency")?,
            order: network.order,
            ..Scenario::new(setup.with_graph(graph)?)
        };
        let report = run(info, &scenario, &Options::default()).context("--tree elected")?.report;
        if let Some(violation) = report.violations.first() {
            bail!("--tree elected: {} is violated: {}", violation.property, violation.detail);
        }
        let Some(leader) = report.leader else {
            bail!("--tree elected: the nodes do not agree on a leader");
        };
        // One node alone has no parent, and so no tree of its own.
        let parents = report.tree.unwrap_or_else(|| vec![None; nodes]);
        let tree = Tree::new(parents).context("--tree elected")?;
        let (messages, time) = (report.messages.total, report.time.unwrap_or(0.0));
        Ok(Elected { leader, diameter: tree.diameter(), messages, time, tree })
    }
}

impl std::fmt::Display for Elected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Elected { leader, diameter, messages, time, .. } = self;
        let time = number(*time);
        write!(
            f,
            "elected: root {leader}, diameter {diameter}; the election took {messages} messages and {time} units"
        )
    }
}

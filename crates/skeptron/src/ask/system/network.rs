//! Rings and networks as they are typed.

use anyhow::{Context as _, Result, bail, ensure};
use skeptron_core::NodeId;
use skeptron_core::topology::{Graph, Ring};
use skeptron_sim::shuffled;

use super::super::{Files, names};

/// The ring of a system of `nodes` nodes.
pub(super) fn ring(text: &str, nodes: usize) -> Result<Ring> {
    const KINDS: [&str; 3] = ["ascending", "descending", "random"];
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    Ok(match kind {
        "ascending" if rest.is_empty() => Ring::ascending(nodes),
        "descending" if rest.is_empty() => Ring::descending(nodes),
        "random" => {
            let Ok(seed) = rest.parse() else {
                bail!("--ring {text}: it needs a seed; write random:SEED, as in random:7")
            };
            Ring::new(shuffled(nodes, seed))?
        }
        list if list.contains(',') || names::node(list).is_ok() => {
            let order = names::nodes(text).context("--ring")?;
            let given = order.len();
            ensure!(
                given == nodes,
                "--ring {text}: it has {given} of {nodes} nodes; every node stands in it once"
            );
            Ring::new(order).context("--ring")?
        }
        _ => bail!(
            "--ring {text}: there is no such ring; there are ascending, descending, random:SEED, or a \
             list like P3,P1,P2{}",
            names::did_you_mean(kind, KINDS.into_iter())
        ),
    })
}

/// How many nodes a ring has that is given as a list.
pub(super) fn listed(text: &str) -> Option<usize> {
    let list = text.contains(',').then(|| names::nodes(text).ok()).flatten();
    list.map(|list| list.len())
}

/// The network of a system of `nodes` nodes.
pub(super) fn graph(name: &str, nodes: usize, files: Files) -> Result<Graph> {
    const KINDS: [&str; 6] = ["complete", "ring", "line", "star", "grid", "hypercube"];
    const MOST_COMPLETE: usize = 10_000;
    let id = NodeId::new;
    let line = || (1..nodes).map(move |i| (i - 1, i));
    let links: Vec<(usize, usize)> = match name {
        "complete" => {
            ensure!(
                nodes <= MOST_COMPLETE,
                "--graph complete: {nodes} nodes have too many links; at most {MOST_COMPLETE} are allowed"
            );
            (0..nodes).flat_map(|i| (0..i).map(move |j| (j, i))).collect()
        }
        "line" => line().collect(),
        "ring" => line().chain((nodes > 2).then(|| (nodes - 1, 0))).collect(),
        "star" => (1..nodes).map(|i| (0, i)).collect(),
        "grid" => {
            // As square as can be; the last row may be shorter.
            let columns = (1..).find(|c| c * c >= nodes).unwrap_or(1);
            let right = line().filter(|(_, i)| i % columns != 0);
            right.chain((columns..nodes).map(|i| (i - columns, i))).collect()
        }
        "hypercube" => {
            ensure!(
                nodes.is_power_of_two(),
                "--graph hypercube: it has 1, 2, 4, 8, … nodes, not {nodes}"
            );
            let bits = nodes.trailing_zeros();
            let up = |i: usize| (0..bits).map(move |bit| (i, i | 1 << bit)).filter(|(a, b)| a != b);
            (0..nodes).flat_map(up).collect()
        }
        path if files.has(path) => {
            return Graph::of_links(nodes, links(path, files)?).with_context(|| path.to_string());
        }
        _ => bail!(
            "--graph {name}: there is no such network; there are {}{}{}",
            KINDS.join(", "),
            files.or_a_file(),
            names::did_you_mean(name, KINDS.into_iter())
        ),
    };
    Graph::of_links(nodes, links.into_iter().map(|(a, b)| (id(a), id(b)))).context("--graph")
}

/// How many nodes the links of a file are for: up to the highest that it names.
pub(super) fn nodes_of_file(path: &str, files: Files) -> Result<usize> {
    let highest = links(path, files)?.into_iter().map(|(a, b)| a.max(b).index() + 1).max();
    highest.with_context(|| format!("{path}: it has no links"))
}

/// Lines with two linked nodes.
fn links(path: &str, files: Files) -> Result<Vec<(NodeId, NodeId)>> {
    let mut links = Vec::new();
    for (number, line) in files.read(path)?.lines().enumerate() {
        let at = || format!("{path}: line {}", number + 1);
        match *line.split('#').next().unwrap_or_default().split_whitespace().collect::<Vec<_>>() {
            [] => {}
            [a, b] => {
                links.push((names::node(a).with_context(at)?, names::node(b).with_context(at)?));
            }
            _ => bail!("{}: a line is two linked nodes, as in `3 1`", at()),
        }
    }
    Ok(links)
}

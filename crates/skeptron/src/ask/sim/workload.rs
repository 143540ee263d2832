//! Workloads as they are typed.

use anyhow::{Context as _, Result, bail, ensure};
use skeptron_sim::{Distribution, Workload};

use super::super::{Files, names};

/// The workload of a system of `nodes` nodes.
pub(super) fn parse(text: &str, think: &str, nodes: usize, files: Files) -> Result<Workload> {
    const KINDS: [&str; 7] = ["none", "closed", "sequential", "poisson", "bursts", "hot", "file"];
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    let think = files.distribution(think).context("--think")?;
    let numbers = |names: &str| numbers(text, rest, names);
    let context = || format!("--workload {text}");
    Ok(match kind {
        "none" if rest.is_empty() => Workload::None,
        "closed" if rest.is_empty() => Workload::Closed { think },
        "sequential" if rest.is_empty() => Workload::Sequential { think },
        "poisson" => match numbers("RATE")?[..] {
            [rate] => Workload::Poisson { rate },
            _ => unreachable!("as many numbers as names"),
        },
        "bursts" => match numbers("SIZE,EVERY")?[..] {
            [size, every] => {
                let every = ticks(every).with_context(context)?;
                Workload::Bursts { size: whole(size).with_context(context)?, every }
            }
            _ => unreachable!("as many numbers as names"),
        },
        "hot" => match numbers("HOW-MANY,SHARE,RATE")?[..] {
            [hot, share, rate] => {
                Workload::Hot { hot: whole(hot).with_context(context)?, share, rate }
            }
            _ => unreachable!("as many numbers as names"),
        },
        "file" => Workload::List(
            list(&files.read(rest).with_context(context)?, nodes).with_context(context)?,
        ),
        _ => bail!(
            "--workload {text}: there is no such workload; there are none, closed, sequential, poisson:RATE, bursts:SIZE,EVERY, \
             hot:HOW-MANY,SHARE,RATE and file:PATH{}",
            names::did_you_mean(kind, KINDS.into_iter())
        ),
    })
}

/// As many numbers as there are names.
fn numbers(text: &str, rest: &str, names: &str) -> Result<Vec<f64>> {
    let values: Vec<&str> = rest.split(',').collect();
    let names: Vec<&str> = names.split(',').collect();
    if values.len() != names.len() {
        bail!("--workload {text}: it takes {}", names.join(","));
    }
    let parse = |(value, name): (&&str, &&str)| match value.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => bail!("--workload {text}: {name} is `{value}`, which is no number from 0 up"),
    };
    values.iter().zip(&names).map(parse).collect()
}

fn whole(number: f64) -> Result<usize> {
    ensure!(number.fract() == 0.0, "{number} is no whole number");
    Ok(number as usize)
}

/// A time as typed, in ticks.
fn ticks(units: f64) -> Result<u64> {
    let constant = Distribution::parse(&format!("{units:?}"))?;
    Ok(constant.as_constant().unwrap_or_default())
}

/// Lines `TIME NODE`, in any order.
fn list(text: &str, nodes: usize) -> Result<Vec<(u64, skeptron_core::NodeId)>> {
    let mut list = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let at = || format!("line {}", number + 1);
        let line = line.split('#').next().unwrap_or_default();
        match *line.split_whitespace().collect::<Vec<_>>() {
            [] => {}
            [time, node] => {
                let Ok(units) = time.parse() else { bail!("{}: `{time}` is no time", at()) };
                let (time, node) =
                    (ticks(units).with_context(at)?, names::node(node).with_context(at)?);
                ensure!(node.index() < nodes, "{}: there is no {node}, only {nodes} nodes", at());
                list.push((time, node));
            }
            _ => bail!("{}: a line is a time and a node, as in `2.5 P3`", at()),
        }
    }
    if list.is_empty() {
        bail!("it has no requests");
    }
    list.sort_by_key(|&(time, _)| time);
    Ok(list)
}

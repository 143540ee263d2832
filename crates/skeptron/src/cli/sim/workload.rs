//! Workloads as they are typed.

use anyhow::{Context as _, Result, bail};
use skeptron_sim::{Distribution, Workload};

use super::super::names;
use super::distribution;

pub(super) fn parse(text: &str, think: &str) -> Result<Workload> {
    const KINDS: [&str; 6] = ["closed", "sequential", "poisson", "bursts", "hot", "file"];
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    let think = distribution("--think", think)?;
    let numbers = |names: &str| numbers(text, rest, names);
    Ok(match kind {
        "closed" if rest.is_empty() => Workload::Closed { think },
        "sequential" if rest.is_empty() => Workload::Sequential { think },
        "poisson" => match numbers("RATE")?[..] {
            [rate] => Workload::Poisson { rate },
            _ => unreachable!("as many numbers as names"),
        },
        "bursts" => match numbers("SIZE,EVERY")?[..] {
            [size, every] => Workload::Bursts { size: size as usize, every: ticks(every)? },
            _ => unreachable!("as many numbers as names"),
        },
        "hot" => match numbers("HOW-MANY,SHARE,RATE")?[..] {
            [hot, share, rate] => Workload::Hot { hot: hot as usize, share, rate },
            _ => unreachable!("as many numbers as names"),
        },
        "file" => Workload::List(read(rest).with_context(|| format!("--workload {text}"))?),
        _ => bail!(
            "`{text}` is no workload; there are closed, sequential, poisson:RATE, bursts:SIZE,EVERY, \
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
        bail!("`{text}`: it takes {}", names.join(","));
    }
    let parse = |(value, name): (&&str, &&str)| match value.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => bail!("`{text}`: {name} is `{value}`, which is no number from 0 up"),
    };
    values.iter().zip(&names).map(parse).collect()
}

/// A time as typed, in ticks.
fn ticks(units: f64) -> Result<u64> {
    let constant = Distribution::parse(&units.to_string())?;
    Ok(constant.as_constant().unwrap_or_default())
}

/// Lines `TIME NODE`, in any order.
fn read(path: &str) -> Result<Vec<(u64, skeptron_core::NodeId)>> {
    let text = std::fs::read_to_string(path)?;
    let mut list = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let at = || format!("line {}", number + 1);
        let line = line.split('#').next().unwrap_or_default();
        match *line.split_whitespace().collect::<Vec<_>>() {
            [] => {}
            [time, node] => {
                let time: f64 =
                    time.parse().with_context(|| format!("{}: `{time}` is no time", at()))?;
                list.push((ticks(time).with_context(at)?, names::node(node).with_context(at)?));
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

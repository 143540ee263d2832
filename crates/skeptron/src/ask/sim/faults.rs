//! Faults as they are typed.

use anyhow::{Context as _, Result, bail};
use skeptron_core::NodeId;
use skeptron_sim::{Cut, Fault, Faults, PlannedFault, RandomFault};

use super::super::{Files, names};
use super::SimOptions;

pub(super) fn parse(args: &SimOptions) -> Result<Faults> {
    let mut faults = Faults { loss: args.loss, duplicate: args.duplicate, ..Faults::default() };
    for text in &args.crash {
        let context = || format!("--crash {text}");
        if let Some(random) = random(text).with_context(context)? {
            faults.crashes = Some(random);
            continue;
        }
        let (node, from, until) = node_and_times(text).with_context(context)?;
        faults.planned.push(PlannedFault { from, until, fault: Fault::Crash(node) });
    }
    for text in &args.pause {
        let context = || format!("--pause {text}");
        if let Some(random) = random(text).with_context(context)? {
            faults.pauses = Some(lasting(random).with_context(context)?);
            continue;
        }
        let (node, from, until) = node_and_times(text).with_context(context)?;
        if until.is_none() {
            bail!("--pause {text}: a pause ends; write NODE@FROM..TO");
        }
        faults.planned.push(PlannedFault { from, until, fault: Fault::Pause(node) });
    }
    for text in &args.partition {
        let context = || format!("--partition {text}");
        if let Some(random) = random(text).with_context(context)? {
            faults.partitions = Some(lasting(random).with_context(context)?);
            continue;
        }
        let (cut, from, until) = cut(text).with_context(context)?;
        faults.planned.push(PlannedFault { from, until, fault: Fault::Cut(cut) });
    }
    Ok(faults)
}

/// `random:RATE[,LENGTH]`.
fn random(text: &str) -> Result<Option<RandomFault>> {
    let Some(rest) = text.strip_prefix("random:") else { return Ok(None) };
    let number = |text: &str| match text.trim().parse::<f64>() {
        Ok(number) => Ok(number),
        Err(_) => bail!("`{text}` is no number"),
    };
    let (rate, lasting) = match rest.split_once(',') {
        Some((rate, lasting)) => (rate, Some(number(lasting)?)),
        None => (rest, None),
    };
    Ok(Some(RandomFault { rate: number(rate)?, lasting }))
}

fn lasting(random: RandomFault) -> Result<RandomFault> {
    if random.lasting.is_none() {
        bail!("it must end; write random:RATE,LENGTH");
    }
    Ok(random)
}

/// `NODE@TIME` or `NODE@FROM..TO`.
fn node_and_times(text: &str) -> Result<(NodeId, u64, Option<u64>)> {
    let Some((node, when)) = text.split_once('@') else {
        bail!("it needs a time; write NODE@TIME")
    };
    let (from, to) = times(when)?;
    Ok((names::node(node)?, from, to))
}

/// `A|B@FROM..TO` or `A>B@FROM..TO`.
fn cut(text: &str) -> Result<(Cut, u64, Option<u64>)> {
    let Some((sides, when)) = text.split_once('@') else {
        bail!("it needs a time; write 1,2|3@FROM..TO")
    };
    let (from, to) = times(when)?;
    let Some((a, b)) = sides.split_once(['|', '>']) else {
        bail!("it needs two sides; write 1,2|3@FROM..TO or 1,2>3@FROM..TO");
    };
    let (left, right) = (names::nodes(a)?, names::nodes(b)?);
    if let Some(node) = left.iter().find(|node| right.contains(node)) {
        bail!("{node} is on both sides");
    }
    // As lists until the scenario has checked them: a huge id would make a huge set.
    if let Some(node) = left.iter().chain(&right).find(|node| node.index() > 10_000_000) {
        bail!("there is no {node}");
    }
    let cut = Cut {
        from: left.into_iter().collect(),
        to: right.into_iter().collect(),
        both_ways: sides.contains('|'),
    };
    Ok((cut, from, to))
}

fn times(text: &str) -> Result<(u64, Option<u64>)> {
    let time = |text: &str| -> Result<u64> {
        match Files::None.distribution(text).ok().and_then(|constant| constant.as_constant()) {
            Some(ticks) => Ok(ticks),
            None => bail!("`{text}` is no time"),
        }
    };
    match text.split_once("..") {
        None => Ok((time(text)?, None)),
        Some((from, "")) => Ok((time(from)?, None)),
        Some((from, to)) => {
            let (from, to) = (time(from)?, time(to)?);
            if from >= to {
                bail!("it ends before it begins");
            }
            Ok((from, Some(to)))
        }
    }
}

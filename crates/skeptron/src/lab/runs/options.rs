//! The options of `skeptron sim`, as the page gives them: they mean what they mean there.

use anyhow::{Result, bail, ensure};

use skeptron_sim::trace::Header;

use super::super::{LIMITS, files};
use crate::cli::check::CheckArgs;
use crate::cli::quorum::source::Source;
use crate::cli::sim::{ChannelOrder, QueueChoice, SimArgs};
use crate::cli::system::SystemArgs;
use crate::lab::wire::SimOptions;

/// The same as the command line would have them.
///
/// # Errors
/// If an option would read a file, or asks for more than the lab allows.
pub(super) fn args(options: SimOptions) -> Result<SimArgs> {
    let system = SystemArgs {
        nodes: options.nodes,
        coordinator: options.coordinator,
        quorum: options.quorum,
        structure: options.structure,
        tree: options.tree,
        arbitration: options.arbitration,
        ring: options.ring,
        graph: options.graph,
        clocks: options.clocks,
        unsafe_structure: false,
    };
    files::refuse_in_system(&system)?;
    for (option, text) in [
        ("workload", &options.workload),
        ("think", &options.think),
        ("section", &options.section),
        ("latency", &options.latency),
    ] {
        files::refuse(option, text.as_deref())?;
    }
    refuse_large(&system)?;
    Ok(SimArgs {
        algorithm: Some(options.algorithm),
        system,
        requesters: options.requesters,
        workload: options.workload,
        think: options.think,
        section: options.section,
        entries: options.entries,
        warmup: None,
        kinds: Default::default(),
        initiators: options.initiators,
        detector: options.detector,
        bound: options.bound,
        until: options.until,
        latency: options.latency.unwrap_or_else(|| "1".into()),
        order: order(options.order.as_deref())?,
        loss: options.loss.unwrap_or_default(),
        duplicate: options.duplicate.unwrap_or_default(),
        crash: options.crash.unwrap_or_default(),
        pause: options.pause.unwrap_or_default(),
        partition: options.partition.unwrap_or_default(),
        seed: options.seed.unwrap_or(1),
        seeds: None,
        worst_of: None,
        worst_by: None,
        trace: Vec::new(),
        picture: Default::default(),
        clocks: Default::default(),
        timeline: false,
        replay: None,
        queue: QueueChoice::Wheel,
        json: false,
    })
}

/// What the command line calls these options.
pub(super) fn told(args: SimArgs) -> SimOptions {
    let list = |texts: Vec<String>| Some(texts).filter(|texts| !texts.is_empty());
    let rate = |rate: f64| Some(rate).filter(|&rate| rate != 0.0);
    SimOptions {
        requesters: args.requesters,
        workload: args.workload,
        think: args.think,
        section: args.section,
        entries: args.entries,
        latency: Some(args.latency),
        loss: rate(args.loss),
        duplicate: rate(args.duplicate),
        crash: list(args.crash),
        pause: list(args.pause),
        partition: list(args.partition),
        seed: Some(args.seed),
        initiators: args.initiators,
        detector: args.detector,
        bound: args.bound,
        until: args.until,
        ..of_system(args.algorithm.unwrap_or_default(), args.system, args.order)
    }
}

fn of_system(algorithm: String, system: SystemArgs, order: ChannelOrder) -> SimOptions {
    let order = match order {
        ChannelOrder::Fifo => "fifo",
        ChannelOrder::Any => "any",
    };
    SimOptions {
        algorithm,
        nodes: system.nodes,
        coordinator: system.coordinator,
        quorum: system.quorum,
        structure: system.structure,
        tree: system.tree,
        arbitration: system.arbitration,
        ring: system.ring,
        graph: system.graph,
        clocks: system.clocks,
        order: Some(order.into()),
        ..SimOptions::default()
    }
}

/// The options of `sim` by which a run was recorded, if a command of `sim` recorded it.
pub(super) fn of_sim(header: &Header) -> Option<SimOptions> {
    let words = header.command.as_deref()?.strip_prefix("skeptron sim ")?;
    let args = SimArgs::parse(words).ok()?;
    // What these do the page cannot show.
    let plain = args.kinds == Default::default() && args.warmup.is_none();
    plain.then(|| told(args))
}

/// What is known of the system of a recorded run.
pub(super) fn of_recorded(header: &Header) -> SimOptions {
    let words = header.command.as_deref().and_then(|text| text.strip_prefix("skeptron check "));
    let checked = words.and_then(|words| CheckArgs::parse(words).ok());
    let known = match checked {
        Some(CheckArgs { algorithm: Some(algorithm), system, order, .. }) => {
            of_system(algorithm, system, order)
        }
        _ => of_sim(header).map_or_else(SimOptions::default, |sim| SimOptions {
            workload: None,
            section: None,
            latency: None,
            ..sim
        }),
    };
    SimOptions {
        algorithm: header.algorithm.clone(),
        nodes: Some(header.setup.nodes()),
        order: Some(header.order.to_string()),
        ..known
    }
}

fn order(text: Option<&str>) -> Result<ChannelOrder> {
    match text {
        None | Some("fifo") => Ok(ChannelOrder::Fifo),
        Some("any") => Ok(ChannelOrder::Any),
        Some(other) => bail!("there is no order `{other}` of channels; there are fifo and any"),
    }
}

/// Before anything of that size is built.
fn refuse_large(system: &SystemArgs) -> Result<()> {
    let of_quorums = match &system.quorum {
        Some(name) => Source::parse(name)?.nodes()?,
        None => None,
    };
    for nodes in [system.nodes, of_quorums].into_iter().flatten() {
        refuse_crowd(nodes)?;
    }
    Ok(())
}

/// Refuses more nodes than a page can show.
pub(super) fn refuse_crowd(nodes: usize) -> Result<()> {
    let most = LIMITS.nodes;
    ensure!(
        nodes <= most,
        "{nodes} nodes are too many for the lab, which shows at most {most}; the command line takes more"
    );
    Ok(())
}

//! Which runs the lab shows, and by which options a recorded one was made.

use anyhow::{Result, ensure};
use skeptron_core::catalogue::Order;
use skeptron_sim::trace::Header;

use super::super::LIMITS;
use crate::ask::kinds::KindsArgs;
use crate::ask::sim::ChannelOrder;
use crate::ask::{CheckRequest, Files, Request as _, SimOptions, SystemArgs};

/// Refuses what the lab cannot show.
///
/// # Errors
/// If the options exclude each other, or ask for more than the lab allows.
pub(super) fn allowed(options: SimOptions) -> Result<SimOptions> {
    let options = options.validated()?;
    ensure!(
        options.kinds == KindsArgs::default(),
        "the lab does not show modes; run it in a terminal: {}",
        options.command()
    );
    // Before anything of that size is built.
    let of_layout = options.system.nodes_of_layout(Files::None)?;
    for nodes in [options.system.nodes, of_layout].into_iter().flatten() {
        refuse_crowd(nodes)?;
    }
    Ok(options)
}

/// The options of `sim` by which a run was recorded, if a command of `sim` recorded it.
pub(super) fn of_sim(header: &Header) -> Option<SimOptions> {
    let words = header.command.as_deref()?.strip_prefix("skeptron sim ")?;
    let options = SimOptions::parse(words).ok()?;
    // What these do the page cannot show.
    (options.kinds == KindsArgs::default() && options.warmup.is_none()).then_some(options)
}

/// What is known of the system of a recorded run.
pub(super) fn of_recorded(header: &Header) -> SimOptions {
    let words = header.command.as_deref().and_then(|text| text.strip_prefix("skeptron check "));
    let known = match words.and_then(|words| CheckRequest::parse(words).ok()) {
        Some(CheckRequest { system, .. }) => system,
        None => of_sim(header).unwrap_or_default().system,
    };
    SimOptions {
        algorithm: Some(header.algorithm.clone()),
        system: SystemArgs { nodes: Some(header.setup.nodes()), ..known },
        order: match header.order {
            Order::Fifo => ChannelOrder::Fifo,
            Order::Any => ChannelOrder::Any,
        },
        ..SimOptions::default()
    }
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

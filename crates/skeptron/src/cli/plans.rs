//! Which algorithm guards which lock, as users say it.

use anyhow::{Context as _, Result, bail};
use skeptron_net::{Plan, Plans};

use super::names;
use crate::ask::{Files, SystemArgs};

/// The algorithm of that name, and on how many nodes the options lay it out. Without an option about
/// its layout the plan is not bound to that number.
pub(crate) fn plan(
    algorithm: &str,
    system: &SystemArgs,
    default_nodes: usize,
) -> Result<(Plan, usize)> {
    let info = names::mutex(algorithm)?;
    let setup = system.setup(info, default_nodes, Files::Disk)?;
    let nodes = setup.nodes();
    let plan =
        if system.has_layout() { Plan::laid_out(info, setup)? } else { Plan::named(info.name)? };
    Ok((plan, nodes))
}

/// Adds a plan in its usual layout for each `PREFIX=ALGORITHM`.
pub(crate) fn with_prefixes(mut plans: Plans, prefixes: &[String], nodes: usize) -> Result<Plans> {
    for text in prefixes {
        let Some((prefix, algorithm)) = text.rsplit_once('=') else {
            bail!("`{text}` is no prefix with its algorithm; write it as in orders/=raymond")
        };
        let usual = SystemArgs { nodes: Some(nodes), ..SystemArgs::default() };
        let (plan, _) =
            plan(algorithm, &usual, nodes).with_context(|| format!("prefix `{prefix}`"))?;
        plans = plans.with_prefix(prefix, plan);
    }
    Ok(plans)
}

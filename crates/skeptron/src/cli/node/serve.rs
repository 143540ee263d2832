//! A node from its start to its end.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use axum::Router;
use nix::sys::signal::Signal;
use serde::Serialize;
use skeptron_net::api::{Api, ApiConfig, Listeners};
use skeptron_net::{Config, MemberId, Membership, Node, Security, VoterConfig};

use super::super::Verdict;
use super::super::failure::Failure;
use super::super::logs;
use super::super::runtime::{self, Signals};
use super::configure::Configured;
use super::{mistakes, systemd};
use crate::lab::{self, Gallery, Lab, Live};

/// What `--json` says when the node is ready.
#[derive(Serialize)]
struct Ready<'a> {
    ready: bool,
    cluster: &'a str,
    node: MemberId,
    listen: &'a str,
    api: Vec<String>,
    /// Where clients of etcd are answered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    etcd: Vec<String>,
}

/// After so long a node that has not entered says what it waits for.
const SILENT_FOR: Duration = Duration::from_secs(2);

/// Reads the settings again.
pub(super) type Again<'a> = dyn Fn() -> Result<Configured> + 'a;

/// Why a node ends.
enum End {
    Signal(Signal),
    Asked,
    Disk(String),
    Panicked(String),
}

/// Runs the node; `again` reads its settings anew.
pub(super) async fn serve(
    configured: Configured,
    joins: bool,
    again: &Again<'_>,
    json: bool,
    out: &mut impl Write,
) -> Result<Verdict> {
    let Configured { node: mut config, api, etcd, lab, grace, filter, format, audit } = configured;
    logs::start_with_audit(filter, format, audit.as_deref())?;
    warn_of_expiry(&config);
    if let Some(warning) = even_voters(&config) {
        tracing::warn!("{warning}");
    }
    let named = config.clone();
    let variables = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    mistakes::misspelt(variables).iter().for_each(|what| tracing::warn!("{what}"));
    let mut signals = Signals::listen(&Signals::ENDING)?;
    let mut hangups = Signals::listen(&[Signal::SIGHUP])?;
    let (cluster, listen) = (config.cluster.clone(), config.listen_address().to_string());
    let scheme = if api.identity.is_some() { "https" } else { "http" };
    let unix = api.unix.clone();
    let membership = config.membership.clone();
    let listeners = Listeners::bind(&api).await?;
    config.api = listeners.advertised(&api, config.address())?;
    let etcd = match etcd.is_empty() {
        true => None,
        false => Some(Listeners::bind_at(&etcd).await?),
    };
    let usual = ApiConfig { advertise: None, ..api.clone() };
    let url = |address| format!("{scheme}://{address}");
    let etcd_urls: Vec<String> = etcd.iter().flat_map(Listeners::addresses).map(url).collect();
    let etcd = etcd.map(|listeners| {
        let told = listeners.advertised(&usual, config.address())?;
        anyhow::Ok(skeptron_etcd_api::front(&cluster, listeners, told))
    });
    let etcd = etcd.transpose()?;
    let node = Node::start(config).await?;
    let live = Live::alone(node.clone());
    let page = match lab {
        // Those who wait for locks need the machine more than simulations do.
        true => lab::router(Lab {
            gallery: Gallery::default(),
            runs: false,
            cluster: Some(Arc::clone(&live)),
        }),
        false => Router::new(),
    };
    let api = Api::start_fronted(node.clone(), api, listeners, page, etcd).await?;
    let urls = api.addresses().iter().map(|address| format!("{scheme}://{address}"));
    let sockets = unix.iter().map(|path| format!("unix:{}", path.display()));
    let urls: Vec<String> = urls.chain(sockets).collect();
    live.answers_at(vec![urls.clone()]);
    let end = tokio::select! {
        biased;
        end = end((&mut signals, &mut hangups), &api, &node, again) => end,
        entered = until_entered(&node, &membership, joins) => {
            entered?;
            let said = if json {
                let node = node.id();
                let (cluster, listen) = (&cluster, &listen);
                let ready =
                    Ready { ready: true, cluster, node, listen, api: urls, etcd: etcd_urls };
                serde_json::to_string(&ready)?
            } else {
                let clients = if urls.is_empty() { "nobody".into() } else { urls.join(", ") };
                let what = described(&named, &part(&node));
                let etcd = match etcd_urls.is_empty() {
                    true => String::new(),
                    false => format!(", of etcd at {}", etcd_urls.join(", ")),
                };
                format!("Ready: {what}; nodes at {listen}, clients at {clients}{etcd}.")
            };
            // Locks do not depend on who reads this.
            if let Err(error) = writeln!(out, "{said}").and_then(|()| out.flush()) {
                tracing::warn!(%error, "cannot say on standard output that the node is ready");
            }
            systemd::notify("READY=1");
            end((&mut signals, &mut hangups), &api, &node, again).await
        }
    };
    match end {
        End::Signal(signal) => {
            tracing::info!(%signal, grace_ms = grace.as_millis() as u64, "leaving")
        }
        End::Asked => tracing::info!(grace_ms = grace.as_millis() as u64, "asked to leave"),
        End::Disk(why) => return Err(Failure::Disk(why).into()),
        End::Panicked(why) => return Err(Failure::Panicked(why).into()),
    }
    systemd::notify("STOPPING=1");
    let leaving = async {
        node.leave();
        node.idle_within(grace).await;
        // Nobody gets a lock whose holder may still believe that it has it.
        api.drain().await;
        node.shutdown(Duration::ZERO).await;
        api.shutdown().await;
    };
    Ok(match signals.unless(leaving).await {
        Ok(()) => Verdict::Fine,
        Err(signal) => Verdict::Exited(runtime::exit_code(signal)),
    })
}

/// Waits until there is a reason to end.
async fn end(
    (signals, hangups): (&mut Signals, &mut Signals),
    api: &Api,
    node: &Node,
    again: &Again<'_>,
) -> End {
    let disk_failed = async {
        match node.voters() {
            Some(voters) => voters.disk_failed().await,
            None => std::future::pending().await,
        }
    };
    let reloading = async {
        loop {
            hangups.next().await;
            match again().and_then(|configured| renew(configured, api, node)) {
                Ok(()) => {
                    tracing::info!("certificates, tokens, roles and log level were read again")
                }
                Err(error) => {
                    tracing::error!("the new settings are refused, the former stay: {error:#}")
                }
            }
        }
    };
    tokio::select! {
        biased;
        signal = signals.next() => End::Signal(signal),
        () = reloading => unreachable!("it goes on for ever"),
        why = disk_failed => End::Disk(why),
        why = node.observer().failed() => End::Panicked(why),
        () = api.asked_to_leave() => End::Asked,
    }
}

/// Lets those of the settings count that can change while the node runs. A mistake in one of them
/// changes nothing.
fn renew(configured: Configured, api: &Api, node: &Node) -> Result<()> {
    let Configured { node: config, api: clients, filter, audit, .. } = configured;
    if let Security::Tls(identity) = &config.security {
        identity.check()?;
    }
    // This one fails only as a whole, too; the node's own can fail no more.
    api.renew(&clients)?;
    if let Security::Tls(identity) = &config.security {
        node.renew(identity)?;
    }
    logs::set_filter(filter)?;
    logs::reopen_audit(audit.as_deref())?;
    warn_of_expiry(&config);
    Ok(())
}

/// A certificate that expires in so many days should have been renewed.
const SOON_DAYS: u64 = 30;

fn warn_of_expiry(config: &Config) {
    let Security::Tls(identity) = &config.security else { return };
    match identity.days_left() {
        None => {
            tracing::error!("this node's certificate is not valid any more; `skeptron tls renew`")
        }
        Some(days) if days < SOON_DAYS => {
            tracing::warn!(days, "this node's certificate expires soon; `skeptron tls renew`");
        }
        Some(_) => {}
    }
}

/// Waits until the node is a member; if that takes long, says what it waits for.
async fn until_entered(node: &Node, membership: &Membership, joins: bool) -> Result<()> {
    let mut entering = std::pin::pin!(node.entered());
    let mut said = String::new();
    loop {
        tokio::select! {
            entered = &mut entering => {
                return entered.map_err(|why| anyhow!("the cluster does not let {} in: {why}", node.id()));
            }
            () = tokio::time::sleep(SILENT_FOR) => {}
        }
        let waits = match membership {
            Membership::Voters(config) => awaited(node, config, joins),
            _ => node.status().views.trouble.unwrap_or_default(),
        };
        if !waits.is_empty() && waits != said {
            tracing::warn!("{} waits to enter the cluster: {waits}", node.id());
            said = waits;
        }
    }
}

/// What a node waits for that has not entered.
fn awaited(node: &Node, config: &VoterConfig, joins: bool) -> String {
    let me = node.id();
    let Some(voters) = node.voters() else { return String::new() };
    let report = voters.reports().borrow().clone();
    let others = config.voters.keys().filter(|id| **id != me);
    let troubles = others.filter_map(|&id| Some(format!("{id}: {}", voters.trouble(id)?)));
    let mut parts: Vec<String> = troubles.chain(report.voter_halted.clone()).collect();
    match report.leader {
        Some(leader) => parts.push(format!(
            "{leader} leads, and lets it in when every lease of before has ended; if it never does, another \
             process runs as {me}"
        )),
        // Whoever answers belongs to a cluster that exists, or is none of its nodes.
        None if report.voters.is_empty()
            && (joins || config.voters.keys().any(|&id| id != me && voters.answered(id))) =>
        {
            parts.push("no voter has let it in yet".to_string());
        }
        None if report.voters.is_empty() => {
            let first = config.voters.keys().next().copied().unwrap_or(me);
            parts.push(format!(
                "no voter has let it in yet; if this cluster has never run before, start {first} once with \
                 --init, and never again"
            ));
        }
        None => parts.push("a majority of the voters must be up and connected".to_string()),
    }
    parts.join("; ")
}

/// What the node is to the voters right now.
fn part(node: &Node) -> String {
    let views = node.status().views;
    let seat = views.voters.iter().rfind(|voter| voter.node == node.id());
    match (seat, &views.voter_halted) {
        (_, Some(why)) => format!("member that DOES NOT VOTE ({why})"),
        (Some(seat), None) if seat.votes => "voter".to_string(),
        (Some(_), None) => "member that votes once it has the log".to_string(),
        (None, None) => "member".to_string(),
    }
}

/// An even number of voters bears no more than the odd one below.
pub(super) fn even_voters(config: &Config) -> Option<String> {
    let Membership::Voters(config) = &config.membership else { return None };
    let voters = config.voters.len();
    (voters % 2 == 0).then(|| {
        let may_fail = match (voters - 1) / 2 {
            0 => "neither of them may fail, so".to_string(),
            some => format!("{some} of them may fail, as of {}, so", voters - 1),
        };
        format!("{voters} voters: {may_fail} name one more or one fewer under `voters`; 1, 3 or 5 are sensible")
    })
}

/// The node in a few words, as it is configured.
pub(super) fn summary(config: &Config) -> String {
    let part = match &config.membership {
        Membership::Voters(voters) if voters.voters.contains_key(&config.node) => "voter",
        _ => "member",
    };
    described(config, part)
}

fn described(config: &Config, part: &str) -> String {
    let (node, cluster) = (config.node, &config.cluster);
    let algorithms: Vec<&str> = config.plans.all().map(|plan| plan.info().name).collect();
    let links = match config.security {
        Security::Tls(_) => "TLS",
        Security::Insecure => "plain TCP",
    };
    format!("{node} of `{cluster}`, {part}, {}, {links}", algorithms.join(" and "))
}

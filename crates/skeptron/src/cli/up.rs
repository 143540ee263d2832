//! `skeptron up`.

mod chaos;
mod judge;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, ensure};
use clap::Args;
use serde::Serialize;
use skeptron_net::api::{ApiConfig, ApiError, HttpServer, Listeners, unguessable};
use skeptron_net::{Cluster, Config, LeaseSettings, MemberId, Plan, Plans};

use super::Verdict;
use super::duration;
use super::logs;
use super::plans;
use super::runtime::{self, Signals};
use crate::ask::SystemArgs;
use crate::lab::{self, Answering, Gallery, Lab, Live};
use chaos::Chaos;

#[derive(Debug, Args)]
#[command(mut_arg("nodes", |nodes| nodes.help("How many nodes [default: 3, or as many as the layout has]")))]
#[command(mut_arg("coordinator", |coordinator| coordinator.hide(true)))]
#[command(mut_arg("ring", |ring| ring.hide(true)))]
#[command(mut_arg("capacity", |capacity| capacity.hide(true)))]
#[command(mut_arg("readers", |readers| readers.hide(true)))]
#[command(mut_arg("read_quorums", |quorums| quorums.hide(true)))]
#[command(mut_arg("begin", |begin| begin.hide(true)))]
#[command(mut_arg("clocks", |clocks| clocks.hide(true)))]
#[command(after_help = "Examples:
  skeptron up                                     three nodes on this machine, to try things out
  skeptron up --nodes 7 --algorithm raymond --tree star
  skeptron up --prefix orders/=maekawa --prefix jobs/=suzuki-kasami
  skeptron up --port 0 --json                     for scripts: any free ports, one line when ready
  skeptron up --nodes 5 --chaos --for 1m --seed 7 kill and cut off members, and see what holds

Everything is in one process and ends with it; its folder is temporary. In the lab members are
killed, restarted and cut off, and the others go on without them. For nodes on several machines
see `skeptron node`.")]
pub(crate) struct UpArgs {
    /// The algorithm that guards the locks
    #[arg(short, long, value_name = "NAME", default_value = Plan::DEFAULT)]
    algorithm: String,
    /// Another algorithm for locks whose names begin like that, as in orders/=raymond; may be given
    /// several times
    #[arg(long, value_name = "PREFIX=NAME")]
    prefix: Vec<String>,
    /// The port at which P1 answers clients; P2 has the next one, and so on, and the lab the one after the
    /// last; 0 lets the system choose
    #[arg(long, value_name = "PORT", default_value_t = 7470)]
    #[arg(value_parser = port)]
    port: u16,
    /// The port at which P1 answers clients of etcd; P2 has the next one, and so on; 0 lets the system
    /// choose [default: 2379, or 0 with --port 0]
    #[arg(long, value_name = "PORT", value_parser = port)]
    etcd_port: Option<u16>,
    /// Which logs to write: error, warn, info, debug, trace, or by module as in
    /// info,skeptron_net::link=debug [default: error, or off with --chaos]
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
    /// When ready, write one line of JSON instead of what to try
    #[arg(long)]
    json: bool,
    /// Kill, restart and cut off random members every few seconds while clients take locks, and watch
    /// that never two are inside and every fence is higher
    #[arg(long)]
    chaos: bool,
    /// What chaos draws from, to have the same again
    #[arg(long, value_name = "NUMBER", requires = "chaos")]
    seed: Option<u64>,
    /// How long chaos lasts [default: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", requires = "chaos", value_parser = duration::some)]
    lasts: Option<Duration>,
    #[command(flatten)]
    system: SystemArgs,
}

/// What `--json` says when all is ready.
#[derive(Serialize)]
struct Ready<'a> {
    ready: bool,
    algorithm: &'a str,
    nodes: Vec<Endpoint>,
    /// Who decides who belongs to the cluster; nobody if that never changes.
    voters: Vec<MemberId>,
    lab: &'a str,
}

#[derive(Serialize)]
struct Endpoint {
    node: MemberId,
    api: String,
    /// Where clients of etcd are answered; nowhere if the port was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    etcd: Option<String>,
}

/// Where etcd answers clients.
const ETCD_PORT: u16 = 2379;

/// Every two nodes have a connection, both ends of which are in this process.
const MOST_NODES: usize = 64;

/// So many members vote, if there are so many; otherwise one does.
const VOTERS: usize = 3;

/// A port, for clap.
pub(crate) fn port(text: &str) -> Result<u16, &'static str> {
    text.parse().map_err(|_| "a port is a whole number from 0 to 65535")
}

/// How many of these members vote: an even number tolerates no more than the odd one below it.
fn voters(nodes: usize) -> usize {
    if nodes < VOTERS { 1 } else { VOTERS }
}

impl UpArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let (plan, nodes) = plans::plan(&self.algorithm, &self.system, 3)?;
        ensure!(
            nodes <= MOST_NODES,
            "{nodes} nodes are too many for one process; at most {MOST_NODES} are possible"
        );
        let last = usize::from(self.port) + nodes;
        ensure!(
            self.port == 0 || last <= usize::from(u16::MAX),
            "--port {}: there are not enough ports from there on for {nodes} nodes and the lab",
            self.port
        );
        let last = self.etcd_port.map_or(0, usize::from) + nodes - 1;
        ensure!(
            last <= usize::from(u16::MAX),
            "--etcd-port: there are not enough ports from there on for {nodes} nodes"
        );
        let plans = plans::with_prefixes(Plans::new(plan), &self.prefix, nodes)?;
        let log = self.log.as_deref().unwrap_or(if self.chaos { "off" } else { "error" });
        logs::start(logs::filter(log)?, logs::Format::Text)?;
        runtime::on_all_cores(self.serve(plans, nodes, out))
    }

    async fn serve(self, plans: Plans, nodes: usize, out: &mut impl Write) -> Result<Verdict> {
        let mut signals = Signals::listen(&Signals::ENDING)?;
        let folder = tempfile::Builder::new().prefix("skeptron-up-").tempdir();
        let folder =
            folder.context("cannot make a temporary folder; set TMPDIR to one that exists")?;
        // A layout that was given fits this number of members only.
        let is_voting = plans.all().all(|plan| plan.given().is_none());
        ensure!(
            !self.chaos || is_voting,
            "--chaos kills members, but a layout was given that fits all of them only"
        );
        ensure!(!self.chaos || nodes > 1, "--chaos needs 2 nodes, so that one may be killed");
        let apis = self.listen(nodes).await?;
        let url = |listeners: &Listeners| Some(format!("http://{}", listeners.addresses().next()?));
        let etcd: Vec<_> = apis.iter().map(|api| api.etcd.as_ref().and_then(url)).collect();
        let lease = is_voting.then(|| self.lease());
        let starting = start(plans, lease, folder.path(), &apis);
        let cluster = match signals.unless(starting).await {
            Ok(cluster) => cluster?,
            Err(signal) => return Ok(Verdict::Exited(runtime::exit_code(signal))),
        };
        let live = Live::whole(cluster.nodes.clone());
        let lab = Lab { gallery: Gallery::default(), runs: true, cluster: Some(Arc::clone(&live)) };
        let site = self.site(lab.clone(), nodes).await?;
        let urls = live.serve(cluster, apis, lab::router(lab), is_voting).await;
        let urls = urls.map_err(not_served)?;
        self.announce((&urls, &etcd), &site, is_voting, out)?;
        let verdict = if self.chaos {
            let seed = self.seed.or_else(|| unguessable().map(|bits| bits as u64));
            let (seed, lasts, json) = (seed.unwrap_or_default(), self.lasts, self.json);
            let chaos = Chaos { seed, lasts, json, voters: voters(nodes) };
            chaos.run(&live, &mut signals, out).await?
        } else {
            signals.next().await;
            Verdict::Fine
        };
        let ending = async {
            live.end().await;
            site.close().await;
        };
        let ended = signals.unless(ending).await;
        folder.close().context("the temporary folder cannot be removed")?;
        Ok(match ended {
            Ok(()) => verdict,
            Err(signal) => Verdict::Exited(runtime::exit_code(signal)),
        })
    }

    /// Chaos is quicker where nobody waits long for who was killed.
    fn lease(&self) -> LeaseSettings {
        let usual = LeaseSettings::default();
        if self.chaos { LeaseSettings { lease: Duration::from_secs(1), ..usual } } else { usual }
    }

    /// The port of P1 and so on, and after the last one that of the lab.
    fn port_of(&self, place: usize) -> usize {
        if self.port == 0 { 0 } else { usize::from(self.port) + place }
    }

    /// Where each node answers clients: they tell each other when they enter.
    async fn listen(&self, nodes: usize) -> Result<Vec<Answering>> {
        let mut apis = Vec::new();
        for place in 0..nodes {
            let config = config(self.port_of(place));
            let listeners = Listeners::bind(&config).await;
            let listeners = listeners.map_err(|error| not_served((MemberId::at(place), error)))?;
            apis.push(Answering { config, listeners, etcd: None });
        }
        match (self.listen_for_etcd(nodes).await, self.etcd_port) {
            (Ok(etcd), _) => {
                for (api, listeners) in apis.iter_mut().zip(etcd) {
                    api.etcd = Some(listeners);
                }
            }
            (Err(error), Some(_)) => return Err(error).context("--etcd-port"),
            // Perhaps by etcd: nobody asked to take its place.
            (Err(_), None) => {}
        }
        Ok(apis)
    }

    /// The same for clients of etcd; all nodes or none.
    async fn listen_for_etcd(&self, nodes: usize) -> Result<Vec<Listeners>, ApiError> {
        let usual = if self.port == 0 { 0 } else { ETCD_PORT };
        let first = usize::from(self.etcd_port.unwrap_or(usual));
        let mut all = Vec::new();
        for place in 0..nodes {
            let port = if first == 0 { 0 } else { first + place };
            all.push(Listeners::bind_at(&[format!("127.0.0.1:{port}")]).await?);
        }
        Ok(all)
    }

    /// The lab at an address of its own, which answers whoever is killed.
    async fn site(&self, lab: Lab, nodes: usize) -> Result<HttpServer> {
        let wanted = config(self.port_of(nodes));
        match HttpServer::start(&wanted, lab::site(lab.clone())).await {
            Err(ApiError::Listen { .. }) => {
                Ok(HttpServer::start(&config(0), lab::site(lab)).await?)
            }
            site => Ok(site?),
        }
    }

    fn announce(
        &self,
        (urls, etcd): (&[String], &[Option<String>]),
        site: &HttpServer,
        is_voting: bool,
        out: &mut impl Write,
    ) -> Result<()> {
        let lab = site.addresses().first().map(|at| format!("http://{at}")).unwrap_or_default();
        let count = if is_voting { voters(urls.len()) } else { 0 };
        if self.json {
            let endpoint = |(place, api): (usize, &String)| Endpoint {
                node: MemberId::at(place),
                api: api.clone(),
                etcd: etcd[place].clone(),
            };
            let nodes = urls.iter().enumerate().map(endpoint).collect();
            let voters = (0..count).map(MemberId::at).collect();
            let algorithm = &self.algorithm;
            let ready = Ready { ready: true, algorithm, nodes, voters, lab: &lab };
            writeln!(out, "{}", serde_json::to_string(&ready)?)?;
        } else {
            self.print((urls, etcd), &lab, count, out)?;
        }
        out.flush()?;
        Ok(())
    }

    /// Commands that work as they stand, whatever the ports are.
    fn print(
        &self,
        (urls, etcd): (&[String], &[Option<String>]),
        lab: &str,
        voters: usize,
        out: &mut impl Write,
    ) -> Result<()> {
        let count = urls.len();
        let nodes = if count == 1 { "1 node is" } else { &format!("{count} nodes are") };
        writeln!(out, "{nodes} up, locks by {}. Clients are answered at", self.algorithm)?;
        for ((place, url), etcd) in urls.iter().enumerate().zip(etcd) {
            let etcd = etcd.as_ref().map(|etcd| format!(", of etcd at {etcd}")).unwrap_or_default();
            writeln!(out, "  {}  {url}{etcd}", MemberId::at(place))?;
        }
        if etcd.iter().any(Option::is_none) {
            writeln!(
                out,
                "  Clients of etcd are not answered: port {ETCD_PORT} or one of the next is taken. See --etcd-port."
            )?;
        }
        let at = |place: usize| match urls.get(place).or(urls.first()) {
            Some(url) if !url.ends_with(":7470") => format!(" --endpoint {url}"),
            _ => String::new(),
        };
        let (first, second) = (at(0), at(1));
        writeln!(out, "  The lab: {lab}/")?;
        if voters == 0 {
            let members = if count == 1 { "one member" } else { &format!("{count} members") };
            writeln!(
                out,
                "The layout fits {members} only, so the membership is fixed: a member that dies is waited for."
            )?;
        }
        writeln!(
            out,
            "\nTry, in other terminals:\n  \
             skeptron lock demo{first} -- sh -c 'echo fence $SKEPTRON_FENCE; sleep 20'\n  \
             skeptron lock demo{second} -- echo 'now it is my turn'\n  \
             skeptron locks{first}\n\
             The second waits for the first, at another node. Ctrl-C ends the cluster."
        )?;
        Ok(())
    }
}

async fn start(
    plans: Plans,
    voting: Option<LeaseSettings>,
    folder: &Path,
    apis: &[Answering],
) -> Result<Cluster> {
    let nodes = apis.len();
    let url = |at| format!("http://{at}");
    let tell = |config: &mut Config| {
        config.api = apis[config.node.place()].listeners.addresses().map(url).collect();
    };
    let storage = |lease| (folder, lease);
    Ok(match voting.map(storage) {
        Some(storage) => {
            Cluster::start_voting_with(nodes, voters(nodes), plans, storage, tell).await?
        }
        None => Cluster::start(nodes, plans).await?,
    })
}

fn config(port: usize) -> ApiConfig {
    ApiConfig { listen: vec![format!("127.0.0.1:{port}")], ..ApiConfig::default() }
}

fn not_served((id, error): (MemberId, ApiError)) -> anyhow::Error {
    match error {
        ApiError::Listen { address, source } => anyhow!(
            "{id} cannot answer at {address}: {source}; choose other ports with --port, or let the \
             system choose with --port 0"
        ),
        error => error.into(),
    }
}

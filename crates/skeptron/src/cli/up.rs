//! `skeptron up`.

use std::io::Write;
use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use axum::Router;
use clap::Args;
use serde::Serialize;
use skeptron_net::api::{Api, ApiConfig, ApiError};
use skeptron_net::{Cluster, MemberId, Node, Plan, Plans};

use super::Verdict;
use super::logs;
use super::plans;
use super::runtime::{self, Signals};
use super::system::SystemArgs;
use crate::lab::{self, Lab, Live, Page};

#[derive(Debug, Args)]
#[command(mut_arg("nodes", |nodes| nodes.help("How many nodes [default: 3, or as many as the layout has]")))]
#[command(mut_arg("coordinator", |coordinator| coordinator.hide(true)))]
#[command(mut_arg("ring", |ring| ring.hide(true)))]
#[command(mut_arg("clocks", |clocks| clocks.hide(true)))]
#[command(after_help = "Examples:
  skeptron up                                     three nodes on this machine, to try things out
  skeptron up --nodes 7 --algorithm raymond --tree star
  skeptron up --prefix orders/=maekawa --prefix jobs/=suzuki-kasami
  skeptron up --port 0 --json                     for scripts: any free ports, one line when ready

Everything is in one process and ends with it. For nodes on several machines see `skeptron node`.")]
pub(crate) struct UpArgs {
    /// The algorithm that guards the locks
    #[arg(short, long, value_name = "NAME", default_value = Plan::DEFAULT)]
    algorithm: String,
    /// Another algorithm for locks whose names begin like that, as in orders/=raymond; may be given
    /// several times
    #[arg(long, value_name = "PREFIX=NAME")]
    prefix: Vec<String>,
    /// The port at which P1 answers clients; P2 has the next one, and so on; 0 lets the system choose
    #[arg(long, value_name = "PORT", default_value_t = 7470)]
    #[arg(value_parser = port)]
    port: u16,
    /// Which logs to write: error, warn, info, debug, trace, or by module as in
    /// info,skeptron_net::link=debug
    #[arg(long, value_name = "FILTER", default_value = "error")]
    log: String,
    /// When ready, write one line of JSON instead of what to try
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    system: SystemArgs,
}

/// What `--json` says when all is ready.
#[derive(Serialize)]
struct Ready<'a> {
    ready: bool,
    algorithm: &'a str,
    nodes: Vec<Endpoint>,
}

#[derive(Serialize)]
struct Endpoint {
    node: MemberId,
    api: String,
}

/// Every two nodes have a connection, both ends of which are in this process.
const MOST_NODES: usize = 64;

/// A port, for clap.
pub(crate) fn port(text: &str) -> Result<u16, &'static str> {
    text.parse().map_err(|_| "a port is a whole number from 0 to 65535")
}

/// Where an API answers.
fn urls(api: &Api) -> Vec<String> {
    api.addresses().iter().map(|address| format!("http://{address}")).collect()
}

impl UpArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let (plan, nodes) = plans::plan(&self.algorithm, &self.system, 3)?;
        ensure!(
            nodes <= MOST_NODES,
            "{nodes} nodes are too many for one process; at most {MOST_NODES} are possible"
        );
        let last = usize::from(self.port) + nodes - 1;
        ensure!(
            self.port == 0 || last <= usize::from(u16::MAX),
            "--port {}: there are not enough ports from there on for {nodes} nodes",
            self.port
        );
        let plans = plans::with_prefixes(Plans::new(plan), &self.prefix, nodes)?;
        logs::start(logs::filter(&self.log)?, logs::Format::Text);
        runtime::on_all_cores(self.serve(plans, nodes, out))
    }

    async fn serve(self, plans: Plans, nodes: usize, out: &mut impl Write) -> Result<Verdict> {
        let mut signals = Signals::listen(&Signals::ENDING)?;
        let cluster = Cluster::start(nodes, plans).await?;
        let live = Live::whole(cluster.nodes.clone());
        let page =
            lab::router(Lab { page: Page::Embedded, runs: true, cluster: Some(Arc::clone(&live)) });
        let mut apis = Vec::new();
        for node in &cluster.nodes {
            apis.push(self.api(node, page.clone()).await?);
        }
        live.answers_at(apis.iter().map(urls).collect());
        self.announce(&apis, out)?;
        signals.next().await;
        let ending = async {
            // Nobody gets a lock on the way out, whose holder may still believe that it has it.
            cluster.nodes.iter().for_each(Node::leave);
            for api in apis {
                api.shutdown().await;
            }
            cluster.shutdown().await;
        };
        Ok(match signals.unless(ending).await {
            Ok(()) => Verdict::Fine,
            Err(signal) => Verdict::Exited(runtime::exit_code(signal)),
        })
    }

    async fn api(&self, node: &Node, page: Router) -> Result<Api> {
        let id = node.id();
        let own = usize::from(self.port) + id.place();
        let port = if self.port == 0 { 0 } else { own };
        let config =
            ApiConfig { listen: vec![format!("127.0.0.1:{port}")], ..ApiConfig::default() };
        match Api::start_with(node.clone(), config, page).await {
            Ok(api) => Ok(api),
            Err(ApiError::Listen { address, source }) => bail!(
                "{id} cannot answer at {address}: {source}; choose other ports with --port, or let \
                 the system choose with --port 0"
            ),
            Err(error) => Err(error.into()),
        }
    }

    fn announce(&self, apis: &[Api], out: &mut impl Write) -> Result<()> {
        let urls: Vec<String> = apis.iter().flat_map(urls).collect();
        if self.json {
            let endpoint = |(place, api): (usize, &String)| Endpoint {
                node: MemberId::at(place),
                api: api.clone(),
            };
            let nodes = urls.iter().enumerate().map(endpoint).collect();
            let ready = Ready { ready: true, algorithm: &self.algorithm, nodes };
            writeln!(out, "{}", serde_json::to_string(&ready)?)?;
        } else {
            self.print(&urls, out)?;
        }
        out.flush()?;
        Ok(())
    }

    /// Commands that work as they stand, whatever the ports are.
    fn print(&self, urls: &[String], out: &mut impl Write) -> Result<()> {
        let count = urls.len();
        let nodes = if count == 1 { "1 node is" } else { &format!("{count} nodes are") };
        writeln!(out, "{nodes} up, locks by {}. Clients are answered at", self.algorithm)?;
        for (place, url) in urls.iter().enumerate() {
            writeln!(out, "  {}  {url}", MemberId::at(place))?;
        }
        let at = |place: usize| match urls.get(place).or(urls.first()) {
            Some(url) if !url.ends_with(":7470") => format!(" --endpoint {url}"),
            _ => String::new(),
        };
        let (first, second) = (at(0), at(1));
        if let Some(url) = urls.first() {
            writeln!(out, "  The lab: {url}/")?;
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

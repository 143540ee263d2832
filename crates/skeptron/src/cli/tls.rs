//! `skeptron tls`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use clap::{Args, Subcommand};
use skeptron_net::MemberId;
use skeptron_net::tls::Authority;

use super::Verdict;
use super::names;

#[derive(Debug, Args)]
pub(crate) struct TlsArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Make an authority for a cluster, and certificates for its nodes and clients
    #[command(after_help = "Examples:
  skeptron tls init certs --nodes 2 --host 1=db1.example.org,10.0.0.1 --host 2=10.0.0.2
  skeptron tls init certs --cluster orders --nodes 3 --client deploy --client alice

Node K needs ca.pem, node-K.pem and node-K.key on its machine, a client ca.pem, client-NAME.pem and
client-NAME.key. ca.key makes further certificates: keep it in a safe place, not on the nodes.")]
    Init(InitArgs),
    /// Make certificates for further nodes and clients with an authority that exists
    #[command(after_help = "Examples:
  skeptron tls add certs --node 4 --host 4=10.0.0.4
  skeptron tls add certs --client bob")]
    Add(AddArgs),
}

#[derive(Debug, Args)]
struct InitArgs {
    /// Where to put them
    folder: PathBuf,
    /// The cluster's name, as in the nodes' configuration
    #[arg(long, value_name = "NAME", default_value = "skeptron")]
    cluster: String,
    /// How many nodes
    #[arg(short = 'n', long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = names::whole::<usize>)]
    nodes: usize,
    #[command(flatten)]
    more: CertificateArgs,
}

#[derive(Debug, Args)]
struct AddArgs {
    /// The folder with ca.pem and ca.key
    folder: PathBuf,
    /// A certificate for this node, as in 4 or P4; may be given several times
    #[arg(long, value_name = "NODE")]
    node: Vec<String>,
    #[command(flatten)]
    more: CertificateArgs,
}

#[derive(Debug, Args)]
struct CertificateArgs {
    /// By which names and addresses others reach node K, besides 127.0.0.1, ::1 and localhost
    #[arg(long, value_name = "K=NAME,IP…")]
    host: Vec<String>,
    /// A certificate for this client; may be given several times
    #[arg(long, value_name = "NAME")]
    client: Vec<String>,
    /// Overwrite what exists
    #[arg(long)]
    force: bool,
}

impl TlsArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let (folder, authority, nodes, more) = match self.what {
            What::Init(InitArgs { folder, cluster, nodes, more }) => {
                ensure!(nodes > 0, "--nodes is 0; at least one is needed");
                ensure!(
                    (1..=100).contains(&cluster.len()),
                    "--cluster: a cluster's name has 1 to 100 bytes; this one has {}",
                    cluster.len()
                );
                ensure!(nodes <= MOST_NODES, "{nodes} nodes are too many; at most {MOST_NODES}");
                let nodes: Vec<MemberId> = (0..nodes).map(MemberId::at).collect();
                more.hosts_of(&nodes)?;
                let authority = Authority::init(&folder, &cluster, more.force)?;
                (folder, authority, nodes, more)
            }
            What::Add(AddArgs { folder, node, more }) => {
                let nodes = node.iter().map(|text| names::member(text).context("--node"));
                let nodes: Vec<MemberId> = nodes.collect::<Result<_>>()?;
                ensure!(
                    !nodes.is_empty() || !more.client.is_empty(),
                    "for whom? name a --node or a --client"
                );
                more.hosts_of(&nodes)?;
                (folder.clone(), Authority::open(&folder)?, nodes, more)
            }
        };
        for (node, hosts) in more.hosts_of(&nodes)? {
            authority.issue_node(node, &hosts, more.force)?;
            writeln!(out, "{}", folder.join(format!("node-{}.pem", node.number())).display())?;
        }
        for client in &more.client {
            authority.issue_client(client, more.force)?;
            writeln!(out, "{}", folder.join(format!("client-{client}.pem")).display())?;
        }
        Ok(Verdict::Fine)
    }
}

/// Making more takes longer than anybody waits.
const MOST_NODES: usize = 1_000;

impl CertificateArgs {
    /// By what each of these nodes is reached.
    fn hosts_of(&self, nodes: &[MemberId]) -> Result<Vec<(MemberId, Vec<String>)>> {
        let mut all: Vec<(MemberId, Vec<String>)> =
            nodes.iter().map(|&node| (node, Vec::new())).collect();
        for text in &self.host {
            let Some((node, hosts)) = text.split_once('=') else {
                bail!("--host {text}: write the node and how it is reached, as in 2=10.0.0.2")
            };
            let node = names::member(node).with_context(|| format!("--host {text}"))?;
            let Some((_, known)) = all.iter_mut().find(|(other, _)| *other == node) else {
                bail!("--host {text}: no certificate is made for {node} now")
            };
            known.extend(hosts.split(',').map(|host| host.trim().to_string()));
        }
        Ok(all)
    }
}

//! `skeptron tls`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use clap::{Args, Subcommand};
use serde::Serialize;
use skeptron_net::MemberId;
use skeptron_net::tls::{Authority, Issued, VALID_DAYS};

use super::Verdict;
use super::names;
use super::table::table;

#[derive(Debug, Args)]
pub(crate) struct TlsArgs {
    #[command(subcommand)]
    what: What,
    /// As JSON
    #[arg(long, global = true)]
    json: bool,
}

/// What `tls list --json` says of a certificate.
#[derive(Serialize)]
struct Listed {
    name: String,
    days_left: u64,
    /// In seconds since 1970.
    not_after: u64,
    serial: String,
    /// Whether crl.pem in the folder has it.
    revoked: bool,
}

/// Files that were written: each told at once, or all as JSON at the end.
struct Written<'a, W> {
    out: &'a mut W,
    json: bool,
    files: Vec<String>,
}

impl<W: Write> Written<'_, W> {
    fn tell(&mut self, file: &Path) -> Result<()> {
        match self.json {
            true => self.files.push(file.display().to_string()),
            false => writeln!(self.out, "{}", file.display())?,
        }
        Ok(())
    }

    fn end(self) -> Result<Verdict> {
        if self.json {
            writeln!(self.out, "{}", serde_json::json!({ "written": self.files }))?;
        }
        Ok(Verdict::Fine)
    }
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
    /// Make certificates anew that expire soon: the same names and addresses, new keys
    #[command(after_help = "Examples:
  skeptron tls renew certs                        all certificates in the folder
  skeptron tls renew certs --node 2 --client bob  these

Copy them to where the old ones are, and send the node a HUP: it shows the new certificate from then
on. The old ones stay valid until they expire; `skeptron tls revoke` ends that.")]
    Renew(RenewArgs),
    /// Revoke certificates: nodes that have the new crl.pem refuse them
    #[command(after_help = "Examples:
  skeptron tls revoke certs --client bob          before its certificate is renewed
  skeptron tls revoke certs --serial 2f31…        one of which there is no file any more

Copy crl.pem to each node's tls.folder (or name it as tls.crl) and send the nodes a HUP.")]
    Revoke(RevokeArgs),
    /// List the certificates in a folder: whose, until when, number, whether revoked
    List(FolderArgs),
}

#[derive(Debug, Args)]
struct FolderArgs {
    /// The folder with ca.pem and certificates, as on a node; ca.key is not needed
    folder: PathBuf,
}

#[derive(Debug, Args)]
struct NamedArgs {
    /// The folder with ca.pem and ca.key
    folder: PathBuf,
    /// That of this node, as in 4 or P4; may be given several times
    #[arg(long, value_name = "NODE")]
    node: Vec<String>,
    /// That of this client; may be given several times
    #[arg(long, value_name = "NAME")]
    client: Vec<String>,
}

#[derive(Debug, Args)]
struct RenewArgs {
    #[command(flatten)]
    which: NamedArgs,
    /// For how many days they are valid
    #[arg(long, value_name = "N", default_value_t = VALID_DAYS, value_parser = days)]
    days: u32,
}

#[derive(Debug, Args)]
struct RevokeArgs {
    #[command(flatten)]
    which: NamedArgs,
    /// The one of this number, in hexadecimal digits; may be given several times
    #[arg(long, value_name = "HEX")]
    serial: Vec<String>,
}

impl NamedArgs {
    /// What they are called in the folder.
    fn names(&self) -> Result<Vec<String>> {
        let node =
            |text: &String| Ok(format!("node-{}", names::member(text).context("--node")?.number()));
        let nodes = self.node.iter().map(node);
        let clients = self.client.iter().map(|name| Ok(format!("client-{name}")));
        nodes.chain(clients).collect()
    }
}

impl RenewArgs {
    fn run(self, mut written: Written<'_, impl Write>) -> Result<Verdict> {
        let authority = Authority::open(&self.which.folder)?.valid_for(self.days);
        let mut names = self.which.names()?;
        if names.is_empty() {
            names = authority.issued().names()?;
        }
        ensure!(!names.is_empty(), "{} holds no certificates", self.which.folder.display());
        for name in names {
            authority.renew(&name)?;
            written.tell(&self.which.folder.join(format!("{name}.pem")))?;
        }
        written.end()
    }
}

impl RevokeArgs {
    fn run(self, mut written: Written<'_, impl Write>) -> Result<Verdict> {
        let authority = Authority::open(&self.which.folder)?;
        let mut serials = Vec::new();
        for name in self.which.names()? {
            serials.push(authority.issued().read(&name)?.serial);
        }
        for text in &self.serial {
            serials.push(bytes(text).with_context(|| format!("--serial {text}"))?);
        }
        ensure!(!serials.is_empty(), "whose? name a --node, a --client or a --serial");
        authority.revoke(&serials)?;
        written.tell(&self.which.folder.join("crl.pem"))?;
        written.end()
    }
}

/// Hexadecimal digits, perhaps with colons between.
fn bytes(text: &str) -> Result<Vec<u8>> {
    let digits: Vec<char> = text.chars().filter(|c| *c != ':').collect();
    let pairs = digits.chunks(2).map(|pair| {
        let pair: String = pair.iter().collect();
        ensure!(pair.len() == 2, "it needs an even number of hexadecimal digits");
        u8::from_str_radix(&pair, 16).context("it has hexadecimal digits only")
    });
    let bytes: Vec<u8> = pairs.collect::<Result<_>>()?;
    ensure!(!bytes.is_empty(), "it is empty");
    Ok(bytes.into_iter().skip_while(|byte| *byte == 0).collect())
}

fn days(text: &str) -> Result<u32> {
    let days = names::whole::<u32>(text).map_err(|why| anyhow!("{why}"))?;
    ensure!((1..=3650).contains(&days), "from 1 to 3650");
    Ok(days)
}

impl FolderArgs {
    fn run(self, json: bool, out: &mut impl Write) -> Result<Verdict> {
        let issued = Issued::open(&self.folder)?;
        let (mut listed, all_revoked) = (Vec::new(), issued.revoked()?);
        for name in issued.names()? {
            let own = issued.read(&name)?;
            let (not_after, serial) = (own.not_after, own.serial_text());
            let days_left = not_after.saturating_sub(now()) / (24 * 3600);
            let revoked = all_revoked.contains(&own.serial);
            listed.push(Listed { name, days_left, not_after, serial, revoked });
        }
        if json {
            let said = serde_json::json!({ "certificates": listed });
            writeln!(out, "{}", serde_json::to_string_pretty(&said)?)?;
            return Ok(Verdict::Fine);
        }
        let mut rows = table(["certificate", "days left", "revoked", "serial"]);
        for Listed { name, days_left, serial, revoked, .. } in listed {
            let revoked = if revoked { "REVOKED" } else { "" };
            rows.add_row([name, days_left.to_string(), revoked.to_string(), serial]);
        }
        writeln!(out, "{rows}")?;
        Ok(Verdict::Fine)
    }
}

fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
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
    /// For how many days the certificates are valid
    #[arg(long, value_name = "N", default_value_t = VALID_DAYS, value_parser = days)]
    days: u32,
    /// Overwrite what exists
    #[arg(long)]
    force: bool,
}

impl TlsArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let json = self.json;
        let mut written = Written { out, json, files: Vec::new() };
        let (folder, authority, nodes, more) = match self.what {
            What::Renew(args) => return args.run(written),
            What::Revoke(args) => return args.run(written),
            What::List(args) => return args.run(json, written.out),
            What::Init(InitArgs { folder, cluster, nodes, more }) => {
                ensure!(nodes > 0, "--nodes is 0; at least one is needed");
                ensure!(
                    (1..=100).contains(&cluster.len()),
                    "--cluster: a cluster's name has 1 to 100 bytes; this one has {}",
                    cluster.len()
                );
                ensure!(nodes <= MOST_NODES, "{nodes} nodes are too many; at most {MOST_NODES}");
                let nodes: Vec<MemberId> = (0..nodes).map(MemberId::at).collect();
                more.check(&nodes)?;
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
                more.check(&nodes)?;
                (folder.clone(), Authority::open(&folder)?, nodes, more)
            }
        };
        let authority = authority.valid_for(more.days);
        for (node, hosts) in more.hosts_of(&nodes)? {
            authority.issue_node(node, &hosts, more.force)?;
            written.tell(&folder.join(format!("node-{}.pem", node.number())))?;
        }
        for client in &more.client {
            authority.issue_client(client, more.force)?;
            written.tell(&folder.join(format!("client-{client}.pem")))?;
        }
        written.end()
    }
}

/// Making more takes longer than anybody waits.
const MOST_NODES: usize = 1_000;

impl CertificateArgs {
    /// Whether all certificates can be made, before the first one is.
    fn check(&self, nodes: &[MemberId]) -> Result<()> {
        for (node, hosts) in self.hosts_of(nodes)? {
            Authority::check_node(node, &hosts)?;
        }
        Ok(self.client.iter().try_for_each(|client| Authority::check_client(client))?)
    }

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

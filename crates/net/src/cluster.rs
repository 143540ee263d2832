//! Several nodes in one process.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use skeptron_member::MemberId;
use skeptron_member::plan::Plans;

use crate::config::{Config, Init, LeaseSettings, Membership, VoterConfig};
use crate::env;
use crate::error::StartError;
use crate::node::Node;

/// All members of a cluster in one process, on the loopback interface.
#[derive(Debug)]
pub struct Cluster {
    /// The members, P1 first; of one that was restarted the last node.
    pub nodes: Vec<Node>,
    /// How each is started again.
    configs: Vec<Config>,
    /// Whom each neither hears nor speaks to.
    blocked: Vec<BTreeSet<MemberId>>,
    killed: BTreeSet<MemberId>,
}

/// A port may be held a moment longer by who had it before.
const PORT_WITHIN: Duration = Duration::from_secs(5);
/// How long to wait before the next look.
const LOOK: Duration = Duration::from_millis(5);

impl Cluster {
    /// Starts `nodes` members on ports that the system chooses, with plain TCP, and waits until all
    /// links are up. The members are always these.
    ///
    /// # Errors
    /// If one does not start.
    pub async fn start(nodes: usize, plans: Plans) -> Result<Self, StartError> {
        Cluster::start_with(nodes, plans, |_| {}).await
    }

    /// The same, each configuration as `change` leaves it.
    ///
    /// # Errors
    /// If one does not start.
    pub async fn start_with(
        nodes: usize,
        plans: Plans,
        change: impl Fn(&mut Config),
    ) -> Result<Self, StartError> {
        let (listeners, addresses) = listen(nodes)?;
        let config = |place| {
            let mut config = Config::new(MemberId::at(place), addresses.clone(), plans.clone());
            change(&mut config);
            config
        };
        let mut cluster = Cluster::new((0..nodes).map(config).collect());
        for (config, listener) in cluster.configs.iter().zip(listeners) {
            cluster.nodes.push(Node::start_at(config.clone(), listener).await?);
        }
        cluster.ready().await;
        Ok(cluster)
    }

    /// Starts `nodes` members that may come and go, the first `voters` of which decide who belongs to
    /// the cluster, with a folder for each in `folder`, and waits until all are members and vote.
    ///
    /// # Errors
    /// If one does not start.
    pub async fn start_voting(
        nodes: usize,
        voters: usize,
        plans: Plans,
        folder: &Path,
        settings: LeaseSettings,
    ) -> Result<Self, StartError> {
        Cluster::start_voting_with(nodes, voters, plans, (folder, settings), |_| {}).await
    }

    /// The same, each configuration as `change` leaves it.
    ///
    /// # Errors
    /// If one does not start.
    pub async fn start_voting_with(
        nodes: usize,
        voters: usize,
        plans: Plans,
        (folder, settings): (&Path, LeaseSettings),
        change: impl Fn(&mut Config),
    ) -> Result<Self, StartError> {
        let (listeners, addresses) = listen(nodes)?;
        let voting = |place| (MemberId::at(place), addresses[place].clone());
        let at: BTreeMap<MemberId, String> = (0..voters).map(voting).collect();
        let config = |place| {
            let id = MemberId::at(place);
            let membership = Membership::Voters(VoterConfig {
                address: addresses[place].clone(),
                voters: at.clone(),
                data: Some(folder.join(id.to_string())),
                init: None,
            });
            let mut config = Config { membership, ..Config::new(id, Vec::new(), plans.clone()) };
            change(&mut config);
            config
        };
        let mut cluster = Cluster::new((0..nodes).map(config).collect());
        // P1 asks the other voters whether there is a cluster already, so they come first.
        for (config, listener) in cluster.configs.iter().zip(listeners).rev() {
            let mut config = config.clone();
            if let Membership::Voters(voters) = &mut config.membership
                && config.node == MemberId::at(0)
            {
                voters.init = Some(Init { lease: settings, ..Init::default() });
            }
            cluster.nodes.insert(0, Node::start_at(config, listener).await?);
        }
        let votes = |node: &Node| {
            node.status().views.voters.iter().filter(|voter| voter.votes).count() == voters
        };
        let is_member = |node: &Node| node.view().is_some_and(|view| view.members.len() == nodes);
        while !cluster.nodes.iter().all(|node| is_member(node) && votes(node)) {
            env::sleep(LOOK).await;
        }
        cluster.ready().await;
        Ok(cluster)
    }

    fn new(configs: Vec<Config>) -> Self {
        let blocked = vec![BTreeSet::new(); configs.len()];
        Cluster { nodes: Vec::new(), configs, blocked, killed: BTreeSet::new() }
    }

    async fn ready(&self) {
        for node in &self.nodes {
            node.ready().await;
        }
    }

    /// Ends a member as if its process had been killed.
    pub fn kill(&mut self, member: MemberId) {
        if let Some(node) = self.nodes.get(member.place()) {
            node.kill();
            self.killed.insert(member);
        }
    }

    /// Starts a member that was killed again, at the same address and from its folder. It enters the
    /// cluster in the background. Only where voters decide: the others wait for the life they know.
    ///
    /// # Errors
    /// If it does not start.
    pub async fn restart(&mut self, member: MemberId) -> Result<(), StartError> {
        let place = member.place();
        let Some(former) = self.nodes.get(place) else { return Ok(()) };
        former.kill();
        former.ended().await;
        let config = self.configs[place].clone();
        let address = config.listen_address().to_string();
        let deadline = env::now().after(PORT_WITHIN);
        let listener = loop {
            match TcpListener::bind(&address) {
                Ok(listener) => break listener,
                Err(_) if env::now() < deadline => env::sleep(LOOK).await,
                Err(source) => return Err(StartError::Listen { address, source }),
            }
        };
        let blocked = self.blocked[place].clone();
        self.nodes[place] = Node::start_blocking(config, listener, blocked).await?;
        self.killed.remove(&member);
        Ok(())
    }

    /// From now on members of different groups neither hear nor speak to each other; those that are in
    /// none are one more group.
    pub fn partition(&mut self, groups: &[BTreeSet<MemberId>]) {
        let group = |id: &MemberId| groups.iter().position(|group| group.contains(id));
        for (place, blocked) in self.blocked.iter_mut().enumerate() {
            let own = group(&MemberId::at(place));
            let others = (0..self.configs.len()).map(MemberId::at);
            *blocked = others.filter(|id| group(id) != own).collect();
            self.nodes[place].block(blocked.clone());
        }
    }

    /// Everybody hears everybody again.
    pub fn heal(&mut self) {
        self.partition(&[]);
    }

    /// The members that are killed and not yet started again.
    #[must_use]
    pub fn killed(&self) -> &BTreeSet<MemberId> {
        &self.killed
    }

    /// Whom a member neither hears nor speaks to.
    #[must_use]
    pub fn blocked(&self, member: MemberId) -> &BTreeSet<MemberId> {
        &self.blocked[member.place()]
    }

    /// Ends all members at once: nobody is left to pass tokens on to. Their folders are free then.
    pub async fn shutdown(self) {
        self.nodes.iter().for_each(Node::leave);
        self.nodes.iter().for_each(Node::stop);
        for node in &self.nodes {
            node.ended().await;
        }
    }
}

/// Listeners on ports that the system chooses, and their addresses.
fn listen(nodes: usize) -> Result<(Vec<TcpListener>, Vec<String>), StartError> {
    let listening = |source| StartError::Listen { address: "127.0.0.1:0".into(), source };
    let bind = |_| {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?.to_string();
        Ok((listener, address))
    };
    let bound = (0..nodes).map(bind).collect::<Result<Vec<_>, _>>().map_err(listening)?;
    Ok(bound.into_iter().unzip())
}

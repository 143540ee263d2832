//! Several nodes in one process.

use std::net::TcpListener;

use skeptron_member::MemberId;
use skeptron_member::plan::Plans;

use crate::config::Config;
use crate::node::{Node, StartError};

/// All members of a cluster in one process, on the loopback interface.
#[derive(Debug)]
pub struct Cluster {
    /// The members, P1 first.
    pub nodes: Vec<Node>,
}

impl Cluster {
    /// Starts `nodes` members on ports that the system chooses, with plain TCP, and waits until all
    /// links are up.
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
        let listening = |source| StartError::Listen { address: "127.0.0.1:0".into(), source };
        let bind = |_| {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?.to_string();
            Ok((listener, address))
        };
        let bound = (0..nodes).map(bind).collect::<Result<Vec<_>, _>>().map_err(listening)?;
        let members: Vec<String> = bound.iter().map(|(_, address)| address.clone()).collect();
        let mut started = Vec::with_capacity(nodes);
        for (index, (listener, _)) in bound.into_iter().enumerate() {
            let mut config = Config::new(MemberId::at(index), members.clone(), plans.clone());
            change(&mut config);
            started.push(Node::start_at(config, listener).await?);
        }
        for node in &started {
            node.ready().await;
        }
        Ok(Cluster { nodes: started })
    }

    /// Ends all members at once: nobody is left to pass tokens on to.
    pub async fn shutdown(self) {
        self.nodes.iter().for_each(Node::leave);
        self.nodes.iter().for_each(Node::stop);
    }
}

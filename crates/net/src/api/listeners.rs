//! Where an API listens, before there is a node that answers: the node says where clients reach it when it
//! enters the cluster.

use std::net::SocketAddr;

use skeptron_client::{Endpoint, InvalidEndpoint, is_loopback};
use tokio::net::TcpListener;

use super::listen::bind_tcp;
use super::{ApiConfig, ApiError};

/// The TCP addresses of an API that nobody answers at yet; whoever connects waits.
#[derive(Debug)]
pub struct Listeners {
    /// Each with where that is, and how it was said.
    tcp: Vec<(TcpListener, SocketAddr, String)>,
}

impl Listeners {
    /// Listens where `config` says.
    ///
    /// # Errors
    /// If it cannot.
    pub async fn bind(config: &ApiConfig) -> Result<Self, ApiError> {
        Self::bind_at(&config.listen).await
    }

    /// Listens at these addresses, `HOST:PORT`.
    ///
    /// # Errors
    /// If it cannot.
    pub async fn bind_at(addresses: &[String]) -> Result<Self, ApiError> {
        let mut tcp = Vec::new();
        for address in addresses {
            let bound = bind_tcp(address).await;
            let (listener, at) =
                bound.map_err(|source| ApiError::Listen { address: address.clone(), source })?;
            tcp.push((listener, at, address.clone()));
        }
        Ok(Listeners { tcp })
    }

    /// Where they listen; ports that the system chose are filled in.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.tcp.iter().map(|(_, at, _)| *at)
    }

    /// Where clients reach the node that other nodes find at `node_address`: as configured, or where it
    /// listens. Listening everywhere is to be found at the host of `node_address`; the loopback interface
    /// is of use to others only if the nodes are there, too.
    ///
    /// # Errors
    /// If something configured is no address.
    pub fn advertised(
        &self,
        config: &ApiConfig,
        node_address: &str,
    ) -> Result<Vec<String>, InvalidEndpoint> {
        let over_tls = config.identity.is_some();
        if let Some(given) = &config.advertise {
            return given.iter().map(|text| advertised(text, over_tls)).collect();
        }
        let host = node_address.rsplit_once(':').map_or(node_address, |(host, _)| host);
        let address = |at: SocketAddr| match at.ip() {
            ip if ip.is_unspecified() => Some(format!("{host}:{}", at.port())),
            ip if ip.is_loopback() && !is_loopback(node_address) => None,
            _ => Some(at.to_string()),
        };
        self.addresses().filter_map(address).map(|at| advertised(&at, over_tls)).collect()
    }

    pub(super) fn into_parts(self) -> Vec<(TcpListener, SocketAddr, String)> {
        self.tcp
    }
}

/// Where a bare address speaks TLS if the listeners do.
fn advertised(text: &str, over_tls: bool) -> Result<String, InvalidEndpoint> {
    let endpoint: Endpoint = text.parse()?;
    let endpoint = if over_tls && Endpoint::is_bare(text) { endpoint.over_tls() } else { endpoint };
    Ok(endpoint.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_advertised_follows_from_where_it_listens() {
        let listen =
            |address: &str| ApiConfig { listen: vec![address.to_string()], ..ApiConfig::default() };
        let told = async |config: &ApiConfig, node: &str| {
            let listeners = Listeners::bind(config).await.unwrap();
            let port = listeners.addresses().next().unwrap().port().to_string();
            let told = listeners.advertised(config, node).unwrap();
            told.iter().map(|url| url.replace(&port, "PORT")).collect::<Vec<_>>()
        };
        let (near, all) = (listen("127.0.0.1:0"), listen("0.0.0.0:0"));
        assert_eq!(told(&near, "127.0.0.1:7570").await, ["http://127.0.0.1:PORT"]);
        assert_eq!(told(&near, "10.0.0.1:7570").await, [""; 0], "of no use to other machines");
        assert_eq!(told(&all, "10.0.0.1:7570").await, ["http://10.0.0.1:PORT"]);
        assert_eq!(told(&all, "[fe80::1]:7570").await, ["http://[fe80::1]:PORT"]);
        let advertise = |texts: &[&str]| ApiConfig {
            advertise: Some(texts.iter().map(|text| text.to_string()).collect()),
            ..near.clone()
        };
        let given = advertise(&["a:1", "https://b:2"]);
        assert_eq!(told(&given, "10.0.0.1:7570").await, ["http://a:1", "https://b:2"]);
        assert_eq!(told(&advertise(&[]), "127.0.0.1:7570").await, [""; 0], "nothing, on request");
        assert_eq!(advertised("node1", true), Ok("https://node1:7470".to_string()));
        assert!(
            Listeners::bind(&near).await.unwrap().advertised(&advertise(&["a b"]), "").is_err()
        );
    }
}

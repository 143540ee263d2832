//! A cluster's own authority: one certificate for each node and for each client.
//!
//! The certificate of node K is for the name `node-K.skeptron.internal`: that is how links know which
//! node is at the other end, wherever it runs. One authority is for one cluster.

mod authority;

use rustls::pki_types::ServerName;
use skeptron_member::MemberId;

pub use authority::{Authority, Issued, VALID_DAYS};
pub(crate) use skeptron_client::tls::client_config;
// What the configuration of a node takes, so that a program with a node needs no second crate.
pub use skeptron_client::tls::{Callers, Certificate, Identity, Part, TlsError};

/// The name that only the certificate of this node is for.
pub(crate) fn node_name(node: MemberId) -> ServerName<'static> {
    ServerName::try_from(node_host(node)).expect("letters, digits and dots are a host name")
}

fn node_host(node: MemberId) -> String {
    format!("node-{}.skeptron.internal", node.number())
}

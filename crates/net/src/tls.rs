//! Certificates: a cluster's own authority, one certificate for each node and for each client.

use std::path::Path;
use std::sync::Arc;

use rustls::{ClientConfig, ServerConfig};
use skeptron_core::NodeId;
use thiserror::Error;

/// Who a process is, and whom it believes: certificate, key, and the cluster's authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The authority's certificate, PEM.
    pub authority: String,
    /// The own certificate, PEM.
    pub certificate: String,
    /// Its key, PEM.
    pub key: String,
}

/// Why certificates cannot be made or used.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

impl Identity {
    /// Reads `ca.pem`, `NAME.pem` and `NAME.key` from the folder that `skeptron tls init` made.
    ///
    /// # Errors
    /// If a file is missing or holds something else.
    pub fn read(folder: &Path, name: &str) -> Result<Self, TlsError> {
        let read = |file: String| {
            let path = folder.join(file);
            std::fs::read_to_string(&path)
                .map_err(|source| TlsError::File { path: path.display().to_string(), source })
        };
        Ok(Identity {
            authority: read("ca.pem".into())?,
            certificate: read(format!("{name}.pem"))?,
            key: read(format!("{name}.key"))?,
        })
    }

    /// Whom a server with this identity lets in: with [`Callers::Certified`] nobody without a
    /// certificate of the authority.
    ///
    /// # Errors
    /// If certificate, key or authority is no good.
    pub fn server_config(&self, callers: Callers) -> Result<Arc<ServerConfig>, TlsError> {
        let _ = callers;
        todo!()
    }

    /// Shows its certificate, and believes servers whose certificate is of the authority and for the
    /// name or address that was called.
    ///
    /// # Errors
    /// If certificate, key or authority is no good.
    pub fn client_config(&self) -> Result<Arc<ClientConfig>, TlsError> {
        todo!()
    }
}

/// Whom a server lets in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callers {
    /// Whoever shows a certificate of the authority.
    Certified,
    /// Anybody; whoever shows a certificate must show one of the authority.
    Anybody,
}

/// A cluster's own authority, in a folder: `ca.pem` and `ca.key`, and what it has issued.
#[derive(Debug)]
pub struct Authority {}

impl Authority {
    /// Makes a new authority for a cluster.
    ///
    /// # Errors
    /// If there is one already, unless `force`, or the folder cannot be written.
    pub fn init(folder: &Path, cluster: &str, force: bool) -> Result<Self, TlsError> {
        let _ = (folder, cluster, force);
        todo!()
    }

    /// The authority that was made in this folder before.
    ///
    /// # Errors
    /// If there is none.
    pub fn open(folder: &Path) -> Result<Self, TlsError> {
        let _ = folder;
        todo!()
    }

    /// Makes `node-K.pem` and `node-K.key`; its API can be called by these names and addresses.
    ///
    /// # Errors
    /// If they exist already, unless `force`, or cannot be written.
    pub fn issue_node(&self, node: NodeId, hosts: &[String], force: bool) -> Result<(), TlsError> {
        let _ = (node, hosts, force);
        todo!()
    }

    /// Makes `client-NAME.pem` and `client-NAME.key`.
    ///
    /// # Errors
    /// If they exist already, unless `force`, or cannot be written.
    pub fn issue_client(&self, name: &str, force: bool) -> Result<(), TlsError> {
        let _ = (name, force);
        todo!()
    }
}

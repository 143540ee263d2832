//! Certificates: a cluster's own authority, one certificate for each node and for each client.

use std::path::Path;

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
}

//! New certificates for a node that runs.

use super::{Node, Parts};
use crate::config::Security;
use crate::tls::{Identity, TlsError};

impl Node {
    /// Shows these certificates from now on, and believes those of this authority that are not revoked.
    /// All connections with other nodes are made anew, which no lock notices. A node without TLS stays
    /// without it.
    ///
    /// # Errors
    /// If they cannot be used, or the own one is not valid now; then the former ones stay.
    pub fn renew(&self, identity: &Identity) -> Result<(), TlsError> {
        let Parts { config, observer, listener, voters, present, .. } = &*self.parts;
        if matches!(config.security, Security::Insecure) {
            return Ok(());
        }
        identity.check()?;
        listener.protection().renew(identity)?;
        if let Some(voters) = voters {
            voters.renew(identity)?;
        }
        observer.set_certificate(identity.own()?.not_after);
        if let Some(life) = &*present.load() {
            life.links.cut_all();
        }
        Ok(())
    }
}

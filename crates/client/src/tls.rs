//! Certificates: who a process is, and whom it believes. `skeptron tls` makes them.

mod certificate;

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use thiserror::Error;

pub use certificate::Certificate;
#[doc(hidden)]
pub use certificate::{CLIENT, NODE, revoked_serials};

/// Who a process is, and whom it believes: certificate, key, and the cluster's authority.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// The authority's certificate, PEM.
    pub authority: String,
    /// The own certificate, PEM; empty for a client that shows none.
    pub certificate: String,
    /// Its key, PEM.
    pub key: String,
    /// Which certificates of the authority count no more: its list of revoked ones, PEM; may be none.
    pub revoked: Option<String>,
}

/// Whom a server lets in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callers {
    /// Whoever shows a certificate of the authority.
    Certified,
    /// Anybody; whoever shows a certificate must show one of the authority.
    Anybody,
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
    /// A file is there already.
    #[error("{path} already exists; use --force to replace it, or another folder")]
    Exists {
        /// Which.
        path: String,
    },
    /// There is no authority.
    #[error("{folder} contains no certificate authority; create one with `skeptron tls init`")]
    NoAuthority {
        /// Where.
        folder: String,
    },
    /// Something is not what it should be.
    #[error("the {what} is invalid: {why}; make new ones with `skeptron tls init`")]
    Unusable {
        /// Which part of an identity.
        what: Part,
        /// What is wrong with it.
        why: String,
    },
    /// A certificate cannot be made for that name.
    #[error("cannot create a certificate for `{name}`: {why}")]
    Name {
        /// Which.
        name: String,
        /// Why not.
        why: String,
    },
}

/// A part of an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The authority's certificate.
    Authority,
    /// The own certificate.
    Certificate,
    /// The key of it.
    Key,
    /// The list of revoked certificates.
    Revoked,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Authority => "authority's certificate",
            Part::Certificate => "certificate",
            Part::Key => "key",
            Part::Revoked => "list of revoked certificates",
        })
    }
}

impl Identity {
    /// Reads `ca.pem`, `NAME.pem` and `NAME.key` from the folder that `skeptron tls init` made.
    ///
    /// # Errors
    /// If a file is missing.
    pub fn read(folder: &Path, name: &str) -> Result<Self, TlsError> {
        let read = |file: String| read_file(&folder.join(file));
        Ok(Identity {
            authority: read(Files(AUTHORITY).certificate())?,
            certificate: read(Files(name).certificate())?,
            key: read(Files(name).key())?,
            revoked: match folder.join(REVOKED) {
                path if path.exists() => Some(read_file(&path)?),
                _ => None,
            },
        })
    }

    /// Reads `ca.pem` alone: for a client that believes the authority and shows a token instead of a
    /// certificate.
    ///
    /// # Errors
    /// If the file is missing.
    pub fn without_certificate(folder: &Path) -> Result<Self, TlsError> {
        let authority = read_file(&folder.join(Files(AUTHORITY).certificate()))?;
        let (certificate, key) = (String::new(), String::new());
        Ok(Identity { authority, certificate, key, revoked: None })
    }

    /// The own certificate.
    ///
    /// # Errors
    /// If it is none.
    pub fn own(&self) -> Result<Certificate, TlsError> {
        let all = certificates(&self.certificate, Part::Certificate)?;
        let own = all.first().and_then(|first| Certificate::read(first));
        own.ok_or_else(|| unusable(Part::Certificate, "it cannot be read"))
    }

    /// For how many whole days the own certificate is still valid; none if it is not.
    #[must_use]
    pub fn days_left(&self) -> Option<u64> {
        let left = self.own().ok()?.not_after.checked_sub(UnixTime::now().as_secs())?;
        Some(left / (24 * 3600))
    }

    /// Whether those who believe the authority believe the own certificate now.
    ///
    /// # Errors
    /// If certificate, key, authority or list is invalid, or it has expired or been revoked.
    pub fn check(&self) -> Result<(), TlsError> {
        let all = certificates(&self.certificate, Part::Certificate)?;
        let verifier = self.verifier(Callers::Certified)?;
        let checked = verifier.verify_client_cert(&all[0], &all[1..], UnixTime::now());
        checked.map_err(|why| unusable(Part::Certificate, why))?;
        self.server_config(Callers::Certified).map(drop)
    }

    fn verifier(&self, callers: Callers) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let roots = roots(&self.authority)?;
        let builder = WebPkiClientVerifier::builder_with_provider(roots, provider)
            .with_crls(revoked_lists(self.revoked.as_deref())?)
            .only_check_end_entity_revocation();
        let builder = match callers {
            Callers::Certified => builder,
            Callers::Anybody => builder.allow_unauthenticated(),
        };
        builder.build().map_err(|why| unusable(Part::Authority, why))
    }

    /// For a server: shows the certificate and lets `callers` in.
    ///
    /// # Errors
    /// If certificate, key or authority is invalid.
    pub fn server_config(&self, callers: Callers) -> Result<Arc<ServerConfig>, TlsError> {
        let verifier = self.verifier(callers)?;
        let (certificates, key) = certificates_and_key(&self.certificate, &self.key)?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider knows the usual versions")
            .with_client_cert_verifier(verifier)
            .with_single_cert(certificates, key)
            .map_err(|why| unusable(Part::Certificate, why))?;
        Ok(Arc::new(config))
    }

    /// For a client: shows the certificate if there is one, and believes servers whose certificate is of the authority
    /// and for the name or address that was called.
    ///
    /// # Errors
    /// If certificate, key or authority is invalid.
    pub fn client_config(&self) -> Result<Arc<ClientConfig>, TlsError> {
        let own = (!self.certificate.is_empty()).then_some((&*self.certificate, &*self.key));
        client_config_with(&self.authority, own, self.revoked.as_deref())
    }
}

/// The key is nobody's business, not even a log's.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// What the authority's files are called.
#[doc(hidden)]
pub const AUTHORITY: &str = "ca";
/// What its list of revoked certificates is called.
#[doc(hidden)]
pub const REVOKED: &str = "crl.pem";

/// A certificate and its key, by what they are called.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Files<'a>(pub &'a str);

impl Files<'_> {
    #[must_use]
    pub fn certificate(&self) -> String {
        format!("{}.pem", self.0)
    }

    #[must_use]
    pub fn key(&self) -> String {
        format!("{}.key", self.0)
    }
}

#[doc(hidden)]
pub fn read_file(path: &Path) -> Result<String, TlsError> {
    fs::read_to_string(path).map_err(|source| file_error(path, source))
}

/// For a client that believes this authority, and shows a certificate if it has one.
///
/// # Errors
/// If certificate, key or authority is invalid.
#[doc(hidden)]
pub fn client_config(
    authority: &str,
    own: Option<(&str, &str)>,
) -> Result<Arc<ClientConfig>, TlsError> {
    client_config_with(authority, own, None)
}

/// The same; it does not believe servers whose certificate is on the list, if there is one.
fn client_config_with(
    authority: &str,
    own: Option<(&str, &str)>,
    revoked: Option<&str>,
) -> Result<Arc<ClientConfig>, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let verifier =
        WebPkiServerVerifier::builder_with_provider(roots(authority)?, Arc::clone(&provider))
            .with_crls(revoked_lists(revoked)?)
            .only_check_end_entity_revocation()
            .build()
            .map_err(|why| unusable(Part::Authority, why))?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider knows the usual versions")
        .with_webpki_verifier(verifier);
    let config = match own {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let (certificates, key) = certificates_and_key(certificate, key)?;
            let config = builder.with_client_auth_cert(certificates, key);
            config.map_err(|why| unusable(Part::Certificate, why))?
        }
    };
    Ok(Arc::new(config))
}

fn roots(authority: &str) -> Result<Arc<RootCertStore>, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(authority, Part::Authority)? {
        roots.add(certificate).map_err(|why| unusable(Part::Authority, why))?;
    }
    Ok(Arc::new(roots))
}

fn revoked_lists(
    pem: Option<&str>,
) -> Result<Vec<CertificateRevocationListDer<'static>>, TlsError> {
    let Some(pem) = pem else { return Ok(Vec::new()) };
    let all = CertificateRevocationListDer::pem_slice_iter(pem.as_bytes());
    let all: Result<Vec<_>, _> = all.collect();
    match all.map_err(|why| unusable(Part::Revoked, why))? {
        // An empty file would let everybody in whom it was to keep out.
        none if none.is_empty() => Err(unusable(Part::Revoked, "it holds no list")),
        some => Ok(some),
    }
}

fn certificates_and_key(
    certificate: &str,
    key: &str,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes());
    let key = key.map_err(|why| unusable(Part::Key, why))?;
    Ok((certificates(certificate, Part::Certificate)?, key))
}

fn certificates(pem: &str, what: Part) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    match all.map_err(|why| unusable(what, why))? {
        none if none.is_empty() => Err(unusable(what, "it holds no certificate")),
        some => Ok(some),
    }
}

#[doc(hidden)]
pub fn unusable(what: Part, why: impl fmt::Display) -> TlsError {
    TlsError::Unusable { what, why: why.to_string() }
}

#[doc(hidden)]
pub fn file_error(path: &Path, source: std::io::Error) -> TlsError {
    TlsError::File { path: path.display().to_string(), source }
}

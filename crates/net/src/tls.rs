//! Certificates: a cluster's own authority, one certificate for each node and for each client.
//!
//! The certificate of node K is for the name `node-K.skeptron.internal`: that is how links know which
//! node is at the other end, wherever it runs. One authority is for one cluster.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use skeptron_member::MemberId;
use thiserror::Error;

/// Who a process is, and whom it believes: certificate, key, and the cluster's authority.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// The authority's certificate, PEM.
    pub authority: String,
    /// The own certificate, PEM; empty for a client that shows none.
    pub certificate: String,
    /// Its key, PEM.
    pub key: String,
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
    #[error("{path} exists already; use --force to replace it, or another folder")]
    Exists {
        /// Which.
        path: String,
    },
    /// There is no authority.
    #[error("{folder} holds no authority; make one with `skeptron tls init`")]
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
    #[error("no certificate can be made for `{name}`: {why}")]
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
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Authority => "authority's certificate",
            Part::Certificate => "certificate",
            Part::Key => "key",
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
        })
    }

    /// Reads `ca.pem` alone: for a client that believes the authority and shows a token instead of a
    /// certificate.
    ///
    /// # Errors
    /// If the file is missing.
    pub fn without_certificate(folder: &Path) -> Result<Self, TlsError> {
        let authority = read_file(&folder.join(Files(AUTHORITY).certificate()))?;
        Ok(Identity { authority, certificate: String::new(), key: String::new() })
    }

    /// For a server: shows the certificate and lets `callers` in.
    ///
    /// # Errors
    /// If certificate, key or authority is invalid.
    pub fn server_config(&self, callers: Callers) -> Result<Arc<ServerConfig>, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let builder = WebPkiClientVerifier::builder_with_provider(
            roots(&self.authority)?,
            Arc::clone(&provider),
        );
        let builder = match callers {
            Callers::Certified => builder,
            Callers::Anybody => builder.allow_unauthenticated(),
        };
        let verifier = builder.build().map_err(|why| unusable(Part::Authority, why))?;
        let (certificates, key) = certificates_and_key(&self.certificate, &self.key)?;
        let config = ServerConfig::builder_with_provider(provider)
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
        client_config(&self.authority, own)
    }
}

/// The key is nobody's business, not even a log's.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

/// A cluster's own authority, in a folder: `ca.pem` and `ca.key`, and what it has issued.
#[derive(Debug)]
pub struct Authority {
    folder: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// Makes a new authority for a cluster, and the folder if need be.
    ///
    /// # Errors
    /// If there is one already, unless `force`, or the folder cannot be written.
    pub fn init(folder: &Path, cluster: &str, force: bool) -> Result<Self, TlsError> {
        fs::create_dir_all(folder).map_err(|source| file_error(folder, source))?;
        let mut params = params(&format!("Skeptron authority of {cluster}"), &[])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = new_key();
        let certificate = params.self_signed(&key).map_err(|why| name_error(cluster, &why))?;
        Files(AUTHORITY).write(folder, &certificate.pem(), &key.serialize_pem(), force)?;
        Ok(Authority { folder: folder.to_path_buf(), issuer: Issuer::new(params, key) })
    }

    /// The authority that was made in this folder before.
    ///
    /// # Errors
    /// If there is none, or its files hold something else.
    pub fn open(folder: &Path) -> Result<Self, TlsError> {
        let path = folder.join(Files(AUTHORITY).certificate());
        if !path.exists() {
            return Err(TlsError::NoAuthority { folder: folder.display().to_string() });
        }
        let key = KeyPair::from_pem(&read_file(&folder.join(Files(AUTHORITY).key()))?);
        let key = key.map_err(|why| unusable(Part::Key, why))?;
        let issuer = Issuer::from_ca_cert_pem(&read_file(&path)?, key);
        let issuer = issuer.map_err(|why| unusable(Part::Authority, why))?;
        Ok(Authority { folder: folder.to_path_buf(), issuer })
    }

    /// Makes `node-K.pem` and `node-K.key`; its API can be called by these names and addresses, and
    /// by those of the loopback interface.
    ///
    /// # Errors
    /// If they exist already, unless `force`, or cannot be written.
    pub fn issue_node(
        &self,
        node: MemberId,
        hosts: &[String],
        force: bool,
    ) -> Result<(), TlsError> {
        let own = [node_host(node), "localhost".into(), "127.0.0.1".into(), "::1".into()];
        let mut names = own.to_vec();
        names.extend(hosts.iter().filter(|host| !own.contains(host)).cloned());
        let mut params = params(&format!("Skeptron node {node}"), &names)?;
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(params, &format!("node-{}", node.number()), force)
    }

    /// Makes `client-NAME.pem` and `client-NAME.key`.
    ///
    /// # Errors
    /// If they exist already, unless `force`, or cannot be written.
    pub fn issue_client(&self, name: &str, force: bool) -> Result<(), TlsError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
            let why = "a client's name has 1 to 64 letters, digits, - or _".to_string();
            return Err(TlsError::Name { name: name.to_string(), why });
        }
        let mut params = params(&format!("Skeptron client {name}"), &[])?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(params, &format!("client-{name}"), force)
    }

    fn issue(&self, params: CertificateParams, name: &str, force: bool) -> Result<(), TlsError> {
        let key = new_key();
        let certificate = params.signed_by(&key, &self.issuer);
        let certificate = certificate.map_err(|why| name_error(name, &why))?;
        Files(name).write(&self.folder, &certificate.pem(), &key.serialize_pem(), force)
    }
}

/// The name that only the certificate of this node is for.
pub(crate) fn node_name(node: MemberId) -> ServerName<'static> {
    ServerName::try_from(node_host(node)).expect("letters, digits and dots are a host name")
}

fn node_host(node: MemberId) -> String {
    format!("node-{}.skeptron.internal", node.number())
}

/// What the authority's files are called.
const AUTHORITY: &str = "ca";

/// A certificate and its key, by what they are called.
struct Files<'a>(&'a str);

impl Files<'_> {
    fn certificate(&self) -> String {
        format!("{}.pem", self.0)
    }

    fn key(&self) -> String {
        format!("{}.key", self.0)
    }

    fn write(
        &self,
        folder: &Path,
        certificate: &str,
        key: &str,
        force: bool,
    ) -> Result<(), TlsError> {
        let paths = [folder.join(self.key()), folder.join(self.certificate())];
        if let Some(path) = paths.iter().find(|path| !force && path.exists()) {
            return Err(TlsError::Exists { path: path.display().to_string() });
        }
        let [key_path, certificate_path] = &paths;
        write_anew(key_path, key, 0o600)?;
        write_anew(certificate_path, certificate, 0o644)
    }
}

/// Replaces the whole file, so that the rights of an older one do not remain.
fn write_anew(path: &Path, text: &str, rights: u32) -> Result<(), TlsError> {
    let write = || {
        match fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, rights);
        options.open(path)?.write_all(text.as_bytes())
    };
    write().map_err(|source| file_error(path, source))
}

fn read_file(path: &Path) -> Result<String, TlsError> {
    fs::read_to_string(path).map_err(|source| file_error(path, source))
}

/// For a client that believes this authority, and shows a certificate if it has one.
///
/// # Errors
/// If certificate, key or authority is invalid.
pub(crate) fn client_config(
    authority: &str,
    own: Option<(&str, &str)>,
) -> Result<Arc<ClientConfig>, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let verifier =
        WebPkiServerVerifier::builder_with_provider(roots(authority)?, Arc::clone(&provider))
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

/// What all certificates have in common: generous dates, since clocks differ and nobody renews them.
#[expect(clippy::disallowed_methods, reason = "a certificate has the dates of the calendar")]
fn params(title: &str, hosts: &[String]) -> Result<CertificateParams, TlsError> {
    const DAY: Duration = Duration::from_secs(24 * 3600);
    let mut params =
        CertificateParams::new(hosts).map_err(|why| name_error(&hosts.join(", "), &why))?;
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = rcgen::date_time_ymd(1970, 1, 1) + since_1970;
    params.not_before = now - DAY;
    params.not_after = now + DAY * 3652;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, title);
    Ok(params)
}

fn new_key() -> KeyPair {
    KeyPair::generate().expect("the system has a source of randomness")
}

fn unusable(what: Part, why: impl fmt::Display) -> TlsError {
    TlsError::Unusable { what, why: why.to_string() }
}

fn name_error(name: &str, why: &rcgen::Error) -> TlsError {
    TlsError::Name { name: name.to_string(), why: why.to_string() }
}

fn file_error(path: &Path, source: std::io::Error) -> TlsError {
    TlsError::File { path: path.display().to_string(), source }
}

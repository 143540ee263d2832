//! A cluster's own authority: it makes certificates, renews them and revokes them.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DistinguishedName,
    DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose,
    RevokedCertParams, SerialNumber,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer};
use skeptron_member::MemberId;

use super::{Part, TlsError, node_host};
use skeptron_client::tls::{
    AUTHORITY, CLIENT, Certificate, Files, NODE, REVOKED, file_error, read_file, revoked_serials,
    unusable,
};

/// For how many days a certificate is valid, unless somebody says otherwise.
pub const VALID_DAYS: u32 = 365;
/// For how many days an authority is.
const AUTHORITY_DAYS: u32 = 3652;
const DAY: Duration = Duration::from_secs(24 * 3600);

/// What an authority has issued and revoked, in its folder or in that of a node, where its key is not.
#[derive(Debug)]
pub struct Issued {
    folder: PathBuf,
}

/// A cluster's own authority, in a folder: `ca.pem` and `ca.key`, and what it has issued.
#[derive(Debug)]
pub struct Authority {
    issued: Issued,
    issuer: Issuer<'static, KeyPair>,
    days: u32,
}

impl Issued {
    /// The folder of an authority, or one with its `ca.pem` and some of its certificates.
    ///
    /// # Errors
    /// If there is no `ca.pem`.
    pub fn open(folder: &Path) -> Result<Self, TlsError> {
        if !folder.join(Files(AUTHORITY).certificate()).exists() {
            return Err(TlsError::NoAuthority { folder: folder.display().to_string() });
        }
        Ok(Issued { folder: folder.to_path_buf() })
    }

    /// The names of the certificates in the folder, as in `node-1` and `client-alice`.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn names(&self) -> Result<Vec<String>, TlsError> {
        let files = fs::read_dir(&self.folder).map_err(|why| file_error(&self.folder, why))?;
        let names = files.filter_map(|file| {
            let name = file.ok()?.file_name().into_string().ok()?;
            let name = name.strip_suffix(".pem")?;
            (name.starts_with("node-") || name.starts_with("client-")).then(|| name.to_string())
        });
        let mut names: Vec<String> = names.collect();
        names.sort();
        Ok(names)
    }

    /// The certificate `NAME.pem`.
    ///
    /// # Errors
    /// If there is none.
    pub fn read(&self, name: &str) -> Result<Certificate, TlsError> {
        let pem = read_file(&self.folder.join(Files(name).certificate()))?;
        let der = CertificateDer::from_pem_slice(pem.as_bytes());
        let der = der.map_err(|why| unusable(Part::Certificate, why))?;
        Certificate::read(&der).ok_or_else(|| unusable(Part::Certificate, "it cannot be read"))
    }

    /// The numbers of revoked certificates, as `crl.pem` in the folder has them.
    ///
    /// # Errors
    /// If that file cannot be read.
    pub fn revoked(&self) -> Result<Vec<Vec<u8>>, TlsError> {
        let path = self.folder.join(REVOKED);
        if !path.exists() {
            return Ok(Vec::new());
        }
        let pem = read_file(&path)?;
        let list = CertificateRevocationListDer::from_pem_slice(pem.as_bytes());
        let list = list.map_err(|why| unusable(Part::Revoked, why))?;
        revoked_serials(&list).ok_or_else(|| unusable(Part::Revoked, "it cannot be read"))
    }
}

impl Authority {
    /// Makes a new authority for a cluster, and the folder if need be.
    ///
    /// # Errors
    /// If there is one already, unless `force`, or the folder cannot be written.
    pub fn init(folder: &Path, cluster: &str, force: bool) -> Result<Self, TlsError> {
        fs::create_dir_all(folder).map_err(|source| file_error(folder, source))?;
        let mut params = params(&format!("Skeptron authority of {cluster}"), &[], AUTHORITY_DAYS)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = new_key();
        let certificate = params.self_signed(&key).map_err(|why| name_error(cluster, &why))?;
        let pem = (&*certificate.pem(), &*key.serialize_pem());
        write(Files(AUTHORITY), folder, pem, force)?;
        let issuer = Issuer::new(params, key);
        Ok(Authority { issued: Issued { folder: folder.to_path_buf() }, issuer, days: VALID_DAYS })
    }

    /// The authority that was made in this folder before.
    ///
    /// # Errors
    /// If there is none, or its files hold something else.
    pub fn open(folder: &Path) -> Result<Self, TlsError> {
        let issued = Issued::open(folder)?;
        let path = folder.join(Files(AUTHORITY).certificate());
        let key = KeyPair::from_pem(&read_file(&folder.join(Files(AUTHORITY).key()))?);
        let key = key.map_err(|why| unusable(Part::Key, why))?;
        let issuer = Issuer::from_ca_cert_pem(&read_file(&path)?, key);
        let issuer = issuer.map_err(|why| unusable(Part::Authority, why))?;
        Ok(Authority { issued, issuer, days: VALID_DAYS })
    }

    /// Certificates that it makes from now on are valid for so many days.
    #[must_use]
    pub fn valid_for(self, days: u32) -> Self {
        Authority { days, ..self }
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
        let params = node_params(node, hosts, self.days)?;
        self.issue(params, &format!("node-{}", node.number()), force)
    }

    /// Makes `client-NAME.pem` and `client-NAME.key`.
    ///
    /// # Errors
    /// If they exist already, unless `force`, or cannot be written.
    pub fn issue_client(&self, name: &str, force: bool) -> Result<(), TlsError> {
        let params = client_params(name, self.days)?;
        self.issue(params, &format!("client-{name}"), force)
    }

    /// What it has issued.
    #[must_use]
    pub fn issued(&self) -> &Issued {
        &self.issued
    }

    /// Whether [`Authority::issue_node`] can make such a certificate.
    ///
    /// # Errors
    /// If a name is no name.
    pub fn check_node(node: MemberId, hosts: &[String]) -> Result<(), TlsError> {
        node_params(node, hosts, VALID_DAYS).map(drop)
    }

    /// Whether [`Authority::issue_client`] can make such a certificate.
    ///
    /// # Errors
    /// If it is no name for a client.
    pub fn check_client(name: &str) -> Result<(), TlsError> {
        client_params(name, VALID_DAYS).map(drop)
    }

    /// Makes `NAME.pem` and `NAME.key` anew, for the names and addresses of the former certificate,
    /// which stays valid until it expires or is revoked.
    ///
    /// # Errors
    /// If there is none of that name, or they cannot be written.
    pub fn renew(&self, name: &str) -> Result<(), TlsError> {
        let hosts = self.issued.read(name)?.hosts;
        let node = name.strip_prefix("node-").and_then(|number| number.parse().ok());
        match (node.and_then(MemberId::new), name.strip_prefix("client-")) {
            (Some(node), _) => self.issue_node(node, &hosts, true),
            (None, Some(client)) => self.issue_client(client, true),
            (None, None) => {
                let why = "it is neither node-K nor client-NAME".to_string();
                Err(TlsError::Name { name: name.to_string(), why })
            }
        }
    }

    /// Adds certificates, by their numbers, to the list of revoked ones, `crl.pem`. Nodes that have the
    /// new list refuse them.
    ///
    /// # Errors
    /// If the list cannot be read or written.
    pub fn revoke(&self, serials: &[Vec<u8>]) -> Result<(), TlsError> {
        let path = self.issued.folder.join(REVOKED);
        let mut all = self.issued.revoked()?;
        all.extend(serials.iter().cloned());
        all.sort();
        all.dedup();
        let since_1970 = since_1970();
        let now = rcgen::date_time_ymd(1970, 1, 1) + since_1970;
        let entry = |serial: Vec<u8>| RevokedCertParams {
            serial_number: SerialNumber::from_slice(&serial),
            revocation_time: now,
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: now - DAY,
            next_update: now + DAY * AUTHORITY_DAYS,
            crl_number: SerialNumber::from(since_1970.as_secs()),
            issuing_distribution_point: None,
            revoked_certs: all.into_iter().map(entry).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let list = list.signed_by(&self.issuer).and_then(|list| list.pem());
        write_anew(&path, &list.map_err(|why| unusable(Part::Revoked, why))?, 0o644)
    }

    fn issue(
        &self,
        mut params: CertificateParams,
        name: &str,
        force: bool,
    ) -> Result<(), TlsError> {
        // Strict verifiers, as Python's since 3.13, refuse a certificate without it.
        params.use_authority_key_identifier_extension = true;
        let key = new_key();
        let certificate = params.signed_by(&key, &self.issuer);
        let certificate = certificate.map_err(|why| name_error(name, &why))?;
        let pem = (&*certificate.pem(), &*key.serialize_pem());
        write(Files(name), &self.issued.folder, pem, force)
    }
}

fn write(
    files: Files<'_>,
    folder: &Path,
    (certificate, key): (&str, &str),
    force: bool,
) -> Result<(), TlsError> {
    let paths = [folder.join(files.key()), folder.join(files.certificate())];
    if let Some(path) = paths.iter().find(|path| !force && path.exists()) {
        return Err(TlsError::Exists { path: path.display().to_string() });
    }
    let [key_path, certificate_path] = &paths;
    write_anew(key_path, key, 0o600)?;
    write_anew(certificate_path, certificate, 0o644)
}

fn name_error(name: &str, why: &rcgen::Error) -> TlsError {
    TlsError::Name { name: name.to_string(), why: why.to_string() }
}

/// Replaces the whole file at once: the rights of an older one do not remain, and nobody reads half
/// of it.
fn write_anew(path: &Path, text: &str, rights: u32) -> Result<(), TlsError> {
    let write = || {
        let beside = path.with_extension("new");
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, rights);
        options.open(&beside)?.write_all(text.as_bytes())?;
        fs::rename(&beside, path)
    };
    write().map_err(|source| file_error(path, source))
}

#[expect(clippy::disallowed_methods, reason = "a certificate has the dates of the calendar")]
fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn node_params(node: MemberId, hosts: &[String], days: u32) -> Result<CertificateParams, TlsError> {
    let own = [node_host(node), "localhost".into(), "127.0.0.1".into(), "::1".into()];
    let mut names = own.to_vec();
    names.extend(hosts.iter().filter(|host| !own.contains(host)).cloned());
    let mut params = params(&format!("{NODE}{node}"), &names, days)?;
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    Ok(params)
}

fn client_params(name: &str, days: u32) -> Result<CertificateParams, TlsError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
        let why = "a client's name has 1 to 64 letters, digits, - or _".to_string();
        return Err(TlsError::Name { name: name.to_string(), why });
    }
    let mut params = params(&format!("{CLIENT}{name}"), &[], days)?;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    Ok(params)
}

/// What all certificates have in common. They are valid since yesterday, since clocks differ.
fn params(title: &str, hosts: &[String], days: u32) -> Result<CertificateParams, TlsError> {
    let mut params =
        CertificateParams::new(hosts).map_err(|why| name_error(&hosts.join(", "), &why))?;
    let now = rcgen::date_time_ymd(1970, 1, 1) + since_1970();
    params.not_before = now - DAY;
    params.not_after = now + DAY * days;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, title);
    Ok(params)
}

fn new_key() -> KeyPair {
    KeyPair::generate().expect("the system has a source of randomness")
}

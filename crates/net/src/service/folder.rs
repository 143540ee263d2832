//! A voter's folder: whether there is a log in it, whose, and how a new one begins.

use std::path::{Path, PathBuf};

use skeptron_member::{MemberId, fnv1a};
use skeptron_views::Record;
use skeptron_views::file::{FileDisk, FolderError};
use skeptron_views::log::{Expected, Found, LogError, VoterLog};
use skeptron_views::voter::{Identity, bootstrap_records};
use thiserror::Error;

use crate::config::{Init, VoterConfig};
use crate::env;

/// Why a node cannot use its folder.
#[derive(Debug, Error)]
pub enum DataError {
    /// The folder itself.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// What is in it.
    #[error("{}: {source}", folder.display())]
    Log {
        /// Which folder.
        folder: PathBuf,
        /// What is wrong.
        source: LogError,
    },
    /// The log of another cluster.
    #[error(
        "{}: the voter's log belongs to another cluster than {cluster:?}; correct `data` or `cluster`",
        folder.display()
    )]
    OtherCluster {
        /// Which folder.
        folder: PathBuf,
        /// As configured.
        cluster: String,
    },
    /// The cluster exists.
    #[error(
        "{by} already belongs to a cluster with the name {cluster:?}; start this node without --init, \
         or give the new cluster another name"
    )]
    Begun {
        /// Who says so.
        by: MemberId,
        /// The name.
        cluster: String,
    },
    /// No random numbers.
    #[error("the system provides no random numbers")]
    NoRandomness,
}

pub(super) type Log = VoterLog<FileDisk>;

/// What a node finds in its folder.
pub(super) enum Contents {
    /// Nothing; the folder is kept from others.
    Empty(FileDisk),
    /// The log of this voter.
    Log(Box<Log>, Found),
}

/// Looks into the folder, which is made if it is not there, and keeps other processes from it.
pub(super) fn open(folder: &Path, cluster: &str, me: MemberId) -> Result<Contents, DataError> {
    let failed = |error| FolderError::Io(folder.to_path_buf(), error);
    std::fs::create_dir_all(folder).map_err(failed)?;
    let disk = FileDisk::open(folder)?;
    let wrong = |source| DataError::Log { folder: folder.to_path_buf(), source };
    match VoterLog::open(disk, Expected { cluster: None, member: me }) {
        Ok((_, found)) if found.identity.cluster >> 64 != u128::from(fnv1a(cluster.bytes())) => {
            let (folder, cluster) = (folder.to_path_buf(), cluster.to_string());
            Err(DataError::OtherCluster { folder, cluster })
        }
        Ok((log, found)) => {
            if found.cut > 0 {
                tracing::warn!(bytes = found.cut, "truncated an incomplete last write");
            }
            Ok(Contents::Log(Box::new(log), found))
        }
        Err(LogError::Missing) => Ok(Contents::Empty(FileDisk::open(folder)?)),
        Err(source) => Err(wrong(source)),
    }
}

/// Begins a new cluster in an empty folder: this node is its first voter, the others that are
/// configured become voters when they enter.
pub(super) fn begin(
    disk: FileDisk,
    (cluster, me): (&str, MemberId),
    config: &VoterConfig,
    init: Init,
) -> Result<(Log, Found), DataError> {
    let drawn = env::random().map(u64::from_le_bytes).ok_or(DataError::NoRandomness)?;
    // The name is a part of the number, so that a folder of another cluster is noticed.
    let number = u128::from(fnv1a(cluster.bytes())) << 64 | u128::from(drawn);
    let wanted = config.voters.keys().copied().filter(|&id| id != me).collect();
    let records = bootstrap_records(number, init.lease, me, wanted, init.epoch_after);
    create(disk, Identity { cluster: number, member: me, raft: 1 }, records, config)
}

/// Begins the log of a voter that was added to a running cluster.
pub(super) fn join(
    disk: FileDisk,
    identity: Identity,
    config: &VoterConfig,
) -> Result<(Log, Found), DataError> {
    create(disk, identity, Vec::new(), config)
}

fn create(
    disk: FileDisk,
    identity: Identity,
    records: Vec<Record>,
    config: &VoterConfig,
) -> Result<(Log, Found), DataError> {
    let folder = config.data.clone().unwrap_or_default();
    let log = VoterLog::create(disk, identity, &records)
        .map_err(|source| DataError::Log { folder, source })?;
    Ok((log, Found { identity, records, cut: 0 }))
}

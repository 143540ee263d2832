//! A voter's log as an append-only file.
//!
//! ```text
//! file   = frame(header) frame(records)*
//! frame  = length: u32 · crc32(length): u32 · crc32(body): u32 · body        (little endian)
//! header = postcard of magic, format and identity;  records = postcard of Vec<Record>
//! ```
//! Each write is one frame and is synced before the next begins, so at most the last frame can be torn by a
//! crash: it was never reported as durable and is cut off. Damage before it is no crash, and is not repaired.

use std::io;

use serde::{Deserialize, Serialize};
use skeptron_member::MemberId;

use crate::disk::Disk;
use crate::store::Record;
use crate::voter::{Identity, Write};

const MAGIC: [u8; 8] = *b"skeptvlg";
const FORMAT: u32 = 3;
const HEAD: usize = 12;

/// Why a log cannot be used. Nothing was changed on the disk.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The folder is empty: a new machine, a lost disk, or the wrong folder.
    #[error(
        "there is no voter's log here: initialise a new cluster explicitly, or replace the voter \
         if it had one"
    )]
    Missing,
    /// An initialisation would destroy what is there.
    #[error(
        "there is already a voter's log here: a cluster is initialised only once; start this node \
         without --init, or, to replace the old cluster by a new one, stop all nodes and move this \
        folder away"
    )]
    Exists,
    /// The file begins like something else.
    #[error("the file is not a voter's log")]
    NotALog,
    /// Another version of the program wrote it.
    #[error(
        "the log has format {found}, this program reads format {FORMAT}: it was written by another version \
         of Skeptron; run that version"
    )]
    Format {
        /// In the file.
        found: u32,
    },
    /// The folder belongs to another cluster.
    #[error("the log belongs to cluster {found:032x}, this voter to {expected:032x}")]
    OtherCluster {
        /// In the file.
        found: u128,
        /// Configured.
        expected: u128,
    },
    /// The folder belongs to another voter of the cluster.
    #[error("the log belongs to {found}, this is {expected}")]
    OtherMember {
        /// In the file.
        found: MemberId,
        /// Configured.
        expected: MemberId,
    },
    /// Not what a crash leaves.
    #[error(
        "the log is damaged at byte {at}, before intact records: the disk is failing; replace the voter"
    )]
    Damaged {
        /// Where the damaged frame begins.
        at: usize,
    },
    /// Of the system. The process must end: what is on the disk is unknown.
    #[error("cannot use the log: {0}")]
    Io(#[from] io::Error),
}

/// Whose log is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The cluster, if it is configured by number.
    pub cluster: Option<u128>,
    /// The member.
    pub member: MemberId,
}

/// What an existing log holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Whose log it is.
    pub identity: Identity,
    /// For [`crate::voter::Voter::start`].
    pub records: Vec<Record>,
    /// Bytes of a last write that a crash had torn, and that were cut off.
    pub cut: usize,
}

#[derive(Serialize, Deserialize)]
struct Header {
    magic: [u8; 8],
    format: u32,
    identity: Identity,
}

/// The log of one voter, open for writing.
#[derive(Debug)]
pub struct VoterLog<D> {
    disk: D,
    identity: Identity,
}

impl<D: Disk> VoterLog<D> {
    /// Begins a log: the explicit initialisation of a voter, with
    /// [`first_records`](crate::voter::first_records) in a new cluster, without records for one that was
    /// added.
    ///
    /// # Errors
    /// [`LogError::Exists`] if there is a log, or of the system.
    pub fn create(mut disk: D, identity: Identity, records: &[Record]) -> Result<Self, LogError> {
        if disk.read()?.is_some() {
            return Err(LogError::Exists);
        }
        let mut log = VoterLog { disk, identity };
        log.rewrite(records)?;
        Ok(log)
    }

    /// Opens an existing log and cuts off a last write that was torn.
    ///
    /// # Errors
    /// Unless it is the intact log of this voter.
    pub fn open(mut disk: D, expected: Expected) -> Result<(Self, Found), LogError> {
        let bytes = disk.read()?.ok_or(LogError::Missing)?;
        let identity = check_header(&bytes, expected)?;
        let (records, whole) = read_records(&bytes)?;
        if whole < bytes.len() {
            disk.truncate(whole as u64)?;
            disk.sync()?;
        }
        let cut = bytes.len() - whole;
        Ok((VoterLog { disk, identity }, Found { identity, records, cut }))
    }

    /// Performs a write of [`Effect::Persist`](crate::voter::Effect::Persist). It is durable when this returns.
    ///
    /// # Errors
    /// Of the system; the process must end.
    pub fn write(&mut self, write: &Write) -> io::Result<()> {
        match write {
            Write::Append(records) => {
                self.disk.append(&frame(&encode(records)))?;
                self.disk.sync()
            }
            Write::Rewrite(records) => self.rewrite(records),
        }
    }

    fn rewrite(&mut self, records: &[Record]) -> io::Result<()> {
        let header = Header { magic: MAGIC, format: FORMAT, identity: self.identity };
        let mut bytes = frame(&encode(&header));
        bytes.extend(frame(&encode(records)));
        self.disk.write_new(&bytes)?;
        self.disk.sync_new()?;
        self.disk.rename_new()?;
        self.disk.sync_folder()
    }

    /// The disk, for a simulation that crashes it.
    pub fn disk_mut(&mut self) -> &mut D {
        &mut self.disk
    }

    /// The disk, when the voter is stopped.
    pub fn into_disk(self) -> D {
        self.disk
    }
}

fn encode(value: &(impl Serialize + ?Sized)) -> Vec<u8> {
    postcard::to_stdvec(value).expect("records fit into memory")
}

fn frame(body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).expect("a write is smaller than 4 GiB").to_le_bytes();
    let sums = [crc32fast::hash(&length).to_le_bytes(), crc32fast::hash(body).to_le_bytes()];
    [length.as_slice(), &sums[0], &sums[1], body].concat()
}

/// The body of the frame that begins there; none if it is not whole.
fn frame_at(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let word = |place: usize| {
        let bytes = bytes.get(at + 4 * place..at + 4 * place + 4)?;
        Some(<[u8; 4]>::try_from(bytes).expect("four bytes"))
    };
    let length = word(0)?;
    if word(1)? != crc32fast::hash(&length).to_le_bytes() {
        return None;
    }
    let end = (at + HEAD).checked_add(u32::from_le_bytes(length) as usize)?;
    let body = bytes.get(at + HEAD..end)?;
    (word(2)? == crc32fast::hash(body).to_le_bytes()).then_some(body)
}

fn check_header(bytes: &[u8], expected: Expected) -> Result<Identity, LogError> {
    let body = frame_at(bytes, 0).ok_or(LogError::NotALog)?;
    let (magic, format) = match postcard::take_from_bytes::<([u8; 8], u32)>(body) {
        Ok((start, _)) => start,
        Err(_) => return Err(LogError::NotALog),
    };
    if magic != MAGIC {
        return Err(LogError::NotALog);
    }
    if format != FORMAT {
        return Err(LogError::Format { found: format });
    }
    let Ok(Header { identity, .. }) = postcard::from_bytes(body) else {
        return Err(LogError::NotALog);
    };
    if let Some(cluster) = expected.cluster
        && cluster != identity.cluster
    {
        return Err(LogError::OtherCluster { found: identity.cluster, expected: cluster });
    }
    if identity.member != expected.member {
        return Err(LogError::OtherMember { found: identity.member, expected: expected.member });
    }
    Ok(identity)
}

/// The records of all whole frames, and where those end.
fn read_records(bytes: &[u8]) -> Result<(Vec<Record>, usize), LogError> {
    let mut at = HEAD + frame_at(bytes, 0).ok_or(LogError::NotALog)?.len();
    let mut records = Vec::new();
    let mut is_first = true;
    // The first frame of records came with the header, in a file that was synced before it got its name.
    while is_first || at < bytes.len() {
        let Some(body) = frame_at(bytes, at) else {
            // Something whole behind it means that it was whole once, too.
            if is_first || (at + 1..bytes.len()).any(|later| frame_at(bytes, later).is_some()) {
                return Err(LogError::Damaged { at });
            }
            break;
        };
        let Ok(more) = postcard::from_bytes::<Vec<Record>>(body) else {
            return Err(LogError::Damaged { at });
        };
        records.extend(more);
        is_first = false;
        at += HEAD + body.len();
    }
    Ok((records, at))
}

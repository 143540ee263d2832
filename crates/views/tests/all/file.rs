//! The log file: what a crash leaves is repaired, anything else is refused.

use std::time::Duration;

use skeptron_member::MemberId;
use skeptron_member::clock::MonoTime;
use skeptron_views::Record;
use skeptron_views::disk::{Disk, MemoryDisk};
use skeptron_views::file::{FileDisk, FolderError};
use skeptron_views::log::{Expected, Found, LogError, VoterLog};
use skeptron_views::protocol::Request;
use skeptron_views::views::{Join, LeaseSettings};
use skeptron_views::voter::{Effect, Identity, Options, Voter, Write, first_records};

const CLUSTER: u128 = 77;

fn member(number: u32) -> MemberId {
    MemberId::new(number).unwrap()
}

fn identity() -> Identity {
    Identity { cluster: CLUSTER, member: member(1), raft: 1 }
}

fn expected() -> Expected {
    Expected { cluster: Some(CLUSTER), member: member(1) }
}

fn created<D: Disk>(disk: D) -> VoterLog<D> {
    let records = first_records(CLUSTER, LeaseSettings::default(), &[member(1)]);
    VoterLog::create(disk, identity(), &records).unwrap()
}

/// The writes of a single voter that elects itself and lets some lives in.
fn writes(lives: u64, keep_entries: usize) -> Vec<Write> {
    let mut now = MonoTime::from_nanos(0);
    let mut out = Vec::new();
    let records = first_records(CLUSTER, LeaseSettings::default(), &[member(1)]);
    let options = Options { keep_entries, ..Options::default() };
    let mut voter = Voter::start(now, identity(), options, records, &mut out).unwrap();
    let mut writes = Vec::new();
    let mut life = 0;
    while life < lives {
        now = now.after(Duration::from_millis(50));
        voter.tick(now, &mut out);
        if voter.leads() {
            life += 1;
            let join = Join {
                id: member(2),
                incarnation: life,
                address: "a:1".into(),
                api: Vec::new(),
                plans: 0,
                algorithms: String::new(),
                has_folder: true,
                version: 1,
            };
            voter.request(now, member(2), Request::Enter { join, number: 1 }, &mut out);
            let leave = Request::Leave { incarnation: life };
            voter.request(now, member(2), leave, &mut out);
        }
        while let Some(place) = out.iter().position(|e| matches!(e, Effect::Persist { .. })) {
            let Effect::Persist { number, write } = out.remove(place) else { unreachable!() };
            writes.push(write);
            voter.persisted(now, number, &mut out);
        }
        out.clear();
    }
    writes
}

fn open(bytes: &[u8]) -> Result<Found, LogError> {
    VoterLog::open(MemoryDisk::with_file(bytes.to_vec()), expected()).map(|(_, found)| found)
}

/// The file after each write, and the records that it holds.
fn history() -> Vec<(Vec<u8>, Vec<Record>)> {
    let mut log = created(MemoryDisk::default());
    let mut history = Vec::new();
    for write in [None].into_iter().chain(writes(6, 1000).into_iter().map(Some)) {
        if let Some(write) = write {
            log.write(&write).unwrap();
        }
        let bytes = log.disk_mut().bytes().unwrap().to_vec();
        history.push((bytes.clone(), open(&bytes).unwrap().records));
    }
    history
}

#[test]
fn torn_at_every_byte_it_gives_back_exactly_the_whole_writes() {
    let history = history();
    let (whole, _) = history.last().unwrap();
    let first = history[0].0.len();
    for length in first..=whole.len() {
        let found = open(&whole[..length]).unwrap();
        let (kept, records) =
            history.iter().rev().find(|(bytes, _)| bytes.len() <= length).unwrap();
        assert_eq!(&found.records, records, "cut at byte {length}");
        assert_eq!(found.cut, length - kept.len());
    }
    for length in 0..first {
        assert!(open(&whole[..length]).is_err(), "a beginning of {length} bytes is no log");
    }
    println!("{} writes, {} bytes", history.len(), whole.len());
}

#[test]
fn flipped_bits_before_the_last_write_refuse_to_start() {
    let history = history();
    let (whole, _) = history.last().unwrap();
    let (before, records) = &history[history.len() - 2];
    for at in 0..before.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        let error = open(&bytes).unwrap_err();
        assert!(matches!(error, LogError::Damaged { .. } | LogError::NotALog), "byte {at}");
    }
    for at in before.len()..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        assert_eq!(&open(&bytes).unwrap().records, records, "a torn last write is cut off");
    }
}

#[test]
fn a_write_killed_at_each_step_leaves_the_old_or_the_new_records() {
    let (appended, rewritten) = (writes(3, 1000), writes(3, 2));
    assert!(rewritten.iter().any(|write| matches!(write, Write::Rewrite(_))));
    for writes in [appended, rewritten] {
        for (killed, write) in writes.iter().enumerate() {
            for step in 0..5 {
                for choice in 0..8 {
                    kill(&writes[..killed], write, step, choice);
                }
            }
        }
    }
}

fn kill(done: &[Write], last: &Write, step: u32, mut choice: u64) {
    let mut log = created(MemoryDisk::default());
    for write in done {
        log.write(write).unwrap();
    }
    let (_, old) = VoterLog::open(log.disk_mut().clone(), expected()).unwrap();
    let mut finished = VoterLog::open(log.disk_mut().clone(), expected()).unwrap().0;
    finished.write(last).unwrap();
    let (_, new) = VoterLog::open(finished.into_disk(), expected()).unwrap();

    let mut disk = log.into_disk();
    disk.fail_after(1 + step); // opening reads once
    let mut log = VoterLog::open(disk, expected()).unwrap().0;
    let result = log.write(last);
    let mut disk = log.into_disk();
    disk.crash(|n| {
        let drawn = (choice % 2) * (n - 1);
        choice /= 2;
        drawn
    });
    let (_, found) = VoterLog::open(disk, expected()).unwrap();
    assert!(found.records == old.records || found.records == new.records);
    assert!(result.is_err() || found.records == new.records, "a finished write is durable");
}

#[test]
fn foreign_missing_and_present_logs_are_refused() {
    let bytes = &history()[0].0;
    let with = |expected| {
        VoterLog::open(MemoryDisk::with_file(bytes.clone()), expected).map(|_| ()).unwrap_err()
    };
    let other_cluster = with(Expected { cluster: Some(78), ..expected() });
    assert!(matches!(other_cluster, LogError::OtherCluster { found: CLUSTER, expected: 78 }));
    let other_member = with(Expected { member: member(2), ..expected() });
    assert!(matches!(other_member, LogError::OtherMember { .. }));
    let missing = VoterLog::open(MemoryDisk::default(), expected()).unwrap_err();
    assert!(matches!(missing, LogError::Missing));
    let again = VoterLog::create(MemoryDisk::with_file(bytes.clone()), identity(), &[]);
    assert!(matches!(again.unwrap_err(), LogError::Exists));
    let text = VoterLog::open(MemoryDisk::with_file(b"hello, world".to_vec()), expected());
    assert!(matches!(text.unwrap_err(), LogError::NotALog));
}

#[test]
fn a_folder_is_used_by_one_process_and_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let open = || FileDisk::open(folder.path());
    let missing = VoterLog::open(open().unwrap(), expected()).unwrap_err();
    assert!(matches!(missing, LogError::Missing));
    let mut log = created(open().unwrap());
    assert!(matches!(open().unwrap_err(), FolderError::InUse(_)));
    let writes = writes(5, 3);
    for write in &writes {
        log.write(write).unwrap();
    }
    drop(log);
    let mut memory = created(MemoryDisk::default());
    for write in &writes {
        memory.write(write).unwrap();
    }
    let (_, in_memory) = VoterLog::open(memory.into_disk(), expected()).unwrap();
    let (log, found) = VoterLog::open(open().unwrap(), expected()).unwrap();
    assert_eq!(found, in_memory);
    drop(log);
    let no_folder = FileDisk::open(&folder.path().join("absent")).unwrap_err();
    assert!(matches!(no_folder, FolderError::Io(..)));
}

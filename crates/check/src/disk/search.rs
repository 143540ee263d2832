//! The search itself: levels are expanded, merged and saved.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::buffer::parent_and_step;
use super::format::{HEADER, Reader, Stored, Writer, put, put_row, read_all};
use super::manifest::{MANIFEST, Manifest, restored, saved, sync, write_atomically};
use super::merge::{Merged, Source, merge, merge_runs};
use super::seen::Seen;
use super::worker::{Shared, Worker};
use super::{DiskError, Folder, Persistent};
use crate::check::is_set;
use crate::expand::{Finding, Shortest};
use crate::explorer::{Found, Limits, is_enough};
use crate::model::{Coded as _, Row as _};
use crate::property::Property;

/// Between two levels it is saved if that takes no more than one part in so many of the time.
const WORTH_SAVING: u32 = 20;
/// More than this is not kept free for reading and writing.
const MOST_RESERVED: usize = 256 << 20;
/// A system allows a thousand open files or so.
const MOST_OPEN: usize = 400;
/// How long blocks of links are, always: so that one can be found without reading the others.
const LINKS_BLOCK: usize = 1 << 16;

/// Explores everything that can happen in a model, in a folder of its own: from the beginning, or from where it
/// was saved last.
pub(crate) fn explore<'a, G: Persistent>(
    model: &'a G,
    limits: &Limits<'_>,
    folder: &Folder,
    name: &str,
) -> Result<Found<'a, G>, DiskError> {
    let mut search = Search::open(model, limits, folder, name)?;
    let mut out_of_memory = false;
    while search.manifest.ended.is_none() {
        match search.level()? {
            Went::On => {}
            Went::Stopped => break,
            Went::Full => {
                out_of_memory = true;
                break;
            }
        }
    }
    search.found(out_of_memory)
}

/// How a level ended.
enum Went {
    On,
    Stopped,
    Full,
}

/// A search before its first step.
fn begin<G: Persistent>(
    model: &G,
    start: u64,
    dir: &Path,
    block: usize,
) -> Result<Manifest, DiskError> {
    let mut level = Writer::create(dir.join("level-0"), block)?;
    let (mut row, mut bytes) = (Vec::new(), Vec::new());
    model.start().encode(model.nodes(), &mut row);
    put_row(&mut bytes, &row);
    level.record(|out| {
        out.extend(start.to_le_bytes());
        put(out, bytes.len() as u64);
        out.extend(&bytes);
    })?;
    let seen = if model.knows_depth() {
        None
    } else {
        let mut seen = Writer::create(dir.join("seen-0"), block)?;
        seen.record(|out| out.extend(start.to_le_bytes()))?;
        Some(seen.finish()?)
    };
    let grows = |name: &str| Stored { name: name.into(), bytes: 0, records: 0 };
    Ok(Manifest {
        start,
        states: 1,
        transitions: 0,
        depth: 0,
        explored: 0,
        met_again: false,
        findings: Vec::new(),
        level: level.finish()?,
        at: 0,
        runs: Vec::new(),
        links: Vec::new(),
        seen,
        numbers: grows("numbers"),
        numbered: [0; 2],
        digest: 0,
        record: grows("record"),
        next_file: 1,
        seconds: 0.0,
        peak_bytes: 0,
        disk_bytes: 0,
        ended: None,
    })
}

/// Removes what was written after the search was saved last.
fn remove_strays(dir: &Path, known: Option<&Manifest>) -> Result<(), DiskError> {
    let failed = |e| DiskError::io("read", dir, &e);
    for entry in fs::read_dir(dir).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let named = |known: &Manifest| known.files().any(|stored| name == stored.name.as_str());
        if name != MANIFEST && !known.is_some_and(named) {
            let path = dir.join(name);
            fs::remove_file(&path).map_err(|e| DiskError::io("remove", &path, &e))?;
        }
    }
    Ok(())
}

struct Search<'a, 's, G: Persistent> {
    model: &'a G,
    limits: &'s Limits<'s>,
    dir: PathBuf,
    workers: Vec<Worker<'a, G>>,
    manifest: Manifest,
    findings: Shortest,
    next_file: AtomicU64,
    /// Files that the manifest on disk still names.
    obsolete: Vec<String>,
    /// Files that it does not name yet.
    unsaved: Vec<String>,
    save_every: Duration,
    saved_at: Instant,
    /// How long that took.
    saving: Duration,
    began: Instant,
    earlier_seconds: f64,
    /// Kept free for reading and writing; how long blocks are, and how many runs are merged at once.
    reserved: usize,
    block: usize,
    fan_in: usize,
}

impl<'a, 's, G: Persistent> Search<'a, 's, G> {
    fn open(
        model: &'a G,
        limits: &'s Limits<'s>,
        folder: &Folder,
        name: &str,
    ) -> Result<Self, DiskError> {
        let dir = folder.search(name);
        let known = Manifest::read(&dir)?;
        match fs::create_dir(&dir) {
            Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => {
                return Err(DiskError::io("create", &dir, &e));
            }
            _ => remove_strays(&dir, known.as_ref())?,
        }
        let threads = limits.threads.max(1);
        let reserved = (limits.max_memory / 4).min(MOST_RESERVED);
        let block = (reserved / (64 + 4 * threads)).clamp(1 << 12, 1 << 18);
        let start = model.fingerprint(&mut model.memory(false), model.start());
        let is_new = known.is_none();
        let manifest = match known {
            Some(manifest) => {
                let damaged = |how: &str| DiskError::damaged(dir.join(MANIFEST), how);
                let log = read_all(&dir, &manifest.numbers)?;
                if model.renumber(&log) != Some(manifest.numbered)
                    || manifest.start != start
                    || manifest.digest != model.digest()
                {
                    return Err(damaged("another build of skeptron has other node states"));
                }
                manifest
            }
            None => begin(model, start, &dir, block)?,
        };
        let workers = (0..threads).map(|_| Worker::new(model, limits.reduction)).collect();
        let mut search = Search {
            model,
            limits,
            workers,
            findings: restored(&manifest.findings),
            next_file: AtomicU64::new(manifest.next_file),
            obsolete: Vec::new(),
            unsaved: manifest.files().map(|stored| stored.name.clone()).collect(),
            save_every: folder.save_every,
            saved_at: Instant::now(),
            saving: Duration::ZERO,
            began: Instant::now(),
            earlier_seconds: manifest.seconds,
            reserved,
            block,
            fan_in: (reserved.saturating_sub(LINKS_BLOCK) / block)
                .saturating_sub(8)
                .clamp(2, MOST_OPEN),
            dir,
            manifest,
        };
        if is_new {
            search.save()?;
        }
        Ok(search)
    }

    fn name(&self, kind: &str) -> String {
        format!("{kind}-{}", self.next_file.fetch_add(1, Ordering::Relaxed))
    }

    fn is_stopped(&self) -> bool {
        is_set(self.limits.stop)
    }

    /// Expands what is left of the level and merges the next one.
    fn level(&mut self) -> Result<Went, DiskError> {
        loop {
            let is_full = self.expand()?;
            let is_over = self.manifest.at == self.manifest.level.bytes;
            if is_over {
                break;
            }
            self.spill()?;
            self.save()?;
            if is_full || self.is_stopped() {
                return Ok(if is_full { Went::Full } else { Went::Stopped });
            }
        }
        if self.merge_level()? == Merged::Stopped {
            self.spill()?;
            self.save()?;
            return Ok(Went::Stopped);
        }
        let is_last = self.manifest.level.records == 0;
        if is_last || is_enough(self.model, self.limits, self.findings.violated()) {
            self.manifest.ended = Some(is_last);
        }
        let pause = (WORTH_SAVING * self.saving).min(self.save_every);
        let is_time = self.saved_at.elapsed() >= pause;
        if self.manifest.ended.is_some() || self.is_stopped() || is_time {
            self.save()?;
        }
        Ok(if self.is_stopped() { Went::Stopped } else { Went::On })
    }

    /// Lets all workers expand states of the level: until none is left, or it is time to save, or to stop.
    /// Returns whether the memory is full.
    fn expand(&mut self) -> Result<bool, DiskError> {
        let Manifest { states, depth, .. } = self.manifest;
        let level = Reader::open(&self.dir, &self.manifest.level, self.manifest.at)?;
        let shared = Shared {
            model: self.model,
            limits: self.limits,
            dir: &self.dir,
            level: Mutex::new(level),
            level_states: self.manifest.level.records,
            states,
            depth,
            expanded: AtomicU64::new(0),
            next_file: &self.next_file,
            until: self.saved_at + self.save_every,
            began: self.began,
            earlier_seconds: self.earlier_seconds,
            buffers: self.limits.max_memory - self.reserved,
            block: self.block,
            is_full: AtomicBool::new(false),
            failed: Mutex::new(None),
        };
        let is_small = self.manifest.level.bytes - self.manifest.at <= 2 * self.block as u64;
        let threads = if is_small { 1 } else { self.workers.len() };
        let (first, others) = self.workers[..threads].split_first_mut().expect("one at least");
        thread::scope(|scope| {
            for worker in others {
                let shared = &shared;
                scope.spawn(move || worker.run(shared, false));
            }
            first.run(&shared, true);
        });
        let Shared { level, is_full, failed, .. } = shared;
        if let Some(error) = failed.into_inner().expect("no thread panics while it holds this lock")
        {
            return Err(error);
        }
        let level = level.into_inner().expect("no thread panics while it holds this lock");
        self.manifest.at = level.at();
        let memories = self.workers.iter().map(|w| G::memory_bytes(&w.expander.memory));
        let held = memories.sum::<usize>() + self.model.bytes();
        let buffers: usize = self.workers.iter_mut().map(Worker::take_peak).sum();
        let blocks = 2 * threads * self.block;
        self.note_peak(held + buffers + blocks);
        for worker in &mut self.workers {
            self.manifest.transitions += std::mem::take(&mut worker.expander.transitions);
            self.findings.add(self.manifest.depth, &mut worker.expander.findings);
            let spilled = std::mem::take(&mut worker.spilled);
            self.unsaved.extend(spilled.iter().map(|run| run.name.clone()));
            self.manifest.runs.extend(spilled);
        }
        self.note_disk();
        Ok(is_full.into_inner())
    }

    fn note_peak(&mut self, bytes: usize) {
        self.manifest.peak_bytes = self.manifest.peak_bytes.max(bytes);
    }

    fn note_disk(&mut self) {
        let bytes = self.manifest.files().map(|stored| stored.bytes).sum();
        self.manifest.disk_bytes = self.manifest.disk_bytes.max(bytes);
    }

    /// Writes all buffers as runs.
    fn spill(&mut self) -> Result<(), DiskError> {
        for worker in &mut self.workers {
            worker.spill(&self.dir, &self.next_file, self.block, usize::MAX)?;
            let spilled = std::mem::take(&mut worker.spilled);
            self.unsaved.extend(spilled.iter().map(|run| run.name.clone()));
            self.manifest.runs.extend(spilled);
        }
        self.note_disk();
        Ok(())
    }

    /// Merges what was reached into the next level.
    fn merge_level(&mut self) -> Result<Merged, DiskError> {
        let stop = self.limits.stop;
        let is_stopped = || is_set(stop);
        let buffers = self.workers.iter().filter(|worker| worker.buffer.len() > 0).count();
        while self.manifest.runs.len() + buffers > self.fan_in.max(buffers + 1) {
            let count = self.fan_in.min(self.manifest.runs.len());
            let name = self.name("run");
            let runs = &self.manifest.runs[..count];
            let Some(merged) = merge_runs(&self.dir, runs, &name, self.block, &is_stopped)? else {
                return Ok(Merged::Stopped);
            };
            let old = self.manifest.runs.drain(..count);
            self.obsolete.extend(old.map(|run| run.name));
            self.unsaved.push(merged.name.clone());
            self.manifest.runs.push(merged);
            self.note_disk();
        }
        let mut sources: Vec<Source<'_>> = Vec::new();
        for run in &self.manifest.runs {
            sources.push(Source::run(&self.dir, run)?);
        }
        let filled = self.workers.iter().filter(|worker| worker.buffer.len() > 0);
        sources.extend(filled.map(|worker| Source::buffer(&worker.buffer)));
        let blocks = (self.manifest.runs.len() + 5) * self.block + LINKS_BLOCK;
        let names = ["level", "links", "seen"].map(|kind| self.name(kind));
        let create = |name: &String, block| Writer::create(self.dir.join(name), block);
        let mut level = create(&names[0], self.block)?;
        let mut links = create(&names[1], LINKS_BLOCK)?;
        let open = |seen| Seen::open(&self.dir, seen, &names[2], self.block);
        let mut filter = self.manifest.seen.as_ref().map(open).transpose()?;
        let merged = merge(sources, &is_stopped, |reached| {
            if let Some(filter) = &mut filter
                && !filter.is_new(reached.fingerprint)?
            {
                return Ok(());
            }
            links.record(|out| out.extend(reached.origin.to_le_bytes()))?;
            level.record(|out| {
                out.extend(reached.fingerprint.to_le_bytes());
                put(out, reached.row.len() as u64);
                out.extend(reached.row);
            })
        })?;
        let buffers: usize = self.workers.iter().map(|worker| worker.buffer.bytes()).sum();
        let memories = self.workers.iter().map(|w| G::memory_bytes(&w.expander.memory));
        let held = memories.sum::<usize>() + self.model.bytes();
        if merged == Merged::Stopped {
            self.obsolete.extend(names);
            return Ok(Merged::Stopped);
        }
        let (level, links) = (level.finish()?, links.finish()?);
        let filtered = filter.map(Seen::finish).transpose()?;
        self.note_peak(held + buffers + blocks);
        for worker in &mut self.workers {
            let keep = self.limits.max_memory / 8 / self.limits.threads.max(1);
            worker.buffer.clear(keep);
        }
        self.manifest.disk_bytes = {
            let new =
                level.bytes + links.bytes + filtered.as_ref().map_or(0, |(seen, _)| seen.bytes);
            let old: u64 = self.manifest.files().map(|stored| stored.bytes).sum();
            self.manifest.disk_bytes.max(old + new)
        };
        self.unsaved.extend(names);
        let manifest = &mut self.manifest;
        let old = std::iter::once(std::mem::replace(&mut manifest.level, level));
        let old = old.chain(manifest.runs.drain(..)).chain(manifest.seen.take());
        self.obsolete.extend(old.map(|stored| stored.name));
        if let Some((seen, met_again)) = filtered {
            manifest.seen = Some(seen);
            manifest.met_again |= met_again;
        }
        manifest.links.push(links);
        manifest.at = 0;
        manifest.states += manifest.level.records;
        manifest.explored = manifest.depth;
        manifest.depth += 1;
        Ok(Merged::All)
    }

    /// Saves the search as it is between two blocks. Whatever happens afterwards, it can be resumed from here.
    fn save(&mut self) -> Result<(), DiskError> {
        let began = Instant::now();
        let mut log = Vec::new();
        self.model.numbering(&mut self.manifest.numbered, &mut log);
        self.manifest.numbers = self.append(&self.manifest.numbers, &log)?;
        self.manifest.digest = self.model.digest();
        log.clear();
        for worker in &mut self.workers {
            G::drain_record(&mut worker.expander.memory, &mut log);
        }
        self.manifest.record = self.append(&self.manifest.record, &log)?;
        self.manifest.next_file = self.next_file.load(Ordering::Relaxed);
        self.manifest.findings = saved(&self.findings);
        self.manifest.seconds = self.earlier_seconds + self.began.elapsed().as_secs_f64();
        let named: Vec<&str> = self.manifest.files().map(|stored| stored.name.as_str()).collect();
        for name in self.unsaved.drain(..).filter(|name| named.contains(&name.as_str())) {
            sync(&self.dir.join(name))?;
        }
        for grown in [&self.manifest.numbers, &self.manifest.record] {
            sync(&self.dir.join(&grown.name))?;
        }
        write_atomically(&self.dir.join(MANIFEST), &self.manifest)?;
        for name in self.obsolete.drain(..) {
            // If it stays, the next one that resumes removes it.
            let _ = fs::remove_file(self.dir.join(name));
        }
        (self.saved_at, self.saving) = (Instant::now(), began.elapsed());
        Ok(())
    }

    fn append(&self, to: &Stored, what: &[u8]) -> Result<Stored, DiskError> {
        let mut writer = Writer::append(&self.dir, to, self.block)?;
        for part in what.chunks(self.block) {
            writer.record(|out| out.extend(part))?;
        }
        writer.finish()
    }

    /// What the search came to so far.
    fn found(mut self, out_of_memory: bool) -> Result<Found<'a, G>, DiskError> {
        let mut found = Found::new(self.limits.reduction);
        found.states = self.manifest.states;
        found.transitions = self.manifest.transitions;
        found.depth = self.manifest.explored;
        found.complete = self.manifest.ended == Some(true);
        found.out_of_memory = out_of_memory;
        found.peak_bytes = self.manifest.peak_bytes;
        found.disk_bytes = self.manifest.disk_bytes;
        found.earlier_seconds = self.earlier_seconds;
        found.met_again = self.manifest.met_again;
        for property in Property::ALL {
            if let Some((depth, finding)) = self.findings.0[property as usize] {
                found.runs[property as usize] = Some(self.run_to(depth, finding)?);
            }
        }
        found.memories = self.workers.drain(..).map(|worker| worker.expander.memory).collect();
        if self.limits.reduction && found.complete {
            let record = read_all(&self.dir, &self.manifest.record)?;
            let recalled = G::recall(&mut found.memories[0], &record);
            recalled.ok_or_else(|| self.damaged(&self.manifest.record.name))?;
        }
        Ok(found)
    }

    fn damaged(&self, name: &str) -> DiskError {
        DiskError::damaged(self.dir.join(name), "it is not what was written")
    }

    /// The moves to a finding, read from its level back to the first. They must lead there.
    fn run_to(&self, depth: usize, finding: Finding) -> Result<Vec<u16>, DiskError> {
        let mut codes: Vec<u16> = finding.step.into_iter().collect();
        let mut number = finding.number;
        for links in self.manifest.links[..depth].iter().rev() {
            let (parent, step) = self.link(links, number)?;
            codes.push(step);
            number = parent;
        }
        codes.reverse();
        let before = codes.len() - usize::from(finding.step.is_some());
        if self.replayed(&codes[..before]) != Some(finding.fingerprint) {
            let damaged = self.manifest.links[..depth].last().map(|links| links.name.clone());
            return Err(self.damaged(&damaged.unwrap_or_default()));
        }
        Ok(codes)
    }

    /// How a state was reached: from which one of the level before, by which step.
    fn link(&self, links: &Stored, number: u64) -> Result<(u64, u16), DiskError> {
        let per_block = LINKS_BLOCK as u64 / 8;
        let block = number / per_block * (LINKS_BLOCK + HEADER) as u64;
        let mut payload = Vec::new();
        Reader::open(&self.dir, links, block)?.next(&mut payload)?;
        let at = 8 * (number % per_block) as usize;
        let link = payload.get(at..).and_then(|rest| rest.first_chunk());
        let link = link.ok_or_else(|| self.damaged(&links.name))?;
        Ok(parent_and_step(u64::from_le_bytes(*link)))
    }

    /// The fingerprint of the state that these moves lead to. `None` if one of them is impossible.
    fn replayed(&self, codes: &[u16]) -> Option<u64> {
        let mut memory = self.model.memory(false);
        let mut state = self.model.start().clone();
        let mut moves = Vec::new();
        for &code in codes {
            self.model.moves(&mut memory, &state, &mut moves);
            let step = moves.iter().copied().find(|&step| step.code() == code)?;
            self.model.take(&mut memory, &mut state, step);
        }
        Some(self.model.fingerprint(&mut memory, &state))
    }
}

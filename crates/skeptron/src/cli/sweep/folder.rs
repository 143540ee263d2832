//! The folder of a sweep: what was asked, a line for each finished run, and the tables.
//!
//! A line is appended as soon as its run has ended, and has a checksum: after a crash, lines that are torn are
//! dropped and their runs are made again. A finished file has its lines in the order of the runs, so that it does
//! not depend on what ran when and where.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::output::OutputFile;
use super::super::work::Shard;
use super::page;
use crate::ask::sweep::{Measured, Outcome, Sweep, Table, field, parquet, shown};

/// What a folder is the sweep of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Begun {
    /// The version that began it: another one may give other figures.
    skeptron: String,
    /// The name of the file, and what it says.
    file: String,
    text: String,
    /// Other files that it names, with their checksums.
    inputs: BTreeMap<String, String>,
}

const BEGUN: &str = "sweep.json";

impl Begun {
    pub(super) fn new(file: &Path, text: String, sweep: &Sweep) -> Result<Self> {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let inputs = inputs(sweep)?;
        Ok(Begun { skeptron: env!("CARGO_PKG_VERSION").into(), file: name, text, inputs })
    }

    /// What that folder is the sweep of.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(BEGUN);
        let what = || format!("{} is no folder of a sweep", folder.display());
        let text = fs::read_to_string(&path).with_context(what)?;
        serde_json::from_str(&text).with_context(|| path.display().to_string())
    }

    pub(super) fn sweep(&self) -> Result<Sweep> {
        Sweep::parse(&self.file, &self.text)
    }

    /// Refuses to mix runs of two sweeps.
    pub(super) fn is_same_as(&self, other: &Begun, mine: &Path, theirs: &Path) -> Result<()> {
        let (mine, theirs) = (mine.display(), theirs.display());
        let instead = "choose another folder with --out, or remove that one";
        ensure!(
            self.skeptron == other.skeptron,
            "{mine} was begun by skeptron {}, {theirs} by {}: figures may differ; {instead}",
            self.skeptron,
            other.skeptron
        );
        for (path, sum) in &self.inputs {
            ensure!(
                other.inputs.get(path) == Some(sum),
                "{path} is not what it was when {mine} was begun; {instead}"
            );
        }
        if self.text != other.text || self.inputs != other.inputs {
            // Comments may differ.
            ensure!(
                self.sweep()? == other.sweep()? && self.inputs == other.inputs,
                "{mine} and {theirs} are of different sweeps; {instead}"
            );
        }
        Ok(())
    }
}

/// The files that options name.
fn inputs(sweep: &Sweep) -> Result<BTreeMap<String, String>> {
    let values = sweep.points.iter().flat_map(|point| point.values.iter().skip(1));
    let texts: BTreeSet<&str> = values.filter_map(Value::as_str).collect();
    let mut inputs = BTreeMap::new();
    for text in texts {
        let named = ["file:", "matrix:", "rtt:"].iter().find_map(|kind| text.strip_prefix(kind));
        let path = named.unwrap_or(text);
        if Path::new(path).is_file() {
            let content = fs::read(path).with_context(|| path.to_string())?;
            inputs.insert(path.into(), format!("{:08x}", crc32fast::hash(&content)));
        }
    }
    Ok(inputs)
}

/// The finished runs.
pub(super) struct Runs<'a> {
    pub(super) sweep: &'a Sweep,
    /// The line of each run, by its number.
    lines: Vec<Option<Box<str>>>,
    /// How many lines could not be used.
    pub(super) dropped: usize,
}

impl<'a> Runs<'a> {
    pub(super) fn new(sweep: &'a Sweep) -> Self {
        Runs { sweep, lines: vec![None; sweep.runs()], dropped: 0 }
    }

    pub(super) fn has(&self, run: usize) -> bool {
        self.lines[run].is_some()
    }

    pub(super) fn add(&mut self, run: usize, line: String) {
        self.lines[run] = Some(line.into());
    }

    /// What came of all of them.
    pub(super) fn measured(&self) -> Result<Vec<Measured>> {
        let measured = |line: &Option<Box<str>>| {
            let line = line.as_deref().context("every run has ended")?;
            Ok(parsed(self.sweep, line).context("every line was read or written here")?.1)
        };
        self.lines.iter().map(measured).collect()
    }

    fn read(&mut self, path: &Path) -> Result<()> {
        let content = fs::read(path).with_context(|| path.display().to_string())?;
        let header = header(self.sweep);
        for line in content.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            if line == header.as_bytes() {
                continue;
            }
            let text = std::str::from_utf8(line).ok();
            match text.and_then(|text| Some((parsed(self.sweep, text)?.0, text))) {
                Some((run, text)) => self.add(run, text.into()),
                None => self.dropped += 1,
            }
        }
        Ok(())
    }

    fn write(&self, shard: Option<Shard>, out: &mut dyn Write) -> std::io::Result<()> {
        writeln!(out, "{}", header(self.sweep))?;
        let is_mine = |run: usize| shard.is_none_or(|shard| shard.has(run));
        let lines = self.lines.iter().enumerate().filter(|(run, _)| is_mine(*run));
        for line in lines.filter_map(|(_, line)| line.as_deref()) {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }
}

fn header(sweep: &Sweep) -> String {
    format!("run,{},seed,outcome,{},check", sweep.columns.join(","), sweep.figures.join(","))
}

/// A run as a line.
pub(super) fn line(sweep: &Sweep, run: usize, measured: &Measured) -> String {
    let (point, seed) = sweep.run(run);
    let mut fields = vec![run.to_string()];
    let values = sweep.points[point].values.iter();
    fields.extend(values.map(|value| field(&shown(value)).into_owned()));
    fields.extend([seed.to_string(), measured.outcome.name().to_string()]);
    fields.extend(sweep.figures.iter().map(|figure| {
        let found = measured.figures.iter().find(|(name, _)| name == figure);
        found.map_or(String::new(), |(_, value)| value.to_string())
    }));
    let line = fields.join(",");
    format!("{line},{:08x}", crc32fast::hash(line.as_bytes()))
}

/// The run that a line is of; none if it is torn, or of another sweep.
fn parsed(sweep: &Sweep, line: &str) -> Option<(usize, Measured)> {
    let (line, check) = line.rsplit_once(',')?;
    if check != format!("{:08x}", crc32fast::hash(line.as_bytes())) {
        return None;
    }
    let run = line.split(',').next()?.parse().ok().filter(|&run| run < sweep.runs())?;
    // Only what an option is can have a comma.
    let mut fields: Vec<&str> = line.rsplitn(sweep.figures.len() + 2, ',').collect();
    fields.reverse();
    let mut fields = fields.into_iter().skip(1);
    let outcome = Outcome::named(fields.next()?)?;
    let mut figures = Vec::new();
    for (&name, value) in sweep.figures.iter().zip(fields) {
        if !value.is_empty() {
            figures.push((name, value.parse().ok()?));
        }
    }
    Some((run, Measured { outcome, figures }))
}

/// Where lines are appended.
pub(super) struct Journal(Mutex<File>);

impl Journal {
    /// Writes a line at once, so that it outlives this process.
    pub(super) fn append(&self, line: &str) -> Result<()> {
        let mut file = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.write_all(format!("{line}\n").as_bytes())
            .context("a finished run cannot be written down")
    }
}

pub(super) struct Folder {
    path: PathBuf,
    header: String,
}

impl Folder {
    /// Makes the folder, or goes on with it.
    ///
    /// # Errors
    /// If it is of another sweep, or cannot be made.
    pub(super) fn open(path: &Path, begun: &Begun) -> Result<Self> {
        let name = || path.display().to_string();
        fs::create_dir_all(path).with_context(name)?;
        let sweep = begun.sweep()?;
        if path.join(BEGUN).exists() {
            Begun::read(path)?.is_same_as(begun, path, Path::new(&begun.file))?;
        } else {
            let mut text = serde_json::to_vec_pretty(begun)?;
            text.push(b'\n');
            let file = OutputFile::create("--out", &path.join(BEGUN))?;
            file.write(|out| out.write_all(&text))?;
        }
        Ok(Folder { path: path.into(), header: header(&sweep) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads all finished runs, those of shards included.
    pub(super) fn read(&self, runs: &mut Runs<'_>) -> Result<()> {
        let name = || self.path.display().to_string();
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.path).with_context(name)? {
            let name = entry.with_context(name)?.file_name().to_string_lossy().into_owned();
            if name.starts_with("runs") && name.ends_with(".csv") {
                files.push(self.path.join(name));
            }
        }
        files.sort();
        files.iter().try_for_each(|file| runs.read(file))
    }

    fn runs_file(&self, shard: Option<Shard>) -> PathBuf {
        let name = match shard {
            Some(shard) => format!("runs-{}.csv", shard.to_string().replace('/', "-of-")),
            None => "runs.csv".into(),
        };
        self.path.join(name)
    }

    /// The file to which finished runs are appended.
    pub(super) fn journal(&self, shard: Option<Shard>) -> Result<Journal> {
        let path = self.runs_file(shard);
        let name = || path.display().to_string();
        let mut options = File::options();
        let mut file =
            options.read(true).append(true).create(true).open(&path).with_context(name)?;
        let length = file.seek(SeekFrom::End(0)).with_context(name)?;
        if length == 0 {
            writeln!(file, "{}", self.header).with_context(name)?;
        } else {
            // A crash may have torn the last line: what follows must not stick to it.
            let mut last = [0];
            file.seek(SeekFrom::Start(length - 1)).with_context(name)?;
            file.read_exact(&mut last).with_context(name)?;
            if last != *b"\n" {
                file.write_all(b"\n").with_context(name)?;
            }
        }
        Ok(Journal(Mutex::new(file)))
    }

    /// Puts the lines in order, once all runs of the shard have ended.
    pub(super) fn finish(&self, runs: &Runs<'_>, shard: Option<Shard>) -> Result<()> {
        let file = OutputFile::create("--out", &self.runs_file(shard))?;
        file.write(|out| runs.write(shard, out))
    }

    /// Where the runs of a shard are.
    pub(super) fn runs_of(&self, shard: Shard) -> String {
        self.runs_file(Some(shard)).display().to_string()
    }

    /// Writes the tables and the page.
    pub(super) fn write(&self, sweep: &Sweep, table: &Table) -> Result<()> {
        let file = |name: &str| OutputFile::create("--out", &self.path.join(name));
        file("table.csv")?.write(|out| table.csv(sweep, out))?;
        let mut columns = Vec::new();
        parquet(sweep, table, &mut columns)?;
        file("table.parquet")?.write(|out| out.write_all(&columns))?;
        let begun = Begun::read(&self.path)?;
        let page = page::of(&begun.file, sweep, table)?;
        file("report.html")?.write(|out| out.write_all(page.as_bytes()))
    }
}

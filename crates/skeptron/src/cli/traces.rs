//! The files of `--trace`: which run, in which form, is the business of each command.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use skeptron_sim::trace::{Format, Trace};

/// Where a trace goes, and in which form.
pub(crate) struct TraceFile {
    path: PathBuf,
    format: Format,
    file: File,
}

impl TraceFile {
    fn name(path: &std::path::Path) -> String {
        format!("--trace {}", path.display())
    }
}

/// Makes the files, before a long run rather than missed after it.
pub(crate) fn create(paths: &[PathBuf]) -> Result<Vec<TraceFile>> {
    let formats: Vec<Format> = paths
        .iter()
        .map(|path| Format::of_path(path))
        .collect::<Result<_, _>>()
        .context("--trace")?;
    let create = |(path, format): (&PathBuf, Format)| {
        let file = File::create(path).with_context(|| TraceFile::name(path))?;
        Ok(TraceFile { path: path.clone(), format, file })
    };
    paths.iter().zip(formats).map(create).collect()
}

/// Writes the run into each.
pub(crate) fn write(trace: &Trace, files: Vec<TraceFile>) -> Result<()> {
    for TraceFile { path, format, file } in files {
        let mut file = BufWriter::new(file);
        trace
            .write(format, &mut file)
            .and_then(|()| file.flush())
            .with_context(|| TraceFile::name(&path))?;
    }
    Ok(())
}

/// Removes them again: there is nothing to write.
pub(crate) fn discard(files: Vec<TraceFile>) -> Result<()> {
    for TraceFile { path, file, .. } in files {
        let is_file = file.metadata().is_ok_and(|known| known.is_file());
        drop(file);
        if is_file {
            fs::remove_file(&path).with_context(|| TraceFile::name(&path))?;
        }
    }
    Ok(())
}

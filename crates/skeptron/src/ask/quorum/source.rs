//! What a quorum system is called on the command line: a construction, `best`, or a file.

use anyhow::{Context as _, Result, bail};
use skeptron_quorum::{Construction, ConstructionError, Family, System, build, parse_file};
use skeptron_quorum_analysis::best::Built;

use crate::ask::{Files, names};

/// Where a quorum system comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    Construction(Construction),
    /// The smallest that shares the work equally.
    Best,
    File(String),
}

impl Source {
    /// A construction as it is typed, or the name of a file.
    ///
    /// # Errors
    /// If it is neither.
    pub(crate) fn parse(name: &str, files: Files) -> Result<Self> {
        match name.parse() {
            Ok(construction) => Ok(Source::Construction(construction)),
            Err(_) if name == "best" => Ok(Source::Best),
            Err(_) if files.has(name) => Ok(Source::File(name.to_owned())),
            Err(ConstructionError::Unknown(unknown)) => {
                let known = Construction::NAMES.into_iter().chain(["best"]);
                let nor = match files {
                    Files::Disk => ", nor a file",
                    Files::None => " (the lab reads no files)",
                };
                bail!(
                    "there is no quorum construction named `{unknown}`{nor}; there are {}{}",
                    known.clone().collect::<Vec<_>>().join(", "),
                    names::did_you_mean(&unknown, known)
                )
            }
            Err(error) => Err(error.into()),
        }
    }

    /// How many nodes it is for, if it says so itself.
    ///
    /// # Errors
    /// If it is a file that cannot be read.
    pub(crate) fn nodes(&self, files: Files) -> Result<Option<usize>> {
        Ok(match self {
            Source::Construction(construction) => construction.nodes(),
            Source::Best => None,
            Source::File(path) => Some(family(path, None, files)?.nodes()),
        })
    }

    /// The system of so many nodes.
    ///
    /// # Errors
    /// If there is none of so many nodes, or the file holds none.
    pub(crate) fn system(&self, nodes: usize, files: Files) -> Result<System> {
        Ok(match self {
            Source::Construction(construction) => build(construction, nodes)?,
            Source::Best => Built::of(nodes).best()?.clone(),
            Source::File(path) => {
                family(path, Some(nodes), files)?.system(path).with_context(|| path.clone())?
            }
        })
    }
}

/// The sets in a file, whether they meet or not.
///
/// # Errors
/// If the file may not or cannot be read, or is for another number of nodes.
pub(crate) fn family(path: &str, nodes: Option<usize>, files: Files) -> Result<Family> {
    let text = files.read(path)?;
    let family = parse_file(&text, nodes).with_context(|| path.to_owned())?;
    if let Some(wanted) = nodes.filter(|&wanted| wanted != family.nodes()) {
        let own = family.nodes();
        bail!(
            "{path}: the quorums are for {own} nodes, not {wanted}; leave out -n, or change the file"
        );
    }
    Ok(family)
}

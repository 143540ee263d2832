//! The lab reads no files: what an option of the command line would take for one is refused before.

use anyhow::{Result, bail};
use skeptron_quorum::Construction;

use crate::cli::names::did_you_mean;
use crate::cli::system::{STRUCTURES, SystemArgs};

/// Refuses layouts that only a file can have.
pub(super) fn refuse_in_system(system: &SystemArgs) -> Result<()> {
    refuse_quorum(system.quorum.as_deref())?;
    refuse_unknown(
        "structure",
        system.structure.as_deref(),
        &[&STRUCTURES[..], &["star:NODE"]].concat(),
    )?;
    refuse_unknown("tree", system.tree.as_deref(), &["balanced:K", "star", "line", "elected"])?;
    let graphs = ["complete", "ring", "line", "star", "grid", "hypercube"];
    refuse_unknown("graph", system.graph.as_deref(), &graphs)
}

/// Refuses `file:PATH` and `matrix:PATH`.
pub(super) fn refuse(option: &str, text: Option<&str>) -> Result<()> {
    let Some(text) = text else { return Ok(()) };
    let reads = ["file:", "matrix:"].iter().any(|kind| text.trim_start().starts_with(kind));
    if reads {
        bail!("the lab reads no files: `{option}` is `{text}`; use the command line for that")
    }
    Ok(())
}

/// Refuses what is no construction of quorums.
pub(super) fn refuse_quorum(name: Option<&str>) -> Result<()> {
    match name.filter(|&name| name != "best").map(str::parse::<Construction>) {
        None | Some(Ok(_)) => Ok(()),
        Some(Err(error)) => bail!("the lab reads no files: {error}"),
    }
}

/// Refuses what is none of these; `star:NODE` stands for everything that begins with `star:`.
fn refuse_unknown(option: &str, name: Option<&str>, known: &[&str]) -> Result<()> {
    let Some(name) = name else { return Ok(()) };
    let is_it = |known: &&str| match known.split_once(':') {
        Some((kind, _)) => name.split_once(':').is_some_and(|(given, _)| given == kind),
        None => name == *known,
    };
    if !known.iter().any(is_it) {
        bail!(
            "the lab reads no files: there is no {option} `{name}`; there are {}{}",
            known.join(", "),
            did_you_mean(name, known.iter().copied())
        )
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_names_a_file_is_refused() {
        let system = SystemArgs::default;
        let some = |text: &str| Some(text.to_string());
        for path in ["/etc/passwd", "Cargo.toml", "src", "./maekawa", "grid:Cargo.toml"] {
            for named in [
                SystemArgs { quorum: some(path), ..system() },
                SystemArgs { structure: some(path), ..system() },
                SystemArgs { tree: some(path), ..system() },
                SystemArgs { graph: some(path), ..system() },
            ] {
                assert!(refuse_in_system(&named).is_err(), "{named:?}");
            }
        }
        for text in ["file:/etc/passwd", "matrix:x", " file:x"] {
            assert!(refuse("latency", Some(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_known_passes() {
        let some = |text: &str| Some(text.to_string());
        for quorum in ["best", "grid", "maekawa-13", "weighted:3,1,1", "wall:1,2,3"] {
            assert!(refuse_quorum(Some(quorum)).is_ok(), "{quorum}");
        }
        let system = SystemArgs {
            structure: some("star:2"),
            tree: some("balanced:3"),
            graph: some("hypercube"),
            ..SystemArgs::default()
        };
        assert!(refuse_in_system(&system).is_ok());
        assert!(refuse("latency", Some("uniform:1..2")).is_ok());
    }
}

//! Algorithms that are programs of their own, in any language: they are started here and asked line by line, as
//! `examples/own-algorithm/README.md` tells.
//!
//! Only whoever names a file has it started ([`load`]); nothing that is read, such as a recorded run, does.

mod declaration;
mod names;
mod process;
mod program;
mod types;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use skeptron_core::NodeId;
use skeptron_core::catalogue::Info;
use skeptron_core::mutex::foreign::{self, Loaded, Program as _};
use thiserror::Error;

use program::{Asked, Introduced, Registered};

/// How long a program may take for an answer, unless [`TIMEOUT`] says otherwise.
const WITHIN: Duration = Duration::from_secs(10);

/// The variable of the environment that says how many seconds a program may take for an answer.
pub const TIMEOUT: &str = "SKEPTRON_PROGRAM_TIMEOUT";

/// Why a program is no algorithm, in one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct LoadError(String);

/// A program that was started.
#[derive(Clone)]
struct Known {
    stamp: Stamp,
    asked: Arc<Asked>,
    loaded: &'static Loaded,
}

/// When a file was changed, and how long it is.
type Stamp = (Option<SystemTime>, u64);

static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// Whether a name is that of a file.
#[must_use]
pub fn is_path(name: &str) -> bool {
    foreign::is_path(name)
}

/// Starts the program in a file and makes it known under the name of the file as it is given. One that is known
/// and neither failed nor changed since is not started again.
///
/// # Errors
/// If the file cannot be run, or the program does not describe itself as it should.
pub fn load(name: &str) -> Result<&'static Info, LoadError> {
    load_within(name, within().map_err(LoadError)?)
}

/// The same, with so much time for each answer.
///
/// # Errors
/// As [`load`].
pub fn load_within(name: &str, within: Duration) -> Result<&'static Info, LoadError> {
    let path = Path::new(name);
    let stamp = stamp(name, path).map_err(LoadError)?;
    // Two that load the same would start it twice.
    let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let place = all.iter().position(|known| known.loaded.info().name == name);
    if let Some(place) = place {
        let known = &all[place];
        if known.stamp == stamp && known.loaded.check().is_ok() {
            return Ok(known.loaded.info());
        }
    }
    let known = start(name, path, stamp, within).map_err(LoadError)?;
    let info = known.loaded.info();
    match place {
        Some(place) => {
            let old = std::mem::replace(&mut all[place], known);
            old.asked.close("it was loaded anew while it was asked");
        }
        None => all.push(known),
    }
    Ok(info)
}

/// As [`load`], but only what was loaded once already.
///
/// # Errors
/// As [`load`].
pub fn reload(name: &str) -> Result<Option<&'static Info>, LoadError> {
    foreign::find(name).map(|_| load(name)).transpose()
}

fn stamp(name: &str, path: &Path) -> Result<Stamp, String> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(format!("{name}: there is no such file"));
        }
        Err(error) => return Err(format!("{name}: {error}")),
    };
    if !found.is_file() {
        return Err(format!("{name}: it is no file; name the program itself"));
    }
    if process::interpreter(path).is_none() && found.permissions().mode() & 0o111 == 0 {
        return Err(format!(
            "{name}: it is not executable; make it so with chmod +x, or let its name end in .py or .js"
        ));
    }
    Ok((found.modified().ok(), found.len()))
}

fn start(name: &str, path: &Path, stamp: Stamp, within: Duration) -> Result<Known, String> {
    // Not looked for on the PATH.
    let path = path.canonicalize().map_err(|error| format!("{name}: {error}"))?;
    let Introduced { description, asked } = Asked::start(name, &path, within)?;
    let asked = Arc::new(asked);
    let program = Registered(Arc::clone(&asked));
    // What its states look like; and whoever cannot begin is told before a run does.
    let failed = || program.failure().unwrap_or_default();
    let first = program.init(NodeId::new(0), 2).ok_or_else(failed)?;
    let wrong = |why| {
        format!("{name}: its answer is wrong: {why}; the question was {{\"ask\":\"describe\"}}")
    };
    let info = description.info(name, &first).map_err(wrong)?;
    let loaded = foreign::register(info, Box::new(program));
    Ok(Known { stamp, asked, loaded })
}

fn within() -> Result<Duration, String> {
    let Ok(text) = std::env::var(TIMEOUT) else { return Ok(WITHIN) };
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| format!("{TIMEOUT} is `{text}`; write a number of seconds, as in 10"))
}

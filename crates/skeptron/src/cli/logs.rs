//! What a running node tells those who look after it, on standard error. Logging never waits for
//! whoever reads that, and never fails: what has no room is dropped and counted.

mod queue;

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use serde::Deserialize;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, filter, fmt, registry, reload};

use super::names;
use queue::{Notice, Queue, Sink};

/// How lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Format {
    /// For people.
    Text,
    /// One object a line, for programs.
    Json,
}

/// How much is told.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// The target of lines about what administrators did, and what was refused.
const AUDIT: &str = "audit";

/// How long the last lines may take when the process ends.
const LAST_WITHIN: Duration = Duration::from_secs(1);

/// The logs of this process, once they have been started.
static RUNNING: OnceLock<Running> = OnceLock::new();

struct Running {
    lines: Queue,
    format: Format,
    audit: Option<Queue>,
    set_filter: Box<dyn Fn(EnvFilter) -> Result<()> + Send + Sync>,
}

/// Reads a filter as in `info` or `warn,skeptron_net::link=debug`. Lines for auditors are written
/// whatever it says, unless it speaks of them.
pub(crate) fn filter(text: &str) -> Result<EnvFilter> {
    // A lone word that is no level would be taken for a module, and silence everything else.
    let is_level = |word: &str| LEVELS.contains(&word.trim().to_lowercase().as_str());
    let words = text.split(',').filter(|word| !word.contains(['=', ':']));
    if let Some(unknown) = words.into_iter().find(|word| !is_level(word)) {
        let hint = names::did_you_mean(unknown, LEVELS.into_iter());
        return Err(anyhow!(
            "`{unknown}` is no level of logs; there are {}{hint}",
            LEVELS.join(", ")
        ));
    }
    let filter = match text.contains(AUDIT) {
        true => EnvFilter::try_new(text),
        false => EnvFilter::try_new(format!("{text},{AUDIT}=info")),
    };
    filter.map_err(|error| {
        anyhow!(
            "`{text}` is no filter of logs ({error}); write error, warn, info, debug, trace, or \
             info,skeptron_net::link=debug"
        )
    })
}

/// Logs from now on.
pub(crate) fn start(filter: EnvFilter, format: Format) -> Result<()> {
    start_with_audit(filter, format, None)
}

/// The same; lines for auditors are also appended to a file, if one is named.
pub(crate) fn start_with_audit(
    filter: EnvFilter,
    format: Format,
    audit: Option<&Path>,
) -> Result<()> {
    // Not by way of the standard library's lock, which a write that is stuck would hold.
    let errors = io::stderr().as_fd().try_clone_to_owned().context("standard error")?;
    let lines = Queue::start(Box::new(File::from(errors)), notice(format))?;
    let audit = match audit {
        None => None,
        Some(path) => Some(Queue::start(open_audit(path)?, notice(Format::Json))?),
    };
    let (filter, handle) = reload::Layer::new(filter);
    let shown = fmt::layer().with_writer(lines.clone()).log_internal_errors(false);
    let shown = match format {
        Format::Text => {
            let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            shown.with_ansi(colours).with_filter(filter).boxed()
        }
        Format::Json => shown.json().with_filter(filter).boxed(),
    };
    let kept = audit.clone().map(|file| {
        let only = filter::Targets::new().with_target(AUDIT, tracing::Level::INFO);
        fmt::layer().with_writer(file).log_internal_errors(false).json().with_filter(only)
    });
    registry().with(shown).with(kept).try_init().context("logs have been started before")?;
    let set_filter = Box::new(move |filter| Ok(handle.reload(filter)?));
    let running = RUNNING.get_or_init(|| Running { lines, format, audit, set_filter });
    // The usual hook would wait for whoever reads standard error.
    std::panic::set_hook(Box::new(move |panic| {
        let name = std::thread::current().name().unwrap_or("unnamed").to_string();
        let said = format!("thread `{name}` {panic}").replace('\n', " ");
        running.lines.push(line(running.format, "ERROR", &said).into_bytes());
        running.lines.flush(LAST_WITHIN / 4);
    }));
    Ok(())
}

/// From now on these are written.
pub(crate) fn set_filter(filter: EnvFilter) -> Result<()> {
    RUNNING.get().map_or(Ok(()), |running| (running.set_filter)(filter))
}

/// Opens the auditors' file anew, which may have been moved away.
pub(crate) fn reopen_audit(path: Option<&Path>) -> Result<()> {
    if let (Some(path), Some(audit)) = (path, RUNNING.get().and_then(|it| it.audit.as_ref())) {
        let room = audit.replace(open_audit(path)?);
        anyhow::ensure!(room, "{}: too many lines wait to be written", path.display());
    }
    Ok(())
}

/// The last word of the process, for people; a reader that is stuck does not keep the process alive.
pub(crate) fn last_word(said: &str) {
    match RUNNING.get() {
        // A line of its own, as without logs: scripts look for it.
        Some(running) => running.lines.push(format!("{said}\n").into_bytes()),
        None => drop(writeln!(io::stderr(), "{said}")),
    }
    finish();
}

/// Waits a moment until the last lines are written.
pub(crate) fn finish() {
    if let Some(running) = RUNNING.get() {
        running.lines.flush(LAST_WITHIN);
        running.audit.iter().for_each(|audit| audit.flush(LAST_WITHIN));
    }
}

fn open_audit(path: &Path) -> Result<Sink> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path).with_context(|| path.display().to_string())?;
    Ok(Box::new(file))
}

fn notice(format: Format) -> Notice {
    Box::new(move |said| line(format, "WARN", said))
}

/// A line that does not come by way of the subscriber.
fn line(format: Format, level: &str, said: &str) -> String {
    let mut now = String::new();
    // Without a clock it is a line without a time.
    let _ = SystemTime.format_time(&mut Writer::new(&mut now));
    match format {
        Format::Text => format!("{now} {level:>5} skeptron::logs: {said}\n"),
        Format::Json => {
            let fields = serde_json::json!({ "message": said });
            let target = "skeptron::logs";
            let line = serde_json::json!({
                "timestamp": now, "level": level, "fields": fields, "target": target
            });
            format!("{line}\n")
        }
    }
}

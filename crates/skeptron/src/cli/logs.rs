//! What a running node tells those who look after it, on standard error.

use std::io::{self, IsTerminal as _};

use anyhow::{Result, anyhow};
use tracing_subscriber::EnvFilter;

use super::names;

/// How lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// One object a line, for programs.
    Json,
}

/// How much is told.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Reads a filter as in `info` or `warn,skeptron_net::link=debug`.
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
    EnvFilter::try_new(text).map_err(|error| {
        anyhow!(
            "`{text}` is no filter of logs ({error}); write error, warn, info, debug, trace, or \
             info,skeptron_net::link=debug"
        )
    })
}

/// Logs from now on.
pub(crate) fn start(filter: EnvFilter, format: Format) {
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    match format {
        Format::Text => {
            let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            logs.with_ansi(colours).init();
        }
        Format::Json => logs.json().init(),
    }
}

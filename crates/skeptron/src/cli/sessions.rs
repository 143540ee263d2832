//! `skeptron sessions`.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use skeptron_client::Client;
use skeptron_net::report::{SessionListing, SessionSummary};

use super::Verdict;
use super::duration::lasted;
use super::failure;
use super::locks::print_missing;
use super::reach::AskArgs;
use super::runtime;
use super::table::{narrow_table, show};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  skeptron sessions
  skeptron sessions --json | jq '.sessions[] | select(.heard_ms > .ttl_ms / 2) | .owner'

A session is one client of the cluster: it ends when it sends no keep-alive for its TTL, and what it
holds is released. Its id is a secret and is never shown; the handle shown instead stays the same.
The JSON is that of GET /v1/sessions.

Exit codes: 0 the listing is complete, 1 a member has not answered: its sessions are missing,
2 bad input or permission denied, 69 no node is reachable.")]
pub(crate) struct SessionsArgs {
    #[command(flatten)]
    node: AskArgs,
}

/// So many names are shown in a line.
const MOST_NAMES: usize = 4;

impl SessionsArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let config = self.node.reach.question()?;
        let listing = runtime::on_one_thread(async {
            Client::sessions(&config).await.map_err(failure::of_client)
        })?;
        show(self.node.json, false, &listing, out, print)?;
        Ok(if listing.complete { Verdict::Fine } else { Verdict::Violated })
    }
}

fn print(listing: &SessionListing, out: &mut impl Write) -> Result<()> {
    if listing.sessions.is_empty() {
        writeln!(out, "No session that you may see is open.")?;
    } else {
        let mut rows = narrow_table(["session", "node", "owner", "heard", "TTL", "holds", "waits"]);
        for session in &listing.sessions {
            rows.add_row(row(session));
        }
        writeln!(out, "{rows}")?;
    }
    print_missing(&listing.silent, "the sessions there are missing", out)
}

fn row(session: &SessionSummary) -> [String; 7] {
    let SessionSummary { owner, ttl_ms, heard_ms, held, holds, waiting, waits, .. } = session;
    let from = if session.moving { " (moving here)" } else { "" };
    [
        session.session.to_string(),
        session.node.to_string(),
        format!("{owner}{from}"),
        format!("{} ago", lasted(*heard_ms)),
        lasted(*ttl_ms),
        names(held.iter().map(|held| held.lock.as_str()), *holds),
        names(waiting.iter().map(String::as_str), *waits),
    ]
}

/// The first of them, and how many others there are.
fn names<'a>(names: impl Iterator<Item = &'a str>, all: u64) -> String {
    let first: Vec<&str> = names.take(MOST_NAMES).collect();
    match all - first.len() as u64 {
        0 => first.join(", "),
        others => format!("{}, {others} more", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_names_the_first_are_shown() {
        assert_eq!(names(std::iter::empty(), 0), "");
        assert_eq!(names(["a", "b"].into_iter(), 2), "a, b");
        assert_eq!(names(["a"; 100].into_iter(), 300), "a, a, a, a, 296 more");
    }
}

//! What administrators did and what was refused, one line each, with the target `audit`.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use skeptron_member::clock::MonoTime;

use crate::env;

/// Refused acts that are told one by one in each period; the others are only counted.
const MOST_REFUSED: u64 = 100;
const PERIOD: Duration = Duration::from_secs(10);

/// Writes the lines.
#[derive(Debug)]
pub(super) struct Audit {
    /// Since when refused acts are counted, and how many there were.
    refused: Mutex<(MonoTime, u64)>,
}

/// What was asked, and by whom.
pub(super) struct Act<'a> {
    pub(super) client: &'a str,
    pub(super) address: Option<IpAddr>,
    pub(super) method: &'a Method,
    pub(super) path: &'a str,
}

impl Act<'_> {
    fn from(&self) -> String {
        self.address.map_or_else(|| "unix".to_string(), |address| address.to_string())
    }
}

impl Audit {
    pub(super) fn new() -> Self {
        Audit { refused: Mutex::new((env::now(), 0)) }
    }

    /// An order was given; that is what it said and came to.
    pub(super) fn done(&self, act: &Act<'_>, body: &[u8], status: StatusCode) {
        let (client, method, path) = (act.client, act.method, act.path);
        let (body, status) = (String::from_utf8_lossy(body), status.as_u16());
        let (from, outcome) = (act.from(), if status < 400 { "done" } else { "failed" });
        tracing::info!(target: "audit", client, from, %method, path, %body, status, outcome, "order");
    }

    /// Somebody was not let in, or may not do that.
    pub(super) fn refused(&self, act: &Act<'_>, code: &str, status: StatusCode) {
        let (mut refused, now) =
            (self.refused.lock().unwrap_or_else(PoisonError::into_inner), env::now());
        if now.since(refused.0) >= PERIOD {
            let more = refused.1.saturating_sub(MOST_REFUSED);
            if more > 0 {
                tracing::info!(target: "audit", more, outcome = "refused", "more requests rejected");
            }
            *refused = (now, 0);
        }
        refused.1 += 1;
        let is_told = refused.1 <= MOST_REFUSED;
        drop(refused);
        if is_told {
            let (client, method, path) = (act.client, act.method, act.path);
            let (from, status) = (act.from(), status.as_u16());
            tracing::info!(
                target: "audit", client, from, %method, path, status, code, outcome = "refused", "request"
            );
        }
    }
}

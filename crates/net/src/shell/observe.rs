//! What the core tells, as metrics, logs and events.

use prometheus_client::metrics::counter::Counter;
use skeptron_core::Message as _;
use skeptron_core::mutex::{self, Mutex, Visitor};
use skeptron_member::Event;
use skeptron_member::clock::MonoTime;
use skeptron_member::plan::{Plan, Plans};
use skeptron_member::report::{MessageCount, milliseconds};

use super::Shell;
use crate::observe::{MessageLabels, Observer, What};

/// The messages of one algorithm, by kind.
pub(super) struct Counters {
    algorithm: &'static str,
    kinds: &'static [&'static str],
    sent: Vec<Counter>,
    received: Vec<Counter>,
}

impl Shell {
    /// The messages of each algorithm here, by kind.
    pub(crate) fn messages(&self) -> Vec<MessageCount> {
        let mut counted: Vec<MessageCount> = Vec::new();
        for Counters { algorithm, kinds, sent, received } in &self.counters {
            // Two plans may have one algorithm, and with it one set of counters.
            if counted.iter().any(|count| count.algorithm == *algorithm) {
                continue;
            }
            counted.extend(kinds.iter().enumerate().map(|(kind, message)| MessageCount {
                algorithm: (*algorithm).to_string(),
                message: (*message).to_string(),
                sent: sent[kind].get(),
                received: received[kind].get(),
            }));
        }
        counted
    }

    pub(super) fn observe(&self, now: MonoTime, event: Event<'_>) {
        let observer = &self.observer;
        match event {
            Event::Entered { waited, .. } => {
                observer.acquire_seconds.observe(waited.as_secs_f64());
                observer.entries.inc();
            }
            Event::Upgraded { waited, .. } => {
                observer.acquire_seconds.observe(waited.as_secs_f64());
            }
            Event::HandedOver => {
                observer.handovers.inc();
            }
            Event::Released { held, .. } => observer.hold_seconds.observe(held.as_secs_f64()),
            Event::Sent { plan, kind, .. } => {
                self.counters[plan].sent[kind].inc();
            }
            Event::Received { plan, kind, .. } => {
                self.counters[plan].received[kind].inc();
            }
            Event::Refused { lock, from, why } => {
                observer.refused.inc();
                tracing::warn!(lock, %from, why, "message rejected");
            }
            Event::Stale { .. } => {
                observer.dropped.inc();
            }
            Event::SessionExpired { owner } => {
                observer.expired_sessions.inc();
                tracing::info!(owner, "session expired");
            }
            Event::View { epoch, kept } => {
                observer.view_installed(now);
                tracing::debug!(epoch, kept, "view installed");
            }
            Event::Met { epoch } => {
                let took = observer.view_met(now);
                tracing::debug!(
                    epoch,
                    took_ms = milliseconds(took),
                    "all members have announced themselves in this view"
                );
            }
            Event::Lost { lock, fence } => tracing::warn!(lock, fence = ?fence, "lock lost"),
            Event::Broken { lock, fence } => {
                observer.broken.inc();
                tracing::warn!(lock, fence = ?fence, "lock broken by an administrator");
            }
            Event::Forgot { names } => {
                observer.forgotten.inc_by(names as u64);
                tracing::debug!(names, "idle lock names forgotten");
            }
            Event::Adopted { lock, fence } => {
                tracing::info!(lock, fence = ?fence, "lock kept for a session that moved here");
            }
            Event::Requested { .. }
            | Event::Withdrawn { .. }
            | Event::Downgraded { .. }
            | Event::Stepped { .. }
            | Event::Leadership { .. } => {}
        }
        if observer.is_heard()
            && let Some(what) = what(event)
        {
            observer.tell_at(now, what);
        }
    }
}

/// The event as observers are told.
fn what(event: Event<'_>) -> Option<What> {
    let lock = |lock: &str| lock.to_string();
    Some(match event {
        Event::Requested { lock: name } => What::Requested { lock: lock(name) },
        Event::Entered { lock: name, fence, .. } | Event::Adopted { lock: name, fence } => {
            What::Entered { lock: lock(name), fence }
        }
        Event::Upgraded { lock: name, fence, .. } => What::Entered { lock: lock(name), fence },
        Event::Released { lock: name, fence, .. } => What::Released { lock: lock(name), fence },
        Event::Withdrawn { lock: name } => What::Withdrawn { lock: lock(name) },
        Event::Lost { lock: name, fence } | Event::Broken { lock: name, fence } => {
            What::Lost { lock: lock(name), fence }
        }
        Event::Sent { lock: name, message, payload, to, sequence, .. } => {
            let (message, payload) = (message.to_string(), payload.to_string());
            What::Sent { lock: lock(name), to, sequence, message, payload }
        }
        Event::Received { lock: name, message, payload, from, sequence, .. } => {
            let (message, payload) = (message.to_string(), payload.to_string());
            What::Received { lock: lock(name), from, sequence, message, payload }
        }
        Event::View { epoch, kept } => What::View { epoch, kept },
        Event::Met { epoch } => What::Met { epoch },
        Event::HandedOver
        | Event::Downgraded { .. }
        | Event::Stepped { .. }
        | Event::Forgot { .. }
        | Event::Refused { .. }
        | Event::Stale { .. }
        | Event::Leadership { .. }
        | Event::SessionExpired { .. } => return None,
    })
}

pub(super) fn counters(plans: &Plans, observer: &Observer) -> Vec<Counters> {
    struct Kinds;
    impl Visitor for Kinds {
        type Output = &'static [&'static str];

        fn visit<P: Mutex>(self) -> Self::Output {
            P::Message::KINDS
        }
    }
    let plan = |plan: &Plan| {
        let (algorithm, kinds) = (plan.info().name, mutex::dispatch(plan.info(), Kinds));
        let counters = |family: &prometheus_client::metrics::family::Family<_, Counter>| {
            let counter =
                |&message| family.get_or_create_owned(&MessageLabels { algorithm, message });
            kinds.iter().map(counter).collect()
        };
        let (sent, received) = (counters(&observer.sent), counters(&observer.received));
        Counters { algorithm, kinds, sent, received }
    };
    plans.all().map(plan).collect()
}

//! Those who believe that they are inside, each by its own clock.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use skeptron_client::{Fence, Guard};
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// So long a wait between two looks finds whoever should not believe.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Guards of one lock that were not given back, each of which may have been lost.
#[derive(Default)]
pub(crate) struct Believers(Mutex<BTreeMap<Fence, Guard>>);

impl Believers {
    pub(crate) fn enter(&self, guard: Guard) -> Fence {
        let fence = guard.fence();
        let former = self.0.lock().unwrap().insert(fence, guard);
        assert!(former.is_none(), "fence {fence:?} was given twice");
        self.judge();
        fence
    }

    /// Of those that are valid by their own clocks each tolerates all others. What is lost never becomes valid
    /// again, so all that are found valid, one after the other, were so together when the first was asked.
    fn judge(&self) {
        let guards = self.0.lock().unwrap();
        let valid: Vec<&Guard> = guards.values().filter(|guard| guard.is_valid()).collect();
        let most = valid.iter().map(|guard| guard.mode().most()).min().unwrap_or_default();
        assert!(valid.len() <= most as usize, "too many believe that they are inside: {valid:?}");
    }

    pub(crate) fn has_lost(&self, fence: Fence) -> bool {
        !self.0.lock().unwrap()[&fence].is_valid()
    }

    pub(crate) fn leave(&self, fence: Fence) -> Guard {
        self.0.lock().unwrap().remove(&fence).expect("it has entered")
    }
}

/// Looks at believers again and again; it ends only if it finds too many.
pub(crate) fn look_at(believers: &Arc<Believers>) -> JoinHandle<()> {
    let believers = Arc::clone(believers);
    tokio::spawn(async move {
        loop {
            believers.judge();
            sleep(LOOK_EVERY).await;
        }
    })
}

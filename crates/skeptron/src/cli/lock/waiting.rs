//! For whom somebody waits who waits for a lock.

use std::convert::Infallible;
use std::time::Duration;

use skeptron_client::{Client, ClientConfig};
use skeptron_net::MemberId;
use skeptron_net::report::ListedLock;
use tokio::time::sleep;

use super::super::duration::lasted;
use super::say;

/// Whoever waits for less does not wonder.
const FIRST: Duration = Duration::from_millis(500);
/// How often it is looked whether another one holds it.
const AGAIN: Duration = Duration::from_secs(5);

/// Says who holds the lock, and says it again when another one does.
pub(super) async fn say_for_whom(names: &[String], config: &ClientConfig) -> Infallible {
    let mut pause = FIRST;
    let mut said = None;
    loop {
        sleep(pause).await;
        pause = AGAIN;
        // Who cannot be asked has other troubles, which are told elsewhere.
        let Ok(listing) = Client::locks(config, &common_prefix(names)).await else { continue };
        // Of several it waits for one at a time, and holds those before.
        let waited = listing.locks.iter().filter(|lock| names.contains(&lock.name));
        let Some(lock) = waited.rev().find(|lock| lock.waiters > 0) else { continue };
        let fence = lock.holder.as_ref().map(|holder| holder.fence);
        let state = (fence, listing.silent.clone());
        if said.as_ref() != Some(&state) {
            say(&format!("skeptron: {}", sentence(lock, &listing.silent)));
            said = Some(state);
        }
    }
}

/// How all the names begin.
fn common_prefix(names: &[String]) -> String {
    let mut prefix = names.first().cloned().unwrap_or_default();
    while !names.iter().all(|name| name.starts_with(&prefix)) {
        prefix.pop();
    }
    prefix
}

fn sentence(lock: &ListedLock, silent: &[MemberId]) -> String {
    let ListedLock { name, holder, waiters, .. } = lock;
    let others = match waiters {
        0 | 1 => String::new(),
        many => format!("; {} others wait too", many - 1),
    };
    match holder {
        None if !silent.is_empty() => {
            let silent: Vec<String> = silent.iter().map(MemberId::to_string).collect();
            let silent = silent.join(", ");
            format!(
                "waiting for `{name}`: no member that answers holds it, and {silent} does not answer{others}"
            )
        }
        None => format!("waiting for `{name}`: nobody holds it just now{others}"),
        Some(holder) => {
            let owner = if holder.owner.is_empty() { "somebody" } else { &holder.owner };
            let (node, held, fence) = (holder.node, lasted(holder.held_ms), holder.fence);
            format!(
                "waiting for `{name}`: held by {owner} at {node} for {held}, fence {fence:#}{others}"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use skeptron_client::{Fence, Mode};
    use skeptron_net::report::Holder;

    use super::*;

    #[test]
    fn it_is_said_who_holds_it_for_how_long() {
        let holder = Holder {
            node: MemberId::at(1),
            owner: "deploy@web1".into(),
            fence: Fence::from_number((3 << 40) + 17),
            mode: Mode::EXCLUSIVE,
            held_ms: 62_000,
        };
        let mut lock = ListedLock {
            name: "deploy".into(),
            algorithm: "raymond".into(),
            holder: Some(holder),
            inside: 1,
            waiters: 3,
            waiting: Vec::new(),
        };
        assert_eq!(
            sentence(&lock, &[MemberId::at(2)]),
            "waiting for `deploy`: held by deploy@web1 at P2 for 1 min 2 s, fence 3298534883345 (3·17); \
             2 others wait too"
        );
        (lock.holder, lock.waiters) = (None, 1);
        assert_eq!(sentence(&lock, &[]), "waiting for `deploy`: nobody holds it just now");
        assert_eq!(
            sentence(&lock, &[MemberId::at(2)]),
            "waiting for `deploy`: no member that answers holds it, and P3 does not answer"
        );
    }
}

//! Tasks that must not end unnoticed.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;

use crate::observe::Observer;

/// Runs a part of a node without which it does not do what it should. If it panics, the observer knows:
/// the node counts as unwell from then on, and its program should end.
pub(crate) async fn supervised<T>(
    observer: Arc<Observer>,
    what: &'static str,
    task: impl Future<Output = T>,
) -> Option<T> {
    match AssertUnwindSafe(task).catch_unwind().await {
        Ok(done) => Some(done),
        Err(panic) => {
            observer.fail(format!("{what} panicked: {}", said(&*panic)));
            None
        }
    }
}

/// What a panic said.
pub(crate) fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("it did not say why")
}

#[cfg(test)]
mod tests {
    use super::*;
    use skeptron_member::MemberId;

    #[tokio::test]
    async fn a_panic_is_known_with_its_reason() {
        let observer = Arc::new(Observer::new(MemberId::at(0)));
        assert_eq!(supervised(Arc::clone(&observer), "a timer", async { 7 }).await, Some(7));
        assert_eq!(observer.failure(), None);
        let number = 3;
        let panics = async move { assert!(number == 4, "no {number}") };
        let task = tokio::spawn(supervised(Arc::clone(&observer), "a timer", panics));
        assert_eq!(observer.failed().await, "a timer panicked: no 3");
        assert_eq!(task.await.unwrap(), None);
        // The first reason is the one that counts.
        observer.fail("another".to_string());
        assert_eq!(observer.failure().unwrap(), "a timer panicked: no 3");
    }

    #[tokio::test]
    async fn a_node_whose_part_has_failed_is_unwell() {
        let plans = crate::Plans::new(crate::Plan::named(crate::Plan::DEFAULT).unwrap());
        let cluster = crate::Cluster::start(1, plans).await.unwrap();
        let node = &cluster.nodes[0];
        node.ready().await;
        assert_eq!(node.status().halted, None);
        node.observer().fail("a link panicked: why not".to_string());
        assert_eq!(node.status().halted.unwrap(), "a link panicked: why not");
        cluster.shutdown().await;
    }
}

//! Tasks that must not end unnoticed, and that can be made to stand still.

use std::any::Any;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::ready;

use futures_util::FutureExt as _;

use crate::observe::Observer;

impl Observer {
    /// A part of the node has ended that should not have; the first reason counts.
    pub(crate) fn fail(&self, why: String) {
        tracing::error!(why, "a part of this node has failed; restart the node");
        self.failure.send_if_modified(|known| {
            let is_first = known.is_none();
            known.get_or_insert(why);
            is_first
        });
    }

    /// Which part of the node has failed, and why; none if all is well.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.failure.borrow().clone()
    }

    /// Waits until a part of the node has failed, and says why: the program should end.
    pub async fn failed(&self) -> String {
        let mut failure = self.failure.subscribe();
        // The sender is a field of what is borrowed here.
        let why = failure.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
        why.unwrap_or_default()
    }
}

/// Runs a part of a node without which it does not do what it should, while it is not paused. If it
/// panics, the observer knows: the node counts as unwell from then on, and its program should end.
pub(crate) async fn supervised<T>(
    observer: Arc<Observer>,
    what: &'static str,
    task: impl Future<Output = T>,
) -> Option<T> {
    let mut task = pin!(AssertUnwindSafe(task).catch_unwind());
    let gated = poll_fn(|context| {
        ready!(observer.pause.pass(context));
        task.as_mut().poll(context)
    });
    match gated.await {
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
    async fn behind_a_closed_gate_no_task_takes_a_step() {
        let observer = Arc::new(Observer::new(MemberId::at(0)));
        let (words, mut heard) = tokio::sync::mpsc::unbounded_channel();
        let (answers, mut answered) = tokio::sync::mpsc::unbounded_channel();
        let echo = async move {
            while let Some(word) = heard.recv().await {
                answers.send(word).unwrap();
            }
        };
        tokio::spawn(supervised(Arc::clone(&observer), "an echo", echo));
        words.send(1).unwrap();
        assert_eq!(answered.recv().await, Some(1));
        observer.pause.close();
        words.send(2).unwrap();
        words.send(3).unwrap();
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        assert!(answered.try_recv().is_err());
        observer.pause.open();
        assert_eq!((answered.recv().await, answered.recv().await), (Some(2), Some(3)));
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

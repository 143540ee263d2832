//! The lives of a node: each begins when the cluster lets it in, and ends with its lease.

use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use skeptron_member::{Halt, MemberCore, Settings};
use tokio::sync::Notify;

use super::{Life, Node, Parts};
use crate::env;
use crate::link::Links;
use crate::shell::Shell;
use crate::view::{Admission, NotAdmitted};

impl Parts {
    /// Begins a life.
    pub(super) fn begin(&self, admission: Admission) -> Result<Arc<Notify>, Halt> {
        let Parts { config, observer, listener, service, .. } = self;
        let Admission { incarnation, views, lease } = admission;
        let view = views.borrow().clone();
        let settings = Settings {
            plans: config.plans.clone(),
            handovers: config.handovers,
            pace: config.pace,
            limits: config.limits,
            flaw: None,
        };
        let core = MemberCore::new(config.node, settings, Arc::clone(&view))?;
        let links = Links::new(config, incarnation, view, listener, Arc::clone(observer));
        let ended = Arc::new(Notify::new());
        let shell = Shell::new(
            core,
            (Arc::clone(service), Arc::clone(&ended)),
            Arc::clone(&links) as _,
            Arc::clone(observer),
        );
        links.start(shell.inbox());
        listener.serve(&links);
        let linked = Arc::downgrade(&links);
        shell.start((views, lease), move |view| {
            if let Some(links) = linked.upgrade() {
                links.set_view(view);
            }
        });
        self.present.store(Some(Arc::new(Life { shell, links })));
        self.lives.send_modify(|lives| *lives += 1);
        Ok(ended)
    }
}

/// Enters the cluster anew whenever a life is over.
pub(super) async fn live(
    parts: Weak<Parts>,
    mut ended: Option<Arc<Notify>>,
    mut entering: BoxFuture<'static, Result<Admission, NotAdmitted>>,
) {
    loop {
        if let Some(ended) = ended.take() {
            ended.notified().await;
            let Some(parts) = parts.upgrade() else { return };
            if let Some(life) = parts.present.load_full() {
                life.links.stop();
            }
            entering = Arc::clone(&parts.service).enter();
        }
        let admitted = (&mut entering).await;
        let Some(parts) = parts.upgrade() else { return };
        let begun =
            admitted.and_then(|it| parts.begin(it).map_err(|halt| NotAdmitted(halt.to_string())));
        match begun {
            Ok(begun) => {
                parts.refused.send_replace(None);
                ended = Some(begun);
            }
            Err(refused) => {
                tracing::error!(why = %refused, "the cluster does not let this node in");
                parts.refused.send_replace(Some(refused));
                let service = Arc::clone(&parts.service);
                drop(parts);
                env::sleep(Node::REFUSED).await;
                entering = service.enter();
            }
        }
    }
}

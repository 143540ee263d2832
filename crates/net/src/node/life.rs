//! The lives of a node: each begins when the cluster lets it in, and ends with its lease.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use skeptron_member::{Halt, MemberCore, Settings};
use tokio::sync::Notify;

use super::{Life, Node, Parts};
use crate::config::Membership;
use crate::env;
use crate::link::Links;
use crate::shell::Shell;
use crate::supervise::supervised;
use crate::view::{Admission, NotAdmitted, ViewService};

impl Parts {
    /// Whether another life follows when one is over.
    pub(super) fn has_lives(&self) -> bool {
        !matches!(self.config.membership, Membership::Fixed(_))
    }

    /// Begins a life.
    pub(super) fn begin(&self, admission: Admission) -> Result<Arc<Notify>, Halt> {
        let Parts { config, observer, listener, service, relays, .. } = self;
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
        let entered = Arc::clone(&view);
        let links = Links::new(config, incarnation, view, listener, Arc::clone(observer));
        let ended = Arc::new(Notify::new());
        let shell = Shell::new(
            core,
            (Arc::clone(service), Arc::clone(&ended), Arc::clone(relays)),
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
        let reporting = report_broken_links(Arc::downgrade(&links), Arc::clone(service));
        tokio::spawn(supervised(Arc::clone(observer), "the report of broken links", reporting));
        let looking = Shell::watch_deadlocks(Arc::downgrade(&shell), config.deadlocks);
        tokio::spawn(supervised(Arc::clone(observer), "the look for deadlocks", looking));
        if self.has_lives() {
            let members: Vec<String> = entered.ids().map(|id| id.to_string()).collect();
            let epoch = entered.epoch;
            tracing::info!(epoch, "{} joined; members {}", config.node, members.join(" "));
        }
        self.present.store(Some(Arc::new(Life { shell, links })));
        self.drain.is_in();
        self.lives.send_modify(|lives| *lives += 1);
        Ok(ended)
    }
}

/// How long a broken link has to be mended before the voters hear of it.
const MENDED_WITHIN: Duration = Duration::from_millis(100);

/// Tells the view service which lives cannot be reached, so that it notices a death sooner.
async fn report_broken_links(links: Weak<Links>, service: Arc<dyn ViewService>) {
    let mut told = Vec::new();
    while let Some(present) = links.upgrade() {
        // A change that is missed is seen at the next look.
        env::timeout(LOOK_AGAIN, present.changed()).await;
        drop(present);
        env::sleep(MENDED_WITHIN).await;
        let running = links.upgrade().filter(|links| links.are_running());
        let Some(present) = running else { return };
        let unreachable = present.unreachable();
        if unreachable != told {
            service.suspect(unreachable.clone());
            told = unreachable;
        }
    }
}

/// How often links are looked at though nothing is known to have changed.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Enters the cluster anew whenever a life is over.
pub(super) async fn live(
    parts: Weak<Parts>,
    mut ended: Option<Arc<Notify>>,
    mut entering: BoxFuture<'static, Result<Admission, NotAdmitted>>,
) {
    loop {
        if let Some(ended) = ended.take() {
            let Some(mut asked) = parts.upgrade().map(|parts| parts.drain.asked()) else { return };
            let is_drained = tokio::select! {
                () = ended.notified() => false,
                // The sender goes with the node, and this task, too.
                is_asked = async { asked.wait_for(|&asked| asked).await.is_ok() } => is_asked,
            };
            let Some(present) = parts.upgrade() else { return };
            if is_drained {
                present.leave_for_now().await;
            }
            if let Some(life) = present.present.load_full() {
                life.links.stop();
            }
            drop(present);
            if asked.wait_for(|&asked| !asked).await.is_err() {
                return;
            }
            let Some(parts) = parts.upgrade() else { return };
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
                tracing::error!(why = %refused, "the cluster rejected this node");
                parts.refused.send_replace(Some(refused));
                let service = Arc::clone(&parts.service);
                drop(parts);
                env::sleep(Node::REFUSED).await;
                entering = service.enter();
            }
        }
    }
}

//! The one task that drives a node's membership in etcd.

use std::sync::Arc;
use std::time::Duration;

use skeptron_member::clock::MonoTime;
use skeptron_member::report::milliseconds;
use skeptron_views::views::{Join, Outcome};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use super::call::Caller;
use super::member::{Effect, End, EtcdMember, Input};
use super::txn::{Answer, Txn};
use crate::config::{Config, EtcdConfig};
use crate::env;
use crate::link::draw_incarnation;
use crate::observe::{Observer, What};
use crate::supervise::supervised;
use crate::view::{Admission, Lease, NotAdmitted, ServiceReport, View};

/// How long a leaving member tries to tell etcd.
const LEAVE_WITHIN: Duration = Duration::from_secs(3);
/// How long to wait before another endpoint is watched.
const WATCH_AGAIN: Duration = Duration::from_secs(1);

/// What the rest of the node wants of the driver.
#[derive(Debug)]
pub(super) enum Order {
    /// Begin a new life; any former one is given up.
    Enter(oneshot::Sender<Result<Admission, NotAdmitted>>),
    /// Leave the cluster.
    Leave(oneshot::Sender<()>),
    /// A later view is needed.
    Renumber,
    /// From a request.
    Answered { number: u64, answer: Result<Answer, String> },
    /// The view seems to have changed.
    Hint,
    /// The node is no more.
    Stop,
}

/// A life, as far as the view service is concerned.
struct Life {
    views: Option<watch::Sender<Arc<View>>>,
    lease: watch::Sender<Lease>,
    entering: Option<oneshot::Sender<Result<Admission, NotAdmitted>>>,
}

/// Drives the membership of one node.
pub(super) struct Driver {
    join: Join,
    member: EtcdMember,
    caller: Arc<Caller>,
    /// How long an answer can be of use.
    useful: Duration,
    orders: mpsc::UnboundedSender<Order>,
    requests: JoinSet<()>,
    observer: Arc<Observer>,
    life: Option<Life>,
    /// Whoever waits until the member has left, and for how long.
    leaving: Option<(oneshot::Sender<()>, MonoTime)>,
    /// How it stands, with why the last request came to nothing.
    report: watch::Sender<ServiceReport>,
    effects: Vec<Effect>,
}

impl Driver {
    pub(super) fn new(
        config: &Config,
        etcd: &EtcdConfig,
        caller: Caller,
        orders: mpsc::UnboundedSender<Order>,
        observer: Arc<Observer>,
    ) -> (Self, watch::Receiver<ServiceReport>) {
        let join = config.join(&etcd.address, false);
        let cluster = env::random().expect("the system has a source of randomness");
        let (report, reports) = watch::channel(ServiceReport {
            kind: "etcd".to_string(),
            endpoints: etcd.endpoints.clone(),
            trouble: Some("etcd has not answered yet".to_string()),
            ..ServiceReport::default()
        });
        let driver = Driver {
            join,
            member: EtcdMember::new(etcd.lease, u128::from_le_bytes(cluster)),
            caller: Arc::new(caller),
            useful: etcd.lease.lease,
            orders,
            requests: JoinSet::new(),
            observer,
            life: None,
            leaving: None,
            report,
            effects: Vec::new(),
        };
        (driver, reports)
    }

    pub(super) async fn run(mut self, mut orders: mpsc::UnboundedReceiver<Order>) {
        let watching = watch(Arc::clone(&self.caller), self.orders.clone());
        let observer = Arc::clone(&self.observer);
        let watching =
            async { supervised(observer, "watching etcd", watching).await.unwrap_or(()) };
        self.requests.spawn(watching);
        loop {
            let deadline = self.leaving.as_ref().map_or(MonoTime::NEVER, |(_, deadline)| *deadline);
            tokio::select! {
                biased;
                order = orders.recv() => match order {
                    Some(Order::Stop) | None => break,
                    Some(order) => self.take(order),
                },
                Some(_) = self.requests.join_next() => {}
                () = env::sleep_until(self.member.next().min(deadline)) => self.handle(Input::Timer),
            }
            let now = env::now();
            if let Some((reply, _)) = self.leaving.take_if(|(_, deadline)| now >= *deadline) {
                let _ = reply.send(());
            }
        }
    }

    fn take(&mut self, order: Order) {
        match order {
            Order::Enter(reply) => self.enter(reply),
            Order::Leave(reply) => {
                if self.life.is_none() {
                    let _ = reply.send(());
                    return;
                }
                self.leaving = Some((reply, env::now().after(LEAVE_WITHIN)));
                self.handle(Input::Leave);
            }
            Order::Renumber => self.handle(Input::Renumber),
            Order::Answered { number, answer: Ok(answer) } => {
                self.handle(Input::Answer { number, answer });
                let lease = self.member.settings();
                self.report.send_if_modified(|report| {
                    let lease_ms = lease.map(|lease| milliseconds(lease.lease));
                    let drift_ppm = lease.map(|lease| lease.drift.ppm);
                    let is_same = (report.lease_ms, report.drift_ppm) == (lease_ms, drift_ppm);
                    (report.lease_ms, report.drift_ppm) = (lease_ms, drift_ppm);
                    let was_silent = report.trouble.take().is_some();
                    if was_silent {
                        tracing::info!("etcd answers");
                    }
                    was_silent || !is_same
                });
            }
            Order::Answered { number, answer: Err(why) } => {
                self.report.send_if_modified(|report| {
                    let is_news = report.trouble.as_ref() != Some(&why);
                    if is_news {
                        tracing::warn!(why, "etcd does not answer");
                    }
                    report.trouble = Some(why);
                    is_news
                });
                self.handle(Input::Failed { number });
            }
            Order::Hint => self.handle(Input::Hint),
            Order::Stop => {}
        }
    }

    fn enter(&mut self, reply: oneshot::Sender<Result<Admission, NotAdmitted>>) {
        let join = Join { incarnation: draw_incarnation(), ..self.join.clone() };
        let lease = watch::Sender::new(Lease::Over);
        self.life = Some(Life { views: None, lease, entering: Some(reply) });
        self.handle(Input::Enter(join));
    }

    fn handle(&mut self, input: Input) {
        self.member.handle(env::now(), input, &mut self.effects);
        for effect in std::mem::take(&mut self.effects) {
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Send { number, endpoint, txn } => self.send(number, endpoint, txn),
            Effect::Installed(view) => self.install(Arc::new(view)),
            Effect::Prolonged(until) => self.prolong(until),
            Effect::Decided { is_first, outcomes } => {
                if is_first {
                    tracing::info!(view = self.caller.view(), "starting a new cluster in etcd");
                }
                let said = outcomes.iter().filter(|&outcome| *outcome != Outcome::Nothing);
                let what: Vec<String> = said.map(ToString::to_string).collect();
                if !what.is_empty() {
                    tracing::info!("decided: {}", what.join(", "));
                }
            }
            Effect::Waits(why) => {
                tracing::info!(%why, "waiting until the lease of the former incarnation has expired");
            }
            Effect::Over(end) => self.over(end),
        }
    }

    fn send(&mut self, number: u64, endpoint: usize, txn: Txn) {
        let (caller, orders, useful) = (Arc::clone(&self.caller), self.orders.clone(), self.useful);
        self.requests.spawn(async move {
            let answer = env::timeout(useful, caller.txn(endpoint, &txn)).await;
            let answer = answer.unwrap_or_else(|| Err(format!("no answer within {useful:?}")));
            let _ = orders.send(Order::Answered { number, answer });
        });
    }

    fn install(&mut self, view: Arc<View>) {
        let Some(life) = &mut self.life else { return };
        match &life.views {
            Some(views) => drop(views.send_replace(view)),
            None => life.views = Some(watch::Sender::new(view)),
        }
    }

    /// The life has begun as soon as it has a view and a lease.
    fn prolong(&mut self, until: MonoTime) {
        let Some(life) = &mut self.life else { return };
        life.lease.send_replace(Lease::Until(until));
        let Some(views) = &life.views else { return };
        if let Some(reply) = life.entering.take() {
            let (views, lease) = (views.subscribe(), life.lease.subscribe());
            let incarnation = self.member.incarnation();
            drop(reply.send(Ok(Admission { incarnation, views, lease })));
        }
    }

    fn over(&mut self, end: End) {
        let Some(life) = self.life.take() else { return };
        life.lease.send_replace(Lease::Over);
        let why = end.to_string();
        match (end, life.entering) {
            (End::Left, _) => {
                if let Some((reply, _)) = self.leaving.take() {
                    let _ = reply.send(());
                }
            }
            (End::Refused(_) | End::WentBack { .. }, Some(reply)) => {
                drop(reply.send(Err(NotAdmitted(why))));
            }
            // Something else than this node's life stood in the way: another one tries.
            (_, Some(reply)) => self.enter(reply),
            (_, None) => {
                tracing::warn!(why, "this incarnation of the member has ended");
                self.observer.tell(|| What::Halted { why });
            }
        }
    }
}

/// Views are looked at with every renewal; this only makes members look sooner.
async fn watch(caller: Arc<Caller>, orders: mpsc::UnboundedSender<Order>) {
    for endpoint in 0.. {
        let hint = || drop(orders.send(Order::Hint));
        if let Err(why) = caller.watch(endpoint, hint).await {
            tracing::debug!(why, "the view in etcd is not watched");
        }
        env::sleep(WATCH_AGAIN).await;
    }
}

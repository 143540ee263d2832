//! What this member answers, and how it finds the member where a lease lives.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use skeptron_member::election::Leadership;
use skeptron_member::session::SessionReport;
use skeptron_net::api::{Client, FrontEndApi};
use skeptron_net::{Fence, MemberId};
use tonic::{Code, Status};

use crate::call::{Call, passed_on};
use crate::error;
use crate::leases::{Lease, Leases, is_made_by};
use crate::names;
use crate::proto::etcdserverpb::{LeaseTimeToLiveRequest, ResponseHeader};
use crate::proto::mvccpb::KeyValue;
use crate::proto::v3electionpb::LeaderResponse;

/// How long a member that is not reached is waited for: longer than the usual leases.
const CERTAIN_WITHIN: Duration = Duration::from_secs(7);
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// One life of a member.
pub(crate) type Life = (MemberId, u64);

/// This member.
#[derive(Debug)]
pub(crate) struct Here {
    pub(crate) api: FrontEndApi,
    pub(crate) leases: Arc<Leases>,
    /// A digest of the cluster's name.
    pub(crate) cluster_id: u64,
    /// Where clients of this protocol are answered.
    pub(crate) urls: Arc<Vec<String>>,
}

/// Where a lease lives.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// At this member, if anywhere.
    Here,
    There(Life),
}

impl Here {
    /// The header of an answer: with the fence of an entry if it is about one, else with a number that is
    /// smaller than all fences of this view.
    pub(crate) fn header(&self, fence: Option<Fence>) -> Option<ResponseHeader> {
        let epoch = self.api.view().map_or(0, |view| view.epoch);
        let fence = fence.or_else(|| Fence::new(epoch, 0)).unwrap_or_default();
        Some(ResponseHeader {
            cluster_id: self.cluster_id,
            member_id: u64::from(self.api.node().id().number()),
            revision: revision(fence),
            raft_term: epoch,
        })
    }

    /// Answers a request, at the member where its lease lives.
    pub(crate) async fn answer<C: Call>(
        &self,
        client: &Client,
        request: C,
    ) -> Result<C::Answer, Status> {
        let place = match request.lease() {
            None | Some(0) => Place::Here,
            Some(lease) => self.place(client, lease, request.is_new()).await?,
        };
        match place {
            Place::Here => request.perform(self, client).await,
            Place::There(life) => passed_on(self, client, life, &request).await,
        }
    }

    /// Where a lease lives, as soon as that is certain: a member that is not reached is waited for until it
    /// answers or is known to be gone.
    async fn place(&self, client: &Client, lease: i64, is_new: bool) -> Result<Place, Status> {
        let began = Instant::now();
        loop {
            let found = self.look_for(client, lease, is_new).await;
            if !is_asked_again(began, &found).await {
                return found;
            }
        }
    }

    /// Where a lease lives; here if it lives nowhere. One that does not exist yet goes to the same member
    /// whoever is asked for it, so that no two of them have one number.
    async fn look_for(&self, client: &Client, lease: i64, is_new: bool) -> Result<Place, Status> {
        if self.lease(lease).is_some() {
            return Ok(Place::Here);
        }
        let Some(view) = self.api.view() else { return Ok(Place::Here) };
        let own = self.api.life();
        let lives = view.members.iter().chain(&view.away);
        let lives: Vec<Life> = lives.filter_map(|it| Some((it.id, it.incarnation?))).collect();
        if let Some(&life) = lives.iter().find(|life| is_made_by(lease, **life)) {
            return match Some(life) == own {
                true => Ok(Place::Here),
                false if self.api.reaches(life) => Ok(Place::There(life)),
                false => Err(error::not_reached(life.0)),
            };
        }
        let others = lives.iter().filter(|life| Some(**life) != own);
        let looks = others.map(async |&life| (life, self.is_there(client, lease, life).await));
        let mut silent = None;
        for (life, found) in join_all(looks).await {
            match found {
                Ok(true) => return Ok(Place::There(life)),
                Ok(false) => {}
                Err(status) => silent = Some(status),
            }
        }
        if let Some(status) = silent {
            return Err(status);
        }
        let home = &view.members[view.home(&format!("etcd lease {lease:x}")).index()];
        match (home.id, home.incarnation) {
            (id, Some(life)) if is_new && Some((id, life)) != own => Ok(Place::There((id, life))),
            _ => Ok(Place::Here),
        }
    }

    /// Whether a lease lives at another member.
    async fn is_there(&self, client: &Client, lease: i64, life: Life) -> Result<bool, Status> {
        let request = LeaseTimeToLiveRequest { id: lease, keys: false };
        Ok(passed_on(self, client, life, &request).await?.ttl >= 0)
    }

    /// The lives of all other members.
    pub(crate) fn others(&self) -> Vec<Life> {
        let (view, own) = (self.api.view(), self.api.life());
        let members = view.iter().flat_map(|view| &view.members);
        let lives = members.filter_map(|it| Some((it.id, it.incarnation?)));
        lives.filter(|life| Some(*life) != own).collect()
    }

    /// A lease that lives here.
    pub(crate) fn lease(&self, id: i64) -> Option<Arc<Lease>> {
        let lease = self.leases.find(id)?;
        if self.api.look(lease.session).is_none() {
            self.leases.remove(id);
            return None;
        }
        Some(lease)
    }

    /// What a session holds; nothing if it is over.
    pub(crate) fn report(&self, lease: &Lease) -> Option<SessionReport> {
        self.api.look(lease.session).map(|(report, _)| report)
    }

    /// The fence with which a lease holds a lock.
    pub(crate) fn held(&self, lease: &Lease, name: &str) -> Option<Fence> {
        let held = self.report(lease)?.held;
        held.into_iter().find(|held| held.lock == name).map(|held| held.fence)
    }

    /// A leader as etcd shows one: a key that was created in its term.
    pub(crate) fn shown(&self, name: &str, told: Leadership) -> Result<LeaderResponse, Status> {
        let leader = told.leader.ok_or_else(error::no_leader)?;
        let term = revision(leader.term);
        let lease = names::lease_of(&leader.owner);
        let key = match lease {
            Some(lease) => names::Entry { name: name.to_string(), lease, number: 1 }.key(),
            // It leads by the HTTP API, and has no lease.
            None => format!("{name}/{term:x}").into_bytes(),
        };
        let kv = KeyValue {
            key,
            create_revision: term,
            mod_revision: term,
            version: i64::try_from(leader.version).unwrap_or(i64::MAX),
            value: names::value_of_text(leader.value),
            lease: lease.unwrap_or(0),
        };
        Ok(LeaderResponse { header: self.header(Some(leader.term)), kv: Some(kv) })
    }
}

/// Whether to ask again, after a moment, since a member did not answer: until it does or is not a member any
/// more, but not for longer than etcd's clients wait while etcd elects a leader.
pub(crate) async fn is_asked_again<T>(began: Instant, answer: &Result<T, Status>) -> bool {
    let is_open = answer.as_ref().is_err_and(|status| status.code() == Code::Unavailable);
    let is_asked_again = is_open && began.elapsed() < CERTAIN_WITHIN;
    if is_asked_again {
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
    is_asked_again
}

/// A fence as a revision; the largest after eight million views.
pub(crate) fn revision(fence: Fence) -> i64 {
    i64::try_from(fence.number()).unwrap_or(i64::MAX)
}

/// The fence that was told as this revision.
pub(crate) fn fence(revision: i64) -> Fence {
    Fence::from_number(u64::try_from(revision).unwrap_or(0))
}

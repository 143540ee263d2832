//! Leases, locks and elections as etcd's services have them. Where etcd is unsafe we are not: an unlock names
//! one entry of one lease, and whoever waits is told at once that its lease is over.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use skeptron_member::session::{Held, SessionId};
use skeptron_net::Fence;
use skeptron_net::api::{Client, FrontEndApi};
use tonic::Status;

use crate::call::{Call, passed_on};
use crate::error;
use crate::here::{Here, Life, fence, is_asked_again, revision};
use crate::leases::{self, Lease};
use crate::names::{self, Entry};
use crate::proto::etcdserverpb::{
    LeaseGrantRequest, LeaseGrantResponse, LeaseKeepAliveRequest, LeaseKeepAliveResponse,
    LeaseLeasesRequest, LeaseLeasesResponse, LeaseRevokeRequest, LeaseRevokeResponse, LeaseStatus,
    LeaseTimeToLiveRequest, LeaseTimeToLiveResponse,
};
use crate::proto::v3electionpb::{
    CampaignRequest, CampaignResponse, LeaderKey, LeaderRequest, LeaderResponse, ProclaimRequest,
    ProclaimResponse, ResignRequest, ResignResponse,
};
use crate::proto::v3lockpb::{LockRequest, LockResponse, UnlockRequest, UnlockResponse};

/// No lease is shorter, as in etcd with its default settings.
const LEAST_TTL: i64 = 2;
/// The lease that is made for a lock or a campaign without one, as in etcd.
const DEFAULT_TTL: i64 = 60;
/// Leases that a member lists at once.
const MOST_LISTED: usize = 2000;

impl Call for LeaseGrantRequest {
    type Answer = LeaseGrantResponse;
    const NAME: &'static str = "lease-grant";

    fn lease(&self) -> Option<i64> {
        Some(self.id)
    }

    fn is_new(&self) -> bool {
        true
    }

    async fn perform(self, here: &Here, client: &Client) -> Result<LeaseGrantResponse, Status> {
        let lease = here.grant(client, self.id, self.ttl)?;
        let (id, ttl) = (lease.id, lease.ttl);
        Ok(LeaseGrantResponse { header: here.header(None), id, ttl, error: String::new() })
    }
}

impl Call for LeaseRevokeRequest {
    type Answer = LeaseRevokeResponse;
    const NAME: &'static str = "lease-revoke";

    fn lease(&self) -> Option<i64> {
        Some(self.id)
    }

    async fn perform(self, here: &Here, client: &Client) -> Result<LeaseRevokeResponse, Status> {
        let lease = here.lease(self.id).ok_or_else(error::lease_not_found)?;
        here.api.end(client, lease.session).map_err(|why| error::refused(&why))?;
        here.leases.remove(lease.id);
        Ok(LeaseRevokeResponse { header: here.header(None) })
    }
}

impl Call for LeaseKeepAliveRequest {
    type Answer = LeaseKeepAliveResponse;
    const NAME: &'static str = "lease-keep-alive";

    fn lease(&self) -> Option<i64> {
        Some(self.id)
    }

    async fn perform(self, here: &Here, client: &Client) -> Result<LeaseKeepAliveResponse, Status> {
        let answer = |ttl| LeaseKeepAliveResponse { header: here.header(None), id: self.id, ttl };
        // One that is over has no time left.
        let Some(lease) = here.lease(self.id) else { return Ok(answer(0)) };
        match here.api.keep_alive(client, lease.session) {
            Ok(()) => Ok(answer(lease.ttl)),
            Err(why) if why.code() == "session-over" => Ok(answer(0)),
            Err(why) => Err(error::refused(&why)),
        }
    }
}

impl Call for LeaseTimeToLiveRequest {
    type Answer = LeaseTimeToLiveResponse;
    const NAME: &'static str = "lease-time-to-live";

    fn lease(&self) -> Option<i64> {
        Some(self.id)
    }

    async fn perform(
        self,
        here: &Here,
        client: &Client,
    ) -> Result<LeaseTimeToLiveResponse, Status> {
        let mut answer = LeaseTimeToLiveResponse {
            header: here.header(None),
            id: self.id,
            ttl: -1,
            ..LeaseTimeToLiveResponse::default()
        };
        let Some(lease) = here.lease(self.id) else { return Ok(answer) };
        here.api.check(client, lease.session).map_err(|why| error::refused(&why))?;
        if let Some((report, left)) = here.api.look(lease.session) {
            (answer.ttl, answer.granted_ttl) = (left.as_secs() as i64, lease.ttl);
            if self.keys {
                let keys = report.held.into_iter().map(|held| lease.key(held.lock));
                answer.keys = keys.collect();
            }
        }
        Ok(answer)
    }
}

/// Leases of one member after that one.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ListAfter {
    #[prost(int64, optional, tag = "1")]
    after: Option<i64>,
}

impl Call for ListAfter {
    type Answer = LeaseLeasesResponse;
    const NAME: &'static str = "lease-list";

    fn lease(&self) -> Option<i64> {
        None
    }

    async fn perform(self, here: &Here, client: &Client) -> Result<LeaseLeasesResponse, Status> {
        // As far as it may use them: a role sees its own.
        let is_seen = |lease: &Arc<Lease>| {
            here.api.look(lease.session).is_some() && here.api.is_own(client, lease.session)
        };
        let (mut after, mut leases) = (self.after, Vec::new());
        loop {
            let page = here.leases.after(after, MOST_LISTED);
            let Some(last) = page.last() else { break };
            after = Some(last.id);
            let seen = page.iter().filter(|lease| is_seen(lease));
            leases
                .extend(seen.take(MOST_LISTED - leases.len()).map(|it| LeaseStatus { id: it.id }));
            if leases.len() >= MOST_LISTED {
                break;
            }
        }
        Ok(LeaseLeasesResponse { header: None, leases })
    }
}

impl Call for LeaseLeasesRequest {
    type Answer = LeaseLeasesResponse;
    const NAME: &'static str = "lease-leases";

    fn lease(&self) -> Option<i64> {
        None
    }

    async fn perform(self, here: &Here, client: &Client) -> Result<LeaseLeasesResponse, Status> {
        let began = Instant::now();
        let mut leases = loop {
            let listed = all_listed(here, client).await;
            if !is_asked_again(began, &listed).await {
                break listed?;
            }
        };
        leases.sort_unstable_by_key(|lease| lease.id);
        Ok(LeaseLeasesResponse { header: here.header(None), leases })
    }
}

/// The leases of all members.
async fn all_listed(here: &Here, client: &Client) -> Result<Vec<LeaseStatus>, Status> {
    let places = std::iter::once(None).chain(here.others().into_iter().map(Some));
    let mut leases = Vec::new();
    for listed in join_all(places.map(|place| listed(here, client, place))).await {
        leases.extend(listed?);
    }
    Ok(leases)
}

/// All leases of another member, or of this one; each tells so many at once.
async fn listed(
    here: &Here,
    client: &Client,
    place: Option<Life>,
) -> Result<Vec<LeaseStatus>, Status> {
    let mut leases: Vec<LeaseStatus> = Vec::new();
    loop {
        let request = ListAfter { after: leases.last().map(|lease| lease.id) };
        let page = match place {
            None => request.perform(here, client).await?,
            Some(life) => passed_on(here, client, life, &request).await?,
        };
        let is_last = page.leases.len() < MOST_LISTED;
        leases.extend(page.leases);
        if is_last {
            return Ok(leases);
        }
    }
}

impl Call for LockRequest {
    type Answer = LockResponse;
    const NAME: &'static str = "lock";
    const WAITS: bool = true;

    fn lease(&self) -> Option<i64> {
        Some(self.lease)
    }

    async fn perform(self, here: &Here, client: &Client) -> Result<LockResponse, Status> {
        let name = names::name(self.name)?;
        let lease = here.lease_for_lock(client, self.lease)?;
        let (held, _) = here.acquire(client, &lease, &name, None).await?;
        Ok(LockResponse { header: here.header(Some(held.fence)), key: lease.key(name) })
    }
}

impl Call for UnlockRequest {
    type Answer = UnlockResponse;
    const NAME: &'static str = "unlock";

    fn lease(&self) -> Option<i64> {
        Entry::read(&self.key).map(|entry| entry.lease)
    }

    async fn perform(self, here: &Here, client: &Client) -> Result<UnlockResponse, Status> {
        if self.key.is_empty() {
            return Err(error::no_key());
        }
        // As in etcd, to unlock what is not locked is no mistake.
        let answer = Ok(UnlockResponse { header: here.header(None) });
        let Some(Entry { name, lease, number }) = Entry::read(&self.key) else { return answer };
        let Some(lease) = here.lease(lease) else { return answer };
        here.api.check(client, lease.session).map_err(|why| error::lock_refused(&why))?;
        if here.held(&lease, &name).is_none() {
            return answer;
        }
        // Other requests of this lease would find it held: none of them has the turn for long.
        let _turn = lease.turn(&name).await;
        let Some(fence) = here.held(&lease, &name) else { return answer };
        if lease.entry(&name) != number {
            let present = String::from_utf8_lossy(&lease.key(name.clone())).into_owned();
            return Err(Status::failed_precondition(format!(
                "this key was unlocked before; the lease has locked the name again since, with the key {present}"
            )));
        }
        here.release(client, &lease, (&name, fence))?;
        answer
    }
}

impl Call for CampaignRequest {
    type Answer = CampaignResponse;
    const NAME: &'static str = "campaign";
    const WAITS: bool = true;

    fn lease(&self) -> Option<i64> {
        Some(self.lease)
    }

    async fn perform(self, here: &Here, client: &Client) -> Result<CampaignResponse, Status> {
        let (name, value) = (names::name(self.name)?, names::value_to_text(self.value));
        let lease = here.lease_for_lock(client, self.lease)?;
        let (held, was_held) = here.acquire(client, &lease, &name, Some(&value)).await?;
        if was_held {
            // Who leads already has a new value, as in etcd.
            let entry = (name.as_str(), held.fence);
            let proclaimed = here.api.proclaim(client, lease.session, entry, &value);
            proclaimed.map_err(|why| error::lock_refused(&why))?;
        }
        let leader = LeaderKey {
            key: Entry { name: name.clone(), lease: lease.id, number: 1 }.key(),
            name: name.into_bytes(),
            rev: revision(held.fence),
            lease: lease.id,
        };
        Ok(CampaignResponse { header: here.header(Some(held.fence)), leader: Some(leader) })
    }
}

impl Call for ProclaimRequest {
    type Answer = ProclaimResponse;
    const NAME: &'static str = "proclaim";

    fn lease(&self) -> Option<i64> {
        lease_of(self.leader.as_ref())
    }

    async fn perform(self, here: &Here, client: &Client) -> Result<ProclaimResponse, Status> {
        let lease = self.lease();
        let leader = self.leader.ok_or_else(error::no_leader_given)?;
        let (name, value) = (names::name(leader.name)?, names::value_to_text(self.value));
        let lease = lease.and_then(|id| here.lease(id)).ok_or_else(error::not_leader)?;
        let term = fence(leader.rev);
        match here.api.proclaim(client, lease.session, (&name, term), &value) {
            Ok(_) => Ok(ProclaimResponse { header: here.header(Some(term)) }),
            Err(why) => Err(match why.code() {
                "not-held" | "other-fence" | "not-leading" | "lost" | "session-over" => {
                    error::not_leader()
                }
                _ => error::lock_refused(&why),
            }),
        }
    }
}

impl Call for ResignRequest {
    type Answer = ResignResponse;
    const NAME: &'static str = "resign";

    fn lease(&self) -> Option<i64> {
        lease_of(self.leader.as_ref())
    }

    async fn perform(self, here: &Here, client: &Client) -> Result<ResignResponse, Status> {
        let lease = self.lease();
        let leader = self.leader.ok_or_else(error::no_leader_given)?;
        let (name, term) = (names::name(leader.name)?, fence(leader.rev));
        // As in etcd, to resign without leading is no mistake.
        if let Some(lease) = lease.and_then(|id| here.lease(id))
            && here.held(&lease, &name) == Some(term)
        {
            let _turn = lease.turn(&name).await;
            if here.held(&lease, &name) == Some(term) {
                here.release(client, &lease, (&name, term))?;
            }
        }
        Ok(ResignResponse { header: here.header(None) })
    }
}

impl Call for LeaderRequest {
    type Answer = LeaderResponse;
    const NAME: &'static str = "leader";

    fn lease(&self) -> Option<i64> {
        None
    }

    async fn perform(self, here: &Here, client: &Client) -> Result<LeaderResponse, Status> {
        let name = names::name(self.name)?;
        let told = here.api.leader(client, &name).await;
        here.shown(&name, told.map_err(|why| error::lock_refused(&why))?)
    }
}

/// The lease by which somebody leads; its key says it, too.
fn lease_of(leader: Option<&LeaderKey>) -> Option<i64> {
    let LeaderKey { key, lease, .. } = leader?;
    if *lease != 0 { Some(*lease) } else { Some(Entry::read(key)?.lease) }
}

impl Lease {
    /// The key of the lease's present entry into a lock.
    fn key(&self, name: String) -> Vec<u8> {
        let number = self.entry(&name);
        Entry { name, lease: self.id, number }.key()
    }
}

impl Here {
    fn grant(&self, client: &Client, id: i64, ttl: i64) -> Result<Arc<Lease>, Status> {
        let (shortest, longest) = self.api.ttl();
        let ttl = ttl.max(LEAST_TTL).max(shortest.as_millis().div_ceil(1000) as i64);
        if ttl > longest.as_secs() as i64 {
            return Err(error::too_large_ttl());
        }
        let unused = |id: &i64| self.leases.find(*id).is_none();
        let id = match id {
            0 => {
                let life = self.api.life().map(|(_, life)| life);
                let draw = || leases::number(self.api.node().id(), life);
                // Twice the same number of 31 random bits is likely among 46 000.
                std::iter::from_fn(draw).take(8).find(unused).ok_or_else(|| {
                    Status::unavailable("no number was found for the lease; try again")
                })?
            }
            id if self.lease(id).is_some() => return Err(error::lease_exists()),
            id => id,
        };
        let time = Duration::from_secs(ttl as u64);
        let session = self.api.open(client, time, names::owner(id));
        let session = session.map_err(|why| error::refused(&why))?;
        let is_alive = |lease: &Lease| self.api.look(lease.session).is_some();
        Ok(self.leases.insert(Lease::new(id, session, ttl), is_alive))
    }

    /// The lease for a lock: that one, or a new one for 0.
    fn lease_for_lock(&self, client: &Client, id: i64) -> Result<Arc<Lease>, Status> {
        match id {
            0 => self.grant(client, 0, DEFAULT_TTL),
            id => self.lease(id).ok_or_else(error::no_lease_for_lock),
        }
    }

    /// Waits until a lease holds a lock. Whether it did before.
    async fn acquire(
        &self,
        client: &Client,
        lease: &Arc<Lease>,
        name: &str,
        value: Option<&str>,
    ) -> Result<(Held, bool), Status> {
        let _turn = lease.turn(name).await;
        let held_before = self.held(lease, name);
        let (api, session) = (&self.api, lease.session);
        // Whoever goes away while it waits must not get what it does not know of.
        let mut undo = Undo { api, client, session, name, is_due: held_before.is_none() };
        let held = self.api.acquire(client, (session, name), value).await;
        undo.is_due = false;
        let held = held.map_err(|why| error::lock_refused(&why))?;
        let was_held = held_before == Some(held.fence);
        Ok((held, was_held))
    }

    fn release(
        &self,
        client: &Client,
        lease: &Lease,
        (name, fence): (&str, Fence),
    ) -> Result<(), Status> {
        let released = self.api.release(client, (lease.session, name), fence);
        // Also if it had been lost: that entry is over.
        lease.released(name);
        match released {
            Err(why) if !matches!(why.code(), "not-held" | "session-over") => {
                Err(error::lock_refused(&why))
            }
            _ => Ok(()),
        }
    }
}

/// Gives a lock back that was granted to a request which nobody waits for any more.
struct Undo<'a> {
    api: &'a FrontEndApi,
    client: &'a Client,
    session: SessionId,
    name: &'a str,
    is_due: bool,
}

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        if !self.is_due {
            return;
        }
        let report = self.api.look(self.session).map(|(report, _)| report);
        let held = report.and_then(|it| it.held.into_iter().find(|held| held.lock == self.name));
        if let Some(Held { fence, .. }) = held {
            // It may have been lost since.
            let _ = self.api.release(self.client, (self.session, self.name), fence);
        }
    }
}

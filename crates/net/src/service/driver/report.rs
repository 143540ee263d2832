//! What a node says of the voters: to whoever asks it, in its log, and, if it leads, to the members.

use std::collections::BTreeMap;
use std::time::Duration;

use skeptron_member::MemberId;
use skeptron_member::clock::MonoTime;
use skeptron_member::report::{VoterState, milliseconds};
use skeptron_views::views::Role;
use skeptron_views::voter::Standing;

use super::{Driver, RunningVoter, ViewMessage};
use crate::env;
use crate::view::{ServiceReport, VoterStatus};

/// How the voters stand, by raft id.
pub(in crate::service) type Standings = Vec<(u64, Standing)>;

/// What a leader said of the voters.
pub(super) struct LeaderReport {
    pub(super) by: MemberId,
    pub(super) at: MonoTime,
    pub(super) standings: Standings,
}

impl Driver {
    /// Lets others see how it stands.
    pub(super) fn tell(&mut self) {
        let now = env::now();
        let report = self.report_at(now);
        log_changes(self.me, &self.report.borrow(), &report);
        self.share_standings(now);
        self.report.send_if_modified(|former| {
            let is_new = *former != report;
            *former = report;
            is_new
        });
    }

    fn report_at(&self, now: MonoTime) -> ServiceReport {
        let own = self.informed_voter();
        let known = own.map(|own| own.voter.views().voters()).or_else(|| self.voters.clone());
        let leader = self.present_leader();
        let standings = self.standings(now, leader);
        let voters = known.iter().flat_map(|known| {
            known.seats.iter().map(|seat| {
                let (state, silent) = match standings.get(&seat.raft) {
                    None | Some(Standing::Unknown) => (VoterState::Unknown, None),
                    Some(Standing::Up) => (VoterState::Up, None),
                    Some(Standing::Behind) => (VoterState::Behind, None),
                    Some(Standing::Silent { since }) => (VoterState::Silent, Some(*since)),
                };
                VoterStatus {
                    node: seat.id,
                    seat: seat.raft,
                    votes: match own {
                        Some(own) => own.voter.votes(seat.raft),
                        None => seat.role == Role::Voter,
                    },
                    state,
                    // Whole seconds: whoever waits for reports is not woken by the time alone.
                    silent_ms: silent
                        .map(|since| milliseconds(Duration::from_secs(since.as_secs()))),
                    address: known.addresses.get(&seat.id).cloned(),
                }
            })
        });
        let lease = own.map(|own| own.voter.views().settings());
        let drift = || self.life.as_ref().and_then(|life| life.membership.drift());
        ServiceReport {
            kind: "voters".to_string(),
            leader,
            term: own.map(|own| own.voter.term()),
            voters: voters.collect(),
            endpoints: Vec::new(),
            trouble: leader.is_none().then(|| {
                "no voter is known to lead: a majority of the voters must be up and connected"
                    .to_string()
            }),
            clock_rate_ppm: self.clocks.largest(),
            voter_halted: self.halted.as_ref().map(|(_, why)| why.clone()),
            lease_ms: lease.map(|lease| milliseconds(lease.lease)),
            drift_ppm: lease.map(|lease| lease.drift).or_else(drift).map(|drift| drift.ppm),
        }
    }

    /// Who leads now, as far as this node knows. A voter takes part in elections; others know only who
    /// answered them last, which is worth nothing once that one cannot be reached.
    fn present_leader(&self) -> Option<MemberId> {
        match self.informed_voter() {
            Some(own) => own.voter.leader(),
            None => self.leader.filter(|&leader| self.exchange.trouble(leader).is_none()),
        }
    }

    /// This node's voter, unless it has not been sent the log yet and knows nobody, or its seat was taken
    /// away while it was down: nobody sends it what was decided since.
    fn informed_voter(&self) -> Option<&RunningVoter> {
        let is_present = |raft: u64| {
            let told = self.voters.as_ref();
            told.is_none_or(|voters| voters.seats.iter().any(|seat| seat.raft == raft))
        };
        self.own.as_ref().filter(|own| {
            !own.voter.views().seats().is_empty() && is_present(own.voter.identity().raft)
        })
    }

    fn standings(&self, now: MonoTime, leader: Option<MemberId>) -> BTreeMap<u64, Standing> {
        if let Some(own) = self.own.as_ref().filter(|own| own.voter.leads()) {
            return own.voter.standings(now).into_iter().collect();
        }
        let Some(told) = self.told.as_ref().filter(|told| Some(told.by) == leader) else {
            return BTreeMap::new();
        };
        let passed = now.since(told.at);
        let aged = |&(raft, standing): &(u64, Standing)| match standing {
            Standing::Silent { since } => (raft, Standing::Silent { since: since + passed }),
            other => (raft, other),
        };
        told.standings.iter().map(aged).collect()
    }

    /// A leader tells all members at once when a voter falls silent or is back, and each one again with
    /// every renewal, since words may be lost.
    fn share_standings(&mut self, now: MonoTime) {
        let Some(own) = self.own.as_ref().filter(|own| own.voter.leads()) else {
            self.shared.clear();
            return;
        };
        let standings = own.voter.standings(now);
        let kind = |&(raft, standing): &(u64, Standing)| match standing {
            Standing::Silent { .. } => (raft, Standing::Silent { since: Duration::ZERO }),
            other => (raft, other),
        };
        let kinds: Standings = standings.iter().map(kind).collect();
        if kinds == self.shared {
            return;
        }
        self.shared = kinds;
        for member in own.voter.views().view().ids().filter(|&id| id != self.me) {
            self.exchange.send(member, ViewMessage::Standings(standings.clone()));
        }
    }

    /// Tells one member, if this node leads.
    pub(super) fn tell_standings(&self, to: MemberId) {
        if let Some(own) = self.own.as_ref().filter(|own| own.voter.leads()) {
            self.exchange.send(to, ViewMessage::Standings(own.voter.standings(env::now())));
        }
    }
}

/// One line for each change of who votes, who leads, and, at the leader, who answers.
fn log_changes(me: MemberId, former: &ServiceReport, report: &ServiceReport) {
    let term = report.term;
    match report.leader {
        leader if leader == former.leader => {}
        Some(leader) => tracing::info!(term, "{leader} leads the voters"),
        None => tracing::info!(term, "no leading voter is known"),
    }
    let changes = voter_changes(&former.voters, &report.voters);
    if !changes.is_empty() {
        tracing::info!("voters: {}", changes.join(", "));
    }
    if report.leader != Some(me) {
        return;
    }
    for voter in &report.voters {
        let was = former.voters.iter().find(|it| it.seat == voter.seat).map(|it| it.state);
        let node = voter.node;
        match (was, voter.state) {
            (was, state) if was == Some(state) => {}
            (_, VoterState::Silent) => tracing::warn!(
                raft_id = voter.seat,
                "the voter of {node} does not answer; {}",
                may_fail(report)
            ),
            (_, VoterState::Behind) => {
                tracing::warn!(raft_id = voter.seat, "the voter of {node} lags behind");
            }
            (Some(VoterState::Silent | VoterState::Behind), VoterState::Up) => {
                tracing::info!(raft_id = voter.seat, "the voter of {node} answers again");
            }
            _ => {}
        }
    }
}

fn may_fail(report: &ServiceReport) -> String {
    match report.may_fail() {
        None => "no majority of the voters is up".to_string(),
        Some(0) => "no other voter may fail now".to_string(),
        Some(more) => format!("{more} more may fail"),
    }
}

fn voter_changes(former: &[VoterStatus], present: &[VoterStatus]) -> Vec<String> {
    let votes = |list: &[VoterStatus], seat| {
        list.iter().find(|voter| voter.seat == seat).map(|voter| voter.votes)
    };
    let changed =
        present.iter().filter_map(|voter| match (votes(former, voter.seat), voter.votes) {
            (Some(before), now) if before == now => None,
            (_, true) => Some(format!("{} votes", voter.node)),
            (_, false) => Some(format!("{} is sent the log, to vote", voter.node)),
        });
    let gone = former.iter().filter(|voter| votes(present, voter.seat).is_none());
    let gone = gone.map(|voter| format!("{} votes no more (raft id {})", voter.node, voter.seat));
    changed.chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn voter(number: u32, seat: u64, votes: bool) -> VoterStatus {
        VoterStatus {
            node: MemberId::new(number).unwrap(),
            seat,
            votes,
            state: VoterState::Up,
            silent_ms: None,
            address: None,
        }
    }

    #[test]
    fn changes_of_the_voters_name_members() {
        let before = [voter(1, 1, true), voter(2, 2, true)];
        let sent = [voter(1, 1, true), voter(2, 2, true), voter(2, 7, false)];
        let after = [voter(1, 1, true), voter(2, 7, true)];
        assert_eq!(voter_changes(&before, &before), Vec::<String>::new());
        assert_eq!(voter_changes(&before, &sent), ["P2 is sent the log, to vote"]);
        assert_eq!(voter_changes(&sent, &after), ["P2 votes", "P2 votes no more (raft id 2)"]);
    }
}

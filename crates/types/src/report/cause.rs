//! Why locks are not granted: contention, or an outage and its causes.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::listing::gathered;
use super::{Holder, LinkState, LockStatus, Status, lasted};
use crate::{MemberId, Mode};

/// One reason why locks, or some of them, cannot be granted now although nobody holds them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// What kind of reason.
    pub reason: Reason,
    /// Which member it is about, if about one.
    pub member: Option<MemberId>,
    /// For how long it has been so, in milliseconds, if that is known.
    pub for_ms: Option<u64>,
    /// The same, for people.
    pub text: String,
}

/// Kinds of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// A part of the node has panicked; only a restart helps.
    Failed,
    /// The node has not entered the cluster.
    NotEntered,
    /// The node cannot go on in this life, say because its lease is over; it enters anew by itself.
    Halted,
    /// The node is shutting down, or was drained.
    Leaving,
    /// Nobody can decide about members.
    NoQuorum,
    /// The node has a link to no other member.
    Isolated,
    /// The node, or the home of the lock, has not met a member in this view.
    NotMet,
    /// There is no link to a member.
    Unreachable,
    /// A member was asked and did not answer in time.
    NoAnswer,
    /// A member is not heard of but may still hold what nobody else has.
    Away,
}

impl Reason {
    /// All of them.
    pub const ALL: [Reason; 10] = [
        Reason::Failed,
        Reason::NotEntered,
        Reason::Halted,
        Reason::Leaving,
        Reason::NoQuorum,
        Reason::Isolated,
        Reason::NotMet,
        Reason::Unreachable,
        Reason::NoAnswer,
        Reason::Away,
    ];

    /// As it is written in JSON and in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Reason::Failed => "failed",
            Reason::NotEntered => "not-entered",
            Reason::Halted => "halted",
            Reason::Leaving => "leaving",
            Reason::NoQuorum => "no-quorum",
            Reason::Isolated => "isolated",
            Reason::NotMet => "not-met",
            Reason::Unreachable => "unreachable",
            Reason::NoAnswer => "no-answer",
            Reason::Away => "away",
        }
    }

    /// Whether clients should go to another node: this one serves no session.
    #[must_use]
    pub fn ends_service(self) -> bool {
        matches!(self, Reason::Failed | Reason::NotEntered | Reason::Halted | Reason::Leaving)
    }

    /// Whether the node should not be asked for locks; others concern only some of them.
    #[must_use]
    pub fn stops_grants(self) -> bool {
        self.ends_service() || matches!(self, Reason::Isolated | Reason::NotMet)
    }
}

impl Cause {
    fn new(reason: Reason, member: MemberId, for_ms: Option<u64>, text: String) -> Self {
        Cause { reason, member: Some(member), for_ms, text }
    }

    /// `by` has not met `member` in this view.
    #[must_use]
    pub fn not_met(by: MemberId, member: MemberId) -> Self {
        Cause::new(Reason::NotMet, member, None, format!("{by} has not met {member} yet"))
    }

    /// A member is away.
    #[must_use]
    pub fn away(member: MemberId, for_ms: Option<u64>) -> Self {
        let since = for_ms.map_or_else(String::new, |ms| format!(" for {}", lasted(ms)));
        let text = format!(
            "{member} is away{since}: what it may hold is withheld until it is back or its lease has ended"
        );
        Cause::new(Reason::Away, member, for_ms, text)
    }

    /// There is no link to a member.
    #[must_use]
    pub fn unreachable(member: MemberId, for_ms: Option<u64>) -> Self {
        let since = for_ms.map_or_else(String::new, |ms| format!(" for {}", lasted(ms)));
        Cause::new(Reason::Unreachable, member, for_ms, format!("{member} unreachable{since}"))
    }

    /// A member was asked and did not answer within that time.
    #[must_use]
    pub fn no_answer(member: MemberId, within_ms: u64) -> Self {
        let within = match within_ms % 1_000 {
            0 => format!("{} s", within_ms / 1_000),
            _ => lasted(within_ms),
        };
        let text = format!("{member} did not answer within {within}");
        Cause::new(Reason::NoAnswer, member, None, text)
    }

    /// A member has not taken yet most of what it was sent, and is asked nothing more.
    #[must_use]
    pub fn behind(member: MemberId) -> Self {
        let text = format!("{member} is far behind with what it was sent");
        Cause::new(Reason::NoAnswer, member, None, text)
    }

    /// The views cannot change.
    #[must_use]
    pub fn no_quorum(why: &str) -> Self {
        let text = format!("no quorum: {why}");
        Cause { reason: Reason::NoQuorum, member: None, for_ms: None, text }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Status {
    /// Why the node cannot grant locks, or not all of them, as the rest of the status tells; `failed` if a
    /// part of it has panicked, `entered` if it has ever been a member.
    #[must_use]
    pub fn find_causes(&self, failed: bool, entered: bool) -> Vec<Cause> {
        let node = self.node;
        if self.drain.is_some() && !failed {
            let text = format!("{node} is drained and serves no clients");
            return vec![Cause::new(Reason::Leaving, node, None, text)];
        }
        let mut causes = Vec::new();
        if let Some(why) = &self.halted {
            let reason = match (failed, entered) {
                (true, _) => Reason::Failed,
                (false, false) => Reason::NotEntered,
                (false, true) => Reason::Halted,
            };
            let text = format!("{node} grants nothing: {why}");
            causes.push(Cause::new(reason, node, None, text));
        }
        if self.leaving {
            let text = format!("{node} is shutting down");
            causes.push(Cause::new(Reason::Leaving, node, None, text));
        }
        if let Some(why) = &self.views.trouble {
            causes.push(Cause::no_quorum(why));
        }
        let others = || self.members.iter().filter(|member| member.link != LinkState::Own);
        let mut down = others().filter(|member| member.link == LinkState::Down).peekable();
        if down.peek().is_some() && others().all(|member| member.link == LinkState::Down) {
            let text = format!("{node} has a link to no other member");
            causes.push(Cause::new(Reason::Isolated, node, None, text));
        }
        causes.extend(self.awaited.iter().map(|&member| Cause::not_met(node, member)));
        causes.extend(down.map(|member| Cause::unreachable(member.node, member.down_ms)));
        causes.extend(self.away.iter().map(|&member| Cause::away(member, self.away_ms)));
        causes
    }
}

/// Why a lock was not granted in its time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotGranted {
    /// Whoever holds it, if a member says that it does; of several, the last to enter.
    pub holder: Option<Holder>,
    /// How many hold it.
    #[serde(default)]
    pub inside: u64,
    /// How many others wait for it, as far as is known.
    pub waiters: u64,
    /// Why the cluster cannot grant it now; none if it is held or on its way to others.
    pub causes: Vec<Cause>,
}

impl NotGranted {
    /// Because of these.
    #[must_use]
    pub fn because(causes: Vec<Cause>) -> Self {
        NotGranted { causes, ..NotGranted::default() }
    }

    /// Whether nobody is known to stand in the way, but something is.
    #[must_use]
    pub fn is_outage(&self) -> bool {
        !self.causes.is_empty()
    }
}

impl fmt::Display for NotGranted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let others = match self.waiters {
            0 => String::new(),
            1 => "; 1 other waits".to_string(),
            many => format!("; {many} others wait"),
        };
        if let Some(Holder { node, owner, fence, mode, held_ms }) = &self.holder {
            let by = if owner.is_empty() { String::new() } else { format!(" by {owner}") };
            let held = lasted(*held_ms);
            let kind = if mode.is_exclusive() { String::new() } else { format!(" as {mode}") };
            let beside = match self.inside {
                many if many > 1 && !mode.is_exclusive() => match many - 1 {
                    1 => ", beside 1 other".to_string(),
                    others => format!(", beside {others} others"),
                },
                _ => String::new(),
            };
            return write!(
                f,
                "held{by} at {node}{kind} for {held}, fence {fence:#}{beside}{others}"
            );
        }
        if self.causes.is_empty() {
            return write!(f, "nobody holds it just now, and it was not passed on in time{others}");
        }
        f.write_str("the cluster cannot grant it now: ")?;
        for (place, cause) in self.causes.iter().enumerate() {
            write!(f, "{}{cause}", if place > 0 { "; " } else { "" })?;
        }
        Ok(())
    }
}

/// Why somebody who waits for a lock has not been granted it: `seen` is what the members say of it that
/// answered, its own wait included, and `causes` what is wrong with the others, and at its home.
///
/// If a member says that it holds the lock, that is why. If nobody who answered does, it may be held by
/// one that did not, or nobody can let it in: that is an outage, not contention.
#[must_use]
pub fn why_not_granted(seen: Vec<LockStatus>, causes: Vec<Cause>, mode: Mode) -> NotGranted {
    let lock = gathered(seen).pop();
    let waiters = lock.as_ref().map_or(0, |lock| lock.waiters.saturating_sub(1));
    let inside = lock.as_ref().map_or(0, |lock| lock.inside);
    let holder = lock.and_then(|lock| lock.holder).filter(|it| it.is_in_the_way(inside, mode));
    let causes = if holder.is_some() { Vec::new() } else { causes };
    NotGranted { holder, inside, waiters, causes }
}

impl Holder {
    /// Whether it keeps out somebody who tolerates so many, when so many are inside.
    #[must_use]
    pub fn is_in_the_way(&self, inside: u64, mode: Mode) -> bool {
        inside >= u64::from(self.mode.most().min(mode.most()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fence;
    use crate::report::{Drain, MemberStatus, ServiceReport};

    fn id(number: u32) -> MemberId {
        MemberId::new(number).unwrap()
    }

    fn seen(node: u32, fence: Option<u64>, waiters: u32) -> LockStatus {
        let holder = fence.map(|counter| Holder {
            node: id(node),
            owner: "deploy@web1".into(),
            fence: Fence::new(3, counter).unwrap(),
            mode: Mode::EXCLUSIVE,
            held_ms: 12_000,
        });
        let (name, algorithm) = ("deploy".into(), "raymond".into());
        let inside = u32::from(holder.is_some());
        LockStatus { name, algorithm, node: id(node), holder, inside, waiters }
    }

    /// What is known, and what is said of it.
    #[test]
    fn contention_and_outages_are_told_apart() {
        let p3 = || Cause::unreachable(id(3), Some(12_000));
        let away = || Cause::away(id(3), Some(2_000));
        let not_met = || Cause::not_met(id(2), id(3));
        let cases: [(Vec<LockStatus>, Vec<Cause>, bool, &str); 8] = [
            (
                vec![seen(1, None, 1), seen(2, Some(17), 0)],
                vec![],
                false,
                "held by deploy@web1 at P2 for 12 s, fence 3298534883345 (3·17)",
            ),
            // That another member is dead is not why.
            (
                vec![seen(1, None, 1), seen(2, Some(17), 2)],
                vec![p3()],
                false,
                "held by deploy@web1 at P2 for 12 s, fence 3298534883345 (3·17); 2 others wait",
            ),
            // The later of two holders counts.
            (
                vec![seen(1, Some(16), 1), seen(2, Some(17), 0)],
                vec![],
                false,
                "held by deploy@web1 at P2 for 12 s, fence 3298534883345 (3·17)",
            ),
            (
                vec![seen(1, None, 1), seen(2, None, 1)],
                vec![],
                false,
                "nobody holds it just now, and it was not passed on in time; 1 other waits",
            ),
            (vec![], vec![], false, "nobody holds it just now, and it was not passed on in time"),
            (
                vec![seen(1, None, 1)],
                vec![p3()],
                true,
                "the cluster cannot grant it now: P3 unreachable for 12 s",
            ),
            (
                vec![seen(1, None, 1)],
                vec![not_met()],
                true,
                "the cluster cannot grant it now: P2 has not met P3 yet",
            ),
            (
                vec![seen(1, None, 1)],
                vec![Cause::no_quorum("no voter leads"), away()],
                true,
                "the cluster cannot grant it now: no quorum: no voter leads; P3 is away for 2.0 s: what it may \
              hold is withheld until it is back or its lease has ended",
            ),
        ];
        for (seen, causes, is_outage, text) in cases {
            let why = why_not_granted(seen, causes, Mode::EXCLUSIVE);
            assert_eq!((why.to_string().as_str(), why.is_outage()), (text, is_outage));
        }
    }

    fn status() -> Status {
        let member = |number: u32, link, down_ms| MemberStatus {
            api: Vec::new(),
            node: id(number),
            address: String::new(),
            life: None,
            link,
            trouble: None,
            down_ms,
            connects: 0,
            unacknowledged: 0,
        };
        Status {
            cluster: String::new(),
            node: id(1),
            version: String::new(),
            epoch: 1,
            algorithm: String::new(),
            prefixes: Vec::new(),
            members: vec![
                member(1, LinkState::Own, None),
                member(2, LinkState::Up, None),
                member(3, LinkState::Up, None),
            ],
            up_ms: 0,
            known_locks: 0,
            held_locks: 0,
            waiters: 0,
            sessions: 0,
            awaited: Vec::new(),
            away: Vec::new(),
            away_ms: None,
            withheld_locks: 0,
            views: ServiceReport::default(),
            lease_left_ms: None,
            leaving: false,
            drain: None,
            halted: None,
            causes: Vec::new(),
        }
    }

    /// What is wrong, the reasons that are told, and whether it can grant and should get traffic.
    #[test]
    fn a_node_knows_why_it_cannot_grant() {
        type Case = (fn(&mut Status), bool, bool, &'static [Reason], bool, bool);
        let cases: [Case; 10] = [
            (|_| {}, false, true, &[], true, true),
            (
                |it| it.halted = Some("a link panicked".into()),
                true,
                true,
                &[Reason::Failed],
                false,
                false,
            ),
            (
                |it| it.halted = Some("not yet".into()),
                false,
                false,
                &[Reason::NotEntered],
                false,
                false,
            ),
            (|it| it.halted = Some("lease".into()), false, true, &[Reason::Halted], false, false),
            (|it| it.leaving = true, false, true, &[Reason::Leaving], false, false),
            (|it| it.drain = Some(Drain::Drained), false, true, &[Reason::Leaving], false, false),
            (
                |it| it.views.trouble = Some("none leads".into()),
                false,
                true,
                &[Reason::NoQuorum],
                true,
                true,
            ),
            (|it| it.awaited = vec![id(2)], false, true, &[Reason::NotMet], false, true),
            (
                |it| it.members[1].link = LinkState::Down,
                false,
                true,
                &[Reason::Unreachable],
                true,
                true,
            ),
            (
                |it| (it.away, it.away_ms) = (vec![id(4)], Some(5)),
                false,
                true,
                &[Reason::Away],
                true,
                true,
            ),
        ];
        for (change, failed, entered, reasons, grants, is_ready) in cases {
            let mut status = status();
            change(&mut status);
            let causes = status.find_causes(failed, entered);
            let found: Vec<Reason> = causes.iter().map(|cause| cause.reason).collect();
            assert_eq!(found, reasons, "{causes:?}");
            assert_eq!(!found.iter().any(|reason| reason.stops_grants()), grants, "{causes:?}");
            assert_eq!(!found.iter().any(|reason| reason.ends_service()), is_ready, "{causes:?}");
        }
        let mut alone = status();
        alone.members[1].link = LinkState::Down;
        alone.members[2].link = LinkState::Down;
        alone.members[2].down_ms = Some(12_000);
        let causes: Vec<String> =
            alone.find_causes(false, true).iter().map(ToString::to_string).collect();
        assert_eq!(
            causes,
            ["P1 has a link to no other member", "P2 unreachable", "P3 unreachable for 12 s"]
        );
    }

    #[test]
    fn reasons_are_named_in_json_as_in_metrics() {
        for reason in Reason::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.name());
        }
    }
}

//! Who leads an election, and what observers of it are told.

use serde::{Deserialize, Serialize};

use crate::{Fence, MemberId};

/// What a leader says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proclaimed {
    /// The value.
    pub value: String,
    /// Rises with each value of a term; the first is 1.
    pub version: u64,
}

/// Who leads an election.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leader {
    /// The fence of its entry: larger than that of every earlier leader.
    pub term: Fence,
    /// What it says of itself.
    pub value: String,
    /// Rises with each value of a term; the first is 1.
    pub version: u64,
    /// What it calls itself; empty if it has not said.
    pub owner: String,
    /// The member where its session is.
    pub node: MemberId,
}

/// What an observer of an election is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leadership {
    /// Who leads; none if nobody does.
    pub leader: Option<Leader>,
    /// The term of the leader; if nobody leads, the last one that is known.
    pub term: Option<Fence>,
    /// Whether leaders may have come and gone unseen before this one: the member was cut off, or the
    /// observer too slow, or it went to another member.
    pub missed: bool,
}

impl Leadership {
    /// That this one leads.
    #[must_use]
    pub fn of(leader: Leader) -> Self {
        Leadership { term: Some(leader.term), leader: Some(leader), missed: false }
    }

    /// That nobody leads since this term.
    #[must_use]
    pub fn vacant(term: Option<Fence>) -> Self {
        Leadership { leader: None, term, missed: false }
    }

    /// Where it stands in the order of all: by term, then by value, then the end of the term.
    #[must_use]
    pub fn place(&self) -> (Option<Fence>, u64) {
        (self.term, self.leader.as_ref().map_or(u64::MAX, |leader| leader.version))
    }
}

/// What one observer has seen: passes each change once, and never goes back to an earlier term.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    last: Option<(Option<Fence>, u64)>,
    /// That nobody leads is known only from this round on.
    round: u64,
}

impl Seen {
    /// Begins with an observer that has seen this term elsewhere, and waits for this round of answers.
    #[must_use]
    pub fn after(term: Option<Fence>, round: u64) -> Self {
        Seen { last: term.map(|term| (Some(term), 0)), round }
    }

    /// The same of what was told after this round.
    pub fn news_of(&mut self, round: u64, told: Leadership) -> Option<Leadership> {
        if told.leader.is_none() && round < self.round { None } else { self.news(told) }
    }

    /// The last term that was seen.
    #[must_use]
    pub fn term(&self) -> Option<Fence> {
        self.last.and_then(|(term, _)| term)
    }

    /// What the observer is told of this, if it is news.
    pub fn news(&mut self, mut told: Leadership) -> Option<Leadership> {
        if told.leader.is_none() {
            // It may have seen a leader that this member never heard of and that is gone.
            told.term = told.term.max(self.term());
        }
        let place = told.place();
        let is_news = self.last.is_none_or(|last| place > last || place == last && told.missed);
        if is_news {
            self.last = Some(place);
        }
        is_news.then_some(told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leader(term: u64, version: u64) -> Leadership {
        let term = Fence::from_number(term);
        let (value, owner, node) = (String::new(), String::new(), MemberId::at(0));
        Leadership::of(Leader { term, value, version, owner, node })
    }

    #[test]
    fn an_observer_sees_each_change_once_and_in_order() {
        let vacant = |term| Leadership::vacant(Some(Fence::from_number(term)));
        let mut seen = Seen::default();
        let told = [
            (leader(3, 1), true),
            (leader(3, 1), false),
            (leader(3, 2), true),
            (leader(2, 9), false),
            (vacant(3), true),
            (leader(3, 3), false),
            (vacant(3), false),
            (Leadership { missed: true, ..vacant(3) }, true),
            (leader(5, 1), true),
            (vacant(4), true),
            (leader(5, 2), false),
        ];
        for (place, (told, is_news)) in told.into_iter().enumerate() {
            assert_eq!(seen.news(told).is_some(), is_news, "{place}");
        }
        assert_eq!(seen.term(), Some(Fence::from_number(5)));
    }

    #[test]
    fn an_observer_that_moved_learns_that_its_leader_is_gone() {
        let mut seen = Seen::after(Some(Fence::from_number(7)), 2);
        assert_eq!(seen.news_of(1, Leadership::vacant(None)), None, "of before");
        let gone = seen.news_of(2, Leadership::vacant(None)).map(|told| told.term);
        assert_eq!(gone, Some(Some(Fence::from_number(7))));
        assert_eq!(seen.news(leader(6, 1)), None);
    }
}

//! Kinds of locks over an exclusive algorithm: the algorithm is an inner lock, and a register says who is
//! inside.
//!
//! To enter in any mode a node acquires the inner lock. Holding it, it knows the newest register, which rides
//! on the algorithm's messages as the fence does. If its entry fits, an exclusive one keeps the inner lock until
//! it leaves; any other writes itself into the register and releases the inner lock at once. If it does not fit,
//! the node waits holding the inner lock, so that nobody else comes in before it, and asks those in the register to
//! say when they leave. Who leaves unasked says nothing.
//!
//! [`Sharing`] is these rules for one node, whatever the algorithm: it says when to request and release the
//! inner lock and what to tell whom ([`Duty`]), and is told what happens. [`super::shared::Shared`] joins it with
//! an algorithm of the catalogue.

mod amid;
mod flaw;
mod messages;
mod register;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use flaw::{SharingFlaw, UnknownFlaw};
pub use messages::{Access, AccessEvent, Duty, SharingMessage};
pub use register::{Presence, Register, Row};

use super::Mode;
use crate::{NodeId, Refused};

/// Where the inner lock is, as seen from a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum InnerLock {
    Away,
    /// Requested. A request cannot be taken back: who no longer needs the inner lock releases it on arrival.
    Coming,
    Here,
}

/// Who waits holding the inner lock for this node's entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Asker {
    node: NodeId,
    round: u64,
    all: bool,
    seq: u32,
    /// What it knows.
    told: (Presence, bool),
}

/// A node that holds the inner lock, and what it hears there. Nobody else comes in meanwhile, so counts only fall.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Vigil {
    /// The present round, once somebody was asked.
    asked: Option<u64>,
    others: Vec<Other>,
    /// Who upgrades next; perhaps this node.
    upgrader: Option<NodeId>,
    /// The upgrader is exclusive, by leave of this node.
    lent: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Other {
    node: NodeId,
    here: Presence,
    seq: u32,
}

/// The rules of kinds at one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sharing {
    me: NodeId,
    n: u32,
    flaw: Option<SharingFlaw>,
    register: Register,
    inner: InnerLock,
    /// The entry that waits.
    wish: Option<Mode>,
    /// The entry inside that waits to be exclusive.
    upgrade: Option<Mode>,
    /// What is inside and tolerates others, sorted; the one that upgrades included.
    entries: Vec<Mode>,
    /// An exclusive entry is inside: with the inner lock, or without it by leave of who has it.
    exclusive: bool,
    asker: Option<Asker>,
    vigil: Option<Vigil>,
}

impl Sharing {
    /// A node of `n`. `inside` lists what each node has inside from the start, sharers that survived a
    /// change of view, say; an exclusive entry cannot be among them, for it must have the inner lock.
    #[must_use]
    pub fn new(me: NodeId, inside: &[Vec<Mode>], flaw: Option<SharingFlaw>) -> Self {
        let mut entries = inside[me.index()].clone();
        entries.sort_unstable();
        Sharing {
            me,
            n: inside.len() as u32,
            flaw,
            register: Register::of(inside),
            inner: InnerLock::Away,
            wish: None,
            upgrade: None,
            entries,
            exclusive: false,
            asker: None,
            vigil: None,
        }
    }

    /// What to attach to each message of the algorithm.
    #[must_use]
    pub fn register(&self) -> &Register {
        &self.register
    }

    /// What is inside here and tolerates others.
    #[must_use]
    pub fn entries(&self) -> &[Mode] {
        &self.entries
    }

    /// Whether an exclusive entry is inside here.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// Whether an entry waits.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        self.wish.is_some()
    }

    /// Whether an entry inside waits to be exclusive.
    #[must_use]
    pub fn is_upgrading(&self) -> bool {
        self.upgrade.is_some()
    }

    /// Whether nobody is inside at another node, as far as this one knows.
    #[must_use]
    pub fn is_alone(&self) -> bool {
        self.register.rows.iter().all(|row| row.node == self.me)
    }

    /// Whether nothing waits and nothing is inside.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let waits = self.wish.is_some() || self.upgrade.is_some();
        !waits && self.entries.is_empty() && !self.exclusive
    }

    /// The application wants something.
    ///
    /// # Errors
    /// If this is not the time for it; nothing has changed then.
    pub fn access(&mut self, access: Access, duties: &mut Vec<Duty>) -> Result<(), Refused> {
        match access {
            Access::Enter(mode) => self.enter(mode, duties),
            Access::Leave(mode) => self.leave(mode, duties),
            Access::Upgrade(mode) => self.upgrade(mode, duties),
            Access::Downgrade(mode) => self.downgrade(mode, duties),
            Access::CancelEnter => self.cancel_enter(duties),
            Access::CancelUpgrade => self.cancel_upgrade(duties),
        }
    }

    fn enter(&mut self, mode: Mode, duties: &mut Vec<Duty>) -> Result<(), Refused> {
        if self.wish.is_some() || self.exclusive {
            return Err(Refused::Busy);
        }
        self.wish = Some(mode);
        self.come(duties);
        Ok(())
    }

    fn leave(&mut self, mode: Mode, duties: &mut Vec<Duty>) -> Result<(), Refused> {
        if mode.is_exclusive() {
            if !self.exclusive {
                return Err(Refused::NotHeld);
            }
            self.exclusive = false;
            if self.vigil.is_some() {
                self.serve(duties);
            } else {
                self.report(true, duties);
            }
            return Ok(());
        }
        let alike = self.entries.iter().filter(|&&other| other == mode).count();
        if alike <= usize::from(self.upgrade == Some(mode)) {
            return Err(Refused::NotHeld);
        }
        self.entries.remove(self.entries.partition_point(|&other| other < mode));
        self.serve(duties);
        self.report(false, duties);
        Ok(())
    }

    /// Two upgraders would wait for each other for ever, so there is one at a time, and whoever is at the
    /// inner lock decides which.
    fn upgrade(&mut self, mode: Mode, duties: &mut Vec<Duty>) -> Result<(), Refused> {
        if !self.entries.contains(&mode) {
            return Err(Refused::NotHeld);
        }
        let taken = self.vigil.as_ref().is_some_and(|vigil| vigil.upgrader.is_some());
        if self.upgrade.is_some() || taken {
            duties.push(Duty::Emit(AccessEvent::Denied));
            return Ok(());
        }
        self.upgrade = Some(mode);
        if let Some(vigil) = &mut self.vigil {
            vigil.upgrader = Some(self.me);
        }
        self.report(false, duties);
        self.come(duties);
        Ok(())
    }

    fn downgrade(&mut self, mode: Mode, duties: &mut Vec<Duty>) -> Result<(), Refused> {
        if !self.exclusive || mode.is_exclusive() {
            return Err(Refused::NotHeld);
        }
        self.exclusive = false;
        self.entries.push(mode);
        if self.vigil.is_some() {
            self.write();
            self.serve(duties);
        } else {
            self.report(true, duties);
        }
        Ok(())
    }

    fn cancel_enter(&mut self, duties: &mut Vec<Duty>) -> Result<(), Refused> {
        if self.wish.take().is_none() {
            return Err(Refused::NotHeld);
        }
        self.serve(duties);
        Ok(())
    }

    fn cancel_upgrade(&mut self, duties: &mut Vec<Duty>) -> Result<(), Refused> {
        if self.upgrade.take().is_none() {
            return Err(Refused::NotHeld);
        }
        if let Some(vigil) = &mut self.vigil {
            vigil.upgrader = None;
        }
        self.serve(duties);
        // Whoever was told that it wants to upgrade must not wait for that.
        let told = self.asker.is_some_and(|asker| asker.told.1);
        self.report(told, duties);
        Ok(())
    }

    /// Requests the inner lock for nobody, so that it comes here.
    pub fn fetch(&mut self, duties: &mut Vec<Duty>) {
        if self.inner == InnerLock::Away && self.vigil.is_none() {
            self.come(duties);
        }
    }

    /// Something at this node needs the inner lock.
    fn come(&mut self, duties: &mut Vec<Duty>) {
        match self.inner {
            InnerLock::Away if self.vigil.is_none() => {
                self.inner = InnerLock::Coming;
                duties.push(Duty::Acquire);
            }
            InnerLock::Coming => {}
            InnerLock::Away | InnerLock::Here => self.serve(duties),
        }
    }

    /// Refuses a register that no correct node can have written.
    ///
    /// # Errors
    /// If it is one.
    pub fn check(&self, register: &Register) -> Result<(), Refused> {
        register.check(self.n as usize)
    }

    /// A message of the algorithm brought a register, which was checked. Call it before anything that the
    /// message causes.
    pub fn learn(&mut self, register: Register) {
        if register.version > self.register.version && self.flaw != Some(SharingFlaw::RegisterStays)
        {
            // Who asked with an older version has entered since.
            let asker = self.asker.take();
            self.asker = asker.filter(|asker| asker.round >= register.version);
            self.register = register;
        }
    }

    /// The algorithm lets this node in: it holds the inner lock.
    pub fn admitted(&mut self, duties: &mut Vec<Duty>) {
        self.inner = InnerLock::Here;
        self.asker = None;
        let others = self.register.rows.iter().filter(|row| row.node != self.me);
        let others = others.map(|row| Other { node: row.node, here: row.here, seq: 0 }).collect();
        let upgrader = self.upgrade.map(|_| self.me);
        self.vigil = Some(Vigil { asked: None, others, upgrader, lent: false });
        self.serve(duties);
    }

    /// Holding the inner lock: whoever fits comes in; with nobody left to serve here the inner lock is released.
    fn serve(&mut self, duties: &mut Vec<Duty>) {
        while let Some(vigil) = &self.vigil {
            if self.exclusive || vigil.lent {
                return;
            }
            let others: u64 = vigil.others.iter().map(|other| u64::from(other.here.count)).sum();
            if let Some(mode) = self.wish
                && self.fits(mode, vigil, others)
            {
                self.wish = None;
                if mode.is_exclusive() {
                    self.exclusive = true;
                } else {
                    self.entries.insert(self.entries.partition_point(|&other| other < mode), mode);
                }
                self.write();
                duties.push(Duty::Emit(AccessEvent::Entered));
                continue;
            }
            if self.upgrade.is_some() && others == 0 && self.entries.len() == 1 {
                self.rise();
                self.write();
                duties.push(Duty::Emit(AccessEvent::Upgraded));
                return;
            }
            if self.wish.is_none() && self.upgrade.is_none() {
                // Who asked and does not want in any more leaves a newer version behind, too.
                if vigil.asked.is_some() && self.flaw != Some(SharingFlaw::CancelsUnwritten) {
                    self.write();
                }
                duties.push(Duty::Release);
                return;
            }
            if let Some(upgrader) = vigil.upgrader.filter(|&upgrader| upgrader != self.me) {
                let only = vigil.others.iter().all(|o| o.node == upgrader || o.here.count == 0);
                let alone = only && self.entries.is_empty();
                if alone || self.flaw == Some(SharingFlaw::LendsEarly) {
                    self.lend(upgrader, duties);
                    return;
                }
            }
            return self.ask(duties);
        }
    }

    /// Nobody inside would see more than it tolerates, and neither would the entry.
    fn fits(&self, mode: Mode, vigil: &Vigil, others: u64) -> bool {
        if self.flaw == Some(SharingFlaw::AsksNobody) && mode.is_exclusive() {
            return true;
        }
        let inside = others + self.entries.len() as u64;
        let modes = vigil.others.iter().filter(|other| other.here.count > 0);
        let modes = modes.map(|other| other.here.least).chain(self.entries.iter().copied());
        let least = modes.min().unwrap_or(mode).min(mode);
        inside < u64::from(least.most())
    }

    /// The entry that upgrades is exclusive.
    fn rise(&mut self) {
        self.upgrade = None;
        self.entries.clear();
        self.exclusive = true;
        if let Some(vigil) = &mut self.vigil {
            vigil.upgrader = None;
        }
    }

    /// Writes down who is inside now. Whoever asked must leave a newer version behind: by that others
    /// know that its questions are answered.
    fn write(&mut self) {
        let Some(vigil) = &mut self.vigil else { return };
        let others = vigil.others.iter().filter(|other| other.here.count > 0);
        let mut rows: Vec<Row> =
            others.map(|other| Row { node: other.node, here: other.here }).collect();
        let here = Presence::of(&self.entries);
        if here.count > 0 {
            let place = rows.partition_point(|row| row.node < self.me);
            rows.insert(place, Row { node: self.me, here });
        }
        let asked = vigil.asked.take().is_some();
        if asked || rows != self.register.rows {
            self.register.version += 1;
            self.register.rows = rows;
        }
    }

    /// Whether the algorithm is to release the inner lock now, as [`Duty::Release`] asks for.
    #[must_use]
    pub fn release(&mut self) -> bool {
        let needed = self.wish.is_some() || self.upgrade.is_some() || self.exclusive;
        if needed && self.flaw != Some(SharingFlaw::DoorAjar) {
            return false;
        }
        if !needed {
            self.vigil = None;
        }
        let was_here = self.inner == InnerLock::Here;
        if was_here {
            self.inner = InnerLock::Away;
        }
        was_here
    }

    fn ask(&mut self, duties: &mut Vec<Duty>) {
        let round = self.register.version;
        let all = self.wish.is_none_or(Mode::is_exclusive);
        let Some(vigil) = &mut self.vigil else { return };
        if vigil.asked.is_some() {
            return;
        }
        vigil.asked = Some(round);
        for other in &mut vigil.others {
            other.seq = 0;
            if other.here.count > 0 {
                duties.push(Duty::Tell(
                    other.node,
                    SharingMessage::Ask { round, all, knows: other.here },
                ));
            }
        }
        if self.flaw == Some(SharingFlaw::DoorAjar) {
            duties.push(Duty::Release);
        }
    }

    fn lend(&mut self, upgrader: NodeId, duties: &mut Vec<Duty>) {
        if let Some(vigil) = &mut self.vigil
            && let Some(round) = vigil.asked
            && let Some(seq) = vigil.others.iter().find(|o| o.node == upgrader).map(|o| o.seq)
        {
            vigil.lent = true;
            duties.push(Duty::Tell(upgrader, SharingMessage::Lend { round, seq }));
        }
    }

    /// Another node says something.
    ///
    /// # Errors
    /// If no correct node says that now; nothing has changed then.
    pub fn hear(
        &mut self,
        from: NodeId,
        word: SharingMessage,
        duties: &mut Vec<Duty>,
    ) -> Result<(), Refused> {
        crate::protocol::known_peer(from, self.me, self.n as usize)?;
        match word {
            SharingMessage::Ask { round, all, knows } => {
                let told = (knows, false);
                self.on_ask(Asker { node: from, round, all, seq: 0, told }, duties)
            }
            SharingMessage::Left { round, seq, here, wants } => {
                self.on_left(round, Other { node: from, here, seq }, wants, duties)
            }
            SharingMessage::Lend { round, seq } => {
                self.on_lend(from, (round, seq), duties);
                Ok(())
            }
            SharingMessage::Deny { round, seq } => {
                self.on_deny(from, (round, seq), duties);
                Ok(())
            }
        }
    }

    fn on_ask(&mut self, asker: Asker, duties: &mut Vec<Duty>) -> Result<(), Refused> {
        let newest = self.asker.map_or(self.register.version, |asker| asker.round);
        if asker.round < newest.max(self.register.version) {
            return Ok(()); // It has entered since, or somebody after it asks.
        }
        if self.vigil.is_some() && self.flaw.is_none() {
            return Err(Refused::Unexpected("an ASK while this node holds the inner lock"));
        }
        if self.asker.is_some_and(|known| known.round == asker.round) {
            return Err(Refused::Unexpected("a second ASK in one round"));
        }
        self.asker = Some(asker);
        self.report(false, duties);
        Ok(())
    }

    /// Tells the asker what is inside here, if that is news for it.
    fn report(&mut self, even_if_known: bool, duties: &mut Vec<Duty>) {
        let Some(asker) = &mut self.asker else { return };
        let mut here = Presence::of(&self.entries);
        let mut wants = self.upgrade.is_some() && here.count == 1;
        match self.flaw {
            Some(SharingFlaw::UpgradersWait) => wants = false,
            Some(SharingFlaw::LeavesEarly) => (here, wants) = (Presence::NONE, false),
            _ => {}
        }
        let matters = !asker.all || here.count == 0 || wants;
        if !even_if_known && ((here, wants) == asker.told || !matters) {
            return;
        }
        asker.seq += 1;
        asker.told = (here, wants);
        let Asker { node, round, seq, .. } = *asker;
        duties.push(Duty::Tell(node, SharingMessage::Left { round, seq, here, wants }));
        if here.count == 0 {
            self.asker = None;
        }
    }

    fn on_left(
        &mut self,
        round: u64,
        news: Other,
        wants: bool,
        duties: &mut Vec<Duty>,
    ) -> Result<(), Refused> {
        if wants && news.here.count != 1 {
            return Err(Refused::Unexpected("a LEFT that wants to upgrade what it has not"));
        }
        let late_counts = self.flaw == Some(SharingFlaw::LateLeft);
        let Some(vigil) = &mut self.vigil else { return Ok(()) };
        if vigil.asked != Some(round) && !late_counts {
            return Ok(());
        }
        let Some(other) = vigil.others.iter_mut().find(|other| other.node == news.node) else {
            if late_counts {
                return Ok(());
            }
            return Err(Refused::Unexpected("a LEFT of a node that was not asked"));
        };
        if news.seq <= other.seq && !late_counts {
            return Ok(());
        }
        *other = news;
        // After LEFT with `wants` it takes one answer: whatever is newer follows that, or goes back on it.
        if vigil.upgrader == Some(news.node) {
            vigil.lent = false;
            vigil.upgrader = None;
        }
        if wants && *vigil.upgrader.get_or_insert(news.node) != news.node {
            let seq = news.seq;
            duties.push(Duty::Tell(news.node, SharingMessage::Deny { round, seq }));
        }
        self.serve(duties);
        Ok(())
    }

    /// Whether a LEND or DENY answers the last word to this asker, which was that an entry wants to upgrade.
    fn answers(&self, from: NodeId, (round, seq): (u64, u32)) -> bool {
        let late_counts = self.flaw == Some(SharingFlaw::LateLend);
        let expected = |asker: &Asker| {
            (asker.node, asker.round, asker.told.1) == (from, round, true)
                && (asker.seq == seq || late_counts)
        };
        self.asker.as_ref().is_some_and(expected) && self.upgrade.is_some()
    }

    /// A LEND may come late: the upgrade was called off.
    fn on_lend(&mut self, from: NodeId, to: (u64, u32), duties: &mut Vec<Duty>) {
        if self.answers(from, to) {
            self.rise();
            duties.push(Duty::Emit(AccessEvent::Upgraded));
        }
    }

    /// A DENY may come late: the one that holds the inner lock has entered after it, and this node's turn is to come.
    fn on_deny(&mut self, from: NodeId, to: (u64, u32), duties: &mut Vec<Duty>) {
        if self.answers(from, to)
            && let Some(asker) = &mut self.asker
        {
            asker.told.1 = false;
            self.upgrade = None;
            duties.push(Duty::Emit(AccessEvent::Denied));
        }
    }
}

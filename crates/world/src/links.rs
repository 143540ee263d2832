//! What the shell of a real member does with its links: dials, shakes hands, moves bytes.

use skeptron_member::link::session::{Frame, Taken};
use skeptron_member::link::{Link, handshake_limit};
use skeptron_member::wire::{LENGTH_BYTES, decode};
use skeptron_member::{Flaw, MemberId};

use crate::clock::NEVER;
use crate::machine::{End, Handshake};
use crate::network::{Packet, PacketBody};
use crate::world::{Event, World};

impl World {
    /// Makes the ends of links that the view of a member asks for, and drops the others.
    pub(crate) fn update_links(&mut self, place: usize) {
        let me = self.sites[place].id;
        let limits = self.settings.limits;
        for peer in 0..self.sites.len() {
            let Some(life) = &mut self.sites[place].life else { return };
            let id = MemberId::at(peer);
            let member = if id == me { None } else { life.view.life(id) };
            let end = &mut life.effects.ends[peer];
            match (member, end.as_mut()) {
                (None, _) => *end = None,
                (Some(member), Some(end)) => {
                    if end.link.replace(member.incarnation) {
                        (end.connection, end.handshake) = (None, None);
                    }
                }
                (Some(member), None) => {
                    *end = Some(End {
                        link: Link::new(me, id, member.incarnation, &limits),
                        connection: None,
                        handshake: None,
                        poll_at: NEVER,
                        is_broken: false,
                        is_dirty: false,
                    });
                }
            }
            self.plan_poll(place, peer);
        }
    }

    /// Plans the next look at an end of a link.
    fn plan_poll(&mut self, place: usize, peer: usize) {
        let (now, clock) = (self.now, self.sites[place].clock);
        let Some(end) = self.end(place, peer) else { return };
        let mut due = end.link.deadline();
        match &end.handshake {
            Some(handshake) => due = due.min(handshake.until),
            None => due = due.min(end.link.next_dial()),
        }
        let at = clock.when(due).max(now);
        if at < end.poll_at {
            end.poll_at = at;
            self.queue.plan(at, Event::Poll { at: place, peer });
        }
    }

    pub(crate) fn end(&mut self, place: usize, peer: usize) -> Option<&mut End> {
        self.sites[place].life.as_mut()?.effects.ends[peer].as_mut()
    }

    /// Looks at an end of a link: is a beat, a dial, the end of a handshake due?
    pub(crate) fn poll(&mut self, place: usize, peer: usize) {
        let (now, local) = (self.now, self.clock(place));
        let mut out = std::mem::take(&mut self.scratch);
        out.clear();
        let Some(end) = self.end(place, peer) else {
            self.scratch = out;
            return;
        };
        if end.poll_at > now {
            // An earlier look took its place.
            self.scratch = out;
            return;
        }
        end.poll_at = NEVER;
        if end.handshake.as_ref().is_some_and(|handshake| handshake.until <= local) {
            end.handshake = None;
            end.link.dial_failed(local);
        }
        let polled = end.link.poll(local, &mut out);
        let connection = end.connection;
        let dials = end.handshake.is_none() && end.link.next_dial() <= local;
        match (polled, connection) {
            (Ok(()), Some(connection)) => self.put_frames(place, peer, connection, &out),
            (Ok(()), None) => {}
            (Err(_), _) => self.disconnect(place, peer),
        }
        self.scratch = out;
        if dials {
            self.dial(place, peer);
        }
        self.plan_poll(place, peer);
    }

    fn dial(&mut self, place: usize, peer: usize) {
        self.connections += 1;
        let connection = self.connections;
        let until = self.clock(place).after(handshake_limit(&self.settings.limits));
        let Some(life) = &mut self.sites[place].life else { return };
        let Some(end) = &mut life.effects.ends[peer] else { return };
        let hello = life.terms.hello(MemberId::at(peer), &life.view, end.link.received());
        end.handshake = Some(Handshake { connection, hello: None, until });
        self.put(place, peer, Packet { connection, word: PacketBody::Hello(Box::new(hello)) });
    }

    /// Puts a packet on its way, whatever becomes of it.
    pub(crate) fn put(&mut self, from: usize, to: usize, packet: Packet) {
        let path = self.path(from, to);
        let quality = self.quality;
        let chance = &mut self.network_chance;
        if self.paths[path].cuts > 0 || chance.happens(quality.loss) {
            self.survived.lost += 1;
            return;
        }
        let is_frame = matches!(packet.word, PacketBody::Frame(_));
        let overtaken = is_frame && chance.happens(quality.reordering);
        let duplicated = is_frame && chance.happens(quality.duplication);
        self.survived.reordered += u64::from(overtaken);
        self.survived.duplicated += u64::from(duplicated);
        let copy = duplicated.then(|| packet.clone());
        for (packet, overtaken) in
            std::iter::once((packet, overtaken)).chain(copy.map(|p| (p, true)))
        {
            let at = self.paths[path].arrival(self.now, &quality, overtaken, chance);
            let number = self.paths[path].put(packet);
            self.queue.plan(at, Event::Arrival { from, to, number });
        }
    }

    /// Puts each of these frames on its way.
    fn put_frames(&mut self, from: usize, to: usize, connection: u64, mut bytes: &[u8]) {
        while let Some((prefix, rest)) = bytes.split_first_chunk::<LENGTH_BYTES>() {
            self.figures.frames += 1;
            let (body, rest) = rest.split_at(u32::from_le_bytes(*prefix) as usize);
            self.put(from, to, Packet { connection, word: PacketBody::Frame(body.to_vec()) });
            bytes = rest;
        }
    }

    /// What a member's core has sent leaves.
    pub(crate) fn flush(&mut self, place: usize) {
        for peer in 0..self.sites.len() {
            self.flush_to(place, peer, false);
        }
    }

    fn flush_to(&mut self, place: usize, peer: usize, always: bool) {
        let local = self.clock(place);
        let Some(end) = self.end(place, peer) else { return };
        if !std::mem::take(&mut end.is_dirty) && !always {
            return;
        }
        let Some(connection) = end.connection else { return };
        let mut out = std::mem::take(&mut self.scratch);
        out.clear();
        let Some(end) = self.end(place, peer) else { return };
        end.link.next_bytes(&mut out, usize::MAX);
        let polled = end.link.poll(local, &mut out);
        self.put_frames(place, peer, connection, &out);
        self.scratch = out;
        if polled.is_err() {
            self.disconnect(place, peer);
        }
        self.plan_poll(place, peer);
    }

    /// A packet arrives.
    pub(crate) fn arrive(&mut self, from: usize, to: usize, packet: Packet) {
        let Packet { connection, word } = packet;
        let local = self.clock(to);
        match word {
            PacketBody::Hello(hello) => {
                let flawed = self.settings.flaw == Some(Flaw::RestartAccepted);
                let until = local.after(handshake_limit(&self.settings.limits));
                let Some(life) = &mut self.sites[to].life else {
                    return self.put(to, from, Packet { connection, word: PacketBody::Reset });
                };
                let Some(end) = &mut life.effects.ends[from] else {
                    return self.put(to, from, Packet { connection, word: PacketBody::Reset });
                };
                if flawed && end.link.replace(Some(hello.incarnation)) {
                    end.connection = None;
                }
                if life.terms.check(&hello, &life.view, end.link.incarnation()).is_err() {
                    return self.put(to, from, Packet { connection, word: PacketBody::Reset });
                }
                // Whoever dials has no other connection.
                if end.connection.take().is_some() {
                    end.link.disconnected(local);
                    self.survived.reconnects += 1;
                }
                let word = life.terms.hello(hello.from, &life.view, end.link.received());
                end.handshake = Some(Handshake { connection, hello: Some(hello), until });
                self.put(
                    to,
                    from,
                    Packet { connection, word: PacketBody::Welcome(Box::new(word)) },
                );
                self.plan_poll(to, from);
            }
            PacketBody::Welcome(hello) => {
                let flawed = self.settings.flaw == Some(Flaw::RestartAccepted);
                let Some(life) = &mut self.sites[to].life else { return };
                let Some(end) = &mut life.effects.ends[from] else { return };
                if end.handshake.as_ref().is_none_or(|it| it.connection != connection) {
                    return self.put(to, from, Packet { connection, word: PacketBody::Reset });
                }
                end.handshake = None;
                if flawed {
                    end.link.replace(Some(hello.incarnation));
                }
                let agreed = life.terms.check(&hello, &life.view, end.link.incarnation()).is_ok()
                    && end.link.connected(local, &hello).is_ok();
                if !agreed {
                    end.link.dial_failed(local);
                    self.plan_poll(to, from);
                    return self.put(to, from, Packet { connection, word: PacketBody::Reset });
                }
                end.connection = Some(connection);
                let mended = std::mem::take(&mut end.is_broken);
                self.put(to, from, Packet { connection, word: PacketBody::Accepted });
                self.flush_to(to, from, true);
                if mended {
                    self.report_broken_links(to);
                }
            }
            PacketBody::Accepted => {
                let Some(end) = self.end(to, from) else { return };
                let Some(handshake) =
                    end.handshake.take_if(|handshake| handshake.connection == connection)
                else {
                    return self.put(to, from, Packet { connection, word: PacketBody::Reset });
                };
                let agreed =
                    handshake.hello.is_some_and(|hello| end.link.connected(local, &hello).is_ok());
                if !agreed {
                    return self.put(to, from, Packet { connection, word: PacketBody::Reset });
                }
                end.connection = Some(connection);
                let mended = std::mem::take(&mut end.is_broken);
                self.flush_to(to, from, true);
                if mended {
                    self.report_broken_links(to);
                }
            }
            PacketBody::Reset => {
                let Some(end) = self.end(to, from) else { return };
                if end.connection == Some(connection) {
                    self.disconnect(to, from);
                } else if end.handshake.take_if(|it| it.connection == connection).is_some() {
                    end.link.dial_failed(local);
                }
                self.plan_poll(to, from);
            }
            PacketBody::Frame(body) => self.take_frame(from, to, connection, &body),
            PacketBody::ServiceMessage(letter) => self.take_letter(from, to, *letter),
        }
    }

    fn take_frame(&mut self, from: usize, to: usize, connection: u64, body: &[u8]) {
        let local = self.clock(to);
        let sender = self.sites[from].id;
        let Some(end) = self.end(to, from).filter(|end| end.connection == Some(connection)) else {
            // Nobody listens there.
            return self.put(to, from, Packet { connection, word: PacketBody::Reset });
        };
        let frame: Frame<'_> = decode(body).expect("the network changes no bytes");
        let taken = end.link.take(local, &frame, body.len());
        let again = self.settings.flaw == Some(Flaw::DuplicatesTaken);
        match (taken, &frame) {
            (Err(_), _) => {
                self.disconnect(to, from);
                return self.put(to, from, Packet { connection, word: PacketBody::Reset });
            }
            (Ok(taken), Frame::Data { sequence, envelope, .. })
                if taken == Taken::Now || again && taken == Taken::Before =>
            {
                let sequence = *sequence;
                self.with_core(to, |core, now, out| {
                    core.receive(now, sender, sequence, envelope, out);
                });
            }
            _ => {}
        }
        self.plan_poll(to, from);
    }

    /// A connection is over at this end.
    pub(crate) fn disconnect(&mut self, place: usize, peer: usize) {
        let local = self.clock(place);
        let Some(end) = self.end(place, peer) else { return };
        if end.connection.take().is_some() {
            end.link.disconnected(local);
            end.is_broken = true;
            self.survived.reconnects += 1;
            self.plan_poll(place, peer);
            self.report_broken_links(place);
        }
    }
}

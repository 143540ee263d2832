//! A hostile network below links and handshakes, on one virtual clock: it loses, repeats, reorders and
//! resets, all drawn from one seed.

use std::collections::VecDeque;
use std::time::Duration;

use super::chance::Chance;
use super::*;
use crate::Limits;
use crate::clock::MonoTime;
use crate::link::handshake::{Answer, HandshakeRefusal, Hello, Terms, Verdict, WORD_BYTES};
use crate::link::session::{Frame, Taken};
use crate::link::{Link, LinkError};
use crate::view::View;
use crate::wire::{Unframer, append_frame, decode};

/// The time that each step takes.
const STEP: Duration = Duration::from_micros(100);

/// How often, in a thousand, what goes wrong.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weather {
    pub(super) loss: usize,
    pub(super) duplication: usize,
    pub(super) reordering: usize,
    pub(super) reset: usize,
}

impl Weather {
    pub(super) const CALM: Weather = Weather { loss: 0, duplication: 0, reordering: 0, reset: 0 };
    pub(super) const STORM: Weather =
        Weather { loss: 30, duplication: 30, reordering: 30, reset: 3 };
}

/// Limits of links that dial often and soon give up a silent peer.
pub(super) fn impatient() -> Limits {
    Limits {
        backoff_first: Duration::from_millis(1),
        backoff_longest: Duration::from_millis(10),
        silence: Duration::from_secs(1),
        ..Limits::default()
    }
}

/// What a link hands to its inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Delivery {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) fence: u64,
    pub(super) message: Vec<u8>,
}

/// One end of a link.
struct End {
    link: Link,
    /// The connection that it believes to have; 0 is none.
    connection: u64,
    /// What is on its way from here: of which connection, and one frame.
    flying: VecDeque<(u64, Vec<u8>)>,
}

impl End {
    fn new(node: usize, peer: usize, life: Option<u64>, limits: &Limits) -> Self {
        let link = Link::new(MemberId::at(node), MemberId::at(peer), life, limits);
        End { link, connection: 0, flying: VecDeque::new() }
    }
}

fn terms(node: usize, life: u64) -> Terms {
    Terms::new("test", MemberId::at(node), life, &plans())
}

/// Links between all nodes, and the network between them.
pub(super) struct Network {
    pub(super) weather: Weather,
    pub(super) chance: Chance,
    nodes: usize,
    now: MonoTime,
    view: View,
    limits: Limits,
    /// The present life of each node.
    lives: Vec<u64>,
    terms: Vec<Terms>,
    /// By node, then by peer.
    ends: Vec<Vec<End>>,
    connections: u64,
}

impl Network {
    pub(super) fn new(nodes: usize, weather: Weather, limits: &Limits, seed: u64) -> Self {
        let ends = |node| (0..nodes).map(|peer| End::new(node, peer, None, limits)).collect();
        Network {
            weather,
            chance: Chance::new(seed),
            nodes,
            now: MonoTime::default(),
            view: View::of_addresses(1, addresses(nodes)),
            limits: *limits,
            lives: vec![1; nodes],
            terms: (0..nodes).map(|node| terms(node, 1)).collect(),
            ends: (0..nodes).map(ends).collect(),
            connections: 0,
        }
    }

    /// A node begins another life, which knows the present ones of the others.
    pub(super) fn restart(&mut self, node: usize) {
        self.lives[node] += 1;
        self.terms[node] = terms(node, self.lives[node]);
        for peer in 0..self.nodes {
            let life = Some(self.lives[peer]);
            self.ends[node][peer] = End::new(node, peer, life, &self.limits);
        }
    }

    /// A node learns of the present life of another; whether their session began anew.
    pub(super) fn learn(&mut self, node: usize, of: usize) -> bool {
        let end = &mut self.ends[node][of];
        let is_new = end.link.replace(Some(self.lives[of]));
        if is_new {
            end.connection = 0;
        }
        is_new
    }

    pub(super) fn send(&mut self, from: usize, to: usize, fence: u64, message: &[u8]) {
        self.ends[from][to].link.send(&padded(fence, message)).unwrap();
    }

    pub(super) fn link(&self, from: usize, to: usize) -> &Link {
        &self.ends[from][to].link
    }

    /// The present life of a node.
    pub(super) fn life(&self, node: usize) -> u64 {
        self.lives[node]
    }

    pub(super) fn nodes(&self) -> usize {
        self.nodes
    }

    /// Whether everything sent has been acknowledged.
    pub(super) fn is_quiet(&self) -> bool {
        self.ends.iter().flatten().all(|end| end.link.unacknowledged() == 0)
    }

    /// Lets something happen between two nodes.
    pub(super) fn step(&mut self) -> Option<Delivery> {
        self.now = self.now.after(STEP);
        let from = self.chance.below(self.nodes);
        let to = (from + 1 + self.chance.below(self.nodes - 1)) % self.nodes;
        if self.chance.happens(self.weather.reset) {
            self.reset(from, to);
        }
        let apart = self.ends[from][to].connection != self.ends[to][from].connection;
        if apart && self.chance.happens(20) {
            // Half open, and a write fails; otherwise only the silence is noticed.
            self.disconnect(from, to);
        }
        // A word of the handshake that is lost ends it.
        if self.ends[from][to].link.next_dial() <= self.now && self.handshake(from, to).is_none() {
            self.disconnect(from, to);
        }
        self.launch(from, to);
        self.land(from, to)
    }

    /// A connection ends; the other side may notice much later.
    fn reset(&mut self, a: usize, b: usize) {
        self.disconnect(a, b);
        if self.chance.happens(500) {
            self.disconnect(b, a);
        }
    }

    fn disconnect(&mut self, me: usize, peer: usize) {
        self.ends[me][peer].connection = 0;
        self.ends[me][peer].link.disconnected(self.now);
    }

    /// The words of a handshake, in the order in which the two say them.
    fn handshake(&mut self, caller: usize, called: usize) -> Option<()> {
        let hello = self.hello(caller, called);
        let heard: Hello = self.say(&hello)?;
        self.check(called, &heard)?;
        let answer = Answer::Welcome(self.hello(called, caller));
        let Answer::Welcome(answer) = self.say(&answer)? else { panic!("{answer:?}") };
        self.check(caller, &answer)?;
        self.connections += 1;
        self.install(caller, called, &answer);
        let verdict: Verdict = self.say(&Verdict::Accepted)?;
        assert_eq!(verdict, Verdict::Accepted);
        self.install(called, caller, &heard);
        Some(())
    }

    fn hello(&self, from: usize, to: usize) -> Hello {
        let received = self.ends[from][to].link.received();
        self.terms[from].hello(MemberId::at(to), &self.view, received)
    }

    fn check(&self, me: usize, hello: &Hello) -> Option<()> {
        let known = self.ends[me][hello.from.place()].link.incarnation();
        match self.terms[me].check(hello, &self.view, known) {
            Ok(()) => Some(()),
            Err(HandshakeRefusal::Restarted { .. }) => None,
            Err(refusal) => panic!("{refusal}"),
        }
    }

    fn install(&mut self, me: usize, peer: usize, hello: &Hello) {
        let end = &mut self.ends[me][peer];
        end.link.connected(self.now, hello).unwrap();
        end.connection = self.connections;
    }

    /// What arrives of a word; nothing if it is lost.
    fn say<T: serde::Serialize + serde::de::DeserializeOwned>(&mut self, word: &T) -> Option<T> {
        let mut bytes = Vec::new();
        append_frame(&mut bytes, word, WORD_BYTES).unwrap();
        let is_lost = self.chance.happens(self.weather.loss);
        (!is_lost).then(|| decode(&bytes[4..]).unwrap())
    }

    /// Puts frames on the connection, some of them never or twice.
    fn launch(&mut self, from: usize, to: usize) {
        let end = &mut self.ends[from][to];
        if end.connection == 0 {
            return;
        }
        let mut frames = Vec::new();
        while end.link.has_next() {
            let mut frame = Vec::new();
            end.link.next_bytes(&mut frame, 1);
            frames.push(frame);
        }
        let mut beat = Vec::new();
        if end.link.deadline() <= self.now && end.link.poll(self.now, &mut beat).is_err() {
            self.disconnect(from, to);
            return;
        }
        frames.extend((!beat.is_empty()).then_some(beat));
        for frame in frames {
            let copies = match () {
                () if self.chance.happens(self.weather.loss) => 0,
                () if self.chance.happens(self.weather.duplication) => 2,
                () => 1,
            };
            for _ in 0..copies {
                let end = &mut self.ends[from][to];
                end.flying.push_back((end.connection, frame.clone()));
            }
        }
    }

    /// One frame arrives, if its connection is still that of the receiver.
    fn land(&mut self, from: usize, to: usize) -> Option<Delivery> {
        let connection = self.ends[to][from].connection;
        let flying = &mut self.ends[from][to].flying;
        flying.retain(|&(of, _)| of >= connection);
        let place = match flying.len() {
            0 => return None,
            _ if self.chance.happens(self.weather.reordering) => self.chance.below(flying.len()),
            _ => 0,
        };
        let (of, bytes) = flying.remove(place)?;
        if of != connection {
            return None;
        }
        let end = &mut self.ends[to][from];
        match take(&mut end.link, self.now, &bytes) {
            Ok(Some((fence, message))) => Some(Delivery { from, to, fence, message }),
            Ok(None) => None,
            Err(_) => {
                self.reset(to, from);
                None
            }
        }
    }
}

/// What a link delivers of one frame, through the decoder.
fn take(link: &mut Link, now: MonoTime, bytes: &[u8]) -> Result<Option<(u64, Vec<u8>)>, LinkError> {
    let mut unframer = Unframer::new(1 << 20);
    unframer.room()[..bytes.len()].copy_from_slice(bytes);
    unframer.filled(bytes.len());
    let body = unframer.next_body().unwrap().unwrap();
    let frame: Frame<'_> = decode(body).unwrap();
    let taken = link.take(now, &frame, body.len())?;
    match frame {
        Frame::Data { envelope, .. } if taken == Taken::Now => match envelope.payload {
            Payload::Message { fence, message, .. } => Ok(Some((fence, message.to_vec()))),
            other => panic!("{other:?} was never sent"),
        },
        _ => Ok(None),
    }
}

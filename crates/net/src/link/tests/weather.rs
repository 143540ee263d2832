//! A hostile network below sessions and handshakes: it loses, repeats, reorders and resets, all drawn
//! from one seed.

use std::collections::VecDeque;

use super::*;
use crate::link::handshake::{Answer, Hello, Terms, Verdict};
use crate::link::session::{Broken, Frame, Session, SessionLimits, Taken};
use crate::wire::{Unframer, append_frame, decode};

/// All chance of a test, from its seed.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Chance(seed)
    }

    /// 64 random bits (SplitMix64).
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// Uniform in `0 … n−1`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// True so many times in a thousand.
    pub(super) fn happens(&mut self, per_mille: usize) -> bool {
        self.below(1000) < per_mille
    }
}

/// Runs `test` with many seeds, or with the one in `SKEPTRON_SEED`; a panic is preceded by its seed.
pub(crate) fn for_seeds(seeds: u64, mut test: impl FnMut(u64)) {
    let chosen = std::env::var("SKEPTRON_SEED").ok().and_then(|seed| seed.parse().ok());
    let range = chosen.map_or(0..seeds, |seed: u64| seed..seed + 1);
    for seed in range {
        let told = Told(seed);
        test(seed);
        std::mem::forget(told);
    }
}

/// Says which seed a panic came from.
struct Told(u64);

impl Drop for Told {
    fn drop(&mut self) {
        println!("to see this again: SKEPTRON_SEED={}", self.0);
    }
}

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

/// What a session hands to its inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Delivery {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) fence: u64,
    pub(super) message: Vec<u8>,
}

/// One end of a link.
struct End {
    session: Session,
    /// The connection that it believes to have; 0 is none.
    connection: u64,
    /// The life of the peer that it knows.
    incarnation: Option<u64>,
    /// What is on its way from here: of which connection, and one frame.
    flying: VecDeque<(u64, Vec<u8>)>,
}

/// Sessions between all nodes, and the network between them.
pub(super) struct Network {
    pub(super) weather: Weather,
    pub(super) chance: Chance,
    nodes: usize,
    terms: Vec<Terms>,
    /// By node, then by peer.
    ends: Vec<Vec<End>>,
    connections: u64,
}

impl Network {
    pub(super) fn new(nodes: usize, weather: Weather, limits: SessionLimits, seed: u64) -> Self {
        let addresses: Vec<String> = (0..nodes).map(|node| format!("127.0.0.1:{node}")).collect();
        let view = Fixed::new(addresses.clone()).views().borrow().clone();
        let terms = |node| Terms::new(&config(node, &addresses), &view, 100 + node as u64);
        let end = || End {
            session: Session::new(limits),
            connection: 0,
            incarnation: None,
            flying: VecDeque::new(),
        };
        Network {
            weather,
            chance: Chance::new(seed),
            nodes,
            terms: (0..nodes).map(terms).collect(),
            ends: (0..nodes).map(|_| (0..nodes).map(|_| end()).collect()).collect(),
            connections: 0,
        }
    }

    pub(super) fn send(&mut self, from: usize, to: usize, fence: u64, message: &[u8]) {
        self.ends[from][to].session.send(&padded(fence, message)).unwrap();
    }

    pub(super) fn session(&self, from: usize, to: usize) -> &Session {
        &self.ends[from][to].session
    }

    pub(super) fn nodes(&self) -> usize {
        self.nodes
    }

    /// Whether everything sent has been acknowledged.
    pub(super) fn is_quiet(&self) -> bool {
        self.ends.iter().flatten().all(|end| end.session.unacknowledged() == 0)
    }

    /// Lets something happen between two nodes.
    pub(super) fn step(&mut self) -> Option<Delivery> {
        let from = self.chance.below(self.nodes);
        let to = (from + 1 + self.chance.below(self.nodes - 1)) % self.nodes;
        if self.chance.happens(self.weather.reset) {
            self.reset(from, to);
        }
        self.connect_if_apart(from, to);
        self.launch(from, to);
        self.land(from, to)
    }

    /// A connection ends; the other side may notice much later.
    fn reset(&mut self, a: usize, b: usize) {
        self.ends[a][b].connection = 0;
        if self.chance.happens(500) {
            self.ends[b][a].connection = 0;
        }
    }

    fn connect_if_apart(&mut self, a: usize, b: usize) {
        let (caller, called) = (a.max(b), a.min(b));
        let apart = self.ends[a][b].connection != self.ends[b][a].connection;
        if apart && self.chance.happens(200) {
            // Half open: silence is noticed in the end.
            self.ends[caller][called].connection = 0;
        }
        if self.ends[caller][called].connection == 0 {
            // A word of the handshake that is lost ends it.
            let _ = self.handshake(caller, called);
        }
    }

    /// The words of a handshake, in the order in which the two say them.
    fn handshake(&mut self, caller: usize, called: usize) -> Option<()> {
        let hello = self.hello(caller, called);
        let heard: Hello = self.say(&hello)?;
        self.check(called, &heard);
        let answer = Answer::Welcome(self.hello(called, caller));
        let Answer::Welcome(answer) = self.say(&answer)? else { panic!("{answer:?}") };
        self.check(caller, &answer);
        self.connections += 1;
        self.install(caller, called, &answer);
        let verdict: Verdict = self.say(&Verdict::Accepted)?;
        assert_eq!(verdict, Verdict::Accepted);
        self.install(called, caller, &heard);
        Some(())
    }

    fn hello(&self, from: usize, to: usize) -> Hello {
        self.terms[from].hello(NodeId::new(to), 1, self.ends[from][to].session.received())
    }

    fn check(&self, me: usize, hello: &Hello) {
        let known = self.ends[me][hello.from.index()].incarnation;
        self.terms[me].check(hello, 1, |_| known).unwrap();
    }

    fn install(&mut self, me: usize, peer: usize, hello: &Hello) {
        let end = &mut self.ends[me][peer];
        end.session.resume(hello.received).unwrap();
        end.connection = self.connections;
        end.incarnation = Some(hello.incarnation);
    }

    /// What arrives of a word; nothing if it is lost.
    fn say<T: serde::Serialize + serde::de::DeserializeOwned>(&mut self, word: &T) -> Option<T> {
        let mut bytes = Vec::new();
        append_frame(&mut bytes, word, crate::link::handshake::WORD_BYTES).unwrap();
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
        while end.session.has_next() {
            let mut frame = Vec::new();
            end.session.next_bytes(&mut frame, 1);
            frames.push(frame);
        }
        if end.session.owes_much() || self.chance.happens(50) {
            let mut beat = Vec::new();
            end.session.beat(&mut beat);
            frames.push(beat);
        }
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
        let many = self.ends[from][to].flying.len();
        let place = match many {
            0 => return None,
            _ if self.chance.happens(self.weather.reordering) => self.chance.below(many),
            _ => 0,
        };
        let (connection, bytes) = self.ends[from][to].flying.remove(place)?;
        let end = &mut self.ends[to][from];
        if end.connection != connection {
            return None;
        }
        match take(&mut end.session, &bytes) {
            Ok(Some((fence, message))) => Some(Delivery { from, to, fence, message }),
            Ok(None) => None,
            Err(_) => {
                self.reset(to, from);
                None
            }
        }
    }
}

/// What a session delivers of one frame, through the decoder.
fn take(session: &mut Session, bytes: &[u8]) -> Result<Option<(u64, Vec<u8>)>, Broken> {
    let mut unframer = Unframer::new(1 << 20);
    unframer.room()[..bytes.len()].copy_from_slice(bytes);
    unframer.filled(bytes.len());
    let body = unframer.next().unwrap().unwrap();
    let frame: Frame<'_> = decode(body).unwrap();
    let taken = session.take(&frame, body.len())?;
    match frame {
        Frame::Data { envelope, .. } if taken == Taken::Now => match envelope.payload {
            Payload::Message { fence, message, .. } => Ok(Some((fence, message.to_vec()))),
            other => panic!("{other:?} was never sent"),
        },
        _ => Ok(None),
    }
}

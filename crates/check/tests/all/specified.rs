//! Lamport's algorithm in the steps in which it is specified in TLA+ (`LamportMutex`, Stephan Merz, in the public
//! collection tlaplus/Examples): to enter is a step of its own, a request does not move the clock, and receiving one
//! moves it always. A clock has a bound, as that of the model that TLC checks.

use skeptron_check::machine::Machine;

/// So many processes with clocks up to a bound.
///
/// A state is, for each process, its clock with who has acknowledged its request and whether it is inside; then for
/// each the requests that it knows, a byte for the clock of each; then for each two a channel, a byte for a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Specified {
    pub(crate) processes: usize,
    pub(crate) most_clock: u32,
    /// Whether a process waits until all have acknowledged its request.
    pub(crate) awaits_acknowledgements: bool,
}

impl Specified {
    /// As it is specified.
    pub(crate) fn new(processes: usize, most_clock: u32) -> Self {
        Specified { processes, most_clock, awaits_acknowledgements: true }
    }
}

const ACKNOWLEDGED: u32 = 8;
const INSIDE: u32 = 1 << 16;

/// Messages as bytes; a request is its clock after these.
const ACKNOWLEDGEMENT: u32 = 1;
const RELEASE: u32 = 2;

#[derive(Clone, Copy)]
enum Action {
    Request(usize),
    Enter(usize),
    Exit(usize),
    Receive { from: usize, to: usize },
}

impl Specified {
    fn code(self, action: Action) -> u16 {
        let n = self.processes;
        let code = match action {
            Action::Request(process) => process,
            Action::Enter(process) => n + process,
            Action::Exit(process) => 2 * n + process,
            Action::Receive { from, to } => (3 + from) * n + to,
        };
        code as u16
    }

    fn of_code(self, code: u16) -> Action {
        let (kind, process) =
            (usize::from(code) / self.processes, usize::from(code) % self.processes);
        match kind {
            0 => Action::Request(process),
            1 => Action::Enter(process),
            2 => Action::Exit(process),
            _ => Action::Receive { from: kind - 3, to: process },
        }
    }

    fn channel(self, from: usize, to: usize) -> usize {
        (2 + from) * self.processes + to
    }

    /// The clock of the request of `of` that `process` knows; 0 if it knows of none.
    fn request(self, state: &[u32], process: usize, of: usize) -> u32 {
        state[self.processes + process] >> (8 * of) & 0xFF
    }

    fn set_request(self, state: &mut [u32], process: usize, of: usize, clock: u32) {
        let requests = &mut state[self.processes + process];
        *requests = *requests & !(0xFF << (8 * of)) | clock << (8 * of);
    }

    fn send(self, state: &mut [u32], from: usize, to: usize, message: u32) {
        let channel = &mut state[self.channel(from, to)];
        let free = channel.leading_zeros() / 8;
        assert!(free > 0, "no channel ever has more than three messages");
        *channel |= message << (8 * (4 - free));
    }

    fn broadcast(self, state: &mut [u32], from: usize, message: u32) {
        for to in (0..self.processes).filter(|&to| to != from) {
            self.send(state, from, to, message);
        }
    }

    /// The clock of `to` after it has received this.
    fn clock_after(clock: u32, message: u32) -> u32 {
        match message.checked_sub(RELEASE) {
            Some(sent @ 1..) => clock.max(sent) + 1,
            _ => clock,
        }
    }

    fn may_enter(self, state: &[u32], process: usize) -> bool {
        let everybody = (1 << self.processes) - 1;
        let acknowledged = state[process] >> ACKNOWLEDGED & everybody == everybody;
        let mine = self.request(state, process, process);
        let beats = |other: usize| match self.request(state, process, other) {
            0 => true,
            theirs => (mine, process) < (theirs, other),
        };
        mine != 0
            && (acknowledged || !self.awaits_acknowledgements)
            && (0..self.processes).all(|other| other == process || beats(other))
    }
}

impl Machine for Specified {
    fn start(&self) -> Vec<u32> {
        let n = self.processes;
        let mut state = vec![0; n * (2 + n)];
        state[..n].fill(1);
        state
    }

    fn actions(&self, state: &[u32], actions: &mut Vec<u16>) {
        for process in 0..self.processes {
            if self.request(state, process, process) == 0 {
                actions.push(self.code(Action::Request(process)));
            }
            if self.may_enter(state, process) {
                actions.push(self.code(Action::Enter(process)));
            }
            if state[process] & INSIDE != 0 {
                actions.push(self.code(Action::Exit(process)));
            }
            for from in 0..self.processes {
                let message = state[self.channel(from, process)] & 0xFF;
                let clock = Self::clock_after(state[process] & 0xFF, message);
                if message != 0 && clock <= self.most_clock {
                    actions.push(self.code(Action::Receive { from, to: process }));
                }
            }
        }
    }

    fn take(&self, state: &mut [u32], action: u16) {
        match self.of_code(action) {
            Action::Request(process) => {
                let clock = state[process] & 0xFF;
                self.set_request(state, process, process, clock);
                state[process] |= 1 << (ACKNOWLEDGED as usize + process);
                self.broadcast(state, process, RELEASE + clock);
            }
            Action::Enter(process) => state[process] |= INSIDE,
            Action::Exit(process) => {
                state[process] &= 0xFF;
                self.set_request(state, process, process, 0);
                self.broadcast(state, process, RELEASE);
            }
            Action::Receive { from, to } => {
                let channel = self.channel(from, to);
                let message = state[channel] & 0xFF;
                state[channel] >>= 8;
                let clock = state[to] & 0xFF;
                state[to] = state[to] & !0xFF | Self::clock_after(clock, message);
                match message {
                    ACKNOWLEDGEMENT => state[to] |= 1 << (ACKNOWLEDGED as usize + from),
                    RELEASE => self.set_request(state, to, from, 0),
                    request => {
                        self.set_request(state, to, from, request - RELEASE);
                        self.send(state, to, from, ACKNOWLEDGEMENT);
                    }
                }
            }
        }
    }

    /// At most one is inside, and no channel has more than three messages.
    fn holds(&self, state: &[u32]) -> bool {
        let inside = state[..self.processes].iter().filter(|process| **process & INSIDE != 0);
        let channels = &state[self.channel(0, 0)..];
        inside.count() <= 1 && channels.iter().all(|channel| channel >> 24 == 0)
    }
}

impl stateright::Model for Specified {
    type State = Vec<u32>;
    type Action = u16;

    fn init_states(&self) -> Vec<Vec<u32>> {
        vec![self.start()]
    }

    fn actions(&self, state: &Vec<u32>, actions: &mut Vec<u16>) {
        Machine::actions(self, state, actions);
    }

    fn next_state(&self, state: &Vec<u32>, action: u16) -> Option<Vec<u32>> {
        let mut next = state.clone();
        self.take(&mut next, action);
        Some(next)
    }

    fn properties(&self) -> Vec<stateright::Property<Self>> {
        let holds = |machine: &Self, state: &Vec<u32>| machine.holds(state);
        vec![stateright::Property::always("it holds", holds)]
    }
}

//! What messages say. A record holds a message as JSON, in which a node is a bare number; it is read back as the
//! algorithm's own type, so that every form of a run and the lab name a message alike.

use serde_json::Value as Json;
use skeptron_core::Message;
use skeptron_core::catalogue::Algorithm;
use skeptron_core::election::{self, Election};
use skeptron_core::mutex::foreign::{self, Loaded};
use skeptron_core::mutex::{self, Mutex};

use super::Header;
use crate::value::Value;

/// A payload is cut after so many characters: a token may carry an entry per node.
const MOST_CHARS: usize = 300;

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// All of it.
    pub value: Value,
    /// What diagrams write beside the name of its kind ([`Message::payload`]); may be empty.
    pub payload: String,
}

/// Reads the recorded messages of one algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    read: fn(&Json) -> Option<Said>,
    /// If it is a program, which alone knows its messages, among so many nodes.
    program: Option<(&'static Loaded, usize)>,
}

impl Reader {
    /// For the messages of a run.
    #[must_use]
    pub fn of(header: &Header) -> Self {
        let program = foreign::find(&header.algorithm);
        let read = match Algorithm::find(&header.algorithm) {
            Some(Algorithm::Mutex(info)) if program.is_none() => mutex::dispatch(info, Find),
            Some(Algorithm::Election(info)) => election::dispatch(info, Find),
            _ => |_: &Json| None,
        };
        Reader { read, program: program.map(|program| (program, header.setup.nodes())) }
    }

    /// What a message says; `None` if the algorithm has no such message.
    #[must_use]
    pub fn read(&self, message: &Json) -> Option<Said> {
        match self.program {
            None => (self.read)(message),
            Some((loaded, nodes)) => {
                let message = loaded.program().recorded(nodes, &message.to_string())?;
                Some(said(&message))
            }
        }
    }
}

/// A message as diagrams name it: `REQUEST 41`.
#[must_use]
pub fn name(label: &str, payload: &str) -> String {
    if payload.is_empty() { label.into() } else { format!("{label} {payload}") }
}

struct Find;

impl mutex::Visitor for Find {
    type Output = fn(&Json) -> Option<Said>;

    fn visit<P: Mutex>(self) -> Self::Output {
        read::<P::Message>
    }
}

impl election::Visitor for Find {
    type Output = fn(&Json) -> Option<Said>;

    fn visit<P: Election>(self) -> Self::Output {
        read::<P::Message>
    }
}

fn read<M: Message>(message: &Json) -> Option<Said> {
    Some(said(&M::deserialize(message).ok()?))
}

fn said(message: &impl Message) -> Said {
    let mut payload = message.payload();
    if let Some((end, _)) = payload.char_indices().nth(MOST_CHARS) {
        payload.truncate(end);
        payload.push('…');
    }
    Said { value: Value::of(message), payload }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use skeptron_core::Setup;
    use skeptron_core::catalogue::Order;

    fn reader(algorithm: &str) -> Reader {
        Reader::of(&Header::of(algorithm, &Setup::new(3).unwrap(), Order::Any))
    }

    fn named(algorithm: &str, label: &str, message: &Json) -> String {
        name(label, &reader(algorithm).read(message).unwrap().payload)
    }

    #[test]
    fn messages_are_named_as_their_algorithm_says() {
        let request = json!({"Request": {"t": 41}});
        assert_eq!(named("ricart-agrawala", "REQUEST", &request), "REQUEST 41");
        assert_eq!(named("ricart-agrawala", "REPLY", &json!({"Reply": {"t": 41}})), "REPLY");
        assert_eq!(
            named("naimi-trehel", "REQUEST", &json!({"Request": {"node": 2}})),
            "REQUEST P2"
        );
    }

    #[test]
    fn what_no_algorithm_sends_says_nothing() {
        assert_eq!(reader("ricart-agrawala").read(&json!({"Nonsense": 1})), None);
        assert_eq!(reader("unknown").read(&json!({"Request": {"t": 41}})), None);
    }
}

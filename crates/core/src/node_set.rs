//! A set of nodes, as bits.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::NodeId;

/// A set of nodes. Up to 64 nodes it lives in one word without a heap allocation, which is what
/// makes cloning a small system cheap for the checker; larger sets grow on demand.
///
/// Two sets are equal if they have the same nodes, however each came about.
#[derive(Clone)]
pub struct NodeSet {
    bits: Bits,
    len: u32,
}

#[derive(Clone)]
enum Bits {
    Word(u64),
    Words(Vec<u64>),
}

impl NodeSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        NodeSet { bits: Bits::Word(0), len: 0 }
    }

    /// Everyone of a system of `n` except `node`.
    #[must_use]
    pub fn others(n: usize, node: NodeId) -> Self {
        let mut words = vec![u64::MAX; n.div_ceil(64)];
        if let (Some(last), 1..) = (words.last_mut(), n % 64) {
            *last = (1 << (n % 64)) - 1;
        }
        let bits = if words.len() <= 1 {
            Bits::Word(words.first().copied().unwrap_or(0))
        } else {
            Bits::Words(words)
        };
        let mut set = NodeSet { bits, len: n as u32 };
        set.remove(node);
        set
    }

    /// How many nodes it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether `node` is in it.
    #[must_use]
    pub fn contains(&self, node: NodeId) -> bool {
        let (word, bit) = place(node);
        self.words().get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// Adds `node`; false if it was there already.
    pub fn insert(&mut self, node: NodeId) -> bool {
        let (word, bit) = place(node);
        let bits = match &mut self.bits {
            Bits::Word(bits) if word == 0 => bits,
            Bits::Word(bits) => {
                let mut words = vec![0; word + 1];
                words[0] = *bits;
                self.bits = Bits::Words(words);
                return self.insert(node);
            }
            Bits::Words(words) => {
                if word >= words.len() {
                    words.resize(word + 1, 0);
                }
                &mut words[word]
            }
        };
        let added = *bits & bit == 0;
        *bits |= bit;
        self.len += u32::from(added);
        added
    }

    /// Removes `node`; false if it was not there.
    pub fn remove(&mut self, node: NodeId) -> bool {
        let (word, bit) = place(node);
        let bits = match &mut self.bits {
            Bits::Word(bits) if word == 0 => bits,
            Bits::Word(_) => return false,
            Bits::Words(words) => match words.get_mut(word) {
                Some(bits) => bits,
                None => return false,
            },
        };
        let removed = *bits & bit != 0;
        *bits &= !bit;
        self.len -= u32::from(removed);
        removed
    }

    /// Removes everyone.
    pub fn clear(&mut self) {
        self.len = 0;
        match &mut self.bits {
            Bits::Word(bits) => *bits = 0,
            Bits::Words(words) => words.fill(0),
        }
    }

    /// Its nodes, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.words().iter().enumerate().flat_map(|(word, &bits)| {
            std::iter::successors(Some(bits), |bits| Some(bits & bits.wrapping_sub(1)))
                .take_while(|&bits| bits != 0)
                .map(move |bits| NodeId::new(word * 64 + bits.trailing_zeros() as usize))
        })
    }

    /// Its first node.
    #[must_use]
    pub fn first(&self) -> Option<NodeId> {
        self.iter().next()
    }

    /// Whether the two have a node in common.
    #[must_use]
    pub fn intersects(&self, other: &NodeSet) -> bool {
        self.words().iter().zip(other.words()).any(|(a, b)| a & b != 0)
    }

    fn words(&self) -> &[u64] {
        match &self.bits {
            Bits::Word(bits) => std::slice::from_ref(bits),
            Bits::Words(words) => words,
        }
    }
}

fn place(node: NodeId) -> (usize, u64) {
    (node.index() / 64, 1 << (node.index() % 64))
}

impl PartialEq for NodeSet {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (self.words(), other.words());
        let shared = a.len().min(b.len());
        // Equal lengths and an equal common part leave nothing for the tails.
        self.len == other.len && a[..shared] == b[..shared]
    }
}

impl Eq for NodeSet {}

impl std::hash::Hash for NodeSet {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        let words = self.words();
        let used = words.iter().rposition(|&bits| bits != 0).map_or(0, |last| last + 1);
        words[..used].hash(state);
    }
}

impl Default for NodeSet {
    fn default() -> Self {
        Self::new()
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Self {
        let mut set = NodeSet::new();
        set.extend(nodes);
        set
    }
}

impl Extend<NodeId> for NodeSet {
    fn extend<I: IntoIterator<Item = NodeId>>(&mut self, nodes: I) {
        for node in nodes {
            self.insert(node);
        }
    }
}

impl fmt::Debug for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl Serialize for NodeSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // With the length known up front: binary formats need it. By its name a serializer can tell it from a list.
        serializer.serialize_newtype_struct("NodeSet", &self.iter().collect::<Vec<_>>())
    }
}

/// No set that is read names a node beyond. Sets come in messages, and a few bytes of a hostile peer
/// must not make one of half a gigabyte.
const READ_UP_TO: usize = 1 << 24;

impl<'de> Deserialize<'de> for NodeSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let nodes = Vec::<NodeId>::deserialize(deserializer)?;
        match nodes.iter().find(|node| node.index() >= READ_UP_TO) {
            Some(node) => Err(D::Error::custom(format!("no set may name {node}"))),
            None => Ok(nodes.into_iter().collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_huge_id_makes_no_huge_set() {
        let read = |text: &str| serde_json::from_str::<NodeSet>(text).map_err(|e| e.to_string());
        assert_eq!(read("[2,70]"), Ok([1, 69].map(NodeId::new).into_iter().collect()));
        assert_eq!(read("[2,4000000000]"), Err("no set may name P4000000000".into()));
    }

    proptest! {
        #[test]
        fn behaves_like_a_set(steps in prop::collection::vec((0usize..200, any::<bool>()), 0..100)) {
            let (mut ours, mut model) = (NodeSet::new(), BTreeSet::new());
            for (index, add) in steps {
                let node = NodeId::new(index);
                if add {
                    prop_assert_eq!(ours.insert(node), model.insert(node));
                } else {
                    prop_assert_eq!(ours.remove(node), model.remove(&node));
                }
                prop_assert_eq!(ours.len(), model.len());
                prop_assert!(ours.iter().eq(model.iter().copied()));
            }
            let rebuilt: NodeSet = model.iter().copied().collect();
            let hasher = BuildHasherDefault::<DefaultHasher>::default();
            prop_assert_eq!(&ours, &rebuilt);
            prop_assert_eq!(hasher.hash_one(&ours), hasher.hash_one(&rebuilt));
            let json = serde_json::to_string(&ours).unwrap();
            prop_assert_eq!(serde_json::from_str::<NodeSet>(&json).unwrap(), ours);
        }

        #[test]
        fn others_are_all_but_one(n in 0usize..200, node in 0usize..200) {
            let node = NodeId::new(node);
            let expected: NodeSet = NodeId::all(n).filter(|&other| other != node).collect();
            prop_assert_eq!(NodeSet::others(n, node).len(), expected.len());
            prop_assert_eq!(NodeSet::others(n, node), expected);
        }
    }
}

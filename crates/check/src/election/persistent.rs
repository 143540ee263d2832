//! What makes rows of numbers mean the same in another process: how node states, messages and what the judge
//! remembers came to their numbers.

use std::hash::{Hash as _, Hasher as _};

use rustc_hash::FxHasher;

use super::memory::{JudgeEvent, Memory};
use super::world::World;
use crate::disk::{Persistent, digest, get_causes, put_causes, replay};
use crate::model::Model as _;

impl Persistent for World {
    fn numbering(&self, from: &mut [usize; 2], out: &mut Vec<u8>) {
        let [nodes, judges] = from;
        let mut log = Vec::new();
        self.candidates.log(*nodes, &mut log);
        *nodes += log.len();
        put_causes(out, &log);
        let words = self.judges.log(*judges);
        *judges += words.len();
        // Numbers and names of nodes always have that form.
        out.extend(postcard::to_stdvec(&words).unwrap_or_default());
    }

    fn renumber(&self, mut log: &[u8]) -> Option<[usize; 2]> {
        self.candidates.reset();
        self.judges.reset();
        let [mut nodes, mut judges] = [0; 2];
        while !log.is_empty() {
            let causes = get_causes(&mut log)?;
            nodes += causes.len();
            let mut memory = self.memory(false);
            replay(&*self.candidates, &causes, |local| Some(memory.recovered(local)))?;
            let words: Vec<(u32, JudgeEvent)>;
            (words, log) = postcard::take_from_bytes(log).ok()?;
            for (judge, word) in words {
                judges += 1;
                if judge as usize >= judges || self.judges.told(judge, word).0 as usize != judges {
                    return None;
                }
            }
        }
        Some([nodes, judges])
    }

    fn digest(&self) -> u64 {
        let mut hasher = FxHasher::default();
        (digest(&*self.candidates), self.judges.hashes()).hash(&mut hasher);
        hasher.finish()
    }

    // Nothing is left out of an election, so nothing has to be proved.
    fn drain_record(_memory: &mut Memory<'_>, _out: &mut Vec<u8>) {}

    fn recall(_memory: &mut Memory<'_>, record: &[u8]) -> Option<()> {
        record.is_empty().then_some(())
    }
}

//! What a search must know of what it searches.

use crate::property::Properties;

/// A system and all that can happen to it. [`crate::world`] plays mutual exclusion,
/// [`crate::election`] elections; the search knows neither.
pub(crate) trait Model: Sync {
    /// A moment.
    type State: Row;
    /// Something that can happen next.
    type Move: Coded;
    /// What a thread remembers, for speed alone.
    type Memory<'a>: Send
    where
        Self: 'a;

    /// How many nodes it has.
    fn nodes(&self) -> usize;
    /// How it begins.
    fn start(&self) -> &Self::State;
    /// What is judged.
    fn judged(&self) -> Properties;
    /// Whether a state tells how many steps lead to it.
    fn knows_depth(&self) -> bool;
    /// About how many bytes the threads share.
    fn bytes(&self) -> usize;

    /// A new thread's memory. `records` what really happens to nodes.
    fn memory(&self, records: bool) -> Self::Memory<'_>;
    /// About how many bytes it takes.
    fn memory_bytes(memory: &Self::Memory<'_>) -> usize;

    /// Everything that can happen next.
    fn moves(
        &self,
        memory: &mut Self::Memory<'_>,
        state: &Self::State,
        moves: &mut Vec<Self::Move>,
    ) -> Enabled;
    /// Leaves out what makes no difference.
    fn reduce(
        &self,
        memory: &mut Self::Memory<'_>,
        state: &Self::State,
        moves: &mut Vec<Self::Move>,
    );
    /// Lets it happen. Returns what is violated by it.
    fn take(
        &self,
        memory: &mut Self::Memory<'_>,
        state: &mut Self::State,
        step: Self::Move,
    ) -> Properties;
    /// What is wrong with a state in which nothing more has to happen.
    fn judge_rest(
        &self,
        memory: &mut Self::Memory<'_>,
        state: &Self::State,
        enabled: Enabled,
    ) -> Properties;
    /// Equal for states with equal futures, and for others only by an accident of 64 bits. The same
    /// in every run.
    fn fingerprint(&self, memory: &mut Self::Memory<'_>, state: &Self::State) -> u64;
}

/// A state, which a search keeps as a row of numbers. All states of a model have its number of nodes.
pub(crate) trait Row: Clone + Send {
    /// How many numbers it is.
    fn row_length(&self, nodes: usize) -> usize;
    /// Appends it as a row of numbers.
    fn encode(&self, nodes: usize, out: &mut Vec<u32>);
    /// Reads what [`Row::encode`] wrote.
    fn decode(&mut self, nodes: usize, row: &[u32]);
    /// Makes it equal to `other`, in its place.
    fn copy_from(&mut self, other: &Self, nodes: usize);
}

/// A move, which a search keeps as a number.
pub(crate) trait Coded: Copy + Send {
    fn code(self) -> u16;
    /// Reads what [`Coded::code`] wrote.
    fn of_code(code: u16) -> Self;
}

/// What can happen without a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Enabled {
    Nothing,
    OnlyRequests,
    More,
}

/// Two numbers into one that depends on every bit of both.
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    let once = fold(a ^ 0x9E37_79B9_7F4A_7C15, b ^ 0xD1B5_4A32_D192_ED03);
    fold(once ^ a.rotate_left(32), b ^ 0x8CB9_2BA7_2F3D_8DD7)
}

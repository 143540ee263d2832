//! The two event queues at different fillings: each iteration pops one event and pushes another.

use divan::Bencher;
use divan::counter::ItemsCount;
use skeptron_sim::{Queue, QueueKind};

fn main() {
    divan::main();
}

const ROUNDS: u64 = 10_000;
const FILLINGS: [u64; 4] = [10, 1_000, 100_000, 1_000_000];

/// Delays of up to two units, the same for both queues.
fn turn_over(bencher: Bencher<'_, '_>, kind: QueueKind, filling: u64) {
    let delay = |number: u64| number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 53;
    let mut queue = Queue::new(kind);
    for number in 0..filling {
        queue.push(delay(number), [number; 5]);
    }
    bencher.counter(ItemsCount::new(ROUNDS)).bench_local(move || {
        for _ in 0..ROUNDS {
            if let Some((now, event)) = queue.pop() {
                queue.push(now + delay(event[0]), event.map(|word| word.wrapping_add(1)));
            }
        }
    });
}

#[divan::bench(args = FILLINGS)]
fn wheel(bencher: Bencher<'_, '_>, filling: u64) {
    turn_over(bencher, QueueKind::Wheel, filling);
}

#[divan::bench(args = FILLINGS)]
fn heap(bencher: Bencher<'_, '_>, filling: u64) {
    turn_over(bencher, QueueKind::Heap, filling);
}

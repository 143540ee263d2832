//! The failure probability of gates. No node is in two parts, so the parts of a gate fail independently.

use skeptron_quorum::gates::{Gate, Gates};

pub(super) fn failure(gates: &Gates, p: f64) -> f64 {
    gates.fold(|_| Chances { fail: p, pass: 1.0 - p }, |gate, parts| chances(gate, &parts)).fail
}

/// Both chances of a part, each as a sum of positive terms.
struct Chances {
    fail: f64,
    pass: f64,
}

/// The chances of each weight, member by member; what is enough passes for good.
fn chances(gate: &Gate, parts: &[Chances]) -> Chances {
    let mut short_of = vec![0.0; gate.need as usize];
    short_of[0] = 1.0;
    let (mut pass, mut most) = (0.0, 0);
    for (member, part) in gate.members.iter().zip(parts).filter(|(m, _)| m.weight > 0) {
        for have in (0..=most).rev() {
            let chance: f64 = short_of[have as usize];
            short_of[have as usize] = chance * part.fail;
            match short_of.get_mut((have + member.weight) as usize) {
                Some(more) => *more += chance * part.pass,
                None => pass += chance * part.pass,
            }
        }
        most = (most + member.weight).min(gate.need - 1);
    }
    Chances { fail: short_of.iter().sum(), pass }
}

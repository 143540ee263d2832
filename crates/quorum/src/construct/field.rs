//! Arithmetic in the finite field GF(q) with q = p^m elements.
//!
//! An element is a number below q. Its digits to the base p are the coefficients of a polynomial in x,
//! the lowest first; polynomials are added digit by digit and multiplied modulo a polynomial of degree
//! m. That one is found by search: the first for which the powers of x are all elements but 0. Then
//! every element but 0 has an inverse, so this is a field, and a product is a sum of logarithms.

/// GF(q).
#[derive(Clone, Debug)]
pub(super) struct Field {
    /// p: so many ones add up to 0.
    characteristic: usize,
    /// x⁰, x¹, …: all elements but 0.
    powers: Vec<usize>,
    /// The exponent of each element; that of 0 has no meaning.
    logarithms: Vec<usize>,
}

impl Field {
    /// GF(q); none where q is no prime power.
    pub(super) fn new(order: usize) -> Option<Self> {
        let (p, _) = prime_power(order)?;
        (1..order).find_map(|reduced| Field::generated_by_x(p, order, reduced))
    }

    /// The field in which xᵐ is the element `reduced`; none unless the powers of x are all elements
    /// but 0.
    fn generated_by_x(p: usize, order: usize, reduced: usize) -> Option<Self> {
        let mut powers = Vec::with_capacity(order - 1);
        let mut logarithms = vec![0; order];
        let mut is_met = vec![false; order];
        let mut power = 1;
        for exponent in 0..order - 1 {
            if power == 0 || is_met[power] {
                return None;
            }
            is_met[power] = true;
            logarithms[power] = exponent;
            powers.push(power);
            power = times_x(p, order, reduced, power);
        }
        Some(Field { characteristic: p, powers, logarithms })
    }

    /// q.
    pub(super) fn order(&self) -> usize {
        self.logarithms.len()
    }

    pub(super) fn plus(&self, a: usize, b: usize) -> usize {
        add_digits(self.characteristic, a, b)
    }

    pub(super) fn times(&self, a: usize, b: usize) -> usize {
        if a == 0 || b == 0 {
            return 0;
        }
        self.powers[(self.logarithms[a] + self.logarithms[b]) % self.powers.len()]
    }
}

/// The prime p and the exponent m with q = p^m.
pub(super) fn prime_power(q: usize) -> Option<(usize, u32)> {
    let p = (2..=q.isqrt()).find(|&divisor| q.is_multiple_of(divisor)).unwrap_or(q);
    let m = q.checked_ilog(p.max(2))?;
    (m > 0 && p.pow(m) == q).then_some((p, m))
}

/// Each digit moves up by one, and what the highest was a coefficient of is `reduced`.
fn times_x(p: usize, order: usize, reduced: usize, element: usize) -> usize {
    let highest = order / p;
    let shifted = element % highest * p;
    (0..element / highest).fold(shifted, |sum, _| add_digits(p, sum, reduced))
}

/// Sums of digits to the base p, without carry.
fn add_digits(p: usize, mut a: usize, mut b: usize) -> usize {
    let (mut sum, mut place) = (0, 1);
    while a + b > 0 {
        sum += (a + b) % p * place;
        place *= p;
        (a, b) = (a / p, b / p);
    }
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn orders() -> impl Iterator<Item = usize> {
        (2..=97).filter(|&q| prime_power(q).is_some())
    }

    #[test]
    fn prime_powers_are_those_of_the_textbook() {
        let to_50: Vec<_> = orders().take_while(|&q| q <= 50).collect();
        assert_eq!(
            to_50,
            [2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32, 37, 41, 43, 47, 49]
        );
        assert_eq!(orders().count(), 35);
        let parts = |q| prime_power(q);
        assert_eq!((parts(64), parts(81), parts(97)), (Some((2, 6)), Some((3, 4)), Some((97, 1))));
        assert_eq!((parts(0), parts(1), parts(6), parts(100)), (None, None, None, None));
    }

    /// In GF(4), x² = x + 1.
    #[test]
    fn the_field_of_four_is_not_arithmetic_modulo_four() {
        let field = Field::new(4).unwrap();
        let row = |operation: fn(&Field, usize, usize) -> usize, a| {
            [0, 1, 2, 3].map(|b| operation(&field, a, b))
        };
        assert_eq!(row(Field::plus, 3), [3, 2, 1, 0]);
        assert_eq!(row(Field::times, 2), [0, 2, 3, 1]);
        assert!(Field::new(6).is_none());
    }

    /// What involves one or two elements: neutral elements, inverses, commutativity, no zero divisors,
    /// the characteristic, and for a prime that it is arithmetic modulo that prime.
    #[test]
    fn pairs_behave_as_in_a_field() {
        for q in orders() {
            let field = Field::new(q).unwrap();
            assert_eq!(field.order(), q);
            let (p, m) = prime_power(q).unwrap();
            for a in 0..q {
                assert_eq!((field.plus(a, 0), field.times(a, 1), field.times(a, 0)), (a, a, 0));
                assert_eq!((0..q).filter(|&b| field.plus(a, b) == 0).count(), 1, "GF({q}): −{a}");
                let inverses = (0..q).filter(|&b| field.times(a, b) == 1).count();
                assert_eq!(inverses, usize::from(a != 0), "GF({q}): 1/{a}");
                let sum = |times| (0..times).fold(0, |sum, _| field.plus(sum, a));
                assert!(sum(p) == 0 && (a == 0 || (1..p).all(|times| sum(times) != 0)), "GF({q})");
                for b in 0..q {
                    assert_eq!(field.plus(a, b), field.plus(b, a), "GF({q})");
                    assert_eq!(field.times(a, b), field.times(b, a), "GF({q})");
                    assert_eq!(field.times(a, b) == 0, a == 0 || b == 0, "GF({q}): {a}·{b}");
                    if m == 1 {
                        assert_eq!((field.plus(a, b), field.times(a, b)), ((a + b) % q, a * b % q));
                    }
                }
            }
        }
    }

    fn assert_triple(field: &Field, a: usize, b: usize, c: usize) {
        let (plus, times) = (|a, b| field.plus(a, b), |a, b| field.times(a, b));
        let q = field.order();
        assert_eq!(plus(plus(a, b), c), plus(a, plus(b, c)), "GF({q}): {a}, {b}, {c}");
        assert_eq!(times(times(a, b), c), times(a, times(b, c)), "GF({q}): {a}, {b}, {c}");
        assert_eq!(times(a, plus(b, c)), plus(times(a, b), times(a, c)), "GF({q}): {a}, {b}, {c}");
    }

    #[test]
    fn triples_behave_as_in_a_field_up_to_32() {
        for q in orders().filter(|&q| q <= 32) {
            let field = Field::new(q).unwrap();
            for triple in 0..q * q * q {
                assert_triple(&field, triple % q, triple / q % q, triple / q / q);
            }
        }
    }

    proptest! {
        #[test]
        fn triples_behave_as_in_a_field_beyond(
            order in prop::sample::select(orders().filter(|&q| q > 32).collect::<Vec<_>>()),
            triples in prop::collection::vec((0usize..97, 0usize..97, 0usize..97), 100),
        ) {
            let field = Field::new(order).unwrap();
            for (a, b, c) in triples {
                assert_triple(&field, a % order, b % order, c % order);
            }
        }
    }
}

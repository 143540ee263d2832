//! Published figures as data: one text that is printed, plotted and computed.

use std::fmt;

/// A formula as the papers write it, over the symbols of [`Figures`]: `3(N-1)`, `4(N-1)/N`,
/// `H(N-1)` with `H` the harmonic number, `N²`, `⌈log₂N⌉`, `∞` where chance sets no bound. A number before a bracket or a symbol
/// multiplies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formula(pub &'static str);

/// What the symbols of a formula stand for in one system.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// `N`, the number of nodes.
    pub n: f64,
    /// `K`, the mean quorum size; where none are given, that of a path in the tree of [`crate::mutex::agrawal_el_abbadi`].
    pub k: f64,
    /// `k`, how many may be inside at once.
    pub capacity: f64,
    /// `D`, the diameter of the tree.
    pub diameter: f64,
    /// `d`, how far the lone requester is from the first holder in the tree.
    pub distance: f64,
    /// `m`, the mean distance between two nodes of the tree, that to itself included.
    pub apart: f64,
    /// `i`, the id of the lone requester, counted from 1.
    pub id: f64,
    /// `L`, Sanders' mean lower bound on messages per entry.
    pub low: f64,
    /// `U`, Sanders' mean upper bound on messages per entry.
    pub high: f64,
}

impl Formula {
    /// Its value in one system.
    ///
    /// # Panics
    /// If the text is no formula. The catalogue's test evaluates every one.
    #[must_use]
    pub fn value(self, figures: &Figures) -> f64 {
        self.evaluate(figures).unwrap_or_else(|why| panic!("{why}"))
    }

    /// Whether the text is a formula, for those that are not of the catalogue.
    ///
    /// # Errors
    /// Where it is not.
    pub fn check(self) -> Result<(), String> {
        self.evaluate(&Figures { n: 2.0, ..Figures::default() }).map(drop)
    }

    fn evaluate(self, figures: &Figures) -> Result<f64, String> {
        let mut parser = Parser { rest: self.0.trim(), figures };
        match parser.sum() {
            Ok(value) if parser.rest.is_empty() => Ok(value),
            Ok(_) => Err(format!("`{}` is no formula: stuck at `{}`", self.0, parser.rest)),
            Err(why) => Err(format!("`{}` is no formula: {why}", self.0)),
        }
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.replace('-', "−"))
    }
}

/// What an algorithm claims of one figure: a value, or bounds with perhaps the mean between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Never less.
    pub low: Formula,
    /// The mean over chance, where it is known.
    pub typical: Option<Formula>,
    /// Never more.
    pub high: Formula,
}

impl Claim {
    /// Exactly this.
    #[must_use]
    pub const fn exactly(text: &'static str) -> Self {
        Claim { low: Formula(text), typical: Some(Formula(text)), high: Formula(text) }
    }

    /// At least `low` and at most `high`.
    #[must_use]
    pub const fn between(low: &'static str, high: &'static str) -> Self {
        Claim { low: Formula(low), typical: None, high: Formula(high) }
    }

    /// The same bounds, and this in the mean.
    #[must_use]
    pub const fn typically(self, text: &'static str) -> Self {
        Claim { typical: Some(Formula(text)), ..self }
    }

    /// Whether it is one value.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.low == self.high
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.typical {
            _ if self.is_exact() => write!(f, "{}", self.low),
            None => write!(f, "{} … {}", self.low, self.high),
            Some(typical) => write!(f, "{} … {}, on average {typical}", self.low, self.high),
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
    figures: &'a Figures,
}

impl Parser<'_> {
    fn take(&mut self, symbol: char) -> bool {
        match self.rest.strip_prefix(symbol) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> Result<f64, String> {
        let mut value = self.product()?;
        loop {
            if self.take('+') {
                value += self.product()?;
            } else if self.take('-') {
                value -= self.product()?;
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut value = self.power()?;
        loop {
            if self.take('/') {
                value /= self.power()?;
            } else if self.rest.is_empty() || self.rest.starts_with([')', '⌉', '⌋', '+', '-']) {
                return Ok(value);
            } else {
                value *= self.power()?;
            }
        }
    }

    fn power(&mut self) -> Result<f64, String> {
        let value = self.factor()?;
        Ok(if self.take('²') { value * value } else { value })
    }

    fn factor(&mut self) -> Result<f64, String> {
        if self.take('(') {
            let value = self.sum()?;
            if !self.take(')') {
                return Err(format!("a bracket is not closed before `{}`", self.rest));
            }
            return Ok(value);
        }
        for (open, close, round) in
            [('⌈', '⌉', f64::ceil as fn(f64) -> f64), ('⌊', '⌋', f64::floor)]
        {
            if self.take(open) {
                let value = self.sum()?;
                if !self.take(close) {
                    return Err(format!("`{open}` is not closed before `{}`", self.rest));
                }
                return Ok(round(value));
            }
        }
        if self.take('∞') {
            return Ok(f64::INFINITY);
        }
        if self.take('H') {
            let upto = self.factor()?;
            return Ok((1..=upto as u64).map(|i| 1.0 / i as f64).sum());
        }
        if let Some(rest) = self.rest.strip_prefix("log₂") {
            self.rest = rest.trim_start();
            return Ok(self.factor()?.log2());
        }
        let symbols = [
            ('N', self.figures.n),
            ('K', self.figures.k),
            ('k', self.figures.capacity),
            ('D', self.figures.diameter),
            ('d', self.figures.distance),
            ('m', self.figures.apart),
            ('i', self.figures.id),
            ('L', self.figures.low),
            ('U', self.figures.high),
        ];
        for (symbol, value) in symbols {
            if self.take(symbol) {
                return Ok(value);
            }
        }
        let digits = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest.trim_start();
        number.parse().map_err(|_| format!("a number, symbol or bracket is missing at `{rest}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computes_what_the_papers_write() {
        let figures = Figures { n: 5.0, k: 3.0, diameter: 4.0, ..Figures::default() };
        let value = |text| Formula(text).value(&figures);
        assert_eq!(value("3(N-1)"), 12.0);
        assert_eq!(value("4(N-1)/N"), 3.2);
        assert_eq!(value("2(N+1)/3"), 4.0);
        assert_eq!(value("2D"), 8.0);
        assert_eq!(value("7(K-1)"), 14.0);
        assert_eq!(value("H(N-1)"), 1.0 + 0.5 + 1.0 / 3.0 + 0.25);
        assert_eq!(value("N-1-1"), 3.0);
        assert_eq!(value("N²-N-1"), 19.0);
        assert_eq!(value("8N(1+⌈log₂N⌉)"), 160.0);
        assert_eq!(value("⌊log₂(N-1)⌋"), 2.0);
        assert_eq!(value("∞"), f64::INFINITY);
    }

    #[test]
    #[should_panic(expected = "is no formula")]
    fn garbage_is_noticed() {
        let _ = Formula("3)").value(&Figures::default());
    }

    #[test]
    fn what_is_no_formula_is_named() {
        for (text, why) in [
            ("2(N-1", "`2(N-1` is no formula: a bracket is not closed before ``"),
            ("", "`` is no formula: a number, symbol or bracket is missing at ``"),
            ("2x", "`2x` is no formula: a number, symbol or bracket is missing at `x`"),
        ] {
            assert_eq!(Formula(text).check(), Err(why.into()));
        }
        assert_eq!(Formula("2(N-1)").check(), Ok(()));
    }

    #[test]
    fn a_claim_says_what_it_claims() {
        let bounds = Claim::between("0", "2(N-1)");
        assert_eq!(Claim::exactly("3(N-1)").to_string(), "3(N−1)");
        assert_eq!(bounds.to_string(), "0 … 2(N−1)");
        assert_eq!(bounds.typically("N").to_string(), "0 … 2(N−1), on average N");
    }
}

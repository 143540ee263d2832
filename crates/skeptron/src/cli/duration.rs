//! Durations as people write and read them.

use std::time::Duration;

pub(crate) use skeptron_net::report::lasted;

/// A year: nothing here waits longer.
const MOST_MS: u64 = 366 * 24 * 3_600_000;

/// `500ms`, `5s`, `2m` or `1h`. For clap.
pub(crate) fn parse(text: &str) -> Result<Duration, &'static str> {
    const HOW: &str = "write a whole number and its unit, as in 500ms, 5s, 2m or 1h";
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).ok_or(HOW)?;
    let (number, unit) = text.split_at(unit_at);
    let unit_ms = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(HOW),
    };
    if number.is_empty() {
        return Err(HOW);
    }
    let ms = number.parse().ok().and_then(|number: u64| number.checked_mul(unit_ms));
    let ms = ms.filter(|&ms| ms <= MOST_MS).ok_or("it is longer than a year")?;
    Ok(Duration::from_millis(ms))
}

/// A duration above zero. For clap.
pub(crate) fn some(text: &str) -> Result<Duration, &'static str> {
    parse(text).and_then(|time| if time.is_zero() { Err("it must be above 0") } else { Ok(time) })
}

/// As [`parse`] reads it, in the largest unit that needs no fraction.
pub(crate) fn written(time: Duration) -> String {
    let ms = time.as_millis();
    let units = [("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
    let fits = units.into_iter().find(|&(_, size)| ms > 0 && ms.is_multiple_of(size));
    fits.map_or(format!("{ms}ms"), |(unit, size)| format!("{}{unit}", ms / size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for text in ["0ms", "500ms", "5s", "90s", "2m", "1h", "8784h"] {
            assert_eq!(written(parse(text).unwrap()), text);
        }
        assert_eq!(written(parse("3600s").unwrap()), "1h");
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "5", "s", "5 s", "-5s", "1.5s", "5sec", "8785h", "99999999999999999999h"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(some("0s").is_err());
    }
}

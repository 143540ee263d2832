//! How much memory a search may take.

use std::fs;

/// A size as people write it: `512M`, `8G`, `1.5GiB`; plain numbers are bytes. For clap.
pub(crate) fn parse(text: &str) -> Result<usize, &'static str> {
    const HOW: &str = "write a size as in 512M or 8G";
    let unit = text.trim().trim_end_matches(['B', 'b']).trim_end_matches('i');
    let (number, shift) = match unit.char_indices().last() {
        Some((at, 'k' | 'K')) => (&unit[..at], 10),
        Some((at, 'm' | 'M')) => (&unit[..at], 20),
        Some((at, 'g' | 'G')) => (&unit[..at], 30),
        Some((at, 't' | 'T')) => (&unit[..at], 40),
        _ => (unit, 0),
    };
    let bytes = number.trim().parse::<f64>().map_err(|_| HOW)? * f64::from(shift).exp2();
    match bytes {
        _ if !bytes.is_finite() || bytes < 0.0 => Err(HOW),
        _ if bytes < LEAST as f64 => Err("at least 1M is needed"),
        // Larger ones become the largest.
        _ => Ok(bytes as usize),
    }
}

/// What the smallest search needs.
const LEAST: usize = 1 << 20;

/// 60 % of the memory that is free, where the system tells; else 4 GiB.
pub(crate) fn most_of_what_is_free() -> usize {
    let free = fs::read_to_string("/proc/meminfo").ok().and_then(|text| free(&text));
    free.map_or(4 << 30, |free| (free / 5 * 3).max(LEAST))
}

fn free(meminfo: &str) -> Option<usize> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
}

/// A size as people read it.
pub(crate) fn readable(bytes: usize) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut size = bytes as f64;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < units.len() {
        size /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} bytes") } else { format!("{size:.1} {}", units[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(parse("8G"), Ok(8 << 30));
        assert_eq!(parse("1.5GiB"), Ok(3 << 29));
        assert_eq!(parse("512m"), Ok(512 << 20));
        assert_eq!(parse("4MB"), Ok(4 << 20));
        assert_eq!(parse("2000000"), Ok(2_000_000));
        for wrong in ["", "G", "-1G", "lots", "1K", "0", "nan", "inf", "1GG", "8 Gigs", "é"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_are_written() {
        assert_eq!(readable(8 << 30), "8.0 GiB");
        assert_eq!(readable(3 << 19), "1.5 MiB");
        assert_eq!(readable(900), "900 bytes");
    }

    #[test]
    fn the_system_tells_what_is_free() {
        let text =
            "MemTotal:       24689764 kB\nMemFree:         1048 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(free(text), Some(2 << 20));
        assert_eq!(free("MemTotal: 1 kB"), None);
    }
}

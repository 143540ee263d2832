//! Latencies between sites: tables that were measured and published, and a way to read one's own.

use crate::distribution::Distribution;

use super::{Latency, LatencyError};

/// Round trips between sites, in milliseconds, as somebody measured and published them.
struct Wan {
    name: &'static str,
    /// Within a site.
    within: &'static str,
    /// From each site but the last to those after it.
    between: &'static [&'static [&'static str]],
}

/// The preset that is no measurement: round trips as between neighbouring and distant regions, with half
/// of them in 1 unit = 1 ms: 0.25 within a data centre, 5 between the first two, 20 and 25 to the third.
const THREE_DC: Wan = Wan { name: "three-dc", within: "0.5", between: &[&["10", "40"], &["50"]] };

/// Ten regions of AWS, mean round trips of 2016 ("Latency Between AWS Global Regions"): N. Virginia,
/// N. California, Oregon, Ireland, Frankfurt, Tokyo, Seoul, Singapore, Sydney, São Paulo.
const AWS: Wan = Wan {
    name: "wan:aws-10",
    within: "0.5",
    between: &[
        &["72.74", "86.98", "80.55", "88.66", "145.3", "178.4", "216.7", "230", "119.5"],
        &["19.46", "153.2", "166.6", "102.5", "131.5", "174", "157.5", "192.7"],
        &["137", "159.5", "89.1", "118.3", "161.4", "162.2", "182.7"],
        &["19.56", "212.4", "242.4", "239", "309.6", "191.3"],
        &["236.5", "266.2", "325.9", "323.5", "194.9"],
        &["31.44", "73.79", "103.9", "256.8"],
        &["71.87", "134", "286.3"],
        &["175.3", "328.1"],
        &["322.5"],
    ],
};

/// Ten regions of IBM Cloud, means of 17 August to 15 September 2024 (its documentation of network
/// latency): Dallas, Toronto, Washington, Frankfurt, London, Madrid, Osaka, Sydney, Tokyo, São Paulo.
const IBM: Wan = Wan {
    name: "wan:ibm-10",
    within: "0.09",
    between: &[
        &["34", "31", "123", "113", "117", "150", "185", "143", "145"],
        &["19", "92", "82", "109", "169", "215", "161", "130"],
        &["91", "76", "88", "173", "214", "166", "118"],
        &["13", "29", "232", "250", "228", "197"],
        &["27", "244", "261", "242", "187"],
        &["259", "275", "256", "207"],
        &["122", "9", "292"],
        &["115", "327"],
        &["284"],
    ],
};

/// Three zones of one region of the same cloud, 27 July to 25 August 2024: Dallas 1, 2, 3.
const ZONES: Wan =
    Wan { name: "wan:ibm-zones", within: "0.09", between: &[&["2.03", "2.2"], &["2.18"]] };

const ALL: [&Wan; 4] = [&THREE_DC, &AWS, &IBM, &ZONES];

/// The tables that have a name.
pub const PRESETS: [&str; 4] = [THREE_DC.name, AWS.name, IBM.name, ZONES.name];

/// The latencies of that name, if it is one.
pub(super) fn preset(name: &str, nodes: usize) -> Option<Result<Latency, LatencyError>> {
    let wan = ALL.into_iter().find(|wan| wan.name == name)?;
    let sites = wan.between.len() + 1;
    let cell = |from: usize, to: usize| match from.cmp(&to) {
        std::cmp::Ordering::Less => wan.between[from][to - from - 1],
        std::cmp::Ordering::Equal => wan.within,
        std::cmp::Ordering::Greater => wan.between[to][from - to - 1],
    };
    let pairs = (0..sites).flat_map(|from| (0..sites).map(move |to| (from, to)));
    let table = pairs.map(|(from, to)| one_way(cell(from, to)).map_err(LatencyError::from));
    Some(table.collect::<Result<_, _>>().map(|table| by_turns(table, sites, nodes, name)))
}

/// The round trips of a file: a row for each site with a number of milliseconds for each site, separated
/// by commas, bars or white space. A row may begin with the name of its site, and the first line may name all
/// sites. Of two sites one direction is enough: a cell that is empty or `-` is the one across. Within a site
/// it is 0.5 where nothing is said.
pub(super) fn round_trips(path: &str, text: &str, nodes: usize) -> Result<Latency, LatencyError> {
    let content = std::fs::read_to_string(path).map_err(|e| wrong(path, e.to_string()))?;
    let lines = content.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let lines = (1..).zip(lines).filter(|(_, line)| !line.is_empty());
    // What comes before the first number is a heading.
    let is_heading = |row: &(usize, Vec<&str>)| !row.1.iter().any(|it| it.parse::<f64>().is_ok());
    let rows = lines.map(|(number, line)| (number, cells(line))).skip_while(is_heading);
    let rows: Vec<(usize, Vec<&str>)> = rows.collect();
    let sites = rows.len();
    if sites < 2 {
        return Err(wrong(path, "it has fewer than two rows of round trips".into()));
    }
    let mut named = Vec::new();
    for (line, cells) in &rows {
        // A name of the site may come first.
        let has_name = cells.len() == sites + 1 && cells[0].parse::<f64>().is_err();
        if !has_name && cells.len() != sites {
            let found = cells.len();
            return Err(wrong(path, format!("line {line}: {found} cells for {sites} sites")));
        }
        named.push((*line, &cells[usize::from(has_name)..]));
    }
    let mut table = Vec::new();
    for from in 0..sites {
        for to in 0..sites {
            let ((line, row), (_, across)) = (named[from], named[to]);
            let said = [row[to], across[from]].into_iter().find(|cell| !is_blank(cell));
            let cell = match said {
                Some(cell) => cell,
                None if from == to => THREE_DC.within,
                None => {
                    let (from, to) = (from + 1, to + 1);
                    return Err(wrong(
                        path,
                        format!(
                            "line {line}: nothing is said of sites {from} and {to}, either way"
                        ),
                    ));
                }
            };
            let read = one_way(cell).map_err(|what| wrong(path, format!("line {line}: {what}")))?;
            table.push(read);
        }
    }
    Ok(by_turns(table, sites, nodes, text))
}

fn cells(line: &str) -> Vec<&str> {
    // A table of Markdown has bars at both ends.
    let line = match line.strip_prefix('|') {
        Some(line) => line.strip_suffix('|').unwrap_or(line),
        None => line,
    };
    match line.find([',', '|', ';', '\t']) {
        Some(at) => line.split(char::from(line.as_bytes()[at])).map(str::trim).collect(),
        None => line.split_whitespace().collect(),
    }
}

fn is_blank(cell: &str) -> bool {
    cell.is_empty() || cell == "-" || cell == "–"
}

/// Half of a round trip.
fn one_way(round_trip: &str) -> Result<Distribution, crate::distribution::DistributionError> {
    match round_trip.parse::<f64>() {
        Ok(millis) => Distribution::parse(&(millis / 2.0).to_string()),
        Err(_) => Distribution::parse(round_trip),
    }
}

/// Node by node is at the next site, and after the last at the first again.
fn by_turns(table: Vec<Distribution>, sites: usize, nodes: usize, text: &str) -> Latency {
    let site_of = (0..nodes).map(|node| (node % sites) as u32).collect();
    Latency { site_of, sites, table, text: text.into() }
}

fn wrong(path: &str, what: String) -> LatencyError {
    LatencyError::File { path: path.into(), what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skeptron_core::NodeId;

    fn one_way_of(latency: &Latency, from: usize, to: usize) -> Option<u64> {
        latency.between(NodeId::new(from), NodeId::new(to)).as_constant()
    }

    #[test]
    fn every_preset_is_a_whole_table() {
        for name in PRESETS {
            let latency = Latency::parse(name, 21).unwrap();
            for from in 0..21 {
                for to in 0..21 {
                    let there = one_way_of(&latency, from, to);
                    assert!(there.is_some_and(|ticks| ticks > 0), "{name}");
                    assert_eq!(there, one_way_of(&latency, to, from), "{name}");
                }
            }
            assert_eq!(latency.to_string(), name);
        }
        let aws = Latency::parse("wan:aws-10", 30).unwrap();
        // Virginia to Ireland, and to itself; the eleventh node is in Virginia again.
        assert_eq!(one_way_of(&aws, 0, 3), Some(40_275));
        assert_eq!(one_way_of(&aws, 0, 10), Some(250));
        assert_eq!(one_way_of(&aws, 19, 8), Some(161_250));
        assert!(Latency::parse("wan:mars", 3).unwrap_err().to_string().contains("wan:aws-10"));
    }

    #[test]
    fn a_published_table_is_read_as_it_is_published() {
        let folder = std::env::temp_dir().join(format!("skeptron-rtt-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("table");
        let read = |content: &str, nodes| {
            std::fs::write(&path, content).unwrap();
            Latency::parse(&format!("rtt:{}", path.display()), nodes)
        };
        for content in [
            ",Dallas,New York,Tokyo\nDallas,,34,143\nNew York,34,,161\nTokyo,,,\n",
            "| ms | **Dallas** | Toronto | Tokyo |\n| --- | --- | --- | --- |\n\
             | **Dallas** |  | 34 | 143 |\n| Toronto | 34 |  | 161 |\n| Tokyo | 143 | 161 |  |\n",
            "0.5 34 143 # Dallas\n- - 161\n- - 0.5\n",
        ] {
            let latency = read(content, 5).unwrap();
            let found = [(0, 1), (2, 0), (1, 2), (1, 1), (0, 3)];
            let found = found.map(|(from, to)| one_way_of(&latency, from, to));
            assert_eq!(found, [17_000, 71_500, 80_500, 250, 250].map(Some), "{content}");
        }
        let refused = |content: &str| read(content, 3).unwrap_err().to_string();
        assert!(refused("1 2 3\n4 5\n").contains("line 1: 3 cells for 2 sites"));
        assert!(refused("0 -\n- 0\n").contains("line 1: nothing is said of sites 1 and 2"));
        assert!(refused("nothing\n").contains("fewer than two rows"));
        assert!(refused("0 -3\n1 0\n").contains("line 1"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}

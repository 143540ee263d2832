//! A timeline for terminals: one row per record, and a lifeline per node as long as they fit.

use std::io::{self, Write};
use std::ops::Range;

use skeptron_core::NodeId;

use super::clocks::{ClockKind, Clocks};
use super::timeline::{Doing, Open, Timeline};
use super::{Record, Trace, What, wording};

/// With more nodes than this the rows say where, and there are no lifelines.
const LIFELINES: usize = 10;

pub(super) fn write(
    trace: &Trace,
    part: Range<usize>,
    clocks: Option<ClockKind>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Trace { header, records } = trace;
    let doing = if header.is_election() { "┃ leading" } else { "┃ inside" };
    let nodes = header.setup.nodes();
    let timeline = Timeline::of(trace);
    writeln!(out, "{}", wording::title(header))?;
    if let Some(command) = &header.command {
        writeln!(out, "{command}")?;
    }
    let decimals = decimals(trace);
    let time = |t| format!("{:.decimals$}", wording::units(t, header));
    let time_width = time(timeline.end).len().max("time".len());
    // `P10` is a column wide, and two blanks keep the columns apart.
    let width = format!("P{nodes}").len();
    let stamped = clocks.map(|kind| stamped(trace, kind));
    let stamps = stamped.iter().flatten();
    let name_width = stamps.clone().map(|(name, _)| name.len()).max().unwrap_or(width);
    let clock_width = stamps.map(|(_, clock)| clock.len()).max().unwrap_or(0);
    let clock_title = match clocks {
        None => String::new(),
        Some(kind) => format!("  {:<clock_width$}", kind.to_string()),
    };
    // The title of a narrow column may be wider than it.
    let clock_width = clock_width.max(clock_title.len().saturating_sub(2));
    let lifelines = nodes <= LIFELINES;
    if lifelines {
        writeln!(out, "┆ waiting  {doing}  · paused  * here  ! violated")?;
        write!(out, "\n{:>time_width$}", "time")?;
        for node in NodeId::all(nodes) {
            write!(out, "  {:<width$}", node.to_string())?;
        }
    } else {
        write!(out, "\n{:>time_width$}", "time")?;
    }
    writeln!(out, "{}", clock_title.trim_end())?;

    let mut open = Open::default();
    for record in &records[..part.start] {
        open.take(record, &mut Vec::new());
    }
    let is_shown = |record: &&Record| record.what.is_shown();
    let before = records[..part.start].iter().filter(is_shown).count();
    for (row, record) in (before..).zip(records[part].iter().filter(is_shown)) {
        let mark = if matches!(record.what, What::Violation { .. }) { '!' } else { '*' };
        write!(out, "{:>time_width$}", time(record.t))?;
        if lifelines {
            for node in NodeId::all(nodes) {
                let sign = if node == record.node { mark } else { lifeline(&open, node) };
                write!(out, "  {sign:<width$}")?;
            }
        }
        let mut name = record.node.to_string();
        if let Some((event, clock)) = stamped.as_ref().map(|stamped| &stamped[row]) {
            write!(out, "  {clock:<clock_width$}")?;
            name.clone_from(event);
        }
        writeln!(out, "  {name:<name_width$} {}", wording::event(&record.what, &timeline))?;
        open.take(record, &mut Vec::new());
    }
    Ok(())
}

/// For each row what its event is called, as in `P2.5`, and its clocks; where it is no event, its node
/// and nothing.
fn stamped(trace: &Trace, kind: ClockKind) -> Vec<(String, String)> {
    let mut clocks = Clocks::new(&trace.header.setup);
    let row = |record: &super::Record| match clocks.take(record) {
        Some(stamp) => {
            let number = stamp.vector.counts()[record.node.index()];
            (format!("{}.{number}", record.node), stamp.written(kind))
        }
        None => (record.node.to_string(), String::new()),
    };
    trace.shown().map(row).collect()
}

/// How a node looks between its records.
fn lifeline(open: &Open, node: NodeId) -> char {
    match open.at(node).next() {
        None => '│',
        Some(Doing::Waiting) => '┆',
        Some(Doing::Inside { .. } | Doing::Leading { .. }) => '┃',
        Some(Doing::Down) => ' ',
        Some(Doing::Paused) => '·',
    }
}

/// As many decimals as the times of this run need, up to three.
fn decimals(trace: &Trace) -> usize {
    let per_unit = u128::from(trace.header.ticks_per_unit.max(1));
    let whole = |decimals: u32| {
        trace
            .records
            .iter()
            .all(|r| (u128::from(r.t) * 10u128.pow(decimals)).is_multiple_of(per_unit))
    };
    (0..3).find(|&decimals| whole(decimals)).unwrap_or(3) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::sample::Scene;
    use crate::trace::{Format, Picture};

    fn text_with(scene: &Scene, clocks: Option<ClockKind>) -> String {
        let mut out = Vec::new();
        let picture = Picture { clocks, ..Picture::default() };
        scene.play().write_picture(Format::Text, picture, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn text(scene: &Scene) -> String {
        text_with(scene, None)
    }

    #[test]
    fn clocks_stand_beside_the_events() {
        let scene = Scene { entries: 1, ..Scene::new(2) };
        let columns = |kind| {
            let text = text_with(&scene, Some(kind));
            text.lines().skip(3).take(8).collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(columns(ClockKind::Both), @"
        time  P1  P2  both
         0.0  *   │   1 (1,0)   P1.1 requests
         0.0  *   │   2 (2,0)   P1.2 REQUEST 1 → P2
         0.0  ┆   *   1 (0,1)   P2.1 requests
         0.0  ┆   *   2 (0,2)   P2.2 REQUEST 1 → P1
         1.0  ┆   *   3 (2,3)   P2.3 REQUEST 1 ← P1
         1.0  ┆   *   4 (2,4)   P2.4 REPLY → P1
         1.0  *   ┆   3 (3,2)   P1.3 REQUEST 1 ← P2
        ");
        insta::assert_snapshot!(columns(ClockKind::Lamport), @"
        time  P1  P2  lamport
         0.0  *   │   1        P1.1 requests
         0.0  *   │   2        P1.2 REQUEST 1 → P2
         0.0  ┆   *   1        P2.1 requests
         0.0  ┆   *   2        P2.2 REQUEST 1 → P1
         1.0  ┆   *   3        P2.3 REQUEST 1 ← P1
         1.0  ┆   *   4        P2.4 REPLY → P1
         1.0  *   ┆   3        P1.3 REQUEST 1 ← P2
        ");
    }

    #[test]
    fn two_nodes_ask_at_once() {
        insta::assert_snapshot!(text(&Scene::new(2)), @"
        Ricart–Agrawala, 2 nodes, channels in any order
        ┆ waiting  ┃ inside  · paused  * here  ! violated

        time  P1  P2
         0.0  *   │   P1 requests
         0.0  *   │   P1 REQUEST 1 → P2
         0.0  ┆   *   P2 requests
         0.0  ┆   *   P2 REQUEST 1 → P1
         1.0  ┆   *   P2 REQUEST 1 ← P1
         1.0  ┆   *   P2 REPLY → P1
         1.0  *   ┆   P1 REQUEST 1 ← P2
         2.0  *   ┆   P1 REPLY ← P2
         2.0  *   ┆   P1 enters, fence 1
         2.5  *   ┆   P1 leaves
         2.5  *   ┆   P1 REPLY → P2
         3.0  *   ┆   P1 requests
         3.0  *   ┆   P1 REQUEST 2 → P2
         3.5  ┆   *   P2 REPLY ← P1
         3.5  ┆   *   P2 enters, fence 2
         4.0  ┆   *   P2 REQUEST 2 ← P1
         4.0  ┆   *   P2 leaves
         4.0  ┆   *   P2 REPLY → P1
         4.5  ┆   *   P2 requests
         4.5  ┆   *   P2 REQUEST 3 → P1
         5.0  *   ┆   P1 REPLY ← P2
         5.0  *   ┆   P1 enters, fence 3
         5.5  *   ┆   P1 REQUEST 3 ← P2
         5.5  *   ┆   P1 leaves
         5.5  *   ┆   P1 REPLY → P2
         6.5  │   *   P2 REPLY ← P1
         6.5  │   *   P2 enters, fence 4
         7.0  │   *   P2 leaves
        ");
    }

    #[test]
    fn everything_that_can_happen() {
        insta::assert_snapshot!(text(&Scene::faulty()));
    }

    #[test]
    fn many_nodes_are_a_list() {
        let list = text(&Scene { entries: 1, requesters: 1, ..Scene::new(13) });
        let rows: Vec<_> = list.lines().skip(2).take(5).collect();
        insta::assert_snapshot!(rows.join("\n"), @"
        time
         0.0  P1  requests
         0.0  P1  REQUEST 1 → P2
         0.0  P1  REQUEST 1 → P3
         0.0  P1  REQUEST 1 → P4
        ");
    }
}

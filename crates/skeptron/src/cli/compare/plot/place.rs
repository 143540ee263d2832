//! Where things go that would lie on top of each other.

/// A line as pixels.
type Line = Vec<(f64, f64)>;

/// Moves labels as little as needed so that any two are `gap` apart and all between `top` and
/// `bottom`, in the order of what is wanted. What is equally high keeps the order of the list.
pub(super) fn spread(wanted: &[f64], gap: f64, top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    // Clusters of labels that touch, each around the mean of where its labels want to be.
    let mut clusters: Vec<(Vec<usize>, f64)> = Vec::new();
    for i in order {
        let wish = wanted[i].min(bottom - gap / 2.0).max(top + gap / 2.0);
        clusters.push((vec![i], wish));
        while let [.., (above, a), (below, b)] = &clusters[..] {
            let apart = (above.len() + below.len()) as f64 / 2.0 * gap;
            if b - a >= apart {
                break;
            }
            let weights = (above.len() as f64, below.len() as f64);
            let middle = (a * weights.0 + b * weights.1) / (weights.0 + weights.1);
            let members = [&above[..], &below[..]].concat();
            let room = members.len() as f64 / 2.0 * gap;
            clusters.truncate(clusters.len() - 2);
            clusters.push((members, middle.min(bottom - room).max(top + room)));
        }
    }
    let mut places = vec![0.0; wanted.len()];
    for (members, middle) in clusters {
        let first = middle - (members.len() - 1) as f64 / 2.0 * gap;
        for (rank, i) in members.into_iter().enumerate() {
            places[i] = first + rank as f64 * gap;
        }
    }
    places
}

/// Where to draw the marker of each point: those at the same place stand side by side around it, in
/// rows of at most five, `step` apart or less if there is not the `room`.
pub(super) fn beads(lines: &[Line], step: f64, room: f64) -> Vec<Line> {
    const PER_ROW: usize = 5;
    let near = |a: (f64, f64), b: (f64, f64)| (a.0 - b.0).abs() < 1.0 && (a.1 - b.1).abs() < 6.0;
    let bead = |i: usize, point: (f64, f64)| {
        let here = |line: &&Line| line.iter().any(|&p| near(p, point));
        let company = lines.iter().filter(here).count().max(1);
        let rank = lines[..i].iter().filter(here).count();
        let rows = company.div_ceil(PER_ROW);
        let per_row = company.div_ceil(rows);
        let row = rank / per_row;
        let in_row = per_row.min(company - row * per_row);
        let step = step.min(room / per_row as f64);
        let centred = |rank: usize, count: usize| rank as f64 - (count - 1) as f64 / 2.0;
        let x = point.0 + centred(rank % per_row, in_row) * step;
        // Along the line, unless that would look like another value.
        let along = height_at(&lines[i], x);
        let y = if rows == 1 && (along - point.1).abs() < 7.0 { along } else { point.1 };
        (x, y + centred(row, rows) * step)
    };
    let line = |(i, line): (usize, &Line)| line.iter().map(|&point| bead(i, point)).collect();
    lines.iter().enumerate().map(line).collect()
}

/// How high a line is at `x`; level beyond its ends.
fn height_at(line: &Line, x: f64) -> f64 {
    let after = line.partition_point(|&(there, _)| there < x);
    match (after.checked_sub(1).map(|i| line[i]), line.get(after)) {
        (Some((x0, y0)), Some(&(x1, y1))) => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
        (Some((_, y)), None) => y,
        (None, first) => first.map_or(0.0, |&(_, y)| y),
    }
}

/// A part of a line that has the same company throughout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Its first and its last point.
    pub(super) from: usize,
    pub(super) to: usize,
    /// How many lines coincide here, this one included, and which of them this is.
    pub(super) company: usize,
    pub(super) rank: usize,
}

/// The pieces of the `i`-th line.
pub(super) fn pieces(lines: &[Line], i: usize) -> Vec<Piece> {
    let near = |a: (f64, f64), b: (f64, f64)| (a.0 - b.0).abs() < 1.0 && (a.1 - b.1).abs() < 1.0;
    let mut pieces: Vec<(Piece, Vec<usize>)> = Vec::new();
    for (j, ends) in lines[i].windows(2).enumerate() {
        let shares = |line: &Line| {
            line.windows(2).any(|other| near(other[0], ends[0]) && near(other[1], ends[1]))
        };
        let sharing: Vec<usize> = (0..lines.len()).filter(|&k| shares(&lines[k])).collect();
        match pieces.last_mut() {
            Some((piece, company)) if *company == sharing => piece.to = j + 1,
            _ => {
                let rank = sharing.iter().position(|&k| k == i).unwrap_or(0);
                let piece = Piece { from: j, to: j + 1, company: sharing.len(), rank };
                pieces.push((piece, sharing));
            }
        }
    }
    pieces.into_iter().map(|(piece, _)| piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_their_distance_and_their_order() {
        let wanted = [100.0, 10.0, 101.0, 102.0, 12.0, 300.0, 299.0];
        let places = spread(&wanted, 15.0, 0.0, 310.0);
        let mut order: Vec<usize> = (0..wanted.len()).collect();
        order.sort_by(|&a, &b| places[a].total_cmp(&places[b]));
        for pair in order.windows(2) {
            assert!(wanted[pair[0]] <= wanted[pair[1]], "{places:?}");
            assert!(places[pair[1]] - places[pair[0]] >= 15.0 - 1e-9, "{places:?}");
        }
        assert!(places.iter().all(|&y| (0.0..=310.0).contains(&y)), "{places:?}");
        assert_eq!(spread(&[50.0, 80.0], 15.0, 0.0, 310.0), [50.0, 80.0], "no need to move");
        assert_eq!(spread(&[50.0, 50.0], 16.0, 0.0, 310.0), [42.0, 58.0]);
    }

    #[test]
    fn equal_markers_stand_side_by_side() {
        let lines = [vec![(0.0, 5.0), (50.0, 5.0)], vec![(0.0, 5.0), (50.0, 90.0)]];
        let [level, steep] = &beads(&lines, 10.0, 100.0)[..] else { panic!("two lines") };
        assert_eq!(level[..], [(-5.0, 5.0), (50.0, 5.0)]);
        assert_eq!(steep[..], [(5.0, 5.0), (50.0, 90.0)], "too steep to follow");
        assert_eq!(beads(&lines, 10.0, 8.0)[0][0], (-2.0, 5.0), "closer, for want of room");
    }

    #[test]
    fn many_equal_markers_stand_in_rows() {
        let lines = vec![vec![(100.0, 50.0)]; 7];
        let beads: Vec<_> = beads(&lines, 10.0, 100.0).concat();
        assert_eq!(beads[..4], [(85.0, 45.0), (95.0, 45.0), (105.0, 45.0), (115.0, 45.0)]);
        assert_eq!(beads[4..], [(90.0, 55.0), (100.0, 55.0), (110.0, 55.0)]);
    }

    #[test]
    fn a_moved_marker_stays_on_its_line() {
        let line = vec![(0.0, 0.0), (10.0, 20.0)];
        assert_eq!([-5.0, 5.0, 15.0].map(|x| height_at(&line, x)), [0.0, 10.0, 20.0]);
        let lines = vec![vec![(0.0, 0.0), (50.0, 10.0), (100.0, 20.0)]; 2];
        assert_eq!(beads(&lines, 10.0, 100.0)[1][1], (55.0, 11.0));
    }

    #[test]
    fn lines_share_only_where_they_coincide() {
        let lines = [
            vec![(0.0, 0.0), (10.0, 0.0), (20.0, 0.0), (30.0, 0.0)],
            vec![(0.0, 0.0), (10.0, 0.0), (20.0, 0.0), (30.0, 9.0)],
        ];
        let shared = Piece { from: 0, to: 2, company: 2, rank: 1 };
        let alone = Piece { from: 2, to: 3, company: 1, rank: 0 };
        assert_eq!(pieces(&lines, 1), [shared, alone]);
    }
}

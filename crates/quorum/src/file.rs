//! Quorums from a file, as JSON or as lines of text.

use std::collections::BTreeMap;

use serde::Deserialize;
use skeptron_core::NodeId;
use thiserror::Error;

use crate::family::{Family, FamilyError};

/// Why a file holds no quorums.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FileError {
    /// Nothing but blanks and comments, or an empty list.
    #[error("there are no quorums in it; write one line of members for each node")]
    Empty,
    /// It starts like JSON but is not the JSON expected. The text says in which line.
    #[error(
        "JSON has to be a list of lists of nodes, like [[1,2],[2,3],[1,3]], or an object with such a \
         list as `quorums`: {0}"
    )]
    Json(String),
    /// The lists of a JSON file are wrong.
    #[error(transparent)]
    Invalid(#[from] FamilyError),
    /// A line of text is wrong.
    #[error("line {line}: {cause}")]
    Line {
        /// Which line, counted from 1.
        line: usize,
        /// What is wrong.
        cause: LineError,
    },
}

/// What is wrong with a line of text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LineError {
    /// A word does not name a node.
    #[error("`{0}` is no node; nodes are numbers from 1")]
    NoNode(String),
    /// What follows `nodes` is not how many there are.
    #[error("`{0}` is no number of nodes; write for example `nodes 7`")]
    NoNumber(String),
    /// Some lines say whose they are, some do not.
    #[error("either all lines start with `node:` or none; this one differs from the first")]
    Mixed,
    /// A node has two lines.
    #[error("{node} has its quorum in line {first} already; leave one of the two")]
    Twice {
        /// Which node.
        node: NodeId,
        /// The line it has.
        first: usize,
    },
    /// A node below this one has no line.
    #[error("{node} has a quorum, but {missing} has none; write one for every node from 1 on")]
    Missing {
        /// Whose line it is.
        node: NodeId,
        /// Who has none.
        missing: NodeId,
    },
    /// The line is wrong as a quorum.
    #[error(transparent)]
    Invalid(#[from] FamilyError),
}

/// A file before it is known how many nodes there are.
struct Lists {
    nodes: Option<usize>,
    quorums: Vec<Vec<NodeId>>,
    /// Whether the first is that of the first node, and so on, rather than any quorums.
    assigned: Assigned,
    /// Where they stand, if that is known.
    lines: Vec<usize>,
}

enum Assigned {
    Yes,
    /// If there are as many as nodes.
    Perhaps,
    /// Apart from the list.
    As(Vec<Vec<NodeId>>),
    No,
}

/// Reads quorums, nodes counted from 1, in one of these forms:
///
/// - JSON: a list with one list of members for each node, `[[1,2],[2,3],[1,3]]`;
/// - JSON: `{"nodes": 4, "quorums": [[1,2],[2,3],[1,3]]}` with any number of quorums, and if wanted
///   which of them each node asks as `assignment`: what `skeptron quorum --json` writes;
/// - text: one line for each node, `node: members` in any order or just the members in the order of
///   the nodes, separated by blanks or commas. A `#` starts a comment;
/// - text: a line `nodes N` and then any number of quorums, a line each.
///
/// If `nodes` says how many there are, a list without a node for each line may also be of any length.
///
/// # Errors
/// The first thing that is wrong, with its line. That two quorums do not meet is not an error yet.
pub fn parse_file(text: &str, nodes: Option<usize>) -> Result<Family, FileError> {
    let is_json = text.trim_start().starts_with(['[', '{']);
    let lists = if is_json { parse_json(text)? } else { parse_lines(text)? };
    if lists.quorums.is_empty() {
        return Err(FileError::Empty);
    }
    let count = lists.quorums.len();
    let nodes = lists.nodes.or(nodes).unwrap_or(match lists.assigned {
        Assigned::No => {
            1 + lists.quorums.iter().flatten().map(|node| node.index()).max().unwrap_or(0)
        }
        Assigned::Yes | Assigned::Perhaps => count,
        Assigned::As(ref sets) => sets.len(),
    });
    let family = match lists.assigned {
        Assigned::Yes => Family::assigned(lists.quorums, nodes),
        Assigned::Perhaps if count == nodes => Family::assigned(lists.quorums, nodes),
        Assigned::As(assignment) => Family::with_assignment(lists.quorums, assignment, nodes),
        Assigned::Perhaps | Assigned::No => Family::listed(lists.quorums, nodes),
    };
    family.map_err(|cause| match cause.place().and_then(|place| lists.lines.get(place)) {
        Some(&line) => FileError::Line { line, cause: cause.into() },
        None => cause.into(),
    })
}

fn parse_json(text: &str) -> Result<Lists, FileError> {
    #[derive(Deserialize)]
    struct Object {
        nodes: Option<usize>,
        quorums: Option<Vec<Vec<NodeId>>>,
        assignment: Option<Vec<Vec<NodeId>>>,
    }
    let wrong = |error: serde_json::Error| FileError::Json(error.to_string());
    if text.trim_start().starts_with('[') {
        let quorums = serde_json::from_str(text).map_err(wrong)?;
        return Ok(Lists { nodes: None, quorums, assigned: Assigned::Perhaps, lines: Vec::new() });
    }
    let object: Object = serde_json::from_str(text).map_err(wrong)?;
    let (quorums, assigned) = match (object.quorums, object.assignment) {
        (Some(quorums), Some(assignment)) => (quorums, Assigned::As(assignment)),
        (Some(quorums), None) => (quorums, Assigned::No),
        (None, Some(assignment)) => (assignment, Assigned::Yes),
        (None, None) => return Err(FileError::Json("it has no `quorums`".to_owned())),
    };
    Ok(Lists { nodes: object.nodes, quorums, assigned, lines: Vec::new() })
}

fn parse_lines(text: &str) -> Result<Lists, FileError> {
    let mut nodes = None;
    let mut quorums = BTreeMap::new();
    let mut labelled = None;
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.split_once('#').map_or(content, |(before, _)| before).trim();
        let at_line = |cause| FileError::Line { line, cause };
        if content.is_empty() {
            continue;
        }
        if let Some(number) = content.strip_prefix("nodes").filter(|_| quorums.is_empty()) {
            let number = number.trim_start_matches([':', ' ', '\t']);
            let number =
                number.parse().map_err(|_| at_line(LineError::NoNumber(number.to_owned())));
            nodes = Some(number?);
            continue;
        }
        let (label, members) = parse_line(content).map_err(at_line)?;
        if *labelled.get_or_insert(label.is_some()) != label.is_some() {
            return Err(at_line(LineError::Mixed));
        }
        let node = label.unwrap_or(NodeId::new(quorums.len()));
        if let Some((first, _)) = quorums.insert(node, (line, members)) {
            return Err(at_line(LineError::Twice { node, first }));
        }
    }
    for (expected, (&node, &(line, _))) in NodeId::all(quorums.len()).zip(&quorums) {
        if node != expected {
            let cause = LineError::Missing { node, missing: expected };
            return Err(FileError::Line { line, cause });
        }
    }
    let (lines, quorums) = quorums.into_values().unzip();
    let assigned = match labelled {
        Some(true) => Assigned::Yes,
        _ if nodes.is_some() => Assigned::No,
        _ => Assigned::Perhaps,
    };
    Ok(Lists { nodes, quorums, assigned, lines })
}

/// The node in front of the colon, if there is one, and the members.
fn parse_line(content: &str) -> Result<(Option<NodeId>, Vec<NodeId>), LineError> {
    let (label, members) = match content.split_once(':') {
        Some((label, members)) => (Some(parse_node(label.trim())?), members),
        None => (None, content),
    };
    let words = members.split(|c: char| c.is_whitespace() || c == ',');
    let members =
        words.filter(|word| !word.is_empty()).map(parse_node).collect::<Result<_, _>>()?;
    Ok((label, members))
}

/// `3`, or `P3` as Skeptron itself writes it.
fn parse_node(word: &str) -> Result<NodeId, LineError> {
    let number: Option<u32> = word.strip_prefix('P').unwrap_or(word).parse().ok();
    let index = number.and_then(|number| number.checked_sub(1));
    let index = index.ok_or_else(|| LineError::NoNode(word.to_owned()))?;
    Ok(NodeId::new(index as usize))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Construction, quorums};

    /// Sets with members counted from 1.
    fn listed(sets: &[Vec<NodeId>]) -> Vec<Vec<usize>> {
        sets.iter().map(|set| set.iter().map(|node| node.index() + 1).collect()).collect()
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in r"[\[{]?[0-9P:,# \n\r\]\[x-]{0,60}") {
            if let Ok(family) = parse_file(&text, None) {
                prop_assert_eq!(parse_file(&written(&family), None).unwrap(), family);
            }
        }
    }

    fn written(family: &Family) -> String {
        let line =
            |set: &Vec<usize>| set.iter().map(|n| format!("{n} ")).collect::<String>() + "\n";
        listed(family.sets()).iter().map(line).collect()
    }

    #[test]
    fn what_is_built_can_be_written_and_read() {
        for (construction, nodes) in [(Construction::Grid, 11), (Construction::Maekawa13, 13)] {
            let quorums = quorums(&construction, nodes).unwrap();
            let json = serde_json::to_string(&quorums).unwrap();
            let family = parse_file(&json, None).unwrap();
            assert_eq!(parse_file(&written(&family), None).as_ref(), Ok(&family));
            assert_eq!(family.system("file").unwrap().assignment(), &quorums);
        }
    }

    #[test]
    fn all_forms_say_the_same() {
        for text in [
            "[[1,2],[2,3],[1,3]]",
            "\n [[2, 1], [3, 2, 3],\n [3, 1]]\n",
            "1 2\n2 3\n1 3\n",
            "1: 1 2\n2: 2 3\n3: 1 3",
            "# a triangle\n\n3 : 3,1 # the last first\r\n1:1, 2\r\n2:\t2 , 3,\r\n",
            "P1: P1 P2\nP2: P2 P3\nP3: P1 P3",
            "nodes 3\n1 2\n2 3\n1 3",
            "{\"kind\": \"majority\", \"nodes\": 3, \"quorums\": [[1,2],[2,3],[1,3]]}",
            "{\"quorums\": [[1,2],[2,3],[1,3]], \"assignment\": [[1,2],[2,3],[1,3]]}",
            "{\"quorums\": null, \"assignment\": [[1,2],[2,3],[1,3]]}",
        ] {
            let family = parse_file(text, None).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(listed(family.assignment()), [[1, 2], [2, 3], [1, 3]], "{text}");
            assert_eq!(listed(family.sets()), [[1, 2], [2, 3], [1, 3]], "{text}");
        }
    }

    #[test]
    fn any_number_of_quorums() {
        let star = [[1, 2], [1, 2], [1, 3], [1, 3]];
        for (text, nodes) in [
            ("1 2\n1 3", Some(4)),
            ("[[1,2],[1,3]]", Some(4)),
            ("nodes: 4\n1 2\n1 3", None),
            ("{\"nodes\": 4, \"quorums\": [[1,2],[1,3]]}", None),
        ] {
            let family = parse_file(text, nodes).unwrap();
            assert_eq!(listed(family.sets()), [[1, 2], [1, 3]], "{text}");
            assert_eq!(
                listed(family.assignment()),
                star,
                "{text}: one it is in, if any; they take turns"
            );
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let empty = "there are no quorums in it; write one line of members for each node";
        let json = "JSON has to be a list of lists of nodes, like [[1,2],[2,3],[1,3]], or an object \
                    with such a list as `quorums`: ";
        for (text, message) in [
            ("", empty),
            ("# nothing\n \n", empty),
            ("[]", empty),
            ("nodes 3", empty),
            ("{\"quorums\": []}", empty),
            ("1 2\n1 x\n", "line 2: `x` is no node; nodes are numbers from 1"),
            ("\n0 1", "line 2: `0` is no node; nodes are numbers from 1"),
            ("x: 1", "line 1: `x` is no node; nodes are numbers from 1"),
            (": 1", "line 1: `` is no node; nodes are numbers from 1"),
            ("1: 2: 3", "line 1: `2:` is no node; nodes are numbers from 1"),
            ("-1", "line 1: `-1` is no node; nodes are numbers from 1"),
            ("4294967296", "line 1: `4294967296` is no node; nodes are numbers from 1"),
            ("nodes x", "line 1: `x` is no number of nodes; write for example `nodes 7`"),
            ("nodes 0\n1", "a quorum system has 1 to 10000 nodes, not 0"),
            ("nodes 2\n1: 1", "there are 1 quorums for 2 nodes; every node needs one"),
            ("nodes 2\n1\n1 3", "line 3: quorum 2 names P3, but there are only 2 nodes"),
            (
                "1: 1\n1",
                "line 2: either all lines start with `node:` or none; this one differs from the \
                 first",
            ),
            ("1: 1\n\n1: 1", "line 3: P1 has its quorum in line 1 already; leave one of the two"),
            (
                "1: 1\n3: 1",
                "line 2: P3 has a quorum, but P2 has none; write one for every node from 1 on",
            ),
            (
                "4294967295: 1",
                "line 1: P4294967295 has a quorum, but P1 has none; write one for every node from \
                 1 on",
            ),
            (
                "2: 1\n1:",
                "line 2: the quorum of P1 is empty; every node needs at least one arbiter",
            ),
            ("1\n,", "line 2: the quorum of P2 is empty; every node needs at least one arbiter"),
            ("1\n1 5", "line 2: the quorum of P2 names P5, but there are only 2 nodes"),
            ("[[1],[]]", "the quorum of P2 is empty; every node needs at least one arbiter"),
            ("[[1,3],[1]]", "the quorum of P1 names P3, but there are only 2 nodes"),
            (
                "[[1],\n[0]]",
                &format!("{json}0 is no node; nodes are counted from 1 at line 2 column 3"),
            ),
            ("[[1],", &format!("{json}EOF while parsing a value at line 1 column 5")),
            ("[[1]] 2", &format!("{json}trailing characters at line 1 column 7")),
            (
                "[1]",
                &format!("{json}invalid type: integer `1`, expected a sequence at line 1 column 2"),
            ),
            ("{\"1\": [1]}", &format!("{json}it has no `quorums`")),
            (
                "{\"quorums\": [[1]], \"assignment\": [[1],[2]]}",
                "what P2 asks is none of the quorums; add it to the list, or leave out `assignment`",
            ),
        ] {
            assert_eq!(parse_file(text, None).unwrap_err().to_string(), message, "{text:?}");
        }
    }

    #[test]
    fn sets_that_do_not_meet_are_named() {
        for (text, message) in [
            (
                "# two\n1\n2",
                "the quorum of P1 {1} and the quorum of P2 {2} do not intersect; both could enter at the same time",
            ),
            (
                "nodes 4\n1 2\n2 3\n3 4",
                "quorum 1 {1, 2} and quorum 3 {3, 4} do not intersect; both could enter at the same time",
            ),
        ] {
            let family = parse_file(text, None).unwrap();
            assert_eq!(family.system("file").unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn what_would_fill_the_memory_is_refused() {
        let everybody: Vec<String> = (1..=10_000).map(|node| node.to_string()).collect();
        let text = format!("nodes 10000\n{}", everybody.join(" "));
        let error = parse_file(&text, None).unwrap_err().to_string();
        assert_eq!(
            error,
            "the nodes would ask 100000000 others together; at most 20000000 are possible"
        );
    }
}

//! Quorums from a file, as JSON or as lines of text.

use std::collections::BTreeMap;

use skeptron_core::NodeId;
use skeptron_core::topology::{Quorums, QuorumsError};
use thiserror::Error;

/// Why a file holds no quorums.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FileError {
    /// Nothing but blanks and comments, or an empty list.
    #[error("there are no quorums in it; write one line of members for each node")]
    Empty,
    /// It starts like JSON but is not the JSON expected. The text says in which line.
    #[error("JSON has to be a list of lists of nodes, like [[1,2],[2,3],[1,3]]: {0}")]
    Json(String),
    /// The lists of a JSON file are no quorum system.
    #[error(transparent)]
    Invalid(#[from] QuorumsError),
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
    /// The line makes the whole no quorum system.
    #[error(transparent)]
    Invalid(#[from] QuorumsError),
}

/// Reads quorums, nodes counted from 1, from either of two forms:
///
/// - JSON: a list with one list of members for each node, `[[1,2],[2,3],[1,3]]`;
/// - text: one line for each node, `node: members` in any order or just the members in the order of
///   the nodes, separated by blanks or commas. A `#` starts a comment.
///
/// # Errors
/// The first thing that is wrong, with its line.
pub fn parse_file(text: &str) -> Result<Quorums, FileError> {
    if text.trim_start().starts_with(['[', '{']) { parse_json(text) } else { parse_lines(text) }
}

fn parse_json(text: &str) -> Result<Quorums, FileError> {
    let sets: Vec<Vec<NodeId>> =
        serde_json::from_str(text).map_err(|error| FileError::Json(error.to_string()))?;
    if sets.is_empty() { Err(FileError::Empty) } else { Ok(Quorums::new(sets)?) }
}

fn parse_lines(text: &str) -> Result<Quorums, FileError> {
    let mut quorums = BTreeMap::new();
    let mut labelled = None;
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.split_once('#').map_or(content, |(before, _)| before).trim();
        if content.is_empty() {
            continue;
        }
        let at_line = |cause| FileError::Line { line, cause };
        let (label, members) = parse_line(content).map_err(at_line)?;
        if *labelled.get_or_insert(label.is_some()) != label.is_some() {
            return Err(at_line(LineError::Mixed));
        }
        let node = label.unwrap_or(NodeId::new(quorums.len()));
        if let Some((first, _)) = quorums.insert(node, (line, members)) {
            return Err(at_line(LineError::Twice { node, first }));
        }
    }
    if quorums.is_empty() {
        return Err(FileError::Empty);
    }
    let nodes = quorums.len();
    let (mut lines, mut sets) = (Vec::with_capacity(nodes), Vec::with_capacity(nodes));
    for (expected, (node, (line, members))) in NodeId::all(nodes).zip(quorums) {
        if node != expected {
            let cause = LineError::Missing { node, missing: expected };
            return Err(FileError::Line { line, cause });
        }
        lines.push(line);
        sets.push(members);
    }
    Quorums::new(sets).map_err(|cause| {
        let (QuorumsError::Empty(of)
        | QuorumsError::UnknownNode { of, .. }
        | QuorumsError::Disjoint(_, of)) = cause;
        FileError::Line { line: lines[of.index()], cause: cause.into() }
    })
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
    use crate::tests::listed;
    use crate::{Construction, quorums};

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in r"[\[{]?[0-9P:,# \n\r\]\[x-]{0,60}") {
            if let Ok(quorums) = parse_file(&text) {
                prop_assert_eq!(parse_file(&written(&quorums)).unwrap(), quorums);
            }
        }
    }

    fn written(quorums: &Quorums) -> String {
        let line =
            |set: &Vec<usize>| set.iter().map(|n| format!("{n} ")).collect::<String>() + "\n";
        listed(quorums).iter().map(line).collect()
    }

    #[test]
    fn what_is_built_can_be_written_and_read() {
        for (construction, nodes) in [(Construction::Grid, 11), (Construction::Maekawa13, 13)] {
            let quorums = quorums(&construction, nodes).unwrap();
            assert_eq!(parse_file(&written(&quorums)).as_ref(), Ok(&quorums));
            assert_eq!(parse_file(&serde_json::to_string(&quorums).unwrap()), Ok(quorums));
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
        ] {
            let quorums = parse_file(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(listed(&quorums), [[1, 2], [2, 3], [1, 3]], "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let empty = "there are no quorums in it; write one line of members for each node";
        let json = "JSON has to be a list of lists of nodes, like [[1,2],[2,3],[1,3]]: ";
        for (text, message) in [
            ("", empty),
            ("# nothing\n \n", empty),
            ("[]", empty),
            ("1 2\n1 x\n", "line 2: `x` is no node; nodes are numbers from 1"),
            ("\n0 1", "line 2: `0` is no node; nodes are numbers from 1"),
            ("x: 1", "line 1: `x` is no node; nodes are numbers from 1"),
            (": 1", "line 1: `` is no node; nodes are numbers from 1"),
            ("1: 2: 3", "line 1: `2:` is no node; nodes are numbers from 1"),
            ("-1", "line 1: `-1` is no node; nodes are numbers from 1"),
            ("4294967296", "line 1: `4294967296` is no node; nodes are numbers from 1"),
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
            (
                "# two\n1\n2",
                "line 3: the quorums of P1 and P2 do not intersect; both could enter at the same \
                 time",
            ),
            (
                "[[1],[2]]",
                "the quorums of P1 and P2 do not intersect; both could enter at the same time",
            ),
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
            (
                "{\"1\": [1]}",
                &format!("{json}invalid type: map, expected a sequence at line 1 column 0"),
            ),
        ] {
            assert_eq!(parse_file(text).unwrap_err().to_string(), message, "{text:?}");
        }
    }
}

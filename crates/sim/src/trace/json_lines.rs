//! The project's own form (`docs/trace-format.md`): the header, then one object per record.

use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use skeptron_core::SetupError;
use skeptron_core::catalogue::Algorithm;
use thiserror::Error;

use super::clocks::{ClockKind, Clocks};
use super::{Flights, Header, Inconsistent, Record, Trace, VERSION, What, unknown_algorithm};

/// Why a trace cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file cannot be read at all.
    #[error("cannot read the trace")]
    Io(#[from] io::Error),
    /// A line is wrong.
    #[error("line {line}: {cause}")]
    Line {
        /// Which line, counted from 1.
        line: usize,
        /// What is wrong with it.
        cause: Cause,
    },
}

/// What is wrong with a line of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Cause {
    /// The first line is not a header.
    #[error("the header is missing: the first line has no field `skeptron`")]
    NoHeader,
    /// Another version of the format.
    #[error("version {0} of the format; this is written for version {VERSION}")]
    OtherVersion(Value),
    /// The line is not JSON.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// A field that nobody reads: a misspelled or a newer one.
    #[error("unknown field `{0}`")]
    UnknownField(String),
    /// JSON, but not what belongs here.
    #[error("{0}")]
    Malformed(String),
    /// No such algorithm.
    #[error("{}", unknown_algorithm(.0))]
    UnknownAlgorithm(String),
    /// The system cannot be built.
    #[error("{0}")]
    Setup(#[from] SetupError),
    /// A unit of no ticks.
    #[error("a unit of time has no ticks")]
    NoTicks,
    /// The record does not fit those before it.
    #[error("{0}")]
    Inconsistent(#[from] Inconsistent),
    /// A clock that the rule of the lectures does not give.
    #[error("`{field}` is {found}; by the records before, it is {expected}")]
    Clock {
        /// Which clock.
        field: &'static str,
        /// What the line says.
        found: String,
        /// What it should say.
        expected: String,
    },
    /// Clocks in a file of too many nodes: they take the square of that in memory.
    #[error("clocks of {0} nodes cannot be judged, {MOST_CLOCKS} at most")]
    TooManyClocks(usize),
    /// A clock at what is no event of a node.
    #[error("`{0}` is for events of a node, and this is none")]
    NoEvent(&'static str),
}

/// A file with clocks has no more nodes than this.
const MOST_CLOCKS: usize = 4096;

/// A record with the clocks of its node after it.
#[derive(Serialize)]
struct Stamped<'a> {
    #[serde(flatten)]
    record: &'a Record,
    #[serde(flatten)]
    clocks: Stamps,
}

/// The clocks that stand beside a record.
#[derive(Default, Serialize, Deserialize)]
struct Stamps {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lamport: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    vector: Option<Vec<u64>>,
}

pub(super) fn write(
    trace: &Trace,
    shown: Option<ClockKind>,
    out: &mut dyn Write,
) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &trace.header)?;
    writeln!(out)?;
    let mut clocks = shown.map(|kind| (kind, Clocks::new(&trace.header.setup)));
    for record in &trace.records {
        match &mut clocks {
            None => serde_json::to_writer(&mut *out, record)?,
            Some((kind, clocks)) => {
                let stamp = clocks.take(record);
                let lamport = stamp.filter(|_| kind.has_lamport()).map(|stamp| stamp.lamport);
                let vector = stamp.filter(|_| kind.has_vector());
                let vector = vector.map(|stamp| stamp.vector.counts().to_vec());
                let stamped = Stamped { record, clocks: Stamps { lamport, vector } };
                serde_json::to_writer(&mut *out, &stamped)?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

pub(super) fn read(mut input: impl BufRead) -> Result<Trace, ReadError> {
    let mut line = Vec::new();
    input.read_until(b'\n', &mut line)?;
    let header = header(&line).map_err(|cause| ReadError::Line { line: 1, cause })?;
    let mut flights = Flights::new(header.setup.nodes());
    let mut records = Vec::new();
    let mut stamps = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            let trace = Trace { header, records };
            judge(&trace, &stamps)?;
            return Ok(trace);
        }
        let at = |cause| ReadError::Line { line: records.len() + 2, cause };
        let (record, stamp) = record(&line, &mut flights).map_err(at)?;
        stamps.extend(stamp.map(|stamp| (records.len(), stamp)));
        records.push(record);
    }
}

/// Clocks follow from the records: where the file has some, they must be those.
fn judge(trace: &Trace, stamps: &[(usize, Stamps)]) -> Result<(), ReadError> {
    let Some((first, _)) = stamps.first() else { return Ok(()) };
    let nodes = trace.header.setup.nodes();
    if nodes > MOST_CLOCKS {
        return Err(ReadError::Line { line: first + 2, cause: Cause::TooManyClocks(nodes) });
    }
    let mut stamps = stamps.iter().peekable();
    let mut clocks = Clocks::new(&trace.header.setup);
    for (index, record) in trace.records.iter().enumerate() {
        let Some((next, told)) = stamps.peek() else { break };
        let stamp = clocks.take(record);
        if index < *next {
            continue;
        }
        let at = |cause| ReadError::Line { line: index + 2, cause };
        if let Some(found) = told.lamport {
            let stamp = stamp.ok_or(Cause::NoEvent("lamport")).map_err(at)?;
            is_same("lamport", &found, &stamp.lamport).map_err(at)?;
        }
        if let Some(found) = &told.vector {
            let stamp = stamp.ok_or(Cause::NoEvent("vector")).map_err(at)?;
            is_same("vector", &found.as_slice(), &stamp.vector.counts()).map_err(at)?;
        }
        stamps.next();
    }
    Ok(())
}

fn is_same<T: PartialEq + std::fmt::Debug>(
    field: &'static str,
    found: &T,
    expected: &T,
) -> Result<(), Cause> {
    if found == expected {
        return Ok(());
    }
    let (found, expected) = (format!("{found:?}"), format!("{expected:?}"));
    Err(Cause::Clock { field, found, expected })
}

fn header(line: &[u8]) -> Result<Header, Cause> {
    if line.trim_ascii().is_empty() {
        return Err(Cause::NoHeader);
    }
    let value = json(line)?;
    // The version comes first: another one may have other fields.
    match value.get("skeptron") {
        None => return Err(Cause::NoHeader),
        Some(version) if *version != VERSION => return Err(Cause::OtherVersion(version.clone())),
        Some(_) => {}
    }
    let mut header = Header::deserialize(&value).map_err(|error| malformed(&error, &value))?;
    if Algorithm::find(&header.algorithm).is_none() {
        return Err(Cause::UnknownAlgorithm(header.algorithm));
    }
    if header.ticks_per_unit == 0 {
        return Err(Cause::NoTicks);
    }
    header.setup = header.setup.validated()?;
    Ok(header)
}

fn record(line: &[u8], flights: &mut Flights<()>) -> Result<(Record, Option<Stamps>), Cause> {
    let mut value = json(line)?;
    let stamps = stamps(&mut value)?;
    let record = Record::deserialize(&value).map_err(|error| malformed(&error, &value))?;
    // Serde ignores what stands beside the tag of a variant without fields.
    if let What::Request
    | What::Release
    | What::Crash
    | What::Restart
    | What::Pause
    | What::Resume
    | What::Call = record.what
    {
        let mut fields = value.as_object().into_iter().flat_map(|fields| fields.keys());
        if let Some(field) = fields.find(|field| !["t", "node", "do"].contains(&field.as_str())) {
            return Err(Cause::UnknownField(field.clone()));
        }
    }
    flights.take(&record)?;
    Ok((record, stamps))
}

/// Takes the clocks away that stand beside a record.
fn stamps(value: &mut Value) -> Result<Option<Stamps>, Cause> {
    let Value::Object(fields) = value else { return Ok(None) };
    let (lamport, vector) = (fields.remove("lamport"), fields.remove("vector"));
    if lamport.is_none() && vector.is_none() {
        return Ok(None);
    }
    let told = serde_json::json!({ "lamport": lamport, "vector": vector });
    Stamps::deserialize(&told).map(Some).map_err(|error| malformed(&error, &told))
}

fn json(line: &[u8]) -> Result<Value, Cause> {
    // Each line is a text of its own, so the parser's line number would mislead.
    let place = |error: &serde_json::Error| format!(" at line {} column ", error.line());
    serde_json::from_slice(line)
        .map_err(|error| Cause::NotJson(error.to_string().replace(&place(&error), " at column ")))
}

/// Tells an unknown field from everything else that serde complains about.
fn malformed(error: &serde_json::Error, value: &Value) -> Cause {
    let text = error.to_string();
    let named = text.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`'));
    match named {
        Some((field, _)) => Cause::UnknownField(field.into()),
        None if value.is_object() => Cause::Malformed(text),
        None => Cause::Malformed("a line is an object".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::sample::Scene;

    fn text(trace: &Trace) -> String {
        let mut out = Vec::new();
        write(trace, None, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_is_written_is_read_again() {
        for trace in [Scene::new(1).play(), Scene::new(3).play(), Scene::faulty().play()] {
            assert_eq!(read(text(&trace).as_bytes()).unwrap(), trace);
        }
    }

    #[test]
    fn clocks_are_written_and_judged() {
        let trace = Scene::faulty().play();
        for kind in [ClockKind::Lamport, ClockKind::Vector, ClockKind::Both] {
            let mut out = Vec::new();
            write(&trace, Some(kind), &mut out).unwrap();
            assert_eq!(read(&out[..]).unwrap(), trace);
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text.contains("\"lamport\":7"), kind.has_lamport());
            assert_eq!(text.contains("\"vector\":["), kind.has_vector());
        }
        let with =
            |clock: &str| damaged(3, &format!(r#"{{"t":0,"node":1,"do":"request",{clock}}}"#));
        let none = r#"{"t":0,"node":1,"do":"lose","id":1,"cause":"chance","lamport":3}"#;
        let causes = [
            with(r#""lamport":3"#),
            with(r#""vector":[1,0]"#),
            with(r#""lamport":"x""#),
            with(r#""vector":1"#),
            damaged(4, none),
        ];
        insta::assert_snapshot!(causes.join("\n"), @r#"
        line 3: `lamport` is 3; by the records before, it is 2
        line 3: `vector` is [1, 0]; by the records before, it is [2, 0]
        line 3: invalid type: string "x", expected u64
        line 3: invalid type: integer `1`, expected a sequence
        line 4: `lamport` is for events of a node, and this is none
        "#);
    }

    /// The example of the format's description is what it says it is.
    #[test]
    fn the_example_in_the_docs_is_a_trace() {
        let page = include_str!("../../../../docs/trace-format.md");
        let example = page.split("```jsonl\n").nth(1).unwrap().split("```").next().unwrap();
        let trace = read(example.as_bytes()).unwrap();
        assert_eq!(text(&trace), example, "and written as it is written");
        let stamped = page.split("```jsonl\n").nth(2).unwrap().split("```").next().unwrap();
        let mut out = Vec::new();
        write(&trace, Some(ClockKind::Both), &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert!(out.ends_with(stamped), "with clocks:\n{out}");
        let kinds = page.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
        for line in kinds.lines() {
            let record: Record = serde_json::from_str(line).unwrap();
            assert_eq!(serde_json::to_string(&record).unwrap(), line);
        }
    }

    /// Reads a good trace with one line replaced: each error says where and what.
    fn damaged(line: usize, with: &str) -> String {
        let mut trace = Scene::new(2).play();
        trace.records.truncate(3);
        let good = text(&trace);
        let mut lines: Vec<_> = good.lines().collect();
        lines.truncate(line - 1);
        lines.push(with);
        let file = lines.join("\n");
        read(file.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_damaged_header_is_named() {
        let header = r#"{"skeptron":1,"algorithm":"NAME","setup":{"nodes":N,"coordinator":1,"arbitration":"nearest"},"order":"any","ticks_per_unit":1000}"#;
        let with = |name: &str, n: &str| header.replace("NAME", name).replace('N', n);
        let causes = [
            damaged(1, ""),
            damaged(1, "{}"),
            damaged(1, "[1]"),
            damaged(1, "SIMULATION OF"),
            damaged(1, r#"{"skeptron":2,"new":"field"}"#),
            damaged(1, &with("nobody", "3")),
            damaged(1, &with("ricart-agrawala", "0")),
            damaged(1, &header.replace("NAME", "ricart-agrawala").replace("\"nodes\":N,", "")),
            damaged(1, &with("ricart-agrawala", "3").replace("1000", "0")),
            damaged(1, &with("ricart-agrawala", "3").replace("}", r#","seed":7}"#)),
        ];
        insta::assert_snapshot!(causes.join("\n"), @"
        line 1: the header is missing: the first line has no field `skeptron`
        line 1: the header is missing: the first line has no field `skeptron`
        line 1: the header is missing: the first line has no field `skeptron`
        line 1: not JSON: expected value at column 1
        line 1: version 2 of the format; this is written for version 1
        line 1: there is no algorithm named `nobody`
        line 1: a system needs at least one node
        line 1: missing field `nodes`
        line 1: a unit of time has no ticks
        line 1: unknown field `seed`
        ");
    }

    #[test]
    fn a_damaged_record_is_named() {
        let causes = [
            damaged(2, "\n"),
            damaged(2, r#"{"t":0,"node":1,"do":"#),
            damaged(2, "7"),
            damaged(3, r#"{"t":0,"node":1}"#),
            damaged(3, r#"{"t":0,"node":1,"do":"dance"}"#),
            damaged(3, r#"{"t":0,"node":0,"do":"request"}"#),
            damaged(3, r#"{"t":0,"node":1,"do":"request","id":4}"#),
            damaged(3, r#"{"t":0,"node":1,"do":"enter","fence":4,"fences":5}"#),
            damaged(3, r#"{"t":0,"node":1,"do":"enter"}"#),
            damaged(3, r#"{"t":-1,"node":1,"do":"request"}"#),
            damaged(3, r#"{"t":0,"node":1,"do":"call","id":4}"#),
            damaged(3, r#"{"t":0,"node":1,"do":"suspect","whom":3}"#),
            damaged(3, r#"{"t":0,"node":1,"do":"trust","whom":1}"#),
            damaged(3, r#"{"t":0,"node":1,"do":"expire"}"#),
            damaged(3, r#"{"t":0,"node":1,"do":"elect","leader":2,"epoch":{"round":1,"by":9}}"#),
            damaged(4, r#"{"t":0,"node":3,"do":"request"}"#),
            damaged(4, r#"{"t":0,"node":1,"do":"deliver","id":9}"#),
            damaged(4, r#"{"t":0,"node":1,"do":"duplicate","id":9,"of":8}"#),
            damaged(4, r#"{"t":5,"node":1,"do":"deliver","id":1}"#),
            damaged(4, r#"{"t":5,"node":2,"do":"lose","id":1,"cause":"chance"}"#),
            damaged(4, r#"{"t":5,"node":2,"do":"send","id":1,"to":1,"label":"X","message":0}"#),
            damaged(4, r#"{"t":5,"node":2,"do":"send","id":2,"to":2,"label":"X","message":0}"#),
            damaged(4, r#"{"t":5,"node":2,"do":"send","id":2,"to":3,"label":"X","message":0}"#),
            damaged(
                4,
                "{\"t\":9,\"node\":1,\"do\":\"crash\"}\n{\"t\":8,\"node\":1,\"do\":\"restart\"}",
            ),
            damaged(
                4,
                "{\"t\":9,\"node\":2,\"do\":\"deliver\",\"id\":1}\n{\"t\":9,\"node\":2,\"do\":\"deliver\",\"id\":1}",
            ),
            damaged(4, "\n"),
        ];
        insta::assert_snapshot!(causes.join("\n"), @"
        line 2: not JSON: EOF while parsing a value at column 0
        line 2: not JSON: EOF while parsing a value at column 21
        line 2: a line is an object
        line 3: missing field `do`
        line 3: unknown variant `dance`, expected one of `request`, `release`, `deliver`, `crash`, `restart`, `pause`, `resume`, `lose`, `duplicate`, `call`, `suspect`, `trust`, `draw`, `expire`, `send`, `enter`, `arm`, `disarm`, `elect`, `refuse`, `violation`
        line 3: 0 is no node; nodes are counted from 1
        line 3: unknown field `id`
        line 3: unknown field `fences`
        line 3: missing field `fence`
        line 3: invalid value: integer `-1`, expected u64
        line 3: unknown field `id`
        line 3: P3 is not one of the 2 nodes
        line 3: P1 is told whether it is alive itself
        line 3: missing field `timer`
        line 3: P9 is not one of the 2 nodes
        line 4: P3 is not one of the 2 nodes
        line 4: message 9 was not sent before
        line 4: message 8 was not sent before
        line 4: message 1 concerns P2 here, not P1
        line 4: message 1 concerns P1 here, not P2
        line 4: there is a message 1 already
        line 4: P2 sends a message to itself
        line 4: P3 is not one of the 2 nodes
        line 5: time runs back from 9 to 8
        line 5: message 1 was delivered or lost before
        line 4: not JSON: EOF while parsing a value at column 0
        ");
    }

    #[test]
    fn bytes_that_are_no_text_are_no_json() {
        let error = read(&b"\xff\xfe\n"[..]).unwrap_err();
        assert!(matches!(error, ReadError::Line { line: 1, cause: Cause::NotJson(_) }));
    }
}

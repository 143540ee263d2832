//! What the page has from its server: the types of what goes between them, and the look of messages. The
//! tests write `ui/wire.d.ts` and `ui/lib/kinds.js`.

use std::path::PathBuf;

use skeptron::ask::compare::{
    Claimed, CompareCurve, CompareRow, CurvePoint, Estimate, NotCompared,
};
use skeptron::ask::{
    CheckRequest, CompareRequest, OptimiseRequest, QuorumRequest, SimOptions, StructureRequest,
    quorum, structure,
};
use skeptron::lab::wire::*;
use skeptron_core::election::{self, Election};
use skeptron_core::mutex::{self, Mutex, shared};
use skeptron_core::{Message as _, catalogue};
use skeptron_markup::kinds::{KINDS, Look, Role};
use skeptron_quorum_analysis::{best, capacity, failure, report, sizes, strategy};
use ts_rs::{Config, TS};

/// Set to write the files anew.
const WRITE: &str = "SKEPTRON_WRITE_TYPES";

/// The declarations of these types, each with what is said of it.
macro_rules! declarations {
    ($($type:ty),* $(,)?) => {{
        let config = Config::new().with_large_int("number");
        let mut text = String::from("// Written from the types of the server; see lab/wire.\n");
        $(
            let docs = <$type as TS>::docs().unwrap_or_default();
            text += &format!("\n{docs}export {}\n", <$type as TS>::decl(&config));
        )*
        with_short_comments(&text)
    }};
}

/// What a comment of one line says is on the line of the comment.
fn with_short_comments(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().map(str::trim_end) {
        match &lines[..] {
            [.., open, said] if open == "/**" && line == " */" && said.starts_with(" * ") => {
                let said = format!("/**{}{line}", &said[" *".len()..]);
                lines.truncate(lines.len() - 2);
                lines.push(said);
            }
            _ => lines.push(line.into()),
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn the_page_has_the_same_types() {
    let written = declarations![
        About,
        AlgorithmInfo,
        BrokenInfo,
        ClaimInfo,
        Fact,
        GalleryItem,
        Limits,
        Note,
        VariableInfo,
        Act,
        Acts,
        AlgorithmKind,
        ClockChunk,
        ClockStamp,
        Cut,
        Deed,
        Figure,
        RunVerdict,
        Mistake,
        NodeState,
        Partition,
        Phase,
        RecordBatch,
        RecordKind,
        RunEnd,
        RunHeader,
        RunMade,
        RunPage,
        RunReason,
        RunRecord,
        RunRequest,
        SimOptions,
        StateChange,
        StateChunk,
        Topology,
        Variable,
        AssumptionCell,
        AssumptionDiagram,
        AssumptionLine,
        AssumptionTable,
        AssumptionsReport,
        AssumptionsResult,
        CheckProgress,
        CheckRequest,
        CheckResult,
        CheckedProperty,
        Claimed,
        CompareCurve,
        CompareDiagram,
        CompareReport<String>,
        CompareRequest,
        CompareResult<String>,
        CompareRow<String>,
        CurvePoint,
        Estimate,
        NotCompared,
        OptimiseRequest,
        Progress,
        QuorumRequest,
        QuorumResult,
        StructureRequest,
        StructureResult,
        SweepColumn,
        SweepReport,
        best::Candidate,
        quorum::Compared,
        report::Verdicts,
        failure::Failure,
        best::Goal,
        capacity::Performance,
        best::Recommendation,
        report::Report,
        strategy::Share,
        sizes::Sizes,
        structure::Delay,
        structure::Delays,
        structure::Load,
        structure::Messages,
        structure::Optimal,
        structure::Report,
        structure::Violation,
        ClusterAct,
        ClusterActKind,
        ClusterChange,
        ClusterEvent,
        ClusterLink,
        ClusterLock,
        ClusterLocks,
        ClusterNode,
        ClusterStatus,
        ClusterTry,
        ClusterView,
        Lagged,
        LockChange,
        LockEvent,
        LockHolder,
        LockQueue,
        MemberState,
        MessageEvent,
        MessageTally,
        OwnStatus,
        TryAcquire,
        TryRelease,
        Failure,
    ];
    is_written("ui/wire.d.ts", &written);
}

/// Whether that file of the page is what the server says.
fn is_written(file: &str, written: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, written).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == written,
        "{file} is not what the server says; write it anew with\n  \
         {WRITE}=1 cargo test -p skeptron --test all types::"
    );
}

/// `ui/lib/kinds.js` is what this test writes.
#[test]
fn the_page_has_the_same_colours() {
    let mut text = String::from(
        "// Written from the table of kinds of messages; see markup/src/kinds.rs.\n\n\
         /** What each kind of message is for. @type {Readonly<Record<string, string>>} */\n\
         export const ROLES = {\n",
    );
    for (kind, role) in KINDS {
        text += &format!("  {kind}: \"{}\",\n", role.look().name);
    }
    text += "};\n\n/** The colour of each role on light and on dark ground. @type {Readonly<Record<string, \
             { light: string, dark: string }>>} */\nexport const COLOURS = {\n";
    for role in Role::ALL {
        let Look { name, light, dark, .. } = role.look();
        text += &format!("  {name}: {{ light: \"{light}\", dark: \"{dark}\" }},\n");
    }
    text += "};\n";
    is_written("ui/lib/kinds.js", &text);
}

#[test]
fn every_kind_of_message_has_a_role() {
    struct Kinds;
    impl mutex::Visitor for Kinds {
        type Output = &'static [&'static str];
        fn visit<P: Mutex>(self) -> Self::Output {
            shared::SharedMsg::<P::Message>::KINDS
        }
    }
    impl election::Visitor for Kinds {
        type Output = &'static [&'static str];
        fn visit<P: Election>(self) -> Self::Output {
            P::Message::KINDS
        }
    }
    let mutexes = catalogue::all().map(|info| mutex::dispatch(info, Kinds));
    let elections = catalogue::elections().map(|info| election::dispatch(info, Kinds));
    for kind in mutexes.chain(elections).flatten() {
        assert_ne!(Role::of(kind), Role::Other, "{kind}");
    }
}

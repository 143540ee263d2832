//! The types that go between the page and its server, for the page: `ui/wire.d.ts` is what this test
//! writes.

use std::path::PathBuf;

use skeptron::lab::wire::*;
use ts_rs::{Config, TS};

/// Set to write the file anew.
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
        text.lines().map(|line| format!("{}\n", line.trim_end())).collect::<String>()
    }};
}

#[test]
fn the_page_has_the_same_types() {
    let written = declarations![
        About,
        AlgorithmInfo,
        BrokenInfo,
        ClaimInfo,
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
        Lamp,
        NodeState,
        RecordBatch,
        RecordKind,
        RunEnd,
        RunHeader,
        RunMade,
        RunReason,
        RunRecord,
        RunRequest,
        SimOptions,
        StateChange,
        StateChunk,
        Topology,
        Variable,
        AssumptionCell,
        AssumptionLine,
        AssumptionTable,
        AssumptionsRequest,
        AssumptionsResult,
        CheckProgress,
        CheckRequest,
        CheckResult,
        CheckedProperty,
        ClaimedValues,
        CompareCurve,
        CompareRequest,
        CompareResult,
        CompareRow,
        CurvePoint,
        Measured,
        OptimiseRequest,
        Progress,
        QuorumRequest,
        QuorumResult,
        StructureRequest,
        StructureResult,
        QuorumCandidate,
        QuorumConditions,
        QuorumFailure,
        QuorumPerformance,
        QuorumRecommendation,
        QuorumReport,
        QuorumShare,
        QuorumSizes,
        StructureDelay,
        StructureDelays,
        StructureLoad,
        StructureMessages,
        StructureOptimal,
        StructureReport,
        StructureViolation,
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
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("ui/wire.d.ts");
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &written).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == written,
        "ui/wire.d.ts is not what lab::wire says; write it anew with\n  \
         {WRITE}=1 cargo test -p skeptron --test all the_page_has_the_same_types"
    );
}

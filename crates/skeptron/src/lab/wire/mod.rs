//! What goes between the page and its server: each subject is one file. Nodes are counted from 1, times
//! are ticks. `ui/wire.d.ts` is generated from these types and from what can be asked.

mod catalogue;
mod cluster;
mod jobs;
mod run;
mod sweep;

pub use catalogue::{
    About, AlgorithmInfo, BrokenInfo, ClaimInfo, Fact, GalleryItem, Limits, Note, VariableInfo,
};
pub use cluster::{
    ClusterAct, ClusterActKind, ClusterChange, ClusterEvent, ClusterLink, ClusterLock,
    ClusterLocks, ClusterNode, ClusterStatus, ClusterTry, ClusterView, Lagged, LockChange,
    LockEvent, LockHolder, LockQueue, MemberState, MessageEvent, MessageTally, OwnStatus,
    TryAcquire, TryRelease,
};
pub use jobs::{
    AssumptionCell, AssumptionDiagram, AssumptionLine, AssumptionTable, AssumptionsReport,
    AssumptionsResult, CheckProgress, CheckResult, CheckedProperty, CompareDiagram, CompareReport,
    CompareResult, Progress, QuorumResult, StructureResult,
};
pub use run::{
    Act, Acts, AlgorithmKind, ClockChunk, ClockStamp, Cut, Deed, Figure, Mistake, NodeState,
    Partition, Phase, RecordBatch, RecordKind, RunEnd, RunHeader, RunMade, RunPage, RunReason,
    RunRecord, RunRequest, RunVerdict, StateChange, StateChunk, Topology, Variable,
};
pub use sweep::{SweepColumn, SweepReport};

/// Why something cannot be done.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, ts_rs::TS)]
pub struct Failure {
    /// A sentence that names the cause and the remedy.
    pub error: String,
}

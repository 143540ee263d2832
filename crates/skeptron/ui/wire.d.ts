export type About = { 
/**
 * Of Skeptron.
 */
version: string, 
/**
 * Whether it simulates and checks what the page asks for.
 */
runs: boolean, 
/**
 * Whether there is a cluster to look at.
 */
cluster: boolean, 
/**
 * How much the page may ask for.
 */
limits: Limits, };

export type Limits = { 
/**
 * Nodes of a run.
 */
nodes: number, 
/**
 * Records of a run.
 */
records: number, 
/**
 * Seconds of a job.
 */
seconds: number, 
/**
 * Bytes of a search.
 */
check_memory: number, };

export type AlgorithmInfo = { 
/**
 * By which it is called everywhere.
 */
name: string, 
/**
 * Its name in prose.
 */
title: string, 
/**
 * What it is for.
 */
kind: AlgorithmKind, 
/**
 * Where it was published.
 */
paper: string, 
/**
 * What kind of algorithm it is.
 */
family: string, 
/**
 * The weakest channel on which it is correct: `fifo` or `any`.
 */
channel: string, 
/**
 * What it is laid out on: `none`, `coordinator`, `quorums`, `structure`, `tree`, `arbitration`,
 * `ring` or `graph`.
 */
layout: string, 
/**
 * The idea, in a few sentences.
 */
idea: string, 
/**
 * Its rules.
 */
rules: Array<string>, 
/**
 * What it assumes, and what is easily done wrong.
 */
notes: Array<string>, 
/**
 * Its published figures.
 */
claims: Array<ClaimInfo>, 
/**
 * The variables of a node, by the names of the paper.
 */
variables: Array<VariableInfo>, 
/**
 * What is wrong with it, if it is broken on purpose.
 */
broken: BrokenInfo | null, };

export type AlgorithmKind = "mutex" | "election";

export type ClaimInfo = { 
/**
 * Of what.
 */
name: string, 
/**
 * The formula.
 */
text: string, };

export type VariableInfo = { 
/**
 * What the program calls it.
 */
field: string, 
/**
 * What the paper calls it; `token` if it says where the token is.
 */
symbol: string, 
/**
 * What it means.
 */
meaning: string, };

export type BrokenInfo = { 
/**
 * The algorithm that it gets wrong.
 */
of: string, 
/**
 * The rule that it gets wrong.
 */
flaw: string, 
/**
 * Which property it violates.
 */
breaks: string, 
/**
 * Options of `skeptron sim` that show it.
 */
shown_by: string, 
/**
 * Options of `skeptron check` that refute it.
 */
refuted_by: string, };

export type GalleryItem = { 
/**
 * By which it is asked for.
 */
name: string, 
/**
 * Its title.
 */
title: string, 
/**
 * Where it hangs.
 */
group: string, 
/**
 * Which algorithm it shows.
 */
algorithm: string, 
/**
 * What it shows, in a sentence or two.
 */
summary: string, 
/**
 * What to see, step by step.
 */
notes: Array<Note>, };

export type Note = { 
/**
 * Shown once that many records have happened.
 */
at: number, 
/**
 * Two sentences.
 */
text: string, };

export type SimOptions = { 
/**
 * Its name in the catalogue.
 */
algorithm: string, 
/**
 * How many nodes.
 */
nodes?: number, 
/**
 * Who coordinates.
 */
coordinator?: string, 
/**
 * Quorums.
 */
quorum?: string, 
/**
 * Information structure.
 */
structure?: string, 
/**
 * Tree.
 */
tree?: string, 
/**
 * How the holder chooses.
 */
arbitration?: string, 
/**
 * The ring of an election.
 */
ring?: string, 
/**
 * The network of an election.
 */
graph?: string, 
/**
 * Where logical clocks begin, as in `40,0,33`.
 */
clocks?: string, 
/**
 * Who asks.
 */
requesters?: string, 
/**
 * When they ask; `none` for never.
 */
workload?: string, 
/**
 * From an exit to the next request.
 */
think?: string, 
/**
 * How long a node stays inside; `hand` for until it is told to leave.
 */
section?: string, 
/**
 * How many entries.
 */
entries?: number, 
/**
 * How long messages take.
 */
latency?: string, 
/**
 * In which order a channel delivers.
 */
order?: string, 
/**
 * Probability of loss.
 */
loss?: number, 
/**
 * Probability of duplication.
 */
duplicate?: number, 
/**
 * Crashes.
 */
crash?: Array<string>, 
/**
 * Pauses.
 */
pause?: Array<string>, 
/**
 * Cuts of the network.
 */
partition?: Array<string>, 
/**
 * Determines all chance.
 */
seed?: number, 
/**
 * Who calls elections.
 */
initiators?: string, 
/**
 * What the nodes are told of crashes.
 */
detector?: string, 
/**
 * How long a message takes at most, as the timers assume.
 */
bound?: string, 
/**
 * From then on nothing goes wrong by chance any more.
 */
until?: string, };

export type RunRequest = { 
/**
 * A simulation.
 */
sim?: SimOptions, 
/**
 * A scenario of the gallery, by name.
 */
scenario?: string, 
/**
 * A recorded run: what a `.jsonl` file says.
 */
trace?: string, 
/**
 * What a hand does; of a scenario, instead of what it says itself.
 */
acts?: Array<Act>, };

export type Act = { 
/**
 * After how many records.
 */
after: number, 
/**
 * When, if nothing else happens before.
 */
t: number, } & ({ "do": "request", 
/**
 * Which one.
 */
node: number, } | { "do": "release", 
/**
 * Which one.
 */
node: number, } | { "do": "call", 
/**
 * Which one.
 */
node: number, } | { "do": "crash", 
/**
 * Which one.
 */
node: number, } | { "do": "restart", 
/**
 * Which one.
 */
node: number, } | { "do": "pause", 
/**
 * Which one.
 */
node: number, } | { "do": "resume", 
/**
 * Which one.
 */
node: number, } | { "do": "deliver", 
/**
 * Which one.
 */
message: number, } | { "do": "drop", 
/**
 * Which one.
 */
message: number, } | { "do": "duplicate", 
/**
 * Which one.
 */
message: number, } | { "do": "delay", 
/**
 * Which one.
 */
message: number, 
/**
 * For how long, in ticks.
 */
by: number, } | { "do": "cut", 
/**
 * Messages from here …
 */
from: Array<number>, 
/**
 * … to here are lost.
 */
to: Array<number>, 
/**
 * And in the other direction, too.
 */
both_ways: boolean, } | { "do": "mend" });

export type Deed = { "do": "request", 
/**
 * Which one.
 */
node: number, } | { "do": "release", 
/**
 * Which one.
 */
node: number, } | { "do": "call", 
/**
 * Which one.
 */
node: number, } | { "do": "crash", 
/**
 * Which one.
 */
node: number, } | { "do": "restart", 
/**
 * Which one.
 */
node: number, } | { "do": "pause", 
/**
 * Which one.
 */
node: number, } | { "do": "resume", 
/**
 * Which one.
 */
node: number, } | { "do": "deliver", 
/**
 * Which one.
 */
message: number, } | { "do": "drop", 
/**
 * Which one.
 */
message: number, } | { "do": "duplicate", 
/**
 * Which one.
 */
message: number, } | { "do": "delay", 
/**
 * Which one.
 */
message: number, 
/**
 * For how long, in ticks.
 */
by: number, } | { "do": "cut", 
/**
 * Messages from here …
 */
from: Array<number>, 
/**
 * … to here are lost.
 */
to: Array<number>, 
/**
 * And in the other direction, too.
 */
both_ways: boolean, } | { "do": "mend" };

export type RunMade = { 
/**
 * Where it is found; nobody guesses it.
 */
id: string, };

export type Acts = { 
/**
 * In order.
 */
acts: Array<Act>, };

export type RunHeader = { 
/**
 * The algorithm's name.
 */
algorithm: string, 
/**
 * `mutex` or `election`.
 */
kind: AlgorithmKind, 
/**
 * How many nodes.
 */
nodes: number, 
/**
 * In which order its channels deliver.
 */
order: string, 
/**
 * How many ticks are one unit of time.
 */
ticks_per_unit: number, 
/**
 * The command that makes the same run, if nothing was done by hand.
 */
command: string | null, 
/**
 * How the nodes are laid out.
 */
topology: Topology, 
/**
 * Whether a hand may act: not on what was recorded.
 */
may_act: boolean, 
/**
 * Whether sections end by hand.
 */
holds: boolean, 
/**
 * What a hand has done.
 */
acts: Array<Act>, };

export type Topology = { 
/**
 * Who coordinates.
 */
coordinator: number | null, 
/**
 * The parent of each node; the root has none.
 */
tree: Array<number | null> | null, 
/**
 * The nodes around the ring.
 */
ring: Array<number> | null, 
/**
 * The quorum of each node.
 */
quorums: Array<Array<number>> | null, 
/**
 * Whom each node asks (Sanders).
 */
request: Array<Array<number>> | null, 
/**
 * Whom each node informs (Sanders).
 */
inform: Array<Array<number>> | null, 
/**
 * The links of a network.
 */
links: Array<[number, number]> | null, };

export type RecordBatch = { 
/**
 * The place of the first one in the run.
 */
from: number, 
/**
 * What happened.
 */
records: Array<RunRecord>, };

export type Cut = { 
/**
 * The first record that is void.
 */
from: number, 
/**
 * What a hand has done now.
 */
acts: Array<Act>, };

export type RunRecord = { 
/**
 * When.
 */
t: number, 
/**
 * Where.
 */
node: number, 
/**
 * What.
 */
kind: RecordKind, 
/**
 * The same in words.
 */
text: string, 
/**
 * Which message.
 */
message?: number, 
/**
 * Which message it is a copy of.
 */
of?: number, 
/**
 * To whom.
 */
to?: number, 
/**
 * The name of the message's kind.
 */
label?: string, 
/**
 * What the message says.
 */
content?: string, 
/**
 * The entry's fence.
 */
fence?: number, 
/**
 * Who is suspected or trusted.
 */
whom?: number, 
/**
 * Who leads.
 */
leader?: number, 
/**
 * Why a message is lost.
 */
cause?: string, 
/**
 * Which property is violated.
 */
property?: string, };

export type RecordKind = "request" | "release" | "deliver" | "crash" | "restart" | "pause" | "resume" | "lose" | "duplicate" | "call" | "suspect" | "trust" | "expire" | "send" | "enter" | "arm" | "disarm" | "elect" | "refuse" | "violation";

export type RunEnd = { 
/**
 * How many records there are.
 */
records: number, 
/**
 * Why it ends there.
 */
reason: RunReason, 
/**
 * When.
 */
t: number, 
/**
 * What the judges say.
 */
lamps: Array<Lamp>, 
/**
 * What was measured.
 */
figures: Array<Figure>, };

export type RunReason = "over" | "limit";

export type Lamp = { 
/**
 * Which property.
 */
property: string, 
/**
 * Whether it holds; none if it is not claimed here.
 */
holds: boolean | null, 
/**
 * Which record violates it first.
 */
at: number | null, 
/**
 * In words.
 */
detail: string, };

export type Figure = { 
/**
 * Its name.
 */
name: string, 
/**
 * What was measured.
 */
measured: string, 
/**
 * What was published for it.
 */
claimed: string | null, 
/**
 * Whether the claim holds, where it applies.
 */
holds: boolean | null, };

export type StateChunk = { 
/**
 * Its number.
 */
chunk: number, 
/**
 * The state of each node before its first record.
 */
start: Array<NodeState>, 
/**
 * What changes, in order.
 */
changes: Array<StateChange>, };

export type StateChange = { 
/**
 * The place of the record in the run.
 */
record: number, 
/**
 * Whose state.
 */
node: number, 
/**
 * What it is after that record.
 */
state: NodeState, };

export type NodeState = { 
/**
 * Whether it is not crashed.
 */
up: boolean, 
/**
 * Its variables, in the order of the algorithm.
 */
vars: Array<Variable>, };

export type Variable = { 
/**
 * Its field.
 */
field: string, 
/**
 * Its value, as the papers write it.
 */
value: string, };

export type Progress = { 
/**
 * So much is done …
 */
done: number, 
/**
 * … of so much.
 */
total: number, 
/**
 * What was done last.
 */
label: string, };

export type CompareRequest = { 
/**
 * Which ones; all if none is named.
 */
algorithms?: Array<string>, 
/**
 * Elections instead of mutual exclusion.
 */
elections?: boolean, 
/**
 * For how many nodes each.
 */
nodes: Array<number>, 
/**
 * How long messages take.
 */
latency?: string, 
/**
 * How long a node stays inside.
 */
section?: string, 
/**
 * How many entries are measured.
 */
entries?: number, 
/**
 * How many seeds where there is chance.
 */
seeds?: number, };

export type CheckRequest = { 
/**
 * Its name in the catalogue.
 */
algorithm: string, 
/**
 * How many nodes.
 */
nodes?: number, 
/**
 * Who coordinates.
 */
coordinator?: string, 
/**
 * Quorums.
 */
quorum?: string, 
/**
 * Information structure.
 */
structure?: string, 
/**
 * Tree.
 */
tree?: string, 
/**
 * How the holder chooses.
 */
arbitration?: string, 
/**
 * The ring of an election.
 */
ring?: string, 
/**
 * The network of an election.
 */
graph?: string, 
/**
 * How often each node asks.
 */
requests?: string, 
/**
 * Who asks.
 */
requesters?: string, 
/**
 * Who calls elections.
 */
initiators?: string, 
/**
 * How many of them call of their own accord.
 */
calls?: number, 
/**
 * Within how many bounds a crash is told.
 */
detector?: string, 
/**
 * In which order a channel delivers.
 */
order?: string, 
/**
 * How many messages may be lost.
 */
loss?: number, 
/**
 * How many messages may be delivered twice.
 */
duplicate?: number, 
/**
 * How many nodes may stop.
 */
crashes?: number, 
/**
 * When a node may stop.
 */
crash_when?: string, 
/**
 * Who may stop.
 */
victims?: string, 
/**
 * How many may come back.
 */
restarts?: number, 
/**
 * How many alarms may ring too early.
 */
premature?: number, 
/**
 * How many false suspicions there may be.
 */
suspicions?: number, 
/**
 * Decide every property instead of ending at the first violation.
 */
keep_going?: boolean, };

export type CheckProgress = { 
/**
 * How many states have been found.
 */
states: number, 
/**
 * How many steps from the start.
 */
depth: number, 
/**
 * For how long.
 */
seconds: number, };

export type CheckResult = { 
/**
 * How many states there are.
 */
states: number, 
/**
 * How many steps between them.
 */
transitions: number, 
/**
 * How many steps from the start to the last.
 */
depth: number, 
/**
 * Whether everything was explored.
 */
complete: boolean, 
/**
 * Whether the memory ended the search.
 */
out_of_memory: boolean, 
/**
 * How long it took.
 */
seconds: number, 
/**
 * The command that asks the same.
 */
command: string, 
/**
 * What was judged.
 */
properties: Array<CheckedProperty>, };

export type CheckedProperty = { 
/**
 * Its name.
 */
name: string, 
/**
 * Whether it holds, if that is known.
 */
holds: boolean | null, 
/**
 * How many steps a shortest violation takes.
 */
trace_length: number | null, 
/**
 * That violation as a recorded run, to be played.
 */
trace: string | null, };

export type AssumptionsRequest = { 
/**
 * That of elections.
 */
elections: boolean, };

export type QuorumRequest = { 
/**
 * A construction, or `best`.
 */
kind?: string, 
/**
 * What a file says, instead.
 */
text?: string, 
/**
 * How many nodes.
 */
nodes?: number, 
/**
 * Widths of the rows of a wall.
 */
rows?: Array<number>, 
/**
 * Weights of the nodes.
 */
weights?: Array<number>, 
/**
 * Height of a tree or hierarchy.
 */
height?: number, 
/**
 * Order of a plane.
 */
order?: number, 
/**
 * With which probability each node has failed.
 */
p?: number, 
/**
 * How many requests each node can serve in a unit of time.
 */
capacities?: Array<number>, 
/**
 * How long each node takes to answer.
 */
latencies?: Array<number>, 
/**
 * Which picture.
 */
picture?: string, 
/**
 * Whose quorum the picture shows.
 */
of?: string, };

export type StructureRequest = { 
/**
 * A preset.
 */
what?: string, 
/**
 * What a file says, instead.
 */
text?: string, 
/**
 * How many nodes.
 */
nodes?: number, 
/**
 * The quorums of `maekawa`.
 */
quorum?: string, 
/**
 * How often each node asks.
 */
rates?: string, 
/**
 * Search the best one for the rates.
 */
optimise?: OptimiseRequest, };

export type OptimiseRequest = { 
/**
 * How much the busiest node may do.
 */
busiest?: number, 
/**
 * How long the delay may be.
 */
delay?: number, };

export type Failure = { 
/**
 * A sentence that names the cause and the remedy.
 */
error: string, };

export type ClusterView = { 
/**
 * Its name.
 */
name: string, 
/**
 * The algorithm for locks that no prefix says otherwise of.
 */
algorithm: string, 
/**
 * Algorithms by prefix of the lock's name.
 */
prefixes: Array<[string, string]>, 
/**
 * Whether locks may be taken from the page.
 */
may_try: boolean, 
/**
 * Its nodes and links.
 */
status: ClusterStatus, 
/**
 * Its locks.
 */
locks: ClusterLocks, };

export type ClusterStatus = { 
/**
 * When, since the stream began.
 */
at: number, 
/**
 * All members.
 */
nodes: Array<ClusterNode>, 
/**
 * From each node that can be looked into to each other one.
 */
links: Array<ClusterLink>, };

export type ClusterNode = { 
/**
 * Which.
 */
node: number, 
/**
 * Where it listens for other nodes.
 */
address: string, 
/**
 * What it says of itself, if it can be looked into from here.
 */
own: OwnStatus | null, };

export type OwnStatus = { 
/**
 * Where it answers clients.
 */
api: Array<string>, 
/**
 * The view's epoch.
 */
epoch: number, 
/**
 * For how long it has been up.
 */
up: number, 
/**
 * Whether it takes no more requests.
 */
leaving: boolean, 
/**
 * Whom it has not met; it grants nothing before.
 */
awaited: Array<number>, 
/**
 * Locks held at it.
 */
held: number, 
/**
 * Requests waiting at it.
 */
waiters: number, 
/**
 * Entries since it started.
 */
entries: number, 
/**
 * Messages since it started, by kind.
 */
messages: Array<MessageTally>, };

export type MessageTally = { 
/**
 * Of which algorithm.
 */
algorithm: string, 
/**
 * Its name in the paper.
 */
label: string, 
/**
 * How many were sent.
 */
sent: number, 
/**
 * How many were taken.
 */
received: number, };

export type ClusterLink = { 
/**
 * Who says so.
 */
from: number, 
/**
 * The other end.
 */
to: number, 
/**
 * Whether it is connected.
 */
up: boolean, 
/**
 * Why not, if that is known.
 */
trouble: string | null, 
/**
 * How often it has been connected.
 */
connects: number, 
/**
 * Messages sent and not yet acknowledged.
 */
unacknowledged: number, };

export type ClusterLocks = { 
/**
 * When, since the stream began.
 */
at: number, 
/**
 * Some of them, by name.
 */
locks: Array<ClusterLock>, 
/**
 * How many there are.
 */
total: number, 
/**
 * Members that did not answer: what is held there is not listed.
 */
silent: Array<number>, 
/**
 * What was asked for from the page.
 */
tries: Array<ClusterTry>, };

export type ClusterLock = { 
/**
 * Its name.
 */
name: string, 
/**
 * The algorithm that guards it.
 */
algorithm: string, 
/**
 * Whoever holds it.
 */
holder: LockHolder | null, 
/**
 * Where somebody waits for it.
 */
waiting: Array<LockQueue>, };

export type LockHolder = { 
/**
 * At which node.
 */
node: number, 
/**
 * The fence of the entry.
 */
fence: number, 
/**
 * For how long.
 */
held: number, 
/**
 * What it calls itself; empty if it has not said.
 */
owner: string, };

export type LockQueue = { 
/**
 * At which node.
 */
node: number, 
/**
 * How many.
 */
waiters: number, };

export type ClusterTry = { 
/**
 * At which node.
 */
node: number, 
/**
 * Which lock.
 */
lock: string, 
/**
 * The fence of the entry; none while it waits.
 */
fence: number | null, };

export type LockEvent = { 
/**
 * When, since the stream began.
 */
at: number, 
/**
 * Where.
 */
node: number, 
/**
 * What.
 */
what: LockChange, 
/**
 * The fence of the entry, where there is one.
 */
fence: number | null, };

export type LockChange = "requested" | "granted" | "released" | "withdrawn" | "lost";

export type MessageEvent = { 
/**
 * When, since the stream began.
 */
at: number, 
/**
 * Its number on the link between these two: the same at both ends.
 */
number: number, 
/**
 * Who sent it.
 */
from: number, 
/**
 * Who takes it.
 */
to: number, 
/**
 * Its name in the paper.
 */
label: string, 
/**
 * Whether it was taken; sent otherwise.
 */
received: boolean, };

export type Lagged = { 
/**
 * When that was noticed, since the stream began.
 */
at: number, 
/**
 * How many.
 */
missed: number, };

export type TryAcquire = { 
/**
 * At which node.
 */
node: number, 
/**
 * Which lock.
 */
lock: string, 
/**
 * Let go of it by itself after so long.
 */
hold?: number, };

export type TryRelease = { 
/**
 * At which node.
 */
node: number, 
/**
 * Which lock.
 */
lock: string, };

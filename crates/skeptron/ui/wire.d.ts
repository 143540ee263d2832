// Written from the types of the server; see lab/wire.

/** The server. */
export type About = {
/** Of Skeptron. */
version: string,
/** Whether it simulates and checks what the page asks for. */
runs: boolean,
/** Whether there is a cluster to look at. */
cluster: boolean,
/** How much the page may ask for. */
limits: Limits, };

/** An algorithm, or a broken variant of one. */
export type AlgorithmInfo = {
/** By which it is called everywhere. */
name: string,
/** Its name in prose. */
title: string,
/** What it is for. */
kind: AlgorithmKind,
/** Where it was published. */
paper: string,
/** What kind of algorithm it is. */
family: string,
/** The weakest channel on which it is correct: `fifo` or `any`. */
channel: string,
/**
 * What it is laid out on: `none`, `coordinator`, `quorums`, `structure`, `tree`, `arbitration`,
 * `ring`, `graph`, `capacity`, `readwrite`, `clusters`, `beginning` or `detector`.
 */
layout: string,
/** The idea, in a few sentences. */
idea: string,
/** Its rules. */
rules: Array<string>,
/** Which steps follow which rule, and why: `RULE INPUT | what holds | reason`. */
fires: Array<string>,
/** What it assumes, and what is easily done wrong. */
notes: Array<string>,
/** Its published figures. */
claims: Array<ClaimInfo>,
/** The variables of a node, by the names of the paper. */
variables: Array<VariableInfo>,
/** What is wrong with it, if it is broken on purpose. */
broken: BrokenInfo | null, };

/** What is wrong with a variant that ships in order to be refuted. */
export type BrokenInfo = {
/** The algorithm that it gets wrong. */
of: string,
/** The rule that it gets wrong. */
flaw: string,
/** Which property it violates. */
breaks: string,
/** Options of `skeptron sim` that show it. */
shown_by: string,
/** Options of `skeptron check` that refute it. */
refuted_by: string, };

/** A published figure. */
export type ClaimInfo = {
/** Of what. */
name: string,
/** The formula. */
text: string, };

/** Something that is so in a run where a note speaks of it. */
export type Fact = {
/** The place of the record in the run. */
record: number,
/** Where it happened. */
node: number,
/** What happened. */
kind: RecordKind,
/** The kind of the message that was sent, delivered or lost. */
label?: string,
/** To whom it was sent, or from whom it came; who is named or suspected. */
peer?: number, } | {
/** Whose. */
node: number,
/** Which one. */
field: string,
/** Its value, as it is shown. */
value: string, } | {
/** How many. */
count: number,
/** Of which kind. */
kind: RecordKind,
/** Only those of messages of that kind. */
label?: string, } | {
/** Which one. */
violated: string, } | {
/** Which one. */
holds: string, };

/** A scenario of the gallery. */
export type GalleryItem = {
/** By which it is asked for. */
name: string,
/** Its title. */
title: string,
/** Where it hangs. */
group: string,
/** Which stop of the lecture it is, counted from 1; none if it stands beside it. */
stop: number | null,
/** Which algorithm it shows. */
algorithm: string,
/** What it shows, in a sentence or two. */
summary: string,
/** Words by which it is found besides those of its texts. */
tags: Array<string>,
/** What a hand does in it. */
acts: Array<Act>,
/** What to see, step by step. */
notes: Array<Note>, };

/** How much the page may ask for. */
export type Limits = {
/** Nodes of a run. */
nodes: number,
/** Records of a run. */
records: number,
/** Seconds of a job. */
seconds: number,
/** Bytes of a search. */
check_memory: number, };

/** What to see at a step. */
export type Note = {
/** Shown once that many records have happened. */
at: number,
/** Two sentences. */
text: string,
/** What the text speaks of: the run must have it. */
facts: Array<Fact>, };

/** A variable of a node. */
export type VariableInfo = {
/** What the program calls it. */
field: string,
/** What the paper calls it; `token` if it says where the token is. */
symbol: string,
/** What it means. */
meaning: string, };

/** What a hand does, right after the first `after` records. */
export type Act = {
/** After how many records. */
after: number,
/** When, if nothing else happens before. */
t: number, } & ({ "do": "request",
/** Which one. */
node: number, } | { "do": "release",
/** Which one. */
node: number, } | { "do": "call",
/** Which one. */
node: number, } | { "do": "draw",
/** Which one. */
node: number,
/** Which number, from 1 on. */
number: number, } | { "do": "crash",
/** Which one. */
node: number, } | { "do": "restart",
/** Which one. */
node: number, } | { "do": "pause",
/** Which one. */
node: number, } | { "do": "resume",
/** Which one. */
node: number, } | { "do": "deliver",
/** Which one. */
message: number, } | { "do": "drop",
/** Which one. */
message: number, } | { "do": "duplicate",
/** Which one. */
message: number, } | { "do": "delay",
/** Which one. */
message: number,
/** For how long, in ticks. */
by: number, } | { "do": "cut",
/** Messages from here … */
from: Array<number>,
/** … to here are lost. */
to: Array<number>,
/** And in the other direction, too. */
both_ways: boolean, } | { "do": "mend" });

/** What a hand has done so far. */
export type Acts = {
/** In order. */
acts: Array<Act>, };

/** Which kind of algorithm. */
export type AlgorithmKind = "mutex" | "election";

/** The clocks of the lectures in a chunk of records. */
export type ClockChunk = {
/** Its number. */
chunk: number,
/** For each record the clocks of its node after it; none if it is no event of a node. */
stamps: Array<ClockStamp | null>, };

/** The clocks of a node after an event. */
export type ClockStamp = {
/** The Lamport clock. */
lamport: number,
/** How many events of each node are known: its own number is that of the event. */
vector: Array<number>, };

/** What has been told from there on is void. */
export type Cut = {
/** The first record that is void. */
from: number,
/** What a hand has done now. */
acts: Array<Act>, };

/** What a hand can do. */
export type Deed = { "do": "request",
/** Which one. */
node: number, } | { "do": "release",
/** Which one. */
node: number, } | { "do": "call",
/** Which one. */
node: number, } | { "do": "draw",
/** Which one. */
node: number,
/** Which number, from 1 on. */
number: number, } | { "do": "crash",
/** Which one. */
node: number, } | { "do": "restart",
/** Which one. */
node: number, } | { "do": "pause",
/** Which one. */
node: number, } | { "do": "resume",
/** Which one. */
node: number, } | { "do": "deliver",
/** Which one. */
message: number, } | { "do": "drop",
/** Which one. */
message: number, } | { "do": "duplicate",
/** Which one. */
message: number, } | { "do": "delay",
/** Which one. */
message: number,
/** For how long, in ticks. */
by: number, } | { "do": "cut",
/** Messages from here … */
from: Array<number>,
/** … to here are lost. */
to: Array<number>,
/** And in the other direction, too. */
both_ways: boolean, } | { "do": "mend" };

/** A measured figure beside what was published. */
export type Figure = {
/** Its name. */
name: string,
/** What was measured. */
measured: string,
/** What was published for it. */
claimed: string | null,
/** Whether the claim holds, where it applies. */
holds: boolean | null, };

/** What a judge says of a property. */
export type RunVerdict = {
/** Which property. */
property: string,
/** Whether it holds; none if it is not claimed here. */
holds: boolean | null,
/** Which record violates it first. */
at: number | null,
/** In words. */
detail: string, };

/** Where a broken variant first does what the correct algorithm would not. */
export type Mistake = {
/** The record that begins the step. */
record: number,
/** Whose step it is. */
node: number,
/** What the correct algorithm would do there first; none if it would do nothing. */
expected: string | null, };

/** What a node knows. */
export type NodeState = {
/** Whether it is not crashed. */
up: boolean,
/** Its variables, in the order of the algorithm. */
vars: Array<Variable>, };

/** A cut of the network for a while. */
export type Partition = {
/** When. */
begins: number,
/** Until when; none for ever. */
ends: number | null,
/** Messages from here … */
from: Array<number>,
/** … to here are lost. */
to: Array<number>,
/** And in the other direction, too. */
both_ways: boolean, };

/** What a node is doing. */
export type Phase = "idle" | "waiting" | "inside" | "down";

/** Some records of a run. */
export type RecordBatch = {
/** The place of the first one in the run. */
from: number,
/** What happened. */
records: Array<RunRecord>, };

/** What can happen: inputs, then effects. */
export type RecordKind = "request" | "release" | "deliver" | "crash" | "restart" | "pause" | "resume" | "lose" | "duplicate" | "call" | "suspect" | "trust" | "draw" | "expire" | "send" | "enter" | "arm" | "disarm" | "elect" | "refuse" | "violation";

/** All has been told. */
export type RunEnd = {
/** How many records there are. */
records: number,
/** Why it ends there. */
reason: RunReason,
/** When. */
t: number,
/** What the judges say. */
verdicts: Array<RunVerdict>,
/** What was measured. */
figures: Array<Figure>,
/** What its notes say that is not so. */
doubts: Array<string>, };

/** What is run. */
export type RunHeader = {
/** The algorithm's name. */
algorithm: string,
/** `mutex` or `election`. */
kind: AlgorithmKind,
/** How many nodes. */
nodes: number,
/** In which order its channels deliver. */
order: string,
/** How many ticks are one unit of time. */
ticks_per_unit: number,
/** The command that makes the same run, if nothing was done by hand. */
command: string | null,
/** What it was made from, as far as that is known: of a recorded run the system alone may be. */
sim: SimOptions,
/** Whether it was recorded before: latencies and who asks when are what they were. */
recorded: boolean,
/** How the nodes are laid out. */
topology: Topology,
/** What each node of an election is doing before anything happens; empty for mutual exclusion. */
phases: Array<Phase>,
/** Whether a hand may act: not on a recorded election. */
may_act: boolean,
/** Whether sections end by hand. */
holds: boolean,
/** The highest random number that nodes draw; 0 where nothing is drawn. */
draws: number,
/** What a hand has done. */
acts: Array<Act>,
/** When the network is cut, as planned before the run. */
partitions: Array<Partition>, };

/** A run was made. */
export type RunMade = {
/** Where it is found; nobody guesses it. */
id: string, };

/** What is said about a run on a page that plays it without a server. */
export type RunPage = {
/** Its title; empty for what the run itself says. */
title: string,
/** What it shows, in a sentence or two. */
summary: string,
/** What to see, step by step. */
notes: Array<Note>,
/** The language in which it was seen; without one the page follows its reader. */
lang?: string, };

/** Why a run ends. */
export type RunReason = "over" | "limit";

/** One thing that happened at one node. Inputs begin a step, effects follow them. */
export type RunRecord = {
/** When. */
t: number,
/** Where. */
node: number,
/** What. */
kind: RecordKind,
/** The same in words, without the node: `requests`, `REPLY → P2`. */
text: string,
/** Which message. */
message?: number,
/** Which message it is a copy of. */
of?: number,
/** To whom. */
to?: number,
/** The name of the message's kind. */
label?: string,
/** All that the message says. */
content?: string,
/** What is written beside its name: `41`. */
payload?: string,
/** The entry's fence. */
fence?: number,
/** Who is suspected or trusted. */
whom?: number,
/** Which number is drawn. */
number?: number,
/** Who leads. */
leader?: number,
/** Since which election. */
epoch?: string,
/** Why a message is lost. */
cause?: string,
/** Which property is violated. */
property?: string,
/** Whether a hand did it. */
by_hand?: boolean,
/**
 * What its node is doing after the step that it begins, where that is another thing than before
 * and no record says it: in elections.
 */
becomes?: Phase, };

/** Which run to make: exactly one of `sim`, `scenario` and `trace`. */
export type RunRequest = {
/** A simulation. */
sim?: SimOptions,
/** A scenario of the gallery, by name. */
scenario?: string,
/** A recorded run: what a `.jsonl` file says. */
trace?: string,
/** What a hand does; of a scenario, instead of what it says itself. */
acts?: Array<Act>,
/** What is said of it, whose facts are looked up; a scenario of the gallery has its own. */
notes?: Array<Note>, };

/** What to run: options of `skeptron sim`. */
export type SimOptions = {
/** Which algorithm; see `skeptron list` */
algorithm: string,
/**
 * Who asks: how many (those with the highest ids, never the coordinator), or a list like P1,P3
 * [default: all; for `central` all but the coordinator]
 */
requesters?: string,
/**
 * When they ask: none (nobody does), closed (think, ask, again), sequential (one at a time,
 * chosen at random), poisson:RATE, bursts:SIZE,EVERY, hot:HOW-MANY,SHARE,RATE, or file:PATH with lines `TIME NODE`
 * [default: closed]
 */
workload?: string,
/** From an exit to the next request; 0 is saturation [default: 0] */
think?: string,
/** How long a node stays inside [default: 1] */
section?: string,
/** How many entries to measure [default: 1000; of a file all] */
entries?: number,
/**
 * How many entries to make before measuring
 * [default: 0 for a lone requester and for a file, else twice the requesters, at most a tenth of the
 * entries]
 */
warmup?: number,
/**
 * Who calls elections: all, none, or a list like 1,3@2.5; with a time a node calls then, and
 * anyway when it suspects its leader
 * [default: all; if nobody can be suspected, P1 at 0]
 */
initiators?: string,
/**
 * What the nodes are told of crashes: perfect:DELAY, or imperfect:DELAY,RATE,LASTING with RATE
 * false suspicions per unit, each for LASTING units in the mean (5 if left out); also for
 * agrawal-el-abbadi, which never trusts again [default: perfect:2]
 */
detector?: string,
/**
 * How long a message takes at most, as the timers assume
 * [default: the longest latency, or three times the mean where there is none]
 */
bound?: string,
/**
 * From then on nothing goes wrong by chance any more, and nobody calls of his own accord
 * [default: 100]
 */
until?: string,
/**
 * How long a message takes: a distribution; between sites over which the nodes are spread by turns, with
 * 1 unit = 1 ms: three-dc, wan:aws-10, wan:ibm-10, wan:ibm-zones, or rtt:PATH, a table of round trips as clouds
 * publish them; or matrix:PATH with a distribution for each pair of nodes
 */
latency?: string,
/** In which order a channel delivers */
order?: string,
/** Probability that a message is lost */
loss?: number,
/** Probability that a message is delivered twice */
duplicate?: number,
/**
 * Crash a node: NODE@TIME, NODE@FROM..TO to restart it (all it kept is the epoch of an election), or at random:
 * random:RATE for ever, random:RATE,DOWN each for DOWN units in the mean
 */
crash?: Array<string>,
/** Pause a node: NODE@FROM..TO, or random:RATE,LENGTH */
pause?: Array<string>,
/**
 * Cut the network: 1,2|3,4@FROM..TO both ways, 1,2>3@FROM..TO one way, or
 * random:RATE,LENGTH, of which half are one way;
 * what is sent across meanwhile is lost
 */
partition?: Array<string>,
/** Determines all chance */
seed?: number,
/** How many nodes [default: 5, or as many as the layout has] */
nodes?: number,
/** Who coordinates in `central` [default: P1] */
coordinator?: string,
/**
 * Quorums for `maekawa`, `sanders` and `cao-singhal`: singleton, all, majority, weighted:3,1,1, grid,
 * cyclic, projective, triangle, wall, tree, hierarchical (or projective:4, wall:1,2,3, tree:2,
 * hierarchical:2), maekawa-13, fano, best, or a file; `skeptron quorum` tells all about them
 * [default: cyclic]
 */
quorum?: string,
/**
 * Information structure for `sanders`: lamport, ricart-agrawala, maekawa, sanders-4, star or
 * star:NODE, or a JSON file with `request` and `inform` lists; `skeptron structure` tells all about
 * them [default: maekawa]
 */
structure?: string,
/**
 * Tree for `raymond` and `neilsen-mizuno`: balanced:K, star, line, elected (by `spanning-tree`, in
 * the same network), or a file with a `CHILD PARENT` pair on each line [default: balanced:2]
 */
tree?: string,
/**
 * How the holder chooses in `singhal`: round-robin, smallest-sequence or nearest
 * [default: round-robin]
 */
arbitration?: string,
/**
 * How many may be inside at once in `raymond-k`: at least 1, and fewer than all [default: 2, of
 * two nodes 1]
 */
capacity?: string,
/**
 * Who reads in `quorum-readers-writers`, as in P1,P3 or a number: the first so many; the others write
 * [default: all but the last one]
 */
readers?: string,
/**
 * Whom readers and writers ask in `quorum-readers-writers`: grid (a row; a row and a column), majority,
 * read-one (oneself; everybody), or a JSON file with `quorums` and `readers` [default: grid]
 */
read_quorums?: string,
/**
 * In which state `dijkstra` begins: initial, random (any at all, drawn by the seed), or a number for each
 * node, as a counterexample has them [default: initial; of `check` every state]
 */
begin?: string,
/**
 * The ring of an election: ascending, descending, random:SEED, or a list like P3,P1,P2
 * [default: ascending]
 */
ring?: string,
/**
 * The network of `spanning-tree`, also where it elects a tree: complete, ring, line, star, grid,
 * hypercube, or a file with two linked nodes on each line [default: complete]
 */
graph?: string,
/**
 * Clusters of `composed`: their sizes, as in 3,3,2; latency (who reaches whom fast by --latency); or square
 * (about √N of about √N nodes) [default: latency if that tells nodes apart, else square]
 */
clusters?: string,
/**
 * Where the logical clocks begin, for algorithms that stamp their requests: a number for each
 * node, as in 40,0,33 [default: 0 everywhere]
 */
clocks?: string,
/**
 * Take quorums from a file also if they do not meet, and an information structure also if it is invalid,
 * to see what comes of it
 */
unsafe_structure?: boolean,
/**
 * As what the nodes enter, over central, ricart-agrawala or naimi-trehel: for each node exclusive, shared,
 * permits:K, upgrade (shared, then perhaps exclusive) or downgrade (exclusive, then shared), as in
 * shared,shared,exclusive; with fewer than nodes the list begins again. Several for one node are joined by
 * +, as in 9*shared+exclusive: `check` goes through them, `sim` draws one for each request
 */
modes?: string,
/** With --modes: how many entries of one node may be inside at once [default: 1] */
at_once?: number,
/** With --modes: leave out one rule of kinds, to see what breaks; docs/kinds.md has their names */
flaw?: string, };

/** What a record changes. */
export type StateChange = {
/** The place of the record in the run. */
record: number,
/** Whose state. */
node: number,
/** What it is after that record. */
state: NodeState, };

/** What the nodes know: all of it at the start of a chunk, then what each record changes. */
export type StateChunk = {
/** Its number. */
chunk: number,
/** The state of each node before its first record. */
start: Array<NodeState>,
/** What changes, in order. */
changes: Array<StateChange>, };

/** How the nodes are laid out; only what the algorithm uses is there. */
export type Topology = {
/** Who coordinates. */
coordinator: number | null,
/** The parent of each node; the root has none. */
tree: Array<number | null> | null,
/** The nodes around the ring. */
ring: Array<number> | null,
/** The quorum of each node. */
quorums: Array<Array<number>> | null,
/** Whom each node asks (Sanders). */
request: Array<Array<number>> | null,
/** Whom each node informs (Sanders). */
inform: Array<Array<number>> | null,
/** The links of a network. */
links: Array<[number, number]> | null, };

/** A variable of a node. */
export type Variable = {
/** Its field. */
field: string,
/** Its value, as the papers write it. */
value: string,
/** The same to draw with: a node is `"P3"`, a timestamp `[41, "P3"]`, a set or a list an array. */
data: unknown, };

/** What comes of an algorithm without an assumption. */
export type AssumptionCell = {
/** Which algorithm. */
algorithm: string,
/** Who stops, where one node is not like the others. */
who: string | null,
/** What may happen. */
condition: string,
/** Whether everything holds, if that is known. */
holds: boolean | null,
/** Whether everything should hold, if the papers say it. */
claimed: boolean | null,
/** Whether the two agree. */
agrees: boolean,
/** Whether everything was explored. */
complete: boolean,
/** How many states there are. */
states: number,
/** What breaks after how many steps, or `holds`; a line each. */
text: string,
/** What was judged; the one that breaks soonest comes with its run. */
properties: Array<CheckedProperty>,
/** The command that asks for this cell. */
command: string,
/** The request that does. */
request: CheckRequest, };

/** A shortest run that breaks something, as a space-time diagram. */
export type AssumptionDiagram = {
/** Which of the cells. */
cell: number,
/** What it breaks. */
property: string,
/** In how many steps. */
steps: number,
/** The picture. */
svg: string, };

/** A row of that table. */
export type AssumptionLine = {
/** Which algorithm. */
algorithm: string,
/** Who stops, where one node is not like the others. */
who: string | null, };

/** The frame of a table of assumptions, told before its cells. */
export type AssumptionTable = {
/** The system in words. */
system: string,
/** The columns: what may happen. */
conditions: Array<string>,
/** The rows. */
lines: Array<AssumptionLine>,
/** The command that makes the same table. */
command: string, };

/** A table of assumptions as a page shows it that needs no server. */
export type AssumptionsReport = {
/** Its frame. */
table: AssumptionTable,
/** All cells. */
cells: Array<AssumptionCell>,
/** How many of them are not as the papers say. */
surprises: number,
/** A shortest run for everything that breaks. */
diagrams: Array<AssumptionDiagram>, };

/** The end of a table of assumptions. */
export type AssumptionsResult = {
/** How many cells there are. */
cells: number,
/** How many of them are not as the papers say. */
surprises: number,
/** The command that makes the same table. */
command: string, };

/** How far a search is. */
export type CheckProgress = {
/** How many states have been found. */
states: number,
/** How many steps from the start. */
depth: number,
/** For how long. */
seconds: number,
/** What it waits for, before it begins. */
label: string | null, };

/** What `skeptron check` is asked. */
export type CheckRequest = {
/** Which algorithm; see `skeptron list` */
algorithm: string,
/**
 * Every correct algorithm, once with all assumptions and once for each that is dropped:
 * FIFO channels, no loss, no duplicates, no crash
 */
all?: boolean,
/**
 * With --all: every correct election, once with all assumptions and a crash, and once for each
 * that is dropped: FIFO channels, patient alarms, right detectors, no loss, no duplicates
 */
elections?: boolean,
/**
 * Begin where a recorded run is (.jsonl): algorithm, system and channels are those of the run, and
 * --requests or --calls are further ones
 */
from?: string,
/** What the file of a recorded run says, where it is not read */
text?: string,
/** With --from: after so many of its steps, as Play counts them [default: all] */
at?: number,
/** How often each node asks: a number, or one for each node, as in 1,1,2 [default: 1] */
requests?: string,
/**
 * Who asks: how many (those with the highest ids, never the coordinator), or a list like P1,P3
 * [default: all]
 */
requesters?: string,
/**
 * Who calls elections, once at any time or never, and whenever it suspects its leader: a list like
 * P1,P3, or all [default: all]
 */
initiators?: string,
/** How many of them call of their own accord at most [default: all of them] */
calls?: number,
/**
 * Within how many bounds a failure detector tells of a crash or a return, as in 2 or perfect:2
 * [default: 1]
 */
detector?: string,
/** In which order a channel delivers */
order?: string,
/** How many messages may be lost */
loss?: number,
/** How many messages may be delivered twice */
duplicate?: number,
/** How many nodes may stop: for ever, unless --restarts lets them come back */
crashes?: number,
/** When a node may stop */
crash_when?: string,
/** Who may stop, as in P1,P3 [default: everybody] */
victims?: string,
/** How many nodes that stopped may come back (elections) */
restarts?: number,
/** How many alarms may ring too early (elections) */
premature?: number,
/**
 * How many times a failure detector may suspect a live node: for a while (elections), or for ever
 * (agrawal-el-abbadi)
 */
suspicions?: number,
/**
 * Judge these properties alone, also where they are not claimed: exclusion (GA1), progress (GA2),
 * starvation (GA2'), order (EM3, by happened-before), order-by-time (by the moment of the request),
 * bypass, fence, messages, rest, refused; of what is self-stabilising closure and convergence
 */
judge?: Array<string>,
/** Also judge that no wait is passed by more than B entries of others */
bypass?: number,
/**
 * Judge this alone in every state: a name (singhal: no-false-R, L4.1.1 to L4.1.5, S4.2, S4.3), or a
 * predicate over the variables that `explain` lists, as in
 * 'forall i, j: i.phase == inside && j.phase == inside => i == j'
 */
invariant?: string,
/**
 * Instead of judging, find the run with most of: messages (in all), delay (request to entry in
 * messages one after another), bypass (entries of others during one wait)
 */
maximise?: string,
/** The same with least of it */
minimise?: string,
/** Also explore interleavings that provably make no difference */
no_reduction?: boolean,
/** Decide every property instead of ending at the first violation */
keep_going?: boolean,
/**
 * Instead of a search take so many random walks: for what no search finishes. They find violations,
 * and never say that something holds
 */
walks?: number,
/** With --walks: how many steps each has at most [default: 1000] */
walk_steps?: number,
/** With --walks: what decides them [default: 1] */
seed?: number,
/**
 * Keep in this folder what does not fit into --max-memory: a new folder, or an empty one. The search
 * can be stopped (Ctrl-C) or killed and continued with --resume
 */
disk?: string,
/**
 * Continue the search in the folder of --disk; all other options must be the same, apart from
 * --max-memory and --threads
 */
resume?: boolean,
/** How many nodes [default: 5, or as many as the layout has] */
nodes?: number,
/** Who coordinates in `central` [default: P1] */
coordinator?: string,
/**
 * Quorums for `maekawa`, `sanders` and `cao-singhal`: singleton, all, majority, weighted:3,1,1, grid,
 * cyclic, projective, triangle, wall, tree, hierarchical (or projective:4, wall:1,2,3, tree:2,
 * hierarchical:2), maekawa-13, fano, best, or a file; `skeptron quorum` tells all about them
 * [default: cyclic]
 */
quorum?: string,
/**
 * Information structure for `sanders`: lamport, ricart-agrawala, maekawa, sanders-4, star or
 * star:NODE, or a JSON file with `request` and `inform` lists; `skeptron structure` tells all about
 * them [default: maekawa]
 */
structure?: string,
/**
 * Tree for `raymond` and `neilsen-mizuno`: balanced:K, star, line, elected (by `spanning-tree`, in
 * the same network), or a file with a `CHILD PARENT` pair on each line [default: balanced:2]
 */
tree?: string,
/**
 * How the holder chooses in `singhal`: round-robin, smallest-sequence or nearest
 * [default: round-robin]
 */
arbitration?: string,
/**
 * How many may be inside at once in `raymond-k`: at least 1, and fewer than all [default: 2, of
 * two nodes 1]
 */
capacity?: string,
/**
 * Who reads in `quorum-readers-writers`, as in P1,P3 or a number: the first so many; the others write
 * [default: all but the last one]
 */
readers?: string,
/**
 * Whom readers and writers ask in `quorum-readers-writers`: grid (a row; a row and a column), majority,
 * read-one (oneself; everybody), or a JSON file with `quorums` and `readers` [default: grid]
 */
read_quorums?: string,
/**
 * In which state `dijkstra` begins: initial, random (any at all, drawn by the seed), or a number for each
 * node, as a counterexample has them [default: initial; of `check` every state]
 */
begin?: string,
/**
 * The ring of an election: ascending, descending, random:SEED, or a list like P3,P1,P2
 * [default: ascending]
 */
ring?: string,
/**
 * The network of `spanning-tree`, also where it elects a tree: complete, ring, line, star, grid,
 * hypercube, or a file with two linked nodes on each line [default: complete]
 */
graph?: string,
/**
 * Clusters of `composed`: their sizes, as in 3,3,2; latency (who reaches whom fast by --latency); or square
 * (about √N of about √N nodes) [default: latency if that tells nodes apart, else square]
 */
clusters?: string,
/**
 * Where the logical clocks begin, for algorithms that stamp their requests: a number for each
 * node, as in 40,0,33 [default: 0 everywhere]
 */
clocks?: string,
/**
 * Take quorums from a file also if they do not meet, and an information structure also if it is invalid,
 * to see what comes of it
 */
unsafe_structure?: boolean,
/**
 * As what the nodes enter, over central, ricart-agrawala or naimi-trehel: for each node exclusive, shared,
 * permits:K, upgrade (shared, then perhaps exclusive) or downgrade (exclusive, then shared), as in
 * shared,shared,exclusive; with fewer than nodes the list begins again. Several for one node are joined by
 * +, as in 9*shared+exclusive: `check` goes through them, `sim` draws one for each request
 */
modes?: string,
/** With --modes: how many entries of one node may be inside at once [default: 1] */
at_once?: number,
/** With --modes: leave out one rule of kinds, to see what breaks; docs/kinds.md has their names */
flaw?: string, };

/** What a search found. */
export type CheckResult = {
/** How many states there are. */
states: number,
/** How many steps between them. */
transitions: number,
/** How many steps from the start to the last. */
depth: number,
/** Whether everything was explored. */
complete: boolean,
/** Whether the memory ended the search. */
out_of_memory: boolean,
/** How long it took. */
seconds: number,
/** The command that asks the same. */
command: string,
/** How many steps had been taken before the search began. */
after: number,
/** What was judged. */
properties: Array<CheckedProperty>, };

/** A property in a search. */
export type CheckedProperty = {
/** Its name. */
name: string,
/** Whether it holds, if that is known. */
holds: boolean | null,
/** How many steps a shortest violation takes, those before the search included. */
trace_length: number | null,
/** That violation as a recorded run, to be played. */
trace: string | null, };

/** A claim with its values in one system. */
export type Claimed = {
/** The formula. */
text: string,
/** At least so much. */
low: number,
/** So much as a rule. */
typical: number | null,
/** At most so much; in JSON `null` where chance sets no bound. */
high: number | null, };

/** A claim over N, to be drawn as a line. */
export type CompareCurve = {
/** Whose. */
algorithm: string,
/** Of an election: in which situation. */
case?: string,
/** Of which figure. */
figure: string,
/** The formula. */
text: string,
/** N rises from the smallest that was asked for to the largest. */
points: Array<CurvePoint>, };

/** A short run as a space-time diagram. */
export type CompareDiagram = {
/** Of which algorithm. */
algorithm: string,
/** The picture. */
svg: string,
/** The command that makes the same run. */
command: string, };

/** A comparison as a page shows it that needs no server. */
export type CompareReport = {
/** Whether elections are compared. */
elections: boolean,
/** What all runs have in common, in words. */
settings: string,
/** The figures. */
result: CompareResult,
/** A short run of each algorithm. */
diagrams: Array<CompareDiagram>, };

/** What `skeptron compare` is asked. */
export type CompareRequest = {
/** Compare elections */
elections?: boolean,
/** Which algorithms [default: all correct ones] */
algorithms?: Array<string>,
/**
 * How many nodes, several separated by commas
 * [default: 4,16,64; of elections 4,8,16; with --html 2,4,8,16,32,64,128]
 */
nodes: Array<number>,
/** Quorums for `maekawa`, `sanders` and `cao-singhal`, as in `sim` [default: cyclic] */
quorum?: string,
/** Tree for `raymond` and `neilsen-mizuno`, as in `sim` [default: balanced:2] */
tree?: string,
/** How long a message takes, as in `sim`; many claims are for a constant */
latency?: string,
/** How long a node stays inside */
section?: string,
/** How many entries to measure where figures converge [default: 20 per node, 400 … 4000] */
entries?: number,
/** How many independent seeds where there is chance [default: 10; of elections 1000] */
seeds?: number, };

/** What a comparison came to. */
export type CompareResult = {
/** All rows, in the order of the algorithms and sizes. */
rows: Array<CompareRow>,
/** What is claimed between the sizes. */
curves: Array<CompareCurve>,
/** The command that makes the same comparison. */
command: string, };

/** One figure at one size, as `skeptron compare --json` prints it. */
export type CompareRow = {
/** Whose. */
algorithm: string,
/** Of an election: in which situation. */
case?: string,
/** How many nodes. */
nodes: number,
/** What was measured: `messages_saturated`, `jain` … */
figure: string,
/** What was published. */
claim: Claimed | null,
/** `None` where there is nothing to measure, such as a hand-over with a single requester. */
measured: Estimate | null,
/** Measured minus claimed: the typical value, else the nearer bound. */
deviation: number | null,
/** Whether the claim holds; `None` where there is nothing to judge it by. */
holds: boolean | null,
/** What is claimed under other conditions, and which of those do not hold. */
not_compared?: NotCompared, };

/** A claim at one size. */
export type CurvePoint = {
/** How many nodes. */
nodes: number,
/** At least so much. */
low: number,
/** So much as a rule. */
typical: number | null,
/** At most so much; in JSON `null` where chance sets no bound. */
high: number | null, };

/** The mean of a figure over independent runs, with the half-width of its 95 % confidence interval. */
export type Estimate = {
/** The mean. */
mean: number,
/** Student's interval; 0 if all values are equal or there is only one. */
half_width: number,
/** The smallest. */
min: number,
/** The largest. */
max: number, };

/** A claim that says nothing of these settings. */
export type NotCompared = {
/** The formula. */
claim: string,
/** Which of its conditions do not hold here. */
needs: Array<string>, };

/** What `skeptron structure optimise` is asked. */
export type OptimiseRequest = {
/** How often each node asks, as in 5,1,1,1; only the ratios matter */
rates?: string,
/** No node may be asked by others for more than this share of all entries */
busiest?: number,
/**
 * The synchronisation delay between nodes, weighted by how often they ask, may be at most so many
 * latencies in the mean; it is between 1 and 2
 */
delay?: number, };

/** How far a job is. */
export type Progress = {
/** So much is done … */
done: number,
/** … of so much. */
total: number,
/** What was done last. */
label: string, };

/** What `skeptron quorum` is asked. */
export type QuorumRequest = {
/** A construction (see below), `best`, or a file */
kind?: string,
/** What a file says, where it is not read */
text?: string,
/** How many nodes, where the rest does not say it */
nodes?: number,
/** Widths of the rows of a `wall`, from the top */
rows?: Array<number>,
/** Weights of the nodes in `weighted` */
weights?: Array<number>,
/** Height of a `tree` or of `hierarchical` */
height?: number,
/** Order of the plane in `projective`: a prime power */
order?: number,
/** With which probability each node has failed, for the failure probability */
p?: number,
/** How many requests each node can serve in a unit of time: gives the capacity */
capacities?: Array<number>,
/** How long each node takes to answer: gives the expected latency */
latencies?: Array<number>,
/** How many samples where the failure probability cannot be computed */
samples?: number,
/** Seed of these samples */
seed?: number,
/**
 * Which picture: matrix, grid, wall, tree, hierarchy, triangle, plane, circle, votes, or none
 * [default: what suits the system]
 */
picture?: string,
/** Whose quorum the picture shows [default: one that shows it well] */
of?: string, };

/** What is known of a quorum system. */
export type QuorumResult = {
/** What `skeptron quorum --json` prints. */
report: QuorumReport & Partial<QuorumComparison>,
/** The picture, if there is one. */
svg: string | null,
/** The command that asks the same. */
command: string, };

/** What `skeptron structure` is asked. */
export type StructureRequest = {
/**
 * lamport, ricart-agrawala, maekawa, sanders-4, star or star:NODE, or a JSON file with `request`
 * and `inform` lists [default with --quorum: maekawa]
 */
what?: string,
/** What a file says, where it is not read */
text?: string,
/** How many nodes [default: as many as the layout or the rates have, or 5] */
nodes?: number,
/** The quorums of `maekawa`, as for `skeptron sim maekawa`: a kind or a file [default: cyclic] */
quorum?: string,
/** How often each node asks, as in 5,1,1,1; only the ratios matter [default: all equally] */
rates?: string, };

/** What is known of an information structure. */
export type StructureResult = {
/** What `skeptron structure --json` prints. */
report: StructureReport,
/** The command that asks the same. */
command: string, };

/** An option of a sweep. */
export type SweepColumn = {
/** Its name. */
name: string,
/** What it is somewhere, as it is typed. */
values: Array<string>, };

/** A sweep as a page shows it that needs no server. */
export type SweepReport = {
/** The name of its file. */
file: string,
/** With how many seeds each point ran. */
seeds: number,
/** The options of `skeptron sim` that it sets. */
columns: Array<SweepColumn>,
/** What was measured. */
figures: Array<string>,
/** Of each point: for each column the place of its value, if it has one. */
points: Array<Array<number | null>>,
/** Of each point: for each figure the mean over its seeds, where it was measured. */
estimates: Array<Array<Estimate | null>>,
/** Of each point: how many of its runs violated a property or stalled. */
failed: Array<number>, };

/** What counts when constructions are compared. */
export type QuorumCandidate = {
/** As it would be typed. */
name: string,
/** How many nodes each node asks in the mean: K. */
asked: number,
/** Whether conditions 1–4 hold. */
symmetric: boolean,
/** Whether each node is in its own quorum. */
contains_self: boolean,
/** The load. */
load: number,
/** The load as a fraction, where it is proved. */
load_fraction: string | null,
/** How many crashes it survives for sure. */
resilience: number,
/** Whether that is exact, or perhaps more. */
resilience_is_exact: boolean,
/** The probability that no quorum is alive. */
failure_probability: number,
/** Whether that is exact, or sampled. */
failure_is_exact: boolean, };

/** All constructions side by side. */
export type QuorumComparison = {
/** One for each construction, smallest quorums first. */
candidates: Array<QuorumCandidate>,
/** One for each goal. */
recommendations: Array<QuorumRecommendation>,
/** Why some constructions are missing. */
missing: Array<string>, };

/** Conditions 1–4 (spec 3). */
export type QuorumConditions = {
/** 1: any two meet. */
intersecting: boolean,
/** 2: each node is in its own. */
contains_self: boolean,
/** 3: all have the same size. */
equal_size: boolean,
/** 4: each node is in equally many. */
equal_degree: boolean,
/** What violates the first, in words. */
violation: string | null, };

/** The failure probability of a system at one p. */
export type QuorumFailure = {
/** With which probability each node fails. */
p: number,
/** With which probability no quorum is alive. */
value: number,
/** How that was found. */
method: string,
/** Where the value lies with a confidence of 99 %, if it was sampled. */
interval: [number, number] | null, };

/** What to optimise. */
export type QuorumGoal = "equal-work" | "fewest-messages" | "lowest-load" | "most-crashes" | "availability";

/** What nodes of given speed can do together. */
export type QuorumPerformance = {
/** The largest rate of entries that the nodes can serve. */
capacity: number,
/** No strategy has a larger one. */
capacity_at_most: number,
/** How it was found, and what is proved of the capacity. */
method: string,
/** How likely which quorums are chosen for that, in ascending order. */
strategy: Array<QuorumShare>,
/**
 * How long it takes, on average, until all of the quorum chosen have answered; unknown if the
 * strategy has too many quorums to write out, and these differ in that.
 */
latency: number | null,
/**
 * Whether no other strategy of this capacity has a smaller expected latency; otherwise that was
 * not looked for, because there are too many quorums.
 */
latency_is_least: boolean,
/** When the quorum that answers first has answered. */
fastest: number,
/** That quorum. */
fastest_quorum: number[], };

/** A construction for a goal. */
export type QuorumRecommendation = {
/** The goal. */
goal: QuorumGoal,
/** The construction, as it would be typed. */
name: string,
/** Why, and at which price. */
why: string, };

/** The answers. As JSON, nodes are counted from 1. */
export type QuorumReport = {
/** The construction, or `file`. */
kind: string,
/** The construction as it would be typed, or the name of the file. */
name: string,
/** How many nodes there are. */
nodes: number,
/** All quorums, unless they are too many. */
quorums: number[][] | null,
/** How many there are, all digits. */
quorum_count: string | null,
/** The quorum of each node. */
assignment: number[][],
/** How large the quorums are. */
size: QuorumSizes,
/** Conditions 1–4 of what the nodes ask. */
conditions: QuorumConditions,
/** Whether no quorum contains another. */
coterie: boolean,
/** Whether some other coterie is better in every respect; none if that is not known. */
dominated: boolean | null,
/** If so: a set that meets every quorum and contains none, so it could be one too. */
could_be_added: number[] | null,
/** The smallest possible largest probability that a node is asked. */
load: number | null,
/** The same as a fraction, where it is proved in exact arithmetic. */
load_fraction: string | null,
/** No strategy has a smaller load than this. */
load_at_least: number | null,
/** 1/c and c/N with c the smallest size: no system has a smaller load (Naor & Wool 1998). */
load_bounds: [number, number] | null,
/** How the load was found and what that proves. */
load_method: string | null,
/** How often to ask which quorum for that load. */
strategy: Array<QuorumShare>,
/** How many nodes may crash, whichever they are; none if it is only known in bounds. */
resilience: number | null,
/** The resilience is at least the first and at most the second. */
resilience_bounds: [number, number] | null,
/** A smallest known set of nodes whose crash leaves no quorum. */
fatal: number[],
/** The probability that no quorum is alive. */
failure_probability: QuorumFailure | null,
/** What the nodes can serve, if their capacities or latencies were given. */
performance: QuorumPerformance | null,
/** What else there is to say. */
notes: Array<string>, };

/** A quorum of a strategy. */
export type QuorumShare = {
/** Which quorum. */
quorum: number[],
/** How likely it is chosen. */
probability: number, };

/** The sizes of all quorums of a system. */
export type QuorumSizes = {
/** Of a smallest quorum. */
min: number,
/** Of a largest quorum. */
max: number,
/** Of all quorums alike; none if they are too many to be counted. */
mean: number | null, };

/** In units of the latency. */
export type StructureDelay = {
/** The mean. */
mean: number,
/** The largest. */
max: number,
/** A row for each node that leaves, where there are few. */
matrix: Array<Array<number>> | null, };

/** Synchronisation delays. */
export type StructureDelays = {
/** As published. */
published: StructureDelay,
/** As they are. */
exact: StructureDelay, };

/** For which share of all entries nodes are asked by others. */
export type StructureLoad = {
/** Each node. */
of: Array<number>,
/** The busiest. */
busiest: number, };

/** Messages of an entry, between two bounds. */
export type StructureMessages = {
/** At least, of each node. */
low: Array<number>,
/** At most, of each node. */
high: Array<number>,
/** The mean of the former. */
mean_low: number,
/** The mean of the latter. */
mean_high: number, };

/** How good the best structure found is, and what was demanded. */
export type StructureOptimal = {
/** Whether nothing is better. */
proved: boolean,
/** Nothing takes fewer messages. */
lower_bound: number,
/** How much the busiest node was allowed to do. */
busiest: number | null,
/** How long the delay was allowed to be. */
delay: number | null, };

/** Everything about an information structure. Nodes are counted from 1. */
export type StructureReport = {
/** What was asked for. */
name: string,
/** How many nodes there are. */
nodes: number,
/** Whether it keeps the rules. */
valid: boolean,
/** Which rule it breaks. */
violation: StructureViolation | null,
/** Whom each node asks. */
request: Array<Array<number>>,
/** Whom each node tells. */
inform: Array<Array<number>>,
/** Which share of the requests comes from each node. */
shares: Array<number>,
/** Messages of an entry. */
messages: StructureMessages | null,
/** For which share of all entries each node is asked by others. */
load: StructureLoad | null,
/** Synchronisation delays. */
delay: StructureDelays | null,
/** Who asks whom although the inform sets do not need it. */
needless: Array<[number, number]>,
/** Of a search: how good the result is. */
optimal?: StructureOptimal, };

/** Which rule is broken, and what would mend it. */
export type StructureViolation = {
/** The rule. */
rule: string,
/** Whom it is about. */
nodes: Array<number>,
/** What is wrong. */
explanation: string,
/** What would mend it. */
remedy: string, };

/** Does something to a member. */
export type ClusterAct = {
/** To which node. */
node: number,
/** What. */
act: ClusterActKind, };

/** What can be done to a member. */
export type ClusterActKind = "kill" | "restart" | "pause" | "resume" | "cut" | "heal";

/** What can happen to a cluster. */
export type ClusterChange = "killed" | "restarted" | "paused" | "resumed" | "cut" | "healed" | "view" | "met" | "halted";

/** Something that happened to the cluster. */
export type ClusterEvent = {
/** When, since the stream began. */
at: number,
/** At which node, or to which. */
node: number,
/** What. */
what: ClusterChange,
/** The epoch of the view, where one is meant. */
epoch: number | null,
/** Who belongs to that view, as far as it is still known. */
members: Array<number>,
/** Why, where that is to be told. */
why: string | null, };

/** A link as one end sees it. */
export type ClusterLink = {
/** Who says so. */
from: number,
/** The other end. */
to: number,
/** Whether it is connected. */
up: boolean,
/** Why not, if that is known. */
trouble: string | null,
/** How often it has been connected. */
connects: number,
/** Messages sent and not yet acknowledged. */
unacknowledged: number, };

/** A lock in use. */
export type ClusterLock = {
/** Its name. */
name: string,
/** The algorithm that guards it. */
algorithm: string,
/** Whoever holds it. */
holder: LockHolder | null,
/** Where somebody waits for it. */
waiting: Array<LockQueue>, };

/** The locks in use. */
export type ClusterLocks = {
/** When, since the stream began. */
at: number,
/** Some of them, by name. */
locks: Array<ClusterLock>,
/** How many there are. */
total: number,
/** Members that did not answer: what is held there is not listed. */
silent: Array<number>,
/** What was asked for from the page. */
tries: Array<ClusterTry>, };

/** A member. */
export type ClusterNode = {
/** Which. */
node: number,
/** Where it listens for other nodes. */
address: string,
/** Whether it takes part. */
state: MemberState,
/** What it says of itself, if it can be looked into from here. */
own: OwnStatus | null, };

/** Nodes and links, and what they have sent. */
export type ClusterStatus = {
/** When, since the stream began. */
at: number,
/** All members. */
nodes: Array<ClusterNode>,
/** From each node that can be looked into to each other one. */
links: Array<ClusterLink>,
/** The epoch of the latest view. */
epoch: number,
/** Who belongs to it. */
members: Array<number>,
/** Who leads the voters, if there are any and that is known. */
leader: number | null,
/** Who decides who belongs to the cluster; nobody if that never changes. */
voters: Array<number>, };

/** A lock that was asked for from the page. */
export type ClusterTry = {
/** At which node. */
node: number,
/** Which lock. */
lock: string,
/** The fence of the entry, as digits; none while it waits. */
fence: string | null, };

/** A cluster as it is now. */
export type ClusterView = {
/** Its name. */
name: string,
/** The algorithm for locks that no prefix says otherwise of. */
algorithm: string,
/** Algorithms by prefix of the lock's name. */
prefixes: Array<[string, string]>,
/** Whether locks may be taken from the page. */
may_try: boolean,
/** Whether members may be killed, restarted, paused and cut off from the page. */
may_act: boolean,
/** Its nodes and links. */
status: ClusterStatus,
/** Its locks. */
locks: ClusterLocks, };

/** Events that were left out because there were too many. */
export type Lagged = {
/** When that was noticed, since the stream began. */
at: number,
/** How many. */
missed: number, };

/** What can happen to a lock at a node. */
export type LockChange = "requested" | "granted" | "released" | "withdrawn" | "lost";

/** Something that happened to the chosen lock at a node. */
export type LockEvent = {
/** When, since the stream began. */
at: number,
/** Where. */
node: number,
/** What. */
what: LockChange,
/** The fence of the entry, as digits, where there is one. */
fence: string | null, };

/** Whoever holds a lock. */
export type LockHolder = {
/** At which node. */
node: number,
/** The fence of the entry, as digits. */
fence: string,
/** For how long. */
held: number,
/** What it calls itself; empty if it has not said. */
owner: string, };

/** Who waits for a lock at one node. */
export type LockQueue = {
/** At which node. */
node: number,
/** How many. */
waiters: number, };

/** How a member stands. */
export type MemberState = "member" | "entering" | "killed" | "paused" | "cut" | "halted";

/** A message of the chosen lock, at one of its ends. */
export type MessageEvent = {
/** When, since the stream began. */
at: number,
/** Its number on the link between these two: the same at both ends. */
number: number,
/** Who sent it. */
from: number,
/** Who takes it. */
to: number,
/** Its name in the paper. */
label: string,
/** What is written beside it; may be empty. */
payload: string,
/** Whether it was taken; sent otherwise. */
received: boolean, };

/** How many messages of one kind. */
export type MessageTally = {
/** Of which algorithm. */
algorithm: string,
/** Its name in the paper. */
label: string,
/** How many were sent. */
sent: number,
/** How many were taken. */
received: number, };

/** What a node says of itself. */
export type OwnStatus = {
/** Where it answers clients. */
api: Array<string>,
/** The view's epoch. */
epoch: number,
/** For how long it may still act on its own; none if it needs nobody's word. */
lease: number | null,
/** For how long it has been up. */
up: number,
/** Whether it takes no more requests. */
leaving: boolean,
/** Why it grants nothing any more, if so. */
halted: string | null,
/** Whom it has not met; locks whose home it is are not granted before. */
awaited: Array<number>,
/** Locks held at it. */
held: number,
/** Requests waiting at it. */
waiters: number,
/** Entries since it started. */
entries: number,
/** Messages since it started, by kind. */
messages: Array<MessageTally>, };

/** Asks for a lock from the page. */
export type TryAcquire = {
/** At which node. */
node: number,
/** Which lock. */
lock: string,
/** Let go of it by itself after so long. */
hold?: number, };

/** Gives a lock back that was asked for from the page. */
export type TryRelease = {
/** At which node. */
node: number,
/** Which lock. */
lock: string, };

/** Why something cannot be done. */
export type Failure = {
/** A sentence that names the cause and the remedy. */
error: string, };

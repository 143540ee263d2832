//! What the records of a run add up to: stretches of time at a node, and messages from end to end.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;
use skeptron_core::NodeId;
use skeptron_core::election::Epoch;

use super::message::{self, Reader};
use super::{Loss, Record, Ticks, Trace, What};

/// What a node is doing for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Doing {
    Waiting,
    Inside {
        fence: u64,
    },
    /// It names itself the leader.
    Leading {
        epoch: Epoch,
    },
    Down,
    Paused,
}

impl Doing {
    /// Whether a request is being served.
    fn is_asking(self) -> bool {
        matches!(self, Doing::Waiting | Doing::Inside { .. })
    }
}

/// A stretch of time at one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) node: NodeId,
    pub(super) doing: Doing,
    pub(super) from: Ticks,
    pub(super) to: Ticks,
}

/// How a message ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Delivered(Ticks),
    Lost(Ticks, Loss),
    /// It is still on its way when the records end.
    UnderWay,
}

/// One copy of a message, from end to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Arrow<'a> {
    pub(super) id: u64,
    /// The message that was sent: another one if this is a copy.
    pub(super) original: u64,
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) label: &'a str,
    pub(super) message: &'a Value,
    pub(super) sent: Ticks,
    pub(super) end: End,
    /// Whether the network made it.
    pub(super) copy: bool,
}

/// The whole run. Records that fit nothing before them are left out.
#[derive(Debug)]
pub(super) struct Timeline<'a> {
    /// By beginning, the longer one first.
    pub(super) spans: Vec<Span>,
    /// By sending.
    pub(super) arrows: Vec<Arrow<'a>>,
    pub(super) begin: Ticks,
    pub(super) end: Ticks,
    by_id: BTreeMap<u64, usize>,
    reader: Reader,
}

impl<'a> Timeline<'a> {
    pub(super) fn of(trace: &'a Trace) -> Self {
        Timeline::read(&trace.records, Reader::of(&trace.header))
    }

    fn read(records: &'a [Record], reader: Reader) -> Self {
        let (spans, arrows, by_id) = (Vec::new(), Vec::new(), BTreeMap::new());
        let mut timeline = Timeline { spans, arrows, begin: 0, end: 0, by_id, reader };
        let mut open = Open::default();
        for record in records {
            timeline.end = timeline.end.max(record.t);
            open.take(record, &mut timeline.spans);
            timeline.take(record);
        }
        open.close_all(timeline.end, &mut timeline.spans);
        timeline.spans.sort_by_key(|span| (span.from, std::cmp::Reverse(span.to), span.node));
        timeline
    }

    /// What is to be seen in some of the records: the messages that are under way in them, and what the
    /// nodes do since the first of those was sent.
    pub(super) fn within(trace: &'a Trace, part: Range<usize>) -> Self {
        let (records, reader) = (&trace.records, Reader::of(&trace.header));
        let mut timeline = Timeline::read(&records[..part.end], reader);
        if part.start == 0 {
            return timeline;
        }
        let before = Timeline::read(&records[..part.start], reader);
        let ended = |index: usize| before.arrows.get(index).is_some_and(|a| a.end != End::UnderWay);
        let all = std::mem::take(&mut timeline.arrows).into_iter().enumerate();
        timeline.arrows = all.filter(|&(i, _)| !ended(i)).map(|(_, arrow)| arrow).collect();
        let places = timeline.arrows.iter().enumerate().map(|(index, arrow)| (arrow.id, index));
        timeline.by_id = places.collect();
        let first = records.get(part.start).map_or(timeline.end, |record| record.t);
        let begin =
            timeline.arrows.iter().map(|arrow| arrow.sent).min().unwrap_or(first).min(first);
        timeline.begin = begin;
        timeline.spans.retain(|span| span.to >= begin);
        for span in &mut timeline.spans {
            span.from = span.from.max(begin);
        }
        timeline
    }

    fn take(&mut self, record: &'a Record) {
        let (t, node) = (record.t, record.node);
        match &record.what {
            What::Send { id, to, label, message } => self.push(Arrow {
                id: *id,
                original: *id,
                from: node,
                to: *to,
                label,
                message,
                sent: t,
                end: End::UnderWay,
                copy: false,
            }),
            What::Duplicate { id, of } => {
                if let Some(original) = self.arrow(*of).cloned() {
                    self.push(Arrow {
                        id: *id,
                        sent: t,
                        end: End::UnderWay,
                        copy: true,
                        ..original
                    });
                }
            }
            What::Deliver { id } => self.finish(*id, End::Delivered(t)),
            What::Lose { id, cause } => self.finish(*id, End::Lost(t, *cause)),
            _ => {}
        }
    }

    fn push(&mut self, arrow: Arrow<'a>) {
        self.by_id.insert(arrow.id, self.arrows.len());
        self.arrows.push(arrow);
    }

    fn finish(&mut self, id: u64, end: End) {
        if let Some(&index) = self.by_id.get(&id) {
            self.arrows[index].end = end;
        }
    }

    /// The median time that a message takes; a unit if none arrives or they take none.
    pub(super) fn transit(&self, unit: Ticks) -> Ticks {
        let mut times: Vec<_> = self
            .arrows
            .iter()
            .filter_map(|arrow| match arrow.end {
                End::Delivered(t) => Some(t.saturating_sub(arrow.sent)),
                _ => None,
            })
            .collect();
        times.sort_unstable();
        match times.get(times.len() / 2) {
            None | Some(0) => unit,
            Some(&median) => median,
        }
    }

    /// What a message is called: `REQUEST 41`.
    pub(super) fn name(&self, arrow: &Arrow) -> String {
        let said = self.reader.read(arrow.message);
        message::name(arrow.label, said.as_ref().map_or("", |said| &said.payload))
    }

    /// The message with this number.
    pub(super) fn arrow(&self, id: u64) -> Option<&Arrow<'a>> {
        self.by_id.get(&id).map(|&index| &self.arrows[index])
    }
}

/// The stretches that have begun and not ended, while one goes through the records.
#[derive(Default)]
pub(super) struct Open {
    spans: BTreeMap<NodeId, Vec<(Doing, Ticks)>>,
    /// Whose request may still be refused.
    asked: Option<NodeId>,
}

impl Open {
    /// What `node` is doing, the latest first.
    pub(super) fn at(&self, node: NodeId) -> impl Iterator<Item = Doing> {
        self.spans.get(&node).into_iter().flatten().rev().map(|&(doing, _)| doing)
    }

    /// Takes the next record; what ends with it is added to `done`.
    pub(super) fn take(&mut self, record: &Record, done: &mut Vec<Span>) {
        let (t, node) = (record.t, record.node);
        let spans = self.spans.entry(node).or_default();
        let asking = spans.iter().any(|&(doing, _)| doing.is_asking());
        let mut close = |ends: &dyn Fn(Doing) -> bool| {
            spans.retain(|&(doing, from)| {
                if ends(doing) {
                    done.push(Span { node, doing, from, to: t });
                }
                !ends(doing)
            });
        };
        let asked = self.asked.take();
        match record.what {
            What::Request if !asking => {
                spans.push((Doing::Waiting, t));
                self.asked = Some(node);
            }
            What::Refuse { .. } if asked == Some(node) => {
                spans.retain(|&(doing, _)| doing != Doing::Waiting);
            }
            What::Enter { fence } => {
                close(&|doing| doing == Doing::Waiting);
                spans.push((Doing::Inside { fence }, t));
            }
            What::Call if !asking => spans.push((Doing::Waiting, t)),
            // Whoever leads on in a later epoch begins a new stretch.
            What::Elect { leader, epoch } => {
                close(&|doing| doing == Doing::Waiting || matches!(doing, Doing::Leading { .. }));
                if leader == node {
                    spans.push((Doing::Leading { epoch }, t));
                }
            }
            What::Release => close(&|doing| matches!(doing, Doing::Inside { .. })),
            What::Crash => {
                close(&|_| true);
                spans.push((Doing::Down, t));
            }
            What::Restart => close(&|_| true),
            What::Pause => spans.push((Doing::Paused, t)),
            What::Resume => close(&|doing| doing == Doing::Paused),
            _ => {}
        }
    }

    /// The records end here.
    fn close_all(self, end: Ticks, done: &mut Vec<Span>) {
        for (node, spans) in self.spans {
            let open = spans.into_iter();
            done.extend(open.map(|(doing, from)| Span { node, doing, from, to: end.max(from) }));
        }
    }
}

#[cfg(test)]
mod tests {
    use skeptron_core::Setup;
    use skeptron_core::catalogue::Order;

    use super::*;
    use crate::trace::Header;
    use crate::trace::sample::Scene;

    fn record(t: Ticks, what: What) -> Record {
        Record { t, node: NodeId::new(0), what }
    }

    fn spans(records: &[Record]) -> Vec<(Doing, Ticks, Ticks)> {
        let header = Header::of("unknown", &Setup::new(1).unwrap(), Order::Any);
        let timeline = Timeline::read(records, Reader::of(&header));
        timeline.spans.iter().map(|s| (s.doing, s.from, s.to)).collect()
    }

    #[test]
    fn waiting_ends_at_the_entry_and_inside_at_the_release() {
        let records = [
            record(1, What::Request),
            record(3, What::Enter { fence: 5 }),
            record(4, What::Release),
            record(6, What::Request),
            record(9, What::Pause),
        ];
        let inside = Doing::Inside { fence: 5 };
        assert_eq!(
            spans(&records),
            [(Doing::Waiting, 1, 3), (inside, 3, 4), (Doing::Waiting, 6, 9), (Doing::Paused, 9, 9)]
        );
    }

    #[test]
    fn a_refused_request_does_not_wait() {
        let refuse = What::Refuse { why: "busy".into() };
        let asked_twice =
            [record(1, What::Request), record(2, What::Request), record(2, refuse.clone())];
        assert_eq!(spans(&asked_twice), [(Doing::Waiting, 1, 2)]);
        assert_eq!(spans(&[record(1, What::Request), record(1, refuse)]), []);
    }

    #[test]
    fn who_calls_waits_and_whoever_names_itself_leads_until_it_names_another() {
        let epoch = |round| Epoch { round, by: NodeId::new(0) };
        let elect =
            |leader, round| What::Elect { leader: NodeId::new(leader), epoch: epoch(round) };
        let records = [
            record(1, What::Call),
            record(2, What::Call),
            record(3, elect(0, 1)),
            record(5, elect(0, 2)),
            record(7, elect(1, 3)),
        ];
        let leading = |round| Doing::Leading { epoch: epoch(round) };
        assert_eq!(
            spans(&records),
            [(Doing::Waiting, 1, 3), (leading(1), 3, 5), (leading(2), 5, 7)]
        );
    }

    #[test]
    fn a_crash_ends_everything() {
        let records = [
            record(0, What::Request),
            record(1, What::Pause),
            record(2, What::Crash),
            record(5, What::Restart),
        ];
        assert_eq!(
            spans(&records),
            [(Doing::Waiting, 0, 2), (Doing::Paused, 1, 2), (Doing::Down, 2, 5)]
        );
    }

    #[test]
    fn a_part_has_what_is_under_way_in_it_and_begins_when_the_first_of_that_was_sent() {
        let trace = Scene::new(2).play();
        // P1's REPLY, sent on leaving at 2.5, arrives at 3.5.
        let arrives = |r: &Record| r.t == 3500 && matches!(r.what, What::Deliver { .. });
        let start = trace.records.iter().position(arrives).unwrap();
        let part = Timeline::within(&trace, start..start + 2);
        assert_eq!((part.begin, part.end), (2500, 3500));
        assert_eq!(part.arrows.len(), 2, "the REPLY, and P1's next REQUEST");
        assert!(part.arrows.iter().all(|arrow| part.arrow(arrow.id).unwrap().id == arrow.id));
        assert!(part.spans.iter().all(|span| span.from >= 2500));
        let whole = Timeline::within(&trace, 0..trace.records.len());
        assert_eq!(whole.arrows, Timeline::of(&trace).arrows);
    }

    #[test]
    fn every_message_has_an_end() {
        let trace = Scene { lose: &[1], copy: &[2], ..Scene::new(3) }.play();
        let timeline = Timeline::of(&trace);
        assert!(matches!(timeline.arrow(1).unwrap().end, End::Lost(_, Loss::Chance)));
        assert!(!timeline.arrow(2).unwrap().copy);
        let copies = timeline.arrows.iter().filter(|arrow| arrow.copy);
        assert_eq!(
            copies.map(|a| (a.from, a.to)).collect::<Vec<_>>(),
            [{
                let original = timeline.arrow(2).unwrap();
                (original.from, original.to)
            }]
        );
        assert!(timeline.arrows.iter().all(|arrow| arrow.end != End::UnderWay));
    }
}

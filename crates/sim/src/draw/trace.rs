//! The trace format of Perfetto.

use super::Picture;
use crate::timeline::{Activity, MULTIPLICATIONS};
use serde_json::{Value, json};

impl Picture<'_> {
    /// The events of the trace; `process` numbers the picture.
    fn events(&self, process: usize) -> Vec<Value> {
        let name = |kind, id: usize, name: String| json!({"ph": "M", "name": kind, "pid": process, "tid": id, "args": {"name": name}});
        let mut events = vec![name("process_name", 0, self.title.to_owned())];
        for (warp, spans) in self.timeline.warps.iter().enumerate() {
            events.push(name("thread_name", warp, format!("warp {warp}")));
            events.extend(spans.iter().map(|span| {
                let kind = match span.kind {
                    Activity::Busy => "busy",
                    Activity::Wait => "wait",
                    Activity::Barrier => "barrier",
                    Activity::MBarrier => "mbarrier",
                };
                json!({
                    "ph": "X", "name": kind, "pid": process, "tid": warp,
                    "ts": span.start, "dur": span.end - span.start,
                    "args": {"what": self.span(span)},
                })
            }));
        }
        for (i, flight) in self.timeline.copies.iter().enumerate() {
            let id = format!("{process}.{i}");
            let multiplies = &*flight.lane == MULTIPLICATIONS;
            let category = if multiplies { "multiplication" } else { "copy" };
            let event = |phase, ts| {
                json!({
                    "ph": phase, "cat": category, "name": format!("warp {}: {}", flight.warp, flight.lane), "id": id,
                    "pid": process, "tid": flight.warp, "ts": ts, "args": {"what": self.flight(flight)},
                })
            };
            events.push(event("b", flight.issued));
            events.push(event("e", flight.lands));
        }
        events
    }
}

/// The trace of some timelines, a process for each. A cycle is a microsecond in it.
#[must_use]
pub fn trace<'p>(pictures: impl Iterator<Item = &'p Picture<'p>>) -> Value {
    let events: Vec<Value> = pictures
        .enumerate()
        .flat_map(|(i, picture)| picture.events(i))
        .collect();
    json!({ "traceEvents": events })
}

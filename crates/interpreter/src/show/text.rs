//! Findings as text for people, and as JSON for tools.

use super::{Bytes, Cause, Finding, Instance, LastWait};
use serde_json::{Value, json};
use std::fmt::Write;

impl Instance {
    /// `thread 3 of block 0, iteration 2 of the scf.for at kernel.mlir:12:5`
    pub(super) fn text(&self) -> String {
        self.who.clone() + &self.in_iterations()
    }

    /// `gpux.copy at kernel.mlir:13:5, iteration 2 of the scf.for at kernel.mlir:12:5`
    pub(super) fn what(&self) -> String {
        format!("{} at {}{}", self.op, self.location, self.in_iterations())
    }

    fn in_iterations(&self) -> String {
        let mut text = String::new();
        for (iteration, place) in &self.loops {
            let _ = write!(text, ", iteration {iteration} of the {place}");
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        let loops: Vec<Value> = self
            .loops
            .iter()
            .map(|(iteration, place)| json!({ "loop": place, "iteration": iteration }))
            .collect();
        json!({
            "op": self.op,
            "location": self.location,
            "thread": self.thread,
            "block": self.block,
            "loops": loops,
        })
    }
}

impl Finding {
    /// The report for people: several lines.
    #[must_use]
    pub fn text(&self) -> String {
        let severity = if self.note { "note" } else { "error" };
        let (location, op) = (&self.at.location, &self.at.op);
        let mut text = match &self.on {
            Some(_) => {
                let kind = match self.kind {
                    "missing-fence" => "missing fence".to_owned(),
                    "uninitialized-read" => "uninitialized read".to_owned(),
                    kind => format!("{kind} race"),
                };
                format!("{location}: {severity}: {kind}: {op} {}\n", self.message)
            }
            None => format!("{location}: {severity}: {op}: {}\n", self.message),
        };
        let _ = writeln!(text, "  this:    {}", self.at.text());
        if let Some(on) = &self.on {
            on.seen(&mut text);
        }
        if let Some(against) = &self.against {
            let (op, location) = (&against.op, &against.location);
            let label = match self.kind {
                "uninitialized-read" => "nearest:",
                _ => "against:",
            };
            let _ = writeln!(text, "  {label} {op} at {location}, {}", against.text());
        }
        if let Some(on) = &self.on {
            on.place(&mut text);
        }
        if let Some(wait) = &self.last_wait {
            wait.text(&mut text);
        } else if self.cause == Cause::Wait && self.on.is_some() {
            text.push_str("  waited:  not at all before this\n");
        }
        if !self.advice.is_empty() {
            let _ = writeln!(text, "  help:    {}", self.advice);
        }
        text
    }

    /// The report for tools.
    #[must_use]
    pub fn json(&self) -> Value {
        let mut object = json!({
            "kind": self.kind,
            "cause": self.cause.name(),
            "severity": if self.note { "note" } else { "error" },
            "message": self.message,
            "advice": self.advice,
            "at": self.at.json(),
            "against": self.against.as_ref().map(Instance::json),
            "last_wait": self.last_wait.as_ref().map(LastWait::json),
        });
        if let Some(on) = &self.on {
            object["buffer"] = on.buffer.as_str().into();
            object["bytes"] = json!([on.range.0, on.range.1]);
            object["element"] = on.element.as_str().into();
            object["count"] = on.count.into();
            let innermost = on
                .iterations
                .first()
                .map_or(&[][..], |(_, iterations)| iterations);
            object["iterations"] = json!(innermost);
            object["more_iterations"] = on.more.into();
        }
        object
    }
}

impl Bytes {
    fn seen(&self, text: &mut String) {
        let more = if self.more { ", and more" } else { "" };
        for (around, iterations) in &self.iterations {
            let [first, .., last] = iterations.as_slice() else {
                continue;
            };
            let whole = iterations.len() == (last - first + 1) as usize;
            let numbers: Vec<String> = iterations.iter().map(ToString::to_string).collect();
            let numbers = if whole {
                format!("{first} to {last}")
            } else {
                numbers.join(", ")
            };
            let _ = writeln!(text, "           seen in iterations {numbers}{more} of {around}");
        }
    }

    fn place(&self, text: &mut String) {
        let (first, last) = self.range;
        let more = self.count - u64::try_from(last - first + 1).unwrap_or(0);
        let more = match more {
            0 => String::new(),
            1 => " the first time; 1 byte in later accesses".into(),
            more => format!(" the first time; {more} bytes in later accesses"),
        };
        let element = match self.element.as_str() {
            "" => String::new(),
            element => format!(" (from element {element} on)"),
        };
        let bytes = if first == last {
            format!("byte {first}")
        } else {
            format!("bytes {first} to {last}")
        };
        let _ = writeln!(text, "  on:      {bytes} of {}{element}{more}", self.buffer);
    }
}

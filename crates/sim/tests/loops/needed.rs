//! Nothing in a pipelined loop is superfluous: without a barrier, with a version of a buffer fewer, or with a wait that leaves
//! one group more in flight, some run of it is at fault.

use super::nests::{Nest, random_nest};
use super::runs::{MOST_TRIPS, after, calls, is_faulty, meant, shape};
use super::{Loop, Observed, random_loop};
use crate::kernel::{Call, Outcome, context};
use crate::programs::config;
use async_mlir::melior::Context;
use async_mlir::pass::register_pass;
use async_passes::WithFewerVersions;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::Cell;
use std::sync::Once;

/// A loop, perhaps with another one around it.
#[derive(Clone, Debug)]
enum Sample {
    Loop(Loop),
    Nest(Nest),
}

impl Sample {
    fn random() -> impl Strategy<Value = Self> {
        let automatic = (random_loop(), 2..5_u32).prop_map(|(random, stages)| {
            Self::Loop(Loop {
                automatic: Some(stages),
                ..random
            })
        });
        let nest = random_nest().prop_filter("it runs", |nest| nest.rounds != Some(0));
        prop_oneof![
            4 => random_loop().prop_map(Self::Loop),
            2 => automatic,
            1 => nest.prop_map(Self::Nest),
        ]
    }

    fn inner(&mut self) -> &mut Loop {
        match self {
            Self::Loop(inner) | Self::Nest(Nest { inner, .. }) => inner,
        }
    }

    /// Returns true if what it does depends on the pattern.
    fn has_conditions(&self) -> bool {
        match self {
            Self::Loop(inner) => inner.has_conditions(),
            Self::Nest(nest) => nest.inner.has_conditions() || nest.rounds.is_none(),
        }
    }

    fn kernel(&self) -> String {
        match self {
            Self::Loop(inner) => inner.kernel(),
            Self::Nest(nest) => nest.kernel(),
        }
    }
}

/// A loop and its runs.
struct Case {
    context: Context,
    /// The loop, or the one inside of it.
    inner: Loop,
    is_nest: bool,
    source: String,
    calls: Vec<Call>,
    meant: Vec<Outcome>,
}

impl Case {
    fn new(mut sample: Sample, observed: Observed, seed: u64) -> Self {
        static ONCE: Once = Once::new();
        let context = context();
        ONCE.call_once(register_pass::<WithFewerVersions>);
        context.attach_diagnostic_handler(|_| true);
        sample.inner().observed = observed;
        let (source, inner) = (sample.kernel(), sample.inner().clone());
        let calls = calls(&inner, MOST_TRIPS, seed, sample.has_conditions());
        let meant = meant(&context, &source, &calls);
        Self {
            context,
            is_nest: matches!(sample, Sample::Nest(_)),
            inner,
            source,
            calls,
            meant,
        }
    }

    /// The kernel after the passes that its form takes, and these; `None` if they refuse it.
    fn after(&self, passes: &str) -> Option<String> {
        after(
            &self.context,
            &self.source,
            &format!("{}{passes}", self.inner.form.before()),
        )
    }

    /// The same; `None` also where a loop was left as it was, without barriers.
    fn pipelined(&self, passes: &str) -> Option<String> {
        let pipelined = self.after(passes)?;
        let is_left_alone = self.inner.automatic.is_some() && self.is_faulty(&pipelined);
        (!is_left_alone).then_some(pipelined)
    }

    /// Returns true if what is made with options `shape` has no conditions that contradict each other: the analyses take them to be
    /// independent. There are none if it is known how often the loop runs and its last rounds come after it.
    fn is_exact(&self, shape: &str) -> bool {
        !self.is_nest && self.inner.constant.is_some() && shape.contains("peel")
    }

    fn is_faulty(&self, text: &str) -> bool {
        is_faulty(&self.context, text, &self.calls, &self.meant)
    }
}

/// `text` with something else in the place of `length` bytes from `at`.
fn replaced(text: &str, at: usize, length: usize, by: &str) -> String {
    format!("{}{by}{}", &text[..at], &text[at + length..])
}

/// `text` with a barrier before each operation of its kernel, but for loops that threads run differently often.
fn with_barriers_everywhere(text: &str) -> String {
    let mut inside = false;
    // The end of such a loop.
    let mut end: Option<String> = None;
    let mut out = String::new();
    for line in text.lines() {
        let op = line.trim_start();
        if let Some(expected) = &end {
            if line.starts_with(expected.as_str()) {
                end = None;
            }
            out.push_str(line);
            out.push('\n');
            continue;
        }
        if op.contains("scf.for") && op.contains(" = %thread_id_x to ") {
            end = Some(format!("{}}}", &line[..line.len() - op.len()]));
        }
        let is_op = op.starts_with('%')
            || ["memref.", "scf.if", "scf.for", "gpux.", "async."]
                .iter()
                .any(|name| op.starts_with(name));
        if inside && is_op {
            out.push_str("gpu.barrier\n");
        }
        inside |= op.starts_with("gpu.func");
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// What was removed, and what of that nobody missed.
#[derive(Default)]
struct Tally {
    removed: Cell<usize>,
    superfluous: Cell<usize>,
}

impl Tally {
    /// Counts a kernel without something; where `strict`, it has to be at fault.
    fn add(&self, case: &Case, fewer: &str, strict: bool) -> Result<(), TestCaseError> {
        self.removed.set(self.removed.get() + 1);
        if case.is_faulty(fewer) {
            return Ok(());
        }
        self.superfluous.set(self.superfluous.get() + 1);
        println!("superfluous:\n{}\n{fewer}\n// ----", case.source);
        prop_assert!(!strict, "superfluous:\n{}\n{fewer}", case.source);
        Ok(())
    }

    /// Returns true if no more than one in `share` was superfluous.
    fn is_at_most_one_in(&self, share: usize) -> bool {
        println!(
            "{} of {} are superfluous",
            self.superfluous.get(),
            self.removed.get()
        );
        self.superfluous.get() * share <= self.removed.get()
    }
}

/// Random loops, and options of the pass.
fn for_each_loop(cases: u32, test: impl Fn(Sample, &str, u64) -> Result<(), TestCaseError>) {
    let mut runner = TestRunner::new(config(cases));
    let strategy = (Sample::random(), shape(), any::<u64>());
    let result = runner.run(&strategy, |(sample, shape, seed)| test(sample, &shape, seed));
    if let Err(error) = result {
        panic!("{error}");
    }
}

/// Returns true if `text` goes on beyond the end of a loop.
fn is_after_loop(text: &str) -> bool {
    let Some(at) = text.find("scf.for") else {
        return false;
    };
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let indent = text[line..].len() - text[line..].trim_start().len();
    text[at..].contains(&format!("\n{}}}", " ".repeat(indent)))
}

#[test]
fn each_barrier_is_needed() {
    const BARRIER: &str = "gpu.barrier\n";
    // From a kernel to the epilogue, the analysis does not follow which slot is which, so a barrier there may be one too many.
    let (known, unknown) = (Tally::default(), Tally::default());
    for_each_loop(60, |sample, shape, seed| {
        let case = Case::new(sample, Observed::Contents, seed);
        let tally = if case.is_exact(shape) { &known } else { &unknown };
        let Some(pipelined) = case.pipelined(&format!("async-pipeline{{{shape}}}")) else {
            return Ok(());
        };
        for (at, _) in pipelined.match_indices(BARRIER) {
            let fewer = replaced(&pipelined, at, BARRIER.len(), "// No barrier.\n");
            let strict = case.is_exact(shape) && !is_after_loop(&pipelined[..at]);
            tally.add(&case, &fewer, strict)?;
        }
        Ok(())
    });
    assert!(known.is_at_most_one_in(25));
    assert!(unknown.is_at_most_one_in(25));
}

#[test]
fn each_version_is_needed() {
    // A loop inside may fill a buffer anew in its kernel: between that and its prologue, the version is held, but not needed.
    let tally = Tally::default();
    for_each_loop(60, |sample, shape, seed| {
        let case = Case::new(sample, Observed::Contents, seed);
        for buffer in 0.. {
            let options = format!("{shape} insert-barriers=false buffer={buffer}");
            let Some(fewer) = case.after(&format!("test-async-pipeline-fewer-versions{{{options}}}")) else {
                break;
            };
            tally.add(&case, &with_barriers_everywhere(&fewer), !case.is_nest)?;
        }
        Ok(())
    });
    assert!(tally.is_at_most_one_in(50));
}

#[test]
fn each_wait_is_exact() {
    const WAIT: &str = "gpux.wait_group <cp_async>, ";
    let tally = Tally::default();
    for_each_loop(60, |sample, shape, seed| {
        let case = Case::new(sample, Observed::Awaits, seed);
        let passes = format!("async-pipeline{{{shape}}},{}", case.inner.form.counting());
        let Some(counted) = case.pipelined(&passes) else {
            return Ok(());
        };
        for (at, _) in counted.match_indices(WAIT) {
            let number = &counted[at + WAIT.len()..];
            let number = &number[..number.find('\n').expect("an end")];
            let more = number.parse::<u32>().expect("a count") + 1;
            let raised = replaced(
                &counted,
                at + WAIT.len(),
                number.len(),
                &format!("{more} // One more."),
            );
            tally.add(&case, &raised, case.is_exact(shape))?;
        }
        Ok(())
    });
    assert!(tally.is_at_most_one_in(30));
}

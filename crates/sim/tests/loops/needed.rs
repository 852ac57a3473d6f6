//! Nothing in a pipelined loop is superfluous: without a barrier, with a version of a buffer fewer, or with a wait that leaves
//! one group more in flight, some run of it is at fault. The check of what was written refuses a version fewer.

use super::nests::{Nest, random_nest};
use super::runs::{MOST_TRIPS, after, calls, is_faulty, meant, shape};
use super::{Loop, Observed, Stmt, random_loop};
use crate::kernel::{Call, Outcome, context};
use crate::programs::config;
use async_mlir::melior::Context;
use async_mlir::pass::register_pass;
use async_passes::{SpoiledPipeline, WithFewerVersions};
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
        ONCE.call_once(|| {
            register_pass::<WithFewerVersions>();
            register_pass::<SpoiledPipeline>();
        });
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

    /// What is made with options `shape` of it.
    fn class(&self, shape: &str) -> Class {
        if self.is_nest {
            return Class::Nest;
        }
        // Halos: nobody sees that their loops run at least once.
        if self.inner.stmts.iter().any(|stmt| matches!(stmt, Stmt::LoadHalo)) {
            return Class::Guarded;
        }
        // Most statements have the same condition.
        if self.inner.conditions() > 1 {
            return Class::Guarded;
        }
        match (shape.contains("peel"), self.inner.constant.is_some()) {
            (true, true) => Class::Exact,
            (true, false) if shape.contains("branch") => Class::Branch,
            _ => Class::Guarded,
        }
    }

    fn is_faulty(&self, text: &str) -> bool {
        is_faulty(&self.context, text, &self.calls, &self.meant)
    }
}

/// `text` with something else in the place of `length` bytes from `at`.
fn replaced(text: &str, at: usize, length: usize, by: &str) -> String {
    format!("{}{by}{}", &text[..at], &text[at + length..])
}

/// What loops have that threads run differently often.
const FROM_THREAD: &str = " = %thread_id_x to ";

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
        if op.contains("scf.for") && op.contains(FROM_THREAD) {
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

/// What a loop becomes. The analyses take conditions to be independent of each other.
#[derive(Clone, Copy, Debug)]
enum Class {
    /// Code without conditions of its own: it is known how often the loop runs, and its last rounds come after it.
    Exact,
    /// The same beside the loop as it was, for few iterations; it is not known how often it runs.
    Branch,
    /// Code with conditions that imply each other, such as whether iterations exist.
    Guarded,
    /// One loop of two, or two.
    Nest,
}

/// What was removed, and how much of that nobody missed.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    removed: usize,
    superfluous: usize,
}

/// For each class, what is before the end of the loop, and what is after it.
#[derive(Default)]
struct Tallies([Cell<[Tally; 2]>; 4]);

impl Tallies {
    /// Counts a kernel without something; where `strict`, it has to be at fault.
    fn add(
        &self,
        case: &Case,
        (class, after): (Class, bool),
        fewer: &str,
        strict: bool,
    ) -> Result<(), TestCaseError> {
        let is_needed = case.is_faulty(fewer);
        let mut tallies = self.0[class as usize].get();
        let tally = &mut tallies[usize::from(after)];
        tally.removed += 1;
        tally.superfluous += usize::from(!is_needed);
        self.0[class as usize].set(tallies);
        prop_assert!(is_needed || !strict, "superfluous:\n{}\n{fewer}", case.source);
        if !is_needed && std::env::var_os("SHOW").is_some() {
            println!(
                "superfluous {class:?} {after}:\n{}\n{fewer}\n// ----",
                case.source
            );
        }
        Ok(())
    }

    /// Returns true if of each class no more than one in `shares` was superfluous, and one more, for small numbers; 0: none.
    fn are_at_most_one_in(&self, shares: [usize; 4]) -> bool {
        let classes = [Class::Exact, Class::Branch, Class::Guarded, Class::Nest];
        let is_fine = |(class, share): &(Class, usize)| {
            let tallies = self.0[*class as usize].get();
            println!("{class:?}: {tallies:?}");
            let removed: usize = tallies.iter().map(|tally| tally.removed).sum();
            let superfluous: usize = tallies.iter().map(|tally| tally.superfluous).sum();
            match removed.checked_div(*share) {
                Some(expected) => superfluous <= expected + 1,
                None => superfluous == 0,
            }
        };
        let classes = classes.into_iter().zip(shares);
        classes.filter(|class| !is_fine(class)).count() == 0
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

/// Returns true if `text` goes on beyond the end of a loop that all threads run equally often.
fn is_after_loop(text: &str) -> bool {
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.contains("scf.for") && !line.contains(FROM_THREAD) {
            let end = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
            if lines.clone().any(|line| line.starts_with(&end)) {
                return true;
            }
        }
    }
    false
}

#[test]
fn each_barrier_is_needed() {
    const BARRIER: &str = "gpu.barrier\n";
    let tallies = Tallies::default();
    for_each_loop(60, |sample, shape, seed| {
        let case = Case::new(sample, Observed::Contents, seed);
        let class = case.class(shape);
        let Some(pipelined) = case.pipelined(&format!("async-pipeline{{{shape}}}")) else {
            return Ok(());
        };
        for (at, _) in pipelined.match_indices(BARRIER) {
            let fewer = replaced(&pipelined, at, BARRIER.len(), "// No barrier.\n");
            // From a kernel to the epilogue, the analysis does not follow which slot is which.
            let after = is_after_loop(&pipelined[..at]);
            let strict = matches!(class, Class::Exact) && !after;
            tallies.add(&case, (class, after), &fewer, strict)?;
        }
        Ok(())
    });
    assert!(tallies.are_at_most_one_in([50, 30, 40, 15]));
}

#[test]
fn each_version_is_needed() {
    // A loop inside may fill a buffer anew in its kernel: between that and its prologue, the version is held, but not needed.
    let tallies = Tallies::default();
    for_each_loop(60, |sample, shape, seed| {
        let case = Case::new(sample, Observed::Contents, seed);
        for buffer in 0.. {
            let options = format!("{shape} insert-barriers=false buffer={buffer}");
            let fewer_versions =
                |more: &str| case.after(&format!("test-async-pipeline-fewer-versions{{{options}{more}}}"));
            let Some(fewer) = fewer_versions(" verify-result=false") else {
                break;
            };
            prop_assert!(
                fewer_versions("").is_none(),
                "not refused:\n{}\n{fewer}",
                case.source
            );
            let class = case.class(shape);
            tallies.add(
                &case,
                (class, false),
                &with_barriers_everywhere(&fewer),
                !case.is_nest,
            )?;
        }
        Ok(())
    });
    assert!(tallies.are_at_most_one_in([0, 0, 0, 10]));
}

/// What a loop has become is changed before it is checked: the check refuses that, or it is not at fault.
#[test]
fn changes_that_do_harm_are_refused() {
    let (refused, harmless) = (Cell::new(0), Cell::new(0));
    for_each_loop(40, |sample, shape, seed| {
        let case = Case::new(sample, Observed::Contents, seed);
        let few = usize::try_from(seed % 11).unwrap_or(0);
        for change in (few..).step_by(11) {
            let options = format!("{shape} insert-barriers=false change={change}");
            let changed = |more: &str| case.after(&format!("test-async-pipeline-spoiled{{{options}{more}}}"));
            let Some(unchecked) = changed(" verify-result=false") else {
                break;
            };
            if changed("").is_none() {
                refused.set(refused.get() + 1);
                continue;
            }
            harmless.set(harmless.get() + 1);
            // What nobody uses may be computed of anything.
            let used = after(&case.context, &unchecked, "canonicalize").unwrap_or_else(|| unchecked.clone());
            let is_faulty = case.is_faulty(&with_barriers_everywhere(&used));
            prop_assert!(!is_faulty, "not refused:\n{}\n{unchecked}", case.source);
        }
        Ok(())
    });
    println!("{} changes refused, {} harmless", refused.get(), harmless.get());
    assert!(refused.get() > 4 * harmless.get());
}

#[test]
fn each_wait_is_exact() {
    const WAIT: &str = "gpux.wait_group <cp_async>, ";
    let tallies = Tallies::default();
    for_each_loop(60, |sample, shape, seed| {
        let case = Case::new(sample, Observed::Awaits, seed);
        let class = case.class(shape);
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
            let after = is_after_loop(&counted[..at]);
            let strict = matches!(class, Class::Exact);
            tallies.add(&case, (class, after), &raised, strict)?;
        }
        Ok(())
    });
    assert!(tallies.are_at_most_one_in([0, 25, 30, 20]));
}

//! `explain`: remarks that say what each wait waits for and why its count is what it is, and which group each commit
//! closes and why it stands where it does.

mod commits;

use super::block_wide_stores::BlockWideStores;
use crate::analysis::skeleton::Skeleton;
use async_dialects::completion::{Completion, GroupEffect, GroupQueue};
use async_mlir::diagnostic::Diagnostic;
use async_mlir::ir::Op;
use async_mlir::location::position;
use async_mlir::melior::ir::Location;
use async_mlir::names::{affine, scf};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use tokenflow::{
    Await, Count, Item, Options, Queue, QueueSolution, Site, Solution, Step, Token, Witness, witness,
};

/// Emits a remark at every commit, and at every await except those in `silent`: the operations that it waits for, an execution that allows
/// no larger count, and what a wait for everything would have waited for unnecessarily.
pub(super) fn explain<'c>(
    skeleton: &Skeleton<'c>,
    solution: &Solution,
    stores: &BlockWideStores<'c>,
    silent: &FxHashSet<Op<'c>>,
    options: &Options,
) {
    commits::explain(skeleton, solution, options);
    let explainer = Explainer {
        skeleton,
        awaited: Awaited::new(skeleton),
        drop_implied: options.drop_implied,
    };
    let escapes: FxHashSet<Op> = skeleton.escapes.iter().map(|(op, _)| *op).collect();
    for (w, &op) in (0..).map(Await).zip(&skeleton.awaits) {
        if silent.contains(&op) || escapes.contains(&op) {
            continue;
        }
        let mut any = false;
        for ((&queue, solved), number) in skeleton.queues.iter().zip(&solution.queues).zip(0..) {
            for (reads, waits) in [(false, &solved.waits), (true, &solved.reads)] {
                if let Some(count) = waits[w.0 as usize] {
                    any = true;
                    let what = Waited {
                        queue,
                        number: Queue(number),
                        reads,
                    };
                    explainer.wait(what, solved, w, count);
                }
            }
        }
        if !any {
            let message = if stores.needs_barrier(w.0 as usize) {
                "no wait, but a barrier: on every path that leads here the awaited operations are complete for the thread \
                 that issued them, by waits of the input"
            } else {
                "no wait: the awaited copies are complete on every path that leads here"
            };
            Diagnostic::remark(op.location(), message).emit();
        }
    }
}

struct Explainer<'a, 'c> {
    skeleton: &'a Skeleton<'c>,
    awaited: Awaited<'c>,
    drop_implied: bool,
}

/// What a wait is for: the operations of a queue, or their reads.
#[derive(Clone, Copy)]
struct Waited {
    queue: GroupQueue,
    number: Queue,
    reads: bool,
}

impl Waited {
    /// `read`, as in the wait.
    fn keyword(self) -> &'static str {
        if self.reads { " read" } else { "" }
    }
}

impl<'c> Explainer<'_, 'c> {
    fn wait(&self, what: Waited, solved: &QueueSolution, w: Await, count: Count) {
        let op = self.skeleton.awaits[w.0 as usize];
        let most = what.queue.max_pending();
        let count = Count {
            n: count.n.min(most),
            clamped: count.clamped || count.n > most,
        };
        let by = self.awaited.by(w, what.number, what.reads);
        // The search for an execution follows copies.
        let groups_by_hand = by
            .iter()
            .any(|&op| Completion::of(op).is_some_and(|completion| completion.effect == GroupEffect::Commit));
        let message = format!(
            "wait_group <{}>, {}{}: waits for {}{}",
            what.queue.name(),
            count.n,
            what.keyword(),
            if what.reads { "the reads of " } else { "" },
            places(by.into_iter())
        );
        let remark = Diagnostic::remark(op.location(), message);
        let remark = if count.clamped {
            remark.note(
                op.location(),
                format!("more groups may stay in flight, but the hardware counts no further than {most}"),
            )
        } else if let Some(witness) = witness(&self.skeleton.program, what.number, solved, w, what.reads) {
            self.bound(remark, what, op, &witness, count)
        } else if groups_by_hand {
            remark
        } else if self.drop_implied {
            remark.note(
                op.location(),
                "no short execution needs this count, except through an earlier instance of the same wait",
            )
        } else {
            remark.note(
                op.location(),
                "the count is the distance in the queue: other waits have already completed what this wait is for",
            )
        };
        remark.emit();
    }

    /// Adds the execution that allows no larger count.
    fn bound(
        &self,
        remark: Diagnostic<'c>,
        what: Waited,
        op: Op<'c>,
        witness: &Witness,
        count: Count,
    ) -> Diagnostic<'c> {
        let site = self.skeleton.sites[witness.site.0 as usize];
        let message = format!(
            "{} committed after this one when the wait is reached by: {}",
            groups(count.n),
            path(self.skeleton, &witness.steps)
        );
        let remark = remark.note(site.location(), message);
        let vain = in_vain(witness, count.n);
        if vain.is_empty() {
            return remark;
        }
        let vain = vain.iter().map(|site| self.skeleton.sites[site.0 as usize]);
        let message = format!(
            "wait_group 0{} would wait for these unnecessarily there: {}",
            what.keyword(),
            places(vain)
        );
        remark.note(op.location(), message)
    }
}

/// `gpux.copy at 12:8, gpux.copy at 13:8`
fn places<'c>(ops: impl Iterator<Item = Op<'c>>) -> String {
    let places: Vec<String> = ops.map(place).collect();
    places.join(", ")
}

fn groups(n: u8) -> String {
    match n {
        0 => "no group is".into(),
        1 => "1 group is".into(),
        n => format!("{n} groups are"),
    }
}

/// The operations that are in flight and younger than what the wait waits for.
fn in_vain(witness: &Witness, n: u8) -> BTreeSet<Site> {
    let younger = witness
        .in_flight
        .iter()
        .filter(|(_, age)| age.is_some_and(|age| age < n));
    younger.map(|(site, _)| *site).collect()
}

/// Describes an execution by the choices that it makes.
fn path(skeleton: &Skeleton, steps: &[Step]) -> String {
    let mut parts: Vec<(String, usize)> = Vec::new();
    let graphs = graphs(skeleton);
    for step in steps {
        let (op, regions) = &skeleton.graphs[step.graph];
        let edges = &graphs[step.graph].blocks[step.block].edges;
        if edges.len() < 2 {
            continue;
        }
        let to = match edges[step.edge].to {
            tokenflow::Target::Exit => None,
            tokenflow::Target::Block(block) => Some(block),
        };
        let choice = match (op.name(), to.map(|block| regions[block])) {
            _ if op.is_function() => format!("branch to block {} of the function", to.unwrap_or(0)),
            (scf::IF | affine::IF, Some(Some(0))) => format!("then of {}", place(*op)),
            (scf::IF | affine::IF, _) => format!("not then of {}", place(*op)),
            (_, None | Some(None)) => format!("leave {}", place(*op)),
            (_, Some(Some(0))) if op.num_regions() == 1 => format!("iterate {}", place(*op)),
            (_, Some(Some(region))) => format!("region {region} of {}", place(*op)),
        };
        match parts.last_mut() {
            Some((last, times)) if *last == choice => *times += 1,
            _ => parts.push((choice, 1)),
        }
    }
    if parts.is_empty() {
        return "the only path".into();
    }
    let parts: Vec<String> = parts
        .into_iter()
        .map(|(choice, times)| {
            if times == 1 {
                choice
            } else {
                format!("{choice} ({times} times)")
            }
        })
        .collect();
    parts.join(", ")
}

/// The graphs of the program in the order of [`Skeleton::graphs`].
fn graphs<'a>(skeleton: &'a Skeleton) -> Vec<&'a tokenflow::Graph> {
    let mut graphs = vec![&skeleton.program.body];
    skeleton
        .program
        .body
        .visit(&mut |item: &'a Item| graphs.extend(item.graph()));
    graphs
}

/// `gpux.copy at 12:8`
fn place(op: Op) -> String {
    format!("{} at {}", op.name(), short(op.location()))
}

/// The line and column of a location, or all of it if it has none.
fn short(location: Location) -> String {
    position(location).map_or_else(
        || location.to_string(),
        |place| format!("{}:{}", place.line, place.column),
    )
}

/// Which operations each await names.
struct Awaited<'c> {
    tokens: FxHashMap<Await, Vec<Token>>,
    into: FxHashMap<Token, Vec<Token>>,
    /// The queue and the operation that makes a token, and whether it is that of the reads.
    makers: BTreeMap<Token, (Queue, bool, Op<'c>)>,
}

impl<'c> Awaited<'c> {
    fn new(skeleton: &Skeleton<'c>) -> Self {
        let mut into: FxHashMap<Token, Vec<Token>> = FxHashMap::default();
        for &(from, to) in skeleton.bindings.iter().chain(&skeleton.joins) {
            into.entry(to).or_default().push(from);
        }
        let ops = skeleton.tokens.iter();
        let ops: FxHashMap<Token, Op> = ops
            .filter_map(|(value, &token)| Some((token, value.defining_op()?)))
            .collect();
        let (mut tokens, mut makers) = (FxHashMap::default(), BTreeMap::new());
        skeleton.program.body.visit(&mut |item| match item {
            Item::Await { site, tokens: of, .. } => {
                tokens.insert(*site, of.clone());
            }
            Item::Issue {
                queue, token, read, ..
            } => {
                for (token, reads) in [(token, false), (read, true)] {
                    let maker = token.and_then(|token| Some((token, (*queue, reads, *ops.get(&token)?))));
                    makers.extend(maker);
                }
            }
            Item::Commit {
                queue,
                token: Some(token),
            } => {
                makers.extend(ops.get(token).map(|&op| (*token, (*queue, false, op))));
            }
            _ => {}
        });
        Self { tokens, into, makers }
    }

    /// The operations of `queue` that `w` names, or those whose reads it names.
    fn by(&self, w: Await, queue: Queue, reads: bool) -> Vec<Op<'c>> {
        let mut seen: BTreeSet<Token> = BTreeSet::new();
        let mut work = self.tokens.get(&w).cloned().unwrap_or_default();
        while let Some(token) = work.pop() {
            if seen.insert(token) {
                work.extend(self.into.get(&token).into_iter().flatten());
            }
        }
        let makers = seen.iter().filter_map(|token| self.makers.get(token));
        makers
            .filter(|(of, of_reads, _)| (*of, *of_reads) == (queue, reads))
            .map(|(_, _, op)| *op)
            .collect()
    }
}

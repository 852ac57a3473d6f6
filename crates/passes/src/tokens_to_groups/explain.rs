//! `explain`: remarks that say what each wait waits for, and why its count is what it is.

use crate::analysis::skeleton::Skeleton;
use crate::analysis::vocabulary::HardwareQueue;
use async_dialects::diagnostic::Diagnostic;
use async_dialects::ir::Op;
use async_dialects::melior::ir::Location;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tokenflow::{Await, Item, Queue, QueueSolution, Site, Solution, Step, Token, Witness, witness};

/// Emits a remark at every await: the operations that it waits for, an execution that binds its count, and what a wait
/// for everything would have waited for in vain.
pub(super) fn explain(skeleton: &Skeleton, solution: &Solution) {
    let awaited = Awaited::new(skeleton);
    for (w, &op) in (0..).map(Await).zip(&skeleton.awaits) {
        let mut any = false;
        for ((&queue, solved), number) in skeleton.queues.iter().zip(&solution.queues).zip(0..) {
            if solved.waits[w.0 as usize].is_some() {
                any = true;
                explain_wait(skeleton, &awaited, (queue, Queue(number)), solved, w);
            }
        }
        if !any {
            Diagnostic::remark(
                op.location(),
                "no wait: the awaited copies are complete on every path that leads here",
            )
            .emit();
        }
    }
}

fn explain_wait(
    skeleton: &Skeleton,
    awaited: &Awaited,
    (queue, number): (HardwareQueue, Queue),
    solved: &QueueSolution,
    w: Await,
) {
    let Some(count) = solved.waits[w.0 as usize] else {
        return;
    };
    let op = skeleton.awaits[w.0 as usize];
    let places = |sites: &BTreeSet<Site>| {
        let places: Vec<String> = sites
            .iter()
            .map(|site| place(skeleton.sites[site.0 as usize]))
            .collect();
        places.join(", ")
    };
    let sites = awaited.sites(w);
    let what = if sites.is_empty() {
        "a group that is committed by hand".into()
    } else {
        places(&sites)
    };
    let message = format!("wait_group <{}>, {}: waits for {what}", queue.name(), count.n);
    let mut remark = Diagnostic::remark(op.location(), message);
    if count.clamped {
        remark = remark.note(
            op.location(),
            "more groups may stay in flight, but the hardware counts no further than 63",
        );
    } else if let Some(witness) = witness(&skeleton.program, number, solved, w) {
        let site = skeleton.sites[witness.site.0 as usize];
        let message = format!(
            "{} committed after this one when the wait is reached by: {}",
            groups(count.n),
            path(skeleton, &witness.steps)
        );
        remark = remark.note(site.location(), message);
        let vain = in_vain(&witness, count.n);
        if !vain.is_empty() {
            let message = format!(
                "wait_group 0 would wait for these in vain there: {}",
                places(&vain)
            );
            remark = remark.note(op.location(), message);
        }
    } else {
        let message =
            "no short execution binds this count other than through an earlier instance of the same wait";
        remark = remark.note(op.location(), message);
    }
    remark.emit();
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
            ("scf.if" | "affine.if", Some(Some(0))) => format!("then of {}", place(*op)),
            ("scf.if" | "affine.if", _) => format!("not then of {}", place(*op)),
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
    let text = location.to_string();
    let place = text
        .rsplit_once("\":")
        .map(|(_, place)| place.trim_end_matches(')').to_owned());
    place.unwrap_or(text)
}

/// Which operations each await names.
struct Awaited {
    tokens: HashMap<Await, Vec<Token>>,
    into: BTreeMap<Token, Vec<Token>>,
    site_of: HashMap<Token, Site>,
}

impl Awaited {
    fn new(skeleton: &Skeleton) -> Self {
        let mut into: BTreeMap<Token, Vec<Token>> = BTreeMap::new();
        for &(from, to) in skeleton.bindings.iter().chain(&skeleton.joins) {
            into.entry(to).or_default().push(from);
        }
        let (mut tokens, mut site_of) = (HashMap::new(), HashMap::new());
        skeleton.program.body.visit(&mut |item| match item {
            Item::Await { site, tokens: of } => {
                tokens.insert(*site, of.clone());
            }
            Item::Issue {
                site,
                token: Some(token),
                ..
            } => {
                site_of.insert(*token, *site);
            }
            _ => {}
        });
        Self {
            tokens,
            into,
            site_of,
        }
    }

    fn sites(&self, w: Await) -> BTreeSet<Site> {
        let mut seen: BTreeSet<Token> = BTreeSet::new();
        let mut work = self.tokens.get(&w).cloned().unwrap_or_default();
        while let Some(token) = work.pop() {
            if seen.insert(token) {
                work.extend(self.into.get(&token).into_iter().flatten());
            }
        }
        seen.iter()
            .filter_map(|token| self.site_of.get(token).copied())
            .collect()
    }
}

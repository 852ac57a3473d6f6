//! Random graphs of tasks of all kinds, with 1, 2 and 8 workers: each task runs once and after its dependencies. With an error in each
//! task in turn: what depends on it is skipped, all else runs. Everything is freed.

mod common;

use std::{
    cell::UnsafeCell,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use common::*;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Kind {
    Task,
    Join,
    /// A task that starts another, whose token delays its own.
    Nested,
    /// A coroutine that awaits an earlier token.
    Suspends,
}

#[derive(Clone, Debug)]
struct Node {
    kind: Kind,
    after: Vec<usize>,
    /// What a coroutine awaits, or what the inner task of a nested one waits for.
    later: usize,
    /// Whether the test lets go of the token at once.
    unheld: bool,
}

#[derive(Clone, Debug)]
struct Graph {
    nodes: Vec<Node>,
    /// In which order nodes are submitted.
    order: Vec<usize>,
}

fn graphs() -> impl Strategy<Value = Graph> {
    let kind = prop_oneof![
        4 => Just(Kind::Task),
        1 => Just(Kind::Join),
        1 => Just(Kind::Nested),
        1 => Just(Kind::Suspends),
    ];
    let node = (
        kind,
        prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        any::<prop::sample::Index>(),
        any::<bool>(),
    );
    prop::collection::vec(node, 1..24).prop_flat_map(|nodes| {
        let nodes: Vec<_> = nodes
            .into_iter()
            .enumerate()
            .map(|(i, (kind, after, later, unheld))| Node {
                // The first has nothing to wait for.
                kind: if i == 0 { Kind::Task } else { kind },
                after: after
                    .iter()
                    .filter(|_| i > 0)
                    .map(|on| on.index(i.max(1)))
                    .collect(),
                later: later.index(i.max(1)),
                unheld,
            })
            .collect();
        let order: Vec<_> = (0..nodes.len()).collect();
        (Just(nodes), Just(order).prop_shuffle()).prop_map(|(nodes, order)| Graph { nodes, order })
    })
}

/// What a task delivers: memory that only tokens order, as the thread sanitizer sees.
struct Result(UnsafeCell<usize>);

// SAFETY: a task writes it, and only those after it read it.
unsafe impl Sync for Result {}

/// What the tasks of a run note.
struct Notes {
    results: Vec<Result>,
    /// How often each body ended.
    ended: Vec<AtomicUsize>,
    /// What was wrong.
    faults: AtomicUsize,
}

impl Notes {
    fn check(&self, right: bool) {
        self.faults.fetch_add(usize::from(!right), Ordering::Relaxed);
    }
}

/// Makes node `i`, which fails if `fails`.
fn make(graph: &Graph, i: usize, fails: bool, tokens: &[Tok], notes: &Arc<Notes>) -> Tok {
    let node = &graph.nodes[i];
    let after: Vec<_> = node.after.iter().map(|&on| tokens[on].clone()).collect();
    let later = tokens.get(node.later).cloned();
    let token = if let Kind::Join = node.kind {
        Tok::open()
    } else {
        let (kind, notes, after) = (node.kind, notes.clone(), after.clone());
        let tasks = node
            .after
            .iter()
            .filter(|&&on| !matches!(graph.nodes[on].kind, Kind::Join));
        let inputs: Vec<_> = tasks.copied().collect();
        open_task(move |this| {
            // Others get their turn, so that tasks are on several threads.
            std::thread::yield_now();
            // SAFETY: these tasks are complete.
            let read = |on: usize| unsafe { *notes.results[on].0.get() };
            notes.check(inputs.into_iter().all(|on| read(on) == on + 1));
            notes.check(after.iter().all(|on| on.state() == COMPLETE));
            drop(after);
            let end = move |this: &Tok| {
                notes.ended[i].fetch_add(1, Ordering::Relaxed);
                // SAFETY: what reads it is after this task.
                unsafe { *notes.results[i].0.get() = i + 1 };
                if fails {
                    this.fail(c"graph.mlir:1:1", c"failed");
                }
            };
            match (kind, later) {
                (Kind::Nested, Some(later)) => {
                    this.depend(&task(&[&later], |_| DONE));
                    end(this);
                    DONE
                }
                (Kind::Suspends, Some(later)) => {
                    let this = this.clone();
                    later.clone().then(move || {
                        match later.state() {
                            COMPLETE => end(&this),
                            _ => this.fail_from(&later),
                        }
                        drop(later);
                        this.complete();
                    });
                    SUSPENDED
                }
                _ => {
                    end(this);
                    DONE
                }
            }
        })
    };
    for on in &after {
        token.depend(on);
    }
    token
}

/// Which nodes run their bodies to the end, and which fail, if node `fails` does.
fn expected(graph: &Graph, fails: Option<usize>) -> Vec<(bool, bool)> {
    let mut all: Vec<(bool, bool)> = vec![];
    for (i, node) in graph.nodes.iter().enumerate() {
        let skipped = node.after.iter().any(|&on| all[on].1);
        let later = i > 0 && all[node.later].1;
        let fails = fails == Some(i);
        all.push(match node.kind {
            Kind::Join => (false, skipped),
            Kind::Task => (!skipped, skipped || fails),
            Kind::Nested => (!skipped, skipped || fails || later),
            Kind::Suspends => (!skipped && !later, skipped || fails || later),
        });
    }
    all
}

fn run(graph: &Graph, workers: i32, fails: Option<usize>) {
    let session = session(workers);
    let count = graph.nodes.len();
    let notes = Arc::new(Notes {
        results: (0..count).map(|_| Result(UnsafeCell::new(0))).collect(),
        ended: (0..count).map(|_| AtomicUsize::new(0)).collect(),
        faults: AtomicUsize::new(0),
    });
    let mut tokens: Vec<Tok> = vec![];
    for i in 0..count {
        let token = make(graph, i, fails == Some(i), &tokens, &notes);
        tokens.push(token);
    }
    graph.order.iter().for_each(|&i| tokens[i].submit());
    let last = join(&tokens.iter().collect::<Vec<_>>());
    let held: Vec<_> = tokens
        .into_iter()
        .enumerate()
        .filter(|(i, _)| !graph.nodes[*i].unheld)
        .collect();
    let expected = expected(graph, fails);
    let any = expected.iter().any(|&(_, fails)| fails);
    assert_eq!(last.wait(), if any { FAILED } else { COMPLETE });
    for (i, token) in &held {
        assert_eq!(
            token.wait(),
            if expected[*i].1 { FAILED } else { COMPLETE },
            "node {i}"
        );
    }
    for (i, &(runs, _)) in expected.iter().enumerate() {
        assert_eq!(
            notes.ended[i].load(Ordering::Relaxed),
            usize::from(runs),
            "node {i}"
        );
    }
    assert_eq!(notes.faults.load(Ordering::Relaxed), 0, "a task ran too early");
    drop((held, last));
    // The session checks that all is freed; closures hold the notes.
    drop(session);
    assert_eq!(Arc::strong_count(&notes), 1, "captures are left");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").map_or(48, |cases| cases.parse().unwrap()),
        ..ProptestConfig::default()
    })]

    #[test]
    fn each_task_runs_once_after_its_dependencies(graph in graphs()) {
        for workers in [1, 2, 8] {
            run(&graph, workers, None);
        }
    }

    #[test]
    fn an_error_skips_what_depends_on_it(graph in graphs()) {
        for workers in [1, 2, 8] {
            for (i, node) in graph.nodes.iter().enumerate() {
                if !matches!(node.kind, Kind::Join) {
                    run(&graph, workers, Some(i));
                }
            }
        }
    }
}

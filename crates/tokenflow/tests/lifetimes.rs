//! Lifetimes of buffers, against executions of random programs and against a slow computation by their definition.
//!
//! `PROPTEST_CASES` and `PROPTEST_RNG_SEED` make it more cases, or others.
#![allow(missing_docs)]

mod buffer_executions;

use buffer_executions::{Random, required};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tokenflow::packing::flow_graph::{AccessEnd, Edge, FlowGraph, Issue, Node, TokenOrigin};
use tokenflow::packing::lifetimes::{Lifetimes, Sharing};

const BUFFERS: usize = 3;

fn config(cases: u32) -> ProptestConfig {
    let from_env = ProptestConfig::default();
    ProptestConfig {
        cases: std::env::var_os("PROPTEST_CASES").map_or(cases, |_| from_env.cases),
        rng_seed: match from_env.rng_seed {
            RngSeed::Random => RngSeed::Fixed(1),
            seed @ RngSeed::Fixed(_) => seed,
        },
        failure_persistence: None,
        ..from_env
    }
}

/// A graph of up to ten nodes, with up to two ways to go from each, and accesses here and there.
fn random_flow(seed: u64, asynchronous: bool) -> FlowGraph {
    let mut random = Random(seed);
    let number = 2 + random.below(9);
    let mut flow = FlowGraph {
        nodes: vec![Node::default(); number],
        buffers: BUFFERS,
        tokens: Vec::new(),
    };
    for n in 0..number {
        for _ in 0..random.below(3) {
            // Mostly on to the next one, sometimes back or ahead.
            let next = if random.below(3) > 0 {
                n + 1
            } else {
                random.below(number)
            };
            if next < number {
                flow.nodes[n].edges.push(Edge {
                    to: next,
                    bindings: Vec::new(),
                });
            }
        }
        let buffer = random.below(BUFFERS);
        // With tokens, most nodes do something with them.
        match random.below(if asynchronous { 14 } else { 8 }) {
            0 | 1 => flow.nodes[n].reads.push(buffer),
            2 | 3 => flow.nodes[n].writes.push(buffer),
            4 => flow.nodes[n].barrier = true,
            5 if random.below(3) == 0 => flow.nodes[n].fresh.push(buffer),
            6..9 if asynchronous => issue(&mut flow, n, buffer, &mut random),
            9.. if asynchronous => synchronize(&mut flow, n, &mut random),
            _ => {}
        }
    }
    if asynchronous {
        bind(&mut flow, &mut random);
    }
    flow
}

fn issue(flow: &mut FlowGraph, n: usize, buffer: usize, random: &mut Random) {
    let until = match random.below(4) {
        0 => AccessEnd::Queue(0),
        _ => {
            flow.tokens.push(TokenOrigin::Node(n));
            AccessEnd::Tokens(vec![flow.tokens.len() - 1])
        }
    };
    let write = random.below(2) == 0;
    flow.nodes[n].issues.push(Issue { buffer, write, until });
}

fn synchronize(flow: &mut FlowGraph, n: usize, random: &mut Random) {
    let tokens = flow.tokens.len();
    match random.below(5) {
        0 => flow.nodes[n].commits = Some(0),
        1 => flow.nodes[n].waits = Some((0, random.below(2) == 0)),
        2 if tokens > 1 => {
            let of = vec![random.below(tokens), random.below(tokens)];
            flow.tokens.push(TokenOrigin::Node(n));
            flow.nodes[n].joins.push((tokens, of));
        }
        _ if tokens > 0 => flow.nodes[n].awaits.push(random.below(tokens)),
        _ => {}
    }
}

/// Has all edges to one node hand over a token, as edges to a block with an argument do.
fn bind(flow: &mut FlowGraph, random: &mut Random) {
    let made = flow.tokens.len();
    if made == 0 {
        return;
    }
    let target = random.below(flow.nodes.len());
    flow.tokens.push(TokenOrigin::Edges);
    for node in &mut flow.nodes {
        for edge in node.edges.iter_mut().filter(|edge| edge.to == target) {
            edge.bindings.push((random.below(made + 1), made));
        }
    }
    // Someone awaits it.
    let awaiting = random.below(flow.nodes.len());
    flow.nodes[awaiting].awaits.push(made);
}

fn interference(flow: &FlowGraph, sharing: Sharing) -> Vec<(usize, usize)> {
    Lifetimes::of(flow, &[false; BUFFERS]).interference(flow, sharing)
}

/// Which nodes each node leads to, itself only by a cycle, on ways that enter none of `closed`.
fn reach(flow: &FlowGraph, closed: &[bool]) -> Vec<Vec<bool>> {
    let nodes = flow.nodes.len();
    let mut reach = vec![vec![false; nodes]; nodes];
    for (n, node) in flow.nodes.iter().enumerate() {
        for edge in node.edges.iter().filter(|edge| !closed[edge.to]) {
            reach[n][edge.to] = true;
        }
    }
    for via in 0..nodes {
        for from in 0..nodes {
            for to in 0..nodes {
                reach[from][to] |= reach[from][via] && reach[via][to];
            }
        }
    }
    reach
}

/// Where buffers occupy memory, by the definition; for programs without asynchronous accesses.
fn by_definition(flow: &FlowGraph, buffer: usize) -> Option<Vec<usize>> {
    let has = |list: fn(&Node) -> &Vec<usize>| -> Vec<bool> {
        flow.nodes
            .iter()
            .map(|node| list(node).contains(&buffer))
            .collect()
    };
    let (reads, writes, fresh) = (has(|n| &n.reads), has(|n| &n.writes), has(|n| &n.fresh));
    let nodes = 0..flow.nodes.len();
    let unwritten = reach(flow, &writes);
    let starts =
        |n: usize| n == 0 || fresh[n] || flow.nodes.iter().all(|node| node.edges.iter().all(|e| e.to != n));
    for read in nodes.clone().filter(|&n| reads[n]) {
        if nodes
            .clone()
            .any(|n| starts(n) && (n == read || unwritten[n][read]) && (n == read || !writes[n]))
        {
            return None;
        }
    }
    let kept = reach(flow, &fresh);
    let occupied = nodes.clone().filter(|&n| {
        let from = |w: usize| writes[w] && (w == n || kept[w][n]);
        let to = |r: usize| reads[r] && (r == n || kept[n][r]);
        let live = nodes.clone().any(from) && nodes.clone().any(to);
        live || reads[n] || writes[n]
    });
    Some(occupied.collect())
}

proptest! {
    #![proptest_config(config(10_000))]

    #[test]
    fn nothing_is_missed(seed in any::<u64>()) {
        let flow = random_flow(seed, true);
        for (sharing, free) in [(Sharing::Liveness, false), (Sharing::Free, true)] {
            let computed = interference(&flow, sharing);
            for pair in required(&flow, &mut Random(seed ^ 1), free) {
                prop_assert!(computed.contains(&pair), "{pair:?} {sharing:?} {flow:#?}");
            }
        }
    }

    #[test]
    fn lives_are_what_the_definition_says(seed in any::<u64>()) {
        let flow = random_flow(seed, false);
        // Nodes that nothing leads to are no part of the program.
        let reached = reach(&flow, &vec![false; flow.nodes.len()]);
        if !(1..flow.nodes.len()).all(|n| reached[0][n]) {
            return Ok(());
        }
        let lifetimes = Lifetimes::of(&flow, &[false; BUFFERS]);
        for buffer in 0..BUFFERS {
            prop_assert_eq!(&lifetimes.occupied[buffer], &by_definition(&flow, buffer), "{} {:#?}", buffer, flow);
        }
    }
}

/// Straight-line code: a buffer is written, and read a few steps later.
fn straight(nodes: usize) -> FlowGraph {
    let mut flow = FlowGraph {
        nodes: vec![Node::default(); nodes],
        buffers: nodes / 10,
        tokens: Vec::new(),
    };
    for n in 0..nodes - 1 {
        flow.nodes[n].edges.push(Edge {
            to: n + 1,
            bindings: Vec::new(),
        });
        flow.nodes[n].barrier = n % 5 == 0;
    }
    for b in 0..flow.buffers - 3 {
        flow.nodes[10 * b + 1].writes.push(b);
        flow.nodes[10 * b + 27].reads.push(b);
    }
    flow
}

#[test]
fn ten_thousand_nodes() {
    for nodes in [10_000, 20_000, 40_000] {
        let flow = straight(nodes);
        let start = std::time::Instant::now();
        let everywhere = vec![false; flow.buffers];
        let pairs = Lifetimes::of(&flow, &everywhere).interference(&flow, Sharing::Free);
        println!("{nodes} nodes: {} pairs, {:?}", pairs.len(), start.elapsed());
        assert!(pairs.len() < 4 * flow.buffers);
    }
}

/// A copy to buffer 0 in a loop, whose tokens are awaited after it; then buffer 1 is used.
fn copies_in_a_loop(carried: bool) -> FlowGraph {
    let edge = |to, bindings: &[(usize, usize)]| Edge {
        to,
        bindings: bindings.to_vec(),
    };
    let copy = |token| Issue {
        buffer: 0,
        write: true,
        until: AccessEnd::Tokens(vec![token]),
    };
    let mut nodes = vec![Node::default(); 5];
    // Token 0 is made here and handed over as 1; token 2 is made in the loop.
    let (first, next): (&[_], &[_]) = if carried {
        (&[(0, 1)], &[(2, 1)])
    } else {
        (&[], &[])
    };
    nodes[0].issues.push(copy(0));
    nodes[0].edges.push(edge(1, first));
    nodes[1].issues.push(copy(2));
    nodes[1].edges = vec![edge(1, next), edge(2, &[])];
    nodes[2].awaits = if carried { vec![1, 2] } else { vec![0, 2] };
    nodes[2].edges.push(edge(3, &[]));
    nodes[3].writes.push(1);
    nodes[3].edges.push(edge(4, &[]));
    nodes[4].reads.push(1);
    FlowGraph {
        nodes,
        buffers: 2,
        tokens: vec![TokenOrigin::Node(0), TokenOrigin::Edges, TokenOrigin::Node(1)],
    }
}

/// In each iteration, a token takes the place of another that nobody has awaited.
#[test]
fn lost_tokens() {
    for carried in [false, true] {
        let mut flow = copies_in_a_loop(carried);
        let pairs = |flow: &FlowGraph| Lifetimes::of(flow, &[false; 2]).interference(flow, Sharing::Liveness);
        assert_eq!(pairs(&flow), [(0, 1)], "{carried}");
        // Without the loop, none is lost.
        flow.nodes[1].edges.remove(0);
        assert_eq!(pairs(&flow), [], "{carried}");
    }
}

/// A wait for all groups is no wait for what is in none yet, nor for writes if it is for reads alone.
#[test]
fn open_groups() {
    let in_order = |committed: bool, reads: bool, write: bool| {
        let mut nodes = vec![Node::default(); 5];
        nodes[0].issues.push(Issue {
            buffer: 0,
            write,
            until: AccessEnd::Queue(0),
        });
        nodes[1].commits = committed.then_some(0);
        nodes[2].waits = Some((0, reads));
        nodes[3].writes.push(1);
        nodes[4].reads.push(1);
        for (n, node) in nodes.iter_mut().enumerate().take(4) {
            node.edges.push(Edge {
                to: n + 1,
                bindings: Vec::new(),
            });
        }
        // A read of what was written, so that it is not in use everywhere.
        nodes[0].writes.push(0);
        let flow = FlowGraph {
            nodes,
            buffers: 2,
            tokens: Vec::new(),
        };
        Lifetimes::of(&flow, &[false; 2])
            .interference(&flow, Sharing::Liveness)
            .is_empty()
    };
    assert!(in_order(true, false, true));
    assert!(!in_order(false, false, true));
    assert!(!in_order(true, true, true));
}

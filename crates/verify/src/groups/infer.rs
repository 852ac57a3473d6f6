//! Finds a certificate for code. Nothing here is believed: [`check`](super::check()) looks at what comes out.
//!
//! 1. *Liveness*: claims are made of the tokens that are used later.
//! 2. *Fixed point*: from the entry, block by block in reverse postorder; where paths meet, each token has the smaller age. Since all
//!    instructions keep minima, this is the age over all paths.
//! 3. *Trip counts*: a loop of constant trip count is first taken for one of any trip count. If that is not enough for an await,
//!    its iterations are nodes of their own until a state comes back, from where on they take turns.
//!
//! Cost: (blocks and live tokens) x (rounds that loops need), in the third phase x (iterations that differ).

mod iterations;
mod liveness;

use super::certificate::{Age, Certificate, Claim, Node, NodeId};
use super::check::check;
use super::code::{BlockId, Code, EdgeKind, Fifo, Token};
use super::state::State;
use iterations::with_iterations;
use liveness::Liveness;
use std::collections::BTreeSet;

/// No count of a wait is as large: an age like this one is not told from a larger one.
const OLD: Age = 66;

/// Claims for the beginning of a block, in the order of its live tokens.
type Claims = Vec<Claim>;

/// Finds a certificate for `code`; it is not valid if `code` awaits what may be in flight.
#[must_use]
pub fn infer(code: &Code) -> Certificate {
    let live = Liveness::new(code);
    let any_trip = with_any_trip_count(code, &live);
    if code.trips.is_empty() || check(code, &any_trip).is_ok() {
        return any_trip;
    }
    with_iterations(code, &live)
}

/// The certificate with a node for each block that is reached, which holds for any trip count.
fn with_any_trip_count(code: &Code, live: &Liveness) -> Certificate {
    let order = reverse_postorder(code);
    let mut state = State::new(code.num_tokens());
    let mut claims: Vec<Option<Claims>> = vec![None; code.blocks.len()];
    let mut work = BTreeSet::new();
    if let Some(entry) = claims.first_mut() {
        *entry = Some(Vec::new());
        work.insert((0, BlockId(0)));
    }
    while let Some((_, id)) = work.pop_first() {
        let Some(known) = claims[id.0 as usize].clone() else { continue };
        for (to, arrived) in step(code, live, id, &known, &mut state) {
            let Some(to) = to else { continue };
            // Nothing is known where a function begins.
            let news = to.0 != 0 && meet(&mut claims[to.0 as usize], arrived);
            if news {
                work.insert((order[to.0 as usize], to));
            }
        }
    }
    let mut number = vec![None; code.blocks.len()];
    let reached = claims.iter().enumerate().filter(|(_, claims)| claims.is_some());
    for ((b, _), node) in reached.zip(0..) {
        number[b] = Some(NodeId(node));
    }
    let nodes = claims.into_iter().zip(0..).filter_map(|(claims, b)| {
        let block = BlockId(b);
        let edges = code.blocks[b as usize].edges.iter();
        let to = |edge: &super::code::Edge| {
            let possible = edge.kind.may_be_taken(code);
            edge.to.filter(|_| possible).and_then(|to| number[to.0 as usize])
        };
        Some(Node {
            block,
            context: Vec::new(),
            claims: claims?,
            successors: edges.map(to).collect(),
        })
    });
    Certificate { nodes: nodes.collect() }
}

impl EdgeKind {
    /// Returns false if an edge of this kind is never taken, whatever the iteration.
    fn may_be_taken(self, code: &Code) -> bool {
        match self {
            Self::Plain => true,
            Self::Enter(l) | Self::Exit(l) => code.trip(l) != Some(0),
            Self::Back(l) => code.trip(l).is_none_or(|trip| trip > 0),
        }
    }
}

/// Runs block `id` from `claims`; returns what arrives at the other end of each edge that may be taken at all.
fn step(
    code: &Code,
    live: &Liveness,
    id: BlockId,
    claims: &[Claim],
    state: &mut State,
) -> Vec<(Option<BlockId>, Claims)> {
    let block = &code.blocks[id.0 as usize];
    state.begin(claims);
    for instr in &block.instrs {
        // A token that is in flight here is what the check refuses. What comes later does not matter then.
        let _ = state.run(instr);
    }
    let edges = block.edges.iter();
    let arrived = edges.map(|edge| {
        let to = edge.to.filter(|_| edge.kind.may_be_taken(code));
        let Some(to) = to else { return (None, Vec::new()) };
        let params = &code.blocks[to.0 as usize].params;
        let claim = |&token: &Token| {
            let param = params.iter().position(|param| *param == token);
            let source = param.map_or(Some(token), |i| edge.args.get(i).copied())?;
            let mut in_flight: Vec<(Fifo, Age)> = state.in_flight(source)?.collect();
            in_flight.sort_unstable();
            in_flight.iter_mut().for_each(|(_, age)| *age = OLD.min(*age));
            Some(Claim { token, in_flight })
        };
        (Some(to), live.at(to).iter().filter_map(claim).collect())
    });
    arrived.collect()
}

/// Makes `known` what is known where two paths meet; returns true if that changed it.
fn meet(known: &mut Option<Claims>, arrived: Claims) -> bool {
    let Some(known) = known else {
        *known = Some(arrived);
        return true;
    };
    let before = known.len();
    let mut changed = false;
    let mut other = arrived.into_iter().peekable();
    // Both are in the order of the block's live tokens, which is that of their numbers.
    known.retain_mut(|claim| {
        while other.next_if(|other| other.token < claim.token).is_some() {}
        let Some(other) = other.next_if(|other| other.token == claim.token) else {
            return false;
        };
        for (fifo, age) in other.in_flight {
            match claim.in_flight.binary_search_by_key(&fifo, |(fifo, _)| *fifo) {
                Ok(i) if claim.in_flight[i].1 <= age => {}
                Ok(i) => {
                    claim.in_flight[i].1 = age;
                    changed = true;
                }
                Err(i) => {
                    claim.in_flight.insert(i, (fifo, age));
                    changed = true;
                }
            }
        }
        true
    });
    changed || known.len() != before
}

/// The place of each block in a reverse postorder; blocks that are not reached are last.
fn reverse_postorder(code: &Code) -> Vec<usize> {
    let mut order = vec![usize::MAX; code.blocks.len()];
    let mut seen = vec![false; code.blocks.len()];
    let mut postorder = Vec::new();
    let mut stack: Vec<(usize, usize)> = Vec::new();
    if let Some(first) = seen.first_mut() {
        *first = true;
        stack.push((0, 0));
    }
    while let Some((b, edge)) = stack.last_mut() {
        let Some(next) = code.blocks[*b].edges.get(*edge) else {
            postorder.push(*b);
            stack.pop();
            continue;
        };
        *edge += 1;
        if let Some(to) = next.to
            && !std::mem::replace(&mut seen[to.0 as usize], true)
        {
            stack.push((to.0 as usize, 0));
        }
    }
    for (place, b) in postorder.into_iter().rev().enumerate() {
        order[b] = place;
    }
    order
}

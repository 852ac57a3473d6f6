//! Checks a certificate: one look at each node, and at each of its edges.
//!
//! `proofs/` has the same function in Rocq, with a proof: if it accepts, no execution reaches an await of a token while an operation
//! of it is in flight. Tests compare the two. Cost: the size of code and certificate.

use super::certificate::{Certificate, Claim, Iterations, Node, NodeId};
use super::code::{Block, Code, Edge, EdgeKind, Instr, Loop, Token};
use super::state::{InFlight, State};
use rustc_hash::FxHashMap;
use std::fmt;

/// A reason to refuse a certificate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The node.
    pub node: NodeId,
    /// The fault.
    pub fault: Fault,
}

/// The fault of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The function does not begin with a node of its first block that claims nothing.
    Entry,
    /// The node is of no block of the code, or does not say where each edge leads.
    Shape,
    /// The await of this place in the block is reached while an operation may be in flight.
    Awaited {
        /// The place of the await in the block.
        instr: usize,
        /// The operation.
        in_flight: InFlight,
    },
    /// The edge of this place leads where something else is claimed.
    Edge(usize),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NodeId(node) = self.node;
        match &self.fault {
            Fault::Entry => write!(f, "node {node} is not where the function begins, or claims something"),
            Fault::Shape => write!(f, "node {node} does not fit its block"),
            Fault::Awaited { instr, .. } => {
                write!(f, "node {node}, instruction {instr}: an operation may be in flight")
            }
            Fault::Edge(edge) => write!(f, "node {node}, edge {edge}: its target claims something else"),
        }
    }
}

/// Checks that `certificate` holds for `code`, and that no await of it is reached while an operation of its tokens may be in flight.
///
/// # Errors
///
/// The first node whose claims do not follow, or whose block awaits what they don't say to be complete.
pub fn check(code: &Code, certificate: &Certificate) -> Result<(), Refusal> {
    let refusal = |node, fault| Refusal { node: NodeId(node), fault };
    match certificate.nodes.first() {
        Some(entry) if entry.block.0 == 0 && entry.context.is_empty() && entry.claims.is_empty() => {}
        _ => return Err(refusal(0, Fault::Entry)),
    }
    let mut state = State::new(code.num_tokens());
    for (node, number) in certificate.nodes.iter().zip(0..) {
        check_node(code, certificate, node, &mut state).map_err(|fault| refusal(number, fault))?;
    }
    Ok(())
}

fn check_node(code: &Code, certificate: &Certificate, node: &Node, state: &mut State) -> Result<(), Fault> {
    let block = code.block(node.block).ok_or(Fault::Shape)?;
    if node.successors.len() != block.edges.len() {
        return Err(Fault::Shape);
    }
    state.begin(&node.claims);
    run(block, state)?;
    for (i, (edge, successor)) in block.edges.iter().zip(&node.successors).enumerate() {
        let follows = match (edge.to, successor) {
            (None, successor) => successor.is_none() && counts_known_loops(code, edge),
            (Some(_), None) => is_impossible(code, node, edge),
            (Some(to), Some(successor)) => {
                let target = certificate.nodes.get(successor.0 as usize);
                let same = target.filter(|target| target.block == to);
                same.is_some_and(|target| leads_to(code, node, state, edge, target))
            }
        };
        if !follows {
            return Err(Fault::Edge(i));
        }
    }
    Ok(())
}

/// Runs the instructions of `block`.
fn run(block: &Block, state: &mut State) -> Result<(), Fault> {
    for (i, instr) in block.instrs.iter().enumerate() {
        state.run(instr).map_err(|in_flight| Fault::Awaited { instr: i, in_flight })?;
    }
    Ok(())
}

/// Returns true if the loop that `edge` belongs to, if any, is one of the code.
fn counts_known_loops(code: &Code, edge: &Edge) -> bool {
    match edge.kind {
        EdgeKind::Plain => true,
        EdgeKind::Enter(l) | EdgeKind::Back(l) | EdgeKind::Exit(l) => code.trip(l).is_some(),
    }
}

/// The iterations of `l` that `node` is for; `None` if it is for any. Of several entries, the first one counts.
fn iterations(node: &Node, l: Loop) -> Option<Iterations> {
    let mut context = node.context.iter();
    context.find(|(known, _)| *known == l).map(|(_, iterations)| *iterations)
}

/// Returns true if `edge` is never taken in the iterations of `node`.
fn is_impossible(code: &Code, node: &Node, edge: &Edge) -> bool {
    match edge.kind {
        EdgeKind::Plain => false,
        EdgeKind::Enter(l) => code.trip(l) == Some(0),
        EdgeKind::Back(l) => match (code.trip(l), iterations(node, l)) {
            // The first of these iterations is the one with the most to come.
            (Some(trip), Some(these)) => these.next().is_none_or(|next| next.first >= trip),
            _ => false,
        },
        EdgeKind::Exit(l) => match (code.trip(l), iterations(node, l)) {
            (Some(0), _) => true,
            (Some(trip), Some(these)) => !these.contain(trip - 1),
            _ => false,
        },
    }
}

/// Returns true if what `target` claims holds whenever `edge` is taken from the end of the block of `node`, where `state` is.
fn leads_to(code: &Code, node: &Node, state: &State, edge: &Edge, target: &Node) -> bool {
    let Some(block) = code.block(target.block) else {
        return false;
    };
    counts_known_loops(code, edge)
        && edge.args.len() == block.params.len()
        && counters_follow(node, edge, target)
        && claims_follow(state, edge, block, target)
}

fn counters_follow(node: &Node, edge: &Edge, target: &Node) -> bool {
    target.context.iter().all(|&(l, claimed)| match edge.kind {
        EdgeKind::Enter(entered) if entered == l => claimed.contain(0),
        EdgeKind::Back(again) if again == l => iterations(node, l)
            .and_then(Iterations::next)
            .is_some_and(|next| claimed.contain_all(next)),
        _ => iterations(node, l).is_some_and(|these| claimed.contain_all(these)),
    })
}

fn claims_follow(state: &State, edge: &Edge, block: &Block, target: &Node) -> bool {
    let bound = Bound::new(edge, block);
    target.claims.iter().all(|claim| {
        let known = state.in_flight(bound.source(claim.token));
        known.is_some_and(|mut known| known.all(|operation| admits(claim, operation)))
    })
}

/// Returns true if `claim` says that an operation of this FIFO may be in flight with this age.
fn admits(claim: &Claim, (fifo, age): (super::code::Fifo, u64)) -> bool {
    let mut claimed = claim.in_flight.iter();
    let same = claimed.find(|(claimed, _)| *claimed == fifo);
    same.is_some_and(|(_, least)| *least <= age)
}

/// What an edge binds to the parameters of a block.
struct Bound<'a> {
    params: &'a [Token],
    args: &'a [Token],
    /// The places of parameters, where they are too many to look through.
    places: Option<FxHashMap<Token, usize>>,
}

impl<'a> Bound<'a> {
    const FEW: usize = 8;

    fn new(edge: &'a Edge, block: &'a Block) -> Self {
        let params = &block.params;
        let places = (params.len() > Self::FEW).then(|| {
            let places = params.iter().enumerate().rev();
            places.map(|(i, param)| (*param, i)).collect()
        });
        Self {
            params,
            args: &edge.args,
            places,
        }
    }

    /// The token that `token` is bound to; of one that is no parameter, itself.
    fn source(&self, token: Token) -> Token {
        let place = match &self.places {
            None => self.params.iter().position(|param| *param == token),
            Some(places) => places.get(&token).copied(),
        };
        place.and_then(|i| self.args.get(i)).copied().unwrap_or(token)
    }
}

/// The instruction that a [`Fault::Awaited`] is about.
#[must_use]
pub fn awaited<'a>(code: &'a Code, certificate: &Certificate, refusal: &Refusal) -> Option<&'a Instr> {
    let Fault::Awaited { instr, .. } = refusal.fault else {
        return None;
    };
    let node = certificate.nodes.get(refusal.node.0 as usize)?;
    code.block(node.block)?.instrs.get(instr)
}

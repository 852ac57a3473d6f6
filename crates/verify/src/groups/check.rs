//! Checks a certificate: one look at each node, and at each of its edges.
//!
//! `proofs/` has the same function in Rocq, with a proof: if it accepts, no execution reaches an await of a token while an operation
//! of it is in flight. Tests compare the two. Cost: the size of code and certificate.

use super::certificate::{Age, Certificate, Iterations, Node, NodeId};
use super::code::{Block, Code, Edge, EdgeKind, Fifo, Instr, Loop, Token};
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
            Fault::Entry => write!(
                f,
                "node {node} is not where the function begins, or claims something"
            ),
            Fault::Shape => write!(f, "node {node} does not fit its block"),
            Fault::Awaited { instr, .. } => {
                write!(
                    f,
                    "node {node}, instruction {instr}: an operation may be in flight"
                )
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
    check_and_visit(code, certificate, |_, _, _| ())
}

/// The same. `visit` is called before each wait with its block, its place among all instructions, and what is known there.
pub(super) fn check_and_visit(
    code: &Code,
    certificate: &Certificate,
    mut visit: impl FnMut(&Block, usize, &State),
) -> Result<(), Refusal> {
    let refusal = |node, fault| Refusal {
        node: NodeId(node),
        fault,
    };
    match certificate.nodes.first() {
        Some(entry)
            if entry.block.0 == 0
                && entry.context.is_empty()
                && entry.claims.of(&certificate.claims).is_empty() => {}
        _ => return Err(refusal(0, Fault::Entry)),
    }
    let mut state = State::new(code, certificate);
    for (node, number) in certificate.nodes.iter().zip(0..) {
        check_node(code, certificate, node, &mut state, &mut visit)
            .map_err(|fault| refusal(number, fault))?;
    }
    Ok(())
}

fn check_node(
    code: &Code,
    certificate: &Certificate,
    node: &Node,
    state: &mut State,
    visit: &mut impl FnMut(&Block, usize, &State),
) -> Result<(), Fault> {
    let block = code.block(node.block).ok_or(Fault::Shape)?;
    let edges = block.edges.of(&code.edges);
    let successors = node.successors.of(&certificate.successors);
    if successors.len() != edges.len() {
        return Err(Fault::Shape);
    }
    state.begin();
    state.claim_all(node.claims.of(&certificate.claims), certificate);
    for (i, instr) in block.instrs.of(&code.instrs).iter().enumerate() {
        if matches!(instr, Instr::Wait(..)) {
            visit(block, block.instrs.range().start + i, state);
        }
        state
            .run(*instr, code)
            .map_err(|in_flight| Fault::Awaited { instr: i, in_flight })?;
    }
    for (i, (edge, successor)) in edges.iter().zip(successors).enumerate() {
        let follows = match (edge.to, successor) {
            (None, successor) => successor.is_none(),
            (Some(_), None) => is_impossible(code, node, edge),
            (Some(to), Some(successor)) => {
                let target = certificate.nodes.get(successor.0 as usize);
                let same = target.filter(|target| target.block == to);
                same.is_some_and(|target| leads_to(code, certificate, (node, state), edge, target))
            }
        };
        if !follows {
            return Err(Fault::Edge(i));
        }
    }
    Ok(())
}

/// The iterations of `l` that `node` is for; `None` if it is for any. Of several entries, the first one counts.
fn iterations(node: &Node, l: Loop) -> Option<Iterations> {
    let mut context = node.context.iter();
    context
        .find(|(known, _)| *known == l)
        .map(|(_, iterations)| *iterations)
}

/// Returns true if `edge` is never taken in the iterations of `node`.
pub(super) fn is_impossible(code: &Code, node: &Node, edge: &Edge) -> bool {
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
fn leads_to(
    code: &Code,
    certificate: &Certificate,
    (node, state): (&Node, &State),
    edge: &Edge,
    target: &Node,
) -> bool {
    let Some(block) = code.block(target.block) else {
        return false;
    };
    let (params, args) = (block.params.of(&code.tokens), edge.args.of(&code.tokens));
    args.len() == params.len()
        && counters_follow(node, edge, target)
        && claims_follow(certificate, state, &Bound::new(params, args), target)
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

fn claims_follow(certificate: &Certificate, state: &State, bound: &Bound, target: &Node) -> bool {
    target.claims.of(&certificate.claims).iter().all(|claim| {
        let claimed = claim.in_flight.of(&certificate.in_flight);
        let Some(known) = state.ages(bound.source(claim.token)) else {
            return false;
        };
        let mut known = (0..).map(Fifo).zip(known);
        known.all(|(fifo, age)| {
            age.is_none_or(|age| least_age(claimed, fifo).is_some_and(|least| least <= age))
        })
    })
}

/// The age that operations of `fifo` have at least; `None` if none is said to be in flight. Of several ages, the first one counts.
fn least_age(claimed: &[(Fifo, Age)], fifo: Fifo) -> Option<Age> {
    let mut claimed = claimed.iter();
    claimed.find(|(claimed, _)| *claimed == fifo).map(|(_, age)| *age)
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

    fn new(params: &'a [Token], args: &'a [Token]) -> Self {
        let places = (params.len() > Self::FEW).then(|| {
            let places = params.iter().enumerate().rev();
            places.map(|(i, param)| (*param, i)).collect()
        });
        Self { params, args, places }
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

//! Checks that a certificate is the one that the code has: no number of it could be another.
//!
//! [`check()`](super::check()) accepts every certificate that holds, also one that claims less than could be claimed. Here each claim has to
//! be what arrives: where edges meet, the smaller ages, of the tokens that are used later; and iterations are those that the edges count.
//! Nothing is proven by that. It tells a certificate that was changed, or made for other code, from the one that was written.
//!
//! An edge from a node to itself hands on what the node claims. So the claims of a node are the most that such edges admit, beginning
//! with what arrives on the others.

use super::certificate::{Age, Certificate, Iterations, Node, NodeId, OLDEST};
use super::check::is_impossible;
use super::code::{Code, Edge, EdgeKind, Fifo, Loop, Token};
use super::infer::{COMPLETE, Known, OPEN, Steps, UNKNOWN, age, is_unknown};
use std::fmt;

/// A node whose numbers could be others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inexact {
    /// The node.
    pub node: NodeId,
    /// What is inexact.
    pub part: Part,
}

/// A part of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Its iterations.
    Context,
    /// Its claims.
    Claims,
    /// Its successors.
    Successors,
}

impl fmt::Display for Inexact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NodeId(node) = self.node;
        match self.part {
            Part::Context => write!(f, "node {node} is not for the iterations that lead to it"),
            Part::Claims => write!(f, "node {node} does not claim what arrives there"),
            Part::Successors => write!(f, "node {node} does not lead where its block does"),
        }
    }
}

/// Checks that `certificate`, which [`check()`](super::check()) accepts, claims exactly what arrives at each node.
///
/// # Errors
///
/// A node that claims something else.
pub fn check_exact(code: &Code, certificate: &Certificate) -> Result<(), Inexact> {
    let mut exact = Exact {
        certificate,
        steps: Steps::new(code),
        counted: certificate.nodes.iter().any(|node| !node.context.is_empty()),
        arrived: Vec::new(),
    };
    exact
        .arrived
        .resize_with(certificate.nodes.len(), Arrived::default);
    let numbered = || (0..).map(NodeId).zip(&certificate.nodes);
    for (id, node) in numbered() {
        let hand_on = exact.hand_on(code, id, node);
        hand_on.map_err(|part| Inexact { node: id, part })?;
    }
    for (id, node) in numbered().skip(1) {
        let met = exact.meets(code, id, node);
        met.map_err(|part| Inexact { node: id, part })?;
    }
    Ok(())
}

/// What arrives at a node.
#[derive(Default)]
struct Arrived {
    /// What is known, on edges from other nodes; `None` if there is none.
    row: Option<Vec<Known>>,
    /// The iterations, also on edges that begin the next one of the same node.
    context: Option<Vec<(Loop, Iterations)>>,
}

struct Exact<'a> {
    certificate: &'a Certificate,
    steps: Steps<'a>,
    /// True if the iterations of loops are told apart.
    counted: bool,
    arrived: Vec<Arrived>,
}

impl<'a> Exact<'a> {
    /// Hands what `node` claims on to its successors.
    fn hand_on(&mut self, code: &Code, id: NodeId, node: &Node) -> Result<(), Part> {
        let row = self.claimed(node).ok_or(Part::Claims)?;
        self.steps.run(node.block, &row);
        for (edge, successor) in self.edges(code, node)? {
            let Some(to) = edge.to else { continue };
            let Some(successor) = successor else { continue };
            if is_impossible(code, node, edge) {
                return Err(Part::Successors);
            }
            let counts = matches!(edge.kind, EdgeKind::Back(_));
            if successor == id && !counts {
                continue;
            }
            let arrived = self.arrived.get_mut(successor.0 as usize);
            let arrived = arrived.ok_or(Part::Successors)?;
            let context = after(&node.context, edge.kind, self.counted).ok_or(Part::Context)?;
            arrived.context = Some(match &arrived.context {
                None => context,
                Some(before) => meet(before, &context).ok_or(Part::Context)?,
            });
            if successor != id {
                let is_first = arrived.row.is_none();
                let places = self.steps.row(to).len();
                let row = arrived.row.get_or_insert_with(|| vec![COMPLETE; places]);
                self.steps.arrive(edge, to, row, is_first);
            }
        }
        Ok(())
    }

    /// Looks whether `node` claims what arrives.
    fn meets(&mut self, code: &Code, id: NodeId, node: &Node) -> Result<(), Part> {
        let Arrived { row, context } = std::mem::take(&mut self.arrived[id.0 as usize]);
        if context.as_ref() != Some(&node.context) {
            return Err(Part::Context);
        }
        let mut row = row.ok_or(Part::Claims)?;
        let edges = self.edges(code, node)?;
        let again: Vec<&Edge> = edges
            .filter(|(_, to)| *to == Some(id))
            .map(|(edge, _)| edge)
            .collect();
        let mut changed = !again.is_empty();
        while changed {
            self.steps.run(node.block, &row);
            changed = false;
            for edge in &again {
                changed |= self.steps.arrive(edge, node.block, &mut row, false);
            }
        }
        if self.is_claimed(node, &row) {
            Ok(())
        } else {
            Err(Part::Claims)
        }
    }

    /// The edges of `node`, with its successors.
    fn edges<'b>(
        &self,
        code: &'b Code,
        node: &Node,
    ) -> Result<impl Iterator<Item = (&'b Edge, Option<NodeId>)> + use<'a, 'b>, Part> {
        let block = code.block(node.block).ok_or(Part::Successors)?;
        let successors = node.successors.of(&self.certificate.successors);
        Ok(block.edges.of(&code.edges).iter().zip(successors.iter().copied()))
    }

    /// The claims of `node`.
    fn claims(&self, node: &Node) -> impl Iterator<Item = (Token, &'a [(Fifo, Age)])> + use<'a> {
        let certificate = self.certificate;
        let claims = node.claims.of(&certificate.claims).iter();
        claims.map(|claim| (claim.token, claim.in_flight.of(&certificate.in_flight)))
    }

    /// What is known where `node` begins; `None` if it claims something of a token that is not used later.
    fn claimed(&self, node: &Node) -> Option<Vec<Known>> {
        let mut claims = self.claims(node).peekable();
        let mut row = Vec::new();
        for &token in self.steps.live.tokens(node.block) {
            let Some((_, in_flight)) = claims.next_if(|(claimed, _)| *claimed == token) else {
                row.extend(std::iter::repeat_n(UNKNOWN, self.steps.fifos));
                continue;
            };
            let start = row.len();
            row.extend(std::iter::repeat_n(COMPLETE, self.steps.fifos));
            for &(Fifo(fifo), age) in in_flight {
                let age = Known::try_from(age.min(OLDEST)).ok()?;
                *row[start..].get_mut(usize::from(fifo))? = OPEN + age;
            }
        }
        claims.next().is_none().then_some(row)
    }

    /// Returns true if `node` claims what `row` says, and nothing else.
    fn is_claimed(&self, node: &Node, row: &[Known]) -> bool {
        let mut claims = self.claims(node);
        let mut known = row.chunks_exact(self.steps.fifos);
        let mut tokens = self.steps.live.tokens(node.block).iter();
        tokens.all(|token| {
            let known = known.next().unwrap_or_default();
            if is_unknown(known) {
                return true;
            }
            let arrived = (0..).map(Fifo).zip(known.iter().map(|known| age(*known)));
            let arrived = arrived.filter_map(|(fifo, age)| Some((fifo, age?)));
            let claim = claims.next().filter(|(claimed, _)| claimed == token);
            claim.is_some_and(|(_, claimed)| arrived.eq(claimed.iter().copied()))
        }) && claims.next().is_none()
    }
}

/// The iterations after an edge from those `before`; `None` if it is of a loop that these are not in. Unless iterations are told
/// apart, there are none.
fn after(before: &[(Loop, Iterations)], kind: EdgeKind, counted: bool) -> Option<Vec<(Loop, Iterations)>> {
    let place = |l| before.iter().position(|(known, _)| *known == l);
    let mut context = before.to_vec();
    match kind {
        EdgeKind::Enter(l) if counted => context.push((l, Iterations { first: 0, step: 0 })),
        EdgeKind::Back(l) if counted => {
            let (_, iterations) = context.get_mut(place(l)?)?;
            *iterations = iterations.next()?;
        }
        EdgeKind::Exit(l) if counted => {
            context.remove(place(l)?);
        }
        _ => {}
    }
    Some(context)
}

/// The iterations where two edges meet: from the first of all on, all that are as far apart. `None` if they are of other loops.
fn meet(a: &[(Loop, Iterations)], b: &[(Loop, Iterations)]) -> Option<Vec<(Loop, Iterations)>> {
    if a.len() != b.len() {
        return None;
    }
    let both = a.iter().zip(b).map(|(&(l, a), &(other, b))| {
        let apart = a.first.abs_diff(b.first);
        let step = gcd(gcd(a.step, b.step), apart);
        let first = a.first.min(b.first);
        (l == other).then_some((l, Iterations { first, step }))
    });
    both.collect()
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

//! A certificate as it is written to files: one JSON object, with the code that it is about and what its numbers mean.

use super::certificate::{Certificate, Claim, Iterations, Node, NodeId};
use super::code::{BlockId, Fifo, Loop, Span, Token};
use super::read::Reading;
use crate::certificates::{TokenName, VERSION, token_names};
use async_mlir::ir::{Text, Value};
use serde::{Deserialize, Serialize};

/// A certificate of a function.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The version of this format.
    pub version: u32,
    /// The flag of the pass that wrote the function.
    pub pass: String,
    /// The symbols that lead to the function, such as `@kernels::@k`.
    pub function: String,
    /// The FIFOs.
    pub fifos: Vec<FifoName>,
    /// The loops of constant trip count.
    pub loops: Vec<LoopName>,
    /// The tokens that are values of the function.
    pub tokens: Vec<TokenName>,
    /// The certificate.
    pub nodes: Vec<RecordedNode>,
    /// The waits of `nvgpu` that others imply, counted in the order of the text: they are in `ir`, and were taken away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub implied: Vec<u32>,
    /// The function, with its tokens and awaits beside commits and waits.
    pub ir: String,
}

/// What a FIFO is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FifoName {
    /// Its number.
    pub fifo: u8,
    /// Its queue.
    pub queue: String,
    /// `writes` or `reads`: what of an operation has landed once its group is complete there.
    pub of: String,
}

/// What a loop is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoopName {
    /// Its number.
    pub r#loop: u32,
    /// How often it runs.
    pub trips: u64,
}

/// A [`Node`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedNode {
    /// Its block.
    pub block: u32,
    /// Its iterations.
    pub context: Vec<RecordedIterations>,
    /// Its claims.
    pub claims: Vec<RecordedClaim>,
    /// The nodes that its edges lead to.
    pub successors: Vec<Option<u32>>,
}

/// [`Iterations`] of a loop.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedIterations {
    /// The loop.
    pub r#loop: u32,
    /// The first iteration.
    pub first: u64,
    /// The distance from one to the next.
    pub step: u64,
}

/// A [`Claim`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedClaim {
    /// The token.
    pub token: u32,
    /// Where its operations may be in flight.
    pub in_flight: Vec<RecordedAge>,
}

/// A FIFO, and the age that operations have there at least.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedAge {
    /// The FIFO.
    pub fifo: u8,
    /// The age.
    pub age: u32,
}

impl Record {
    /// Writes down a function that `pass` has written, as it is while its tokens are there, with its certificate.
    #[must_use]
    pub fn new(
        pass: &str,
        function: String,
        reading: &Reading,
        certificate: &Certificate,
        text: &Text,
    ) -> Self {
        Self {
            version: VERSION,
            pass: pass.to_owned(),
            function,
            fifos: fifo_names(reading),
            loops: loop_names(reading),
            tokens: token_names(tokens_of(reading), text),
            nodes: nodes_of(certificate),
            implied: Vec::new(),
            ir: text.whole(),
        }
    }

    /// The certificate.
    #[must_use]
    pub fn certificate(&self) -> Certificate {
        certificate_of(&self.nodes)
    }

    /// Returns true if the numbers mean what is said here, by a function that is read and printed.
    #[must_use]
    pub fn names_match(&self, reading: &Reading, text: &Text) -> bool {
        self.fifos == fifo_names(reading)
            && self.loops == loop_names(reading)
            && self.tokens == token_names(tokens_of(reading), text)
    }
}

fn fifo_names(reading: &Reading) -> Vec<FifoName> {
    let fifos = reading.fifos().map(|(Fifo(fifo), queue, reads)| FifoName {
        fifo,
        queue: queue.name().to_owned(),
        of: if reads { "reads" } else { "writes" }.to_owned(),
    });
    fifos.collect()
}

fn loop_names(reading: &Reading) -> Vec<LoopName> {
    let loops = (0..).zip(&reading.code.trips);
    loops.map(|(r#loop, &trips)| LoopName { r#loop, trips }).collect()
}

fn tokens_of<'c>(reading: &Reading<'c>) -> impl Iterator<Item = (u32, Value<'c>)> {
    let tokens = reading.tokens();
    tokens.map(|(Token(token), value)| (token, value))
}

/// The nodes of `certificate`, each with what belongs to it.
#[must_use]
pub fn nodes_of(certificate: &Certificate) -> Vec<RecordedNode> {
    let ages = |claim: &Claim| {
        let in_flight = claim.in_flight.of(&certificate.in_flight).iter();
        in_flight
            .map(|&(Fifo(fifo), age)| RecordedAge { fifo, age })
            .collect()
    };
    let nodes = certificate.nodes.iter().map(|node| RecordedNode {
        block: node.block.0,
        context: node
            .context
            .iter()
            .map(|&(Loop(r#loop), Iterations { first, step })| RecordedIterations { r#loop, first, step })
            .collect(),
        claims: node
            .claims
            .of(&certificate.claims)
            .iter()
            .map(|claim| RecordedClaim {
                token: claim.token.0,
                in_flight: ages(claim),
            })
            .collect(),
        successors: node
            .successors
            .of(&certificate.successors)
            .iter()
            .map(|to| to.map(|NodeId(to)| to))
            .collect(),
    });
    nodes.collect()
}

/// The certificate of these nodes.
#[must_use]
pub fn certificate_of(nodes: &[RecordedNode]) -> Certificate {
    let mut certificate = Certificate::default();
    for node in nodes {
        let first = certificate.claims.len();
        for claim in &node.claims {
            let start = certificate.in_flight.len();
            let ages = claim.in_flight.iter().map(|one| (Fifo(one.fifo), one.age));
            certificate.in_flight.extend(ages);
            certificate.claims.push(Claim {
                token: Token(claim.token),
                in_flight: Span::since(start, &certificate.in_flight),
            });
        }
        let start = certificate.successors.len();
        let successors = node.successors.iter().map(|to| to.map(NodeId));
        certificate.successors.extend(successors);
        let context = node.context.iter().map(|one| {
            let (first, step) = (one.first, one.step);
            (Loop(one.r#loop), Iterations { first, step })
        });
        certificate.nodes.push(Node {
            block: BlockId(node.block),
            context: context.collect(),
            claims: Span::since(first, &certificate.claims),
            successors: Span::since(start, &certificate.successors),
        });
    }
    certificate
}

//! A certificate as it is written to files: one JSON object, with the function that it is about and what its numbers mean.

use super::code::{BlockId, Token, Var};
use super::int::Int;
use super::invariant::{Invariant, Node};
use super::read::{Iterations, Limit, Meaning, Reading};
use super::slot::{Slot, is_default};
use super::state::Slots;
use super::verify::Proof;
use crate::certificates::{TokenName, VERSION, token_names};
use async_mlir::ir::{Op, Text, Value};
use async_mlir::nvgpu::mbarriers;
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
    /// The rings of mbarriers.
    pub rings: Vec<RingName>,
    /// The proofs of their code, in the order in which they are looked at.
    pub proofs: Vec<RecordedProof>,
    /// The function, with its tokens and awaits beside mbarriers and waits.
    pub ir: String,
}

/// The value that a ring is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RingName {
    /// Its number.
    pub ring: u32,
    /// The value of the function, such as `%3`.
    pub value: String,
    /// How many mbarriers it has.
    pub mbarriers: u32,
}

/// A [`Proof`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedProof {
    /// The ring.
    pub ring: u32,
    /// The ring of which it is told how many times threads have gathered there; `None` if they gather nowhere.
    #[serde(deserialize_with = "Option::deserialize")] // It may be null, and not left out.
    pub gathering: Option<u32>,
    /// Which iterations are told apart: `some`, `guards` or `all`.
    pub iterations: Iterations,
    /// The variables.
    pub variables: Vec<VariableName>,
    /// The tokens.
    pub tokens: Vec<TokenName>,
    /// The nodes of the invariant.
    pub nodes: Vec<RecordedNode>,
}

/// The meaning of a variable.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariableName {
    /// Its number.
    pub variable: u32,
    /// `value`, `iterations` or `trips`: of the function a value, the iteration of a loop, or how often loops run.
    pub is: String,
    /// The value, the variable of the loop, or the bounds of the loops.
    pub of: String,
}

/// A [`Node`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedNode {
    /// Its block.
    pub block: u32,
    /// The mbarriers.
    pub slots: Vec<Slot>,
    /// How many times threads have gathered.
    #[serde(default, skip_serializing_if = "is_default")]
    pub gathered: u8,
    /// The variables that are used later.
    pub variables: Vec<RecordedInt>,
    /// The tokens that are used later.
    pub tokens: Vec<RecordedToken>,
    /// The nodes that its edges lead to.
    pub successors: Vec<Option<u32>>,
}

/// An [`Int`] that a variable has.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedInt {
    /// The variable.
    pub variable: u32,
    /// Its value, if the modulus is 0; otherwise its remainder.
    pub value: i64,
    /// The modulus, or 0.
    pub modulus: u64,
    /// If it is not known: it is not negative and less than this power of two; 64 says nothing.
    pub size: u8,
}

/// The slots of a token.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedToken {
    /// The token.
    pub token: u32,
    /// For each role the slots on which its loads may be in flight.
    pub in_flight: Vec<Vec<u32>>,
}

impl Record {
    /// Writes down what proves that a function is right which `pass` has written, as it is while its tokens are there.
    #[must_use]
    pub fn new<'c>(
        pass: &str,
        function: String,
        rings: &[Op<'c>],
        proofs: &[Proof<'c>],
        text: &Text<'c>,
    ) -> Self {
        Self {
            version: VERSION,
            pass: pass.to_owned(),
            function,
            rings: ring_names(rings, text),
            proofs: proofs
                .iter()
                .map(|proof| RecordedProof::new(rings, proof, text))
                .collect(),
            ir: text.whole(),
        }
    }
}

/// The names of `rings`, which are created in this order.
#[must_use]
pub fn ring_names<'c>(rings: &[Op<'c>], text: &Text<'c>) -> Vec<RingName> {
    let rings = (0..).zip(rings).map(|(ring, create)| RingName {
        ring,
        value: text.name_of(create.result(0)),
        mbarriers: mbarriers(create.result(0).ty()).unwrap_or(0),
    });
    rings.collect()
}

impl RecordedProof {
    fn new<'c>(rings: &[Op<'c>], proof: &Proof<'c>, text: &Text<'c>) -> Self {
        let number = |create: Op<'c>| {
            let place = rings.iter().position(|known| *known == create);
            place.and_then(|place| u32::try_from(place).ok())
        };
        Self {
            ring: number(proof.create).unwrap_or(u32::MAX),
            gathering: proof.gathering.and_then(number),
            iterations: proof.iterations,
            variables: variable_names(&proof.reading, text),
            tokens: token_names(tokens_of(&proof.reading), text),
            nodes: nodes_of(&proof.invariant),
        }
    }

    /// The invariant; `None` if a number can't be.
    #[must_use]
    pub fn invariant(&self) -> Option<Invariant> {
        invariant_of(&self.nodes)
    }

    /// Returns true if `other` says the same of other numbers.
    #[must_use]
    pub fn is(&self, rings: &[Op<'_>], proof: &Proof<'_>, text: &Text<'_>) -> bool {
        *self == Self::new(rings, proof, text)
    }
}

fn variable_names<'c>(reading: &Reading<'c>, text: &Text<'c>) -> Vec<VariableName> {
    let names = reading.vars.iter().map(|(Var(variable), meaning)| {
        let (is, of) = match meaning {
            Meaning::Value(value) => ("value", text.name_of(*value)),
            Meaning::Iterations(variable) => (
                "iterations",
                variable.map_or_else(String::new, |variable| text.name_of(variable)),
            ),
            Meaning::Trips([lower, upper, step]) => {
                let limit = |limit: &Limit<'c>| match limit {
                    Limit::Const(number) => number.to_string(),
                    Limit::Value(value) => text.name_of(*value),
                };
                (
                    "trips",
                    format!("{} to {} step {}", limit(lower), limit(upper), limit(step)),
                )
            }
        };
        VariableName {
            variable: *variable,
            is: is.to_owned(),
            of,
        }
    });
    names.collect()
}

fn tokens_of<'c>(reading: &Reading<'c>) -> impl Iterator<Item = (u32, Value<'c>)> {
    let tokens = reading.tokens.iter();
    tokens.map(|(Token(token), value)| (*token, *value))
}

/// The nodes of `invariant`, each with what belongs to it.
#[must_use]
pub fn nodes_of(invariant: &Invariant) -> Vec<RecordedNode> {
    let nodes = invariant.nodes.iter().map(|node| RecordedNode {
        block: node.block.0,
        slots: node.slots.clone(),
        gathered: node.gathered,
        variables: node
            .vars
            .iter()
            .map(|(Var(variable), known)| {
                let (value, modulus, size) = known.parts();
                RecordedInt {
                    variable: *variable,
                    value,
                    modulus,
                    size,
                }
            })
            .collect(),
        tokens: node
            .tokens
            .iter()
            .map(|(Token(token), by_role)| RecordedToken {
                token: *token,
                in_flight: by_role.iter().map(|slots| numbers(*slots)).collect(),
            })
            .collect(),
        successors: node.successors.clone(),
    });
    nodes.collect()
}

/// The invariant of these nodes; `None` if a number can't be.
#[must_use]
pub fn invariant_of(nodes: &[RecordedNode]) -> Option<Invariant> {
    let nodes = nodes.iter().map(|node| {
        let vars = node.variables.iter().map(|known| {
            let value = Int::from_parts(known.value, known.modulus, known.size);
            (Var(known.variable), value)
        });
        let tokens = node.tokens.iter().map(|known| {
            let by_role = known.in_flight.iter().map(|slots| set(slots));
            Some((Token(known.token), by_role.collect::<Option<_>>()?))
        });
        Some(Node {
            block: BlockId(node.block),
            slots: node.slots.clone(),
            gathered: node.gathered,
            vars: vars.collect(),
            tokens: tokens.collect::<Option<_>>()?,
            successors: node.successors.clone(),
        })
    });
    Some(Invariant {
        nodes: nodes.collect::<Option<_>>()?,
    })
}

fn numbers(slots: Slots) -> Vec<u32> {
    (0..Slots::BITS).filter(|slot| slots >> slot & 1 == 1).collect()
}

/// A set of slots; `None` if they are not in order, or too many.
fn set(slots: &[u32]) -> Option<Slots> {
    let all = slots.iter().try_fold(0, |all: Slots, slot| {
        Some(all | Slots::from(1_u8).checked_shl(*slot)?)
    });
    all.filter(|all| numbers(*all) == slots)
}

//! The numbers of tokens.

use crate::groups::code::Token;
use crate::groups::lists::list_for;
use async_mlir::ir::Value;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Tokens, numbered in the order in which they are met.
#[derive(Default)]
pub(super) struct Numbering<'c> {
    /// Numbers, by the hashes of values. A table of the values themselves takes four times the memory, in which they lie at random, and most of
    /// the time that a large function takes to read goes into memory.
    numbers: HashTable<u32>,
    /// By number, the value; of a token that is none, one that it is bound to.
    values: Vec<Value<'c>>,
}

impl<'c> Numbering<'c> {
    /// A numbering without tokens, with memory for so many.
    pub fn with_capacity(tokens: usize) -> Self {
        Self {
            numbers: HashTable::with_capacity(tokens),
            values: list_for(tokens),
        }
    }

    /// A token that is no value, but is bound to one.
    pub fn new_token(&mut self, bound_to: Value<'c>) -> Token {
        self.values.push(bound_to);
        Token(number(self.values.len() - 1))
    }

    /// The token that `value` is.
    pub fn number(&mut self, value: Value<'c>) -> Token {
        let values = &self.values;
        let is_value = |number: &u32| values[*number as usize] == value;
        let hash_of = |number: &u32| hash(values[*number as usize]);
        match self.numbers.entry(hash(value), is_value, hash_of) {
            Entry::Occupied(number) => Token(*number.get()),
            Entry::Vacant(place) => {
                let new = number(values.len());
                place.insert(new);
                self.values.push(value);
                Token(new)
            }
        }
    }

    /// The token that `value` is, if it has a number.
    pub fn get(&self, value: Value<'c>) -> Option<Token> {
        let is_value = |number: &u32| self.values[*number as usize] == value;
        self.numbers.find(hash(value), is_value).copied().map(Token)
    }

    /// The tokens that are values, in order.
    pub fn values(&self) -> impl Iterator<Item = (Token, Value<'c>)> {
        let all = (0..).map(Token).zip(self.values.iter().copied());
        all.filter(|(token, value)| self.get(*value) == Some(*token))
    }
}

fn number(place: usize) -> u32 {
    u32::try_from(place).expect("no function has as many operations")
}

/// The hash of a value. Operations that follow each other mostly lie near each other: with its address in the low bits, by which the table
/// chooses a place, so do their numbers, and few of them have to come from memory. The high bits, by which the table tells apart what has
/// near places, are those of a product (Fibonacci hashing).
fn hash(value: Value<'_>) -> u64 {
    /// Less than an operation takes.
    const GRANULE: u32 = 5;
    /// So many high bits are no part of a place.
    const TAG: u32 = 7;
    let address = value.to_raw().ptr.addr() as u64;
    let tag = address.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - TAG);
    tag << (u64::BITS - TAG) | address >> GRANULE
}

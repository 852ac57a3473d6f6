//! Tracks which token owns the frame that an address points into: the address is good for as long as somebody
//! holds a reference to the token.

use async_mlir::ir::{Op, Value};
use rustc_hash::FxHashMap;

/// Of each function, addresses in frames, with the tokens that keep the frames.
pub(super) type FrameOwnersOfFunctions<'c> = FxHashMap<Op<'c>, Vec<(Value<'c>, Value<'c>)>>;

/// The token of each address.
#[derive(Default)]
pub(super) struct FrameOwners<'c> {
    token: FxHashMap<Value<'c>, Value<'c>>,
    addresses: FxHashMap<Value<'c>, Vec<Value<'c>>>,
}

/// What was known of values that are to be replaced: the token of each, and addresses that it keeps.
pub(super) struct Taken<'c>(Vec<(Option<Keeper<'c>>, Vec<Value<'c>>)>);

/// What keeps an address.
enum Keeper<'c> {
    Token(Value<'c>),
    /// The token of this number among the values that are to be replaced.
    Number(usize),
}

impl<'c> FrameOwners<'c> {
    pub(super) fn insert(&mut self, address: Value<'c>, token: Value<'c>) {
        self.token.insert(address, token);
        self.addresses.entry(token).or_default().push(address);
    }

    /// The token that keeps the frame that `address` is in, if it is such an address.
    pub(super) fn get(&self, address: Value<'c>) -> Option<Value<'c>> {
        self.token.get(&address).copied()
    }

    /// Notes that `new` stands where `old` stood, an address or a token.
    pub(super) fn replace(&mut self, old: Value<'c>, new: Value<'c>) {
        let taken = self.take(std::iter::once(old));
        self.put(taken, std::iter::once(new));
    }

    /// Forgets what is known of `values`, which are to be replaced.
    pub(super) fn take(&mut self, values: impl Iterator<Item = Value<'c>>) -> Taken<'c> {
        let values: Vec<Value> = values.collect();
        let numbers: FxHashMap<Value, usize> = values.iter().copied().zip(0..).collect();
        let taken = values.iter().map(|value| {
            let keeper = self.token.remove(value).map(|token| {
                if let Some(others) = self.addresses.get_mut(&token) {
                    others.retain(|other| other != value);
                }
                numbers
                    .get(&token)
                    .map_or(Keeper::Token(token), |number| Keeper::Number(*number))
            });
            let mut addresses = self.addresses.remove(value).unwrap_or_default();
            addresses.retain(|address| !numbers.contains_key(address));
            (keeper, addresses)
        });
        Taken(taken.collect())
    }

    /// Notes that `new` stand where those stood that were taken.
    pub(super) fn put(&mut self, taken: Taken<'c>, new: impl Iterator<Item = Value<'c>>) {
        let new: Vec<Value> = new.collect();
        for ((keeper, addresses), value) in taken.0.into_iter().zip(&new) {
            match keeper {
                Some(Keeper::Token(token)) => self.insert(*value, token),
                Some(Keeper::Number(number)) => self.insert(*value, new[number]),
                None => {}
            }
            for address in addresses {
                self.insert(address, *value);
            }
        }
    }
}

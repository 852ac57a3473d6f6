//! Sets of buffers.

use super::code::BufferId;

/// A set of buffers, as bits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct BufferSet(Vec<u64>);

impl BufferSet {
    /// None of so many buffers.
    pub fn none_of(buffers: usize) -> Self {
        Self(vec![0; buffers.div_ceil(64)])
    }

    pub fn insert(&mut self, buffer: BufferId) {
        self.0[buffer.0 / 64] |= 1 << (buffer.0 % 64);
    }

    pub fn remove(&mut self, buffer: BufferId) {
        self.0[buffer.0 / 64] &= !(1 << (buffer.0 % 64));
    }

    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Adds what is in `other`; returns true if some of it is new.
    pub fn add_all(&mut self, other: &Self) -> bool {
        let mut is_new = false;
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            is_new |= *other & !*word != 0;
            *word |= other;
        }
        is_new
    }

    /// What is in both.
    pub fn common(&self, other: &Self) -> Self {
        let words = self.0.iter().zip(&other.0).map(|(word, other)| word & other);
        Self(words.collect())
    }

    /// What is not in `other`.
    pub fn without(&self, other: &Self) -> Self {
        let words = self.0.iter().zip(&other.0).map(|(word, other)| word & !other);
        Self(words.collect())
    }

    /// The first one that is in both.
    pub fn first_common(&self, other: &Self) -> Option<BufferId> {
        let mut words = self.0.iter().zip(&other.0).map(|(word, other)| word & other);
        let place = words.position(|word| word != 0)?;
        let word = self.0[place] & other.0[place];
        Some(BufferId(place * 64 + word.trailing_zeros() as usize))
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = BufferId> + '_ {
        self.0.iter().enumerate().flat_map(|(place, word)| {
            let bits = (0..64).filter(move |bit| word >> bit & 1 == 1);
            bits.map(move |bit| BufferId(place * 64 + bit))
        })
    }
}

//! Interns sequences: equal ones get the same number.

use rustc_hash::FxHashMap;
use std::hash::Hash;
use std::rc::Rc;

/// Sequences, each with a number.
pub(crate) struct Interner<T> {
    numbers: FxHashMap<Rc<[T]>, u32>,
    sequences: Vec<Rc<[T]>>,
}

impl<T: Copy + Eq + Hash> Interner<T> {
    pub fn new() -> Self {
        Self {
            numbers: FxHashMap::default(),
            sequences: Vec::new(),
        }
    }

    /// Returns the number of a sequence.
    pub fn number(&mut self, sequence: &[T]) -> u32 {
        if let Some(&number) = self.numbers.get(sequence) {
            return number;
        }
        let number = u32::try_from(self.sequences.len()).unwrap_or(u32::MAX);
        let sequence: Rc<[T]> = sequence.into();
        self.sequences.push(Rc::clone(&sequence));
        self.numbers.insert(sequence, number);
        number
    }

    /// Returns the sequence of a number.
    pub fn sequence(&self, number: u32) -> Rc<[T]> {
        Rc::clone(&self.sequences[number as usize])
    }
}

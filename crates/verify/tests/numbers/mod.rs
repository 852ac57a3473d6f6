//! Reads lines of numbers.

/// What is left of a line.
pub struct Reader<'a> {
    pub rest: &'a [u64],
}

impl Reader<'_> {
    pub fn number(&mut self) -> Option<u64> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    pub fn small(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    /// A list, which begins with its length.
    pub fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let n = self.number()?;
        (0..n).map(|_| one(self)).collect()
    }
}

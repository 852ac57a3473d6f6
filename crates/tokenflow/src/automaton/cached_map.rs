//! A hash map with a small direct-mapped cache in front of it, for lookups that repeat themselves.

use rustc_hash::FxHashMap;
use std::hash::Hash;

/// A map that looks first at what was found last for a small number in the key: mostly, it is the same again.
pub(super) struct CachedMap<K, V> {
    last: Vec<Option<(K, V)>>,
    all: FxHashMap<K, V>,
}

impl<K, V> Default for CachedMap<K, V> {
    fn default() -> Self {
        Self {
            last: Vec::new(),
            all: FxHashMap::default(),
        }
    }
}

impl<K: Copy + Eq + Hash, V: Copy> CachedMap<K, V> {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the value of a key that has `number` in it.
    #[inline]
    pub fn get(&mut self, number: u32, key: K) -> Option<V> {
        match self.last.get(number as usize) {
            Some(&Some((last, value))) if last == key => Some(value),
            _ => {
                let value = *self.all.get(&key)?;
                self.note(number, key, value);
                Some(value)
            }
        }
    }

    pub fn insert(&mut self, number: u32, key: K, value: V) {
        self.all.insert(key, value);
        self.note(number, key, value);
    }

    fn note(&mut self, number: u32, key: K, value: V) {
        let number = number as usize;
        if number >= self.last.len() {
            self.last.resize(number + 1, None);
        }
        self.last[number] = Some((key, value));
    }
}

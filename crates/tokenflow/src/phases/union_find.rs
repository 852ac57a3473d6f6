//! Disjoint sets (union-find).

/// Disjoint sets of the numbers from 0 on.
#[derive(Clone, Debug, Default)]
pub(super) struct UnionFind {
    parent: Vec<usize>,
}

impl UnionFind {
    /// So many sets of one.
    pub fn new(n: usize) -> Self {
        Self {
            parent: (0..n).collect(),
        }
    }

    /// Adds a set of one, and returns what is in it.
    pub fn add(&mut self) -> usize {
        self.parent.push(self.parent.len());
        self.parent.len() - 1
    }

    /// The number that stands for the set of `i`.
    pub fn find(&mut self, mut i: usize) -> usize {
        while self.parent[i] != i {
            self.parent[i] = self.parent[self.parent[i]];
            i = self.parent[i];
        }
        i
    }

    /// Makes one set of two; the smaller root stands for it.
    pub fn union(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a.max(b)] = a.min(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_connected_components() {
        let pairs = [(4, 7), (0, 3), (7, 2), (3, 0), (5, 5), (2, 9)];
        let mut sets = UnionFind::new(9);
        assert_eq!(sets.add(), 9);
        for (a, b) in pairs {
            sets.union(a, b);
        }
        let roots: Vec<usize> = (0..10).map(|i| sets.find(i)).collect();
        assert_eq!(roots, [0, 1, 2, 0, 2, 5, 6, 2, 8, 2]);
    }
}

//! Who has accessed which bytes: which of them an access races with.
//!
//! Accesses come in the order in which they happen in this run, so none comes before one that is known already. Of those before,
//! a cell keeps the last write and what was read since, but for reads that another read comes after: who comes after the later one comes
//! after both (Flanagan, Freund: FastTrack: Efficient and precise dynamic race detection).

use crate::clock::{Clock, Epoch};
use crate::findings::Call;
use std::collections::BTreeMap;
use std::ops::Range;

/// What somebody does with bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deed {
    Read,
    Write,
    /// Atomic accesses don't race with each other, and order nothing.
    Atomic,
    /// The bytes are nobody's from here on.
    Free,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Past {
    pub deed: Deed,
    pub epoch: Epoch,
    pub call: Call,
}

#[derive(Clone, Default, Debug)]
struct Cell {
    end: u64,
    write: Option<Past>,
    /// Reads and atomic accesses.
    others: Vec<Past>,
}

/// An access collides with one before it.
#[derive(Clone, Debug)]
pub struct Collision {
    pub before: Past,
    /// Whether the other one is known to come before: then it has freed the bytes.
    pub ordered: bool,
    pub bytes: Range<u64>,
}

/// The cells, by their first byte.
#[derive(Clone, Default, Debug)]
pub struct History(BTreeMap<u64, Cell>);

impl History {
    /// Nobody has accessed these bytes: they belong to something new.
    pub fn forget(&mut self, bytes: Range<u64>) {
        self.split(bytes.start);
        self.split(bytes.end);
        let old: Vec<u64> = self.0.range(bytes).map(|(start, _)| *start).collect();
        for start in old {
            self.0.remove(&start);
        }
    }

    /// Notes an access of who has `clock`, and returns what it collides with: once for each access before it.
    pub fn access(&mut self, bytes: Range<u64>, now: Past, clock: &Clock) -> Vec<Collision> {
        let mut found: Vec<Collision> = Vec::new();
        let mut collide = |before: Past, bytes: Range<u64>| {
            let ordered = clock.knows(before.epoch);
            if ordered && before.deed != Deed::Free || before.epoch == now.epoch {
                return;
            }
            match found.iter_mut().find(|known| known.before == before) {
                Some(known) => known.bytes.end = bytes.end,
                None => found.push(Collision {
                    before,
                    ordered,
                    bytes,
                }),
            }
        };
        self.fill_gaps(&bytes);
        for (&start, cell) in self.0.range_mut(bytes) {
            let range = start..cell.end;
            if let Some(write) = cell.write {
                collide(write, range.clone());
            }
            for &other in &cell.others {
                let compatible = now.deed == other.deed && matches!(now.deed, Deed::Read | Deed::Atomic);
                if !compatible {
                    collide(other, range.clone());
                }
            }
            match now.deed {
                Deed::Write | Deed::Free => {
                    cell.write = Some(now);
                    cell.others.clear();
                }
                Deed::Read | Deed::Atomic => {
                    cell.others
                        .retain(|other| other.deed != now.deed || !clock.knows(other.epoch));
                    cell.others.push(now);
                }
            }
        }
        found
    }

    /// Makes a cell begin at `at`, if there is one around it.
    fn split(&mut self, at: u64) {
        let Some((_, cell)) = self.0.range_mut(..at).next_back() else {
            return;
        };
        if cell.end > at {
            let right = cell.clone();
            cell.end = at;
            self.0.insert(at, right);
        }
    }

    /// Makes cells cover exactly `bytes`.
    fn fill_gaps(&mut self, bytes: &Range<u64>) {
        self.split(bytes.start);
        self.split(bytes.end);
        let mut at = bytes.start;
        let mut gaps = Vec::new();
        for (&start, cell) in self.0.range(bytes.clone()) {
            if start > at {
                gaps.push(at..start);
            }
            at = cell.end;
        }
        if at < bytes.end {
            gaps.push(at..bytes.end);
        }
        for gap in gaps {
            let cell = Cell {
                end: gap.end,
                ..Cell::default()
            };
            self.0.insert(gap.start, cell);
        }
    }
}

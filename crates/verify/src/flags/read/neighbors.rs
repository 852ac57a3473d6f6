//! Finds which places may share bytes, without comparing those of buffers that are known to be different, or of different rows of one.

use async_locations::alias::Origin;
use async_locations::places::Place;
use async_mlir::ir::Value;
use rustc_hash::FxHashMap;

/// Places, by number.
#[derive(Default)]
pub(super) struct Neighbors<'a, 'c> {
    places: &'a [Place<'c>],
    /// Those of each buffer that nothing else is, by row, if that is known.
    own: FxHashMap<Value<'c>, FxHashMap<Option<i64>, Vec<usize>>>,
    /// Those of all other buffers.
    others: Vec<usize>,
    /// Of these, those of buffers that may be any.
    unknown: Vec<usize>,
}

impl<'a, 'c> Neighbors<'a, 'c> {
    pub fn of(places: &'a [Place<'c>]) -> Self {
        let mut new = Self {
            places,
            ..Self::default()
        };
        for (number, place) in places.iter().enumerate() {
            match place.root.origin {
                Origin::Own(buffer) => {
                    let rows = new.own.entry(buffer).or_default();
                    rows.entry(place.row()).or_default().push(number);
                }
                origin => {
                    new.others.push(number);
                    if matches!(origin, Origin::Unknown(_)) {
                        new.unknown.push(number);
                    }
                }
            }
        }
        new
    }

    /// The numbers of places that may share bytes with that of number `place`, and perhaps of some that don't.
    pub fn of_place(&self, place: usize) -> Vec<usize> {
        let place = self.places[place];
        match place.root.origin {
            Origin::Own(buffer) => {
                let rows = self.own.get(&buffer);
                let near: Vec<&Vec<usize>> = match (rows, place.row()) {
                    (None, _) => Vec::new(),
                    (Some(rows), None) => rows.values().collect(),
                    (Some(rows), row) => [row, None].iter().filter_map(|row| rows.get(row)).collect(),
                };
                let near = near.into_iter().flatten();
                near.chain(&self.unknown).copied().collect()
            }
            Origin::Unknown(_) => (0..self.places.len()).collect(),
            // None of those that nothing else is.
            _ => self.others.clone(),
        }
    }
}

//! Chooses how many iterations of each loop are told apart: as many as rotating buffers have slots.

use crate::footprint::Footprint;
use crate::loops::{LoopId, Loops, MAX_RUNNING_COUNTS, RunningCount};
use crate::offset::Symbol;
use rustc_hash::FxHashSet;

/// Tells as many iterations of each loop apart as the periods of the rotating slots and buffers of `footprints` take. Any number is
/// sound: more iterations that are told apart are more precise, and take more time.
pub fn count_iterations<'f>(loops: &mut Loops, footprints: impl IntoIterator<Item = &'f Footprint>) {
    let footprints = footprints.into_iter();
    let offsets = footprints.flat_map(|footprint| footprint.sets().map(|(_, offset)| offset));
    let symbols = offsets.flat_map(|offset| offset.terms.iter().map(|(_, symbol)| symbol.clone()));
    let mut turns = 0;
    for symbol in symbols.collect::<FxHashSet<Symbol>>() {
        let most = |n: usize| u8::try_from(n).map_or(MAX_COUNTED, |n| n.min(MAX_COUNTED));
        let (of, count) = match symbol {
            Symbol::Periodic { of, values } => (of, most(values.len())),
            Symbol::Rotation {
                of, within, modulus, ..
            } => {
                if of != within {
                    count_on(loops, &mut turns, of, modulus);
                }
                (of, most(usize::try_from(modulus).unwrap_or(usize::MAX)))
            }
            Symbol::Iteration(of) => (of, 4),
            Symbol::Remainder { .. } | Symbol::Lookup { .. } | Symbol::Value(..) => continue,
        };
        let counted = &mut loops[of].counted;
        *counted = (*counted).max(count);
    }
    for around in &mut *loops {
        let trips = u8::try_from(around.min_trips)
            .ok()
            .filter(|trips| *trips <= MAX_TRIPS);
        around.counted = around.counted.max(trips.unwrap_or(0));
    }
}

/// Counts the iterations of `of` on when it is entered again, for rotations modulo `modulus`.
fn count_on(loops: &mut Loops, used: &mut u8, of: LoopId, modulus: i64) {
    let Some(modulus) = u8::try_from(modulus)
        .ok()
        .filter(|modulus| *modulus <= MAX_COUNTED)
    else {
        return;
    };
    match &mut loops[of].running_count {
        Some(known) => {
            let both = (1..=MAX_COUNTED).find(|n| n % known.modulus == 0 && n % modulus == 0);
            known.modulus = both.unwrap_or(known.modulus);
        }
        none if usize::from(*used) < MAX_RUNNING_COUNTS => {
            *none = Some(RunningCount {
                index: *used,
                modulus,
            });
            *used += 1;
        }
        _ => {}
    }
}

/// Iterations beyond these are not told apart.
const MAX_COUNTED: u8 = 16;

/// How often a loop has been around is followed to its end if it has so many iterations at most.
const MAX_TRIPS: u8 = 4;

//! Accesses of which it is not known which of the buffers of a loop they are to: a `memref` that is selected, carried or returned.

use super::accesses::{Accesses, Buffer, Fence};
use crate::analysis::alias::{Origin, Root};

impl Accesses<'_> {
    /// Takes accesses to a buffer that is not known for what may access anything, if they may meet those to another one.
    pub(super) fn fence_unknown_buffers(&mut self) {
        let roots: Vec<(Root, bool)> = self
            .buffers
            .iter()
            .map(|buffer| (Root::of(buffer.base), writes(buffer)))
            .collect();
        for (number, &(root, written)) in roots.iter().enumerate() {
            if !matches!(root.origin, Origin::Unknown(_)) {
                continue;
            }
            let mut others = roots.iter().enumerate();
            let meets = others.any(|(other, (other_root, other_written))| {
                other != number && (written || *other_written) && root.may_alias(*other_root)
            });
            if meets {
                let accesses = self.buffers[number].accesses.iter();
                self.fences.extend(accesses.map(|access| Fence {
                    statement: access.statement,
                    op: access.op,
                    place: access.place,
                }));
            }
        }
    }
}

fn writes(buffer: &Buffer<'_>) -> bool {
    buffer.accesses.iter().any(|access| access.writes)
}

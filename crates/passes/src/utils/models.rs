//! Builds operations of which a program has many of few kinds: the first of a kind is built, and the others are its clones,
//! which cost less.

use async_mlir::ir::Op;
use async_mlir::melior::ir::Location;

/// A detached operation of each kind that was asked for.
pub(crate) struct Models<'c, K> {
    known: Vec<(K, Op<'c>)>,
}

impl<K> Default for Models<'_, K> {
    fn default() -> Self {
        Self { known: Vec::new() }
    }
}

impl<'c, K: PartialEq> Models<'c, K> {
    /// Returns a clone of what `build` builds for the first of a kind.
    #[must_use = "a detached operation leaks if it is not put somewhere"]
    pub(crate) fn clone_of(
        &mut self,
        kind: K,
        location: Location<'c>,
        build: impl FnOnce() -> Op<'c>,
    ) -> Op<'c> {
        let model = if let Some(&(_, model)) = self.known.iter().find(|(known, _)| *known == kind) {
            model
        } else {
            let model = build();
            self.known.push((kind, model));
            model
        };
        let clone = model.clone_detached();
        clone.set_location(location);
        clone
    }
}

impl<K> Drop for Models<'_, K> {
    fn drop(&mut self) {
        for &(_, model) in &self.known {
            model.erase();
        }
    }
}

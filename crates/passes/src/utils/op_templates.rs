//! Builds one operation of each kind, and hands out its clones, which cost less than to build each.

use async_mlir::ir::Op;
use async_mlir::melior::ir::Location;

/// A detached operation of each kind that was asked for.
pub(crate) struct OpTemplates<'c, K> {
    known: Vec<(K, Op<'c>)>,
}

impl<K> Default for OpTemplates<'_, K> {
    fn default() -> Self {
        Self { known: Vec::new() }
    }
}

impl<'c, K: PartialEq> OpTemplates<'c, K> {
    /// Returns a clone of what `build` builds for the first of a kind.
    #[must_use = "a detached operation leaks if it is not put somewhere"]
    pub(crate) fn clone_of(
        &mut self,
        kind: K,
        location: Location<'c>,
        build: impl FnOnce() -> Op<'c>,
    ) -> Op<'c> {
        let template = if let Some(&(_, template)) = self.known.iter().find(|(known, _)| *known == kind) {
            template
        } else {
            let template = build();
            self.known.push((kind, template));
            template
        };
        let clone = template.clone_detached();
        clone.set_location(location);
        clone
    }
}

impl<K> Drop for OpTemplates<'_, K> {
    fn drop(&mut self) {
        for &(_, template) in &self.known {
            template.erase();
        }
    }
}

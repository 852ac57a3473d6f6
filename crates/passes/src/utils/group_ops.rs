//! Builds commits and waits of group queues. A program has many of few kinds: the first of a kind is built, and the others are
//! its clones, which cost less.

use async_dialects::completion::GroupQueue;
use async_mlir::ir::Op;
use async_mlir::melior::ir::Location;

/// Builds commits and waits. It remembers what it has built.
#[derive(Default)]
pub(crate) struct GroupOps<'c> {
    /// Detached operations.
    models: Vec<(Kind, Op<'c>)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Commit(GroupQueue),
    Wait {
        queue: GroupQueue,
        pending: u8,
        read: bool,
    },
}

impl<'c> GroupOps<'c> {
    /// Builds what [`GroupQueue::commit`] builds.
    #[must_use = "a detached operation leaks if it is not put somewhere"]
    pub(crate) fn commit(&mut self, queue: GroupQueue, location: Location<'c>) -> Op<'c> {
        self.clone_of(Kind::Commit(queue), location)
    }

    /// Builds what [`GroupQueue::wait`] builds.
    #[must_use = "a detached operation leaks if it is not put somewhere"]
    pub(crate) fn wait(
        &mut self,
        queue: GroupQueue,
        location: Location<'c>,
        pending: u8,
        read: bool,
    ) -> Op<'c> {
        let kind = Kind::Wait { queue, pending, read };
        self.clone_of(kind, location)
    }

    fn clone_of(&mut self, kind: Kind, location: Location<'c>) -> Op<'c> {
        let known = self.models.iter().find(|(known, _)| *known == kind);
        let model = if let Some(&(_, model)) = known {
            model
        } else {
            let model = match kind {
                Kind::Commit(queue) => queue.commit(location),
                Kind::Wait { queue, pending, read } => queue.wait(location, pending, read),
            };
            self.models.push((kind, model));
            model
        };
        let clone = model.clone_detached();
        clone.set_location(location);
        clone
    }
}

impl Drop for GroupOps<'_> {
    fn drop(&mut self) {
        for &(_, model) in &self.models {
            model.erase();
        }
    }
}

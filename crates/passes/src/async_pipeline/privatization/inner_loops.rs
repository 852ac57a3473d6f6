//! Rule 5: reads in loops inside of the body, where what is written in a later iteration of such a loop comes after them.

use super::{Privatization, address};
use crate::analysis::access_shapes::elements;
use crate::analysis::footprints::Footprints;
use crate::analysis::uniformity::is_uniform;
use crate::async_pipeline::accesses::{Access, footprint};
use crate::async_pipeline::buffer_liveness::covers;
use async_mlir::control_flow::may_repeat;
use async_mlir::ir::{Op, Region, Value};
use async_mlir::names::scf;
use tokenflow::barriers::Footprint;

impl<'c> Privatization<'_, 'c> {
    /// Returns true if no read in a loop inside finds what an earlier iteration has written: all of it is written before, in the same
    /// iteration of the loop inside or before that, or each of its iterations writes the same.
    pub(super) fn is_written_in_time(
        &self,
        accesses: &[Access<'c>],
        footprints: &mut Footprints<'c>,
    ) -> bool {
        accesses.iter().enumerate().all(|(number, read)| {
            let loops: Vec<Op> = self.loops_around(read).collect();
            if read.writes || loops.is_empty() {
                return true;
            }
            let mut writes = accesses.iter().enumerate().filter(|(_, access)| access.writes);
            let is_in_time = |(at, write): (usize, &Access<'c>)| {
                let mut around = self.loops_around(write);
                !around.any(|op| loops.contains(&op)) || at < number && self.is_alike_in(write, read, &loops)
            };
            writes.all(is_in_time) || self.is_covered(read, &accesses[..number], footprints)
        })
    }

    /// The operations inside of the body around an access that may repeat it.
    fn loops_around(&self, access: &Access<'c>) -> impl Iterator<Item = Op<'c>> {
        let around = self.body.around;
        let inside = access.op.ancestors().take_while(move |op| *op != around);
        let repeats =
            |region: Region<'c>| region.blocks().len() > 1 || region.first().is_some_and(may_repeat);
        inside.filter(move |op| op.regions().any(repeats))
    }

    /// Returns true if `write` is executed in each iteration of the loops around both, and writes the same bytes each time; `loops` are all that are
    /// around `read`.
    fn is_alike_in(&self, write: &Access<'c>, read: &Access<'c>, loops: &[Op<'c>]) -> bool {
        let (shared, own): (Vec<Op>, Vec<Op>) = self.loops_around(write).partition(|op| loops.contains(op));
        let is_invariant = |values: Vec<Value<'c>>| self.is_invariant_in(values, &shared);
        let mut conditions = write.conditions.iter();
        conditions.all(|condition| read.conditions.contains(condition) || is_invariant(vec![condition.0]))
            && own
                .iter()
                .all(|op| op.is(scf::FOR) && is_invariant(op.operands().take(3).collect()))
            && is_invariant(address(write.op, write.memory))
    }

    /// Returns true if those of the accesses `before` that are sure to be executed, in the same iteration of all loops around both, write all
    /// that is `read`.
    fn is_covered(&self, read: &Access<'c>, before: &[Access<'c>], footprints: &mut Footprints<'c>) -> bool {
        let loops: Vec<Op> = self.loops_around(read).collect();
        let is_sure = |write: &&Access<'c>| {
            let mut conditions = write.conditions.iter();
            let runs = |op: Op<'c>| self.perhaps_skipped(write).all(|skipped| skipped != op);
            write.writes
                && conditions.all(|condition| read.conditions.contains(condition))
                && self.loops_around(write).all(|op| loops.contains(&op) || runs(op))
        };
        let sure: Vec<&Access> = before.iter().filter(is_sure).collect();
        let place = address(read.op, read.memory);
        let wanted = elements(read.op, read.memory);
        let mut same = sure
            .iter()
            .filter(|write| address(write.op, write.memory) == place);
        if wanted.is_some() && same.any(|write| elements(write.op, write.memory) == wanted) {
            return true;
        }
        // What all threads write together takes all of them.
        if !read
            .conditions
            .iter()
            .all(|(condition, _)| is_uniform(*condition))
        {
            return false;
        }
        let Some(mut read) = footprint(footprints, read, &self.all) else {
            return false;
        };
        let written: Vec<Footprint> = sure
            .into_iter()
            .filter(|write| self.loops_around(write).all(|op| loops.contains(&op)))
            .filter_map(|write| footprint(footprints, write, &self.all))
            .filter(|write| write.offset.terms == read.offset.terms)
            .map(without_terms)
            .collect();
        read = without_terms(read);
        covers(written.iter(), &read)
    }
}

/// In the same iteration of the same loops, the same terms are the same number.
fn without_terms(mut footprint: Footprint) -> Footprint {
    footprint.offset.terms.clear();
    footprint
}

//! Where the tokens of a ring's loads go.

use super::Unreadable;
use super::slice::{Item, Slice};
use crate::mbarriers::code::Token;
use async_dialects::names::async_;
use async_mlir::control_flow::selected_values;
use async_mlir::ir::{Op, Value};
use async_mlir::names::arith;
use std::collections::hash_map::Entry;

impl<'c> Slice<'_, 'c> {
    /// Follows the loads of `token`.
    pub(super) fn follow(&mut self, token: Value<'c>) {
        let next = u32::try_from(self.tokens.len()).unwrap_or(u32::MAX);
        if let Entry::Vacant(place) = self.tokens.entry(token) {
            place.insert(Token(next));
            self.work.push(token);
        }
    }

    pub(super) fn follow_uses(&mut self, token: Value<'c>) -> Result<(), Unreadable<'c>> {
        for op in self.index.users(token) {
            match op.name() {
                async_::AWAIT => self.add(op, Item::Await)?,
                async_::JOIN => {
                    self.add(op, Item::Join)?;
                    self.follow(op.result(0));
                }
                arith::SELECT => {
                    self.need_condition(op.operand(0))?;
                    self.add(op, Item::Choose)?;
                    self.follow(op.result(0));
                }
                _ if op.num_regions() > 0 => self.follow_through(op, token)?,
                _ if op.is_terminator() => {
                    if let Some(parent) = op.parent().filter(|parent| *parent != self.index.function) {
                        self.follow_through(parent, token)?;
                    }
                }
                _ if selected_values(op).is_some() => {
                    self.add(op, Item::Join)?;
                    op.results().for_each(|result| self.follow(result));
                }
                // What escapes to where it can't be followed was awaited before.
                _ => {}
            }
        }
        Ok(())
    }

    fn follow_through(&mut self, op: Op<'c>, token: Value<'c>) -> Result<(), Unreadable<'c>> {
        let Some(flow) = self.index.flow(op) else {
            return Ok(());
        };
        self.add(op, Item::Region)?;
        if self.index.roles.divides(op).is_some() && flow.bound_from(token).next().is_some() {
            let what = "passes on the token of a load, of which warps of other roles know nothing";
            return Err(Unreadable { op, what });
        }
        flow.bound_from(token).for_each(|to| self.follow(to));
        Ok(())
    }
}

//! Loops of `scf`.

use super::{Done, Reader, Unknown, number};
use crate::code::{Index, Op as Instruction, Reg};
use crate::scalar::{IntPredicate, Scalar};
use crate::value::{Elem, Value as Constant};
use async_mlir::control_flow::{EdgeTarget, entry_edges, region_exit_edges};
use async_mlir::ir::{Op, Value};
use async_mlir::names::attr;

impl<'c> Reader<'c> {
    /// Enters a loop: its counter starts at 0.
    fn enter(&mut self, op: Op<'c>) -> u32 {
        let depth = u32::try_from(self.loops.len()).unwrap_or(u32::MAX);
        let place = self.place(op);
        self.code.loops.push(place);
        self.emit(op, Instruction::Count { depth, start: true });
        let number = u32::try_from(self.code.loops.len() - 1).unwrap_or(u32::MAX);
        self.loops.push(number);
        depth
    }

    pub(super) fn counted_loop(&mut self, op: Op<'c>, results: &[Value<'c>]) -> Done<'c> {
        let Some(entry) = op.region(0).first() else {
            return Err(Unknown::operation(op));
        };
        let (counter, carried) = (entry.arg(0), entry.args().skip(1).collect::<Vec<_>>());
        let elem = number(counter.ty()).unwrap_or(Elem::INDEX);
        // MLIR's interfaces know nothing of the counter, and no way back where there is one iteration at most.
        let inits: Vec<Value> = std::iter::once(op.operand(0))
            .chain(op.operands().skip(3))
            .collect();
        self.moves(op, &inits, &entry.args().collect::<Vec<_>>());
        let i = self.reg(counter);
        let (bound, step) = (self.operand(op, 1), self.operand(op, 2));
        self.count_up(op, (i, elem), (bound, step), &mut |reader| {
            reader.returning(op.region(0), &carried)
        })?;
        self.moves(op, &carried, results);
        Ok(())
    }

    /// Runs `body` while counter `i`, which is set, is below `bound`.
    fn count_up(
        &mut self,
        op: Op<'c>,
        (i, elem): (Reg, Elem),
        (bound, step): (Reg, Reg),
        body: &mut dyn FnMut(&mut Self) -> Done<'c>,
    ) -> Done<'c> {
        self.emit(op, Instruction::Positive { step, elem });
        let depth = self.enter(op);
        let (head, inside, end) = (self.label(), self.label(), self.label());
        self.bind(head);
        let predicate = if op.has_attr(attr::UNSIGNED_CMP) {
            IntPredicate::Ult
        } else {
            IntPredicate::Slt
        };
        let goes_on = self.fresh();
        self.scalar(op, Scalar::CmpI(predicate), elem, goes_on, &[i, bound]);
        self.emit(
            op,
            Instruction::Branch {
                condition: goes_on,
                then: inside,
                other: end,
            },
        );
        self.bind(inside);
        body(self)?;
        self.scalar(op, Scalar::Add, elem, i, &[i, step]);
        self.emit(op, Instruction::Count { depth, start: false });
        self.emit(op, Instruction::Jump(head));
        self.bind(end);
        self.loops.pop();
        Ok(())
    }

    /// Loops in loops, of which each counter goes from its first to below its second number in steps of the third.
    pub(super) fn nest(
        &mut self,
        op: Op<'c>,
        counters: &[(Reg, [Index; 3])],
        body: &mut dyn FnMut(&mut Self) -> Done<'c>,
    ) -> Done<'c> {
        let Some(((i, numbers), inner)) = counters.split_first() else {
            return body(self);
        };
        let [first, bound, step] = numbers.map(|number| match number {
            Index::Reg(reg) => reg,
            Index::Const(number) => {
                let (to, value) = (self.fresh(), Constant::int(number));
                self.emit(op, Instruction::Set { to, value });
                to
            }
        });
        self.emit(op, Instruction::Moves([(*i, first)].into()));
        self.count_up(op, (*i, Elem::INDEX), (bound, step), &mut |reader| {
            reader.nest(op, inner, body)
        })
    }

    /// One thread runs all iterations, one after the other.
    pub(super) fn parallel(&mut self, op: Op<'c>, results: &[Value<'c>]) -> Done<'c> {
        let Some(entry) = op.region(0).first() else {
            return Err(Unknown::operation(op));
        };
        let rank = entry.num_args();
        let inits: Vec<Value> = op.operands().skip(3 * rank).collect();
        self.moves(op, &inits, results);
        let counters: Vec<(Reg, [Index; 3])> = (0..rank)
            .map(|dim| {
                let numbers = [0, 1, 2].map(|part| Index::Reg(self.operand(op, part * rank + dim)));
                (self.reg(entry.arg(dim)), numbers)
            })
            .collect();
        self.nest(op, &counters, &mut |reader| {
            let end = reader.label();
            reader.region(op.region(0), &mut |reader, reduce| {
                for (i, (value, region)) in reduce.operands().zip(reduce.regions()).enumerate() {
                    let args: Vec<Value> = region
                        .first()
                        .map_or_else(Vec::new, |block| block.args().collect());
                    reader.moves(reduce, &[results[i], value], &args);
                    reader.returning(region, &results[i..=i])?;
                }
                reader.emit(reduce, Instruction::Jump(end));
                Ok(())
            })?;
            reader.bind(end);
            Ok(())
        })
    }

    /// The same; iterations that are handed out to threads are not known.
    pub(super) fn forall(&mut self, op: Op<'c>) -> Done<'c> {
        let Some(entry) = op.region(0).first() else {
            return Err(Unknown::operation(op));
        };
        if op.num_results() > 0 || op.has_attr(attr::MAPPING) {
            return Err(Unknown::new(
                op,
                "only a loop without results and mapping can be run here",
            ));
        }
        let mut next = 0;
        let [first, bound, step] = [
            self.list(op, attr::STATIC_LOWER_BOUND, &mut next)?,
            self.list(op, attr::STATIC_UPPER_BOUND, &mut next)?,
            self.list(op, attr::STATIC_STEP, &mut next)?,
        ];
        let counters: Vec<(Reg, [Index; 3])> = (0..first.len())
            .map(|dim| (self.reg(entry.arg(dim)), [first[dim], bound[dim], step[dim]]))
            .collect();
        self.nest(op, &counters, &mut |reader| reader.returning(op.region(0), &[]))
    }

    pub(super) fn while_loop(&mut self, op: Op<'c>) -> Done<'c> {
        let [before, after] = [0, 1].map(|i| op.region(i));
        let entry = entry_edges(op).unwrap_or_default();
        self.hand_over(op, &entry, EdgeTarget::Index(0))?;
        let depth = self.enter(op);
        let (head, body, end) = (self.label(), self.label(), self.label());
        self.bind(head);
        self.region(before, &mut |reader, condition| {
            let edges = region_exit_edges(condition).unwrap_or_default();
            let goes_on = reader.operand(condition, 0);
            let stop = reader.label();
            reader.emit(
                condition,
                Instruction::Branch {
                    condition: goes_on,
                    then: body,
                    other: stop,
                },
            );
            reader.bind(stop);
            reader.hand_over(condition, &edges, EdgeTarget::After)?;
            reader.emit(condition, Instruction::Jump(end));
            reader.bind(body);
            reader.hand_over(condition, &edges, EdgeTarget::Index(1))
        })?;
        self.body(after, EdgeTarget::Index(0))?;
        self.emit(op, Instruction::Count { depth, start: false });
        self.emit(op, Instruction::Jump(head));
        self.bind(end);
        self.loops.pop();
        Ok(())
    }
}

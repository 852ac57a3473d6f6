//! Control flow: `scf`, `cf`, calls, and regions that run where they stand.

use super::{Done, Reader, Unknown};
use crate::code::{Label, Op as Instruction};
use crate::value::Value as Constant;
use async_mlir::control_flow::{Edge, EdgeTarget, branch_edges, region_exit_edges};
use async_mlir::ir::{Block, Op, Region, Value};
use async_mlir::names::{attr, builtin, cf, func, gpu, memref, nvvm, scf};
use async_mlir::types;
use std::collections::HashMap;

/// What a terminator without successors does.
type Exit<'a, 'c> = &'a mut dyn FnMut(&mut Reader<'c>, Op<'c>) -> Done<'c>;

impl<'c> Reader<'c> {
    /// Reads the blocks of a region; control comes out after what `exit` emits.
    pub(super) fn region(&mut self, region: Region<'c>, exit: Exit<'_, 'c>) -> Done<'c> {
        let blocks = region.blocks();
        let labels: HashMap<Block<'c>, Label> = blocks.iter().map(|&block| (block, self.label())).collect();
        for block in blocks {
            self.bind(labels[&block]);
            for op in block.ops() {
                if Some(op) != block.terminator() {
                    self.op(op)?;
                }
            }
            let Some(terminator) = block.terminator() else {
                continue;
            };
            if terminator.successors().len() > 0 {
                self.branch(terminator, &labels)?;
            } else {
                exit(self, terminator)?;
            }
        }
        Ok(())
    }

    /// Reads a region that runs once, and that control leaves for `to`: what is handed over there, MLIR's interfaces say.
    pub(super) fn body(&mut self, region: Region<'c>, to: EdgeTarget) -> Done<'c> {
        self.once(region, &mut |reader, terminator| {
            let edges = region_exit_edges(terminator).unwrap_or_default();
            reader.hand_over(terminator, &edges, to)
        })
    }

    /// Reads a region that runs once, and whose last operation hands its operands over to `results`.
    pub(super) fn returning(&mut self, region: Region<'c>, results: &[Value<'c>]) -> Done<'c> {
        self.once(region, &mut |reader, terminator| {
            let from: Vec<Value> = terminator.operands().collect();
            reader.moves(terminator, &from, results);
            Ok(())
        })
    }

    /// Reads a region that runs once; `exit` emits what its last operations do before control comes out after them.
    fn once(&mut self, region: Region<'c>, exit: Exit<'_, 'c>) -> Done<'c> {
        let end = self.label();
        self.region(region, &mut |reader, terminator| {
            exit(reader, terminator)?;
            reader.emit(terminator, Instruction::Jump(end));
            Ok(())
        })?;
        self.bind(end);
        Ok(())
    }

    /// Assigns what `op` hands over on that one of its edges that leads to `to`.
    pub(super) fn hand_over(&mut self, op: Op<'c>, edges: &[Edge<'c>], to: EdgeTarget) -> Done<'c> {
        let edge = edges.iter().find(|edge| edge.to == to);
        let edge = edge.ok_or_else(|| Unknown::operation(op))?;
        let (from, to): (Vec<Value>, Vec<Value>) = edge.bindings.iter().copied().unzip();
        self.moves(op, &from, &to);
        Ok(())
    }

    fn branch(&mut self, op: Op<'c>, labels: &HashMap<Block<'c>, Label>) -> Done<'c> {
        let edges = branch_edges(op).ok_or_else(|| Unknown::operation(op))?;
        let stubs: Vec<Label> = edges.iter().map(|_| self.label()).collect();
        match op.name() {
            cf::BR => {}
            cf::COND_BR => {
                let condition = self.operand(op, 0);
                self.emit(
                    op,
                    Instruction::Branch {
                        condition,
                        then: stubs[0],
                        other: stubs[1],
                    },
                );
            }
            cf::SWITCH => {
                let flag = self.operand(op, 0);
                let values = op.attr(attr::CASE_VALUES).and_then(types::constant_numbers);
                let values = values.unwrap_or_default().into_iter();
                let cases = values.map(u64::cast_signed).zip(stubs[1..].iter().copied());
                let cases = cases.collect();
                self.emit(
                    op,
                    Instruction::Switch {
                        flag,
                        cases,
                        default: stubs[0],
                    },
                );
            }
            _ => return Err(Unknown::operation(op)),
        }
        for ((edge, stub), block) in edges.iter().zip(stubs).zip(op.successors()) {
            self.bind(stub);
            self.hand_over(op, std::slice::from_ref(edge), edge.to)?;
            self.emit(op, Instruction::Jump(labels[&block]));
        }
        Ok(())
    }

    /// Reads `op` if it is control flow; returns false if it is not.
    pub(super) fn flow(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        let results: Vec<Value> = op.results().collect();
        match op.name() {
            scf::IF => self.choice(op)?,
            scf::FOR => self.counted_loop(op, &results)?,
            scf::WHILE => self.while_loop(op)?,
            scf::PARALLEL => self.parallel(op, &results)?,
            scf::FORALL => self.forall(op)?,
            gpu::WARP_EXECUTE_ON_LANE_0 => self.lane_0(op)?,
            scf::INDEX_SWITCH => self.switch(op)?,
            scf::EXECUTE_REGION => self.body(op.region(0), EdgeTarget::After)?,
            memref::ALLOCA_SCOPE => self.scope(op)?,
            func::CALL => self.call(op, &results)?,
            nvvm::EXIT => self.emit(op, Instruction::Return),
            cf::ASSERT => {
                let condition = self.operand(op, 0);
                let message = op.str_attr(attr::MSG).unwrap_or_default().to_owned();
                self.emit(op, Instruction::Assert { condition, message });
            }
            name @ (gpu::LAUNCH | gpu::LAUNCH_FUNC) => {
                let message = format!("'{name}' is host code: run the kernel itself");
                return Err(Unknown::new(op, message));
            }
            // Programs of their own, which don't run where they stand.
            builtin::MODULE | gpu::MODULE | func::FUNC | gpu::FUNC => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn choice(&mut self, op: Op<'c>) -> Done<'c> {
        let (then, other, end) = (self.label(), self.label(), self.label());
        let condition = self.operand(op, 0);
        self.emit(
            op,
            Instruction::Branch {
                condition,
                then,
                other,
            },
        );
        self.bind(then);
        self.body(op.region(0), EdgeTarget::After)?;
        self.emit(op, Instruction::Jump(end));
        self.bind(other);
        if op.region(1).first().is_some() {
            self.body(op.region(1), EdgeTarget::After)?;
        }
        self.bind(end);
        Ok(())
    }

    /// What `memref.alloca` makes in a scope, and in no scope inside of it, ends with it.
    fn scope(&mut self, op: Op<'c>) -> Done<'c> {
        self.body(op.region(0), EdgeTarget::After)?;
        self.end_scope(op, op);
        Ok(())
    }

    fn switch(&mut self, op: Op<'c>) -> Done<'c> {
        let (end, default) = (self.label(), self.label());
        let flag = self.operand(op, 0);
        let values = super::ints(op, attr::CASES).unwrap_or_default();
        let cases: Vec<(i64, Label)> = values.into_iter().map(|value| (value, self.label())).collect();
        self.emit(
            op,
            Instruction::Switch {
                flag,
                cases: cases.clone().into(),
                default,
            },
        );
        let labels = std::iter::once(default).chain(cases.into_iter().map(|(_, label)| label));
        for (region, label) in op.regions().zip(labels.collect::<Vec<_>>()) {
            self.bind(label);
            self.body(region, EdgeTarget::After)?;
            self.emit(op, Instruction::Jump(end));
        }
        self.bind(end);
        Ok(())
    }

    fn lane_0(&mut self, op: Op<'c>) -> Done<'c> {
        if op.num_results() > 0 || op.num_operands() > 1 {
            return Err(Unknown::new(
                op,
                "what is handed to other lanes and back is not known here",
            ));
        }
        let lane = self.operand(op, 0);
        let (first, others) = (self.label(), self.label());
        self.emit(
            op,
            Instruction::Switch {
                flag: lane,
                cases: [(0, first)].into(),
                default: others,
            },
        );
        self.bind(first);
        self.body(op.region(0), EdgeTarget::After)?;
        self.bind(others);
        Ok(())
    }

    fn call(&mut self, op: Op<'c>, results: &[Value<'c>]) -> Done<'c> {
        let callee = self.callee(op, func::FUNC)?;
        self.inside(op, callee, &mut |reader| {
            reader.returning(callee.region(0), results)
        })?;
        self.leave_function(callee, op);
        Ok(())
    }

    /// The function that `op` calls; its arguments are assigned.
    pub(super) fn callee(&mut self, op: Op<'c>, kind: &str) -> Result<Op<'c>, Unknown<'c>> {
        let name = callee_name(op);
        let Some((callee, entry)) =
            called(op, kind).and_then(|callee| Some((callee, callee.region(0).first()?)))
        else {
            return Err(Unknown::new(op, format!("'{name}' has no body to run")));
        };
        if self.calls.contains(&callee) {
            return Err(Unknown::new(
                op,
                format!("'{name}' calls itself, which can't be run"),
            ));
        }
        self.moves(
            op,
            &op.operands().collect::<Vec<_>>(),
            &entry.args().collect::<Vec<_>>(),
        );
        Ok(callee)
    }

    /// Reads what is in the body of `callee`, called by `op`.
    pub(super) fn inside(
        &mut self,
        op: Op<'c>,
        callee: Op<'c>,
        read: &mut dyn FnMut(&mut Self) -> Done<'c>,
    ) -> Done<'c> {
        self.calls.push(callee);
        self.call_sites.push(super::short(op.location()));
        read(self)?;
        self.call_sites.pop();
        self.calls.pop();
        Ok(())
    }

    pub(super) fn set(&mut self, op: Op<'c>, to: Value<'c>, value: Constant) {
        let to = self.reg(to);
        self.emit(op, Instruction::Set { to, value });
    }
}

fn callee_name(op: Op<'_>) -> &str {
    op.attr(attr::CALLEE).and_then(types::symbol).unwrap_or_default()
}

/// The function of a kind that `op` calls.
pub(super) fn called<'c>(op: Op<'c>, kind: &str) -> Option<Op<'c>> {
    let name = callee_name(op);
    op.ancestors().find_map(|ancestor| {
        let region = (ancestor.num_regions() == 1).then(|| ancestor.region(0))?;
        let ops = region.first()?.ops();
        ops.into_iter()
            .find(|op| op.is(kind) && op.str_attr(attr::SYM_NAME) == Some(name))
    })
}

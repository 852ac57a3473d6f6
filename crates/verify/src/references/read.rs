//! Reads a function of host code into [`Code`].

use super::code::{Block, Code, Edge, Instr, Token};
use super::{Refusal, check};
use async_dialects::types::is_token;
use async_mlir::calls::callee_name;
use async_mlir::control_flow::{branch_edges, selected_values};
use async_mlir::ir::{self, Op, Value};
use async_mlir::names::{func, llvm};
use rustc_hash::FxHashMap;

/// The functions of the runtime that count, by name.
#[derive(Clone, Copy, Debug)]
pub struct Conventions<'a> {
    /// Adds a reference.
    pub retain: &'a str,
    /// Drops a reference.
    pub release: &'a str,
}

/// A function as code.
pub struct Reading<'c> {
    /// The code.
    pub code: Code,
    /// By block, the operation of each instruction.
    ops: Vec<Vec<Op<'c>>>,
    blocks: Vec<ir::Block<'c>>,
    values: Vec<Value<'c>>,
}

impl<'c> Reading<'c> {
    /// Checks the code; what is wrong comes with the operation where it is, and the token.
    ///
    /// # Errors
    ///
    /// As [`check()`].
    pub fn check(&self) -> Result<(), (Refusal, Option<Op<'c>>, Option<Value<'c>>)> {
        check(&self.code).map_err(|refusal| {
            let end = || {
                self.blocks
                    .get(refusal.block)
                    .and_then(|block| block.terminator())
            };
            let op = self.ops.get(refusal.block).and_then(|ops| ops.get(refusal.instr));
            let value = self.values.get(refusal.token.0 as usize).copied();
            (refusal.clone(), op.copied().or_else(end), value)
        })
    }
}

/// Reads the body of `function`. The token of each address in a frame is what `owner` says: it is used where the address is.
pub fn read<'c>(
    function: Op<'c>,
    conventions: Conventions<'_>,
    owner: &dyn Fn(Value<'c>) -> Option<Value<'c>>,
) -> Reading<'c> {
    let blocks: Vec<ir::Block> = function.regions().flat_map(ir::Region::blocks).collect();
    let mut reader = Reader {
        conventions,
        owner,
        numbers: blocks.iter().copied().zip(0..).collect(),
        tokens: FxHashMap::default(),
        values: Vec::new(),
    };
    let mut code = Code::default();
    let mut ops = Vec::new();
    for (i, block) in blocks.iter().enumerate() {
        let mut params: Vec<Token> = block.args().filter_map(|arg| reader.token(arg)).collect();
        if i == 0 {
            code.borrowed = std::mem::take(&mut params);
        }
        let mut instrs = Vec::new();
        for op in block.ops() {
            reader.op(op, &mut instrs);
        }
        let (of, instrs) = instrs.into_iter().unzip();
        ops.push(of);
        let end = block.terminator();
        code.blocks.push(Block {
            params,
            instrs,
            edges: end.map_or_else(Vec::new, |end| reader.edges(end)),
            returns: end.is_some_and(|end| end.is(func::RETURN) || end.is(llvm::RETURN)),
        });
    }
    code.tokens = u32::try_from(reader.values.len()).expect("no function has as many values");
    Reading {
        code,
        ops,
        blocks,
        values: reader.values,
    }
}

struct Reader<'a, 'c> {
    conventions: Conventions<'a>,
    owner: &'a dyn Fn(Value<'c>) -> Option<Value<'c>>,
    numbers: FxHashMap<ir::Block<'c>, usize>,
    tokens: FxHashMap<Value<'c>, Token>,
    values: Vec<Value<'c>>,
}

impl<'c> Reader<'_, 'c> {
    /// The token that `value` is; `None` of what is no token, such as a null pointer, which nobody counts.
    fn token(&mut self, value: Value<'c>) -> Option<Token> {
        if !is_token(value.ty()) {
            return None;
        }
        let next = Token(u32::try_from(self.values.len()).expect("no function has as many values"));
        let token = *self.tokens.entry(value).or_insert(next);
        if token == next {
            self.values.push(value);
        }
        Some(token)
    }

    fn tokens(&mut self, values: impl Iterator<Item = Value<'c>>) -> Vec<Token> {
        values.filter_map(|value| self.token(value)).collect()
    }

    fn op(&mut self, op: Op<'c>, instrs: &mut Vec<(Op<'c>, Instr)>) {
        // What branches hand over is on their edges.
        if op.successors().len() == 0 {
            if let Some(selected) = selected_values(op)
                && is_token(op.result(0).ty())
            {
                let of = self.tokens(selected.into_iter());
                let selects = self.token(op.result(0)).map(|token| Instr::Select(token, of));
                instrs.extend(selects.map(|instr| (op, instr)));
                return;
            }
            self.operands(op, instrs);
        }
        for result in self.tokens(op.results()) {
            instrs.push((op, Instr::Define(result)));
        }
    }

    /// What `op`, and what is inside of it, does with its operands.
    fn operands(&mut self, op: Op<'c>, instrs: &mut Vec<(Op<'c>, Instr)>) {
        let callee = callee_name(op);
        let mut released = Vec::new();
        for inner in op.self_and_nested() {
            for (index, operand) in inner.operands().enumerate() {
                let is_stored = inner.is(llvm::STORE) && index == 0;
                let is_handed_over = is_stored || inner.is(func::RETURN);
                match self.token(operand) {
                    Some(token) if is_handed_over || callee == Some(self.conventions.release) => {
                        released.push(token);
                    }
                    Some(token) if callee == Some(self.conventions.retain) => {
                        instrs.push((op, Instr::Retain(token)));
                    }
                    Some(token) => instrs.push((op, Instr::Use(token))),
                    // An address that is handed over is not used here.
                    None if is_handed_over => {}
                    None => {
                        let owner = (self.owner)(operand).and_then(|owner| self.token(owner));
                        instrs.extend(owner.map(|owner| (op, Instr::Use(owner))));
                    }
                }
            }
        }
        instrs.extend(released.into_iter().map(|token| (op, Instr::Release(token))));
    }

    fn edges(&mut self, end: Op<'c>) -> Vec<Edge> {
        let bindings = branch_edges(end).unwrap_or_default();
        let successors = end.successors().enumerate();
        let edges = successors.map(|(i, to)| Edge {
            to: self.numbers[&to],
            args: bindings.get(i).map_or_else(Vec::new, |edge| {
                let to_tokens = edge.bindings.iter().filter(|(_, to)| is_token(to.ty()));
                to_tokens.map(|(from, _)| self.token(*from)).collect()
            }),
        });
        edges.collect()
    }
}

//! Writes a [`Slice`] as [`Code`].

use super::arithmetic;
use super::edges::Place;
use super::flow::Flow;
use super::index::Sync;
use super::mbarrier::Use;
use super::slice::{Item, Slice};
use crate::groups::code::Span;
use crate::mbarriers::code::{
    Block, BlockId, Code, Edge, Gathering, Instr, Operand, Roles, Token, Var, When, Who,
};
use crate::mbarriers::int::Operation;
use async_mlir::ir::{self, Op, Value};
use async_mlir::names::{arith, gpu};

/// Code, and the operation of each instruction.
pub(super) struct Emitter<'a, 'c> {
    pub(super) slice: &'a Slice<'a, 'c>,
    pub code: Code,
    pub origins: Vec<Op<'c>>,
    /// Where the current block begins.
    start: usize,
    /// The roles that execute what is read.
    roles: Roles,
    /// True where only the thread that issues does.
    by_issuer: bool,
}

impl<'a, 'c> Emitter<'a, 'c> {
    /// Writes `slice`, of a ring of `depth` mbarriers.
    pub fn emit(slice: &'a Slice<'a, 'c>, depth: u32, counted: Gathering) -> (Code, Vec<Op<'c>>) {
        let gathering = slice.index.gatherings.get(usize::from(counted.0));
        let most_gathers = gathering.map_or(0, |ring| ring.depth);
        let mut emitter = Self {
            slice,
            code: Code {
                depth,
                threads: slice.index.roles.threads.clone(),
                counted,
                is_gathering: slice.is_gathering,
                most_gathers: u8::try_from(most_gathers).unwrap_or(u8::MAX),
                vars: slice.num_vars,
                tokens: u32::try_from(slice.tokens.len()).unwrap_or(u32::MAX),
                ..Code::default()
            },
            origins: Vec::new(),
            start: 0,
            roles: slice.index.roles.all(),
            by_issuer: false,
        };
        let first = emitter.new_block();
        let blocks = slice.index.function.regions().next();
        if let Some(block) = blocks.and_then(ir::Region::first) {
            let last = emitter.block(block, first);
            emitter.end_block(last, vec![Edge::default()]);
        }
        (emitter.code, emitter.origins)
    }

    fn new_block(&mut self) -> BlockId {
        let id = u32::try_from(self.code.blocks.len()).unwrap_or(u32::MAX);
        self.code.blocks.push(Block::default());
        BlockId(id)
    }

    fn end_block(&mut self, at: BlockId, edges: Vec<Edge>) {
        let start = self.code.edges.len();
        self.code.edges.extend(edges);
        self.code.blocks[at.0 as usize] = Block {
            instrs: Span::since(self.start, &self.code.instrs),
            edges: Span::since(start, &self.code.edges),
        };
        self.start = self.code.instrs.len();
    }

    fn push(&mut self, instr: Instr, op: Op<'c>) {
        self.code.instrs.push(instr);
        self.origins.push(op);
    }

    /// Reads what is in `block` from `at` on; returns the block that goes on after it.
    fn block(&mut self, block: ir::Block<'c>, mut at: BlockId) -> BlockId {
        let slice = self.slice;
        let mut last = None;
        for &(place, op, item) in slice.items.get(&block).into_iter().flatten() {
            self.syncs(block, last, Some(place));
            at = self.item(op, item, at);
            last = Some(place);
        }
        self.syncs(block, last, None);
        at
    }

    /// Barriers and fences between two places: one of each is enough.
    fn syncs(&mut self, block: ir::Block<'c>, from: Option<u32>, to: Option<u32>) {
        let syncs = self.slice.index.syncs(block, from, to);
        let found =
            [Sync::InitFence, Sync::Barrier].map(|sync| syncs.iter().find(|(_, known, _)| *known == sync));
        if let [Some((_, _, op)), _] = found {
            self.push(Instr::InitFence, *op);
        }
        // One of some roles is none of the block.
        if let [_, Some((_, _, op))] = found
            && self.roles == self.slice.index.roles.all()
        {
            self.push(Instr::Barrier, *op);
        }
    }

    fn operand(&self, value: Value<'c>) -> Operand {
        if let Some(operand) = self.slice.operand(value) {
            return operand;
        }
        // Nothing is known of what is computed in a way that is not known.
        Operand::Var(Var(u32::MAX))
    }

    fn item(&mut self, op: Op<'c>, item: Item<'c>, mut at: BlockId) -> BlockId {
        match item {
            Item::Mbarrier(used) => self.mbarrier(op, used),
            Item::Region => return self.region_op(op, at),
            Item::Await => {
                let of = self.tokens_of(op.operands());
                self.push(Instr::Await(of, self.roles), op);
            }
            Item::Join => {
                let of = self.tokens_of(op.operands());
                for token in self.results(op) {
                    self.push(Instr::Join(token, of), op);
                }
            }
            Item::Choose => return self.choose(op, at),
            Item::Compute => {
                if op.is(arith::SELECT) {
                    at = self.fork(op.operand(0), at);
                }
                self.compute(op);
            }
            Item::Distance(of) => {
                let (counter, step) = (self.slice.counters[&of], self.operand(of.operand(2)));
                self.compute_as(op, Operation::Mul, [Operand::Var(counter), step]);
            }
            Item::Trips(var) => self.compute_as(op, Operation::Copy, [Operand::Var(var), Operand::Const(0)]),
            Item::Forget(var) => self.push(Instr::Forget(var), op),
            Item::Gather(at) => self.push(Instr::Gather(at, self.roles), op),
            Item::Gathered(at) => self.push(Instr::Gathered(at), op),
            Item::Learn(age) => self.push(Instr::Learn(age.into(), self.roles), op),
        }
        at
    }

    fn mbarrier(&mut self, op: Op<'c>, used: Use<'c>) {
        let by = if self.by_issuer {
            Who::Issuer
        } else {
            Who::Roles(self.roles)
        };
        let instr = match used {
            Use::Init { slot, count } => Instr::Init {
                slot: self.operand(slot),
                count: self.threads_or_operand(count),
            },
            Use::Inval { slot } => Instr::Inval {
                slot: self.operand(slot),
            },
            Use::Expect { slot, bytes } => Instr::Expect {
                slot: self.operand(slot),
                bytes: self.operand(bytes),
            },
            Use::ArriveExpect { slot, bytes } => {
                let (slot, bytes) = (self.operand(slot), self.operand(bytes));
                self.push(Instr::Expect { slot, bytes }, op);
                Instr::Arrive { slot, by }
            }
            Use::Arrive { slot } => Instr::Arrive {
                slot: self.operand(slot),
                by,
            },
            Use::Load { slot, bytes } => {
                let form = self.slice.index.token_forms.get(&op);
                let token = form.and_then(|form| self.slice.tokens.get(&form.result(0)));
                Instr::Load {
                    slot: self.operand(slot),
                    bytes,
                    token: token.copied().unwrap_or(Token(u32::MAX)),
                }
            }
            Use::Wait { slot, parity } => Instr::Wait {
                slot: self.operand(slot),
                parity: self.operand(parity),
                by,
            },
        };
        self.push(instr, op);
    }

    /// The number of threads of the block, where `count` is the product of its sizes, or what `count` holds.
    fn threads_or_operand(&self, count: Value<'c>) -> Operand {
        let factors = |value: Value<'c>| {
            let op = value.defining_op().filter(|op| op.is(arith::MULI));
            op.map(|op| [op.operand(0), op.operand(1)])
        };
        let sizes = factors(count).and_then(|[xy, z]| {
            let [x, y] = factors(xy)?;
            Some([x, y, z].map(|size| size.defining_op().filter(|op| op.is(gpu::BLOCK_DIM))))
        });
        match sizes {
            Some([Some(x), Some(y), Some(z)]) if is_each_dimension([x, y, z]) => {
                Operand::Const(self.code.threads.iter().sum())
            }
            _ => self.operand(count),
        }
    }

    fn compute(&mut self, op: Op<'c>) {
        let (Some(operation), Some(to)) = (arithmetic::operation(op), self.slice.vars.get(&op.result(0)))
        else {
            return;
        };
        let mut of = [Operand::Const(0); 3];
        for (place, value) in of.iter_mut().zip(op.operands()) {
            *place = self.operand(value);
        }
        self.push_compute(op, *to, operation, of);
    }

    fn compute_as(&mut self, op: Op<'c>, operation: Operation, [a, b]: [Operand; 2]) {
        if let Some(&to) = self.slice.vars.get(&op.result(0)) {
            self.push_compute(op, to, operation, [a, b, Operand::Const(0)]);
        }
    }

    fn push_compute(&mut self, op: Op<'c>, to: Var, operation: Operation, of: [Operand; 3]) {
        let width = arithmetic::width(op);
        let instr = Instr::Compute {
            to,
            operation,
            width,
            of,
        };
        self.push(instr, op);
    }

    // Tokens.

    /// A list of those of `values` that have to do with the ring.
    fn tokens_of(&mut self, values: impl Iterator<Item = Value<'c>>) -> Span {
        let start = self.code.lists.len();
        let tokens = values.filter_map(|value| self.slice.tokens.get(&value));
        self.code.lists.extend(tokens);
        Span::since(start, &self.code.lists)
    }

    fn results(&self, op: Op<'c>) -> Vec<Token> {
        let results = op.results();
        results
            .filter_map(|result| self.slice.tokens.get(&result).copied())
            .collect()
    }

    /// A choice between two tokens: two ways that meet again.
    fn choose(&mut self, op: Op<'c>, at: BlockId) -> BlockId {
        let after = self.new_block();
        let to = self.results(op);
        let known = op
            .operand(0)
            .as_constant_int()
            .map(|condition| condition & 1 == 1);
        let ways = [(1, true), (2, false)].into_iter();
        let edges = ways.filter(|(_, truth)| known.is_none_or(|known| known == *truth));
        let edges = edges.map(|(i, truth)| Edge {
            to: Some(after),
            when: self.when(op.operand(0), truth),
            tokens: to
                .iter()
                .map(|to| (*to, self.slice.tokens.get(&op.operand(i)).copied()))
                .collect(),
            ..Edge::default()
        });
        let edges = edges.collect();
        self.end_block(at, edges);
        after
    }

    /// Two ways on which `condition` is known.
    fn fork(&mut self, condition: Value<'c>, at: BlockId) -> BlockId {
        if !self.slice.unknown.contains(&condition) {
            return at;
        }
        let after = self.new_block();
        let edges = [true, false].map(|truth| Edge {
            to: Some(after),
            when: self.when(condition, truth),
            ..Edge::default()
        });
        self.end_block(at, edges.into());
        after
    }

    pub(super) fn when(&self, condition: Value<'c>, truth: bool) -> Option<When> {
        match self.slice.operand(condition) {
            Some(Operand::Var(var)) => Some(When::Is(var, truth)),
            _ => None,
        }
    }

    // Control flow.

    fn region_op(&mut self, op: Op<'c>, at: BlockId) -> BlockId {
        let Some(flow) = self.slice.index.flow(op) else {
            return at;
        };
        if let (true, Some(block)) = (self.slice.index.is_for_issuer(op), flow.blocks[0]) {
            self.by_issuer = true;
            let after = self.block(block, at);
            self.by_issuer = false;
            return after;
        }
        if let Some(first) = self.slice.index.roles.divides(op) {
            return self.one_after_the_other(&flow, first, at);
        }
        let after = self.new_block();
        let blocks = flow.blocks.iter().map(|block| block.map(|_| self.new_block()));
        let place = Place {
            op,
            flow: &flow,
            blocks: blocks.collect(),
            after,
        };
        let entries = flow.entries.iter().filter(|edge| edge.possible);
        let entries = entries.filter_map(|edge| self.entry(edge, &place));
        let entries = entries.collect();
        self.end_block(at, entries);
        for (region, block) in flow.blocks.iter().enumerate() {
            let (Some(block), Some(at)) = (*block, place.blocks[region]) else {
                continue;
            };
            self.induction_variable(op, block);
            let last = self.block(block, at);
            let exits = flow.exits[region].iter().filter(|edge| edge.possible);
            let exits = exits.filter_map(|edge| self.exit(edge, &place));
            let exits = exits.collect();
            self.end_block(last, exits);
        }
        after
    }

    /// Two ways of which each is for some roles: nothing in one of them depends on how far others are in the other one.
    fn one_after_the_other(&mut self, flow: &Flow<'c>, first: Roles, mut at: BlockId) -> BlockId {
        let around = self.roles;
        for (block, roles) in flow.blocks.iter().zip([first, !first]) {
            self.roles = around & roles;
            if let Some(block) = block.filter(|_| self.roles != 0) {
                at = self.block(block, at);
            }
        }
        self.roles = around;
        at
    }

    /// Computes the induction variable of a loop whose bounds are constants: `lower + iteration * step`.
    fn induction_variable(&mut self, op: Op<'c>, block: ir::Block<'c>) {
        let Some(&counter) = self.slice.counters.get(&op) else {
            return;
        };
        let Some(&to) = self.slice.vars.get(&block.arg(0)) else {
            return;
        };
        let [lower, step] = [0, 2].map(|i| op.operand(i).as_constant_int());
        if let (Some(lower), Some(step)) = (lower, step) {
            let width = 64;
            let of = |a, b| [a, Operand::Const(b), Operand::Const(0)];
            for (operation, of) in [
                (Operation::Mul, of(Operand::Var(counter), step)),
                (Operation::Add, of(Operand::Var(to), lower)),
            ] {
                let instr = Instr::Compute {
                    to,
                    operation,
                    width,
                    of,
                };
                self.push(instr, op);
            }
        }
    }
}

/// Returns true if these are the sizes of a block in three dimensions.
fn is_each_dimension(sizes: [Op<'_>; 3]) -> bool {
    use async_mlir::gpu::Dimension;
    use async_mlir::names::attr;
    let each = sizes.iter().zip(Dimension::ALL);
    each.into_iter()
        .all(|(size, dimension)| size.attr(attr::DIMENSION) == Some(dimension.attribute(size.context())))
}

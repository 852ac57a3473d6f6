//! Reference counting by the compiler: places retains and releases in functions that hold references.
//!
//! A variable holds one reference from its definition on, unless it is [borrowed](Function::borrowed). An operation that
//! *borrows* it needs the reference to be there; one that *consumes* it takes the reference away, as a return or a store
//! does, and so does an edge that passes it to an argument of a block. [`place`] says where references have to be added and
//! dropped, so that on every path
//!
//! - no variable is used without a reference,
//! - each reference is dropped right after the last use of its variable ("garbage-free": Reinking, Xie, de Moura and Leijen, "Perceus:
//!   Garbage Free Reference Counting with Reuse", PLDI 2021), and
//! - nothing is retained that could be moved.
//!
//! It takes time in proportion to the operations and to the blocks that each variable is live in.

use rustc_hash::{FxHashMap, FxHashSet};

crate::ids::ids! {
    /// A variable that holds a reference.
    Var;
}

/// The control flow of a function, and what it does with references. The first block is the entry.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// The blocks.
    pub blocks: Vec<Block>,
    /// How many variables there are.
    pub vars: usize,
    /// Variables that the caller holds the references of while the function runs.
    pub borrowed: FxHashSet<Var>,
}

/// A block: arguments, operations one after the other, and where the last of them leads.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The arguments: definitions at the start.
    pub args: Vec<Var>,
    /// The operations, of which the last is the terminator.
    pub ops: Vec<Op>,
    /// Where the terminator leads.
    pub edges: Vec<Edge>,
}

/// What an operation does with references.
#[derive(Clone, Debug, Default)]
pub struct Op {
    /// Variables that it uses.
    pub borrows: Vec<Var>,
    /// Variables whose references it takes away: once for each time that one is in the list.
    pub consumes: Vec<Var>,
    /// Variables that it defines.
    pub defines: Vec<Var>,
}

/// An edge to another block.
#[derive(Clone, Debug, Default)]
pub struct Edge {
    /// The block.
    pub to: usize,
    /// What its arguments get.
    pub passes: Vec<Var>,
}

/// What to do with a reference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Action {
    /// Add one.
    Retain,
    /// Drop one.
    Release,
}

/// Where to do it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Place {
    /// Before the first operation of a block.
    Start(usize),
    /// Before an operation of a block.
    Before(usize, usize),
    /// After an operation of a block.
    After(usize, usize),
    /// On an edge of a block, which leads from several edges to one with several: it has to be split.
    Edge(usize, usize),
}

/// Where to retain and release which variables. Those of one place are retained before any is released.
#[must_use]
pub fn place(function: &Function) -> Vec<(Place, Action, Var)> {
    let live_in = live_in(function);
    let mut incoming = vec![0usize; function.blocks.len()];
    for edge in function.blocks.iter().flat_map(|block| &block.edges) {
        incoming[edge.to] += 1;
    }
    let mut placement = Placement {
        function,
        live_in,
        incoming,
        actions: Vec::new(),
    };
    for index in 0..function.blocks.len() {
        placement.block(index);
    }
    placement.actions
}

/// The variables that are live where each block starts, but for its arguments.
fn live_in(function: &Function) -> Vec<FxHashSet<Var>> {
    let mut predecessors = vec![Vec::new(); function.blocks.len()];
    // In which block a variable is defined; none for what the caller defines.
    let mut defined = vec![None; function.vars];
    for (index, block) in function.blocks.iter().enumerate() {
        for edge in &block.edges {
            predecessors[edge.to].push(index);
        }
        let by_ops = block.ops.iter().flat_map(|op| &op.defines);
        for var in block.args.iter().chain(by_ops) {
            defined[var.0] = Some(index);
        }
    }
    let mut live_in = vec![FxHashSet::default(); function.blocks.len()];
    let mut work = Vec::new();
    for (index, block) in function.blocks.iter().enumerate() {
        let by_ops = block
            .ops
            .iter()
            .flat_map(|op| op.borrows.iter().chain(&op.consumes));
        let passed = block.edges.iter().flat_map(|edge| &edge.passes);
        for &var in by_ops.chain(passed) {
            work.push((index, var));
            while let Some((block, var)) = work.pop() {
                if defined[var.0] != Some(block) && live_in[block].insert(var) {
                    work.extend(predecessors[block].iter().map(|&before| (before, var)));
                }
            }
        }
    }
    live_in
}

struct Placement<'a> {
    function: &'a Function,
    live_in: Vec<FxHashSet<Var>>,
    /// How many edges lead to each block.
    incoming: Vec<usize>,
    actions: Vec<(Place, Action, Var)>,
}

impl Placement<'_> {
    fn block(&mut self, index: usize) {
        let function = self.function;
        let block = &function.blocks[index];
        let mut live = FxHashSet::default();
        for edge in &block.edges {
            live.extend(self.live_in[edge.to].iter().copied());
        }
        // What edges pass is there until then.
        live.extend(block.edges.iter().flat_map(|edge| &edge.passes));
        let at_edges = live.clone();
        for (number, op) in block.ops.iter().enumerate().rev() {
            self.op(op, index, number, &live);
            for var in &op.defines {
                live.remove(var);
            }
            live.extend(op.borrows.iter().chain(&op.consumes));
        }
        for &var in &block.args {
            if !live.contains(&var) {
                self.add(Place::Start(index), Action::Release, var, 1);
            }
        }
        for number in 0..block.edges.len() {
            self.edge(index, number, &at_edges);
        }
    }

    /// What an operation needs, if `live` is used after it.
    fn op(&mut self, op: &Op, block: usize, number: usize, live: &FxHashSet<Var>) {
        for (&var, &times) in &count(&op.consumes) {
            // The last one takes the function's own.
            let own = usize::from(!live.contains(&var) && self.owns(var));
            self.add(Place::Before(block, number), Action::Retain, var, times - own);
        }
        let borrowed = op.borrows.iter().filter(|var| !op.consumes.contains(var));
        let mut last: Vec<Var> = borrowed.chain(&op.defines).copied().collect();
        last.sort_unstable();
        last.dedup();
        for var in last {
            if !live.contains(&var) {
                self.add(Place::After(block, number), Action::Release, var, 1);
            }
        }
    }

    /// What an edge needs: of `before`, the variables with a reference each, it passes some, and some are used after it.
    fn edge(&mut self, block: usize, number: usize, before: &FxHashSet<Var>) {
        let edges = &self.function.blocks[block].edges;
        let edge = &edges[number];
        let place = if self.incoming[edge.to] == 1 {
            Place::Start(edge.to)
        } else if edges.len() == 1 {
            Place::Before(block, self.function.blocks[block].ops.len() - 1)
        } else {
            Place::Edge(block, number)
        };
        let passes = count(&edge.passes);
        let mut vars: Vec<Var> = before.iter().copied().collect();
        vars.sort_unstable();
        for var in vars {
            let live = self.live_in[edge.to].contains(&var);
            let needed = passes.get(&var).copied().unwrap_or(0) + usize::from(live && self.owns(var));
            let held = usize::from(self.owns(var));
            if needed > held {
                self.add(place, Action::Retain, var, needed - held);
            } else {
                self.add(place, Action::Release, var, held - needed);
            }
        }
    }

    fn owns(&self, var: Var) -> bool {
        !self.function.borrowed.contains(&var)
    }

    fn add(&mut self, place: Place, action: Action, var: Var, times: usize) {
        if action == Action::Release && !self.owns(var) {
            return;
        }
        for _ in 0..times {
            self.actions.push((place, action, var));
        }
    }
}

/// How often each variable is in a list.
fn count(vars: &[Var]) -> FxHashMap<Var, usize> {
    let mut counts = FxHashMap::default();
    for &var in vars {
        *counts.entry(var).or_default() += 1;
    }
    counts
}

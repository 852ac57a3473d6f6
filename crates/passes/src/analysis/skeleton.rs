//! Builds the [`Program`] of a function: its control flow, with nothing but what issues, commits, waits and
//! awaits (its *skeleton*).
//!
//! [`super::cfg`] says how control flows, and an [`OpClassifier`] what operations do.

mod blocks;
mod ops;

use super::cfg::RegionFlow;
use super::op_classifier::OpClassifier;
use async_dialects::completion::GroupQueue;
use async_mlir::ir::{self, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use tokenflow::{CommitRules, Program, Queue, Slot, Token};

/// Where the commits of a slot go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotPlace<'c> {
    /// Right after an operation.
    After(Op<'c>),
    /// At the start of a block.
    Start(ir::Block<'c>),
    /// In the second region of an operation, which has no block yet.
    NewElse(Op<'c>),
}

/// The skeleton of a function: its [`Program`], and the IR that the numbers in it stand for.
pub struct Skeleton<'c> {
    /// The skeleton.
    pub program: Program,
    /// The queues, by number.
    pub queues: Vec<GroupQueue>,
    /// The asynchronous operations, by site.
    pub sites: Vec<Op<'c>>,
    /// The program's own commits, in program order.
    pub commits: Vec<Op<'c>>,
    /// The awaits, by number.
    pub awaits: Vec<Op<'c>>,
    /// The slots' places.
    pub slots: Vec<SlotPlace<'c>>,
    /// The constant-trip loops, by number.
    pub loops: Vec<Op<'c>>,
    /// The token of every value.
    pub tokens: FxHashMap<Value<'c>, Token>,
    /// The queues that a token belongs to by its definition.
    pub issued: Vec<(Token, GroupQueue)>,
    /// The queues whose operations' reads a token belongs to by its definition.
    pub reads: Vec<(Token, GroupQueue)>,
    /// The tokens of block-wide operations.
    pub block_wide: Vec<Token>,
    /// Tokens that this function doesn't define, and those that nothing known defines.
    pub foreign: Vec<Token>,
    /// Which token a control-flow edge binds to which.
    pub bindings: Vec<(Token, Token)>,
    /// Which token is joined into which.
    pub joins: Vec<(Token, Token)>,
    /// Uses of tokens by operations that can't be followed.
    pub escapes: Vec<(Op<'c>, usize)>,
    /// For each graph, in program order from outside in: whose regions it is made of, and the region of each block.
    /// Blocks of no region are where the operation is entered and where it does nothing.
    pub graphs: Vec<(Op<'c>, Vec<Option<usize>>)>,
    /// Whether branches between blocks are no edges because constants rule them out.
    pub lacks_branches: bool,
}

/// Reads the body of `function`. Loops in `unpeelable` are never to be peeled.
#[allow(clippy::implicit_hasher)] // Made by our passes alone.
pub fn read<'c, V: OpClassifier<'c>>(
    function: Op<'c>,
    classifier: &V,
    unpeelable: &FxHashSet<Op<'c>>,
) -> Skeleton<'c> {
    let mut reader = Reader {
        classifier,
        unpeelable,
        out: Skeleton {
            program: Program::new(0),
            queues: Vec::new(),
            sites: Vec::new(),
            commits: Vec::new(),
            awaits: Vec::new(),
            slots: Vec::new(),
            loops: Vec::new(),
            tokens: FxHashMap::default(),
            issued: Vec::new(),
            reads: Vec::new(),
            block_wide: Vec::new(),
            foreign: Vec::new(),
            bindings: Vec::new(),
            joins: Vec::new(),
            escapes: Vec::new(),
            graphs: Vec::new(),
            lacks_branches: false,
        },
        defined: Vec::new(),
        latest_control: None,
    };
    let regions: Vec<ir::Region> = function.regions().collect();
    let flow = RegionFlow::of_function(function);
    reader.out.program.body = reader.regions(&regions, &Scope::new(&flow, 0), Vec::new());
    if let Some(entry) = function.regions().next().and_then(ir::Region::first) {
        for arg in reader.token_values(entry.args()) {
            let token = reader.token(arg);
            reader.foreign(token);
        }
    }
    reader.out.program.queues = u8::try_from(reader.out.queues.len()).unwrap_or(u8::MAX);
    let rules = reader.out.queues.iter().map(|queue| CommitRules {
        empty_groups: queue.has_free_empty_groups(),
        divergent: !queue.has_convergent_commits(),
        ..CommitRules::default()
    });
    reader.out.program.commit_rules = rules.collect();
    let undefined: Vec<Token> = {
        let tokens = reader.out.tokens.values().copied();
        tokens.filter(|token| !reader.is_defined(*token)).collect()
    };
    reader.out.foreign.extend(undefined);
    reader.out
}

struct Reader<'a, 'c, V> {
    classifier: &'a V,
    unpeelable: &'a FxHashSet<Op<'c>>,
    out: Skeleton<'c>,
    /// By token, whether something defines it; false for those after the last.
    defined: Vec<bool>,
    /// What the regions of some operation depend on, and whether that is the same in all threads.
    latest_control: Option<(Value<'c>, bool)>,
}

/// The blocks that one graph is made of.
struct Scope<'a, 'c> {
    flow: &'a RegionFlow<'c>,
    /// True for a loop whose body's end is the end of an iteration.
    is_iteration: bool,
    places: Places<'c>,
}

/// The place of each block in a graph.
enum Places<'c> {
    /// Of a few blocks, which are looked through.
    Few(Vec<(ir::Block<'c>, usize)>),
    Many(FxHashMap<ir::Block<'c>, usize>),
}

impl<'c> Places<'c> {
    /// The most blocks to look through.
    const FEW: usize = 8;

    fn get(&self, block: ir::Block<'c>) -> Option<usize> {
        match self {
            Self::Few(places) => places
                .iter()
                .find(|(known, _)| *known == block)
                .map(|(_, place)| *place),
            Self::Many(places) => places.get(&block).copied(),
        }
    }
}

impl<'a, 'c> Scope<'a, 'c> {
    /// Numbers the blocks of all regions from `first` on.
    fn new(flow: &'a RegionFlow<'c>, first: usize) -> Self {
        let blocks = flow.op().regions().flat_map(ir::Region::blocks);
        let places: Vec<_> = blocks.zip(first..).collect();
        Self {
            flow,
            is_iteration: false,
            places: if places.len() <= Places::FEW {
                Places::Few(places)
            } else {
                Places::Many(places.into_iter().collect())
            },
        }
    }

    /// The body of a loop.
    fn iteration(flow: &'a RegionFlow<'c>) -> Self {
        Self {
            is_iteration: true,
            ..Self::new(flow, 0)
        }
    }
}

impl<'c, V: OpClassifier<'c>> Reader<'_, 'c, V> {
    // Tokens.

    fn is_token(&self, value: Value<'c>) -> bool {
        self.classifier.is_token(value.ty())
    }

    fn token_values(&self, values: impl Iterator<Item = Value<'c>>) -> Vec<Value<'c>> {
        values.filter(|value| self.is_token(*value)).collect()
    }

    fn token(&mut self, value: Value<'c>) -> Token {
        let program = &mut self.out.program;
        *self.out.tokens.entry(value).or_insert_with(|| program.token())
    }

    fn define(&mut self, value: Value<'c>) -> Token {
        let token = self.token(value);
        let index = token.0 as usize;
        if index >= self.defined.len() {
            self.defined.resize(index + 1, false);
        }
        self.defined[index] = true;
        token
    }

    fn is_defined(&self, token: Token) -> bool {
        self.defined.get(token.0 as usize).copied().unwrap_or(false)
    }

    /// Notes that nothing is known of where `token` comes from.
    fn foreign(&mut self, token: Token) {
        self.out.foreign.push(token);
    }

    fn unknown_token(&mut self) -> Token {
        let token = self.out.program.token();
        self.foreign(token);
        token
    }

    fn queue(&mut self, queue: GroupQueue) -> Queue {
        let index = self.out.queues.iter().position(|known| *known == queue);
        let index = index.unwrap_or_else(|| {
            self.out.queues.push(queue);
            self.out.queues.len() - 1
        });
        Queue(u8::try_from(index).unwrap_or(u8::MAX))
    }

    fn slot(&mut self, place: SlotPlace<'c>) -> Option<Slot> {
        V::INSERTS_COMMITS.then(|| {
            self.out.slots.push(place);
            self.out.program.slot()
        })
    }
}

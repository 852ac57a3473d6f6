//! A kernel of `tokenflow` with barriers as the checker's code.

use async_overlap::LoopId;
use async_overlap::ids::IndexVec;
use async_verify::barriers::code::{
    Block, BlockId, Class, ClassId, Code, Edge, EdgeKind, Instr, Issue, Kind, Threads, Token,
};
use std::collections::{BTreeMap, BTreeSet};
use tokenflow::barriers::{AccessKind, Action, EdgeKind as KernelEdge, Kernel, StepId};

/// The code of `kernel`, in which a barrier stands before each of `barriers`: a block for each step.
pub fn code_of(kernel: &Kernel, barriers: &BTreeSet<StepId>) -> Code {
    let mut firsts: BTreeMap<LoopId, BlockId> = BTreeMap::new();
    let blocks = kernel.steps.with_ids().map(|(id, step)| {
        let here = BlockId(id.0);
        let outermost = kernel.loops_around(id).first().copied();
        let barrier = barriers.contains(&id).then_some(Instr::Barrier);
        Block {
            instrs: barrier.into_iter().chain(instr(&step.action)).collect(),
            edges: step.edges.iter().map(edge).collect(),
            depth: kernel.depth(id),
            first_after: outermost.map_or(here, |outermost| *firsts.entry(outermost).or_insert(here)),
            threads: Threads {
                warps: step.warps.may,
                whole: step.warps.whole,
                apart: step.divergent.is_some(),
            },
        }
    });
    let blocks: IndexVec<BlockId, Block> = blocks.collect();
    let classes = kernel.accesses.iter().map(|access| Class {
        footprint: access.footprint.clone(),
        kind: match access.kind {
            AccessKind::Read => Kind::Read,
            AccessKind::Write => Kind::Write,
            AccessKind::Atomic => Kind::Atomic,
        },
    });
    Code {
        loops: kernel.loops.clone(),
        classes: classes.collect(),
        blocks,
        warps: u32::MAX,
    }
}

fn token(token: tokenflow::Token) -> Token {
    Token(token.0)
}

fn edge(edge: &tokenflow::barriers::Edge) -> Edge {
    Edge {
        to: BlockId(edge.to.0),
        kind: match edge.kind {
            KernelEdge::Plain => EdgeKind::Plain,
            KernelEdge::Enter(of) => EdgeKind::Enter(of),
            KernelEdge::Back(of) => EdgeKind::Back(of),
            KernelEdge::Leave(of) => EdgeKind::Leave(of),
        },
        bindings: edge
            .bindings
            .iter()
            .map(|(from, to)| (token(*from), token(*to)))
            .collect(),
        adds: false,
    }
}

fn instr(action: &Action) -> Option<Instr> {
    let tokens = |tokens: &[tokenflow::Token]| tokens.iter().copied().map(token).collect();
    Some(match action {
        Action::None => return None,
        Action::Barrier => Instr::Barrier,
        Action::BarrierOf(warps) => Instr::BarrierOf(*warps),
        Action::Access(accesses) => Instr::Access(accesses.iter().map(|access| ClassId(access.0)).collect()),
        Action::Issue(issues) => Instr::Issue(
            issues
                .iter()
                .map(|issue| Issue {
                    class: ClassId(issue.access.0),
                    tokens: tokens(&issue.tokens),
                    queue: issue.queue,
                    block_wide: issue.block_wide,
                })
                .collect(),
        ),
        Action::Await(of) => Instr::Await(tokens(of)),
        Action::AwaitGroup(queue, of) => Instr::AwaitGroup(*queue, tokens(of)),
        Action::Join(joined, of) => Instr::Join(token(*joined), tokens(of)),
        Action::Commit(queue, of) => Instr::Commit(*queue, of.map(token)),
        Action::Wait {
            queue,
            pending,
            reads,
        } => Instr::Wait {
            queue: *queue,
            pending: *pending,
            reads: *reads,
        },
    })
}

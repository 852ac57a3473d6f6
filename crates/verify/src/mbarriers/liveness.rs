//! Which variables and tokens of [`Code`] are used later: states that differ in others are the same.
//!
//! Cost: what is live at the beginning of each block, times a few rounds.

use super::code::{Block, BlockId, Bound, Code, Edge, Instr, Operand, Token, Var, When};
use rustc_hash::FxHashSet;

/// What is live at the beginning of a block.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// Variables, in order.
    pub vars: Vec<Var>,
    /// Tokens, in order.
    pub tokens: Vec<Token>,
}

/// A variable or a token.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Name {
    Var(Var),
    Token(Token),
}

type Set = FxHashSet<Name>;

/// What is live at the beginning of each block.
#[must_use]
pub fn liveness(code: &Code) -> Vec<Live> {
    let mut live: Vec<Set> = vec![Set::default(); code.blocks.len()];
    let mut predecessors: Vec<Vec<u32>> = vec![Vec::new(); code.blocks.len()];
    for (from, block) in (0..).zip(&code.blocks) {
        for to in block.edges.of(&code.edges).iter().filter_map(|edge| edge.to) {
            if let Some(predecessors) = predecessors.get_mut(to.0 as usize) {
                predecessors.push(from);
            }
        }
    }
    let mut work: Vec<u32> = (0..).take(code.blocks.len()).collect();
    let mut is_waiting = vec![true; code.blocks.len()];
    while let Some(b) = work.pop() {
        is_waiting[b as usize] = false;
        let now = at_beginning(code, &code.blocks[b as usize], &live);
        if now.len() > live[b as usize].len() {
            live[b as usize] = now;
            for &before in &predecessors[b as usize] {
                if !std::mem::replace(&mut is_waiting[before as usize], true) {
                    work.push(before);
                }
            }
        }
    }
    live.into_iter().map(in_order).collect()
}

fn in_order(set: Set) -> Live {
    let mut live = Live::default();
    for name in set {
        match name {
            Name::Var(var) => live.vars.push(var),
            Name::Token(token) => live.tokens.push(token),
        }
    }
    live.vars.sort_unstable();
    live.tokens.sort_unstable();
    live
}

fn at_beginning(code: &Code, block: &Block, live: &[Set]) -> Set {
    let mut set = Set::default();
    for edge in block.edges.of(&code.edges) {
        add_edge(edge, live, &mut set);
    }
    for instr in block.instrs.of(&code.instrs).iter().rev() {
        let var = defined_var(*instr).map(Name::Var);
        let token = defined_token(*instr).map(Name::Token);
        for name in var.into_iter().chain(token) {
            set.remove(&name);
        }
        used(*instr, code, |name| {
            set.insert(name);
        });
    }
    set
}

fn add_edge(edge: &Edge, live: &[Set], set: &mut Set) {
    if let Some(BlockId(to)) = edge.to
        && let Some(live) = live.get(to as usize)
    {
        let mut rest = live.clone();
        for (var, bound) in &edge.vars {
            if rest.remove(&Name::Var(*var))
                && let Bound::Is(Operand::Var(from)) | Bound::Next(from) = *bound
            {
                set.insert(Name::Var(from));
            }
        }
        for (token, from) in &edge.tokens {
            if rest.remove(&Name::Token(*token)) {
                set.extend(from.map(Name::Token));
            }
        }
        set.extend(rest);
    }
    match edge.when {
        None => {}
        Some(When::Is(var, _) | When::Again(var, _) | When::Last(var, _)) => {
            set.insert(Name::Var(var));
        }
        Some(When::Trips(trips, counter)) => {
            set.insert(Name::Var(trips));
            set.extend(counter.map(Name::Var));
        }
    }
}

/// The variable that an instruction changes.
#[must_use]
pub fn defined_var(instr: Instr) -> Option<Var> {
    match instr {
        Instr::Compute { to, .. } | Instr::Forget(to) => Some(to),
        _ => None,
    }
}

/// The token that an instruction makes.
#[must_use]
pub fn defined_token(instr: Instr) -> Option<Token> {
    match instr {
        Instr::Load { token, .. } | Instr::Join(token, _) => Some(token),
        _ => None,
    }
}

fn used(instr: Instr, code: &Code, mut visit: impl FnMut(Name)) {
    let mut operand = |operand: Operand| {
        if let Operand::Var(var) = operand {
            visit(Name::Var(var));
        }
    };
    match instr {
        Instr::Init { slot, count: other }
        | Instr::Expect { slot, bytes: other }
        | Instr::Wait {
            slot, parity: other, ..
        } => [slot, other].into_iter().for_each(operand),
        Instr::Inval { slot } | Instr::Arrive { slot, .. } | Instr::Load { slot, .. } => operand(slot),
        Instr::Compute { of, .. } => of.into_iter().for_each(operand),
        Instr::Await(of, _) | Instr::Join(_, of) => {
            of.of(&code.lists)
                .iter()
                .for_each(|token| visit(Name::Token(*token)));
        }
        _ => {}
    }
}

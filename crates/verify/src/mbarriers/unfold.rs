//! Writes an invariant as a [`Certificate`]: each state that a block begins in is a block of its own, and a node.
//!
//! Certificates are about threads that all execute the same, of which one issues all loads and does all arrivals, while the others
//! wait. How far they are apart follows from barriers of the block. So code has one only if that is so.

use super::certificate::{Block, BlockId, Certificate, Edge, Instr, Mbarrier, Node, NodeId};
use super::code::{self, Code, MOST_SLOTS, Token, Who};
use super::slot::Slot;
use super::state::{Slots, State};

/// A certificate that is being written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Unfolding {
    certificate: Certificate,
}

impl Unfolding {
    /// Begins a certificate of `code`; `None` if it can't have one.
    #[must_use]
    pub fn new(code: &Code) -> Option<Self> {
        let all = Who::Roles(1);
        let has_one_issuer = |instr: &code::Instr| match instr {
            code::Instr::Wait { by, .. } => *by == all,
            code::Instr::Arrive { by, .. } => *by == Who::Issuer,
            code::Instr::Await(_, roles) => *roles == 1,
            code::Instr::Gather(..) | code::Instr::Gathered(_) | code::Instr::Learn(..) => false,
            _ => true,
        };
        let is_alike = code.threads.len() == 1 && code.instrs.iter().all(has_one_issuer);
        is_alike.then(Self::default)
    }

    /// Adds a node where a block begins; `tokens` says on which slots the loads of each may be in flight. Its number is the next one.
    pub fn enter(&mut self, slots: &[Slot], tokens: impl Iterator<Item = (Token, Slots)>) {
        let number = NodeId::try_from(self.certificate.nodes.len()).unwrap_or(NodeId::MAX);
        let accounts = (0..).zip(slots.iter().map(Slot::account));
        self.certificate.blocks.push(Block::default());
        self.certificate.nodes.push(Node {
            block: number,
            accounts: accounts.collect(),
            claims: tokens
                .map(|(Token(token), slots)| (token, mbarriers(slots)))
                .collect(),
            successors: Vec::new(),
        });
    }

    /// Adds an instruction that breaks no rule in `state`, which is that before it.
    pub fn push(&mut self, at: BlockId, instr: code::Instr, state: &State, code: &Code) {
        let unfolded = unfold(instr, state, code);
        if let Some(block) = self.certificate.blocks.get_mut(at as usize) {
            block.instrs.extend(unfolded);
        }
    }

    /// Adds an edge between nodes; `binds` are tokens, and what they name after it.
    pub fn connect(&mut self, from: NodeId, to: NodeId, binds: impl Iterator<Item = (Token, Option<Token>)>) {
        let binds = binds.map(|(Token(to), from)| (to, from.map(|Token(from)| from).into_iter().collect()));
        let binds = binds.collect();
        if let Some(block) = self.certificate.blocks.get_mut(from as usize) {
            block.edges.push(Edge { to, binds });
        }
        if let Some(node) = self.certificate.nodes.get_mut(from as usize) {
            node.successors.push(to);
        }
    }

    /// Ends the function, where nothing may be in flight on any of `slots`.
    pub fn leave(&mut self, at: BlockId, slots: &[Slot]) {
        if let Some(block) = self.certificate.blocks.get_mut(at as usize) {
            let mbarriers = (0..).zip(slots).map(|(mbarrier, _)| mbarrier);
            block.instrs.extend(mbarriers.map(Instr::Idle));
        }
    }

    /// The certificate.
    #[must_use]
    pub fn finish(self) -> Certificate {
        self.certificate
    }
}

fn mbarriers(slots: Slots) -> Vec<Mbarrier> {
    (0..MOST_SLOTS).filter(|slot| slots >> slot & 1 == 1).collect()
}

/// An instruction with its numbers; `None` if it has nothing to do with mbarriers, or if they are not known.
fn unfold(instr: code::Instr, state: &State, code: &Code) -> Option<Instr> {
    let mbarrier = |slot| Mbarrier::try_from(state.place(slot).ok()?).ok();
    let number = |operand| u64::try_from(state.number(operand).ok()?).ok();
    let tokens =
        |span: crate::groups::code::Span| span.of(&code.lists).iter().map(|Token(token)| *token).collect();
    Some(match instr {
        code::Instr::Init { slot, count } => Instr::Init(mbarrier(slot)?, number(count)?),
        code::Instr::Inval { slot } => Instr::Inval(mbarrier(slot)?),
        code::Instr::Expect { slot, bytes } => Instr::Expect(mbarrier(slot)?, number(bytes)?),
        code::Instr::Arrive { slot, .. } => Instr::Arrive(mbarrier(slot)?),
        code::Instr::Load { slot, bytes, token } => {
            Instr::Load(mbarrier(slot)?, token.0, u64::try_from(bytes).ok()?)
        }
        code::Instr::Wait { slot, parity, .. } => {
            Instr::TryWait(mbarrier(slot)?, state.operand(parity).truth()?)
        }
        code::Instr::Barrier => Instr::Sync,
        code::Instr::Await(span, _) => Instr::Await(tokens(span)),
        code::Instr::Join(Token(token), span) => Instr::Join(token, tokens(span)),
        _ => return None,
    })
}

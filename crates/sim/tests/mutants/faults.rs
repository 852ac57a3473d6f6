//! Faults: one change each to the instructions of a kernel.

use async_sim::code::{
    Access, Arrival, Bulk, Code, Completion, Id, Index, Instr, Label, MBarrierOp, Op, Reg, Target,
};
use async_sim::scalar::{IntPredicate, Scalar};
use async_sim::value::{Elem, Value};
use std::collections::BTreeSet;

/// What is done to a kernel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fault {
    CopyDropped,
    /// The last thread does not issue it: a halo that is too small.
    CopyNarrowed,
    /// It is issued before what stands before it.
    CopyHoisted,
    /// It goes to the next slot.
    SlotShifted,
    /// It moves half of its bytes.
    BytesHalved,
    WaitDropped,
    WaitRelaxed,
    /// It stands after the next operation that matters.
    WaitSunk,
    CommitDropped,
    CommitSunk,
    BarrierDropped,
    BarrierSunk,
    /// An operation of an mbarrier, or a fence.
    MBarrierDropped,
    /// It expects 16 bytes more.
    BytesExpected,
    ParityFlipped,
}

impl Fault {
    pub const ALL: [Self; 15] = [
        Self::CopyDropped,
        Self::CopyNarrowed,
        Self::CopyHoisted,
        Self::SlotShifted,
        Self::BytesHalved,
        Self::WaitDropped,
        Self::WaitRelaxed,
        Self::WaitSunk,
        Self::CommitDropped,
        Self::CommitSunk,
        Self::BarrierDropped,
        Self::BarrierSunk,
        Self::MBarrierDropped,
        Self::BytesExpected,
        Self::ParityFlipped,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::CopyDropped => "copy dropped",
            Self::CopyNarrowed => "copy not issued by the last thread",
            Self::CopyHoisted => "copy moved up",
            Self::SlotShifted => "copy to the next slot",
            Self::BytesHalved => "half of a copy's bytes",
            Self::WaitDropped => "wait or await dropped",
            Self::WaitRelaxed => "wait for one group fewer",
            Self::WaitSunk => "wait or await moved down",
            Self::CommitDropped => "commit dropped",
            Self::CommitSunk => "commit moved down",
            Self::BarrierDropped => "barrier dropped",
            Self::BarrierSunk => "barrier moved down",
            Self::MBarrierDropped => "mbarrier operation or fence dropped",
            Self::BytesExpected => "16 bytes more expected",
            Self::ParityFlipped => "parity flipped",
        }
    }

    /// The kernel with this fault at instruction `i`; `None` if that is not one for it.
    pub fn plant(self, code: &Code, i: usize) -> Option<Code> {
        let op = &code.instrs[i].op;
        let is_copy = matches!(op, Op::Copy(_) | Op::Bulk(_));
        let is_wait = matches!(op, Op::Wait { .. } | Op::Await(_));
        let mut mutant = Editor(code.clone());
        match self {
            Self::CopyDropped if is_copy => mutant.drop(i),
            Self::CopyNarrowed if matches!(op, Op::Copy(_)) => mutant.skip_in_last_thread(i),
            Self::CopyHoisted if is_copy => mutant.move_up(i)?,
            Self::SlotShifted => mutant.shift_slot(i)?,
            Self::BytesHalved => mutant.halve_bytes(i)?,
            Self::WaitDropped if is_wait => mutant.drop(i),
            Self::WaitRelaxed => match &mut mutant.0.instrs[i].op {
                Op::Wait { n, .. } => *n += 1,
                _ => return None,
            },
            Self::WaitSunk if is_wait => mutant.move_down(i)?,
            Self::CommitDropped if matches!(op, Op::Commit { token: None, .. }) => mutant.drop(i),
            Self::CommitSunk if matches!(op, Op::Commit { token: None, .. }) => mutant.move_down(i)?,
            Self::BarrierDropped if is_barrier(op) => mutant.drop(i),
            Self::BarrierSunk if matches!(op, Op::Barrier) => mutant.move_down(i)?,
            Self::MBarrierDropped if is_droppable_mbarrier_op(op) => mutant.drop(i),
            Self::BytesExpected => mutant.expect_more(i)?,
            Self::ParityFlipped => mutant.flip_parity(i)?,
            _ => return None,
        }
        Some(mutant.0)
    }
}

fn is_barrier(op: &Op) -> bool {
    matches!(op, Op::Barrier | Op::NamedBarrier(_) | Op::WarpBarrier { .. })
}

/// Nobody uses what it returns.
fn is_droppable_mbarrier_op(op: &Op) -> bool {
    match op {
        Op::MBarrier { does, .. } => !matches!(
            does,
            MBarrierOp::Get { .. }
                | MBarrierOp::Test { .. }
                | MBarrierOp::Inval
                | MBarrierOp::Arrive(Arrival { token: Some(_), .. })
        ),
        Op::FenceProxy | Op::FenceInit => true,
        _ => false,
    }
}

/// Changes instructions.
struct Editor(Code);

impl Editor {
    fn reg(&mut self) -> Reg {
        self.0.regs += 1;
        Reg(self.0.regs - 1)
    }

    /// The places that control may jump to.
    fn targets(&mut self) -> BTreeSet<usize> {
        let mut targets = BTreeSet::new();
        self.each_label(|label| {
            targets.insert(label.0 as usize);
        });
        targets
    }

    fn each_label(&mut self, mut f: impl FnMut(&mut Label)) {
        for instr in &mut self.0.instrs {
            match &mut instr.op {
                Op::Jump(to) => f(to),
                Op::Branch { then, other, .. } => {
                    f(then);
                    f(other);
                }
                Op::Switch { cases, default, .. } => {
                    cases.iter_mut().for_each(|(_, to)| f(to));
                    f(default);
                }
                _ => {}
            }
        }
    }

    /// Puts operations before instruction `i`; who jumps there comes by.
    fn insert(&mut self, i: usize, ops: Vec<Op>) {
        let count = u32::try_from(ops.len()).expect("a few");
        self.each_label(|label| {
            if label.0 as usize > i {
                label.0 += count;
            }
        });
        let Instr { place, loops, .. } = self.0.instrs[i].clone();
        let instrs = ops.into_iter().map(|op| Instr {
            op,
            place: place.clone(),
            loops: loops.clone(),
        });
        self.0.instrs.splice(i..i, instrs.collect::<Vec<_>>());
    }

    /// What it issues is complete at once, for whoever waits for its token.
    fn drop(&mut self, i: usize) {
        let tokens = match &self.0.instrs[i].op {
            Op::Copy(copy) => copy.issued.token.into_iter().collect(),
            Op::Bulk(bulk) => match bulk.completion {
                Completion::Token(token) => vec![token],
                Completion::Tokens { read, done } => vec![read, done],
                Completion::MBarrier(_) | Completion::Group(_) => Vec::new(),
            },
            _ => Vec::new(),
        };
        self.0.instrs[i].op = Op::Moves(Box::default());
        let done = |to| Op::Set {
            to,
            value: Value::Token(Vec::new().into()),
        };
        self.insert(i, tokens.into_iter().map(done).collect());
    }

    fn set_int(to: Reg, value: u64) -> Op {
        Op::Set {
            to,
            value: Value::Bits(value),
        }
    }

    fn skip_in_last_thread(&mut self, i: usize) {
        let [id, size, one, last, skips] = std::array::from_fn(|_| self.reg());
        let copy = self.0.instrs[i].op.clone();
        self.drop(i);
        // After what `drop` has put there stands an empty instruction, which the copy comes before again.
        let at = (i..self.0.instrs.len())
            .find(|&at| matches!(self.0.instrs[at].op, Op::Moves(_)))
            .expect("put there");
        let label = |at: usize| Label(u32::try_from(at).expect("a few"));
        let index = |f, to, args: [Reg; 2]| Op::Scalar {
            f,
            elem: Elem::INDEX,
            to,
            args: args.into(),
        };
        let id_of = |to, id| Op::Id { to, id, dim: 0 };
        let ops = vec![
            id_of(id, Id::Thread),
            id_of(size, Id::BlockDim),
            Self::set_int(one, 1),
            index(Scalar::Sub, last, [size, one]),
            index(Scalar::CmpI(IntPredicate::Eq), skips, [id, last]),
        ];
        let count = ops.len() + 2;
        self.insert(at, [ops, vec![Op::Moves(Box::default()), copy]].concat());
        self.0.instrs[at + count - 2].op = Op::Branch {
            condition: skips,
            then: label(at + count),
            other: label(at + count - 1),
        };
    }

    fn shift_slot(&mut self, i: usize) -> Option<()> {
        let Op::Copy(copy) = &self.0.instrs[i].op else {
            return None;
        };
        let Target::Element(Access { view, indices }) = &copy.to else {
            return None;
        };
        let (view, first) = (*view, *indices.first()?);
        if indices.len() < 2 {
            return None;
        }
        let [zero, one, size, next, slot] = std::array::from_fn(|_| self.reg());
        let Op::Copy(copy) = &mut self.0.instrs[i].op else {
            return None;
        };
        let Target::Element(access) = &mut copy.to else {
            return None;
        };
        access.indices[0] = slot;
        let index = |f, to, args: [Reg; 2]| Op::Scalar {
            f,
            elem: Elem::INDEX,
            to,
            args: args.into(),
        };
        let ops = vec![
            Self::set_int(zero, 0),
            Self::set_int(one, 1),
            Op::Dim {
                to: size,
                view,
                index: zero,
            },
            index(Scalar::Add, next, [first, one]),
            index(Scalar::RemU, slot, [next, size]),
        ];
        self.insert(i, ops);
        Some(())
    }

    fn halve_bytes(&mut self, i: usize) -> Option<()> {
        let Op::Copy(copy) = &mut self.0.instrs[i].op else {
            return None;
        };
        let Index::Const(bytes) = copy.bytes else {
            return None;
        };
        // What is read must fit.
        if bytes < 8 || copy.read.is_some() {
            return None;
        }
        copy.bytes = Index::Const(bytes / 2);
        Some(())
    }

    fn expect_more(&mut self, i: usize) -> Option<()> {
        let bytes = match &self.0.instrs[i].op {
            Op::MBarrier {
                does:
                    MBarrierOp::Arrive(Arrival {
                        bytes: Some(bytes), ..
                    })
                    | MBarrierOp::ExpectTx { bytes },
                ..
            } => *bytes,
            _ => return None,
        };
        self.change_operand(i, bytes, Scalar::Add, 16);
        Some(())
    }

    fn flip_parity(&mut self, i: usize) -> Option<()> {
        let Op::MBarrier {
            does: MBarrierOp::Wait { parity },
            ..
        } = &self.0.instrs[i].op
        else {
            return None;
        };
        let parity = *parity;
        self.change_operand(i, parity, Scalar::Xor, 1);
        Some(())
    }

    /// Lets an operation of an mbarrier have `f` of its operand and a constant.
    fn change_operand(&mut self, i: usize, operand: Reg, f: Scalar, by: u64) {
        let [constant, changed] = std::array::from_fn(|_| self.reg());
        if let Op::MBarrier { does, .. } = &mut self.0.instrs[i].op {
            match does {
                MBarrierOp::Arrive(Arrival { bytes, .. }) => *bytes = Some(changed),
                MBarrierOp::ExpectTx { bytes } => *bytes = changed,
                MBarrierOp::Wait { parity } => *parity = changed,
                _ => {}
            }
        }
        let ops = vec![
            Self::set_int(constant, by),
            Op::Scalar {
                f,
                elem: Elem::Int(32),
                to: changed,
                args: [operand, constant].into(),
            },
        ];
        self.insert(i, ops);
    }

    /// Moves an instruction up past the nearest one that matters; `None` if control comes in between, or what it needs is
    /// computed there.
    fn move_up(&mut self, i: usize) -> Option<()> {
        let targets = self.targets();
        let uses = uses(&self.0.instrs[i].op);
        let mut at = i;
        while at > 0 && !targets.contains(&at) {
            let before = &self.0.instrs[at - 1].op;
            if ends_block(before) || defs(before).iter().any(|reg| uses.contains(reg)) {
                return None;
            }
            at -= 1;
            if before.is_seen() {
                let instr = self.0.instrs.remove(i);
                self.0.instrs.insert(at, instr);
                return Some(());
            }
        }
        None
    }

    /// Moves an instruction that defines nothing down past the next one that matters.
    fn move_down(&mut self, i: usize) -> Option<()> {
        let targets = self.targets();
        let mut at = i;
        while at + 1 < self.0.instrs.len() && !targets.contains(&(at + 1)) {
            let next = &self.0.instrs[at + 1].op;
            if ends_block(next) {
                return None;
            }
            at += 1;
            if next.is_seen() {
                let instr = self.0.instrs.remove(i);
                self.0.instrs.insert(at, instr);
                return Some(());
            }
        }
        None
    }
}

fn ends_block(op: &Op) -> bool {
    matches!(
        op,
        Op::Jump(_) | Op::Branch { .. } | Op::Switch { .. } | Op::Return | Op::Count { .. }
    )
}

/// The registers that a copy uses.
fn uses(op: &Op) -> Vec<Reg> {
    let target = |target: &Target| match target {
        Target::Element(access) => [&[access.view], &*access.indices].concat(),
        Target::Pointer(reg) => vec![*reg],
    };
    match op {
        Op::Copy(copy) => {
            let mut all = [target(&copy.from), target(&copy.to)].concat();
            all.extend(copy.read);
            if let Index::Reg(bytes) = copy.bytes {
                all.push(bytes);
            }
            all
        }
        Op::Bulk(bulk) => bulk_uses(bulk),
        _ => Vec::new(),
    }
}

fn bulk_uses(bulk: &Bulk) -> Vec<Reg> {
    use async_sim::code::{GlobalSide, Slot};
    let mut all = vec![bulk.local];
    match &bulk.global {
        GlobalSide::Tile { tensor, indices } => all.extend(indices.iter().copied().chain([*tensor])),
        GlobalSide::Line(line) => all.push(*line),
    }
    match bulk.completion {
        Completion::MBarrier(Slot::Of { group, index }) => all.extend([group, index]),
        Completion::MBarrier(Slot::At(at)) => all.push(at),
        _ => {}
    }
    all.extend(bulk.predicate.into_iter().chain(bulk.bytes));
    all
}

/// The registers that an instruction may define, as its printed form has them.
fn defs(op: &Op) -> Vec<Reg> {
    let mut all = Vec::new();
    if let Op::Moves(moves) = op {
        all.extend(moves.iter().map(|(to, _)| *to));
    }
    // Every definition is a field of one of these names.
    let text = format!("{op:?}");
    for field in [
        "to: Reg(",
        "token: Some(Reg(",
        "Token(Reg(",
        "read: Reg(",
        "done: Reg(",
        "valid: Reg(",
    ] {
        for (at, _) in text.match_indices(field) {
            let digits: String = text[at + field.len()..]
                .chars()
                .take_while(char::is_ascii_digit)
                .collect();
            all.extend(digits.parse().map(Reg));
        }
    }
    all
}

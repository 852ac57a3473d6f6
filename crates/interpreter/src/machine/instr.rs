//! Runs one instruction of a thread.

use super::{Machine, Next, Reason, State, WARP};
use crate::code::{Elect, Id, Instr, Op, Reg};
use crate::value::Value;

impl<'c> Machine<'c> {
    pub(super) fn instr(&mut self, t: usize, instr: &'c Instr) -> Result<Next, Reason> {
        match &instr.op {
            Op::Set { to, value } => self.set(t, *to, value.clone()),
            Op::Moves(moves) => {
                let regs = &mut self.threads[t].regs;
                let values: Vec<Value> = moves
                    .iter()
                    .map(|(_, from)| regs[from.0 as usize].clone())
                    .collect();
                for ((to, _), value) in moves.iter().zip(values) {
                    regs[to.0 as usize] = value;
                }
                self.accumulators_moved(t, moves);
            }
            Op::Jump(to) => return Ok(Next::Jumps(to.0 as usize)),
            Op::Branch {
                condition,
                then,
                other,
            } => {
                let to = if self.bits(t, *condition)? & 1 == 1 {
                    then
                } else {
                    other
                };
                return Ok(Next::Jumps(to.0 as usize));
            }
            Op::Switch { flag, cases, default } => {
                let flag = self.int(t, *flag)?;
                let case = cases.iter().find(|(value, _)| *value == flag);
                return Ok(Next::Jumps(case.map_or(default, |(_, to)| to).0 as usize));
            }
            Op::Count { depth, start } => self.count(t, *depth, *start),
            Op::Return => return Ok(Next::Waits(State::Done)),
            Op::Barrier => return Ok(Next::Waits(State::Barrier)),
            Op::Task(op) => return self.task(t, op),
            Op::Host(op) => return self.host(t, op),
            Op::Await(tokens) if self.code.is_host => return self.await_tasks(t, tokens),
            Op::Bulk(bulk) if bulk.completion.is_block_wide() => return Ok(Next::Waits(State::Block)),
            Op::Bulk(bulk) => self.issue_bulk(t, bulk)?,
            Op::Describe(describe) => self.describe(t, describe)?,
            Op::MBarrier { slot, does } => return self.mbarrier(t, *slot, *does),
            Op::FenceInit => self.fence_init(t),
            Op::FenceProxy => {
                let moment = self.moment(t);
                self.memory.fence(self.spot(t).thread, moment);
            }
            Op::Elect { to, of } => {
                if let Elect::OfWarp(warp) = of {
                    self.check_warp(t, *warp);
                }
                let elected = match of {
                    Elect::Block => t == 0,
                    Elect::OfWarp(warp) => t == *warp as usize * WARP,
                    Elect::Warp(mask) => self.elected(t, *mask)?,
                };
                self.set(t, *to, Value::flag(elected));
            }
            Op::Shuffle(_)
            | Op::ShuffleSync(_)
            | Op::Vote(_)
            | Op::WarpReduce(_)
            | Op::LdMatrix(_)
            | Op::StMatrix(_)
            | Op::Mma(_)
            | Op::Fragment(_)
            | Op::NamedBarrier(_)
            | Op::WarpBarrier { .. } => {
                return Ok(Next::Waits(State::Warp));
            }
            Op::Gather { .. } | Op::Share { .. } => return Ok(Next::Waits(State::Block)),
            Op::Warpgroup(op) => return self.warpgroup(t, op),
            Op::Print(pieces) => self.print(t, pieces)?,
            Op::Assert { condition, message } => {
                if self.bits(t, *condition)? & 1 == 0 {
                    return Err(Reason::Assert(message.clone()));
                }
            }
            Op::Id { to, id, dim } => {
                let value = self.id(t, *id, usize::from(*dim));
                self.set(t, *to, Value::Bits(value));
            }
            Op::Copy(_)
            | Op::Issue(_)
            | Op::Commit { .. }
            | Op::Wait { .. }
            | Op::Await(_)
            | Op::Join { .. }
            | Op::Guard { .. } => self.asynchronous(t, &instr.op)?,
            other => self.compute(t, other)?,
        }
        Ok(Next::Goes)
    }

    /// Returns true if a thread has the lowest lane of a mask, or of its warp.
    fn elected(&self, t: usize, mask: Option<Reg>) -> Result<bool, Reason> {
        let mask = mask.map_or(Ok(u64::MAX), |mask| self.bits(t, mask))?;
        Ok(mask.trailing_zeros() as usize == t % WARP)
    }

    fn count(&mut self, t: usize, depth: u32, start: bool) {
        let counters = &mut self.threads[t].counters;
        counters.truncate(depth as usize + usize::from(!start));
        match counters.last_mut() {
            Some(last) if !start => *last += 1,
            _ => counters.resize(depth as usize + 1, 0),
        }
        self.threads[t].moved = true;
    }

    pub(super) fn id(&self, t: usize, id: Id, dim: usize) -> u64 {
        let t = u32::try_from(t).unwrap_or(u32::MAX);
        let [x, y, _] = self.launch.block;
        let thread = [t % x, t / x % y, t / x / y];
        u64::from(match id {
            Id::Thread => thread[dim],
            Id::Block => self.block[dim],
            Id::BlockDim => self.launch.block[dim],
            Id::GridDim => self.launch.grid[dim],
            Id::Global => self.block[dim] * self.launch.block[dim] + thread[dim],
            Id::Lane => t % 32,
            Id::Subgroup => t / 32,
            Id::Lanes => {
                let this = 1_u32 << (t % 32);
                [
                    this,
                    this - 1,
                    this | (this - 1),
                    !(this | (this - 1)),
                    !(this - 1),
                ][dim]
            }
            Id::DynamicWorkgroup => u32::try_from(self.launch.dynamic_workgroup).unwrap_or(u32::MAX),
            Id::Subgroups => self.launch.block.iter().product::<u32>().div_ceil(32),
        })
    }
}

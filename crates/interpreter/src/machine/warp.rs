//! Operations of a whole warp: who takes part, what they hand each other, and barriers.

use super::{Machine, Reason, State, Stop, WARP};
use crate::code::{Op, Reg, Shuffle, ShuffleMode, ShuffleSync, Vote};
use crate::refine::Kind;
use crate::report::Problem;
use crate::value::Value;

/// What comes of an operation that several threads do together; if it fails, at which thread and why.
pub(super) type Together<T> = Result<T, (usize, Reason)>;

impl Machine<'_> {
    /// Does the operations of the warp of thread `first` whose threads have all come to them. Returns false if there are
    /// none.
    pub(super) fn warp_operations(&mut self, first: usize) -> Result<bool, Stop> {
        let mut any = false;
        let all: Vec<usize> = (first..(first + WARP).min(self.threads.len())).collect();
        // Parts of a warp may stand at operations of their own.
        for &leader in &all {
            if self.threads[leader].state == State::Warp {
                any |= self.warp_of(leader, &all)?;
            }
        }
        Ok(any)
    }

    /// Does the operation that thread `leader` stands at, if all that take part stand there. Returns false if not.
    fn warp_of(&mut self, leader: usize, all: &[usize]) -> Result<bool, Stop> {
        let pc = self.threads[leader].pc;
        let op = &self.code.instrs[pc].op;
        let mask = match self.participants(leader, op, all) {
            Ok(mask) => mask,
            // Hardware lets all lanes take part that come to it together.
            Err(Reason::NotInMask) if self.in_lockstep => {
                let problem = Problem::not_in_mask(self.spot(leader));
                self.memory.reports.problem(problem);
                self.alive(all)
            }
            Err(reason) => return Err(self.stop(leader, reason)),
        };
        let stands_here = |t: &usize| self.threads[*t].state == State::Warp && self.threads[*t].pc == pc;
        let takes_part = |t: &usize| mask >> (t % WARP) & 1 == 1;
        if !all.iter().filter(|t| takes_part(t)).all(stands_here) {
            return Ok(false);
        }
        let mut lanes: Vec<usize> = all.iter().copied().filter(|t| stands_here(t)).collect();
        if matches!(op, Op::WarpBarrier { .. } | Op::ShuffleSync(_) | Op::Vote(_)) {
            lanes.retain(takes_part);
        }
        if let Op::NamedBarrier(barrier) = op {
            self.come_to_barrier(&lanes, *barrier)?;
            return Ok(true);
        }
        if let Err((lane, reason)) = self.warp(op, &lanes) {
            return Err(self.stop(lane, reason));
        }
        self.note_early(leader);
        self.note_reads(leader);
        for t in lanes {
            self.threads[t].state = State::Running;
            self.threads[t].pc += 1;
        }
        Ok(true)
    }

    /// The lanes that have to come to an operation, as bits.
    fn participants(&self, leader: usize, op: &Op, all: &[usize]) -> Result<u32, Reason> {
        Ok(match op {
            // "The first `width` invocations" (MLIR, gpu.shuffle).
            Op::Shuffle(Shuffle { width, .. }) => match self.int(leader, *width)? {
                width @ 0..32 => (1 << width) - 1,
                _ => u32::MAX,
            },
            Op::WarpBarrier { mask }
            | Op::ShuffleSync(ShuffleSync { mask, .. })
            | Op::Vote(Vote { mask, .. }) => {
                let mask = self.bits(leader, *mask)?;
                let named = u32::try_from(mask & u64::from(u32::MAX)).unwrap_or(u32::MAX);
                if named >> (leader % WARP) & 1 == 0 {
                    return Err(Reason::NotInMask);
                }
                named & self.alive(all)
            }
            Op::NamedBarrier(_) => self.alive(all),
            _ if all.len() < WARP && !matches!(op, Op::WarpReduce(_)) => return Err(Reason::PartialWarp),
            _ => u32::MAX,
        })
    }

    /// The lanes of a warp that are waited for, as bits: all but those that have ended.
    fn alive(&self, all: &[usize]) -> u32 {
        let here = all.iter().filter(|t| self.threads[**t].state != State::Done);
        here.fold(0, |mask, t| mask | 1 << (t % WARP))
    }

    /// Reports if a thread waits for others of its warp. Returns false if none does.
    pub(super) fn divergent_warp(&mut self) -> bool {
        let stuck = (0..self.threads.len()).find(|&t| self.threads[t].state == State::Warp);
        let Some(t) = stuck else { return false };
        let other = (0..self.threads.len())
            .find(|&other| other / WARP == t / WARP && self.threads[other].pc != self.threads[t].pc);
        self.memory.reports.problem(Problem::divergent_warp(
            self.spot(t),
            other.map(|other| self.spot(other)),
        ));
        true
    }

    fn warp(&mut self, op: &Op, lanes: &[usize]) -> Together<()> {
        match op {
            Op::Shuffle(shuffle) => self.shuffle(lanes, shuffle),
            Op::ShuffleSync(shuffle) => self.shuffle_sync(lanes, shuffle),
            Op::Vote(vote) => self.vote(lanes, *vote),
            Op::LdMatrix(load) => self.ldmatrix(lanes, load),
            Op::StMatrix(store) => self.stmatrix(lanes, store),
            Op::Mma(mma) => self.mma(lanes, mma),
            Op::Fragment(fragment) => self.fragment(lanes, fragment),
            Op::WarpReduce(reduce) => self.warp_reduce(lanes, reduce),
            Op::WarpBarrier { mask } => self.warp_barrier(lanes, *mask),
            _ => Err((lanes[0], Reason::Operand("an instruction of a warp"))),
        }
    }

    fn shuffle(&mut self, lanes: &[usize], shuffle: &Shuffle) -> Together<()> {
        let mut results = Vec::with_capacity(lanes.len());
        for &t in lanes {
            let int = |reg| self.int(t, reg).map_err(|reason| (t, reason));
            let (offset, width) = (int(shuffle.offset)?, int(shuffle.width)?);
            let lane = i64::try_from(t % WARP).unwrap_or(0);
            let segment = lane / width.max(1) * width.max(1);
            let from = match shuffle.mode {
                ShuffleMode::Xor => lane ^ offset,
                ShuffleMode::Up => lane - offset,
                ShuffleMode::Down => lane + offset,
                ShuffleMode::Index => segment + offset,
            };
            let inside = from >= segment && from < segment + width;
            let source = usize::try_from(from).ok().filter(|_| inside);
            let source = source.map(|lane| t / WARP * WARP + lane);
            let source = source.filter(|source| lanes.contains(source));
            let from = source.unwrap_or(t);
            let result = self.value(from, shuffle.value).map_err(|reason| (from, reason))?;
            results.push((result.clone(), source.is_some()));
        }
        for (&t, (result, inside)) in lanes.iter().zip(results) {
            self.set(t, shuffle.to, result);
            self.set(t, shuffle.valid, Value::flag(inside));
        }
        Ok(())
    }

    fn shuffle_sync(&mut self, lanes: &[usize], shuffle: &ShuffleSync) -> Together<()> {
        self.same_mask(lanes, shuffle.mask)?;
        let mut results = Vec::with_capacity(lanes.len());
        for &t in lanes {
            let (source, exists) = self.source(t, shuffle).map_err(|reason| (t, reason))?;
            // What a lane hands over that does not take part, nobody knows.
            let number = if lanes.contains(&source) {
                let value = self.value_or_poison(source, shuffle.value);
                let number = value.and_then(|value| Ok(value.part(0)?));
                number.map_err(|reason| (source, reason))?
            } else {
                None
            };
            results.push(if shuffle.valid {
                Value::of_parts(vec![number, Some(exists.into())])
            } else {
                number.map_or(Value::Poison, Value::Bits)
            });
        }
        for (&t, result) in lanes.iter().zip(results) {
            self.set(t, shuffle.to, result);
        }
        Ok(())
    }

    /// The thread that `t` gets its number from, which is itself if there is no such lane; and whether there is. In the
    /// words of the PTX ISA, `shfl.sync`.
    fn source(&self, t: usize, shuffle: &ShuffleSync) -> Result<(usize, bool), Reason> {
        let (b, c) = (self.bits(t, shuffle.offset)? & 31, self.bits(t, shuffle.clamp)?);
        let (lane, clamp, segment) = ((t % WARP) as u64, c & 31, c >> 8 & 31);
        let min = lane & segment;
        let max = min | clamp & !segment;
        let (from, exists) = match shuffle.mode {
            ShuffleMode::Up => (lane.wrapping_sub(b), lane >= max + b),
            ShuffleMode::Down => (lane + b, lane + b <= max),
            ShuffleMode::Xor => (lane ^ b, lane ^ b <= max),
            ShuffleMode::Index => {
                let from = min | b & !segment;
                (from, from <= max)
            }
        };
        let from = usize::try_from(from).ok().filter(|_| exists);
        Ok((from.map_or(t, |from| t / WARP * WARP + from), exists))
    }

    /// Only lanes that name the same ones meet.
    pub(super) fn same_mask(&self, lanes: &[usize], mask: Reg) -> Together<()> {
        let named = self.bits(lanes[0], mask).map_err(|reason| (lanes[0], reason))?;
        for &t in lanes {
            if self.bits(t, mask).map_err(|reason| (t, reason))? != named {
                return Err((t, Reason::OtherMask));
            }
        }
        Ok(())
    }

    fn warp_barrier(&mut self, lanes: &[usize], mask: Reg) -> Together<()> {
        self.same_mask(lanes, mask)?;
        let mut met = 0;
        for &t in lanes {
            met |= 1 << (t % WARP);
            self.note_step(t, Kind::WarpBarrier, None);
        }
        self.memory.warp_barrier(self.spot(lanes[0]).thread, met);
        Ok(())
    }
}

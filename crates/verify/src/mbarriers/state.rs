//! What is known at a point of the code, and what instructions do to it.

use super::code::{Bound, Code, Edge, Instr, MOST_SLOTS, Operand, Token, Var, When, Who};
use super::int::{Int, UNKNOWN};
use super::slot::{Fault, NOT_INITIALIZED, Slot, Waited};

/// A set of slots, as bits.
pub type Slots = u64;

/// The loads of a token.
#[derive(Clone, Copy, Debug)]
struct Loads {
    /// The slots on which they were in flight.
    slots: Slots,
    /// When that was.
    at: u64,
}

/// What is known at a point.
#[derive(Clone, Debug)]
pub struct State {
    /// The mbarriers.
    pub slots: Vec<Slot>,
    /// What variables hold, by [`Var`].
    vars: Vec<Int>,
    /// What is known of tokens, by [`Token`].
    tokens: Vec<Loads>,
    /// How many times loads of a slot have landed.
    clock: u64,
    /// When the loads of each slot have landed last.
    landed: Vec<u64>,
    /// How many times threads have gathered since the last time that the thread that issues knows to be over.
    pub gathered: u8,
    /// What the last instruction waited for.
    pub waited: Option<Waited>,
    threads: i64,
    most_gathers: u8,
}

impl State {
    /// The state where the function begins.
    #[must_use]
    pub fn new(code: &Code) -> Self {
        Self {
            slots: vec![NOT_INITIALIZED; code.depth.min(MOST_SLOTS) as usize],
            vars: vec![UNKNOWN; code.vars as usize],
            tokens: vec![Loads { slots: 0, at: 0 }; code.tokens as usize],
            clock: 0,
            landed: vec![0; code.depth.min(MOST_SLOTS) as usize],
            gathered: 0,
            waited: None,
            threads: code.threads,
            most_gathers: code.most_gathers,
        }
    }

    /// What `var` holds.
    pub fn var(&self, var: Var) -> Int {
        self.vars.get(var.0 as usize).copied().unwrap_or(UNKNOWN)
    }

    /// Makes `var` hold `value`.
    pub fn set(&mut self, var: Var, value: Int) {
        if let Some(place) = self.vars.get_mut(var.0 as usize) {
            *place = value;
        }
    }

    fn operand(&self, operand: Operand) -> Int {
        match operand {
            Operand::Const(value) => Int::exact(value),
            Operand::Var(var) => self.var(var),
        }
    }

    fn number(&self, operand: Operand) -> Result<i64, Fault> {
        self.operand(operand).value().ok_or(Fault::Number)
    }

    fn place(&self, slot: Operand) -> Result<usize, Fault> {
        let slot = self
            .operand(slot)
            .value()
            .and_then(|slot| usize::try_from(slot).ok());
        slot.filter(|slot| *slot < self.slots.len()).ok_or(Fault::Slot)
    }

    fn slot(&mut self, slot: Operand) -> Result<&mut Slot, Fault> {
        let place = self.place(slot)?;
        Ok(&mut self.slots[place])
    }

    /// Nothing of `slot` is in flight any more.
    fn land(&mut self, slot: usize) {
        self.clock += 1;
        self.landed[slot] = self.clock;
    }

    /// Makes `slots` those on which loads of `token` may be in flight.
    pub fn set_token(&mut self, token: Token, slots: Slots) {
        let at = self.clock;
        if let Some(place) = self.tokens.get_mut(token.0 as usize) {
            *place = Loads { slots, at };
        }
    }

    /// The slots on which loads of `token` may be in flight.
    pub fn in_flight(&self, token: Token) -> Slots {
        let Some(loads) = self.tokens.get(token.0 as usize) else {
            return 0;
        };
        let mut left = loads.slots;
        for (slot, landed) in self.landed.iter().enumerate() {
            if left >> slot & 1 == 1 && *landed > loads.at {
                left &= !(1 << slot);
            }
        }
        left
    }

    fn union(&self, tokens: &[Token]) -> Slots {
        tokens
            .iter()
            .fold(0, |all, token| all | self.in_flight(*token))
    }

    /// Runs an instruction.
    ///
    /// # Errors
    ///
    /// The rule that it breaks.
    pub fn run(&mut self, instr: Instr, code: &Code) -> Result<(), Fault> {
        match instr {
            Instr::Init { slot, count } => {
                let (count, threads, most) = (self.number(count)?, self.threads, self.most_gathers);
                self.slot(slot)?.init(count, threads, most)?;
            }
            Instr::InitFence => self.slots.iter_mut().for_each(Slot::init_fence),
            Instr::Inval { slot } => self.slot(slot)?.inval()?,
            Instr::Expect { slot, bytes } => {
                let bytes = self.number(bytes)?;
                self.slot(slot)?.expect(bytes)?;
            }
            Instr::Arrive { slot, by } => self.arrive(slot, by)?,
            Instr::Load { slot, bytes, token } => {
                let place = self.place(slot)?;
                self.slots[place].load(bytes)?;
                self.set_token(token, 1 << place);
            }
            Instr::Wait { slot, parity, by } => self.wait(slot, parity, by)?,
            Instr::Barrier => {
                for slot in 0..self.slots.len() {
                    if self.slots[slot].barrier() {
                        self.land(slot);
                    }
                }
            }
            Instr::Gather => {
                let most = self.most_gathers;
                self.gathered = self.gathered.saturating_add(1).min(most);
                self.slots.iter_mut().for_each(|slot| slot.gather(most));
            }
            Instr::Gathered => {
                self.gathered = 0;
                self.slots.iter_mut().for_each(Slot::gathered);
            }
            Instr::Learn(ages) => {
                let ages = u8::try_from(ages).unwrap_or(u8::MAX);
                // So old is what nothing is known of.
                if ages < self.most_gathers {
                    self.slots.iter_mut().for_each(|slot| slot.learn(ages));
                }
            }
            Instr::Await(tokens) => {
                if self.union(tokens.of(&code.lists)) != 0 {
                    return Err(Fault::InFlight);
                }
            }
            Instr::Join(token, of) => {
                let slots = self.union(of.of(&code.lists));
                self.set_token(token, slots);
            }
            Instr::Compute {
                to,
                operation,
                width,
                of,
            } => {
                let result = operation.compute(width, of.map(|operand| self.operand(operand)));
                self.set(to, result);
            }
            Instr::Forget(var) => self.set(var, UNKNOWN),
        }
        Ok(())
    }

    fn arrive(&mut self, slot: Operand, by: Who) -> Result<(), Fault> {
        let (threads, gathered, most) = (self.threads, self.gathered, self.most_gathers);
        let place = self.place(slot)?;
        self.slots[place].arrive(by, threads, gathered)?;
        if by == Who::All {
            for (other, slot) in self.slots.iter_mut().enumerate() {
                if other != place {
                    slot.gather(most);
                }
            }
        }
        Ok(())
    }

    fn wait(&mut self, slot: Operand, parity: Operand, by: Who) -> Result<(), Fault> {
        let parity = self.operand(parity).truth().ok_or(Fault::Number)?;
        let place = self.place(slot)?;
        let waited = self.slots[place].wait(parity, by)?;
        if waited.landed {
            self.land(place);
        }
        self.waited = Some(waited);
        Ok(())
    }

    /// What is known after `edge` is taken; `None` if it is not taken in this state.
    #[must_use]
    pub fn take<'a>(&'a self, edge: &'a Edge) -> Option<Taken<'a>> {
        let learned = match edge.when {
            None => None,
            Some(When::Is(var, truth)) => match self.var(var).truth() {
                Some(known) if known != truth => return None,
                _ => Some((var, Int::exact(i64::from(truth)))),
            },
            Some(When::Again(counter, trip)) => {
                let next = self.var(counter).least().checked_add(1);
                next.filter(|next| *next < trip)?;
                None
            }
            Some(When::Last(counter, trip)) => {
                let next = next(self.var(counter));
                let of_all = Int::exact(i64::try_from(trip).unwrap_or(i64::MAX));
                if !next.may_equal(of_all) || next.least() > trip {
                    return None;
                }
                None
            }
            Some(When::Trips(trips, counter)) => {
                let run = counter.map_or(Int::exact(0), |counter| next(self.var(counter)));
                let known = self.var(trips);
                if !known.may_equal(run) {
                    return None;
                }
                Some((trips, if known.bits() > run.bits() { known } else { run }))
            }
        };
        Some(Taken {
            state: self,
            edge,
            learned,
        })
    }
}

/// What is known after an edge is taken.
pub struct Taken<'a> {
    state: &'a State,
    edge: &'a Edge,
    /// What the edge says of a variable.
    learned: Option<(Var, Int)>,
}

impl Taken<'_> {
    /// What `var` held before the edge bound anything.
    fn before(&self, var: Var) -> Int {
        match self.learned {
            Some((learned, value)) if learned == var => value,
            _ => self.state.var(var),
        }
    }

    /// What `var` holds.
    #[must_use]
    pub fn var(&self, var: Var) -> Int {
        let bound = self.edge.vars.iter().find(|(to, _)| *to == var);
        match bound.map(|(_, bound)| *bound) {
            None => self.before(var),
            Some(Bound::Is(Operand::Const(value))) => Int::exact(value),
            Some(Bound::Is(Operand::Var(from))) => self.before(from),
            Some(Bound::Next(counter)) => next(self.before(counter)),
            Some(Bound::First(bits)) => Int::low(0, bits),
            Some(Bound::Unknown) => UNKNOWN,
        }
    }

    /// The slots on which loads of `token` may be in flight.
    #[must_use]
    pub fn in_flight(&self, token: Token) -> Slots {
        let bound = self.edge.tokens.iter().find(|(to, _)| *to == token);
        match bound {
            None => self.state.in_flight(token),
            Some((_, from)) => from.map_or(0, |from| self.state.in_flight(from)),
        }
    }
}

/// The iteration after `counter`, of which as many bits are known.
fn next(counter: Int) -> Int {
    Int::low(counter.least().wrapping_add(1).cast_signed(), counter.bits())
}

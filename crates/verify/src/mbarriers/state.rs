//! What is known at a point of the code, and what instructions do to it.

use super::code::{Bound, Code, Edge, Gathering, Instr, MOST_SLOTS, Operand, Roles, Token, Var, When, Who};
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
    /// What is known of tokens, by [`Token`], and of each by role.
    tokens: Vec<Loads>,
    /// How many times loads of a slot have landed.
    clock: u64,
    /// When the loads of each slot have landed last, as each role knows.
    landed: Vec<Vec<u64>>,
    /// How many times threads have gathered since the last time that the thread that issues knows to be over.
    pub gathered: u8,
    /// What the last instruction waited for.
    pub waited: Option<Waited>,
    threads: Vec<i64>,
    counted: Gathering,
    is_gathering: bool,
    most_gathers: u8,
}

impl State {
    /// The state where the function begins.
    #[must_use]
    pub fn new(code: &Code) -> Self {
        let slots = code.depth.min(MOST_SLOTS) as usize;
        Self {
            slots: vec![NOT_INITIALIZED; slots],
            vars: vec![UNKNOWN; code.vars as usize],
            tokens: vec![Loads { slots: 0, at: 0 }; code.tokens as usize * code.threads.len()],
            clock: 0,
            landed: vec![vec![0; slots]; code.threads.len()],
            gathered: 0,
            waited: None,
            threads: code.threads.clone(),
            counted: code.counted,
            is_gathering: code.is_gathering,
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

    pub(super) fn operand(&self, operand: Operand) -> Int {
        match operand {
            Operand::Const(value) => Int::exact(value),
            Operand::Var(var) => self.var(var),
        }
    }

    pub(super) fn number(&self, operand: Operand) -> Result<i64, Fault> {
        self.operand(operand).value().ok_or(Fault::Number)
    }

    pub(super) fn place(&self, slot: Operand) -> Result<usize, Fault> {
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

    /// All roles.
    pub fn all_roles(&self) -> Roles {
        (0..self.threads.len()).fold(0, |all, role| all | 1 << role)
    }

    /// The numbers of `roles`.
    fn numbers(&self, roles: Roles) -> impl Iterator<Item = usize> + use<> {
        (0..self.threads.len()).filter(move |role| roles >> role & 1 == 1)
    }

    /// Nothing of `slot` is in flight any more, as `roles` know.
    fn land(&mut self, slot: usize, roles: Roles) {
        self.clock += 1;
        for role in self.numbers(roles) {
            self.landed[role][slot] = self.clock;
        }
    }

    /// Makes `slots` those on which loads of `token` may be in flight, as `role` knows.
    pub fn set_token(&mut self, token: Token, role: usize, slots: Slots) {
        let at = self.clock;
        let place = token.0 as usize * self.threads.len() + role;
        if let Some(place) = self.tokens.get_mut(place) {
            *place = Loads { slots, at };
        }
    }

    /// Forgets where loads of `token` may be in flight: it may be on any slot.
    pub fn forget_token(&mut self, token: Token) {
        let all = self.all_slots();
        for role in self.numbers(Roles::MAX) {
            self.set_token(token, role, all);
        }
    }

    /// The same of all tokens.
    pub fn forget_tokens(&mut self) {
        let all = Loads {
            slots: self.all_slots(),
            at: self.clock,
        };
        self.tokens.fill(all);
    }

    fn all_slots(&self) -> Slots {
        (0..self.slots.len()).fold(0, |all, slot| all | 1 << slot)
    }

    /// The slots on which loads of `token` may be in flight, as `role` knows.
    pub fn in_flight(&self, token: Token, role: usize) -> Slots {
        let place = token.0 as usize * self.threads.len() + role;
        let Some(loads) = self.tokens.get(place) else {
            return 0;
        };
        let (mut left, mut rest) = (loads.slots, loads.slots);
        while rest != 0 {
            let slot = rest.trailing_zeros();
            rest &= rest - 1;
            if self.landed[role][slot as usize] > loads.at {
                left &= !(1 << slot);
            }
        }
        left
    }

    fn union(&self, tokens: &[Token], role: usize) -> Slots {
        tokens
            .iter()
            .fold(0, |all, token| all | self.in_flight(*token, role))
    }

    /// Runs an instruction.
    ///
    /// # Errors
    ///
    /// The rule that it breaks.
    pub fn run(&mut self, instr: Instr, code: &Code) -> Result<(), Fault> {
        match instr {
            Instr::Init { slot, count } => {
                let (threads, most) = (self.threads.iter().sum(), self.most_gathers);
                let count = self.number(count)?;
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
                for role in self.numbers(Roles::MAX) {
                    self.set_token(token, role, 1 << place);
                }
            }
            Instr::Wait { slot, parity, by } => self.wait(slot, parity, by)?,
            Instr::Await(tokens, roles) => {
                let tokens = tokens.of(&code.lists);
                if self.numbers(roles).any(|role| self.union(tokens, role) != 0) {
                    return Err(Fault::InFlight);
                }
            }
            _ => self.meet_or_compute(instr, code),
        }
        Ok(())
    }

    /// Runs an instruction that breaks no rule.
    fn meet_or_compute(&mut self, instr: Instr, code: &Code) {
        match instr {
            Instr::Barrier => {
                let all = self.all_roles();
                for slot in 0..self.slots.len() {
                    let learn = self.slots[slot].barrier(all);
                    if learn != 0 {
                        self.land(slot, learn);
                    }
                }
            }
            Instr::Gather(at, roles) => {
                self.slots.iter_mut().for_each(|slot| slot.gather(at, roles));
                if at == self.counted {
                    let most = self.most_gathers;
                    self.gathered = self.gathered.saturating_add(1).min(most);
                    self.slots.iter_mut().for_each(|slot| slot.grow_older(most));
                }
            }
            Instr::Gathered(at) => {
                self.slots.iter_mut().for_each(|slot| slot.gathered(at));
                if at == self.counted {
                    self.gathered = 0;
                }
            }
            Instr::Learn(ages, roles) => {
                let (ages, all) = (u8::try_from(ages).unwrap_or(u8::MAX), self.all_roles());
                // So old is what nothing is known of.
                if ages < self.most_gathers {
                    self.slots
                        .iter_mut()
                        .for_each(|slot| slot.learn(ages, roles, all));
                }
            }
            Instr::Join(token, of) => {
                for role in self.numbers(Roles::MAX) {
                    let slots = self.union(of.of(&code.lists), role);
                    self.set_token(token, role, slots);
                }
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
            _ => {}
        }
    }

    fn arrive(&mut self, slot: Operand, by: Who) -> Result<(), Fault> {
        let threads = match by {
            Who::Issuer => 1,
            Who::Roles(roles) => self.numbers(roles).map(|role| self.threads[role]).sum(),
        };
        let (gathered, most) = (self.gathered, self.most_gathers);
        let place = self.place(slot)?;
        self.slots[place].arrive(by, threads, gathered)?;
        if by != Who::Issuer {
            for (other, slot) in self.slots.iter_mut().enumerate() {
                if other != place {
                    slot.grow_older(most);
                }
            }
        }
        Ok(())
    }

    fn wait(&mut self, slot: Operand, parity: Operand, by: Who) -> Result<(), Fault> {
        let parity = self.operand(parity).truth().ok_or(Fault::Number)?;
        let (place, all) = (self.place(slot)?, self.all_roles());
        let waited = self.slots[place].wait(parity, by, all)?;
        // Slots of other rings are armed in the belief that all who have arrived last are waited for.
        if self.is_gathering && by == Who::Issuer && waited.age != 0 {
            return Err(Fault::Gathered);
        }
        self.land(place, waited.know);
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
                let next = self.var(counter).next_iteration();
                let of_all = Int::exact(i64::try_from(trip).unwrap_or(i64::MAX));
                if !next.may_equal(of_all) || next.least() > trip {
                    return None;
                }
                None
            }
            Some(When::Trips(trips, counter)) => {
                let run = counter.map_or(Int::exact(0), |counter| self.var(counter).next_iteration());
                let known = self.var(trips);
                if !known.may_equal(run) {
                    return None;
                }
                Some((trips, if known.is_finer_than(run) { known } else { run }))
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
            Some(Bound::Next(counter)) => self.before(counter).next_iteration(),
            Some(Bound::First(modulus)) => Int::iterations(0, u64::from(modulus)),
            Some(Bound::Unknown) => UNKNOWN,
        }
    }

    /// The slots on which loads of `token` may be in flight, as `role` knows.
    #[must_use]
    pub fn in_flight(&self, token: Token, role: usize) -> Slots {
        let bound = self.edge.tokens.iter().find(|(to, _)| *to == token);
        match bound {
            None => self.state.in_flight(token, role),
            Some((_, from)) => from.map_or(0, |from| self.state.in_flight(from, role)),
        }
    }
}

//! Checks code: walks through it until what holds at the heads of loops changes no more. The last walk is the check.
//!
//! What is not known only grows from one walk to the next, so what is refused in any of them is refused in the last one, too.
//!
//! Cost: walks (a few, whatever the number of iterations is), times instructions, times the lists that they need, times engines. Where control
//! flow splits or meets, all flags that are set are looked at.

use super::code::{Code, FactId, FlagKind, Instr, Loop, NeedId};
use super::state::State;

/// A reason to refuse code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The block.
    pub block: usize,
    /// The instruction in it; the number of instructions if it is at its end.
    pub instr: usize,
    /// What is wrong there.
    pub fault: Fault,
}

/// What is wrong at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The engine may not know this fact, which it needs.
    Unordered(FactId),
    /// The same of what its way depends on.
    UnknownCondition(FactId),
    /// This flag is set, and waited for nowhere before.
    SetTwice(usize),
    /// A flag is set, and the last wait for it, which is this fact, may not be over.
    MayBeSet(FactId),
    /// This flag is waited for, and set nowhere before.
    Hangs(usize),
    /// This flag is set another number of times on another path.
    Unbalanced(usize),
    /// This flag is set at the end.
    LeftSet(usize),
}

/// Checks `code`. Of needs that are filtered, `is_needed` says which facts of their lists they are about.
///
/// # Errors
///
/// The first thing that is wrong.
pub fn check(code: &Code, kind: FlagKind, is_needed: &dyn Fn(NeedId, FactId) -> bool) -> Result<(), Refusal> {
    let mut walk = Walk {
        code,
        kind,
        is_needed,
        heads: vec![None; code.loops],
        has_changed: true,
    };
    while std::mem::take(&mut walk.has_changed) {
        let mut state = State::new(code);
        walk.block(0, &mut state)?;
        if let Some(flag) = state.set.iter().position(|set| !set.is_empty()) {
            return Err(Refusal {
                block: 0,
                instr: code.blocks[0].len(),
                fault: Fault::LeftSet(flag),
            });
        }
    }
    Ok(())
}

struct Walk<'a> {
    code: &'a Code,
    kind: FlagKind,
    is_needed: &'a dyn Fn(NeedId, FactId) -> bool,
    /// What holds where an iteration of each loop begins.
    heads: Vec<Option<State>>,
    has_changed: bool,
}

impl Walk<'_> {
    fn block(&mut self, block: usize, state: &mut State) -> Result<(), Refusal> {
        let code = self.code;
        for (number, instr) in code.blocks[block].iter().enumerate() {
            let refused = |fault| Refusal {
                block,
                instr: number,
                fault,
            };
            match instr {
                Instr::Run { engine, needs, does } => {
                    acts(state, *engine).map_err(refused)?;
                    if let Some(fact) = self.unknown(*engine, needs, state) {
                        return Err(refused(Fault::Unordered(fact)));
                    }
                    for fact in does {
                        state.happen(*fact, code.facts[*fact]);
                    }
                }
                Instr::Know { engine, needs } => {
                    if let Some(fact) = self.unknown(*engine, needs, state) {
                        return Err(refused(Fault::UnknownCondition(fact)));
                    }
                }
                Instr::Set(flag) => self.set(*flag, state).map_err(refused)?,
                Instr::Wait(flag, over) => {
                    if !state.wait(*flag, code.flags[*flag].to) {
                        return Err(refused(Fault::Hangs(*flag)));
                    }
                    state.happen(*over, code.facts[*over]);
                }
                Instr::Branch(arms) => self.branch(arms, state, &refused)?,
                Instr::Loop(inner) => self.loop_(inner, state, &refused)?,
            }
        }
        Ok(())
    }

    /// The first fact that is needed, and that `engine` may not know.
    fn unknown(&self, engine: usize, needs: &[NeedId], state: &State) -> Option<FactId> {
        let unknown = &state.unknown[engine];
        if unknown.is_empty() {
            return None;
        }
        needs.iter().find_map(|number| {
            let need = &self.code.needs[*number];
            let is_needed = |fact| !need.is_filtered || (self.is_needed)(*number, fact);
            let mut lists = need.lists.iter().map(|list| &self.code.lists[*list]);
            lists.find_map(|list| unknown.find(list, is_needed))
        })
    }

    fn set(&self, flag: usize, state: &mut State) -> Result<(), Fault> {
        let ends = self.code.flags[flag];
        acts(state, ends.from)?;
        if self.kind == FlagKind::Binary {
            if !state.set[flag].is_empty() {
                return Err(Fault::SetTwice(flag));
            }
            if let Some(wait) = self.unknown(ends.from, &[ends.waited], state) {
                return Err(Fault::MayBeSet(wait));
            }
        }
        state.set(flag, ends.from);
        Ok(())
    }

    fn branch(
        &mut self,
        arms: &[usize],
        state: &mut State,
        refused: &dyn Fn(Fault) -> Refusal,
    ) -> Result<(), Refusal> {
        state.settle();
        let mut joined: Option<State> = None;
        for arm in arms {
            let mut end = state.clone();
            self.block(*arm, &mut end)?;
            match &mut joined {
                Some(joined) => {
                    let met = joined.join(end);
                    met.map_err(|flag| refused(Fault::Unbalanced(flag)))?;
                }
                None => joined = Some(end),
            }
        }
        if let Some(joined) = joined {
            *state = joined;
        }
        state.settle();
        Ok(())
    }

    fn loop_(
        &mut self,
        inner: &Loop,
        state: &mut State,
        refused: &dyn Fn(Fault) -> Refusal,
    ) -> Result<(), Refusal> {
        state.settle();
        if self.heads[inner.number].is_none() {
            // What an iteration does is known after the loop from the first walk on, so that what is unknown there has no gaps.
            self.iteration(inner, &mut state.clone(), refused)?;
        }
        self.iteration(inner, state, refused)
    }

    /// Walks through a loop once, which begins with `state`. That becomes what holds after the loop.
    fn iteration(
        &mut self,
        inner: &Loop,
        state: &mut State,
        refused: &dyn Fn(Fault) -> Refusal,
    ) -> Result<(), Refusal> {
        self.meet(inner, state.clone()).map_err(refused)?;
        if let Some(head) = &self.heads[inner.number] {
            state.clone_from(head);
        }
        self.block(inner.before, state)?;
        for (engine, lists) in &inner.due {
            let lists = lists.iter().flat_map(|need| &self.code.needs[*need].lists);
            for fact in lists.flat_map(|list| &self.code.lists[*list]) {
                state.expect(*engine, *fact);
            }
        }
        state.settle();
        let mut end = state.clone();
        self.block(inner.after, &mut end)?;
        end.age(&inner.aged);
        self.meet(inner, end).map_err(refused)
    }

    /// Adds what holds on a way to the head of a loop.
    fn meet(&mut self, inner: &Loop, state: State) -> Result<(), Fault> {
        match &mut self.heads[inner.number] {
            Some(head) => self.has_changed |= head.join(state).map_err(Fault::Unbalanced)?,
            head => {
                *head = Some(state);
                self.has_changed = true;
            }
        }
        Ok(())
    }
}

/// `engine` is about to do something: it has to know what is due.
fn acts(state: &State, engine: usize) -> Result<(), Fault> {
    match state.due[engine].first() {
        Some(fact) => Err(Fault::UnknownCondition(fact)),
        None => Ok(()),
    }
}

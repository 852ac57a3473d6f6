//! The checker of flags against brute force: on random code, with flags at random, it accepts none of which an execution is wrong, and of code
//! without branches and loops all that is right.
#![allow(missing_docs)]

use async_verify::flags::code::{Code, Fact, FactId, Flag, FlagKind, Instr, Loop, Need};
use async_verify::flags::{Refusal, check};
use proptest::prelude::*;
use std::collections::BTreeMap;

const ENGINES: usize = 3;
const PLACES: usize = 2;
const FLAGS: usize = 6;

/// What stands in a block.
#[derive(Clone, Debug)]
enum Shape {
    /// An engine accesses a place, which it may write.
    Access(usize, usize, bool),
    /// One of the flags between two engines is set, or waited for.
    Set(usize),
    Wait(usize),
    Branch(Vec<Vec<Shape>>),
    While(Vec<Shape>, Vec<Shape>),
}

/// The engines of a flag: those of each ordered pair.
fn ends(flag: usize) -> (usize, usize) {
    let from = flag / 2 % ENGINES;
    (from, (from + 1 + flag % 2) % ENGINES)
}

fn leaf() -> impl Strategy<Value = Vec<Shape>> {
    let access = (0..ENGINES, 0..PLACES, any::<bool>());
    let access = access.prop_map(|(engine, place, writes)| vec![Shape::Access(engine, place, writes)]);
    let other = (0..FLAGS, any::<bool>())
        .prop_map(|(flag, sets)| vec![if sets { Shape::Set(flag) } else { Shape::Wait(flag) }]);
    let both = (0..FLAGS).prop_map(|flag| vec![Shape::Set(flag), Shape::Wait(flag)]);
    // One whose flag is free before and after.
    let carried = (0..FLAGS, block_of_accesses(), block_of_accesses()).prop_map(|(flag, first, last)| {
        let body = [vec![Shape::Wait(flag)], first, vec![Shape::Set(flag)], last].concat();
        vec![
            Shape::Set(flag),
            Shape::While(Vec::new(), body),
            Shape::Wait(flag),
        ]
    });
    prop_oneof![6 => access, 1 => other, 5 => both, 2 => carried]
}

fn block_of_accesses() -> impl Strategy<Value = Vec<Shape>> {
    let access = (0..ENGINES, 0..PLACES, any::<bool>());
    let access = access.prop_map(|(engine, place, writes)| vec![Shape::Access(engine, place, writes)]);
    let both = (0..FLAGS).prop_map(|flag| vec![Shape::Set(flag), Shape::Wait(flag)]);
    proptest::collection::vec(prop_oneof![2 => access, 2 => both], 0..4).prop_map(|parts| parts.concat())
}

fn straight() -> impl Strategy<Value = Vec<Shape>> {
    let access = (0..ENGINES, 0..PLACES, any::<bool>());
    let access = access.prop_map(|(engine, place, writes)| Shape::Access(engine, place, writes));
    let flag = (0..FLAGS, any::<bool>())
        .prop_map(|(flag, sets)| if sets { Shape::Set(flag) } else { Shape::Wait(flag) });
    let both = (0..FLAGS).prop_map(|flag| vec![Shape::Set(flag), Shape::Wait(flag)]);
    let one = prop_oneof![3 => access, 1 => flag].prop_map(|shape| vec![shape]);
    proptest::collection::vec(prop_oneof![2 => one, 2 => both], 0..9).prop_map(|parts| parts.concat())
}

fn structured() -> impl Strategy<Value = Vec<Shape>> {
    let node = leaf().prop_recursive(2, 10, 4, |inner| {
        let block = || proptest::collection::vec(inner.clone(), 0..3).prop_map(|parts| parts.concat());
        prop_oneof![
            4 => inner.clone(),
            1 => proptest::collection::vec(block(), 1..3).prop_map(|arms| vec![Shape::Branch(arms)]),
            2 => (block(), block()).prop_map(|(before, after)| vec![Shape::While(before, after)]),
        ]
    });
    proptest::collection::vec(node, 0..5).prop_map(|parts| parts.concat())
}

#[derive(Default)]
struct Builder {
    code: Code,
    /// The accesses so far: what they do, the place, and whether it is written.
    accesses: Vec<(FactId, usize, bool)>,
    /// By flag, the waits for it.
    waits: BTreeMap<usize, Vec<FactId>>,
}

impl Builder {
    fn fact(&mut self, engine: usize) -> FactId {
        let band = self.code.facts.len();
        self.code.facts.push(Fact { engine, band });
        band
    }

    fn block(&mut self, shapes: &[Shape]) -> usize {
        let id = self.code.blocks.len();
        self.code.blocks.push(Vec::new());
        for shape in shapes {
            let instr = match shape {
                Shape::Access(engine, place, writes) => {
                    let fact = self.fact(*engine);
                    self.accesses.push((fact, *place, *writes));
                    Instr::Run {
                        engine: *engine,
                        needs: vec![place * 2 + usize::from(*writes)],
                        does: vec![fact],
                    }
                }
                Shape::Set(flag) => Instr::Set(*flag),
                Shape::Wait(flag) => {
                    let over = self.fact(ends(*flag).1);
                    self.waits.entry(*flag).or_default().push(over);
                    Instr::Wait(*flag, over)
                }
                Shape::Branch(arms) => Instr::Branch(arms.iter().map(|arm| self.block(arm)).collect()),
                Shape::While(before, after) => {
                    let number = self.code.loops;
                    self.code.loops += 1;
                    Instr::Loop(Loop {
                        number,
                        before: self.block(before),
                        after: self.block(after),
                        aged: Vec::new(),
                        due: Vec::new(),
                    })
                }
            };
            self.code.blocks[id].push(instr);
        }
        id
    }
}

/// The code of `shapes`.
fn build(shapes: &[Shape]) -> Code {
    let mut builder = Builder::default();
    builder.code.engines = ENGINES;
    let flags = (0..FLAGS).map(|flag| {
        let (from, to) = ends(flag);
        Flag {
            from,
            to,
            waited: 2 * PLACES + flag,
        }
    });
    builder.code.flags = flags.collect();
    builder.block(shapes);
    // By place, what conflicts with a read, and with a write.
    for place in 0..PLACES {
        for writes in [false, true] {
            let accesses = builder.accesses.iter();
            let conflicting = accesses.filter(|access| access.1 == place && (writes || access.2));
            let lists = &mut builder.code.lists;
            lists.push(conflicting.map(|access| access.0).collect());
        }
    }
    for flag in 0..FLAGS {
        let waits = builder.waits.remove(&flag).unwrap_or_default();
        builder.code.lists.push(waits);
    }
    let needs = (0..builder.code.lists.len()).map(|list| Need {
        lists: vec![list],
        is_filtered: false,
    });
    builder.code.needs = needs.collect();
    by_engine(&mut builder.code);
    builder.code
}

/// Numbers facts anew, so that those of an engine are a band.
fn by_engine(code: &mut Code) {
    let mut order: Vec<FactId> = (0..code.facts.len()).collect();
    order.sort_by_key(|fact| code.facts[*fact].engine);
    let mut number = vec![0; order.len()];
    for (new, old) in order.iter().enumerate() {
        number[*old] = new;
    }
    let engines = order.iter().map(|old| code.facts[*old].engine);
    code.facts = engines.map(|engine| Fact { engine, band: engine }).collect();
    for list in &mut code.lists {
        for fact in &mut *list {
            *fact = number[*fact];
        }
        list.sort_unstable();
    }
    for instr in code.blocks.iter_mut().flatten() {
        match instr {
            Instr::Run { does, .. } => does.iter_mut().for_each(|fact| *fact = number[*fact]),
            Instr::Wait(_, over) => *over = number[*over],
            _ => {}
        }
    }
}

/// One way through code, as accesses and flags.
type Execution = Vec<Instr>;

/// Loops are executed up to this often.
const MOST_ITERATIONS: usize = 3;

/// All executions of a block after each of some, up to a number.
fn executions(code: &Code, block: usize, so_far: &mut Vec<Execution>) {
    for instr in &code.blocks[block] {
        match instr {
            Instr::Branch(arms) => {
                let starts = std::mem::take(so_far);
                for arm in arms {
                    let mut ways = starts.clone();
                    executions(code, *arm, &mut ways);
                    so_far.extend(ways);
                }
            }
            Instr::Loop(inner) => {
                let mut ways = std::mem::take(so_far);
                for _ in 0..=MOST_ITERATIONS {
                    executions(code, inner.before, &mut ways);
                    so_far.extend(ways.iter().cloned());
                    executions(code, inner.after, &mut ways);
                }
            }
            other => so_far.iter_mut().for_each(|way| way.push(other.clone())),
        }
        so_far.truncate(200);
    }
}

/// The engine of an instruction.
fn engine(code: &Code, instr: &Instr) -> usize {
    match instr {
        Instr::Run { engine, .. } => *engine,
        Instr::Set(flag) => code.flags[*flag].from,
        Instr::Wait(flag, _) => code.flags[*flag].to,
        _ => unreachable!("an execution has no control flow"),
    }
}

/// Returns true if an execution is right: `before[i]` are the instructions that are over when instruction `i` begins.
fn is_right(code: &Code, execution: &Execution, kind: FlagKind) -> bool {
    let mut before: Vec<Vec<bool>> = Vec::new();
    let (mut sets, mut waits) = (vec![Vec::new(); FLAGS], vec![Vec::new(); FLAGS]);
    for (number, instr) in execution.iter().enumerate() {
        let mut over = vec![false; execution.len()];
        let mut after = |earlier: usize, before: &[Vec<bool>]| {
            over[earlier] = true;
            for (over, before) in over.iter_mut().zip(&before[earlier]) {
                *over |= before;
            }
        };
        let own = engine(code, instr);
        if let Some(last) = (0..number).rfind(|last| engine(code, &execution[*last]) == own) {
            after(last, &before);
        }
        match instr {
            Instr::Set(flag) => {
                let next: usize = sets[*flag].len();
                sets[*flag].push(number);
                // Each setting before has its wait, which is known to be over.
                let is_free =
                    waits[*flag].len() == next && waits[*flag].last().is_none_or(|wait: &usize| over[*wait]);
                if kind == FlagKind::Binary && !is_free {
                    return false;
                }
            }
            Instr::Wait(flag, _) => {
                let Some(set) = sets[*flag].get(waits[*flag].len()) else {
                    return false;
                };
                after(*set, &before);
                waits[*flag].push(number);
            }
            Instr::Run { needs, .. } => {
                let needed = |earlier: usize| match &execution[earlier] {
                    Instr::Run { does, .. } => code.lists[needs[0]].contains(&does[0]),
                    _ => false,
                };
                if (0..number).any(|earlier| needed(earlier) && !over[earlier]) {
                    return false;
                }
            }
            _ => {}
        }
        before.push(over);
    }
    sets.iter()
        .zip(&waits)
        .all(|(sets, waits)| sets.len() == waits.len())
}

fn verdict(shapes: &[Shape], kind: FlagKind) -> (Result<(), Refusal>, bool) {
    let code = build(shapes);
    let mut ways = vec![Vec::new()];
    executions(&code, 0, &mut ways);
    let right = ways.iter().all(|way| is_right(&code, way, kind));
    (check(&code, kind, &|_, _| true), right)
}

proptest! {
    /// Nothing wrong is accepted.
    #[test]
    fn accepted_code_is_right(shapes in structured(), is_binary in any::<bool>()) {
        let kind = if is_binary { FlagKind::Binary } else { FlagKind::Counting };
        let (checked, is_right) = verdict(&shapes, kind);
        prop_assert!(checked.is_err() || is_right, "accepted: {shapes:?}");
    }

    /// Without branches and loops, all that is right is accepted, too.
    #[test]
    fn straight_code_is_decided(shapes in straight(), is_binary in any::<bool>()) {
        let kind = if is_binary { FlagKind::Binary } else { FlagKind::Counting };
        let (checked, is_right) = verdict(&shapes, kind);
        prop_assert_eq!(checked.is_ok(), is_right, "{:?}: {:?}", checked, shapes);
    }
}

/// How many of random codes are accepted, so that the tests above say something.
#[test]
fn some_are_accepted_and_some_refused() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let (mut accepted, mut refused, mut right_refused) = (0, 0, 0);
    for _ in 0..2000 {
        let shapes = structured().new_tree(&mut runner).expect("code").current();
        let (checked, is_right) = verdict(&shapes, FlagKind::Binary);
        match (checked, is_right) {
            (Ok(()), _) => accepted += 1,
            (Err(_), true) => right_refused += 1,
            (Err(_), false) => refused += 1,
        }
    }
    println!("{accepted} accepted, {refused} refused, {right_refused} right and refused");
    assert!(
        accepted >= 200 && refused >= 200,
        "{accepted} accepted, {refused} refused"
    );
}

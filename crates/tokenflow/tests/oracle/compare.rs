//! Compares what two lowerings of a program force: for every execution, every await and every wait of the program
//! itself in it, and every copy, whether the copy is complete once the await or wait has passed. The two run side by side, on the same
//! choices, and follow the same copy. They may also be lowerings of a program and of the same program
//! with iterations peeled off: what is issued, awaited and chosen is the same then.

use super::code::Code;
use super::execute::Emitted;
use super::follow::{Age, Event, Machine, State, oldest};
use std::collections::HashSet;
use std::ops::ControlFlow;
use tokenflow::{Program, Queue};

/// One side of a comparison.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    pub program: &'a Program,
    pub emitted: &'a [Emitted],
}

/// What was seen on some execution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// The choices of an execution, and how many awaits it had passed before the one where the left
    /// side had completed a copy that the right side had not.
    pub left_forces_more: Option<(Vec<usize>, usize)>,
    /// The same, the other way round.
    pub right_forces_more: Option<(Vec<usize>, usize)>,
}

impl Difference {
    /// Returns true if the left side forces less somewhere, and nowhere more.
    pub fn left_is_better(&self) -> bool {
        self.left_forces_more.is_none() && self.right_forces_more.is_some()
    }
}

/// Compares two lowerings; an error says how the programs themselves differ.
pub fn compare(left: Side, right: Side) -> Result<Difference, String> {
    let mut difference = Difference::default();
    let codes = [Code::new(left.program), Code::new(right.program)];
    for (index, (l, r)) in left.emitted.iter().zip(right.emitted).enumerate() {
        let queue = Queue(u8::try_from(index).expect("few queues"));
        let machine = |code, emitted| Machine {
            code,
            queue,
            emitted,
            waits: true,
            stops_at_waits: true,
            oldest: oldest(code, emitted),
        };
        let pair = [machine(&codes[0], l), machine(&codes[1], r)];
        let start = pair.each_ref().map(Machine::start);
        together(&pair, start, false, &mut |[l, r], choices, awaits| {
            let complete = |state: &State| state.copy.as_ref().is_some_and(|c| c.age == Age::Complete);
            let more = match (complete(l), complete(r)) {
                (true, false) => &mut difference.left_forces_more,
                (false, true) => &mut difference.right_forces_more,
                _ => return ControlFlow::Continue(()),
            };
            more.get_or_insert_with(|| (choices.to_vec(), awaits));
            ControlFlow::Continue(())
        })?;
    }
    Ok(difference)
}

/// How what one lowering forces compares with another.
#[derive(Clone, Copy, Debug)]
pub struct Forces {
    /// It forces less somewhere.
    pub less: bool,
    /// It forces more somewhere; then nothing else is known.
    pub more: bool,
}

impl Forces {
    /// Returns true if it forces less somewhere, and nowhere more.
    pub fn better(self) -> bool {
        self.less && !self.more
    }
}

/// Compares what the left side forces on a queue with the right one.
pub fn dominates(left: Side, right: Side, queue: Queue) -> Forces {
    let codes = [Code::new(left.program), Code::new(right.program)];
    let machine = |code, side: Side<'_>| {
        let emitted = &side.emitted[queue.0 as usize];
        (code, emitted.clone())
    };
    let sides = [machine(&codes[0], left), machine(&codes[1], right)];
    let pair = sides.each_ref().map(|(code, emitted)| Machine {
        code,
        queue,
        emitted,
        waits: true,
        stops_at_waits: true,
        oldest: oldest(code, emitted),
    });
    let start = pair.each_ref().map(Machine::start);
    let (mut less, mut more) = (false, false);
    together(&pair, start, false, &mut |states, _, _| {
        let [l, r] = states
            .each_ref()
            .map(|state| state.copy.as_ref().is_some_and(|c| c.age == Age::Complete));
        less |= r && !l;
        more |= l && !r;
        if more {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })
    .expect("one program");
    Forces { less, more }
}

/// Returns an error if the two programs differ in what they issue, await or choose, or in which
/// copies they await.
pub fn same_meaning(left: &Program, right: &Program) -> Result<(), String> {
    let codes = [Code::new(left), Code::new(right)];
    for queue in 0..left.queues {
        let nothing = [left, right].map(|program| Emitted {
            commits: vec![0; program.slots as usize],
            waits: vec![None; program.awaits as usize],
            reads: Vec::new(),
        });
        let machine = |code, emitted| Machine {
            code,
            queue: Queue(queue),
            emitted,
            waits: false,
            stops_at_waits: false,
            oldest: 0,
        };
        let pair = [machine(&codes[0], &nothing[0]), machine(&codes[1], &nothing[1])];
        let start = pair.each_ref().map(Machine::start);
        together(&pair, start, true, &mut |_, _, _| ControlFlow::Continue(()))?;
    }
    Ok(())
}

/// Returns true if every execution that ends has made as many groups on the left as on the right.
pub fn same_commits(program: &Program, left: &[u32], right: &[u32], queue: Queue) -> bool {
    let code = Code::new(program);
    let emitted = [left, right].map(|commits| Emitted {
        commits: commits.to_vec(),
        waits: vec![None; program.awaits as usize],
        reads: Vec::new(),
    });
    let pair = emitted.each_ref().map(|emitted| Machine {
        code: &code,
        queue,
        emitted,
        waits: false,
        stops_at_waits: false,
        oldest: 0,
    });
    let mut seen = HashSet::new();
    let start = State {
        commits: Some(0),
        ..pair[0].start()
    };
    let mut open = vec![[start.clone(), start]];
    while let Some(mut states) = open.pop() {
        // Only the difference counts.
        let common = states[0].commits.min(states[1].commits);
        for state in &mut states {
            state.commits = state.commits.zip(common).map(|(own, common)| own - common);
            if state.commits > Some(50) {
                return false; // it grows with every iteration
            }
        }
        if !seen.insert(states.clone()) {
            continue;
        }
        let [event, _] = [0, 1].map(|side| pair[side].advance(&mut states[side]));
        match event {
            Event::Halt if states[0].commits != states[1].commits => return false,
            Event::Halt => {}
            Event::Waited => open.push(states),
            Event::New => {
                for side in 0..2 {
                    pair[side].new_copy(&mut states[side], false);
                }
                open.push(states);
            }
            Event::Await(_) => {
                for side in 0..2 {
                    pair[side].pass_await(&mut states[side]);
                }
                open.push(states);
            }
            Event::Choice(edges) => {
                for edge in 0..edges {
                    let mut states = states.clone();
                    for side in 0..2 {
                        pair[side].choose(&mut states[side], edge);
                    }
                    open.push(states);
                }
            }
        }
    }
    true
}

struct Node {
    states: [State; 2],
    choices: Vec<usize>,
    awaits: usize,
}

/// Told the states after an await or a wait of the program, the choices so far, and how many awaits came before.
type AtAwait<'a> = &'a mut dyn FnMut(&[State; 2], &[usize], usize) -> ControlFlow<()>;

/// Runs both sides; calls `at_await` after every await and wait of the program.
fn together(pair: &[Machine; 2], start: [State; 2], meaning: bool, at_await: AtAwait) -> Result<(), String> {
    let mut seen = HashSet::new();
    let mut open = vec![Node {
        states: start,
        choices: Vec::new(),
        awaits: 0,
    }];
    while let Some(Node {
        mut states,
        choices,
        mut awaits,
    }) = open.pop()
    {
        if !seen.insert(states.clone()) {
            continue;
        }
        let events = [0, 1].map(|side| pair[side].advance(&mut states[side]));
        let mut next: Vec<([State; 2], Option<usize>)> = Vec::new();
        match &events {
            [Event::Halt, Event::Halt] => {}
            [Event::Choice(edges), Event::Choice(other)] if edges == other => {
                for edge in 0..*edges {
                    let mut states = states.clone();
                    for side in 0..2 {
                        pair[side].choose(&mut states[side], edge);
                    }
                    next.push((states, (*edges > 1).then_some(edge)));
                }
            }
            [Event::New, Event::New] => {
                for follow in [false, true] {
                    if follow && states[0].copy.is_some() {
                        continue;
                    }
                    let mut states = states.clone();
                    for side in 0..2 {
                        pair[side].new_copy(&mut states[side], follow);
                    }
                    next.push((states, None));
                }
            }
            [Event::Await(_), Event::Await(_)] => {
                let awaited = [0, 1].map(|side| pair[side].pass_await(&mut states[side]));
                if meaning && awaited[0] != awaited[1] {
                    return Err(format!("different copies are awaited after {choices:?}"));
                }
                if at_await(&states, &choices, awaits).is_break() {
                    return Ok(());
                }
                awaits += 1;
                next.push((states, None));
            }
            [Event::Waited, Event::Waited] => {
                if at_await(&states, &choices, awaits).is_break() {
                    return Ok(());
                }
                next.push((states, None));
            }
            [l, r] => return Err(format!("after {choices:?}: {l:?} against {r:?}")),
        }
        for (mut states, edge) in next {
            let over = |state: &State| state.copy.as_ref().is_some_and(|c| c.age == Age::Complete);
            if states.iter().all(over) {
                continue;
            }
            for side in 0..2 {
                if meaning {
                    pair[side].forget_dead(&mut states[side]);
                } else if let Some(copy) = &mut states[side].copy {
                    copy.held.clear();
                }
            }
            let mut choices = choices.clone();
            choices.extend(edge);
            open.push(Node {
                states,
                choices,
                awaits,
            });
        }
    }
    Ok(())
}

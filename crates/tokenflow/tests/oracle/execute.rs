//! Executes the definition, word for word: runs one execution of a program on concrete FIFOs.
//!
//! Every copy instance has a number. A queue holds the open group and the groups in flight, each a
//! set of copy instances; a commit closes the open group; `wait n` completes all but the `n` most
//! recent groups. A token is the set of copy instances that it stands for.

use std::collections::{BTreeSet, VecDeque};
use tokenflow::{Await, Commits, Graph, Item, Program, Queue, Slot, Target, Token};

/// A copy instance; one more is made for every group that has a token of its own.
pub type Copy = u32;

/// What is emitted for one queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Emitted {
    /// How many commits are inserted at each slot.
    pub commits: Commits,
    /// The wait at each await; `None` where there is none.
    pub waits: Vec<Option<u32>>,
    /// The wait for reads alone at each await; all there are may be left out.
    pub reads: Vec<Option<u32>>,
}

/// An await of an execution.
#[derive(Clone, Debug)]
pub struct Passed {
    /// The await of the program text.
    pub site: Await,
    /// What was awaited, on every queue.
    pub awaited: BTreeSet<Copy>,
    /// What is complete once it has passed.
    pub complete: BTreeSet<Copy>,
    /// What is in a group in flight then.
    pub in_flight: BTreeSet<Copy>,
}

/// How an execution ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The program ended.
    Halt,
    /// There were no choices left to make; this many edges to choose from.
    Choice(usize),
    /// The execution became too long.
    Budget,
}

/// One execution.
pub struct Execution {
    /// The awaits, in order.
    pub passed: Vec<Passed>,
    /// How it ended.
    pub end: End,
}

/// Runs the execution that takes the given choices, one per branch of more than one edge.
pub fn execute(program: &Program, emitted: &[Emitted], choices: &[usize]) -> Execution {
    let mut run = Run {
        emitted,
        choices,
        fuel: 5_000,
        queues: (0..program.queues).map(|_| Fifo::default()).collect(),
        values: vec![BTreeSet::new(); program.tokens as usize],
        copies: 0,
        complete: BTreeSet::new(),
        passed: Vec::new(),
    };
    let end = run.graph(&program.body, &[]).err().unwrap_or(End::Halt);
    Execution {
        passed: run.passed,
        end,
    }
}

/// Calls `f` on executions with more and more choices made, at most `budget` of them.
pub fn executions(
    program: &Program,
    emitted: &[Emitted],
    budget: usize,
    mut f: impl FnMut(&[usize], &Execution),
) {
    let mut open = VecDeque::from([Vec::new()]);
    for _ in 0..budget {
        let Some(choices) = open.pop_front() else { return };
        let execution = execute(program, emitted, &choices);
        f(&choices, &execution);
        if let End::Choice(edges) = execution.end {
            for edge in 0..edges {
                let mut longer = choices.clone();
                longer.push(edge);
                open.push_back(longer);
            }
        }
    }
}

#[derive(Default)]
struct Fifo {
    open: Group,
    /// The oldest first.
    groups: VecDeque<Group>,
}

#[derive(Default)]
struct Group {
    copies: BTreeSet<Copy>,
    /// Those that stand for the reads of others, as far as they are not complete.
    reads: BTreeSet<Copy>,
}

struct Run<'a> {
    emitted: &'a [Emitted],
    choices: &'a [usize],
    fuel: usize,
    queues: Vec<Fifo>,
    values: Vec<BTreeSet<Copy>>,
    copies: Copy,
    complete: BTreeSet<Copy>,
    passed: Vec<Passed>,
}

impl Run<'_> {
    /// Runs a graph whose entry parameters are bound; returns the values it hands out.
    fn graph(&mut self, graph: &Graph, inits: &[BTreeSet<Copy>]) -> Result<Vec<BTreeSet<Copy>>, End> {
        let mut at = 0;
        let mut args = inits.to_vec();
        loop {
            let block = &graph.blocks[at];
            self.define(&block.params, args);
            self.slot(block.start);
            for item in &block.items {
                self.fuel = self.fuel.checked_sub(1).ok_or(End::Budget)?;
                self.item(item)?;
            }
            self.fuel = self.fuel.checked_sub(1).ok_or(End::Budget)?;
            let edge = match block.edges.as_slice() {
                [] => return Err(End::Halt),
                [edge] => edge,
                edges => {
                    let (&choice, rest) = self.choices.split_first().ok_or(End::Choice(edges.len()))?;
                    self.choices = rest;
                    &edges[choice]
                }
            };
            args = self.read(&edge.args);
            match edge.to {
                Target::Block(block) => at = block,
                Target::Exit => return Ok(args),
            }
        }
    }

    fn item(&mut self, item: &Item) -> Result<(), End> {
        match item {
            Item::Issue {
                queue,
                token,
                read,
                slot,
                ..
            } => {
                if let Some(read) = read {
                    let copy = self.copy();
                    self.queue(*queue).open.reads.insert(copy);
                    self.define(&[*read], vec![BTreeSet::from([copy])]);
                }
                let copy = self.copy();
                self.queue(*queue).open.copies.insert(copy);
                if let Some(token) = token {
                    self.define(&[*token], vec![BTreeSet::from([copy])]);
                }
                self.slot(*slot);
            }
            Item::Commit { queue, token } => {
                if let Some(token) = token {
                    let group = self.copy();
                    self.queue(*queue).open.copies.insert(group);
                    let value = self.queue(*queue).open.copies.clone();
                    self.define(&[*token], vec![value]);
                }
                self.commit(*queue);
            }
            Item::Wait {
                queue,
                n,
                read: false,
            } => self.wait(*queue, *n),
            Item::Wait { queue, n, .. } => self.wait_for_reads(*queue, *n),
            Item::Await { site, tokens, .. } => {
                for index in 0..self.queues.len() {
                    let queue = Queue(u8::try_from(index).expect("few queues"));
                    let emitted = &self.emitted[index];
                    let reads = emitted.reads.get(site.0 as usize).copied().flatten();
                    if let Some(n) = emitted.waits[site.0 as usize] {
                        self.wait(queue, n);
                    }
                    if let Some(n) = reads {
                        self.wait_for_reads(queue, n);
                    }
                }
                let groups = self.queues.iter().flat_map(|q| &q.groups);
                let in_flight = groups.flat_map(|group| group.copies.iter().chain(&group.reads));
                self.passed.push(Passed {
                    site: *site,
                    awaited: self.read(tokens).into_iter().flatten().collect(),
                    complete: self.complete.clone(),
                    in_flight: in_flight.copied().collect(),
                });
            }
            Item::Point(slot) => self.slot(Some(*slot)),
            Item::Join { token, of } => {
                let value = self.read(of).into_iter().flatten().collect();
                self.define(&[*token], vec![value]);
            }
            Item::Nested(nested) => {
                let inits = self.read(&nested.inits);
                let results = self.graph(&nested.graph, &inits)?;
                self.define(&nested.results, results);
                self.slot(nested.after);
            }
            Item::Repeat(repeat) => {
                let mut carried = self.read(&repeat.inits);
                for _ in 0..repeat.trip {
                    carried = self.graph(&repeat.body, &carried)?;
                }
                self.define(&repeat.results, carried);
                self.slot(repeat.after);
            }
        }
        Ok(())
    }

    fn copy(&mut self) -> Copy {
        self.copies += 1;
        self.copies
    }

    fn queue(&mut self, queue: Queue) -> &mut Fifo {
        &mut self.queues[queue.0 as usize]
    }

    fn read(&self, tokens: &[Token]) -> Vec<BTreeSet<Copy>> {
        tokens
            .iter()
            .map(|token| self.values[token.0 as usize].clone())
            .collect()
    }

    fn define(&mut self, tokens: &[Token], values: Vec<BTreeSet<Copy>>) {
        assert_eq!(tokens.len(), values.len(), "as many values as tokens");
        for (token, value) in tokens.iter().zip(values) {
            self.values[token.0 as usize] = value;
        }
    }

    fn slot(&mut self, slot: Option<Slot>) {
        let Some(slot) = slot else { return };
        for index in 0..self.queues.len() {
            for _ in 0..self.emitted[index].commits[slot.0 as usize] {
                self.commit(Queue(u8::try_from(index).expect("few queues")));
            }
        }
    }

    fn commit(&mut self, queue: Queue) {
        let fifo = self.queue(queue);
        let group = std::mem::take(&mut fifo.open);
        fifo.groups.push_back(group);
    }

    fn wait(&mut self, queue: Queue, n: u32) {
        while self.queue(queue).groups.len() > n as usize {
            let group = self.queue(queue).groups.pop_front();
            let groups = group.into_iter();
            self.complete
                .extend(groups.flat_map(|group| group.copies.into_iter().chain(group.reads)));
        }
    }

    /// The reads of all but the youngest groups are complete, and nothing else.
    fn wait_for_reads(&mut self, queue: Queue, n: u32) {
        let fifo = &mut self.queues[queue.0 as usize];
        let older = fifo.groups.len().saturating_sub(n as usize);
        for group in fifo.groups.iter_mut().take(older) {
            self.complete.append(&mut group.reads);
        }
    }
}

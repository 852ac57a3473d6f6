//! The oracle: runs executions of programs, and finds what is ordered in them.

use std::collections::BTreeMap;

use tokenflow::flags::{BlockId, Dependence, EngineId, Event, EventId, Node, Plan, Point, Program, Purpose};

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Operation,
    /// A branch or a loop begins, on each engine.
    Enter,
    Set(EventId),
    Wait(EventId),
}

/// An instruction of one engine.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    pub engine: EngineId,
    pub action: Action,
}

/// One way through a program: instructions in program order, and pairs of operations that have to be ordered.
#[derive(Clone, Debug, Default)]
pub struct Execution {
    pub instructions: Vec<Instruction>,
    pub ordered: Vec<(usize, usize)>,
}

/// Which arms are taken, and how often loops are executed, in the order in which the program asks.
struct Choices {
    taken: Vec<(usize, usize)>,
    next: usize,
}

impl Choices {
    fn choose(&mut self, ways: usize) -> usize {
        if self.next == self.taken.len() {
            self.taken.push((0, ways));
        }
        self.next += 1;
        self.taken[self.next - 1].0
    }

    /// Goes on to the next sequence of choices.
    fn advance(&mut self) -> bool {
        self.next = 0;
        while let Some((way, ways)) = self.taken.pop() {
            if way + 1 < ways {
                self.taken.push((way + 1, ways));
                return true;
            }
        }
        false
    }
}

/// Loops are executed up to this often.
const MOST_ITERATIONS: usize = 3;

/// All executions, if there are at most `most`.
pub fn executions(program: &Program, plan: &Plan, most: usize) -> Option<Vec<Execution>> {
    let mut choices = Choices {
        taken: Vec::new(),
        next: 0,
    };
    let mut executions = Vec::new();
    loop {
        let mut run = Run {
            program,
            plan,
            choices,
            execution: Execution::default(),
        };
        run.block(BlockId(0));
        executions.push(run.execution);
        choices = run.choices;
        if !choices.advance() {
            return Some(executions);
        }
        if executions.len() == most {
            return None;
        }
    }
}

struct Run<'a> {
    program: &'a Program,
    plan: &'a Plan,
    choices: Choices,
    execution: Execution,
}

/// The instructions of each node of a block.
type Nodes = Vec<std::ops::Range<usize>>;

impl Run<'_> {
    fn emit(&mut self, engine: EngineId, action: Action) {
        self.execution.instructions.push(Instruction { engine, action });
    }

    fn set(&mut self, id: EventId) {
        self.emit(self.plan.events[id].from, Action::Set(id));
    }

    fn wait(&mut self, id: EventId) {
        self.emit(self.plan.events[id].to, Action::Wait(id));
    }

    /// Emits what stands at a place, in the order that the documentation of [`Event`] gives.
    fn point(&mut self, block: BlockId, point: Point) {
        let mut steps = Vec::new();
        for (id, event) in self
            .plan
            .events
            .iter()
            .enumerate()
            .filter(|(_, event)| event.block == block)
        {
            let (wait, set) = match (event.purpose, event.is_carried) {
                (Purpose::Dependence(_), _) => (0, 5),
                (Purpose::Reuse, true) => (1, 4),
                (Purpose::Reuse, false) => (3, 2),
            };
            if event.wait == point {
                steps.push((wait, id, false));
            }
            if event.set == point {
                steps.push((set, id, true));
            }
        }
        steps.sort_unstable();
        for (_, id, is_set) in steps {
            if is_set {
                self.set(EventId(id));
            } else {
                self.wait(EventId(id));
            }
        }
    }

    fn order(&mut self, dependences: &[Dependence], producers: &Nodes, consumers: &Nodes) {
        for dependence in dependences {
            let instructions = |range: &std::ops::Range<usize>, engine: EngineId, actions: &[Action]| {
                let of = |&i: &usize| {
                    let instruction = self.execution.instructions[i];
                    instruction.engine == engine && actions.contains(&instruction.action)
                };
                range.clone().filter(of).collect::<Vec<_>>()
            };
            let producer = &producers[dependence.producer];
            let producers = instructions(producer, dependence.from, &[Action::Operation]);
            // Which way it goes may depend on the producer.
            let actions = [Action::Operation, Action::Enter];
            let consumers = instructions(&consumers[dependence.consumer], dependence.to, &actions);
            let pairs = producers
                .iter()
                .flat_map(|&p| consumers.iter().map(move |&c| (p, c)));
            self.execution.ordered.extend(pairs);
        }
    }

    fn block(&mut self, block: BlockId) -> Nodes {
        let contents = &self.program.blocks[block];
        let mut nodes = Nodes::new();
        for (number, node) in contents.nodes.iter().enumerate() {
            self.point(block, Point::Before(number));
            let start = self.execution.instructions.len();
            if !matches!(node, Node::Operation(_)) {
                for engine in 0..self.program.engines {
                    self.emit(EngineId(engine), Action::Enter);
                }
            }
            match node {
                Node::Operation(engine) => self.emit(*engine, Action::Operation),
                Node::Branch(arms) => {
                    let arm = self.choices.choose(arms.len());
                    self.block(arms[arm]);
                }
                Node::Loop(body) => self.repeat(*body),
            }
            nodes.push(start..self.execution.instructions.len());
            self.point(block, Point::After(number));
        }
        self.order(&contents.dependences, &nodes, &nodes);
        nodes
    }

    fn repeat(&mut self, body: BlockId) {
        let carried =
            |(id, event): (usize, &Event)| (event.is_carried && event.block == body).then_some(EventId(id));
        let carried: Vec<_> = self.plan.events.iter().enumerate().filter_map(carried).collect();
        for &id in &carried {
            self.set(id);
        }
        let mut last: Option<Nodes> = None;
        for _ in 0..self.choices.choose(MOST_ITERATIONS + 1) {
            let nodes = self.block(body);
            if let Some(last) = last {
                self.order(&self.program.blocks[body].carried, &last, &nodes);
            }
            last = Some(nodes);
        }
        for &id in &carried {
            self.wait(id);
        }
    }
}

impl Execution {
    /// The instances of each event: its setting and the wait for it.
    pub fn instances(&self) -> BTreeMap<usize, Vec<(usize, usize)>> {
        let mut sets: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut instances: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
        for (i, instruction) in self.instructions.iter().enumerate() {
            match instruction.action {
                Action::Operation | Action::Enter => {}
                Action::Set(EventId(id)) => sets.entry(id).or_default().push(i),
                Action::Wait(EventId(id)) => {
                    let instances = instances.entry(id).or_default();
                    instances.push((sets[&id][instances.len()], i));
                }
            }
        }
        assert!(
            sets.iter().all(|(id, sets)| instances[id].len() == sets.len()),
            "a flag stays set"
        );
        instances
    }

    /// For each instruction, those that are finished when it begins, if the events but `without` order them.
    pub fn before(&self, without: Option<EventId>) -> Vec<Vec<bool>> {
        let instances = self.instances();
        let mut set_of = BTreeMap::new();
        for (id, instances) in &instances {
            if Some(EventId(*id)) != without {
                set_of.extend(instances.iter().map(|&(set, wait)| (wait, set)));
            }
        }
        let mut last: BTreeMap<EngineId, usize> = BTreeMap::new();
        let mut before: Vec<Vec<bool>> = Vec::with_capacity(self.instructions.len());
        for (i, instruction) in self.instructions.iter().enumerate() {
            let mut row = vec![false; self.instructions.len()];
            let earlier = last.insert(instruction.engine, i).into_iter();
            for earlier in earlier.chain(set_of.get(&i).copied()) {
                row[earlier] = true;
                before[earlier].iter().zip(&mut row).for_each(|(&b, r)| *r |= b);
            }
            before.push(row);
        }
        before
    }

    /// Returns true if all is ordered that has to be.
    pub fn is_ordered(&self, before: &[Vec<bool>]) -> bool {
        self.ordered
            .iter()
            .all(|&(producer, consumer)| before[consumer][producer])
    }
}

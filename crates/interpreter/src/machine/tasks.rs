//! Tasks of host code. Each is a thread that starts with the registers of whoever makes it, when its dependencies are
//! complete; it is complete when it has ended and all tokens that it yields are.
//!
//! What orders tasks are vector clocks: who makes a task comes before it, and what it has done comes before whoever learns
//! that it is complete.

mod schedule;

use super::{Machine, Next, Reason, State, Stop, Thread};
use crate::code::{MOST_TASKS, Reg, TaskOp};
use crate::memory::{Clock, join};
use crate::report::{Problem, Spot};
use crate::value::{BufferId, CopyId, Guard, Pending, Value};
use std::collections::BTreeSet;

/// All tasks, in the order in which they are made; the first is the function itself.
#[derive(Default)]
pub(super) struct Tasks {
    all: Vec<Task>,
    /// Those that can run.
    ready: BTreeSet<usize>,
    /// Late tasks run only when somebody waits for them: the last of these for the one before it, and so on.
    wanted: Vec<usize>,
    /// All before this one are complete.
    first_open: usize,
}

#[derive(Default)]
struct Task {
    /// Where it was made.
    started_at: Option<Spot>,
    /// What its thread waits for, and how many of these are not complete.
    waits_for: Vec<CopyId>,
    waits: usize,
    /// The tokens that it yields.
    tokens: Vec<CopyId>,
    /// What is left until it is complete: the end of its thread, and each of these tokens.
    open: usize,
    /// The threads that wait for it, and the tasks that yield its token.
    waiters: Vec<usize>,
    delayed: Vec<usize>,
    /// What it yields, when it has ended.
    values: Option<Vec<Value>>,
    /// What whoever learns that it is complete knows, and which of the arrivals of its thread is the last.
    end: Clock,
    last_release: u32,
    /// True if it has failed, or what it depends on.
    failed: bool,
    /// True if it runs although what it depends on has failed.
    frees: bool,
}

impl Tasks {
    /// Where a task was made.
    pub fn started_at(&self, task: CopyId) -> Spot {
        let first = Spot {
            instr: 0,
            thread: 0,
            iterations: 0,
        };
        self.all[index(task)].started_at.unwrap_or(first)
    }

    /// Returns true if a task has failed, or is to be skipped.
    pub fn has_failed(&self, task: usize) -> bool {
        self.all[task].failed
    }

    fn is_complete(&self, task: usize) -> bool {
        self.all[task].open == 0
    }

    /// Those of `tasks` that are not complete.
    fn open(&self, tasks: &[CopyId]) -> impl Iterator<Item = usize> {
        tasks
            .iter()
            .map(|task| index(*task))
            .filter(|task| !self.is_complete(*task))
    }

    /// Adds a task that waits for others.
    fn add(&mut self, started_at: Option<Spot>, dependencies: Vec<CopyId>, frees: bool) -> usize {
        let task = self.all.len();
        self.all.push(Task {
            started_at,
            open: 1,
            frees,
            ..Task::default()
        });
        self.ready.insert(task);
        self.wait(task, dependencies);
        task
    }

    /// Lets the thread of a task wait for others.
    fn wait(&mut self, task: usize, waits_for: Vec<CopyId>) {
        let open: Vec<usize> = self.open(&waits_for).collect();
        for &other in &open {
            self.all[other].waiters.push(task);
        }
        if !open.is_empty() {
            self.ready.remove(&task);
        }
        (self.all[task].waits, self.all[task].waits_for) = (open.len(), waits_for);
    }

    /// The thread of a task has ended, which knows so much.
    fn end(&mut self, task: usize, values: Vec<Value>, tokens: Vec<CopyId>, (clock, last): (Clock, u32)) {
        self.ready.remove(&task);
        let (mut end, mut failed) = (clock, false);
        for &token in &tokens {
            if self.is_complete(index(token)) {
                join(&mut end, &self.all[index(token)].end);
                failed |= self.all[index(token)].failed;
            }
        }
        let open: Vec<usize> = self.open(&tokens).collect();
        for &token in &open {
            self.all[token].delayed.push(task);
        }
        let this = &mut self.all[task];
        (this.end, this.last_release) = (end, last);
        this.failed |= failed;
        (this.values, this.tokens) = (Some(values), tokens);
        this.open += open.len();
        self.close(task);
    }

    /// One thing less is left until `task` is complete; then others may be, too.
    fn close(&mut self, task: usize) {
        let mut closed = vec![task];
        while let Some(task) = closed.pop() {
            self.all[task].open -= 1;
            if self.all[task].open > 0 {
                continue;
            }
            for waiter in std::mem::take(&mut self.all[task].waiters) {
                self.all[waiter].waits -= 1;
                if self.all[waiter].waits == 0 {
                    self.ready.insert(waiter);
                }
            }
            let (end, failed) = (self.all[task].end.clone(), self.all[task].failed);
            for delayed in std::mem::take(&mut self.all[task].delayed) {
                join(&mut self.all[delayed].end, &end);
                self.all[delayed].failed |= failed;
                closed.push(delayed);
            }
        }
    }
}

fn index(task: CopyId) -> usize {
    task.0 as usize
}

fn number(task: usize) -> u32 {
    u32::try_from(task).unwrap_or(u32::MAX)
}

impl Machine<'_> {
    /// Where each task was made; the first one, which is the function, is where it begins.
    #[must_use]
    pub fn started(&self) -> Vec<Spot> {
        let tasks = 0..number(self.tasks.all.len());
        tasks.map(|task| self.tasks.started_at(CopyId(task))).collect()
    }

    /// Runs host code until all its tasks have ended.
    pub(super) fn run_tasks(&mut self, regs: Vec<Value>, each: &mut dyn FnMut(u64)) -> Result<(), Stop> {
        self.threads = vec![Thread::new(regs, 0)];
        self.tasks = Tasks::default();
        self.tasks.add(None, Vec::new(), false);
        self.next_era();
        let mut last = 0;
        while let Some(task) = self.next_task(last) {
            last = task;
            self.resume(task);
            self.run_task(task, each).map_err(|stop| Stop {
                after_misread: stop.reason.follows_from_values() && self.memory.reports.misread(0),
                ..stop
            })?;
        }
        self.report_failure();
        if (0..self.tasks.all.len()).all(|task| self.tasks.is_complete(task)) {
            Ok(())
        } else {
            Err(self.stop(last, Reason::Stuck))
        }
    }

    /// What a task has waited for is complete: it knows what was done before.
    fn resume(&mut self, task: usize) {
        if self.threads[task].state == State::Task {
            self.threads[task].state = State::Running;
            let others = std::mem::take(&mut self.tasks.all[task].waits_for);
            self.learn_all(task, others);
        }
    }

    /// A task learns that others are complete. If one of them has failed, it does, too; returns true if it goes no further.
    fn learn_all(&mut self, task: usize, others: Vec<CopyId>) -> bool {
        let mut failed = false;
        for other in others {
            self.learn(task, other);
            failed |= self.tasks.has_failed(index(other));
        }
        if !failed {
            return false;
        }
        if self.tasks.all[task].frees {
            self.tasks.all[task].failed = true;
            return false;
        }
        if task == 0 {
            let spot = self.spot(0);
            if let Some(failure) = &mut self.failure {
                failure.awaited = Some(spot);
            }
        }
        self.fail_task(task);
        true
    }

    /// A task ends here, and has failed.
    pub(super) fn fail_task(&mut self, task: usize) {
        self.tasks.all[task].failed = true;
        self.threads[task].state = State::Done;
        // That of the function itself ends with its thread.
        if task > 0 {
            self.threads[task].regs = Vec::new();
            self.end_task(task, Vec::new(), Vec::new());
        }
    }

    /// A task learns that another one is complete.
    fn learn(&mut self, task: usize, other: CopyId) {
        let end = &self.tasks.all[index(other)].end;
        self.memory.acquire(number(task), end);
    }

    /// Returns true if a task knows that another one is complete.
    pub(super) fn knows(&self, task: usize, other: CopyId) -> bool {
        let last = self.tasks.all[index(other)].last_release;
        last > 0 && self.memory.knows_release(number(task), other.0, last)
    }

    /// What another task yields, to be used by `task`; an error if there is nothing yet.
    pub(super) fn yielded(&self, task: usize, other: CopyId, place: u32) -> Result<&Value, Reason> {
        if !self.knows(task, other) {
            let started_at = self.tasks.started_at(other);
            let guard = Guard {
                copies: [Pending::from(other)].into(),
                by: self.code.instrs[started_at.instr as usize].place.clone(),
                accumulator: None,
            };
            self.early.borrow_mut().push((other, guard));
        }
        let values = self.tasks.all[index(other)].values.as_ref();
        let value = values.ok_or(Reason::Pending(other))?.get(place as usize);
        value.ok_or(Reason::Operand("a value of a region"))
    }

    /// Lets a task wait until others are complete.
    pub(super) fn wait_for(&mut self, task: usize, others: Vec<CopyId>) -> Next {
        self.tasks.wait(task, others);
        Next::Waits(State::Task)
    }

    pub(super) fn await_tasks(&mut self, t: usize, tokens: &[Reg]) -> Result<Next, Reason> {
        let tasks = self.awaited(t, tokens)?;
        if self.tasks.open(&tasks).next().is_some() {
            return Ok(self.wait_for(t, tasks));
        }
        if self.learn_all(t, tasks) {
            return Ok(Next::Waits(State::Done));
        }
        Ok(Next::Goes)
    }

    /// The tasks that tokens are of.
    fn awaited(&self, t: usize, tokens: &[Reg]) -> Result<Vec<CopyId>, Reason> {
        let tasks = self.copies(t, tokens)?.into_iter();
        Ok(tasks.map(|pending| pending.copy).collect())
    }

    pub(super) fn task(&mut self, t: usize, op: &TaskOp) -> Result<Next, Reason> {
        match op {
            TaskOp::Start {
                token,
                values,
                dependencies,
                after,
                frees,
            } => {
                let task = self.make_task(t, dependencies, *frees)?;
                self.set(t, *token, Value::Token([task.into()].into()));
                for (place, value) in values.iter().enumerate() {
                    self.set(t, *value, Value::Yielded(task, number(place)));
                }
                Ok(Next::Jumps(after.0 as usize))
            }
            TaskOp::End { values, tokens } => {
                let tokens = self.awaited(t, tokens)?;
                let regs = std::mem::take(&mut self.threads[t].regs);
                let values = values.iter().map(|reg| regs[reg.0 as usize].clone());
                self.end_task(t, values.collect(), tokens);
                Ok(Next::Waits(State::Done))
            }
        }
    }

    fn end_task(&mut self, t: usize, values: Vec<Value>, tokens: Vec<CopyId>) {
        let clock = self.memory.release(number(t));
        let last = self.moment(t).releases;
        self.tasks.end(t, values, tokens, (clock, last));
    }

    /// Makes a task of what comes next for thread `t`.
    fn make_task(&mut self, t: usize, dependencies: &[Reg], frees: bool) -> Result<CopyId, Reason> {
        let dependencies = self.awaited(t, dependencies)?;
        let task = CopyId(number(self.tasks.all.len()));
        if task.0 == MOST_TASKS {
            return Err(Reason::Tasks);
        }
        self.memory.schedule_matters = true;
        let before = self.memory.release(number(t));
        self.memory.acquire(task.0, &before);
        self.tasks.add(Some(self.spot(t)), dependencies, frees);
        let maker = &self.threads[t];
        let mut thread = Thread::new(maker.regs.clone(), 0);
        (thread.pc, thread.state) = (maker.pc + 1, State::Task);
        (thread.counters, thread.iterations, thread.moved) =
            (maker.counters.clone(), maker.iterations, maker.moved);
        self.threads.push(thread);
        Ok(task)
    }

    /// A task deallocates a buffer.
    pub(super) fn free(&mut self, t: usize, buffer: BufferId) -> Result<(), Reason> {
        if self.memory.is_freed(buffer) {
            return Err(Reason::Fault(crate::memory::Fault::Freed { buffer }));
        }
        if !self.memory.locked(buffer).is_empty() {
            let advice = "unregister it before, with gpu.host_unregister";
            self.misuse(t, buffer, "frees {}, which is registered", advice);
        }
        self.end_of_life(t, buffer);
        Ok(())
    }

    /// The life of a buffer ends, if it has not yet.
    pub(super) fn end_of_life(&mut self, t: usize, buffer: BufferId) {
        if !self.code.is_host {
            self.memory.free(buffer);
        } else if !self.memory.is_freed(buffer) {
            let actor = self.actor(t);
            if let Some(access) = self.memory.free_by(buffer, actor) {
                let name = &self.memory.buffer(buffer).name;
                let problem = Problem::freed_early(actor.spot, access, name);
                self.memory.reports.problem(problem);
            }
        }
    }
}

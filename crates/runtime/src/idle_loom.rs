//! Models for loom: no task stays in the queue while all workers sleep. The queue is a count of tasks that
//! are all alike, as weakly ordered as a deque.

use std::sync::Arc;

use super::*;

struct Model {
    idle: Idle,
    /// Tasks that wait; each makes another while `more` are left.
    queue: AtomicUsize,
    more: AtomicUsize,
    /// If not zero, each task waits until so many have started.
    together: usize,
    started: loom::sync::Mutex<usize>,
    all_started: loom::sync::Condvar,
    stopping: AtomicBool,
    ran: AtomicUsize,
    /// After so many tasks, the worker that has run the last stops all.
    stop_after: usize,
}

impl Model {
    fn new(more: usize, together: usize, stop_after: usize) -> Arc<Self> {
        Arc::new(Self {
            idle: Idle {
                searching: AtomicUsize::new(0),
                sleeping: AtomicUsize::new(0),
                sleepers: Mutex::new(vec![]),
            },
            queue: AtomicUsize::new(0),
            more: AtomicUsize::new(more),
            together,
            started: loom::sync::Mutex::new(0),
            all_started: loom::sync::Condvar::new(),
            stopping: AtomicBool::new(false),
            ran: AtomicUsize::new(0),
            stop_after,
        })
    }

    fn has_work(&self) -> bool {
        self.stopping.load(Ordering::Relaxed) || self.queue.load(Ordering::Relaxed) > 0
    }

    fn push(&self) {
        self.queue.fetch_add(1, Ordering::Release);
        self.idle.notify();
    }

    fn pop(&self) -> bool {
        let pop = self
            .queue
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, |n| n.checked_sub(1));
        pop.is_ok()
    }

    fn run(&self) {
        if self.together > 0 {
            let mut started = self.started.lock().unwrap();
            *started += 1;
            self.all_started.notify_all();
            while *started < self.together {
                started = self.all_started.wait(started).unwrap();
            }
        }
        let more = self
            .more
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        if more.is_ok() {
            self.push();
        }
        if self.ran.fetch_add(1, Ordering::Relaxed) + 1 == self.stop_after {
            self.stop();
        }
    }

    /// `Pool::work`, until `stop`.
    fn work(&self) {
        let me = Sleeper::current();
        loop {
            let stopping = self.stopping.load(Ordering::Acquire);
            if !self.pop() {
                if stopping {
                    self.idle.end_search(|| false);
                    return;
                }
                self.idle.sleep(&me, || self.has_work());
                continue;
            }
            self.idle.end_search(|| self.has_work());
            self.run();
            self.idle.begin_search();
        }
    }

    fn start(self: &Arc<Self>) -> loom::thread::JoinHandle<()> {
        self.idle.begin_search();
        let this = self.clone();
        loom::thread::spawn(move || this.work())
    }

    fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.idle.wake_all();
    }
}

/// All executions with so many switches of threads that run; without a bound they are too many.
fn check(switches: usize, run: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(switches);
    model.check(run);
}

/// A thread pushes tasks and stops the workers, which run all that was pushed.
fn pushed_then_stopped(workers: usize, tasks: usize) {
    let model = Model::new(0, 0, 0);
    let threads: Vec<_> = (0..workers).map(|_| model.start()).collect();
    (0..tasks).for_each(|_| model.push());
    model.stop();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(model.ran.load(Ordering::Relaxed), tasks);
}

/// A thread pushes tasks, the last of which stops the workers: if it is not run, all sleep, which loom reports as a deadlock.
fn pushed_and_awaited(workers: usize, tasks: usize, more: usize, together: usize) {
    let model = Model::new(more, together, tasks + more);
    let threads: Vec<_> = (0..workers).map(|_| model.start()).collect();
    (0..tasks).for_each(|_| model.push());
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_worker_runs_what_was_pushed_before_the_stop() {
    check(3, || pushed_then_stopped(1, 2));
}

#[test]
fn one_of_two_workers_runs_what_was_pushed_before_the_stop() {
    check(2, || pushed_then_stopped(2, 1));
}

#[test]
fn a_worker_is_woken_for_each_task() {
    check(3, || pushed_and_awaited(1, 2, 0, 0));
}

#[test]
fn two_workers_lose_no_task() {
    check(2, || pushed_and_awaited(2, 1, 1, 0));
}

/// If one worker slept while the other waits in its task, loom would report a deadlock.
#[test]
fn two_tasks_run_at_a_time() {
    check(2, || pushed_and_awaited(2, 2, 0, 2));
}

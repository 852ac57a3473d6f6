//! Workers: where ready tasks are, who runs them, who waits.
//!
//! There is one pool, which starts with the first ready task. A worker has a deque, whose newest task is its next; others take the
//! oldest. Threads that are not workers push to a queue that all workers share. The last task that a completed one has made ready is
//! run next by the same worker, so that a chain stays on one core and wakes nobody.

use std::{
    cell::{Cell, RefCell},
    sync::{
        Mutex, Once, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
};

use crossbeam_deque::{Injector, Steal, Stealer, Worker};

use crate::{
    census::{self, Census},
    device,
    error::first_unobserved,
    idle::{Idle, Sleeper},
    simulated,
    token::Ref,
    trace,
};

/// The most workers that can be asked for.
pub const MAX_WORKERS: usize = 1024;
/// Deques: more than that for workers that take the place of blocked ones. Yet more workers have none, which is slower only.
const MAX_DEQUES: usize = MAX_WORKERS + 64;
/// How often a worker looks for work before it sleeps: some microseconds, which is what sleeping and waking cost.
const SEARCHES: u32 = 64;
/// The most threads at a time unless `ASYNCOPT_MAX_THREADS` says otherwise, with those that blocked tasks keep: each takes some of the mappings
/// that a process may have, and beyond what Linux allows by default, a new thread fails where nobody can tell.
const MAX_THREADS: usize = 8192;
/// From then on it gives its core to others between two looks.
const EAGER_SEARCHES: u32 = 48;

/// The threads that run tasks, and the tasks that are ready.
pub struct Pool {
    /// Ready tasks from threads without a deque.
    shared: OnceLock<Injector<Ref>>,
    /// The other ends of all deques that were ever used, which are the first `deques`.
    stealers: [OnceLock<Stealer<Ref>>; MAX_DEQUES],
    deques: AtomicUsize,
    /// Deques that no thread has at present, and their numbers.
    spare_deques: Mutex<Vec<(usize, Worker<Ref>)>>,
    idle: Idle,
    /// Workers that are too many, since a blocked one has come back: the first that can ends.
    surplus: AtomicUsize,
    running: AtomicBool,
    stopping: AtomicBool,
    /// Tokens that others than workers are going to complete, such as a device: workers don't end before.
    external: AtomicUsize,
    threads: Mutex<Threads>,
}

struct Threads {
    /// What was asked for, or 0.
    workers: usize,
    handles: Vec<JoinHandle<()>>,
    started: usize,
}

/// The pool of this process.
pub static POOL: Pool = Pool {
    shared: OnceLock::new(),
    stealers: [const { OnceLock::new() }; MAX_DEQUES],
    deques: AtomicUsize::new(0),
    spare_deques: Mutex::new(vec![]),
    idle: Idle::new(),
    surplus: AtomicUsize::new(0),
    running: AtomicBool::new(false),
    stopping: AtomicBool::new(false),
    external: AtomicUsize::new(0),
    threads: Mutex::new(Threads {
        workers: 0,
        handles: vec![],
        started: 0,
    }),
};

/// What was reported since the pool was started.
static REPORTED: Mutex<Option<Census>> = Mutex::new(None);

thread_local! {
    /// The deque of a worker, and its number.
    static DEQUE: RefCell<Option<(usize, Worker<Ref>)>> = const { RefCell::new(None) };
    /// Whether the thread runs a task.
    static IN_TASK: Cell<bool> = const { Cell::new(false) };
    /// How often the task has said that it blocks.
    static BLOCKS: Cell<usize> = const { Cell::new(0) };
}

impl Pool {
    fn shared(&self) -> &Injector<Ref> {
        self.shared.get_or_init(Injector::new)
    }

    /// Queues a ready task.
    pub fn push(&'static self, task: Ref) {
        if !self.running.load(Ordering::Acquire) {
            self.start();
        }
        DEQUE.with_borrow(|deque| match deque {
            Some((_, deque)) => deque.push(task),
            None => self.shared().push(task),
        });
        self.idle.notify();
    }

    /// Takes a ready task: the thread's own newest, or somebody's oldest.
    fn find(&self) -> Option<Ref> {
        DEQUE.with_borrow(|own| match own {
            Some((number, own)) => own.pop().or_else(|| self.steal(number + 1, Some(own))),
            None => self.steal(0, None),
        })
    }

    /// Takes from the shared queue or another deque, the first being number `first`, and perhaps more of them into `own`.
    fn steal(&self, first: usize, own: Option<&Worker<Ref>>) -> Option<Ref> {
        let deques = self.deques.load(Ordering::Acquire);
        let others = || {
            let order = (0..deques).map(|i| self.stealers[(first + i) % deques].get());
            order.flatten().filter(|other| !other.is_empty())
        };
        loop {
            let stolen = match own {
                Some(own) => self.shared().steal_batch_and_pop(own).or_else(|| {
                    others()
                        .map(|other| other.steal_batch_and_pop(own))
                        .collect::<Steal<_>>()
                }),
                None => self
                    .shared()
                    .steal()
                    .or_else(|| others().map(Stealer::steal).collect::<Steal<_>>()),
            };
            if !stolen.is_retry() {
                return stolen.success();
            }
        }
    }

    /// Whether a task is ready, or all should end.
    fn has_work(&self) -> bool {
        let deques = self.deques.load(Ordering::Acquire);
        let mut stealers = self.stealers[..deques].iter().filter_map(OnceLock::get);
        !self.shared().is_empty() || stealers.any(|stealer| !stealer.is_empty()) || self.is_stopping()
    }

    /// Whether workers without work should end.
    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst) && self.external.load(Ordering::SeqCst) == 0
    }

    /// Somebody else than a worker is going to complete a token.
    pub fn begin_external(&self) {
        self.external.fetch_add(1, Ordering::SeqCst);
    }

    /// It is complete, and what became ready was pushed.
    pub fn end_external(&self) {
        let before = self.external.fetch_sub(1, Ordering::SeqCst);
        if before == 1 && self.stopping.load(Ordering::SeqCst) {
            self.idle.wake_all();
        }
    }

    /// Runs a task. The result is one that it has made ready, to be run next.
    fn run(&'static self, task: Ref) -> Option<Ref> {
        let trace = trace::now().map(|start| (task.kind().name().to_owned(), start));
        IN_TASK.set(true);
        let mut next: Option<Ref> = None;
        task.run(&mut |ready| {
            if let Some(earlier) = next.replace(ready) {
                self.push(earlier);
            }
        });
        IN_TASK.set(false);
        if let Some((name, start)) = trace {
            trace::note(&name, start);
        }
        next
    }

    /// Waits until `token` is complete.
    pub fn await_token(&'static self, token: &Ref) {
        if token.is_complete() {
            return;
        }
        let _waits = simulated::host_waits();
        if IN_TASK.get() {
            // What this thread would run could wait for the task below it on the stack. So another thread does.
            self.begin_blocking();
            sleep_until_complete(token);
            return self.end_blocking();
        }
        let mut searches = 0;
        while !token.is_complete() && searches < SEARCHES {
            let Some(mut task) = self.find() else {
                searches += 1;
                pause(searches);
                continue;
            };
            searches = 0;
            while let Some(next) = self.run(task) {
                if token.is_complete() {
                    self.push(next);
                    break;
                }
                task = next;
            }
        }
        trace::flush();
        sleep_until_complete(token);
    }

    /// Returns true if the calling thread runs a task.
    pub fn is_in_task() -> bool {
        IN_TASK.get()
    }

    /// The calling task may block: another worker takes its place.
    pub fn begin_blocking(&'static self) {
        if !IN_TASK.get() {
            return;
        }
        BLOCKS.set(BLOCKS.get() + 1);
        if BLOCKS.get() == 1 && !self.take_surplus() {
            self.spawn(&mut self.threads.lock().unwrap());
        }
    }

    /// The calling task no longer blocks.
    pub fn end_blocking(&self) {
        if BLOCKS.get() == 0 {
            return;
        }
        BLOCKS.set(BLOCKS.get() - 1);
        if BLOCKS.get() == 0 {
            self.surplus.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Has one worker fewer, if there is one too many. At the end there never is: workers that have found nothing are gone.
    fn take_surplus(&self) -> bool {
        let less = |surplus: usize| surplus.checked_sub(1);
        self.surplus.load(Ordering::Relaxed) > 0
            && !self.stopping.load(Ordering::SeqCst)
            && self
                .surplus
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
                .is_ok()
    }

    /// How many workers there are.
    pub fn num_workers(&self) -> usize {
        let asked = self.threads.lock().unwrap().workers;
        if asked > 0 { asked } else { default_workers() }
    }

    /// Sets how many workers there are. False if they have started.
    pub fn set_workers(&self, workers: usize) -> bool {
        let mut threads = self.threads.lock().unwrap();
        let allowed = !self.running.load(Ordering::Relaxed);
        if allowed {
            threads.workers = workers.clamp(1, MAX_WORKERS);
        }
        allowed
    }

    #[cold]
    fn start(&'static self) {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            if let Ok(path) = std::env::var("ASYNCOPT_TRACE")
                && !path.is_empty()
            {
                trace::start(&path);
            }
            crate::interface::shut_down_at_exit();
        });
        // Whether the order of tasks is kept is known before the first one runs.
        let _ = device::simulated();
        let mut threads = self.threads.lock().unwrap();
        if self.running.load(Ordering::Relaxed) {
            return;
        }
        *REPORTED.lock().unwrap() = None;
        if threads.workers == 0 {
            threads.workers = default_workers();
        }
        for _ in 0..threads.workers {
            self.spawn(&mut threads);
        }
        self.running.store(true, Ordering::Release);
    }

    fn spawn(&'static self, threads: &mut Threads) {
        let name = format!("asyncopt-{}", threads.started);
        threads.started += 1;
        // Those that took the place of a blocked one have ended since.
        threads.handles.retain(|handle| !handle.is_finished());
        let most = max_threads();
        if threads.handles.len() >= most {
            fail_to_start(&format!("{most} are running"));
        }
        // It searches from now on, so that nobody wakes another for what it will find.
        self.idle.begin_search();
        match thread::Builder::new().name(name).spawn(|| self.work()) {
            Ok(handle) => threads.handles.push(handle),
            Err(error) => fail_to_start(&error.to_string()),
        }
    }

    /// What a worker does. It starts as one that searches.
    fn work(&'static self) {
        DEQUE.set(self.take_deque());
        let me = Sleeper::current();
        loop {
            // Before the search, which finds what was pushed before the stop.
            let stopping = self.is_stopping();
            let Some(task) = self.search() else {
                if stopping {
                    self.idle.end_search(|| false);
                    break;
                }
                self.idle.sleep(&me, || self.has_work());
                continue;
            };
            self.idle.end_search(|| self.has_work());
            if !self.run_all(task) {
                break;
            }
            self.idle.begin_search();
        }
        if let Some(deque) = DEQUE.take() {
            self.spare_deques.lock().unwrap().push(deque);
        }
        trace::flush();
        // What is left in its deque is for others.
        self.idle.notify();
    }

    /// Runs tasks for as long as there are some. False if the worker is one too many.
    fn run_all(&'static self, task: Ref) -> bool {
        let mut next = Some(task);
        while let Some(task) = next.take().or_else(|| self.find()) {
            next = self.run(task);
            if self.take_surplus() {
                if let Some(task) = next {
                    self.push(task);
                }
                return false;
            }
        }
        true
    }

    fn search(&self) -> Option<Ref> {
        (1..=SEARCHES).find_map(|searches| {
            let task = self.find();
            if task.is_none() && !self.is_stopping() {
                pause(searches);
            }
            task
        })
    }

    fn take_deque(&self) -> Option<(usize, Worker<Ref>)> {
        let mut spare = self.spare_deques.lock().unwrap();
        if let Some(deque) = spare.pop() {
            return Some(deque);
        }
        // The number grows only here, under the lock.
        let number = self.deques.load(Ordering::Relaxed);
        let deque = Worker::new_lifo();
        self.stealers.get(number)?.set(deque.stealer()).ok()?;
        self.deques.store(number + 1, Ordering::Release);
        Some((number, deque))
    }

    /// Runs all that can run, ends all workers, and reports.
    pub fn shut_down(&'static self) {
        let waits = simulated::host_waits();
        // A task that ends the process can't wait for itself.
        if self.running.load(Ordering::Acquire) && !IN_TASK.get() {
            self.stopping.store(true, Ordering::SeqCst);
            self.idle.wake_all();
            loop {
                let handle = self.threads.lock().unwrap().handles.pop();
                let Some(handle) = handle else { break };
                let _ = handle.join();
            }
            self.surplus.store(0, Ordering::Relaxed);
            self.stopping.store(false, Ordering::Relaxed);
            self.running.store(false, Ordering::Release);
        }
        drop(waits);
        // Without workers, nobody has waited for devices.
        while self.external.load(Ordering::SeqCst) > 0 {
            thread::yield_now();
        }
        trace::flush();
        trace::finish();
        report();
        if !IN_TASK.get() {
            device::release();
        }
    }
}

/// Ends the process: a task waits, and there is nothing to run the others.
fn fail_to_start(why: &str) -> ! {
    eprintln!(
        "asyncopt_rt: error: can't start one more thread for tasks: {why}. Each task that awaits something in a function that is called \
         through a pointer, or in other code that blocks, keeps a thread while it waits: call such functions by their names, or less deeply"
    );
    std::process::abort()
}

fn sleep_until_complete(token: &Ref) {
    if !token.is_complete() && token.wake(thread::current()) {
        while !token.is_complete() {
            thread::park();
        }
    }
}

/// Between two searches for work.
fn pause(searches: u32) {
    if searches < EAGER_SEARCHES {
        for _ in 0..16 {
            std::hint::spin_loop();
        }
    } else {
        thread::yield_now();
    }
}

/// `ASYNCOPT_NUM_THREADS`, or the number of processors.
fn default_workers() -> usize {
    number_of("ASYNCOPT_NUM_THREADS", MAX_WORKERS).unwrap_or_else(|| {
        thread::available_parallelism().map_or(1, |workers| workers.get().min(MAX_WORKERS))
    })
}

fn max_threads() -> usize {
    static MOST: OnceLock<usize> = OnceLock::new();
    *MOST.get_or_init(|| number_of("ASYNCOPT_MAX_THREADS", 1 << 20).unwrap_or(MAX_THREADS))
}

/// The number from 1 to `most` that a variable of the environment has.
fn number_of(name: &str, most: usize) -> Option<usize> {
    let variable = std::env::var(name).unwrap_or_default();
    match variable.parse() {
        Ok(number) if (1..=most).contains(&number) => return Some(number),
        _ if variable.is_empty() => {}
        _ => eprintln!("asyncopt_rt: {name} is '{variable}': give a number from 1 to {most}"),
    }
    None
}

/// Says on standard error what is still alive, once: a program that shuts down itself does so again at its end.
fn report() {
    let census = census::take();
    if REPORTED.lock().unwrap().replace(census) == Some(census) {
        return;
    }
    let simulated = device::used_simulated();
    if let Some(simulated) = simulated {
        simulated.report_repeated();
    }
    let wanted = match std::env::var("ASYNCOPT_CENSUS").as_deref() {
        Ok("0") => false,
        Ok("1") => true,
        _ => !census.is_clean(),
    };
    if !wanted {
        return;
    }
    eprintln!(
        "asyncopt_rt: alive at the end: {} tokens, {} tasks, {} bytes of frames, {} suspended coroutines, {} device allocations; {} errors \
         that nobody awaited",
        census.tokens,
        census.tasks,
        census.frame_bytes,
        census.suspended,
        census.device_allocations,
        census.unobserved_errors
    );
    if let Some(error) = first_unobserved() {
        eprintln!("asyncopt_rt: the first of these: {error}");
    }
    if let Some(simulated) = simulated {
        simulated.report_census();
    }
}

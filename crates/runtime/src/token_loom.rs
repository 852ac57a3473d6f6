//! Models for loom: completion against new dependencies, the last of two dependencies, a waiting thread, the end of references.
//!
//! What is ready is run at once by whom gets it: who pushes it and who takes it is the model of `idle`.

use std::{
    ffi::c_void,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicUsize as Plain, Ordering::SeqCst},
    },
};

use super::*;

/// A task whose frame is a pointer to a counter of its runs and a cell that orders them.
struct Cell {
    runs: Plain,
    skips: Plain,
    drops: Plain,
    /// Written by whoever is before the task: loom reports a race if nothing orders that.
    data: loom::cell::UnsafeCell<usize>,
}

static TASK: Type = Type {
    run: Some(run),
    skip: Some(skip),
    drop: Some(drop_results),
    frame_size: 8,
    frame_align: 8,
    name: ptr::null(),
};

unsafe fn cell<'a>(frame: *mut c_void) -> &'a Cell {
    unsafe { &**frame.cast::<*const Cell>() }
}

unsafe extern "C" fn run(_: *mut Token, frame: *mut c_void) -> i32 {
    let cell = unsafe { cell(frame) };
    cell.runs.fetch_add(1, SeqCst);
    cell.data.with_mut(|data| unsafe { *data += 1 });
    0
}

unsafe extern "C" fn skip(frame: *mut c_void) {
    unsafe { cell(frame) }.skips.fetch_add(1, SeqCst);
}

unsafe extern "C" fn drop_results(frame: *mut c_void) {
    let cell = unsafe { cell(frame) };
    cell.data.with(|_| ());
    cell.drops.fetch_add(1, SeqCst);
}

impl Cell {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            runs: Plain::new(0),
            skips: Plain::new(0),
            drops: Plain::new(0),
            data: loom::cell::UnsafeCell::new(0),
        })
    }

    /// The cell outlives the task, which the models join.
    fn task(self: &Arc<Self>) -> Ref {
        let task = unsafe { Ref::new(Some(&TASK)) };
        unsafe { task.frame().cast::<*const Cell>().write(Arc::as_ptr(self)) };
        task
    }

    fn counts(&self) -> (usize, usize, usize) {
        (
            self.runs.load(SeqCst),
            self.skips.load(SeqCst),
            self.drops.load(SeqCst),
        )
    }
}

/// Runs what is ready, and what that makes ready.
fn run_ready(task: Ref) {
    let mut ready = vec![task];
    while let Some(task) = ready.pop() {
        task.run(&mut |next| ready.push(next));
    }
}

fn settle(token: &Ref) {
    let mut ready = vec![];
    unsafe { token.settle(&mut |task| ready.push(task)) };
    ready.into_iter().for_each(run_ready);
}

fn promise() -> Ref {
    unsafe { Ref::new(None) }
}

/// One thread completes a token while another makes a task that depends on it.
#[test]
fn a_dependent_is_added_during_completion() {
    loom::model(|| {
        let cell = Cell::new();
        let on = promise();
        let completes = loom::thread::spawn({
            let (on, cell) = (on.clone(), cell.clone());
            move || {
                cell.data.with_mut(|data| unsafe { *data = 1 });
                settle(&on);
            }
        });
        let task = cell.task();
        unsafe { task.depend(&on) };
        drop(on);
        settle(&task);
        completes.join().unwrap();
        assert!(task.is_complete());
        drop(task);
        assert_eq!(cell.counts(), (1, 0, 1));
    });
}

/// Two threads complete the two dependencies of a task, of which one may have failed; the task's token is dropped meanwhile.
#[test]
fn two_dependencies_are_completed_at_a_time() {
    for fails in [false, true] {
        loom::model(move || {
            let cell = Cell::new();
            let on = [promise(), promise()];
            let task = cell.task();
            on.iter().for_each(|on| unsafe { task.depend(on) });
            settle(&task);
            let [one, other] = on;
            let completes = loom::thread::spawn(move || {
                if fails {
                    one.fail(Arc::new(Error::new(None, c"failed")));
                }
                settle(&one);
            });
            let drops = loom::thread::spawn(move || drop(task));
            settle(&other);
            drop(other);
            completes.join().unwrap();
            drops.join().unwrap();
            assert_eq!(cell.counts(), if fails { (0, 1, 0) } else { (1, 0, 1) });
        });
    }
}

/// Two threads add dependents to a token that a third completes.
#[test]
fn two_dependents_are_added_during_completion() {
    // Without a bound on switches of threads that run, this takes most of a minute.
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let cells = [Cell::new(), Cell::new()];
        let on = promise();
        let threads = cells.clone().map(|cell| {
            let on = on.clone();
            loom::thread::spawn(move || {
                let task = cell.task();
                unsafe { task.depend(&on) };
                settle(&task);
            })
        });
        settle(&on);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        cells.iter().for_each(|cell| assert_eq!(cell.counts(), (1, 0, 1)));
    });
}

/// A thread waits for a token that another completes.
#[test]
fn a_waiting_thread_is_woken() {
    loom::model(|| {
        let cell = Cell::new();
        let task = cell.task();
        let runs = loom::thread::spawn({
            let task = task.clone();
            move || settle(&task)
        });
        if !task.is_complete() && task.wake(loom::thread::current()) {
            while !task.is_complete() {
                loom::thread::park();
            }
        }
        // What the task has written is visible.
        cell.data.with(|data| assert_eq!(unsafe { *data }, 1));
        runs.join().unwrap();
        drop(task);
        assert_eq!(cell.counts(), (1, 0, 1));
    });
}

/// A running body adds a trailing token, which another thread completes.
#[test]
fn a_trailing_token_is_completed_while_the_body_ends() {
    unsafe extern "C" fn run(this: *mut Token, frame: *mut c_void) -> i32 {
        let this = unsafe { Ref::borrow(NonNull::new(this).unwrap()) };
        let inner = unsafe { frame.cast::<*mut Token>().read() };
        let inner = unsafe { Ref::from_raw(NonNull::new(inner).unwrap()) };
        unsafe { this.depend(&inner) };
        0
    }
    static OUTER: Type = Type {
        run: Some(run),
        skip: None,
        drop: None,
        frame_size: 8,
        frame_align: 8,
        name: ptr::null(),
    };
    loom::model(|| {
        let inner = promise();
        let outer = unsafe { Ref::new(Some(&OUTER)) };
        unsafe { outer.frame().cast::<*mut Token>().write(inner.clone().into_raw()) };
        let completes = loom::thread::spawn(move || settle(&inner));
        settle(&outer);
        completes.join().unwrap();
        assert!(outer.is_complete());
    });
}

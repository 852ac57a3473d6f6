//! What the C interface promises, by example.

mod common;

use std::{
    ffi::{CString, c_char, c_void},
    ptr,
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicI64, AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use asyncopt_rt::{Token, Type, device::LaunchSizes, interface::*};
use common::*;

/// A counter of references, in a task's captures or results.
fn counted() -> (Arc<()>, impl Fn(&Arc<()>) -> usize) {
    (Arc::new(()), |it| Arc::strong_count(it) - 1)
}

#[test]
fn a_task_runs_after_its_dependencies() {
    let _session = session(2);
    let order = Arc::new(Mutex::new(vec![]));
    let note = |name| {
        let order = order.clone();
        move |_: &Tok| {
            order.lock().unwrap().push(name);
            DONE
        }
    };
    let first = open_task(note("first"));
    let left = task(&[&first], note("left"));
    let right = task(&[&first], note("right"));
    let last = task(&[&left, &right], note("last"));
    assert_eq!(last.state(), PENDING);
    first.submit();
    assert_eq!(last.wait(), COMPLETE);
    let order = order.lock().unwrap();
    assert_eq!((order.len(), order[0], order[3]), (4, "first", "last"));
}

#[test]
fn a_task_runs_even_if_nobody_holds_its_token() {
    let session = session(1);
    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..10 {
        let ran = ran.clone();
        drop(task(&[], move |_| {
            ran.fetch_add(1, Ordering::Relaxed);
            DONE
        }));
    }
    drop(session);
    assert_eq!(ran.load(Ordering::Relaxed), 10);
}

#[test]
fn a_null_token_is_complete() {
    let _session = session(1);
    let ready = Tok(ptr::null_mut());
    assert_eq!(
        (ready.state(), ready.wait(), ready.error()),
        (COMPLETE, COMPLETE, None)
    );
    assert_eq!(task(&[&ready], |_| DONE).wait(), COMPLETE);
    assert_eq!(join(&[&ready, &ready.clone()]).wait(), COMPLETE);
    let (done, resumed) = mpsc::channel();
    ready.then(move || done.send(()).unwrap());
    resumed.recv().unwrap();
}

#[test]
fn trailing_tokens_delay_the_completion() {
    let _session = session(2);
    let inner = Tok::open();
    let ran = Arc::new(AtomicUsize::new(0));
    let outer = task(&[], {
        let (inner, ran) = (inner.clone(), ran.clone());
        move |this| {
            this.depend(&inner);
            ran.store(1, Ordering::Release);
            DONE
        }
    });
    while ran.load(Ordering::Acquire) == 0 {
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(outer.state(), PENDING);
    inner.submit();
    assert_eq!(outer.wait(), COMPLETE);
}

#[test]
fn results_live_as_long_as_the_token_and_are_dropped_once() {
    unsafe extern "C" fn run(_: *mut Token, frame: *mut c_void) -> i32 {
        // SAFETY: the frame has two pointers: a capture and a result.
        unsafe {
            let frame = frame.cast::<*const ()>();
            frame.add(1).write(frame.read());
        }
        DONE
    }
    unsafe extern "C" fn drop_results(frame: *mut c_void) {
        // SAFETY: `run` has written it.
        unsafe { drop(Arc::from_raw(frame.cast::<*const ()>().add(1).read())) };
    }
    static TYPE: Type = Type {
        run: Some(run),
        skip: None,
        drop: Some(drop_results),
        frame_size: 16,
        frame_align: 64,
        name: ptr::null(),
    };
    let session = session(1);
    let (it, left) = counted();
    let producer = Tok::of_type(Some(&TYPE));
    assert_eq!(producer.frame::<u8>().addr() % 64, 0);
    // SAFETY: it is the capture.
    unsafe { producer.frame::<*const ()>().write(Arc::into_raw(it.clone())) };
    producer.submit();
    let consumer = task(&[&producer], {
        let producer = producer.clone();
        let expected = Arc::as_ptr(&it).addr();
        move |this| {
            // SAFETY: `run` has written it.
            if unsafe { producer.frame::<*const ()>().add(1).read() }.addr() != expected {
                this.fail(c"here", c"another value");
            }
            DONE
        }
    });
    drop(producer);
    assert_eq!(consumer.wait(), COMPLETE);
    drop(consumer);
    drop(session);
    assert_eq!(left(&it), 0);
}

#[test]
fn results_that_own_tokens_are_freed_without_recursion() {
    unsafe extern "C" fn drop_results(frame: *mut c_void) {
        // SAFETY: the frame holds a token.
        unsafe { asyncopt_rt_release(frame.cast::<*mut Token>().read()) };
    }
    static LINK: Type = Type {
        run: None,
        skip: None,
        drop: Some(drop_results),
        frame_size: 8,
        frame_align: 8,
        name: ptr::null(),
    };
    let _session = session(1);
    let mut list = Tok(ptr::null_mut());
    for _ in 0..1_000_000 {
        let link = Tok::of_type(Some(&LINK));
        // SAFETY: the frame is for it.
        unsafe { link.frame::<*mut Token>().write(list.0) };
        std::mem::forget(list);
        link.submit();
        list = link;
    }
}

/// Upstream resumes what waits for a token inside the completion: 200 000 such tasks overflow its stack.
#[test]
fn a_chain_of_a_million_tasks_takes_no_stack() {
    let _session = session(1);
    let count = Arc::new(AtomicUsize::new(0));
    let first = Tok::open();
    let mut last = first.clone();
    for _ in 0..1_000_000 {
        let count = count.clone();
        last = task(&[&last], move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            DONE
        });
    }
    // Who completes the first must not run the rest.
    let on_small_stack = std::thread::Builder::new().stack_size(64 << 10);
    on_small_stack
        .spawn(move || first.submit())
        .unwrap()
        .join()
        .unwrap();
    assert_eq!(last.wait(), COMPLETE);
    assert_eq!(count.load(Ordering::Relaxed), 1_000_000);
}

#[test]
fn a_fan_of_a_million_tasks_and_its_join_take_no_stack() {
    let _session = session(1);
    let first = Tok::open();
    let all = Tok::open();
    for _ in 0..1_000_000 {
        all.depend(&task(&[&first], |_| DONE));
    }
    all.submit();
    let on_small_stack = std::thread::Builder::new().stack_size(64 << 10);
    on_small_stack
        .spawn(move || first.submit())
        .unwrap()
        .join()
        .unwrap();
    assert_eq!(all.wait(), COMPLETE);
}

#[test]
fn a_chain_of_a_million_joins_takes_no_stack() {
    let _session = session(1);
    let first = Tok::open();
    let mut last = first.clone();
    for _ in 0..1_000_000 {
        last = join(&[&last, &first]);
    }
    let on_small_stack = std::thread::Builder::new().stack_size(64 << 10);
    on_small_stack
        .spawn(move || first.submit())
        .unwrap()
        .join()
        .unwrap();
    assert_eq!(last.wait(), COMPLETE);
}

#[test]
fn a_million_skipped_tasks_take_no_stack() {
    let _session = session(1);
    let first = Tok::open();
    let mut last = first.clone();
    for _ in 0..1_000_000 {
        last = task(&[&last], |_| unreachable!());
    }
    first.fail(c"f.mlir:1:2", c"boom");
    first.submit();
    assert_eq!(last.wait(), FAILED);
    assert_eq!(last.error().unwrap(), "f.mlir:1:2: boom");
}

/// Upstream runs all of them on the thread that completes the token.
#[test]
fn what_a_token_releases_is_for_all_workers() {
    let _session = session(4);
    let first = task(&[], |_| DONE);
    // Each waits for the three others: that ends only on four threads at a time.
    let barrier = Arc::new(Barrier::new(4));
    let tasks = [(); 4].map(|()| {
        let barrier = barrier.clone();
        task(&[&first], move |_| {
            barrier.wait();
            DONE
        })
    });
    assert_eq!(join(&tasks.each_ref()).wait(), COMPLETE);
}

/// Upstream hangs: each of its workers blocks in an await that needs a worker.
#[test]
fn an_await_in_a_task_gets_another_worker() {
    let _session = session(1);
    let tasks: Vec<_> = (0..64)
        .map(|_| {
            task(&[], |_| {
                let inner = task(&[], |_| DONE);
                assert_eq!(inner.wait(), COMPLETE);
                DONE
            })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.wait(), COMPLETE);
    }
}

#[test]
fn a_task_that_awaits_again_and_again_ends_at_the_end() {
    for _ in 0..200 {
        let _session = session(1);
        drop(task(&[], |_| {
            for _ in 0..4 {
                task(&[], |_| DONE).wait();
            }
            DONE
        }));
    }
}

#[test]
fn while_a_task_blocks_another_worker_runs() {
    let _session = session(1);
    let (go, blocked) = mpsc::channel();
    let (started, start) = mpsc::channel();
    let blocking = task(&[], move |_| {
        asyncopt_rt_blocking_begin();
        asyncopt_rt_blocking_begin();
        started.send(()).unwrap();
        blocked.recv().unwrap();
        asyncopt_rt_blocking_end();
        asyncopt_rt_blocking_end();
        DONE
    });
    start.recv().unwrap();
    // This thread does not help: only a worker in the place of the blocked one can run it.
    let other = task(&[], move |_| {
        go.send(()).unwrap();
        DONE
    });
    while blocking.state() == PENDING {
        std::thread::yield_now();
    }
    assert_eq!(other.wait(), COMPLETE);
    // Outside of tasks, nothing happens.
    asyncopt_rt_blocking_begin();
    asyncopt_rt_blocking_end();
}

#[test]
fn a_coroutine_is_resumed_by_a_worker_and_completes_its_task() {
    let session = session(1);
    let (it, left) = counted();
    let later = Tok::open();
    let task = task(&[], {
        let (later, it) = (later.clone(), it.clone());
        move |this| {
            let this = this.clone();
            later.clone().then(move || {
                let _captures = (later, it);
                this.complete();
            });
            SUSPENDED
        }
    });
    while census().suspended == 0 {
        std::thread::yield_now();
    }
    assert_eq!(task.state(), PENDING);
    later.submit();
    assert_eq!(task.wait(), COMPLETE);
    drop((task, later));
    drop(session);
    assert_eq!(left(&it), 0);
}

#[test]
fn a_coroutine_is_resumed_by_a_failed_token_too() {
    let _session = session(2);
    let failed = task(&[], |this| {
        this.fail(c"f.mlir:7:3", c"boom");
        DONE
    });
    let waits = task(&[], {
        let failed = failed.clone();
        move |this| {
            let this = this.clone();
            failed.clone().then(move || {
                assert_eq!(failed.state(), FAILED);
                this.fail_from(&failed);
                this.complete();
            });
            SUSPENDED
        }
    });
    assert_eq!(waits.wait(), FAILED);
    assert_eq!(waits.error().unwrap(), "f.mlir:7:3: boom");
}

#[test]
fn the_first_error_wins() {
    let _session = session(2);
    let task = task(&[], |this| {
        this.fail(c"f.mlir:1:1", c"first");
        this.fail(c"f.mlir:2:1", c"second");
        DONE
    });
    assert_eq!(task.wait(), FAILED);
    assert_eq!(task.error().unwrap(), "f.mlir:1:1: first");
}

#[test]
fn a_failed_task_completes_only_after_its_other_dependencies() {
    let _session = session(1);
    let slow = Tok::open();
    let failed = Tok::open();
    failed.fail(c"f.mlir:1:1", c"boom");
    failed.submit();
    let after = task(&[&failed, &slow], |_| unreachable!());
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(after.state(), PENDING);
    slow.submit();
    assert_eq!(after.wait(), FAILED);
}

#[test]
fn a_skipped_task_releases_its_captures_but_drops_no_results() {
    unsafe extern "C" fn drop_results(_: *mut c_void) {
        unreachable!("there are no results");
    }
    unsafe extern "C" fn run(_: *mut Token, _: *mut c_void) -> i32 {
        unreachable!("a dependency has failed");
    }
    unsafe extern "C" fn skip(frame: *mut c_void) {
        // SAFETY: it is the capture.
        unsafe { drop(Arc::from_raw(frame.cast::<*const ()>().read())) };
    }
    static TYPE: Type = Type {
        run: Some(run),
        skip: Some(skip),
        drop: Some(drop_results),
        frame_size: 8,
        frame_align: 8,
        name: ptr::null(),
    };
    let session = session(1);
    let (it, left) = counted();
    let failed = Tok::open();
    failed.fail(c"f.mlir:1:1", c"boom");
    failed.submit();
    let skipped = Tok::of_type(Some(&TYPE));
    // SAFETY: it is the capture.
    unsafe { skipped.frame::<*const ()>().write(Arc::into_raw(it.clone())) };
    skipped.depend(&failed).submit();
    assert_eq!(skipped.wait(), FAILED);
    drop((skipped, failed));
    drop(session);
    assert_eq!(left(&it), 0);
}

#[test]
fn a_task_that_always_runs_does_so_after_a_failure_and_has_the_error() {
    let _session = session(1);
    let ran = Arc::new(AtomicUsize::new(0));
    let note = ran.clone();
    let failed = Tok::open();
    let freeing = open_task(move |this| {
        note.fetch_add(1, Ordering::Relaxed);
        this.fail(c"f.mlir:2:1", c"another one");
        DONE
    });
    // SAFETY: the task is new.
    unsafe { asyncopt_rt_run_always(freeing.0) };
    freeing.depend(&failed).submit();
    failed.fail(c"f.mlir:1:1", c"boom");
    failed.submit();
    assert_eq!(freeing.wait(), FAILED);
    assert_eq!(freeing.error().unwrap(), "f.mlir:1:1: boom");
    assert_eq!(ran.load(Ordering::Relaxed), 1);
}

#[test]
fn a_token_has_results_if_its_body_has_run_and_not_failed() {
    let _session = session(1);
    // SAFETY: the tokens are alive.
    let has_results = |token: &Tok| unsafe { asyncopt_rt_has_results(token.0) };
    let promise = Tok::open();
    let skipped = task(&[&promise], |_| unreachable!());
    let delayed = task(&[], {
        let promise = promise.clone();
        move |this| {
            this.depend(&promise);
            DONE
        }
    });
    assert_eq!((has_results(&promise), has_results(&delayed)), (0, 0));
    promise.fail(c"f.mlir:1:1", c"boom");
    promise.submit();
    for (token, expected) in [(&promise, 0), (&skipped, 0), (&delayed, 1)] {
        assert_eq!((token.wait(), has_results(token)), (FAILED, expected));
    }
    let good = task(&[], |_| DONE);
    assert_eq!((good.wait(), has_results(&good)), (COMPLETE, 1));
}

#[test]
fn results_are_dropped_if_only_a_trailing_token_failed() {
    static DROPPED: AtomicI64 = AtomicI64::new(0);
    unsafe extern "C" fn drop_results(_: *mut c_void) {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
    unsafe extern "C" fn run(this: *mut Token, frame: *mut c_void) -> i32 {
        // SAFETY: the frame has the token.
        unsafe { asyncopt_rt_depend(this, frame.cast::<*mut Token>().read()) };
        DONE
    }
    static TYPE: Type = Type {
        run: Some(run),
        skip: None,
        drop: Some(drop_results),
        frame_size: 8,
        frame_align: 8,
        name: ptr::null(),
    };
    let session = session(1);
    let inner = Tok::open();
    let outer = Tok::of_type(Some(&TYPE));
    // SAFETY: the frame is for it.
    unsafe { outer.frame::<*mut Token>().write(inner.0) };
    outer.submit();
    inner.fail(c"f.mlir:1:1", c"boom");
    inner.submit();
    assert_eq!(outer.wait(), FAILED);
    drop((outer, inner));
    drop(session);
    assert_eq!(DROPPED.load(Ordering::Relaxed), 1);
}

#[test]
fn errors_that_nobody_awaits_are_counted() {
    let before = census().unobserved_errors;
    let fail = |awaited: bool| {
        let session = session(1);
        let task = task(&[], |this| {
            this.fail(c"f.mlir:1:1", c"boom");
            DONE
        });
        let after = common::task(&[&task], |_| DONE);
        if awaited {
            after.wait();
        }
        drop((task, after));
        drop(session);
        census().unobserved_errors
    };
    assert_eq!(fail(true) - before, 0);
    assert_eq!(fail(false) - before, 1);
}

#[test]
fn the_number_of_workers_can_be_set_until_they_start() {
    let session = session(3);
    assert_eq!(asyncopt_rt_num_threads(), 3);
    task(&[], |_| DONE).wait();
    assert_eq!(asyncopt_rt_set_num_threads(2), 1);
    assert_eq!(asyncopt_rt_num_threads(), 3);
    drop(session);
    let _session = common::session(2);
    assert_eq!(asyncopt_rt_num_threads(), 2);
}

#[test]
fn workers_that_sleep_are_woken() {
    let _session = session(2);
    for _ in 0..20 {
        let (done, ran) = mpsc::channel();
        // Without help by this thread.
        let _task = task(&[], move |_| {
            done.send(()).unwrap();
            DONE
        });
        ran.recv_timeout(Duration::from_secs(20)).unwrap();
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_trace_has_each_task() {
    let path = std::env::temp_dir().join(format!("asyncopt-trace-{}.json", std::process::id()));
    let session = session(2);
    let text = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: it is a string.
    unsafe { asyncopt_rt_trace(text.as_ptr()) };
    let tasks: Vec<_> = (0..10).map(|_| task(&[], |_| DONE)).collect();
    for task in &tasks {
        task.wait();
    }
    drop((tasks, session));
    let trace = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(
        trace.matches("\"name\":\"closure\",\"ts\":").count(),
        10,
        "{trace}"
    );
    assert!(trace.contains("\"thread_name\""), "{trace}");
    assert!(
        trace.starts_with('{') && trace.ends_with("]}\n") && !trace.contains(",\n]"),
        "{trace}"
    );
}

unsafe extern "C" fn add_one(
    context: *mut c_void,
    kernel: *const c_char,
    sizes: *const LaunchSizes,
    arguments: *const *mut c_void,
    count: i64,
    message: *mut c_char,
    capacity: i64,
) -> i32 {
    // SAFETY: the test passes these.
    unsafe {
        assert_eq!(std::ffi::CStr::from_ptr(kernel), c"m::add_one");
        assert_eq!(((*sizes).grid, (*sizes).block, count), ([2, 1, 1], [4, 1, 1], 1));
        *context.cast::<i32>() += 1;
        let memory = (*arguments).cast::<*mut i32>().read();
        if memory.is_null() {
            let text = c"no memory".to_bytes_with_nul();
            assert!(text.len() as u64 <= capacity.unsigned_abs());
            ptr::copy_nonoverlapping(text.as_ptr(), message.cast(), text.len());
            return 1;
        }
        (0..8).for_each(|i| *memory.add(i) += 1);
    }
    0
}

#[test]
fn the_host_device_allocates_transfers_and_launches() {
    let _session = session(1);
    let mut calls = 0i32;
    let sizes = LaunchSizes {
        grid: [2, 1, 1],
        block: [4, 1, 1],
        cluster: [1; 3],
        workgroup_bytes: 0,
    };
    let here = c"f.mlir:4:2".as_ptr();
    // SAFETY: all of it is as the header says.
    unsafe {
        let token = Tok::open();
        let launch = |memory: *mut c_void| {
            let argument = (&raw const memory).cast_mut().cast::<c_void>();
            let name = c"m::add_one".as_ptr();
            asyncopt_rt_device_launch(token.0, 0, name, &raw const sizes, &raw const argument, 1, here)
        };
        let memory = asyncopt_rt_device_alloc(token.0, 0, 32, here);
        assert_eq!((memory.addr() % 256, census().device_allocations), (0, 1));
        let mut host = [1i32, 2, 3, 4, 5, 6, 7, 8];
        let bytes = host.as_mut_ptr().cast::<c_void>();
        assert_eq!(
            asyncopt_rt_device_transfer(token.0, 0, memory, bytes, 32, here),
            0
        );
        asyncopt_rt_set_launcher(Some(add_one), (&raw mut calls).cast());
        assert_eq!(launch(memory), 0);
        assert_eq!(
            asyncopt_rt_device_transfer(token.0, 0, bytes, memory, 32, here),
            0
        );
        assert_eq!(host, [2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(asyncopt_rt_device_dealloc(token.0, 0, memory, here), 0);
        assert_eq!(token.error(), None);
        assert_eq!(launch(ptr::null_mut()), 1);
        assert_eq!(token.error().unwrap(), "f.mlir:4:2: no memory");
        asyncopt_rt_set_launcher(None, ptr::null_mut());
        token.submit();
        assert_eq!(calls, 2);
    }
}

#[test]
fn device_operations_that_fail_fail_their_task() {
    let _session = session(1);
    let here = c"f.mlir:4:2".as_ptr();
    // SAFETY: all of it is as the header says.
    unsafe {
        let token = Tok::open();
        assert!(asyncopt_rt_device_alloc(token.0, 0, i64::MAX, here).is_null());
        assert_eq!(
            token.error().unwrap(),
            "f.mlir:4:2: can't allocate 9223372036854775807 bytes"
        );
        token.submit();
        let token = Tok::open();
        let sizes = LaunchSizes {
            grid: [1; 3],
            block: [1; 3],
            cluster: [1; 3],
            workgroup_bytes: 0,
        };
        let name = c"m::k".as_ptr();
        let status = asyncopt_rt_device_launch(token.0, 0, name, &raw const sizes, ptr::null(), 0, here);
        assert_eq!(status, 1);
        let message = "nothing runs the kernel m::k: register a launcher with asyncopt_rt_set_launcher";
        assert_eq!(token.error().unwrap(), format!("f.mlir:4:2: {message}"));
        token.submit();
        let token = Tok::open();
        let mut other = 0i32;
        let pointer = (&raw mut other).cast();
        assert_eq!(asyncopt_rt_host_dealloc(token.0, 0, pointer, here), 1);
        assert!(token.error().unwrap().contains("is no allocation of the device"));
        token.submit();
    }
}

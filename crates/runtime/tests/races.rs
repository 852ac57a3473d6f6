//! What orders operations of the simulated device, path by path: with it there is no race, and without it there is one.
//!
//! Each test has a buffer of its own, which one task fills and another one fills or frees.
#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "all calls are as the header says"
)]

mod common;

use std::{
    ffi::{CStr, CString, c_void},
    sync::{Mutex, Once, mpsc},
    time::Duration,
};

use asyncopt_rt::{
    device::{self, Access, LaunchSizes},
    interface::*,
};
use common::*;

/// A session with the simulated device. Which operation comes first decides the program, so that tests know both orders.
fn simulated() -> Session {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| device::select("sim:early").expect("nothing was selected before"));
    session(2)
}

/// 16 bytes of the device.
#[derive(Clone, Copy)]
struct Buffer(*mut c_void);

// SAFETY: an address.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Allocates it outside of tasks.
    fn new() -> Self {
        Self(unsafe { asyncopt_rt_device_alloc(std::ptr::null_mut(), 0, 16, c"alloc".as_ptr()) })
    }

    /// Fills it, at a place that no other test has: findings are told once for each two places.
    fn fill(self, place: &CStr) {
        let element = 1u8;
        let element = (&raw const element).cast();
        let status = unsafe {
            asyncopt_rt_device_memset(std::ptr::null_mut(), 0, self.0, element, 1, 16, place.as_ptr())
        };
        assert_eq!(status, 0);
    }

    /// A task that fills it.
    fn filling(self, after: &[&Tok], place: &'static CStr) -> Tok {
        task(after, move |_| {
            self.fill(place);
            DONE
        })
    }

    fn free(self, place: &CStr) {
        let status = unsafe { asyncopt_rt_device_dealloc(std::ptr::null_mut(), 0, self.0, place.as_ptr()) };
        assert_eq!(status, 0);
    }
}

/// The number of findings while something is done.
fn found(what: impl FnOnce()) -> u64 {
    let before = device::findings();
    what();
    device::findings() - before
}

/// Waits for a task in a way that tells nobody what it knows.
fn let_it_end(of: impl FnOnce(mpsc::Sender<()>) -> Tok) -> Tok {
    let (done, end) = mpsc::channel();
    let token = of(done);
    end.recv().expect("the task ends");
    while unsafe { asyncopt_rt_has_results(token.0) } == 0 {
        std::thread::yield_now();
    }
    token
}

/// A task that has filled the buffer and is complete, which nobody has been told.
fn filled(buffer: Buffer, place: &'static CStr) -> Tok {
    let_it_end(|done| {
        task(&[], move |_| {
            buffer.fill(place);
            let _ = done.send(());
            DONE
        })
    })
}

#[test]
fn two_tasks_race_that_nothing_orders() {
    let _session = simulated();
    let buffer = Buffer::new();
    let found = found(|| {
        let first = filled(buffer, c"race:1");
        let second = buffer.filling(&[], c"race:2");
        // Both are complete before anybody waits.
        join(&[&first, &second]).wait();
    });
    assert_eq!(found, 1);
    buffer.free(c"race:3");
}

#[test]
fn code_outside_of_tasks_races_with_a_task_that_it_has_not_awaited() {
    let _session = simulated();
    let buffer = Buffer::new();
    let first = filled(buffer, c"outside:1");
    assert_eq!(found(|| buffer.fill(c"outside:2")), 1);
    first.wait();
    assert_eq!(found(|| buffer.free(c"outside:3")), 0);
}

#[test]
fn memory_is_freed_in_use_if_nothing_orders_the_two() {
    let _session = simulated();
    let buffer = Buffer::new();
    let first = filled(buffer, c"free:1");
    assert_eq!(found(|| buffer.free(c"free:2")), 1);
    first.wait();
}

#[test]
fn a_dependency_orders() {
    let _session = simulated();
    let buffer = Buffer::new();
    let found = found(|| {
        // It is not complete when the other one is made.
        let start = Tok::open();
        let first = buffer.filling(&[&start], c"dependency:1");
        let second = buffer.filling(&[&first], c"dependency:2");
        start.submit();
        second.wait();
        buffer.free(c"dependency:3");
    });
    assert_eq!(found, 0);
}

#[test]
fn a_dependency_on_a_complete_token_orders() {
    let _session = simulated();
    let buffer = Buffer::new();
    let found = found(|| {
        let first = filled(buffer, c"complete:1");
        buffer.filling(&[&first], c"complete:2").wait();
        buffer.free(c"complete:3");
    });
    assert_eq!(found, 0);
}

#[test]
fn an_await_orders() {
    let _session = simulated();
    let buffer = Buffer::new();
    let found = found(|| {
        buffer.filling(&[], c"await:1").wait();
        buffer.free(c"await:2");
    });
    assert_eq!(found, 0);
}

#[test]
fn an_await_in_a_task_orders_and_tells_whoever_awaits_that_task() {
    let _session = simulated();
    let buffer = Buffer::new();
    let found = found(|| {
        let first = buffer.filling(&[], c"await in task:1");
        let second = task(&[], move |_| {
            first.wait();
            buffer.fill(c"await in task:2");
            DONE
        });
        second.wait();
        buffer.free(c"await in task:3");
    });
    assert_eq!(found, 0);
}

#[test]
fn the_state_of_a_complete_token_orders() {
    let _session = simulated();
    let buffer = Buffer::new();
    let found = found(|| {
        let first = filled(buffer, c"state:1");
        assert_eq!(first.state(), COMPLETE);
        buffer.free(c"state:2");
    });
    assert_eq!(found, 0);
}

#[test]
fn a_join_orders() {
    let _session = simulated();
    let (one, other) = (Buffer::new(), Buffer::new());
    let found = found(|| {
        let (first, second) = (filled(one, c"join:1"), other.filling(&[], c"join:2"));
        let all = join(&[&first, &second]);
        let last = task(&[&all], move |_| {
            one.free(c"join:3");
            other.free(c"join:4");
            DONE
        });
        last.wait();
    });
    assert_eq!(found, 0);
}

#[test]
fn a_trailing_token_orders() {
    let _session = simulated();
    let buffer = Buffer::new();
    let found = found(|| {
        let outer = task(&[], move |this| {
            this.depend(&buffer.filling(&[], c"trailing:1"));
            DONE
        });
        outer.wait();
        buffer.free(c"trailing:2");
    });
    assert_eq!(found, 0);
}

#[test]
fn a_task_does_not_know_what_it_leaves_to_its_end() {
    let _session = simulated();
    let buffer = Buffer::new();
    let found = found(|| {
        let outer = task(&[], move |this| {
            let inner = filled(buffer, c"not yet:1");
            this.depend(&inner);
            buffer.fill(c"not yet:2");
            DONE
        });
        outer.wait();
        buffer.free(c"not yet:3");
    });
    assert_eq!(found, 1);
}

#[test]
fn what_comes_before_a_task_is_made_orders() {
    let _session = simulated();
    let buffer = Buffer::new();
    let found = found(|| {
        let outer = task(&[], move |this| {
            buffer.fill(c"made:1");
            this.depend(&buffer.filling(&[], c"made:2"));
            DONE
        });
        outer.wait();
        buffer.free(c"made:3");
    });
    assert_eq!(found, 0);
}

#[test]
fn what_comes_after_a_task_is_made_does_not_order() {
    let _session = simulated();
    let buffer = Buffer::new();
    let found = found(|| {
        let outer = task(&[], move |this| {
            let inner = filled(buffer, c"made before:1");
            buffer.fill(c"made before:2");
            this.depend(&inner);
            DONE
        });
        outer.wait();
        buffer.free(c"made before:3");
    });
    assert_eq!(found, 1);
}

#[test]
fn a_coroutine_goes_on_with_what_it_knew_and_what_it_waited_for() {
    let _session = simulated();
    let (one, other) = (Buffer::new(), Buffer::new());
    let found = found(|| {
        let start = Tok::open();
        let first = one.filling(&[&start], c"coroutine:1");
        let outer = task(&[], {
            let first = first.clone();
            move |this| {
                other.fill(c"coroutine:2");
                let this = this.clone();
                first.then(move || {
                    one.fill(c"coroutine:3");
                    other.fill(c"coroutine:4");
                    this.complete();
                });
                SUSPENDED
            }
        });
        start.submit();
        outer.wait();
        one.free(c"coroutine:5");
        other.free(c"coroutine:6");
    });
    assert_eq!(found, 0);
}

#[test]
fn who_keeps_a_promise_tells_what_it_knows() {
    let _session = simulated();
    let buffer = Buffer::new();
    let found = found(|| {
        let promise = Tok::open();
        let kept = promise.clone();
        let giver = task(&[], move |_| {
            buffer.fill(c"promise:1");
            kept.submit();
            DONE
        });
        promise.wait();
        buffer.free(c"promise:2");
        giver.wait();
    });
    assert_eq!(found, 0);
}

#[test]
fn code_outside_of_tasks_knows_what_it_has_done_after_it_has_run_tasks() {
    let _session = simulated();
    let buffer = Buffer::new();
    let found = found(|| {
        let start = Tok::open();
        // Enough that whoever awaits them runs some.
        let tasks: Vec<Tok> = (0..64)
            .map(|_| {
                task(&[&start], |_| {
                    std::thread::sleep(Duration::from_millis(1));
                    DONE
                })
            })
            .collect();
        start.submit();
        buffer.fill(c"ran:1");
        assert!(tasks.iter().all(|task| task.wait() == COMPLETE));
        buffer.free(c"ran:2");
    });
    assert_eq!(found, 0);
}

/// Where a kernel writes, and where it reads.
static KERNEL: Mutex<Option<(usize, usize)>> = Mutex::new(None);

#[test]
fn a_kernel_races_by_what_its_launcher_says_it_accesses() {
    unsafe extern "C" fn launcher(
        _: *mut c_void,
        _: *const std::ffi::c_char,
        _: *const LaunchSizes,
        _: *const *mut c_void,
        _: i64,
        _: *mut std::ffi::c_char,
        _: i64,
    ) -> i32 {
        // The launch is the one that collides, and not what came last.
        let other = Buffer::new();
        other.fill(c"kernel:other");
        other.free(c"kernel:other");
        if let Some((write, read)) = *KERNEL.lock().unwrap() {
            device::note_access(Access::Write, write as u64..write as u64 + 4);
            device::note_access(Access::Read, read as u64..read as u64 + 4);
        }
        0
    }
    let _session = simulated();
    let (written, read) = (Buffer::new(), Buffer::new());
    *KERNEL.lock().unwrap() = Some((written.0.addr(), read.0.addr()));
    unsafe { asyncopt_rt_set_launcher(Some(launcher), std::ptr::null_mut()) };
    let launch = |place: &'static CStr| {
        let_it_end(|done| {
            task(&[], move |_| {
                let sizes = LaunchSizes {
                    grid: [1; 3],
                    block: [1; 3],
                    cluster: [1; 3],
                    workgroup_bytes: 0,
                };
                let null = std::ptr::null_mut();
                let (name, args) = (c"m::k".as_ptr(), std::ptr::null());
                let status = unsafe {
                    asyncopt_rt_device_launch(null, 0, name, &raw const sizes, args, 0, place.as_ptr())
                };
                assert_eq!(status, 0);
                let _ = done.send(());
                DONE
            })
        })
    };
    let mut first = None;
    assert_eq!(found(|| first = Some(launch(c"kernel:1"))), 0);
    // Both write, and both read.
    assert_eq!(found(|| drop(launch(c"kernel:2"))), 1);
    assert_eq!(found(|| read.fill(c"kernel:3")), 2);
    unsafe { asyncopt_rt_set_launcher(None, std::ptr::null_mut()) };
    *KERNEL.lock().unwrap() = None;
    written.free(c"kernel:4");
    read.free(c"kernel:5");
}

#[test]
fn memory_that_is_allocated_again_is_new() {
    let _session = simulated();
    let found = found(|| {
        for _ in 0..100 {
            let buffer = Buffer::new();
            buffer.filling(&[], c"again:1").wait();
            buffer.free(c"again:2");
        }
    });
    assert_eq!(found, 0);
}

#[test]
fn a_token_at_the_address_of_an_old_one_knows_nothing_of_it() {
    let _session = simulated();
    for round in 0..50 {
        let place = |which| CString::new(format!("address:{round}:{which}")).unwrap();
        let (first, second) = (place(1), place(2));
        let buffer = Buffer::new();
        let found = found(|| {
            drop(let_it_end(|done| {
                task(&[], move |_| {
                    buffer.fill(&first);
                    let _ = done.send(());
                    DONE
                })
            }));
            let filling = task(&[], move |_| {
                buffer.fill(&second);
                DONE
            });
            filling.wait();
        });
        assert_eq!(found, 1);
        buffer.free(c"address:free");
    }
}

#[test]
fn memory_of_the_host_is_nobodys_business() {
    fn copy(place: &'static CStr, to: *mut c_void, from: *const c_void) {
        let null = std::ptr::null_mut();
        let status = unsafe { asyncopt_rt_device_transfer(null, 0, to, from, 16, place.as_ptr()) };
        assert_eq!(status, 0);
    }
    let _session = simulated();
    let mut bytes = Box::new([0u8; 16]);
    let (host, buffer) = (Buffer(bytes.as_mut_ptr().cast()), Buffer::new());
    let copying = |place: &'static CStr| {
        let_it_end(|done| {
            task(&[], move |_| {
                let (to, from) = (host, buffer);
                copy(place, to.0, from.0);
                let _ = done.send(());
                DONE
            })
        })
    };
    let mut tasks = vec![];
    assert_eq!(
        found(|| tasks.extend([copying(c"host:1"), copying(c"host:2")])),
        0
    );
    assert!(tasks.iter().all(|task| task.wait() == COMPLETE));
    buffer.free(c"host:3");
}

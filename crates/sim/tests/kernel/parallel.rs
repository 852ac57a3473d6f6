//! The same for many kernels, on all cores.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Applies `f` to each item, on as many threads as there are cores, and returns what it makes of them in their order. Each thread has a
/// state of its own: what `init` makes there. A panic of `f` is one of this function.
pub fn map<I: Sync, S, T: Send>(
    items: &[I],
    init: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, &I) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    let work = || {
        let mut state = init();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { break };
            let result = f(&mut state, item);
            results
                .lock()
                .expect("no thread panics while it pushes")
                .push((index, result));
        }
    };
    let cores = thread::available_parallelism().map_or(1, Into::into);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            if let Err(panic) = worker.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
    let mut results = results.into_inner().expect("no thread panics while it pushes");
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

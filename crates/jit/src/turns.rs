//! Who goes next: whoever has waited longest. (A lock may be had again and again by the one who has just left it.)

use std::sync::{Condvar, Mutex, PoisonError};

/// Turns that are taken one at a time.
#[derive(Default)]
pub struct Turns {
    /// The next number that is given out, and the one whose turn it is.
    numbers: Mutex<(u64, u64)>,
    over: Condvar,
}

/// The end of a turn, also by a panic.
struct Over<'a>(&'a Turns);

impl Turns {
    /// Does something when it is the caller's turn.
    pub fn take<T>(&self, what: impl FnOnce() -> T) -> T {
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = numbers.0;
        numbers.0 += 1;
        while numbers.1 != mine {
            numbers = self.over.wait(numbers).unwrap_or_else(PoisonError::into_inner);
        }
        drop(numbers);
        let _over = Over(self);
        what()
    }
}

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.numbers.lock().unwrap_or_else(PoisonError::into_inner).1 += 1;
        self.0.over.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_taken_in_the_order_in_which_they_are_asked_for() {
        let (turns, order) = (Turns::default(), Mutex::new(Vec::new()));
        let asked = || turns.numbers.lock().unwrap().0;
        std::thread::scope(|scope| {
            turns.take(|| {
                for this in 0..4 {
                    let before = asked();
                    let (turns, order) = (&turns, &order);
                    scope.spawn(move || turns.take(|| order.lock().unwrap().push(before)));
                    while asked() == before {
                        std::thread::yield_now();
                    }
                    assert_eq!(before, this + 1);
                }
            });
        });
        assert_eq!(order.into_inner().unwrap(), [1, 2, 3, 4]);
    }
}

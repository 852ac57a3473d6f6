//! Smaller kernels that may fail alike.

use super::Kernel;
use super::stmt::{Bound, Carry, Condition, For, Issue, Lane, SLOTS, Stmt, View};
use proptest::strategy::ValueTree;

/// Statements with one thing less, the largest things first.
fn smaller(stmts: &[Stmt]) -> Vec<Vec<Stmt>> {
    let mut all = Vec::new();
    let mut size = stmts.len();
    while size > 0 {
        for start in (0..stmts.len()).step_by(size) {
            let end = (start + size).min(stmts.len());
            all.push([&stmts[..start], &stmts[end..]].concat());
        }
        size /= 2;
    }
    for (at, stmt) in stmts.iter().enumerate() {
        let replaced = |by: &[Stmt]| [&stmts[..at], by, &stmts[at + 1..]].concat();
        all.extend(stmt.bodies().iter().map(|body| replaced(body)));
        all.extend(simpler(stmt).into_iter().map(|other| replaced(&[other])));
    }
    all
}

/// A statement with something simpler in it.
fn simpler(stmt: &Stmt) -> Vec<Stmt> {
    let mut all = Vec::new();
    let mut change = |f: &dyn Fn(&mut Stmt) -> bool| {
        let mut other = stmt.clone();
        if f(&mut other) {
            all.push(other);
        }
    };
    for (i, body) in stmt.bodies().iter().enumerate() {
        for less in smaller(body) {
            change(&|other| {
                other.bodies_mut()[i].clone_from(&less);
                true
            });
        }
    }
    change(&|other| {
        other
            .carry_mut()
            .is_some_and(|carry| std::mem::take(carry) != Carry::default())
    });
    for slot in 0..SLOTS {
        change(&|other| {
            let carry = other.carry_mut();
            carry.is_some_and(|carry| std::mem::take(&mut carry.slots[slot]))
        });
    }
    change(&|other| {
        other
            .carry_mut()
            .is_some_and(|carry| std::mem::take(&mut carry.rows))
    });
    change(&|other| {
        other
            .carry_mut()
            .is_some_and(|carry| std::mem::take(&mut carry.flags))
    });
    for constant in [false, true] {
        let constant = Condition::Constant(constant);
        change(&|other| {
            let condition = other.condition_mut();
            condition.is_some_and(|condition| {
                !matches!(condition, Condition::Constant(_))
                    && std::mem::replace(condition, constant) != constant
            })
        });
    }
    change(&|other| {
        other.bound_mut().is_some_and(|bound| match *bound {
            Bound::Constant(0) => false,
            Bound::Constant(n) => {
                *bound = Bound::Constant(n - 1);
                true
            }
            Bound::Product(n) => {
                *bound = Bound::Constant(n);
                true
            }
            Bound::Drawn(_) | Bound::Counted | Bound::Iteration => {
                *bound = Bound::Constant(2);
                true
            }
        })
    });
    change(&|other| plainer(other));
    all
}

/// Takes the plainest form of an operation; false if it had that before.
fn plainer(stmt: &mut Stmt) -> bool {
    match stmt {
        Stmt::Fill(_, issue, view) if (*issue, *view) != (Issue::Awaited, View::Plain) => {
            (*issue, *view) = (Issue::Awaited, View::Plain);
            true
        }
        Stmt::Made(global, _) => std::mem::take(global),
        Stmt::Use(slots, joined, view, lane) => {
            let plain = (slots.len(), *joined, *view, *lane) == (1, false, View::Plain, Lane::Own);
            slots.truncate(1);
            (*joined, *view, *lane) = (false, View::Plain, Lane::Own);
            !plain
        }
        Stmt::For(For {
            ty,
            lower,
            step,
            unsigned,
            triangular,
            first,
            ..
        }) => {
            let plain = ("index", 0, 1, false, false);
            let form = (*ty, *lower, *step, *unsigned, *triangular);
            if form == plain {
                return std::mem::take(first);
            }
            (*ty, *lower, *step, *unsigned, *triangular) = plain;
            true
        }
        Stmt::Switch(.., arms) if arms.len() > 1 => {
            arms.remove(0);
            true
        }
        _ => false,
    }
}

/// A kernel that may become smaller.
#[derive(Debug)]
pub struct Tree {
    /// The smallest one that is known to fail.
    base: Kernel,
    /// What may come next, the first one last.
    candidates: Vec<Vec<Stmt>>,
    current: Kernel,
}

impl Tree {
    pub fn new(kernel: Kernel) -> Self {
        Self {
            candidates: Vec::new(),
            current: kernel.clone(),
            base: kernel,
        }
    }
}

impl ValueTree for Tree {
    type Value = Kernel;

    fn current(&self) -> Kernel {
        self.current.clone()
    }

    fn simplify(&mut self) -> bool {
        self.base = self.current.clone();
        self.candidates = smaller(&self.base.stmts);
        self.candidates.reverse();
        self.complicate()
    }

    fn complicate(&mut self) -> bool {
        let next = self.candidates.pop();
        let found = next.is_some();
        self.current = Kernel {
            stmts: next.unwrap_or_else(|| self.base.stmts.clone()),
            profile: self.base.profile,
        };
        found
    }
}

//! The dependents of a token: a list that grows at its head, without locks, until completion closes it.

use std::ptr::{self, NonNull};

use super::Token;
use crate::sync::{AtomicPtr, Ordering, thread::Thread};

pub(super) struct Dependents(AtomicPtr<Link>);

/// An element of the list.
pub(super) struct Link {
    /// Written by who owns the link, before it is in the list, and by who has closed the list.
    next: AtomicPtr<Link>,
    target: Target,
}

enum Target {
    /// The token that this link is a part of.
    Inside(NonNull<Token>),
    /// Another token.
    Token(NonNull<Token>),
    /// A thread that waits.
    Thread(Thread),
}

/// The head of a list that is closed.
fn closed() -> *mut Link {
    ptr::without_provenance_mut(1)
}

impl Dependents {
    pub(super) fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    pub(super) fn are_closed(&self) -> bool {
        self.0.load(Ordering::Acquire) == closed()
    }

    /// Adds to the list. False if it is closed.
    ///
    /// # Safety
    ///
    /// The link is in no list, and valid until this one is closed; one that was allocated is the list's own, whatever this returns.
    pub(super) unsafe fn push(&self, link: NonNull<Link>) -> bool {
        let mut head = self.0.load(Ordering::Acquire);
        loop {
            if head == closed() {
                // SAFETY: no list has taken it.
                unsafe { Link::free(link.as_ptr()) };
                return false;
            }
            // SAFETY: valid, as the caller promises.
            unsafe { link.as_ref() }.next.store(head, Ordering::Relaxed);
            let pushed =
                self.0
                    .compare_exchange_weak(head, link.as_ptr(), Ordering::Release, Ordering::Acquire);
            match pushed {
                Ok(_) => return true,
                Err(now) => head = now,
            }
        }
    }

    /// Closes the list. Calls `complete` with its tokens, oldest first, whose links are gone by then, and wakes its threads.
    pub(super) fn close(&self, mut complete: impl FnMut(NonNull<Token>)) {
        let mut link = Link::reverse(self.0.swap(closed(), Ordering::AcqRel));
        while !link.is_null() {
            // SAFETY: links in a list are valid until it is closed, and those inside of tokens until `complete` has been called.
            let next = unsafe { &*link }.next.load(Ordering::Relaxed);
            // SAFETY: as above.
            let token = match unsafe { &(*link).target } {
                Target::Inside(token) | Target::Token(token) => Some(*token),
                Target::Thread(thread) => {
                    thread.unpark();
                    None
                }
            };
            // SAFETY: it is no longer in a list.
            unsafe { Link::free(link) };
            link = next;
            if let Some(token) = token {
                complete(token);
            }
        }
    }
}

impl Link {
    /// The link that is a part of `token`.
    pub(super) fn inside(token: NonNull<Token>) -> Self {
        Self {
            next: AtomicPtr::new(ptr::null_mut()),
            target: Target::Inside(token),
        }
    }

    /// Allocates another one for a token.
    pub(super) fn of_token(token: NonNull<Token>) -> NonNull<Self> {
        Self::allocate(Target::Token(token))
    }

    /// Allocates one for a thread.
    pub(super) fn of_thread(thread: Thread) -> NonNull<Self> {
        Self::allocate(Target::Thread(thread))
    }

    fn allocate(target: Target) -> NonNull<Self> {
        NonNull::from(Box::leak(Box::new(Self {
            next: AtomicPtr::new(ptr::null_mut()),
            target,
        })))
    }

    /// Frees a link that was allocated.
    ///
    /// # Safety
    ///
    /// The link is valid, and nobody uses it afterwards.
    unsafe fn free(link: *mut Self) {
        // SAFETY: valid, as the caller promises.
        if !matches!(unsafe { &(*link).target }, Target::Inside(_)) {
            // SAFETY: the others are allocated as boxes.
            drop(unsafe { Box::from_raw(link) });
        }
    }

    /// A list in the other direction, oldest first.
    fn reverse(mut list: *mut Self) -> *mut Self {
        let mut reversed = ptr::null_mut();
        while !list.is_null() {
            // SAFETY: links of a list that was closed are valid, and the closer's own.
            let next = unsafe { &*list }.next.load(Ordering::Relaxed);
            // SAFETY: as above.
            unsafe { &*list }.next.store(reversed, Ordering::Relaxed);
            reversed = list;
            list = next;
        }
        reversed
    }
}

//! Handles to MLIR's IR, made for rewriting it.
//!
//! [`Op`], [`Value`], [`Block`] and [`Region`] are copyable handles, as the pointers in C++ MLIR are, and bound to the
//! lifetime `'c` of their context. Attributes, types and locations are melior's.
//!
//! MLIR owns the IR: an operation lives until it, or what it is nested in, is erased. As in C++, a handle must not be
//! used after that, not even to be compared: something else may be at its address by then. [`Op::erase`] and
//! [`Block::erase`] check that nothing in the IR still refers to what goes, but can't see handles. Melior's own types (a
//! second lifetime for the owner, exclusive references for changes) cannot rule this out either, and make rewrites that
//! hold several operations at once impossible to write.
//!
//! In builds with `debug_assertions`, a handle to what a [pass](crate::pass) has erased panics when that pass uses it, and so
//! does erasing a block while an operation elsewhere uses a value in it. That is exact for all that is erased through this
//! crate. It does not see
//!
//! - what upstream's code erases: patterns ([`nvgpu::lower_copies`](crate::nvgpu::lower_copies),
//!   [`vectors::expand`](crate::vectors::expand)) and the passes that run between ours;
//! - what is erased while no pass runs;
//! - handles that lie in a collection, are compared with others and found to differ, or became one of melior's types.

mod block;
mod builder;
pub(crate) mod erased;
mod handle;
mod op;
mod place;
mod text;
mod value;

pub use builder::{Mapping, OpBuilder};
pub use handle::{Block, Op, Region, Value};
pub use place::Walk;
pub use text::Text;
pub use value::{Definition, Use};

use melior::{
    Context, ContextRef,
    ir::{
        Attribute, Type,
        attribute::{BoolAttribute, IntegerAttribute, StringAttribute},
    },
};
#[allow(clippy::wildcard_imports)] // Half of the C API, and every name says where it is from.
use mlir_sys::*;
use std::{
    cell::Cell,
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

/// The context that `raw` points at.
///
/// melior's way from a `ContextRef` to a `&Context` points at the `ContextRef` itself, and dangles as soon as that goes.
/// So the `ContextRef` is made once for each context here, and never freed: a pointer's worth of memory.
///
/// # Safety
///
/// `raw` must be valid for `'c`.
unsafe fn context_of<'c>(raw: MlirContext) -> &'c Context {
    #[derive(Clone, Copy)]
    struct Wrapper(&'static ContextRef<'static>);
    // SAFETY: the wrapper is only ever read, and what it points at may be used from any thread, as MLIR's contexts may.
    unsafe impl Send for Wrapper {}
    static WRAPPERS: Mutex<BTreeMap<usize, Wrapper>> = Mutex::new(BTreeMap::new());
    thread_local! {
        /// The last that this thread asked for: it works in one context for long, and need not wait for others then.
        static LAST: Cell<Option<(usize, Wrapper)>> = const { Cell::new(None) };
    }
    let address = raw.ptr.addr();
    // A wrapper holds an address and nothing else, so it is right for a later context at that address, too.
    let last = LAST.get().filter(|(known, _)| *known == address);
    let (_, wrapper) = last.unwrap_or_else(|| {
        let mut wrappers = WRAPPERS.lock().unwrap_or_else(PoisonError::into_inner);
        let wrapper = *wrappers
            .entry(address)
            // SAFETY: not null, as the caller promises.
            .or_insert_with(|| Wrapper(Box::leak(Box::new(unsafe { ContextRef::from_raw(raw) }))));
        LAST.set(Some((address, wrapper)));
        (address, wrapper)
    });
    // SAFETY: the wrapper lives forever, and the context for `'c`.
    unsafe { wrapper.0.to_ref() }
}

/// An integer attribute of a known width.
#[must_use]
pub fn int_attr(context: &Context, bits: u32, value: i64) -> Attribute<'_> {
    IntegerAttribute::new(melior::ir::r#type::IntegerType::new(context, bits).into(), value).into()
}

/// An attribute of type `index`.
#[must_use]
pub fn index_attr(context: &Context, value: i64) -> Attribute<'_> {
    IntegerAttribute::new(Type::index(context), value).into()
}

/// A string attribute.
#[must_use]
pub fn str_attr<'c>(context: &'c Context, value: &str) -> Attribute<'c> {
    StringAttribute::new(context, value).into()
}

/// A boolean attribute.
#[must_use]
pub fn bool_attr(context: &Context, value: bool) -> Attribute<'_> {
    BoolAttribute::new(context, value).into()
}

/// What MLIR counts is never negative.
fn count(number: isize) -> usize {
    usize::try_from(number).expect("MLIR counts from zero")
}

/// Nothing in memory is longer than `isize::MAX`.
fn position(index: usize) -> isize {
    isize::try_from(index).expect("an index of something in memory")
}

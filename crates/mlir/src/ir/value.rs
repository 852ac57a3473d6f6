//! Values, where they are defined and where they are used.

use super::{Block, Op, Value, context_of, count};
use crate::ffi;
use melior::{
    Context,
    ir::{Location, Type, TypeLike},
};
#[allow(clippy::wildcard_imports)] // Half of the C API, and every name says where it is from.
use mlir_sys::*;
use std::fmt;

/// A use of a value: operand `index` of `owner`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Use<'c> {
    /// The operation that uses the value.
    pub owner: Op<'c>,
    /// Which of its operands the value is.
    pub index: usize,
}

impl<'c> Value<'c> {
    /// The type.
    #[must_use]
    pub fn ty(self) -> Type<'c> {
        // SAFETY: a live value.
        unsafe { Type::from_raw(mlirValueGetType(self.to_raw())) }
    }

    /// Changes the type.
    pub fn set_type(self, ty: Type<'c>) {
        // SAFETY: a live value, and a type of its context.
        unsafe { mlirValueSetType(self.to_raw(), ty.to_raw()) }
    }

    /// Where the value came from.
    #[must_use]
    pub fn location(self) -> Location<'c> {
        // SAFETY: a live value.
        unsafe { Location::from_raw(mlirValueGetLocation(self.to_raw())) }
    }

    /// The context.
    #[must_use]
    pub fn context(self) -> &'c Context {
        // SAFETY: a live value.
        unsafe { context_of(mlirValueGetContext(self.to_raw())) }
    }

    /// Where the value is defined.
    #[must_use]
    pub fn definition(self) -> Definition<'c> {
        // SAFETY: a live value is one or the other.
        unsafe {
            if mlirValueIsAOpResult(self.to_raw()) {
                Definition::Result(
                    Op::from_raw(mlirOpResultGetOwner(self.to_raw())),
                    count(mlirOpResultGetResultNumber(self.to_raw())),
                )
            } else {
                Definition::Argument(
                    Block::from_raw(mlirBlockArgumentGetOwner(self.to_raw())),
                    count(mlirBlockArgumentGetArgNumber(self.to_raw())),
                )
            }
        }
    }

    /// The operation that this value is a result of; `None` for block arguments.
    #[must_use]
    pub fn defining_op(self) -> Option<Op<'c>> {
        match self.definition() {
            Definition::Result(op, _) => Some(op),
            Definition::Argument(..) => None,
        }
    }

    /// The integer that this value is known to hold: it is a constant.
    #[must_use]
    pub fn as_constant_int(self) -> Option<i64> {
        let mut constant = 0;
        // SAFETY: a live value, and a place to write to.
        unsafe { ffi::asyncOptValueGetConstantInt(self.to_raw(), &raw mut constant) }.then_some(constant)
    }

    /// Returns true if anything uses the value.
    #[must_use]
    pub fn has_uses(self) -> bool {
        // SAFETY: a live value.
        unsafe { !mlirOpOperandIsNull(mlirValueGetFirstUse(self.to_raw())) }
    }

    /// The use of the value, if it has exactly one.
    #[must_use]
    pub fn only_use(self) -> Option<Use<'c>> {
        // SAFETY: a live value, and a use of it that is not null.
        let is_only = unsafe {
            let first = mlirValueGetFirstUse(self.to_raw());
            !mlirOpOperandIsNull(first) && mlirOpOperandIsNull(mlirOpOperandGetNextUse(first))
        };
        if is_only { self.uses().pop() } else { None }
    }

    /// The uses, in no particular order; a copy, so that they may be changed on the way.
    #[must_use]
    pub fn uses(self) -> Vec<Use<'c>> {
        let mut uses = Vec::new();
        // SAFETY: a live value's list of uses, which nobody changes during the loop.
        unsafe {
            let mut operand = mlirValueGetFirstUse(self.to_raw());
            while !mlirOpOperandIsNull(operand) {
                uses.push(Use {
                    owner: Op::from_raw(mlirOpOperandGetOwner(operand)),
                    index: mlirOpOperandGetOperandNumber(operand) as usize,
                });
                operand = mlirOpOperandGetNextUse(operand);
            }
        }
        uses
    }

    /// Makes all uses of this value use `other` instead.
    pub fn replace_all_uses_with(self, other: Value<'c>) {
        // SAFETY: live values.
        unsafe { mlirValueReplaceAllUsesOfWith(self.to_raw(), other.to_raw()) }
    }

    /// Makes all uses of this value that `filter` accepts use `other` instead.
    pub fn replace_uses_if(self, other: Value<'c>, mut filter: impl FnMut(Use<'c>) -> bool) {
        for found in self.uses() {
            if filter(found) {
                found.owner.set_operand(found.index, other);
            }
        }
    }
}

/// Where a value is defined.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Definition<'c> {
    /// The result of an operation at an index.
    Result(Op<'c>, usize),
    /// The argument of a block at an index.
    Argument(Block<'c>, usize),
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let mut text = String::new();
        // SAFETY: a live value; the callback gets the pointer to `text`.
        unsafe { mlirValuePrint(self.to_raw(), Some(ffi::collect_text), (&raw mut text).cast()) };
        formatter.write_str(&text)
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "Value({self})")
    }
}

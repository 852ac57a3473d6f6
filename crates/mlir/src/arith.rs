//! What `arith` has for attributes.

use crate::ir::int_attr;
use melior::{Context, ir::Attribute};

/// How `arith.cmpi` compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Each is what its name says.
pub enum Predicate {
    Equal = 0,
    NotEqual = 1,
    SignedLess = 2,
    SignedLessOrEqual = 3,
    SignedGreater = 4,
    SignedGreaterOrEqual = 5,
    UnsignedLess = 6,
    UnsignedLessOrEqual = 7,
    UnsignedGreater = 8,
    UnsignedGreaterOrEqual = 9,
}

impl Predicate {
    /// All of them, with MLIR's keyword.
    pub const ALL: [(Self, &str); 10] = [
        (Self::Equal, "eq"),
        (Self::NotEqual, "ne"),
        (Self::SignedLess, "slt"),
        (Self::SignedLessOrEqual, "sle"),
        (Self::SignedGreater, "sgt"),
        (Self::SignedGreaterOrEqual, "sge"),
        (Self::UnsignedLess, "ult"),
        (Self::UnsignedLessOrEqual, "ule"),
        (Self::UnsignedGreater, "ugt"),
        (Self::UnsignedGreaterOrEqual, "uge"),
    ];

    /// The attribute.
    #[must_use]
    pub fn attribute(self, context: &Context) -> Attribute<'_> {
        int_attr(context, 64, self as i64)
    }
}

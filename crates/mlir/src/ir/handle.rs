//! The handles themselves. What one points at is reached through its `to_raw` alone, which has debug builds check it.

use super::erased;
use melior::Context;
use mlir_sys::{MlirBlock, MlirOperation, MlirRegion, MlirValue};
use std::{
    hash::{Hash, Hasher},
    marker::PhantomData,
};

/// Defines a handle around one of MLIR's pointers.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $raw:ident, $check:path) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub struct $name<'c> {
            raw: $raw,
            context: PhantomData<&'c Context>,
        }

        impl $name<'_> {
            /// Wraps a raw object.
            ///
            /// # Safety
            ///
            /// `raw` must be valid, and of a context that outlives the handle.
            #[must_use]
            pub unsafe fn from_raw(raw: $raw) -> Self {
                Self { raw, context: PhantomData }
            }

            #[allow(dead_code)] // Not every handle comes from a nullable pointer.
            pub(super) unsafe fn from_option_raw(raw: $raw) -> Option<Self> {
                // SAFETY: not null here; the rest is the caller's promise.
                (!raw.ptr.is_null()).then(|| unsafe { Self::from_raw(raw) })
            }

            /// The raw object.
            ///
            /// # Panics
            ///
            /// In debug builds, if the running pass has erased it.
            #[must_use]
            pub fn to_raw(self) -> $raw {
                $check(self.raw);
                self.raw
            }
        }

        impl PartialEq for $name<'_> {
            fn eq(&self, other: &Self) -> bool {
                // MLIR's C API compares these objects by address, too.
                let same = std::ptr::eq(self.raw.ptr, other.raw.ptr);
                // Two that differ are not checked: a map compares keys that nobody asked it for.
                if same {
                    $check(self.raw);
                }
                same
            }
        }

        impl Eq for $name<'_> {}

        impl Hash for $name<'_> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.to_raw().ptr.hash(state);
            }
        }
    };
}

handle!(
    /// An operation.
    Op,
    MlirOperation,
    erased::check_op
);
handle!(
    /// A result of an operation or an argument of a block.
    Value,
    MlirValue,
    erased::check_value
);
handle!(
    /// A block.
    Block,
    MlirBlock,
    erased::check_block
);
handle!(
    /// A region of an operation.
    Region,
    MlirRegion,
    erased::check_region
);

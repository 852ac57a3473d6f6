//! Where operations access memory, and by which threads of a block.
//!
//! Passes and the checks of what they write both ask here, so this is part of what is trusted. It knows no solver and changes no IR.
//!
//! [`memory`] says what an operation accesses, and in which buffer; [`views`] lead to buffers, [`alias`] tells buffers apart, [`escape`]
//! says which nobody else knows, and [`buffers`] collects those of a function that are the workgroup's. [`footprints`] are the bytes of a
//! buffer that each thread accesses, computed from [`thread_values`]; [`addresses`] those of one thread, as [linear
//! expressions](linear_expr) and with what divides them ([`divisibility`]). [`access_shapes`] compares how much
//! two accesses take. [`buffer_parts`], [`buffer_slices`] and
//! [`buffer_slots`] tell parts of one buffer apart, [`places`] all that is known here of where an access is, and [`buffer_views`] finds the
//! views of some. [`integers`] evaluates operations at the width of their types.
//!
//! [`mod@cfg`] says how control passes between blocks and regions, through MLIR's interfaces alone, [`uniformity`] where the threads of
//! a block diverge, and [`warps`] which values each warp has.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod access_shapes;
pub mod addresses;
pub mod alias;
pub mod buffer_parts;
pub mod buffer_slices;
pub mod buffer_slots;
pub mod buffer_views;
pub mod buffers;
pub mod cfg;
pub mod divisibility;
pub mod escape;
pub mod footprints;
pub mod integers;
pub mod linear_expr;
pub mod memory;
pub mod places;
pub mod thread_values;
pub mod uniformity;
pub mod views;
pub mod warps;

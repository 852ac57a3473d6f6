//! What melior does not say of types and constants.

use crate::ffi;
use melior::Context;
use melior::ir::{Attribute, AttributeLike, Type, TypeLike, r#type::MemRefType};
use mlir_sys::{
    mlirFloatTypeGetWidth, mlirIntegerTypeGetWidth, mlirMemRefTypeGetStridesAndOffset,
    mlirShapedTypeGetDimSize, mlirShapedTypeGetElementType, mlirShapedTypeGetRank,
    mlirShapedTypeIsDynamicSize, mlirTypeIsABF16, mlirTypeIsAF16, mlirTypeIsAF32, mlirTypeIsAF64,
    mlirTypeIsAFloat, mlirTypeIsAInteger, mlirTypeIsAMemRef, mlirTypeIsAVector,
};
use std::ffi::c_void;

/// A vector or memref type.
#[derive(Clone, Debug)]
pub struct Shape<'c> {
    /// The sizes; `None` where they are dynamic.
    pub sizes: Vec<Option<i64>>,
    /// The type of the elements.
    pub element: Type<'c>,
}

/// The layout of a memref type, in elements; `None` where it is dynamic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The distance of neighbours in each dimension.
    pub strides: Vec<Option<i64>>,
    /// Where element (0, …, 0) is.
    pub offset: Option<i64>,
}

/// A floating-point type that hardware computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Float {
    /// `f16`
    F16,
    /// `bf16`
    BF16,
    /// `f32`
    F32,
    /// `f64`
    F64,
}

/// The type that `text` is in a context that has its dialect loaded.
#[must_use]
pub fn known_type<'c>(context: &'c Context, text: &str) -> Type<'c> {
    Type::parse(context, text).unwrap_or_else(|| panic!("`{text}` is a type of a loaded dialect"))
}

/// The attribute that `text` is in a context that has its dialect loaded.
#[must_use]
pub fn known_attribute<'c>(context: &'c Context, text: &str) -> Attribute<'c> {
    Attribute::parse(context, text).unwrap_or_else(|| panic!("`{text}` is an attribute of a loaded dialect"))
}

/// Sizes and elements, if `ty` is a vector.
#[must_use]
pub fn vector_shape(ty: Type<'_>) -> Option<Shape<'_>> {
    // SAFETY: a live type.
    unsafe { mlirTypeIsAVector(ty.to_raw()) }.then(|| shape(ty))
}

/// Sizes and elements, if `ty` is a memref of known rank.
#[must_use]
pub fn memref_shape(ty: Type<'_>) -> Option<Shape<'_>> {
    // SAFETY: a live type.
    unsafe { mlirTypeIsAMemRef(ty.to_raw()) }.then(|| shape(ty))
}

fn shape(ty: Type<'_>) -> Shape<'_> {
    // SAFETY: a live shaped type of known rank, as vectors and memrefs are; the dimensions are in range.
    unsafe {
        let sizes = (0..mlirShapedTypeGetRank(ty.to_raw())).map(|i| {
            let size = mlirShapedTypeGetDimSize(ty.to_raw(), isize::try_from(i).unwrap_or(0));
            (!mlirShapedTypeIsDynamicSize(size)).then_some(size)
        });
        Shape {
            sizes: sizes.collect(),
            element: Type::from_raw(mlirShapedTypeGetElementType(ty.to_raw())),
        }
    }
}

/// The layout, if `ty` is a memref with strides.
#[must_use]
pub fn memref_layout(ty: Type<'_>) -> Option<Layout> {
    let rank = memref_shape(ty)?.sizes.len();
    let (mut strides, mut offset) = (vec![0; rank], 0);
    // SAFETY: a live memref type, and room for the stride of each of its dimensions.
    let result =
        unsafe { mlirMemRefTypeGetStridesAndOffset(ty.to_raw(), strides.as_mut_ptr(), &raw mut offset) };
    if result.value == 0 {
        return None;
    }
    let known = |number: i64| (number != i64::MIN).then_some(number);
    Some(Layout {
        strides: strides.into_iter().map(known).collect(),
        offset: known(offset),
    })
}

/// The memory space, if `ty` is a memref that has one.
#[must_use]
pub fn memory_space(ty: Type<'_>) -> Option<Attribute<'_>> {
    MemRefType::try_from(ty).ok()?.memory_space()
}

/// Which floating-point type `ty` is, if it is one of the usual ones.
#[must_use]
pub fn float(ty: Type<'_>) -> Option<Float> {
    let ty = ty.to_raw();
    // SAFETY: a live type.
    unsafe {
        if mlirTypeIsAF16(ty) {
            Some(Float::F16)
        } else if mlirTypeIsABF16(ty) {
            Some(Float::BF16)
        } else if mlirTypeIsAF32(ty) {
            Some(Float::F32)
        } else {
            mlirTypeIsAF64(ty).then_some(Float::F64)
        }
    }
}

/// The number of bits, if `ty` is an integer or a float.
#[must_use]
pub fn bit_width(ty: Type<'_>) -> Option<u32> {
    let ty = ty.to_raw();
    // SAFETY: a live type, of the kind that the width is asked of.
    unsafe {
        if mlirTypeIsAInteger(ty) {
            Some(mlirIntegerTypeGetWidth(ty))
        } else {
            mlirTypeIsAFloat(ty).then(|| mlirFloatTypeGetWidth(ty))
        }
    }
}

/// The bits of every number of a constant: an integer, a floating-point number, or dense elements of them.
#[must_use]
pub fn constant_numbers(attribute: Attribute<'_>) -> Option<Vec<u64>> {
    unsafe extern "C" fn push(bits: u64, data: *mut c_void) {
        // SAFETY: the pointer to `numbers` below.
        unsafe { (*data.cast::<Vec<u64>>()).push(bits) }
    }
    let mut numbers = Vec::new();
    // SAFETY: a live attribute; the callback gets the pointer to `numbers`.
    unsafe {
        ffi::asyncOptForEachConstantNumber(attribute.to_raw(), Some(push), (&raw mut numbers).cast())
            .then_some(numbers)
    }
}

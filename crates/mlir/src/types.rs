//! What melior does not say of types and constants.

use crate::ffi;
use crate::text::str_from_raw;
use melior::Context;
use melior::ir::attribute::{
    ArrayAttribute, BoolAttribute, DenseI64ArrayAttribute, FlatSymbolRefAttribute, IntegerAttribute,
};
use melior::ir::{Attribute, AttributeLike, Type, TypeLike, r#type::MemRefType};
#[allow(clippy::wildcard_imports)] // Half of the C API, and every name says where it is from.
use mlir_sys::*;
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
    /// The distance between neighbors in each dimension.
    pub strides: Vec<Option<i64>>,
    /// Where element (0, …, 0) is.
    pub offset: Option<i64>,
}

/// What MLIR writes for a size, stride or offset that is not static.
pub const DYNAMIC: i64 = i64::MIN;

/// What an integer type says of signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signedness {
    /// Nothing: operations do.
    Signless,
    /// Its numbers are signed.
    Signed,
    /// Its numbers are not signed.
    Unsigned,
}

/// What a result of an affine map is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapResult {
    /// A dimension.
    Dim(usize),
    /// A constant.
    Constant(i64),
    /// Computed from dimensions or symbols.
    Computed,
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
    /// `f8E4M3FN`
    F8E4M3FN,
    /// `f8E5M2`
    F8E5M2,
    /// `f8E8M0FNU`
    F8E8M0FNU,
    /// `f6E2M3FN`
    F6E2M3FN,
    /// `f6E3M2FN`
    F6E3M2FN,
    /// `f4E2M1FN`
    F4E2M1FN,
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

/// The keyword of a case of an enumeration, such as `workgroup` of `#gpu.address_space<workgroup>`; `None` for other
/// attributes, and for enumerations that the C++ layer does not know.
#[must_use]
pub fn keyword(attribute: Attribute<'_>) -> Option<&'static str> {
    // SAFETY: a live attribute; keywords live forever.
    let keyword = unsafe { ffi::str_from_raw(ffi::asyncOptEnumGetKeyword(attribute.to_raw())) };
    (!keyword.is_empty()).then_some(keyword)
}

/// The name in a reference to a symbol of the same table, such as `f` of `@f`.
#[must_use]
pub fn symbol(attribute: Attribute<'_>) -> Option<&str> {
    Some(FlatSymbolRefAttribute::try_from(attribute).ok()?.value())
}

/// The names in a reference to a symbol, outermost table first, such as `kernels` and `k` of `@kernels::@k`.
#[must_use]
pub fn symbol_path(attribute: Attribute<'_>) -> Option<Vec<&str>> {
    if !attribute.is_symbol_ref() {
        return None;
    }
    let raw = attribute.to_raw();
    // SAFETY: a live reference, whose nested ones are asked for below their number; names live as long as the context.
    unsafe {
        let nested = 0..mlirSymbolRefAttrGetNumNestedReferences(raw);
        let nested = nested.map(|i| mlirSymbolRefAttrGetNestedReference(raw, i));
        let names = nested.map(|reference| str_from_raw(mlirSymbolRefAttrGetRootReference(reference)));
        let root = str_from_raw(mlirSymbolRefAttrGetRootReference(raw));
        Some(std::iter::once(root).chain(names).collect())
    }
}

/// The results of an affine map.
#[must_use]
pub fn map_results(attribute: Attribute<'_>) -> Option<Vec<MapResult>> {
    let raw = attribute.to_raw();
    // SAFETY: a live attribute, which is a map; its results have indices below their number, and are of the kind that
    // is asked.
    unsafe {
        if !mlirAttributeIsAAffineMap(raw) {
            return None;
        }
        let map = mlirAffineMapAttrGetValue(raw);
        let results = (0..mlirAffineMapGetNumResults(map)).map(|i| {
            let result = mlirAffineMapGetResult(map, i);
            if mlirAffineExprIsADim(result) {
                let dim = mlirAffineDimExprGetPosition(result);
                usize::try_from(dim).map_or(MapResult::Computed, MapResult::Dim)
            } else if mlirAffineExprIsAConstant(result) {
                MapResult::Constant(mlirAffineConstantExprGetValue(result))
            } else {
                MapResult::Computed
            }
        });
        Some(results.collect())
    }
}

/// The numbers of a dense array of 64-bit integers.
#[must_use]
pub fn dense_numbers(attribute: Attribute<'_>) -> Option<Vec<i64>> {
    let array = DenseI64ArrayAttribute::try_from(attribute).ok()?;
    (0..array.len()).map(|i| array.element(i).ok()).collect()
}

/// The elements of an array.
#[must_use]
pub fn array_elements(attribute: Attribute<'_>) -> Option<Vec<Attribute<'_>>> {
    let array = ArrayAttribute::try_from(attribute).ok()?;
    (0..array.len()).map(|i| array.element(i).ok()).collect()
}

/// The numbers of an array of integers.
#[must_use]
pub fn array_numbers(attribute: Attribute<'_>) -> Option<Vec<i64>> {
    let elements = array_elements(attribute)?;
    let numbers = elements.into_iter().map(IntegerAttribute::try_from);
    numbers.map(|number| Some(number.ok()?.value())).collect()
}

/// The elements of an array of booleans; what is none is false.
#[must_use]
pub fn booleans(attribute: Attribute<'_>) -> Vec<bool> {
    let elements = array_elements(attribute).unwrap_or_default().into_iter();
    elements
        .map(|element| BoolAttribute::try_from(element).is_ok_and(|element| element.value()))
        .collect()
}

/// How many dimensions a vector type has; `None` if `ty` is none, or of a length that the hardware chooses.
#[must_use]
pub fn vector_rank(ty: Type<'_>) -> Option<usize> {
    // SAFETY: a live type, which is a vector where that is asked.
    unsafe {
        if !mlirTypeIsAVector(ty.to_raw()) || mlirVectorTypeIsScalable(ty.to_raw()) {
            return None;
        }
        usize::try_from(mlirShapedTypeGetRank(ty.to_raw())).ok()
    }
}

/// What an integer type says of signs; `None` if `ty` is none.
#[must_use]
pub fn signedness(ty: Type<'_>) -> Option<Signedness> {
    let ty = ty.to_raw();
    // SAFETY: a live type, which is an integer where that is asked.
    unsafe {
        if !mlirTypeIsAInteger(ty) {
            None
        } else if mlirIntegerTypeIsSignless(ty) {
            Some(Signedness::Signless)
        } else if mlirIntegerTypeIsUnsigned(ty) {
            Some(Signedness::Unsigned)
        } else {
            Some(Signedness::Signed)
        }
    }
}

/// Returns true if `ty` is `tf32`.
#[must_use]
pub fn is_tf32(ty: Type<'_>) -> bool {
    // SAFETY: a live type.
    unsafe { mlirTypeIsATF32(ty.to_raw()) }
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

/// Sizes and elements, if `ty` is a tensor of known rank.
#[must_use]
pub fn tensor_shape(ty: Type<'_>) -> Option<Shape<'_>> {
    // SAFETY: a live type.
    unsafe { mlirTypeIsARankedTensor(ty.to_raw()) }.then(|| shape(ty))
}

/// Returns true if `ty` is a memref of unknown rank.
#[must_use]
pub fn is_unranked_memref(ty: Type<'_>) -> bool {
    // SAFETY: a live type.
    unsafe { mlirTypeIsAUnrankedMemRef(ty.to_raw()) }
}

/// The type of the elements, if `ty` is a memref of known or unknown rank.
#[must_use]
pub fn memref_element(ty: Type<'_>) -> Option<Type<'_>> {
    if is_unranked_memref(ty) {
        // SAFETY: a live shaped type.
        return Some(unsafe { Type::from_raw(mlirShapedTypeGetElementType(ty.to_raw())) });
    }
    memref_shape(ty).map(|shape| shape.element)
}

fn shape(ty: Type<'_>) -> Shape<'_> {
    // SAFETY: a live shaped type of known rank, as vectors, memrefs and tensors of one are; the dimensions are in range.
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
    let sizes = memref_shape(ty)?.sizes;
    if has_identity_layout(ty)
        && let Some(layout) = row_major(&sizes)
    {
        return Some(layout);
    }
    computed_layout(ty, sizes.len())
}

/// Returns true if what the memref type `ty` says of its layout is the identity map.
fn has_identity_layout(ty: Type<'_>) -> bool {
    // SAFETY: a live memref type; its layout is a map where it is asked for that.
    unsafe {
        let layout = mlirMemRefTypeGetLayout(ty.to_raw());
        mlirAttributeIsAAffineMap(layout) && mlirAffineMapIsIdentity(mlirAffineMapAttrGetValue(layout))
    }
}

/// The layout of elements that lie one after the other; `None` if that is not known without overflow, or there are no elements.
fn row_major(sizes: &[Option<i64>]) -> Option<Layout> {
    let mut strides = vec![None; sizes.len()];
    let mut next = Some(1_i64);
    for (stride, size) in strides.iter_mut().zip(sizes).rev() {
        *stride = next;
        next = match next.zip(*size) {
            Some((_, 0)) => return None,
            Some((stride, size)) => Some(stride.checked_mul(size)?),
            None => None,
        };
    }
    Some(Layout {
        strides,
        offset: Some(0),
    })
}

/// The layout that MLIR computes, which takes it some microseconds: it builds affine expressions.
fn computed_layout(ty: Type<'_>, rank: usize) -> Option<Layout> {
    let (mut strides, mut offset) = (vec![0; rank], 0);
    // SAFETY: a live memref type, and room for the stride of each of its dimensions.
    let result =
        unsafe { mlirMemRefTypeGetStridesAndOffset(ty.to_raw(), strides.as_mut_ptr(), &raw mut offset) };
    if result.value == 0 {
        return None;
    }
    let known = |number: i64| (number != DYNAMIC).then_some(number);
    Some(Layout {
        strides: strides.into_iter().map(known).collect(),
        offset: known(offset),
    })
}

/// Returns true if `ty` is a memref whose elements lie one after the other, in row-major order.
#[must_use]
pub fn is_row_major(ty: Type<'_>) -> bool {
    let Ok(memref) = MemRefType::try_from(ty) else {
        return false;
    };
    let results = map_results(memref.layout());
    results.is_some_and(|results| {
        results
            .iter()
            .zip(0..)
            .all(|(result, i)| *result == MapResult::Dim(i))
    })
}

/// Returns true if `ty` is a memref whose elements lie one after the other, in row-major order, wherever the first one is.
#[must_use]
pub fn is_contiguous(ty: Type<'_>) -> bool {
    let has_such_strides = || {
        let (sizes, strides) = (memref_shape(ty)?.sizes, memref_layout(ty)?.strides);
        let mut stride = Some(1);
        let as_expected = sizes.iter().zip(&strides).rev().all(|(size, known)| {
            let expected = stride;
            stride = stride
                .zip(*size)
                .and_then(|(stride, size): (i64, i64)| stride.checked_mul(size));
            expected.is_some() && expected == *known
        });
        Some(as_expected)
    };
    is_row_major(ty) || has_such_strides().unwrap_or(false)
}

/// The memory space, if `ty` is a memref that has one.
#[must_use]
pub fn memory_space(ty: Type<'_>) -> Option<Attribute<'_>> {
    // SAFETY: a live type; the space of an unranked memref is asked of one only, and is an attribute of its context or null.
    unsafe {
        if mlirTypeIsAUnrankedMemRef(ty.to_raw()) {
            return Attribute::from_option_raw(mlirUnrankedMemrefGetMemorySpace(ty.to_raw()));
        }
    }
    MemRefType::try_from(ty).ok()?.memory_space()
}

/// The memref type that is `ty` in another memory space; `None` if `ty` is no memref.
#[must_use]
pub fn with_memory_space<'c>(ty: Type<'c>, space: Attribute<'c>) -> Option<Type<'c>> {
    let (raw, space) = (ty.to_raw(), space.to_raw());
    // SAFETY: live types and attributes of one context; what is asked of a type is asked of memrefs, and of no index beyond the rank.
    unsafe {
        if mlirTypeIsAUnrankedMemRef(raw) {
            let element = mlirShapedTypeGetElementType(raw);
            return Some(Type::from_raw(mlirUnrankedMemRefTypeGet(element, space)));
        }
        if !mlirTypeIsAMemRef(raw) {
            return None;
        }
        let (element, rank) = (mlirShapedTypeGetElementType(raw), mlirShapedTypeGetRank(raw));
        let sizes: Vec<i64> = (0..rank)
            .map(|i| mlirShapedTypeGetDimSize(raw, isize::try_from(i).unwrap_or(0)))
            .collect();
        let layout = mlirMemRefTypeGetLayout(raw);
        let new = mlirMemRefTypeGet(element, sizes.len().cast_signed(), sizes.as_ptr(), layout, space);
        Some(Type::from_raw(new))
    }
}

/// Which floating-point type `ty` is, if it is one that NVIDIA GPUs have.
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
        } else if mlirTypeIsAF64(ty) {
            Some(Float::F64)
        } else if mlirTypeIsAFloat8E4M3FN(ty) {
            Some(Float::F8E4M3FN)
        } else if mlirTypeIsAFloat8E5M2(ty) {
            Some(Float::F8E5M2)
        } else if mlirTypeIsAFloat8E8M0FNU(ty) {
            Some(Float::F8E8M0FNU)
        } else if mlirTypeIsAFloat6E2M3FN(ty) {
            Some(Float::F6E2M3FN)
        } else if mlirTypeIsAFloat6E3M2FN(ty) {
            Some(Float::F6E3M2FN)
        } else {
            mlirTypeIsAFloat4E2M1FN(ty).then_some(Float::F4E2M1FN)
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

#[cfg(test)]
mod tests {
    use super::{computed_layout, memref_layout, memref_shape};
    use melior::Context;
    use melior::ir::Type;

    #[test]
    fn layouts_are_those_that_mlir_computes() {
        let context = Context::new();
        let kinds = [
            "",
            ", strided<[1, 4]>",
            ", strided<[?, 1], offset: ?>",
            ", affine_map<(i, j) -> (j, i)>",
        ];
        let two = [
            "4x8",
            "?x8",
            "4x?",
            "?x?",
            "0x8",
            "4x0",
            "1x1",
            "9223372036854775807x4",
            "3x9223372036854775807",
        ];
        let two = two
            .iter()
            .flat_map(|sizes| kinds.map(|kind| format!("{sizes}xf32{kind}")));
        let others = ["f32", "7xi8", "?xi8", "0xi8", "2x?x3x?x5xf16", "2x3x5xf64"].map(str::to_owned);
        for text in two.chain(others) {
            let text = format!("memref<{text}>");
            let ty = Type::parse(&context, &text).unwrap_or_else(|| panic!("{text} is a type"));
            let rank = memref_shape(ty).expect("it has a rank").sizes.len();
            assert_eq!(memref_layout(ty), computed_layout(ty, rank), "{text}");
        }
    }
}

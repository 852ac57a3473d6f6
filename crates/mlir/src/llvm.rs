//! Types and attributes of the `llvm` dialect, which must be loaded to make one.

use crate::ffi;
use crate::types::known_attribute;
use melior::Context;
use melior::ir::{Attribute, Type, TypeLike};
use mlir_sys::{
    mlirLLVMArrayTypeGetElementType, mlirLLVMPointerTypeGet, mlirLLVMStructTypeGetElementType,
    mlirLLVMStructTypeGetNumElementTypes, mlirLLVMStructTypeIsOpaque, mlirLLVMStructTypeLiteralGet,
    mlirTypeIsALLVMPointerType, mlirTypeIsALLVMStructType,
};

/// An address space of NVIDIA's back end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressSpace {
    /// Any of the others.
    Generic = 0,
    /// Global memory.
    Global = 1,
    /// Memory of the workgroup.
    Shared = 3,
    /// Memory of a thread.
    Local = 5,
    /// Memory of the workgroups of a cluster.
    Cluster = 7,
}

impl AddressSpace {
    /// The number, as attributes have it.
    #[must_use]
    pub const fn number(self) -> i64 {
        self as i64
    }
}

/// The type of a pointer into `space`.
#[must_use]
pub fn pointer(context: &Context, space: AddressSpace) -> Type<'_> {
    // SAFETY: a live context.
    unsafe { Type::from_raw(mlirLLVMPointerTypeGet(context.to_raw(), space as u32)) }
}

/// Returns true if `ty` is a pointer.
#[must_use]
pub fn is_pointer(ty: Type<'_>) -> bool {
    // SAFETY: a live type.
    unsafe { mlirTypeIsALLVMPointerType(ty.to_raw()) }
}

/// The type of a struct of these members.
#[must_use]
pub fn structure<'c>(context: &'c Context, members: &[Type<'c>]) -> Type<'c> {
    let members: Vec<_> = members.iter().map(TypeLike::to_raw).collect();
    let count = members.len().cast_signed();
    // SAFETY: a live context, and as many live types of it as are said.
    unsafe {
        Type::from_raw(mlirLLVMStructTypeLiteralGet(
            context.to_raw(),
            count,
            members.as_ptr(),
            false,
        ))
    }
}

/// What upstream's conversions to the dialect make of `ty` on a 64-bit host; `None` if they don't take it.
#[must_use]
pub fn converted(ty: Type<'_>) -> Option<Type<'_>> {
    // SAFETY: a live type; null means that there is none.
    unsafe { Type::from_option_raw(ffi::asyncOptLLVMConvertType(ty.to_raw())) }
}

/// The linkage of what is seen only here.
#[must_use]
pub fn internal_linkage(context: &Context) -> Attribute<'_> {
    known_attribute(context, "#llvm.linkage<internal>")
}

/// How many elements an array has; `None` if `ty` is no array.
#[must_use]
pub fn array_size(ty: Type<'_>) -> Option<u64> {
    let mut number = 0;
    // SAFETY: a live type, and a place to write to.
    unsafe { ffi::asyncOptLLVMArrayGetNumElements(ty.to_raw(), &raw mut number) }.then_some(number)
}

/// What a type of values in values is made of.
#[derive(Clone, Debug)]
pub enum Aggregate<'c> {
    /// So many of one type.
    Array(u64, Type<'c>),
    /// These.
    Struct(Vec<Type<'c>>),
}

impl<'c> Aggregate<'c> {
    /// The types of its members, one by one.
    #[must_use]
    pub fn members(self) -> Vec<Type<'c>> {
        match self {
            Self::Array(size, ty) => vec![ty; usize::try_from(size).unwrap_or(0)],
            Self::Struct(types) => types,
        }
    }
}

/// What `ty` is made of, if it is an array, or a struct that is not opaque.
#[must_use]
pub fn aggregate(ty: Type<'_>) -> Option<Aggregate<'_>> {
    let raw = ty.to_raw();
    if let Some(size) = array_size(ty) {
        // SAFETY: a live type, which is an array.
        let element = unsafe { Type::from_raw(mlirLLVMArrayTypeGetElementType(raw)) };
        return Some(Aggregate::Array(size, element));
    }
    // SAFETY: a live type, which is a struct with a body where it is asked for members, whose places are in range.
    unsafe {
        if !mlirTypeIsALLVMStructType(raw) || mlirLLVMStructTypeIsOpaque(raw) {
            return None;
        }
        let members = (0..mlirLLVMStructTypeGetNumElementTypes(raw))
            .map(|i| Type::from_raw(mlirLLVMStructTypeGetElementType(raw, i)));
        Some(Aggregate::Struct(members.collect()))
    }
}

/// The linkage of what is defined elsewhere.
#[must_use]
pub fn external_linkage(context: &Context) -> Attribute<'_> {
    known_attribute(context, "#llvm.linkage<external>")
}

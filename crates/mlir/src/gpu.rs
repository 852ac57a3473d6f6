//! Queries on device functions and memory types: memory space, kernel, block size, barriers.

use crate::ffi;
use crate::ir::Op;
use crate::llvm::AddressSpace;
use crate::names::{attr, gpu, nvvm};
use crate::types::{keyword, known_attribute, memory_space};
use melior::Context;
use melior::ir::attribute::{ArrayAttribute, DenseI32ArrayAttribute, IntegerAttribute, TypeAttribute};
use melior::ir::r#type::FunctionType;
use melior::ir::{Attribute, AttributeLike, Type, TypeLike};

/// Where memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemorySpace {
    /// All of the device can access it.
    Global,
    /// A block of threads has it.
    Workgroup,
    /// A thread has it.
    Private,
}

impl MemorySpace {
    /// Where memrefs of type `ty` are, if it says so: in `gpu`'s words, or with the numbers of NVIDIA's back end.
    #[must_use]
    pub fn of(ty: Type<'_>) -> Option<Self> {
        let space = memory_space(ty)?;
        if let Ok(number) = IntegerAttribute::try_from(space) {
            let number = number.value();
            let spaces = [
                (AddressSpace::Global, Self::Global),
                (AddressSpace::Shared, Self::Workgroup),
                (AddressSpace::Local, Self::Private),
            ];
            let known = spaces.into_iter().find(|(known, _)| known.number() == number);
            return known.map(|(_, space)| space);
        }
        match keyword(space)? {
            "global" => Some(Self::Global),
            "workgroup" => Some(Self::Workgroup),
            "private" => Some(Self::Private),
            _ => None,
        }
    }
}

/// The memory space of memory that all of the device can access, in a context that has `gpu` loaded.
#[must_use]
pub fn global_memory(context: &Context) -> Attribute<'_> {
    known_attribute(context, "#gpu.address_space<global>")
}

/// The code in a `gpu.binary`, for each target: text, or the bytes of a file.
#[must_use]
pub fn objects<'c>(binary: Op<'c>) -> Vec<&'c [u8]> {
    let list = binary
        .attr(attr::OBJECTS)
        .and_then(|list| ArrayAttribute::try_from(list).ok());
    let list = list
        .into_iter()
        .flat_map(|list| (0..list.len()).filter_map(move |i| list.element(i).ok()));
    list.filter_map(|object| {
        // SAFETY: a live attribute, which is an object where it is asked for its bytes; these live as long as the context.
        unsafe {
            let object = object.to_raw();
            mlir_sys::mlirAttributeIsAGPUObjectAttr(object).then(|| {
                let bytes = mlir_sys::mlirGPUObjectAttrGetObject(object);
                // An empty string may have no address.
                match bytes.length {
                    0 => &[],
                    length => std::slice::from_raw_parts(bytes.data.cast::<u8>(), length),
                }
            })
        }
    })
    .collect()
}

/// Returns true if `ty` is the type of the tokens of `gpu`.
#[must_use]
pub fn is_gpu_token(ty: Type<'_>) -> bool {
    ty.to_string() == "!gpu.async.token"
}

/// Returns true if `ty` is a memref in memory of the workgroup.
#[must_use]
pub fn is_workgroup(ty: Type<'_>) -> bool {
    MemorySpace::of(ty) == Some(MemorySpace::Workgroup)
}

/// A dimension of a block or grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Each is what its name says.
pub enum Dimension {
    X,
    Y,
    Z,
}

impl Dimension {
    /// All three.
    pub const ALL: [Self; 3] = [Self::X, Self::Y, Self::Z];

    /// The attribute, in a context that has `gpu` loaded.
    #[must_use]
    pub fn attribute(self, context: &Context) -> Attribute<'_> {
        known_attribute(
            context,
            match self {
                Self::X => "#gpu<dim x>",
                Self::Y => "#gpu<dim y>",
                Self::Z => "#gpu<dim z>",
            },
        )
    }
}

/// The type of `function`.
#[must_use]
pub fn function_type(function: Op<'_>) -> Option<FunctionType<'_>> {
    let ty = TypeAttribute::try_from(function.attr(attr::FUNCTION_TYPE)?).ok()?;
    FunctionType::try_from(ty.value()).ok()
}

/// The number of arguments of the entry block that callers pass. The function's own buffers come after them.
#[must_use]
pub fn num_inputs(function: Op<'_>) -> Option<usize> {
    Some(function_type(function)?.input_count())
}

/// How many buffers of the workgroup a `gpu.func` declares.
#[must_use]
pub fn num_attributions(function: Op<'_>) -> usize {
    let count = function
        .int_attr(attr::WORKGROUP_ATTRIBUTIONS)
        .filter(|_| function.is(gpu::FUNC));
    count.and_then(|count| usize::try_from(count).ok()).unwrap_or(0)
}

/// Returns true if `function` is a kernel: nothing happens in a block of threads before it is entered.
#[must_use]
pub fn is_kernel(function: Op<'_>) -> bool {
    let names = [attr::KERNEL, attr::GPU_KERNEL, attr::NVVM_KERNEL];
    names.iter().any(|name| function.has_attr(name))
}

/// Returns true if `op` is a barrier of all threads of a block, which orders accesses of all their memory.
#[must_use]
pub fn is_barrier(op: Op<'_>) -> bool {
    match op.name() {
        gpu::BARRIER | nvvm::BARRIER0 => !op.has_attr(attr::ADDRESS_SPACES),
        // With operands it is for some of the threads.
        nvvm::BARRIER => op.num_operands() == 0,
        _ => false,
    }
}

/// Rows, columns and the type of the elements, if `ty` is a `!gpu.mma_matrix`.
#[must_use]
pub fn mma_matrix(ty: Type<'_>) -> Option<([i64; 2], Type<'_>)> {
    let (mut rows, mut columns) = (0, 0);
    let mut element = ty.to_raw();
    // SAFETY: a live type, and room for what it says; the type of the elements lives as long as its context.
    unsafe {
        ffi::asyncOptMMAMatrixGetShape(ty.to_raw(), &raw mut rows, &raw mut columns, &raw mut element)
            .then(|| ([rows, columns], Type::from_raw(element)))
    }
}

/// How many threads a block of `function` has in each dimension, if it says so.
#[must_use]
pub fn block_size(function: Op<'_>) -> Option<[u32; 3]> {
    sizes(function, [attr::KNOWN_BLOCK_SIZE, attr::GPU_KNOWN_BLOCK_SIZE])
}

/// How many blocks a launch of `function` has in each dimension, if it says so.
#[must_use]
pub fn grid_size(function: Op<'_>) -> Option<[u32; 3]> {
    sizes(function, [attr::KNOWN_GRID_SIZE, attr::GPU_KNOWN_GRID_SIZE])
}

/// Three sizes that `function` has under one of two names, if it has them and none is negative.
#[must_use]
pub fn sizes(function: Op<'_>, names: [&str; 2]) -> Option<[u32; 3]> {
    let sizes = names.into_iter().find_map(|name| function.attr(name))?;
    let sizes = DenseI32ArrayAttribute::try_from(sizes).ok()?;
    let sizes = (0..sizes.len()).map(|i| u32::try_from(sizes.element(i).ok()?).ok());
    sizes.collect::<Option<Vec<u32>>>()?.try_into().ok()
}

/// How many threads a block of `function` has, if it says so and there can be as many.
#[must_use]
pub fn block_threads(function: Op<'_>) -> Option<u64> {
    let sizes = block_size(function)?.into_iter();
    sizes.map(u64::from).try_fold(1, u64::checked_mul)
}

//! Lowers allocations, transfers and other operations of host code to calls of the runtime.

use super::memory_spaces::{is_on_device, without_space};
use super::wrappers::Wrappers;
use crate::utils::builders::compare;
use crate::utils::llvm_builder::{self, At, LlvmBuilder, rt};
use async_dialects::names::{async_, gpux, gpux_attr};
use async_dialects::types::is_token;
use async_mlir::arith::Predicate;
use async_mlir::ir::{Block, Op, OpBuilder, Value, str_attr};
use async_mlir::melior::ir::r#type::MemRefType;
use async_mlir::melior::ir::{Location, Type};
use async_mlir::names::{arith, attr, cf, gpu, llvm, memref};
use async_mlir::types::{is_contiguous, known_type, memory_space, memref_element, memref_shape};

/// Lowers operations of one module.
pub(super) struct Lowering<'a, 'c> {
    pub(super) builder: &'a LlvmBuilder<'c>,
    pub(super) wrappers: Wrappers<'a, 'c>,
}

/// Where a synchronous operation is lowered, and for which device.
#[derive(Clone, Copy)]
pub(super) struct Site<'c> {
    pub(super) at: At<'c>,
    pub(super) location: Location<'c>,
    device: i64,
}

impl<'c> Lowering<'_, 'c> {
    /// Lowers `op`, in a region if it is asynchronous.
    pub(super) fn lower(&self, op: Op<'c>) {
        let location = op.location();
        let (dependencies, operands): (Vec<Value>, Vec<Value>) =
            op.operands().partition(|operand| is_token(operand.ty()));
        let token = op.results().find(|result| is_token(result.ty()));
        let values: Vec<Value> = op.results().filter(|result| Some(*result) != token).collect();
        let body = Block::new(&[]);
        let at = if token.is_some() {
            At::End(body)
        } else {
            At::Before(op)
        };
        let placed = op.ancestors().find_map(|outer| {
            outer
                .int_attr(gpux_attr::DEVICE)
                .filter(|_| outer.is(async_::REGION))
        });
        let device = placed.unwrap_or(0);
        let site = Site { at, location, device };
        if token.is_some() && is_one_call(op) {
            // The region does nothing after it.
            let null = self.builder.null(location, at);
            let status = Some(self.builder.int(32));
            self.builder
                .call(rt::DEVICE_TRAILING, &[null], status, location, at);
        }
        let results = match op.name() {
            gpux::ALLOC => vec![self.alloc(rt::DEVICE_ALLOC, op.result(0).ty(), &operands, site)],
            gpux::HOST_ALLOC => vec![self.alloc(rt::HOST_ALLOC, op.result(0).ty(), &operands, site)],
            gpux::DEALLOC => {
                self.dealloc(operands[0], site);
                vec![]
            }
            gpux::MEMSET => {
                self.memset(operands[0], operands[1], site);
                vec![]
            }
            gpux::TRANSFER => self.transfer(
                operands[0],
                operands.get(1).copied(),
                values.first().copied(),
                site,
            ),
            gpu::HOST_REGISTER => {
                self.register(rt::HOST_REGISTER, operands[0], site);
                vec![]
            }
            gpu::HOST_UNREGISTER => {
                self.register(rt::HOST_UNREGISTER, operands[0], site);
                vec![]
            }
            _ => {
                self.launch(op, dependencies.len(), site);
                vec![]
            }
        };
        let Some(token) = token else {
            op.replace_with(&results);
            body.erase();
            return;
        };
        OpBuilder::new(async_::YIELD, location)
            .operands(&results)
            .at_end(body);
        let types: Vec<Type> = values.iter().map(|value| value.ty()).collect();
        let region = OpBuilder::new(async_::REGION, location)
            .operands(&dependencies)
            .results(&[token.ty()])
            .results(&types)
            .regions(1)
            .before(op);
        region.region(0).append(body);
        token.replace_all_uses_with(region.result(0));
        for (index, value) in values.iter().enumerate() {
            value.replace_all_uses_with(region.result(1 + index));
        }
        op.erase();
    }

    /// A new buffer of type `ty`, in the memory that `function` allocates.
    fn alloc(&self, function: &str, ty: Type<'c>, sizes: &[Value<'c>], site: Site<'c>) -> Value<'c> {
        let (builder, Site { at, location, .. }) = (self.builder, site);
        let mut bytes = self.element_size(ty, site);
        let mut dynamic = sizes.iter();
        for size in memref_shape(ty).map_or(Vec::new(), |shape| shape.sizes) {
            let size = match size {
                Some(size) => builder.constant(64, size, location, at),
                None => self.to_i64(
                    *dynamic.next().expect("a size for each dimension that is open"),
                    site,
                ),
            };
            bytes = self.checked_product(bytes, size, site);
        }
        let [this, device] = self.task_and_device(site);
        let place = builder.location(location, at);
        let pointer = builder.call(
            function,
            &[this, device, bytes, place],
            Some(builder.ptr),
            location,
            at,
        );
        let pointer = pointer.result(0);
        // A buffer of bytes, and a view of it.
        let flat = known_type(builder.context(), "memref<?xi8>");
        let descriptor = builder.lowered(flat).expect("a plain memref has a descriptor");
        let zero = builder.constant(64, 0, location, at);
        let one = builder.constant(64, 1, location, at);
        let mut value = llvm_builder::op(llvm::MLIR_UNDEF, &[], &[descriptor], location, at).result(0);
        for (position, part) in [
            (&[0][..], pointer),
            (&[1], pointer),
            (&[2], zero),
            (&[3, 0], bytes),
            (&[4, 0], one),
        ] {
            value = builder.insert(value, part, position, location, at);
        }
        let buffer = llvm_builder::cast(value, flat, location, at);
        let index = Type::index(builder.context());
        let start = llvm_builder::op(arith::INDEX_CAST, &[zero], &[index], location, at);
        let operands: Vec<Value> = [buffer, start.result(0)]
            .into_iter()
            .chain(sizes.iter().copied())
            .collect();
        llvm_builder::op(memref::VIEW, &operands, &[without_space(ty)], location, at).result(0)
    }

    /// The product of two numbers, or the largest if that is more: no device has so much memory.
    fn checked_product(&self, left: Value<'c>, right: Value<'c>, site: Site<'c>) -> Value<'c> {
        let (builder, Site { at, location, .. }) = (self.builder, site);
        let i64 = builder.int(64);
        let product = llvm_builder::op(arith::MULSI_EXTENDED, &[left, right], &[i64, i64], location, at);
        let shift = builder.constant(64, 63, location, at);
        let sign = binary(arith::SHRSI, product.result(0), shift, site);
        let fits = compare(location, Predicate::Equal, sign, product.result(1));
        let fits = llvm_builder::put(fits, at).result(0);
        let most = builder.constant(64, i64::MAX, location, at);
        let operands = [fits, product.result(0), most];
        llvm_builder::op(arith::SELECT, &operands, &[i64], location, at).result(0)
    }

    /// Has the task fail if two buffers of which data is transferred have different sizes.
    fn check_sizes(
        &self,
        [from, to]: [Value<'c>; 2],
        sizes: [&[Value<'c>]; 2],
        Site { at, location, .. }: Site<'c>,
    ) {
        let known = |buffer: Value<'c>| memref_shape(buffer.ty()).map_or(Vec::new(), |shape| shape.sizes);
        let (known_from, known_to) = (known(from), known(to));
        for (index, (left, right)) in sizes[0].iter().zip(sizes[1]).enumerate() {
            if known_from[index].is_none() || known_to[index].is_none() {
                let equal =
                    llvm_builder::put(compare(location, Predicate::Equal, *left, *right), at).result(0);
                let message = str_attr(
                    self.builder.context(),
                    "the buffers of a transfer have different sizes",
                );
                let assert = OpBuilder::new(cf::ASSERT, location).operands(&[equal]);
                llvm_builder::put(assert.attr(attr::MSG, message), at);
            }
        }
    }

    fn dealloc(&self, buffer: Value<'c>, site: Site<'c>) {
        let (builder, Site { at, location, .. }) = (self.builder, site);
        let function = if is_on_device(buffer.ty()) {
            rt::DEVICE_DEALLOC
        } else {
            rt::HOST_DEALLOC
        };
        let pointer = self.pointer(buffer, site);
        let [this, device] = self.task_and_device(site);
        let place = builder.location(location, at);
        let status = Some(builder.int(32));
        builder.call(function, &[this, device, pointer, place], status, location, at);
    }

    /// Registers a buffer of any rank, or ends that; the runtime reads its descriptor.
    fn register(&self, function: &str, buffer: Value<'c>, site: Site<'c>) {
        let (builder, Site { at, location, .. }) = (self.builder, site);
        let ty = builder
            .lowered(buffer.ty())
            .expect("a buffer of unknown rank has a descriptor");
        let unranked = llvm_builder::cast(buffer, ty, location, at);
        let rank = builder.extract(unranked, 0, builder.int(64), location, at);
        let descriptor = builder.extract(unranked, 1, builder.ptr, location, at);
        let element = self.element_size(buffer.ty(), site);
        let [this, device] = self.task_and_device(site);
        let place = builder.location(location, at);
        let operands = [this, device, rank, descriptor, element, place];
        builder.call(function, &operands, Some(builder.int(32)), location, at);
    }

    /// Transfers `source` to `destination`, or to a new buffer of the type of `result`.
    fn transfer(
        &self,
        source: Value<'c>,
        destination: Option<Value<'c>>,
        result: Option<Value<'c>>,
        site: Site<'c>,
    ) -> Vec<Value<'c>> {
        let (builder, Site { at, location, .. }) = (self.builder, site);
        let metadata = self.metadata(source, site);
        let new = result.map(|result| {
            let shape = memref_shape(result.ty()).map_or(Vec::new(), |shape| shape.sizes);
            let dynamic = shape
                .iter()
                .zip(&metadata.sizes)
                .filter(|(size, _)| size.is_none());
            let sizes: Vec<Value> = dynamic.map(|(_, size)| *size).collect();
            let function = if is_on_device(result.ty()) {
                rt::DEVICE_ALLOC
            } else {
                rt::HOST_ALLOC
            };
            self.alloc(function, result.ty(), &sizes, site)
        });
        let Some(to) = destination.or(new) else {
            return vec![];
        };
        let element = self.element_size(source.ty(), site);
        let [this, device] = self.task_and_device(site);
        let place = builder.location(location, at);
        let other = self.metadata(to, site);
        if destination.is_some() {
            self.check_sizes([source, to], [&metadata.sizes, &other.sizes], site);
        }
        let status = Some(builder.int(32));
        if is_contiguous(source.ty()) && is_contiguous(to.ty()) {
            let mut bytes = element;
            for size in &metadata.sizes {
                let size = self.to_i64(*size, site);
                bytes = binary(arith::MULI, bytes, size, site);
            }
            let operands = [this, device, other.pointer, metadata.pointer, bytes, place];
            let function = self.transfer_function(rt::DEVICE_TRANSFER.to_owned(), 0, result);
            builder.call(&function, &operands, status, location, at);
        } else {
            let rank = metadata.sizes.len();
            let function = self.transfer_function(self.wrappers.strided_transfer(rank), rank, result);
            let mut operands = vec![this, device, other.pointer, metadata.pointer, element, place];
            for values in [&metadata.sizes, &other.strides, &metadata.strides] {
                operands.extend(values.iter().map(|value| self.to_i64(*value, site)));
            }
            builder.call(&function, &operands, status, location, at);
        }
        new.into_iter().collect()
    }

    /// What is called for a transfer: `transfer`, for `rank` dimensions, or where it is to a new buffer, a function that frees that if it fails.
    fn transfer_function(&self, transfer: String, rank: usize, new: Option<Value<'c>>) -> String {
        let Some(new) = new else { return transfer };
        let dealloc = if is_on_device(new.ty()) {
            rt::DEVICE_DEALLOC
        } else {
            rt::HOST_DEALLOC
        };
        self.wrappers.transfer_to_new(&transfer, rank, dealloc)
    }

    fn memset(&self, value: Value<'c>, buffer: Value<'c>, site: Site<'c>) {
        let (builder, Site { at, location, .. }) = (self.builder, site);
        let element = self.element_size(buffer.ty(), site);
        let metadata = self.metadata(buffer, site);
        let mut count = builder.constant(64, 1, location, at);
        for size in &metadata.sizes {
            let size = self.to_i64(*size, site);
            count = binary(arith::MULI, count, size, site);
        }
        let value = builder
            .lowered(value.ty())
            .map_or(value, |ty| llvm_builder::cast(value, ty, location, at));
        let [this, device] = self.task_and_device(site);
        let place = builder.location(location, at);
        let function = self.wrappers.memset(value.ty());
        let operands = [this, device, metadata.pointer, value, element, count, place];
        builder.call(&function, &operands, Some(builder.int(32)), location, at);
    }

    pub(super) fn task_and_device(&self, Site { at, location, device }: Site<'c>) -> [Value<'c>; 2] {
        let null = self.builder.null(location, at);
        [null, self.builder.constant(32, device, location, at)]
    }

    pub(super) fn to_i64(&self, index: Value<'c>, Site { at, location, .. }: Site<'c>) -> Value<'c> {
        let i64 = self.builder.int(64);
        llvm_builder::op(arith::INDEX_CAST, &[index], &[i64], location, at).result(0)
    }

    /// How many bytes there are from one element of a buffer of type `ty` to the next one.
    fn element_size(&self, ty: Type<'c>, Site { at, location, .. }: Site<'c>) -> Value<'c> {
        let element = memref_element(ty).and_then(|element| self.builder.lowered(element));
        let null = self.builder.null(location, at);
        let next = self
            .builder
            .element(null, element.unwrap_or(self.builder.int(8)), &[1], location, at);
        self.builder.pointer_to_int(next, location, at)
    }

    /// The address of the first byte of what `buffer` was allocated for.
    fn pointer(&self, buffer: Value<'c>, site: Site<'c>) -> Value<'c> {
        let (builder, Site { at, location, .. }) = (self.builder, site);
        let index = Type::index(builder.context());
        let address = llvm_builder::op(
            memref::EXTRACT_ALIGNED_POINTER_AS_INDEX,
            &[buffer],
            &[index],
            location,
            at,
        );
        let address = self.to_i64(address.result(0), site);
        llvm_builder::op(llvm::INTTOPTR, &[address], &[builder.ptr], location, at).result(0)
    }

    fn metadata(&self, buffer: Value<'c>, site: Site<'c>) -> Metadata<'c> {
        let (builder, Site { at, location, .. }) = (self.builder, site);
        let (ty, index) = (buffer.ty(), Type::index(builder.context()));
        let shape = memref_shape(ty);
        let rank = shape.as_ref().map_or(0, |shape| shape.sizes.len());
        let element = shape.map_or(ty, |shape| shape.element);
        let base = MemRefType::new(element, &[], None, memory_space(ty));
        let types: Vec<Type> = [base.into(), index]
            .into_iter()
            .chain(vec![index; 2 * rank])
            .collect();
        let op = llvm_builder::op(memref::EXTRACT_STRIDED_METADATA, &[buffer], &types, location, at);
        let values: Vec<Value> = op.results().skip(2).collect();
        let offset = self.to_i64(op.result(1), site);
        let bytes = binary(arith::MULI, offset, self.element_size(ty, site), site);
        let start = self.pointer(buffer, site);
        Metadata {
            pointer: builder.offset(start, bytes, location, at),
            sizes: values[..rank].to_vec(),
            strides: values[rank..].to_vec(),
        }
    }
}

/// What a buffer is.
struct Metadata<'c> {
    /// The address of element (0, …, 0).
    pointer: Value<'c>,
    sizes: Vec<Value<'c>>,
    strides: Vec<Value<'c>>,
}

/// Returns true if `op` has a stream of the device do one thing. Of elements that go one by one, each would have a stream of its own.
fn is_one_call(op: Op<'_>) -> bool {
    let values = || op.operands().chain(op.results());
    match op.name() {
        gpux::TRANSFER => values().all(|value| is_token(value.ty()) || is_contiguous(value.ty())),
        name => matches!(name, gpux::MEMSET | gpux::ASYNC_LAUNCH),
    }
}

fn binary<'c>(
    name: &str,
    left: Value<'c>,
    right: Value<'c>,
    Site { at, location, .. }: Site<'c>,
) -> Value<'c> {
    llvm_builder::op(name, &[left, right], &[left.ty()], location, at).result(0)
}

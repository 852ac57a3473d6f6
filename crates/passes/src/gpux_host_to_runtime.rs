//! `--gpux-host-to-runtime`: allocations, transfers and launches of host code become calls of the runtime.
//!
//! **Condition.** A module of bufferized host code.
//!
//! **Effect.** Each asynchronous operation of `gpux` for the host becomes an `async.region` around a synchronous one, and that a call of
//! `asyncopt_rt_device_…` or `asyncopt_rt_host_…`, whose first operand, the token of the task, is null until `--async-to-runtime` puts it in.
//! Types of host code lose the memory space of the device: its memory is a pointer like others there. Registrations of the host's memory go: devices of
//! the runtime access all of it. With `erase-kernels`,
//! `gpu.module`s go: whoever runs the program has them.
//!
//! **Refusals.** Transfers of tensors (bufferize first), buffers of unknown rank or of vectors of unknown length, and `gpux.memset` of what does not lie in a row.
//!
//! [`glue`] has the functions that take a transfer apart that is not contiguous, and the arguments of a launch.

mod glue;

use crate::utils::builders::compare;
use crate::utils::device::is_host_operation;
use crate::utils::emit::{self, At, Emitter, is_scalable, rt};
use async_dialects::names::{async_, gpux, gpux_attr};
use async_dialects::registry::GPUX;
use async_dialects::types::is_token;
use async_mlir::arith::Predicate;
use async_mlir::gpu::{MemorySpace, function_type};
use async_mlir::ir::{Block, Op, OpBuilder, Region, Value, Walk, str_attr};
use async_mlir::llvm::aggregate;
use async_mlir::melior::ir::attribute::{DenseI32ArrayAttribute, TypeAttribute};
use async_mlir::melior::ir::r#type::{FunctionType, MemRefType};
use async_mlir::melior::ir::{Location, ShapedTypeLike, Type, TypeLike};
use async_mlir::names::{arith, attr, builtin, cf, gpu, llvm, memref};
use async_mlir::pass::{Anchor, Dialect, OptionInfo, Pass, PassContext, PassError, PassInfo};
use async_mlir::types::{DYNAMIC, is_row_major, is_unranked_memref, known_type, memory_space, memref_shape};
use glue::Glue;

/// The pass.
pub struct GpuxHostToRuntime;

impl Pass for GpuxHostToRuntime {
    const INFO: PassInfo = PassInfo {
        description: include_str!("gpux_host_to_runtime/description.md"),
        anchor: Anchor::Ops(&[builtin::MODULE]),
        options: &[OptionInfo::bool(
            "erase-kernels",
            false,
            "erase gpu.modules: kernels are run by what is registered with asyncopt_rt_set_launcher",
        )],
        dependent_dialects: &[
            GPUX,
            Dialect::LLVM,
            Dialect::FUNC,
            Dialect::SCF,
            Dialect::ARITH,
            Dialect::CF,
            Dialect::MEMREF,
        ],
        ..PassInfo::new(
            "gpux-host-to-runtime",
            "lowers allocations, transfers and launches of host code to calls of the runtime",
        )
    };

    fn run<'c>(root: Op<'c>, cx: &PassContext<'c>) -> Result<(), PassError<'c>> {
        let mut ops = Vec::new();
        let mut kernels = Vec::new();
        let mut registrations = Vec::new();
        root.walk(|op| {
            match op.name() {
                gpu::MODULE => {
                    kernels.push(op);
                    return Walk::Skip;
                }
                gpu::LAUNCH => return Walk::Skip,
                gpu::HOST_REGISTER | gpu::HOST_UNREGISTER => registrations.push(op),
                _ if is_host_operation(op) => ops.push(op),
                _ => {}
            }
            Walk::Advance
        });
        let emitter = Emitter::new(root);
        let lowering = Lowering {
            glue: Glue::new(root, &emitter),
            emitter: &emitter,
        };
        for op in ops {
            check_types(op)?;
            lowering.lower(op);
        }
        registrations.into_iter().for_each(Op::erase);
        emitter.check_declarations()?;
        drop_memory_spaces(root);
        if cx.bool("erase-kernels") {
            kernels.into_iter().for_each(Op::erase);
            root.remove_attr(attr::GPU_CONTAINER_MODULE);
        }
        Ok(())
    }
}

fn check_types<'c>(op: Op<'c>) -> Result<(), PassError<'c>> {
    let buffer = op
        .operands()
        .find(|operand| op.is(gpux::MEMSET) && memref_shape(operand.ty()).is_some());
    if let Some(buffer) = buffer.filter(|buffer| !is_row_major(buffer.ty())) {
        let message = format!("sets elements of '{}', which do not lie in a row", buffer.ty());
        return Err(PassError::new(op, message).note(
            op,
            "set the buffer that this is a view of, or transfer the values",
        ));
    }
    let scalable = op
        .operands()
        .chain(op.results())
        .find(|value| is_scalable(value.ty()));
    if let Some(value) = scalable {
        let message = format!("has a value of type '{}', whose size is not known", value.ty());
        return Err(PassError::new(op, message).note(op, "use vectors of a fixed length"));
    }
    let mut values = op.operands().chain(op.results());
    let is_data = !op.is(gpux::ASYNC_LAUNCH);
    let odd = values.find(|value| {
        let ty = value.ty();
        is_unranked_memref(ty) || is_data && !is_token(ty) && ty.is_ranked_tensor()
    });
    odd.map_or(Ok(()), |value| {
        let message = format!("has a value of type '{}'", value.ty());
        Err(PassError::new(op, message).note(op, "run --one-shot-bufferize first, and give buffers a rank"))
    })
}

struct Lowering<'a, 'c> {
    emitter: &'a Emitter<'c>,
    glue: Glue<'a, 'c>,
}

/// Where a synchronous operation is lowered, and for which device.
#[derive(Clone, Copy)]
struct Site<'c> {
    at: At<'c>,
    location: Location<'c>,
    device: i64,
}

impl<'c> Lowering<'_, 'c> {
    /// Lowers `op`, in a region if it is asynchronous.
    fn lower(&self, op: Op<'c>) {
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
        let (emitter, Site { at, location, .. }) = (self.emitter, site);
        let mut bytes = self.element_size(ty, site);
        let mut dynamic = sizes.iter();
        for size in memref_shape(ty).map_or(Vec::new(), |shape| shape.sizes) {
            let size = match size {
                Some(size) => emitter.constant(64, size, location, at),
                None => self.to_i64(
                    *dynamic.next().expect("a size for each dimension that is open"),
                    site,
                ),
            };
            bytes = self.checked_product(bytes, size, site);
        }
        let [this, device] = self.task_and_device(site);
        let place = emitter.location(location, at);
        let pointer = emitter.call(
            function,
            &[this, device, bytes, place],
            Some(emitter.ptr),
            location,
            at,
        );
        let pointer = pointer.result(0);
        // A buffer of bytes, and a view of it.
        let flat = known_type(emitter.context(), "memref<?xi8>");
        let descriptor = emitter.lowered(flat).expect("a plain memref has a descriptor");
        let zero = emitter.constant(64, 0, location, at);
        let one = emitter.constant(64, 1, location, at);
        let mut value = emit::op(llvm::MLIR_UNDEF, &[], &[descriptor], location, at).result(0);
        for (position, part) in [
            (&[0][..], pointer),
            (&[1], pointer),
            (&[2], zero),
            (&[3, 0], bytes),
            (&[4, 0], one),
        ] {
            value = emitter.insert(value, part, position, location, at);
        }
        let buffer = emit::cast(value, flat, location, at);
        let index = Type::index(emitter.context());
        let start = emit::op(arith::INDEX_CAST, &[zero], &[index], location, at);
        let operands: Vec<Value> = [buffer, start.result(0)]
            .into_iter()
            .chain(sizes.iter().copied())
            .collect();
        emit::op(memref::VIEW, &operands, &[without_space(ty)], location, at).result(0)
    }

    /// The product of two numbers, or the largest if that is more: no device has so much memory.
    fn checked_product(&self, left: Value<'c>, right: Value<'c>, site: Site<'c>) -> Value<'c> {
        let (emitter, Site { at, location, .. }) = (self.emitter, site);
        let i64 = emitter.int(64);
        let product = emit::op(arith::MULSI_EXTENDED, &[left, right], &[i64, i64], location, at);
        let shift = emitter.constant(64, 63, location, at);
        let sign = binary(arith::SHRSI, product.result(0), shift, site);
        let fits = compare(location, Predicate::Equal, sign, product.result(1));
        let fits = emit::put(fits, at).result(0);
        let most = emitter.constant(64, i64::MAX, location, at);
        let operands = [fits, product.result(0), most];
        emit::op(arith::SELECT, &operands, &[i64], location, at).result(0)
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
                let equal = emit::put(compare(location, Predicate::Equal, *left, *right), at).result(0);
                let message = str_attr(
                    self.emitter.context(),
                    "the buffers of a transfer have different sizes",
                );
                let assert = OpBuilder::new(cf::ASSERT, location).operands(&[equal]);
                emit::put(assert.attr(attr::MSG, message), at);
            }
        }
    }

    fn dealloc(&self, buffer: Value<'c>, site: Site<'c>) {
        let (emitter, Site { at, location, .. }) = (self.emitter, site);
        let function = if is_on_device(buffer.ty()) {
            rt::DEVICE_DEALLOC
        } else {
            rt::HOST_DEALLOC
        };
        let pointer = self.pointer(buffer, site);
        let [this, device] = self.task_and_device(site);
        let place = emitter.location(location, at);
        let status = Some(emitter.int(32));
        emitter.call(function, &[this, device, pointer, place], status, location, at);
    }

    /// Transfers `source` to `destination`, or to a new buffer of the type of `result`.
    fn transfer(
        &self,
        source: Value<'c>,
        destination: Option<Value<'c>>,
        result: Option<Value<'c>>,
        site: Site<'c>,
    ) -> Vec<Value<'c>> {
        let (emitter, Site { at, location, .. }) = (self.emitter, site);
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
        if destination.is_some() {
            let other = self.metadata(to, site);
            self.check_sizes([source, to], [&metadata.sizes, &other.sizes], site);
        }
        let element = self.element_size(source.ty(), site);
        let [this, device] = self.task_and_device(site);
        let place = emitter.location(location, at);
        let is_contiguous = is_row_major(source.ty()) && is_row_major(to.ty());
        let status = Some(emitter.int(32));
        if is_contiguous {
            let mut bytes = element;
            for size in &metadata.sizes {
                let size = self.to_i64(*size, site);
                bytes = binary(arith::MULI, bytes, size, site);
            }
            let (to, from) = (self.pointer(to, site), metadata.pointer);
            let operands = [this, device, to, from, bytes, place];
            emitter.call(rt::DEVICE_TRANSFER, &operands, status, location, at);
        } else {
            let other = self.metadata(to, site);
            let rank = metadata.sizes.len();
            let function = self.glue.strided_transfer(rank);
            let mut operands = vec![this, device, other.pointer, metadata.pointer, element, place];
            for values in [&metadata.sizes, &other.strides, &metadata.strides] {
                operands.extend(values.iter().map(|value| self.to_i64(*value, site)));
            }
            emitter.call(&function, &operands, status, location, at);
        }
        new.into_iter().collect()
    }

    fn memset(&self, value: Value<'c>, buffer: Value<'c>, site: Site<'c>) {
        let (emitter, Site { at, location, .. }) = (self.emitter, site);
        let element = self.element_size(buffer.ty(), site);
        let metadata = self.metadata(buffer, site);
        let mut count = emitter.constant(64, 1, location, at);
        for size in &metadata.sizes {
            let size = self.to_i64(*size, site);
            count = binary(arith::MULI, count, size, site);
        }
        let value = emitter
            .lowered(value.ty())
            .map_or(value, |ty| emit::cast(value, ty, location, at));
        let [this, device] = self.task_and_device(site);
        let place = emitter.location(location, at);
        let function = self.glue.memset(value.ty());
        let operands = [this, device, metadata.pointer, value, element, count, place];
        emitter.call(&function, &operands, Some(emitter.int(32)), location, at);
    }

    fn launch(&self, op: Op<'c>, dependencies: usize, site: Site<'c>) {
        let (emitter, Site { at, location, .. }) = (self.emitter, site);
        let groups = operand_groups(op);
        debug_assert!(groups[0].len() == dependencies);
        let [this, device] = self.task_and_device(site);
        let kernel = op
            .attr(gpux_attr::KERNEL_SYMBOL)
            .map_or(String::new(), |name| name.to_string());
        let kernel = emitter.string(&kernel.replace(['@', '"'], ""), location, at);
        let place = emitter.location(location, at);
        let mut operands = vec![this, device, kernel, place];
        // Blocks and threads come first there, and clusters of one block are none.
        for group in [&groups[2], &groups[3], &groups[1]] {
            for dimension in 0..3 {
                operands.push(match group.get(dimension) {
                    Some(size) => self.to_i64(*size, site),
                    None => emitter.constant(64, 1, location, at),
                });
            }
        }
        operands.push(match groups[4].first() {
            Some(bytes) => emit::op(arith::EXTUI, &[*bytes], &[emitter.int(64)], location, at).result(0),
            None => emitter.constant(64, 0, location, at),
        });
        for argument in &groups[5] {
            self.fields(*argument, &mut operands, site);
        }
        let types: Vec<Type> = operands[14..].iter().map(|operand| operand.ty()).collect();
        let function = self.glue.launch(&types);
        let status = Some(emitter.int(32));
        emitter.call(&function, &operands, status, location, at);
    }

    /// What a kernel gets for `argument`: itself, or what its descriptor consists of.
    fn fields(&self, argument: Value<'c>, fields: &mut Vec<Value<'c>>, site: Site<'c>) {
        let (emitter, Site { at, location, .. }) = (self.emitter, site);
        let ty = without_space(argument.ty());
        let Some(lowered) = emitter.lowered(ty) else {
            fields.push(argument);
            return;
        };
        let value = emit::cast(argument, lowered, location, at);
        let mut work = vec![(value, memref_shape(ty).is_some())];
        while let Some((value, is_descriptor)) = work.pop() {
            let parts = aggregate(value.ty()).filter(|_| is_descriptor);
            let Some(parts) = parts else {
                fields.push(value);
                continue;
            };
            let types = parts.members();
            for (position, ty) in types.into_iter().enumerate().rev() {
                let part = emitter.extract(value, position, ty, location, at);
                work.push((part, true));
            }
        }
    }

    fn task_and_device(&self, Site { at, location, device }: Site<'c>) -> [Value<'c>; 2] {
        let null = self.emitter.null(location, at);
        [null, self.emitter.constant(32, device, location, at)]
    }

    fn to_i64(&self, index: Value<'c>, Site { at, location, .. }: Site<'c>) -> Value<'c> {
        let i64 = self.emitter.int(64);
        emit::op(arith::INDEX_CAST, &[index], &[i64], location, at).result(0)
    }

    /// How many bytes there are from one element of a buffer of type `ty` to the next one.
    fn element_size(&self, ty: Type<'c>, Site { at, location, .. }: Site<'c>) -> Value<'c> {
        let element = memref_shape(ty).and_then(|shape| self.emitter.lowered(shape.element));
        let null = self.emitter.null(location, at);
        let next = self
            .emitter
            .element(null, element.unwrap_or(self.emitter.int(8)), &[1], location, at);
        self.emitter.pointer_to_int(next, location, at)
    }

    /// The address of the first byte of what `buffer` was allocated for.
    fn pointer(&self, buffer: Value<'c>, site: Site<'c>) -> Value<'c> {
        let (emitter, Site { at, location, .. }) = (self.emitter, site);
        let index = Type::index(emitter.context());
        let address = emit::op(
            memref::EXTRACT_ALIGNED_POINTER_AS_INDEX,
            &[buffer],
            &[index],
            location,
            at,
        );
        let address = self.to_i64(address.result(0), site);
        emit::op(llvm::INTTOPTR, &[address], &[emitter.ptr], location, at).result(0)
    }

    fn metadata(&self, buffer: Value<'c>, site: Site<'c>) -> Metadata<'c> {
        let (emitter, Site { at, location, .. }) = (self.emitter, site);
        let (ty, index) = (buffer.ty(), Type::index(emitter.context()));
        let shape = memref_shape(ty);
        let rank = shape.as_ref().map_or(0, |shape| shape.sizes.len());
        let element = shape.map_or(ty, |shape| shape.element);
        let base = MemRefType::new(element, &[], None, memory_space(ty));
        let types: Vec<Type> = [base.into(), index]
            .into_iter()
            .chain(vec![index; 2 * rank])
            .collect();
        let op = emit::op(memref::EXTRACT_STRIDED_METADATA, &[buffer], &types, location, at);
        let values: Vec<Value> = op.results().skip(2).collect();
        let offset = self.to_i64(op.result(1), site);
        let bytes = binary(arith::MULI, offset, self.element_size(ty, site), site);
        let start = self.pointer(buffer, site);
        Metadata {
            pointer: emitter.offset(start, bytes, location, at),
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

fn binary<'c>(
    name: &str,
    left: Value<'c>,
    right: Value<'c>,
    Site { at, location, .. }: Site<'c>,
) -> Value<'c> {
    emit::op(name, &[left, right], &[left.ty()], location, at).result(0)
}

/// The operands of a launch, in groups.
fn operand_groups(op: Op<'_>) -> Vec<Vec<Value<'_>>> {
    let sizes = op.attr(attr::OPERAND_SEGMENT_SIZES);
    let sizes = sizes.and_then(|sizes| DenseI32ArrayAttribute::try_from(sizes).ok());
    let mut operands = op.operands();
    (0..6)
        .map(|group| {
            let size = sizes.and_then(|sizes| sizes.element(group).ok()).unwrap_or(0);
            let size = usize::try_from(size).unwrap_or(0);
            operands.by_ref().take(size).collect()
        })
        .collect()
}

fn is_on_device(ty: Type<'_>) -> bool {
    MemorySpace::of(ty) == Some(MemorySpace::Global)
}

/// `ty`, on the host: without the memory space of the device.
fn without_space(ty: Type<'_>) -> Type<'_> {
    if !is_on_device(ty) {
        return ty;
    }
    let Ok(memref) = MemRefType::try_from(ty) else {
        return ty;
    };
    let sizes = memref_shape(ty).map_or(Vec::new(), |shape| shape.sizes);
    let sizes: Vec<i64> = sizes.into_iter().map(|size| size.unwrap_or(DYNAMIC)).collect();
    MemRefType::new(memref.element(), &sizes, Some(memref.layout()), None).into()
}

/// Drops the memory space of the device from all types of host code.
fn drop_memory_spaces(root: Op<'_>) {
    let mut casts = Vec::new();
    root.walk(|op| {
        if op.is(gpu::MODULE) || op.is(gpu::LAUNCH) {
            return Walk::Skip;
        }
        let args = op.regions().flat_map(Region::blocks).flat_map(Block::args);
        for value in op.results().chain(args) {
            let ty = without_space(value.ty());
            if ty != value.ty() {
                value.set_type(ty);
            }
        }
        if let Some(ty) = function_type(op) {
            let inputs: Vec<Type> = (0..ty.input_count())
                .filter_map(|i| ty.input(i).ok())
                .map(without_space)
                .collect();
            let results: Vec<Type> = (0..ty.result_count())
                .filter_map(|i| ty.result(i).ok())
                .map(without_space)
                .collect();
            let ty = FunctionType::new(op.context(), &inputs, &results);
            op.set_attr(attr::FUNCTION_TYPE, TypeAttribute::new(ty.into()).into());
        }
        if op.is(memref::MEMORY_SPACE_CAST) {
            casts.push(op);
        }
        Walk::Advance
    });
    for cast in casts {
        if cast.operand(0).ty() == cast.result(0).ty() {
            cast.replace_with(&[cast.operand(0)]);
        }
    }
}

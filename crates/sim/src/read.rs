//! Reads a kernel from the IR: token form, counted form, `nvgpu`, and what `--gpux-to-nvvm` leaves structured.
//!
//! **Effect.** [`Code`]. Structured control flow becomes jumps, calls of functions in the module are inlined.
//!
//! **Refusals.** An operation that is not known, and types that the interpreter has no values for, are an [`Unknown`]
//! that names the operation: nothing is skipped.

mod aggregates;
mod arith;
mod asynchronous;
mod attributes;
mod bulk;
mod clusters;
mod contractions;
mod conversions;
mod flow;
mod fragments;
mod host;
mod launch;
mod loops;
mod masked;
mod matrices;
mod mbarriers;
mod memory;
mod names;
mod print;
mod program;
mod sparse;
mod tiles;
mod together;
mod unknown;
mod vectors;
mod views;
mod warpgroup;
mod warpgroup_assembly;
mod warpgroup_tiles;
mod wmma;

use self::attributes::{attribution_align, ints};
pub use self::launch::{launch_name, launches};
pub use self::program::{has_device_work, read_program};
pub use self::unknown::Unknown;
use crate::code::{Code, Instr, Label, Op as Instruction, OpLocation, Param, ParamKind, Reg, TaskOp};
use crate::value::Elem;
use async_dialects::completion::GroupQueue;
use async_dialects::names::gpux;
use async_mlir::gpu;
use async_mlir::ir::{Block, Op, Value};
use async_mlir::location::file_position;
use async_mlir::melior::ir::r#type::IntegerType;
use async_mlir::melior::ir::{Location, Type, TypeLike};
use async_mlir::names::{attr, builtin, gpu as device, nvgpu, nvvm};
use async_mlir::types::{self, Float};
use std::collections::HashMap;
use std::sync::Arc;

type Done<'c> = Result<(), Unknown<'c>>;

/// What a wait of `nvgpu` without a count waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UncountedWaits {
    /// Everything, as upstream lowers it.
    All,
    /// The group that its token is of, which is what it is there for.
    OfToken,
}

/// Reads `function`, which may be a `gpu.launch`, as a kernel.
///
/// # Errors
///
/// At the first operation that is not known.
pub fn read(function: Op<'_>, uncounted: UncountedWaits) -> Result<Code, Unknown<'_>> {
    read_from(function, uncounted, "")
}

/// The same for a function that was parsed from `file`, which says what buffers are called.
///
/// # Errors
///
/// At the first operation that is not known.
pub fn read_from<'c>(function: Op<'c>, uncounted: UncountedWaits, file: &str) -> Result<Code, Unknown<'c>> {
    let mut reader = Reader::new(function, uncounted, file);
    reader.code.is_host = host::is_host(function);
    if function.is(device::LAUNCH) {
        reader.launch(function)?;
    } else {
        reader.kernel(function)?;
    }
    Ok(reader.finish())
}

/// Reads the kernels of a `gpu.module` that was parsed from `file`.
///
/// # Errors
///
/// At the first operation that is not known.
pub fn read_module<'c>(module: Op<'c>, file: &str) -> Result<Vec<Code>, Unknown<'c>> {
    let ops = module.region(0).first().map(Block::ops).unwrap_or_default();
    let kernels = ops
        .into_iter()
        .filter(|op| op.is_function() && gpu::is_kernel(*op));
    kernels
        .map(|kernel| read_from(kernel, UncountedWaits::All, file))
        .collect()
}

struct Reader<'c> {
    uncounted: UncountedWaits,
    code: Code,
    regs: HashMap<Value<'c>, Reg>,
    /// Where each label is.
    labels: Vec<u32>,
    /// The loops around, as places in [`Code::loops`].
    loops: Vec<u32>,
    /// The functions being read, callers first.
    calls: Vec<Op<'c>>,
    /// Where the functions being read are called, the first call first.
    call_sites: Vec<String>,
    /// The queues by their numbers.
    queues: Vec<Option<GroupQueue>>,
    names: HashMap<&'c str, Arc<str>>,
    /// What values are called in the text.
    value_names: names::Names,
    /// The registers that hold `memref.global`s, and dynamic workgroup memory.
    globals: HashMap<Op<'c>, Reg>,
    dynamic: Option<Reg>,
    /// Whether functions multiply by `gpux.wgmma`.
    multiplying: HashMap<Op<'c>, bool>,
    /// The file that all was parsed from.
    file: String,
    /// The kernels that host code launches, in the order of [`Code::kernels`].
    kernels: Vec<Op<'c>>,
}

impl<'c> Reader<'c> {
    fn new(function: Op<'c>, uncounted: UncountedWaits, file: &str) -> Self {
        Self {
            uncounted,
            code: Code::default(),
            regs: HashMap::new(),
            labels: Vec::new(),
            loops: Vec::new(),
            calls: vec![function],
            call_sites: Vec::new(),
            queues: Vec::new(),
            names: HashMap::new(),
            value_names: names::Names::of(file),
            globals: HashMap::new(),
            dynamic: None,
            multiplying: HashMap::new(),
            file: file.to_owned(),
            kernels: Vec::new(),
        }
    }

    fn kernel(&mut self, function: Op<'c>) -> Done<'c> {
        self.code.name = function.str_attr(attr::SYM_NAME).unwrap_or("kernel").into();
        let module = function.ancestors().find(|outer| outer.is(device::MODULE));
        let module = module.and_then(|module| module.str_attr(attr::SYM_NAME));
        module.unwrap_or_default().clone_into(&mut self.code.module);
        self.code.block = attributes::known_sizes(function, &attributes::BLOCK_SIZE, 1)?;
        self.code.grid = attributes::known_sizes(function, &attributes::GRID_SIZE, 0)?;
        let Some(entry) = function.region(0).first() else {
            return Err(Unknown::new(function, "a kernel without a body can't be run"));
        };
        self.parameters(function, entry)?;
        self.region(function.region(0), &mut |reader, terminator| {
            reader.leave_function(function, terminator);
            reader.emit(terminator, Instruction::Return);
            Ok(())
        })
    }

    /// Declares the arguments: parameters, and the buffers of `gpu.func`'s attributions.
    fn parameters(&mut self, function: Op<'c>, entry: Block<'c>) -> Done<'c> {
        let attributions = function.int_attr(attr::WORKGROUP_ATTRIBUTIONS).unwrap_or(0);
        let attributions = usize::try_from(attributions).unwrap_or(0);
        let inputs = gpu::num_inputs(function).unwrap_or(entry.num_args());
        for (i, arg) in entry.args().enumerate() {
            let to = self.reg(arg);
            if i < inputs {
                let ty = described(arg).unwrap_or(arg.ty());
                if ty == arg.ty() && is_tensor_map(arg) {
                    return Err(Unknown::new(function, UNKNOWN_BOX));
                }
                let kind = match Self::param_kind(function, ty) {
                    Err(_) if arg.uses().is_empty() && types::memref_shape(ty).is_none() => ParamKind::Unused,
                    kind => kind?,
                };
                let made_by = None;
                self.code.params.push(Param { to, kind, made_by });
            } else {
                let workgroup = i < inputs + attributions;
                let align = if workgroup {
                    attribution_align(function, i - inputs)
                } else {
                    None
                };
                self.attribution(function, arg, workgroup, align)?;
            }
        }
        Ok(())
    }

    fn param_kind(function: Op<'c>, ty: Type<'c>) -> Result<ParamKind, Unknown<'c>> {
        if let Some(elem) = number(ty) {
            return Ok(ParamKind::Number(elem));
        }
        if let Some(tile) = bulk::tensor_tile(ty) {
            return Ok(ParamKind::Tensor(Arc::new(tile)));
        }
        let Some(shape) = types::memref_shape(ty) else {
            let message = format!("a parameter of type {ty} can't be made up");
            return Err(Unknown::new(function, message));
        };
        let (elem, lanes) = Self::element(function, shape.element)?;
        let strides = Self::strides(function, ty)?;
        Ok(ParamKind::MemRef {
            sizes: shape.sizes,
            strides,
            offset: types::memref_layout(ty)
                .and_then(|layout| layout.offset)
                .unwrap_or(0),
            elem,
            lanes,
            workgroup: gpu::is_workgroup(ty),
        })
    }

    /// The type of a memref's elements, and how many numbers each has.
    fn element(op: Op<'c>, ty: Type<'c>) -> Result<(Elem, u32), Unknown<'c>> {
        let unknown = || Unknown::new(op, format!("the interpreter has no elements of type {ty}"));
        if let Some(elem) = number(ty) {
            return Ok((elem, 1));
        }
        let shape = types::vector_shape(ty).ok_or_else(unknown)?;
        let elem = number(shape.element).ok_or_else(unknown)?;
        Ok((elem, lanes(&shape.sizes).ok_or_else(unknown)?))
    }

    /// The type of numbers in a number or vector.
    fn elem(op: Op<'c>, ty: Type<'c>) -> Result<Elem, Unknown<'c>> {
        let element = types::vector_shape(ty).map_or(ty, |shape| shape.element);
        number(element)
            .ok_or_else(|| Unknown::new(op, format!("the interpreter has no numbers of type {ty}")))
    }

    fn reg(&mut self, value: Value<'c>) -> Reg {
        let next = Reg(self.code.regs);
        let reg = *self.regs.entry(value).or_insert(next);
        if reg == next {
            self.code.regs += 1;
        }
        reg
    }

    fn fresh(&mut self) -> Reg {
        self.code.regs += 1;
        Reg(self.code.regs - 1)
    }

    fn operand(&mut self, op: Op<'c>, index: usize) -> Reg {
        self.reg(op.operand(index))
    }

    fn operands(&mut self, op: Op<'c>) -> Box<[Reg]> {
        op.operands().map(|value| self.reg(value)).collect()
    }

    fn place(&mut self, op: Op<'c>) -> OpLocation {
        let name = op.name();
        let op_name = self.names.entry(name).or_insert_with(|| name.into());
        let mut location = short(op.location());
        for site in self.call_sites.iter().rev() {
            location += ", called at ";
            location += site;
        }
        OpLocation {
            op: Arc::clone(op_name),
            location: location.into(),
        }
    }

    fn emit(&mut self, op: Op<'c>, instr: Instruction) {
        let place = self.place(op);
        self.code.instrs.push(Instr {
            op: instr,
            place,
            loops: self.loops.as_slice().into(),
        });
    }

    fn label(&mut self) -> Label {
        self.labels.push(0);
        Label(u32::try_from(self.labels.len() - 1).unwrap_or(u32::MAX))
    }

    fn bind(&mut self, label: Label) {
        self.labels[label.0 as usize] = u32::try_from(self.code.instrs.len()).unwrap_or(u32::MAX);
    }

    /// Assigns values to other values.
    fn moves(&mut self, op: Op<'c>, from: &[Value<'c>], to: &[Value<'c>]) {
        let pairs: Box<[(Reg, Reg)]> = from
            .iter()
            .zip(to)
            .map(|(&from, &to)| (self.reg(to), self.reg(from)))
            .filter(|(to, from)| to != from)
            .collect();
        if !pairs.is_empty() {
            self.emit(op, Instruction::Moves(pairs));
        }
    }

    /// Reads one operation that is no terminator.
    fn op(&mut self, op: Op<'c>) -> Done<'c> {
        refuse_huge_vectors(op)?;
        if self.host_op(op)?
            || self.flow(op)?
            || self.arith(op)?
            || self.conversions(op)?
            || self.memory(op)?
            || self.aggregates(op)?
            || self.views(op)?
            || self.vectors(op)?
            || self.asynchronous(op)?
            || self.together(op)?
            || self.mbarriers(op)?
            || self.warpgroups(op)?
            || clusters::is_refused(op)?
        {
            return Ok(());
        }
        Err(Unknown::operation(op))
    }

    fn finish(mut self) -> Code {
        // Lowering aligns the buffers that copies write and that are multiplied; a swizzle repeats after 1024 bytes.
        let has = |name: &str| self.names.contains_key(name);
        let tiles = [
            gpux::TMA_LOAD,
            gpux::TMA_STORE,
            nvgpu::TMA_ASYNC_LOAD,
            nvgpu::TMA_ASYNC_STORE,
            nvvm::CP_ASYNC_BULK_TENSOR_SHARED_CLUSTER_GLOBAL,
            nvvm::CP_ASYNC_BULK_TENSOR_GLOBAL_SHARED_CTA,
        ];
        let align = if tiles.into_iter().any(has) || has(gpux::WGMMA) {
            memory::TILE_ALIGN
        } else if has(gpux::COPY) || has(gpux::BULK_LOAD) || has(gpux::BULK_STORE) {
            memory::COPY_ALIGN
        } else {
            1
        };
        let buffers = self.code.workgroup.iter_mut();
        buffers.for_each(|buffer| buffer.align = buffer.align.max(align));
        let labels = self.labels;
        let resolve = |label: &mut Label| label.0 = labels[label.0 as usize];
        for instr in &mut self.code.instrs {
            match &mut instr.op {
                Instruction::Jump(to) => resolve(to),
                Instruction::Branch { then, other, .. } => {
                    resolve(then);
                    resolve(other);
                }
                Instruction::Switch { cases, default, .. } => {
                    cases.iter_mut().for_each(|(_, to)| resolve(to));
                    resolve(default);
                }
                Instruction::Task(TaskOp::Start { after, .. }) => resolve(after),
                _ => {}
            }
        }
        self.code
    }
}

/// The type of a number; `None` if `ty` is none.
fn number(ty: Type<'_>) -> Option<Elem> {
    if let Some(float) = types::float(ty) {
        return Some(match float {
            Float::F16 => Elem::F16,
            Float::BF16 => Elem::BF16,
            Float::F32 => Elem::F32,
            Float::F64 => Elem::F64,
            Float::F8E4M3FN => Elem::F8E4M3FN,
            Float::F8E5M2 => Elem::F8E5M2,
            Float::F8E8M0FNU => Elem::F8E8M0FNU,
            Float::F6E2M3FN => Elem::F6E2M3FN,
            Float::F6E3M2FN => Elem::F6E3M2FN,
            Float::F4E2M1FN => Elem::F4E2M1FN,
        });
    }
    if ty.is_index() {
        return Some(Elem::INDEX);
    }
    let width = IntegerType::try_from(ty).ok()?.width();
    u8::try_from(width)
        .ok()
        .filter(|width| (1..=64).contains(width))
        .map(Elem::Int)
}

/// How many numbers a vector of these sizes has.
fn lanes(sizes: &[Option<i64>]) -> Option<u32> {
    let sizes: Option<Vec<i64>> = sizes.iter().copied().collect();
    let count = sizes?
        .iter()
        .try_fold(1_i64, |count, size| count.checked_mul(*size))?;
    u32::try_from(count).ok()
}

/// A thread of a GPU has 512 KiB of memory of its own, which are as many numbers of 64 bits; an interpreter's number takes as much.
const MOST_NUMBERS: u32 = 1 << 16;

/// Refuses vectors that no thread has room for.
fn refuse_huge_vectors(op: Op<'_>) -> Done<'_> {
    let values = op.results().chain(op.operands());
    for ty in values.map(Value::ty) {
        let is_huge = |shape: types::Shape<'_>| {
            let is_known = shape.sizes.iter().all(Option::is_some);
            is_known && lanes(&shape.sizes).is_none_or(|lanes| lanes > MOST_NUMBERS)
        };
        if types::vector_shape(ty).is_some_and(is_huge) {
            let message = format!(
                "{ty} has no room in a thread: at most {MOST_NUMBERS} numbers have. Run the kernel on smaller tiles"
            );
            return Err(Unknown::new(op, message));
        }
    }
    Ok(())
}

/// What is said of a pointer to a descriptor.
const UNKNOWN_BOX: &str = "a parameter is a pointer to a tensor map descriptor, and nothing tells what box that has: cast it to \
                           the !nvgpu.tensormap.descriptor that it was";

/// Returns true if a pointer is used as one to a descriptor.
fn is_tensor_map(arg: Value<'_>) -> bool {
    let copies = [
        nvvm::CP_ASYNC_BULK_TENSOR_SHARED_CLUSTER_GLOBAL,
        nvvm::CP_ASYNC_BULK_TENSOR_GLOBAL_SHARED_CTA,
    ];
    arg.uses()
        .into_iter()
        .any(|user| copies.iter().any(|copy| user.owner.is(copy)))
}

/// The descriptor that a lowered kernel's pointer `arg` stands for, if it is turned into one.
fn described(arg: Value<'_>) -> Option<Type<'_>> {
    let uses = arg.uses().into_iter();
    let casts = uses.filter(|user| user.owner.is(builtin::UNREALIZED_CONVERSION_CAST));
    let mut types = casts.map(|user| user.owner.result(0).ty());
    types.find(|ty| bulk::tensor_tile(*ty).is_some())
}

/// `kernel.mlir:12:8`, or all of the location if it is of another kind.
fn short(location: Location<'_>) -> String {
    file_position(location).map_or_else(|| location.to_string(), |place| place.to_string())
}

//! Host code of a whole program: device operations are tasks, which run kernels and access buffers, and functions of MLIR's runner
//! libraries print.
//!
//! **Condition.** `gpux` operations on buffers; `gpu` operations with tokens were imported (`--async-import-gpu`).
//!
//! **Refusals.** Tensors, clusters, functions without bodies that are not known, and launches whose sizes are no numbers.

use super::asynchronous::segments;
use super::flow::called;
use super::{Done, Reader, UncountedWaits, Unknown, lanes, number};
use crate::code::{Code, HostOp, HostPrint, Index, LaunchOp, Op as Instruction, Owner, Reg, TaskOp};
use crate::value::Elem;
use async_dialects::names::{gpux, gpux_attr};
use async_dialects::types::is_token;
use async_mlir::gpu::MemorySpace;
use async_mlir::ir::{Op, Value, Walk};
use async_mlir::melior::ir::TypeLike;
use async_mlir::names::{attr, func, gpu, vector};
use async_mlir::types;

/// Where the blocks, the threads, the size of dynamic workgroup memory and the arguments are among the operands of a launch, the
/// dependencies and the sizes of clusters being the first two.
const LAUNCH: [usize; 4] = [2, 3, 4, 5];
const CLUSTERS: usize = 1;

/// What functions of MLIR's runner libraries print that take nothing.
const TEXTS: [(&str, &str); 4] = [
    ("printOpen", "( "),
    ("printClose", " )"),
    ("printComma", ", "),
    ("printNewline", "\n"),
];

/// Reads `function` of a whole program, with the kernels that it launches.
///
/// # Errors
///
/// At the first operation that is not known, in a kernel, too.
pub fn read_program<'c>(
    function: Op<'c>,
    uncounted: UncountedWaits,
    file: &str,
) -> Result<Code, Unknown<'c>> {
    let mut reader = Reader::new(function, uncounted, file);
    reader.code.is_host = true;
    reader.code.is_program = true;
    reader.kernel(function)?;
    Ok(reader.finish())
}

/// Returns true if host code in `module` has a device do something.
#[must_use]
pub fn has_device_work(module: Op<'_>) -> bool {
    let stopped = module.walk(|op| match op.name() {
        gpu::MODULE => Walk::Skip,
        gpu::LAUNCH
        | gpu::LAUNCH_FUNC
        | gpu::ALLOC
        | gpu::DEALLOC
        | gpu::HOST_REGISTER
        | gpu::HOST_UNREGISTER
        | gpu::MEMCPY
        | gpu::MEMSET
        | gpu::WAIT
        | gpux::ALLOC
        | gpux::DEALLOC
        | gpux::HOST_ALLOC
        | gpux::TRANSFER
        | gpux::MEMSET
        | gpux::ASYNC_LAUNCH => Walk::Stop,
        _ => Walk::Advance,
    });
    stopped == Walk::Stop
}

impl<'c> Reader<'c> {
    /// Reads `op` if it is about a device, or prints, in host code; returns false if it is not.
    pub(super) fn host_op(&mut self, op: Op<'c>) -> Result<bool, Unknown<'c>> {
        if !self.code.is_program {
            return Ok(false);
        }
        if op.results().any(|result| result.ty().is_tensor()) {
            return Err(Unknown::new(
                op,
                "the interpreter has no tensors: run --one-shot-bufferize first",
            ));
        }
        match op.name() {
            gpux::ALLOC
            | gpux::HOST_ALLOC
            | gpux::DEALLOC
            | gpux::TRANSFER
            | gpux::MEMSET
            | gpux::ASYNC_LAUNCH => self.device_op(op)?,
            gpu::HOST_REGISTER | gpu::HOST_UNREGISTER => {
                let (view, locked) = (self.operand(op, 0), op.is(gpu::HOST_REGISTER));
                self.emit(op, Instruction::Host(HostOp::Register { view, locked }));
            }
            func::CALL if called(op, func::FUNC).is_none_or(|callee| callee.region(0).first().is_none()) => {
                self.library_call(op)?;
            }
            vector::PRINT => self.vector_print(op)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Reads a device operation: a task, if it is asynchronous.
    fn device_op(&mut self, op: Op<'c>) -> Done<'c> {
        let token = op.results().find(|result| is_token(result.ty()));
        let value = op.results().find(|result| !is_token(result.ty()));
        // An address is there at once, as stream-ordered allocation has it. What is there later is the memory.
        if op.is(gpux::ALLOC) || op.is(gpux::HOST_ALLOC) {
            let buffer = op.result(0);
            let sizes: Vec<Value> = op.operands().filter(|operand| !is_token(operand.ty())).collect();
            self.device_buffer(op, buffer, &sizes)?;
            let owner = if op.is(gpux::ALLOC) {
                Owner::Device
            } else {
                Owner::Both
            };
            self.own(op, buffer, owner);
        }
        let Some(token) = token else {
            let made = value.map(|value| self.reg(value));
            return self.device_work(op, made);
        };
        let dependencies = op.operands().filter(|operand| is_token(operand.ty()));
        let dependencies = dependencies.map(|token| self.reg(token)).collect();
        // The buffer that a transfer makes is a value of its task.
        let yielded = value.filter(|_| op.is(gpux::TRANSFER));
        let made = yielded.map(|_| self.fresh());
        let token = self.reg(token);
        let values = yielded.map(|value| self.reg(value)).into_iter().collect();
        let after = self.start_task(op, token, (values, dependencies), op.is(gpux::DEALLOC));
        let buffer = value.map(|value| self.reg(value));
        self.device_work(op, made.or(buffer))?;
        let end = TaskOp::End {
            values: made.into_iter().collect(),
            tokens: [].into(),
        };
        self.emit(op, Instruction::Task(end));
        self.bind(after);
        Ok(())
    }

    /// What a device operation does; `made` is the buffer that it makes, if it makes one.
    fn device_work(&mut self, op: Op<'c>, made: Option<Reg>) -> Done<'c> {
        let operands: Vec<Value> = op.operands().filter(|operand| !is_token(operand.ty())).collect();
        // As --gpux-host-to-runtime lowers it.
        let buffers = op.operands().chain(op.results());
        let one_by_one = buffers
            .filter(|value| !is_token(value.ty()))
            .any(|buffer| !types::is_contiguous(buffer.ty()));
        let host = match (op.name(), made) {
            (gpux::ALLOC | gpux::HOST_ALLOC, Some(view)) => HostOp::Claim { view },
            (gpux::DEALLOC, _) => HostOp::Dealloc {
                view: self.reg(operands[0]),
            },
            (gpux::MEMSET, _) => HostOp::Fill {
                view: self.reg(operands[1]),
                value: self.reg(operands[0]),
            },
            (gpux::TRANSFER, Some(to)) => HostOp::TransferToNew {
                from: self.reg(operands[0]),
                to,
                owner: owner(op.results().find(|result| !is_token(result.ty()))),
                one_by_one,
            },
            (gpux::TRANSFER, None) => HostOp::Transfer {
                from: self.reg(operands[0]),
                to: self.reg(operands[1]),
                one_by_one,
            },
            _ => HostOp::Launch(Box::new(self.launch_op(op)?)),
        };
        self.emit(op, Instruction::Host(host));
        Ok(())
    }

    fn device_buffer(&mut self, op: Op<'c>, buffer: Value<'c>, sizes: &[Value<'c>]) -> Done<'c> {
        let shape = types::memref_shape(buffer.ty()).ok_or_else(|| Unknown::operation(op))?;
        let (elem, lanes) = Self::element(op, shape.element)?;
        let alloc = Instruction::Alloc {
            to: self.reg(buffer),
            sizes: shape.sizes.into(),
            dynamic: sizes.iter().map(|size| self.reg(*size)).collect(),
            elem,
            lanes,
        };
        self.emit(op, alloc);
        Ok(())
    }

    fn own(&mut self, op: Op<'c>, view: Value<'c>, owner: Owner) {
        let view = self.reg(view);
        self.emit(op, Instruction::Host(HostOp::Own { view, owner }));
    }

    fn launch_op(&mut self, op: Op<'c>) -> Result<LaunchOp, Unknown<'c>> {
        let [clusters] = segments(op, [CLUSTERS])?;
        let alone = |size: usize| op.operand(size).as_constant_int() == Some(1);
        if !clusters.into_iter().all(alone) {
            return Err(Unknown::cluster(op));
        }
        let [blocks, threads, dynamic, args] = segments(op, LAUNCH)?;
        let mut size = |operand: Option<usize>, default: i64| match operand {
            Some(operand) => Index::Reg(self.operand(op, operand)),
            None => Index::Const(default),
        };
        let grid = [0, 1, 2].map(|dim| size(blocks.clone().nth(dim), 1));
        let block = [0, 1, 2].map(|dim| size(threads.clone().nth(dim), 1));
        let dynamic_workgroup = size(dynamic.clone().next(), 0);
        Ok(LaunchOp {
            kernel: self.kernel_of(op)?,
            grid,
            block,
            dynamic_workgroup,
            args: args.map(|arg| self.operand(op, arg)).collect(),
        })
    }

    /// The place of the kernel that `op` launches, which is read if it was not yet.
    fn kernel_of(&mut self, op: Op<'c>) -> Result<usize, Unknown<'c>> {
        let path = op.attr(gpux_attr::KERNEL_SYMBOL).and_then(types::symbol_path);
        let found = |path: &[&str]| find(op, path);
        let kernel = path.as_ref().and_then(|path| found(path));
        let kernel = kernel.ok_or_else(|| {
            let module = path.as_ref().and_then(|path| found(path.get(..1)?));
            let is_binary = module.is_some_and(|module| module.is(gpu::BINARY));
            Unknown::new(
                op,
                if is_binary {
                    "its kernel is in a gpu.binary: run the program as it is before --gpu-module-to-binary"
                } else {
                    "there is no such kernel in the module"
                },
            )
        })?;
        if let Some(known) = self.kernels.iter().position(|known| *known == kernel) {
            return Ok(known);
        }
        let code = super::read_from(kernel, self.uncounted, &self.file)?;
        self.kernels.push(kernel);
        self.code.kernels.push(code);
        Ok(self.kernels.len() - 1)
    }

    /// Reads a call of a function that MLIR's runner libraries have.
    fn library_call(&mut self, op: Op<'c>) -> Done<'c> {
        let name = op.attr(attr::CALLEE).and_then(types::symbol).unwrap_or_default();
        let plain = name.strip_prefix("_mlir_ciface_").unwrap_or(name);
        let operand = (op.num_operands() == 1).then(|| op.operand(0));
        let print = match operand {
            None => {
                let known = TEXTS.iter().find(|(known, _)| *known == plain);
                known.map(|(_, text)| HostPrint::Text((*text).to_owned()))
            }
            Some(value) if plain.starts_with("printMemref") => {
                let elem = types::memref_element(value.ty()).and_then(number);
                elem.map(|_| HostPrint::MemRef {
                    view: self.reg(value),
                    unsigned: plain.ends_with("Ind"),
                })
            }
            Some(value) if plain.starts_with("print") => number(value.ty()).map(|elem| HostPrint::Number {
                value: self.reg(value),
                elem,
                unsigned: plain.starts_with("printU"),
            }),
            Some(_) => None,
        };
        let print = print.ok_or_else(|| {
            let message = format!(
                "'{name}' has no body to run, and is none of the functions of MLIR's runner libraries that print"
            );
            Unknown::new(op, message)
        })?;
        self.emit(op, Instruction::Host(HostOp::Print(print)));
        Ok(())
    }

    fn vector_print(&mut self, op: Op<'c>) -> Done<'c> {
        let mut prints = Vec::new();
        if op.num_operands() == 1 {
            let value = op.operand(0);
            let elem = Self::elem(op, value.ty())?;
            let reg = self.reg(value);
            let element = types::vector_shape(value.ty()).map_or(value.ty(), |shape| shape.element);
            // As upstream's lowering takes them.
            let unsigned = elem == Elem::Int(1) || element.is_index();
            prints.push(match types::vector_shape(value.ty()) {
                None => HostPrint::Number {
                    value: reg,
                    elem,
                    unsigned,
                },
                Some(shape) => HostPrint::Vector {
                    value: reg,
                    elem,
                    unsigned,
                    sizes: sizes_of(op, &shape.sizes)?,
                },
            });
        }
        let punctuation = op.attr(attr::PUNCTUATION).and_then(types::keyword);
        // Nothing comes after a text.
        let text = op.str_attr(attr::STRING_LITERAL).unwrap_or(match punctuation {
            Some("no_punctuation") => "",
            Some("comma") => ", ",
            Some("open") => "( ",
            Some("close") => " )",
            _ => "\n",
        });
        prints.push(HostPrint::Text(text.to_owned()));
        for print in prints {
            self.emit(op, Instruction::Host(HostOp::Print(print)));
        }
        Ok(())
    }
}

/// The operation that a path of symbols names in one of the tables around `op`.
fn find<'c>(op: Op<'c>, path: &[&str]) -> Option<Op<'c>> {
    let inside = |table: Op<'c>, name: &str| {
        let block = (table.num_regions() == 1).then(|| table.region(0).first())??;
        let mut ops = block.ops().into_iter();
        ops.find(|op| op.str_attr(attr::SYM_NAME) == Some(name))
    };
    let (root, nested) = path.split_first()?;
    let root = op.ancestors().find_map(|table| inside(table, root))?;
    nested.iter().try_fold(root, |table, name| inside(table, name))
}

fn sizes_of<'c>(op: Op<'c>, sizes: &[Option<i64>]) -> Result<Box<[i64]>, Unknown<'c>> {
    lanes(sizes).ok_or_else(|| Unknown::operation(op))?;
    Ok(sizes.iter().copied().flatten().collect())
}

/// Who may access a buffer that is made for `value`.
fn owner(value: Option<Value<'_>>) -> Owner {
    match value.and_then(|value| MemorySpace::of(value.ty())) {
        Some(MemorySpace::Global) => Owner::Device,
        _ => Owner::Both,
    }
}

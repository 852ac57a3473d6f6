//! Generates wrapper functions for calls of the runtime: for transfers that are not contiguous, fills, and
//! launches, whose arguments they store to memory. They are written as text, once for each rank and each
//! list of types.

use crate::utils::llvm_builder::{LlvmBuilder, rt};
use async_mlir::gpu::function_type;
use async_mlir::ir::{Block, Op};
use async_mlir::melior::ir::{Module, Type};
use async_mlir::names::attr;
use std::fmt::Write;

/// Generates the wrapper functions of a module.
pub(super) struct Wrappers<'a, 'c> {
    module: Op<'c>,
    builder: &'a LlvmBuilder<'c>,
}

impl<'a, 'c> Wrappers<'a, 'c> {
    pub(super) fn new(module: Op<'c>, builder: &'a LlvmBuilder<'c>) -> Self {
        Self { module, builder }
    }

    /// The name of the function that transfers buffers of `rank` dimensions. It takes the token of the task, the device, the addresses of
    /// destination and source, the size of an element in bytes, the place, sizes, and the strides of both in elements.
    pub(super) fn strided_transfer(&self, rank: usize) -> String {
        let base = format!("{}_rank{rank}", rt::DEVICE_TRANSFER);
        self.builder.shared(&base, |name| {
            self.add(&strided_transfer(name, rank));
        })
    }

    /// The name of the function that launches a kernel with arguments of these types. It takes the token of the task, the device, the name, the
    /// place, ten sizes as in `asyncopt_rt_launch_sizes`, and the arguments.
    pub(super) fn launch(&self, types: &[Type<'c>]) -> String {
        let list: Vec<String> = types.iter().map(Type::to_string).collect();
        let key = format!("{} {}", rt::DEVICE_LAUNCH, list.join(", "));
        self.builder
            .shared_as(&key, &format!("{}_args", rt::DEVICE_LAUNCH), |name| {
                self.add(&launch(name, &list));
            })
    }

    /// The name of the function that sets elements of type `ty`. It takes the token of the task, the device, the address, the value, its size in
    /// bytes, how many there are, and the place.
    pub(super) fn memset(&self, ty: Type<'c>) -> String {
        let key = format!("{} {ty}", rt::DEVICE_MEMSET);
        self.builder
            .shared_as(&key, &format!("{}_value", rt::DEVICE_MEMSET), |name| {
                self.add(&memset(name, &ty.to_string()));
            })
    }

    /// The name of the function that transfers to a buffer that was allocated for that, and frees it with `dealloc` if the transfer fails: nobody
    /// else will know it. It takes what `transfer` does, the function for the transfer of contiguous buffers or for one of `rank` dimensions.
    pub(super) fn transfer_to_new(&self, transfer: &str, rank: usize, dealloc: &str) -> String {
        let key = format!("{transfer} {dealloc}");
        let base = format!("{}_to_new", rt::DEVICE_TRANSFER);
        self.builder.shared_as(&key, &base, |name| {
            self.add(&transfer_to_new(name, transfer, rank, dealloc));
        })
    }

    /// Adds the last function of `text`. The ones before it are declarations of what it calls.
    fn add(&self, text: &str) {
        let parsed =
            Module::parse(self.builder.context(), text).unwrap_or_else(|| panic!("is not MLIR:\n{text}"));
        let functions = Op::from(parsed.as_operation())
            .region(0)
            .first()
            .map_or(Vec::new(), Block::ops);
        let Some(body) = self.module.region(0).first() else {
            return;
        };
        let Some((new, declarations)) = functions.split_last() else {
            return;
        };
        for declaration in declarations {
            let name = declaration.str_attr(attr::SYM_NAME).unwrap_or_default();
            if let Some(ty) = function_type(*declaration) {
                self.builder.expect_declaration(name, ty);
            }
            if self.builder.reserve_name(name) {
                declaration.detach();
                body.append(*declaration);
            }
        }
        new.detach();
        body.append(*new);
    }
}

/// Parameters of these types, after others, with names that begin with `letter`.
fn parameters(letter: char, types: &[String]) -> String {
    let numbered = types.iter().enumerate();
    let list: Vec<String> = numbered.map(|(i, ty)| format!(", %{letter}{i}: {ty}")).collect();
    list.concat()
}

fn strided_transfer(name: &str, rank: usize) -> String {
    let list = |letter: char| parameters(letter, &vec!["i64".to_owned(); rank]);
    let mut text = format!(
        "func.func private @{callee}(!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> i32
func.func private @{name}(%task: !llvm.ptr, %device: i32, %to: !llvm.ptr, %from: !llvm.ptr, %bytes: i64, %place: !llvm.ptr{sizes}{to}{from}) -> i32 {{
%zero = arith.constant 0 : i64\n%one = arith.constant 1 : i64\n%good = arith.constant 0 : i32\n",
        callee = rt::DEVICE_TRANSFER,
        sizes = list('n'),
        to = list('d'),
        from = list('s'),
    );
    // The status, and both addresses, of the dimensions so far.
    let (mut status, mut to, mut from) = ("%good".to_owned(), "%to".to_owned(), "%from".to_owned());
    for i in 0..rank {
        write!(
            text,
            "%r{i} = scf.for %i{i} = %zero to %n{i} step %one iter_args(%e{i} = {status}) -> (i32) : i64 {{
%x{i} = arith.muli %i{i}, %d{i} : i64\n%xb{i} = arith.muli %x{i}, %bytes : i64
%p{i} = llvm.getelementptr {to}[%xb{i}] : (!llvm.ptr, i64) -> !llvm.ptr, i8
%y{i} = arith.muli %i{i}, %s{i} : i64\n%yb{i} = arith.muli %y{i}, %bytes : i64
%q{i} = llvm.getelementptr {from}[%yb{i}] : (!llvm.ptr, i64) -> !llvm.ptr, i8\n"
        )
        .expect("memory");
        (status, to, from) = (format!("%e{i}"), format!("%p{i}"), format!("%q{i}"));
    }
    write!(
        text,
        "%t = func.call @{callee}(%task, %device, {to}, {from}, %bytes, %place) : (!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> i32
%u = arith.ori {status}, %t : i32\n",
        callee = rt::DEVICE_TRANSFER
    )
    .expect("memory");
    let mut result = "%u".to_owned();
    for i in (0..rank).rev() {
        write!(text, "scf.yield {result} : i32\n}}\n").expect("memory");
        result = format!("%r{i}");
    }
    text + &format!("return {result} : i32\n}}\n")
}

fn transfer_to_new(name: &str, transfer: &str, rank: usize, dealloc: &str) -> String {
    let numbers = vec!["i64".to_owned(); 3 * rank];
    let parameters = parameters('n', &numbers);
    let types = ", i64".repeat(numbers.len());
    let operands: Vec<String> = (0..numbers.len()).map(|i| format!(", %n{i}")).collect();
    let operands = operands.concat();
    format!(
        "func.func private @{dealloc}(!llvm.ptr, i32, !llvm.ptr, !llvm.ptr) -> i32
func.func private @{transfer}(!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr{types}) -> i32
func.func private @{name}(%task: !llvm.ptr, %device: i32, %to: !llvm.ptr, %from: !llvm.ptr, %bytes: i64, %place: !llvm.ptr{parameters}) -> i32 {{
%good = arith.constant 0 : i32
%status = func.call @{transfer}(%task, %device, %to, %from, %bytes, %place{operands}) : (!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr{types}) -> i32
%failed = arith.cmpi ne, %status, %good : i32
scf.if %failed {{
func.call @{dealloc}(%task, %device, %to, %place) : (!llvm.ptr, i32, !llvm.ptr, !llvm.ptr) -> i32
}}
return %status : i32
}}
"
    )
}

fn launch(name: &str, types: &[String]) -> String {
    let sizes = parameters('n', &vec!["i64".to_owned(); 10]);
    let arguments = parameters('a', types);
    let count = types.len();
    let mut text = format!(
        "func.func private @{callee}(!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> i32
func.func private @{name}(%task: !llvm.ptr, %device: i32, %kernel: !llvm.ptr, %place: !llvm.ptr{sizes}{arguments}) -> i32 {{
%one = llvm.mlir.constant(1 : i64) : i64\n%count = llvm.mlir.constant({count} : i64) : i64
%sizes = llvm.alloca %one x !llvm.array<10 x i64> : (i64) -> !llvm.ptr
%pointers = llvm.alloca %one x !llvm.array<{count} x ptr> : (i64) -> !llvm.ptr\n",
        callee = rt::DEVICE_LAUNCH
    );
    for i in 0..10 {
        write!(
            text,
            "%s{i} = llvm.getelementptr %sizes[0, {i}] : (!llvm.ptr) -> !llvm.ptr, !llvm.array<10 x i64>\nllvm.store %n{i}, %s{i} : i64, !llvm.ptr\n"
        )
        .expect("memory");
    }
    for (i, ty) in types.iter().enumerate() {
        write!(
            text,
            "%p{i} = llvm.alloca %one x {ty} : (i64) -> !llvm.ptr\nllvm.store %a{i}, %p{i} : {ty}, !llvm.ptr
%q{i} = llvm.getelementptr %pointers[0, {i}] : (!llvm.ptr) -> !llvm.ptr, !llvm.array<{count} x ptr>\nllvm.store %p{i}, %q{i} : !llvm.ptr, !llvm.ptr\n"
        )
        .expect("memory");
    }
    write!(
        text,
        "%status = func.call @{callee}(%task, %device, %kernel, %sizes, %pointers, %count, %place) : (!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> i32
return %status : i32\n}}\n",
        callee = rt::DEVICE_LAUNCH
    )
    .expect("memory");
    text
}

fn memset(name: &str, ty: &str) -> String {
    format!(
        "func.func private @{callee}(!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i64, i64, !llvm.ptr) -> i32
func.func private @{name}(%task: !llvm.ptr, %device: i32, %to: !llvm.ptr, %value: {ty}, %bytes: i64, %count: i64, %place: !llvm.ptr) -> i32 {{
%one = llvm.mlir.constant(1 : i64) : i64
%element = llvm.alloca %one x {ty} : (i64) -> !llvm.ptr
llvm.store %value, %element : {ty}, !llvm.ptr
%status = func.call @{callee}(%task, %device, %to, %element, %bytes, %count, %place) : (!llvm.ptr, i32, !llvm.ptr, !llvm.ptr, i64, i64, !llvm.ptr) -> i32
return %status : i32
}}
",
        callee = rt::DEVICE_MEMSET
    )
}

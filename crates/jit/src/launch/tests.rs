//! Kernels on memory of this test.

use super::launch;
use crate::host::Host;
use crate::kernels::Kernels;
use async_dialects::registry::register_all_dialects;
use async_mlir::ir::Op;
use async_mlir::melior::{Context, dialect::DialectRegistry, ir::Module};
use async_sim::adversary::Adversary;
use async_sim::embed::{Decoded, Outside};
use async_sim::memory::Memory;
use asyncopt_rt::device::LaunchSizes;
use std::ffi::{CStr, CString, c_void};
use std::ptr;

/// A value of an argument.
enum Arg {
    Pointer(*mut c_void),
    I64(i64),
    I32(i32),
}
use Arg::{I32, I64, Pointer};

impl Arg {
    fn pointer(&mut self) -> *mut c_void {
        match self {
            Pointer(value) => ptr::from_mut(value).cast(),
            I64(value) => ptr::from_mut(value).cast(),
            I32(value) => ptr::from_mut(value).cast(),
        }
    }
}

/// The values of a memref of rank 1.
fn memref<T>(data: *mut T, offset: i64, size: i64, stride: i64) -> [Arg; 5] {
    let data = data.cast();
    [Pointer(data), Pointer(data), I64(offset), I64(size), I64(stride)]
}

fn kernels(source: &str) -> Kernels {
    let registry = DialectRegistry::new();
    register_all_dialects(&registry);
    async_dialects::registry::register_upstream_passes();
    let context = Context::new_with_registry(&registry, true);
    let module = Module::parse(&context, source).expect("a module");
    // SAFETY: the module lives until this returns.
    let op = unsafe { Op::from_raw(module.as_operation().to_raw()) };
    Kernels::read(op, "kernels.mlir").expect("kernels")
}

fn sizes(grid: i64, block: i64) -> LaunchSizes {
    LaunchSizes {
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        cluster: [1; 3],
        workgroup_bytes: 0,
    }
}

/// Launches `m::k`; returns what it fails with.
fn launch_kernel(
    kernels: &Kernels,
    sizes: &LaunchSizes,
    arguments: impl IntoIterator<Item = Arg>,
) -> Result<(), String> {
    let mut arguments: Vec<_> = arguments.into_iter().collect();
    let pointers: Vec<_> = arguments.iter_mut().map(Arg::pointer).collect();
    let mut message = [0u8; 512];
    let name = CString::new("m::k").unwrap();
    // SAFETY: all of it is as the runtime's header says.
    let status = unsafe {
        launch(
            ptr::from_ref(kernels).cast_mut().cast(),
            name.as_ptr(),
            sizes,
            pointers.as_ptr(),
            pointers.len().try_into().unwrap(),
            message.as_mut_ptr().cast(),
            512,
        )
    };
    let text = CStr::from_bytes_until_nul(&message).unwrap().to_str().unwrap();
    if status == 0 { Ok(()) } else { Err(text.to_owned()) }
}

const INCREMENT: &str = "
gpu.module @m {
  gpu.func @k(%m: memref<?xi32, strided<[?], offset: ?>>, %n: i32) kernel {
    %t = gpu.thread_id x
    %x = memref.load %m[%t] : memref<?xi32, strided<[?], offset: ?>>
    %y = arith.addi %x, %n : i32
    memref.store %y, %m[%t] : memref<?xi32, strided<[?], offset: ?>>
    gpu.return
  }
}";

#[test]
fn offsets_and_strides_are_those_of_the_descriptor() {
    let kernels = kernels(INCREMENT);
    let mut numbers = [0, 1, 2, 3, 4, 5, 6, 7];
    // Elements 6, 4 and 2.
    let arguments = memref(numbers.as_mut_ptr(), 6, 3, -2)
        .into_iter()
        .chain([I32(10)]);
    launch_kernel(&kernels, &sizes(1, 3), arguments).unwrap();
    assert_eq!(numbers, [0, 1, 12, 3, 14, 5, 16, 7]);
}

#[test]
fn memrefs_that_overlap_are_one_memory() {
    let kernels = kernels(
        "
gpu.module @m {
  gpu.func @k(%a: memref<?xi32>, %b: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %x = memref.load %a[%c0] : memref<?xi32>
    memref.store %x, %a[%c1] : memref<?xi32>
    %y = memref.load %b[%c0] : memref<?xi32>
    memref.store %y, %b[%c2] : memref<?xi32>
    gpu.return
  }
}",
    );
    let mut numbers = [7, 1, 2, 3];
    let data = numbers.as_mut_ptr();
    let arguments = memref(data, 0, 3, 1)
        .into_iter()
        .chain(memref(data.wrapping_add(1), 0, 3, 1));
    launch_kernel(&kernels, &sizes(1, 1), arguments).unwrap();
    assert_eq!(numbers, [7, 7, 2, 7]);
}

/// So that two kernels may run at a time on parts of one memref.
#[test]
fn only_bytes_that_have_changed_are_written_back() {
    let kernels = kernels(INCREMENT);
    let code = kernels.get("m::k").unwrap();
    let mut numbers = [0i32, 1, 2, 3];
    let mut arguments: Vec<_> = memref(numbers.as_mut_ptr(), 0, 4, 1)
        .into_iter()
        .chain([I32(1)])
        .collect();
    let pointers: Vec<_> = arguments.iter_mut().map(Arg::pointer).collect();
    let pointers: Vec<u64> = pointers.iter().map(|at| at.expose_provenance() as u64).collect();
    let mut memory = Memory::new(Adversary::Late, 1);
    // SAFETY: they are those of the kernel.
    let mut host = unsafe { Host::new() };
    let decoded = Decoded::read(code, &pointers, &|from, into| host.read(from, into)).unwrap();
    let read = decoded.bind(&mut memory, &host).unwrap();
    let (mut buffers, ..) = memory.into_parts();
    let end = buffers[0].data.len();
    buffers[0].data[end - 4..].copy_from_slice(&9i32.to_ne_bytes());
    // Somebody else.
    // SAFETY: it is there.
    unsafe { numbers.as_mut_ptr().write_volatile(5) };
    read.write_back(&buffers, &mut host);
    assert_eq!(numbers, [5, 1, 2, 9]);
}

#[test]
fn what_a_kernel_has_done_is_not_written_if_it_fails() {
    let kernels = kernels(INCREMENT);
    let mut numbers = [0, 1, 2, 3];
    let arguments = memref(numbers.as_mut_ptr(), 0, 3, 1).into_iter().chain([I32(10)]);
    let message = launch_kernel(&kernels, &sizes(1, 4), arguments).unwrap_err();
    assert!(message.starts_with("kernel 'm::k': "), "{message}");
    assert!(
        message.contains("out of bounds") && message.contains("5:10"),
        "{message}"
    );
    assert_eq!(numbers, [0, 1, 2, 3]);
}

#[repr(align(256))]
struct Aligned([i32; 16]);

/// What an access is aligned to is told by addresses of the host.
#[test]
fn addresses_are_aligned_as_they_are_on_the_host() {
    let kernels = kernels(
        "
gpu.module @m {
  gpu.func @k(%m: memref<1xvector<4xi32>>) kernel {
    %c0 = arith.constant 0 : index
    %x = memref.load %m[%c0] : memref<1xvector<4xi32>>
    %y = arith.addi %x, %x : vector<4xi32>
    memref.store %y, %m[%c0] : memref<1xvector<4xi32>>
    gpu.return
  }
}",
    );
    let mut numbers = Aligned([1; 16]);
    let data = numbers.0.as_mut_ptr();
    launch_kernel(&kernels, &sizes(1, 1), memref(data.wrapping_add(4), 0, 1, 1)).unwrap();
    assert_eq!(numbers.0[3..9], [1, 2, 2, 2, 2, 1]);
    let message = launch_kernel(&kernels, &sizes(1, 1), memref(data.wrapping_add(1), 0, 1, 1)).unwrap_err();
    assert!(message.contains("multiple of 16"), "{message}");
}

#[test]
fn arguments_and_sizes_that_do_not_fit_are_errors() {
    let source = INCREMENT
        .replace("?xi32, strided<[?], offset: ?>", "4xi32")
        .replace(
            "kernel {",
            "kernel attributes {known_block_size = array<i32: 4, 1, 1>} {",
        );
    let kernels = kernels(&source);
    let mut numbers = [0i32; 4];
    let data = numbers.as_mut_ptr();
    let launch = |sizes, arguments: [Arg; 5], last: Option<Arg>| {
        launch_kernel(&kernels, &sizes, arguments.into_iter().chain(last)).unwrap_err()
    };
    let one = Some(I32(1));
    assert_eq!(
        launch(sizes(1, 4), memref(data, 0, 4, 1), None),
        "kernel 'm::k': it is launched with 5 values, and takes 6, the fields of memrefs being values of their own"
    );
    assert_eq!(
        launch(sizes(1, 4), memref(data, 0, 5, 1), one),
        "kernel 'm::k': argument 0 has size 5 in dimension 0, which its type does not allow"
    );
    assert_eq!(
        launch(sizes(1, 4), memref(ptr::null_mut::<i32>(), 0, 4, 1), Some(I32(1))),
        "kernel 'm::k': argument 0 is a null pointer"
    );
    assert_eq!(
        launch(sizes(1, 4), memref(data, 0, 4, i64::MAX), Some(I32(1))),
        "kernel 'm::k': argument 0 has sizes and strides that no memory has room for"
    );
    assert_eq!(
        launch(sizes(1, 4), memref(data, 0, 4, 1 << 40), Some(I32(1))),
        "kernel 'm::k': its memrefs have more bytes than the interpreter has room for"
    );
    assert_eq!(
        launch(sizes(1, 8), memref(data, 0, 4, 1), Some(I32(1))),
        "kernel 'm::k': it is launched with blocks of [8, 1, 1], and says itself that it is for [4, 1, 1]"
    );
    assert_eq!(
        launch(sizes(0, 4), memref(data, 0, 4, 1), Some(I32(1))),
        "kernel 'm::k': it is launched with a grid of [0, 1, 1], and each is 1 to 4294967295"
    );
    assert_eq!(
        launch(sizes(1, 2000), memref(data, 0, 4, 1), Some(I32(1))),
        "kernel 'm::k': it is launched with blocks of [2000, 1, 1] threads, and 1024 is the most"
    );
}

#[test]
fn memrefs_without_elements_need_no_memory() {
    let kernels = kernels("gpu.module @m { gpu.func @k(%m: memref<?xi32>) kernel { gpu.return } }");
    launch_kernel(&kernels, &sizes(1, 1), memref(ptr::null_mut::<i32>(), 0, 0, 1)).unwrap();
}

/// Each of two threads launches a kernel, again and again, on every other element.
#[test]
fn kernels_run_at_a_time_on_parts_of_one_buffer() {
    let kernels = kernels(INCREMENT);
    let mut numbers = [0i32; 64];
    let data = numbers.as_mut_ptr().expose_provenance();
    std::thread::scope(|scope| {
        for first in 0..2 {
            let kernels = &kernels;
            scope.spawn(move || {
                let data = ptr::with_exposed_provenance_mut::<i32>(data);
                for _ in 0..100 {
                    let arguments = memref(data, first, 32, 2).into_iter().chain([I32(1)]);
                    launch_kernel(kernels, &sizes(1, 32), arguments).unwrap();
                }
            });
        }
    });
    assert_eq!(numbers, [100; 64]);
}

/// Each of two threads launches a kernel, again and again, whose threads all add to one number.
#[test]
fn atomic_accesses_of_kernels_at_a_time_are_all_there() {
    let source = INCREMENT.replace(
        "%x = memref.load",
        "%zero = arith.constant 0 : index
    %old = memref.atomic_rmw addi %n, %m[%zero] : (i32, memref<?xi32, strided<[?], offset: ?>>) -> i32
    gpu.return
  }
  gpu.func @other(%m: memref<?xi32, strided<[?], offset: ?>>, %n: i32, %t: index) kernel {
    %x = memref.load",
    );
    let kernels = kernels(&source);
    let mut sum = 0i32;
    let data = (&raw mut sum).expose_provenance();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let kernels = &kernels;
            scope.spawn(move || {
                let data = ptr::with_exposed_provenance_mut::<i32>(data);
                for _ in 0..100 {
                    let arguments = memref(data, 0, 1, 1).into_iter().chain([I32(1)]);
                    launch_kernel(kernels, &sizes(1, 32), arguments).unwrap();
                }
            });
        }
    });
    assert_eq!(sum, 2 * 100 * 32);
}

/// Kernels in token form: what the interpreter is there for.
#[test]
fn a_copy_that_nobody_awaits_fails_the_launch() {
    let source = "
gpu.module @m {
  gpu.func @k(%m: memref<4xf32>) workgroup(%tile: memref<4xf32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %t = gpux.copy async %m[%c0], %tile[%c0], 4 : memref<4xf32> to memref<4xf32, #gpu.address_space<workgroup>>
    async.await %t
    %x = memref.load %tile[%c0] : memref<4xf32, #gpu.address_space<workgroup>>
    %y = arith.addf %x, %x : f32
    memref.store %y, %m[%c0] : memref<4xf32>
    gpu.return
  }
}";
    let mut numbers = Box::new(Aligned([0; 16]));
    let floats = numbers.0.as_mut_ptr().cast::<f32>();
    // SAFETY: there are 16 numbers.
    unsafe { floats.write(3.0) };
    let launch = |source: &str| {
        let memref = memref(floats, 0, 4, 1);
        launch_kernel(&kernels(source), &sizes(1, 1), memref)
    };
    launch(source).unwrap();
    let message = launch(&source.replace("async.await %t", "")).unwrap_err();
    assert!(message.contains("RAW race"), "{message}");
    // SAFETY: as above.
    assert_eq!(unsafe { floats.read() }.to_string(), "6");
}

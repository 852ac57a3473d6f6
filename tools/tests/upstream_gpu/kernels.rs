//! Upstream's host code with kernels that run: `#gpux.sim_target` makes code for the simulated device.

use super::{LOWER, Printed, has_runtime, run, run_upstream};
use anyhow::{Result, ensure};

const KERNEL: &str = include_str!("kernel.mlir");
const SCHEDULES: [&str; 4] = ["late", "early", "random:1", "random:2"];

/// Makes code of the kernels.
fn serialized(program: &str) -> Result<Printed> {
    let pipeline = "--pass-pipeline=builtin.module(gpux-attach-sim-target,gpu-module-to-binary)";
    run(env!("CARGO_BIN_EXE_async-opt"), &[pipeline], &[], program)
}

/// Has upstream lower and run a program with kernels.
fn run_with_kernels(program: &str, settings: &[(&str, &str)]) -> Result<Printed> {
    let serialized = serialized(program)?;
    ensure!(serialized.succeeds, "{}", serialized.errors);
    let ran = run_upstream(&serialized.output, "", settings)?;
    ensure!(ran.succeeds, "{}", ran.errors);
    Ok(ran)
}

fn holds(text: &str, part: &str) -> Result<()> {
    ensure!(text.contains(part), "'{part}' is not in\n{text}");
    Ok(())
}

/// A program with a kernel, and host code around its launches on `%x`, 8 zeros in memory of the device.
fn program(kernels: &str, launches: &str) -> String {
    format!(
        "module attributes {{gpu.container_module}} {{
  gpu.module @kernels {{{kernels}}}
  func.func private @printMemrefI32(memref<*xi32>)
  func.func @main() {{
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant 0 : i32
    %host = memref.alloc() : memref<8xi32>
    %s0 = gpu.wait async
    %x, %s1 = gpu.alloc async [%s0] () : memref<8xi32>
    %t0 = gpu.memset async [%s1] %x, %zero : memref<8xi32>, i32
    {launches}
    %copied = gpu.memcpy async [%t] %host, %x : memref<8xi32>, memref<8xi32>
    gpu.wait [%copied]
    %s2 = gpu.wait async
    %freed = gpu.dealloc async [%s2] %x : memref<8xi32>
    gpu.wait [%freed]
    %all = memref.cast %host : memref<8xi32> to memref<*xi32>
    call @printMemrefI32(%all) : (memref<*xi32>) -> ()
    memref.dealloc %host : memref<8xi32>
    return
  }}
}}"
    )
}

fn launch(before: &str, after: &str, threads: &str) -> String {
    format!(
        "{after} = gpu.launch_func async [{before}] @kernels::@k blocks in (%c1, %c1, %c1) threads in ({threads}, %c1, %c1) args(%x : memref<8xi32>)\n"
    )
}

#[test]
fn a_kernel_runs_under_each_schedule() -> Result<()> {
    if !has_runtime() {
        return Ok(());
    }
    for schedule in SCHEDULES {
        let ran = run_with_kernels(KERNEL, &[("ASYNCOPT_DEVICE_SCHEDULE", schedule)])?;
        holds(&ran.output, "[13,  12,  11,  10,  17,  16,  15,  14]")?;
        holds(&ran.errors, "launches 1 (0 empty)")?;
        holds(&ran.errors, "findings 0, different 0")?;
    }
    Ok(())
}

/// Upstream launches with descriptors, or by an option with pointers alone.
#[test]
fn arguments_may_be_bare_pointers() -> Result<()> {
    if !has_runtime() {
        return Ok(());
    }
    let serialized = serialized(KERNEL)?;
    let bare = "gpu-to-llvm{use-bare-pointers-for-kernels=1}";
    let lower = LOWER.replace("gpu-to-llvm", bare);
    ensure!(lower.contains(bare));
    let ran = super::lower_and_run(&serialized.output, &lower, &[])?;
    holds(&ran.output, "[13,  12,  11,  10,  17,  16,  15,  14]")?;
    holds(&ran.errors, "findings 0, different 0")
}

#[test]
fn kernels_that_wait_for_each_other_end() -> Result<()> {
    if !has_runtime() {
        return Ok(());
    }
    for schedule in SCHEDULES {
        let program = include_str!("kernels-at-a-time.mlir");
        let ran = run_with_kernels(program, &[("ASYNCOPT_DEVICE_SCHEDULE", schedule)])?;
        ensure!(ran.output == "8\n", "{}", ran.output);
        holds(&ran.errors, "findings 0, different 0")?;
    }
    Ok(())
}

#[test]
fn a_kernel_that_does_not_end_is_given_up() -> Result<()> {
    if !has_runtime() {
        return Ok(());
    }
    let kernel = "
    gpu.func @k(%x: memref<8xi32>) kernel {
      cf.br ^loop
    ^loop:
      cf.br ^loop
    }";
    let ran = run_with_kernels(&program(kernel, &launch("%t0", "%t", "%c1")), &[])?;
    holds(
        &ran.errors,
        "mgpuLaunchKernel (call 6): kernel failed: kernel 'kernels::k': ",
    )?;
    holds(&ran.errors, "the thread has run longer than")
}

/// Only what is there is copied for the kernel.
#[test]
fn a_memref_that_is_larger_than_its_memory_is_out_of_bounds_where_it_is_accessed() -> Result<()> {
    if !has_runtime() {
        return Ok(());
    }
    let kernel = "
    gpu.func @huge(%x: memref<100000000xi32>, %at: index) kernel {
      %seven = arith.constant 7 : i32
      memref.store %seven, %x[%at] : memref<100000000xi32>
      gpu.return
    }";
    let launches = |at: &str| {
        format!(
            "%huge = memref.reinterpret_cast %x to offset: [0], sizes: [100000000], strides: [1] : memref<8xi32> to memref<100000000xi32>
    %at = arith.constant {at} : index
    %t = gpu.launch_func async [%t0] @kernels::@huge blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%huge : memref<100000000xi32>, %at : index)"
        )
    };
    let ran = run_with_kernels(&program(kernel, &launches("1")), &[])?;
    holds(&ran.output, "[0,  7,  0,  0,  0,  0,  0,  0]")?;
    holds(&ran.errors, "findings 0, different 0")?;
    let ran = run_with_kernels(&program(kernel, &launches("8")), &[])?;
    holds(&ran.errors, "kernel failed: kernel 'kernels::huge': ")?;
    holds(
        &ran.errors,
        "4 bytes from byte 32 on are not inside of argument 0, which has 32 bytes",
    )
}

#[test]
fn races_in_kernels_and_between_them_are_reported_with_their_places() -> Result<()> {
    if !has_runtime() {
        return Ok(());
    }
    let ran = run_with_kernels(include_str!("kernel-race.mlir"), &[])?;
    for part in [
        "mgpuLaunchKernel (call 5): kernel failed: kernel 'kernels::no_barrier': <stdin>:10:14: error: RAW race",
        "against: memref.store at <stdin>:9:7",
        "mgpuLaunchKernel (call 13): WAW race: mgpuLaunchKernel (call 11) writes and mgpuLaunchKernel (call 13) writes bytes 0 to 15",
        "findings 2, different 2",
    ] {
        holds(&ran.errors, part)?;
    }
    Ok(())
}

/// What two kernels do wrong are two findings, and what one does twice is one.
#[test]
fn each_kernel_that_fails_is_reported() -> Result<()> {
    if !has_runtime() {
        return Ok(());
    }
    let kernel = |name: &str, index: i64| {
        format!(
            "gpu.func @{name}(%x: memref<8xi32>) kernel {{
              %i = arith.constant {index} : index
              %value = memref.load %x[%i] : memref<8xi32>
              gpu.return
            }}\n"
        )
    };
    let launches = [
        launch("%t0", "%t1", "%c1"),
        launch("%t1", "%t2", "%c1").replace("@k ", "@other "),
        launch("%t2", "%t", "%c1"),
    ];
    let kernels = [kernel("k", 8), kernel("other", 9)].concat();
    let ran = run_with_kernels(&program(&kernels, &launches.concat()), &[])?;
    for part in [
        "(call 6): kernel failed: kernel 'kernels::k': ",
        "(call 8): kernel failed: kernel 'kernels::other': ",
        "mgpuLaunchKernel: kernel failed: 1 more like that",
        "findings 3, different 2",
    ] {
        holds(&ran.errors, part)?;
    }
    Ok(())
}

/// And what kernels print comes in its place.
#[test]
fn variables_of_a_module_keep_what_kernels_write() -> Result<()> {
    if !has_runtime() {
        return Ok(());
    }
    let kernel = "
    memref.global @sum : memref<1xi32> = dense<40>
    gpu.func @k(%x: memref<8xi32>) kernel {
      %c0 = arith.constant 0 : index
      %one = arith.constant 1 : i32
      %sum = memref.get_global @sum : memref<1xi32>
      %old = memref.load %sum[%c0] : memref<1xi32>
      %new = arith.addi %old, %one : i32
      memref.store %new, %sum[%c0] : memref<1xi32>
      memref.store %new, %x[%c0] : memref<8xi32>
      gpu.printf \"sum %d\\n\", %new : i32
      gpu.return
    }";
    let launches = [launch("%t0", "%t1", "%c1"), launch("%t1", "%t", "%c1")].concat();
    let ran = run_with_kernels(&program(kernel, &launches), &[])?;
    ensure!(
        ran.output.starts_with("sum 41\nsum 42\nUnranked"),
        "{}",
        ran.output
    );
    holds(&ran.output, "[42,  0,  0,  0,  0,  0,  0,  0]")?;
    holds(&ran.errors, "findings 0, different 0")
}

#[test]
fn kernels_use_memory_of_the_host_that_is_registered() -> Result<()> {
    if !has_runtime() {
        return Ok(());
    }
    let kernel = "
    gpu.func @k(%x: memref<8xi32>) kernel {
      %i = gpu.thread_id x
      %number = arith.index_cast %i : index to i32
      memref.store %number, %x[%i] : memref<8xi32>
      gpu.return
    }";
    let on_host = launch("%t0", "%t", "%c8").replace("args(%x", "args(%host");
    let register = "%any = memref.cast %host : memref<8xi32> to memref<*xi32>\n gpu.host_register %any : memref<*xi32>\n";
    let unregister = "gpu.host_unregister %any : memref<*xi32>\n memref.dealloc";
    let registered = [register, &on_host].concat();
    let registered = program(kernel, &registered).replacen("memref.dealloc", unregister, 1);
    // The copy of zeros overwrites it.
    let ran = run_with_kernels(&registered, &[])?;
    holds(&ran.errors, "findings 0, different 0")?;
    let ran = run_with_kernels(&program(kernel, &on_host), &[])?;
    holds(
        &ran.errors,
        "mgpuLaunchKernel (call 6): unknown pointer: its kernel uses 32 bytes of the host's memory, which is not registered",
    )
}

#[test]
fn launches_that_do_not_fit_are_refused() -> Result<()> {
    if !has_runtime() {
        return Ok(());
    }
    let kernel = "gpu.func @k(%x: memref<8xi32>) kernel { gpu.return }";
    let wide = "%wide = arith.constant 2000 : index\n".to_owned() + &launch("%t0", "%t", "%wide");
    let ran = run_with_kernels(&program(kernel, &wide), &[])?;
    holds(
        &ran.errors,
        "kernel 'kernels::k': it is launched with blocks of [2000, 1, 1] threads, and 1024 is the most",
    )?;
    // What it is launched with is not looked at once it is code.
    let two = serialized(&program(kernel, &launch("%t0", "%t", "%c1")))?.output;
    let two = two.replace(
        "threads in (%c1, %c1, %c1)  args(",
        "threads in (%c1, %c1, %c1)  args(%c1 : index, ",
    );
    ensure!(two.contains("args(%c1 : index, "), "{two}");
    let ran = run_upstream(&two, "", &[])?;
    holds(
        &ran.errors,
        "kernel 'kernels::k': it is launched with 6 values, and takes 5",
    )
}

#[test]
fn damaged_code_is_refused() -> Result<()> {
    if !has_runtime() {
        return Ok(());
    }
    let code = serialized(KERNEL)?.output;
    for (from, to, message) in [
        (
            "memref.store",
            "memref.stone",
            "its hash is not that of what was written",
        ),
        (
            "async-opt kernels 0",
            "async-opt kernels 9",
            "and this is version",
        ),
        (
            "async-opt kernels",
            "async-opt kernel",
            "the module is of an unknown format",
        ),
    ] {
        ensure!(code.contains(from), "{code}");
        let ran = run_upstream(&code.replacen(from, to, 1), "", &[])?;
        holds(&ran.errors, "no kernel: ")?;
        holds(&ran.errors, message)?;
        holds(&ran.errors, "launches 1 (1 empty)")?;
    }
    Ok(())
}

/// Whichever call fails, the program ends, and no kernel runs on what is not there.
#[test]
fn any_call_may_fail() -> Result<()> {
    if !has_runtime() {
        return Ok(());
    }
    for call in 1.. {
        let ran = run_with_kernels(KERNEL, &[("ASYNCOPT_DEVICE_FAIL_AT", &call.to_string())])?;
        if !ran.errors.contains("fails, as it was told to") {
            ensure!(call > 10, "{}", ran.errors);
            break;
        }
        ensure!(!ran.errors.contains("internal error"), "{}", ran.errors);
    }
    Ok(())
}

#[test]
fn kernels_that_can_not_be_code_are_errors() -> Result<()> {
    let llvm = "llvm.func @k(%x: !llvm.ptr) attributes {gpu.kernel} { %v = llvm.load %x : !llvm.ptr -> i32\n llvm.return }";
    let unknown = "gpu.func @k(%x: memref<8xi32>) kernel { linalg.fill ins(%v : i32) outs(%x : memref<8xi32>)\n gpu.return }";
    let unknown = unknown.replace("kernel { ", "kernel { %v = arith.constant 1 : i32\n");
    for (kernel, message) in [
        (llvm, "error: a parameter of type !llvm.ptr can't be made up"),
        (
            &unknown,
            "the interpreter does not know 'linalg.fill': lower it to loops or vectors",
        ),
    ] {
        let serialized = serialized(&program(kernel, "%t = gpu.wait async [%t0]"))?;
        ensure!(!serialized.succeeds);
        holds(&serialized.errors, message)?;
    }
    Ok(())
}

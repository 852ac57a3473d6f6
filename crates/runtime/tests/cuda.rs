//! The device `cuda`, with a stand-in for the driver that notes what it is asked for (`c/cuda.c`).
//!
//! A device is selected once in a process, so that each program of a test is a process of its own: this test's, with the name of the program
//! in its environment.

mod common;

use std::{
    env,
    ffi::c_void,
    path::{Path, PathBuf},
    process::Command,
    ptr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use asyncopt_rt::{device::LaunchSizes, interface::*};
use common::*;

/// Where a program runs: that the operations say.
const HERE: *const std::ffi::c_char = c"f.mlir:4:2".as_ptr();

fn at(address: usize) -> *mut c_void {
    ptr::with_exposed_provenance_mut(address)
}

/// Waits for a task, and prints its error. True if there is none.
fn good(task: &Tok) -> bool {
    if task.wait() == COMPLETE {
        return true;
    }
    println!("> {}", task.error().unwrap_or_default());
    false
}

/// An address that a task delivers; 0 until then.
type Address = Arc<AtomicUsize>;

fn get(address: &Address) -> usize {
    address.load(Ordering::Acquire)
}

fn alloc(device: i32, bytes: i64) -> (Tok, Address) {
    allocate(move |token| {
        // SAFETY: as the header says.
        unsafe { asyncopt_rt_device_alloc(token.0, device, bytes, HERE) }
    })
}

fn host_alloc(bytes: i64) -> (Tok, Address) {
    allocate(move |token| {
        // SAFETY: as the header says.
        unsafe { asyncopt_rt_host_alloc(token.0, 0, bytes, HERE) }
    })
}

fn allocate(call: impl FnOnce(&Tok) -> *mut c_void + Send + 'static) -> (Tok, Address) {
    let address = Address::default();
    let task = task(&[], {
        let address = address.clone();
        move |token| {
            address.store(call(token).expose_provenance(), Ordering::Release);
            DONE
        }
    });
    (task, address)
}

/// A task that does nothing after its operation.
fn trailing(after: &[&Tok], call: impl FnOnce(&Tok) + Send + 'static) -> Tok {
    task(after, move |token| {
        // SAFETY: as the header says.
        unsafe { asyncopt_rt_device_trailing(token.0) };
        call(token);
        DONE
    })
}

fn transfer(after: &[&Tok], device: i32, to: &Address, from: &Address, bytes: i64) -> Tok {
    let (to, from) = (to.clone(), from.clone());
    trailing(after, move |token| {
        // SAFETY: as the header says.
        unsafe { asyncopt_rt_device_transfer(token.0, device, at(get(&to)), at(get(&from)), bytes, HERE) };
    })
}

fn launch(after: &[&Tok], to: &Address, cluster: i64, workgroup_bytes: i64) -> Tok {
    let to = to.clone();
    let sizes = LaunchSizes {
        grid: [2, 1, 1],
        block: [4, 1, 1],
        cluster: [cluster, 1, 1],
        workgroup_bytes,
    };
    trailing(after, move |token| {
        let argument = at(get(&to));
        let arguments = [(&raw const argument).cast_mut().cast::<c_void>()];
        let (name, arguments) = (c"m::add_one".as_ptr(), arguments.as_ptr());
        // SAFETY: as the header says.
        unsafe { asyncopt_rt_device_launch(token.0, 0, name, &raw const sizes, arguments, 1, HERE) };
    })
}

fn register(image: &[u8]) {
    // SAFETY: as the header says.
    unsafe {
        asyncopt_rt_register_module(
            c"m".as_ptr(),
            image.as_ptr().cast(),
            i64::try_from(image.len()).unwrap(),
        );
    }
}

const PTX: &[u8] = b".version 8.0 .visible .entry add_one()";

/// Frees what was allocated. Each is tried, whatever fails.
fn free(device: i32, address: &Address, of_host: bool) {
    let address = get(address);
    if address == 0 {
        return;
    }
    good(&task(&[], move |token| {
        // SAFETY: as the header says.
        unsafe {
            if of_host {
                asyncopt_rt_host_dealloc(token.0, device, at(address), HERE);
            } else {
                asyncopt_rt_device_dealloc(token.0, device, at(address), HERE);
            }
        }
        DONE
    }));
}

/// Numbers to the device, a kernel that adds one to each, and back.
fn round_trip() {
    register(PTX);
    let (a, d) = alloc(0, 32);
    let is_there = good(&a);
    let (b, h) = host_alloc(32);
    if good(&b) && is_there {
        // SAFETY: there is room for them, and nobody else knows it.
        let numbers = unsafe { std::slice::from_raw_parts_mut(at(get(&h)).cast::<i32>(), 8) };
        numbers.copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
        let there = transfer(&[], 0, &d, &h, 32);
        let ran = launch(&[&there], &d, 1, 0);
        let back = transfer(&[&ran], 0, &h, &d, 32);
        if good(&back) {
            println!("> {numbers:?}");
        }
    }
    free(0, &d, false);
    free(0, &h, true);
}

fn launches() {
    register(PTX);
    let (a, d) = alloc(0, 32);
    good(&a);
    for (cluster, bytes) in [(1, 48 << 10), (1, 100 << 10), (1, 90 << 10), (2, 0), (16, 0)] {
        good(&launch(&[], &d, cluster, bytes));
    }
    register(b"not PTX");
    good(&launch(&[], &d, 1, 0));
    free(0, &d, false);
}

fn two_devices() {
    let all = [alloc(0, 4), alloc(1, 4), host_alloc(4)];
    for (task, _) in &all {
        good(task);
    }
    let [d, e, h] = all.map(|(_, address)| address);
    // SAFETY: there is room for it, and nobody else knows it.
    let number = unsafe { &mut *at(get(&h)).cast::<i32>() };
    *number = 7;
    let there = transfer(&[], 0, &d, &h, 4);
    let over = transfer(&[&there], 1, &e, &d, 4);
    good(&over);
    *number = 0;
    if good(&transfer(&[], 1, &h, &e, 4)) {
        println!("> {number}");
    }
    free(0, &d, false);
    free(1, &e, false);
    free(0, &h, true);
    good(&alloc(2, 4).0);
}

fn memsets() {
    let ((a, d), (b, h)) = (alloc(0, 65536), host_alloc(65536));
    good(&a);
    good(&b);
    for (size, distinct, offset) in [
        (1, 1, 0),
        (2, 2, 0),
        (4, 4, 0),
        (4, 4, 2),
        (8, 2, 0),
        (8, 8, 0),
        (12, 12, 4),
        (3, 3, 1),
    ] {
        let count = (65536 - offset) / size;
        let element: Vec<u8> = (0..size)
            .map(|i| 1 + u8::try_from(i % distinct).unwrap())
            .collect();
        let to = get(&d) + offset;
        let set = trailing(&[], {
            let element = element.clone();
            move |token| {
                let (size, count) = (i64::try_from(size).unwrap(), i64::try_from(count).unwrap());
                // SAFETY: as the header says.
                unsafe {
                    asyncopt_rt_device_memset(token.0, 0, at(to), element.as_ptr().cast(), size, count, HERE)
                };
            }
        });
        good(&transfer(&[&set], 0, &h, &d, 65536));
        // SAFETY: they are there, and nobody else uses them.
        let bytes = unsafe { std::slice::from_raw_parts(at(get(&h)).cast::<u8>(), 65536) };
        assert_eq!(
            &bytes[offset..offset + size * count],
            element.repeat(count),
            "{size} bytes"
        );
    }
    free(0, &d, false);
    free(0, &h, true);
}

/// Memory of the program, every other number of which is transferred.
fn registered() {
    /// The descriptor of a memref of one dimension.
    #[repr(C)]
    struct Memref(*mut c_void, *mut c_void, i64, i64, i64);
    let (a, d) = alloc(0, 4);
    good(&a);
    let numbers = Box::leak(Box::new([1, 2, 3, 4, 5, 6, 7, 8]));
    let (data, target) = (numbers.as_mut_ptr().expose_provenance(), get(&d));
    good(&task(&[], move |token| {
        // SAFETY: as the header says; nobody else uses the numbers.
        unsafe {
            let memref = Memref(at(data), at(data), 1, 3, 2);
            let descriptor = (&raw const memref).cast();
            let second = at(data + 4);
            if asyncopt_rt_host_register(token.0, 0, 1, descriptor, 4, HERE) == 0 {
                asyncopt_rt_device_transfer(token.0, 0, at(target), second, 4, HERE);
                asyncopt_rt_device_transfer(token.0, 0, second, at(target), 4, HERE);
                asyncopt_rt_host_unregister(token.0, 0, 1, descriptor, 4, HERE);
            }
            // Nothing to do.
            let memref = Memref(at(data), at(data), 0, 0, 1);
            asyncopt_rt_host_register(token.0, 0, 1, (&raw const memref).cast(), 4, HERE);
        }
        DONE
    }));
    println!("> {numbers:?}");
    free(0, &d, false);
}

/// An operation whose result the body looks at.
fn synchronous() {
    let ((a, d), (b, h)) = (alloc(0, 4), host_alloc(4));
    good(&a);
    good(&b);
    let addresses = (get(&d), get(&h));
    good(&task(&[], move |token| {
        let (d, h) = addresses;
        // SAFETY: as the header says; nobody else uses the number.
        unsafe {
            *at(h).cast::<i32>() = 3;
            asyncopt_rt_device_transfer(token.0, 0, at(d), at(h), 4, HERE);
            *at(h).cast::<i32>() = 4;
            asyncopt_rt_device_transfer(token.0, 0, at(h), at(d), 4, HERE);
            println!("> {}", *at(h).cast::<i32>());
        }
        DONE
    }));
    free(0, &d, false);
    free(0, &h, true);
}

/// Nobody waits for what the device does last.
fn not_awaited() {
    let ((a, d), (b, h)) = (alloc(0, 4), host_alloc(4));
    good(&a);
    good(&b);
    let copy = transfer(&[], 0, &d, &h, 4);
    drop(task(&[&copy], move |_| {
        println!("> ran");
        free(0, &d, false);
        free(0, &h, true);
        DONE
    }));
}

fn one_allocation() {
    let (a, d) = alloc(0, 4);
    good(&a);
    free(0, &d, false);
}

#[test]
#[ignore = "what the others run"]
fn program() {
    match env::var("PROGRAM").unwrap_or_default().as_str() {
        "round trip" => round_trip(),
        "launches" => launches(),
        "two devices" => two_devices(),
        "memsets" => memsets(),
        "synchronous" => synchronous(),
        "registered" => registered(),
        "not awaited" => not_awaited(),
        _ => one_allocation(),
    }
    asyncopt_rt_shutdown();
}

/// What a program has printed, what the driver was asked for, and what is left.
struct Ran {
    printed: Vec<String>,
    errors: String,
    calls: Vec<String>,
}

const NOTHING_LEFT: &str = "left: 0 contexts, 0 streams, 0 allocations, 0 pinned, 0 modules";

impl Ran {
    fn is_clean(&self) -> bool {
        let nothing = "0 tokens, 0 tasks, 0 bytes of frames, 0 suspended coroutines, 0 device allocations";
        self.errors.contains(nothing) && self.calls.last().is_none_or(|left| left == NOTHING_LEFT)
    }

    fn called(&self, beginning: &str) -> Vec<&str> {
        let calls = self.calls.iter().map(String::as_str);
        calls.filter(|call| call.starts_with(beginning)).collect()
    }
}

fn compile(source: &Path, name: &str) -> PathBuf {
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(compiler);
    command.args([
        "-std=gnu11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-g",
        "-pthread",
        "-shared",
        "-fPIC",
        "-x",
        "c",
    ]);
    let status = command.arg(source).arg("-o").arg(&library).status();
    assert!(status.unwrap().success());
    library
}

fn stand_in() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/cuda.c");
        compile(&source, "libcuda-stand-in.so")
    })
}

fn run(program: &str, settings: &[(&str, &str)]) -> Ran {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cuda-{}-{number}", std::process::id()));
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "program", "--ignored", "--nocapture"])
        .env("PROGRAM", program)
        .env("ASYNCOPT_DEVICE", "cuda")
        .env("ASYNCOPT_CUDA_DRIVER", stand_in())
        .env("ASYNCOPT_CENSUS", "1")
        .env("ASYNCOPT_NUM_THREADS", "1")
        .env("CUDA_LOG", &log)
        .envs(settings.iter().copied())
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let calls = lines(&std::fs::read_to_string(&log).unwrap_or_default());
    let _ = std::fs::remove_file(&log);
    let errors = text(&output.stderr);
    assert!(output.status.success(), "{program}: {errors}\n{calls:#?}");
    let printed = lines(&text(&output.stdout));
    Ran {
        // libtest begins a line of its own before.
        printed: printed
            .iter()
            .filter_map(|line| Some(line.split_once("> ")?.1.to_owned()))
            .collect(),
        errors,
        calls,
    }
}

#[test]
fn a_round_trip_is_these_calls() {
    let ran = run("round trip", &[]);
    assert_eq!(ran.printed, ["[2, 3, 4, 5, 6, 7, 8, 9]"]);
    assert!(ran.is_clean(), "{}\n{:#?}", ran.errors, ran.calls);
    let calls: Vec<_> = ran
        .calls
        .iter()
        .filter(|call| *call != "cuCtxSetCurrent")
        .collect();
    assert_eq!(
        calls,
        [
            "cuInit 0",
            "cuDeviceGetCount",
            "cuDeviceGet 0",
            "cuDeviceGetAttribute 115 of 0",
            "cuDevicePrimaryCtxRetain 0",
            "cuStreamCreate 1",
            "cuDeviceGetDefaultMemPool 0",
            "cuMemPoolSetAttribute 4",
            "cuMemAllocAsync 32",
            "cuStreamSynchronize",
            "cuMemHostAlloc 32 1",
            // One stream is enough for what comes one after the other, and nobody waits for it but the driver's own thread.
            "cuStreamCreate 1",
            "cuMemcpyAsync 32",
            "cuStreamAddCallback 0",
            "cuModuleLoadDataEx PTX",
            "cuModuleGetFunction add_one",
            "cuFuncGetAttribute 8",
            "cuLaunchKernel 2,1,1 4,1,1 0",
            "cuStreamAddCallback 0",
            "cuMemcpyAsync 32",
            "cuStreamAddCallback 0",
            "cuMemFreeAsync",
            "cuMemFreeHost",
            "cuStreamDestroy",
            "cuStreamDestroy",
            "cuModuleUnload",
            "cuDevicePrimaryCtxRelease 0",
            NOTHING_LEFT,
        ]
    );
}

#[test]
fn registered_memory_is_that_from_the_first_element_to_the_last() {
    let ran = run("registered", &[]);
    assert_eq!(ran.printed, ["[1, 2, 3, 4, 5, 6, 7, 8]"]);
    assert!(ran.is_clean(), "{}\n{:#?}", ran.errors, ran.calls);
    // Elements 1, 3 and 5 of the eight: five numbers.
    let calls = ["cuMemHostRegister 20 1", "cuMemHostUnregister"];
    assert_eq!(ran.called("cuMemHost"), calls);
}

#[test]
fn without_memory_pools_memory_is_allocated_at_once() {
    let ran = run("round trip", &[("CUDA_POOLS", "0")]);
    assert_eq!(ran.printed, ["[2, 3, 4, 5, 6, 7, 8, 9]"]);
    assert!(ran.is_clean(), "{}\n{:#?}", ran.errors, ran.calls);
    assert_eq!(ran.called("cuMemAlloc"), ["cuMemAlloc 32"]);
    assert_eq!(ran.called("cuMemFree"), ["cuMemFree", "cuMemFreeHost"]);
}

#[test]
fn an_error_of_each_call_is_told_and_leaves_nothing() {
    for pools in ["0", "1"] {
        let mut number = 0;
        loop {
            number += 1;
            let ran = run(
                "round trip",
                &[("CUDA_FAIL_AT", &number.to_string()), ("CUDA_POOLS", pools)],
            );
            let Some(failed) = ran.calls.iter().find(|call| call.ends_with(" fails")) else {
                assert!(number > 20);
                break;
            };
            let told = ran.printed.join("\n") + &ran.errors;
            let name = failed.split(' ').next().unwrap_or_default();
            let error = format!("{name}: CUDA_ERROR_OUT_OF_MEMORY: out of memory");
            assert!(told.contains(&error), "call {number}, {failed}:\n{told}");
            assert!(
                ran.is_clean(),
                "call {number}, {failed}:\n{}\n{:#?}",
                ran.errors,
                ran.calls
            );
        }
    }
}

#[test]
fn an_error_in_a_stream_fails_the_task_at_its_place() {
    let ran = run("round trip", &[("CUDA_FAIL_STREAMS", "1")]);
    let error = "f.mlir:4:2: in its stream: CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure";
    assert_eq!(ran.printed, [error]);
    assert!(ran.is_clean(), "{}\n{:#?}", ran.errors, ran.calls);
}

#[test]
fn launches_have_clusters_and_much_workgroup_memory() {
    let ran = run("launches", &[]);
    let error = "f.mlir:4:2: kernel 'm::add_one': cuModuleLoadDataEx: error 218";
    assert_eq!(ran.printed, [error]);
    assert!(ran.is_clean(), "{}\n{:#?}", ran.errors, ran.calls);
    assert_eq!(
        ran.called("cuFuncSetAttribute"),
        ["cuFuncSetAttribute 8 102400", "cuFuncSetAttribute 14 1"]
    );
    assert_eq!(
        ran.called("cuLaunchKernel"),
        [
            "cuLaunchKernel 2,1,1 4,1,1 49152",
            "cuLaunchKernel 2,1,1 4,1,1 102400",
            "cuLaunchKernel 2,1,1 4,1,1 92160",
            "cuLaunchKernelEx 2,1,1 4,1,1 clusters 2,1,1 0",
            "cuLaunchKernelEx 2,1,1 4,1,1 clusters 16,1,1 0",
        ]
    );
}

#[test]
fn devices_have_contexts_of_their_own_and_copy_to_each_other() {
    let ran = run("two devices", &[("CUDA_DEVICES", "2")]);
    let none = "f.mlir:4:2: there is no device 2: the CUDA driver has 2, devices 0 to 1";
    assert_eq!(ran.printed, ["7", none]);
    assert!(ran.is_clean(), "{}\n{:#?}", ran.errors, ran.calls);
    assert_eq!(ran.called("cuMemcpyPeerAsync"), ["cuMemcpyPeerAsync 0 to 1, 4"]);
    assert_eq!(ran.called("cuDevicePrimaryCtxRetain").len(), 2);
}

#[test]
fn memsets_have_elements_of_any_size() {
    let ran = run("memsets", &[]);
    assert!(ran.is_clean(), "{}\n{:#?}", ran.errors, ran.calls);
    let sets = ran.called("cuMemsetD");
    let expected = [
        "cuMemsetD8Async 65536",
        "cuMemsetD16Async 32768",
        "cuMemsetD32Async 16384",
        "cuMemsetD16Async 32768",
    ];
    assert_eq!(sets, expected);
}

#[test]
fn an_operation_in_the_middle_of_a_task_is_done_on_return() {
    let ran = run("synchronous", &[]);
    assert_eq!(ran.printed, ["3"]);
    assert!(ran.is_clean(), "{}\n{:#?}", ran.errors, ran.calls);
}

#[test]
fn the_end_waits_for_devices() {
    let ran = run("not awaited", &[]);
    assert_eq!(ran.printed, ["ran"]);
    assert!(ran.is_clean(), "{}\n{:#?}", ran.errors, ran.calls);
}

#[test]
fn without_a_driver_operations_say_what_to_do() {
    let printed = |driver: &str| {
        run("one allocation", &[("ASYNCOPT_CUDA_DRIVER", driver)])
            .printed
            .join("\n")
    };
    let text = printed("/nowhere/libcuda.so.1");
    assert!(
        text.starts_with("f.mlir:4:2: the CUDA driver can't be loaded (/nowhere/libcuda.so.1: "),
        "{text}"
    );
    let help = "install NVIDIA's driver, or say with ASYNCOPT_CUDA_DRIVER where libcuda.so.1 is; without a GPU, choose the device 'host' or 'sim'";
    assert!(text.ends_with(help), "{text}");

    // A library that is no driver, or an old one.
    let other = compile(Path::new("/dev/null"), "libcuda-empty.so")
        .display()
        .to_string();
    let expected = format!(
        "f.mlir:4:2: the CUDA driver {other} has no function cuInit: install a driver for CUDA 11.2 or newer"
    );
    assert_eq!(printed(&other), expected);

    let ran = run("one allocation", &[("CUDA_DEVICES", "0")]);
    assert!(
        ran.printed[0].contains("the CUDA driver has no device: see what nvidia-smi lists"),
        "{:?}",
        ran.printed
    );
}

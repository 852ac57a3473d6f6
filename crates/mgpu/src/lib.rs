//! The functions that `--gpu-to-llvm` and the translation of `gpu.launch_func` call, on a simulated device.
//!
//! They have the names and arguments of `mlir/lib/ExecutionEngine/CudaRuntimeWrappers.cpp` in LLVM 22. As there, a call that fails says so on
//! standard error, and returns null where it returns something. Environment variables say how the device behaves (`Options::from_environment`), and at
//! exit it reports what it has found.

mod kernels;
mod memory;
mod tensor_maps;

use async_device::{Adversary as Schedule, Device, Failure, Handle, LaunchSizes, Options};
use async_interpreter::adversary::Adversary;
use kernels::Kernels;
use memory::Process;
use std::env;
use std::ffi::{CStr, c_char, c_void};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

const PREFIX: &str = "asyncopt_mgpu";

/// How many steps a kernel runs, each of 65 536 instructions or more, before others run beside it that it may wait for.
const PATIENCE: u32 = 8;

/// The one device.
fn device() -> MutexGuard<'static, Device<Process>> {
    static DEVICE: OnceLock<Mutex<Device<Process>>> = OnceLock::new();
    let device = DEVICE.get_or_init(|| {
        // SAFETY: it may be called at exit.
        unsafe { libc::atexit(report_end) };
        let options = Options::from_environment(|message| eprintln!("{PREFIX}: {message}"));
        let kernels = Kernels(match options.schedule {
            Schedule::Early => Adversary::Early,
            Schedule::Random(seed) => Adversary::Random(seed),
            _ => Adversary::Late,
        });
        let options = Options {
            patience: PATIENCE,
            ..options
        };
        let mut device = Device::new(Process, options);
        device.set_loader(Box::new(kernels));
        Mutex::new(device)
    });
    device.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls the device. Its findings are printed as they come.
///
/// What fails is printed, too, and its result is the default, such as null.
fn call<T: Default>(name: &'static str, what: impl FnOnce(&mut Device<Process>) -> Result<T, Failure>) -> T {
    let mut device = device();
    let result = device.begin(name).and_then(|_| what(&mut device));
    report_news(&mut device);
    result.unwrap_or_else(|failure| {
        if !failure.is_finding {
            eprintln!("{PREFIX}: {failure}");
        }
        T::default()
    })
}

fn report_news(device: &mut Device<Process>) {
    for finding in device.news() {
        eprintln!("{PREFIX}: {finding}");
    }
}

extern "C" fn report_end() {
    let mut device = device();
    device.finish();
    report_news(&mut device);
    let findings = device.findings();
    for finding in findings.iter().filter(|finding| finding.repeated > 0) {
        let (name, kind, more) = (finding.at.name, finding.kind.name(), finding.repeated);
        eprintln!("{PREFIX}: {name}: {kind}: {more} more like that");
    }
    let all = findings.len() as u64 + findings.iter().map(|finding| finding.repeated).sum::<u64>();
    let is_clean = findings.is_empty() && device.census().is_clean();
    // As for the host runtime, but that an empty census is reported, too, if nobody forbids it.
    if !is_clean || env::var("ASYNCOPT_CENSUS").as_deref() != Ok("0") {
        for line in device.census().to_string().lines() {
            eprintln!("{PREFIX}: {line}");
        }
        eprintln!("{PREFIX}: findings {all}, different {}", findings.len());
    }
}

/// A handle as C sees it, and back.
fn pointer(handle: Handle) -> *mut c_void {
    std::ptr::without_provenance_mut(usize::try_from(handle.0).unwrap_or_default())
}

fn handle(pointer: *mut c_void) -> Handle {
    Handle(pointer.addr() as u64)
}

/// An address of memory as the device sees it.
fn address(pointer: *mut c_void) -> u64 {
    pointer.expose_provenance() as u64
}

/// A string; nothing for null.
///
/// # Safety
///
/// It is null or a string that lives as long as it is used.
unsafe fn string<'a>(text: *const c_char) -> &'a CStr {
    if text.is_null() {
        return c"";
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(text) }
}

/// What is returned where nothing can be.
#[derive(Clone, Copy)]
struct Null(*mut c_void);

impl Default for Null {
    fn default() -> Self {
        Self(std::ptr::null_mut())
    }
}

#[unsafe(no_mangle)]
extern "C" fn mgpuStreamCreate() -> *mut c_void {
    call("mgpuStreamCreate", |device| {
        Ok(Null(pointer(device.stream_create())))
    })
    .0
}

#[unsafe(no_mangle)]
extern "C" fn mgpuStreamDestroy(stream: *mut c_void) {
    call("mgpuStreamDestroy", |device| {
        device.stream_destroy(handle(stream))
    });
}

#[unsafe(no_mangle)]
extern "C" fn mgpuStreamSynchronize(stream: *mut c_void) {
    call("mgpuStreamSynchronize", |device| {
        device.stream_synchronize(handle(stream))
    });
}

#[unsafe(no_mangle)]
extern "C" fn mgpuStreamWaitEvent(stream: *mut c_void, event: *mut c_void) {
    call("mgpuStreamWaitEvent", |device| {
        device.stream_wait_event(handle(stream), handle(event))
    });
}

#[unsafe(no_mangle)]
extern "C" fn mgpuEventCreate() -> *mut c_void {
    call("mgpuEventCreate", |device| {
        Ok(Null(pointer(device.event_create())))
    })
    .0
}

#[unsafe(no_mangle)]
extern "C" fn mgpuEventDestroy(event: *mut c_void) {
    call("mgpuEventDestroy", |device| device.event_destroy(handle(event)));
}

#[unsafe(no_mangle)]
extern "C" fn mgpuEventSynchronize(event: *mut c_void) {
    call("mgpuEventSynchronize", |device| {
        device.event_synchronize(handle(event))
    });
}

#[unsafe(no_mangle)]
extern "C" fn mgpuEventRecord(event: *mut c_void, stream: *mut c_void) {
    call("mgpuEventRecord", |device| {
        device.event_record(handle(event), handle(stream))
    });
}

/// Upstream ignores the stream: `cuMemAlloc` and `cuMemAllocManaged` are not ordered by any.
#[unsafe(no_mangle)]
extern "C" fn mgpuMemAlloc(bytes: u64, _stream: *mut c_void, _is_host_shared: bool) -> *mut c_void {
    let allocated = call("mgpuMemAlloc", |device| device.alloc(bytes));
    std::ptr::with_exposed_provenance_mut(usize::try_from(allocated).unwrap_or_default())
}

/// Upstream ignores the stream, too: `cuMemFree` is not ordered by any.
#[unsafe(no_mangle)]
extern "C" fn mgpuMemFree(memory: *mut c_void, _stream: *mut c_void) {
    call("mgpuMemFree", |device| device.free(address(memory)));
}

#[unsafe(no_mangle)]
extern "C" fn mgpuMemcpy(to: *mut c_void, from: *mut c_void, bytes: usize, stream: *mut c_void) {
    let (to, from) = (address(to), address(from));
    call("mgpuMemcpy", |device| {
        device.copy(to, from, bytes as u64, handle(stream))
    });
}

#[unsafe(no_mangle)]
extern "C" fn mgpuMemset32(to: *mut c_void, value: u32, count: usize, stream: *mut c_void) {
    let element = value.to_ne_bytes();
    call("mgpuMemset32", |device| {
        device.fill(address(to), &element, count as u64, handle(stream))
    });
}

#[unsafe(no_mangle)]
extern "C" fn mgpuMemset16(to: *mut c_void, value: u16, count: usize, stream: *mut c_void) {
    let element = value.to_ne_bytes();
    call("mgpuMemset16", |device| {
        device.fill(address(to), &element, count as u64, handle(stream))
    });
}

#[unsafe(no_mangle)]
extern "C" fn mgpuMemHostRegister(memory: *mut c_void, bytes: u64) {
    call("mgpuMemHostRegister", |device| {
        device.register(address(memory), bytes)
    });
}

#[unsafe(no_mangle)]
extern "C" fn mgpuMemHostUnregister(memory: *mut c_void) {
    call("mgpuMemHostUnregister", |device| {
        device.unregister(address(memory))
    });
}

/// # Safety
///
/// `descriptor` is one of a memref of that rank.
#[unsafe(no_mangle)]
unsafe extern "C" fn mgpuMemHostRegisterMemRef(rank: i64, descriptor: *const i64, element_bytes: i64) {
    // SAFETY: as the caller promises.
    let memref = unsafe { memory::memref(rank, descriptor, element_bytes) };
    call("mgpuMemHostRegisterMemRef", |device| match memref {
        Some((start, bytes)) => device.register(start, bytes),
        None => Err(Failure {
            message: "mgpuMemHostRegisterMemRef: the elements of the memref don't lie in a row".to_owned(),
            against: None,
            is_finding: false,
        }),
    });
}

/// # Safety
///
/// `descriptor` is one of a memref of that rank.
#[unsafe(no_mangle)]
unsafe extern "C" fn mgpuMemHostUnregisterMemRef(rank: i64, descriptor: *const i64, element_bytes: i64) {
    // SAFETY: as the caller promises.
    let memref = unsafe { memory::memref(rank, descriptor, element_bytes) };
    call("mgpuMemHostUnregisterMemRef", |device| {
        device.unregister(memref.map_or(0, |(start, _)| start))
    });
}

/// There is one device. Any number is taken for it.
#[unsafe(no_mangle)]
extern "C" fn mgpuSetDefaultDevice(_device: i32) {
    call("mgpuSetDefaultDevice", |_| Ok(()));
}

/// # Safety
///
/// `image` has so many bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn mgpuModuleLoad(image: *const u8, bytes: usize) -> *mut c_void {
    let image = match bytes {
        0 => &[],
        // SAFETY: as the caller promises.
        _ => unsafe { std::slice::from_raw_parts(image, bytes) },
    };
    call("mgpuModuleLoad", |device| {
        Ok(Null(pointer(device.module_load(image))))
    })
    .0
}

/// # Safety
///
/// `image` is a string.
#[unsafe(no_mangle)]
unsafe extern "C" fn mgpuModuleLoadJIT(image: *const c_char, _level: i32, _bytes: usize) -> *mut c_void {
    // SAFETY: as the caller promises.
    let image = unsafe { string(image) };
    call("mgpuModuleLoadJIT", |device| {
        Ok(Null(pointer(device.module_load(image.to_bytes()))))
    })
    .0
}

#[unsafe(no_mangle)]
extern "C" fn mgpuModuleUnload(module: *mut c_void) {
    call("mgpuModuleUnload", |device| device.module_unload(handle(module)));
}

/// # Safety
///
/// `name` is a string.
#[unsafe(no_mangle)]
unsafe extern "C" fn mgpuModuleGetFunction(module: *mut c_void, name: *const c_char) -> *mut c_void {
    // SAFETY: as the caller promises.
    let name = unsafe { string(name) }.to_string_lossy();
    let function = |device: &mut Device<Process>| device.module_function(handle(module), &name);
    call("mgpuModuleGetFunction", |device| {
        function(device).map(|function| Null(pointer(function)))
    })
    .0
}

/// # Safety
///
/// There are so many `arguments`, each the address of a value.
#[unsafe(no_mangle)]
unsafe extern "C" fn mgpuLaunchKernel(
    function: *mut c_void,
    grid_x: isize,
    grid_y: isize,
    grid_z: isize,
    block_x: isize,
    block_y: isize,
    block_z: isize,
    workgroup_bytes: i32,
    stream: *mut c_void,
    arguments: *const *mut c_void,
    _extra: *const *mut c_void,
    num_arguments: usize,
) {
    let sizes = LaunchSizes {
        grid: [grid_x, grid_y, grid_z].map(|size| size as i64),
        block: [block_x, block_y, block_z].map(|size| size as i64),
        cluster: [1; 3],
        workgroup_bytes: workgroup_bytes.into(),
    };
    // SAFETY: as the caller promises.
    let arguments = unsafe { memory::addresses(arguments, num_arguments) };
    call("mgpuLaunchKernel", |device| {
        device.launch(handle(function), &sizes, &arguments, handle(stream))
    });
}

/// # Safety
///
/// There are so many `arguments`, each the address of a value.
#[unsafe(no_mangle)]
unsafe extern "C" fn mgpuLaunchClusterKernel(
    function: *mut c_void,
    cluster_x: isize,
    cluster_y: isize,
    cluster_z: isize,
    grid_x: isize,
    grid_y: isize,
    grid_z: isize,
    block_x: isize,
    block_y: isize,
    block_z: isize,
    workgroup_bytes: i32,
    stream: *mut c_void,
    arguments: *const *mut c_void,
    _extra: *const *mut c_void,
    num_arguments: usize,
) {
    let sizes = LaunchSizes {
        grid: [grid_x, grid_y, grid_z].map(|size| size as i64),
        block: [block_x, block_y, block_z].map(|size| size as i64),
        cluster: [cluster_x, cluster_y, cluster_z].map(|size| size as i64),
        workgroup_bytes: workgroup_bytes.into(),
    };
    // SAFETY: as the caller promises.
    let arguments = unsafe { memory::addresses(arguments, num_arguments) };
    call("mgpuLaunchClusterKernel", |device| {
        device.launch(handle(function), &sizes, &arguments, handle(stream))
    });
}

//! Device operations.
//!
//! Compiled code calls them from tasks of their own, so that each may take its time. [`Host`] is the device where nothing else is selected; with
//! `ASYNCOPT_DEVICE=sim`, an adversary stands between it and the program (`simulated`), and with `cuda`, the devices are NVIDIA's (`cuda`).

use std::{
    alloc::Layout,
    cell::Cell,
    collections::HashMap,
    env,
    ffi::{CStr, c_char, c_void},
    mem::ManuallyDrop,
    ops::Range,
    ptr,
    ptr::NonNull,
    sync::{Mutex, OnceLock, RwLock},
};

pub use async_device::Access;

use crate::{
    census::{self, Count},
    cuda::Cuda,
    pool::POOL,
    simulated::{self, Simulated},
    token::{Ref, Token},
};

/// What a device does for a task. Everything is done when a function returns, but for what the task waits for at its end (`Site`). Pointers to
/// memory of the device are opaque to the host, and several workers call at a time.
///
/// Errors are messages for the author of the program.
pub trait Device: Send + Sync {
    /// Allocates memory of the device.
    ///
    /// # Errors
    ///
    /// If there is not so much.
    fn alloc(&self, bytes: usize) -> Result<*mut c_void, String>;

    /// Frees memory of the device.
    ///
    /// # Errors
    ///
    /// If `alloc` has not returned `pointer`, or it has been freed.
    fn dealloc(&self, pointer: *mut c_void) -> Result<(), String>;

    /// Allocates memory of the host that the device can copy from and to without staging.
    ///
    /// # Errors
    ///
    /// If there is not so much.
    fn host_alloc(&self, bytes: usize) -> Result<*mut c_void, String>;

    /// Frees memory of the host.
    ///
    /// # Errors
    ///
    /// If `host_alloc` has not returned `pointer`, or it has been freed.
    fn host_dealloc(&self, pointer: *mut c_void) -> Result<(), String>;

    /// Makes memory of the host such as `host_alloc` allocates. No bytes are nothing to do.
    ///
    /// # Errors
    ///
    /// If some of it is that already, or the device's.
    fn host_register(&self, pointer: *mut c_void, bytes: usize) -> Result<(), String>;

    /// Ends that.
    ///
    /// # Errors
    ///
    /// If no registration begins at `pointer`.
    fn host_unregister(&self, pointer: *mut c_void, bytes: usize) -> Result<(), String>;

    /// Copies bytes between memory of the device and of the host, or within one.
    ///
    /// # Errors
    ///
    /// If the device can't.
    ///
    /// # Safety
    ///
    /// Both have that many bytes, which don't overlap, and nobody else writes them.
    unsafe fn transfer(
        &self,
        destination: *mut c_void,
        source: *const c_void,
        bytes: usize,
    ) -> Result<(), String>;

    /// Stores `element` so often, one after the other.
    ///
    /// # Errors
    ///
    /// If the device can't.
    ///
    /// # Safety
    ///
    /// There is room for as many, and nobody else uses it.
    unsafe fn memset(&self, destination: *mut c_void, element: &[u8], count: usize) -> Result<(), String>;

    /// Runs a kernel.
    ///
    /// # Errors
    ///
    /// If there is no such kernel, or it fails.
    ///
    /// # Safety
    ///
    /// The arguments are those of the kernel, and it may run.
    unsafe fn launch(
        &self,
        kernel: &CStr,
        sizes: &LaunchSizes,
        arguments: &[*mut c_void],
    ) -> Result<(), String>;
}

/// Sizes of a launch; `asyncopt_rt_launch_sizes` of the C interface.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchSizes {
    /// Blocks.
    pub grid: [i64; 3],
    /// Threads of a block.
    pub block: [i64; 3],
    /// Blocks of a cluster.
    pub cluster: [i64; 3],
    /// Bytes of dynamic workgroup memory.
    pub workgroup_bytes: i64,
}

/// Runs kernels; `asyncopt_rt_launcher` of the C interface.
pub type Launcher = unsafe extern "C" fn(
    context: *mut c_void,
    kernel: *const c_char,
    sizes: *const LaunchSizes,
    arguments: *const *mut c_void,
    num_arguments: i64,
    message: *mut c_char,
    capacity: i64,
) -> i32;

/// A device whose memory is the host's, and whose kernels a function of the program runs.
#[derive(Default)]
pub struct Host {
    allocations: Mutex<HashMap<usize, Layout>>,
    launcher: RwLock<Option<(Launcher, usize)>>,
}

/// What device operations go through.
enum Selected {
    Host,
    Simulated(Box<Simulated>),
    /// Or why there is none.
    Cuda(Result<Cuda, String>),
    /// What is asked for is no device.
    Unknown(String),
}

static SELECTED: OnceLock<Selected> = OnceLock::new();

fn selected() -> &'static Selected {
    SELECTED.get_or_init(|| {
        let name = env::var("ASYNCOPT_DEVICE").unwrap_or_default();
        parse(&name).unwrap_or_else(|message| Selected::Unknown(format!("ASYNCOPT_DEVICE: {message}")))
    })
}

fn parse(name: &str) -> Result<Selected, String> {
    match name.split_once(':').unwrap_or((name, "")) {
        ("" | "host", "") => Ok(Selected::Host),
        ("cuda", "") => Ok(Selected::Cuda(Cuda::open())),
        ("sim", schedule) => {
            Simulated::of_schedule(schedule).map(|simulated| Selected::Simulated(Box::new(simulated)))
        }
        _ => Err(format!(
            "'{name}' is no device: give host, cuda, sim, sim:late, sim:early or sim:random:SEED"
        )),
    }
}

/// What does the operations of the device of a number. The host and the simulated device are one, whatever the number.
pub(crate) fn current(number: i32) -> Result<&'static dyn Device, String> {
    match selected() {
        Selected::Host => Ok(device(number)),
        Selected::Simulated(simulated) => Ok(&**simulated),
        Selected::Cuda(cuda) => {
            let cuda = cuda.as_ref().map_err(Clone::clone)?;
            cuda.device(number).map(|gpu| gpu as _)
        }
        Selected::Unknown(message) => Err(message.clone()),
    }
}

/// The simulated device, if it is what device operations go through.
pub(crate) fn simulated() -> Option<&'static Simulated> {
    match selected() {
        Selected::Simulated(simulated) => Some(simulated),
        _ => None,
    }
}

/// The simulated device, if device operations have gone through it.
pub(crate) fn used_simulated() -> Option<&'static Simulated> {
    SELECTED.get().and_then(|_| simulated())
}

/// How many mistakes of the program the simulated device has found that no error of a task tells.
pub fn findings() -> u64 {
    used_simulated().map_or(0, Simulated::findings)
}

/// A kernel that the launcher runs for the calling thread has accessed bytes. The simulated device finds races of kernels by that; the others don't ask.
pub fn note_access(access: Access, bytes: Range<u64>) {
    simulated::note_access(access, bytes);
}

/// Where that ends which is there of some bytes that a launcher's kernel may use, as far as the device knows.
///
/// # Errors
///
/// A message that goes on from what uses the bytes, if they were freed.
pub fn extent(bytes: &Range<u64>) -> Result<u64, String> {
    simulated().map_or(Ok(bytes.end), |simulated| simulated.extent(bytes))
}

/// The kernel that a launcher runs may wait for others, which run beside it from now on, also where a task is all that may run; until this is dropped.
pub struct MayWait(());

impl MayWait {
    /// From now on.
    #[must_use]
    pub fn begin() -> Self {
        POOL.begin_blocking();
        simulated::let_others_pass();
        Self(())
    }
}

impl Drop for MayWait {
    fn drop(&mut self) {
        POOL.end_blocking();
    }
}

/// Selects the device: `host`, `cuda`, or `sim`, `sim:late`, `sim:early` or `sim:random:SEED`. Without a selection, `ASYNCOPT_DEVICE` says which.
///
/// # Errors
///
/// If there is no such device, or one was selected or used before.
pub fn select(name: &str) -> Result<(), String> {
    let new = parse(name)?;
    if let Selected::Cuda(Err(message)) = new {
        return Err(message);
    }
    SELECTED
        .set(new)
        .map_err(|_| "a device is in use already".to_owned())
}

/// What LLVM calls the architecture of the device that runs machine code, such as `sm_90a`; `None` if kernels go to the launcher.
///
/// # Errors
///
/// If there is no such device.
pub fn chip() -> Result<Option<String>, String> {
    match selected() {
        Selected::Cuda(cuda) => cuda.as_ref().map_err(Clone::clone)?.chip().map(Some),
        _ => Ok(None),
    }
}

/// Frees what devices keep until the end. Nothing is running.
pub(crate) fn release() {
    // Who has used none does not begin now.
    if let Some(Selected::Cuda(Ok(cuda))) = SELECTED.get() {
        cuda.release();
    }
}

/// Whose operation it is: the task that calls, and the place in the program.
#[derive(Clone, Copy)]
pub(crate) struct Site {
    task: *mut Token,
    location: *const c_char,
}

// SAFETY: the location is a constant of the program, and the task is asked for only by the thread that runs it.
unsafe impl Send for Site {}

thread_local! {
    static SITE: Cell<Site> = const {
        Cell::new(Site {
            task: ptr::null_mut(),
            location: ptr::null(),
        })
    };
}

impl Site {
    /// The task, if its body does nothing after this operation that needs it done.
    pub fn trailing(self) -> Option<ManuallyDrop<Ref>> {
        // SAFETY: while the operation is called, the task is alive.
        let task = NonNull::new(self.task).map(|task| unsafe { Ref::borrow(task) });
        task.filter(|task| task.is_trailing())
    }

    /// The place.
    pub fn location(self) -> Option<&'static CStr> {
        // SAFETY: a constant of the program, or null.
        (!self.location.is_null()).then(|| unsafe { CStr::from_ptr(self.location) })
    }
}

/// Whose operation is called.
pub(crate) fn site() -> Site {
    SITE.get()
}

/// Calls an operation of a device for a task.
pub(crate) fn call<T>(
    task: *mut Token,
    number: i32,
    location: *const c_char,
    operation: impl FnOnce(&'static dyn Device) -> Result<T, String>,
) -> Result<T, String> {
    let device = current(number)?;
    SITE.set(Site { task, location });
    let result = operation(device);
    SITE.set(Site {
        task: ptr::null_mut(),
        location: ptr::null(),
    });
    result
}

/// The host as a device, whatever the number.
pub fn device(_number: i32) -> &'static Host {
    static HOST: OnceLock<Host> = OnceLock::new();
    HOST.get_or_init(Host::default)
}

/// What upstream's devices align to.
const ALIGN: usize = 256;

impl Host {
    /// Sets what runs kernels.
    pub fn set_launcher(&self, launcher: Option<Launcher>, context: *mut c_void) {
        *self.launcher.write().unwrap() = launcher.map(|launcher| (launcher, context.expose_provenance()));
    }
}

impl Device for Host {
    fn alloc(&self, bytes: usize) -> Result<*mut c_void, String> {
        let none = || format!("can't allocate {bytes} bytes");
        // An allocation of no bytes, too, has an address of its own.
        let layout = Layout::from_size_align(bytes.max(1), ALIGN).map_err(|_| none())?;
        // SAFETY: it has a byte or more.
        let pointer = unsafe { std::alloc::alloc(layout) };
        if pointer.is_null() {
            return Err(none());
        }
        self.allocations.lock().unwrap().insert(pointer.addr(), layout);
        census::add(Count::DeviceAllocations, 1);
        Ok(pointer.cast())
    }

    fn dealloc(&self, pointer: *mut c_void) -> Result<(), String> {
        if pointer.is_null() {
            return Ok(());
        }
        let Some(layout) = self.allocations.lock().unwrap().remove(&pointer.addr()) else {
            return Err(format!(
                "{pointer:p} is freed, but is no allocation of the device, or was freed"
            ));
        };
        census::add(Count::DeviceAllocations, -1);
        // SAFETY: `alloc` has allocated it with this layout, and it is freed once.
        unsafe { std::alloc::dealloc(pointer.cast(), layout) };
        Ok(())
    }

    fn host_alloc(&self, bytes: usize) -> Result<*mut c_void, String> {
        self.alloc(bytes)
    }

    fn host_dealloc(&self, pointer: *mut c_void) -> Result<(), String> {
        self.dealloc(pointer)
    }

    fn host_register(&self, _: *mut c_void, _: usize) -> Result<(), String> {
        Ok(())
    }

    fn host_unregister(&self, _: *mut c_void, _: usize) -> Result<(), String> {
        Ok(())
    }

    unsafe fn transfer(
        &self,
        destination: *mut c_void,
        source: *const c_void,
        bytes: usize,
    ) -> Result<(), String> {
        if bytes > 0 {
            // SAFETY: as the caller promises.
            unsafe { ptr::copy_nonoverlapping(source.cast::<u8>(), destination.cast(), bytes) };
        }
        Ok(())
    }

    unsafe fn memset(&self, destination: *mut c_void, element: &[u8], count: usize) -> Result<(), String> {
        for index in 0..count {
            // SAFETY: as the caller promises.
            unsafe {
                let to = destination.cast::<u8>().add(index * element.len());
                ptr::copy_nonoverlapping(element.as_ptr(), to, element.len());
            }
        }
        Ok(())
    }

    unsafe fn launch(
        &self,
        kernel: &CStr,
        sizes: &LaunchSizes,
        arguments: &[*mut c_void],
    ) -> Result<(), String> {
        let Some((launcher, context)) = *self.launcher.read().unwrap() else {
            return Err(format!(
                "nothing runs the kernel {}: register a launcher with asyncopt_rt_set_launcher",
                kernel.to_string_lossy()
            ));
        };
        let mut message = [0u8; 1024];
        // SAFETY: as the caller and the program that has registered it promise.
        let status = unsafe {
            launcher(
                ptr::with_exposed_provenance_mut(context),
                kernel.as_ptr(),
                sizes,
                arguments.as_ptr(),
                arguments.len().try_into().unwrap_or(i64::MAX),
                message.as_mut_ptr().cast(),
                message.len().try_into().unwrap_or(i64::MAX),
            )
        };
        if status == 0 {
            return Ok(());
        }
        let text = message.split(|&byte| byte == 0).next().unwrap_or_default();
        Err(match String::from_utf8_lossy(text) {
            text if text.is_empty() => {
                format!(
                    "the kernel {} failed with status {status}",
                    kernel.to_string_lossy()
                )
            }
            text => text.into_owned(),
        })
    }
}

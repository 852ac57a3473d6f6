//! NVIDIA's GPUs, by the driver's own interface.
//!
//! The driver is a library that is opened when it is needed, so that everything is built, and runs on other devices, without it.
//! `driver` has its functions, `context` what is made once for each device.
//!
//! An operation takes a stream that nobody uses, and gives it back when it is done. What tokens order is done by then, so no stream ever waits for
//! another. An operation at the end of a task ([`Site::trailing`]) does not wait for its stream: a token that the task's depends on is
//! completed by the driver. Others wait, and meanwhile another worker runs.
//!
//! Memory is allocated and freed in the order of one stream for each device, where the driver can do that.

mod context;
mod driver;

use std::{
    collections::{BTreeMap, HashMap},
    ffi::{CStr, CString, c_int, c_void},
    ptr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use self::{
    context::{Context, Image, Stream},
    driver::{Driver, Handle, call, number},
};
use crate::{
    census::{self, Count},
    device::{Device, LaunchSizes, Site, site},
    error::Error,
    pool::POOL,
    token::Ref,
};

/// Code that kernels are in, by the name of its module.
static IMAGES: Mutex<BTreeMap<String, Image>> = Mutex::new(BTreeMap::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes the code of a module, which the first launch of each device loads. It is copied.
pub fn register_module(name: &str, image: &[u8]) {
    // PTX ends with a null byte; others know their size.
    let image: Vec<u8> = image.iter().copied().chain([0]).collect();
    lock(&IMAGES).insert(name.to_owned(), image.into());
}

/// All devices of the driver.
pub struct Cuda {
    gpus: Vec<Gpu>,
}

/// A device of the driver.
pub struct Gpu {
    number: c_int,
    shared: Arc<Shared>,
}

/// What devices have in common.
struct Shared {
    driver: Arc<Driver>,
    /// By the number of the device.
    contexts: Mutex<HashMap<c_int, Arc<Context>>>,
    /// By its first address.
    allocations: Mutex<BTreeMap<usize, Allocation>>,
}

#[derive(Clone, Copy)]
struct Allocation {
    bytes: usize,
    device: c_int,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Memory of the device that was allocated in the order of a stream.
    Pool,
    /// Memory of the device.
    Device,
    /// Memory of the host that is pinned.
    Host,
}

/// What the driver gets to complete a task with.
struct Pending {
    end: Ref,
    site: Site,
    context: Arc<Context>,
    stream: Stream,
    shared: Arc<Shared>,
}

impl Cuda {
    /// Opens the driver, and counts the devices.
    ///
    /// # Errors
    ///
    /// If there is no driver, an old one, or no device.
    pub fn open() -> Result<Self, String> {
        let driver = Arc::new(Driver::open()?);
        let mut count = 0;
        call!(driver, cuDeviceGetCount(&raw mut count))?;
        if count == 0 {
            return Err(
                "the CUDA driver has no device: see what nvidia-smi lists, and what CUDA_VISIBLE_DEVICES says".into(),
            );
        }
        let shared = Arc::new(Shared {
            driver,
            contexts: Mutex::default(),
            allocations: Mutex::default(),
        });
        let gpu = |number| Gpu {
            number,
            shared: shared.clone(),
        };
        Ok(Self {
            gpus: (0..count).map(gpu).collect(),
        })
    }

    /// The device of a number.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn device(&self, number: i32) -> Result<&Gpu, String> {
        let gpu = usize::try_from(number)
            .ok()
            .and_then(|number| self.gpus.get(number));
        gpu.ok_or_else(|| match self.gpus.len() {
            1 => format!("there is no device {number}: the CUDA driver has one, device 0"),
            count => format!(
                "there is no device {number}: the CUDA driver has {count}, devices 0 to {}",
                count - 1
            ),
        })
    }

    /// What LLVM calls the architecture of the first device, such as `sm_90a`.
    ///
    /// # Errors
    ///
    /// What the driver says.
    pub fn chip(&self) -> Result<String, String> {
        let driver = &self.gpus[0].shared.driver;
        let mut device = 0;
        call!(driver, cuDeviceGet(&raw mut device, 0))?;
        let attribute = |which| {
            let mut value = 0;
            call!(driver, cuDeviceGetAttribute(&raw mut value, which, device)).map(|()| value)
        };
        let major = attribute(number::COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(number::COMPUTE_CAPABILITY_MINOR)?;
        // Since 9.0, some instructions are those of one architecture alone, which `a` stands for.
        let suffix = if major >= 9 { "a" } else { "" };
        Ok(format!("sm_{major}{minor}{suffix}"))
    }

    /// Frees all that is left, also what the program has not freed. Nothing is running.
    pub fn release(&self) {
        if let Some(gpu) = self.gpus.first() {
            lock(&gpu.shared.contexts).clear();
            lock(&gpu.shared.allocations).clear();
        }
    }
}

impl Shared {
    /// What was allocated around an address.
    fn allocation(&self, address: usize) -> Option<Allocation> {
        let allocations = lock(&self.allocations);
        let (start, allocation) = allocations.range(..=address).next_back()?;
        (address < start + allocation.bytes).then_some(*allocation)
    }

    /// The context of a device, which is made when it is first used, and is that of this thread from now on.
    fn context(&self, device: c_int) -> Result<Arc<Context>, String> {
        let mut contexts = lock(&self.contexts);
        let context = match contexts.get(&device) {
            Some(context) => context.clone(),
            None => {
                let context = Arc::new(Context::new(&self.driver, device)?);
                contexts.insert(device, context.clone());
                context
            }
        };
        drop(contexts);
        context.make_current()?;
        Ok(context)
    }

    /// Has a stream of a device do something. It is done on return, or at the end of the task.
    fn run(
        self: &Arc<Self>,
        device: c_int,
        enqueue: impl FnOnce(&Context, Stream) -> Result<(), String>,
    ) -> Result<(), String> {
        let context = self.context(device)?;
        let stream = context.take_stream()?;
        let enqueued = enqueue(&context, stream);
        let site = site();
        if let Some(task) = site.trailing()
            && enqueued.is_ok()
        {
            self.complete_later(&task, site, context, stream);
            return Ok(());
        }
        // Also after an error: something may have been enqueued before.
        POOL.begin_blocking();
        let done = context.synchronize(stream);
        POOL.end_blocking();
        context.give_stream(stream);
        enqueued.and(done)
    }

    /// Has a task complete when a stream has nothing to do any more, which is given back then.
    fn complete_later(self: &Arc<Self>, task: &Ref, site: Site, context: Arc<Context>, stream: Stream) {
        // SAFETY: it has no type.
        let end = unsafe { Ref::new(None) };
        // SAFETY: the body of the task is running.
        unsafe { task.depend(&end) };
        let pending = Pending {
            end,
            site,
            context: context.clone(),
            stream,
            shared: self.clone(),
        };
        let pending = Box::into_raw(Box::new(pending));
        POOL.begin_external();
        // SAFETY: a live stream, and what `on_complete` takes.
        let added = call!(
            self.driver,
            cuStreamAddCallback(stream.0, on_complete, pending.cast(), 0)
        );
        if added.is_err() {
            let done = context.synchronize(stream);
            // SAFETY: the driver has not taken it.
            unsafe { Box::from_raw(pending) }.complete(added.and(done));
        }
    }
}

/// What the driver calls, once, when a stream has come so far. It may call no function that does anything with the driver.
unsafe extern "C" fn on_complete(_: Handle, status: c_int, pending: *mut c_void) {
    // SAFETY: `complete_later` has made it, and gives it to one call.
    let pending = unsafe { Box::from_raw(pending.cast::<Pending>()) };
    let result = pending.shared.driver.check("in its stream", status);
    pending.complete(result);
}

impl Pending {
    fn complete(self, result: Result<(), String>) {
        let Self {
            end,
            site,
            context,
            stream,
            shared,
        } = self;
        context.give_stream(stream);
        // Whoever waits for the end of all this may free them.
        drop((context, shared));
        if let Err(message) = result {
            let message = CString::new(message).unwrap_or_default();
            end.fail(Arc::new(Error::new(site.location(), &message)));
        }
        // SAFETY: its open end is due.
        unsafe { end.settle(&mut |ready| POOL.push(ready)) };
        drop(end);
        POOL.end_external();
    }
}

// SAFETY of all calls of the driver: handles are alive, there is a place for what is returned, and memory is as the caller promises.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Gpu {
    fn note(&self, address: usize, bytes: usize, kind: Kind) {
        let device = self.number;
        let allocation = Allocation { bytes, device, kind };
        lock(&self.shared.allocations).insert(address, allocation);
        census::add(Count::DeviceAllocations, 1);
    }

    /// Takes an allocation of the device or of the host out of the list, for it to be freed.
    fn forget(&self, pointer: *mut c_void, of_host: bool) -> Result<Allocation, String> {
        let mut allocations = lock(&self.shared.allocations);
        let found = allocations.get(&pointer.addr()).copied();
        let Some(found) = found.filter(|known| (known.kind == Kind::Host) == of_host) else {
            let whose = if of_host {
                "pinned allocation"
            } else {
                "allocation of the device"
            };
            return Err(format!("{pointer:p} is freed, but is no {whose}, or was freed"));
        };
        allocations.remove(&pointer.addr());
        census::add(Count::DeviceAllocations, -1);
        Ok(found)
    }

    /// Frees something, which may wait for all that the device does.
    fn free(
        &self,
        of: Allocation,
        free: impl FnOnce(&Context, &Driver) -> Result<(), String>,
    ) -> Result<(), String> {
        let context = self.shared.context(of.device)?;
        POOL.begin_blocking();
        let result = free(&context, &self.shared.driver);
        POOL.end_blocking();
        result
    }
}

#[allow(clippy::undocumented_unsafe_blocks)]
impl Device for Gpu {
    fn alloc(&self, bytes: usize) -> Result<*mut c_void, String> {
        let (context, driver) = (self.shared.context(self.number)?, &self.shared.driver);
        let mut address = 0;
        // The driver has no allocation of no bytes.
        let size = bytes.max(1);
        let kind = match (context.memory, driver.cuMemAllocAsync) {
            (Some(stream), Some(allocate)) => {
                driver
                    .check("cuMemAllocAsync", unsafe {
                        allocate(&raw mut address, size, stream.0)
                    })
                    .map_err(|message| format!("can't allocate {bytes} bytes: {message}"))?;
                // Other streams are going to use it.
                if let Err(message) = context.synchronize(stream) {
                    if let Some(free) = driver.cuMemFreeAsync {
                        unsafe { free(address, stream.0) };
                    }
                    return Err(message);
                }
                Kind::Pool
            }
            _ => {
                call!(driver, cuMemAlloc(&raw mut address, size))
                    .map_err(|message| format!("can't allocate {bytes} bytes: {message}"))?;
                Kind::Device
            }
        };
        let pointer: *mut c_void =
            ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or_default());
        self.note(pointer.addr(), size, kind);
        Ok(pointer)
    }

    fn dealloc(&self, pointer: *mut c_void) -> Result<(), String> {
        if pointer.is_null() {
            return Ok(());
        }
        let of = self.forget(pointer, false)?;
        let address = pointer.addr() as u64;
        self.free(of, |context, driver| {
            match (of.kind, context.memory, driver.cuMemFreeAsync) {
                // All uses are done, and later allocations are in the same stream: nobody has to wait.
                (Kind::Pool, Some(stream), Some(free)) => {
                    driver.check("cuMemFreeAsync", unsafe { free(address, stream.0) })
                }
                _ => call!(driver, cuMemFree(address)),
            }
        })
    }

    fn host_alloc(&self, bytes: usize) -> Result<*mut c_void, String> {
        let _context = self.shared.context(self.number)?;
        let (mut pointer, size) = (ptr::null_mut(), bytes.max(1));
        let flags = number::HOST_ALLOC_PORTABLE;
        call!(self.shared.driver, cuMemHostAlloc(&raw mut pointer, size, flags))
            .map_err(|message| format!("can't allocate {bytes} bytes of the host: {message}"))?;
        self.note(pointer.expose_provenance(), size, Kind::Host);
        Ok(pointer)
    }

    fn host_dealloc(&self, pointer: *mut c_void) -> Result<(), String> {
        if pointer.is_null() {
            return Ok(());
        }
        let of = self.forget(pointer, true)?;
        self.free(of, |_, driver| call!(driver, cuMemFreeHost(pointer)))
    }

    fn host_register(&self, pointer: *mut c_void, bytes: usize) -> Result<(), String> {
        if bytes == 0 {
            return Ok(());
        }
        let _context = self.shared.context(self.number)?;
        let flags = number::HOST_REGISTER_PORTABLE;
        call!(self.shared.driver, cuMemHostRegister(pointer, bytes, flags))
    }

    fn host_unregister(&self, pointer: *mut c_void, bytes: usize) -> Result<(), String> {
        if bytes == 0 {
            return Ok(());
        }
        let _context = self.shared.context(self.number)?;
        call!(self.shared.driver, cuMemHostUnregister(pointer))
    }

    unsafe fn transfer(
        &self,
        destination: *mut c_void,
        source: *const c_void,
        bytes: usize,
    ) -> Result<(), String> {
        if bytes == 0 {
            return Ok(());
        }
        let owner = |address| {
            let known = self
                .shared
                .allocation(address)
                .filter(|known| known.kind != Kind::Host);
            known.map(|known| known.device)
        };
        let (to, from) = (
            destination.expose_provenance() as u64,
            source.expose_provenance() as u64,
        );
        let owners = (owner(destination.addr()), owner(source.addr()));
        let driver = &self.shared.driver;
        // The device whose memory it is has the stream, whatever device the program has named.
        let device = owners.0.or(owners.1).unwrap_or(self.number);
        let other = match owners {
            (Some(_), Some(other)) if other != device => Some(self.shared.context(other)?),
            _ => None,
        };
        self.shared.run(device, |context, stream| match &other {
            Some(other) => call!(
                driver,
                cuMemcpyPeerAsync(to, context.handle, from, other.handle, bytes, stream.0)
            ),
            None => call!(driver, cuMemcpyAsync(to, from, bytes, stream.0)),
        })
    }

    unsafe fn memset(&self, destination: *mut c_void, element: &[u8], count: usize) -> Result<(), String> {
        let bytes = count.checked_mul(element.len()).ok_or_else(|| {
            format!(
                "{count} elements of {} bytes are more than there is memory",
                element.len()
            )
        })?;
        if bytes == 0 {
            return Ok(());
        }
        let to = destination.addr() as u64;
        let known = self.shared.allocation(destination.addr());
        let device = known.map_or(self.number, |known| known.device);
        let driver = &self.shared.driver;
        self.shared
            .run(device, |_, stream| match (period(element), to % 4) {
                (&[byte], _) => call!(driver, cuMemsetD8Async(to, byte, bytes, stream.0)),
                (&[a, b], 0 | 2) => {
                    let value = u16::from_ne_bytes([a, b]);
                    call!(driver, cuMemsetD16Async(to, value, bytes / 2, stream.0))
                }
                (&[a, b, c, d], 0) => {
                    let value = u32::from_ne_bytes([a, b, c, d]);
                    call!(driver, cuMemsetD32Async(to, value, bytes / 4, stream.0))
                }
                (pattern, _) => {
                    // A few elements from the host, which are copied as long as there is room, twice as many each time. The driver has
                    // read pageable memory when it returns.
                    let first = pattern.repeat((4096 / pattern.len()).max(1));
                    let mut done = first.len().min(bytes);
                    let from = first.as_ptr().expose_provenance() as u64;
                    call!(driver, cuMemcpyAsync(to, from, done, stream.0))?;
                    while done < bytes {
                        let more = done.min(bytes - done);
                        call!(driver, cuMemcpyAsync(to + done as u64, to, more, stream.0))?;
                        done += more;
                    }
                    Ok(())
                }
            })
    }

    unsafe fn launch(
        &self,
        kernel: &CStr,
        sizes: &LaunchSizes,
        arguments: &[*mut c_void],
    ) -> Result<(), String> {
        let name = kernel.to_string_lossy();
        let (module, function) = name.rsplit_once("::").unwrap_or(("", &name));
        let image = lock(&IMAGES).get(module).cloned().ok_or_else(|| {
            format!("there is no code for the kernel {name}: register that of '{module}' with asyncopt_rt_register_module")
        })?;
        let launched = self.shared.run(self.number, |context, stream| unsafe {
            context.launch(function, &image, sizes, arguments, stream)
        });
        launched.map_err(|message| format!("kernel '{name}': {message}"))
    }
}

/// The bytes that an element repeats: one, two, four or all of them.
fn period(element: &[u8]) -> &[u8] {
    let repeats = |length: usize| {
        element.len().is_multiple_of(length) && element.chunks(length).all(|part| part == &element[..length])
    };
    let length = [1, 2, 4].into_iter().find(|&length| repeats(length));
    &element[..length.unwrap_or(element.len())]
}

//! What is made once for each device: its context, streams, and the modules that are loaded.

use std::{
    collections::{HashMap, hash_map::Entry},
    ffi::{CString, c_int, c_uint, c_void},
    ptr,
    sync::{Arc, Mutex},
};

use super::driver::{Driver, Handle, LaunchAttribute, LaunchConfig, call, number};
use super::lock;
use crate::device::LaunchSizes;

/// A stream of a context.
#[derive(Clone, Copy)]
pub struct Stream(pub Handle);

// SAFETY: the driver's functions may be called by any thread.
unsafe impl Send for Stream {}

/// Code for the device: PTX with a null byte at its end, a cubin or a fat binary.
pub type Image = Arc<[u8]>;

/// The primary context of a device. All that it has is freed when it is dropped.
pub struct Context {
    driver: Arc<Driver>,
    device: c_int,
    pub handle: Handle,
    /// The stream of all allocations and frees, if there are memory pools: what was freed in it can be allocated in it again.
    pub memory: Option<Stream>,
    /// Streams that nobody uses.
    idle: Mutex<Vec<Stream>>,
    /// By the address of what they were loaded from.
    modules: Mutex<HashMap<usize, Module>>,
}

// SAFETY: handles may be used by any thread.
unsafe impl Send for Context {}
// SAFETY: as above; the rest has locks.
unsafe impl Sync for Context {}

struct Module {
    /// What it was loaded from, which has its address as long as this is here.
    _image: Image,
    handle: Handle,
    kernels: HashMap<CString, Kernel>,
}

#[derive(Clone, Copy)]
struct Kernel {
    handle: Handle,
    /// The most dynamic workgroup memory that it may be launched with so far.
    workgroup_bytes: c_int,
    /// Whether it may have clusters that not every device has room for.
    has_large_clusters: bool,
}

/// The blocks of the largest cluster that each device with clusters has room for.
const PORTABLE_CLUSTER: u64 = 8;

// SAFETY of all calls: handles are alive, and there is a place for what is returned.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Context {
    /// Makes the context of a device.
    ///
    /// # Errors
    ///
    /// What the driver says.
    pub fn new(driver: &Arc<Driver>, ordinal: c_int) -> Result<Self, String> {
        let (mut device, mut handle, mut has_pools) = (0, ptr::null_mut(), 0);
        call!(driver, cuDeviceGet(&raw mut device, ordinal))?;
        call!(
            driver,
            cuDeviceGetAttribute(&raw mut has_pools, number::MEMORY_POOLS_SUPPORTED, device)
        )?;
        call!(driver, cuDevicePrimaryCtxRetain(&raw mut handle, device))?;
        // From here on, dropping it frees what was made.
        let mut context = Self {
            driver: driver.clone(),
            device,
            handle,
            memory: None,
            idle: Mutex::default(),
            modules: Mutex::default(),
        };
        context.make_current()?;
        if has_pools != 0 && driver.cuMemAllocAsync.is_some() && driver.cuMemFreeAsync.is_some() {
            context.memory = Some(context.new_stream()?);
            context.keep_freed_memory()?;
        }
        Ok(context)
    }

    /// Calls of this thread are for this context from now on.
    pub fn make_current(&self) -> Result<(), String> {
        call!(self.driver, cuCtxSetCurrent(self.handle))
    }

    /// Has the pool keep what is freed for later allocations, which it would give back at each synchronization otherwise.
    fn keep_freed_memory(&self) -> Result<(), String> {
        let driver = &self.driver;
        let (Some(default_pool), Some(set)) =
            (driver.cuDeviceGetDefaultMemPool, driver.cuMemPoolSetAttribute)
        else {
            return Ok(());
        };
        let (mut pool, mut threshold) = (ptr::null_mut(), u64::MAX);
        driver.check("cuDeviceGetDefaultMemPool", unsafe {
            default_pool(&raw mut pool, self.device)
        })?;
        let threshold = (&raw mut threshold).cast();
        driver.check("cuMemPoolSetAttribute", unsafe {
            set(pool, number::MEMPOOL_RELEASE_THRESHOLD, threshold)
        })
    }

    fn new_stream(&self) -> Result<Stream, String> {
        let mut stream = ptr::null_mut();
        call!(
            self.driver,
            cuStreamCreate(&raw mut stream, number::STREAM_NON_BLOCKING)
        )?;
        Ok(Stream(stream))
    }

    /// A stream that nobody else uses, until it is given back.
    pub fn take_stream(&self) -> Result<Stream, String> {
        let idle = lock(&self.idle).pop();
        idle.map_or_else(|| self.new_stream(), Ok)
    }

    /// Gives a stream back that has nothing to do any more.
    pub fn give_stream(&self, stream: Stream) {
        lock(&self.idle).push(stream);
    }

    /// Waits until a stream has nothing to do any more.
    pub fn synchronize(&self, stream: Stream) -> Result<(), String> {
        call!(self.driver, cuStreamSynchronize(stream.0))
    }

    /// Puts the kernel `name` of a module into a stream.
    ///
    /// # Errors
    ///
    /// If it can't be loaded, or does not fit the device.
    ///
    /// # Safety
    ///
    /// The arguments are those of the kernel.
    pub unsafe fn launch(
        &self,
        name: &str,
        image: &Image,
        sizes: &LaunchSizes,
        arguments: &[*mut c_void],
        stream: Stream,
    ) -> Result<(), String> {
        let extents = |of: [i64; 3], what: &str| {
            let extent = |size: i64| c_uint::try_from(size).ok().filter(|size| *size > 0);
            match of.map(extent) {
                [Some(x), Some(y), Some(z)] => Ok([x, y, z]),
                _ => Err(format!(
                    "it is launched with {what} of {of:?}, and each is 1 at least"
                )),
            }
        };
        let (grid, block, cluster) = (
            extents(sizes.grid, "a grid")?,
            extents(sizes.block, "blocks")?,
            extents(sizes.cluster, "clusters")?,
        );
        let workgroup_bytes = c_int::try_from(sizes.workgroup_bytes)
            .ok()
            .filter(|bytes| *bytes >= 0);
        let workgroup_bytes = workgroup_bytes.ok_or_else(|| {
            format!(
                "it is launched with {} bytes of workgroup memory",
                sizes.workgroup_bytes
            )
        })?;
        let blocks = cluster.iter().map(|&size| u64::from(size)).product::<u64>();
        let function = self.kernel(name, image, workgroup_bytes, blocks > PORTABLE_CLUSTER)?;
        // The driver does not write them.
        let arguments = arguments.as_ptr().cast_mut();
        let workgroup_bytes = workgroup_bytes.cast_unsigned();
        let driver = &self.driver;
        if blocks == 1 {
            let ([x, y, z], [bx, by, bz]) = (grid, block);
            return call!(
                driver,
                cuLaunchKernel(
                    function,
                    x,
                    y,
                    z,
                    bx,
                    by,
                    bz,
                    workgroup_bytes,
                    stream.0,
                    arguments,
                    ptr::null_mut(),
                )
            );
        }
        let Some(launch) = driver.cuLaunchKernelEx else {
            return Err(
                "it is launched with clusters, which the CUDA driver does not know: install one for CUDA 11.8 or newer".into(),
            );
        };
        let mut attribute = LaunchAttribute {
            id: number::LAUNCH_CLUSTER_DIMENSION,
            padding: [0; 4],
            value: cluster,
            rest: [0; 13],
        };
        let config = LaunchConfig {
            grid,
            block,
            workgroup_bytes,
            stream: stream.0,
            attributes: &raw mut attribute,
            num_attributes: 1,
        };
        driver.check("cuLaunchKernelEx", unsafe {
            launch(&raw const config, function, arguments, ptr::null_mut())
        })
    }

    /// A kernel that may have as much dynamic workgroup memory.
    fn kernel(
        &self,
        name: &str,
        image: &Image,
        workgroup_bytes: c_int,
        is_large_cluster: bool,
    ) -> Result<Handle, String> {
        let driver = &self.driver;
        let mut modules = lock(&self.modules);
        // One that another has replaced may still run: it stays.
        let module = match modules.entry(image.as_ptr().addr()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Module {
                _image: image.clone(),
                handle: self.load(image)?,
                kernels: HashMap::new(),
            }),
        };
        let symbol = CString::new(name).unwrap_or_default();
        if !module.kernels.contains_key(&symbol) {
            let (mut handle, mut most) = (ptr::null_mut(), 0);
            call!(
                driver,
                cuModuleGetFunction(&raw mut handle, module.handle, symbol.as_ptr())
            )?;
            call!(
                driver,
                cuFuncGetAttribute(&raw mut most, number::FUNCTION_MAX_DYNAMIC_SHARED_BYTES, handle)
            )?;
            let kernel = Kernel {
                handle,
                workgroup_bytes: most,
                has_large_clusters: false,
            };
            module.kernels.insert(symbol.clone(), kernel);
        }
        let kernel = module.kernels.get_mut(&symbol).ok_or("it is not loaded")?;
        if workgroup_bytes > kernel.workgroup_bytes {
            let attribute = number::FUNCTION_MAX_DYNAMIC_SHARED_BYTES;
            call!(
                driver,
                cuFuncSetAttribute(kernel.handle, attribute, workgroup_bytes)
            )
            .map_err(|message| {
                format!("it is launched with {workgroup_bytes} bytes of workgroup memory: {message}")
            })?;
            kernel.workgroup_bytes = workgroup_bytes;
        }
        if is_large_cluster && !kernel.has_large_clusters {
            call!(
                driver,
                cuFuncSetAttribute(kernel.handle, number::FUNCTION_NON_PORTABLE_CLUSTER_ALLOWED, 1)
            )?;
            kernel.has_large_clusters = true;
        }
        Ok(kernel.handle)
    }

    /// Loads code, compiling it if it is PTX.
    fn load(&self, image: &Image) -> Result<Handle, String> {
        let mut module = ptr::null_mut();
        let mut log = vec![0u8; 4096];
        let mut options = [number::JIT_ERROR_LOG_BUFFER, number::JIT_ERROR_LOG_BUFFER_BYTES];
        // A number is passed in the place of a pointer.
        let mut values = [
            log.as_mut_ptr().cast::<c_void>(),
            ptr::without_provenance_mut(log.len() - 1),
        ];
        let loaded = call!(
            self.driver,
            cuModuleLoadDataEx(
                &raw mut module,
                image.as_ptr().cast(),
                2,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        );
        loaded.map_err(|message| {
            let text = log.split(|&byte| byte == 0).next().unwrap_or_default();
            match String::from_utf8_lossy(text).trim_end() {
                "" => message,
                log => format!("{message}\n{log}"),
            }
        })?;
        Ok(module)
    }
}

#[allow(clippy::undocumented_unsafe_blocks)]
impl Drop for Context {
    fn drop(&mut self) {
        let driver = &self.driver;
        let free = |result: Result<(), String>| {
            if let Err(message) = result {
                eprintln!("asyncopt_rt: while device {} is freed: {message}", self.device);
            }
        };
        // At the end of a process, the driver may have ended before.
        let status = unsafe { (driver.cuCtxSetCurrent)(self.handle) };
        if status == number::ERROR_DEINITIALIZED {
            return;
        }
        free(driver.check("cuCtxSetCurrent", status));
        for stream in lock(&self.idle).drain(..).chain(self.memory) {
            free(call!(driver, cuStreamDestroy(stream.0)));
        }
        for (_, module) in lock(&self.modules).drain() {
            free(call!(driver, cuModuleUnload(module.handle)));
        }
        free(call!(driver, cuCtxSetCurrent(ptr::null_mut())));
        free(call!(driver, cuDevicePrimaryCtxRelease(self.device)));
    }
}

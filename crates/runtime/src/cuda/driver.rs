//! The driver: NVIDIA's library, opened when it is needed, and the functions of it that are used.

use std::{
    env,
    ffi::{CStr, CString, OsString, c_char, c_int, c_uint, c_void},
    os::unix::ffi::OsStringExt,
    ptr,
};

/// A context, stream, module, function or memory pool of the driver.
pub type Handle = *mut c_void;
/// What the driver calls when a stream has come to it, with the status of the stream.
pub type Callback = unsafe extern "C" fn(stream: Handle, status: c_int, data: *mut c_void);

/// Where the driver is, if `ASYNCOPT_CUDA_DRIVER` says nothing else.
const LIBRARY: &str = "libcuda.so.1";

/// Declares the table of functions, each named as the driver's documentation has it, and as the library does.
macro_rules! functions {
    (
        required { $($name:ident = $symbol:literal ($($type:ty),*);)* }
        optional { $($other:ident = $other_symbol:literal ($($other_type:ty),*);)* }
    ) => {
        /// Functions of the driver. Each returns 0 or an error.
        #[allow(non_snake_case)]
        pub struct Functions {
            $(pub $name: unsafe extern "C" fn($($type),*) -> c_int,)*
            $(pub $other: Option<unsafe extern "C" fn($($other_type),*) -> c_int>,)*
        }

        impl Functions {
            /// Looks all of them up.
            fn of(library: &Library) -> Result<Self, String> {
                Ok(Self {
                    // SAFETY: a function of this name has these parameters, which the version in its name stands for.
                    $($name: unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> c_int>(library.required($symbol)?) },)*
                    // SAFETY: as above; null is none.
                    $($other: unsafe { std::mem::transmute::<*mut c_void, Option<unsafe extern "C" fn($($other_type),*) -> c_int>>(library.find($other_symbol)) },)*
                })
            }
        }
    };
}

functions! {
    required {
        cuInit = "cuInit" (c_uint);
        cuGetErrorName = "cuGetErrorName" (c_int, *mut *const c_char);
        cuGetErrorString = "cuGetErrorString" (c_int, *mut *const c_char);
        cuDeviceGetCount = "cuDeviceGetCount" (*mut c_int);
        cuDeviceGet = "cuDeviceGet" (*mut c_int, c_int);
        cuDeviceGetAttribute = "cuDeviceGetAttribute" (*mut c_int, c_int, c_int);
        cuDevicePrimaryCtxRetain = "cuDevicePrimaryCtxRetain" (*mut Handle, c_int);
        cuDevicePrimaryCtxRelease = "cuDevicePrimaryCtxRelease_v2" (c_int);
        cuCtxSetCurrent = "cuCtxSetCurrent" (Handle);
        cuStreamCreate = "cuStreamCreate" (*mut Handle, c_uint);
        cuStreamDestroy = "cuStreamDestroy_v2" (Handle);
        cuStreamSynchronize = "cuStreamSynchronize" (Handle);
        // Not cuLaunchHostFunc, which calls nothing after an error.
        cuStreamAddCallback = "cuStreamAddCallback" (Handle, Callback, *mut c_void, c_uint);
        cuMemAlloc = "cuMemAlloc_v2" (*mut u64, usize);
        cuMemFree = "cuMemFree_v2" (u64);
        cuMemHostAlloc = "cuMemHostAlloc" (*mut *mut c_void, usize, c_uint);
        cuMemFreeHost = "cuMemFreeHost" (*mut c_void);
        cuMemHostRegister = "cuMemHostRegister_v2" (*mut c_void, usize, c_uint);
        cuMemHostUnregister = "cuMemHostUnregister" (*mut c_void);
        cuMemcpyAsync = "cuMemcpyAsync" (u64, u64, usize, Handle);
        cuMemcpyPeerAsync = "cuMemcpyPeerAsync" (u64, Handle, u64, Handle, usize, Handle);
        cuMemsetD8Async = "cuMemsetD8Async" (u64, u8, usize, Handle);
        cuMemsetD16Async = "cuMemsetD16Async" (u64, u16, usize, Handle);
        cuMemsetD32Async = "cuMemsetD32Async" (u64, u32, usize, Handle);
        cuModuleLoadDataEx = "cuModuleLoadDataEx" (*mut Handle, *const c_void, c_uint, *mut c_int, *mut *mut c_void);
        cuModuleUnload = "cuModuleUnload" (Handle);
        cuModuleGetFunction = "cuModuleGetFunction" (*mut Handle, Handle, *const c_char);
        cuFuncGetAttribute = "cuFuncGetAttribute" (*mut c_int, c_int, Handle);
        cuFuncSetAttribute = "cuFuncSetAttribute" (Handle, c_int, c_int);
        cuLaunchKernel = "cuLaunchKernel" (
            Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void
        );
    }
    optional {
        // Since CUDA 11.2.
        cuMemAllocAsync = "cuMemAllocAsync" (*mut u64, usize, Handle);
        cuMemFreeAsync = "cuMemFreeAsync" (u64, Handle);
        cuDeviceGetDefaultMemPool = "cuDeviceGetDefaultMemPool" (*mut Handle, c_int);
        cuMemPoolSetAttribute = "cuMemPoolSetAttribute" (Handle, c_int, *mut c_void);
        // Since CUDA 11.8.
        cuLaunchKernelEx = "cuLaunchKernelEx" (*const LaunchConfig, Handle, *mut *mut c_void, *mut *mut c_void);
    }
}

/// `CUlaunchConfig`.
#[repr(C)]
pub struct LaunchConfig {
    pub grid: [c_uint; 3],
    pub block: [c_uint; 3],
    pub workgroup_bytes: c_uint,
    pub stream: Handle,
    pub attributes: *mut LaunchAttribute,
    pub num_attributes: c_uint,
}

/// `CUlaunchAttribute`, with a value of three numbers.
#[repr(C, align(8))]
pub struct LaunchAttribute {
    pub id: c_uint,
    pub padding: [u8; 4],
    pub value: [c_uint; 3],
    /// The value is a union of 64 bytes.
    pub rest: [c_uint; 13],
}

const _: () = assert!(size_of::<LaunchAttribute>() == 72 && size_of::<LaunchConfig>() == 56);

/// Numbers of `cuda.h`.
pub mod number {
    use std::ffi::{c_int, c_uint};

    pub const ERROR_DEINITIALIZED: c_int = 4;
    pub const COMPUTE_CAPABILITY_MAJOR: c_int = 75;
    pub const COMPUTE_CAPABILITY_MINOR: c_int = 76;
    pub const MEMORY_POOLS_SUPPORTED: c_int = 115;
    pub const MEMPOOL_RELEASE_THRESHOLD: c_int = 4;
    pub const STREAM_NON_BLOCKING: c_uint = 1;
    pub const HOST_ALLOC_PORTABLE: c_uint = 1;
    pub const HOST_REGISTER_PORTABLE: c_uint = 1;
    pub const JIT_ERROR_LOG_BUFFER: c_int = 5;
    pub const JIT_ERROR_LOG_BUFFER_BYTES: c_int = 6;
    pub const FUNCTION_MAX_DYNAMIC_SHARED_BYTES: c_int = 8;
    pub const FUNCTION_NON_PORTABLE_CLUSTER_ALLOWED: c_int = 14;
    pub const LAUNCH_CLUSTER_DIMENSION: c_uint = 4;
}

/// A library that is open, and stays so: the driver can't be unloaded.
struct Library {
    handle: *mut c_void,
    path: String,
}

impl Library {
    fn open() -> Result<Self, String> {
        let path = env::var_os("ASYNCOPT_CUDA_DRIVER").filter(|path| !path.is_empty());
        let path = path.unwrap_or_else(|| OsString::from(LIBRARY));
        let shown = path.to_string_lossy().into_owned();
        let path = CString::new(path.into_vec()).unwrap_or_default();
        // SAFETY: a string. What a library does when it is loaded is up to whoever names it.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            // SAFETY: after a failure, it is a string.
            let why = unsafe { CStr::from_ptr(libc::dlerror()) }.to_string_lossy();
            return Err(format!(
                "the CUDA driver can't be loaded ({why}): install NVIDIA's driver, or say with ASYNCOPT_CUDA_DRIVER where {LIBRARY} is; \
                 without a GPU, choose the device 'host' or 'sim'"
            ));
        }
        Ok(Self { handle, path: shown })
    }

    /// The address of a function, or null.
    fn find(&self, symbol: &str) -> *mut c_void {
        let symbol = CString::new(symbol).unwrap_or_default();
        // SAFETY: a live handle, and a string.
        unsafe { libc::dlsym(self.handle, symbol.as_ptr()) }
    }

    fn required(&self, symbol: &str) -> Result<*mut c_void, String> {
        let found = self.find(symbol);
        (!found.is_null()).then_some(found).ok_or_else(|| {
            format!(
                "the CUDA driver {} has no function {symbol}: install a driver for CUDA 11.2 or newer",
                self.path
            )
        })
    }
}

/// The driver.
pub struct Driver(Functions);

impl std::ops::Deref for Driver {
    type Target = Functions;

    fn deref(&self) -> &Functions {
        &self.0
    }
}

impl Driver {
    /// Opens and starts it.
    ///
    /// # Errors
    ///
    /// If there is none, or an old one.
    pub fn open() -> Result<Self, String> {
        let driver = Self(Functions::of(&Library::open()?)?);
        // SAFETY: the first call.
        driver.check("cuInit", unsafe { (driver.cuInit)(0) })?;
        Ok(driver)
    }

    /// The result of a call.
    ///
    /// # Errors
    ///
    /// If it is none: the call, the error's name, and what it means.
    pub fn check(&self, call: &str, status: c_int) -> Result<(), String> {
        if status == 0 {
            return Ok(());
        }
        let text = |function: unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int| {
            let mut text = ptr::null();
            // SAFETY: there is a place for the pointer, which is then null or a constant string.
            unsafe {
                let known = function(status, &raw mut text) == 0 && !text.is_null();
                known.then(|| CStr::from_ptr(text).to_string_lossy())
            }
        };
        let name = text(self.cuGetErrorName).unwrap_or_else(|| format!("error {status}").into());
        let meaning = text(self.cuGetErrorString).map_or(String::new(), |meaning| format!(": {meaning}"));
        Err(format!("{call}: {name}{meaning}"))
    }
}

/// Calls a function of the driver; its status as a result. Whoever writes this has handles that are alive, memory as the caller of the operation
/// promises, and places for what is returned.
macro_rules! call {
    ($driver:expr, $name:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: as above.
        let status = unsafe { ($driver.$name)($($argument),*) };
        $driver.check(stringify!($name), status)
    }};
}
pub(super) use call;

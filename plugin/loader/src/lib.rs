//! The plugin that a stock `mlir-opt` loads, with `--load-dialect-plugin` and `--load-pass-plugin`.
//!
//! It knows nothing of LLVM, so that any host can open it, and says what is wrong where a host has another MLIR: the rest,
//! `libasync_opt_core.so` beside it, is opened only in a process that already uses the `libMLIR.so` that it was built for.
//!
//! The two entry points and the structures are those of `mlir/Tools/Plugins/DialectPlugin.h` and `PassPlugin.h`.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::mem::transmute;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

/// `MLIR_PLUGIN_API_VERSION`.
const API_VERSION: u32 = 1;
/// What a host refuses.
const NO_VERSION: u32 = 0;
const NAME: &CStr = c"async-opt";
const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => panic!("a version has no zero byte"),
};
/// The library that the host has to use, as the dynamic linker knows it.
const HOST_LIBRARY: &CStr = c"libMLIR.so.22.1";
const CORE: &str = "libasync_opt_core.so";

/// `mlir::DialectPluginLibraryInfo` and `mlir::PassPluginLibraryInfo`, which differ in what registers.
#[repr(C)]
pub struct PluginInfo<F> {
    api_version: u32,
    name: *const c_char,
    version: *const c_char,
    register: F,
}

impl<F> PluginInfo<F> {
    /// With the function of the core, or else with `nothing`, and a version that hosts refuse.
    fn new(found: Option<F>, nothing: F) -> Self {
        Self {
            api_version: if found.is_some() { API_VERSION } else { NO_VERSION },
            name: NAME.as_ptr(),
            version: VERSION.as_ptr(),
            register: found.unwrap_or(nothing),
        }
    }
}

/// The pointer is to an `mlir::DialectRegistry`.
type RegisterDialects = unsafe extern "C" fn(*mut c_void);
type RegisterPasses = unsafe extern "C" fn();

/// What hosts ask for with `--load-dialect-plugin`.
#[unsafe(no_mangle)]
pub extern "C" fn mlirGetDialectPluginInfo() -> PluginInfo<RegisterDialects> {
    unsafe extern "C" fn nothing(_: *mut c_void) {}
    // SAFETY: the function of that name in the core has this type.
    let found = find(c"asyncOptRegisterPluginDialects")
        .map(|function| unsafe { transmute::<*mut c_void, RegisterDialects>(function) });
    PluginInfo::new(found, nothing)
}

/// What hosts ask for with `--load-pass-plugin`.
#[unsafe(no_mangle)]
pub extern "C" fn mlirGetPassPluginInfo() -> PluginInfo<RegisterPasses> {
    unsafe extern "C" fn nothing() {}
    // SAFETY: the function of that name in the core has this type.
    let found = find(c"asyncOptRegisterPasses")
        .map(|function| unsafe { transmute::<*mut c_void, RegisterPasses>(function) });
    PluginInfo::new(found, nothing)
}

/// The function `name` of the core, or prints why there is none.
fn find(name: &CStr) -> Option<*mut c_void> {
    match open_core().and_then(|core| symbol(core, name)) {
        Ok(function) => Some(function),
        Err(message) => {
            eprintln!("async-opt: {message}");
            None
        }
    }
}

fn symbol(library: *mut c_void, name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: an open library and a C string.
    let found = unsafe { dlsym(library, name.as_ptr()) };
    if found.is_null() {
        Err(last_error())
    } else {
        Ok(found)
    }
}

/// Opens the core, which stays open: MLIR keeps pointers into it.
fn open_core() -> Result<*mut c_void, String> {
    if open(HOST_LIBRARY, RTLD_LAZY | RTLD_NOLOAD).is_none() {
        return Err(format!(
            "this plugin needs a host that uses {}, and this one does not: load it into mlir-opt of LLVM 22.1 \
             (mlir-opt-22 in Debian's package mlir-22-tools)",
            HOST_LIBRARY.to_string_lossy()
        ));
    }
    let path = own_folder()?.join(CORE);
    let c_path = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    open(&c_path, RTLD_NOW | RTLD_NODELETE).ok_or_else(last_error)
}

fn open(path: &CStr, mode: c_int) -> Option<*mut c_void> {
    // SAFETY: a C string. What runs when the core is opened are the constructors of C++ globals.
    let library = unsafe { dlopen(path.as_ptr(), mode) };
    (!library.is_null()).then_some(library)
}

/// The folder that this library is in. Of several copies in a process, all find that of the first, since a host loads plugins
/// into one namespace of symbols: so they share one core.
fn own_folder() -> Result<PathBuf, String> {
    let mut info = DlInfo {
        file_name: ptr::null(),
        file_base: ptr::null_mut(),
        symbol_name: ptr::null(),
        symbol: ptr::null_mut(),
    };
    // SAFETY: any address will do, and this one is in this library.
    let found = unsafe { dladdr((mlirGetPassPluginInfo as *const ()).cast(), &raw mut info) };
    if found == 0 || info.file_name.is_null() {
        return Err("cannot find out where this plugin is".into());
    }
    // SAFETY: a C string that lives as long as this library is open.
    let file = unsafe { CStr::from_ptr(info.file_name) };
    let file = Path::new(OsStr::from_bytes(file.to_bytes()));
    let file = file
        .canonicalize()
        .map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(file.parent().map(Path::to_path_buf).unwrap_or_default())
}

fn last_error() -> String {
    // SAFETY: a C string, or null, that lives until the next call.
    unsafe {
        let error = dlerror();
        if error.is_null() {
            "unknown error of the dynamic linker".into()
        } else {
            CStr::from_ptr(error).to_string_lossy().into_owned()
        }
    }
}

// `dlfcn.h` of glibc on Linux.
const RTLD_LAZY: c_int = 0x1;
const RTLD_NOW: c_int = 0x2;
const RTLD_NOLOAD: c_int = 0x4;
const RTLD_NODELETE: c_int = 0x1000;

/// `Dl_info`.
#[repr(C)]
struct DlInfo {
    file_name: *const c_char,
    file_base: *mut c_void,
    symbol_name: *const c_char,
    symbol: *mut c_void,
}

unsafe extern "C" {
    fn dlopen(path: *const c_char, mode: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
    fn dlerror() -> *mut c_char;
}

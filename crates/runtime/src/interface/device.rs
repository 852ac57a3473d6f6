//! The functions of the C interface for operations of devices.

use std::{
    ffi::{CString, c_char, c_void},
    ptr, slice,
};

use super::{borrow, fail, string};
use crate::{
    cuda,
    device::{self, LaunchSizes, Launcher, device},
    error::Error,
    memref,
    token::Token,
};

/// The result of a device operation, or `otherwise` after its task has failed.
///
/// # Safety
///
/// The token is null, or its body is due; the location is null or a string.
unsafe fn device_result<T>(
    token: *mut Token,
    location: *const c_char,
    result: Result<T, String>,
    otherwise: T,
) -> T {
    result.unwrap_or_else(|message| {
        let message = CString::new(message).unwrap_or_default();
        // SAFETY: as the caller promises.
        unsafe { fail(token, Error::new(string(location), &message)) };
        otherwise
    })
}

/// A number of bytes, which compiled code may have computed from anything.
fn bytes(bytes: i64) -> Result<usize, String> {
    usize::try_from(bytes).map_err(|_| format!("a size of {bytes} bytes is negative"))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_device_alloc(
    token: *mut Token,
    number: i32,
    size: i64,
    location: *const c_char,
) -> *mut c_void {
    let result =
        bytes(size).and_then(|size| device::call(token, number, location, |device| device.alloc(size)));
    // SAFETY: the body of the token calls this.
    unsafe { device_result(token, location, result, ptr::null_mut()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_device_dealloc(
    token: *mut Token,
    number: i32,
    pointer: *mut c_void,
    location: *const c_char,
) -> i32 {
    let result = device::call(token, number, location, |device| {
        device.dealloc(pointer).map(|()| 0)
    });
    // SAFETY: the body of the token calls this.
    unsafe { device_result(token, location, result, 1) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_host_alloc(
    token: *mut Token,
    number: i32,
    size: i64,
    location: *const c_char,
) -> *mut c_void {
    let result =
        bytes(size).and_then(|size| device::call(token, number, location, |device| device.host_alloc(size)));
    // SAFETY: the body of the token calls this.
    unsafe { device_result(token, location, result, ptr::null_mut()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_host_dealloc(
    token: *mut Token,
    number: i32,
    pointer: *mut c_void,
    location: *const c_char,
) -> i32 {
    let result = device::call(token, number, location, |device| {
        device.host_dealloc(pointer).map(|()| 0)
    });
    // SAFETY: the body of the token calls this.
    unsafe { device_result(token, location, result, 1) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_host_register(
    token: *mut Token,
    number: i32,
    rank: i64,
    descriptor: *const c_void,
    element_bytes: i64,
    location: *const c_char,
) -> i32 {
    // SAFETY: the caller passes the descriptor of a memref of that rank.
    let memory = unsafe { memref::extent(rank, descriptor, element_bytes) };
    let result = memory.and_then(|(start, bytes)| {
        device::call(token, number, location, |device| {
            device.host_register(start, bytes).map(|()| 0)
        })
    });
    // SAFETY: the body of the token calls this.
    unsafe { device_result(token, location, result, 1) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_host_unregister(
    token: *mut Token,
    number: i32,
    rank: i64,
    descriptor: *const c_void,
    element_bytes: i64,
    location: *const c_char,
) -> i32 {
    // SAFETY: the caller passes the descriptor of a memref of that rank.
    let memory = unsafe { memref::extent(rank, descriptor, element_bytes) };
    let result = memory.and_then(|(start, bytes)| {
        device::call(token, number, location, |device| {
            device.host_unregister(start, bytes).map(|()| 0)
        })
    });
    // SAFETY: the body of the token calls this.
    unsafe { device_result(token, location, result, 1) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_device_transfer(
    token: *mut Token,
    number: i32,
    destination: *mut c_void,
    source: *const c_void,
    size: i64,
    location: *const c_char,
) -> i32 {
    let result = bytes(size).and_then(|size| {
        device::call(token, number, location, |device| {
            // SAFETY: compiled code transfers what is there, ordered by tokens.
            unsafe { device.transfer(destination, source, size) }.map(|()| 0)
        })
    });
    // SAFETY: the body of the token calls this.
    unsafe { device_result(token, location, result, 1) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_device_memset(
    token: *mut Token,
    number: i32,
    destination: *mut c_void,
    element: *const c_void,
    size: i64,
    count: i64,
    location: *const c_char,
) -> i32 {
    let result = bytes(size).and_then(|size| {
        // SAFETY: compiled code has an element of that size.
        let element = unsafe { slice::from_raw_parts(element.cast::<u8>(), size) };
        let count = usize::try_from(count).map_err(|_| format!("a count of {count} is negative"))?;
        device::call(token, number, location, |device| {
            // SAFETY: compiled code has room for the elements, ordered by tokens.
            unsafe { device.memset(destination, element, count) }.map(|()| 0)
        })
    });
    // SAFETY: the body of the token calls this.
    unsafe { device_result(token, location, result, 1) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_device_launch(
    token: *mut Token,
    number: i32,
    kernel: *const c_char,
    sizes: *const LaunchSizes,
    arguments: *const *mut c_void,
    num_arguments: i64,
    location: *const c_char,
) -> i32 {
    let arguments = match usize::try_from(num_arguments) {
        Ok(count) if count > 0 && !arguments.is_null() => {
            // SAFETY: there are that many.
            unsafe { slice::from_raw_parts(arguments, count) }
        }
        _ => &[],
    };
    let result = device::call(token, number, location, |device| {
        // SAFETY: the name is a string, the sizes are there, and the arguments are those of the kernel.
        unsafe {
            let kernel = string(kernel).unwrap_or_default();
            device.launch(kernel, &*sizes, arguments).map(|()| 0)
        }
    });
    // SAFETY: the body of the token calls this.
    unsafe { device_result(token, location, result, 1) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_set_launcher(launcher: Option<Launcher>, context: *mut c_void) {
    device(0).set_launcher(launcher, context);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_device_trailing(token: *mut Token) -> i32 {
    // SAFETY: the body of the token calls this.
    if let Some(token) = unsafe { borrow(token) } {
        token.set_trailing();
    }
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn asyncopt_rt_register_module(name: *const c_char, image: *const c_void, size: i64) {
    // SAFETY: it is a string.
    let name = unsafe { string(name) }.unwrap_or_default().to_string_lossy();
    let size = usize::try_from(size).unwrap_or(0);
    if size > 0 && !image.is_null() {
        // SAFETY: there are that many bytes.
        cuda::register_module(&name, unsafe { slice::from_raw_parts(image.cast(), size) });
    }
}

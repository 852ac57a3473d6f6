//! What can't be simulated: it is refused by name.

use crate::memory::Process;
use async_device::{Device, Failure};
use std::ffi::c_void;

fn refuse(name: &'static str) {
    crate::call(name, |_: &mut Device<Process>| {
        Err::<(), _>(Failure {
            message: format!(
                "{name}: tensor map descriptors can't be made here, and no kernel could use one"
            ),
            against: None,
            is_finding: false,
        })
    });
}

/// Its other arguments are not looked at.
#[unsafe(no_mangle)]
extern "C" fn mgpuTensorMapEncodeTiled() {
    refuse("mgpuTensorMapEncodeTiled");
}

/// Its arguments are not looked at.
#[unsafe(no_mangle)]
extern "C" fn mgpuTensorMapEncodeTiledMemref() -> *mut c_void {
    refuse("mgpuTensorMapEncodeTiledMemref");
    std::ptr::null_mut()
}

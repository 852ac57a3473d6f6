//! What the library exports, for a JIT in this process, which finds no symbols of an executable by name.

use crate::{interface, memref};

/// Makes [`symbols`] of the functions of each module.
macro_rules! symbols {
    ($($module:ident: $($function:ident)*;)*) => {
        /// Name and address of each exported function.
        #[must_use]
        pub fn symbols() -> Vec<(&'static str, *const ())> {
            vec![$($((stringify!($function), $module::$function as *const ()),)*)*]
        }
    };
}

symbols! {
    interface:
        asyncopt_rt_create asyncopt_rt_frame asyncopt_rt_depend asyncopt_rt_submit asyncopt_rt_complete asyncopt_rt_retain
        asyncopt_rt_release asyncopt_rt_run_always asyncopt_rt_state asyncopt_rt_has_results asyncopt_rt_expect_complete
        asyncopt_rt_resume_after asyncopt_rt_await asyncopt_rt_await_or_abort
        asyncopt_rt_allocate asyncopt_rt_deallocate asyncopt_rt_note_error asyncopt_rt_note_error_of
        asyncopt_rt_last_error_location asyncopt_rt_last_error_message
        asyncopt_rt_fail asyncopt_rt_fail_from asyncopt_rt_error_location asyncopt_rt_error_message asyncopt_rt_abort
        asyncopt_rt_set_num_threads asyncopt_rt_num_threads asyncopt_rt_blocking_begin asyncopt_rt_blocking_end
        asyncopt_rt_take_census asyncopt_rt_shutdown asyncopt_rt_trace
        asyncopt_rt_device_alloc asyncopt_rt_device_dealloc asyncopt_rt_host_alloc asyncopt_rt_host_dealloc
        asyncopt_rt_host_register asyncopt_rt_host_unregister
        asyncopt_rt_device_transfer asyncopt_rt_device_memset asyncopt_rt_device_launch asyncopt_rt_device_trailing
        asyncopt_rt_register_module asyncopt_rt_set_launcher;
    memref:
        _mlir_ciface_printMemrefI8 _mlir_ciface_printMemrefI16 _mlir_ciface_printMemrefI32 _mlir_ciface_printMemrefI64
        _mlir_ciface_printMemrefF16 _mlir_ciface_printMemrefBF16 _mlir_ciface_printMemrefF32 _mlir_ciface_printMemrefF64
        _mlir_ciface_printMemrefInd _mlir_ciface_printMemrefC32 _mlir_ciface_printMemrefC64
        printMemrefI32 printMemrefI64 printMemrefF32 printMemrefF64 printMemrefInd printMemrefC32 printMemrefC64
        memrefCopy printI64 printU64 printF16 printBF16 printF32 printF64 printString printOpen printClose printComma printNewline rtclock
        _mlir_ciface_nanoTime;
}

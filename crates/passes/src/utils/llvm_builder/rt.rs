//! The functions of the runtime (`crates/runtime/include/asyncopt_rt.h`).

pub(crate) const ABORT: &str = "asyncopt_rt_abort";
pub(crate) const ALLOCATE: &str = "asyncopt_rt_allocate";
pub(crate) const AWAIT: &str = "asyncopt_rt_await";
pub(crate) const AWAIT_OR_ABORT: &str = "asyncopt_rt_await_or_abort";
pub(crate) const COMPLETE: &str = "asyncopt_rt_complete";
pub(crate) const CREATE: &str = "asyncopt_rt_create";
pub(crate) const DEALLOCATE: &str = "asyncopt_rt_deallocate";
pub(crate) const DEPEND: &str = "asyncopt_rt_depend";
pub(crate) const EXPECT_COMPLETE: &str = "asyncopt_rt_expect_complete";
pub(crate) const FAIL: &str = "asyncopt_rt_fail";
pub(crate) const FAIL_FROM: &str = "asyncopt_rt_fail_from";
pub(crate) const FRAME: &str = "asyncopt_rt_frame";
pub(crate) const HAS_RESULTS: &str = "asyncopt_rt_has_results";
pub(crate) const NOTE_ERROR: &str = "asyncopt_rt_note_error";
pub(crate) const NOTE_ERROR_OF: &str = "asyncopt_rt_note_error_of";
pub(crate) const RELEASE: &str = "asyncopt_rt_release";
pub(crate) const RESUME_AFTER: &str = "asyncopt_rt_resume_after";
pub(crate) const RETAIN: &str = "asyncopt_rt_retain";
pub(crate) const RUN_ALWAYS: &str = "asyncopt_rt_run_always";
pub(crate) const STATE: &str = "asyncopt_rt_state";
pub(crate) const SUBMIT: &str = "asyncopt_rt_submit";
pub(crate) const DEVICE_ALLOC: &str = "asyncopt_rt_device_alloc";
pub(crate) const DEVICE_DEALLOC: &str = "asyncopt_rt_device_dealloc";
pub(crate) const DEVICE_LAUNCH: &str = "asyncopt_rt_device_launch";
pub(crate) const DEVICE_MEMSET: &str = "asyncopt_rt_device_memset";
pub(crate) const DEVICE_TRAILING: &str = "asyncopt_rt_device_trailing";
pub(crate) const DEVICE_TRANSFER: &str = "asyncopt_rt_device_transfer";
pub(crate) const HOST_ALLOC: &str = "asyncopt_rt_host_alloc";
pub(crate) const HOST_DEALLOC: &str = "asyncopt_rt_host_dealloc";
pub(crate) const HOST_REGISTER: &str = "asyncopt_rt_host_register";
pub(crate) const HOST_UNREGISTER: &str = "asyncopt_rt_host_unregister";
/// The prefixes of the names of functions for devices, and for memory of the host that devices access.
pub(crate) const DEVICE_FUNCTIONS: &str = "asyncopt_rt_device_";
pub(crate) const HOST_FUNCTIONS: &str = "asyncopt_rt_host_";
/// What ASYNCOPT_RT_FAILED is.
pub(crate) const FAILED: i64 = 2;
/// What ASYNCOPT_RT_PENDING is.
pub(crate) const PENDING: i64 = 0;
/// What ASYNCOPT_RT_SUSPENDED is.
pub(crate) const SUSPENDED: i64 = 1;

//===- asyncopt_rt.h - The C interface of async-opt's host runtime --------===//
//
// Part of async-opt. See docs/runtime.md for how compiled code uses it.
//
// License: Apache-2.0 WITH LLVM-exception
//
// A token is one object on the heap: a count of references, a count of what is
// unmet, the tasks that depend on it, an error or none, and a frame that
// belongs to the compiled code. A task is a token with a function to run. A
// join, a promise and a value that is not there yet are tokens without one.
//
// - Any thread may call any function, unless its comment says otherwise.
// - A null token is complete and has no error: it stands for `async.ready`.
// - Arguments are borrowed. Only asyncopt_rt_release gives a reference away.
// - Strings end with a null byte. Those in asyncopt_rt_type must live as long
//   as the program; all others are copied.
//
//===----------------------------------------------------------------------===//

#ifndef ASYNCOPT_RT_H
#define ASYNCOPT_RT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asyncopt_rt_token asyncopt_rt_token;

//===----------------------------------------------------------------------===//
// Tasks and tokens
//===----------------------------------------------------------------------===//

/// What `run` returns.
enum {
  /// The body has ended: the token is complete when nothing else delays it.
  ASYNCOPT_RT_DONE = 0,
  /// The body goes on after `run` returns, and will call asyncopt_rt_complete.
  /// It may have done so already, so the runtime doesn't touch the token again.
  ASYNCOPT_RT_SUSPENDED = 1,
};

/// What all tasks of one static operation have in common; a constant of the
/// compiled program, which must outlive its tokens. Any function may be null.
typedef struct asyncopt_rt_type {
  /// The body. It owns what the frame captures, and has released it when it
  /// ends. Without it, the token is complete once nothing delays it.
  int32_t (*run)(asyncopt_rt_token *self, void *frame);
  /// Called in place of `run` if a dependency has failed: releases the
  /// captures.
  void (*skip)(void *frame);
  /// Called with the last reference, if `run` was called and has not itself
  /// called asyncopt_rt_fail: releases the results that the frame holds.
  void (*drop)(void *frame);
  /// Bytes of the frame, and their alignment: a power of two, at most 4096. The
  /// frame is not initialized.
  int64_t frame_size;
  int64_t frame_align;
  /// For traces, such as "matmul.mlir:12". May be null.
  const char *name;
} asyncopt_rt_type;

/// Makes a token with one reference, which is the caller's, and an open end: it
/// can't run or be complete before asyncopt_rt_submit. `type` may be null: no
/// body and no frame.
asyncopt_rt_token *asyncopt_rt_create(const asyncopt_rt_type *type);

/// The frame. For a null token, null.
void *asyncopt_rt_frame(asyncopt_rt_token *token);

/// `task` waits for `on`. Before asyncopt_rt_submit, that delays `run` (and if
/// `on` fails, `task` is skipped and fails with the same error). Called by the
/// body of `task` with its own token, it delays the completion: that is what
/// trailing tokens of an `async.yield` mean.
void asyncopt_rt_depend(asyncopt_rt_token *task, asyncopt_rt_token *on);

/// The body of the new token `task` runs even if a dependency fails, as it has
/// to where it frees something; its token has the error nonetheless.
void asyncopt_rt_run_always(asyncopt_rt_token *task);

/// Ends the dependencies of a new token; call it once. A task runs, on some
/// worker, as soon as all of them are complete; it never runs inside this call.
/// Without a body (a join, a promise), the token is complete then.
void asyncopt_rt_submit(asyncopt_rt_token *token);

/// Ends the body of a task that is ASYNCOPT_RT_SUSPENDED; call it once, as the
/// last use of `self`.
void asyncopt_rt_complete(asyncopt_rt_token *self);

/// Adds or drops a reference. A token lives until its last reference is
/// dropped, and at least until it is complete.
void asyncopt_rt_retain(asyncopt_rt_token *token);
void asyncopt_rt_release(asyncopt_rt_token *token);

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

/// What a token is.
enum {
  ASYNCOPT_RT_PENDING = 0,
  ASYNCOPT_RT_COMPLETE = 1,
  ASYNCOPT_RT_FAILED = 2,
};

/// The state of a token. Once it is not pending, it doesn't change, and all
/// that the task has written is visible to the caller.
int32_t asyncopt_rt_state(asyncopt_rt_token *token);

/// Returns 1 if a token is complete and its frame holds results: a body has
/// run, and has not itself failed. Otherwise 0.
int32_t asyncopt_rt_has_results(asyncopt_rt_token *token);

/// Prints an error and aborts the process if the frame of a token holds no
/// results, because the token is pending or its task has failed. `location`,
/// which may be null, is that of what uses the results.
void asyncopt_rt_expect_complete(asyncopt_rt_token *token,
                                 const char *location);

/// For a suspended coroutine: when `on` is complete or has failed, a worker
/// calls `resume(handle)` once. It is never called inside this call, or inside
/// the completion of `on`.
void asyncopt_rt_resume_after(asyncopt_rt_token *on, void *handle,
                              void (*resume)(void *handle));

/// Memory for the frame of a coroutine, in bytes, aligned for anything.
void *asyncopt_rt_allocate(int64_t size);
void asyncopt_rt_deallocate(void *memory);

/// Waits, and returns ASYNCOPT_RT_COMPLETE or ASYNCOPT_RT_FAILED. For code that
/// is not part of a task: it runs tasks until `token` is complete, and sleeps
/// when there are none. In a task it works, at the price of a thread: the task
/// blocks, and another worker takes its place.
int32_t asyncopt_rt_await(asyncopt_rt_token *token);

/// Waits, and if the token has failed, prints its error and `location`, which
/// may be null, and aborts the process.
void asyncopt_rt_await_or_abort(asyncopt_rt_token *token, const char *location);

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

/// Sets the error of a token whose body is running and calls this, or of a
/// token without a body before it is submitted. The first error wins.
/// `location` is such as "file.mlir:3:5", or null.
void asyncopt_rt_fail(asyncopt_rt_token *self, const char *location,
                      const char *message);

/// The same with the error of `cause`, if it has one.
void asyncopt_rt_fail_from(asyncopt_rt_token *self, asyncopt_rt_token *cause);

/// The error of a token, or null if it has none. They live as long as `token`.
const char *asyncopt_rt_error_location(asyncopt_rt_token *token);
const char *asyncopt_rt_error_message(asyncopt_rt_token *token);

/// For code that returns a status: notes an error, or that of a token, as the
/// last one of this thread.
void asyncopt_rt_note_error(const char *location, const char *message);
void asyncopt_rt_note_error_of(asyncopt_rt_token *token);

/// The last error of this thread that compiled code has returned a status for,
/// or null. They live until the next one is noted.
const char *asyncopt_rt_last_error_location(void);
const char *asyncopt_rt_last_error_message(void);

/// Prints an error and aborts the process, for code that no token belongs to.
void asyncopt_rt_abort(const char *location, const char *message);

//===----------------------------------------------------------------------===//
// The runtime
//===----------------------------------------------------------------------===//

/// The number of workers, at least 1 and at most 1024. It starts with
/// ASYNCOPT_NUM_THREADS of the environment, or one worker for each processor.
/// Returns 0, or 1 if workers run already: then nothing changes until
/// asyncopt_rt_shutdown. Workers start with the first task.
int32_t asyncopt_rt_set_num_threads(int32_t workers);
int32_t asyncopt_rt_num_threads(void);

/// Between these, the calling task may block: another worker takes its place.
/// They nest, and do nothing outside of tasks.
void asyncopt_rt_blocking_begin(void);
void asyncopt_rt_blocking_end(void);

/// What is alive.
typedef struct asyncopt_rt_census {
  /// Tokens that have not been freed.
  int64_t tokens;
  /// Tasks (tokens with a body) that are not complete.
  int64_t tasks;
  /// Bytes of frames that have not been freed.
  int64_t frame_bytes;
  /// Coroutines that wait for a token.
  int64_t suspended;
  /// Allocations by devices that have not been freed.
  int64_t device_allocations;
  /// Errors that nobody has awaited, since the process started.
  int64_t unobserved_errors;
} asyncopt_rt_census;

/// Counts. Exact while no task runs, such as after asyncopt_rt_shutdown.
void asyncopt_rt_take_census(asyncopt_rt_census *census);

/// Runs all tasks that can run, and ends all workers. It writes the trace, and
/// reports on standard error what is still alive. The next task starts workers
/// anew. Not in a task, and not while another thread uses the runtime. It is
/// called at the end of the process; a program whose code is unloaded before
/// that, such as one in a JIT, calls it at the end of `main`.
void asyncopt_rt_shutdown(void);

/// From now on notes what each worker runs, and writes it as JSON for Perfetto
/// (and chrome://tracing) to `path` at shutdown. ASYNCOPT_TRACE=path in the
/// environment does the same.
void asyncopt_rt_trace(const char *path);

//===----------------------------------------------------------------------===//
// Devices
//
// Device operations are called by the body of their task. Those that fail set
// the error of `self` and return null or nonzero; if `self` is null they abort.
// ASYNCOPT_DEVICE in the environment says what the devices are. With host,
// which is the default, each is the host: its memory is the host's, and
// everything is done on return. With sim, an operation waits in its task until
// a schedule lets it begin, and addresses are checked. With cuda, devices are
// NVIDIA's GPUs, and an operation is done on return but after
// asyncopt_rt_device_trailing.
//===----------------------------------------------------------------------===//

void *asyncopt_rt_device_alloc(asyncopt_rt_token *self, int32_t device,
                               int64_t bytes, const char *location);
int32_t asyncopt_rt_device_dealloc(asyncopt_rt_token *self, int32_t device,
                                   void *pointer, const char *location);

/// Host memory that the device can copy from and to without staging.
void *asyncopt_rt_host_alloc(asyncopt_rt_token *self, int32_t device,
                             int64_t bytes, const char *location);
int32_t asyncopt_rt_host_dealloc(asyncopt_rt_token *self, int32_t device,
                                 void *pointer, const char *location);

/// Makes memory of the host, from the first element of a memref to the last,
/// such as host_alloc allocates, or ends that. `descriptor` is that of a memref
/// of `rank` dimensions, whose elements have `element_bytes` bytes.
int32_t asyncopt_rt_host_register(asyncopt_rt_token *self, int32_t device,
                                  int64_t rank, const void *descriptor,
                                  int64_t element_bytes, const char *location);
int32_t asyncopt_rt_host_unregister(asyncopt_rt_token *self, int32_t device,
                                    int64_t rank, const void *descriptor,
                                    int64_t element_bytes,
                                    const char *location);

/// Copies contiguous bytes, from or to memory of `device`.
int32_t asyncopt_rt_device_transfer(asyncopt_rt_token *self, int32_t device,
                                    void *destination, const void *source,
                                    int64_t bytes, const char *location);

/// Stores the `bytes` bytes at `element` `count` times, one after the other, in
/// memory of `device`.
int32_t asyncopt_rt_device_memset(asyncopt_rt_token *self, int32_t device,
                                  void *destination, const void *element,
                                  int64_t bytes, int64_t count,
                                  const char *location);

/// Sizes of a launch: blocks, threads of a block, blocks of a cluster (1 for
/// none), bytes of dynamic workgroup memory.
typedef struct asyncopt_rt_launch_sizes {
  int64_t grid[3];
  int64_t block[3];
  int64_t cluster[3];
  int64_t workgroup_bytes;
} asyncopt_rt_launch_sizes;

/// Runs a kernel, named as "module::kernel". `arguments` are pointers to the
/// arguments, a memref being those of its descriptor, one by one.
int32_t asyncopt_rt_device_launch(asyncopt_rt_token *self, int32_t device,
                                  const char *kernel,
                                  const asyncopt_rt_launch_sizes *sizes,
                                  void *const *arguments, int64_t num_arguments,
                                  const char *location);

/// The body does nothing after the device operations to come that needs them
/// done: they may go on after it, and `self` is complete when they are, too.
/// Returns 0.
int32_t asyncopt_rt_device_trailing(asyncopt_rt_token *self);

/// Notes the code of the kernels of a module, `bytes` bytes of PTX, a cubin or
/// a fat binary, for devices that run machine code: asyncopt_rt_device_launch
/// finds "name::kernel" there. The code is copied. Another of the same name
/// replaces it.
void asyncopt_rt_register_module(const char *name, const void *image,
                                 int64_t bytes);

/// Runs kernels. Returns 0, or nonzero with a message in `message`, of at most
/// `capacity` bytes with its null byte. Workers may call it concurrently.
typedef int32_t (*asyncopt_rt_launcher)(void *context, const char *kernel,
                                        const asyncopt_rt_launch_sizes *sizes,
                                        void *const *arguments,
                                        int64_t num_arguments, char *message,
                                        int64_t capacity);

/// Registers what runs the kernels of host devices; null for nothing.
void asyncopt_rt_set_launcher(asyncopt_rt_launcher launcher, void *context);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // ASYNCOPT_RT_H

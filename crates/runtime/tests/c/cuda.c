// A stand-in for the CUDA driver: it has as many devices as CUDA_DEVICES says,
// whose memory is the host's. Work waits in its stream until somebody waits for
// it, or a thread comes around that calls what was put behind it.
//
// Each call is a line of the file CUDA_LOG, and the last line says what is
// left. CUDA_FAIL_AT=N has call N fail; what frees something does so
// nevertheless. CUDA_FAIL_STREAMS=1 has work fail when it is run.
// CUDA_POOLS=0: devices have no memory pools. A wrong handle ends the process.
//
// It knows one kernel, `add_one` of any module: it adds one to as many 32-bit
// numbers as there are threads, at the address that is its argument.

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEVICES = 4, OBJECTS = 4096, OUT_OF_MEMORY = 2, LAUNCH_FAILED = 719 };

typedef enum { STREAM, DEVICE_MEMORY, HOST_MEMORY, MODULE, KINDS } kind_t;
static const char *const kind_names[KINDS] = {"streams", "allocations",
                                              "pinned", "modules"};

typedef struct work {
  struct work *next;
  enum { COPY, SET, ADD_ONE } what;
  char *to;
  const char *from;
  size_t bytes;
  unsigned value;
  int width;
} work_t;

typedef struct {
  kind_t kind;
  int device;
  void *memory; // Its address is that of the object if it is memory.
  size_t bytes;
  int in_pool;
  int is_registered; // The memory is the program's.
  work_t *first, *last;
} object_t;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static object_t *objects[OBJECTS];
static int contexts[DEVICES];
static int largest = 48 << 10;
static __thread int current = -1;
static long calls;
static FILE *output;

static int number_of(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text && *text ? atoi(text) : otherwise;
}

static void wrong(const char *what) {
  fprintf(stderr, "stand-in for the CUDA driver: %s\n", what);
  abort();
}

/// Begins a call, with the lock. True if it is to fail.
static int begin(const char *format, ...) {
  pthread_mutex_lock(&mutex);
  if (!output) {
    const char *path = getenv("CUDA_LOG");
    output = fopen(path ? path : "/dev/null", "w");
  }
  va_list arguments;
  va_start(arguments, format);
  vfprintf(output, format, arguments);
  va_end(arguments);
  int fails = ++calls == number_of("CUDA_FAIL_AT", 0);
  fputs(fails ? " fails\n" : "\n", output);
  fflush(output);
  return fails;
}

static int end(int status) {
  pthread_mutex_unlock(&mutex);
  return status;
}

static int failed(int fails) { return end(fails ? OUT_OF_MEMORY : 0); }

static int here(void) {
  if (current < 0 || !contexts[current])
    wrong("no context is current");
  return current;
}

static object_t *make(kind_t kind, size_t bytes) {
  for (int i = 0; i < OBJECTS; ++i)
    if (!objects[i]) {
      object_t *object = objects[i] = calloc(1, sizeof *object);
      object->kind = kind;
      object->device = here();
      object->bytes = bytes;
      if (bytes && posix_memalign(&object->memory, 256, bytes))
        wrong("no memory");
      if (bytes)
        memset(object->memory, 0xA5, bytes);
      return object;
    }
  wrong("too many objects");
  return NULL;
}

static object_t **find(kind_t kind, const void *handle) {
  for (int i = 0; i < OBJECTS; ++i) {
    object_t *object = objects[i];
    int is_memory = kind == DEVICE_MEMORY || kind == HOST_MEMORY;
    if (object && object->kind == kind &&
        handle == (is_memory ? object->memory : (void *)object))
      return &objects[i];
  }
  wrong(kind_names[kind]);
  return NULL;
}

static void destroy(object_t **object) {
  if (!(*object)->is_registered)
    free((*object)->memory);
  free(*object);
  *object = NULL;
}

static void run(object_t *stream) {
  while (stream->first) {
    work_t *work = stream->first;
    stream->first = work->next;
    if (work->what == COPY)
      memcpy(work->to, work->from, work->bytes);
    for (size_t i = 0; work->what != COPY && i < work->bytes; i += work->width)
      if (work->what == SET)
        memcpy(work->to + i, &work->value, work->width);
      else
        ++*(int32_t *)(work->to + i);
    free(work);
  }
}

static object_t *memory_around(const void *address, size_t bytes) {
  for (int i = 0; i < OBJECTS; ++i) {
    object_t *object = objects[i];
    if (!object || object->kind != DEVICE_MEMORY)
      continue;
    const char *start = object->memory, *at = address;
    if (at >= start && at < start + object->bytes) {
      if (at + bytes > start + object->bytes)
        wrong("bytes outside of an allocation");
      return object;
    }
  }
  return NULL;
}

static int enqueue(object_t *stream, work_t work, int fails) {
  if (stream->device != here())
    wrong("a stream of another context");
  if (fails)
    return end(OUT_OF_MEMORY);
  work_t *copy = malloc(sizeof work);
  *copy = work;
  copy->next = NULL;
  if (stream->first)
    stream->last->next = copy;
  else
    stream->first = copy;
  stream->last = copy;
  return end(0);
}

__attribute__((destructor)) static void at_exit(void) {
  if (!output)
    return;
  int left[KINDS] = {0}, retained = 0;
  for (int i = 0; i < OBJECTS; ++i)
    if (objects[i])
      ++left[objects[i]->kind];
  for (int i = 0; i < DEVICES; ++i)
    retained += contexts[i];
  fprintf(output, "left: %d contexts", retained);
  for (int i = 0; i < KINDS; ++i)
    fprintf(output, ", %d %s", left[i], kind_names[i]);
  fputs("\n", output);
  fclose(output);
}

int cuInit(unsigned flags) { return failed(begin("cuInit %u", flags)); }

int cuGetErrorName(int status, const char **text) {
  *text = status == OUT_OF_MEMORY   ? "CUDA_ERROR_OUT_OF_MEMORY"
          : status == LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED"
                                    : NULL;
  return *text ? 0 : 1;
}

int cuGetErrorString(int status, const char **text) {
  *text = status == OUT_OF_MEMORY   ? "out of memory"
          : status == LAUNCH_FAILED ? "unspecified launch failure"
                                    : NULL;
  return *text ? 0 : 1;
}

int cuDeviceGetCount(int *count) {
  *count = number_of("CUDA_DEVICES", 1);
  return failed(begin("cuDeviceGetCount"));
}

int cuDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return failed(begin("cuDeviceGet %d", ordinal));
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 115  ? number_of("CUDA_POOLS", 1)
           : attribute == 75 ? 8
                             : 0;
  return failed(begin("cuDeviceGetAttribute %d of %d", attribute, device));
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
  if (begin("cuDevicePrimaryCtxRetain %d", device))
    return end(OUT_OF_MEMORY);
  ++contexts[device];
  *context = &contexts[device];
  return end(0);
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  int fails = begin("cuDevicePrimaryCtxRelease %d", device);
  if (!contexts[device]--)
    wrong("a context is released that nobody has");
  // What is left there is gone, as it is with the real driver.
  for (int i = 0; i < OBJECTS; ++i)
    if (objects[i] && objects[i]->device == device && !contexts[device])
      destroy(&objects[i]);
  return failed(fails);
}

int cuCtxSetCurrent(void *context) {
  int fails = begin("cuCtxSetCurrent");
  if (!fails)
    current = context ? (int)((int *)context - contexts) : -1;
  return failed(fails);
}

int cuDeviceGetDefaultMemPool(void **pool, int device) {
  *pool = &contexts[device];
  return failed(begin("cuDeviceGetDefaultMemPool %d", device));
}

int cuMemPoolSetAttribute(void *pool, int attribute, void *value) {
  (void)pool, (void)value;
  return failed(begin("cuMemPoolSetAttribute %d", attribute));
}

int cuStreamCreate(void **stream, unsigned flags) {
  if (begin("cuStreamCreate %u", flags))
    return end(OUT_OF_MEMORY);
  *stream = make(STREAM, 0);
  return end(0);
}

int cuStreamDestroy_v2(void *stream) {
  int fails = begin("cuStreamDestroy");
  object_t **object = find(STREAM, stream);
  if ((*object)->first)
    wrong("a stream with work is destroyed");
  destroy(object);
  return failed(fails);
}

int cuStreamSynchronize(void *stream) {
  int fails = begin("cuStreamSynchronize");
  run(*find(STREAM, stream));
  return failed(fails);
}

typedef void (*callback_t)(void *, int, void *);
typedef struct {
  object_t *stream;
  callback_t callback;
  void *data;
} pending_t;

static void *call_back(void *argument) {
  pending_t pending = *(pending_t *)argument;
  free(argument);
  usleep(1000);
  pthread_mutex_lock(&mutex);
  run(pending.stream);
  pthread_mutex_unlock(&mutex);
  int fails = number_of("CUDA_FAIL_STREAMS", 0);
  pending.callback(pending.stream, fails ? LAUNCH_FAILED : 0, pending.data);
  return NULL;
}

int cuStreamAddCallback(void *stream, callback_t callback, void *data,
                        unsigned flags) {
  if (begin("cuStreamAddCallback %u", flags))
    return end(OUT_OF_MEMORY);
  pending_t *pending = malloc(sizeof *pending);
  *pending = (pending_t){*find(STREAM, stream), callback, data};
  pthread_t thread;
  if (pthread_create(&thread, NULL, call_back, pending))
    wrong("no thread");
  pthread_detach(thread);
  return end(0);
}

static int allocate(void **address, kind_t kind, size_t bytes, int in_pool,
                    int fails) {
  if (fails)
    return end(OUT_OF_MEMORY);
  object_t *object = make(kind, bytes);
  object->in_pool = in_pool;
  *address = object->memory;
  return end(0);
}

static int release(void *address, kind_t kind, int in_pool, int fails) {
  object_t **object = find(kind, address);
  if ((*object)->in_pool != in_pool || (*object)->device != here() ||
      (*object)->is_registered)
    wrong("memory is freed in another way than it was allocated");
  destroy(object);
  return failed(fails);
}

int cuMemAlloc_v2(void **address, size_t bytes) {
  return allocate(address, DEVICE_MEMORY, bytes, 0,
                  begin("cuMemAlloc %zu", bytes));
}

int cuMemFree_v2(void *address) {
  return release(address, DEVICE_MEMORY, 0, begin("cuMemFree"));
}

int cuMemAllocAsync(void **address, size_t bytes, void *stream) {
  int fails = begin("cuMemAllocAsync %zu", bytes);
  find(STREAM, stream);
  return allocate(address, DEVICE_MEMORY, bytes, 1, fails);
}

int cuMemFreeAsync(void *address, void *stream) {
  int fails = begin("cuMemFreeAsync");
  find(STREAM, stream);
  return release(address, DEVICE_MEMORY, 1, fails);
}

int cuMemHostAlloc(void **address, size_t bytes, unsigned flags) {
  return allocate(address, HOST_MEMORY, bytes, 0,
                  begin("cuMemHostAlloc %zu %u", bytes, flags));
}

int cuMemFreeHost(void *address) {
  return release(address, HOST_MEMORY, 0, begin("cuMemFreeHost"));
}

int cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags) {
  if (begin("cuMemHostRegister %zu %u", bytes, flags))
    return end(OUT_OF_MEMORY);
  object_t *object = make(HOST_MEMORY, 0);
  object->memory = address;
  object->bytes = bytes;
  object->is_registered = 1;
  return end(0);
}

int cuMemHostUnregister(void *address) {
  int fails = begin("cuMemHostUnregister");
  object_t **object = find(HOST_MEMORY, address);
  if (!(*object)->is_registered)
    wrong("memory is unregistered that was allocated");
  destroy(object);
  return failed(fails);
}

static int copy(char *to, const char *from, size_t bytes, void *stream,
                int fails) {
  object_t *object = *find(STREAM, stream);
  work_t work = {.what = COPY, .to = to, .from = from, .bytes = bytes};
  int is_pageable = !memory_around(to, bytes) + !memory_around(from, bytes);
  for (int i = 0; i < OBJECTS; ++i)
    if (objects[i] && objects[i]->kind == HOST_MEMORY &&
        (objects[i]->memory == to || objects[i]->memory == from))
      is_pageable = 0;
  int status = enqueue(object, work, fails);
  // What is pageable has been read or written on return.
  if (!status && is_pageable)
    run(object);
  return status;
}

int cuMemcpyAsync(char *to, const char *from, size_t bytes, void *stream) {
  int fails = begin("cuMemcpyAsync %zu", bytes);
  object_t *a = memory_around(to, bytes), *b = memory_around(from, bytes);
  if (a && b && a->device != b->device)
    wrong("a copy between devices");
  return copy(to, from, bytes, stream, fails);
}

int cuMemcpyPeerAsync(char *to, void *to_context, const char *from,
                      void *from_context, size_t bytes, void *stream) {
  int to_device = (int)((int *)to_context - contexts);
  int from_device = (int)((int *)from_context - contexts);
  int fails =
      begin("cuMemcpyPeerAsync %d to %d, %zu", from_device, to_device, bytes);
  if (memory_around(to, bytes)->device != to_device ||
      memory_around(from, bytes)->device != from_device)
    wrong("memory of another device");
  return copy(to, from, bytes, stream, fails);
}

static int set(char *to, unsigned value, int width, size_t count, void *stream,
               int fails) {
  if ((uintptr_t)to % width)
    wrong("a memset that is not aligned");
  memory_around(to, count * width);
  work_t work = {.what = SET,
                 .to = to,
                 .bytes = count * width,
                 .value = value,
                 .width = width};
  return enqueue(*find(STREAM, stream), work, fails);
}

int cuMemsetD8Async(char *to, unsigned char value, size_t count, void *stream) {
  return set(to, value, 1, count, stream, begin("cuMemsetD8Async %zu", count));
}

int cuMemsetD16Async(char *to, unsigned short value, size_t count,
                     void *stream) {
  return set(to, value, 2, count, stream, begin("cuMemsetD16Async %zu", count));
}

int cuMemsetD32Async(char *to, unsigned value, size_t count, void *stream) {
  return set(to, value, 4, count, stream, begin("cuMemsetD32Async %zu", count));
}

int cuModuleLoadDataEx(void **module, const void *image, unsigned count,
                       int *options, void **values) {
  int is_ptx = strstr(image, ".version") != NULL;
  if (begin("cuModuleLoadDataEx %s", is_ptx ? "PTX" : "something"))
    return end(OUT_OF_MEMORY);
  if (!is_ptx) {
    if (count != 2 || options[0] != 5 || options[1] != 6)
      wrong("no log");
    snprintf(values[0], (size_t)values[1], "line 1: no PTX");
    return end(218);
  }
  *module = make(MODULE, 0);
  return end(0);
}

int cuModuleUnload(void *module) {
  int fails = begin("cuModuleUnload");
  destroy(find(MODULE, module));
  return failed(fails);
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
  if (begin("cuModuleGetFunction %s", name))
    return end(OUT_OF_MEMORY);
  find(MODULE, module);
  *function = &largest;
  return end(strcmp(name, "add_one") ? 500 : 0);
}

int cuFuncGetAttribute(int *value, int attribute, void *function) {
  *value = *(int *)function;
  return failed(begin("cuFuncGetAttribute %d", attribute));
}

int cuFuncSetAttribute(void *function, int attribute, int value) {
  int fails = begin("cuFuncSetAttribute %d %d", attribute, value);
  if (!fails && attribute == 8)
    *(int *)function = value;
  return failed(fails);
}

static int launch(void *function, size_t threads, unsigned workgroup_bytes,
                  void *stream, void **arguments, int fails) {
  if (workgroup_bytes > *(unsigned *)function)
    wrong("more workgroup memory than is allowed");
  char *to = *(char **)arguments[0];
  if (!memory_around(to, 4 * threads))
    wrong("a kernel uses memory of the host");
  work_t work = {.what = ADD_ONE, .to = to, .bytes = 4 * threads, .width = 4};
  return enqueue(*find(STREAM, stream), work, fails);
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz,
                   unsigned bx, unsigned by, unsigned bz, unsigned bytes,
                   void *stream, void **arguments, void **extra) {
  int fails = begin("cuLaunchKernel %u,%u,%u %u,%u,%u %u", gx, gy, gz, bx, by,
                    bz, bytes);
  if (extra)
    wrong("arguments in two ways");
  size_t threads = (size_t)gx * gy * gz * bx * by * bz;
  return launch(function, threads, bytes, stream, arguments, fails);
}

typedef struct {
  unsigned id;
  char padding[4];
  union {
    unsigned cluster[3];
    char bytes[64];
  } value;
} attribute_t;

typedef struct {
  unsigned grid[3], block[3], bytes;
  void *stream;
  attribute_t *attributes;
  unsigned count;
} config_t;

int cuLaunchKernelEx(const config_t *config, void *function, void **arguments,
                     void **extra) {
  const unsigned *grid = config->grid, *block = config->block;
  unsigned *cluster = config->attributes->value.cluster;
  int fails = begin("cuLaunchKernelEx %u,%u,%u %u,%u,%u clusters %u,%u,%u %u",
                    grid[0], grid[1], grid[2], block[0], block[1], block[2],
                    cluster[0], cluster[1], cluster[2], config->bytes);
  if (config->count != 1 || config->attributes->id != 4 || extra)
    wrong("not the size of clusters");
  size_t threads =
      (size_t)grid[0] * grid[1] * grid[2] * block[0] * block[1] * block[2];
  return launch(function, threads, config->bytes, config->stream, arguments,
                fails);
}

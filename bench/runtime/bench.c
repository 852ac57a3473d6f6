// Times the host runtime, ours or with -DUPSTREAM MLIR's, on the same graphs.
// Usage: bench CASE COUNT; prints nanoseconds for each task. bench.py calls it.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// About as many nanoseconds.
static long work_ns;
static volatile unsigned sink;
static void work(void) {
  for (long i = 0; i < work_ns; i++)
    sink = sink * 3 + 1;
}

#ifdef UPSTREAM

// What --async-to-async-runtime makes of async.execute: a token and a frame of
// a coroutine, which the thread pool resumes and which ends with the token.
void *mlirAsyncRuntimeCreateToken(void);
void *mlirAsyncRuntimeCreateGroup(int64_t size);
int64_t mlirAsyncRuntimeAddTokenToGroup(void *token, void *group);
void mlirAsyncRuntimeAddRef(void *object, int64_t count);
void mlirAsyncRuntimeDropRef(void *object, int64_t count);
void mlirAsyncRuntimeEmplaceToken(void *token);
void mlirAsyncRuntimeAwaitToken(void *token);
void mlirAsyncRuntimeAwaitAllInGroup(void *group);
void mlirAsyncRuntimeExecute(void *handle, void (*resume)(void *));
void mlirAsyncRuntimeAwaitTokenAndExecute(void *token, void *handle,
                                          void (*resume)(void *));

typedef struct {
  void *token;
  void *state[5];
} frame;

static void resume(void *handle) {
  frame *f = handle;
  void *token = f->token;
  work();
  free(f);
  mlirAsyncRuntimeEmplaceToken(token);
}

static void *start(void *after) {
  frame *f = malloc(sizeof(frame));
  void *token = f->token = mlirAsyncRuntimeCreateToken();
  if (after)
    mlirAsyncRuntimeAwaitTokenAndExecute(after, f, resume);
  else
    mlirAsyncRuntimeExecute(f, resume);
  return token;
}

static void await(void *token) { mlirAsyncRuntimeAwaitToken(token); }
static void release(void *token) { mlirAsyncRuntimeDropRef(token, 1); }
static void *group(long n) { return mlirAsyncRuntimeCreateGroup(n); }
static void add(void *token, void *group) {
  mlirAsyncRuntimeAddTokenToGroup(token, group);
}
static void await_group(void *group) { mlirAsyncRuntimeAwaitAllInGroup(group); }
static void *promise(void) { return mlirAsyncRuntimeCreateToken(); }
static void fulfill(void *token) { mlirAsyncRuntimeEmplaceToken(token); }

#else

#include "asyncopt_rt.h"

static int32_t run(asyncopt_rt_token *self, void *frame) {
  (void)self, (void)frame;
  work();
  return ASYNCOPT_RT_DONE;
}

static const asyncopt_rt_type type = {run, 0, 0, 48, 8, "bench"};

static void *start(void *after) {
  asyncopt_rt_token *token = asyncopt_rt_create(&type);
  *(void **)asyncopt_rt_frame(token) = after;
  if (after)
    asyncopt_rt_depend(token, after);
  asyncopt_rt_submit(token);
  return token;
}

static void await(void *token) { asyncopt_rt_await_or_abort(token, 0); }
static void release(void *token) { asyncopt_rt_release(token); }
static void *group(long n) {
  (void)n;
  return asyncopt_rt_create(0);
}
static void add(void *token, void *group) { asyncopt_rt_depend(group, token); }
static void await_group(void *group) {
  asyncopt_rt_submit(group);
  await(group);
}
static void *promise(void) { return asyncopt_rt_create(0); }
static void fulfill(void *token) { asyncopt_rt_submit(token); }

#endif

// Independent tasks, and one await of all.
static void independent(long n) {
  void *all = group(n);
  for (long i = 0; i < n; i++) {
    void *token = start(0);
    add(token, all);
    release(token);
  }
  await_group(all);
  release(all);
}

// One task after another, each awaited at once.
static void start_await(long n) {
  for (long i = 0; i < n; i++) {
    void *token = start(0);
    await(token);
    release(token);
  }
}

// Each task after the one before.
static void chain(long n) {
  void *first = promise(), *last = first;
  for (long i = 0; i < n; i++) {
    void *token = start(last);
    release(last);
    last = token;
  }
  fulfill(first);
  await(last);
  release(last);
}

// All tasks after one.
static void fan(long n) {
  void *first = promise(), *all = group(n);
  for (long i = 0; i < n; i++) {
    void *token = start(first);
    add(token, all);
    release(token);
  }
  fulfill(first);
  await_group(all);
  release(all);
  release(first);
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  long n = atol(argv[2]);
  work_ns = argc > 3 ? atol(argv[3]) : 0;
  void (*run)(long) = 0;
  if (!strcmp(argv[1], "independent"))
    run = independent;
  if (!strcmp(argv[1], "start-await"))
    run = start_await;
  if (!strcmp(argv[1], "chain"))
    run = chain;
  if (!strcmp(argv[1], "fan"))
    run = fan;
  if (!run)
    return 2;
  // Threads start with the first.
  start_await(10);
  double begin = now();
  run(n);
  printf("%.1f\n", (now() - begin) / (double)n);
  return 0;
}

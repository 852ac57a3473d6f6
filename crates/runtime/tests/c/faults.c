// Four programs on this runtime, and with -DUPSTREAM on MLIR's own
// (libmlir_async_runtime.so), which ends none of the first three.
//
// Usage: faults chain | fan | await | overhead

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// What both have: tokens that somebody completes, tasks that run a body after a
// token or at once, and awaits. Nothing is released: that is not the question.
typedef void *token;
static token create(void);
static void complete(token);
static token task(void (*body)(void), token after);
static void await(token);

#ifdef UPSTREAM

void *mlirAsyncRuntimeCreateToken(void);
void mlirAsyncRuntimeEmplaceToken(void *token);
void mlirAsyncRuntimeAwaitToken(void *token);
void mlirAsyncRuntimeExecute(void *handle, void (*resume)(void *));
void mlirAsyncRuntimeAwaitTokenAndExecute(void *token, void *handle,
                                          void (*resume)(void *));

static token create(void) { return mlirAsyncRuntimeCreateToken(); }
static void complete(token t) { mlirAsyncRuntimeEmplaceToken(t); }
static void await(token t) { mlirAsyncRuntimeAwaitToken(t); }

// As the frame of a coroutine.
struct frame {
  void (*body)(void);
  token done;
};
static void resume(void *handle) {
  struct frame frame = *(struct frame *)handle;
  free(handle);
  frame.body();
  complete(frame.done);
}
static token task(void (*body)(void), token after) {
  struct frame *frame = malloc(sizeof(struct frame));
  token done = create();
  *frame = (struct frame){body, done};
  if (after)
    mlirAsyncRuntimeAwaitTokenAndExecute(after, frame, resume);
  else
    mlirAsyncRuntimeExecute(frame, resume);
  return done;
}

#else

#include "asyncopt_rt.h"

static token create(void) { return asyncopt_rt_create(NULL); }
static void complete(token t) { asyncopt_rt_submit(t); }
static void await(token t) { asyncopt_rt_await_or_abort(t, NULL); }

struct frame {
  void (*body)(void);
};
static int32_t run(asyncopt_rt_token *self, void *frame) {
  (void)self;
  ((struct frame *)frame)->body();
  return ASYNCOPT_RT_DONE;
}
static const asyncopt_rt_type type = {
    run, NULL, NULL, sizeof(struct frame), _Alignof(struct frame), "body"};
static token task(void (*body)(void), token after) {
  token t = asyncopt_rt_create(&type);
  ((struct frame *)asyncopt_rt_frame(t))->body = body;
  asyncopt_rt_depend(t, after);
  asyncopt_rt_submit(t);
  return t;
}

#endif

static void nothing(void) {}

// A million tasks, each after the one before. Upstream resumes each inside the
// completion of the one before, until the stack ends.
static void chain(void) {
  token first = create(), last = first;
  for (int i = 0; i < 1000000; i++)
    last = task(nothing, last);
  complete(first);
  await(last);
}

// Four tasks after one, that end only when all four have started. Upstream runs
// all that wait for a token on the thread that completes it.
static pthread_barrier_t barrier;
static void meet(void) { pthread_barrier_wait(&barrier); }
static void fan(void) {
  pthread_barrier_init(&barrier, 0, 4);
  token first = create(), tokens[4];
  for (int i = 0; i < 4; i++)
    tokens[i] = task(meet, first);
  complete(first);
  for (int i = 0; i < 4; i++)
    await(tokens[i]);
}

// More tasks than workers, each of which starts a task and awaits it. With
// upstream, each worker waits for a task that no worker is left for.
static void nested(void) { await(task(nothing, NULL)); }
static void await_in_tasks(void) {
  enum { tasks = 4096 };
  static token tokens[tasks];
  for (int i = 0; i < tasks; i++)
    tokens[i] = task(nested, NULL);
  for (int i = 0; i < tasks; i++)
    await(tokens[i]);
}

// Starts a task and awaits it, again and again: prints how many nanoseconds
// that takes.
static void overhead(void) {
  enum { tasks = 20000 };
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (int i = 0; i < tasks; i++)
    await(task(nothing, NULL));
  clock_gettime(CLOCK_MONOTONIC, &end);
  double seconds = (double)(end.tv_sec - start.tv_sec) +
                   (double)(end.tv_nsec - start.tv_nsec) / 1e9;
  printf("%.0f\n", seconds * 1e9 / tasks);
}

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "";
  // What hangs is ended.
  if (argc > 2)
    alarm((unsigned)atoi(argv[2]));
  if (!strcmp(name, "chain"))
    chain();
  else if (!strcmp(name, "fan"))
    fan();
  else if (!strcmp(name, "await"))
    await_in_tasks();
  else if (!strcmp(name, "overhead"))
    overhead();
  else
    return 2;
  puts("done");
  fflush(stdout);
  _exit(0);
}

// What MLIR's own runtime does with three programs that end on ours: tasks.rs
// has each of them. Compiled against libmlir_async_runtime.so.

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *mlirAsyncRuntimeCreateToken(void);
void mlirAsyncRuntimeEmplaceToken(void *token);
void mlirAsyncRuntimeAwaitToken(void *token);
void mlirAsyncRuntimeExecute(void *handle, void (*resume)(void *));
void mlirAsyncRuntimeAwaitTokenAndExecute(void *token, void *handle,
                                          void (*resume)(void *));

static void emplace(void *token) { mlirAsyncRuntimeEmplaceToken(token); }

// Each task after the one before: they are resumed one inside the other.
static void chain(void) {
  void *first = mlirAsyncRuntimeCreateToken(), *last = first;
  for (int i = 0; i < 1000000; i++) {
    void *token = mlirAsyncRuntimeCreateToken();
    mlirAsyncRuntimeAwaitTokenAndExecute(last, token, emplace);
    last = token;
  }
  mlirAsyncRuntimeEmplaceToken(first);
  mlirAsyncRuntimeAwaitToken(last);
}

// Four tasks after one, that end only when all four have started.
static pthread_barrier_t barrier;
static void meet(void *token) {
  pthread_barrier_wait(&barrier);
  mlirAsyncRuntimeEmplaceToken(token);
}
static void fan(void) {
  void *first = mlirAsyncRuntimeCreateToken(), *tokens[4];
  pthread_barrier_init(&barrier, 0, 4);
  for (int i = 0; i < 4; i++) {
    tokens[i] = mlirAsyncRuntimeCreateToken();
    mlirAsyncRuntimeAwaitTokenAndExecute(first, tokens[i], meet);
  }
  mlirAsyncRuntimeExecute(first, emplace);
  for (int i = 0; i < 4; i++)
    mlirAsyncRuntimeAwaitToken(tokens[i]);
}

// More tasks than workers, each of which starts a task and awaits it.
static void nested(void *token) {
  void *inner = mlirAsyncRuntimeCreateToken();
  mlirAsyncRuntimeExecute(inner, emplace);
  mlirAsyncRuntimeAwaitToken(inner);
  mlirAsyncRuntimeEmplaceToken(token);
}
static void await(void) {
  enum { tasks = 4096 };
  static void *tokens[tasks];
  for (int i = 0; i < tasks; i++)
    mlirAsyncRuntimeExecute(tokens[i] = mlirAsyncRuntimeCreateToken(), nested);
  for (int i = 0; i < tasks; i++)
    mlirAsyncRuntimeAwaitToken(tokens[i]);
}

int main(int argc, char **argv) {
  if (argc < 2)
    return 2;
  // What hangs is ended.
  alarm(4);
  if (!strcmp(argv[1], "chain"))
    chain();
  if (!strcmp(argv[1], "fan"))
    fan();
  if (!strcmp(argv[1], "await"))
    await();
  puts("done");
  fflush(stdout);
  _exit(0);
}

// A program in C over asyncopt_rt.h, which the crate's tests compile and run.
// Each function of the header that compiled code calls is here once.

#include "asyncopt_rt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);          \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

// fib(n) as a graph: a task for each call, that starts two and a third that
// adds their results, which delays its own completion.
typedef struct {
  int64_t n;
  int64_t result;
  asyncopt_rt_token *left, *right;
} fib_frame;

static int32_t fib(asyncopt_rt_token *self, void *frame);
static int32_t add(asyncopt_rt_token *self, void *frame);
static void skip_add(void *frame);

static const asyncopt_rt_type fib_type = {
    fib, 0, 0, sizeof(fib_frame), _Alignof(fib_frame), "fib"};

typedef struct {
  int64_t *to; // in the frame of `self`, which its token keeps
  asyncopt_rt_token *left, *right;
} add_frame;

static const asyncopt_rt_type add_type = {
    add, skip_add, 0, sizeof(add_frame), _Alignof(add_frame), "add"};

static asyncopt_rt_token *start_fib(int64_t n) {
  asyncopt_rt_token *token = asyncopt_rt_create(&fib_type);
  ((fib_frame *)asyncopt_rt_frame(token))->n = n;
  asyncopt_rt_submit(token);
  return token;
}

static int32_t fib(asyncopt_rt_token *self, void *frame) {
  fib_frame *f = frame;
  if (f->n < 0) {
    asyncopt_rt_fail(self, "program.c:1:1", "a negative number");
    return ASYNCOPT_RT_DONE;
  }
  if (f->n < 2) {
    f->result = f->n;
    return ASYNCOPT_RT_DONE;
  }
  asyncopt_rt_token *sum = asyncopt_rt_create(&add_type);
  add_frame *a = asyncopt_rt_frame(sum);
  a->to = &f->result;
  a->left = start_fib(f->n - 1);
  a->right = start_fib(f->n - 2);
  asyncopt_rt_depend(sum, a->left);
  asyncopt_rt_depend(sum, a->right);
  asyncopt_rt_submit(sum);
  asyncopt_rt_depend(self, sum);
  asyncopt_rt_release(sum);
  return ASYNCOPT_RT_DONE;
}

static int32_t add(asyncopt_rt_token *self, void *frame) {
  (void)self;
  add_frame *a = frame;
  fib_frame *left = asyncopt_rt_frame(a->left);
  fib_frame *right = asyncopt_rt_frame(a->right);
  *a->to = left->result + right->result;
  skip_add(frame);
  return ASYNCOPT_RT_DONE;
}

static void skip_add(void *frame) {
  add_frame *a = frame;
  asyncopt_rt_release(a->left);
  asyncopt_rt_release(a->right);
}

// A "coroutine" that adds what two tokens deliver, one after the other.
typedef struct {
  asyncopt_rt_token *self, *inputs[2];
  int64_t *result;
  int step;
} sum_state;

static void sum_resume(void *handle) {
  sum_state *s = handle;
  asyncopt_rt_token *self = s->self;
  asyncopt_rt_token *on = s->inputs[s->step];
  if (asyncopt_rt_state(on) == ASYNCOPT_RT_FAILED)
    asyncopt_rt_fail_from(self, on);
  else
    *s->result += ((fib_frame *)asyncopt_rt_frame(on))->result;
  asyncopt_rt_release(on);
  if (++s->step < 2) {
    asyncopt_rt_resume_after(s->inputs[s->step], s, sum_resume);
    return;
  }
  free(s);
  asyncopt_rt_complete(self);
}

static int32_t sum(asyncopt_rt_token *self, void *frame) {
  sum_state *s = malloc(sizeof(sum_state));
  s->self = self;
  s->inputs[0] = start_fib(10);
  s->inputs[1] = start_fib(12);
  s->result = frame;
  *s->result = 0;
  s->step = 0;
  asyncopt_rt_resume_after(s->inputs[0], s, sum_resume);
  return ASYNCOPT_RT_SUSPENDED;
}

static const asyncopt_rt_type sum_type = {sum, 0, 0, 8, 8, "sum"};

int main(int argc, char **argv) {
  (void)argv;
  CHECK(asyncopt_rt_set_num_threads(2) == 0);
  CHECK(asyncopt_rt_num_threads() == 2);

  asyncopt_rt_token *token = start_fib(18);
  asyncopt_rt_await_or_abort(token, "program.c:2:1");
  printf("fib(18) = %ld\n",
         (long)((fib_frame *)asyncopt_rt_frame(token))->result);
  asyncopt_rt_release(token);

  token = asyncopt_rt_create(&sum_type);
  asyncopt_rt_submit(token);
  CHECK(asyncopt_rt_await(token) == ASYNCOPT_RT_COMPLETE);
  printf("fib(10) + fib(12) = %ld\n",
         (long)*(int64_t *)asyncopt_rt_frame(token));
  asyncopt_rt_release(token);

  token = start_fib(-1);
  asyncopt_rt_token *after = asyncopt_rt_create(0);
  asyncopt_rt_depend(after, token);
  asyncopt_rt_submit(after);
  asyncopt_rt_retain(after);
  asyncopt_rt_release(after);
  CHECK(asyncopt_rt_await(after) == ASYNCOPT_RT_FAILED);
  printf("%s: %s\n", asyncopt_rt_error_location(after),
         asyncopt_rt_error_message(after));
  if (argc > 1)
    asyncopt_rt_await_or_abort(after, "program.c:3:1");
  asyncopt_rt_release(after);
  asyncopt_rt_release(token);

  asyncopt_rt_shutdown();
  asyncopt_rt_census census, none;
  memset(&none, 0, sizeof(none));
  asyncopt_rt_take_census(&census);
  CHECK(!memcmp(&census, &none, sizeof(census)));
  return 0;
}

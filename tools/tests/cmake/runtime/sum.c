/* Two tasks add numbers, and a third one, after both, adds what they found. */
#include "asyncopt_rt.h"

#include <stdio.h>

/* The frame of the first two: the numbers from `first` to `last`. */
struct range {
  int64_t first, last, sum;
};

static int32_t add_range(asyncopt_rt_token *self, void *frame) {
  struct range *range = frame;
  (void)self;
  range->sum = 0;
  for (int64_t i = range->first; i <= range->last; i++)
    range->sum += i;
  return ASYNCOPT_RT_DONE;
}

/* The frame of the third, which has references to the others. */
struct both {
  asyncopt_rt_token *one, *other;
  int64_t sum;
};

static void release_both(void *frame) {
  struct both *both = frame;
  asyncopt_rt_release(both->one);
  asyncopt_rt_release(both->other);
}

static int32_t add_both(asyncopt_rt_token *self, void *frame) {
  struct both *both = frame;
  struct range *one = asyncopt_rt_frame(both->one);
  struct range *other = asyncopt_rt_frame(both->other);
  (void)self;
  both->sum = one->sum + other->sum;
  printf("%d + %d = %d\n", (int)one->sum, (int)other->sum, (int)both->sum);
  release_both(both);
  return ASYNCOPT_RT_DONE;
}

static const asyncopt_rt_type range_type = {
    add_range, NULL, NULL, sizeof(struct range), _Alignof(struct range),
    "range"};
static const asyncopt_rt_type both_type = {
    add_both, release_both, NULL, sizeof(struct both), _Alignof(struct both),
    "both"};

static asyncopt_rt_token *start_range(int64_t first, int64_t last) {
  asyncopt_rt_token *token = asyncopt_rt_create(&range_type);
  struct range *range = asyncopt_rt_frame(token);
  range->first = first;
  range->last = last;
  asyncopt_rt_submit(token);
  return token;
}

int main(void) {
  asyncopt_rt_token *token = asyncopt_rt_create(&both_type);
  struct both *both = asyncopt_rt_frame(token);
  both->one = start_range(1, 4);
  both->other = start_range(5, 8);
  asyncopt_rt_depend(token, both->one);
  asyncopt_rt_depend(token, both->other);
  asyncopt_rt_submit(token);
  asyncopt_rt_await_or_abort(token, "sum.c:main");
  asyncopt_rt_release(token);
  return 0;
}

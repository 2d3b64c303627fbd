// SPDX-License-Identifier: MIT
//
// Cost of a discrete event: the queue M/M/1 with lambda 0.8, mu 1 and 10^6 customers (2 * 10^6
// events), and a queue of many pending events.
//
// Opponent: the program a specialist would write for this one problem, a binary heap of (time,
// kind) and a ring of arrival times, same random numbers. Beside it the world in three styles: bare
// events; a resource with callbacks and statistics; a process per customer. For comparison SimPy
// (processes and a resource, CPython) takes about 4.2 us per event on the same problem. Hold model:
// a constant number of pending events, each schedules its successor.
// Prints nanoseconds per event (best of several runs) and the ratio to the opponent.
#include "bench.h"

#define RUNS 7

static int customers = 1000000;

// ---- by hand ------------------------------------------------------------------------------------

typedef struct Event {
  double t;
  int kind;
} Event;

typedef struct Heap {
  Event* data;
  int count;
} Heap;

static void heap_push(Heap* heap, Event event) {
  int at = heap->count++;
  while (at > 0) {
    int parent = (at - 1) / 2;
    if (heap->data[parent].t <= event.t) break;
    heap->data[at] = heap->data[parent];
    at = parent;
  }
  heap->data[at] = event;
}

static Event heap_pop(Heap* heap) {
  Event first = heap->data[0];
  Event last = heap->data[--heap->count];
  int at = 0;
  for (;;) {
    int child = 2 * at + 1;
    if (child >= heap->count) break;
    if (child + 1 < heap->count && heap->data[child + 1].t < heap->data[child].t) child++;
    if (heap->data[child].t >= last.t) break;
    heap->data[at] = heap->data[child];
    at = child;
  }
  heap->data[at] = last;
  return first;
}

static double by_hand(void) {
  SltRandom arrivals;
  SltRandom services;
  slt_random_init(&arrivals, 1, 1);
  slt_random_init(&services, 1, 2);
  Event storage[16];
  Heap heap = {storage, 0};
  double* waiting = malloc((size_t)customers * sizeof *waiting);
  if (!waiting) return 0.0;
  int first = 0;
  int last = 0;
  int busy = 0;
  int come = 0;
  double total = 0.0;
  heap_push(&heap, (Event){0.0, 0});
  while (heap.count > 0) {
    Event event = heap_pop(&heap);
    if (event.kind == 0) {
      if (++come < customers) {
        heap_push(&heap, (Event){event.t + slt_random_exponential(&arrivals, 1.25), 0});
      }
      if (busy) {
        waiting[last++] = event.t;
      } else {
        busy = 1;
        heap_push(&heap, (Event){event.t + slt_random_exponential(&services, 1.0), 1});
      }
    } else if (first < last) {
      total += event.t - waiting[first++];
      heap_push(&heap, (Event){event.t + slt_random_exponential(&services, 1.0), 1});
    } else {
      busy = 0;
    }
  }
  free(waiting);
  return total / customers;
}

// ---- the world ----------------------------------------------------------------------------------

typedef struct Queue {
  SltWorld* world;
  SltResource* server;
  SltRandom arrivals, services;
  double* waiting;
  int first, last, busy, come;
  double total;
} Queue;

static void leave(SltWorld* world, void* user) {
  Queue* q = user;
  double t = slt_world_time(world);
  if (q->first < q->last) {
    q->total += t - q->waiting[q->first++];
    (void)slt_world_call(world, t + slt_random_exponential(&q->services, 1.0), leave, q, NULL);
  } else {
    q->busy = 0;
  }
}

static void arrive(SltWorld* world, void* user) {
  Queue* q = user;
  double t = slt_world_time(world);
  if (++q->come < customers) {
    (void)slt_world_call(world, t + slt_random_exponential(&q->arrivals, 1.25), arrive, q, NULL);
  }
  if (q->busy) {
    q->waiting[q->last++] = t;
  } else {
    q->busy = 1;
    (void)slt_world_call(world, t + slt_random_exponential(&q->services, 1.0), leave, q, NULL);
  }
}

static void release(SltWorld* world, void* user) {
  (void)world;
  (void)slt_resource_release(((Queue*)user)->server, 1, (SltTransaction){0, 0});
}

static void granted(SltWorld* world, void* user) {
  Queue* q = user;
  double end = slt_world_time(world) + slt_random_exponential(&q->services, 1.0);
  (void)slt_world_call(world, end, release, q, NULL);
}

static void ask(SltWorld* world, void* user) {
  Queue* q = user;
  if (++q->come < customers) {
    double next = slt_world_time(world) + slt_random_exponential(&q->arrivals, 1.25);
    (void)slt_world_call(world, next, ask, q, NULL);
  }
  SltRequestSpec spec = {.fn = granted, .user = q};
  (void)slt_resource_request(q->server, &spec, NULL);
}

static void customer(SltWorld* world, void* user) {
  Queue* q = user;
  if (++q->come < customers) {
    double next = slt_world_time(world) + slt_random_exponential(&q->arrivals, 1.25);
    (void)slt_process_start(world, next, customer, q, NULL, NULL);
  }
  if (slt_process_request(world, q->server, 1, 0, HUGE_VAL) != SLT_OK) return;
  if (slt_process_wait(world, slt_random_exponential(&q->services, 1.0)) != SLT_OK) return;
  (void)slt_resource_release(q->server, 1, (SltTransaction){0, 0});
}

typedef enum Style { EVENTS, RESOURCE, PROCESS } Style;

static double world_run(Style style) {
  Queue q = {0};
  slt_random_init(&q.arrivals, 1, 1);
  slt_random_init(&q.services, 1, 2);
  if (slt_world_create(NULL, &q.world) < 0) return 0.0;
  double mean = 0.0;
  if (style == EVENTS) {
    q.waiting = malloc((size_t)customers * sizeof *q.waiting);
    (void)slt_world_call(q.world, 0.0, arrive, &q, NULL);
  } else {
    (void)slt_resource_create(q.world, "server", 1, &q.server);
    if (style == RESOURCE) {
      (void)slt_world_call(q.world, 0.0, ask, &q, NULL);
    } else {
      (void)slt_process_start(q.world, 0.0, customer, &q, NULL, NULL);
    }
  }
  (void)slt_world_run(q.world, 1e9, 0.0);
  mean = style == EVENTS ? q.total / customers : slt_resource_statistics(q.server).waiting.mean;
  slt_world_free(q.world);
  free(q.waiting);
  return mean;
}

// ---- many pending events ------------------------------------------------------------------------

typedef struct Hold {
  SltRandom random;
  uint64_t left;
} Hold;

static void successor(SltWorld* world, void* user) {
  Hold* hold = user;
  if (hold->left == 0) return;
  hold->left--;
  double next = slt_world_time(world) + slt_random_exponential(&hold->random, 1.0);
  (void)slt_world_call(world, next, successor, hold, NULL);
}

static void hold_model(uint32_t pending) {
  double best = 1e30;
  for (int run = 0; run < 3; run++) {
    Hold hold = {.left = 2000000};
    slt_random_init(&hold.random, 1, 1);
    SltWorld* world = NULL;
    if (slt_world_create(NULL, &world) < 0) return;
    for (uint32_t i = 0; i < pending; i++) {
      (void)slt_world_call(world, slt_random_exponential(&hold.random, 1.0), successor, &hold,
                           NULL);
    }
    double from = bench_cpu();
    (void)slt_world_run(world, 2000000.0 / pending, 0.0);
    uint64_t events = slt_world_statistics(world).events;
    double ns = (bench_cpu() - from) * 1e9 / (double)events;
    if (ns < best) best = ns;
    slt_world_free(world);
  }
  printf("hold model, %8u pending %10.1f ns per event\n", pending, best);
}

static double style_run(int style) {
  return style < 0 ? by_hand() : world_run((Style)style);
}

int main(void) {
  static const char* const names[] = {"heap by hand", "bare events", "resource", "process"};
  static const char* const rows[] = {"", "queue", "queue_resource", "queue_process"};
  double best[4] = {1e30, 1e30, 1e30, 1e30};
  double mean[4] = {0};
  customers = (int)bench_size(1e6, 1000.0);
  int runs = bench_smoke() || bench_counts() ? 1 : RUNS;
  // in turns, so that a busy machine is busy for all of them
  for (int run = 0; run < runs; run++) {
    for (int i = 0; i < 4; i++) {
      double from = bench_cpu();
      CALLGRIND_TOGGLE_COLLECT;
      mean[i] = style_run(i - 1);
      CALLGRIND_TOGGLE_COLLECT;
      double ns = (bench_cpu() - from) * 1e9 / (2.0 * customers);
      if (ns < best[i]) best[i] = ns;
      if (bench_counts() && i == 0) CALLGRIND_DUMP_STATS_AT("opponent queue");
      if (bench_counts() && i == 1) CALLGRIND_DUMP_STATS_AT("saltus queue");
    }
  }
  printf("M/M/1              ns/event    ratio   mean wait (theory 4)\n");
  for (int i = 0; i < 4; i++) {
    printf("%-16s %10.1f %8.2f %10.4f\n", names[i], best[i], best[i] / best[0], mean[i]);
  }
  for (int i = 1; i < 4; i++) {
    char what[100];
    snprintf(what, sizeof what, "queue M/M/1, 1e6 customers: %s", names[i]);
    BenchRow row = bench_row(rows[i], what);
    row.opponent = "heap in C";
    row.note = "SimPy takes about 4200 ns an event";
    row.unit = "event";
    row.units = 2.0 * customers;
    row.opponent_s = best[0] * row.units * 1e-9;
    row.saltus_s = best[i] * row.units * 1e-9;
    // same random numbers: the same mean, but for the order in which it is summed
    row.error = fabs(mean[i] / mean[0] - 1.0);
    row.opponent_error = 0.0;
    if (i == 1) row.budget = 4.0;
    bench_print(&row);
  }
  if (bench_smoke() || bench_counts()) return 0;
  for (uint32_t pending = 100; pending <= 1000000; pending *= 100) {
    hold_model(pending);
  }
  return 0;
}

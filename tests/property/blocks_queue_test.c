// SPDX-License-Identifier: MIT
//
// The event queue against a sorted reference: random times with many ties, random priorities,
// random cancelling. What comes out is exactly (time, priority descending, order of scheduling).
#include "blocks/blocks.h"
#include "test.h"

#define EVENTS 20000

typedef struct Item {
  double t;
  int32_t priority;
  uint32_t number;
  bool cancelled;
} Item;

static int compare(const void* a, const void* b) {
  const Item* x = a;
  const Item* y = b;
  if (x->t != y->t) return x->t < y->t ? -1 : 1;
  if (x->priority != y->priority) return x->priority > y->priority ? -1 : 1;
  return x->number < y->number ? -1 : 1;
}

TEST(keys_keep_the_order_of_times) {
  static const double times[] = {-HUGE_VAL, -1e300, -1.0, -1e-310, 0.0, 1e-310, 1.0, 2.0, HUGE_VAL};
  for (size_t i = 0; i < SLT_COUNT(times); i++) {
    CHECK(blk_key_time(blk_time_key(times[i])) == times[i], "there and back");
    if (i > 0) CHECK(blk_time_key(times[i - 1]) < blk_time_key(times[i]), "order");
  }
  CHECK(blk_time_key(-0.0) == blk_time_key(0.0), "zero");
}

TEST(heap_sorts) {
  uint64_t seed = 7;
  SltAllocator allocator = base_allocator(NULL);
  for (uint32_t count = 0; count < 300; count++) {
    BlkHeap heap = {0};
    Item items[300];
    for (uint32_t i = 0; i < count; i++) {
      items[i] = (Item){.t = (double)(test_random(&seed) % 17) - 8.0,
                        .priority = (int32_t)(test_random(&seed) % 5) - 2,
                        .number = i};
      BlkEntry entry = {blk_time_key(items[i].t), blk_order(items[i].priority, i), i, 1};
      CHECK(blk_heap_push(&heap, &allocator, entry) == SLT_OK, "push");
    }
    qsort(items, count, sizeof *items, compare);
    for (uint32_t i = 0; i < count; i++) {
      CHECK(blk_heap_pop(&heap).slot == items[i].number, "order");
    }
    blk_heap_clear(&heap, &allocator);
  }
}

typedef struct Log {
  uint32_t* numbers;
  uint32_t count;
} Log;

typedef struct Call {
  Log* log;
  uint32_t number;
} Call;

static void note(SltWorld* world, void* user) {
  (void)world;
  Call* call = user;
  call->log->numbers[call->log->count++] = call->number;
}

TEST(world_runs_events_in_order) {
  uint64_t seed = 99;
  for (int round = 0; round < 5; round++) {
    Item* items = calloc(EVENTS, sizeof *items);
    Call* calls = calloc(EVENTS, sizeof *calls);
    SltBlock* handles = calloc(EVENTS, sizeof *handles);
    Log log = {calloc(EVENTS, sizeof *log.numbers), 0};
    SltWorld* world = NULL;
    CHECK(slt_world_create(NULL, &world) == SLT_OK, "create");
    for (uint32_t i = 0; i < EVENTS; i++) {
      items[i] = (Item){.t = (double)(test_random(&seed) % 1000) * 0.125,
                        .priority = (int32_t)(test_random(&seed) % 7) - 3,
                        .number = i};
      calls[i] = (Call){&log, i};
      SltBlockSpec spec = {
          .t = items[i].t, .priority = items[i].priority, .fn = note, .user = &calls[i]};
      CHECK(slt_block_schedule(world, &spec, &handles[i]) == SLT_OK, "schedule");
      // cancel about two of three, so that the queue is swept several times
      if (i > 10 && test_random(&seed) % 3 != 0) {
        uint32_t victim = (uint32_t)(test_random(&seed) % i);
        if (!items[victim].cancelled) {
          CHECK(slt_block_cancel(world, handles[victim]) == SLT_OK, "cancel");
          items[victim].cancelled = true;
        }
      }
    }
    CHECK(slt_world_run(world, 1000.0, 0.0) == SLT_OK, "run");
    qsort(items, EVENTS, sizeof *items, compare);
    uint32_t at = 0;
    for (uint32_t i = 0; i < EVENTS; i++) {
      if (items[i].cancelled) continue;
      CHECK(at < log.count && log.numbers[at] == items[i].number, "order");
      at++;
    }
    CHECK(at == log.count, "count");
    CHECK(slt_world_time(world) == 1000.0, "time");
    CHECK(slt_world_statistics(world).pending == 0, "pending");
    slt_world_free(world);
    free(items);
    free(calls);
    free(handles);
    free(log.numbers);
  }
}

// ---- events that make events, many of them without delay ----------------------------------------

typedef struct Tree {
  SltWorld* world;
  uint64_t seed;
  uint32_t made;
  Item items[4000];
  bool done[4000];
  SltBlock handles[4000];
} Tree;

typedef struct Leaf {
  Tree* tree;
  uint32_t number;
} Leaf;

static Leaf leaves[4000];

/// The next one by looking at all of them.
static uint32_t expected_next(const Tree* tree) {
  uint32_t best = UINT32_MAX;
  for (uint32_t i = 0; i < tree->made; i++) {
    if (tree->done[i] || tree->items[i].cancelled) continue;
    if (best == UINT32_MAX || compare(&tree->items[i], &tree->items[best]) < 0) best = i;
  }
  return best;
}

static void grow(SltWorld* world, void* user);

static void make_leaf(Tree* tree, double t) {
  if (tree->made == SLT_COUNT(leaves)) return;
  uint32_t n = tree->made++;
  int32_t priority = test_random(&tree->seed) % 4 ? 0 : (int32_t)(test_random(&tree->seed) % 3) - 1;
  tree->items[n] = (Item){.t = t, .priority = priority, .number = n};
  leaves[n] = (Leaf){tree, n};
  SltBlockSpec spec = {.t = t, .priority = priority, .fn = grow, .user = &leaves[n]};
  CHECK(slt_block_schedule(tree->world, &spec, &tree->handles[n]) == SLT_OK, "schedule");
}

static void grow(SltWorld* world, void* user) {
  Leaf* leaf = user;
  Tree* tree = leaf->tree;
  CHECK(expected_next(tree) == leaf->number, "order");
  tree->done[leaf->number] = true;
  for (uint64_t k = test_random(&tree->seed) % 4; k > 0; k--) {
    make_leaf(tree, slt_world_time(world) + (double)(test_random(&tree->seed) % 3) * 0.5);
  }
  uint32_t victim = (uint32_t)(test_random(&tree->seed) % tree->made);
  if (!tree->done[victim] && !tree->items[victim].cancelled) {
    CHECK(slt_block_cancel(world, tree->handles[victim]) == SLT_OK, "cancel");
    tree->items[victim].cancelled = true;
  }
}

TEST(zero_delay_keeps_the_order) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    Tree* tree = calloc(1, sizeof *tree);
    tree->seed = seed;
    CHECK(slt_world_create(NULL, &tree->world) == SLT_OK, "create");
    for (int i = 0; i < 20; i++) {
      make_leaf(tree, (double)(i % 3));
    }
    CHECK(slt_world_run(tree->world, 1000.0, 0.0) == SLT_OK, "run");
    CHECK(expected_next(tree) == UINT32_MAX, "all done");
    CHECK(slt_world_statistics(tree->world).pending == 0, "none left");
    slt_world_free(tree->world);
    free(tree);
  }
}

// ---- resources ----------------------------------------------------------------------------------

#define REQUESTS 4000

/// One request of the random sequence, and what a list kept in order says about it.
typedef struct Asked {
  int32_t priority;
  uint32_t units;
  bool waits;
  SltRequest handle;
} Asked;

typedef struct Office {
  Asked asked[REQUESTS];
  uint32_t count, in_use, waiting;
  uint32_t expected[REQUESTS], expected_count;
  uint32_t granted[REQUESTS], granted_count;
} Office;

typedef struct Grant {
  Office* office;
  uint32_t number;
} Grant;

static void on_grant(SltWorld* world, void* user) {
  (void)world;
  const Grant* grant = user;
  grant->office->granted[grant->office->granted_count++] = grant->number;
}

/// Serve by looking through everybody: larger priority first, then who came first.
static void serve_slowly(Office* o, uint32_t capacity) {
  for (;;) {
    uint32_t first = REQUESTS;
    for (uint32_t i = 0; i < o->count; i++) {
      if (!o->asked[i].waits) continue;
      if (first == REQUESTS || o->asked[i].priority > o->asked[first].priority) first = i;
    }
    if (first == REQUESTS || o->asked[first].units > capacity - o->in_use) return;
    o->asked[first].waits = false;
    o->waiting--;
    o->in_use += o->asked[first].units;
    o->expected[o->expected_count++] = first;
  }
}

TEST(resources_serve_in_order) {
  enum { CAPACITY = 5 };
  for (uint64_t seed = 1; seed <= 6; seed++) {
    static Office o;
    static Grant grants[REQUESTS];
    memset(&o, 0, sizeof o);
    uint64_t random = seed;
    SltWorld* world = NULL;
    SltResource* resource = NULL;
    CHECK(slt_world_create(NULL, &world) == SLT_OK, "world");
    CHECK(slt_resource_create(world, "office", CAPACITY, &resource) == SLT_OK, "resource");
    // many levels of priority fill the heap, one keeps everybody in line
    uint32_t levels = seed % 3 == 0 ? 1 : seed % 3 == 1 ? 3 : 1000;
    while (o.count < REQUESTS) {
      uint32_t what = (uint32_t)(test_random(&random) % 10);
      if (what < 5) {
        Asked* asked = &o.asked[o.count];
        *asked = (Asked){.priority = (int32_t)(test_random(&random) % levels),
                         .units = 1 + (uint32_t)(test_random(&random) % 3),
                         .waits = true};
        grants[o.count] = (Grant){&o, o.count};
        SltRequestSpec spec = {.units = asked->units,
                               .priority = asked->priority,
                               .fn = on_grant,
                               .user = &grants[o.count]};
        o.count++;
        o.waiting++;
        CHECK(slt_resource_request(resource, &spec, &asked->handle) == SLT_OK, "request");
      } else if (what < 7) {
        uint32_t units = o.in_use ? 1 + (uint32_t)(test_random(&random) % o.in_use) : 0;
        if (units)
          CHECK(slt_resource_release(resource, units, (SltTransaction){0, 0}) == SLT_OK, "");
        o.in_use -= units;
      } else if (o.count) {
        // most of those that are found have gone already
        Asked* asked = &o.asked[test_random(&random) % o.count];
        SltStatus status = slt_request_cancel(resource, asked->handle);
        CHECK(status == (asked->waits ? SLT_OK : SLT_ERR_NOT_FOUND), "withdraw");
        o.waiting -= asked->waits;
        asked->waits = false;
      }
      serve_slowly(&o, CAPACITY);
      CHECK(slt_resource_in_use(resource) == o.in_use, "in use");
      CHECK(slt_resource_queue_length(resource) == o.waiting, "waiting");
    }
    CHECK(slt_world_run(world, 1.0, 0.0) == SLT_OK, "run");
    CHECK(o.granted_count == o.expected_count && o.granted_count > 500, "number of grants");
    CHECK(memcmp(o.granted, o.expected, o.granted_count * sizeof *o.granted) == 0, "order");
    slt_world_free(world);
  }
}

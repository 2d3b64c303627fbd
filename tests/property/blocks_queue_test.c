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

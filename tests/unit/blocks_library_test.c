// SPDX-License-Identifier: MIT
//
// What the library of blocks offers beyond queues: distributions, histograms, replications, waits
// for several things, interrupts, preemption, stores with an order and with filters.
#include "blocks/blocks.h"
#include "test.h"

// ---- random numbers -----------------------------------------------------------------------------

#define DRAWS 200000

typedef double DrawFn(SltRandom* random);

static double triangular(SltRandom* r) {
  return slt_random_triangular(r, 1.0, 2.0, 6.0);
}
static double right_angled(SltRandom* r) {
  return slt_random_triangular(r, 0.0, 0.0, 3.0);
}
static double gamma_small(SltRandom* r) {
  return slt_random_gamma(r, 0.5, 2.0);
}
static double gamma_large(SltRandom* r) {
  return slt_random_gamma(r, 40.0, 8.0);
}
static double erlang(SltRandom* r) {
  return slt_random_erlang(r, 3, 6.0);
}
static double weibull(SltRandom* r) {
  return slt_random_weibull(r, 2.0, 3.0);
}
static double beta(SltRandom* r) {
  return slt_random_beta(r, 2.0, 5.0);
}
static double beta_steep(SltRandom* r) {
  return slt_random_beta(r, 0.5, 0.5);
}
static double poisson(SltRandom* r) {
  return (double)slt_random_poisson(r, 4.2);
}
static double poisson_large(SltRandom* r) {
  return (double)slt_random_poisson(r, 2000.0);
}
static double discrete(SltRandom* r) {
  static const double weights[] = {1.0, 0.0, 2.0, 1.0};
  return slt_random_discrete(r, weights, 4);
}

TEST(distributions_have_their_moments) {
  const struct {
    const char* name;
    DrawFn* draw;
    double mean, deviation;
  } cases[] = {{"triangular", triangular, 3.0, 1.0801234497346435},
               {"right-angled", right_angled, 1.0, 0.70710678118654757},
               {"gamma 1/2", gamma_small, 2.0, 2.8284271247461903},
               {"gamma 40", gamma_large, 8.0, 1.2649110640673518},
               {"erlang", erlang, 6.0, 3.4641016151377544},
               {"weibull", weibull, 2.6586807763582737, 1.3897541013548013},
               {"beta", beta, 2.0 / 7.0, 0.15971914124998499},
               {"arcsine", beta_steep, 0.5, 0.35355339059327379},
               {"poisson", poisson, 4.2, 2.0493901531919199},
               {"poisson 2000", poisson_large, 2000.0, 44.721359549995796},
               {"discrete", discrete, 1.75, 1.0897247358851685}};
  FOR_CASES(c, cases) {
    SltRandom random;
    SltTally tally = {0};
    slt_random_init(&random, 5, 0);
    int draws = c->draw == weibull || c->draw == triangular ? DRAWS : DRAWS / 50;
    for (int i = 0; i < draws; i++) {
      slt_tally_add(&tally, c->draw(&random));
    }
    SltSummary s = slt_tally_summary(&tally, 0.95);
    CHECK_NEAR(s.mean, c->mean, 4.5 * c->deviation / sqrt(draws), 0.0);
    CHECK_NEAR(s.deviation, c->deviation, 0.0, 0.08);
  }
}

/// One number of the stream for each value, whatever the distribution.
TEST(draws_take_one_number) {
  DrawFn* draws[] = {triangular, gamma_small, erlang,        weibull,
                     beta,       poisson,     poisson_large, discrete};
  for (size_t i = 0; i < sizeof draws / sizeof *draws; i++) {
    SltRandom random;
    SltRandom plain;
    slt_random_init(&random, 9, i);
    plain = random;
    (void)draws[i](&random);
    (void)slt_random_uniform(&plain, 0.0, 1.0);
    CHECK(memcmp(&random, &plain, sizeof plain) == 0, "one number");
  }
}

TEST(special_functions) {
  CHECK_NEAR(blk_gamma_share(0.5, 0.5), 0.68268949213708590, 0.0, 1e-13);  // erf(1/sqrt 2)
  CHECK_NEAR(blk_gamma_share(3.0, 10.0), 0.9972306042844884, 0.0, 1e-13);  // 1 - 61 exp(-10)
  CHECK_NEAR(blk_beta_share(2.0, 3.0, 0.4), 0.5248, 0.0, 1e-13);           // polynomial
  CHECK_NEAR(blk_beta_share(0.5, 0.5, 0.75), 2.0 / 3.0, 0.0, 1e-13);       // 2/pi asin(sqrt x)
  CHECK_NEAR(blk_log_gamma(0.5), 0.57236494292470008, 0.0, 1e-13);
}

// ---- statistics ---------------------------------------------------------------------------------

TEST(histograms) {
  double bins[10];
  SltHistogram h;
  CHECK(slt_histogram_init(&h, 0.0, 10.0, bins, 10) == SLT_OK, "init");
  CHECK(slt_histogram_init(&h, 1.0, 1.0, bins, 10) == SLT_ERR_ARGUMENT, "no width");
  CHECK(slt_histogram_init(&h, 0.0, 10.0, bins, 10) == SLT_OK, "init");
  for (int i = 0; i < 1000; i++) {
    slt_histogram_add(&h, i / 100.0, 1.0);
  }
  CHECK(bins[0] == 100.0 && bins[9] == 100.0 && h.below == 0.0 && h.above == 0.0, "bins");
  CHECK_NEAR(slt_histogram_quantile(&h, 0.5), 5.0, 1e-12, 0.0);
  CHECK_NEAR(slt_histogram_quantile(&h, 0.925), 9.25, 1e-12, 0.0);
  slt_histogram_add(&h, -1.0, 1000.0);
  slt_histogram_add(&h, 10.0, 2000.0);
  CHECK(h.below == 1000.0 && h.above == 2000.0 && h.total == 4000.0, "beyond");
  CHECK(slt_histogram_quantile(&h, 0.1) == -HUGE_VAL, "below");
  CHECK(slt_histogram_quantile(&h, 0.9) == HUGE_VAL, "above");
  double values[] = {5.0, 1.0, 3.0, 2.0, 4.0};
  CHECK_NEAR(slt_quantile(values, 5, 0.5), 3.0, 0.0, 0.0);
  CHECK_NEAR(slt_quantile(values, 5, 0.875), 4.5, 1e-15, 0.0);
  CHECK(isnan(slt_quantile(values, 0, 0.5)), "empty");
}

TEST(warmup_is_found) {
  double values[1000];
  SltRandom random;
  slt_random_init(&random, 3, 0);
  for (int i = 0; i < 1000; i++) {
    values[i] = slt_random_normal(&random, 10.0, 1.0) + 20.0 * exp(-i / 30.0);
  }
  size_t cut = slt_warmup_end(values, 1000);
  CHECK(cut >= 60 && cut <= 300, "the transient ends");
  for (int i = 0; i < 1000; i++) {
    values[i] = 1.0 + i % 5;
  }
  CHECK(slt_warmup_end(values, 1000) == 0, "nothing to leave out");
  CHECK(slt_warmup_end(values, 3) == 0, "too few");
  SltLevel level = {0};
  slt_level_set(&level, 0.0, 100.0);
  slt_level_set(&level, 5.0, 2.0);
  slt_level_restart(&level, 10.0);
  CHECK_NEAR(slt_level_summary(&level, 20.0, 0.95).mean, 2.0, 1e-15, 0.0);
}

static SltStatus throw_dice(SltWorld* world, void* user, double* measures) {
  SltRandom* random = slt_world_random(world, 1);
  int throws = *(const int*)user;
  for (int i = 0; i < throws; i++) {
    measures[0] += 1.0 + slt_random_index(random, 6);
  }
  measures[0] /= throws;
  measures[1] = slt_world_time(world);
  return SLT_OK;
}

TEST(replications) {
  double results[2 * 40];
  int throws = 100;
  CHECK(slt_world_replicate(NULL, 40, throw_dice, &throws, 2, results) == SLT_OK, "run");
  SltSummary s = slt_replications_summary(results, 40, 0.95);
  CHECK_NEAR(s.mean, 3.5, 4.0 * 1.7078 / sqrt(4000.0), 0.0);
  CHECK_NEAR(s.half_width, slt_student_quantile(0.975, 39.0) * s.deviation / sqrt(40.0), 0.0,
             1e-12);
  CHECK(results[0] != results[1], "seeds differ");
  double again[2 * 40];
  CHECK(slt_world_replicate(NULL, 40, throw_dice, &throws, 2, again) == SLT_OK, "again");
  CHECK(memcmp(results, again, sizeof again) == 0, "the same numbers");
  CHECK(slt_world_replicate(NULL, 0, throw_dice, &throws, 2, again) == SLT_ERR_ARGUMENT, "none");
}

// ---- processes ----------------------------------------------------------------------------------

typedef struct Stage {
  SltWorld* world;
  SltResource* machine;
  SltStore* store;
  SltProcess worker;
  SltStatus status, second;
  double times[8];
  uint32_t count;
  int items[8];
  SltWait waits[3];
} Stage;

static void note(Stage* stage) {
  if (stage->count < 8) stage->times[stage->count++] = slt_world_time(stage->world);
}

static Stage stage_new(void) {
  Stage stage = {0};
  CHECK(slt_world_create(NULL, &stage.world) == SLT_OK, "world");
  CHECK(slt_resource_create(stage.world, "machine", 1, &stage.machine) == SLT_OK, "resource");
  CHECK(slt_store_create(stage.world, "store", 0, &stage.store) == SLT_OK, "store");
  return stage;
}

static void works_long(SltWorld* world, void* user) {
  Stage* stage = user;
  stage->status = slt_process_wait(world, 10.0);
  note(stage);
  stage->second = slt_process_wait(world, 1.0);
  note(stage);
}

static void interrupts(SltWorld* world, void* user) {
  Stage* stage = user;
  (void)slt_process_wait(world, 4.0);
  CHECK(slt_process_interrupt(world, stage->worker) == SLT_OK, "interrupt");
  CHECK(slt_process_interrupt(world, slt_process_current(world)) == SLT_ERR_ARGUMENT, "itself");
}

TEST(interrupt_ends_a_wait) {
  Stage stage = stage_new();
  (void)slt_process_start(stage.world, 0.0, works_long, &stage, "worker", &stage.worker);
  (void)slt_process_start(stage.world, 0.0, interrupts, &stage, "boss", NULL);
  CHECK(slt_world_run(stage.world, 100.0, 0.0) == SLT_OK, "run");
  CHECK(stage.status == SLT_INTERRUPTED && stage.times[0] == 4.0, "interrupted at 4");
  CHECK(stage.second == SLT_OK && stage.times[1] == 5.0, "and goes on");
  CHECK(slt_process_interrupt(stage.world, stage.worker) == SLT_ERR_NOT_FOUND, "over");
  slt_world_free(stage.world);
}

static void slow_job(SltWorld* world, void* user) {
  Stage* stage = user;
  double left = 10.0;
  while (left > 0.0) {  // works until it is done, however often it has to give way
    if (slt_process_request(world, stage->machine, 1, 0, HUGE_VAL) != SLT_OK) return;
    double begin = slt_world_time(world);
    SltStatus status = slt_process_wait(world, left);
    left -= slt_world_time(world) - begin;
    if (status == SLT_OK) (void)slt_resource_release(stage->machine, 1, (SltTransaction){0});
    if (status == SLT_INTERRUPTED) stage->items[0]++;
    if (status == SLT_INTERRUPTED) {
      CHECK(slt_resource_release(stage->machine, 1, (SltTransaction){0}) < 0,
            "not its own any more");
    }
  }
  note(stage);
}

static void urgent_job(SltWorld* world, void* user) {
  Stage* stage = user;
  stage->status = slt_process_preempt(world, stage->machine, 1, 5, HUGE_VAL);
  (void)slt_process_wait(world, 2.0);
  (void)slt_resource_release(stage->machine, 1, (SltTransaction){0});
  note(stage);
}

TEST(preemption) {
  Stage stage = stage_new();
  (void)slt_process_start(stage.world, 0.0, slow_job, &stage, "slow", NULL);
  (void)slt_process_start(stage.world, 3.0, urgent_job, &stage, "urgent", NULL);
  (void)slt_process_start(stage.world, 4.0, urgent_job, &stage, "urgent", NULL);  // equals wait
  CHECK(slt_world_run(stage.world, 100.0, 0.0) == SLT_OK, "run");
  CHECK(stage.count == 3 && stage.times[0] == 5.0 && stage.times[1] == 7.0, "urgent ones in turn");
  CHECK_NEAR(stage.times[2], 14.0, 1e-12, 0.0);
  CHECK(stage.items[0] == 1 && slt_resource_in_use(stage.machine) == 0, "given way once");
  CHECK(slt_resource_statistics(stage.machine).preempted == 1, "counted");
  slt_world_free(stage.world);
}

static void takes_any(SltWorld* world, void* user) {
  Stage* stage = user;
  stage->waits[0] = (SltWait){.kind = SLT_WAIT_ITEM, .store = stage->store};
  stage->waits[1] = (SltWait){.kind = SLT_WAIT_TIME, .time = 5.0};
  stage->waits[2] = (SltWait){.kind = SLT_WAIT_UNITS, .resource = stage->machine};
  stage->status = slt_process_any(world, stage->waits, 3);
  note(stage);
}

static void occupies(SltWorld* world, void* user) {
  Stage* stage = user;
  (void)slt_process_request(world, stage->machine, 1, 0, HUGE_VAL);
  (void)slt_process_wait(world, 8.0);
  (void)slt_resource_release(stage->machine, 1, (SltTransaction){0});
}

static void delivers(SltWorld* world, void* user) {
  Stage* stage = user;
  (void)slt_process_wait(world, 3.0);
  (void)slt_store_put(stage->store, &stage->items[3]);
}

TEST(any_of_several) {
  Stage stage = stage_new();
  (void)slt_process_start(stage.world, 0.0, occupies, &stage, NULL, NULL);
  (void)slt_process_start(stage.world, 0.0, takes_any, &stage, NULL, NULL);
  CHECK(slt_world_run(stage.world, 100.0, 0.0) == SLT_OK, "run");
  CHECK(stage.status == SLT_OK && stage.times[0] == 5.0, "time was first");
  CHECK(!stage.waits[0].done && stage.waits[1].done && !stage.waits[2].done, "only that");
  CHECK(slt_resource_in_use(stage.machine) == 0, "the machine was not taken later");
  CHECK(slt_resource_queue_length(stage.machine) == 0, "nor is it waited for");
  CHECK(slt_store_put(stage.store, &stage) == SLT_OK && slt_store_count(stage.store) == 1,
        "unclaimed");
  slt_world_free(stage.world);

  stage = stage_new();
  (void)slt_process_start(stage.world, 0.0, occupies, &stage, NULL, NULL);
  (void)slt_process_start(stage.world, 0.0, takes_any, &stage, NULL, NULL);
  (void)slt_process_start(stage.world, 0.0, delivers, &stage, NULL, NULL);
  CHECK(slt_world_run(stage.world, 100.0, 0.0) == SLT_OK, "run");
  CHECK(stage.times[0] == 3.0 && stage.waits[0].done, "the item was first");
  CHECK(stage.waits[0].item == &stage.items[3], "and is there");
  slt_world_free(stage.world);
}

static void takes_all(SltWorld* world, void* user) {
  Stage* stage = user;
  stage->waits[0] = (SltWait){.kind = SLT_WAIT_ITEM, .store = stage->store};
  stage->waits[1] = (SltWait){.kind = SLT_WAIT_END, .process = stage->worker};
  stage->waits[2] = (SltWait){.kind = SLT_WAIT_UNITS, .resource = stage->machine};
  stage->status = slt_process_all(world, stage->waits, 3);
  note(stage);
}

TEST(all_of_several) {
  Stage stage = stage_new();
  (void)slt_process_start(stage.world, 0.0, occupies, &stage, NULL, &stage.worker);
  (void)slt_process_start(stage.world, 0.0, takes_all, &stage, NULL, NULL);
  (void)slt_process_start(stage.world, 0.0, delivers, &stage, NULL, NULL);
  CHECK(slt_world_run(stage.world, 100.0, 0.0) == SLT_OK, "run");
  CHECK(stage.status == SLT_OK && stage.times[0] == 8.0, "all at 8");
  CHECK(slt_resource_in_use(stage.machine) == 1, "the machine is his");
  CHECK(stage.machine->holder_count == 0 || stage.machine->holders[0].units == 1, "and noted once");
  slt_world_free(stage.world);
}

static void never_gives_up(SltWorld* world, void* user) {
  Stage* stage = user;
  (void)slt_process_wait(world, 50.0);
  takes_all(world, user);
  stage->second = slt_process_start(world, 0.0, works_long, stage, NULL, NULL);
}

/// A process that goes on after it was told to end finds nothing to wait with.
TEST(nothing_starts_while_the_world_is_freed) {
  Stage stage = stage_new();
  (void)slt_process_start(stage.world, 0.0, occupies, &stage, NULL, &stage.worker);
  (void)slt_process_start(stage.world, 0.0, never_gives_up, &stage, NULL, NULL);
  (void)slt_process_start(stage.world, 0.0, never_gives_up, &stage, NULL, NULL);
  CHECK(slt_world_run(stage.world, 20.0, 0.0) == SLT_OK, "run");
  slt_world_free(stage.world);
  CHECK(stage.status == SLT_ERR_CANCELLED && stage.second == SLT_ERR_CANCELLED, "told so");
}

/// Worlds that end while somebody waits for several things.
TEST(waits_end_with_the_world) {
  for (int both = 0; both < 2; both++) {
    Stage stage = stage_new();
    (void)slt_process_start(stage.world, 0.0, occupies, &stage, NULL, &stage.worker);
    (void)slt_process_start(stage.world, 0.0, both ? takes_all : takes_any, &stage, NULL, NULL);
    CHECK(slt_world_run(stage.world, 1.0, 0.0) == SLT_OK, "run");
    slt_world_free(stage.world);
    CHECK(stage.status == SLT_ERR_CANCELLED, "told so");
  }
}

static bool smaller_first(const void* a, const void* b, void* user) {
  (void)user;
  return *(const int*)a < *(const int*)b;
}

static bool is_even(const void* item, void* user) {
  (void)user;
  return *(const int*)item % 2 == 0;
}

static void fetches_even(SltWorld* world, void* user) {
  Stage* stage = user;
  for (int i = 0; i < 2; i++) {
    void* item = NULL;
    if (slt_process_get_if(world, stage->store, is_even, NULL, &item) != SLT_OK) return;
    stage->items[stage->count] = *(const int*)item;
    note(stage);
  }
}

static void fetches_any(SltWorld* world, void* user) {
  Stage* stage = user;
  (void)slt_process_wait(world, 10.0);
  for (int i = 0; i < 3; i++) {
    void* item = NULL;
    if (slt_process_get(world, stage->store, &item) != SLT_OK) return;
    stage->items[stage->count] = *(const int*)item;
    note(stage);
  }
}

TEST(stores_with_order_and_filters) {
  static int numbers[] = {7, 3, 8, 5, 2};
  for (int sorted = 0; sorted < 2; sorted++) {
    Stage stage = stage_new();
    if (sorted) CHECK(slt_store_sort(stage.store, smaller_first, NULL) == SLT_OK, "sort");
    (void)slt_process_start(stage.world, 1.0, fetches_even, &stage, NULL, NULL);
    (void)slt_process_start(stage.world, 1.0, fetches_any, &stage, NULL, NULL);
    for (int i = 0; i < 5; i++) {
      CHECK(slt_store_put(stage.store, &numbers[i]) == SLT_OK, "put");
    }
    CHECK(slt_store_sort(stage.store, NULL, NULL) == SLT_ERR_ARGUMENT, "not empty");
    CHECK(slt_world_run(stage.world, 100.0, 0.0) == SLT_OK, "run");
    const int wanted[2][5] = {{8, 2, 7, 3, 5}, {2, 8, 3, 5, 7}};
    CHECK(stage.count == 5, "all were fetched");
    CHECK(memcmp(stage.items, wanted[sorted], sizeof wanted[sorted]) == 0, "in order");
    slt_world_free(stage.world);
  }
}

// ---- report -------------------------------------------------------------------------------------

typedef struct Text {
  char data[2000];
  size_t length;
} Text;

static SltStatus keep_text(void* user, const char* data, size_t length) {
  Text* text = user;
  if (text->length + length >= sizeof text->data) return SLT_ERR_IO;
  memcpy(text->data + text->length, data, length);
  text->length += length;
  return SLT_OK;
}

TEST(report) {
  Stage stage = stage_new();
  Text text = {.length = 0};
  (void)slt_process_start(stage.world, 0.0, occupies, &stage, NULL, NULL);
  CHECK(slt_world_run(stage.world, 16.0, 0.0) == SLT_OK, "run");
  CHECK(slt_world_write_report(stage.world, (SltWriter){keep_text, &text}) == SLT_OK, "write");
  CHECK(strstr(text.data, "machine ") && strstr(text.data, " 50.0 %"), "half of the time");
  CHECK(strstr(text.data, "store "), "stores too");
  slt_world_free(stage.world);
}

// SPDX-License-Identifier: MIT
//
// Resources, stores, processes, random numbers and statistics; queues against queueing theory.
#include "blocks/blocks.h"
#include "test.h"

#include <pthread.h>

// ---- a queue with c servers, by events ----------------------------------------------------------

typedef struct Queue {
  SltWorld* world;
  SltResource* servers;
  SltRandom* arrivals;
  SltRandom* services;
  double gap, service;
  uint32_t left;  // customers still to come
} Queue;

static void service_ends(SltWorld* world, void* user) {
  (void)world;
  Queue* q = user;
  CHECK(slt_resource_release(q->servers, 1, (SltTransaction){0}) == SLT_OK, "release");
}

static void service_begins(SltWorld* world, void* user) {
  Queue* q = user;
  double end = slt_world_time(world) + slt_random_exponential(q->services, q->service);
  (void)slt_world_call(world, end, service_ends, q, NULL);
}

static void customer_comes(SltWorld* world, void* user) {
  Queue* q = user;
  SltRequestSpec spec = {.fn = service_begins, .user = q};
  (void)slt_resource_request(q->servers, &spec, NULL);
  if (--q->left == 0) return;
  double next = slt_world_time(world) + slt_random_exponential(q->arrivals, q->gap);
  (void)slt_world_call(world, next, customer_comes, q, NULL);
}

static SltResourceStatistics run_queue(uint64_t seed, uint32_t servers, double gap, double service,
                                       uint32_t customers) {
  SltWorldOptions options = slt_world_options();
  options.seed = seed;
  Queue q = {.gap = gap, .service = service, .left = customers};
  CHECK(slt_world_create(&options, &q.world) == SLT_OK, "create");
  CHECK(slt_resource_create(q.world, "servers", servers, &q.servers) == SLT_OK, "resource");
  q.arrivals = slt_world_random(q.world, 1);
  q.services = slt_world_random(q.world, 2);
  (void)slt_world_call(q.world, 0.0, customer_comes, &q, NULL);
  CHECK(slt_world_run(q.world, 1e9, 0.0) == SLT_OK, "run");
  SltResourceStatistics s = slt_resource_statistics(q.servers);
  slt_world_free(q.world);
  return s;
}

static double erlang_c(uint32_t servers, double load) {
  double b = 1.0;
  for (uint32_t k = 1; k <= servers; k++) {
    b = load * b / (k + load * b);
  }
  return b / (1.0 - load / servers * (1.0 - b));
}

TEST(mm1_and_mmc_against_theory) {
  static const struct {
    const char* name;
    uint32_t servers;
    double load;  // of one server
  } cases[] = {{"M/M/1", 1, 0.5}, {"M/M/1 busy", 1, 0.8}, {"M/M/3", 3, 0.7}, {"M/M/10", 10, 0.8}};
  FOR_CASES(c, cases) {
    SltResourceStatistics s = run_queue(5, c->servers, 1.0 / (c->load * c->servers), 1.0, 400000);
    double load = c->load * c->servers;
    double p_wait = erlang_c(c->servers, load);
    double wait = p_wait / (c->servers - load);
    CHECK(s.requests == 400000 && s.granted == 400000, c->name);
    CHECK(s.waiting.half_width > 0.0 && s.waiting.half_width < 0.15 * wait + 0.01, c->name);
    // a 95 % interval: three half widths leave no room for chance
    CHECK_NEAR(s.waiting.mean, wait, 3.0 * s.waiting.half_width, 0.0);
    CHECK_NEAR((double)s.waited / (double)s.granted, p_wait, 0.02, 0.0);
  }
}

TEST(same_seed_same_bits) {
  SltResourceStatistics a = run_queue(11, 2, 0.6, 1.0, 20000);
  SltResourceStatistics b = run_queue(11, 2, 0.6, 1.0, 20000);
  SltResourceStatistics c = run_queue(12, 2, 0.6, 1.0, 20000);
  CHECK(memcmp(&a.waiting.mean, &b.waiting.mean, sizeof(double)) == 0, "same");
  CHECK(a.waiting.mean != c.waiting.mean, "another seed");
}

static void* thread_run(void* user) {
  *(SltResourceStatistics*)user = run_queue(11, 2, 0.6, 1.0, 20000);
  return NULL;
}

TEST(two_worlds_in_two_threads) {
  SltResourceStatistics alone = run_queue(11, 2, 0.6, 1.0, 20000);
  SltResourceStatistics results[2];
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) {
    CHECK(pthread_create(&threads[i], NULL, thread_run, &results[i]) == 0, "thread");
  }
  for (int i = 0; i < 2; i++) {
    (void)pthread_join(threads[i], NULL);
    CHECK(memcmp(&results[i].waiting.mean, &alone.waiting.mean, sizeof(double)) == 0, "bits");
  }
}

/// A million customers, a hundred thousand of them waiting at once.
TEST(a_long_queue) {
  Queue q = {.gap = 0.88, .service = 1.0, .left = 1000000};
  CHECK(slt_world_create(NULL, &q.world) == SLT_OK, "create");
  CHECK(slt_resource_create(q.world, "server", 1, &q.servers) == SLT_OK, "resource");
  q.arrivals = slt_world_random(q.world, 1);
  q.services = slt_world_random(q.world, 2);
  (void)slt_world_call(q.world, 0.0, customer_comes, &q, NULL);
  CHECK(slt_world_run(q.world, 1e9, 0.0) == SLT_OK, "run");
  SltResourceStatistics s = slt_resource_statistics(q.servers);
  CHECK(s.granted == 1000000 && s.queue.greatest > 100000.0, "long");
  slt_world_free(q.world);
}

// ---- priorities, withdrawal, transactions -------------------------------------------------------

typedef struct Served {
  char text[32];
  size_t length;
} Served;

typedef struct Client {
  Served* served;
  char letter;
} Client;

static void serve(SltWorld* world, void* user) {
  (void)world;
  Client* client = user;
  client->served->text[client->served->length++] = client->letter;
}

static void give_back(SltWorld* world, void* user) {
  (void)world;
  (void)slt_resource_release(user, 1, (SltTransaction){0});
}

TEST(priorities_and_withdrawal) {
  Served served = {{0}, 0};
  SltWorld* world = NULL;
  SltResource* r = NULL;
  CHECK(slt_world_create(NULL, &world) == SLT_OK, "create");
  CHECK(slt_resource_create(world, "r", 1, &r) == SLT_OK, "resource");
  Client clients[5];
  static const int32_t priorities[] = {0, 1, 5, 1, 0};
  SltRequest requests[5];
  for (int i = 0; i < 5; i++) {
    clients[i] = (Client){&served, (char)('a' + i)};
    SltRequestSpec spec = {.priority = priorities[i], .fn = serve, .user = &clients[i]};
    CHECK(slt_resource_request(r, &spec, &requests[i]) == SLT_OK, "request");
    CHECK(slt_world_call(world, 1.0 + i, give_back, r, NULL) == SLT_OK, "release");
  }
  CHECK(slt_resource_queue_length(r) == 4, "waiting");
  CHECK(slt_request_cancel(r, requests[4]) == SLT_OK, "withdrawn");
  CHECK(slt_request_cancel(r, requests[4]) == SLT_ERR_NOT_FOUND, "twice");
  CHECK(slt_request_cancel(r, requests[0]) == SLT_ERR_NOT_FOUND, "granted");
  CHECK(slt_world_run(world, 3.5, 0.0) == SLT_OK, "run");
  CHECK(strcmp(served.text, "acbd") == 0, served.text);
  CHECK(slt_world_run(world, 10.0, 0.0) == SLT_OK, "run on");
  CHECK(slt_resource_in_use(r) == 0, "idle");
  CHECK(slt_resource_release(r, 1, (SltTransaction){0}) == SLT_ERR_ARGUMENT, "too many");
  slt_world_free(world);
}

TEST(units_of_a_transaction_come_back) {
  Served served = {{0}, 0};
  Client client = {&served, 'x'};
  SltWorld* world = NULL;
  SltResource* r = NULL;
  SltTransaction a;
  SltTransaction b;
  CHECK(slt_world_create(NULL, &world) == SLT_OK, "create");
  CHECK(slt_resource_create(world, "r", 3, &r) == SLT_OK, "resource");
  CHECK(slt_transaction_create(world, NULL, NULL, &a) == SLT_OK, "a");
  CHECK(slt_transaction_create(world, NULL, NULL, &b) == SLT_OK, "b");
  SltRequestSpec spec = {.units = 2, .fn = serve, .user = &client, .transaction = a};
  CHECK(slt_resource_request(r, &spec, NULL) == SLT_OK, "a takes two");
  spec.transaction = b;
  CHECK(slt_resource_request(r, &spec, NULL) == SLT_OK, "b waits");
  CHECK(slt_resource_in_use(r) == 2 && slt_resource_queue_length(r) == 1, "state");
  CHECK(slt_transaction_end(world, a) == SLT_OK, "end");
  CHECK(slt_resource_in_use(r) == 2 && slt_resource_queue_length(r) == 0, "b has them");
  CHECK(slt_resource_release(r, 2, b) == SLT_OK, "release");
  CHECK(slt_transaction_end(world, b) == SLT_OK, "end");
  CHECK(slt_resource_in_use(r) == 0, "not twice");
  slt_world_free(world);
}

// ---- processes ----------------------------------------------------------------------------------

typedef struct Shop {
  SltResource* clerk;
  SltStore* shelf;
  SltRandom* random;
  int served, gone, cancelled, made, fetched;
  double level, t_until, t_event;
} Shop;

static void impatient(SltWorld* world, void* user) {
  Shop* shop = user;
  SltStatus status = slt_process_request(world, shop->clerk, 1, 0, 1.5);
  if (status == SLT_END) {
    shop->gone++;
    return;
  }
  CHECK(status == SLT_OK, "granted");
  CHECK(slt_process_wait(world, 1.0) == SLT_OK, "served");
  shop->served++;
  CHECK(slt_resource_release(shop->clerk, 1, (SltTransaction){0}) == SLT_OK, "release");
}

TEST(processes_wait_and_lose_patience) {
  Shop shop = {0};
  SltWorld* world = NULL;
  CHECK(slt_world_create(NULL, &world) == SLT_OK, "create");
  CHECK(slt_resource_create(world, "clerk", 1, &shop.clerk) == SLT_OK, "clerk");
  for (int i = 0; i < 4; i++) {
    CHECK(slt_process_start(world, 0.0, impatient, &shop, "customer", NULL) == SLT_OK, "start");
  }
  CHECK(slt_world_run(world, 10.0, 0.0) == SLT_OK, "run");
  // served at 0 and 1; two others leave at 1.5
  CHECK(shop.served == 2 && shop.gone == 2, "counts");
  CHECK(slt_process_wait(world, 1.0) == SLT_ERR_ARGUMENT, "not in a process");
  slt_world_free(world);
}

static void producer(SltWorld* world, void* user) {
  Shop* shop = user;
  for (int i = 0; i < 10; i++) {
    if (slt_process_put(world, shop->shelf, &shop->made) != SLT_OK) return;
    shop->made++;
  }
}

static void consumer(SltWorld* world, void* user) {
  Shop* shop = user;
  for (;;) {
    void* item = NULL;
    if (slt_process_get(world, shop->shelf, &item) != SLT_OK) break;
    CHECK(item == &shop->made, "item");
    shop->fetched++;
    if (slt_process_wait(world, 1.0) != SLT_OK) break;
  }
  shop->cancelled++;
  CHECK(slt_process_wait(world, 1.0) == SLT_ERR_CANCELLED, "no more waiting");
}

TEST(stores_with_room_for_three) {
  Shop shop = {0};
  SltWorld* world = NULL;
  CHECK(slt_world_create(NULL, &world) == SLT_OK, "create");
  CHECK(slt_store_create(world, "shelf", 3, &shop.shelf) == SLT_OK, "shelf");
  SltProcess process;
  CHECK(slt_process_start(world, 0.0, producer, &shop, NULL, NULL) == SLT_OK, "producer");
  CHECK(slt_process_start(world, 0.5, consumer, &shop, NULL, &process) == SLT_OK, "consumer");
  CHECK(slt_world_run(world, 0.25, 0.0) == SLT_OK, "run");
  CHECK(shop.made == 3 && slt_store_count(shop.shelf) == 3, "full");
  CHECK(slt_store_put(shop.shelf, NULL) == SLT_ERR_LIMIT, "full");
  CHECK(slt_world_run(world, 20.0, 0.0) == SLT_OK, "run on");
  CHECK(shop.made == 10 && shop.fetched == 10, "all");
  CHECK(slt_process_is_alive(world, process), "waits for more");
  CHECK(slt_process_cancel(world, process) == SLT_OK, "cancel");
  CHECK(slt_world_run(world, 21.0, 0.0) == SLT_OK, "run");
  CHECK(shop.cancelled == 1 && !slt_process_is_alive(world, process), "ended");
  CHECK(slt_process_start(world, 22.0, consumer, &shop, NULL, NULL) == SLT_OK, "another");
  CHECK(slt_world_run(world, 23.0, 0.0) == SLT_OK, "run");
  slt_world_free(world);
  CHECK(shop.cancelled == 2, "the end of the world cleans up");
}

static bool high(SltWorld* world, void* user) {
  (void)world;
  return ((Shop*)user)->level > 2.0;
}

static double above_four(SltWorld* world, void* user) {
  (void)world;
  return 4.0 - ((Shop*)user)->level;
}

static void watcher(SltWorld* world, void* user) {
  Shop* shop = user;
  CHECK(slt_process_until(world, high, shop) == SLT_OK, "until");
  shop->t_until = slt_world_time(world);
  CHECK(slt_process_until_event(world, above_four, shop) == SLT_OK, "event");
  shop->t_event = slt_world_time(world);
}

TEST(processes_wait_for_conditions_and_events) {
  static const char* const methods[] = {"literal", "dp54"};
  for (size_t i = 0; i < SLT_COUNT(methods); i++) {
    Shop shop = {0};
    double rate = 1.0;
    SltWorldOptions options = slt_world_options();
    options.method = methods[i];
    options.h_max = 0.5;
    SltWorld* world = NULL;
    CHECK(slt_world_create(&options, &world) == SLT_OK, "create");
    CHECK(slt_integrator_create(world, 1, &rate, &shop.level, "level", (SltTransaction){0}, NULL) ==
              SLT_OK,
          "level");
    CHECK(slt_process_start(world, 0.0, watcher, &shop, "watcher", NULL) == SLT_OK, "start");
    CHECK(slt_world_run(world, 10.0, 0.3) == SLT_OK, methods[i]);
    CHECK(shop.t_until > 2.0 && shop.t_until <= 2.51, methods[i]);
    CHECK_NEAR(shop.t_event, 4.0, 1e-12, 0.0);
    slt_world_free(world);
  }
}

static void sleeper(SltWorld* world, void* user) {
  int* count = user;
  double x = slt_world_time(world);  // a local that must survive the switches
  for (int i = 0; i < 3; i++) {
    if (slt_process_wait(world, 1.0) != SLT_OK) return;
    x += 1.0;
  }
  if (x == slt_world_time(world)) ++*count;
}

// the thread sanitizer knows 8128 stacks at most
#if defined(__SANITIZE_THREAD__)
#define SLEEPERS 4000
#else
#define SLEEPERS 20000
#endif

TEST(thousands_of_processes) {
  int count = 0;
  SltWorldOptions options = slt_world_options();
  options.stack_size = 16384;
  SltWorld* world = NULL;
  CHECK(slt_world_create(&options, &world) == SLT_OK, "create");
  for (int i = 0; i < SLEEPERS; i++) {
    CHECK(slt_process_start(world, 0.0, sleeper, &count, NULL, NULL) == SLT_OK, "start");
  }
  CHECK(slt_world_run(world, 10.0, 0.0) == SLT_OK, "run");
  CHECK(count == SLEEPERS, "all");
  for (int i = 0; i < 100; i++) {  // stacks are used again
    CHECK(slt_process_start(world, 11.0, sleeper, &count, NULL, NULL) == SLT_OK, "start");
  }
  CHECK(slt_world_run(world, 12.5, 0.0) == SLT_OK, "run");
  slt_world_free(world);
}

// ---- random numbers and statistics --------------------------------------------------------------

TEST(distributions) {
  SltRandom r;
  slt_random_init(&r, 42, 0);
  SltTally u = {0};
  SltTally e = {0};
  SltTally n = {0};
  SltTally l = {0};
  SltTally m = {0};
  static const double values[] = {1.0, 2.0, 10.0};
  static const double weights[] = {5.0, 0.0, 5.0};
  for (int i = 0; i < 200000; i++) {
    slt_tally_add(&u, slt_random_uniform(&r, 2.0, 4.0));
    slt_tally_add(&e, slt_random_exponential(&r, 3.0));
    slt_tally_add(&n, slt_random_normal(&r, -1.0, 2.0));
    slt_tally_add(&l, slt_random_lognormal(&r, 4.0, 2.0));
    slt_tally_add(&m, slt_random_empirical(&r, values, weights, 3));
  }
  const struct {
    const char* name;
    const SltTally* tally;
    double mean, deviation;
  } cases[] = {{"uniform", &u, 3.0, 2.0 / sqrt(12.0)},
               {"exponential", &e, 3.0, 3.0},
               {"normal", &n, -1.0, 2.0},
               {"lognormal", &l, 4.0, 2.0},
               {"empirical", &m, 5.5, 4.5}};
  FOR_CASES(c, cases) {
    SltSummary s = slt_tally_summary(c->tally, 0.95);
    CHECK_NEAR(s.mean, c->mean, 4.0 * c->deviation / sqrt(200000.0), 0.0);
    CHECK_NEAR(s.deviation, c->deviation, 0.0, 0.02);
    // independent observations: the half width of batch means is that of the sample
    CHECK_NEAR(s.half_width, 1.96 * c->deviation / sqrt(200000.0), 0.0, 0.45);
  }
  CHECK(m.least == 1.0 && m.greatest == 10.0, "empirical values");
  for (int i = 0; i < 1000; i++) {
    CHECK(slt_random_index(&r, 7) < 7, "index");
  }
}

TEST(student) {
  CHECK_NEAR(slt_student_quantile(0.975, 1.0), 12.706204736432095, 0.0, 1e-10);
  CHECK_NEAR(slt_student_quantile(0.975, 10.0), 2.2281388519649385, 0.0, 1e-10);
  CHECK_NEAR(slt_student_quantile(0.995, 31.0), 2.7440419192942698, 0.0, 1e-10);
  CHECK_NEAR(slt_student_quantile(0.05, 63.0), -1.669402221704388, 0.0, 1e-10);
  CHECK(slt_student_quantile(0.5, 3.0) == 0.0, "median");
}

TEST(levels) {
  SltLevel level = {0};
  slt_level_set(&level, 10.0, 2.0);
  slt_level_set(&level, 11.0, 4.0);
  slt_level_set(&level, 13.0, 0.0);
  SltSummary s = slt_level_summary(&level, 20.0, 0.95);
  CHECK_NEAR(s.mean, (2.0 + 8.0) / 10.0, 1e-15, 0.0);
  CHECK(s.least == 0.0 && s.greatest == 4.0, "range");
  SltLevel alternating = {0};
  for (int i = 0; i < 10000; i++) {
    slt_level_set(&alternating, i * 0.5, i % 2);
  }
  s = slt_level_summary(&alternating, 5000.0, 0.95);
  CHECK_NEAR(s.mean, 0.5, 1e-3, 0.0);
  CHECK(s.half_width >= 0.0 && s.half_width < 1e-3, "regular");
}

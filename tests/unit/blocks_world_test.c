// SPDX-License-Identifier: MIT
//
// Events, transactions, faults: what a world does when blocks do what they should not.
#include "blocks/blocks.h"
#include "blocks_messages.h"
#include "test.h"

static SltWorld* world_with(Messages* messages, const char* method, bool debug) {
  SltWorldOptions options = slt_world_options();
  options.on_message = keep_message;
  options.user = messages;
  options.method = method;
  options.debug = debug;
  options.max_chain = 1000;
  SltWorld* world = NULL;
  CHECK(slt_world_create(&options, &world) == SLT_OK, "create");
  return world;
}

static SltBlock schedule(SltWorld* world, SltBlockKind kind, double t, int32_t priority,
                         SltBlockFn* fn, void* user, const char* name) {
  SltBlock block;
  SltBlockSpec spec = {
      .kind = kind, .t = t, .priority = priority, .fn = fn, .user = user, .name = name};
  CHECK(slt_block_schedule(world, &spec, &block) == SLT_OK, name);
  return block;
}

TEST(options_are_checked) {
  SltWorld* world = NULL;
  SltWorldOptions options = slt_world_options();
  options.method = "no such";
  CHECK(slt_world_create(&options, &world) == SLT_ERR_ARGUMENT && !world, "method");
  options = slt_world_options();
  options.rtol = 0.0;
  CHECK(slt_world_create(&options, &world) == SLT_ERR_ARGUMENT, "rtol");
  options = (SltWorldOptions){0};
  CHECK(slt_world_create(&options, &world) == SLT_ERR_ARGUMENT, "cookie");
  CHECK(slt_world_create(NULL, &world) == SLT_OK, "defaults");
  CHECK(slt_world_run(world, -1.0, 0.0) == SLT_ERR_ARGUMENT, "past");
  CHECK(slt_world_set_method(world, "rk4") == SLT_ERR_NOT_FOUND, "fixed-step method");
  CHECK(slt_world_set_method(world, "dop853") == SLT_OK, "dop853");
  slt_world_free(world);
  slt_world_free(NULL);
}

static void count_up(SltWorld* world, void* user) {
  (void)world;
  ++*(int*)user;
}

static void cancel_self(SltWorld* world, void* user) {
  (void)slt_block_cancel(world, slt_block_current(world));
  ++*(int*)user;
}

TEST(cancelling) {
  Messages messages = {0};
  SltWorld* world = world_with(&messages, "literal", false);
  int calls = 0;
  SltBlock a = schedule(world, SLT_BLOCK_DISCRETE, 1.0, 0, count_up, &calls, "a");
  schedule(world, SLT_BLOCK_DISCRETE, 2.0, 0, count_up, &calls, "a");
  schedule(world, SLT_BLOCK_DISCRETE, 3.0, 0, count_up, &calls, "b");
  schedule(world, SLT_BLOCK_DISCRETE, 4.0, 0, cancel_self, &calls, "self");
  CHECK(slt_block_is_alive(world, a), "alive");
  CHECK(strcmp(slt_block_name(world, a), "a") == 0, "name");
  CHECK(slt_world_cancel(world, "a") == SLT_OK, "both of the name");
  CHECK(!slt_block_is_alive(world, a), "dead");
  CHECK(slt_block_cancel(world, a) == SLT_ERR_NOT_FOUND, "stale");
  CHECK(strcmp(messages.code, "W0904") == 0, "stale message");
  CHECK(slt_world_cancel(world, "nobody") == SLT_ERR_NOT_FOUND, "no such name");
  CHECK(strcmp(messages.code, "W0905") == 0, "no such name message");
  CHECK(slt_world_run(world, 10.0, 0.0) == SLT_OK, "run");
  CHECK(calls == 2, "calls");
  slt_world_free(world);
}

static void into_the_past(SltWorld* world, void* user) {
  (void)slt_world_call(world, slt_world_time(world) - 1.0, count_up, user, NULL);
}

TEST(scheduling_into_the_past_means_now) {
  Messages messages = {0};
  SltWorld* world = world_with(&messages, "literal", false);
  int calls = 0;
  schedule(world, SLT_BLOCK_DISCRETE, 5.0, 0, into_the_past, &calls, "late");
  CHECK(slt_world_run(world, 5.0, 0.0) == SLT_OK, "run");
  CHECK(calls == 1 && strcmp(messages.code, "W0901") == 0, "runs now, with a warning");
  CHECK(slt_world_call(world, (double)NAN, count_up, &calls, NULL) == SLT_ERR_ARGUMENT, "NaN");
  slt_world_free(world);
}

static void again(SltWorld* world, void* user) {
  ++*(int*)user;
  (void)slt_block_hold(world, 0.0, again, user, NULL);
}

TEST(endless_loop_without_delay) {
  Messages messages = {0};
  SltWorld* world = world_with(&messages, "literal", false);
  int calls = 0;
  schedule(world, SLT_BLOCK_DISCRETE, 2.0, 0, again, &calls, "ping");
  CHECK(slt_world_run(world, 10.0, 0.0) == SLT_ERR_LIMIT, "stops");
  SltRunError error = slt_world_error(world);
  CHECK(error.status == SLT_ERR_LIMIT && error.t == 2.0, "error");
  CHECK(strstr(error.message, "'ping'") && strstr(error.rendered, "E0903"), "names the block");
  CHECK(slt_world_run(world, 11.0, 0.0) == SLT_ERR_LIMIT, "stays failed");
  CHECK(slt_world_reset(world, 0.0) == SLT_OK, "reset");
  CHECK(slt_world_run(world, 1.0, 0.0) == SLT_OK, "lives again");
  slt_world_free(world);
}

TEST(many_events_at_one_instant) {
  Messages messages = {0};
  SltWorld* world = world_with(&messages, "literal", false);
  int calls = 0;
  for (int i = 0; i < 1100000; i++) {
    (void)slt_world_call(world, 1.0, count_up, &calls, NULL);
  }
  CHECK(slt_world_run(world, 2.0, 0.0) == SLT_OK, "run");
  CHECK(calls == 1100000 && strcmp(messages.code, "W0908") == 0, "all of them, with a note");
  slt_world_free(world);
}

static void nested(SltWorld* world, void* user) {
  *(int*)user = slt_world_run(world, 100.0, 1.0);
  CHECK(slt_world_reset(world, 0.0) == SLT_ERR_ARGUMENT, "reset inside");
}

TEST(nested_run_is_refused) {
  Messages messages = {0};
  SltWorld* world = world_with(&messages, "literal", false);
  int status = 0;
  schedule(world, SLT_BLOCK_DISCRETE, 1.0, 0, nested, &status, "nested");
  CHECK(slt_world_run(world, 2.0, 0.0) == SLT_OK, "run");
  CHECK(status == SLT_ERR_ARGUMENT && strcmp(messages.code, "W0909") == 0, "refused");
  slt_world_free(world);
}

static void write_nan(SltWorld* world, void* user) {
  ((double*)user)[1] = slt_world_time(world) > 0.5 ? (double)NAN : 1.0;
}

TEST(not_a_number) {
  static const char* const methods[] = {"literal", "dp54"};
  for (size_t i = 0; i < SLT_COUNT(methods); i++) {
    Messages messages = {0};
    SltWorld* world = world_with(&messages, methods[i], false);
    double x[2] = {0.0, 0.0};
    CHECK(slt_integrator_create(world, 1, &x[1], &x[0], "x", (SltTransaction){0}, NULL) == SLT_OK,
          "create");
    schedule(world, SLT_BLOCK_CONTINUOUS, 0.0, 1, write_nan, x, "nan");
    CHECK(slt_world_run(world, 1.0, 0.01) == SLT_ERR_NOT_FINITE, methods[i]);
    CHECK(strcmp(messages.code, "E0901") == 0, methods[i]);
    slt_world_free(world);
  }
}

static void meddle(SltWorld* world, void* user) {
  CHECK(slt_world_call(world, 1.0, count_up, user, NULL) == SLT_ERR_ARGUMENT, "refused");
}

TEST(continuous_blocks_do_not_change_the_system) {
  Messages messages = {0};
  SltWorld* world = world_with(&messages, "literal", false);
  int calls = 0;
  schedule(world, SLT_BLOCK_CONTINUOUS, 0.0, 1, meddle, &calls, "meddler");
  CHECK(slt_world_run(world, 1.0, 0.1) == SLT_OK, "run");
  CHECK(messages.count == 1 && strcmp(messages.code, "W0903") == 0, "one warning");
  CHECK(strstr(messages.text, "meddler"), "by name");
  slt_world_free(world);
}

static void not_idempotent(SltWorld* world, void* user) {
  (void)world;
  *(double*)user += 1.0;
}

TEST(debug_mode_finds_blocks_that_are_not_idempotent) {
  Messages messages = {0};
  SltWorld* world = world_with(&messages, "literal", true);
  double counter = 0.0;
  double x[2] = {0.0, 1.0};
  CHECK(slt_world_register(world, &counter, sizeof counter) == SLT_OK, "register");
  CHECK(slt_integrator_create(world, 1, &x[1], &x[0], "x", (SltTransaction){0}, NULL) == SLT_OK,
        "create");
  schedule(world, SLT_BLOCK_CHECK, 0.0, -1, not_idempotent, &counter, "counter");
  CHECK(slt_world_run(world, 0.3, 0.1) == SLT_OK, "run");
  CHECK(strcmp(messages.code, "W0907") == 0 && strstr(messages.text, "counter"), "found");
  CHECK_NEAR(counter, 4.0, 0.0, 0.0);  // the repetition leaves no trace
  slt_world_free(world);
}

// ---- transactions -------------------------------------------------------------------------------

static int destroyed;

static void destroy(void* data) {
  destroyed++;
  free(data);
}

static void end_own(SltWorld* world, void* user) {
  double* x = user;
  CHECK(slt_transaction_end(world, slt_transaction_current(world)) == SLT_OK, "end");
  x[0] = -1.0;  // still there until the block returns
}

TEST(a_block_ends_its_own_transaction) {
  Messages messages = {0};
  SltWorld* world = world_with(&messages, "literal", false);
  destroyed = 0;
  SltTransaction transactions[10];
  for (int i = 0; i < 10; i++) {
    double* x = calloc(2, sizeof *x);
    x[1] = 1.0;
    CHECK(slt_transaction_create(world, x, destroy, &transactions[i]) == SLT_OK, "create");
    SltIntegrator integrator;
    CHECK(slt_integrator_create(world, 1, &x[1], &x[0], "x", transactions[i], &integrator) ==
              SLT_OK,
          "integrator");
    SltBlockSpec spec = {.t = 0.5 + i, .fn = end_own, .user = x, .transaction = transactions[i]};
    CHECK(slt_block_schedule(world, &spec, NULL) == SLT_OK, "block");
    spec.t = 100.0;
    CHECK(slt_block_schedule(world, &spec, NULL) == SLT_OK, "never");
  }
  CHECK(slt_world_run(world, 5.0, 0.1) == SLT_OK, "run");
  CHECK(destroyed == 5 && slt_transaction_count(world) == 5, "half of them");
  CHECK(!slt_transaction_is_alive(world, transactions[0]), "dead");
  CHECK(slt_transaction_data(world, transactions[0]) == NULL, "no data");
  CHECK(slt_transaction_end(world, transactions[0]) == SLT_ERR_NOT_FOUND, "stale");
  double* x = slt_transaction_data(world, transactions[9]);
  CHECK_NEAR(x[0], 5.0, 1e-12, 0.0);
  CHECK(slt_world_statistics(world).pending == 10, "two each");
  slt_world_free(world);
  CHECK(destroyed == 10, "the world ends the rest");
}

// ---- out of memory ------------------------------------------------------------------------------

static SltStatus small_run(TestAllocator* memory) {
  SltWorldOptions options = slt_world_options();
  options.allocator = test_allocator(memory);
  SltWorld* world = NULL;
  SltStatus status = slt_world_create(&options, &world);
  double x[2] = {0.0, 1.0};
  int calls = 0;
  SltResource* resource = NULL;
  SltTransaction transaction = {0};
  if (status >= 0) status = slt_transaction_create(world, NULL, NULL, &transaction);
  if (status >= 0) {
    status = slt_integrator_create(world, 1, &x[1], &x[0], "x", transaction, NULL);
  }
  if (status >= 0) status = slt_resource_create(world, "r", 1, &resource);
  for (int i = 0; status >= 0 && i < 100; i++) {
    SltBlockSpec spec = {.t = i, .fn = count_up, .user = &calls, .name = "n"};
    status = slt_block_schedule(world, &spec, NULL);
    SltRequestSpec request = {.fn = count_up, .user = &calls, .transaction = transaction};
    if (status >= 0) status = slt_resource_request(resource, &request, NULL);
  }
  if (status >= 0) status = slt_world_run(world, 50.0, 0.5);
  slt_world_free(world);
  return status;
}

TEST(every_allocation_may_fail) {
  TestAllocator whole = {0};
  CHECK(small_run(&whole) == SLT_OK && whole.live_blocks == 0, "whole");
  for (size_t n = 1; n <= whole.requests; n++) {
    TestAllocator memory = {.fail_at = n, .fail_rest = true};
    CHECK(small_run(&memory) == SLT_ERR_NOMEM, "fails");
    CHECK(memory.live_blocks == 0 && memory.live_bytes == 0, "frees");
  }
}

// SPDX-License-Identifier: MIT
//
// The room of events: the list of what may fire, repetitions, time events.
#include "engine/run/run.h"
#include "test.h"

enum { AUTOMATA = 5, VALUES = 4 };

/// A run with automata of one transition each: number i sets value `writes[i]`, and nothing else.
typedef struct Bench {
  EngSim sim;
  Model model;
  ModelAutomaton automata[AUTOMATA];
  ModelState states[AUTOMATA][2];
  ModelStateText text;
  ModelTransition transitions[AUTOMATA];
  ModelAction actions[AUTOMATA];
  ModelShape constant;
  ModelVar vars[VALUES];
  ModelSchedule schedules[AUTOMATA];
  EngSchedule runs[AUTOMATA];
  BaseDue due[AUTOMATA];
  EngTransition edges[AUTOMATA];
  uint32_t state[AUTOMATA];
  uint8_t computed[VALUES];
  double env[2 * VALUES];
} Bench;

static Bench* bench_open(const uint32_t* ranks, const uint32_t* writes) {
  Bench* b = calloc(1, sizeof *b);
  CHECK(b != NULL, "memory");
  for (uint32_t i = 0; i < AUTOMATA; i++) {
    b->actions[i] = (ModelAction){
        .var = writes[i], .env = writes[i], .rank = i, .value = {.shape = &b->constant}};
    b->states[i][0].written = &b->text;
    b->states[i][1].written = &b->text;
    b->automata[i] = (ModelAutomaton){.states = b->states[i], .state_count = 2, .rank = ranks[i]};
    b->transitions[i] =
        (ModelTransition){.automaton = i, .to = 1, .action_begin = i, .action_count = 1};
  }
  for (uint32_t v = 0; v < VALUES; v++) {
    b->vars[v] = (ModelVar){.kind = MODEL_VAR_DISCRETE, .env = v, .slots = 1};
  }
  b->model = (Model){.automata = b->automata,
                     .automaton_count = AUTOMATA,
                     .transitions = b->transitions,
                     .transition_count = AUTOMATA,
                     .actions = b->actions,
                     .action_count = AUTOMATA,
                     .vars = b->vars,
                     .var_count = VALUES,
                     .schedules = b->schedules,
                     .schedule_count = AUTOMATA,
                     .env_count = VALUES};
  b->sim.model = &b->model;
  b->sim.state = b->state;
  b->sim.env = b->env;
  b->sim.values.computed = b->computed;
  b->sim.instant.transitions = b->edges;
  b->sim.instant.schedules = b->runs;
  b->sim.instant.due = b->due;
  b->sim.memory.inner = base_allocator(NULL);
  b->sim.options.allocator = base_owner_allocator(&b->sim.memory);
  CHECK(events_create(&b->sim) == SLT_OK, "created");
  return b;
}

static void bench_close(Bench* b) {
  base_owner_free(&b->sim.memory);
  free(b);
}

static const uint32_t own_order[AUTOMATA] = {0, 1, 2, 3, 4};

TEST(rounds_in_the_order_of_the_text) {
  const uint32_t ranks[AUTOMATA] = {4, 3, 2, 1, 0};
  const uint32_t writes[AUTOMATA] = {0, 0, 1, 0, 2};
  Bench* b = bench_open(ranks, writes);
  EngSim* sim = &b->sim;
  for (uint32_t n = 0; n < AUTOMATA; n++) {
    CHECK(events_nth_in_text(sim, (EngList){NULL, 0}, n) == AUTOMATA - 1 - n, "order");
  }
  events_enabled_clear(sim);
  for (uint32_t a = 0; a < AUTOMATA; a++) {
    events_enabled_put(sim, a, a);
  }
  // 4 and 3 and 2 write different values; 1 and 0 write what 3 does, and wait
  const uint32_t rounds[3][3] = {{4, 3, 2}, {1}, {0}};
  const uint32_t counts[3] = {3, 1, 1};
  for (uint32_t round = 0; round < 3; round++) {
    uint32_t count = events_enabled_choose(sim, AUTOMATA);
    CHECK(count == counts[round], "size of a round");
    for (uint32_t i = 0; i < count; i++) {
      CHECK(sim->events.fired[i] == rounds[round][i], "who fires");
      events_enabled_put(sim, sim->events.fired[i], MODEL_NONE);
    }
  }
  CHECK(events_enabled_choose(sim, AUTOMATA) == 0, "nothing is left");
  bench_close(b);
}

TEST(too_many_are_told) {
  const uint32_t writes[AUTOMATA] = {0, 1, 2, 3, 3};
  Bench* b = bench_open(own_order, writes);
  events_enabled_clear(&b->sim);
  for (uint32_t a = 0; a < AUTOMATA; a++) {
    events_enabled_put(&b->sim, a, a);
  }
  CHECK(events_enabled_choose(&b->sim, 2) > 2, "more than two");
  CHECK(events_enabled_choose(&b->sim, AUTOMATA) == 4, "the marks were taken away again");
  bench_close(b);
}

TEST(keys_are_found_again) {
  const uint32_t writes[AUTOMATA] = {0, 0, 0, 0, 0};
  Bench* b = bench_open(own_order, writes);
  BaseKeys* seen = &b->sim.events.path;
  const uint32_t sizes[] = {3, 16, 17, 5000, 40};
  for (uint32_t turn = 0; turn < SLT_COUNT(sizes); turn++) {
    const BaseKey* again = NULL;
    base_keys_clear(seen);
    for (uint64_t i = 0; i < sizes[turn]; i++) {
      CHECK(eng_keys_add(&b->sim, seen, i * i * 977u + 5u, i, &again) == SLT_OK && !again, "new");
    }
    for (uint64_t i = 0; i < sizes[turn]; i++) {
      CHECK(eng_keys_add(&b->sim, seen, i * i * 977u + 5u, 0, &again) == SLT_OK, "again");
      CHECK(again && again->note == i, "with its number");
    }
    CHECK(seen->count == sizes[turn], "each once");
  }
  bench_close(b);
}

TEST(keys_of_modes_come_back) {
  const uint32_t writes[AUTOMATA] = {0, 0, 0, 0, 0};
  Bench* b = bench_open(own_order, writes);
  for (uint32_t a = 0; a < AUTOMATA; a++) {
    b->states[a][0].test_env = b->states[a][1].test_env = MODEL_NONE;
    b->automata[a].entry_env = MODEL_NONE;
  }
  events_set_state(&b->sim, 2, 1);
  uint64_t one = b->sim.events.mode_key;
  events_set_state(&b->sim, 4, 1);
  CHECK(b->sim.events.mode_key != one, "another mode");
  events_set_state(&b->sim, 4, 0);
  CHECK(b->sim.events.mode_key == one, "the same mode");
  events_set_state(&b->sim, 2, 0);
  CHECK(b->sim.events.mode_key == 0, "where it began");
  bench_close(b);
}

TEST(ticks_do_not_drift) {
  const uint32_t writes[AUTOMATA] = {0, 0, 0, 0, 0};
  Bench* b = bench_open(own_order, writes);
  b->model.schedule_count = 3;
  const int32_t priorities[] = {0, 5, 0};
  for (uint32_t i = 0; i < 3; i++) {
    b->schedules[i] = (ModelSchedule){.periodic = true, .count = -1, .priority = priorities[i]};
    b->runs[i] = (EngSchedule){.start = 0.3, .period = 0.1, .next = 0.3, .active = true};
    b->due[i] = (BaseDue){0.3, i};
  }
  double t = 0.3;
  for (uint32_t k = 0; k < 100000; k++) {
    CHECK(eng_queue_take(&b->sim, t) == SLT_OK && b->sim.events.due_count == 3, "due");
    CHECK(b->sim.events.due[0] == 1 && b->sim.events.due[1] == 0 && b->sim.events.due[2] == 2,
          "by priority, then by the text");
    t = b->sim.core.calendar.t_schedule;
    CHECK(t == 0.3 + (double)(k + 1) * 0.1, "one product and one sum");
  }
  bench_close(b);
}

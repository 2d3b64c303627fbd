// SPDX-License-Identifier: MIT
//
// The recorder against a made-up run: x(t) = t, a counter n, and an automaton, with instants where
// the test wants them. The recorder is compiled into this file with its run replaced.
#include "test.h"

#include <saltus/saltus_rt.h>

#define slt_sim_find             fake_find
#define slt_sim_unit             fake_unit
#define slt_sim_start            fake_start
#define slt_sim_advance          fake_advance
#define slt_sim_advance_step     fake_advance_step
#define slt_sim_time             fake_time
#define slt_sim_get              fake_get
#define slt_sim_get_before       fake_get_before
#define slt_sim_mode_name        fake_mode_name
#define slt_sim_mode_name_before fake_mode_name_before
#define slt_sim_column_count     fake_column_count
#define slt_sim_column_name      fake_column_name
#define slt_sim_automaton_count  fake_automaton_count
#define slt_sim_automaton_name   fake_automaton_name
#define slt_sim_is_cancelled     fake_is_cancelled
#define slt_sim_on_event         fake_on_event

/// What happens at one time.
typedef struct Instant {
  double t;
  bool counts;       // n goes up by one
  bool switches;     // the automaton changes its state
  bool implicit;     // an `if` switches
  bool mythical;     // a record of a discarded candidate
  SltStatus status;  // 0: an event; SLT_END or an error instead
} Instant;

struct SltSim {
  double t, t_start;
  const Instant* instants;
  uint32_t instant_count, next;
  double n, n_before;
  bool on, on_before;
  double step;  // of advance_step
  SltStatus start_status;
  SltEventFn* on_event;
  void* user;
};

SltStatus fake_find(const SltSim* sim, const char* name, SltQuantity* out);
SltStatus fake_unit(const SltSim* sim, SltQuantity quantity, char* out, size_t size);
SltStatus fake_start(SltSim* sim);
SltStatus fake_advance(SltSim* sim, double t_stop, double* reached);
SltStatus fake_advance_step(SltSim* sim, double t_stop, double* reached);
double fake_time(const SltSim* sim);
bool fake_is_cancelled(const SltSim* sim);
double fake_get(SltSim* sim, SltQuantity quantity);
double fake_get_before(SltSim* sim, SltQuantity quantity);
const char* fake_mode_name(const SltSim* sim, SltQuantity quantity);
const char* fake_mode_name_before(const SltSim* sim, SltQuantity quantity);
uint32_t fake_column_count(const SltSim* sim);
const char* fake_column_name(const SltSim* sim, uint32_t column);
uint32_t fake_automaton_count(const SltSim* sim);
const char* fake_automaton_name(const SltSim* sim, uint32_t automaton);
void fake_on_event(SltSim* sim, SltEventFn* fn, void* user);

#include "record/recorder.c"  // NOLINT(bugprone-suspicious-include)

static const char* const column_names[] = {"x", "n"};

SltStatus fake_find(const SltSim* sim, const char* name, SltQuantity* out) {
  (void)sim;
  for (uint32_t i = 0; i < 2; i++) {
    if (strcmp(name, column_names[i]) != 0) continue;
    *out = (SltQuantity){.kind = SLT_KIND_VARIABLE, .index = i};
    return SLT_OK;
  }
  if (strcmp(name, "time") == 0) {
    *out = (SltQuantity){.kind = SLT_KIND_TIME};
    return SLT_OK;
  }
  if (strcmp(name, "main.state") != 0) return SLT_ERR_NOT_FOUND;
  *out = (SltQuantity){.kind = SLT_KIND_MODE};
  return SLT_OK;
}

static void tell(SltSim* sim, SltEvent event) {
  event.t = sim->t;
  event.slope = (double)NAN;
  if (sim->on_event) sim->on_event(sim->user, &event);
}

SltStatus fake_unit(const SltSim* sim, SltQuantity quantity, char* out, size_t size) {
  (void)sim;
  (void)quantity;
  if (size) out[0] = '\0';
  return SLT_OK;
}

SltStatus fake_start(SltSim* sim) {
  sim->t = sim->t_start;
  tell(sim, (SltEvent){.kind = SLT_EVENT_INITIAL, .automaton = "main", .from = "off", .to = "off"});
  return sim->start_status;
}

static SltStatus happen(SltSim* sim) {
  const Instant* now = &sim->instants[sim->next++];
  sim->t = now->t;
  sim->n_before = sim->n;
  sim->on_before = sim->on;
  if (now->status < 0) return now->status;
  if (now->counts) sim->n += 1.0;
  SltEvent event = {.kind = SLT_EVENT_STATE, .automaton = "main", .from = "off", .to = "on"};
  if (now->switches) {
    sim->on = !sim->on;
    tell(sim, event);
  } else if (now->implicit) {
    event.automaton = "if@1:1";
    tell(sim, event);
  } else if (now->mythical) {
    event.event_class = SLT_CLASS_MYTHICAL;
    tell(sim, event);
  } else {
    event.to = event.from;
    tell(sim, event);
  }
  return now->status == SLT_OK ? SLT_EVENT : now->status;
}

SltStatus fake_advance(SltSim* sim, double t_stop, double* reached) {
  SltStatus status = SLT_OK;
  if (sim->next < sim->instant_count && sim->instants[sim->next].t <= t_stop) {
    status = happen(sim);
  } else {
    CHECK(t_stop >= sim->t, "time goes on");
    sim->t = t_stop;
  }
  if (reached) *reached = sim->t;
  return status;
}

SltStatus fake_advance_step(SltSim* sim, double t_stop, double* reached) {
  return fake_advance(sim, fmin(t_stop, sim->t + sim->step), reached);
}

bool fake_is_cancelled(const SltSim* sim) {
  (void)sim;
  return false;
}

double fake_time(const SltSim* sim) {
  return sim->t;
}

double fake_get(SltSim* sim, SltQuantity quantity) {
  return quantity.index == 0 ? sim->t : sim->n;
}

double fake_get_before(SltSim* sim, SltQuantity quantity) {
  return quantity.index == 0 ? sim->t : sim->n_before;
}

const char* fake_mode_name(const SltSim* sim, SltQuantity quantity) {
  (void)quantity;
  return sim->on ? "on" : "off";
}

const char* fake_mode_name_before(const SltSim* sim, SltQuantity quantity) {
  (void)quantity;
  return sim->on_before ? "on" : "off";
}

uint32_t fake_column_count(const SltSim* sim) {
  (void)sim;
  return 2;
}

const char* fake_column_name(const SltSim* sim, uint32_t column) {
  (void)sim;
  return column_names[column];
}

uint32_t fake_automaton_count(const SltSim* sim) {
  (void)sim;
  return 1;
}

const char* fake_automaton_name(const SltSim* sim, uint32_t automaton) {
  (void)sim;
  (void)automaton;
  return "main";
}

void fake_on_event(SltSim* sim, SltEventFn* fn, void* user) {
  sim->on_event = fn;
  sim->user = user;
}

// ---- the tests ----------------------------------------------------------------------------------

typedef struct Output {
  char text[8192];
  size_t length;
  size_t limit;  // fail when more is written; 0: never
} Output;

static SltStatus collect(void* user, const char* data, size_t length) {
  Output* out = user;
  if (out->limit && out->length + length > out->limit) return SLT_ERR_IO;
  CHECK(out->length + length < sizeof out->text, "room");
  memcpy(out->text + out->length, data, length);
  out->length += length;
  out->text[out->length] = '\0';
  return SLT_OK;
}

/// Record up to `t_end` and compare the rows; the header is left out of `want`.
static void check_rows(SltSim sim, SltRecorderOptions options, double t_end, SltStatus want_status,
                       const char* want, const char* name) {
  Output out = {.length = 0};
  SltRecorder* recorder = NULL;
  options.rows = (SltWriter){collect, &out};
  CHECK(slt_recorder_create(&sim, &options, &recorder, NULL) == SLT_OK, name);
  SltStatus status = slt_recorder_run(recorder, t_end);
  slt_recorder_free(recorder);
  const char* rows = strchr(out.text, '\n');
  CHECK(rows != NULL, name);
  CHECK_STR(str_from_c(rows + 1), want, name);
  CHECK(status == want_status, name);
}

static SltRecorderOptions every(double step) {
  SltRecorderOptions options = slt_recorder_options();
  options.every = step;
  return options;
}

TEST(rows_stand_on_the_grid) {
  check_rows((SltSim){0}, every(0.25), 1.0, SLT_OK,
             "0,0,0\n0.25,0.25,0\n0.5,0.5,0\n0.75,0.75,0\n1,1,0\n", "quarters");
  check_rows((SltSim){0}, every(0.4), 1.0, SLT_OK, "0,0,0\n0.4,0.4,0\n0.8,0.8,0\n1,1,0\n",
             "the end is always there");
  check_rows((SltSim){0}, every(5.0), 1.0, SLT_OK, "0,0,0\n1,1,0\n", "coarse");
  check_rows((SltSim){.t_start = 2.0}, every(0.5), 3.0, SLT_OK, "2,2,0\n2.5,2.5,0\n3,3,0\n",
             "from the start of the run");
  check_rows((SltSim){0}, every(0.1), 0.30000000000000004, SLT_OK,
             "0,0,0\n0.1,0.1,0\n0.2,0.2,0\n0.30000000000000004,0.30000000000000004,0\n",
             "computed, not accumulated");
  check_rows((SltSim){0}, every(0.1), 0.3, SLT_OK, "0,0,0\n0.1,0.1,0\n0.2,0.2,0\n0.3,0.3,0\n",
             "a point that differs from the end by rounding is the end");
  SltRecorderOptions samples = slt_recorder_options();
  samples.samples = 5;
  check_rows((SltSim){0}, samples, 7.0, SLT_OK,
             "0,0,0\n1.4,1.4,0\n2.8,2.8,0\n4.2,4.2,0\n5.6,5.6,0\n7,7,0\n", "samples");
  check_rows((SltSim){.t_start = 1.0}, samples, 1.0, SLT_OK, "1,1,0\n", "no span at all");
}

/// How many rows an instant at 0.3 gets under each of the four rules, in the order of the enum.
static void check_instant(Instant instant, const bool two[4], const char* jump, const char* name) {
  for (int rule = 0; rule < 4; rule++) {
    SltRecorderOptions options = every(0.5);
    options.event_rows = (SltEventRows)rule;
    const char* after = instant.counts ? "0.5,0.5,1\n1,1,1\n" : "0.5,0.5,0\n1,1,0\n";
    char want[200];
    snprintf(want, sizeof want, "0,0,0\n%s%s", two[rule] ? jump : "", after);
    check_rows((SltSim){.instants = &instant, .instant_count = 1}, options, 1.0, SLT_OK, want,
               name);
  }
}

TEST(instants_give_rows_by_rule) {
  static const char same[] = "0.3,0.3,0\n0.3,0.3,0\n";
  static const char jump[] = "0.3,0.3,0\n0.3,0.3,1\n";
  // changes, modes, all, none
  check_instant((Instant){.t = 0.3, .counts = true}, (bool[]){true, true, true, false}, jump,
                "a column");
  check_instant((Instant){.t = 0.3, .switches = true}, (bool[]){false, true, true, false}, same,
                "the mode");
  check_instant((Instant){.t = 0.3, .implicit = true}, (bool[]){false, false, true, false}, same,
                "a switch in an equation");
  check_instant((Instant){.t = 0.3, .mythical = true}, (bool[]){false, false, true, false}, same,
                "a candidate");
}

TEST(instants_on_the_grid_double_nothing) {
  const Instant grid[] = {{.t = 0.5, .counts = true}};
  check_rows((SltSim){.instants = grid, .instant_count = 1}, every(0.5), 1.0, SLT_OK,
             "0,0,0\n0.5,0.5,0\n0.5,0.5,1\n1,1,1\n", "on a point");
  const Instant silent[] = {{.t = 0.5}};
  check_rows((SltSim){.instants = silent, .instant_count = 1}, every(0.5), 1.0, SLT_OK,
             "0,0,0\n0.5,0.5,0\n1,1,0\n", "one that changes nothing leaves the point");
  const Instant end[] = {{.t = 1.0, .counts = true}};
  check_rows((SltSim){.instants = end, .instant_count = 1}, every(0.5), 1.0, SLT_OK,
             "0,0,0\n0.5,0.5,0\n1,1,0\n1,1,1\n", "at the end");
  const Instant start[] = {{.t = 0.0, .counts = true}};
  check_rows((SltSim){.instants = start, .instant_count = 1}, every(0.5), 1.0, SLT_OK,
             "0,0,0\n0,0,1\n0.5,0.5,1\n1,1,1\n", "just after the start");
  const Instant twice[] = {{.t = 0.2, .counts = true}, {.t = 0.2, .counts = true}};
  check_rows((SltSim){.instants = twice, .instant_count = 2}, every(1.0), 1.0, SLT_OK,
             "0,0,0\n0.2,0.2,0\n0.2,0.2,1\n0.2,0.2,2\n1,1,2\n", "twice at one time");
  const Instant near[] = {{.t = 0.3, .counts = true}};
  check_rows((SltSim){.instants = near, .instant_count = 1}, every(0.1), 0.4, SLT_OK,
             "0,0,0\n0.1,0.1,0\n0.2,0.2,0\n0.3,0.3,0\n0.3,0.3,1\n0.4,0.4,1\n",
             "3 * 0.1 is 0.3 but for rounding");
}

TEST(the_last_row_is_where_the_run_ended) {
  const Instant stop[] = {{.t = 0.7, .status = SLT_END}};
  check_rows((SltSim){.instants = stop, .instant_count = 1}, every(0.5), 1.0, SLT_END,
             "0,0,0\n0.5,0.5,0\n0.7,0.7,0\n", "stop");
  const Instant change[] = {{.t = 0.7, .counts = true, .status = SLT_END}};
  check_rows((SltSim){.instants = change, .instant_count = 1}, every(0.5), 1.0, SLT_END,
             "0,0,0\n0.5,0.5,0\n0.7,0.7,0\n0.7,0.7,1\n", "stop with a change");
  const Instant fail[] = {{.t = 0.7, .status = SLT_ERR_NOT_FINITE}};
  check_rows((SltSim){.instants = fail, .instant_count = 1}, every(0.5), 1.0, SLT_ERR_NOT_FINITE,
             "0,0,0\n0.5,0.5,0\n0.7,0.7,0\n", "failure");
  const Instant cancel[] = {{.t = 0.5, .status = SLT_ERR_CANCELLED}};
  check_rows((SltSim){.instants = cancel, .instant_count = 1}, every(0.25), 1.0, SLT_ERR_CANCELLED,
             "0,0,0\n0.25,0.25,0\n0.5,0.5,0\n", "cancel");
  check_rows((SltSim){.start_status = SLT_END}, every(0.5), 1.0, SLT_END, "0,0,0\n",
             "stopped at once");
  check_rows((SltSim){.start_status = SLT_ERR_STRUCTURE}, every(0.5), 1.0, SLT_ERR_STRUCTURE, "",
             "never started");
  check_rows((SltSim){.t_start = 3.0}, every(0.5), 1.0, SLT_ERR_ARGUMENT, "3,3,0\n",
             "an end before the start");
}

TEST(all_steps) {
  SltRecorderOptions options = slt_recorder_options();
  options.all_steps = true;
  const Instant counts[] = {{.t = 0.5, .counts = true}};
  check_rows((SltSim){.step = 0.375, .instants = counts, .instant_count = 1}, options, 1.0, SLT_OK,
             "0,0,0\n0.375,0.375,0\n0.5,0.5,0\n0.5,0.5,1\n0.875,0.875,1\n1,1,1\n", "steps");
}

TEST(a_run_in_pieces_keeps_its_grid) {
  SltSim sim = {0};
  Output out = {.length = 0};
  SltRecorderOptions options = every(0.4);
  options.rows = (SltWriter){collect, &out};
  SltRecorder* recorder = NULL;
  CHECK(slt_recorder_create(&sim, &options, &recorder, NULL) == SLT_OK, "create");
  CHECK(slt_recorder_run(recorder, 0.5) == SLT_OK, "first");
  CHECK(slt_recorder_run(recorder, 1.0) == SLT_OK, "second");
  CHECK_STR(str_from_c(out.text), "time,x,n\n0,0,0\n0.4,0.4,0\n0.5,0.5,0\n0.8,0.8,0\n1,1,0\n",
            "rows");
  slt_recorder_free(recorder);
}

TEST(names_choose_columns) {
  SltSim sim = {0};
  Output out = {.length = 0};
  const char* names[] = {"main.state", "time", "x"};
  SltRecorderOptions options = every(1.0);
  options.names = names;
  options.name_count = 3;
  options.rows = (SltWriter){collect, &out};
  const Instant switches[] = {{.t = 0.5, .switches = true}};
  sim.instants = switches;
  sim.instant_count = 1;
  SltRecorder* recorder = NULL;
  CHECK(slt_recorder_create(&sim, &options, &recorder, NULL) == SLT_OK, "create");
  CHECK(slt_recorder_run(recorder, 1.0) == SLT_OK, "run");
  CHECK_STR(str_from_c(out.text), "time,main.state,x\n0,off,0\n0.5,off,0.5\n0.5,on,0.5\n1,on,1\n",
            "rows");
  slt_recorder_free(recorder);

  const char* bad = NULL;
  names[2] = "y";
  recorder = NULL;
  CHECK(slt_recorder_create(&sim, &options, &recorder, &bad) == SLT_ERR_NOT_FOUND, "unknown");
  CHECK(bad == names[2] && !recorder, "which");
}

TEST(options_are_checked) {
  SltSim sim = {0};
  SltRecorder* recorder = NULL;
  SltRecorderOptions options = slt_recorder_options();
  options.cookie = 0;
  CHECK(slt_recorder_create(&sim, &options, &recorder, NULL) == SLT_ERR_ARGUMENT, "cookie");
  const double steps[] = {0.0, -1.0, (double)INFINITY};
  for (size_t i = 0; i < SLT_COUNT(steps); i++) {
    options = every(steps[i]);
    CHECK(slt_recorder_create(&sim, &options, &recorder, NULL) == SLT_ERR_ARGUMENT, "every");
  }
  options = slt_recorder_options();
  options.samples = 0;
  CHECK(slt_recorder_create(&sim, &options, &recorder, NULL) == SLT_ERR_ARGUMENT, "samples");
  options = every(1e-300);
  CHECK(slt_recorder_create(&sim, &options, &recorder, NULL) == SLT_OK, "tiny");
  CHECK(slt_recorder_run(recorder, 1.0) == SLT_ERR_ARGUMENT, "too many points to number");
  slt_recorder_free(recorder);
  slt_recorder_free(NULL);
  CHECK(slt_recorder_run(NULL, 1.0) == SLT_ERR_ARGUMENT, "NULL");
  CHECK(slt_recorder_table(NULL) == NULL, "NULL");
}

TEST(kept_rows_have_the_states) {
  SltSim sim = {0};
  SltRecorderOptions options = every(1.0);
  options.keep = true;
  const Instant switches[] = {{.t = 0.5, .switches = true}};
  sim.instants = switches;
  sim.instant_count = 1;
  SltRecorder* recorder = NULL;
  CHECK(slt_recorder_create(&sim, &options, &recorder, NULL) == SLT_OK, "create");
  CHECK(slt_recorder_run(recorder, 1.0) == SLT_OK, "run");
  const SltTable* table = slt_recorder_table(recorder);
  CHECK(slt_table_row_count(table) == 4 && slt_table_column_count(table) == 4, "size");
  assert_string_equal(slt_table_column_name(table, 3), "main.state");
  assert_string_equal(slt_table_text(table, 1, 3), "off");
  assert_string_equal(slt_table_text(table, 2, 3), "on");
  CHECK(slt_table_value(table, 2, 0) == 0.5, "time");
  slt_recorder_free(recorder);
}

static void count_events(void* user, const SltEvent* event) {
  (void)event;
  ++*(int*)user;
}

TEST(events_are_written_and_passed_on) {
  SltSim sim = {0};
  Output out = {.length = 0};
  SltRecorderOptions options = every(1.0);
  options.events = (SltWriter){collect, &out};
  const Instant switches[] = {{.t = 0.5, .switches = true}};
  sim.instants = switches;
  sim.instant_count = 1;
  SltRecorder* recorder = NULL;
  int events = 0;
  CHECK(slt_recorder_create(&sim, &options, &recorder, NULL) == SLT_OK, "create");
  slt_recorder_on_event(recorder, count_events, &events);
  CHECK(slt_recorder_run(recorder, 1.0) == SLT_OK, "run");
  CHECK(events == 2, "passed on");
  CHECK(strncmp(out.text, "{\"t\":0,\"n\":0,\"iter\":0,\"kind\":\"initial\"", 36) == 0, "first");
  CHECK(strstr(out.text, "\n{\"t\":0.5,") != NULL, "second");
  slt_recorder_free(recorder);
  CHECK(sim.on_event == NULL, "let go");
}

TEST(a_failing_output_ends_the_run) {
  SltSim sim = {0};
  Output out = {.limit = 1};
  SltRecorderOptions options = every(0.25);
  options.rows = (SltWriter){collect, &out};
  SltRecorder* recorder = NULL;
  CHECK(slt_recorder_create(&sim, &options, &recorder, NULL) == SLT_OK, "create");
  CHECK(slt_recorder_run(recorder, 1.0) == SLT_ERR_IO, "at the flush at the latest");
  slt_recorder_free(recorder);

  // with more rows than the buffer holds the run does not go to its end
  sim = (SltSim){0};
  options = every(1e-5);
  options.rows = (SltWriter){collect, &out};
  CHECK(slt_recorder_create(&sim, &options, &recorder, NULL) == SLT_OK, "create");
  CHECK(slt_recorder_run(recorder, 1.0) == SLT_ERR_IO, "stopped");
  CHECK(sim.t < 0.1, "soon");
  slt_recorder_free(recorder);
}

// SPDX-License-Identifier: MIT
//
// LISMA text to trajectory: a short run of whatever compiles. Nothing crashes, all memory is given
// back even when it runs out, time never goes back, a run that fails says why, and a run that is
// advanced in pieces, put back to a snapshot in between, gives the same values as one that is not.
#include <saltus/saltus.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_MAX ((size_t)64 << 20)
#define T_END      1.0

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static void require(bool condition) {
  if (!condition) abort();
}

/// Memory with an end, so that a loop of a million instances is refused and not waited for.
static void* limited_realloc(void* user, void* pointer, size_t old_size, size_t size) {
  size_t* used = user;
  require(*used >= old_size && (pointer || old_size == 0));
  if (size == 0) {
    free(pointer);
    *used -= old_size;
    return NULL;
  }
  if (size > old_size && size - old_size > MEMORY_MAX - *used) return NULL;
  void* grown = realloc(pointer, size);
  if (grown) *used = *used - old_size + size;
  return grown;
}

static SltStatus load(void* user, const char* name, const SltAllocator* allocator, char** content,
                      size_t* length) {
  static const char table[] = "t,a,b\n0,1,2\n0.25,2,3\n0.5,0,1\n4,4,4\n";
  (void)user;
  if (name[0] == '\0') return SLT_ERR_NOT_FOUND;
  *length = sizeof table - 1;
  *content = allocator->realloc_fn(allocator->user, NULL, 0, *length);
  if (!*content) return SLT_ERR_NOMEM;
  memcpy(*content, table, *length);
  return SLT_OK;
}

static void on_diagnostic(void* user, const SltDiagnostic* diagnostic) {
  unsigned* errors = user;
  require(diagnostic->message[0] != '\0' && diagnostic->rendered[0] != '\0');
  require(strcmp(diagnostic->code, "E0799") != 0);
  *errors += diagnostic->severity == SLT_ERROR;
}

static void on_event(void* user, const SltEvent* event) {
  double* last = user;
  require(event->t >= *last);
  *last = event->t;
}

/// How far a run came.
typedef struct Outcome {
  SltStatus status;
  double t;
  double* values;
  uint32_t count;
} Outcome;

static void check_error(SltSim* sim, SltStatus status) {
  SltRunError error = slt_sim_error(sim);
  require(error.status == status);
  require(error.code && error.message && error.message[0] != '\0');
  require(error.rendered && error.rendered[0] != '\0');
}

/// Advance to `t_stop` through all instants.
static SltStatus advance(SltSim* sim, double t_stop) {
  SltStatus status = SLT_EVENT;
  while (status == SLT_EVENT) {
    double before = slt_sim_time(sim);
    double reached = -1.0;
    status = slt_sim_advance(sim, t_stop, &reached);
    require(reached >= before && reached <= t_stop && reached == slt_sim_time(sim));
  }
  return status;
}

/// Go to a point, save, go on, come back.
static SltStatus wander(SltSim* sim) {
  SltStatus status = advance(sim, 0.3 * T_END);
  if (status != SLT_OK) return status;
  size_t size = slt_sim_snapshot_size(sim);
  void* saved = malloc(size);
  if (!saved) abort();
  require(slt_sim_snapshot_save(sim, saved, size) == SLT_OK);
  advance(sim, 0.55 * T_END);
  require(slt_sim_snapshot_restore(sim, saved, size) == SLT_OK);
  free(saved);
  return advance(sim, 0.8 * T_END);
}

static Outcome run(const SltModel* model, const SltSimOptions* options, bool pieces) {
  Outcome outcome = {.status = SLT_OK};
  SltSim* sim = NULL;
  outcome.status = slt_sim_create(model, options, &sim);
  require((outcome.status >= 0) == (sim != NULL));
  if (!sim) return outcome;
  double last = -HUGE_VAL;
  if (!pieces) slt_sim_on_event(sim, on_event, &last);
  outcome.status = slt_sim_start(sim);
  if (outcome.status == SLT_OK && pieces) outcome.status = wander(sim);
  if (outcome.status == SLT_OK) outcome.status = advance(sim, T_END);
  if (outcome.status < 0) check_error(sim, outcome.status);
  outcome.t = slt_sim_time(sim);
  outcome.count = slt_sim_column_count(sim);
  outcome.values = malloc((outcome.count + 1) * sizeof *outcome.values);
  if (!outcome.values) abort();
  for (uint32_t i = 0; i < outcome.count; i++) {
    SltQuantity quantity;
    require(slt_sim_find(sim, slt_sim_column_name(sim, i), &quantity) == SLT_OK);
    outcome.values[i] = slt_sim_get(sim, quantity);
  }
  slt_sim_free(sim);
  return outcome;
}

/// -0.0 and 0.0 differ, all NaN are alike.
static bool same(double a, double b) {
  return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static void compare(const Outcome* a, const Outcome* b) {
  // the limits count what is done, and coming back does some of it twice
  if (a->status == SLT_ERR_LIMIT || b->status == SLT_ERR_LIMIT) return;
  require(a->status == b->status);
  require(same(a->t, b->t));
  if (a->status < 0) return;
  require(a->count == b->count);
  for (uint32_t i = 0; i < a->count; i++) {
    require(same(a->values[i], b->values[i]));
  }
}

static void run_model(const SltModel* model, const SltAllocator* allocator) {
  SltSimOptions options = slt_sim_options();
  options.allocator = *allocator;
  options.t_start = 0.0;
  options.max_steps = 200;
  options.max_events = 100;
  Outcome whole = run(model, &options, false);
  Outcome pieces = run(model, &options, true);
  compare(&whole, &pieces);
  free(whole.values);
  free(pieces.values);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 1 << 14) return 0;
  size_t used = 0;
  unsigned errors = 0;
  SltCompileOptions options = slt_compile_options();
  options.allocator = (SltAllocator){.realloc_fn = limited_realloc, .user = &used};
  options.on_diagnostic = on_diagnostic;
  options.user = &errors;
  options.load = load;
  SltModel* model = NULL;
  SltStatus status = slt_model_compile("fuzz.lisma", (const char*)data, size, &options, &model);
  require((status >= 0) == (model != NULL));
  require(status < 0 || errors == 0);
  require(status == SLT_ERR_NOMEM || status >= 0 || errors > 0);
  if (model) run_model(model, &options.allocator);
  slt_model_free(model);
  require(used == 0);
  return 0;
}

// SPDX-License-Identifier: MIT
//
// Creation of a run: options, memory, and the plain questions about it.
#include "engine/run/run.h"

#include <math.h>
#include <string.h>

// ---- options ------------------------------------------------------------------------------------

static double pick(double given, double experiment, double fallback) {
  if (!isnan(given)) return given;
  return isnan(experiment) ? fallback : experiment;
}

static SltStatus pick_method(const Model* model, const SltSimOptions* given, EngOptions* out) {
  Str name = given->method ? str_from_c(given->method) : model->experiment.method;
  out->method_auto = name.length == 0 || str_equal(name, STR_LIT("auto"));
  if (out->method_auto) name = STR_LIT(ENG_EXPLICIT_METHOD);
  out->method = num_method_find(name);
  return out->method ? SLT_OK : SLT_ERR_ARGUMENT;
}

/// Out of range where the experiment's word is not known.
static SltDetection pick_detection(const Model* model, const SltSimOptions* given) {
  static const char* const words[] = {"certified", "combined", "extrapolation", "interpolation"};
  if (given->detection != SLT_DETECTION_EXPERIMENT) return given->detection;
  Str word = model->experiment.detection;
  if (word.length == 0) return SLT_DETECTION_CERTIFIED;
  size_t i = 0;
  while (i < SLT_COUNT(words) && !str_equal(word, str_from_c(words[i]))) {
    i++;
  }
  return (SltDetection)i;
}

SltStatus eng_options_resolve(const Model* model, const SltSimOptions* given, EngOptions* out,
                              const char** what) {
  const ModelExperiment* e = &model->experiment;
  *out = (EngOptions){.t_start = pick(given->t_start, e->start, 0.0),
                      .t_end = e->end,
                      .rtol = pick(given->rtol, e->rtol, 1e-6),
                      .atol = pick(given->atol, e->atol, (double)NAN),
                      .h0 = pick(given->h0, e->h0, 0.0),
                      .h_min = pick(given->h_min, e->hmin, 0.0),
                      .h_max = pick(given->h_max, e->hmax, 0.0),
                      .step = pick(given->step, e->step, 0.0),
                      .event_eps = pick(given->event_eps, e->eventeps, 0.0),
                      .gamma = pick(given->gamma, e->gamma, 0.6),
                      .detection = pick_detection(model, given),
                      .sliding = given->sliding,
                      .zeno = given->zeno,
                      .seed = given->seed,
                      .max_events = given->max_events,
                      .max_steps = given->max_steps,
                      .threads = given->threads,
                      .allocator = base_allocator(&given->allocator)};
  struct {
    bool good;
    const char* what;
  } checks[] = {
      {pick_method(model, given, out) >= 0, "the method is not known"},
      {isfinite(out->t_start), "the start must be a finite time"},
      {(unsigned)out->detection <= SLT_DETECTION_INTERPOLATION, "the detection is not known"},
      {(unsigned)out->sliding <= SLT_SLIDING_UTKIN, "the kind of sliding is not known"},
      {(unsigned)out->zeno <= SLT_ZENO_DWELL, "what to do about accumulations is not known"},
      {out->rtol >= 0.0 && out->rtol < 1.0, "rtol must be at least 0 and below 1"},
      {isnan(out->atol) || (out->atol >= 0.0 && isfinite(out->atol)), "atol must be at least 0"},
      {out->rtol > 0.0 || out->atol > 0.0, "rtol must be greater than 0, or atol be given"},
      {out->h0 >= 0.0, "h0 must be greater than 0"},
      {out->h_min >= 0.0, "hmin must be greater than 0"},
      {out->h_max >= 0.0, "hmax must be greater than 0"},
      {out->h_max == 0.0 || out->h_min <= out->h_max, "hmin must not be greater than hmax"},
      {out->event_eps >= 0.0 && isfinite(out->event_eps), "event-eps must be at least 0"},
      {out->gamma > 0.0 && out->gamma < 1.0, "gamma must be between 0 and 1"},
      {out->step >= 0.0 && isfinite(out->step), "the step must be greater than 0"},
      {!out->method || out->method->adaptive || out->step > 0.0,
       "this method has a fixed step: give it with --step, or step = ... in the experiment"},
  };
  for (size_t i = 0; i < SLT_COUNT(checks); i++) {
    if (checks[i].good) continue;
    *what = checks[i].what;
    return SLT_ERR_ARGUMENT;
  }
  return SLT_OK;
}

// ---- memory -------------------------------------------------------------------------------------

/// Hands out pieces of one block; first run with NULL to learn the size.
typedef struct Carver {
  char* base;
  size_t used;
} Carver;

static void* carve(Carver* carver, size_t count, size_t size) {
  size_t at = carver->used;
  size_t bytes = base_mul_size(count ? count : 1, size);
  // every piece starts on a multiple of 8, enough for all element types here
  bytes = base_add_size(bytes, 7) & ~(size_t)7;
  carver->used = base_add_size(carver->used, bytes);
  return carver->base ? carver->base + at : NULL;
}

/// States of all automata.
static size_t state_total(const Model* m) {
  size_t total = 0;
  for (uint32_t a = 0; a < m->automaton_count; a++) {
    total += m->automata[a].state_count;
  }
  return total;
}

static bool has_families(const Model* m) {
  for (uint32_t v = 0; v < m->var_count; v++) {
    if (m->vars[v].family != v) return true;
  }
  return false;
}

/// Values, states and relations.
static void lay_out_values(EngSim* sim, Carver* c) {
  const Model* m = sim->model;
  size_t n = sim->values.n_max;
  sim->env = carve(c, 2 * (size_t)m->env_count, sizeof(double));
  sim->values.before = carve(c, m->env_count, sizeof(double));
  sim->values.guess = carve(c, m->env_count, sizeof(double));
  sim->values.params_given = carve(c, m->param_count, sizeof(double));
  sim->x = carve(c, n, sizeof(double));
  sim->scales.largest = carve(c, m->env_count, sizeof(double));
  if (has_families(m)) {
    sim->scales.stand_in = carve(c, m->env_count, sizeof(uint32_t));
    sim->scales.first = carve(c, m->env_count, sizeof(uint32_t));
    sim->scales.family = carve(c, n, sizeof(uint32_t));
  }
  sim->scales.of_state = carve(c, n, sizeof(uint32_t));
  sim->values.tangent = carve(c, n, sizeof(double));
  sim->active.indicators = carve(c, m->atom_count, sizeof(uint32_t));
  sim->active.followed = carve(c, m->atom_count, sizeof(uint32_t));
  sim->active.automata = carve(c, m->automaton_count, sizeof(uint32_t));
  sim->active.relevant = carve(c, m->atom_count, sizeof(uint8_t));
  sim->active.live = carve(c, m->atom_count, sizeof(uint8_t));
  sim->detect.g = carve(c, m->atom_count, sizeof(double));
  sim->detect.gdot = carve(c, m->atom_count, sizeof(double));
  sim->detect.g_zero = carve(c, m->atom_count, sizeof(double));
  sim->detect.end_g = carve(c, m->atom_count, sizeof(double));
  sim->detect.end_gdot = carve(c, m->atom_count, sizeof(double));
  sim->values.full = carve(c, m->env_count, sizeof(double));
}

/// What the sides of a surface and a closed contact are looked at with.
static void lay_out_sides(EngSim* sim, Carver* c) {
  const Model* m = sim->model;
  size_t n = sim->values.n_max;
  sim->proof.x_dual = carve(c, n, sizeof(ModelDual));
  sim->proof.g_dual = carve(c, m->atom_count, sizeof(ModelDual));
  sim->probe.flow = carve(c, n * 3, sizeof(double));
  sim->pruning.x_lo = carve(c, n, sizeof(double));
  sim->pruning.x_hi = carve(c, n, sizeof(double));
  sim->probe.x = carve(c, n, sizeof(double));
  sim->probe.g = carve(c, m->atom_count, sizeof(double));
  sim->probe.beside = carve(c, m->atom_count, sizeof(double));
  sim->probe.states = carve(c, m->automaton_count, sizeof(uint32_t));
  sim->probe.settled = carve(c, m->automaton_count, sizeof(uint32_t));
}

/// What detection proves with, and local events.
static void lay_out_detection(EngSim* sim, Carver* c) {
  const Model* m = sim->model;
  size_t n = sim->values.n_max;
  if (sim->options.detection == SLT_DETECTION_CERTIFIED) {
    sim->proof.control_g = carve(c, (size_t)m->atom_count * MODEL_LANES, sizeof(double));
  }
  if (eng_local_suits(m)) {
    sim->waiting.capacity = 2 * m->atom_count + 4096;
    sim->waiting.heap = carve(c, sim->waiting.capacity, sizeof(BaseDue));
    sim->waiting.crossing = carve(c, m->atom_count, sizeof(EngCrossing));
    sim->waiting.waits = carve(c, m->atom_count, 1);
    sim->waiting.mark = carve(c, m->atom_count, 1);
    sim->waiting.candidates = carve(c, m->atom_count, sizeof(uint32_t));
    sim->waiting.g = carve(c, m->atom_count, sizeof(double));
    sim->waiting.weight = carve(c, n, sizeof(double));
    sim->waiting.imminent = carve(c, ENG_LOCAL_IMMINENT, sizeof(EngImminent));
    sim->waiting.drift = carve(c, n, sizeof(double));
  }
  sim->pruning.exclusion = carve(c, m->atom_count, sizeof(double));
  sim->pruning.candidates = carve(c, m->atom_count, sizeof(uint32_t));
  sim->proof.levels = carve(c, m->atom_count, sizeof(EngLevel));
  sim->proof.margin = carve(c, m->atom_count, sizeof(double));
  sim->proof.margin_x = carve(c, n, sizeof(double));
  sim->proof.margin_size = carve(c, m->env_count, sizeof(double));
  sim->proof.g_whole = carve(c, m->atom_count, sizeof(ModelDual));
  sim->values.scratch = carve(c, m->scratch_regs, sizeof(double));
  sim->instant.gate_begin = carve(c, m->automaton_count, sizeof(uint32_t));
  sim->instant.gates = carve(c, state_total(m), sizeof(uint32_t));
}

/// Relations whose transitions set something: their contacts could close. `directions`: room for
/// how those act.
static uint32_t count_impacts(const Model* m, size_t* directions) {
  uint32_t count = 0;
  *directions = 0;
  for (uint32_t i = 0; i < m->transition_count; i++) {
    if (eng_reset_count(m, i) > 0) count += m->transitions[i].guard.atom_count;
    *directions += (size_t)eng_reset_count(m, i) * m->transitions[i].guard.atom_count;
  }
  return count;
}

/// What is known of relations, transitions and automata from event to event.
static void lay_out_records(EngSim* sim, Carver* c) {
  const Model* m = sim->model;
  c->used = (c->used + 63) & ~(size_t)63;  // lines of the cache, where the block begins with one
  sim->atoms = carve(c, m->atom_count, sizeof(EngAtom));
  sim->instant.transitions = carve(c, m->transition_count, sizeof(EngTransition));
  sim->contact.accumulations = carve(c, m->transition_count, sizeof(EngAccumulation));
  size_t directions = 0;
  sim->contact.impact_count = count_impacts(m, &directions);
  sim->contact.at_firing = carve(c, m->transition_count ? sim->values.n_max : 0, sizeof(double));
  sim->contact.closed = carve(c, sim->contact.impact_count, sizeof(EngContact));
  sim->contact.direction = carve(c, directions, sizeof(double));
  sim->instant.chatter = carve(c, m->automaton_count, sizeof(EngChatter));
}

/// Motion along surfaces by values.
static void lay_out_surfaces(EngSim* sim, Carver* c) {
  const Model* m = sim->model;
  size_t n = sim->values.n_max;
  sim->sliding.value.surfaces = carve(c, m->atom_count, sizeof(EngSurface));
  sim->sliding.value.switches = carve(c, m->automaton_count, sizeof(EngValueSwitch));
  sim->sliding.value.probes = carve(c, m->atom_count, sizeof(EngValueProbe));
  sim->sliding.value.of_atom = carve(c, m->atom_count, sizeof(uint32_t));
  sim->sliding.value.same = carve(c, m->atom_count, sizeof(bool));
  sim->sliding.is_flag = carve(c, m->env_count, 1);
  sim->sliding.flow_reads = carve(c, m->env_count, 1);
  sim->sliding.motion.last_x = carve(c, n, sizeof(double));
  sim->sliding.value.of_env = carve(c, m->env_count, sizeof(uint32_t));
  sim->sliding.value.next = carve(c, m->atom_count, sizeof(uint32_t));
  sim->sliding.value.of_state = carve(c, n, sizeof(uint32_t));
  sim->sliding.motion.state = carve(c, m->atom_count, sizeof(uint32_t));
  sim->sliding.motion.touched = carve(c, m->atom_count, sizeof(uint32_t));
  sim->sliding.motion.mark = carve(c, m->atom_count, 1);
  sim->sliding.value.plain = carve(c, m->atom_count, 1);
  sim->sliding.value.switch_alone = carve(c, m->automaton_count, 1);
  sim->sliding.value.follows = carve(c, m->automaton_count, sizeof(uint32_t));
  sim->sliding.motion.rhs_shift = carve(c, n, sizeof(double));
  sim->sliding.motion.full_shift = carve(c, m->env_count, sizeof(double));
  double** shares[] = {
      &sim->sliding.motion.slope,  &sim->sliding.motion.alpha, &sim->sliding.motion.trial,
      &sim->sliding.motion.rate,   &sim->sliding.motion.low,   &sim->sliding.motion.high,
      &sim->sliding.motion.wanted, &sim->sliding.motion.last,  &sim->sliding.motion.fall};
  for (size_t i = 0; i < SLT_COUNT(shares); i++) {
    *shares[i] = carve(c, m->atom_count, sizeof(double));
  }
}

/// What an instant works with.
static void lay_out_instants(EngSim* sim, Carver* c) {
  const Model* m = sim->model;
  sim->instant.schedules = carve(c, m->schedule_count, sizeof(EngSchedule));
  sim->instant.due = carve(c, m->schedule_count, sizeof(BaseDue));
  sim->detect.crossings = carve(c, m->atom_count, sizeof(EngCrossing));
  sim->state = carve(c, m->automaton_count, sizeof(uint32_t));
  sim->values.state_before = carve(c, m->automaton_count, sizeof(uint32_t));
  sim->programs.entered_state = carve(c, m->automaton_count, sizeof(uint32_t));
  sim->values.computed = carve(c, m->env_count, 1);
  sim->values.is_truth = carve(c, m->env_count, 1);
  sim->values.given = carve(c, m->env_count, 1);
}

/// One block, in the order in which a step and an instant pass through it.
static void lay_out(EngSim* sim, Carver* c) {
  lay_out_values(sim, c);
  lay_out_sides(sim, c);
  lay_out_detection(sim, c);
  lay_out_records(sim, c);
  lay_out_surfaces(sim, c);
  lay_out_instants(sim, c);
}

static void measure(EngSim* sim) {
  const Model* m = sim->model;
  sim->values.var_begin = m->var_count > 0 ? m->env_count : 0;
  for (uint32_t v = 0; v < m->var_count; v++) {
    sim->values.n_max += m->vars[v].slots - 1u;
    uint32_t begin = m->vars[v].env;
    uint32_t end = begin + m->vars[v].slots;
    if (begin < sim->values.var_begin) sim->values.var_begin = begin;
    if (end > sim->values.var_end) sim->values.var_end = end;
  }
  while (sim->values.moving < m->param_count &&
         m->params[sim->values.moving].env == sim->values.moving) {
    sim->values.moving++;
  }
}

static SltStatus take_memory(EngSim* sim) {
  const SltAllocator* a = &sim->options.allocator;
  Carver carver = {NULL, 0};
  lay_out(sim, &carver);
  sim->storage.size = carver.used;
  sim->storage.block = base_alloc(a, sim->storage.size);
  if (!sim->storage.block) return SLT_ERR_NOMEM;
  carver = (Carver){sim->storage.block, 0};
  lay_out(sim, &carver);

  NumOptions options = num_options();
  options.rtol = sim->options.rtol;
  options.by_scale = isnan(sim->options.atol);
  options.atol = options.by_scale ? 0.0 : sim->options.atol;
  options.h0 = sim->options.method->adaptive ? sim->options.h0 : sim->options.step;
  options.h_max = sim->options.h_max;
  sim->storage.stepper_size = num_stepper_size(sim->options.method, sim->values.n_max);
  if (sim->options.method_auto || sim->options.method->stiff) {
    // room for the methods that may take turns
    bool large = sim->options.method_auto && sim->values.n_max < ENG_TEAM_STATES;
    const NumMethod* others[] = {large ? sim->motion.large_method : sim->motion.explicit_method,
                                 sim->motion.stiff_method};
    for (size_t i = 0; i < SLT_COUNT(others); i++) {
      size_t size = num_stepper_size(others[i], sim->values.n_max);
      if (size > sim->storage.stepper_size) sim->storage.stepper_size = size;
    }
  }
  sim->storage.stepper = base_alloc(a, sim->storage.stepper_size);
  if (!sim->storage.stepper) return SLT_ERR_NOMEM;
  SLT_TRY(num_stepper_init(sim->storage.stepper, sim->options.method, sim->values.n_max, &options,
                           &sim->stepper));
  num_stepper_set_rhs(sim->stepper, eng_rhs, sim);
  SLT_TRY(eng_history_create(sim));
  SLT_TRY(eng_foreign_create(sim));
  SLT_TRY(eng_local_create(sim));
  SLT_TRY(events_create(sim));
  return eng_trace_create(sim);
}

#define LARGE 100000  // entries of the environment

/// In a large model: have the equations of the first mode made before the run takes its memory,
/// since that takes much for a while. Whatever comes of it is asked for again when the run starts.
static void make_first_mode(const EngSim* sim) {
  const Model* model = sim->model;
  const SltAllocator* a = &sim->options.allocator;
  if (model->env_count < LARGE) return;
  size_t size = model->automaton_count * sizeof(uint32_t);
  uint32_t* states = base_alloc(a, size);
  const ModelMode* mode = NULL;
  const Diag* failure = NULL;
  if (states) sim->provider.get(sim->provider.user, states, &mode, &failure);
  base_free(a, states, size);
}

SltStatus eng_create(const Model* model, ModelProvider provider, const EngOptions* options,
                     EngSim** out) {
  *out = NULL;
  EngSim* sim = base_alloc(&options->allocator, sizeof *sim);
  if (!sim) return SLT_ERR_NOMEM;
  sim->model = model;
  sim->provider = provider;
  sim->options = *options;
  sim->memory.inner = options->allocator;
  sim->options.allocator = base_owner_allocator(&sim->memory);
  eng_dae_create(sim);
  sim->motion.explicit_method = num_method_find(STR_LIT(ENG_EXPLICIT_METHOD));
  sim->motion.small_method = num_method_find(STR_LIT(ENG_SMALL_METHOD));
  sim->motion.large_method = num_method_find(STR_LIT(ENG_LARGE_METHOD));
  sim->motion.stiff_method = num_method_find(STR_LIT(ENG_STIFF_METHOD));
  measure(sim);
  make_first_mode(sim);
  SltStatus status = take_memory(sim);
  if (status < 0) {
    eng_free(sim);
    return status;
  }
  sim->values.flow_context =
      (ModelContext){.tables = sim->history.tables,
                     .failed = &sim->dae.failed,
                     .least = &sim->dae.least,
                     .team = base_team_create(&sim->options.allocator, options->threads)};
  sim->values.flow_context.packs = eng_foreign_packs(sim);
  sim->values.context = sim->values.flow_context;
  sim->values.context.random = &sim->core.random;
  sim->values.context.seed = options->seed;
  sim->values.context.contradicts = &sim->dae.contradicted;
  for (uint32_t p = 0; p < model->param_count; p++) {
    sim->values.params_given[p] = (double)NAN;
  }
  eng_atoms_init(sim);
  status = eng_reduced_init(sim);
  for (uint32_t i = 0; i < model->atom_count; i++) {
    if (model->atoms[i].type == MODEL_ATOM_NOEVENT) sim->detect.has_auxiliary = true;
  }
  for (uint32_t i = 0; i < model->transition_count; i++) {
    if (model->transitions[i].instead) sim->instant.has_instead = true;
  }
  eng_scales_init(sim);
  sim->core.t = options->t_start;
  sim->instant.zeno_automaton = MODEL_NONE;
  sim->sliding.kink_t = (double)NAN;
  if (status >= 0) *out = sim;
  if (status < 0) eng_free(sim);
  return status;
}

void eng_free(EngSim* sim) {
  if (!sim) return;
  SltAllocator a = sim->memory.inner;
  eng_foreign_free(sim);
  eng_stiff_free(sim);
  eng_dae_free(sim);
  base_team_free(sim->values.flow_context.team);
  base_owner_free(&sim->memory);
  base_free(&a, sim, sizeof *sim);
}

// ---- questions ----------------------------------------------------------------------------------

const Model* eng_model(const EngSim* sim) {
  return sim->model;
}

bool eng_is_started(const EngSim* sim) {
  return sim->core.started;
}

SltStatus eng_set_param(EngSim* sim, uint32_t param, double value) {
  if (!isfinite(value)) return SLT_ERR_ARGUMENT;
  if (sim->core.started) return eng_change_param(sim, param, value);
  sim->values.params_given[param] = value;
  return SLT_OK;
}

SltStatus eng_set_initial(EngSim* sim, uint32_t var, uint32_t order, double value) {
  const Model* model = sim->model;
  if (sim->core.started || !isfinite(value)) return SLT_ERR_ARGUMENT;
  uint32_t i = 0;
  while (i < model->start_count && (model->starts[i].var != var || model->starts[i].order != order))
    i++;
  if (i == model->start_count) return SLT_ERR_NOT_FOUND;
  if (!sim->values.starts_given) {
    sim->values.starts_given =
        base_alloc(&sim->options.allocator, model->start_count * sizeof *sim->values.starts_given);
    if (!sim->values.starts_given) return SLT_ERR_NOMEM;
    for (uint32_t k = 0; k < model->start_count; k++)
      sim->values.starts_given[k] = (double)NAN;
  }
  sim->values.starts_given[i] = value;
  return SLT_OK;
}

double eng_time(const EngSim* sim) {
  return sim->core.t;
}

const double* eng_env(EngSim* sim) {
  eng_local_refresh(sim);
  if (sim->core.full_stale) {
    eng_evaluate_row(sim);
    eng_warn_of_values(sim);
  }
  return sim->env;
}

const double* eng_env_states(EngSim* sim) {
  eng_local_refresh(sim);
  return sim->env;
}

const double* eng_env_before(EngSim* sim) {
  eng_local_refresh(sim);
  return sim->values.before;
}

double eng_evaluate(EngSim* sim, const ModelTerm* term, bool before) {
  eng_local_refresh(sim);
  const ModelContext* context = eng_context(sim);
  const double* env = before ? sim->values.before : eng_env(sim);
  return model_term_value(term, context, sim->model->numbers, env, sim->core.t,
                          sim->values.scratch);
}

uint32_t eng_state(const EngSim* sim, uint32_t automaton) {
  return sim->state[automaton];
}

uint32_t eng_state_before(const EngSim* sim, uint32_t automaton) {
  return sim->values.state_before[automaton];
}

const ModelMode* eng_mode(const EngSim* sim) {
  return sim->core.mode;
}

const ModelMode* eng_mode_before(const EngSim* sim) {
  return sim->core.mode_before;
}

EngListeners* eng_listeners(EngSim* sim) {
  return &sim->report.to;
}

const EngError* eng_error(const EngSim* sim) {
  return &sim->error;
}

SltStatistics eng_statistics(EngSim* sim) {
  const NumCounters* counters = &sim->stepper->counters;
  SltStatistics s = {.t = sim->stepper->t,
                     .steps = counters->steps,
                     .rejected = counters->rejected + counters->failed,
                     .evaluations = counters->rhs,
                     .guard_evaluations = sim->core.counts.guard_evaluations,
                     .instants = sim->core.counts.instants,
                     .records = sim->core.counts.records,
                     .not_certified = sim->core.counts.not_certified,
                     .silent = sim->core.counts.silent,
                     .not_proved = sim->core.counts.undecided,
                     .modes = sim->core.counts.modes,
                     .method = sim->stepper->method->name,
                     .method_reason =
                         eng_method_reason(sim, sim->motion.reason, sizeof sim->motion.reason)};
  const EngAudit* audit = &sim->core.audit;
  bool declared = sim->model->energy != NULL;
  s.energy_start = declared ? audit->start : (double)NAN;
  s.energy_events = declared ? audit->events : (double)NAN;
  s.energy_gained = declared ? audit->gained : (double)NAN;
  s.energy_motion = declared ? audit->motion + eng_energy_since(sim) : (double)NAN;
  memcpy(s.by_class, sim->core.counts.by_class, sizeof s.by_class);
  return s;
}

// ---- snapshots ----------------------------------------------------------------------------------

size_t eng_snapshot_size(const EngSim* sim) {
  return sizeof sim->core + sim->storage.size + sim->storage.stepper_size +
         eng_slide_snapshot_size(sim, &sim->core.slide) + eng_history_snapshot_size(sim);
}

SltStatus eng_snapshot_save(const EngSim* sim, void* buffer, size_t size) {
  if (size < eng_snapshot_size(sim) || !sim->core.started) return SLT_ERR_ARGUMENT;
  char* out = buffer;
  // what is not in the environment yet; NOLINTNEXTLINE(performance-no-int-to-ptr)
  eng_local_refresh((EngSim*)(uintptr_t)sim);
  EngCore core = sim->core;
  core.saved.crossing_count = sim->detect.crossing_count;
  core.saved.value_switch_count = sim->sliding.value.switch_count;
  core.saved.has_unilateral = sim->detect.has_unilateral;
  memcpy(out, &core, sizeof core);
  out += sizeof core;
  memcpy(out, sim->storage.block, sim->storage.size);
  out += sim->storage.size;
  memcpy(out, sim->storage.stepper, sim->storage.stepper_size);
  out += sim->storage.stepper_size;
  eng_slide_save(sim, out);
  eng_history_save(sim, out + eng_slide_snapshot_size(sim, &sim->core.slide));
  return SLT_OK;
}

SltStatus eng_snapshot_restore(EngSim* sim, const void* buffer, size_t size) {
  EngCore core;
  if (size < sizeof core) return SLT_ERR_ARGUMENT;
  memcpy(&core, buffer, sizeof core);
  return eng_snapshot_take(sim, &core, buffer, size);
}

SltStatus eng_snapshot_take(EngSim* sim, const EngCore* core, const char* in, size_t size) {
  size_t fixed = sizeof sim->core + sim->storage.size + sim->storage.stepper_size;
  size_t slide = eng_slide_snapshot_size(sim, &core->slide);
  if (size < fixed || size - fixed < slide) return SLT_ERR_ARGUMENT;
  SLT_TRY(eng_slide_restore(sim, &core->slide, in + fixed));
  SLT_TRY(eng_history_restore(sim, in + fixed + slide, size - fixed - slide));
  sim->core = *core;
  sim->memory.lost = false;
  memcpy(sim->storage.block, in + sizeof sim->core, sim->storage.size);
  memcpy(sim->storage.stepper, in + sizeof sim->core + sim->storage.size,
         sim->storage.stepper_size);
  sim->stepper = num_stepper_rebind(sim->storage.stepper, eng_rhs, sim);
  eng_scales_rebind(sim);
  sim->stiff.ready = false;
  sim->detect.crossing_count = sim->core.saved.crossing_count;
  sim->sliding.value.switch_count = sim->core.saved.value_switch_count;
  sim->detect.has_unilateral = sim->core.saved.has_unilateral;
  sim->error.status = SLT_OK;
  if (sim->core.contact.count && !eng_contact_valid(sim)) return SLT_ERR_ARGUMENT;
  sim->active.followed_stale = true;
  sim->active.automata_stale = true;
  sim->detect.g_epoch = 0;
  sim->events.looked = false;
  // registers are not saved: those of the mode are bound anew from the restored environment
  SLT_TRY(eng_rebind_mode(sim));
  uint32_t chords = sim->core.step.chords;
  eng_chords_use(sim, chords ? chords - 1 : 0);
  return chords ? eng_chords_prepare_slow(sim) : SLT_OK;
}

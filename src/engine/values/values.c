// SPDX-License-Identifier: MIT
//
// The environment of a run and the programs that read and write it.
#include "engine/run/run.h"

#include <math.h>
#include <string.h>

#define LIST_FIRST 16  // elements that a list has room for at first

double eng_eval(EngSim* sim, const ModelTerm* term) {
  return model_term_value(term, eng_context(sim), sim->model->numbers, sim->env, sim->core.t,
                          sim->values.scratch);
}

/// *value != 0.0, by its bits: neither of the two zeros.
static inline bool is_true(const double* value) {
  uint64_t bits = 0;
  __builtin_memcpy(&bits, value, sizeof bits);
  return bits << 1 != 0;
}

bool eng_guard(EngSim* sim, const ModelGuard* guard) {
  const ModelShape* shape = guard->term.shape;
  if (!shape) return true;
  const ModelInput* inputs = shape->program.inputs;
  const uint32_t* args = guard->term.args;
  if (shape->tabled) {
    uint32_t truths = 0;
    for (uint32_t i = 0; i < shape->program.input_count; i++) {
      truths |= (uint32_t)is_true(&sim->env[args[inputs[i].env]]) << i;
    }
    return shape->table >> truths & 1;
  }
  return eng_eval(sim, &guard->term) != 0.0;
}

void eng_publish_move(EngSim* sim, uint32_t automaton, uint32_t state) {
  const ModelState* states = sim->model->automata[automaton].states;
  uint32_t from = states[sim->state[automaton]].test_env;
  uint32_t to = states[state].test_env;
  sim->state[automaton] = state;
  if (from != MODEL_NONE) sim->env[from] = 0.0;
  if (to != MODEL_NONE) sim->env[to] = 1.0;
}

void eng_publish_states(EngSim* sim, const uint32_t* states) {
  for (uint32_t a = 0; a < sim->model->automaton_count; a++) {
    if (sim->state[a] != states[a]) eng_publish_move(sim, a, states[a]);
  }
}

void eng_publish_state(EngSim* sim, uint32_t automaton, double t) {
  const ModelAutomaton* a = &sim->model->automata[automaton];
  uint32_t present = sim->state[automaton];
  // equations that ask for states go on as in the state from which the run is stopped
  uint32_t kept = a->states[present].written->keeps ? sim->events.left[automaton] : present;
  for (uint32_t s = 0; s < a->state_count; s++) {
    if (a->states[s].test_env != MODEL_NONE) {
      sim->env[a->states[s].test_env] = s == present || s == kept ? 1.0 : 0.0;
    }
  }
  if (a->entry_env != MODEL_NONE) sim->env[a->entry_env] = t;
}

/// Whether the type of the relation, or a detection that is kept for comparison, takes a distance
/// from the boundary for the boundary.
static bool asks_window(const EngSim* sim, const ModelAtom* atom) {
  bool compares = sim->options.detection == SLT_DETECTION_EXTRAPOLATION ||
                  sim->options.detection == SLT_DETECTION_INTERPOLATION;
  return compares || atom->type == MODEL_ATOM_UNILATERAL || atom->type == MODEL_ATOM_SHORTLIVING;
}

static SltStatus init_atoms(EngSim* sim) {
  const Model* model = sim->model;
  for (uint32_t i = 0; i < model->atom_count; i++) {
    const ModelAtomOptions* own = model->atoms[i].options;
    bool given = (own && own->eps) || sim->options.event_eps > 0.0;
    sim->atoms[i].eps = own && own->eps ? eng_eval(sim, own->eps) : sim->options.event_eps;
    sim->atoms[i].kind.windowed = !given && asks_window(sim, &model->atoms[i]);
    sim->detect.has_windows |= sim->atoms[i].kind.windowed;
    sim->atoms[i].gamma = own && own->gamma ? eng_eval(sim, own->gamma) : sim->options.gamma;
    // written so that NaN fails
    if (!(sim->atoms[i].eps >= 0.0) || !(sim->atoms[i].gamma > 0.0 && sim->atoms[i].gamma < 1.0)) {
      return eng_fail(sim, SLT_ERR_ARGUMENT, DIAG_E0810, &model->atoms[i].written->span,
                      "an event's eps must be at least 0 and its gamma between 0 and 1");
    }
  }
  return SLT_OK;
}

/// Evaluate the constants in their order; the first that is no finite number, or NULL.
static const ModelParam* evaluate_params(EngSim* sim) {
  const Model* model = sim->model;
  for (uint32_t p = 0; p < model->param_count; p++) {
    const ModelParam* param = &model->params[p];
    double given = sim->values.params_given[p];
    double value = isnan(given) ? eng_eval(sim, &param->value) : given;
    if (!isfinite(value) && !param->unbounded) return param;
    sim->env[param->env] = value;
  }
  return NULL;
}

/// Whether the constants still say what was read from them at the start alone.
static bool start_holds(EngSim* sim) {
  const Model* model = sim->model;
  for (uint32_t i = 0; i < model->schedule_count; i++) {
    const ModelSchedule* schedule = &model->schedules[i];
    if (eng_eval(sim, &schedule->start) != sim->instant.schedules[i].start) return false;
    if (schedule->periodic &&
        eng_eval(sim, &schedule->period) != sim->instant.schedules[i].period) {
      return false;
    }
  }
  for (uint32_t i = 0; i < model->delay_count; i++) {
    if (eng_eval(sim, &model->delays[i].time) != sim->history.delays[i].delay) return false;
  }
  return true;
}

SltStatus eng_replace_param(EngSim* sim, uint32_t param, double value) {
  double old = sim->values.params_given[param];
  sim->values.params_given[param] = value;
  bool good = !evaluate_params(sim) && start_holds(sim);
  if (!good) {
    sim->values.params_given[param] = old;
    evaluate_params(sim);
    return SLT_ERR_ARGUMENT;
  }
  // instants take constants for what they were
  for (uint32_t p = 0; p < sim->model->param_count; p++) {
    uint32_t env = sim->model->params[p].env;
    sim->values.before[env] = sim->env[sim->model->env_count + env] = sim->env[env];
  }
  return init_atoms(sim);
}

SltStatus eng_init_values(EngSim* sim) {
  const Model* model = sim->model;
  if (model->start_time_env != MODEL_NONE) sim->env[model->start_time_env] = sim->core.t;
  const ModelParam* bad = evaluate_params(sim);
  if (bad) {
    return eng_fail(sim, SLT_ERR_NOT_FINITE, DIAG_E0809, &bad->span,
                    "the constant '%.*s' is not a finite number", STR_ARGS(bad->name));
  }
  for (uint32_t a = 0; a < model->automaton_count; a++) {
    eng_publish_state(sim, a, sim->core.t);
  }
  SLT_TRY(eng_start_values(sim, false));
  return init_atoms(sim);
}

/// Random numbers in an initial value come from a stream of its own: they are the same however
/// often it is evaluated.
void eng_start_random(const EngSim* sim, const ModelStart* start, ModelRandom* out) {
  uint64_t place = sim->model->vars[start->var].appearance;
  model_random_seed(out, sim->options.seed, 1 + (place << 8 | start->order));
}

double eng_start_value(EngSim* sim, const ModelStart* start) {
  if (sim->values.starts_given) {
    double given = sim->values.starts_given[start - sim->model->starts];
    if (!isnan(given)) return given;
  }
  ModelRandom kept = sim->core.random;
  eng_start_random(sim, start, &sim->core.random);
  double value = eng_eval(sim, &start->value);
  sim->core.random = kept;
  return value;
}

SltStatus eng_start_values(EngSim* sim, bool solved) {
  const Model* model = sim->model;
  uint32_t count = model->start_count;
  for (uint32_t i = 0; i < 2 * count; i++) {
    const ModelStart* start = &model->starts[i % count];
    if ((solved && !start->fixed) != (i >= count)) continue;  // guesses in their turn, or last
    const ModelVar* var = &model->vars[start->var];
    double value = eng_start_value(sim, start);
    if (!isfinite(value) && !var->unbounded) {
      return eng_fail(sim, SLT_ERR_NOT_FINITE, DIAG_E0809, &start->span,
                      "the initial value of '%.*s' is not a finite number", STR_ARGS(var->name));
    }
    if (start->order < var->slots) sim->env[var->env + start->order] = value;
  }
  return SLT_OK;
}

SltStatus eng_grow(EngSim* sim, void** data, size_t need, size_t size) {
  void* grown = base_realloc(&sim->options.allocator, *data, base_owned_size(*data),
                             base_mul_size(need, size));
  if (!grown) return eng_fail(sim, SLT_ERR_NOMEM, DIAG_E0811, NULL, "out of memory for a mode");
  *data = grown;
  return SLT_OK;
}

SltStatus eng_grow_list(EngSim* sim, void** data, size_t need, size_t size) {
  size_t more = 2 * (base_owned_size(*data) / size);
  if (more < LIST_FIRST) more = LIST_FIRST;
  return eng_grow(sim, data, need < more ? more : need, size);
}

bool eng_warn_once(EngSim* sim, uint8_t what) {
  uint32_t id = sim->core.mode->id;
  if (id >= ENG_ROOM(sim->report.warned) || (sim->report.warned[id] & what)) return false;
  sim->report.warned[id] |= what;
  return true;
}

/// Registers for a mode: its own when it is one of the first, small and explicit. (Blocks of
/// equations begin with what stands in their registers, which must not depend on the past.)
static EngSlot* slot_of(EngSim* sim, const ModelMode* mode, size_t need) {
  bool kept = sim->model->automaton_count <= ENG_SLOT_AUTOMATA && need <= ENG_SLOT_REGS &&
              !mode->implicit && !mode->shared && mode->rhs.solve_count == 0 &&
              mode->full.solve_count == 0 && mode->g.solve_count == 0;
  for (uint32_t i = 1; kept && i < ENG_SLOTS; i++) {
    EngSlot* slot = &sim->programs.slots[i];
    if (slot->mode == mode) return slot;
    if (slot->mode) continue;
    slot->mode = mode;
    for (uint32_t a = 0; a < sim->model->automaton_count; a++) {
      slot->states[a] = sim->state[a];
    }
    return slot;
  }
  sim->programs.slots[0].bound = false;
  return &sim->programs.slots[0];
}

/// Registers of a mode that has its own, by the states of the automata; NULL for none.
static EngSlot* known_slot(EngSim* sim) {
  uint32_t count = sim->model->automaton_count;
  for (uint32_t i = 1; count <= ENG_SLOT_AUTOMATA && i < ENG_SLOTS && sim->programs.slots[i].mode;
       i++) {
    uint32_t a = 0;
    while (a < count && sim->programs.slots[i].states[a] == sim->state[a]) {
      a++;
    }
    if (a == count) return &sim->programs.slots[i];
  }
  return NULL;
}

/// Whether the inputs of a program are neither truths, which change while time flows, nor what a
/// variable was before.
static bool inputs_stand(const EngSim* sim, const ModelProgram* program) {
  for (uint32_t i = 0; i < program->input_count; i++) {
    uint32_t env = program->inputs[i].env;
    if (env >= sim->model->env_count || sim->values.is_truth[env]) return false;
  }
  return true;
}

/// What holds for a mode whatever the values.
static void survey(EngSim* sim, EngSlot* slot, const ModelMode* mode) {
  slot->inputs_stand = !mode->implicit && !sim->history.delays && inputs_stand(sim, &mode->rhs) &&
                       inputs_stand(sim, &mode->full) && inputs_stand(sim, &mode->g) &&
                       inputs_stand(sim, &mode->g_flow) && inputs_stand(sim, &mode->gdot);
  slot->only_states = true;
  slot->leaves_zero = false;
  for (uint32_t v = 0; v < sim->model->var_count; v++) {
    uint8_t role = mode->vars[v].role;
    slot->only_states &= role != MODEL_ROLE_ALGEBRAIC;
    slot->leaves_zero |= role == MODEL_ROLE_UNDETERMINED && sim->model->vars[v].inactive_zero;
  }
}

/// The registers that the engine works with from now on.
static void take_slot(EngSim* sim, EngSlot* slot, const ModelMode* mode) {
  sim->programs.slot = slot;
  sim->programs.regs = slot->regs;
  sim->programs.dual = slot->dual_regs;
  sim->programs.lanes = slot->block_regs;
  sim->proof.control_x = sim->programs.lanes ? sim->programs.lanes + MODEL_LANES : NULL;
  sim->proof.stamp++;  // what they hold belongs to another mode
  sim->values.epoch++;
  sim->programs.bound = slot->bound ? mode : NULL;
  sim->core.margins.level_epoch++;
  sim->core.margins.stale = true;
  sim->programs.inputs_stand = slot->inputs_stand;
  sim->programs.only_states = slot->only_states;
  sim->pruning.has_bounds = slot->has_bounds;
  sim->pruning.stale = true;
  sim->programs.rhs = sim->programs.regs;
  sim->programs.full = sim->programs.rhs + mode->rhs.reg_count;
  sim->programs.g = sim->programs.full + mode->full.reg_count;
  sim->programs.g_flow = sim->programs.g + mode->g.reg_count;
  sim->programs.gdot = sim->programs.g_flow + mode->g_flow.reg_count;
}

static SltStatus make_room(EngSim* sim, const ModelMode* mode) {
  SLT_TRY(ENG_GROW(sim, sim->report.warned, (size_t)mode->id + 1));
  size_t need = (size_t)mode->rhs.reg_count + mode->full.reg_count + mode->g.reg_count +
                mode->g_flow.reg_count + mode->gdot.reg_count;
  EngSlot* slot = slot_of(sim, mode, need);
  SLT_TRY(ENG_GROW(sim, slot->regs, need));
  size_t g_regs = mode->g_flow.reg_count;
  SLT_TRY(ENG_GROW(sim, slot->dual_regs, g_regs));
  // ends of sliding and of contacts are enclosed whatever finds the events
  SLT_TRY(ENG_GROW(sim, slot->block_regs, g_regs * MODEL_LANES));
  if (sim->options.detection == SLT_DETECTION_CERTIFIED) {
    size_t polynomials = mode->forms ? mode->forms->polynomial_count : 0;
    SLT_TRY(ENG_GROW(sim, sim->proof.forms, polynomials));
    SLT_TRY(eng_pruned_room(sim, slot, mode));
  }
  if (!slot->bound) survey(sim, slot, mode);
  take_slot(sim, slot, mode);
  return mode->implicit ? eng_dae_room(sim, mode) : SLT_OK;
}

/// Constants and inputs of all programs of the mode.
static void bind_all(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  sim->programs.bound = mode;
  sim->programs.slot->bound = true;
  model_program_bind(&mode->rhs, sim->env, sim->programs.rhs);
  model_program_bind(&mode->full, sim->env, sim->programs.full);
  model_program_bind(&mode->g, sim->env, sim->programs.g);
  model_program_bind(&mode->g_flow, sim->env, sim->programs.g_flow);
  model_program_bind(&mode->gdot, sim->env, sim->programs.gdot);
}

/// Whether the margins of the atoms, made for states of a certain size, hold for the present ones.
static bool margins_hold(const EngSim* sim) {
  const EngCore* core = &sim->core;
  if (core->margins.stale) return false;
  bool hold = fabs(core->t) <= 2.0 * core->margins.t;
  for (uint32_t i = 0; i < core->mode->state_count; i++) {
    hold &= fabs(sim->x[i]) <= 2.0 * sim->proof.margin_x[i];
  }
  return hold;
}

/// model_program_bind_inputs(), written out: most programs have few inputs.
static inline bool bind_inputs(const ModelProgram* program, const double* env, double* regs) {
  bool changed = false;
  const ModelInput* inputs = program->inputs;
  for (uint32_t i = 0; i < program->input_count; i++) {
    double value = env[inputs[i].env];
    changed |= !(regs[inputs[i].reg] == value);
    regs[inputs[i].reg] = value;
  }
  return changed;
}

/// Inputs of g that have changed, into the registers of all its forms.
static bool move_inputs(EngSim* sim) {
  const ModelProgram* program = &sim->core.mode->g_flow;
  bool changed = false;
  for (uint32_t i = 0; i < program->input_count; i++) {
    uint32_t reg = program->inputs[i].reg;
    double value = sim->env[program->inputs[i].env];
    if (sim->programs.g_flow[reg] == value) continue;
    changed = true;
    sim->programs.g_flow[reg] = value;
    sim->programs.dual[reg] = model_dual_fixed(value);
    for (uint32_t lane = 0; lane < MODEL_LANES; lane++) {
      sim->programs.lanes[(size_t)reg * MODEL_LANES + lane] = value;
    }
  }
  return changed;
}

void eng_gather_states(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  sim->stiff.ready = false;
  bool moved = false;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    double value = sim->env[mode->state_env[i]];
    moved |= !(sim->x[i] == value);
    sim->x[i] = value;
  }
  if (moved) sim->values.epoch++;
}

static void bind_programs(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  eng_gather_states(sim);
  bool anew = sim->programs.bound != mode;
  bool moved = anew;
  if (anew) {
    bind_all(sim);
  } else {
    bind_inputs(&mode->rhs, sim->env, sim->programs.rhs);
    bind_inputs(&mode->full, sim->env, sim->programs.full);
    bool others = bind_inputs(&mode->g, sim->env, sim->programs.g);
    others |= bind_inputs(&mode->gdot, sim->env, sim->programs.gdot);
    moved = move_inputs(sim);
    if (others) sim->values.epoch++;
  }
  if (moved) sim->values.epoch++;
  if (ENG_UNLIKELY(mode->implicit)) eng_dae_bind(sim);
  if (mode->atom_count == 0) return;
  if (moved) sim->core.margins.level_epoch++;
  if (anew) {
    model_program_bind_dual(&mode->g_flow, sim->env, sim->programs.dual);
    model_program_bind_block(&mode->g_flow, sim->env, sim->programs.lanes);
  }
  if (moved || !margins_hold(sim)) sim->core.margins.stale = true;
}

void eng_bind(EngSim* sim) {
  bind_programs(sim);
  if (ENG_UNLIKELY(sim->core.mode->implicit || sim->core.slide.count)) eng_dae_guess(sim);
}

void eng_bind_again(EngSim* sim) {
  // by value there are no other modes whose registers follow
  bool other = sim->core.slide.count && !(sim->core.slide.by_value && sim->core.slide.mixed);
  if (!sim->programs.inputs_stand || other || sim->core.contact.active) {
    eng_bind(sim);
  } else {
    eng_gather_states(sim);
  }
}

void eng_bind_states(EngSim* sim) {
  eng_bind_again(sim);
  if (sim->core.mode->atom_count > 0 && !margins_hold(sim)) sim->core.margins.stale = true;
}

/// Whether nothing but switches has moved that decide about no equations and no other switch: the
/// mode stays, and what matters in it.
static bool only_switches_moved(const EngSim* sim) {
  EngList automata = eng_instant_automata(sim);
  for (uint32_t n = 0; n < automata.count; n++) {
    uint32_t a = eng_nth(automata, n);
    if (sim->state[a] != sim->programs.entered_state[a] && !sim->sliding.value.switch_alone[a])
      return false;
  }
  return true;
}

/// The equations of a mode hold from now on.
static void begin_mode(EngSim* sim, const ModelMode* mode) {
  // sides and registers of a sliding motion are those of the mode that is left; how the motion
  // goes on from here is asked once the mode has settled
  sim->core.slide.count = 0;
  sim->core.mode = mode;
  eng_scales_follow(sim);
  sim->dae.least = MODEL_NONE;  // blocks are numbered by mode
  sim->programs.tune_at = sim->programs.slot->tuned ? UINT64_MAX : 0;
  if (mode->id + 1 > sim->core.counts.modes) sim->core.counts.modes = mode->id + 1;
  for (uint32_t v = 0; sim->programs.slot->leaves_zero && v < sim->model->var_count; v++) {
    const ModelVar* var = &sim->model->vars[v];
    if (mode->vars[v].role == MODEL_ROLE_UNDETERMINED && var->inactive_zero) {
      sim->env[var->env] = 0.0;
    }
  }
  memset(sim->values.computed, 0, sim->model->env_count);
  for (uint32_t i = 0; i < mode->full.output_count; i++) {
    sim->values.computed[mode->full_env[i]] = 1;
  }
}

static SltStatus fail_mode(EngSim* sim, SltStatus status, const Diag* failure) {
  if (!failure) return eng_fail(sim, status, DIAG_E0811, NULL, "%s", slt_status_text(status));
  eng_fail(sim, status, failure->code, &failure->span, "%.*s", STR_ARGS(failure->message));
  sim->error.structure = failure;
  return status;
}

/// Find the mode of the present states and bind its programs; where it is not the present one it
/// begins.
static SltStatus bind_mode(EngSim* sim) {
  const ModelMode* mode = NULL;
  const Diag* failure = NULL;
  size_t bytes = sim->model->automaton_count * sizeof *sim->state;
  bool entered =
      sim->programs.entered && memcmp(sim->programs.entered_state, sim->state, bytes) == 0;
  bool stays = entered || (sim->programs.entered && sim->core.mode->shared && !sim->active.stale &&
                           only_switches_moved(sim));
  SltStatus status = SLT_OK;
  if (!stays) eng_active_complete(sim);
  const uint32_t* states =
      ENG_UNLIKELY(sim->core.stop_wanted) ? events_equation_states(sim) : sim->state;
  EngSlot* slot = stays || states != sim->state ? NULL : known_slot(sim);
  if (stays) mode = sim->core.mode;
  if (slot) mode = slot->mode;
  if (!mode) status = eng_get_mode(sim, states, &mode, &failure);
  if (status < 0) return fail_mode(sim, status, failure);
  bool same = mode == sim->core.mode;
  sim->programs.entered = false;
  if (!same) {
    // what a mode without wishes has computed is no work of the next one
    if (sim->programs.slot && sim->programs.slot->tuned)
      sim->programs.tune_seen = sim->stepper->counters.rhs;
    if (slot && slot->bound) {
      take_slot(sim, slot, mode);
    } else {
      SLT_TRY(make_room(sim, mode));
    }
    begin_mode(sim, mode);
  }
  // product modes with the same equations may be one
  if (!same || (mode->shared && !stays)) eng_atoms_enter_mode(sim);
  if (!entered) memcpy(sim->programs.entered_state, sim->state, bytes);
  sim->programs.entered = true;
  if (!sim->active.reduced || !eng_reduced_bind(sim)) eng_bind(sim);
  return SLT_OK;
}

SltStatus eng_enter_mode(EngSim* sim) {
  SLT_TRY(bind_mode(sim));
  sim->dae.impulsive = false;
  sim->dae.contradicts = false;
  sim->dae.contradicted = MODEL_NONE;
  if (ENG_UNLIKELY(sim->core.mode->implicit)) SLT_TRY(eng_dae_enter(sim));
  if (eng_reduced_unseen(sim)) {
    sim->core.full_stale = true;
    return SLT_OK;
  }
  eng_evaluate_full(sim, sim->core.t);
  if (ENG_UNLIKELY(sim->core.mode->implicit)) eng_dae_rescue(sim);
  return SLT_OK;
}

SltStatus eng_preview_mode(EngSim* sim) {
  EngError error = sim->error;
  SltStatus status = bind_mode(sim);
  if (status < 0 && status != SLT_ERR_STRUCTURE) return status;
  if (status < 0) {
    // states that are only passed need no solution: the equations before go on
    sim->error = error;
    eng_bind(sim);
  }
  const ModelMode* mode = sim->core.mode;
  if (!mode->implicit) {
    eng_evaluate_full(sim, sim->core.t);
    return SLT_OK;
  }
  model_program_run(&mode->full, eng_context(sim), sim->programs.full, sim->core.t, sim->x,
                    sim->values.full);
  for (uint32_t i = 0; i < mode->full.output_count; i++) {
    bool solved = events_visit_origins(sim, mode->full_env[i], NULL, NULL);
    if (!solved) sim->env[mode->full_env[i]] = sim->values.full[i];
  }
  return SLT_OK;
}

SltStatus eng_rebind_mode(EngSim* sim) {
  eng_find_active(sim);
  bool margin_stale = sim->core.margins.stale;
  uint64_t level_epoch = sim->core.margins.level_epoch;
  for (uint32_t i = 0; i < ENG_SLOTS; i++) {
    sim->programs.slots[i].bound = false;
  }
  SLT_TRY(make_room(sim, sim->core.mode));
  sim->values.sampled = false;
  sim->programs.entered = false;
  bind_programs(sim);
  // the environment may hold values from inside a step; guesses come from its beginning
  if (ENG_UNLIKELY(sim->core.mode->implicit)) eng_dae_use_guess(sim);
  sim->core.margins.stale = margin_stale;
  sim->core.margins.level_epoch = level_epoch;
  if (sim->core.local.prepared) eng_local_prepare(sim);
  // control points are kept in registers
  bool pending = sim->core.local.running && sim->core.segment.trial_pending;
  if (sim->stepper->shared.weight) sim->stepper->shared.weight = sim->waiting.weight;
  for (uint32_t i = 0; pending && i < sim->core.mode->state_count; i++) {
    eng_control_state(sim, i);
  }
  if (ENG_UNLIKELY(sim->core.contact.active)) SLT_TRY(eng_contact_rebind(sim));
  return sim->core.slide.count ? eng_slide_rebind(sim) : SLT_OK;
}

void eng_publish_full(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  for (uint32_t i = 0; i < mode->full.output_count; i++) {
    sim->env[mode->full_env[i]] = sim->values.full[i];
  }
}

/// Equations read the switches of kinks of motion at rest on the side of the values, where it need
/// not have left them (detect/asymptote.c): abs(x) is not negative. `back`: as they are.
static bool turn_kinks(EngSim* sim, double t, bool back) {
  const ModelMode* mode = sim->core.mode;
  bool turned = false;
  for (uint32_t a = 0; a < sim->model->automaton_count; a++) {
    uint32_t follows = sim->sliding.value.follows[a];
    const EngAtom* atom = follows == MODEL_NONE ? NULL : &sim->atoms[follows / 2];
    if (!atom || !atom->kind.asymptotic || !atom->kind.kink) continue;
    uint32_t place = eng_atom_place(mode, follows / 2);
    if (place == MODEL_NONE) continue;
    double g = eng_output_at(sim, &mode->g_flow, sim->programs.g_flow, place, t, sim->x);
    bool on = (g > 0.0) == (follows % 2 == 1);
    if (!(g < 0.0 || g > 0.0) || on == (sim->state[a] == 1)) continue;
    const ModelState* states = sim->model->automata[a].states;
    for (uint32_t s = 0; s < 2; s++) {
      if (states[s].test_env != MODEL_NONE) sim->env[states[s].test_env] = (s == 1) == (on != back);
    }
    turned = true;
  }
  if (turned) bind_inputs(&mode->full, sim->env, sim->programs.full);
  return turned;
}

static void run_full(EngSim* sim, double t) {
  const ModelMode* mode = sim->core.mode;
  bool turned = sim->detect.has_kinks && turn_kinks(sim, t, false);
  model_program_run(&mode->full, eng_context(sim), sim->programs.full, t, sim->x, sim->values.full);
  eng_publish_full(sim);
  if (turned) turn_kinks(sim, t, true);
}

void eng_evaluate_full(EngSim* sim, double t) {
  sim->core.full_stale = false;
  if (ENG_UNLIKELY(sim->core.slide.count)) {
    eng_slide_full(sim, t);
  } else {
    run_full(sim, t);
  }
  if (ENG_UNLIKELY(sim->core.contact.active)) eng_contact_full(sim, t);
}

void eng_evaluate_row(EngSim* sim) {
  const ModelMode* mode = sim->core.mode;
  double t = sim->core.t;
  eng_evaluate_full(sim, t);
  bool inside = sim->core.segment.trial_pending && t < sim->stepper->trial.t;
  if (!inside || eng_is_held(sim) || !mode->implicit || !mode->implicit->iterates) return;
  if (eng_all_finite(sim->values.full, mode->full.output_count)) return;
  // the values at the end of the step, as another guess
  uint32_t failed = sim->dae.failed;
  eng_states_at(sim, sim->stepper->trial.t);
  run_full(sim, sim->stepper->trial.t);
  model_program_guess(&mode->full, sim->env, sim->programs.full);
  eng_gather_states(sim);
  run_full(sim, t);
  // steps go on with the guesses from their beginning
  model_program_guess(&mode->full, sim->values.guess, sim->programs.full);
  sim->dae.failed = failed;
}

void eng_sample_states(EngSim* sim, double t) {
  sim->core.local.stale = false;
  sim->values.sampled = true;
  sim->values.sampled_t = t;
  sim->core.full_stale = true;
  eng_states_at(sim, t);
  if (ENG_UNLIKELY(sim->core.mode->implicit)) {
    bool changed = false;
    eng_project(sim, t, sim->x, &changed);
    sim->values.epoch++;
  }
  eng_place_states(sim, sim->x);
}

void eng_states_at_end(EngSim* sim) {
  const NumStepper* stepper = sim->stepper;
  bool there = sim->values.dense_t == stepper->trial.t && !stepper->shared.weight;
  for (uint32_t i = 0; there && i < stepper->trial.n; i++)
    there = sim->x[i] == stepper->trial.x[i];
  if (there) return;
  num_dense_eval(stepper, stepper->trial.t, sim->x);
  sim->values.dense_t = stepper->trial.t;
  sim->values.epoch++;
}

void eng_take_trial_end(EngSim* sim) {
  num_dense_settle(sim->stepper);
  eng_states_at_end(sim);
  eng_place_states(sim, sim->x);
  sim->values.sampled = false;
  sim->core.full_stale = true;
  sim->core.local.stale = false;
}

void eng_sample(EngSim* sim, double t) {
  eng_sample_states(sim, t);
  eng_evaluate_full(sim, t);
}

double eng_output_at(EngSim* sim, const ModelProgram* program, double* regs, uint32_t index,
                     double t, const double* x) {
  const ModelContext* context = &sim->values.flow_context;
  double value = 0.0;
  if (model_program_run_output(program, context, regs, t, eng_point_state, x, index, &value)) {
    return value;
  }
  model_program_run(program, context, regs, t, x, sim->probe.g);
  return sim->probe.g[index];
}

/// Some outputs of a program over the atoms of the mode; false: it has no slices for them.
static bool evaluate_some(EngSim* sim, const ModelProgram* program, double* regs, double t,
                          double* out) {
  const ModelContext* context = eng_context(sim);
  sim->detect.g_epoch = sim->detect.gdot_epoch = 0;
  for (uint32_t k = 0; k < sim->active.followed_count; k++) {
    uint32_t i = sim->active.followed[k];
    if (!model_program_run_output(program, context, regs, t, eng_point_state, sim->x, i, &out[i])) {
      return false;
    }
  }
  return true;
}

void eng_evaluate_followed_slow(EngSim* sim, double t, bool with_slope) {
  const ModelMode* mode = sim->core.mode;
  // in an instant the list is as its begin has made it
  if (!sim->active.reduced) eng_followed(sim);
  bool few = (sim->active.reduced || sim->core.slide.local) && !sim->detect.has_pre &&
             sim->active.followed_count > 0 && sim->active.followed_count <= mode->atom_count / 8;
  if (!few || !evaluate_some(sim, &mode->g_flow, sim->programs.g_flow, t, sim->detect.g)) {
    eng_evaluate_g(sim, t, with_slope);
    return;
  }
  sim->core.counts.guard_evaluations++;
  if (with_slope && !evaluate_some(sim, &mode->gdot, sim->programs.gdot, t, sim->detect.gdot)) {
    eng_evaluate_gdot(sim, t);
  }
}

bool eng_beyond_boundary(EngSim* sim, double t, const double* x) {
  const ModelMode* mode = sim->core.mode;
  sim->detect.g_epoch = 0;
  model_program_run(&mode->g_flow, eng_context(sim), sim->programs.g_flow, t, x, sim->detect.g);
  for (uint32_t place = 0; place < sim->active.indicator_count; place++) {
    uint32_t i = sim->active.indicators[place];
    const EngAtom* atom = &sim->atoms[mode->atoms[i]];
    if (sim->model->atoms[mode->atoms[i]].type != MODEL_ATOM_UNILATERAL) continue;
    if (atom->armed && !atom->truth && !(sim->detect.g[i] <= 0.0)) return true;
  }
  return false;
}

SltStatus eng_free_flow(void* user, double t, const double* x, double* dx) {
  EngSim* sim = user;
  model_program_run(&sim->core.mode->rhs, &sim->values.flow_context, sim->programs.rhs, t, x, dx);
  return SLT_OK;
}

/// Rates where something besides the equations of the mode decides about them.
__attribute__((noinline))  // or every evaluation saves registers for it
static SltStatus
bound_flow(EngSim* sim, double t, const double* x, double* dx) {
  if (sim->detect.has_unilateral && eng_beyond_boundary(sim, t, x)) return SLT_ERR_STEP;
  SLT_TRY(sim->core.slide.count ? eng_slide_rhs(sim, t, x, dx) : eng_free_flow(sim, t, x, dx));
  bool reacts = sim->core.contact.active && !eng_slide_has_reactions(sim);
  return reacts ? eng_contact_rhs(sim, t, x, dx) : SLT_OK;
}

SltStatus eng_rhs(void* user, double t, const double* x, double* dx) {
  const EngSim* sim = user;
  return ENG_UNLIKELY(!eng_is_plain(sim)) ? bound_flow(user, t, x, dx)
                                          : eng_free_flow(user, t, x, dx);
}

static SltStatus stages_of_mode(void* user, const NumStages* s) {
  EngSim* sim = user;
  const ModelProgram* rhs = &sim->core.mode->rhs;
  ModelStages stages = {.t = s->t,
                        .h = s->h,
                        .t_end = s->t_end,
                        .x = s->x,
                        .k1 = s->k1,
                        .k = s->k,
                        .stride = s->stride,
                        .y = s->y,
                        .x_end = s->x_end,
                        .k7 = s->k7};
  ModelStagesFn* run = atomic_load_explicit(&rhs->native->stages, memory_order_acquire);
  run(&model_host, rhs, &sim->values.flow_context, sim->programs.rhs, &stages);
  return SLT_OK;
}

static SltStatus stages_of_team(void* user, const NumStages* s) {
  EngSim* sim = user;
  return num_stages_by_team(s, sim->stepper->n, sim->values.flow_context.team, eng_rhs, sim);
}

bool eng_is_plain(const EngSim* sim) {
  return !sim->detect.has_unilateral && !sim->core.slide.count && !sim->core.contact.active;
}

void eng_choose_stages(EngSim* sim) {
  const ModelProgram* rhs = &sim->core.mode->rhs;
  // nothing else that determines the rates changes during a trial
  sim->stepper->rhs = eng_is_plain(sim) ? eng_free_flow : eng_rhs;
  bool ready = eng_is_plain(sim) && !sim->core.step.chords && rhs->native &&
               atomic_load_explicit(&rhs->native->stages, memory_order_relaxed) != NULL;
  bool many = sim->values.flow_context.team && sim->core.mode->state_count >= ENG_TEAM_STATES;
  sim->stepper->stages = ready ? stages_of_mode : many ? stages_of_team : NULL;
}

bool eng_all_finite(const double* values, size_t n) {
  double sum = 0.0;
  for (size_t i = 0; i < n; i++) {
    sum += 0.0 * values[i];
  }
  return sum == 0.0;
}

const ModelVar* eng_var_at(const EngSim* sim, uint32_t env, uint32_t* order) {
  for (uint32_t v = 0; v < sim->model->var_count; v++) {
    const ModelVar* var = &sim->model->vars[v];
    *order = env - var->env;
    if (env >= var->env && *order < var->slots) return var;
  }
  return NULL;
}

const ModelVar* eng_not_finite(const EngSim* sim, bool* derivative) {
  const ModelMode* mode = sim->core.mode;
  for (uint32_t v = 0; v < sim->model->var_count; v++) {
    const ModelVar* var = &sim->model->vars[v];
    uint32_t last = mode->vars[v].role == MODEL_ROLE_STATE ? mode->vars[v].state_order : 0;
    if (last > var->max_order) last = var->max_order;
    for (uint32_t order = 0; order <= last; order++) {
      if (isfinite(sim->env[var->env + order]) || var->unbounded) continue;
      *derivative = order > 0;
      return var;
    }
  }
  return NULL;
}

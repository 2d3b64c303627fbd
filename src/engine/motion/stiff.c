// SPDX-License-Identifier: MIT
//
// What stiff methods need of the present motion: the Jacobian of the mode, the equations of its
// blocks as algebraic equations, and a solver for systems of that pattern. Everything is made when
// a mode is entered for the first time with such a method, and kept.
//
// Motion along a surface and closed contacts combine the flows of several modes by shares that
// depend on the states; their Jacobian is taken by differences.
#include "engine/run/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DIFFERENCES_MAX 1000  // states of a motion whose Jacobian is full
#define STIFF_STEPS     10    // suspicious steps in a row after which a stiff method pays
#define EASY_STEPS      25    // ... and steps in a row after which it does not any more
#define EASY_PRODUCT    2.5  // step times bound of the eigenvalues that an explicit method can take
#define PRICE_LOW       10.0  // of a stiff step, in explicit ones, at which it is simply tried
#define PATIENCE_GROWS  8     // where a stiff method did not pay for long

// ---- callbacks of the stepper -------------------------------------------------------------------

/// A slope that is no number (the root of nothing) counts as 0: the error estimate sees what that
/// costs, and the step gets shorter.
static void tame(double* values, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!isfinite(values[i])) values[i] = 0.0;
  }
}

/// Rates and Jacobian of the mode; the states are in xu, the algebraic unknowns go there.
static void differentiate(EngSim* sim, double t, double* xu, double* f, double* values) {
  const EngStiff* st = &sim->stiff;
  const ModelMode* mode = sim->core.mode;
  const ModelStiff* stiff = st->present;
  const ModelContext* context = eng_context(sim);
  model_program_run(&mode->rhs, context, sim->programs.rhs, t, xu, f);
  for (uint32_t i = 0; i < stiff->algebraic; i++) {
    xu[mode->state_count + i] = sim->programs.rhs[stiff->unknowns[i]];
  }
  // the program gives what belongs to time behind the entries, for which `values` has no room
  double* entries = stiff->time_count ? st->work : values;
  model_program_run(&stiff->jacobian, context, st->jacobian_regs, t, xu, entries);
  if (entries != values) memcpy(values, entries, stiff->entry_count * sizeof *values);
  tame(values, stiff->entry_count);
}

static SltStatus linearize_mode(void* user, double t, double* xu, double* f, double* values,
                                double* ft, bool* timed) {
  EngSim* sim = user;
  const ModelStiff* stiff = sim->stiff.present;
  differentiate(sim, t, xu, f, values);
  *timed = stiff->time_count > 0;
  if (!*timed) return SLT_OK;
  uint32_t seen = sim->core.mode->state_count + stiff->algebraic;
  memset(ft, 0, ((size_t)seen + stiff->auxiliary) * sizeof *ft);
  for (uint32_t i = 0; i < stiff->time_count; i++) {
    ft[stiff->time_rows[i]] = sim->stiff.work[stiff->entry_count + i];
  }
  num_linear_fold(sim->stepper->system.linear, ft);
  tame(ft, seen);
  return SLT_OK;
}

static SltStatus stage_of_mode(void* user, double t, const double* xu, double* out) {
  EngSim* sim = user;
  const ModelContext* context = eng_context(sim);
  if (sim->detect.has_unilateral && eng_beyond_boundary(sim, t, xu)) return SLT_ERR_STEP;
  model_program_run(&sim->stiff.present->stage, context, sim->stiff.stage_regs, t, xu, out);
  return SLT_OK;
}

static SltStatus linearize_combined(void* user, double t, double* xu, double* f, double* values,
                                    double* ft, bool* timed) {
  EngSim* sim = user;
  const ModelMode* mode = sim->core.mode;
  EngStiff* st = &sim->stiff;
  SLT_TRY(eng_rhs(sim, t, xu, f));
  double* scale = st->work;
  for (uint32_t i = 0; i < mode->state_count; i++) {
    scale[i] =
        fmax(1e-3 * sim->stepper->scales.value[i], fabs(f[i]) * sim->stepper->control.h_next);
  }
  *timed = true;
  SLT_TRY(num_linear_differences(sim->stepper->system.linear, eng_rhs, sim, t, xu, f, scale,
                                 sim->stepper->control.h_next, st->work + mode->state_count, ft));
  tame(values, (size_t)mode->state_count * mode->state_count);
  tame(ft, mode->state_count);
  return SLT_OK;
}

// ---- making -------------------------------------------------------------------------------------

static SltStatus fail_jacobian(EngSim* sim, SltStatus status) {
  if (status == SLT_ERR_NOMEM) {
    return eng_fail(sim, status, DIAG_E0811, NULL, "out of memory for the Jacobian of a mode");
  }
  eng_fail(sim, SLT_ERR_LIMIT, DIAG_E0825, NULL,
           "at t = %s the method %s needs the Jacobian of the equations, which is too large here",
           eng_number(sim->core.t).text, sim->stepper->method->name);
  return eng_hint(sim, "an explicit method needs none: --method dp54");
}

/// What is known of the present mode; nothing at its first entry.
static SltStatus find_entry(EngSim* sim, EngStiffMode** out) {
  EngStiff* st = &sim->stiff;
  const ModelMode* mode = sim->core.mode;
  SLT_TRY(ENG_GROW(sim, st->modes, (size_t)mode->id + 1));
  *out = &st->modes[mode->id];
  return SLT_OK;
}

/// Programs of the present mode, and a solver for the pattern of its Jacobian.
static SltStatus make_linear(EngSim* sim, EngStiffMode* entry, NumLinear** linear) {
  if (*linear) return SLT_OK;
  if (!sim->provider.stiff) return fail_jacobian(sim, SLT_ERR_LIMIT);
  SltStatus status = sim->provider.stiff(sim->provider.user, sim->state, &entry->stiff);
  if (status < 0) return fail_jacobian(sim, status);
  NumPattern pattern = {.states = sim->core.mode->state_count,
                        .algebraic = entry->stiff->algebraic,
                        .auxiliary = entry->stiff->auxiliary,
                        .begin = entry->stiff->begin,
                        .columns = entry->stiff->columns};
  status = num_linear_create(&sim->options.allocator, &pattern, linear);
  return status < 0 ? fail_jacobian(sim, status) : SLT_OK;
}

static SltStatus find_mode(EngSim* sim, EngStiffMode** out) {
  SLT_TRY(find_entry(sim, out));
  return make_linear(sim, *out, &(*out)->linear);
}

// ---- choice of the method -----------------------------------------------------------------------

static void switch_to(EngSim* sim, const NumMethod* method) {
  EngChoice* choice = &sim->core.choice;
  if (sim->options.method_auto) {
    if (choice->switches == 0) choice->t_first = sim->core.t;
    choice->t_last = sim->core.t;
    choice->switches++;
  }
  uint64_t steps = sim->stepper->counters.steps;
  if (method->stiff) {
    choice->steps_then = steps;
  } else if (steps - choice->steps_then > (uint64_t)2 * EASY_STEPS) {
    choice->patience = STIFF_STEPS;
  } else if (choice->patience < 1000000) {
    choice->patience *= PATIENCE_GROWS;
  }
  choice->stiff_steps = 0;
  choice->easy_steps = 0;
  num_stepper_switch(sim->stepper, method);
  sim->stiff.ready = false;
}

/// How much longer a step must be than an explicit one to pay: the operations of both.
static double price(const EngSim* sim, const ModelStiff* stiff, const NumLinear* linear) {
  double rhs = (double)sim->core.mode->rhs.code_count + 20.0;
  double jacobian = eng_is_held(sim) ? rhs * (double)sim->core.mode->state_count
                                     : (double)stiff->jacobian.code_count;
  return 1.0 + (jacobian + num_linear_cost(linear)) / (6.0 * rhs);
}

/// Explicit steps more that a trial of a stiff method is worth: where its steps are dear, the trial
/// would cost more than going on, and what has been spent so far decides.
static double hesitation(EngSim* sim) {
  EngStiffMode* entry = NULL;
  if (eng_is_held(sim)) return 0.0;
  if (find_mode(sim, &entry) < 0) {
    sim->error = (EngError){0};  // told when the method is asked for
    return 0.0;
  }
  return EASY_STEPS * fmax(price(sim, entry->stiff, entry->linear) - PRICE_LOW, 0.0);
}

/// Count what the last step tells; true when the other kind of method should take over.
static bool step_asks_for_change(EngSim* sim) {
  NumStepper* stepper = sim->stepper;
  EngChoice* choice = &sim->core.choice;
  if (stepper->counters.steps == choice->steps_seen) return false;
  choice->steps_seen = stepper->counters.steps;
  if (!stepper->method->stiff) {
    choice->stiff_steps = stepper->control.stiff_suspected ? choice->stiff_steps + 1 : 0;
    if (choice->patience == 0) choice->patience = STIFF_STEPS;
    if (choice->stiff_steps < choice->patience || choice->no_jacobian) return false;
    return choice->stiff_steps >= choice->patience + hesitation(sim);
  }
  choice->easy_steps = choice->easy ? choice->easy_steps + 1 : 0;
  return choice->easy_steps >= EASY_STEPS;
}

void eng_stiff_note_trial(EngSim* sim) {
  const NumStepper* stepper = sim->stepper;
  if (!sim->options.method_auto || !stepper->method->stiff || !sim->stiff.ready) return;
  double product =
      stepper->trial.h * num_linear_bound(stepper->system.linear, stepper->scales.value);
  double dear = price(sim, sim->stiff.present, stepper->system.linear);
  sim->core.choice.easy = product <= EASY_PRODUCT * dear;
}

/// Whether a motion that combines modes has too many states for a full Jacobian.
static bool must_be_explicit(const EngSim* sim) {
  return eng_is_held(sim) && sim->core.mode->state_count > DIFFERENCES_MAX;
}

/// Chords in place of roots are steep: at rest an explicit method goes to and fro on them.
static bool by_chords(const EngSim* sim) {
  return sim->core.step.chords && sim->options.method->adaptive && !must_be_explicit(sim);
}

static void choose_method(EngSim* sim) {
  const NumMethod* present = sim->stepper->method;
  if (sim->core.mode->state_count == 0) return;
  if (sim->options.method_auto) {
    bool change = step_asks_for_change(sim);
    if (present->stiff && must_be_explicit(sim)) change = true;
    if (!present->stiff && must_be_explicit(sim)) change = false;
    if (by_chords(sim)) change = !present->stiff;
    if (!change) {
      const NumMethod* pair = present->stiff ? NULL : eng_order_choose(sim);
      if (pair) num_stepper_switch(sim->stepper, pair);
      return;
    }
    switch_to(sim, present->stiff ? sim->motion.explicit_method : sim->motion.stiff_method);
    return;
  }
  const NumMethod* own = sim->options.method;
  bool stiff = by_chords(sim) || (own->stiff && !must_be_explicit(sim));
  if (stiff == present->stiff) return;
  const NumMethod* other = stiff ? sim->motion.stiff_method : sim->motion.explicit_method;
  switch_to(sim, stiff == own->stiff ? own : other);
}

/// A time for a sentence: four digits.
static EngNumber short_time(double t) {
  return eng_number(eng_rounded(t, 4.0));
}

const char* eng_method_reason(const EngSim* sim, char* text, size_t capacity) {
  const EngChoice* choice = &sim->core.choice;
  if (!sim->options.method_auto) return NULL;
  char pair[160] = "";
  if (choice->pair_switches) {
    snprintf(pair, sizeof pair, "; " ENG_SMALL_METHOD " where events limit the steps, from t = %s",
             short_time(choice->t_pair).text);
  }
  if (choice->pairs.phase == NUM_PAIR_LARGER) {
    size_t length = strlen(pair);
    snprintf(pair + length, sizeof pair - length,
             "; " ENG_LARGE_METHOD " goes farther, from t = %s", short_time(choice->t_large).text);
  }
  if (choice->switches == 0) {
    snprintf(text, capacity, "no sign of stiffness%s", pair);
  } else if (choice->switches == 1) {
    snprintf(text, capacity, "stiff from t = %s on, %s before%s", short_time(choice->t_first).text,
             ENG_EXPLICIT_METHOD, pair);
  } else {
    snprintf(text, capacity, "stiff at times, %u switches between %s and %s from t = %s to %s%s",
             choice->switches, ENG_EXPLICIT_METHOD, ENG_STIFF_METHOD,
             short_time(choice->t_first).text, short_time(choice->t_last).text, pair);
  }
  return text;
}

// ---- before a step ------------------------------------------------------------------------------

/// Memory of a multistep method, made at the first use.
static SltStatus prepare_past(EngSim* sim, uint32_t algebraic, NumMultistep** past,
                              NumSystem* system) {
  const NumMethod* method = sim->stepper->method;
  if (!method->multistep) return SLT_OK;
  if (!*past) {
    SltStatus status = num_multistep_create(&sim->options.allocator, method,
                                            sim->core.mode->state_count, algebraic, past);
    if (status < 0) return fail_jacobian(sim, status);
  }
  system->multistep = *past;
  return SLT_OK;
}

/// Without a Jacobian: a multistep method that iterates.
static SltStatus prepare_plain(EngSim* sim) {
  EngStiffMode* entry = NULL;
  SLT_TRY(find_entry(sim, &entry));
  NumSystem system = {.user = sim};
  SLT_TRY(prepare_past(sim, 0, &entry->past, &system));
  num_stepper_set_system(sim->stepper, &system);
  return SLT_OK;
}

/// Registers of the mode's programs.
static SltStatus bind_mode(EngSim* sim, const ModelStiff* stiff) {
  EngStiff* st = &sim->stiff;
  size_t stage = stiff->algebraic ? stiff->stage.reg_count : 0;
  SLT_TRY(ENG_GROW(sim, st->regs, stage + stiff->jacobian.reg_count));
  size_t outputs = stiff->time_count ? stiff->jacobian.output_count : 0;
  SLT_TRY(ENG_GROW(sim, st->work, outputs));
  st->stage_regs = st->regs;
  st->jacobian_regs = st->regs + stage;
  if (stage) model_program_bind(&stiff->stage, sim->env, st->stage_regs);
  model_program_bind(&stiff->jacobian, sim->env, st->jacobian_regs);
  st->present = stiff;
  return SLT_OK;
}

static SltStatus prepare_mode(EngSim* sim) {
  EngStiffMode* entry = NULL;
  SLT_TRY(find_mode(sim, &entry));
  const ModelStiff* stiff = entry->stiff;
  if (sim->stiff.present != stiff) sim->programs.tune_at = 0;  // there is more to compile
  SLT_TRY(bind_mode(sim, stiff));
  NumSystem system = {.linear = entry->linear,
                      .linearize = linearize_mode,
                      .stage = stiff->algebraic ? stage_of_mode : NULL,
                      .user = sim};
  SLT_TRY(prepare_past(sim, stiff->algebraic, &entry->past, &system));
  num_stepper_set_system(sim->stepper, &system);
  return SLT_OK;
}

static SltStatus prepare_combined(EngSim* sim) {
  EngStiff* st = &sim->stiff;
  uint32_t n = sim->core.mode->state_count;
  EngStiffMode* entry = NULL;
  SLT_TRY(find_entry(sim, &entry));
  if (!entry->full) {
    SltStatus status = num_linear_create_full(&sim->options.allocator, n, &entry->full);
    if (status < 0) return fail_jacobian(sim, status);
  }
  SLT_TRY(ENG_GROW(sim, st->work, 3 * (size_t)n + 1));
  st->present = NULL;
  NumSystem system = {.linear = entry->full, .linearize = linearize_combined, .user = sim};
  SLT_TRY(prepare_past(sim, 0, &entry->full_past, &system));
  num_stepper_set_system(sim->stepper, &system);
  return SLT_OK;
}

SltStatus eng_stiff_prepare(EngSim* sim) {
  const NumMethod* asked = sim->options.method;
  bool own = asked == sim->stepper->method && !sim->core.step.chords;
  if (!sim->options.method_auto && !asked->stiff && !asked->multistep && own) return SLT_OK;
  choose_method(sim);
  const NumMethod* method = sim->stepper->method;
  if (!(method->stiff || method->multistep) || sim->stiff.ready) return SLT_OK;
  bool full = sim->core.mode->state_count == 0 || eng_is_held(sim);
  SltStatus status = !method->stiff ? prepare_plain(sim)
                     : full         ? prepare_combined(sim)
                                    : prepare_mode(sim);
  if (status == SLT_ERR_LIMIT && sim->options.method_auto) {
    // no room for a Jacobian: stiff or not, an explicit method goes on
    sim->error = (EngError){0};
    sim->core.choice.no_jacobian = true;
    switch_to(sim, sim->motion.explicit_method);
    return SLT_OK;
  }
  SLT_TRY(status);
  sim->stiff.ready = true;
  return SLT_OK;
}

// ---- where the motion leads ---------------------------------------------------------------------

/// A solver of its own: that of the stepper holds what the steps to come need.
static SltStatus step_to_rest(EngSim* sim, double t, double span, EngRest* rest) {
  EngStiff* st = &sim->stiff;
  EngStiffMode* entry = NULL;
  const uint32_t n = sim->core.mode->state_count;
  SLT_TRY(find_entry(sim, &entry));
  SLT_TRY(make_linear(sim, entry, &entry->rest));
  const ModelStiff* stiff = entry->stiff;
  size_t total = (size_t)n + stiff->algebraic + stiff->auxiliary;
  SLT_TRY(ENG_GROW(sim, rest->x, total));
  SLT_TRY(ENG_GROW(sim, rest->reach, total));
  SLT_TRY(ENG_GROW(sim, rest->known, total));
  if (!st->ready || st->present != stiff) SLT_TRY(bind_mode(sim, stiff));
  memset(rest->known, 0, total);
  memcpy(rest->x, sim->x, n * sizeof *rest->x);
  differentiate(sim, t, rest->x, sim->probe.flow, num_linear_values(entry->rest));
  rest->linear = entry->rest;
  double* unit = sim->probe.x;
  for (uint32_t i = 0; i < n; i++) {
    unit[i] = eng_state_pad(sim, i);
  }
  return num_linear_step(entry->rest, eng_free_flow, sim, t, span, unit, rest->x);
}

EngRest* eng_stiff_rest(EngSim* sim, double t, double span) {
  if (sim->core.mode->state_count == 0 || eng_is_held(sim)) return NULL;
  if (step_to_rest(sim, t, span, &sim->stiff.rest) >= 0) return &sim->stiff.rest;
  sim->error = (EngError){0};
  return NULL;
}

void eng_stiff_free(EngSim* sim) {
  EngStiff* st = &sim->stiff;
  for (size_t i = 0; i < ENG_ROOM(st->modes); i++) {
    num_linear_free(st->modes[i].linear);
    num_linear_free(st->modes[i].full);
    num_linear_free(st->modes[i].rest);
    num_multistep_free(st->modes[i].past);
    num_multistep_free(st->modes[i].full_past);
  }
}

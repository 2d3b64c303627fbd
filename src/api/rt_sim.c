// SPDX-License-Identifier: MIT
//
// The public face of a run: argument checks, names, handles.
#include "api/handles.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

uint32_t slt_number_text(double value, char* out) {
  return number_write(out, value);
}

// ---- options ------------------------------------------------------------------------------------

SltSimOptions slt_sim_options(void) {
  double unset = (double)NAN;
  return (SltSimOptions){.t_start = unset,
                         .rtol = unset,
                         .atol = unset,
                         .h0 = unset,
                         .h_min = unset,
                         .h_max = unset,
                         .step = unset,
                         .event_eps = unset,
                         .gamma = unset,
                         .detection = SLT_DETECTION_EXPERIMENT,
                         .cookie = SIM_OPTIONS_COOKIE};
}

SltStatus slt_sim_options_check(const SltModel* model, const SltSimOptions* options,
                                const char** problem) {
  EngOptions resolved;
  const char* what = NULL;
  if (!model || !options || options->cookie != SIM_OPTIONS_COOKIE) return SLT_ERR_ARGUMENT;
  SltStatus status = eng_options_resolve(model->model, options, &resolved, &what);
  if (problem) *problem = what;
  return status;
}

void slt_model_free(SltModel* model) {
  if (model) model->destroy(model);
}

// ---- life ---------------------------------------------------------------------------------------

static SltStatus find_visible(SltSim* sim) {
  uint32_t n = sim->model->automaton_count;
  sim->visible_capacity = n ? n : 1;
  sim->visible = base_alloc(&sim->allocator, sim->visible_capacity * sizeof *sim->visible);
  if (!sim->visible) return SLT_ERR_NOMEM;
  for (uint32_t a = 0; a < n; a++) {
    const ModelAutomaton* automaton = &sim->model->automata[a];
    if (automaton->hidden || automaton->kind != MODEL_AUTOMATON_USER) continue;
    sim->visible[sim->visible_count++] = a;
  }
  return SLT_OK;
}

SltStatus slt_sim_create(const SltModel* model, const SltSimOptions* options, SltSim** out) {
  if (!out) return SLT_ERR_ARGUMENT;
  *out = NULL;
  if (!model || !options || options->cookie != SIM_OPTIONS_COOKIE) return SLT_ERR_ARGUMENT;
  EngOptions resolved;
  const char* what = NULL;
  SLT_TRY(eng_options_resolve(model->model, options, &resolved, &what));
  resolved.foreign = &model->foreign;
  resolved.folder = model->folder;
  SltSim* sim = base_alloc(&resolved.allocator, sizeof *sim);
  if (!sim) return SLT_ERR_NOMEM;
  sim->allocator = resolved.allocator;
  sim->model = model->model;
  SltStatus status = eng_create(model->model, model->provider, &resolved, &sim->engine);
  if (status >= 0) status = find_visible(sim);
  if (status < 0) {
    slt_sim_free(sim);
    return status;
  }
  *out = sim;
  return SLT_OK;
}

void slt_sim_free(SltSim* sim) {
  if (!sim) return;
  SltAllocator a = sim->allocator;
  eng_free(sim->engine);
  exchange_free(sim);
  base_free(&a, sim->lane_room, sim->lane_capacity * sizeof *sim->lane_room);
  base_free(&a, sim->visible, sim->visible_capacity * sizeof *sim->visible);
  arena_free(&sim->error_arena);
  base_free(&a, sim, sizeof *sim);
}

SltStatus slt_sim_set_constant(SltSim* sim, const char* name, double value) {
  if (!sim || !name) return SLT_ERR_ARGUMENT;
  Str wanted = str_from_c(name);
  for (uint32_t p = 0; p < sim->model->param_count; p++) {
    const ModelParam* param = &sim->model->params[p];
    if (param->hidden || !str_equal(param->name, wanted)) continue;
    if (param->structural) return SLT_ERR_ARGUMENT;
    return eng_set_param(sim->engine, p, value);
  }
  return SLT_ERR_NOT_FOUND;
}

SltStatus slt_sim_start(SltSim* sim) {
  return sim ? eng_start(sim->engine) : SLT_ERR_ARGUMENT;
}

static SltStatus advance(SltSim* sim, double t_stop, double* reached, bool per_step) {
  if (!sim || sim->exchange) return SLT_ERR_ARGUMENT;
  SltStatus status = eng_advance(sim->engine, t_stop, per_step);
  if (reached) *reached = eng_time(sim->engine);
  return status;
}

SltStatus slt_sim_advance(SltSim* sim, double t_stop, double* reached) {
  return advance(sim, t_stop, reached, false);
}

SltStatus slt_sim_advance_step(SltSim* sim, double t_stop, double* reached) {
  return advance(sim, t_stop, reached, true);
}

SltStatus slt_sim_ahead(SltSim* sim, double* until) {
  return sim && until && !sim->exchange ? eng_ahead(sim->engine, until) : SLT_ERR_ARGUMENT;
}

SltStatus slt_sim_look(SltSim* sim, double t) {
  return sim ? eng_look(sim->engine, t) : SLT_ERR_ARGUMENT;
}

double slt_sim_time(const SltSim* sim) {
  return sim ? eng_time(sim->engine) : (double)NAN;
}

// ---- names --------------------------------------------------------------------------------------

uint32_t slt_sim_column_count(const SltSim* sim) {
  return sim ? sim->model->column_count : 0;
}

const char* slt_sim_column_name(const SltSim* sim, uint32_t column) {
  if (!sim || column >= sim->model->column_count) return NULL;
  return sim->model->vars[sim->model->columns[column]].name.data;
}

static bool find_var(const Model* model, Str name, uint32_t* var) {
  uint32_t lo = 0;
  uint32_t hi = model->named_count;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo) / 2;
    int order = str_compare_natural(model->vars[mid].name, name);
    if (order == 0) {
      *var = mid;
      return !model->vars[mid].hidden;
    }
    if (order < 0) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  return false;
}

static bool find_derivative(const Model* model, Str name, SltQuantity* out) {
  uint32_t order = 0;
  while (name.length > 0 && name.data[name.length - 1] == '\'') {
    name.length--;
    order++;
  }
  uint32_t var = 0;
  if (order == 0 || !find_var(model, name, &var) || order > model->vars[var].max_order) {
    return false;
  }
  *out = (SltQuantity){SLT_KIND_DERIVATIVE, var, order};
  return true;
}

/// AUTOMATON.state: the word `state` itself, asking for the present one.
static bool find_mode(const Model* model, Str name, SltQuantity* out) {
  static const Str suffix = {".state", 6};
  if (name.length <= suffix.length) return false;
  Str head = {name.data, name.length - suffix.length};
  if (!str_equal((Str){name.data + head.length, suffix.length}, suffix)) return false;
  for (uint32_t a = 0; a < model->automaton_count; a++) {
    if (!str_equal(model->automata[a].name, head)) continue;
    *out = (SltQuantity){SLT_KIND_MODE, a, 0};
    return true;
  }
  return false;
}

static bool find_quantity(const Model* model, Str wanted, SltQuantity* out) {
  uint32_t index = 0;
  if (find_var(model, wanted, &index)) {
    *out = (SltQuantity){SLT_KIND_VARIABLE, index, 0};
    return true;
  }
  if (find_derivative(model, wanted, out) || find_mode(model, wanted, out)) return true;
  for (uint32_t p = 0; p < model->param_count; p++) {
    if (model->params[p].hidden || !str_equal(model->params[p].name, wanted)) continue;
    *out = (SltQuantity){SLT_KIND_CONSTANT, p, 0};
    return true;
  }
  for (uint32_t m = 0; m < model->macro_count; m++) {
    if (!str_equal(model->macros[m].name, wanted)) continue;
    *out = (SltQuantity){SLT_KIND_MACRO, m, 0};
    return true;
  }
  *out = (SltQuantity){SLT_KIND_TIME, 0, 0};
  return str_equal(wanted, STR_LIT("time"));
}

/// The name that a model's text writes with one index: x[3] is x3, and r[2].x[3] is r[2].x3, or
/// r2.x3 where `owners` is given. False where there is none.
static bool paste_index(Str name, bool owners, char* room, size_t capacity, Str* out) {
  size_t length = 0;
  bool pasted = false;
  if (name.length > capacity) return false;
  for (size_t i = 0; i < name.length; i++) {
    size_t digits = 0;
    while (name.data[i] == '[' && i + 1 + digits < name.length &&
           name.data[i + 1 + digits] >= '0' && name.data[i + 1 + digits] <= '9') {
      digits++;
    }
    size_t end = i + 1 + digits;
    bool index = digits > 0 && end < name.length && name.data[end] == ']';
    if (!owners && end + 1 < name.length && name.data[end + 1] == '.') index = false;
    memcpy(room + length, name.data + i + index, index ? digits : 1);
    length += index ? digits : 1;
    i += index ? digits + 1 : 0;
    pasted = pasted || index;
  }
  *out = (Str){room, (uint32_t)length};
  return pasted;
}

SltStatus slt_sim_find(const SltSim* sim, const char* name, SltQuantity* out) {
  if (!sim || !name || !out) return SLT_ERR_ARGUMENT;
  Str wanted = str_from_c(name);
  if (wanted.length >= 2 && wanted.data[0] == '`' && wanted.data[wanted.length - 1] == '`') {
    wanted = (Str){wanted.data + 1, wanted.length - 2};
  }
  char room[256];
  Str pasted;
  if (find_quantity(sim->model, wanted, out)) return SLT_OK;
  for (int owners = 0; owners < 2; owners++) {
    bool any = paste_index(wanted, owners, room, sizeof room, &pasted);
    if (any && find_quantity(sim->model, pasted, out)) return SLT_OK;
  }
  return SLT_ERR_NOT_FOUND;
}

SltStatus slt_sim_set_initial(SltSim* sim, const char* name, double value) {
  SltQuantity quantity;
  if (!sim || !name) return SLT_ERR_ARGUMENT;
  // initial values of FMUs are constants: the FMU is told of them, and may not have the variable
  char constant[512];
  size_t room = sim->model->foreign_count ? sizeof constant : 0;
  int length = snprintf(constant, room, "%s(t0)", name);
  bool fits = length > 0 && (size_t)length < room;
  if (fits && slt_sim_set_constant(sim, constant, value) >= 0) return SLT_OK;
  SLT_TRY(slt_sim_find(sim, name, &quantity));
  bool variable = quantity.kind == SLT_KIND_VARIABLE || quantity.kind == SLT_KIND_DERIVATIVE;
  if (!variable) return SLT_ERR_NOT_FOUND;
  return eng_set_initial(sim->engine, quantity.index, quantity.order, value);
}

/// Whether a value follows from nothing but the text of the model: numbers, and constants that are
/// fixed when it is compiled.
static bool is_number(const Model* model, const ModelTerm* term) {
  const ModelProgram* program = &term->shape->program;
  bool timed = program->outputs[0] == 0;  // the time is in register 0
  for (uint32_t k = 0; k < program->code_count; k++) {
    const ModelInstr* instr = &program->code[k];
    uint32_t operands = model_op_operands(instr->op);
    timed = timed || (operands > 0 && instr->a == 0) || (operands > 1 && instr->b == 0);
    if (instr->op >= MODEL_OP_TABLE) return false;
  }
  if (timed) return false;
  for (uint32_t k = 0; k < program->input_count; k++) {
    uint32_t env = model_term_input(term, k);
    bool fixed = env == MODEL_NONE;
    for (uint32_t p = 0; p < model->param_count && !fixed; p++)
      fixed = model->params[p].structural && model->params[p].env == env;
    if (!fixed) return false;
  }
  return true;
}

bool slt_sim_initial(const SltSim* sim, uint32_t index, SltInitial* out) {
  if (!sim || !out || !eng_is_started(sim->engine)) return false;
  if (index >= sim->model->start_count) return false;
  const ModelStart* start = &sim->model->starts[index];
  bool number = is_number(sim->model, &start->value);
  SltKind kind = start->order ? SLT_KIND_DERIVATIVE : SLT_KIND_VARIABLE;
  *out = (SltInitial){.quantity = {kind, start->var, start->order},
                      .value = number ? eng_start_value(sim->engine, start) : (double)NAN,
                      .guess = !start->fixed,
                      .reads = start->reads};
  return true;
}

static bool quantity_valid(const SltSim* sim, SltQuantity q) {
  switch (q.kind) {
  case SLT_KIND_VARIABLE:
  case SLT_KIND_DERIVATIVE:
    // derivatives that stand in no equation are states where constraints were differentiated
    return q.index < sim->model->var_count && q.order < sim->model->vars[q.index].slots;
  case SLT_KIND_CONSTANT: return q.index < sim->model->param_count;
  case SLT_KIND_MACRO: return q.index < sim->model->macro_count;
  case SLT_KIND_MODE: return q.index < sim->model->automaton_count;
  case SLT_KIND_TIME: return true;
  default: return false;
  }
}

static Str unit_of(const Model* model, SltQuantity q) {
  switch (q.kind) {
  case SLT_KIND_VARIABLE:
  case SLT_KIND_DERIVATIVE: return model->vars[q.index].unit;
  case SLT_KIND_CONSTANT: return model->params[q.index].unit;
  case SLT_KIND_MACRO: return model->macros[q.index].unit;
  case SLT_KIND_MODE:
  case SLT_KIND_TIME: break;
  }
  // time is in seconds where units are given at all
  for (uint32_t i = 0; q.kind == SLT_KIND_TIME && i < model->var_count; i++) {
    if (model->vars[i].unit.length) return STR_LIT("s");
  }
  return STR_LIT("");
}

SltStatus slt_sim_unit(const SltSim* sim, SltQuantity quantity, char* out, size_t size) {
  if (!sim || !out || size == 0 || !quantity_valid(sim, quantity)) return SLT_ERR_ARGUMENT;
  Str unit = unit_of(sim->model, quantity);
  uint32_t order = quantity.kind == SLT_KIND_DERIVATIVE ? quantity.order : 0;
  int length = unit.length == 0 || order == 0 ? snprintf(out, size, "%.*s", STR_ARGS(unit))
               : order == 1                   ? snprintf(out, size, "%.*s/s", STR_ARGS(unit))
                            : snprintf(out, size, "%.*s/s^%u", STR_ARGS(unit), order);
  return length >= 0 && (size_t)length < size ? SLT_OK : SLT_ERR_LIMIT;
}

SltStatus slt_unit_convert(double value, const char* from, const char* to, double* out) {
  Unit a;
  Unit b;
  if (!from || !to || !out) return SLT_ERR_ARGUMENT;
  if (!unit_read(str_from_c(from), &a) || !unit_read(str_from_c(to), &b)) return SLT_ERR_NOT_FOUND;
  if (!unit_same_dimension(a, b)) return SLT_ERR_ARGUMENT;
  *out = unit_convert(a, b, value);
  return SLT_OK;
}

// ---- values -------------------------------------------------------------------------------------

static bool determined_in(const ModelMode* mode, SltQuantity q) {
  if (!mode || (q.kind != SLT_KIND_VARIABLE && q.kind != SLT_KIND_DERIVATIVE)) return true;
  const ModelVarMode* var = &mode->vars[q.index];
  switch (var->role) {
  case MODEL_ROLE_STATE: return q.order <= var->state_order;
  case MODEL_ROLE_ALGEBRAIC:
  case MODEL_ROLE_DISCRETE: return q.order == 0;
  default: return false;
  }
}

/// A state or a discrete variable: known without evaluating equations.
static bool is_kept(const ModelMode* mode, SltQuantity q) {
  if (!mode || (q.kind != SLT_KIND_VARIABLE && q.kind != SLT_KIND_DERIVATIVE)) {
    return q.kind != SLT_KIND_MACRO;
  }
  const ModelVarMode* var = &mode->vars[q.index];
  if (var->role == MODEL_ROLE_STATE) return q.order < var->state_order;
  return var->role == MODEL_ROLE_DISCRETE;
}

static void pass_warning(void* user, DiagCode code, Span written, const char* message) {
  SltSim* sim = user;
  const Source* source = sim->model->source;
  Span span = source ? source_shown(source, written) : written;
  SltDiagnostic d = {.code = diag_code_text(code),
                     .severity = SLT_WARNING,
                     .begin = span.begin,
                     .end = span.end,
                     .message = message,
                     .rendered = message};
  if (source) {
    d.file = source_name(source, span.begin).data;
    source_place(source, span.begin, &d.line, &d.column);
  }
  sim->on_warning(sim->warning_user, &d);
}

/// The value of a macro; the first one without a value is told, like that of a variable.
static double read_macro(SltSim* sim, uint32_t index, bool before) {
  const ModelMacro* macro = &sim->model->macros[index];
  double value = eng_evaluate(sim->engine, &macro->value, before);
  if (!isnan(value) || sim->macro_warned || !sim->on_warning) return value;
  sim->macro_warned = true;
  char text[300];
  char t[NUMBER_TEXT_MAX];
  number_write(t, eng_time(sim->engine));
  snprintf(text, sizeof text,
           "at t = %s '%.*s' is not a finite number; its cells stay empty while that lasts", t,
           (int)(macro->name.length < 100 ? macro->name.length : 100), macro->name.data);
  pass_warning(sim, DIAG_W0810, macro->span, text);
  return value;
}

static double read_value(SltSim* sim, SltQuantity q, bool before) {
  if (!quantity_valid(sim, q) || !eng_is_started(sim->engine)) return (double)NAN;
  const ModelMode* mode = before ? eng_mode_before(sim->engine) : eng_mode(sim->engine);
  bool variable = q.kind == SLT_KIND_VARIABLE || q.kind == SLT_KIND_DERIVATIVE;
  double value = 0.0;
  // an event that concerned few: what it left alone is not computed for the sake of one value
  if (variable && is_kept(mode, q) && determined_in(mode, q) &&
      eng_kept_value(sim->engine, sim->model->vars[q.index].env + q.order, before, &value)) {
    return value;
  }
  const double* env = before             ? eng_env_before(sim->engine)
                      : is_kept(mode, q) ? eng_env_states(sim->engine)
                                         : eng_env(sim->engine);
  switch (q.kind) {
  case SLT_KIND_VARIABLE:
  case SLT_KIND_DERIVATIVE:
    if (!determined_in(mode, q)) return (double)NAN;
    return env[sim->model->vars[q.index].env + q.order];
  case SLT_KIND_CONSTANT: return env[sim->model->params[q.index].env];
  case SLT_KIND_MACRO: return read_macro(sim, q.index, before);
  case SLT_KIND_MODE:
    return before ? eng_state_before(sim->engine, q.index) : eng_state(sim->engine, q.index);
  case SLT_KIND_TIME:
  default: return eng_time(sim->engine);
  }
}

double slt_sim_get(SltSim* sim, SltQuantity quantity) {
  return sim ? read_value(sim, quantity, false) : (double)NAN;
}

/// The course of a state; false: it is none, or a time lies outside of the stretch.
static bool course_of_state(const SltSim* sim, SltQuantity q, const double* times, uint32_t count,
                            double* values) {
  bool variable = q.kind == SLT_KIND_VARIABLE || q.kind == SLT_KIND_DERIVATIVE;
  const ModelMode* mode = eng_mode(sim->engine);
  if (!variable || !mode || mode->implicit || !quantity_valid(sim, q)) return false;
  uint32_t env = sim->model->vars[q.index].env + q.order;
  uint32_t state = 0;
  while (state < mode->state_count && mode->state_env[state] != env)
    state++;
  return state < mode->state_count && eng_course(sim->engine, state, times, count, values);
}

SltStatus slt_sim_course(SltSim* sim, const SltQuantity* quantities, uint32_t count,
                         const double* times, uint32_t time_count, double* values) {
  if (!sim || !quantities || !times || !values) return SLT_ERR_ARGUMENT;
  uint32_t known = 0;
  while (known < count && course_of_state(sim, quantities[known], times, time_count,
                                          values + (size_t)known * time_count))
    known++;
  for (uint32_t i = 0; known < count && i < time_count; i++) {
    SLT_TRY(eng_look(sim->engine, times[i]));
    for (uint32_t k = known; k < count; k++)
      values[(size_t)k * time_count + i] = read_value(sim, quantities[k], false);
  }
  return SLT_OK;
}

double slt_sim_get_before(SltSim* sim, SltQuantity quantity) {
  return sim ? read_value(sim, quantity, true) : (double)NAN;
}

bool slt_sim_is_determined(const SltSim* sim, SltQuantity quantity) {
  if (!sim || !quantity_valid(sim, quantity)) return false;
  return determined_in(eng_mode(sim->engine), quantity);
}

static const char* state_name(const SltSim* sim, SltQuantity q, bool before) {
  if (!sim || q.kind != SLT_KIND_MODE || !quantity_valid(sim, q)) return NULL;
  uint32_t state =
      before ? eng_state_before(sim->engine, q.index) : eng_state(sim->engine, q.index);
  return sim->model->automata[q.index].states[state].written->name.data;
}

const char* slt_sim_mode_name(const SltSim* sim, SltQuantity quantity) {
  return state_name(sim, quantity, false);
}

const char* slt_sim_mode_name_before(const SltSim* sim, SltQuantity quantity) {
  return state_name(sim, quantity, true);
}

SltStatus slt_sim_set(SltSim* sim, SltQuantity quantity, double value) {
  if (!sim || !quantity_valid(sim, quantity)) return SLT_ERR_ARGUMENT;
  if (quantity.kind != SLT_KIND_VARIABLE && quantity.kind != SLT_KIND_DERIVATIVE) {
    return SLT_ERR_ARGUMENT;
  }
  return eng_set(sim->engine, quantity.index, quantity.order, value);
}

uint32_t slt_sim_automaton_count(const SltSim* sim) {
  return sim ? sim->visible_count : 0;
}

const char* slt_sim_automaton_name(const SltSim* sim, uint32_t automaton) {
  if (!sim || automaton >= sim->visible_count) return NULL;
  return sim->model->automata[sim->visible[automaton]].name.data;
}

const char* slt_sim_automaton_state(const SltSim* sim, uint32_t automaton) {
  if (!sim || automaton >= sim->visible_count) return NULL;
  return state_name(sim, (SltQuantity){SLT_KIND_MODE, sim->visible[automaton], 0}, false);
}

uint32_t slt_sim_state_count(const SltSim* sim, uint32_t automaton) {
  if (!sim || automaton >= sim->visible_count) return 0;
  return sim->model->automata[sim->visible[automaton]].state_count;
}

const char* slt_sim_state_name(const SltSim* sim, uint32_t automaton, uint32_t state) {
  if (state >= slt_sim_state_count(sim, automaton)) return NULL;
  return sim->model->automata[sim->visible[automaton]].states[state].written->name.data;
}

/// Constants are few, and asked for by name: no list of those that can be set is kept.
static const ModelParam* settable_constant(const SltSim* sim, uint32_t constant) {
  for (uint32_t p = 0; sim && p < sim->model->param_count; p++) {
    const ModelParam* param = &sim->model->params[p];
    if (param->hidden || param->structural) continue;
    if (constant-- == 0) return param;
  }
  return NULL;
}

uint32_t slt_sim_constant_count(const SltSim* sim) {
  uint32_t count = 0;
  for (uint32_t p = 0; sim && p < sim->model->param_count; p++) {
    count += !sim->model->params[p].hidden && !sim->model->params[p].structural;
  }
  return count;
}

const char* slt_sim_constant_name(const SltSim* sim, uint32_t constant) {
  const ModelParam* param = settable_constant(sim, constant);
  return param ? param->name.data : NULL;
}

// ---- snapshots, callbacks -----------------------------------------------------------------------

size_t slt_sim_snapshot_size(const SltSim* sim) {
  return sim ? eng_snapshot_size(sim->engine) : 0;
}

SltStatus slt_sim_snapshot_save(const SltSim* sim, void* buffer, size_t size) {
  return sim && buffer ? eng_snapshot_save(sim->engine, buffer, size) : SLT_ERR_ARGUMENT;
}

size_t slt_sim_checkpoint_size(const SltSim* sim, size_t note_size) {
  return sim ? eng_checkpoint_size(sim->engine, note_size) : 0;
}

SltStatus slt_sim_checkpoint_save(const SltSim* sim, const SltKey* key, const void* note,
                                  size_t note_size, void* buffer, size_t size) {
  if (!sim || !buffer || (!note && note_size)) return SLT_ERR_ARGUMENT;
  return eng_checkpoint_save(sim->engine, key, note, note_size, buffer, size);
}

SltStatus slt_sim_checkpoint_restore(SltSim* sim, const SltKey* key, const void* buffer,
                                     size_t size, void* note, size_t note_size, const char** why) {
  if (why) *why = NULL;
  if (!sim || !buffer || (!note && note_size)) return SLT_ERR_ARGUMENT;
  return eng_checkpoint_restore(sim->engine, key, buffer, size, note, note_size, why);
}

SltStatus slt_sim_snapshot_restore(SltSim* sim, const void* buffer, size_t size) {
  return sim && buffer ? eng_snapshot_restore(sim->engine, buffer, size) : SLT_ERR_ARGUMENT;
}

void slt_sim_on_event(SltSim* sim, SltEventFn* fn, void* user) {
  if (!sim) return;
  eng_listeners(sim->engine)->on_event = fn;
  eng_listeners(sim->engine)->event_user = user;
}

void slt_sim_on_step(SltSim* sim, SltCancelFn* fn, void* user) {
  if (!sim) return;
  eng_listeners(sim->engine)->on_step = fn;
  eng_listeners(sim->engine)->step_user = user;
}

bool slt_sim_is_cancelled(const SltSim* sim) {
  const EngListeners* to = sim ? eng_listeners(sim->engine) : NULL;
  return to && to->on_step && to->on_step(to->step_user, eng_time(sim->engine));
}

void slt_sim_on_round(SltSim* sim, SltCancelFn* fn, void* user) {
  if (!sim) return;
  eng_listeners(sim->engine)->on_round = fn;
  eng_listeners(sim->engine)->round_user = user;
}

void slt_sim_on_warning(SltSim* sim, SltWarningFn* fn, void* user) {
  if (!sim) return;
  sim->on_warning = fn;
  sim->warning_user = user;
  eng_listeners(sim->engine)->on_warning = fn ? pass_warning : NULL;
  eng_listeners(sim->engine)->warning_user = sim;
}

void slt_sim_conclude(SltSim* sim) {
  if (sim) eng_warn_of_small(sim->engine);
}

SltStatistics slt_sim_statistics(const SltSim* sim) {
  return sim ? eng_statistics(sim->engine) : (SltStatistics){.method = ""};
}

SltStatus slt_sim_note_costs(SltSim* sim) {
  return sim ? eng_costs_begin(sim->engine) : SLT_ERR_ARGUMENT;
}

uint32_t slt_sim_cost_count(const SltSim* sim, SltCostOf of) {
  if (!sim) return 0;
  return of == SLT_COST_OF_RELATION ? sim->model->atom_count : sim->model->var_count;
}

SltCost slt_sim_cost(const SltSim* sim, SltCostOf of, uint32_t index) {
  if (index >= slt_sim_cost_count(sim, of)) return (SltCost){.name = ""};
  if (of == SLT_COST_OF_VARIABLE) {
    return (SltCost){.name = sim->model->vars[index].name.data,
                     .steps = eng_cost_of_variable(sim->engine, index)};
  }
  const ModelAtom* atom = &sim->model->atoms[index];
  return (SltCost){.name = atom->written->text.data,
                   .line = atom->written->line,
                   .steps = eng_cost_of_relation(sim->engine, index)};
}

uint32_t slt_method_count(void) {
  return num_method_count();
}

SltMethod slt_method_get(uint32_t index) {
  const NumMethod* m = num_method_get(index);
  if (!m) return (SltMethod){.name = "", .description = ""};
  return (SltMethod){.name = m->name,
                     .description = m->description,
                     .order = m->order,
                     .stages = m->stages,
                     .dense_order = m->dense_order,
                     .adaptive = m->adaptive};
}

// ---- errors -------------------------------------------------------------------------------------

/// The whole message with the line of the model it speaks of; may leave through the arena's exit.
static Str render_inside(SltSim* sim, const EngError* error) {
  Diag diag = {.code = error->code,
               .span = error->span,
               .message = str_from_c(error->message),
               .hint = str_from_c(error->hint)};
  const Diag* shown = error->structure ? error->structure : &diag;
  Source placeless;
  source_init(&placeless, &sim->error_arena, sim->model->source->name, STR_LIT(""));
  bool placed = error->has_span || error->structure;
  return diag_render(&sim->error_arena, placed ? sim->model->source : &placeless, shown, false);
}

static Str render(SltSim* sim, const EngError* error) {
  jmp_buf oom;
  arena_free(&sim->error_arena);
  arena_init(&sim->error_arena, &sim->allocator, &oom);
  // without memory for more, the bare message must do
  if (setjmp(oom)) return str_from_c(error->message);
  return render_inside(sim, error);
}

SltRunError slt_sim_error(SltSim* sim) {
  SltRunError out = {.status = SLT_OK, .code = "", .message = "", .rendered = ""};
  if (!sim) return out;
  const EngError* error = eng_error(sim->engine);
  if (error->status >= 0) return out;
  sim->rendered = render(sim, error);
  out.status = error->status;
  out.code = diag_code_text(error->code);
  out.t = error->t;
  out.message = error->message;
  out.hint = error->hint[0] ? error->hint : NULL;
  out.rendered = sim->rendered.data;
  if (error->has_span) source_place(sim->model->source, error->span.begin, &out.line, &out.column);
  return out;
}

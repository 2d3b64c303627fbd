// SPDX-License-Identifier: MIT
#include "variables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_FOLLOWED 2000  // of a run that shows which modes there are
#define END            10.0  // of a run whose model has no experiment
#define STATE_OF       "state of "

static char* copy_text(const char* text) {
  size_t size = strlen(text) + 1;
  char* copy = malloc(size);
  if (copy) memcpy(copy, text, size);
  return copy;
}

static FmuVariable* add(FmuVariables* variables) {
  if (variables->count == variables->capacity) {
    uint32_t wanted = variables->capacity ? variables->capacity * 2 : 16;
    FmuVariable* moved = realloc(variables->items, wanted * sizeof *moved);
    if (!moved) return NULL;
    variables->items = moved;
    variables->capacity = wanted;
  }
  FmuVariable* next = &variables->items[variables->count++];
  *next = (FmuVariable){.role = FMU_TIME, .unit = "", .start = (double)NAN};
  return next;
}

static FmuRole role_of(const SltName* name) {
  switch (name->quantity.kind) {
  case SLT_KIND_CONSTANT:
    return name->fixed ? FMU_SHAPE : name->follows ? FMU_FOLLOWING : FMU_PARAMETER;
  case SLT_KIND_MODE: return FMU_STATE;
  case SLT_KIND_VARIABLE: return name->input ? FMU_INPUT : FMU_OUTPUT;
  case SLT_KIND_MACRO:
  case SLT_KIND_DERIVATIVE:
  case SLT_KIND_TIME: break;
  }
  return FMU_OUTPUT;
}

static SltStatus add_name(void* user, const SltName* name) {
  FmuVariable* variable = add(user);
  if (!variable) return SLT_ERR_NOMEM;
  variable->role = role_of(name);
  variable->quantity = name->quantity;
  variable->unit = name->unit;
  variable->discrete = name->discrete;
  variable->tunable = name->tunable;
  variable->states = name->states;
  if (variable->role == FMU_STATE) {
    size_t size = strlen(name->name) + sizeof ".state";
    variable->name = malloc(size);
    if (variable->name) snprintf(variable->name, size, "%s.state", name->name);
  } else {
    variable->name = copy_text(name->name);
  }
  return variable->name ? SLT_OK : SLT_ERR_NOMEM;
}

/// A variable of the list that the text of the model does not have.
static FmuVariable* add_local(FmuVariables* variables, FmuRole role, SltQuantity quantity,
                              size_t name_size) {
  FmuVariable* local = add(variables);
  char* name = local ? malloc(name_size) : NULL;
  if (!name) return NULL;
  local->role = role;
  local->quantity = quantity;
  local->name = name;
  return local;
}

/// The derivative of a state of the list; its reference, 0 without memory.
static uint32_t add_rate(FmuVariables* variables, SltQuantity quantity, uint32_t of) {
  size_t size = strlen(variables->items[of].name) + sizeof "derivative of ";
  FmuVariable* rate = add_local(variables, FMU_RATE, quantity, size);
  if (!rate) return 0;
  const FmuVariable* state = &variables->items[of];
  if (state->role == FMU_HIDDEN) {
    snprintf(rate->name, size, "derivative of %s", state->name);
  } else {
    snprintf(rate->name, size, "%s'", state->name);
  }
  rate->rate_of = of;
  return variables->count - 1;
}

/// A state beside the variable `of`, which is an output with the model's own value; its reference.
static uint32_t add_hidden(FmuVariables* variables, SltQuantity quantity, uint32_t of) {
  size_t size = (of ? strlen(variables->items[of].name) : 20) + quantity.order + 20;
  FmuVariable* hidden = add_local(variables, FMU_HIDDEN, quantity, size);
  if (!hidden) return 0;
  const FmuVariable* shown = &variables->items[of];
  int used = of ? snprintf(hidden->name, size, STATE_OF "%s", shown->name)
                : snprintf(hidden->name, size, STATE_OF "number %u", quantity.index);
  memset(hidden->name + used, '\'', quantity.order);
  hidden->name[(uint32_t)used + quantity.order] = '\0';
  if (of && !quantity.order) hidden->start = shown->start;
  return variables->count - 1;
}

const char* fmu_model_name(const FmuVariable* variable) {
  return variable->name + (variable->role == FMU_HIDDEN ? sizeof STATE_OF - 1 : 0);
}

static int by_quantity(const void* a, const void* b) {
  SltQuantity x = (*(FmuVariable* const*)a)->quantity;
  SltQuantity y = (*(FmuVariable* const*)b)->quantity;
  return x.index != y.index ? (x.index > y.index) - (x.index < y.index)
                            : (x.order > y.order) - (x.order < y.order);
}

/// Numbers that the model gives as initial values are start values of the FMU. A state beside a
/// variable is left to that one.
static SltStatus take_initial_values(FmuVariables* variables, SltSim* sim) {
  FmuVariable** sorted = calloc(variables->count, sizeof *sorted);
  size_t count = 0;
  if (!sorted) return SLT_ERR_NOMEM;
  for (uint32_t i = 1; i < variables->count; i++) {
    FmuVariable* v = &variables->items[i];
    bool shown = v->role == FMU_OUTPUT && v->quantity.kind == SLT_KIND_VARIABLE;
    bool moves = v->role == FMU_RATE || (v->role == FMU_HIDDEN && v->quantity.order > 0);
    if (shown || moves) sorted[count++] = v;
  }
  qsort((void*)sorted, count, sizeof *sorted, by_quantity);
  SltInitial initial;
  for (uint32_t i = 0; slt_sim_initial(sim, i, &initial); i++) {
    FmuVariable* key = &(FmuVariable){.quantity = initial.quantity};
    FmuVariable** found = bsearch((void*)&key, (void*)sorted, count, sizeof *sorted, by_quantity);
    if (!found) continue;
    (*found)->by_constants = !initial.reads && !initial.guess;
    if (!isfinite(initial.value)) continue;
    bool kept = slt_sim_get(sim, initial.quantity) == initial.value;
    (*found)->start = initial.value;
    (*found)->initial = kept && !initial.guess ? FMU_EXACT : FMU_APPROX;
  }
  free((void*)sorted);
  return SLT_OK;
}

/// Orders of the derivatives of variables that are integrated, in the modes looked at.
typedef struct Orders {
  uint8_t* of;     // the most
  uint8_t* least;  // in a mode that computes the others
  uint32_t count;
  bool begun;  // there was a mode before
} Orders;

/// Continuous states and their derivatives, which become variables of the list.
static SltStatus link_states(FmuVariables* variables, const Orders* orders,
                             const uint32_t* place_of) {
  uint32_t state = 0;  // of the quantity before
  for (uint32_t i = 0; i < variables->state_count; i++) {
    SltQuantity q = variables->moving[i];
    SltQuantity next = {SLT_KIND_DERIVATIVE, q.index, q.order + 1};
    uint32_t plain = q.order ? variables->items[state].rate : place_of[q.index];
    state = orders->least && q.order < orders->least[q.index] ? plain : 0;
    if (!state) state = add_hidden(variables, q, place_of[q.index]);
    uint32_t rate = state ? add_rate(variables, next, state) : 0;
    if (!rate) return SLT_ERR_NOMEM;
    variables->items[state].rate = rate;
    variables->states[i] = state;
  }
  return SLT_OK;
}

static bool orders_grow(Orders* orders, uint32_t count) {
  if (count <= orders->count) return true;
  uint8_t* of = realloc(orders->of, count);
  if (of) orders->of = of;
  uint8_t* least = realloc(orders->least, count);
  if (least) orders->least = least;
  if (!of || !least) return false;
  memset(of + orders->count, 0, count - orders->count);
  // one that was not integrated before may have been computed
  memset(least + orders->count, orders->begun ? 0 : UINT8_MAX, count - orders->count);
  orders->count = count;
  return true;
}

static void orders_free(Orders* orders) {
  free(orders->of);
  free(orders->least);
}

static bool computes(const SltSim* sim, uint32_t variable, uint32_t order) {
  SltQuantity q = {order ? SLT_KIND_DERIVATIVE : SLT_KIND_VARIABLE, variable, order};
  return slt_sim_exchange_computes(sim, q);
}

/// What the present mode integrates.
static SltStatus note_orders(Orders* orders, const SltSim* sim) {
  uint32_t count = 0;
  slt_sim_exchange_states(sim, NULL, 0, &count);
  SltQuantity* states = calloc(count + 1u, sizeof *states);
  if (!states) return SLT_ERR_NOMEM;
  SltStatus status = slt_sim_exchange_states(sim, states, count, &count);
  // variables are in their order
  if (count && !orders_grow(orders, states[count - 1].index + 1)) status = SLT_ERR_NOMEM;
  for (uint32_t i = 0; status >= 0 && orders->of && orders->least && i < count; i++) {
    uint32_t v = states[i].index;
    if (states[i].order < orders->of[v]) continue;
    // the modes before may have computed it
    if (orders->begun && orders->of[v] < orders->least[v]) orders->least[v] = orders->of[v];
    orders->of[v] = (uint8_t)(states[i].order + 1);
  }
  for (uint32_t v = 0; status >= 0 && orders->of && orders->least && v < orders->count; v++) {
    uint32_t order = 0;
    while (order < orders->of[v] && !computes(sim, v, order))
      order++;
    if (order < orders->of[v] && order < orders->least[v]) orders->least[v] = (uint8_t)order;
  }
  orders->begun = true;
  free(states);
  return status;
}

/// An FMU has the same states all the time, and modes that the model comes to may have more of them
/// than the first one: follow it for a while.
static SltStatus follow_modes(Orders* orders, const SltModel* model, double end) {
  SltSimOptions options = slt_sim_options();
  options.max_steps = STEPS_FOLLOWED;
  SltSim* sim = NULL;
  SltStatus status = slt_sim_create(model, &options, &sim);
  SltStatus noted = status;
  if (status >= 0) status = slt_sim_start(sim);
  for (bool more = status == SLT_OK; more; more = status == SLT_EVENT && noted >= 0) {
    noted = note_orders(orders, sim);
    status = slt_sim_advance(sim, end, NULL);
  }
  slt_sim_free(sim);
  return noted;
}

static SltStatus list_states(FmuVariables* variables, const Orders* orders) {
  uint32_t count = 0;
  for (uint32_t v = 0; v < orders->count; v++)
    count += orders->of[v];
  variables->states = calloc(count + 1u, sizeof *variables->states);
  variables->moving = calloc(count + 1u, sizeof *variables->moving);
  uint32_t* place_of = calloc(orders->count + 1u, sizeof *place_of);
  if (!variables->states || !variables->moving || !place_of) {
    free(place_of);
    return SLT_ERR_NOMEM;
  }
  for (uint32_t v = 0; v < orders->count; v++) {
    for (uint32_t order = 0; order < orders->of[v]; order++) {
      SltKind kind = order ? SLT_KIND_DERIVATIVE : SLT_KIND_VARIABLE;
      variables->moving[variables->state_count++] = (SltQuantity){kind, v, order};
    }
  }
  for (uint32_t i = 1; i < variables->count; i++) {
    SltQuantity q = variables->items[i].quantity;
    if (q.kind == SLT_KIND_VARIABLE && q.index < orders->count) place_of[q.index] = i;
  }
  SltStatus status = link_states(variables, orders, place_of);
  free(place_of);
  return status;
}

/// Event indicators are variables in version 3. Texts of models cannot have such names.
static SltStatus add_indicators(FmuVariables* variables, uint32_t count) {
  variables->indicator = variables->count;
  variables->indicator_count = count;
  for (uint32_t i = 0; i < count; i++) {
    char name[40];
    FmuVariable* indicator = add(variables);
    if (!indicator) return SLT_ERR_NOMEM;
    snprintf(name, sizeof name, "event indicator %u", i + 1);
    indicator->role = FMU_INDICATOR;
    indicator->name = copy_text(name);
    if (!indicator->name) return SLT_ERR_NOMEM;
  }
  return SLT_OK;
}

/// The independent variable has the name `time` unless the model has given that to another.
static bool name_time(FmuVariables* variables) {
  const char* name = "time";
  for (uint32_t i = 1; i < variables->count; i++) {
    if (strcmp(variables->items[i].name, "time") == 0) name = "independent time";
  }
  variables->items[0].name = copy_text(name);
  return variables->items[0].name != NULL;
}

/// Values at the start, and what is integrated.
static SltStatus try_run(FmuVariables* variables, const SltModel* model, char** problem) {
  SltSimOptions options = slt_sim_options();
  SltSim* sim = NULL;
  SltStatus status = slt_sim_create(model, &options, &sim);
  if (status >= 0) status = slt_sim_start(sim);
  if (status < 0) {
    SltRunError error = slt_sim_error(sim);
    *problem = copy_text(sim && error.rendered && error.rendered[0] ? error.rendered
                                                                    : slt_status_text(status));
  }
  for (uint32_t i = 1; status >= 0 && i < variables->count; i++) {
    FmuVariable* v = &variables->items[i];
    v->start = slt_sim_get(sim, v->quantity);
  }
  Orders orders = {.of = NULL};
  if (status >= 0) status = note_orders(&orders, sim);
  double end = isnan(variables->end) ? END : variables->end;
  if (status >= 0) status = follow_modes(&orders, model, end);
  if (status >= 0) status = list_states(variables, &orders);
  if (status >= 0) status = take_initial_values(variables, sim);
  orders_free(&orders);
  if (status >= 0) {
    SltStatus possible =
        slt_sim_exchange_begin(sim, variables->moving, variables->state_count, 0.0);
    variables->exchangeable = possible >= 0;
    if (possible == SLT_ERR_NOMEM) status = possible;
  }
  if (variables->exchangeable) {
    status = add_indicators(variables, slt_sim_exchange_indicator_count(sim));
  }
  slt_sim_free(sim);
  return status;
}

bool fmu_variables_init(FmuVariables* variables, const SltModel* model, char** problem) {
  *problem = NULL;
  SltExperiment experiment = slt_model_experiment(model);
  *variables = (FmuVariables){.start = experiment.start,
                              .end = experiment.end,
                              .every = experiment.every,
                              .rtol = experiment.rtol};
  SltStatus status = add(variables) ? SLT_OK : SLT_ERR_NOMEM;
  if (status >= 0) status = slt_model_names(model, add_name, variables);
  if (status >= 0 && !name_time(variables)) status = SLT_ERR_NOMEM;
  if (status >= 0) status = try_run(variables, model, problem);
  if (status >= 0) return true;
  if (!*problem) *problem = copy_text(slt_status_text(status));
  fmu_variables_free(variables);
  return false;
}

void fmu_variables_free(FmuVariables* variables) {
  for (uint32_t i = 0; i < variables->count; i++)
    free(variables->items[i].name);
  free(variables->items);
  free(variables->states);
  free(variables->moving);
  *variables = (FmuVariables){.items = NULL};
}

void fmu_token(const char* text, size_t length, uint32_t version, char token[33]) {
  uint64_t a = 14695981039346656037u + version;
  uint64_t b = 1099511628211u ^ version;
  for (size_t i = 0; i < length; i++) {
    a = (a ^ (unsigned char)text[i]) * 1099511628211u;
    b = (b + (unsigned char)text[i]) * 6364136223846793005u + 1442695040888963407u;
  }
  snprintf(token, 33, "%016llx%016llx", (unsigned long long)a, (unsigned long long)b);
}

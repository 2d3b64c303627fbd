// SPDX-License-Identifier: MIT
#include "variables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
  case SLT_KIND_CONSTANT: return name->fixed ? FMU_SHAPE : FMU_PARAMETER;
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

/// The independent variable has the name `time` unless the model has given that to another.
static bool name_time(FmuVariables* variables) {
  const char* name = "time";
  for (uint32_t i = 1; i < variables->count; i++) {
    if (strcmp(variables->items[i].name, "time") == 0) name = "independent time";
  }
  variables->items[0].name = copy_text(name);
  return variables->items[0].name != NULL;
}

/// Values at the start, and which constants can be changed while a run goes on.
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
  for (uint32_t i = 1; status >= 0 && i < variables->count; i++) {
    FmuVariable* v = &variables->items[i];
    if (v->role != FMU_PARAMETER) continue;
    v->tunable = slt_sim_set_constant(sim, v->name, v->start) >= 0;
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

// SPDX-License-Identifier: MIT
//
// What can be given to a run before its start: constants, initial values, the seed.
#include "experiment/experiment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// `x(t0)` and `x(0)` are initial values; the part before the parenthesis is the variable's name.
static bool split_initial(Str name, Str* variable) {
  static const char* const endings[] = {"(t0)", "(0)"};
  for (size_t i = 0; i < SLT_COUNT(endings); i++) {
    size_t length = strlen(endings[i]);
    if (name.length <= length) continue;
    *variable = (Str){name.data, name.length - (uint32_t)length};
    if (memcmp(name.data + variable->length, endings[i], length) == 0) return true;
  }
  *variable = name;
  return false;
}

static SltStatus no_parameter(SltSim* sim, Str name, SltProblem* problem) {
  char text[128];
  char hint[300] = "";
  snprintf(text, sizeof text, "%.*s", (int)(name.length < 127 ? name.length : 127), name.data);
  SltQuantity q;
  if (slt_sim_find(sim, text, &q) >= 0 && q.kind == SLT_KIND_CONSTANT) {
    return problem_set(problem, SLT_ERR_ARGUMENT, "--set gives it one value for all runs",
                       "the constant `%s` shapes the model and cannot vary", text);
  }
  if (slt_sim_find(sim, text, &q) >= 0 && q.kind == SLT_KIND_VARIABLE) {
    snprintf(hint, sizeof hint, "%s(t0) is its initial value", text);
    return problem_set(problem, SLT_ERR_NOT_FOUND, hint, "`%s` is a variable, not a parameter",
                       text);
  }
  uint32_t best = 3;
  uint32_t count = slt_sim_constant_count(sim);
  for (uint32_t i = 0; i < count; i++) {
    const char* constant = slt_sim_constant_name(sim, i);
    uint32_t distance = str_distance(name, str_from_c(constant), 2);
    if (distance >= best || distance >= name.length) continue;
    best = distance;
    snprintf(hint, sizeof hint, "did you mean %.100s?", constant);
  }
  for (uint32_t i = 0; best == 3 && i < count && strlen(hint) < 200; i++) {
    size_t used = strlen(hint);
    snprintf(hint + used, sizeof hint - used, "%s %.60s", i ? "," : "its constants are",
             slt_sim_constant_name(sim, i));
  }
  return problem_set(problem, SLT_ERR_NOT_FOUND, hint, "the model has no parameter `%s`", text);
}

/// Try it on a run that is never started.
static SltStatus try_parameter(SltSim* sim, const Parameter* parameter, Str name,
                               SltProblem* problem) {
  if (parameter->kind == PARAMETER_CONSTANT) {
    SltStatus status = slt_sim_set_constant(sim, parameter->bare, 1.0);
    return status < 0 ? no_parameter(sim, name, problem) : SLT_OK;
  }
  SltStatus status = slt_sim_set_initial(sim, parameter->bare, 1.0);
  if (status != SLT_ERR_NOT_FOUND) return status;
  return problem_set(problem, status, "write one into the model, e.g. x(t0) = 0;",
                     "the model gives `%s` no initial value", parameter->bare);
}

SltStatus parameter_find(const SltModel* model, Str name, Parameter* out, SltProblem* problem) {
  Str bare;
  *out = (Parameter){.kind = split_initial(name, &bare) ? PARAMETER_INITIAL : PARAMETER_CONSTANT};
  if (bare.length >= 2 && bare.data[0] == '`' && bare.data[bare.length - 1] == '`') {
    bare = (Str){bare.data + 1, bare.length - 2};
    // `heat transfer` is called so with and without its marks
    if (out->kind == PARAMETER_CONSTANT) name = bare;
  }
  out->name = malloc((size_t)name.length + bare.length + 2);
  if (!out->name) return SLT_ERR_NOMEM;
  memcpy(out->name, name.data, name.length);
  out->name[name.length] = '\0';
  out->bare = out->name + name.length + 1;
  memcpy(out->bare, bare.data, bare.length);
  out->bare[bare.length] = '\0';
  SltSimOptions options = slt_sim_options();
  SltSim* sim = NULL;
  SltStatus status = slt_sim_create(model, &options, &sim);
  SltQuantity q;
  bool seed = strcmp(out->name, "seed") == 0 && status >= 0 && slt_sim_find(sim, "seed", &q) < 0;
  if (seed) out->kind = PARAMETER_SEED;
  if (status >= 0 && !seed) status = try_parameter(sim, out, name, problem);
  slt_sim_free(sim);
  if (status < 0) parameter_clear(out);
  return status;
}

SltStatus parameter_some(uint32_t count, SltProblem* problem) {
  return count > 0 ? SLT_OK
                   : problem_set(problem, SLT_ERR_ARGUMENT,
                                 "constants and initial values x(t0) are parameters",
                                 "no parameters are named");
}

SltStatus parameter_find_next(const SltModel* model, const char* name, Parameter* all,
                              uint32_t number, SltProblem* problem) {
  SLT_TRY(parameter_find(model, str_from_c(name), &all[number], problem));
  if (all[number].kind == PARAMETER_SEED) {
    return problem_set(
        problem, SLT_ERR_ARGUMENT,
        "constants and initial values x(t0) are parameters; `saltus sweep` varies seeds",
        "nothing depends smoothly on a seed");
  }
  for (uint32_t i = 0; i < number; i++) {
    if (all[i].kind != all[number].kind || strcmp(all[i].bare, all[number].bare) != 0) continue;
    return problem_set(problem, SLT_ERR_ARGUMENT, "once is enough", "`%s` is there twice", name);
  }
  return SLT_OK;
}

void parameter_clear(Parameter* parameter) {
  free(parameter->name);
  *parameter = (Parameter){0};
}

SltStatus parameter_set(const Parameter* parameter, SltSim* sim, double value) {
  switch (parameter->kind) {
  case PARAMETER_CONSTANT: return slt_sim_set_constant(sim, parameter->bare, value);
  case PARAMETER_INITIAL: return slt_sim_set_initial(sim, parameter->bare, value);
  case PARAMETER_SEED:
  default: return SLT_OK;
  }
}

void slt_sim_options_tighten(const SltModel* model, double rtol, SltSimOptions* options) {
  if (!model || !options || !isnan(options->rtol)) return;
  SltExperiment own = slt_model_experiment(model);
  options->rtol = rtol;
  double share = rtol / (isnan(own.rtol) ? 1e-6 : own.rtol);
  if (isnan(options->atol) && own.atol > 0.0) options->atol = fmin(share, 1.0) * own.atol;
}

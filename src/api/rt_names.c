// SPDX-License-Identifier: MIT
//
// The names of a model as a list, for programs that offer them before there is a run.
#include "api/handles.h"

static uint32_t line_of(const Model* model, Span span) {
  uint32_t line = 0;
  uint32_t column = 0;
  if (model->source && span.end > span.begin) {
    source_place(model->source, span.begin, &line, &column);
  }
  return line;
}

static SltStatus list_variables(const Model* model, const bool* assigned, SltNameFn* visit,
                                void* user) {
  for (uint32_t i = 0; i < model->column_count; i++) {
    uint32_t index = model->columns[i];
    const ModelVar* var = &model->vars[index];
    bool discrete = var->kind == MODEL_VAR_DISCRETE;
    SltName name = {.quantity = {SLT_KIND_VARIABLE, index, 0},
                    .name = var->name.data,
                    .unit = var->unit.length ? var->unit.data : "",
                    .discrete = discrete,
                    .input = discrete && !assigned[index],
                    .derivatives = var->max_order,
                    .line = line_of(model, var->span)};
    SLT_TRY(visit(user, &name));
  }
  return SLT_OK;
}

static SltStatus list_others(const Model* model, SltNameFn* visit, void* user) {
  for (uint32_t p = 0; p < model->param_count; p++) {
    const ModelParam* param = &model->params[p];
    SltName name = {.quantity = {SLT_KIND_CONSTANT, p, 0},
                    .name = param->name.data,
                    .unit = "",
                    .fixed = param->structural,
                    .tunable = param->acts && !param->due && !param->structural,
                    .follows = param->follows,
                    .line = line_of(model, param->span)};
    if (!param->hidden) SLT_TRY(visit(user, &name));
  }
  for (uint32_t m = 0; m < model->macro_count; m++) {
    SltName name = {.quantity = {SLT_KIND_MACRO, m, 0},
                    .name = model->macros[m].name.data,
                    .unit = "",
                    .line = line_of(model, model->macros[m].span)};
    if (name.name[0] != '{') SLT_TRY(visit(user, &name));  // of the drawing
  }
  for (uint32_t a = 0; a < model->automaton_count; a++) {
    const ModelAutomaton* automaton = &model->automata[a];
    if (automaton->hidden || automaton->kind != MODEL_AUTOMATON_USER) continue;
    SltName name = {.quantity = {SLT_KIND_MODE, a, 0},
                    .name = automaton->name.data,
                    .unit = "",
                    .states = automaton->state_count,
                    .line = automaton->line};
    SLT_TRY(visit(user, &name));
  }
  return SLT_OK;
}

SltStatus slt_model_names(const SltModel* model, SltNameFn* visit, void* user) {
  if (!model || !visit) return SLT_ERR_ARGUMENT;
  const Model* m = model->model;
  SltAllocator allocator = base_allocator(NULL);
  size_t size = (m->var_count ? m->var_count : 1) * sizeof(bool);
  bool* assigned = base_alloc(&allocator, size);
  if (!assigned) return SLT_ERR_NOMEM;
  for (uint32_t i = 0; i < m->action_count; i++)
    assigned[m->actions[i].var] = true;
  SltStatus status = list_variables(m, assigned, visit, user);
  if (status >= 0) status = list_others(m, visit, user);
  base_free(&allocator, assigned, size);
  return status;
}

const char* slt_model_state_name(const SltModel* model, SltQuantity quantity, uint32_t state) {
  if (!model || quantity.kind != SLT_KIND_MODE) return NULL;
  if (quantity.index >= model->model->automaton_count) return NULL;
  const ModelAutomaton* automaton = &model->model->automata[quantity.index];
  return state < automaton->state_count ? automaton->states[state].written->name.data : NULL;
}

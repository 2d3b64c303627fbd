// SPDX-License-Identifier: MIT
#include "ir/internal.h"

#include <math.h>

void ir_model_init(IrModel* model, Arena* arena, const Source* source) {
  *model = (IrModel){.arena = arena, .source = source};
  names_init(&model->names, arena);
  ir_pool_init(&model->pool, arena);
  base_vec_push(arena, &model->bodies,
                (IrBody){.automaton = IR_NONE, .state = IR_NONE, .parent = IR_NONE});
  double none = (double)NAN;
  model->experiment = (IrExperiment){.start = none,
                                     .end = none,
                                     .every = none,
                                     .step = none,
                                     .h0 = none,
                                     .hmin = none,
                                     .hmax = none,
                                     .rtol = none,
                                     .atol = none,
                                     .eventeps = none,
                                     .gamma = none};
}

typedef struct TermVisit {
  IrTermFn* visit;
  void* context;
} TermVisit;

static void visit_term(const TermVisit* v, IrTerm* term) {
  if (ir_term_present(*term)) v->visit(v->context, term);
}

void ir_each_term(IrModel* model, IrTermFn* visit, void* context) {
  const TermVisit v = {visit, context};
  for (uint32_t i = 0; i < model->params.count; i++) {
    visit_term(&v, &model->params.data[i].value);
  }
  for (uint32_t i = 0; i < model->starts.count; i++) {
    visit_term(&v, &model->starts.data[i].value);
  }
  for (uint32_t i = 0; i < model->equations.count; i++) {
    visit_term(&v, &model->equations.data[i].term);
  }
  for (uint32_t i = 0; i < model->atoms.count; i++) {
    visit_term(&v, &model->atoms.data[i].g);
    visit_term(&v, &model->atoms.data[i].eps);
    visit_term(&v, &model->atoms.data[i].gamma);
  }
  for (uint32_t i = 0; i < model->automata.count; i++) {
    visit_term(&v, &model->automata.data[i].condition);
  }
  for (uint32_t i = 0; i < model->states.count; i++) {
    visit_term(&v, &model->states.data[i].invariant);
  }
  for (uint32_t i = 0; i < model->transitions.count; i++) {
    visit_term(&v, &model->transitions.data[i].guard);
  }
  for (uint32_t i = 0; i < model->actions.count; i++) {
    visit_term(&v, &model->actions.data[i].value);
  }
  for (uint32_t i = 0; i < model->schedules.count; i++) {
    visit_term(&v, &model->schedules.data[i].start);
    visit_term(&v, &model->schedules.data[i].period);
  }
  for (uint32_t i = 0; i < model->data.count; i++) {
    visit_term(&v, &model->data.data[i].delay);
    visit_term(&v, &model->data.data[i].before);
  }
  visit_term(&v, &model->energy);
  // last: their order is that of the text, and must not decide the numbering of other nodes
  for (uint32_t i = 0; i < model->macros.count; i++) {
    visit_term(&v, &model->macros.data[i].value);
  }
}

// SPDX-License-Identifier: MIT
//
// The whole model as text, section by section. Nothing in it depends on the order of declarations
// once the model is canonical, except the names that tell places.
#include "ir/print.h"

#include <math.h>

typedef struct ModelPrinter {
  TextBuffer* out;
  const IrModel* model;
} ModelPrinter;

static void line(const ModelPrinter* p, uint32_t indent) {
  text_append_char(p->out, '\n');
  for (uint32_t i = 0; i < indent; i++) {
    text_append_c(p->out, "  ");
  }
}

static void section(const ModelPrinter* p, const char* title) {
  if (p->out->length) text_append_char(p->out, '\n');
  text_append_c(p->out, title);
}

static Str name_of(const ModelPrinter* p, uint32_t id) {
  return names_get(&p->model->names, id);
}

static void quoted(const ModelPrinter* p, Str text) {
  text_append_char(p->out, '"');
  text_append(p->out, text);
  text_append_char(p->out, '"');
}

static void term(const ModelPrinter* p, IrTerm value) {
  ir_print_term(p->out, p->model, value);
}

// ---------------------------------------------------------------------------------------------
// parameters, variables, data

static void print_params(const ModelPrinter* p) {
  if (p->model->params.count) section(p, "parameters");
  for (uint32_t i = 0; i < p->model->params.count; i++) {
    const IrParam* param = &p->model->params.data[i];
    line(p, 1);
    ir_print_name(p->out, name_of(p, param->name));
    text_append_c(p->out, " = ");
    term(p, param->value);
    if (param->structural) text_append_c(p->out, ", structural");
    if (param->hidden) text_append_c(p->out, ", hidden");
  }
}

static const char* select_text(uint32_t select) {
  switch (select) {
  case IR_SELECT_NEVER: return "never";
  case IR_SELECT_AVOID: return "avoid";
  case IR_SELECT_PREFER: return "prefer";
  case IR_SELECT_ALWAYS: return "always";
  default: return "default";
  }
}

static void print_starts(const ModelPrinter* p, const IrVar* var) {
  for (uint32_t i = 0; i < var->start_count; i++) {
    const IrStart* start = (IrStart[]){ir_start(p->model, var->start_begin + i)};
    text_append_c(p->out, ", ");
    ir_print_var(p->out, p->model, start->var, start->order);
    text_append_c(p->out, start->kind == IR_START_FIXED ? "(t0) = " : "(t0) ~ ");
    term(p, start->value);
  }
}

static void print_vars(const ModelPrinter* p) {
  if (p->model->vars.count) section(p, "variables");
  for (uint32_t i = 0; i < p->model->vars.count; i++) {
    const IrVar* var = (IrVar[]){ir_var(p->model, i)};
    line(p, 1);
    ir_print_name(p->out, name_of(p, var->name));
    text_append_c(p->out, var->kind == IR_VAR_DISCRETE ? ": discrete" : ": unknown");
    if (var->max_order) text_append_format(p->out, ", order %u", (unsigned)var->max_order);
    print_starts(p, var);
    if (var->unit) {
      text_append_c(p->out, ", unit ");
      quoted(p, name_of(p, var->unit));
    }
    if (var->nominal > 0) {
      text_append_c(p->out, ", nominal ");
      text_append_double(p->out, var->nominal);
    }
    if (var->select) text_append_format(p->out, ", select %s", select_text(var->select));
    if (var->inactive_zero) text_append_c(p->out, ", inactive zero");
    if (var->hidden) text_append_c(p->out, ", hidden");
  }
}

static void print_data(const ModelPrinter* p) {
  if (p->model->data.count) section(p, "data");
  for (uint32_t i = 0; i < p->model->data.count; i++) {
    const IrData* data = &p->model->data.data[i];
    line(p, 1);
    ir_print_name(p->out, name_of(p, data->name));
    const char* interpolation = data->interpolation == IR_CUBIC ? "cubic" : "linear";
    if (!data->history) {
      text_append_format(p->out, ": %u points, %s", data->count, interpolation);
      continue;
    }
    text_append_c(p->out, ": past of ");
    ir_print_name(p->out, name_of(p, ir_var(p->model, data->var).name));
    text_append_c(p->out, ", ");
    if (data->lag != IR_NONE) {
      ir_print_name(p->out, name_of(p, ir_var(p->model, data->lag).name));
      text_append_c(p->out, " and at most ");
    }
    ir_print_term(p->out, p->model, data->delay);
    text_append_format(p->out, " ago, %s", interpolation);
    if (!ir_term_present(data->before)) continue;
    text_append_c(p->out, ", before the start ");
    ir_print_term(p->out, p->model, data->before);
  }
}

// ---------------------------------------------------------------------------------------------
// equations

static void print_body_name(const ModelPrinter* p, uint32_t body_id) {
  const IrBody* body = &p->model->bodies.data[body_id];
  if (body->automaton == IR_NONE) {
    text_append_c(p->out, "global");
  } else {
    ir_print_state(p->out, p->model, body->automaton, body->state);
  }
}

static void print_equations(const ModelPrinter* p) {
  const IrModel* model = p->model;
  if (model->equations.count || model->deletes.count) section(p, "equations");
  for (uint32_t b = 0; b < model->bodies.count; b++) {
    const IrBody* body = &model->bodies.data[b];
    bool empty = body->equation_count == 0 && body->delete_count == 0 && body->parent == IR_NONE;
    if (empty) continue;
    line(p, 1);
    print_body_name(p, b);
    if (body->parent != IR_NONE) {
      text_append_c(p->out, " like ");
      print_body_name(p, body->parent);
    }
    for (uint32_t i = 0; i < body->delete_count; i++) {
      line(p, 2);
      text_append_c(p->out, "delete ");
      ir_print_name(p->out, name_of(p, model->deletes.data[body->delete_begin + i].label));
    }
    for (uint32_t i = 0; i < body->equation_count; i++) {
      const IrEquation* e = (IrEquation[]){ir_equation(model, body->equation_begin + i)};
      line(p, 2);
      if (e->label) {
        ir_print_name(p->out, name_of(p, e->label));
        text_append_c(p->out, ": ");
      }
      term(p, e->term);
    }
  }
}

// ---------------------------------------------------------------------------------------------
// automata

static void print_actions(const ModelPrinter* p, uint32_t begin, uint32_t count) {
  for (uint32_t i = begin; i < begin + count; i++) {
    const IrAction* action = (IrAction[]){ir_action(p->model, i)};
    line(p, 3);
    ir_print_var(p->out, p->model, action->var, action->order);
    text_append_c(p->out, action->kind == IR_ACTION_SET ? " := " : " :~ ");
    term(p, action->value);
  }
}

static void print_stop(const ModelPrinter* p, Str stop) {
  if (!stop.data) return;
  line(p, 3);
  text_append_c(p->out, "stop ");
  quoted(p, stop);
}

static void print_state(const ModelPrinter* p, const IrState* state) {
  line(p, 2);
  text_append_c(p->out, "state ");
  ir_print_name(p->out, name_of(p, state->name));
  print_actions(p, state->action_begin, state->action_count);
  if (ir_term_present(state->invariant)) {
    line(p, 3);
    text_append_c(p->out, "invariant ");
    term(p, state->invariant);
  }
  print_stop(p, state->stop);
}

static void print_transition(const ModelPrinter* p, const IrAutomaton* automaton,
                             const IrTransition* t) {
  const IrModel* model = p->model;
  line(p, 2);
  text_append_c(p->out, "from ");
  for (uint32_t i = 0; i < t->from_count; i++) {
    if (i) text_append_c(p->out, ", ");
    uint32_t from = model->from_states.data[t->from_begin + i];
    ir_print_name(p->out, name_of(p, ir_state(model, automaton->state_begin + from).name));
  }
  text_append_c(p->out, " to ");
  ir_print_name(p->out, name_of(p, ir_state(model, automaton->state_begin + t->to).name));
  if (t->zeno) text_append_c(p->out, " at an accumulation");
  if (t->instead) text_append_c(p->out, ", instead of its last event");
  if (t->by_lot) text_append_c(p->out, " by lot");
  if (ir_term_present(t->guard)) {
    text_append_c(p->out, " when ");
    term(p, t->guard);
  }
  print_actions(p, t->action_begin, t->action_count);
}

static void print_switch(const ModelPrinter* p, const IrAutomaton* a) {
  if (a->parent_body != IR_NONE) {
    text_append_c(p->out, " in ");
    print_body_name(p, a->parent_body);
  }
  text_append_c(p->out, ": ");
  term(p, a->condition);
  if (a->hidden) text_append_c(p->out, ", hidden");
}

static void print_automata(const ModelPrinter* p) {
  const IrModel* model = p->model;
  if (model->automata.count) section(p, "automata");
  for (uint32_t i = 0; i < model->automata.count; i++) {
    const IrAutomaton* a = (IrAutomaton[]){ir_automaton(model, i)};
    line(p, 1);
    if (a->kind == IR_AUTOMATON_SWITCH) {
      text_append(p->out, name_of(p, a->name));
      print_switch(p, a);
      continue;
    }
    ir_print_name(p->out, name_of(p, a->name));
    if (a->hidden) text_append_c(p->out, ", hidden");
    for (uint32_t s = 0; s < a->state_count; s++) {
      print_state(p, (IrState[]){ir_state(model, a->state_begin + s)});
    }
    for (uint32_t t = 0; t < a->transition_count; t++) {
      print_transition(p, a, (IrTransition[]){ir_transition(model, a->transition_begin + t)});
    }
  }
}

// ---------------------------------------------------------------------------------------------
// atoms, schedules, the rest

static void print_option(const ModelPrinter* p, const char* title, IrTerm value) {
  if (!ir_term_present(value)) return;
  text_append_c(p->out, title);
  term(p, value);
}

static void print_atoms(const ModelPrinter* p) {
  if (p->model->atoms.count) section(p, "atoms");
  for (uint32_t i = 0; i < p->model->atoms.count; i++) {
    const IrAtom* atom = (IrAtom[]){ir_atom(p->model, i)};
    line(p, 1);
    term(p, atom->g);
    text_append_c(p->out, ir_atom_relation_text(atom->relation));
    text_append_format(p->out, ", %s", ir_atom_type_text(atom->type));
    if (atom->bipolar) text_append_c(p->out, ", bipolar");
    if (atom->continuous) text_append_c(p->out, ", continuous");
    print_option(p, ", eps ", atom->eps);
    print_option(p, ", gamma ", atom->gamma);
    TextBuffer source = {.arena = p->out->arena};
    if (atom->text.length) {
      text_append_c(p->out, ", called ");
      text_append(p->out, atom->text);
    } else if (ir_print_source(&source, p->model, atom->span)) {
      text_append_c(p->out, ", written ");
      text_append(p->out, text_str(&source));
    }
  }
}

static void print_schedule(const ModelPrinter* p, const IrSchedule* s) {
  line(p, 1);
  text_append_c(p->out, "at ");
  term(p, s->start);
  if (ir_term_present(s->period)) {
    text_append_c(p->out, " each ");
    term(p, s->period);
    if (s->count < 0) {
      text_append_c(p->out, " repeat *");
    } else {
      text_append_format(p->out, " repeat %lld", (long long)s->count);
    }
  }
  if (s->priority) text_append_format(p->out, " priority %d", (int)s->priority);
  print_actions(p, s->action_begin, s->action_count);
  for (uint32_t i = 0; i < s->goto_count; i++) {
    IrGoto to = p->model->gotos.data[s->goto_begin + i];
    line(p, 3);
    text_append_c(p->out, "goto ");
    ir_print_state(p->out, p->model, to.automaton, to.state);
  }
  print_stop(p, s->stop);
}

static void print_schedules(const ModelPrinter* p) {
  if (p->model->schedules.count) section(p, "schedules");
  for (uint32_t i = 0; i < p->model->schedules.count; i++) {
    print_schedule(p, &p->model->schedules.data[i]);
  }
}

static void print_macros(const ModelPrinter* p) {
  if (p->model->macros.count) section(p, "macros");
  for (uint32_t i = 0; i < p->model->macros.count; i++) {
    line(p, 1);
    ir_print_name(p->out, name_of(p, p->model->macros.data[i].name));
    text_append_c(p->out, " = ");
    term(p, p->model->macros.data[i].value);
  }
}

static void print_energy(const ModelPrinter* p) {
  if (!ir_term_present(p->model->energy)) return;
  section(p, "energy");
  line(p, 1);
  term(p, p->model->energy);
}

static void print_experiment(const ModelPrinter* p) {
  const IrExperiment* e = &p->model->experiment;
  const struct {
    const char* name;
    double value;
  } numbers[] = {
      {"start", e->start}, {"end", e->end},     {"every", e->every},       {"step", e->step},
      {"h0", e->h0},       {"hmin", e->hmin},   {"hmax", e->hmax},         {"rtol", e->rtol},
      {"atol", e->atol},   {"gamma", e->gamma}, {"eventeps", e->eventeps},
  };
  bool any = e->method.length || e->detection.length || e->out.count || e->plot.count;
  for (size_t i = 0; i < SLT_COUNT(numbers); i++) {
    any = any || !isnan(numbers[i].value);
  }
  if (!any) return;
  section(p, "experiment");
  for (size_t i = 0; i < SLT_COUNT(numbers); i++) {
    if (isnan(numbers[i].value)) continue;
    line(p, 1);
    text_append_format(p->out, "%s = ", numbers[i].name);
    text_append_double(p->out, numbers[i].value);
  }
  if (e->method.length) {
    line(p, 1);
    text_append_format(p->out, "method = %.*s", STR_ARGS(e->method));
  }
  if (e->detection.length) {
    line(p, 1);
    text_append_format(p->out, "detection = %.*s", STR_ARGS(e->detection));
  }
  for (uint32_t i = 0; i < e->out.count; i++) {
    if (i == 0) line(p, 1);
    text_append_c(p->out, i == 0 ? "out = " : ", ");
    text_append(p->out, e->out.data[i]);
  }
  for (uint32_t i = 0; i < e->plot.count; i++) {
    line(p, 1);
    text_append_format(p->out, "%.*s = \"%.*s\"", STR_ARGS(e->plot.data[i].name),
                       STR_ARGS(e->plot.data[i].text));
  }
}

void ir_print_model(TextBuffer* out, const IrModel* model) {
  const ModelPrinter p = {out, model};
  print_params(&p);
  print_vars(&p);
  print_data(&p);
  print_equations(&p);
  print_automata(&p);
  print_atoms(&p);
  print_schedules(&p);
  print_macros(&p);
  print_energy(&p);
  print_experiment(&p);
  if (out->length) text_append_char(out, '\n');
}

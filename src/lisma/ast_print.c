// SPDX-License-Identifier: MIT
#include "lisma/ast_print.h"

// Binding strengths above those of the chains: what may stand without parentheses where.
enum { STRENGTH_UNARY = AST_LEVEL_MULTIPLY + 1, STRENGTH_POWER, STRENGTH_OPERAND };

static void print_expr_list(TextBuffer* out, const AstExprList* list) {
  for (uint32_t i = 0; i < list->count; i++) {
    if (i) text_append_c(out, ", ");
    ast_print_expr(out, list->data[i]);
  }
}

void ast_print_name(TextBuffer* out, const AstName* name) {
  if (name->quoted) text_append_char(out, '`');
  text_append(out, name->head);
  if (name->quoted) text_append_char(out, '`');
  for (uint32_t i = 0; i < name->indices.count; i++) {
    text_append_char(out, '[');
    print_expr_list(out, &name->indices.data[i].subscripts);
    text_append_char(out, ']');
    text_append(out, name->indices.data[i].tail);
  }
  if (name->member) {
    text_append_char(out, '.');
    ast_print_name(out, name->member);
  }
}

static void print_name_list(TextBuffer* out, const AstNameList* list) {
  for (uint32_t i = 0; i < list->count; i++) {
    if (i) text_append_c(out, ", ");
    ast_print_name(out, &list->data[i]);
  }
}

static void print_primes(TextBuffer* out, uint32_t order) {
  for (uint32_t i = 0; i < order; i++) {
    text_append_char(out, '\'');
  }
}

// ---------------------------------------------------------------------------------------------
// Expressions

static int strength(const AstExpr* e) {
  switch ((int)e->kind) {
  case AST_CHAIN: return (int)e->as.chain.level;
  case AST_UNARY: return STRENGTH_UNARY;
  case AST_POWER: return STRENGTH_POWER;
  default: return STRENGTH_OPERAND;
  }
}

static void print_operand(TextBuffer* out, const AstExpr* e, int least) {
  bool parentheses = strength(e) < least;
  if (parentheses) text_append_char(out, '(');
  ast_print_expr(out, e);
  if (parentheses) text_append_char(out, ')');
}

static void print_chain(TextBuffer* out, const AstExpr* e) {
  int least = (int)e->as.chain.level + 1;
  for (uint32_t i = 0; i < e->as.chain.links.count; i++) {
    const AstLink* link = &e->as.chain.links.data[i];
    if (i) {
      text_append_char(out, ' ');
      text_append_c(out, ast_op_text(link->op));
      text_append_char(out, ' ');
    }
    print_operand(out, link->operand, least);
  }
}

static void print_range(TextBuffer* out, const AstRange* range) {
  ast_print_expr(out, range->first);
  if (!range->last) return;
  text_append_char(out, ':');
  ast_print_expr(out, range->last);
}

static void print_reduction(TextBuffer* out, const AstExpr* e) {
  text_append_c(out, e->as.reduction.product ? "prod(" : "sum(");
  for (uint32_t i = 0; i < e->as.reduction.iterators.count; i++) {
    const AstIterator* iterator = &e->as.reduction.iterators.data[i];
    text_append(out, iterator->variable);
    text_append_c(out, " = ");
    print_range(out, &iterator->range);
    text_append_c(out, ", ");
  }
  ast_print_expr(out, e->as.reduction.body);
  text_append_char(out, ')');
}

static void print_atom(TextBuffer* out, const AstExpr* e) {
  text_append_c(out, ast_event_text(e->as.atom.type));
  if (e->as.atom.eps || e->as.atom.gamma) {
    text_append_char(out, '(');
    if (e->as.atom.eps) {
      text_append_c(out, "eps = ");
      ast_print_expr(out, e->as.atom.eps);
    }
    if (e->as.atom.gamma) {
      text_append_c(out, e->as.atom.eps ? ", gamma = " : "gamma = ");
      ast_print_expr(out, e->as.atom.gamma);
    }
    text_append_char(out, ')');
  }
  text_append_char(out, '[');
  ast_print_expr(out, e->as.atom.condition);
  text_append_char(out, ']');
}

static void print_conditional(TextBuffer* out, const AstExpr* e) {
  text_append_c(out, "if(");
  ast_print_expr(out, e->as.conditional.condition);
  text_append_c(out, ", ");
  ast_print_expr(out, e->as.conditional.then_value);
  text_append_c(out, ", ");
  ast_print_expr(out, e->as.conditional.else_value);
  text_append_char(out, ')');
}

/// A text in quotes behind something.
static void print_text(TextBuffer* out, Str text) {
  text_append_c(out, " \"");
  text_append(out, text);
  text_append_char(out, '"');
}

static char unary_text(AstUnaryOp op) {
  switch (op) {
  case AST_UNARY_PLUS: return '+';
  case AST_UNARY_MINUS: return '-';
  case AST_UNARY_NOT: break;
  }
  return '!';
}

void ast_print_expr(TextBuffer* out, const AstExpr* e) {
  switch (e->kind) {
  case AST_ERROR: text_append_c(out, "<error>"); break;
  case AST_NUMBER:
    text_append_double(out, e->as.number);
    if (e->as.unit_span.end) print_text(out, e->as.unit);
    break;
  case AST_NAME:
    ast_print_name(out, &e->as.name.name);
    print_primes(out, e->order);
    break;
  case AST_QUALIFIED:
    ast_print_name(out, e->as.qualified.automaton);
    text_append_char(out, '.');
    ast_print_name(out, e->as.qualified.state);
    break;
  case AST_CALL:
    ast_print_name(out, e->as.call.callee);
    print_primes(out, e->as.call.order);
    text_append_char(out, '(');
    print_expr_list(out, &e->as.call.args);
    text_append_char(out, ')');
    break;
  case AST_REDUCTION: print_reduction(out, e); break;
  case AST_CONDITIONAL: print_conditional(out, e); break;
  case AST_ATOM: print_atom(out, e); break;
  case AST_UNARY:
    text_append_char(out, unary_text(e->as.unary.op));
    print_operand(out, e->as.unary.operand, STRENGTH_UNARY);
    break;
  case AST_POWER:
    print_operand(out, e->as.power.base, STRENGTH_OPERAND);
    text_append_char(out, '^');
    print_operand(out, e->as.power.exponent, STRENGTH_UNARY);
    break;
  case AST_CHAIN: print_chain(out, e); break;
  }
}

// ---------------------------------------------------------------------------------------------
// Statements

static void print_indent(TextBuffer* out, uint32_t depth) {
  for (uint32_t i = 0; i < depth; i++) {
    text_append_c(out, "  ");
  }
}

/// `{ ... }` without an end of line.
static void print_block(TextBuffer* out, const AstBlock* block, uint32_t depth) {
  if (block->statements.count == 0) {
    text_append_c(out, "{}");
    return;
  }
  text_append_c(out, "{\n");
  for (uint32_t i = 0; i < block->statements.count; i++) {
    ast_print_statement(out, &block->statements.data[i], depth + 1);
  }
  print_indent(out, depth);
  text_append_char(out, '}');
}

static void print_values(TextBuffer* out, const AstValueList* values) {
  for (uint32_t i = 0; i < values->count; i++) {
    const AstValue* value = &values->data[i];
    if (value->in_text) continue;  // printed with its text
    if (i) text_append_c(out, ", ");
    if (value->expr) {
      ast_print_expr(out, value->expr);
    } else {
      text_append_char(out, '"');
      text_append(out, value->text);
      text_append_char(out, '"');
    }
  }
}

static void print_setting(TextBuffer* out, const AstSetting* setting) {
  text_append(out, setting->key);
  text_append_c(out, setting->is_shape ? "(" : " = ");
  print_values(out, &setting->values);
  text_append_c(out, setting->is_shape ? ");" : ";");
}

static void print_definitions(TextBuffer* out, const char* word, const AstDefinitionList* list) {
  text_append_c(out, word);
  for (uint32_t i = 0; i < list->count; i++) {
    const AstDefinition* definition = &list->data[i];
    text_append_c(out, i ? ", " : " ");
    for (uint32_t k = 0; k < definition->names.count; k++) {
      ast_print_name(out, &definition->names.data[k]);
      text_append_c(out, " = ");
    }
    ast_print_expr(out, definition->value);
  }
  text_append_char(out, ';');
}

static void print_data(TextBuffer* out, const AstData* data) {
  text_append_c(out, "data ");
  ast_print_name(out, &data->name);
  text_append_c(out, " = \"");
  text_append(out, data->file);
  text_append_char(out, '"');
  if (data->options.count) text_append_c(out, ", ");
  print_values(out, &data->options);
  text_append_char(out, ';');
}

static void print_equation(TextBuffer* out, const AstStatement* s) {
  if (s->as.equation.label) {
    ast_print_name(out, s->as.equation.label);
    text_append_c(out, ": ");
  }
  ast_print_expr(out, s->as.equation.lhs);
  text_append_c(out, " = ");
  ast_print_expr(out, s->as.equation.rhs);
  text_append_char(out, ';');
}

static void print_init(TextBuffer* out, AstInitForm form, const AstInitList* items) {
  if (form == AST_INIT_IC) text_append_c(out, "ic ");
  if (form == AST_INIT_SET) text_append_c(out, "set ");
  for (uint32_t i = 0; i < items->count; i++) {
    const AstInit* item = &items->data[i];
    if (i) text_append_c(out, ", ");
    ast_print_name(out, &item->name);
    print_primes(out, item->order);
    if (form == AST_INIT_T0) text_append_c(out, "(t0)");
    if (form == AST_INIT_ZERO) text_append_c(out, "(0)");
    text_append_c(out, item->guess ? " ~= " : " = ");
    ast_print_expr(out, item->value);
  }
  text_append_char(out, ';');
}

static void print_attributes(TextBuffer* out, const AstStatement* s) {
  ast_print_name(out, &s->as.attributes.name);
  text_append_c(out, " {");
  for (uint32_t i = 0; i < s->as.attributes.settings.count; i++) {
    text_append_char(out, ' ');
    print_setting(out, &s->as.attributes.settings.data[i]);
  }
  text_append_c(out, " }");
}

static void print_element(TextBuffer* out, const AstElement* element) {
  text_append_c(out, element->kind == AST_ELEMENT_CONTACT ? "contact " : "friction ");
  ast_print_name(out, &element->name);
  text_append_c(out, " {");
  for (uint32_t i = 0; i < element->settings.count; i++) {
    text_append_char(out, ' ');
    print_setting(out, &element->settings.data[i]);
  }
  text_append_c(out, " }");
}

/// `experiment` or `animate`.
static void print_list(TextBuffer* out, const char* word, const AstSettingList* settings,
                       uint32_t depth) {
  text_append_c(out, word);
  text_append_c(out, " {\n");
  for (uint32_t i = 0; i < settings->count; i++) {
    print_indent(out, depth + 1);
    print_setting(out, &settings->data[i]);
    text_append_char(out, '\n');
  }
  print_indent(out, depth);
  text_append_char(out, '}');
}

static void print_control(TextBuffer* out, const AstStatement* s) {
  const AstValueList* values = &s->as.control.values;
  text_append_c(out, "control ");
  ast_print_name(out, &s->as.control.name);
  if (values->count) text_append_c(out, " = ");
  if (s->as.control.is_range) {
    ast_print_expr(out, values->data[0].expr);
    text_append_char(out, ':');
    ast_print_expr(out, values->data[1].expr);
  } else {
    print_values(out, values);
  }
  text_append_char(out, ';');
}

static void print_for(TextBuffer* out, const AstStatement* s, uint32_t depth) {
  text_append_c(out, "for ");
  text_append(out, s->as.loop.variable);
  text_append_c(out, " = ");
  for (uint32_t i = 0; i < s->as.loop.ranges.count; i++) {
    if (i) text_append_c(out, ", ");
    print_range(out, &s->as.loop.ranges.data[i]);
  }
  text_append_char(out, ' ');
  print_block(out, &s->as.loop.body, depth);
}

static void print_if(TextBuffer* out, const AstBranchList* branches, uint32_t depth) {
  for (uint32_t i = 0; i < branches->count; i++) {
    const AstBranch* branch = &branches->data[i];
    if (i) text_append_c(out, " else ");
    if (branch->condition) {
      text_append_c(out, "if (");
      ast_print_expr(out, branch->condition);
      text_append_c(out, ") ");
    }
    print_block(out, &branch->body, depth);
  }
}

static void print_clause(TextBuffer* out, const char* word, const AstExpr* value) {
  if (!value) return;
  text_append_c(out, word);
  ast_print_expr(out, value);
}

static void print_state(TextBuffer* out, const AstState* state, uint32_t depth) {
  text_append_c(out, "state ");
  ast_print_name(out, &state->name);
  if (state->guard) {
    text_append_char(out, ' ');
    ast_print_expr(out, state->guard);
  }
  print_clause(out, " priority ", state->priority);
  if (state->by_lot) text_append_c(out, " priority random");
  if (state->like) {
    text_append_c(out, " like ");
    ast_print_name(out, state->like);
  }
  if (state->has_body) {
    text_append_char(out, ' ');
    print_block(out, &state->body, depth);
  }
  if (state->from.count) {
    text_append_c(out, " from ");
    print_name_list(out, &state->from);
    text_append_char(out, ';');
  }
}

static void print_at(TextBuffer* out, const AstStatement* s, uint32_t depth) {
  print_clause(out, "at ", s->as.at.time);
  print_clause(out, " each ", s->as.at.each);
  print_clause(out, " repeat ", s->as.at.repeat);
  if (s->as.at.repeat_forever) text_append_c(out, " repeat *");
  print_clause(out, " priority ", s->as.at.priority);
  text_append_char(out, ' ');
  print_block(out, &s->as.at.body, depth);
}

static void print_stop(TextBuffer* out, const AstStatement* s) {
  text_append_c(out, "stop");
  if (s->as.stop.text_span.end > s->as.stop.text_span.begin) {
    text_append_c(out, " \"");
    text_append(out, s->as.stop.text);
    text_append_char(out, '"');
  }
  text_append_char(out, ';');
}

static void print_goto(TextBuffer* out, const AstStatement* s) {
  text_append_c(out, "goto ");
  if (s->as.jump.automaton) {
    ast_print_name(out, s->as.jump.automaton);
    text_append_char(out, '.');
  }
  ast_print_name(out, s->as.jump.state);
  text_append_char(out, ';');
}

static void print_function(TextBuffer* out, const AstFunction* f) {
  text_append_c(out, "function ");
  ast_print_name(out, &f->name);
  text_append_char(out, '(');
  print_name_list(out, &f->parameters);
  text_append_char(out, ')');
  if (f->locals.count == 0) {
    print_clause(out, " = ", f->result);
    text_append_char(out, ';');
    return;
  }
  text_append_c(out, " { ");
  for (uint32_t i = 0; i < f->locals.count; i++) {
    ast_print_name(out, &f->locals.data[i].names.data[0]);
    print_clause(out, " = ", f->locals.data[i].value);
    text_append_c(out, "; ");
  }
  print_clause(out, "return ", f->result);
  text_append_c(out, "; }");
}

static void print_arguments(TextBuffer* out, const AstArgumentList* list) {
  if (list->count == 0) return;
  text_append_char(out, '(');
  for (uint32_t i = 0; i < list->count; i++) {
    if (i) text_append_c(out, ", ");
    ast_print_name(out, &list->data[i].name);
    print_clause(out, " = ", list->data[i].value);
  }
  text_append_char(out, ')');
}

static void print_part(TextBuffer* out, const AstPart* part, uint32_t depth) {
  text_append_c(out, "part ");
  ast_print_name(out, &part->name);
  print_arguments(out, &part->parameters);
  text_append_char(out, ' ');
  print_block(out, &part->body, depth);
}

static void print_quantities(TextBuffer* out, const char* word, const AstNameList* list) {
  if (list->count == 0) return;
  text_append_c(out, word);
  print_name_list(out, list);
  text_append_c(out, "; ");
}

static void print_port(TextBuffer* out, const AstPort* port) {
  text_append_c(out, "port ");
  ast_print_name(out, &port->name);
  text_append_c(out, " { ");
  print_quantities(out, "across ", &port->across);
  print_quantities(out, "through ", &port->through);
  text_append_char(out, '}');
}

static void print_instances(TextBuffer* out, const AstInstanceList* list) {
  for (uint32_t i = 0; i < list->count; i++) {
    const AstInstance* instance = &list->data[i];
    if (instance->fmu) {
      text_append_c(out, "fmu ");
      ast_print_name(out, &instance->name);
      text_append_c(out, " =");
      print_text(out, instance->type.head);
      print_arguments(out, &instance->arguments);
      continue;
    }
    if (i == 0) ast_print_name(out, &instance->type);
    text_append_c(out, i ? ", " : " ");
    ast_print_name(out, &instance->name);
    for (uint32_t k = 0; k < instance->sizes.count; k++) {
      const AstIterator* size = &instance->sizes.data[k];
      text_append_c(out, k ? ", " : "[");
      text_append(out, size->variable);
      if (size->variable.length) text_append_c(out, " = ");
      print_range(out, &size->range);
    }
    if (instance->sizes.count) text_append_char(out, ']');
    print_arguments(out, &instance->arguments);
  }
  text_append_char(out, ';');
}

/// A word, an expression and the end: `energy = e;`, `invariant [r];`.
static void print_simple(TextBuffer* out, const char* word, const AstExpr* e) {
  text_append_c(out, word);
  ast_print_expr(out, e);
  text_append_char(out, ';');
}

void ast_print_statement(TextBuffer* out, const AstStatement* s, uint32_t depth) {
  print_indent(out, depth);
  switch (s->kind) {
  case AST_CONST: print_definitions(out, "const", &s->as.definitions); break;
  case AST_MACRO: print_definitions(out, "macro", &s->as.definitions); break;
  case AST_DATA: print_data(out, s->as.data); break;
  case AST_EQUATION: print_equation(out, s); break;
  case AST_INIT: print_init(out, s->as.init.form, &s->as.init.items); break;
  case AST_DELETE:
    text_append_c(out, "delete ");
    print_name_list(out, &s->as.labels);
    text_append_char(out, ';');
    break;
  case AST_ATTRIBUTES: print_attributes(out, s); break;
  case AST_ENERGY: print_simple(out, "energy = ", s->as.energy); break;
  case AST_EXPERIMENT: print_list(out, "experiment", &s->as.attributes.settings, depth); break;
  case AST_ANIMATE: print_list(out, "animate", &s->as.attributes.settings, depth); break;
  case AST_CONTROL: print_control(out, s); break;
  case AST_MEASURE:
    text_append_c(out, "measure ");
    ast_print_name(out, &s->as.measure.name);
    print_simple(out, " = ", s->as.measure.formula);
    break;
  case AST_ELEMENT: print_element(out, s->as.element); break;
  case AST_FOR: print_for(out, s, depth); break;
  case AST_IF: print_if(out, &s->as.branches, depth); break;
  case AST_STATE: print_state(out, s->as.state, depth); break;
  case AST_AUTOMATON:
    text_append_c(out, "automaton ");
    ast_print_name(out, s->as.automaton.name);
    print_clause(out, " priority ", s->as.automaton.priority);
    text_append_char(out, ' ');
    print_block(out, &s->as.automaton.body, depth);
    break;
  case AST_AT: print_at(out, s, depth); break;
  case AST_INVARIANT: print_simple(out, "invariant ", s->as.invariant); break;
  case AST_STOP: print_stop(out, s); break;
  case AST_GOTO: print_goto(out, s); break;
  case AST_FUNCTION: print_function(out, s->as.function); break;
  case AST_PART: print_part(out, s->as.part, depth); break;
  case AST_PORT: print_port(out, s->as.port.port); break;
  case AST_INSTANCE: print_instances(out, &s->as.instances); break;
  case AST_CONNECT:
    text_append_c(out, "connect(");
    print_expr_list(out, &s->as.connect.ports);
    text_append_c(out, ");");
    break;
  case AST_INCLUDE:
    text_append_c(out, "include");
    print_text(out, s->as.include.file);
    text_append_char(out, ';');
    break;
  case AST_AFTER:
    print_clause(out, "after ", s->as.after->delay);
    print_clause(out, " ", s->as.after->condition);
    if (s->as.after->persistent) text_append_c(out, " persistent");
    if (s->as.after->trigger) text_append_c(out, " trigger");
    text_append_char(out, ' ');
    print_block(out, &s->as.after->body, depth);
    break;
  }
  text_append_char(out, '\n');
}

void ast_print_model(TextBuffer* out, const AstModel* model) {
  for (uint32_t i = 0; i < model->body.statements.count; i++) {
    ast_print_statement(out, &model->body.statements.data[i], 0);
  }
}

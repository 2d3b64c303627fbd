// SPDX-License-Identifier: MIT
//
// Expressions as text, with as few parentheses as LISMA's precedences allow.
//
// Sums of a hundred thousand terms are deep trees, so the printer keeps its own stack; and since
// shared parts are printed once per use, the text of a small pool can be astronomically long:
// beyond PRINT_NODES_MAX nodes "..." stands for the rest.
#include "ir/print.h"

#include <math.h>

#define PRINT_NODES_MAX   (1u << 20)
#define PRINT_STACK_LOCAL 64

/// Precedences, weakest first.
enum {
  PRINT_EQUALS,
  PRINT_OR,
  PRINT_AND,
  PRINT_EQUALITY,
  PRINT_RELATION,
  PRINT_SUM,
  PRINT_PRODUCT,
  PRINT_UNARY,
  PRINT_POWER,
  PRINT_PRIMARY
};

/// Either a text or an expression that needs parentheses when it binds weaker than `least`.
typedef struct PrintItem {
  const char* text;
  const IrLeaf* row;
  ExprId expr;
  uint8_t least;
  bool no_minus;  // in parentheses too if it begins with a minus
} PrintItem;

typedef struct Printer {
  TextBuffer* out;
  const IrModel* model;
  PrintItem* items;  // the next one is the last
  uint32_t count, capacity;
  uint32_t printed;
  PrintItem local[PRINT_STACK_LOCAL];
} Printer;

static void push(Printer* p, PrintItem item) {
  if (p->count == p->capacity) {
    if (p->capacity > UINT32_MAX / 2) longjmp(*p->out->arena->on_oom, 1);
    PrintItem* grown = ARENA_ARRAY(p->out->arena, PrintItem, 2 * (size_t)p->capacity);
    memcpy(grown, p->items, p->count * sizeof *grown);
    p->items = grown;
    p->capacity *= 2;
  }
  p->items[p->count++] = item;
}

static void push_text(Printer* p, const char* text) {
  push(p, (PrintItem){.text = text});
}

static void push_expr(Printer* p, uint32_t expr, const IrLeaf* row, uint8_t least) {
  push(p, (PrintItem){.expr = {expr}, .row = row, .least = least});
}

static void push_operand(Printer* p, uint32_t expr, const IrLeaf* row, uint8_t least) {
  push(p, (PrintItem){.expr = {expr}, .row = row, .least = least, .no_minus = true});
}

static const IrLeaf* row_of(const IrModel* model, IrTerm term) {
  return term.leaf_count ? &model->leaves.data[term.leaf_begin] : NULL;
}

// ---------------------------------------------------------------------------------------------
// leaves

static uint8_t number_precedence(double value) {
  return signbit(value) ? PRINT_UNARY : PRINT_PRIMARY;
}

/// How strongly the text of a node binds.
static uint8_t precedence(const Printer* p, const IrNode* node, const IrLeaf* row) {
  switch (node->op) {
  case IR_EQUALS: return PRINT_EQUALS;
  case IR_OR: return PRINT_OR;
  case IR_AND: return PRINT_AND;
  case IR_EQ:
  case IR_NE: return PRINT_EQUALITY;
  case IR_LT:
  case IR_LE:
  case IR_GT:
  case IR_GE: return PRINT_RELATION;
  case IR_ADD:
  case IR_SUB: return PRINT_SUM;
  case IR_MUL:
  case IR_DIV: return PRINT_PRODUCT;
  case IR_NEG:
  case IR_NOT: return PRINT_UNARY;
  case IR_POW: return PRINT_POWER;
  case IR_CONST: return number_precedence(node->value);
  case IR_SLOT: {
    bool number = row && row[node->arg[0]].kind == IR_LEAF_NUMBER;
    return number ? number_precedence(p->model->numbers.data[row[node->arg[0]].id]) : PRINT_PRIMARY;
  }
  default: return PRINT_PRIMARY;
  }
}

static bool begins_with_minus(const IrNode* node, uint8_t own) {
  return own == PRINT_UNARY && node->op != IR_NOT;
}

static void print_var_leaf(Printer* p, IrLeaf leaf) {
  if (leaf.when == IR_NOW) {
    ir_print_var(p->out, p->model, leaf.id, leaf.order);
    return;
  }
  text_append_c(p->out, leaf.when == IR_PRE ? "pre(" : "post(");
  ir_print_var(p->out, p->model, leaf.id, leaf.order);
  text_append_char(p->out, ')');
}

/// An option of an atom and the text before it, so that it comes out before what was pushed.
static void push_option(Printer* p, const char* before, IrTerm term) {
  push_expr(p, term.shape.index, row_of(p->model, term), PRINT_OR);
  push_text(p, before);
}

/// Whether the text of an atom says what it is: not that of a piecewise function that made it, and
/// not a line of a loop, which is the same for all its instances.
static bool is_telling(Str text) {
  bool relation = false;
  for (uint32_t i = 0; i < text.length; i++) {
    char c = text.data[i];
    if (c == '[') return false;
    relation = relation || c == '<' || c == '>' || c == '=';
  }
  return relation;
}

/// `type(eps = ..., gamma = ...)[relation]`, last part first.
static void push_atom(Printer* p, uint32_t atom_id) {
  const IrAtom* atom = (IrAtom[]){ir_atom(p->model, atom_id)};
  bool eps = ir_term_present(atom->eps);
  bool gamma = ir_term_present(atom->gamma);
  TextBuffer source = {.arena = p->out->arena};
  if (atom->text.length) {
    push_text(p, "]");
    push_text(p, str_copy(p->out->arena, atom->text).data);
  } else if (ir_print_source(&source, p->model, atom->span) && is_telling(text_str(&source))) {
    push_text(p, "]");
    push_text(p, text_str(&source).data);
  } else {
    push_text(p, "]");
    push_text(p, ir_atom_relation_text(atom->relation));
    push_expr(p, atom->g.shape.index, row_of(p->model, atom->g), PRINT_SUM);
  }
  push_text(p, eps || gamma ? ")[" : "[");
  if (gamma) push_option(p, eps ? ", gamma = " : "(gamma = ", atom->gamma);
  if (eps) push_option(p, "(eps = ", atom->eps);
  // a plain critical atom is the bare form, which takes no options
  bool bare = atom->type == IR_ATOM_CRITICAL && !eps && !gamma;
  if (!bare)
    push_text(p, atom->type == IR_ATOM_CRITICAL ? "ordinary" : ir_atom_type_text(atom->type));
}

/// A switch is shown as its condition, a state of another automaton by name.
static void push_mode(Printer* p, uint32_t test_id, uint8_t least) {
  IrModeTest test = p->model->mode_tests.data[test_id];
  const IrAutomaton* a = (IrAutomaton[]){ir_automaton(p->model, test.automaton)};
  bool condition = a->kind == IR_AUTOMATON_SWITCH && ir_term_present(a->condition);
  if (!condition) {
    ir_print_state(p->out, p->model, test.automaton, test.state);
    return;
  }
  const IrLeaf* row = row_of(p->model, a->condition);
  if (test.state == 1) {
    push_expr(p, a->condition.shape.index, row, least);
    return;
  }
  if (least > PRINT_UNARY) push_text(p, ")");
  push_expr(p, a->condition.shape.index, row, PRINT_UNARY);
  push_text(p, least > PRINT_UNARY ? "(not " : "not ");
}

static void print_entry(Printer* p, uint32_t automaton) {
  if (automaton != IR_NONE) {
    ir_print_name(p->out, names_get(&p->model->names, ir_automaton(p->model, automaton).name));
    text_append_char(p->out, '.');
  }
  text_append_c(p->out, "t0");
}

static void print_leaf(Printer* p, IrLeaf leaf, uint8_t least) {
  const IrModel* model = p->model;
  switch ((IrLeafKind)leaf.kind) {
  case IR_LEAF_NUMBER: text_append_double(p->out, model->numbers.data[leaf.id]); break;
  case IR_LEAF_PARAM:
    ir_print_name(p->out, names_get(&model->names, model->params.data[leaf.id].name));
    break;
  case IR_LEAF_VAR: print_var_leaf(p, leaf); break;
  case IR_LEAF_ATOM: push_atom(p, leaf.id); break;
  case IR_LEAF_MODE: push_mode(p, leaf.id, least); break;
  case IR_LEAF_ENTRY: print_entry(p, leaf.id); break;
  }
}

// ---------------------------------------------------------------------------------------------
// nodes

static const char* infix_text(uint32_t op) {
  switch (op) {
  case IR_EQUALS: return " = ";
  case IR_OR: return " or ";
  case IR_AND: return " and ";
  case IR_EQ: return " == ";
  case IR_NE: return " != ";
  case IR_LT: return " < ";
  case IR_LE: return " <= ";
  case IR_GT: return " > ";
  case IR_GE: return " >= ";
  case IR_ADD: return " + ";
  case IR_SUB: return " - ";
  case IR_MUL: return "*";
  case IR_DIV: return "/";
  case IR_POW: return "^";
  default: return NULL;
  }
}

static void push_infix(Printer* p, const IrNode* node, const IrLeaf* row, uint8_t own) {
  uint8_t stronger = (uint8_t)(own + 1);
  const char* text = infix_text(node->op);
  if (node->op == IR_POW) {
    push_expr(p, node->arg[1], row, PRINT_POWER);
    push_text(p, text);
    push_expr(p, node->arg[0], row, PRINT_PRIMARY);
    return;
  }
  bool arithmetic = own == PRINT_SUM || own == PRINT_PRODUCT;
  if (arithmetic) {
    push_operand(p, node->arg[1], row, stronger);
  } else {
    push_expr(p, node->arg[1], row, stronger);
  }
  push_text(p, text);
  bool chain = arithmetic || own == PRINT_AND || own == PRINT_OR;
  push_expr(p, node->arg[0], row, chain ? own : stronger);
}

static void push_call(Printer* p, const IrNode* node, const IrLeaf* row) {
  uint32_t arity = ir_op_arity((IrOp)node->op);
  if (node->op == IR_TABLE && node->arg[0] < p->model->data.count &&
      p->model->data.data[node->arg[0]].history) {
    // its name is the call
    text_append(p->out, names_get(&p->model->names, p->model->data.data[node->arg[0]].name));
    return;
  }
  push_text(p, ")");
  for (uint32_t k = arity; k-- > ir_first_arg(node->op);) {
    push_expr(p, node->arg[k], row, PRINT_EQUALS);
    if (k > 0) push_text(p, ", ");
  }
  text_append_c(p->out, ir_op_text((IrOp)node->op));
  text_append_char(p->out, '(');
  if (node->op == IR_TABLE) {
    ir_print_name(p->out, names_get(&p->model->names, p->model->data.data[node->arg[0]].name));
  }
}

static void print_slot(Printer* p, uint32_t slot, const IrLeaf* row, uint8_t least) {
  if (row) {
    print_leaf(p, row[slot], least);
  } else {
    text_append_format(p->out, "$%u", slot);
  }
}

static void print_node(Printer* p, const PrintItem* item) {
  const IrNode* node = &p->model->pool.nodes.data[item->expr.index];
  uint8_t own = precedence(p, node, item->row);
  uint8_t least = item->least;
  if (own < least || (item->no_minus && begins_with_minus(node, own))) {
    text_append_char(p->out, '(');
    push_text(p, ")");
    least = PRINT_EQUALS;
  }
  if (infix_text(node->op)) {
    push_infix(p, node, item->row, own);
    return;
  }
  switch (node->op) {
  case IR_NIL:
  case IR_TIME:
  case IR_TRUE:
  case IR_FALSE: text_append_c(p->out, ir_op_text((IrOp)node->op)); break;
  case IR_CONST: text_append_double(p->out, node->value); break;
  case IR_SLOT: print_slot(p, node->arg[0], item->row, least); break;
  case IR_NEG:
    text_append_char(p->out, '-');
    push_operand(p, node->arg[0], item->row, PRINT_UNARY);
    break;
  case IR_NOT:
    text_append_c(p->out, "not ");
    push_expr(p, node->arg[0], item->row, PRINT_UNARY);
    break;
  default: push_call(p, node, item->row); break;
  }
}

void ir_print_expr(TextBuffer* out, const IrModel* model, ExprId expr, const IrLeaf* row) {
  Printer p;
  p.out = out;
  p.model = model;
  p.items = p.local;
  p.count = 0;
  p.capacity = PRINT_STACK_LOCAL;
  p.printed = 0;
  push_expr(&p, expr.index, row, PRINT_EQUALS);
  while (p.count) {
    PrintItem item = p.items[--p.count];
    if (item.text) {
      text_append_c(out, item.text);
    } else if (++p.printed > PRINT_NODES_MAX) {
      text_append_c(out, "...");
    } else {
      print_node(&p, &item);
    }
  }
}

void ir_print_term(TextBuffer* out, const IrModel* model, IrTerm term) {
  ir_print_expr(out, model, term.shape, row_of(model, term));
}

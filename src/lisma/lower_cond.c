// SPDX-License-Identifier: MIT
//
// Conditions. Where events are located every relation becomes an atom of its own; elsewhere it is
// a plain comparison inside the term. What depends only on loop indices, numbers and constants
// compared with an index is decided here, so that `if (i == 1)` can guard the ends of a chain.
#include "lisma/ast_print.h"
#include "lisma/lower.h"

/// noEvent(c), which is a condition where c is one.
static bool is_no_event(const AstExpr* call) {
  return call->as.call.args.count == 1 &&
         ast_name_is_word(call->as.call.callee, STR_LIT("noEvent"));
}

bool lower_is_condition(const AstExpr* expr) {
  switch (expr->kind) {
  case AST_QUALIFIED:
  case AST_ATOM: return true;
  case AST_UNARY: return expr->as.unary.op == AST_UNARY_NOT;
  case AST_CHAIN: return expr->as.chain.level <= AST_LEVEL_RELATION;
  case AST_CALL: return is_no_event(expr) && lower_is_condition(expr->as.call.args.data[0]);
  case AST_ERROR:
  case AST_NUMBER:
  case AST_NAME:
  case AST_REDUCTION:
  case AST_CONDITIONAL:
  case AST_POWER: break;
  }
  return false;
}

bool lower_is_unlocated(const AstExpr* expr) {
  if (expr->kind == AST_ATOM) return expr->as.atom.type == AST_EVENT_NO_EVENT;
  if (expr->kind == AST_CALL) return is_no_event(expr);
  if (expr->kind == AST_UNARY) return lower_is_unlocated(expr->as.unary.operand);
  if (expr->kind != AST_CHAIN || expr->as.chain.level > AST_LEVEL_AND) return false;
  for (uint32_t i = 0; i < expr->as.chain.links.count; i++) {
    if (!lower_is_unlocated(expr->as.chain.links.data[i].operand)) return false;
  }
  return true;
}

static Value condition_value(ExprId e, unsigned flags) {
  return (Value){.e = e, .type = VALUE_CONDITION, .flags = (uint8_t)flags};
}

static Value truth_value(Lower* l, bool truth) {
  IrOp op = truth ? IR_TRUE : IR_FALSE;
  unsigned flags = truth ? VALUE_ALWAYS : VALUE_NEVER;
  return condition_value(lower_op(l, op, (ExprId){0}, (ExprId){0}), flags);
}

static bool is_truth(const Lower* l, Value value, bool truth) {
  if (value.type != VALUE_CONDITION) return false;
  return l->m->pool.nodes.data[value.e.index].op == (truth ? IR_TRUE : IR_FALSE);
}

static Value opposite(Lower* l, Value value) {
  if (value.type == VALUE_BAD) return value;
  if (is_truth(l, value, true)) return truth_value(l, false);
  if (is_truth(l, value, false)) return truth_value(l, true);
  unsigned flags = value.flags & ~(unsigned)(VALUE_NEVER | VALUE_ALWAYS);
  if (value.flags & VALUE_NEVER) flags |= VALUE_ALWAYS;
  if (value.flags & VALUE_ALWAYS) flags |= VALUE_NEVER;
  return condition_value(lower_op(l, IR_NOT, value.e, (ExprId){0}), flags);
}

// ---------------------------------------------------------------------------------------------
// shared things

/// The slot of an equal term, or the free one where it would go.
static uint32_t* shared_slot(const Lower* l, const SharedTable* table, const Shared* wanted) {
  uint32_t mask = table->slot_count - 1;
  for (uint32_t at = wanted->hash & mask;; at = (at + 1) & mask) {
    uint32_t* slot = &table->slots[at];
    if (*slot == 0) return slot;
    const Shared* item = &table->items.data[*slot - 1];
    bool alike = item->hash == wanted->hash && item->extra == wanted->extra;
    if (alike && ir_term_equal(l->m, item->term, wanted->term)) return slot;
  }
}

static uint32_t shared_hash(const Lower* l, IrTerm term, uint32_t extra) {
  return (uint32_t)hash_mix(ir_term_hash(l->m, term), extra);
}

const Shared* lower_find_shared(Lower* l, SharedTable* table, IrTerm term, uint32_t extra) {
  if (!table->slots) return NULL;
  Shared wanted = {.term = term, .extra = extra, .hash = shared_hash(l, term, extra)};
  uint32_t found = *shared_slot(l, table, &wanted);
  if (found == 0) return NULL;
  // the row of the second one is the newest: nobody refers to it
  if (term.leaf_begin + term.leaf_count == l->m->leaves.count) {
    l->m->leaves.count = term.leaf_begin;
  }
  return &table->items.data[found - 1];
}

static void shared_grow(Lower* l, SharedTable* table) {
  if (table->slot_count > UINT32_MAX / 2) longjmp(*l->scratch->on_oom, 1);
  table->slot_count = table->slot_count ? 2 * table->slot_count : 64;
  table->slots = ARENA_ARRAY(l->scratch, uint32_t, table->slot_count);
  uint32_t mask = table->slot_count - 1;
  const Shared* items = table->items.data;
  for (uint32_t i = 0; items && i < table->items.count; i++) {
    uint32_t at = items[i].hash & mask;
    while (table->slots[at]) {
      at = (at + 1) & mask;
    }
    table->slots[at] = i + 1;
  }
}

void lower_add_shared(Lower* l, SharedTable* table, IrTerm term, uint32_t extra, uint32_t index) {
  if (table->items.count >= table->slot_count / 2) shared_grow(l, table);
  Shared item = {.term = term, .extra = extra, .hash = shared_hash(l, term, extra), .index = index};
  uint32_t* slot = shared_slot(l, table, &item);
  base_vec_push(l->scratch, &table->items, item);
  *slot = table->items.count;
}

// ---------------------------------------------------------------------------------------------
// relations

static IrOp relation_op(AstOp op) {
  switch ((int)op) {
  case AST_OP_EQ: return IR_EQ;
  case AST_OP_NE: return IR_NE;
  case AST_OP_LT: return IR_LT;
  case AST_OP_LE: return IR_LE;
  case AST_OP_GT: return IR_GT;
  default: return IR_GE;
  }
}

static IrOp complement(IrOp op) {
  switch ((int)op) {
  case IR_EQ: return IR_NE;
  case IR_NE: return IR_EQ;
  case IR_LT: return IR_GE;
  case IR_LE: return IR_GT;
  case IR_GT: return IR_LE;
  default: return IR_LT;
  }
}

static bool is_zero(const Lower* l, ExprId e) {
  const IrNode* node = &l->m->pool.nodes.data[e.index];
  return node->op == IR_CONST && node->value == 0.0;
}

static ExprId difference(Lower* l, ExprId a, ExprId b) {
  if (is_zero(l, b)) return a;
  if (is_zero(l, a)) return lower_op(l, IR_NEG, b, (ExprId){0});
  return lower_op(l, IR_SUB, a, b);
}

ExprId lower_oriented(Lower* l, IrOp relation, ExprId a, ExprId b, uint8_t* atom_relation) {
  bool less = relation == IR_LT || relation == IR_LE;
  bool strict = relation == IR_LT || relation == IR_GT;
  bool equality = relation == IR_EQ || relation == IR_NE;
  *atom_relation = equality ? IR_REL_EQ : strict ? IR_REL_GT : IR_REL_GE;
  return less ? difference(l, b, a) : difference(l, a, b);
}

uint32_t lower_add_atom(Lower* l, IrTerm g, uint8_t relation, AtomStyle style, Span span) {
  // eps and gamma are rare: only atoms without them are shared
  bool plain = !ir_term_present(style.eps) && !ir_term_present(style.gamma);
  bool shared = style.shared && plain;
  uint32_t extra = (uint32_t)style.type << 8 | relation;
  if (shared) {
    const Shared* known = lower_find_shared(l, &l->terms.shared_atoms, g, extra);
    if (known) {
      IrAtom* atom = &l->m->atoms.data[known->index];
      atom->kink = atom->kink && style.kink;
      return known->index;
    }
  }
  IrAtom atom = {.g = g,
                 .type = style.type,
                 .relation = relation,
                 .bipolar = style.bipolar,
                 .kink = style.kink,
                 .eps = style.eps,
                 .gamma = style.gamma,
                 .text = style.text,
                 .span = span};
  base_vec_push(l->arena, &l->m->atoms, atom);
  uint32_t index = l->m->atoms.count - 1;
  if (shared) lower_add_shared(l, &l->terms.shared_atoms, g, extra, index);
  return index;
}

/// A relation whose sides need no run to be known. False: it is to be decided in the run.
static bool decide(Lower* l, const AstExpr* expr, unsigned flags, Value* value) {
  bool fixed = !(flags & VALUE_VARIES) && ((flags & VALUE_INDEX) || !(flags & VALUE_PARAM));
  if (!fixed) return false;
  const AstLinkList* links = &expr->as.chain.links;
  double a = 0.0;
  double b = 0.0;
  *value = lower_value_bad();
  if (resolve_eval(l, links->data[0].operand, &a) && resolve_eval(l, links->data[1].operand, &b)) {
    double truth = ir_apply(relation_op(links->data[1].op), a, b, 0.0);
    *value = truth_value(l, truth != 0.0);
  }
  return true;
}

static Value report_chained(Lower* l, const AstExpr* expr) {
  const AstLinkList* links = &expr->as.chain.links;
  Diag* diag = lower_report(l, DIAG_E0307, expr->span, "comparisons cannot be chained");
  Str text[3];
  for (uint32_t i = 0; i < 3; i++) {
    Span span = links->data[i].operand->span;
    text[i] = (Str){l->source->text.data + span.begin, span.end - span.begin};
    if (text[i].length > 40) text[i] = STR_LIT("...");
  }
  diag_hint(l->diags, diag, "write %.*s %s %.*s && %.*s %s %.*s", STR_ARGS(text[0]),
            ast_op_text(links->data[1].op), STR_ARGS(text[1]), STR_ARGS(text[1]),
            ast_op_text(links->data[2].op), STR_ARGS(text[2]));
  return lower_value_bad();
}

static Value lower_exclusive(Lower* l, Value a, Value b, bool equal) {
  if (a.type == VALUE_BAD || b.type == VALUE_BAD) return lower_value_bad();
  unsigned flags = ((unsigned)a.flags | b.flags) & ~(unsigned)(VALUE_NEVER | VALUE_ALWAYS);
  ExprId none = {0};
  ExprId not_a = lower_op(l, IR_NOT, a.e, none);
  ExprId not_b = lower_op(l, IR_NOT, b.e, none);
  ExprId one = lower_op(l, IR_AND, a.e, equal ? b.e : not_b);
  ExprId other = lower_op(l, IR_AND, not_a, equal ? not_b : b.e);
  return condition_value(lower_op(l, IR_OR, one, other), flags);
}

/// `a == b` and `a != b` of conditions.
static Value compare_conditions(Lower* l, const AstExpr* expr, AtomStyle style) {
  const AstLinkList* links = &expr->as.chain.links;
  bool negated = style.negated;
  style.bipolar = true;
  style.negated = false;
  Value a = lower_condition(l, links->data[0].operand, style);
  Value b = lower_condition(l, links->data[1].operand, style);
  return lower_exclusive(l, a, b, (links->data[1].op == AST_OP_EQ) != negated);
}

static bool is_truth_word(Lower* l, const AstExpr* expr) {
  if (expr->kind != AST_NAME || !ast_name_is_plain(&expr->as.name.name)) return false;
  Symbol symbol = *resolve_symbol(l, resolve_plain(l, &expr->as.name.name));
  return symbol.kind == SYM_BUILTIN &&
         (symbol.index == BUILTIN_TRUE || symbol.index == BUILTIN_FALSE);
}

static bool compares_conditions(Lower* l, const AstExpr* expr) {
  if (expr->as.chain.level != AST_LEVEL_EQUALITY) return false;
  for (uint32_t i = 0; i < 2; i++) {
    const AstExpr* operand = expr->as.chain.links.data[i].operand;
    if (is_truth_word(l, operand) || lower_means_condition(l, operand)) return true;
  }
  return false;
}

/// The relation of the guard that has the boundary of `a op b` and its side; IR_NONE without one.
static uint32_t find_in_guard(Lower* l, IrOp op, ExprId a, ExprId b) {
  IrTerm guard = l->terms.scope.guard;
  uint8_t relation = IR_REL_GE;
  ExprId g = lower_oriented(l, op, a, b, &relation);
  uint32_t leaves = l->m->leaves.count;
  IrTerm term = lower_snapshot(l, g);
  uint32_t found = IR_NONE;
  for (uint32_t k = 0; k < guard.leaf_count && found == IR_NONE; k++) {
    IrLeaf leaf = ir_leaf(l->m, guard, k);
    if (leaf.kind != IR_LEAF_ATOM) continue;
    const IrAtom* atom = &l->m->atoms.data[leaf.id];
    bool alike = (atom->relation == IR_REL_EQ) == (relation == IR_REL_EQ);
    if (alike && ir_term_equal(l->m, atom->g, term)) found = leaf.id;
  }
  l->m->leaves.count = leaves;
  return found;
}

/// What follows for `a op b` from a relation of the guard with its boundary and its side: `x < 0`
/// means `x <= 0`, and where `x <= 0` fails, `x < 0` does.
static ExprId follow_guard(Lower* l, uint32_t atom, IrOp op, ExprId a, ExprId b) {
  ExprId truth = lower_leaf(l, (IrLeaf){.id = atom, .kind = IR_LEAF_ATOM});
  bool strict = op == IR_LT || op == IR_GT;
  uint8_t relation = l->m->atoms.data[atom].relation;
  if (relation == IR_REL_EQ) return op == IR_EQ ? truth : lower_op(l, IR_NOT, truth, (ExprId){0});
  if (strict == (relation == IR_REL_GT)) return truth;
  return lower_op(l, strict ? IR_AND : IR_OR, truth, lower_op(l, op, a, b));
}

/// What the guard says about a relation of its own: the values at a crossing lie on either side of
/// the boundary, by rounding, and resets must not contradict the event that they belong to.
static bool decided_by_guard(Lower* l, IrOp op, ExprId a, ExprId b, ExprId* truth) {
  if (!ir_term_present(l->terms.scope.guard)) return false;
  uint32_t atom = find_in_guard(l, op, a, b);
  if (atom != IR_NONE) {
    *truth = follow_guard(l, atom, op, a, b);
    return true;
  }
  atom = find_in_guard(l, complement(op), a, b);
  if (atom == IR_NONE) return false;
  *truth = lower_op(l, IR_NOT, follow_guard(l, atom, complement(op), a, b), (ExprId){0});
  return true;
}

/// A relation inside the present term.
static Value literal_relation(Lower* l, const AstExpr* expr, AtomStyle style) {
  const AstLinkList* links = &expr->as.chain.links;
  Value a = lower_value(l, links->data[0].operand);
  Value b = lower_value(l, links->data[1].operand);
  if (a.type == VALUE_BAD || b.type == VALUE_BAD) return lower_value_bad();
  unsigned flags = (unsigned)a.flags | b.flags;
  Value value;
  if (decide(l, expr, flags, &value)) return value;
  IrOp op = relation_op(links->data[1].op);
  ExprId e = {0};
  bool asked = style.type == IR_ATOM_NOEVENT;  // for the values as they are
  if (asked || !decided_by_guard(l, op, a.e, b.e, &e)) e = lower_op(l, op, a.e, b.e);
  return condition_value(e, flags);
}

/// What a relation is called whose negation is what is located.
static Str negated_text(Lower* l, Str text, Span span) {
  if (text.length == 0) text = (Str){l->source->text.data + span.begin, span.end - span.begin};
  return str_format(l->arena, "not (%.*s)", STR_ARGS(text));
}

/// How a relation of a part reads from outside: with the names that the model has for its members.
static Str text_of_part(Lower* l, const AstExpr* expr) {
  const AstInstance* part = l->functions.instance;
  if (!part || part->tried) return STR_LIT("");
  uint64_t key = (uint64_t)(uintptr_t)expr;
  uint32_t known = map_get(&l->terms.relation_texts, key, 0);
  if (known) return lower_name(l, known);
  TextBuffer printed = {.arena = l->scratch};
  TextBuffer out = {.arena = l->scratch};
  ast_print_expr(&printed, expr);
  Str all = text_str(&printed);
  for (uint32_t i = 0; i < all.length; i++) {
    // members are names in backquotes, and loops of parts have a number behind their index
    bool tag = all.data[i] == '#';
    while (tag && i + 1 < all.length && all.data[i + 1] >= '0' && all.data[i + 1] <= '9')
      i++;
    if (!tag && all.data[i] != '`') text_append_char(&out, all.data[i]);
  }
  uint32_t text = names_intern(&l->m->names, text_str(&out));
  map_set(&l->terms.relation_texts, key, 0, text);
  return lower_name(l, text);
}

/// A relation as an atom with a term of its own.
static Value located_relation(Lower* l, const AstExpr* expr, AtomStyle style) {
  const AstLinkList* links = &expr->as.chain.links;
  IrOp op = relation_op(links->data[1].op);
  if (style.negated) op = complement(op);
  bool outer = l->terms.scope.in_atom;
  l->terms.scope.in_atom = true;
  TermFrame frame = lower_begin(l);
  Value a = lower_value(l, links->data[0].operand);
  Value b = lower_value(l, links->data[1].operand);
  l->terms.scope.in_atom = outer;
  unsigned flags = (unsigned)a.flags | b.flags;
  Value value = lower_value_bad();
  bool bad = a.type == VALUE_BAD || b.type == VALUE_BAD;
  if (bad || decide(l, expr, flags, &value)) {
    lower_end(l, frame, (ExprId){0});
    return bad || !style.negated ? value : opposite(l, value);
  }
  uint8_t relation = IR_REL_GE;
  ExprId g = lower_oriented(l, op, a.e, b.e, &relation);
  if (style.judge) flags |= lower_range_truth(l, g, relation);
  IrTerm term = lower_end(l, frame, g);

  if (op == IR_NE || op == IR_EQ) style.bipolar = true;
  Span span = {links->data[0].operand->span.begin, links->data[1].operand->span.end};
  if (style.text.length) {
    span = expr->span;
  } else {
    style.text = text_of_part(l, expr);
  }
  if (style.negated) style.text = negated_text(l, style.text, span);
  uint32_t atom = lower_add_atom(l, term, relation, style, span);
  ExprId e = lower_leaf(l, (IrLeaf){.id = atom, .kind = IR_LEAF_ATOM});
  if (op == IR_NE) {
    e = lower_op(l, IR_NOT, e, (ExprId){0});
    unsigned judged = flags & (VALUE_NEVER | VALUE_ALWAYS);
    flags &= ~judged;
    if (judged & VALUE_NEVER) flags |= VALUE_ALWAYS;
    if (judged & VALUE_ALWAYS) flags |= VALUE_NEVER;
  }
  return condition_value(e, flags | VALUE_VARIES);
}

static Value lower_relation(Lower* l, const AstExpr* expr, AtomStyle style) {
  if (expr->as.chain.links.count != 2) return report_chained(l, expr);
  if (compares_conditions(l, expr)) return compare_conditions(l, expr, style);
  if (!l->terms.scope.literal) return located_relation(l, expr, style);
  Value value = literal_relation(l, expr, style);
  return style.negated ? opposite(l, value) : value;  // of nan too
}

// ---------------------------------------------------------------------------------------------
// connectives

static unsigned join_flags(unsigned a, unsigned b, bool either) {
  unsigned all = (a | b) & ~(unsigned)(VALUE_NEVER | VALUE_ALWAYS);
  unsigned strong = either ? VALUE_ALWAYS : VALUE_NEVER;  // one is enough
  unsigned weak = either ? VALUE_NEVER : VALUE_ALWAYS;    // both are needed
  return all | ((a | b) & strong) | (a & b & weak);
}

static Value lower_connective(Lower* l, const AstExpr* expr, AtomStyle style) {
  bool either = (expr->as.chain.level == AST_LEVEL_OR) != style.negated;
  const AstLinkList* links = &expr->as.chain.links;
  Value total = truth_value(l, !either);
  for (uint32_t i = 0; i < links->count; i++) {
    Value operand = lower_condition(l, links->data[i].operand, style);
    if (is_truth(l, operand, either)) return operand;  // the rest does not matter
    if (total.type == VALUE_BAD || operand.type == VALUE_BAD) {
      total = lower_value_bad();
    } else if (is_truth(l, total, !either)) {
      total = operand;
    } else if (!is_truth(l, operand, !either)) {
      unsigned flags = join_flags(total.flags, operand.flags, either);
      total = condition_value(lower_op(l, either ? IR_OR : IR_AND, total.e, operand.e), flags);
    }
  }
  return total;
}

/// `a xor b xor c`, from the left.
static Value lower_xor(Lower* l, const AstExpr* expr, AtomStyle style) {
  const AstLinkList* links = &expr->as.chain.links;
  bool negated = style.negated;
  style.bipolar = true;
  style.negated = false;
  Value total = lower_condition(l, links->data[0].operand, style);
  for (uint32_t i = 1; i < links->count; i++) {
    total = lower_exclusive(l, total, lower_condition(l, links->data[i].operand, style), false);
  }
  return negated ? opposite(l, total) : total;
}

/// `a implies b implies c`, from the right: all but the last are what it takes.
static Value lower_implies(Lower* l, const AstExpr* expr, AtomStyle style) {
  const AstLinkList* links = &expr->as.chain.links;
  bool negated = style.negated;
  style.negated = false;
  style.bipolar |= negated;
  Value total = lower_condition(l, links->data[links->count - 1].operand, style);
  style.bipolar = true;
  for (uint32_t i = links->count - 1; i > 0; i--) {
    Value cause = lower_condition(l, links->data[i - 1].operand, style);
    if (cause.type == VALUE_BAD || total.type == VALUE_BAD) return lower_value_bad();
    unsigned flags =
        ((unsigned)cause.flags | total.flags) & ~(unsigned)(VALUE_NEVER | VALUE_ALWAYS);
    ExprId without = lower_op(l, IR_NOT, cause.e, (ExprId){0});
    total = condition_value(lower_op(l, IR_OR, without, total.e), flags);
  }
  return negated ? opposite(l, total) : total;
}

/// `not` goes into the condition, down to its relations: `not (x > 0)` is located as `x <= 0` is.
static Value lower_not(Lower* l, const AstExpr* expr, AtomStyle style) {
  style.negated = !style.negated;
  return lower_condition(l, expr->as.unary.operand, style);
}

static uint8_t atom_type(AstEvent event) {
  switch (event) {
  case AST_EVENT_UNILATERAL: return IR_ATOM_UNILATERAL;
  case AST_EVENT_BILATERAL: return IR_ATOM_BILATERAL;
  case AST_EVENT_SHORTLIVING: return IR_ATOM_SHORTLIVING;
  case AST_EVENT_NO_EVENT: return IR_ATOM_NOEVENT;
  case AST_EVENT_PULSE: return IR_ATOM_PULSE;
  case AST_EVENT_STRUCK: return IR_ATOM_STRUCK;
  case AST_EVENT_PLAIN:
  case AST_EVENT_ORDINARY: break;
  }
  return IR_ATOM_CRITICAL;
}

/// A parameter of an event: gamma between 0 and 1, eps at least 0 (0: no zone at all).
static IrTerm atom_parameter(Lower* l, const AstExpr* expr, const char* what, double limit) {
  if (!expr) return (IrTerm){{0}, 0, 0};
  Scope scope = {.kind = SCOPE_CONSTANT, .literal = true, .automaton = IR_NONE};
  IrTerm term = lower_term(l, expr, scope, NULL);
  double value = 0.0;
  bool fraction = limit == 1.0;
  if (resolve_term_value(l, term, &value) &&
      !(fraction ? value > 0.0 && value < 1.0 : value >= 0.0 && value < limit)) {
    lower_report(l, DIAG_E0415, expr->span, "'%s' must be %s; here it is %.*s", what,
                 fraction ? "greater than 0 and less than 1" : "at least 0",
                 STR_ARGS(lower_number_text(l, value)));
  }
  return term;
}

static Value lower_atom(Lower* l, const AstExpr* expr, AtomStyle style) {
  if (style.inside) {
    lower_report(l, DIAG_E0313, expr->span, "an event cannot stand inside another one");
    return lower_value_bad();
  }
  style.inside = true;
  style.type = atom_type(expr->as.atom.type);
  style.text = expr->as.atom.text;
  style.eps = atom_parameter(l, expr->as.atom.eps, "eps", 1e300);
  style.gamma = atom_parameter(l, expr->as.atom.gamma, "gamma", 1.0);
  // the window of a typed event lies on its own side of the boundary
  bool typed = style.type != IR_ATOM_CRITICAL || expr->as.atom.eps || expr->as.atom.gamma;
  bool outside = style.negated && typed;
  style.negated &= !outside;
  style.bipolar |= outside;
  Value value = lower_condition(l, expr->as.atom.condition, style);
  return outside ? opposite(l, value) : value;
}

// ---------------------------------------------------------------------------------------------

ExprId lower_mode_leaf(Lower* l, uint32_t automaton, uint32_t state) {
  if (automaton >= l->automata.switch_tests.count) {
    base_vec_reserve(l->scratch, &l->automata.switch_tests,
                     automaton + 1 - l->automata.switch_tests.count);
    l->automata.switch_tests.count = automaton + 1;
  }
  uint32_t* known = state == 1 ? &l->automata.switch_tests.data[automaton] : NULL;
  uint32_t test = known ? *known : map_get(&l->automata.mode_tests, automaton, state);
  if (test == 0) {
    base_vec_push(l->arena, &l->m->mode_tests, (IrModeTest){automaton, state});
    test = l->m->mode_tests.count;
    if (known) {
      *known = test;
    } else {
      map_set(&l->automata.mode_tests, automaton, state, test);
    }
  }
  return lower_leaf(l, (IrLeaf){.id = test - 1, .kind = IR_LEAF_MODE});
}

static Value lower_qualified(Lower* l, const AstExpr* expr) {
  if (l->terms.scope.kind == SCOPE_CONSTANT || l->terms.scope.kind == SCOPE_SCHEDULE) {
    lower_report(l, DIAG_E0206, expr->span, "the state of an automaton is not a constant");
    return lower_value_bad();
  }
  uint32_t automaton = lower_find_automaton(l, expr->as.qualified.automaton);
  if (automaton == IR_NONE) return lower_value_bad();
  uint32_t state = lower_find_state(l, automaton, expr->as.qualified.state);
  if (state == IR_NONE) return lower_value_bad();
  uint32_t index = l->automata.states.data[state].index;
  return condition_value(lower_mode_leaf(l, automaton, index), VALUE_VARIES);
}

static Value report_not_condition(Lower* l, const AstExpr* expr) {
  uint32_t name = expr->kind == AST_NAME ? resolve_name(l, &expr->as.name.name) : 0;
  Str text = lower_name(l, name);
  Symbol symbol = name ? *resolve_symbol(l, name) : (Symbol){0};
  if (symbol.owner && symbol.kind == SYM_NONE) {
    Str owner = lower_name(l, l->automata.all.data[symbol.owner - 1].name);
    Diag* diag = lower_report(l, DIAG_E0302, expr->span, "'%.*s' is a state, not a condition",
                              STR_ARGS(text));
    diag_hint(l->diags, diag, "whether a state is active is written '%.*s.%.*s'", STR_ARGS(owner),
              STR_ARGS(text));
    return lower_value_bad();
  }
  if (symbol.kind == SYM_NONE && str_equal(text, STR_LIT("zeno"))) {
    Diag* diag = lower_report(l, DIAG_E0302, expr->span, "'zeno' has no meaning here");
    diag_hint(l->diags, diag,
              "it is the guard of a state, alone or joined with conditions by '&&'");
    return lower_value_bad();
  }
  Diag* diag =
      lower_report(l, DIAG_E0302, expr->span, "a condition is needed here, and this is a number");
  if (name) {
    diag_hint(l->diags, diag, "compare it with something: %.*s > 0, %.*s != 0", STR_ARGS(text),
              STR_ARGS(text));
  }
  return lower_value_bad();
}

static Value lower_condition_call(Lower* l, const AstExpr* call, uint32_t function,
                                  AtomStyle style) {
  CallFrame frame;
  if (!lower_enter_function(l, call, function, &frame)) return lower_value_bad();
  Value value = lower_condition(l, l->functions.user.data[function].ast->result, style);
  lower_leave_function(l, &frame);
  return value;
}

/// A variable that is given conditions as its values: it holds where it is not 0.
static Value lower_logical(Lower* l, const AstExpr* expr, AtomStyle style) {
  AstExpr half = {.kind = AST_NUMBER, .depth = 1, .span = expr->span};
  half.as.number = 0.5;
  AstLink links[2] = {{.op = AST_OP_GT, .operand = (AstExpr*)expr},
                      {.op = AST_OP_GT, .op_span = expr->span, .operand = &half}};
  AstExpr relation = {.kind = AST_CHAIN, .depth = expr->depth, .span = expr->span};
  relation.as.chain.level = AST_LEVEL_RELATION;
  relation.as.chain.links.data = links;
  relation.as.chain.links.count = 2;
  style.text = lower_name(l, resolve_name(l, &expr->as.name.name));
  return lower_condition(l, &relation, style);
}

/// A macro that is a condition, an argument that is one, a truth value.
static Value lower_condition_name(Lower* l, const AstExpr* expr, AtomStyle style) {
  const AstName* written = &expr->as.name.name;
  Local* local = lower_local(l, written);
  if (local && expr->order == 0) {
    LocalMark mark;
    if (!lower_enter_local(l, local, &mark)) return lower_value_bad();
    Value value = lower_condition(l, local->value, style);
    lower_leave_local(l, local, mark);
    return value;
  }
  if (is_truth_word(l, expr)) {
    Symbol word = *resolve_symbol(l, resolve_plain(l, written));
    return truth_value(l, (word.index == BUILTIN_TRUE) != style.negated);
  }
  uint32_t name = resolve_name(l, written);
  if (name == 0) return lower_value_bad();
  bool index = ast_name_is_plain(written) && resolve_binding(l, name);
  Symbol symbol = *resolve_symbol(l, name);
  bool named = symbol.kind == SYM_NONE || symbol.kind == SYM_VAR || symbol.kind == SYM_PARAM;
  bool logical = lower_is_logical(l, written) || map_get(&l->functions.logical, name, 0);
  if (!index && named && !expr->order && logical) return lower_logical(l, expr, style);
  if (index || symbol.kind != SYM_MACRO || expr->order) return report_not_condition(l, expr);
  const AstExpr* meaning = l->names.macros.data[symbol.index].value;
  if (!lower_means_condition(l, meaning) && meaning->kind != AST_NAME) {
    return report_not_condition(l, expr);
  }
  BindingMark mark;
  if (!resolve_enter_macro(l, symbol.index, expr->span, &mark)) return lower_value_bad();
  Value value = lower_condition(l, meaning, style);
  resolve_leave_macro(l, symbol.index, mark);
  return value;
}

static Value lower_condition_kind(Lower* l, const AstExpr* expr, AtomStyle style) {
  if (expr == l->terms.zeno_operand) return truth_value(l, true);
  if (expr->kind == AST_NAME) return lower_condition_name(l, expr, style);
  if (expr->kind == AST_ERROR) return lower_value_bad();
  if (expr->kind == AST_CALL) {
    uint32_t user = lower_find_function(l, expr->as.call.callee)
                        ? IR_NONE
                        : lower_find_user_function(l, expr->as.call.callee);
    if (user != IR_NONE) return lower_condition_call(l, expr, user, style);
    if (!is_no_event(expr)) return report_not_condition(l, expr);
    style.type = IR_ATOM_NOEVENT;
    return lower_condition(l, expr->as.call.args.data[0], style);
  }
  if (!lower_is_condition(expr)) return report_not_condition(l, expr);
  if (expr->kind == AST_QUALIFIED) {
    Value value = lower_qualified(l, expr);
    return style.negated ? opposite(l, value) : value;
  }
  if (expr->kind == AST_ATOM) return lower_atom(l, expr, style);
  if (expr->kind == AST_UNARY) return lower_not(l, expr, style);
  if (expr->as.chain.level == AST_LEVEL_XOR) return lower_xor(l, expr, style);
  if (expr->as.chain.level == AST_LEVEL_IMPLIES) return lower_implies(l, expr, style);
  if (expr->as.chain.level <= AST_LEVEL_AND) return lower_connective(l, expr, style);
  return lower_relation(l, expr, style);
}

Value lower_condition(Lower* l, const AstExpr* expr, AtomStyle style) {
  if (!lower_enter(l, expr->span)) return lower_value_bad();
  if (l->scale) l->scale->conditions++;
  Value value = lower_condition_kind(l, expr, style);
  if (l->scale) l->scale->conditions--;
  lower_leave(l);
  return value;
}

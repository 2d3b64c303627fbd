// SPDX-License-Identifier: MIT
//
// Units. A number may carry one, 2000 "W", and a variable may be given one, x { unit = "m"; }. From
// there units follow through equations, definitions and values, until nothing new is found; then
// every sum, comparison and equation with a unit on both sides is compared. Numbers are never
// converted: 2 "kW" and 2000 "W" have different units here, and adding them is an error.
//
// Names that differ in their indices share a unit. A plain number fits any unit in a sum and is a
// mere factor in a product; where something has no known unit, nothing is said.
#include "lisma/units.h"

#include <math.h>
#include <string.h>

enum { METRE, KILOGRAM, SECOND, AMPERE, KELVIN, MOLE, CANDELA, BASE_COUNT };

#define PASSES_MAX 30u
#define SAME_UNIT  1e-9  // relative

typedef enum UnitKind { UNIT_NUMBER, UNIT_UNKNOWN, UNIT_KNOWN } UnitKind;

typedef struct Unit {
  uint8_t kind;  // UnitKind
  double power[BASE_COUNT];
  double factor;  // in base units
} Unit;

/// What is known about the names of one head.
typedef struct Quantity {
  Unit unit;
  Span span;  // where it was found
} Quantity;

typedef struct Checker {
  Arena* arena;
  DiagList* diags;
  NameTable names;
  BASE_VEC(Quantity) quantities;  // by name id
  bool report;                    // the last pass
  bool changed;
  bool any;  // a unit is given somewhere
} Checker;

static const Unit no_unit = {.kind = UNIT_UNKNOWN, .factor = 1.0};
static const Unit plain = {.kind = UNIT_NUMBER, .factor = 1.0};

// ---------------------------------------------------------------------------------------------
// texts

typedef struct NamedUnit {
  const char* name;
  double power[BASE_COUNT];
  double factor;
} NamedUnit;

static const NamedUnit named[] = {
    {"m", {1, 0, 0, 0, 0, 0, 0}, 1},      {"g", {0, 1, 0, 0, 0, 0, 0}, 1e-3},
    {"s", {0, 0, 1, 0, 0, 0, 0}, 1},      {"A", {0, 0, 0, 1, 0, 0, 0}, 1},
    {"K", {0, 0, 0, 0, 1, 0, 0}, 1},      {"mol", {0, 0, 0, 0, 0, 1, 0}, 1},
    {"cd", {0, 0, 0, 0, 0, 0, 1}, 1},     {"N", {1, 1, -2, 0, 0, 0, 0}, 1},
    {"Pa", {-1, 1, -2, 0, 0, 0, 0}, 1},   {"J", {2, 1, -2, 0, 0, 0, 0}, 1},
    {"W", {2, 1, -3, 0, 0, 0, 0}, 1},     {"V", {2, 1, -3, -1, 0, 0, 0}, 1},
    {"Ohm", {2, 1, -3, -2, 0, 0, 0}, 1},  {"ohm", {2, 1, -3, -2, 0, 0, 0}, 1},
    {"Ω", {2, 1, -3, -2, 0, 0, 0}, 1},    {"S", {-2, -1, 3, 2, 0, 0, 0}, 1},
    {"F", {-2, -1, 4, 2, 0, 0, 0}, 1},    {"H", {2, 1, -2, -2, 0, 0, 0}, 1},
    {"C", {0, 0, 1, 1, 0, 0, 0}, 1},      {"T", {0, 1, -2, -1, 0, 0, 0}, 1},
    {"Wb", {2, 1, -2, -1, 0, 0, 0}, 1},   {"Hz", {0, 0, -1, 0, 0, 0, 0}, 1},
    {"bar", {-1, 1, -2, 0, 0, 0, 0}, 1e5}, {"l", {3, 0, 0, 0, 0, 0, 0}, 1e-3},
    {"L", {3, 0, 0, 0, 0, 0, 0}, 1e-3},   {"t", {0, 1, 0, 0, 0, 0, 0}, 1e3},
    {"Wh", {2, 1, -2, 0, 0, 0, 0}, 3600}, {"min", {0, 0, 1, 0, 0, 0, 0}, 60},
    {"h", {0, 0, 1, 0, 0, 0, 0}, 3600},   {"d", {0, 0, 1, 0, 0, 0, 0}, 86400},
    {"degC", {0, 0, 0, 0, 1, 0, 0}, 1},   {"°C", {0, 0, 0, 0, 1, 0, 0}, 1},
    {"rad", {0, 0, 0, 0, 0, 0, 0}, 1},    {"deg", {0, 0, 0, 0, 0, 0, 0}, 0.017453292519943295},
    {"rpm", {0, 0, -1, 0, 0, 0, 0}, 0.10471975511965977},
    {"%", {0, 0, 0, 0, 0, 0, 0}, 0.01},
};

static const struct {
  const char* name;
  double factor;
} prefixes[] = {{"p", 1e-12}, {"n", 1e-9}, {"u", 1e-6}, {"µ", 1e-6}, {"m", 1e-3}, {"c", 1e-2},
                {"d", 1e-1},  {"h", 1e2},  {"k", 1e3},  {"M", 1e6},  {"G", 1e9}};

static bool find_named(Str name, double factor, Unit* out) {
  for (size_t i = 0; i < SLT_COUNT(named); i++) {
    if (!str_equal(name, str_from_c(named[i].name))) continue;
    *out = (Unit){.kind = UNIT_KNOWN, .factor = named[i].factor * factor};
    memcpy(out->power, named[i].power, sizeof out->power);
    return true;
  }
  return false;
}

static bool find_unit(Str name, Unit* out) {
  if (find_named(name, 1.0, out)) return true;
  for (size_t i = 0; i < SLT_COUNT(prefixes); i++) {
    Str prefix = str_from_c(prefixes[i].name);
    bool begins = name.length > prefix.length &&
                  memcmp(name.data, prefix.data, prefix.length) == 0;
    Str rest = {name.data + prefix.length, name.length - prefix.length};
    if (begins && find_named(rest, prefixes[i].factor, out)) return true;
  }
  return false;
}

static Unit combine(Unit a, Unit b, double sign) {
  if (a.kind == UNIT_UNKNOWN || b.kind == UNIT_UNKNOWN) return no_unit;
  Unit out = {.kind = a.kind > b.kind ? a.kind : b.kind};
  for (int i = 0; i < BASE_COUNT; i++) {
    out.power[i] = a.power[i] + sign * b.power[i];
  }
  out.factor = sign > 0.0 ? a.factor * b.factor : a.factor / b.factor;
  return out;
}

static Unit raise(Unit a, double exponent) {
  if (a.kind != UNIT_KNOWN) return a;
  for (int i = 0; i < BASE_COUNT; i++) {
    a.power[i] *= exponent;
  }
  a.factor = pow(a.factor, exponent);
  return a;
}

/// A text being read: factors parted by '*', '/', '.' or a space.
typedef struct UnitText {
  const char *at, *end;
  uint32_t depth;
  bool ok;
} UnitText;

static bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '%' || (unsigned char)c >= 0x80;
}

static double read_whole(UnitText* t) {
  double sign = 1.0;
  double value = 0.0;
  const char* begin = t->at;
  if (t->at < t->end && *t->at == '-') {
    sign = -1.0;
    begin = ++t->at;
  }
  while (t->at < t->end && *t->at >= '0' && *t->at <= '9' && value < 1e6) {
    value = 10.0 * value + (*t->at++ - '0');
  }
  t->ok = t->ok && t->at > begin;
  return sign * value;
}

static Unit read_product(UnitText* t);

static Unit read_factor(UnitText* t) {
  Unit unit = {.kind = UNIT_KNOWN, .factor = 1.0};
  if (t->at < t->end && *t->at == '(' && ++t->depth < 20) {
    t->at++;
    unit = read_product(t);
    t->ok = t->ok && t->at < t->end && *t->at++ == ')';
  } else if (t->at < t->end && *t->at == '1') {
    t->at++;
  } else {
    Str name = {t->at, 0};
    while (t->at < t->end && is_name_byte(*t->at)) {
      t->at++;
      name.length++;
    }
    t->ok = t->ok && find_unit(name, &unit);
  }
  if (t->ok && t->at < t->end && *t->at == '^') {
    t->at++;
    unit = raise(unit, read_whole(t));
  } else if (t->ok && t->at < t->end && (*t->at == '-' || (*t->at >= '0' && *t->at <= '9'))) {
    unit = raise(unit, read_whole(t));  // m2, s-1
  }
  return unit;
}

static Unit read_product(UnitText* t) {
  Unit unit = read_factor(t);
  while (t->ok && t->at < t->end && strchr("*/. ", *t->at)) {
    double sign = *t->at == '/' ? -1.0 : 1.0;
    t->at++;
    unit = combine(unit, read_factor(t), sign);
  }
  return unit;
}

static Unit read_unit(Checker* c, Str text, Span span) {
  UnitText t = {.at = text.data, .end = text.data + text.length, .ok = text.length > 0};
  Unit unit = t.ok ? read_product(&t) : no_unit;
  c->any = true;
  if (t.ok && t.at == t.end) return unit;
  if (c->report) {
    Diag* diag = diag_add(c->diags, DIAG_E0316, span, "'%.*s' is no unit", STR_ARGS(text));
    diag_hint(c->diags, diag, "write, for example, \"m/s^2\", \"kW\", \"N*m\", \"degC\"");
  }
  return no_unit;
}

static Str unit_text(Checker* c, Unit unit) {
  for (size_t i = 0; i < SLT_COUNT(named); i++) {
    bool same = memcmp(named[i].power, unit.power, sizeof unit.power) == 0;
    if (same && fabs(named[i].factor / unit.factor - 1.0) < SAME_UNIT) {
      return str_from_c(named[i].name);
    }
  }
  static const char* const bases[] = {"m", "kg", "s", "A", "K", "mol", "cd"};
  TextBuffer out = {.arena = c->arena};
  if (fabs(unit.factor - 1.0) > SAME_UNIT) text_append_double(&out, unit.factor);
  for (int i = 0; i < BASE_COUNT; i++) {
    if (unit.power[i] == 0.0) continue;
    if (out.length) text_append_char(&out, '*');
    text_append_c(&out, bases[i]);
    if (unit.power[i] == 1.0) continue;
    text_append_char(&out, '^');
    text_append_double(&out, unit.power[i]);
  }
  return out.length ? text_str(&out) : STR_LIT("1");
}

static bool same_unit(Unit a, Unit b) {
  for (int i = 0; i < BASE_COUNT; i++) {
    if (fabs(a.power[i] - b.power[i]) > SAME_UNIT) return false;
  }
  return fabs(a.factor / b.factor - 1.0) < SAME_UNIT;
}

// ---------------------------------------------------------------------------------------------
// names

/// Names that differ in their indices are one here: x[i]a is x and a.
static Quantity* quantity_of(Checker* c, const AstName* name) {
  TextBuffer key = {.arena = c->arena};
  text_append(&key, name->head);
  for (uint32_t i = 0; i < name->indices.count; i++) {
    text_append_c(&key, "[]");
    text_append(&key, name->indices.data[i].tail);
  }
  uint32_t id = names_intern(&c->names, text_str(&key));
  while (c->quantities.count <= id) {
    base_vec_push(c->arena, &c->quantities, (Quantity){.unit = no_unit});
  }
  return &c->quantities.data[id];
}

static Unit per_second(Unit unit, uint32_t order) {
  for (uint32_t i = 0; unit.kind == UNIT_KNOWN && i < order; i++) {
    unit.power[SECOND] -= 1.0;
  }
  return unit;
}

/// A unit of a name with derivative marks is found.
static void learn(Checker* c, const AstName* name, uint32_t order, Unit unit, Span span) {
  Quantity* q = quantity_of(c, name);
  if (unit.kind != UNIT_KNOWN || q->unit.kind == UNIT_KNOWN) return;
  unit.power[SECOND] += order;
  *q = (Quantity){unit, span};
  c->changed = true;
}

// ---------------------------------------------------------------------------------------------
// expressions

static Unit unit_of(Checker* c, const AstExpr* e);

static void report_sides(Checker* c, Span span, const char* what, Unit a, Unit b) {
  if (!c->report || same_unit(a, b)) return;
  Str left = unit_text(c, a);
  Str right = unit_text(c, b);
  Diag* diag = diag_add(c->diags, DIAG_E0315, span, "%s are in '%.*s' and in '%.*s'", what,
                        STR_ARGS(left), STR_ARGS(right));
  if (memcmp(a.power, b.power, sizeof a.power) == 0) {
    diag_hint(c->diags, diag, "numbers are not converted: give both in one unit");
  }
}

/// Two things that must have one unit; it is that of both.
static Unit meet(Checker* c, Unit a, Unit b, Span span, const char* what) {
  if (a.kind == UNIT_KNOWN && b.kind == UNIT_KNOWN) report_sides(c, span, what, a, b);
  return a.kind >= b.kind ? a : b;
}

static Unit unit_of_chain(Checker* c, const AstExpr* e) {
  const AstLinkList* links = &e->as.chain.links;
  Unit total = unit_of(c, links->data[0].operand);
  for (uint32_t i = 1; i < links->count; i++) {
    const AstLink* link = &links->data[i];
    Unit next = unit_of(c, link->operand);
    if (e->as.chain.level == AST_LEVEL_MULTIPLY && link->op != AST_OP_MOD) {
      total = combine(total, next, link->op == AST_OP_DIV ? -1.0 : 1.0);
    } else if (e->as.chain.level >= AST_LEVEL_EQUALITY) {
      Span span = span_join(links->data[0].operand->span, link->operand->span);
      bool relation = e->as.chain.level <= AST_LEVEL_RELATION;
      total = meet(c, total, next, span, relation ? "the sides" : "the terms");
    }
  }
  return e->as.chain.level <= AST_LEVEL_RELATION ? plain : total;
}

static bool is_one_of(Str name, const char* const* words, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (str_equal(name, str_from_c(words[i]))) return true;
  }
  return false;
}

static Unit unit_of_call(Checker* c, const AstExpr* e) {
  static const char* const keeps[] = {"abs",  "min",  "max",   "noEvent", "pre",   "post",
                                      "clamp", "mod", "floor", "ceil",    "round", "trunc",
                                      "rem",  "hypot", "uniform", "normal", "exponential"};
  static const char* const pure[] = {"sin",  "cos",  "tan", "tg",  "exp",   "ln",    "log10",
                                     "sinh", "cosh", "tanh", "erf", "gamma", "asin", "acos"};
  Str name = e->as.call.callee->head;
  const AstExprList* args = &e->as.call.args;
  Unit total = plain;
  for (uint32_t i = 0; i < args->count; i++) {
    Unit next = unit_of(c, args->data[i]);
    bool kept = is_one_of(name, keeps, SLT_COUNT(keeps));
    if (kept) total = meet(c, total, next, e->span, "the arguments");
    if (!is_one_of(name, pure, SLT_COUNT(pure)) || next.kind != UNIT_KNOWN || !c->report) continue;
    Unit one = {.kind = UNIT_KNOWN, .factor = 1.0};
    if (same_unit(next, one)) continue;
    Str text = unit_text(c, next);
    diag_add(c->diags, DIAG_E0315, args->data[i]->span, "'%.*s' takes a number, and this is in '%.*s'",
             STR_ARGS(name), STR_ARGS(text));
  }
  if (is_one_of(name, keeps, SLT_COUNT(keeps))) return total;
  if (is_one_of(name, pure, SLT_COUNT(pure))) return plain;
  if (str_equal(name, STR_LIT("sqrt")) && args->count == 1) {
    return raise(unit_of(c, args->data[0]), 0.5);
  }
  return str_equal(name, STR_LIT("sign")) ? plain : no_unit;
}

static Unit unit_of_name(Checker* c, const AstExpr* e) {
  const AstName* name = &e->as.name.name;
  Quantity* q = quantity_of(c, name);
  if (q->unit.kind == UNIT_KNOWN) return per_second(q->unit, e->as.name.order);
  if (ast_name_is_word(name, STR_LIT("time")) || ast_name_is_word(name, STR_LIT("t0"))) {
    return (Unit){.kind = UNIT_KNOWN, .power[SECOND] = 1.0, .factor = 1.0};
  }
  if (ast_name_is_word(name, STR_LIT("pi"))) return plain;
  return q->unit;
}

static Unit unit_of(Checker* c, const AstExpr* e) {
  switch (e->kind) {
  case AST_NUMBER: return e->as.unit_span.end ? read_unit(c, e->as.unit, e->as.unit_span) : plain;
  case AST_NAME: return unit_of_name(c, e);
  case AST_CALL: return unit_of_call(c, e);
  case AST_REDUCTION: {
    Unit body = unit_of(c, e->as.reduction.body);
    return e->as.reduction.product ? no_unit : body;
  }
  case AST_CONDITIONAL:
    unit_of(c, e->as.conditional.condition);
    return meet(c, unit_of(c, e->as.conditional.then_value),
                unit_of(c, e->as.conditional.else_value), e->span, "the values");
  case AST_ATOM: return unit_of(c, e->as.atom.condition);
  case AST_UNARY: return unit_of(c, e->as.unary.operand);
  case AST_POWER: {
    const AstExpr* exponent = e->as.power.exponent;
    Unit base = unit_of(c, e->as.power.base);
    if (exponent->kind == AST_NUMBER) return raise(base, exponent->as.number);
    return base.kind == UNIT_NUMBER ? plain : no_unit;
  }
  case AST_CHAIN: return unit_of_chain(c, e);
  case AST_ERROR:
  case AST_QUALIFIED: break;
  }
  return plain;
}

// ---------------------------------------------------------------------------------------------
// statements

/// `name = value`, `name(t0) = value`, `set name = value`: of one unit.
static void check_value(Checker* c, const AstName* name, uint32_t order, const AstExpr* value,
                        Span span) {
  Unit given = unit_of(c, value);
  Unit known = per_second(quantity_of(c, name)->unit, order);
  if (given.kind == UNIT_KNOWN && known.kind == UNIT_KNOWN) {
    report_sides(c, span, "the sides", known, given);
  } else {
    learn(c, name, order, given, span);
  }
}

static void check_equation(Checker* c, const AstStatement* s) {
  const AstExpr* lhs = s->as.equation.lhs;
  const AstExpr* rhs = s->as.equation.rhs;
  Span span = span_join(lhs->span, rhs->span);
  Unit left = unit_of(c, lhs);
  Unit right = unit_of(c, rhs);
  if (left.kind == UNIT_KNOWN && right.kind == UNIT_KNOWN) {
    report_sides(c, span, "the sides", left, right);
  } else if (lhs->kind == AST_NAME) {
    learn(c, &lhs->as.name.name, lhs->as.name.order, right, span);
  } else if (rhs->kind == AST_NAME) {
    learn(c, &rhs->as.name.name, rhs->as.name.order, left, span);
  }
}

static void check_block(Checker* c, const AstBlock* block);

static void check_attributes(Checker* c, const AstStatement* s) {
  for (uint32_t i = 0; i < s->as.attributes.settings.count; i++) {
    const AstSetting* setting = &s->as.attributes.settings.data[i];
    if (!str_equal(setting->key, STR_LIT("unit")) || setting->values.count != 1) continue;
    const AstValue* value = &setting->values.data[0];
    if (value->expr) continue;
    learn(c, &s->as.attributes.name, 0, read_unit(c, value->text, value->span), setting->span);
  }
}

static void check_state(Checker* c, const AstState* state) {
  if (state->guard) unit_of(c, state->guard);
  if (state->has_body) check_block(c, &state->body);
}

static void check_statement(Checker* c, const AstStatement* s) {
  switch (s->kind) {
  case AST_CONST:
  case AST_MACRO:
    for (uint32_t i = 0; i < s->as.definitions.count; i++) {
      const AstDefinition* d = &s->as.definitions.data[i];
      for (uint32_t k = 0; k < d->names.count; k++) {
        check_value(c, &d->names.data[k], 0, d->value, d->span);
      }
    }
    break;
  case AST_EQUATION: check_equation(c, s); break;
  case AST_INIT:
    for (uint32_t i = 0; i < s->as.init.items.count; i++) {
      const AstInit* item = &s->as.init.items.data[i];
      check_value(c, &item->name, item->order, item->value, item->span);
    }
    break;
  case AST_ATTRIBUTES: check_attributes(c, s); break;
  case AST_ELEMENT: check_block(c, &s->as.element->body); break;
  case AST_FOR: check_block(c, &s->as.loop.body); break;
  case AST_IF:
    for (uint32_t i = 0; i < s->as.branches.count; i++) {
      if (s->as.branches.data[i].condition) unit_of(c, s->as.branches.data[i].condition);
      check_block(c, &s->as.branches.data[i].body);
    }
    break;
  case AST_STATE: check_state(c, s->as.state); break;
  case AST_AUTOMATON: check_block(c, &s->as.automaton.body); break;
  case AST_AT: check_block(c, &s->as.at.body); break;
  case AST_AFTER:
    unit_of(c, s->as.after->condition);
    check_block(c, &s->as.after->body);
    break;
  case AST_INSTANCE: check_block(c, &s->as.instances.data[0].body); break;
  case AST_INVARIANT: unit_of(c, s->as.invariant); break;
  case AST_ENERGY: unit_of(c, s->as.energy); break;
  case AST_DATA:
  case AST_DELETE:
  case AST_EXPERIMENT:
  case AST_STOP:
  case AST_GOTO:
  case AST_FUNCTION:
  case AST_PART:
  case AST_PORT:
  case AST_CONNECT:
  case AST_INCLUDE: break;
  }
}

static void check_block(Checker* c, const AstBlock* block) {
  for (uint32_t i = 0; i < block->statements.count; i++) {
    check_statement(c, &block->statements.data[i]);
  }
}

void lisma_check_units(Arena* arena, const AstModel* model, DiagList* diags) {
  if (!model->has_units) return;
  Checker c = {.arena = arena, .diags = diags, .changed = true};
  names_init(&c.names, arena);
  for (uint32_t pass = 0; pass < PASSES_MAX && c.changed; pass++) {
    c.changed = false;
    check_block(&c, &model->body);
  }
  if (!c.any) return;
  c.report = true;
  check_block(&c, &model->body);
}

// SPDX-License-Identifier: MIT
//
// Units. A number may carry one, 2000 "W", and a variable may be given one, x { unit = "m"; }. From
// there units follow through equations, definitions, values and connections, in both directions,
// until nothing new is found; then every sum, comparison and equation with a unit on both sides is
// compared. Numbers are never converted: 2 "kW" and 2000 "W" have different units here, and adding
// them is an error.
//
// Names that differ in their indices share a unit; so does x1 where a loop makes it of x[i]. A
// plain number fits any unit in a sum and is a mere factor in a product; where something has no
// known unit, nothing is said.
//
// Temperatures have scales that begin at different points. A difference of two points of such a
// scale is a plain difference, in K; a point and a difference sum to a point. Where a value is made
// in other ways (products with units, means) its beginning counts as unknown and fits any.
#include "lisma/units.h"

#include "lisma/map.h"

#include <math.h>
#include <string.h>

#define WORK_MAX    50000000u  // expressions that are looked at until all is found
#define UNIT_SHOWN  60u        // bytes of a text that are repeated in a message
#define NAMES_SHOWN 6u         // of a mistake, with their units

typedef enum KnownKind { KNOWN_NUMBER, KNOWN_NOTHING, KNOWN_UNIT } KnownKind;

/// What is known about the unit of a value.
typedef struct Known {
  uint8_t kind;  // KnownKind
  Unit unit;
  Str written;  // as the text gives it; empty when it was computed
} Known;

/// What is known about the names of one head.
typedef struct Quantity {
  Known known;
  Span span;   // where it was found
  bool own;    // the model declares it, and hides what the language means by it
  bool given;  // a value or an attribute tells its unit, not only what it is used with
} Quantity;

/// What an index of a loop stands for, and a parameter or a local name of a function in the call
/// that is looked at.
typedef struct Binding {
  Str name;
  Known known;
  const AstExpr* pending;  // of a local name that was not looked at yet
} Binding;

/// A call that was looked at: the same arguments give the same unit within one pass.
typedef struct Call {
  const AstFunction* function;
  const Known* args;
  Known result;
} Call;

typedef struct Checker {
  Arena* arena;
  DiagList* diags;
  NameTable names;
  BASE_VEC(Quantity) quantities;  // by name id
  const uint32_t* family;         // by name id: the one that has its unit
  uint32_t family_count;          // of those behind it each has its own
  BASE_VEC(const AstFunction*) functions;
  BASE_VEC(Binding) bindings;
  BASE_VEC(Call) calls;         // of this pass
  uint32_t scope;               // the first binding of the function around the present expression
  uint32_t scope_end;           // behind its last one; then come indices of sums in it
  const AstExpr* call;          // of that function
  const AstInstance* instance;  // the part around the present statement
  TextBuffer key;
  uint32_t work;   // expressions that were looked at
  bool backwards;  // the present pass goes through the text from its end
  bool partial;    // a sum with unknown terms has the unit of the others
  bool report;     // the last pass
  bool changed;
  bool any;  // a unit is given somewhere
} Checker;

static const Known nothing = {.kind = KNOWN_NOTHING};
static const Known plain = {.kind = KNOWN_NUMBER, .unit.factor = 1.0};

// ---------------------------------------------------------------------------------------------
// what is known

static Known combine(Known a, Known b, double sign) {
  if (a.kind == KNOWN_NOTHING || b.kind == KNOWN_NOTHING) return nothing;
  Known product = {.kind = a.kind > b.kind ? a.kind : b.kind,
                   .unit = unit_product(a.unit, b.unit, sign)};
  // a multiple of a difference is a difference
  bool multiple = a.kind == KNOWN_NUMBER || b.kind == KNOWN_NUMBER;
  if (multiple && a.unit.offset == 0.0 && b.unit.offset == 0.0) product.unit.offset = 0.0;
  return product;
}

static Known raise(Known a, double exponent) {
  if (a.kind != KNOWN_UNIT || exponent == 1.0) return a;
  return (Known){.kind = KNOWN_UNIT, .unit = unit_power(a.unit, exponent)};
}

static Known read_unit(Checker* c, Str text, Span span) {
  Known known = {.kind = KNOWN_UNIT, .written = text};
  c->any = true;
  if (unit_read(text, &known.unit)) return known;
  if (c->report) {
    Diag* diag = text.length > UNIT_SHOWN
                     ? diag_add(c->diags, DIAG_E0316, span, "this is no unit")
                     : diag_add(c->diags, DIAG_E0316, span, "'%.*s' is no unit", STR_ARGS(text));
    diag_hint(c->diags, diag,
              "write, for example, \"m/s^2\", \"kW\", \"N*m\", \"m^2.5\", \"degC\"");
  }
  return nothing;
}

static Str known_text(Checker* c, const Known* known) {
  return known->written.length ? known->written : unit_text(c->arena, known->unit);
}

// ---------------------------------------------------------------------------------------------
// names

static bool has_fixed_indices(const AstName* name) {
  for (uint32_t i = 0; i < name->indices.count; i++) {
    const AstExprList* subscripts = &name->indices.data[i].subscripts;
    for (uint32_t k = 0; k < subscripts->count; k++) {
      const AstExpr* e = subscripts->data[k];
      bool whole = e->kind == AST_NUMBER && e->as.number >= 0.0 && e->as.number < 1e9;
      if (!whole || e->as.number != floor(e->as.number)) return false;
    }
  }
  return true;
}

/// Names that differ in their indices are one here: x[i]a is x[]a. With numbers as indices it is
/// the name that they make: x1a, T[3,4].
static void write_key(TextBuffer* key, const AstName* name, bool fixed) {
  key->length = 0;
  text_append(key, name->head);
  for (uint32_t i = 0; i < name->indices.count; i++) {
    const AstIndex* index = &name->indices.data[i];
    bool brackets = !fixed || index->element || index->subscripts.count > 1;
    if (brackets) text_append_char(key, '[');
    for (uint32_t k = 0; fixed && k < index->subscripts.count; k++) {
      text_append_format(key, k ? ",%u" : "%u", (uint32_t)index->subscripts.data[k]->as.number);
    }
    if (brackets) text_append_char(key, ']');
    text_append(key, index->tail);
  }
}

static uint32_t quantity_id(Checker* c, const AstName* name) {
  write_key(&c->key, name, has_fixed_indices(name));
  uint32_t id = names_intern(&c->names, text_str(&c->key));
  while (c->quantities.count <= id || c->quantities.count < c->family_count) {
    base_vec_push(c->arena, &c->quantities, (Quantity){.known = nothing});
  }
  return id < c->family_count ? c->family[id] : id;
}

static Quantity* quantity_of(Checker* c, const AstName* name) {
  uint32_t id = quantity_id(c, name);
  return &c->quantities.data[id];
}

/// The unit of the derivative of an order; negative orders go back. A unit that is no product of
/// base units keeps its name: the derivative of km is km/s, not 1000*m/s.
static Known derivative(Checker* c, Known known, double order) {
  if (known.kind != KNOWN_UNIT || order == 0.0) return known;
  TextBuffer written = {.arena = c->arena};
  bool odd = known.unit.factor != 1.0 && known.written.length && fabs(order) == 1.0;
  if (odd) {
    text_append(&written, known.written);
    text_append_c(&written, order > 0.0 ? "/s" : "*s");
  }
  known.unit.power[UNIT_SECOND] -= order;
  known.unit.offset = (double)NAN;
  known.written = text_str(&written);
  return known;
}

/// Whether a unit says more than the same one that is known: where its scale begins, or how the
/// text writes it.
static bool says_more(const Known* known, const Known* found) {
  if (!unit_equal(known->unit, found->unit) || isnan(found->unit.offset)) return false;
  return isnan(known->unit.offset) || (!known->written.length && found->written.length);
}

/// A unit of a name with derivative marks is found.
static void learn(Checker* c, const AstName* name, uint32_t order, Known known, Span span) {
  Quantity* q = quantity_of(c, name);
  if (known.kind != KNOWN_UNIT || c->report) return;
  Known found = derivative(c, known, -(double)order);
  if (q->known.kind == KNOWN_UNIT && !says_more(&q->known, &found)) return;
  q->known = found;
  q->span = span;
  c->changed = true;
}

// ---------------------------------------------------------------------------------------------
// expressions

static Known known_of(Checker* c, const AstExpr* e);
static void expect(Checker* c, const AstExpr* e, Known known);
static const Known* find_binding(Checker* c, const AstName* name);

/// Where a mistake was met: the call of the function and the part that it stands in.
static void note_place(Checker* c, Diag* diag) {
  if (c->call) diag_note(c->diags, diag, c->call->span, "the function is called here");
  if (c->instance && !c->instance->tried) {
    diag_note(c->diags, diag, c->instance->span, "in the part '%.*s' that is made here",
              STR_ARGS(c->instance->type.head));
  }
}

/// A name as the text has it, without derivative marks.
static Str written_name(const Checker* c, const AstExpr* e) {
  Str name = {c->diags->source->text.data + e->span.begin, e->span.end - e->span.begin};
  while (name.length && name.data[name.length - 1] == '\'') {
    name.length--;
  }
  return name;
}

/// Where the unit of a name was found, if no value tells it; of the first such name.
static bool note_origin(Checker* c, Diag* diag, const AstExpr* e) {
  if (e->kind == AST_NAME && !find_binding(c, &e->as.name.name)) {
    const Quantity* q = quantity_of(c, &e->as.name.name);
    bool here = q->span.begin >= diag->span.begin && q->span.end <= diag->span.end;
    if (q->known.kind != KNOWN_UNIT || q->known.written.length || here) return false;
    Str name = written_name(c, e);
    diag_note(c->diags, diag, q->span, "the unit of '%.*s' is found here", STR_ARGS(name));
    return true;
  }
  for (uint32_t i = 0; ast_child(e, i); i++) {
    if (note_origin(c, diag, ast_child(e, i))) return true;
  }
  return false;
}

/// `P is in 'W', m is in 'kg'`: the names of an expression whose units are known, each once.
static void append_units(Checker* c, TextBuffer* out, Map* named, const AstExpr* e) {
  if (named->count == NAMES_SHOWN) return;
  if (e->kind == AST_NAME) {
    uint32_t id = quantity_id(c, &e->as.name.name);
    Known known = c->quantities.data[id].known;
    if (known.kind != KNOWN_UNIT || map_get(named, id, 0)) return;
    map_set(named, id, 0, 1);
    Str unit = known_text(c, &known);
    Str name = written_name(c, e);
    if (out->length) text_append_c(out, ", ");
    text_append(out, str_format(c->arena, "%.*s is in '%.*s'", STR_ARGS(name), STR_ARGS(unit)));
    return;
  }
  for (uint32_t i = 0; ast_child(e, i); i++) {
    append_units(c, out, named, ast_child(e, i));
  }
}

/// Two sides, terms or values that are in different units; a and b are the expressions in which
/// the names stand that make them. NULL where there is nothing to tell.
static Diag* report_sides(Checker* c, Span span, const char* what, Known left, Known right,
                          const AstExpr* a, const AstExpr* b) {
  if (!c->report || unit_equal(left.unit, right.unit)) return NULL;
  Diag* diag = diag_add(c->diags, DIAG_E0315, span, "%s are in '%.*s' and in '%.*s'", what,
                        STR_ARGS(known_text(c, &left)), STR_ARGS(known_text(c, &right)));
  note_place(c, diag);
  TextBuffer units = {.arena = c->arena};
  Map named = {.arena = c->arena};
  if (a) append_units(c, &units, &named, a);
  if (b) append_units(c, &units, &named, b);
  const char* cure = "";
  if (unit_same_dimension(left.unit, right.unit)) {
    left.unit.offset = right.unit.offset;
    cure = unit_equal(left.unit, right.unit)
               ? "the scales begin at different points: give both in one"
               : "numbers are not converted: give both in one unit";
  }
  if (*cure || units.length) {
    diag_hint(c->diags, diag, "%s%s%.*s", cure, *cure && units.length ? "; " : "",
              STR_ARGS(text_str(&units)));
  }
  if (!(a && note_origin(c, diag, a)) && b) note_origin(c, diag, b);
  return diag;
}

/// Two things that must have one unit; it is that of both.
static Known meet(Checker* c, Known a, Known b, Span span, const char* what, const AstExpr* e) {
  if (a.kind == KNOWN_UNIT && b.kind == KNOWN_UNIT) {
    report_sides(c, span, what, a, b, e, NULL);
    if (!unit_equal(a.unit, b.unit)) return nothing;
  }
  return a.kind >= b.kind ? a : b;
}

/// A name beside something that has its unit: compared with it, or chosen in its place. What a
/// function calls by this name is something else in each call.
static void expect_name(Checker* c, const AstExpr* e, Known known) {
  if (e->kind == AST_NAME && !find_binding(c, &e->as.name.name)) expect(c, e, known);
}

/// a + b or a - b, with regard to scales that do not begin at zero.
static Known add(Checker* c, Known a, Known b, AstOp op, Span span, const AstExpr* e) {
  if (!c->partial && (a.kind == KNOWN_NOTHING || b.kind == KNOWN_NOTHING)) return nothing;
  if (a.kind != KNOWN_UNIT || b.kind != KNOWN_UNIT) {
    Known sum = a.kind >= b.kind ? a : b;
    bool point = sum.kind == KNOWN_UNIT && sum.unit.offset != 0.0;
    if (point) {
      sum.unit.offset = (double)NAN;  // the other one may be a point or a difference
      sum.written = (Str){0};
    }
    return sum;
  }
  Known left = a;
  Known right = b;
  left.unit.offset = right.unit.offset = 0.0;
  report_sides(c, span, "the terms", left, right, e, NULL);
  if (!unit_equal(left.unit, right.unit)) return nothing;  // one mistake, one message
  bool points = a.unit.offset != 0.0 && b.unit.offset != 0.0;
  if (!points) return b.unit.offset != 0.0 ? b : a;
  bool difference = op == AST_OP_SUB && a.unit.offset == b.unit.offset;
  a.unit.offset = difference ? 0.0 : (double)NAN;
  a.written = (Str){0};
  return a;
}

static Known known_of_chain(Checker* c, const AstExpr* e) {
  const AstLinkList* links = &e->as.chain.links;
  AstLevel level = e->as.chain.level;
  Known total = known_of(c, links->data[0].operand);
  for (uint32_t i = 1; i < links->count; i++) {
    const AstLink* link = &links->data[i];
    Known next = known_of(c, link->operand);
    Span span = span_join(links->data[0].operand->span, link->operand->span);
    if (level == AST_LEVEL_MULTIPLY && link->op != AST_OP_MOD) {
      total = combine(total, next, link->op == AST_OP_DIV ? -1.0 : 1.0);
    } else if (level >= AST_LEVEL_ADD) {
      total = add(c, total, next, link->op, span, e);
    } else if (level >= AST_LEVEL_EQUALITY) {
      expect_name(c, links->data[0].operand, next);
      expect_name(c, link->operand, total);
      total = meet(c, total, next, span, "the sides", e);
    }
  }
  return level <= AST_LEVEL_RELATION ? plain : total;
}

static bool is_one_of(Str name, const char* const* words, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (str_equal(name, str_from_c(words[i]))) return true;
  }
  return false;
}

/// Something that must have a given unit: a pure number, a time.
static void check_given(Checker* c, const char* what, Str name, const AstExpr* e, Unit wanted) {
  Known known = known_of(c, e);
  if (known.kind != KNOWN_UNIT || !c->report || unit_equal(known.unit, wanted)) return;
  Str text = known_text(c, &known);
  Diag* diag = diag_add(c->diags, DIAG_E0315, e->span, what, STR_ARGS(name), STR_ARGS(text));
  note_place(c, diag);
  if (!unit_same_dimension(known.unit, wanted)) return;
  if (unit_equal(wanted, unit_one())) {
    diag_hint(c->diags, diag,
              "numbers are not converted: give an angle in 'rad', a share as it is");
    return;
  }
  diag_hint(c->diags, diag, "numbers are not converted: give it in '%.*s'",
            STR_ARGS(unit_text(c->arena, wanted)));
}

static void check_pure(Checker* c, Str function, const AstExpr* argument) {
  check_given(c, "'%.*s' takes a number, and this is in '%.*s'", function, argument, unit_one());
}

/// Times of `at`, `each`, `after` and `delay`, where there is one.
static void check_time(Checker* c, const char* word, const AstExpr* time) {
  if (!time) return;
  Unit second = {.power[UNIT_SECOND] = 1.0, .factor = 1.0};
  check_given(c, "the time of '%.*s' is in 's', and this is in '%.*s'", str_from_c(word), time,
              second);
}

/// An exponent that is written as a number: 2, -1, 1/2, (-1/2).
static bool exponent_value(const AstExpr* e, double* value) {
  if (e->kind == AST_NUMBER && !e->as.unit_span.end) {
    *value = e->as.number;
    return true;
  }
  if (e->kind == AST_UNARY) {
    bool good = exponent_value(e->as.unary.operand, value);
    if (e->as.unary.op == AST_UNARY_MINUS) *value = -*value;
    return good && e->as.unary.op != AST_UNARY_NOT;
  }
  bool fraction = e->kind == AST_CHAIN && e->as.chain.links.count == 2 &&
                  e->as.chain.links.data[1].op == AST_OP_DIV;
  double below = 1.0;
  if (!fraction || !exponent_value(e->as.chain.links.data[0].operand, value) ||
      !exponent_value(e->as.chain.links.data[1].operand, &below)) {
    return false;
  }
  *value /= below;
  return below != 0.0;
}

static Known known_of_power(Checker* c, const AstExpr* base, const AstExpr* exponent) {
  Known known = known_of(c, base);
  double value = 0.0;
  if (exponent_value(exponent, &value)) return raise(known, value);
  check_given(c, "%.*san exponent is a number, and this is in '%.*s'", STR_LIT(""), exponent,
              unit_one());
  return known.kind == KNOWN_NUMBER ? plain : nothing;
}

// ---------------------------------------------------------------------------------------------
// functions of the model: what their bodies say of the units of the arguments

static const AstFunction* find_function(const Checker* c, const AstName* callee, uint32_t args) {
  if (callee->indices.count || callee->member) return NULL;
  for (uint32_t i = 0; i < c->functions.count; i++) {
    const AstFunction* f = c->functions.data[i];
    if (str_equal(f->name.head, callee->head) && f->parameters.count == args) return f;
  }
  return NULL;
}

static bool same_known(const Known* a, const Known* b) {
  if (a->kind != b->kind) return false;
  return a->kind != KNOWN_UNIT ||
         (unit_equal(a->unit, b->unit) && isnan(a->unit.offset) == isnan(b->unit.offset));
}

static const Call* find_call(const Checker* c, const AstFunction* f, const Known* args) {
  for (uint32_t i = 0; i < c->calls.count; i++) {
    const Call* call = &c->calls.data[i];
    bool same = call->function == f;
    for (uint32_t k = 0; same && k < f->parameters.count; k++) {
      same = same_known(&call->args[k], &args[k]);
    }
    if (same) return call;
  }
  return NULL;
}

/// Local names are read in any order: each is looked at where it is first needed, away from the
/// indices of the sum that needs it.
static void look_at_local(Checker* c, uint32_t place) {
  const AstExpr* value = c->bindings.data[place].pending;
  if (!value) return;
  c->bindings.data[place].pending = NULL;
  uint32_t above = c->bindings.count - c->scope_end;
  Binding* kept = ARENA_ARRAY(c->arena, Binding, above + 1);
  for (uint32_t i = 0; i < above; i++) {
    kept[i] = c->bindings.data[c->scope_end + i];
  }
  c->bindings.count = c->scope_end;
  Known known = known_of(c, value);
  c->bindings.data[place].known = known;
  for (uint32_t i = 0; i < above; i++) {
    base_vec_push(c->arena, &c->bindings, kept[i]);
  }
}

static Known known_of_user_call(Checker* c, const AstExpr* e, const AstFunction* f) {
  uint32_t count = f->parameters.count;
  Known* args = ARENA_ARRAY(c->arena, Known, count + 1);
  for (uint32_t i = 0; i < count; i++) {
    args[i] = known_of(c, e->as.call.args.data[i]);
  }
  const Call* known = find_call(c, f, args);
  if (known) return known->result;
  // a function that calls itself, which is an error elsewhere, finds itself without a result
  uint32_t place = c->calls.count;
  base_vec_push(c->arena, &c->calls, ((Call){f, args, nothing}));
  uint32_t outer_scope = c->scope;
  uint32_t outer_end = c->scope_end;
  const AstExpr* outer_call = c->call;
  uint32_t begin = c->bindings.count;
  for (uint32_t i = 0; i < count; i++) {
    base_vec_push(c->arena, &c->bindings, ((Binding){f->parameters.data[i].head, args[i], NULL}));
  }
  for (uint32_t i = 0; i < f->locals.count; i++) {
    const AstDefinition* local = &f->locals.data[i];
    base_vec_push(c->arena, &c->bindings,
                  ((Binding){local->names.data[0].head, nothing, local->value}));
  }
  c->scope = begin;
  c->scope_end = c->bindings.count;
  c->call = e;
  for (uint32_t i = begin; i < c->scope_end; i++) {
    look_at_local(c, i);
  }
  Known result = known_of(c, f->result);
  c->bindings.count = begin;
  c->scope = outer_scope;
  c->scope_end = outer_end;
  c->call = outer_call;
  c->calls.data[place].result = result;
  return result;
}

static uint32_t bind_index(Checker* c, Str variable) {
  uint32_t mark = c->bindings.count;
  base_vec_push(c->arena, &c->bindings, ((Binding){variable, plain, NULL}));
  return mark;
}

/// A parameter or local name of the function around, or an index, if this is one. A function of a
/// part may read the index of the array that the part stands in.
static const Known* find_binding(Checker* c, const AstName* name) {
  bool array = name->head.length && memchr(name->head.data, '#', name->head.length);
  for (uint32_t i = c->bindings.count; i > (array ? 0 : c->scope); i--) {
    if (!ast_name_is_word(name, c->bindings.data[i - 1].name)) continue;
    look_at_local(c, i - 1);
    return &c->bindings.data[i - 1].known;
  }
  return NULL;
}

static const Known* find_builtin(const AstName* name) {
  static const Known seconds = {.kind = KNOWN_UNIT,
                                .unit = {.power[UNIT_SECOND] = 1.0, .factor = 1.0}};
  // g is not here: the equations around it tell that it is an acceleration
  static const char* const numbers[] = {"pi", "e", "true", "false", "inf", "nan"};
  static const char* const times[] = {"time", "TIME", "t", "t0"};
  if (name->quoted || !ast_name_is_plain(name)) return NULL;
  if (is_one_of(name->head, numbers, SLT_COUNT(numbers))) return &plain;
  return is_one_of(name->head, times, SLT_COUNT(times)) ? &seconds : NULL;
}

// ---------------------------------------------------------------------------------------------
// functions of the language

static Known known_of_special(Checker* c, Str name, const AstExprList* args, Known first) {
  double number = 1.0;
  if (str_equal(name, STR_LIT("sqrt")) && args->count == 1) return raise(first, 0.5);
  if (str_equal(name, STR_LIT("pow")) && args->count == 2) {
    return known_of_power(c, args->data[0], args->data[1]);
  }
  if (str_equal(name, STR_LIT("root")) && args->count == 2) {
    return exponent_value(args->data[1], &number) && number != 0.0 ? raise(first, 1.0 / number)
                                                                   : nothing;
  }
  if (str_equal(name, STR_LIT("der")) && args->count > 0) {
    const AstExpr* of = args->data[0];
    if (of->kind == AST_NAME) quantity_of(c, &of->as.name.name)->own = true;
    bool known = args->count == 1 || exponent_value(args->data[1], &number);
    return known ? derivative(c, first, number) : nothing;
  }
  if (str_equal(name, STR_LIT("delay")) && args->count > 1) {
    check_time(c, "delay", args->data[1]);
    return first;
  }
  return str_equal(name, STR_LIT("sign")) ? plain : nothing;
}

static Known known_of_call(Checker* c, const AstExpr* e) {
  static const char* const keeps[] = {"abs",   "min",   "max",     "noEvent", "pre",        "post",
                                      "clamp", "mod",   "floor",   "ceil",    "round",      "trunc",
                                      "rem",   "hypot", "uniform", "normal",  "exponential"};
  static const char* const ratios[] = {"atan2", "quotient"};
  static const char* const pure[] = {"sin",   "cos",  "tan",  "tg",    "exp",   "ln",
                                     "log10", "sinh", "cosh", "tanh",  "erf",   "gamma",
                                     "asin",  "acos", "atan", "asinh", "acosh", "atanh",
                                     "sec",   "csc",  "cot",  "ctg",   "log",   "factorial"};
  Str name = e->as.call.callee->head;
  const AstExprList* args = &e->as.call.args;
  const AstFunction* own = find_function(c, e->as.call.callee, args->count);
  if (own) return known_of_user_call(c, e, own);
  bool kept = is_one_of(name, keeps, SLT_COUNT(keeps));
  bool ratio = is_one_of(name, ratios, SLT_COUNT(ratios));
  bool number = is_one_of(name, pure, SLT_COUNT(pure));
  Known total = plain;
  Known first = plain;
  for (uint32_t i = 0; i < args->count; i++) {
    if (number) check_pure(c, name, args->data[i]);
    if (number) continue;
    Known next = known_of(c, args->data[i]);
    if (i == 0) first = next;
    if (kept || ratio) total = meet(c, total, next, e->span, "the arguments", e);
  }
  for (uint32_t i = 0; kept && i < args->count; i++) {
    expect_name(c, args->data[i], total);
  }
  if (ratio) return plain;
  return kept || number ? total : known_of_special(c, name, args, first);
}

static Known known_of_name(Checker* c, const AstExpr* e) {
  const AstName* name = &e->as.name.name;
  const Known* bound = find_binding(c, name);
  if (bound) return derivative(c, *bound, e->order);
  Quantity* q = quantity_of(c, name);
  if (e->order) q->own = true;
  const Known* builtin = q->own ? NULL : find_builtin(name);
  return builtin ? *builtin : derivative(c, q->known, e->order);
}

static Known known_of_reduction(Checker* c, const AstExpr* e) {
  uint32_t mark = c->bindings.count;
  for (uint32_t i = 0; i < e->as.reduction.iterators.count; i++) {
    bind_index(c, e->as.reduction.iterators.data[i].variable);
  }
  Known body = known_of(c, e->as.reduction.body);
  c->bindings.count = mark;
  if (body.unit.offset != 0.0) body.unit.offset = (double)NAN;
  return e->as.reduction.product && body.kind == KNOWN_UNIT ? nothing : body;
}

static Known known_of_choice(Checker* c, const AstExpr* e) {
  Known yes = known_of(c, e->as.conditional.then_value);
  Known no = known_of(c, e->as.conditional.else_value);
  expect_name(c, e->as.conditional.then_value, no);
  expect_name(c, e->as.conditional.else_value, yes);
  return meet(c, yes, no, e->span, "the values", e);
}

static Known known_of_kind(Checker* c, const AstExpr* e) {
  switch (e->kind) {
  case AST_NUMBER: return e->as.unit_span.end ? read_unit(c, e->as.unit, e->as.unit_span) : plain;
  case AST_NAME: return known_of_name(c, e);
  case AST_CALL: return known_of_call(c, e);
  case AST_REDUCTION: return known_of_reduction(c, e);
  case AST_CONDITIONAL: known_of(c, e->as.conditional.condition); return known_of_choice(c, e);
  case AST_ATOM: return known_of(c, e->as.atom.condition);
  case AST_UNARY: return known_of(c, e->as.unary.operand);
  case AST_POWER: return known_of_power(c, e->as.power.base, e->as.power.exponent);
  case AST_CHAIN: return known_of_chain(c, e);
  case AST_ERROR:
  case AST_QUALIFIED: break;
  }
  return plain;
}

static Known known_of(Checker* c, const AstExpr* e) {
  c->work++;
  Known known = known_of_kind(c, e);
  if (!e->usual || known.kind == KNOWN_UNIT) return known;
  Known usual = known_of(c, e->usual);
  return usual.kind == KNOWN_UNIT ? usual : known;
}

// ---------------------------------------------------------------------------------------------
// from a value that is known down to names that are not

/// Whether a term of a sum can have a unit, wherever their scales begin.
static bool fits(Known term, Known known) {
  if (term.kind != KNOWN_UNIT) return true;
  term.unit.offset = known.unit.offset = 0.0;
  return unit_equal(term.unit, known.unit);
}

/// A unit for all terms of a sum; which of them is a point of its scale is not known. A sum that
/// is wrong already tells nothing.
static void expect_terms(Checker* c, const AstExpr* e, Known known) {
  if (known.unit.offset != 0.0) known.unit.offset = (double)NAN;
  known.written = (Str){0};
  const AstLinkList* links = &e->as.chain.links;
  for (uint32_t i = 0; i < links->count; i++) {
    if (!fits(known_of(c, links->data[i].operand), known)) return;
  }
  for (uint32_t i = 0; i < links->count; i++) {
    const AstExpr* term = links->data[i].operand;
    if (known_of(c, term).kind == KNOWN_NOTHING) expect(c, term, known);
  }
}

/// A product in which one factor alone is unknown.
static void expect_product(Checker* c, const AstExpr* e, Known known) {
  const AstLinkList* links = &e->as.chain.links;
  const AstLink* open = NULL;
  Known rest = plain;
  for (uint32_t i = 0; i < links->count; i++) {
    const AstLink* link = &links->data[i];
    if (i > 0 && link->op == AST_OP_MOD) return;
    bool divides = i > 0 && link->op == AST_OP_DIV;
    Known factor = known_of(c, link->operand);
    if (factor.kind != KNOWN_NOTHING) {
      rest = combine(rest, factor, divides ? -1.0 : 1.0);
    } else if (open) {
      return;
    } else {
      open = link;
    }
  }
  if (!open) return;
  bool divides = open != links->data && open->op == AST_OP_DIV;
  expect(c, open->operand, divides ? combine(rest, known, -1.0) : combine(known, rest, -1.0));
}

static void expect(Checker* c, const AstExpr* e, Known known) {
  // the last pass learns nothing any more, and would tell of a mistake twice
  if (known.kind != KNOWN_UNIT || c->report) return;
  if (e->kind == AST_NAME) {
    if (known_of(c, e).kind == KNOWN_NOTHING) learn(c, &e->as.name.name, e->order, known, e->span);
  } else if (e->kind == AST_UNARY) {
    expect(c, e->as.unary.operand, known);
  } else if (e->kind == AST_CHAIN && e->as.chain.level == AST_LEVEL_MULTIPLY) {
    expect_product(c, e, known);
  } else if (e->kind == AST_CHAIN && e->as.chain.level == AST_LEVEL_ADD) {
    expect_terms(c, e, known);
  }
}

// ---------------------------------------------------------------------------------------------
// statements

/// `name = value`, `name(t0) = value`, `set name = value`: of one unit.
static void check_value(Checker* c, const AstName* name, uint32_t order, const AstExpr* value,
                        Span span) {
  quantity_of(c, name)->own = true;
  Known given = known_of(c, value);
  if (given.kind == KNOWN_UNIT) quantity_of(c, name)->given = true;
  Known known = derivative(c, quantity_of(c, name)->known, order);
  if (given.kind == KNOWN_UNIT && known.kind == KNOWN_UNIT) {
    Span found = quantity_of(c, name)->span;
    learn(c, name, order, given, span);
    Diag* diag = report_sides(c, span, "the sides", known, given, value, NULL);
    if (diag && found.begin != span.begin) {
      diag_note(c->diags, diag, found, "the unit of '%.*s' is found here", STR_ARGS(name->head));
    }
  } else {
    learn(c, name, order, given, span);
    expect(c, value, known);
  }
}

static void check_equation(Checker* c, const AstStatement* s) {
  const AstExpr* lhs = s->as.equation.lhs;
  const AstExpr* rhs = s->as.equation.rhs;
  if (lhs->kind == AST_NAME) quantity_of(c, &lhs->as.name.name)->own = true;
  Known left = known_of(c, lhs);
  Known right = known_of(c, rhs);
  if (lhs->kind == AST_NAME && right.kind == KNOWN_UNIT)
    quantity_of(c, &lhs->as.name.name)->given = true;
  if (left.kind == KNOWN_UNIT && right.kind == KNOWN_UNIT) {
    report_sides(c, span_join(lhs->span, rhs->span), "the sides", left, right, lhs, rhs);
    if (lhs->kind == AST_NAME) learn(c, &lhs->as.name.name, lhs->order, right, rhs->span);
  }
  expect(c, lhs, right);
  expect(c, rhs, left);
  // p.i + n.i = 0
  if (c->partial) {
    expect(c, lhs, left);
    expect(c, rhs, right);
  }
}

/// Joined quantities have one unit.
static void check_joined(Checker* c, const AstName* a, const AstName* b, Span span) {
  Known left = quantity_of(c, a)->known;
  Known right = quantity_of(c, b)->known;
  if (left.kind == KNOWN_UNIT && right.kind == KNOWN_UNIT) {
    report_sides(c, span, "the quantities that are joined", left, right, NULL, NULL);
  }
  learn(c, a, 0, right, span);
  learn(c, b, 0, left, span);
}

static void check_connect(Checker* c, const AstConnectionList* list) {
  for (uint32_t i = 1; i < list->count; i++) {
    const AstConnection* first = &list->data[0];
    const AstConnection* other = &list->data[i];
    for (uint32_t k = 0; k < first->across.count; k++) {
      check_joined(c, &first->across.data[k], &other->across.data[k], other->span);
    }
    for (uint32_t k = 0; k < first->through.count; k++) {
      check_joined(c, &first->through.data[k], &other->through.data[k], other->span);
    }
  }
}

static void check_block(Checker* c, const AstBlock* block);

static void check_attributes(Checker* c, const AstStatement* s) {
  for (uint32_t i = 0; i < s->as.attributes.settings.count; i++) {
    const AstSetting* setting = &s->as.attributes.settings.data[i];
    if (!str_equal(setting->key, STR_LIT("unit")) || setting->values.count != 1) continue;
    const AstValue* value = &setting->values.data[0];
    if (value->expr) continue;
    Known given = read_unit(c, value->text, value->span);
    Known known = quantity_of(c, &s->as.attributes.name)->known;
    if (given.kind == KNOWN_UNIT && known.kind == KNOWN_UNIT) {
      report_sides(c, setting->span, "the values and this attribute", known, given, NULL, NULL);
    }
    quantity_of(c, &s->as.attributes.name)->given = true;
    learn(c, &s->as.attributes.name, 0, given, setting->span);
  }
}

static void check_state(Checker* c, const AstState* state) {
  if (state->guard) known_of(c, state->guard);
  if (state->has_body) check_block(c, &state->body);
}

/// What is given for a parameter has the unit of its default.
static void check_instance(Checker* c, const AstInstance* instance) {
  for (uint32_t i = 0; i < instance->usual.count; i++) {
    const AstArgument* argument = &instance->arguments.data[i];
    Known usual = known_of(c, instance->usual.data[i].value);
    Known given = known_of(c, argument->value);
    if (usual.kind != KNOWN_UNIT || given.kind != KNOWN_UNIT) continue;
    report_sides(c, argument->span, "the default and this value", usual, given, NULL, NULL);
  }
  const AstInstance* around = c->instance;
  c->instance = instance;
  check_block(c, &instance->body);
  c->instance = around;
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
  case AST_FOR: {
    uint32_t mark = bind_index(c, s->as.loop.variable);
    check_block(c, &s->as.loop.body);
    c->bindings.count = mark;
    break;
  }
  case AST_IF:
    for (uint32_t i = 0; i < s->as.branches.count; i++) {
      if (s->as.branches.data[i].condition) known_of(c, s->as.branches.data[i].condition);
      check_block(c, &s->as.branches.data[i].body);
    }
    break;
  case AST_STATE: check_state(c, s->as.state); break;
  case AST_AUTOMATON: check_block(c, &s->as.automaton.body); break;
  case AST_AT:
    check_time(c, "at", s->as.at.time);
    check_time(c, "each", s->as.at.each);
    check_block(c, &s->as.at.body);
    break;
  case AST_AFTER:
    check_time(c, "after", s->as.after->delay);
    known_of(c, s->as.after->condition);
    check_block(c, &s->as.after->body);
    break;
  case AST_INSTANCE: check_instance(c, &s->as.instances.data[0]); break;
  case AST_CONNECT: check_connect(c, &s->as.connect.connections); break;
  case AST_INVARIANT: known_of(c, s->as.invariant); break;
  case AST_ENERGY:
    learn(c, &(AstName){.head = STR_LIT("energy")}, 0, known_of(c, s->as.energy), s->span);
    break;
  case AST_MEASURE: known_of(c, s->as.measure.formula); break;
  case AST_DATA: quantity_of(c, &s->as.data->name)->own = true; break;
  case AST_DELETE:
  case AST_EXPERIMENT:
  case AST_ANIMATE:
  case AST_CONTROL:
  case AST_STOP:
  case AST_GOTO:
  case AST_FUNCTION:
  case AST_PART:
  case AST_PORT:
  case AST_INCLUDE: break;
  }
}

static void check_block(Checker* c, const AstBlock* block) {
  uint32_t count = block->statements.count;
  for (uint32_t i = 0; i < count; i++) {
    check_statement(c, &block->statements.data[c->backwards ? count - 1 - i : i]);
  }
}

/// The texts of all units that were found, by the keys of their names.
static LismaUnits* collect(Checker* c) {
  LismaUnits* units = ARENA_NEW(c->arena, LismaUnits);
  units->names = c->names;
  units->count = c->quantities.count;
  units->texts = ARENA_ARRAY(c->arena, Str, c->quantities.count + 1);
  units->given = ARENA_ARRAY(c->arena, bool, c->quantities.count + 1);
  for (uint32_t i = 0; i < c->quantities.count; i++) {
    uint32_t id = i < c->family_count ? c->family[i] : i;
    const Known* known = &c->quantities.data[id].known;
    units->given[i] = c->quantities.data[id].given;
    if (known->kind != KNOWN_UNIT) continue;
    // a temperature on a scale that is not known has no unit to tell
    Unit kelvin = {.power[UNIT_KELVIN] = 1.0};
    bool vague = isnan(known->unit.offset) && unit_same_dimension(known->unit, kelvin);
    if (!vague) units->texts[i] = known_text(c, known);
  }
  return units;
}

/// The functions of the model, also those of its parts.
static void collect_functions(Checker* c, const AstBlock* block) {
  for (uint32_t i = 0; i < block->statements.count; i++) {
    const AstStatement* s = &block->statements.data[i];
    if (s->kind == AST_FUNCTION) base_vec_push(c->arena, &c->functions, s->as.function);
    if (s->kind == AST_INSTANCE) collect_functions(c, &s->as.instances.data[0].body);
  }
}

/// Find all units of the model, and report what does not fit.
static const LismaUnits* check(Checker* c, const AstModel* model) {
  collect_functions(c, &model->body);
  // a declaration may stand behind the first use: what is found before all are known is forgotten
  check_block(c, &model->body);
  for (uint32_t i = 0; i < c->quantities.count; i++) {
    c->quantities.data[i].known = nothing;
  }
  c->changed = true;
  while (c->changed && c->work < WORK_MAX) {
    c->changed = false;
    c->calls.count = 0;
    check_block(c, &model->body);
    c->backwards = !c->backwards;  // texts go from causes to effects, and the other way
    if (!c->changed && !c->partial) c->partial = c->changed = true;
  }
  c->partial = true;
  c->backwards = false;
  if (!c->any) return NULL;
  c->report = true;
  c->calls.count = 0;
  check_block(c, &model->body);
  return collect(c);
}

const LismaUnits* lisma_check_units(Arena* arena, const AstModel* model, DiagList* diags) {
  if (!model->has_units) return NULL;
  Checker c = {.arena = arena, .diags = diags, .key.arena = arena};
  names_init(&c.names, arena);
  return check(&c, model);
}

/// Families that are mere numberings of quantities of several kinds: nothing tells the unit of
/// x[i], and those that are given for x1 and x2 differ.
static const bool* find_numberings(Arena* arena, const LismaUnits* units,
                                   const LismaMeetings* meetings) {
  bool* mixed = ARENA_ARRAY(arena, bool, units->count);
  Str* found = ARENA_ARRAY(arena, Str, units->count);
  for (uint32_t i = 0; i < meetings->count; i++) {
    uint32_t family = meetings->data[i].family;
    Str text = units->texts[meetings->data[i].member];
    if (units->texts[family].length || !text.length || !units->given[meetings->data[i].member])
      continue;
    if (!found[family].length) found[family] = text;
    Unit a;
    Unit b;
    bool read = unit_read(found[family], &a) && unit_read(text, &b);
    if (read && !unit_equal(a, b)) mixed[family] = true;
  }
  return mixed;
}

static uint32_t family_of(const uint32_t* family, uint32_t id) {
  while (family[id] != id) {
    id = family[id];
  }
  return id;
}

const LismaUnits* lisma_join_units(Arena* arena, const AstModel* model, const LismaUnits* units,
                                   const LismaMeetings* meetings, DiagList* diags) {
  const bool* numbering = find_numberings(arena, units, meetings);
  uint32_t* family = ARENA_ARRAY(arena, uint32_t, units->count);
  for (uint32_t i = 0; i < units->count; i++) {
    family[i] = i;
  }
  for (uint32_t i = 0; i < meetings->count; i++) {
    LismaMeeting met = meetings->data[i];
    if (!numbering[met.family])
      family[family_of(family, met.member)] = family_of(family, met.family);
  }
  for (uint32_t i = 0; i < units->count; i++) {
    family[i] = family_of(family, i);
  }
  Checker c = {.arena = arena,
               .diags = diags,
               .key.arena = arena,
               .names = units->names,
               .family = family,
               .family_count = units->count};
  return check(&c, model);
}

uint32_t lisma_unit_family(const LismaUnits* units, Arena* arena, const AstName* name) {
  TextBuffer key = {.arena = arena};
  write_key(&key, name, false);
  return names_find(&units->names, text_str(&key));
}

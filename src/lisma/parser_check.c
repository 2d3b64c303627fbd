// SPDX-License-Identifier: MIT
//
// What the grammar leaves open: which arguments a call takes, where a statement may stand, and left
// sides that are right in form but surely not meant so. docs/grammar.md lists these restrictions.
#include "lisma/parser.h"
#include "lisma/parser_internal.h"

// ---------------------------------------------------------------------------------------------
// Arguments

static bool is_named(const Argument* argument) {
  return argument->name.length > 0;
}

static AstExpr* make_reduction(Parser* p, bool product, ArgumentList arguments, Span span) {
  const Argument* last = &arguments.data[arguments.count - 1];
  AstIteratorList iterators = {0};
  uint32_t depth = last->range.first->depth;
  size_t mark = p->scratch_used;
  bool complete = !is_named(last) && arguments.count > 1;
  for (uint32_t i = 0; i + 1 < arguments.count; i++) {
    const Argument* a = &arguments.data[i];
    complete = complete && is_named(a);
    AstIterator iterator = {
        .span = a->span, .variable = a->name, .variable_span = a->name_span, .range = a->range};
    if (a->range.first->depth > depth) depth = a->range.first->depth;
    if (a->range.last && a->range.last->depth > depth) depth = a->range.last->depth;
    parser_push(p, &iterator, sizeof iterator);
  }
  PARSER_TAKE(p, mark, AstIterator, iterators);
  if (!complete && parser_mend(p)) {
    Diag* diag = diag_add(p->diags, DIAG_E0126, span, "a sum or product needs ranges and one body");
    diag_hint(p->diags, diag, "write %s(i = 1:N, expression)", product ? "prod" : "sum");
  }
  AstExpr* node = parser_node(p, AST_REDUCTION, span, depth);
  if (node->kind == AST_ERROR) return node;
  node->as.reduction.product = product;
  node->as.reduction.iterators = iterators;
  node->as.reduction.body = last->range.first;
  return node;
}

AstExpr* parser_make_call(Parser* p, const AstName* callee, uint32_t order, ArgumentList arguments,
                          Span span) {
  bool product = ast_name_is_word(callee, STR_LIT("prod"));
  bool sum = ast_name_is_word(callee, STR_LIT("sum"));
  bool ranged = arguments.count > 0 && is_named(&arguments.data[0]);
  if ((sum || product) && order == 0 && ranged) return make_reduction(p, product, arguments, span);

  AstExprList values = {0};
  uint32_t depth = 0;
  size_t mark = p->scratch_used;
  for (uint32_t i = 0; i < arguments.count; i++) {
    const Argument* a = &arguments.data[i];
    if (is_named(a) && parser_mend(p)) {
      Diag* diag = diag_add(p->diags, DIAG_E0122, a->span, "this call takes no named argument");
      diag_hint(p->diags, diag, "a comparison is written '=='");
    }
    if (a->range.first->depth > depth) depth = a->range.first->depth;
    parser_push(p, &a->range.first, sizeof(AstExpr*));
  }
  PARSER_TAKE(p, mark, AstExpr*, values);
  for (uint32_t i = 0; i < callee->indices.count; i++) {
    const AstExprList* subscripts = &callee->indices.data[i].subscripts;
    for (uint32_t k = 0; k < subscripts->count; k++) {
      if (subscripts->data[k]->depth > depth) depth = subscripts->data[k]->depth;
    }
  }
  AstExpr* node = parser_node(p, AST_CALL, span, depth);
  if (node->kind == AST_ERROR) return node;
  node->as.call.callee = ARENA_NEW(p->arena, AstName);
  *node->as.call.callee = *callee;
  node->as.call.order = order;
  node->as.call.args = values;
  return node;
}

void parser_atom_parameters(Parser* p, ArgumentList arguments, AstExpr* atom, uint32_t* depth) {
  for (uint32_t i = 0; i < arguments.count; i++) {
    const Argument* a = &arguments.data[i];
    AstExpr** slot = NULL;
    if (str_equal(a->name, STR_LIT("eps"))) slot = &atom->as.atom.eps;
    if (str_equal(a->name, STR_LIT("gamma"))) slot = &atom->as.atom.gamma;
    if ((!slot || *slot || a->range.last) && parser_mend(p)) {
      Diag* diag =
          diag_add(p->diags, DIAG_E0127, a->span, "an event takes the parameters eps and gamma");
      diag_hint(p->diags, diag, "write, for example, unilateral(eps = 1e-8, gamma = 0.8)[y <= 0]");
    }
    if (!slot) continue;
    *slot = a->range.first;
    if (a->range.first->depth > *depth) *depth = a->range.first->depth;
  }
}

// ---------------------------------------------------------------------------------------------
// Placement

typedef struct Placement {
  AstStatementKind kind;
  unsigned places;   // set of Place
  bool loops;        // may stand in a `for`
  const char* what;  // for messages
  const char* hint;  // where it belongs, or NULL
} Placement;

#define EVERYWHERE ((unsigned)(PLACE_TOP | PLACE_PART | PLACE_STATE | PLACE_IF | PLACE_AT))

static const Placement placements[] = {
    {AST_CONST, PLACE_TOP | PLACE_PART, true, "a constant", "declare it at the top level"},
    {AST_MACRO, PLACE_TOP | PLACE_PART, true, "a macro", "declare it at the top level"},
    {AST_DATA, PLACE_TOP | PLACE_PART, false, "'data'", "declare it at the top level"},
    {AST_EQUATION, PLACE_TOP | PLACE_PART | PLACE_STATE | PLACE_IF, true, "an equation",
     "an event holds no equations; a new value is written x(t0) = ... or set x = ..."},
    {AST_INIT, PLACE_TOP | PLACE_PART | PLACE_STATE | PLACE_IF | PLACE_AT, true,
     "an initial value or reset", "resets belong to a state or to 'at'"},
    {AST_DELETE, PLACE_STATE | PLACE_IF, true, "'delete'",
     "the body of a state deletes groups of equations"},
    {AST_ATTRIBUTES, PLACE_TOP | PLACE_PART, true, "a list of attributes",
     "give it at the top level"},
    {AST_ENERGY, PLACE_TOP, false, "the energy", "give it at the top level"},
    {AST_EXPERIMENT, PLACE_TOP, false, "'experiment'", "give it at the top level"},
    {AST_MEASURE, PLACE_TOP, false, "a measure", "declare it at the top level"},
    {AST_ANIMATE, PLACE_TOP | PLACE_PART, true, "'animate'", "write it at the top level"},
    {AST_CONTROL, PLACE_TOP | PLACE_PART, true, "a control", "declare it at the top level"},
    {AST_ELEMENT, PLACE_TOP | PLACE_PART, true, "an element", "declare it at the top level"},
    {AST_FOR, EVERYWHERE, true, "a loop", NULL},
    {AST_IF, PLACE_TOP | PLACE_PART | PLACE_STATE | PLACE_IF, true, "'if'",
     "it switches equations; values are chosen by the function if(condition, value, value)"},
    {AST_STATE, PLACE_TOP | PLACE_PART | PLACE_AUTOMATON, true, "a state", NULL},
    {AST_AUTOMATON, PLACE_TOP | PLACE_PART, true, "an automaton", NULL},
    {AST_AT, PLACE_TOP | PLACE_PART, true, "'at'", "declare it at the top level"},
    {AST_INVARIANT, PLACE_STATE, true, "'invariant'", "it belongs to the body of a state"},
    {AST_STOP, PLACE_STATE | PLACE_AT, false, "'stop'",
     "it belongs to the body of a state or of 'at'"},
    {AST_GOTO, PLACE_AT, false, "'goto'", "it belongs to the body of 'at'"},
    {AST_FUNCTION, PLACE_TOP | PLACE_PART, false, "a function", "declare it at the top level"},
    {AST_PART, PLACE_TOP, false, "a part", "declare it at the top level"},
    {AST_PORT, PLACE_PART, false, "a port", "it belongs to a part"},
    {AST_INSTANCE, PLACE_TOP | PLACE_PART, false, "a part",
     "several of them are an array: Tank row[10];"},
    {AST_CONNECT, PLACE_TOP | PLACE_PART, true, "'connect'", "write it at the top level"},
    {AST_INCLUDE, PLACE_TOP, false, "'include'", "write it at the top level"},
    {AST_AFTER, PLACE_TOP | PLACE_PART, true, "'after'", "declare it at the top level"},
};

static const char* place_text(Place place) {
  switch (place) {
  case PLACE_TOP: return "at the top level";
  case PLACE_STATE: return "in the body of a state";
  case PLACE_IF: return "in a branch of 'if'";
  case PLACE_AT: return "in the body of 'at', 'every' or 'after'";
  case PLACE_AUTOMATON: return "directly in an automaton";
  case PLACE_PART: return "in a part";
  }
  return "here";
}

/// The word or sign a statement begins with.
static Span first_word(const Parser* p, uint32_t begin) {
  Str text = p->source->text;
  uint32_t end = begin;
  while (end < text.length) {
    unsigned char c = (unsigned char)text.data[end];
    bool letter = ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' || c >= 0x80;
    if (!letter && !(c >= '0' && c <= '9')) break;
    end++;
  }
  return (Span){begin, end > begin ? end : begin + 1};
}

void parser_check_placement(Parser* p, BlockFrame* frame, const AstStatement* statement) {
  const Placement* rule = &placements[statement->kind];
  SLT_ASSERT(rule->kind == statement->kind);
  bool fits = (rule->places & (unsigned)frame->place) != 0;
  bool loop_fits = rule->loops || !frame->in_loop;
  if ((fits && loop_fits) || frame->unclosed) return;

  Span head = first_word(p, statement->span.begin);
  const char* where = fits ? "in a loop" : place_text(frame->place);
  Diag* diag = diag_add(p->diags, DIAG_E0120, head, "%s cannot stand %s", rule->what, where);

  bool instance = statement->kind == AST_INSTANCE && statement->as.instances.count > 0;
  const AstName* type = instance ? &statement->as.instances.data[0].type : NULL;
  Str word = type ? lisma_word_hint(p->arena, type, false) : STR_LIT("");
  // states do not nest: most likely the body before lacks its end
  bool nested = statement->kind == AST_STATE || statement->kind == AST_AUTOMATON;
  if (nested && frame->outer) {
    frame->unclosed = true;
    uint32_t index = (uint32_t)(diag - p->diags->items.data);
    frame->told = index < p->diags->items.count ? index : UINT32_MAX;
    diag_hint(p->diags, diag, "is a '}' missing before it?");
    diag_note(p->diags, diag, frame->open, "the body begins here");
  } else if (statement->kind == AST_EQUATION && frame->place == PLACE_AUTOMATON) {
    diag_hint(p->diags, diag,
              "write it before the automaton, or into the body of one of its states");
  } else if (word.length) {
    diag_hint(p->diags, diag, "%.*s", STR_ARGS(word));
  } else if (rule->hint) {
    diag_hint(p->diags, diag, "%s", rule->hint);
  }
}

// ---------------------------------------------------------------------------------------------
// dx/dt

static bool is_plain_name(const AstExpr* e) {
  return e->kind == AST_NAME && e->order == 0 && ast_name_is_plain(&e->as.name.name);
}

void parser_check_quotient(Parser* p, const AstExpr* lhs) {
  if (lhs->kind != AST_CHAIN || lhs->as.chain.links.count != 2) return;
  const AstLink* links = lhs->as.chain.links.data;
  if (links[1].op != AST_OP_DIV) return;
  if (!is_plain_name(links[0].operand) || !is_plain_name(links[1].operand)) return;
  Str numerator = links[0].operand->as.name.name.head;
  Str denominator = links[1].operand->as.name.name.head;
  bool form = numerator.length > 1 && numerator.data[0] == 'd';
  if (!form || !str_equal(denominator, STR_LIT("dt"))) return;
  base_vec_push(p->arena, &p->quotients, lhs->span);
}

void parser_note_declared(Parser* p, const AstName* name) {
  if (ast_name_is_plain(name) && str_equal(name->head, STR_LIT("dt"))) p->declares_dt = true;
}

void parser_check_end(Parser* p) {
  if (p->declares_dt) return;
  for (uint32_t i = 0; i < p->quotients.count; i++) {
    Span span = p->quotients.data[i];
    Str text = {p->source->text.data + span.begin + 1, 0};
    while (span.begin + 1 + text.length < span.end) {
      char c = text.data[text.length];
      if (c == ' ' || c == '/' || c == '\t' || c == '\r' || c == '\n') break;
      text.length++;
    }
    Diag* diag = diag_add(p->diags, DIAG_E0121, span, "a derivative is not written as a quotient");
    diag_hint(p->diags, diag, "write %.*s'", STR_ARGS(text));
  }
}

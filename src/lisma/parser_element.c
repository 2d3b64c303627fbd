// SPDX-License-Identifier: MIT
//
// Physical elements: a contact that can only push, and dry friction. Each stands for a labelled
// equation and an automaton that edits it; the tree of these is made here, from the expressions of
// the settings, so that everything behind the parser sees nothing new.
//
//   contact NAME { gap = g; velocity = w; force = N; restitution = e; rest = r; cascade = c; }
//     NAME: N = 0;
//     automaton NAME, beginning in `free`:
//       closed   [gap <= 0] && [velocity <= 0] && noEvent[restitution*velocity >= -rest]  from free
//       closed   [gap <= 0] && [velocity <= 0], in place of an impact at an accumulation  from free
//       hit      [gap <= 0] && [velocity < 0], if it is not the last                      from free
//       free     from hit, at once where its pulse pulls;  [force < 0], struck[force > huge],
//                [force > huge] && noEvent[cascade > 0] from closed
//     hit:      NAME: w = -e*w before;       the impulse of N does it
//     closed:   NAME: g = 0;
//   Without restitution there are no impacts: the gap just closes. Without a velocity it is the
//   gap's rate; a gap that is not a variable becomes one then, NAME.gap.
//   What decides between the last impact and one more is the speed as it is, not where it is going:
//   a ball that lies on the floor at the start is at rest. Without `rest` an impact is the last one
//   where rounding hides the flight after it, which the run finds out. A closed contact whose
//   gap a reset drives inward (`struck`) opens and collides next; `huge` is exceeded by pulses
//   alone. It passes on the pulse of an impact elsewhere, unless it has a cascade: then it opens as
//   well, as in Newton's cradle.
//
//   friction NAME { velocity = w; force = F; kinetic = Fk; static = Fs; }
//     NAME: F = -Fk;
//     automaton NAME, beginning in `forward`:
//       stick     [velocity <= 0] from forward;  [velocity >= 0] from backward
//       forward   [force < -static] from stick
//       backward  [force > static] from stick
//     stick: NAME: w = 0;    backward: NAME: F = Fk;
//   A body that cannot stay at rest passes `stick` without stopping: the force it would take is
//   read on the candidate.
#include "lisma/parser_internal.h"

#define HUGE_FORCE 1e300  // more than any force that is not a pulse

// ---------------------------------------------------------------------------------------------
// Trees

typedef struct Maker {
  Parser* p;
  const AstName* name;
  size_t mark;  // of the list of states
} Maker;

static AstExpr* make_number(const Maker* m, double value, Span span) {
  AstExpr* e = parser_node(m->p, AST_NUMBER, span, 0);
  e->as.number = value;
  return e;
}

static AstExpr* make_name(const Maker* m, const AstName* name, uint16_t order, Span span) {
  uint32_t depth = 0;
  for (uint32_t i = 0; i < name->indices.count; i++) {
    const AstExprList* subscripts = &name->indices.data[i].subscripts;
    for (uint32_t k = 0; k < subscripts->count; k++) {
      if (subscripts->data[k]->depth > depth) depth = subscripts->data[k]->depth;
    }
  }
  AstExpr* e = parser_node(m->p, AST_NAME, span, depth);
  if (e->kind == AST_ERROR) return e;
  e->as.name.name = *name;
  e->order = order;
  return e;
}

static AstExpr* make_unary(const Maker* m, AstUnaryOp op, AstExpr* operand) {
  AstExpr* e = parser_node(m->p, AST_UNARY, operand->span, operand->depth);
  if (e->kind == AST_ERROR) return e;
  e->as.unary.op = op;
  e->as.unary.operand = operand;
  return e;
}

static AstExpr* make_minus(const Maker* m, AstExpr* operand) {
  return make_unary(m, AST_UNARY_MINUS, operand);
}

static AstExpr* make_not(const Maker* m, AstExpr* operand) {
  return make_unary(m, AST_UNARY_NOT, operand);
}

static AstExpr* make_binary(const Maker* m, AstExpr* a, AstOp op, AstExpr* b) {
  uint32_t depth = a->depth > b->depth ? a->depth : b->depth;
  AstExpr* e = parser_node(m->p, AST_CHAIN, a->span, depth);
  if (e->kind == AST_ERROR) return e;
  e->as.chain.level = ast_op_level(op);
  e->as.chain.links.data = ARENA_ARRAY(m->p->arena, AstLink, 2);
  e->as.chain.links.count = 2;
  e->as.chain.links.data[0] = (AstLink){.op = op, .operand = a};
  e->as.chain.links.data[1] = (AstLink){.op = op, .op_span = a->span, .operand = b};
  return e;
}

/// `[a op b]` of a type, told in events as `text`.
static AstExpr* make_typed(const Maker* m, AstEvent type, AstExpr* a, AstOp op, AstExpr* b,
                           const char* text) {
  AstExpr* relation = make_binary(m, a, op, b);
  AstExpr* e = parser_node(m->p, AST_ATOM, a->span, relation->depth);
  if (e->kind == AST_ERROR) return e;
  e->as.atom.type = type;
  e->as.atom.text = str_from_c(text);
  e->as.atom.condition = relation;
  return e;
}

static AstExpr* make_atom(const Maker* m, AstExpr* a, AstOp op, AstExpr* b, const char* text) {
  return make_typed(m, AST_EVENT_PLAIN, a, op, b, text);
}

static AstStatement make_law(const Maker* m, AstExpr* lhs, AstExpr* rhs) {
  AstStatement s = {.kind = AST_EQUATION, .span = lhs->span};
  s.as.equation.label = ARENA_NEW(m->p->arena, AstName);
  *s.as.equation.label = *m->name;
  s.as.equation.lhs = lhs;
  s.as.equation.rhs = rhs;
  s.as.equation.element = true;
  return s;
}

static AstStatement make_definition(AstExpr* variable, AstExpr* value) {
  AstStatement s = {.kind = AST_EQUATION, .span = value->span};
  s.as.equation.lhs = variable;
  s.as.equation.rhs = value;
  return s;
}

/// NAME with a suffix that no written name has.
static AstName make_suffixed(const Maker* m, const char* suffix) {
  AstName name = *m->name;
  name.number = 0;
  if (name.indices.count == 0) {
    name.head = str_format(m->p->arena, "%.*s%s", STR_ARGS(name.head), suffix);
    return name;
  }
  AstIndex* indices = ARENA_ARRAY(m->p->arena, AstIndex, name.indices.count);
  for (uint32_t i = 0; i < name.indices.count; i++) {
    indices[i] = name.indices.data[i];
  }
  AstIndex* last = &indices[name.indices.count - 1];
  last->tail = str_format(m->p->arena, "%.*s%s", STR_ARGS(last->tail), suffix);
  name.indices.data = indices;
  return name;
}

static AstStatement make_memory(const Maker* m, const AstName* memory, AstInitForm form,
                                AstExpr* value) {
  AstStatement s = {.kind = AST_INIT, .span = value->span};
  AstInit* item = ARENA_NEW(m->p->arena, AstInit);
  *item = (AstInit){
      .span = m->name->span, .name = *memory, .hidden = true, .rebound = true, .value = value};
  s.as.init.form = form;
  s.as.init.items.data = item;
  s.as.init.items.count = 1;
  return s;
}

static AstBlock make_block(const Maker* m, const AstStatement* statements, uint32_t count) {
  AstBlock block = {.span = m->name->span};
  block.statements.data = ARENA_ARRAY(m->p->arena, AstStatement, count);
  block.statements.count = count;
  for (uint32_t i = 0; i < count; i++) {
    block.statements.data[i] = statements[i];
  }
  return block;
}

static AstName make_word(const Maker* m, const char* word) {
  return (AstName){.span = m->name->span, .head = str_from_c(word)};
}

/// A state entered from one other; `body` NULL for a further declaration. Returns it for changes.
static AstState* push_state(const Maker* m, const char* name, AstExpr* guard, const char* from,
                            const AstBlock* body) {
  AstState* state = ARENA_NEW(m->p->arena, AstState);
  state->name = make_word(m, name);
  state->guard = guard;
  state->made = true;
  state->has_body = body != NULL;
  if (body) state->body = *body;
  state->from.data = ARENA_NEW(m->p->arena, AstName);
  state->from.data[0] = make_word(m, from);
  state->from.count = 1;
  AstStatement s = {.kind = AST_STATE, .span = m->name->span};
  s.as.state = state;
  parser_push(m->p, &s, sizeof s);
  return state;
}

static AstStatement take_automaton(const Maker* m, const char* initial) {
  AstStatement s = {.kind = AST_AUTOMATON, .span = m->name->span};
  s.as.automaton.name = ARENA_NEW(m->p->arena, AstName);
  *s.as.automaton.name = *m->name;
  s.as.automaton.initial = str_from_c(initial);
  s.as.automaton.body.span = m->name->span;
  PARSER_TAKE(m->p, m->mark, AstStatement, s.as.automaton.body.statements);
  return s;
}

// ---------------------------------------------------------------------------------------------
// Settings

typedef struct Settings {
  AstExpr *gap, *velocity, *force, *restitution, *rest, *cascade, *kinetic, *stiction;
  AstExpr* distance;  // what the gap is, where it was given a variable of its own
} Settings;

static AstExpr** setting_slot(Settings* s, AstElementKind kind, Str key) {
  if (str_equal(key, STR_LIT("velocity"))) return &s->velocity;
  if (str_equal(key, STR_LIT("force"))) return &s->force;
  if (kind == AST_ELEMENT_CONTACT) {
    if (str_equal(key, STR_LIT("gap"))) return &s->gap;
    if (str_equal(key, STR_LIT("restitution"))) return &s->restitution;
    if (str_equal(key, STR_LIT("rest"))) return &s->rest;
    if (str_equal(key, STR_LIT("cascade"))) return &s->cascade;
  } else {
    if (str_equal(key, STR_LIT("kinetic"))) return &s->kinetic;
    if (str_equal(key, STR_LIT("static"))) return &s->stiction;
  }
  return NULL;
}

static const char* element_text(AstElementKind kind) {
  return kind == AST_ELEMENT_CONTACT ? "contact" : "friction";
}

static bool report_setting(Parser* p, AstElementKind kind, Span span, Str message) {
  if (!parser_mend(p)) return false;
  Diag* diag = diag_add(p->diags, DIAG_E0130, span, "%.*s", STR_ARGS(message));
  diag_hint(p->diags, diag, "%s",
            kind == AST_ELEMENT_CONTACT
                ? "write contact NAME { gap = y; velocity = v; force = N; restitution = 0.8; }"
                : "write friction NAME { velocity = v; force = F; kinetic = 0.5; static = 1; }");
  return false;
}

static bool read_settings(Parser* p, const AstElement* element, Settings* out) {
  const char* what = element_text(element->kind);
  for (uint32_t i = 0; i < element->settings.count; i++) {
    const AstSetting* setting = &element->settings.data[i];
    AstExpr** slot = setting_slot(out, element->kind, setting->key);
    if (!slot) {
      return report_setting(
          p, element->kind, setting->key_span,
          str_format(p->arena, "a %s has no setting '%.*s'", what, STR_ARGS(setting->key)));
    }
    if (*slot) {
      return report_setting(p, element->kind, setting->key_span,
                            str_format(p->arena, "'%.*s' is given twice", STR_ARGS(setting->key)));
    }
    if (setting->values.count != 1 || !setting->values.data[0].expr) {
      return report_setting(
          p, element->kind, setting->span,
          str_format(p->arena, "'%.*s' is one expression", STR_ARGS(setting->key)));
    }
    *slot = setting->values.data[0].expr;
  }
  return true;
}

static bool require(Parser* p, const AstElement* element, const AstExpr* value, const char* key) {
  if (value) return true;
  return report_setting(
      p, element->kind, element->name.span,
      str_format(p->arena, "this %s lacks '%s'", element_text(element->kind), key));
}

static bool is_variable(const AstExpr* e) {
  return e->kind == AST_NAME && e->order == 0;
}

static bool complete_settings(const Maker* m, AstElement* element, Settings* s) {
  Parser* p = m->p;
  bool contact = element->kind == AST_ELEMENT_CONTACT;
  if (contact && !require(p, element, s->gap, "gap")) return false;
  if (!require(p, element, s->force, "force")) return false;
  if (!is_variable(s->force)) {
    return report_setting(p, element->kind, s->force->span,
                          STR_LIT("the force is a variable that stands in the equations"));
  }
  // the gap's own derivative: of the variable it is, or of one that is made for it
  if (contact && !s->velocity) {
    if (!is_variable(s->gap)) {
      AstName name = make_suffixed(m, ".gap");
      s->distance = s->gap;
      s->gap = make_name(m, &name, 0, s->distance->span);
    }
    s->velocity = make_name(m, &s->gap->as.name.name, 1, s->gap->span);
  }
  if (!require(p, element, s->velocity, "velocity")) return false;
  if (contact && (s->rest || s->cascade) && !s->restitution) {
    return report_setting(p, element->kind, s->rest ? s->rest->span : s->cascade->span,
                          STR_LIT("without restitution every impact is the last one"));
  }
  if (!contact && !require(p, element, s->kinetic, "kinetic")) return false;
  element->restitution = s->restitution;
  element->kinetic = s->kinetic;
  element->stiction = s->stiction;
  element->yields = contact ? NULL : &s->force->as.name.name;
  if (!contact && !s->stiction) s->stiction = s->kinetic;
  return true;
}

// ---------------------------------------------------------------------------------------------
// Elements

static AstExpr* make_and(const Maker* m, AstExpr* a, AstExpr* b) {
  return make_binary(m, a, AST_OP_AND, b);
}

static AstBlock make_contact(const Maker* m, const Settings* s) {
  AstExpr* zero = make_number(m, 0.0, s->gap->span);
  AstExpr* none = make_number(m, 0.0, s->force->span);
  AstName memory = make_suffixed(m, ".rebound");
  AstExpr* touches = make_atom(m, s->gap, AST_OP_LE, zero, "gap <= 0");
  AstExpr* stays = make_atom(m, s->velocity, AST_OP_LE, zero, "velocity <= 0");

  // the rate of the gap is then computed in one way, whether the contact is open or closed
  AstStatement kept = make_law(m, s->distance ? s->distance : s->gap, zero);
  AstBlock closed = make_block(m, &kept, 1);
  if (s->restitution) {
    AstExpr* rest = s->rest ? s->rest : make_number(m, 0.0, s->velocity->span);
    AstExpr* rebound = make_binary(m, s->restitution, AST_OP_MUL, s->velocity);
    AstExpr* slow = make_typed(m, AST_EVENT_NO_EVENT, rebound, AST_OP_GE, make_minus(m, rest),
                               "restitution*velocity >= -rest");
    // a negative restitution is no slow impact, but an error of the impact
    AstExpr* meant =
        make_typed(m, AST_EVENT_NO_EVENT, rebound, AST_OP_LE, rest, "restitution*velocity <= rest");
    AstExpr* ends = make_and(m, slow, meant);
    AstExpr* last = make_and(m, make_and(m, touches, stays), ends);
    push_state(m, "closed", last, "free", &closed);
    push_state(m, "closed", make_and(m, touches, stays), "free", NULL)->zeno = true;
    AstExpr* nears = make_atom(m, s->velocity, AST_OP_LT, zero, "velocity < 0");
    AstExpr* after = make_name(m, &memory, 0, s->velocity->span);
    AstStatement impact[] = {make_law(m, s->velocity, after),
                             make_memory(m, &memory, AST_INIT_SET, make_minus(m, rebound))};
    AstBlock hit = make_block(m, impact, 2);
    AstExpr* meets = make_and(m, touches, nears);
    push_state(m, "hit", make_and(m, meets, make_not(m, ends)), "free", &hit);
    AstExpr* most = make_number(m, -HUGE_FORCE, s->force->span);
    AstExpr* pulls = make_typed(m, AST_EVENT_PULSE, s->force, AST_OP_LT, most, "force < 0");
    push_state(m, "free", pulls, "hit", NULL);
    push_state(m, "free", NULL, "hit", NULL);
  } else {
    push_state(m, "closed", make_and(m, touches, stays), "free", &closed);
  }
  push_state(m, "free", make_atom(m, s->force, AST_OP_LT, none, "force < 0"), "closed", NULL);
  AstExpr* huge = make_number(m, HUGE_FORCE, s->force->span);
  if (s->restitution) {
    AstExpr* struck =
        make_typed(m, AST_EVENT_STRUCK, s->force, AST_OP_GT, huge, "force is a pulse of a reset");
    push_state(m, "free", struck, "closed", NULL);
  }
  if (s->cascade) {
    AstExpr* knocked = make_atom(m, s->force, AST_OP_GT, huge, "force is a pulse");
    AstExpr* wanted = make_typed(m, AST_EVENT_NO_EVENT, s->cascade, AST_OP_GT, zero, "cascade > 0");
    push_state(m, "free", make_and(m, knocked, wanted), "closed", NULL);
  }

  AstStatement all[4] = {make_law(m, s->force, none), take_automaton(m, "free")};
  uint32_t count = 2;
  if (s->restitution) all[count++] = make_memory(m, &memory, AST_INIT_T0, none);
  if (s->distance) all[count++] = make_definition(s->gap, s->distance);
  return make_block(m, all, count);
}

/// Where the level is a pulse because an impact presses the bodies together, sliding may come to
/// its end within the pulse: a candidate in which it is reversed is rejected, and the bodies stick.
static void push_reversal(const Maker* m, const Settings* s, AstOp op, const char* text,
                          const char* from) {
  AstExpr* zero = make_number(m, 0.0, s->velocity->span);
  AstExpr* huge = make_number(m, HUGE_FORCE, s->kinetic->span);
  AstExpr* reversed = make_typed(m, AST_EVENT_PULSE, s->velocity, op, zero, text);
  AstExpr* pulse =
      make_typed(m, AST_EVENT_PULSE, s->kinetic, AST_OP_GT, huge, "kinetic is a pulse");
  push_state(m, "stick", make_and(m, reversed, pulse), from, NULL)->pulse = true;
}

static AstBlock make_friction(const Maker* m, const Settings* s) {
  AstExpr* zero = make_number(m, 0.0, s->velocity->span);
  AstStatement still = make_law(m, s->velocity, zero);
  AstBlock stick = make_block(m, &still, 1);
  push_reversal(m, s, AST_OP_LT, "velocity < 0", "forward");
  push_reversal(m, s, AST_OP_GT, "velocity > 0", "backward");
  AstExpr* slowed = make_atom(m, s->velocity, AST_OP_LE, zero, "velocity <= 0");
  push_state(m, "stick", slowed, "forward", &stick);
  AstExpr* turned = make_atom(m, s->velocity, AST_OP_GE, zero, "velocity >= 0");
  push_state(m, "stick", turned, "backward", NULL);
  AstExpr* pulled =
      make_atom(m, s->force, AST_OP_LT, make_minus(m, s->stiction), "force < -static");
  push_state(m, "forward", pulled, "stick", NULL);
  AstStatement against = make_law(m, s->force, s->kinetic);
  AstBlock backward = make_block(m, &against, 1);
  AstExpr* pushed = make_atom(m, s->force, AST_OP_GT, s->stiction, "force > static");
  push_state(m, "backward", pushed, "stick", &backward);

  AstStatement all[] = {make_law(m, s->force, make_minus(m, s->kinetic)),
                        take_automaton(m, "forward")};
  all[1].as.automaton.yields = true;
  return make_block(m, all, 2);
}

bool parser_element(Parser* p, AstStatement* out) {
  AstElement* element = ARENA_NEW(p->arena, AstElement);
  element->kind = p->tok.word == WORD_CONTACT ? AST_ELEMENT_CONTACT : AST_ELEMENT_FRICTION;
  parser_advance(p);
  out->kind = AST_ELEMENT;
  out->as.element = element;
  if (!parser_expect_name(p, "the name of the element", &element->name)) return false;
  if (p->tok.kind != TOK_LBRACE) {
    if (parser_fail(p)) {
      Str found = parser_describe(p, &p->tok);
      diag_add(p->diags, DIAG_E0101, parser_here(p), "expected '{' after the name, found %.*s",
               STR_ARGS(found));
    }
    return false;
  }
  uint32_t errors = p->diags->error_count;
  element->settings = parser_settings(p);
  parser_check_settings(p, &element->settings, false);
  if (p->recovering || p->diags->error_count > errors) return true;
  Maker m = {.p = p, .name = &element->name, .mark = p->scratch_used};
  Settings s = {0};
  if (!read_settings(p, element, &s) || !complete_settings(&m, element, &s)) return true;
  element->body =
      element->kind == AST_ELEMENT_CONTACT ? make_contact(&m, &s) : make_friction(&m, &s);
  return true;
}

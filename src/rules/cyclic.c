// SPDX-License-Identifier: MIT
//
// The literal interpreter: a cycle computes the predicates in the order of their table, then the
// rows of Situations, then the rules, each in place; t := start + n*dt. What the procedures do is
// in cyclic_procs.c, the definition in docs/rules.md.
#include "rules/cyclic.h"

#include <math.h>
#include <string.h>

#define STACK_MAX 160  // of a predicate; the reader limits the nesting

// ---- layout
// ---------------------------------------------------------------------------------------

typedef struct Sizes {
  size_t ops, literals, memory, numbers;
} Sizes;

static void count_expr(const RulesExpr* e, Sizes* s) {
  if (!e) return;
  count_expr(e->a, s);
  count_expr(e->b, s);
  s->ops++;
}

static Sizes measure(const RulesModel* m, double dt) {
  Sizes s = {0};
  for (uint32_t i = 0; i < m->predicates.count; i++)
    count_expr(m->predicates.data[i].relation, &s);
  for (uint32_t i = 0; i < m->rows.count; i++) {
    s.literals += (size_t)m->rows.data[i].when.literals.count + m->rows.data[i].then.count;
  }
  for (uint32_t i = 0; i < m->rules.count; i++) {
    s.literals += m->rules.data[i].when.literals.count;
    s.memory += cyclic_memory(m, &m->rules.data[i], dt);
    s.numbers += 3;
  }
  return s;
}

static void* take(char** at, size_t size) {
  char* place = *at;
  *at += (size + 15) & ~(size_t)15;
  return place;
}

// ---- compilation
// ----------------------------------------------------------------------------------

typedef struct Compiler {
  RulesCyclic* c;
  uint32_t ops, literals, numbers, memory;
} Compiler;

static uint32_t place_of(const RulesCyclic* c, const RulesExpr* e) {
  if (e->op == RULES_OP_CONSTANT) return e->index;
  if (e->op == RULES_OP_STATE) return c->constant_count + e->index;
  return c->time_place;
}

static void compile_expr(Compiler* k, const RulesExpr* e) {
  if (!e) return;
  compile_expr(k, e->a);
  compile_expr(k, e->b);
  CyclicOp op = {.op = e->op, .value = e->value};
  bool value = e->op == RULES_OP_CONSTANT || e->op == RULES_OP_STATE || e->op == RULES_OP_TIME;
  if (value) {
    op.op = RULES_OP_STATE;
    op.place = place_of(k->c, e);
  }
  k->c->ops[k->ops++] = op;
}

static CyclicWhen compile_when(Compiler* k, const RulesWhen* when) {
  RulesCyclic* c = k->c;
  CyclicWhen out = {.begin = k->literals};
  uint32_t states = c->constant_count;
  uint32_t predicates = states + c->state_count;
  uint32_t situations = predicates + c->predicate_count;
  for (uint32_t i = 0; i < when->literals.count; i++) {
    const RulesLiteral* literal = &when->literals.data[i];
    uint32_t place = 0;
    switch ((RulesLogic)literal->kind) {
    case RULES_LOGIC_TRUE:
      if (!literal->negated) continue;
      place = c->time_place + 1;  // a place that is always 1
      break;
    case RULES_LOGIC_STATE: place = states + literal->index; break;
    case RULES_LOGIC_PREDICATE: place = predicates + literal->index; break;
    case RULES_LOGIC_SITUATION: place = situations + literal->index; break;
    }
    c->literals[k->literals++] = place * 2 + literal->negated;
  }
  out.end = k->literals;
  return out;
}

static uint32_t compile_arg(Compiler* k, const RulesExpr* e) {
  RulesCyclic* c = k->c;
  if (!e) return c->time_place;
  if (e->op != RULES_OP_NUMBER) return place_of(c, e);
  uint32_t place = c->time_place + 2 + k->numbers++;
  c->v[place] = e->value;
  return place;
}

static void compile_rules(Compiler* k) {
  RulesCyclic* c = k->c;
  const RulesModel* m = c->m;
  for (uint32_t i = 0; i < m->rules.count; i++) {
    const RulesRule* from = &m->rules.data[i];
    CyclicRule* rule = &c->rules[i];
    *rule = (CyclicRule){.procedure = from->procedure,
                         .target = c->constant_count + from->target,
                         .last = true,
                         .zero = !rules_target_holds(m, from->target),
                         .k = rules_constant_value(m, from->coefficient),
                         .memory = k->memory,
                         .first = from->arg[0].expr != NULL,
                         .second = from->arg[1].expr != NULL,
                         .keep = from->keep,
                         .restart = !from->no_restart,
                         .source = from};
    rule->edge = from->procedure == RULES_COUNTER || from->procedure == RULES_TIMER;
    for (uint32_t j = i + 1; j < m->rules.count; j++) {
      if (m->rules.data[j].target == from->target) rule->last = false;
    }
    rule->a = compile_arg(k, from->arg[0].expr);
    rule->b = compile_arg(k, from->arg[1].expr);
    rule->c = compile_arg(k, from->params[RULES_PARAM_OTHERWISE]);
    rule->when = compile_when(k, &from->when);
    k->memory += cyclic_memory(m, from, c->dt);
    cyclic_prepare(m, rule, c->dt);
  }
}

static void compile_rows(Compiler* k) {
  RulesCyclic* c = k->c;
  const RulesModel* m = c->m;
  uint32_t situations = c->constant_count + c->state_count + c->predicate_count;
  for (uint32_t i = 0; i < m->rows.count; i++) {
    const RulesSituationRow* from = &m->rows.data[i];
    CyclicRow* row = &c->rows[i];
    *row = (CyclicRow){.situation = RULES_NONE, .first = from->first, .index = from->situation};
    if (from->situation != RULES_NONE) row->situation = situations + from->situation;
    row->when = compile_when(k, &from->when);
    row->then_begin = k->literals;
    for (uint32_t j = 0; j < from->then.count; j++) {
      uint32_t place = c->constant_count + from->then.data[j].state;
      c->literals[k->literals++] = place * 2 + !from->then.data[j].value;
    }
    row->then_end = k->literals;
  }
}

static void compile(RulesCyclic* c) {
  Compiler k = {.c = c};
  for (uint32_t i = 0; i < c->predicate_count; i++) {
    c->predicates[i].begin = k.ops;
    compile_expr(&k, c->m->predicates.data[i].relation);
    c->predicates[i].end = k.ops;
  }
  compile_rows(&k);
  compile_rules(&k);
}

RulesCyclic* rules_cyclic_create(const RulesModel* m, double dt, const SltAllocator* given) {
  SltAllocator allocator = base_allocator(given);
  Sizes s = measure(m, dt);
  size_t places =
      (size_t)m->constants.count + m->states.count + m->predicates.count + m->situations.count;
  size_t values = places + 2 + s.numbers;
  if (s.memory > UINT32_MAX / 2 || values > UINT32_MAX / 4) return NULL;
  size_t parts[] = {sizeof(RulesCyclic),
                    values * sizeof(double),
                    s.ops * sizeof(CyclicOp),
                    m->predicates.count * sizeof(CyclicPredicate),
                    s.literals * sizeof(uint32_t),
                    m->rows.count * sizeof(CyclicRow),
                    m->rules.count * sizeof(CyclicRule),
                    s.memory * sizeof(double),
                    m->states.count * sizeof(bool)};
  size_t total = 0;
  for (size_t i = 0; i < SLT_COUNT(parts); i++)
    total += (parts[i] + 15) & ~(size_t)15;
  char* block = base_alloc(&allocator, total);
  if (!block) return NULL;
  char* at = block;
  RulesCyclic* c = take(&at, parts[0]);
  *c = (RulesCyclic){.m = m, .allocator = allocator, .dt = dt, .block = block, .block_size = total};
  c->start = isnan(m->start) ? 0.0 : m->start;
  c->v = take(&at, parts[1]);
  c->ops = take(&at, parts[2]);
  c->predicates = take(&at, parts[3]);
  c->literals = take(&at, parts[4]);
  c->rows = take(&at, parts[5]);
  c->rules = take(&at, parts[6]);
  c->memory = take(&at, parts[7]);
  c->active = take(&at, parts[8]);
  c->memory_count = (uint32_t)s.memory;
  c->constant_count = m->constants.count;
  c->state_count = m->states.count;
  c->predicate_count = m->predicates.count;
  c->situation_count = m->situations.count;
  c->row_count = m->rows.count;
  c->rule_count = m->rules.count;
  c->place_count = (uint32_t)places;
  c->time_place = (uint32_t)places;
  compile(c);
  rules_cyclic_reset(c);
  return c;
}

void rules_cyclic_seed(RulesCyclic* cyclic, uint64_t seed) {
  cyclic->seed = seed;
}

void rules_cyclic_free(RulesCyclic* c) {
  if (!c) return;
  SltAllocator allocator = c->allocator;
  base_free(&allocator, c->block, c->block_size);
}

void rules_cyclic_reset(RulesCyclic* c) {
  c->n = 0;
  c->t = c->start;
  c->failed = RULES_NONE;
  c->divisions = 0;
  memset(c->v, 0, c->place_count * sizeof *c->v);
  for (uint32_t i = 0; i < c->constant_count; i++)
    c->v[i] = c->m->constants.data[i].number;
  for (uint32_t i = 0; i < c->state_count; i++) {
    c->v[c->constant_count + i] = c->m->states.data[i].number;
  }
  c->v[c->time_place] = c->t;
  c->v[c->time_place + 1] = 1.0;
  for (uint32_t i = 0; i < c->memory_count; i++)
    c->memory[i] = 0.0;
}

// ---- a cycle
// --------------------------------------------------------------------------------------

static double relation(uint8_t op, double a, double b) {
  switch (op) {
  case RULES_OP_LT: return a < b ? 1.0 : 0.0;
  case RULES_OP_LE: return a <= b ? 1.0 : 0.0;
  case RULES_OP_GT: return a > b ? 1.0 : 0.0;
  case RULES_OP_GE: return a >= b ? 1.0 : 0.0;
  default: return a != 0.0 && b != 0.0 ? 1.0 : 0.0;
  }
}

static double evaluate(const RulesCyclic* c, const CyclicPredicate* predicate) {
  double stack[STACK_MAX];
  uint32_t top = 1;
  stack[0] = 0.0;  // under the first operand: the operators need no check of the depth
  stack[1] = 0.0;
  for (uint32_t i = predicate->begin; i < predicate->end && top + 1 < STACK_MAX; i++) {
    const CyclicOp* op = &c->ops[i];
    switch (op->op) {
    case RULES_OP_NUMBER: stack[top++] = op->value; break;
    case RULES_OP_STATE: stack[top++] = c->v[op->place]; break;
    case RULES_OP_NEG: stack[top - 1] = -stack[top - 1]; break;
    case RULES_OP_ABS: stack[top - 1] = fabs(stack[top - 1]); break;
    case RULES_OP_ADD:
      top--;
      stack[top - 1] += stack[top];
      break;
    case RULES_OP_SUB:
      top--;
      stack[top - 1] -= stack[top];
      break;
    case RULES_OP_MUL:
      top--;
      stack[top - 1] *= stack[top];
      break;
    case RULES_OP_DIV:
      top--;
      stack[top - 1] /= stack[top];
      break;
    default:
      top--;
      stack[top - 1] = relation(op->op, stack[top - 1], stack[top]);
      break;
    }
  }
  return stack[1];
}

static bool holds(const RulesCyclic* c, CyclicWhen when) {
  for (uint32_t i = when.begin; i < when.end; i++) {
    bool value = c->v[c->literals[i] / 2] != 0.0;
    if (value == (c->literals[i] % 2 != 0)) return false;
  }
  return true;
}

static void scan_rows(RulesCyclic* c) {
  for (uint32_t i = 0; i < c->row_count; i++) {
    const CyclicRow* row = &c->rows[i];
    if (row->first) {
      // all rows of a situation together are its value
      bool any = false;
      for (uint32_t k = i; k < c->row_count && !any; k++) {
        any = c->rows[k].situation == row->situation && holds(c, c->rows[k].when);
      }
      c->v[row->situation] = any ? 1.0 : 0.0;
    }
    if (row->then_begin == row->then_end || !holds(c, row->when)) continue;
    for (uint32_t k = row->then_begin; k < row->then_end; k++) {
      c->v[c->literals[k] / 2] = c->literals[k] % 2 ? 0.0 : 1.0;
    }
  }
}

static bool scan_rules(RulesCyclic* c) {
  bool fine = true;
  for (uint32_t i = 0; i < c->state_count; i++)
    c->active[i] = false;
  for (uint32_t i = 0; i < c->rule_count; i++) {
    const CyclicRule* rule = &c->rules[i];
    uint32_t state = rule->target - c->constant_count;
    bool active = holds(c, rule->when);
    bool rising = false;
    if (rule->edge) {
      rising = active && c->memory[rule->memory] == 0.0;
      c->memory[rule->memory] = active ? 1.0 : 0.0;
    }
    if (active) {
      double value = cyclic_step(c, rule, rising);
      c->active[state] = true;
      if (value - value == 0.0) {
        c->v[rule->target] = value;
      } else {
        if (c->failed == RULES_NONE) c->failed = i;
        fine = false;
      }
    } else {
      cyclic_idle(c, rule);
    }
    if (rule->last && rule->zero && !c->active[state]) c->v[rule->target] = 0.0;
  }
  return fine;
}

bool rules_cyclic_cycle(RulesCyclic* c) {
  uint32_t predicates = c->constant_count + c->state_count;
  for (uint32_t i = 0; i < c->predicate_count; i++) {
    c->v[predicates + i] = evaluate(c, &c->predicates[i]);
  }
  scan_rows(c);
  bool fine = scan_rules(c);
  c->n++;
  c->t = c->start + (double)c->n * c->dt;
  c->v[c->time_place] = c->t;
  return fine;
}

// ---- questions
// ------------------------------------------------------------------------------------

double rules_cyclic_time(const RulesCyclic* c) {
  return c->t;
}

uint64_t rules_cyclic_count(const RulesCyclic* c) {
  return c->n;
}

uint32_t rules_cyclic_failed(const RulesCyclic* c) {
  return c->failed;
}

uint64_t rules_cyclic_divisions(const RulesCyclic* c) {
  return c->divisions;
}

uint32_t rules_cyclic_find(const RulesCyclic* c, Str name) {
  const RulesModel* m = c->m;
  for (uint32_t i = 0; i < m->constants.count; i++) {
    if (str_equal(m->constants.data[i].name, name)) return i;
  }
  uint32_t base = c->constant_count;
  for (uint32_t i = 0; i < m->states.count; i++) {
    if (str_equal(m->states.data[i].name, name)) return base + i;
  }
  base += c->state_count;
  for (uint32_t i = 0; i < m->predicates.count; i++) {
    if (str_equal(m->predicates.data[i].name, name)) return base + i;
  }
  base += c->predicate_count;
  for (uint32_t i = 0; i < m->situations.count; i++) {
    if (str_equal(m->situations.data[i].name, name)) return base + i;
  }
  return str_equal(name, STR_LIT("time")) ? c->time_place : UINT32_MAX;
}

double rules_cyclic_get(const RulesCyclic* c, uint32_t place) {
  return place <= c->time_place ? c->v[place] : (double)NAN;
}

bool rules_cyclic_set(RulesCyclic* c, uint32_t place, double value) {
  if (place >= c->constant_count + c->state_count || value - value != 0.0) return false;
  bool logical = place >= c->constant_count && c->m->states.data[place - c->constant_count].logical;
  c->v[place] = logical && value != 0.0 ? 1.0 : value;
  return true;
}

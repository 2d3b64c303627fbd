// SPDX-License-Identifier: MIT
#include "experiment/experiment.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMULA_OF_FUNCTION(X, NAME, ...) FORMULA_##NAME,

typedef enum FormulaOp {
  FORMULA_NUMBER,
  FORMULA_LEAF,  // a: number of the leaf
  FORMULA_MINUS,
  FORMULA_PLUS_OP,
  FORMULA_SUB_OP,
  FORMULA_MUL_OP,
  FORMULA_DIV_OP,
  FORMULA_POW_OP,
  FORMULA_MIN_OP,
  FORMULA_MAX_OP,
  FORMULA_ATAN2_OP,
  FORMULA_ABS,
  FORMULA_SQRT,
  BASE_FUNCTIONS(FORMULA_OF_FUNCTION, 0) FORMULA_OP_COUNT
} FormulaOp;

SltStatus problem_set(SltProblem* problem, SltStatus status, const char* hint, const char* message,
                      ...) {
  if (!problem) return status;
  va_list args;
  va_start(args, message);
  vsnprintf(problem->message, sizeof problem->message, message, args);
  va_end(args);
  snprintf(problem->hint, sizeof problem->hint, "%s", hint ? hint : "");
  return status;
}

SltStatus problem_set_run(SltProblem* problem, SltSim* sim, SltStatus status, const char* what) {
  SltRunError error = slt_sim_error(sim);
  bool told = error.status < 0 && error.message && error.message[0];
  problem_set(problem, status, "`saltus run` tells more", "%s: %s", what,
              told ? error.message : slt_status_text(status));
  if (problem && told) snprintf(problem->code, sizeof problem->code, "%s", error.code);
  return status;
}

// ---- reading ------------------------------------------------------------------------------------

char formula_peek(FormulaParser* p) {
  while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r'))
    p->at++;
  return p->at < p->end ? *p->at : '\0';
}

bool formula_take(FormulaParser* p, char c) {
  if (formula_peek(p) != c || p->at >= p->end) return false;
  p->at++;
  return true;
}

static bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_name_part(char c) {
  return is_name_start(c) || (c >= '0' && c <= '9') || c == '.';
}

/// `[3]`, `[2, 5]` behind a name.
static const char* skip_index(const char* at, const char* end) {
  const char* to = at + 1;
  while (to < end && ((*to >= '0' && *to <= '9') || *to == ',' || *to == ' '))
    to++;
  return to < end && *to == ']' ? to + 1 : at;
}

bool formula_name(FormulaParser* p, Str* out) {
  char first = formula_peek(p);
  const char* begin = p->at;
  if (first == '`') {
    const char* close = memchr(begin + 1, '`', (size_t)(p->end - begin - 1));
    if (!close) return false;
    *out = (Str){begin + 1, (uint32_t)(close - begin - 1)};
    p->at = close + 1;
    return true;
  }
  if (!is_name_start(first)) return false;
  while (p->at < p->end) {
    const char* behind = *p->at == '[' ? skip_index(p->at, p->end) : p->at + is_name_part(*p->at);
    if (behind == p->at) break;
    p->at = behind;
  }
  while (p->at < p->end && *p->at == '\'')
    p->at++;
  *out = (Str){begin, (uint32_t)(p->at - begin)};
  return true;
}

static SltStatus push(FormulaParser* p, FormulaNode node, uint32_t* out) {
  if (p->count == FORMULA_NODES) {
    return problem_set(p->problem, SLT_ERR_SYNTAX, NULL, "the formula is too long");
  }
  *out = p->count;
  p->nodes[p->count++] = node;
  return SLT_OK;
}

static SltStatus read_sum(FormulaParser* p, uint32_t* out);

static SltStatus expect(FormulaParser* p, char c, const char* what) {
  if (formula_take(p, c)) return SLT_OK;
  size_t rest = (size_t)(p->end - p->at);
  return problem_set(p->problem, SLT_ERR_SYNTAX, NULL, "expected '%c' %s, found %s%.*s%s", c, what,
                     rest ? "`" : "the end", (int)(rest < 40 ? rest : 40), p->at, rest ? "`" : "");
}

static const struct {
  const char* name;
  FormulaOp op;
  uint32_t arguments;
} functions[] = {
#define FORMULA_ENTRY(X, NAME, word, ...) {word, FORMULA_##NAME, 1},
    BASE_FUNCTIONS(FORMULA_ENTRY, 0){"abs", FORMULA_ABS, 1},
    {"sqrt", FORMULA_SQRT, 1},
    {"min", FORMULA_MIN_OP, 2},
    {"max", FORMULA_MAX_OP, 2},
    {"atan2", FORMULA_ATAN2_OP, 2},
};

static SltStatus read_function(FormulaParser* p, Str name, uint32_t* out) {
  size_t f = 0;
  while (f < SLT_COUNT(functions) && !str_equal(name, str_from_c(functions[f].name)))
    f++;
  if (f == SLT_COUNT(functions)) {
    return problem_set(p->problem, SLT_ERR_NOT_FOUND,
                       "end, start, at, max, min, mean, rms, integral, quantile, time, count and "
                       "duration read a run; sqrt, abs, exp, sin... are functions",
                       "there is no function `%.*s`", STR_ARGS(name));
  }
  FormulaNode node = {.op = functions[f].op};
  SLT_TRY(read_sum(p, &node.a));
  if (functions[f].arguments == 2) {
    SLT_TRY(expect(p, ',', "and a second argument"));
    SLT_TRY(read_sum(p, &node.b));
  }
  SLT_TRY(expect(p, ')', "behind the arguments"));
  return push(p, node, out);
}

/// The formula that a name stands for, as if it were written there in parentheses.
static SltStatus read_definition(FormulaParser* p, uint32_t* out) {
  const char* at = p->at;
  const char* end = p->end;
  if (++p->depth > FORMULA_DEPTH) {
    return problem_set(p->problem, SLT_ERR_SYNTAX, NULL, "formulas are nested too deeply");
  }
  p->at = p->definition.data;
  p->end = p->at + p->definition.length;
  p->definition = (Str){0};
  SLT_TRY(read_sum(p, out));
  p->depth--;
  p->at = at;
  p->end = end;
  return SLT_OK;
}

static SltStatus read_name(FormulaParser* p, uint32_t* out) {
  Str name;
  if (!formula_name(p, &name)) {
    size_t rest = (size_t)(p->end - p->at);
    return problem_set(p->problem, SLT_ERR_SYNTAX, NULL,
                       "expected a number, a name or a parenthesis, found %s%.*s%s",
                       rest ? "`" : "the end", (int)(rest < 40 ? rest : 40), p->at,
                       rest ? "`" : "");
  }
  bool call = formula_take(p, '(');
  FormulaNode node = {.op = FORMULA_LEAF};
  SltStatus status = p->leaf(p->user, p, name, call, &node.a);
  if (status == SLT_END) {
    return p->definition.length ? read_definition(p, out) : read_function(p, name, out);
  }
  SLT_TRY(status);
  return push(p, node, out);
}

static SltStatus read_atom(FormulaParser* p, uint32_t* out) {
  char c = formula_peek(p);
  if (c == '(') {
    if (++p->depth > FORMULA_DEPTH) {
      return problem_set(p->problem, SLT_ERR_SYNTAX, NULL, "too many parentheses");
    }
    p->at++;
    SLT_TRY(read_sum(p, out));
    p->depth--;
    return expect(p, ')', "to close the parenthesis");
  }
  double number = 0.0;
  uint32_t length = number_read((Str){p->at, (uint32_t)(p->end - p->at)}, false, &number);
  if (length == 0) return read_name(p, out);
  p->at += length;
  const char* end =
      formula_peek(p) == '"' ? memchr(p->at + 1, '"', (size_t)(p->end - p->at - 1)) : NULL;
  if (end) p->at = end + 1;  // its unit, which is looked at with the model
  return push(p, (FormulaNode){.op = FORMULA_NUMBER, .number = number}, out);
}

static SltStatus read_factor(FormulaParser* p, uint32_t* out) {
  if (formula_take(p, '-')) {
    if (++p->depth > FORMULA_DEPTH) {
      return problem_set(p->problem, SLT_ERR_SYNTAX, NULL, "too many signs");
    }
    FormulaNode node = {.op = FORMULA_MINUS};
    SLT_TRY(read_factor(p, &node.a));
    p->depth--;
    return push(p, node, out);
  }
  SLT_TRY(read_atom(p, out));
  if (!formula_take(p, '^')) return SLT_OK;
  FormulaNode node = {.op = FORMULA_POW_OP, .a = *out};
  if (++p->depth > FORMULA_DEPTH) {
    return problem_set(p->problem, SLT_ERR_SYNTAX, NULL, "too many powers");
  }
  SLT_TRY(read_factor(p, &node.b));
  p->depth--;
  return push(p, node, out);
}

static SltStatus read_product(FormulaParser* p, uint32_t* out) {
  SLT_TRY(read_factor(p, out));
  for (char c = formula_peek(p); c == '*' || c == '/'; c = formula_peek(p)) {
    p->at++;
    FormulaNode node = {.op = c == '*' ? FORMULA_MUL_OP : FORMULA_DIV_OP, .a = *out};
    SLT_TRY(read_factor(p, &node.b));
    SLT_TRY(push(p, node, out));
  }
  return SLT_OK;
}

static SltStatus read_sum(FormulaParser* p, uint32_t* out) {
  SLT_TRY(read_product(p, out));
  for (char c = formula_peek(p); c == '+' || c == '-'; c = formula_peek(p)) {
    p->at++;
    FormulaNode node = {.op = c == '+' ? FORMULA_PLUS_OP : FORMULA_SUB_OP, .a = *out};
    SLT_TRY(read_product(p, &node.b));
    SLT_TRY(push(p, node, out));
  }
  return SLT_OK;
}

SltStatus formula_read_part(FormulaParser* p, Formula* out) {
  *out = (Formula){0};
  p->count = 0;
  uint32_t last = 0;
  SLT_TRY(read_sum(p, &last));
  out->nodes = malloc(p->count * sizeof *out->nodes);
  if (!out->nodes) return SLT_ERR_NOMEM;
  memcpy(out->nodes, p->nodes, p->count * sizeof *out->nodes);
  out->count = p->count;
  return SLT_OK;
}

SltStatus formula_read(FormulaParser* p, Formula* out) {
  SLT_TRY(formula_read_part(p, out));
  if (formula_peek(p) == '\0' && p->at == p->end) return SLT_OK;
  formula_clear(out);
  size_t rest = (size_t)(p->end - p->at);
  return problem_set(p->problem, SLT_ERR_SYNTAX, NULL, "the formula ends before `%.*s`",
                     (int)(rest < 40 ? rest : 40), p->at);
}

void formula_clear(Formula* formula) {
  free(formula->nodes);
  *formula = (Formula){0};
}

bool formula_is_smooth(const Formula* formula) {
  for (uint32_t i = 0; i < formula->count; i++) {
    uint32_t op = formula->nodes[i].op;
    if (op == FORMULA_ABS || op == FORMULA_MIN_OP || op == FORMULA_MAX_OP) return false;
  }
  return true;
}

bool formula_reads(const Formula* formula, uint32_t node, uint32_t* leaf) {
  *leaf = formula->nodes[node].a;
  return formula->nodes[node].op == FORMULA_LEAF;
}

uint32_t formula_leaf_end(const Formula* formula) {
  uint32_t end = 0;
  for (uint32_t i = 0; i < formula->count; i++) {
    uint32_t leaf = 0;
    if (formula_reads(formula, i, &leaf) && leaf >= end) end = leaf + 1;
  }
  return end;
}

// ---- values -------------------------------------------------------------------------------------

static double call_value(const FormulaNode* node, double a) {
  switch (node->op) {
#define FORMULA_CALL(X, NAME, word, call, ...) \
  case FORMULA_##NAME: return call(a);
    BASE_FUNCTIONS(FORMULA_CALL, 0)
  case FORMULA_ABS: return fabs(a);
  case FORMULA_SQRT: return sqrt(a);
  default: return -a;
  }
}

static double node_value(const FormulaNode* node, const double* values, const double* leaves) {
  double a = node->op > FORMULA_LEAF ? values[node->a] : 0.0;
  double b = node->op > FORMULA_MINUS && node->op < FORMULA_ABS ? values[node->b] : 0.0;
  switch (node->op) {
  case FORMULA_NUMBER: return node->number;
  case FORMULA_LEAF: return leaves[node->a];
  case FORMULA_PLUS_OP: return a + b;
  case FORMULA_SUB_OP: return a - b;
  case FORMULA_MUL_OP: return a * b;
  case FORMULA_DIV_OP: return a / b;
  case FORMULA_POW_OP: return base_pow(a, b);
  case FORMULA_MIN_OP: return isnan(a) || a < b ? a : b;
  case FORMULA_MAX_OP: return isnan(a) || a > b ? a : b;
  case FORMULA_ATAN2_OP: return base_atan2(a, b);
  default: return call_value(node, a);
  }
}

double formula_value(const Formula* formula, const double* leaves) {
  double values[FORMULA_NODES];
  if (formula->count == 0) return (double)NAN;
  for (uint32_t i = 0; i < formula->count; i++)
    values[i] = node_value(&formula->nodes[i], values, leaves);
  return values[formula->count - 1];
}

// ---- derivatives --------------------------------------------------------------------------------

/// Derivative of a function of one argument at a point, and its value there.
static double call_slope(uint32_t op, double argument, double self) {
  switch (op) {
#define FORMULA_SLOPE(X, NAME, ...) \
  case FORMULA_##NAME: return base_function_slope(BASE_FUNCTION_##NAME, argument, self);
    BASE_FUNCTIONS(FORMULA_SLOPE, 0)
  case FORMULA_ABS: return argument < 0.0 ? -1.0 : 1.0;
  case FORMULA_SQRT: return 0.5 / self;
  default: return -1.0;
  }
}

/// Derivatives of one operation with respect to its operands.
static void node_slopes(const FormulaNode* node, double a, double b, double self, double* da,
                        double* db) {
  *da = 0.0;
  *db = 0.0;
  switch (node->op) {
  case FORMULA_NUMBER:
  case FORMULA_LEAF: break;
  case FORMULA_PLUS_OP: *da = *db = 1.0; break;
  case FORMULA_SUB_OP: *da = 1.0, *db = -1.0; break;
  case FORMULA_MUL_OP: *da = b, *db = a; break;
  case FORMULA_DIV_OP: *da = 1.0 / b, *db = -self / b; break;
  case FORMULA_POW_OP:
    *da = b == 0.0 ? 0.0 : b * base_pow(a, b - 1.0);
    *db = a > 0.0 ? self * base_log(a) : 0.0;
    break;
  case FORMULA_MIN_OP: *(a < b ? da : db) = 1.0; break;
  case FORMULA_MAX_OP: *(a > b ? da : db) = 1.0; break;
  case FORMULA_ATAN2_OP: *da = b / (a * a + b * b), *db = -a / (a * a + b * b); break;
  default: *da = call_slope(node->op, a, self); break;
  }
}

void formula_partials(const Formula* formula, const double* leaves, uint32_t leaf_count,
                      double* partials) {
  double values[FORMULA_NODES];
  double weights[FORMULA_NODES];
  for (uint32_t i = 0; i < leaf_count; i++)
    partials[i] = 0.0;
  for (uint32_t i = 0; i < formula->count; i++) {
    values[i] = node_value(&formula->nodes[i], values, leaves);
    weights[i] = 0.0;
  }
  weights[formula->count - 1] = 1.0;
  for (uint32_t i = formula->count; i-- > 0;) {
    const FormulaNode* node = &formula->nodes[i];
    if (weights[i] == 0.0 || node->op == FORMULA_NUMBER) continue;
    if (node->op == FORMULA_LEAF) {
      partials[node->a] += weights[i];
      continue;
    }
    bool two = node->op > FORMULA_MINUS && node->op < FORMULA_ABS;
    double da = 0.0;
    double db = 0.0;
    node_slopes(node, values[node->a], two ? values[node->b] : 0.0, values[i], &da, &db);
    weights[node->a] += weights[i] * da;
    if (two) weights[node->b] += weights[i] * db;
  }
}

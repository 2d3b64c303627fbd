// SPDX-License-Identifier: MIT
//
// LISMA text to model: nothing crashes, spans stay inside the text, what is accepted passes the
// verifier and can be printed, and compiling twice gives the same text.
//
// An input is a text, or, when it begins with '!', a row of choices from which a model is written
// that is right in form: the mistakes are then all in its meaning. With '?' instead of '!' its
// loops have 200 instances, and lowering a few of them must give what lowering all of them gives.
#include "lisma/lisma.h"

#define CHECK(condition) ((condition) ? (void)0 : __builtin_trap())

static SltStatus load_file(void* user, Str name, Arena* arena, Str* content) {
  (void)user;
  if (name.length == 0) return SLT_ERR_NOT_FOUND;
  *content = str_copy(arena, STR_LIT("t,a,b\n0,1,2\n1,2,3\n2.5,0,1\n4,4,4\n"));
  return SLT_OK;
}

/// One compilation; returns the printed model, empty after errors.
static Str compile(Arena* arena, Str text, double size, uint32_t sample_from) {
  const LismaOverride overrides[] = {{{"N", 1}, size}, {{"k", 1}, 0.5}};
  bool applied[SLT_COUNT(overrides)];
  LismaOptions options = {.overrides = overrides,
                          .override_count = (uint32_t)SLT_COUNT(overrides),
                          .applied = applied,
                          .load_file = load_file,
                          .max_instances = 2000,
                          .max_leaves = 20000,
                          .sample_from = sample_from};
  Source source;
  DiagList diags;
  IrModel model;
  source_init(&source, arena, STR_LIT("fuzz"), text);
  diag_init(&diags, arena, &source);
  bool fine = lisma_compile(&model, arena, &source, &options, &diags);
  CHECK(fine == (diags.error_count == 0));
  for (uint32_t i = 0; i < diags.items.count; i++) {
    const Diag* diag = &diags.items.data[i];
    CHECK(diag->code != DIAG_E0799);
    CHECK(diag->span.begin <= diag->span.end && diag->span.end <= text.length);
    CHECK(diag->message.length > 0);
    CHECK(diag_render(arena, &source, diag, false).length > 0);
  }
  TextBuffer out = {.arena = arena};
  if (fine) ir_print_model(&out, &model);
  return text_str(&out);
}

// ---------------------------------------------------------------------------------------------
// models from choices

typedef struct Writer {
  const uint8_t* data;
  size_t size;
  size_t at;
  TextBuffer out;
} Writer;

static void put(Writer* w, const char* text) {
  text_append_c(&w->out, text);
}

/// A number below `count`; 0 when the choices are used up.
static uint32_t choose(Writer* w, uint32_t count) {
  return w->at < w->size ? w->data[w->at++] % count : 0;
}

static void put_one(Writer* w, const char* const* texts, uint32_t count) {
  put(w, texts[choose(w, count)]);
}

#define PUT_ONE(w, texts) put_one((w), (texts), (uint32_t)SLT_COUNT(texts))

static const char* const names[] = {
    "x",     "y",       "v",       "T",      "k",     "N",     "p",     "q", "g", "e",
    "x_[i]", "x_[i+1]", "x_[i-1]", "T[i,j]", "y[i]a", "c_[i]", "m_[i]", "i", "j", "u"};
static const char* const states[] = {"init", "A", "B", "S_[i]", "C"};
static const char* const automata[] = {"main", "W", "V_[i]"};
static const char* const labels[] = {"", "", "", "l: ", "l2: ", "l_[i]: "};
static const char* const numbers[] = {"1", "0", "2", "0.5", "1e-6", "3", "100"};
static const char* const unary[] = {"sin(",  "sqrt(",        "abs(",     "sign(", "floor(",
                                    "ceil(", "noEvent(",     "exp(",     "pre(",  "post(",
                                    "der(",  "exponential(", "table(w, "};
static const char* const binary[] = {"min(", "max(", "mod(", "atan2(", "uniform(", "der("};
static const char* const operators[] = {" + ", " - ", "*", "/", "^", "%"};
static const char* const relations[] = {" < ", " <= ", " > ", " >= ", " == ", " != "};
static const char* const events[] = {"[",        "unilateral[",  "bilateral[",
                                     "noEvent[", "shortliving[", "ordinary(eps = 1e-3)["};
static const char* const ranges[] = {"1:N", "1:3", "0:2", "1:2, 5", "2", "i:3", "3:1"};

static void put_condition(Writer* w, int depth);

static void put_expr(Writer* w, int depth) {
  uint32_t kind = depth > 4 ? choose(w, 2) : choose(w, 10);
  switch (kind) {
  case 0: PUT_ONE(w, names); break;
  case 1: PUT_ONE(w, numbers); break;
  case 2:
    PUT_ONE(w, names);
    put(w, "'");
    break;
  case 3:
    PUT_ONE(w, unary);
    put_expr(w, depth + 1);
    put(w, ")");
    break;
  case 4:
    PUT_ONE(w, binary);
    put_expr(w, depth + 1);
    put(w, ", ");
    put_expr(w, depth + 1);
    put(w, ")");
    break;
  case 5:
    put(w, "if(");
    put_condition(w, depth + 1);
    put(w, ", ");
    put_expr(w, depth + 1);
    put(w, ", ");
    put_expr(w, depth + 1);
    put(w, ")");
    break;
  case 6:
    put(w, choose(w, 2) ? "sum(i = 1:3, " : "prod(j = 1:N, i = j:2, ");
    put_expr(w, depth + 1);
    put(w, ")");
    break;
  default:
    put(w, "(");
    put_expr(w, depth + 1);
    PUT_ONE(w, operators);
    put_expr(w, depth + 1);
    put(w, ")");
    break;
  }
}

static void put_relation(Writer* w, int depth) {
  put_expr(w, depth + 1);
  PUT_ONE(w, relations);
  put_expr(w, depth + 1);
}

static void put_condition(Writer* w, int depth) {
  uint32_t kind = depth > 4 ? 0 : choose(w, 7);
  switch (kind) {
  case 1:
    PUT_ONE(w, events);
    put_relation(w, depth);
    put(w, "]");
    break;
  case 2:
    put(w, "(");
    put_condition(w, depth + 1);
    put(w, choose(w, 2) ? " && " : " || ");
    put_condition(w, depth + 1);
    put(w, ")");
    break;
  case 3:
    put(w, "!(");
    put_condition(w, depth + 1);
    put(w, ")");
    break;
  case 4:
    PUT_ONE(w, automata);
    put(w, ".");
    PUT_ONE(w, states);
    break;
  case 5: put(w, "q"); break;
  default: put_relation(w, depth); break;
  }
}

typedef enum Where { TOP, STATE, BRANCH, AT, AUTOMATON } Where;

static void put_block(Writer* w, Where where, int depth);

static void put_equation(Writer* w) {
  PUT_ONE(w, labels);
  put_expr(w, choose(w, 3) ? 4 : 2);
  put(w, " = ");
  put_expr(w, 1);
  put(w, ";\n");
}

static void put_init(Writer* w) {
  PUT_ONE(w, names);
  put(w, choose(w, 4) ? "(t0)" : "'(t0)");
  put(w, choose(w, 4) ? " = " : " ~ ");
  put_expr(w, 2);
  put(w, ";\n");
}

static void put_state(Writer* w, int depth) {
  put(w, "state ");
  PUT_ONE(w, states);
  put(w, " ");
  if (choose(w, 8)) put_condition(w, 1);
  if (choose(w, 6) == 1) {
    put(w, " like ");
    PUT_ONE(w, states);
  }
  put(w, " {\n");
  if (choose(w, 4)) put_block(w, STATE, depth + 1);
  put(w, "} from ");
  PUT_ONE(w, states);
  if (choose(w, 2)) {
    put(w, ", ");
    PUT_ONE(w, states);
  }
  put(w, ";\n");
}

static void put_for(Writer* w, Where where, int depth) {
  put(w, choose(w, 3) ? "for i = " : "for j = ");
  PUT_ONE(w, ranges);
  put(w, " {\n");
  put_block(w, where, depth + 1);
  put(w, "}\n");
}

static void put_if(Writer* w, int depth) {
  put(w, "if (");
  put_condition(w, 1);
  put(w, ") {\n");
  put_block(w, BRANCH, depth + 1);
  put(w, "}");
  while (choose(w, 3) == 1) {
    put(w, " else if (");
    put_condition(w, 1);
    put(w, ") {\n");
    put_block(w, BRANCH, depth + 1);
    put(w, "}");
  }
  if (choose(w, 2)) {
    put(w, " else {\n");
    put_block(w, BRANCH, depth + 1);
    put(w, "}");
  }
  put(w, "\n");
}

static void put_at(Writer* w, int depth) {
  put(w, "at ");
  put_expr(w, 4);
  put(w, choose(w, 3) ? " each 0.5 repeat N {\n" : " each k repeat * priority -1 {\n");
  put_block(w, AT, depth + 1);
  put(w, "}\n");
}

static void put_definition(Writer* w, const char* word, const char* const* declared,
                           uint32_t count) {
  put(w, word);
  put_one(w, declared, count);
  put(w, " = ");
  put_expr(w, choose(w, 2) ? 4 : 2);
  put(w, ";\n");
}

static void put_top(Writer* w, int depth) {
  static const char* const constants[] = {"k", "N", "c_[i]", "g", "x"};
  static const char* const macros[] = {"p", "m_[i]", "u"};
  switch (choose(w, 9)) {
  case 0: put_definition(w, "const ", constants, (uint32_t)SLT_COUNT(constants)); break;
  case 1: put_definition(w, "macro ", macros, (uint32_t)SLT_COUNT(macros)); break;
  case 2:
    put(w, "macro q = ");
    put_condition(w, 2);
    put(w, ";\n");
    break;
  case 3: put(w, "data w = \"a.csv\", b;\n"); break;
  case 4:
    put(w, "automaton ");
    PUT_ONE(w, automata);
    put(w, " {\n");
    put_block(w, AUTOMATON, depth + 1);
    put(w, "}\n");
    break;
  case 5: put(w, "x { nominal = k; select = avoid; }\n"); break;
  case 6: put(w, "experiment { end = N; out = x, p, k; }\n"); break;
  case 7:
    put(w, "energy = ");
    put_expr(w, 2);
    put(w, ";\n");
    break;
  default: put_at(w, depth); break;
  }
}

static void put_statement(Writer* w, Where where, int depth) {
  uint32_t kind = choose(w, 8);
  if (where == AUTOMATON || (where == TOP && kind == 7)) {
    put_state(w, depth);
  } else if (kind == 6 && depth < 4) {
    put_for(w, where, depth);
  } else if (where == AT || (where != BRANCH && kind == 5)) {
    put_init(w);
  } else if (kind == 4 && depth < 4) {
    put_if(w, depth);
  } else if (kind == 3 && where != TOP) {
    put(w, choose(w, 2) ? "delete l;\n" : "delete l_[i];\n");
  } else if (kind == 3 || kind == 2) {
    if (where == TOP) {
      put_top(w, depth);
    } else if (where == STATE) {
      put(w, "invariant ");
      put_condition(w, 2);
      put(w, ";\n");
    } else {
      put_equation(w);
    }
  } else {
    put_equation(w);
  }
}

static void put_block(Writer* w, Where where, int depth) {
  uint32_t count = 1 + choose(w, depth ? 3 : 20);
  for (uint32_t i = 0; i < count && w->out.length < 20000; i++) {
    put_statement(w, where, depth);
  }
}

static const char prelude[] =
    "const N = 3, k = 0.5;\n"
    "macro p = x*y;\n"
    "macro q = x > 1;\n"
    "data w = \"a.csv\", b;\n"
    "x' = v; l: v' = -k*x; y = x*x + u; u(t0) = 1; T' = -T;\n"
    "for i = 1:4 { const c_[i] = i; macro m_[i] = c_[i]*x; y[i]a = x_[i]; T[i,1] = i; }\n"
    "for i = 0:4 { x_[i]' = i; }\n"
    "state A [x > 2] { x(t0) = 0; } from init;\n"
    "automaton W { state B [x < 0] from init; state C [x > 0] { l: v' = 1; } from B; }\n";

static const char large_prelude[] =
    "const N = 3, k = 0.5;\n"
    "macro p = x*y;\n"
    "macro q = x > 1;\n"
    "x' = v; l: v' = -k*x; y = x*x + u; u(t0) = 1; T' = -T;\n"
    "for i = 1:4 { macro m_[i] = k*x; y[i]a = x_[i]; }\n"
    "for i = 0:N+1 { x_[i]' = i; }\n"
    "for i = 1:N { T[i,1] = x_[i-1]; }\n"
    "state A [x > 2] { x(t0) = 0; } from init;\n"
    "automaton W { state B [x < 0] from init; state C [x > 0] { l: v' = 1; } from B; }\n";

static Str model_from(Arena* arena, const uint8_t* data, size_t size, bool large) {
  Writer w = {.data = data, .size = size, .out = {.arena = arena}};
  bool declared = choose(&w, 2);  // most names have a meaning
  bool looped = choose(&w, 2);
  if (declared) put(&w, large ? large_prelude : prelude);
  if (looped) put(&w, large ? "for i = 1:N { for j = 1:1 {\n" : "for i = 1:2 { for j = 1:1 {\n");
  put_block(&w, TOP, looped ? 1 : 0);
  if (looped) put(&w, "} }\n");
  return text_str(&w.out);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 1 << 16) return 0;
  Arena arena;
  jmp_buf oom;
  arena_init(&arena, NULL, &oom);
  if (setjmp(oom)) return 0;
  bool large = size && data[0] == '?';
  bool choices = size && (data[0] == '!' || large);
  Str text = {(const char*)data, (uint32_t)size};
  if (choices) text = model_from(&arena, data + 1, size - 1, large);
  Str first = compile(&arena, text, large ? 200.0 : 3.0, large ? 1 : 0);
  Str second = compile(&arena, text, large ? 200.0 : 3.0, large ? UINT32_MAX : 0);
  CHECK(str_equal(first, second));
  arena_free(&arena);
  return 0;
}

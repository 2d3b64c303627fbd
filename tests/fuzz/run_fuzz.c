// SPDX-License-Identifier: MIT
//
// LISMA text to trajectory: a short run of whatever compiles. Nothing crashes, all memory is given
// back even when it runs out, time never goes back, a run that fails says why, and a run that is
// advanced in pieces, put back to a snapshot in between, gives the same values as one that is not.
//
// Bytes changed at random hardly ever make a model that compiles, so that inputs are changed here
// by lines, names, numbers and operators.
#include <saltus/saltus.h>

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_MAX ((size_t)64 << 20)
#define T_END      1.0

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static void require(bool condition) {
  if (!condition) abort();
}

/// Memory with an end, so that a loop of a million instances is refused and not waited for.
static void* limited_realloc(void* user, void* pointer, size_t old_size, size_t size) {
  size_t* used = user;
  require(*used >= old_size && (pointer || old_size == 0));
  if (size == 0) {
    free(pointer);
    *used -= old_size;
    return NULL;
  }
  if (size > old_size && size - old_size > MEMORY_MAX - *used) return NULL;
  void* grown = realloc(pointer, size);
  if (grown) *used = *used - old_size + size;
  return grown;
}

static SltStatus load(void* user, const char* name, const SltAllocator* allocator, char** content,
                      size_t* length) {
  static const char table[] = "t,a,b\n0,1,2\n0.25,2,3\n0.5,0,1\n4,4,4\n";
  (void)user;
  if (name[0] == '\0') return SLT_ERR_NOT_FOUND;
  *length = sizeof table - 1;
  *content = allocator->realloc_fn(allocator->user, NULL, 0, *length);
  if (!*content) return SLT_ERR_NOMEM;
  memcpy(*content, table, *length);
  return SLT_OK;
}

static void on_diagnostic(void* user, const SltDiagnostic* diagnostic) {
  unsigned* errors = user;
  require(diagnostic->message[0] != '\0' && diagnostic->rendered[0] != '\0');
  require(strcmp(diagnostic->code, "E0799") != 0);
  *errors += diagnostic->severity == SLT_ERROR;
}

static void on_event(void* user, const SltEvent* event) {
  double* last = user;
  require(event->t >= *last);
  *last = event->t;
}

/// How far a run came.
typedef struct Outcome {
  SltStatus status;
  double t;
  double* values;
  uint32_t count;
} Outcome;

static void check_error(SltSim* sim, SltStatus status) {
  SltRunError error = slt_sim_error(sim);
  require(error.status == status);
  require(error.code && error.message && error.message[0] != '\0');
  require(error.rendered && error.rendered[0] != '\0');
}

/// Advance to `t_stop` through all instants.
static SltStatus advance(SltSim* sim, double t_stop) {
  SltStatus status = SLT_EVENT;
  while (status == SLT_EVENT) {
    double before = slt_sim_time(sim);
    double reached = -1.0;
    status = slt_sim_advance(sim, t_stop, &reached);
    require(reached >= before && reached <= t_stop && reached == slt_sim_time(sim));
  }
  return status;
}

/// Go to a point, save, go on, come back.
static SltStatus wander(SltSim* sim) {
  SltStatus status = advance(sim, 0.3 * T_END);
  if (status != SLT_OK) return status;
  size_t size = slt_sim_snapshot_size(sim);
  void* saved = malloc(size);
  if (!saved) abort();
  require(slt_sim_snapshot_save(sim, saved, size) == SLT_OK);
  advance(sim, 0.55 * T_END);
  require(slt_sim_snapshot_restore(sim, saved, size) == SLT_OK);
  free(saved);
  return advance(sim, 0.8 * T_END);
}

static Outcome run(const SltModel* model, const SltSimOptions* options, bool pieces) {
  Outcome outcome = {.status = SLT_OK};
  SltSim* sim = NULL;
  outcome.status = slt_sim_create(model, options, &sim);
  require((outcome.status >= 0) == (sim != NULL));
  if (!sim) return outcome;
  double last = -HUGE_VAL;
  if (!pieces) slt_sim_on_event(sim, on_event, &last);
  outcome.status = slt_sim_start(sim);
  if (outcome.status == SLT_OK && pieces) outcome.status = wander(sim);
  if (outcome.status == SLT_OK) outcome.status = advance(sim, T_END);
  if (outcome.status < 0) check_error(sim, outcome.status);
  outcome.t = slt_sim_time(sim);
  outcome.count = slt_sim_column_count(sim);
  outcome.values = malloc((outcome.count + 1) * sizeof *outcome.values);
  if (!outcome.values) abort();
  for (uint32_t i = 0; i < outcome.count; i++) {
    SltQuantity quantity;
    require(slt_sim_find(sim, slt_sim_column_name(sim, i), &quantity) == SLT_OK);
    outcome.values[i] = slt_sim_get(sim, quantity);
  }
  slt_sim_free(sim);
  return outcome;
}

/// -0.0 and 0.0 differ, all NaN are alike.
static bool same(double a, double b) {
  return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static void compare(const Outcome* a, const Outcome* b) {
  // the limits count what is done, and coming back does some of it twice
  if (a->status == SLT_ERR_LIMIT || b->status == SLT_ERR_LIMIT) return;
  require(a->status == b->status);
  require(same(a->t, b->t));
  if (a->status < 0) return;
  require(a->count == b->count);
  for (uint32_t i = 0; i < a->count; i++) {
    require(same(a->values[i], b->values[i]));
  }
}

static void run_model(const SltModel* model, const SltAllocator* allocator) {
  SltSimOptions options = slt_sim_options();
  options.allocator = *allocator;
  options.t_start = 0.0;
  options.max_steps = 200;
  options.max_events = 100;
  Outcome whole = run(model, &options, false);
  Outcome pieces = run(model, &options, true);
  compare(&whole, &pieces);
  free(whole.values);
  free(pieces.values);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 1 << 14) return 0;
  size_t used = 0;
  unsigned errors = 0;
  SltCompileOptions options = slt_compile_options();
  options.allocator = (SltAllocator){.realloc_fn = limited_realloc, .user = &used};
  options.on_diagnostic = on_diagnostic;
  options.user = &errors;
  options.load = load;
  SltModel* model = NULL;
  SltStatus status = slt_model_compile("fuzz.lisma", (const char*)data, size, &options, &model);
  require((status >= 0) == (model != NULL));
  require(status < 0 || errors == 0);
  require(status == SLT_ERR_NOMEM || status >= 0 || errors > 0);
  if (model) run_model(model, &options.allocator);
  slt_model_free(model);
  require(used == 0);
  return 0;
}

// ---- changing inputs ----------------------------------------------------------------------------

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t* a, size_t a_size, const uint8_t* b, size_t b_size,
                                 uint8_t* out, size_t max_out, unsigned seed);
// libFuzzer has it, the program that replays inputs has not
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

typedef struct Edit {
  char* data;
  size_t size, max_size;
  uint32_t random;
} Edit;

/// A part of the text.
typedef struct Part {
  size_t begin, end;
} Part;

static uint32_t choose(Edit* edit, size_t count) {
  edit->random = edit->random * 1664525u + 1013904223u;
  return count ? (uint32_t)((edit->random >> 8) % count) : 0;
}

/// Put `text` in the place of a part, if there is room.
static void replace(Edit* edit, Part part, const char* text, size_t length) {
  size_t rest = edit->size - part.end;
  if (part.begin + length + rest > edit->max_size) return;
  memmove(edit->data + part.begin + length, edit->data + part.end, rest);
  memcpy(edit->data + part.begin, text, length);
  edit->size = part.begin + length + rest;
}

static bool is_word(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/// The word, number or sign at or behind a place; empty at the end.
static Part token_at(const Edit* edit, size_t at) {
  while (at > 0 && at < edit->size && is_word(edit->data[at]) && is_word(edit->data[at - 1]))
    at--;
  while (at < edit->size && isspace((unsigned char)edit->data[at]))
    at++;
  size_t end = at;
  while (end < edit->size && is_word(edit->data[end]))
    end++;
  if (end == at && end < edit->size) end++;
  static const char* const pairs[] = {"<=", ">=", "==", "!=", "&&", "||"};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    if (at + 2 <= edit->size && memcmp(edit->data + at, pairs[i], 2) == 0) end = at + 2;
  }
  return (Part){at, end};
}

static Part line_at(const Edit* edit, size_t at) {
  Part line = {at, at};
  while (line.begin > 0 && edit->data[line.begin - 1] != '\n')
    line.begin--;
  while (line.end < edit->size && edit->data[line.end++] != '\n')
    ;
  return line;
}

static void replace_by_one(Edit* edit, Part part, const char* const* texts, size_t count) {
  const char* text = texts[choose(edit, count)];
  replace(edit, part, text, strlen(text));
}

#define REPLACE_BY_ONE(edit, part, texts) \
  replace_by_one((edit), (part), (texts), sizeof(texts) / sizeof *(texts))

static void replace_by_copy(Edit* edit, Part place, Part what) {
  char copy[256];
  size_t length = what.end - what.begin;
  if (length > sizeof copy) return;
  memcpy(copy, edit->data + what.begin, length);
  replace(edit, place, copy, length);
}

static void change_token(Edit* edit) {
  static const char* const numbers[] = {"0",    "1",     "2",   "0.5",  "0.1", "0.25",
                                        "1e-6", "1e-9",  "1e9", "1e-3", "100", "1e-12",
                                        "0.3",  "1e300", "3",   "10",   "7",   "1e-300"};
  static const char* const operators[] = {"+", "-", "*", "/", "^"};
  static const char* const relations[] = {"<", "<=", ">", ">=", "==", "!="};
  static const char* const logic[] = {"&&", "||"};
  static const char* const words[] = {
      "time", "sin(time)", "sqrt",    "exp",        "abs",         "sign",        "floor",
      "ln",   "pre",       "noEvent", "unilateral", "shortliving", "bilateral",   "init",
      "min",  "max",       "mod",     "tan",        "asin",        "uniform(0,1)"};
  Part token = token_at(edit, choose(edit, edit->size));
  if (token.begin == token.end) return;
  char c = edit->data[token.begin];
  if (isdigit((unsigned char)c)) {
    REPLACE_BY_ONE(edit, token, numbers);
  } else if (is_word(c)) {
    Part other = token_at(edit, choose(edit, edit->size));
    if (choose(edit, 8) == 0) {
      REPLACE_BY_ONE(edit, token, words);
    } else if (other.begin < other.end && is_word(edit->data[other.begin])) {
      replace_by_copy(edit, token, other);
    }
  } else if (strchr("+-*/^", c)) {
    REPLACE_BY_ONE(edit, token, operators);
  } else if (strchr("<>", c) || (token.end - token.begin == 2 && strchr("=!", c))) {
    REPLACE_BY_ONE(edit, token, relations);
  } else if (strchr("&|", c)) {
    REPLACE_BY_ONE(edit, token, logic);
  } else if (c == ';' && choose(edit, 2)) {
    static const char* const ends[] = {" + time;", "*x;", " - x;", "/x;"};
    REPLACE_BY_ONE(edit, token, ends);
  }
}

static void change_line(Edit* edit) {
  static const char* const lines[] = {
      "z' = 1;\n",
      "at 0.3 { set x = x + 1; }\n",
      "at 0.1 each 0.1 repeat * { set x = -x; }\n",
      "z' = -z; z(t0) = 1;\n",
      "state s1 [x > 0.5] { x' = -1; } from init;\n",
      "state s2 [x < 0.25] { set x = 0.5; } from s1, s2;\n",
      "automaton Q { state on [x >= 0.5] { invariant x <= 2; } from init; }\n",
      "w*w + x*x = 1;\n",
      "w + sin(w) = x;\n",
      "experiment { rtol = 1e-3; }\n",
      "experiment { method = rk4; step = 0.01; }\n"};
  Part line = line_at(edit, choose(edit, edit->size));
  Part other = line_at(edit, choose(edit, edit->size));
  switch (choose(edit, 4)) {
  case 0: replace(edit, line, "", 0); break;
  case 1: REPLACE_BY_ONE(edit, ((Part){line.begin, line.begin}), lines); break;
  case 2: replace_by_copy(edit, (Part){line.begin, line.begin}, other); break;
  default: replace_by_copy(edit, line, other); break;
  }
}

static bool compiles(const Edit* edit) {
  SltModel* model = NULL;
  SltCompileOptions options = slt_compile_options();
  options.load = load;
  slt_model_compile("fuzz.lisma", edit->data, edit->size, &options, &model);
  slt_model_free(model);
  return model != NULL;
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  Edit edit = {.data = (char*)data, .size = size, .max_size = max_size, .random = seed};
  choose(&edit, 1);
  if (LLVMFuzzerMutate && choose(&edit, 32) == 0) return LLVMFuzzerMutate(data, size, max_size);
  char* original = malloc(size + 1);
  if (!original) return size;
  memcpy(original, data, size);
  for (int trial = 0; trial < 10; trial++) {
    for (uint32_t n = 1 + choose(&edit, 3); n > 0; n--) {
      if (choose(&edit, 5) == 0) {
        change_line(&edit);
      } else {
        change_token(&edit);
      }
    }
    if (compiles(&edit)) break;
    memcpy(data, original, size);
    edit.size = size;
  }
  free(original);
  return edit.size;
}

/// A few lines of b go between two lines of a.
size_t LLVMFuzzerCustomCrossOver(const uint8_t* a, size_t a_size, const uint8_t* b, size_t b_size,
                                 uint8_t* out, size_t max_out, unsigned seed) {
  if (a_size > max_out) return 0;
  memcpy(out, a, a_size);
  Edit edit = {.data = (char*)out, .size = a_size, .max_size = max_out, .random = seed};
  choose(&edit, 1);
  Edit second = {.data = (char*)(uintptr_t)b, .size = b_size};
  Part from = line_at(&second, choose(&edit, b_size));
  Part more = line_at(&second, choose(&edit, b_size));
  if (more.begin >= from.end && choose(&edit, 2)) from.end = more.end;
  size_t place = line_at(&edit, choose(&edit, a_size)).begin;
  replace(&edit, (Part){place, place}, (const char*)b + from.begin, from.end - from.begin);
  return compiles(&edit) ? edit.size : 0;
}

// SPDX-License-Identifier: MIT
//
// `saltus diff A B`: what differs between two models, whatever their layout, comments and order.
#define _POSIX_C_SOURCE 200809L
#include "run.h"

#include <stdlib.h>
#include <string.h>

/// A line of a model's intermediate representation with the headings above it.
typedef struct Fact {
  char* place;  // "equations, main.rest"
  char* text;
} Fact;

typedef struct Facts {
  Fact* items;
  size_t count;
} Facts;

static SltStatus file_write(void* user, const char* data, size_t length) {
  return fwrite(data, 1, length, user) == length ? SLT_OK : SLT_ERR_IO;
}

static bool add_fact(Facts* facts, const char* const* path, size_t depth) {
  Fact* grown = realloc(facts->items, (facts->count + 1) * sizeof *grown);
  if (!grown) return false;
  facts->items = grown;
  ReportText place = {0};
  if (!text_open(&place)) return false;
  for (size_t i = 0; i < depth; i++)
    fprintf(place.file, "%s%s", i ? ", " : "", path[i]);
  fflush(place.file);
  grown[facts->count++] = (Fact){strdup(place.data), strdup(path[depth])};
  text_clear(&place);
  return grown[facts->count - 1].place && grown[facts->count - 1].text;
}

/// Numbers of an animation are macros that no model can name; which of them they are follows from
/// what else is there.
static bool is_number_of_drawing(const char* text) {
  return strncmp(text + (text[0] == '`'), "{drawing ", 9) == 0;
}

/// Leave out what every relation has, or what follows from the rest; its heading in the users'
/// word.
static char* plain_words(char* line) {
  static const char* const left_out[] = {", critical", ", bipolar", ", continuous"};
  for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
    char* found = strstr(line, left_out[i]);
    size_t length = strlen(left_out[i]);
    if (found) memmove(found, found + length, strlen(found + length) + 1);
  }
  char* called = strstr(line, ", called ");
  if (called) *called = '\0';
  return strcmp(line, "atoms") == 0 ? "relations" : line;
}

/// Indentation of the text says what belongs to what.
static bool take_facts(char* text, Facts* facts) {
  enum { DEPTH = 8 };
  const char* path[DEPTH] = {NULL};
  for (char* line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    size_t indent = strspn(line, " ");
    size_t depth = indent / 2 < DEPTH ? indent / 2 : DEPTH - 1;
    char* line_of = strstr(line, ", written ");  // how a relation is spelt makes no difference
    if (line_of) *line_of = '\0';
    path[depth] = plain_words(line + indent);
    if (is_number_of_drawing(path[depth])) {
      const char* value = strstr(path[depth], " = ");
      const char* drawn[] = {"animate", value ? value + 3 : path[depth]};
      if (!add_fact(facts, drawn, 1)) return false;
      continue;
    }
    if (depth > 0 && !add_fact(facts, path, depth)) return false;
  }
  return true;
}

static int compare_facts(const void* a, const void* b) {
  const Fact* x = a;
  const Fact* y = b;
  int place = strcmp(x->place, y->place);
  return place ? place : strcmp(x->text, y->text);
}

static int read_facts(const char* path, Facts* facts) {
  ModelSource source = {0};
  uint32_t warnings = 0;
  SltModel* model = source_open(&source, path) ? model_load(&source, NULL, &warnings) : NULL;
  ReportText text = {0};
  int exit = CLI_MODEL;
  if (model && text_open(&text)) {
    SltStatus status = slt_model_explain(model, SLT_EXPLAIN_IR, (SltWriter){file_write, text.file});
    fflush(text.file);
    exit = status >= 0 && take_facts(text.data, facts) ? CLI_DONE : CLI_RUN;
    if (facts->items) qsort(facts->items, facts->count, sizeof *facts->items, compare_facts);
  }
  text_clear(&text);
  slt_model_free(model);
  source_close(&source);
  return exit;
}

static void clear_facts(Facts* facts) {
  for (size_t i = 0; i < facts->count; i++) {
    free(facts->items[i].place);
    free(facts->items[i].text);
  }
  free(facts->items);
}

static void print_fact(const Fact* fact, char sign, const char** place) {
  if (!*place || strcmp(*place, fact->place) != 0) cli_print(stdout, "%s\n", fact->place);
  *place = fact->place;
  cli_print(stdout, "  %c %s\n", sign, fact->text);
}

/// The first fact behind those of the same place.
static size_t place_end(const Facts* facts, size_t at, const char* place) {
  while (at < facts->count && strcmp(facts->items[at].place, place) == 0)
    at++;
  return at;
}

/// Facts of `a` from `i` on that `b` lacks from `j` on; both are in order and of one place.
static void print_lacking(const Facts* a, size_t i, size_t a_end, const Facts* b, size_t j,
                          size_t b_end, char sign, const char** place) {
  while (i < a_end) {
    int order = j == b_end ? -1 : compare_facts(&a->items[i], &b->items[j]);
    if (order < 0) print_fact(&a->items[i], sign, place);
    i += order <= 0;
    j += order >= 0;
  }
}

/// Place by place, first what is gone, then what is new.
static bool print_differences(const Facts* a, const Facts* b) {
  const char* place = NULL;
  size_t i = 0;
  size_t j = 0;
  while (i < a->count || j < b->count) {
    bool from_a =
        j == b->count || (i < a->count && strcmp(a->items[i].place, b->items[j].place) <= 0);
    const char* here = from_a ? a->items[i].place : b->items[j].place;
    size_t a_end = place_end(a, i, here);
    size_t b_end = place_end(b, j, here);
    print_lacking(a, i, a_end, b, j, b_end, '-', &place);
    print_lacking(b, j, b_end, a, i, a_end, '+', &place);
    i = a_end;
    j = b_end;
  }
  return place != NULL;
}

int command_diff(int argc, char** argv) {
  OptionParser parser = {.command = "diff", .argc = argc, .argv = argv};
  const char* paths[2] = {NULL, NULL};
  size_t count = 0;
  for (int option = 0; (option = option_next(&parser)) != OPTION_END;) {
    if (option == OPTION_BAD) return CLI_USAGE;
    if (count < 2) paths[count] = parser.value;
    count++;
  }
  if (count != 2) {
    cli_error("diff needs two models");
    cli_hint("saltus diff OLD.lisma NEW.lisma");
    return CLI_USAGE;
  }
  Facts facts[2] = {{0}, {0}};
  int exit = read_facts(paths[0], &facts[0]);
  if (exit == CLI_DONE) exit = read_facts(paths[1], &facts[1]);
  if (exit == CLI_DONE && print_differences(&facts[0], &facts[1])) exit = CLI_MODEL;
  clear_facts(&facts[0]);
  clear_facts(&facts[1]);
  return exit;
}

// ---- names --------------------------------------------------------------------------------------

static SltStatus print_name(void* user, const SltName* name) {
  static const char* const kinds[] = {"variable", "derivative", "constant",
                                      "macro",    "automaton",  "time"};
  const char* wanted = user;
  size_t kind = (size_t)name->quantity.kind;
  if (kind >= sizeof kinds / sizeof *kinds) return SLT_OK;
  if (!wanted) cli_print(stdout, "%-10s %s\n", kinds[kind], name->name);
  if (wanted && strncmp(wanted, kinds[kind], strlen(kinds[kind])) == 0)
    cli_print(stdout, "%s\n", name->name);
  return SLT_OK;
}

int command_names(int argc, char** argv) {
  OptionParser parser = {.command = "names", .argc = argc, .argv = argv};
  const char* words[2] = {NULL, NULL};
  size_t count = 0;
  for (int option = 0; (option = option_next(&parser)) != OPTION_END;) {
    if (option == OPTION_BAD) return CLI_USAGE;
    if (count < 2) words[count] = parser.value;
    count++;
  }
  if (count < 1 || count > 2) {
    cli_error("names needs a model");
    cli_hint("saltus names MODEL.lisma [variables|constants|macros|automata]");
    return CLI_USAGE;
  }
  static const char* const lists[] = {"variables", "constants", "macros", "automata"};
  if (words[1] && option_choice("names", words[1], lists, 4) < 0) return CLI_USAGE;
  const char* wanted = words[1] && strcmp(words[1], "automata") == 0 ? "automaton" : words[1];
  ModelSource source = {0};
  uint32_t warnings = 0;
  SltModel* model = source_open(&source, words[0]) ? model_load(&source, NULL, &warnings) : NULL;
  int exit = model ? CLI_DONE : CLI_MODEL;
  if (model && slt_model_names(model, print_name, (void*)wanted) < 0) exit = CLI_RUN;
  slt_model_free(model);
  source_close(&source);
  return exit;
}

// SPDX-License-Identifier: MIT
//
// What --out names beside quantities: patterns (`room*.T`), expressions (`T - 273.15`), and
// expressions of patterns. An expression becomes a macro of the model, whose name is its text.
#define _POSIX_C_SOURCE 200809L  // strndup()
#include "run.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct OutNames {
  CliNames* out;
  const char* pattern;
  uint32_t found;
  bool failed;
} OutNames;

static SltStatus match_name(void* user, const SltName* name) {
  OutNames* names = user;
  bool state = name->quantity.kind == SLT_KIND_MODE;
  if (name->quantity.kind != SLT_KIND_VARIABLE && name->quantity.kind != SLT_KIND_MACRO && !state) {
    return SLT_OK;
  }
  size_t length = strlen(names->pattern);
  static const char ending[] = ".state";
  size_t tail = sizeof ending - 1;
  if (state && (length <= tail || strcmp(names->pattern + length - tail, ending) != 0))
    return SLT_OK;
  char pattern[256];
  snprintf(pattern, sizeof pattern, "%.*s", (int)(state ? length - tail : length), names->pattern);
  if (!slt_name_matches(pattern, name->name)) return SLT_OK;
  names->found++;
  char* column = malloc(strlen(name->name) + sizeof ending);
  if (column) sprintf(column, "%s%s", name->name, state ? ending : "");
  names->failed = column ? !cli_names_keep(names->out, column) : out_of_memory() != CLI_DONE;
  free(column);
  return names->failed ? SLT_ERR_NOMEM : SLT_OK;
}

typedef struct NameSearch {
  const char* name;
  bool found;
} NameSearch;

static SltStatus look_for_name(void* user, const SltName* name) {
  NameSearch* search = user;
  search->found |= strcmp(search->name, name->name) == 0;
  return SLT_OK;
}

static bool has_name(const SltModel* model, const char* name) {
  NameSearch search = {.name = name};
  slt_model_names(model, look_for_name, &search);
  return search.found;
}

/// The first star from `from` on that is no product: of `room*.T`, `room[*].T`, `*x`, `T*`; NULL if
/// there is none.
static const char* find_wildcard(const char* text, const char* from) {
  for (const char* star = strchr(from, '*'); star; star = strchr(star + 1, '*')) {
    bool begins = star == text || star[-1] == '.' || star[-1] == '[';
    if (begins || star[1] == '.' || star[1] == '\0') return star;
  }
  return NULL;
}

/// An operator or a call; names of a model may hold them too, and come first.
static bool is_formula(const char* text) {
  if (find_wildcard(text, text)) return false;
  bool word = strncmp(text, "not ", 4) == 0 || strstr(text, " and ") || strstr(text, " or ");
  return (word || strpbrk(text, "+-*/^(<>=!&|")) && !strchr(text, '`') && !strstr(text, " in ");
}

/// Whether a text as a whole means names of the model.
static bool is_pattern(const SltModel* model, const char* text) {
  CliNames found = {0};
  OutNames names = {.out = &found, .pattern = text};
  slt_model_names(model, match_name, &names);
  cli_names_clear(&found);
  return names.found > 0;
}

static bool is_of_name(char c) {
  return isalnum((unsigned char)c) || (unsigned char)c >= 0x80 || (c && strchr("_.[]?", c));
}

/// The item with each name that its pattern means in place of the pattern.
static bool spread_item(const SltModel* model, const char* item, const char* star, CliNames* out) {
  const char* begin = star;
  const char* end = star + 1;
  while (begin > item && is_of_name(begin[-1]))
    begin--;
  while (is_of_name(*end))
    end++;
  if (find_wildcard(item, end)) return cli_names_keep(out, item);  // which of two belong together?
  CliNames found = {0};
  char* pattern = strndup(begin, (size_t)(end - begin));
  OutNames names = {.out = &found, .pattern = pattern, .failed = !pattern};
  if (pattern) slt_model_names(model, match_name, &names);
  bool good = !names.failed && (names.found > 0 || cli_names_keep(out, item));
  for (uint32_t i = 0; good && i < found.count; i++) {
    size_t size = strlen(item) + strlen(found.items[i]) + 1;
    char* one = malloc(size);
    if (one) snprintf(one, size, "%.*s%s%s", (int)(begin - item), item, found.items[i], end);
    good = one ? cli_names_keep(out, one) : out_of_memory() == CLI_DONE;
    free(one);
  }
  cli_names_clear(&found);
  free(pattern);
  return good;
}

bool out_spread(const SltModel* model, const CliNames* asked, CliNames* out) {
  for (uint32_t i = 0; i < asked->count; i++) {
    const char* item = asked->items[i];
    const char* star = strchr(item, '`') ? NULL : find_wildcard(item, item);
    if (star && (has_name(model, item) || is_pattern(model, item))) star = NULL;
    bool good = star ? spread_item(model, item, star, out) : cli_names_keep(out, item);
    if (!good) return false;
  }
  return true;
}

bool out_expand(const SltModel* model, const CliNames* asked, CliNames* out) {
  for (uint32_t i = 0; i < asked->count; i++) {
    const char* name = asked->items[i];
    OutNames names = {.out = out, .pattern = name};
    bool pattern = strpbrk(name, "*?") != NULL && !has_name(model, name);
    if (pattern) slt_model_names(model, match_name, &names);
    if (names.failed) return false;
    if (names.found == 0 && !cli_names_keep(out, name)) return false;
  }
  return true;
}

/// Whether an item of --out is neither a name nor a pattern of names, but can be computed.
static bool is_expression(const SltModel* model, const char* text) {
  return is_formula(text) && !has_name(model, text) && !is_pattern(model, text);
}

/// Whether an item of --out that the model does not have may be a condition of it.
static bool may_be_condition(const SltModel* model, const char* text) {
  return !strpbrk(text, "'.*?") && !strstr(text, " in ") && !has_name(model, text);
}

bool out_may_observe(const SltModel* model, const CliNames* asked) {
  for (uint32_t i = 0; i < asked->count; i++) {
    if (may_be_condition(model, asked->items[i])) return true;
  }
  return false;
}

bool out_add_macros(const SltModel* model, const CliNames* asked, ModelSource* source) {
  for (uint32_t i = 0; i < asked->count && source->text; i++) {
    const char* text = asked->items[i];
    if (!is_expression(model, text)) continue;
    size_t room = source->length + 2 * strlen(text) + 32;
    char* grown = realloc(source->text, room);
    if (!grown) return out_of_memory() == CLI_DONE;
    source->text = grown;
    source->length += (size_t)snprintf(grown + source->length, room - source->length,
                                       "\nmacro `%s` = %s;\n", text, text);
  }
  return true;
}

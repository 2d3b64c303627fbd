// SPDX-License-Identifier: MIT
//
// The description of an FMU against what the standards say about it, as far as importers rely on
// it: which variables may be what, which need start values, and what the lists refer to.
#include "rules.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Rules {
  const FmuDescription* d;
  FmuRuleFn* found;
  void* user;
  uint32_t count;
} Rules;

__attribute__((format(printf, 2, 3))) static void tell(Rules* r, const char* format, ...) {
  char text[600];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  r->count++;
  r->found(r->user, text);
}

static bool is_one_of(const char* word, const char* words) {
  size_t length = strlen(word);
  for (const char* at = length ? strstr(words, word) : NULL; at; at = strstr(at + 1, word)) {
    bool begins = at == words || at[-1] == ' ';
    if (begins && (at[length] == ' ' || at[length] == '\0')) return true;
  }
  return false;
}

/// Variabilities that a causality may go with.
static const char* variabilities(const FmuItem* item) {
  if (item->parameter) return "fixed tunable";
  if (item->input) return "discrete continuous";
  if (item->output) return "constant discrete continuous";
  if (item->independent) return "continuous";
  return "constant fixed tunable discrete continuous";
}

/// Whether a value has to stand in the description.
static bool needs_start(const FmuItem* item) {
  bool calculated = strcmp(item->causality, "calculatedParameter") == 0;
  return item->input || (item->parameter && !calculated) ||
         strcmp(item->variability, "constant") == 0 || is_one_of(item->initial, "exact approx");
}

static void check_variable(Rules* r, const FmuItem* item) {
  if (item->element > 0) return;  // said of the first one
  if (!item->name[0]) tell(r, "the variable with reference %u has no name", item->reference);
  if (!is_one_of(item->causality, "parameter calculatedParameter structuralParameter input output "
                                  "local independent")) {
    tell(r, "%s: there is no causality '%s'", item->name, item->causality);
    return;
  }
  if (!is_one_of(item->variability, variabilities(item))) {
    tell(r, "%s: causality '%s' does not go with variability '%s'", item->name, item->causality,
         item->variability);
  }
  if (item->initial[0] && !is_one_of(item->initial, "exact approx calculated"))
    tell(r, "%s: there is no initial '%s'", item->name, item->initial);
  if (item->initial[0] && (item->input || item->independent) && r->d->version == 2)
    tell(r, "%s: causality '%s' has no initial", item->name, item->causality);
  if (item->type != FMU_REAL && strcmp(item->variability, "continuous") == 0 && item->said)
    tell(r, "%s: only real variables are continuous", item->name);
  if (needs_start(item) && !item->has_start) tell(r, "%s: it needs a start value", item->name);
  if (item->independent && item->has_start)
    tell(r, "%s: the independent variable has no start value", item->name);
}

static int by_name(const void* a, const void* b) {
  return strcmp((*(const FmuItem* const*)a)->name, (*(const FmuItem* const*)b)->name);
}

static int by_reference(const void* a, const void* b) {
  uint32_t x = (*(const FmuItem* const*)a)->reference;
  uint32_t y = (*(const FmuItem* const*)b)->reference;
  return (x > y) - (x < y);
}

static void check_unique(Rules* r) {
  const FmuDescription* d = r->d;
  const FmuItem** items = calloc((size_t)d->count + 1, sizeof *items);
  if (!items) return;
  for (uint32_t i = 0; i < d->count; i++)
    items[i] = &d->items[i];
  qsort((void*)items, d->count, sizeof *items, by_name);
  for (uint32_t i = 1; i < d->count; i++) {
    if (by_name(&items[i - 1], &items[i]) == 0)
      tell(r, "the name %s stands for two variables", items[i]->name);
  }
  // version 2 has aliases
  qsort((void*)items, d->count, sizeof *items, by_reference);
  for (uint32_t i = 1; i < d->count && d->version == 3; i++) {
    bool one = items[i - 1] - items[i - 1]->element == items[i] - items[i]->element;
    if (by_reference(&items[i - 1], &items[i]) == 0 && !one) {
      tell(r, "%s and %s have the same value reference %u", items[i - 1]->name, items[i]->name,
           items[i]->reference);
    }
  }
  free((void*)items);
}

static int by_number(const void* a, const void* b) {
  uint32_t x = *(const uint32_t*)a;
  uint32_t y = *(const uint32_t*)b;
  return (x > y) - (x < y);
}

static void check_structure(Rules* r) {
  const FmuDescription* d = r->d;
  // by their numbers in version 2, else by their references
  uint32_t* listed = calloc((size_t)d->output_count + 1, sizeof *listed);
  if (!listed) return;
  for (uint32_t i = 0; i < d->output_count; i++)
    listed[i] = d->outputs[i];
  qsort(listed, d->output_count, sizeof *listed, by_number);
  for (uint32_t i = 0; i < d->count; i++) {
    uint32_t key = d->version == 2 ? i + 1 : d->items[i].reference;
    bool found = bsearch(&key, listed, d->output_count, sizeof *listed, by_number) != NULL;
    if (d->items[i].output && !found && d->items[i].element == 0)
      tell(r, "%s: an output that is not among the outputs of ModelStructure", d->items[i].name);
    if (d->version == 2 && d->items[i].derivative > d->count)
      tell(r, "%s: the derivative of a variable that is not there", d->items[i].name);
  }
  free(listed);
  for (uint32_t i = 0; i < d->state_count; i++) {
    if (!d->states[i])
      tell(r, "derivative %u of ModelStructure belongs to no continuous state", i + 1);
  }
}

uint32_t fmu_rules(const FmuDescription* d, FmuRuleFn* found, void* user) {
  Rules r = {.d = d, .found = found, .user = user};
  uint32_t times = 0;
  if (!d->token[0]) tell(&r, "it has no %s", d->version == 2 ? "GUID" : "instantiation token");
  if (!d->name[0]) tell(&r, "it has no modelName");
  check_unique(&r);
  for (uint32_t i = 0; i < d->count; i++) {
    check_variable(&r, &d->items[i]);
    times += d->items[i].independent;
  }
  if (times > 1 || (times == 0 && d->version == 3))
    tell(&r, "it has %u independent variables instead of one", times);
  check_structure(&r);
  if (!isnan(d->start) && !isnan(d->stop) && d->stop < d->start)
    tell(&r, "its default experiment ends before it begins");
  return r.count;
}

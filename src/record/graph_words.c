// SPDX-License-Identifier: MIT
//
// Guards in words: `unilateral[y <= 0] && v < 0` is "y ≤ 0 and v < 0".
#include "record/graph.h"

#include <string.h>

static Str trimmed(Str s) {
  while (s.length && s.data[0] == ' ')
    s = (Str){s.data + 1, s.length - 1};
  while (s.length && s.data[s.length - 1] == ' ')
    s.length--;
  return s;
}

typedef struct Replacement {
  const char *from, *to;
} Replacement;

/// The first that stands here; NULL: none.
static const Replacement* find_replacement(Str text, uint32_t at) {
  static const Replacement all[] = {
      {"&&", "and"},       {"||", "or"},
      {"<=", "≤"},         {">=", "≥"},
      {"!=", "≠"},         {"!", "not "},
      {"unilateral[", ""}, {"bilateral[", ""},
      {"critical[", ""},   {"shortliving[", ""},
      {"noEvent[", ""},    {"ordinary[", ""},
      {"[", ""},           {"`", ""},
  };
  for (size_t i = 0; i < SLT_COUNT(all); i++) {
    size_t length = strlen(all[i].from);
    if (text.length - at >= length && memcmp(text.data + at, all[i].from, length) == 0)
      return &all[i];
  }
  return NULL;
}

/// Where the index or the guard in brackets that begins here ends.
static bool is_index(Str text, uint32_t at) {
  char before = at ? text.data[at - 1] : ' ';
  return (before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z') || before == '_' ||
         (before >= '0' && before <= '9') || before == ']' || (unsigned char)before >= 0x80;
}

Str graph_words(Str guard, Arena* arena) {
  TextBuffer out = {.arena = arena};
  bool index[64] = {false};  // brackets that are open
  uint32_t depth = 0;
  for (uint32_t i = 0; i < guard.length;) {
    char c = guard.data[i];
    const Replacement* replacement = find_replacement(guard, i);
    bool opens = replacement && strchr(replacement->from, '[');
    if (opens && depth < 64) {
      index[depth] = replacement->from[0] == '[' && is_index(guard, i);
      if (index[depth++]) replacement = NULL;
    }
    if (c == ']' && depth > 0 && !index[--depth]) {
      i++;
      continue;
    }
    if (replacement) {
      text_append_c(&out, replacement->to);
      i += (uint32_t)strlen(replacement->from);
    } else {
      text_append_char(&out, c);
      i++;
    }
  }
  return trimmed(text_str(&out));
}

Str graph_name(Str name) {
  const char* at = name.length ? memchr(name.data, '@', name.length) : NULL;
  return at && at > name.data ? (Str){name.data, (uint32_t)(at - name.data)} : name;
}

/// Whether its name says more than its condition: that of `abs(x)` does, a condition itself does
/// not.
static bool is_named(const GraphSwitch* s, Arena* arena) {
  if (s->name.length <= 3 || memcmp(s->name.data, "if@", 3) == 0) return false;
  return s->name.data[0] != '[' && !str_equal(graph_words(s->name, arena), s->text);
}

Str graph_switch_text(const GraphSwitch* s, bool ran, Arena* arena) {
  TextBuffer text = {.arena = arena};
  if (is_named(s, arena)) text_append_format(&text, "%.*s: ", STR_ARGS(graph_name(s->name)));
  text_append(&text, s->text);
  if (s->alike > 1) text_append_format(&text, ", %u alike", s->alike);
  text_append_format(&text, " (line %u)", s->line);
  if (ran) {
    text_append_format(&text, ": turned %llu time%s", (unsigned long long)s->turned,
                       s->turned == 1 ? "" : "s");
  }
  return text_str(&text);
}

Str graph_switch_name(const GraphSwitch* s, Arena* arena) {
  return is_named(s, arena) ? graph_name(s->name) : s->text;
}

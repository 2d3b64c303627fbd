// SPDX-License-Identifier: MIT
//
// "Did you mean": the known name that is most like an unknown one.
#include "lisma/lower.h"

#include <string.h>

#define NEAR_CANDIDATES_MAX 200000u  // names compared for one message

/// Best candidate so far.
typedef struct Nearest {
  Str wanted;
  Str best;
  uint32_t distance;  // of `best`
} Nearest;

static uint32_t letter_lower(uint32_t c) {
  if (c >= 'A' && c <= 'Z') return c + ('a' - 'A');
  if (c >= 0x410 && c <= 0x42f) return c + 0x20;
  return c;
}

static bool equal_but_for_case(Str a, Str b) {
  uint32_t i = 0;
  uint32_t k = 0;
  while (i < a.length && k < b.length) {
    uint32_t code_a = 0;
    uint32_t code_b = 0;
    uint32_t size_a = utf8_decode(a.data + i, a.length - i, &code_a);
    uint32_t size_b = utf8_decode(b.data + k, b.length - k, &code_b);
    if (size_a == 0 || size_b == 0 || letter_lower(code_a) != letter_lower(code_b)) return false;
    i += size_a;
    k += size_b;
  }
  return i == a.length && k == b.length;
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// x_3 and x_17: most likely a matter of indices and not of spelling.
static bool differ_in_digits(Str a, Str b) {
  uint32_t i = 0;
  uint32_t k = 0;
  bool digits = false;
  for (;;) {
    while (i < a.length && is_digit(a.data[i])) {
      digits = true;
      i++;
    }
    while (k < b.length && is_digit(b.data[k])) {
      k++;
    }
    if (i == a.length || k == b.length) return digits && i == a.length && k == b.length;
    if (a.data[i++] != b.data[k++]) return false;
  }
}

static bool has_prefix(Str a, Str b) {
  uint32_t length = a.length < b.length ? a.length : b.length;
  return str_equal((Str){a.data, length}, (Str){b.data, length});
}

static void consider(Nearest* n, Str candidate) {
  if (candidate.length == 0 || str_equal(candidate, n->wanted)) return;
  uint32_t longer = candidate.length > n->wanted.length ? candidate.length : n->wanted.length;
  uint32_t limit = longer < 9 ? longer / 3 : 3;
  uint32_t distance = limit + 1;
  if (equal_but_for_case(candidate, n->wanted)) {
    distance = 0;
  } else if (limit && longer - limit <= candidate.length && longer - limit <= n->wanted.length) {
    distance = str_distance(candidate, n->wanted, limit + 1);
  }
  if (distance > limit || differ_in_digits(candidate, n->wanted)) return;
  // of two that are equally near, the one that only lacks or adds an end
  distance = 2 * distance + (has_prefix(candidate, n->wanted) ? 0 : 1);
  bool better = n->best.length == 0 || distance < n->distance ||
                (distance == n->distance && str_compare(candidate, n->best) < 0);
  if (!better) return;
  n->best = candidate;
  n->distance = distance;
}

static bool is_known_value(const Lower* l, Symbol symbol) {
  if (symbol.kind != SYM_VAR) return symbol.kind != SYM_NONE;
  return (l->names.vars.data[symbol.index].flags &
          (VAR_STRONG | VAR_FIXED | VAR_GUESS | VAR_SET | VAR_DETERMINED)) != 0;
}

Str resolve_near_value(Lower* l, Str name) {
  Nearest n = {.wanted = name};
  uint32_t count =
      l->names.symbols.count < NEAR_CANDIDATES_MAX ? l->names.symbols.count : NEAR_CANDIDATES_MAX;
  for (uint32_t i = 1; i < count; i++) {
    if (is_known_value(l, l->names.symbols.data[i])) consider(&n, lower_name(l, i));
  }
  for (uint32_t i = l->names.binding_base; i < l->names.bindings.count; i++) {
    consider(&n, lower_name(l, l->names.bindings.data[i].name));
  }
  return n.best;
}

Str resolve_near_state(Lower* l, uint32_t automaton, Str name) {
  Nearest n = {.wanted = name};
  uint32_t at = l->automata.all.data[automaton].first;
  for (uint32_t i = 0; at != IR_NONE && i < NEAR_CANDIDATES_MAX; i++) {
    consider(&n, lower_name(l, l->automata.states.data[at].name));
    at = l->automata.states.data[at].next;
  }
  return n.best;
}

Str resolve_near_automaton(Lower* l, Str name) {
  Nearest n = {.wanted = name};
  for (uint32_t i = 0; i < l->automata.all.count && i < NEAR_CANDIDATES_MAX; i++) {
    consider(&n, lower_name(l, l->automata.all.data[i].name));
  }
  return n.best;
}

Str resolve_near_label(Lower* l, Str name) {
  Nearest n = {.wanted = name};
  uint32_t last = 0;
  for (uint32_t i = 0; i < l->m->equations.count && i < NEAR_CANDIDATES_MAX; i++) {
    const IrEquation* equation = &l->m->equations.data[i];
    if (equation->body != 0 || equation->label == last) continue;
    last = equation->label;
    consider(&n, lower_name(l, last));
  }
  return n.best;
}

Str resolve_near_word(Str name, const char* const* words, size_t count) {
  Nearest n = {.wanted = name};
  for (size_t i = 0; i < count; i++) {
    consider(&n, str_from_c(words[i]));
  }
  return n.best;
}

// ---------------------------------------------------------------------------------------------
// letters of two scripts that look the same

typedef struct Twin {
  uint32_t cyrillic;
  char latin;
} Twin;

static const Twin twins[] = {
    {0x430, 'a'}, {0x435, 'e'}, {0x43e, 'o'}, {0x440, 'p'}, {0x441, 'c'},
    {0x443, 'y'}, {0x445, 'x'}, {0x456, 'i'}, {0x410, 'A'}, {0x412, 'B'},
    {0x415, 'E'}, {0x41a, 'K'}, {0x41c, 'M'}, {0x41d, 'H'}, {0x41e, 'O'},
    {0x420, 'P'}, {0x421, 'C'}, {0x422, 'T'}, {0x423, 'Y'}, {0x425, 'X'},
};

/// The text with every letter that has a twin replaced by the Latin one.
static Str latin_twin(Arena* arena, Str s) {
  TextBuffer out = {.arena = arena};
  for (uint32_t i = 0; i < s.length;) {
    uint32_t code = 0;
    uint32_t size = utf8_decode(s.data + i, s.length - i, &code);
    if (size == 0) size = 1;
    char latin = 0;
    for (size_t k = 0; k < SLT_COUNT(twins); k++) {
      if (twins[k].cyrillic == code) latin = twins[k].latin;
    }
    if (latin) {
      text_append_char(&out, latin);
    } else {
      text_append(&out, (Str){s.data + i, size});
    }
    i += size;
  }
  return text_str(&out);
}

static bool is_ascii(Str s) {
  for (uint32_t i = 0; i < s.length; i++) {
    if ((unsigned char)s.data[i] >= 0x80) return false;
  }
  return true;
}

/// A known name that looks exactly like `name` and is spelt with letters of another script.
static bool has_twin(Lower* l, Str name) {
  Str wanted = latin_twin(l->scratch, name);
  bool ascii = is_ascii(name);
  uint32_t count =
      l->names.symbols.count < NEAR_CANDIDATES_MAX ? l->names.symbols.count : NEAR_CANDIDATES_MAX;
  for (uint32_t i = 1; i < count; i++) {
    Str candidate = lower_name(l, i);
    if (!is_known_value(l, l->names.symbols.data[i]) || str_equal(candidate, name)) continue;
    if (ascii && is_ascii(candidate)) continue;
    if (candidate.length > 2 * name.length || name.length > 2 * candidate.length) continue;
    if (str_equal(wanted, latin_twin(l->scratch, candidate))) return true;
  }
  return false;
}

/// A declared name that differs from this one only in its numbers.
static Str near_index(const Lower* l, Str name) {
  uint32_t count =
      l->names.symbols.count < NEAR_CANDIDATES_MAX ? l->names.symbols.count : NEAR_CANDIDATES_MAX;
  for (uint32_t i = count; i > 1; i--) {
    Str candidate = lower_name(l, i - 1);
    if (!is_known_value(l, l->names.symbols.data[i - 1])) continue;
    if (differ_in_digits(candidate, name) && !str_equal(candidate, name)) return candidate;
  }
  return (Str){0};
}

/// The innermost instance of a part that a name belongs to; NULL when it belongs to none.
static const AstInstance* instance_of(const Lower* l, Str text) {
  const AstInstance* found = NULL;
  uint32_t longest = 0;
  for (uint32_t i = 0; i < l->functions.parts.count; i++) {
    Str prefix = l->functions.parts.data[i]->name.head;
    bool fits = prefix.length < text.length && prefix.length > longest &&
                memcmp(prefix.data, text.data, prefix.length) == 0;
    char behind = fits ? text.data[prefix.length] : '\0';
    if (behind != '.' && behind != '[') continue;
    found = l->functions.parts.data[i];
    longest = prefix.length;
  }
  return found;
}

bool resolve_check_elements(Lower* l) {
  uint32_t errors = l->diags->error_count;
  for (uint32_t i = 0; i < l->names.members.count; i++) {
    const ElementMember* member = &l->names.members.data[i];
    Str element = {lower_name(l, member->name).data, member->length};
    uint32_t id = names_intern(&l->m->names, element);
    if (map_get(&l->functions.elements, id, 0)) continue;
    map_set(&l->functions.elements, id, 0, 1);  // told once
    Diag* diag = lower_report(l, DIAG_E0216, member->span, "there is no '%.*s'", STR_ARGS(element));
    const AstInstance* array = instance_of(l, element);
    if (array) diag_note(l->diags, diag, array->span, "the array is declared here");
  }
  return l->diags->error_count == errors;
}

static void hint_unknown(Lower* l, Diag* diag, uint32_t name, Str text, bool constant_needed) {
  const AstInstance* instance = instance_of(l, text);
  if (instance && !constant_needed) {
    diag_hint(l->diags, diag, "the part leaves it open; give it an equation: %.*s = ...;",
              STR_ARGS(text));
    diag_note(l->diags, diag, instance->span, "in the part '%.*s' that is made here",
              STR_ARGS(instance->type.head));
    return;
  }
  uint32_t automaton = resolve_symbol(l, name)->owner;
  if (automaton) {
    Str owner = lower_name(l, l->automata.all.data[automaton - 1].name);
    diag_hint(l->diags, diag, "it is a state; whether it is active is written '%.*s.%.*s'",
              STR_ARGS(owner), STR_ARGS(text));
    return;
  }
  if (resolve_symbol(l, name)->is_index) {
    diag_hint(l->diags, diag,
              "the index of a loop is known inside the loop only; a macro that uses it is declared "
              "there, with the index in its name: macro m_[%.*s] = ...",
              STR_ARGS(text));
    return;
  }
  Str near = resolve_near_value(l, text);
  Str index = near_index(l, text);
  if (has_twin(l, text)) {
    diag_hint(l->diags, diag,
              "'%.*s' exists, but spelt with letters of another script that look "
              "the same (Latin and Cyrillic)",
              STR_ARGS(text));
  } else if (near.length) {
    diag_hint(l->diags, diag, "did you mean '%.*s'?", STR_ARGS(near));
  } else if (index.length) {
    diag_hint(l->diags, diag, "the index goes beyond the declared names, such as '%.*s'",
              STR_ARGS(index));
  } else if (constant_needed) {
    diag_hint(l->diags, diag, "declare it with 'const %.*s = ...'", STR_ARGS(text));
  } else {
    diag_hint(l->diags, diag,
              "no equation is left to determine it; declare it with 'const %.*s = "
              "...', '%.*s(t0) = ...' or an equation",
              STR_ARGS(text), STR_ARGS(text));
  }
}

void resolve_unknown(Lower* l, uint32_t name, Span span, bool constant_needed) {
  if (resolve_symbol(l, name)->told || (l->names.open && !constant_needed)) return;
  resolve_symbol(l, name)->told = true;
  Str text = lower_name(l, name);
  Str written = {l->source->text.data + span.begin, span.end - span.begin};
  bool pasted = !str_equal(written, text) && written.length && written.data[0] != '`';
  Diag* diag = NULL;
  if (pasted) {
    diag = lower_report(l, DIAG_E0203, span, "unknown name '%.*s', from '%.*s'", STR_ARGS(text),
                        STR_ARGS(written));
  } else {
    diag = lower_report(l, DIAG_E0203, span, "unknown name '%.*s'", STR_ARGS(text));
  }
  if (diag != &l->walk.ignored && diag_is_kept(l->diags, diag)) {
    hint_unknown(l, diag, name, text, constant_needed);
  }
}

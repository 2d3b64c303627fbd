// SPDX-License-Identifier: MIT
//
// What words mean: a word is looked up in the part it stands in, then in the model; behind a dot,
// in the part or automaton before it. On this rest definition, references, renaming and the
// outline.
#define _POSIX_C_SOURCE 200809L
#include "lsp.h"

#include <stdlib.h>
#include <string.h>

#define PART_DEPTH 64

// numbers of the protocol
enum {
  SYMBOL_MODULE = 2,
  SYMBOL_CLASS = 5,
  SYMBOL_FIELD = 8,
  SYMBOL_INTERFACE = 11,
  SYMBOL_FUNCTION = 12,
  SYMBOL_VARIABLE = 13,
  SYMBOL_CONSTANT = 14,
  SYMBOL_ARRAY = 18,
  SYMBOL_OBJECT = 19,
  SYMBOL_KEY = 20
};
enum {
  COMPLETE_FUNCTION = 3,
  COMPLETE_VARIABLE = 6,
  COMPLETE_CLASS = 7,
  COMPLETE_INTERFACE = 8,
  COMPLETE_MODULE = 9,
  COMPLETE_REFERENCE = 18,
  COMPLETE_CONSTANT = 21
};
// places in the legend of lsp_view.c
enum { TOKEN_PARAMETER = 2, TOKEN_VARIABLE, TOKEN_CLASS, TOKEN_STATE, TOKEN_LABEL, TOKEN_PORT };

static const LspKind kinds[] = {
    [SLT_SYMBOL_CONSTANT] = {"constant", SYMBOL_CONSTANT, COMPLETE_CONSTANT, TOKEN_PARAMETER},
    [SLT_SYMBOL_MACRO] = {"macro", SYMBOL_FUNCTION, COMPLETE_VARIABLE, TOKEN_VARIABLE},
    [SLT_SYMBOL_VARIABLE] = {"variable", SYMBOL_VARIABLE, COMPLETE_VARIABLE, TOKEN_VARIABLE},
    [SLT_SYMBOL_TABLE] = {"table", SYMBOL_ARRAY, COMPLETE_VARIABLE, TOKEN_VARIABLE},
    [SLT_SYMBOL_LABEL] = {"label of an equation", SYMBOL_KEY, COMPLETE_REFERENCE, TOKEN_LABEL},
    [SLT_SYMBOL_STATE] = {"state", SYMBOL_FIELD, COMPLETE_CLASS, TOKEN_STATE},
    [SLT_SYMBOL_AUTOMATON] = {"automaton", SYMBOL_CLASS, COMPLETE_CLASS, TOKEN_CLASS},
    [SLT_SYMBOL_ELEMENT] = {"element", SYMBOL_OBJECT, COMPLETE_CLASS, TOKEN_CLASS},
    [SLT_SYMBOL_FUNCTION] = {"function", SYMBOL_FUNCTION, COMPLETE_FUNCTION, 1},
    [SLT_SYMBOL_PART] = {"part", SYMBOL_MODULE, COMPLETE_MODULE, TOKEN_CLASS},
    [SLT_SYMBOL_PORT] = {"port", SYMBOL_INTERFACE, COMPLETE_INTERFACE, TOKEN_PORT},
    [SLT_SYMBOL_INSTANCE] = {"part", SYMBOL_OBJECT, COMPLETE_VARIABLE, TOKEN_VARIABLE},
};

const LspKind* lsp_kind(SltSymbolKind kind) {
  return &kinds[kind];
}

// ---- looking up ---------------------------------------------------------------------------------

static int by_name(const void* a, const void* b) {
  const Symbol* left = *(const Symbol* const*)a;
  const Symbol* right = *(const Symbol* const*)b;
  int order = strcmp(left->name, right->name);
  return order ? order : (left > right) - (left < right);
}

void lsp_index_symbols(Document* d) {
  d->by_name = malloc((d->symbol_count + 1) * sizeof *d->by_name);
  for (size_t i = 0; d->by_name && i < d->symbol_count; i++)
    d->by_name[i] = &d->symbols[i];
  if (d->by_name) qsort((void*)d->by_name, d->symbol_count, sizeof *d->by_name, by_name);
}

/// First of the symbols of `file` that have a word of `d` for their name.
static size_t find_first(const Document* file, const Document* d, Place word) {
  size_t low = 0;
  size_t high = file->by_name ? file->symbol_count : 0;
  size_t length = word.end - word.begin;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const char* name = file->by_name[middle]->name;
    int order = strncmp(name, d->text + word.begin, length);
    if (order == 0 && name[length]) order = 1;
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static bool holds(Place outer, Place inner) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

/// The part whose text a word stands in; "" for none.
static const char* part_around(const Document* d, Place word) {
  for (size_t i = 0; i < d->symbol_count; i++) {
    const Symbol* s = &d->symbols[i];
    bool inside = s->kind == SLT_SYMBOL_PART && holds(s->whole, word);
    if (inside && s->place.begin != word.begin) return s->name;
  }
  return "";
}

/// The automaton whose text a word stands in; the part for none.
static const char* automaton_around(const Document* d, Place word) {
  for (size_t i = 0; i < d->symbol_count; i++) {
    const Symbol* s = &d->symbols[i];
    if (s->kind == SLT_SYMBOL_AUTOMATON && holds(s->whole, word)) return s->name;
  }
  return part_around(d, word);
}

/// A symbol of a part, or of an automaton in it, in one file.
static const Symbol* find_here(const Document* file, const Document* d, Place word,
                               const char* part, const char* container) {
  const Symbol* found = NULL;
  for (size_t i = find_first(file, d, word); file->by_name && i < file->symbol_count; i++) {
    const Symbol* s = file->by_name[i];
    if (!document_is_word(d, word, s->name)) break;
    if (strcmp(s->part, part) != 0 || s->kind == SLT_SYMBOL_PART) continue;
    if (container && strcmp(s->container, container) != 0) continue;
    // a state of the automaton around comes before one of another
    bool near = file == d && strcmp(s->container, automaton_around(d, word)) == 0;
    if (s->kind != SLT_SYMBOL_STATE || near) return s;
    if (!found) found = s;
  }
  return found;
}

/// The same in all files of the model, the present one first.
static const Symbol* find_in(const Document* d, Place word, const char* part,
                             const char* container) {
  const Symbol* found = find_here(d, d, word, part, container);
  const Document* file = NULL;
  for (size_t i = 0; !found && (file = document_family(d, i)) != NULL; i++) {
    if (file != d) found = find_here(file, d, word, part, container);
  }
  return found;
}

bool lsp_word_before(const Document* d, size_t dot, Place* out) {
  size_t at = dot;
  while (at > 0 && d->text[at - 1] == ']') {
    uint32_t depth = 0;
    do {
      at--;
      if (d->text[at] == ']') depth++;
      if (d->text[at] == '[') depth--;
    } while (at > 0 && depth > 0);
  }
  return document_word_at(d, at, out) && out->end + (d->text[out->end] == '`') == at;
}

/// The instance in whose arguments a word stands as the name of one: `A` in `Tank upper(A = 2)`.
static const Symbol* argument_of(const Document* d, Place word) {
  size_t behind = word.end + strspn(d->text + word.end, " `");
  if (d->text[behind] != '=' || d->text[behind + 1] == '=') return NULL;
  uint32_t depth = 0;
  size_t at = word.begin;
  for (bool direct = true; at > 0; at--) {
    char c = d->text[at - 1];
    if (c == ';' || c == '{' || c == '}') return NULL;
    if (c == ')' || c == ']') depth++;
    if (c == '(' && depth == 0) break;
    if ((c == '(' || c == '[') && depth > 0) depth--;
    // only blanks between the name and what parts it from the argument before
    if (direct && !strchr(" \t\r\n`,", c)) return NULL;
    if (c == ',') direct = false;
  }
  Place name;
  if (at == 0 || !lsp_word_before(d, at - 1, &name)) return NULL;
  const Symbol* s = find_in(d, name, part_around(d, name), NULL);
  return s && s->kind == SLT_SYMBOL_INSTANCE ? s : NULL;
}

static size_t skip_blanks_back(const Document* d, size_t at) {
  while (at > 0 && strchr(" \t\r\n`", d->text[at - 1]))
    at--;
  return at;
}

bool lsp_is_key(const Document* d, Place word) {
  size_t behind = word.end + strspn(d->text + word.end, " \t`");
  size_t at = skip_blanks_back(d, word.begin);
  bool first = d->text[behind] == '=' && d->text[behind + 1] != '=' && at > 0 &&
               (d->text[at - 1] == '{' || d->text[at - 1] == ';');
  uint32_t depth = 1;
  for (; first && at > 0 && depth > 0; at--) {
    if (d->text[at - 1] == '}') depth++;
    if (d->text[at - 1] == '{') depth--;
  }
  Place owner;
  if (!first || depth > 0 || !lsp_word_before(d, skip_blanks_back(d, at), &owner)) return false;
  size_t before = skip_blanks_back(d, owner.begin);
  Place kind;
  if (before > 0 && document_word_at(d, before, &kind) && kind.end == before) {
    return document_is_word(d, kind, "contact") || document_is_word(d, kind, "friction");
  }
  bool alone = before == 0 || strchr(";{}./", d->text[before - 1]);
  return alone && !document_is_word(d, owner, "else");
}

const Symbol* lsp_function_around(const Document* d, Place word) {
  for (size_t i = 0; i < d->symbol_count; i++) {
    const Symbol* s = &d->symbols[i];
    if (s->kind != SLT_SYMBOL_FUNCTION || !holds(s->whole, word)) continue;
    size_t at = s->place.end;
    Place other;
    bool arguments = true;
    while (document_next_word(d, &at, &other) && other.begin < s->whole.end) {
      size_t behind = other.end + strspn(d->text + other.end, " \t\r\n");
      bool set = d->text[behind] == '=' && d->text[behind + 1] != '=';
      bool same = other.end - other.begin == word.end - word.begin &&
                  memcmp(d->text + other.begin, d->text + word.begin, word.end - word.begin) == 0;
      if (same && (arguments || set)) return s;
      arguments = arguments && d->text[behind] == ',';
    }
    return NULL;
  }
  return NULL;
}

/// The port in whose declaration a word stands as one of its quantities.
static const Symbol* port_around(const Document* d, Place word) {
  for (size_t i = 0; i < d->symbol_count; i++) {
    const Symbol* s = &d->symbols[i];
    if (s->kind == SLT_SYMBOL_PORT && holds(s->whole, word) && word.begin >= s->place.end) return s;
  }
  return NULL;
}

const Symbol* lsp_part_named(const Document* d, const char* name) {
  const Document* file = NULL;
  for (size_t k = 0; (file = document_family(d, k)) != NULL; k++) {
    for (size_t i = 0; i < file->symbol_count; i++) {
      const Symbol* s = &file->symbols[i];
      if (s->kind == SLT_SYMBOL_PART && strcmp(s->name, name) == 0) return s;
    }
  }
  return NULL;
}

/// The part that a word names: where the part is declared, and where instances of it are. Names of
/// parts stand apart from all others: a parameter or a variable may have the same.
static const Symbol* part_at(const Document* d, Place word) {
  for (size_t i = 0; i < d->symbol_count; i++) {
    const Symbol* s = &d->symbols[i];
    if (s->kind == SLT_SYMBOL_PART && s->place.begin == word.begin) return s;
    bool type = s->kind == SLT_SYMBOL_INSTANCE && s->whole.begin == word.begin;
    if (type && document_is_word(d, word, s->type)) return lsp_part_named(d, s->type);
  }
  return NULL;
}

const Symbol* lsp_symbol_at(const Document* d, Place word) {
  if (lsp_is_key(d, word) || lsp_function_around(d, word)) return NULL;
  const Symbol* named = part_at(d, word);
  if (named) return named;
  const Symbol* port = port_around(d, word);
  if (port) return port;
  const Symbol* instance = argument_of(d, word);
  if (instance) return find_in(d, word, instance->type, NULL);
  size_t begin = word.begin - (word.begin > 0 && d->text[word.begin - 1] == '`');
  const char* part = part_around(d, word);
  Place before;
  if (begin > 0 && d->text[begin - 1] == '.' && lsp_word_before(d, begin - 1, &before)) {
    const Symbol* owner = lsp_symbol_at(d, before);
    if (owner && owner->kind == SLT_SYMBOL_INSTANCE) return find_in(d, word, owner->type, NULL);
    if (owner && owner->kind == SLT_SYMBOL_AUTOMATON) {
      return find_in(d, word, owner->part, owner->name);
    }
    if (owner && owner->kind == SLT_SYMBOL_PORT) return owner;  // one of its quantities
    return document_is_word(d, before, "main") ? find_in(d, word, part, part) : NULL;
  }
  const Symbol* own = part[0] ? find_in(d, word, part, NULL) : NULL;
  return own ? own : find_in(d, word, "", NULL);
}

// ---- where it stands ----------------------------------------------------------------------------

static void put_location(const Document* d, Place place, bool location, Text* out) {
  text_put_format(out, "{");
  if (location) {
    text_put_format(out, "\"uri\":");
    text_put_json(out, d->uri, strlen(d->uri));
    text_put_format(out, ",");
  }
  text_put_format(out, "\"range\":");
  document_put_range(d, place, out);
  text_put_format(out, "}");
}

void answer_definition(const Document* d, size_t byte, Text* out) {
  Place word;
  const Symbol* s = document_word_at(d, byte, &word) ? lsp_symbol_at(d, word) : NULL;
  if (s) {
    put_location(s->document, s->place, true, out);
  } else {
    text_put_format(out, "null");
  }
}

/// What is looked for: a word, and the symbol that declares it or NULL.
typedef struct Wanted {
  const char* text;
  size_t length;
  const Symbol* symbol;
} Wanted;

static bool find_wanted(const Document* d, size_t byte, Wanted* out) {
  Place word;
  if (!document_word_at(d, byte, &word)) return false;
  *out = (Wanted){d->text + word.begin, word.end - word.begin, lsp_symbol_at(d, word)};
  return true;
}

/// The next word of a document that means what is wanted.
static bool next_use(const Document* d, const Wanted* wanted, size_t* at, Place* out) {
  while (document_next_word(d, at, out)) {
    bool equal = out->end - out->begin == wanted->length &&
                 memcmp(d->text + out->begin, wanted->text, wanted->length) == 0;
    if (equal && lsp_symbol_at(d, *out) == wanted->symbol) return true;
  }
  return false;
}

void answer_references(const Document* d, size_t byte, bool locations, Text* out) {
  Wanted wanted;
  Place use;
  bool any = false;
  text_put_format(out, "[");
  const Document* file = find_wanted(d, byte, &wanted) ? document_family(d, 0) : NULL;
  for (size_t i = 0; file; file = document_family(d, ++i)) {
    if (file != d && !(locations && wanted.symbol)) continue;
    for (size_t at = 0; next_use(file, &wanted, &at, &use); any = true) {
      if (any) text_put_format(out, ",");
      put_location(file, use, locations, out);
    }
  }
  text_put_format(out, "]");
}

/// The first instance of a part, in whatever file; those of the model itself come first.
static const Symbol* instance_of(const Document* d, const char* part) {
  const Symbol* found = NULL;
  const Document* file = NULL;
  for (size_t k = 0; (file = document_family(d, k)) != NULL; k++) {
    for (size_t i = 0; i < file->symbol_count; i++) {
      const Symbol* s = &file->symbols[i];
      if (s->kind != SLT_SYMBOL_INSTANCE || strcmp(s->type, part) != 0) continue;
      if (!s->part[0]) return s;
      if (!found) found = s;
    }
  }
  return found;
}

/// `bank.c[1].` for a name inside of a part, as the first instance has it.
static void put_prefix(const Document* d, const char* part, bool shared, uint32_t depth,
                       Text* out) {
  const Symbol* instance = part[0] && depth < PART_DEPTH ? instance_of(d, part) : NULL;
  if (!instance) return;
  put_prefix(d, instance->part, false, depth + 1, out);
  bool array = instance->document->text[instance->place.end] == '[';
  text_put_format(out, "%s%s.", instance->name, array && !shared ? "[1]" : "");
}

void lsp_put_path(const Document* d, Place word, const Symbol* s, Text* out) {
  Place first = word;
  for (Place before = word;; first = before) {
    size_t at = before.begin - (before.begin > 0 && d->text[before.begin - 1] == '`');
    if (at == 0 || d->text[at - 1] != '.' || !lsp_word_before(d, at - 1, &before)) break;
  }
  const Symbol* head = first.begin == word.begin ? s : lsp_symbol_at(d, first);
  bool shared = s->kind == SLT_SYMBOL_CONSTANT && first.begin == word.begin;
  if (head) put_prefix(d, head->part, shared, 0, out);
  for (size_t i = first.begin; i < word.end; i++) {
    if (d->text[i] != '`') text_put(out, d->text + i, 1);
  }
  text_put(out, "", 1);
}

// ---- renaming -----------------------------------------------------------------------------------

/// Names of files that came with the program, `init` and quantities of ports stay.
static bool may_rename(const Document* d, Place word, const Symbol* s) {
  bool first = s && s->kind == SLT_SYMBOL_STATE && strcmp(s->name, "init") == 0;
  return s && !first && !s->document->fixed && document_is_word(d, word, s->name);
}

void answer_prepare_rename(const Document* d, size_t byte, Text* out) {
  Place word;
  const Symbol* s = document_word_at(d, byte, &word) ? lsp_symbol_at(d, word) : NULL;
  if (s && may_rename(d, word, s)) {
    document_put_range(d, word, out);
  } else {
    text_put_format(out, "null");
  }
}

static bool is_identifier(const char* name) {
  static const char* const reserved[] = {"const", "macro", "state", "from",      "for",
                                         "if",    "else",  "at",    "automaton", "not"};
  for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
    if (strcmp(name, reserved[i]) == 0) return false;
  }
  for (const char* c = name; *c; c++) {
    bool digit = *c >= '0' && *c <= '9';
    bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_' ||
                  (unsigned char)*c >= 0x80;
    if (!letter && (!digit || c == name)) return false;
  }
  return *name != '\0';
}

static void put_edit(const Document* d, Place use, const char* name, bool plain, Text* out) {
  bool quoted = use.begin > 0 && d->text[use.begin - 1] == '`';
  Text fresh = {0};
  text_put_format(&fresh, plain || quoted ? "%s" : "`%s`", name);
  text_put_format(out, "{\"range\":");
  document_put_range(d, use, out);
  text_put_format(out, ",\"newText\":");
  text_put_json(out, fresh.data ? fresh.data : "", fresh.length);
  text_put_format(out, "}");
  free(fresh.data);
}

/// Whether a word is a name and digits: what `T[i]` may be.
static bool is_pasted(const Document* d, Place word, const char* name, size_t length) {
  size_t end = word.begin + length;
  if (end >= word.end || memcmp(d->text + word.begin, name, length) != 0) return false;
  return strspn(d->text + end, "0123456789") >= word.end - end;
}

/// What stands in the way of a new name.
typedef struct Obstacle {
  const Document* document;
  Place word;
  bool pasted;  // it is what is renamed in another spelling: `T3` and `T[i]`
} Obstacle;

/// Whether a word with an index behind it may be the name: `I_[k]` and `I_1`.
static bool is_stem(const Document* d, Place word, const char* name, size_t length) {
  size_t stem = word.end - word.begin;
  if (stem >= length || d->text[word.end] != '[') return false;
  return memcmp(d->text + word.begin, name, stem) == 0 &&
         strspn(name + stem, "0123456789") >= length - stem;
}

/// Whether a word stands in another part, as a name of its own or one that the model knows: what
/// the model declares is known there.
static bool is_elsewhere(const Document* d, Place word, const char* part, SltSymbolKind kind) {
  const char* around = part_around(d, word);
  bool global = kind == SLT_SYMBOL_CONSTANT || kind == SLT_SYMBOL_MACRO ||
                kind == SLT_SYMBOL_TABLE || kind == SLT_SYMBOL_FUNCTION;
  if (strcmp(around, part) == 0) return false;
  const Symbol* s = global && !part[0] ? lsp_symbol_at(d, word) : NULL;
  return !global || part[0] || (s && strcmp(s->part, around) == 0);
}

/// Whether a word belongs to a part that is named before it: behind a dot, or an argument.
static bool is_member(const Document* d, Place word) {
  size_t begin = word.begin - (word.begin > 0 && d->text[word.begin - 1] == '`');
  return (begin > 0 && d->text[begin - 1] == '.') || argument_of(d, word);
}

/// The first word of the same text, the model's own or that of a part, that has the new name or is
/// made of the old or new one and an index.
static bool find_obstacle(const Document* d, const Wanted* wanted, const char* name,
                          const char* part, bool indexed, Obstacle* out) {
  const Document* file = NULL;
  for (size_t i = 0; (file = document_family(d, i)) != NULL; i++) {
    Place word;
    for (size_t at = 0; document_next_word(file, &at, &word);) {
      bool pasted = is_stem(file, word, wanted->text, wanted->length) ||
                    (indexed && is_pasted(file, word, wanted->text, wanted->length));
      bool taken = document_is_word(file, word, name) || is_stem(file, word, name, strlen(name)) ||
                   (indexed && is_pasted(file, word, name, strlen(name)));
      if (!(pasted || taken) || is_member(file, word)) continue;
      if (is_elsewhere(file, word, part, wanted->symbol->kind)) continue;
      *out = (Obstacle){file, word, pasted};
      return true;
    }
  }
  return false;
}

/// Whether the new name would mean something else than what is renamed, wherever that is used.
static bool is_hindered(const Document* d, const Wanted* wanted, const char* name, Obstacle* out) {
  const Document* file = NULL;
  const char* known = NULL;  // the last text that was looked at...
  bool elements = false;     // ...for elements too
  bool same = strlen(name) == wanted->length && memcmp(name, wanted->text, wanted->length) == 0;
  for (size_t i = 0; !same && (file = document_family(d, i)) != NULL; i++) {
    Place use;
    for (size_t at = 0; next_use(file, wanted, &at, &use);) {
      const char* part = is_member(file, use) ? wanted->symbol->part : part_around(file, use);
      bool indexed = file->text[use.end] == '[';
      if (known && strcmp(known, part) == 0 && (elements || !indexed)) continue;
      known = part;
      elements = indexed;
      if (find_obstacle(d, wanted, name, part, indexed, out)) return true;
    }
  }
  return false;
}

static void explain_obstacle(const Obstacle* o, const char* name, Text* why) {
  size_t line = 1;
  for (size_t i = 0; i < o->word.begin; i++)
    line += o->document->text[i] == '\n';
  int length = (int)(o->word.end - o->word.begin);
  const char* word = o->document->text + o->word.begin;
  const char* file = strrchr(o->document->path, '/');
  text_put_format(why,
                  o->pasted ? "'%.*s' in line %zu of %s may be this in another spelling, with or "
                              "without its index: spell it in one way first"
                            : "'%.*s' is a name already, in line %zu of %s",
                  length, word, line, file ? file + 1 : o->document->path);
  bool other = !o->pasted && length != (int)strlen(name);
  if (other) text_put_format(why, ", and '%s' with an index may be the same", name);
}

bool answer_rename(const Document* d, size_t byte, const char* name, Text* out, Text* why) {
  Wanted wanted;
  Place use;
  bool files = false;
  Place here;
  bool found = document_word_at(d, byte, &here) && find_wanted(d, byte, &wanted) &&
               may_rename(d, here, wanted.symbol);
  bool plain = is_identifier(name);
  // what is no identifier can be a name in backquotes
  bool possible = name[0] && !strpbrk(name, "`\r\n") && strlen(name) <= 1000;
  if (!found || !possible) {
    text_put_format(why, found ? "this cannot be a name here"
                               : "only what is declared in these files can be renamed");
    return false;
  }
  const LspWord* word = NULL;
  for (size_t i = 0; (word = lsp_word_get(i)) != NULL && strcmp(word->word, name) != 0; i++) {
  }
  if (word) {
    text_put_format(why, "'%s' is a word of the language", name);
    return false;
  }
  Obstacle obstacle;
  if (is_hindered(d, &wanted, name, &obstacle)) {
    explain_obstacle(&obstacle, name, why);
    return false;
  }
  text_put_format(out, "{\"changes\":{");
  const Document* file = NULL;
  for (size_t i = 0; (file = document_family(d, i)) != NULL; i++) {
    bool any = false;
    for (size_t at = 0; !file->fixed && next_use(file, &wanted, &at, &use); any = true) {
      if (!any) {
        text_put_format(out, "%s", files ? "," : "");
        text_put_json(out, file->uri, strlen(file->uri));
      }
      text_put_format(out, any ? "," : ":[");
      put_edit(file, use, name, plain, out);
    }
    if (any) text_put_format(out, "]");
    files = files || any;
  }
  text_put_format(out, "}}");
  return true;
}

// ---- the outline --------------------------------------------------------------------------------

/// The symbol whose block the i-th stands in: its part, or its automaton.
static size_t parent_of(const Document* d, size_t i) {
  const Symbol* s = &d->symbols[i];
  for (size_t k = i; k > 0; k--) {
    const Symbol* p = &d->symbols[k - 1];
    bool part = p->kind == SLT_SYMBOL_PART && s->part[0] && strcmp(p->name, s->part) == 0;
    bool automaton = p->kind == SLT_SYMBOL_AUTOMATON && s->kind == SLT_SYMBOL_STATE &&
                     strcmp(p->name, s->container) == 0 && strcmp(p->part, s->part) == 0;
    if ((part || automaton) && holds(p->whole, s->place)) return k - 1;
  }
  return d->symbol_count;
}

static void put_symbol(const Document* d, const Symbol* s, Text* out) {
  text_put_format(out, "{\"name\":");
  text_put_json(out, s->name, strlen(s->name));
  Text detail = {0};
  bool inner = s->container[0] != '\0';
  text_put_format(&detail, "%s%s%s", kinds[s->kind].text, inner ? " of " : "", s->container);
  if (s->type[0]) {
    detail.length = 0;
    text_put_format(&detail, "%s", s->type);
  }
  text_put_format(out, ",\"detail\":");
  text_put_json(out, detail.data ? detail.data : "", detail.length);
  free(detail.data);
  // the range must hold the name
  Place whole = {s->whole.begin < s->place.begin ? s->whole.begin : s->place.begin,
                 s->whole.end > s->place.end ? s->whole.end : s->place.end};
  text_put_format(out, ",\"kind\":%d,\"range\":", kinds[s->kind].symbol);
  document_put_range(d, whole, out);
  text_put_format(out, ",\"selectionRange\":");
  document_put_range(d, s->place, out);
}

/// The symbols directly inside of a block, or of none.
static void put_children(const Document* d, const size_t* parents, size_t parent, Text* out) {
  bool any = false;
  size_t first = parent < d->symbol_count ? parent + 1 : 0;
  text_put_format(out, "[");
  for (size_t i = first; i < d->symbol_count; i++) {
    if (parents[i] != parent) continue;
    const Symbol* s = &d->symbols[i];
    text_put_format(out, "%s", any ? "," : "");
    put_symbol(d, s, out);
    if (s->kind == SLT_SYMBOL_PART || s->kind == SLT_SYMBOL_AUTOMATON) {
      text_put_format(out, ",\"children\":");
      put_children(d, parents, i, out);
    }
    text_put_format(out, "}");
    any = true;
  }
  text_put_format(out, "]");
}

void answer_symbols(const Document* d, Text* out) {
  size_t* parents = malloc((d->symbol_count + 1) * sizeof *parents);
  for (size_t i = 0; parents && i < d->symbol_count; i++)
    parents[i] = parent_of(d, i);
  if (parents) {
    put_children(d, parents, d->symbol_count, out);
  } else {
    text_put_format(out, "[]");
  }
  free(parents);
}

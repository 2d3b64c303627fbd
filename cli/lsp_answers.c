// SPDX-License-Identifier: MIT
//
// What the language server knows: messages of the compiler, declarations, the words of the
// language.
#define _POSIX_C_SOURCE 200809L
#include "lsp.h"

#include <stdlib.h>
#include <string.h>

#define HOVER_BYTES 400  // of a declaration that is shown

// numbers of the protocol
enum { SEVERITY_ERROR = 1, SEVERITY_WARNING = 2, SEVERITY_INFORMATION = 3 };
enum {
  SYMBOL_CLASS = 5,
  SYMBOL_FIELD = 8,
  SYMBOL_FUNCTION = 12,
  SYMBOL_VARIABLE = 13,
  SYMBOL_CONSTANT = 14,
  SYMBOL_ARRAY = 18,
  SYMBOL_KEY = 20,
  SYMBOL_OBJECT = 19
};
enum {
  COMPLETE_FUNCTION = 3,
  COMPLETE_VARIABLE = 6,
  COMPLETE_CLASS = 7,
  COMPLETE_KEYWORD = 14,
  COMPLETE_REFERENCE = 18,
  COMPLETE_CONSTANT = 21
};

static const struct {
  const char* text;
  int symbol, complete;
} kinds[] = {
    [SLT_SYMBOL_CONSTANT] = {"constant", SYMBOL_CONSTANT, COMPLETE_CONSTANT},
    [SLT_SYMBOL_MACRO] = {"macro", SYMBOL_FUNCTION, COMPLETE_VARIABLE},
    [SLT_SYMBOL_VARIABLE] = {"variable", SYMBOL_VARIABLE, COMPLETE_VARIABLE},
    [SLT_SYMBOL_TABLE] = {"table", SYMBOL_ARRAY, COMPLETE_VARIABLE},
    [SLT_SYMBOL_LABEL] = {"label of an equation", SYMBOL_KEY, COMPLETE_REFERENCE},
    [SLT_SYMBOL_STATE] = {"state", SYMBOL_FIELD, COMPLETE_CLASS},
    [SLT_SYMBOL_AUTOMATON] = {"automaton", SYMBOL_CLASS, COMPLETE_CLASS},
    [SLT_SYMBOL_ELEMENT] = {"element", SYMBOL_OBJECT, COMPLETE_CLASS},
};

/// The words of the language, one line about each; those with a parenthesis are functions.
static const struct {
  const char* word;
  const char* form;
  const char* text;
} words[] = {
    {"const", "const a = 1, b = 2 * a;", "A constant; `--set a=2` changes it from outside."},
    {"macro", "macro k = expr;", "A name for an expression."},
    {"data", "data NAME = \"file.csv\", column;", "A table, read by `table(NAME, x)`."},
    {"state", "state S [guard] { ... } from A, B;",
     "A state: entered from those listed when its guard becomes true. Its equations replace "
     "others."},
    {"automaton", "automaton A { state ... }", "States of their own, beside those of others."},
    {"from", "from A, B", "The states that can be left for this one; `init` is the first."},
    {"like", "state S [guard] like P { ... }", "Begins with the equations of another state."},
    {"at", "at T each P repeat N { ... }", "Resets at given times; `repeat *` for ever."},
    {"each", "at T each P repeat N { ... }", "The period."},
    {"repeat", "at T each P repeat N { ... }", "How many times; `*` for ever."},
    {"priority", "at T priority K { ... }", "Order of what happens at one time."},
    {"for", "for i = 1:N { ... }",
     "Repeats what it holds; the index is pasted into names: `x[i]`."},
    {"if", "if (c) { ... } else { ... }",
     "Equations that hold by cases; `if(c, a, b)` is a value."},
    {"else", "if (c) { ... } else { ... }", "The other case."},
    {"set", "set x = e;", "A reset: the same as `x(t0) = e;`."},
    {"ic", "ic x = 1, y = 2;", "Initial values, in the form of 2015."},
    {"delete", "delete label;", "Takes an equation away while the state lasts."},
    {"goto", "goto S;", "Changes the state; in `at`."},
    {"stop", "stop \"text\";", "Ends the run."},
    {"invariant", "invariant [relation];",
     "Must hold; the run ends with a message where it does not."},
    {"energy", "energy = expr;", "What the run audits: how much it changes, and where."},
    {"contact", "contact c { gap = y; force = N; restitution = 0.8; }", "A one-sided contact."},
    {"friction", "friction f { velocity = v; force = F; kinetic = mu*N; static = ms*N; }",
     "Dry friction that sticks and slides."},
    {"experiment", "experiment { end = 10; }", "Defaults of a run."},
    {"function", "function f(x, y) = expr;",
     "A function; `{ a = ...; return ...; }` has local names."},
    {"part", "part Tank(A = 1) { ... }",
     "A model inside of a model; used by `Tank upper(A = 2);`."},
    {"port", "port p { across v; through i; }", "Where a part is joined to others by `connect`."},
    {"connect", "connect(a.p, b.p);",
     "Across quantities are equal, through quantities sum to zero."},
    {"include", "include \"parts/electrical.lisma\";", "The statements of another file."},
    {"after", "after 0.5 [x > 1] { set y = 0; }", "Resets a time after a condition came to hold."},
    {"persistent", "after D [c] persistent { ... }", "Fires though the condition has fallen."},
    {"trigger", "after D [c] trigger { ... }", "With the values of the trigger."},
    {"every", "every 0.1 { ... }", "Resets at the start and every so often."},
    {"measure", "measure peak = max(y);", "What runs are asked for: `saltus sweep` and its kin."},
    {"xor", "a xor b", "One of the two, not both."},
    {"implies", "a implies b", "`!a || b`"},
    {"true", "true", "1, or a condition that always holds."},
    {"false", "false", "0, or a condition that never holds."},
    {"inf", "inf", "Infinity."},
    {"unilateral", "unilateral[r]", "Located just before the crossing; never evaluated beyond it."},
    {"bilateral", "bilateral[r]", "Located just behind the crossing."},
    {"ordinary", "ordinary[r]", "Located at the crossing, as a bare relation is."},
    {"shortliving", "shortliving[r]", "With a closer look at events that last for moments only."},
    {"noEvent", "noEvent[r], noEvent(e)", "Located nowhere; what is in e switches without events."},
    {"init", "from init", "The state everything begins in."},
    {"time", "time", "The model's time; also `t`."},
    {"t0", "x(t0) = e;", "The start; in a state, the time it is entered."},
    {"pi", "pi", "3.14159..."},
    {"sin", "sin(x)", ""},
    {"cos", "cos(x)", ""},
    {"tan", "tan(x)", ""},
    {"tg", "tg(x)", "`tan`"},
    {"asin", "asin(x)", ""},
    {"acos", "acos(x)", ""},
    {"atan", "atan(x)", ""},
    {"atan2", "atan2(y, x)", "Angle of the point (x, y)."},
    {"sinh", "sinh(x)", ""},
    {"cosh", "cosh(x)", ""},
    {"tanh", "tanh(x)", ""},
    {"asinh", "asinh(x)", ""},
    {"acosh", "acosh(x)", ""},
    {"atanh", "atanh(x)", ""},
    {"erf", "erf(x)", "The error function."},
    {"gamma", "gamma(x)", "The gamma function; `gamma(n + 1)` is n!."},
    {"sec", "sec(x)", ""},
    {"csc", "csc(x)", ""},
    {"cot", "cot(x)", ""},
    {"log", "log(x, base)", ""},
    {"root", "root(x, n)", "The n-th root; odd ones take negative x."},
    {"factorial", "factorial(n)", ""},
    {"hypot", "hypot(x, y)", "`sqrt(x*x + y*y)`"},
    {"clamp", "clamp(x, lo, hi)", "`min(max(x, lo), hi)`"},
    {"round", "round(x)", "To the nearest whole number."},
    {"trunc", "trunc(x)", "Towards 0."},
    {"quotient", "quotient(a, b)", "`trunc(a / b)`"},
    {"rem", "rem(a, b)", "`a - b * trunc(a / b)`"},
    {"exp", "exp(x)", ""},
    {"ln", "ln(x)", "Natural logarithm."},
    {"log10", "log10(x)", ""},
    {"sqrt", "sqrt(x)", ""},
    {"pow", "pow(a, b)", "`a ^ b`"},
    {"abs", "abs(x)", "Its kink is an event."},
    {"sign", "sign(x)", "-1, 0 or 1; its jump is an event."},
    {"min", "min(a, b, ...)", ""},
    {"max", "max(a, b, ...)", ""},
    {"floor", "floor(x)", ""},
    {"ceil", "ceil(x)", ""},
    {"mod", "mod(a, b)", "`a - b * floor(a / b)`; also `a % b`."},
    {"sum", "sum(i = 1:N, e)", ""},
    {"prod", "prod(i = 1:N, e)", ""},
    {"table", "table(NAME, x)", "Value of a table at x."},
    {"delay", "delay(x, T), delay(x, T, x0)", "What x was T ago."},
    {"der", "der(x, n)", "The n-th derivative, as `x'` marks do."},
    {"pre", "pre(x)", "In guards and resets: the value before the present round."},
    {"post", "post(x)", "In guards and resets: the value after it."},
    {"random", "random()", "Between 0 and 1; in resets only."},
    {"uniform", "uniform(a, b)", "A random number; in resets only."},
    {"normal", "normal(mean, deviation)", "A random number; in resets only."},
    {"exponential", "exponential(mean)", "A random number; in resets only."},
    {"noise", "noise(seed, n)",
     "A normal number that is a function of seed and n; in resets only."},
};
#define WORD_COUNT (sizeof words / sizeof *words)

// ---- compiling ----------------------------------------------------------------------------------

typedef struct Collector {
  Document* document;
  Text* out;
  bool any;
} Collector;

static void* grow(void* items, size_t count, size_t size) {
  bool full = (count & (count - 1)) == 0;  // capacities are powers of two
  return full ? realloc(items, (count ? 2 * count : 1) * size) : items;
}

/// A hint that names what was meant is a replacement.
static void keep_fix(Document* d, Place place, const char* hint) {
  static const char before[] = "did you mean '";
  if (!hint || strncmp(hint, before, sizeof before - 1) != 0) return;
  const char* begin = hint + sizeof before - 1;
  const char* end = strstr(begin, "'?");
  Fix* fixes = end ? grow(d->fixes, d->fix_count, sizeof *fixes) : NULL;
  if (!fixes) return;
  d->fixes = fixes;
  char* text = strndup(begin, (size_t)(end - begin));
  if (text) d->fixes[d->fix_count++] = (Fix){place, text};
}

static void put_diagnostic(void* user, const SltDiagnostic* m) {
  Collector* c = user;
  Document* d = c->document;
  // what is said about another file stands at the top
  bool here = strcmp(m->file, d->path) == 0 && m->begin <= m->end && m->end <= d->length;
  Place place = here ? (Place){m->begin, m->end} : (Place){0, 0};
  if (here) keep_fix(d, place, m->hint);
  int severity = m->severity == SLT_ERROR     ? SEVERITY_ERROR
                 : m->severity == SLT_WARNING ? SEVERITY_WARNING
                                              : SEVERITY_INFORMATION;
  Text message = {0};
  if (!here) text_put_format(&message, "%s:%u: ", m->file, m->line);
  text_put(&message, m->message, strlen(m->message));
  if (m->hint) text_put_format(&message, "\n%s", m->hint);
  text_put_format(c->out, "%s{\"range\":", c->any ? "," : "");
  document_put_range(d, place, c->out);
  text_put_format(c->out,
                  ",\"severity\":%d,\"code\":\"%s\",\"source\":\"saltus\",\"message\":", severity,
                  m->code);
  text_put_json(c->out, message.data ? message.data : "", message.length);
  text_put_format(c->out, "}");
  free(message.data);
  c->any = true;
}

static void keep_symbol(void* user, const SltSymbol* s) {
  Document* d = user;
  Symbol* symbols = grow(d->symbols, d->symbol_count, sizeof *symbols);
  if (!symbols) return;
  d->symbols = symbols;
  Symbol symbol = {.kind = s->kind,
                   .name = strdup(s->name),
                   .container = strdup(s->container ? s->container : ""),
                   .place = {s->begin, s->end},
                   .whole = {s->whole_begin, s->whole_end}};
  if (symbol.name && symbol.container) {
    d->symbols[d->symbol_count++] = symbol;
    return;
  }
  free(symbol.name);
  free(symbol.container);
}

void answer_diagnostics(Document* d, Text* out) {
  Collector collector = {.document = d, .out = out};
  SltCompileOptions options = slt_compile_options();
  options.on_diagnostic = put_diagnostic;
  options.user = &collector;
  ModelSource source = {.path = d->path, .name = d->path, .beside = true};
  options.load = d->files.load ? d->files.load : source_load;
  options.load_user = d->files.load ? d->files.user : &source;
  options.structure = true;
  text_put_format(out, "{\"uri\":");
  text_put_json(out, d->uri, strlen(d->uri));
  text_put_format(out, ",\"diagnostics\":[");
  SltModel* model = NULL;
  slt_model_compile(d->path, d->text, d->length, &options, &model);
  slt_model_free(model);
  inputs_clear(&source.inputs);
  if (d->lisma) slt_outline(d->text, d->length, keep_symbol, d);
  text_put_format(out, "]}");
}

// ---- declarations -------------------------------------------------------------------------------

/// The declaration that a word means: in its own automaton if there are several, else the first.
static const Symbol* find_symbol(const Document* d, Place word) {
  const Symbol* found = NULL;
  for (size_t i = 0; i < d->symbol_count; i++) {
    const Symbol* s = &d->symbols[i];
    if (!document_is_word(d, word, s->name)) continue;
    if (s->whole.begin <= word.begin && word.end <= s->whole.end) return s;
    if (!found) found = s;
  }
  return found;
}

/// What is shown of a declaration: its first lines.
static Place declaration_text(const Document* d, const Symbol* s) {
  Place shown = s->whole;
  if (shown.end - shown.begin > HOVER_BYTES) {
    shown.end = shown.begin + HOVER_BYTES;
    while (shown.end > shown.begin && d->text[shown.end - 1] != '\n')
      shown.end--;
    if (shown.end == shown.begin) shown.end = s->place.end;
  }
  return shown;
}

void answer_symbols(const Document* d, Text* out) {
  text_put_format(out, "[");
  for (size_t i = 0; i < d->symbol_count; i++) {
    const Symbol* s = &d->symbols[i];
    text_put_format(out, "%s{\"name\":", i ? "," : "");
    text_put_json(out, s->name, strlen(s->name));
    text_put_format(out, ",\"detail\":\"%s%s\"", kinds[s->kind].text,
                    s->container[0] ? " of " : "");
    if (s->container[0]) {
      out->length--;  // the quote goes behind the container's name
      Text name = {0};
      text_put_json(&name, s->container, strlen(s->container));
      if (name.length > 1) text_put(out, name.data + 1, name.length - 1);
      free(name.data);
    }
    // the range must hold the name
    Place whole = {s->whole.begin < s->place.begin ? s->whole.begin : s->place.begin,
                   s->whole.end > s->place.end ? s->whole.end : s->place.end};
    text_put_format(out, ",\"kind\":%d,\"range\":", kinds[s->kind].symbol);
    document_put_range(d, whole, out);
    text_put_format(out, ",\"selectionRange\":");
    document_put_range(d, s->place, out);
    text_put_format(out, "}");
  }
  text_put_format(out, "]");
}

static void put_hover(const Document* d, Place word, const Text* content, Text* out) {
  text_put_format(out, "{\"contents\":{\"kind\":\"markdown\",\"value\":");
  text_put_json(out, content->data ? content->data : "", content->length);
  text_put_format(out, "},\"range\":");
  document_put_range(d, word, out);
  text_put_format(out, "}");
}

void answer_hover(const Document* d, size_t byte, Text* out) {
  Place word;
  Text content = {0};
  if (document_word_at(d, byte, &word)) {
    const Symbol* s = find_symbol(d, word);
    if (s) {
      Place shown = declaration_text(d, s);
      text_put_format(&content, "```lisma\n%.*s\n```\n%s", (int)(shown.end - shown.begin),
                      d->text + shown.begin, kinds[s->kind].text);
    }
    for (size_t i = 0; i < WORD_COUNT && !s && d->lisma; i++) {
      if (!document_is_word(d, word, words[i].word)) continue;
      text_put_format(&content, "```lisma\n%s\n```\n%s", words[i].form, words[i].text);
    }
  }
  if (content.length) {
    put_hover(d, word, &content, out);
  } else {
    text_put_format(out, "null");
  }
  free(content.data);
}

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
  const Symbol* s = document_word_at(d, byte, &word) ? find_symbol(d, word) : NULL;
  if (s) {
    put_location(d, s->place, true, out);
  } else {
    text_put_format(out, "null");
  }
}

void answer_references(const Document* d, size_t byte, bool locations, Text* out) {
  Place word;
  bool any = false;
  text_put_format(out, "[");
  if (document_word_at(d, byte, &word)) {
    size_t at = 0;
    for (Place other; document_next_word(d, &at, &other);) {
      size_t length = word.end - word.begin;
      if (other.end - other.begin != length) continue;
      if (memcmp(d->text + other.begin, d->text + word.begin, length) != 0) continue;
      if (any) text_put_format(out, ",");
      put_location(d, other, locations, out);
      any = true;
    }
  }
  text_put_format(out, "]");
}

// ---- completion ---------------------------------------------------------------------------------

static void put_item(const char* label, const char* detail, int kind, bool* any, Text* out) {
  text_put_format(out, "%s{\"label\":", *any ? "," : "");
  text_put_json(out, label, strlen(label));
  text_put_format(out, ",\"kind\":%d,\"detail\":", kind);
  text_put_json(out, detail, strlen(detail));
  text_put_format(out, "}");
  *any = true;
}

/// Behind "NAME.": the states of that automaton.
static bool put_states(const Document* d, size_t dot, bool* any, Text* out) {
  Place automaton;
  if (!document_word_at(d, dot, &automaton)) return false;
  bool main = document_is_word(d, automaton, "main");
  bool known = main;
  for (size_t i = 0; i < d->symbol_count; i++) {
    const Symbol* s = &d->symbols[i];
    if (s->kind == SLT_SYMBOL_AUTOMATON && document_is_word(d, automaton, s->name)) known = true;
    bool mine = s->container[0] ? document_is_word(d, automaton, s->container) : main;
    if (s->kind == SLT_SYMBOL_STATE && mine) put_item(s->name, "state", COMPLETE_CLASS, any, out);
  }
  if (known) put_item("state", "the state it is in", COMPLETE_KEYWORD, any, out);
  return known;
}

void answer_completion(const Document* d, size_t byte, Text* out) {
  bool any = false;
  Place word;
  if (!document_word_at(d, byte, &word)) word = (Place){byte, byte};
  text_put_format(out, "[");
  bool dotted = word.begin > 0 && d->text[word.begin - 1] == '.';
  if (!(dotted && put_states(d, word.begin - 1, &any, out))) {
    for (size_t i = 0; i < d->symbol_count; i++) {
      put_item(d->symbols[i].name, kinds[d->symbols[i].kind].text,
               kinds[d->symbols[i].kind].complete, &any, out);
    }
    for (size_t i = 0; i < WORD_COUNT && d->lisma; i++) {
      bool function = strchr(words[i].form, '(') &&
                      strncmp(words[i].form, words[i].word, strlen(words[i].word)) == 0;
      put_item(words[i].word, words[i].form, function ? COMPLETE_FUNCTION : COMPLETE_KEYWORD, &any,
               out);
    }
  }
  text_put_format(out, "]");
}

// ---- changes ------------------------------------------------------------------------------------

void answer_formatting(const Document* d, Text* out) {
  Text formatted = {0};
  SltStatus status =
      d->lisma ? slt_format(d->path, d->text, d->length, NULL, (SltWriter){text_keep, &formatted})
               : SLT_ERR_UNSUPPORTED;
  bool same = formatted.length == d->length &&
              (d->length == 0 || memcmp(formatted.data, d->text, d->length) == 0);
  text_put_format(out, "[");
  if (status >= 0 && !same) {
    text_put_format(out, "{\"range\":");
    document_put_range(d, (Place){0, d->length}, out);
    text_put_format(out, ",\"newText\":");
    text_put_json(out, formatted.data ? formatted.data : "", formatted.length);
    text_put_format(out, "}");
  }
  text_put_format(out, "]");
  free(formatted.data);
}

void answer_actions(const Document* d, Place asked, Text* out) {
  bool any = false;
  text_put_format(out, "[");
  for (size_t i = 0; i < d->fix_count; i++) {
    const Fix* fix = &d->fixes[i];
    if (fix->place.begin > asked.end || fix->place.end < asked.begin) continue;
    Text title = {0};
    text_put_format(&title, "write '%s'", fix->text);
    text_put_format(out, "%s{\"title\":", any ? "," : "");
    text_put_json(out, title.data ? title.data : "", title.length);
    free(title.data);
    text_put_format(out, ",\"kind\":\"quickfix\",\"edit\":{\"changes\":{");
    text_put_json(out, d->uri, strlen(d->uri));
    text_put_format(out, ":[{\"range\":");
    document_put_range(d, fix->place, out);
    text_put_format(out, ",\"newText\":");
    text_put_json(out, fix->text, strlen(fix->text));
    text_put_format(out, "}]}}}");
    any = true;
  }
  text_put_format(out, "]");
}

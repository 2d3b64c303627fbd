// SPDX-License-Identifier: MIT
#define _POSIX_C_SOURCE 200809L
#include "figure.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int find_option(const OptionParser* p, const char* text, size_t length) {
  for (size_t i = 0; i < p->spec_count; i++) {
    const OptionSpec* spec = &p->specs[i];
    if (!spec->name) continue;  // shared with other commands, and not one of this
    if (strlen(spec->name) == length && memcmp(spec->name, text, length) == 0) return (int)i;
    if (spec->letter && strlen(spec->letter) == length && memcmp(spec->letter, text, length) == 0) {
      return (int)i;
    }
  }
  return -1;
}

/// What other programs call an option of ours.
static const char* known_elsewhere(const OptionParser* p, const char* word) {
  static const char* const pairs[][2] = {
      {"--end", "--until"},    {"--stop", "--until"},     {"--stop-time", "--until"},
      {"--tend", "--until"},   {"--t-end", "--until"},    {"--tstop", "--until"},
      {"--to", "--until"},     {"--start", "--from"},     {"--start-time", "--from"},
      {"--tol", "--rtol"},     {"--tolerance", "--rtol"}, {"--reltol", "--rtol"},
      {"--abstol", "--atol"},  {"--solver", "--method"},  {"--integrator", "--method"},
      {"--dt", "--step"},      {"--step-size", "--step"}, {"--max-step", "--hmax"},
      {"--output", "-o"},      {"--csv", "-o"},           {"--mat", "-o"},
      {"--param", "--set"},    {"--parameter", "--set"},  {"--override", "--set"},
      {"--vars", "--out"},     {"--variables", "--out"},  {"--interval", "--every"},
      {"--silent", "--quiet"}, {"--svg", "--plot"},       {"--png", "--plot"},
      {"--pdf", "--plot"},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    if (strcmp(word, pairs[i][0]) != 0) continue;
    return find_option(p, pairs[i][1], strlen(pairs[i][1])) >= 0 ? pairs[i][1] : NULL;
  }
  return NULL;
}

static int unknown_option(const OptionParser* p, const char* text, size_t length) {
  char word[64];
  snprintf(word, sizeof word, "%.*s", (int)(length < 60 ? length : 60), text);
  cli_error("%s has no option %s", p->command, word);
  const char* names[128];
  char keys[64][24];
  size_t count = 0;
  for (size_t i = 0; i < p->spec_count && count < 64; i++) {
    if (p->specs[i].name) names[count++] = p->specs[i].name;
  }
  for (uint32_t i = 0; p->figure && i < slt_figure_key_count() && i < 64; i++) {
    snprintf(keys[i], sizeof keys[i], "--%s", slt_figure_key(i).name);
    names[count++] = keys[i];
  }
  const char* nearest = known_elsewhere(p, word);
  if (!nearest) nearest = cli_nearest(word, names, count);
  if (nearest) {
    cli_hint("did you mean %s?", nearest);
  } else {
    cli_hint("`saltus help %s` lists the options", p->command);
  }
  return OPTION_BAD;
}

static bool is_known(const OptionParser* p, const char* text) {
  return find_option(p, text, strlen(text)) >= 0 ||
         (p->figure && figure_option_find(text, strlen(text)) >= 0);
}

/// The value stands behind '=' or is the next argument, which must not look like an option of ours.
static int take_value(OptionParser* p, int index, const char* equals) {
  const OptionSpec* spec = &p->specs[index];
  p->value = equals ? equals + 1 : NULL;
  p->given |= UINT64_C(1) << index;
  if (spec->argument == OPTION_FLAG) {
    if (!equals) return index;
    cli_error("%s takes no value", spec->name);
    return OPTION_BAD;
  }
  if (spec->argument == OPTION_MAYBE || equals) return index;
  if (p->at >= p->argc || is_known(p, p->argv[p->at])) {
    cli_error("%s needs a value", spec->name);
    cli_hint("`saltus help %s` shows how it is used", p->command);
    return OPTION_BAD;
  }
  p->value = p->argv[p->at++];
  return index;
}

/// A setting of a picture is kept; false after a message.
static bool take_setting(OptionParser* p, int key, const char* equals) {
  bool flag = slt_figure_key((uint32_t)key).is_flag;
  const char* value = equals ? equals + 1 : flag ? "on" : NULL;
  if (!value && p->at < p->argc && !is_known(p, p->argv[p->at])) value = p->argv[p->at++];
  if (value) return figure_option_add(p->figure, key, value);
  cli_error("--%s needs a value", slt_figure_key((uint32_t)key).name);
  cli_hint("`saltus help %s` shows how it is used", p->command);
  return false;
}

int option_next(OptionParser* p) {
  if (p->at >= p->argc) return OPTION_END;
  const char* text = p->argv[p->at++];
  if (!p->words_only && strcmp(text, "--") == 0) {
    p->words_only = true;
    return option_next(p);
  }
  // "-" alone is a word, and so are negative numbers
  bool is_option = text[0] == '-' && text[1] != '\0' && !isdigit((unsigned char)text[1]);
  if (p->words_only || !is_option) {
    p->value = text;
    return OPTION_WORD;
  }
  const char* equals = text[1] == '-' ? strchr(text, '=') : NULL;
  size_t length = equals ? (size_t)(equals - text) : strlen(text);
  int index = find_option(p, text, length);
  int key = index < 0 && p->figure ? figure_option_find(text, length) : -1;
  if (key >= 0) return take_setting(p, key, equals) ? option_next(p) : OPTION_BAD;
  return index < 0 ? unknown_option(p, text, length) : take_value(p, index, equals);
}

bool option_rules_hold(const OptionParser* p, const OptionRule* rules, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const OptionRule* rule = &rules[i];
    bool other = p->given >> rule->other & 1;
    if (!(p->given >> rule->option & 1) || other != rule->without) continue;
    cli_error("%s has nothing to say %s %s", p->specs[rule->option].name,
              rule->without ? "beside" : "without", p->specs[rule->other].name);
    cli_hint("%s; `saltus help %s` shows what goes together",
             rule->without ? "leave one of them out" : "give both, or leave it out", p->command);
    return false;
  }
  return true;
}

const char* option_first(const OptionParser* p, int a, int b) {
  for (int i = a; i <= b; i++) {
    if (p->given >> i & 1) return p->specs[i].name;
  }
  return NULL;
}

// ---- values -------------------------------------------------------------------------------------

bool cli_read_number(const char* text, double* out) {
  // what strtod also takes (blanks, hexadecimal, "inf", "nan") is no number of the language
  const char* at = text + (*text == '+' || *text == '-');
  size_t digits = 0;
  for (; isdigit((unsigned char)*at); at++)
    digits++;
  if (*at == '.') at++;
  for (; isdigit((unsigned char)*at); at++)
    digits++;
  if (digits == 0) return false;
  if (*at == 'e' || *at == 'E') {
    at++;
    if (*at == '+' || *at == '-') at++;
    if (!isdigit((unsigned char)*at)) return false;
    while (isdigit((unsigned char)*at))
      at++;
  }
  if (*at != '\0') return false;
  *out = strtod(text, NULL);  // the program never leaves the "C" locale
  return isfinite(*out);
}

bool option_number(const char* option, const char* text, double* out) {
  if (cli_read_number(text, out)) return true;
  cli_error("%s needs a number, not `%s`", option, text);
  if (strchr(text, ',')) cli_hint("write decimals with a point, e.g. 0.5");
  return false;
}

bool option_positive(const char* option, const char* text, double* out) {
  if (!option_number(option, text, out)) return false;
  if (*out > 0.0) return true;
  cli_error("%s must be greater than 0, not %s", option, text);
  return false;
}

bool option_count(const char* option, const char* text, uint64_t least, uint64_t most,
                  uint64_t* out) {
  bool digits = text[0] != '\0';
  for (const char* at = text; *at; at++)
    digits = digits && isdigit((unsigned char)*at);
  errno = 0;
  unsigned long long value = digits ? strtoull(text, NULL, 10) : 0;
  if (digits && errno == 0 && value >= least && value <= most) {
    *out = value;
    return true;
  }
  cli_error("%s needs a whole number from %llu to %llu, not `%s`", option,
            (unsigned long long)least, (unsigned long long)most, text);
  return false;
}

int option_choice(const char* option, const char* text, const char* const* words, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(text, words[i]) == 0) return (int)i;
  }
  cli_error("%s does not know `%s`", option, text);
  const char* nearest = cli_nearest(text, words, count);
  if (nearest) {
    cli_hint("did you mean %s?", nearest);
    return -1;
  }
  char list[512] = "";
  for (size_t i = 0; i < count; i++) {
    size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", words[i]);
  }
  cli_hint("one of: %s", list);
  return -1;
}

// ---- names --------------------------------------------------------------------------------------

/// Copy one name without its backquotes and without blanks around it; `*at` moves to its end.
/// Commas in parentheses and brackets belong to an expression.
static bool take_name(const char** at, char** to, size_t* length) {
  const char* from = *at;
  char* begin = *to;
  bool quoted = false;
  uint32_t depth = 0;
  while (*from == ' ' || *from == '\t')
    from++;
  while (*from && (quoted || depth > 0 || *from != ',')) {
    if (!quoted && (*from == '(' || *from == '[')) depth++;
    if (!quoted && (*from == ')' || *from == ']') && depth > 0) depth--;
    if (*from == '`') {
      quoted = !quoted;
    } else {
      *(*to)++ = *from;
    }
    from++;
  }
  while (*to > begin && ((*to)[-1] == ' ' || (*to)[-1] == '\t') && from[-1] != '`')
    (*to)--;
  *length = (size_t)(*to - begin);
  *(*to)++ = '\0';
  *at = from;
  return !quoted;
}

bool cli_names_parse(const char* option, const char* text, CliNames* out) {
  size_t length = strlen(text);
  *out = (CliNames){.storage = malloc(length + 2), .items = malloc((length + 1) * sizeof(char*))};
  if (!out->storage || !out->items) {
    cli_error("out of memory");
    cli_names_clear(out);
    return false;
  }
  char* to = out->storage;
  for (const char* at = text;; at++) {
    size_t name_length = 0;
    out->items[out->count++] = to;
    if (!take_name(&at, &to, &name_length)) {
      cli_error("%s: a backquote is not closed in `%s`", option, text);
      cli_names_clear(out);
      return false;
    }
    if (name_length == 0) {
      cli_error("%s: a name is missing in `%s`", option, text);
      cli_hint("names are separated by single commas: %s x,y", option);
      cli_names_clear(out);
      return false;
    }
    if (*at == '\0') return true;
  }
}

bool cli_names_keep(CliNames* names, const char* name) {
  for (uint32_t i = 0; i < names->count; i++) {
    if (strcmp(names->items[i], name) == 0) return true;
  }
  char* copy = strdup(name);
  const char** grown = copy ? realloc(names->items, (names->count + 1) * sizeof *grown) : NULL;
  if (!grown) {
    free(copy);
    return out_of_memory() == CLI_DONE;
  }
  grown[names->count++] = copy;
  names->items = grown;
  return true;
}

void cli_names_clear(CliNames* names) {
  for (uint32_t i = 0; !names->storage && i < names->count; i++)
    free((void*)names->items[i]);
  free(names->storage);
  free((void*)names->items);
  *names = (CliNames){0};
}

// ---- values -------------------------------------------------------------------------------------

#define VALUE_DEPTH 100  // signs, powers and parentheses inside of each other

/// A sum being read; `ok` is false once something was not understood.
typedef struct Formula {
  const char* at;
  int depth;
  bool ok;
} Formula;

static double read_sum(Formula* f);

static void skip_blanks(Formula* f) {
  f->at += strspn(f->at, " \t");
}

/// Take a sign if it is the next one.
static bool take(Formula* f, char sign) {
  skip_blanks(f);
  if (*f->at != sign) return false;
  f->at++;
  return true;
}

static double read_plain(Formula* f) {
  double value = 0.0;
  size_t letters = 0;
  while (isalpha((unsigned char)f->at[letters]))
    letters++;
  if (letters == 2 && strncmp(f->at, "pi", 2) == 0) {
    f->at += 2;
    return 3.14159265358979323846;
  }
  size_t length = strspn(f->at, "0123456789.");
  if (length && (f->at[length] == 'e' || f->at[length] == 'E')) {
    size_t sign = strspn(f->at + length + 1, "+-") ? 1 : 0;
    length += 1 + sign + strspn(f->at + length + 1 + sign, "0123456789");
  }
  char number[64] = "";
  if (length < sizeof number) memcpy(number, f->at, length);
  f->ok = f->ok && length < sizeof number && cli_read_number(number, &value);
  f->at += length;
  return value;
}

static double read_factor(Formula* f) {
  double value = 0.0;
  f->ok = f->ok && ++f->depth < VALUE_DEPTH;
  if (!f->ok) return value;
  if (take(f, '-')) {
    value = -read_factor(f);
    f->depth--;
    return value;
  }
  if (take(f, '(')) {
    value = read_sum(f);
    f->ok = f->ok && take(f, ')');
  } else {
    value = read_plain(f);
  }
  if (f->ok && take(f, '^')) value = pow(value, read_factor(f));
  f->depth--;
  return value;
}

static double read_product(Formula* f) {
  double value = read_factor(f);
  while (f->ok) {
    if (take(f, '*')) {
      value *= read_factor(f);
    } else if (take(f, '/')) {
      value /= read_factor(f);
    } else {
      break;
    }
  }
  return value;
}

static double read_sum(Formula* f) {
  double value = read_product(f);
  while (f->ok) {
    if (take(f, '+')) {
      value += read_product(f);
    } else if (take(f, '-')) {
      value -= read_product(f);
    } else {
      break;
    }
  }
  return value;
}

bool cli_read_value(const char* text, double* out) {
  if (cli_read_number(text, out)) return true;
  Formula f = {.at = text, .ok = true};
  *out = read_sum(&f);
  skip_blanks(&f);
  return f.ok && *f.at == '\0' && isfinite(*out);
}

bool option_time(const char* option, const char* text, double* out) {
  static const struct {
    const char* unit;
    double seconds;
  } units[] = {{"us", 1e-6},  {"ms", 1e-3},  {"s", 1.0},
               {"min", 60.0}, {"h", 3600.0}, {"d", 86400.0}};
  size_t length = strlen(text);
  size_t letters = 0;
  while (letters < length && isalpha((unsigned char)text[length - 1 - letters]))
    letters++;
  for (size_t i = 0; letters && i < sizeof units / sizeof *units; i++) {
    if (strcmp(text + length - letters, units[i].unit) != 0) continue;
    char number[64] = "";
    size_t digits = length - letters;
    while (digits > 0 && text[digits - 1] == ' ')
      digits--;
    if (digits >= sizeof number) break;
    memcpy(number, text, digits);
    if (!cli_read_number(number, out)) break;
    *out *= units[i].seconds;
    return true;
  }
  if (!letters || !isdigit((unsigned char)text[0])) return option_number(option, text, out);
  cli_error("%s needs a time, not `%s`", option, text);
  cli_hint("a number, or one with a unit: us, ms, s, min, h, d");
  return false;
}

bool option_span(const char* option, const char* text, double* out) {
  if (!option_time(option, text, out)) return false;
  if (*out > 0.0) return true;
  cli_error("%s must be greater than 0, not %s", option, text);
  return false;
}

// ---- settings -----------------------------------------------------------------------------------

bool cli_settings_push(CliSettings* settings, const char* begin, const char* end, double value) {
  begin += strspn(begin, " ");
  while (end > begin && end[-1] == ' ')
    end--;
  if (end - begin > 2 && *begin == '`' && end[-1] == '`') {
    begin++;
    end--;
  }
  char* name = malloc((size_t)(end - begin) + 1);
  SltOverride* items = realloc(settings->items, (settings->count + 1) * sizeof *items);
  if (items) settings->items = items;
  if (!name || !items) {
    free(name);
    cli_error("out of memory");
    return false;
  }
  memcpy(name, begin, (size_t)(end - begin));
  name[end - begin] = '\0';
  settings->items[settings->count++] = (SltOverride){.name = name, .value = value};
  return true;
}

bool cli_settings_add(CliSettings* settings, const char* text) {
  const char* equals = strrchr(text, '=');
  if (!equals || equals == text) {
    cli_error("--set needs NAME=VALUE, not `%s`", text);
    cli_hint("for example: --set mass=2.5");
    return false;
  }
  double value = 0.0;
  if (!cli_read_value(equals + 1, &value)) {
    cli_error("--set %s: `%s` is no number", text, equals + 1);
    if (strchr(equals + 1, ',')) {
      cli_hint("write decimals with a point, e.g. 0.5");
    } else {
      cli_hint("a number, or a formula of numbers: 2.5, 1/3, 2*pi");
    }
    return false;
  }
  return cli_settings_push(settings, text, equals, value);
}

void cli_settings_clear(CliSettings* settings) {
  for (uint32_t i = 0; i < settings->count; i++)
    free((char*)settings->items[i].name);
  free(settings->items);
  *settings = (CliSettings){0};
}

bool cli_one_model(const char* command, const char* word, const char** path) {
  if (*path) {
    cli_error("%s takes one model, `%s` is too much", command, word);
    return false;
  }
  *path = word;
  return true;
}

// SPDX-License-Identifier: MIT
//
// Designs from text: `k=0:10:101`, `k~normal(1, 0.1)`, `a,b=0.8`.
#include "experiment/design.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_FILE ((size_t)256 << 20)  // bytes of a file of values

typedef struct Cursor {
  const char* at;
  SltProblem* problem;
  const char* text;  // the whole, for messages
} Cursor;

static SltStatus malformed(const Cursor* c) {
  return problem_set(c->problem, SLT_ERR_SYNTAX,
                     "k=0:10:101, k=1,2,5, k~normal(1, 0.1), k~uniform(0, 1)",
                     "`%.100s` is no way to vary a parameter", c->text);
}

static char peek(Cursor* c) {
  while (*c->at == ' ' || *c->at == '\t')
    c->at++;
  return *c->at;
}

static bool take(Cursor* c, char wanted) {
  if (peek(c) != wanted) return false;
  c->at++;
  return true;
}

/// A number, or a quotient of two: 1/3.
static bool take_number(Cursor* c, double* out) {
  peek(c);
  uint32_t length = number_read(str_from_c(c->at), true, out);
  c->at += length;
  if (length == 0 || !isfinite(*out)) return false;
  double divisor = 1.0;
  if (!take(c, '/')) return true;
  peek(c);
  length = number_read(str_from_c(c->at), true, &divisor);
  c->at += length;
  *out /= divisor;
  return length > 0 && isfinite(*out);
}

static SltStatus empty_range(const Cursor* c) {
  return problem_set(c->problem, SLT_ERR_ARGUMENT, "from the smaller to the larger: k=0:10:101",
                     "`%.100s`: the range is empty", c->text);
}

/// `a:b:n`, `a:b` behind the equals sign.
static SltStatus read_range(Cursor* c, DesignAxis* axis) {
  double count = 0.0;
  axis->spread = SPREAD_RANGE;
  if (!take_number(c, &axis->a) || !take(c, ':') || !take_number(c, &axis->b)) return malformed(c);
  bool counted = take(c, ':');
  if (counted && !take_number(c, &count)) return malformed(c);
  if (counted && !(count >= 1.0 && count <= 1e15 && count == floor(count))) {
    return problem_set(c->problem, SLT_ERR_ARGUMENT, "k=0:10:101 is 101 values from 0 to 10",
                       "`%.100s`: the third number is how many values there are", c->text);
  }
  axis->count = (uint64_t)count;
  bool single = axis->count == 1 && axis->a == axis->b;
  return axis->a < axis->b || single ? SLT_OK : empty_range(c);
}

static SltStatus read_list(Cursor* c, DesignAxis* axis) {
  uint64_t capacity = 1;
  for (const char* at = c->at; *at; at++)
    capacity += *at == ',';
  axis->spread = SPREAD_LIST;
  axis->values = malloc(capacity * sizeof *axis->values);
  if (!axis->values) return SLT_ERR_NOMEM;
  do {
    if (!take_number(c, &axis->values[axis->count])) return malformed(c);
    axis->count++;
  } while (take(c, ','));
  return SLT_OK;
}

static SltStatus read_values(Cursor* c, DesignAxis* axis) {
  peek(c);
  bool ratios = strncmp(c->at, "log(", 4) == 0;
  if (ratios) {
    c->at += 4;
    SLT_TRY(read_range(c, axis));
    axis->spread = SPREAD_LOG;
    if (!(axis->a > 0.0)) {
      return problem_set(c->problem, SLT_ERR_ARGUMENT, "log(0.001:10:5)",
                         "`%.100s`: equal ratios need numbers greater than 0", c->text);
    }
    return take(c, ')') ? SLT_OK : malformed(c);
  }
  return strchr(c->at, ':') ? read_range(c, axis) : read_list(c, axis);
}

// ---- distributions ------------------------------------------------------------------------------

static int compare_numbers(const void* a, const void* b) {
  const double* x = a;
  const double* y = b;
  return (*x > *y) - (*x < *y);
}

/// The numbers of a column, in order.
static SltStatus take_column(const Cursor* c, const SltTable* table, const char* column,
                             DesignAxis* axis) {
  uint32_t rows = slt_table_row_count(table);
  uint32_t k = 0;
  uint32_t found = 0;
  for (uint32_t i = 0; i < slt_table_column_count(table); i++) {
    if (strcmp(slt_table_column_name(table, i), column) != 0) continue;
    k = i;
    found++;
  }
  if (found != 1) {
    return problem_set(c->problem, found ? SLT_ERR_ARGUMENT : SLT_ERR_NOT_FOUND, NULL,
                       "the file has %s column `%.100s`", found ? "more than one" : "no", column);
  }
  SLT_TRY(table_check_numbers(table, k, c->problem));
  axis->values = malloc((rows + (size_t)1) * sizeof *axis->values);
  if (!axis->values) return SLT_ERR_NOMEM;
  for (uint32_t i = 0; i < rows; i++) {
    double value = slt_table_value(table, i, k);
    if (isfinite(value)) axis->values[axis->count++] = value;
  }
  if (axis->count == 0) {
    return problem_set(c->problem, SLT_ERR_ARGUMENT, NULL, "the column `%.100s` has no numbers",
                       column);
  }
  qsort(axis->values, axis->count, sizeof *axis->values, compare_numbers);
  return SLT_OK;
}

/// `FILE.csv, column)`.
static SltStatus read_empirical(Cursor* c, DesignAxis* axis) {
  peek(c);
  size_t length = strcspn(c->at, ",");
  size_t total = strlen(c->at);
  if (c->at[length] != ',' || c->at[total - 1] != ')') return malformed(c);
  char* file = malloc(length + 1);
  char column[256];
  if (!file) return problem_set(c->problem, SLT_ERR_NOMEM, NULL, "out of memory");
  axis->file = file;
  const char* name = c->at + length + 1;
  name += strspn(name, " \t");
  memcpy(file, c->at, length);
  file[length] = '\0';
  snprintf(column, sizeof column, "%.*s", (int)(c->at + total - 1 - name), name);
  c->at += total;
  axis->spread = SPREAD_LIST;
  char* content = NULL;
  size_t size = 0;
  SltStatus status = slt_file_read(file, false, VALUES_FILE, NULL, &content, &size);
  if (status < 0) {
    const char* why =
        status == SLT_ERR_NOT_FOUND ? "there is no such file" : slt_status_text(status);
    return problem_set(c->problem, SLT_ERR_IO, NULL, "cannot read %.200s: %s", file, why);
  }
  SltTable* table = NULL;
  uint32_t line = 0;
  status = slt_table_read_csv(content, size, &table, &line);
  free(content);
  if (status < 0) {
    return problem_set(c->problem, status, "as many cells in every line as in the first",
                       "%.200s:%u: this line is no row of the table", file, line);
  }
  status = take_column(c, table, column, axis);
  slt_table_free(table);
  return status;
}

static const struct {
  const char* name;
  Spread spread;
  int numbers;
} distributions[] = {
    {"uniform", SPREAD_RANGE, 2},       {"normal", SPREAD_NORMAL, 2},
    {"lognormal", SPREAD_LOGNORMAL, 2}, {"triangular", SPREAD_TRIANGULAR, 3},
    {"loguniform", SPREAD_LOG, 2},
};

static SltStatus check_distribution(const Cursor* c, const DesignAxis* axis) {
  switch (axis->spread) {
  case SPREAD_NORMAL:
  case SPREAD_LOGNORMAL:
    if (axis->b >= 0.0) return SLT_OK;
    return problem_set(c->problem, SLT_ERR_ARGUMENT, NULL, "`%.100s`: a deviation is not negative",
                       c->text);
  case SPREAD_TRIANGULAR:
    return axis->a <= axis->b && axis->b <= axis->c && axis->a < axis->c ? SLT_OK : empty_range(c);
  case SPREAD_LOG: return axis->a > 0.0 && axis->a < axis->b ? SLT_OK : empty_range(c);
  case SPREAD_LIST:
  case SPREAD_RANGE:
  default: return axis->a < axis->b ? SLT_OK : empty_range(c);
  }
}

static SltStatus read_distribution(Cursor* c, DesignAxis* axis) {
  peek(c);
  size_t length = strcspn(c->at, "(");
  const char* name = c->at;
  c->at += length;
  if (!take(c, '(')) return malformed(c);
  if (length == 9 && memcmp(name, "empirical", 9) == 0) return read_empirical(c, axis);
  for (size_t i = 0; i < SLT_COUNT(distributions); i++) {
    if (strlen(distributions[i].name) != length) continue;
    if (memcmp(distributions[i].name, name, length) != 0) continue;
    axis->spread = distributions[i].spread;
    double* numbers[] = {&axis->a, &axis->b, &axis->c};
    for (int k = 0; k < 3 && k < distributions[i].numbers; k++) {
      if ((k > 0 && !take(c, ',')) || !take_number(c, numbers[k])) return malformed(c);
    }
    if (!take(c, ')')) return malformed(c);
    return check_distribution(c, axis);
  }
  return problem_set(c->problem, SLT_ERR_NOT_FOUND,
                     "uniform, normal, lognormal, loguniform, triangular, empirical",
                     "there is no distribution `%.*s`", (int)(length < 60 ? length : 60), name);
}

// ---- parameters ---------------------------------------------------------------------------------

static SltStatus find_axis(const SltDesign* design, Str name, uint32_t* out) {
  for (*out = 0; *out < design->count; ++*out) {
    if (str_equal(name, str_from_c(design->axes[*out].parameter.name))) return SLT_OK;
  }
  return SLT_ERR_NOT_FOUND;
}

static Str trimmed(const char* begin, const char* end) {
  while (begin < end && (*begin == ' ' || *begin == '\t'))
    begin++;
  while (end > begin && (end[-1] == ' ' || end[-1] == '\t'))
    end--;
  return (Str){begin, (uint32_t)(end - begin)};
}

static SltStatus add_axis(SltDesign* design, Cursor* c, DesignAxis* axis) {
  const char* sign = strpbrk(c->at, "=~");
  if (!sign || sign == c->at) return malformed(c);
  Str name = trimmed(c->at, sign);
  uint32_t same = 0;
  if (find_axis(design, name, &same) >= 0) {
    return problem_set(c->problem, SLT_ERR_ARGUMENT, NULL, "`%.*s` is varied twice",
                       STR_ARGS(name));
  }
  c->at = sign + 1;
  SLT_TRY(*sign == '=' ? read_values(c, axis) : read_distribution(c, axis));
  if (peek(c) != '\0') return malformed(c);
  return parameter_find(design->model, name, &axis->parameter, c->problem);
}

/// Seeds are whole numbers from 0 on. Ends of a range are looked at; what lies between is rounded.
static SltStatus check_seeds(const Cursor* c, const DesignAxis* axis) {
  bool ends = axis->spread == SPREAD_RANGE || axis->spread == SPREAD_LOG;
  bool good = ends ? axis->a >= 0.0 && axis->b <= 0x1p53 : axis->spread == SPREAD_LIST;
  for (uint64_t i = 0; good && axis->spread == SPREAD_LIST && i < axis->count; i++) {
    double seed = axis->values[i];
    good = seed >= 0.0 && seed <= 0x1p53 && seed == floor(seed);
  }
  if (good) return SLT_OK;
  return problem_set(c->problem, SLT_ERR_ARGUMENT,
                     "seed=1:100:100, seed=3,7 or seed~uniform(0, 1e9)",
                     "`%.100s`: seeds are whole numbers from 0 on", c->text);
}

SltStatus slt_design_add(SltDesign* design, const char* text, SltProblem* problem) {
  if (!design || !text) return SLT_ERR_ARGUMENT;
  if (problem) *problem = (SltProblem){.message = ""};
  Cursor c = {.at = text, .problem = problem, .text = text};
  DesignAxis axis = {.spread = SPREAD_LIST};
  DesignAxis* room = realloc(design->axes, ((size_t)design->count + 1) * sizeof *room);
  if (!room) return SLT_ERR_NOMEM;
  design->axes = room;
  SltStatus status = add_axis(design, &c, &axis);
  if (status >= 0 && axis.parameter.kind == PARAMETER_SEED) {
    status = check_seeds(&c, &axis);
    if (status < 0) parameter_clear(&axis.parameter);
  }
  if (status < 0) {
    free(axis.values);
    free(axis.file);
    return status;
  }
  design->axes[design->count++] = axis;
  return SLT_OK;
}

/// Room for the correlations of all parameters so far; those that are new have none.
static SltStatus make_triangles(SltDesign* d) {
  size_t size = design_place(d->count, 0);
  double* correlation = realloc(d->correlation, size * sizeof *correlation);
  if (correlation) d->correlation = correlation;
  double* factor = realloc(d->factor, size * sizeof *factor);
  if (factor) d->factor = factor;
  if (!correlation || !factor) return SLT_ERR_NOMEM;
  for (; d->triangle < size; d->triangle++)
    d->correlation[d->triangle] = 0.0;
  return SLT_OK;
}

SltStatus design_factorise(SltDesign* d) {
  SLT_TRY(make_triangles(d));
  double* f = d->factor;
  for (uint32_t i = 0; i < d->count; i++) {
    for (uint32_t j = 0; j <= i; j++) {
      double sum = i == j ? 1.0 : d->correlation[design_place(i, j)];
      for (uint32_t k = 0; k < j; k++)
        sum -= f[design_place(i, k)] * f[design_place(j, k)];
      if (i == j && !(sum > 0.0)) return SLT_ERR_ARGUMENT;
      f[design_place(i, j)] = i == j ? sqrt(sum) : sum / f[design_place(j, j)];
    }
  }
  return SLT_OK;
}

SltStatus slt_design_correlate(SltDesign* design, const char* text, SltProblem* problem) {
  if (!design || !text) return SLT_ERR_ARGUMENT;
  if (problem) *problem = (SltProblem){.message = ""};
  const char* comma = strchr(text, ',');
  const char* equals = comma ? strchr(comma, '=') : NULL;
  Cursor c = {.at = equals ? equals + 1 : text, .problem = problem, .text = text};
  double value = 0.0;
  if (!equals || !take_number(&c, &value) || peek(&c) != '\0' || !(fabs(value) < 1.0)) {
    return problem_set(problem, SLT_ERR_SYNTAX, "a,b=0.8: a number between -1 and 1",
                       "`%.100s` is no correlation", text);
  }
  uint32_t i = 0;
  uint32_t j = 0;
  Str a = trimmed(text, comma);
  Str b = trimmed(comma + 1, equals);
  if (find_axis(design, a, &i) < 0 || find_axis(design, b, &j) < 0 || i == j) {
    return problem_set(problem, SLT_ERR_NOT_FOUND, "both have to vary",
                       "`%.100s`: two parameters that vary are needed", text);
  }
  SLT_TRY(make_triangles(design));
  design->correlation[design_place(i > j ? i : j, i > j ? j : i)] = value;
  design->correlated = true;
  if (design_factorise(design) >= 0) return SLT_OK;
  return problem_set(problem, SLT_ERR_ARGUMENT, "smaller ones, or fewer",
                     "no numbers can have all these correlations");
}

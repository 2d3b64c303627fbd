// SPDX-License-Identifier: MIT
//
// Two courses of a quantity compared. A jump is two rows at one time; the stretches between jumps
// are compared with each other, jump times are matched in order. A jump that comes a little later
// is then a difference of times, not a large difference of values. Texts, such as states of
// automata, are numbered: two of them are equal or not.
#include "experiment/experiment.h"
#include "record/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COMPARE_COOKIE 0x51a17007u

/// A quantity over time, rows in order of time. The values of `words` are numbers of texts.
typedef struct Course {
  bool words;
  double *t, *v;
  uint32_t count, capacity;
  uint32_t* jumps;  // first row of each pair of rows at one time where a stretch ends
  uint32_t jump_count, jump_capacity;
} Course;

static void course_clear(Course* c) {
  free(c->t);
  free(c->v);
  free(c->jumps);
  *c = (Course){0};
}

static SltStatus course_add(Course* c, double t, double v) {
  if (c->count == c->capacity) {
    uint32_t capacity = c->capacity ? 2 * c->capacity : 256;
    double* times = realloc(c->t, capacity * sizeof *times);
    if (times) c->t = times;
    double* values = realloc(c->v, capacity * sizeof *values);
    if (values) c->v = values;
    if (!times || !values) return SLT_ERR_NOMEM;
    c->capacity = capacity;
  }
  c->t[c->count] = t;
  c->v[c->count++] = v;
  return SLT_OK;
}

/// Stretches end at two rows at one time whose values differ by more than `least`.
static SltStatus find_jumps(Course* c, double least) {
  c->jump_count = 0;
  for (uint32_t i = 0; i + 1 < c->count; i++) {
    if (c->t[i] != c->t[i + 1] || !(fabs(c->v[i] - c->v[i + 1]) > least)) continue;
    if (c->jump_count == c->jump_capacity) {
      uint32_t capacity = c->jump_capacity ? 2 * c->jump_capacity : 64;
      uint32_t* jumps = realloc(c->jumps, capacity * sizeof *jumps);
      if (!jumps) return SLT_ERR_NOMEM;
      c->jumps = jumps;
      c->jump_capacity = capacity;
    }
    c->jumps[c->jump_count++] = i;
  }
  return SLT_OK;
}

/// Rows of the k-th stretch between jumps.
static void stretch(const Course* c, uint32_t k, uint32_t* first, uint32_t* last) {
  *first = k == 0 ? 0 : c->jumps[k - 1] + 1;
  *last = k < c->jump_count ? c->jumps[k] : c->count - 1;
}

/// Value at a time inside of the rows first..last: the row itself, or the cubic through four rows,
/// or the text that stands on both sides. False where there are not as many: rows too far apart
/// tell nothing about what is between them.
static bool course_value(const Course* c, uint32_t first, uint32_t last, double t, double* value) {
  uint32_t lo = first;
  uint32_t hi = last;
  while (hi - lo > 1) {
    uint32_t middle = lo + (hi - lo) / 2;
    if (c->t[middle] <= t) {
      lo = middle;
    } else {
      hi = middle;
    }
  }
  bool there = c->t[hi] == t || c->t[lo] == t;
  *value = c->t[hi] == t ? c->v[hi] : c->v[lo];
  if (there) return true;
  if (c->words) return c->v[lo] == c->v[hi];
  if (last - first < 3) return false;
  uint32_t begin = lo > first ? lo - 1 : lo;
  if (begin + 3 > last) begin = last - 3;
  uint32_t end = begin + 3;
  double sum = 0.0;
  for (uint32_t i = begin; i <= end; i++) {
    double weight = 1.0;
    for (uint32_t k = begin; k <= end; k++) {
      if (c->t[k] == c->t[i]) continue;
      weight *= (t - c->t[k]) / (c->t[i] - c->t[k]);
    }
    sum += weight * c->v[i];
  }
  *value = sum;
  return true;
}

/// The difference at one point. Two texts, and a number beside a text, an infinity or nothing, are
/// apart beyond every tolerance.
static void note_difference(SltComparison* out, double t, double a, double b, bool words,
                            double* squares, uint64_t* numbers) {
  out->points++;
  bool measured = isfinite(a) && isfinite(b) && !words;
  bool equal = a == b || (isnan(a) && isnan(b));
  double difference = equal ? 0.0 : measured ? fabs(a - b) : HUGE_VAL;
  *numbers += measured;
  *squares += measured ? difference * difference : 0.0;
  if (difference > out->largest) {
    out->largest = difference;
    out->t_largest = t;
  }
}

/// Rows of `a` inside of both stretches against what `b` is there.
static void compare_rows(const Course* a, const Course* b, uint32_t k, SltComparison* out,
                         double* squares, uint64_t* numbers) {
  uint32_t first = 0;
  uint32_t last = 0;
  uint32_t other_first = 0;
  uint32_t other_last = 0;
  stretch(a, k, &first, &last);
  stretch(b, k, &other_first, &other_last);
  for (uint32_t i = first; i <= last; i++) {
    double t = a->t[i];
    double other = 0.0;
    bool inside = t >= b->t[other_first] && t <= b->t[other_last];
    bool known = inside && course_value(b, other_first, other_last, t, &other);
    // beside a jump that comes later there is the other stretch
    bool beyond = t < b->t[0] || t > b->t[b->count - 1];
    out->alone += !isnan(a->v[i]) && (beyond || (inside && !known));
    if (known) note_difference(out, t, a->v[i], other, a->words, squares, numbers);
  }
}

static double size_of(const Course* c) {
  double size = 0.0;
  for (uint32_t i = 0; i < c->count && !c->words; i++) {
    if (isfinite(c->v[i])) size = fmax(size, fabs(c->v[i]));
  }
  return size;
}

static bool is_within(const SltComparison* out, const SltCompareOptions* options) {
  if (out->points == 0 || out->jumps[0] != out->jumps[1]) return false;
  return out->largest <= options->tol * out->scale + options->abs_tol &&
         out->jump_shift <= options->time_tol;
}

/// `sparse`: the second one is measured data, between whose rows nothing is known.
static SltStatus compare_courses(Course* a, Course* b, bool sparse,
                                 const SltCompareOptions* options, SltComparison* out) {
  out->scale = fmax(size_of(a), size_of(b));
  double least = a->words ? 0.0 : options->tol * out->scale + options->abs_tol;
  SLT_TRY(find_jumps(a, least));
  SLT_TRY(find_jumps(b, least));
  out->jumps[0] = a->jump_count;
  out->jumps[1] = b->jump_count;
  // a quantity may also have a kink at an event: where both have as many, stretches end there too
  SLT_TRY(find_jumps(a, -1.0));
  SLT_TRY(find_jumps(b, -1.0));
  if (a->jump_count != b->jump_count) {
    SLT_TRY(find_jumps(a, least));
    SLT_TRY(find_jumps(b, least));
  }
  uint32_t common = a->jump_count < b->jump_count ? a->jump_count : b->jump_count;
  for (uint32_t k = 0; k < common; k++) {
    double shift = fabs(a->t[a->jumps[k]] - b->t[b->jumps[k]]);
    if (shift > out->jump_shift) out->jump_shift = shift;
  }
  double squares = 0.0;
  uint64_t numbers = 0;
  if (a->count > 0 && b->count > 0) {
    for (uint32_t k = 0; k <= common; k++) {
      if (!sparse) compare_rows(a, b, k, out, &squares, &numbers);
      compare_rows(b, a, k, out, &squares, &numbers);
    }
  }
  out->rms = numbers ? sqrt(squares / (double)numbers) : (double)NAN;
  out->within = is_within(out, options);
  return SLT_OK;
}

// ---- tables -------------------------------------------------------------------------------------

SltCompareOptions slt_compare_options(void) {
  return (SltCompareOptions){.tol = 1e-6,
                             .abs_tol = 0.0,
                             .time_tol = (double)NAN,
                             .t_end = (double)NAN,
                             .cookie = COMPARE_COOKIE};
}

/// The column of this name that has `before` others of it before it.
static uint32_t find_nth_column(const SltTable* table, const char* name, uint32_t before) {
  uint32_t count = slt_table_column_count(table);
  for (uint32_t i = 0; i < count; i++) {
    if (strcmp(slt_table_column_name(table, i), name) == 0 && before-- == 0) return i;
  }
  return UINT32_MAX;
}

static uint32_t find_column(const SltTable* table, const char* name) {
  return find_nth_column(table, name, 0);
}

/// The column that stands for column `i` of another table: a name that is there twice means the
/// first and the second one, as a model's own `time` behind the time.
static uint32_t find_partner(const SltTable* table, const SltTable* other, uint32_t i) {
  const char* name = slt_table_column_name(table, i);
  uint32_t before = 0;
  for (uint32_t k = 0; k < i; k++)
    before += strcmp(slt_table_column_name(table, k), name) == 0;
  return find_nth_column(other, name, before);
}

static uint32_t count_named(const SltTable* table, const char* name) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < slt_table_column_count(table); i++)
    count += strcmp(slt_table_column_name(table, i), name) == 0;
  return count;
}

// ---- cells --------------------------------------------------------------------------------------

/// A pool of texts: the one cell of the table is the last of them that was numbered.
static SltStatus words_open(SltTable** words) {
  *words = table_create();
  if (!*words) return SLT_ERR_NOMEM;
  SltStatus status = table_add_column(*words, STR_LIT("text"), "", false);
  return status < 0 ? status : table_add_row(*words);
}

static SltStatus number_word(SltTable* words, const char* text, double* out) {
  SLT_TRY(table_set_text(words, 0, str_from_c(text)));
  *out = table_text_id(words, 0, 0);
  return SLT_OK;
}

/// What a cell is in a course of texts; NaN where it is empty.
static SltStatus read_word(const SltTable* table, uint32_t row, uint32_t column, SltTable* words,
                           double* out) {
  char number[NUMBER_TEXT_MAX];
  const char* text = slt_table_text(table, row, column);
  *out = slt_table_value(table, row, column);
  if (!text && isnan(*out)) return SLT_OK;
  if (!text) number[number_write(number, *out)] = '\0';
  return number_word(words, text ? text : number, out);
}

/// Rows with a value; `gaps`: those without one too. `words`: cells are texts.
static SltStatus read_course(const SltTable* table, uint32_t column, bool gaps, SltTable* words,
                             Course* out) {
  uint32_t time = find_column(table, "time");
  out->words = words != NULL;
  for (uint32_t i = 0; i < slt_table_row_count(table); i++) {
    double v = slt_table_value(table, i, column);
    if (words) SLT_TRY(read_word(table, i, column, words, &v));
    if (isnan(v) && !gaps) continue;
    SLT_TRY(course_add(out, slt_table_value(table, i, time), v));
  }
  return SLT_OK;
}

static SltStatus check_table(const SltTable* table, const char* which, SltProblem* problem) {
  uint32_t time = find_column(table, "time");
  if (time == UINT32_MAX) {
    return problem_set(problem, SLT_ERR_NOT_FOUND, "its times must stand in a column `time`",
                       "%s has no column `time`", which);
  }
  for (uint32_t i = 0; i < slt_table_row_count(table); i++) {
    double t = slt_table_value(table, i, time);
    bool back = i > 0 && !(t >= slt_table_value(table, i - 1, time));
    if (isfinite(t) && !back) continue;
    return problem_set(problem, SLT_ERR_ARGUMENT, "rows must be in order of time",
                       "%s: row %u has %s", which, i + 1,
                       back ? "a time before that of the row above" : "no time");
  }
  if (slt_table_row_count(table) > 0) return SLT_OK;
  return problem_set(problem, SLT_ERR_ARGUMENT, NULL, "%s has no rows", which);
}

static SltCompareOptions with_span(const SltCompareOptions* given, const SltTable* table) {
  SltCompareOptions options = *given;
  uint32_t time = find_column(table, "time");
  double span = slt_table_value(table, slt_table_row_count(table) - 1, time) -
                slt_table_value(table, 0, time);
  if (isnan(options.time_tol)) options.time_tol = options.tol * span;
  return options;
}

/// Compare column i of the first table with column k of the second one.
static SltStatus compare_columns(const SltTable* a, uint32_t i, const SltTable* b, uint32_t k,
                                 const SltCompareOptions* options, SltComparison* out) {
  Course first = {0};
  Course second = {0};
  SltTable* words = NULL;
  bool texts = table_is_text(a, i) || table_is_text(b, k);
  SltStatus status = texts ? words_open(&words) : SLT_OK;
  if (status >= 0) status = read_course(a, i, true, words, &first);
  if (status >= 0) status = read_course(b, k, true, words, &second);
  if (status >= 0) status = compare_courses(&first, &second, false, options, out);
  course_clear(&first);
  course_clear(&second);
  table_free(words);
  return status;
}

SltStatus slt_compare_tables(const SltTable* a, const SltTable* b, const SltCompareOptions* options,
                             SltComparisonFn* visit, void* user, SltProblem* problem) {
  if (!a || !b || !options || options->cookie != COMPARE_COOKIE || !visit) return SLT_ERR_ARGUMENT;
  SLT_TRY(check_table(a, "the first table", problem));
  SLT_TRY(check_table(b, "the second table", problem));
  SltCompareOptions own = with_span(options, a);
  uint32_t compared = 0;
  for (uint32_t i = 0; i < slt_table_column_count(a); i++) {
    const char* name = slt_table_column_name(a, i);
    uint32_t k = find_partner(a, b, i);
    uint32_t here = count_named(a, name);
    uint32_t there = count_named(b, name);
    if (there > 0 && here != there) {
      return problem_set(problem, SLT_ERR_ARGUMENT, "rename columns, or leave some out",
                         "the first table has %u column%s `%.80s`, the second %u", here,
                         here > 1 ? "s" : "", name, there);
    }
    if (k == UINT32_MAX || i == find_column(a, "time")) continue;
    SltComparison out = {.name = name};
    SLT_TRY(compare_columns(a, i, b, k, &own, &out));
    visit(user, &out);
    compared++;
  }
  if (compared > 0) return SLT_OK;
  return problem_set(problem, SLT_ERR_NOT_FOUND, "columns are matched by their names",
                     "the tables have no column in common");
}

// ---- a model and data ---------------------------------------------------------------------------

/// Columns of the data that the model has, and what the model makes of them.
typedef struct Overlay {
  SltSim* sim;
  SltTable* words;  // states of automata
  SltQuantity* quantities;
  Course* courses;
  uint32_t* columns;
  uint32_t count;
} Overlay;

static SltStatus take_row(Overlay* o, double t, bool before) {
  for (uint32_t i = 0; i < o->count; i++) {
    SltQuantity q = o->quantities[i];
    double v = before ? slt_sim_get_before(o->sim, q) : slt_sim_get(o->sim, q);
    if (q.kind == SLT_KIND_MODE) {
      const char* state =
          before ? slt_sim_mode_name_before(o->sim, q) : slt_sim_mode_name(o->sim, q);
      SLT_TRY(number_word(o->words, state ? state : "", &v));
    }
    SLT_TRY(course_add(&o->courses[i], t, v));
  }
  return SLT_OK;
}

/// Rows at the times of the data up to `t_end`, straight from the dense output, and at events
/// before and after.
static SltStatus follow(Overlay* o, const SltTable* data, double t_end) {
  uint32_t time = find_column(data, "time");
  SltStatus status = slt_sim_start(o->sim);
  double t = slt_sim_time(o->sim);
  if (status >= 0) SLT_TRY(take_row(o, t, false));
  for (uint32_t i = 0; status >= 0 && status != SLT_END && i < slt_table_row_count(data); i++) {
    double wanted = slt_table_value(data, i, time);
    if (wanted > t_end) break;
    while (status >= 0 && status != SLT_END && t < wanted) {
      status = slt_sim_advance(o->sim, wanted, &t);
      if (status == SLT_EVENT) SLT_TRY(take_row(o, t, true));
      if (status >= 0) SLT_TRY(take_row(o, t, false));
    }
  }
  return status < 0 ? status : SLT_OK;
}

static bool is_empty(const SltTable* table, uint32_t column) {
  for (uint32_t i = 0; i < slt_table_row_count(table); i++) {
    if (slt_table_text(table, i, column) || !isnan(slt_table_value(table, i, column))) return false;
  }
  return true;
}

static SltStatus find_columns(Overlay* o, const SltTable* data, SltProblem* problem) {
  uint32_t count = slt_table_column_count(data);
  o->quantities = calloc(count + 1, sizeof *o->quantities);
  o->courses = calloc(count + 1, sizeof *o->courses);
  o->columns = calloc(count + 1, sizeof *o->columns);
  if (!o->quantities || !o->courses || !o->columns) return SLT_ERR_NOMEM;
  for (uint32_t i = 0; i < count; i++) {
    SltQuantity q;
    if (slt_sim_find(o->sim, slt_table_column_name(data, i), &q) < 0) continue;
    if (q.kind == SLT_KIND_TIME || is_empty(data, i)) continue;
    if (count_named(data, slt_table_column_name(data, i)) > 1) {
      return problem_set(problem, SLT_ERR_ARGUMENT, "rename one of them, or leave it out",
                         "the data have two columns `%.80s`", slt_table_column_name(data, i));
    }
    bool mode = q.kind == SLT_KIND_MODE;
    if (!mode && table_is_text(data, i)) SLT_TRY(table_check_numbers(data, i, problem));
    o->courses[o->count].words = mode;
    o->quantities[o->count] = q;
    o->columns[o->count++] = i;
  }
  return SLT_OK;
}

static SltStatus compare_all(Overlay* o, const SltTable* data, const SltCompareOptions* options,
                             SltComparisonFn* visit, void* user) {
  for (uint32_t i = 0; i < o->count; i++) {
    Course measured = {0};
    SltTable* words = o->courses[i].words ? o->words : NULL;
    SltComparison out = {.name = slt_table_column_name(data, o->columns[i])};
    SltStatus status = read_course(data, o->columns[i], false, words, &measured);
    if (status >= 0) status = compare_courses(&o->courses[i], &measured, true, options, &out);
    if (status >= 0) visit(user, &out);
    course_clear(&measured);
    SLT_TRY(status);
  }
  return SLT_OK;
}

SltStatus slt_compare_model(SltSim* sim, const SltTable* data, const SltCompareOptions* options,
                            SltComparisonFn* visit, void* user, SltProblem* problem) {
  if (!sim || !data || !options || options->cookie != COMPARE_COOKIE || !visit) {
    return SLT_ERR_ARGUMENT;
  }
  SLT_TRY(check_table(data, "the data", problem));
  SltCompareOptions own = with_span(options, data);
  Overlay o = {.sim = sim};
  SltStatus status = words_open(&o.words);
  if (status >= 0) status = find_columns(&o, data, problem);
  if (status >= 0 && o.count == 0) {
    status =
        problem_set(problem, SLT_ERR_NOT_FOUND, "columns are matched by their names",
                    "the data have no column with values and the name of a quantity of the model");
  }
  if (status >= 0) status = follow(&o, data, own.t_end);
  if (status >= 0) status = compare_all(&o, data, &own, visit, user);
  for (uint32_t i = 0; o.courses && i < o.count; i++)
    course_clear(&o.courses[i]);
  free(o.quantities);
  free(o.courses);
  free(o.columns);
  table_free(o.words);
  return status;
}

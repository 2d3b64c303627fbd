// SPDX-License-Identifier: MIT
//
// From what is asked for and the data to panels, lines, axes and bands.
#include "record/figure.h"

#include <math.h>
#include <string.h>

#define SCALE_RATIO 20.0  // a line that uses less of its axis gets a panel of its own
#define FLAT        1e-9  // a span this small against the values is rounding, not movement

#define NAMED_LINES_MAX 400  // of one list: a pattern may mean all of a large model

static const PlotRange empty_range = {1.0, 0.0};

static bool is_empty(PlotRange r) {
  return r.lo > r.hi;
}

PlotRange range_join(PlotRange a, PlotRange b) {
  if (is_empty(a)) return b;
  if (is_empty(b)) return a;
  return (PlotRange){fmin(a.lo, b.lo), fmax(a.hi, b.hi)};
}

PlotRange range_of(const double* values, uint32_t count) {
  PlotRange range = empty_range;
  for (uint32_t i = 0; i < count; i++) {
    if (isfinite(values[i])) range = range_join(range, (PlotRange){values[i], values[i]});
  }
  return range;
}

static double magnitude(PlotRange r) {
  return is_empty(r) ? 0.0 : fmax(fabs(r.lo), fabs(r.hi));
}

bool range_is_flat(PlotRange r) {
  return is_empty(r) || range_half(r) <= FLAT * magnitude(r);
}

PlotRange range_padded(PlotRange r) {
  if (is_empty(r)) return (PlotRange){0.0, 1.0};
  double room = 0.04 * 2.0 * range_half(r);
  if (range_is_flat(r)) room = magnitude(r) > 0.0 ? 0.1 * magnitude(r) : 1.0;
  double lo = r.lo - room;
  double hi = r.hi + room;
  return (PlotRange){isfinite(lo) ? lo : r.lo, isfinite(hi) ? hi : r.hi};
}

// ---- columns ------------------------------------------------------------------------------------

/// A name that is drawn: the columns of all tables that have it.
typedef struct Quantity {
  Str name;
  const char* unit;
  PlotRange range;
  bool shares;    // its axis serves all quantities of its unit
  uint32_t size;  // those of like size have the same number
  uint32_t panel;
} Quantity;

typedef struct Plan {
  const FigureWish* wish;
  Arena* arena;
  Figure* figure;
  BASE_VEC(Quantity) quantities;
  BASE_VEC(FigurePanel) panels;
  BASE_VEC(FigureBand) bands;
  uint32_t lines_left_out;  // because there are too many
  bool bands_left_out;
  bool hides;          // values that a logarithmic axis has no place for
  bool outside;        // a range that was asked for has nothing of a line in it
  bool from_rows;      // events were looked for in rows, which have some of them
  TextBuffer missing;  // "b.csv has no y"
  uint32_t missing_count;
  Str* bad;
} Plan;

static Str column_name(const SltTable* table, uint32_t column) {
  return str_from_c(table->columns[column].name);
}

static uint32_t find_column(const SltTable* table, Str name) {
  for (uint32_t i = 0; i < table->column_count; i++) {
    if (str_equal(name, column_name(table, i))) return i;
  }
  return UINT32_MAX;
}

static uint32_t quantity_of(Plan* plan, Str name) {
  for (uint32_t i = 0; i < plan->quantities.count; i++) {
    if (str_equal(name, plan->quantities.data[i].name)) return i;
  }
  base_vec_push(plan->arena, &plan->quantities,
                (Quantity){.name = name, .unit = "", .range = empty_range});
  return plan->quantities.count - 1;
}

static uint32_t axis_column(const Plan* plan, const SltTable* table) {
  return plan->wish->x.length ? find_column(table, plan->wish->x) : 0;
}

static bool is_ordered(const double* values, uint32_t count) {
  for (uint32_t i = 1; i < count; i++) {
    if (!(values[i] >= values[i - 1])) return false;
  }
  return true;
}

/// A column over another one, as a line; its axis and looks are chosen later.
static FigureLine make_line(Plan* plan, uint32_t table_index, uint32_t x, uint32_t y) {
  const SltTable* table = plan->wish->tables.data[table_index].table;
  FigureLine line = {.x = table->columns[x].values,
                     .y = table->columns[y].values,
                     .time = table->columns[0].values,
                     .count = table->row_count,
                     .axis = AXIS_Y,
                     .table = table_index,
                     .range = range_of(table->columns[y].values, table->row_count)};
  line.ordered = is_ordered(line.x, line.count);
  line.quantity = quantity_of(plan, column_name(table, y));
  Quantity* quantity = &plan->quantities.data[line.quantity];
  if (table->columns[y].unit[0]) quantity->unit = table->columns[y].unit;
  quantity->range = range_join(quantity->range, line.range);
  return line;
}

typedef BASE_VEC(FigureLine) LineList;

static Str str_tail(Str text, uint32_t length) {
  return (Str){text.data + text.length - length, length};
}

static void add_band(Plan* plan, uint32_t table_index, uint32_t column) {
  const FigureTable* from = &plan->wish->tables.data[table_index];
  for (uint32_t i = 0; i < plan->bands.count; i++) {
    const FigureBand* band = &plan->bands.data[i];
    if (band->table == from->table &&
        str_equal(column_name(band->table, band->column), column_name(from->table, column))) {
      return;
    }
  }
  Str label = str_from_c(from->table->columns[column].label);
  // the automaton that a model has without naming it is "state", others have names; a name of rule
  // tables ends before the row it stands for
  Str state = STR_LIT(".state");
  if (str_equal(label, STR_LIT("main.state"))) {
    label = STR_LIT("state");
  } else if (label.length > state.length && str_equal(str_tail(label, state.length), state)) {
    label.length -= state.length;
  }
  const char* at = strchr(label.data, '@');
  if (at > label.data) label.length = (uint32_t)(at - label.data);
  if (plan->wish->tables.count > 1) {
    label = str_format(plan->arena, "%.*s, %.*s", STR_ARGS(label), STR_ARGS(from->name));
  }
  base_vec_push(plan->arena, &plan->bands,
                (FigureBand){.table = from->table, .column = column, .label = label});
}

/// The columns of one table that a name or pattern means; texts become bands. False: none.
static bool add_matching(Plan* plan, uint32_t table_index, Str name, AxisId axis, LineList* lines) {
  const SltTable* table = plan->wish->tables.data[table_index].table;
  uint32_t exact = find_column(table, name);
  bool found = false;
  for (uint32_t i = 0; i < table->column_count; i++) {
    bool meant =
        exact == UINT32_MAX ? i > 0 && figure_matches(name, column_name(table, i)) : i == exact;
    if (!meant) continue;
    found = true;
    if (table_is_text(table, i)) {
      add_band(plan, table_index, i);
      continue;
    }
    if (lines->count == NAMED_LINES_MAX) {
      plan->lines_left_out++;
      continue;
    }
    FigureLine line = make_line(plan, table_index, axis_column(plan, table), i);
    line.axis = axis;
    base_vec_push(plan->arena, lines, line);
  }
  return found;
}

/// Keep what a table lacks of the names that others have.
static void note_missing(Plan* plan, uint32_t table, Str name) {
  enum { MISSING_TOLD = 3 };
  if (plan->missing_count++ >= MISSING_TOLD) return;
  plan->missing.arena = plan->arena;
  text_append_format(&plan->missing, "%s%.*s has no %.*s", plan->missing.length ? "; " : "",
                     STR_ARGS(plan->wish->tables.data[table].name), STR_ARGS(name));
}

/// All columns of a list of names, table by table within a name.
static SltStatus add_names(Plan* plan, Str names, AxisId axis, LineList* lines) {
  for (Str name; figure_next_name(&names, &name);) {
    if (name.length == 0) continue;
    uint32_t tables = plan->wish->tables.count;
    uint32_t lacking = 0;
    for (uint32_t t = 0; t < tables; t++) {
      if (add_matching(plan, t, name, axis, lines)) continue;
      lacking++;
      note_missing(plan, t, name);
    }
    if (lacking == tables) {
      *plan->bad = name;
      return SLT_ERR_NOT_FOUND;
    }
  }
  return SLT_OK;
}

// ---- bands --------------------------------------------------------------------------------------

/// Whether a text column has more than one state: a band that never changes tells nothing.
static bool band_changes(const SltTable* table, uint32_t column) {
  for (uint32_t row = 1; row < table->row_count; row++) {
    if (table_text_id(table, row, column) != table_text_id(table, row - 1, column)) return true;
  }
  return false;
}

/// Text columns nobody named: the hidden ones always, the others when no names were given.
static void choose_bands(Plan* plan, bool all) {
  for (uint32_t t = 0; t < plan->wish->tables.count; t++) {
    const SltTable* table = plan->wish->tables.data[t].table;
    for (uint32_t i = 0; i < table->column_count; i++) {
      bool wanted = table_is_text(table, i) && (all || table->columns[i].hidden);
      if (!wanted || !band_changes(table, i)) continue;
      if (plan->bands.count < FIGURE_BANDS_MAX) {
        add_band(plan, t, i);
      } else {
        plan->bands_left_out = true;
      }
    }
  }
}

static SltStatus plan_bands(Plan* plan) {
  Str wanted = plan->wish->bands;
  if (str_equal(wanted, STR_LIT("off"))) {
    plan->bands.count = 0;
    return SLT_OK;
  }
  if (wanted.length && !str_equal(wanted, STR_LIT("on"))) {
    LineList lines = {0};
    return add_names(plan, wanted, AXIS_Y, &lines);
  }
  choose_bands(plan,
               wanted.length || (plan->wish->panels.count == 0 && plan->wish->names.length == 0));
  return SLT_OK;
}

// ---- panels chosen by themselves ----------------------------------------------------------------

/// Whether one axis serves these quantities: each that moves must use a fair part of it.
static bool share_axis(const Plan* plan, const char* unit) {
  PlotRange all = empty_range;
  double least = (double)INFINITY;
  for (uint32_t i = 0; i < plan->quantities.count; i++) {
    const Quantity* q = &plan->quantities.data[i];
    if (strcmp(unit, q->unit) != 0) continue;
    all = range_join(all, q->range);
    if (!range_is_flat(q->range)) least = fmin(least, range_half(q->range));
  }
  return !isfinite(least) || range_half(all) <= SCALE_RATIO * least;
}

/// Quantities of like size, counted in powers of SCALE_RATIO from the smallest.
static uint32_t size_group(const Plan* plan, const Quantity* q) {
  double least = (double)INFINITY;
  for (uint32_t i = 0; i < plan->quantities.count; i++) {
    double size = magnitude(plan->quantities.data[i].range);
    if (size > 0.0) least = fmin(least, size);
  }
  double size = magnitude(q->range);
  double group = size > 0.0 ? floor(log(size / least) / log(SCALE_RATIO)) : 0.0;
  return group < FIGURE_PANELS_MAX ? (uint32_t)group : FIGURE_PANELS_MAX - 1;
}

typedef enum Grouping { GROUP_SINGLE, GROUP_UNIT_AND_SIZE, GROUP_SIZE } Grouping;

static bool together(const Quantity* a, const Quantity* b, Grouping grouping) {
  bool alike = strcmp(a->unit, b->unit) == 0;
  switch (grouping) {
  case GROUP_SINGLE: return alike && a->shares;
  case GROUP_UNIT_AND_SIZE: return alike && (a->shares || a->size == b->size);
  case GROUP_SIZE: return a->size == b->size;
  }
  return false;
}

/// Panels stand in the order in which their first quantities were named.
static uint32_t group_quantities(Plan* plan, Grouping grouping) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < plan->quantities.count; i++) {
    Quantity* q = &plan->quantities.data[i];
    q->panel = UINT32_MAX;
    for (uint32_t j = 0; j < i && q->panel == UINT32_MAX; j++) {
      if (together(q, &plan->quantities.data[j], grouping)) {
        q->panel = plan->quantities.data[j].panel;
      }
    }
    if (q->panel == UINT32_MAX) q->panel = count++;
  }
  return count;
}

static FigurePanel* add_panel(Plan* plan, const PanelWish* wish, const LineList* lines) {
  FigurePanel panel = {.wish = wish,
                       .kind = wish->kind,
                       .lines = lines->data,
                       .line_count = lines->count,
                       .equal = wish->equal,
                       .legend = wish->legend};
  base_vec_push(plan->arena, &plan->panels, panel);
  return &plan->panels.data[plan->panels.count - 1];
}

static void spread_over_panels(Plan* plan, const LineList* lines) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < plan->quantities.count; i++) {
    Quantity* q = &plan->quantities.data[i];
    q->shares = share_axis(plan, q->unit);
    q->size = size_group(plan, q);
  }
  for (int grouping = GROUP_SINGLE; grouping <= GROUP_SIZE; grouping++) {
    count = group_quantities(plan, (Grouping)grouping);
    if (count <= FIGURE_PANELS_MAX) break;
  }
  for (uint32_t p = 0; p < count; p++) {
    LineList mine = {0};
    for (uint32_t i = 0; i < lines->count; i++) {
      if (plan->quantities.data[lines->data[i].quantity].panel != p) continue;
      base_vec_push(plan->arena, &mine, lines->data[i]);
    }
    add_panel(plan, &plan->wish->common, &mine);
  }
}

static bool is_named(Str names, Str name) {
  for (Str one; figure_next_name(&names, &one);) {
    if (figure_matches(one, name)) return true;
  }
  return false;
}

/// All numbers but the axis, as far as they fit.
static void add_all(Plan* plan, LineList* lines) {
  const FigureWish* wish = plan->wish;
  for (uint32_t t = 0; t < wish->tables.count; t++) {
    const SltTable* table = wish->tables.data[t].table;
    uint32_t x = axis_column(plan, table);
    for (uint32_t i = 1; i < table->column_count && x != UINT32_MAX; i++) {
      Str name = column_name(table, i);
      bool taken = i == x || table_is_text(table, i) || table->columns[i].hidden ||
                   is_named(wish->common.right, name);
      if (taken) continue;
      if (lines->count == FIGURE_LINES_MAX) {
        plan->lines_left_out++;
      } else {
        base_vec_push(plan->arena, lines, make_line(plan, t, x, i));
      }
    }
  }
}

/// Columns without a word about panels: those of like unit and size share one.
static SltStatus plan_columns(Plan* plan) {
  const FigureWish* wish = plan->wish;
  LineList lines = {0};
  LineList right = {0};
  if (wish->names.length) {
    SLT_TRY(add_names(plan, wish->names, AXIS_Y, &lines));
  } else {
    add_all(plan, &lines);
  }
  spread_over_panels(plan, &lines);
  if (wish->common.right.length == 0) return SLT_OK;
  SLT_TRY(add_names(plan, wish->common.right, AXIS_Y2, &right));
  FigurePanel* first =
      plan->panels.count ? plan->panels.data : add_panel(plan, &wish->common, &right);
  if (first->lines == right.data) return SLT_OK;
  LineList both = {0};
  for (uint32_t i = 0; i < first->line_count; i++)
    base_vec_push(plan->arena, &both, first->lines[i]);
  for (uint32_t i = 0; i < right.count; i++)
    base_vec_push(plan->arena, &both, right.data[i]);
  first->lines = both.data;
  first->line_count = both.count;
  return SLT_OK;
}

// ---- panels asked for ---------------------------------------------------------------------------

static SltStatus plan_lines(Plan* plan, const PanelWish* wish) {
  LineList lines = {0};
  SLT_TRY(add_names(plan, wish->names, AXIS_Y, &lines));
  SLT_TRY(add_names(plan, wish->right, AXIS_Y2, &lines));
  add_panel(plan, wish, &lines);
  return SLT_OK;
}

/// One quantity over another, or three in space.
static SltStatus plan_phase(Plan* plan, const PanelWish* wish) {
  Str names = wish->names;
  Str axes[3];
  uint32_t axis_count = 0;
  while (axis_count < 3 && figure_next_name(&names, &axes[axis_count]))
    axis_count++;
  if (axis_count < 2) return SLT_ERR_ARGUMENT;
  LineList lines = {0};
  BASE_VEC(const double*) third = {0};
  for (uint32_t t = 0; t < plan->wish->tables.count; t++) {
    const SltTable* table = plan->wish->tables.data[t].table;
    uint32_t columns[3] = {0};
    bool all = true;
    for (uint32_t i = 0; i < axis_count; i++) {
      columns[i] = find_column(table, axes[i]);
      all = all && columns[i] != UINT32_MAX;
      if (columns[i] != UINT32_MAX) continue;
      *plan->bad = axes[i];
      note_missing(plan, t, axes[i]);
    }
    if (!all) continue;
    base_vec_push(plan->arena, &lines, make_line(plan, t, columns[0], columns[1]));
    base_vec_push(plan->arena, &third, table->columns[columns[2]].values);
  }
  if (lines.count == 0) return SLT_ERR_NOT_FOUND;
  FigurePanel* panel = add_panel(plan, wish, &lines);
  if (axis_count < 3) return SLT_OK;
  FigureSpace* space = (FigureSpace*)figure_space(plan->wish, wish, lines.data, lines.count,
                                                  third.data, plan->arena);
  const SltTable* table = plan->wish->tables.data[lines.data[0].table].table;
  for (uint32_t i = 0; i < 3; i++) {
    space->axes[i].label = str_from_c(table->columns[find_column(table, axes[i])].label);
    if (!plan->wish->ascii)
      space->axes[i].label = axis_unit_text(plan->arena, space->axes[i].label);
  }
  panel->space = space;
  panel->equal = true;
  return SLT_OK;
}

/// The bars of one column, or of the time for `events`; returns what is counted.
static Str count_column(Plan* plan, const SltTable* table, uint32_t column, bool events, bool log,
                        FigureLine* line) {
  if (!events && !table_is_text(table, column)) {
    figure_histogram(table->columns[column].values, table->row_count, log, plan->arena, line);
    return str_from_c(table->columns[column].label);
  }
  uint32_t count = 0;
  bool records = events && plan->wish->has_records;
  double* values = records ? figure_record_intervals(plan->wish, plan->arena, &count)
                           : figure_intervals(table, column, plan->arena, &count);
  plan->from_rows = plan->from_rows || (events && !records);
  figure_histogram(values, count, log, plan->arena, line);
  Str time = str_from_c(table->columns[0].unit);
  return time.length ? str_format(plan->arena, "interval [%.*s]", STR_ARGS(time))
                     : STR_LIT("interval");
}

/// Intervals between events (`events`, or a text column), or the values of a column.
static SltStatus plan_histogram(Plan* plan, const PanelWish* wish) {
  LineList lines = {0};
  Str label = STR_LIT("interval");
  bool several = false;  // quantities, which the legend names
  Str name = {0};
  for (Str names = wish->names; figure_next_name(&names, &name);) {
    bool found = false;
    bool events = str_equal(name, STR_LIT("events"));
    for (uint32_t t = 0; t < plan->wish->tables.count; t++) {
      const SltTable* table = plan->wish->tables.data[t].table;
      uint32_t column = events ? 0 : find_column(table, name);
      if (column == UINT32_MAX) {
        note_missing(plan, t, name);
        continue;
      }
      found = true;
      FigureLine line = {.axis = AXIS_Y, .table = t, .ordered = true, .filled = true};
      line.quantity = quantity_of(plan, events ? STR_LIT("events") : name);
      Str counted = count_column(plan, table, column, events, wish->axes[AXIS_X].log, &line);
      several = several || (lines.count && !str_equal(label, counted));
      label = counted;
      base_vec_push(plan->arena, &lines, line);
    }
    if (!found) {
      *plan->bad = name;
      return SLT_ERR_NOT_FOUND;
    }
  }
  FigurePanel* panel = add_panel(plan, wish, &lines);
  panel->axes[AXIS_X].label = several ? STR_LIT("value") : label;
  panel->axes[AXIS_Y].label = STR_LIT("count");
  return SLT_OK;
}

static SltStatus plan_panels(Plan* plan) {
  const FigureWish* wish = plan->wish;
  if (wish->panels.count == 0) return plan_columns(plan);
  for (uint32_t i = 0; i < wish->panels.count; i++) {
    const PanelWish* panel = &wish->panels.data[i];
    if (panel->kind == FIGURE_PHASE) {
      SLT_TRY(plan_phase(plan, panel));
    } else if (panel->kind == FIGURE_HISTOGRAM) {
      SLT_TRY(plan_histogram(plan, panel));
    } else {
      SLT_TRY(plan_lines(plan, panel));
    }
  }
  return SLT_OK;
}

// ---- axes ---------------------------------------------------------------------------------------

static const AxisWish whole = {.lo = (double)NAN, .hi = (double)NAN};

/// Values of a line where the horizontal axis shows it; a logarithmic axis has no place for others
/// than positive ones.
static PlotRange line_range(const FigureLine* line, AxisId axis, bool log, const AxisWish* shown) {
  const double* values = axis == AXIS_X ? line->x : line->y;
  PlotRange range = empty_range;
  for (uint32_t i = 0; i < line->count; i++) {
    if (!isfinite(values[i]) || (log && !(values[i] > 0.0))) continue;
    // quiet comparisons: a limit may be NaN, and the caller's program may trap on those
    if (isless(line->x[i], shown->lo) || isgreater(line->x[i], shown->hi)) continue;
    range = range_join(range, (PlotRange){values[i], values[i]});
  }
  if (is_empty(range) || !log) return range;
  return (PlotRange){log10(range.lo), log10(range.hi)};
}

static bool hides_values(const FigureLine* line, AxisId axis, const AxisWish* shown) {
  PlotRange range = line_range(line, axis, false, shown);
  return !is_empty(range) && !(range.lo > 0.0);
}

/// A limit that was asked for, as the axis counts; NaN: none.
static double asked_limit(const AxisWish* wish, double limit) {
  if (!wish->log) return limit;
  return limit > 0.0 ? log10(limit) : (double)NAN;
}

/// What was asked for takes the place of what the data say.
static PlotRange asked_range(const AxisWish* wish, PlotRange range) {
  double lo = asked_limit(wish, wish->lo);
  double hi = asked_limit(wish, wish->hi);
  if (isfinite(lo)) range.lo = lo;
  if (isfinite(hi)) range.hi = hi;
  if (range.lo < range.hi) return range;
  return isfinite(lo) ? (PlotRange){range.lo, range.lo + 1.0}
                      : (PlotRange){range.hi - 1.0, range.hi};
}

static void plan_axis(Plan* plan, FigurePanel* panel, AxisId id, const AxisWish* wish) {
  const AxisWish* shown = id == AXIS_X || panel->space ? &whole : &panel->wish->axes[AXIS_X];
  Axis* axis = &panel->axes[id];
  PlotRange range = empty_range;
  bool ordered = id == AXIS_X && !panel->space;
  for (uint32_t i = 0; i < panel->line_count; i++) {
    const FigureLine* line = &panel->lines[i];
    if (id != AXIS_X && line->axis != id) continue;
    range = range_join(range, line_range(line, id, wish->log, shown));
    // a logarithmic time leaves out its start, as everybody expects
    plan->hides = plan->hides || (id != AXIS_X && wish->log && hides_values(line, id, shown));
    ordered = ordered && line->ordered;
  }
  axis->log = wish->log;
  // time fills the width; a curve in a plane gets room on all sides, bars stand on the ground
  bool tight = ordered && !range_is_flat(range);
  bool grounded = panel->kind == FIGURE_HISTOGRAM && id == AXIS_Y && !wish->log;
  axis->range = tight ? range : range_padded(range);
  if (grounded) axis->range.lo = 0.0;
  bool asked_outside = isgreater(axis->range.lo, asked_limit(wish, wish->hi)) ||
                       isless(axis->range.hi, asked_limit(wish, wish->lo));
  plan->outside = plan->outside || (!is_empty(range) && asked_outside);
  panel->clipped = panel->clipped || !isnan(wish->lo) || !isnan(wish->hi);
  axis->range = asked_range(wish, axis->range);
  if (wish->label.data) axis->label = wish->label;
}

/// Lines of one panel whose unit is one, and what they are; the labels follow from it.
typedef struct Naming {
  uint32_t quantities;  // different ones
  const char* unit;     // of all; NULL: they differ
} Naming;

static Naming name_lines(const Plan* plan, const FigurePanel* panel, AxisId axis) {
  Naming naming = {0, NULL};
  bool first = true;
  for (uint32_t i = 0; i < panel->line_count; i++) {
    const FigureLine* line = &panel->lines[i];
    if (line->axis != axis) continue;
    bool known = false;
    for (uint32_t j = 0; j < i; j++) {
      known = known || (panel->lines[j].quantity == line->quantity && panel->lines[j].axis == axis);
    }
    naming.quantities += !known;
    const char* unit = plan->quantities.data[line->quantity].unit;
    if (first) naming.unit = unit;
    if (!first && naming.unit && strcmp(unit, naming.unit) != 0) naming.unit = NULL;
    first = false;
  }
  return naming;
}

static Str full_label(const Plan* plan, const FigureLine* line) {
  const Quantity* q = &plan->quantities.data[line->quantity];
  const SltTable* table = plan->wish->tables.data[line->table].table;
  uint32_t column = find_column(table, q->name);
  return column == UINT32_MAX ? q->name : str_from_c(table->columns[column].label);
}

/// The axis has the unit that its lines share, or the name of the only one.
static void label_axis(const Plan* plan, FigurePanel* panel, AxisId id) {
  Axis* axis = &panel->axes[id];
  if (axis->label.data || panel->kind == FIGURE_HISTOGRAM) return;
  Naming naming = name_lines(plan, panel, id);
  for (uint32_t i = 0; i < panel->line_count && naming.quantities == 1; i++) {
    if (panel->lines[i].axis == id) axis->label = full_label(plan, &panel->lines[i]);
  }
  if (naming.quantities > 1 && naming.unit && naming.unit[0]) {
    axis->label = str_format(plan->arena, "[%s]", naming.unit);
  }
}

static void label_lines(const Plan* plan, FigurePanel* panel) {
  bool several = plan->wish->tables.count > 1;
  const Naming namings[] = {
      [AXIS_Y] = name_lines(plan, panel, AXIS_Y), [AXIS_Y2] = name_lines(plan, panel, AXIS_Y2)};
  uint32_t quantities = namings[AXIS_Y].quantities + namings[AXIS_Y2].quantities;
  for (uint32_t i = 0; i < panel->line_count; i++) {
    FigureLine* line = &panel->lines[i];
    Naming naming = namings[line->axis];
    Str table = plan->wish->tables.data[line->table].name;
    Str name = naming.unit && naming.quantities > 1 ? plan->quantities.data[line->quantity].name
                                                    : full_label(plan, line);
    line->label = !several ? name
                  : quantities == 1
                      ? table
                      : str_format(plan->arena, "%.*s, %.*s", STR_ARGS(name), STR_ARGS(table));
    if (line->axis == AXIS_Y2) {
      line->label = str_format(plan->arena, "%.*s →", STR_ARGS(line->label));
    }
  }
}

/// Units as they are printed; plain letters keep them as they are written.
static void print_units(const Plan* plan, FigurePanel* panel) {
  if (plan->wish->ascii) return;
  for (int id = AXIS_X; id < AXIS_COUNT; id++)
    panel->axes[id].label = axis_unit_text(plan->arena, panel->axes[id].label);
  for (uint32_t i = 0; i < panel->line_count; i++)
    panel->lines[i].label = axis_unit_text(plan->arena, panel->lines[i].label);
}

/// Whether a line was asked for as points, by its name or by that of its table.
static bool is_dotted(const Plan* plan, const FigureLine* line) {
  Str points = plan->wish->points;
  return str_equal(points, STR_LIT("all")) ||
         is_named(points, plan->quantities.data[line->quantity].name) ||
         is_named(points, plan->wish->tables.data[line->table].name);
}

/// What is to be drawn as points must be a column of a table, or a table.
static SltStatus check_points(const Plan* plan) {
  Str names = plan->wish->points;
  for (Str name; figure_next_name(&names, &name);) {
    bool found = name.length == 0 || str_equal(name, STR_LIT("all"));
    for (uint32_t t = 0; t < plan->wish->tables.count && !found; t++) {
      const SltTable* table = plan->wish->tables.data[t].table;
      found = figure_matches(name, plan->wish->tables.data[t].name);
      for (uint32_t i = 0; i < table->column_count && !found; i++)
        found = figure_matches(name, column_name(table, i));
    }
    if (found) continue;
    *plan->bad = name;
    return SLT_ERR_NOT_FOUND;
  }
  return SLT_OK;
}

/// Colours tell quantities apart and dashes tables, or colours the tables where each panel has one
/// quantity.
static void colour_lines(const Plan* plan) {
  bool by_table = plan->wish->tables.count > 1;
  for (uint32_t p = 0; p < plan->panels.count; p++) {
    const FigurePanel* panel = &plan->panels.data[p];
    uint32_t quantities = name_lines(plan, panel, AXIS_Y).quantities;
    by_table = by_table && quantities + name_lines(plan, panel, AXIS_Y2).quantities <= 1;
  }
  static const PlotDash dashes[] = {PLOT_SOLID, PLOT_DASHED, PLOT_DASH_DOT, PLOT_DOTTED};
  for (uint32_t p = 0; p < plan->panels.count; p++) {
    for (uint32_t i = 0; i < plan->panels.data[p].line_count; i++) {
      FigureLine* line = &plan->panels.data[p].lines[i];
      uint32_t number = by_table ? line->table : line->quantity;
      uint32_t round = number / FIGURE_COLOURS + (by_table ? 0 : line->table);
      line->colour = number % FIGURE_COLOURS;
      line->dash = dashes[round % SLT_COUNT(dashes)];
      line->points = is_dotted(plan, line);
      line->name = plan->quantities.data[line->quantity].name;
    }
  }
}

/// Where panels share the time, they share its range, so that instants stand above each other.
static void align_time(Plan* plan) {
  PlotRange all = empty_range;
  for (uint32_t p = 0; p < plan->panels.count; p++) {
    if (plan->panels.data[p].has_time && !plan->panels.data[p].clipped)
      all = range_join(all, plan->panels.data[p].axes[AXIS_X].range);
  }
  for (uint32_t p = 0; p < plan->panels.count; p++) {
    FigurePanel* panel = &plan->panels.data[p];
    if (panel->has_time && !panel->clipped && !is_empty(all)) panel->axes[AXIS_X].range = all;
  }
}

/// What the lines of a panel are drawn over, and how its axis is called.
static void name_across(const Plan* plan, FigurePanel* panel) {
  const SltTable* table = plan->wish->tables.data[panel->lines[0].table].table;
  uint32_t column = axis_column(plan, table);
  Str names = panel->wish->names;
  Str name = {0};
  if (panel->kind == FIGURE_PHASE && figure_next_name(&names, &name)) {
    column = find_column(table, name);
  }
  if (panel->space || panel->kind == FIGURE_HISTOGRAM) return;
  if (column > 0) panel->across = column_name(table, column);
  if (!panel->axes[AXIS_X].label.data)
    panel->axes[AXIS_X].label = str_from_c(table->columns[column].label);
}

static void plan_axes(Plan* plan) {
  for (uint32_t p = 0; p < plan->panels.count; p++) {
    FigurePanel* panel = &plan->panels.data[p];
    for (int id = AXIS_X; id < AXIS_COUNT; id++)
      plan_axis(plan, panel, (AxisId)id, panel->space ? &whole : &panel->wish->axes[id]);
    if (panel->space) {
      panel->axes[AXIS_X].range = panel->space->across_range;
      panel->axes[AXIS_Y].range = panel->space->up_range;
    }
    name_across(plan, panel);
    panel->has_time = panel->kind == FIGURE_PANEL && panel->lines[0].x == panel->lines[0].time &&
                      panel->lines[0].ordered;
    label_axis(plan, panel, AXIS_Y);
    label_axis(plan, panel, AXIS_Y2);
    label_lines(plan, panel);
    print_units(plan, panel);
  }
  align_time(plan);
  colour_lines(plan);
}

// ---- the whole ----------------------------------------------------------------------------------

/// Every table has the axis.
static SltStatus check_axis(const Plan* plan) {
  for (uint32_t t = 0; t < plan->wish->tables.count; t++) {
    const SltTable* table = plan->wish->tables.data[t].table;
    if (table->column_count == 0) return SLT_ERR_ARGUMENT;
    uint32_t x = axis_column(plan, table);
    if (x == UINT32_MAX) {
      *plan->bad = plan->wish->x;
      return SLT_ERR_NOT_FOUND;
    }
  }
  return SLT_OK;
}

static bool has_rows(const Plan* plan) {
  for (uint32_t t = 0; t < plan->wish->tables.count; t++) {
    const SltTable* table = plan->wish->tables.data[t].table;
    const double* x = table->columns[axis_column(plan, table)].values;
    if (!is_empty(range_of(x, table->row_count))) return true;
  }
  return false;
}

static bool has_something(const Plan* plan) {
  for (uint32_t p = 0; p < plan->panels.count; p++) {
    for (uint32_t i = 0; i < plan->panels.data[p].line_count; i++) {
      if (!is_empty(plan->panels.data[p].lines[i].range)) return true;
    }
  }
  return plan->bands.count > 0;
}

/// Bands need an axis that goes one way: that of the panels over it, or their own.
static bool band_axis(const Plan* plan, Axis* axis) {
  for (uint32_t p = plan->panels.count; p-- > 0;) {
    const FigurePanel* panel = &plan->panels.data[p];
    if (panel->kind != FIGURE_PANEL || panel->line_count == 0) continue;
    *axis = panel->axes[AXIS_X];
    return panel->lines[0].ordered;
  }
  const SltTable* table = plan->wish->tables.data[0].table;
  const TableColumn* x = &table->columns[axis_column(plan, table)];
  *axis = (Axis){.range = range_of(x->values, table->row_count), .label = str_from_c(x->label)};
  if (range_is_flat(axis->range)) axis->range = range_padded(axis->range);
  return plan->panels.count == 0 && is_ordered(x->values, table->row_count);
}

/// A list of texts leaves a panel without lines.
static void drop_empty_panels(Plan* plan) {
  uint32_t kept = 0;
  for (uint32_t p = 0; p < plan->panels.count; p++) {
    if (plan->panels.data[p].line_count) plan->panels.data[kept++] = plan->panels.data[p];
  }
  plan->panels.count = kept;
}

/// What a reader would miss.
static Str note_of(const Plan* plan) {
  TextBuffer note = {.arena = plan->arena};
  if (plan->lines_left_out)
    text_append_format(&note, "and %u more columns not drawn", plan->lines_left_out);
  if (plan->bands_left_out && plan->bands.count)
    text_append_format(&note, "%sthere are more automata", note.length ? "; " : "");
  if (plan->hides) {
    text_append_format(&note, "%sno values of 0 and below on a logarithmic axis",
                       note.length ? "; " : "");
  }
  if (plan->outside)
    text_append_format(&note, "%snothing lies in the range of the axis", note.length ? "; " : "");
  if (plan->missing.length) {
    text_append_c(&note, note.length ? "; " : "");
    text_append(&note, (Str){plan->missing.data, plan->missing.length});
  }
  if (plan->figure->unmarked.length) {
    text_append_format(&note, "%sno event is marked by %.*s", note.length ? "; " : "",
                       STR_ARGS(plan->figure->unmarked));
  }
  if (plan->from_rows) {
    text_append_format(&note, "%sonly events that changed a column (all: --events FILE)",
                       note.length ? "; " : "");
  }
  return text_str(&note);
}

SltStatus figure_plan(const FigureWish* wish, Arena* arena, Figure* out, Str* bad) {
  *out = (Figure){.title = wish->title,
                  .size = {wish->size[0], wish->size[1]},
                  .density = wish->density,
                  .dark = wish->dark,
                  .marks_asked = wish->marks.length > 0,
                  .bands_asked = wish->bands.length > 0,
                  .ascii = wish->ascii,
                  .colour = wish->colour};
  *bad = (Str){0};
  Plan plan = {.wish = wish, .arena = arena, .figure = out, .bad = bad};
  if (wish->tables.count == 0) return SLT_ERR_ARGUMENT;
  SLT_TRY(check_axis(&plan));
  SLT_TRY(check_points(&plan));
  SLT_TRY(plan_panels(&plan));
  SLT_TRY(plan_bands(&plan));
  if (!has_rows(&plan)) return SLT_ERR_ARGUMENT;
  drop_empty_panels(&plan);
  plan_axes(&plan);
  if (!band_axis(&plan, &out->band_axis)) plan.bands.count = 0;
  if (!has_something(&plan)) return SLT_ERR_ARGUMENT;
  out->panels = plan.panels.data;
  out->panel_count = plan.panels.count;
  out->bands = plan.bands.data;
  out->band_count = plan.bands.count;
  plan.from_rows = plan.from_rows || (!wish->has_records && is_named(wish->marks, STR_LIT("all")));
  figure_marks(wish, arena, out);
  out->note = note_of(&plan);
  return SLT_OK;
}

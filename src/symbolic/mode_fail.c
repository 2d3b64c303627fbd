// SPDX-License-Identifier: MIT
//
// Messages about a mode that cannot be solved: which equations, which unknowns, which mode.
#include "symbolic/internal.h"

#define LIST_MAX      8   // names in a message, notes below it
#define EQUATION_MAX  72  // bytes of an equation's text
#define MODE_NAME_MAX 8   // automata named in a message

bool sym_edits_equations(const IrModel* ir, uint32_t index) {
  const IrAutomaton* automaton = (IrAutomaton[]){ir_automaton(ir, index)};
  for (uint32_t s = 0; s < automaton->state_count; s++) {
    if (ir_state(ir, automaton->state_begin + s).body != IR_NONE) return true;
  }
  return false;
}

/// Whether an automaton belongs in the name of a mode.
static bool is_named(const IrModel* ir, uint32_t index, const uint32_t* mode) {
  return sym_edits_equations(ir, index) && ir_automaton_is_active(ir, index, mode);
}

static void append_state(TextBuffer* out, const IrModel* ir, uint32_t index, uint32_t state) {
  const IrAutomaton* automaton = (IrAutomaton[]){ir_automaton(ir, index)};
  text_append(out, names_get(&ir->names, automaton->name));
  text_append_char(out, '=');
  Str name = names_get(&ir->names, ir_state(ir, automaton->state_begin + state).name);
  if (name.length == 0) {
    bool is_switch = automaton->kind == IR_AUTOMATON_SWITCH;
    name = !is_switch ? STR_LIT("?") : state ? STR_LIT("true") : STR_LIT("false");
  }
  text_append(out, name);
}

bool sym_mode_text(TextBuffer* out, const IrModel* ir, const uint32_t* mode) {
  uint32_t named = 0;
  for (uint32_t i = 0; i < ir->automata.count; i++) {
    named += is_named(ir, i, mode);
  }
  // with many automata only those that have left their first state tell something
  bool all = named <= MODE_NAME_MAX;
  uint32_t shown = 0;
  for (uint32_t i = 0; i < ir->automata.count && named; i++) {
    if (!is_named(ir, i, mode) || (!all && mode[i] == 0)) continue;
    if (shown == MODE_NAME_MAX) {
      text_append_c(out, ", ...");
      return true;
    }
    if (shown++) text_append_c(out, ", ");
    append_state(out, ir, i, mode[i]);
  }
  if (named && shown == 0) text_append_c(out, "with every automaton in its first state");
  return named > 0;
}

void sym_unknown_text(TextBuffer* out, const IrModel* ir, uint32_t var, uint8_t order) {
  Str name = ir_var_name(ir, var);
  if (order > 2) {
    text_append_format(out, "der(%.*s, %u)", STR_ARGS(name), (unsigned)order);
    return;
  }
  text_append(out, name);
  for (uint8_t i = 0; i < order; i++) {
    text_append_char(out, '\'');
  }
}

// ---------------------------------------------------------------------------------------------
// pieces of messages

/// " in mode main=fly", or nothing when the model has one mode only.
static Str where_text(const SymFailure* f) {
  TextBuffer name = {.arena = f->scratch};
  if (!sym_mode_text(&name, f->sym->ir, f->mode)) return STR_LIT("");
  Str text = text_str(&name);
  return str_format(f->scratch, " in mode %.*s", STR_ARGS(text));
}

/// "mode main=fly", or "the model".
static Str subject_text(const SymFailure* f) {
  TextBuffer name = {.arena = f->scratch};
  if (!sym_mode_text(&name, f->sym->ir, f->mode)) return STR_LIT("the model");
  Str text = text_str(&name);
  return str_format(f->scratch, "mode %.*s", STR_ARGS(text));
}

/// The equation in backquotes, cut when it is long.
static Str equation_text(const SymFailure* f, uint32_t row) {
  TextBuffer out = {.arena = f->scratch};
  ir_print_term(&out, f->sym->ir, ir_equation(f->sym->ir, f->equations[row]).term);
  Str text = text_str(&out);
  if (text.length <= EQUATION_MAX) return str_format(f->scratch, "`%.*s`", STR_ARGS(text));
  text.length = EQUATION_MAX;
  while (text.length && ((unsigned char)text.data[text.length] & 0xc0) == 0x80) {
    text.length--;
  }
  return str_format(f->scratch, "`%.*s...`", STR_ARGS(text));
}

/// "x', y and z"; `word` is "and" or "or". Orders only where the highest derivative is meant.
static Str columns_text(const SymFailure* f, const uint32_t* columns, uint32_t count,
                        bool with_order, const char* word) {
  TextBuffer out = {.arena = f->scratch};
  uint32_t shown = count <= LIST_MAX ? count : LIST_MAX - 1;
  for (uint32_t i = 0; i < shown; i++) {
    bool last = i + 1 == count && count > 1;
    if (last) {
      text_append_format(&out, " %s ", word);
    } else if (i) {
      text_append_c(&out, ", ");
    }
    uint32_t var = f->columns[columns[i]];
    sym_unknown_text(&out, f->sym->ir, var, with_order ? f->vars[var].order : 0);
  }
  if (shown < count) text_append_format(&out, " %s %u more", word, count - shown);
  return text_str(&out);
}

static const char* plural(uint32_t count) {
  return count == 1 ? "" : "s";
}

typedef struct Report {
  DiagList list;
  Diag* diag;
} Report;

static Span equation_span(const SymFailure* f, uint32_t row) {
  return ir_equation(f->sym->ir, f->equations[row]).span;
}

static void report_begin(Report* report, const SymFailure* f, DiagCode code, Span span, Str text) {
  diag_init(&report->list, f->sym->arena, f->sym->ir->source);
  report->diag = diag_add(&report->list, code, span, "%.*s", STR_ARGS(text));
}

/// A note for each equation; `comment` goes behind its text.
static void report_equations(Report* report, const SymFailure* f, const uint32_t* rows,
                             uint32_t count, const char* comment) {
  uint32_t shown = count <= LIST_MAX ? count : LIST_MAX - 1;
  for (uint32_t i = 0; i < shown; i++) {
    Str text = equation_text(f, rows[i]);
    diag_note(&report->list, report->diag, equation_span(f, rows[i]), "%.*s%s", STR_ARGS(text),
              comment);
  }
  if (shown == count) return;
  diag_note(&report->list, report->diag, equation_span(f, rows[shown]),
            "and %u equations more, from here on", count - shown);
}

static void sort_ascending(uint64_t* keys, uint32_t count) {
  // heap sort: loops can be as large as the model
  for (uint32_t end = count, start = count / 2; end > 1;) {
    uint64_t moving = 0;
    if (start > 0) {
      moving = keys[--start];
    } else {
      moving = keys[--end];
      keys[end] = keys[0];
    }
    uint32_t hole = start;
    for (uint32_t child = 2 * hole + 1; child < end; child = 2 * hole + 1) {
      if (child + 1 < end && keys[child + 1] > keys[child]) child++;
      if (keys[child] <= moving) break;
      keys[hole] = keys[child];
      hole = child;
    }
    keys[hole] = moving;
  }
}

/// The rows in the order in which their equations stand in the text.
static const uint32_t* by_place(const SymFailure* f, const uint32_t* rows, uint32_t count) {
  uint64_t* keys = ARENA_ARRAY(f->scratch, uint64_t, count);
  for (uint32_t i = 0; i < count; i++) {
    keys[i] = (uint64_t)equation_span(f, rows[i]).begin << 32 | rows[i];
  }
  sort_ascending(keys, count);
  uint32_t* sorted = ARENA_ARRAY(f->scratch, uint32_t, count);
  for (uint32_t i = 0; i < count; i++) {
    sorted[i] = (uint32_t)keys[i];
  }
  return sorted;
}

// ---------------------------------------------------------------------------------------------
// the failures

// what an equation in a state does to those outside is the usual cause
#define OVER_IN_A_STATE \
  " (`x = ...` in a state replaces an equation that begins with `x =`; any other needs a label, " \
  "and `delete label;`)"

/// Whether all rows are one equation of the text that a loop repeats word by word.
static bool one_in_a_loop(const SymFailure* f, const uint32_t* rows, uint32_t count) {
  Str first = equation_text(f, rows[0]);
  for (uint32_t i = 1; i < count; i++) {
    if (equation_span(f, rows[i]).begin != equation_span(f, rows[0]).begin) return false;
    if (i < LIST_MAX && !str_equal(equation_text(f, rows[i]), first)) return false;
  }
  return count > 1;
}

/// Where the message points at: the first equation that a state added, or else the first of all.
static Span added_span(const SymFailure* f, const uint32_t* rows, uint32_t count) {
  const IrModel* ir = f->sym->ir;
  for (uint32_t i = 0; i < count; i++) {
    if (f->equations[rows[i]] >= ir->bodies.data[0].equation_count)
      return equation_span(f, rows[i]);
  }
  return equation_span(f, rows[0]);
}

const Diag* sym_fail_over(const SymFailure* f, SymPart part) {
  Report report;
  const uint32_t* rows = by_place(f, part.rows, part.row_count);
  Str where = where_text(f);
  Span span = added_span(f, rows, part.row_count);
  if (part.column_count == 0) {
    Str text = str_format(f->scratch, "there is nothing that this equation could determine%.*s",
                          STR_ARGS(where));
    report_begin(&report, f, DIAG_E0520, span, text);
    report_equations(&report, f, rows, part.row_count, " has no unknown");
    return report.diag;
  }
  Str names = columns_text(f, part.columns, part.column_count, false, "and");
  Str text =
      str_format(f->scratch, "too many equations%.*s: %u for %u unknown%s, %.*s", STR_ARGS(where),
                 part.row_count, part.column_count, plural(part.column_count), STR_ARGS(names));
  report_begin(&report, f, DIAG_E0520, span, text);
  report_equations(&report, f, rows, part.row_count, "");
  uint32_t surplus = part.row_count - part.column_count;
  const char* of_states = where.length == 0 ? "" : OVER_IN_A_STATE;
  if (one_in_a_loop(f, rows, part.row_count)) {
    diag_hint(&report.list, report.diag,
              "a loop repeats this equation; give what it determines the index of the loop, as in "
              "x_[i]");
  } else if (surplus == 1) {
    diag_hint(&report.list, report.diag,
              "remove one of these equations, or give it an unknown of its own to determine%s",
              of_states);
  } else {
    diag_hint(&report.list, report.diag,
              "remove %u of these equations, or give them unknowns of their own to determine%s",
              surplus, of_states);
  }
  return report.diag;
}

const Diag* sym_fail_under(const SymFailure* f, SymPart part) {
  Report report;
  const uint32_t* rows = by_place(f, part.rows, part.row_count);
  Str where = where_text(f);
  Str names = columns_text(f, part.columns, part.column_count, false, "and");
  Str text = str_format(f->scratch, "not enough equations%.*s: %u for %u unknowns, %.*s",
                        STR_ARGS(where), part.row_count, part.column_count, STR_ARGS(names));
  report_begin(&report, f, DIAG_E0521, equation_span(f, rows[0]), text);
  report_equations(&report, f, rows, part.row_count, "");
  Str choice = columns_text(f, part.columns, part.column_count, false, "or");
  bool one = part.column_count == part.row_count + 1;
  diag_hint(&report.list, report.diag,
            "add %s for %.*s; a value that only events change is set by "
            "`x(t0) = ...` or `set` and stands on no left side",
            one ? "an equation" : "equations", STR_ARGS(choice));
  return report.diag;
}

static void report_implicit(Report* report, const SymFailure* f, Span span, Str why) {
  Str subject = subject_text(f);
  Str text =
      str_format(f->scratch, "%.*s cannot be solved: %.*s", STR_ARGS(subject), STR_ARGS(why));
  report_begin(report, f, DIAG_E0522, span, text);
}

const Diag* sym_fail_index(const SymFailure* f, SymPart part) {
  Report report;
  const uint32_t* rows = by_place(f, part.rows, part.row_count);
  Span span = equation_span(f, rows[0]);
  if (part.column_count == 0) {
    Str equation = equation_text(f, rows[0]);
    Str why = str_format(f->scratch, "%.*s determines no derivative of highest order",
                         STR_ARGS(equation));
    report_implicit(&report, f, span, why);
    report_equations(&report, f, rows, part.row_count, " constrains states");
    diag_hint(&report.list, report.diag,
              "choose coordinates that meet the constraint by themselves, or replace the equation "
              "by its time derivative");
    return report.diag;
  }
  Str names = columns_text(f, part.columns, part.column_count, true, "and");
  Str why =
      str_format(f->scratch, "%u equations determine only %.*s", part.row_count, STR_ARGS(names));
  report_implicit(&report, f, span, why);
  report_equations(&report, f, rows, part.row_count, "");
  diag_hint(&report.list, report.diag,
            "together they constrain states: replace one of them by its time derivative");
  return report.diag;
}

const Diag* sym_fail_growth(const SymFailure* f, uint32_t row, uint32_t times) {
  Report report;
  Str where = where_text(f);
  Str text =
      str_format(f->scratch, "an equation must be differentiated %u times%.*s and becomes too long",
                 times, STR_ARGS(where));
  report_begin(&report, f, DIAG_E0524, equation_span(f, row), text);
  report_equations(&report, f, &row, 1, "");
  diag_hint(&report.list, report.diag,
            "replace a constraint by its time derivative, or choose coordinates that meet it by "
            "themselves");
  return report.diag;
}

const Diag* sym_fail_loop(const SymFailure* f, const int* rows, const int* columns,
                          uint32_t count) {
  Report report;
  uint32_t* found = ARENA_ARRAY(f->scratch, uint32_t, count);
  uint64_t* unknowns = ARENA_ARRAY(f->scratch, uint64_t, count);
  for (uint32_t i = 0; i < count; i++) {
    found[i] = (uint32_t)rows[i];
    unknowns[i] = (uint32_t)columns[i];
  }
  const uint32_t* placed = by_place(f, found, count);
  sort_ascending(unknowns, count);
  for (uint32_t i = 0; i < count; i++) {
    found[i] = (uint32_t)unknowns[i];
  }
  Str names = columns_text(f, found, count, true, "and");
  Str why = str_format(f->scratch, "%.*s depend on each other in a loop", STR_ARGS(names));
  report_implicit(&report, f, equation_span(f, placed[0]), why);
  report_equations(&report, f, placed, count, "");
  diag_hint(&report.list, report.diag, "solve these equations by hand for one of the unknowns");
  return report.diag;
}

const Diag* sym_fail_scalar(const SymFailure* f, uint32_t row, uint32_t column, SymSolution how) {
  Report report;
  Str equation = equation_text(f, row);
  Str name = columns_text(f, &column, 1, true, "and");
  Str why;
  if (how == SYM_CANCELS) {
    why = str_format(f->scratch, "%.*s cancels out of %.*s", STR_ARGS(name), STR_ARGS(equation));
  } else {
    why = str_format(f->scratch, "%.*s is not linear in %.*s", STR_ARGS(equation), STR_ARGS(name));
  }
  report_implicit(&report, f, equation_span(f, row), why);
  report_equations(&report, f, &row, 1, "");
  diag_hint(&report.list, report.diag, "write the equation as `%.*s = ...`", STR_ARGS(name));
  return report.diag;
}

const Diag* sym_conflict(Sym* sym, Arena* scratch, const IrConflict* conflict,
                         const uint32_t* mode) {
  uint32_t rows[] = {0, 1};
  uint32_t equations[] = {conflict->equation_a, conflict->equation_b};
  SymFailure f = {.sym = sym, .scratch = scratch, .mode = mode, .equations = equations};
  Report report;
  Str where = where_text(&f);
  Str text;
  if (conflict->label) {
    Str label = names_get(&sym->ir->names, conflict->label);
    text = str_format(scratch, "two automata replace the group `%.*s`%.*s", STR_ARGS(label),
                      STR_ARGS(where));
  } else {
    Str name = ir_var_name(sym->ir, conflict->var);
    text = str_format(scratch, "two automata replace the equation of %.*s%.*s", STR_ARGS(name),
                      STR_ARGS(where));
  }
  report_begin(&report, &f, DIAG_E0523, equation_span(&f, 1), text);
  uint32_t count = conflict->equation_b == IR_NONE ? 1 : 2;
  report_equations(&report, &f, rows, count, "");
  diag_hint(&report.list, report.diag,
            "let one automaton change it, or split the equation into two unknowns");
  return report.diag;
}

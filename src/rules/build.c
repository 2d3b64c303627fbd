// SPDX-License-Identifier: MIT
//
// Files to tables to model: includes, rows that replace rows, declarations.
#include "rules/read.h"

#include <math.h>
#include <string.h>

// ---- files
// ----------------------------------------------------------------------------------------

/// `name` as seen from the folder of `from`.
static Str join_path(Arena* arena, Str from, Str name) {
  uint32_t folder = from.length;
  while (folder > 0 && from.data[folder - 1] != '/')
    folder--;
  if (name.length && name.data[0] == '/') folder = 0;
  return str_format(arena, "%.*s%.*s", (int)folder, from.data, STR_ARGS(name));
}

static bool is_include(Arena* arena, Str name) {
  return rules_in_list("include|включить|включает", rules_fold(arena, name));
}

static bool add_file(Reader* r, RawFile file, uint32_t depth);

static void load_include(Reader* r, uint32_t by, Str relative, const RawTable* table,
                         const RawRow* row, Span span, uint32_t depth) {
  Str name = join_path(r->arena, r->files.data[by].path, relative);
  for (uint32_t f = by; f != RULES_NONE; f = r->files.data[f].included_by) {
    if (!str_equal(r->files.data[f].path, name)) continue;
    rules_report(r, DIAG_E1008, table, row, COLUMN_VALUE, span, "'%.*s' includes itself",
                 STR_ARGS(relative));
    return;
  }
  if (depth >= RULES_INCLUDE_MAX || r->files.count >= RULES_FILES_MAX) {
    rules_report(r, DIAG_E1010, table, row, COLUMN_VALUE, span,
                 "a model includes at most %u files, %u deep", RULES_FILES_MAX, RULES_INCLUDE_MAX);
    return;
  }
  Str text = {0};
  SltStatus status = r->options->load_file
                         ? r->options->load_file(r->options->user, name, r->arena, &text)
                         : SLT_ERR_UNSUPPORTED;
  if (status < 0) {
    bool missing = status == SLT_ERR_IO || status == SLT_ERR_NOT_FOUND;
    Diag* diag = rules_report(r, DIAG_E1007, table, row, COLUMN_VALUE, span, "cannot read '%.*s'%s",
                              STR_ARGS(relative), file_problem(status));
    if (missing) diag_hint(r->diags, diag, "it is looked for in the folder of the model");
    return;
  }
  // messages and events show the name as the user would type it
  Str shown = join_path(r->arena, r->files.data[by].name, relative);
  add_file(r, (RawFile){.name = shown, .path = name, .text = text, .included_by = by}, depth + 1);
}

/// Find the includes of a file: read its tables once, without messages, for nothing else.
static void find_includes(Reader* r, uint32_t file, uint32_t depth) {
  DiagList ignored;
  diag_init(&ignored, r->arena, r->diags->source);
  Reader probe = {.model = r->model, .arena = r->arena, .options = r->options, .diags = &ignored};
  base_vec_push(r->arena, &probe.files, r->files.data[file]);
  if (probe.files.data[0].csv_section) {
    rules_read_csv(&probe, 0);
  } else {
    rules_read_markdown(&probe, 0);
  }
  for (uint32_t t = 0; t < probe.tables.count; t++) {
    const RawTable* table = &probe.tables.data[t];
    if (table->section != RULES_SECTION_SETTINGS) continue;
    for (uint32_t i = 0; i < table->rows.count; i++) {
      const RawRow* row = &table->rows.data[i];
      if (!is_include(r->arena, rules_cell(table, row, COLUMN_NAME).text)) continue;
      RawCell value = rules_cell(table, row, COLUMN_VALUE);
      // where a later file begins is known only when all are there
      Span span = file == 0 ? value.span : (Span){0, 0};
      load_include(r, file, rules_cell_name(value), table, row, span, depth);
    }
  }
}

static bool add_file(Reader* r, RawFile file, uint32_t depth) {
  base_vec_push(r->arena, &r->files, file);
  uint32_t index = r->files.count - 1;
  find_includes(r, index, depth);
  return true;
}

static void check_encoding(Reader* r, uint32_t file) {
  const RawFile* f = &r->files.data[file];
  for (uint32_t i = 0; i < f->text.length;) {
    uint32_t size =
        f->text.data[i] == '\0' ? 0 : utf8_decode(f->text.data + i, f->text.length - i, NULL);
    if (size == 0) {
      uint32_t at = f->begin + i;
      diag_add(r->diags, DIAG_E1001, (Span){at, at + 1}, "this is not UTF-8 text");
      return;
    }
    i += size;
  }
}

/// One text of all files, so that every place has one number.
static void join_files(Reader* r, Source* source) {
  TextBuffer all = {.arena = r->arena};
  SourcePart* parts = ARENA_ARRAY(r->arena, SourcePart, r->files.count);
  uint32_t line = 1;
  for (uint32_t f = 0; f < r->files.count; f++) {
    RawFile* file = &r->files.data[f];
    file->begin = all.length;
    parts[f] = (SourcePart){
        .name = str_copy(r->arena, file->name), .begin = all.length, .first_line = line};
    text_append(&all, file->text);
    if (f + 1 < r->files.count) text_append_char(&all, '\n');
    for (uint32_t i = file->begin; i < all.length; i++)
      line += all.data[i] == '\n';
  }
  Str text = text_str(&all);
  source_init(source, r->arena, parts[0].name, text);
  source->parts = parts + 1;
  source->part_count = r->files.count - 1;
  for (uint32_t f = 0; f < r->files.count; f++) {
    r->files.data[f].text.data = text.data + r->files.data[f].begin;
  }
}

static void add_folder(Reader* r, Str folder) {
  bool any = false;
  while (folder.length > 1 && folder.data[folder.length - 1] == '/')
    folder.length--;
  for (uint32_t s = 1; s < RULES_SECTION_COUNT; s++) {
    Str name = str_from_c(rules_csv_name((RulesSection)s));
    Str text = {0};
    SltStatus status = r->options->load_file
                           ? r->options->load_file(r->options->user, name, r->arena, &text)
                           : SLT_ERR_UNSUPPORTED;
    if (status == SLT_ERR_NOT_FOUND || status == SLT_ERR_UNSUPPORTED) continue;
    if (status < 0) {
      any = true;
      diag_add(r->diags, DIAG_E1007, (Span){0, 0}, "cannot read '%.*s' in the folder '%.*s'%s",
               STR_ARGS(name), STR_ARGS(folder), file_problem(status));
      continue;
    }
    any = true;
    Str shown = str_format(r->arena, "%.*s/%.*s", STR_ARGS(folder), STR_ARGS(name));
    add_file(r,
             (RawFile){.name = shown,
                       .path = name,
                       .text = text,
                       .included_by = RULES_NONE,
                       .csv_section = (uint8_t)s},
             0);
  }
  if (!any) {
    diag_add(r->diags, DIAG_E1007, (Span){0, 0}, "there is no table in the folder '%.*s'",
             STR_ARGS(folder));
  }
}

// ---- rows of all files
// ----------------------------------------------------------------------------

/// Files in the order in which their rows count: an included one before the one that includes it.
static void order_files(const Reader* r, uint32_t file, uint32_t* order, uint32_t* count) {
  for (uint32_t f = file + 1; f < r->files.count; f++) {
    if (r->files.data[f].included_by == file) order_files(r, f, order, count);
  }
  order[(*count)++] = file;
}

/// What a row is known by when another model includes this one.
static RulesColumn key_column(const RawTable* table) {
  if (table->section == RULES_SECTION_SITUATIONS) return COLUMN_SITUATION;
  bool numbered = table->section == RULES_SECTION_RULES || table->section == RULES_SECTION_DRAWING;
  return numbered ? COLUMN_NUMBER : COLUMN_NAME;
}

static Str row_key(Reader* r, const RawTable* table, const RawRow* row) {
  RulesColumn column = key_column(table);
  Str name = rules_cell_name(rules_cell(table, row, column));
  return table->section == RULES_SECTION_SETTINGS ? rules_fold(r->arena, name) : name;
}

static void insert_row(Reader* r, MergedRows* list, uint32_t at, MergedRow row) {
  base_vec_push(r->arena, list, row);
  for (uint32_t i = list->count - 1; i > at; i--)
    list->data[i] = list->data[i - 1];
  list->data[at] = row;
}

/// Number of a rule's label; NaN when it is no number.
static double label_number(Str key) {
  double value = 0.0;
  uint32_t used = number_read(key, false, &value);
  return used && used == key.length ? value : (double)NAN;
}

/// Where a new rule goes: before the first one with a greater number, else to the end.
static uint32_t rule_place(const MergedRows* list, Str key) {
  double number = label_number(key);
  if (isnan(number)) return list->count;
  for (uint32_t i = 0; i < list->count; i++) {
    double other = label_number(list->data[i].key);
    if (!isnan(other) && other > number) return i;
  }
  return list->count;
}

static void repeated_row(Reader* r, const MergedRow* old, const MergedRow* row) {
  RulesColumn column = key_column(row->table);
  RawCell cell = rules_cell(row->table, row->row, column);
  Diag* diag = rules_report(r, DIAG_E1012, row->table, row->row, column, cell.span,
                            "'%.*s' stands here a second time", STR_ARGS(row->key));
  diag_note(r->diags, diag, rules_cell(old->table, old->row, column).span, "the first one is here");
  diag_hint(r->diags, diag, "only rows of an included model can be replaced");
}

/// Add a row of Situations: those of an earlier file with its name go.
static void merge_situation(Reader* r, MergedRows* list, MergedRow row) {
  uint32_t at = list->count;
  bool own = false;
  for (uint32_t i = 0; i < list->count; i++) {
    MergedRow* old = &list->data[i];
    if (!row.key.length || !str_equal(old->key, row.key)) continue;
    if (old->file == row.file) {
      own = true;
      at = i + 1;
      continue;
    }
    if (!old->removed && !own) at = i + 1;
    old->removed = true;
  }
  insert_row(r, list, at, row);
}

static void merge_row(Reader* r, MergedRows* lists, MergedRow row) {
  RulesSection section = (RulesSection)row.table->section;
  MergedRows* list = &lists[section];
  if (section == RULES_SECTION_SITUATIONS) {
    merge_situation(r, list, row);
    return;
  }
  if (section == RULES_SECTION_SETTINGS && is_include(r->arena, row.key)) {
    insert_row(r, list, list->count, row);
    return;
  }
  for (uint32_t i = 0; row.key.length && i < list->count; i++) {
    MergedRow* old = &list->data[i];
    if (old->removed || !str_equal(old->key, row.key)) continue;
    if (old->file == row.file) {
      repeated_row(r, old, &row);
    } else {
      *old = row;
    }
    return;
  }
  // what was a constant of the included model may become a state, and the other way round
  RulesSection other = section == RULES_SECTION_STATES      ? RULES_SECTION_CONSTANTS
                       : section == RULES_SECTION_CONSTANTS ? RULES_SECTION_STATES
                                                            : RULES_SECTION_NONE;
  for (uint32_t i = 0; other && i < lists[other].count; i++) {
    MergedRow* old = &lists[other].data[i];
    if (old->file != row.file && str_equal(old->key, row.key)) old->removed = true;
  }
  insert_row(r, list, section == RULES_SECTION_RULES ? rule_place(list, row.key) : list->count,
             row);
}

static void merge_rows(Reader* r, MergedRows* lists) {
  uint32_t* order = ARENA_ARRAY(r->arena, uint32_t, r->files.count + 1);
  uint32_t count = 0;
  for (uint32_t f = 0; f < r->files.count; f++) {
    if (r->files.data[f].included_by == RULES_NONE) order_files(r, f, order, &count);
  }
  for (uint32_t k = 0; k < count; k++) {
    for (uint32_t t = 0; t < r->tables.count; t++) {
      const RawTable* table = &r->tables.data[t];
      if (table->file != order[k]) continue;
      for (uint32_t i = 0; i < table->rows.count; i++) {
        const RawRow* row = &table->rows.data[i];
        Str key = row_key(r, table, row);
        // the files of a folder are one model: their rows do not replace each other
        uint32_t file = r->files.data[order[k]].csv_section ? RULES_NONE : order[k];
        merge_row(r, lists, (MergedRow){.table = table, .row = row, .key = key, .file = file});
      }
    }
  }
  for (uint32_t s = 0; s < RULES_SECTION_COUNT; s++) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < lists[s].count; i++) {
      if (!lists[s].data[i].removed) lists[s].data[kept++] = lists[s].data[i];
    }
    lists[s].count = kept;
  }
}

// ---- entry
// ----------------------------------------------------------------------------------------

static void init_model(RulesModel* model, Arena* arena, const Source* source) {
  double unset = (double)NAN;
  *model = (RulesModel){.arena = arena,
                        .source = source,
                        .cycle = unset,
                        .start = unset,
                        .end = unset,
                        .every = unset,
                        .rtol = unset,
                        .atol = unset};
}

bool rules_read(RulesModel* model, Arena* arena, Source* source, Str name, Str text,
                bool csv_folder, const RulesOptions* options, DiagList* diags) {
  static const RulesOptions none;
  init_model(model, arena, source);
  uint32_t errors = diags->error_count;
  *source = (Source){.name = str_copy(arena, name)};
  source_init(source, arena, source->name, STR_LIT(""));
  Reader r = {.model = model, .arena = arena, .options = options ? options : &none, .diags = diags};
  if (csv_folder) {
    add_folder(&r, source->name);
  } else {
    // paths are counted from the folder of the model, which is where files are looked for
    Str base = source->name;
    uint32_t slash = base.length;
    while (slash > 0 && base.data[slash - 1] != '/')
      slash--;
    Str path = {base.data + slash, base.length - slash};
    add_file(&r, (RawFile){.name = base, .path = path, .text = text, .included_by = RULES_NONE}, 0);
  }
  if (r.files.count > 0) join_files(&r, source);
  if (diags->error_count != errors) return false;
  for (uint32_t f = 0; f < r.files.count; f++) {
    check_encoding(&r, f);
    if (diags->error_count != errors) return false;
    if (r.files.data[f].csv_section) {
      rules_read_csv(&r, f);
    } else {
      rules_read_markdown(&r, f);
    }
  }
  // a column that is not known would show up again in every row
  if (diags->error_count != errors) return false;
  Builder* b = ARENA_NEW(arena, Builder);
  *b = (Builder){.r = &r, .m = model};
  names_init(&b->names, arena);
  merge_rows(&r, b->rows);
  rules_build_declarations(b);
  rules_build_rules(b);
  rules_build_settings(b);
  rules_build_drawing(b);
  rules_build_controls(b);
  if (diags->error_count == errors) rules_check(b);
  return diags->error_count == errors;
}

// SPDX-License-Identifier: MIT
#include "lisma/lower.h"

#include "lisma/expand.h"
#include "lisma/units.h"

#include <string.h>

// ---------------------------------------------------------------------------------------------
// messages

static Diag* report_va(Lower* l, DiagCode code, Span span, const char* format, va_list args) {
  // a mistake inside a loop would otherwise be told once per instance
  uint64_t place = (uint64_t)span.begin << 32 | span.end;
  if (map_get(&l->walk.reported, (uint64_t)code, place)) return &l->walk.ignored;
  map_set(&l->walk.reported, (uint64_t)code, place, 1);

  Str message = str_format_va(l->scratch, format, args);
  Diag* diag = diag_add(l->diags, code, span, "%.*s", STR_ARGS(message));
  if (l->functions.instance && !l->functions.instance->tried) {
    diag_note(l->diags, diag, l->functions.instance->span, "in the part '%.*s' that is made here",
              STR_ARGS(l->functions.instance->type.head));
  }
  return diag;
}

Diag* lower_report(Lower* l, DiagCode code, Span span, const char* format, ...) {
  va_list args;
  va_start(args, format);
  Diag* diag = report_va(l, code, span, format, args);
  va_end(args);
  return diag;
}

Str lower_name(const Lower* l, uint32_t name) {
  return names_get(&l->m->names, name);
}

bool lower_is_member(Str name) {
  return name.length && memchr(name.data, '.', name.length) != NULL;
}

Str lower_number_text(Lower* l, double value) {
  char text[NUMBER_TEXT_MAX];
  uint32_t length = number_write(text, value);
  return str_copy(l->scratch, (Str){text, length});
}

static void append_bindings(Lower* l, TextBuffer* out, const char* between, const char* equals) {
  for (uint32_t i = l->names.binding_base; i < l->names.bindings.count; i++) {
    if (i > l->names.binding_base) text_append_c(out, between);
    Str name = lower_name(l, l->names.bindings.data[i].name);
    for (uint32_t k = 0; k < name.length; k++) {
      // loops of parts are told apart by a number behind their index
      if (name.data[k] == '#') name.length = k;
    }
    text_append(out, name);
    text_append_c(out, equals);
    text_append_double(out, l->names.bindings.data[i].value);
  }
}

Str lower_instance_text(Lower* l) {
  if (l->names.bindings.count == l->names.binding_base) return STR_LIT("");
  TextBuffer out = {.arena = l->scratch};
  text_append_c(&out, " with ");
  append_bindings(l, &out, ", ", " = ");
  return text_str(&out);
}

/// Line and column, counted on from the last place asked for: names of switches come in the order
/// of the text, and a line may hold thousands of them.
static void find_place(Lower* l, uint32_t offset, uint32_t* line, uint32_t* column) {
  uint32_t known = l->names.place_line ? l->names.place_line : 1;
  uint32_t end = known < l->source->line_count ? l->source->line_starts[known] : UINT32_MAX;
  if (l->names.place_line && offset >= l->names.place_offset && offset < end) {
    Str between = {l->source->text.data + l->names.place_offset, offset - l->names.place_offset};
    l->names.place_column += utf8_count(between);
  } else {
    source_place(l->source, offset, &l->names.place_line, &l->names.place_column);
  }
  l->names.place_offset = offset;
  *line = l->names.place_line;
  *column = l->names.place_column;
}

/// The name in `text` with the loop indices in force behind the first `given` of them and, when it
/// is taken, a number behind it.
static uint32_t free_name(Lower* l, TextBuffer* text, uint32_t given) {
  uint32_t base = l->names.binding_base;
  l->names.binding_base += given;
  if (l->names.bindings.count > l->names.binding_base) {
    text_append_char(text, '[');
    append_bindings(l, text, ",", "=");
    text_append_char(text, ']');
  }
  l->names.binding_base = base;
  uint32_t known = l->m->names.names.count;
  uint32_t name = names_intern(&l->m->names, text_str(text));
  if (name >= known) return name;
  uint32_t again = map_get(&l->names.place_names, name, 0) + 1;
  map_set(&l->names.place_names, name, 0, again);
  text_append_format(text, "#%u", again + 1);
  return names_intern(&l->m->names, text_str(text));
}

uint32_t lower_place_name(Lower* l, const char* prefix, Span span) {
  uint32_t line = 0;
  uint32_t column = 0;
  find_place(l, span.begin, &line, &column);
  TextBuffer* text = &l->names.text;
  text->length = 0;
  text_append_format(text, "%s@%u:%u", prefix, line, column);
  return free_name(l, text, 0);
}

uint32_t lower_line_name(Lower* l, const char* prefix, Span span) {
  uint32_t line = 0;
  uint32_t column = 0;
  find_place(l, span.begin, &line, &column);
  const AstInstance* part = l->functions.instance;
  Str owner = part && !part->tried ? lower_name(l, resolve_name(l, &part->name)) : STR_LIT("");
  uint32_t indices = 0;  // of the part itself
  for (uint32_t i = 0; owner.length && i < part->name.indices.count; i++) {
    indices += part->name.indices.data[i].subscripts.count;
  }
  TextBuffer* text = &l->names.text;
  text->length = 0;
  text_append_format(text, "%.*s%s%s:%u", STR_ARGS(owner), owner.length ? "." : "", prefix, line);
  return free_name(l, text, indices);
}

bool lower_enter(Lower* l, Span span) {
  if (l->walk.stopped) return false;
  if (++l->walk.work > 8 * (uint64_t)l->walk.max_leaves ||
      l->m->leaves.count > l->walk.max_leaves) {
    Diag* diag = lower_report(l, DIAG_E0721, span, "the model becomes too large here");
    diag_hint(l->diags, diag,
              "a model may have %u names and numbers with all loops and macros "
              "written out",
              l->walk.max_leaves);
    l->walk.stopped = true;
    return false;
  }
  if (l->walk.depth >= LOWER_DEPTH_MAX) {
    Diag* diag = lower_report(l, DIAG_E0722, span, "this is nested too deeply");
    diag_hint(l->diags, diag, "with macros and constants followed, at most %u levels",
              LOWER_DEPTH_MAX);
    l->walk.stopped = true;
    return false;
  }
  l->walk.depth++;
  return true;
}

void lower_leave(Lower* l) {
  l->walk.depth--;
}

// ---------------------------------------------------------------------------------------------
// the passes

static void init_maps(Lower* l) {
  Map empty = {.arena = l->scratch};
  l->names.refs = empty;
  l->names.templates = empty;
  l->names.sparse = empty;
  l->functions.ids = empty;
  l->automata.state_ids = empty;
  l->automata.mode_tests = empty;
  l->walk.reported = empty;
  l->walk.refused = empty;
  l->names.place_names = empty;
  l->terms.starts = empty;
  l->terms.relation_texts = empty;
  l->functions.prelude = empty;
  l->functions.logical = empty;
  l->functions.results = empty;
  l->functions.parts_seen = empty;
  l->functions.elements = empty;
  l->ports.ids = empty;
  l->names.pasted_units = empty;
  l->names.met = empty;
  l->names.text.arena = l->scratch;
}

static void lower_model(Lower* l) {
  resolve_init(l);
  lower_init_functions(l);
  resolve_declarations(l);
  resolve_logical(l);
  lower_automata(l);
  resolve_lower_constants(l);
  Site top = {.body = 0, .automaton = IR_NONE, .owner = IR_NONE};
  lower_block(l, &l->ast->body, &top);
  resolve_lower_macros(l);
  if (l->walk.stopped || !resolve_check_elements(l)) return;
  lower_check_alike(l);
  lower_check_functions(l);
  lower_connections(l);
  lower_override_starts(l);
  if (l->walk.stopped) return;
  lower_finish(l);
  ir_canonicalise(l->m);
  resolve_kinds(l);
  lower_check_outputs(l);
  lower_check_controls(l);
  ir_decide_continuous(l->m, l->scratch);
}

bool lower_whole(Lower* l, Str* why) {
  uint32_t errors = l->diags->error_count;
  init_maps(l);
  lower_model(l);
  if (l->diags->error_count != errors) return true;
  bool valid = ir_verify(l->m, l->arena, why);
  lower_hide_helpers(l);
  if (!valid || !ir_merge_alternatives(l->m, l->scratch)) return valid;
  ir_canonicalise(l->m);
  ir_decide_continuous(l->m, l->scratch);
  return ir_verify(l->m, l->arena, why);
}

static void compile(Arena* scratch, IrModel* model, Arena* arena, const LismaOptions* options,
                    DiagList* diags) {
  static const LismaOptions no_options;
  uint32_t errors = diags->error_count;
  Lower* l = ARENA_NEW(scratch, Lower);
  *l = (Lower){.m = model,
               .arena = arena,
               .scratch = scratch,
               .source = model->source,
               .options = options ? options : &no_options,
               .diags = diags,
               .automata.main = IR_NONE};
  l->walk.max_instances =
      l->options->max_instances ? l->options->max_instances : LOWER_INSTANCES_MAX;
  l->walk.max_leaves = l->options->max_leaves ? l->options->max_leaves : LOWER_LEAVES_MAX;
  for (uint32_t i = 0; l->options->applied && i < l->options->override_count; i++) {
    l->options->applied[i] = false;
  }
  const AstModel* written = lisma_parse(scratch, model->source, diags);
  // what the parser had to skip would only show up again as missing names
  if (diags->error_count != errors) return;
  l->ast = lisma_expand(scratch, written, diags);
  if (diags->error_count != errors) return;
  if (!l->options->trust_units) l->names.units = lisma_check_units(scratch, l->ast, diags);
  Str why = {0};
  bool alike = diags->error_count == errors && lower_by_samples(l);
  if (!alike && !lower_whole(l, &why)) {
    diag_add(diags, DIAG_E0799, (Span){0, 0}, "internal error: %.*s", STR_ARGS(why));
  }
  if (diags->error_count == errors) lower_check_unused_parts(l, written);
}

bool lisma_compile(IrModel* model, Arena* arena, const Source* source, const LismaOptions* options,
                   DiagList* diags) {
  ir_model_init(model, arena, source);
  uint32_t errors = diags->error_count;

  // the scratch memory has to be freed on the way out when memory runs out
  jmp_buf* outer = arena->on_oom;
  jmp_buf* outer_diags = diags->arena->on_oom;
  jmp_buf oom;
  Arena* scratch = ARENA_NEW(arena, Arena);
  arena_init(scratch, &arena->allocator, &oom);
  if (setjmp(oom)) {
    arena_free(scratch);
    diags->arena->on_oom = outer_diags;
    arena->on_oom = outer;
    longjmp(*outer, 1);
  }
  arena->on_oom = &oom;
  diags->arena->on_oom = &oom;

  compile(scratch, model, arena, options, diags);

  arena_free(scratch);
  diags->arena->on_oom = outer_diags;
  arena->on_oom = outer;
  diag_sort(diags);
  return diags->error_count == errors;
}

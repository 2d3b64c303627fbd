// SPDX-License-Identifier: MIT
//
// Names that look alike: a Cyrillic or Greek letter in the place of a Latin one makes another
// variable, and nobody sees it.
#include "lisma/lower.h"

#define REPORTS_MAX 5u

typedef struct Alike {
  uint16_t code;
  char latin;
} Alike;

static const Alike letters[] = {
    {0x0391, 'A'}, {0x0392, 'B'}, {0x0395, 'E'}, {0x0396, 'Z'}, {0x0397, 'H'}, {0x0399, 'I'},
    {0x039a, 'K'}, {0x039c, 'M'}, {0x039d, 'N'}, {0x039f, 'O'}, {0x03a1, 'P'}, {0x03a4, 'T'},
    {0x03a5, 'Y'}, {0x03a7, 'X'}, {0x03bd, 'v'}, {0x03bf, 'o'}, {0x0405, 'S'}, {0x0406, 'I'},
    {0x0408, 'J'}, {0x0410, 'A'}, {0x0412, 'B'}, {0x0415, 'E'}, {0x041a, 'K'}, {0x041c, 'M'},
    {0x041d, 'H'}, {0x041e, 'O'}, {0x0420, 'P'}, {0x0421, 'C'}, {0x0422, 'T'}, {0x0423, 'Y'},
    {0x0425, 'X'}, {0x0430, 'a'}, {0x0435, 'e'}, {0x043e, 'o'}, {0x0440, 'p'}, {0x0441, 'c'},
    {0x0443, 'y'}, {0x0445, 'x'}, {0x0455, 's'}, {0x0456, 'i'}, {0x0458, 'j'},
};

static char latin_letter(uint32_t code) {
  for (size_t i = 0; i < SLT_COUNT(letters); i++) {
    if (letters[i].code == code) return letters[i].latin;
  }
  return '\0';
}

static bool is_ascii(Str name) {
  for (uint32_t i = 0; i < name.length; i++) {
    if ((unsigned char)name.data[i] >= 0x80) return false;
  }
  return true;
}

/// The name with Latin letters for those that look like them.
static Str latin_form(Lower* l, Str name) {
  TextBuffer out = {.arena = l->scratch};
  for (uint32_t i = 0; i < name.length;) {
    uint32_t code = 0;
    uint32_t bytes = utf8_decode(name.data + i, name.length - i, &code);
    char latin = latin_letter(code);
    if (latin) {
      text_append_char(&out, latin);
    } else {
      text_append(&out, (Str){name.data + i, bytes});
    }
    i += bytes ? bytes : 1;
  }
  return text_str(&out);
}

static bool report_alike(Lower* l, Str name, Span span) {
  Str latin = latin_form(l, name);
  uint32_t other = str_equal(latin, name) ? 0 : names_find(&l->m->names, latin);
  if (other == 0) return false;
  Symbol symbol = *resolve_symbol(l, other);
  if (symbol.kind == SYM_NONE || symbol.kind == SYM_BUILTIN) return false;
  Diag* diag = lower_report(l, DIAG_W0223, span,
                            "this '%.*s' is another name than '%.*s': it has letters of another "
                            "alphabet that look the same",
                            STR_ARGS(name), STR_ARGS(latin));
  diag_note(l->diags, diag, resolve_symbol_span(l, symbol), "the other one is here");
  return true;
}

void lower_check_alike(Lower* l) {
  uint32_t reports = 0;
  for (uint32_t i = 0; i < l->m->vars.count && reports < REPORTS_MAX; i++) {
    // names that nothing declares are told of as unknown ones
    if (!(l->names.vars.data[i].flags & VAR_STRONG)) continue;
    Str name = lower_name(l, l->m->vars.data[i].name);
    if (!is_ascii(name)) reports += report_alike(l, name, l->m->vars.data[i].span);
  }
  for (uint32_t i = 0; i < l->m->params.count && reports < REPORTS_MAX; i++) {
    Str name = lower_name(l, l->m->params.data[i].name);
    if (!is_ascii(name)) reports += report_alike(l, name, l->m->params.data[i].span);
  }
}

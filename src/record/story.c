// SPDX-License-Identifier: MIT
#include "record/story.h"

#include "record/events.h"

#include <math.h>
#include <string.h>

#define DIGITS      10  // of numbers in the text
#define PERIOD_MAX  8   // instants in a pattern that is recognised
#define REPETITIONS 2   // of a pattern that are told before it is only counted

/// A text in the story's memory: an offset, 0 for none.
typedef size_t Text;

typedef struct Value {
  Text name;
  double before, after;
} Value;

/// Part of an array.
typedef struct Range {
  uint32_t begin, count;
} Range;

typedef struct Record {
  SltEvent event;  // its pointers are not used
  Text automaton, from, to, text;
  Range atoms, changes, impulses, undetermined;
  Range kept;         // of a mode that was only tried: what was assigned all the same
  bool all_hold;      // the relations told: of a switch that turned off, some do not
  Range equivalents;  // among the values: two for each quantity, its sides and its value
  bool pulse;         // a relation of the guard was decided by one
} Record;

struct Story {
  SltAllocator allocator;
  Sink sink;
  bool all;
  bool lost;  // memory was exhausted: this instant cannot be told
  bool gaps;  // ... or another one could not

  // the instant that is collected
  char* texts;
  size_t text_count, text_capacity;
  Record* records;
  size_t record_count, record_capacity;
  Value* values;
  size_t value_count, value_capacity;
  Text* atoms;
  size_t atom_count, atom_capacity;
  Text* automata;  // the mode after it: names, then states
  size_t mode_count, mode_capacity;
  uint32_t mode_more;

  // patterns
  uint64_t past[2 * PERIOD_MAX];  // signatures of the last instants, newest last
  uint32_t past_count;
  uint32_t period;    // of the pattern that is skipped; 0: none
  uint64_t skipped;   // instants
  double skipped_to;  // time of the last of them
  uint64_t told, by_class[5];
  bool begun;
};

static bool grow(Story* s, void** data, size_t need, size_t* capacity, size_t size) {
  if (need <= *capacity) return true;
  size_t wanted = *capacity ? 2 * *capacity : 64;
  if (wanted < need) wanted = need;
  void* grown = base_realloc(&s->allocator, *data, *capacity * size, base_mul_size(wanted, size));
  if (!grown) {
    s->lost = true;
    s->gaps = true;
    return false;
  }
  *data = grown;
  *capacity = wanted;
  return true;
}

Story* story_create(const SltAllocator* allocator, SltWriter writer, bool all) {
  SltAllocator a = base_allocator(allocator);
  Story* s = base_alloc(&a, sizeof *s);
  if (!s) return NULL;
  *s = (Story){.allocator = a, .all = all};
  if (sink_init(&s->sink, writer) < 0) {
    base_free(&a, s, sizeof *s);
    return NULL;
  }
  return s;
}

void story_free(Story* s) {
  if (!s) return;
  SltAllocator a = s->allocator;
  sink_clear(&s->sink);
  base_free(&a, s->texts, s->text_capacity);
  base_free(&a, s->records, s->record_capacity * sizeof *s->records);
  base_free(&a, s->values, s->value_capacity * sizeof *s->values);
  base_free(&a, s->atoms, s->atom_capacity * sizeof *s->atoms);
  base_free(&a, s->automata, s->mode_capacity * sizeof *s->automata);
  base_free(&a, s, sizeof *s);
}

// ---- collecting ---------------------------------------------------------------------------------

static Text keep(Story* s, const char* text) {
  if (!text) return 0;
  size_t size = strlen(text) + 1;
  // offset 0 is no text
  if (s->text_count == 0) s->text_count = 1;
  if (!grow(s, (void**)&s->texts, s->text_count + size, &s->text_capacity, 1)) return 0;
  Text at = s->text_count;
  memcpy(s->texts + at, text, size);
  s->text_count += size;
  return at;
}

static const char* get(const Story* s, Text text) {
  return text ? s->texts + text : "";
}

static Range keep_values(Story* s, const SltChange* changes, uint32_t count) {
  Range range = {(uint32_t)s->value_count, 0};
  if (!grow(s, (void**)&s->values, s->value_count + count, &s->value_capacity, sizeof *s->values)) {
    return range;
  }
  for (uint32_t i = 0; i < count; i++) {
    Value value = {keep(s, changes[i].name), changes[i].before, changes[i].after};
    s->values[s->value_count++] = value;
  }
  range.count = count;
  return range;
}

static Range keep_equivalents(Story* s, const SltEquivalent* list, uint32_t count) {
  Range range = {(uint32_t)s->value_count, 0};
  if (!grow(s, (void**)&s->values, s->value_count + 2 * (size_t)count, &s->value_capacity,
            sizeof *s->values)) {
    return range;
  }
  for (uint32_t i = 0; i < count; i++) {
    Text name = keep(s, list[i].name);
    s->values[s->value_count++] = (Value){name, list[i].without, list[i].with};
    s->values[s->value_count++] = (Value){name, list[i].value, list[i].value};
  }
  range.count = 2 * count;
  return range;
}

static void keep_mode(Story* s, const StoryMode* mode) {
  s->mode_count = 0;
  s->mode_more = mode->more;
  size_t need = 2 * (size_t)mode->count;
  if (!grow(s, (void**)&s->automata, need, &s->mode_capacity, sizeof *s->automata)) return;
  s->mode_count = mode->count;
  for (uint32_t i = 0; i < mode->count; i++) {
    s->automata[i] = keep(s, mode->automata[i]);
    s->automata[mode->count + i] = keep(s, mode->states[i]);
  }
}

static void forget(Story* s) {
  s->text_count = 0;
  s->record_count = 0;
  s->value_count = 0;
  s->atom_count = 0;
  s->mode_count = 0;
  s->lost = false;
}

// ---- words --------------------------------------------------------------------------------------

static void say(Story* s, const char* text) {
  sink_c(&s->sink, text);
}

static void say_exact(Story* s, double value) {
  char text[NUMBER_TEXT_MAX];
  number_write(text, value);
  say(s, text);
}

/// For people: at most DIGITS digits.
static void say_rounded(Story* s, double value, int digits) {
  if (!isfinite(value) || fabs(value) < 1e-300) {
    say_exact(s, isfinite(value) ? 0.0 : value);
    return;
  }
  int exponent = (int)floor(log10(fabs(value)));
  bool plain = exponent >= -5 && exponent < 15;
  int places = digits - 1 - (plain ? exponent : 0);
  double mantissa = plain ? value : value / pow(10.0, exponent);
  // powers of ten up to 22 are exact, so the quotient is the double next to the decimal
  double scale = pow(10.0, places < 0 ? -places : places);
  double rounded = places < 0 ? round(mantissa / scale) * scale : round(mantissa * scale) / scale;
  if (!plain && fabs(rounded) >= 10.0) {  // 9.99 became 10
    rounded /= 10.0;
    exponent++;
  }
  say_exact(s, rounded);
  if (plain) return;
  say(s, "e");
  say_exact(s, exponent);
}

static void say_number(Story* s, double value) {
  say_rounded(s, value, DIGITS);
}

static void say_line(Story* s, uint32_t line) {
  if (line == 0) return;
  say(s, " (line ");
  sink_unsigned(&s->sink, line);
  say(s, ")");
}

static void say_atoms(Story* s, Range atoms) {
  for (uint32_t i = 0; i < atoms.count; i++) {
    if (i) say(s, i + 1 == atoms.count ? " and " : ", ");
    say(s, get(s, s->atoms[atoms.begin + i]));
  }
}

static bool is_derivative(const char* name) {
  return strchr(name, '\'') != NULL;
}

/// Equal up to rounding, measured by the larger end of a change.
static bool is_close(double a, double b, double size) {
  return fabs(a - b) <= 1e-9 * size;
}

/// A derivative that has a name of its own, as x' = v, needs no second mention.
static bool is_named_otherwise(const Story* s, Range values, uint32_t i) {
  const Value* value = &s->values[values.begin + i];
  if (!is_derivative(get(s, value->name))) return false;
  for (uint32_t k = 0; k < values.count; k++) {
    const Value* other = &s->values[values.begin + k];
    if (is_derivative(get(s, other->name))) continue;
    double size = fmax(fabs(value->before), fabs(value->after));
    if (is_close(other->before, value->before, size) &&
        is_close(other->after, value->after, size)) {
      return true;
    }
  }
  return false;
}

/// What rounding leaves of zero beside the other value is zero.
static double beside(double value, double other) {
  return fabs(value) < 1e-14 * fabs(other) ? 0.0 : value;
}

/// "v -14 -> 11.2, n 0 -> 1"
static void say_changes(Story* s, Range values) {
  bool any = false;
  for (uint32_t i = 0; i < values.count; i++) {
    const Value* value = &s->values[values.begin + i];
    if (is_named_otherwise(s, values, i)) continue;
    if (any) say(s, ", ");
    any = true;
    say(s, get(s, value->name));
    say(s, " ");
    say_number(s, beside(value->before, value->after));
    say(s, " -> ");
    say_number(s, beside(value->after, value->before));
  }
}

static void say_impulses(Story* s, Range values) {
  if (values.count == 0) return;
  say(s, values.count == 1 ? "pulse " : "pulses ");
  for (uint32_t i = 0; i < values.count; i++) {
    const Value* value = &s->values[values.begin + i];
    if (i) say(s, ", ");
    say(s, get(s, value->name));
    say(s, " ");
    say_number(s, value->after);
  }
}

/// What the new mode leaves open, and what happened to the energy.
static void say_audit(Story* s, const Record* r) {
  if (r->undetermined.count) {
    say(s, "  nothing determines ");
    for (uint32_t i = 0; i < r->undetermined.count; i++) {
      if (i) say(s, ", ");
      say(s, get(s, s->atoms[r->undetermined.begin + i]));
    }
    say(s, r->undetermined.count == 1 ? " from here on: it keeps its value\n"
                                      : " from here on: they keep their values\n");
  }
  if (r->event.has_energy && r->event.energy[0] != r->event.energy[1]) {
    say(s, "  energy ");
    say_number(s, r->event.energy[0]);
    say(s, " -> ");
    say_number(s, r->event.energy[1]);
    say(s, "\n");
  }
}

static void say_values(Story* s, const Record* r, const char* lead) {
  if (r->changes.count == 0 && r->impulses.count == 0) return;
  say(s, "      ");
  say(s, lead);
  say_changes(s, r->changes);
  if (r->changes.count && r->impulses.count) say(s, "; ");
  say_impulses(s, r->impulses);
  say(s, "\n");
}

/// The only automaton of a model needs no name.
static bool is_alone(const Story* s, const char* automaton) {
  return s->mode_count + s->mode_more <= 1 && strcmp(automaton, "main") == 0;
}

/// Conditions of `if`, piecewise functions and situations of rule tables: true or false.
static bool is_switch(const Story* s, const Record* r) {
  const char* to = get(s, r->to);
  return strcmp(to, "true") == 0 || strcmp(to, "false") == 0;
}

static bool has_name(const char* name) {
  return strncmp(name, "if@", 3) != 0;
}

/// "Sw1 Closed, Sw2 Open"; `states` stands for those of the mode.
static void say_mode(Story* s, const Text* states) {
  for (size_t i = 0; i < s->mode_count; i++) {
    if (i) say(s, ", ");
    if (!is_alone(s, get(s, s->automata[i]))) {
      say(s, get(s, s->automata[i]));
      say(s, " ");
    }
    say(s, get(s, states[i]));
  }
  if (s->mode_more) {
    say(s, s->mode_count ? ", and " : "");
    sink_unsigned(&s->sink, s->mode_more);
    say(s, " more");
  }
}

/// Names of what a relation decides tell no side: sign(v).
static bool is_relation(const char* text) {
  return strpbrk(text, "<>=") != NULL;
}

/// Whether the record before tells the same: sign(v) has two relations, and both turn at once.
static bool is_repeated(const Story* s, const Record* r) {
  if (r == s->records) return false;
  const Record* last = r - 1;
  return last->event.line == r->event.line && last->event.kind == r->event.kind &&
         last->event.cause == r->event.cause && last->atoms.count == 1 &&
         strcmp(get(s, s->atoms[last->atoms.begin]), get(s, s->atoms[r->atoms.begin])) == 0;
}

/// What a condition did, where it stands first in its sentence.
static void say_turn(Story* s, const Record* r, bool on) {
  say(s, on ? " becomes true" : " becomes false");
  if (r->event.cause == SLT_CAUSE_FLOW) say(s, ": the flow leads there");
  if (r->event.cause == SLT_CAUSE_LEVEL) say(s, " with the new values");
}

static void say_switch(Story* s, const Record* r) {
  // what only follows the states has been told with them
  bool follows = r->event.cause == SLT_CAUSE_LEVEL && r->atoms.count == 0;
  if (follows && r != s->records && !s->all) return;
  bool on = strcmp(get(s, r->to), "true") == 0;
  bool named = has_name(get(s, r->automaton));
  if (!named && r->atoms.count == 1 && !is_relation(get(s, s->atoms[r->atoms.begin]))) {
    if (is_repeated(s, r)) return;
    say(s, "  ");
    say_atoms(s, r->atoms);
    say_line(s, r->event.line);
    say(s, " switches");
    if (r->event.cause == SLT_CAUSE_FLOW) say(s, ": the flow leads there");
    if (r->event.cause == SLT_CAUSE_LEVEL) say(s, " with the new values");
    say(s, "\n");
    return;
  }
  say(s, "  ");
  if (named) {
    say(s, get(s, r->automaton));
    say_turn(s, r, on);
    if (r->atoms.count) say(s, on || r->all_hold ? ": " : ": no longer ");
    say_atoms(s, r->atoms);
    say_line(s, r->event.line);
  } else {
    say_atoms(s, r->atoms);
    if (r->atoms.count == 0) say(s, "a condition");
    say_line(s, r->event.line);
    say_turn(s, r, on);
  }
  say(s, "\n");
}

/// A guard without relations: always true, or about states alone.
static void say_without_relation(Story* s, const Record* r) {
  size_t index = (size_t)(r - s->records);
  if (index > 0 && s->records[index - 1].event.kind == SLT_EVENT_ZENO) {
    say(s, ", because of that");
    return;
  }
  for (size_t i = 0; i < index; i++) {
    bool same = strcmp(get(s, s->records[i].automaton), get(s, r->automaton)) == 0;
    if (!same) continue;
    say(s, ", at once");
    return;
  }
  say(s, ", following the other states");
}

static void say_transition(Story* s, const Record* r) {
  const char* name = get(s, r->automaton);
  bool self = strcmp(get(s, r->from), get(s, r->to)) == 0;
  say(s, "  ");
  if (!is_alone(s, name)) {
    say(s, name);
    say(s, ": ");
  }
  if (self) {
    say(s, get(s, r->to));
    say(s, " again");
  } else {
    say(s, get(s, r->from));
    say(s, " -> ");
    say(s, get(s, r->to));
  }
  switch (r->event.cause) {
  case SLT_CAUSE_TIME: say(s, ", at its time"); break;
  case SLT_CAUSE_FLOW:
    say(s, ", because the flow leads ");
    say(s, r->atoms.count ? "into " : "there");
    say_atoms(s, r->atoms);
    break;
  case SLT_CAUSE_CROSSING:
  case SLT_CAUSE_LEVEL:
  case SLT_CAUSE_CANDIDATE:
    if (r->atoms.count == 0) {
      say_without_relation(s, r);
      break;
    }
    say(s, r->event.cause == SLT_CAUSE_CANDIDATE ? ", because in this mode " : ", because ");
    say_atoms(s, r->atoms);
    if (r->event.cause == SLT_CAUSE_CROSSING) say(s, " now");
    if (r->pulse && !strstr(get(s, s->atoms[r->atoms.begin]), "pulse")) say(s, ", by a pulse");
    break;
  case SLT_CAUSE_NONE: break;
  }
  say_line(s, r->event.line);
  say(s, "\n");
}

static void say_surface(Story* s, const Record* r, const char* before, const char* after) {
  say(s, "  ");
  say(s, before);
  say_atoms(s, r->atoms);
  if (r->atoms.count == 0) say(s, "this place");
  say_line(s, r->event.line);
  say(s, after);
  say(s, "\n");
}

static const char* boundary_text(const Story* s, const Record* r) {
  return r->atoms.count == 1 ? get(s, s->atoms[r->atoms.begin]) : "";
}

/// "F is 24, between 0 and 60"
static void say_equivalents(Story* s, const Record* r, bool derivatives, bool* any) {
  for (uint32_t i = 0; i + 1 < r->equivalents.count; i += 2) {
    const Value* sides = &s->values[r->equivalents.begin + i];
    const Value* now = &s->values[r->equivalents.begin + i + 1];
    const char* name = get(s, sides->name);
    if (is_derivative(name) != derivatives) continue;
    double range = fmax(fabs(sides->before), fabs(sides->after));
    say(s, *any ? "; " : "      ");
    say(s, name);
    say(s, " is ");
    say_number(s, fabs(now->after) > 1e-12 * range ? now->after : 0.0);
    say(s, ", between ");
    say_number(s, sides->before);
    say(s, " and ");
    say_number(s, sides->after);
    *any = true;
  }
}

/// How the motion is made of the two sides.
static void say_share(Story* s, const Record* r) {
  if (!r->event.has_share) return;
  bool relation = is_relation(boundary_text(s, r));
  say(s, "      sliding: the motion is ");
  say_rounded(s, r->event.share, 6);
  say(s, relation ? " of the flow where this holds and " : " of the flow above and ");
  say_rounded(s, 1.0 - r->event.share, 6);
  say(s, relation ? " of the other\n" : " of that below\n");
  bool any = false;
  say_equivalents(s, r, false, &any);
  // where no quantity has a name of its own the derivatives tell
  if (!any) say_equivalents(s, r, true, &any);
  if (any) say(s, "\n");
}

static void say_slide_out(Story* s, const Record* r) {
  bool relation = is_relation(boundary_text(s, r));
  bool up = r->event.has_share && r->event.share == 1.0;
  bool down = r->event.has_share && r->event.share == 0.0;
  const char* after = ": sliding ends";
  if (up) after = relation ? " to the side where it holds: sliding ends" : " upwards: sliding ends";
  if (down) {
    after =
        relation ? " to the side where it does not hold: sliding ends" : " downwards: sliding ends";
  }
  say_surface(s, r, "the motion leaves the boundary of ", after);
}

static void say_text(Story* s, const Record* r, const char* lead) {
  say(s, "  ");
  say(s, lead);
  if (r->text) {
    say(s, ": ");
    say(s, get(s, r->text));
  }
  say_line(s, r->event.line);
  say(s, "\n");
}

static void say_class(Story* s, const Record* r) {
  switch (r->event.event_class) {
  case SLT_CLASS_MYTHICAL:
    say_values(s, r, "this mode would give ");
    if (r->kept.count == 0) {
      say(s, "      mythical: the mode is left before it exists, and nothing of it is kept\n");
      break;
    }
    say(s, "      mythical: the mode is left before it exists; assigned, and kept: ");
    say_changes(s, r->kept);
    say(s, "\n");
    break;
  case SLT_CLASS_PINNACLE:
    say_values(s, r, "");
    say(s, "      pinnacle: the values jump at this point in time\n");
    break;
  case SLT_CLASS_BOUNDARY:
    say_values(s, r, "");
    say(s, "      boundary: its own flow leaves this mode at once\n");
    break;
  case SLT_CLASS_INTERIOR:
  case SLT_CLASS_SLIDING: say_values(s, r, ""); break;
  }
}

/// After a mode that was only tried: what it would have changed and what keeps its value.
static void say_kept(Story* s, size_t index) {
  const Record* r = &s->records[index];
  if (r->event.cause != SLT_CAUSE_CANDIDATE) return;
  size_t tried = index;
  do {
    if (tried == 0 || s->records[tried - 1].event.event_class != SLT_CLASS_MYTHICAL) return;
    tried--;
  } while (s->records[tried].changes.count == 0);
  bool any = false;
  for (uint32_t i = 0; i < s->records[tried].changes.count; i++) {
    const Value* value = &s->values[s->records[tried].changes.begin + i];
    bool changes = is_derivative(get(s, value->name));
    for (uint32_t k = 0; k < r->changes.count; k++) {
      const Value* other = &s->values[r->changes.begin + k];
      changes |= strcmp(get(s, other->name), get(s, value->name)) == 0;
    }
    if (changes) continue;
    say(s, any ? ", " : "      ");
    say(s, get(s, value->name));
    say(s, " stays ");
    say_number(s, value->before);
    any = true;
  }
  if (any) say(s, "\n");
}

/// What was tried: the states as they stand after record `index`, until the next one that rejects.
static void say_candidate(Story* s, size_t index) {
  if (s->mode_count < 2) return;
  Text states[16];
  size_t count = s->mode_count < SLT_COUNT(states) ? s->mode_count : SLT_COUNT(states);
  memcpy(states, s->automata + s->mode_count, count * sizeof *states);
  for (size_t k = s->record_count; k-- > index + 1;) {
    for (size_t i = 0; i < count; i++) {
      bool same = strcmp(get(s, s->automata[i]), get(s, s->records[k].automaton)) == 0;
      if (same && s->records[k].automaton) states[i] = s->records[k].from;
    }
  }
  say(s, "      tried: ");
  say_mode(s, states);
  say(s, "\n");
}

/// Whether the next record fired together with this one: what was tried is told with the last.
static bool is_joined(const Story* s, size_t index) {
  if (index + 1 >= s->record_count) return false;
  const SltEvent* a = &s->records[index].event;
  const SltEvent* b = &s->records[index + 1].event;
  return a->iter == b->iter && a->kind == b->kind && a->event_class == b->event_class;
}

static void say_record(Story* s, size_t index) {
  const Record* r = &s->records[index];
  switch (r->event.kind) {
  case SLT_EVENT_INITIAL: return;
  case SLT_EVENT_TIME:
    if (r->automaton) {
      say_transition(s, r);
    } else {
      say_text(s, r, "what is due at this time happens");
    }
    break;
  case SLT_EVENT_STATE:
    if (is_switch(s, r)) {
      say_switch(s, r);
    } else {
      say_transition(s, r);
    }
    break;
  case SLT_EVENT_SLIDE_IN:
    say_surface(s, r, "on both sides of ", " the flow points at the boundary: sliding begins");
    say_share(s, r);
    return;
  case SLT_EVENT_SLIDE_OUT: say_slide_out(s, r); return;
  case SLT_EVENT_ZENO:
    say_surface(s, r, "the events of ",
                " follow each other ever faster and accumulate here: from "
                "now on the contact is closed");
    return;
  case SLT_EVENT_REINIT: say_text(s, r, "the values are made consistent with the equations"); break;
  case SLT_EVENT_CHATTER: say_text(s, r, "chattering"); return;
  case SLT_EVENT_LIMIT: say_text(s, r, "a limit is reached"); return;
  case SLT_EVENT_STOP: say_text(s, r, "the model stops the run"); return;
  }
  bool mythical = r->event.event_class == SLT_CLASS_MYTHICAL;
  if (mythical && is_joined(s, index)) return;
  if (mythical) say_candidate(s, index);
  say_class(s, r);
  if (!mythical && !(is_joined(s, index) && r->changes.count == 0)) say_kept(s, index);
}

/// "t = 0.2, located to 1.7e-16, certified"
static void say_head(Story* s) {
  const SltEvent* first = &s->records[0].event;
  say(s, "\nt = ");
  say_number(s, first->t);
  for (size_t i = 0; i < s->record_count; i++) {
    const SltEvent* e = &s->records[i].event;
    bool located = e->kind == SLT_EVENT_STATE || e->kind == SLT_EVENT_SLIDE_IN;
    if (e->type == SLT_ATOM_NONE || !located) continue;
    double width = e->bracket[1] - e->bracket[0];
    if (e->type == SLT_ATOM_NOEVENT) {
      say(s, ", seen at the end of a step");
    } else if (width > 0.0) {
      say(s, ", located to ");
      say_rounded(s, width, 2);
    }
    if (e->type != SLT_ATOM_NOEVENT && e->certified) say(s, ", certified");
    break;
  }
  say(s, "\n");
}

static void say_instant(Story* s) {
  const Record* last = &s->records[s->record_count - 1];
  bool initial = s->records[0].event.kind == SLT_EVENT_INITIAL;
  bool slides = false;
  for (size_t i = 0; i < s->record_count; i++) {
    const SltEvent* e = &s->records[i].event;
    slides |= e->event_class == SLT_CLASS_SLIDING;
  }
  say_head(s);
  if (initial) say(s, "  the run begins\n");
  for (size_t i = 0; i < s->record_count; i++) {
    say_record(s, i);
  }
  say_audit(s, last);
  if (last->event.kind == SLT_EVENT_STOP) return;
  say(s, "  the motion goes on");
  if (s->mode_count + s->mode_more > 0) {
    say(s, " in ");
    say_mode(s, s->automata + s->mode_count);
  }
  say(s, slides ? ", sliding\n" : "\n");
}

// ---- patterns -----------------------------------------------------------------------------------

static uint64_t mix(uint64_t hash, uint64_t value) {
  return hash_bytes(&value, sizeof value, hash);
}

static uint64_t mix_text(const Story* s, uint64_t hash, Text text) {
  const char* chars = get(s, text);
  return hash_bytes(chars, strlen(chars) + 1, hash);
}

/// What happened, without when and with which values.
static uint64_t signature(const Story* s) {
  uint64_t hash = 1;
  for (size_t i = 0; i < s->record_count; i++) {
    const Record* r = &s->records[i];
    hash = mix(hash, (uint64_t)r->event.kind << 16 | (uint64_t)r->event.event_class << 8 |
                         (uint64_t)r->event.cause);
    hash = mix(hash, r->event.line);
    hash = mix_text(s, hash, r->automaton);
    hash = mix_text(s, hash, r->from);
    hash = mix_text(s, hash, r->to);
    for (uint32_t k = 0; k < r->atoms.count; k++) {
      hash = mix_text(s, hash, s->atoms[r->atoms.begin + k]);
    }
  }
  return hash;
}

static void remember(Story* s, uint64_t hash) {
  if (s->past_count == SLT_COUNT(s->past)) {
    memmove(s->past, s->past + 1, (SLT_COUNT(s->past) - 1) * sizeof *s->past);
    s->past_count--;
  }
  s->past[s->past_count++] = hash;
}

/// Length of a pattern that has been told REPETITIONS times and goes on with `hash`; 0 for none.
static uint32_t pattern(const Story* s, uint64_t hash) {
  for (uint32_t p = 1; p <= PERIOD_MAX && REPETITIONS * p <= s->past_count; p++) {
    const uint64_t* end = s->past + s->past_count;
    bool repeats = end[-(int64_t)p] == hash;
    for (uint32_t i = 1; repeats && i <= (REPETITIONS - 1) * p; i++) {
      repeats = end[-(int64_t)i] == end[-(int64_t)(i + p)];
    }
    if (repeats) return p;
  }
  return 0;
}

static void say_skipped(Story* s) {
  if (s->skipped == 0) return;
  say(s, "\n  ... the same ");
  if (s->period > 1) {
    sink_unsigned(&s->sink, s->period);
    say(s, " in turn, ");
  }
  sink_unsigned(&s->sink, s->skipped);
  say(s, s->period > 1     ? " more instants, until t = "
         : s->skipped == 1 ? " more time, at t = "
                           : " more times, until t = ");
  say_number(s, s->skipped_to);
  say(s, "\n");
  s->skipped = 0;
}

static void count_classes(Story* s) {
  bool happened = false;
  for (size_t i = 0; i < s->record_count; i++) {
    const SltEvent* e = &s->records[i].event;
    if (e->kind == SLT_EVENT_INITIAL || e->kind == SLT_EVENT_STOP) continue;
    s->by_class[e->event_class]++;
    happened = true;
  }
  if (happened) s->told++;
}

static void tell(Story* s) {
  if (s->record_count == 0) return;
  if (s->lost) {
    say(s, "\nmemory is exhausted: an instant is left out\n");
    forget(s);
    return;
  }
  count_classes(s);
  uint64_t hash = signature(s);
  uint32_t period = s->all ? 0 : pattern(s, hash);
  if (period != s->period) say_skipped(s);
  s->period = period;
  remember(s, hash);
  if (period) {
    s->skipped++;
    s->skipped_to = s->records[0].event.t;
  } else {
    say_instant(s);
  }
  sink_end_unit(&s->sink);
  forget(s);
}

static bool all_hold(const SltEvent* event) {
  for (uint32_t i = 0; i < event->atom_count; i++) {
    for (uint32_t k = 0; k < event->truth_count; k++) {
      bool told = strcmp(event->truths[k].atom, event->atoms[i]) == 0;
      if (told && !event->truths[k].holds) return false;
    }
  }
  return true;
}

void story_event(Story* s, const SltEvent* event, const StoryMode* mode) {
  if (event->n == 0) tell(s);
  if (!grow(s, (void**)&s->records, s->record_count + 1, &s->record_capacity, sizeof *s->records) ||
      !grow(s, (void**)&s->atoms, s->atom_count + event->atom_count + event->undetermined_count,
            &s->atom_capacity, sizeof *s->atoms)) {
    return;
  }
  Record record = {.event = *event,
                   .automaton = keep(s, event->automaton),
                   .from = keep(s, event->from),
                   .to = keep(s, event->to),
                   .text = keep(s, event->text)};
  record.all_hold = all_hold(event);
  record.atoms = (Range){(uint32_t)s->atom_count, event->atom_count};
  for (uint32_t i = 0; i < event->atom_count; i++) {
    s->atoms[s->atom_count++] = keep(s, event->atoms[i]);
  }
  record.undetermined = (Range){(uint32_t)s->atom_count, event->undetermined_count};
  for (uint32_t i = 0; i < event->undetermined_count; i++) {
    s->atoms[s->atom_count++] = keep(s, event->undetermined[i]);
  }
  bool mythical = event->event_class == SLT_CLASS_MYTHICAL;
  record.changes =
      keep_values(s, mythical ? event->candidate : event->changes,
                  mythical ? event->candidate_count : event->change_count - event->computed_count);
  if (mythical) record.kept = keep_values(s, event->changes, event->change_count);
  record.impulses = keep_values(s, event->impulses, event->impulse_count);
  for (uint32_t i = 0; i < event->truth_count; i++) {
    record.pulse |= event->truths[i].holds && event->truths[i].pulse != 0.0;
  }
  record.equivalents = keep_equivalents(s, event->equivalents, event->equivalent_count);
  s->records[s->record_count++] = record;
  keep_mode(s, mode);
}

SltStatus story_end(Story* s, double t, bool done) {
  tell(s);
  say_skipped(s);
  s->period = 0;
  say(s, done ? "\nend at t = " : "\nthe run ends here, at t = ");
  say_number(s, t);
  say(s, ": ");
  sink_unsigned(&s->sink, s->told);
  say(s, s->told == 1 ? " instant" : " instants");
  static const char* const names[] = {"interior", "mythical", "pinnacle", "boundary", "sliding"};
  const char* separator = "; records by class: ";
  for (uint32_t i = 0; i < SLT_COUNT(names); i++) {
    if (s->by_class[i] == 0) continue;
    say(s, separator);
    sink_unsigned(&s->sink, s->by_class[i]);
    say(s, " ");
    say(s, names[i]);
    separator = ", ";
  }
  say(s, "\n");
  SltStatus status = sink_flush(&s->sink);
  return status >= 0 && s->gaps ? SLT_ERR_NOMEM : status;
}

// SPDX-License-Identifier: MIT
#include "record/events.h"

#include <math.h>
#include <string.h>

const char* events_kind_text(SltEventKind kind) {
  switch (kind) {
  case SLT_EVENT_INITIAL: return "initial";
  case SLT_EVENT_TIME: return "time";
  case SLT_EVENT_STATE: return "state";
  case SLT_EVENT_SLIDE_IN: return "slide-in";
  case SLT_EVENT_SLIDE_OUT: return "slide-out";
  case SLT_EVENT_ZENO: return "zeno";
  case SLT_EVENT_REINIT: return "reinit";
  case SLT_EVENT_CHATTER: return "chatter";
  case SLT_EVENT_LIMIT: return "limit";
  case SLT_EVENT_STOP: return "stop";
  }
  return NULL;
}

const char* events_class_text(SltEventClass event_class) {
  switch (event_class) {
  case SLT_CLASS_INTERIOR: return "interior";
  case SLT_CLASS_MYTHICAL: return "mythical";
  case SLT_CLASS_PINNACLE: return "pinnacle";
  case SLT_CLASS_BOUNDARY: return "boundary";
  case SLT_CLASS_SLIDING: return "sliding";
  }
  return NULL;
}

const char* events_type_text(SltAtomType type) {
  switch (type) {
  case SLT_ATOM_CRITICAL: return "critical";
  case SLT_ATOM_UNILATERAL: return "unilateral";
  case SLT_ATOM_BILATERAL: return "bilateral";
  case SLT_ATOM_SHORTLIVING: return "shortliving";
  case SLT_ATOM_NOEVENT: return "noEvent";
  case SLT_ATOM_TIME: return "time";
  case SLT_ATOM_NONE: return NULL;
  }
  return NULL;
}

const char* events_cause_text(SltCause cause) {
  switch (cause) {
  case SLT_CAUSE_CROSSING: return "crossing";
  case SLT_CAUSE_LEVEL: return "level";
  case SLT_CAUSE_CANDIDATE: return "candidate";
  case SLT_CAUSE_FLOW: return "flow";
  case SLT_CAUSE_TIME: return "time";
  case SLT_CAUSE_NONE: return NULL;
  }
  return NULL;
}

/// JSON has no NaN and no infinity.
static void write_number(Sink* sink, double value) {
  if (isfinite(value)) {
    sink_double(sink, value);
  } else {
    sink_c(sink, "null");
  }
}

static void write_strings(Sink* sink, const char* const* texts, uint32_t count) {
  sink_char(sink, '[');
  for (uint32_t i = 0; i < count; i++) {
    if (i) sink_char(sink, ',');
    sink_json(sink, texts[i]);
  }
  sink_char(sink, ']');
}

/// {name: [before, after]}, or {name: after} for impulses.
static void write_changes(Sink* sink, const SltChange* changes, uint32_t count, bool pairs) {
  sink_char(sink, '{');
  for (uint32_t i = 0; i < count; i++) {
    if (i) sink_char(sink, ',');
    sink_json(sink, changes[i].name);
    sink_char(sink, ':');
    if (pairs) {
      sink_char(sink, '[');
      write_number(sink, changes[i].before);
      sink_char(sink, ',');
    }
    write_number(sink, changes[i].after);
    if (pairs) sink_char(sink, ']');
  }
  sink_char(sink, '}');
}

static void write_flag(Sink* sink, const char* lead, bool flag) {
  sink_c(sink, lead);
  sink_c(sink, flag ? "true" : "false");
}

static void write_truths(Sink* sink, const SltTruth* truths, uint32_t count) {
  sink_char(sink, '[');
  for (uint32_t i = 0; i < count; i++) {
    const SltTruth* truth = &truths[i];
    sink_c(sink, i ? ",{\"atom\":" : "{\"atom\":");
    sink_json(sink, truth->atom);
    write_flag(sink, ",\"holds\":", truth->holds);
    sink_c(sink, ",\"g\":");
    write_number(sink, truth->g + 0.0);  // no negative zero
    if (truth->pulse != 0.0) {
      sink_c(sink, ",\"pulse\":");
      write_number(sink, truth->pulse);
    }
    write_flag(sink, ",\"armed\":", truth->armed);
    write_flag(sink, ",\"located\":", truth->located);
    sink_char(sink, '}');
  }
  sink_char(sink, ']');
}

static void write_equivalents(Sink* sink, const SltEquivalent* list, uint32_t count) {
  sink_char(sink, '{');
  for (uint32_t i = 0; i < count; i++) {
    if (i) sink_char(sink, ',');
    sink_json(sink, list[i].name);
    sink_c(sink, ":[");
    write_number(sink, list[i].without);
    sink_char(sink, ',');
    write_number(sink, list[i].with);
    sink_char(sink, ',');
    write_number(sink, list[i].value);
    sink_char(sink, ']');
  }
  sink_char(sink, '}');
}

/// What only some records have.
static void write_details(Sink* sink, const SltEvent* event) {
  if (event->truth_count) {
    sink_c(sink, ",\"guard\":");
    write_truths(sink, event->truths, event->truth_count);
  }
  if (event->has_cause) {
    sink_c(sink, ",\"caused_by\":");
    sink_unsigned(sink, event->caused_by);
  }
  if (event->has_residual) {
    sink_c(sink, ",\"residual\":[");
    write_number(sink, event->residual[0]);
    sink_char(sink, ',');
    write_number(sink, event->residual[1]);
    sink_char(sink, ']');
  }
  if (event->has_share) {
    sink_c(sink, ",\"share\":");
    write_number(sink, event->share);
  }
  if (event->equivalent_count) {
    sink_c(sink, ",\"equivalent\":");
    write_equivalents(sink, event->equivalents, event->equivalent_count);
  }
}

void events_write(Sink* sink, const SltEvent* event) {
  sink_c(sink, "{\"t\":");
  write_number(sink, event->t);
  sink_c(sink, ",\"n\":");
  sink_unsigned(sink, event->n);
  sink_c(sink, ",\"iter\":");
  sink_unsigned(sink, event->iter);
  sink_c(sink, ",\"kind\":");
  sink_json(sink, events_kind_text(event->kind));
  sink_c(sink, ",\"class\":");
  sink_json(sink, events_class_text(event->event_class));
  sink_c(sink, ",\"automaton\":");
  sink_json(sink, event->automaton);
  sink_c(sink, ",\"from\":");
  sink_json(sink, event->automaton ? event->from : NULL);
  sink_c(sink, ",\"to\":");
  sink_json(sink, event->automaton ? event->to : NULL);
  sink_c(sink, ",\"atom\":");
  write_strings(sink, event->atoms, event->atom_count);
  sink_c(sink, ",\"type\":");
  sink_json(sink, events_type_text(event->type));
  sink_c(sink, ",\"line\":");
  if (event->line) {
    sink_unsigned(sink, event->line);
  } else {
    sink_c(sink, "null");
  }
  sink_c(sink, ",\"bracket\":[");
  write_number(sink, event->bracket[0]);
  sink_char(sink, ',');
  write_number(sink, event->bracket[1]);
  sink_c(sink, "],\"slope\":");
  write_number(sink, event->slope);
  sink_c(sink, event->certified ? ",\"certified\":true" : ",\"certified\":false");
  sink_c(sink, ",\"changed\":");
  write_changes(sink, event->changes, event->change_count, true);
  sink_c(sink, ",\"impulses\":");
  write_changes(sink, event->impulses, event->impulse_count, false);
  if (event->cause != SLT_CAUSE_NONE) {
    sink_c(sink, ",\"because\":");
    sink_json(sink, events_cause_text(event->cause));
  }
  write_details(sink, event);
  if (event->candidate_count) {
    sink_c(sink, ",\"candidate\":");
    write_changes(sink, event->candidate, event->candidate_count, true);
  }
  if (event->undetermined_count) {
    sink_c(sink, ",\"undetermined\":");
    write_strings(sink, event->undetermined, event->undetermined_count);
  }
  if (event->has_energy) {
    sink_c(sink, ",\"energy\":[");
    write_number(sink, event->energy[0]);
    sink_char(sink, ',');
    write_number(sink, event->energy[1]);
    sink_char(sink, ']');
  }
  if (event->text) {
    sink_c(sink, ",\"text\":");
    sink_json(sink, event->text);
  }
  sink_c(sink, "}\n");
  sink_end_unit(sink);
}

// ---- as a table ---------------------------------------------------------------------------------

/// Text inside of a quoted cell.
static void quote(Sink* sink, const char* text) {
  for (; text && *text; text++) {
    if (*text == '"') sink_char(sink, '"');
    sink_char(sink, *text);
  }
}

static void text_cell(Sink* sink, const char* text) {
  sink_char(sink, ',');
  if (!text) return;
  bool plain = strpbrk(text, ",\"\r\n") == NULL;
  if (!plain) sink_char(sink, '"');
  quote(sink, text);
  if (!plain) sink_char(sink, '"');
}

static void relations_cell(Sink* sink, const SltEvent* event) {
  sink_c(sink, event->atom_count ? ",\"" : ",");
  for (uint32_t i = 0; i < event->atom_count; i++) {
    if (i) sink_c(sink, " and ");
    quote(sink, event->atoms[i]);
  }
  if (event->atom_count) sink_char(sink, '"');
}

static void changes_cell(Sink* sink, const SltEvent* event) {
  uint32_t count = event->change_count - event->computed_count;
  sink_c(sink, count ? ",\"" : ",");
  for (uint32_t i = 0; i < count; i++) {
    if (i) sink_c(sink, "; ");
    quote(sink, event->changes[i].name);
    sink_c(sink, ": ");
    sink_double(sink, event->changes[i].before);
    sink_c(sink, " -> ");
    sink_double(sink, event->changes[i].after);
  }
  if (count) sink_char(sink, '"');
}

void events_write_csv(Sink* sink, const SltEvent* event) {
  if (event->kind == SLT_EVENT_INITIAL) {
    sink_c(sink, "time,kind,class,automaton,from,to,relations,line,certified,changes\n");
  }
  sink_double(sink, event->t);
  text_cell(sink, events_kind_text(event->kind));
  text_cell(sink, events_class_text(event->event_class));
  text_cell(sink, event->automaton);
  text_cell(sink, event->automaton ? event->from : NULL);
  text_cell(sink, event->automaton ? event->to : NULL);
  relations_cell(sink, event);
  sink_char(sink, ',');
  if (event->line) sink_unsigned(sink, event->line);
  sink_c(sink, event->certified ? ",true" : ",false");
  changes_cell(sink, event);
  sink_char(sink, '\n');
  sink_end_unit(sink);
}

SltStatus slt_event_write(const SltEvent* event, SltWriter writer) {
  if (!event || !writer.write) return SLT_ERR_ARGUMENT;
  Sink sink;
  SLT_TRY(sink_init(&sink, writer));
  events_write(&sink, event);
  SltStatus status = sink_flush(&sink);
  sink_clear(&sink);
  return status;
}

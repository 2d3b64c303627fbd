// SPDX-License-Identifier: MIT
//
// Event records as JSON lines, one object a line, the fields always in the same order; and as a
// table.
#ifndef SALTUS_RECORD_EVENTS_H
#define SALTUS_RECORD_EVENTS_H

#include "record/sink.h"

/// Write one record and end the line. `text` appears only where the record has one. What is not
/// there is null: an automaton, a slope, a line, a number that is not finite.
void events_write(Sink* sink, const SltEvent* event);

/// The same as a line of CSV with what fits into one; the initial record brings the heading.
void events_write_csv(Sink* sink, const SltEvent* event);

/// The words of the contract; NULL for a value that has none (SLT_ATOM_NONE among them).
const char* events_kind_text(SltEventKind kind);
const char* events_class_text(SltEventClass event_class);
const char* events_type_text(SltAtomType type);
const char* events_cause_text(SltCause cause);

#endif

// SPDX-License-Identifier: MIT
//
// Records of events and what they explain, and the audit of energy.
#ifndef SALTUS_ENGINE_TRACE_TRACE_H
#define SALTUS_ENGINE_TRACE_TRACE_H

#include "engine/engine.h"

/// The energy that the model declares.
typedef struct EngAudit {
  double start;
  double before, now;     // before and after the last instant
  double motion, events;  // what changed it so far
  double gained;          // sum of what events created
  double largest;
  bool warned;
} EngAudit;

SltStatus eng_trace_create(EngSim* sim);
void eng_trace_begin(EngSim* sim);
/// The rate of g at which a relation reached its boundary; 0 if it did not cross it.
double eng_trace_speed(const EngSim* sim, uint32_t index);
/// Shares of the motion along surfaces as the instant finds it.
void eng_trace_shares(EngSim* sim);
/// A fired transition (MODEL_NONE for a switch). Returns the record's index in the instant; its
/// class stays open until the iteration is settled.
uint32_t eng_trace_transition(EngSim* sim, uint32_t automaton, uint32_t transition, uint32_t from,
                              uint32_t to, uint32_t iteration);
/// The same where the flow leads into another state and no guard was asked.
uint32_t eng_trace_flow(EngSim* sim, uint32_t automaton, uint32_t from, uint32_t to,
                        uint32_t iteration);
/// A firing of `at`; `automaton` MODEL_NONE when it has no goto.
uint32_t eng_trace_schedule(EngSim* sim, uint32_t schedule, uint32_t automaton, uint32_t from,
                            uint32_t to, uint32_t iteration);
/// A jump that a delay has held back arrives.
void eng_trace_arrival(EngSim* sim, uint32_t delay);
void eng_trace_mark(EngSim* sim, SltEventKind kind, const Span* span, Str text);
/// A variable changed by the actions of a record.
void eng_trace_change(EngSim* sim, uint32_t record, const ModelAction* action, double before,
                      double after);
/// Before the first candidate of a settling, and for each: its jumps and impulses, with its last
/// record.
void eng_trace_settling(EngSim* sim);
void eng_trace_candidate(EngSim* sim);
void eng_trace_jump(EngSim* sim, uint32_t var, uint32_t order, double before, double after);
void eng_trace_impulse(EngSim* sim, uint32_t var, double impulse);
/// The mode of the last record is left at once by its own flow.
void eng_trace_boundary(EngSim* sim);
/// Sliding begins or ends at the surface of an atom.
void eng_trace_slide(EngSim* sim, SltEventKind kind, uint32_t atom);
/// Shares and equivalent values for the records of sliding that begins; the environment holds the
/// values of the motion.
void eng_trace_equivalents(EngSim* sim);
/// Distance to the constraints of the candidate's mode, as entered and as it is now.
void eng_trace_residual(EngSim* sim, double before, double after);
/// Records from `first` on: their candidate was discarded; what it would have changed is recorded
/// as that. Records that follow before the next candidate are those that reject it.
void eng_trace_mythical(EngSim* sim, uint32_t first);
/// What was assigned with a record was dropped.
void eng_trace_fallen(EngSim* sim, uint32_t record);
uint32_t eng_trace_count(const EngSim* sim);
/// The path of the instant from a record on in words: "main: a -> b, sw: open -> closed".
void eng_trace_path(const EngSim* sim, uint32_t begin, char* out, size_t capacity);
/// Send the records of the instant.
void eng_trace_end(EngSim* sim);

// ---- audit.c ------------------------------------------------------------------------------------

/// Before an instant that is not the first.
void eng_audit_begin(EngSim* sim);
void eng_audit_end(EngSim* sim, bool initial);
/// Change of the energy since the last instant.
double eng_energy_since(EngSim* sim);

#endif

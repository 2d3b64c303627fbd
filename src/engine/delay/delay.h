// SPDX-License-Identifier: MIT
//
// Delays: the history of variables that are read with a lag, and its breaking points.
#ifndef SALTUS_ENGINE_DELAY_DELAY_H
#define SALTUS_ENGINE_DELAY_DELAY_H

#include "engine/engine.h"

/// What a variable was, as far as it is read with a delay (history.c). The pieces that count are
/// those from `begin` to `end`.
typedef struct EngDelay {
  ModelHistory view;  // those that may be read now
  ModelPiece* pieces;
  uint32_t begin, end, capacity;
  uint32_t next_jump, next_break;  // pieces whose begin has not arrived yet; UINT32_MAX for none
  uint32_t mark;                   // level of what may jump where the next piece begins
  bool varies;                     // the lag is a variable
  double delay;                    // the lag, or its largest value
  double lag;                      // at t, and how fast it grows; where it varies
  double slope;
  double t;  // known up to here
} EngDelay;

/// Histories of a run; `delays` is NULL in models without any.
typedef struct EngHistory {
  const ModelTable* tables;  // what programs look up: those of the model, or own_tables
  ModelTable* own_tables;
  EngDelay* delays;  // per delay of the model
  double* samples;   // work space
  double shortest;   // delay
  bool arrived;      // a breaking point is reached in this instant
} EngHistory;

SltStatus eng_history_create(EngSim* sim);
/// Before the first mode is entered: nothing was, but what is said of the time before.
SltStatus eng_history_start(EngSim* sim);
/// Values at the start hold for the time before it; whether that changes what is read.
bool eng_history_update_start(EngSim* sim);
/// Fails: it would change for ever.
SltStatus eng_history_circular(EngSim* sim) __attribute__((cold));
/// Keep the pending trial up to time t; may overwrite states and computed values in the
/// environment.
SltStatus eng_history_append_slow(EngSim* sim, double t);
/// An instant is over; `changed`: the motion goes on in another way.
void eng_history_instant_slow(EngSim* sim, bool changed);
/// When the next jump arrives, and the latest end of the next step.
double eng_history_next_jump_slow(const EngSim* sim);
double eng_history_limit_slow(const EngSim* sim);
/// How much of the trial can stand: 1, or less where it reads more of a history with a lag that
/// varies than there was. `trials`: how often it was asked for this step.
double eng_history_usable_slow(EngSim* sim, uint32_t trials);
/// A step has come to its end: what arrives without an instant has arrived.
void eng_history_pass_slow(EngSim* sim, double t);
/// A jump that is held back until t: by which delay, and where it was; false: there is none.
bool eng_history_arrives(const EngSim* sim, double t, uint32_t* which, double* origin);
/// In an instant: what arrives is read from now on. False: nothing does. `jumped`: a value jumps.
bool eng_history_break_slow(EngSim* sim, double t, bool* jumped);
size_t eng_history_snapshot_size(const EngSim* sim);
void eng_history_save(const EngSim* sim, char* out);
SltStatus eng_history_restore(EngSim* sim, const char* in, size_t size);

#endif

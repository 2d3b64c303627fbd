// SPDX-License-Identifier: MIT
//
// What stands behind the public handles. A model is its tables and a provider of modes; where they
// come from (compiled text, a table linked in) is known only to whoever made it, who also frees it.
#ifndef SALTUS_API_HANDLES_H
#define SALTUS_API_HANDLES_H

#include "engine/engine.h"

#define SIM_OPTIONS_COOKIE      0x51a17001u
#define RECORDER_OPTIONS_COOKIE 0x51a17002u
#define PLOT_OPTIONS_COOKIE     0x51a17003u
#define COMPILE_OPTIONS_COOKIE  0x51a17005u
#define NATIVE_OPTIONS_COOKIE   0x51a17005u

struct SltModel {
  const Model* model;
  ModelProvider provider;
  SltForeign foreign;  // all zero: none
  const char* folder;  // with its last '/': where foreign files are; NULL: here
  void (*destroy)(SltModel* model);
};

struct SltSim {
  EngSim* engine;
  const Model* model;
  SltAllocator allocator;
  uint32_t* visible;  // automata that the user wrote
  uint32_t visible_count;
  uint32_t visible_capacity;
  struct SltExchange* exchange;  // the caller integrates; NULL: nobody but the run

  // of steps that are computed together with those of other runs (rt_lanes.c)
  double* lane_room;
  size_t lane_capacity;
  const ModelMode* lane_mode;  // of which...
  bool lane_fits;              // ...this is known

  SltWarningFn* on_warning;
  void* warning_user;
  bool macro_warned;  // somebody was told of a macro without a value

  // text of the last error, made when it is asked for
  Arena error_arena;
  Str rendered;
  const char* hint;
};

/// rt_exchange.c
void exchange_free(SltSim* sim);

#endif

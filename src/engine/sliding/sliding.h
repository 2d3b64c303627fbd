// SPDX-License-Identifier: MIT
//
// Sliding: motion along surfaces where the flows of the modes on both sides point at each other.
#ifndef SALTUS_ENGINE_SLIDING_SLIDING_H
#define SALTUS_ENGINE_SLIDING_SLIDING_H

#include "engine/engine.h"

#define ENG_SURFACES_MAX 3  // surfaces met at one point
#define ENG_SIDES_MAX    8  // 2^ENG_SURFACES_MAX modes around it
#define ENG_MIRRORS_MAX  8  // relations that describe one surface

/// A relation whose g is, up to its sign, that of the surface.
typedef struct EngMirror {
  uint32_t atom;
  bool same;  // g of the atom has the sign of the surface's
} EngMirror;

typedef struct EngSurface {
  uint32_t atom;  // its g describes the surface; side 1 is where g > 0
  EngMirror mirrors[ENG_MIRRORS_MAX];
  uint32_t mirror_count;
} EngSurface;

/// A sliding motion: plain data, part of snapshots.
typedef struct EngSlide {
  uint32_t count;  // surfaces slid along; 0: no sliding
  EngSurface surfaces[ENG_SURFACES_MAX];
  uint32_t base_index[ENG_SURFACES_MAX];  // of the surface's atom in the base mode's list
  const ModelMode* base;                  // mode whose g_flow gives the surfaces
  const ModelMode* modes[ENG_SIDES_MAX];  // by side: bit i is the side of surface i
  double share[ENG_SURFACES_MAX];         // of side 1, at the last evaluation
  bool by_value;                          // the sides differ in values alone: see sliding/value.c
  bool mixed;                             // by value, and every quantity hangs on one surface only
  bool direct;       // mixed, and g of every surface is a state or its negative
  bool shifted;      // direct, and what hangs on a surface is shifted by a number: see sliding/dependency.c
  bool lean;         // shifted, and no derivative hangs on a surface but that of its own state
  bool local;        // lean, and surfaces can come and go one by one: see sliding/active_set.c
  bool rest;         // at rest where the flows cancel: shares stay as they are
  double stiffness;  // rate at which the surface attracts, 1/time
} EngSlide;

/// A surface slid along by value.
typedef struct EngValueSurface {
  uint32_t atom;                    // its g describes the surface; above is where g > 0
  uint32_t index;                   // of the atom in the mode's list
  uint32_t first, last;             // its relations, linked by value_next
  uint32_t number;                  // after surfaces were left out
  bool wanted;                      // some relation of it was located, or slid along before
  bool separates;                   // switches follow it
  bool stands_above, stands_below;  // where the switches say the motion is
  bool slides;
  bool above;      // does not slide: the side it goes to
  double eps;      // of its relations, the smallest
  uint32_t state;  // motion that is `direct`: g is this state...
  bool negative;   // ... or its negative
} EngValueSurface;

/// A switch that follows a surface: true above it (`rises`), or below it.
typedef struct EngValueSwitch {
  uint32_t automaton, surface;
  bool rises;
} EngValueSwitch;

/// A relation at zero, and its g beside the point.
typedef struct EngValueProbe {
  double g;
  uint32_t atom, index;
} EngValueProbe;

/// An output of a program and the surface it hangs on.
typedef struct EngValuePart {
  uint32_t output, surface;
} EngValuePart;

enum { ENG_SET_EMPTY, ENG_SET_WIDE, ENG_SET_FIRST };

/// An output that hangs on switches.
typedef struct EngHangOutput {
  uint32_t output, set;
  bool shifts;  // by numbers that depend on neither time nor states
} EngHangOutput;

typedef struct EngHangProgram {
  uint32_t* set;           // per output
  EngHangOutput* hanging;  // outputs whose set is not empty, ascending
  uint32_t count;
  bool wide;  // some set has too many members to be listed
  size_t set_capacity, hanging_capacity;
} EngHangProgram;

/// Who reads an entry of the environment.
typedef struct EngHangReader {
  enum {
    ENG_READER_RHS,  // hanging output `at` of a program
    ENG_READER_FULL,
    ENG_READER_GDOT,
    ENG_READER_RHS_INPUT,  // register `at` of a program
    ENG_READER_FULL_INPUT,
    ENG_READER_G_INPUT,
    ENG_READER_GDOT_INPUT
  } kind;
  uint32_t at;
} EngHangReader;

/// What hangs on which switches in the programs of a mode, whoever slides.
typedef struct EngHang {
  const ModelMode* mode;  // NULL: of none
  bool usable;            // the sets are listed
  EngHangProgram rhs, full, gdot;
  uint32_t set_count;
  uint32_t* begin;    // per set and one more: where its members begin
  uint32_t* members;  // places in the environment, ascending
  uint32_t* direct;   // per atom of the mode: 2 * state, + 1: its negative; MODEL_NONE for neither
  uint32_t* label;    // per set: surface that it hangs on at present
  uint32_t* reader_begin;  // per entry of the environment and one more: where its readers begin
  EngHangReader* readers;
  bool g_reads;         // g between events reads truths, positions of switches or times of entry
  bool has_rows;        // who reads a state is listed
  uint32_t* row_begin;  // per state and one more: where the outputs of rhs begin that read it...
  uint32_t* rows;       // ... those that hang on switches
  uint32_t* timed;      // ... and that read the time
  uint32_t timed_count;
  size_t row_begin_capacity, row_capacity, timed_capacity;
  size_t begin_capacity, member_capacity, direct_capacity, label_capacity, reader_begin_capacity,
      reader_capacity;
} EngHang;

#endif

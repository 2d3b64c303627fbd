// SPDX-License-Identifier: MIT
//
// Sliding: motion along surfaces where the flows of the modes on both sides point at each other.
#ifndef SALTUS_ENGINE_SLIDE_H
#define SALTUS_ENGINE_SLIDE_H

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
  bool by_value;                          // the sides differ in values alone: see slide_value.c
  bool mixed;                             // by value, and every quantity hangs on one surface only
  bool direct;       // mixed, and g of every surface is a state or its negative
  bool rest;         // at rest where the flows cancel: shares stay as they are
  double stiffness;  // rate at which the surface attracts, 1/time
} EngSlide;

/// A surface slid along by value.
typedef struct EngValueSurface {
  uint32_t atom;        // its g describes the surface; above is where g > 0
  uint32_t index;       // of the atom in the mode's list
  uint32_t begin, end;  // its relations among the probes, while a continuation is searched
  uint32_t number;      // after surfaces were left out
  double probe;         // g of the atom at the probe point
  bool separates;       // switches follow it
  bool stands_above, stands_below;  // where the switches say the motion is
  bool slides;
  bool above;      // does not slide: the side it goes to
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

#endif

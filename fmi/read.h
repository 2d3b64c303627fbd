// SPDX-License-Identifier: MIT
//
// A foreign FMU on disk: its archive unpacked into a folder of ours, and its description read.
// Nothing of it is executed here, and nothing is written outside of that folder.
#ifndef SALTUS_FMI_READ_H
#define SALTUS_FMI_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum FmuType { FMU_REAL, FMU_INTEGER, FMU_BOOLEAN, FMU_STRING, FMU_OTHER } FmuType;

typedef struct FmuItem {
  char* name;
  FmuType type;
  char native[16];  // name of the type in version 3
  uint32_t reference;
  bool input, output, parameter, local, independent;
  bool shapes;  // a parameter that sizes of arrays follow from
  // an array is taken apart into items, one after the other, named x[1], x[2] or x[1,1], x[1,2]
  uint32_t element, elements;  // which one from 0, and of how many; 0 of 0 for a single number
  bool array;                  // not taken apart: no numbers, or too many of them
  char causality[24], variability[16], initial[16];  // as they are written, or what that stands for
  bool said;                                         // the variability is written
  bool has_start;
  bool held;       // changes at events alone
  bool by_inputs;  // its initial value follows from inputs, or may do so
  // of what it is the derivative, 0 for nothing: index of the variable from 1 in version 2, its
  // reference + 1 in version 3
  uint64_t derivative;
  double start;  // NaN: none, or no number
  char* starts;  // those of an array while it is read
  char unit[32];
} FmuItem;

typedef struct FmuDescription {
  uint32_t version;
  char* name;
  char* token;
  char* me;  // identifiers; NULL where the FMU has no such interface
  char* cs;
  bool me_tool, cs_tool;      // needs the tool that made it
  bool me_states, cs_states;  // can save its state
  bool event_mode, no_completed_step;
  bool scheduled;  // has the interface for scheduled execution
  uint32_t indicators;
  uint32_t state_count;    // numbers that are integrated
  const FmuItem** states;  // NULL where the description does not tell
  const FmuItem** rates;   // their derivatives, likewise
  uint32_t output_count;   // outputs in the structure of the model
  uint32_t* outputs;  // ... what they are: indices from 1 in version 2, references in version 3
  bool whole;         // numbers of states and indicators are those of the description
  bool directional;   // model exchange: directional derivatives can be asked for
  double start, stop, tolerance, step;
  FmuItem* items;
  uint32_t count, capacity;
  const FmuItem** by_reference;  // all of them in order of their references
} FmuDescription;

/// Unpack an archive into a fresh folder, whose path is put into `folder`. False with the reason in
/// `problem`; the folder is then gone again.
bool fmu_unpack(const char* path, char* folder, size_t size, char* problem, size_t problem_size);
/// Remove the folder and all in it.
void fmu_remove(const char* folder);

bool fmu_describe(const char* folder, FmuDescription* out, char* problem, size_t problem_size);
void fmu_description_free(FmuDescription* description);

/// The library of an interface for this machine; false where there is none.
bool fmu_library(const FmuDescription* description, const char* folder, const char* identifier,
                 char* path, size_t size);

#endif

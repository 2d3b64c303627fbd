// SPDX-License-Identifier: MIT
//
// A sweep, as its command and the processes of a cluster see it.
#ifndef SALTUS_CLI_SWEEP_H
#define SALTUS_CLI_SWEEP_H

#include "cluster.h"
#include "experiment.h"

#include <saltus/saltus_world.h>

typedef struct SweepCommand {
  Trial trial;
  CliTexts vary, correlate;
  SltSampling sampling;
  uint64_t sample_count, seed, jobs;
  const char* output;
  const char* trajectories;
  const char* plot;
  bool resume, map;
  // the work
  SltFormat format;
  SltDesign* design;
  SltMeasures* measures;
  SltSweepText* text;
  char* csv_path;   // where lines go as they come
  char* mark_path;  // beside it while it is not complete: what it is of
  char identity[SLT_DIGEST_TEXT];
  Output csv;
  Progress progress;
  uint64_t done, failed;
  bool whole;         // all members are done or failed, and their rows are written
  SltTally* tallies;  // of the measures, over the members that this process has run
  char first_failure[300];
} SweepCommand;

/// Options of the runs, without those that hand rows on.
SltSweepOptions sweep_options(const SweepCommand* c);
/// Text of a member that failed, into 300 characters.
void sweep_failure(const SltSweepRow* row, char* out);
/// The rows of a member, where they are wanted.
SltStatus sweep_trajectory(SweepCommand* c, const SltSweepRow* row);

/// Hand out members to the other ranks and write their rows (sweep_cluster.c).
SltStatus sweep_coordinate(SweepCommand* c, Cluster* cluster);
/// Run what rank 0 hands out. Returns the exit status.
int sweep_serve(SweepCommand* c, Cluster* cluster);

#endif

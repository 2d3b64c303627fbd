// SPDX-License-Identifier: MIT
//
// record: what a run leaves behind. Sinks for rows (CSV) and events (JSON lines), tables in memory,
// and pictures of tables. It knows values and names, never a model; the recorder that drives a run
// stands above it in api/.
#ifndef SALTUS_RECORD_H
#define SALTUS_RECORD_H

#include "record/csv.h"
#include "record/events.h"
#include "record/graph.h"
#include "record/plot.h"
#include "record/sink.h"
#include "record/story.h"
#include "record/table.h"
#include "record/table_mat.h"

#endif

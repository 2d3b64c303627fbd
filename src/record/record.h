// SPDX-License-Identifier: MIT
//
// record: what a run leaves behind. Sinks for rows (CSV) and events (JSON lines), tables in memory,
// pictures of tables, and the recorder that drives a run through the public functions. It knows
// values and names, never a model.
#ifndef SALTUS_RECORD_H
#define SALTUS_RECORD_H

#include "record/csv.h"
#include "record/events.h"
#include "record/figure.h"
#include "record/graph.h"
#include "record/row_sink.h"
#include "record/sink.h"
#include "record/story.h"
#include "record/table.h"
#include "record/table_hdf5.h"
#include "record/table_mat.h"

#endif

// SPDX-License-Identifier: MIT
//
// Tables as HDF5: a data set per column, in the order of the columns, names in UTF-8 as they are.
#ifndef SALTUS_RECORD_TABLE_HDF5_H
#define SALTUS_RECORD_TABLE_HDF5_H

#include "record/sink.h"
#include "record/table.h"

/// Whether HDF5 can be used: the build knew it, and it can be loaded.
bool table_has_hdf5(void);
/// The whole file through the sink. Out of memory leaves through the arena.
SltStatus table_write_hdf5(const SltTable* table, Sink* sink, Arena* arena);

#endif

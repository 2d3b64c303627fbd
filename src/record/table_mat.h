// SPDX-License-Identifier: MIT
#ifndef SALTUS_RECORD_TABLE_MAT_H
#define SALTUS_RECORD_TABLE_MAT_H

#include "record/sink.h"
#include "record/table.h"

/// All columns but the hidden ones. Out of memory leaves by the arena.
SltStatus table_write_mat(const SltTable* table, Sink* sink, Arena* arena);

#endif

// SPDX-License-Identifier: MIT
//
// Reading files that somebody else may have put there: slt_file_read() of the public header is the
// one way in, for models, tables and checkpoints.
#ifndef SALTUS_BASE_FILE_H
#define SALTUS_BASE_FILE_H

#include <saltus/saltus_rt.h>

/// What a failed slt_file_read(), or a caller's own way of loading, says about the file: ": ..." to
/// stand behind its name; empty where "cannot be read" says all.
const char* file_problem(SltStatus status);

#endif

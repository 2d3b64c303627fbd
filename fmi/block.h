// SPDX-License-Identifier: MIT
//
// FMUs as blocks of models: `fmu pump = "pump.fmu";`. A host unpacks each file once and answers the
// library's questions (SltForeign); each block of a run is a process of its own.
#ifndef SALTUS_FMI_BLOCK_H
#define SALTUS_FMI_BLOCK_H

#include <saltus/saltus.h>

typedef struct FmuHost FmuHost;

/// @param seconds  that a call of an FMU may take.
/// @return NULL where there is no memory.
FmuHost* fmu_host_create(double seconds);
/// What to compile models with. Valid as long as the host, which all models and runs made with it
/// must not outlive.
const SltForeign* fmu_host_foreign(FmuHost* host);
/// Accepts NULL.
void fmu_host_free(FmuHost* host);

#endif

// SPDX-License-Identifier: MIT
//
// Blocks of the model that are computed outside of the library.
#ifndef SALTUS_ENGINE_FOREIGN_FOREIGN_H
#define SALTUS_ENGINE_FOREIGN_FOREIGN_H

#include "engine/engine.h"

typedef struct EngSim EngSim;
typedef struct EngForeign EngForeign;

SltStatus eng_foreign_create(EngSim* sim);
void eng_foreign_free(EngSim* sim);
/// Where programs write down what they ask blocks with; NULL: there are no blocks.
ModelPacks* eng_foreign_packs(const EngSim* sim);
SltStatus eng_foreign_open_slow(EngSim* sim);
/// Fail when a block has failed.
SltStatus eng_foreign_check_slow(EngSim* sim);
/// An instant has changed values: blocks whose inputs have jumped get an event of their own.
void eng_foreign_instant_slow(EngSim* sim);
/// A step has ended at the present point; `wants`: a block asks for an event here.
SltStatus eng_foreign_step_slow(EngSim* sim, bool* wants);

#endif

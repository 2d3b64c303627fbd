// SPDX-License-Identifier: MIT
//
// Names that a model has without declaring them.
#ifndef SALTUS_LISMA_BUILTIN_H
#define SALTUS_LISMA_BUILTIN_H

#include "base/base.h"

/// pi, time, true and their kin; not the functions.
bool lisma_is_builtin_name(Str name);
/// Whether a declaration that hides such a name deserves a note: `t` does not, nor does a constant
/// for a constant, `const g = 9.81;`.
bool lisma_tells_hidden(Str name, bool constant);

#endif

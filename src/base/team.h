// SPDX-License-Identifier: MIT
//
// Threads that take parts of a loop whose iterations do not touch each other. Which part is whose
// depends on nothing but the numbers of iterations and threads, and no iteration sees who runs it:
// the results are the same bits for any number of threads.
#ifndef SALTUS_BASE_TEAM_H
#define SALTUS_BASE_TEAM_H

#include <saltus/saltus_rt.h>

#include <stddef.h>
#include <stdint.h>

typedef struct BaseTeam BaseTeam;

/// Iterations from `begin` up to, but not including, `end`.
typedef void BaseTeamFn(void* user, size_t begin, size_t end);

/// A team of so many threads, the caller's included. NULL where there is but one: for less than
/// two, without memory, or where the system starts none.
BaseTeam* base_team_create(const SltAllocator* allocator, uint32_t threads);
/// NULL is allowed.
void base_team_free(BaseTeam* team);
/// Run all iterations and return when they are done. Parts begin at multiples of `grain`. NULL runs
/// them in the caller's thread. One caller at a time.
void base_team_run(BaseTeam* team, size_t count, size_t grain, BaseTeamFn* fn, void* user);

#endif

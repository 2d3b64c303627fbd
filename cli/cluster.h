// SPDX-License-Identifier: MIT
//
// Processes that mpirun has started together. The library is loaded only where there are several.
#ifndef SALTUS_CLI_CLUSTER_H
#define SALTUS_CLI_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Cluster Cluster;

/// Whether mpirun has started this process together with others.
bool cluster_is_wanted(void);
/// Join them; NULL after a message.
Cluster* cluster_join(void);
int cluster_rank(const Cluster* cluster);
int cluster_size(const Cluster* cluster);
bool cluster_send(Cluster* cluster, int to, const void* data, size_t size);
/// A message that has come, of whoever; false: there is none. Free it.
bool cluster_poll(Cluster* cluster, int* from, char** data, size_t* size);
/// Wait for a message of rank 0; false: it does not fit, or never comes.
bool cluster_receive(Cluster* cluster, void* data, size_t size);
/// All are done.
void cluster_leave(Cluster* cluster);
/// One of them cannot go on: end all.
void cluster_abort(Cluster* cluster, int exit);

#endif

// SPDX-License-Identifier: MIT
#define _POSIX_C_SOURCE 200809L
#include "cluster.h"

#include "cli.h"

#include <stdlib.h>
#include <string.h>

#if defined(SALTUS_LIBRARY_MPI)
#include "base/library.h"

#include <limits.h>
#include <mpi.h>

#define MPI_NAMES(X) \
  X(MPI_Init) \
  X(MPI_Finalize) \
  X(MPI_Abort) \
  X(MPI_Comm_rank) \
  X(MPI_Comm_size) \
  X(MPI_Send) X(MPI_Recv) X(MPI_Iprobe) X(MPI_Get_count) X(ompi_mpi_comm_world) X(ompi_mpi_char)

typedef struct Mpi {
  MPI_NAMES(LIBRARY_MEMBER)
} Mpi;

struct Cluster {
  Mpi mpi;
  MPI_Comm world;
  MPI_Datatype bytes;
  int rank, size;
};

#define CLUSTER_TAG 1

Cluster* cluster_join(void) {
  static const char* const names[] = {MPI_NAMES(LIBRARY_NAME)};
  Cluster* c = calloc(1, sizeof *c);
  bool loaded = c && library_load(SALTUS_LIBRARY_MPI, names, sizeof names / sizeof *names, &c->mpi);
  if (!loaded || c->mpi.MPI_Init(NULL, NULL) != MPI_SUCCESS) {
    cli_error("mpirun has started several processes, and %s cannot be used", SALTUS_LIBRARY_MPI);
    cli_hint("install the package libopenmpi3, or start one process");
    free(c);
    return NULL;
  }
  c->world = (MPI_Comm)(void*)c->mpi.ompi_mpi_comm_world;
  c->bytes = (MPI_Datatype)(void*)c->mpi.ompi_mpi_char;
  c->mpi.MPI_Comm_rank(c->world, &c->rank);
  c->mpi.MPI_Comm_size(c->world, &c->size);
  return c;
}

int cluster_rank(const Cluster* cluster) {
  return cluster->rank;
}

int cluster_size(const Cluster* cluster) {
  return cluster->size;
}

bool cluster_send(Cluster* cluster, int to, const void* data, size_t size) {
  if (size > INT_MAX) return false;
  return cluster->mpi.MPI_Send(data, (int)size, cluster->bytes, to, CLUSTER_TAG, cluster->world) ==
         MPI_SUCCESS;
}

bool cluster_poll(Cluster* cluster, int* from, char** data, size_t* size) {
  MPI_Status status;
  int there = 0;
  int count = 0;
  const Mpi* mpi = &cluster->mpi;
  mpi->MPI_Iprobe(MPI_ANY_SOURCE, CLUSTER_TAG, cluster->world, &there, &status);
  if (!there) return false;
  mpi->MPI_Get_count(&status, cluster->bytes, &count);
  *data = malloc((size_t)count + 1);
  if (!*data) return false;
  *from = status.MPI_SOURCE;
  *size = (size_t)count;
  return mpi->MPI_Recv(*data, count, cluster->bytes, *from, CLUSTER_TAG, cluster->world,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

bool cluster_receive(Cluster* cluster, void* data, size_t size) {
  return cluster->mpi.MPI_Recv(data, (int)size, cluster->bytes, 0, CLUSTER_TAG, cluster->world,
                               MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

void cluster_leave(Cluster* cluster) {
  if (!cluster) return;
  cluster->mpi.MPI_Finalize();
  free(cluster);
}

void cluster_abort(Cluster* cluster, int exit) {
  if (!cluster) return;
  cluster->mpi.MPI_Abort(cluster->world, exit);
}

#else

Cluster* cluster_join(void) {
  cli_error("mpirun has started several processes, and this build knows nothing of MPI");
  cli_hint("install the package libopenmpi-dev and build again, or start one process");
  return NULL;
}

int cluster_rank(const Cluster* cluster) {
  (void)cluster;
  return 0;
}

int cluster_size(const Cluster* cluster) {
  (void)cluster;
  return 1;
}

bool cluster_send(Cluster* cluster, int to, const void* data, size_t size) {
  (void)cluster, (void)to, (void)data, (void)size;
  return false;
}

bool cluster_poll(Cluster* cluster, int* from, char** data, size_t* size) {
  (void)cluster, (void)from, (void)data, (void)size;
  return false;
}

bool cluster_receive(Cluster* cluster, void* data, size_t size) {
  (void)cluster, (void)data, (void)size;
  return false;
}

void cluster_leave(Cluster* cluster) {
  (void)cluster;
}

void cluster_abort(Cluster* cluster, int exit) {
  (void)cluster, (void)exit;
}

#endif

bool cluster_is_wanted(void) {
  const char* size = getenv("OMPI_COMM_WORLD_SIZE");
  return size && strtol(size, NULL, 10) > 1;
}

/*
 * Processes of one or many machines that MPI has started: `mpirun -n 4 belfry run ...`.
 *
 * The calls are MPI's own. What needs MPI is a library of its own, libbelfry-mpi.so, built where CMake finds MPI and
 * loaded when such a handle is opened; so neither libbelfry, nor the program, nor a package of them depends on an MPI.
 *
 * MPI has no way to go on without a process: abort() prints why and ends all of them, as the death of one does.
 */
#ifndef BELFRY_DRIVERS_BOOTSTRAP_MPI_H
#define BELFRY_DRIVERS_BOOTSTRAP_MPI_H

#include "drivers/bootstrap/bootstrap.h"

#define BF_MPI_LIBRARY "libbelfry-mpi.so"
#define BF_MPI_API 1u

/* What the library exports as `bf_mpi_api`. */
struct bf_mpi_api {
	uint32_t version;
	int (*open)(struct bf_error *err, struct bf_boot **out);
};

/* 0 or a negative errno with what is missing in `why`. */
int bf_mpi_load(const struct bf_mpi_api **out, char *why, size_t cap);

/*
 * Starts MPI in this process and opens a handle on all that were started with it; bf_boot_close() ends MPI, once and
 * for all. One at a time, from one thread. -ENOTSUP: the library is not there; -EALREADY: MPI has been ended.
 */
int bf_boot_mpi_open(struct bf_error *err, struct bf_boot **out);

#endif

/*
 * Grids of PTX in a simulated world: a program's own modules, and our drivers' device code as nvcc compiled it.
 *
 * Each PE has a device of its own (models/ptx/launch.h), made when it is first asked for, in the PE's space and at its
 * GPU's level of visibility. What is launched starts with the world's next run.
 */
#ifndef BELFRY_DRIVERS_BACKEND_PTX_WORLD_INTERNAL_H
#define BELFRY_DRIVERS_BACKEND_PTX_WORLD_INTERNAL_H

#include "drivers/backend/machine_internal.h"
#include "drivers/backend/ptx.h"

struct bf_ptx_world; /* opaque */

/* `gpu` (borrowed) has the domain of each PE; `drivers` is the file with our drivers' PTX, or NULL. 0 or -ENOMEM. */
int bf_ptx_world_open(struct bf_world *m, struct bf_domain **gpu, const char *drivers, struct bf_ptx_world **out);

/* Reads a file with our drivers' PTX; `text` is the caller's to free. 0, or a negative errno with `err`. */
int bf_ptx_drivers_read(const char *path, struct bf_error *err, char **text, size_t *len);

/* Before the machine is closed. NULL is fine. */
void bf_ptx_world_close(struct bf_ptx_world *w);

/* The backend's calls of the same names (backend.h); the error is the world's. */
int bf_ptx_world_load(struct bf_ptx_world *w, uint32_t pe, const struct bf_ptx_source *sources, uint32_t count,
		      struct bf_ptx_library **out);
int bf_ptx_world_launch(struct bf_ptx_world *w, uint32_t pe, struct bf_ptx_library *lib,
			const struct bf_ptx_launch *launch);

/* Starts what was launched since the last run. */
int bf_ptx_world_start(struct bf_ptx_world *w);

/* Whether grids of our drivers run as PTX; starts one of a GPU that was launched as a kernel of platform sim. */
bool bf_ptx_world_runs_drivers(const struct bf_ptx_world *w);
int bf_ptx_world_start_driver(struct bf_ptx_world *w, const struct bf_grid *g);

#endif

/* Finds the part that needs MPI. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

#include "drivers/bootstrap/mpi.h"

int bf_mpi_load(const struct bf_mpi_api **out, char *why, size_t cap)
{
	const struct bf_mpi_api *api;
	void *library;

	*out = NULL;
	/* Never closed, as MPI cannot be. Global: our library and Open MPI's components look for its symbols there. */
#ifdef BF_MPI_SONAME
	if (!dlopen(BF_MPI_SONAME, RTLD_NOW | RTLD_GLOBAL)) {
		snprintf(why, cap, "no " BF_MPI_SONAME ": install the MPI that this was built with (%.120s)",
			 dlerror());
		return -ENOTSUP;
	}
#endif
	library = dlopen(BF_MPI_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
	if (!library) {
		snprintf(why, cap,
			 "no " BF_MPI_LIBRARY ": build on a machine that has MPI, e.g. libopenmpi-dev (%.120s)",
			 dlerror());
		return -ENOTSUP;
	}
	api = dlsym(library, "bf_mpi_api");
	if (!api || api->version != BF_MPI_API) {
		snprintf(why, cap, BF_MPI_LIBRARY " is of another version of Belfry");
		return -ENOTSUP;
	}
	*out = api;
	return 0;
}

int bf_boot_mpi_open(struct bf_error *err, struct bf_boot **out)
{
	const struct bf_mpi_api *api;
	char why[240];
	const int rc = bf_mpi_load(&api, why, sizeof(why));

	*out = NULL;
	return rc ? bf_fail(err, rc, "%s", why) : api->open(err, out);
}

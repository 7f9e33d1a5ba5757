/* Finds the part that needs libibverbs. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

#include "drivers/backend/verbs_internal.h"

int bf_verbs_load(const struct bf_verbs_api **out, char *why, size_t cap)
{
	/* Never closed: libibverbs keeps what it has registered. */
	void *library = dlopen(BF_VERBS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	const struct bf_verbs_api *api;

	*out = NULL;
	if (!library) {
		snprintf(why, cap, "no " BF_VERBS_LIBRARY ": build where libibverbs-dev is installed (%.120s)",
			 dlerror());
		return -ENOTSUP;
	}
	api = dlsym(library, "bf_verbs_api");
	if (!api || api->version != BF_VERBS_API) {
		snprintf(why, cap, BF_VERBS_LIBRARY " is of another version of Belfry");
		return -ENOTSUP;
	}
	*out = api;
	return 0;
}

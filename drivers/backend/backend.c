#include "drivers/backend/backend.h"

#include <string.h>

#include "drivers/backend/backends_internal.h"

static const struct bf_backend *const backends[] = {
	&bf_backend_sim,  &bf_backend_live, &bf_backend_rxe,  &bf_backend_mlx5,
	&bf_backend_vfio, &bf_backend_kfd,  &bf_backend_cuda, NULL,
};

const struct bf_backend *const *bf_backends(void)
{
	return backends;
}

const struct bf_backend *bf_backend_find(const char *name)
{
	for (const struct bf_backend *const *b = backends; *b; b++)
		if (!strcmp((*b)->name, name))
			return *b;
	return NULL;
}

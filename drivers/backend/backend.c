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

const struct bf_backend *bf_backend_auto(uint32_t device, char *why, size_t cap)
{
	/* A NIC's own rings before those that verbs execute. */
	static const struct bf_backend *const real[] = { &bf_backend_mlx5, &bf_backend_rxe, &bf_backend_vfio,
							 &bf_backend_kfd };

	for (size_t i = 0; i < BF_ARRAY_LEN(real); i++)
		if (real[i]->devices & device && !real[i]->probe(why, cap))
			return real[i];
	bf_backend_sim.probe(why, cap);
	return &bf_backend_sim;
}

const struct bf_backend *bf_backend_find(const char *name)
{
	for (const struct bf_backend *const *b = backends; *b; b++)
		if (!strcmp((*b)->name, name))
			return *b;
	return NULL;
}

/*
 * The device's copies of send queues: the WQEs that it has fetched and what became of them.
 *
 * A queue pair has one while it has WQEs to execute. In a mesh of hundreds of PEs most queue pairs sit idle most of the
 * time, so an idle one gives its copy back, and those that work share a few that stay in the host's cache.
 */
#include "models/mlx5/device_internal.h"

#include <errno.h>
#include <stdlib.h>

static uint32_t size_class(const struct bf_mlx5_qp *qp)
{
	return (uint32_t)__builtin_popcount(qp->rdma.sq_mask); /* sq_mask + 1 is a power of two */
}

static void use(struct bf_mlx5_qp *qp, struct bf_mlx5_sq_copy *copy)
{
	qp->sq_bytes = copy->bytes;
	qp->rdma.sends = copy->sends;
}

static void forget(struct bf_mlx5_qp *qp)
{
	qp->sq_bytes = NULL;
	qp->rdma.sends = NULL;
}

static void free_copy(struct bf_mlx5_sq_copy *copy)
{
	free(copy->bytes);
	free(copy);
}

static struct bf_mlx5_sq_copy *new_copy(uint32_t slots)
{
	struct bf_mlx5_sq_copy *copy = malloc(sizeof(*copy) + slots * sizeof(copy->sends[0]));
	uint8_t *bytes = malloc((size_t)slots * BF_MLX5_WQEBB);

	if (!copy || !bytes) {
		free(copy);
		free(bytes);
		return NULL;
	}
	copy->bytes = bytes;
	memset(copy->fetch, 0, sizeof(copy->fetch));
	return copy;
}

bool bf_mlx5_sq_copy_take(struct bf_mlx5_qp *qp)
{
	struct bf_mlx5_sq_copy **stock = &qp->dev->spare[size_class(qp)], *copy = *stock;

	if (qp->rdma.sends)
		return true;
	if (copy)
		*stock = copy->next;
	else
		copy = new_copy(qp->rdma.sq_mask + 1u);
	if (!copy) {
		bf_fail(&qp->dev->sim->error, -ENOMEM, "%s: no memory for entries", qp->dev->name);
		return false;
	}
	use(qp, copy);
	return true;
}

void bf_mlx5_sq_copy_give(struct bf_mlx5_qp *qp)
{
	struct bf_mlx5_sq_copy **stock = &qp->dev->spare[size_class(qp)];
	struct bf_mlx5_sq_copy *copy = bf_mlx5_sq_copy_of(qp);

	copy->next = *stock;
	*stock = copy;
	forget(qp);
}

void bf_mlx5_sq_copy_free(struct bf_mlx5_qp *qp)
{
	if (qp->rdma.sends)
		free_copy(bf_mlx5_sq_copy_of(qp));
	forget(qp);
}

void bf_mlx5_sq_copies_fini(struct bf_mlx5 *dev)
{
	for (uint32_t i = 0; i < BF_ARRAY_LEN(dev->spare); i++) {
		while (dev->spare[i]) {
			struct bf_mlx5_sq_copy *copy = dev->spare[i];

			dev->spare[i] = copy->next;
			free_copy(copy);
		}
	}
}

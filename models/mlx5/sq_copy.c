/*
 * The device's copies of send queues: the WQEs that it has fetched and what became of them.
 *
 * A queue pair has one while it has WQEs to execute. In a mesh of hundreds of PEs most queue pairs sit idle most of the
 * time, so an idle one gives its copy back, and those that work share a few that stay in the host's cache.
 */
#include "models/mlx5/device_internal.h"

#include <stdlib.h>

/* A copy that nobody uses; lies in its own sq_bytes, which have room for one WQEBB at least. */
struct bf_mlx5_spare {
	struct bf_mlx5_spare *next;
	struct bf_mlx5_send *sends;
	uint64_t *told_ps;
	struct bf_mlx5_fetch *fetch;
};
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_spare) <= BF_MLX5_WQEBB, "a spare copy lies in its first WQEBB");

static uint32_t size_class(const struct bf_mlx5_qp *qp)
{
	return (uint32_t)__builtin_popcount(qp->sq_mask); /* sq_mask + 1 is a power of two */
}

static void forget(struct bf_mlx5_qp *qp)
{
	qp->sq_bytes = NULL;
	qp->told_ps = NULL;
	qp->fetch = NULL;
	qp->sends = NULL;
}

bool bf_mlx5_sq_copy_take(struct bf_mlx5_qp *qp)
{
	const uint32_t slots = qp->sq_mask + 1u;
	struct bf_mlx5_spare **stock = &qp->dev->spare[size_class(qp)], *spare = *stock;

	if (qp->sends)
		return true;
	if (spare) {
		*stock = spare->next;
		qp->sends = spare->sends;
		qp->told_ps = spare->told_ps;
		qp->fetch = spare->fetch;
		qp->sq_bytes = (uint8_t *)spare;
		return true;
	}
	qp->sq_bytes = malloc((size_t)slots * BF_MLX5_WQEBB);
	qp->told_ps = malloc(slots * sizeof(*qp->told_ps));
	qp->fetch = calloc(BF_MLX5_FETCHES, sizeof(*qp->fetch));
	qp->sends = malloc(slots * sizeof(*qp->sends));
	if (qp->sq_bytes && qp->told_ps && qp->fetch && qp->sends)
		return true;
	bf_mlx5_sq_copy_free(qp);
	return false;
}

void bf_mlx5_sq_copy_give(struct bf_mlx5_qp *qp)
{
	struct bf_mlx5_spare **stock = &qp->dev->spare[size_class(qp)];
	struct bf_mlx5_spare spare = {
		.next = *stock, .sends = qp->sends, .told_ps = qp->told_ps, .fetch = qp->fetch
	};

	memcpy(qp->sq_bytes, &spare, sizeof(spare));
	*stock = (struct bf_mlx5_spare *)(void *)qp->sq_bytes;
	forget(qp);
}

void bf_mlx5_sq_copy_free(struct bf_mlx5_qp *qp)
{
	free(qp->sq_bytes);
	free(qp->told_ps);
	free(qp->fetch);
	free(qp->sends);
	forget(qp);
}

void bf_mlx5_sq_copies_fini(struct bf_mlx5 *dev)
{
	for (uint32_t i = 0; i < BF_ARRAY_LEN(dev->spare); i++) {
		while (dev->spare[i]) {
			struct bf_mlx5_spare *spare = dev->spare[i];

			dev->spare[i] = spare->next;
			free(spare->sends);
			free(spare->told_ps);
			free(spare->fetch);
			free(spare);
		}
	}
}

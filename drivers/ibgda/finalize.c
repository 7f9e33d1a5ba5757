/*
 * IBGDA, host side: the way back, in the order that the device demands: QPs before CQs, both before their umems, those
 * before their memory; keys before protection domains. Whatever was made is undone, however far the start came.
 */
#include <stdlib.h>

#include "drivers/ibgda/host_internal.h"

const char *const bf_ibgda_kind_names[BF_IBGDA_KINDS] = { "ep",   "qp", "cq",  "umem",   "uar",
							  "mkey", "pd", "dct", "memory", "list node" };

void bf_ibgda_finalize(struct bf_ibgda_transport *t)
{
	t->err = NULL; /* the first failure is the one to tell */
	bf_ibgda_destroy_batches(t, &t->dcis);
	bf_ibgda_destroy_dcts(t);
	bf_ibgda_destroy_batches(t, &t->backups);
	bf_ibgda_destroy_batches(t, &t->rcs);
	bf_ibgda_close_memory(t);
	for (uint32_t i = 0; i < t->nnics; i++)
		bf_ibgda_destroy(t, &t->nic[i], BF_MLX5_CMD_DEALLOC_PD, "DEALLOC_PD", BF_IBGDA_KIND_PD, &t->nic[i].pd);
	bf_ibgda_close_state(t);
}

void bf_ibgda_count_left(const struct bf_ibgda_transport *t, int64_t left[BF_IBGDA_KINDS])
{
	for (uint32_t i = 0; i < BF_IBGDA_KINDS; i++)
		left[i] += t->live[i];
}

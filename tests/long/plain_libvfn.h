/* What the trial and the code around libvfn's queues say to each other; neither sees the other's headers. */
#ifndef PLAIN_LIBVFN_H
#define PLAIN_LIBVFN_H

#include <stdbool.h>
#include <stdint.h>

struct vfn_job {
	void *sq, *cq, *sq_tail, *cq_head; /* as the trial has them */
	uint32_t id, entries, nsid, block_bytes;
	uint64_t data_va;
	uint32_t commands, window;
	bool no_head; /* the mistake: the head of the completion queue is never told */
	uint32_t done, errors;
};

/* Writes one block with each command, by libvfn's nvme_sq_exec() and nvme_cq_get_cqes(). */
void vfn_run(struct vfn_job *job);

#endif

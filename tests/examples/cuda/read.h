#ifndef READ_H
#define READ_H

#include <stdint.h>

struct nvme_queue {
	uint8_t *sq, *cq;
	uint32_t *sq_tail, *cq_head;
	uint32_t entries, nsid, block_bytes;
};

#ifdef __cplusplus
void read(struct nvme_queue q, uint64_t buffer, uint32_t rounds, uint32_t *errors);
#endif

#endif

#ifndef PUT_H
#define PUT_H

#include <stdint.h>

struct queue {
	uint8_t *sq, *cq;
	uint32_t *dbrec, *cq_dbrec;
	void *doorbell;
	uint32_t entries, cqes, qpn, lkey, rkey;
	uint64_t local, remote;
};

void start(struct queue q, uint32_t count, uint32_t window, uint32_t *errors);

#endif

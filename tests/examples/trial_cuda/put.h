/* What the kernel gets from the host: one end of a connection, ready to send. */
#ifndef PUT_H
#define PUT_H

#include <stdint.h>

struct queue {
	uint8_t *sq, *cq;           /* rings of `entries` and `cqes` entries of 64 bytes */
	uint32_t *dbrec, *cq_dbrec; /* doorbell records, big-endian */
	void *doorbell;             /* register of the device */
	uint64_t local, remote;     /* addresses for entries */
	uint32_t entries, cqes;
	uint32_t qpn, lkey, rkey;
	uint32_t errors; /* out: completions that are errors */
};

#endif

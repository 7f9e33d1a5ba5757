/*
 * Where PEs of one process meet: what the kinds of bootstrap with shared memory have in common.
 *
 * Each PE arrives with its buffers; whoever comes last does the exchange for all. How the others wait in between is the
 * kind's business (a coroutine gives way, a thread waits on a condition, an agent parks), and so is the lock.
 */
#ifndef BELFRY_DRIVERS_BOOTSTRAP_MEET_INTERNAL_H
#define BELFRY_DRIVERS_BOOTSTRAP_MEET_INTERNAL_H

#include <stdbool.h>

#include "drivers/bootstrap/bootstrap.h"

enum bf_boot_op { BF_BOOT_NONE, BF_BOOT_ALLGATHER, BF_BOOT_ALLTOALL, BF_BOOT_BARRIER, BF_BOOT_OPS };

/* "allgather" and so on, for error texts. */
const char *bf_boot_op_name(uint32_t op);

struct bf_meet_pe {
	const uint8_t *in;
	uint8_t *out;
	size_t bytes;
	int rc;     /* of the call that it made last */
	uint8_t op; /* of the call that it waits in; BF_BOOT_NONE: it is not waiting */
	bool gone;  /* gave up, or returned */
	bool cut;   /* it was told -ECONNRESET because another one is gone */
	int ended;  /* what it returned, once `gone` */
};

struct bf_meet {
	struct bf_meet_pe *pe;
	uint32_t npes;
	uint32_t first; /* number of pe[0], for texts */
	uint32_t waiting, gone;
	int broken; /* 0, or what every call fails with from now on */
	struct bf_error *err;
	/*
	 * Does the exchange that all have arrived for and that pe[0] describes. NULL: among themselves. Returns 0 or a
	 * negative errno with `err` set, which breaks the meeting.
	 */
	int (*exchange)(struct bf_meet *m, void *arg);
	void *exchange_arg;
};

/* 0 or -ENOMEM. */
int bf_meet_init(struct bf_meet *m, uint32_t npes, uint32_t first, struct bf_error *err);
void bf_meet_fini(struct bf_meet *m);

/*
 * PE `pe` (counted from 0 here) makes a call. True: it is answered, for all, and its result is in pe[].rc. False: it
 * has to wait until pe[].op is BF_BOOT_NONE.
 */
bool bf_meet_arrive(struct bf_meet *m, uint32_t pe, enum bf_boot_op op, const void *in, void *out, size_t bytes);

/* PE `pe` will not come again: it gave up, or its function returned `ended`. Whoever waits is answered. */
void bf_meet_leave(struct bf_meet *m, uint32_t pe, int ended);

/* All calls from now on, and those that wait, fail with `rc`, whose text is in m->err. */
void bf_meet_break(struct bf_meet *m, int rc);

/*
 * The first failure of PEs that have all returned: the lowest one's that did not fail only because another was gone; 0
 * when all returned 0. `*pe` (may be NULL) says whose, counted from 0 here.
 */
int bf_meet_outcome(const struct bf_meet *m, uint32_t *pe);

#endif

/*
 * The process manager's side of PMI-1, the interface by which MPICH and NVSHMEM find the processes that were
 * started with them: a space of keys and values that all share, and a barrier. Only the protocol: who calls this has
 * the connections.
 *
 * A process is told PMI_FD (a connected stream), PMI_RANK and PMI_SIZE, and sends lines of words NAME=VALUE, the first
 * of them cmd=COMMAND; each gets one line back. Commands: init, get_maxes, get_appnum, get_universe_size,
 * get_my_kvsname, put, get, barrier_in, finalize, abort. Starting further processes and publishing names are answered
 * with rc=-1. The wire is that of MPICH's "simple PMI" (src/pmi of its source), which has no other specification.
 *
 * Peers need not be well-behaved: lines, keys, values and all values together have limits.
 */
#ifndef BELFRY_DRIVERS_BOOTSTRAP_PMI_H
#define BELFRY_DRIVERS_BOOTSTRAP_PMI_H

#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"

#define BF_PMI_LINE_MAX 4096u       /* longest line that is read, with its end */
#define BF_PMI_KEY_MAX 64u          /* with a byte for the end, as are the others: what get_maxes says */
#define BF_PMI_VALUE_MAX 896u       /* so that no reply is longer than 1024 bytes, which clients count on */
#define BF_PMI_ROOM_MAX (64u << 20) /* bytes of all keys and values together */
#define BF_PMI_REPLY_MAX 1024u

struct bf_pmi;

/* Where a reply goes: `len` bytes, a line with its end. 0, or a negative errno, which bf_pmi_take() passes on. */
struct bf_pmi_out {
	int (*send)(void *ctx, uint32_t rank, const char *line, size_t len);
	void *ctx;
};

/* A job of `ranks` processes. `out` is copied. bf_pmi_free() ends it. NULL: no memory. */
struct bf_pmi *bf_pmi_new(uint32_t ranks, const struct bf_pmi_out *out);
void bf_pmi_free(struct bf_pmi *pmi);

/*
 * What rank `rank` has sent, in any pieces; replies go out before it returns, to other ranks as well if this one was
 * the last at a barrier. 0; -EPROTO: it broke the protocol; -ECANCELED: it asks for the end of all
 * (bf_pmi_abort_code()); -ENOMEM; or what `send` returned. Then `err` has the text and nothing more is read from that
 * rank.
 */
int bf_pmi_take(struct bf_pmi *pmi, uint32_t rank, const char *bytes, size_t len, struct bf_error *err);

/* The exit code with which a rank asked for the end of all. */
int bf_pmi_abort_code(const struct bf_pmi *pmi);

/* The rank's connection has ended: it waits for nobody any more. */
void bf_pmi_gone(struct bf_pmi *pmi, uint32_t rank);

/* How many ranks wait at the barrier. Those that have ended never come. */
uint32_t bf_pmi_waiting(const struct bf_pmi *pmi);

#endif

/*
 * The host's part, the same for the model and for a GPU: what a job needs, what its input is, what must come out. Plain
 * memory, no backend.
 */
#ifndef BELFRY_DRIVERS_MBARRIER_HOST_H
#define BELFRY_DRIVERS_MBARRIER_HOST_H

#include "drivers/mbarrier/mbarrier.h"
#include "sim/error.h"

#ifdef __cplusplus
extern "C" {
#endif

const char *bf_mbar_work_name(enum bf_mbar_work work); /* "pipeline"; NULL past the last */

/* Puts the workload's own numbers where a job has 0, and what a bug needs to show. */
void bf_mbar_defaults(struct bf_mbar_job *job, uint32_t *ranks, uint32_t *blocks);

/* Whether the numbers fit each other and Hopper. 0, or -EINVAL with `err` naming what does not. */
int bf_mbar_check(const struct bf_mbar_job *job, uint32_t ranks, uint32_t blocks, struct bf_error *err);

/* Bytes of input and of output; notes: bf_mbar_notes() of each block. */
uint64_t bf_mbar_data_bytes(const struct bf_mbar_job *job, uint32_t blocks);
void bf_mbar_fill(const struct bf_mbar_job *job, uint32_t blocks, uint8_t *in);

/* What was compared, and the first thing that is wrong. */
struct bf_mbar_verdict {
	uint64_t bytes, words, tokens; /* compared */
	uint64_t wrong;
	char text[240];
};
void bf_mbar_verify(const struct bf_mbar_job *job, uint32_t ranks, uint32_t blocks, const uint8_t *in,
		    const uint8_t *out, const struct bf_mbar_note *notes, struct bf_mbar_verdict *v);

/*
 * Compares the notes of two runs of one job: every word, the defined half of every token, every answer. Where several
 * warps arrive on one barrier their tokens are compared as a set. Returns the number of differences.
 */
uint64_t bf_mbar_compare(const struct bf_mbar_job *job, uint32_t blocks, const struct bf_mbar_note *a,
			 const struct bf_mbar_note *b, struct bf_mbar_verdict *v);

#ifdef __cplusplus
}
#endif

#endif

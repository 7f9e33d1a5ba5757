/*
 * Comparing what two runs gave their queue pairs to do, when the queues have other numbers.
 *
 * Two layouts of IBGDA's tables (drivers/ibgda/ibgda.h) give queue pairs, completion queues and table entries other
 * numbers and other neighbours; the work on each connection stays. Queue pairs are therefore matched by what they
 * connect: device, remote address, and the how-many-th between the two. What differs in numbers is named; the entries
 * of each queue pair are compared byte by byte but for the queue pair's number in them, and the completions by entry,
 * opcode and syndrome.
 */
#ifndef BELFRY_TOOLS_REPLAY_MLX5_QUEUE_DIFF_H
#define BELFRY_TOOLS_REPLAY_MLX5_QUEUE_DIFF_H

#include <stdio.h>

#include "tools/cli/cli.h"
#include "traces/container/trace.h"

struct bf_queue_diff {
	uint64_t queues;      /* matched */
	uint64_t unmatched;   /* of either trace */
	uint64_t renumbered;  /* matched ones with another QP or CQ number, or table entry */
	uint64_t entries;     /* compared */
	uint64_t elsewhere;   /* of them with another local address of results alone */
	uint64_t different;   /* otherwise different, or missing in one trace */
	uint64_t completions; /* of them different or missing */
};

/*
 * Compares what is left of `a` and `b`; prints to `out`, as text or, with `j`, as members of the open JSON object.
 * Returns 0 when the work is the same, 1 when not, or a negative errno with `err` set.
 */
int bf_queue_diff(struct bf_trace *a, struct bf_trace *b, FILE *out, struct bf_json *j, struct bf_queue_diff *result,
		  struct bf_error *err);

#endif

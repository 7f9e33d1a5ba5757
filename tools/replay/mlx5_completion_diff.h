/*
 * Comparing the completions that two devices gave the queue pairs of one driver: a model and a real device, or two real
 * ones. Addresses, keys, numbers of queues and times differ. Contexts (a device and a protection domain: one PE's NIC)
 * are matched by their device's name or, where all PEs share a device that has one name, by what they did; and in each
 * the queue pairs in order of their making. Of each completion the opcode, the entry's opcode and index, the byte
 * count, the syndrome and, where one queue pair alone has the completion queue, the owner bit must be the same, in the
 * same order. Between queue pairs that share a completion queue there is no order that a device owes.
 *
 * Several threads of a driver fill a ring in the order in which they come, which is another one each time on the wall
 * clock. Then the entries differ, and what must be the same is what each kind of entry (opcode, length, flags) gave, as
 * often as it was there. Where a driver does another amount of work each time (it polls by READ or tries a
 * compare-and-swap again), nothing but the answer to each kind of entry can be the same.
 */
#ifndef BELFRY_TOOLS_REPLAY_MLX5_COMPLETION_DIFF_H
#define BELFRY_TOOLS_REPLAY_MLX5_COMPLETION_DIFF_H

#include <stdio.h>

#include "tools/cli/cli.h"
#include "traces/container/trace.h"

struct bf_completion_diff {
	uint64_t queues;      /* matched, with entries or completions */
	uint64_t unmatched;   /* of either trace */
	uint64_t completions; /* of the matched ones, in the first trace */
	uint64_t reordered;   /* queue pairs whose entries came in another order, with the same answers */
	uint64_t other_work;  /* whose entries are others, and each kind in both has the same answers */
	uint64_t different;   /* whose completions do not fit */
};

/*
 * Compares what is left of `a` and `b`; prints to `out`, as text or, with `j`, as members of the open JSON object.
 * Returns 0 when all queue pairs are alike or reordered only, 1 when not, or a negative errno with `err` set.
 */
int bf_completion_diff(struct bf_trace *a, struct bf_trace *b, FILE *out, struct bf_json *j,
		       struct bf_completion_diff *result, struct bf_error *err);

#endif

/*
 * Replay of NVMe commands: what a Linux trace shows through the controller model, and its completions against the
 * model's.
 *
 * A controller gets the queues that the trace uses (those that the trace creates itself are left to it), namespaces as
 * large as its commands reach, and a host that posts each command where the trace has it and waits for a completion
 * where the trace has one. Property commands of a fabrics session become accesses to the registers of the same offsets.
 * What a trace does not hold is made up: data pointers (one scratch page as often as the length needs), the contents of
 * what is written, completions that the trace lacks.
 *
 * Compared are status, the order of the completions of a queue, and how far the submission queue's head moves between
 * completions (SQHD). A status that comes from the captured device's inside (internal, media, path and vendor errors)
 * or from a command that one of the two devices lacks is told apart: it says nothing about the queue protocol.
 */
#ifndef BELFRY_TRACES_REPLAY_NVME_H
#define BELFRY_TRACES_REPLAY_NVME_H

#include "models/nvme/nvme.h"
#include "traces/import/ftrace.h"

struct bf_nvme_replay_opts {
	uint64_t seed;
	const struct bf_nvme_profile *profile; /* NULL: bf_nvme_970pro */
	uint32_t record_mask;                  /* BF_CLASS_*; 0 = off */
	struct bf_sink *sink;                  /* borrowed; may be NULL */
};

enum bf_nvme_replay_verdict {
	BF_NVME_REPLAY_SAME,
	BF_NVME_REPLAY_STATUS_DIFFERS,
	BF_NVME_REPLAY_RESULT_DIFFERS, /* of a register access */
	BF_NVME_REPLAY_HEAD_DIFFERS,   /* the head moved less than the commands in between, or back */
	BF_NVME_REPLAY_NO_COMPLETION,  /* the model has nothing left to do and posted none */
	BF_NVME_REPLAY_REORDERED,      /* the model completed a later one first; both orders are legal */
	BF_NVME_REPLAY_DEVICE_OWN,     /* the captured device failed by itself */
	BF_NVME_REPLAY_OPTIONAL,       /* a command or page that one of the devices lacks */
	BF_NVME_REPLAY_ORPHAN,         /* a completion whose command is not in the trace */
	BF_NVME_REPLAY_NOT_SENT,       /* a fabrics command without counterpart on PCI Express */
	BF_NVME_REPLAY_VERDICTS
};

/* "same", "status differs" and so on. */
const char *bf_nvme_replay_verdict_name(enum bf_nvme_replay_verdict v);

/* True for those that a device of the same kind would not have shown. */
bool bf_nvme_replay_verdict_bad(enum bf_nvme_replay_verdict v);

struct bf_nvme_replay_finding {
	enum bf_nvme_replay_verdict verdict; /* any but SAME */
	uint32_t line, qid, cid;
	uint64_t captured, simulated; /* status, register or head, as the verdict says */
	char ctrl[16], command[40];
	char text[160];
};

struct bf_nvme_replay_result {
	struct bf_nvme_replay_finding *findings;
	size_t nfindings, findings_cap; /* there are; there is room for */
	uint64_t commands, completions; /* sent; compared */
	uint64_t heads;                 /* movements of a head that were compared */
	uint64_t unfinished;            /* commands of the trace without a completion there */
	uint64_t registers;             /* accesses */
	uint64_t tally[BF_NVME_REPLAY_VERDICTS];
	uint64_t time_ps, events, records, hash;
};

/*
 * Replays `t`: one controller for each that the trace names. 0 with the comparison in `*out` (free with
 * bf_nvme_replay_free()), -E2BIG when a command reaches beyond 2^48 blocks, -ENOMEM; `err` says what. Differences are
 * no error. One thread.
 */
int bf_nvme_replay_run(const struct bf_ftrace *t, const struct bf_nvme_replay_opts *opts,
		       struct bf_nvme_replay_result **out, struct bf_error *err);
void bf_nvme_replay_free(struct bf_nvme_replay_result *r);

#endif

/*
 * Any bytes as what `belfry replay` takes (a capture, a trace that one was imported into, a trace of `belfry exec`),
 * and through the model: what can be read is replayed, or refused with a reason.
 */
#include <stdlib.h>
#include <string.h>

#include "traces/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a replay takes grows with rings and messages that a few bytes can ask for: large ones find nothing more. */
static bool is_small(const struct bf_capture *c)
{
	uint64_t rings = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct bf_capture_event *e = &c->events[i];

		if (e->kind == BF_CAPTURE_QP)
			rings += (uint64_t)e->qp.sq_wqebbs + e->qp.rq_wqes + e->qp.send_cqes + e->qp.recv_cqes;
		else if (e->kind == BF_CAPTURE_SRQ)
			rings += e->srq.wqes;
	}
	return rings <= 1u << 14;
}

static void replay(const struct bf_capture *c)
{
	const struct bf_replay_opts opts = { .seed = 1 };
	struct bf_replay_result *r = NULL;
	struct bf_error err = { 0 };

	if (bf_replay_run(c, &opts, &r, &err) && !err.text[0])
		abort();
	bf_replay_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bf_capture *c = NULL;
	struct bf_error err = { 0 };
	FILE *f = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;

	if (!f)
		return 0;
	if (bf_capture_load_file(f, "input", &c, &err) && !err.text[0])
		abort();
	fclose(f);
	if (c && is_small(c))
		replay(c);
	bf_capture_free(c);
	return 0;
}

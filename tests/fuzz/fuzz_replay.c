/*
 * Any bytes as what `belfry replay` takes (a capture, a trace that one was imported into, a trace of `belfry exec`, a
 * Linux NVMe trace), and through the model: what can be read is replayed, or refused with a reason. fuzz_sdma_dump does
 * the same with rings of the copy engine.
 */
#include <stdlib.h>
#include <string.h>

#include "traces/replay/nvme.h"
#include "traces/replay/mlx5.h"

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

static void replay_nvme(const char *text, size_t size)
{
	const struct bf_nvme_replay_opts opts = { .seed = 1, .profile = &bf_nvme_instant };
	struct bf_nvme_replay_result *r = NULL;
	struct bf_error err = { 0 };
	struct bf_ftrace *t;

	bf_ftrace_parse(text, size, &t, &err);
	err.text[0] = 0;
	if (t && t->count && bf_nvme_replay_run(t, &opts, &r, &err) && !err.text[0])
		abort();
	bf_nvme_replay_free(r);
	bf_ftrace_free(t);
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
	if (c && c->count && is_small(c))
		replay(c);
	else if (!c || !c->count)
		replay_nvme((const char *)data, size);
	bf_capture_free(c);
	return 0;
}

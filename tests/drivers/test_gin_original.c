/*
 * drivers/gin against GPUNetIO's and NCCL's own device headers, step by step: what the GPU's thread stores, where it
 * fences, which atomics it makes, in which order, for the same calls on the same queues.
 *
 * gin_original.txt holds what GPUNetIO does (467c76a, compiled unmodified by nvcc 13.0 for sm_90, executed by
 * models/ptx), gin_nccl.txt what NCCL's GIN does (5067397). `test_drivers_gin_original gpunetio|nccl PTX` runs the
 * originals and prints it; tests/long/gin_original.sh records so. Here drivers/gin must do the same.
 */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/platform/platform_sim.h"

#include "drivers/backend/ptx.h"
#include "drivers/gin/host.h"
#include "drivers/gin/ops.h"
#include "models/mlx5/profile.h"
#include "sim/records_agent.h"
#include "sim/records_io.h"
#include "sim/clock.h"
#include "sim/sim.h"
#include "tests/drivers/gin_original.h"

#define HEAP 16384u
#define REMOTE 4096u
#define SIGNAL 8192u
#define COUNTER 8256u
#define SINK 0u /* as NCCL has it */

static const char *const sharings[] = { "exclusive", "cta", "gpu" };
static const char *const handlers[] = { "db", "no-record", NULL, "proxy" };

/* Whose calls: those of GPUNetIO, or NCCL's, whose wait is GIN's flush. That rings for nobody. */
enum flavour { GPUNETIO, NCCL };
static const char *const flavours[] = { "gpunetio", "nccl" };
static const char *const recorded[] = { BELFRY_SOURCE_DIR "/tests/drivers/gin_original.txt",
					BELFRY_SOURCE_DIR "/tests/drivers/gin_nccl.txt" };

#define WAIT                                                                                                           \
	{                                                                                                              \
		GIN_WAIT, 0, 0, 0, 1                                                                                   \
	}

/* What is called, one after the other, on queues of 4 entries where it goes round. */
static const struct {
	const char *name;
	uint32_t flavours, depth, counters;
	struct gin_call call[GIN_CALLS];
} scenes[] = {
	{ "put", 3, 16, 0, { { GIN_PUT, 0, REMOTE, 0, 64 }, { GIN_PUT, 0, REMOTE + 64, 64, 64 }, WAIT } },
	{ "aggregated puts",
	  3,
	  16,
	  0,
	  { { GIN_PUT, 4, REMOTE, 0, 64 },
	    { GIN_PUT, 4, REMOTE + 64, 64, 64 },
	    { GIN_PUT, 0, REMOTE + 128, 128, 8 } } },
	{ "put of nothing", 3, 16, 0, { { GIN_PUT, 0, REMOTE, 0, 0 } } },
	{ "value", 3, 16, 0, { { GIN_VALUE, 0, REMOTE, 0, 0x1122334455667788 } } },
	{ "signal", 3, 16, 0, { { GIN_SIGNAL, 0, 0, 0, 1 }, { GIN_SIGNAL, 0, 0, 0, 1 } } },
	{ "put and signal", 3, 16, 0, { { GIN_PUT_SIGNAL, 0, REMOTE, 0, 64 } } },
	{ "value and signal", 3, 16, 0, { { GIN_VALUE_SIGNAL, 0, REMOTE, 0, 7 } } },
	{ "get", 3, 16, 0, { { GIN_GET, 0, REMOTE, 0, 64 }, WAIT } },
	{ "get, made visible", 1, 16, 0, { { GIN_GET_VISIBLE, 0, REMOTE, 0, 64 } } },
	{ "put with counter", 3, 16, 1, { { GIN_COUNTER, 0, REMOTE, 0, 64 }, { GIN_COUNTER, 0, REMOTE, 0, 64 } } },
	{ "signal with counter", 3, 16, 1, { { GIN_SIGNAL_COUNTER, 0, 0, 0, 1 } } },
	{ "round the ring",
	  1,
	  4,
	  0,
	  { { GIN_PUT, 0, REMOTE, 0, 8 },
	    { GIN_PUT, 0, REMOTE, 0, 8 },
	    { GIN_PUT, 0, REMOTE, 0, 8 },
	    { GIN_PUT, 0, REMOTE, 0, 8 },
	    { GIN_PUT, 0, REMOTE, 0, 8 },
	    { GIN_PUT, 0, REMOTE, 0, 8 },
	    { GIN_WAIT_TICKET, 0, 0, 0, 4 },
	    WAIT } },
};

/* ---- the machine, and what its GPU does ---- */

#define REGIONS 16u
#define ORIGINAL_COMPANION 512u

struct side {
	struct bf_sink sink; /* first */
	bf_take_fn *take[BF_RECORD_TYPES];
	const struct bf_backend *be;
	struct bf_world *world;
	struct bf_gin_host *host;
	struct bf_error err;
	struct bf_memory original; /* two of struct gin_original_qp, then the results */
	struct gin_job job;
	uint32_t depth, handler;
	enum flavour flavour;
	uint8_t opcode[2][64]; /* what was built last in each slot */
	struct {
		uint64_t va, size;
		char name[32];
	} region[REGIONS];
	uint32_t regions;
	FILE *out;
};

/* Queues are numbered context * PEs + peer: that of PE 0 to PE 1 is 1, its companion 3. */
static const char *const queue_name[] = { "", "companion " };
static uint32_t queue_of(uint64_t number)
{
	return number == 3;
}

/* A member of a side's structure of a queue pair. */
static const char *member(uint64_t at, bool original)
{
#define BOTH(a, b) original ? offsetof(struct gin_original_qp, a) : offsetof(struct bf_gin_qp, b)
	const struct {
		uint64_t at;
		const char *name;
	} members[] = {
		{ BOTH(sq_rsvd_index, sq_rsvd_index), "reserved" },
		{ BOTH(sq_ready_index, sq_ready_index), "ready" },
		{ BOTH(sq_wqe_pi, sq_wqe_pi), "rung" },
		{ BOTH(sq_lock, sq_lock), "lock" },
		{ BOTH(cq.cqe_ci, cq.cqe_ci), "done" },
	};
#undef BOTH

	for (size_t i = 0; i < BF_ARRAY_LEN(members); i++)
		if (members[i].at == at)
			return members[i].name;
	return NULL;
}

/* What lies at an address, by a name that both sides have. False: nothing that matters. */
static bool name_of(const struct side *s, uint64_t va, char *buf, size_t cap, uint32_t *queue, uint64_t *slot)
{
	const uint64_t tables = (sizeof(struct bf_gin_state) + 63) & ~(uint64_t)63, qp = sizeof(struct bf_gin_qp);
	uint32_t r = 0;
	uint64_t at;

	*slot = UINT64_MAX;
	while (r < s->regions && va - s->region[r].va >= s->region[r].size)
		r++;
	if (r == s->regions)
		return false;
	at = va - s->region[r].va;
	if (strcmp(s->region[r].name, "queues") == 0) {
		const uint64_t each = s->depth * 128ull, in = at % each;

		*queue = queue_of(at / each);
		*slot = in / 64;
		snprintf(buf, cap, "%sentry %" PRIu64 " + %" PRIu64, queue_name[*queue], in / 64, in % 64);
	} else if (strcmp(s->region[r].name, "records") == 0) {
		*queue = queue_of(at / 64);
		snprintf(buf, cap, "%s%s", queue_name[*queue], at % 64 == 4 ? "record" : at % 64 == 48 ? "slot" : "?");
	} else if (strncmp(s->region[r].name, "nic0.uar", 8) == 0) {
		snprintf(buf, cap, "register 0x%" PRIx64, at);
	} else if (strcmp(s->region[r].name, "tables") == 0 && at >= tables) {
		const char *const m = member((at - tables) % qp, false);

		*queue = queue_of((at - tables) / qp);
		if (!m)
			return false;
		snprintf(buf, cap, "%s%s", queue_name[*queue], m);
	} else if (strcmp(s->region[r].name, "original") == 0 && at < 2 * ORIGINAL_COMPANION) {
		const char *const m = member(at % ORIGINAL_COMPANION, true);

		*queue = (uint32_t)(at / ORIGINAL_COMPANION);
		if (!m)
			return false;
		snprintf(buf, cap, "%s%s", queue_name[*queue], m);
	} else {
		return false;
	}
	return true;
}

/* Bytes of an entry that no builder of GPUNetIO sets and no device looks at. */
static bool ignored(uint32_t opcode, uint64_t at)
{
	const bool atomic = opcode == BF_MLX5_OP_ATOMIC_FA;

	if ((at >= 8 && at < 11) || (at >= 12 && at < 16))
		return true;
	if (opcode == BF_MLX5_OP_WAIT)
		return at >= 16 && at < 24;
	if (opcode == BF_MLX5_OP_DUMP)
		return false;
	return (at >= 28 && at < 32) || (atomic && at >= 40 && at < 48);
}

static void bytes(struct side *s, const uint8_t *p, uint32_t len, uint32_t queue, uint64_t slot, uint64_t at)
{
	if (slot < BF_ARRAY_LEN(s->opcode[0]) && at % 64 == 0 && len >= 4)
		s->opcode[queue][slot] = p[3];
	for (uint32_t i = 0; i < len; i++) {
		if (slot < BF_ARRAY_LEN(s->opcode[0]) && ignored(s->opcode[queue][slot], at % 64 + i))
			fprintf(s->out, "..");
		else
			fprintf(s->out, "%02x", p[i]);
	}
	fprintf(s->out, "\n");
}

static const char *const sems[] = { "weak", "relaxed", "acquire", "release", "acq_rel" };
static const char *const scopes[] = { "cta", "gpu", "sys" };
static const char *const ops[] = { "add", "max", "exch", "cas", "and", "or" };

/* Nobody asks who it was: one thread runs. */
static int pass_actor(struct bf_sink *sink, uint32_t actor, const char *kind, const char *name)
{
	(void)sink, (void)actor, (void)kind, (void)name;
	return 0;
}

static int take_region(struct bf_sink *sink, const struct bf_rec_schema *schema, const struct bf_rec_header *head,
		       const void *fixed, const void *tail)
{
	struct side *s = (struct side *)sink;
	const struct bf_rec_region *r = fixed;

	(void)schema, (void)head, (void)tail;
	if (strcmp(r->space, "pe0") == 0 && s->regions < REGIONS) {
		s->region[s->regions].va = r->va;
		s->region[s->regions].size = r->size;
		snprintf(s->region[s->regions++].name, sizeof(s->region[0].name), "%.31s", r->name);
	}
	return 0;
}

static int take_store(struct bf_sink *sink, const struct bf_rec_schema *schema, const struct bf_rec_header *head,
		      const void *fixed, const void *tail)
{
	struct side *s = (struct side *)sink;
	const struct bf_rec_store *r = fixed;
	uint64_t slot;
	uint32_t queue;
	char name[64];

	(void)schema, (void)head;
	if (!name_of(s, r->va, name, sizeof(name), &queue, &slot))
		return 0;
	fprintf(s->out, "  store %s: ", name);
	if (r->sem != BF_WEAK)
		fprintf(s->out, "%s.%s ", sems[r->sem], scopes[r->scope]);
	bytes(s, tail, r->len, queue, slot, slot == UINT64_MAX ? 0 : r->va);
	return 0;
}

static int take_mmio(struct bf_sink *sink, const struct bf_rec_schema *schema, const struct bf_rec_header *head,
		     const void *fixed, const void *tail)
{
	struct side *s = (struct side *)sink;
	const struct bf_rec_mmio_store *r = fixed;
	uint64_t slot;
	uint32_t queue;
	char name[64];

	(void)schema, (void)head;
	if (!name_of(s, r->va, name, sizeof(name), &queue, &slot))
		return 0;
	fprintf(s->out, "  ring %s: ", name);
	bytes(s, tail, r->len, 0, UINT64_MAX, 0);
	return 0;
}

static int take_fence(struct bf_sink *sink, const struct bf_rec_schema *schema, const struct bf_rec_header *head,
		      const void *fixed, const void *tail)
{
	const struct bf_rec_fence *r = fixed;

	(void)schema, (void)head, (void)tail;
	fprintf(((struct side *)sink)->out, "  fence %s\n", scopes[r->scope]);
	return 0;
}

static int take_atomic(struct bf_sink *sink, const struct bf_rec_schema *schema, const struct bf_rec_header *head,
		       const void *fixed, const void *tail)
{
	struct side *s = (struct side *)sink;
	const struct bf_rec_atomic *r = fixed;
	uint64_t slot;
	uint32_t queue;
	char name[64];

	(void)schema, (void)head, (void)tail;
	if (!name_of(s, r->va, name, sizeof(name), &queue, &slot))
		return 0;
	fprintf(s->out, "  %s.%s.%s %s: %" PRIu64 ", ", ops[r->op], sems[r->sem], scopes[r->scope], name, r->operand);
	if (r->op == BF_ATOMIC_CAS)
		fprintf(s->out, "if %" PRIu64 ", ", r->compare);
	fprintf(s->out, "was %" PRIu64 "\n", r->old);
	return 0;
}

static void give_up(const struct side *s, const char *what)
{
	fprintf(stderr, "%s: %s\n", what, s->err.text);
	exit(1);
}

static void open_side(struct side *s, uint32_t scene, uint32_t sharing, uint32_t handler)
{
	struct bf_world_opts world = { .seed = 1,
				       .ordering = BF_ORDER_SC,
				       .device_opts[BF_DEVICE_AT_MLX5] = &bf_mlx5_cx8,
				       .npes = 2,
				       .limit_ps = 10 * BF_MS,
				       .lanes = 1,
				       .record_mask = BF_CLASS_META | BF_CLASS_MEM | BF_CLASS_MMIO,
				       .sink = &s->sink };
	const struct bf_gin_opts gin = { .npes = 2,
					 .contexts = 1,
					 .depth = scenes[scene].depth,
					 .handler = (enum bf_gin_handler)handler,
					 .sharing = (enum bf_gin_sharing)sharing,
					 .counters = scenes[scene].counters,
					 .bugs = s->flavour == NCCL ? BF_GIN_BUG_FLUSH_NO_RING : 0,
					 .heap_bytes = HEAP,
					 .sink = SINK };

	s->sink.take = s->take;
	s->sink.declare_actor = pass_actor;
	s->take[BF_REC_ID_region] = take_region;
	s->depth = gin.depth;
	s->handler = handler;
	s->be = bf_backend_find("sim");
	if (s->be->open(&world, &s->err, &s->world) || bf_gin_host_open(s->be, s->world, &gin, &s->err, &s->host) ||
	    s->be->alloc(s->world, 0, BF_PLACE_GPU, 4096, "original", &s->original))
		give_up(s, "the machine");
	s->take[BF_REC_ID_store] = take_store;
	s->take[BF_REC_ID_mmio_store] = take_mmio;
	s->take[BF_REC_ID_fence] = take_fence;
	s->take[BF_REC_ID_atomic] = take_atomic;
}

static void close_side(struct side *s)
{
	bf_gin_host_close(s->host);
	s->be->close(s->world);
}

static void run(struct side *s)
{
	struct bf_world_result result;

	if (s->be->run(s->world, &result))
		give_up(s, "the run");
	if (result.end != BF_END_DONE)
		fprintf(s->out, "  does not end\n");
}

/* ---- GPUNetIO's headers ---- */

/* What GPUNetIO's host side would have filled in (doca_gpu_verbs_export_qp()). */
static void export_qp(const struct side *s, const struct bf_gin_qp *from, uint32_t at)
{
	struct gin_original_qp *qp = (void *)((uint8_t *)s->original.ptr + at);
	static const uint32_t handler[] = { 2, 10, 6, 1 };

	*qp = (struct gin_original_qp){ .sq_num = from->sq_num,
					.sq_num_shift8 = from->sq_num << 8,
					.sq_num_shift8_be = bf_htobe32(from->sq_num << 8),
					.sq_wqe_num = (uint16_t)from->sq_wqe_num,
					.sq_wqe_mask = (uint16_t)(from->sq_wqe_num - 1),
					.sq_wqe_daddr = (uintptr_t)from->sq_wqe,
					.sq_dbrec = (uintptr_t)from->sq_dbrec,
					.sq_db = (uintptr_t)from->sq_db,
					.nic_handler = handler[s->handler],
					.cq = { .cqe_daddr = (uintptr_t)from->cq.cqe,
						.cq_num = from->cq.cqn,
						.cqe_num = from->cq.cqe_num,
						.cqe_mask = from->cq.cqe_num - 1,
						.cqe_size = 64 } };
	for (uint32_t ds = 1; ds <= 5; ds++)
		qp->sq_num_shift8_be_ds[ds - 1] = bf_htobe32(from->sq_num << 8 | ds);
}

static void launch_original(struct side *s, const struct bf_ptx_source *ptx)
{
	const struct bf_ptx_launch launch = { .kernel = "gin_original",
					      .grid = { 1 },
					      .block = { 1 },
					      .params = &s->job,
					      .param_bytes = sizeof(s->job) };
	const struct bf_gin_state *state = bf_gin_host_state(s->host, 0);
	struct bf_ptx_library *lib;

	export_qp(s, &state->qps[1], 0);
	export_qp(s, &state->companions[1], ORIGINAL_COMPANION);
	s->job.qp = (uintptr_t)s->original.ptr;
	s->job.companion = s->job.qp + ORIGINAL_COMPANION;
	if (s->be->ptx_load(s->world, 0, ptx, 1, &lib) || s->be->ptx_launch(s->world, 0, lib, &launch))
		give_up(s, "the originals");
}

/* ---- drivers/gin ---- */

static uint64_t ours(struct bf_thread *t, const struct bf_gin_state *s, const struct gin_call *c)
{
	struct bf_gin_qp *qp = bf_gin_qp(s, 0, 1);

	switch (c->op) {
	case GIN_PUT:
		return bf_gin_put(t, s, 0, 1, c->remote, c->local, (uint32_t)c->bytes, c->flags);
	case GIN_VALUE:
		return bf_gin_put_value(t, s, 0, 1, c->remote, c->bytes, c->flags);
	case GIN_SIGNAL:
		return bf_gin_signal(t, s, 0, 1, SIGNAL, 1, c->flags);
	case GIN_PUT_SIGNAL:
		return bf_gin_put_signal(t, s, 0, 1, c->remote, c->local, (uint32_t)c->bytes, SIGNAL, 1);
	case GIN_GET:
		return bf_gin_get(t, s, 0, 1, c->remote, c->local, (uint32_t)c->bytes, c->flags);
	case GIN_GET_VISIBLE:
		return bf_gin_get_visible(t, s, 0, 1, c->remote, c->local, (uint32_t)c->bytes);
	case GIN_COUNTER:
		bf_gin_put_counter(t, s, 0, 1, c->remote, c->local, (uint32_t)c->bytes, COUNTER);
		return ~0ull;
	case GIN_VALUE_SIGNAL:
		return bf_gin_put_value_signal(t, s, 0, 1, c->remote, c->bytes, SIGNAL, 1);
	case GIN_SIGNAL_COUNTER:
		bf_gin_signal_counter(t, s, 0, 1, SIGNAL, 1, COUNTER);
		return ~0ull;
	case GIN_WAIT:
		if (s->bugs & BF_GIN_BUG_FLUSH_NO_RING)
			return (uint64_t)bf_gin_flush(t, s, 0, 1);
		return (uint64_t)bf_gin_wait(t, s, qp, qp->sq_rsvd_index - 1);
	case GIN_WAIT_TICKET:
		return (uint64_t)bf_gin_wait(t, s, qp, c->bytes);
	default:
		return ~0ull;
	}
}

static void kernel(struct bf_thread *t, void *arg)
{
	struct side *s = arg;

	for (uint32_t i = 0; i < s->job.calls; i++)
		ours(t, bf_gin_host_state(s->host, 0), &s->job.call[i]);
}

/* ---- both ---- */

static void play(FILE *out, enum flavour flavour, uint32_t scene, uint32_t sharing, uint32_t handler,
		 const struct bf_ptx_source *ptx)
{
	struct side *s = calloc(1, sizeof(*s));
	const struct bf_gin_state *state;

	if (!s)
		exit(1);
	s->out = out;
	s->flavour = flavour;
	fprintf(out, "%s, %s, %s\n", scenes[scene].name, sharings[sharing], handlers[handler]);
	open_side(s, scene, sharing, handler);
	state = bf_gin_host_state(s->host, 0);
	s->job = (struct gin_job){ .rkey = state->rkeys[1],
				   .lkey = state->lkey,
				   .signal_key = state->strict_rkeys[1],
				   .sink_key = state->strict_lkey,
				   .sink = SINK,
				   .signal = SIGNAL,
				   .counter = COUNTER,
				   .sharing = sharing,
				   .result = (uintptr_t)s->original.ptr + 2048 };
	memcpy(s->job.call, scenes[scene].call, sizeof(s->job.call));
	/* Without a thread of the CPU nothing is ever done: what waits is left out. */
	for (uint32_t i = 0; i < GIN_CALLS && (s->job.call[i].remote || s->job.call[i].bytes); i++)
		if (handler != BF_GIN_PROXY || s->job.call[i].op < GIN_WAIT)
			s->job.calls++;
		else
			break;
	if (ptx)
		launch_original(s, ptx);
	else if (s->be->launch(s->world, 0, 1, 1, kernel, s))
		give_up(s, "a launch");
	run(s);
	close_side(s);
	free(s);
}

static void play_all(FILE *out, enum flavour flavour, const struct bf_ptx_source *ptx)
{
	for (uint32_t scene = 0; scene < BF_ARRAY_LEN(scenes); scene++)
		for (uint32_t sharing = BF_GIN_EXCLUSIVE; sharing <= BF_GIN_GPU; sharing++)
			for (uint32_t handler = BF_GIN_DB; handler <= BF_GIN_PROXY; handler++)
				if (handlers[handler] && scenes[scene].flavours & 1u << flavour &&
				    !(scenes[scene].depth == 4 && handler == BF_GIN_PROXY))
					play(out, flavour, scene, sharing, handler, ptx);
}

static char *whole(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	char *text = NULL;

	if (f && fseek(f, 0, SEEK_END) == 0) {
		const long size = ftell(f);

		rewind(f);
		text = calloc(1, (size_t)size + 1);
		*len = text ? fread(text, 1, (size_t)size, f) : 0;
	}
	if (f)
		fclose(f);
	return text;
}

/* Every line. The first that differs is told with the scene that it is in. */
START_TEST(the_same_steps)
{
	size_t wanted_len = 0, got_len = 0, at = 0, scene = 0, line = 0;
	char *wanted = whole(recorded[_i], &wanted_len), *got = NULL;
	FILE *out = open_memstream(&got, &got_len);

	ck_assert_ptr_nonnull(wanted);
	ck_assert_ptr_nonnull(out);
	play_all(out, (enum flavour)_i, NULL);
	fclose(out);
	for (; at < wanted_len && at < got_len && wanted[at] == got[at]; at++)
		if (wanted[at] == '\n') {
			line = at + 1;
			if (wanted[line] != ' ')
				scene = line;
		}
	ck_assert_msg(at == wanted_len && at == got_len, "%s, in '%.*s':\n%.*s (the original)\n%.*s (ours)",
		      flavours[_i], (int)strcspn(wanted + scene, "\n"), wanted + scene,
		      (int)strcspn(wanted + line, "\n"), wanted + line, (int)strcspn(got + line, "\n"), got + line);
	free(wanted);
	free(got);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s = suite_create("gin_original");
	TCase *tc = tcase_create("gin_original");
	SRunner *sr;
	int failed;

	if (argc == 3) {
		const enum flavour flavour = strcmp(argv[1], flavours[NCCL]) == 0 ? NCCL : GPUNETIO;
		struct bf_ptx_source ptx = { .name = argv[2] };

		ptx.text = whole(argv[2], &ptx.len);
		if (!ptx.text) {
			fprintf(stderr, "%s: cannot be read\n", argv[2]);
			return 2;
		}
		play_all(stdout, flavour, &ptx);
		free((char *)(uintptr_t)ptx.text);
		return 0;
	}
	tcase_add_loop_test(tc, the_same_steps, GPUNETIO, NCCL + 1);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}

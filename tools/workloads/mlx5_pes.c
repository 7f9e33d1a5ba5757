/* From choices to a world with IBGDA, from a finished world to a result: for families with kernels of their own. */
#include "tools/workloads/mlx5_pes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/clock.h"

/* ---- choices ---- */

static bool power_of_two(uint64_t v)
{
	return v != 0 && (v & (v - 1)) == 0;
}

int bf_pes_check(const void *choices, struct bf_error *err)
{
	const struct bf_pes *p = choices;
	const struct {
		const char *name;
		uint64_t value;
	} powers[] = {
		{ "depth", p->depth }, { "batch", p->batch }, { "ibuf-slots", p->ibuf_slots }, { "granule", p->granule }
	};

	for (size_t i = 0; i < BF_ARRAY_LEN(powers); i++)
		if (!power_of_two(powers[i].value))
			return bf_fail(err, -EINVAL, "--%s must be a power of two", powers[i].name);
	if (p->batch > p->depth)
		return bf_fail(err, -EINVAL, "--batch %" PRIu32 " is more than the ring holds (--depth %" PRIu32 ")",
			       p->batch, p->depth);
	return p->family->check(p, err);
}

int bf_pes_fill(const struct bf_family *f, const struct bf_args *args, void *choices, struct bf_error *err)
{
	struct bf_pes *p = choices;
	int rc;

	(void)args;
	p->family = f->own;
	p->name = f->works[p->work].name;
	if (p->family->fill)
		p->family->fill(p);
	rc = bf_mlx5_work_profile_parse(p->profile_text, &p->profile, err);
	if (!rc)
		rc = bf_check_topology(&p->topology, p->pes, err);
	return rc ? rc : bf_pes_check(p, err);
}

int bf_pes_settle(const struct bf_args *args, void *choices)
{
	const struct bf_pes *p = choices;

	if (!p->backend->sim)
		return bf_cli_error(args, BF_EXIT_USAGE,
				    "backend %s has no kernels for this workload; sim and live have", p->backend->name);
	return BF_EXIT_GOOD;
}

/* ---- a run ---- */

static int open_world(struct bf_pes_arena *a, struct bf_sink *sink, struct bf_error *err)
{
	const struct bf_pes *p = a->p;
	const struct bf_world_opts world = {
		.seed = p->seed,
		.ordering = p->ordering,
		.chooser = p->chooser,
		.stacks = p->stacks,
		.device_opts[BF_DEVICE_AT_MLX5] = &p->profile,
		.faults = p->faults,
		.topology = p->topology,
		.npes = p->pes,
		.limit_ps = p->limit_ps,
		.record_mask = p->records,
		.sink = sink,
		.system_scope = p->place == BF_PLACE_HOST,
	};
	const struct bf_ibgda_host_opts host = {
		.flavour = (enum bf_ibgda_flavour)p->flavour,
		.layout = (enum bf_ibgda_layout_id)(BF_IBGDA_L1 + p->layout),
		.bugs = p->bugs,
		.suspects = p->suspects,
		.heap_bytes = p->family->heap_bytes(p),
		.log2_granularity = (uint32_t)__builtin_ctzll(p->granule),
		.granules_per_mr = p->granules_per_mr,
		.num_rc_per_pe = p->qps,
		.qp_depth = p->depth,
		.batch = p->batch,
		.ibuf_slots = p->ibuf_slots,
		.system_scope = p->place == BF_PLACE_HOST,
		.plain_cq = p->plain_cq,
		.ack_timeout = (uint8_t)p->ack_timeout,
		.retry_count = (uint8_t)p->retries,
	};
	int rc = p->backend->open(&world, err, &a->world);

	if (!rc)
		rc = bf_ibgda_host_open(p->backend, a->world, p->pes, &host, err, &a->host);
	if (rc)
		return rc;
	a->heaps = calloc(p->pes, sizeof(*a->heaps));
	if (!a->heaps)
		return bf_fail(err, -ENOMEM, "no memory for %" PRIu32 " PEs", p->pes);
	for (uint32_t pe = 0; pe < p->pes; pe++)
		a->heaps[pe] = bf_ibgda_host_heap(a->host, pe).ptr;
	return 0;
}

static void close_world(struct bf_pes_arena *a)
{
	a->p->family->close(a);
	if (a->host)
		bf_ibgda_host_close(a->host);
	if (a->world)
		a->p->backend->close(a->world);
	free(a->heaps);
}

static int judge(const struct bf_pes_arena *a, struct bf_pes_result *out, struct bf_error *err)
{
	struct bf_run_result *r = &out->run;
	int rc;

	r->base.verdict = r->world.end == BF_END_DEADLOCK ? BF_VERDICT_DEADLOCK
			  : r->world.end == BF_END_LIMIT  ? BF_VERDICT_LIMIT
							  : BF_VERDICT_GOOD;
	bf_run_collect_queues(a->host, a->p->pes, a->p->qps, r);
	if (r->base.verdict == BF_VERDICT_DEADLOCK || r->base.verdict == BF_VERDICT_LIMIT)
		return 0;
	rc = a->p->family->verify(a, out);
	if (rc == -EBADMSG && r->base.verdict == BF_VERDICT_GOOD)
		r->base.verdict = BF_VERDICT_WRONG_DATA;
	if (rc == -EBADMSG)
		bf_run_record_mismatch(a->p->backend, a->world, a->host, r);
	return rc == -ENOMEM ? bf_fail(err, rc, "no memory for the check") : 0;
}

int bf_pes_run(const void *choices, struct bf_sink *sink, void *result, struct bf_error *err)
{
	const struct bf_pes *p = choices;
	struct bf_pes_result *out = result;
	struct bf_pes_arena a = { .p = p };
	uint64_t start;
	int rc;

	memset(out, 0, sizeof(*out));
	rc = open_world(&a, sink, err);
	if (rc == 0)
		rc = p->family->launch(&a, err);
	if (rc == 0) {
		start = bf_monotonic_ns();
		rc = p->backend->run(a.world, &out->run.world);
		out->run.base.wall_ns = bf_monotonic_ns() - start;
		if (rc && err && !err->code)
			bf_fail(err, rc, "the run failed: %s", strerror(-rc));
	}
	if (rc == 0)
		rc = judge(&a, out, err);
	if (rc == 0 && p->counts && p->backend->sim(a.world)) {
		out->run.base.counts = bf_counts_take(p->backend->sim(a.world));
		if (!out->run.base.counts)
			rc = bf_fail(err, -ENOMEM, "no memory for statistics");
	}
	close_world(&a);
	return rc;
}

/* ---- what came of it ---- */

void bf_pes_print(const void *choices, const void *outcome, bool stats)
{
	const struct bf_pes *p = choices;
	const struct bf_pes_result *result = outcome;
	const struct bf_run_result *r = &result->run;

	(void)stats;
	bf_cli_put_verdict(stdout, bf_verdict_name(r->base.verdict), r->base.verdict == BF_VERDICT_GOOD);
	if (r->base.verdict == BF_VERDICT_GOOD)
		printf(": %" PRIu64 " messages, %" PRIu64 " bytes, all correct", r->messages, r->verified_bytes);
	printf("\n%s %" PRIu64 ".%03" PRIu64 " us, %" PRIu64 " events\n",
	       p->backend->platform == BF_PLATFORM_SIM ? "simulated time            " : "elapsed time              ",
	       (uint64_t)(r->world.time_ps / BF_US), (uint64_t)(r->world.time_ps % BF_US / BF_NS), r->world.events);
	if (p->records)
		printf("records                    %" PRIu64 ", hash %016" PRIx64 "\n", r->world.records,
		       r->world.hash);
	printf("wall clock                 %" PRIu64 ".%03" PRIu64 " ms\n", r->base.wall_ns / 1000000,
	       r->base.wall_ns / 1000 % 1000);
	if (r->base.verdict == BF_VERDICT_GOOD)
		p->family->print(stdout, p, result);
}

void bf_pes_json(struct bf_json *j, const void *choices, const void *outcome)
{
	const struct bf_pes *p = choices;
	const struct bf_pes_result *result = outcome;
	const struct bf_run_result *r = &result->run;

	bf_json_u64(j, "messages", r->messages);
	bf_json_u64(j, "verified_bytes", r->verified_bytes);
	bf_json_u64(j, "verified_values", r->verified_values);
	bf_json_u64(j, "time_ps", r->world.time_ps);
	bf_json_u64(j, "events", r->world.events);
	bf_json_u64(j, "records", r->world.records);
	if (p->records)
		bf_json_hex(j, "hash", r->world.hash);
	if (r->base.verdict == BF_VERDICT_GOOD)
		p->family->json(j, p, result);
}

void bf_pes_json_options(struct bf_json *j, const void *choices)
{
	bf_json_text(j, "profile", ((const struct bf_pes *)choices)->profile_text);
}

void bf_pes_list(struct bf_json *j)
{
	if (!j)
		puts("Bugs of the queues, backends, orderings, profiles: belfry run --list");
}

/* From choices to a world with IBGDA, from a finished world to a result: for families with kernels of their own. */
#include "tools/workloads/pes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/clock.h"
#include "tools/workloads/profile.h"

/* ---- choices ---- */

static int parse_work(const struct bf_args *args, struct bf_pes *p)
{
	const struct bf_pes_work *works = p->family->works;
	const char *name = bf_arg_positional_count(args) ? bf_arg_positional(args, 0) : "";
	char known[512] = "";

	for (p->work = 0; works[p->work].name; p->work++) {
		if (strcmp(works[p->work].name, name) == 0)
			return BF_EXIT_GOOD;
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s", *known ? ", " : "",
			 works[p->work].name);
	}
	return bf_cli_error(args, BF_EXIT_USAGE, "workload \"%s\" is not known; there are %s", name, known);
}

static const struct bf_ibgda_bug *find_bug(const struct bf_ibgda_bug *b, const char *name)
{
	while (b->name && strcmp(b->name, name) != 0)
		b++;
	return b->name ? b : NULL;
}

static int parse_bugs(const struct bf_args *args, struct bf_pes *p)
{
	for (unsigned i = 0; i < bf_arg_count(args, "bug"); i++) {
		const char *name = bf_arg_nth(args, "bug", i);
		const struct bf_ibgda_bug *own = find_bug(p->family->bugs, name);

		if (!own && !bf_ibgda_set_wrong(name, &p->bugs, &p->suspects))
			return bf_cli_error(args, BF_EXIT_USAGE, "bug \"%s\" is not known; --list lists them", name);
		p->own_bugs |= own ? own->bit : 0;
	}
	return BF_EXIT_GOOD;
}

static int parse_texts(const struct bf_args *args, struct bf_pes *p)
{
	struct bf_error err = { 0 };

	p->profile_text = bf_arg_text(args, "profile");
	if (p->family->fill)
		p->family->fill(p);
	if (bf_profile_parse(p->profile_text, &p->profile, &err) != 0 ||
	    bf_choose_faults(args, p->seed, &p->faults, &err) != 0 ||
	    bf_choose_topology(args, p->pes, &p->topology, &err) != 0 || bf_pes_check(p, &err) != 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	return BF_EXIT_GOOD;
}

int bf_pes_parse(const struct bf_args *args, const struct bf_pes_family *family, struct bf_pes *p)
{
	int code;

	memset(p, 0, family->choice_bytes);
	p->family = family;
	p->ordering = BF_ORDER_GPU;
	bf_choices_parse(args, family->rows, family->nrows, p);
	code = parse_work(args, p);
	if (code == BF_EXIT_GOOD)
		code = parse_bugs(args, p);
	if (code == BF_EXIT_GOOD)
		code = parse_texts(args, p);
	if (code == BF_EXIT_GOOD)
		code = bf_choose_backend(args, BF_DEVICE_MLX5, &p->backend);
	if (code == BF_EXIT_GOOD && !p->backend->sim)
		code = bf_cli_error(args, BF_EXIT_USAGE,
				    "backend %s has no kernels for this workload; sim and live have", p->backend->name);
	if (code != BF_EXIT_GOOD)
		bf_pes_free(p);
	return code;
}

void bf_pes_free(struct bf_pes *p)
{
	free(p->faults);
	p->faults = NULL;
}

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

static void append_bugs(const struct bf_ibgda_bug *b, uint64_t bits, char *buf, size_t cap)
{
	for (; b->name; b++)
		if (bits & b->bit)
			bf_command_append(buf, cap, "bug", b->name, false);
}

void bf_pes_command(const void *choices, char *buf, size_t cap)
{
	const struct bf_pes *p = choices;

	snprintf(buf, cap, "belfry run %s", p->family->works[p->work].name);
	bf_choices_command(p->family->rows, p->family->nrows, p, buf, cap);
	if (p->ordering != BF_ORDER_GPU)
		bf_command_append(buf, cap, "ordering", bf_ordering_name(p->ordering), false);
	append_bugs(bf_ibgda_bugs, p->bugs, buf, cap);
	append_bugs(p->family->bugs, p->own_bugs, buf, cap);
	for (const struct bf_ibgda_suspect *s = bf_ibgda_suspects; s->name; s++)
		if (p->suspects & s->bit)
			bf_command_append(buf, cap, "bug", s->name, false);
	if (strcmp(p->backend->name, "sim") != 0)
		bf_command_append(buf, cap, "backend", p->backend->name, false);
	if (strcmp(p->profile_text, "cx7") != 0)
		bf_command_append(buf, cap, "profile", p->profile_text, false);
	if (p->topology)
		bf_command_append(buf, cap, "topology", p->topology, true);
	if (p->faults)
		bf_command_append(buf, cap, "faults", p->faults, true);
}

/* ---- a run ---- */

static int open_world(struct bf_pes_arena *a, struct bf_sink *sink, struct bf_error *err)
{
	const struct bf_pes *p = a->p;
	const struct bf_world_opts world = {
		.seed = p->seed,
		.ordering = p->ordering,
		.profile = &p->profile,
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

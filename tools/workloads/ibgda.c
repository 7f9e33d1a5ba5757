/*
 * Running an IBGDA workload: from the choices to a world, from a finished world to a result.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/bootstrap/bootstrap.h"
#include "drivers/ibgda/failover_host.h"
#include "drivers/ibgda/launch.h"
#include "sim/bits.h"
#include "sim/bytes.h"
#include "sim/clock.h"
#include "tools/report/top.h"
#include "tools/workloads/ibgda.h"
#include "traces/records/ibgda.h"

/* All heaps together: what a machine for tests can spare. */
#define HEAPS_MAX (8ull << 30)

static bool power_of_two(uint64_t v)
{
	return v != 0 && (v & (v - 1)) == 0;
}

static void fill_shape(const struct bf_workload *w, struct bf_ibgda_shape *s)
{
	*s = bf_ibgda_shape_default;
	s->blocks = w->blocks;
	s->warps = w->warps;
	s->per_lane = w->per_lane;
	s->lanes = w->lanes;
	s->route = (enum bf_ibgda_route)w->route;
	s->choice = (enum bf_ibgda_qp_choice)w->qp_choice;
	s->messages = w->messages;
	s->window = w->window;
	s->bytes = (uint32_t)w->size;
	s->stride = 0;
	s->quiet_every = w->quiet_every;
	s->pace_ns = (uint32_t)(w->pace_ps / BF_NS);
	s->seed = w->seed;
	s->fill = w->fill;
	s->blocking_get = w->blocking_get;
	s->imm = w->imm;
	s->pe_quiet = w->pe_quiet;
	s->amo = (enum bf_ibgda_amo_op)w->op;
	s->amo_bytes = w->op_bytes;
	s->amo_fetch = w->fetch;
	s->counters = w->counters;
}

/* Queue pairs from a PE to another one, on all devices. */
static uint32_t qps_of(const struct bf_workload *w)
{
	return w->qps * w->nics * w->ports;
}

/* The shape of `w` with everything that was left open chosen, and where its areas lie. */
static int checked_shape(const struct bf_workload *w, struct bf_ibgda_shape *s, struct bf_ibgda_layout *layout,
			 struct bf_error *err)
{
	/* With an address vector in front an atomic takes two blocks. */
	const uint32_t depth = w->transport == BF_TRANSPORT_DC ? w->depth / 2 : w->depth;
	int rc;

	fill_shape(w, s);
	rc = bf_ibgda_shape_check(s, w->work, w->pes, (enum bf_ibgda_flavour)w->flavour, qps_of(w), depth, err);
	if (rc == 0)
		bf_ibgda_layout(s, w->pes, layout);
	return rc;
}

/* Receives are posted at the start, one for each put, into rings that are as deep as the send rings. */
static int check_imm(const struct bf_workload *w, struct bf_error *err)
{
	const uint64_t issuers = (uint64_t)w->blocks * w->warps * (w->per_lane ? w->lanes ? w->lanes : 32 : 1);

	if (!w->imm)
		return 0;
	if (w->work != BF_IBGDA_PUT)
		return bf_fail(err, -EINVAL, "--imm: for ibgda-put alone");
	if (w->transport == BF_TRANSPORT_DC || w->layout + BF_IBGDA_L1 != BF_IBGDA_L3 || w->plain_cq || w->backup)
		return bf_fail(err, -EINVAL,
			       "--imm: receive queues are those of layout l3, of RCs without backups, and "
			       "complete into collapsed queues");
	if (w->messages * issuers > w->depth)
		return bf_fail(err, -EINVAL,
			       "--imm: %" PRIu64 " puts of a PE; receive rings hold %" PRIu32 " (--depth)",
			       w->messages * issuers, w->depth);
	if (w->size > w->granule)
		return bf_fail(err, -EINVAL, "--imm: a put of more than one granule is more than one entry");
	return 0;
}

int bf_workload_check(const void *choices, struct bf_error *err)
{
	const struct bf_workload *w = choices;
	struct bf_ibgda_shape shape;
	struct bf_ibgda_layout layout;
	int rc;

	if (!power_of_two(w->depth) || !power_of_two(w->batch) || !power_of_two(w->ibuf_slots) ||
	    !power_of_two(w->granule))
		return bf_fail(err, -EINVAL, "--%s must be a power of two",
			       !power_of_two(w->depth)        ? "depth"
			       : !power_of_two(w->batch)      ? "batch"
			       : !power_of_two(w->ibuf_slots) ? "ibuf-slots"
							      : "granule");
	if (w->batch > w->depth)
		return bf_fail(err, -EINVAL, "--batch %" PRIu32 " is more than the ring holds (--depth %" PRIu32 ")",
			       w->batch, w->depth);
	if (w->op_bytes != 4 && w->op_bytes != 8)
		return bf_fail(err, -EINVAL, "--op-bytes is 4 or 8, not %" PRIu32, w->op_bytes);
	if (w->backup && w->nics * w->ports < 2)
		return bf_fail(err, -EINVAL, "--backup needs a second way: --nics 2 or --ports 2");
	if (w->backup &&
	    (w->work == BF_IBGDA_MIXED || w->fetch || (w->op != BF_IBGDA_AMO_INC && w->op != BF_IBGDA_AMO_ADD)))
		return bf_fail(err, -EINVAL,
			       "--backup: of atomics in doubt only sums can be checked (ibgda-amo with "
			       "--op inc or add, without --fetch)");
	if (w->must_move && !w->backup)
		return bf_fail(err, -EINVAL, "--must-move needs --backup");
	if (w->full_av && w->transport != BF_TRANSPORT_DC)
		return bf_fail(err, -EINVAL, "--full-av needs --transport dc");
	if (w->proxy && w->backup)
		return bf_fail(err, -EINVAL, "--proxy: the thread that rings does not follow traffic to backups");
	if (w->transport == BF_TRANSPORT_DC && w->nics * w->ports > 1)
		return bf_fail(err, -EINVAL, "--transport dc: initiators are on one port (--nics 1 --ports 1)");
	if (w->transport == BF_TRANSPORT_DC && w->qps > 1)
		return bf_fail(err, -EINVAL, "--qps: with --transport dc there are no queue pairs to each peer");
	rc = check_imm(w, err);
	if (rc)
		return rc;
	if (w->pace_ps / BF_NS > UINT32_MAX)
		return bf_fail(err, -EINVAL, "--pace is at most 4 s");
	rc = checked_shape(w, &shape, &layout, err);
	if (rc)
		return rc;
	if (layout.end > HEAPS_MAX / w->pes)
		return bf_fail(err, -EINVAL,
			       "this needs heaps of %" PRIu64 " bytes on each of %" PRIu32
			       " PEs, more than 8 GiB in all; --window N reuses message slots",
			       layout.end, w->pes);
	return 0;
}

/* A world with its driver state, while it lasts. */
struct arena {
	const struct bf_workload *w;
	struct bf_world *world;
	struct bf_ibgda_host *host;
	struct bf_ibgda_failover *failover; /* NULL: no backups */
	struct bf_ibgda_shape shape;
	struct bf_ibgda_job *jobs; /* [pes] */
	void **heaps;              /* [pes]; of PEs of other processes our own, for the check */
};

/* A real GPU's threads on a real NIC may have one of them in the host's memory. */
static bool system_scope(const struct bf_workload *w)
{
	return w->place == BF_PLACE_HOST || (w->gpu && w->heap != BF_HEAP_GPU);
}

static int open_world(struct arena *a, struct bf_sink *sink, struct bf_error *err)
{
	const struct bf_workload *w = a->w;
	const struct bf_world_opts opts = {
		.seed = w->seed,
		.ordering = w->ordering,
		.chooser = w->chooser,
		.stacks = w->stacks,
		.device_opts[BF_DEVICE_AT_MLX5] = &w->profile,
		.faults = w->faults,
		.topology = w->topology,
		.npes = w->pes,
		.nics = w->nics,
		.ports = w->ports,
		.lanes = w->per_lane ? w->lanes : 0,
		.limit_ps = w->limit_ps,
		.record_mask = w->records,
		.sink = sink,
		.system_scope = system_scope(w),
		.cuda = w->gpu,
		.ptx = w->agent == BF_AGENT_PTX ? w->ptx_path : NULL,
		.ranks = w->ranks,
		.pe_hashes = w->hashes,
	};

	return w->backend->open(&opts, err, &a->world);
}

static int open_failover(struct arena *a, struct bf_error *err)
{
	const struct bf_workload *w = a->w;
	const struct bf_ibgda_failover_opts opts = { .lanes = w->per_lane ? w->lanes : 0 };

	return bf_ibgda_failover_open(w->backend, a->world, a->host, w->pes, &opts, err, &a->failover);
}

static int open_host(struct arena *a, struct bf_error *err)
{
	const struct bf_workload *w = a->w;
	struct bf_ibgda_layout layout;
	struct bf_ibgda_host_opts opts = {
		.flavour = (enum bf_ibgda_flavour)w->flavour,
		.layout = (enum bf_ibgda_layout_id)(BF_IBGDA_L1 + w->layout),
		.bugs = w->bugs | (w->imm ? BF_IBGDA_BUG_WRITE_IMM : 0),
		.suspects = w->suspects,
		.lacks = w->lacks,
		.cpu_proxy = w->proxy,
		.log2_granularity = bf_log2_up(w->granule),
		.granules_per_mr = w->granules_per_mr,
		.num_rc_per_pe = w->transport == BF_TRANSPORT_RC ? w->qps : 0,
		.no_rc = w->transport == BF_TRANSPORT_DC,
		.devices = w->nics * w->ports,
		.backup = w->backup,
		.qp_depth = w->depth,
		.batch = w->batch,
		.ibuf_slots = w->ibuf_slots,
		.system_scope = system_scope(w),
		.cuda_rings = w->gpu && w->place != BF_PLACE_HOST,
		.cuda_heap = w->heap == BF_HEAP_GPU,
		.plain_cq = w->plain_cq,
		.full_av = w->full_av,
		.ack_timeout = (uint8_t)w->ack_timeout,
		.retry_count = (uint8_t)w->retries,
		.ranks = w->ranks,
	};
	int rc = checked_shape(w, &a->shape, &layout, err);

	if (rc)
		return rc;
	opts.heap_bytes = layout.end;
	rc = bf_ibgda_host_open(w->backend, a->world, w->pes, &opts, err, &a->host);
	return rc || !w->backup ? rc : open_failover(a, err);
}

static int launch(struct arena *a, struct bf_error *err)
{
	const struct bf_workload *w = a->w;
	const struct bf_ibgda_kernels *kernels = bf_ibgda_kernels(w->backend->platform);
	const struct bf_ibgda_grid grid = { w->blocks, w->warps, w->per_lane ? w->lanes : 0 };

	if (!kernels)
		return bf_fail(err, -ENOTSUP, "this build has no kernels for backend %s", w->backend->name);
	a->jobs = calloc(w->pes, sizeof(*a->jobs));
	a->heaps = calloc(w->pes, sizeof(*a->heaps));
	if (!a->jobs || !a->heaps)
		return bf_fail(err, -ENOMEM, "out of memory");
	for (uint32_t pe = 0; pe < w->pes; pe++) {
		int rc;

		if (!bf_workload_has_pe(w, pe))
			continue;
		a->jobs[pe].state = bf_ibgda_host_state(a->host, pe);
		a->jobs[pe].shape = a->shape;
		a->heaps[pe] = bf_ibgda_host_heap(a->host, pe).ptr;
		if (a->failover)
			rc = bf_ibgda_failover_launch(a->failover, pe, w->blocks, w->warps, kernels->run[w->work],
						      &a->jobs[pe]);
		else
			rc = bf_ibgda_launch(w->backend, a->world, a->host, pe, &grid, kernels->run[w->work],
					     &a->jobs[pe]);
		if (rc)
			return bf_fail(err, rc, "PE %" PRIu32 ": the grid cannot be launched: %s", pe, strerror(-rc));
	}
	bf_ibgda_prepare(w->work, &a->shape, w->pes, a->heaps);
	return 0;
}

static void close_all(struct arena *a)
{
	bf_ibgda_failover_close(a->failover);
	if (a->host)
		bf_ibgda_host_close(a->host);
	if (a->world)
		a->w->backend->close(a->world);
	for (uint32_t pe = 0; a->heaps && pe < a->w->pes; pe++)
		if (!bf_workload_has_pe(a->w, pe))
			free(a->heaps[pe]);
	free(a->jobs);
	free(a->heaps);
}

/* The latest completion: entry 0 of a collapsed CQ; of a ring the entry not yet taken, or the last one that was. */
static const struct bf_mlx5_cqe *latest_cqe(const struct bf_ibgda_host *host, const struct bf_ibgda_qp *qp)
{
	const struct bf_mlx5_cqe *ring = bf_ibgda_host_look(host, qp->tx_wq.cq->cqe);
	const uint64_t head = qp->mvars.cq_head, n = qp->tx_wq.cq->ncqes;
	const struct bf_mlx5_cqe *next;

	if (!qp->tx_wq.cq->plain)
		return ring;
	next = &ring[head % n];
	if (BF_FIELD_GET(BF_MLX5_CQE_OPCODE, next->op_own) != BF_MLX5_CQE_INVALID &&
	    (next->op_own & BF_MLX5_CQE_OWNER) == head / n % 2)
		return next;
	return head ? &ring[(head - 1) % n] : ring;
}

static void standing(struct bf_queue_standing *q, const struct bf_ibgda_host *host, uint32_t pe, uint32_t index,
		     const struct bf_ibgda_qp *qp)
{
	const struct bf_mlx5_cqe *cqe = latest_cqe(host, qp);

	*q = (struct bf_queue_standing){
		.pe = pe,
		.peer = qp->peer,
		.index = index,
		.qpn = qp->qpn,
		.reserved = qp->mvars.resv_head,
		.ready = qp->mvars.ready_head,
		.doorbelled = qp->mvars.prod_idx,
		.completed = qp->mvars.cons_idx,
		.dbrec = (uint16_t)bf_get_be32(bf_ibgda_host_look(host, qp->tx_wq.dbrec)),
		.cqe_counter = bf_be16(cqe->wqe_counter),
		.cqe_opcode = (uint8_t)BF_FIELD_GET(BF_MLX5_CQE_OPCODE, cqe->op_own),
		.syndrome = qp->mvars.status,
	};
}

static void collect(const struct bf_ibgda_host *host, const struct bf_ibgda_qp *qp, uint32_t pe, uint32_t index,
		    struct bf_run_result *r)
{
	struct bf_queue_standing q;

	if (!qp || !qp->tx_wq.cq) /* set-up that was cut short, or is wrong, leaves some without */
		return;
	standing(&q, host, pe, index, qp);
	if (q.syndrome != 0 && r->base.verdict == BF_VERDICT_GOOD)
		r->base.verdict = BF_VERDICT_ERROR;
	if (q.syndrome == 0 && q.completed >= q.reserved)
		return;
	if (r->nqueues < BF_RUN_QUEUES)
		r->queues[r->nqueues++] = q;
	r->unfinished++;
}

void bf_run_record_mismatch(const struct bf_backend *be, struct bf_world *world, struct bf_ibgda_host *host,
			    struct bf_run_result *r)
{
	const struct bf_ibgda_mismatch *m = &r->mismatch;
	const struct bf_ibgda_state *state = bf_ibgda_host_state(host, m->pe);
	struct bf_sim *sim = be->sim ? be->sim(world) : NULL;

	if (!sim || !state || !bf_probe(sim, BF_CLASS_DRIVER))
		return;
	BF_EMIT_TAIL(sim, bf_stream_actor(&sim->rec, "host", "workload"), ibgda_mismatch, m->text,
		     (uint32_t)strlen(m->text), .va = state->heap_va + m->offset, .pe = m->pe);
	bf_stream_flush(&sim->rec);
	r->world.hash = bf_stream_hash(&sim->rec);
	r->world.records = sim->rec.count;
}

void bf_run_collect_queues(struct bf_ibgda_host *host, uint32_t pes, uint32_t qps, struct bf_run_result *r)
{
	const struct bf_ibgda_qp *dci;

	for (uint32_t pe = 0; pe < pes; pe++) {
		const struct bf_ibgda_state *state = bf_ibgda_host_state(host, pe);

		for (uint32_t peer = 0; peer < pes; peer++)
			for (uint32_t i = 0; i < qps; i++)
				collect(host, bf_ibgda_host_qp(host, pe, peer, i), pe, i, r);
		for (uint32_t i = 0; state && !state->num_rc_per_pe && (dci = bf_ibgda_host_dci(host, pe, i)); i++)
			collect(host, dci, pe, i, r);
	}
}

/* Payload bytes of one slot of a mixed run that the check compared: each kind of operation has an area of its own. */
static uint64_t mixed_slot_bytes(const struct bf_ibgda_shape *s, uint32_t pe, uint32_t issuer, uint32_t slot)
{
	uint32_t kinds = 0;

	for (uint32_t m = slot; m < s->messages; m += s->window)
		kinds |= 1u << bf_ibgda_mixed_pick(s->seed, pe, issuer, m);
	return (kinds & (1u << BF_IBGDA_MIXED_PUT | 1u << BF_IBGDA_MIXED_PUT_SIGNAL) ? s->bytes : 0) +
	       (kinds & 1u << BF_IBGDA_MIXED_GET ? s->bytes : 0) +
	       (kinds & 1u << BF_IBGDA_MIXED_P ? sizeof(uint32_t) : 0);
}

/* What the check has looked at when it found nothing wrong. */
static void count_verified(const struct arena *a, struct bf_run_result *r)
{
	const struct bf_ibgda_shape *s = &a->shape;
	const uint32_t pes = a->w->pes;
	struct bf_ibgda_layout layout;

	bf_ibgda_layout(s, pes, &layout);
	r->messages = (uint64_t)pes * layout.issuers * s->messages;
	r->verified_values = (uint64_t)pes * s->counters;
	switch (a->w->work) {
	case BF_IBGDA_AMO:
		r->verified_values += s->amo_fetch ? r->messages : 0;
		break;
	case BF_IBGDA_MIXED:
		r->verified_values += (uint64_t)pes * layout.issuers * (pes - 1); /* signals */
		for (uint32_t pe = 0; pe < pes; pe++)
			for (uint32_t i = 0; i < layout.issuers; i++)
				for (uint32_t k = 0; k < s->window; k++)
					r->verified_bytes += mixed_slot_bytes(s, pe, i, k);
		break;
	case BF_IBGDA_PUT:
	case BF_IBGDA_GET:
	case BF_IBGDA_WORKS:
	default:
		r->verified_values = 0;
		r->verified_bytes = (uint64_t)pes * layout.issuers * s->window * s->bytes;
		break;
	}
}

/* With backups atomics may be in doubt: sums must lie between what was done for sure and what was asked for. */
static int check_sums(struct arena *a, struct bf_run_result *r, struct bf_error *err)
{
	struct bf_ibgda_failover_totals totals;
	uint64_t wanted, sums[2] = { 0 }; /* what counters hold, what is in doubt */
	struct bf_ibgda_layout at;

	bf_ibgda_layout(&a->shape, a->w->pes, &at);
	bf_ibgda_failover_totals(a->failover, UINT32_MAX, &totals);
	wanted = (uint64_t)a->w->pes * at.issuers * a->shape.messages;
	sums[1] = totals.unknown;
	for (uint32_t pe = 0; pe < a->w->pes; pe++)
		for (uint32_t c = 0; bf_workload_has_pe(a->w, pe) && c < a->shape.counters; c++)
			sums[0] += a->shape.amo_bytes == 4
				       ? bf_get_le32((uint8_t *)a->heaps[pe] + at.counter + c * 8ull)
				       : bf_get_le64((uint8_t *)a->heaps[pe] + at.counter + c * 8ull);
	if (a->w->ranks) {
		const int rc = bf_workload_add_up(a->w, sums, BF_ARRAY_LEN(sums), err);

		if (rc)
			return rc;
	}
	if (sums[0] <= wanted && wanted - sums[0] <= sums[1])
		return 0;
	r->base.verdict = BF_VERDICT_WRONG_DATA;
	r->mismatch = (struct bf_ibgda_mismatch){ .count = 1, .offset = at.counter };
	snprintf(r->mismatch.text, sizeof(r->mismatch.text),
		 "counters add up to %" PRIu64 " after %" PRIu64 " atomics, of which %" PRIu64 " are in doubt", sums[0],
		 wanted, sums[1]);
	return 0;
}

/* --must-move: a cut that the traffic does not notice tests nothing. */
static int check_moved(struct arena *a, struct bf_run_result *r, struct bf_error *err)
{
	struct bf_ibgda_failover_totals totals;
	int rc = 0;

	bf_ibgda_failover_totals(a->failover, UINT32_MAX, &totals);
	if (a->w->ranks)
		rc = bf_workload_add_up(a->w, &totals.moved, 1, err);
	if (rc || totals.moved || r->base.verdict != BF_VERDICT_GOOD)
		return rc;
	r->base.verdict = BF_VERDICT_WRONG_DATA;
	r->mismatch.count = 1;
	snprintf(r->mismatch.text, sizeof(r->mismatch.text), "no traffic had to move to a backup (--must-move)");
	return 0;
}

/* Each process checks its own PEs. What atomics brought back to others counts for their counters, too. */
static int check_data(struct arena *a, struct bf_run_result *r, struct bf_error *err)
{
	const struct bf_workload *w = a->w;
	const bool atomics = w->work == BF_IBGDA_MIXED || w->work == BF_IBGDA_AMO;
	const uint32_t rank = w->ranks ? w->ranks->pe : 0, ranks = w->ranks ? w->ranks->npes : 1;
	const uint32_t first = bf_ranks_first(w->pes, ranks, rank);
	struct bf_ibgda_layout at;
	int rc = 0;

	if (a->failover && w->work == BF_IBGDA_AMO)
		return check_sums(a, r, err);
	bf_ibgda_layout(&a->shape, w->pes, &at);
	if (w->ranks)
		rc = bf_workload_fetch_remote(w, at.fetched, atomics ? at.done : at.fetched, a->heaps, err);
	if (rc)
		return rc;
	if (bf_ibgda_verify_some(w->work, &a->shape, w->pes, first, bf_ranks_first(w->pes, ranks, rank + 1) - first,
				 a->heaps, &r->mismatch) != 0 &&
	    r->base.verdict == BF_VERDICT_GOOD)
		r->base.verdict = BF_VERDICT_WRONG_DATA;
	if (r->base.verdict == BF_VERDICT_WRONG_DATA)
		bf_run_record_mismatch(w->backend, a->world, a->host, r);
	return 0;
}

/* How it ended is the same in all processes, so all take the same way through here. */
static int judge(struct arena *a, struct bf_run_result *r, struct bf_error *err)
{
	int rc = 0;

	r->base.verdict = r->world.end == BF_END_DEADLOCK ? BF_VERDICT_DEADLOCK
			  : r->world.end == BF_END_LIMIT  ? BF_VERDICT_LIMIT
							  : BF_VERDICT_GOOD;
	/* Queues that failed and were replaced have errors and look unfinished: no news in a run that came to its end.
	 */
	if (!a->failover || r->world.end != BF_END_DONE)
		bf_run_collect_queues(a->host, a->w->pes, qps_of(a->w), r);
	if (r->world.end == BF_END_DONE)
		rc = check_data(a, r, err);
	if (!rc && a->w->must_move && r->world.end == BF_END_DONE)
		rc = check_moved(a, r, err);
	if (!rc && a->w->ranks)
		rc = bf_workload_merge(a->w, r, err);
	if (!rc && r->base.verdict == BF_VERDICT_GOOD)
		count_verified(a, r);
	return rc;
}

/* What the caller asked for beside the verdict. */
static int take_extras(struct arena *a, struct bf_run_result *r, struct bf_error *err)
{
	const struct bf_workload *w = a->w;

	if (w->hashes && w->backend->pe_hashes) {
		r->pe_hashes = calloc(w->pes, sizeof(*r->pe_hashes));
		if (!r->pe_hashes)
			return bf_fail(err, -ENOMEM, "no memory for hashes");
		if (w->backend->pe_hashes(a->world, r->pe_hashes))
			return err->code;
	}
	if (w->counts && w->backend->sim(a->world)) {
		r->base.counts = bf_counts_take(w->backend->sim(a->world));
		if (!r->base.counts)
			return bf_fail(err, -ENOMEM, "no memory for statistics");
		if (w->ranks)
			return bf_counts_gather(r->base.counts, w->ranks, err);
	}
	return 0;
}

int bf_workload_run(const void *choices, struct bf_sink *sink, void *result, struct bf_error *err)
{
	const struct bf_workload *w = choices;
	struct bf_run_result *out = result;
	struct arena a = { .w = w };
	uint64_t start;
	int rc;

	*out = (struct bf_run_result){ 0 };
	if (w->cores > 1)
		return bf_workload_run_on_cores(w, out, err);
	rc = open_world(&a, sink, err);
	if (rc == 0)
		rc = open_host(&a, err);
	if (rc == 0)
		rc = launch(&a, err);
	if (rc == 0) {
		start = bf_monotonic_ns();
		rc = bf_top_run(w->backend, a.world, &out->world, w->top, bf_family_work(&bf_ibgda_family, w)->name);
		out->base.wall_ns = bf_monotonic_ns() - start;
		if (rc && err->code != rc)
			bf_fail(err, rc, "the run failed: %s", strerror(-rc));
	}
	if (rc == 0 && w->backend->describe)
		w->backend->describe(a.world, 0, out->device, sizeof(out->device));
	if (rc == 0)
		rc = judge(&a, out, err);
	if (rc == 0)
		rc = take_extras(&a, out, err);
	if (rc && w->ranks)
		w->ranks->abort(w->ranks);
	close_all(&a);
	return rc;
}

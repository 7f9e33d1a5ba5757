/* IBGDA, host side: the start of one PE's transport (ibgda.cpp nvshmemt_init): options, devices, heap, connections. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "drivers/ibgda/host_internal.h"

#define SRQ_DEPTH 16384 /* NVSHMEM's default */
#define PAGE_SHIFT 12u
#define DEPTH_MIN 16u /* NVSHMEM's is 128; shorter rings wrap sooner, which tests want */
#define DEPTH_MAX 32768u
#define H100_SMS 132u

static bool power_of_two(uint32_t v)
{
	return v && !(v & (v - 1));
}

static uint32_t or_else(uint32_t v, int32_t otherwise)
{
	return v ? v : (uint32_t)otherwise;
}

/* What the caller left open comes from the options by name, which have NVSHMEM's defaults. */
static int resolve(struct bf_ibgda_transport *t)
{
	struct bf_ibgda_host_opts *o = &t->opts;
	const struct bf_ibgda_env *e = t->env;

	if (o->env && !e->ib_enable_ibgda)
		return bf_fail(t->err, -ENOTSUP, "IBGDA is off: IB_ENABLE_IBGDA is not set");
	if (e->disable_ib_native_atomics)
		return bf_fail(t->err, -ENOTSUP, "DISABLE_IB_NATIVE_ATOMICS is set: IBGDA needs the NIC's atomics");
	if (e->ibgda_rc_map_by != BF_IBGDA_MAP_BY_CTA)
		return bf_fail(t->err, -ENOTSUP,
			       "IBGDA_RC_MAP_BY: only cta: callers choose among connections by handle");
	if (e->srq_depth != SRQ_DEPTH)
		return bf_fail(t->err, -ENOTSUP,
			       "SRQ_DEPTH: only %d: targets have no shared receive queue, since nothing "
			       "but RDMA arrives",
			       SRQ_DEPTH);
	o->layout = o->layout ? o->layout : BF_IBGDA_L3;
	o->log2_granularity = or_else(o->log2_granularity, 21);
	o->no_rc |= !o->num_rc_per_pe && !e->ibgda_num_rc_per_pe;
	o->num_rc_per_pe = or_else(o->num_rc_per_pe, e->ibgda_num_rc_per_pe);
	o->qp_depth = or_else(o->qp_depth, e->qp_depth);
	o->batch = or_else(o->batch, o->qp_depth >= 128 ? e->ibgda_num_requests_in_batch : (int32_t)o->qp_depth / 4);
	t->rc_slots = or_else(o->ibuf_slots, e->ibgda_num_fetch_slots_per_rc);
	t->dci_slots = or_else(o->ibuf_slots, e->ibgda_num_fetch_slots_per_dci);
	t->dc_wanted = !o->no_dc && (o->num_dct || o->num_dci || o->no_rc);
	o->num_dct = or_else(o->num_dct, e->ibgda_num_dct);
	o->num_dci = o->num_dci ? o->num_dci : e->ibgda_num_dci;
	o->num_shared_dci = or_else(o->num_shared_dci, e->ibgda_num_shared_dci);
	o->dci_map = o->dci_map ? o->dci_map : (enum bf_ibgda_dci_map)e->ibgda_dci_map_by;
	o->sms = or_else(o->sms, H100_SMS);
	o->qps_per_uar = or_else(o->qps_per_uar, 1);
	o->system_scope |= e->ibgda_force_nic_buf_memtype == BF_IBGDA_MEMTYPE_HOST;
	o->cpu_proxy |=
	    e->ibgda_nic_handler == BF_IBGDA_HANDLER_CPU || e->ibgda_nic_handler == BF_IBGDA_HANDLER_CPU_HOST_MEMORY;
	/* Nothing here asked for relaxed ordering unless the options by name are in use. */
	t->relaxed_ordering = o->env && e->ib_enable_relaxed_ordering;
	return 0;
}

static int check(struct bf_ibgda_transport *t)
{
	const struct bf_ibgda_host_opts *o = &t->opts;

	if (t->npes < 2 && o->no_dc)
		return bf_fail(t->err, -EINVAL, "%u PEs: without DC, queue pairs need at least two", t->npes);
	if (o->layout > BF_IBGDA_L3)
		return bf_fail(t->err, -EINVAL, "layout L%u: must be L1, L2 or L3", o->layout);
	if (o->log2_granularity < PAGE_SHIFT || o->log2_granularity > 40 || !o->heap_bytes ||
	    o->heap_bytes > 1ull << 38)
		return bf_fail(t->err, -EINVAL, "heap of %" PRIu64 " bytes in granules of 2^%u", o->heap_bytes,
			       o->log2_granularity);
	if (!power_of_two(o->qp_depth) || o->qp_depth < DEPTH_MIN || o->qp_depth > DEPTH_MAX)
		return bf_fail(t->err, -EINVAL, "queue depth %u: must be a power of two, %u to %u", o->qp_depth,
			       DEPTH_MIN, DEPTH_MAX);
	if (!power_of_two(o->batch) || o->batch > o->qp_depth / 2)
		return bf_fail(t->err, -EINVAL, "batch %u: must be a power of two up to half the queue depth",
			       o->batch);
	if (!power_of_two(t->rc_slots) || t->rc_slots < 32 || t->rc_slots > 65536 || !power_of_two(t->dci_slots) ||
	    t->dci_slots < 32 || t->dci_slots > 65536)
		return bf_fail(t->err, -EINVAL, "%u ibuf slots: must be a power of two, 32 to 65536",
			       o->ibuf_slots ? o->ibuf_slots : t->rc_slots);
	if (o->num_rc_per_pe > 64)
		return bf_fail(t->err, -EINVAL, "%u queue pairs to each PE: at most 64", o->num_rc_per_pe);
	if (o->num_dct > 1024 || o->num_dci > 65536)
		return bf_fail(t->err, -EINVAL, "%u DC targets (at most 1024), %d initiators (at most 65536)",
			       o->num_dct, o->num_dci);
	if (o->devices > BF_IBGDA_MAX_DEVICES)
		return bf_fail(t->err, -EINVAL, "%u devices for each PE: at most %u", o->devices, BF_IBGDA_MAX_DEVICES);
	if (o->ack_timeout > 31 || o->retry_count > 7)
		return bf_fail(t->err, -EINVAL, "ACK timeout %u (at most 31), retries %u (at most 7)", o->ack_timeout,
			       o->retry_count);
	return 0;
}

/* What must be the same everywhere, as handles and tables are cut by it. */
struct agreement {
	uint32_t devices, backups, layout, num_rc, num_dct, depth;
};

static int agree(struct bf_ibgda_transport *t)
{
	struct agreement mine = { .devices = t->ndevs,
				  .layout = t->opts.layout,
				  .num_rc = t->opts.no_rc ? 0 : t->opts.num_rc_per_pe,
				  .num_dct = t->opts.no_dc ? 0 : t->opts.num_dct,
				  .depth = t->opts.qp_depth };
	const struct agreement *all;
	const void *said;
	int rc;

	for (uint32_t i = 0; t->opts.backup && i < t->ndevs; i++)
		mine.backups |= (t->dev[i].backup_nic ? 1u : 0u) << i;
	rc = bf_ibgda_gather(t, &mine, sizeof(mine), &said);
	all = said;
	/* Who finds all the same as himself has found it for every PE here. */
	for (uint32_t pe = 0; !rc && !t->common->agreed && pe < t->npes; pe++)
		if (all[pe].devices != mine.devices || all[pe].backups != mine.backups ||
		    all[pe].layout != mine.layout || all[pe].num_rc != mine.num_rc || all[pe].num_dct != mine.num_dct ||
		    all[pe].depth != mine.depth)
			rc = bf_fail(t->err, -EINVAL,
				     "PE %u has %u devices, layout L%u, %u RCs, %u DCTs, depth "
				     "%u; PE %u has %u, L%u, %u, "
				     "%u, %u: must be the same",
				     t->pe, mine.devices, mine.layout, mine.num_rc, mine.num_dct, mine.depth, pe,
				     all[pe].devices, all[pe].layout, all[pe].num_rc, all[pe].num_dct, all[pe].depth);
	t->common->agreed |= !rc;
	return rc;
}

/* Whole granules of the heap for the start. */
static uint64_t first_bytes(const struct bf_ibgda_transport *t)
{
	const uint64_t granule = 1ull << t->opts.log2_granularity;
	const uint64_t want = (t->opts.heap_first_bytes + granule - 1) & ~(granule - 1);

	return want && want < t->heap.size ? want : t->heap.size;
}

int bf_ibgda_start(struct bf_ibgda_transport *t)
{
	int rc = resolve(t);

	if (!rc)
		rc = check(t);
	if (!rc)
		rc = bf_ibgda_open_devices(t);
	if (!rc)
		rc = agree(t);
	if (!rc)
		rc = bf_ibgda_open_state(t);
	if (!rc)
		rc = bf_ibgda_open_heap(t);
	if (!rc)
		rc = bf_ibgda_register_heap(t, first_bytes(t));
	return rc ? rc : bf_ibgda_connect_endpoints(t, 0, NULL);
}

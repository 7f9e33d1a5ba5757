/* The device: creation, destruction, and what reports may ask. */
#include "models/mlx5/device_internal.h"
#include "models/mlx5/prm_eth.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/grow.h"

#define UAR_PAGES 64u
#define FIRST_QPN 0x100u
#define FIRST_RESERVED_QPN 0x3f0000u
#define FIRST_DCTN 0x400000u
#define NUMBER_MAX 0xffffffu
#define XFER_BLOCK 32u

struct bf_mlx5_xfer_block {
	struct bf_mlx5_xfer_block *next;
	struct bf_mlx5_xfer xfers[XFER_BLOCK];
};

struct bf_mlx5_xfer *bf_mlx5_xfer_get(struct bf_mlx5 *dev)
{
	struct bf_mlx5_xfer *x = dev->xfers;
	struct bf_mlx5_xfer_block *block;

	if (BF_LIKELY(x != NULL)) {
		dev->xfers = x->next;
		return x;
	}
	block = bf_pool_take(dev->sim, sizeof(*block));
	if (!block)
		return NULL;
	block->next = dev->xfer_blocks;
	dev->xfer_blocks = block;
	for (uint32_t i = 1; i < XFER_BLOCK; i++)
		bf_mlx5_xfer_put(dev, &block->xfers[i]);
	return &block->xfers[0];
}

static bool reserve_uar(struct bf_mlx5 *dev, uint32_t index)
{
	return BF_GROW(dev->uars, dev->uar_end, (size_t)index + 1) == 0;
}

/* A device for thousands of peers has a page for each of its queue pairs: they appear when they are asked for. */
struct bf_mlx5_uar *bf_mlx5_uar_get(struct bf_mlx5 *dev, uint32_t index)
{
	struct bf_mlx5_uar *uar = index < dev->uar_end ? dev->uars[index] : NULL;
	char name[40];
	struct bf_region_opts opts = {
		.name = name,
		.kind = BF_MEM_MMIO,
		.size = BF_MLX5_UAR_BYTES,
		.mmio = &bf_mlx5_uar_ops,
		.link = &dev->link,
	};

	if (uar || index >= dev->uar_count || !reserve_uar(dev, index))
		return uar;
	uar = bf_pool_take(dev->sim, sizeof(*uar));
	if (!uar)
		return NULL;
	uar->dev = dev;
	uar->index = index;
	opts.owner = uar;
	snprintf(name, sizeof(name), "%s.uar%u", dev->name, index);
	if (bf_region_create(dev->space, &opts, &uar->region)) {
		bf_pool_give(dev->sim, uar, sizeof(*uar));
		return NULL;
	}
	return dev->uars[index] = uar;
}

/*
 * Queue pairs and, in blocks, what is reserved of their numbers: as much as DC targets have, just below those. A range
 * that is too small for a block has none.
 */
static void init_qpns(struct bf_mlx5 *dev, uint32_t first, uint32_t end, uint32_t reserved)
{
	const uint32_t above = end >> BF_MLX5_LOG_RESERVED_QPNS, blocks = reserved >> BF_MLX5_LOG_RESERVED_QPNS;

	if (blocks) {
		bf_mlx5_table_init(&dev->reserved, dev->sim, above - blocks, above - 1, blocks);
		end = (above - blocks) << BF_MLX5_LOG_RESERVED_QPNS;
	}
	bf_mlx5_table_init(&dev->qps, dev->sim, first, end - 1, 1u << dev->profile.log_max_qp);
}

/*
 * First numbers are arbitrary; small ones are kept free as hardware reserves them (QP 0 and 1 are special). DC targets
 * are far from queue pairs, so that a number says what it is of; in a range that was asked for they have its last
 * eighth.
 */
static void init_tables(struct bf_mlx5 *dev, const struct bf_mlx5_opts *opts)
{
	const struct bf_mlx5_profile *p = &dev->profile;
	const uint32_t first = opts->first_qpn ? opts->first_qpn : FIRST_QPN;
	const uint32_t last = opts->qpns ? first + (opts->qpns - 1) : NUMBER_MAX;
	const uint32_t dcts = opts->qpns ? opts->qpns / 8 : 0;

	if (opts->qpns)
		init_qpns(dev, first, last - dcts + 1, dcts);
	else
		init_qpns(dev, first, FIRST_DCTN, FIRST_DCTN - FIRST_RESERVED_QPN);
	if (dcts)
		bf_mlx5_table_init(&dev->dcts, dev->sim, last - dcts + 1, last, dcts);
	else
		bf_mlx5_table_init(&dev->dcts, dev->sim, FIRST_DCTN, NUMBER_MAX, 1u << 16);
	bf_mlx5_table_init(&dev->eqs, dev->sim, 1, BF_MLX5_MAX_EQ, BF_MLX5_MAX_EQ);
	bf_mlx5_table_init(&dev->srqs, dev->sim, 1, NUMBER_MAX, 1u << BF_MLX5_LOG_MAX_SRQ);
	bf_mlx5_table_init(&dev->cqs, dev->sim, 0x40, NUMBER_MAX, 1u << p->log_max_cq);
	bf_mlx5_table_init(&dev->mkeys, dev->sim, 0x10, NUMBER_MAX, 1u << p->log_max_mkey);
	bf_mlx5_table_init(&dev->pds, dev->sim, 1, NUMBER_MAX, 1u << 16);
	bf_mlx5_table_init(&dev->xrcds, dev->sim, 1, NUMBER_MAX, 1u << BF_MLX5_LOG_MAX_XRCD);
	bf_mlx5_table_init(&dev->umems, dev->sim, 1, NUMBER_MAX, 1u << 20);
	bf_mlx5_table_init(&dev->eth.domains, dev->sim, 1, NUMBER_MAX, 1u << BF_MLX5_LOG_MAX_ETH);
	bf_mlx5_table_init(&dev->eth.tises, dev->sim, 1, NUMBER_MAX, 1u << BF_MLX5_LOG_MAX_ETH);
	bf_mlx5_table_init(&dev->eth.rqts, dev->sim, 1, NUMBER_MAX, 1u << BF_MLX5_LOG_MAX_ETH);
	bf_mlx5_table_init(&dev->eth.tirs, dev->sim, 1, NUMBER_MAX, 1u << BF_MLX5_LOG_MAX_ETH);
	bf_mlx5_table_init(&dev->eth.tables, dev->sim, 1, NUMBER_MAX, 1u << BF_MLX5_LOG_MAX_TABLES);
	bf_mlx5_table_init(&dev->eth.counters, dev->sim, 1, NUMBER_MAX, 1u << BF_FT_LOG_MAX);
}

/* For congestion control: reliable connections know who is at the other end, DC targets do not. */
static uint32_t peer_of(void *owner, uint32_t qpn)
{
	const struct bf_mlx5_port *p = owner;
	const struct bf_mlx5_qp *qp = bf_mlx5_table_get(&p->dev->qps, qpn);

	return qp ? qp->rdma.remote_qpn : 0;
}

static void link_changed(void *owner, bool up)
{
	bf_mlx5_event_port(owner, up);
}

static int attach_port(struct bf_mlx5 *dev, const struct bf_mlx5_opts *from, uint32_t i)
{
	struct bf_mlx5_port *p = &dev->ports[i];
	char name[40];
	struct bf_port_opts opts = {
		.name = name,
		.ipv4 = from->ipv4[i],
		.host = from->host,
		.rail = from->rail + i,
		.latency_ps = dev->profile.port_latency_ps,
		.ps_per_kib = dev->profile.port_ps_per_kib,
		.rx = bf_mlx5_rx,
		.link = link_changed,
		.expect = bf_mlx5_expect,
		.peer = peer_of,
		.owner = p,
	};
	struct bf_port_info info;
	int status;

	snprintf(name, sizeof(name), "%s.p%u", dev->name, i + 1);
	p->dev = dev;
	p->ipv4 = from->ipv4[i];
	status = bf_fabric_attach(dev->fabric, &opts, &p->port);
	if (status)
		return status;
	bf_port_info(p->port, &info);
	memcpy(p->mac, info.mac, sizeof(p->mac));
	return 0;
}

static int attach(struct bf_mlx5 *dev, const struct bf_mlx5_opts *opts)
{
	const struct bf_mlx5_profile *p = &dev->profile;
	char name[40];
	int status;

	snprintf(name, sizeof(name), "%s.pcie", dev->name);
	status = bf_link_init(&dev->link, dev->sim, name, &p->pcie);
	if (status)
		return status;
	snprintf(name, sizeof(name), "%s.dma", dev->name);
	status = bf_dma_port_init(&dev->dma, dev->sim, name, &dev->link, opts->ioas);
	if (status)
		return status;
	for (uint32_t i = 0; i < dev->port_count && !status; i++)
		status = attach_port(dev, opts, i);
	if (!status)
		status = bf_mlx5_memic_open(dev, opts);
	dev->space = opts->space;
	dev->uar_count = opts->uar_pages ? opts->uar_pages : UAR_PAGES;
	return status;
}

static void init_transport(struct bf_mlx5 *dev)
{
	const struct bf_mlx5_profile *p = &dev->profile;
	const struct bf_rdma_profile profile = {
		.packet_tx_ps = p->packet_tx_ps,
		.packet_rx_ps = p->packet_rx_ps,
		.answer_ps = p->answer_ps,
		.gather_window = p->gather_window,
		.ack_delay_ps = p->ack_delay_ps,
		.ack_every = p->ack_every,
		.max_outstanding = p->max_outstanding,
		.icrc = p->icrc,
		.atomics_wait = p->traits.atomics_wait,
		.atomics_hold = p->atomics_hold,
		.waits_for_receive = p->traits.waits_for_receive,
	};

	bf_rdma_init(&dev->rdma, dev->sim, dev->fabric, &dev->dma, &bf_mlx5_transport, &profile, dev->actor);
}

static bool profile_is_sane(const struct bf_mlx5_profile *p)
{
	return p->fetch_wqebbs >= BF_MLX5_MAX_WQEBBS && p->bf_bytes >= BF_MLX5_WQEBB && p->bf_bytes <= BF_MLX5_BF_BUF &&
	       p->bf_bytes % BF_MLX5_WQEBB == 0 && p->max_outstanding && p->max_outstanding < BF_PSN_SPAN &&
	       p->log_max_qp <= 24 && p->log_max_cq <= 24 && p->log_max_mkey <= 24;
}

int bf_mlx5_create(struct bf_sim *sim, const struct bf_mlx5_opts *opts, struct bf_mlx5 **out)
{
	const struct bf_mlx5_profile *profile = opts->profile ? opts->profile : &bf_mlx5_cx7;
	struct bf_mlx5 *dev;
	int status;

	*out = NULL;
	if (!profile_is_sane(profile))
		return bf_fail(&sim->error, -EINVAL, "%s: profile '%s' has a limit out of range", opts->name,
			       profile->name);
	if (opts->ports > BF_MLX5_PORTS)
		return bf_fail(&sim->error, -EINVAL, "%s: %u ports; a device has at most %u", opts->name, opts->ports,
			       BF_MLX5_PORTS);
	if (opts->first_qpn > NUMBER_MAX ||
	    opts->qpns > NUMBER_MAX + 1 - (opts->first_qpn ? opts->first_qpn : FIRST_QPN))
		return bf_fail(&sim->error, -EINVAL, "%s: %u queue pairs from 0x%x on: numbers have 24 bits",
			       opts->name, opts->qpns, opts->first_qpn);
	dev = bf_pool_take(sim, sizeof(*dev));
	if (!dev)
		return bf_fail(&sim->error, -ENOMEM, "%s: no memory", opts->name);
	dev->sim = sim;
	dev->fabric = opts->fabric;
	dev->irq = opts->irq;
	dev->irq_owner = opts->irq_owner;
	dev->profile = *profile;
	dev->infiniband = opts->infiniband;
	dev->paging = opts->paging;
	dev->uar_free = opts->first_uar;
	dev->port_count = opts->ports ? opts->ports : 1;
	snprintf(dev->name, sizeof(dev->name), "%s", opts->name);
	dev->actor = bf_stream_actor(&sim->rec, "device", dev->name);
	init_transport(dev);
	init_tables(dev, opts);
	bf_fault_timer_start(sim, &dev->failure, BF_FAULT_QP_ERROR, bf_mlx5_failure_due);
	status = bf_mlx5_stats_open(dev);
	if (!status)
		status = attach(dev, opts);
	if (status) {
		bf_mlx5_destroy(dev);
		return status;
	}
	*out = dev;
	return 0;
}

static void free_objects(struct bf_mlx5 *dev)
{
	void *obj;

	for (uint32_t n = 0; (obj = bf_mlx5_table_next(&dev->qps, &n)); n++) {
		bf_mlx5_qp_reset(obj);
		bf_mlx5_qp_free(obj);
	}
	for (uint32_t n = 0; (obj = bf_mlx5_table_next(&dev->dcts, &n)); n++)
		bf_mlx5_dct_free(obj);
	for (uint32_t n = 0; (obj = bf_mlx5_table_next(&dev->cqs, &n)); n++)
		bf_mlx5_cq_free(obj);
	for (uint32_t n = 0; (obj = bf_mlx5_table_next(&dev->eqs, &n)); n++)
		bf_mlx5_eq_free(obj);
	for (uint32_t n = 0; (obj = bf_mlx5_table_next(&dev->mkeys, &n)); n++)
		bf_mlx5_mkey_free(dev, obj);
	for (uint32_t n = 0; (obj = bf_mlx5_table_next(&dev->pds, &n)); n++)
		free(obj);
	for (uint32_t n = 0; (obj = bf_mlx5_table_next(&dev->umems, &n)); n++)
		free(obj);
	while (dev->zombie_qps) {
		struct bf_mlx5_qp *qp = dev->zombie_qps;

		dev->zombie_qps = qp->next_zombie;
		bf_mlx5_qp_free(qp);
	}
	for (uint32_t n = 0; (obj = bf_mlx5_table_next(&dev->srqs, &n)); n++)
		free(obj);
	while (dev->zombie_srqs) {
		struct bf_mlx5_srq *srq = dev->zombie_srqs;

		dev->zombie_srqs = srq->next_zombie;
		free(srq);
	}
	while (dev->zombie_cqs) {
		struct bf_mlx5_cq *cq = dev->zombie_cqs;

		dev->zombie_cqs = cq->extra->next_zombie;
		bf_mlx5_cq_free(cq);
	}
}

static void free_uar(struct bf_mlx5 *dev, struct bf_mlx5_uar *uar)
{
	bf_region_destroy(uar->region);
	while (uar->bf) {
		struct bf_mlx5_bf *bf = uar->bf;

		uar->bf = bf->next;
		if (bf->tail)
			bf_pool_give(dev->sim, bf->tail, dev->profile.bf_bytes - sizeof(bf->bytes));
		bf_pool_give(dev->sim, bf->copy, sizeof(bf->bytes));
		bf_pool_give(dev->sim, bf, sizeof(*bf));
	}
	bf_pool_give(dev->sim, uar, sizeof(*uar));
}

void bf_mlx5_destroy(struct bf_mlx5 *dev)
{
	if (!dev)
		return;
	bf_mlx5_stats_close(dev);
	bf_sim_cancel(dev->sim, &dev->failure.event);
	for (uint32_t i = 0; i < dev->port_count; i++)
		if (dev->ports[i].port)
			bf_port_detach(dev->ports[i].port);
	if (dev->dma.rings)
		bf_dma_port_fini(&dev->dma);
	bf_mlx5_flow_tables_free(dev);
	bf_mlx5_tises_free(dev);
	bf_mlx5_tirs_free(dev);
	free_objects(dev);
	bf_mlx5_memic_close(dev);
	bf_mlx5_groups_forget(dev, NULL);
	bf_mlx5_sq_copies_fini(dev);
	bf_mlx5_table_fini(&dev->qps);
	bf_mlx5_table_fini(&dev->reserved);
	bf_mlx5_table_fini(&dev->dcts);
	bf_mlx5_table_fini(&dev->cqs);
	bf_mlx5_table_fini(&dev->eqs);
	bf_mlx5_table_fini(&dev->srqs);
	bf_mlx5_table_fini(&dev->mkeys);
	bf_mlx5_table_fini(&dev->pds);
	bf_mlx5_table_fini(&dev->xrcds);
	bf_mlx5_table_fini(&dev->umems);
	bf_mlx5_table_fini(&dev->eth.domains);
	bf_mlx5_table_fini(&dev->eth.tises);
	bf_mlx5_table_fini(&dev->eth.rqts);
	bf_mlx5_table_fini(&dev->eth.tirs);
	bf_mlx5_table_fini(&dev->eth.tables);
	bf_mlx5_table_fini(&dev->eth.counters);
	for (uint32_t i = 0; i < dev->uar_end; i++)
		if (dev->uars[i])
			free_uar(dev, dev->uars[i]);
	free(dev->uars);
	if (dev->link.mmio)
		bf_link_fini(&dev->link);
	bf_rdma_fini(&dev->rdma);
	while (dev->xfer_blocks) {
		struct bf_mlx5_xfer_block *block = dev->xfer_blocks;

		dev->xfer_blocks = block->next;
		bf_pool_give(dev->sim, block, sizeof(*block));
	}
	bf_pool_give(dev->sim, dev, sizeof(*dev));
}

struct bf_region *bf_mlx5_uar(struct bf_mlx5 *dev, uint32_t index)
{
	const struct bf_mlx5_uar *uar = bf_mlx5_uar_get(dev, index);

	return uar ? uar->region : NULL;
}

int bf_mlx5_next_number(struct bf_mlx5 *dev, enum bf_mlx5_object kind, uint32_t number)
{
	struct bf_mlx5_table *t = kind == BF_MLX5_OBJ_QP    ? &dev->qps
				  : kind == BF_MLX5_OBJ_CQ  ? &dev->cqs
				  : kind == BF_MLX5_OBJ_PD  ? &dev->pds
				  : kind == BF_MLX5_OBJ_DCT ? &dev->dcts
							    : &dev->mkeys;

	if (number > 0xffffff)
		return bf_fail(&dev->sim->error, -ERANGE, "%s: number 0x%x is wider than 24 bits", dev->name, number);
	if (bf_mlx5_table_get(t, number))
		return bf_fail(&dev->sim->error, -EEXIST, "%s: number 0x%x is taken", dev->name, number);
	t->forced = number;
	t->has_forced = true;
	return 0;
}

struct bf_port *bf_mlx5_port(struct bf_mlx5 *dev, uint32_t port)
{
	return port - 1 < dev->port_count ? dev->ports[port - 1].port : NULL;
}

struct bf_dma_port *bf_mlx5_dma(struct bf_mlx5 *dev)
{
	return &dev->dma;
}

static void fill_info(const struct bf_mlx5_qp *qp, struct bf_mlx5_qp_info *out)
{
	*out = (struct bf_mlx5_qp_info){
		.qpn = qp->rdma.qpn,
		.state = qp->rdma.state,
		.remote_qpn = qp->rdma.remote_qpn,
		.cqn_snd = qp->send_cq->cqn,
		.cqn_rcv = qp->recv_cq->cqn,
		.sq_producer = qp->producer,
		.sq_fetched = qp->fetched,
		.sq_started = qp->rdma.tx_index,
		.sq_completed = qp->rdma.head,
		.rq_producer = qp->rq_producer,
		.rq_consumed = qp->rq_consumed,
		.send_psn = qp->rdma.send_psn,
		.acked_psn = bf_psn_add(qp->rdma.una_psn, BF_PSN_MASK),
		.recv_psn = qp->rdma.expected_psn,
		.doorbells = qp->doorbells,
		.retries = qp->rdma.retries,
		.rnr_naks = qp->rdma.rnr_naks,
		.syndrome = qp->err.syndrome,
		.vendor_syndrome = qp->err.vendor,
	};
}

int bf_mlx5_qp_info(struct bf_mlx5 *dev, uint32_t qpn, struct bf_mlx5_qp_info *out)
{
	const struct bf_mlx5_qp *qp = bf_mlx5_table_get(&dev->qps, qpn);

	if (!qp)
		return bf_fail(&dev->sim->error, -ENOENT, "%s: no QP 0x%x", dev->name, qpn);
	fill_info(qp, out);
	return 0;
}

void bf_mlx5_each_qp(struct bf_mlx5 *dev, void (*fn)(void *arg, const struct bf_mlx5_qp_info *info), void *arg)
{
	struct bf_mlx5_qp_info info;
	const struct bf_mlx5_qp *qp;

	for (uint32_t n = 0; (qp = bf_mlx5_table_next(&dev->qps, &n)); n++) {
		fill_info(qp, &info);
		fn(arg, &info);
	}
}

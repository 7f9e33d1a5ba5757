/*
 * IBGDA, host side: DC targets and initiators. Targets are exchanged by one allgather and become a table of address
 * vectors; initiators need no peer. (ibgda.cpp ibgda_create_dct, ibgda_create_dct_shared_objects, ibgda_get_dct_handle,
 * ibgda_setup_gpu_state; the targets' CQ is never looked at, since nothing but RDMA arrives.)
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/ibgda/host_internal.h"

#define MTU_4096 5u
#define HOP_LIMIT 255u
#define MIN_RNR_NAK 12u
#define ATOMIC_MODE_8B 3u
#define AV_GRH 0x40000000u /* of grh_gid_fl (mlx5dv.h MLX5_WQE_AV..., libmlx5 \ set_datagram_seg) */

/* What a PE tells the others of each of its targets. */
struct bf_ibgda_dct_handle {
	uint32_t dctn;
	uint32_t compact; /* its port takes compact address vectors */
	struct bf_ibgda_address at;
};

static int create_cq(struct bf_ibgda_transport *t, struct bf_ibgda_device *d)
{
	struct bf_uar uar;
	int rc = bf_ibgda_create_block(t, d->nic, 1, 0, 1, BF_PLACE_HOST, &d->dct_block);

	if (rc)
		return rc;
	rc = t->be->map_uar(t->world, t->pe, d->nic->index, &uar);
	if (rc)
		return bf_fail(t->err, rc, "PE %u, %s: no doorbell page for DC targets", t->pe, d->nic->info.name);
	t->live[BF_IBGDA_KIND_UAR]++;
	d->dct_uar = uar.index;
	return bf_ibgda_create_cq(t, d->nic, d->dct_block, 0, 0, uar.index, &d->dct_cqn);
}

static int create_dct(struct bf_ibgda_transport *t, const struct bf_ibgda_device *d, uint32_t ordinal, uint32_t *dctn)
{
	uint8_t in[BF_CREATE_DCT_LEN] = { 0 };
	uint8_t *dctc = in + BF_DCT_DCTC;

	BF_MLX5_SET(dctc, BF_DCTC_USER_INDEX, ordinal);
	BF_MLX5_SET(dctc, BF_DCTC_CQN, d->dct_cqn);
	BF_MLX5_SET(dctc, BF_DCTC_ATOMIC_MODE, ATOMIC_MODE_8B);
	BF_MLX5_SET(dctc, BF_DCTC_RRE, 1);
	BF_MLX5_SET(dctc, BF_DCTC_RWE, 1);
	BF_MLX5_SET(dctc, BF_DCTC_RAE, 1);
	BF_MLX5_SET(dctc, BF_DCTC_MIN_RNR_NAK, MIN_RNR_NAK);
	BF_MLX5_SET(dctc, BF_DCTC_PD, d->nic->pd);
	bf_put_be64(dctc + BF_DCTC_ACCESS_KEY, BF_IBGDA_DC_KEY + !!(t->opts.bugs & BF_IBGDA_BUG_DC_KEY));
	BF_MLX5_SET(dctc, BF_DCTC_MTU, MTU_4096);
	BF_MLX5_SET(dctc, BF_DCTC_PORT, d->port + 1);
	BF_MLX5_SET(dctc, BF_DCTC_HOP_LIMIT, HOP_LIMIT);
	return bf_ibgda_create(t, d->nic, BF_MLX5_CMD_CREATE_DCT, "CREATE_DCT", in, sizeof(in), BF_IBGDA_KIND_DCT,
			       dctn);
}

/* The full form, which says so in bit 31 of the target's number. */
static void fill_av(struct bf_ibgda_dct *out, const struct bf_ibgda_dct_handle *h, bool swapped)
{
	struct bf_mlx5_av av = { .hop_limit = HOP_LIMIT };

	av.dc_key = bf_to_be64(BF_IBGDA_DC_KEY);
	av.dqp_dct = bf_to_be32(h->dctn | BF_MLX5_AV_EXT);
	if (swapped)
		av.dqp_dct = bf_to_be32(BF_MLX5_AV_EXT | __builtin_bswap32(h->dctn));
	av.grh_gid_fl = bf_to_be32(AV_GRH);
	memcpy(av.rmac, h->at.mac, sizeof(av.rmac));
	memcpy(av.rgid, h->at.gid, sizeof(av.rgid));
	memcpy(out, &av, sizeof(*out));
}

/* The compact form names the peer by its LID, for which the end of its GID stands on Ethernet (models/mlx5/prm.h). */
static void make_compact(struct bf_ibgda_dct *dct)
{
	struct bf_mlx5_av av;

	memcpy(&av, dct, sizeof(av));
	av.dqp_dct = bf_to_be32(bf_be32(av.dqp_dct) & ~BF_MLX5_AV_EXT);
	memcpy(&av.rlid, av.rgid + 14, sizeof(av.rlid));
	memcpy(dct, &av, sizeof(*dct));
}

/*
 * Entries p * num_dct + k * devices + device of the table are this device's. Whoever is back from the exchange first
 * fills them in for all PEs of this process.
 */
static int keep(struct bf_ibgda_transport *t, uint32_t dev, const struct bf_ibgda_dct_handle *all)
{
	struct bf_ibgda_common *c = t->common;
	const uint32_t n = t->opts.num_dct;

	if (c->dct_devs >> dev & 1)
		return 0;
	if (!c->dcts)
		c->dcts = calloc((size_t)t->num_dct * t->npes, sizeof(*c->dcts));
	if (!c->dcts)
		return bf_fail(t->err, -ENOMEM, "PE %u: no memory for %u DC targets", t->pe, t->num_dct * t->npes);
	for (uint32_t i = 0; i < n * t->npes; i++) {
		fill_av(&c->dcts[i / n * t->num_dct + i % n * t->ndevs + dev], &all[i],
			t->opts.bugs & BF_IBGDA_BUG_DCT_SWAPPED);
		c->full_av |= !all[i].compact;
	}
	c->dct_devs |= 1u << dev;
	return 0;
}

static int exchange(struct bf_ibgda_transport *t, uint32_t dev)
{
	const struct bf_ibgda_device *d = &t->dev[dev];
	const uint32_t n = t->opts.num_dct;
	struct bf_ibgda_dct_handle *mine = calloc(n, sizeof(*mine));
	const void *all;
	int rc;

	if (!mine)
		return bf_fail(t->err, -ENOMEM, "PE %u: no memory for %u handles", t->pe, n);
	for (uint32_t i = 0; i < n; i++)
		mine[i] = (struct bf_ibgda_dct_handle){ .dctn = d->dctns[i],
							.compact = d->nic->compact_av,
							.at = d->nic->port[d->port] };
	rc = bf_ibgda_gather(t, mine, n * sizeof(*mine), &all);
	free(mine);
	return rc ? rc : keep(t, dev, all);
}

int bf_ibgda_create_dcts(struct bf_ibgda_transport *t, uint32_t dev)
{
	struct bf_ibgda_device *d = &t->dev[dev];
	const uint32_t n = t->opts.num_dct;
	int rc;

	d->dctns = malloc(n * sizeof(*d->dctns));
	if (d->dctns)
		memset(d->dctns, 0xff, n * sizeof(*d->dctns));
	if (!d->dctns)
		return bf_fail(t->err, -ENOMEM, "PE %u: no memory for %u DC targets", t->pe, n);
	rc = create_cq(t, d);
	for (uint32_t i = 0; !rc && i < n; i++)
		rc = create_dct(t, d, i * t->ndevs + dev, &d->dctns[i]);
	return rc ? rc : exchange(t, dev);
}

int bf_ibgda_show_dcts(struct bf_ibgda_transport *t)
{
	struct bf_ibgda_common *c = t->common;
	const uint32_t count = t->num_dct * t->npes;
	const uint32_t constant = count < BF_IBGDA_CONST_DCTS ? count : BF_IBGDA_CONST_DCTS;
	const bool compact = !c->full_av && !t->opts.full_av;
	int rc = 0;

	for (uint32_t i = 0; compact && !c->dcts_ready && i < count; i++)
		make_compact(&c->dcts[i]);
	c->dcts_ready = true;
	memcpy(t->state->constmem.dcts, c->dcts, constant * sizeof(*c->dcts));
	if (count > constant)
		rc = bf_ibgda_alloc_table(t, c->dcts + constant, (count - constant) * sizeof(*c->dcts), "DCTs",
					  &c->dct_table, &t->dcts_mem);
	t->state->support_half_av_seg = compact;
	t->state->num_dct_per_pe = t->num_dct;
	t->state->globalmem.dcts = t->dcts_mem.ptr;
	return rc;
}

void bf_ibgda_destroy_dcts(struct bf_ibgda_transport *t)
{
	for (uint32_t k = 0; k < t->ndevs; k++) {
		struct bf_ibgda_device *d = &t->dev[k];
		uint8_t in[16] = { 0 };

		for (uint32_t i = 0; d->dctns && i < t->opts.num_dct; i++) {
			if (d->dctns[i] == BF_IBGDA_NONE)
				continue;
			BF_MLX5_SET(in, BF_CMD_IN_NUMBER, d->dctns[i]);
			bf_ibgda_cmd(t, d->nic, BF_MLX5_CMD_DRAIN_DCT, "DRAIN_DCT", in, sizeof(in), NULL);
			bf_ibgda_destroy(t, d->nic, BF_MLX5_CMD_DESTROY_DCT, "DESTROY_DCT", BF_IBGDA_KIND_DCT,
					 &d->dctns[i]);
		}
		free(d->dctns);
		d->dctns = NULL;
		bf_ibgda_destroy(t, d->nic, BF_MLX5_CMD_DESTROY_CQ, "DESTROY_CQ", BF_IBGDA_KIND_CQ, &d->dct_cqn);
		bf_ibgda_destroy(t, d->nic, BF_MLX5_CMD_DEALLOC_UAR, "DEALLOC_UAR", BF_IBGDA_KIND_UAR, &d->dct_uar);
		bf_ibgda_destroy_blocks(t, d->nic, &d->dct_block);
	}
	bf_ibgda_release(t, &t->dcts_mem);
}

/* ---- initiators ---- */

static int connect_dci(struct bf_ibgda_transport *t, struct bf_ibgda_batch *b, uint32_t i)
{
	int rc = bf_ibgda_create_ep(t, b, i, b->first + i * b->step);

	/* ibgda.cpp allocates an endpoint ahead of the one that create_qp() allocates, and loses it. */
	if (t->opts.suspects & BF_IBGDA_SUSPECT_DCI_EP_LEAK)
		t->live[BF_IBGDA_KIND_EP]++;
	if (!rc)
		rc = bf_ibgda_rst2init(t, b, &b->ep[i]);
	if (!rc)
		rc = bf_ibgda_init2rtr(t, b, &b->ep[i], NULL);
	if (!rc)
		rc = bf_ibgda_rtr2rts(t, b, &b->ep[i]);
	return rc;
}

/* Neighbours in the table are on different devices: a group of as many as there are devices serves one user. */
int bf_ibgda_new_dcis(struct bf_ibgda_transport *t, uint32_t dev)
{
	const uint32_t n = t->num_dci / t->ndevs;
	const struct bf_ibgda_batch like = { .nic = t->dev[dev].nic,
					     .port = t->dev[dev].port,
					     .dev_idx = dev,
					     .type = BF_IBGDA_DCI,
					     .first = dev,
					     .step = t->ndevs,
					     .n = n,
					     .eps = n,
					     .nslots = t->dci_slots };

	return bf_ibgda_create_batch(t, &like, &t->dcis, &t->dev[dev].new_dcis);
}

int bf_ibgda_connect_dcis(struct bf_ibgda_transport *t, uint32_t dev)
{
	struct bf_ibgda_batch *b = t->dev[dev].new_dcis;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < b->n; i++)
		rc = connect_dci(t, b, i);
	t->dev[dev].new_dcis = NULL;
	return rc;
}

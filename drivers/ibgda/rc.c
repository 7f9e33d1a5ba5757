/*
 * IBGDA, host side: reliable connections to every other PE, and the backups behind them.
 *
 * Order of creation, slots of handles and of endpoints are setup_rc_endpoints()'s of NVSHMEM's ibgda.cpp: all PEs
 * create their queue pairs in the same order and meet in one alltoall; only then does anybody know whom to connect to.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/ibgda/host_internal.h"

/* Creates the batch's queue pairs; `handles` are what peers must know, n of them for each. */
static int create_eps(struct bf_ibgda_transport *t, struct bf_ibgda_batch *b, struct bf_ibgda_rc_handle *handles)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < b->n; i++) {
		for (uint32_t j = 0; !rc && j < t->npes; j++) {
			/* Not all PEs begin with the same one. */
			const uint32_t dst = (uint32_t)(((uint64_t)i * t->npes + 1 + t->pe + j) % t->npes);
			const uint32_t at = i * t->npes + dst;

			if (dst == t->pe)
				continue;
			rc = bf_ibgda_create_ep(
			    t, b, at, bf_ibgda_rc_index(t->opts.layout, t->npes, t->default_rc, dst, b->first + i));
			handles[i + b->n * dst] =
			    (struct bf_ibgda_rc_handle){ .qpn = b->ep[at].qpn, .at = b->nic->port[b->port] };
		}
	}
	return rc;
}

static int connect_ep(struct bf_ibgda_transport *t, const struct bf_ibgda_batch *b, uint32_t i, uint32_t peer)
{
	const struct bf_ibgda_ep *ep = &b->ep[i * t->npes + peer];
	int rc = bf_ibgda_rst2init(t, b, ep);

	if (!rc)
		rc = bf_ibgda_init2rtr(t, b, ep, &b->peers[b->n * peer + i]);
	if (!rc && !(t->opts.bugs & BF_IBGDA_BUG_RTS_SKIPPED))
		rc = bf_ibgda_rtr2rts(t, b, ep);
	return rc;
}

static int create_and_connect(struct bf_ibgda_transport *t, struct bf_ibgda_batch *b)
{
	struct bf_ibgda_rc_handle *handles = calloc(b->eps, sizeof(*handles));
	int rc;

	b->peers = calloc(b->eps, sizeof(*b->peers));
	if (b->peers)
		t->host_bytes += b->eps * sizeof(*b->peers);
	if (!handles || !b->peers)
		rc = bf_fail(t->err, -ENOMEM, "PE %u: no memory for %u handles", t->pe, b->eps);
	else
		rc = create_eps(t, b, handles);
	if (!rc)
		rc = t->boot->alltoall(t->boot, handles, b->peers, sizeof(*handles) * b->n);
	free(handles);
	for (uint32_t i = 0; !rc && i < b->n; i++)
		for (uint32_t peer = 0; !rc && peer < t->npes; peer++)
			if (peer != t->pe)
				rc = connect_ep(t, b, i, peer);
	return rc;
}

/* Device `on` and its port carry them; a backup has the numbers of what it stands behind. */
static int new_batch(struct bf_ibgda_transport *t, struct bf_ibgda_nic *nic, uint32_t port, uint32_t dev_idx,
		     uint32_t n, bool backup, struct bf_ibgda_batch **out)
{
	const struct bf_ibgda_batch like = { .nic = nic,
					     .port = port,
					     .dev_idx = dev_idx,
					     .type = BF_IBGDA_RC,
					     .backup = backup,
					     .first = t->num_rc,
					     .step = 1,
					     .n = n,
					     .eps = n * t->npes,
					     .nslots = t->rc_slots };

	return bf_ibgda_create_batch(t, &like, backup ? &t->backups : &t->rcs, out);
}

int bf_ibgda_new_rcs(struct bf_ibgda_transport *t, uint32_t dev, uint32_t n)
{
	struct bf_ibgda_device *d = &t->dev[dev];
	int rc = new_batch(t, d->nic, d->port, dev, n, false, &d->new_rcs);

	if (!rc && t->opts.backup && d->backup_nic)
		rc = new_batch(t, d->backup_nic, d->backup_port, d->backup_dev, n, true, &d->new_backups);
	t->num_rc += n;
	return rc;
}

int bf_ibgda_connect_rcs(struct bf_ibgda_transport *t, uint32_t dev)
{
	struct bf_ibgda_device *d = &t->dev[dev];
	int rc = create_and_connect(t, d->new_rcs);

	if (!rc && d->new_backups)
		rc = create_and_connect(t, d->new_backups);
	d->new_rcs = d->new_backups = NULL;
	return rc;
}

void bf_ibgda_drop_rcs(struct bf_ibgda_transport *t, uint32_t first)
{
	struct bf_ibgda_batch **lists[] = { &t->rcs, &t->backups };

	for (size_t i = 0; i < BF_ARRAY_LEN(lists); i++) {
		struct bf_ibgda_batch **link = lists[i];

		while (*link && (*link)->first < first)
			link = &(*link)->next;
		bf_ibgda_destroy_batches(t, link);
	}
	for (uint32_t d = 0; d < t->ndevs; d++)
		t->dev[d].new_rcs = t->dev[d].new_backups = NULL;
	t->num_rc = first;
}

/* ---- once more ---- */

static struct bf_ibgda_batch *find_batch(const struct bf_ibgda_transport *t, const struct bf_ibgda_qp *qp, uint32_t i)
{
	struct bf_ibgda_batch *b = qp->is_backup ? t->backups : t->rcs;

	while (b && (i < b->first || i - b->first >= b->n))
		b = b->next;
	return b;
}

int bf_ibgda_reconnect(struct bf_ibgda_transport *t, const struct bf_ibgda_qp *qp)
{
	const uint32_t i = bf_ibgda_rc_number(t->opts.layout, t->npes, t->default_rc, qp->ordinal);
	const uint32_t peer = bf_ibgda_rc_pe(t->opts.layout, t->npes, t->default_rc, qp->ordinal);
	const struct bf_ibgda_batch *b = qp->qp_type == BF_IBGDA_RC ? find_batch(t, qp, i) : NULL;
	uint8_t in[BF_MODIFY_QP_LEN] = { 0 };
	const struct bf_ibgda_ep *ep;
	int rc;

	if (!b || peer == t->pe)
		return bf_fail(t->err, -EINVAL, "PE %u: QP 0x%x is not a connection of this transport", t->pe, qp->qpn);
	ep = &b->ep[(i - b->first) * t->npes + peer];
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, ep->qpn);
	rc = bf_ibgda_cmd(t, b->nic, BF_MLX5_CMD_2RST_QP, "2RST_QP", in, sizeof(in), NULL);
	if (rc)
		return rc;
	/* A ring of CQEs goes on where it is: its owner bits tell new from old. */
	for (uint32_t c = 0; !t->opts.plain_cq && c < ep->block->cqs; c++)
		memset(bf_ibgda_cq_at(t, ep->block, ep->slot, c), 0xff, bf_ibgda_cq_bytes(t));
	memset(bf_ibgda_dbr_at(ep->block, ep->slot), 0, BF_MLX5_DBR_BYTES);
	return connect_ep(t, b, i - b->first, peer);
}

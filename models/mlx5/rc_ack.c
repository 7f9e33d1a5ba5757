/* The requester's receive side: ACKs, NAKs, READ responses, atomic responses. */
#include "models/mlx5/device_internal.h"

/* NAK codes as the requester's CQE tells them (docs/hardware/mlx5.md#vendor-syndromes-6). */
static const struct bf_mlx5_err err_invalid = { BF_MLX5_SYND_REM_INV_REQ, 0x8a, 0x00 };
static const struct bf_mlx5_err err_access = { BF_MLX5_SYND_REM_ACCESS, 0x88, 0x00 };
static const struct bf_mlx5_err err_remote = { BF_MLX5_SYND_REM_OP, 0x89, 0x00 };
static const struct bf_mlx5_err err_response = { BF_MLX5_SYND_BAD_RESP, 0x00, 0x00 };
static const struct bf_mlx5_err err_scatter = { BF_MLX5_SYND_LOCAL_PROT, 0x51, 0x01 };

static void finish(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s)
{
	s->flags |= BF_SEND_DONE;
	if (s->flags & BF_SEND_RDATOMIC)
		qp->rdatomic--;
}

/*
 * Every PSN before `psn` is acknowledged. WRITEs and SENDs up to there are done; a READ or atomic among them whose
 * answer has not come was answered and the answer was lost (IBA vol. 1 section 9.7.5.1.1): it is asked for again.
 * Returns the oldest WQE that is not done, or NULL.
 */
static struct bf_mlx5_send *acked_before(struct bf_mlx5_qp *qp, uint32_t psn)
{
	uint32_t una = psn;
	struct bf_mlx5_send *s = NULL;

	while (qp->ack_index != qp->decoded) {
		s = bf_mlx5_send_at(qp, qp->ack_index);
		if (!(s->flags & BF_SEND_STARTED))
			break;
		if (s->npsn && !(s->flags & BF_SEND_DONE)) {
			if (s->flags & BF_SEND_RDATOMIC) {
				if (bf_psn_diff(psn, s->psn) > 0)
					una = bf_psn_add(s->psn, s->got);
				break;
			}
			if (bf_psn_diff(psn, bf_psn_add(s->psn, s->npsn)) < 0)
				break;
			finish(qp, s);
		}
		qp->ack_index = (uint16_t)(qp->ack_index + s->wqebbs);
		s = NULL;
	}
	if (bf_psn_diff(una, qp->una_psn) > 0) {
		qp->una_psn = una;
		if (bf_psn_diff(qp->tx_psn, una) < 0)
			bf_mlx5_tx_seek(qp, una);
		bf_mlx5_rto_progress(qp);
	}
	if (una != psn && !(qp->lost_valid && qp->lost_psn == una)) {
		qp->lost_valid = true;
		qp->lost_psn = una;
		bf_mlx5_go_back(qp, una, BF_MLX5_AGAIN_LOST);
	}
	return s;
}

static void fail_at(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s, struct bf_mlx5_err err, const char *why)
{
	if (s && (s->flags & BF_SEND_STARTED) && s->npsn)
		bf_mlx5_send_fail(qp, s, err, why);
}

static void rx_nak(struct bf_mlx5_qp *qp, const struct bf_roce *r)
{
	struct bf_mlx5_send *s = acked_before(qp, r->psn);

	switch (r->aeth_syndrome) {
	case BF_AETH_NAK_SEQ:
		if (bf_mlx5_use_retry(qp))
			bf_mlx5_go_back(qp, qp->una_psn, BF_MLX5_AGAIN_NAK);
		return;
	case BF_AETH_NAK_INV_REQ:
		fail_at(qp, s, err_invalid, "NAK: remote invalid request");
		return;
	case BF_AETH_NAK_ACCESS:
		fail_at(qp, s, err_access, "NAK: remote access error");
		return;
	case BF_AETH_NAK_OP:
		fail_at(qp, s, err_remote, "NAK: remote operational error");
		return;
	default:
		return; /* reserved codes */
	}
}

static void rx_ack(struct bf_mlx5_qp *qp, const struct bf_roce *r)
{
	uint8_t kind = r->aeth_syndrome & 0xe0;

	if (kind == 0) {
		qp->dev->count.acks_received++;
		acked_before(qp, bf_psn_add(r->psn, 1));
		return;
	}
	qp->dev->count.naks_received[bf_mlx5_nak_kind(r->aeth_syndrome)]++;
	if (kind == BF_AETH_RNR) {
		acked_before(qp, r->psn);
		bf_mlx5_rnr_nak(qp, qp->una_psn, r->aeth_syndrome & 0x1f);
	} else {
		rx_nak(qp, r);
	}
}

static bool goes_to_cqe(const struct bf_mlx5_qp *qp, const struct bf_mlx5_send *s)
{
	return s->length <= qp->cs_req && s->ce >= 2;
}

/* Scatters answer bytes to the WQE's buffers, or keeps them for its CQE. */
static int scatter(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s, uint32_t offset, const uint8_t *data, uint32_t len)
{
	struct bf_mlx5_walk w = { .qp = qp, .send = s, .skip = offset };
	struct bf_mlx5_piece p;
	int status = 0;

	if (BF_UNLIKELY(len && goes_to_cqe(qp, s))) {
		memcpy(qp->sq_bytes + ((size_t)(s->index & qp->sq_mask) << BF_MLX5_WQEBB_SHIFT), data, len);
		s->flags |= BF_SEND_IN_CQE;
		return 0;
	}
	while (len && !status && bf_mlx5_walk_next(&w, len, &p)) {
		/* The piece is where its bytes go; the key says only how. */
		const struct bf_mlx5_mkey *k = bf_mlx5_table_get(&qp->dev->mkeys, p.lkey >> 8);

		status = bf_dma_write(&qp->dev->dma, p.va, data, p.len, k && k->relaxed ? BF_DMA_RELAXED : 0);
		data += p.len;
		len -= p.len;
	}
	return status;
}

/* The local keys are still good, although keys may have gone since the request left. */
static bool keys_hold(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s)
{
	enum bf_mlx5_key_fault f;

	if (BF_LIKELY(s->keys == qp->dev->key_changes))
		return true;
	s->keys = qp->dev->key_changes;
	f = bf_mlx5_check_sges(qp, s, BF_MLX5_ACCESS_LOCAL_WRITE);
	if (f)
		bf_mlx5_send_fail(qp, s, bf_mlx5_local_fault(f), "local key");
	return !f;
}

/* The READ or atomic that waits for the answer with this PSN; answers come in order, so it is the oldest WQE. */
static struct bf_mlx5_send *asked(struct bf_mlx5_qp *qp, struct bf_packet *pkt, const struct bf_roce *r, bool atomic)
{
	struct bf_mlx5_send *s = acked_before(qp, r->psn);
	uint32_t expected = s ? bf_psn_add(s->psn, s->got) : qp->una_psn;

	if (!s || !(s->flags & BF_SEND_STARTED) || !(s->flags & BF_SEND_RDATOMIC) || r->psn != expected) {
		bf_mlx5_rx_drop(qp->dev, qp->actor, pkt, expected, BF_MLX5_DROP_STALE);
		return NULL;
	}
	if (atomic != (s->atomic_size != 0)) {
		bf_mlx5_send_fail(qp, s, err_response, "answer of another kind");
		return NULL;
	}
	return keys_hold(qp, s) ? s : NULL;
}

static void answered(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s)
{
	s->got++;
	qp->una_psn = bf_psn_add(qp->una_psn, 1);
	if (qp->read_psns)
		qp->read_psns--;
	if (bf_psn_diff(qp->tx_psn, qp->una_psn) < 0)
		bf_mlx5_tx_seek(qp, qp->una_psn);
	bf_mlx5_rto_progress(qp);
	if (s->got == s->npsn) {
		finish(qp, s);
		qp->ack_index = (uint16_t)(qp->ack_index + s->wqebbs);
	}
}

static void rx_read_response(struct bf_mlx5_qp *qp, struct bf_packet *pkt, const struct bf_roce *r)
{
	struct bf_mlx5_send *s = asked(qp, pkt, r, false);
	uint32_t mtu = 1u << qp->mtu_shift, offset, want;
	bool last;

	if (!s)
		return;
	offset = s->got << qp->mtu_shift;
	want = s->length - offset;
	last = s->got == s->npsn - 1;
	if (want > mtu)
		want = mtu;
	if (r->payload_len != want ||
	    last != (r->opcode == BF_RC_READ_RESP_LAST || r->opcode == BF_RC_READ_RESP_ONLY)) {
		bf_mlx5_send_fail(qp, s, err_response, "READ response of wrong length");
		return;
	}
	if (scatter(qp, s, offset, pkt->data + r->payload_offset, want)) {
		bf_mlx5_send_fail(qp, s, err_scatter, "local buffer cannot be written");
		return;
	}
	answered(qp, s);
}

/*
 * The old value goes back as the device is set up: 4-byte results big-endian, 8-byte ones in host order when the
 * profile says so (docs/hardware/mlx5.md#atomics-5), unless they go into the CQE, where all are big-endian (UCX
 * src/uct/ib/rc/accel/rc_mlx5_iface.c chooses its handlers by that).
 */
static void rx_atomic_response(struct bf_mlx5_qp *qp, struct bf_packet *pkt, const struct bf_roce *r)
{
	struct bf_mlx5_send *s = asked(qp, pkt, r, true);
	uint8_t value[8];

	if (!s)
		return;
	if (s->atomic_size == 4)
		bf_put_be32(value, (uint32_t)r->atomic_orig);
	else if (qp->dev->profile.host_endian_atomics && !goes_to_cqe(qp, s))
		bf_put_le64(value, r->atomic_orig);
	else
		bf_put_be64(value, r->atomic_orig);
	if (scatter(qp, s, 0, value, s->atomic_size)) {
		bf_mlx5_send_fail(qp, s, err_scatter, "local buffer cannot be written");
		return;
	}
	answered(qp, s);
}

void bf_mlx5_rx_response(struct bf_mlx5_qp *qp, struct bf_packet *pkt)
{
	const struct bf_roce *r = &qp->dev->rx;

	if (qp->state != BF_MLX5_QPS_RTS && qp->state != BF_MLX5_QPS_SQD) {
		bf_mlx5_rx_drop(qp->dev, qp->actor, pkt, qp->una_psn, BF_MLX5_DROP_STATE);
		return;
	}
	if (bf_psn_diff(r->psn, qp->una_psn) < 0 || bf_psn_diff(r->psn, qp->send_psn) >= 0) {
		bf_mlx5_rx_drop(qp->dev, qp->actor, pkt, qp->una_psn, BF_MLX5_DROP_STALE);
		return;
	}
	if (r->opcode == BF_RC_ACK)
		rx_ack(qp, r);
	else if (r->opcode == BF_RC_ATOMIC_ACK)
		rx_atomic_response(qp, pkt, r);
	else
		rx_read_response(qp, pkt, r);
	bf_mlx5_sq_run(qp);
}

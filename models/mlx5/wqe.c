/* Decoders: bytes in, fields out, malformed input named. */
#include "models/mlx5/wqe.h"

#include <errno.h>

enum transport { RC, DC, UD, XRC, ETH };

/* What each opcode's segments are, in order: ctrl, [AV], [raddr], [atomic], data or inline
 * (docs/hardware/mlx5.md#send-entry-11). */
#define HAS_RADDR 1u
#define HAS_ATOMIC 2u
#define HAS_DATA 4u
#define MAY_INLINE 8u
#define NO_CHECK 16u /* what follows the control segment is not read */
#define KNOWN 32u
#define LOCAL 64u /* nothing goes to the wire: no address vector on any transport */
#define HAS_UMR 128u
#define HAS_WAIT 256u

static uint32_t shape(uint8_t opcode)
{
	switch (opcode) {
	case BF_MLX5_OP_NOP:
		return KNOWN | NO_CHECK | LOCAL;
	case BF_MLX5_OP_WAIT:
		return KNOWN | HAS_WAIT | LOCAL;
	case BF_MLX5_OP_UMR:
		return KNOWN | HAS_UMR | LOCAL;
	case BF_MLX5_OP_DUMP:
		return KNOWN | HAS_DATA | LOCAL;
	case BF_MLX5_OP_SEND:
	case BF_MLX5_OP_SEND_IMM:
	case BF_MLX5_OP_SEND_INVAL:
		return KNOWN | HAS_DATA | MAY_INLINE;
	case BF_MLX5_OP_RDMA_WRITE:
	case BF_MLX5_OP_RDMA_WRITE_IMM:
		return KNOWN | HAS_RADDR | HAS_DATA | MAY_INLINE;
	case BF_MLX5_OP_RDMA_READ:
		return KNOWN | HAS_RADDR | HAS_DATA;
	case BF_MLX5_OP_ATOMIC_CS:
	case BF_MLX5_OP_ATOMIC_FA:
	case BF_MLX5_OP_ATOMIC_MASKED_CS:
	case BF_MLX5_OP_ATOMIC_MASKED_FA:
		return KNOWN | HAS_RADDR | HAS_ATOMIC | HAS_DATA;
	default:
		return 0;
	}
}

/* A cursor over the WQE's segments; `end` is where DS says it ends. */
struct cursor {
	const uint8_t *bytes;
	uint32_t at, end;
	struct bf_error *err;
};

static const void *segment(struct cursor *c, uint32_t len, const char *what)
{
	const uint8_t *p = c->bytes + c->at;

	if (c->end - c->at < len) {
		bf_fail(c->err, -EINVAL, "%s at byte %u: DS ends the WQE at byte %u", what, c->at, c->end);
		return NULL;
	}
	c->at += len;
	return p;
}

static int decode_av(struct cursor *c, struct bf_mlx5_wqe *w)
{
	const struct bf_mlx5_av *av = segment(c, BF_MLX5_AV_COMPACT, "address vector");

	if (!av)
		return -EINVAL;
	w->dc_key = bf_be64(av->dc_key);
	w->dct = (uint32_t)BF_FIELD_GET(BF_MLX5_AV_DCT, bf_be32(av->dqp_dct));
	w->udp_sport = bf_be16(av->rlid);
	w->av_len = BF_MLX5_AV_COMPACT;
	if (!(bf_be32(av->dqp_dct) & BF_MLX5_AV_EXT))
		return 0;
	if (!segment(c, BF_MLX5_AV_FULL - BF_MLX5_AV_COMPACT, "rest of the address vector"))
		return -EINVAL;
	memcpy(w->rmac, av->rmac, sizeof(w->rmac));
	memcpy(w->rgid, av->rgid, sizeof(w->rgid));
	w->tclass = av->tclass;
	w->hop_limit = av->hop_limit;
	w->av_len = BF_MLX5_AV_FULL;
	return 0;
}

/* Which shared receive queue the message is for. mlx5's own atomics have no opcodes in XRC. */
static int decode_xrc(struct cursor *c, struct bf_mlx5_wqe *w)
{
	const struct bf_mlx5_xrc *seg = segment(c, sizeof(*seg), "XRC segment");

	if (!seg)
		return -EINVAL;
	if (w->opcode == BF_MLX5_OP_ATOMIC_MASKED_CS || w->opcode == BF_MLX5_OP_ATOMIC_MASKED_FA)
		return bf_fail(c->err, -EINVAL, "control segment at byte 3: masked atomics over XRC: not modelled");
	w->xrc_srqn = bf_be32(seg->srqn) & 0xffffff;
	w->av_len = sizeof(*seg);
	return 0;
}

/* The frame's first bytes may lie here; what the device would have to put in or cut up is not modelled. */
static int decode_eth(struct cursor *c, struct bf_mlx5_wqe *w)
{
	const uint32_t at = c->at + (uint32_t)offsetof(struct bf_mlx5_eth, inline_start);
	const struct bf_mlx5_eth *seg = segment(c, sizeof(*seg), "Ethernet segment");
	uint32_t len;

	if (!seg)
		return -EINVAL;
	len = bf_be16(seg->inline_bytes);
	if (len & BF_MLX5_ETH_VLAN)
		return bf_fail(c->err, -EINVAL, "Ethernet segment at byte 16: a VLAN tag to insert: not modelled");
	if (len > sizeof(seg->inline_start) &&
	    !segment(c, (len - (uint32_t)sizeof(seg->inline_start) + 15) & ~15u, "inline headers"))
		return -EINVAL;
	w->checksums = seg->checksums;
	if (!len)
		return 0;
	w->has_inline = true;
	w->inline_len = len;
	w->inline_offset = at;
	return 0;
}

static int decode_raddr(struct cursor *c, struct bf_mlx5_wqe *w)
{
	const struct bf_mlx5_raddr *seg = segment(c, sizeof(*seg), "remote address segment");

	if (!seg)
		return -EINVAL;
	w->raddr = bf_be64(seg->va);
	w->rkey = bf_be32(seg->rkey);
	return 0;
}

static int decode_masked_fa(struct cursor *c, struct bf_mlx5_wqe *w)
{
	const uint8_t *seg = segment(c, 16, "masked fetch-and-add segment");

	if (!seg)
		return -EINVAL;
	w->swap_add = w->atomic_size == 4 ? bf_get_be32(seg) : bf_get_be64(seg);
	w->compare_mask = w->atomic_size == 4 ? bf_get_be32(seg + 4) : bf_get_be64(seg + 8);
	return 0;
}

static int decode_masked_cs(struct cursor *c, struct bf_mlx5_wqe *w)
{
	const uint8_t *seg = segment(c, w->atomic_size == 4 ? 16 : 32, "masked compare-and-swap segment");

	if (!seg)
		return -EINVAL;
	if (w->atomic_size == 4) {
		w->swap_add = bf_get_be32(seg);
		w->compare = bf_get_be32(seg + 4);
		w->swap_mask = bf_get_be32(seg + 8);
		w->compare_mask = bf_get_be32(seg + 12);
	} else {
		w->swap_add = bf_get_be64(seg);
		w->compare = bf_get_be64(seg + 8);
		w->swap_mask = bf_get_be64(seg + 16);
		w->compare_mask = bf_get_be64(seg + 24);
	}
	return 0;
}

static int decode_atomic(struct cursor *c, struct bf_mlx5_wqe *w)
{
	const struct bf_mlx5_atomic *seg;

	w->atomic_size = 8;
	if (w->opcode == BF_MLX5_OP_ATOMIC_MASKED_CS || w->opcode == BF_MLX5_OP_ATOMIC_MASKED_FA) {
		if (w->opmod == BF_MLX5_OPMOD_EXT_4B)
			w->atomic_size = 4;
		else if (w->opmod && w->opmod != BF_MLX5_OPMOD_EXT_8B)
			return bf_fail(c->err, -EINVAL, "control segment at byte 0: opmod 0x%02x is no atomic size",
				       w->opmod);
		return w->opcode == BF_MLX5_OP_ATOMIC_MASKED_FA ? decode_masked_fa(c, w) : decode_masked_cs(c, w);
	}
	seg = segment(c, sizeof(*seg), "atomic segment");
	if (!seg)
		return -EINVAL;
	w->swap_add = bf_be64(seg->swap_add);
	w->compare = bf_be64(seg->compare);
	return 0;
}

static int decode_inline(struct cursor *c, struct bf_mlx5_wqe *w)
{
	uint32_t len = bf_get_be32(c->bytes + c->at) & BF_MLX5_INLINE_LEN;

	if (len + 4 > c->end - c->at)
		return bf_fail(c->err, -EINVAL, "inline segment at byte %u: %u bytes do not fit before byte %u", c->at,
			       len, c->end);
	w->has_inline = true;
	w->inline_len = len;
	w->inline_offset = c->at + 4;
	c->at += (len + 4 + 15) & ~15u;
	return 0;
}

/* Data segments; before them there may be inline bytes (UCX sends its headers that way). */
static int decode_data(struct cursor *c, struct bf_mlx5_wqe *w, bool may_inline)
{
	uint64_t total = w->inline_len; /* what an Ethernet segment has */
	int status;

	while (c->at < c->end) {
		const struct bf_mlx5_data *seg = (const void *)(c->bytes + c->at);
		uint32_t count = bf_be32(seg->byte_count);

		if (count & BF_MLX5_INLINE_FLAG) {
			if (!may_inline || w->nsge || w->has_inline)
				return bf_fail(c->err, -EINVAL, "data segment at byte %u: inline data not allowed here",
					       c->at);
			status = decode_inline(c, w);
			if (status)
				return status;
			total = w->inline_len;
			continue;
		}
		w->sge[w->nsge++] = (struct bf_mlx5_sge){ .va = bf_be64(seg->va),
							  .lkey = bf_be32(seg->lkey),
							  .len = count ? count : 1u << 31 };
		total += w->sge[w->nsge - 1].len;
		c->at += BF_MLX5_DS;
	}
	if (total > UINT32_MAX)
		return bf_fail(c->err, -EINVAL, "data segments: %u of them hold more than 4 GiB", w->nsge);
	w->length = (uint32_t)total;
	return 0;
}

/*
 * A UMR WQE that libmlx5 builds has its list in the WQE; lists in memory (a data segment behind the context) are not
 * modelled, nor are signatures.
 */
static int decode_umr(struct cursor *c, struct bf_mlx5_wqe *w)
{
	const struct bf_mlx5_umr_ctrl *seg = segment(c, sizeof(*seg), "UMR control segment");

	if (!seg || !segment(c, BF_MLX5_UMR_LIST_AT - BF_MLX5_UMR_MKC_AT, "memory key context"))
		return -EINVAL;
	w->umr_flags = seg->flags;
	w->umr_octowords = bf_be16(seg->klm_octowords);
	w->umr_offset = bf_be16(seg->offset);
	w->umr_mask = bf_be64(seg->mkey_mask);
	if (!(w->umr_flags & BF_MLX5_UMR_INLINE) && w->umr_octowords)
		return bf_fail(c->err, -EINVAL, "UMR control segment at byte %u: list not in the WQE: not modelled",
			       BF_MLX5_UMR_CTRL_AT);
	if (!(w->umr_flags & BF_MLX5_UMR_OFFSET) && w->umr_offset)
		return bf_fail(c->err, -EINVAL, "UMR control segment at byte %u: signature: not modelled",
			       BF_MLX5_UMR_CTRL_AT);
	return w->umr_octowords && !segment(c, w->umr_octowords * BF_MLX5_DS, "list of the key") ? -EINVAL : 0;
}

static int decode_wait(struct cursor *c, struct bf_mlx5_wqe *w)
{
	const struct bf_mlx5_wait *seg = segment(c, sizeof(*seg), "wait segment");

	if (!seg)
		return -EINVAL;
	w->wait_index = bf_be32(seg->index);
	w->wait_cqn = bf_be32(seg->cqn) & 0xffffff;
	return 0;
}

/* Rules between segments. */
static int check_whole(struct cursor *c, const struct bf_mlx5_wqe *w)
{
	if (w->atomic_size && w->length != w->atomic_size)
		return bf_fail(c->err, -EINVAL, "atomic of %u bytes: its result buffer has %u", w->atomic_size,
			       w->length);
	if (w->opcode == BF_MLX5_OP_DUMP && !w->nsge)
		return bf_fail(c->err, -EINVAL, "DUMP at byte %u: no data segment", c->at);
	return 0;
}

static void decode_ctrl(const struct bf_mlx5_ctrl *ctrl, struct bf_mlx5_wqe *out)
{
	uint32_t first = bf_be32(ctrl->opmod_idx_opcode), second = bf_be32(ctrl->qpn_ds);

	out->opcode = (uint8_t)BF_FIELD_GET(BF_MLX5_CTRL_OPCODE, first);
	out->opmod = (uint8_t)BF_FIELD_GET(BF_MLX5_CTRL_OPMOD, first);
	out->index = (uint16_t)BF_FIELD_GET(BF_MLX5_CTRL_INDEX, first);
	out->qpn = (uint32_t)BF_FIELD_GET(BF_MLX5_CTRL_QPN, second);
	out->ds = (uint8_t)BF_FIELD_GET(BF_MLX5_CTRL_DS, second);
	out->wqebbs = (uint8_t)(out->ds ? (out->ds + 3) / 4 : 1);
	out->signature = ctrl->signature;
	out->fm = (uint8_t)BF_FIELD_GET(BF_MLX5_CTRL_FM, ctrl->fm_ce_se);
	out->ce = (uint8_t)BF_FIELD_GET(BF_MLX5_CTRL_CE, ctrl->fm_ce_se);
	out->solicited = ctrl->fm_ce_se & BF_MLX5_CTRL_SOLICITED;
	out->imm = bf_be32(ctrl->imm);
	out->stream = bf_be16(ctrl->dci_stream);
}

static int refuse_opcode(const struct bf_mlx5_wqe *w, bool known, struct bf_error *err)
{
	const char *name = bf_mlx5_opcode_name(w->opcode);

	if (known)
		return bf_fail(err, -EINVAL, "control segment at byte 3: %s is no datagram", name);
	return bf_fail(err, -EINVAL, "control segment at byte 3: opcode 0x%02x is %s", w->opcode,
		       *name == '?' ? "unknown" : "not modelled");
}

static int decode(const void *bytes, uint32_t len, enum transport t, struct bf_mlx5_wqe *out, struct bf_error *err)
{
	struct cursor c = { .bytes = bytes, .at = sizeof(struct bf_mlx5_ctrl), .err = err };
	uint32_t s;
	int status = 0;

	/* Everything up to the list; its entries are valid up to nsge only, the address vector as far as it is long. */
	memset(out, 0, offsetof(struct bf_mlx5_wqe, sge));
	if (len < sizeof(struct bf_mlx5_ctrl))
		return bf_fail(err, -EINVAL, "%u bytes are too short for a control segment (16)", len);
	decode_ctrl(bytes, out);
	c.end = out->ds * BF_MLX5_DS;
	if (!out->ds)
		return bf_fail(err, -EINVAL, "control segment at byte 4: DS is 0");
	if (c.end > len)
		return bf_fail(err, -EINVAL, "control segment at byte 4: DS %u needs %u bytes, there are %u", out->ds,
			       c.end, len);
	s = shape(out->opcode);
	if (!s || ((t == UD || t == ETH) && s & HAS_RADDR))
		return refuse_opcode(out, s, err);
	if (s & NO_CHECK)
		return 0;
	if (t == ETH && !(s & LOCAL))
		status = decode_eth(&c, out);
	else if (t == XRC && !(s & LOCAL))
		status = decode_xrc(&c, out);
	else if (t != RC && !(s & LOCAL))
		status = decode_av(&c, out);
	if (!status && s & HAS_RADDR)
		status = decode_raddr(&c, out);
	if (!status && s & HAS_ATOMIC)
		status = decode_atomic(&c, out);
	if (!status && s & HAS_WAIT)
		status = decode_wait(&c, out);
	if (!status && s & HAS_UMR)
		status = decode_umr(&c, out);
	if (!status && s & HAS_DATA)
		status = decode_data(&c, out, s & MAY_INLINE);
	return status ? status : check_whole(&c, out);
}

int bf_mlx5_wqe_decode(const void *bytes, uint32_t len, struct bf_mlx5_wqe *out, struct bf_error *err)
{
	return decode(bytes, len, RC, out, err);
}

int bf_mlx5_dc_wqe_decode(const void *bytes, uint32_t len, struct bf_mlx5_wqe *out, struct bf_error *err)
{
	return decode(bytes, len, DC, out, err);
}

int bf_mlx5_xrc_wqe_decode(const void *bytes, uint32_t len, struct bf_mlx5_wqe *out, struct bf_error *err)
{
	return decode(bytes, len, XRC, out, err);
}

int bf_mlx5_ud_wqe_decode(const void *bytes, uint32_t len, struct bf_mlx5_wqe *out, struct bf_error *err)
{
	return decode(bytes, len, UD, out, err);
}

int bf_mlx5_eth_wqe_decode(const void *bytes, uint32_t len, struct bf_mlx5_wqe *out, struct bf_error *err)
{
	int status = decode(bytes, len, ETH, out, err);

	if (!status && out->opcode == BF_MLX5_OP_SEND && out->length < BF_MLX5_FRAME_MIN)
		return bf_fail(err, -EINVAL, "a frame of %u bytes: its header has %u", out->length, BF_MLX5_FRAME_MIN);
	return status;
}

uint32_t bf_mlx5_recv_decode(const void *bytes, uint32_t stride, struct bf_mlx5_sge *sge, uint32_t max, uint64_t *total)
{
	const struct bf_mlx5_data *seg = bytes;
	uint32_t n = 0;

	*total = 0;
	for (uint32_t i = 0; i < stride / BF_MLX5_DS && n < max; i++) {
		uint32_t count = bf_be32(seg[i].byte_count);

		if (bf_be32(seg[i].lkey) == BF_MLX5_INVALID_LKEY)
			break;
		sge[n] = (struct bf_mlx5_sge){ .va = bf_be64(seg[i].va),
					       .lkey = bf_be32(seg[i].lkey),
					       .len = count ? count : 1u << 31 };
		*total += sge[n++].len;
	}
	return n;
}

/* Bare words of a ConnectX: send entries of a queue pair, and completions that say what failed. */
#include <errno.h>
#include <string.h>

#include "models/mlx5/prm.h"
#include "models/mlx5/wqe.h"
#include "sim/bytes.h"
#include "traces/evidence/evidence_internal.h"

static bool send_entry(const uint8_t *bytes, size_t len, struct bf_mlx5_wqe *w)
{
	struct bf_error err = { 0 };

	if (bf_mlx5_wqe_decode(bytes, len > 1024 ? 1024 : (uint32_t)len, w, &err))
		return false;
	/* Zeros are a NOP of nobody. */
	return w->qpn && w->ds && strcmp(bf_mlx5_opcode_name(w->opcode), "?") != 0 && !bytes[9] && !bytes[10];
}

/* Entries of one send queue. Those whose index does not follow are evidence of their own. -1: these are none. */
int bf_words_sends(const struct bf_ring_words *w, struct bf_evidence_list *list)
{
	const size_t len = w->count * 4;
	struct bf_mlx5_wqe entry, last = { 0 };
	size_t at = 0, entries = 0;
	bool works = false; /* NOPs alone may be anything */

	for (; at + BF_RING_SLOT <= len; at += BF_RING_SLOT * (size_t)entry.wqebbs, entries++) {
		if (!send_entry(w->bytes + at, len - at, &entry) || !entry.wqebbs || (at && entry.qpn != last.qpn))
			break;
		works = works || entry.opcode != BF_MLX5_OP_NOP;
		last = entry;
	}
	if (!works ||
	    (at + BF_RING_SLOT <= len && entries < 2)) /* one that fits may be chance, but for a dump of one */
		return -1;
	for (at = 0; entries; at += BF_RING_SLOT * (size_t)entry.wqebbs, entries--) {
		struct bf_evidence *e = bf_words_add(list, w, at, "send entry in a ring's bare words", BF_EVIDENCE_NIC);

		if (!e)
			return -ENOMEM;
		send_entry(w->bytes + at, len - at, &entry);
		e->fact[BF_FACT_WQE_OPCODE] = entry.opcode;
		e->fact[BF_FACT_COUNTER] = entry.index;
		e->fact[BF_FACT_QPN] = entry.qpn;
		if (entry.rkey) {
			e->fact[BF_FACT_RADDR] = (int64_t)(entry.raddr & INT64_MAX);
			e->fact[BF_FACT_RKEY] = entry.rkey;
		}
		if (at && entry.index != (uint16_t)(last.index + last.wqebbs))
			e->fact[BF_FACT_DUE] = (uint16_t)(last.index + last.wqebbs);
		last = entry;
	}
	return 0;
}

/* Completions with an error, whatever the number of words to a row. */
int bf_words_completions(const struct bf_ring_words *w, struct bf_evidence_list *list)
{
	const size_t len = w->count * 4;

	for (size_t at = 0; at + BF_RING_SLOT <= len; at += BF_RING_SLOT) {
		const uint32_t opcode = w->bytes[at + 63] >> 4;

		if ((opcode != BF_MLX5_CQE_REQ_ERR && opcode != BF_MLX5_CQE_RESP_ERR) || !w->bytes[at + 55])
			return -1;
	}
	for (size_t at = 0; at + BF_RING_SLOT <= len; at += BF_RING_SLOT) {
		struct bf_evidence *e = bf_words_add(list, w, at, "dump of a completion", BF_EVIDENCE_NIC);

		if (!e)
			return -ENOMEM;
		e->kind = BF_EVIDENCE_COMPLETION;
		bf_evidence_from_cqe(e);
	}
	return 0;
}

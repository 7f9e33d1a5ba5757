/*
 * A ring without a word about it: rows of hexadecimal words as debuggers and printf loops print memory, perhaps with
 * addresses or offsets in front. What the words are shows in themselves: entries whose fields fit, one behind the
 * other. Big-endian rings are printed as bytes stand (libmlx5's way) or as little-endian processors read words (gdb's
 * x/xw): both are tried.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/mlx5/prm.h"
#include "models/mlx5/wqe.h"
#include "models/nvme/prm.h"
#include "sim/bytes.h"
#include "sim/grow.h"
#include "traces/evidence/evidence_internal.h"

#define SLOT 64u

struct words {
	uint32_t *dw; /* as they are printed */
	size_t count, room;
	uint64_t *line; /* of each */
	size_t line_room;
	uint8_t *bytes; /* as one reading has them in memory */
};

/* ---- from text ---- */

/* A word of 8 digits, or of 16 that is two; what it is printed as. Returns how many, 0: it is none. */
static uint32_t word_at(const char **p, const char *end, uint32_t dw[2])
{
	const char *at = *p;
	uint64_t v = 0;
	uint32_t n = 0;

	if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
		at += 2;
	for (; at < end && n < 17 && bf_hex_digit(*at) >= 0; at++, n++)
		v = v << 4 | (uint64_t)bf_hex_digit(*at);
	if ((n != 8 && n != 16) || (at < end && *at != ' ' && *at != '\t' && *at != ',' && *at != ';'))
		return 0;
	*p = at;
	dw[0] = (uint32_t)v; /* the lower half lies first where a processor reads 64 bits */
	dw[1] = (uint32_t)(v >> 32);
	return n / 8;
}

static bool is_gap(char c)
{
	return c == ' ' || c == '\t' || c == ',' || c == ';';
}

/* Where the words of a line begin: behind its last colon, "0x7f00:" or "[12.3] ring:". */
static const char *begin_of_words(const struct bf_line *l)
{
	const char *colon = memrchr(l->at, ':', (size_t)(l->end - l->at));

	return colon ? colon + 1 : l->at;
}

/* All words of a line that has nothing else. */
static int take_words(struct words *w, const struct bf_line *l)
{
	const char *p = begin_of_words(l);
	const size_t before = w->count;

	for (;;) {
		uint32_t dw[2], n;

		while (p < l->end && is_gap(*p))
			p++;
		if (p == l->end)
			return 0;
		n = word_at(&p, l->end, dw);
		if (!n) {
			w->count = before;
			return 0;
		}
		if (BF_GROW(w->dw, w->room, w->count + n) || BF_GROW(w->line, w->line_room, w->count + n))
			return -ENOMEM;
		for (uint32_t i = 0; i < n; i++) {
			w->line[w->count] = l->number;
			w->dw[w->count++] = dw[i];
		}
	}
}

/* ---- what they are ---- */

static struct bf_evidence *add(struct bf_evidence_list *list, const struct words *w, size_t at, const char *form,
			       enum bf_evidence_device device)
{
	struct bf_evidence *e = bf_evidence_add(list);
	struct bf_line l = { .number = w->line[at / 4] };

	if (!e)
		return NULL;
	bf_evidence_begin(e, form, device, BF_EVIDENCE_ENTRY, &l);
	memcpy(e->bytes, w->bytes + at, SLOT);
	e->have = UINT64_MAX;
	snprintf(e->text, sizeof(e->text), "%08x %08x %08x %08x ...", bf_get_be32(e->bytes), bf_get_be32(e->bytes + 4),
		 bf_get_be32(e->bytes + 8), bf_get_be32(e->bytes + 12));
	return e;
}

static bool send_entry(const uint8_t *bytes, size_t len, struct bf_mlx5_wqe *w)
{
	struct bf_error err = { 0 };

	if (bf_mlx5_wqe_decode(bytes, len > 1024 ? 1024 : (uint32_t)len, w, &err))
		return false;
	/* Zeros are a NOP of nobody. */
	return w->qpn && w->ds && strcmp(bf_mlx5_opcode_name(w->opcode), "?") != 0 && !bytes[9] && !bytes[10];
}

/* Entries of one send queue. Those whose index does not follow are evidence of their own. -1: these are none. */
static int send_ring(const struct words *w, struct bf_evidence_list *list)
{
	const size_t len = w->count * 4;
	struct bf_mlx5_wqe entry, last = { 0 };
	size_t at = 0, entries = 0;
	bool works = false; /* NOPs alone may be anything */

	for (; at + SLOT <= len; at += SLOT * (size_t)entry.wqebbs, entries++) {
		if (!send_entry(w->bytes + at, len - at, &entry) || !entry.wqebbs || (at && entry.qpn != last.qpn))
			break;
		works = works || entry.opcode != BF_MLX5_OP_NOP;
		last = entry;
	}
	if (!works || (at + SLOT <= len && entries < 2)) /* one that fits may be chance, but for a dump of one */
		return -1;
	for (at = 0; entries; at += SLOT * (size_t)entry.wqebbs, entries--) {
		struct bf_evidence *e = add(list, w, at, "send entry in a ring's bare words", BF_EVIDENCE_MLX5);

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
static int error_completions(const struct words *w, struct bf_evidence_list *list)
{
	const size_t len = w->count * 4;

	for (size_t at = 0; at + SLOT <= len; at += SLOT) {
		const uint32_t opcode = w->bytes[at + 63] >> 4;

		if ((opcode != BF_MLX5_CQE_REQ_ERR && opcode != BF_MLX5_CQE_RESP_ERR) || !w->bytes[at + 55])
			return -1;
	}
	for (size_t at = 0; at + SLOT <= len; at += SLOT) {
		struct bf_evidence *e = add(list, w, at, "dump of a completion", BF_EVIDENCE_MLX5);

		if (!e)
			return -ENOMEM;
		e->kind = BF_EVIDENCE_COMPLETION;
		bf_evidence_from_cqe(e);
	}
	return 0;
}

static bool nvme_command(const uint8_t *b)
{
	const uint32_t nsid = bf_get_le32(b + 4);
	const uint64_t prp1 = bf_get_le64(b + 24);

	return (b[0] == BF_NVME_IO_WRITE || b[0] == BF_NVME_IO_READ || b[0] == BF_NVME_IO_COMPARE) && !(b[1] & 0x3f) &&
	       nsid && nsid < 1024 && prp1 && !(prp1 & 3) && !bf_get_le32(b + 8) && !bf_get_le32(b + 12) &&
	       !bf_get_le64(b + 16);
}

static int nvme_ring(const struct words *w, struct bf_evidence_list *list)
{
	const size_t len = w->count * 4;

	for (size_t at = 0; at + SLOT <= len; at += SLOT)
		if (!nvme_command(w->bytes + at))
			return -1;
	if (len < SLOT)
		return -1;
	for (size_t at = 0; at + SLOT <= len; at += SLOT) {
		struct bf_evidence *e = add(list, w, at, "command in a queue's bare words", BF_EVIDENCE_NVME);

		if (!e)
			return -ENOMEM;
		e->fact[BF_FACT_OPCODE] = w->bytes[at];
		e->fact[BF_FACT_CID] = bf_get_le16(w->bytes + at + 2);
		e->fact[BF_FACT_NSID] = bf_get_le32(w->bytes + at + 4);
		e->fact[BF_FACT_LBA] = (int64_t)(bf_get_le64(w->bytes + at + 40) & INT64_MAX);
	}
	return 0;
}

/* Both ways in which words are printed, and each kind of ring. */
static int recognise(struct words *w, struct bf_evidence_list *list)
{
	int rc = -1;

	w->bytes = malloc(w->count * 4);
	if (!w->bytes)
		return -ENOMEM;
	for (uint32_t order = 0; order < 2 && rc == -1; order++) {
		for (size_t i = 0; i < w->count; i++) {
			if (order)
				bf_put_le32(w->bytes + i * 4, w->dw[i]);
			else
				bf_put_be32(w->bytes + i * 4, w->dw[i]);
		}
		rc = error_completions(w, list);
		if (rc == -1)
			rc = send_ring(w, list);
		if (rc == -1)
			rc = nvme_ring(w, list);
	}
	free(w->bytes);
	return rc == -1 ? 0 : rc;
}

int bf_evidence_ring(const char *text, size_t len, uint64_t first_line, struct bf_evidence_list *list)
{
	struct words w = { 0 };
	struct bf_line l = { .at = text, .number = first_line };
	const char *end = text + len;
	int rc = 0;

	while (!rc && l.at < end) {
		const char *newline = memchr(l.at, '\n', (size_t)(end - l.at));

		l.end = newline ? newline : end;
		l.number++;
		while (l.end > l.at && (l.end[-1] == '\r' || is_gap(l.end[-1])))
			l.end--;
		if (*l.at != '#')
			rc = take_words(&w, &l);
		l.at = newline ? newline + 1 : end;
	}
	if (!rc && w.count >= SLOT / 4)
		rc = recognise(&w, list);
	free(w.dw);
	free(w.line);
	return rc;
}

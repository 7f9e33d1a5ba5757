/*
 * Rows of bytes: four big-endian words (libmlx5, UCX, SPDK), or an offset and sixteen bytes (Linux, DPDK), with clocks
 * and ranks in front, ASCII columns or the next message behind. Four rows are a completion or the begin of an entry.
 *
 * Several processes may write at once: rows of one rank (mpirun's [1,3]<stderr>, srun's 3:) belong together.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "models/mlx5/prm.h"
#include "models/mlx5/wqe.h"
#include "sim/bytes.h"
#include "traces/evidence/evidence_internal.h"

#define ROW 16u
#define ROWS 4u
#define RANKS 16u      /* dumps that are under way at a time */
#define LINES_APART 8u /* other lines between two rows of a dump */
#define ROW_CHARS 31   /* of the shortest row, which was cut */

enum what { WHAT_UNKNOWN, WHAT_COMPLETION, WHAT_ENTRY };

struct dump {
	bool used;
	uint64_t rank; /* a hash of the tag */
	uint64_t last; /* line of the last row */
	uint32_t rows; /* without offsets: how many there were */
	enum what what;
	struct bf_evidence e;
	uint8_t last_row[ROW];
};

struct bf_dumps {
	struct bf_evidence_list *list;
	struct dump dump[RANKS];
	struct bf_line before; /* the last line without a row */
};

struct row {
	bool cut; /* its last word is not whole */
	uint8_t bytes[ROW];
	int64_t offset; /* -1: none in front */
	const char *at;
};

struct bf_dumps *bf_dumps_new(struct bf_evidence_list *list)
{
	struct bf_dumps *d = calloc(1, sizeof(*d));

	if (d)
		d->list = list;
	return d;
}

/* ---- one row ---- */

/* `n` digits at `p` and then none, or any other character. */
static bool digits(const char *p, const char *end, uint32_t n, uint8_t *out)
{
	if ((size_t)(end - p) < n || (p + n < end && bf_hex_digit(p[n]) >= 0))
		return false;
	for (uint32_t i = 0; i < n; i += 2) {
		const int high = bf_hex_digit(p[i]), low = bf_hex_digit(p[i + 1]);

		if (high < 0 || low < 0)
			return false;
		out[i / 2] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && is_blank(*p))
		p++;
	return p;
}

/* Four words, with or without 0x. */
static bool words_at(const char *p, const char *end, uint8_t *out, bool *cut)
{
	*cut = false;
	for (uint32_t i = 0; i < 4; i++) {
		if (end - p > 2 && p[0] == '0' && p[1] == 'x')
			p += 2;
		/* A line that was cut lacks the end of its last word, at most the half that says whose it is. */
		*cut = i == 3 && end - p >= 4 && end - p < 8 && digits(p, end, (uint32_t)(end - p) & ~1u, out + 12);
		if (*cut)
			return true;
		if (!digits(p, end, 8, out + 4 * i))
			return false;
		p += 8;
		if (i < 3 && (p == end || (!is_blank(*p) && *p != ',')))
			return false;
		p = skip_blanks(p < end && *p == ',' ? p + 1 : p, end);
	}
	return true;
}

/* xxd's way: two bytes in a group. */
static bool pairs_at(const char *p, const char *end, uint8_t *out)
{
	for (uint32_t i = 0; i < ROW; i += 2, p += 4) {
		p = i ? skip_blanks(p, end) : p;
		if (!digits(p, end, 4, out + i) || (i && p[-1] != ' '))
			return false;
	}
	return true;
}

static bool bytes_at(const char *p, const char *end, uint8_t *out)
{
	for (uint32_t i = 0; i < ROW; i++, p += 2) {
		p = i ? skip_blanks(p, end) : p;
		if (!digits(p, end, 2, out + i) || (i && !is_blank(p[-1])))
			return false;
	}
	return true;
}

/* At `p` stand 8 digits, or an offset of that length, with a colon or, as hexdump -C has it, with two blanks. */
static bool row_at(const char *p, const char *end, struct row *out)
{
	uint8_t offset[4];

	*out = (struct row){ .offset = -1, .at = p };
	if (words_at(p, end, out->bytes, &out->cut))
		return true;
	if (!digits(p, end, 8, offset) || end - p < 10 || (p[8] != ':' && (p[8] != ' ' || p[9] != ' ')))
		return false;
	out->offset = bf_get_be32(offset);
	p = skip_blanks(p + 9, end);
	return bytes_at(p, end, out->bytes) || words_at(p, end, out->bytes, &out->cut) || pairs_at(p, end, out->bytes);
}

/* The line's row. Of 8 digits in a row every eighth character is one: the others need no look. */
static bool find_row(const struct bf_line *l, struct row *out)
{
	const char *p = l->at;

	while (l->end - p >= ROW_CHARS) {
		const char *begin = p + 7;

		if (bf_hex_digit(*begin) < 0) {
			p += 8;
			continue;
		}
		while (begin > p && bf_hex_digit(begin[-1]) >= 0)
			begin--;
		if ((begin == l->at || bf_hex_digit(begin[-1]) < 0) && row_at(begin, l->end, out))
			return true;
		for (p = begin; p < l->end && bf_hex_digit(*p) >= 0; p++)
			;
		p++;
	}
	return false;
}

/* ---- rows that belong together ---- */

/* "[1,3]<stderr>" or "3:" at the begin of the line, hashed; 0: none. */
static uint64_t rank_of(const struct bf_line *l, const char *row)
{
	const char *p = l->at;
	uint64_t hash = 0;

	if (p < row && *p == '[') {
		const char *close = memchr(p, ']', (size_t)(row - p)), *comma = memchr(p, ',', (size_t)(row - p));

		if (!close || !comma || comma > close || close - p > 12)
			return 0;
		for (; p < close; p++)
			hash = hash * 131 + (uint8_t)*p;
		return 2 * hash + 1;
	}
	while (p < row && *p >= '0' && *p <= '9')
		hash = hash * 131 + (uint8_t)*p++;
	return p > l->at && p - l->at < 6 && row - p > 1 && p[0] == ':' && p[1] == ' ' ? 2 * hash + 1 : 0;
}

static bool is_error(const uint8_t *row)
{
	const uint32_t opcode = row[15] >> 4;

	return opcode == BF_MLX5_CQE_REQ_ERR || opcode == BF_MLX5_CQE_RESP_ERR;
}

/* Only a part was pasted: the last row alone has all that matters of a completion, where it is one. */
static bool take_last_row(struct dump *d)
{
	if (d->what == WHAT_ENTRY || !is_error(d->last_row) || !d->last_row[7])
		return false;
	memset(d->e.bytes, 0, sizeof(d->e.bytes));
	memcpy(d->e.bytes + 48, d->last_row, ROW);
	d->e.have = 0xffffull << 48;
	return true;
}

static void from_entry(struct bf_evidence *e)
{
	const uint32_t qpn_ds = bf_get_be32(e->bytes + 4);

	e->kind = BF_EVIDENCE_ENTRY;
	e->form = "dump of a send entry";
	e->fact[BF_FACT_WQE_OPCODE] = e->bytes[3];
	e->fact[BF_FACT_COUNTER] = bf_get_be16(e->bytes + 1);
	e->fact[BF_FACT_QPN] = qpn_ds >> 8;
}

static int finish(struct bf_dumps *all, struct dump *d)
{
	const bool whole = d->e.have == UINT64_MAX, tail = (d->e.have >> 48) == 0xffff;
	struct bf_evidence *e;

	d->used = false;
	if (d->what == WHAT_ENTRY && (d->e.have & 0xffff) == 0xffff)
		from_entry(&d->e);
	else if (!(whole || (tail && d->what != WHAT_ENTRY)) && !take_last_row(d))
		return 0;
	else if (!is_error(d->e.bytes + 48) && d->what != WHAT_COMPLETION)
		return 0; /* words of something else */
	else
		bf_evidence_from_cqe(&d->e);
	e = bf_evidence_add(all->list);
	if (!e)
		return -ENOMEM;
	*e = d->e;
	return 0;
}

static enum what announced(const struct bf_line *before)
{
	if (!before->at)
		return WHAT_UNKNOWN;
	if (bf_line_find(before, "WQE DUMP|wqe dump"))
		return WHAT_ENTRY;
	return bf_line_find(before, "completion|dump_cqe|CQE|cqe") ? WHAT_COMPLETION : WHAT_UNKNOWN;
}

static int begin(struct bf_dumps *all, uint64_t rank, const struct bf_line *l, struct dump **out)
{
	struct dump *d = NULL;
	int rc = 0;

	for (uint32_t i = 0; i < RANKS && !(d && !d->used); i++)
		if (!d || !all->dump[i].used || all->dump[i].last < d->last)
			d = &all->dump[i];
	if (d->used)
		rc = finish(all, d);
	memset(d, 0, sizeof(*d));
	d->used = true;
	d->rank = rank;
	d->what = announced(&all->before);
	bf_evidence_begin(&d->e, "dump of a completion", BF_EVIDENCE_MLX5, BF_EVIDENCE_COMPLETION, l);
	*out = d;
	return rc;
}

/* Where the row goes in the dump; ROWS: it belongs to another one. */
static uint32_t place_of(const struct dump *d, const struct row *row)
{
	const uint32_t at = row->offset < 0 ? d->rows : (uint32_t)(row->offset / ROW);

	return at < ROWS && !(d->e.have >> (at * ROW) & 1) ? at : ROWS;
}

/* Rows before it, or a word, say that it is a completion's last: of its last word only the index was there. */
static bool ends_completion(const struct dump *d, const struct bf_line *before, struct row *row)
{
	const uint8_t syndrome = row->bytes[7];

	if (!(d ? d->rows || d->what == WHAT_COMPLETION : announced(before) == WHAT_COMPLETION) || !syndrome ||
	    strstr(bf_mlx5_syndrome_text(syndrome), "unknown"))
		return false;
	row->bytes[15] = BF_MLX5_CQE_REQ_ERR << 4;
	return true;
}

int bf_dumps_line(struct bf_dumps *all, const struct bf_line *l)
{
	struct dump *d = NULL;
	struct row row;
	uint64_t rank;
	uint32_t at;
	int rc = 0;

	if (!find_row(l, &row)) {
		all->before = *l;
		return 0;
	}
	rank = rank_of(l, row.at);
	for (uint32_t i = 0; i < RANKS; i++)
		if (all->dump[i].used && all->dump[i].rank == rank)
			d = &all->dump[i];
	if (row.cut && !ends_completion(d, &all->before, &row))
		return 0;
	if (d && (l->number - d->last > LINES_APART || place_of(d, &row) == ROWS)) {
		rc = finish(all, d);
		d = NULL;
	}
	if (!d && row.offset >= (int64_t)(ROWS * ROW))
		return rc; /* the rest of a long entry */
	if (!d && !rc)
		rc = begin(all, rank, l, &d);
	if (rc)
		return rc;
	at = place_of(d, &row);
	memcpy(d->e.bytes + at * ROW, row.bytes, ROW);
	memcpy(d->last_row, row.bytes, ROW);
	bf_evidence_quote(&d->e, l); /* the last row says most */
	d->e.have |= 0xffffull << (at * ROW);
	d->rows = at + 1;
	d->last = l->number;
	return d->e.have == UINT64_MAX ? finish(all, d) : 0;
}

int bf_dumps_end(struct bf_dumps *all)
{
	int rc = 0;

	for (uint32_t i = 0; i < RANKS; i++)
		if (all->dump[i].used && !rc)
			rc = finish(all, &all->dump[i]);
	free(all);
	return rc;
}

/* ---- fields ---- */

static bool has(const struct bf_evidence *e, uint32_t at, uint32_t n)
{
	return (e->have >> at & ((1ull << n) - 1)) == (1ull << n) - 1;
}

void bf_evidence_from_cqe(struct bf_evidence *e)
{
	const uint8_t *b = e->bytes;

	if (!has(e, 48, 16))
		return;
	e->fact[BF_FACT_CQE_OPCODE] = b[63] >> 4;
	if (is_error(b + 48)) {
		e->fact[BF_FACT_HW] = b[52];
		e->fact[BF_FACT_VENDOR] = b[54];
		e->fact[BF_FACT_SYNDROME] = b[55];
	}
	e->fact[BF_FACT_WQE_OPCODE] = b[56];
	e->fact[BF_FACT_QPN] = (int64_t)(bf_get_be32(b + 56) & 0xffffff);
	e->fact[BF_FACT_COUNTER] = bf_get_be16(b + 60);
}

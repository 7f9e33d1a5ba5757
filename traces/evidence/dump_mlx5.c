/*
 * Rows of bytes: four big-endian words (libmlx5, UCX, SPDK), or an offset and sixteen bytes (Linux, DPDK), with clocks
 * and ranks in front, ASCII columns or the next message behind. Four rows are a completion or the begin of an entry.
 *
 * Several processes may write at once: rows of one rank (mpirun's [1,3]<stderr>, srun's 3:) belong together. Others'
 * prefixes tell writers apart, too (node07:, [rank0]:, Ray's), or count rows: what makes more completions of them is
 * so.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "models/mlx5/prm.h"
#include "models/mlx5/wqe.h"
#include "sim/bytes.h"
#include "sim/member.h"
#include "traces/evidence/evidence_internal.h"

#define ROW 16u
#define ROWS 4u
#define RANKS 16u    /* dumps that are under way at a time */
#define ROW_CHARS 31 /* of the shortest row, which was cut */

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

/* Rows put together in one of the two ways. */
struct way {
	uint64_t (*writer)(const struct bf_line *l, const char *row);
	struct dump dump[RANKS];
	struct bf_evidence_list list;
};

struct bf_dumps {
	struct bf_evidence_list *list;
	struct way way[2];
	enum what announced; /* by the last line that speaks of a dump */
	uint64_t announced_at;
};

struct row {
	bool cut; /* its last word is not whole */
	uint8_t bytes[ROW];
	int64_t offset; /* -1: none in front */
	const char *at;
};

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

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
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

bool bf_line_has_row(const struct bf_line *l)
{
	struct row row;

	return find_row(l, &row);
}

bool bf_evidence_row(const char *at, const char *end, uint8_t bytes[ROW], int64_t *offset)
{
	const struct bf_line l = { .at = at, .end = end };
	struct row row;

	if (!find_row(&l, &row) || row.cut)
		return false;
	memcpy(bytes, row.bytes, ROW);
	*offset = row.offset;
	return true;
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

/*
 * The length of what differs between the rows of one writer: a clock, a date, an address, the number of a line right in
 * front of the row. 0: none of these begins at `p`.
 */
static size_t varies(const char *begin, const char *p, const char *row)
{
	uint32_t inner = 0, dots = 0, others = 0;
	size_t n = 0;

	if (*p < '0' || *p > '9' || (p > begin && (bf_hex_digit(p[-1]) >= 0 || is_letter(p[-1]) || p[-1] == '.')))
		return 0;
	if (row - p > 2 && p[1] == 'x') {
		for (n = 2; p + n < row && bf_hex_digit(p[n]) >= 0; n++)
			;
		return n;
	}
	for (; p + n < row && ((p[n] >= '0' && p[n] <= '9') || strchr(":.,-+/TZ", p[n])); n++) {
		const bool between = p + n + 1 < row && p[n + 1] >= '0' && p[n + 1] <= '9';

		inner += between && (p[n] < '0' || p[n] > '9');
		dots += between && p[n] == '.';
		others += between && (p[n] == '-' || p[n] == '/' || p[n] == 'T');
	}
	if (!inner)
		return p + n == row ? n : 0;
	return dots == 3 && !others ? 0 : n; /* an IPv4 address is a writer's */
}

/* All of the prefix that stays the same, hashed. */
static uint64_t prefix_of(const struct bf_line *l, const char *row)
{
	uint64_t hash = 7;

	for (const char *p = l->at; p < row;) {
		const size_t n = varies(l->at, p, row);

		if (!n)
			hash = hash * 131 + (uint8_t)*p;
		p += n ? n : 1;
	}
	return hash;
}

struct bf_dumps *bf_dumps_new(struct bf_evidence_list *list)
{
	struct bf_dumps *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->list = list;
	d->way[0].writer = rank_of;
	d->way[1].writer = prefix_of;
	return d;
}

static bool is_error(const uint8_t *row)
{
	const uint32_t opcode = row[15] >> 4;

	return opcode == BF_MLX5_CQE_REQ_ERR || opcode == BF_MLX5_CQE_RESP_ERR;
}

/* A row that ends an error completion: rows before it were not pasted, and the next one is another's. */
static bool is_last_row(const struct dump *d, const uint8_t *row)
{
	return d->what != WHAT_ENTRY && is_error(row) && row[7] && bf_get_be32(row) == 0 && bf_get_be16(row + 4) == 0 &&
	       !strstr(bf_mlx5_syndrome_text(row[7]), "unknown");
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

static int finish(struct way *w, struct dump *d)
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
	e = bf_evidence_add(&w->list);
	if (!e)
		return -ENOMEM;
	*e = d->e;
	return 0;
}

/* What a line without a row says of the rows behind it. */
static enum what announces(const struct bf_line *l)
{
	if (bf_line_find(l, "WQE DUMP|wqe dump"))
		return WHAT_ENTRY;
	return bf_line_find(l, "completion|dump_cqe|CQE|cqe") ? WHAT_COMPLETION : WHAT_UNKNOWN;
}

/* Logs that are JSON have the rest of each line between it and the next. */
static enum what announced(const struct bf_dumps *all, const struct bf_line *l)
{
	return l->number - all->announced_at <= 2 ? all->announced : WHAT_UNKNOWN;
}

static int begin(struct bf_dumps *all, struct way *w, uint64_t rank, const struct bf_line *l, struct dump **out)
{
	struct dump *d = NULL;
	int rc = 0;

	for (uint32_t i = 0; i < RANKS && !(d && !d->used); i++)
		if (!d || !w->dump[i].used || w->dump[i].last < d->last)
			d = &w->dump[i];
	if (d->used)
		rc = finish(w, d);
	memset(d, 0, sizeof(*d));
	d->used = true;
	d->rank = rank;
	d->what = announced(all, l);
	bf_evidence_begin(&d->e, "dump of a completion", BF_EVIDENCE_NIC, BF_EVIDENCE_COMPLETION, l);
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
static bool ends_completion(const struct dump *d, enum what before, struct row *row)
{
	const uint8_t syndrome = row->bytes[7];

	if (!(d ? d->rows || d->what == WHAT_COMPLETION : before == WHAT_COMPLETION) || !syndrome ||
	    strstr(bf_mlx5_syndrome_text(syndrome), "unknown"))
		return false;
	row->bytes[15] = BF_MLX5_CQE_REQ_ERR << 4;
	return true;
}

static int take_row(struct bf_dumps *all, struct way *w, const struct bf_line *l, struct row row)
{
	const uint64_t rank = w->writer(l, row.at);
	struct dump *d = NULL;
	uint32_t at;
	int rc = 0;

	for (uint32_t i = 0; i < RANKS; i++)
		if (w->dump[i].used && w->dump[i].rank == rank)
			d = &w->dump[i];
	if (row.cut && !ends_completion(d, announced(all, l), &row))
		return 0;
	if (d && (l->number - d->last > BF_LINES_APART || place_of(d, &row) == ROWS)) {
		rc = finish(w, d);
		d = NULL;
	}
	if (!d && row.offset >= (int64_t)(ROWS * ROW))
		return rc; /* the rest of a long entry */
	if (!d && !rc)
		rc = begin(all, w, rank, l, &d);
	if (rc)
		return rc;
	at = place_of(d, &row);
	memcpy(d->e.bytes + at * ROW, row.bytes, ROW);
	memcpy(d->last_row, row.bytes, ROW);
	bf_evidence_quote(&d->e, l); /* the last row says most */
	d->e.have |= 0xffffull << (at * ROW);
	d->rows = at + 1;
	d->last = l->number;
	return d->e.have == UINT64_MAX || (row.offset < 0 && is_last_row(d, row.bytes)) ? finish(w, d) : 0;
}

int bf_dumps_line(struct bf_dumps *all, const struct bf_line *l)
{
	struct row row;
	int rc = 0;

	if (!find_row(l, &row)) {
		const enum what what = announces(l);

		if (what != WHAT_UNKNOWN || l->number - all->announced_at > 1) {
			all->announced = what;
			all->announced_at = l->number;
		}
		return 0;
	}
	for (uint32_t k = 0; k < BF_ARRAY_LEN(all->way) && !rc; k++)
		rc = take_row(all, &all->way[k], l, row);
	return rc;
}

int bf_dumps_end(struct bf_dumps *all)
{
	const struct bf_evidence_list *best;
	int rc = 0;

	for (uint32_t k = 0; k < BF_ARRAY_LEN(all->way); k++)
		for (uint32_t i = 0; i < RANKS; i++)
			if (all->way[k].dump[i].used && !rc)
				rc = finish(&all->way[k], &all->way[k].dump[i]);
	best = all->way[1].list.count > all->way[0].list.count ? &all->way[1].list : &all->way[0].list;
	for (size_t i = 0; i < best->count && !rc; i++) {
		struct bf_evidence *e = bf_evidence_add(all->list);

		if (e)
			*e = best->item[i];
		else
			rc = -ENOMEM;
	}
	for (uint32_t k = 0; k < BF_ARRAY_LEN(all->way); k++)
		bf_evidence_free(&all->way[k].list);
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

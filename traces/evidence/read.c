/* Text into lines, lines into facts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/bytes.h"
#include "sim/grow.h"
#include "traces/evidence/evidence_internal.h"

const struct bf_fact_about bf_facts[BF_FACTS] = {
	[BF_FACT_SYNDROME] = { "syndrome", true },
	[BF_FACT_VENDOR] = { "vendor syndrome", true },
	[BF_FACT_HW] = { "hardware syndrome", true },
	[BF_FACT_VERBS] = { "verbs status", false },
	[BF_FACT_QPN] = { "QP", true },
	[BF_FACT_CQN] = { "CQ", true },
	[BF_FACT_COUNTER] = { "wqe_counter", false },
	[BF_FACT_WQE_OPCODE] = { "entry's opcode", true },
	[BF_FACT_CQE_OPCODE] = { "completion's opcode", true },
	[BF_FACT_WR_ID] = { "wr_id", true },
	[BF_FACT_OPCODE] = { "command", true },
	[BF_FACT_REFUSED] = { "status", true },
	[BF_FACT_FIRMWARE] = { "firmware's syndrome", true },
	[BF_FACT_RADDR] = { "remote address", true },
	[BF_FACT_RKEY] = { "rkey", true },
	[BF_FACT_STATUS] = { "status", true },
	[BF_FACT_DNR] = { "do not retry", false },
	[BF_FACT_QID] = { "queue", false },
	[BF_FACT_CID] = { "command identifier", false },
	[BF_FACT_NSID] = { "namespace", false },
	[BF_FACT_LBA] = { "LBA", false },
	[BF_FACT_CSTS] = { "CSTS", true },
	[BF_FACT_SIGNALED] = { "fences done", false },
	[BF_FACT_EMITTED] = { "fences submitted", false },
	[BF_FACT_ADDRESS] = { "address", true },
	[BF_FACT_XID] = { "Xid", false },
	[BF_FACT_EVENT] = { "event", false },
	[BF_FACT_ERRNO] = { "errno", false },
	[BF_FACT_BTH] = { "packet's opcode", true },
	[BF_FACT_PSN] = { "PSN", false },
	[BF_FACT_AETH] = { "AETH syndrome", true },
	[BF_FACT_DUE] = { "index due", false },
	[BF_FACT_LATE] = { "late", false },
	[BF_FACT_COMPLETED] = { "entries completed", false },
	[BF_FACT_RUNG] = { "entries rung", false },
	[BF_FACT_WRITTEN] = { "entries written", false },
	[BF_FACT_RESERVED] = { "entries reserved", false },
};

struct bf_evidence *bf_evidence_add(struct bf_evidence_list *list)
{
	if (BF_GROW(list->item, list->room, list->count + 1))
		return NULL;
	return &list->item[list->count++];
}

void bf_evidence_free(struct bf_evidence_list *list)
{
	free(list->item);
	*list = (struct bf_evidence_list){ 0 };
}

void bf_evidence_quote(struct bf_evidence *e, const struct bf_line *l)
{
	const char *from = l->at;
	size_t len;

	while (from < l->end && (*from == ' ' || *from == '\t'))
		from++;
	len = (size_t)(l->end - from) < sizeof(e->text) - 1 ? (size_t)(l->end - from) : sizeof(e->text) - 1;
	for (size_t i = 0; i < len; i++)
		e->text[i] = (unsigned char)from[i] < ' ' || from[i] == 0x7f ? ' ' : from[i];
	e->text[len] = '\0';
}

void bf_evidence_begin(struct bf_evidence *e, const char *form, enum bf_evidence_device device,
		       enum bf_evidence_kind kind, const struct bf_line *l)
{
	*e = (struct bf_evidence){ .device = device, .kind = kind, .form = form, .line = l->number };
	for (size_t i = 0; i < BF_FACTS; i++)
		e->fact[i] = -1;
	bf_evidence_quote(e, l);
}

const char *bf_line_find(const struct bf_line *l, const char *labels)
{
	while (*labels) {
		const size_t n = strcspn(labels, "|");
		const char *found = memmem(l->at, (size_t)(l->end - l->at), labels, n);

		if (found)
			return found + n;
		labels += n + (labels[n] == '|');
	}
	return NULL;
}

int64_t bf_line_number(const struct bf_line *l, const char *p, uint8_t base)
{
	uint64_t value = 0;
	bool any = false;

	while (p < l->end && (*p == ' ' || *p == '('))
		p++;
	if (l->end - p > 1 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
		p += 2;
		base = 16;
	}
	base = base ? base : 10;
	for (; p < l->end; p++, any = true) {
		const int digit = bf_hex_digit(*p);

		if (digit < 0 || digit >= base)
			break;
		if (value > (INT64_MAX - (uint64_t)digit) / base)
			return -1;
		value = value * base + (uint64_t)digit;
	}
	return any ? (int64_t)value : -1;
}

bool bf_evidence_form_take(const struct bf_evidence_form *f, const struct bf_line *l, struct bf_evidence *e)
{
	bf_evidence_begin(e, f->name, f->device, f->kind, l);
	for (size_t i = 0; i < BF_LABELS_MAX && f->label[i].text; i++) {
		const char *p = bf_line_find(l, f->label[i].text);
		const int64_t value = p ? bf_line_number(l, p, f->label[i].base) : -1;

		if (value >= 0)
			e->fact[f->label[i].fact] = value;
		else if (i == 0 && !f->take)
			return false;
	}
	return f->take ? f->take(l, e) : true;
}

/* ---- where the cues are ---- */

struct hit {
	const char *at; /* begin of the line */
	uint32_t form;
};

struct hits {
	struct hit *item;
	size_t count, room;
};

static int by_place(const void *a, const void *b)
{
	const struct hit *x = a, *y = b;

	return x->at != y->at ? (x->at < y->at ? -1 : 1) : (int)x->form - (int)y->form;
}

static const char *begin_of_line(const char *text, const char *at)
{
	const char *newline = at > text ? memrchr(text, '\n', (size_t)(at - text)) : NULL;

	return newline ? newline + 1 : text;
}

/* All lines with a cue. Each cue is looked for in the whole text: most of a log says nothing, and is passed at once. */
static int find_cues(const char *text, size_t len, struct hits *h)
{
	const struct bf_evidence_form *form;

	for (uint32_t f = 0; (form = bf_evidence_form(f)) != NULL; f++) {
		const char *p = text;
		const size_t n = strlen(form->cue);

		while ((p = memmem(p, len - (size_t)(p - text), form->cue, n)) != NULL) {
			const char *newline = memchr(p, '\n', len - (size_t)(p - text));

			if (BF_GROW(h->item, h->room, h->count + 1))
				return -ENOMEM;
			h->item[h->count++] = (struct hit){ .at = begin_of_line(text, p), .form = f };
			if (!newline)
				break;
			p = newline + 1;
		}
	}
	if (h->count)
		qsort(h->item, h->count, sizeof(*h->item), by_place);
	return 0;
}

/* A second form that knows the same line adds what the first one does not say. */
static void merge(struct bf_evidence *to, const struct bf_evidence *from)
{
	for (size_t i = 0; i < BF_FACTS; i++)
		if (to->fact[i] < 0)
			to->fact[i] = from->fact[i];
}

static int take_line(const struct bf_line *l, const struct hit *hits, size_t n, struct bf_evidence_list *list)
{
	struct bf_evidence *first = NULL, e;

	for (size_t i = 0; i < n; i++) {
		if (!bf_evidence_form_take(bf_evidence_form(hits[i].form), l, &e))
			continue;
		if (first && first->device == e.device) {
			merge(first, &e);
			continue;
		}
		first = bf_evidence_add(list);
		if (!first)
			return -ENOMEM;
		*first = e;
	}
	return 0;
}

static int read_lines(const char *text, size_t len, const struct hits *h, struct bf_evidence_list *list)
{
	struct bf_dumps *dumps = bf_dumps_new(list);
	struct bf_line l = { .at = text, .number = list->lines };
	const char *end = text + len;
	size_t k = 0;
	int rc = dumps ? 0 : -ENOMEM, last;

	while (!rc && l.at < end) {
		const char *newline = memchr(l.at, '\n', (size_t)(end - l.at));
		size_t n = 0;

		l.end = newline ? newline : end;
		l.number++;
		while (k + n < h->count && h->item[k + n].at == l.at)
			n++;
		if (l.end > l.at && l.end[-1] == '\r')
			l.end--;
		rc = bf_dumps_line(dumps, &l);
		if (!rc && n)
			rc = take_line(&l, &h->item[k], n, list);
		k += n;
		l.at = newline ? newline + 1 : end;
	}
	list->lines = l.number;
	last = dumps ? bf_dumps_end(dumps) : 0;
	return rc ? rc : last;
}

int bf_evidence_read_plain(const char *text, size_t len, struct bf_evidence_list *list)
{
	struct hits h = { 0 };
	int rc = find_cues(text, len, &h);

	if (!rc)
		rc = read_lines(text, len, &h, list);
	free(h.item);
	return rc;
}

/* ---- what belongs together ---- */

static int by_line(const void *a, const void *b)
{
	const struct bf_evidence *x = a, *y = b;

	return x->line != y->line ? (x->line < y->line ? -1 : 1) : (int)x->kind - (int)y->kind;
}

/*
 * The completion that an announcement speaks of: the next one that no other announcement has, of the same line or of
 * those behind it. Of a line that was wrapped the second half may be the announcement.
 */
static struct bf_evidence *announced_by(struct bf_evidence *item, size_t i, size_t count, const bool *claimed)
{
	size_t k = i;

	while (k > 0 && item[k - 1].line == item[i].line)
		k--;
	for (; k < count && item[k].line - item[i].line <= BF_LINES_APART; k++)
		if (item[k].kind == BF_EVIDENCE_COMPLETION && item[k].device == item[i].device && !claimed[k])
			return &item[k];
	for (k = i; k > 0 && item[i].line - item[k - 1].line < BF_LINES_JOINED; k--)
		if (item[k - 1].kind == BF_EVIDENCE_COMPLETION && item[k - 1].device == item[i].device &&
		    !claimed[k - 1])
			return &item[k - 1];
	return NULL;
}

/*
 * In the order of the text, though a dump ends behind lines of other ranks. Announcements go into what they announce;
 * one without its completion is all that was pasted of it.
 */
/* A report of several lines, each with facts of its own: `more` goes on with what `e` began. */
static bool goes_on(const struct bf_evidence *e, const struct bf_evidence *more)
{
	if (e->kind != BF_EVIDENCE_UNDONE || more->kind != e->kind || strcmp(e->form, more->form) != 0 ||
	    more->line - e->line > BF_LINES_JOINED)
		return false;
	for (size_t i = 0; i < BF_FACTS; i++)
		if (e->fact[i] >= 0 && more->fact[i] >= 0)
			return false;
	return true;
}

int bf_evidence_put_in_order(struct bf_evidence_list *list, size_t from)
{
	const size_t count = list->count - from;
	struct bf_evidence *item;
	bool *claimed;
	size_t kept = 0;

	if (!count)
		return 0;
	item = list->item + from;
	claimed = calloc(count, sizeof(*claimed));
	if (!claimed)
		return -ENOMEM;
	qsort(item, count, sizeof(*item), by_line);
	for (size_t i = 0; i < count; i++) {
		struct bf_evidence *told;

		if (item[i].kind != BF_EVIDENCE_ANNOUNCED)
			continue;
		told = announced_by(item, i, count, claimed);
		if (!told) {
			item[i].kind = BF_EVIDENCE_COMPLETION;
			claimed[i] = true;
			continue;
		}
		merge(told, &item[i]);
		claimed[told - item] = true;
	}
	for (size_t i = 0; i < count; i++) {
		if (item[i].kind == BF_EVIDENCE_ANNOUNCED)
			continue;
		if (kept && goes_on(&item[kept - 1], &item[i]))
			merge(&item[kept - 1], &item[i]);
		else
			item[kept++] = item[i];
	}
	list->count = from + kept;
	free(claimed);
	return 0;
}

int bf_evidence_read(const char *text, size_t len, struct bf_evidence_list *list, struct bf_error *err)
{
	const int rc = bf_evidence_read_text(text, len, list);

	return rc ? bf_fail(err, rc, "line %llu: out of memory", (unsigned long long)list->lines) : 0;
}

/* Tracks, names and items of the timeline. Each text is written once, and items are rows of numbers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "sim/record.h"
#include "tools/pictures/page_internal.h"
#include "traces/container/number_map_internal.h"
#include "traces/life/timeline.h"

/* Numbers of an item and its flags, as page.js has them. */
enum { TRACK, BEGIN, LENGTH, NAME, FLOW, FLAGS, RECORD, WIDTH };
enum { BAD = 1, OPEN = 2, MARK = 4 };

struct row {
	int64_t n[WIDTH];
};

struct timeline {
	struct bf_timeline_out out;
	struct bf_error *err;
	struct bf_json *j;
	struct bf_page_result *result;
	struct bf_number_map by_name; /* hash and length of a name: its number plus 1 */
	char **names;
	struct row *rows;
	size_t nnames, names_cap, nrows, cap_rows;
	uint64_t end_ps;
};

static int no_memory(struct timeline *t)
{
	return bf_fail(t->err, -ENOMEM, "out of memory for the page");
}

static int add_track(struct bf_timeline_out *o, uint32_t track, uint32_t parent, const char *kind, const char *name)
{
	struct timeline *t = (struct timeline *)o;

	(void)track;
	bf_json_open(t->j, NULL, '[');
	bf_json_text(t->j, NULL, name);
	bf_json_text(t->j, NULL, kind);
	bf_json_u64(t->j, NULL, parent);
	bf_json_close(t->j, ']');
	return 0;
}

static int name_of(struct timeline *t, const char *name, int64_t *number)
{
	const size_t len = strlen(name);
	const uint64_t key[3] = { bf_hash_bytes(name, len), len, 0 };
	uint64_t at = bf_number_get(&t->by_name, key);

	if (!at) {
		if (BF_GROW(t->names, t->names_cap, t->nnames + 1) || !(t->names[t->nnames] = strdup(name)))
			return no_memory(t);
		at = ++t->nnames;
		if (bf_number_put(&t->by_name, key, at))
			return no_memory(t);
	}
	*number = (int64_t)at - 1;
	return 0;
}

static int add_item(struct bf_timeline_out *o, const struct bf_timeline_item *it)
{
	struct timeline *t = (struct timeline *)o;
	struct row *row;
	int rc;

	t->end_ps = it->end_ps > t->end_ps ? it->end_ps : t->end_ps;
	if (t->nrows == BF_PAGE_ITEMS) {
		t->result->left++;
		return 0;
	}
	if (BF_GROW(t->rows, t->cap_rows, t->nrows + 1))
		return no_memory(t);
	row = &t->rows[t->nrows];
	rc = name_of(t, it->name, &row->n[NAME]);
	if (rc)
		return rc;
	row->n[TRACK] = it->track;
	row->n[BEGIN] = (int64_t)it->begin_ps;
	row->n[LENGTH] = it->span ? (int64_t)(it->end_ps - it->begin_ps) : -1;
	row->n[FLOW] = (int64_t)it->flow;
	row->n[FLAGS] = (it->bad ? BAD : 0) | (it->span && !it->rec ? OPEN : 0) |
			(!it->bad && it->rec && it->rec->type->class_ == BF_CLASS_MEM ? MARK : 0);
	row->n[RECORD] = (int64_t)it->first;
	t->nrows++;
	return 0;
}

static void put_rows(struct timeline *t)
{
	FILE *out = t->j->out;

	bf_json_open(t->j, "items", '[');
	for (size_t i = 0; i < t->nrows; i++) {
		for (size_t k = 0; k < WIDTH; k++)
			fprintf(out, "%s%lld", i + k ? "," : "", (long long)t->rows[i].n[k]);
	}
	bf_json_close(t->j, ']');
}

int bf_page_timeline(struct bf_json *j, struct bf_trace *trace, const struct bf_page_job *job)
{
	const struct bf_timeline_options o = { .memory = job->memory };
	struct timeline t = {
		.out = { .track = add_track, .item = add_item }, .err = job->err, .j = j, .result = job->result
	};
	int rc;

	bf_json_open(j, "tracks", '[');
	rc = bf_timeline_read(trace, &o, &t.out, job->err);
	bf_json_close(j, ']');
	bf_json_open(j, "names", '[');
	for (size_t i = 0; i < t.nnames; i++)
		bf_json_text(j, NULL, t.names[i]);
	bf_json_close(j, ']');
	put_rows(&t);
	bf_json_u64(j, "end", t.end_ps);
	bf_json_u64(j, "left", job->result->left);
	job->result->items = t.nrows;
	for (size_t i = 0; i < t.nnames; i++)
		free(t.names[i]);
	free(t.names);
	free(t.rows);
	bf_number_map_free(&t.by_name);
	return rc;
}

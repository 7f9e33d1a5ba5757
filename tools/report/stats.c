#include "tools/report/stats.h"

#include <string.h>

void bf_hist_by_power(const struct bf_hist *h, uint64_t of[64])
{
	for (uint32_t i = 0; i < 64; i++)
		of[i] = 0;
	/* The first steps are exact; from then on there are BF_HIST_SUB in each power of two. */
	for (uint32_t i = 0; i < BF_HIST_BUCKETS; i++)
		of[i < BF_HIST_SUB ? 3 : i / BF_HIST_SUB + 3] += h->bucket[i];
}

static void json_hist(struct bf_json *j, const char *name, const struct bf_hist *h)
{
	bf_json_open(j, NULL, '{');
	bf_json_text(j, "until", name);
	bf_json_u64(j, "count", h->count);
	bf_json_u64(j, "sum_ps", h->sum);
	bf_json_u64(j, "min_ps", h->min);
	bf_json_u64(j, "p50_ps", bf_hist_quantile(h, 500000));
	bf_json_u64(j, "p90_ps", bf_hist_quantile(h, 900000));
	bf_json_u64(j, "p99_ps", bf_hist_quantile(h, 990000));
	bf_json_u64(j, "max_ps", h->max);
	bf_json_close(j, '}');
}

static void json_powers(struct bf_json *j, const struct bf_hist *h)
{
	uint64_t of[64];

	bf_hist_by_power(h, of);
	bf_json_open(j, "histogram", '[');
	for (uint32_t i = 0; i < 63; i++) {
		if (!of[i])
			continue;
		bf_json_open(j, NULL, '[');
		bf_json_u64(j, NULL, 2ull << i);
		bf_json_u64(j, NULL, of[i]);
		bf_json_close(j, ']');
	}
	bf_json_close(j, ']');
}

void bf_stats_json(struct bf_json *j, const struct bf_stages *s, const char *queue)
{
	const struct bf_stage_queue *q;
	const struct bf_stage_busy *b;

	bf_json_open(j, "queues", '[');
	for (uint32_t i = 0; (q = bf_stages_queue(s, i)); i++) {
		if (queue && !strstr(q->name, queue))
			continue;
		bf_json_open(j, NULL, '{');
		bf_json_text(j, "name", q->name);
		bf_json_text(j, "kind", q->kind);
		bf_json_u64(j, "entries", q->entries);
		bf_json_u64(j, "unfinished", q->unfinished);
		bf_json_open(j, "stages", '[');
		for (uint32_t k = 0; k < q->nstages; k++) {
			if (q->hist[k].count)
				json_hist(j, q->stage[k], &q->hist[k]);
		}
		json_hist(j, "all", &q->whole);
		bf_json_close(j, ']');
		json_powers(j, &q->whole);
		bf_json_close(j, '}');
	}
	bf_json_close(j, ']');
	bf_json_open(j, "engines", '[');
	for (uint32_t i = 0; (b = bf_stages_busy(s, i)); i++) {
		bf_json_open(j, NULL, '{');
		bf_json_text(j, "name", b->name);
		bf_json_u64(j, "count", b->count);
		bf_json_u64(j, "bytes", b->bytes);
		bf_json_u64(j, "busy_ps", b->busy_ps);
		bf_json_close(j, '}');
	}
	bf_json_close(j, ']');
}

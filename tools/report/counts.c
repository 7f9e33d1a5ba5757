#include "tools/report/counts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/bootstrap/bootstrap.h"
#include "sim/fault.h"
#include "sim/stats.h"

/* Histograms have `count` and what follows; counters only `value`. */
struct stat {
	char *name, *unit;
	bool histogram;
	uint64_t value;
	uint64_t count, min, p50, p90, p99, max;
};

struct rule {
	char *text;
	uint64_t fired, seen;
};

struct bf_counts {
	struct stat *stats;
	struct rule *rules;
	uint32_t nstats, nrules;
	bool failed;
};

static void count_one(void *arg, const char *name, const char *unit, const uint64_t *counter, const struct bf_hist *h)
{
	(void)name;
	(void)unit;
	(void)counter;
	(void)h;
	++*(uint32_t *)arg;
}

static void take_stat(void *arg, const char *name, const char *unit, const uint64_t *counter, const struct bf_hist *h)
{
	struct bf_counts *c = arg;
	struct stat *s = &c->stats[c->nstats++];

	*s = (struct stat){ .name = strdup(name), .unit = strdup(unit), .histogram = h != NULL };
	c->failed |= !s->name || !s->unit;
	if (!h) {
		s->value = *counter;
		return;
	}
	s->count = h->count;
	s->min = h->min;
	s->p50 = bf_hist_quantile(h, 500000);
	s->p90 = bf_hist_quantile(h, 900000);
	s->p99 = bf_hist_quantile(h, 990000);
	s->max = h->max;
}

/* One line of the plan's description for each rule, without its comment. */
static bool take_rules(struct bf_counts *c, const struct bf_fault_plan *plan)
{
	const uint32_t n = bf_fault_plan_rules(plan);
	const size_t cap = bf_fault_plan_describe(plan, NULL, 0) + 1;
	char *text = malloc(cap), *rest = text, *line;

	c->rules = calloc(n ? n : 1, sizeof(*c->rules));
	if (!text || !c->rules) {
		free(text);
		return false;
	}
	bf_fault_plan_describe(plan, text, cap);
	while (c->nrules < n && (line = strsep(&rest, "\n"))) {
		struct rule *r = &c->rules[c->nrules];

		r->fired = bf_fault_plan_fired(plan, c->nrules);
		r->seen = bf_fault_plan_seen(plan, c->nrules);
		r->text = strndup(line, (size_t)(strstr(line, " #") - line));
		c->failed |= !r->text;
		c->nrules++;
	}
	free(text);
	return true;
}

struct bf_counts *bf_counts_take(const struct bf_sim *sim)
{
	struct bf_counts *c = calloc(1, sizeof(*c));
	uint32_t n = 0;

	if (!c)
		return NULL;
	bf_stats_each(sim, count_one, &n);
	c->stats = calloc(n ? n : 1, sizeof(*c->stats));
	if (c->stats)
		bf_stats_each(sim, take_stat, c);
	if (!c->stats || (sim->faults && !take_rules(c, sim->faults)) || c->failed) {
		bf_counts_free(c);
		return NULL;
	}
	return c;
}

void bf_counts_free(struct bf_counts *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->nstats; i++) {
		free(c->stats[i].name);
		free(c->stats[i].unit);
	}
	for (uint32_t i = 0; i < c->nrules; i++)
		free(c->rules[i].text);
	free(c->stats);
	free(c->rules);
	free(c);
}

/* ---- those of other processes ---- */

#define STAT_NUMBERS 7u

/* One statistic or rule on its way to rank 0; two texts follow, then zeros up to a multiple of 8. */
struct packed {
	uint32_t is_rule, histogram;
	uint32_t len[2];
	uint64_t numbers[STAT_NUMBERS];
};

/* Appends to `out` when that is not NULL; returns the size. */
static size_t pack(uint8_t *out, const struct packed *p, const char *first, const char *second)
{
	const size_t texts = (size_t)p->len[0] + p->len[1], span = sizeof(*p) + ((texts + 7) & ~(size_t)7);

	if (out) {
		memset(out + span - 8, 0, 8);
		memcpy(out, p, sizeof(*p));
		memcpy(out + sizeof(*p), first, p->len[0]);
		memcpy(out + sizeof(*p) + p->len[0], second, p->len[1]);
	}
	return span;
}

static size_t pack_all(const struct bf_counts *c, uint8_t *out)
{
	size_t used = 0;

	for (uint32_t i = 0; i < c->nstats; i++) {
		const struct stat *s = &c->stats[i];
		const struct packed p = { .histogram = s->histogram,
					  .len = { (uint32_t)strlen(s->name), (uint32_t)strlen(s->unit) },
					  .numbers = { s->value, s->count, s->min, s->p50, s->p90, s->p99, s->max } };

		used += pack(out ? out + used : NULL, &p, s->name, s->unit);
	}
	for (uint32_t i = 0; i < c->nrules; i++) {
		const struct rule *r = &c->rules[i];
		const struct packed p = { .is_rule = 1,
					  .len = { (uint32_t)strlen(r->text) },
					  .numbers = { r->fired, r->seen } };

		used += pack(out ? out + used : NULL, &p, r->text, "");
	}
	return used;
}

static struct stat *find_counter(struct bf_counts *c, const char *name, size_t len)
{
	for (uint32_t i = 0; i < c->nstats; i++)
		if (!c->stats[i].histogram && strlen(c->stats[i].name) == len &&
		    strncmp(c->stats[i].name, name, len) == 0)
			return &c->stats[i];
	return NULL;
}

static bool add_stat(struct bf_counts *c, uint32_t own, const struct packed *p, const char *texts)
{
	struct bf_counts mine = { .stats = c->stats, .nstats = own };
	struct stat *same = p->histogram ? NULL : find_counter(&mine, texts, p->len[0]), *s;

	if (same) {
		same->value += p->numbers[0];
		return true;
	}
	s = &c->stats[c->nstats++];
	*s = (struct stat){ .name = strndup(texts, p->len[0]),
			    .unit = strndup(texts + p->len[0], p->len[1]),
			    .histogram = p->histogram != 0,
			    .value = p->numbers[0],
			    .count = p->numbers[1],
			    .min = p->numbers[2],
			    .p50 = p->numbers[3],
			    .p90 = p->numbers[4],
			    .p99 = p->numbers[5],
			    .max = p->numbers[6] };
	return s->name && s->unit;
}

/* One process's. Rules are those of the same plan, in the same order. */
static int unpack(struct bf_counts *c, uint32_t own, const struct bf_boot_buf *in)
{
	const uint8_t *data = in->data;
	uint32_t rule = 0;
	size_t span;

	for (size_t at = 0; at < in->bytes; at += span) {
		struct packed p;
		size_t texts;

		if (in->bytes - at < sizeof(p))
			return -EPROTO;
		memcpy(&p, data + at, sizeof(p));
		texts = (size_t)p.len[0] + p.len[1];
		span = sizeof(p) + ((texts + 7) & ~(size_t)7);
		if (span > in->bytes - at)
			return -EPROTO;
		if (p.is_rule && rule < c->nrules) {
			c->rules[rule].fired += p.numbers[0];
			c->rules[rule++].seen += p.numbers[1];
		} else if (!p.is_rule && !add_stat(c, own, &p, (const char *)data + at + sizeof(p))) {
			return -ENOMEM;
		}
	}
	return 0;
}

/* As a simulation lists them. */
static int by_name(const void *a, const void *b)
{
	const struct stat *x = a, *y = b;
	const int order = strcmp(x->name, y->name);

	return order ? order : (int)x->histogram - (int)y->histogram;
}

int bf_counts_gather(struct bf_counts *c, struct bf_boot *ranks, struct bf_error *err)
{
	const uint32_t n = ranks->npes, own = c->nstats;
	struct bf_boot_part *out = calloc(n, sizeof(*out));
	struct bf_boot_buf *in = calloc(n, sizeof(*in));
	const size_t bytes = pack_all(c, NULL);
	uint8_t *packed = malloc(bytes ? bytes : 1);
	int rc = out && in && packed ? 0 : -ENOMEM;
	size_t more = 0;

	if (!rc && ranks->pe != 0)
		out[0] = (struct bf_boot_part){ packed, pack_all(c, packed) };
	if (!rc)
		rc = bf_boot_exchange(ranks, out, in);
	for (uint32_t i = 0; !rc && i < n; i++)
		more += in[i].bytes / sizeof(struct packed);
	if (!rc && more) {
		struct stat *stats = realloc(c->stats, (own + more) * sizeof(*stats));

		rc = stats ? 0 : -ENOMEM;
		c->stats = stats ? stats : c->stats;
	}
	for (uint32_t i = 0; !rc && i < n; i++)
		rc = unpack(c, own, &in[i]);
	if (!rc)
		qsort(c->stats, c->nstats, sizeof(*c->stats), by_name);
	for (uint32_t i = 0; in && i < n; i++)
		free(in[i].data);
	free(in);
	free(out);
	free(packed);
	return rc && err->code != rc ? bf_fail(err, rc, "the statistics of the ranks do not come together") : rc;
}

/* ---- output ---- */

/* Times in the unit that leaves one to three digits in front of the point. */
static void scaled(uint64_t value, const char *unit, char *buf, size_t cap)
{
	static const char *const times[] = { "ps", "ns", "us", "ms", "s" };
	uint64_t whole = value, part = 0;
	size_t i = 0;

	if (strcmp(unit, "ps") != 0) {
		snprintf(buf, cap, "%" PRIu64 "%s%s", value, *unit ? " " : "", unit);
		return;
	}
	while (whole >= 1000 && i + 1 < BF_ARRAY_LEN(times)) {
		part = whole % 1000;
		whole /= 1000;
		i++;
	}
	if (i)
		snprintf(buf, cap, "%" PRIu64 ".%03" PRIu64 " %s", whole, part, times[i]);
	else
		snprintf(buf, cap, "%" PRIu64 " %s", whole, times[i]);
}

static bool is_zero(const struct stat *s)
{
	return s->histogram ? s->count == 0 : s->value == 0;
}

static void print_histogram(FILE *out, const struct stat *s, int width)
{
	const uint64_t values[] = { s->min, s->p50, s->p90, s->p99, s->max };

	fprintf(out, "  %-*s  %14" PRIu64, width, s->name, s->count);
	for (size_t i = 0; i < BF_ARRAY_LEN(values); i++) {
		char text[40];

		scaled(values[i], s->unit, text, sizeof(text));
		fprintf(out, "  %11s", text);
	}
	putc('\n', out);
}

static void print_histograms(FILE *out, const struct bf_counts *c, int width)
{
	bool head = false;

	for (uint32_t i = 0; i < c->nstats; i++) {
		const struct stat *s = &c->stats[i];

		if (!s->histogram || is_zero(s))
			continue;
		if (!head)
			fprintf(out, "  %-*s  %14s  %11s  %11s  %11s  %11s  %11s\n", width, "", "count", "min", "50 %",
				"90 %", "99 %", "max");
		head = true;
		print_histogram(out, s, width);
	}
}

void bf_counts_print_stats(FILE *out, const struct bf_counts *c)
{
	uint32_t zero = 0;
	int width = 0;

	for (uint32_t i = 0; i < c->nstats; i++) {
		const int len = (int)strlen(c->stats[i].name);

		zero += is_zero(&c->stats[i]);
		if (!is_zero(&c->stats[i]) && len > width)
			width = len;
	}
	fprintf(out, "statistics");
	if (zero)
		fprintf(out, " (without %" PRIu32 " that are 0)", zero);
	putc('\n', out);
	for (uint32_t i = 0; i < c->nstats; i++) {
		const struct stat *s = &c->stats[i];

		if (!s->histogram && !is_zero(s))
			fprintf(out, "  %-*s  %14" PRIu64 "%s%s\n", width, s->name, s->value, *s->unit ? " " : "",
				s->unit);
	}
	print_histograms(out, c, width);
}

void bf_counts_json_stats(struct bf_json *j, const struct bf_counts *c)
{
	bf_json_open(j, "stats", '{');
	for (uint32_t i = 0; i < c->nstats; i++) {
		const struct stat *s = &c->stats[i];

		if (!s->histogram) {
			bf_json_u64(j, s->name, s->value);
			continue;
		}
		bf_json_open(j, s->name, '{');
		bf_json_text(j, "unit", s->unit);
		bf_json_u64(j, "count", s->count);
		bf_json_u64(j, "min", s->min);
		bf_json_u64(j, "p50", s->p50);
		bf_json_u64(j, "p90", s->p90);
		bf_json_u64(j, "p99", s->p99);
		bf_json_u64(j, "max", s->max);
		bf_json_close(j, '}');
	}
	bf_json_close(j, '}');
}

void bf_counts_print_faults(FILE *out, const struct bf_counts *c)
{
	int width = 0;

	for (uint32_t i = 0; i < c->nrules; i++) {
		const int len = (int)strlen(c->rules[i].text);

		width = len > width ? len : width;
	}
	if (c->nrules)
		fprintf(out, "fault rules\n");
	for (uint32_t i = 0; i < c->nrules; i++) {
		const struct rule *r = &c->rules[i];

		fprintf(out, "  %-*s  ", width, r->text);
		if (r->fired)
			fprintf(out, "fired %" PRIu64 " of %" PRIu64 " times\n", r->fired, r->seen);
		else if (r->seen)
			fprintf(out, "NEVER FIRED in %" PRIu64 " times\n", r->seen);
		else
			fprintf(out, "NEVER FIRED: nothing that it applies to has happened\n");
	}
}

void bf_counts_json_faults(struct bf_json *j, const struct bf_counts *c)
{
	if (!c->nrules)
		return;
	bf_json_open(j, "fault_rules", '[');
	for (uint32_t i = 0; i < c->nrules; i++) {
		bf_json_open(j, NULL, '{');
		bf_json_text(j, "rule", c->rules[i].text);
		bf_json_u64(j, "fired", c->rules[i].fired);
		bf_json_u64(j, "opportunities", c->rules[i].seen);
		bf_json_close(j, '}');
	}
	bf_json_close(j, ']');
}

/* A row for each device that counts doorbells: its counters by name, the difference to the look before. */
#include "tools/report/top.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "drivers/backend/backend.h"
#include "sim/clock.h"
#include "sim/stats.h"
#include "tools/cli/cli.h"

#define ROWS_MAX 64u
#define LOOK_PS (200000 * BF_US)
#define LINE_EVERY 5u /* looks, when it is no terminal */

enum column { DOORBELLS, ENTRIES, DONE, READ, WRITTEN, SENT, RECEIVED, ERRORS, COLUMNS };

/* Which counters of a device are which; ends of their names. A device has one of each column at most but errors. */
static const struct {
	const char *name;
	enum column column;
} counters[] = {
	{ "doorbells", DOORBELLS },     { "wqes_fetched", ENTRIES },  { "commands", ENTRIES },
	{ "packets", ENTRIES },         { "wqes_completed", DONE },   { "completions", DONE },
	{ "pcie.down_bytes", READ },    { "pcie.up_bytes", WRITTEN }, { "p1.tx_bytes", SENT },
	{ "p1.rx_bytes", RECEIVED },    { "timeouts", ERRORS },       { "packets_resent", ERRORS },
	{ "lost_completions", ERRORS }, { "dma_errors", ERRORS },
};

struct row {
	char name[24];
	uint64_t now[COLUMNS], before[COLUMNS];
	uint64_t moved_ns; /* when something was last completed, or nothing was under way */
	bool finishes;     /* it counts what is done */
};

struct bf_top {
	struct bf_event look;
	struct bf_sim *sim;
	const char *title;
	struct row rows[ROWS_MAX];
	uint32_t nrows, more; /* devices that have no row */
	uint32_t lines;       /* drawn, to be drawn over */
	uint32_t looks;
	uint64_t began_ns, last_ns;
	bool terminal;
};

/* ---- looking ---- */

static struct row *row_of(struct bf_top *t, const char *name, size_t len)
{
	for (uint32_t i = 0; i < t->nrows; i++) {
		if (strlen(t->rows[i].name) == len && memcmp(t->rows[i].name, name, len) == 0)
			return &t->rows[i];
	}
	if (len >= sizeof(t->rows->name))
		return NULL;
	if (t->nrows == ROWS_MAX) {
		t->more = 1;
		return NULL;
	}
	memcpy(t->rows[t->nrows].name, name, len);
	t->rows[t->nrows].moved_ns = bf_monotonic_ns();
	return &t->rows[t->nrows++];
}

static void take(void *arg, const char *name, const char *unit, const uint64_t *counter, const struct bf_hist *hist)
{
	struct bf_top *t = arg;
	/* A queue's counters (ring0.r0.packets) add up to its device's. */
	const char *dot = strchr(name, '.'), *rest = dot ? dot + 1 : NULL;

	(void)unit;
	(void)hist;
	if (!counter || !rest)
		return;
	if (rest[0] == 'q' && rest[1] >= '0' && rest[1] <= '9' && strchr(rest, '.'))
		rest = strchr(rest, '.') + 1;
	for (size_t i = 0; i < BF_ARRAY_LEN(counters); i++) {
		struct row *r;

		if (strcmp(rest, counters[i].name) != 0 || !(r = row_of(t, name, (size_t)(dot - name))))
			continue;
		r->now[counters[i].column] += *counter;
		r->finishes |= counters[i].column == DONE;
	}
}

/* ---- drawing ---- */

/* "12.3 M", six characters at most. */
static const char *scaled(double v, char out[16])
{
	static const char units[] = " kMGT";
	size_t u = 0;

	for (; v >= 999.5 && u + 1 < sizeof(units) - 1; u++)
		v /= 1000;
	snprintf(out, 16, v < 9.995 && u ? "%.2f %c" : v < 99.95 && u ? "%.1f %c" : "%.0f %c", v, units[u]);
	return out;
}

static const char *rate(const struct row *r, enum column c, double seconds, char out[16])
{
	return scaled(seconds > 0 ? (double)(r->now[c] - r->before[c]) / seconds : 0, out);
}

static void put_line(struct bf_top *t, const char *text, unsigned width)
{
	fprintf(stderr, "%.*s%s\n", (int)width, text, t->terminal ? "\033[K" : "");
	t->lines++;
}

static void put_row(struct bf_top *t, const struct row *r, double seconds, uint64_t now, unsigned width)
{
	char a[16], b[16], c[16], d[16], e[16], f[16], g[16], wait[24] = "-", flying[24] = "-", line[200];
	const uint64_t under_way = r->now[ENTRIES] - r->now[DONE];

	if (r->finishes && r->now[ENTRIES] >= r->now[DONE]) {
		snprintf(flying, sizeof(flying), "%" PRIu64, under_way);
		if (under_way)
			snprintf(wait, sizeof(wait), "%.1f s", (double)(now - r->moved_ns) / 1e9);
	}
	snprintf(line, sizeof(line), "%-10s %10s %10s %10s %9s %9s %9s %9s %9s %8s %8" PRIu64, r->name,
		 rate(r, DOORBELLS, seconds, a), rate(r, ENTRIES, seconds, b), rate(r, DONE, seconds, c),
		 rate(r, READ, seconds, d), rate(r, WRITTEN, seconds, e), rate(r, SENT, seconds, f),
		 rate(r, RECEIVED, seconds, g), flying, wait, r->now[ERRORS]);
	put_line(t, line, width);
}

static unsigned width_of(const struct bf_top *t, unsigned *height)
{
	struct winsize size;

	*height = 24;
	if (!t->terminal || ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col < 20 || size.ws_row < 4)
		return t->terminal ? 79 : 199;
	*height = size.ws_row;
	return size.ws_col - 1u;
}

static void draw(struct bf_top *t, uint64_t now)
{
	const double seconds = (double)(now - t->last_ns) / 1e9;
	unsigned height, width = width_of(t, &height), shown = 0;
	char line[200];

	if (t->terminal && t->lines)
		fprintf(stderr, "\033[%uA", t->lines);
	t->lines = 0;
	snprintf(line, sizeof(line), "%.1f s  %s", (double)(now - t->began_ns) / 1e9, t->title);
	put_line(t, line, width);
	put_line(t,
		 "device    doorbells/s  entries/s     done/s    read/s  written/s    sent/s received/s under way"
		 "  waits for   errors",
		 width);
	for (uint32_t i = 0; i < t->nrows && shown + 3 < height; i++, shown++)
		put_row(t, &t->rows[i], seconds, now, width);
	if (shown < t->nrows || t->more) {
		snprintf(line, sizeof(line), "and %u more", t->nrows - shown + t->more);
		put_line(t, line, width);
	}
	fflush(stderr);
}

static void look(struct bf_top *t, bool show)
{
	const uint64_t now = bf_monotonic_ns();

	for (uint32_t i = 0; i < t->nrows; i++)
		memset(t->rows[i].now, 0, sizeof(t->rows[i].now));
	bf_stats_each(t->sim, take, t);
	for (uint32_t i = 0; i < t->nrows; i++) {
		struct row *r = &t->rows[i];

		if (r->now[DONE] != r->before[DONE] || r->now[DONE] == r->now[ENTRIES])
			r->moved_ns = now;
	}
	if (!show)
		return;
	draw(t, now);
	t->last_ns = now;
	for (uint32_t i = 0; i < t->nrows; i++)
		memcpy(t->rows[i].before, t->rows[i].now, sizeof(t->rows[i].now));
}

static void on_look(struct bf_event *ev)
{
	struct bf_top *t = BF_CONTAINER_OF(ev, struct bf_top, look);

	look(t, t->terminal || ++t->looks % LINE_EVERY == 0);
	bf_sim_after(t->sim, &t->look, LOOK_PS);
}

struct bf_top *bf_top_start(struct bf_sim *sim, const char *title)
{
	struct bf_top *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->sim = sim;
	t->title = title;
	t->terminal = bf_cli_redraws();
	t->began_ns = t->last_ns = bf_monotonic_ns();
	bf_event_init(&t->look, on_look);
	bf_sim_after(sim, &t->look, LOOK_PS);
	return t;
}

void bf_top_stop(struct bf_top *t)
{
	if (!t)
		return;
	look(t, true);
	bf_sim_cancel(t->sim, &t->look);
	free(t);
}

int bf_top_run(const struct bf_backend *backend, struct bf_world *world, struct bf_world_result *out, bool on,
	       const char *title)
{
	struct bf_top *t = on ? bf_top_start(backend->sim(world), title) : NULL;
	int rc = backend->run(world, out);

	bf_top_stop(t);
	return rc;
}

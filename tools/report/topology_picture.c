/*
 * The picture has three rows: spines, leaves, and below each leaf its hosts. A cable is two strokes, one a direction,
 * wider and warmer the more of the run it was sending. What stands out gets a letter, and a line of text at the foot.
 */
#include "tools/report/topology_picture.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/fabric/records.h"
#include "models/fabric/topology.h"
#include "sim/grow.h"
#include "sim/sim.h"

#define NAME_MAX_LEN 32u
#define LEFT 48u
#define TOP 96u
#define ROW 190u /* between spines and leaves */
#define BOX_HEIGHT 26u
#define ROOM_FOR_NUMBER 24u
#define WIDTH_MIN 900u
#define WIDTH_MAX 1500u
#define HOST_MAX 34u   /* a host with its number is as wide as this where there is room, */
#define HOST_MIN 20u   /* and at least this; otherwise */
#define HOST_SMALL 10u /* it is a cell */
#define HOST_ROW 110u  /* between leaves and hosts that are drawn with their cables */
#define HOT_MAX 10u
#define HOT_PPM 500000u /* from half of the line rate on a link may be called hot */

struct link {
	char from[NAME_MAX_LEN], to[NAME_MAX_LEN];
	uint64_t packets, bytes, dropped, marked, pauses, pause_ps, busy_ps, queue_max, queue_mean;
	uint32_t gbps, kind, load_ppm;
	bool up;
	char letter; /* 0: nothing special */
};

struct host {
	uint32_t leaf, column, row;
	const char *name;
	struct link *from, *to;
};

struct picture {
	struct link *links;
	struct host *hosts;
	uint32_t n, cap, nhosts, leaves, spines;
	uint32_t columns; /* of hosts below a leaf */
	uint32_t most;    /* hosts of one leaf */
	bool small;       /* hosts are cells in rows */
	uint32_t group, cell, width, height;
	uint64_t end_ps;
};

/* ---- collecting ---- */

/* Room for one more. */
static struct link *add_link(struct picture *p)
{
	return BF_GROW(p->links, p->cap, p->n + 1) ? NULL : &p->links[p->n++];
}

/* A run that stopped and went on reports again: at another time, or from the first link on. */
static bool begins_again(const struct picture *p, const struct link *l, uint64_t time_ps)
{
	return p->n && (time_ps != p->end_ps || (!strcmp(p->links[0].from, l->from) && !strcmp(p->links[0].to, l->to)));
}

static int take(struct picture *p, const struct bf_trace_record *rec)
{
	struct link l = { 0 }, *at;
	uint64_t gbps = 0, kind = 0, up = 0;
	const struct {
		const char *name;
		uint64_t *value;
	} fields[] = {
		{ "packets", &l.packets },
		{ "bytes", &l.bytes },
		{ "dropped", &l.dropped },
		{ "marked", &l.marked },
		{ "pauses", &l.pauses },
		{ "pause_ps", &l.pause_ps },
		{ "busy_ps", &l.busy_ps },
		{ "queue_max", &l.queue_max },
		{ "queue_mean", &l.queue_mean },
		{ "gbps", &gbps },
		{ "kind", &kind },
		{ "up", &up },
	};

	for (size_t i = 0; i < BF_ARRAY_LEN(fields); i++)
		bf_trace_field_u64(rec, fields[i].name, fields[i].value);
	if (!bf_trace_field_text(rec, "from", l.from, sizeof(l.from)) ||
	    !bf_trace_field_text(rec, "to", l.to, sizeof(l.to)) || kind > BF_LINK_DOWN)
		return 0;
	l.gbps = (uint32_t)gbps;
	l.kind = (uint32_t)kind;
	l.up = up != 0;
	p->n = begins_again(p, &l, rec->time_ps) ? 0 : p->n;
	at = add_link(p);
	if (!at)
		return -ENOMEM;
	*at = l;
	p->end_ps = rec->time_ps;
	return 0;
}

/* The number behind `prefix`, or -1. */
static int64_t number_of(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);
	char *end;
	unsigned long v;

	if (strncmp(name, prefix, n) != 0 || name[n] < '0' || name[n] > '9')
		return -1;
	v = strtoul(name + n, &end, 10);
	return v < 65536 ? (int64_t)v : -1;
}

/* The two directions of a host's link are told of together. */
static struct host *host_of(struct picture *p, const char *name, uint32_t leaf)
{
	struct host *last = p->nhosts ? &p->hosts[p->nhosts - 1] : NULL;

	if (last && last->leaf == leaf && !strcmp(last->name, name))
		return last;
	p->hosts[p->nhosts] = (struct host){ .leaf = leaf, .name = name };
	return &p->hosts[p->nhosts++];
}

/* Who is there; a link of whatever else is left out. */
static void place(struct picture *p, struct link *l)
{
	bool down = l->kind == BF_LINK_TO_HOST || l->kind == BF_LINK_DOWN;
	int64_t leaf = number_of(l->kind == BF_LINK_TO_HOST || l->kind == BF_LINK_UP ? l->from : l->to, "leaf");
	int64_t spine = number_of(down ? l->from : l->to, "spine");
	struct host *h;

	if (leaf < 0)
		return;
	p->leaves = leaf >= p->leaves ? (uint32_t)leaf + 1 : p->leaves;
	if (l->kind == BF_LINK_UP || l->kind == BF_LINK_DOWN) {
		p->spines = spine >= p->spines ? (uint32_t)spine + 1 : p->spines;
		return;
	}
	h = host_of(p, l->kind == BF_LINK_TO_HOST ? l->to : l->from, (uint32_t)leaf);
	*(l->kind == BF_LINK_TO_HOST ? &h->to : &h->from) = l;
}

static int arrange(struct picture *p)
{
	uint32_t *below, columns, room;

	p->hosts = calloc(p->n + 1, sizeof(*p->hosts));
	if (!p->hosts)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n; i++) {
		p->links[i].load_ppm = p->end_ps ? (uint32_t)((bf_u128)p->links[i].busy_ps * 1000000 / p->end_ps) : 0;
		place(p, &p->links[i]);
	}
	below = calloc(p->leaves + 1, sizeof(*below));
	if (!below)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nhosts; i++) {
		uint32_t n = ++below[p->hosts[i].leaf];

		p->most = n > p->most ? n : p->most;
	}
	room = p->most ? WIDTH_MAX / (p->leaves * p->most) : HOST_MAX;
	p->small = room < HOST_MIN;
	p->cell = p->small ? HOST_SMALL : room < HOST_MAX ? room : HOST_MAX;
	columns = p->small ? (WIDTH_MAX / (p->leaves ? p->leaves : 1) - 6) / HOST_SMALL : p->most;
	p->columns = columns < 1 ? 1 : columns > p->most ? p->most : columns;
	p->group = p->columns * p->cell + (p->small ? 6 : 28);
	p->group = p->group * p->leaves < WIDTH_MIN && p->leaves ? WIDTH_MIN / p->leaves : p->group;
	memset(below, 0, p->leaves * sizeof(*below));
	for (uint32_t i = 0; i < p->nhosts; i++) {
		uint32_t n = below[p->hosts[i].leaf]++;

		p->hosts[i].column = n % p->columns;
		p->hosts[i].row = n / p->columns;
	}
	free(below);
	p->width = 2 * LEFT + p->group * p->leaves;
	return 0;
}

/* ---- what stands out ---- */

static uint64_t trouble(const struct link *l)
{
	uint64_t score = l->load_ppm >= HOT_PPM ? l->load_ppm : 0;

	score += l->dropped ? 4000000 : 0;
	score += l->up ? 0 : 8000000;
	score += l->marked ? 1000000 : 0;
	return score + (l->pause_ps && !score ? 1 : 0);
}

static int by_trouble(const void *a, const void *b)
{
	const struct link *x = *(struct link *const *)a, *y = *(struct link *const *)b;
	uint64_t s = trouble(x), t = trouble(y);

	if (s != t)
		return s < t ? 1 : -1;
	if (x->queue_max != y->queue_max)
		return x->queue_max < y->queue_max ? 1 : -1;
	return x < y ? -1 : x > y;
}

/* Gives letters to the worst; returns how many. `hot` has room for all links. */
static uint32_t find_hot(struct picture *p, struct link **hot)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n; i++)
		if (trouble(&p->links[i]))
			hot[n++] = &p->links[i];
	qsort(hot, n, sizeof(*hot), by_trouble);
	n = n < HOT_MAX ? n : HOT_MAX;
	for (uint32_t i = 0; i < n; i++)
		hot[i]->letter = (char)('A' + i);
	return n;
}

/* ---- drawing ---- */

/* From a cool grey over amber to red; idle links are paper-grey, broken ones dashed. */
static uint32_t colour(uint32_t ppm)
{
	static const uint8_t stops[5][3] = {
		{ 201, 210, 217 }, { 108, 160, 196 }, { 240, 190, 80 }, { 232, 119, 46 }, { 190, 22, 34 }
	};
	uint32_t at = ppm >= 1000000 ? 999999 : ppm, i = at / 250000, part = at % 250000, rgb = 0;

	for (uint32_t c = 0; c < 3; c++)
		rgb = rgb << 8 | (stops[i][c] * (250000 - part) + stops[i + 1][c] * part) / 250000;
	return rgb;
}

static uint32_t leaf_x(const struct picture *p, uint32_t leaf)
{
	return LEFT + p->group * leaf + p->group / 2;
}

static uint32_t spine_x(const struct picture *p, uint32_t spine)
{
	return LEFT + (2 * spine + 1) * (p->width - 2 * LEFT) / (2 * p->spines);
}

static uint32_t leaf_y(const struct picture *p)
{
	return p->spines ? TOP + BOX_HEIGHT + ROW : TOP;
}

static uint32_t host_x(const struct picture *p, const struct host *h)
{
	uint32_t row_width = p->columns * p->cell;

	return leaf_x(p, h->leaf) - row_width / 2 + h->column * p->cell + p->cell / 2;
}

static uint32_t host_y(const struct picture *p, const struct host *h)
{
	return leaf_y(p) + BOX_HEIGHT + (p->small ? 18 : HOST_ROW) + h->row * p->cell;
}

/* A stroke from (x0, y0) to (x1, y1), to the side of the cable's middle; lettered ones get a disc where nobody meets.
 */
static void draw_link(FILE *out, const struct link *l, uint32_t x0, uint32_t y0, uint32_t x1, uint32_t y1, double side)
{
	double width = 0.8 + l->load_ppm * 4.2 / 1000000;

	fprintf(out, "<path d=\"M%.1f %uL%.1f %u\" stroke=\"#%06x\" stroke-width=\"%.1f\"%s/>\n", x0 + side, y0,
		x1 + side, y1, l->up ? colour(l->load_ppm) : 0xbe1622, l->up ? width : 1.5,
		l->up ? "" : " stroke-dasharray=\"4 4\"");
}

static void draw_letter(FILE *out, char letter, double x, double y)
{
	fprintf(out,
		"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"8\" fill=\"#fff\" stroke=\"#2b2a27\"/>"
		"<text x=\"%.1f\" y=\"%.1f\" class=\"l\">%c</text>\n",
		x, y, x, y + 4, letter);
}

static void draw_uplinks(const struct picture *p, FILE *out, bool letters)
{
	for (uint32_t i = 0; i < p->n; i++) {
		const struct link *l = &p->links[i];
		bool up = l->kind == BF_LINK_UP;
		int64_t leaf = number_of(up ? l->from : l->to, "leaf"),
			spine = number_of(up ? l->to : l->from, "spine");
		double x0, x1, at;

		if ((!up && l->kind != BF_LINK_DOWN) || leaf < 0 || spine < 0 || (letters && !l->letter))
			continue;
		x0 = leaf_x(p, (uint32_t)leaf);
		x1 = spine_x(p, (uint32_t)spine);
		if (!letters) {
			draw_link(out, l, (uint32_t)x0, leaf_y(p), (uint32_t)x1, TOP + BOX_HEIGHT, up ? -1.5 : 1.5);
			continue;
		}
		at = 0.18 + (l->letter - 'A') % 4 * 0.08;
		at = up ? at : 1 - at;
		draw_letter(out, l->letter, x0 + (x1 - x0) * at, leaf_y(p) - (double)ROW * at);
	}
}

static void draw_host_cables(const struct picture *p, FILE *out)
{
	for (uint32_t i = 0; i < p->nhosts && !p->small; i++) {
		const struct host *h = &p->hosts[i];
		uint32_t x = host_x(p, h), y = host_y(p, h), lx = leaf_x(p, h->leaf), ly = leaf_y(p) + BOX_HEIGHT;

		if (h->from)
			draw_link(out, h->from, lx, ly, x, y, -1.5);
		if (h->to)
			draw_link(out, h->to, lx, ly, x, y, 1.5);
	}
}

static uint32_t load_of(const struct link *l)
{
	return l ? l->load_ppm : 0;
}

/* Left half: what the host sends; right half: what it gets. */
static void draw_hosts(const struct picture *p, FILE *out)
{
	for (uint32_t i = 0; i < p->nhosts; i++) {
		const struct host *h = &p->hosts[i];
		uint32_t x = host_x(p, h), y = host_y(p, h), half = p->cell / 2 - 1, tall = p->small ? p->cell - 2 : 18;

		fprintf(
		    out,
		    "<g><title>%s: sends %u %%, gets %u %%</title><rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" "
		    "fill=\"#%06x\"/><rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" fill=\"#%06x\"/></g>\n",
		    h->name, load_of(h->from) / 10000, load_of(h->to) / 10000, x - half, y, half, tall,
		    colour(load_of(h->from)), x, y, half, tall, colour(load_of(h->to)));
		if (!p->small)
			fprintf(out, "<text x=\"%u\" y=\"%u\" class=\"n\">%s</text>\n", x, y + 31,
				strncmp(h->name, "host", 4) == 0 ? h->name + 4 : h->name);
	}
}

static void draw_host_letters(const struct picture *p, FILE *out)
{
	for (uint32_t i = 0; i < p->nhosts; i++) {
		const struct host *h = &p->hosts[i];
		double x = host_x(p, h), y = host_y(p, h);

		if (h->from && h->from->letter)
			draw_letter(out, h->from->letter, x - (p->small ? 0 : 7), y - (p->small ? 4 : 12));
		if (h->to && h->to->letter)
			draw_letter(out, h->to->letter, x + (p->small ? 0 : 7), y - (p->small ? -4 : 30));
	}
}

static uint32_t box_width(uint32_t room)
{
	return room > 96 ? 84 : room > 16 ? room - 6 : 10;
}

/* A switch in so much room; where that is little every fourth is told by a number below it. */
static void draw_box(FILE *out, uint32_t x, uint32_t y, uint32_t room, const char *what, uint32_t number)
{
	uint32_t width = box_width(room);

	fprintf(out, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" rx=\"4\" fill=\"#2f3e4d\"/>", x - width / 2, y,
		width, BOX_HEIGHT);
	if (room >= ROOM_FOR_NUMBER)
		fprintf(out, "<text x=\"%u\" y=\"%u\" class=\"b\">%s%u</text>", x, y + 17, room > 60 ? what : "",
			number);
	else if (number % 4 == 0)
		fprintf(out, "<text x=\"%u\" y=\"%u\" class=\"n\">%u</text>", x, y + BOX_HEIGHT + 11, number);
	fprintf(out, "\n");
}

static void draw_switches(const struct picture *p, FILE *out)
{
	uint32_t room = p->spines ? (p->width - 2 * LEFT) / p->spines : 0;

	for (uint32_t s = 0; s < p->spines; s++)
		draw_box(out, spine_x(p, s), TOP, room, "spine ", s);
	for (uint32_t l = 0; l < p->leaves; l++)
		draw_box(out, leaf_x(p, l), leaf_y(p), p->group, "leaf ", l);
}

static void draw_scale(FILE *out, uint32_t right)
{
	for (uint32_t i = 0; i < 50; i++)
		fprintf(out, "<rect x=\"%u\" y=\"26\" width=\"4\" height=\"10\" fill=\"#%06x\"/>\n",
			right - 200 + i * 4, colour(i * 20000));
	fprintf(out,
		"<text x=\"%u\" y=\"52\" class=\"t\">idle</text><text x=\"%u\" y=\"52\" class=\"t e\">sending all the "
		"time</text>\n",
		right - 200, right);
}

static void put_size(FILE *out, uint64_t bytes)
{
	if (bytes < 10240)
		fprintf(out, "%" PRIu64 " B", bytes);
	else if (bytes < 10ull << 20)
		fprintf(out, "%" PRIu64 " KiB", bytes >> 10);
	else
		fprintf(out, "%" PRIu64 " MiB", bytes >> 20);
}

static void describe(FILE *out, const struct link *l, uint32_t y)
{
	draw_letter(out, l->letter, LEFT + 8, y - 4.0);
	fprintf(
	    out,
	    "<text x=\"%u\" y=\"%u\"><tspan font-weight=\"600\">%s to %s</tspan> %s%u.%u %% of %u Gb/s, queue up to ",
	    LEFT + 26, y, l->from, l->to, l->up ? "" : "(down at the end) ", l->load_ppm / 10000,
	    l->load_ppm / 1000 % 10, l->gbps);
	put_size(out, l->queue_max);
	fprintf(out, ", on average ");
	put_size(out, l->queue_mean);
	if (l->marked)
		fprintf(out, ", %" PRIu64 " frames marked", l->marked);
	if (l->dropped)
		fprintf(out, ", <tspan fill=\"#be1622\">%" PRIu64 " lost</tspan>", l->dropped);
	if (l->pauses || l->pause_ps)
		fprintf(out, ", stopped %llu.%llu us", l->pause_ps / BF_US, l->pause_ps / (BF_US / 10) % 10);
	fprintf(out, "</text>\n");
}

static void draw(struct picture *p, FILE *out, struct link **hot)
{
	uint32_t nhot = find_hot(p, hot), foot, rows = p->columns ? (p->most + p->columns - 1) / p->columns : 0;
	uint64_t bytes = 0;

	foot = leaf_y(p) + BOX_HEIGHT + (p->small ? 18 + rows * p->cell : HOST_ROW + 40) + 40;
	p->height = foot + 24 + nhot * 22;
	for (uint32_t i = 0; i < p->nhosts; i++)
		bytes += p->hosts[i].to ? p->hosts[i].to->bytes : 0;
	fprintf(
	    out,
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %u %u\" width=\"%u\" height=\"%u\">\n"
	    "<style>text{font-family:system-ui,sans-serif;fill:#2b2a27;font-size:13px}.t{font-size:11px;fill:#6b675f}"
	    ".e{text-anchor:end}.T{font-size:19px;font-weight:600}.b{fill:#fff;font-size:12px;text-anchor:middle}"
	    ".n{font-size:10px;fill:#6b675f;text-anchor:middle}.l{font-size:11px;font-weight:600;text-anchor:middle}"
	    "</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
	    "<text x=\"%u\" y=\"34\" class=\"T\">%u hosts' links, %u leaves, %u spines</text>\n"
	    "<text x=\"%u\" y=\"56\" class=\"t\">",
	    p->width, p->height, p->width, p->height, LEFT, p->nhosts, p->leaves, p->spines, LEFT);
	put_size(out, bytes);
	fprintf(out,
		" arrived in %llu.%03llu us. Left: what goes up, or what a host sends. Right: down, or what "
		"it gets.</text>\n",
		p->end_ps / BF_US, p->end_ps / BF_NS % 1000);
	draw_scale(out, p->width - LEFT);
	fprintf(out, "<g fill=\"none\">\n");
	draw_uplinks(p, out, false);
	draw_host_cables(p, out);
	fprintf(out, "</g>\n");
	draw_switches(p, out);
	draw_hosts(p, out);
	draw_uplinks(p, out, true);
	draw_host_letters(p, out);
	fprintf(out, "<text x=\"%u\" y=\"%u\" class=\"t\">%s</text>\n", LEFT, foot - 6,
		nhot ? "Links that stand out:"
		     : "No link was busy for half of the time, lost, marked or stopped anything.");
	for (uint32_t i = 0; i < nhot; i++)
		describe(out, hot[i], foot + 18 + i * 22);
	fprintf(out, "</svg>\n");
}

static int read_all(struct picture *p, struct bf_trace *t)
{
	struct bf_trace_record rec;
	int rc;

	while ((rc = bf_trace_next(t, &rec)) > 0)
		if (!strcmp(rec.type->name, bf_rec_link_load_schema.name) && take(p, &rec))
			return -ENOMEM;
	return rc;
}

int bf_topology_picture(struct bf_trace *t, FILE *out, struct bf_error *err)
{
	struct picture p = { 0 };
	struct link **hot = NULL;
	int rc = read_all(&p, t);

	if ((!rc || rc == -EBADMSG) && !p.n)
		rc = rc ? rc
			: bf_fail(
			      err, -ENOENT,
			      "there is no topology to draw: a run with --topology and records of class net has one");
	else if (!rc || rc == -EBADMSG) {
		hot = calloc(p.n, sizeof(struct link *));
		if (!hot || arrange(&p))
			rc = bf_fail(err, -ENOMEM, "no memory for the picture");
		else
			draw(&p, out, hot);
	}
	free(hot);
	free(p.hosts);
	free(p.links);
	return rc;
}

#include "tools/pictures/sdma.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "traces/records/sdma_driver.h"
#include "tools/cli/input.h"

/* A surface with more cells is no picture any more. */
#define CELLS_MAX (512u * 512u)

/* Geometry, in pixels: the whole slice on the left, the window and a rim of RIM cells around it on the right. */
#define LEFT 64
#define TOP 112
#define CELL 2u
#define ZOOM 9u
#define RIM 4u
#define GAP 72u
#define BELOW 64u

/* ---- collecting ---- */

static int add(struct bf_picture *p, const struct bf_picture_surface *s, const uint8_t *bytes, size_t len)
{
	const uint64_t cells = (uint64_t)s->pitch * s->rows;

	if (!cells || cells > CELLS_MAX || len < cells || s->x > s->pitch || s->width > s->pitch - s->x ||
	    s->y > s->rows || s->height > s->rows - s->y || !s->element)
		return 0; /* a record that somebody else made */
	if (BF_GROW(p->surfaces, p->cap, p->n + 1))
		return -ENOMEM;
	p->surfaces[p->n] = *s;
	p->surfaces[p->n].bytes = malloc(cells);
	if (!p->surfaces[p->n].bytes)
		return -ENOMEM;
	memcpy(p->surfaces[p->n++].bytes, bytes, cells);
	return 0;
}

static int on_type(struct bf_sink *s, const struct bf_rec_schema *schema)
{
	(void)s;
	(void)schema;
	return 0;
}

static int on_actor(struct bf_sink *s, uint32_t actor, const char *kind, const char *name)
{
	(void)s;
	(void)actor;
	(void)kind;
	(void)name;
	return 0;
}

static int on_records(struct bf_sink *sink, const void *records, size_t len)
{
	struct bf_picture *p = BF_CONTAINER_OF(sink, struct bf_picture, sink);
	const uint8_t *at = records, *const end = at + len;
	int rc = 0;

	while (!rc && at < end) {
		const struct bf_rec_header *head = (const void *)at;
		struct bf_rec_sdma_surface rec;

		if (head->type == BF_REC_ID_sdma_surface) {
			memcpy(&rec, at + sizeof(*head), sizeof(rec));
			rc = add(p,
				 &(struct bf_picture_surface){ .pitch = rec.pitch,
							       .rows = rec.rows,
							       .element = rec.element,
							       .x = rec.x,
							       .y = rec.y,
							       .width = rec.width,
							       .height = rec.height,
							       .right = rec.right != 0 },
				 at + sizeof(*head) + head->fixed, head->tail);
		}
		at += bf_record_span(head);
	}
	return rc;
}

void bf_picture_init(struct bf_picture *p)
{
	*p = (struct bf_picture){ .sink = { .declare_type = on_type, .declare_actor = on_actor, .write = on_records } };
}

void bf_picture_free(struct bf_picture *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		free(p->surfaces[i].bytes);
	free(p->surfaces);
	bf_picture_init(p);
}

static uint32_t field(const struct bf_trace_record *rec, const char *name)
{
	uint64_t v = 0;

	return bf_trace_field_u64(rec, name, &v) && v <= UINT32_MAX ? (uint32_t)v : 0;
}

int bf_picture_read(struct bf_picture *p, struct bf_trace *t)
{
	struct bf_trace_record rec;
	int rc;

	while ((rc = bf_trace_next(t, &rec)) > 0) {
		if (strcmp(rec.type->name, "sdma_surface") != 0)
			continue;
		rc = add(p,
			 &(struct bf_picture_surface){ .pitch = field(&rec, "pitch"),
						       .rows = field(&rec, "rows"),
						       .element = field(&rec, "element"),
						       .x = field(&rec, "x"),
						       .y = field(&rec, "y"),
						       .width = field(&rec, "width"),
						       .height = field(&rec, "height"),
						       .right = field(&rec, "right") != 0 },
			 rec.tail, rec.tail_len);
		if (rc)
			return rc;
	}
	return rc;
}

/* ---- drawing ---- */

/* Untouched memory is paper; other values run from dark blue over green to yellow (after the map "viridis"). */
static uint32_t colour(uint8_t v)
{
	static const uint8_t stops[5][3] = {
		{ 68, 1, 84 }, { 59, 82, 139 }, { 33, 145, 140 }, { 94, 201, 98 }, { 253, 231, 37 }
	};
	const uint32_t at = v * 4u, i = at / 256, part = at % 256;
	uint32_t rgb = 0;

	if (!v)
		return 0xf3f1ec;
	for (uint32_t c = 0; c < 3; c++)
		rgb = rgb << 8 | (stops[i][c] * (256 - part) + stops[i + 1][c] * part) / 256;
	return rgb;
}

/* Cells x0.., y0.. of the surface, `w` by `h`, each `size` pixels, with their corner at (left, top). Runs of one value
 * are one box. */
static void draw_cells(FILE *out, const struct bf_picture_surface *s, uint32_t x0, uint32_t y0, uint32_t w, uint32_t h,
		       uint32_t left, uint32_t top, uint32_t size)
{
	fprintf(out,
		"<g shape-rendering=\"crispEdges\">\n<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" "
		"fill=\"#%06x\"/>\n",
		left, top, w * size, h * size, colour(0));
	for (uint32_t y = 0; y < h; y++) {
		const uint8_t *row = s->bytes + (uint64_t)(y0 + y) * s->pitch + x0;

		for (uint32_t x = 0, n; x < w; x += n) {
			for (n = 1; x + n < w && row[x + n] == row[x]; n++)
				;
			if (row[x])
				fprintf(out, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" fill=\"#%06x\"/>\n",
					left + x * size, top + y * size, n * size, size, colour(row[x]));
		}
	}
	fprintf(out, "</g>\n");
}

static void draw_frame(FILE *out, uint32_t x, uint32_t y, uint32_t w, uint32_t h, const char *stroke, uint32_t width)
{
	fprintf(out,
		"<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" fill=\"none\" stroke=\"%s\" "
		"stroke-width=\"%u\"/>\n",
		x, y, w, h, stroke, width);
}

/* Numbers along the upper and left side, every `step` cells from the first multiple on. */
static void draw_axes(FILE *out, uint32_t x0, uint32_t y0, uint32_t w, uint32_t h, uint32_t left, uint32_t top,
		      uint32_t size, uint32_t step)
{
	fprintf(out, "<g class=\"t\">\n");
	for (uint32_t x = (x0 + step - 1) / step * step; x < x0 + w; x += step)
		fprintf(out, "<text x=\"%u\" y=\"%u\">%u</text>\n", left + (x - x0) * size, top - 6, x);
	fprintf(out, "</g>\n<g class=\"t e\">\n");
	for (uint32_t y = (y0 + step - 1) / step * step; y < y0 + h; y += step)
		fprintf(out, "<text x=\"%u\" y=\"%u\">%u</text>\n", left - 6, top + (y - y0) * size + 4, y);
	fprintf(out, "</g>\n");
}

/* The part that is shown larger: the window and its rim, as far as the surface goes. */
struct part {
	uint32_t x, y, w, h;
};

static uint32_t less(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static struct part part_of(const struct bf_picture_surface *s)
{
	const uint32_t x = s->x - less(s->x, RIM), y = s->y - less(s->y, RIM);

	return (struct part){ x, y, less(s->x + s->width + RIM, s->pitch) - x,
			      less(s->y + s->height + RIM, s->rows) - y };
}

static void draw_elements(FILE *out, const struct bf_picture_surface *s, const struct part *p, uint32_t left,
			  uint32_t top)
{
	const uint32_t x0 = left + (s->x - p->x) * ZOOM, y0 = top + (s->y - p->y) * ZOOM;

	fprintf(out, "<g stroke=\"#fff\" shape-rendering=\"crispEdges\"><path stroke-opacity=\".35\" d=\"");
	for (uint32_t y = 1; y < s->height; y++)
		fprintf(out, "M%u %uh%u", x0, y0 + y * ZOOM, s->width * ZOOM);
	fprintf(out, "\"/><path %s d=\"", s->element > 1 ? "stroke-width=\"2\"" : "stroke-opacity=\".35\"");
	for (uint32_t x = s->element; x < s->width; x += s->element)
		fprintf(out, "M%u %uv%u", x0 + x * ZOOM, y0, s->height * ZOOM);
	fprintf(out, "\"/></g>\n");
	draw_frame(out, x0, y0, s->width * ZOOM, s->height * ZOOM, "#c8102e", 2);
}

static uint32_t height_of(const struct bf_picture_surface *s)
{
	const struct part p = part_of(s);
	const uint32_t whole = s->rows * CELL, zoom = p.h * ZOOM;

	return whole > zoom ? whole : zoom;
}

static uint32_t width_of(const struct bf_picture_surface *s)
{
	return LEFT + s->pitch * CELL + GAP + part_of(s).w * ZOOM + 24;
}

static void draw_surface(FILE *out, const struct bf_picture_surface *s, uint32_t top)
{
	const struct part p = part_of(s);
	const uint32_t right = LEFT + s->pitch * CELL + GAP;

	fprintf(out, "<text x=\"%u\" y=\"%u\" class=\"h\">One pixel: %u byte%s <tspan fill=\"%s\">%s</tspan></text>\n",
		LEFT, top - 28, s->element, s->element > 1 ? "s" : "", s->right ? "#2a7d3f" : "#c8102e",
		s->right ? "\xe2\x9c\x93 correct" : "\xe2\x9c\x97 wrong");
	fprintf(out, "<text x=\"%u\" y=\"%u\" class=\"t\">%u x %u bytes at pixel (%u, %u), pitch %u pixels</text>\n",
		right, top - 28, s->width, s->height, s->x / s->element, s->y, s->pitch / s->element);
	draw_cells(out, s, 0, 0, s->pitch, s->rows, LEFT, top, CELL);
	draw_frame(out, LEFT, top, s->pitch * CELL, s->rows * CELL, "#8a867d", 1);
	draw_frame(out, LEFT + s->x * CELL, top + s->y * CELL, s->width * CELL, s->height * CELL, "#c8102e", 2);
	draw_axes(out, 0, 0, s->pitch, s->rows, LEFT, top, CELL, 32);
	draw_cells(out, s, p.x, p.y, p.w, p.h, right, top, ZOOM);
	draw_elements(out, s, &p, right, top);
	draw_axes(out, p.x, p.y, p.w, p.h, right, top, ZOOM, 8);
}

int bf_picture_draw(const struct bf_picture *p, FILE *out, struct bf_error *err)
{
	uint32_t width = 0, height = TOP, top = TOP;

	if (!p->n)
		return bf_fail(err, -ENOENT,
			       "there is no surface to draw: a run of sdma-rect with records of class driver has some");
	for (uint32_t i = 0; i < p->n; i++) {
		width = width > width_of(&p->surfaces[i]) ? width : width_of(&p->surfaces[i]);
		height += height_of(&p->surfaces[i]) + BELOW;
	}
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %u %u\" width=\"%u\" height=\"%u\">\n"
		"<style>text{font-family:system-ui,sans-serif;fill:#2b2a27}.t text,.t{font-size:11px;fill:#6b675f}"
		".e text{text-anchor:end}.h{font-size:15px;font-weight:600}.T{font-size:19px;font-weight:600}"
		"</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		"<text x=\"%u\" y=\"34\" class=\"T\">Destination of each sub-window copy</text>\n"
		"<text x=\"%u\" y=\"56\" class=\"t\">Left: the slice. Right: the window and a rim, pixels between "
		"white lines. Axes count bytes and rows.</text>\n",
		width, height, width, height, LEFT, LEFT);
	for (uint32_t i = 0; i < p->n; i++) {
		draw_surface(out, &p->surfaces[i], top);
		top += height_of(&p->surfaces[i]) + BELOW;
	}
	fprintf(out, "</svg>\n");
	return 0;
}

int bf_picture_write(const struct bf_picture *p, const char *path, struct bf_error *err)
{
	FILE *out = fopen(path, "wb");
	int rc, closed;

	if (!out)
		return bf_fail(err, -errno, "cannot write %s: %s", path, strerror(errno));
	rc = bf_picture_draw(p, out, err);
	closed = bf_output_close(out, path, rc ? NULL : err);
	return rc ? rc : closed;
}

/* Pictures of surfaces that rect copies filled: collected from records, drawn as SVG. */
#ifndef BELFRY_TOOLS_PICTURES_SDMA_H
#define BELFRY_TOOLS_PICTURES_SDMA_H

#include <stdio.h>

#include "sim/record.h"
#include "traces/container/trace.h"

/* One slice: what the record `sdma_surface` says (traces/records/sdma_driver.h), and its bytes. */
struct bf_picture_surface {
	uint32_t pitch, rows, element, x, y, width, height;
	bool right;
	uint8_t *bytes; /* pitch * rows */
};

struct bf_picture {
	struct bf_sink sink; /* give this one to a run, or read a trace */
	struct bf_picture_surface *surfaces;
	uint32_t n, cap;
};

void bf_picture_init(struct bf_picture *p);
void bf_picture_free(struct bf_picture *p);

/* All surfaces of a trace. 0 or a negative errno; the reader's `err` has the text. */
int bf_picture_read(struct bf_picture *p, struct bf_trace *t);

/* -ENOENT with `err` set when there is nothing to draw. */
int bf_picture_draw(const struct bf_picture *p, FILE *out, struct bf_error *err);
int bf_picture_write(const struct bf_picture *p, const char *path, struct bf_error *err);

#endif

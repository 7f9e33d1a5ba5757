/*
 * Published timing figures: one that other people measured, as a line of JSON Lines has it. Members: "id", "device",
 * "metric", "op", "size_bytes", "qps", "depth", "ranks", "hardware", "conditions" (an object), "value", "unit",
 * "source", "primary", "confidence"; others may stand there. One thread per figure.
 */
#ifndef BELFRY_TOOLS_TIMING_FIGURE_H
#define BELFRY_TOOLS_TIMING_FIGURE_H

#include "traces/container/json_line.h"

enum bf_confidence { BF_CONFIDENCE_HIGH, BF_CONFIDENCE_MEDIUM, BF_CONFIDENCE_LOW };

#define BF_FIGURE_TEXT 256u
#define BF_FIGURE_LONG 1024u

struct bf_figure {
	uint32_t line;
	char id[48], device[16], metric[48], unit[16];
	char op[BF_FIGURE_TEXT], hardware[BF_FIGURE_TEXT], source[BF_FIGURE_TEXT];
	char conditions[BF_FIGURE_LONG]; /* the object's text, "{...}" */
	/* 0: not stated, or not applicable; `has_size` tells a size of 0 from none. */
	uint64_t size, qps, depth, ranks;
	bool has_size, primary;
	enum bf_confidence confidence;
	double value;
};

/* Reads the line. 0, or -EBADMSG with line, field and what is wrong with it. */
int bf_figure_read(struct bf_json_line *l, struct bf_figure *f);

/* The text of condition `name` (a number, true and false as they stand), or "" in `out`; whether there is one. */
bool bf_figure_condition(const struct bf_figure *f, const char *name, char *out, size_t cap);

/* The condition as a number; `otherwise` when there is none or it is something else. */
double bf_figure_condition_number(const struct bf_figure *f, const char *name, double otherwise);

/* Whether `word` stands anywhere in `text`, whatever the case. */
bool bf_figure_says(const char *text, const char *word);

#endif

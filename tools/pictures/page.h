/*
 * One page that shows a trace in any browser, without a network: a timeline to zoom and search, the queues entry by
 * entry, when stores became visible, what rules found, and statistics. The page is tools/page/, the data are JSON in
 * it.
 */
#ifndef BELFRY_TOOLS_PICTURES_PAGE_H
#define BELFRY_TOOLS_PICTURES_PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/error.h"
#include "tools/cli/input.h"

/* How much a page holds at most; what is left out is said in it. */
#define BF_PAGE_ITEMS 300000u /* bars and marks of the timeline */
#define BF_PAGE_ENTRIES 512u  /* of each queue, the latest */
#define BF_PAGE_STORES 400u

struct bf_page_result {
	uint64_t items, left, findings;
};

/*
 * Reads the trace `in`, opened from `path`, several times and writes the page. 0; -EBADMSG with `err` set when part of
 * the trace was damaged (the page has the rest); or another negative errno.
 */
int bf_page_export(struct bf_input *in, const char *path, bool memory, FILE *out, struct bf_page_result *result,
		   struct bf_error *err);

#endif

/* The parts of a page's data, each a member or several of one JSON object. Each reads the trace once. */
#ifndef BELFRY_TOOLS_PICTURES_PAGE_INTERNAL_H
#define BELFRY_TOOLS_PICTURES_PAGE_INTERNAL_H

#include "tools/cli/cli.h"
#include "tools/pictures/page.h"
#include "traces/container/trace.h"

struct bf_page_job {
	bool memory; /* single stores, loads and atomics, too */
	struct bf_page_result *result;
	struct bf_error *err;
};

/* Return 0, -EBADMSG (damaged, the rest was read), or another negative errno with the job's `err` set. */
typedef int bf_page_part(struct bf_json *j, struct bf_trace *t, const struct bf_page_job *job);
bf_page_part bf_page_timeline, bf_page_rings, bf_page_stores, bf_page_findings, bf_page_statistics, bf_page_names;

/* The page's text, split where data go: before and after. Made from tools/page/ when Belfry is built. */
extern const char bf_page_head[], bf_page_tail[];

#endif

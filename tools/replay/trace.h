/* What the kinds of `belfry replay` but the first have in common. */
#ifndef BELFRY_TOOLS_REPLAY_TRACE_H
#define BELFRY_TOOLS_REPLAY_TRACE_H

#include "tools/cli/cli.h"
#include "traces/container/trace.h"

/* Options that only the first kind has: 0, or an exit code when one is given. */
int bf_replay_check_options(const struct bf_args *args);

/* Opens the trace that --trace names, with what the replay is of. 0 or negative errno; `*out` is NULL without --trace.
 */
int bf_replay_trace_open(const struct bf_args *args, const char *source, const char *profile,
			 struct bf_trace_writer **out, struct bf_error *err);

#endif

#include "tools/replay/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "tools/cli/input.h"
#include "tools/replay/kind.h"

int bf_replay_check_options(const struct bf_args *args)
{
	static const char *const others[] = { "life", "mtu", "pcapng", "stats" };

	for (size_t i = 0; i < BF_ARRAY_LEN(others); i++)
		if (bf_arg_given(args, others[i]))
			return bf_cli_error(args, BF_EXIT_USAGE, "--%s is for replays of %s", others[i],
					    bf_replay_kind_at(0)->form.name);
	return 0;
}

int bf_replay_trace_open(const struct bf_args *args, const char *source, const char *profile,
			 struct bf_trace_writer **out, struct bf_error *err)
{
	const char *path = bf_arg_text(args, "trace");
	const struct bf_trace_options form = { .jsonl = path && bf_input_is_jsonl(path) };
	char seed[24];
	int rc;

	*out = NULL;
	if (!path)
		return 0;
	rc = bf_trace_writer_open(path, NULL, &form, out, err);
	if (rc)
		return rc;
	snprintf(seed, sizeof(seed), "%" PRIu64, bf_arg_u64(args, "seed"));
	rc = bf_trace_meta(*out, "command", "replay");
	rc = rc ? rc : bf_trace_meta(*out, "version", BELFRY_VERSION);
	rc = rc ? rc : bf_trace_meta(*out, "seed", seed);
	rc = rc ? rc : bf_trace_meta(*out, "profile", profile);
	rc = rc ? rc : bf_trace_meta(*out, "source", source);
	if (!rc || rc == -EINVAL) /* a file name that is not UTF-8 is not worth failing for */
		return 0;
	bf_trace_writer_close(*out);
	*out = NULL;
	return rc;
}

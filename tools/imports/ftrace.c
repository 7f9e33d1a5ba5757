/* What Linux prints for the trace points of its NVMe drivers. */
#include "tools/imports/import.h"
#include "traces/import/ftrace.h"

static int emit_ftrace(const void *source, struct bf_sink *sink, struct bf_error *err)
{
	return bf_ftrace_emit(source, sink, err);
}

static int import_ftrace(const struct bf_args *args, const char *path, const char *out)
{
	struct bf_error err = { 0 }, damage = { 0 };
	struct bf_ftrace *t;
	size_t count;
	int rc;

	bf_ftrace_load(path, &t, &damage);
	if (!t || t->count == 0) {
		bf_ftrace_free(t);
		return bf_cli_error(args, BF_EXIT_USAGE, "%s",
				    damage.text[0] ? damage.text : "there is no event of an NVMe driver in it");
	}
	count = t->count;
	rc = bf_import_write("ftrace", path, out, emit_ftrace, t, &err);
	bf_ftrace_free(t);
	return bf_import_end(args, out, count, rc, &err, &damage);
}

extern const struct bf_import_form bf_import_ftrace;
const struct bf_import_form bf_import_ftrace = {
	.form = { .name = "ftrace",
		  .details = "what Linux prints for the tracepoints of its nvme and nvmet drivers (old and new forms, "
			     "trace-cmd's too), or what blkparse prints." },
	.import = import_ftrace,
};

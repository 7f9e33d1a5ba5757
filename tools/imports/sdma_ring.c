/* Dumps of a copy engine's ring. */
#include "tools/cli/input.h"
#include "tools/imports/import.h"
#include "traces/import/sdma_dump.h"

static int emit_dump(const void *source, struct bf_sink *sink, struct bf_error *err)
{
	return bf_sdma_dump_emit(source, sink, err);
}

static int import_ring(const struct bf_args *args, const char *path, const char *out)
{
	struct bf_error err = { 0 }, damage = { 0 };
	struct bf_sdma_dump *d = NULL;
	char head[1];
	size_t n;
	FILE *f;
	int rc;

	if (bf_input_peek(path, &f, head, sizeof(head), &n, &damage) == 0) {
		bf_sdma_dump_load_file(f, path, &d, &damage);
		fclose(f);
	}
	if (!d || d->count == 0) {
		bf_sdma_dump_free(d);
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", damage.text);
	}
	n = d->count;
	rc = bf_import_write("sdma-ring", path, out, emit_dump, d, &err);
	bf_sdma_dump_free(d);
	return bf_import_end(args, out, n, rc, &err, &damage);
}

extern const struct bf_import_form bf_import_sdma_ring;
const struct bf_import_form bf_import_sdma_ring = {
	.form = { .name = "sdma-ring",
		  .details = "a dump of a copy engine's ring: as umr prints it, or dwords in hexadecimal." },
	.import = import_ring,
};

/* Any line as a litmus test: read without harm, then run for a few executions. */
#include <stdlib.h>
#include <string.h>

#include "drivers/trial/litmus.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bf_litmus *t = malloc(sizeof(*t));
	char *text = malloc(size ? size : 1);
	struct bf_error err = { 0 };
	struct bf_json_line l;
	int rc;

	memcpy(text, data, size);
	l = (struct bf_json_line){ .start = text, .p = text, .end = text + size, .number = 1, .err = &err };
	rc = bf_json_line_scan(&l);
	if (!rc)
		rc = bf_litmus_read(&l, t);
	if (rc && !err.text[0])
		abort();
	for (int buffers = 0; !rc && buffers < 2; buffers++) {
		const struct bf_litmus_opts opts = { .buffers = buffers, .executions = 20 };
		struct bf_litmus_result r;

		err.text[0] = '\0';
		if (bf_litmus_run(t, &opts, &r, &err) && !err.text[0])
			abort();
	}
	free(text);
	free(t);
	return 0;
}

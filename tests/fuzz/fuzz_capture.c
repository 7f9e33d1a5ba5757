/* Any bytes as a capture: read without harm; what was read is in order, and means the same after a trip through
 * records. */
#include <stdlib.h>
#include <string.h>

#include "traces/import/capture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct bf_capture *c)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct bf_capture_event *e = &c->events[i];

		if (e->kind >= BF_CAPTURE_KINDS || e->line == 0 || e->line > c->line)
			abort();
		if (i && (e->line <= e[-1].line || e->t_ns < e[-1].t_ns))
			abort();
		if (!e->bytes != !e->len || (e->kind == BF_CAPTURE_WQE && e->len % 64) ||
		    (e->kind == BF_CAPTURE_CQE && e->len != 64))
			abort();
		/* Every byte is readable. */
		uint8_t sum = 0;
		for (uint32_t k = 0; k < e->len; k++)
			sum = (uint8_t)(sum + e->bytes[k]);
		volatile uint8_t keep = sum;
		(void)keep;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1);
	struct bf_error err = { 0 };
	struct bf_capture *c;
	int rc;

	memcpy(text, data, size);
	bf_capture_probe(text, size);
	rc = bf_capture_parse(text, size, &c, &err);
	if (!c || (rc && !err.text[0]))
		abort();
	check(c);
	if (bf_capture_emit(c, NULL, &err))
		abort();
	bf_capture_free(c);
	free(text);
	return 0;
}

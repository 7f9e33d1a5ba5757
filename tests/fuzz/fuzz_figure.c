/* Any bytes as published timing figures: each line is read or refused with line and reason, and its conditions too. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/timing/figure.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_line(const char *text, size_t len, uint32_t number)
{
	struct bf_error err = { 0 };
	struct bf_json_line l = { .start = text, .p = text, .end = text + len, .number = number, .err = &err };
	struct bf_figure f;
	char value[32];

	if (bf_json_line_blank(&l))
		return;
	if (bf_json_line_scan(&l) || bf_figure_read(&l, &f)) {
		if (err.code != -EBADMSG || !strstr(err.text, "line "))
			abort();
		return;
	}
	if (!f.id[0] && !f.device[0] && !isfinite(f.value))
		abort();
	bf_figure_condition(&f, "stat", value, sizeof(value));
	if (!isfinite(bf_figure_condition_number(&f, "tokens", 0)))
		abort();
	bf_figure_says(f.hardware, f.op);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *end = text + size;
	uint32_t number = 1;

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		stop = stop ? stop : end;
		try_line(text, (size_t)(stop - text), number++);
		text = stop + 1;
	}
	return 0;
}

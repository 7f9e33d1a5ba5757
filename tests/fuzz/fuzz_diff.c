/*
 * Any bytes as two traces that are compared: record by record, by their queues, by their completions. A line "--"
 * stands between them; without one the trace is compared with itself less its last quarter.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/replay/mlx5_completion_diff.h"
#include "tools/replay/mlx5_queue_diff.h"
#include "traces/container/diff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int compare(uint32_t how, struct bf_trace *a, struct bf_trace *b, FILE *out, struct bf_error *err)
{
	struct bf_completion_diff completions;
	struct bf_queue_diff queues;

	switch (how) {
	case 0:
		return bf_diff(a, b, &(struct bf_diff_options){ .context = 2 }, out, NULL, err);
	case 1:
		return bf_queue_diff(a, b, out, NULL, &queues, err);
	default:
		return bf_completion_diff(a, b, out, NULL, &completions, err);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *line = size ? memmem(data, size, "\n--\n", 4) : NULL;
	const size_t first = line ? (size_t)(line - data) + 1 : size;
	const uint8_t *second = line ? line + 4 : data;
	const size_t left = line ? size - first - 3 : size - size / 4;

	for (uint32_t how = 0; how < 3; how++) {
		struct bf_trace *a = NULL, *b = NULL;
		struct bf_error err = { 0 };
		FILE *out;

		if (!bf_trace_open_memory(data, first, &a, &err) && !bf_trace_open_memory(second, left, &b, &err)) {
			out = fopen("/dev/null", "w");
			if (!out || (compare(how, a, b, out, &err) < 0 && !err.text[0]))
				abort();
			fclose(out);
		}
		bf_trace_close(a);
		bf_trace_close(b);
	}
	return 0;
}

/* Any bytes as a dump of an SDMA ring: read without harm, then replayed where that takes little memory. */
#include <stdlib.h>
#include <string.h>

#include "traces/replay/sdma.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct bf_sdma_profile *const profiles[] = { &bf_sdma_v4, &bf_sdma_v5, &bf_sdma_v6, &bf_sdma_v7,
								  &bf_sdma_v7_1 };
	const struct bf_sdma_replay_opts opts = {
		.seed = 1, .strict = size % 2, .profile = profiles[size / 2 % 5], .memory_max = 16u << 20
	};
	struct bf_sdma_replay_result *r;
	struct bf_error err = { 0 };
	struct bf_sdma_dump *d;
	char *text = malloc(size ? size : 1);
	int rc;

	memcpy(text, data, size);
	rc = bf_sdma_dump_parse(text, size, &d, &err);
	if (!d || (rc && !err.text[0]))
		abort();
	if (d->count && d->count < 4096 && d->first < 65536 && (!d->has_wptr || d->wptr < 65536)) {
		if (bf_sdma_dump_emit(d, NULL, &err))
			abort();
		if (bf_sdma_replay_run(d, &opts, &r, &err) == 0)
			bf_sdma_replay_free(r);
		else if (!err.text[0])
			abort();
	}
	bf_sdma_dump_free(d);
	free(text);
	return 0;
}

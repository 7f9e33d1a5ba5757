/* Any bytes are a fat binary, or an error that says why not. Each PTX in it is unpacked. */
#include <stdlib.h>
#include <string.h>

#include "tools/cuda/fatbin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void unpack(const struct bf_fatbin_entry *e)
{
	struct bf_error err = { 0 };
	size_t len;
	char *text = NULL;

	/* What a damaged entry asks for may be much: bounded here, as memory bounds it elsewhere. */
	if (e->full_size < 1u << 20)
		text = bf_fatbin_text(e, &len, &err);
	if (text && text[len])
		abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bf_fatbin_choice choice;
	struct bf_fatbin_entry e;
	struct bf_error err = { 0 };
	uint64_t at = 0;
	uint8_t *copy;

	if (size < 16)
		return 0;
	copy = malloc(size);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	if (bf_fatbin_size(copy) == size) {
		while (bf_fatbin_next(copy, size, &at, &e, &err) == 1)
			if (e.kind == BF_FATBIN_PTX)
				unpack(&e);
		bf_fatbin_choose(copy, size, 90, &choice, &err);
	}
	free(copy);
	return 0;
}

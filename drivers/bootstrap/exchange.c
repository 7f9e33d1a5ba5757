#include "drivers/bootstrap/bootstrap.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int bf_boot_buf_reserve(struct bf_boot_buf *buf, size_t bytes)
{
	if (bytes > buf->cap) {
		void *more = malloc(bytes + bytes / 2);

		if (!more)
			return -ENOMEM;
		free(buf->data);
		buf->data = more;
		buf->cap = bytes + bytes / 2;
	}
	buf->bytes = bytes;
	return 0;
}

/* Cuts the blocks that came into messages. `sizes`: npes rows of what each PE sent to whom. */
static int unpack(struct bf_boot *b, const uint64_t *sizes, const uint8_t *blocks, size_t block, struct bf_boot_buf *in)
{
	for (uint32_t j = 0; j < b->npes; j++) {
		const size_t bytes = (size_t)sizes[(size_t)j * b->npes + b->pe];

		if (bf_boot_buf_reserve(&in[j], bytes))
			return -ENOMEM;
		assert(bytes <= block);
		if (bytes)
			memcpy(in[j].data, blocks + j * block, bytes);
	}
	return 0;
}

/* Lengths first, then blocks of the longest: all that the three calls everybody has allow. */
static int by_blocks(struct bf_boot *b, const struct bf_boot_part *out, struct bf_boot_buf *in)
{
	const size_t n = b->npes;
	uint64_t *sizes = malloc(n * (n + 1) * sizeof(*sizes)), *mine = sizes;
	uint8_t *from = NULL, *to = NULL;
	size_t block = 0;
	int rc = sizes ? 0 : -ENOMEM;

	for (uint32_t j = 0; !rc && j < n; j++)
		mine[j] = out[j].bytes;
	if (!rc)
		rc = b->allgather(b, mine, sizes + n, n * sizeof(*sizes));
	for (size_t i = n; !rc && i < n * (n + 1); i++)
		block = sizes[i] > block ? (size_t)sizes[i] : block;
	if (!rc && block) {
		from = malloc(n * block);
		to = malloc(n * block);
		if (!from || !to) {
			b->abort(b);
			rc = -ENOMEM;
		}
		for (uint32_t j = 0; !rc && j < n; j++)
			if (out[j].bytes)
				memcpy(from + j * block, out[j].data, out[j].bytes);
		if (!rc)
			rc = b->alltoall(b, from, to, block);
	}
	if (!rc)
		rc = unpack(b, sizes + n, to, block, in);
	free(sizes);
	free(from);
	free(to);
	return rc;
}

int bf_boot_exchange(struct bf_boot *b, const struct bf_boot_part *out, struct bf_boot_buf *in)
{
	return b->exchange ? b->exchange(b, out, in) : by_blocks(b, out, in);
}

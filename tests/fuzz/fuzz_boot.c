/*
 * Any bytes from a peer, in any pieces: a greeting, then messages while calls of all kinds expect theirs. What is taken
 * is within the buffers, a message that was taken is the one that was expected, and every refusal has a text.
 */
#include <stdlib.h>
#include <string.h>

#include "drivers/bootstrap/wire_internal.h"
#include "sim/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FIXED 100u

struct call {
	uint8_t *to; /* FIXED bytes, exactly, so that a sanitizer sees one more */
	struct bf_boot_buf room;
	uint64_t seq;
	bool any;
};

static void expect_next(struct call *c, struct bf_inbox *in)
{
	static const uint32_t ops[] = { BF_BOOT_ALLGATHER, BF_BOOT_BARRIER, BF_WIRE_EXCHANGE, BF_BOOT_ALLTOALL };
	const uint32_t op = ops[c->seq % 4];

	c->seq++;
	c->any = op == BF_WIRE_EXCHANGE;
	bf_inbox_expect(in, op, c->seq, op == BF_BOOT_BARRIER ? NULL : c->to, op == BF_BOOT_BARRIER ? 0 : FIXED,
			c->any ? &c->room : NULL);
}

/* Bodies are also written to directly, as a long one is from the socket. */
static size_t feed(struct bf_inbox *in, const uint8_t *data, size_t len, bool direct, struct bf_error *err)
{
	uint8_t *at;
	uint64_t left = bf_inbox_direct(in, &at);
	int64_t n;

	if (direct && left) {
		left = left < len ? left : len;
		memcpy(at, data, (size_t)left);
		bf_inbox_written(in, left);
		return (size_t)left;
	}
	n = bf_inbox_take(in, data, len, err);
	if (n >= 0 && (size_t)n > len)
		abort();
	if (n < 0 && (!err->text[0] || err->code != n))
		abort();
	return n < 0 ? 0 : (size_t)n;
}

static void take_all(const uint8_t *data, size_t size, uint32_t piece)
{
	struct call c = { .to = malloc(FIXED) };
	struct bf_inbox in = { .rank = 3 };
	struct bf_error err = { 0 };
	size_t at = 0;

	expect_next(&c, &in);
	while (at < size && !err.code) {
		const size_t len = size - at < piece ? size - at : piece;
		/* Memory of just this piece. */
		uint8_t *copy = malloc(len);

		memcpy(copy, data + at, len);
		at += feed(&in, copy, len, at % 2, &err);
		free(copy);
		if (in.done && !err.code) {
			if (c.any && c.room.bytes > size)
				abort(); /* a message longer than all there was */
			expect_next(&c, &in);
		}
	}
	free(c.to);
	free(c.room.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bf_wire_greeting g;
	uint8_t again[BF_WIRE_GREETING];

	if (size >= BF_WIRE_GREETING && bf_wire_get_greeting(data, &g) == 0) {
		bf_wire_put_greeting(again, &g);
		if (memcmp(again, data, 20)) /* what follows is reserved */
			abort();
	}
	if (size < 1)
		return 0;
	take_all(data + 1, size - 1, data[0] % 64u + 1);
	return 0;
}

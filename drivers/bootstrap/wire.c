#include "drivers/bootstrap/wire_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "sim/bytes.h"

#define MAGIC 0x00746f6f42666c42ull /* "BlfBoot" */

void bf_wire_put_greeting(uint8_t out[BF_WIRE_GREETING], const struct bf_wire_greeting *g)
{
	memset(out, 0, BF_WIRE_GREETING);
	bf_put_le64(out, MAGIC);
	bf_put_le32(out + 8, g->version);
	bf_put_le32(out + 12, g->ranks);
	bf_put_le32(out + 16, g->rank);
}

int bf_wire_get_greeting(const uint8_t in[BF_WIRE_GREETING], struct bf_wire_greeting *out)
{
	*out = (struct bf_wire_greeting){ .version = bf_get_le32(in + 8),
					  .ranks = bf_get_le32(in + 12),
					  .rank = bf_get_le32(in + 16) };
	return bf_get_le64(in) == MAGIC ? 0 : -EBADMSG;
}

void bf_wire_put_head(uint8_t out[BF_WIRE_HEAD], uint32_t op, int code, uint64_t seq, uint64_t bytes)
{
	bf_put_le32(out, op);
	bf_put_le32(out + 4, (uint32_t)code);
	bf_put_le64(out + 8, seq);
	bf_put_le64(out + 16, bytes);
}

static const char *op_name(uint32_t op)
{
	return op == BF_WIRE_EXCHANGE ? "exchange" : bf_boot_op_name(op);
}

void bf_inbox_expect(struct bf_inbox *in, uint32_t op, uint64_t seq, void *to, size_t bytes, struct bf_boot_buf *room)
{
	in->op = op;
	in->seq = seq;
	in->to = to;
	in->bytes = bytes;
	in->room = room;
	in->done = false;
}

static void end_message(struct bf_inbox *in)
{
	in->head_have = 0;
	in->done = true;
}

/* The header is there: is it what must come now, and where does its body go? */
static int begin_body(struct bf_inbox *in, struct bf_error *err)
{
	const uint32_t op = bf_get_le32(in->head);
	const uint64_t seq = bf_get_le64(in->head + 8), bytes = bf_get_le64(in->head + 16);

	in->aborting = op == BF_WIRE_ABORT;
	in->left = bytes;
	if (in->aborting) {
		memset(in->text, 0, sizeof(in->text));
		in->at = (uint8_t *)in->text;
		return bytes <= BF_WIRE_TEXT
			   ? 0
			   : bf_fail(err, -EPROTO, "rank %" PRIu32 " gives up in %" PRIu64 " bytes", in->rank, bytes);
	}
	if (op != in->op || seq != in->seq || (!in->room && bytes != in->bytes))
		return bf_fail(err, -EPROTO,
			       "rank %" PRIu32 " calls %s of %" PRIu64 " bytes as its number %" PRIu64
			       ", here %s of %zu bytes is number %" PRIu64,
			       in->rank, op_name(op), bytes, seq, op_name(in->op), in->bytes, in->seq);
	if (bytes > BF_BOOT_BYTES_MAX)
		return bf_fail(err, -EPROTO, "rank %" PRIu32 " announces %" PRIu64 " bytes", in->rank, bytes);
	if (in->room && bf_boot_buf_reserve(in->room, (size_t)bytes))
		return bf_fail(err, -ENOMEM, "no memory for %" PRIu64 " bytes of rank %" PRIu32, bytes, in->rank);
	in->at = in->room ? in->room->data : in->to;
	return 0;
}

void bf_inbox_written(struct bf_inbox *in, uint64_t bytes)
{
	in->at += bytes;
	in->left -= bytes;
	if (!in->left)
		end_message(in);
}

/* Text of a peer: what cannot be printed is a dot. */
static int aborted(struct bf_inbox *in, struct bf_error *err)
{
	for (char *p = in->text; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '.';
	return bf_fail(err, -ECONNRESET, "%s", in->text[0] ? in->text : "a process gave up");
}

int64_t bf_inbox_take(struct bf_inbox *in, const uint8_t *bytes, size_t len, struct bf_error *err)
{
	size_t used = 0;

	while (used < len && !in->done) {
		const size_t want = in->head_have < BF_WIRE_HEAD ? BF_WIRE_HEAD - in->head_have : (size_t)in->left;
		const size_t n = want < len - used ? want : len - used;
		int rc = 0;

		if (in->head_have < BF_WIRE_HEAD) {
			memcpy(in->head + in->head_have, bytes + used, n);
			in->head_have += (uint32_t)n;
			if (in->head_have == BF_WIRE_HEAD) {
				rc = begin_body(in, err);
				if (!rc && !in->left)
					end_message(in);
			}
		} else {
			memcpy(in->at, bytes + used, n);
			bf_inbox_written(in, n);
		}
		if (!rc && in->done && in->aborting)
			rc = aborted(in, err);
		if (rc)
			return rc;
		used += n;
	}
	return (int64_t)used;
}

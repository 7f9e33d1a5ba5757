/*
 * What processes say to each other on a stream: a greeting each way, then messages.
 *
 * All numbers little-endian. Greeting (32 bytes): magic 8, version 4, ranks 4, rank 4, zeros. Message: op 4, code 4,
 * sequence number 8, length 8, then the body. Ops are those of collective calls, whose number must be the receiver's
 * own, and ABORT, which may come at any time and whose body is a text. Whatever does not fit ends the connection.
 */
#ifndef BELFRY_DRIVERS_BOOTSTRAP_WIRE_INTERNAL_H
#define BELFRY_DRIVERS_BOOTSTRAP_WIRE_INTERNAL_H

#include <stdbool.h>

#include "drivers/bootstrap/meet_internal.h"

#define BF_WIRE_VERSION 1u
#define BF_WIRE_GREETING 32u
#define BF_WIRE_HEAD 24u
#define BF_WIRE_TEXT 240u /* longest body of ABORT */

enum { BF_WIRE_EXCHANGE = BF_BOOT_OPS, BF_WIRE_ABORT };

struct bf_wire_greeting {
	uint32_t version, ranks, rank;
};

void bf_wire_put_greeting(uint8_t out[BF_WIRE_GREETING], const struct bf_wire_greeting *g);
/* -EBADMSG: no greeting of ours at all. */
int bf_wire_get_greeting(const uint8_t in[BF_WIRE_GREETING], struct bf_wire_greeting *out);

void bf_wire_put_head(uint8_t out[BF_WIRE_HEAD], uint32_t op, int code, uint64_t seq, uint64_t bytes);

/* One direction of a connection: puts messages together from bytes as they come. */
struct bf_inbox {
	uint8_t head[BF_WIRE_HEAD];
	uint32_t rank;      /* who sends, for texts */
	uint32_t head_have; /* bytes of `head` */
	uint64_t left;      /* bytes of the body to come */
	uint8_t *at;        /* where they go */
	bool done;          /* what was expected is there */
	bool aborting;      /* the body is the text of an ABORT */
	/* What is expected. */
	uint32_t op;
	uint64_t seq;
	uint8_t *to; /* `bytes` bytes, exactly, or: */
	size_t bytes;
	struct bf_boot_buf *room; /* any number up to BF_BOOT_BYTES_MAX */
	char text[BF_WIRE_TEXT + 1];
};

/* The next message: its op and number, and where its body goes (`room` NULL: exactly `bytes` to `to`). */
void bf_inbox_expect(struct bf_inbox *in, uint32_t op, uint64_t seq, void *to, size_t bytes, struct bf_boot_buf *room);

/*
 * Takes bytes up to the end of the message; returns how many. -EPROTO: not what was expected; -ECONNRESET: an ABORT;
 * -ENOMEM. Text in `err`.
 */
int64_t bf_inbox_take(struct bf_inbox *in, const uint8_t *bytes, size_t len, struct bf_error *err);

/* Where the rest of the body may be written to directly: its length, 0 outside a body. Then say how much was. */
static inline uint64_t bf_inbox_direct(const struct bf_inbox *in, uint8_t **at)
{
	*at = in->at;
	return in->done || in->aborting || in->head_have < BF_WIRE_HEAD ? 0 : in->left;
}
void bf_inbox_written(struct bf_inbox *in, uint64_t bytes);

#endif

/* Writing packets as pcapng. Block and option codes: draft-ietf-opsawg-pcapng, sections 3.5, 4.1, 4.2, 4.3. */
#include "traces/export/pcapng.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "traces/container/trace_internal.h"

#define BLOCK_SECTION 0x0a0d0d0au
#define BLOCK_INTERFACE 1u
#define BLOCK_PACKET 6u
#define OPT_COMMENT 1u
#define OPT_SHB_USERAPPL 4u
#define OPT_IF_NAME 2u
#define OPT_IF_TSRESOL 9u
#define OPT_EPB_FLAGS 2u
#define OPT_EPB_PACKETID 5u
#define LINKTYPE_ETHERNET 1u
#define TSRESOL_PICOSECONDS 12u

/* An arrival's record has no frame of its own; it is the one sent under its number. So many may be in flight. */
#define IN_FLIGHT 4096u

struct frame {
	uint64_t id;
	struct bf_bytes bytes;
};

struct exporter {
	struct bf_trace *t;
	FILE *out;
	const struct bf_pcapng_options *o;
	struct bf_error *err;
	struct bf_pcapng_result result;
	struct bf_bytes block;
	struct bf_bytes ports; /* uint32_t each: the actor of interface i */
	struct frame *in_flight;
};

/* Blocks are built in memory; a failed allocation shows when the block ends. */

static void put(struct exporter *x, const void *bytes, size_t len)
{
	static const uint8_t zeros[4];
	if (bf_bytes_add(&x->block, bytes, len) || bf_bytes_add(&x->block, zeros, -len & 3))
		x->err->code = -ENOMEM;
}

static void put32(struct exporter *x, uint32_t v)
{
	put(x, &v, sizeof(v));
}

static void put_option(struct exporter *x, uint16_t code, const void *value, size_t len)
{
	if (len > UINT16_MAX)
		len = UINT16_MAX;
	put32(x, code | (uint32_t)len << 16);
	put(x, value, len);
}

static void begin_block(struct exporter *x, uint32_t type)
{
	x->block.len = 0;
	put32(x, type);
	put32(x, 0);
}

static int end_block(struct exporter *x)
{
	put32(x, 0); /* opt_endofopt */
	uint32_t len = (uint32_t)x->block.len + 4;
	put32(x, len);
	if (x->err->code == -ENOMEM)
		return bf_fail(x->err, -ENOMEM, "no memory to export packets");
	bf_put_le32(x->block.at + 4, len);
	errno = 0;
	if (fwrite(x->block.at, 1, len, x->out) != len)
		return bf_fail(x->err, errno ? -errno : -EIO, "cannot write the packets: %s",
			       strerror(errno ? errno : EIO));
	return 0;
}

static int write_section(struct exporter *x)
{
	begin_block(x, BLOCK_SECTION);
	put32(x, 0x1a2b3c4d); /* byte order */
	put32(x, 1);          /* version 1.0 */
	put32(x, UINT32_MAX); /* section length: unknown */
	put32(x, UINT32_MAX);
	put_option(x, OPT_SHB_USERAPPL, "Belfry", 6);
	return end_block(x);
}

static int write_interface(struct exporter *x, uint32_t actor)
{
	const char *name = bf_trace_actor_name(x->t, actor);
	uint8_t tsresol = TSRESOL_PICOSECONDS;
	begin_block(x, BLOCK_INTERFACE);
	put32(x, LINKTYPE_ETHERNET);
	put32(x, 0); /* no snap length */
	put_option(x, OPT_IF_NAME, name, strlen(name));
	put_option(x, OPT_IF_TSRESOL, &tsresol, 1);
	x->result.interfaces++;
	return end_block(x);
}

/* The interface of a port, declared on first use. */
static int interface_of(struct exporter *x, uint32_t actor, uint32_t *number)
{
	size_t n = x->ports.len / sizeof(actor);
	for (size_t i = 0; i < n; i++) {
		if (bf_get_le32(x->ports.at + i * sizeof(actor)) == actor) {
			*number = (uint32_t)i;
			return 0;
		}
	}
	*number = (uint32_t)n;
	if (bf_bytes_add(&x->ports, &actor, sizeof(actor)))
		return bf_fail(x->err, -ENOMEM, "no memory to export packets");
	return write_interface(x, actor);
}

static void put_verdict(struct exporter *x, const struct bf_trace_record *rec)
{
	const struct bf_rec_field *f = bf_schema_field(rec->type, "verdict");
	uint64_t verdict = f ? bf_field_u64(f, rec->fixed) : 0;
	size_t len;
	const char *name = verdict ? bf_field_enum_name(f, verdict, &len) : NULL;
	if (name)
		put_option(x, OPT_COMMENT, name, len);
	else if (verdict)
		put_option(x, OPT_COMMENT, "unknown verdict", 15);
}

static int write_packet(struct exporter *x, const struct bf_trace_record *rec, uint64_t id, bool arrival,
			const uint8_t *frame, size_t len)
{
	uint32_t number;
	uint64_t wire = len;
	int rc = interface_of(x, rec->actor, &number);
	if (rc)
		return rc;
	bf_trace_field_u64(rec, "len", &wire);
	begin_block(x, BLOCK_PACKET);
	put32(x, number);
	put32(x, (uint32_t)(rec->time_ps >> 32));
	put32(x, (uint32_t)rec->time_ps);
	put32(x, (uint32_t)len);
	put32(x, (uint32_t)(wire > len ? wire : len));
	put(x, frame, len);
	put_verdict(x, rec);
	uint32_t flags = arrival ? 1 : 2; /* inbound, outbound */
	put_option(x, OPT_EPB_FLAGS, &flags, sizeof(flags));
	if (id)
		put_option(x, OPT_EPB_PACKETID, &id, sizeof(id));
	x->result.packets++;
	return end_block(x);
}

/* Ids are a sender's address above its count: senders that count alike must not meet. */
static struct frame *in_flight(struct exporter *x, uint64_t id)
{
	return &x->in_flight[((uint32_t)id + (id >> 32) * 0x9e3779b1u) % IN_FLIGHT];
}

static int remember(struct exporter *x, uint64_t id, const struct bf_trace_record *rec)
{
	struct frame *f = in_flight(x, id);
	f->id = id;
	f->bytes.len = 0;
	return bf_bytes_add(&f->bytes, rec->tail, rec->tail_len)
		   ? bf_fail(x->err, -ENOMEM, "no memory to export packets")
		   : 0;
}

static int take_packet(struct exporter *x, const struct bf_trace_record *rec)
{
	uint64_t id = 0, dir = 0;
	if (!bf_trace_field_u64(rec, "packet", &id))
		bf_trace_field_u64(rec, "id", &id);
	bf_trace_field_u64(rec, "dir", &dir);
	if (!dir) {
		int rc = x->o->both && id ? remember(x, id, rec) : 0;
		return rc ? rc : write_packet(x, rec, id, false, rec->tail, rec->tail_len);
	}
	if (!x->o->both)
		return 0;
	if (rec->tail_len)
		return write_packet(x, rec, id, true, rec->tail, rec->tail_len);
	const struct frame *f = in_flight(x, id);
	if (id && f->id == id)
		return write_packet(x, rec, id, true, f->bytes.at, f->bytes.len);
	x->result.frameless++;
	return 0;
}

static int export_all(struct exporter *x)
{
	struct bf_trace_record rec;
	int lost = 0, rc = write_section(x);
	while (!rc && (rc = bf_trace_next_good(x->t, &rec, &lost)) > 0)
		rc = strcmp(rec.type->name, "packet") == 0 ? take_packet(x, &rec) : 0;
	if (!rc && fflush(x->out))
		rc = bf_fail(x->err, -errno, "cannot write the packets: %s", strerror(errno));
	return rc ? rc : lost;
}

int bf_pcapng_export(struct bf_trace *t, const struct bf_pcapng_options *options, FILE *out,
		     struct bf_pcapng_result *result, struct bf_error *err)
{
	static const struct bf_pcapng_options defaults;
	struct bf_error own = { 0 };
	struct exporter x = { .t = t, .out = out, .o = options ? options : &defaults, .err = err ? err : &own };
	x.err->code = 0;
	x.in_flight = x.o->both ? calloc(IN_FLIGHT, sizeof(*x.in_flight)) : NULL;
	int rc = x.o->both && !x.in_flight ? bf_fail(x.err, -ENOMEM, "no memory to export packets") : export_all(&x);
	if (result)
		*result = x.result;
	for (size_t i = 0; x.in_flight && i < IN_FLIGHT; i++)
		free(x.in_flight[i].bytes.at);
	free(x.in_flight);
	free(x.block.at);
	free(x.ports.at);
	return rc;
}

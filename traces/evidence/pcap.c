/*
 * Files of packets into frames: pcap (tcpdump's file format, draft-ietf-opsawg-pcap) and pcapng
 * (draft-ietf-opsawg-pcapng), of either byte order. Read a record at a time: captures are larger than memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/bytes.h"
#include "sim/grow.h"
#include "traces/evidence/packets_internal.h"

#define RECORD_MAX (16u << 20) /* a block or frame above this is damage: captured frames end at 256 KiB */
#define MAGIC_MICRO 0xa1b2c3d4u
#define MAGIC_NANO 0xa1b23c4du
#define MAGIC_SECTION 0x0a0d0d0au /* reads the same either way */
#define BYTE_ORDER_MAGIC 0x1a2b3c4du
#define BLOCK_INTERFACE 1u
#define BLOCK_PACKET_OLD 2u
#define BLOCK_PACKET_SIMPLE 3u
#define BLOCK_PACKET 6u
#define OPT_TSRESOL 9u
#define INTERFACES 256u

struct interface {
	uint32_t link, snap;
	uint8_t resolution; /* as in if_tsresol */
};

struct packets {
	FILE *f;
	const char *path;
	struct bf_conversations *talk;
	struct bf_packet_count *count;
	struct bf_error *err;
	uint64_t at; /* bytes of the file that were read */
	uint8_t *record;
	size_t room;
	bool big;
	struct interface interface[INTERFACES];
	uint32_t interfaces, first; /* of this section; `first`: those of earlier sections */
};

static uint16_t get16(const struct packets *p, const uint8_t *at)
{
	return p->big ? bf_get_be16(at) : bf_get_le16(at);
}

static uint32_t get32(const struct packets *p, const uint8_t *at)
{
	return p->big ? bf_get_be32(at) : bf_get_le32(at);
}

bool bf_packets_probe(const void *head, size_t len)
{
	const uint32_t magic = len >= 4 ? bf_get_be32(head) : 0;

	return magic == MAGIC_SECTION || magic == MAGIC_MICRO || magic == MAGIC_NANO ||
	       bf_swap32(magic) == MAGIC_MICRO || bf_swap32(magic) == MAGIC_NANO;
}

static int damaged(struct packets *p, const char *what)
{
	return bf_fail(p->err, -EBADMSG, "%s: byte %llu, behind packet %llu: %s", p->path, (unsigned long long)p->at,
		       (unsigned long long)p->count->frames, what);
}

/* `len` bytes behind the first `from` of the record. 1; 0: the file ends before the first of them; or an error. */
static int more(struct packets *p, size_t from, size_t len, const char *of)
{
	size_t got;

	if (BF_GROW(p->record, p->room, from + len))
		return bf_fail(p->err, -ENOMEM, "%s: no memory for a packet of %zu bytes", p->path, len);
	got = fread(p->record + from, 1, len, p->f);
	if (ferror(p->f))
		return bf_fail(p->err, -EIO, "cannot read %s: %s", p->path, strerror(errno));
	if (got < len && got + from)
		return damaged(p, of);
	p->at += got;
	return got == len;
}

static int give(struct packets *p, const uint8_t *at, uint32_t len, uint32_t link, uint32_t interface, uint64_t ns)
{
	const struct bf_frame frame = { .at = at, .len = len, .link = link, .interface = interface, .ns = ns };

	p->count->frames++;
	if (bf_conversations_frame(p->talk, &frame))
		return bf_fail(p->err, -ENOMEM, "%s: no memory at packet %llu", p->path,
			       (unsigned long long)p->count->frames);
	return 0;
}

/* ---- pcap ---- */

static int read_pcap(struct packets *p)
{
	uint32_t link, unit;
	int rc = more(p, 4, 20, "the file's header ends here");

	if (rc < 0)
		return rc;
	p->big = p->record[0] == 0xa1;
	unit = get32(p, p->record) == MAGIC_NANO ? 1 : 1000;
	link = get32(p, p->record + 20) & 0xfffffff; /* above: bytes of a frame check sequence */
	while ((rc = more(p, 0, 16, "the file ends within a packet's header")) > 0) {
		const uint64_t ns = get32(p, p->record) * 1000000000ull + (uint64_t)get32(p, p->record + 4) * unit;
		const uint32_t len = get32(p, p->record + 8);

		if (len > RECORD_MAX)
			return damaged(p, "a packet's length is more than any packet has");
		rc = len ? more(p, 16, len, "the file ends within a packet") : 1;
		rc = rc > 0 ? give(p, p->record + 16, len, link, 0, ns) : rc;
		if (rc)
			return rc;
	}
	return rc;
}

/* ---- pcapng ---- */

static int take_section(struct packets *p)
{
	const uint32_t order = bf_get_be32(p->record + 8);

	if (order != BYTE_ORDER_MAGIC && bf_swap32(order) != BYTE_ORDER_MAGIC)
		return damaged(p, "a section has no byte-order magic");
	p->big = order == BYTE_ORDER_MAGIC;
	p->first += p->interfaces;
	p->interfaces = 0;
	return 0;
}

static int take_interface(struct packets *p, uint32_t len)
{
	struct interface *i = &p->interface[p->interfaces];
	const uint8_t *b = p->record;

	if (p->interfaces == INTERFACES)
		return damaged(p, "more than 256 interfaces");
	if (len < 20)
		return damaged(p, "an interface's block is too short");
	*i = (struct interface){ .link = get16(p, b + 8), .snap = get32(p, b + 12), .resolution = 6 };
	p->interfaces++;
	for (uint32_t at = 16; at + 4 <= len - 4;) {
		const uint32_t code = get16(p, b + at), size = get16(p, b + at + 2);

		if (!code || at + 4 + size > len - 4)
			break;
		if (code == OPT_TSRESOL && size >= 1)
			i->resolution = b[at + 4];
		at += 4 + ((size + 3) & ~3u);
	}
	return 0;
}

static uint64_t to_ns(uint64_t ticks, uint8_t resolution)
{
	uint32_t power = resolution & 0x7f;

	if (resolution & 0x80)
		return power < 64 ? (uint64_t)((double)ticks * 1e9 / (double)(1ull << power)) : 0;
	for (; power < 9; power++)
		ticks *= 10;
	for (; power > 9 && ticks; power--)
		ticks /= 10;
	return ticks;
}

/* Where the packet stands in each kind of block: enhanced, simple, and the one before them. */
static int take_packet(struct packets *p, uint32_t type, uint32_t len)
{
	const uint32_t at = type == BLOCK_PACKET_SIMPLE ? 12 : 28;
	const uint8_t *b = p->record;
	uint32_t number = 0, size;
	uint64_t ticks = 0;

	if (len < at + 4)
		return damaged(p, "a packet's block is too short");
	if (type != BLOCK_PACKET_SIMPLE) {
		number = type == BLOCK_PACKET ? get32(p, b + 8) : get16(p, b + 8);
		ticks = (uint64_t)get32(p, b + 12) << 32 | get32(p, b + 16);
	}
	if (number >= p->interfaces)
		return damaged(p, "a packet's interface was not declared");
	size = get32(p, b + (type == BLOCK_PACKET_SIMPLE ? 8 : 20));
	if (type == BLOCK_PACKET_SIMPLE && p->interface[number].snap && size > p->interface[number].snap)
		size = p->interface[number].snap;
	if (size > len - 4 - at)
		return damaged(p, "a packet is longer than its block");
	return give(p, b + at, size, p->interface[number].link, p->first + number,
		    to_ns(ticks, p->interface[number].resolution));
}

/* The first four bytes of the file are there already. */
static int read_pcapng(struct packets *p)
{
	int rc = 1;

	for (size_t have = 4; rc > 0; have = 0) {
		uint32_t type, len;

		rc = more(p, have, 12 - have, "the file ends within a block's header");
		if (rc <= 0)
			return rc;
		if (bf_get_be32(p->record) == MAGIC_SECTION && (rc = take_section(p)) != 0)
			return rc;
		type = get32(p, p->record);
		len = get32(p, p->record + 4);
		if (len < 12 || len > RECORD_MAX || len % 4)
			return damaged(p, "a block's length is none");
		rc = len > 12 ? more(p, 12, len - 12, "the file ends within a block") : 1;
		if (rc <= 0)
			return rc;
		if (get32(p, p->record + len - 4) != len)
			return damaged(p, "the block's two lengths differ");
		rc = type == BLOCK_INTERFACE ? take_interface(p, len)
		     : type == BLOCK_PACKET || type == BLOCK_PACKET_OLD || type == BLOCK_PACKET_SIMPLE
			 ? take_packet(p, type, len)
			 : 0;
		rc = rc ? rc : 1;
	}
	return rc;
}

int bf_packets_read(FILE *f, const char *path, struct bf_evidence_list *list, struct bf_packet_count *count,
		    struct bf_error *err)
{
	struct packets *p = calloc(1, sizeof(*p));
	struct bf_conversations *talk = bf_conversations_new(list, count);
	int rc = p && talk ? 0 : bf_fail(err, -ENOMEM, "%s: out of memory", path);

	if (!rc) {
		*p = (struct packets){ .f = f, .path = path, .talk = talk, .count = count, .err = err };
		rc = more(p, 0, 4, "this is no file of packets");
		if (rc > 0)
			rc = !bf_packets_probe(p->record, 4)           ? damaged(p, "this is no file of packets")
			     : bf_get_be32(p->record) == MAGIC_SECTION ? read_pcapng(p)
								       : read_pcap(p);
		free(p->record);
	}
	bf_conversations_free(talk);
	free(p);
	return rc < 0 ? rc : 0;
}

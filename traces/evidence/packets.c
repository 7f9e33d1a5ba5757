/*
 * Frames into conversations, and what goes wrong in them: what a responder refuses, what a requester sends again, what
 * comes late, what congestion is told. Headers and opcodes: docs/hardware/roce.md.
 */
#include "traces/evidence/packets.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/fabric/roce.h"
#include "sim/bytes.h"
#include "traces/evidence/evidence_internal.h"
#include "traces/evidence/packets_internal.h"

#define WINDOW 16384u  /* packet sequence numbers that are remembered of a conversation */
#define REQUESTS 1024u /* the last requests, to tell what a NAK refuses */
#define BTH_LEN 12u
#define DCETH_LEN 12u
#define GRH_LEN 40u
#define CNP_OPCODE 0x81u /* IBA annex A17.9.3 */
#define ETHERTYPE_ROCE_V1 0x8915u

/* Link types: www.tcpdump.org/linktypes.html. */
enum link {
	LINK_NULL = 0,
	LINK_ETHERNET = 1,
	LINK_RAW = 101,
	LINK_LOOP = 108,
	LINK_SLL = 113,
	LINK_IPV4 = 228,
	LINK_IPV6 = 229,
	LINK_SLL2 = 276
};

struct address {
	uint8_t bytes[16]; /* IPv4: the first four */
	bool v6;
};

struct packet {
	struct address src, dst;
	uint32_t qp, psn, interface;
	uint8_t opcode; /* as on the wire */
	uint8_t rc;     /* the RC opcode that it is */
	uint32_t info;  /* BF_ROCE_HAS_* */
	const uint8_t *extension;
	uint32_t left; /* bytes from `extension` on */
	uint64_t ns;
};

/* From one address to a queue pair. */
struct flow {
	bool used;
	struct address src, dst;
	uint32_t qp, interface;
	uint32_t next; /* the PSN behind the highest one */
	uint64_t *seen;
};

struct request {
	struct address src, dst;
	uint32_t psn, rkey, len;
	uint64_t va;
	uint8_t opcode;
};

struct bf_conversations {
	struct bf_evidence_list *list;
	struct bf_packet_count *count;
	struct flow *flow;
	size_t flows, room; /* room: a power of two */
	struct request request[REQUESTS];
	uint64_t requests;
	uint64_t begin_ns;
};

struct bf_conversations *bf_conversations_new(struct bf_evidence_list *list, struct bf_packet_count *count)
{
	struct bf_conversations *c = calloc(1, sizeof(*c));

	if (c) {
		c->list = list;
		c->count = count;
	}
	return c;
}

void bf_conversations_free(struct bf_conversations *c)
{
	for (size_t i = 0; c && i < c->room; i++)
		free(c->flow[i].seen);
	if (c)
		free(c->flow);
	free(c);
}

/* ---- from the link to BTH ---- */

enum seen { SEEN_OTHER, SEEN_CUT, SEEN_UNKNOWN, SEEN_BTH };

static enum seen take_bth(const uint8_t *at, uint32_t len, struct packet *p)
{
	uint32_t skip = BTH_LEN;

	if (len < BTH_LEN)
		return SEEN_CUT;
	p->opcode = at[0];
	p->info = bf_roce_opcode_info(p->opcode);
	p->rc = bf_roce_rc_opcode(p->opcode);
	p->qp = bf_get_be24(at + 5);
	p->psn = bf_get_be24(at + 9);
	if (!p->info && p->opcode != CNP_OPCODE)
		return SEEN_UNKNOWN;
	if (p->info & BF_ROCE_HAS_DCETH)
		skip += DCETH_LEN;
	p->extension = len > skip ? at + skip : at + len;
	p->left = len > skip ? len - skip : 0;
	return SEEN_BTH;
}

static void take_addresses(const uint8_t *src, bool v6, struct packet *p)
{
	const uint32_t n = v6 ? 16 : 4;

	p->src.v6 = p->dst.v6 = v6;
	memcpy(p->src.bytes, src, n);
	memcpy(p->dst.bytes, src + n, n);
}

static enum seen take_udp(const uint8_t *at, uint32_t len, struct packet *p)
{
	if (len < 4)
		return SEEN_CUT;
	if (bf_get_be16(at + 2) != BF_ROCE_UDP_PORT)
		return SEEN_OTHER;
	return len < 8 ? SEEN_CUT : take_bth(at + 8, len - 8, p);
}

static enum seen take_ip(const uint8_t *at, uint32_t len, struct packet *p)
{
	const uint32_t version = len ? at[0] >> 4 : 0, head = version == 4 ? (at[0] & 15u) * 4 : GRH_LEN;

	if (version != 4 && version != 6)
		return len ? SEEN_OTHER : SEEN_CUT;
	if (len < head || len < 20)
		return SEEN_CUT;
	if (head < 20 || at[version == 4 ? 9 : 6] != 17)
		return SEEN_OTHER;
	if (version == 4 && bf_get_be16(at + 6) & 0x1fff)
		return SEEN_OTHER; /* a later fragment: its ports are elsewhere */
	take_addresses(at + (version == 4 ? 12 : 8), version == 6, p);
	return take_udp(at + head, len - head, p);
}

static enum seen take_ethertype(const uint8_t *type, const uint8_t *end, struct packet *p)
{
	while (end - type >= 6 && (bf_get_be16(type) == 0x8100 || bf_get_be16(type) == 0x88a8))
		type += 4;
	if (end - type < 2)
		return SEEN_CUT;
	if (bf_get_be16(type) == 0x0800 || bf_get_be16(type) == 0x86dd)
		return take_ip(type + 2, (uint32_t)(end - type - 2), p);
	if (bf_get_be16(type) != ETHERTYPE_ROCE_V1)
		return SEEN_OTHER;
	if (end - type < (ptrdiff_t)(2 + GRH_LEN))
		return SEEN_CUT;
	take_addresses(type + 2 + 8, true, p);
	return take_bth(type + 2 + GRH_LEN, (uint32_t)(end - type) - 2 - GRH_LEN, p);
}

/* The frame as a packet. */
static enum seen take_frame(const struct bf_frame *f, struct packet *p)
{
	const uint8_t *end = f->at + f->len;
	uint32_t skip;

	memset(p, 0, sizeof(*p));
	p->interface = f->interface;
	p->ns = f->ns;
	switch (f->link) {
	case LINK_ETHERNET:
		return f->len < 14 ? SEEN_CUT : take_ethertype(f->at + 12, end, p);
	case LINK_SLL:
		return f->len < 16 ? SEEN_CUT : take_ethertype(f->at + 14, end, p);
	case LINK_SLL2: /* the protocol stands first */
		if (f->len < 20)
			return SEEN_CUT;
		return bf_get_be16(f->at) == 0x0800 || bf_get_be16(f->at) == 0x86dd
			   ? take_ip(f->at + 20, f->len - 20, p)
			   : SEEN_OTHER;
	case LINK_NULL:
	case LINK_LOOP:
	case LINK_RAW:
	case LINK_IPV4:
	case LINK_IPV6:
		skip = f->link == LINK_NULL || f->link == LINK_LOOP ? 4 : 0;
		return f->len < skip ? SEEN_CUT : take_ip(f->at + skip, f->len - skip, p);
	default:
		return SEEN_UNKNOWN;
	}
}

/* ---- evidence ---- */

static const char *address_text(const struct address *a, char *text, size_t cap)
{
	size_t n = 0;

	if (!a->v6)
		snprintf(text, cap, "%u.%u.%u.%u", a->bytes[0], a->bytes[1], a->bytes[2], a->bytes[3]);
	for (uint32_t i = 0; a->v6 && i < 16 && n < cap; i += 2)
		n += (size_t)snprintf(text + n, cap - n, "%s%x", i ? ":" : "", bf_get_be16(a->bytes + i));
	return text;
}

static struct bf_evidence *add(struct bf_conversations *c, const struct packet *p, const char *form)
{
	struct bf_evidence *e = bf_evidence_add(c->list);
	const struct bf_line none = { .at = "", .end = "", .number = c->count->frames };
	const uint64_t ns = p->ns - c->begin_ns;
	char src[48], dst[48];

	if (!e)
		return NULL;
	bf_evidence_begin(e, form, BF_EVIDENCE_ROCE, BF_EVIDENCE_PACKET, &none);
	e->fact[BF_FACT_QPN] = p->qp;
	e->fact[BF_FACT_BTH] = p->opcode;
	e->fact[BF_FACT_PSN] = p->psn;
	snprintf(e->text, sizeof(e->text), "+%" PRIu64 ".%06" PRIu64 " s %s > %s QP 0x%x %s PSN %u", ns / 1000000000,
		 ns / 1000 % 1000000, address_text(&p->src, src, sizeof(src)), address_text(&p->dst, dst, sizeof(dst)),
		 p->qp, p->opcode == CNP_OPCODE ? "CNP" : bf_roce_opcode_name(p->opcode), p->psn);
	return e;
}

static bool same_address(const struct address *a, const struct address *b)
{
	return a->v6 == b->v6 && memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

/* The request that a NAK names, where its first packet was captured: its address and key. */
static void add_refused(const struct bf_conversations *c, const struct packet *nak, struct bf_evidence *e)
{
	const uint64_t oldest = c->requests > REQUESTS ? c->requests - REQUESTS : 0;
	const size_t n = strlen(e->text);

	for (uint64_t i = c->requests; i > oldest; i--) {
		const struct request *r = &c->request[(i - 1) % REQUESTS];

		if (r->psn != nak->psn || !same_address(&r->src, &nak->dst) || !same_address(&r->dst, &nak->src))
			continue;
		e->fact[BF_FACT_RADDR] = r->va <= INT64_MAX ? (int64_t)r->va : -1;
		e->fact[BF_FACT_RKEY] = r->rkey;
		snprintf(e->text + n, sizeof(e->text) - n, " refuses %s of %u bytes", bf_roce_opcode_name(r->opcode),
			 r->len);
		return;
	}
}

static int take_response(struct bf_conversations *c, const struct packet *p)
{
	struct bf_evidence *e;
	uint8_t syndrome;

	if (p->left < sizeof(struct bf_roce_aeth)) {
		c->count->cut++;
		return 0;
	}
	syndrome = p->extension[0];
	if (syndrome >> 5 != 1 && syndrome >> 5 != 3)
		return 0;
	e = add(c, p, syndrome >> 5 == 1 ? "an RNR NAK" : "a NAK");
	if (!e)
		return -ENOMEM;
	e->fact[BF_FACT_AETH] = syndrome;
	if (syndrome > BF_AETH_NAK_SEQ)
		add_refused(c, p, e);
	return 0;
}

static int take_notice(struct bf_conversations *c, const struct packet *p)
{
	return add(c, p, "a congestion notification packet") ? 0 : -ENOMEM;
}

/* ---- requests and their sequence numbers ---- */

static size_t place(const struct bf_conversations *c, const struct address *src, const struct address *dst, uint32_t qp,
		    uint32_t interface)
{
	uint64_t hash = (uint64_t)interface << 32 | qp;
	size_t i;

	for (uint32_t k = 0; k < 16; k += 4)
		hash = (hash ^ bf_get_le32(src->bytes + k) ^ (uint64_t)bf_get_le32(dst->bytes + k) << 32) *
		       0x9e3779b97f4a7c15ull;
	for (i = (size_t)(hash >> 32) & (c->room - 1); c->flow[i].used; i = (i + 1) & (c->room - 1)) {
		const struct flow *f = &c->flow[i];

		if (f->qp == qp && f->interface == interface && same_address(&f->src, src) &&
		    same_address(&f->dst, dst))
			break;
	}
	return i;
}

static int grow(struct bf_conversations *c)
{
	struct bf_conversations larger = { .room = c->room ? 2 * c->room : 64 };

	larger.flow = calloc(larger.room, sizeof(*larger.flow));
	if (!larger.flow)
		return -ENOMEM;
	for (size_t i = 0; i < c->room; i++) {
		const struct flow *f = &c->flow[i];

		if (f->used)
			larger.flow[place(&larger, &f->src, &f->dst, f->qp, f->interface)] = *f;
	}
	free(c->flow);
	c->flow = larger.flow;
	c->room = larger.room;
	return 0;
}

static struct flow *flow_of(struct bf_conversations *c, const struct packet *p)
{
	struct flow *f;

	if (2 * c->flows >= c->room && grow(c))
		return NULL;
	f = &c->flow[place(c, &p->src, &p->dst, p->qp, p->interface)];
	if (f->used)
		return f;
	f->seen = calloc(WINDOW / 64, sizeof(*f->seen));
	if (!f->seen)
		return NULL;
	f->used = true;
	f->src = p->src;
	f->dst = p->dst;
	f->qp = p->qp;
	f->interface = p->interface;
	f->next = p->psn;
	c->flows++;
	return f;
}

static void remember(struct bf_conversations *c, const struct packet *p)
{
	struct request *r = &c->request[c->requests % REQUESTS];

	if (!(p->info & (BF_ROCE_HAS_RETH | BF_ROCE_HAS_ATOMIC)) || p->left < sizeof(struct bf_roce_reth))
		return;
	*r = (struct request){ .src = p->src, .dst = p->dst, .psn = p->psn, .opcode = p->opcode };
	r->va = bf_get_be64(p->extension);
	r->rkey = bf_get_be32(p->extension + 8);
	r->len = p->info & BF_ROCE_HAS_RETH ? bf_get_be32(p->extension + 12) : 8;
	c->requests++;
}

static uint64_t bit(uint32_t psn)
{
	return 1ull << (psn % 64);
}

static uint64_t *word(struct flow *f, uint32_t psn)
{
	return &f->seen[psn % WINDOW / 64];
}

/*
 * Sequence numbers of a requester grow: one that was there is sent again, one that was passed over comes late. A READ
 * passes over those of its responses, and may begin again amid them.
 */
static int take_request(struct bf_conversations *c, const struct packet *p)
{
	struct flow *f = flow_of(c, p);
	uint32_t ahead, behind;
	struct bf_evidence *e;
	bool again;

	if (!f)
		return -ENOMEM;
	remember(c, p);
	ahead = (p->psn - f->next) & 0xffffff;
	behind = (f->next - p->psn) & 0xffffff;
	if (ahead >= WINDOW && behind > WINDOW) { /* a new connection of the same numbers */
		memset(f->seen, 0, WINDOW / 8);
		f->next = p->psn;
		ahead = 0;
	}
	if (ahead < WINDOW) {
		for (; ahead; ahead--, f->next = (f->next + 1) & 0xffffff)
			*word(f, f->next) &= ~bit(f->next);
		*word(f, p->psn) |= bit(p->psn);
		f->next = (p->psn + 1) & 0xffffff;
		return 0;
	}
	again = (*word(f, p->psn) & bit(p->psn)) || p->rc == BF_RC_READ_REQUEST;
	*word(f, p->psn) |= bit(p->psn);
	e = add(c, p, again ? "a request that is sent again" : "a request behind later ones");
	if (e && !again)
		e->fact[BF_FACT_LATE] = 1;
	return e ? 0 : -ENOMEM;
}

int bf_conversations_frame(struct bf_conversations *c, const struct bf_frame *f)
{
	struct packet p;
	const enum seen what = take_frame(f, &p);

	if (c->count->frames == 1)
		c->begin_ns = f->ns;
	c->count->cut += what == SEEN_CUT;
	c->count->unknown += what == SEEN_UNKNOWN;
	c->count->roce += what == SEEN_BTH;
	if (what != SEEN_BTH)
		return 0;
	if (p.opcode == CNP_OPCODE)
		return take_notice(c, &p);
	if (p.info & BF_ROCE_HAS_AETH)
		return take_response(c, &p);
	if (p.info & (BF_ROCE_IS_UC | BF_ROCE_HAS_DETH | BF_ROCE_HAS_DCETH) || p.rc == BF_RC_READ_RESP_MIDDLE)
		return 0;
	return take_request(c, &p);
}

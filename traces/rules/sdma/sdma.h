/*
 * Facts about SDMA queues that several rules need: who had which bytes of a ring, what the engine read there, which
 * packets it found and what their copies moved. Indices count bytes and never wrap. Each list keeps what is recent.
 */
#ifndef BELFRY_TRACES_RULES_SDMA_SDMA_H
#define BELFRY_TRACES_RULES_SDMA_SDMA_H

#include "models/sdma/decode.h"
#include "models/sdma/records.h"
#include "traces/devices/points.h"
#include "traces/rules/way.h"

#define BF_SDMA_RULE_SPANS 1024u
#define BF_SDMA_RULE_READS 256u
#define BF_SDMA_RULE_PACKETS 512u
#define BF_SDMA_RULE_PIECES 2048u
#define BF_SDMA_RULE_VRAMS 64u /* regions of GPU memory that are kept */

/* Bytes from..to-1 that a thread reserved, or published. */
struct bf_sdma_rule_span {
	uint64_t from, to, at_ps, record;
	uint32_t actor;
	bool set, pad, stored;
	uint64_t pad_before; /* number of the reservation with padding before this one, plus one; 0: none */
};

/* A thread was told that what it had reserved is done: when (BF_NEVER: not yet), by the packet at which index. */
struct bf_sdma_rule_told {
	uint64_t at_ps, record, signal_index;
	const char *signal_name;
	uint32_t actor;
};

/* Ring bytes as the engine sampled them. */
struct bf_sdma_rule_read {
	uint64_t index, va, len, at_ps, record;
	uint64_t in_force; /* what the doorbell had published */
};

/*
 * A packet that began, in short, since what is kept of all packets is more than a cache holds: bf_sdma_rule_whole() is
 * the rest of it. `done_ps` of copies and fills: when their last byte was in memory, or BF_NEVER.
 */
struct bf_sdma_rule_begun {
	uint64_t index, indirect, at_ps, done_ps, record;
	uint64_t held_ps;                 /* POLL: when it was satisfied, BF_NEVER */
	uint64_t src, dst, count;         /* as struct bf_sdma_packet */
	uint64_t data;                    /* likewise; GCR: its control word */
	uint64_t bytes;                   /* bf_sdma_packet_bytes() */
	const char *name;                 /* of its form */
	uint32_t dwords;                  /* of the whole packet */
	uint32_t said;                    /* dwords of it, by the record */
	uint32_t dw[BF_SDMA_RECT_DWORDS]; /* as they stand; longer packets' first ones */
	uint32_t last;                    /* dword of those that the record has */
	uint8_t kind;                     /* enum bf_sdma_kind */
	bool broadcast;
};

struct bf_sdma_rule_windows {
	struct bf_sdma_rule_span reserves[BF_SDMA_RULE_SPANS], publishes[BF_SDMA_RULE_SPANS];
	struct bf_sdma_rule_told told[BF_SDMA_RULE_SPANS]; /* of the reservations */
	struct bf_sdma_rule_read reads[BF_SDMA_RULE_READS];
	struct bf_sdma_rule_begun packets[BF_SDMA_RULE_PACKETS];
	uint64_t nreserves, npublishes, nreads, npackets; /* in all; the last ones are kept */
	uint64_t last_pad;                                /* number of the last reservation with padding, plus one */
	uint64_t reservers; /* bit n: some thread with an actor's number n modulo 64 has reserved bytes */
};

struct bf_sdma_rule_queue {
	struct bf_sdma_rule_windows *w; /* owned; NULL before the queue was created */
	struct bf_ring *ring;
	/* How far its bytes have come: by the driver, by doorbells, by the engine that has decoded them. */
	struct bf_rule_way reserved, published, announced, decoded;
	uint64_t bytes, read_to;
	uint64_t doorbells;     /* that reached the engine */
	uint64_t address, rptr; /* of the ring, and where the read pointer goes */
	bool wrapped, paused, stopped;
	struct bf_sdma_dialect dialect;
	uint64_t fetch_index, fetch_address, fetch_len; /* the fetch on its way */
	uint64_t reserved_retired;                      /* where the engine was at the last reservation */
};

/* Bytes that a copy or fill moved at one moment; `packet` is NULL while the copy is not done, or no longer kept. */
struct bf_sdma_rule_piece {
	struct bf_seen_sdma_piece rec;
	uint64_t at_ps, record;
	uint32_t pe;
	bool set, done;
	struct bf_rule_queue *queue; /* done */
	uint64_t packet_at;          /* its packet's number in the queue */
	uint64_t packet_index;
};

/* What facts notice in a record. */
enum {
	BF_SDMA_RULE_STORED_AFTER = 1, /* store: run->after */
	BF_SDMA_RULE_HAS_VRAM = 2,     /* store, packet and copied, in a run with GPU memory */
	BF_SDMA_RULE_NOP = 4,          /* packet: what it is */
	BF_SDMA_RULE_POLL = 8,
	BF_SDMA_RULE_RECT = 16,
	BF_SDMA_RULE_SIGNAL = 32,
	BF_SDMA_RULE_COPY = 64,
};

/* A store into ring bytes that the engine had read before, by the thread that has them. */
struct bf_sdma_rule_after {
	struct bf_rule_queue *queue;
	const struct bf_sdma_rule_span *owner, *rang; /* whose bytes they are; who had published up to there, or NULL */
	const struct bf_sdma_rule_read *read;
	uint64_t index;
};

/* The last packet that stored a signal's value to an address, or to another one that shares its place. */
#define BF_SDMA_RULE_SIGNALS 4096u
struct bf_sdma_rule_signalled {
	uint64_t va, packet_at;      /* its number in the queue */
	struct bf_rule_queue *queue; /* NULL: none */
};

/* Ring bytes that a thread reserved last: the engine has not read them, and no padding of the thread is near. */
#define BF_SDMA_RULE_OWN 64u
struct bf_sdma_rule_own {
	uint32_t actor;
	uint64_t va, len; /* 0: none */
	uint64_t from;    /* index of the first */
	const struct bf_sdma_rule_queue *q;
};

struct bf_sdma_rule_run {
	struct bf_sdma_rule_own own[BF_SDMA_RULE_OWN]; /* by a thread's number */
	struct bf_sdma_rule_signalled signals[BF_SDMA_RULE_SIGNALS];
	struct bf_sdma_rule_piece pieces[BF_SDMA_RULE_PIECES];
	uint64_t npieces;
	struct {
		uint64_t va, size;
	} vram[BF_SDMA_RULE_VRAMS];
	uint32_t nvram;
	bool present; /* an engine has spoken */
	/* The queue and read that the last dma_read was; NULL when it was none of a ring. */
	struct bf_rule_queue *read_queue;
	const struct bf_sdma_rule_read *read;
	/* The packet that the last sdma_copied ended. */
	const struct bf_sdma_rule_begun *copied;
	struct bf_sdma_rule_after after; /* of the store record at hand */
};

extern const struct bf_rule_family bf_rules_sdma;

/* A finding on the store at hand, which says that the engine had fetched its place before; NULL as bf_rule_find(). */
struct bf_finding *bf_sdma_rule_find_after(struct bf_rule_run *r, const struct bf_seen *e);

static inline struct bf_sdma_rule_queue *bf_sdma_rule_of(const struct bf_rule_queue *q)
{
	return bf_rule_facts(q);
}

/* Number `back` of the kept ones, 0 is the last; NULL past them. */
static inline struct bf_sdma_rule_span *bf_sdma_rule_reserve(const struct bf_sdma_rule_queue *q, uint64_t back)
{
	if (!q->w || back >= q->w->nreserves || back >= BF_SDMA_RULE_SPANS)
		return NULL;
	return &q->w->reserves[(q->w->nreserves - 1 - back) % BF_SDMA_RULE_SPANS];
}

static inline struct bf_sdma_rule_begun *bf_sdma_rule_packet_back(const struct bf_sdma_rule_queue *q, uint64_t back)
{
	if (!q->w || back >= q->w->npackets || back >= BF_SDMA_RULE_PACKETS)
		return NULL;
	return &q->w->packets[(q->w->npackets - 1 - back) % BF_SDMA_RULE_PACKETS];
}

static inline struct bf_sdma_rule_piece *bf_sdma_rule_piece_back(struct bf_sdma_rule_run *run, uint64_t back)
{
	if (back >= run->npieces || back >= BF_SDMA_RULE_PIECES)
		return NULL;
	return &run->pieces[(run->npieces - 1 - back) % BF_SDMA_RULE_PIECES];
}

/* The reservation (publication) that covers byte `index`; NULL. */
struct bf_sdma_rule_span *bf_sdma_rule_reserve_of(const struct bf_sdma_rule_queue *q, uint64_t index);
const struct bf_sdma_rule_span *bf_sdma_rule_published_to(const struct bf_sdma_rule_queue *q, uint64_t to);

/* Whether a thread may be among those that reserved bytes: false for nearly all that never did. */
static inline bool bf_sdma_rule_reserved_by(const struct bf_sdma_rule_queue *q, uint32_t actor)
{
	return q->w && q->w->reservers >> actor % 64 & 1;
}

/* The packet that a piece belongs to; NULL while it is not known. */
const struct bf_sdma_rule_begun *bf_sdma_rule_packet_of(const struct bf_sdma_rule_piece *p);

/* Bytes between the first and the last of a piece, rows included. */
uint64_t bf_sdma_rule_extent(uint64_t pitch, const struct bf_sdma_rule_piece *p);

/* The piece writes this byte. */
bool bf_sdma_rule_writes(const struct bf_sdma_rule_piece *p, uint64_t va);

/* A sentence about what a byte that is wrong has to do with the copies; false when none is known. */
bool bf_sdma_rule_blame(struct bf_rule_run *r, struct bf_finding *f, uint64_t va);

/* The packet that a record of the engine is about, if it has begun; NULL. */
const struct bf_sdma_rule_begun *bf_sdma_rule_packet_in(const struct bf_sdma_rule_queue *q, uint64_t index,
							uint64_t indirect);

/* All that its dwords say. */
void bf_sdma_rule_whole(const struct bf_sdma_rule_queue *q, const struct bf_sdma_rule_begun *k,
			struct bf_sdma_packet *p);

/* It moves data: a copy, a fill, a write. */
bool bf_sdma_rule_is_data(const struct bf_sdma_rule_begun *k);

/* A finding at the fault `e`: which packet, by whom, why, by which dword. NULL when there is one already. */
struct bf_finding *bf_sdma_rule_find_fault(struct bf_rule_run *r, const struct bf_seen *e);
/* The header of the packet at which the queue stopped; false when it is not known. */
bool bf_sdma_rule_fault_header(const struct bf_seen *e, uint32_t *header);

/* The copy or fill that wrote the byte last, is around it, or is nearest to it; NULL when no copy is known. */
const struct bf_sdma_rule_begun *bf_sdma_rule_near(struct bf_rule_run *r, uint64_t va, struct bf_sdma_packet *whole,
						   bool *written);

/* The address is in GPU memory. */
bool bf_sdma_rule_in_vram(const struct bf_sdma_rule_run *run, uint64_t va);

/* A sub-window's rows and slices lie in the surfaces that its pitches make. */
bool bf_sdma_rule_rect_fits(const struct bf_sdma_packet *p);

/* Bytes up to the ring's end that were reserved as padding and not stored: the rule about them speaks for them. */
bool bf_sdma_rule_unpadded(const struct bf_sdma_rule_queue *q, uint64_t index);

static inline struct bf_sdma_rule_run *bf_sdma_rule_run(struct bf_rule_run *r)
{
	return r->facts;
}

#endif

/* What is kept of happens-before: threads (threads.c), stores and locations by address (places.c). */
#ifndef BELFRY_TRACES_RULES_ORDER_ORDER_INTERNAL_H
#define BELFRY_TRACES_RULES_ORDER_ORDER_INTERNAL_H

#include "sim/view.h"
#include "traces/container/numbering_internal.h"
#include "traces/rules/order/order.h"

#define BF_ORDER_WORD 4u /* bytes that a store is kept for */
#define BF_ORDER_WORDS (BF_LINE / BF_ORDER_WORD)
#define BF_ORDER_LINES_MAX (1u << 15) /* what lies in more is forgotten: it counts as ordered */
#define BF_ORDER_POSTED 1024u

struct bf_order_line {
	uint64_t number;
	uint64_t served; /* reads of records that the device had made when it wrote here: a completion */
	struct bf_order_store word[BF_ORDER_WORDS];
};

/* A location that strong stores and atomics have changed, and what they released, as far as each scope. */
struct bf_order_place {
	uint64_t va;
	uint32_t block, pe; /* who changed it last; 0 and any: a processor */
	uint64_t served;    /* as threads that changed it knew */
	struct bf_order_clock clock[BF_ORDER_LEVELS];
};

/* A store to a device that has not arrived. */
struct bf_order_posted {
	uint64_t va, value;
	uint32_t thread, stores;
	uint64_t at_ps, record;
	struct bf_order_clock clock[BF_ORDER_LEVELS]; /* [0] is not used */
	bool waits;
};

struct bf_order_block {
	char name[48];
	struct bf_order_clock clock;
};

struct bf_order_region {
	uint64_t va, end;
};

struct bf_order {
	struct bf_numbering actors;
	uint32_t *thread_of; /* by place of the actor among them: its number plus one */
	uint32_t thread_of_cap;
	struct bf_order_thread *threads;
	uint32_t nthreads, threads_cap;
	struct bf_order_block *blocks;
	uint32_t nblocks, blocks_cap;
	struct bf_order_line *lines;
	uint32_t nlines, lines_cap;
	struct bf_number_map line_of; /* by number; plus one */
	struct bf_order_place *places;
	uint32_t nplaces, places_cap;
	struct bf_number_map place_of;   /* by address; plus one */
	struct bf_order_region *regions; /* in GPUs' memory, by address */
	uint32_t nregions, regions_cap;
	struct bf_order_posted posted[BF_ORDER_POSTED];
	uint32_t nposted;
	struct bf_order_clock devices[BF_ORDER_LEVELS]; /* for memory behind the system's level, and the GPU's */
	struct bf_order_clock ended;                    /* what threads that have ended knew */
	uint32_t rang;                                  /* whose doorbell came last, plus one */
	uint64_t reads;                                 /* of records, by devices */
	uint64_t wanted;                                /* so many are enough for the doorbells that have arrived */
	uint32_t under_way;                             /* doorbells that have not */
	bool barriers; /* threads may meet where no record names them: blocks are taken for ordered */
	bool gave_up;
	struct bf_order_race race;
};

/* Nothing is judged any more. */
void bf_order_no_memory(struct bf_order *o);

/* What `from` knows, `to` knows too; or knows that alone. */
void bf_order_add(struct bf_order *o, struct bf_order_clock *to, const struct bf_order_clock *from);
void bf_order_become(struct bf_order *o, struct bf_order_clock *to, const struct bf_order_clock *from);

/* The thread of a record; NULL for lack of memory. */
struct bf_order_thread *bf_order_thread_of(struct bf_rules *r, struct bf_order *o, const struct bf_seen *e);

static inline uint32_t bf_order_number(const struct bf_order *o, const struct bf_order_thread *t)
{
	return (uint32_t)(t - o->threads);
}

/* A processor's accesses reach everybody, whatever scope they name. */
static inline enum bf_scope bf_order_reach(const struct bf_order_thread *t, uint64_t scope)
{
	return !t->block ? BF_SCOPE_SYS : scope < BF_ORDER_LEVELS ? (enum bf_scope)scope : BF_SCOPE_SYS;
}

/* The last stores to a line of memory, by its number (address over BF_LINE); NULL: none is known. */
struct bf_order_line *bf_order_line_at(const struct bf_order *o, uint64_t number);
/* The same, made if need be; NULL for lack of memory. */
struct bf_order_line *bf_order_make_line(struct bf_order *o, uint64_t number);

/* The location at an address, as those for lines. */
struct bf_order_place *bf_order_place_at(const struct bf_order *o, uint64_t va);
struct bf_order_place *bf_order_make_place(struct bf_order *o, uint64_t va);

void bf_order_note_region(struct bf_order *o, const struct bf_seen *e);
bool bf_order_in_vram(const struct bf_order *o, uint64_t va);

#endif

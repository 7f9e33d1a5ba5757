/*
 * Facts of what is ordered after what, whether or not it came in order in this run: a vector clock for each thread, for
 * what it has released, for each location that orders, and one for all devices.
 *
 * Order comes from the thread itself (program order), from a release that another thread's acquire of sufficient scope
 * has read, from a doorbell that has arrived behind a fence, and from strong stores that a device has read. Where the
 * records do not say enough, order is assumed: lanes of a warp are one thread; what threads of a block fence at block
 * scope counts as a barrier of the block, and in kernels, whose threads meet at barriers, so does all that they store;
 * a relaxed load counts as an acquire; a location keeps all that was ever released to it; all devices know what one of
 * them knows.
 *
 * What a GPU's thread has released at GPU scope lies in that GPU's memory, where devices read, before anything that the
 * thread stores later. So a processor that sees such a later store may ring for what lies in the GPU's memory, as the
 * thread itself may, although GPU scope does not hold the processor. For what lies in the host's it may not.
 *
 * Names of threads tell where they run (drivers/backend): "pe0.b1.w2.l3" is lane 3 of warp 2 of block 1 of a GPU, a
 * name without such a block is a processor's, whose fences all reach the system.
 */
#ifndef BELFRY_TRACES_RULES_ORDER_ORDER_H
#define BELFRY_TRACES_RULES_ORDER_ORDER_H

#include "traces/rules/order/clock.h"
#include "traces/rules/rule.h"

#define BF_ORDER_LEVELS 3u /* block, GPU, system: enum bf_scope */

/* A store that is the last one to some bytes. */
struct bf_order_store {
	uint32_t thread;                  /* its number plus one; 0: nobody's that is known */
	uint32_t lane;                    /* who of the thread: the actor */
	uint32_t count;                   /* it was the thread's `count`th */
	uint32_t fenced[BF_ORDER_LEVELS]; /* so many of the thread's own came before a fence of each scope, or before
					     it, a release */
	uint16_t sem;
	uint8_t len;
	bool pending; /* a doorbell of earlier may still be on its way, or its read */
	uint64_t va, at_ps, record;
};

struct bf_order_thread {
	char name[48];  /* without its lane */
	uint32_t block; /* its number plus one; 0: a processor's */
	uint32_t pe;
	uint32_t stores;                                 /* that it has made */
	struct bf_order_clock knows;                     /* what is ordered before its next access */
	struct bf_order_clock released[BF_ORDER_LEVELS]; /* before its last fence that reaches that far */
	struct bf_order_clock in_gpus; /* a processor's: what lies in GPUs' memory by what it has seen; else empty */
	uint64_t polled;               /* where it has looked last; 0: nowhere */
	uint32_t actor;
	bool stirred;    /* it has stored or learned something since its last fence */
	uint64_t served; /* so many reads of records by devices it knows of, by their completions */
	/* What findings tell: how many stores came before, when, and which record it was. */
	struct bf_order_mark {
		uint32_t stores, scope;
		uint64_t at_ps, record;
	} fence, ring, arrived;
	struct bf_order_store index; /* its last store that a device has read as a record */
};

struct bf_order;

/* What the facts notice for rules (bf_rule_notice). */
enum {
	BF_ORDER_UNORDERED_READ = 256,   /* a device read what a weak store wrote */
	BF_ORDER_RECORD_BEHIND = 512,    /* a device read a record that the doorbell may have overtaken */
	BF_ORDER_WEAK_FLAG = 1024,       /* a thread polled what a weak store wrote */
	BF_ORDER_UNORDERED_INDEX = 2048, /* a device read an entry that only its doorbell orders, not its index */
};

/* The store and where it was noticed; valid while rules look at the record. */
struct bf_order_race {
	struct bf_order_store store;
	const struct bf_order_thread *by;
	const struct bf_order_thread *rang; /* whose doorbell came last to a device; NULL: none has */
	struct bf_order_store index;        /* of BF_ORDER_UNORDERED_INDEX */
	bool vram;                          /* the bytes lie in a GPU's memory */
};
const struct bf_order_race *bf_order_race(const struct bf_order *o);

extern const struct bf_rule_family bf_rules_order;

/* "at 163.500 ns (record 812)". */
struct bf_order_when {
	char text[64];
};
struct bf_order_when bf_order_when(uint64_t at_ps, uint64_t record);

/* A finding about a store that nothing orders, at the queue whose ring it went into if `queue`: which it is. NULL: this
 * one is not to be told. */
struct bf_finding *bf_order_find(struct bf_rule_run *r, const struct bf_seen *e, const struct bf_order_race *race,
				 bool queue);

/* The narrowest scope that would have reached the device. */
const char *bf_order_wanted(const struct bf_order_race *race);

/* For rules about what devices read: says which fence or chain would have ordered the store before the read. */
void bf_order_say_remedy(struct bf_finding *f, const struct bf_order_race *race);

#endif

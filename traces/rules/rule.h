/*
 * For those who write rules.
 *
 * A rule is one file, traces/rules/<family>/<name>.c, or a row of one, that defines one
 * `const struct bf_rule bf_rule_<family>_<name>`, and one line in the list of its family
 * (traces/rules/<family>/<family>.c). It says what it is about (rules.h), which records
 * it looks at, and has a function that is called for each of them, in the stream's order, after the family's facts have
 * taken the record in. State is zeroed memory of the run or of a queue; nothing is freed, so it holds no pointers that
 * own anything.
 *
 * Facts are what several rules need: bf_stores_late() (stores.h) for what was stored and could not be seen yet, and a
 * family's own (<family>.h), reached by bf_rule_facts(queue).
 *
 * A finding is made when the evidence is there. bf_rule_find() gives room for the first one of a rule at a queue (or
 * thread, where there is no queue) and counts the others. What shows only later (when a late store became visible) goes
 * into the text by `tell`, which is called once for each finding at the end.
 *
 * Root causes: the finding with the lowest `rank` is the root cause, among equals the one that went wrong first.
 * BF_RANK_* say what explains what.
 */
#ifndef BELFRY_TRACES_RULES_RULE_H
#define BELFRY_TRACES_RULES_RULE_H

#include <stddef.h>

#include "sim/compiler.h"
#include "sim/event.h"
#include "sim/sim.h"
#include "traces/rules/rules.h"
#include "traces/rules/seen.h"
#include "traces/rules/stores.h"

struct bf_rule_queue;
struct bf_family_run;

/* One record. Valid during the call. Of store_visible records only those come whose store has been seen. */
struct bf_seen {
	uint64_t time_ps;
	uint64_t number; /* place in the stream, from 0 */
	uint32_t actor;
	uint32_t pe, unit; /* the first number in the actor's name, and the second of a device's, "nic<pe>.<unit>" */
	enum bf_seen_kind kind;
	uint32_t tail_len;
	const uint8_t *tail;
	const uint8_t *fixed; /* as the stream has it; for bf_seen_u64() */
	const struct bf_rec_schema *type;
	struct bf_rule_queue *queue; /* NULL when the record names none */
	union {
		uint64_t field[BF_SEEN_FIELDS_MAX];
#define BF_RECORD(rec, ...) struct bf_seen_##rec rec;
#define BF_NAMES(...)
#define BF_TEXTS(...)
#include "traces/records/all.def"
#undef BF_RECORD
#undef BF_NAMES
#undef BF_TEXTS
	};
};

/* A field by its name; 0 when the type of the stream has none. Slow: for findings only. */
uint64_t bf_seen_u64(const struct bf_seen *e, const char *field);
/* The name of an enumerated field's value, or a text field; copied into `buf`, which is returned. */
const char *bf_seen_text(const struct bf_seen *e, const char *field, char *buf, size_t cap);

/* A queue: number `number` of processing element `pe` in the terms of `family`. */
struct bf_rule_queue {
	const struct bf_rule_family *family;
	uint32_t pe;
	uint64_t number;
	uint32_t unit;   /* which of the PE's devices has it: the second number in its name */
	uint32_t actor;  /* the device's queue, 0 until one of its records came */
	uint32_t place;  /* in order of appearance */
	uint8_t *memory; /* facts, then the states of rules */
};

/* A rule on duty in a run. */
struct bf_rule_run {
	struct bf_rules *rules;
	const struct bf_rule *rule;
	const struct bf_family_run *family; /* the engine's */
	void *facts;                        /* of its family's run */
	void *state;                        /* rule->state_bytes, zeroed */
	uint32_t queue_offset;
	enum bf_seen_kind spared; /* bf_rule_spare() */
};

/* What explains what: lower ranks explain higher ones. In between there is room. */
enum {
	BF_RANK_SET_UP = 10,     /* wrong before the first entry: sizes, configuration, wrong peer */
	BF_RANK_ENTRY = 20,      /* the device got other entries than were meant */
	BF_RANK_INDEX = 30,      /* it was told a wrong index, or the record came late */
	BF_RANK_DATA = 36,       /* it got other data than were meant */
	BF_RANK_REFUSED = 40,    /* it found fault with a request */
	BF_RANK_COMPLETION = 50, /* completions were misread */
	BF_RANK_STUCK = 60,      /* something did not happen */
	BF_RANK_EFFECT = 70,     /* what follows from errors: flushes, retries, time-outs */
	BF_RANK_LUCK = 80,       /* warnings */
	BF_RANK_SPEED = 90,      /* performance */
	BF_RANK_NET = 100,       /* that something is wrong, where no other rule knows what */
};

struct bf_finding {
	struct bf_found found;
	const struct bf_rule *rule;
	uint32_t actor; /* whose name becomes `where` */
	struct bf_rule_queue *queue;
	uint64_t n[6];        /* the rule's own, for tell() */
	struct bf_store late; /* of bf_finding_watch(): `visible_ps` is filled in when it is known */
	bool dropped;         /* what came later took it back */
	uint32_t len;
	char text[800];
};

#define BF_RULE_NETS 3u /* the highest `net` */

struct bf_rule {
	struct bf_rule_about about;
	uint8_t rank;
	bool net;                /* its end_queue() and end() come after all others, where bf_rule_silent() is known */
	const uint16_t *records; /* BF_SEES(): the records that `on` is called for; NULL: none */
	uint16_t spares;         /* of them one that it begins without, as if by bf_rule_spare(); 0: none */
	uint16_t when;           /* of the first `whens` of `records` only those in which facts noticed one of these */
	uint8_t whens;
	const uint16_t *needs; /* BF_SEES(): those without which it cannot judge; NULL: none in particular */
	uint32_t state_bytes, queue_bytes;
	/* Rules that differ in a value and a sentence are rows of one file with one `on`, which asks for these. */
	uint64_t is;
	const char *says; /* bf_label_make() */
	void (*on)(struct bf_rule_run *r, const struct bf_seen *e);
	/* May be NULL. No more records come; `complete` as in bf_rules_finish(). For each queue, then for the run. */
	void (*end_queue)(struct bf_rule_run *r, struct bf_rule_queue *q, bool complete);
	void (*end)(struct bf_rule_run *r, bool complete);
	/* May be NULL. Writes or completes the finding's text and interval, or sets `dropped`. */
	void (*tell)(struct bf_rule_run *r, struct bf_finding *f);
};

/* Rules with common facts. */
struct bf_rule_memory {
	const char *name;
	uint64_t va, len;
	bool value; /* it holds a number of four bytes, big-endian, which says how far the queue goes */
};

struct bf_rule_family {
	const char *name;
	uint32_t classes;                   /* BF_CLASS_* of the records that it looks at */
	const struct bf_rule *const *rules; /* ends with NULL */
	const uint16_t *signs;              /* BF_SEES(): a stream with one of them has such a device */
	const uint16_t *records;            /* BF_SEES(): what `on` is called for */
	uint32_t run_bytes, queue_bytes;    /* facts, zeroed */
	void (*on)(struct bf_rules *r, void *run, const struct bf_seen *e);
	bool (*left)(const void *queue_facts); /* nobody waits for what it was given: no end_queue(). May be NULL */
	void (*forget)(void *queue_facts);     /* a queue's facts are about to be freed; may be NULL */
	void (*forget_run)(void *run);         /* the run's facts are; may be NULL */
	/*
	 * Where entry `index` of `bytes` bytes lies, and what else is about it: one to a call, `n` from 0. False: there
	 * are no more. For that the rules `memory_rules` must be on. NULL: records tell, or nobody knows.
	 */
	bool (*memory)(const struct bf_rule_queue *q, uint64_t index, uint64_t bytes, unsigned n,
		       struct bf_rule_memory *out);
	const char *const *memory_rules; /* ends with NULL */
};
/* The families of all devices (traces/device.h), in their order. NULL past the last. */
const struct bf_rule_family *bf_rule_family_at(uint32_t i);

static inline void *bf_rule_queue_state(const struct bf_rule_run *r, const struct bf_rule_queue *q)
{
	return q->memory + r->queue_offset;
}

/* A queue's facts, a struct of its family. */
static inline void *bf_rule_facts(const struct bf_rule_queue *q)
{
	return q->memory;
}

/* The facts of a family's run; NULL when the family is not on. */
void *bf_rule_run_facts(struct bf_rules *r, const struct bf_rule_family *family);

/* What is kept of a run is more than a cache holds: the place that comes next is on its way when it is needed. */
static inline void bf_rule_expect(const void *next, size_t size)
{
	for (size_t at = 0; at < size; at += 64)
		__builtin_prefetch((const uint8_t *)next + at, 1);
}

/* For facts: what they notice in the record at hand. Families that look at the same records have bits of their own. */
void bf_rule_notice(struct bf_rules *r, uint16_t what);

/* A family's facts know all that they ever will from records of this kind: they need no more of them. */
void bf_rule_enough(struct bf_rules *r, const struct bf_rule_family *family, enum bf_seen_kind kind);
/* From now on they need them again. */
void bf_rule_again(struct bf_rules *r, const struct bf_rule_family *family, enum bf_seen_kind kind);

/*
 * From the next record on the rule does without those of `kind`, until it says otherwise; BF_SEEN_NONE: it needs all of
 * its `records` again.
 */
void bf_rule_spare(struct bf_rule_run *r, enum bf_seen_kind kind);

/* The queue, made when `make` and it is new; NULL when there is none or no memory. */
struct bf_rule_queue *bf_rule_queue(struct bf_rules *r, const struct bf_rule_family *family, uint32_t pe,
				    uint64_t number, bool make);

/* PEs by number; those 1024 apart share a place. */
struct bf_pe_set {
	uint8_t bits[128];
};
static inline void bf_pe_set_add(struct bf_pe_set *s, uint32_t pe)
{
	s->bits[pe / 8 % sizeof(s->bits)] |= (uint8_t)(1u << pe % 8);
}
static inline bool bf_pe_set_has(const struct bf_pe_set *s, uint32_t pe)
{
	return s->bits[pe / 8 % sizeof(s->bits)] >> pe % 8 & 1;
}

/* The queues of the run in order of appearance; NULL past the last. */
struct bf_rule_queue *bf_rule_queue_at(struct bf_rules *r, uint32_t i);

/* Names of actors; "?" for one that was not declared. */
const char *bf_rule_actor(const struct bf_rules *r, uint32_t actor);
/* The name of a queue: the device's, or "queue N of PE M" before the device has said anything. */
const char *bf_rule_queue_name(const struct bf_rules *r, const struct bf_rule_queue *q);

/* struct bf_rules_opts has it. */
bool bf_rules_processors_keep_order(const struct bf_rules *r);

/* Stores that are not visible yet; stores.h. */
struct bf_stores *bf_rule_stores(struct bf_rules *r);

/* The latest record's time and place: "the end" in end_queue() and tell(). */
uint64_t bf_rule_now(const struct bf_rules *r);

/*
 * The finding of rule `r` at `queue` (or, if that is NULL, at the record's actor): begin, end, at and records are those
 * of `e` (NULL: of the latest record). NULL when there is one already, which then counts one more.
 */
struct bf_finding *bf_rule_find(struct bf_rule_run *r, const struct bf_seen *e, struct bf_rule_queue *queue);

/* The finding that a rule has made at a queue; NULL. */
struct bf_finding *bf_rule_found(struct bf_rule_run *r, const struct bf_rule_queue *queue);

/* For rules that are nets: no other rule has found an error or a warning at `queue`; NULL: anywhere. */
bool bf_rule_silent(const struct bf_rule_run *r, const struct bf_rule_queue *queue);

/*
 * The run was still moving when it was cut, by a limit for instance: some thread had not ended, and something was
 * stored a moment before. Then `complete` is false. When something was stored last.
 */
bool bf_rules_cut(const struct bf_rules *r);
uint64_t bf_rules_moved(const struct bf_rules *r);

/* The entry that it is about. */
void bf_finding_index(struct bf_finding *f, uint64_t index);
/* Appends to the text. */
void bf_finding_say(struct bf_finding *f, const char *fmt, ...) BF_PRINTF(2, 3);
/* The records that show it begin earlier, or end later. */
void bf_finding_since(struct bf_finding *f, uint64_t ps, uint64_t record);
void bf_finding_until(struct bf_finding *f, uint64_t ps, uint64_t record);
/* The finding is about a late store: f->late is a copy, which learns when the store becomes visible. */
void bf_finding_watch(struct bf_rules *r, struct bf_finding *f, const struct bf_store *late);

/* How late a store was for something at `at_ps`: "1.803 us", or "not at all, before or" (... after). */
struct bf_span bf_store_lateness(const struct bf_store *s, uint64_t at_ps);

#endif

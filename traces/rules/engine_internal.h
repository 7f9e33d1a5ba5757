/* The engine's inside: what its files share. */
#ifndef BELFRY_TRACES_RULES_ENGINE_INTERNAL_H
#define BELFRY_TRACES_RULES_ENGINE_INTERNAL_H

#include "sim/bytes.h"
#include "traces/container/numbering_internal.h"
#include "traces/rules/device_rules_internal.h"
#include "traces/rules/stores_internal.h"

/* A run with more is not read to the end by anybody. */
#define BF_FINDINGS_MAX 512u

/* Fills in the fields of `e` from the fixed part of a record. */
typedef void bf_seen_read_fn(const void *fixed, struct bf_seen *e);

/* How the fields of one type of the stream become members of struct bf_seen. */
struct bf_plan {
	enum bf_seen_kind kind;
	int32_t key;           /* field that names the queue; -1 none, -2 the actor's name does */
	bf_seen_read_fn *read; /* in place of the rest; NULL: the type is not this program's own */
	/* First those of eight bytes, then those of four, then narrower and signed ones, then those that it lacks. */
	uint8_t nlong, nword, nother, nfields; /* where each of the four ends */
	struct bf_plan_field {
		uint16_t at;
		uint8_t size;
		bool is_signed;
		uint8_t to; /* member of struct bf_seen */
	} field[BF_SEEN_FIELDS_MAX];
};

struct bf_rules_actor {
	char name[48];
	uint32_t pe, unit;
	uint64_t queue; /* the number behind ".q" */
	bool is_queue;
	bool unjudged;                /* made records of queues of a type that no rule knows */
	struct bf_rule_queue *latest; /* that one of its records named */
};

struct bf_family_run {
	const struct bf_rule_family *family;
	bool on;                    /* some rule of it is */
	bool present;               /* the stream has such a device */
	bool enough[BF_SEEN_KINDS]; /* of these its facts need no more */
	uint32_t queue_bytes;       /* facts and states */
	void *facts;                /* of the run */
};

/* Who wants a kind of record, with what is needed to call them side by side. */
struct bf_listening_rule {
	uint16_t when;
	void (*on)(struct bf_rule_run *r, const struct bf_seen *e);
	struct bf_rule_run *run;
};
struct bf_listeners {
	const struct bf_rule_family *owner; /* whose queues its key names */
	/* Families that take it in, all rules, and those that wait for nothing to be noticed; each ends with `on` NULL.
	 */
	struct bf_listening_facts {
		void (*on)(struct bf_rules *r, void *facts, const struct bf_seen *e);
		void *facts;
	} facts[8];
	struct bf_listening_rule *rules, *always;
	uint32_t *listed; /* numbers of the rules that have it on their list, whether they listen now or not */
	uint32_t nlisted;
	bool any;   /* one of them */
	bool stale; /* some rule says otherwise */
	bool seen;  /* the stream has this type */
	bool wanted;
};

struct bf_rules {
	struct bf_sink sink;
	bf_take_fn *take[BF_RECORD_TYPES]; /* who takes a type in: see take.c; NULL: its kind is not wanted */
	const struct bf_suppressions *suppress;
	struct bf_device_family *outside; /* families of devices that come with the program */
	uint32_t noutside, nours;         /* families */
	struct bf_family_run *families;
	struct bf_rules_behind behind;
	uint32_t nfamilies;
	struct bf_rule_run *runs;
	uint32_t nruns;
	struct bf_listeners listeners[BF_SEEN_KINDS];
	uint32_t *listed; /* owned, as the next: what their lists are in */
	struct bf_listening_rule *listening;
	struct bf_plan *plans[BF_RECORD_TYPES];             /* NULL: no rule knows it */
	const struct bf_rec_schema *types[BF_RECORD_TYPES]; /* NULL: unheard of */
	struct bf_rules_actor *actors;
	uint32_t actors_cap;
	struct bf_numbering actor_places; /* among them */
	struct bf_stores *stores;
	struct bf_rule_queue **queues;      /* in order of appearance */
	struct bf_rule_queue **queue_table; /* open addressing */
	uint32_t nqueues, queue_cap, table_cap;
	struct bf_rule_queue *latest; /* the one that was asked for last */
	struct bf_finding **findings;
	uint32_t nfindings, nwatched, problems;
	bool finished;
	bool stale; /* some listeners are */
	bool processors_keep_order;
	uint16_t noticed; /* by facts, in the record at hand */
	int status;
	uint64_t now_ps, records;
	uint64_t moved_ps;                   /* the last store */
	uint64_t started, ended, deadlocked; /* threads */
	bool cut;
	uint32_t settled; /* findings whose text is complete */
	uint64_t faults;
	char fault_text[200];
	struct bf_unable *unable;
	uint32_t nunable;
	char *unable_text;
	char (*unjudged)[48]; /* devices that no rule knows */
	uint32_t nunjudged, unjudged_cap;
};

/* NULL when the stream has not declared it. */
static inline struct bf_rules_actor *bf_rules_actor_of(const struct bf_rules *r, uint32_t number)
{
	const uint32_t place = bf_numbering_find(&r->actor_places, number);

	return place ? &r->actors[place - 1] : NULL;
}

/*
 * See listeners.c. Whether `kinds` has `kind`; records that are many, which a family gets once the stream has its
 * device; who listens to a kind, anew; the same for all kinds, at the start: 0 or -ENOMEM.
 */
bool bf_rules_lists(const uint16_t *kinds, enum bf_seen_kind kind);
bool bf_rules_many(enum bf_seen_kind kind);
void bf_rules_listen_to(struct bf_rules *r, enum bf_seen_kind kind);
int bf_rules_make_listeners(struct bf_rules *r);

/* A rule that needs no state has it. Making it fails on lack of memory, which the stream learns. */
static inline bool bf_rules_has_state(const struct bf_rule_run *run)
{
	return run->state || !run->rule->state_bytes;
}
bool bf_rules_make_state(struct bf_rule_run *run);

/* Who listens to kinds of records whose listeners are stale. */
void bf_rules_listen_again(struct bf_rules *r);

/*
 * See take.c. The sink's write(); who takes in records of a type that the stream has not come up with yet, and those of
 * a type by its plan.
 */
int bf_rules_write(struct bf_sink *sink, const void *records, size_t len);
bf_take_fn bf_rules_take_first;
bf_take_fn *bf_rules_take_by(const struct bf_plan *p);
bf_take_fn bf_rules_take_device;

/* Findings: complete the texts of new ones; order them and name the root cause; see finding.c. */
void bf_findings_complete(struct bf_rules *r);
void bf_findings_settle(struct bf_rules *r);
void bf_findings_store_visible(struct bf_rules *r, const struct bf_store *s);
void bf_findings_free(struct bf_rules *r);

/* Who could not judge; see finding.c. */
void bf_rules_note_unable(struct bf_rules *r);

/* "there is no rule ...", with the nearest that there is; returns `code`. */
int bf_rules_no_such(const char *id, size_t len, int code, struct bf_error *err);
/* "store" for BF_SEEN_store; see seen.c. */
const char *bf_seen_name(enum bf_seen_kind kind);
/* The plan for a type of the stream; NULL in `*out` when no rule knows it. 0 or -ENOMEM. */
int bf_plan_make(const struct bf_rec_schema *type, struct bf_plan **out);
/* A field that is signed, or of one or two bytes. */
uint64_t bf_plan_read_other(const struct bf_plan_field *f, const uint8_t *fixed);

/*
 * Fills in the fields of `e` from the record's fixed part. Each is read as wide as it is: records come from where they
 * have just been written, and reading several narrow stores as one word makes a processor wait for all of them.
 */
static inline void bf_plan_read(const struct bf_plan *p, const uint8_t *fixed, struct bf_seen *e)
{
	const struct bf_plan_field *f = p->field, *end = f + p->nlong;

	if (BF_LIKELY(p->read)) {
		p->read(fixed, e);
		return;
	}
	for (; f < end; f++)
		e->field[f->to] = bf_get_le64(fixed + f->at);
	for (end = p->field + p->nword; f < end; f++)
		e->field[f->to] = bf_get_le32(fixed + f->at);
	for (end = p->field + p->nother; f < end; f++)
		e->field[f->to] = bf_plan_read_other(f, fixed);
	for (end = p->field + p->nfields; f < end; f++)
		e->field[f->to] = 0;
}

#endif

/*
 * What is known of an entry while records go by, from the rows of its life (traces/device.h): shared by the story of
 * one (rows.c) and by what is stuck (stuck_life.c).
 */
#ifndef BELFRY_TRACES_LIFE_FACTS_H
#define BELFRY_TRACES_LIFE_FACTS_H

#include "traces/device.h"

#define BF_LIFE_KEPT 8u /* names that rows of one life may keep */

/* Of an entry. */
struct bf_life_facts {
	uint64_t index;    /* UINT64_MAX: not known, it goes by its name */
	uint64_t name;     /* by which it goes behind the point where it is NAMED */
	uint64_t from, to; /* of its submission; equal: not known */
	uint64_t kept[BF_LIFE_KEPT];
	uint32_t has; /* bits: which are */
	uint32_t points;
	bool early; /* the device had read it before it was begun */
};

/* The queue's last record of each type that the life's sentences speak of. */
struct bf_life_last {
	const struct bf_rec_schema *type;
	void *fixed;
	char by[48];
};
struct bf_life_queue {
	const struct bf_life *life;
	struct bf_life_last last[BF_LIFE_KEPT];
};

/* What sentences stand on. `who` took the entry to a point; NULL: nobody known. */
struct bf_life_story {
	const struct bf_life_queue *q;
	const struct bf_life_facts *entry;
	const char *(*who)(const void *of, uint32_t point);
	const void *of;
	uint32_t tail; /* bytes behind the record, $tail */
	/* The first entry of the queue that has not come as far, and who began it; NULL: none. */
	const struct bf_life_facts *before;
	const char *before_by;
};

uint32_t bf_life_points(const struct bf_life *life);
uint32_t bf_life_point(const struct bf_life *life, const char *name); /* the number of points: it has none such */
/* The point at which its entries get their name; BF_LIFE_POINTS: they have none. */
uint32_t bf_life_named(const struct bf_life *life);

/* The types of records that tell of points before the last: "ring64_doorbell, ring64_fetch". False: there are none. */
bool bf_life_types(const struct bf_life *life, bool software, char *out, size_t cap);

/* The number of the queue that the actor is: 1 of "ring0.r1", by the life's prefix. False: it is none of its queues. */
bool bf_life_queue_number(const struct bf_life *life, const char *actor, uint64_t *number);

/* The row's queue and condition aside: whether its record is about the entry. */
bool bf_life_is_about(const struct bf_life *life, const struct bf_life_row *row, const struct bf_life_facts *entry,
		      const struct bf_rec_schema *type, const void *fixed);
bool bf_life_holds(const struct bf_life_row *row, const struct bf_rec_schema *type, const void *fixed);
uint64_t bf_life_u64(const char *expression, const struct bf_rec_schema *type, const void *fixed); /* NULL: 0 */

/* The record is about the entry: notes what the row keeps, and the submission. */
void bf_life_note(const struct bf_life *life, const struct bf_life_row *row, struct bf_life_facts *entry,
		  const struct bf_rec_schema *type, const void *fixed);
/* A sentence of the life speaks of the queue's last record of this type. */
bool bf_life_mentions(const struct bf_life *life, const char *type);
/* The record, of a type that is mentioned, is about the queue. 0 or -ENOMEM. */
int bf_life_note_queue(struct bf_life_queue *q, const struct bf_rec_schema *type, const void *fixed, const char *by);
/* The last one of the type that the first `len` characters name; NULL. */
const struct bf_life_last *bf_life_last_of(const struct bf_life_queue *q, const char *type, size_t len);
void bf_life_free_queue(struct bf_life_queue *q);

/* What the entry has under a name that rows keep; 0: nothing. */
uint64_t bf_life_kept(const struct bf_life *life, const struct bf_life_facts *entry, const char *name);

/* It has passed all points, and not done what it was for. */
bool bf_life_in_vain(const struct bf_life *life, const struct bf_life_facts *entry);
/*
 * What shows that the entry has not come to point number `missing`, which may be the one behind the last: the sentence
 * and its row; NULL: there is none, and `out` says so in general.
 */
const struct bf_life_end *bf_life_missing(const struct bf_life_story *s, uint32_t missing, char *out, size_t cap);

/* A sentence about the entry from a record at `time_ps`. */
void bf_life_say(const struct bf_life_story *s, const struct bf_rec_schema *type, const void *fixed, uint64_t time_ps,
		 const char *says, char *out, size_t cap);

#endif

/*
 * Devices: what is known of one by those who read traces, in a table for each question. Whoever prints, draws, explains
 * or judges goes over bf_device_at() and names no device.
 *
 * Ours are in traces/devices, a file each and a line in its table.c. A program has devices of its own when it defines
 * bf_devices_outside[] (docs/adding-a-device.md).
 *
 * All records are known by the names of their types and fields, so traces of any version give what they have. Tables
 * end with a row whose first member is NULL. Everything here is static and read by any thread.
 */
#ifndef BELFRY_TRACES_DEVICE_H
#define BELFRY_TRACES_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/compiler.h"
#include "sim/record.h"
#include "traces/rules/rules.h"

BF_API_BEGIN

/* ---- the life of an entry ---- */

#define BF_LIFE_POINTS 10u

/* Which entries a record speaks of. */
enum bf_life_entries {
	BF_LIFE_ONE,   /* `first` */
	BF_LIFE_COUNT, /* `first` and as many as `second` says */
	BF_LIFE_RANGE, /* from `first` to before `second` */
	BF_LIFE_BELOW, /* all before `first` that have not been there yet */
	BF_LIFE_UPTO,  /* those from now on up to `first`, which come later */
	BF_LIFE_SLOTS, /* `first`, which takes as many slots as `second` says */
	BF_LIFE_NAMED, /* `first`, which goes by `second` from now on: its slot may hold another before it is complete
			*/
	/* Of lives whose indices are bytes. A submission is what the first of BYTES that is known of it had. */
	BF_LIFE_BYTES,  /* from `first` to before `second` */
	BF_LIFE_BEHIND, /* all that end before `first` */
	BF_LIFE_IN,     /* another one of the submission that `first` lies in */
	BF_LIFE_ALL,    /* whatever of the queue has begun and not ended */
};

/* What a record does to an entry. */
enum bf_life_role {
	BF_LIFE_POINT,   /* it is at `point` now */
	BF_LIFE_ASIDE,   /* told, from `point` on: it moves nothing */
	BF_LIFE_STOP,    /* the queue stops here: `says` is why what is open does not go on. From `point` on */
	BF_LIFE_OPEN,    /* the queue begins, with nothing in it. Its ring: `va` and `bytes` */
	BF_LIFE_SHUT,    /* the queue ends, and what is in it with it, unless it has stopped before */
	BF_LIFE_IDLE,    /* the entry waits for something that may never come: it is not stuck */
	BF_LIFE_ANSWERS, /* where completions of the queue lie: `va` */
	BF_LIFE_PEER,    /* the queue's other end: number `first` at address `second`; its own address is `va` */
	BF_LIFE_AHEAD,   /* kept, and told with the row whose `with` is this type, if it was about the entry */
	BF_LIFE_PACKETS, /* packets between the two ends, from `point` on: those of the entry are told */
};

/* Whose record it is: who is named for the step. */
enum bf_life_by {
	BF_LIFE_BY_OWN, /* the device that has the queue; a thread beside it when `software` */
	BF_LIFE_BY_FAR, /* the device at the other end */
	BF_LIFE_BY_ANY, /* any actor: the queue's number identifies it. Named are the other end, a thread, a recorder */
};

/*
 * One record type that says where an entry is: which queue, which entries, which point. `first`, `second` and the like
 * are fields, or arithmetic with them as in sentences: "dwords*4", "q0[31:16]".
 *
 * A sentence has $field where the value of a field is to stand: an enum's name, $#field in hexadecimal, $a+b-1 with
 * arithmetic from left to right, $q0[31:16] for bits; $time is the record's. [field?yes|no] has the one text when the
 * field is not 0, else the other; [field=3?yes] and [field!=3?yes] compare.
 */
struct bf_device_record;
struct bf_life_row {
	const char *type; /* of which there may be several rows */
	uint32_t point;   /* index into the points */
	enum bf_life_entries entries;
	const char *queue; /* the field with its number; NULL: the actor is the queue; "*": all queues of the device */
	const char *first, *second; /* ONE: by `second` it will go, if that is known before it is NAMED */
	const char *when;           /* only when this field ... */
	uint64_t is;                /* ... has this value; or comparisons, all of which hold: "op!=0 indirect=0" */
	bool software;              /* the actor is a thread, and does not name the queue */
	/*
	 * For `belfry explain`: a sentence, "fetches entry $index of $bytes bytes"; NULL: the name of the point says
	 * it. With the address and length of the entry in memory, if the record has them, stores to it and the device's
	 * reads are told as well.
	 */
	const char *says;
	const char *va, *bytes;
	const char *error; /* not good when this field is not 0 */
	enum bf_life_role role;
	const char *after; /* only entries that have reached this point; NULL: all */
	const char *step;  /* short name of what happens; NULL: that of the point */
	const char *also;  /* a second sentence, on a line of its own; nothing is told when it comes out empty */
	const char *again; /* point 0: a sentence for when another entry takes the place in the ring */
	const char *keep;  /* "signal=address": the value that sentences and `of` know by the name signal from now on */
	const char *of;    /* `first` and `second` are compared with what is kept under this name, not with the index */
	/*
	 * For the lines below the sentence: the n-th one, from 0; false: there are no more. NULL: there are none. ASIDE
	 * and without a sentence: the first one is it. `about` is the queue's last record of the type below, or NULL.
	 */
	bool (*lines)(const struct bf_device_record *e, const struct bf_device_record *about, unsigned n, char *out,
		      size_t cap);
	const char *about;
	const char *lands;    /* a completion: its address, or the offset in what ANSWERS said */
	uint32_t lands_bytes; /* of the completion */
	const char *answers;  /* a completion: the field with the number of its queue, for WHAT as in "ssd0.cq1:#3" */
	const char *covers;   /* entries before this one end as well that have this kept */
	bool elsewhere;       /* the actor is another part of the device, and does not name the queue */
	bool captured;        /* the record is of a capture; the actor is the queue's device */
	bool begins;          /* the entry may be unknown until now, if no record told of point 0 */
	bool rings;           /* the thread's last store to a device was for this */
	bool reads;           /* the device has asked for the entry's bytes; `va` and `bytes` say so, too */
	bool once;            /* ASIDE: only the first one is told */
	/* Only for `belfry explain`; what is stuck, and how long stages take, does not depend on such rows. */
	bool story;
	bool first_known;  /* ASIDE: told although nothing is known of the entry yet */
	const char *until; /* ASIDE: not after this point, unless of the same time or of the queue itself */
	const char *given; /* only when this is kept and not 0 */
	const char *with;  /* the type of an AHEAD row that is told with this one: before it, or after it if captured */
	enum bf_life_by by;
	bool peer; /* `queue` has the number of the queue's other end */
	/*
	 * Packets have sequence numbers of 24 bits. With a count, these are the entry's; at the other end, only what
	 * is of one of them; else the queue goes back, and sends again.
	 */
	const char *psn, *npsn;
	bool message; /* at the other end: only while it works on a message of the entry's */
	/* In place of `queue` and `first`, for records that tell by their bytes. `index` is modulo `wrap`. */
	bool (*is_about)(const struct bf_device_record *e, uint64_t queue, uint64_t index);
};

/*
 * An entry that is stuck: what shows that it has not come to a point. Sentences stand on no record: $index, $from and
 * $to (of its submission) and what rows keep are known, $type.field of the queue's last record of a type, and @point,
 * @type: the thread that took the entry there, or whose record that was. [name?...] asks whether it is known.
 * $before and @before are the first entry of the queue that has not come as far, and who began it; [before.point?...]
 * asks how far it has come. [early?...]: the device had read the entry before it was begun.
 */
struct bf_life_end {
	const char *name; /* of the point; one that is no point of the life: see bf_life.needs */
	const char *says; /* what the last thread that had the entry does now follows this */
};

/* A kind of entry. An entry ends with its last point, or when its slot is used again. */
/* What the constants stand on that make most of a stage: `belfry stats`, docs/timing.md. */
enum bf_time_basis {
	BF_TIME_ASSUMED,  /* fitted, with a profile of bf_device.fitted */
	BF_TIME_SOURCED,  /* a data sheet or specification; likewise */
	BF_TIME_MEASURED, /* on hardware, with a program of this repository */
	BF_TIME_FITTED,
	BF_TIME_BASES
};

struct bf_life {
	const char *name;                   /* "ring64": of bf_stage_queue.kind */
	const char *points[BF_LIFE_POINTS]; /* what happens at each, "doorbell"; NULL past the last */
	uint8_t basis[BF_LIFE_POINTS];      /* enum bf_time_basis of the stage that ends at each */
	const struct bf_life_row *rows;
	uint32_t wrap;        /* indices are counted modulo this; 0: not */
	const char *slots;    /* a field of any of the types with the size of the ring; NULL: none has */
	uint32_t device_last; /* the device's last word: a point that counts as the end; 0: the one before the last */
	/*
	 * `belfry explain DEVICE.PREFIX<queue>:<index>` by the rows above: "r" for "ring0.r1:7". NULL: explained by
	 * code of its own, or not at all.
	 */
	const char *prefix;
	const char *entry;     /* "packet": what one is called; NULL: "entry" */
	const char *group;     /* "submission": what --stuck counts; NULL: the same */
	const char *bytes;     /* "entry": what lies in memory; NULL: the same */
	const char *slot, *id; /* with NAMED, what the two numbers are called: "slot", "cid"; NULL */
	uint32_t slot_bytes;   /* of a slot of the ring; 0: indices are bytes */
	bool hex;              /* indices are written in hexadecimal */
	/* What is kept under this name must not be 0 in what began with point 0, or the last point was in vain. */
	const char *needs;
	const struct bf_life_end *ends; /* ends with a NULL name; NULL: none */
	/*
	 * For queues whose numbers are written in hexadecimal, "nic0.qp0x100:81", and may stand alone, "0x100:81": how
	 * one is called ("QP"), and the key of its number in JSON ("qpn"). NULL: another kind of queue.
	 */
	const char *queue, *key;
	const char *count;   /* of rows with `answers`: the field with the completion's number in its queue; NULL: they
				are counted */
	const char *unheard; /* a sentence for an entry that the device was never told of; may come out empty */
	/* What rows keep of an entry whose completion is in a capture; without it, a capture lacks the completion. */
	const char *recorded;
};

/* Records of a span, by the field with its other end: how busy the actor was. */
struct bf_busy_row {
	const char *type, *other, *bytes;
	bool since; /* the other end is the beginning */
};

/*
 * Records that say how much is in a queue's ring, `used` less `less` (NULL: 0), and the type and field with how much it
 * takes. The actor is the queue.
 */
struct bf_fill_row {
	const char *type, *used, *less;
	const char *size_type, *size;
};

/* ---- pictures ---- */

enum bf_timeline_verb {
	BF_ROW_HIDDEN,
	BF_ROW_INSTANT,
	BF_ROW_MEMORY,   /* an instant that is shown only when asked for */
	BF_ROW_OPENS,    /* a span begins */
	BF_ROW_CLOSES,   /* the span of the same group and keys ends */
	BF_ROW_UNTIL,    /* a span from now to the time in field `until` */
	BF_ROW_SINCE,    /* a span from the time in field `until` to now */
	BF_ROW_BY_EVENT, /* an event in field `until`: with a label 0 opens, 1 tells, more closes; without 1 closes */
	BF_ROW_PACKET,   /* opens where it is sent (field dir 0), closes where it arrives */
};

/* A flow is born with a store to a device and handed on from record to record. */
enum bf_timeline_flow {
	BF_FLOW_NONE,
	BF_FLOW_BEGINS,    /* at address keys[0] */
	BF_FLOW_ARRIVES,   /* the one of that address is what the next doorbell has */
	BF_FLOW_RINGS,     /* this actor's entries have it from now on */
	BF_FLOW_FOLLOWS,   /* an entry of this actor */
	BF_FLOW_COMPLETES, /* of the queue keys[0] of this device */
	BF_FLOW_SEEN,      /* by software of the PE with the device's number */
};

/*
 * What a type of record means on a timeline (Perfetto, the HTML page). $field in a label stands for the field's value,
 * an enum's for its name. Keys tell spans of one actor apart that are open at the same time.
 */
struct bf_timeline_row {
	const char *type;
	enum bf_timeline_verb verb;
	const char *label;
	const char *keys[2];
	/* Spans of one group, device and keys open and close each other; no keys: of one actor. Ours are below 100. */
	uint32_t group;
	enum bf_timeline_flow flow;
	const char *until;
	const char *error; /* not good when this field is not 0 */
	bool bad;          /* never good */
};

/* A waveform (VCD, FST): the sum of one or two fields of the record. Rows of one type stand together. */
struct bf_timeline_signal_row {
	const char *type, *name;
	uint32_t bits;
	const char *field, *plus; /* plus may be NULL */
	const char *of;           /* the field that tells signals of one actor and name apart; NULL: there is one */
	uint64_t (*make)(uint64_t field); /* of the value of `field` what is shown; NULL: itself */
};

/* ---- memory ---- */

/*
 * What lies at an address, by a record that tells of it: "send ring of QP $qpn". Numbers are fields, or arithmetic with
 * them as in sentences. The ring that rules look at (bf_device.ring) needs no row.
 */
struct bf_memory_row {
	const char *type;
	const char *va; /* NULL: where the device has read `bytes` bytes that came at the time of the record */
	const char *bytes;
	const char *label;           /* @actor is whose record it is */
	const char *entry, *element; /* bytes of each of its parts, and what one is called, "entry"; both may be NULL */
	const char *when;            /* as in a bf_life_row; NULL: always */
};

/* ---- rules ---- */

/* The record that says where a ring of entries lies in memory, by the names of its fields. */
struct bf_device_ring {
	const char *type;
	const char *queue;                /* its number; NULL: the actor is the queue */
	const char *va, *bytes, *entries; /* of an entry; how many */
};

/* A record, for a rule; valid during the call. */
struct bf_device_record {
	uint64_t time_ps;
	uint64_t number; /* place in the stream, from 0 */
	uint32_t actor;
	const struct bf_rec_schema *type;
	const void *fixed;
	const uint8_t *tail;
	uint32_t tail_len;
};

struct bf_device_judge; /* opaque: a rule on duty at a queue */

/*
 * A rule over records of the device's own types and of its driver's. It is called in the order of the stream, for each
 * queue with memory of its own, which is zeroed and never freed by it: no pointers that own anything. It makes one
 * finding a queue; further cases are counted.
 */
struct bf_device_rule {
	struct bf_rule_about about; /* about.family: the device's name */
	uint8_t rank;               /* the lowest of several is the root cause; 0: 20, an entry is not what was meant */
	const char *records;        /* types that `on` is called for, between blanks */
	const char *queue;          /* the field of those that names the queue; NULL: the actor is the queue */
	uint32_t queue_bytes;
	void (*on)(struct bf_device_judge *j, void *queue, const struct bf_device_record *e);
	/* No more records come; with `complete` what has not happened never will. May be NULL. */
	void (*end)(struct bf_device_judge *j, void *queue, bool complete);
};

/* The value of an integer field; 0 when the type of the stream lacks it. */
uint64_t bf_device_u64(const struct bf_device_record *e, const char *field);

/* The rule's finding: at record `e` (NULL: the latest), about entry `index`. */
void bf_device_find(struct bf_device_judge *j, const struct bf_device_record *e, uint64_t index, const char *fmt, ...)
    BF_PRINTF(4, 5);

/*
 * At the record of a fetch: whether a store into slot `slot` of the device's ring could not be seen yet when the device
 * last read there. If so this makes the finding, with who stored what and when it became visible.
 */
bool bf_device_find_late(struct bf_device_judge *j, const struct bf_device_record *e, uint64_t index, uint32_t slot);

/* ---- bytes ---- */

/*
 * A type of record with an entry's bytes behind it: the HTML page shows the last ones of each queue. Members are names
 * of fields.
 */
struct bf_entry_row {
	const char *type;
	const char *slot, *label,
	    *error; /* label: an enum or a text; not good when `error` is not 0; both may be NULL */
	/* Prints an entry of at least `bytes` bytes; NULL, or of fewer: the record's fields are printed. */
	size_t bytes;
	void (*print)(FILE *out, const struct bf_device_record *e, const struct bf_device_record *about);
	/* The type whose last record of the same actor print() gets as `about`, NULL if none came; NULL: it needs none.
	 */
	const char *about;
};

struct bf_evidence;

/* A layout for `belfry decode NAME HEX`. */
struct bf_device_form {
	const char *name; /* "ring64" */
	size_t bytes;     /* at least so many */
	void (*print)(FILE *out, const uint8_t *bytes, size_t len);
	/* Its bytes from what a line of a log says; false: it says nothing of them. NULL: rows of bytes alone do. */
	bool (*said)(const struct bf_evidence *e, uint8_t *bytes);
};

/* ---- a device ---- */

struct bf_rule_family;

struct bf_device {
	const char *name;    /* "ring64" */
	const char *summary; /* one line */
	/* NULL where it has none. */
	const struct bf_life *const *lives; /* these three end with a NULL pointer */
	const struct bf_device_rule *const *rules;
	const struct bf_rule_family *const *families; /* rules of this library's own form */
	const struct bf_device_ring *ring;
	const struct bf_busy_row *busy;
	const struct bf_fill_row *fills;
	const struct bf_timeline_row *timeline;
	const struct bf_timeline_signal_row *signals;
	const struct bf_entry_row *entries;
	const struct bf_memory_row *memory;
	const struct bf_device_form *forms;
	const char *const *fitted; /* profiles whose constants are fitted to published figures */
	/* What one can ask `belfry explain` about, lines for its help: "ring0.r0:9    an entry". Ends with NULL. */
	const char *const *named;
};

/* Ours, then those of the program. NULL past the last. */
const struct bf_device *bf_device_at(uint32_t i);

/* What a program defines that has devices of its own; ends with NULL. The library's own has none. */
extern const struct bf_device *const bf_devices_outside[];

BF_API_END

#endif

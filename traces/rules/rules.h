/*
 * Rules: what is wrong with a run, by its records.
 *
 * A rule engine is a sink for records (sim/record.h): give bf_rules_sink() to a stream that is live, or read a trace
 * into it with bf_rules_trace(). It keeps a bounded state for each queue, so streams may be of any length. At the end
 * bf_rules_finish() says what was found: each finding names its rule, where and when, and the evidence in sentences;
 * one of them is the root cause, the others are its consequences.
 *
 * rule.h is the contract for those who write rules. One thread for each engine.
 */
#ifndef BELFRY_TRACES_RULES_RULES_H
#define BELFRY_TRACES_RULES_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/compiler.h"
#include "sim/error.h"
#include "sim/record.h"

BF_API_BEGIN

struct bf_trace;
struct bf_rule;
struct bf_rules; /* an engine */

enum bf_severity {
	BF_SEVERITY_ERROR,   /* the hardware does something else than what was meant, or may do so */
	BF_SEVERITY_WARNING, /* worked this time by luck, or a limit that a larger run meets */
	BF_SEVERITY_NOTE,    /* right, and slower than it has to be; an event that explains others */
};
const char *bf_severity_name(enum bf_severity s); /* "error", "warning", "note" */

/* What a rule says of itself: all that `belfry rules ID` shows. Texts are paragraphs without line breaks. */
struct bf_rule_about {
	const char *id;     /* "RING64-ENTRY-ORDER" */
	const char *family; /* "ring64" */
	const char *title;  /* one line */
	enum bf_severity severity;
	const char *hardware; /* what the hardware does */
	const char *wrong;    /* why this breaks it */
	const char *fix;      /* what to write instead */
	const char *sources;  /* documents and threads, separated by "; " */
	/*
	 * Arguments of `belfry` that show the finding and nothing worse ("run ibgda-put --bug ..."), and the same done
	 * right.
	 * NULL when only a trace can: then `test` names the test that makes one, and `why` says why no command does.
	 */
	const char *example, *twin;
	const char *test, *why;
};

/* All rules, by family and in the order of the catalogue. NULL past the last. Static. */
const struct bf_rule_about *bf_rule_at(uint32_t i);
/* By id, upper or lower case. NULL when there is none. */
const struct bf_rule_about *bf_rule_by_id(const char *id);

/* Names of the record types that this version knows, of every device of its own; NULL past the last. Static. */
const char *bf_record_type_at(uint32_t i);

/* One rule's finding on one queue or thread. */
struct bf_found {
	const struct bf_rule_about *rule;
	bool root;              /* the root cause of the run */
	const char *suppressed; /* the reason it was suppressed for, NULL otherwise */
	const char *where;      /* "nic0.qp0x101", "pe0.w1.l3", ... */
	bool has_index;
	uint64_t index;                     /* of the entry, as drivers count */
	uint64_t at_ps;                     /* when it went wrong */
	uint64_t begin_ps, end_ps;          /* the records that show it lie in this interval */
	uint64_t first_record, last_record; /* and have these places in the stream, from 0 */
	uint64_t more;                      /* further cases of the rule at the same place */
	const char *text;                   /* the evidence */
};

/* A rule that could have judged if the records had been there. */
struct bf_unable {
	const struct bf_rule_about *rule;
	const char *missing; /* names of the record types, separated by blanks */
};

struct bf_rules_opts {
	const char *const *only; /* ids; NULL: all rules */
	uint32_t nonly;
	const char *families; /* names between blanks, "ring64 order": no rule of another one; NULL: all families */
	const struct bf_suppressions *suppress; /* may be NULL; borrowed */
	/* Processors of the run show stores in order, as x86 does: a fence that is missing there is no mistake. */
	bool processors_keep_order;
};

/* -ENOENT for an unknown id, -ENOMEM; `err` says which. `opts` may be NULL. Free with bf_rules_destroy(). */
int bf_rules_create(const struct bf_rules_opts *opts, struct bf_rules **out, struct bf_error *err);
void bf_rules_destroy(struct bf_rules *r);

/* For bf_stream_open() or bf_sink_tee_init(). Takes all records and keeps what rules ask for. */
struct bf_sink *bf_rules_sink(struct bf_rules *r);

/*
 * The same for a stream with no other reader: types that no rule of the devices present looks at are not recorded, and
 * nothing is hashed. Places of findings count what is recorded.
 */
struct bf_sink *bf_rules_only_sink(struct bf_rules *r);

/* Classes of records that rules look at: a stream for them alone needs no more (BF_CLASS_*). */
uint32_t bf_rules_classes(const struct bf_rules *r);

/*
 * Reads the rest of a trace into the engine. 0; -EBADMSG with `err` set when part of it was damaged, the rest having
 * been read; or another error.
 */
int bf_rules_trace(struct bf_rules *r, struct bf_trace *t, struct bf_error *err);

/*
 * No more records come. `complete`: the run has ended, so what has not happened never will; false for a trace that was
 * cut. Findings and texts are valid until bf_rules_destroy(), sorted: the root cause first, then by time. 0, or -ENOMEM
 * when memory ran out on the way: then what was found is not all that there is, and nothing found means nothing.
 */
int bf_rules_finish(struct bf_rules *r, bool complete);

/* What bf_rules_trace() read after the first gap of a damaged trace, and did not judge. */
struct bf_rules_behind {
	uint64_t records, errors; /* in all; those among them that report an error by themselves */
	char first[32];           /* type of the first of those */
};
const struct bf_rules_behind *bf_rules_behind(const struct bf_rules *r);
uint32_t bf_rules_count(const struct bf_rules *r);
const struct bf_found *bf_rules_found(const struct bf_rules *r, uint32_t i);
/* NULL when nothing but notes was found, or all of it is suppressed. */
const struct bf_found *bf_rules_root(const struct bf_rules *r);
/* Findings that are errors or warnings and not suppressed. */
uint32_t bf_rules_problems(const struct bf_rules *r);

/* Rules of the families in this stream that lacked records to judge; NULL past the last. */
const struct bf_unable *bf_rules_unable(const struct bf_rules *r, uint32_t i);

/* Rules on duty whose family is in this stream; NULL past the last. */
const struct bf_rule_about *bf_rules_judging(const struct bf_rules *r, uint32_t i);

/* Devices in this stream whose queues no rule knows, "ring0"; NULL past the last. Not of bf_rules_only_sink(). */
const char *bf_rules_unjudged(const struct bf_rules *r, uint32_t i);

/* How many faults of the fault plan fired, and a sentence about the first; 0 and NULL when none did. */
uint64_t bf_rules_faults(const struct bf_rules *r, const char **text);

/*
 * Suppressions: rules that do not count, each with a reason. As text, one a line: an id, blanks, the reason. '#' begins
 * a comment, and an id may end with '*'. -EINVAL with `err` set: an unknown id, or no reason.
 */
struct bf_suppressions;
int bf_suppressions_create(struct bf_suppressions **out);
void bf_suppressions_destroy(struct bf_suppressions *s);
int bf_suppress(struct bf_suppressions *s, const char *id, const char *reason, struct bf_error *err);
int bf_suppress_text(struct bf_suppressions *s, const char *text, const char *what, struct bf_error *err);
/* The reason why findings of `id` do not count; NULL when they do. */
const char *bf_suppressed(const struct bf_suppressions *s, const char *id);

/* A span of time for a sentence: "1.803 us". */
struct bf_span {
	char text[32];
};
struct bf_span bf_span_of(uint64_t ps);

BF_API_END

#endif

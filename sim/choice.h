/*
 * Choices: the one place that nondeterministic steps ask when they are not left to a seed.
 *
 * Without a chooser (sim->chooser is NULL, the usual case) every step draws from its own random stream, as the seed
 * says. With one, each step asks bf_choose() which of its alternatives it is to take. An enumeration answers so that
 * each run takes another path until all have been taken; a recorded list answers as an earlier run did.
 * Alternative 0 is what a quiet machine would do: at once, in order, nothing lost. Every other one is a deviation.
 */
#ifndef BELFRY_SIM_CHOICE_H
#define BELFRY_SIM_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/compiler.h"
#include "sim/error.h"

BF_API_BEGIN

struct bf_sim;

enum bf_choice_kind {
	BF_CHOICE_SCHEDULE, /* does an agent go on now, or after the others? */
	BF_CHOICE_DRAIN,    /* when does a buffered store move on? */
	BF_CHOICE_STALE,    /* does a weak load leave a copy? */
	BF_CHOICE_COMBINE,  /* when does a write-combining buffer leave? */
	BF_CHOICE_DMA,      /* when does a DMA access reach memory? */
	BF_CHOICE_WAKE,     /* which waiter? */
	BF_CHOICE_LOSS,     /* is a packet lost? */
	BF_CHOICE_READ,     /* which write does a load see? */
	BF_CHOICE_ORDER,    /* which of two writes, or fences, is the earlier one? */
	BF_CHOICE_KINDS,
};
const char *bf_choice_name(enum bf_choice_kind kind); /* "drain" */

/*
 * Whoever answers: embedded in its owner. `n` >= 2; the answer is below. `untimed`: buffered stores wait until the
 * owner moves them on (bf_view_drain(), bf_domain_drain()), and stale copies last; otherwise time goes on as ever, and
 * choices are how long things take.
 */
struct bf_chooser {
	uint32_t (*choose)(struct bf_chooser *c, enum bf_choice_kind kind, uint32_t n);
	bool untimed;
	/*
	 * Of the choice that is asked: a name that it keeps in every run in which its thread has done the same before;
	 * 0: none. `watched`: noticed() is called later in the same run if the other alternative would have been
	 * observable.
	 */
	uint64_t key;
	bool watched;
	void (*noticed)(struct bf_chooser *c, uint64_t key); /* NULL: not wanted */
};

/* One answer. */
struct bf_choice {
	uint8_t kind; /* enum bf_choice_kind */
	uint32_t n, taken;
};

/*
 * Depth first through all lists of choices. Zeroed: before the first run. One thread. `limit` bounds the deviations of
 * one run (BF_CHOICE_ALL: no bound); `skipped` counts the choices at which it allowed no other alternative.
 */
#define BF_CHOICE_ALL UINT32_MAX
struct bf_enumeration {
	struct bf_chooser chooser; /* for sim->chooser */
	struct bf_choice *list;
	uint32_t count, cap, at, limit;
	uint64_t skipped;
	bool failed; /* no memory, or a run that did not repeat itself: what comes next means nothing */
};
void bf_enumeration_init(struct bf_enumeration *e, uint32_t limit);
void bf_enumeration_fini(struct bf_enumeration *e);
/* Before each run. */
void bf_enumeration_begin(struct bf_enumeration *e);
/* After each run: false when all lists have been taken. */
bool bf_enumeration_next(struct bf_enumeration *e);

/*
 * A list as text, for reports and to run it again: "3:1,17:2" is alternative 1 at choice 3, 2 at choice 17, and 0 at
 * all others. The print truncates to `cap` and returns the length of the whole; parse sets the list that the next run
 * takes: 0 or -EINVAL with `err` set.
 */
size_t bf_enumeration_print(const struct bf_enumeration *e, char *buf, size_t cap);
int bf_enumeration_parse(struct bf_enumeration *e, const char *text, struct bf_error *err);

BF_API_END

#endif

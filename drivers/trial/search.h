/*
 * Searching seeds and orderings for a run that fails, and making that run small: for anything that can be run again.
 *
 * What is run is a struct with every choice, and so is its result; neither owns memory that a plain copy would not
 * share. The outcome of a search does not depend on the number of threads.
 */
#ifndef BELFRY_DRIVERS_TRIAL_SEARCH_H
#define BELFRY_DRIVERS_TRIAL_SEARCH_H

#include "sim/member.h"
#include "sim/record.h"
#include "sim/view.h"

/* A number among the choices. */
struct bf_search_part {
	size_t offset, size; /* BF_MEMBER() */
	uint64_t least;      /* shrinking makes it no smaller */
};

/* Functions are called on any thread, several at a time. */
struct bf_search_family {
	size_t choice_bytes, result_bytes;
	struct bf_search_part seed, ordering; /* where the choices have them */
	struct bf_search_part chooser;        /* a struct bf_chooser *; size 0: they have none */
	struct bf_search_part stacks;         /* a struct bf_stacks * (sim/coro.h), likewise */
	const struct bf_search_part *parts;   /* in the order in which they are made smaller: */
	uint32_t nparts;                      /* the first ones shorten the story most */
	/* Whether the choices fit each other: 0, or a negative errno with `err` set. NULL: they always do. */
	int (*check)(const void *w, struct bf_error *err);
	/*
	 * 0 when it ran, however it ended; a negative errno with `err` set when it could not start. `sink` gets the
	 * records; NULL: nobody wants them.
	 */
	int (*run)(const void *w, struct bf_sink *sink, void *result, struct bf_error *err);
	uint32_t (*verdict)(const void *result); /* 0: good */
};

struct bf_search {
	const struct bf_search_family *family;
	uint64_t seeds;             /* the choice's, the one after it, ... */
	enum bf_ordering orders[4]; /* tried in this order for each seed */
	uint32_t norders;
	uint32_t jobs; /* threads */
	uint32_t want; /* a verdict; 0: any failure counts */
	/* Other shapes of the choices: every fourth seed has one of them in turn, in place of what is searched. */
	const void *const *shapes;
	uint32_t nshapes;
	/* After each run, one call at a time; may be NULL. */
	void (*progress)(void *owner, uint64_t done, uint64_t total);
	void *owner;
};

/*
 * Runs `base` under each seed and ordering until one fails. Returns 1 with the first failure (the lowest seed, then the
 * first ordering, whatever the number of threads) in `*found` and its result in `*result`, 0 when none failed, a
 * negative errno with `err` set when a run could not start. `*found` borrows what `base` points to. Adds to `*runs` the
 * runs up to the failure.
 */
int bf_search_run(const struct bf_search *s, const void *base, void *found, void *result, uint64_t *runs,
		  struct bf_error *err);

/*
 * Makes a failing run smaller as long as it fails in the same way under one of `s->seeds` seeds from `first_seed`: a
 * simpler ordering, then the family's parts, then the seed. `*w` and `*result` are replaced. Returns 0 or a negative
 * errno.
 */
int bf_search_shrink(const struct bf_search *s, uint64_t first_seed, void *w, void *result, uint64_t *runs,
		     struct bf_error *err);

#endif

/* What the files of the harness share. */
#ifndef BELFRY_DRIVERS_TRIAL_TRIAL_INTERNAL_H
#define BELFRY_DRIVERS_TRIAL_TRIAL_INTERNAL_H

#include "drivers/trial/trial.h"
#include "sim/choice.h"

/* What goes with the trial. */
struct bf_trial_kept {
	struct bf_trial_kept *next;
	void *object;
	void (*drop)(void *object);
};

/* All that one run depends on. */
struct bf_trial_choice {
	const struct bf_trial_spec *spec;
	uint64_t seed;
	enum bf_ordering ordering;
	uint64_t size[BF_TRIAL_SIZES];
	struct bf_chooser *chooser; /* NULL: the seed, or `list` */
	const char *list;           /* choices of one run (bf_enumeration_parse()), or NULL */
};

struct bf_trial {
	const struct bf_trial_choice *choice;
	const struct bf_trial_spec *spec;
	const struct bf_backend *be;
	struct bf_world *world;
	uint32_t npes;
	void *state;
	struct bf_error err;         /* of the machine and its calls */
	char reason[256];            /* the first one; "" */
	uint32_t grids;              /* of PTX so far */
	struct bf_trial_part *parts; /* owned; the last one first */
	struct bf_trial_kept *kept;  /* owned */
	struct bf_enumeration list;  /* of a choice that has one */
};

/* One run. `records` (may be NULL) gets everything. Always fills in `result`, but for `runs` and `text`. */
void bf_trial_once(const struct bf_trial_choice *c, struct bf_sink *records, struct bf_trial_result *result);

/* Closes what a part has made, before the world is; not `ended`: the world runs threads still. */
typedef void bf_trial_close_fn(struct bf_trial *t, void *state, bool ended);

/* The zeroed state of a kind of device in this trial, which goes with it; NULL: no memory. */
void *bf_trial_add_part(struct bf_trial *t, bf_trial_close_fn *close, size_t bytes);
/* The state that was added with `close`; NULL: none was. */
void *bf_trial_part(const struct bf_trial *t, bf_trial_close_fn *close);

/* What a second look at a failed run brought. */
struct bf_trial_after {
	bool traced;         /* spec->trace is written */
	struct bf_error err; /* why it is not */
	char *more;          /* what has not happened, and if no rule knows why, the life of the last entry; NULL */
};

/* What ran, as the trace has it: "trial own, seed 1, ordering sc, messages 3". */
void bf_trial_command(const struct bf_trial_spec *spec, const struct bf_trial_result *r, char *out, size_t cap);

/*
 * What somebody outside of the program asks of its trials (asked.c). True: `r` is the answer, and no more is to be
 * done.
 */
bool bf_trial_asked(const struct bf_trial_spec *spec, struct bf_trial_result *r);

/* bf_trial_exhaust(), whoever asks. */
bool bf_trial_exhaust_all(const struct bf_trial_spec *spec, const struct bf_trial_exhaust_opts *opts,
			  struct bf_trial_covered *covered, struct bf_trial_result *r);

/* Writes result->text. */
void bf_trial_tell(const struct bf_trial_spec *spec, const struct bf_trial_after *after,
		   struct bf_trial_result *result);

#endif

/*
 * Trials: tests of submission code, run on a modelled machine and judged by the rules.
 *
 * A trial is a setup function, which makes memory and queues and launches the code under test, and a verify function,
 * which looks at what came of it. The harness opens the machine, attaches every rule (traces/rules/rules.h), runs it in
 * virtual time to its end, and says why a failed run failed. It knows no test framework: the result is a bool and a
 * text, for an assertion of any of them.
 *
 *	static void submit(struct bf_thread *t, void *arg);          // the code under test (platform.h)
 *	static int setup(struct bf_trial *t, void *state);           // a device's queues, ..., bf_trial_launch()
 *	static int verify(struct bf_trial *t, void *state);          // bf_trial_equal(), bf_trial_check()
 *
 *	const struct bf_trial_spec spec = { .name = "submit", .world = { .npes = 2, .lanes = 1 },
 *	                                    .setup = setup, .verify = verify, .state_bytes = sizeof(struct mine) };
 *	struct bf_trial_result r;
 *
 *	ck_assert_msg(bf_trial_search(&spec, NULL, &r), "%s", r.text);   // Check
 *	EXPECT_TRUE(bf_trial_search(&spec, NULL, &r)) << r.text;         // GoogleTest
 *
 * Code that is right under one timing may be wrong under the next one: bf_trial_search() runs the trial under many
 * seeds and memory orderings and makes the first failure small, bf_trial_run() runs it under one. Same seed, same
 * ordering, same sizes: the same run, record for record.
 *
 * Code that has its own control path needs none of the helpers for queues: bf_trial_backend() and bf_trial_world() are
 * the machine, with its command mailboxes, doorbell pages and registers (drivers/backend/backend.h). Code under test is
 * compiled for the simulation (platform_sim.h, which belfry.h includes).
 *
 * Functions of a trial are called from one thread at a time, on the thread that runs it; different trials may run on
 * different threads. Functions that return int return 0 or a negative errno, and say why in the result.
 */
#ifndef BELFRY_DRIVERS_TRIAL_TRIAL_H
#define BELFRY_DRIVERS_TRIAL_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "drivers/backend/backend.h"
#include "sim/compiler.h"
#include "traces/rules/rules.h"

BF_API_BEGIN

/* A machine, from setup to verify. */
struct bf_trial;

/* 0: go on. Anything else ends the trial; what bf_trial_fail() was told, or the error of a call, is the reason. */
typedef int bf_trial_fn(struct bf_trial *t, void *state);

#define BF_TRIAL_SIZES 8u
#define BF_TRIAL_FINDINGS 8u

/* A number that the trial depends on and that a search may make smaller, down to `least`: messages, bytes, warps. */
struct bf_trial_size {
	const char *name;
	uint64_t value, least;
};

struct bf_trial_spec {
	const char *name; /* for texts */
	/*
	 * The machine: PEs (0: 1), devices, ordering, seed, limit_ps (0: 1 s), lanes (1: kernels run on one lane of
	 * each warp), ... `sink`, `record_mask` and `ranks` are the harness's own.
	 */
	struct bf_world_opts world;
	bf_trial_fn *setup;
	bf_trial_fn *verify; /* after a run that came to its end; NULL: the rules alone judge */
	/*
	 * What both functions get: `state_bytes` of memory, zeroed for each run, or `arg` itself if that is 0. Memory
	 * of the host, not of the machine: kernels may read it freely (their `arg` usually points there), devices
	 * cannot.
	 */
	size_t state_bytes;
	void *arg;
	const struct bf_trial_size *sizes; /* bf_trial_size(t, 0..nsizes-1) */
	uint32_t nsizes;                   /* at most BF_TRIAL_SIZES */
	/* Findings this bad fail the trial even if verify is content: errors (the default), warnings, notes. */
	enum bf_severity fail_on;
	/* Rules that do not count, each with its reason: "ORDER-WEAK-FLAG one poll is meant", one a line. */
	const char *accept;
	const char *trace; /* the file that gets the records of a failed run; NULL: none */
};

enum bf_trial_verdict {
	BF_TRIAL_GOOD,
	BF_TRIAL_WRONG,   /* verify was not content */
	BF_TRIAL_STUCK,   /* threads wait for what cannot come any more */
	BF_TRIAL_LIMIT,   /* the time limit came first */
	BF_TRIAL_STOPPED, /* an access that a real processor would not have survived */
	BF_TRIAL_FOUND,   /* the result is right, by luck: a rule found an error */
	BF_TRIAL_NOT_RUN, /* setup failed, or the machine could not be had */
};
const char *bf_trial_verdict_name(enum bf_trial_verdict v); /* "wrong result", ... */

struct bf_trial_finding {
	const struct bf_rule_about *rule; /* static */
	bool root;
	uint64_t at_ps;
	char where[64];
	char text[800];
};

struct bf_trial_result {
	bool ok;
	enum bf_trial_verdict verdict;
	/* The run that this is about: of a search the smallest one that failed, or the last one. */
	uint64_t seed;
	enum bf_ordering ordering;
	uint64_t size[BF_TRIAL_SIZES];
	uint64_t runs;                    /* how many there were in all */
	struct bf_world_result world;     /* how the run ended, who waits for what */
	char reason[256];                 /* what verify, setup or the machine said; "" */
	const struct bf_rule_about *root; /* the rule whose finding is the root cause; NULL: none found any. Static */
	uint32_t nfindings;
	struct bf_trial_finding finding[BF_TRIAL_FINDINGS]; /* the root cause first */
	char text[8192];                                    /* all of it, for people: lines without a final newline */
};

/* Runs the trial once. Returns result->ok. */
bool bf_trial_run(const struct bf_trial_spec *spec, struct bf_trial_result *result);

/* The same; `sink` gets every record of the run, those of class where too. result->text stays empty. */
bool bf_trial_watch(const struct bf_trial_spec *spec, struct bf_sink *sink, struct bf_trial_result *result);

struct bf_trial_search_opts {
	uint64_t seeds;                    /* from spec->world.seed on; 0: 50 */
	const enum bf_ordering *orderings; /* simplest first; NULL: all of them */
	uint32_t norderings;
	uint32_t jobs;     /* threads; 0: 1. More than one: setup, verify and code under test share nothing by `arg` */
	bool no_shrinking; /* the first failure as it is */
};

/*
 * Runs the trial under each seed and ordering until one fails; then looks for the smallest run that fails in the same
 * way (verdict and root cause): a simpler ordering, smaller sizes, a lower seed. The outcome does not depend on `jobs`.
 * `opts` may be NULL. Returns result->ok: true when none failed.
 */
bool bf_trial_search(const struct bf_trial_spec *spec, const struct bf_trial_search_opts *opts,
		     struct bf_trial_result *result);

struct bf_trial_exhaust_opts {
	uint32_t delays; /* at most in one run; 0: 2 */
	uint32_t stalls; /* at most so many of these are stalls of threads */
	uint64_t runs;   /* at most in all; 0: 1,000,000 */
	/* One run alone, with these delays (bf_trial_covered.choices, "3:1,17:2"; "": none); NULL: all runs. */
	const char *choices;
};

/* What such a search went through. */
struct bf_trial_covered {
	uint64_t runs;
	uint32_t delays;   /* all runs with at most so many were made */
	bool whole;        /* as many as were asked for */
	bool all;          /* no delay is left that could be noticed */
	char choices[256]; /* of the run that fails: its delays; "" */
};

/*
 * Runs the trial, with its sizes and seed and ordering adversarial, in every way that it has with at most so many
 * delays: stores and copies of loads that stay, threads that stall (drivers/trial/exhaust.h). No luck is involved: the
 * first failure has the fewest delays that a failure can have, and "good" holds for all of these runs. For small
 * trials: a few entries, one or two threads. `opts` and `covered` may be NULL. Returns result->ok.
 *
 * `belfry fences trial -- PROGRAM` asks this of a program with trials, whichever of these functions it calls, once for
 * each fence that it makes weaker.
 */
bool bf_trial_exhaust(const struct bf_trial_spec *spec, const struct bf_trial_exhaust_opts *opts,
		      struct bf_trial_covered *covered, struct bf_trial_result *result);

/* Whether the rule `id` ("ORDER-INDEX") is among the findings. */
bool bf_trial_found(const struct bf_trial_result *result, const char *id);

/* ---- for setup and verify ---- */

void *bf_trial_arg(const struct bf_trial *t); /* of the spec */
uint64_t bf_trial_seed(const struct bf_trial *t);
/* The size of that number in this run; 0 past the last. */
uint64_t bf_trial_size(const struct bf_trial *t, uint32_t i);
const struct bf_backend *bf_trial_backend(const struct bf_trial *t);
struct bf_world *bf_trial_world(const struct bf_trial *t);

/* Why the trial fails; the first reason is kept. Returns `code`, which is a negative errno. */
int bf_trial_fail(struct bf_trial *t, int code, const char *fmt, ...) BF_PRINTF(3, 4);
/* The same if `good` is false. Returns `good`. */
bool bf_trial_check(struct bf_trial *t, bool good, const char *fmt, ...) BF_PRINTF(3, 4);
/* Whether `bytes` bytes are equal; names the first that is not. */
bool bf_trial_equal(struct bf_trial *t, const char *what, const void *got, const void *wanted, size_t bytes);

/*
 * drop(object) is called when the trial ends, whichever way, after the machine is closed. On failure, which is the
 * trial's reason, at once.
 */
int bf_trial_keep(struct bf_trial *t, void *object, void (*drop)(void *object));

/* Zeroed memory of PE `pe` that its devices reach, page-aligned. Freed after verify. */
int bf_trial_memory(struct bf_trial *t, uint32_t pe, enum bf_placement place, uint64_t bytes, const char *name,
		    struct bf_memory *out);

/* A grid on the GPU of `pe`, or threads on its CPU, that start when setup has returned. `arg` must outlive the run. */
int bf_trial_launch(struct bf_trial *t, uint32_t pe, uint32_t blocks, uint32_t warps, bf_kernel_fn *code, void *arg);
int bf_trial_launch_cpu(struct bf_trial *t, uint32_t pe, uint32_t threads, bf_kernel_fn *code, void *arg);
/*
 * A grid whose blocks have shared memory, block barriers, mbarriers and bulk copies, beside the devices of its PE: its
 * code may use all of drivers/platform/platform_mbarrier_sim.h, and the rules of all devices judge the run.
 */
int bf_trial_launch_grid(struct bf_trial *t, uint32_t pe, const struct bf_grid_opts *grid, bf_kernel_fn *code,
			 void *arg);

/* ---- PTX: device code as a compiler made it (models/ptx/launch.h) ---- */

/*
 * Loads the PTX text in `count` files (nvcc -ptx, or from a program), linked together, into the GPU of `pe`. What is
 * wrong with them is the trial's reason.
 */
int bf_trial_ptx(struct bf_trial *t, uint32_t pe, const char *const *files, uint32_t count,
		 struct bf_ptx_library **out);

/*
 * A grid of a kernel in them, which starts when setup has returned: `blocks` of `threads`, with `nargs` arguments of at
 * most 8 bytes each (pointers, integers), cut to the size of their parameters. Pointers may be those of struct
 * bf_memory and of queues; what the kernel writes into entries as addresses must be simulated ones (`va`, `local_va`).
 * bf_trial_ptx_start() takes any launch; without `done` a fault of the kernel stops the run.
 */
int bf_trial_ptx_launch(struct bf_trial *t, uint32_t pe, struct bf_ptx_library *lib, const char *kernel,
			uint32_t blocks, uint32_t threads, const uint64_t *args, uint32_t nargs);
int bf_trial_ptx_start(struct bf_trial *t, uint32_t pe, struct bf_ptx_library *lib, const struct bf_ptx_launch *launch);
/* The next bf_trial_ptx_launch() begins when the last one has ended: one stream for both. */
void bf_trial_ptx_follow(struct bf_trial *t);

BF_API_END

#endif

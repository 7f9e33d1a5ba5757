/*
 * belfry ptx trial: a kernel that posts to a ConnectX, on a modelled one, under many seeds and memory orderings
 * (drivers/trial/trial.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/commands/ptx_arg.h"
#include "tools/commands/ptx_trial.h"
#include "tools/report/lint.h"

#define ARGS_MAX 64u
/* What `mlx5:NAME` means: of the queue pair from the kernel's PE to its peer. */
static const char *const queue_values[] = { "sq",    "cq",       "dbrec",     "cq-dbrec", "doorbell",
					    "local", "local-va", "remote-va", "lkey",     "rkey",
					    "qpn",   "cqn",      "wqebbs",    "cqes",     "heap-bytes" };

static bool queue_value(const struct bf_trial_mlx5_queue *q, const char *name, uint64_t *out)
{
	const uint64_t values[] = { (uintptr_t)q->sq,
				    (uintptr_t)q->cq,
				    (uintptr_t)q->dbrec,
				    (uintptr_t)q->cq_dbrec,
				    (uintptr_t)q->doorbell,
				    (uintptr_t)q->local,
				    q->local_va,
				    q->remote_va,
				    q->lkey,
				    q->rkey,
				    q->qpn,
				    q->cqn,
				    q->wqebbs,
				    q->cqes,
				    q->heap_bytes };

	BF_STATIC_ASSERT(BF_ARRAY_LEN(values) == BF_ARRAY_LEN(queue_values), "each name has its value");
	for (size_t i = 0; i < BF_ARRAY_LEN(values); i++)
		if (strcmp(name, queue_values[i]) == 0) {
			*out = values[i];
			return true;
		}
	return false;
}

static int take_arg(struct bf_trial *t, const char *text, uint32_t index, const struct bf_trial_mlx5_queue *q,
		    uint64_t *out)
{
	struct bf_ptx_arg arg = { 0 };
	struct bf_error why = { 0 };

	if (strncmp(text, "mlx5:", 5) == 0)
		return queue_value(q, text + 5, out)
			   ? 0
			   : bf_trial_fail(t, -EINVAL, "argument %" PRIu32 ": a queue has no '%s'", index, text + 5);
	if (bf_ptx_arg_parse(text, &arg, &why))
		return bf_trial_fail(t, -EINVAL, "argument %" PRIu32 ": %s", index, why.text);
	if (arg.buffer || arg.len > sizeof(*out))
		return bf_trial_fail(t, -EINVAL, "argument %" PRIu32 ": a trial takes numbers and mlx5:NAME", index);
	*out = 0;
	memcpy(out, arg.bytes, arg.len);
	return 0;
}

/* The kernel's heap has words that differ, its peer's has zeros. */
static void fill(struct bf_memory heap, uint64_t seed)
{
	uint32_t *word = heap.ptr;

	for (uint64_t i = 0; i < heap.size / sizeof(*word); i++)
		word[i] = (uint32_t)(i * 2654435761u + seed) | 1;
}

static int setup(struct bf_trial *t, void *state)
{
	const struct bf_ptx_trial *w = state;
	const struct bf_trial_mlx5_opts opts = { .collapsed = bf_arg_flag(w->args, "collapsed"),
						 .rings_in_host = bf_arg_flag(w->args, "rings-in-host") };
	const uint32_t given = bf_arg_count(w->args, "arg");
	const char *const prepare = bf_arg_text(w->args, "prepare");
	struct bf_trial_mlx5_queue q;
	struct bf_ptx_library *lib;
	uint64_t values[ARGS_MAX];
	int rc;

	if (given > ARGS_MAX)
		return bf_trial_fail(t, -E2BIG, "more than %u arguments", ARGS_MAX);
	rc = bf_trial_mlx5(t, &opts);
	if (!rc)
		rc = bf_trial_mlx5_queue(t, 0, 1, 0, &q);
	if (!rc && w->same > bf_trial_heap(t, 0).size)
		rc = bf_trial_fail(t, -EINVAL, "--same: the heap has %" PRIu64 " bytes", bf_trial_heap(t, 0).size);
	for (uint32_t i = 0; !rc && i < given; i++)
		rc = take_arg(t, bf_arg_nth(w->args, "arg", i), i, &q, &values[i]);
	if (!rc)
		rc = bf_trial_ptx(t, 0, w->files, w->file_count, &lib);
	if (rc)
		return rc;
	fill(bf_trial_heap(t, 0), bf_trial_seed(t));
	if (prepare) {
		rc = bf_trial_ptx_launch(t, 0, lib, prepare, 1, 1, values, given);
		bf_trial_ptx_follow(t);
	}
	if (rc)
		return rc;
	return bf_trial_ptx_launch(t, 0, lib, bf_arg_text(w->args, "kernel"), (uint32_t)bf_arg_u64(w->args, "grid"),
				   (uint32_t)bf_arg_u64(w->args, "block"), values, given);
}

static int verify(struct bf_trial *t, void *state)
{
	const struct bf_ptx_trial *w = state;

	bf_trial_equal(t, "the peer's memory", bf_trial_heap(t, 1).ptr, bf_trial_heap(t, 0).ptr, w->same);
	return 0;
}

/* What is wrong with the run whose records are in the file, and on which line of the source. */
static int tell(const struct bf_trial_result *r, const char *path)
{
	const char *const cause = strstr(r->text, "\ncause:");
	struct bf_error err = { 0 };

	printf("%.*s\n", cause ? (int)(cause - r->text) : (int)strlen(r->text), r->text);
	if (r->verdict == BF_TRIAL_NOT_RUN)
		return BF_EXIT_USAGE;
	if (!r->ok && bf_lint_paths(&path, 1, stdout, NULL, &err) < 0)
		fprintf(stderr, "%s\n", err.text);
	return r->ok ? BF_EXIT_GOOD : BF_EXIT_FAILED;
}

int bf_ptx_trial_open(const struct bf_args *args, struct bf_ptx_trial *w, struct bf_trial_spec *spec)
{
	*w = (struct bf_ptx_trial){ .args = args, .same = bf_arg_u64(args, "same") };
	if (bf_arg_positional_count(args) < 2)
		return bf_cli_error(args, BF_EXIT_USAGE, "no file with PTX is given");
	if (bf_arg_positional_count(args) > BF_PTX_TRIAL_FILES)
		return bf_cli_error(args, BF_EXIT_USAGE, "more than %u files", BF_PTX_TRIAL_FILES);
	if (!bf_arg_text(args, "kernel"))
		return bf_cli_error(args, BF_EXIT_USAGE, "--kernel is missing: belfry ptx check lists them");
	while (w->file_count + 1 < bf_arg_positional_count(args)) {
		w->files[w->file_count] = bf_arg_positional(args, w->file_count + 1);
		w->file_count++;
	}
	*spec = (struct bf_trial_spec){
		.name = bf_arg_text(args, "kernel"),
		.world = { .npes = 2, .seed = bf_arg_u64(args, "seed"), .limit_ps = bf_arg_u64(args, "time-limit") },
		.setup = setup,
		.verify = w->same ? verify : NULL,
		.arg = w,
	};
	return BF_EXIT_GOOD;
}

static int search(const struct bf_args *args, const struct bf_trial_spec *spec)
{
	struct bf_trial_search_opts opts = { .seeds = bf_arg_u64(args, "seeds") };
	const char *const ordering = bf_arg_text(args, "ordering");
	struct bf_trial_result result;
	enum bf_ordering only;

	if (strcmp(ordering, "all") != 0) {
		if (bf_ordering_parse(ordering, &only))
			return bf_cli_error(args, BF_EXIT_USAGE, "--ordering: all, sc, tso, gpu or adversarial");
		opts.orderings = &only;
		opts.norderings = 1;
	}
	if (bf_arg_text(args, "choices"))
		bf_trial_exhaust(spec, &(struct bf_trial_exhaust_opts){ .choices = bf_arg_text(args, "choices") }, NULL,
				 &result);
	else
		bf_trial_search(spec, &opts, &result);
	return tell(&result, spec->trace);
}

static int run(const struct bf_args *args)
{
	const char *const wanted = bf_arg_text(args, "trace");
	struct bf_trial_spec spec;
	struct bf_ptx_trial w;
	char path[PATH_MAX]; /* of the records where the user wants none */
	int code;

	if (strcmp(bf_arg_positional(args, 0), "trial") != 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "usage: belfry ptx trial FILE... --kernel NAME");
	code = bf_ptx_trial_open(args, &w, &spec);
	if (code != BF_EXIT_GOOD)
		return code;
	spec.world.faults = bf_arg_text(args, "faults");
	spec.trace = wanted ? wanted : path;
	if (!wanted && bf_cli_temporary("trial", path))
		return bf_cli_error(args, BF_EXIT_UNAVAILABLE, "%s cannot be made", path);
	code = search(args, &spec);
	if (!wanted)
		unlink(path);
	return code;
}

static const struct bf_opt options[] = {
	BF_PTX_TRIAL_OPTIONS,
	{ .name = "ordering",
	  .kind = BF_OPT_TEXT,
	  .arg = "NAME",
	  .initial = "all",
	  .help = "how late stores become visible: all|sc|tso|gpu|adversarial" },
	{ .name = "seeds",
	  .kind = BF_OPT_U64,
	  .arg = "N",
	  .initial = "20",
	  .min = 1,
	  .max = 1u << 20,
	  .help = "how many" },
	{ .name = "faults",
	  .kind = BF_OPT_TEXT,
	  .arg = "PLAN",
	  .help = "fault plan; 'fence-none site=0x2a': the instruction on line 42 of the PTX orders nothing" },
	{ .name = "choices",
	  .kind = BF_OPT_TEXT,
	  .arg = "I:A[,I:A]",
	  .help = "repeat a run that belfry fences ptx found: alternative A at choice I, no delay elsewhere" },
	{ .name = "trace", .kind = BF_OPT_TEXT, .arg = "FILE", .help = "write the records of the run that failed" },
	{ 0 },
};

const struct bf_command bf_cmd_ptx_trial = {
	.name = "ptx",
	.usage = "ptx trial FILE... --kernel NAME [options]",
	.summary = "try a kernel that posts RDMA on a modelled ConnectX, and say what is wrong with it",
	.details = "The kernel runs on the GPU of one PE, which is connected to a second one. VALUE of --arg is\n"
		   "TYPE:NUMBER (u8 to u64, s8 to s64) or mlx5:NAME, a part of the connection: sq, cq, dbrec,\n"
		   "cq-dbrec, doorbell, local (pointers for the kernel), local-va, remote-va, lkey, rkey (values for\n"
		   "entries), qpn, cqn, wqebbs, cqes, heap-bytes. The kernel's heap (local) starts with words that\n"
		   "all differ, its peer's with zeros.\n"
		   "\n"
		   "Every seed runs under every ordering until a run fails: by its bytes, by the rules, or because\n"
		   "it hangs. Then it prints the smallest run that fails the same way, with the rule that it breaks\n"
		   "and the line of the source.\n"
		   "\n"
		   "Exit code 1: a run failed. 2: the modules or the options are wrong.\n"
		   "\n"
		   "  belfry ptx trial put.ptx --kernel put --same 512 --arg mlx5:sq --arg mlx5:dbrec \\\n"
		   "    --arg mlx5:doorbell --arg mlx5:qpn --arg u32:8",
	.options = options,
	.min_args = 1,
	.max_args = 64,
	.run = run,
	.prefix = "trial",
};

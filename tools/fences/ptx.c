/*
 * belfry fences ptx: a kernel that posts to a ConnectX, each instruction of it that orders others made weaker.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "models/ptx/module.h"
#include "tools/commands/ptx_trial.h"
#include "tools/fences/fences.h"
#include "tools/workloads/choice.h"

#define FIRST_RUNS 2u

struct kernel {
	const struct bf_args *args;
	struct bf_trial_spec spec;
	struct bf_ptx_program *program; /* to say what stands where */
	struct bf_trial_exhaust_opts opts;
};

static int watch(void *own, uint32_t run, struct bf_sink *records, struct bf_error *err)
{
	struct kernel *k = own;
	struct bf_trial_spec spec = k->spec;
	struct bf_trial_result r;

	spec.world.seed += run;
	spec.world.ordering = BF_ORDER_ADVERSARIAL;
	spec.world.faults = BF_FENCE_NOWHERE;
	bf_trial_watch(&spec, records, &r);
	return r.verdict == BF_TRIAL_NOT_RUN ? bf_fail(err, -EINVAL, "%s", r.reason) : 0;
}

static const char *const passed_on[] = { "grid", "block", "same", "seed", "time-limit" };

/* The command that repeats a run. */
static void write_again(const struct kernel *k, const char *plan, const char *choices, char *buf, size_t cap)
{
	const struct bf_args *a = k->args;
	size_t len = (size_t)snprintf(buf, cap, "belfry ptx trial");

	for (unsigned i = 1; i < bf_arg_positional_count(a) && len < cap; i++)
		len += (size_t)snprintf(buf + len, cap - len, " %s", bf_arg_positional(a, i));
	bf_command_append(buf, cap, "kernel", bf_arg_text(a, "kernel"));
	if (bf_arg_text(a, "prepare"))
		bf_command_append(buf, cap, "prepare", bf_arg_text(a, "prepare"));
	for (size_t i = 0; i < BF_ARRAY_LEN(passed_on); i++)
		if (bf_arg_given(a, passed_on[i])) {
			char number[32];

			snprintf(number, sizeof(number), "%" PRIu64 "%s", bf_arg_u64(a, passed_on[i]),
				 strcmp(passed_on[i], "time-limit") == 0 ? "ps" : "");
			bf_command_append(buf, cap, passed_on[i], number);
		}
	for (unsigned i = 0; i < bf_arg_count(a, "arg"); i++)
		bf_command_append(buf, cap, "arg", bf_arg_nth(a, "arg", i));
	if (bf_arg_flag(a, "collapsed"))
		bf_command_append(buf, cap, "collapsed", NULL);
	if (bf_arg_flag(a, "rings-in-host"))
		bf_command_append(buf, cap, "rings-in-host", NULL);
	if (plan)
		bf_command_append(buf, cap, "faults", plan);
	bf_command_append(buf, cap, "choices", choices[0] ? choices : "0:0");
}

static int search(void *own, const char *plan, struct bf_fence_search *out, struct bf_error *err)
{
	struct kernel *k = own;
	struct bf_trial_spec spec = k->spec;
	struct bf_trial_covered covered = { 0 };
	struct bf_trial_result r;
	bool good;

	spec.world.faults = plan;
	good = bf_trial_exhaust(&spec, &k->opts, &covered, &r);
	if (r.verdict == BF_TRIAL_NOT_RUN)
		return bf_fail(err, -EINVAL, "%s", r.reason);
	out->runs = covered.runs;
	out->whole = covered.whole;
	if (r.nfindings)
		snprintf(out->cause, sizeof(out->cause), "%s: %s", r.finding[0].rule->id, r.finding[0].text);
	if (good)
		return 0;
	snprintf(out->what, sizeof(out->what), "%s", bf_trial_verdict_name(r.verdict));
	write_again(k, plan, covered.choices, out->again, sizeof(out->again));
	return 1;
}

/* What the line of a module says; `func` is where it stands. NULL: there is no such line. */
static const struct bf_ptx_stmt *statement(const struct bf_ptx_program *p, const char *module, uint64_t line,
					   const struct bf_ptx_func **func)
{
	for (uint32_t i = 0; i < p->func_count; i++) {
		const struct bf_ptx_func *f = p->funcs[i];

		for (uint32_t s = 0; strcmp(p->modules[f->module]->name, module) == 0 && s < f->stmt_count; s++)
			if (f->stmts[s].line == line) {
				*func = f;
				return &f->stmts[s];
			}
	}
	return NULL;
}

/* Where it is in the source, and where that was inlined. */
static void put_source(const struct kernel *k, const struct bf_ptx_func *f, const struct bf_ptx_stmt *s, char *text,
		       size_t cap)
{
	const struct bf_ptx_module *m = k->program->modules[f->module];
	const struct bf_ptx_loc *loc = bf_ptx_loc(k->program, f, s);
	size_t len = strlen(text);

	for (const char *in = " at "; loc && len < cap; in = " in ") {
		const char *name = strrchr(loc->file, '/');

		len += (size_t)snprintf(text + len, cap - len, "%s%s:%" PRIu32, in, name ? name + 1 : loc->file,
					loc->line);
		loc = loc->inlined_at < m->loc_count ? &m->locs[loc->inlined_at] : NULL;
	}
}

/* Barriers and shuffles order, too, but nobody can take their order away. */
static bool orders_only(const char *form)
{
	static const char *const words[] = { "fence", "membar", "ld.", "st.", "atom.", "red." };

	for (size_t i = 0; i < BF_ARRAY_LEN(words); i++)
		if (strncmp(form, words[i], strlen(words[i])) == 0)
			return true;
	return false;
}

static bool line(void *own, const struct bf_place *at, struct bf_source_line *out, char *text, size_t cap,
		 uint32_t *scope)
{
	struct kernel *k = own;
	const struct bf_ptx_func *f;
	const struct bf_ptx_stmt *s = statement(k->program, at->path, at->offset, &f);

	if (!s || !orders_only(s->form->text))
		return false;
	*out = (struct bf_source_line){ .line = (int)at->offset };
	snprintf(out->file, sizeof(out->file), "%s", at->path);
	snprintf(out->function, sizeof(out->function), "%s", f->name);
	snprintf(text, cap, "%s", s->form->text);
	if (s->form->scope == BF_PTX_SCOPE_GPU && *scope == BF_SCOPE_SYS)
		*scope = BF_SCOPE_GPU;
	put_source(k, f, s, text, cap);
	return true;
}

static int read_modules(struct kernel *k, const struct bf_ptx_trial *w)
{
	int rc = k->program ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < w->file_count && !rc; i++)
		rc = bf_ptx_program_add_file(k->program, w->files[i], NULL);
	if (rc)
		return bf_cli_error(k->args, BF_EXIT_USAGE, "%s", k->program ? k->program->error.text : "no memory");
	return BF_EXIT_GOOD;
}

static int run(const struct bf_args *args)
{
	struct kernel k = { .args = args,
			    .opts = { .delays = (uint32_t)bf_arg_u64(args, "delays"),
				      .stalls = (uint32_t)bf_arg_u64(args, "stalls"),
				      .runs = bf_arg_u64(args, "runs") } };
	struct bf_fence_code code = { .delays = k.opts.delays,
				      .stalls = k.opts.stalls,
				      .first_runs = FIRST_RUNS,
				      .own = &k,
				      .watch = watch,
				      .search = search,
				      .line = line };
	struct bf_ptx_trial w;
	int rc = bf_ptx_trial_open(args, &w, &k.spec);

	if (rc != BF_EXIT_GOOD)
		return rc;
	code.name = k.spec.name;
	k.program = bf_ptx_program_create();
	rc = read_modules(&k, &w);
	if (rc == BF_EXIT_GOOD)
		rc = bf_fences(args, &code);
	bf_ptx_program_destroy(k.program);
	return rc;
}

static const struct bf_opt options[] = {
	BF_PTX_TRIAL_OPTIONS,
	BF_FENCE_OPTIONS,
	{ 0 },
};

const struct bf_command bf_cmd_fences_ptx = {
	.name = "fences",
	.usage = "fences ptx FILE... --kernel NAME [options]",
	.summary = "a verdict on each fence of a kernel as nvcc compiled it",
	.details =
	    "Makes each fence, ld.acquire, st.release, and the order and scope of each atom and red weaker, one\n"
	    "instruction of the PTX at a time, and searches all runs with at most --delays delays. Kernel, grid\n"
	    "and arguments are given as for `belfry ptx trial`, whose --help says what --arg takes.\n"
	    "\n"
	    "Exit code 0: the kernel is good as it is. 1: it fails, something is missing. 2: the modules or the\n"
	    "options are wrong.\n"
	    "\n"
	    "  belfry fences ptx post.ptx --kernel post --grid 2 --same 64 --arg u32:1",
	.options = options,
	.min_args = 2,
	.max_args = 64,
	.run = run,
	.prefix = "ptx",
};

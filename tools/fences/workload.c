/*
 * belfry fences WORKLOAD: our drivers, at a size that a search through all runs can finish.
 */
#include <stdlib.h>
#include <string.h>

#include "drivers/trial/exhaust.h"
#include "tools/fences/fences.h"
#include "tools/workloads/family.h"

#define FIRST_RUNS 4u

struct workload {
	const struct bf_args *args;
	const struct bf_family *f;
	struct bf_exhaust_opts opts;
	void *w, *result;
};

static int watch(void *own, uint32_t run, struct bf_sink *records, struct bf_error *err)
{
	struct workload *x = own;
	const struct bf_search_part *seed = &x->f->search.seed;
	const uint64_t first = bf_member_get(x->w, seed->offset, seed->size);
	int rc;

	bf_member_set(x->w, seed->offset, seed->size, first + run);
	rc = bf_family_again(x->f, x->w, BF_CLASS_MEM | BF_CLASS_WHERE, records, err);
	bf_member_set(x->w, seed->offset, seed->size, first);
	return rc;
}

static void set_plan(struct workload *x, const char *plan)
{
	memcpy((char *)x->w + x->f->faults.offset, &plan, sizeof(plan));
}

/* What rules of order warn of in a run that is good. */
static int find_luck(struct workload *x, struct bf_fence_search *out, struct bf_error *err)
{
	const struct bf_rules_opts opts = { .families = "order" };
	struct bf_rules *rules = NULL;
	const struct bf_found *root;
	int rc = bf_rules_create(&opts, &rules, err);

	if (!rc)
		rc = bf_family_again(x->f, x->w, BF_CLASS_ALL, bf_rules_sink(rules), err);
	if (!rc)
		rc = bf_rules_finish(rules, true);
	root = rc ? NULL : bf_rules_root(rules);
	if (root)
		snprintf(out->cause, sizeof(out->cause), "%s: %s", root->rule->id, root->text);
	bf_rules_destroy(rules);
	return rc;
}

/* The failing run is the same with rules, which say why; they may find an earlier one. */
static int find_cause(struct workload *x, struct bf_fence_search *out, struct bf_error *err)
{
	struct bf_exhaust_opts opts = x->opts;
	struct bf_exhaust_result r;
	int rc;

	opts.rules = true;
	bf_member_set(x->w, x->f->records.offset, x->f->records.size, BF_CLASS_ALL);
	rc = bf_explore_exhaust(x->args, &opts, x->w, x->result, &r, err);
	bf_member_set(x->w, x->f->records.offset, x->f->records.size, x->opts.rules ? BF_CLASS_ALL : 0);
	if (rc > 0)
		snprintf(out->cause, sizeof(out->cause), "%s", r.found);
	return rc < 0 ? rc : 0;
}

static int search(void *own, const char *plan, struct bf_fence_search *out, struct bf_error *err)
{
	struct workload *x = own;
	struct bf_exhaust_result r;
	uint32_t verdict;
	int rc, more = 0;

	set_plan(x, plan);
	rc = bf_explore_exhaust(x->args, &x->opts, x->w, x->result, &r, err);
	if (rc >= 0) {
		out->runs = r.runs;
		out->whole = r.whole;
	}
	if (rc == 1) {
		verdict = x->f->search.verdict(x->result);
		snprintf(out->what, sizeof(out->what), "%s",
			 verdict ? x->f->verdict_name(verdict) : "a rule's finding");
		bf_family_command(x->f, x->w, out->again, sizeof(out->again));
		if (r.list[0])
			bf_command_append(out->again, sizeof(out->again), "choices", r.list);
	}
	if (rc >= 0 && !plan)
		more = rc ? find_cause(x, out, err) : find_luck(x, out, err);
	set_plan(x, NULL);
	return more ? more : rc;
}

int bf_fences_workload(const struct bf_args *args, const struct bf_family *f, const void *w)
{
	struct workload x = { .args = args,
			      .f = f,
			      .opts = { .family = &f->search,
					.delays = (uint32_t)bf_arg_u64(args, "delays"),
					.stalls = (uint32_t)bf_arg_u64(args, "stalls"),
					.runs = bf_arg_u64(args, "runs"),
					.rules = bf_arg_flag(args, "rules") } };
	const struct bf_fence_code code = { .name = bf_family_work(f, w)->name,
					    .delays = x.opts.delays,
					    .stalls = x.opts.stalls,
					    .first_runs = FIRST_RUNS,
					    .own = &x,
					    .watch = watch,
					    .search = search };
	int rc;

	if (!f->faults.size || !f->search.chooser.size)
		return bf_cli_error(args, BF_EXIT_USAGE, "workloads %s* cannot be searched to the end", f->prefix);
	if (bf_family_faults(f, w))
		return bf_cli_error(args, BF_EXIT_USAGE, "--faults: the plan is this command's own");
	x.w = malloc(f->search.choice_bytes);
	x.result = calloc(1, f->search.result_bytes);
	if (x.w && x.result) {
		memcpy(x.w, w, f->search.choice_bytes);
		bf_member_set(x.w, f->search.ordering.offset, f->search.ordering.size, BF_ORDER_ADVERSARIAL);
		bf_member_set(x.w, f->records.offset, f->records.size, x.opts.rules ? BF_CLASS_ALL : 0);
		bf_member_set(x.w, f->counts.offset, f->counts.size, false);
		rc = bf_fences(args, &code);
	} else {
		rc = bf_cli_error(args, BF_EXIT_USAGE, "no memory for a search");
	}
	free(x.w);
	free(x.result);
	return rc;
}

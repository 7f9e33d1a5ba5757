/*
 * belfry explore --exhaustive: every run of a workload with at most so many delays, and what that search covered.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/trial/exhaust.h"
#include "tools/report/findings.h"
#include "tools/workloads/family.h"

struct search {
	const struct bf_args *args;
	const struct bf_family *f;
	struct bf_exhaust_opts opts;
	void *w, *result;
	enum bf_ordering ordering;
	struct bf_exhaust_result r;
	struct bf_json *j;
};

static void show_progress(void *owner, uint64_t done, uint64_t known)
{
	bf_progress_update(owner, done, known);
}

int bf_explore_exhaust(const struct bf_args *args, const struct bf_exhaust_opts *opts, const void *w, void *result,
		       struct bf_exhaust_result *r, struct bf_error *err)
{
	struct bf_exhaust_opts shown = *opts;
	struct bf_progress progress;
	int rc;

	shown.progress = show_progress;
	shown.owner = &progress;
	bf_progress_begin(&progress, args, "runs, of those known so far");
	rc = bf_exhaust(&shown, w, result, r, err);
	bf_progress_end(&progress);
	return rc;
}

/* What was asked, and what no run asked for: that it did not happen is said, too. */
static void print_covered(const struct search *s)
{
	printf("choices asked:");
	for (int k = 0; k < BF_CHOICE_KINDS; k++)
		if (s->r.asked[k])
			printf(" %s %" PRIu64, bf_choice_name((enum bf_choice_kind)k), s->r.asked[k]);
	printf(" (%" PRIu64 " delays that nobody could notice)\n", s->r.unnoticed);
	if (s->r.doubted)
		printf("%" PRIu64 " of these were tried all the same: nothing came of them\n", s->r.doubted);
	printf("not varied: losses, times of devices and links, the seed of the data\n");
}

static void print_good(const struct search *s)
{
	const char *name = bf_family_work(s->f, s->w)->name, *o = bf_ordering_name(s->ordering);
	const bool few_stalls = s->opts.stalls < s->opts.delays;

	printf("%s, ordering %s: ", name, o);
	if (s->r.all)
		printf("all %" PRIu64 " runs are good", s->r.runs);
	else if (s->r.stalled)
		printf("all %" PRIu64 " runs with any delays and at most %u stalls are good", s->r.runs,
		       s->opts.stalls);
	else if (s->r.whole && few_stalls)
		printf("all %" PRIu64 " runs with at most %u delays, %u of them stalls, are good", s->r.runs,
		       s->r.delays, s->opts.stalls);
	else if (s->r.whole)
		printf("all %" PRIu64 " runs with at most %u delays are good", s->r.runs, s->r.delays);
	else
		printf("not finished: all runs with at most %u delays are good, and %" PRIu64 " in all", s->r.delays,
		       s->r.runs);
	printf(" (%u choices in the quiet one)\n", s->r.choices);
	print_covered(s);
}

static void write_command(const struct search *s, char *buf, size_t cap)
{
	bf_family_command(s->f, s->w, buf, cap);
	bf_command_append(buf, cap, "choices", s->r.list);
}

static const char *how_it_failed(const struct search *s)
{
	const uint32_t verdict = s->f->search.verdict(s->result);

	return verdict ? s->f->verdict_name(verdict) : "right by luck";
}

static void print_bad(const struct search *s)
{
	char command[2048];

	write_command(s, command, sizeof(command));
	printf("%s after %" PRIu64 " runs, ordering %s, with the fewest delays that do it:\n  %s\n", how_it_failed(s),
	       s->r.runs, bf_ordering_name(s->ordering), command);
	if (s->f->print_failure && s->f->search.verdict(s->result))
		s->f->print_failure(stdout, s->result);
	if (s->r.found[0])
		printf("%s\n", s->r.found);
}

static void json_one(struct search *s, bool found)
{
	struct bf_json *j = s->j;
	char command[2048];

	bf_json_open(j, NULL, '{');
	bf_json_text(j, "ordering", bf_ordering_name(s->ordering));
	bf_json_bool(j, "found", found);
	bf_json_u64(j, "runs", s->r.runs);
	bf_json_u64(j, "unnoticed", s->r.unnoticed);
	bf_json_u64(j, "doubted", s->r.doubted);
	bf_json_u64(j, "delays", s->r.delays);
	bf_json_bool(j, "whole", s->r.whole);
	bf_json_bool(j, "all", s->r.all);
	bf_json_u64(j, "stalls", s->opts.stalls);
	bf_json_u64(j, "choices", s->r.choices);
	bf_json_open(j, "asked", '{');
	for (int k = 0; k < BF_CHOICE_KINDS; k++)
		bf_json_u64(j, bf_choice_name((enum bf_choice_kind)k), s->r.asked[k]);
	bf_json_close(j, '}');
	if (found) {
		write_command(s, command, sizeof(command));
		bf_json_text(j, "verdict", how_it_failed(s));
		bf_json_text(j, "command", command);
		bf_json_text(j, "list", s->r.list);
		if (s->f->json_failure)
			s->f->json_failure(j, s->result);
	}
	bf_json_close(j, '}');
}

static int search_one(struct search *s)
{
	struct bf_error err = { 0 };
	int rc;

	bf_member_set(s->w, s->f->search.ordering.offset, s->f->search.ordering.size, s->ordering);
	bf_member_set(s->w, s->f->records.offset, s->f->records.size,
		      s->opts.doubts || s->opts.rules ? BF_CLASS_ALL : 0);
	bf_member_set(s->w, s->f->counts.offset, s->f->counts.size, false);
	rc = bf_explore_exhaust(s->args, &s->opts, s->w, s->result, &s->r, &err);
	if (rc < 0)
		return bf_cli_error(s->args, BF_EXIT_USAGE, "%s", err.text);
	if (s->j)
		json_one(s, rc);
	else if (rc)
		print_bad(s);
	else
		print_good(s);
	return rc ? BF_EXIT_FAILED : BF_EXIT_GOOD;
}

static int search_orders(struct search *s, const enum bf_ordering *orders, uint32_t norders)
{
	int code = BF_EXIT_GOOD;

	for (uint32_t i = 0; i < norders && code == BF_EXIT_GOOD; i++) {
		s->ordering = orders[i];
		code = search_one(s);
	}
	return code;
}

int bf_explore_all(const struct bf_args *args, const struct bf_family *f, const void *w, const enum bf_ordering *orders,
		   uint32_t norders)
{
	struct search s = { .args = args, .f = f };
	struct bf_json j;
	int code = BF_EXIT_USAGE;

	s.opts = (struct bf_exhaust_opts){ .family = &f->search,
					   .delays = (uint32_t)bf_arg_u64(args, "exhaustive"),
					   .stalls = (uint32_t)bf_arg_u64(args, "stalls"),
					   .runs = bf_arg_u64(args, "runs"),
					   .doubts = bf_arg_u64(args, "doubt"),
					   .rules = bf_arg_flag(args, "rules") };
	s.w = malloc(f->search.choice_bytes);
	s.result = calloc(1, f->search.result_bytes);
	if (!s.w || !s.result) {
		bf_cli_error(args, BF_EXIT_USAGE, "no memory for a search");
	} else {
		memcpy(s.w, w, f->search.choice_bytes);
		if (bf_arg_json(args)) {
			s.j = &j;
			bf_json_begin(&j, stdout);
			bf_json_open(&j, NULL, '{');
			bf_json_text(&j, "workload", bf_family_work(f, w)->name);
			bf_json_open(&j, "orderings", '[');
		}
		code = search_orders(&s, orders, norders);
		if (s.j) {
			bf_json_close(&j, ']');
			bf_json_close(&j, '}');
			bf_json_end(&j);
		}
	}
	free(s.w);
	free(s.result);
	return code;
}

/* `belfry run` and `belfry explore` for families with kernels of their own: search, one run, and what they print. */
#include <inttypes.h>
#include <string.h>

#include "tools/report/lint_run.h"
#include "tools/workloads/pes.h"

static void print(const void *choices, const void *outcome, bool stats)
{
	const struct bf_pes *p = choices;
	const struct bf_pes_result *result = outcome;
	const struct bf_run_result *r = &result->run;
	char command[2048];

	(void)stats;
	bf_pes_command(p, command, sizeof(command));
	printf("%s\n%s", command, bf_verdict_name(r->base.verdict));
	if (r->base.verdict == BF_VERDICT_GOOD)
		printf(": %" PRIu64 " messages, %" PRIu64 " bytes, all as they must be", r->messages,
		       r->verified_bytes);
	printf("\n%s %" PRIu64 ".%03" PRIu64 " us, %" PRIu64 " events\n",
	       p->backend->platform == BF_PLATFORM_SIM ? "simulated time            " : "elapsed time              ",
	       (uint64_t)(r->world.time_ps / BF_US), (uint64_t)(r->world.time_ps % BF_US / BF_NS), r->world.events);
	if (p->records)
		printf("records                    %" PRIu64 ", hash %016" PRIx64 "\n", r->world.records,
		       r->world.hash);
	printf("wall clock                 %" PRIu64 ".%03" PRIu64 " ms\n", r->base.wall_ns / 1000000,
	       r->base.wall_ns / 1000 % 1000);
	if (r->base.verdict == BF_VERDICT_GOOD)
		p->family->print(stdout, p, result);
}

static void json_options(struct bf_json *j, const struct bf_pes *p)
{
	bf_json_open(j, "options", '{');
	bf_choices_json(j, p->family->rows, p->family->nrows, p);
	bf_json_open(j, "bugs", '[');
	for (const struct bf_ibgda_bug *b = bf_ibgda_bugs; b->name; b++)
		if (p->bugs & b->bit)
			bf_json_text(j, NULL, b->name);
	for (const struct bf_ibgda_bug *b = p->family->bugs; b->name; b++)
		if (p->own_bugs & b->bit)
			bf_json_text(j, NULL, b->name);
	bf_json_close(j, ']');
	if (p->faults)
		bf_json_text(j, "faults", p->faults);
	bf_json_text(j, "profile", p->profile_text);
	bf_json_close(j, '}');
}

static const char *name(const void *choices)
{
	const struct bf_pes *p = choices;

	return p->family->works[p->work].name;
}

static void json(struct bf_json *j, const void *choices, const void *outcome)
{
	const struct bf_pes *p = choices;
	const struct bf_pes_result *result = outcome;
	const struct bf_run_result *r = &result->run;
	char text[2048];

	bf_json_text(j, "backend", p->backend->name);
	if (p->backend->platform == BF_PLATFORM_SIM)
		bf_json_text(j, "ordering", bf_ordering_name(p->ordering));
	bf_pes_command(p, text, sizeof(text));
	bf_json_text(j, "command", text);
	json_options(j, p);
	bf_json_text(j, "verdict", bf_verdict_name(r->base.verdict));
	bf_json_u64(j, "messages", r->messages);
	bf_json_u64(j, "verified_bytes", r->verified_bytes);
	bf_json_u64(j, "verified_values", r->verified_values);
	bf_json_u64(j, "time_ps", r->world.time_ps);
	bf_json_u64(j, "events", r->world.events);
	bf_json_u64(j, "records", r->world.records);
	if (p->records)
		bf_json_hex(j, "hash", r->world.hash);
	if (r->base.verdict == BF_VERDICT_GOOD)
		p->family->json(j, p, result);
}

/* Less what the family of `p` knows, and the parts that a search makes smaller. */
static const struct bf_family common = {
	BF_FAMILY_STRUCTS(struct bf_pes, struct bf_pes_result),
	.search.check = bf_pes_check,
	.search.run = bf_pes_run,
	.verdict_name = bf_verdict_name,
	.name = name,
	.command = bf_pes_command,
	.print = print,
	.json = json,
	.print_failure = bf_run_print_failure,
	.json_failure = bf_run_json_failure,
};

static void list_json(const struct bf_pes_family *f)
{
	struct bf_json j;

	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_open(&j, "workloads", '[');
	for (const struct bf_pes_work *w = f->works; w->name; w++)
		bf_json_text(&j, NULL, w->name);
	bf_json_close(&j, ']');
	bf_json_open(&j, "bugs", '[');
	for (const struct bf_ibgda_bug *b = f->bugs; b->name; b++) {
		bf_json_open(&j, NULL, '{');
		bf_json_text(&j, "name", b->name);
		bf_json_text(&j, "summary", b->summary);
		bf_json_close(&j, '}');
	}
	bf_json_close(&j, ']');
	bf_json_close(&j, '}');
	bf_json_end(&j);
}

static int list(const struct bf_args *args, const struct bf_pes_family *f)
{
	if (bf_arg_json(args)) {
		list_json(f);
		return BF_EXIT_GOOD;
	}
	puts("Workloads");
	for (const struct bf_pes_work *w = f->works; w->name; w++)
		printf("  %-24s %s\n", w->name, w->summary);
	puts("Bugs");
	for (const struct bf_ibgda_bug *b = f->bugs; b->name; b++)
		printf("  %-24s %s\n", b->name, b->summary);
	puts("Bugs of the queues, backends, orderings, profiles: belfry run --list");
	return BF_EXIT_GOOD;
}

int bf_pes_cmd_run(const struct bf_args *args, const struct bf_pes_family *family, struct bf_pes *p)
{
	struct bf_family f = common;
	struct bf_run run = { .family = &f, .w = p };
	int code;

	if (bf_arg_flag(args, "list"))
		return list(args, family);
	code = bf_pes_parse(args, family, p);
	if (code != BF_EXIT_GOOD)
		return code;
	f.search.choice_bytes = family->choice_bytes;
	run.backend = p->backend;
	p->counts = bf_arg_flag(args, "stats") || p->faults;
	code = bf_choose_recording(args, p->backend, &p->ordering, &p->records);
	if (code == BF_EXIT_GOOD)
		code = bf_run_once(args, &run);
	bf_pes_free(p);
	return code;
}

int bf_pes_cmd_explore(const struct bf_args *args, const struct bf_pes_family *family, struct bf_pes *p,
		       const struct bf_search_part *parts, uint32_t nparts)
{
	struct bf_family f = common;
	int code;

	if (bf_arg_flag(args, "list"))
		return list(args, family);
	code = bf_pes_parse(args, family, p);
	if (code != BF_EXIT_GOOD)
		return code;
	f.search.choice_bytes = family->choice_bytes;
	f.search.parts = parts;
	f.search.nparts = nparts;
	code = bf_explore(args, &f, p, p->backend);
	bf_pes_free(p);
	return code;
}

/* The choices of barrier workloads: from a command line, back to one, as JSON, and their list. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/workloads/choice.h"
#include "tools/workloads/workload.h"
#include "tools/workloads/mbarrier.h"

#define CHOICE(oname, okind, oarg, odefault, ohelp, omin, omax, member)                                                \
	{ oname, BF_OPT_##okind, oarg, odefault, BF_MEMBER(struct bf_mbar_workload, member) },

static const struct bf_choice choices[] = { BF_MBAR_OPTIONS(CHOICE) };

/* Numbers that the workload has of its own were not asked for. */
static void forget(uint32_t *v, uint32_t own)
{
	*v = *v == own ? 0 : *v;
}

void bf_mbar_workload_command(const void *choices_of, char *buf, size_t cap)
{
	const struct bf_mbar_workload *w = choices_of;
	struct bf_mbar_workload own = { .job = { .work = w->job.work, .style = w->job.style, .bugs = w->job.bugs } };
	struct bf_mbar_workload asked = *w;

	bf_mbar_defaults(&own.job, &own.cluster, &own.blocks);
	own.blocks = w->cluster;
	forget(&asked.blocks, own.blocks);
	forget(&asked.cluster, own.cluster);
	forget(&asked.job.stages, own.job.stages);
	forget(&asked.job.bytes, own.job.bytes);
	forget(&asked.job.consumers, own.job.consumers);
	forget(&asked.job.producers, own.job.producers);
	forget(&asked.job.iterations, own.job.iterations);
	forget(&asked.job.barriers, own.job.barriers);
	asked.job.by_barrier = w->job.by_barrier && !own.job.by_barrier;
	asked.pace_ps = w->job.pace_ns == own.job.pace_ns ? 0 : w->job.pace_ns * BF_NS;
	snprintf(buf, cap, "belfry run mbarrier-%s", bf_mbar_work_name((enum bf_mbar_work)w->job.work));
	if (w->ordering != BF_ORDER_GPU)
		bf_command_append(buf, cap, "ordering", bf_ordering_name(w->ordering), false);
	bf_choices_command(choices, BF_ARRAY_LEN(choices), &asked, buf, cap);
	for (const struct bf_mbar_bug *b = bf_mbar_bugs; b->name; b++)
		if (w->job.bugs & b->bit)
			bf_command_append(buf, cap, "bug", b->name, false);
	if (w->profile_text)
		bf_command_append(buf, cap, "profile", w->profile_text, false);
}

/* ---- parsing ---- */

static int parse_work(const struct bf_args *args, struct bf_mbar_workload *w)
{
	const char *name = bf_arg_positional(args, 0) + strlen("mbarrier-");
	char known[200] = "";

	for (w->job.work = 0; w->job.work < BF_MBAR_WORKS; w->job.work++) {
		const char *work = bf_mbar_work_name((enum bf_mbar_work)w->job.work);

		if (strcmp(work, name) == 0)
			return BF_EXIT_GOOD;
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%smbarrier-%s", w->job.work ? ", " : "",
			 work);
	}
	return bf_cli_error(args, BF_EXIT_USAGE, "workload \"mbarrier-%s\" is not known; there are %s", name, known);
}

static int parse_bugs(const struct bf_args *args, struct bf_mbar_workload *w)
{
	for (unsigned i = 0; i < bf_arg_count(args, "bug"); i++) {
		const char *name = bf_arg_nth(args, "bug", i);
		const struct bf_mbar_bug *b = bf_mbar_bugs;

		while (b->name && strcmp(b->name, name) != 0)
			b++;
		if (!b->name)
			return bf_cli_error(args, BF_EXIT_USAGE,
					    "bug \"%s\" is not known; `belfry run %s --list` lists them", name,
					    bf_arg_positional(args, 0));
		if (!(b->works >> w->job.work & 1))
			return bf_cli_error(args, BF_EXIT_USAGE, "bug \"%s\" means nothing to mbarrier-%s", name,
					    bf_mbar_work_name((enum bf_mbar_work)w->job.work));
		w->job.bugs |= b->bit;
	}
	return BF_EXIT_GOOD;
}

int bf_mbar_workload_parse(const struct bf_args *args, struct bf_mbar_workload *w)
{
	const char *profile = bf_arg_text(args, "profile");
	struct bf_error err = { 0 };
	int code;

	*w = (struct bf_mbar_workload){ .ordering = BF_ORDER_GPU };
	bf_choices_parse(args, choices, BF_ARRAY_LEN(choices), w);
	code = parse_work(args, w);
	if (code == BF_EXIT_GOOD)
		code = parse_bugs(args, w);
	if (code != BF_EXIT_GOOD)
		return code;
	w->job.pace_ns = (uint32_t)(w->pace_ps / BF_NS);
	w->profile_text = bf_arg_given(args, "profile") ? profile : NULL;
	bf_mbar_defaults(&w->job, &w->cluster, &w->blocks);
	if (bf_mbar_check(&w->job, w->cluster, w->blocks, &err) ||
	    bf_hopper_profile_parse(profile, w->profile_name, &w->profile, &err))
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	return BF_EXIT_GOOD;
}

void bf_mbar_workload_json(struct bf_json *j, const struct bf_mbar_workload *w)
{
	bf_json_text(j, "ordering", bf_ordering_name(w->ordering));
	bf_choices_json(j, choices, BF_ARRAY_LEN(choices), w);
	bf_json_open(j, "bugs", '[');
	for (const struct bf_mbar_bug *b = bf_mbar_bugs; b->name; b++)
		if (w->job.bugs & b->bit)
			bf_json_text(j, NULL, b->name);
	bf_json_close(j, ']');
	bf_json_text(j, "profile", w->profile.name);
}

/* ---- --list ---- */

static void works_text(uint32_t works, char *buf, size_t cap)
{
	*buf = 0;
	for (uint32_t k = 0; k < BF_MBAR_WORKS; k++)
		if (works >> k & 1)
			snprintf(buf + strlen(buf), cap - strlen(buf), "%s%s", *buf ? ", " : "",
				 bf_mbar_work_name((enum bf_mbar_work)k));
}

static void list_text(void)
{
	char works[100];

	puts("Workloads");
	for (uint32_t k = 0; k < BF_MBAR_WORKS; k++)
		printf("  mbarrier-%-10s %s\n", bf_mbar_work_name((enum bf_mbar_work)k),
		       bf_mbar_work_summary((enum bf_mbar_work)k));
	puts("Profiles");
	for (const struct bf_hopper_profile *const *p = bf_hopper_profiles(); *p; p++)
		printf("  %s\n", (*p)->name);
	puts("  FILE.json, as calibrate writes it");
	puts("Bugs");
	for (const struct bf_mbar_bug *b = bf_mbar_bugs; b->name; b++) {
		works_text(b->works, works, sizeof(works));
		printf("  %-17s %s (%s)\n", b->name, b->summary, works);
	}
}

int bf_mbar_workload_list(const struct bf_args *args)
{
	struct bf_json j;
	char works[100];

	if (!bf_arg_json(args)) {
		list_text();
		return BF_EXIT_GOOD;
	}
	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_open(&j, "workloads", '[');
	for (uint32_t k = 0; k < BF_MBAR_WORKS; k++)
		bf_json_text(&j, NULL, bf_mbar_work_name((enum bf_mbar_work)k));
	bf_json_close(&j, ']');
	bf_json_open(&j, "bugs", '[');
	for (const struct bf_mbar_bug *b = bf_mbar_bugs; b->name; b++) {
		works_text(b->works, works, sizeof(works));
		bf_json_open(&j, NULL, '{');
		bf_json_text(&j, "name", b->name);
		bf_json_text(&j, "summary", b->summary);
		bf_json_text(&j, "workloads", works);
		bf_json_close(&j, '}');
	}
	bf_json_close(&j, ']');
	bf_json_close(&j, '}');
	bf_json_end(&j);
	return BF_EXIT_GOOD;
}

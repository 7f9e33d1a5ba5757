/*
 * The options of the SDMA workloads: parsed, listed, and put back into a command line.
 */
#include "tools/workloads/sdma.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/member.h"
#include "tools/workloads/choice.h"
#include "tools/workloads/sdma_plan.h"

#define CHOICE(oname, okind, oarg, odefault, ohelp, omin, omax, member)                                                \
	{ oname, BF_OPT_##okind, oarg, odefault, BF_MEMBER(struct bf_sdma_workload, member) },

static const struct bf_choice choices[] = { BF_SDMA_OPTIONS(CHOICE) };

/* Fields of a profile that --profile may set. */
#define TIME_FIELD(name, member)                                                                                       \
	{                                                                                                              \
		name, BF_MEMBER(struct bf_sdma_profile, member)                                                        \
	}
static const struct {
	const char *name;
	size_t offset, size;
} fields[] = {
	TIME_FIELD("doorbell-ps", doorbell_ps),
	TIME_FIELD("packet-ps", packet_ps),
	TIME_FIELD("row-ps", row_ps),
	TIME_FIELD("link-ps-per-kib", link_ps_per_kib),
	TIME_FIELD("vram-ps-per-kib", vram_ps_per_kib),
	TIME_FIELD("rptr-lag-ps", rptr_lag_ps),
	TIME_FIELD("poll-ps", poll_ps),
	TIME_FIELD("fetch-bytes", fetch_bytes),
	TIME_FIELD("copies", copies),
	TIME_FIELD("wide-rect", wide_rect),
};

/* A workload's own numbers were not asked for. */
static void forget(uint32_t *v, uint32_t own)
{
	*v = *v == own ? 0 : *v;
}

void bf_sdma_workload_command(const void *choices_of, char *buf, size_t cap)
{
	const struct bf_sdma_workload *w = choices_of;
	struct bf_sdma_workload own = { .work = w->work }, asked = *w;
	struct bf_error err = { 0 };

	bf_sdma_work_defaults(&own, &err);
	forget(&asked.pes, own.pes);
	forget(&asked.queues, own.queues);
	forget(&asked.producers, own.producers);
	forget(&asked.commands, own.commands);
	forget(&asked.hops, own.hops);
	asked.size = w->size == own.size ? 0 : w->size;
	asked.ring = w->ring == own.ring ? 0 : w->ring;
	if (w->profile_text || w->part) /* they say which generation */
		bf_member_set(&asked, offsetof(struct bf_sdma_workload, gen), sizeof(asked.gen), BF_SDMA_V6);
	snprintf(buf, cap, "belfry run %s", bf_sdma_work_name(w->work));
	bf_choices_command(choices, BF_ARRAY_LEN(choices), &asked, buf, cap);
	for (const struct bf_sdma_bug *b = bf_sdma_bugs; b->name; b++)
		if (w->bugs & b->bit)
			bf_command_append(buf, cap, "bug", b->name, false);
	if (strcmp(w->backend->name, "sim") != 0)
		bf_command_append(buf, cap, "backend", w->backend->name, false);
	if (w->part)
		bf_command_append(buf, cap, "part", w->part, false);
	if (w->profile_text)
		bf_command_append(buf, cap, "profile", w->profile_text, false);
	if (w->faults)
		bf_command_append(buf, cap, "faults", w->faults, true);
}

void bf_sdma_workload_json(struct bf_json *j, const struct bf_sdma_workload *w)
{
	bf_json_open(j, "options", '{');
	bf_choices_json(j, choices, BF_ARRAY_LEN(choices), w);
	bf_json_open(j, "bugs", '[');
	for (const struct bf_sdma_bug *b = bf_sdma_bugs; b->name; b++)
		if (w->bugs & b->bit)
			bf_json_text(j, NULL, b->name);
	bf_json_close(j, ']');
	bf_json_text(j, "profile", w->profile.name);
	if (w->part)
		bf_json_text(j, "part", w->part);
	if (w->faults)
		bf_json_text(j, "faults", w->faults);
	bf_json_close(j, '}');
}

/* ---- parsing ---- */

static int parse_work(const struct bf_args *args, struct bf_sdma_workload *w)
{
	const char *name = bf_arg_positional(args, 0);
	char known[400] = "";

	for (w->work = (enum bf_sdma_work)0; w->work < BF_SDMA_WORKS; w->work++) {
		if (strcmp(bf_sdma_work_name(w->work), name) == 0)
			return BF_EXIT_GOOD;
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s", w->work ? ", " : "",
			 bf_sdma_work_name(w->work));
	}
	return bf_cli_error(args, BF_EXIT_USAGE, "workload \"%s\" is not known; there are %s", name, known);
}

static int parse_backend(const struct bf_args *args, struct bf_sdma_workload *w)
{
	const int code = bf_choose_backend(args, BF_DEVICE_SDMA, &w->backend);

	if (code != BF_EXIT_GOOD)
		return code;
	if (!w->backend->sdma_create)
		return bf_cli_error(args, BF_EXIT_UNAVAILABLE, "backend %s has no copy engines", w->backend->name);
	return BF_EXIT_GOOD;
}

static int parse_bugs(const struct bf_args *args, struct bf_sdma_workload *w)
{
	for (unsigned i = 0; i < bf_arg_count(args, "bug"); i++) {
		const char *name = bf_arg_nth(args, "bug", i);
		const struct bf_sdma_bug *b = bf_sdma_bugs;

		while (b->name && strcmp(b->name, name) != 0)
			b++;
		if (!b->name)
			return bf_cli_error(args, BF_EXIT_USAGE,
					    "bug \"%s\" is not known; `belfry run %s --list` lists them", name,
					    bf_sdma_work_name(w->work));
		w->bugs |= b->bit;
	}
	return BF_EXIT_GOOD;
}

static int set_field(struct bf_sdma_profile *p, const char *text, size_t len, struct bf_error *err)
{
	const char *equals = memchr(text, '=', len);
	const size_t name = equals ? (size_t)(equals - text) : len;
	char *end;
	uint64_t value;

	for (size_t i = 0; equals && i < BF_ARRAY_LEN(fields); i++) {
		if (strlen(fields[i].name) != name || strncmp(fields[i].name, text, name) != 0)
			continue;
		value = strtoull(equals + 1, &end, 10);
		if (equals[1] < '0' || equals[1] > '9' || end != text + len ||
		    (fields[i].size == 4 && value > UINT32_MAX) || (fields[i].size == 1 && value > 1))
			break;
		bf_member_set(p, fields[i].offset, fields[i].size, value);
		return 0;
	}
	return bf_fail(err, -EINVAL,
		       "--profile: \"%.*s\" is no FIELD=N; there are doorbell-ps, packet-ps, row-ps, link-ps-per-kib, "
		       "vram-ps-per-kib, rptr-lag-ps, poll-ps, fetch-bytes, copies and wide-rect",
		       (int)len, text);
}

/* A part by name: what ROCr does for it, and its generation. */
static int parse_part(const struct bf_args *args, struct bf_sdma_workload *w, struct bf_error *err)
{
	const struct bf_sdma_caps *caps;
	char known[160] = "";

	w->part = bf_arg_text(args, "part");
	for (uint32_t i = BF_SDMA_GENS; w->part && (caps = bf_sdma_caps_at(i)); i++) {
		if (strcmp(caps->name, w->part) == 0) {
			if (bf_arg_given(args, "gen") && w->gen != (uint32_t)caps->gen)
				return bf_fail(err, -EINVAL, "--part %s is of another generation than --gen", w->part);
			w->gen = (uint32_t)caps->gen;
			w->caps = *caps;
			return 0;
		}
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s", known[0] ? ", " : "",
			 caps->name);
	}
	w->caps = *bf_sdma_caps_of((enum bf_sdma_gen)w->gen);
	return w->part ? bf_fail(err, -EINVAL, "part \"%s\" is not known; there are %s", w->part, known) : 0;
}

/* "v4" or "v4,copies=8": the name chooses the generation, unless --gen or --part did. */
static int parse_profile(const struct bf_args *args, struct bf_sdma_workload *w, struct bf_error *err)
{
	const char *text = bf_arg_text(args, "profile");
	size_t len = text ? strcspn(text, ",") : 0;
	const struct bf_sdma_profile *p;
	char name[16] = "";
	int rc = parse_part(args, w, err);

	if (rc)
		return rc;
	if (text)
		snprintf(name, sizeof(name), "%.*s", (int)len, text);
	else
		snprintf(name, sizeof(name), "%s", bf_sdma_caps_of((enum bf_sdma_gen)w->gen)->name);
	p = bf_sdma_profile_find(name);
	if (!p)
		return bf_fail(err, -EINVAL, "profile \"%s\" is not known; there are v4, v5, v6, v7 and v7.1", name);
	if (text && (bf_arg_given(args, "gen") || w->part) && w->gen != (uint32_t)p->gen)
		return bf_fail(err, -EINVAL, "--profile %s is of another generation than --%s", name,
			       w->part ? "part" : "gen");
	w->profile = *p;
	w->profile_text = text;
	w->gen = (uint32_t)p->gen;
	for (const char *at = text; !rc && at && at[len]; len = strcspn(at, ",")) {
		at += len + 1;
		rc = set_field(&w->profile, at, strcspn(at, ","), err);
	}
	if (!w->part)
		w->caps = *bf_sdma_caps_of(p->gen);
	w->caps.wide_rect = w->profile.wide_rect;
	w->profile.early_polls = w->part && w->caps.polls > 1;
	if (w->part && w->caps.copy_max < 1u << 22)
		w->profile.wide_count = false;
	if (w->fences)
		w->caps.atomics = 0;
	return rc;
}

static int check_meant(const struct bf_sdma_workload *w, struct bf_error *err)
{
	if (w->gang && w->work != BF_SDMA_WORK_FENCE)
		return bf_fail(err, -EINVAL, "--gang means nothing to %s: it is for sdma-fence",
			       bf_sdma_work_name(w->work));
	if (w->gang && w->fences)
		return bf_fail(err, -EINVAL,
			       "--gang with --fences: what a FENCE stores is computed before the members are "
			       "done, so engines that share a signal need atomics");
	if (w->hops && w->work != BF_SDMA_WORK_COPY)
		return bf_fail(err, -EINVAL, "--hops means nothing to %s: it is for sdma-copy",
			       bf_sdma_work_name(w->work));
	if (w->element && w->work != BF_SDMA_WORK_RECT)
		return bf_fail(err, -EINVAL, "--element means nothing to %s: it is for sdma-rect",
			       bf_sdma_work_name(w->work));
	if (w->element & (w->element - 1))
		return bf_fail(err, -EINVAL, "--element %" PRIu32 ": an element has 1, 2, 4, 8 or 16 bytes",
			       w->element);
	return 0;
}

int bf_sdma_workload_parse(const struct bf_args *args, struct bf_sdma_workload *w)
{
	struct bf_error err = { 0 };
	int code;

	*w = (struct bf_sdma_workload){ 0 };
	bf_choices_parse(args, choices, BF_ARRAY_LEN(choices), w);
	code = parse_work(args, w);
	if (code == BF_EXIT_GOOD)
		code = parse_bugs(args, w);
	if (code == BF_EXIT_GOOD &&
	    (check_meant(w, &err) || parse_profile(args, w, &err) ||
	     bf_choose_faults(args, w->seed, &w->faults, &err) || bf_sdma_work_defaults(w, &err)))
		code = bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	if (code == BF_EXIT_GOOD)
		code = parse_backend(args, w);
	return code;
}

int bf_sdma_workload_list(const struct bf_args *args)
{
	struct bf_json j;

	if (!bf_arg_json(args)) {
		puts("Workloads");
		for (enum bf_sdma_work k = (enum bf_sdma_work)0; k < BF_SDMA_WORKS; k++)
			printf("  %-18s %s\n", bf_sdma_work_name(k), bf_sdma_work_summary(k));
		puts("Bugs");
		for (const struct bf_sdma_bug *b = bf_sdma_bugs; b->name; b++)
			printf("  %-18s %s\n", b->name, b->summary);
		return BF_EXIT_GOOD;
	}
	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_open(&j, "workloads", '[');
	for (enum bf_sdma_work k = (enum bf_sdma_work)0; k < BF_SDMA_WORKS; k++)
		bf_json_text(&j, NULL, bf_sdma_work_name(k));
	bf_json_close(&j, ']');
	bf_json_open(&j, "bugs", '[');
	for (const struct bf_sdma_bug *b = bf_sdma_bugs; b->name; b++) {
		bf_json_open(&j, NULL, '{');
		bf_json_text(&j, "name", b->name);
		bf_json_text(&j, "summary", b->summary);
		bf_json_close(&j, '}');
	}
	bf_json_close(&j, ']');
	bf_json_close(&j, '}');
	bf_json_end(&j);
	return BF_EXIT_GOOD;
}

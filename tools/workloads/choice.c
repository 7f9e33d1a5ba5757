#include "tools/workloads/choice.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/fabric/topology.h"
#include "sim/fault.h"
#include "traces/container/trace.h"

void bf_choices_parse(const struct bf_args *args, const struct bf_choice *c, size_t n, void *to)
{
	for (const struct bf_choice *end = c + n; c < end; c++)
		bf_member_set(to, c->offset, c->size,
			      c->kind == BF_OPT_FLAG ? bf_arg_flag(args, c->name) : bf_arg_u64(args, c->name));
}

/* Text of choice `index` in "a|b|c"; "?" past the last. */
static void choice_text(const char *choices, uint64_t index, char *buf, size_t cap)
{
	while (index > 0 && *choices) {
		choices += strcspn(choices, "|");
		choices += *choices == '|';
		index--;
	}
	snprintf(buf, cap, "%.*s", *choices ? (int)strcspn(choices, "|") : 1, *choices ? choices : "?");
}

/* In the largest unit that needs no fraction. */
static void time_text(uint64_t ps, char *buf, size_t cap)
{
	static const char *const units[] = { "ps", "ns", "us", "ms", "s" };
	size_t unit = 0;

	while (ps && ps % 1000 == 0 && unit + 1 < BF_ARRAY_LEN(units)) {
		ps /= 1000;
		unit++;
	}
	snprintf(buf, cap, "%" PRIu64 "%s", ps, units[unit]);
}

static void text_of(const struct bf_choice *c, const void *from, char *buf, size_t cap)
{
	const uint64_t value = bf_member_get(from, c->offset, c->size);

	if (c->kind == BF_OPT_ENUM)
		choice_text(c->choices, value, buf, cap);
	else if (c->kind == BF_OPT_TIME)
		time_text(value, buf, cap);
	else
		snprintf(buf, cap, "%" PRIu64, value);
}

/* Puts a piece at `at` if it fits there; where the next one goes. */
static size_t put(char *buf, size_t cap, size_t at, const char *text, size_t len)
{
	if (at + len < cap) {
		memcpy(buf + at, text, len);
		buf[at + len] = '\0';
	}
	return at + len;
}

void bf_command_append(char *buf, size_t cap, const char *option, const char *value, bool quote)
{
	static const char cut[] = " ...";
	const size_t used = strlen(buf);
	size_t at = put(buf, cap, used, " --", 3);

	at = put(buf, cap, at, option, strlen(option));
	if (value)
		at = put(buf, cap, at, quote ? " '" : " ", quote ? 2 : 1);
	for (const char *c = value; c && *c; c++)
		at = quote && *c == '\'' ? put(buf, cap, at, "'\\''", 4) : put(buf, cap, at, c, 1);
	if (value && quote)
		at = put(buf, cap, at, "'", 1);
	if (at >= cap)
		memcpy(buf + (used < cap - sizeof(cut) ? used : cap - sizeof(cut)), cut, sizeof(cut));
}

void bf_choices_command(const struct bf_choice *c, size_t n, const void *from, char *buf, size_t cap)
{
	for (const struct bf_choice *end = c + n; c < end; c++) {
		char text[32];

		text_of(c, from, text, sizeof(text));
		if (c->kind == BF_OPT_FLAG && bf_member_get(from, c->offset, c->size))
			bf_command_append(buf, cap, c->name, NULL, false);
		else if (c->kind != BF_OPT_FLAG && strcmp(text, c->initial) != 0)
			bf_command_append(buf, cap, c->name, text, false);
	}
}

void bf_choices_json(struct bf_json *j, const struct bf_choice *c, size_t n, const void *from)
{
	char text[32];

	for (const struct bf_choice *end = c + n; c < end; c++) {
		const uint64_t value = bf_member_get(from, c->offset, c->size);

		if (c->kind == BF_OPT_FLAG) {
			bf_json_bool(j, c->name, value);
		} else if (c->kind == BF_OPT_ENUM) {
			text_of(c, from, text, sizeof(text));
			bf_json_text(j, c->name, text);
		} else {
			snprintf(text, sizeof(text), "%s%s", c->name, c->kind == BF_OPT_TIME ? "_ps" : "");
			bf_json_u64(j, text, value);
		}
	}
}

static int take_backend(const struct bf_args *args, const char *name, const struct bf_backend **out)
{
	char why[512] = "";

	*out = bf_backend_find(name);
	if (!*out)
		return bf_cli_error(args, BF_EXIT_USAGE, "backend \"%s\" is not known; `belfry doctor` lists them",
				    name);
	if ((*out)->probe(why, sizeof(why)) != 0)
		return bf_cli_error(args, BF_EXIT_UNAVAILABLE, "backend %s does not work here: %s", name, why);
	return BF_EXIT_GOOD;
}

int bf_choose_backend(const struct bf_args *args, uint32_t device, const struct bf_backend **out)
{
	const char *name = bf_arg_text(args, "backend");
	char why[512] = "";

	if (strcmp(name, "auto") != 0)
		return take_backend(args, name, out);
	*out = bf_backend_auto(device, why, sizeof(why));
	fprintf(stderr, "belfry: backend auto is %s (%s)\n", (*out)->name, why);
	return BF_EXIT_GOOD;
}

int bf_choose_gpu(const struct bf_args *args, const struct bf_backend **backend)
{
	char why[512] = "";

	if ((*backend)->probe_gpu && (*backend)->probe_gpu(true, why, sizeof(why)) != 0)
		return bf_cli_error(args, BF_EXIT_UNAVAILABLE, "--agent=cuda: %s", why);
	if ((*backend)->probe_gpu)
		return BF_EXIT_GOOD;
	if (strcmp((*backend)->name, "live") != 0 && strcmp((*backend)->name, "cuda") != 0)
		return bf_cli_error(args, BF_EXIT_USAGE,
				    "--agent=cuda: a real GPU keeps no virtual time; add --backend=live");
	return take_backend(args, "cuda", backend);
}

/* The text of a plan file, NULL with `err` set. */
static char *read_plan(const char *path, struct bf_error *err)
{
	enum { PLAN_MAX = 1 << 20 };
	FILE *f = fopen(path, "r");
	char *text = f ? malloc(PLAN_MAX) : NULL;
	size_t len;

	if (!text) {
		bf_fail(err, -errno, "fault plan %s: %s", path, strerror(errno));
		if (f)
			fclose(f);
		return NULL;
	}
	len = fread(text, 1, PLAN_MAX, f);
	if (ferror(f) || len == PLAN_MAX || memchr(text, '\0', len)) {
		bf_fail(err, -EINVAL, "fault plan %s: %s", path,
			ferror(f)         ? "cannot be read"
			: len == PLAN_MAX ? "is longer than 1 MiB"
					  : "is not a text");
		free(text);
		text = NULL;
	} else {
		text[len] = '\0';
	}
	fclose(f);
	return text;
}

int bf_faults_text(const char *option, char **out, struct bf_error *err)
{
	struct bf_error why = { 0 };

	*out = *option == '@' ? read_plan(option + 1, &why) : strdup(option);
	if (*out)
		return 0;
	return bf_fail(err, why.code ? why.code : -ENOMEM, "%s", why.code ? why.text : "out of memory");
}

int bf_choose_faults(const struct bf_args *args, uint64_t seed, char **out, struct bf_error *err)
{
	const char *text = bf_arg_text(args, "faults");
	struct bf_fault_plan *plan;
	int rc;

	*out = NULL;
	if (!text)
		return 0;
	rc = bf_faults_text(text, out, err);
	if (rc)
		return rc;
	rc = bf_fault_plan_parse(*out, seed, err, &plan);
	if (rc == 0)
		bf_fault_plan_destroy(plan);
	return rc;
}

int bf_choose_topology(const struct bf_args *args, uint32_t hosts, const char **out, struct bf_error *err)
{
	const char *text = bf_arg_text(args, "topology");
	struct bf_topology t;
	int rc = bf_topology_parse(text, &t, err);

	*out = NULL;
	if (rc)
		return rc;
	if (bf_topology_hosts(&t) < hosts)
		return bf_fail(err, -EINVAL, "--topology has places for %" PRIu32 " hosts, fewer than %" PRIu32 " PEs",
			       bf_topology_hosts(&t), hosts);
	*out = t.kind == BF_TOPOLOGY_SWITCH ? NULL : text;
	return 0;
}

int bf_begin_trace(const struct bf_args *args, const char *command, struct bf_trace_writer **out, struct bf_error *err)
{
	const char *path = bf_arg_text(args, "trace");
	const size_t len = path ? strlen(path) : 0;
	const struct bf_trace_options opts = { .jsonl = len > 6 && strcmp(path + len - 6, ".jsonl") == 0 };
	int rc;

	*out = NULL;
	if (!path)
		return 0;
	rc = bf_trace_create(path, NULL, &opts, out, err);
	if (rc)
		return rc;
	rc = bf_trace_meta(*out, "command", command);
	if (rc) {
		bf_trace_close(*out);
		*out = NULL;
	}
	return rc;
}

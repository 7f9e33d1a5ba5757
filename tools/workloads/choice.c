#include "tools/workloads/choice.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "models/fabric/topology.h"
#include "sim/fault.h"
#include "sim/spell.h"
#include "traces/container/trace.h"

/* A text is a pointer, borrowed from the command line. */
static const char *text_at(const void *from, const struct bf_opt *o)
{
	const char *text;

	memcpy(&text, (const char *)from + o->offset, sizeof(text));
	return text;
}

void bf_choices_parse(const struct bf_args *args, const struct bf_opt *options, void *to)
{
	for (const struct bf_opt *o = options; o->name; o++) {
		if (!o->size || !bf_arg_known(args, o->name))
			continue;
		if (o->kind == BF_OPT_TEXT) {
			const char *text = bf_arg_text(args, o->name);

			memcpy((char *)to + o->offset, &text, sizeof(text));
		} else {
			bf_member_set(to, o->offset, o->size,
				      o->kind == BF_OPT_FLAG ? bf_arg_flag(args, o->name) : bf_arg_u64(args, o->name));
		}
	}
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

static void text_of(const struct bf_opt *o, const void *from, char *buf, size_t cap)
{
	const uint64_t value = bf_member_get(from, o->offset, o->size);

	if (o->kind == BF_OPT_ENUM)
		choice_text(o->arg, value, buf, cap);
	else if (o->kind == BF_OPT_TIME)
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

/* What a shell leaves in one piece, and as it is. */
static bool plain(const char *text)
{
	return *text &&
	       text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.,:/=+@%^")] == 0;
}

void bf_command_append(char *buf, size_t cap, const char *option, const char *value)
{
	static const char cut[] = " ...";
	const size_t used = strlen(buf);
	const bool quote = value && !plain(value);
	size_t at = put(buf, cap, used, " --", 3);

	at = put(buf, cap, at, option, strlen(option));
	if (value)
		at = put(buf, cap, at, quote ? " '" : " ", quote ? 2 : 1);
	for (const char *c = value; c && *c; c++)
		at = quote && *c == '\'' ? put(buf, cap, at, "'\\''", 4) : put(buf, cap, at, c, 1);
	if (quote)
		at = put(buf, cap, at, "'", 1);
	if (at >= cap)
		memcpy(buf + (used < cap - sizeof(cut) ? used : cap - sizeof(cut)), cut, sizeof(cut));
}

/* A row whose value is a number among the choices. */
static bool is_number(const struct bf_opt *o)
{
	return o->size && o->kind != BF_OPT_TEXT;
}

/* The text that a row has in `from`; NULL if it has none, or its default. */
static const char *given_text(const struct bf_opt *o, const void *from)
{
	const char *text = o->size && o->kind == BF_OPT_TEXT ? text_at(from, o) : NULL;

	return text && o->initial && strcmp(text, o->initial) == 0 ? NULL : text;
}

void bf_choices_numbers(const struct bf_opt *options, const void *from, char *buf, size_t cap)
{
	for (const struct bf_opt *o = options; o->name; o++) {
		char text[32];

		if (!is_number(o))
			continue;
		text_of(o, from, text, sizeof(text));
		if (o->kind == BF_OPT_FLAG && bf_member_get(from, o->offset, o->size))
			bf_command_append(buf, cap, o->name, NULL);
		else if (o->kind != BF_OPT_FLAG && strcmp(text, o->initial) != 0)
			bf_command_append(buf, cap, o->name, text);
	}
}

void bf_choices_texts(const struct bf_opt *options, const void *from, char *buf, size_t cap)
{
	for (const struct bf_opt *o = options; o->name; o++)
		if (given_text(o, from))
			bf_command_append(buf, cap, o->name, given_text(o, from));
}

static void number_json(struct bf_json *j, const struct bf_opt *o, const void *from)
{
	const uint64_t value = bf_member_get(from, o->offset, o->size);
	char text[64];

	if (o->kind == BF_OPT_FLAG) {
		bf_json_bool(j, o->name, value);
	} else if (o->kind == BF_OPT_ENUM) {
		text_of(o, from, text, sizeof(text));
		bf_json_text(j, o->name, text);
	} else {
		snprintf(text, sizeof(text), "%s%s", o->name, o->kind == BF_OPT_TIME ? "_ps" : "");
		bf_json_u64(j, text, value);
	}
}

void bf_choices_json(struct bf_json *j, const struct bf_opt *options, const void *from)
{
	char key[64];

	for (const struct bf_opt *o = options; o->name; o++)
		if (is_number(o))
			number_json(j, o, from);
	for (const struct bf_opt *o = options; o->name; o++) {
		if (!given_text(o, from) || strcmp(o->name, "profile") == 0) /* whose fields the family tells */
			continue;
		snprintf(key, sizeof(key), "%s", o->name);
		for (char *c = key; *c; c++)
			*c = *c == '-' ? '_' : *c;
		bf_json_text(j, key, given_text(o, from));
	}
}

/* ---- words ---- */

static const char *row_text(const void *row, size_t offset)
{
	const char *text;

	memcpy(&text, (const char *)row + offset, sizeof(text));
	return text;
}

static const void *first_row(const struct bf_words *w)
{
	return row_text(w->rows, w->name) ? w->rows : NULL;
}

static const void *next_row(const struct bf_words *w, const void *row)
{
	row = (const char *)row + w->stride;
	return row_text(row, w->name) ? row : NULL;
}

static bool is_set(const struct bf_words *w, const void *row, const void *from)
{
	const unsigned char *bits = (const unsigned char *)from + w->offset;
	const unsigned char *bit = (const unsigned char *)row + w->bit;
	unsigned char both = 0;

	for (size_t i = 0; i < w->bytes; i++)
		both |= bits[i] & bit[i];
	return both;
}

/* Sets the bit of `name` if one of the option's tables has it. */
static bool set_word(const struct bf_words *words, const char *option, const char *name, void *to)
{
	for (const struct bf_words *w = words; w->option; w++) {
		unsigned char *bits = (unsigned char *)to + w->offset;

		for (const void *row = first_row(w); row && strcmp(w->option, option) == 0; row = next_row(w, row)) {
			if (strcmp(row_text(row, w->name), name) != 0)
				continue;
			for (size_t i = 0; i < w->bytes; i++)
				bits[i] |= ((const unsigned char *)row)[w->bit + i];
			return true;
		}
	}
	return false;
}

/* Whether no table before `w` belongs to its option. */
static bool first_of_option(const struct bf_words *words, const struct bf_words *w)
{
	for (; words < w; words++)
		if (strcmp(words->option, w->option) == 0)
			return false;
	return true;
}

#define HINT 64u

/* The word of an option's tables that is spelt most alike; "" when none is near. */
static const char *near_word(const struct bf_words *words, const char *option, const char *name, char hint[HINT])
{
	struct bf_spell s = { .word = name, .len = strlen(name) };

	for (uint32_t i = 0; bf_words_at(words, option, i); i++)
		bf_spell_try(&s, bf_words_at(words, option, i));
	return bf_spell_hint(&s, hint, HINT);
}

const char *bf_words_at(const struct bf_words *words, const char *option, uint32_t i)
{
	for (const struct bf_words *w = words; w && w->option; w++)
		for (const void *row = first_row(w); row && strcmp(w->option, option) == 0; row = next_row(w, row))
			if (i-- == 0)
				return row_text(row, w->name);
	return NULL;
}

int bf_words_parse(const struct bf_args *args, const struct bf_words *words, const char *prefix, void *to)
{
	char hint[HINT];

	for (const struct bf_words *w = words; w && w->option; w++) {
		for (unsigned i = 0; first_of_option(words, w) && i < bf_arg_count(args, w->option); i++) {
			const char *name = bf_arg_nth(args, w->option, i);

			if (!set_word(words, w->option, name, to))
				return bf_cli_error(
				    args, BF_EXIT_USAGE, "%s \"%s\" is not known%s `belfry run %s --list` lists them",
				    w->option, name, *near_word(words, w->option, name, hint) ? hint : ";", prefix);
		}
	}
	return BF_EXIT_GOOD;
}

void bf_words_command(const struct bf_words *words, const void *from, char *buf, size_t cap)
{
	for (const struct bf_words *w = words; w && w->option; w++)
		for (const void *row = first_row(w); row; row = next_row(w, row))
			if (is_set(w, row, from))
				bf_command_append(buf, cap, w->option, row_text(row, w->name));
}

/* "bugs" of "bug". */
static void open_words(struct bf_json *j, const struct bf_words *w)
{
	char key[32];

	snprintf(key, sizeof(key), "%s%s", w->option, strcmp(w->option, "bug") == 0 ? "s" : "");
	bf_json_open(j, key, '[');
}

void bf_words_json(struct bf_json *j, const struct bf_words *words, const void *from)
{
	for (const struct bf_words *o = words; o && o->option; o++) {
		if (!first_of_option(words, o))
			continue;
		open_words(j, o);
		for (const struct bf_words *w = o; w->option; w++)
			for (const void *row = first_row(w); row && strcmp(w->option, o->option) == 0;
			     row = next_row(w, row))
				if (is_set(w, row, from))
					bf_json_text(j, NULL, row_text(row, w->name));
		bf_json_close(j, ']');
	}
}

void bf_words_print(const struct bf_words *words)
{
	char works[128];

	for (const struct bf_words *w = words; w && w->option; w++) {
		if (!w->heading)
			continue;
		puts(w->heading);
		for (const void *row = first_row(w); row; row = next_row(w, row)) {
			printf("  %-24s %s", row_text(row, w->name), row_text(row, w->summary));
			if (w->works) {
				w->works(row, works, sizeof(works));
				printf(" (%s)", works);
			}
			putchar('\n');
		}
	}
}

static void row_json(struct bf_json *j, const struct bf_words *w, const void *row)
{
	char works[128];

	bf_json_open(j, NULL, '{');
	bf_json_text(j, "name", row_text(row, w->name));
	bf_json_text(j, "summary", row_text(row, w->summary));
	if (w->works) {
		w->works(row, works, sizeof(works));
		bf_json_text(j, "workloads", works);
	}
	bf_json_close(j, '}');
}

void bf_words_list_json(struct bf_json *j, const struct bf_words *words)
{
	for (const struct bf_words *o = words; o && o->option; o++) {
		if (!first_of_option(words, o))
			continue;
		open_words(j, o);
		for (const struct bf_words *w = o; w->option; w++)
			for (const void *row = first_row(w); row && w->heading && strcmp(w->option, o->option) == 0;
			     row = next_row(w, row))
				row_json(j, w, row);
		bf_json_close(j, ']');
	}
}

/* ---- what families choose alike ---- */

const char *bf_backend_names(const void *own, uint32_t i)
{
	const struct bf_backend *const *be = bf_backends();

	(void)own;
	for (uint32_t k = 0; be[k]; k++)
		if (k == i)
			return be[k]->name;
	return NULL;
}

/* Behind what is not known: "; did you mean sim?", and the end of a sentence. */
static const char *near_backend(const char *name, char hint[HINT])
{
	struct bf_spell s = { .word = name, .len = strlen(name) };

	for (uint32_t i = 0; bf_backend_names(NULL, i); i++)
		bf_spell_try(&s, bf_backend_names(NULL, i));
	bf_spell_hint(&s, hint, HINT);
	return *hint ? hint : ";";
}

static int take_backend(const struct bf_args *args, const char *name, const struct bf_backend **out)
{
	char why[512] = "", hint[HINT];

	*out = bf_backend_find(name);
	if (!*out)
		return bf_cli_error(args, BF_EXIT_USAGE, "backend \"%s\" is not known%s `belfry doctor` lists them",
				    name, near_backend(name, hint));
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

int bf_choose_ptx(const struct bf_args *args, const struct bf_backend *backend, const char *given, bool right,
		  char *path, size_t cap)
{
	char self[PATH_MAX];

	if (strcmp(backend->name, "sim") != 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "--agent=ptx: PTX runs in virtual time, --backend=sim");
	snprintf(path, cap, "%s", given ? given : "");
	if (!path[0] && !bf_cli_folder(self)) {
		snprintf(path, cap, "%s/belfry-drivers%s.ptx", self, right ? "-right" : "");
		if (right && access(path, R_OK) != 0)
			snprintf(path, cap, "%s/belfry-drivers.ptx", self);
	}
	if (access(path, R_OK) != 0)
		return bf_cli_error(args, BF_EXIT_UNAVAILABLE,
				    "--agent=ptx: no %s: build with -DBELFRY_PTX=ON on a machine that has nvcc", path);
	return BF_EXIT_GOOD;
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

const char *bf_fault_names(const void *own, uint32_t i)
{
	(void)own;
	return i < BF_FAULT_KINDS ? bf_fault_kind_name((enum bf_fault_kind)i) : NULL;
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

int bf_check_topology(const char **text, uint32_t hosts, struct bf_error *err)
{
	struct bf_topology t;
	int rc = bf_topology_parse(*text, &t, err);

	if (rc)
		return rc;
	if (bf_topology_hosts(&t) < hosts)
		return bf_fail(err, -EINVAL, "--topology has places for %" PRIu32 " hosts, fewer than %" PRIu32 " PEs",
			       bf_topology_hosts(&t), hosts);
	*text = t.kind == BF_TOPOLOGY_SWITCH ? NULL : *text;
	return 0;
}

static const struct {
	const char *name;
	uint32_t bit;
} classes[] = {
	{ "meta", BF_CLASS_META },   { "agent", BF_CLASS_AGENT }, { "mem", BF_CLASS_MEM },
	{ "mmio", BF_CLASS_MMIO },   { "dma", BF_CLASS_DMA },     { "queue", BF_CLASS_QUEUE },
	{ "net", BF_CLASS_NET },     { "fault", BF_CLASS_FAULT }, { "driver", BF_CLASS_DRIVER },
	{ "where", BF_CLASS_WHERE }, { "all", BF_CLASS_ALL },     { "none", 0 },
};

const char *bf_record_class_names(const void *own, uint32_t i)
{
	(void)own;
	return i < BF_ARRAY_LEN(classes) ? classes[i].name : NULL;
}

static int unknown_class(const char *text, size_t len, struct bf_error *err)
{
	struct bf_spell s = { .word = text, .len = len };
	char hint[HINT];

	for (size_t i = 0; i < BF_ARRAY_LEN(classes); i++)
		bf_spell_try(&s, classes[i].name);
	bf_spell_hint(&s, hint, sizeof(hint));
	return bf_fail(
	    err, -EINVAL,
	    "record class \"%.*s\" is not known%s %shere are meta, agent, mem, mmio, dma, queue, net, fault, "
	    "driver, where "
	    "(not among all), all, none",
	    (int)len, text, *hint ? hint : ";", *hint ? "T" : "t");
}

int bf_records_parse(const char *text, uint32_t *mask, struct bf_error *err)
{
	size_t len;

	*mask = 0;
	for (;; text += len + 1) {
		size_t i;

		len = strcspn(text, ",");
		for (i = 0; i < BF_ARRAY_LEN(classes); i++)
			if (strlen(classes[i].name) == len && strncmp(classes[i].name, text, len) == 0)
				break;
		if (i == BF_ARRAY_LEN(classes))
			return unknown_class(text, len, err);
		*mask |= classes[i].bit;
		if (!text[len])
			return 0;
	}
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
	rc = bf_trace_writer_open(path, NULL, &opts, out, err);
	if (rc)
		return rc;
	rc = bf_trace_meta(*out, "command", command);
	if (rc) {
		bf_trace_writer_close(*out);
		*out = NULL;
	}
	return rc;
}

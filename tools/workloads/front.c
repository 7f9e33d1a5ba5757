/*
 * What `belfry run` and `belfry explore` do alike with a workload of any family: choices from a command line, back into
 * one, what --list shows.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/spell.h"
#include "tools/workloads/family.h"

const struct bf_work *bf_family_work(const struct bf_family *f, const void *w)
{
	return &f->works[bf_member_get(w, f->work.offset, f->work.size)];
}

const struct bf_backend *bf_family_backend(const struct bf_family *f, const void *w)
{
	const struct bf_backend *backend = bf_backend_find("sim");

	if (f->backend.size)
		memcpy(&backend, (const char *)w + f->backend.offset, sizeof(backend));
	return backend;
}

const char *bf_family_faults(const struct bf_family *f, const void *w)
{
	const char *faults = NULL;

	if (f->faults.size)
		memcpy(&faults, (const char *)w + f->faults.offset, sizeof(faults));
	return faults;
}

void bf_family_free(const struct bf_family *f, void *w)
{
	char *faults, *none = NULL;

	if (!f->faults.size)
		return;
	memcpy(&faults, (char *)w + f->faults.offset, sizeof(faults));
	free(faults);
	memcpy((char *)w + f->faults.offset, &none, sizeof(none));
}

/* ---- from a command line ---- */

static void try_works(struct bf_spell *s, const struct bf_family *f)
{
	for (const struct bf_work *k = f->works; k->name; k++)
		bf_spell_try(s, k->name);
}

int bf_family_refuse(const struct bf_family *f, const struct bf_args *args)
{
	const char *name = bf_arg_positional(args, 0);
	struct bf_spell s = { .word = name, .len = name ? strlen(name) : 0 };
	char known[900] = "", hint[64];
	size_t n = 0;

	try_works(&s, f);
	for (const struct bf_command *const *c = bf_arg_families(args); c && *c; c++)
		try_works(&s, (*c)->own);
	for (const struct bf_work *k = f->works; k->name && n < sizeof(known); k++)
		n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", n ? ", " : "", k->name);
	for (const struct bf_command *const *c = bf_arg_families(args); c && *c && n < sizeof(known); c++)
		n += (size_t)snprintf(known + n, sizeof(known) - n, ", %s*", (*c)->prefix);
	if (!name)
		return bf_cli_error(args, BF_EXIT_USAGE, "which workload? %s", known);
	return bf_cli_error(args, BF_EXIT_USAGE, "workload \"%s\" is not known%s%s%s", name,
			    bf_spell_hint(&s, hint, sizeof(hint)), s.best ? " There are " : "; there are ", known);
}

static int parse_work(const struct bf_family *f, const struct bf_args *args, void *w)
{
	const char *name = bf_arg_positional_count(args) ? bf_arg_positional(args, 0) : "";
	uint32_t i = 0;

	while (f->works[i].name && strcmp(f->works[i].name, name) != 0)
		i++;
	if (!f->works[i].name)
		return bf_family_refuse(f, args);
	bf_member_set(w, f->work.offset, f->work.size, i);
	return BF_EXIT_GOOD;
}

static int parse_faults(const struct bf_family *f, const struct bf_args *args, void *w, struct bf_error *err)
{
	const uint64_t seed = bf_member_get(w, f->search.seed.offset, f->search.seed.size);
	char *faults = NULL;
	int rc;

	if (!f->faults.size)
		return 0;
	rc = bf_choose_faults(args, seed, &faults, err);
	memcpy((char *)w + f->faults.offset, &faults, sizeof(faults));
	return rc;
}

static int parse_backend(const struct bf_family *f, const struct bf_args *args, void *w)
{
	const struct bf_backend *backend;
	int code;

	if (!f->backend.size)
		return BF_EXIT_GOOD;
	code = bf_choose_backend(args, f->device, &backend);
	if (code == BF_EXIT_GOOD)
		memcpy((char *)w + f->backend.offset, &backend, sizeof(backend));
	return code;
}

int bf_family_parse(const struct bf_family *f, const struct bf_args *args, void *w)
{
	struct bf_error err = { 0 };
	int code;

	bf_member_set(w, f->search.ordering.offset, f->search.ordering.size, BF_ORDER_GPU);
	bf_choices_parse(args, f->options, w);
	code = parse_work(f, args, w);
	if (code == BF_EXIT_GOOD)
		code = bf_words_parse(args, f->words, f->prefix, w);
	if (code == BF_EXIT_GOOD &&
	    ((f->fill && f->fill(f, args, w, &err) != 0) || parse_faults(f, args, w, &err) != 0))
		code = bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	if (code == BF_EXIT_GOOD)
		code = parse_backend(f, args, w);
	if (code == BF_EXIT_GOOD && f->settle)
		code = f->settle(args, w);
	return code;
}

/* ---- back into one ---- */

static bool has_option(const struct bf_opt *o, const char *name)
{
	while (o && o->name && strcmp(o->name, name) != 0)
		o++;
	return o && o->name;
}

static void append_choices(const struct bf_family *f, const void *w, char *buf, size_t cap)
{
	const enum bf_ordering ordering =
	    (enum bf_ordering)bf_member_get(w, f->search.ordering.offset, f->search.ordering.size);

	snprintf(buf, cap, "belfry run %s", bf_family_work(f, w)->name);
	bf_choices_numbers(f->options, w, buf, cap);
	if (ordering != BF_ORDER_GPU && !has_option(f->options, "ordering"))
		bf_command_append(buf, cap, "ordering", bf_ordering_name(ordering));
	bf_words_command(f->words, w, buf, cap);
	if (f->backend.size && strcmp(bf_family_backend(f, w)->name, "sim") != 0)
		bf_command_append(buf, cap, "backend", bf_family_backend(f, w)->name);
	bf_choices_texts(f->options, w, buf, cap);
	if (bf_family_faults(f, w))
		bf_command_append(buf, cap, "faults", bf_family_faults(f, w));
}

void bf_family_command(const struct bf_family *f, const void *w, char *buf, size_t cap)
{
	void *asked = f->forget ? malloc(f->search.choice_bytes) : NULL;

	if (asked) {
		memcpy(asked, w, f->search.choice_bytes);
		f->forget(asked);
	}
	append_choices(f, asked ? asked : w, buf, cap);
	free(asked);
}

/* ---- --list ---- */

static void list_json(const struct bf_family *f)
{
	struct bf_json j;

	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_open(&j, "workloads", '[');
	for (const struct bf_work *k = f->works; k->name; k++)
		bf_json_text(&j, NULL, k->name);
	bf_json_close(&j, ']');
	if (f->list)
		f->list(&j);
	bf_words_list_json(&j, f->words);
	bf_json_close(&j, '}');
	bf_json_end(&j);
}

int bf_family_list(const struct bf_family *f, const struct bf_args *args)
{
	if (bf_arg_json(args)) {
		list_json(f);
		return BF_EXIT_GOOD;
	}
	puts("Workloads");
	for (const struct bf_work *k = f->works; k->name; k++)
		printf("  %-24s %s\n", k->name, k->summary);
	bf_words_print(f->words);
	if (f->list)
		f->list(NULL);
	return BF_EXIT_GOOD;
}

/* ---- belfry run ---- */

/* What the run records, if `be` keeps what --ordering, --records, --trace and --top ask for. Exit code. */
static int choose_recording(const struct bf_family *f, const struct bf_args *args, const struct bf_backend *be, void *w)
{
	struct bf_error err = { 0 };
	uint32_t records;

	if (f->top.size && bf_arg_flag(args, "top") && (be->platform == BF_PLATFORM_SIM || be->describe))
		return bf_cli_error(args, BF_EXIT_USAGE, "--top is for models on the wall clock: --backend live");
	if (!be->records && bf_arg_text(args, "trace"))
		return bf_cli_error(args, BF_EXIT_USAGE, "--trace: backend %s keeps no records: its device is real",
				    be->name);
	if (be->platform != BF_PLATFORM_SIM && bf_arg_given(args, "ordering"))
		return bf_cli_error(args, BF_EXIT_USAGE, "--ordering: backend %s has that of the machine it runs on",
				    be->name);
	if (bf_records_parse(bf_arg_text(args, "records"), &records, &err) != 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	bf_member_set(w, f->records.offset, f->records.size, records);
	bf_member_set(w, f->search.ordering.offset, f->search.ordering.size, bf_arg_u64(args, "ordering"));
	bf_member_set(w, f->counts.offset, f->counts.size, bf_arg_flag(args, "stats") || bf_family_faults(f, w));
	if (f->top.size)
		bf_member_set(w, f->top.offset, f->top.size, bf_arg_flag(args, "top"));
	return BF_EXIT_GOOD;
}

static int run_chosen(const struct bf_family *f, const struct bf_args *args, void *w)
{
	struct bf_run run = { .family = f, .w = w, .backend = bf_family_backend(f, w) };
	const int code = choose_recording(f, args, run.backend, w);

	if (code != BF_EXIT_GOOD)
		return code;
	return f->run_once ? f->run_once(args, w, &run) : bf_run_once(args, &run);
}

/* A list of choices in place of the seed, if one was given. */
static int run_parsed(const struct bf_family *f, const struct bf_args *args, void *w)
{
	const char *list = bf_arg_text(args, "choices");
	struct bf_error err = { 0 };
	struct bf_enumeration e;
	struct bf_chooser *chooser = &e.chooser;
	int code;

	if (!list)
		return run_chosen(f, args, w);
	if (!f->search.chooser.size || bf_family_backend(f, w)->platform != BF_PLATFORM_SIM)
		return bf_cli_error(args, BF_EXIT_USAGE, "--choices: only runs of the models on backend sim have some");
	bf_enumeration_init(&e, BF_CHOICE_ALL);
	memcpy((char *)w + f->search.chooser.offset, &chooser, sizeof(chooser));
	if (bf_enumeration_parse(&e, list, &err) == 0)
		code = run_chosen(f, args, w);
	else
		code = bf_cli_error(args, BF_EXIT_USAGE, "--choices: %s", err.text);
	if (code != BF_EXIT_USAGE && (e.failed || e.at < e.count))
		code = bf_cli_error(args, BF_EXIT_USAGE, "--choices: this run has not all of them: another command?");
	bf_enumeration_fini(&e);
	return code;
}

static int explore_parsed(const struct bf_family *f, const struct bf_args *args, void *w)
{
	const int code = f->admit ? f->admit(args, w) : BF_EXIT_GOOD;

	return code == BF_EXIT_GOOD ? bf_explore(args, f, w, bf_family_backend(f, w)) : code;
}

/* Parses, then does it. */
static int with_choices(const struct bf_args *args,
			int (*then)(const struct bf_family *f, const struct bf_args *args, void *w))
{
	const struct bf_family *f = bf_arg_own(args);
	void *w;
	int code;

	if (bf_arg_flag(args, "list"))
		return bf_family_list(f, args);
	if (f->command_line)
		return f->command_line(args);
	w = calloc(1, f->search.choice_bytes);
	if (!w)
		return bf_cli_error(args, BF_EXIT_USAGE, "out of memory");
	code = bf_family_parse(f, args, w);
	if (code == BF_EXIT_GOOD)
		code = then(f, args, w);
	bf_family_free(f, w);
	free(w);
	return code;
}

int bf_run_command(const struct bf_args *args)
{
	return with_choices(args, run_parsed);
}

static int fences_parsed(const struct bf_family *f, const struct bf_args *args, void *w)
{
	const int code = f->admit ? f->admit(args, w) : BF_EXIT_GOOD;

	return code == BF_EXIT_GOOD ? bf_fences_workload(args, f, w) : code;
}

int bf_fences_command(const struct bf_args *args)
{
	return with_choices(args, fences_parsed);
}

int bf_explore_command(const struct bf_args *args)
{
	return with_choices(args, explore_parsed);
}

/*
 * The forms of `belfry run`, `belfry explore` and `belfry fences`, one for each family: options, help and words from
 * the family's row.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/fences/fences.h"
#include "tools/workloads/family.h"

enum kind { RUN, EXPLORE, FENCES };
#define KINDS 3u
static const char *const names[KINDS] = { "run", "explore", "fences" };

extern const struct bf_command bf_cmd_fences_ptx;
extern const struct bf_command bf_cmd_fences_trial;

/* Options of one command for all families: those that a family has under the same name are its own. */
static const struct bf_opt run_first[] = {
	BF_OPT_NAMED("ordering", ENUM, "sc|tso|gpu|adversarial", "gpu", "how late stores become visible"),
	BF_OPT_WORDED("records", "CLASS[,CLASS]", "all", bf_record_class_names,
		      "what to record: meta, agent, mem, mmio, dma, queue, net, fault, driver, all, none"),
	BF_OPT_NAMED("lint", FLAG, NULL, NULL,
		     "check the run against all rules and print what they find; with records of class where, also the "
		     "lines of code"),
	BF_OPT_NAMED("stats", FLAG, NULL, NULL, "print the devices' counters"),
	BF_OPT_NAMED("choices", TEXT, "I:A[,I:A]", NULL,
		     "repeat a run that explore --exhaustive found: alternative A at choice I, no delay elsewhere"),
	{ .name = NULL },
};

static const struct bf_opt run_top[] = {
	BF_OPT_NAMED("top", FLAG, NULL, NULL, "live: show on standard error what the devices are doing"),
	{ .name = NULL },
};

static const struct bf_opt explore_first[] = {
	{ .name = "seeds",
	  .kind = BF_OPT_U64,
	  .arg = "N",
	  .initial = "200",
	  .help = "how many seeds, from --seed on",
	  .min = 1,
	  .max = 1u << 30 },
	{ .name = "exhaustive",
	  .kind = BF_OPT_U64,
	  .arg = "K",
	  .help =
	      "not by seed: every run with at most K delays (stores, stale copies, stalls, write combining, relaxed "
	      "DMA), with ordering adversarial unless --orderings names others",
	  .min = 0,
	  .max = 64 },
	{ .name = "stalls",
	  .kind = BF_OPT_U64,
	  .arg = "N",
	  .initial = "2",
	  .help = "with --exhaustive: at most N of the delays of one run are stalls of threads",
	  .min = 0,
	  .max = 64 },
	BF_OPT_NAMED("rules", FLAG, NULL, NULL,
		     "with --exhaustive: a run in which a rule finds an error or a warning fails, too"),
	{ .name = "doubt",
	  .kind = BF_OPT_U64,
	  .arg = "N",
	  .initial = "0",
	  .help = "with --exhaustive: also try N of the delays that nobody could notice, to check that they change "
		  "nothing",
	  .min = 0,
	  .max = UINT32_MAX },
	{ .name = "runs",
	  .kind = BF_OPT_U64,
	  .arg = "N",
	  .initial = "1000000",
	  .help = "with --exhaustive: give up after so many runs of an ordering",
	  .min = 1,
	  .max = UINT32_MAX },
	BF_OPT_NAMED("orderings", TEXT, "O[,O]", "sc,tso,gpu,adversarial", "orderings to run each seed with"),
	{ .name = "jobs",
	  .kind = BF_OPT_U64,
	  .arg = "N",
	  .help = "number of runs at a time; default: one per processor",
	  .min = 1,
	  .max = 256 },
	{ .name = NULL },
};

static const struct bf_opt fences_first[] = {
	BF_FENCE_OPTIONS,
	BF_OPT_NAMED("rules", FLAG, NULL, NULL, "a run in which a rule finds an error or a warning fails, too"),
	{ .name = NULL },
};
static const struct bf_opt *const firsts[KINDS] = { run_first, explore_first, fences_first };

static const char *bug(const void *own, uint32_t i)
{
	return bf_words_at(((const struct bf_family *)own)->words, "bug", i);
}

static const char *without(const void *own, uint32_t i)
{
	return bf_words_at(((const struct bf_family *)own)->words, "without", i);
}

static const struct bf_opt word_options[] = {
	{ .name = "bug",
	  .kind = BF_OPT_MULTI,
	  .arg = "NAME",
	  .help = "make this mistake on purpose; --list names them",
	  .names = bug },
	{ .name = "without", .kind = BF_OPT_MULTI, .arg = "NAME", .help = "what the machine lacks", .names = without },
	{ .name = NULL },
};

static const struct bf_opt backend_option[] = {
	BF_OPT_WORDED("backend", "NAME", "sim", bf_backend_names, "which backend provides the devices, or auto"),
	{ .name = NULL },
};

static const struct bf_opt faults_option[] = {
	{ .name = "faults",
	  .kind = BF_OPT_TEXT,
	  .arg = "PLAN|@FILE",
	  .help = "fault plan, e.g. 'drop prob=0.01'",
	  .names = bf_fault_names },
	{ .name = NULL },
};

static const struct bf_opt last[] = {
	BF_OPT_NAMED("trace", OUT, "FILE", NULL, "write a trace; *.jsonl: as JSON Lines"),
	BF_OPT_NAMED("list", FLAG, NULL, NULL, "list the workloads, and what their options can name"),
	{ .name = NULL },
};

#define OPTIONS_MAX 80u

/* A form of a command, and what it is made of. */
struct bf_form {
	struct bf_command c;
	struct bf_opt options[OPTIONS_MAX];
	char usage[64];
	char *words, *details;
};

static void add(struct bf_opt *to, const struct bf_opt *from)
{
	size_t n = 0;

	while (to[n].name)
		n++;
	for (; from && from->name && n + 1 < OPTIONS_MAX; from++) {
		size_t i = 0;

		while (i < n && strcmp(to[i].name, from->name) != 0)
			i++;
		if (i == n)
			to[n++] = *from;
	}
}

/* Moves the family's own version of an option to where all families have it. */
static void replace(struct bf_opt *to, const struct bf_opt *own)
{
	for (; own && own->name; own++)
		for (struct bf_opt *o = to; o->name; o++)
			if (strcmp(o->name, own->name) == 0)
				*o = *own;
}

static void add_word_options(struct bf_opt *to, const struct bf_words *words)
{
	for (const struct bf_words *w = words; w && w->option; w++)
		for (const struct bf_opt *o = word_options; o->name; o++)
			if (strcmp(o->name, w->option) == 0)
				add(to, (const struct bf_opt[]){ *o, { .name = NULL } });
}

static void drop(struct bf_opt *options, const char *name)
{
	while (options->name && strcmp(options->name, name) != 0)
		options++;
	for (; options->name; options++)
		options[0] = options[1];
}

/* Other defaults than the family's. */
static const char *const *initial_of(const struct bf_family *f, enum kind kind)
{
	return kind == RUN ? f->run.initial : kind == EXPLORE ? f->explore.initial : f->small;
}

static const struct bf_opt *own_options(const struct bf_family *f, enum kind kind)
{
	return kind == RUN ? f->run.options : kind == EXPLORE ? f->explore.options : NULL;
}

static void make_options(struct bf_opt *to, const struct bf_family *f, enum kind kind)
{
	const struct bf_opt *own = own_options(f, kind);

	if (!f->command_line)
		add(to, firsts[kind]);
	if (!f->command_line && kind == RUN && f->top.size)
		add(to, run_top);
	add(to, own);
	add(to, f->options);
	replace(to, own);
	replace(to, f->options);
	add_word_options(to, f->words);
	if (f->backend.size)
		add(to, backend_option);
	if (f->faults.size)
		add(to, faults_option);
	add(to, last);
	if (kind != RUN)
		drop(to, "ordering"); /* --orderings says which ones are tried; fences: adversarial */
	if (kind == FENCES)
		drop(to, "trace"); /* there is no one run */
	for (const char *const *i = initial_of(f, kind); i && *i; i += 2)
		for (struct bf_opt *o = to; o->name; o++)
			if (strcmp(o->name, i[0]) == 0)
				o->initial = i[1];
}

/* ---- texts ---- */

static void write_works(FILE *out, const struct bf_family *f, const char *between)
{
	for (const struct bf_work *k = f->works; k->name; k++)
		fprintf(out, "%s%s", k == f->works ? "" : between, k->name);
}

/* The options that a search makes smaller, by name. */
static void write_parts(FILE *out, const struct bf_family *f)
{
	const struct bf_search_family *s = &f->search;

	for (uint32_t i = 0; i < s->nparts; i++) {
		uint32_t seen = 0;

		while (s->parts[seen].offset != s->parts[i].offset)
			seen++;
		for (const struct bf_opt *o = f->options; seen == i && o->name; o++)
			if (o->size && o->offset == s->parts[i].offset)
				fprintf(out, "--%s, ", o->name);
	}
}

/* Those of `fences` need a plan that makes code weaker, and choices to enumerate. */
static bool has(const struct bf_family *f, enum kind kind)
{
	if (kind == FENCES)
		return !f->command_line && f->faults.size && f->search.chooser.size;
	return (kind == RUN ? f->run.summary : f->explore.summary) != NULL;
}

static const char *summary_of(const struct bf_family *f, enum kind kind)
{
	return kind == RUN       ? f->run.summary
	       : kind == EXPLORE ? f->explore.summary
				 : "a verdict on each fence of the code";
}

static void write_others(FILE *out, const struct bf_family *const *families, enum kind kind)
{
	fprintf(out, "\nOther workloads have their own options (belfry %s PREFIX --help):\n", names[kind]);
	for (families++; *families; families++)
		if (has(*families, kind))
			fprintf(out, "  %-10s %s\n", (*families)->prefix, summary_of(*families, kind));
	if (kind == FENCES)
		fputs("Other code, too:\n"
		      "  ptx        a kernel as nvcc compiled it\n"
		      "  trial      a program with a trial of your own\n",
		      out);
}

static void write_run(FILE *out, const struct bf_family *f)
{
	fputs("Workloads: ", out);
	write_works(out, f, ", ");
	fprintf(out, " (belfry run %s --list says more).\n", f->prefix);
	if (f->run.details)
		fprintf(out, "\n%s\n", f->run.details);
}

static void write_explore(FILE *out, const struct bf_family *f)
{
	fputs("Runs the workload with every seed and ordering until a run fails. Then shrinks that run while it keeps\n"
	      "failing in the same way (ordering, ",
	      out);
	write_parts(out, f);
	fputs("seed). Prints what went wrong according to the records and the command that repeats it, and with\n"
	      "--trace writes its trace.\n"
	      "\n",
	      out);
	if (f->shapes)
		fputs("Every fourth seed uses another shape in turn (nearly full rings, delays and losses, more "
		      "threads),\n"
		      "unless you give the options that it would set. If no run fails, the result says what was "
		      "covered.\n"
		      "\n",
		      out);
	fputs("The result does not depend on --jobs.\n", out);
	if (f->explore.details)
		fprintf(out, "\n%s\n", f->explore.details);
}

static void write_fences(FILE *out, const struct bf_family *f)
{
	fputs("Finds each fence, release, acquire, ordered atomic and scope that the workload executes, weakens each,\n"
	      "and searches all runs with at most --delays delays, as explore --exhaustive does. The verdicts are:\n"
	      "needed, with a run that fails when it is weaker; stronger than needed, with the weakest form that\n"
	      "passes; redundant. If the code fails unchanged, something is missing, and the run and its cause are\n"
	      "printed. \"may be missing\": nothing fails, but rules of order find accesses that nothing orders.\n"
	      "\n"
	      "\"Not needed\" holds at this size and within these bounds only. The defaults are small.\n"
	      "\n"
	      "Workloads: ",
	      out);
	write_works(out, f, ", ");
	fputs(".\n", out);
}

static const char *const codes[KINDS] = {
	[RUN] = "Exit code 0: all data are correct. 1: wrong data, an error completion, a deadlock or the time limit. "
		"2: bad\n"
		"options. 3: all data are correct, but --lint found something.",
	[EXPLORE] = "Exit code 0: no run failed. 1: one did. 2: bad options.",
	[FENCES] = "Exit code 0: the code is good as it is. 1: it fails, something is missing. 2: bad options.",
};

static void write_end(FILE *out, const struct bf_family *f, enum kind kind)
{
	const struct bf_family_help *help = kind == RUN ? &f->run : &f->explore;

	fprintf(out, "\n%s%s\n\nExamples:\n", kind == RUN && help->exit_codes ? help->exit_codes : codes[kind],
		f->backend.size && kind != FENCES ? " 77: the backend is not available here." : "");
	if (kind == FENCES)
		fprintf(out, "  belfry fences %s%s", f->works->name, f->small ? "" : " --delays 1");
	else
		fputs(help->examples, out);
}

/* `families`: NULL but for the form that has no prefix. */
static char *make_details(const struct bf_family *f, enum kind kind, const struct bf_family *const *families)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (kind == RUN)
		write_run(out, f);
	else if (kind == EXPLORE)
		write_explore(out, f);
	else
		write_fences(out, f);
	if (families)
		write_others(out, families, kind);
	write_end(out, f, kind);
	if (fclose(out) != 0 || !text) {
		free(text);
		return NULL;
	}
	return text;
}

static char *make_words(const struct bf_family *f)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	write_works(out, f, "|");
	if (fclose(out) != 0 || !text) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- forms ---- */

static int make_form(struct bf_form *form, const struct bf_family *f, enum kind kind,
		     const struct bf_family *const *families)
{
	static int (*const run[KINDS])(const struct bf_args *) = { bf_run_command, bf_explore_command,
								   bf_fences_command };

	make_options(form->options, f, kind);
	snprintf(form->usage, sizeof(form->usage), "%s %sWORKLOAD %s[options]", names[kind], families ? "" : f->prefix,
		 kind == EXPLORE ? "[--seeds N] " : "");
	form->words = make_words(f);
	form->details = make_details(f, kind, families);
	form->c = (struct bf_command){
		.name = names[kind],
		.prefix = families ? NULL : f->prefix,
		.usage = form->usage,
		.summary = summary_of(f, kind),
		.details = form->details,
		.words = form->words,
		.options = form->options,
		.max_args = 1,
		.run = run[kind],
		.ranks = kind == RUN && f->ranks,
		.own = f,
	};
	return form->words && form->details ? 0 : -ENOMEM;
}

/* The first is the command itself. */
static int make_kind(struct bf_forms *out, const struct bf_family *const *families, enum kind kind, size_t *forms,
		     size_t *place)
{
	struct bf_command *const to = kind == RUN ? &out->run : kind == EXPLORE ? &out->explore : &out->fences;
	const size_t first = *place;
	int rc = 0;

	for (size_t i = 0; !rc && families[i]; i++) {
		struct bf_form *form = &out->forms[(*forms)++];

		if (!has(families[i], kind))
			continue;
		rc = make_form(form, families[i], kind, i ? NULL : families);
		if (i)
			out->families[(*place)++] = &form->c;
		else
			*to = form->c;
	}
	if (kind == FENCES) {
		out->families[(*place)++] = &bf_cmd_fences_ptx;
		out->families[(*place)++] = &bf_cmd_fences_trial;
	}
	(*place)++; /* NULL */
	to->families = out->families + first;
	return rc;
}

int bf_forms_make(const struct bf_family *const *families, struct bf_forms *out)
{
	size_t n = 0, forms = 0, place = 0;
	int rc = 0;

	while (families[n])
		n++;
	*out = (struct bf_forms){ .nforms = KINDS * n };
	out->forms = calloc(KINDS * n, sizeof(*out->forms));
	out->families = calloc(KINDS * (n + 1) + 2, sizeof(*out->families)); /* of each command, with a NULL */
	if (!out->forms || !out->families)
		return -ENOMEM;
	for (uint32_t kind = 0; kind < KINDS && !rc; kind++)
		rc = make_kind(out, families, (enum kind)kind, &forms, &place);
	return rc;
}

void bf_forms_free(struct bf_forms *f)
{
	for (size_t i = 0; f->forms && i < f->nforms; i++) {
		free(f->forms[i].words);
		free(f->forms[i].details);
	}
	free(f->forms);
	free(f->families);
}

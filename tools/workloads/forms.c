/* The forms of `belfry run` and `belfry explore`, one for each family: options, help and words from the family's row.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/workloads/family.h"

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
	BF_OPT_NAMED("weaken", FLAG, NULL, NULL,
		     "a verdict on each fence, release, acquire and scope of the code: makes it weaker and searches as "
		     "--exhaustive does (K: 2)"),
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
	  .help = "with --exhaustive: tries N of the delays that nobody could notice, to check that nothing comes of "
		  "them",
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

static const char *bug(const void *own, uint32_t i)
{
	return bf_words_at(((const struct bf_family *)own)->words, "bug", i);
}

static const char *without(const void *own, uint32_t i)
{
	return bf_words_at(((const struct bf_family *)own)->words, "without", i);
}

static const struct bf_opt word_options[] = {
	{ .name = "bug", .kind = BF_OPT_MULTI, .arg = "NAME", .help = "make this mistake on purpose", .names = bug },
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

static void make_options(struct bf_opt *to, const struct bf_family *f, const struct bf_family_help *help)
{
	const bool bare = f->command_line != NULL, run = help == &f->run;

	if (!bare)
		add(to, run ? run_first : explore_first);
	if (!bare && run && f->top.size)
		add(to, run_top);
	add(to, help->options);
	add(to, f->options);
	replace(to, help->options);
	replace(to, f->options);
	add_word_options(to, f->words);
	if (f->backend.size)
		add(to, backend_option);
	if (f->faults.size)
		add(to, faults_option);
	add(to, last);
	if (!run)
		drop(to, "ordering"); /* --orderings says which ones are tried */
	for (const char *const *i = help->initial; i && *i; i += 2)
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

static void write_others(FILE *out, const char *command, const struct bf_family *const *families, bool run)
{
	fprintf(out, "\nOther workloads have their own options (belfry %s PREFIX --help):\n", command);
	for (families++; *families; families++) {
		const struct bf_family_help *help = run ? &(*families)->run : &(*families)->explore;

		if (help->summary)
			fprintf(out, "  %-10s %s\n", (*families)->prefix, help->summary);
	}
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
	      "\n"
	      "The result does not depend on --jobs.\n",
	      out);
	if (f->explore.details)
		fprintf(out, "\n%s\n", f->explore.details);
}

#define RUN_CODES                                                                                                      \
	"Exit code 0: all data are correct. 1: wrong data, an error completion, a deadlock or the time limit. 2: "     \
	"bad\n"                                                                                                        \
	"options. 3: all data are correct, but --lint found something."
#define EXPLORE_CODES "Exit code 0: no run failed. 1: one did. 2: bad options."

/* `families`: NULL but for the form that has no prefix. */
static char *make_details(const struct bf_family *f, const struct bf_family_help *help,
			  const struct bf_family *const *families)
{
	const bool run = help == &f->run;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (run)
		write_run(out, f);
	else
		write_explore(out, f);
	if (families)
		write_others(out, run ? "run" : "explore", families, run);
	fprintf(out, "\n%s%s\n\nExamples:\n%s",
		help->exit_codes ? help->exit_codes
		: run            ? RUN_CODES
				 : EXPLORE_CODES,
		f->backend.size ? " 77: the backend is not available here." : "", help->examples);
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

static int make_form(struct bf_form *form, const struct bf_family *f, const struct bf_family_help *help,
		     const struct bf_family *const *families)
{
	const bool run = help == &f->run;

	make_options(form->options, f, help);
	snprintf(form->usage, sizeof(form->usage), "%s %sWORKLOAD %s[options]", run ? "run" : "explore",
		 families ? "" : f->prefix, run ? "" : "[--seeds N] ");
	form->words = make_words(f);
	form->details = make_details(f, help, families);
	form->c = (struct bf_command){
		.name = run ? "run" : "explore",
		.prefix = families ? NULL : f->prefix,
		.usage = form->usage,
		.summary = help->summary,
		.details = form->details,
		.words = form->words,
		.options = form->options,
		.max_args = 1,
		.run = run ? bf_run_command : bf_explore_command,
		.ranks = run && f->ranks,
		.own = f,
	};
	return form->words && form->details ? 0 : -ENOMEM;
}

int bf_forms_make(const struct bf_family *const *families, struct bf_forms *out)
{
	size_t n = 0, forms = 0, place = 0;
	int rc = 0;

	while (families[n])
		n++;
	*out = (struct bf_forms){ .nforms = 2 * n };
	out->forms = calloc(2 * n, sizeof(*out->forms));
	out->families = calloc(2 * n, sizeof(*out->families)); /* without the first, with a NULL, of each command */
	if (!out->forms || !out->families)
		return -ENOMEM;
	for (uint32_t k = 0; k < 2; k++) {
		for (size_t i = 0; !rc && i < n; i++) {
			const struct bf_family_help *help = k ? &families[i]->explore : &families[i]->run;
			struct bf_form *form = &out->forms[forms++];

			if (!help->summary)
				continue;
			rc = make_form(form, families[i], help, i ? NULL : families);
			if (i)
				out->families[place++] = &form->c;
		}
		place = n;
	}
	out->run = out->forms[0].c;
	out->run.families = out->families;
	out->explore = out->forms[n].c;
	out->explore.families = out->families + n;
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

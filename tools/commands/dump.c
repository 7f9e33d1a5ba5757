/* belfry dump: the records of a trace, one a line. */
#include <errno.h>
#include <string.h>

#include "sim/spell.h"
#include "tools/cli/cli.h"
#include "tools/cli/input.h"
#include "traces/container/dump.h"
#include "traces/rules/rules.h"

static void print_head(const struct bf_trace *t)
{
	const struct bf_trace_meta_entry *m;

	for (size_t i = 0; (m = bf_trace_meta_at(t, i)) != NULL; i++) {
		fputs("# ", stdout);
		bf_dump_text(stdout, m->key, strlen(m->key));
		fputs(": ", stdout);
		bf_dump_text(stdout, m->value, strlen(m->value));
		putchar('\n');
	}
}

/* A name that nothing in the trace has is a slip of the pen, or a class that was not recorded. */
static void note_unknown_types(const struct bf_trace *t, const char *types)
{
	while (types && *types) {
		int n = (int)strcspn(types, ",");
		char name[65];

		snprintf(name, sizeof(name), "%.*s", n, types);
		if (!bf_trace_type(t, name)) {
			struct bf_spell s = { .word = name, .len = strlen(name) };
			const struct bf_rec_schema *type;
			char hint[64];

			for (size_t i = 0; (type = bf_trace_type_at(t, i)) != NULL; i++)
				bf_spell_try(&s, type->name);
			fflush(stdout);
			fprintf(stderr, "belfry dump: no record of the trace has the type '%s'%s\n", name,
				bf_spell_hint(&s, hint, sizeof(hint)));
		}
		types += n + (types[n] == ',');
	}
}

static int dump(const struct bf_args *args)
{
	struct bf_dump_options o = {
		.types = bf_arg_text(args, "type"),
		.actors = bf_arg_text(args, "actor"),
		.from_ps = bf_arg_u64(args, "from"),
		.to_ps = bf_arg_u64(args, "to"),
		.by_queue = bf_arg_given(args, "queue"),
		.queue = bf_arg_u64(args, "queue"),
		.limit = bf_arg_u64(args, "limit"),
		.tails = bf_arg_flag(args, "tails"),
		.json = bf_arg_json(args),
	};
	const char *path = bf_arg_positional(args, 0);
	struct bf_error err = { 0 };
	struct bf_input in;
	int code = BF_EXIT_GOOD, rc = bf_input_open(path, &in, &err);

	if (rc) {
		code = bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	} else {
		if (!o.json)
			print_head(in.trace);
		rc = bf_dump(in.trace, &o, stdout, &err);
		if (rc)
			code = bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
		else if (in.damage)
			code = bf_cli_error(args, BF_EXIT_USAGE, "%s", in.damage_error.text);
		else
			note_unknown_types(in.trace, o.types);
	}
	bf_input_close(&in);
	return code;
}

/* All that this build knows; a trace may have others. */
static const char *record_type(const void *own, uint32_t i)
{
	(void)own;
	return bf_record_type_at(i);
}

static const struct bf_opt options[] = {
	{ .name = "type",
	  .kind = BF_OPT_TEXT,
	  .arg = "NAMES",
	  .help = "only records of these types, separated by commas",
	  .names = record_type },
	{ .name = "actor", .kind = BF_OPT_TEXT, .arg = "NAMES", .help = "only records of these actors" },
	{ .name = "queue", .kind = BF_OPT_U64, .arg = "N", .help = "only records about queue pair N or CQ N" },
	{ .name = "from", .kind = BF_OPT_TIME, .arg = "TIME", .help = "from this time on" },
	{ .name = "to", .kind = BF_OPT_TIME, .arg = "TIME", .help = "up to this time" },
	{ .name = "limit", .kind = BF_OPT_U64, .arg = "N", .help = "at most N records", .min = 1, .max = UINT64_MAX },
	{ .name = "tails", .kind = BF_OPT_FLAG, .help = "show the bytes of entries, completions and packets" },
	{ 0 },
};

const struct bf_command bf_cmd_dump = {
	.name = "dump",
	.usage = "dump FILE [options]",
	.summary = "print a trace or a capture, one record per line",
	.details = "Reads traces of any version in both forms, and raw captures; '-' is standard input. With --json "
		   "each record is one line with a JSON object.\n"
		   "\n"
		   "Examples:\n"
		   "  belfry dump run.bft --type=doorbell,cqe --queue=0x100001",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = dump,
};

/*
 * belfry replay: what was captured, through the model of its device, and where the two differ (tools/replay, a file for
 * each kind of capture).
 */
#include "tools/cli/cli.h"
#include "tools/cli/input.h"
#include "tools/replay/kind.h"

/* The kind that an option asks for; NULL: none does. */
static const struct bf_replay_kind *asked(const struct bf_args *args)
{
	const struct bf_replay_kind *kind;

	for (unsigned i = 0; (kind = bf_replay_kind_at(i)) != NULL; i++)
		if (kind->option && bf_arg_given(args, kind->option))
			return kind;
	return NULL;
}

static int replay(const struct bf_args *args)
{
	const char *path = bf_arg_positional(args, 0);
	const struct bf_replay_kind *kind;
	struct bf_error err = { 0 };
	char head[4096];
	size_t len;
	FILE *f;
	int code;

	if (bf_input_peek(path, &f, head, sizeof(head), &len, &err) != 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	kind = asked(args);
	code = kind ? kind->by_option(args, path, f) : bf_replay_kind_of(path, f, head, len)->replay(args, path, f);
	fclose(f);
	return code;
}

static const struct bf_command_form *form_at(unsigned i)
{
	const struct bf_replay_kind *kind = bf_replay_kind_at(i);

	return kind ? &kind->form : NULL;
}

static const struct bf_opt options[] = {
	{ .name = "life",
	  .kind = BF_OPT_TEXT,
	  .arg = "QPN:INDEX",
	  .help = "the entry whose life to print, by queue pair and counter, or none; default: the first that "
		  "diverges, failed, has no doorbell or asked for a completion" },
	{ .name = "seed", .kind = BF_OPT_U64, .arg = "N", .initial = "1", .help = "seed of everything random" },
	{ .name = "profile",
	  .kind = BF_OPT_TEXT,
	  .arg = "NAME[,FIELD=N]",
	  .initial = "cx7",
	  .help = "device timing",
	  .names = bf_replay_profile },
	{ .name = "mtu",
	  .kind = BF_OPT_U64,
	  .arg = "BYTES",
	  .initial = "1024",
	  .help = "path MTU, which captures do not contain",
	  .min = 256,
	  .max = 4096 },
	{ .name = "layout",
	  .kind = BF_OPT_ENUM,
	  .arg = "l1|l2|l3",
	  .help = "FILE is the trace of an IBGDA run: run it again with its tables in this order" },
	{ .name = "limit", .kind = BF_OPT_U64, .arg = "N", .initial = "20", .help = "divergences to print" },
	{ .name = "stats", .kind = BF_OPT_FLAG, .help = "print the devices' counters" },
	{ .name = "trace", .kind = BF_OPT_OUT, .arg = "FILE", .help = "write all records; *.jsonl: as JSON Lines" },
	{ .name = "pcapng", .kind = BF_OPT_OUT, .arg = "FILE", .help = "write the packets to a file for Wireshark" },
	{ 0 },
};

const struct bf_command bf_cmd_replay = {
	.name = "replay",
	.usage = "replay FILE [options]",
	.summary = "run captured entries and doorbells on the model and compare completions",
	.details = "'-' is standard input. Exit code 0: no divergence, 1: some.\n"
		   "\n"
		   "With --layout, FILE is the trace of a run (belfry run ibgda-..., ll-..., shmem-...). The "
		   "command stored in the trace runs again with the queue tables in another order, and the two runs "
		   "are compared as belfry diff --queues does: queue numbers may differ, the work of the queues may "
		   "not.\n"
		   "\n"
		   "Examples:\n"
		   "  belfry replay traces/samples/mix_3rkey.client.jsonl\n"
		   "  belfry replay traces/samples/mix_1.client.jsonl --life=0x100001:25 --pcapng=mix.pcapng",
	.form = form_at,
	.files = true,
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = replay,
};

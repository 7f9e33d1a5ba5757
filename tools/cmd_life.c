/* belfry life: one entry's story out of a trace. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "tools/cli.h"
#include "tools/input.h"
#include "tools/life_out.h"

static int not_run(const struct bf_args *args, uint32_t qpn, uint16_t index)
{
	return bf_cli_error(args, BF_EXIT_USAGE,
			    "%s is a capture: nothing has run yet. 'belfry replay --life=0x%" PRIx32 ":%u' runs it",
			    bf_arg_positional(args, 0), qpn, index);
}

/* What can be read of a damaged trace is told, the damage after it. */
static int tell(const struct bf_args *args, struct bf_trace *t, struct bf_life *l, uint32_t qpn, uint16_t index,
		const struct bf_error *err)
{
	int rc = bf_life_read(l, t), code;

	if (bf_life_never_ran(l))
		return not_run(args, qpn, index);
	if (rc && rc != -EBADMSG)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err->text);
	code = bf_life_out(args, l, qpn, index, rc ? err->text : NULL);
	if (!rc)
		return code;
	fflush(stdout);
	fprintf(stderr, "belfry life: %s\n", err->text);
	return BF_EXIT_USAGE;
}

static int life(const struct bf_args *args)
{
	uint32_t qpn;
	uint16_t index;
	struct bf_error err = { 0 };
	struct bf_input in = { 0 };
	struct bf_life *l;
	int code;

	if (!bf_life_parse(bf_arg_positional(args, 1), &qpn, &index))
		return bf_cli_error(args, BF_EXIT_USAGE, "'%s' is not QPN:INDEX, such as 0x100001:81",
				    bf_arg_positional(args, 1));
	if (bf_life_create(bf_arg_text(args, "device"), qpn, index, &l))
		return bf_cli_error(args, BF_EXIT_USAGE, "out of memory");
	if (bf_input_open(bf_arg_positional(args, 0), &in, &err))
		code = bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	else if (in.is_capture)
		code = not_run(args, qpn, index);
	else
		code = tell(args, in.trace, l, qpn, index, &err);
	bf_input_close(&in);
	bf_life_free(l);
	return code;
}

static const struct bf_opt options[] = {
	{ .name = "device",
	  .kind = BF_OPT_TEXT,
	  .arg = "NAME",
	  .help = "whose queue pair, such as nic0, where several devices have one of that number" },
	{ 0 },
};

const struct bf_command bf_cmd_life = {
	.name = "life",
	.usage = "life TRACE QPN:INDEX [options]",
	.summary = "tell the life of one send entry, from doorbell to completion",
	.details =
	    "INDEX is the 16-bit counter in the entry's control segment (blocks of 64 bytes since the queue began).\n"
	    "The trace needs records of queues and packets. Exit code 1: the trace has nothing of that entry.\n"
	    "\n"
	    "  belfry run ibgda-put --trace=run.bft && belfry dump run.bft --type=wqe_fetch --limit=3\n"
	    "  belfry life run.bft 0x100:0 --device=nic0",
	.options = options,
	.min_args = 2,
	.max_args = 2,
	.run = life,
};

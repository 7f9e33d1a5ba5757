/* belfry explain: one thing's story out of a trace, or what is stuck in it and why. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/cli.h"
#include "tools/report/explain.h"
#include "tools/cli/input.h"
#include "traces/device.h"

/* ---- one thing ---- */

static int not_run(const struct bf_args *args, const struct bf_explain_target *t)
{
	if (!t->life || !t->life->queue)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s is a capture, which knows nothing of that kind",
				    bf_arg_positional(args, 0));
	return bf_cli_error(args, BF_EXIT_USAGE,
			    "%s is a capture: nothing has run yet. 'belfry replay --life=0x%" PRIx64 ":%" PRIu64
			    "' runs it",
			    bf_arg_positional(args, 0), t->queue, t->index);
}

/* What can be read of a damaged trace is told, the damage after it. */
static int tell(const struct bf_args *args, struct bf_input *in, const struct bf_explain_target *t,
		struct bf_error *err)
{
	struct bf_explain *l;
	int rc = bf_explain_trace(t, in->trace, &l, err), code;

	if (!l && rc == -ENOENT)
		return bf_cli_error(args, BF_EXIT_FAILED, "%s", err->text);
	if (!l)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err->text);
	if (bf_explain_never_ran(l)) {
		bf_explain_free(l);
		return not_run(args, t);
	}
	code = bf_explain_out(args, l, rc ? err->text : NULL);
	bf_explain_free(l);
	if (!rc)
		return code;
	fflush(stdout);
	fprintf(stderr, "belfry explain: %s\n", err->text);
	return BF_EXIT_USAGE;
}

/* Whether some record is of `device` or a part of it. True as well when the trace cannot be read twice. */
static bool has_device(struct bf_trace *t, const char *device)
{
	const size_t len = strlen(device);
	struct bf_trace_record rec;
	bool found = false;
	int rc;

	if (bf_trace_seek_time(t, 0) != 0)
		return true;
	while (!found && (rc = bf_trace_next(t, &rec)) != 0) {
		const char *name = bf_trace_actor_name(t, rec.actor);

		found = rc > 0 && strncmp(name, device, len) == 0 && (name[len] == '.' || name[len] == '\0');
	}
	return bf_trace_seek_time(t, 0) != 0 || found;
}

static int explain_one(const struct bf_args *args, struct bf_input *in, struct bf_error *err)
{
	const char *what = bf_arg_positional(args, 1), *device = bf_arg_text(args, "device");
	struct bf_explain_target t;

	if (!bf_explain_parse(what, &t))
		return bf_cli_error(args, BF_EXIT_USAGE,
				    "'%s' is not QPN:INDEX, such as 0x100001:81, nor another form that --help lists",
				    what);
	if (device && t.device[0] && strcmp(device, t.device) != 0)
		return bf_cli_error(args, BF_EXIT_USAGE, "--device %s, and '%s' is of %s", device, what, t.device);
	if (device && !t.device[0])
		snprintf(t.device, sizeof(t.device), "%s", device);
	if (bf_input_open(bf_arg_positional(args, 0), in, err))
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err->text);
	if (in->is_capture)
		return not_run(args, &t);
	if (t.device[0] && !has_device(in->trace, t.device))
		return bf_cli_error(args, BF_EXIT_FAILED, "the trace knows no device %s", t.device);
	return tell(args, in, &t, err);
}

/* ---- what is stuck ---- */

/* What a capture does not show may have happened all the same; rules are told that. */
static int judge(struct bf_input *in, struct bf_rules *r, bool whole, struct bf_error *err)
{
	int rc = bf_trace_seek_time(in->trace, 0);

	if (!rc)
		rc = bf_rules_trace(r, in->trace, err);
	if (bf_rules_finish(r, whole && !rc && !in->is_capture))
		return bf_fail(err, -ENOMEM, "no memory for rules");
	return rc == -EBADMSG ? 0 : rc;
}

static int explain_stuck(const struct bf_args *args, struct bf_input *in, struct bf_error *err)
{
	struct bf_stuck *s = NULL;
	struct bf_rules *r = NULL;
	struct bf_error damage;
	int rc, code;

	if (bf_input_open(bf_arg_positional(args, 0), in, err))
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err->text);
	rc = bf_stuck_read(in->trace, &s, err);
	damage = in->damage ? in->damage_error : *err;
	if (rc == -EBADMSG || in->damage)
		damage.code = damage.code ? damage.code : -EBADMSG;
	else
		damage = (struct bf_error){ 0 };
	if (!s || bf_rules_create(NULL, &r, err) || judge(in, r, !damage.code, err))
		code = bf_cli_error(args, BF_EXIT_USAGE, "%s", err->text);
	else
		code = bf_stuck_out(args, s, r, damage.code ? damage.text : NULL);
	bf_rules_destroy(r);
	bf_stuck_free(s);
	return code;
}

/* ---- the command ---- */

static int run_explain(const struct bf_args *args)
{
	struct bf_error err = { 0 };
	struct bf_input in = { 0 };
	int code;

	if (bf_arg_flag(args, "stuck") && bf_arg_positional_count(args) == 2)
		return bf_cli_error(args, BF_EXIT_USAGE, "--stuck looks at everything: unexpected argument '%s'",
				    bf_arg_positional(args, 1));
	if (!bf_arg_flag(args, "stuck") && bf_arg_positional_count(args) == 1)
		return bf_cli_error(args, BF_EXIT_USAGE, "what is to be explained? Name a thing, or give --stuck");
	if (bf_arg_flag(args, "stuck") && bf_arg_given(args, "device"))
		return bf_cli_error(args, BF_EXIT_USAGE, "--device is for one thing, not for --stuck");
	code = bf_arg_flag(args, "stuck") ? explain_stuck(args, &in, &err) : explain_one(args, &in, &err);
	bf_input_close(&in);
	return code;
}

static const struct bf_opt options[] = {
	{ .name = "stuck",
	  .kind = BF_OPT_FLAG,
	  .help = "why is there no completion? List everything that is unfinished at the end" },
	{ .name = "device",
	  .kind = BF_OPT_TEXT,
	  .arg = "NAME",
	  .help = "device of the queue pair, such as nic0, if WHAT does not name it and several devices have that "
		  "number" },
	{ 0 },
};

/* What WHAT may be: lines of the devices. */
static const char *name_at(unsigned i)
{
	const struct bf_device *d;

	for (uint32_t k = 0; (d = bf_device_at(k)) != NULL; k++)
		for (const char *const *line = d->named; line && *line; line++)
			if (!i--)
				return *line;
	return NULL;
}

const struct bf_command bf_cmd_explain = {
	.name = "explain",
	.usage = "explain TRACE WHAT|--stuck [options]",
	.summary = "show the life of an entry, completion or barrier, or why there is no completion",
	.terms = "WHAT is one of",
	.term = name_at,
	.details = "Each step has its time, the time since the step before, and who did it. What was stored, and "
		   "whether the device could see it when it read, comes from records of the class mem. Missing "
		   "records are named.\n"
		   "\n"
		   "--stuck starts with the root cause according to the rules. Then it lists what is unfinished at "
		   "the end of the trace, in groups, with the first missing step of the oldest member and the "
		   "evidence. If the run came to its end, nothing is stuck, but the root cause of wrong data is "
		   "still printed.\n"
		   "\n"
		   "Exit code 0: success, or nothing is stuck. 1: WHAT is not in the trace. 2: bad options, or a "
		   "damaged trace. 3: something is stuck.\n"
		   "\n"
		   "Examples:\n"
		   "  belfry run ibgda-put --trace=run.bft && belfry explain run.bft nic0.cq0x42:#0\n"
		   "  belfry run ibgda-put --bug lost-batch --messages 1 --trace=hang.bft\n"
		   "  belfry explain hang.bft --stuck",
	.options = options,
	.min_args = 1,
	.max_args = 2,
	.run = run_explain,
};

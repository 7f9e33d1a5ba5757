/*
 * belfry replay of a Linux NVMe trace: its commands through the controller model, status, order and heads compared.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tools/cli/input.h"
#include "tools/replay/kind.h"
#include "tools/replay/trace.h"
#include "traces/import/capture.h"
#include "traces/replay/nvme.h"

static int load(const char *path, FILE *f, struct bf_ftrace **out, struct bf_error *err)
{
	char head[4096];
	size_t n = fread(head, 1, sizeof(head), f);
	struct bf_trace *t;
	int rc;

	rewind(f);
	*out = NULL;
	if (bf_ftrace_probe(head, n))
		return bf_ftrace_load_file(f, path, out, err);
	rc = bf_trace_open(path, f, &t, err);
	if (rc)
		return rc;
	rc = bf_ftrace_from_trace(t, out, err);
	bf_trace_close(t);
	return rc;
}

static int check_options(const struct bf_args *args, struct bf_nvme_replay_opts *o)
{
	const char *profile = bf_arg_given(args, "profile") ? bf_arg_text(args, "profile") : "970pro";
	const int code = bf_replay_check_options(args);

	if (code)
		return code;
	if (strcmp(profile, "instant") != 0 && strcmp(profile, "970pro") != 0)
		return bf_cli_error(args, BF_EXIT_USAGE,
				    "--profile: '%s' is no NVMe profile; there are 970pro, instant", profile);
	o->profile = *profile == 'i' ? &bf_nvme_instant : &bf_nvme_970pro;
	o->seed = bf_arg_u64(args, "seed");
	return 0;
}

static int run(const struct bf_args *args, const char *path, const struct bf_ftrace *t, struct bf_nvme_replay_opts *o,
	       struct bf_nvme_replay_result **r, struct bf_error *err)
{
	struct bf_trace_writer *w;
	int rc = bf_replay_trace_open(args, path, o->profile->name, &w, err), closed;

	if (rc || !w)
		return rc ? rc : bf_nvme_replay_run(t, o, r, err);
	o->sink = bf_trace_sink(w);
	o->record_mask = BF_CLASS_ALL;
	rc = bf_nvme_replay_run(t, o, r, err);
	closed = bf_trace_writer_close(w);
	return rc ? rc : closed;
}

static uint64_t bad_ones(const struct bf_nvme_replay_result *r)
{
	uint64_t bad = 0;

	for (int i = 0; i < BF_NVME_REPLAY_VERDICTS; i++)
		bad += bf_nvme_replay_verdict_bad((enum bf_nvme_replay_verdict)i) ? r->tally[i] : 0;
	return bad;
}

static void print_text(const struct bf_args *args, const struct bf_ftrace *t, const struct bf_nvme_replay_result *r)
{
	const uint64_t limit = bf_arg_u64(args, "limit"), bad = bad_ones(r);
	size_t printed = 0;

	printf("%zu events: %" PRIu64 " commands and %" PRIu64 " register accesses replayed, %" PRIu64
	       " completions and %" PRIu64 " queue heads compared\n",
	       t->count, r->commands, r->registers, r->completions, r->heads);
	for (int i = 0; i < BF_NVME_REPLAY_VERDICTS; i++)
		if (r->tally[i])
			printf("  %-26s %" PRIu64 "\n", bf_nvme_replay_verdict_name((enum bf_nvme_replay_verdict)i),
			       r->tally[i]);
	if (r->unfinished)
		printf("  %-26s %" PRIu64 "\n", "no end in the trace", r->unfinished);
	for (size_t i = 0; i < r->nfindings && printed < limit; i++) {
		const struct bf_nvme_replay_finding *f = &r->findings[i];

		printf("line %" PRIu32 ": %s.q%" PRIu32 " cid 0x%" PRIx32 "%s%s: %s: %s\n", f->line, f->ctrl, f->qid,
		       f->cid, f->command[0] ? " " : "", f->command, bf_nvme_replay_verdict_name(f->verdict), f->text);
		printed++;
	}
	if (printed < r->nfindings)
		printf("(%zu more; --limit=N shows them)\n", r->nfindings - printed);
	puts(bad ? "The model does not agree with the trace." : "The model agrees with the trace.");
}

static void print_json(const char *path, const struct bf_ftrace *t, const struct bf_nvme_replay_result *r,
		       const struct bf_error *damage)
{
	struct bf_json j;

	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_text(&j, "trace", path);
	bf_json_u64(&j, "events", t->count);
	bf_json_bool(&j, "agrees", bad_ones(r) == 0);
	bf_json_u64(&j, "commands", r->commands);
	bf_json_u64(&j, "registers", r->registers);
	bf_json_u64(&j, "completions", r->completions);
	bf_json_u64(&j, "heads", r->heads);
	bf_json_u64(&j, "unfinished", r->unfinished);
	bf_json_u64(&j, "time_ps", r->time_ps);
	bf_json_open(&j, "verdicts", '{');
	for (int i = 0; i < BF_NVME_REPLAY_VERDICTS; i++)
		bf_json_u64(&j, bf_nvme_replay_verdict_name((enum bf_nvme_replay_verdict)i), r->tally[i]);
	bf_json_close(&j, '}');
	bf_json_open(&j, "findings", '[');
	for (size_t i = 0; i < r->nfindings; i++) {
		const struct bf_nvme_replay_finding *f = &r->findings[i];

		bf_json_open(&j, NULL, '{');
		bf_json_text(&j, "verdict", bf_nvme_replay_verdict_name(f->verdict));
		bf_json_bool(&j, "bad", bf_nvme_replay_verdict_bad(f->verdict));
		bf_json_u64(&j, "line", f->line);
		bf_json_text(&j, "controller", f->ctrl);
		bf_json_u64(&j, "queue", f->qid);
		bf_json_hex(&j, "cid", f->cid);
		bf_json_text(&j, "command", f->command);
		bf_json_hex(&j, "captured", f->captured);
		bf_json_hex(&j, "simulated", f->simulated);
		bf_json_text(&j, "text", f->text);
		bf_json_close(&j, '}');
	}
	bf_json_close(&j, ']');
	if (damage->text[0])
		bf_json_text(&j, "error", damage->text);
	bf_json_close(&j, '}');
	bf_json_end(&j);
}

static int replay(const struct bf_args *args, const char *path, FILE *f)
{
	struct bf_error err = { 0 }, damage = { 0 };
	struct bf_nvme_replay_result *r = NULL;
	struct bf_nvme_replay_opts o = { 0 };
	struct bf_ftrace *t = NULL;
	int code = check_options(args, &o);

	if (code)
		return code;
	load(path, f, &t, &damage);
	if (!t || t->count == 0) {
		code = bf_cli_error(args, BF_EXIT_USAGE, "%s: %s", path,
				    damage.text[0] ? damage.text : "there is no event of an NVMe driver in it");
	} else if (run(args, path, t, &o, &r, &err) != 0) {
		code = bf_cli_error(args, BF_EXIT_USAGE, "%s: %s", path, err.text);
	} else {
		if (bf_arg_json(args))
			print_json(path, t, r, &damage);
		else
			print_text(args, t, r);
		code = bad_ones(r) ? BF_EXIT_FAILED : BF_EXIT_GOOD;
		if (damage.text[0]) {
			fflush(stdout);
			fprintf(stderr, "belfry replay: %s: %s; the events in front of it were replayed\n", path,
				damage.text);
			code = BF_EXIT_USAGE;
		}
	}
	bf_nvme_replay_free(r);
	bf_ftrace_free(t);
	return code;
}

static int again(const struct bf_input *in, struct bf_sink *sink, struct bf_error *err)
{
	const struct bf_nvme_replay_opts opts = {
		.seed = 1, .profile = &bf_nvme_970pro, .record_mask = BF_CLASS_ALL, .sink = sink
	};
	struct bf_nvme_replay_result *r = NULL;
	int rc;

	if (!in->ftrace)
		return -ENOENT;
	rc = bf_nvme_replay_run(in->ftrace, &opts, &r, err);
	bf_nvme_replay_free(r);
	return rc;
}

const struct bf_replay_kind bf_replay_nvme = {
	.form = { .name = "ftrace",
		  .details =
		      "a Linux NVMe trace, or a trace into which one was imported. Its commands run on the NVMe "
		      "controller: status, order and queue heads are compared; --profile is 970pro or instant." },
	.probe = bf_ftrace_probe,
	.replay = replay,
	.again = again,
};

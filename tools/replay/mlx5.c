/*
 * belfry replay of captured queues: through the model, its completions against the model's, and the life of one entry.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/mlx5/wqe.h"
#include "tools/cli/cli.h"
#include "tools/report/counts.h"
#include "tools/cli/input.h"
#include "tools/report/explain.h"
#include "tools/replay/mlx5_layout.h"
#include "tools/workloads/mlx5_profile.h"
#include "tools/replay/kind.h"
#include "traces/export/pcapng.h"
#include "traces/replay/mlx5.h"

#define LIFE_CLASSES (BF_CLASS_META | BF_CLASS_QUEUE | BF_CLASS_NET | BF_CLASS_FAULT)

struct job {
	const struct bf_args *args;
	const char *path;
	struct bf_mlx5_profile profile;
	struct bf_replay_opts opts;
	struct bf_capture *capture;
	struct bf_replay_result *result;
	struct bf_progress progress;
	struct bf_explain *life;
	struct bf_counts *counts; /* with --stats */
	uint32_t life_qpn;
	uint16_t life_index;
	bool life_asked, life_none;
	int damage;
	struct bf_error damage_error;
};

/* ---- running ---- */

static void on_progress(void *arg, uint64_t done, uint64_t total)
{
	bf_progress_update(arg, done, total);
}

static void on_done(void *arg, const struct bf_sim *sim)
{
	struct job *job = arg;

	bf_counts_free(job->counts);
	job->counts = bf_counts_take(sim);
}

static int run_once(struct job *job, struct bf_sink *sink, uint32_t mask, struct bf_error *err)
{
	struct bf_replay_result *r;
	int rc;

	job->opts.sink = sink;
	job->opts.record_mask = mask;
	bf_progress_begin(&job->progress, job->args, "replaying events");
	rc = bf_replay_run(job->capture, &job->opts, &r, err);
	bf_progress_end(&job->progress);
	if (!rc) {
		bf_replay_free(job->result);
		job->result = r;
	}
	if (!rc && job->opts.done && !job->counts)
		rc = bf_fail(err, -ENOMEM, "out of memory");
	return rc;
}

static int write_meta(const struct job *job, struct bf_trace_writer *w)
{
	char seed[24];
	int rc = bf_trace_meta(w, "command", "replay");

	snprintf(seed, sizeof(seed), "%" PRIu64, job->opts.seed);
	if (!rc)
		rc = bf_trace_meta(w, "version", BELFRY_VERSION);
	if (!rc)
		rc = bf_trace_meta(w, "seed", seed);
	if (!rc)
		rc = bf_trace_meta(w, "profile", bf_arg_text(job->args, "profile"));
	if (!rc)
		rc = bf_trace_meta(w, "source", job->path);
	return rc == -EINVAL ? 0 : rc; /* a file name that is not UTF-8 is not worth failing for */
}

static int run_traced(struct job *job, const char *path, FILE *file, struct bf_error *err)
{
	const struct bf_trace_options o = { .jsonl = path && bf_input_is_jsonl(path) };
	struct bf_trace_writer *w;
	int rc = bf_trace_writer_open(path, file, &o, &w, err), closed;

	if (rc)
		return rc;
	rc = write_meta(job, w);
	if (!rc)
		rc = run_once(job, bf_trace_sink(w), BF_CLASS_ALL, err);
	closed = bf_trace_writer_close(w);
	return rc ? rc : closed;
}

/* Packets come out of a trace: the one that is kept, or one that is not. */
static int write_pcapng(struct job *job, const char *trace_path, const char *path, struct bf_error *err)
{
	FILE *trace = NULL, *out = NULL;
	struct bf_trace *t = NULL;
	int rc = 0;

	if (!trace_path) {
		trace = tmpfile();
		if (!trace)
			return bf_fail(err, -errno, "no temporary file: %s", strerror(errno));
		rc = run_traced(job, NULL, trace, err);
		rewind(trace);
	}
	if (!rc)
		rc = bf_trace_open(trace_path ? trace_path : "the replay", trace, &t, err);
	if (!rc) {
		out = fopen(path, "wb");
		rc = out ? bf_pcapng_export(t, NULL, out, NULL, err)
			 : bf_fail(err, -errno, "cannot write %s: %s", path, strerror(errno));
	}
	if (out) {
		int closed = bf_output_close(out, path, rc ? NULL : err);

		rc = rc ? rc : closed;
	}
	if (t)
		bf_trace_close(t);
	if (trace)
		fclose(trace);
	return rc;
}

/* The captured device, unless the queue pair is its peer's. */
static const char *life_device(const struct job *job)
{
	if (!job->life_asked)
		return job->result->example == BF_REPLAY_EXAMPLE_PEER ? "nic1" : "nic0";
	for (size_t i = 0; i < job->result->nqueues; i++) {
		if (job->result->queues[i].qpn == job->life_qpn)
			return "nic0";
	}
	return "nic1";
}

/* The same replay once more, for the story: which entry to follow is known only after the first. */
static int run_life(struct job *job, struct bf_error *err)
{
	int rc;

	if (job->life_none)
		return 0;
	if (!job->life_asked) {
		if (job->result->example == BF_REPLAY_EXAMPLE_NONE)
			return 0;
		job->life_qpn = job->result->example_qpn;
		job->life_index = job->result->example_index;
	}
	if (bf_explain_create(life_device(job), job->life_qpn, job->life_index, &job->life))
		return bf_fail(err, -ENOMEM, "out of memory");
	rc = run_once(job, bf_explain_sink(job->life), LIFE_CLASSES, err);
	if (!rc)
		bf_explain_finish(job->life);
	return rc;
}

static int run_all(struct job *job, struct bf_error *err)
{
	const char *trace = bf_arg_text(job->args, "trace"), *pcapng = bf_arg_text(job->args, "pcapng");
	int rc = 0;

	if (trace)
		rc = run_traced(job, trace, NULL, err);
	if (!rc && pcapng)
		rc = write_pcapng(job, trace, pcapng, err);
	if (!rc && !job->result)
		rc = run_once(job, NULL, 0, err);
	return rc ? rc : run_life(job, err);
}

/* ---- text ---- */

static const char *completion_text(const struct bf_replay_cqe *c, char *buf, size_t cap)
{
	if (c->syndrome)
		snprintf(buf, cap, "%s of entry %u, syndrome 0x%02x (%s), vendor 0x%02x",
			 bf_mlx5_cqe_opcode_name(c->opcode), c->counter, c->syndrome,
			 bf_mlx5_syndrome_text(c->syndrome), c->vendor);
	else
		snprintf(buf, cap, "%s of entry %u", bf_mlx5_cqe_opcode_name(c->opcode), c->counter);
	return buf;
}

static void print_divergence(const struct bf_replay_divergence *d)
{
	const struct bf_replay_cqe *c = d->captured.line ? &d->captured : &d->simulated;
	char text[128], where[32], what[192];

	snprintf(where, sizeof(where), d->captured.line ? "line %" PRIu32 : "not in it", d->captured.line);
	snprintf(what, sizeof(what), "CQ 0x%" PRIx32 ", completion %" PRIu32 ", QP 0x%" PRIx32 ": %s", d->cqn,
		 d->number, c->qpn, completion_text(c, text, sizeof(text)));
	printf("  %-10s %-9s ", where, bf_replay_verdict_name(d->verdict));
	bf_cli_wrap(stdout, what, 23, 23);
	printf("%23s", "");
	bf_cli_wrap(stdout, d->text, 23, 23);
}

/* The model's queue pair had failed before this one: what matters is why. */
static bool is_aftermath(const struct bf_replay_divergence *d)
{
	return d->verdict != BF_REPLAY_MISSING && d->verdict != BF_REPLAY_NUMBERING &&
	       d->simulated.syndrome == BF_MLX5_SYND_WR_FLUSH && d->captured.syndrome != BF_MLX5_SYND_WR_FLUSH;
}

static void list_divergences(const struct bf_replay_result *r, uint64_t limit)
{
	size_t flushed = 0, listed, shown = 0;

	for (size_t i = 0; i < r->ndivergences; i++)
		flushed += is_aftermath(&r->divergences[i]);
	if (flushed == r->ndivergences)
		flushed = 0;
	listed = r->ndivergences - flushed;
	for (size_t i = 0; i < r->ndivergences && shown < limit; i++) {
		if (flushed && is_aftermath(&r->divergences[i]))
			continue;
		print_divergence(&r->divergences[i]);
		shown++;
	}
	if (listed > shown)
		printf("  ... and %zu more (--limit=%zu shows all)\n", listed - shown, listed);
	if (flushed)
		printf("  not listed: %zu completion%s that the device only flushed, as its queue pair had failed\n",
		       flushed, flushed == 1 ? "" : "s");
}

static void print_divergences(const struct job *job)
{
	const struct bf_replay_result *r = job->result;

	if (r->ndivergences == 0) {
		printf("\nThe model agrees with all %" PRIu32
		       " completions: order, counters, opcodes, byte counts, syndromes.\n",
		       r->captured);
		return;
	}
	printf("\n%zu divergence%s:\n", r->ndivergences, r->ndivergences == 1 ? "" : "s");
	list_divergences(r, bf_arg_u64(job->args, "limit"));
}

static void print_rows(const struct bf_replay_result *r)
{
	printf("  %-22s %5s  %7s  %9s  %21s\n", "", "", "", "", "completions");
	printf("  %-22s %5s  %7s  %9s  %9s  %10s  %6s  %11s\n", "queue", "ring", "entries", "doorbells", "captured",
	       "simulated", "errors", "divergences");
	for (size_t i = 0; i < r->nqueues; i++) {
		const struct bf_replay_queue *q = &r->queues[i];
		char name[40], doorbells[16] = "-";

		snprintf(name, sizeof(name), "QP 0x%" PRIx32 " %s", q->qpn,
			 q->side == BF_REPLAY_SEND ? "send" : "receive");
		if (q->side == BF_REPLAY_SEND)
			snprintf(doorbells, sizeof(doorbells), "%" PRIu32, q->doorbells);
		printf("  %-22s %5" PRIu32 "  %7" PRIu32 "  %9s  %9" PRIu32 "  %10" PRIu32 "  %6" PRIu32 "  %11" PRIu32
		       "\n",
		       name, q->depth, q->entries, doorbells, q->captured, q->simulated, q->errors, q->divergences);
	}
}

/* What the replay had to make up, so that nobody takes it for captured. */
static void print_made_up(const struct bf_replay_result *r)
{
	for (size_t i = 0; i < r->nqueues; i++) {
		const struct bf_replay_queue *q = &r->queues[i];

		if (q->stand_ins && q->side == BF_REPLAY_SEND)
			printf("  QP 0x%" PRIx32 ": the capture lacks %" PRIu32
			       " flushed entr%s: stand-ins have the opcode that "
			       "completion%s\n",
			       q->qpn, q->stand_ins, q->stand_ins == 1 ? "y" : "ies",
			       q->stand_ins == 1 ? " names" : "s name");
		if (q->stand_ins && q->side == BF_REPLAY_RECV)
			printf("  QP 0x%" PRIx32 ": the capture lacks %" PRIu32
			       " receive entr%s (unread ones have no line); "
			       "empty ones stand in\n",
			       q->qpn, q->stand_ins, q->stand_ins == 1 ? "y" : "ies");
		if (q->unrung)
			printf("  QP 0x%" PRIx32 ": no doorbell of the capture covers its last %" PRIu32 " entr%s\n",
			       q->qpn, q->unrung, q->unrung == 1 ? "y" : "ies");
	}
}

static const char *why_this_one(const struct job *job)
{
	static const char *const why[] = {
		[BF_REPLAY_EXAMPLE_NONE] = "",
		[BF_REPLAY_EXAMPLE_DIVERGED] = ", the first that diverges",
		[BF_REPLAY_EXAMPLE_FAILED] = ", the first that failed",
		[BF_REPLAY_EXAMPLE_UNRUNG] = ", the first that no doorbell covers",
		[BF_REPLAY_EXAMPLE_SENT] = ", the first that asked for a completion",
		[BF_REPLAY_EXAMPLE_PEER] = ", what the peer sent for the first receive",
	};

	return job->life_asked ? "" : why[job->result->example];
}

static void print_text(const struct job *job)
{
	const struct bf_replay_result *r = job->result;
	bool peer = false;

	for (size_t i = 0; i < r->nqueues; i++)
		peer = peer || r->queues[i].made_up_peer;
	printf("Replay of %s: %zu events\n", job->path, job->capture->count);
	printf("  nic0 is the captured device (profile %s, MTU %" PRIu32 "); ", job->profile.name, job->opts.mtu);
	printf(peer ? "nic1 is its peer, made up\n\n" : "both ends of each connection are captured\n\n");
	print_rows(r);
	print_made_up(r);
	print_divergences(job);
	if (job->life) {
		printf("\nThe life of entry %u of QP 0x%" PRIx32 "%s:\n\n", job->life_index, job->life_qpn,
		       why_this_one(job));
		bf_explain_print(job->life, stdout, bf_cli_columns(stdout));
	}
	if (job->counts) {
		putchar('\n');
		bf_counts_print_stats(stdout, job->counts);
	}
}

/* ---- JSON ---- */

static void json_cqe(struct bf_json *j, const char *key, const struct bf_replay_cqe *c)
{
	bf_json_open(j, key, '{');
	if (c->line)
		bf_json_u64(j, "line", c->line);
	bf_json_u64(j, "number", c->number);
	bf_json_u64(j, "opcode", c->opcode);
	bf_json_u64(j, "wqe_opcode", c->wqe_opcode);
	bf_json_hex(j, "qpn", c->qpn);
	bf_json_u64(j, "wqe_counter", c->counter);
	bf_json_u64(j, "byte_count", c->byte_count);
	bf_json_hex(j, "immediate", c->imm);
	bf_json_hex(j, "syndrome", c->syndrome);
	bf_json_hex(j, "vendor_syndrome", c->vendor);
	bf_json_u64(j, "time_ps", c->time_ps);
	bf_json_close(j, '}');
}

static void json_divergences(struct bf_json *j, const struct bf_replay_result *r)
{
	bf_json_open(j, "divergences", '[');
	for (size_t i = 0; i < r->ndivergences; i++) {
		const struct bf_replay_divergence *d = &r->divergences[i];

		bf_json_open(j, NULL, '{');
		bf_json_text(j, "verdict", bf_replay_verdict_name(d->verdict));
		bf_json_hex(j, "cqn", d->cqn);
		bf_json_u64(j, "number", d->number);
		if (d->captured.line)
			json_cqe(j, "captured", &d->captured);
		if (d->verdict != BF_REPLAY_MISSING && d->verdict != BF_REPLAY_NUMBERING)
			json_cqe(j, "simulated", &d->simulated);
		bf_json_text(j, "text", d->text);
		bf_json_close(j, '}');
	}
	bf_json_close(j, ']');
}

static void json_rows(struct bf_json *j, const struct bf_replay_result *r)
{
	bf_json_open(j, "queues", '[');
	for (size_t i = 0; i < r->nqueues; i++) {
		const struct bf_replay_queue *q = &r->queues[i];

		bf_json_open(j, NULL, '{');
		bf_json_hex(j, "qpn", q->qpn);
		bf_json_hex(j, "cqn", q->cqn);
		bf_json_text(j, "side", q->side == BF_REPLAY_SEND ? "send" : "receive");
		bf_json_u64(j, "depth", q->depth);
		bf_json_u64(j, "entries", q->entries);
		bf_json_u64(j, "stand_ins", q->stand_ins);
		bf_json_u64(j, "doorbells", q->doorbells);
		bf_json_u64(j, "unrung", q->unrung);
		bf_json_u64(j, "captured", q->captured);
		bf_json_u64(j, "simulated", q->simulated);
		bf_json_u64(j, "errors", q->errors);
		bf_json_u64(j, "divergences", q->divergences);
		bf_json_bool(j, "made_up_peer", q->made_up_peer);
		bf_json_close(j, '}');
	}
	bf_json_close(j, ']');
}

static void print_json(const struct job *job)
{
	const struct bf_replay_result *r = job->result;
	struct bf_json j;

	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_text(&j, "capture", job->path);
	bf_json_u64(&j, "events", job->capture->count);
	bf_json_u64(&j, "seed", job->opts.seed);
	bf_json_text(&j, "profile", bf_arg_text(job->args, "profile"));
	bf_json_u64(&j, "mtu", job->opts.mtu);
	bf_json_bool(&j, "agrees", r->ndivergences == 0);
	bf_json_u64(&j, "captured", r->captured);
	bf_json_u64(&j, "simulated", r->simulated);
	bf_json_u64(&j, "packets", r->packets);
	bf_json_u64(&j, "time_ps", r->time_ps);
	json_rows(&j, r);
	json_divergences(&j, r);
	if (job->life)
		bf_explain_json(&j, job->life);
	if (job->counts)
		bf_counts_json_stats(&j, job->counts);
	if (job->damage)
		bf_json_text(&j, "error", job->damage_error.text);
	bf_json_close(&j, '}');
	bf_json_end(&j);
}

/* ---- the command ---- */

static int parse_choices(struct job *job)
{
	const char *life = bf_arg_text(job->args, "life");
	struct bf_error err = { 0 };

	if (bf_mlx5_work_profile_parse(bf_arg_text(job->args, "profile"), &job->profile, &err))
		return bf_cli_error(job->args, BF_EXIT_USAGE, "--profile: %s", err.text);
	job->life_none = life && strcmp(life, "none") == 0;
	job->life_asked = life && !job->life_none;
	if (job->life_asked && !bf_explain_entry(life, &job->life_qpn, &job->life_index))
		return bf_cli_error(job->args, BF_EXIT_USAGE,
				    "--life expects QPN:INDEX, such as 0x100001:81, or none; got '%s'", life);
	job->opts = (struct bf_replay_opts){
		.seed = bf_arg_u64(job->args, "seed"),
		.profile = &job->profile,
		.mtu = (uint32_t)bf_arg_u64(job->args, "mtu"),
		.progress = on_progress,
		.progress_arg = &job->progress,
		.done = bf_arg_flag(job->args, "stats") ? on_done : NULL,
		.done_arg = job,
	};
	return 0;
}

static int show(const struct job *job)
{
	if (bf_arg_json(job->args))
		print_json(job);
	else
		print_text(job);
	if (job->damage) {
		fflush(stdout);
		fprintf(stderr, "belfry replay: %s; the events in front of it were replayed\n", job->damage_error.text);
		return BF_EXIT_USAGE;
	}
	return job->result->ndivergences ? BF_EXIT_FAILED : BF_EXIT_GOOD;
}

static int replay(const struct bf_args *args, const char *path, FILE *f)
{
	struct job job = { .args = args, .path = path };
	struct bf_error err = { 0 };
	int code = parse_choices(&job);

	if (code)
		return code;
	job.damage = bf_capture_load_file(f, path, &job.capture, &job.damage_error);
	if (!job.capture || job.capture->count == 0)
		code = bf_cli_error(args, BF_EXIT_USAGE, "%s",
				    job.damage ? job.damage_error.text : "the capture is empty");
	else if (run_all(&job, &err)) /* what is wrong with the file comes before what is wrong with the rest of it */
		code = bf_cli_error(args, BF_EXIT_USAGE, "%s%s%s", job.damage ? "" : job.path, job.damage ? "" : ": ",
				    job.damage ? job.damage_error.text : err.text);
	else
		code = show(&job);
	bf_explain_free(job.life);
	bf_counts_free(job.counts);
	bf_replay_free(job.result);
	bf_capture_free(job.capture);
	return code;
}

static int again(const struct bf_input *in, struct bf_sink *sink, struct bf_error *err)
{
	const struct bf_replay_opts opts = { .seed = 1, .record_mask = BF_CLASS_ALL, .sink = sink };
	struct bf_replay_result *r = NULL;
	int rc;

	if (!in->capture)
		return -ENOENT;
	rc = bf_replay_run(in->capture, &opts, &r, err);
	bf_replay_free(r);
	return rc;
}

const struct bf_replay_kind bf_replay_mlx5 = {
	.form = { .name = BF_CAPTURE_FORM,
		  .details =
		      "a capture of mlx5 queue traffic, or a trace into which one was imported. The captured bytes are "
		      "written into rings at the captured indices, the doorbell record is set, and the doorbell is "
		      "rung. "
		      "The model executes the entries, over packets, with the captured peer or with one that is made "
		      "up. "
		      "Its completions are compared with the captured ones, queue by queue." },
	.probe = bf_capture_probe,
	.replay = replay,
	.again = again,
	.option = "layout",
	.by_option = bf_replay_layout,
	.profiles = bf_mlx5_work_profile_name,
};

/*
 * belfry replay of a dumped SDMA ring: which packets the engine executes, and where and why it stops.
 */

#include <inttypes.h>
#include <string.h>

#include "models/sdma/decode.h"
#include "tools/replay/kind.h"
#include "tools/replay/trace.h"
#include "traces/import/capture.h"
#include "traces/replay/sdma.h"

#define DEFAULT_GEN "v6"

/* The packets from the read pointer on: those before it may be cut. */
static const uint32_t *waiting(const struct bf_sdma_dump *d, size_t *n)
{
	const size_t skip =
	    d->has_rptr && d->rptr >= d->first && d->rptr - d->first < d->count ? d->rptr - d->first : 0;

	*n = d->count - skip;
	if (d->has_wptr && d->wptr > d->first + skip && d->wptr - d->first < d->count)
		*n = d->wptr - d->first - skip;
	return d->dw + skip;
}

/* A dump says nothing of its generation: one that defines all of its packets, if the usual one does not. */
static void choose_gen(const struct bf_args *args, const struct bf_sdma_dump *d, struct bf_sdma_replay_opts *o)
{
	const struct bf_sdma_profile *usual = o->profile;
	uint32_t mask;
	char gens[64];
	size_t n;
	const uint32_t *dw = waiting(d, &n);

	if (bf_arg_given(args, "profile") || !bf_sdma_gens_of(dw, n, &mask, gens, sizeof(gens)) ||
	    mask >> BF_SDMA_V6 & 1)
		return;
	o->profile = bf_sdma_profile_find(bf_sdma_gen_name((enum bf_sdma_gen)__builtin_ctz(mask)));
	if (!o->profile)
		o->profile = usual;
	else if (!bf_arg_json(args))
		printf("These are packets of %s, not of " DEFAULT_GEN ": read as %s (--profile names another).\n", gens,
		       o->profile->name);
}

static int check_options(const struct bf_args *args, struct bf_sdma_replay_opts *o)
{
	const char *profile = bf_arg_given(args, "profile") ? bf_arg_text(args, "profile") : DEFAULT_GEN;
	const int code = bf_replay_check_options(args);

	if (code)
		return code;
	o->profile = bf_sdma_profile_find(profile);
	o->seed = bf_arg_u64(args, "seed");
	if (!o->profile)
		return bf_cli_error(args, BF_EXIT_USAGE,
				    "--profile: '%s' is no SDMA generation; there are v4, v5, v6, v7, v7.1", profile);
	return 0;
}

static int run(const struct bf_args *args, const char *path, const struct bf_sdma_dump *d,
	       struct bf_sdma_replay_opts *o, struct bf_sdma_replay_result **r, struct bf_error *err)
{
	struct bf_trace_writer *w;
	int rc = bf_replay_trace_open(args, path, o->profile->name, &w, err), closed;

	if (rc || !w)
		return rc ? rc : bf_sdma_replay_run(d, o, r, err);
	o->sink = bf_trace_sink(w);
	o->record_mask = BF_CLASS_ALL;
	rc = bf_sdma_replay_run(d, o, r, err);
	closed = bf_trace_writer_close(w);
	return rc ? rc : closed;
}

/* NULL: all were executed. */
static const struct bf_sdma_replayed *first_stopped(const struct bf_sdma_replay_result *r)
{
	for (size_t i = 0; i < r->npackets; i++)
		if (r->packets[i].fate != BF_SDMA_EXECUTED)
			return &r->packets[i];
	return NULL;
}

static bool all_executed(const struct bf_sdma_replay_result *r)
{
	return !first_stopped(r);
}

/* Packets of another generation: this engine stops at one, or ignores bits that mean something there. */
static void tell_gens(const struct bf_sdma_dump *d, const char *name)
{
	struct bf_sdma_dialect dialect;
	uint32_t mask;
	char gens[64];
	size_t n;
	const uint32_t *dw = waiting(d, &n);

	if (bf_sdma_gens_of(dw, n, &mask, gens, sizeof(gens)) && !bf_sdma_dialect_find(name, &dialect) &&
	    !(mask >> dialect.gen & 1))
		printf("%s does not define all of these packets; %s %s.\n", name, gens,
		       mask & (mask - 1) ? "do" : "does");
}

static void print_stop(const struct bf_sdma_replay_result *r, const struct bf_sdma_replayed *k,
		       const struct bf_sdma_dump *d)
{
	const uint32_t i = (k->place - d->first) & (r->ring_dwords - 1);
	const struct bf_sdma_fault *f = &r->end.fault;

	if (k->fate == BF_SDMA_WAITING)
		printf("The engine waits at place %" PRIu32 ": %s\n", k->place, r->end.waits);
	else if (f->reason && f->reason == BF_SDMA_MEMORY)
		printf("The engine stopped at place %" PRIu32 ": %s at 0x%" PRIx64 " (dword %" PRIu32 ")\n", k->place,
		       bf_sdma_reason_name(f->reason), f->address, f->dword);
	else if (f->reason)
		printf("The engine stopped at place %" PRIu32 ": %s: dword %" PRIu32 " is 0x%08" PRIx32 "\n", k->place,
		       bf_sdma_reason_name(f->reason), f->dword, f->value);
	else
		printf("The engine did not get past place %" PRIu32 "\n", k->place);
	bf_sdma_print(stdout, &k->packet, d->dw + i, (uint32_t)(d->count - i));
}

static void print_text(const struct bf_args *args, const struct bf_sdma_dump *d, const struct bf_sdma_replay_result *r,
		       const char *gen)
{
	const uint64_t limit = bf_arg_given(args, "limit") ? bf_arg_u64(args, "limit") : 40;

	printf("%s: ring of %" PRIu32 " dwords, packets from place %" PRIu32 " to %" PRIu32 "%s\n",
	       d->name[0] ? d->name : "SDMA ring", r->ring_dwords, r->from, r->to,
	       r->dump_stopped ? ", which the dumped engine had not fetched" : "");
	for (size_t i = 0; i < r->npackets && i < limit; i++) {
		const struct bf_sdma_replayed *k = &r->packets[i];

		printf("%8" PRIu32 "  %-22s %5" PRIu32 " dwords  %10" PRIu64 " bytes  %s\n", k->place, k->packet.name,
		       k->dwords, bf_sdma_packet_bytes(&k->packet), bf_sdma_replay_fate_name(k->fate));
	}
	if (r->npackets > limit)
		printf("(%zu more; --limit=N shows them)\n", r->npackets - (size_t)limit);
	printf("%zu packets, %" PRIu64 " bytes moved, %" PRIu64 " bytes of memory made up\n", r->npackets, r->bytes,
	       r->memory);
	if (!all_executed(r))
		print_stop(r, first_stopped(r), d);
	else if (r->dump_stopped)
		puts("The model executes all of it: what held the dumped engine is not in these packets.");
	else
		puts("The model executes all of it.");
	tell_gens(d, gen);
}

static void print_json(const char *path, const struct bf_sdma_dump *d, const struct bf_sdma_replay_result *r,
		       const struct bf_error *damage)
{
	struct bf_json j;

	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_text(&j, "dump", path);
	bf_json_text(&j, "name", d->name);
	bf_json_u64(&j, "ring_dwords", r->ring_dwords);
	bf_json_u64(&j, "from", r->from);
	bf_json_u64(&j, "to", r->to);
	bf_json_bool(&j, "dump_stopped", r->dump_stopped);
	bf_json_bool(&j, "all_executed", all_executed(r));
	bf_json_u64(&j, "bytes", r->bytes);
	bf_json_u64(&j, "time_ps", r->time_ps);
	bf_json_text(&j, "fault", r->end.fault.reason ? bf_sdma_reason_name(r->end.fault.reason) : NULL);
	if (r->end.fault.reason)
		bf_json_u64(&j, "fault_dword", r->end.fault.dword);
	bf_json_text(&j, "waits", r->end.waits);
	bf_json_open(&j, "packets", '[');
	for (size_t i = 0; i < r->npackets; i++) {
		const struct bf_sdma_replayed *k = &r->packets[i];

		bf_json_open(&j, NULL, '{');
		bf_json_u64(&j, "place", k->place);
		bf_json_text(&j, "packet", k->packet.name);
		bf_json_u64(&j, "dwords", k->dwords);
		bf_json_u64(&j, "bytes", bf_sdma_packet_bytes(&k->packet));
		bf_json_text(&j, "fate", bf_sdma_replay_fate_name(k->fate));
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
	struct bf_sdma_replay_result *r = NULL;
	struct bf_sdma_replay_opts o = { 0 };
	struct bf_sdma_dump *d = NULL;
	int code = check_options(args, &o);

	if (code)
		return code;
	bf_sdma_dump_load_file(f, path, &d, &damage);
	if (!d || d->count == 0) {
		code = bf_cli_error(args, BF_EXIT_USAGE, "%s: %s", path, damage.text);
	} else if ((choose_gen(args, d, &o), run(args, path, d, &o, &r, &err)) != 0) {
		code = bf_cli_error(args, BF_EXIT_USAGE, "%s: %s", path, err.text);
	} else {
		if (bf_arg_json(args))
			print_json(path, d, r, &damage);
		else
			print_text(args, d, r, o.profile->name);
		code = all_executed(r) ? BF_EXIT_GOOD : BF_EXIT_FAILED;
		if (damage.text[0]) {
			fflush(stdout);
			fprintf(stderr, "belfry replay: %s: %s; the dwords in front of it were replayed\n", path,
				damage.text);
			code = BF_EXIT_USAGE;
		}
	}
	bf_sdma_replay_free(r);
	bf_sdma_dump_free(d);
	return code;
}

/* All of it is words, and some generation knows its packets: rows of other words are dwords, too. */
static bool is_ring(const char *text, size_t len)
{
	struct bf_sdma_dump *d = NULL;
	struct bf_error err = { 0 };
	uint32_t mask;
	char gens[64];
	const bool whole = !memchr(text, '\0', len) && bf_sdma_dump_parse(text, len, &d, &err) == 0;
	const bool found =
	    whole && (d->has_rptr || (d->count && bf_sdma_gens_of(d->dw, d->count, &mask, gens, sizeof(gens))));

	bf_sdma_dump_free(d);
	return found;
}

const struct bf_replay_kind bf_replay_sdma = {
	.form = { .name = "sdma-ring",
		  .details = "a dump of an SDMA ring, or a trace into which one was imported. It runs on the copy "
			     "engine of the "
			     "generation that --profile names (v4, v5, v6, v7, v7.1): the result says where the engine "
			     "stops and "
			     "why." },
	.probe = bf_sdma_dump_probe,
	.whole = is_ring,
	.replay = replay,
};

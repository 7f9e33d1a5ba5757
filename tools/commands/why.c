/* belfry why: what somebody has of a failure, whatever its form, and what it means. */
#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/cli/input.h"
#include "tools/replay/kind.h"
#include "tools/report/findings.h"
#include "traces/container/text.h"
#include "traces/evidence/evidence.h"
#include "traces/evidence/packets.h"
#include "traces/import/capture.h"
#include "traces/import/ftrace.h"

#define HEAD_BYTES 4096u
#define SHOWN 3u /* lines of a group that are named */
#define GROUPS 1024u

/* Evidence that says the same: counted, answered once. */
struct group {
	const struct bf_evidence *first;
	const struct bf_meaning *meaning;
	uint64_t count;
	uint64_t line[SHOWN];
};

struct answer {
	struct bf_evidence_list list;
	struct bf_packet_count packets;
	struct bf_error damage; /* of a file of packets: what stands in front of it was read */
	struct group *group;
	size_t ngroups;
};

/* ---- what is a file that is no text ---- */

/* The commands that read traces answer for them; of standard input `f` is a copy. Returns their exit code. */
static int ask(const char *command, const char *path, FILE *f, const char *option)
{
	char *const argv[] = { strdup("belfry"), strdup(command), strdup(path), option ? strdup(option) : NULL, NULL };
	posix_spawn_file_actions_t actions;
	int status = 0;
	pid_t pid;

	fflush(stdout);
	posix_spawn_file_actions_init(&actions);
	if (strcmp(path, "-") == 0) {
		lseek(fileno(f), 0, SEEK_SET);
		posix_spawn_file_actions_adddup2(&actions, fileno(f), STDIN_FILENO);
	}
	if (posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ) != 0 || waitpid(pid, &status, 0) != pid)
		status = BF_EXIT_USAGE << 8;
	posix_spawn_file_actions_destroy(&actions);
	for (size_t i = 0; i < BF_ARRAY_LEN(argv); i++)
		free(argv[i]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : BF_EXIT_USAGE;
}

static bool is_trace(const char *head, size_t len)
{
	return len >= 8 && (memcmp(head,
				   "\x89"
				   "BFT",
				   4) == 0 ||
			    memmem(head, len < 256 ? len : 256, "belfry_trace", 12));
}

/* ---- groups ---- */

static bool same(const struct bf_evidence *a, const struct bf_evidence *b)
{
	return a->device == b->device && a->kind == b->kind && bf_evidence_meaning(a) == bf_evidence_meaning(b) &&
	       bf_evidence_syndrome(a) == bf_evidence_syndrome(b) &&
	       a->fact[BF_FACT_VENDOR] == b->fact[BF_FACT_VENDOR] &&
	       a->fact[BF_FACT_STATUS] == b->fact[BF_FACT_STATUS] &&
	       a->fact[BF_FACT_OPCODE] == b->fact[BF_FACT_OPCODE] &&
	       a->fact[BF_FACT_REFUSED] == b->fact[BF_FACT_REFUSED];
}

static int by_weight(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	const int fx = bf_evidence_follows(x->first), fy = bf_evidence_follows(y->first);
	const int ex = bf_evidence_harmless(x->first), ey = bf_evidence_harmless(y->first);

	if (ex != ey)
		return ex - ey;
	if (fx != fy)
		return fx - fy;
	return x->first < y->first ? -1 : x->first > y->first;
}

static int make_groups(struct answer *a)
{
	a->group = calloc(a->list.count ? a->list.count : 1, sizeof(*a->group));
	if (!a->group)
		return -ENOMEM;
	for (size_t i = 0; i < a->list.count; i++) {
		const struct bf_evidence *e = &a->list.item[i];
		size_t k = 0;

		while (k < a->ngroups && !same(a->group[k].first, e))
			k++;
		if (k == GROUPS) /* more kinds than anybody reads: counted with the last one */
			k--;
		if (k == a->ngroups)
			a->group[a->ngroups++] = (struct group){ .first = e, .meaning = bf_evidence_meaning(e) };
		if (a->group[k].count < SHOWN)
			a->group[k].line[a->group[k].count] = e->line;
		a->group[k].count++;
	}
	qsort(a->group, a->ngroups, sizeof(*a->group), by_weight);
	return 0;
}

/* The entry or command that a completion speaks of, where it was printed, too. */
static const struct bf_evidence *entry_of(const struct answer *a, const struct bf_evidence *e)
{
	const struct bf_evidence_about *about = bf_evidence_about(e->device);

	for (size_t i = 0; i < a->list.count && e->kind != BF_EVIDENCE_ENTRY; i++) {
		const struct bf_evidence *o = &a->list.item[i];

		if (o->kind == BF_EVIDENCE_ENTRY && o->device == e->device && about->is_of && about->is_of(e, o))
			return o;
	}
	return NULL;
}

/* ---- text ---- */

static void title(const struct group *g, char *text, size_t cap)
{
	const struct bf_evidence_about *about = bf_evidence_about(g->first->device);

	if (!about->status || !about->status(g->first, text, cap))
		snprintf(text, cap, "%s", g->meaning ? g->meaning->name : g->first->form);
}

static const char *place_name(const struct bf_evidence *e)
{
	return e->kind == BF_EVIDENCE_PACKET ? "packet" : "line";
}

static const char *facts_text(const struct bf_evidence *e, char *text, size_t cap)
{
	const struct bf_evidence_about *about = bf_evidence_about(e->device);
	size_t n = 0;

	snprintf(text, cap, "no field");
	for (enum bf_fact f = 0; f < BF_FACTS && n < cap; f++) {
		const int64_t v = e->fact[f];
		const char *comma = n ? ", " : "";

		if (v < 0)
			continue;
		if (f == BF_FACT_WQE_OPCODE && about->opcode)
			n += (size_t)snprintf(text + n, cap - n, "%s%s 0x%" PRIx64 " (%s)", comma, bf_facts[f].name,
					      (uint64_t)v, about->opcode((uint8_t)v));
		else if (bf_facts[f].hex)
			n += (size_t)snprintf(text + n, cap - n, "%s%s 0x%" PRIx64, comma, bf_facts[f].name,
					      (uint64_t)v);
		else
			n += (size_t)snprintf(text + n, cap - n, "%s%s %" PRId64, comma, bf_facts[f].name, v);
	}
	return text;
}

static void paragraph(const char *head, const char *text)
{
	printf("   %-10s ", head);
	bf_cli_wrap(stdout, text, 14, 14);
}

static void print_causes(const struct bf_meaning *m)
{
	const struct bf_cause_row *cause;
	const char *example = NULL;

	printf("   likely causes, the first ones first:\n");
	for (uint32_t i = 0; (cause = bf_meaning_cause(m, i)) != NULL; i++) {
		const struct bf_rule_about *r = cause->rule ? bf_rule_by_id(cause->rule) : NULL;
		char text[512];

		snprintf(text, sizeof(text), "%s%s%s%s%s", r ? r->id : "", r ? " (" : "", r ? r->title : "",
			 r ? "): " : "", cause->tell);
		printf("   %u. ", i + 1);
		bf_cli_wrap(stdout, text, 6, 6);
		if (!example && r)
			example = r->example;
	}
	paragraph("look at:", m->look);
	if (example)
		printf("   %-10s belfry %s\n", "here:", example);
}

static void print_group(const struct answer *a, const struct group *g, uint32_t number)
{
	const struct bf_evidence *entry = entry_of(a, g->first);
	char head[160], text[1024];

	title(g, head, sizeof(head));
	printf("\n%" PRIu32 ". %s: %s", number, bf_evidence_about(g->first->device)->name, head);
	if (g->count > 1)
		printf(" (%" PRIu64 " times)", g->count);
	printf("\n   %s %-5" PRIu64 " %s\n", place_name(g->first), g->first->line, g->first->text);
	printf("   %-10s ", "form:");
	printf("%s", g->first->form);
	for (uint32_t i = 1; i < g->count && i < SHOWN; i++)
		printf("%s %s %" PRIu64, i == 1 ? "; also" : ",", place_name(g->first), g->line[i]);
	if (g->count > SHOWN)
		printf(" and %" PRIu64 " more", g->count - SHOWN);
	printf("\n");
	paragraph("says:", facts_text(g->first, text, sizeof(text)));
	if (entry) {
		const int n = snprintf(text, sizeof(text), "line %" PRIu64 ": ", entry->line);

		facts_text(entry, text + n, sizeof(text) - (size_t)n);
		paragraph("its entry:", text);
	}
	if (!g->meaning)
		return;
	paragraph("means:", g->meaning->means);
	print_causes(g->meaning);
}

static void print_packets(const struct bf_packet_count *p)
{
	printf("%" PRIu64 " packet%s, ", p->frames, p->frames == 1 ? "" : "s");
	if (p->roce)
		printf("%" PRIu64 " of RoCE", p->roce);
	else
		printf("none of RoCE (UDP port 4791)");
	if (p->cut)
		printf("; %" PRIu64 " cut within their headers", p->cut);
	if (p->unknown)
		printf("; %" PRIu64 " of a link type or opcode that is not known", p->unknown);
	printf("\n");
}

static void print_answer(const struct answer *a)
{
	uint64_t follows = 0;

	for (size_t i = 0; i < a->list.count; i++)
		follows += bf_evidence_follows(&a->list.item[i]);
	if (a->list.lines)
		printf("%" PRIu64 " line%s, ", a->list.lines, a->list.lines == 1 ? "" : "s");
	printf("%zu piece%s of evidence", a->list.count, a->list.count == 1 ? "" : "s");
	if (follows)
		printf(", of which %" PRIu64 " flushed: they only follow from an earlier error", follows);
	printf("\n");
	for (size_t i = 0; i < a->ngroups; i++)
		print_group(a, &a->group[i], (uint32_t)i + 1);
}

/* ---- JSON ---- */

static void json_facts(struct bf_json *j, const struct bf_evidence *e)
{
	bf_json_open(j, "facts", '{');
	for (enum bf_fact f = 0; f < BF_FACTS; f++) {
		if (e->fact[f] < 0)
			continue;
		if (bf_facts[f].hex)
			bf_json_hex(j, bf_facts[f].name, (uint64_t)e->fact[f]);
		else
			bf_json_u64(j, bf_facts[f].name, (uint64_t)e->fact[f]);
	}
	bf_json_close(j, '}');
}

static void json_evidence(struct bf_json *j, const struct bf_evidence *e)
{
	const struct bf_meaning *m = bf_evidence_meaning(e);

	bf_json_open(j, NULL, '{');
	bf_json_u64(j, place_name(e), e->line);
	bf_json_text(j, "device", bf_evidence_about(e->device)->name);
	bf_json_text(j, "form", e->form);
	bf_json_text(j, "text", e->text);
	bf_json_text(j, "meaning", m ? m->name : NULL);
	bf_json_bool(j, "follows", bf_evidence_follows(e));
	json_facts(j, e);
	bf_json_close(j, '}');
}

static void json_group(struct bf_json *j, const struct group *g)
{
	const struct bf_meaning *m = g->meaning;
	const struct bf_cause_row *cause;
	char head[160];

	title(g, head, sizeof(head));
	bf_json_open(j, NULL, '{');
	bf_json_text(j, "what", head);
	bf_json_u64(j, "count", g->count);
	bf_json_u64(j, g->first->kind == BF_EVIDENCE_PACKET ? "first_packet" : "first_line", g->first->line);
	bf_json_text(j, "means", m ? m->means : NULL);
	bf_json_open(j, "causes", '[');
	for (uint32_t i = 0; m && (cause = bf_meaning_cause(m, i)) != NULL; i++) {
		const struct bf_rule_about *r = cause->rule ? bf_rule_by_id(cause->rule) : NULL;

		bf_json_open(j, NULL, '{');
		bf_json_text(j, "rule", r ? r->id : NULL);
		bf_json_text(j, "tell", cause->tell);
		bf_json_text(j, "example", r ? r->example : NULL);
		bf_json_close(j, '}');
	}
	bf_json_close(j, ']');
	bf_json_text(j, "look", m ? m->look : NULL);
	bf_json_close(j, '}');
}

static void json_answer(const struct answer *a)
{
	struct bf_json j;

	bf_json_begin(&j, stdout);
	bf_json_open(&j, NULL, '{');
	bf_json_u64(&j, "lines", a->list.lines);
	bf_json_u64(&j, "packets", a->packets.frames);
	bf_json_u64(&j, "roce_packets", a->packets.roce);
	bf_json_u64(&j, "packets_cut", a->packets.cut);
	bf_json_u64(&j, "packets_unknown", a->packets.unknown);
	bf_json_open(&j, "evidence", '[');
	for (size_t i = 0; i < a->list.count; i++)
		json_evidence(&j, &a->list.item[i]);
	bf_json_close(&j, ']');
	bf_json_open(&j, "answers", '[');
	for (size_t i = 0; i < a->ngroups; i++)
		json_group(&j, &a->group[i]);
	bf_json_close(&j, ']');
	if (a->damage.code)
		bf_json_text(&j, "error", a->damage.text);
	bf_json_close(&j, '}');
	bf_json_end(&j);
}

/* ---- the command ---- */

enum kind { KIND_TEXT, KIND_TRACE, KIND_CAPTURE, KIND_RING };

/*
 * A trace is judged. A capture is judged too, also by what its replay records, and then compared with the model, which
 * tells the life of what failed; one that cannot be replayed keeps its verdict. A ring is run.
 */
static int ask_others(const char *path, FILE *f, enum kind kind)
{
	const int verdict = kind == KIND_RING ? BF_EXIT_GOOD : ask("lint", path, f, NULL);
	int code;

	if (kind == KIND_TRACE)
		return verdict == BF_EXIT_GOOD ? ask("explain", path, f, "--stuck") : verdict;
	code = ask("replay", path, f, NULL);
	return verdict == BF_EXIT_GOOD ? code : verdict;
}

/* What a file that is no text is, and what makes one of it; NULL: it may be text. */
static const char *no_text(const char *head, size_t len)
{
	static const struct {
		const char *begins, *is;
	} packed[] = { { "\x1f\x8b", "it is compressed: gzip -dc FILE | belfry why" },
		       { "\x28\xb5\x2f\xfd", "it is compressed: zstd -dc FILE | belfry why" },
		       { "\xfd"
			 "7zXZ",
			 "it is compressed: xz -dc FILE | belfry why" },
		       { "BZh", "it is compressed: bzip2 -dc FILE | belfry why" },
		       { "\x04\x22\x4d\x18", "it is compressed: lz4 -dc FILE | belfry why" },
		       { "PK\x03\x04", "it is compressed: unzip -p FILE | belfry why" },
		       { "\x7f"
			 "ELF",
			 "it is a program or a memory dump: what was printed before it is needed" } };
	size_t control = 0;

	for (size_t i = 0; i < BF_ARRAY_LEN(packed); i++)
		if (len >= strlen(packed[i].begins) && memcmp(head, packed[i].begins, strlen(packed[i].begins)) == 0)
			return packed[i].is;
	if (len >= 2 && (memcmp(head, "\xff\xfe", 2) == 0 || memcmp(head, "\xfe\xff", 2) == 0))
		return NULL; /* UTF-16 */
	while (len && !head[len - 1])
		len--;
	for (size_t i = 0; i < len; i++)
		control += (unsigned char)head[i] < ' ' && !strchr("\t\n\r\x1b\f\b", head[i]);
	return control * 20 > len ? "it is neither text nor a trace, a capture or packets" : NULL;
}

/* Text without evidence: a Linux trace may lack a completion, and words may be a ring. */
static enum kind kind_of_silent(const char *text, size_t len)
{
	if (bf_ftrace_probe(text, len < HEAD_BYTES ? len : HEAD_BYTES))
		return KIND_CAPTURE;
	return bf_replay_whole(text, len) ? KIND_RING : KIND_TEXT;
}

/* 0 with the text's evidence added, or an exit code; `*done`: other commands have answered. */
static int take_file(const struct bf_args *args, const char *path, struct answer *a, bool *done)
{
	const size_t before = a->list.count;
	struct bf_error err = { 0 };
	char head[HEAD_BYTES], *text = NULL;
	size_t n = 0, len;
	enum kind kind;
	const char *why;
	FILE *f;
	int rc = bf_input_peek(path, &f, head, sizeof(head), &n, &err);

	if (rc)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	kind = is_trace(head, n) ? KIND_TRACE : bf_capture_probe(head, n) ? KIND_CAPTURE : KIND_TEXT;
	*done = kind != KIND_TEXT;
	if (*done) {
		rc = ask_others(path, f, kind);
		fclose(f);
		return rc;
	}
	if (bf_packets_probe(head, n)) {
		rc = bf_packets_read(f, path, &a->list, &a->packets, &err);
		fclose(f);
		if (rc && rc != -EBADMSG)
			return bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
		a->damage = rc ? err : a->damage;
		return 0;
	}
	why = no_text(head, n);
	if (why) {
		fclose(f);
		return bf_cli_error(args, BF_EXIT_USAGE, "%s: %s", path, why);
	}
	rc = bf_text_whole(f, path, &text, &len, &err);
	rc = rc ? rc : bf_evidence_read(text, len, &a->list, &err);
	kind = !rc && a->list.count == before ? kind_of_silent(text, len) : KIND_TEXT;
	*done = kind != KIND_TEXT;
	free(text);
	if (rc)
		rc = bf_cli_error(args, BF_EXIT_USAGE, "%s", err.text);
	else if (*done)
		rc = ask_others(path, f, kind);
	fclose(f);
	return rc;
}

static void print_nothing(const struct answer *a)
{
	if (a->list.lines || !a->packets.frames)
		printf("%" PRIu64 " line%s, and nothing in %s that is known as evidence.\n"
		       "`belfry why --help` lists what is known; a trace or a capture is better evidence than a log:\n"
		       "`belfry record -- PROGRAM`, `belfry exec --trace FILE -- PROGRAM`.\n",
		       a->list.lines, a->list.lines == 1 ? "" : "s", a->list.lines == 1 ? "it" : "them");
	if (a->packets.roce)
		printf("No NAK, no packet sent again or late, no CNP.\n");
}

/* The answer, and the exit code. `others`: commands for traces have told theirs. */
static int tell(const struct bf_args *args, const struct answer *a, bool others)
{
	bool error = false;

	for (size_t i = 0; i < a->ngroups; i++)
		error =
		    error || a->group[i].first->kind == BF_EVIDENCE_ENTRY || !bf_evidence_harmless(a->group[i].first);
	if (bf_arg_json(args) && !others) {
		json_answer(a);
	} else {
		if (a->packets.frames)
			print_packets(&a->packets);
		if (a->list.count)
			print_answer(a);
		else if (!others)
			print_nothing(a);
	}
	if (a->damage.code) {
		fflush(stdout);
		fprintf(stderr, "belfry why: %s\n", a->damage.text);
		return BF_EXIT_USAGE;
	}
	return error ? BF_EXIT_FINDINGS : BF_EXIT_GOOD;
}

/* A file that cannot be read does not silence the others; as JSON there is one document, which is the error then. */
static int run_why(const struct bf_args *args)
{
	const unsigned n = bf_arg_positional_count(args);
	struct answer a = { 0 };
	bool any = false, failed = false;
	int code = BF_EXIT_GOOD, told;

	for (unsigned i = 0; i < (n ? n : 1) && !(failed && bf_arg_json(args)); i++) {
		bool done = false;
		const int one = take_file(args, n ? bf_arg_positional(args, i) : "-", &a, &done);

		any = any || done || one == BF_EXIT_USAGE;
		failed = failed || one == BF_EXIT_USAGE;
		code = one > code ? one : code;
	}
	if (failed && bf_arg_json(args)) {
		bf_evidence_free(&a.list);
		return BF_EXIT_USAGE;
	}
	told = make_groups(&a) ? bf_cli_error(args, BF_EXIT_USAGE, "out of memory") : tell(args, &a, any);
	free(a.group);
	bf_evidence_free(&a.list);
	failed = failed || told == BF_EXIT_USAGE;
	return failed ? BF_EXIT_USAGE : told > code ? told : code;
}

static const struct bf_opt options[] = { { .name = NULL } };

/* Line `i` of what the devices say that is read of them. */
static const char *known_at(unsigned i)
{
	for (enum bf_evidence_device d = 0; d < BF_EVIDENCE_DEVICES; d++)
		for (const char *const *line = bf_evidence_about(d)->known; line && *line; line++)
			if (i-- == 0)
				return *line;
	return NULL;
}

const struct bf_command bf_cmd_why = {
	.name = "why",
	.usage = "why [FILE...]",
	.summary = "paste what you have of a failure, get what it means and its likely causes",
	.terms = "It knows",
	.term = known_at,
	.details =
	    "Reads standard input or files: whole logs or single lines, with clocks and ranks in front, several dumps "
	    "in one paste. Names each piece of evidence, reads its fields as their author prints them (NCCL in "
	    "decimal, GPUNetIO with bytes swapped), and separates the first error from its consequences. "
	    "Likely causes are rules: `belfry rules ID` explains one, `belfry rules 13/88` finds them by "
	    "syndrome, status or name.\n"
	    "\n"
	    "It also reads rows of bare words: completions and rings. A trace goes to lint and explain, a capture or "
	    "Linux trace to lint and replay, a dumped ring to replay.\n"
	    "\n"
	    "Texts may be quoted, coloured, wrapped, escaped as JSON or HTML, or in UTF-16.\n"
	    "\n"
	    "Exit code 3: there is evidence of an error. 0: no known evidence (a CNP is no error). 2: a file cannot be "
	    "read to its end, or is not text (for a compressed log, why says how to unpack it); the other files are "
	    "still reported.\n"
	    "\n"
	    "Examples:\n"
	    "  dmesg | belfry why\n"
	    "  belfry why nccl.log\n"
	    "  belfry why roce.pcapng\n"
	    "  echo 'NET/IB: ... status=12 opcode=1 len=0 vendor err 129' | belfry why",
	.options = options,
	.min_args = 0,
	.max_args = 64,
	.run = run_why,
};

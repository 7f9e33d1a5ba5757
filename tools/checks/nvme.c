/*
 * belfry check nvme: what Linux and its tools printed of real NVMe devices. Traces run on the model; Identify data and
 * logs are read to bytes and printed again; then the model's own bytes are printed in the same form.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/nvme/nvme.h"
#include "models/nvme/text.h"
#include "tools/checks/check.h"
#include "traces/import/ftrace.h"
#include "traces/replay/nvme_own.h"
#include "traces/replay/nvme.h"

#define TEXT_MAX (1u << 20)

struct tally {
	struct bf_check base;
	uint64_t commands, same, told_apart, differences;
	uint64_t fields, equal, model_fields;
	uint64_t registers;
	uint8_t own[BF_NVME_TEXTS][4096]; /* the model's own structures */
	char text[TEXT_MAX];              /* of the line */
};

struct vector {
	char kind[32], source[96];
	char *text;
	uint32_t line;
};

/* ---- one result ---- */

static void tell(struct tally *t, const struct vector *v, bool good, const char *what)
{
	t->base.taken++;
	t->base.bad += !good;
	if (!t->base.json) {
		printf("%-9s %-13s %s\n          %s\n", good ? "ok" : "MISMATCH", v->kind, v->source, what);
		return;
	}
	bf_json_open(t->base.json, NULL, '{');
	bf_json_u64(t->base.json, "line", v->line);
	bf_json_text(t->base.json, "kind", v->kind);
	bf_json_text(t->base.json, "source", v->source);
	bf_json_bool(t->base.json, "ok", good);
	bf_json_text(t->base.json, "result", what);
	bf_json_close(t->base.json, '}');
}

static void detail(const struct tally *t, const char *text)
{
	if (!t->base.json)
		printf("            %s\n", text);
}

/* ---- traces ---- */

static void tell_findings(const struct tally *t, const struct bf_nvme_replay_result *r)
{
	char text[256];

	for (size_t i = 0; i < r->nfindings; i++) {
		const struct bf_nvme_replay_finding *f = &r->findings[i];

		if (f->verdict == BF_NVME_REPLAY_ORPHAN || f->verdict == BF_NVME_REPLAY_NOT_SENT)
			continue; /* counted in the line above */
		snprintf(text, sizeof(text), "%s: %s.q%" PRIu32 " cid 0x%" PRIx32 " %s: %.150s",
			 bf_nvme_replay_verdict_name(f->verdict), f->ctrl, f->qid, f->cid, f->command, f->text);
		detail(t, text);
	}
}

static int check_trace(struct tally *t, const struct vector *v, struct bf_error *err)
{
	const struct bf_nvme_replay_opts opts = { .seed = 1, .profile = &bf_nvme_instant };
	struct bf_nvme_replay_result *r;
	struct bf_ftrace *trace;
	char text[256];
	uint64_t bad = 0;
	int rc = bf_ftrace_parse(v->text, strlen(v->text), &trace, err);

	if (!rc)
		rc = bf_nvme_replay_run(trace, &opts, &r, err);
	if (rc) {
		bf_ftrace_free(trace);
		return rc;
	}
	for (int i = 0; i < BF_NVME_REPLAY_VERDICTS; i++)
		bad += bf_nvme_replay_verdict_bad((enum bf_nvme_replay_verdict)i) ? r->tally[i] : 0;
	snprintf(text, sizeof(text),
		 "%" PRIu64 " commands and %" PRIu64 " register accesses replayed; of %" PRIu64 " completions %" PRIu64
		 " as captured, %" PRIu64 " differ, %" PRIu64 " device's own or optional; %" PRIu64 " heads; %" PRIu64
		 " without a command, %" PRIu64 " not sent, %" PRIu64 " without an end",
		 r->commands, r->registers, r->completions, r->tally[BF_NVME_REPLAY_SAME], bad,
		 r->tally[BF_NVME_REPLAY_DEVICE_OWN] + r->tally[BF_NVME_REPLAY_OPTIONAL], r->heads,
		 r->tally[BF_NVME_REPLAY_ORPHAN], r->tally[BF_NVME_REPLAY_NOT_SENT], r->unfinished);
	tell(t, v, bad == 0 && trace->count > 0, text);
	tell_findings(t, r);
	t->commands += r->commands;
	t->registers += r->registers;
	t->same += r->tally[BF_NVME_REPLAY_SAME];
	t->told_apart += r->tally[BF_NVME_REPLAY_DEVICE_OWN] + r->tally[BF_NVME_REPLAY_OPTIONAL];
	t->differences += bad;
	bf_nvme_replay_free(r);
	bf_ftrace_free(trace);
	return 0;
}

/* ---- registers of another model's trace ---- */

/* "TIME: HIL::NVMe: BAR0 | WRITE | NAME": which register; its value stands in the next line behind "DATA". */
static const struct {
	const char *name;
	uint32_t offset, len;
} registers[] = {
	{ "Controller Capabilities", BF_NVME_CAP, 8 },
	{ "Version", BF_NVME_VS, 4 },
	{ "Controller Configuration", BF_NVME_CC, 4 },
	{ "Controller Status", BF_NVME_CSTS, 4 },
	{ "Admin Queue Attributes", BF_NVME_AQA, 4 },
	{ "Admin Submission Queue Base Address | L", BF_NVME_ASQ, 4 },
	{ "Admin Submission Queue Base Address | H", BF_NVME_ASQ + 4, 4 },
	{ "Admin Completion Queue Base Address | L", BF_NVME_ACQ, 4 },
	{ "Admin Completion Queue Base Address | H", BF_NVME_ACQ + 4, 4 },
};

/* Data are printed as the bytes of a big-endian number. */
static uint64_t hex_value(const char *p)
{
	return strtoull(p, NULL, 16);
}

static int check_bar_trace(struct tally *t, const struct vector *v, struct bf_error *err)
{
	struct bf_nvme_replay_own_host *h;
	char *rest = v->text, *line, text[200];
	unsigned accesses = 0, status_ok = 0, status_bad = 0;
	size_t reg = BF_ARRAY_LEN(registers);
	bool write = false;
	int rc = bf_nvme_replay_own_open(&h, err);

	if (rc)
		return rc;
	while ((line = strsep(&rest, "\n"))) {
		const char *bar = strstr(line, "BAR0"), *data = strstr(line, "DATA ");

		if (bar) {
			const char *name = strrchr(line, '|');

			write = strstr(line, "WRITE") != NULL;
			for (reg = 0; reg < BF_ARRAY_LEN(registers); reg++)
				if (strstr(line, registers[reg].name) && name)
					break;
		} else if (data && reg < BF_ARRAY_LEN(registers)) {
			const uint64_t value = hex_value(data + 5);

			accesses++;
			if (write) {
				bf_nvme_replay_own_write(h, registers[reg].offset, value, registers[reg].len);
			} else if (registers[reg].offset == BF_NVME_CSTS) {
				const bool same = bf_nvme_replay_own_read(h, BF_NVME_CSTS, 4) == value;

				status_ok += same;
				status_bad += !same;
			}
			reg = BF_ARRAY_LEN(registers);
		}
	}
	bf_nvme_replay_own_close(h);
	snprintf(text, sizeof(text), "%u register accesses repeated; %u of %u status reads as captured", accesses,
		 status_ok, status_ok + status_bad);
	tell(t, v, accesses > 0 && status_bad == 0, text);
	t->registers += accesses;
	return 0;
}

/* ---- Identify data and logs ---- */

struct text_tally {
	unsigned fields, equal, unreadable, model;
};

/* What a tool says beyond our words ("0x2002(Invalid Field in Command: A reserved ...)") is its own. */
static bool same_line(const char *printed, const char *line)
{
	size_t n = strlen(line);

	while (n && (line[n - 1] == ' ' || line[n - 1] == '\t'))
		n--;
	if (strlen(printed) == n && memcmp(printed, line, n) == 0)
		return true;
	n = strlen(printed);
	return n > 1 && printed[n - 1] == ')' && strncmp(printed, line, n - 1) == 0 && line[n - 1] == ':';
}

static void print_again(const struct tally *t, enum bf_nvme_text what, const char *line, const uint8_t *bytes,
			struct text_tally *n)
{
	uint8_t copy[4096] = { 0 };
	char out[512], again[512];

	if (bf_nvme_text_print(what, line, bytes, out, sizeof(out)) != 1)
		return;
	n->fields++;
	n->equal += same_line(out, line);
	if (!same_line(out, line)) {
		detail(t, line);
		detail(t, out);
	}
	/* The model's own value in the same form; reading it gives the same form again. */
	bf_nvme_text_print(what, line, t->own[what], out, sizeof(out));
	if (bf_nvme_text_read(what, out, copy) == 1 && bf_nvme_text_print(what, out, copy, again, sizeof(again)) == 1 &&
	    strcmp(out, again) == 0)
		n->model++;
}

/* Calls `fn` for each line of the text, which is changed; with `bytes` it reads, without it prints. */
static void each_line(const struct tally *t, enum bf_nvme_text what, const char *text, uint8_t *bytes, bool reading,
		      struct text_tally *n)
{
	char *copy = strdup(text), *rest = copy, *line;

	while (copy && (line = strsep(&rest, "\n"))) {
		if (!reading)
			print_again(t, what, line, bytes, n);
		else if (bf_nvme_text_read(what, line, bytes) < 0)
			n->unreadable++;
	}
	free(copy);
}

static void check_structure(struct tally *t, const struct vector *v, enum bf_nvme_text what, const char *text)
{
	struct text_tally n = { 0 };
	uint8_t bytes[4096] = { 0 };
	char line[200];

	each_line(t, what, text, bytes, true, &n);
	each_line(t, what, text, bytes, false, &n);
	snprintf(line, sizeof(line),
		 "%u fields read to bytes, %u print as they were, %u printed from the model's bytes", n.fields, n.equal,
		 n.model);
	tell(t, v, n.fields > 0 && n.equal == n.fields && n.model == n.fields && !n.unreadable, line);
	t->fields += n.fields;
	t->equal += n.equal;
	t->model_fields += n.model;
}

/* The two structures of one text: cut where the second begins. */
static void check_both(struct tally *t, const struct vector *v)
{
	char *second = strstr(v->text, "NVME Identify Namespace");

	if (second > v->text) {
		second[-1] = '\0';
		check_structure(t, v, BF_NVME_TEXT_ID_NS, second);
	}
	check_structure(t, v, BF_NVME_TEXT_ID_CTRL, v->text);
}

/* {"smart_log": {...}} as lines of "key : value". */
static int check_smart_json(struct tally *t, const struct vector *v, struct bf_error *err)
{
	struct bf_json_line outer = { .start = v->text, .p = v->text, .number = v->line, .err = err }, inner;
	const struct bf_json_member *m;
	char text[4096];
	size_t used = 0;
	int rc;

	outer.end = v->text + strlen(v->text);
	rc = bf_json_line_scan(&outer);
	if (rc)
		return rc;
	m = bf_json_line_find(&outer, "smart_log");
	if (!m)
		return bf_fail(err, -EBADMSG, "line %" PRIu32 ": there is no \"smart_log\"", v->line);
	inner = (struct bf_json_line){
		.start = m->value, .p = m->value, .end = m->value + m->value_len, .number = v->line, .err = err
	};
	rc = bf_json_line_scan(&inner);
	for (unsigned i = 0; !rc && i < inner.count && used < sizeof(text); i++)
		used +=
		    (size_t)snprintf(text + used, sizeof(text) - used, "%.*s : %.*s\n", (int)inner.members[i].name_len,
				     inner.members[i].name, (int)inner.members[i].value_len, inner.members[i].value);
	if (!rc && used >= sizeof(text))
		rc = bf_fail(err, -EBADMSG, "line %" PRIu32 ": the log is too long", v->line);
	if (!rc)
		check_structure(t, v, BF_NVME_TEXT_SMART_JSON, text);
	return rc;
}

/* ---- the file ---- */

static int check_vector(struct tally *t, const struct vector *v, struct bf_error *err)
{
	if (strncmp(v->kind, "ftrace", 6) == 0)
		return check_trace(t, v, err);
	if (strcmp(v->kind, "bar-trace") == 0)
		return check_bar_trace(t, v, err);
	if (strcmp(v->kind, "id-ctrl") == 0)
		check_structure(t, v, BF_NVME_TEXT_ID_CTRL, v->text);
	else if (strcmp(v->kind, "id-ns") == 0)
		check_structure(t, v, BF_NVME_TEXT_ID_NS, v->text);
	else if (strcmp(v->kind, "id-ctrl+id-ns") == 0)
		check_both(t, v);
	else if (strcmp(v->kind, "smart") == 0)
		check_structure(t, v, BF_NVME_TEXT_SMART, v->text);
	else if (strcmp(v->kind, "error-log") == 0)
		check_structure(t, v, BF_NVME_TEXT_ERROR, v->text);
	else if (strcmp(v->kind, "smart-json") == 0)
		return check_smart_json(t, v, err);
	else
		tell(t, v, false, "this kind is not known");
	return 0;
}

static int take_text(struct bf_json_line *l, const char *name, char *out, size_t cap)
{
	const struct bf_json_member *m = bf_json_line_find(l, name);
	int64_t n;

	if (!m || m->token != BF_JSON_STRING)
		return bf_fail(l->err, -EBADMSG, "line %" PRIu32 ": there is no text \"%s\"", l->number, name);
	n = bf_json_line_text(l, m, name, out, cap);
	return n < 0 ? (int)n : 0;
}

static int begin(void *tally, struct bf_error *err)
{
	return bf_nvme_replay_own_texts(((struct tally *)tally)->own, err);
}

static int take(void *tally, struct bf_json_line *l)
{
	struct tally *t = tally;
	struct vector v = { .text = t->text, .line = l->number };
	char source[1024];
	struct bf_error err = { 0 };
	int rc = take_text(l, "kind", v.kind, sizeof(v.kind));

	if (!rc)
		rc = take_text(l, "source", source, sizeof(source));
	if (!rc)
		rc = take_text(l, "text", t->text, sizeof(t->text));
	if (rc)
		return rc;
	snprintf(v.source, sizeof(v.source), "%.95s", source);
	rc = check_vector(t, &v, &err);
	return rc ? bf_fail(l->err, rc, "line %" PRIu32 ": %.300s", l->number, err.text) : 0;
}

static void print_summary(const void *tally)
{
	const struct tally *t = tally;

	printf("%" PRIu64 " captures: %" PRIu64 " correct, %" PRIu64 " not\n", t->base.taken,
	       t->base.taken - t->base.bad, t->base.bad);
	printf("%" PRIu64 " commands and %" PRIu64 " register accesses replayed: %" PRIu64
	       " completions as captured, %" PRIu64 " the device's own or optional, %" PRIu64 " different\n",
	       t->commands, t->registers, t->same, t->told_apart, t->differences);
	printf("%" PRIu64 " fields of Identify data and logs: %" PRIu64 " print as captured, %" PRIu64
	       " printed from the model's own bytes\n",
	       t->fields, t->equal, t->model_fields);
}

static void json_summary(struct bf_json *j, const void *tally)
{
	const struct tally *t = tally;

	bf_json_u64(j, "captures", t->base.taken);
	bf_json_u64(j, "mismatches", t->base.bad);
	bf_json_u64(j, "commands", t->commands);
	bf_json_u64(j, "registers", t->registers);
	bf_json_u64(j, "completions_same", t->same);
	bf_json_u64(j, "completions_told_apart", t->told_apart);
	bf_json_u64(j, "completions_different", t->differences);
	bf_json_u64(j, "fields", t->fields);
	bf_json_u64(j, "fields_equal", t->equal);
	bf_json_u64(j, "fields_of_model", t->model_fields);
}

const struct bf_check_form bf_check_nvme = {
	.form = { .name = "nvme",
		  .details = "FILE is JSON Lines with what Linux, nvme-cli and smartctl printed (\"kind\", \"source\", "
			     "\"text\"). Traces run on the model, and status, order and queue heads are compared. "
			     "Identify data and logs are converted to bytes and printed again; then the model's own "
			     "are printed in the same form." },
	.each = "capture",
	.list = "vectors",
	.tally_bytes = sizeof(struct tally),
	.begin = begin,
	.take = take,
	.print = print_summary,
	.summary = json_summary,
};

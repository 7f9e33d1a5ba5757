/* Printing traces for people and as JSON. */
#include "traces/container/dump.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "traces/container/jsonl.h"

bool bf_dump_listed(const char *list, const char *name)
{
	size_t n = strlen(name);
	while (list && *list) {
		size_t word = strcspn(list, ",");
		if (word == n && !memcmp(list, name, n))
			return true;
		list += word + (list[word] == ',');
	}
	return false;
}

static bool on_queue(const struct bf_trace_record *rec, uint64_t queue)
{
	static const char *const names[] = { "qpn", "sqn", "rqn", "cqn", "qid", "queue" };
	for (size_t i = 0; i < BF_ARRAY_LEN(names); i++) {
		uint64_t v;
		if (bf_trace_field_u64(rec, names[i], &v) && v == queue)
			return true;
	}
	return false;
}

static bool selects(const struct bf_trace *t, const struct bf_trace_record *rec, const struct bf_dump_options *o)
{
	return rec->time_ps >= o->from_ps && (!o->to_ps || rec->time_ps <= o->to_ps) &&
	       (!o->types || bf_dump_listed(o->types, rec->type->name)) &&
	       (!o->actors || bf_dump_listed(o->actors, bf_trace_actor_name(t, rec->actor))) &&
	       (!o->by_queue || on_queue(rec, o->queue));
}

void bf_dump_text(FILE *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c < 0x20 || c == 0x7f || c == '\\')
			fprintf(out, "\\x%02x", c);
		else
			putc(c, out);
	}
}

static void print_time(FILE *out, uint64_t ps, int width)
{
	fprintf(out, "%*" PRIu64 ".%03u ns", width, ps / 1000, (unsigned)(ps % 1000));
}

void bf_dump_field(FILE *out, const struct bf_rec_field *f, const void *fixed)
{
	uint64_t v = bf_field_u64(f, fixed);
	const uint8_t *bytes = (const uint8_t *)fixed + f->offset;
	size_t len;
	const char *name;
	switch (f->kind) {
	case BF_FIELD_INT:
		fprintf(out, "%" PRId64, (int64_t)v);
		break;
	case BF_FIELD_HEX:
		fprintf(out, "0x%" PRIx64, v);
		break;
	case BF_FIELD_TIME:
		if (v == UINT64_MAX)
			fputs("never", out);
		else
			print_time(out, v, 0);
		return;
	case BF_FIELD_TEXT:
		putc('"', out);
		for (len = 0; len < f->size && bytes[len]; len++) {
			if (bytes[len] < 0x80)
				bf_dump_text(out, (const char *)bytes + len, 1);
			else
				fprintf(out, "\\x%02x", bytes[len]);
		}
		putc('"', out);
		return;
	case BF_FIELD_ENUM:
		name = bf_field_enum_name(f, v, &len);
		if (name) {
			bf_dump_text(out, name, len);
			return;
		}
		/* fall through */
	default:
		fprintf(out, "%" PRIu64, v);
	}
	if (f->unit && *f->unit) {
		putc(' ', out);
		bf_dump_text(out, f->unit, strlen(f->unit));
	}
}

static void print_tail(FILE *out, const uint8_t *p, size_t len)
{
	for (size_t at = 0; at < len; at += 16) {
		fprintf(out, "%22s%06zx ", "", at);
		for (size_t i = at; i < at + 16; i++) {
			if (i % 8 == 0)
				putc(' ', out);
			if (i < len)
				fprintf(out, "%02x ", p[i]);
			else
				fputs("   ", out);
		}
		putc(' ', out);
		for (size_t i = at; i < at + 16 && i < len; i++)
			putc(p[i] >= 0x20 && p[i] < 0x7f ? p[i] : '.', out);
		putc('\n', out);
	}
}

void bf_dump_record(FILE *out, const struct bf_trace *t, const struct bf_trace_record *rec, bool tail)
{
	const char *actor = bf_trace_actor_name(t, rec->actor);
	size_t len = strlen(actor);
	print_time(out, rec->time_ps, 12);
	fputs("  ", out);
	bf_dump_text(out, actor, len);
	fprintf(out, "%*s %-16s", len < 14 ? 14 - (int)len : 0, "", rec->type->name);
	for (unsigned i = 0; i < rec->type->nfields; i++) {
		fprintf(out, " %s=", rec->type->fields[i].name);
		bf_dump_field(out, &rec->type->fields[i], rec->fixed);
	}
	if (rec->tail_len)
		fprintf(out, " +%" PRIu32 " B", rec->tail_len);
	putc('\n', out);
	if (tail)
		print_tail(out, rec->tail, rec->tail_len);
}

static void print_damage(FILE *out, const struct bf_trace *t, bool json)
{
	size_t n;
	const struct bf_trace_loss *losses = bf_trace_losses(t, &n);
	if (!n)
		return;
	const struct bf_trace_loss *l = &losses[n - 1];
	bool known = l->records != BF_TRACE_UNKNOWN;
	const char *format =
	    "-- damage: chunk or line %" PRIu64 " at offset %" PRIu64 ", %" PRIu64 " bytes, records lost: ";
	if (json)
		format = "{\"damage\":{\"chunk\":%" PRIu64 ",\"offset\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"records\":";
	fprintf(out, format, l->chunk, l->offset, l->bytes);
	if (known)
		fprintf(out, "%" PRIu64, l->records);
	else
		fputs(json ? "null" : "unknown", out);
	fputs(json ? "}}\n" : "\n", out);
}

int bf_dump(struct bf_trace *t, const struct bf_dump_options *options, FILE *out, struct bf_error *err)
{
	static const struct bf_dump_options defaults;
	const struct bf_dump_options *o = options ? options : &defaults;
	struct bf_trace_record rec;
	uint64_t printed = 0;
	int lost = 0, rc = 0;
	if (o->from_ps) {
		rc = bf_trace_seek_time(t, o->from_ps);
		if (rc && rc != -ESPIPE)
			return rc;
	}
	while ((!o->limit || printed < o->limit) && (rc = bf_trace_next(t, &rec)) != 0) {
		if (rc == -EBADMSG) {
			print_damage(out, t, o->json);
			lost = rc;
			continue;
		}
		if (rc < 0)
			return rc;
		if (!selects(t, &rec, o))
			continue;
		if (o->json) {
			bf_json_record(out, &rec, bf_trace_actor_name(t, rec.actor));
			putc('\n', out);
		} else {
			bf_dump_record(out, t, &rec, o->tails);
		}
		printed++;
	}
	return ferror(out) ? bf_fail(err, -EIO, "cannot write the dump") : lost;
}

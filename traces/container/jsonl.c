/* Writing the JSON Lines form. */
#include "traces/container/jsonl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "traces/container/trace_internal.h"

#define EXACT_MAX (1ull << 53) /* integers up to here survive a double */

/* `text` in quotes, escaped. `len` bytes of UTF-8; bytes that are not are printed as U+FFFD. */
static void print_text(FILE *out, const char *text, size_t len)
{
	putc('"', out);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			fprintf(out, "\\u%04x", c);
		else if (c < 0x80)
			putc(c, out);
		else {
			size_t n = 2;
			while (n <= 4 && i + n <= len && !bf_text_ok(text + i, n))
				n++;
			bool whole = n <= 4 && i + n <= len;
			fwrite(whole ? text + i : "\xef\xbf\xbd", 1, whole ? n : 3, out);
			i += whole ? n - 1 : 0;
		}
	}
	putc('"', out);
}

static void json_string(FILE *out, const char *text)
{
	print_text(out, text ? text : "", text ? strlen(text) : 0);
}

static void print_u64(FILE *out, uint64_t value)
{
	fprintf(out, value <= EXACT_MAX ? "%" PRIu64 : "\"%" PRIu64 "\"", value);
}

static void json_i64(FILE *out, int64_t value)
{
	bool exact = value >= -(int64_t)EXACT_MAX && value <= (int64_t)EXACT_MAX;
	fprintf(out, exact ? "%" PRId64 : "\"%" PRId64 "\"", value);
}

static void json_hex(FILE *out, const uint8_t *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	putc('"', out);
	for (size_t i = 0; i < len; i++) {
		putc(digits[bytes[i] >> 4], out);
		putc(digits[bytes[i] & 15], out);
	}
	putc('"', out);
}

static bool zeros(const uint8_t *p, size_t n)
{
	while (n && !p[n - 1])
		n--;
	return !n;
}

/* Text that a string cannot carry exactly goes as bytes. */
static void json_text_field(FILE *out, const uint8_t *p, size_t size)
{
	size_t n = strnlen((const char *)p, size);
	if (bf_text_ok((const char *)p, n) && zeros(p + n, size - n)) {
		print_text(out, (const char *)p, n);
	} else {
		fputs("{\"hex\":", out);
		json_hex(out, p, size);
		putc('}', out);
	}
}

/* A name stands for its value when reading it back gives that value: it is the first of its kind and not a number. */
static bool enum_name_exact(const struct bf_rec_field *f, uint64_t value, const char **name, size_t *len)
{
	*name = bf_field_enum_name(f, value, len);
	uint64_t back;
	return *name && bf_json_enum_value(f, *name, *len, &back) && back == value;
}

void bf_json_field(FILE *out, const struct bf_rec_field *f, const void *fixed)
{
	const char *name;
	size_t len;
	uint64_t v = bf_field_u64(f, fixed);
	switch (f->kind) {
	case BF_FIELD_TEXT:
		json_text_field(out, (const uint8_t *)fixed + f->offset, f->size);
		break;
	case BF_FIELD_HEX:
		fprintf(out, "\"0x%" PRIx64 "\"", v);
		break;
	case BF_FIELD_INT:
		json_i64(out, (int64_t)v);
		break;
	case BF_FIELD_ENUM:
		if (enum_name_exact(f, v, &name, &len)) {
			print_text(out, name, len);
			break;
		}
		/* fall through */
	default:
		print_u64(out, v);
	}
}

void bf_json_record(FILE *out, const struct bf_trace_record *rec, const char *actor)
{
	fputs("{\"time_ps\":", out);
	print_u64(out, rec->time_ps);
	fputs(",\"actor\":", out);
	if (actor)
		json_string(out, actor);
	else
		fprintf(out, "%" PRIu32, rec->actor);
	fprintf(out, ",\"type\":\"%s\",\"fields\":{", rec->type->name);
	for (unsigned i = 0; i < rec->type->nfields; i++) {
		fprintf(out, "%s\"%s\":", i ? "," : "", rec->type->fields[i].name);
		bf_json_field(out, &rec->type->fields[i], rec->fixed);
	}
	putc('}', out);
	if (rec->tail_len) {
		fputs(",\"tail\":", out);
		json_hex(out, rec->tail, rec->tail_len);
	}
	putc('}', out);
}

/* The writer. */

static int check(struct bf_trace_writer *w)
{
	if (!w->status && ferror(w->file))
		w->status = bf_fail(w->err, errno ? -errno : -EIO, "writing a trace: %s: %s", w->name, strerror(errno));
	return w->status;
}

static int keep(struct bf_trace_writer *w, int rc)
{
	if (rc && !w->status)
		w->status = rc == -ENOMEM ? bf_fail(w->err, rc, "writing a trace: no memory") : rc;
	return w->status;
}

const char *const bf_json_kinds[] = { "", "dec", "int", "hex", "time", "text", "enum" };

static int declare_type(struct bf_sink *s, const struct bf_rec_schema *schema)
{
	struct bf_trace_writer *w = BF_CONTAINER_OF(s, struct bf_trace_writer, sink);
	if (w->status || keep(w, bf_decls_add_type(&w->decls, schema, w->err)))
		return w->status;
	FILE *out = w->file;
	fprintf(out, "{\"declare\":\"type\",\"name\":\"%s\",\"id\":%u,\"class\":%" PRIu32 ",\"size\":%u,\"fields\":[",
		schema->name, schema->id, schema->class_, schema->size);
	for (unsigned i = 0; i < schema->nfields; i++) {
		const struct bf_rec_field *f = &schema->fields[i];
		fprintf(out, "%s{\"name\":\"%s\",\"size\":%u,\"kind\":\"%s\",\"unit\":", i ? "," : "", f->name, f->size,
			bf_json_kinds[f->kind]);
		json_string(out, f->unit);
		if (f->names) {
			fputs(",\"names\":", out);
			json_string(out, f->names);
		}
		putc('}', out);
	}
	fputs("]}\n", out);
	return check(w);
}

static int declare_actor(struct bf_sink *s, uint32_t number, const char *kind, const char *name)
{
	struct bf_trace_writer *w = BF_CONTAINER_OF(s, struct bf_trace_writer, sink);
	if (w->status || keep(w, bf_decls_add_actor(&w->decls, number, kind, name, w->err)))
		return w->status;
	fprintf(w->file, "{\"declare\":\"actor\",\"number\":%" PRIu32 ",\"kind\":", number);
	json_string(w->file, kind);
	fputs(",\"name\":", w->file);
	json_string(w->file, name);
	fputs("}\n", w->file);
	return check(w);
}

static int write_records(struct bf_sink *s, const void *records, size_t len)
{
	struct bf_trace_writer *w = BF_CONTAINER_OF(s, struct bf_trace_writer, sink);
	const uint8_t *p = records;
	for (size_t at = 0; at < len && !w->status;) {
		struct bf_trace_record rec;
		if (keep(w, bf_decls_record(&w->decls, p + at, len - at, &rec, w->err)))
			break;
		bf_json_record(w->file, &rec, NULL);
		putc('\n', w->file);
		w->records++;
		w->chain = bf_hash_records(w->chain, rec.raw, rec.raw_len);
		at += rec.raw_len;
	}
	return check(w);
}

static int meta_added(struct bf_trace_writer *w, struct bf_decl_meta *meta)
{
	fputs("{\"meta\":", w->file);
	json_string(w->file, meta->entry.key);
	fputs(",\"value\":", w->file);
	json_string(w->file, meta->entry.value);
	fputs("}\n", w->file);
	return check(w);
}

static int finish(struct bf_trace_writer *w)
{
	fprintf(w->file, "{\"end\":true,\"records\":%" PRIu64 ",\"hash\":\"0x%016" PRIx64 "\"}\n", w->records,
		bf_hash_finish(w->chain, w->decls.hash));
	return check(w);
}

int bf_jsonl_start(struct bf_trace_writer *w)
{
	w->sink =
	    (struct bf_sink){ .declare_type = declare_type, .declare_actor = declare_actor, .write = write_records };
	w->flush = check;
	w->finish = finish;
	w->meta_added = meta_added;
	fprintf(w->file, "{\"belfry_trace\":%u,\"minor\":%u}\n", BF_TRACE_MAJOR, BF_TRACE_MINOR);
	return check(w);
}

/* The records go first: which types have events, and which of those have tails, is known only at the end. */
#include "traces/export/ctf.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/bytes.h"
#include "sim/compiler.h"
#include "sim/grow.h"
#include "traces/container/trace_internal.h"

#define MAGIC 0xc1fc1fc1u         /* CTF 1.8.3, 5.1 */
#define PACKET_BYTES (512u << 10) /* a packet is closed when it has come so far */
#define PACKET_HEAD (8u + 4 * 8u) /* magic and stream; two times and two sizes */
#define WITH_TAIL (1u << 16)      /* the event class of a type's records that have a tail */
#define TYPES (1u << 16)

/* What a type has had. */
enum { EVENTS = 1, TAILS = 2 };

struct ctf {
	FILE *records, *metadata;
	struct bf_error *err;
	uint8_t *buf; /* the packet that is being made */
	size_t len, cap;
	uint64_t begin_ps, now_ps;
	bool failed;  /* no memory */
	uint8_t *had; /* [TYPES] */
	struct bf_ctf_result result;
};

/* ---- bytes ---- */

static uint8_t *room(struct ctf *c, size_t n)
{
	uint8_t *at;

	if (BF_GROW(c->buf, c->cap, c->len + n)) {
		c->failed = true;
		return NULL;
	}
	at = c->buf + c->len;
	c->len += n;
	return at;
}

static void put(struct ctf *c, uint64_t value, uint32_t bytes)
{
	uint8_t *at = room(c, bytes);

	for (uint32_t i = 0; at && i < bytes; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

/* What is no UTF-8 becomes question marks. */
static void put_text(struct ctf *c, const uint8_t *text, size_t len)
{
	const bool good = bf_text_ok((const char *)text, strnlen((const char *)text, len));
	uint8_t *at = room(c, len);

	for (size_t i = 0; at && i < len; i++)
		at[i] = good || text[i] < 0x80 ? text[i] : '?';
}

/* ---- records ---- */

static void open_packet(struct ctf *c)
{
	c->begin_ps = c->now_ps;
	c->len = 0;
	if (room(c, PACKET_HEAD))
		memset(c->buf, 0, PACKET_HEAD);
}

static int close_packet(struct ctf *c)
{
	if (c->failed)
		return bf_fail(c->err, -ENOMEM, "no memory for a packet of events");
	bf_put_le32(c->buf, MAGIC);
	bf_put_le64(c->buf + 8, c->begin_ps);
	bf_put_le64(c->buf + 16, c->now_ps);
	bf_put_le64(c->buf + 24, c->len * 8);
	bf_put_le64(c->buf + 32, c->len * 8);
	if (fwrite(c->buf, 1, c->len, c->records) != c->len)
		return bf_fail(c->err, errno ? -errno : -EIO, "writing events: %s", strerror(errno));
	return 0;
}

/* Integers of CTF have any size; those of records are words, or become one. */
static uint32_t width_of(const struct bf_rec_field *f)
{
	return f->size == 1 || f->size == 2 || f->size == 4 ? f->size : 8;
}

static int put_record(struct ctf *c, const struct bf_trace *t, const struct bf_trace_record *rec)
{
	const char *actor = bf_trace_actor_name(t, rec->actor);

	if (rec->time_ps > c->now_ps)
		c->now_ps = rec->time_ps;
	if (!c->len)
		open_packet(c);
	put(c, rec->type->id | (rec->tail_len ? WITH_TAIL : 0), 4);
	put(c, c->now_ps, 8);
	put_text(c, (const uint8_t *)actor, strlen(actor) + 1);
	for (uint32_t i = 0; i < rec->type->nfields; i++) {
		const struct bf_rec_field *f = &rec->type->fields[i];

		if (f->kind == BF_FIELD_TEXT)
			put_text(c, rec->fixed + f->offset, f->size);
		else
			put(c, bf_field_u64(f, rec->fixed), width_of(f));
	}
	if (rec->tail_len) {
		uint8_t *at;

		put(c, rec->tail_len, 4);
		at = room(c, rec->tail_len);
		if (at)
			memcpy(at, rec->tail, rec->tail_len);
	}
	c->had[rec->type->id] |= rec->tail_len ? TAILS : EVENTS;
	c->result.events++;
	if (c->len < PACKET_BYTES)
		return c->failed ? close_packet(c) : 0;
	const int rc = close_packet(c);

	c->len = 0;
	return rc;
}

static int put_records(struct ctf *c, struct bf_trace *t)
{
	struct bf_trace_record rec;
	int rc = 0, damage = 0;

	while (!rc && (rc = bf_trace_next_good(t, &rec, &damage)) > 0)
		rc = put_record(c, t, &rec);
	if (rc < 0)
		return rc;
	/* A stream without events has a packet, too: readers want one. */
	if (!c->len && !c->result.events)
		open_packet(c);
	rc = c->len ? close_packet(c) : 0;
	return rc ? rc : damage;
}

/* ---- metadata: declarations in TSDL ---- */

/* In quotes, as in C. */
static void say_text(FILE *out, const char *text, size_t len)
{
	putc('"', out);
	for (size_t i = 0; i < len; i++) {
		const unsigned char ch = (unsigned char)text[i];

		if (ch == '"' || ch == '\\')
			fprintf(out, "\\%c", ch);
		else if (ch == '\n')
			fputs("\\n", out);
		else
			putc(ch < 0x20 || ch == 0x7f ? ' ' : ch, out);
	}
	putc('"', out);
}

/* A word behind an underscore, which readers take away: so no name is one of the language's own. */
static void say_name(FILE *out, const char *name)
{
	putc('_', out);
	for (; *name; name++)
		putc(isalnum((unsigned char)*name) ? *name : '_', out);
}

static void say_integer(FILE *out, const struct bf_rec_field *f)
{
	fprintf(out, "integer { size = %u; align = 8; signed = %s; base = %u; }", width_of(f) * 8,
		f->kind == BF_FIELD_INT ? "true" : "false", f->kind == BF_FIELD_HEX ? 16u : 10u);
}

/* "0=NOP;8=RDMA_WRITE": those that the field can hold. Returns their number; `out` NULL only counts. */
static uint32_t say_values(FILE *out, const struct bf_rec_field *f)
{
	const uint64_t most = ~0ull >> (64 - 8 * width_of(f));
	uint32_t n = 0;

	for (const char *p = f->kind == BF_FIELD_ENUM && f->names ? f->names : ""; *p;) {
		const size_t item = strcspn(p, ";");
		char *name;
		const unsigned long long value = strtoull(p, &name, 0);

		if (name > p && *name == '=' && value <= most) {
			if (out) {
				fputs(n ? ", " : "", out);
				say_text(out, name + 1, item - (size_t)(name + 1 - p));
				fprintf(out, " = %llu", value);
			}
			n++;
		}
		p += item + (p[item] == ';');
	}
	return n;
}

static void say_field(FILE *out, const struct bf_rec_field *f)
{
	fputs("\t\t", out);
	if (f->kind == BF_FIELD_TEXT) {
		fputs("char_t ", out);
		say_name(out, f->name);
		fprintf(out, "[%u];\n", f->size);
		return;
	}
	if (say_values(NULL, f)) {
		fputs("enum : ", out);
		say_integer(out, f);
		fputs(" { ", out);
		say_values(out, f);
		fputs(" }", out);
	} else {
		say_integer(out, f);
	}
	putc(' ', out);
	say_name(out, f->name);
	fputs(";\n", out);
}

static void say_event(FILE *out, const struct bf_rec_schema *type, bool tail)
{
	fputs("event {\n\tname = ", out);
	say_text(out, type->name, strlen(type->name));
	fprintf(out, ";\n\tid = %u;\n\tstream_id = 0;\n\tfields := struct {\n", type->id | (tail ? WITH_TAIL : 0));
	for (uint32_t i = 0; i < type->nfields; i++)
		say_field(out, &type->fields[i]);
	if (tail)
		fputs("\t\tuint32_t __tail_bytes;\n\t\tbyte_t __tail[__tail_bytes];\n", out);
	fputs("\t};\n};\n\n", out);
}

/* Integers of the language's own, and what stands before the events. */
static const char preamble[] =
    "/* CTF 1.8 */\n\n"
    "typealias integer { size = 8; align = 8; signed = false; base = 16; } := byte_t;\n"
    "typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := char_t;\n"
    "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
    "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n\n"
    "trace {\n\tmajor = 1;\n\tminor = 8;\n\tbyte_order = le;\n"
    "\tpacket.header := struct { uint32_t magic; uint32_t stream_id; };\n};\n\n";
static const char stream[] =
    "clock {\n\tname = simulated;\n\tdescription = \"simulated time\";\n\tfreq = 1000000000000;\n};\n\n"
    "typealias integer { size = 64; align = 8; signed = false; map = clock.simulated.value; } := ps_t;\n\n"
    "stream {\n\tid = 0;\n\tevent.header := struct { uint32_t id; ps_t timestamp; };\n"
    "\tevent.context := struct { string { encoding = UTF8; } _actor; };\n"
    "\tpacket.context := struct { ps_t timestamp_begin; ps_t timestamp_end; uint64_t content_size; "
    "uint64_t packet_size; };\n};\n\n";

static int put_metadata(struct ctf *c, const struct bf_trace *t)
{
	const struct bf_trace_meta_entry *m;
	const struct bf_rec_schema *type;

	fputs(preamble, c->metadata);
	fputs("env {\n\ttracer_name = \"belfry\";\n", c->metadata);
	for (size_t i = 0; (m = bf_trace_meta_at(t, i)) != NULL; i++) {
		putc('\t', c->metadata);
		say_name(c->metadata, m->key);
		fputs(" = ", c->metadata);
		say_text(c->metadata, m->value, strlen(m->value));
		fputs(";\n", c->metadata);
	}
	fputs("};\n\n", c->metadata);
	fputs(stream, c->metadata);
	for (size_t i = 0; (type = bf_trace_type_at(t, i)) != NULL; i++) {
		c->result.types += c->had[type->id] != 0;
		if (c->had[type->id] & EVENTS)
			say_event(c->metadata, type, false);
		if (c->had[type->id] & TAILS)
			say_event(c->metadata, type, true);
	}
	return ferror(c->metadata) ? bf_fail(c->err, -EIO, "writing the metadata: %s", strerror(errno)) : 0;
}

/* ---- the folder ---- */

/* A folder that is there may be the user's: it must be empty. */
static int make_folder(const char *path, struct bf_error *err)
{
	const struct dirent *entry;
	bool empty = true;
	DIR *d;

	if (mkdir(path, 0777) == 0)
		return 0;
	d = errno == EEXIST ? opendir(path) : NULL;
	if (!d)
		return bf_fail(err, -errno, "cannot make the folder %s: %s", path, strerror(errno));
	while (empty && (entry = readdir(d)) != NULL)
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	closedir(d);
	return empty ? 0 : bf_fail(err, -ENOTEMPTY, "the folder %s is not empty: name a new one", path);
}

static int open_file(const char *path, const char *name, FILE **out, struct bf_error *err)
{
	char whole[4096];

	if ((size_t)snprintf(whole, sizeof(whole), "%s/%s", path, name) >= sizeof(whole))
		return bf_fail(err, -ENAMETOOLONG, "%s: the name is too long", path);
	*out = fopen(whole, "wb");
	return *out ? 0 : bf_fail(err, -errno, "cannot write %s: %s", whole, strerror(errno));
}

static int close_file(FILE *f, const char *path, int rc, struct bf_error *err)
{
	return f && fclose(f) != 0 && !rc ? bf_fail(err, -errno, "cannot write in %s: %s", path, strerror(errno)) : rc;
}

int bf_ctf_export(struct bf_trace *t, const char *path, struct bf_ctf_result *result, struct bf_error *err)
{
	struct ctf c = { .err = err, .had = calloc(TYPES, 1) };
	int rc, said;

	if (!c.had)
		return bf_fail(err, -ENOMEM, "no memory for %u types", TYPES);
	rc = make_folder(path, err);
	if (!rc)
		rc = open_file(path, "records", &c.records, err);
	if (!rc)
		rc = open_file(path, "metadata", &c.metadata, err);
	if (!rc)
		rc = put_records(&c, t);
	if (!rc || rc == -EBADMSG) {
		said = put_metadata(&c, t);
		rc = said ? said : rc;
	}
	rc = close_file(c.records, path, rc, err);
	rc = close_file(c.metadata, path, rc, err);
	if (result)
		*result = c.result;
	free(c.buf);
	free(c.had);
	return rc;
}

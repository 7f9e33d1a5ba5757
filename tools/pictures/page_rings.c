/* Entries and completions with their bytes, by queue: the latest ones of each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "tools/pictures/page_internal.h"
#include "traces/container/number_map_internal.h"
#include "traces/device.h"

struct entry {
	uint64_t time_ps, slot;
	bool bad;
	char label[96];
	char *bytes, *text; /* hex; lines */
};

struct ring {
	char name[64];
	struct entry entries[BF_PAGE_ENTRIES]; /* a circle */
	uint64_t count;
	/* The record of the queue that printing needs. */
	struct bf_device_record about;
	uint8_t *fixed;
};

struct rings {
	struct bf_trace *trace;
	struct bf_number_map by_actor;
	struct ring **ring;
	uint32_t nrings, ring_cap;
};

/* Whether the record is what a row's print() needs, or what it prints. */
static const struct bf_entry_row *row_of(const char *type, bool about)
{
	const struct bf_device *d;

	for (uint32_t i = 0; (d = bf_device_at(i)) != NULL; i++)
		for (const struct bf_entry_row *row = d->entries; row && row->type; row++)
			if (about ? row->about && strcmp(row->about, type) == 0 : strcmp(row->type, type) == 0)
				return row;
	return NULL;
}

static struct ring *ring_of(struct rings *r, uint32_t actor)
{
	const uint64_t key[3] = { actor, 0, 0 };
	uint64_t at = bf_number_get(&r->by_actor, key);
	struct ring *ring;

	if (at)
		return r->ring[at - 1];
	ring = calloc(1, sizeof(*ring));
	if (!ring || BF_GROW(r->ring, r->ring_cap, r->nrings + 1) || bf_number_put(&r->by_actor, key, r->nrings + 1)) {
		free(ring);
		return NULL;
	}
	snprintf(ring->name, sizeof(ring->name), "%.63s", bf_trace_actor_name(r->trace, actor));
	r->ring[r->nrings++] = ring;
	return ring;
}

static void print_fields(FILE *out, const struct bf_trace_record *rec)
{
	for (uint16_t i = 0; i < rec->type->nfields; i++) {
		const struct bf_rec_field *f = &rec->type->fields[i];
		const uint64_t value = bf_field_u64(f, rec->fixed);
		const char *name;
		size_t len;

		if (f->kind == BF_FIELD_TEXT)
			fprintf(out, "%-14s %.*s\n", f->name,
				(int)strnlen((const char *)rec->fixed + f->offset, f->size),
				(const char *)rec->fixed + f->offset);
		else if (f->kind == BF_FIELD_ENUM && (name = bf_field_enum_name(f, value, &len)))
			fprintf(out, "%-14s %.*s\n", f->name, (int)len, name);
		else
			fprintf(out, f->kind == BF_FIELD_HEX ? "%-14s 0x%llx\n" : "%-14s %llu\n", f->name,
				(unsigned long long)value);
	}
}

static void print_entry(FILE *out, const struct ring *ring, const struct bf_entry_row *row,
			const struct bf_trace_record *rec)
{
	const struct bf_device_record e = { .time_ps = rec->time_ps,
					    .number = rec->number,
					    .actor = rec->actor,
					    .type = rec->type,
					    .fixed = rec->fixed,
					    .tail = rec->tail,
					    .tail_len = rec->tail_len };

	if (row->print && rec->tail_len >= row->bytes)
		row->print(out, &e, ring->fixed ? &ring->about : NULL);
	else
		print_fields(out, rec);
}

static char *hex_of(const uint8_t *bytes, uint32_t len)
{
	char *out;

	len = len < 1024 ? len : 1024;
	out = malloc(2 * (size_t)len + 1);
	for (uint32_t i = 0; out && i < len; i++)
		snprintf(out + 2 * (size_t)i, 3, "%02x", bytes[i]);
	if (out)
		out[2 * (size_t)len] = '\0';
	return out;
}

static int take(struct rings *r, const struct bf_entry_row *s, const struct bf_trace_record *rec)
{
	struct ring *ring = ring_of(r, rec->actor);
	const struct bf_rec_field *label = s->label ? bf_schema_field(rec->type, s->label) : NULL;
	struct entry *e;
	uint64_t value = 0;
	size_t len = 0;
	FILE *text;

	if (!ring)
		return -ENOMEM;
	e = &ring->entries[ring->count++ % BF_PAGE_ENTRIES];
	free(e->bytes);
	free(e->text);
	*e = (struct entry){ .time_ps = rec->time_ps, .bytes = hex_of(rec->tail, rec->tail_len) };
	text = e->bytes ? open_memstream(&e->text, &len) : NULL;
	if (!text)
		return -ENOMEM;
	print_entry(text, ring, s, rec);
	if (fclose(text) || !e->text)
		return -ENOMEM;
	bf_trace_field_u64(rec, s->slot, &e->slot);
	e->bad = s->error && bf_trace_field_u64(rec, s->error, &value) && value;
	if (label && label->kind == BF_FIELD_TEXT)
		snprintf(e->label, sizeof(e->label), "%s %llu: %.*s", rec->type->name, (unsigned long long)e->slot,
			 (int)strnlen((const char *)rec->fixed + label->offset, label->size),
			 (const char *)rec->fixed + label->offset);
	else if (label) {
		const char *name = bf_field_enum_name(label, bf_field_u64(label, rec->fixed), &len);

		snprintf(e->label, sizeof(e->label), name ? "%s %llu: %.*s" : "%s %llu", rec->type->name,
			 (unsigned long long)e->slot, (int)len, name);
	} else {
		snprintf(e->label, sizeof(e->label), "%s %llu", rec->type->name, (unsigned long long)e->slot);
	}
	return 0;
}

static int note_about(struct rings *r, const struct bf_trace_record *rec)
{
	struct ring *ring = ring_of(r, rec->actor);
	uint8_t *fixed = ring ? realloc(ring->fixed, rec->type->size) : NULL;

	if (!fixed)
		return -ENOMEM;
	memcpy(fixed, rec->fixed, rec->type->size);
	ring->fixed = fixed;
	ring->about = (struct bf_device_record){
		.time_ps = rec->time_ps, .number = rec->number, .actor = rec->actor, .type = rec->type, .fixed = fixed
	};
	return 0;
}

static void put_ring(struct bf_json *j, const struct ring *ring)
{
	const uint64_t first = ring->count > BF_PAGE_ENTRIES ? ring->count - BF_PAGE_ENTRIES : 0;

	bf_json_open(j, NULL, '{');
	bf_json_text(j, "name", ring->name);
	bf_json_u64(j, "left", first);
	bf_json_open(j, "entries", '[');
	for (uint64_t i = first; i < ring->count; i++) {
		const struct entry *e = &ring->entries[i % BF_PAGE_ENTRIES];

		bf_json_open(j, NULL, '{');
		bf_json_u64(j, "time", e->time_ps);
		bf_json_u64(j, "slot", e->slot);
		bf_json_bool(j, "bad", e->bad);
		bf_json_text(j, "label", e->label);
		bf_json_text(j, "bytes", e->bytes);
		bf_json_text(j, "text", e->text);
		bf_json_close(j, '}');
	}
	bf_json_close(j, ']');
	bf_json_close(j, '}');
}

int bf_page_rings(struct bf_json *j, struct bf_trace *t, const struct bf_page_job *job)
{
	struct rings r = { .trace = t };
	struct bf_trace_record rec;
	int rc = 0, damage = 0;

	while (!rc && (rc = bf_trace_next_good(t, &rec, &damage)) > 0) {
		const struct bf_entry_row *row = rec.tail_len ? row_of(rec.type->name, false) : NULL;

		rc = row_of(rec.type->name, true) ? note_about(&r, &rec) : 0;
		if (!rc && row)
			rc = take(&r, row, &rec);
	}
	if (rc == -ENOMEM)
		bf_fail(job->err, rc, "out of memory for the page");
	bf_json_open(j, "rings", '[');
	for (uint32_t i = 0; i < r.nrings; i++) {
		if (!rc && r.ring[i]->count)
			put_ring(j, r.ring[i]);
		for (size_t k = 0; k < BF_PAGE_ENTRIES; k++) {
			free(r.ring[i]->entries[k].bytes);
			free(r.ring[i]->entries[k].text);
		}
		free(r.ring[i]->fixed);
		free(r.ring[i]);
	}
	bf_json_close(j, ']');
	free(r.ring);
	bf_number_map_free(&r.by_actor);
	return rc ? rc : damage;
}

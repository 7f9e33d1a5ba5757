/* Each record that tells of memory adds a name; the same place by the same name is kept once. */
#include "traces/life/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "traces/container/number_map_internal.h"
#include "traces/device.h"
#include "traces/life/label.h"

#define WHAT_MAX 96u
#define READS 64u /* of devices that are remembered: what a record tells of was read just before */

struct read {
	uint64_t va, len, done_ps, pe;
};

struct bf_names {
	struct bf_name *names;
	uint32_t count, cap;
	struct bf_number_map known; /* place and text: number plus 1 */
	struct read reads[READS];
	uint64_t nreads;
};

/* The number at the end of "pe1" or of "nic1" in "nic1.qp0x100". */
static uint64_t pe_of(const char *name)
{
	size_t len = strcspn(name, "."), digits = len;

	while (digits && name[digits - 1] >= '0' && name[digits - 1] <= '9')
		digits--;
	return digits < len ? strtoull(name + digits, NULL, 10) : 0;
}

static int add(struct bf_names *n, struct bf_name name)
{
	const uint64_t key[3] = { name.va, name.bytes ^ name.pe << 48, bf_hash_bytes(name.what, strlen(name.what)) };

	if (!name.bytes || name.va + name.bytes < name.va || bf_number_get(&n->known, key))
		return 0;
	if (BF_GROW(n->names, n->cap, n->count + 1))
		return -ENOMEM;
	name.what = strdup(name.what);
	if (!name.what)
		return -ENOMEM;
	n->names[n->count++] = name;
	return bf_number_put(&n->known, key, n->count);
}

static int add_region(struct bf_names *n, const struct bf_trace_record *rec)
{
	const struct bf_rec_field *text = bf_schema_field(rec->type, "name"),
				  *space = bf_schema_field(rec->type, "space");
	char what[WHAT_MAX], in[WHAT_MAX] = "";
	struct bf_name name = { .what = what, .region = true };

	if (!text || text->kind != BF_FIELD_TEXT || !bf_trace_field_u64(rec, "va", &name.va) ||
	    !bf_trace_field_u64(rec, "size", &name.bytes))
		return 0;
	if (space && space->kind == BF_FIELD_TEXT)
		bf_label_make("$space", rec->type, rec->fixed, in, sizeof(in));
	name.pe = pe_of(in);
	bf_label_make("\"$name\" of $space", rec->type, rec->fixed, what, sizeof(what));
	return add(n, name);
}

static void note_read(struct bf_names *n, const struct bf_trace *t, const struct bf_trace_record *rec)
{
	struct read *r = &n->reads[n->nreads++ % READS];

	*r = (struct read){ .pe = pe_of(bf_trace_actor_name(t, rec->actor)) };
	bf_trace_field_u64(rec, "va", &r->va);
	bf_trace_field_u64(rec, "len", &r->len);
	bf_trace_field_u64(rec, "done_ps", &r->done_ps);
}

/* Where a device has read `bytes` bytes that came at `time_ps`; 0: nowhere, or in several places. */
static uint64_t read_at(const struct bf_names *n, uint64_t pe, uint64_t time_ps, uint64_t bytes)
{
	uint64_t at = 0;

	for (uint64_t i = n->nreads > READS ? n->nreads - READS : 0; i < n->nreads; i++) {
		const struct read *r = &n->reads[i % READS];

		if (r->done_ps != time_ps || r->pe != pe || r->len != bytes)
			continue;
		if (at && at != r->va)
			return 0;
		at = r->va;
	}
	return at;
}

static const char *actor_name(const void *of, const char *name)
{
	return strcmp(name, "actor") == 0 ? of : NULL;
}

static int add_row(struct bf_names *n, const struct bf_trace *t, const struct bf_memory_row *row,
		   const struct bf_trace_record *rec)
{
	const char *actor = bf_trace_actor_name(t, rec->actor);
	char what[WHAT_MAX];
	struct bf_name name = { .what = what, .element = row->entry ? row->element : NULL, .pe = pe_of(actor) };

	if (row->when && !bf_label_holds(row->when, 0, rec->type, rec->fixed))
		return 0;
	name.bytes = bf_label_u64(row->bytes, rec->type, rec->fixed);
	name.entry = row->entry ? bf_label_u64(row->entry, rec->type, rec->fixed) : 0;
	name.va =
	    row->va ? bf_label_u64(row->va, rec->type, rec->fixed) : read_at(n, name.pe, rec->time_ps, name.bytes);
	bf_label_say(
	    &(struct bf_label_scope){ .type = rec->type, .fixed = rec->fixed, .thread = actor_name, .of = actor },
	    row->label, what, sizeof(what));
	return name.va ? add(n, name) : 0;
}

/* A device whose rules know its ring need not say it twice. */
static int add_ring(struct bf_names *n, const struct bf_trace *t, const struct bf_device_ring *ring,
		    const struct bf_trace_record *rec)
{
	const char *actor = bf_trace_actor_name(t, rec->actor);
	char what[WHAT_MAX];
	struct bf_name name = { .what = what, .element = "entry", .pe = pe_of(actor) };
	uint64_t entries = 0;

	bf_trace_field_u64(rec, ring->va, &name.va);
	bf_trace_field_u64(rec, ring->bytes, &name.entry);
	bf_trace_field_u64(rec, ring->entries, &entries);
	if (!name.entry || !entries || entries > UINT32_MAX || name.entry > UINT32_MAX)
		return 0;
	name.bytes = name.entry * entries;
	snprintf(what, sizeof(what), "ring of %.64s", actor);
	return add(n, name);
}

static int take(struct bf_names *n, const struct bf_trace *t, const struct bf_trace_record *rec)
{
	const char *type = rec->type->name;
	const struct bf_device *d;
	int rc = 0;

	if (strcmp(type, "region") == 0)
		return add_region(n, rec);
	if (strcmp(type, "dma_read") == 0)
		note_read(n, t, rec);
	/* Memory, processors and links: none of the many records of these names anything else. */
	if (rec->type->class_ & (BF_CLASS_MEM | BF_CLASS_DMA | BF_CLASS_AGENT | BF_CLASS_MMIO))
		return 0;
	for (uint32_t i = 0; !rc && (d = bf_device_at(i)) != NULL; i++) {
		for (const struct bf_memory_row *row = d->memory; !rc && row && row->type; row++)
			if (strcmp(row->type, type) == 0)
				rc = add_row(n, t, row, rec);
		if (!rc && d->ring && strcmp(d->ring->type, type) == 0)
			rc = add_ring(n, t, d->ring, rec);
	}
	return rc;
}

int bf_names_read(struct bf_trace *t, struct bf_names **out, struct bf_error *err)
{
	struct bf_names *n = calloc(1, sizeof(*n));
	struct bf_trace_record rec;
	int rc = n ? 0 : -ENOMEM, damage = 0;

	while (!rc && (rc = bf_trace_next_good(t, &rec, &damage)) > 0)
		rc = take(n, t, &rec);
	*out = rc ? NULL : n;
	if (rc) {
		bf_names_free(n);
		return rc == -ENOMEM ? bf_fail(err, rc, "out of memory for names of addresses") : rc;
	}
	return damage;
}

void bf_names_free(struct bf_names *n)
{
	for (uint32_t i = 0; n && i < n->count; i++)
		free((char *)n->names[i].what);
	if (n) {
		free(n->names);
		bf_number_map_free(&n->known);
	}
	free(n);
}

const struct bf_name *bf_names_at(const struct bf_names *n, uint32_t i)
{
	return i < n->count ? &n->names[i] : NULL;
}

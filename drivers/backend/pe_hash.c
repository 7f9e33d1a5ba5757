#include "drivers/backend/pe_hash_internal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/machine_internal.h"
#include "sim/grow.h"
#include "sim/rng.h"

#define NO_PE UINT32_MAX

struct actor {
	uint64_t name; /* its hash */
	uint32_t pe;
};

struct bf_pe_hash {
	struct bf_sink sink, *next;
	uint64_t *chain; /* [npes] */
	uint32_t npes;
	struct actor *actors; /* by number, from 1 */
	uint32_t cap;
};

static uint32_t pe_of(const struct bf_pe_hash *h, const char *name)
{
	static const char *const owned[] = { "pe", "gpu" };
	const size_t letters = strspn(name, "abcdefghijklmnopqrstuvwxyz");
	bool known = false;
	uint64_t pe = 0;

	for (size_t i = 0; i < BF_ARRAY_LEN(owned); i++)
		known |= strlen(owned[i]) == letters && strncmp(name, owned[i], letters) == 0;
	for (const struct bf_part *const *part = bf_parts(); *part; part++)
		known |= strlen((*part)->actor) == letters && strncmp(name, (*part)->actor, letters) == 0;
	name += letters;
	if (!known || *name < '0' || *name > '9')
		return NO_PE;
	for (; *name >= '0' && *name <= '9' && pe < h->npes; name++)
		pe = pe * 10 + (uint64_t)(*name - '0');
	return pe < h->npes && (!*name || *name == '.') ? (uint32_t)pe : NO_PE;
}

static int declare_type(struct bf_sink *s, const struct bf_rec_schema *schema)
{
	struct bf_pe_hash *h = BF_CONTAINER_OF(s, struct bf_pe_hash, sink);

	return h->next ? h->next->declare_type(h->next, schema) : 0;
}

static int declare_actor(struct bf_sink *s, uint32_t number, const char *kind, const char *name)
{
	struct bf_pe_hash *h = BF_CONTAINER_OF(s, struct bf_pe_hash, sink);
	uint32_t had = h->cap;

	if (BF_GROW(h->actors, h->cap, (size_t)number + 1))
		return -ENOMEM;
	while (had < h->cap)
		h->actors[had++] = (struct actor){ .pe = NO_PE };
	h->actors[number] = (struct actor){ .name = bf_fnv1a64(name), .pe = pe_of(h, name) };
	return h->next ? h->next->declare_actor(h->next, number, kind, name) : 0;
}

static int write_records(struct bf_sink *s, const void *records, size_t len)
{
	struct bf_pe_hash *h = BF_CONTAINER_OF(s, struct bf_pe_hash, sink);
	const uint8_t *p = records;
	struct bf_rec_header head;

	for (size_t at = 0; at < len; at += bf_record_span(&head)) {
		const struct actor *a;
		uint64_t words[5];

		memcpy(&head, p + at, sizeof(head));
		a = head.actor < h->cap ? &h->actors[head.actor] : NULL;
		if (!a || a->pe == NO_PE)
			continue;
		words[0] = h->chain[a->pe];
		words[1] = head.time_ps;
		words[2] = a->name;
		words[3] = head.type;
		words[4] = bf_hash_bytes(p + at + sizeof(head), head.fixed + (size_t)head.tail);
		h->chain[a->pe] = bf_hash_bytes(words, sizeof(words));
	}
	return h->next ? h->next->write(h->next, records, len) : 0;
}

int bf_pe_hash_create(uint32_t npes, struct bf_sink *next, struct bf_pe_hash **out)
{
	struct bf_pe_hash *h = calloc(1, sizeof(*h));

	*out = NULL;
	if (!h)
		return -ENOMEM;
	h->sink =
	    (struct bf_sink){ .declare_type = declare_type, .declare_actor = declare_actor, .write = write_records };
	h->next = next;
	h->npes = npes;
	h->chain = calloc(npes, sizeof(*h->chain));
	if (!h->chain) {
		free(h);
		return -ENOMEM;
	}
	*out = h;
	return 0;
}

void bf_pe_hash_destroy(struct bf_pe_hash *h)
{
	if (!h)
		return;
	free(h->chain);
	free(h->actors);
	free(h);
}

struct bf_sink *bf_pe_hash_sink(struct bf_pe_hash *h)
{
	return &h->sink;
}

void bf_pe_hash_get(const struct bf_pe_hash *h, uint64_t *out)
{
	memcpy(out, h->chain, h->npes * sizeof(*out));
}

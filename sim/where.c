/*
 * Code addresses as records: a program or library once, with what identifies its build, then places in it.
 *
 * The platform's primitives are inline, so what calls into this library is the driver's own function, and its debug
 * information tells the lines of all that was inlined there.
 */
#include "sim/where_internal.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/agent_internal.h"
#include "sim/bytes.h"
#include "sim/records_agent.h"

#define IMAGES 256u /* a process that runs drivers out of more files than that is not known */

struct image {
	uintptr_t base, end; /* where its bytes lie */
	const char *text;    /* instead: a source file of an interpreted program */
};

struct bf_where {
	struct image images[IMAGES];
	uint32_t count, last;
};

struct search {
	uintptr_t pc;
	struct image found;
	const char *path;
	uint8_t build_id[8];
	bool has_build_id;
};

#define ALIGN4(n) (((n) + 3u) & ~3u)

/* The GNU build id among the notes of a loaded file (System V gABI, "Note Section"; linkers' --build-id). */
static void take_build_id(struct search *s, const uint8_t *note, size_t len)
{
	ElfW(Nhdr) h;

	for (size_t size; len >= sizeof(h); note += size, len -= size) {
		memcpy(&h, note, sizeof(h));
		size = sizeof(h) + ALIGN4((size_t)h.n_namesz) + ALIGN4((size_t)h.n_descsz);
		if (size > len)
			return;
		if (h.n_type != NT_GNU_BUILD_ID || h.n_namesz != 4 || memcmp(note + sizeof(h), "GNU", 4) != 0 ||
		    h.n_descsz < sizeof(s->build_id))
			continue;
		memcpy(s->build_id, note + sizeof(h) + 4, sizeof(s->build_id));
		s->has_build_id = true;
		return;
	}
}

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	uintptr_t end = 0;
	bool hit = false;

	(void)size;
	for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		hit |= s->pc - start < p->p_memsz;
		end = start + p->p_memsz > end ? start + p->p_memsz : end;
	}
	if (!hit)
		return 0;
	for (uint32_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_NOTE && !s->has_build_id)
			take_build_id(s, (const uint8_t *)(info->dlpi_addr + p->p_vaddr), p->p_memsz);
	}
	s->found = (struct image){ .base = info->dlpi_addr, .end = end };
	s->path = info->dlpi_name;
	return 1;
}

/* A file that was not met before: its number from 1, and a record that says which it is. 0: not known. */
static uint32_t meet(struct bf_agent *a, struct bf_where *w, uintptr_t pc)
{
	struct search s = { .pc = pc };
	struct bf_rec_image rec;
	char self[4096];
	ssize_t len;

	if (w->count == IMAGES || !dl_iterate_phdr(look, &s))
		return 0;
	if (!s.path[0]) { /* the program itself */
		len = readlink("/proc/self/exe", self, sizeof(self) - 1);
		self[len > 0 ? len : 0] = '\0';
		s.path = self;
	}
	w->images[w->count++] = s.found;
	rec = (struct bf_rec_image){ .build_id = bf_get_be64(s.build_id), .image = w->count };
	BF_EMIT_MADE(a->sim, 0, image, rec, s.path, (uint32_t)strlen(s.path));
	return w->count;
}

static bool holds(const struct bf_where *w, uint32_t i, uintptr_t pc)
{
	return pc - w->images[i].base < w->images[i].end - w->images[i].base;
}

/* The number of a source file; its name is one text as long as the run lasts. */
static uint32_t text_number(struct bf_agent *a, struct bf_where *w, const char *text)
{
	const struct bf_rec_image rec = { .build_id = BF_IMAGE_IS_TEXT, .image = w->count + 1 };

	for (uint32_t i = w->count; i; i--)
		if (w->images[i - 1].text == text)
			return i;
	if (w->count == IMAGES)
		return 0;
	w->images[w->count++] = (struct image){ .text = text };
	BF_EMIT_MADE(a->sim, 0, image, rec, text, (uint32_t)strlen(text));
	return w->count;
}

/* Finds the program or library of `pc` and makes it the last one. False: not known. */
static bool find_image(struct bf_agent *a, struct bf_where *w, uintptr_t pc)
{
	if (w->last < w->count && holds(w, w->last, pc))
		return true;
	for (w->last = 0; w->last < w->count && !holds(w, w->last, pc); w->last++)
		;
	return w->last < w->count || meet(a, w, pc);
}

static struct bf_where *where_of(struct bf_agent *a)
{
	struct bf_where **w = &a->sim->agents->where;

	if (!*w)
		*w = calloc(1, sizeof(**w));
	return *w;
}

void bf_where_record(struct bf_agent *a, const void *pc_at)
{
	struct bf_where *w = where_of(a);
	const uintptr_t pc = (uintptr_t)pc_at;
	struct bf_rec_where rec;

	if (!w)
		return; /* findings then lack a line */
	if (a->file) {
		rec = (struct bf_rec_where){ .offset = a->line, .image = text_number(a, w, a->file) };
		if (rec.image)
			BF_EMIT_MADE(a->sim, a->actor, where, rec, NULL, 0);
		return;
	}
	if (!find_image(a, w, pc))
		return;
	rec = (struct bf_rec_where){ .offset = pc - w->images[w->last].base, .image = w->last + 1 };
	BF_EMIT_MADE(a->sim, a->actor, where, rec, NULL, 0);
}

uint32_t bf_where_site(struct bf_agent *a, const void *pc)
{
	struct bf_where *w = where_of(a);

	if (a->file)
		return a->line;
	return w && find_image(a, w, (uintptr_t)pc) ? (uint32_t)((uintptr_t)pc - w->images[w->last].base) : 0;
}

void bf_where_free(struct bf_where *w)
{
	free(w);
}

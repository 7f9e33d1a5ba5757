/* A trace in memory that a test writes record by record and reads back. */
#ifndef BELFRY_TESTS_TRACES_TAPE_H
#define BELFRY_TESTS_TRACES_TAPE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/container/trace.h"

struct tape {
	uint64_t clock;
	struct bf_stream st;
	struct bf_trace_writer *w;
	struct bf_trace *t;
	struct bf_error err;
	FILE *file;
	char *bytes;
	size_t size;
	/* A stream gives each call a new actor. */
	struct {
		char name[48];
		uint32_t number;
	} actors[32];
	uint32_t nactors;
};

static inline uint32_t actor_of(struct tape *p, const char *kind, const char *name)
{
	for (uint32_t i = 0; i < p->nactors; i++)
		if (strcmp(p->actors[i].name, name) == 0)
			return p->actors[i].number;
	ck_assert_uint_lt(p->nactors, BF_ARRAY_LEN(p->actors));
	snprintf(p->actors[p->nactors].name, sizeof(p->actors[0].name), "%s", name);
	p->actors[p->nactors].number = bf_stream_actor(&p->st, kind, name);
	return p->actors[p->nactors++].number;
}

static inline void tape_open(struct tape *p)
{
	*p = (struct tape){ 0 };
	p->file = open_memstream(&p->bytes, &p->size);
	ck_assert(!bf_trace_writer_open(NULL, p->file, NULL, &p->w, &p->err));
	ck_assert(!bf_stream_open(&p->st, &p->clock, BF_CLASS_ALL, bf_trace_sink(p->w)));
}

static inline struct bf_trace *tape_read(struct tape *p)
{
	ck_assert(!bf_stream_close(&p->st));
	ck_assert(!bf_trace_writer_close(p->w));
	bf_stream_fini(&p->st);
	fclose(p->file);
	ck_assert(!bf_trace_open_memory(p->bytes, p->size, &p->t, &p->err));
	return p->t;
}

static inline void tape_close(struct tape *p)
{
	bf_trace_close(p->t);
	free(p->bytes);
}

/* A record of type `type` by `actor` with some fields, a nanosecond after the one before. */
#define PUT(p, type, kind, actor, ...)                                                                                 \
	do {                                                                                                           \
		struct bf_rec_##type rec_ = { __VA_ARGS__ };                                                           \
                                                                                                                       \
		(p)->clock += 1000;                                                                                    \
		bf_record(&(p)->st, &bf_rec_##type##_schema, actor_of(p, kind, actor), &rec_, NULL, 0);                \
	} while (0)

#endif

#include "tools/record_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/findings.h"

static int declare_type(struct bf_sink *sink, const struct bf_rec_schema *schema)
{
	(void)sink;
	(void)schema;
	return 0; /* readers of a log know the types that they look for */
}

static int declare_actor(struct bf_sink *sink, uint32_t actor, const char *kind, const char *name)
{
	struct bf_record_log *log = BF_CONTAINER_OF(sink, struct bf_record_log, sink);

	(void)kind;
	if (actor >= log->nnames) {
		const uint32_t n = actor + actor / 2 + 16;
		void *grown = realloc(log->names, n * sizeof(*log->names));

		if (!grown)
			return -ENOMEM;
		log->names = grown;
		memset(log->names + log->nnames, 0, (n - log->nnames) * sizeof(*log->names));
		log->nnames = n;
	}
	snprintf(log->names[actor], sizeof(log->names[actor]), "%s", name);
	return 0;
}

static int write_records(struct bf_sink *sink, const void *records, size_t len)
{
	struct bf_record_log *log = BF_CONTAINER_OF(sink, struct bf_record_log, sink);

	if (log->overflow || len > log->max - log->len) {
		log->overflow = true;
		return 0;
	}
	if (len > log->cap - log->len) {
		const size_t cap = log->len + len + log->cap;
		uint8_t *grown = realloc(log->bytes, cap);

		if (!grown) {
			log->overflow = true;
			return 0;
		}
		log->bytes = grown;
		log->cap = cap;
	}
	memcpy(log->bytes + log->len, records, len);
	log->len += len;
	return 0;
}

void bf_record_log_init(struct bf_record_log *log, size_t max)
{
	*log = (struct bf_record_log){
		.sink = { .declare_type = declare_type, .declare_actor = declare_actor, .write = write_records },
		.max = max,
	};
}

void bf_record_log_free(struct bf_record_log *log)
{
	free(log->bytes);
	free(log->names);
}

const struct bf_rec_header *bf_record_log_next(const struct bf_record_log *log, size_t *offset)
{
	const struct bf_rec_header *head;

	if (*offset >= log->len)
		return NULL;
	head = (const struct bf_rec_header *)(const void *)(log->bytes + *offset);
	*offset += bf_record_span(head);
	return head;
}

const char *bf_record_log_name(const struct bf_record_log *log, uint32_t actor)
{
	return actor < log->nnames && log->names[actor][0] ? log->names[actor] : "?";
}

void bf_cause_count(const struct bf_record_log *log, struct bf_cause *c)
{
	const struct bf_rec_header *head;
	size_t offset = 0;

	c->records = 0;
	while (c->text[0] && (head = bf_record_log_next(log, &offset)) != NULL)
		c->records += head->time_ps >= c->begin_ps && head->time_ps <= c->end_ps;
}

/* Records in memory: a sink that keeps everything, for analyses that look back and forth. */
#ifndef BELFRY_TOOLS_RECORD_LOG_H
#define BELFRY_TOOLS_RECORD_LOG_H

#include "sim/record.h"

struct bf_record_log {
	struct bf_sink sink; /* give this one to the stream */
	uint8_t *bytes;
	size_t len, cap, max;
	char (*names)[40]; /* of actors, by number */
	uint32_t nnames;
	bool overflow; /* more than `max` bytes came: the log is useless */
};

/* Keeps up to `max` bytes. Free with bf_record_log_free(). */
void bf_record_log_init(struct bf_record_log *log, size_t max);
void bf_record_log_free(struct bf_record_log *log);

/* The record at `*offset`, which then moves to the next one; NULL at the end. */
const struct bf_rec_header *bf_record_log_next(const struct bf_record_log *log, size_t *offset);

/* Counts the records in the cause's interval. */
struct bf_cause;
void bf_cause_count(const struct bf_record_log *log, struct bf_cause *c);

/* "?" for an actor that was not declared. */
const char *bf_record_log_name(const struct bf_record_log *log, uint32_t actor);

#endif

/*
 * The JSON Lines form of records, for those who print them: dump and the exchange form share it.
 *
 * Numbers of type BF_FIELD_HEX are strings "0x..."; other numbers are JSON numbers up to 2^53 and decimal strings
 * beyond, because most JSON readers keep numbers as doubles. See docs/trace-format.md. No state: any thread. Errors of
 * output are left in the FILE for its owner to ask.
 */
#ifndef BELFRY_TRACES_CONTAINER_JSONL_H
#define BELFRY_TRACES_CONTAINER_JSONL_H

#include <stdio.h>

#include "traces/container/trace.h"

/* The value of a field. */
void bf_json_field(FILE *out, const struct bf_rec_field *field, const void *fixed);

/*
 * One record as a JSON object, without newline. `actor` is the name to print in place of the actor's number; the
 * exchange form gives NULL.
 */
void bf_json_record(FILE *out, const struct bf_trace_record *rec, const char *actor);

#endif

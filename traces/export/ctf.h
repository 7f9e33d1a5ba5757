/*
 * Traces in the Common Trace Format, version 1.8 (diamon.org/ctf/v1.8.3), which babeltrace2 and Trace Compass read: a
 * folder with the declarations in `metadata` and all records in `records`. A record is an event with its own fields,
 * its actor's name as context and a clock that counts picoseconds.
 */
#ifndef BELFRY_TRACES_EXPORT_CTF_H
#define BELFRY_TRACES_EXPORT_CTF_H

#include "traces/container/trace.h"

struct bf_ctf_result {
	uint64_t events, types; /* types: that have events */
};

/*
 * Writes from where the reader stands into the folder `path`, which is made if it is not there; files of an earlier
 * export are replaced. Events of this format never go back in time: a record that does has the time of the one before.
 * `result` may be NULL. 0; -EBADMSG when the trace was damaged, the rest having been written; or another negative errno
 * with text in `err`.
 */
int bf_ctf_export(struct bf_trace *t, const char *path, struct bf_ctf_result *result, struct bf_error *err);

#endif

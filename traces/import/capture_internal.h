/* What the readers of captured events share: lines of a capture, records of an imported one, those of the model. */
#ifndef BELFRY_TRACES_IMPORT_CAPTURE_INTERNAL_H
#define BELFRY_TRACES_IMPORT_CAPTURE_INTERNAL_H

#include "traces/import/capture.h"
#include "traces/container/json_line.h"
#include "traces/container/trace.h"

#define BF_CAPTURE_QPN_MAX 0xffffffu /* queue numbers have 24 bits */

/* A field of an event. */
struct bf_capture_field {
	const char *name; /* in the line and in the record */
	enum bf_json_form form;
	uint16_t offset, size; /* in struct bf_capture_event */
	uint64_t max;
};

/* A kind of event. `unit` and `most`: how many bytes its "bytes" may have; 0: it has none. */
struct bf_capture_form {
	const char *name;
	const struct bf_capture_field *fields; /* ends with a NULL name */
	const struct bf_rec_schema *schema;
	uint32_t unit, most;
};
extern const struct bf_capture_form bf_capture_forms[BF_CAPTURE_KINDS];

void bf_capture_set(struct bf_capture_event *ev, const struct bf_capture_field *f, uint64_t value);

/* Room for bytes that live as long as the capture; NULL on lack of memory. */
uint8_t *bf_capture_room(struct bf_capture *c, size_t len);

/* Whether the event fits behind those that `c` has, and makes sense. 0, or -EBADMSG with `err` set. */
int bf_capture_check(const struct bf_capture *c, const struct bf_capture_event *ev, struct bf_error *err);
/* 0 or -ENOMEM with `err` set. */
int bf_capture_append(struct bf_capture *c, const struct bf_capture_event *ev, struct bf_error *err);

/* All events that the records of a trace hold. 0 or a negative errno with `err` set. */
int bf_capture_read(struct bf_trace *t, struct bf_capture *c, struct bf_error *err);

/* What has been seen of a trace of the model. Create returns 0 or -ENOMEM; NULL is fine to destroy. */
struct bf_capture_model;
int bf_capture_model_create(struct bf_capture_model **out);
void bf_capture_model_destroy(struct bf_capture_model *m);

/*
 * Takes the next record. 1: it is an event, `ev` has it, with bytes that live as long as the record's; its "line" is
 * the record's number from 1. 0: it is none. Or -ENOMEM.
 */
int bf_capture_from_model(struct bf_capture_model *m, const struct bf_trace_record *rec, struct bf_capture_event *ev);

#endif

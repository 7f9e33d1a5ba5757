/* Between the two sources of captured events that are traces: imported ones, and those of the model. */
#ifndef BELFRY_TRACES_CAPTURE_INTERNAL_H
#define BELFRY_TRACES_CAPTURE_INTERNAL_H

#include "traces/capture.h"
#include "traces/trace.h"

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

/* The tables that tell what records mean on a timeline (timeline_rows.c), for the one who reads them (timeline.c). */
#ifndef BELFRY_TRACES_LIFE_TIMELINE_INTERNAL_H
#define BELFRY_TRACES_LIFE_TIMELINE_INTERNAL_H

#include "traces/life/timeline.h"

enum bf_timeline_verb {
	BF_ROW_HIDDEN,
	BF_ROW_INSTANT,
	BF_ROW_MEMORY,   /* an instant that is shown only when asked for */
	BF_ROW_OPENS,    /* a span begins */
	BF_ROW_CLOSES,   /* the span of the same group and keys ends */
	BF_ROW_UNTIL,    /* a span from now to the time in field `until` */
	BF_ROW_SINCE,    /* a span from the time in field `until` to now */
	BF_ROW_BY_EVENT, /* field `until`: hopper_wait opens at 0 and closes above 1, hopper_bulk_end closes at 1 */
	BF_ROW_PACKET,   /* opens where it is sent (field dir 0), closes where it arrives */
};

/* A flow is born with a store to a device and handed on from record to record. */
enum bf_timeline_flow {
	BF_FLOW_NONE,
	BF_FLOW_BEGINS,    /* at address keys[0] */
	BF_FLOW_ARRIVES,   /* the one of that address is what the next doorbell has */
	BF_FLOW_RINGS,     /* this actor's entries have it from now on */
	BF_FLOW_FOLLOWS,   /* an entry of this actor */
	BF_FLOW_COMPLETES, /* of the queue keys[0] of this device */
	BF_FLOW_SEEN,      /* by software of the PE with the device's number */
};

struct bf_timeline_row {
	const char *type;
	enum bf_timeline_verb verb;
	const char *label;
	const char *keys[2];
	uint32_t group; /* spans of one group, device and keys open and close each other; no keys: of one actor */
	enum bf_timeline_flow flow;
	const char *until;
	const char *error; /* not good when this field is not 0 */
	bool bad;          /* never good */
};

enum bf_timeline_make { BF_SIGNAL_PLAIN, BF_SIGNAL_MBAR_PHASE, BF_SIGNAL_MBAR_PENDING, BF_SIGNAL_MBAR_TX };

struct bf_timeline_signal_row {
	const char *type, *name;
	uint32_t bits;
	const char *field, *plus; /* plus may be NULL */
	const char *of;           /* the field that tells signals of one actor and name apart; NULL: there is one */
	enum bf_timeline_make make;
};

/* Both end with a NULL type. */
extern const struct bf_timeline_row bf_timeline_rows[];
extern const struct bf_timeline_signal_row bf_timeline_signal_rows[];

#endif

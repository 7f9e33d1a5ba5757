/*
 * What the parts of the story share: life.c takes records in, life_queue.c knows what happens at the entry's own queue,
 * life_wire.c what happens to its packets and at the other end.
 */
#ifndef BELFRY_TRACES_LIFE_INTERNAL_H
#define BELFRY_TRACES_LIFE_INTERNAL_H

#include <inttypes.h>
#include <string.h>

#include "traces/life.h"

#define BF_LIFE_TYPES 1024u
#define BF_LIFE_PSN_MASK 0xffffffu

enum bf_life_stage {
	BF_LIFE_STAGE_WAITING,
	BF_LIFE_STAGE_FETCHED,
	BF_LIFE_STAGE_STARTED,
	BF_LIFE_STAGE_DONE,
	BF_LIFE_STAGE_ENDED
};

/* A record, from whichever source. */
struct bf_life_view {
	uint64_t time_ps;
	const char *actor;
	const struct bf_rec_schema *type;
	const uint8_t *fixed, *tail;
	uint32_t tail_len;
};

struct bf_life_packet {
	uint64_t id;
	bool request;
	char text[128];
};

struct bf_life {
	struct bf_sink sink; /* first: the sink's functions get this pointer */
	uint32_t qpn, remote_qpn;
	uint16_t index;
	bool has_remote;
	enum bf_life_stage stage;
	struct bf_life_step *steps;
	size_t nsteps, cap;
	/* Steps before the fetch that may turn out to be this entry's. */
	struct bf_life_step posted, rang;
	bool has_written, has_posted, has_rang, has_record;
	uint16_t announced; /* value of the doorbell record in `posted` */
	uint16_t producer;  /* what the device last read in the doorbell record */
	bool has_producer;
	uint64_t last_ps;      /* of the last record */
	uint64_t capture_line; /* of the last captured event; 0: this is no replay */
	uint64_t capture_ps;
	bool ran;              /* a device has done something */
	bool own_cqe, in_capture; /* the completion was its own; the capture has it too */
	char device[16], far_device[16]; /* the far one is known once a packet has arrived there */
	uint32_t psn, npsn;
	bool arrived, answered, unsignalled;
	bool dc; /* the entry has an address vector */
	bool expects_recv_cqe;
	struct bf_life_packet *packets; /* sent, not yet arrived */
	size_t npackets, packets_cap;
	const struct bf_rec_schema *types[BF_LIFE_TYPES];
	char (*actors)[48];
	size_t nactors;
	int status;
};

/* A step at the record's time; PLACE's device is the record's actor up to its first dot. */
struct bf_life_step bf_life_make(const struct bf_life_view *v, enum bf_life_place place, const char *what,
				 const char *fmt, ...) BF_PRINTF(4, 5);
void bf_life_push(struct bf_life *l, struct bf_life_step s);
void bf_life_detail(struct bf_life *l, struct bf_life_step s);

/* Fields of a record: 0 or "" when its type has none of that name. Names of enumerated values, or their number. */
uint64_t bf_life_get(const struct bf_life_view *v, const char *name);
const char *bf_life_get_name(const struct bf_life_view *v, const char *name, char *buf, size_t cap);
const char *bf_life_get_text(const struct bf_life_view *v, const char *name, char *buf, size_t cap);

/* The actor belongs to the entry's device (any, while that is unknown). */
bool bf_life_from_device(const struct bf_life *l, const char *actor);
bool bf_life_from_far(const struct bf_life *l, const char *actor);
/* The record is about the entry's queue pair; about the one at the other end. */
bool bf_life_is_own(const struct bf_life *l, const struct bf_life_view *v);
bool bf_life_is_far(const struct bf_life *l, const struct bf_life_view *v);
/* The record is about this entry; the packet number is one of its own. */
bool bf_life_is_mine(const struct bf_life *l, const struct bf_life_view *v);
bool bf_life_psn_is_mine(const struct bf_life *l, uint32_t psn);

/* life_queue.c */
void bf_life_on_capture_qp(struct bf_life *l, const struct bf_life_view *v);
void bf_life_on_capture_doorbell(struct bf_life *l, const struct bf_life_view *v);
void bf_life_on_capture_wqe(struct bf_life *l, const struct bf_life_view *v);
void bf_life_on_doorbell(struct bf_life *l, const struct bf_life_view *v);
void bf_life_on_dbrec(struct bf_life *l, const struct bf_life_view *v);
void bf_life_on_dc_wqe(struct bf_life *l, const struct bf_life_view *v);
void bf_life_on_fetch(struct bf_life *l, const struct bf_life_view *v);
void bf_life_on_start(struct bf_life *l, const struct bf_life_view *v);
void bf_life_on_done(struct bf_life *l, const struct bf_life_view *v);
void bf_life_on_cqe(struct bf_life *l, const struct bf_life_view *v);
void bf_life_on_capture_cqe(struct bf_life *l, const struct bf_life_view *v);
void bf_life_on_end(struct bf_life *l);

/* life_wire.c */
void bf_life_on_packet(struct bf_life *l, const struct bf_life_view *v);
void bf_life_on_dc_connection(struct bf_life *l, const struct bf_life_view *v);
void bf_life_on_dc_context(struct bf_life *l, const struct bf_life_view *v);
void bf_life_on_dc_cnak(struct bf_life *l, const struct bf_life_view *v);
void bf_life_on_retransmit(struct bf_life *l, const struct bf_life_view *v);
void bf_life_on_mkey_error(struct bf_life *l, const struct bf_life_view *v);
void bf_life_on_qp_error(struct bf_life *l, const struct bf_life_view *v);
void bf_life_on_qp_state(struct bf_life *l, const struct bf_life_view *v);
void bf_life_on_recv_fetch(struct bf_life *l, const struct bf_life_view *v);
void bf_life_on_request_done(struct bf_life *l, const struct bf_life_view *v);
void bf_life_on_nak_sent(struct bf_life *l, const struct bf_life_view *v);

#endif

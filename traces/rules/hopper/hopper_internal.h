/* What the files of Hopper's facts share: hopper_places.c, hopper_ops.c, hopper_copies.c and hopper.c. */
#ifndef BELFRY_TRACES_RULES_HOPPER_HOPPER_INTERNAL_H
#define BELFRY_TRACES_RULES_HOPPER_HOPPER_INTERNAL_H

#include "traces/rules/hopper/hopper.h"

/* ---- hopper_places.c ---- */

/* The SM of an actor's name; BF_HOPPER_SMS when it names none. */
uint32_t bf_hopper_rule_sm_of(struct bf_rules *r, struct bf_hopper_rule_run *run, uint32_t actor);

/* An SM, made when it is new; NULL for a number out of range or on lack of memory. */
struct bf_hopper_rule_sm *bf_hopper_rule_make_sm(struct bf_hopper_rule_run *run, uint32_t sm);

/* The block that has a slot of an SM, or had it last. */
const struct bf_hopper_rule_block *bf_hopper_rule_block_of(const struct bf_hopper_rule_run *run, uint32_t sm,
							   uint32_t slot);

/* The block of an SM with that rank, the latest one. */
const struct bf_hopper_rule_block *bf_hopper_rule_ranked_block(const struct bf_hopper_rule_run *run, uint32_t sm,
							       uint32_t rank);

/* The barrier at an address of an SM, made when it is new; NULL on lack of memory. */
struct bf_rule_queue *bf_hopper_rule_make_barrier(struct bf_rules *r, struct bf_hopper_rule_run *run, uint32_t sm,
						  uint32_t address);

/* What a warp of the cluster has done at a barrier, by rank and number in the block or by its slot; NULL as above. */
struct bf_hopper_rule_party *bf_hopper_rule_party_of(struct bf_hopper_rule_barrier *b, uint32_t rank, uint32_t warp);
struct bf_hopper_rule_party *bf_hopper_rule_party_at(struct bf_hopper_rule_run *run, struct bf_hopper_rule_barrier *b,
						     uint32_t sm, uint32_t slot);

/* A hopper_cta record. */
void bf_hopper_rule_note_block(struct bf_rules *r, struct bf_hopper_rule_run *run, const struct bf_seen *e);

/* ---- hopper_ops.c: a hopper_op, hopper_wait, hopper_remote record ---- */

void bf_hopper_rule_note_op(struct bf_rules *r, struct bf_hopper_rule_run *run, const struct bf_seen *e);
void bf_hopper_rule_note_wait(struct bf_rules *r, struct bf_hopper_rule_run *run, const struct bf_seen *e);
void bf_hopper_rule_note_remote(struct bf_hopper_rule_run *run, const struct bf_seen *e);

/* ---- hopper_copies.c: a hopper_bulk, hopper_bulk_end, region record, or one of cp.async and its groups ---- */

void bf_hopper_rule_note_bulk(struct bf_rules *r, struct bf_hopper_rule_run *run, const struct bf_seen *e);
void bf_hopper_rule_note_bulk_end(struct bf_hopper_rule_run *run, const struct bf_seen *e);
void bf_hopper_rule_note_region(struct bf_hopper_rule_run *run, const struct bf_seen *e);
void bf_hopper_rule_note_exit(struct bf_hopper_rule_run *run, uint32_t block);
void bf_hopper_rule_note_async(struct bf_rules *r, struct bf_hopper_rule_run *run, const struct bf_seen *e);

#endif

/* What the readers of packets share. */
#ifndef BELFRY_TRACES_EVIDENCE_PACKETS_INTERNAL_H
#define BELFRY_TRACES_EVIDENCE_PACKETS_INTERNAL_H

#include "traces/evidence/packets.h"

/* A captured frame. */
struct bf_frame {
	const uint8_t *at;
	uint32_t len;       /* bytes that were kept */
	uint32_t link;      /* LINKTYPE_* */
	uint32_t interface; /* two of them may see the same packet */
	uint64_t ns;        /* when, since the file's own zero */
};

/* Conversations, and what was seen of each: packets.c. */
struct bf_conversations;
struct bf_conversations *bf_conversations_new(struct bf_evidence_list *list, struct bf_packet_count *count);
int bf_conversations_frame(struct bf_conversations *c, const struct bf_frame *f); /* 0 or -ENOMEM */
void bf_conversations_free(struct bf_conversations *c);

#endif

/*
 * Commands that a controller has and has not answered. A slot is free for the next entry as soon as it is fetched, so
 * it is the identifier that tells commands apart.
 */
#include <string.h>

#include "sim/grow.h"
#include "traces/rules/nvme/nvme.h"

static uint16_t cid_of(const struct bf_nvme_rule_command *c)
{
	return bf_get_le16(c->entry + 2);
}

/* The link to the command in place `i`. */
static uint32_t *link_to(struct bf_nvme_rule_queue *q, uint32_t i)
{
	uint32_t *link = &q->by_cid[cid_of(&q->commands[i]) % BF_NVME_RULE_CIDS];

	while (*link != i + 1)
		link = &q->commands[*link - 1].next;
	return link;
}

struct bf_nvme_rule_command *bf_nvme_rule_command(const struct bf_nvme_rule_queue *q, uint16_t cid)
{
	uint32_t i = q->by_cid[cid % BF_NVME_RULE_CIDS];

	while (i && cid_of(&q->commands[i - 1]) != cid)
		i = q->commands[i - 1].next;
	return i ? &q->commands[i - 1] : NULL;
}

struct bf_nvme_rule_command *bf_nvme_rule_command_begin(struct bf_nvme_rule_queue *q, const uint8_t *entry)
{
	struct bf_nvme_rule_command *c;
	uint32_t *head;

	/* More than a queue has identifiers: the stream tells of no completions. */
	if (q->in_flight == BF_NVME_RULE_QUEUE_MAX)
		bf_nvme_rule_commands_end(q);
	if (BF_GROW(q->commands, q->ncommands, q->in_flight + 1))
		return NULL;
	c = &q->commands[q->in_flight];
	memcpy(c->entry, entry, BF_NVME_RULE_ENTRY);
	head = &q->by_cid[cid_of(c) % BF_NVME_RULE_CIDS];
	c->next = *head;
	*head = ++q->in_flight;
	if (q->in_flight > q->most_in_flight)
		q->most_in_flight = q->in_flight;
	return c;
}

const struct bf_nvme_rule_command *bf_nvme_rule_command_end(struct bf_nvme_rule_queue *q, uint16_t cid)
{
	struct bf_nvme_rule_command *c = bf_nvme_rule_command(q, cid), *last, ended;

	if (!c)
		return NULL;
	*link_to(q, (uint32_t)(c - q->commands)) = c->next;
	last = &q->commands[q->in_flight - 1];
	if (c != last) {
		*link_to(q, q->in_flight - 1) = (uint32_t)(c - q->commands) + 1;
		ended = *c;
		*c = *last;
		*last = ended;
	}
	q->in_flight--;
	return last;
}

void bf_nvme_rule_commands_end(struct bf_nvme_rule_queue *q)
{
	q->in_flight = 0;
	memset(q->by_cid, 0, sizeof(q->by_cid));
}

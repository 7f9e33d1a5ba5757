/*
 * Why an NVSHMEM-style workload failed, by the calls of each warp: what it told others of while its puts were under
 * way.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "drivers/ibgda/shmem_records.h"
#include "tools/record_log.h"
#include "tools/workload_shmem.h"

/* A put that no fence or quiet has covered. */
struct open_put {
	uint32_t actor, pe, qpn;
	uint64_t at_ps;
};

struct calls {
	const struct bf_record_log *log;
	struct open_put *puts;
	size_t n, cap;
	struct bf_cause *out;
};

static const struct open_put *find_put(const struct calls *c, uint32_t actor, uint32_t pe, bool any_pe)
{
	for (size_t i = c->n; i-- > 0;)
		if (c->puts[i].actor == actor && (any_pe || c->puts[i].pe == pe))
			return &c->puts[i];
	return NULL;
}

static bool add_put(struct calls *c, const struct bf_rec_header *head, const struct bf_rec_shmem_call *call)
{
	if (c->n == c->cap) {
		const size_t cap = c->cap * 2 + 64;
		struct open_put *grown = realloc(c->puts, cap * sizeof(*grown));

		if (!grown)
			return false;
		c->puts = grown;
		c->cap = cap;
	}
	c->puts[c->n++] =
	    (struct open_put){ .actor = head->actor, .pe = call->pe, .qpn = call->qpn, .at_ps = head->time_ps };
	return true;
}

/* Forgets the puts of a warp: all of them, or those to a PE that a signal covers. */
static void close_puts(struct calls *c, uint32_t actor, uint32_t pe, bool any_pe)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->n; i++)
		if (c->puts[i].actor != actor || (!any_pe && c->puts[i].pe != pe))
			c->puts[kept++] = c->puts[i];
	c->n = kept;
}

static bool told_too_early(struct calls *c, const struct bf_rec_header *head, const struct bf_rec_shmem_call *call)
{
	const struct open_put *put = find_put(c, head->actor, call->pe, call->call == BF_SHMEM_CALL_MEET);
	const char *who = bf_record_log_name(c->log, head->actor);

	if (call->call == BF_SHMEM_CALL_SIGNAL && !put) {
		bf_cause_say(c->out, head->time_ps, head->time_ps,
			     "%s sent a signal to PE %" PRIu32 " by QP 0x%" PRIx32 " before the put that it stands for",
			     who, call->pe, call->qpn);
		return true;
	}
	if (!put || call->call == BF_SHMEM_CALL_SIGNAL)
		return false;
	if (call->call == BF_SHMEM_CALL_FLAG && put->qpn != call->qpn)
		bf_cause_say(c->out, put->at_ps, head->time_ps,
			     "%s put data to PE %" PRIu32 " by QP 0x%" PRIx32 " and %s later a flag by QP 0x%" PRIx32
			     ", with no fence between: nothing orders one queue pair behind another",
			     who, put->pe, put->qpn, bf_span_of(head->time_ps - put->at_ps).text, call->qpn);
	if (call->call == BF_SHMEM_CALL_OVERWRITE)
		bf_cause_say(c->out, put->at_ps, head->time_ps,
			     "%s stored to the source of its put to PE %" PRIu32 " by QP 0x%" PRIx32
			     " %s after the call, with no quiet between: the device may not have read it",
			     who, put->pe, put->qpn, bf_span_of(head->time_ps - put->at_ps).text);
	if (call->call == BF_SHMEM_CALL_MEET)
		bf_cause_say(c->out, put->at_ps, head->time_ps,
			     "%s came to a barrier with a put to PE %" PRIu32 " by QP 0x%" PRIx32
			     " under way: whoever leaves it may not find the data",
			     who, put->pe, put->qpn);
	return c->out->text[0] != 0;
}

/* False when there is no more to look for. */
static bool take_call(struct calls *c, const struct bf_rec_header *head)
{
	const struct bf_rec_shmem_call *call = (const void *)(head + 1);

	switch ((enum bf_shmem_call)call->call) {
	case BF_SHMEM_CALL_PUT:
		return add_put(c, head, call);
	case BF_SHMEM_CALL_COMPLETE:
		close_puts(c, head->actor, 0, true);
		return true;
	case BF_SHMEM_CALL_SIGNAL:
		if (told_too_early(c, head, call))
			return false;
		close_puts(c, head->actor, call->pe, false);
		return true;
	case BF_SHMEM_CALL_FLAG:
	case BF_SHMEM_CALL_OVERWRITE:
	case BF_SHMEM_CALL_MEET:
		break;
	}
	return !told_too_early(c, head, call);
}

/* A promise matters only to those who were let down by it: with wrong data, not when queues got stuck. */
void bf_shmem_cause(const struct bf_pes *p, const struct bf_record_log *log, struct bf_cause *out)
{
	struct calls c = { .log = log, .out = out };
	const struct bf_rec_header *head;
	size_t offset = 0;

	(void)p;
	while ((head = bf_record_log_next(log, &offset)) != NULL)
		if (head->type == BF_REC_ID_shmem_call && !take_call(&c, head))
			break;
	free(c.puts);
}

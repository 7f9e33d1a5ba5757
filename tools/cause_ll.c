/*
 * Why a low-latency exchange failed, by what its kernels say of themselves: messages, the count behind them, and what
 * the receiver took it for. Each question below is asked in turn; the first that has an answer names the cause.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/ibgda/ll_records.h"
#include "tools/record_log.h"
#include "tools/workload_ll.h"

/* One statement of a kernel. */
struct said {
	const struct bf_rec_header *head;
	uint32_t pe; /* that said it */
	const void *fixed;
};

struct story {
	const struct bf_record_log *log;
	struct said *said;
	size_t n, cap;
	uint64_t end_ps;
	struct bf_cause *out;
};

static bool keep(struct story *s, const struct bf_rec_header *head)
{
	const char *name = bf_record_log_name(s->log, head->actor);

	if (s->n == s->cap) {
		const size_t cap = s->cap * 2 + 256;
		struct said *grown = realloc(s->said, cap * sizeof(*grown));

		if (!grown)
			return false;
		s->said = grown;
		s->cap = cap;
	}
	s->said[s->n++] = (struct said){ .head = head,
					 .pe = (uint32_t)strtoul(name + strcspn(name, "0123456789"), NULL, 10),
					 .fixed = head + 1 };
	return true;
}

static bool read_story(struct story *s)
{
	const struct bf_rec_header *head;
	size_t offset = 0;

	while ((head = bf_record_log_next(s->log, &offset)) != NULL) {
		s->end_ps = head->time_ps > s->end_ps ? head->time_ps : s->end_ps;
		if (head->type >= BF_REC_ID_ll_cast && head->type <= BF_REC_ID_ll_recv && !keep(s, head))
			return false;
	}
	return true;
}

static const char *name_of(const struct story *s, const struct said *x)
{
	return bf_record_log_name(s->log, x->head->actor);
}

/* The next statement of `type` behind `from`, NULL past the last. */
static const struct said *next(const struct story *s, uint32_t type, const struct said *from)
{
	for (const struct said *x = from ? from + 1 : s->said; x < s->said + s->n; x++)
		if (x->head->type == type)
			return x;
	return NULL;
}

static const char *kernel(uint32_t phase)
{
	return phase ? "combine" : "dispatch";
}

/* A message left before all of it was in the send buffer. */
static bool sent_unfinished(struct story *s)
{
	for (const struct said *x = NULL; (x = next(s, BF_REC_ID_ll_send, x)) != NULL;) {
		const struct bf_rec_ll_send *send = x->fixed;

		for (const struct said *y = NULL; send->phase == 0 && (y = next(s, BF_REC_ID_ll_cast, y)) != NULL;) {
			const struct bf_rec_ll_cast *cast = y->fixed;

			if (y->pe != x->pe || cast->round != send->round || cast->token != send->token ||
			    y->head->time_ps <= x->head->time_ps)
				continue;
			bf_cause_say(s->out, x->head->time_ps, y->head->time_ps,
				     "%s sent token %" PRIu32 " of round %" PRIu32 " to expert %" PRIu32
				     " %s before %s had stored "
				     "its part of the message: no barrier stands between the warps that cast and the "
				     "one that sends",
				     name_of(s, x), send->token, send->round, send->expert,
				     bf_span_of(y->head->time_ps - x->head->time_ps).text, name_of(s, y));
			return true;
		}
	}
	return false;
}

/* The messages that a count stands for: how many, the last one, and one that took another queue pair. */
struct messages {
	uint32_t n;
	const struct said *last, *elsewhere;
};

static struct messages messages_of(const struct story *s, const struct said *at)
{
	const struct bf_rec_ll_count *count = at->fixed;
	struct messages m = { 0 };

	for (const struct said *x = NULL; (x = next(s, BF_REC_ID_ll_send, x)) != NULL;) {
		const struct bf_rec_ll_send *send = x->fixed;

		if (x->pe != at->pe || send->round != count->round || send->phase != count->phase ||
		    send->expert != count->expert || send->dst != count->dst)
			continue;
		m.n++;
		if (!m.last || x->head->time_ps > m.last->head->time_ps)
			m.last = x;
		if (send->qpn != count->qpn)
			m.elsewhere = x;
	}
	return m;
}

/* What a count says, when it was said, and by which queue pair. */
static bool wrong_count(struct story *s)
{
	for (const struct said *x = NULL; (x = next(s, BF_REC_ID_ll_count, x)) != NULL;) {
		const struct bf_rec_ll_count *c = x->fixed;
		const struct messages m = messages_of(s, x);

		if (c->phase == 0 && c->value != -(int32_t)m.n - 1) {
			bf_cause_say(
			    s->out, x->head->time_ps, s->end_ps,
			    "%s sent %" PRIi32 " as the count of %" PRIu32 " tokens to expert %" PRIu32
			    ", where -%" PRIu32
			    " - 1 belongs: the receiver takes 0 for \"not yet\" and anything else for one token less",
			    name_of(s, x), c->value, m.n, c->expert, m.n);
			return true;
		}
		if (m.elsewhere) {
			const struct bf_rec_ll_send *send = m.elsewhere->fixed;

			bf_cause_say(s->out, m.elsewhere->head->time_ps, x->head->time_ps,
				     "in the %s of round %" PRIu32 " %s sent the count for expert %" PRIu32
				     " by QP 0x%" PRIx32 " and the messages by QP 0x%" PRIx32
				     ": nothing orders one queue pair behind another",
				     kernel(c->phase), c->round, name_of(s, x), c->expert, c->qpn, send->qpn);
			return true;
		}
		if (m.last && m.last->head->time_ps > x->head->time_ps) {
			bf_cause_say(s->out, x->head->time_ps, m.last->head->time_ps,
				     "in the %s of round %" PRIu32 " %s sent the count for expert %" PRIu32
				     " %s before %s sent the "
				     "last of the messages that it stands for",
				     kernel(c->phase), c->round, name_of(s, x), c->expert,
				     bf_span_of(m.last->head->time_ps - x->head->time_ps).text, name_of(s, m.last));
			return true;
		}
	}
	return false;
}

/* The count that a receiver must have waited for. */
static const struct said *count_for(const struct story *s, const struct said *at)
{
	const struct bf_rec_ll_recv *r = at->fixed;

	for (const struct said *x = NULL; (x = next(s, BF_REC_ID_ll_count, x)) != NULL;) {
		const struct bf_rec_ll_count *c = x->fixed;

		if (x->pe == r->src && c->dst == at->pe && c->round == r->round && c->phase == r->phase &&
		    c->expert == r->expert)
			return x;
	}
	return NULL;
}

/* A receiver took something for a count that was there before. */
static bool stale_count(struct story *s)
{
	for (const struct said *x = NULL; (x = next(s, BF_REC_ID_ll_recv, x)) != NULL;) {
		const struct bf_rec_ll_recv *r = x->fixed;
		const struct said *y = count_for(s, x);
		const struct bf_rec_ll_count *c = y ? y->fixed : NULL;

		if (c && c->value == r->value && y->head->time_ps <= x->head->time_ps)
			continue;
		bf_cause_say(s->out, x->head->time_ps, y ? y->head->time_ps : s->end_ps,
			     "in the %s of round %" PRIu32 " %s took %" PRIi32 " for the count of expert %" PRIu32
			     " from PE %" PRIu32
			     ", which %s: the buffer's counts were not cleared after their last use",
			     kernel(r->phase), r->round, name_of(s, x), r->value, r->expert, r->src,
			     !c                     ? "had sent none"
			     : c->value != r->value ? "sent another one"
						    : "sent it later");
		return true;
	}
	return false;
}

void bf_ll_cause(const struct bf_pes *p, const struct bf_record_log *log, struct bf_cause *out)
{
	struct story s = { .log = log, .out = out };

	(void)p;
	if (read_story(&s) && !stale_count(&s) && !sent_unfinished(&s))
		wrong_count(&s);
	free(s.said);
}

/*
 * Connections of the connection manager that were asked for and never came about: which message was the last, and what
 * it says. An attempt that is followed by one that succeeds, from the same side to the same service, is none.
 */

#include "models/rdmacm/mad.h"
#include "models/rdmacm/records.h"
#include "sim/grow.h"
#include "traces/life/stuck_internal.h"

/* Port spaces of librdmacm, which are the upper half of a service ID (annex A11). */
#define PS_TCP 0x0106u
#define PS_UDP 0x0111u

/* Requests of ours and of others have numbers of their own, for one may go to oneself. */
enum side { OURS, THEIRS };

/* The request that a message is about; NULL: none that the trace has. */
static struct bf_stuck_conn *find(const struct bf_stuck *s, uint32_t actor, enum side side, uint64_t peer,
				  uint64_t number)
{
	const uint64_t key[3] = { (uint64_t)actor << 1 | side, side == THEIRS ? peer : 0, number };
	const uint64_t at = bf_number_get(&s->conn_numbers, key);

	return at ? &s->conn[at - 1] : NULL;
}

static int begin(struct bf_stuck *s, const struct bf_trace_record *rec, enum side side)
{
	const uint64_t peer = bf_stuck_field(rec, "peer"), number = bf_stuck_field(rec, "local_id");
	const uint64_t key[3] = { (uint64_t)rec->actor << 1 | side, side == THEIRS ? peer : 0, number };
	struct bf_stuck_conn *c;

	if (BF_GROW(s->conn, s->cap_conns, s->nconns + 1))
		return bf_stuck_no_memory(s);
	c = &s->conn[s->nconns++];
	*c = (struct bf_stuck_conn){ .actor = rec->actor,
				     .peer = peer,
				     .ours = side == OURS,
				     .tries = 1,
				     .service = bf_stuck_field(rec, "service"),
				     .since_ps = rec->time_ps,
				     .datagram = bf_stuck_field(rec, "kind") == BF_CM_SIDR_REQ };
	return bf_number_put(&s->conn_numbers, key, s->nconns) ? bf_stuck_no_memory(s) : 0;
}

static int set(struct bf_stuck *s, struct bf_stuck_conn *c, enum bf_stuck_conn_state state,
	       const struct bf_trace_record *rec)
{
	const uint64_t key[3] = { c->service, (uint64_t)c->actor << 1 | !c->ours, c->peer };

	c->state = state;
	c->since_ps = rec->time_ps;
	if (state != BF_STUCK_CONN_MADE)
		return 0;
	return bf_number_put(&s->conns_made, key, (uint64_t)(c - s->conn) + 1) ? bf_stuck_no_memory(s) : 0;
}

/* The one that a received message answers, by the number that it has of us. */
static struct bf_stuck_conn *answered(const struct bf_stuck *s, const struct bf_trace_record *rec)
{
	const uint64_t kind = bf_stuck_field(rec, "kind");

	return find(s, rec->actor, OURS, 0, bf_stuck_field(rec, kind == BF_CM_SIDR_REP ? "local_id" : "remote_id"));
}

/* The one of a peer that a sent message answers. */
static struct bf_stuck_conn *answering(const struct bf_stuck *s, const struct bf_trace_record *rec)
{
	const uint64_t kind = bf_stuck_field(rec, "kind");

	return find(s, rec->actor, THEIRS, bf_stuck_field(rec, "peer"),
		    bf_stuck_field(rec, kind == BF_CM_SIDR_REP ? "local_id" : "remote_id"));
}

static int on_sent(struct bf_stuck *s, const struct bf_trace_record *rec, bool again)
{
	const uint64_t kind = bf_stuck_field(rec, "kind");
	struct bf_stuck_conn *c = NULL;

	if (kind == BF_CM_REQ || kind == BF_CM_SIDR_REQ) {
		if (!again)
			return begin(s, rec, OURS);
		c = find(s, rec->actor, OURS, 0, bf_stuck_field(rec, "local_id"));
		if (c)
			c->tries++;
		return 0;
	}
	/* A request that is taken back names its own number, an answer the peer's. */
	if (kind == BF_CM_REJ && bf_stuck_field(rec, "reason") == BF_CM_REJ_TIMEOUT)
		c = find(s, rec->actor, OURS, 0, bf_stuck_field(rec, "local_id"));
	if (kind == BF_CM_REP || kind == BF_CM_SIDR_REP || (kind == BF_CM_REJ && !c))
		c = answering(s, rec);
	if (c && again)
		c->tries++;
	else if (c && kind == BF_CM_REP)
		return set(s, c, BF_STUCK_CONN_ANSWERED, rec);
	else if (c && (kind == BF_CM_REJ || kind == BF_CM_SIDR_REP))
		return set(s, c, BF_STUCK_CONN_ENDED, rec);
	if (kind == BF_CM_RTU || kind == BF_CM_DREQ)
		c = find(s, rec->actor, OURS, 0, bf_stuck_field(rec, "local_id"));
	if (kind == BF_CM_DREQ && !c)
		c = answering(s, rec);
	if (!c || c->state >= BF_STUCK_CONN_MADE)
		return 0;
	return kind == BF_CM_RTU    ? set(s, c, BF_STUCK_CONN_MADE, rec)
	       : kind == BF_CM_DREQ ? set(s, c, BF_STUCK_CONN_ENDED, rec)
				    : 0;
}

static int on_received(struct bf_stuck *s, const struct bf_trace_record *rec)
{
	const uint64_t kind = bf_stuck_field(rec, "kind"), peer = bf_stuck_field(rec, "peer"),
		       theirs = bf_stuck_field(rec, "local_id");
	struct bf_stuck_conn *c = NULL;

	switch (kind) {
	case BF_CM_REQ:
	case BF_CM_SIDR_REQ: /* which may be here already, and is sent again */
		c = find(s, rec->actor, THEIRS, peer, theirs);
		return c && c->state < BF_STUCK_CONN_MADE ? 0 : begin(s, rec, THEIRS);
	case BF_CM_RTU:
		c = find(s, rec->actor, THEIRS, peer, theirs);
		return c ? set(s, c, BF_STUCK_CONN_MADE, rec) : 0;
	case BF_CM_DREQ: /* over, however far it had come */
		c = answered(s, rec);
		c = c ? c : find(s, rec->actor, THEIRS, peer, theirs);
		return c && c->state < BF_STUCK_CONN_MADE ? set(s, c, BF_STUCK_CONN_ENDED, rec) : 0;
	case BF_CM_MRA:
		c = answered(s, rec);
		if (c)
			c->busy = true;
		return 0;
	case BF_CM_REP:
		c = answered(s, rec);
		return c && c->state == BF_STUCK_CONN_ASKED ? set(s, c, BF_STUCK_CONN_ANSWERED, rec) : 0;
	case BF_CM_REJ:
	case BF_CM_SIDR_REP:
		c = answered(s, rec);
		if (!c && kind == BF_CM_REJ) /* the peer takes back what it asked for */
			c = find(s, rec->actor, THEIRS, peer, theirs);
		if (!c || c->state >= BF_STUCK_CONN_MADE)
			return 0;
		c->reason = bf_stuck_field(rec, "reason");
		if (kind == BF_CM_SIDR_REP && c->reason == BF_CM_SIDR_OK)
			return set(s, c, BF_STUCK_CONN_MADE, rec);
		return set(s, c, c->ours ? BF_STUCK_CONN_REFUSED : BF_STUCK_CONN_ENDED, rec);
	default:
		return 0;
	}
}

static int on_given_up(struct bf_stuck *s, const struct bf_trace_record *rec)
{
	const uint64_t kind = bf_stuck_field(rec, "kind");
	struct bf_stuck_conn *c = NULL;

	if (kind == BF_CM_REQ || kind == BF_CM_SIDR_REQ)
		c = find(s, rec->actor, OURS, 0, bf_stuck_field(rec, "local_id"));
	else if (kind == BF_CM_REP)
		c = answering(s, rec);
	return c ? set(s, c, BF_STUCK_CONN_GIVEN_UP, rec) : 0;
}

ROW(on_message)
{
	(void)actor;
	switch (bf_stuck_field(rec, "what")) {
	case BF_CM_SENT:
		return on_sent(s, rec, false);
	case BF_CM_SENT_AGAIN:
		return on_sent(s, rec, true);
	case BF_CM_RECEIVED:
		return on_received(s, rec);
	case BF_CM_GIVEN_UP:
		return on_given_up(s, rec);
	case BF_CM_MALFORMED:
	default:
		return 0;
	}
}

const struct bf_stuck_row bf_stuck_cm_rows[] = { { "cm_message", on_message }, { NULL, NULL } };

/* ---- what is left ---- */

/* "TCP port 7174 of 127.0.0.1" */
static void say_service(struct bf_stuck_group *g, const struct bf_stuck_conn *c)
{
	const uint64_t space = c->service >> 16, port = c->service & 0xffff;

	if (space == PS_TCP || space == PS_UDP)
		bf_stuck_say(g, "%s port %" PRIu64, space == PS_TCP ? "TCP" : "UDP", port);
	else
		bf_stuck_say(g, "service 0x%" PRIx64, c->service);
	bf_stuck_say(g, " %s %u.%u.%u.%u", c->ours ? "of" : "from", (unsigned int)(c->peer >> 24 & 0xff),
		     (unsigned int)(c->peer >> 16 & 0xff), (unsigned int)(c->peer >> 8 & 0xff),
		     (unsigned int)(c->peer & 0xff));
}

/* IBA vol. 1, "REJ Reason Codes" and the status of SIDR_REP. */
static void say_reason(struct bf_stuck_group *g, const struct bf_stuck_conn *c)
{
	static const struct {
		uint64_t reason;
		bool datagram;
		const char *text;
	} reasons[] = {
		{ BF_CM_REJ_NO_RESOURCES, false, "the peer has no resources for it" },
		{ BF_CM_REJ_TIMEOUT, false, "the peer waited too long for what was to follow" },
		{ BF_CM_REJ_INVALID_COMM_ID, false, "the peer does not know the connection" },
		{ BF_CM_REJ_INVALID_SERVICE, false, "nobody listens there" },
		{ BF_CM_REJ_INVALID_TRANSPORT, false, "the peer's queue pair is of another transport" },
		{ BF_CM_REJ_STALE, false, "the peer still has a connection of this queue pair" },
		{ BF_CM_REJ_CONSUMER, false,
		  "the peer's program did not want it (rdma_reject()), has no room in its backlog, or has ended" },
		{ BF_CM_SIDR_UNSUPPORTED, true, "nobody listens there" },
		{ BF_CM_SIDR_REJECT, true, "the peer's program did not want it, or has ended" },
	};

	for (size_t i = 0; i < BF_ARRAY_LEN(reasons); i++)
		if (reasons[i].reason == c->reason && reasons[i].datagram == c->datagram) {
			bf_stuck_say(g, ": %s (%s %" PRIu64 ")", reasons[i].text, c->datagram ? "status" : "reason",
				     c->reason);
			return;
		}
	bf_stuck_say(g, ": %s %" PRIu64, c->datagram ? "status" : "reason", c->reason);
}

static void say(struct bf_stuck_group *g, const struct bf_stuck_conn *c)
{
	const char *request = c->datagram ? "SIDR_REQ" : "REQ";

	bf_stuck_say(g, "%s for ", request);
	say_service(g, c);
	if (c->state == BF_STUCK_CONN_REFUSED) {
		g->missing = "acceptance";
		bf_stuck_say(g, " was refused");
		say_reason(g, c);
	} else if (c->state == BF_STUCK_CONN_ANSWERED && c->ours) {
		g->missing = "RTU";
		bf_stuck_say(g, " was answered (REP), and the program has not gone on (rdma_accept() or "
				"rdma_establish())");
	} else if (c->ours) {
		g->missing = "answer";
		bf_stuck_say(g, " was sent %" PRIu64 " time%s and %s", c->tries, c->tries == 1 ? "" : "s",
			     c->busy ? "the peer asked for more time (MRA): its program has not answered"
				     : "not answered: lost, or nobody has the address");
		if (c->state == BF_STUCK_CONN_GIVEN_UP)
			bf_stuck_say(g, "; it has been given up");
	} else if (c->state == BF_STUCK_CONN_ASKED) {
		g->missing = "accept";
		bf_stuck_say(g, " came, and the program has neither accepted nor refused it");
	} else {
		g->missing = "RTU";
		bf_stuck_say(g, " was accepted (REP), and its peer has not confirmed (RTU)%s",
			     c->state == BF_STUCK_CONN_GIVEN_UP ? "; it has been given up" : "");
	}
}

static bool is_stuck(const struct bf_stuck *s, size_t at)
{
	const struct bf_stuck_conn *c = &s->conn[at];
	const uint64_t key[3] = { c->service, (uint64_t)c->actor << 1 | !c->ours, c->peer };

	if (c->state == BF_STUCK_CONN_MADE || c->state == BF_STUCK_CONN_ENDED)
		return false;
	return bf_number_get(&s->conns_made, key) <= at + 1;
}

static int group(struct bf_stuck *s, struct bf_number_map *groups, const struct bf_stuck_conn *c)
{
	const uint64_t how = c->reason << 16 | (uint64_t)c->state << 2 | (uint64_t)c->busy << 1 | c->ours;
	const uint64_t key[3] = { c->service, (uint64_t)c->actor << 32 | c->peer, how };
	struct bf_stuck_group *g = bf_stuck_group_of(s, groups, key);

	if (!g)
		return bf_stuck_no_memory(s);
	if (g->count > 1)
		return 0;
	snprintf(g->where, sizeof(g->where), "%.60s", bf_trace_actor_name(s->trace, c->actor));
	g->kind = c->datagram ? "service request" : "connection request";
	g->since_ps = c->since_ps;
	say(g, c);
	return 0;
}

int bf_stuck_group_connections(struct bf_stuck *s)
{
	struct bf_number_map groups = { 0 }; /* by what is said of them: group plus one */
	int rc = 0;

	for (size_t i = 0; i < s->nconns && !rc; i++)
		if (is_stuck(s, i))
			rc = group(s, &groups, &s->conn[i]);
	bf_number_map_free(&groups);
	return rc;
}

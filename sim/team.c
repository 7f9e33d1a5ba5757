#include "sim/team.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/agent_internal.h"

enum what { SYNC, SHUFFLE, BALLOT };

/* What a member brought to its meeting and takes home from it. */
struct member {
	struct bf_agent *agent; /* NULL: never came */
	uint64_t mask;          /* of the meeting that it waits in, 0: none */
	uint64_t value, result;
	uint32_t from, met;
	enum what what;
};

/* A meeting that is not complete. Its mask names it. */
struct meeting {
	uint64_t mask, arrived;
	uint64_t latest_ps;
};

/* A complete meeting whose members go home: one event for all of them. */
struct departure {
	struct bf_event ev;
	struct bf_team *team;
	uint64_t members;
};

/* Members that stand together for one of them to lead. */
struct crew {
	uint64_t mask, arrived;
	uint64_t when_ps; /* local time of all */
	bool apart;
};

/* A member is in one meeting or departure at a time, so as many of them as members suffice. */
struct bf_team {
	struct bf_sim *sim;
	uint32_t n, open;
	struct crew crew;
	struct member member[BF_TEAM_MAX];
	struct meeting meeting[BF_TEAM_MAX];
	struct departure departure[BF_TEAM_MAX];
	char name[32];
};

static void depart(struct bf_event *ev)
{
	struct departure *d = BF_CONTAINER_OF(ev, struct departure, ev);
	struct bf_team *t = d->team;
	struct bf_agent *first = NULL, **end = &first;

	for (uint64_t left = d->members; left; left &= left - 1) {
		*end = t->member[__builtin_ctzll(left)].agent;
		end = &(*end)->wait->behind;
	}
	*end = NULL;
	bf_agents_run(t->sim, first, false);
}

int bf_team_create(struct bf_sim *sim, uint32_t n, const char *name, struct bf_team **out)
{
	struct bf_team *t;

	*out = NULL;
	if (n < 1 || n > BF_TEAM_MAX)
		return bf_fail(&sim->error, -EINVAL, "team '%s': %u members, must be 1 to %u", name, n, BF_TEAM_MAX);
	t = calloc(1, sizeof(*t));
	if (!t)
		return bf_fail(&sim->error, -ENOMEM, "no memory for team '%s'", name);
	t->sim = sim;
	t->n = n;
	strncpy(t->name, name, sizeof(t->name) - 1);
	for (uint32_t i = 0; i < n; i++) {
		t->departure[i].team = t;
		bf_event_init(&t->departure[i].ev, depart);
	}
	*out = t;
	return 0;
}

void bf_team_destroy(struct bf_team *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->n; i++)
		bf_sim_cancel(t->sim, &t->departure[i].ev);
	free(t);
}

/* For the deadlock report: which meeting, and who is missing and why. */
static int describe(const struct bf_agent *a, void *arg, char *buf, size_t cap)
{
	const struct bf_team *t = arg;
	uint64_t mask = 0, missing;
	int len;

	for (uint32_t i = 0; i < t->n; i++) {
		if (t->member[i].agent == a)
			mask = t->member[i].mask;
	}
	missing = mask;
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->member[i].mask == mask)
			missing &= ~(1ull << i);
	}
	len = snprintf(buf, cap, " '%s', mask 0x%" PRIx64 ", without", t->name, mask);
	for (uint32_t i = 0; missing >> i && i < BF_TEAM_MAX; i++) {
		const struct member *m = &t->member[i];
		const size_t at = (size_t)len < cap ? (size_t)len : cap;
		const char *why = i >= t->n                 ? "no such member"
				  : !m->agent               ? "never came"
				  : bf_agent_done(m->agent) ? " ended"
				  : m->mask                 ? " is at another meeting"
							    : " has not come";

		if (missing >> i & 1)
			len += snprintf(cap > at ? buf + at : NULL, cap - at, "%s %u (%s%s)",
					missing & ((1ull << i) - 1) ? "," : "", i,
					i < t->n && m->agent ? m->agent->name : "", why);
	}
	return len;
}

static struct meeting *find_meeting(struct bf_team *t, uint64_t mask)
{
	struct meeting *m = t->meeting;

	for (uint32_t i = 0; i < t->open; i++, m++) {
		if (m->mask == mask)
			return m;
	}
	t->open++;
	*m = (struct meeting){ .mask = mask };
	return m;
}

/* Members of `members` go on at `when_ps`, with one event for all. */
static void depart_at(struct bf_team *t, uint64_t members, uint64_t when_ps)
{
	struct departure *d = t->departure;

	while (bf_event_pending(&d->ev))
		d++;
	d->members = members;
	bf_sim_at(t->sim, &d->ev, when_ps);
}

static void sleep_in_team(struct bf_team *t, struct bf_agent *self)
{
	struct bf_agent_wait *w = self->wait;

	w->describe = describe;
	w->describe_arg = t;
	bf_agent_sleep(self, "its team");
	w->describe = NULL;
}

/* Gives each member its result before anybody goes: the first may be in the next meeting when the last one wakes. */
static void complete(struct bf_team *t, struct meeting *meeting, uint32_t last)
{
	const struct meeting done = *meeting;
	struct bf_agent *self = t->member[last].agent;
	uint64_t ballot = 0;

	*meeting = t->meeting[--t->open];
	for (uint64_t left = done.mask; left; left &= left - 1) {
		if (t->member[__builtin_ctzll(left)].value)
			ballot |= left & -left;
	}
	for (uint64_t left = done.mask; left; left &= left - 1) {
		struct member *m = &t->member[__builtin_ctzll(left)];

		m->mask = 0;
		m->met++;
		m->result = m->value;
		if (m->what == BALLOT)
			m->result = ballot;
		else if (m->what == SHUFFLE && m->from < t->n && done.mask >> m->from & 1)
			m->result = t->member[m->from].value;
	}
	bf_agent_charge(self, done.latest_ps - bf_agent_now(self));
	if (done.mask == 1ull << last)
		return;
	depart_at(t, done.mask & ~(1ull << last), done.latest_ps);
}

static uint64_t meet(struct bf_team *t, struct bf_agent *self, uint32_t index, uint64_t mask, struct member brought)
{
	const uint64_t local = bf_agent_now(self);
	struct meeting *meeting;

	if (index >= t->n || !(mask >> index & 1)) {
		bf_fail(&t->sim->error, -EINVAL,
			"agent '%s' meets team '%s' as member %u with mask 0x%" PRIx64 ": not among them", self->name,
			t->name, index, mask);
		bf_sim_stop(t->sim);
		return brought.value;
	}
	meeting = find_meeting(t, mask);
	brought.agent = self;
	brought.mask = mask;
	brought.met = t->member[index].met;
	t->member[index] = brought;
	meeting->arrived |= 1ull << index;
	if (local > meeting->latest_ps)
		meeting->latest_ps = local;
	if (meeting->arrived == mask)
		complete(t, meeting, index);
	else
		sleep_in_team(t, self);
	return t->member[index].result;
}

void bf_team_sync(struct bf_team *t, struct bf_agent *self, uint32_t index, uint64_t mask)
{
	meet(t, self, index, mask, (struct member){ .what = SYNC });
}

uint64_t bf_team_shuffle(struct bf_team *t, struct bf_agent *self, uint32_t index, uint64_t mask, uint64_t value,
			 uint32_t from)
{
	return meet(t, self, index, mask, (struct member){ .what = SHUFFLE, .value = value, .from = from });
}

uint64_t bf_team_ballot(struct bf_team *t, struct bf_agent *self, uint32_t index, uint64_t mask, uint64_t value)
{
	return meet(t, self, index, mask, (struct member){ .what = BALLOT, .value = value });
}

/* The crew goes on, each at its own time and for itself. */
static void part(struct bf_team *t, uint32_t last)
{
	for (uint64_t left = t->crew.mask; left; left &= left - 1) {
		struct member *m = &t->member[__builtin_ctzll(left)];

		m->mask = 0;
		m->result = BF_TEAM_APART;
		if (m != &t->member[last])
			bf_agent_wake_at(m->agent, 0);
	}
}

enum bf_team_led bf_team_lead(struct bf_team *t, struct bf_agent *self, uint32_t index, uint64_t mask, bool willing)
{
	const uint64_t local = bf_agent_now(self);
	struct member *m = &t->member[index];
	struct crew *c = &t->crew;

	if (!c->arrived)
		*c = (struct crew){ .mask = mask, .when_ps = local };
	m->agent = self;
	m->mask = mask;
	m->result = BF_TEAM_LED;
	c->arrived |= 1ull << index;
	c->apart |= !willing || local != c->when_ps || mask != c->mask;
	if (c->arrived == c->mask) {
		const uint32_t leader = (uint32_t)__builtin_ctzll(mask);

		c->arrived = 0;
		if (c->apart) {
			part(t, index);
			return BF_TEAM_APART;
		}
		t->member[leader].mask = 0;
		t->member[leader].result = BF_TEAM_LEADS;
		if (leader == index)
			return BF_TEAM_LEADS;
		bf_agent_runs_next(t->member[leader].agent);
	}
	sleep_in_team(t, self);
	return (enum bf_team_led)m->result;
}

void bf_team_lead_end(struct bf_team *t, uint32_t index, uint64_t followers_ps)
{
	const uint64_t followers = t->crew.mask & ~(1ull << index);

	for (uint64_t left = followers; left; left &= left - 1)
		t->member[__builtin_ctzll(left)].mask = 0;
	if (followers)
		depart_at(t, followers, followers_ps);
}

uint32_t bf_team_met(const struct bf_team *t, uint32_t index)
{
	return index < t->n ? t->member[index].met : 0;
}

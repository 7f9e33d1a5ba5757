#include "sim/team.h"

#include <assert.h>
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
	bool values; /* somebody brought one */
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

/* Where those are that a leader acts for, by their own time. */
enum followers {
	COMING,   /* not all of them have come to follow it */
	TOGETHER, /* they left their last meeting in the event in which the leader did */
	DUE,      /* they leave it in an event that has yet to fire; the leader has gone on */
	WENT,     /* they have left it, in another event than the leader */
	FENCING,  /* the same, and are at the fence in front of the next one */
	THERE,    /* they wait at the next one */
};

/* A leader and those whom it acts for. */
struct act {
	struct bf_event departs;
	struct bf_team *team;
	uint64_t mask, come; /* all, the leader among them; who has come to follow */
	enum followers state;
	uint64_t at_ps;          /* when they leave or left their last meeting, or came */
	uint64_t spent_ps;       /* from there to the one in which the leader sleeps */
	uint64_t since_ps;       /* since when it does, by its own time */
	struct bf_agent *leader; /* NULL: has not come */
	uint32_t meetings;
	bool fenced;      /* the leader is in a meeting behind a fence */
	bool slow_stores; /* their stores since their last meeting were made when stores were slow */
	bool asleep, over;
};

/* A member is in one meeting or departure at a time, so as many of them as members suffice. */
struct bf_team {
	struct bf_sim *sim;
	uint32_t n, open;
	uint64_t stood;                  /* those for whom a member stands; 0: nobody */
	uint32_t stand_in, stand_in_met; /* that member, and its meetings before */
	struct crew crew;
	struct act act[2]; /* this one, and the one before, whose followers may yet have to go on */
	uint32_t acts;
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

static void followers_depart(struct bf_event *ev);

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
	for (uint32_t i = 0; i < 2; i++) {
		t->act[i].team = t;
		bf_event_init(&t->act[i].departs, followers_depart);
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
	for (uint32_t i = 0; i < 2; i++)
		bf_sim_cancel(t->sim, &t->act[i].departs);
	free(t);
}

/* Those for whom a member stands are where it is. */
static uint64_t waits_in(const struct bf_team *t, uint32_t i)
{
	return t->member[t->stood >> i & 1 ? t->stand_in : i].mask;
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
		if (waits_in(t, i) == mask)
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

static void give_results(struct bf_team *t, const struct meeting *done)
{
	uint64_t ballot = 0;

	for (uint64_t left = done->mask; left; left &= left - 1) {
		if (t->member[__builtin_ctzll(left)].value)
			ballot |= left & -left;
	}
	for (uint64_t left = done->mask; left; left &= left - 1) {
		struct member *m = &t->member[__builtin_ctzll(left)];

		m->result = m->value;
		if (m->what == BALLOT)
			m->result = ballot;
		else if (m->what == SHUFFLE && m->from < t->n && done->mask >> m->from & 1)
			m->result = t->member[m->from].value;
	}
}

/* Gives each member its result before anybody goes: the first may be in the next meeting when the last one wakes. */
static void complete(struct bf_team *t, struct meeting *meeting, uint32_t last)
{
	const struct meeting done = *meeting;
	struct bf_agent *self = t->member[last].agent;

	*meeting = t->meeting[--t->open];
	for (uint64_t left = done.mask & ~t->stood; left; left &= left - 1) {
		struct member *m = &t->member[__builtin_ctzll(left)];

		m->mask = 0;
		m->met++;
	}
	if (done.values)
		give_results(t, &done);
	bf_agent_charge(self, done.latest_ps - bf_agent_now(self));
	if (done.mask & ~(1ull << last | t->stood))
		depart_at(t, done.mask & ~(1ull << last | t->stood), done.latest_ps);
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
	meeting->arrived |= 1ull << index | (index == t->stand_in ? t->stood & mask : 0);
	meeting->values |= brought.what != SYNC;
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

/* ---- one stands for its neighbours ---- */

void bf_team_stand(struct bf_team *t, struct bf_agent *self, uint32_t index, uint64_t mask)
{
	t->member[index].agent = self;
	t->stand_in = index;
	t->stand_in_met = t->member[index].met;
	t->stood = mask & ~(1ull << index);
}

void bf_team_stood(struct bf_team *t, struct bf_agent *self, uint32_t index)
{
	t->member[index].agent = self;
	if (t->stood >> index & 1)
		self->wait->stand_in = t->member[t->stand_in].agent;
	bf_agent_sleep(self, "the one that stands for it");
}

void bf_team_stand_end(struct bf_team *t, struct bf_agent *self)
{
	struct bf_agents *ags = t->sim->agents;
	struct bf_agent *behind = ags->line, **end = &ags->line;

	for (uint64_t left = t->stood; left; left &= left - 1) {
		struct member *m = &t->member[__builtin_ctzll(left)];

		assert(m->agent && m->agent->state == BF_AGENT_WAITING);
		m->met += t->member[t->stand_in].met - t->stand_in_met;
		m->agent->charge_ps = self->charge_ps;
		m->agent->wait->stand_in = NULL;
		*end = m->agent;
		end = &m->agent->wait->behind;
	}
	*end = behind;
	t->stood = 0;
}

/* ---- one leads while all do the same ---- */

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

/* ---- one acts for all, in the order of each for itself ---- */

static struct act *act_of(struct bf_team *t)
{
	return &t->act[t->acts & 1];
}

static bool all_follow(const struct act *a)
{
	return a->come == (a->mask & (a->mask - 1));
}

/* The followers go on at `when_ps` in an event that stands in the queue from now on, as that of a meeting would. */
static void followers_due(struct act *a, uint64_t when_ps)
{
	a->state = DUE;
	a->at_ps = when_ps;
	bf_sim_at(a->team->sim, &a->departs, when_ps);
}

/* They leave where they stood, in this event: as far as it is known, they come to where the leader is. */
static void followers_go(struct act *a)
{
	const uint64_t arrive = a->at_ps + a->spent_ps;

	a->state = WENT;
	a->slow_stores = a->team->sim->slow != 0;
	if (a->fenced) {
		a->state = FENCING;
		bf_sim_at(a->team->sim, &a->departs, arrive);
	} else if (a->asleep) {
		a->asleep = false;
		bf_agent_wake_at(a->leader, arrive > a->since_ps ? arrive : a->since_ps);
	}
}

/* Each follower goes on with its own code, in this event, `spent_ps` from now. */
static struct bf_agent *followers_in_line(struct act *a)
{
	struct bf_agent *first = NULL, **end = &first;

	for (uint64_t left = a->come; left; left &= left - 1) {
		struct member *m = &a->team->member[__builtin_ctzll(left)];

		m->mask = 0;
		m->agent->charge_ps = a->at_ps + a->spent_ps - a->team->sim->now_ps;
		*end = m->agent;
		end = &m->agent->wait->behind;
	}
	*end = NULL;
	a->come = 0;
	return first;
}

static void followers_depart(struct bf_event *ev)
{
	struct act *a = BF_CONTAINER_OF(ev, struct act, departs);

	if (a->over) {
		bf_agents_run(a->team->sim, followers_in_line(a), false);
	} else if (a->state == FENCING) {
		a->state = THERE;
		if (a->asleep)
			bf_agent_wake_at(a->leader, a->team->sim->now_ps);
		a->asleep = false;
	} else {
		followers_go(a);
	}
}

void bf_team_act(struct bf_team *t, struct bf_agent *self, uint32_t index, uint64_t mask)
{
	struct act *a = act_of(t);

	t->member[index].agent = self;
	a->leader = self;
	a->mask = mask;
	a->state = all_follow(a) ? WENT : COMING;
	a->slow_stores = t->sim->slow != 0;
	a->meetings = 0;
	a->over = false;
}

void bf_team_follow(struct bf_team *t, struct bf_agent *self, uint32_t index, uint64_t mask, bool anew)
{
	const uint64_t local = bf_agent_now(self);
	struct act *a = act_of(t);

	t->member[index].agent = self;
	t->member[index].mask = mask;
	if (!a->come || local > a->at_ps)
		a->at_ps = local;
	a->come |= 1ull << index;
	if (a->leader && all_follow(a))
		followers_go(a);
	if (anew) {
		bf_agent_describe_by(self, describe, t);
		bf_agent_sleep_anew(self, "its team");
	}
	sleep_in_team(t, self);
}

/* The leader is the first to come to a meeting. */
static void sleep_until_met(struct act *a)
{
	struct member *m = &a->team->member[__builtin_ctzll(a->mask)];

	a->asleep = true;
	a->since_ps = bf_agent_now(a->leader);
	m->mask = a->mask;
	sleep_in_team(a->team, a->leader);
	m->mask = 0;
}

/* Who comes last, in the order of events, goes on at once, and the others in an event of their own. True: the leader.
 */
static bool comes_last(struct act *a, uint64_t spent_ps)
{
	struct bf_agent *self = a->leader;
	const uint64_t arrive = a->at_ps + spent_ps, local = bf_agent_now(self);

	if (a->state == COMING || a->state == DUE) {
		a->spent_ps = spent_ps;
		sleep_until_met(a);
		return false;
	}
	if (arrive > local)
		bf_agent_charge(self, arrive - local);
	if (a->state == WENT)
		return true;
	bf_agent_sync(self);
	return false;
}

/* Each comes in the event in which its fence is over; if not the leader is last, all leave in one behind that. */
static bool comes_last_fenced(struct act *a, uint64_t spent_ps)
{
	struct bf_agent *self = a->leader;
	const uint64_t arrive = a->at_ps + spent_ps, local = bf_agent_now(self);
	const uint64_t fence_ps = self->view->cost->fence_cta;
	const enum followers state = a->state;

	if (state == TOGETHER && arrive > local)
		bf_agent_charge(self, arrive - local);
	a->fenced = state == COMING || state == DUE;
	a->spent_ps = spent_ps + fence_ps;
	bf_fence(self, BF_SCOPE_CTA);
	if (a->fenced && a->state != THERE)
		sleep_until_met(a);
	else if (a->fenced || (state == TOGETHER && local > arrive) ||
		 (state == WENT && bf_agent_now(self) >= arrive + fence_ps))
		return true;
	else {
		if (state == WENT)
			bf_agent_delay(self, arrive + fence_ps - bf_agent_now(self));
		bf_agent_sync(self);
	}
	return false;
}

bool bf_team_act_meet(struct bf_team *t, uint64_t spent_ps, bool fenced)
{
	struct act *a = act_of(t);
	bool last;

	a->meetings++;
	if (a->state == TOGETHER && t->sim->now_ps != a->at_ps)
		a->state = WENT;
	last = fenced ? comes_last_fenced(a, spent_ps) : comes_last(a, spent_ps);
	a->fenced = false;
	if (last) {
		followers_due(a, bf_agent_now(a->leader));
		return a->slow_stores;
	}
	a->state = TOGETHER;
	a->at_ps = t->sim->now_ps;
	last = a->slow_stores;
	a->slow_stores = t->sim->slow != 0;
	return last;
}

void bf_team_act_end(struct bf_team *t, uint64_t spent_ps)
{
	struct act *a = act_of(t);
	const uint64_t now = t->sim->now_ps;

	assert(a->state != COMING);
	for (uint64_t left = a->mask; left; left &= left - 1)
		t->member[__builtin_ctzll(left)].met += a->meetings;
	a->leader = NULL;
	a->over = true;
	a->spent_ps = spent_ps;
	t->acts++;
	if (a->state == TOGETHER && a->at_ps == now) {
		struct bf_agents *ags = t->sim->agents;
		struct bf_agent *behind = ags->line, *last;

		ags->line = followers_in_line(a);
		for (last = ags->line; last && last->wait->behind; last = last->wait->behind)
			;
		if (last)
			last->wait->behind = behind;
		else
			ags->line = behind;
	} else if (a->state != DUE) {
		a->at_ps = a->at_ps > now ? a->at_ps : now;
		bf_sim_at(t->sim, &a->departs, a->at_ps);
	}
}

struct bf_agent *bf_team_follower(const struct bf_team *t, uint32_t index)
{
	return t->member[index].agent;
}

uint32_t bf_team_met(const struct bf_team *t, uint32_t index)
{
	if (index >= t->n)
		return 0;
	return t->member[index].met + (t->stood >> index & 1 ? t->member[t->stand_in].met - t->stand_in_met : 0);
}

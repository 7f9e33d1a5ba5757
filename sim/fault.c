#include "sim/fault.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "sim/records_io.h"
#include "sim/rules_internal.h"

#define ALWAYS_PPM 1000000u
#define NAME_MAX_LEN 63u
#define DELAYABLE                                                                                                      \
	((1u << BF_FAULT_REORDER) | (1u << BF_FAULT_DELAY) | (1u << BF_FAULT_LINK_DOWN) | (1u << BF_FAULT_DEVICE_STALL))

enum rule_key {
	KEY_ON,
	KEY_QP,
	KEY_AFTER,
	KEY_UNTIL,
	KEY_SKIP,
	KEY_COUNT,
	KEY_PROB,
	KEY_DELAY,
	KEY_SEED,
	KEY_AT,
	KEY_SITE,
	KEYS
};

static const char *const key_names[KEYS] = { "on",   "qp",    "after", "until", "skip", "count",
					     "prob", "delay", "seed",  "at",    "site" };

/* Kinds that can come by the clock, and what of a rule goes with that. */
#define TIMED ((1u << BF_FAULT_LINK_DOWN) | (1u << BF_FAULT_QP_ERROR))
#define WITH_AT ((1u << KEY_AT) | (1u << KEY_ON) | (1u << KEY_QP) | (1u << KEY_DELAY))

/* Kinds that make code weaker, and what of a rule goes with that. */
#define WEAKER ((1u << BF_FAULT_FENCE_NONE) | (1u << BF_FAULT_FENCE_CTA) | (1u << BF_FAULT_FENCE_GPU))
#define WITH_WEAKER ((1u << KEY_ON) | (1u << KEY_SITE))

struct rule {
	enum bf_fault_kind kind;
	uint32_t given; /* bit per rule_key */
	char on[NAME_MAX_LEN + 1];
	uint64_t qp, after_ps, until_ps, skip, count, delay_ps, seed, site;
	uint64_t at_ps; /* BF_NEVER: by opportunities */
	uint32_t ppm;
	struct stream *streams; /* by actor; made when the actor has its first opportunity */
	uint32_t nstreams;
	uint64_t seen, fired;
};

struct stream {
	struct bf_rng rng;
	bool begun;
};

struct bf_fault_plan {
	struct rule *rules;
	uint32_t count, cap;
	uint32_t kinds; /* bit per enum bf_fault_kind that some rule has */
};

static const char *const kind_names[BF_FAULT_KINDS] = {
	[BF_FAULT_DROP] = "drop",
	[BF_FAULT_DUPLICATE] = "duplicate",
	[BF_FAULT_REORDER] = "reorder",
	[BF_FAULT_DELAY] = "delay",
	[BF_FAULT_CORRUPT] = "corrupt",
	[BF_FAULT_LINK_DOWN] = "link-down",
	[BF_FAULT_DMA] = "dma-fault",
	[BF_FAULT_LOST_COMPLETION] = "lost-completion",
	[BF_FAULT_DEVICE_STALL] = "device-stall",
	[BF_FAULT_LOST_DOORBELL] = "lost-doorbell",
	[BF_FAULT_QP_ERROR] = "qp-error",
	[BF_FAULT_CQ_OVERRUN] = "cq-overrun",
	[BF_FAULT_ACCESS] = "access-error",
	[BF_FAULT_MUTE] = "qp-mute",
	[BF_FAULT_FENCE_NONE] = "fence-none",
	[BF_FAULT_FENCE_CTA] = "fence-cta",
	[BF_FAULT_FENCE_GPU] = "fence-gpu",
};

const char *bf_fault_kind_name(enum bf_fault_kind k)
{
	return (unsigned int)k < BF_FAULT_KINDS ? kind_names[k] : "?";
}

static int parse_number(const struct bf_rule_text *p, struct bf_rule_word w, uint64_t *value)
{
	const char *start = w.at;

	if (!bf_word_number(&w, value) || w.len)
		return bf_rules_fail(p, start, "expected a 64-bit number");
	return 0;
}

static int parse_probability(const struct bf_rule_text *p, struct bf_rule_word w, uint32_t *ppm)
{
	const char *start = w.at;
	unsigned int places;
	uint64_t value;

	if (!bf_word_decimal(&w, 6, &value, &places) || w.len)
		return bf_rules_fail(p, start, "expected a probability with at most six decimals");
	for (; places < 6 && value <= ALWAYS_PPM; places++)
		value *= 10;
	if (value > ALWAYS_PPM)
		return bf_rules_fail(p, start, "probability is above 1");
	*ppm = (uint32_t)value;
	return 0;
}

static int parse_name(const struct bf_rule_text *p, struct bf_rule_word w, char *name)
{
	if (!w.len || w.len > NAME_MAX_LEN)
		return bf_rules_fail(p, w.at, "expected a name of 1 to %u characters", NAME_MAX_LEN);
	memcpy(name, w.at, w.len);
	name[w.len] = '\0';
	return 0;
}

static int parse_count(const struct bf_rule_text *p, struct bf_rule_word w, uint64_t *count)
{
	if (bf_word_is(w, "inf")) {
		*count = UINT64_MAX;
		return 0;
	}
	return parse_number(p, w, count);
}

static int parse_value(const struct bf_rule_text *p, struct rule *r, enum rule_key key, struct bf_rule_word w)
{
	switch (key) {
	case KEY_ON:
		return parse_name(p, w, r->on);
	case KEY_QP:
		return parse_number(p, w, &r->qp);
	case KEY_AFTER:
		return bf_rules_time(p, w, &r->after_ps);
	case KEY_UNTIL:
		return bf_rules_time(p, w, &r->until_ps);
	case KEY_SKIP:
		return parse_number(p, w, &r->skip);
	case KEY_COUNT:
		return parse_count(p, w, &r->count);
	case KEY_PROB:
		return parse_probability(p, w, &r->ppm);
	case KEY_DELAY:
		return bf_rules_time(p, w, &r->delay_ps);
	case KEY_SEED:
		return parse_number(p, w, &r->seed);
	case KEY_AT:
		return bf_rules_time(p, w, &r->at_ps);
	case KEY_SITE:
		return parse_number(p, w, &r->site);
	case KEYS:
		break;
	}
	return -EINVAL;
}

/* One KEY=VALUE. */
static int parse_option(const struct bf_rule_text *p, struct rule *r, struct bf_rule_word w)
{
	const char *equals = memchr(w.at, '=', w.len);
	struct bf_rule_word name = { w.at, equals ? (size_t)(equals - w.at) : w.len };
	unsigned int key = 0;

	while (key < KEYS && !bf_word_is(name, key_names[key]))
		key++;
	if (key == KEYS)
		return bf_rules_unknown(p, name, "option", key_names, KEYS);
	if (!equals)
		return bf_rules_fail(p, w.at + w.len, "option '%s' needs '=' and a value", key_names[key]);
	if (r->given & (1u << key))
		return bf_rules_fail(p, w.at, "option '%s' is given twice", key_names[key]);
	r->given |= 1u << key;
	return parse_value(p, r, (enum rule_key)key, (struct bf_rule_word){ equals + 1, w.len - name.len - 1 });
}

static int parse_rule(struct bf_rule_text *p, struct rule *r, struct bf_rule_word kind)
{
	struct bf_rule_word w;
	int rc;

	*r = (struct rule){ .until_ps = BF_NEVER, .at_ps = BF_NEVER, .count = 1, .ppm = ALWAYS_PPM };
	while (r->kind < BF_FAULT_KINDS && !bf_word_is(kind, kind_names[r->kind]))
		r->kind++;
	if (r->kind == BF_FAULT_KINDS)
		return bf_rules_unknown(p, kind, "kind of fault", kind_names, BF_FAULT_KINDS);
	for (w = bf_rules_word(p); w.len; w = bf_rules_word(p)) {
		rc = parse_option(p, r, w);
		if (rc)
			return rc;
	}
	if (!(r->given & (1u << KEY_COUNT)) && r->given & ((1u << KEY_PROB) | (1u << KEY_UNTIL)))
		r->count = UINT64_MAX;
	if (WEAKER & (1u << r->kind)) {
		r->count = UINT64_MAX;
		if (r->given & ~WITH_WEAKER)
			return bf_rules_fail(p, kind.at, "'%s' has only 'on' and 'site'", kind_names[r->kind]);
	} else if (r->given & (1u << KEY_SITE)) {
		return bf_rules_fail(p, kind.at, "'%s' is no place in code: it has no 'site'", kind_names[r->kind]);
	}
	if (r->given & (1u << KEY_AT)) {
		r->count = UINT64_MAX;
		if (!(TIMED & (1u << r->kind)))
			return bf_rules_fail(p, kind.at, "'%s' cannot come by the clock", kind_names[r->kind]);
		if (r->given & ~WITH_AT)
			return bf_rules_fail(p, kind.at, "a rule with 'at' may only have 'on', 'qp' and 'delay' too");
	}
	if (r->after_ps >= r->until_ps)
		return bf_rules_fail(p, kind.at, "rule ends before it begins");
	if (r->given & (1u << KEY_DELAY) && !(DELAYABLE & (1u << r->kind)))
		return bf_rules_fail(p, kind.at, "'%s' has no use for a delay", kind_names[r->kind]);
	return 0;
}

static int add_rule(struct bf_fault_plan *plan, struct rule *r, uint64_t seed, struct bf_error *err)
{
	if (BF_GROW(plan->rules, plan->cap, plan->count + 1))
		return bf_fail(err, -ENOMEM, "fault plan: no memory for %u rules", plan->count + 1);
	if (!(r->given & (1u << KEY_SEED)))
		r->seed = seed;
	plan->kinds |= 1u << r->kind;
	plan->rules[plan->count++] = *r;
	return 0;
}

int bf_fault_plan_parse(const char *text, uint64_t seed, struct bf_error *err, struct bf_fault_plan **out)
{
	struct bf_rule_text p = { .what = "fault plan", .text = text, .at = text, .err = err };
	struct bf_fault_plan *plan = calloc(1, sizeof(*plan));
	struct rule r;
	int rc = 0;

	*out = NULL;
	if (!plan)
		return bf_fail(err, -ENOMEM, "fault plan: no memory");
	do {
		struct bf_rule_word kind = bf_rules_word(&p);

		if (kind.len)
			rc = parse_rule(&p, &r, kind);
		if (kind.len && !rc)
			rc = add_rule(plan, &r, seed, err);
	} while (!rc && bf_rules_next(&p));
	if (rc) {
		bf_fault_plan_destroy(plan);
		return rc;
	}
	*out = plan;
	return 0;
}

void bf_fault_plan_destroy(struct bf_fault_plan *plan)
{
	if (!plan)
		return;
	for (uint32_t i = 0; i < plan->count; i++)
		free(plan->rules[i].streams);
	free(plan->rules);
	free(plan);
}

int bf_fault_plan_check_spread(const struct bf_fault_plan *plan, struct bf_error *err)
{
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct rule *r = &plan->rules[i];

		if ((r->skip || r->count != UINT64_MAX) && (!(r->given & (1u << KEY_ON)) || strchr(r->on, '*')))
			return bf_fail(
			    err, -ENOTSUP,
			    "fault plan: rule %u (%s) counts opportunities of several devices, which only a "
			    "simulation in one process can: say which with on=NAME, or count=inf without skip",
			    i + 1, kind_names[r->kind]);
	}
	return 0;
}

bool bf_fault_plan_has(const struct bf_fault_plan *plan, enum bf_fault_kind kind)
{
	return plan->kinds >> kind & 1;
}

bool bf_fault_plan_weakens(const struct bf_fault_plan *plan)
{
	return bf_fault_plan_has(plan, BF_FAULT_FENCE_NONE) || bf_fault_plan_has(plan, BF_FAULT_FENCE_CTA) ||
	       bf_fault_plan_has(plan, BF_FAULT_FENCE_GPU);
}

uint32_t bf_fault_plan_rules(const struct bf_fault_plan *plan)
{
	return plan->count;
}

uint64_t bf_fault_plan_seen(const struct bf_fault_plan *plan, uint32_t rule)
{
	return rule < plan->count ? plan->rules[rule].seen : 0;
}

uint64_t bf_fault_plan_fired(const struct bf_fault_plan *plan, uint32_t rule)
{
	return rule < plan->count ? plan->rules[rule].fired : 0;
}

/* Appends like snprintf() at `used`; counts on when the buffer is full. */
static void BF_PRINTF(4, 5) append(char *buf, size_t cap, size_t *used, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(*used < cap ? buf + *used : NULL, *used < cap ? cap - *used : 0, fmt, args);
	va_end(args);
	*used += n > 0 ? (size_t)n : 0;
}

static void describe_option(const struct rule *r, enum rule_key key, char *buf, size_t cap, size_t *used)
{
	const uint64_t numbers[KEYS] = {
		[KEY_QP] = r->qp,     [KEY_AFTER] = r->after_ps, [KEY_UNTIL] = r->until_ps,
		[KEY_SKIP] = r->skip, [KEY_COUNT] = r->count,    [KEY_DELAY] = r->delay_ps,
		[KEY_SEED] = r->seed, [KEY_AT] = r->at_ps,       [KEY_SITE] = r->site,
	};
	bool time = key == KEY_AFTER || key == KEY_UNTIL || key == KEY_DELAY || key == KEY_AT;

	append(buf, cap, used, " %s=", key_names[key]);
	if (key == KEY_ON)
		append(buf, cap, used, "%s", r->on);
	else if (key == KEY_PROB)
		append(buf, cap, used, "%u.%06u", r->ppm / ALWAYS_PPM, r->ppm % ALWAYS_PPM);
	else if (key == KEY_COUNT && r->count == UINT64_MAX)
		append(buf, cap, used, "inf");
	else
		append(buf, cap, used, "%llu%s", (unsigned long long)numbers[key], time ? "ps" : "");
}

size_t bf_fault_plan_describe(const struct bf_fault_plan *plan, char *buf, size_t cap)
{
	size_t used = 0;

	if (cap)
		*buf = '\0';
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct rule *r = &plan->rules[i];

		append(buf, cap, &used, "%s", bf_fault_kind_name(r->kind));
		for (unsigned int key = 0; key < KEYS; key++)
			if (r->given & (1u << key))
				describe_option(r, (enum rule_key)key, buf, cap, &used);
		append(buf, cap, &used, " # fired %llu of %llu\n", (unsigned long long)r->fired,
		       (unsigned long long)r->seen);
	}
	return used;
}

/* Iterative match with one point to fall back to: linear in practice, quadratic at worst. */
static bool name_matches(const char *pattern, const char *name)
{
	const char *star = NULL, *resume = NULL;

	while (*name) {
		if (*pattern == '*') {
			star = pattern++;
			resume = name;
		} else if (*pattern == *name) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star + 1;
			name = ++resume;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

/* `at_ps`: of the rules that are asked for; BF_NEVER: those that wait for opportunities. */
static bool rule_matches(const struct rule *r, const struct bf_sim *sim, enum bf_fault_kind kind, uint64_t at_ps,
			 uint32_t actor, uint32_t queue)
{
	const char *name;

	if (r->kind != kind || r->at_ps != at_ps || sim->now_ps < r->after_ps || sim->now_ps >= r->until_ps)
		return false;
	if (r->given & (1u << KEY_QP) && r->qp != queue)
		return false;
	if (r->given & (1u << KEY_SITE) && r->site != queue)
		return false;
	if (!(r->given & (1u << KEY_ON)))
		return true;
	name = bf_stream_actor_name(&sim->rec, actor);
	return name && name_matches(r->on, name);
}

/* What an actor draws does not depend on when others draw, nor on the numbers that actors have. */
static struct bf_rng *stream_of(struct bf_sim *sim, uint32_t rule, uint32_t actor)
{
	struct rule *r = &sim->faults->rules[rule];
	struct stream *s;

	if (BF_UNLIKELY(actor >= r->nstreams)) {
		if (BF_GROW(r->streams, r->nstreams, (size_t)actor + 1)) {
			bf_fail(&sim->error, -ENOMEM, "fault plan: no memory for %u random streams", actor);
			bf_sim_stop(sim);
			return NULL;
		}
	}
	s = &r->streams[actor];
	if (BF_UNLIKELY(!s->begun)) {
		char name[128];

		snprintf(name, sizeof(name), "fault:%u:%s", rule, bf_stream_actor_name(&sim->rec, actor));
		bf_rng_init(&s->rng, r->seed, name);
		s->begun = true;
	}
	return &s->rng;
}

/* Counts an opportunity and draws for it, whatever the other rules do. */
static bool rule_fires(struct bf_sim *sim, uint32_t rule, uint32_t actor, uint64_t *draw)
{
	struct rule *r = &sim->faults->rules[rule];
	struct bf_rng *rng;
	bool chance;

	if (r->seen++ < r->skip)
		return false;
	rng = stream_of(sim, rule, actor);
	if (!rng)
		return false;
	chance = r->ppm == ALWAYS_PPM || bf_rng_chance(rng, r->ppm);
	*draw = bf_rng_next(rng);
	return chance && r->fired < r->count;
}

static bool check(struct bf_sim *sim, enum bf_fault_kind kind, uint64_t at_ps, uint32_t actor, uint32_t queue,
		  struct bf_fault *out)
{
	struct bf_fault_plan *plan = sim->faults;
	struct rule *hit = NULL;
	uint64_t draw;

	if (!(plan->kinds & (1u << kind)))
		return false;
	for (uint32_t i = 0; i < plan->count; i++) {
		struct rule *r = &plan->rules[i];

		if (!rule_matches(r, sim, kind, at_ps, actor, queue) || !rule_fires(sim, i, actor, &draw) || hit)
			continue;
		hit = r;
		*out = (struct bf_fault){ .kind = kind, .delay_ps = r->delay_ps, .draw = draw, .rule = i };
	}
	if (!hit)
		return false;
	hit->fired++;
	if (WEAKER & (1u << kind)) /* no event: the code is another one */
		return true;
	BF_EMIT(sim, actor, fault_injected, .delay_ps = out->delay_ps, .draw = out->draw, .queue = queue, .kind = kind,
		.rule = out->rule);
	return true;
}

bool bf_fault_check_slow(struct bf_sim *sim, enum bf_fault_kind kind, uint32_t actor, uint32_t queue,
			 struct bf_fault *out)
{
	return check(sim, kind, BF_NEVER, actor, queue, out);
}

/* ---- by the clock ---- */

/* The first time that a rule names, not before `from_ps`. */
static void start(struct bf_sim *sim, struct bf_fault_timer *t, uint64_t from_ps)
{
	const struct bf_fault_plan *plan = sim->faults;

	t->at_ps = BF_NEVER;
	for (uint32_t i = 0; i < plan->count; i++) {
		const struct rule *r = &plan->rules[i];

		if (r->kind == t->kind && r->at_ps >= from_ps && r->at_ps < t->at_ps)
			t->at_ps = r->at_ps;
	}
	if (t->at_ps != BF_NEVER)
		bf_sim_at(sim, &t->event, t->at_ps);
}

void bf_fault_timer_start(struct bf_sim *sim, struct bf_fault_timer *t, enum bf_fault_kind kind,
			  void (*fn)(struct bf_event *event))
{
	t->kind = kind;
	bf_event_init(&t->event, fn);
	if (sim->faults)
		start(sim, t, sim->now_ps);
}

bool bf_fault_check_at(struct bf_sim *sim, const struct bf_fault_timer *t, uint32_t actor, uint32_t queue,
		       struct bf_fault *out)
{
	return check(sim, t->kind, t->at_ps, actor, queue, out);
}

void bf_fault_timer_next(struct bf_sim *sim, struct bf_fault_timer *t)
{
	start(sim, t, t->at_ps + 1);
}

/*
 * The fault plan: what goes wrong, as data.
 *
 * Text, one rule a line (or ';' between rules), '#' comments:
 *
 *   KIND [on=NAME] [qp=N] [after=TIME] [until=TIME] [skip=N] [count=N] [prob=P] [delay=TIME] [seed=N]
 *   KIND at=TIME [on=NAME] [qp=N] [delay=TIME]
 *   WEAKER [on=NAME] [site=N]
 *
 * KIND: drop, duplicate, reorder, delay, corrupt (packets), link-down, dma-fault, lost-completion, device-stall,
 * lost-doorbell; of NICs only: qp-error (a doorbell rings at a queue pair that fails), cq-overrun (a completion finds
 * no room), access-error (a request's remote key is refused), qp-mute (an atomic is executed, and nothing that its
 * queue pair sends from then on arrives). NAME: an actor's name with '*' as wildcard. TIME: number with ps, ns, us, ms,
 * s. N: decimal or 0x. P: 0..1 with at most six decimals. `skip` opportunities pass before the rule starts, it fires at
 * most `count` times (default 1, "inf" allowed; default inf when prob or until is given). `delay` is how long a delay,
 * reorder, link-down or device-stall lasts; other kinds refuse it.
 *
 * `qp` limits a rule to one queue or QP number, the times to after <= now < until. Every rule sees every opportunity
 * that it matches, counts it and draws for it, from a random stream of its own for each actor: plans are deterministic,
 * and neither rules nor actors disturb each other. Where several would fire at one opportunity the first in the plan
 * does and the others keep their count. `seed` of a rule replaces the plan's for that rule's streams.
 *
 * WEAKER: fence-none, fence-cta, fence-gpu. What is wrong is the code then: its fences, releases and acquires order
 * nothing, or reach their block or their GPU at most. `site` is one place in the code: the offset of the call in its
 * program or library, or the line of interpreted code.
 *
 * A rule with `at` waits for no opportunity: it fires at that time, once at every place that it matches. Only link-down
 * (of ports and links) and qp-error (of queue pairs that are ready to send then) can.
 */
#ifndef BELFRY_SIM_FAULT_H
#define BELFRY_SIM_FAULT_H

#include "sim/compiler.h"
#include "sim/sim.h"

BF_API_BEGIN

enum bf_fault_kind {
	BF_FAULT_DROP,
	BF_FAULT_DUPLICATE,
	BF_FAULT_REORDER,
	BF_FAULT_DELAY,
	BF_FAULT_CORRUPT,
	BF_FAULT_LINK_DOWN,
	BF_FAULT_DMA,
	BF_FAULT_LOST_COMPLETION,
	BF_FAULT_DEVICE_STALL,
	BF_FAULT_LOST_DOORBELL,
	BF_FAULT_QP_ERROR,
	BF_FAULT_CQ_OVERRUN,
	BF_FAULT_ACCESS,
	BF_FAULT_MUTE,
	BF_FAULT_FENCE_NONE,
	BF_FAULT_FENCE_CTA,
	BF_FAULT_FENCE_GPU,
	BF_FAULT_KINDS
};

/* Name of a kind as in the text form. */
const char *bf_fault_kind_name(enum bf_fault_kind k);

/*
 * Parses `text`. -EINVAL with line, column and reason in `err`, -ENOMEM; `*out` is NULL then. An empty plan is fine.
 * Free with bf_fault_plan_destroy(). A plan serves one simulation at a time, and its thread, since it counts.
 */
int bf_fault_plan_parse(const char *text, uint64_t seed, struct bf_error *err, struct bf_fault_plan **out);
void bf_fault_plan_destroy(struct bf_fault_plan *plan);

/*
 * Whether each rule decides for each actor by itself, as it must when the actors are in several processes. -ENOTSUP
 * with the rule in `err`: one that counts (skip, count) must name one actor.
 */
int bf_fault_plan_check_spread(const struct bf_fault_plan *plan, struct bf_error *err);

/* Whether some rule is of this kind. */
bool bf_fault_plan_has(const struct bf_fault_plan *plan, enum bf_fault_kind kind);
/* Whether it makes fences, releases or acquires weaker: some rule is of a kind BF_FAULT_FENCE_*. */
bool bf_fault_plan_weakens(const struct bf_fault_plan *plan);

/* Number of rules; how often rule `rule` had the opportunity and how often it fired. 0 for a rule that is not there. */
uint32_t bf_fault_plan_rules(const struct bf_fault_plan *plan);
uint64_t bf_fault_plan_seen(const struct bf_fault_plan *plan, uint32_t rule);
uint64_t bf_fault_plan_fired(const struct bf_fault_plan *plan, uint32_t rule);

/*
 * Writes the plan as text that parses to the same plan, one rule a line, each with a comment that says how often it
 * fired. Like snprintf(): at most `cap` bytes with the NUL, returns the length it would have. `buf` may be NULL when
 * `cap` is 0.
 */
size_t bf_fault_plan_describe(const struct bf_fault_plan *plan, char *buf, size_t cap);

/* A fault that fires. */
struct bf_fault {
	enum bf_fault_kind kind;
	uint64_t delay_ps; /* delay, reorder, link-down, device-stall; 0 = the place's default */
	uint64_t draw;     /* 64 random bits for the place (which bit to corrupt) */
	uint32_t rule;     /* index in the plan */
};

bool bf_fault_check_slow(struct bf_sim *sim, enum bf_fault_kind kind, uint32_t actor, uint32_t queue,
			 struct bf_fault *out);

/*
 * An opportunity for a fault of `kind` at `actor`, queue or QP number `queue` (0 = none). True when a rule fires:
 * `*out` says how, and a record was emitted. One branch when there is no plan.
 */
static inline bool bf_fault_check(struct bf_sim *sim, enum bf_fault_kind kind, uint32_t actor, uint32_t queue,
				  struct bf_fault *out)
{
	return BF_UNLIKELY(sim->faults != NULL) && bf_fault_check_slow(sim, kind, actor, queue, out);
}

/*
 * A place at which faults of a kind may happen by the clock. `fn` is called at each time that a rule of the kind names;
 * it asks bf_fault_check_at() whether one is for it, which is as bf_fault_check(), and calls bf_fault_timer_next()
 * last. The place cancels `event` at its end. Nothing is scheduled when no rule has such a time.
 */
struct bf_fault_timer {
	struct bf_event event;
	uint64_t at_ps;
	enum bf_fault_kind kind;
};

void bf_fault_timer_start(struct bf_sim *sim, struct bf_fault_timer *t, enum bf_fault_kind kind,
			  void (*fn)(struct bf_event *event));
bool bf_fault_check_at(struct bf_sim *sim, const struct bf_fault_timer *t, uint32_t actor, uint32_t queue,
		       struct bf_fault *out);
void bf_fault_timer_next(struct bf_sim *sim, struct bf_fault_timer *t);

BF_API_END

#endif

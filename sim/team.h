/*
 * Teams: agents that meet. The 32 lanes of a warp are a team; so are the warps of a block at a barrier.
 *
 * A meeting is complete when every member in its mask has arrived; all leave at the latest arrival's time. Members that
 * diverged arrive when they arrive. A member that ends while others wait for it is a deadlock and reported as such
 * (CUDA C Programming Guide, "Warp Shuffle Functions": all lanes named in the mask must execute the same intrinsic).
 *
 * All calls from the simulation's thread; the ones marked "self" only from inside that agent.
 */
#ifndef BELFRY_SIM_TEAM_H
#define BELFRY_SIM_TEAM_H

#include "sim/agent.h"
#include "sim/compiler.h"

BF_API_BEGIN

#define BF_TEAM_MAX 64

struct bf_team; /* opaque */

/*
 * `n` members (1..BF_TEAM_MAX); members join by index. Freed by its creator after the run and before the simulation.
 * `name` (copied) shows in reports. Returns 0, -EINVAL or -ENOMEM with sim->error set.
 */
int bf_team_create(struct bf_sim *sim, uint32_t n, const char *name, struct bf_team **out);
void bf_team_destroy(struct bf_team *t);

/*
 * Self: member `index` meets the members of `mask`. Meetings with different masks are different meetings; one member
 * waits in one at a time. A mask without `index` is the driver's mistake: sim->error says so and the run stops. Orders
 * no memory: code whose real primitive does (__syncwarp, bar.sync) adds a block fence on either side.
 */
void bf_team_sync(struct bf_team *t, struct bf_agent *self, uint32_t index, uint64_t mask);

/* Self: the same, and returns what member `from` brought (its own `value` if `from` is not in the mask). */
uint64_t bf_team_shuffle(struct bf_team *t, struct bf_agent *self, uint32_t index, uint64_t mask, uint64_t value,
			 uint32_t from);

/* Self: the same, and returns the set of members that brought a non-zero value. */
uint64_t bf_team_ballot(struct bf_team *t, struct bf_agent *self, uint32_t index, uint64_t mask, uint64_t value);

/*
 * Self: the members of `mask` would now all do the same, with one of them, the first, acting for the others. They stand
 * together without time: when all have come, at the same local time and all `willing`, the first returns
 * BF_TEAM_LEADS and runs alone, the others sleep until it calls bf_team_lead_end() and return BF_TEAM_LED. Otherwise
 * all return BF_TEAM_APART, each at its own time. The leader must not meet members of `mask` until then: it keeps
 * account of their time, for which `followers_ps` of the end is the local time at which they go on.
 */
enum bf_team_led { BF_TEAM_APART, BF_TEAM_LEADS, BF_TEAM_LED };
enum bf_team_led bf_team_lead(struct bf_team *t, struct bf_agent *self, uint32_t index, uint64_t mask, bool willing);
void bf_team_lead_end(struct bf_team *t, uint32_t index, uint64_t followers_ps);

/*
 * Self: the members of `mask` do the same from here on, but for what their leader, the first, does alone besides. It
 * does it for all: from bf_team_act() on, at once, wherever the others are. They come to bf_team_follow() and sleep
 * until bf_team_act_end(). The leader says where all meet, and how much time the others have spent since they met last
 * (the one that spent most). Whatever others can see happens in the order in which it would if each acted for itself,
 * given that its followers would only spend time, meet the leader, and access memory that no one else touches
 * meanwhile. `fenced`: they meet after a fence of their block, which the meeting executes. A meeting returns whether
 * the followers' stores before it are such that views count (those that take the slow path). At the end, before which
 * they met at least once, the followers go on from their last meeting, `spent_ps` later. A follower that comes `anew`
 * needs no stack while it sleeps: bf_team_follow() does not return; its function is called from the start in place of
 * that.
 */
void bf_team_act(struct bf_team *t, struct bf_agent *self, uint32_t index, uint64_t mask);
void bf_team_follow(struct bf_team *t, struct bf_agent *self, uint32_t index, uint64_t mask, bool anew);
bool bf_team_act_meet(struct bf_team *t, uint64_t spent_ps, bool fenced);
void bf_team_act_end(struct bf_team *t, uint64_t spent_ps);

/*
 * Self: members that stand side by side and do the same from here on, but are not first or last of their team. The
 * first of `mask` stands for all: from bf_team_stand() on its meetings (bf_team_sync() alone) are theirs. They sleep in
 * bf_team_stood() until bf_team_stand_end(), and go on right after it. Who comes last to a meeting, and in which event
 * the others leave it, is as if each were there.
 */
void bf_team_stand(struct bf_team *t, struct bf_agent *self, uint32_t index, uint64_t mask);
void bf_team_stood(struct bf_team *t, struct bf_agent *self, uint32_t index);
void bf_team_stand_end(struct bf_team *t, struct bf_agent *self);

/* Of a team in which somebody acts for the others: member `index`, which sleeps. */
struct bf_agent *bf_team_follower(const struct bf_team *t, uint32_t index);

/* How many meetings member `index` has been through. */
uint32_t bf_team_met(const struct bf_team *t, uint32_t index);

BF_API_END

#endif

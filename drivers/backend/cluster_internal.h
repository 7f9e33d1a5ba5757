/* What the files of cluster*.c share: the simulated grid, its blocks, warps and lanes. Not installed. */
#ifndef BELFRY_DRIVERS_BACKEND_CLUSTER_INTERNAL_H
#define BELFRY_DRIVERS_BACKEND_CLUSTER_INTERNAL_H

#include "drivers/backend/cluster.h"
#include "drivers/platform/platform_mbarrier_sim.h"
#include "models/hopper/bulk.h"
#include "models/hopper/ldgsts.h"

#define BF_WATCH_BARRIERS 128u /* barriers in the first 1024 bytes of a block's window are watched */
#define BF_WATCH_GRANULE 16u

/* What has come to one barrier since its init, by party (rank * warps + warp). */
struct bf_watched {
	struct bf_bar_label label;
	uint32_t labelled, inits;
	uint64_t armed, brought; /* bytes expected; bytes of copies issued for it */
	uint32_t *arrived;       /* [ranks * warps] */
};

/* What a plain store brought to 16 bytes of shared memory, and whose it was; which warp has read them since when. */
struct bf_granule {
	uint8_t bytes[BF_WATCH_GRANULE];
	uint16_t valid; /* bytes[] that hold what a plain store brought */
	uint16_t rank;
	uint16_t thread; /* in its block */
	uint16_t reader; /* warp of the block + 1 */
	uint32_t fences; /* how often it had executed fence.proxy.async */
	uint32_t group;  /* of `filler`, in which its cp.async went here */
	uint16_t filler; /* thread of the block + 1; 0: nobody, or something else came here since */
};

/* Threads that meet: the block, a named barrier, a cluster. */
struct bf_meeting {
	uint32_t come, round;
};

struct bf_cluster_lane {
	struct bf_thread thread; /* first: what kernels see; thread.grid leads to it */
	struct bf_warp_of *warp;
	struct bf_view *view;
	const struct bf_bar_request *request; /* what it asks for; one of the two */
	const struct bf_async_request *copies_now;
	struct bf_copy_wait copy_wait;
	uint64_t result;
	/* A wait that has not been over yet. */
	bool waits, wait_tries; /* the latter: with try_wait */
	uint32_t wait_bar, wait_parity;
	uint64_t wait_since_ps;
	/* Where it meets others, if it sleeps there; the cluster barrier's round that it arrived in. */
	struct bf_meeting *meets;
	uint32_t cluster_round;
	bool met, done;
	/* What it has done since it met others: how often it had, when it touched shared memory last, plus one. */
	uint32_t meetings, touched;
	/* What it waited for last, and how many different waits there were. */
	uint32_t asked_bar, asks;
	uint64_t asked_token;
	/* Groups of cp.async that it has closed, and waited for; copies that arrivals cover are waited for elsewhere.
	 */
	uint32_t groups, groups_done;
	bool by_arrival;
};

/* One warp instruction on its way. */
struct bf_flight {
	struct bf_sync_instr instr;
	struct bf_event resume;
	struct bf_warp_of *warp;
	struct bf_flight *next; /* idle */
	struct bf_flight *all;  /* the warp's next one, idle or not */
	uint32_t lanes;
};

struct bf_warp_of {
	struct bf_sim_warp team; /* first: what bf_thread.team points at */
	struct bf_cta_of *cta;
	uint32_t index, asking, exited;
	uint32_t fences; /* of the async proxy */
	bool stalled;
	struct bf_event gather;
	struct bf_rng stalls;
	struct bf_flight *idle, *all;
	struct bf_cluster_lane *lane; /* [32] */
};

#define BF_NAMED_BARRIERS 16u

struct bf_cta_of {
	struct bf_hopper_cta *model; /* NULL: has ended */
	struct bf_cluster_of *cluster;
	struct bf_cta_of *next; /* on the same SM */
	struct bf_domain *domain;
	uint8_t *window;
	uint32_t rank, block, alive; /* alive: lanes that have not ended */
	uint64_t start_ps;
	struct bf_warp_of *warp;
	struct bf_cluster_lane *lane;
	struct bf_meeting meeting[BF_NAMED_BARRIERS];
	struct bf_watched watched[BF_WATCH_BARRIERS];
	struct bf_granule *granule;
};

struct bf_cluster_of {
	struct bf_sim_grid *grid;
	struct bf_cta_of *cta; /* [ctas] */
	struct bf_hopper_cta *model[BF_HOPPER_CLUSTER_MAX];
	struct bf_meeting meeting;
	uint32_t alive;
};

/* An SM: its shared memory as a region, and the blocks of the grid there. */
struct bf_sm_of {
	struct bf_region *region; /* NULL until a block was there */
	struct bf_cta_of *ctas;
	struct bf_sync_unit *unit;
};

struct bf_sim_grid {
	struct bf_cluster_world *world;
	uint32_t threads; /* of each block */
	struct bf_cluster_grid opts;
	struct bf_cluster_of *cluster; /* [clusters] */
	uint32_t alive;                /* lanes */
	uint64_t progress_ps;          /* when something last happened that was not a wait in vain */
	uint64_t bulk_bytes;
	struct bf_event watchdog;
	bool hung;
	uint32_t first_actor, nactors;
	struct bf_cluster_lane **by_actor;
};

struct bf_cluster_world {
	struct bf_cluster_opts opts;
	struct bf_error *err;
	struct bf_sim *sim;
	struct bf_fault_plan *faults;
	struct bf_hopper *gpu;
	struct bf_bulk *bulk;
	struct bf_space own_space, *space; /* the latter: that, or the machine's */
	struct bf_domain *own_domain, *domain;
	struct bf_cache cache;
	struct bf_sm_of *sm; /* [SMs] */
	struct bf_sim_grid *grid;
	struct bf_ptx_device *ptx; /* NULL: grids are C, or none has been run yet */
	struct bf_ptx_library *drivers;
	bool stuck;
};

/* A grid as PTX (cluster_ptx.c), in a world with opts.ptx. 0, or a negative errno with the world's error. */
int bf_cluster_ptx_start(struct bf_cluster_world *w, const struct bf_cluster_grid *grid);
/* After the run: what the units did, and who waits if it has not come to its end. */
void bf_cluster_ptx_report(struct bf_cluster_world *w, struct bf_cluster_result *out);
void bf_cluster_ptx_close(struct bf_cluster_world *w);

/* The lane behind a thread; of one that is in no such grid the run ends here, and this does not return. */
struct bf_cluster_lane *bf_lane_of(const struct bf_thread *t);

/* The grid's watchdog, which looks as long as somebody waits for a phase; who begins to wait calls it. */
void bf_cluster_watch(struct bf_sim_grid *g);

/* Threads of a block meet under id 0 without a count: those that have ended are not waited for. */
void bf_cluster_meet_without(struct bf_cta_of *cta);

static inline uint32_t bf_shared_offset(uint32_t address)
{
	return address & ((1u << BF_SHARED_RANK_SHIFT) - 1);
}

/* What a lane, or the one that stands for it, sleeps for; NULL: it runs. */
static inline const char *bf_lane_waits_for(const struct bf_cluster_lane *l)
{
	const uint32_t stood = l->warp->team.stood;

	return l->warp->lane[stood >> l->thread.lane & 1 ? BF_STAND_IN : l->thread.lane].thread.agent->waits_for;
}

static inline struct bf_sim *bf_cluster_sim_of(const struct bf_cta_of *cta)
{
	return cta->cluster->grid->world->sim;
}

/* The lane's request (l->request or l->copies_now) is done; it sleeps until then. `what` for reports. */
void bf_cluster_ask(struct bf_cluster_lane *l, const char *what);

/* bf_warp_of.gather: makes instructions of what lanes have asked for. */
void bf_cluster_gather(struct bf_event *ev);

/* The block that an address names; NULL when there is none of that rank. */
struct bf_cta_of *bf_cta_named(const struct bf_cta_of *from, uint32_t address);

/* ---- watching (cluster_watch.c) ---- */

/* "full[1] of block 0"; its address when it has no name. And what the unit has of it. */
const char *bf_watch_name(struct bf_cta_of *cta, uint32_t address, char *buf, size_t cap);
uint32_t bf_watch_phases(const struct bf_cta_of *cta, uint32_t address);
uint64_t bf_watch_word(const struct bf_cta_of *cta, uint32_t address);

/* The barrier at an address, if it is one that is watched. */
struct bf_watched *bf_watch_of(struct bf_cta_of *cta, uint32_t address);
void bf_watch_label(struct bf_cluster_lane *l, uint32_t bar, const struct bf_bar_label *label);
void bf_watch_arrival(struct bf_cluster_lane *l, struct bf_cta_of *cta, uint32_t bar, uint32_t count);
void bf_watch_request(struct bf_cluster_lane *l, const struct bf_bar_request *r);
void bf_watch_init_fence(struct bf_cluster_lane *l);
/* The lane does something else than ask again for the phase that it has waited for in vain. */
void bf_watch_given_up(struct bf_cluster_lane *l);
/* The lane's access goes to a block that is not there. */
void bf_watch_nobody(struct bf_cluster_lane *l, uint32_t address);
void bf_watch_brings(struct bf_cta_of *to, uint32_t bar, uint32_t bytes);
void bf_watch_store(struct bf_cluster_lane *l, struct bf_cta_of *to, uint32_t offset, const void *data, uint32_t len);
void bf_watch_load(struct bf_cluster_lane *l, struct bf_cta_of *from, uint32_t offset, const void *data, uint32_t len);
/* The same for `n` granules of lanes for whom one stands: their code is right, so nothing is looked for. */
void bf_watch_row_stored(struct bf_cta_of *to, uint32_t offset, uint32_t n);
void bf_watch_row_loaded(const struct bf_cluster_lane *l, struct bf_cta_of *from, uint32_t offset, uint32_t n);
/* A copy will write there; before that, of a bulk copy that this lane issues into its own block. */
void bf_watch_copied(struct bf_cta_of *to, uint32_t offset, uint32_t len);
void bf_watch_bulk(struct bf_cluster_lane *l, uint32_t offset, uint32_t len);
/* A lane copies for its whole warp, out of own shared memory. */
void bf_watch_bulk_store(struct bf_cluster_lane *l, uint32_t shared);
/* cp.async of a lane to own shared memory, and its waits for groups. */
void bf_watch_ldgsts(struct bf_cluster_lane *l, uint32_t offset);
void bf_watch_async(struct bf_cluster_lane *l, const struct bf_async_request *r);

/* Writes the report of a run that failed, and records of how its warps stand (cluster_report.c). */
void bf_watch_report(struct bf_cluster_world *w, struct bf_cluster_result *out);

#endif

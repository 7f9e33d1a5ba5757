#include <stddef.h>

#include "drivers/mbarrier/mbarrier.h"

#define PIPELINE (1u << BF_MBAR_PIPELINE)
#define RING (1u << BF_MBAR_RING)
#define PINGPONG (1u << BF_MBAR_PINGPONG)
#define CLUSTER (1u << BF_MBAR_CLUSTER)
#define AMPERE (1u << BF_MBAR_AMPERE)
#define STRESS (1u << BF_MBAR_STRESS)

const struct bf_mbar_bug bf_mbar_bugs[] = {
	{ BF_MBAR_BUG_FIRST_PHASE, PIPELINE | RING | PINGPONG | CLUSTER, "first-phase",
	  "the producer's first wait has the consumer's parity" },
	{ BF_MBAR_BUG_EMPTY_COUNT, PIPELINE | RING | PINGPONG | CLUSTER, "empty-count",
	  "empty barriers expect every lane, one lane of a warp arrives" },
	{ BF_MBAR_BUG_NO_INIT_SYNC, RING | PINGPONG | STRESS, "no-init-sync",
	  "no block barrier between the inits and their use" },
	{ BF_MBAR_BUG_NO_PROXY_FENCE, PIPELINE | PINGPONG, "no-proxy-fence",
	  "a bulk store of bytes that plain stores wrote, without fence.proxy.async" },
	{ BF_MBAR_BUG_TWO_BEHIND, PIPELINE | RING | CLUSTER, "two-behind",
	  "the consumers' parity flips with each tile, not with each lap: two phases behind" },
	{ BF_MBAR_BUG_TX_OVER, PIPELINE | PINGPONG | CLUSTER, "tx-over", "16 bytes more are expected than come" },
	{ BF_MBAR_BUG_TX_UNDER, PIPELINE | PINGPONG | CLUSTER, "tx-under", "16 bytes fewer are expected than come" },
	{ BF_MBAR_BUG_EXPECT_ONLY, PIPELINE | PINGPONG | CLUSTER, "expect-only", "expect_tx without the arrival" },
	{ BF_MBAR_BUG_CLUSTER_COUNT, CLUSTER, "cluster-count",
	  "empty barriers count the arrivals of one block, all blocks arrive" },
	{ BF_MBAR_BUG_NO_WARP_SYNC, RING, "no-warp-sync", "one lane arrives for the stores of 32" },
	{ BF_MBAR_BUG_TRY_ONCE, PIPELINE | PINGPONG | CLUSTER, "try-once", "a try_wait that came back counts as over" },
	{ BF_MBAR_BUG_INIT_TWICE, PIPELINE | RING, "init-twice", "another warp initialises the barriers, too" },
	{ BF_MBAR_BUG_NO_INVAL, PIPELINE, "no-inval", "a live barrier's bytes are used for data" },
	{ BF_MBAR_BUG_RELAXED_PEER, CLUSTER, "relaxed-peer",
	  "an arrival for a peer does not release at cluster scope" },
	{ BF_MBAR_BUG_EARLY_EXIT, CLUSTER, "early-exit", "a block ends while its peers still arrive in it" },
	{ BF_MBAR_BUG_LOCAL_ARRIVE, CLUSTER, "local-arrive", "the release for a peer goes to the own barrier" },
	{ BF_MBAR_BUG_NO_ENTRY_SYNC, CLUSTER, "no-entry-sync", "peers are used before they have started" },
	{ BF_MBAR_BUG_TRIPS, CLUSTER, "trips", "one block of the cluster goes round once less" },
	{ BF_MBAR_BUG_EARLY_COMMIT, AMPERE, "early-commit", "the group is closed before the copies it should cover" },
	{ BF_MBAR_BUG_ASYNC_INC, AMPERE, "async-inc",
	  "cp.async.mbarrier.arrive without .noinc, where the barrier counts it (with --by-barrier)" },
	{ BF_MBAR_BUG_ORDER_PHASE, PINGPONG, "order-phase", "both groups take the first turn" },
	{ BF_MBAR_BUG_NO_EMPTY_WAIT, PIPELINE | RING | PINGPONG | CLUSTER, "no-empty-wait",
	  "a stage is filled again without waiting for its readers" },
	{ BF_MBAR_BUG_MULTICAST_BYTES, CLUSTER, "multicast-bytes", "a block expects its own share of the tile only" },
	{ 0, 0, NULL, NULL },
};

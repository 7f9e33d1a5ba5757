/* GIN's mistakes on purpose, by name. */
#include "drivers/gin/gin.h"

const struct bf_gin_bug bf_gin_bugs[] = {
	{ BF_GIN_BUG_NO_READY_FENCE, "gin-no-ready-fence", "slots are published without a fence behind the entries" },
	{ BF_GIN_BUG_NO_DB_FENCE, "gin-no-db-fence", "no fence between the record and the second doorbell" },
	{ BF_GIN_BUG_NO_LOCK, "gin-no-lock", "records and doorbells without the queue's lock" },
	{ BF_GIN_BUG_NO_CREDIT, "gin-no-credit", "slots are taken before their last entries are done" },
	{ BF_GIN_BUG_IGNORE_ERROR, "gin-ignore-error", "waits leave with success when the CQE tells of an error" },
	{ BF_GIN_BUG_FLUSH_NO_RING, "gin-flush-no-ring", "flush does not ring for aggregated operations" },
	{ BF_GIN_BUG_WRONG_SHARING, "gin-wrong-sharing", "the sharing mode is narrower than those who share" },
	{ BF_GIN_BUG_SIGNAL_OTHER_QP, "gin-signal-other-qp", "signals go by another context than their data" },
	{ BF_GIN_BUG_RELAXED_WINDOW, "gin-relaxed-window", "host: the window's keys allow relaxed ordering" },
	{ BF_GIN_BUG_UNSIGNALED, "gin-unsignaled", "some entries ask for no CQE" },
	{ BF_GIN_BUG_FILL_NO_RING, "gin-fill-no-ring", "a run of aggregated puts never rings" },
	{ BF_GIN_BUG_NO_SECOND_RING, "gin-no-second-ring", "no doorbell behind the record" },
	{ BF_GIN_BUG_COUNTER_NO_WAIT, "gin-counter-no-wait", "counters are added to without a WAIT" },
	{ BF_GIN_BUG_SKIP_READY_ORDER, "gin-no-ready-order", "slots are published without waiting for earlier ones" },
	{ BF_GIN_BUG_PROXY_QPN, "gin-proxy-qpn", "the proxy's doorbells carry queue pair 0" },
	{ BF_GIN_BUG_NO_SIGNAL_WAIT, "gin-no-signal-wait", "data are used without waiting for their signal" },
	{ BF_GIN_BUG_BF_SHARED, "gin-bf-shared", "two queue pairs copy entries to one register" },
	{ BF_GIN_BUG_POLL_EARLY, "gin-poll-early", "waits take a ticket for a count, and end one entry early" },
	{ BF_GIN_BUG_GET_NOTHING, "gin-get-nothing", "a get of no bytes returns a ticket that was never set" },
	{ BF_GIN_BUG_NO_GID, "gin-no-gid", "host: connections are made without a GID, as with InfiniBand's LIDs" },
	{ 0, 0, 0 },
};

#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = bf_rule_find(r, e, NULL);

	if (f)
		bf_finding_say(f,
			       "the path of QP 0x%" PRIx64 " on PE %" PRIu32 " to %" PRIu64 ".%" PRIu64 ".%" PRIu64
			       ".%" PRIu64 " names MAC %012" PRIx64 ", and the port with that address has %012" PRIx64
			       ": a switch does not bring its frames there",
			       e->path_mac.qpn, e->pe, e->path_mac.remote_ipv4 >> 24 & 0xff,
			       e->path_mac.remote_ipv4 >> 16 & 0xff, e->path_mac.remote_ipv4 >> 8 & 0xff,
			       e->path_mac.remote_ipv4 & 0xff, e->path_mac.mac, e->path_mac.theirs);
}

const struct bf_rule bf_rule_mlx5_path_mac = {
	.about = {
		.id = "MLX5-PATH-MAC",
		.family = "mlx5",
		.title = "a path names a MAC address that its peer does not have",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "RoCE frames go to rmac_47_32 and rmac_31_0 of the address path, whatever rgid_rip says; the device "
			    "does not compare them.",
		.wrong = "The MAC was put together from the wrong bytes, is another port's, or nobody resolved it: frames are "
			 "lost on the way, and the requester's retries run out.",
		.fix = "Take the MAC that belongs to the peer's GID (from the kernel's neighbour table, "
		       "ibv_create_ah_from_wc, or the peer itself). Its first two bytes go into rmac_47_32, the others "
		       "into rmac_31_0.",
		.sources = "mlx5 PRM, Address Path; Linux drivers/infiniband/hw/mlx5/qp.c",
		.test = "tests/traces/test_rules_errors.c",
		.why = "The drivers take the MAC that the backend gives them.",
	},
	.rank = BF_RANK_SET_UP,
	.records = BF_SEES(path_mac),
	.on = on,
};

/* Entries that failed with a syndrome which says by itself what is wrong: a rule for each. */
#include "models/mlx5/prm_cqe.h"
#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	bf_mlx5_rule_failed_with(r, e, (uint32_t)r->rule->is, "");
}

const struct bf_rule bf_rule_mlx5_local_length = {
	.about = {
		.id = "MLX5-LOCAL-LENGTH",
		.family = "mlx5",
		.title = "an entry moves more bytes than allowed",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The length of a message is bounded by log_msg_max, and a READ's result by its buffers.",
		.wrong = "The entry asks for more.",
		.fix = "Cut transfers at the queue pair's log_msg_max and at the end of buffers.",
		.sources = "InfiniBand Architecture vol. 1, 10.8.6; docs/hardware/mlx5.md#syndromes-1",
		.test = "tests/traces/test_rules_errors.c",
		.why = "No workload asks for a message beyond the limit of the NIC.",
	},
	.rank = BF_RANK_REFUSED,
	.records = BF_SEES(qp_error),
	.is = 0x01u,
	.on = on,
};

const struct bf_rule bf_rule_mlx5_local_qp = {
	.about = {
		.id = "MLX5-LOCAL-QP-OP",
		.family = "mlx5",
		.title = "an entry that the queue pair cannot execute",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The NIC decodes each entry: opcode, number of segments, inline lengths, the QPN in the "
			    "control segment.",
		.wrong = "The entry is malformed, or asks for what this transport does not have.",
		.fix = "Compare the entry with belfry decode wqe; check ds, opcode modifier and segment types.",
		.sources = "InfiniBand Architecture vol. 1, 10.8.6; docs/hardware/mlx5.md#syndromes-1",
		.test = "tests/traces/test_rules_errors.c",
		.why = "Entries that cannot be executed are those that were fetched too early here, and the rules about that are the root cause.",
	},
	.rank = BF_RANK_REFUSED,
	.records = BF_SEES(qp_error),
	.is = 0x02u,
	.on = on,
};

const struct bf_rule bf_rule_mlx5_local_protection = {
	.about = {
		.id = "MLX5-LOCAL-PROTECTION",
		.family = "mlx5",
		.title = "the NIC may not read or write local memory",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Each scatter-gather element names a local key; the NIC checks it, and with GPU memory "
			    "the PCIe path must let it through.",
		.wrong = "The key does not fit, or the access to memory failed on the way (ACS or IOMMU between NIC "
			 "and GPU): vendor 51 or 52.",
		.fix = "An MLX5-KEY finding names the key. Without one, check ACS, IOMMU and peer-memory support.",
		.sources = "FDio/csit#3988; openucx/ucx#3564; NVIDIA/nccl#928, #523",
		.example = "run ibgda-put --faults 'dma-fault skip=4 count=1'",
		.twin = "run ibgda-put",
	},
	.rank = BF_RANK_REFUSED + 1,
	.records = BF_SEES(qp_error),
	.is = 0x04u,
	.on = on,
};

const struct bf_rule bf_rule_mlx5_remote_invalid = {
	.about = {
		.id = "MLX5-REMOTE-INVALID",
		.family = "mlx5",
		.title = "the peer found the request invalid",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The responder checks each request packet against its queue pair: length, path MTU, order of the packets of a message, which operations it allows, how many READs and atomics. It answers NAK code 1, and the entry fails with syndrome 12.",
		.wrong = "Both ends do not agree on something that was set up: path MTU, remote access flags of the queue pair, READs in flight, or the receive buffer is smaller than the message.",
		.fix = "Compare both ends: MTU, qp_access_flags, max_rd_atomic and max_dest_rd_atomic, and the length of the receive buffer. The responder has its own completion or event for the same request.",
		.sources = "InfiniBand Architecture vol. 1, 9.7.5.2.4 and 9.9.3; openucx/ucx#1770; spdk/spdk#961",
		.test = "tests/traces/test_rules_errors.c",
		.why = "No workload does so: the driver sets both ends up from one place.",
	},
	.rank = BF_RANK_EFFECT,
	.records = BF_SEES(qp_error),
	.is = BF_MLX5_SYND_REM_INV_REQ,
	.on = on,
};

const struct bf_rule bf_rule_mlx5_remote_access = {
	.about = {
		.id = "MLX5-REMOTE-ACCESS",
		.family = "mlx5",
		.title = "the peer refused the access",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The responder checks the remote key and answers with a NAK; the requester's entry "
			    "fails with syndrome 13, vendor 88.",
		.wrong = "The other side's record of the same request says which check failed. This completion only "
			 "reports it.",
		.fix = "Find the responder's refusal (MLX5-KEY-*), and check remote address and key of this entry.",
		.sources = "open-mpi/ompi#1241; meta-pytorch/monarch#3759; InfiniBand Architecture vol. 1, 9.9.3",
		.test = "tests/traces/test_rules_errors.c",
		.why = "The model says what is wrong with the key, so another rule is the root cause; this one speaks where only the refusal is known.",
	},
	.rank = BF_RANK_EFFECT - 1,
	.records = BF_SEES(qp_error),
	.is = 0x13u,
	.on = on,
};

const struct bf_rule bf_rule_mlx5_remote_operation = {
	.about = {
		.id = "MLX5-REMOTE-OPERATION",
		.family = "mlx5",
		.title = "the peer could not carry the request out",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The responder accepted the request, and then could not read or write its own memory or its receive queue. It answers NAK code 3, and the entry fails with syndrome 14.",
		.wrong = "The memory behind a key or a receive entry that is valid cannot be reached: an IOMMU mapping that is gone, memory that was freed while it was registered, a receive entry with a bad local key.",
		.fix = "Look at the other machine: its IOMMU and PCIe errors, the lifetime of the registered memory, its receive entries.",
		.sources = "InfiniBand Architecture vol. 1, 9.7.5.2.4 and 9.9.3; docs/hardware/mlx5.md#syndromes-1",
		.test = "tests/traces/test_rules_errors.c",
		.why = "No workload does so: the driver sets both ends up from one place.",
	},
	.rank = BF_RANK_EFFECT,
	.records = BF_SEES(qp_error),
	.is = BF_MLX5_SYND_REM_OP,
	.on = on,
};

const struct bf_rule bf_rule_mlx5_rnr_exceeded = {
	.about = {
		.id = "MLX5-RNR-EXCEEDED",
		.family = "mlx5",
		.title = "the peer had no receive buffer for too long",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A SEND or WRITE with immediate takes a receive entry; without one the responder "
			    "answers RNR NAK and the requester waits and sends again, rnr_retry times; 7 means for "
			    "ever.",
		.wrong = "rnr_retry is finite and ran out before the receiver posted buffers.",
		.fix = "Post receives before the sender may send (or use credits), and set rnr_retry to 7.",
		.sources = "spdk/spdk#2429; InfiniBand Architecture vol. 1, 9.7.5.2.8",
		.example = "run ibgda-put --bug write-imm --bug rnr-finite",
		.twin = "run ibgda-put --bug rnr-finite",
	},
	.rank = BF_RANK_EFFECT,
	.records = BF_SEES(qp_error),
	.is = 0x16u,
	.on = on,
};

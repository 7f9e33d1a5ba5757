/* Points that entries of our devices pass, in their order: of the lives that rules know of, too. */
#ifndef BELFRY_TRACES_DEVICES_POINTS_H
#define BELFRY_TRACES_DEVICES_POINTS_H

/* A packet goes by its byte in the ring. Its submission is what the driver reserved, or a doorbell announced. */
enum bf_sdma_at {
	BF_SDMA_AT_RESERVE,
	BF_SDMA_AT_RING,
	BF_SDMA_AT_DOORBELL,
	BF_SDMA_AT_FETCH,
	BF_SDMA_AT_DISPATCH,
	BF_SDMA_AT_DONE,
	BF_SDMA_AT_RETIRE,
};

enum bf_mlx5_at {
	BF_MLX5_AT_RESERVE,
	BF_MLX5_AT_BUILD,
	BF_MLX5_AT_PUBLISH,
	BF_MLX5_AT_RING,
	BF_MLX5_AT_DOORBELL,
	BF_MLX5_AT_FETCH,
	BF_MLX5_AT_START,
	BF_MLX5_AT_DONE,
	BF_MLX5_AT_COMPLETION,
	BF_MLX5_AT_SEEN,
};

/* A command goes by its slot until it is fetched, and by its identifier from then on. */
enum bf_nvme_at {
	BF_NVME_AT_BUILD,
	BF_NVME_AT_RING,
	BF_NVME_AT_DOORBELL,
	BF_NVME_AT_FETCH,
	BF_NVME_AT_START,
	BF_NVME_AT_COMPLETION,
	BF_NVME_AT_SEEN,
};

/* A bulk copy. */
enum bf_hopper_at {
	BF_HOPPER_AT_ISSUE,
	BF_HOPPER_AT_READ,
	BF_HOPPER_AT_END,
};

#endif

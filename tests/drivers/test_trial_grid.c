/*
 * Grids with shared memory beside a NIC: a kernel fetches tiles by bulk copies, waits for them on an mbarrier, works on
 * them, stores them by bulk copies and sends them to its peer by RDMA WRITEs. The rules of both devices judge it.
 */
#include "drivers/platform/platform_mbarrier_sim.h"

#include "own_mlx5.h"
#include "trial_rig.h"

#define TILE 1024u
#define THREADS 64u
#define BAR 0u
#define AT 1024u /* of the tile in shared memory */

enum mistake {
	RIGHT,
	NO_PROXY_FENCE, /* between the threads' stores and the bulk store of them */
	NO_BULK_WAIT,   /* the WRITE is posted without a wait for the bulk store */
	READ_WAIT,      /* wait_group.read: the source has been read, the destination not written */
	NO_BYTES,       /* the barrier is not told how many bytes come */
	FEW_ARRIVALS,   /* a count of 2 where one thread arrives */
	NO_DOORBELL_FENCE,
	NO_BLOCK_SYNC, /* thread 0 stores the tile before the others are done with it */
};

struct tiles {
	struct own_qp qp;
	uint32_t tiles, errors;
	enum mistake mistake;
};

static uint8_t worked(uint8_t byte)
{
	return (uint8_t)(byte ^ 0x5a);
}

static void fetch(struct bf_thread *t, const struct tiles *s, uint32_t a, uint32_t tile)
{
	const uint8_t *from = s->qp.hw.local + (uint64_t)(s->tiles + tile) * TILE;

	if (s->mistake != NO_BYTES)
		bf_bar_arrive_tx(t, a + BAR, TILE);
	else
		bf_bar_arrive(t, a + BAR, 1);
	bf_tma_load(t, a + AT, from, TILE, a + BAR);
}

static void send(struct bf_thread *t, struct tiles *s, uint32_t a, uint32_t tile)
{
	bf_tma_store(t, s->qp.hw.local + (uint64_t)tile * TILE, a + AT, TILE);
	bf_tma_commit(t);
	if (s->mistake == READ_WAIT)
		bf_tma_wait_read(t, 0);
	else if (s->mistake != NO_BULK_WAIT)
		bf_tma_wait(t, 0);
	own_put(t, &s->qp, (uint64_t)tile * TILE, TILE);
	s->errors += own_poll(t, &s->qp) != 0;
	if (s->mistake == NO_BULK_WAIT || s->mistake == READ_WAIT)
		bf_tma_wait(t, 0);
}

static void kernel(struct bf_thread *t, void *arg)
{
	const uint32_t a = bf_shared_base(t), me = bf_warp(t) * BF_LANES + bf_lane(t);
	struct tiles *s = arg;

	if (me == 0) {
		bf_bar_init(t, a + BAR, s->mistake == FEW_ARRIVALS ? 2 : 1);
		bf_bar_init_fence(t);
		bf_proxy_fence(t);
	}
	bf_block_sync(t);
	for (uint32_t tile = 0; tile < s->tiles; tile++) {
		if (me == 0)
			fetch(t, s, a, tile);
		while (!bf_bar_try(t, a + BAR, tile & 1))
			;
		for (uint32_t i = me * 4; i < TILE; i += THREADS * 4)
			bf_shared_st32(t, a + AT + i, bf_shared_ld32(t, a + AT + i) ^ 0x5a5a5a5au);
		if (s->mistake != NO_PROXY_FENCE)
			bf_proxy_fence(t);
		if (s->mistake != NO_BLOCK_SYNC)
			bf_block_sync(t);
		if (me == 0)
			send(t, s, a, tile);
		bf_block_sync(t);
	}
}

static int setup(struct bf_trial *t, void *state)
{
	const struct bf_trial_mlx5_opts opts = { .wqebbs = 16 };
	const struct bf_grid_opts grid = { .blocks = 1, .threads = THREADS, .shared_bytes = AT + TILE };
	const enum mistake *mistake = bf_trial_arg(t);
	struct tiles *s = state;
	int rc = bf_trial_mlx5(t, &opts);

	if (!rc)
		rc = bf_trial_mlx5_queue(t, 0, 1, 0, &s->qp.hw);
	if (rc)
		return rc;
	s->tiles = (uint32_t)bf_trial_size(t, 0);
	s->mistake = *mistake;
	s->qp.mistake = s->mistake == NO_DOORBELL_FENCE ? OWN_NO_DOORBELL_FENCE : OWN_NONE;
	for (uint32_t i = 0; i < s->tiles * TILE; i++)
		s->qp.hw.local[s->tiles * TILE + i] = (uint8_t)(i * 7 + 1);
	return bf_trial_launch_grid(t, 0, &grid, kernel, s);
}

static int verify(struct bf_trial *t, void *state)
{
	const struct tiles *s = state;
	const uint8_t *got = bf_trial_heap(t, 1).ptr;

	bf_trial_check(t, s->errors == 0, "a write failed");
	for (uint32_t i = 0; i < s->tiles * TILE; i++)
		if (!bf_trial_check(t, got[i] == worked((uint8_t)(i * 7 + 1)), "byte %u is wrong", i))
			break;
	return 0;
}

static void ends_in(enum mistake mistake, const char *rule)
{
	static const struct bf_trial_size sizes[] = { { "tiles", 8, 1 } };
	const struct bf_trial_spec spec = {
		.name = "tiles",
		.world = { .seed = 1, .npes = 2, .limit_ps = 20000000000ull },
		.setup = setup,
		.verify = verify,
		.state_bytes = sizeof(struct tiles),
		.arg = &mistake,
		.sizes = sizes,
		.nsizes = 1,
	};

	trial_ends_in(&spec, 8, rule);
}

static const struct {
	enum mistake mistake;
	const char *rule;
} named[] = {
	{ RIGHT, NULL },
	{ NO_PROXY_FENCE, "HOPPER-PROXY-FENCE" },
	{ NO_BULK_WAIT, "HOPPER-STORE-SENT" },
	{ READ_WAIT, "HOPPER-STORE-SENT" },
	{ NO_BYTES, "HOPPER-EXPECT-MISSING" },
	{ FEW_ARRIVALS, "HOPPER-ARRIVALS-MISSING" },
	{ NO_DOORBELL_FENCE, "MLX5-DBREC-ORDER" },
	{ NO_BLOCK_SYNC, "HOPPER-RELEASE-LANES" },
};

START_TEST(each_mistake_has_its_name)
{
	ends_in(named[_i].mistake, named[_i].rule);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("mbarrier and mlx5");

	tcase_add_loop_test(tc, each_mistake_has_its_name, 0, BF_ARRAY_LEN(named));
	return trial_rig_run(tc, "grids with shared memory");
}

/*
 * A world with IBGDA's host side, and a backend between them that counts what it makes and fails when told to.
 */
#ifndef BELFRY_TESTS_DRIVERS_HOST_RIG_H
#define BELFRY_TESTS_DRIVERS_HOST_RIG_H

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tests/drivers/rig.h"

#define ANY_PE 0xffffffffu

/* What the tests of one program share: Check runs each in a process of its own. */
struct watch {
	const struct bf_backend *real;
	struct bf_backend be;
	uint32_t commands, allocs;    /* so far */
	uint32_t images;              /* of the allocations: tables that are the same everywhere */
	uint32_t fail_at, fail_alloc; /* this one, from 1 on; 0: none */
	int64_t objects;              /* made and not yet ended */
	uint32_t down_mask;           /* bit nic * 2 + port: that port is down */
	uint32_t inits[3];            /* RST2INIT by port, from 1 on */
	uint32_t failed_op;
	uint32_t swallow_op; /* commands of this kind fail from now on */
	uint32_t no_atomics; /* bit nic: it has none */
	uint32_t down_pe;    /* whose ports down_mask means; ANY_PE: everybody's */
};
static struct watch watch;

static inline int watch_delta(uint32_t op)
{
	switch (op) {
	case BF_MLX5_CMD_CREATE_MKEY:
	case BF_MLX5_CMD_CREATE_CQ:
	case BF_MLX5_CMD_CREATE_QP:
	case BF_MLX5_CMD_CREATE_DCT:
	case BF_MLX5_CMD_ALLOC_PD:
	case BF_MLX5_CMD_ALLOC_UAR:
	case BF_MLX5_CMD_CREATE_UMEM:
		return 1;
	case BF_MLX5_CMD_DESTROY_MKEY:
	case BF_MLX5_CMD_DESTROY_CQ:
	case BF_MLX5_CMD_DESTROY_QP:
	case BF_MLX5_CMD_DESTROY_DCT:
	case BF_MLX5_CMD_DEALLOC_PD:
	case BF_MLX5_CMD_DEALLOC_UAR:
	case BF_MLX5_CMD_DESTROY_UMEM:
		return -1;
	default:
		return 0;
	}
}

static inline int watch_command(struct bf_world *w, uint32_t pe, uint32_t nic, const void *in, size_t in_len, void *out,
				size_t out_len)
{
	const uint32_t op = BF_MLX5_GET(in, BF_CMD_OPCODE);
	int rc;

	if (++watch.commands == watch.fail_at || (op == watch.swallow_op && op)) {
		watch.failed_op = op;
		memset(out, 0, out_len);
		BF_MLX5_SET(out, BF_CMD_OUT_STATUS, BF_MLX5_CMD_INT_ERR);
		return 0;
	}
	if (op == BF_MLX5_CMD_RST2INIT_QP)
		watch.inits[BF_MLX5_GET((const uint8_t *)in + BF_QP_QPC + BF_QPC_PATH, BF_PATH_PORT) % 3]++;
	rc = watch.real->command(w, pe, nic, in, in_len, out, out_len);
	if (!rc && BF_MLX5_GET(out, BF_CMD_OUT_STATUS) == BF_MLX5_CMD_OK)
		watch.objects += watch_delta(op);
	if (op == BF_MLX5_CMD_ACCESS_REG && (watch.down_pe == pe || watch.down_pe == ANY_PE) &&
	    watch.down_mask >> (nic * 2 + BF_MLX5_GET((const uint8_t *)in + BF_ACCESS_REG_DATA, BF_PAOS_PORT) - 1) & 1)
		BF_MLX5_SET((uint8_t *)out + BF_ACCESS_REG_DATA, BF_PAOS_OPER, BF_PAOS_DOWN);
	return rc;
}

static inline int watch_map_uar(struct bf_world *w, uint32_t pe, uint32_t nic, struct bf_uar *out)
{
	int rc;

	if (++watch.commands == watch.fail_at) {
		watch.failed_op = BF_MLX5_CMD_ALLOC_UAR;
		return -ENOSPC;
	}
	rc = watch.real->map_uar(w, pe, nic, out);
	watch.objects += !rc;
	return rc;
}

static inline int watch_nic_info(struct bf_world *w, uint32_t pe, uint32_t nic, struct bf_nic_info *out)
{
	const int rc = watch.real->nic_info(w, pe, nic, out);

	if (!rc && watch.no_atomics >> nic & 1)
		out->atomics = false;
	return rc;
}

static inline int watch_alloc(struct bf_world *w, uint32_t pe, enum bf_placement place, uint64_t size, const char *name,
			      struct bf_memory *out)
{
	if (++watch.allocs == watch.fail_alloc)
		return -ENOMEM;
	return watch.real->alloc(w, pe, place, size, name, out);
}

static inline int watch_alloc_image(struct bf_world *w, uint32_t pe, const struct bf_image *image, const char *name,
				    struct bf_memory *out)
{
	watch.images++;
	if (++watch.allocs == watch.fail_alloc)
		return -ENOMEM;
	return watch.real->alloc_image(w, pe, image, name, out);
}

/* The simulation, watched. */
static inline const struct bf_backend *watched(void)
{
	watch = (struct watch){ .real = bf_backend_find("sim"), .down_pe = ANY_PE };
	watch.be = *watch.real;
	watch.be.command = watch_command;
	watch.be.map_uar = watch_map_uar;
	watch.be.alloc = watch_alloc;
	watch.be.alloc_image = watch_alloc_image;
	watch.be.nic_info = watch_nic_info;
	return &watch.be;
}

/* Rings that are quickly made. */
static inline struct bf_ibgda_host_opts small_host(void)
{
	return (struct bf_ibgda_host_opts){
		.heap_bytes = 1 << 16, .log2_granularity = 12, .qp_depth = 16, .ibuf_slots = 32
	};
}

struct host_rig {
	const struct bf_backend *be;
	struct bf_world_opts world;
	struct bf_ibgda_host_opts opts;
	struct bf_world *w;
	struct bf_ibgda_host *h;
	struct bf_error err;
};

static inline struct host_rig host_rig(uint32_t npes)
{
	return (struct host_rig){ .be = watched(),
				  .world = { .seed = 1, .npes = npes, .limit_ps = BF_S },
				  .opts = small_host() };
}

static inline int host_try(struct host_rig *r)
{
	if (!r->w)
		ck_assert_msg(!r->be->open(&r->world, &r->err, &r->w), "%s", r->err.text);
	return bf_ibgda_host_open(r->be, r->w, r->world.npes, &r->opts, &r->err, &r->h);
}

static inline void host_open(struct host_rig *r)
{
	ck_assert_msg(!host_try(r), "%s", r->err.text);
}

/* Nothing is left, neither by the host side's own count nor by what went over the command interface. */
static inline void host_close(struct host_rig *r)
{
	char leaks[128];

	ck_assert_msg(!bf_ibgda_host_close_report(r->h, leaks, sizeof(leaks)), "%s", leaks);
	ck_assert_int_eq(watch.objects, 0);
	r->be->close(r->w);
	r->h = NULL;
	r->w = NULL;
}

/* A field of a QP's context as the device has it. */
static inline uint32_t device_qp(struct host_rig *r, uint32_t pe, uint32_t nic, uint32_t qpn, uint32_t off,
				 uint32_t mask)
{
	uint8_t in[16] = { 0 }, out[BF_QP_QPC + BF_QPC_LEN] = { 0 };

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_QP);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, qpn);
	ck_assert_int_eq(r->be->command(r->w, pe, nic, in, sizeof(in), out, sizeof(out)), 0);
	ck_assert_uint_eq(BF_MLX5_GET(out, BF_CMD_OUT_STATUS), BF_MLX5_CMD_OK);
	return bf_mlx5_field_get(out + BF_QP_QPC, off, mask);
}

#endif

/* IBGDA, host side: talking to a NIC by command mailboxes, and keeping count of what came of it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "drivers/ibgda/host_internal.h"

#define PAGE_SHIFT 12u
#define KEY_VARIANTS 0x7fu
#define MANY_PES 512u
#define CHUNK_BYTES (2ull << 20)

/* For those who read the error text; names of Linux drivers/net/ethernet/mellanox/mlx5/core/cmd.c. */
static const char *status_text(uint32_t status)
{
	switch (status) {
	case BF_MLX5_CMD_INT_ERR:
		return "internal error";
	case BF_MLX5_CMD_BAD_OP:
		return "bad operation";
	case BF_MLX5_CMD_BAD_PARAM:
		return "bad parameter";
	case BF_MLX5_CMD_BAD_SYS_STATE:
		return "bad system state";
	case BF_MLX5_CMD_BAD_RES:
		return "bad resource";
	case BF_MLX5_CMD_RES_BUSY:
		return "resource busy";
	case BF_MLX5_CMD_LIM:
		return "limits exceeded";
	case BF_MLX5_CMD_BAD_RES_STATE:
		return "bad resource state";
	case BF_MLX5_CMD_IX:
		return "bad index";
	case BF_MLX5_CMD_NO_RES:
		return "no resources";
	case BF_MLX5_CMD_BAD_INP_LEN:
		return "bad input length";
	case BF_MLX5_CMD_BAD_OUTP_LEN:
		return "bad output length";
	case BF_MLX5_CMD_BAD_QP_STATE:
		return "bad QP state";
	case BF_MLX5_CMD_BAD_SIZE:
		return "bad size";
	default:
		return "unknown status";
	}
}

int bf_ibgda_cmd(struct bf_ibgda_transport *t, const struct bf_ibgda_nic *nic, enum bf_mlx5_cmd_op op, const char *name,
		 void *in, size_t len, uint32_t *number)
{
	uint8_t out[272] = { 0 };
	uint32_t status;
	int rc;

	BF_MLX5_SET(in, BF_CMD_OPCODE, (uint32_t)op);
	rc = t->be->command(t->world, t->pe, nic->index, in, len, out, sizeof(out));
	if (rc)
		return bf_fail(t->err, rc, "PE %u, %s: %s did not reach the device", t->pe, nic->info.name, name);
	status = BF_MLX5_GET(out, BF_CMD_OUT_STATUS);
	if (status != BF_MLX5_CMD_OK)
		return bf_fail(t->err, -EIO, "PE %u, %s: %s failed: status 0x%x (%s), syndrome 0x%x", t->pe,
			       nic->info.name, name, status, status_text(status),
			       BF_MLX5_GET(out, BF_CMD_OUT_SYNDROME));
	if (number)
		*number = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
	return 0;
}

int bf_ibgda_precheck(struct bf_ibgda_transport *t, uint32_t lack)
{
	const struct bf_ibgda_bug *l = bf_ibgda_lacks;

	if (!(t->opts.lacks & lack) || (lack == BF_IBGDA_LACKS_GPU_UAR && t->opts.cpu_proxy))
		return 0;
	while (l->bit != lack)
		l++;
	return bf_fail(t->err, -ENODEV, "PE %u: %s: %s", t->pe, l->name, l->summary);
}

int bf_ibgda_create(struct bf_ibgda_transport *t, const struct bf_ibgda_nic *nic, enum bf_mlx5_cmd_op op,
		    const char *name, void *in, size_t len, enum bf_ibgda_kind kind, uint32_t *number)
{
	const int rc = bf_ibgda_cmd(t, nic, op, name, in, len, number);

	if (!rc)
		t->live[kind]++;
	return rc;
}

void bf_ibgda_destroy(struct bf_ibgda_transport *t, const struct bf_ibgda_nic *nic, enum bf_mlx5_cmd_op op,
		      const char *name, enum bf_ibgda_kind kind, uint32_t *number)
{
	uint8_t in[16] = { 0 };

	if (*number == BF_IBGDA_NONE)
		return;
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, *number);
	if (!bf_ibgda_cmd(t, nic, op, name, in, sizeof(in), NULL))
		t->live[kind]--;
	*number = BF_IBGDA_NONE;
}

int bf_ibgda_create_key(struct bf_ibgda_transport *t, const struct bf_ibgda_nic *nic, uint64_t va, uint64_t size,
			uint32_t *key)
{
	/* Variants differ from key to key, NIC to NIC and PE to PE, so that none passes for another's. */
	const uint8_t variant = (uint8_t)((t->pe * 16 + nic->index * 5 + t->keys_made) % KEY_VARIANTS + 1);
	uint8_t in[BF_CREATE_MKEY_LEN] = { 0 };
	uint8_t *mkc = in + BF_CREATE_MKEY_MKC;
	uint32_t index;
	int rc;

	BF_MLX5_SET(mkc, BF_MKC_RELAXED_WRITE, t->relaxed_ordering);
	BF_MLX5_SET(mkc, BF_MKC_A, !(t->opts.bugs & BF_IBGDA_BUG_KEY_NO_ATOMIC));
	BF_MLX5_SET(mkc, BF_MKC_RW, 1);
	BF_MLX5_SET(mkc, BF_MKC_RR, 1);
	BF_MLX5_SET(mkc, BF_MKC_LW, 1);
	BF_MLX5_SET(mkc, BF_MKC_LR, 1);
	BF_MLX5_SET(mkc, BF_MKC_QPN, 0xffffff); /* any */
	BF_MLX5_SET(mkc, BF_MKC_KEY, variant);
	BF_MLX5_SET(mkc, BF_MKC_PD, nic->pd);
	bf_put_be64(mkc + BF_MKC_START, va);
	bf_put_be64(mkc + BF_MKC_SIZE, size);
	rc =
	    bf_ibgda_create(t, nic, BF_MLX5_CMD_CREATE_MKEY, "CREATE_MKEY", in, sizeof(in), BF_IBGDA_KIND_MKEY, &index);
	if (rc)
		return rc;
	t->keys_made++;
	*key = index << 8 | variant;
	return 0;
}

void bf_ibgda_destroy_key(struct bf_ibgda_transport *t, const struct bf_ibgda_nic *nic, uint32_t *key)
{
	uint32_t index = *key == BF_IBGDA_NONE ? BF_IBGDA_NONE : *key >> 8;

	bf_ibgda_destroy(t, nic, BF_MLX5_CMD_DESTROY_MKEY, "DESTROY_MKEY", BF_IBGDA_KIND_MKEY, &index);
	*key = BF_IBGDA_NONE;
}

int bf_ibgda_create_umem(struct bf_ibgda_transport *t, const struct bf_ibgda_nic *nic, const struct bf_memory *m,
			 uint32_t *number)
{
	const uint64_t pages = m->size >> PAGE_SHIFT;
	const size_t len = BF_CREATE_UMEM_MTT + pages * 8;
	uint8_t *in = calloc(1, len);
	int rc;

	if (!in)
		return bf_fail(t->err, -ENOMEM, "PE %u: no memory for a list of %" PRIu64 " pages", t->pe, pages);
	/* log_page_size counts from the adapter's 4 KiB pages: 0 is PAGE_SHIFT. */
	BF_MLX5_SET(in + BF_CREATE_UMEM_CTX, BF_UMEM_NUM_MTT, (uint32_t)pages);
	for (uint64_t i = 0; i < pages; i++)
		bf_put_be64(in + BF_CREATE_UMEM_MTT + i * 8, (m->va + (i << PAGE_SHIFT)) | 3);
	rc = bf_ibgda_create(t, nic, BF_MLX5_CMD_CREATE_UMEM, "CREATE_UMEM", in, len, BF_IBGDA_KIND_UMEM, number);
	free(in);
	return rc;
}

/*
 * With thousands of PEs, regions of their own for all the small parts would be more mappings than a process may have
 * (Linux vm.max_map_count: 65530): then a PE's small parts lie in a few larger ones.
 */
static bool shares_region(const struct bf_ibgda_transport *t, enum bf_placement place, uint64_t size)
{
	return t->npes > MANY_PES && size <= CHUNK_BYTES / 4 && (place == BF_PLACE_GPU || place == BF_PLACE_HOST);
}

static int carve(struct bf_ibgda_transport *t, enum bf_placement place, uint64_t size, struct bf_memory *out)
{
	struct bf_ibgda_arena *c = &t->arena[place == BF_PLACE_HOST];
	int rc;

	size = (size + (1u << PAGE_SHIFT) - 1) & ~((1ull << PAGE_SHIFT) - 1);
	if (!c->memory.ptr || size > c->memory.size - c->used) {
		rc = t->be->alloc(t->world, t->pe, place, CHUNK_BYTES, "ibgda", &c->memory);
		if (rc)
			return rc;
		c->used = 0;
	}
	*out =
	    (struct bf_memory){ .ptr = (uint8_t *)c->memory.ptr + c->used, .va = c->memory.va + c->used, .size = size };
	c->used += size;
	return 0;
}

int bf_ibgda_alloc(struct bf_ibgda_transport *t, enum bf_placement place, uint64_t size, const char *name,
		   struct bf_memory *out)
{
	int rc;

	*out = (struct bf_memory){ 0 };
	if (shares_region(t, place, size))
		rc = carve(t, place, size, out);
	else
		rc = t->be->alloc(t->world, t->pe, place, size, name, out);
	if (rc)
		return bf_fail(t->err, rc, "PE %u: no memory for '%s' of %" PRIu64 " bytes", t->pe, name, size);
	t->live[BF_IBGDA_KIND_MEMORY]++;
	return 0;
}

void bf_ibgda_release(struct bf_ibgda_transport *t, struct bf_memory *m)
{
	if (m->ptr)
		t->live[BF_IBGDA_KIND_MEMORY]--;
	*m = (struct bf_memory){ 0 };
}

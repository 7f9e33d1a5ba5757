/* A host of the mlx5 device behind PCI: memory, the command queue in it, a driver that is as simple as can be. */
#ifndef BELFRY_TESTS_MLX5_HCA_RIG_H
#define BELFRY_TESTS_MLX5_HCA_RIG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/mlx5/hca.h"
#include "models/mlx5/prm_hca.h"
#include "models/mlx5/wqe.h"

#define HOST_MEM (4u << 20)
#define HOST_QUEUE 0x1000u  /* where in memory the command queue is */
#define HOST_BOXES 0x10000u /* mailboxes, 1 KiB each; the first half for input */
#define HOST_OUT_BOXES 0x60000u
#define HOST_PAGES 0x100000u  /* free from here on */
#define HOST_IPV4 0xc6336407u /* 198.51.100.7 */
#define HOST_MUST(x)                                                                                                   \
	do {                                                                                                           \
		if (!(x)) {                                                                                            \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                                        \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

struct host {
	struct bf_sim *sim;
	struct bf_fabric *fabric;
	struct bf_space space;
	struct bf_ioas ioas;
	struct bf_region *mem;
	struct bf_mlx5_hca *hca;
	uint64_t used; /* of memory */
	uint32_t irqs[64];
	uint8_t token;
};

static inline void host_irq(void *owner, uint32_t vector)
{
	struct host *h = owner;

	h->irqs[vector % 64]++;
}

static inline uint8_t *host_at(struct host *h, uint64_t iova)
{
	return h->mem->bytes + iova;
}

/* IOVAs are offsets in the memory. */
static inline void host_open(struct host *h)
{
	struct bf_mlx5_opts nic = { .name = "nic0", .profile = &bf_mlx5_instant };

	memset(h, 0, sizeof(*h));
	h->used = HOST_PAGES;
	HOST_MUST(!bf_sim_create(1, &h->sim) && !bf_fabric_create(h->sim, &h->fabric));
	HOST_MUST(!bf_space_init(&h->space, h->sim, "host", 0) && !bf_ioas_init(&h->ioas, h->sim, "guest", BF_PAGE));
	HOST_MUST(!bf_region_create(
	    &h->space, &(struct bf_region_opts){ .name = "memory", .kind = BF_MEM_DRAM, .size = HOST_MEM }, &h->mem));
	HOST_MUST(!bf_ioas_map(&h->ioas, 0, h->mem, 0, HOST_MEM, BF_IOMMU_READ | BF_IOMMU_WRITE));
	nic.space = &h->space;
	nic.ioas = &h->ioas;
	nic.fabric = h->fabric;
	nic.ipv4[0] = HOST_IPV4;
	nic.irq = host_irq;
	nic.irq_owner = h;
	HOST_MUST(!bf_mlx5_hca_create(h->sim, &nic, &h->hca));
	bf_mlx5_hca_bus_master(h->hca, true);
}

static inline void host_close(struct host *h)
{
	bf_mlx5_hca_destroy(h->hca);
	bf_fabric_destroy(h->fabric);
	bf_ioas_fini(&h->ioas);
	bf_space_fini(&h->space);
	bf_sim_destroy(h->sim);
}

static inline uint32_t host_read(struct host *h, uint32_t offset)
{
	uint64_t done, value = bf_mmio_load(bf_mlx5_hca_bar0(h->hca), offset, 4, &done);

	return bf_swap32((uint32_t)value);
}

static inline void host_write(struct host *h, uint32_t offset, uint32_t value)
{
	uint8_t bytes[4];

	bf_put_be32(bytes, value);
	bf_mmio_post(bf_mlx5_hca_bar0(h->hca), offset, bytes, 4);
}

static inline void host_run(struct host *h)
{
	bf_sim_run(h->sim, h->sim->now_ps + 100 * BF_US);
}

static inline struct bf_mlx5_cmd_entry *host_entry(struct host *h, uint32_t slot)
{
	return (void *)host_at(h, HOST_QUEUE + 64ull * slot);
}

static inline struct bf_mlx5_cmd_block *host_box(struct host *h, bool out, uint32_t i)
{
	return (void *)host_at(h, (out ? HOST_OUT_BOXES : HOST_BOXES) + 1024ull * i);
}

static inline uint8_t host_xor(const void *bytes, size_t len)
{
	uint8_t x = 0;

	for (size_t i = 0; i < len; i++)
		x ^= ((const uint8_t *)bytes)[i];
	return x;
}

static inline void host_sign(struct bf_mlx5_cmd_entry *e)
{
	e->signature = 0;
	e->signature = (uint8_t)~host_xor(e, sizeof(*e));
}

/* Chains the mailboxes of a message of `len` bytes; returns where the first is, 0 for none. */
static inline uint64_t host_chain(struct host *h, bool out, const uint8_t *message, size_t len)
{
	uint32_t n = len > BF_CMD_INLINE ? (uint32_t)((len - BF_CMD_INLINE + 511) / 512) : 0;

	for (uint32_t i = 0; i < n; i++) {
		struct bf_mlx5_cmd_block *b = host_box(h, out, i);
		size_t from = BF_CMD_INLINE + 512ull * i, left = len - from;

		memset(b, 0, sizeof(*b));
		if (message)
			memcpy(b->data, message + from, left < 512 ? left : 512);
		b->next = bf_to_be64(i + 1 < n ? (uint64_t)((uint8_t *)host_box(h, out, i + 1) - h->mem->bytes) : 0);
		b->number = bf_to_be32(i);
		b->token = h->token;
	}
	return n ? (uint64_t)((uint8_t *)host_box(h, out, 0) - h->mem->bytes) : 0;
}

/* Puts a command into its entry; nothing is rung. */
static inline struct bf_mlx5_cmd_entry *host_put(struct host *h, uint32_t slot, const void *in, size_t in_len,
						 size_t out_len)
{
	struct bf_mlx5_cmd_entry *e = host_entry(h, slot);

	memset(e, 0, sizeof(*e));
	h->token++;
	e->type = BF_CMD_TYPE_PCI;
	e->in_len = bf_to_be32((uint32_t)in_len);
	e->out_len = bf_to_be32((uint32_t)out_len);
	memcpy(e->in, in, in_len < 16 ? in_len : 16);
	e->in_ptr = bf_to_be64(host_chain(h, false, in, in_len));
	e->out_ptr = bf_to_be64(host_chain(h, true, NULL, out_len));
	e->token = h->token;
	e->status_own = BF_CMD_OWN_HW;
	host_sign(e);
	return e;
}

/* The answer's message; its delivery status, or 0xff while the device has the entry. */
static inline uint8_t host_answer(struct host *h, uint32_t slot, void *out, size_t out_len)
{
	struct bf_mlx5_cmd_entry *e = host_entry(h, slot);

	if (e->status_own & BF_CMD_OWN_HW)
		return 0xff;
	HOST_MUST(host_xor(e, sizeof(*e)) == 0xff);
	memcpy(out, e->out, out_len < 16 ? out_len : 16);
	for (size_t from = 16, i = 0; from < out_len; from += 512, i++)
		memcpy((uint8_t *)out + from, host_box(h, true, (uint32_t)i)->data,
		       out_len - from < 512 ? out_len - from : 512);
	return (uint8_t)(e->status_own >> 1);
}

/* Executes a command in entry 0; its status. */
static inline uint8_t host_cmd(struct host *h, const void *in, size_t in_len, void *out, size_t out_len)
{
	host_put(h, 0, in, in_len, out_len);
	host_write(h, BF_SEG_CMD_DOORBELL, 1);
	host_run(h);
	HOST_MUST(!host_answer(h, 0, out, out_len));
	return *(uint8_t *)out;
}

static inline uint8_t host_simple(struct host *h, uint32_t opcode, uint32_t op_mod, uint32_t number, uint32_t *result)
{
	uint8_t in[16] = { 0 }, out[16], status;

	BF_MLX5_SET(in, BF_CMD_OPCODE, opcode);
	BF_MLX5_SET(in, BF_CMD_OP_MOD, op_mod);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, number);
	status = host_cmd(h, in, sizeof(in), out, sizeof(out));
	if (result)
		*result = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
	return status;
}

static inline uint64_t host_page(struct host *h)
{
	HOST_MUST(h->used + 4096 <= HOST_MEM);
	h->used += 4096;
	return h->used - 4096;
}

static inline void host_queue(struct host *h)
{
	host_write(h, BF_SEG_CMDQ_HIGH, 0);
	host_write(h, BF_SEG_CMDQ_LOW, HOST_QUEUE);
}

static inline uint32_t host_pages_wanted(struct host *h, uint32_t which)
{
	uint8_t in[16] = { 0 }, out[16];

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_PAGES);
	BF_MLX5_SET(in, BF_CMD_OP_MOD, which);
	HOST_MUST(!host_cmd(h, in, sizeof(in), out, sizeof(out)));
	return BF_MLX5_GET(out, BF_QUERY_PAGES_COUNT);
}

static inline uint8_t host_give(struct host *h, uint64_t first, uint32_t n)
{
	size_t len = BF_MANAGE_PAGES_PAS + 8ull * n;
	uint8_t *in = calloc(1, len), out[16], status;

	HOST_MUST(in);
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_MANAGE_PAGES);
	BF_MLX5_SET(in, BF_CMD_OP_MOD, BF_PAGES_GIVE);
	BF_MLX5_SET(in, BF_MANAGE_PAGES_IN_COUNT, n);
	for (uint32_t i = 0; i < n; i++)
		bf_put_be64(in + BF_MANAGE_PAGES_PAS + 8ull * i, first + 4096ull * i);
	status = host_cmd(h, in, len, out, sizeof(out));
	free(in);
	return status;
}

/* From power-on to INIT_HCA, as the kernel's driver goes. */
static inline void host_start(struct host *h)
{
	host_queue(h);
	HOST_MUST(!host_simple(h, BF_MLX5_CMD_ENABLE_HCA, 0, 0, NULL));
	HOST_MUST(!host_give(h, 1ull << 32, host_pages_wanted(h, BF_PAGES_BOOT)));
	HOST_MUST(!host_give(h, 2ull << 32, host_pages_wanted(h, BF_PAGES_INIT)));
	HOST_MUST(!host_simple(h, BF_MLX5_CMD_INIT_HCA, 0, 0, NULL));
}

#endif

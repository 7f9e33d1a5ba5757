/*
 * A host of the mlx5 device behind PCI that may do anything, as bytes. Each step: one byte kind, one byte length L, L
 * bytes.
 *
 *   0-95     a command that begins with the L bytes (zeros follow), well packed, in entry kind modulo 32; it is rung
 * for 96-127   the L bytes over entry kind modulo 32, signed with L even; it is rung for 128-159  L - 2 bytes into
 * mailbox kind modulo 16, of answers from 144 on; at which byte, the first two say 160-191  a store of L - 3 bytes, 8
 * at most, to BAR 0; where, the first three say 192-215  a load likewise, of 1, 2, 4 or 8 bytes 216-239  time passes
 *   240-247  bus mastering goes, or comes (odd ones)
 *   248-255  a reset
 *
 * It begins initialized.
 */
#include "tests/models/mlx5_hca_rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void command(struct host *h, uint32_t slot, const uint8_t *bytes, uint32_t len)
{
	uint8_t in[700] = { 0 };

	memcpy(in, bytes, len);
	host_put(h, slot, in, len & 1 ? sizeof(in) : 272 + 16, slot & 1 ? 600 : 64);
	host_write(h, BF_SEG_CMD_DOORBELL, 1u << slot);
}

static void entry(struct host *h, uint32_t slot, const uint8_t *bytes, uint32_t len)
{
	struct bf_mlx5_cmd_entry *e = host_entry(h, slot);

	memcpy(e, bytes, len < sizeof(*e) ? len : sizeof(*e));
	if (!(len & 1))
		host_sign(e);
	host_write(h, BF_SEG_CMD_DOORBELL, 1u << slot);
}

static void mailbox(struct host *h, uint32_t which, const uint8_t *bytes, uint32_t len)
{
	uint8_t *box = (uint8_t *)host_box(h, which >= 16, which % 16);

	if (len > 2)
		memcpy(box + bf_get_be16(bytes) % 320, bytes + 2, len - 2);
}

static void access_bar(struct host *h, bool store, const uint8_t *bytes, uint32_t len)
{
	struct bf_region *bar = bf_mlx5_hca_bar0(h->hca);
	uint64_t done;

	if (len < 4)
		return;
	if (store)
		bf_mmio_post(bar, bf_get_be24(bytes), bytes + 3, len - 3 < 8 ? len - 3 : 8);
	else
		bf_mmio_load(bar, bf_get_be24(bytes), 1u << (bytes[3] & 3), &done);
}

static void step(struct host *h, uint8_t kind, const uint8_t *bytes, uint32_t len)
{
	if (kind < 96)
		command(h, kind % 32, bytes, len);
	else if (kind < 128)
		entry(h, kind % 32, bytes, len);
	else if (kind < 160)
		mailbox(h, kind % 32, bytes, len);
	else if (kind < 216)
		access_bar(h, kind < 192, bytes, len);
	else if (kind < 240)
		bf_sim_run(h->sim, h->sim->now_ps + (uint64_t)(kind - 215) * BF_US);
	else if (kind < 248)
		bf_mlx5_hca_bus_master(h->hca, kind & 1);
	else
		bf_mlx5_hca_reset(h->hca);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct host h;

	host_open(&h);
	host_start(&h);
	for (size_t at = 0; at + 2 <= size;) {
		const uint8_t kind = data[at];
		uint32_t len = data[at + 1];

		at += 2;
		if (len > size - at)
			len = (uint32_t)(size - at);
		step(&h, kind, data + at, len);
		at += len;
	}
	bf_sim_run(h.sim, h.sim->now_ps + BF_MS);
	host_close(&h);
	return 0;
}

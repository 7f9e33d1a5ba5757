/* The model: doorbell, fetch, decode, execute, complete, in this order. One entry at a time. */
#include "ring64.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/iommu.h"
#include "sim/mem.h"
#include "sim/pcie.h"

#define BF_RECORDS_DEF "ring64.def"
#include "sim/record_define.h"

struct ring64 {
	struct bf_sim *sim;
	struct bf_link link;
	struct bf_dma_port port;
	struct bf_region *bar;
	uint32_t actor; /* the queue */
	uint64_t base, completions;
	uint32_t entries;
	uint64_t produced, fetched; /* entries, since the start */
	bool busy;
	struct bf_dma_op op;
	uint8_t entry[RING64_ENTRY], data[RING64_MAX];
};

/* Complete. */
static void fetch(struct ring64 *d);

static void complete(struct ring64 *d, uint32_t status)
{
	const uint64_t index = d->fetched++;
	uint8_t cqe[RING64_CQE];

	bf_put_le32(cqe + RING64_CQE_STATUS, status);
	bf_put_le32(cqe + RING64_CQE_COUNT, (uint32_t)index + 1);
	BF_EMIT(d->sim, d->actor, ring64_completion, .index = index, .status = status);
	/* Posted writes land in order: never before the data. */
	bf_dma_write(&d->port, d->completions + index % d->entries * RING64_CQE, cqe, sizeof(cqe), 0);
	d->busy = false;
	fetch(d);
}

/* Decode and execute. */
static void have_data(struct bf_dma_op *op)
{
	struct ring64 *d = BF_CONTAINER_OF(op, struct ring64, op);
	const uint32_t bytes = bf_get_le32(d->entry + RING64_BYTES);

	if (op->status || bf_dma_write(&d->port, bf_get_le64(d->entry + RING64_DST), d->data, bytes, 0))
		complete(d, RING64_FAULT);
	else
		complete(d, RING64_OK);
}

static void have_entry(struct bf_dma_op *op)
{
	struct ring64 *d = BF_CONTAINER_OF(op, struct ring64, op);
	const uint32_t opcode = bf_get_le32(d->entry + RING64_OPCODE), bytes = bf_get_le32(d->entry + RING64_BYTES);

	if (op->status) {
		complete(d, RING64_FAULT);
		return;
	}
	BF_EMIT(d->sim, d->actor, ring64_fetch, .index = d->fetched, .address = op->iova,
		.slot = (uint32_t)(d->fetched % d->entries), .entry_bytes = RING64_ENTRY, .opcode = opcode,
		.bytes = bytes);
	if (opcode != RING64_OP_COPY || !bytes || bytes > RING64_MAX) {
		complete(d, RING64_BAD);
		return;
	}
	d->op = (struct bf_dma_op){
		.iova = bf_get_le64(d->entry + RING64_SRC), .len = bytes, .dst = d->data, .done = have_data
	};
	bf_dma_read(&d->port, &d->op);
}

/* Fetch. */
static void fetch(struct ring64 *d)
{
	if (d->busy || d->fetched >= d->produced || !d->entries)
		return;
	d->busy = true;
	d->op = (struct bf_dma_op){ .iova = d->base + d->fetched % d->entries * RING64_ENTRY,
				    .len = RING64_ENTRY,
				    .dst = d->entry,
				    .done = have_entry };
	bf_dma_read(&d->port, &d->op);
}

/* Doorbell. */
static void on_store(struct bf_region *bar, uint64_t offset, const void *data, uint32_t len)
{
	struct ring64 *d = bar->owner;
	const uint64_t value = len == 8 ? bf_get_le64(data) : len == 4 ? bf_get_le32(data) : 0;

	if (offset == RING64_REG_BASE) {
		d->base = value;
	} else if (offset == RING64_REG_COMPLETIONS) {
		d->completions = value;
	} else if (offset == RING64_REG_ENTRIES) {
		d->entries = (uint32_t)value;
		d->produced = d->fetched = 0;
		BF_EMIT(d->sim, d->actor, ring64_queue, .base = d->base, .completions = d->completions,
			.entries = d->entries, .entry_bytes = RING64_ENTRY);
	} else if (offset == RING64_REG_DOORBELL) {
		BF_EMIT(d->sim, d->actor, ring64_doorbell, .before = d->produced, .index = value,
			.completed = d->fetched, .entries = d->entries);
		d->produced = value > d->produced ? value : d->produced;
		fetch(d);
	} /* Other stores are ignored. */
}

/* The device in a PE. */
static void close_device(void *device)
{
	struct ring64 *d = device;

	if (d->bar)
		bf_region_destroy(d->bar);
	if (d->port.sim)
		bf_dma_port_fini(&d->port);
	if (d->link.sim)
		bf_link_fini(&d->link);
	free(d);
}

static int open_device(const struct bf_device_place *at, const void *opts, void **out)
{
	static const struct bf_mmio_ops ops = { .write = on_store };
	struct ring64 *d = calloc(1, sizeof(*d));
	char name[32];
	struct bf_region_opts bar = { .name = name, .kind = BF_MEM_MMIO, .size = 4096, .mmio = &ops, .owner = d };
	int rc;

	(void)opts;
	if (!d)
		return -ENOMEM;
	d->sim = at->sim;
	bar.link = &d->link;
	snprintf(name, sizeof(name), "ring%u", at->pe);
	rc = bf_link_init(&d->link, d->sim, name, &bf_link_profile_gen5_x16);
	if (!rc)
		rc = bf_dma_port_init(&d->port, d->sim, name, &d->link, at->ioas);
	if (!rc)
		rc = bf_region_create(at->space, &bar, &d->bar);
	if (rc) {
		close_device(d);
		return rc;
	}
	snprintf(name, sizeof(name), "ring%u.r0", at->pe);
	d->actor = bf_stream_actor(&d->sim->rec, "queue", name);
	*out = d;
	return 0;
}

const struct bf_device_model ring64_model = { .open = open_device, .close = close_device };

void *ring64_registers(const struct ring64 *dev)
{
	return dev->bar->bytes;
}

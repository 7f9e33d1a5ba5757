/*
 * Data between host memory and the device, along a command's data pointer.
 *
 * A walk (data_prp.c, data_sgl.c) turns the pointer into runs of contiguous addresses and says when it needs the next
 * piece of a list. Bytes for the host leave as posted writes, which need no waiting: the completion cannot overtake
 * them. Reads of the host's bytes are started as far as the list at hand reaches and waited for together.
 */
#include "models/nvme/device_internal.h"

#include <assert.h>
#include <stdlib.h>

enum { PLACE_UNKNOWN, PLACE_HOST, PLACE_CMB };

static uint8_t *at_bytes(struct bf_nvme_rq *rq, uint64_t offset, uint64_t *run)
{
	(void)run;
	return rq->data.bytes + (offset - rq->data.begin);
}

static uint32_t begin(struct bf_nvme_rq *rq)
{
	struct bf_nvme_data_state *d = &rq->data;
	uint64_t psdt = BF_FIELD_GET(BF_NVME_PSDT, rq->sqe.flags);

	d->begun = true;
	/* Admin commands over PCIe use PRPs only (Base specification, section 4.1.2). */
	if (psdt > BF_NVME_PSDT_SGL_META || (psdt && !rq->sqid))
		return bf_nvme_bad_field(rq, 1, 6);
	d->walk = psdt ? &bf_nvme_sgl_walk : &bf_nvme_prp_walk;
	return d->walk->begin(rq);
}

/* All data of a command lie in the controller memory buffer or none do (CMBLOC.CDMMMS is 0). */
static uint32_t check_place(struct bf_nvme_rq *rq, uint64_t iova, uint64_t len)
{
	struct bf_nvme_data_state *d = &rq->data;
	bool in = bf_nvme_in_cmb(rq->dev, iova);
	uint8_t place = in ? PLACE_CMB : PLACE_HOST;

	if (d->place == PLACE_UNKNOWN)
		d->place = place;
	if (place != d->place || bf_nvme_in_cmb(rq->dev, iova + len - 1) != in)
		return BF_NVME_SC_CMB_USE | BF_NVME_DNR;
	return 0;
}

/* Moves what device and host have together of the run at hand. */
static uint32_t move(struct bf_nvme_rq *rq)
{
	struct bf_nvme_data_state *d = &rq->data;
	uint64_t run = d->run_len < d->end - d->issued ? d->run_len : d->end - d->issued;
	uint32_t status = 0;
	uint8_t *bytes;

	if (!d->bucket) {
		if (BF_UNLIKELY(rq->dev->cmb_size))
			status = check_place(rq, d->run_iova, run);
		if (status)
			return status;
		bytes = d->at(rq, d->issued, &run);
		if (!bytes)
			return bf_nvme_no_memory(rq->dev);
		if (d->dir == BF_NVME_FROM_HOST)
			bf_nvme_read(rq, d->run_iova, bytes, (uint32_t)run);
		else
			status = (d->lend ? bf_nvme_lend : bf_nvme_write)(rq, d->run_iova, bytes, (uint32_t)run);
	}
	d->run_iova += run;
	d->run_len -= run;
	d->issued += run;
	return status;
}

static uint32_t make_list(struct bf_nvme_rq *rq)
{
	rq->data.list = malloc(BF_NVME_LIST_BYTES);
	return rq->data.list ? 0 : bf_nvme_no_memory(rq->dev);
}

static void reads_back(struct bf_nvme_rq *rq, uint32_t status);

/*
 * Goes on until there is something to wait for. True when that is over already (lists in the controller memory buffer):
 * then the caller goes on here, and a chain of lists takes no stack.
 */
static bool step(struct bf_nvme_rq *rq)
{
	struct bf_nvme_data_state *d = &rq->data;

	while (!d->status && !d->fetch && d->issued < d->end)
		d->status = d->run_len ? move(rq) : d->walk->next(rq);
	if (!d->status && d->fetch && BF_UNLIKELY(!d->list))
		d->status = make_list(rq);
	if (d->status)
		d->fetch = 0;
	if (d->fetch)
		bf_nvme_read(rq, d->list_iova, d->list, d->fetch);
	else if (d->dir == BF_NVME_TO_HOST)
		return true;
	d->calling = true;
	d->returned = false;
	bf_nvme_reads(rq, reads_back);
	d->calling = false;
	return d->returned;
}

/* The list that the walk waited for is here. */
static void take_list(struct bf_nvme_rq *rq)
{
	struct bf_nvme_data_state *d = &rq->data;

	if (!d->status)
		d->status = d->walk->filled(rq);
	d->fetch = 0;
}

static void pump(struct bf_nvme_rq *rq)
{
	struct bf_nvme_data_state *d = &rq->data;

	while (step(rq)) {
		if (d->fetch)
			take_list(rq);
		if (d->status || d->issued == d->end) {
			rq->data_ps += rq->dev->sim->now_ps - d->start_ps;
			if (d->dir == BF_NVME_TO_HOST)
				rq->data_end_ps = rq->dev->link.posted_ps;
			d->done(rq, d->status);
			return;
		}
	}
}

static void reads_back(struct bf_nvme_rq *rq, uint32_t status)
{
	struct bf_nvme_data_state *d = &rq->data;

	if (status && !d->status)
		d->status = status;
	d->returned = true;
	if (d->calling)
		return;
	if (d->fetch)
		take_list(rq);
	pump(rq);
}

void bf_nvme_data_at(struct bf_nvme_rq *rq, enum bf_nvme_dir dir, bf_nvme_at_fn *at, uint64_t len,
		     bf_nvme_done_fn *done)
{
	struct bf_nvme_data_state *d = &rq->data;

	d->at = at;
	d->dir = (uint8_t)dir;
	d->done = done;
	d->begin = d->issued = d->end;
	d->end += len;
	d->start_ps = rq->dev->sim->now_ps;
	if (!d->begun) {
		if (!d->total)
			d->total = len;
		d->status = begin(rq);
	}
	assert(d->end <= d->total);
	pump(rq);
}

void bf_nvme_data(struct bf_nvme_rq *rq, enum bf_nvme_dir dir, void *bytes, uint64_t len, bf_nvme_done_fn *done)
{
	rq->data.bytes = bytes;
	bf_nvme_data_at(rq, dir, at_bytes, len, done);
}

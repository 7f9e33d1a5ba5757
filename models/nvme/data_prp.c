/*
 * Physical region pages (Base specification, section 4.1.1, "Physical Region Page Entry and List").
 *
 * PRP1 is the first page, with an offset. What is left after it is described by PRP2: a page if that is enough, else a
 * list of pages. When more pages remain than a list page has entries, its last entry points to the next list page.
 */
#include "models/nvme/device_internal.h"

enum { STEP_PAGE, STEP_LIST };

#define LIST_ENTRIES (BF_NVME_LIST_BYTES / 8)

static uint64_t page_of(const struct bf_nvme_rq *rq)
{
	return 1ull << rq->dev->page_shift;
}

static void set_run(struct bf_nvme_data_state *d, uint64_t iova, uint64_t len)
{
	d->run_iova = iova;
	d->run_len = len;
	d->covered += len;
}

static uint32_t prp_begin(struct bf_nvme_rq *rq)
{
	struct bf_nvme_data_state *d = &rq->data;
	const uint64_t page = page_of(rq), prp1 = bf_le64(rq->sqe.prp1), prp2 = bf_le64(rq->sqe.prp2);
	const uint64_t first = page - (prp1 & (page - 1));

	if (prp1 & 3)
		return BF_NVME_SC_PRP_OFFSET | BF_NVME_DNR;
	set_run(d, prp1, first < d->total ? first : d->total);
	if (d->covered == d->total)
		return 0;
	d->step = d->total - d->covered <= page ? STEP_PAGE : STEP_LIST;
	d->list_iova = prp2;
	/* A page starts at its beginning, the list may start anywhere in its page. */
	if (prp2 & (d->step == STEP_PAGE ? page - 1 : 7))
		return BF_NVME_SC_PRP_OFFSET | BF_NVME_DNR;
	return 0;
}

/* Pages that are still to come, and entries from the next one to fetch to the end of its list page. */
static uint64_t pages_left(const struct bf_nvme_rq *rq)
{
	return (rq->data.total - rq->data.covered + page_of(rq) - 1) >> rq->dev->page_shift;
}

static uint64_t slots_left(const struct bf_nvme_rq *rq)
{
	return (page_of(rq) - (rq->data.list_iova & (page_of(rq) - 1))) / 8;
}

static uint64_t entry(const struct bf_nvme_data_state *d, uint32_t i)
{
	return bf_get_le64(d->list + (size_t)i * 8);
}

/* The next page and those that happen to continue it. */
static void take_entries(struct bf_nvme_rq *rq)
{
	struct bf_nvme_data_state *d = &rq->data;
	const uint64_t iova = entry(d, d->list_at), page = page_of(rq), left = d->total - d->covered;
	uint64_t len = 0;

	while (d->list_at < d->list_count && len < left && entry(d, d->list_at) == iova + len) {
		len += page;
		d->list_at++;
	}
	set_run(d, iova, len < left ? len : left);
}

static uint32_t prp_next(struct bf_nvme_rq *rq)
{
	struct bf_nvme_data_state *d = &rq->data;
	uint64_t n = LIST_ENTRIES;

	if (d->step == STEP_PAGE) {
		set_run(d, d->list_iova, d->total - d->covered);
	} else if (d->list_at < d->list_count) {
		take_entries(rq);
	} else {
		n = n < pages_left(rq) ? n : pages_left(rq);
		n = n < slots_left(rq) ? n : slots_left(rq);
		d->fetch = (uint32_t)n * 8;
	}
	return 0;
}

static uint32_t prp_filled(struct bf_nvme_rq *rq)
{
	struct bf_nvme_data_state *d = &rq->data;
	const uint32_t n = d->fetch / 8;
	const bool chained = n == slots_left(rq) && pages_left(rq) > n;

	for (uint32_t i = 0; i < n; i++)
		if (entry(d, i) & (page_of(rq) - 1))
			return BF_NVME_SC_PRP_OFFSET | BF_NVME_DNR;
	d->list_at = 0;
	d->list_count = chained ? n - 1 : n;
	d->list_iova = chained ? entry(d, n - 1) : d->list_iova + d->fetch;
	return 0;
}

const struct bf_nvme_walk bf_nvme_prp_walk = { .begin = prp_begin, .next = prp_next, .filled = prp_filled };

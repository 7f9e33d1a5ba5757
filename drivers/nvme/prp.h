/*
 * NVMe, beside step 1: where the data lies, as physical region pages (Base specification, section 4.1.1, "Physical
 * Region Page Entry and List").
 *
 * PRP1 may begin anywhere in its page (dword aligned). One more page goes into PRP2; more of them into a list, to which
 * PRP2 points and which may begin anywhere in its page (qword aligned). The last slot of a list's page is a pointer to
 * the next page of the list as long as more than one data page is left; when exactly one is left it is that page.
 */
#ifndef BELFRY_DRIVERS_NVME_PRP_H
#define BELFRY_DRIVERS_NVME_PRP_H

#include "drivers/nvme/cmd.h"

/*
 * Data in pages of the controller's size, `step` apart from each other (a page, for contiguous memory; minus a page,
 * for memory that runs the other way), the first of them entered at `first`.
 */
struct bf_nvme_drv_pages {
	uint64_t first; /* I/O address of the first byte */
	int64_t step;
};

/* I/O address of page `i` of the data, its beginning from 1 on. */
BF_DEVICE uint64_t bf_nvme_drv_page_at(const struct bf_nvme_drv_ctrl *ctrl, const struct bf_nvme_drv_pages *p,
				       uint32_t i)
{
	const uint64_t base =
	    i && !(ctrl->bugs & BF_NVME_DRV_BUG_PRP_OFFSETS) ? p->first & ~(uint64_t)(ctrl->page - 1) : p->first;

	return base + (uint64_t)((int64_t)i * p->step);
}

/* Pages that `bytes` of data touch, PRP1's included. */
BF_DEVICE uint32_t bf_nvme_drv_page_count(const struct bf_nvme_drv_ctrl *ctrl, uint64_t first, uint64_t bytes)
{
	return (uint32_t)(((first & (ctrl->page - 1)) + bytes + ctrl->page - 1) / ctrl->page);
}

/* Bytes of list that `pages` pages of data need, when the list begins `offset` bytes into a page. */
BF_DEVICE uint64_t bf_nvme_drv_list_bytes(const struct bf_nvme_drv_ctrl *ctrl, uint32_t pages, uint32_t offset)
{
	const uint32_t slots = ctrl->page / 8;
	uint32_t room = slots - offset / 8;
	uint64_t bytes = 0;

	if (pages <= 2)
		return 0;
	for (pages--; pages > room; room = slots) { /* one slot of each full page is the chain's */
		bytes += (uint64_t)room * 8;
		pages -= room - 1;
	}
	return bytes + (uint64_t)pages * 8;
}

/* Fills a list with pages 1 to `pages` - 1 of the data. `list` is contiguous, also over its pages. */
BF_DEVICE void bf_nvme_drv_list_store(struct bf_thread *t, const struct bf_nvme_drv_ctrl *ctrl,
				      const struct bf_nvme_drv_pages *data, uint32_t pages,
				      const struct bf_nvme_drv_room *list)
{
	uint64_t at = 0;

	for (uint32_t i = 1; i < pages; i++, at += 8) {
		const uint64_t next = list->ioaddr + at + 8;

		if ((next & (ctrl->page - 1)) == 0 && i + 1 < pages && !(ctrl->bugs & BF_NVME_DRV_BUG_PRP_NO_CHAIN)) {
			bf_st_weak64(t, list->vaddr + at, next);
			at += 8;
		}
		bf_st_weak64(t, list->vaddr + at, bf_nvme_drv_page_at(ctrl, data, i));
	}
}

/*
 * Gives the command its data pointer for `bytes` bytes; the list goes into `list` when there must be one. Returns 0, or
 * BF_NVME_DRV_FULL when it is too small for it.
 */
BF_DEVICE int bf_nvme_drv_prp(struct bf_thread *t, const struct bf_nvme_drv_ctrl *ctrl, struct bf_nvme_drv_cmd *c,
			      const struct bf_nvme_drv_pages *data, uint64_t bytes, const struct bf_nvme_drv_room *list)
{
	const uint32_t pages = bf_nvme_drv_page_count(ctrl, data->first, bytes);
	const uint32_t offset = (uint32_t)list->ioaddr & (ctrl->page - 1);

	if (pages <= 2) {
		bf_nvme_drv_cmd_data(c, data->first, pages == 2 ? bf_nvme_drv_page_at(ctrl, data, 1) : 0);
		return 0;
	}
	if (bf_nvme_drv_list_bytes(ctrl, pages, offset) > list->bytes)
		return BF_NVME_DRV_FULL;
	bf_nvme_drv_list_store(t, ctrl, data, pages, list);
	bf_nvme_drv_cmd_data(c, data->first,
			     ctrl->bugs & BF_NVME_DRV_BUG_PRP_LIST_OFFSET ? list->ioaddr - offset : list->ioaddr);
	return 0;
}

#endif

/*
 * Firmware Image Download and Commit, the slots and their log page (Base specification, sections 5.13, 5.12, 5.16.1.4).
 *
 * There are three slots; the first holds what the controller was made with and cannot be written. An image is any
 * number of dwords that begins with its revision, eight printable characters, which is what Identify FR then shows.
 */
#include "models/nvme/device_internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#define SLOTS 3u
#define REVISION 8u
#define IMAGE_MAX (4u << 20) /* most bytes of an image: assumed */
#define RANGES 64u           /* pieces of a download that do not join: more are refused */

BF_STATIC_ASSERT((BF_NVME_FRMW >> 1 & 7) == SLOTS, "Identify FRMW says how many slots there are");

enum { REPLACE, REPLACE_ACTIVATE, ACTIVATE, ACTIVATE_NOW };

struct range {
	uint32_t start, end;
};

struct bf_nvme_firmware {
	char slots[SLOTS][REVISION + 1]; /* revision; empty: nothing there */
	uint32_t active, next;           /* 1-based; next: at a reset, 0 if nothing changes */
	struct range ranges[RANGES];     /* bytes downloaded since the last commit */
	uint32_t nranges;
	uint8_t head[REVISION]; /* the image's first bytes, all that is kept of it */
};

int bf_nvme_firmware_open(struct bf_nvme *dev)
{
	dev->firmware = calloc(1, sizeof(*dev->firmware));
	if (!dev->firmware)
		return bf_fail(&dev->sim->error, -ENOMEM, "%s: no memory", dev->name);
	memcpy(dev->firmware->slots[0], "BELFRY1 ", REVISION);
	dev->firmware->active = 1;
	return 0;
}

void bf_nvme_firmware_close(struct bf_nvme *dev)
{
	free(dev->firmware);
}

const char *bf_nvme_firmware_revision(const struct bf_nvme *dev)
{
	return dev->firmware->slots[dev->firmware->active - 1];
}

/* A controller reset activates what was committed for it and forgets a download that was not. */
void bf_nvme_firmware_reset(struct bf_nvme *dev)
{
	struct bf_nvme_firmware *fw = dev->firmware;

	if (!fw)
		return;
	if (fw->next)
		fw->active = fw->next;
	fw->next = 0;
	fw->nranges = 0;
}

void bf_nvme_firmware_log(const struct bf_nvme *dev, uint8_t *page)
{
	const struct bf_nvme_firmware *fw = dev->firmware;

	page[0] = (uint8_t)(fw->active | fw->next << 4);
	for (uint32_t i = 0; i < SLOTS; i++)
		memcpy(page + 8 + 8 * i, fw->slots[i], REVISION);
}

/* Download. ------------------------------------------------------------------------------------------------------ */

/* Adds [start, end), joined with the piece that ends where it starts. */
static uint32_t add_range(struct bf_nvme_firmware *fw, uint32_t start, uint32_t end)
{
	for (uint32_t i = 0; i < fw->nranges; i++)
		if (start < fw->ranges[i].end && fw->ranges[i].start < end)
			return BF_NVME_SC_OVERLAP | BF_NVME_DNR;
	for (uint32_t i = 0; i < fw->nranges; i++) {
		if (fw->ranges[i].end == start) {
			fw->ranges[i].end = end;
			return 0;
		}
	}
	if (fw->nranges == RANGES)
		return BF_NVME_SC_FW_IMAGE | BF_NVME_DNR;
	fw->ranges[fw->nranges++] = (struct range){ start, end };
	return 0;
}

static void downloaded(struct bf_nvme_rq *rq, uint32_t status)
{
	struct bf_nvme_firmware *fw = rq->dev->firmware;
	uint32_t start = bf_le32(rq->sqe.cdw11) * 4;

	if (!status)
		status = add_range(fw, start, start + rq->buf_len);
	for (uint32_t i = 0; !status && i < rq->buf_len && start + i < REVISION; i++)
		fw->head[start + i] = rq->buf[i];
	bf_nvme_complete(rq, status);
}

void bf_nvme_firmware_download(struct bf_nvme_rq *rq)
{
	uint64_t len = (bf_le32(rq->sqe.cdw10) + 1ull) * 4, start = bf_le32(rq->sqe.cdw11) * 4ull;
	uint32_t mdts = rq->dev->profile.mdts;

	if ((mdts && len > 4096ull << mdts) || start + len > IMAGE_MAX)
		bf_nvme_complete(rq, bf_nvme_bad_field(rq, 40, 0));
	else if (bf_nvme_admin_buf(rq, (uint32_t)len))
		bf_nvme_data(rq, BF_NVME_FROM_HOST, rq->buf, len, downloaded);
}

/* Commit. -------------------------------------------------------------------------------------------------------- */

static bool image_is_whole(const struct bf_nvme_firmware *fw)
{
	uint64_t bytes = 0, end = 0;

	for (uint32_t i = 0; i < fw->nranges; i++) {
		bytes += fw->ranges[i].end - fw->ranges[i].start;
		end = fw->ranges[i].end > end ? fw->ranges[i].end : end;
	}
	for (uint32_t i = 0; i < REVISION; i++)
		if (fw->head[i] < ' ' || fw->head[i] > '~')
			return false;
	return bytes && bytes == end;
}

/* Slot 0 leaves the choice to the controller: an empty one, else one that is not running. */
static uint32_t choose_slot(const struct bf_nvme_firmware *fw)
{
	for (uint32_t i = 2; i <= SLOTS; i++)
		if (!fw->slots[i - 1][0])
			return i;
	return fw->active == 2 ? 3 : 2;
}

static uint32_t commit(struct bf_nvme_firmware *fw, uint32_t slot, uint32_t action)
{
	bool replaces = action == REPLACE || action == REPLACE_ACTIVATE || (action == ACTIVATE_NOW && fw->nranges);

	if (action > ACTIVATE_NOW)
		return BF_NVME_SC_INVALID_FIELD | BF_NVME_DNR; /* boot partitions: there are none */
	if (slot > SLOTS || (slot == 1 && replaces) || (!slot && action == ACTIVATE))
		return BF_NVME_SC_FW_SLOT | BF_NVME_DNR;
	if (replaces && !image_is_whole(fw))
		return BF_NVME_SC_FW_IMAGE | BF_NVME_DNR;
	if (!slot)
		slot = choose_slot(fw);
	if (!replaces && !fw->slots[slot - 1][0])
		return BF_NVME_SC_FW_IMAGE | BF_NVME_DNR;
	if (replaces)
		memcpy(fw->slots[slot - 1], fw->head, REVISION);
	fw->nranges = 0;
	if (action == ACTIVATE_NOW) {
		fw->active = slot;
		fw->next = 0;
	} else if (action != REPLACE) {
		fw->next = slot;
	}
	return 0;
}

void bf_nvme_firmware_commit(struct bf_nvme_rq *rq)
{
	uint32_t cdw10 = bf_le32(rq->sqe.cdw10);

	bf_nvme_complete(rq, commit(rq->dev->firmware, cdw10 & 7, cdw10 >> 3 & 7));
}

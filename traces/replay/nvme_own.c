#include "traces/replay/nvme_own.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "traces/replay/nvme_host_internal.h"

struct bf_nvme_replay_own_host {
	struct bf_sim *sim;
	struct bf_nvme_replay_host host;
};

int bf_nvme_replay_own_open(struct bf_nvme_replay_own_host **out, struct bf_error *err)
{
	struct bf_nvme_replay_own_host *h = calloc(1, sizeof(*h));
	int rc = h ? bf_sim_create(1, &h->sim) : -ENOMEM;

	*out = NULL;
	if (rc) {
		free(h);
		return bf_fail(err, rc, "out of memory");
	}
	rc = bf_nvme_replay_host_init(&h->host, h->sim, 0, "nvme", &bf_nvme_instant, NULL, 0);
	if (!rc)
		rc = bf_nvme_replay_host_prepare(&h->host);
	if (rc) {
		bf_fail(err, rc, "%s", h->sim->error.text);
		bf_nvme_replay_own_close(h);
		return rc;
	}
	*out = h;
	return 0;
}

void bf_nvme_replay_own_close(struct bf_nvme_replay_own_host *h)
{
	bf_nvme_replay_host_fini(&h->host);
	bf_sim_destroy(h->sim);
	free(h);
}

uint64_t bf_nvme_replay_own_read(struct bf_nvme_replay_own_host *h, uint32_t offset, uint32_t len)
{
	return bf_nvme_replay_host_read(&h->host, offset, len);
}

void bf_nvme_replay_own_write(struct bf_nvme_replay_own_host *h, uint32_t offset, uint64_t value, uint32_t len)
{
	if (offset < BF_NVME_AQA || offset >= BF_NVME_CMBLOC)
		bf_nvme_replay_host_write(&h->host, offset, value, len);
	bf_sim_run(h->sim, BF_NEVER);
}

/* One admin command that brings `len` bytes. */
static int fetch(struct bf_nvme_replay_own_host *h, uint8_t opcode, uint32_t nsid, uint32_t cdw10, uint8_t *out,
		 size_t len, struct bf_error *err)
{
	struct bf_nvme_sqe sqe = { .opcode = opcode, .nsid = bf_to_le32(nsid), .cdw10 = bf_to_le32(cdw10) };
	struct bf_nvme_cqe cqe;

	bf_nvme_replay_host_data(&h->host, &sqe, BF_PAGE);
	bf_nvme_replay_host_post(&h->host, 0, &sqe);
	if (!bf_nvme_replay_host_poll(&h->host, 0, &cqe))
		return bf_fail(err, -EIO, "command 0x%02x of the model's host did not end", opcode);
	if (!out)
		return 0;
	if (bf_le16(cqe.status) >> 1)
		return bf_fail(err, -EIO, "command 0x%02x of the model's host ended with 0x%x", opcode,
			       bf_le16(cqe.status) >> 1);
	memcpy(out, h->host.scratch->bytes, len);
	return 0;
}

static uint32_t log_page(uint32_t id, size_t len)
{
	return id | (uint32_t)(len / 4 - 1) << 16;
}

int bf_nvme_replay_own_texts(uint8_t out[BF_NVME_TEXTS][4096], struct bf_error *err)
{
	const size_t smart = bf_nvme_text_size(BF_NVME_TEXT_SMART), entry = bf_nvme_text_size(BF_NVME_TEXT_ERROR);
	struct bf_nvme_replay_own_host *h;
	int rc = bf_nvme_replay_own_open(&h, err);

	if (rc)
		return rc;
	rc = bf_nvme_replay_host_enable(&h->host);
	if (rc)
		bf_fail(err, rc, "%s", h->sim->error.text);
	if (!rc)
		rc = fetch(h, BF_NVME_ADM_IDENTIFY, 0, 1, out[BF_NVME_TEXT_ID_CTRL], 4096, err);
	if (!rc)
		rc = fetch(h, BF_NVME_ADM_IDENTIFY, 1, 0, out[BF_NVME_TEXT_ID_NS], 4096, err);
	if (!rc)
		rc = fetch(h, BF_NVME_ADM_GET_LOG, BF_NVME_NSID_ALL, log_page(2, smart), out[BF_NVME_TEXT_SMART], smart,
			   err);
	if (!rc)
		rc = fetch(h, 0xbf, 0, 0, NULL, 0, err);
	if (!rc)
		rc = fetch(h, BF_NVME_ADM_GET_LOG, BF_NVME_NSID_ALL, log_page(1, entry), out[BF_NVME_TEXT_ERROR], entry,
			   err);
	memcpy(out[BF_NVME_TEXT_SMART_JSON], out[BF_NVME_TEXT_SMART], smart);
	bf_nvme_replay_own_close(h);
	return rc;
}

/*
 * Device Self-test and its log page (Base specification, sections 5.9 and 5.16.1.7). A test takes its time and finds
 * nothing. A controller reset ends a short one; an extended one goes on.
 */
#include "models/nvme/device_internal.h"

#define SHORT_PS (2 * BF_S) /* assumed; two minutes are allowed */
#define EXTENDED_PS (BF_NVME_SELF_TEST_MINUTES * 60 * BF_S)
#define RESULT 28u
#define RESULTS 20u

enum { NONE = 0, SHORT = 1, EXTENDED = 2, ABORT = 0xf };
enum { PASSED = 0, BY_COMMAND = 1, BY_RESET = 2 };

BF_STATIC_ASSERT(BF_NVME_SELF_TEST_LOG == 4 + RESULTS * RESULT, "self-test log page");

/* A result: code 3:0 and kind 7:4, then power-on hours at 4, namespace at 12. The newest comes first. */
static void finish(struct bf_nvme *dev, uint32_t code)
{
	uint8_t *first = dev->selftest + 4, kind = dev->selftest[0];

	memmove(first + RESULT, first, (RESULTS - 1) * RESULT);
	memset(first, 0, RESULT);
	first[0] = (uint8_t)(code | (uint32_t)kind << 4);
	first[2] = 1; /* the namespace is valid */
	bf_put_le64(first + 4, dev->sim->now_ps / (3600 * BF_S));
	bf_put_le32(first + 12, dev->selftest_nsid);
	dev->selftest[0] = NONE;
	bf_sim_cancel(dev->sim, &dev->selftest_event);
}

static void on_end(struct bf_event *ev)
{
	finish(BF_CONTAINER_OF(ev, struct bf_nvme, selftest_event), PASSED);
}

void bf_nvme_self_test_init(struct bf_nvme *dev)
{
	bf_event_init(&dev->selftest_event, on_end);
	for (uint32_t i = 0; i < RESULTS; i++)
		dev->selftest[4 + i * RESULT] = 0xf; /* entry not used */
}

void bf_nvme_self_test_reset(struct bf_nvme *dev)
{
	if (dev->selftest[0] == SHORT)
		finish(dev, BY_RESET);
}

void bf_nvme_self_test_log(const struct bf_nvme *dev, uint8_t *page)
{
	uint64_t total = dev->selftest[0] == SHORT ? SHORT_PS : EXTENDED_PS;

	memcpy(page, dev->selftest, sizeof(dev->selftest));
	if (dev->selftest[0])
		page[1] = (uint8_t)((dev->sim->now_ps - dev->selftest_ps) / (total / 100));
}

void bf_nvme_self_test(struct bf_nvme_rq *rq)
{
	struct bf_nvme *dev = rq->dev;
	uint32_t kind = bf_le32(rq->sqe.cdw10) & 0xf, nsid = bf_le32(rq->sqe.nsid), status = 0;

	if (kind == ABORT) {
		if (dev->selftest[0])
			finish(dev, BY_COMMAND);
	} else if (kind != SHORT && kind != EXTENDED) {
		status = bf_nvme_bad_field(rq, 40, 0);
	} else if (nsid && nsid != BF_NVME_NSID_ALL && !bf_nvme_ns_find(dev, nsid)) {
		status = BF_NVME_SC_INVALID_NS_OR_FORMAT | BF_NVME_DNR;
	} else if (dev->selftest[0]) {
		status = BF_NVME_SC_SELF_TEST_IN_PROGRESS | BF_NVME_DNR;
	} else {
		dev->selftest[0] = (uint8_t)kind;
		dev->selftest_nsid = nsid;
		dev->selftest_ps = dev->sim->now_ps;
		bf_sim_after(dev->sim, &dev->selftest_event, kind == SHORT ? SHORT_PS : EXTENDED_PS);
	}
	bf_nvme_complete(rq, status);
}

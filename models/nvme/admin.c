/*
 * Admin commands: what each opcode does, what the data buffer of one is, and the small ones.
 */
#include "models/nvme/device_internal.h"

#include <stdlib.h>

uint8_t *bf_nvme_admin_buf(struct bf_nvme_rq *rq, uint32_t len)
{
	rq->buf = calloc(1, len);
	rq->buf_len = len;
	if (!rq->buf)
		bf_nvme_complete(rq, bf_nvme_no_memory(rq->dev));
	return rq->buf;
}

void bf_nvme_admin_send(struct bf_nvme_rq *rq, uint32_t len)
{
	bf_nvme_data(rq, BF_NVME_TO_HOST, rq->buf, len, bf_nvme_complete);
}

/*
 * Section 5.1. A command that cannot be found has completed already: it is not aborted, and that is no error. Nor is
 * one that is past the point of return.
 */
static void abort_command(struct bf_nvme_rq *rq)
{
	uint32_t cdw10 = bf_le32(rq->sqe.cdw10);
	struct bf_nvme_rq *victim = bf_nvme_rq_find(rq->dev, (uint16_t)cdw10, (uint16_t)(cdw10 >> 16));

	rq->dw0 = !victim || victim == rq || !bf_nvme_rq_take(victim, BF_NVME_SC_ABORT_REQUESTED);
	bf_nvme_complete(rq, 0);
}

/* Section 5.13 and feature 0Fh: a command that comes in time keeps the controller going. */
static void keep_alive(struct bf_nvme_rq *rq)
{
	bf_nvme_keep_alive_restart(rq->dev);
	bf_nvme_complete(rq, 0);
}

void bf_nvme_keep_alive_restart(struct bf_nvme *dev)
{
	if (dev->feat.keep_alive)
		bf_sim_after(dev->sim, &dev->keep_alive_event, dev->feat.keep_alive * BF_MS);
	else
		bf_sim_cancel(dev->sim, &dev->keep_alive_event);
}

static void on_keep_alive(struct bf_event *ev)
{
	struct bf_nvme *dev = BF_CONTAINER_OF(ev, struct bf_nvme, keep_alive_event);

	if (dev->phase == BF_NVME_ON)
		bf_nvme_fatal(dev, BF_NVME_FATAL_KEEP_ALIVE, dev->feat.keep_alive);
}

void bf_nvme_admin_init(struct bf_nvme *dev)
{
	bf_event_init(&dev->keep_alive_event, on_keep_alive);
	bf_nvme_self_test_init(dev);
	bf_nvme_features_init(dev);
}

int bf_nvme_admin_open(struct bf_nvme *dev)
{
	return bf_nvme_firmware_open(dev);
}

void bf_nvme_admin_close(struct bf_nvme *dev)
{
	bf_sim_cancel(dev->sim, &dev->keep_alive_event);
	bf_sim_cancel(dev->sim, &dev->selftest_event);
	bf_nvme_firmware_close(dev);
}

void bf_nvme_admin_reset(struct bf_nvme *dev)
{
	bf_sim_cancel(dev->sim, &dev->keep_alive_event);
	dev->formatting = NULL;
	bf_nvme_features_reset(dev);
	bf_nvme_self_test_reset(dev);
	bf_nvme_firmware_reset(dev);
}

/*
 * What is not here is not supported, and Identify, the effects log and OACS say so: Security Send and Receive,
 * Sanitize, Directives, NVMe-MI, Virtualization Management, Capacity Management.
 */
void bf_nvme_admin_start(struct bf_nvme_rq *rq)
{
	/* SGLs are for I/O commands only here (section 3.3.1 of the PCIe Transport specification). */
	if (rq->sqe.flags & BF_NVME_PSDT) {
		bf_nvme_complete(rq, bf_nvme_bad_field(rq, 1, 6));
		return;
	}
	switch (rq->opcode) {
	case BF_NVME_ADM_DELETE_SQ:
		bf_nvme_delete_sq(rq);
		break;
	case BF_NVME_ADM_CREATE_SQ:
		bf_nvme_create_sq(rq);
		break;
	case BF_NVME_ADM_GET_LOG:
		bf_nvme_get_log(rq);
		break;
	case BF_NVME_ADM_DELETE_CQ:
		bf_nvme_delete_cq(rq);
		break;
	case BF_NVME_ADM_CREATE_CQ:
		bf_nvme_create_cq(rq);
		break;
	case BF_NVME_ADM_IDENTIFY:
		bf_nvme_identify(rq);
		break;
	case BF_NVME_ADM_ABORT:
		abort_command(rq);
		break;
	case BF_NVME_ADM_SET_FEATURES:
		bf_nvme_set_features(rq);
		break;
	case BF_NVME_ADM_GET_FEATURES:
		bf_nvme_get_features(rq);
		break;
	case BF_NVME_ADM_ASYNC_EVENT:
		bf_nvme_async_request(rq);
		break;
	case BF_NVME_ADM_NS_MANAGEMENT:
		bf_nvme_ns_manage(rq);
		break;
	case BF_NVME_ADM_FW_COMMIT:
		bf_nvme_firmware_commit(rq);
		break;
	case BF_NVME_ADM_FW_DOWNLOAD:
		bf_nvme_firmware_download(rq);
		break;
	case BF_NVME_ADM_SELF_TEST:
		bf_nvme_self_test(rq);
		break;
	case BF_NVME_ADM_NS_ATTACH:
		bf_nvme_ns_attach(rq);
		break;
	case BF_NVME_ADM_KEEP_ALIVE:
		keep_alive(rq);
		break;
	case BF_NVME_ADM_DBBUF:
		bf_nvme_dbbuf_config(rq);
		break;
	case BF_NVME_ADM_FORMAT:
		bf_nvme_format(rq);
		break;
	default:
		bf_nvme_complete(rq, BF_NVME_SC_INVALID_OPCODE | BF_NVME_DNR);
		break;
	}
}

/*
 * Shorthand for the NVMe model's tests of the controller itself, on top of nvme_host.h: raw registers, admin commands
 * in one line, doorbells with any value, and a sink that keeps what the tests ask for.
 */
#ifndef BELFRY_TESTS_NVME_RIG_H
#define BELFRY_TESTS_NVME_RIG_H

#include <check.h>

#include "models/nvme/records.h"
#include "tests/models/nvme_host.h"

#define RIG_DNR 0x4000u

struct rig_sink {
	struct bf_sink sink;
	uint32_t count[400]; /* by type */
	uint32_t wrong[16];  /* driver errors by kind */
	struct bf_rec_nvme_driver_error last_wrong;
	struct bf_rec_nvme_event last_event;
	struct bf_rec_nvme_state last_state;
	uint8_t order[4096]; /* submission queues of the entries fetched, in order */
	uint32_t norder;
};

static inline int rig_declare_type(struct bf_sink *s, const struct bf_rec_schema *schema)
{
	(void)s;
	(void)schema;
	return 0;
}

static inline int rig_declare_actor(struct bf_sink *s, uint32_t actor, const char *kind, const char *name)
{
	(void)s;
	(void)actor;
	(void)kind;
	(void)name;
	return 0;
}

static inline void rig_take(struct rig_sink *k, uint16_t type, const uint8_t *fixed)
{
	struct bf_rec_nvme_fetch fetch;

	if (type < 400)
		k->count[type]++;
	switch (type) {
	case BF_REC_ID_nvme_driver_error:
		memcpy(&k->last_wrong, fixed, sizeof(k->last_wrong));
		k->wrong[k->last_wrong.wrong & 15]++;
		break;
	case BF_REC_ID_nvme_event:
		memcpy(&k->last_event, fixed, sizeof(k->last_event));
		break;
	case BF_REC_ID_nvme_state:
		memcpy(&k->last_state, fixed, sizeof(k->last_state));
		break;
	case BF_REC_ID_nvme_fetch:
		memcpy(&fetch, fixed, sizeof(fetch));
		if (k->norder < sizeof(k->order))
			k->order[k->norder++] = (uint8_t)fetch.sqid;
		break;
	default:
		break;
	}
}

static inline int rig_write(struct bf_sink *s, const void *records, size_t len)
{
	struct rig_sink *k = BF_CONTAINER_OF(s, struct rig_sink, sink);
	size_t at = 0;

	while (at < len) {
		struct bf_rec_header head;

		memcpy(&head, (const uint8_t *)records + at, sizeof(head));
		rig_take(k, head.type, (const uint8_t *)records + at + sizeof(head));
		at += bf_record_span(&head);
	}
	return 0;
}

static inline void rig_record(struct host *h, struct rig_sink *k)
{
	memset(k, 0, sizeof(*k));
	k->sink.declare_type = rig_declare_type;
	k->sink.declare_actor = rig_declare_actor;
	k->sink.write = rig_write;
	ck_assert_int_eq(bf_stream_open(&h->sim->rec, &h->sim->now_ps, BF_CLASS_ALL, &k->sink), 0);
}

static inline uint64_t rig_read(struct host *h, uint32_t reg, uint32_t len)
{
	uint64_t done;

	return bf_mmio_load(bf_nvme_bar0(h->dev), reg, len, &done);
}

static inline uint32_t rig_read32(struct host *h, uint32_t reg)
{
	return (uint32_t)rig_read(h, reg, 4);
}

/* A store of any size; everything that follows from it happens. */
static inline void rig_store(struct host *h, uint32_t reg, const void *bytes, uint32_t len)
{
	bf_mmio_post(bf_nvme_bar0(h->dev), reg, bytes, len);
	host_run(h);
}

static inline void rig_store32(struct host *h, uint32_t reg, uint32_t value)
{
	host_write32(h, reg, value);
	host_run(h);
}

static inline void rig_tail(struct host *h, uint32_t qid, uint32_t value)
{
	rig_store32(h, bf_nvme_sq_doorbell(qid, 0), value);
}

static inline void rig_head(struct host *h, uint32_t qid, uint32_t value)
{
	rig_store32(h, bf_nvme_cq_doorbell(qid, 0), value);
}

/* An admin command with the fields that most have; its status word. */
static inline uint32_t rig_admin(struct host *h, uint8_t opcode, uint32_t nsid, uint64_t prp1, uint32_t cdw10,
				 uint32_t cdw11, uint32_t *dw0)
{
	struct bf_nvme_sqe *e = host_slot(h, &h->admin, opcode, nsid);
	struct bf_nvme_cqe c;
	uint32_t status;

	bf_put_le64(e->prp1.b, prp1);
	bf_put_le32(e->cdw10.b, cdw10);
	bf_put_le32(e->cdw11.b, cdw11);
	status = host_do(h, &h->admin, &c);
	if (dw0)
		*dw0 = bf_le32(c.dw0);
	return status;
}

static inline uint32_t rig_identify(struct host *h, uint32_t cns, uint32_t nsid, void *page)
{
	memset(page, 0xee, 4096);
	return rig_admin(h, BF_NVME_ADM_IDENTIFY, nsid, host_va(h, page), cns, 0, NULL);
}

static inline uint32_t rig_log(struct host *h, uint32_t lid, bool rae, void *page, uint32_t len)
{
	return rig_admin(h, BF_NVME_ADM_GET_LOG, BF_NVME_NSID_ALL, host_va(h, page),
			 lid | (rae ? 1u << 15 : 0) | (len / 4 - 1) << 16, 0, NULL);
}

static inline uint32_t rig_create_cq(struct host *h, uint32_t qid, uint32_t size, uint64_t at, uint32_t flags,
				     uint32_t vector)
{
	return rig_admin(h, BF_NVME_ADM_CREATE_CQ, 0, at, qid | (size - 1) << 16, flags | vector << 16, NULL);
}

static inline uint32_t rig_create_sq(struct host *h, uint32_t qid, uint32_t size, uint64_t at, uint32_t flags,
				     uint32_t cqid)
{
	return rig_admin(h, BF_NVME_ADM_CREATE_SQ, 0, at, qid | (size - 1) << 16, flags | cqid << 16, NULL);
}

static inline uint32_t rig_delete(struct host *h, uint8_t opcode, uint32_t qid)
{
	return rig_admin(h, opcode, 0, 0, qid, 0, NULL);
}

/* Where queue `qid` stands. */
static inline void rig_find(void *arg, const struct bf_nvme_queue_info *info)
{
	struct bf_nvme_queue_info *want = arg;

	if (info->qid == want->qid)
		*want = *info;
}

static inline struct bf_nvme_queue_info rig_info(struct host *h, uint16_t qid)
{
	struct bf_nvme_queue_info info = { .qid = qid };

	bf_nvme_each_queue(h->dev, rig_find, &info);
	return info;
}

struct rig_stat {
	const char *name;
	uint64_t value;
};

static inline void rig_stat(void *arg, const char *name, const char *unit, const uint64_t *counter,
			    const struct bf_hist *hist)
{
	struct rig_stat *s = arg;

	(void)unit;
	if (!strcmp(name, s->name))
		s->value = counter ? *counter : hist->count;
}

/* A counter's value, or how many values a histogram has. */
static inline uint64_t rig_counter(struct host *h, const char *name)
{
	struct rig_stat s = { .name = name };

	bf_stats_each(h->sim, rig_stat, &s);
	return s.value;
}

static inline int rig_main(Suite *s)
{
	SRunner *r = srunner_create(s);
	int failed;

	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif

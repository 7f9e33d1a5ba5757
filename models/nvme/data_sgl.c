/*
 * Scatter gather lists (Base specification, section 4.1.2, "Scatter Gather List (SGL)").
 *
 * The command holds one descriptor: the data, a bit bucket, or a segment of descriptors in memory. Each segment but the
 * last ends with a pointer to the next one. A list may describe more than the command needs (SGLS bit 18), not less.
 */
#include "models/nvme/device_internal.h"

/* More descriptors than that for one command can only be a loop of segments without data: assumed. */
#define DESCRIPTORS_MAX 65536u

static uint32_t type_of(const struct bf_nvme_sgl *s)
{
	return (uint32_t)BF_FIELD_GET(BF_NVME_SGL_TYPE, s->type);
}

static bool is_segment(const struct bf_nvme_sgl *s)
{
	return type_of(s) == BF_NVME_SGL_SEGMENT || type_of(s) == BF_NVME_SGL_LAST_SEGMENT;
}

/* Bytes of the command's data that the descriptor stands for. A bit bucket takes part in reads only (same section). */
static uint64_t length_of(const struct bf_nvme_data_state *d, const struct bf_nvme_sgl *s)
{
	if (is_segment(s) || (type_of(s) == BF_NVME_SGL_BUCKET && d->dir == BF_NVME_FROM_HOST))
		return 0;
	return bf_le32(s->len);
}

/* What is wrong with a descriptor wherever it stands. Keyed and transport descriptors are for fabrics. */
static uint32_t check_type(const struct bf_nvme_sgl *s)
{
	if (type_of(s) > BF_NVME_SGL_LAST_SEGMENT || BF_FIELD_GET(BF_NVME_SGL_SUBTYPE, s->type))
		return BF_NVME_SC_SGL_TYPE | BF_NVME_DNR;
	if (is_segment(s) && (!bf_le32(s->len) || bf_le32(s->len) % sizeof(*s) || bf_le64(s->addr) & 7))
		return BF_NVME_SC_SGL_SEGMENT | BF_NVME_DNR;
	return 0;
}

static void enter_segment(struct bf_nvme_data_state *d, const struct bf_nvme_sgl *s)
{
	d->list_iova = bf_le64(s->addr);
	d->segment_left = bf_le32(s->len);
	d->last_segment = type_of(s) == BF_NVME_SGL_LAST_SEGMENT;
}

static void set_run(struct bf_nvme_data_state *d, const struct bf_nvme_sgl *s)
{
	const uint64_t left = d->total - d->covered, len = length_of(d, s);

	d->bucket = type_of(s) == BF_NVME_SGL_BUCKET;
	d->run_iova = bf_le64(s->addr);
	d->run_len = len < left ? len : left;
	d->covered += d->run_len;
}

static uint32_t sgl_begin(struct bf_nvme_rq *rq)
{
	struct bf_nvme_data_state *d = &rq->data;
	struct bf_nvme_sgl s;
	uint32_t status;

	memcpy(&s, &rq->sqe.prp1, sizeof(s));
	status = check_type(&s);
	if (status)
		return status;
	if (is_segment(&s))
		enter_segment(d, &s);
	else if (length_of(d, &s) < d->total)
		return BF_NVME_SC_SGL_LENGTH | BF_NVME_DNR;
	else
		set_run(d, &s);
	return 0;
}

static uint32_t sgl_next(struct bf_nvme_rq *rq)
{
	struct bf_nvme_data_state *d = &rq->data;
	const struct bf_nvme_sgl *s = (const void *)d->list;

	if (d->list_at == d->list_count) {
		d->fetch = d->segment_left < BF_NVME_LIST_BYTES ? (uint32_t)d->segment_left : BF_NVME_LIST_BYTES;
		return 0;
	}
	s += d->list_at++;
	if (is_segment(s))
		enter_segment(d, s);
	else
		set_run(d, s);
	return 0;
}

/* What is wrong with descriptor `s` of a segment; `end`: it is the segment's last one. */
static uint32_t check_place(const struct bf_nvme_data_state *d, const struct bf_nvme_sgl *s, bool end)
{
	uint32_t status = check_type(s);

	if (status)
		return status;
	if (is_segment(s) && !end)
		return BF_NVME_SC_SGL_COUNT | BF_NVME_DNR;
	/* The last segment points to no other; each other one does. */
	if (end && is_segment(s) == d->last_segment)
		return BF_NVME_SC_SGL_SEGMENT | BF_NVME_DNR;
	return 0;
}

/* Looks at descriptors until the data are described: the controller needs nothing behind that. */
static uint32_t sgl_filled(struct bf_nvme_rq *rq)
{
	struct bf_nvme_data_state *d = &rq->data;
	const struct bf_nvme_sgl *s = (const void *)d->list;
	const uint32_t n = d->fetch / sizeof(*s);
	uint64_t sum = d->covered;

	d->segment_left -= d->fetch;
	d->list_iova += d->fetch;
	d->fetched += n;
	d->list_at = 0;
	d->list_count = n;
	for (uint32_t i = 0; i < n && sum < d->total; i++) {
		uint32_t status = check_place(d, &s[i], i == n - 1 && !d->segment_left);

		if (status)
			return status;
		sum += length_of(d, &s[i]);
	}
	if (sum < d->total && d->last_segment && !d->segment_left)
		return BF_NVME_SC_SGL_LENGTH | BF_NVME_DNR;
	if (sum < d->total && d->fetched >= DESCRIPTORS_MAX)
		return BF_NVME_SC_SGL_COUNT | BF_NVME_DNR;
	return 0;
}

const struct bf_nvme_walk bf_nvme_sgl_walk = { .begin = sgl_begin, .next = sgl_next, .filled = sgl_filled };

/*
 * A program that puts anything into the rings that `belfry record` reads: entries, doorbell records, lists of receives,
 * completions. Whatever stands there, the recorder stays within the rings, comes to an end, and leaves a capture that
 * can be read. Four bytes are the rings' sizes; then steps: one byte kind, one byte length L, L bytes.
 */
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifdef BELFRY_HAVE_MLX5DV

#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/record/record.h"
#include "tools/record/verbs_internal.h"
#include "traces/import/capture.h"

#define WQEBB 64u

int LLVMFuzzerInitialize(int *argc, char ***argv);

struct rings {
	struct ibv_qp qp;
	struct ibv_cq cq;
	struct ibv_srq srq;
	struct mlx5dv_qp dv_qp;
	struct mlx5dv_cq dv_cq;
	struct mlx5dv_srq dv_srq;
	__be32 *dbrec;
	size_t srq_bytes;
};

static struct rings rings;
static int capture_fd;
static off_t told; /* bytes of the capture that were read */

static int init_obj(struct mlx5dv_obj *obj, uint64_t type)
{
	if (type == MLX5DV_OBJ_QP)
		*obj->qp.out = rings.dv_qp;
	else if (type == MLX5DV_OBJ_CQ)
		*obj->cq.out = rings.dv_cq;
	else
		*obj->srq.out = rings.dv_srq;
	return 0;
}

/* In place of libmlx5. */
void bf_record_real(const char *library, const char *name, void *function)
{
	int (*const found)(struct mlx5dv_obj *, uint64_t) = init_obj;

	(void)library, (void)name;
	memcpy(function, &found, sizeof(found));
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char path[40];

	(void)argc, (void)argv;
	capture_fd = memfd_create("capture", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", capture_fd);
	return capture_fd < 0 || setenv(BF_RECORD_ENV_FILE, path, 1);
}

static void *ring(size_t bytes)
{
	void *at = calloc(1, bytes); /* no byte more: who reads one is seen */

	if (!at)
		abort();
	return at;
}

static void make(const uint8_t sizes[4])
{
	struct rings *r = &rings;

	memset(r, 0, sizeof(*r));
	r->dbrec = ring(4 * sizeof(*r->dbrec));
	r->dv_qp.dbrec = r->dbrec;
	r->dv_qp.sq.wqe_cnt = sizes[0] & 0x80 ? 0 : 1u << (sizes[0] & 7);
	r->dv_qp.sq.stride = WQEBB;
	r->dv_qp.sq.buf = ring((size_t)r->dv_qp.sq.wqe_cnt * WQEBB);
	r->dv_qp.rq.wqe_cnt = sizes[1] & 0x80 ? 0 : 1u << (sizes[1] & 7);
	r->dv_qp.rq.stride = 16u << (sizes[1] >> 4 & 3);
	r->dv_qp.rq.buf = ring((size_t)r->dv_qp.rq.wqe_cnt * r->dv_qp.rq.stride);
	r->dv_cq = (struct mlx5dv_cq){ .cqe_cnt = 1u << (sizes[2] & 7), .cqe_size = 64, .cqn = 1 };
	r->dv_srq.tail = (1u << (sizes[3] & 7)) - 1;
	r->dv_srq.head = sizes[3] >> 4 & r->dv_srq.tail;
	r->dv_srq.stride = 32;
	r->dv_srq.dbrec = r->dbrec + 2;
	r->dv_srq.comp_mask = MLX5DV_SRQ_MASK_SRQN;
	r->dv_srq.srqn = 2;
	r->srq_bytes = (r->dv_srq.tail + 1u) * (size_t)r->dv_srq.stride;
	r->dv_srq.buf = ring(r->srq_bytes);
	r->qp = (struct ibv_qp){ .qp_num = 0x40, .send_cq = &r->cq, .recv_cq = &r->cq, .srq = &r->srq };
}

static void put(void *to, size_t room, const uint8_t *bytes, size_t len)
{
	const size_t at = len > 2 && room ? (size_t)(bytes[0] << 8 | bytes[1]) % room : room;

	if (at < room)
		memcpy((uint8_t *)to + at, bytes + 2, len - 2 < room - at ? len - 2 : room - at);
}

static void ring_bell(uint32_t which, const uint8_t *bytes, size_t len)
{
	if (len >= 2)
		rings.dbrec[which] = htobe32((uint32_t)bytes[0] << 8 | bytes[1]);
}

static void step(uint8_t kind, const uint8_t *bytes, size_t len)
{
	struct bf_record_qp *q = bf_record_qp_of(&rings.qp);
	struct bf_record_cq *cq = bf_record_cq_of(&rings.cq);
	struct bf_record_srq *srq = bf_record_srq_of(&rings.srq);
	uint8_t cqe[BF_RECORD_CQE_BYTES] = { 0 };

	switch (kind % 8) {
	case 0:
		put(rings.dv_qp.sq.buf, (size_t)rings.dv_qp.sq.wqe_cnt * WQEBB, bytes, len);
		break;
	case 1:
		put(rings.dv_qp.rq.buf, (size_t)rings.dv_qp.rq.wqe_cnt * rings.dv_qp.rq.stride, bytes, len);
		break;
	case 2:
		put(rings.dv_srq.buf, rings.srq_bytes, bytes, len);
		break;
	case 3:
		ring_bell(1, bytes, len);
		bf_record_tell_sends(q);
		break;
	case 4:
		ring_bell(0, bytes, len);
		bf_record_tell_receives(q);
		break;
	case 5:
		ring_bell(2, bytes, len);
		bf_record_tell_shared_receives(srq);
		break;
	case 6:
		memcpy(cqe, bytes, len < sizeof(cqe) ? len : sizeof(cqe));
		bf_record_tell_cqe(cq, cqe);
		break;
	default:
		bf_record_tell_qp(q, kind);
		break;
	}
}

/* What was written since, as a capture; then its bytes are given back. */
static void check(void)
{
	const off_t end = lseek(capture_fd, 0, SEEK_END);
	const size_t len = (size_t)(end - told);
	char *text = malloc(len + 1);
	struct bf_capture *c = NULL;
	struct bf_error err = { 0 };

	if (!text || pread(capture_fd, text, len, told) != (ssize_t)len || bf_capture_parse(text, len, &c, &err))
		abort();
	bf_capture_free(c);
	free(text);
	if (fallocate(capture_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, told, end - told) && len)
		abort();
	told = end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 4)
		return 0;
	make(data);
	bf_record_add_srq(&rings.srq);
	bf_record_add_qp(&rings.qp);
	bf_record_tell_qp(bf_record_qp_of(&rings.qp), 0x41);
	for (size_t at = 4; at + 2 <= size;) {
		const uint8_t kind = data[at];
		size_t len = data[at + 1];

		at += 2;
		len = len < size - at ? len : size - at;
		step(kind, data + at, len);
		at += len;
	}
	bf_record_drop_qp(&rings.qp);
	bf_record_drop_cq(&rings.cq);
	bf_record_drop_srq(&rings.srq);
	check();
	free(rings.dbrec);
	free(rings.dv_qp.sq.buf);
	free(rings.dv_qp.rq.buf);
	free(rings.dv_srq.buf);
	return 0;
}

#else

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	(void)data, (void)size;
	return -1; /* mlx5dv.h was not there */
}

#endif

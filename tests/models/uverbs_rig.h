/*
 * A device, its kernel's half, and a program that speaks the uverbs ABI to it by bytes, in virtual time. The program's
 * memory is one region; what would be descriptors are numbers of queues in an array.
 */
#ifndef BELFRY_TESTS_UVERBS_RIG_H
#define BELFRY_TESTS_UVERBS_RIG_H

#include <errno.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/mlx5/mlx5.h"
#include "models/mlx5/wqe.h"
#include "models/uverbs/mlx5/mlx5_ib.h"
#include "models/uverbs/uverbs.h"

#define UV_MEM (32u << 20)
#define UV_FDS 64
#define UV_QUEUE 64
#define UV_FIRST_FD 100
#define UV_ATTRS 16
#define UV_IPV4 0x0a000001u
#define UV_EPOCH 1700000000000000000ull
#define UV_MUST(x)                                                                                                     \
	do {                                                                                                           \
		if (!(x)) {                                                                                            \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                                        \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

/* The headers' own structures end in arrays of any length, which cannot be members of others. */
struct uv_head {
	uint16_t length, object_id, method_id, num_attrs;
	uint64_t reserved1;
	uint32_t driver_id, reserved2;
};
struct uv_mr {
	uint32_t handle, lkey, rkey;
};

struct uv_fd {
	bool open, released;
	uint32_t n;
	struct {
		uint32_t len;
		uint8_t bytes[BF_UVERBS_EVENT_MAX];
	} event[UV_QUEUE];
};

struct uv_rig {
	struct bf_sim *sim;
	struct bf_fabric *fabric;
	struct bf_space space;
	struct bf_ioas ioas;
	struct bf_region *mem;
	struct bf_mlx5 *dev;
	struct bf_uverbs *u;
	struct bf_uverbs_file *f; /* where requests go */
	uint64_t used;
	uint64_t request; /* where the program builds requests */
	struct uv_fd fd[UV_FDS];
	uint32_t fds;
	uint32_t pins;
	bool inodes; /* descriptors are files: two with one half are one */
	/* The request at hand. */
	struct uv_head head;
	struct ib_uverbs_attr attr[UV_ATTRS];
};

static inline void *uv_host(struct uv_rig *r, uint64_t address)
{
	return r->mem->bytes + (address - r->mem->va);
}

static inline bool uv_inside(struct uv_rig *r, uint64_t address, uint64_t len)
{
	return address >= r->mem->va && len <= r->mem->size && address - r->mem->va <= r->mem->size - len;
}

static int uv_open_channel(void *arg)
{
	struct uv_rig *r = arg;

	if (r->fds == UV_FDS)
		return -EMFILE;
	r->fd[r->fds].open = true;
	return UV_FIRST_FD + (int)r->fds++;
}

static int uv_put_event(void *arg, int fd, const void *event, uint32_t len)
{
	struct uv_rig *r = arg;
	struct uv_fd *q = &r->fd[fd - UV_FIRST_FD];

	UV_MUST(q->open && !q->released && len && len <= BF_UVERBS_EVENT_MAX);
	if (q->n == UV_QUEUE)
		return -EAGAIN;
	q->event[q->n].len = len;
	memcpy(q->event[q->n++].bytes, event, len);
	return 0;
}

static int uv_take_events(void *arg, int fd, bool (*match)(const void *event, void *what), void *what)
{
	struct uv_rig *r = arg;
	struct uv_fd *q = &r->fd[fd - UV_FIRST_FD];
	uint32_t kept = 0;
	int taken = 0;

	UV_MUST(q->open && !q->released);
	for (uint32_t i = 0; i < q->n; i++) {
		if (match(q->event[i].bytes, what))
			taken++;
		else
			q->event[kept++] = q->event[i];
	}
	q->n = kept;
	return taken;
}

static void uv_release_channel(void *arg, int fd)
{
	struct uv_rig *r = arg;

	UV_MUST(r->fd[fd - UV_FIRST_FD].open && !r->fd[fd - UV_FIRST_FD].released);
	r->fd[fd - UV_FIRST_FD].released = true;
}

static int uv_pin(void *arg, uint64_t address, uint64_t len, bool write)
{
	struct uv_rig *r = arg;

	(void)write;
	r->pins++;
	return uv_inside(r, address, len) ? 0 : -EFAULT;
}

static int uv_inode(void *arg, int fd, uint64_t id[2])
{
	struct uv_rig *r = arg;

	id[0] = 1;
	id[1] = (uint64_t)fd / 2;
	return r->inodes && fd < 100 ? 0 : -EBADF;
}

static int uv_copy_in(void *arg, void *to, uint64_t address, uint32_t len)
{
	if (!uv_inside(arg, address, len))
		return -EFAULT;
	memcpy(to, uv_host(arg, address), len);
	return 0;
}

static int uv_copy_out(void *arg, uint64_t address, const void *from, uint32_t len)
{
	if (!uv_inside(arg, address, len))
		return -EFAULT;
	memcpy(uv_host(arg, address), from, len);
	return 0;
}

/* The next event of a channel; 0: there is none. */
static inline uint32_t uv_read(struct uv_rig *r, int fd, void *to, uint32_t room)
{
	struct uv_fd *q = &r->fd[fd - UV_FIRST_FD];
	uint32_t len;

	if (!q->n)
		return 0;
	len = q->event[0].len < room ? q->event[0].len : room;
	memcpy(to, q->event[0].bytes, len);
	memmove(&q->event[0], &q->event[1], --q->n * sizeof(q->event[0]));
	return len;
}

static inline uint64_t uv_alloc(struct uv_rig *r, uint64_t bytes)
{
	uint64_t at = r->mem->va + r->used;

	r->used += (bytes + 4095) & ~4095ull;
	UV_MUST(r->used <= r->mem->size);
	return at;
}

static void uv_irq(void *owner, uint32_t vector)
{
	bf_uverbs_irq(((struct uv_rig *)owner)->u, vector);
}

static inline int uv_try_open(struct uv_rig *r, const struct bf_mlx5_profile *profile, bool no_ioctl)
{
	struct bf_mlx5_opts dev = { .name = "nic0",
				    .profile = profile,
				    .space = &r->space,
				    .ioas = &r->ioas,
				    .ipv4 = { UV_IPV4 },
				    .uar_pages = 64,
				    .memic = 128u << 10,
				    .paging = true,
				    .irq = uv_irq,
				    .irq_owner = r };
	struct bf_region_opts mem = { .name = "program", .kind = BF_MEM_DRAM, .size = UV_MEM };
	struct bf_uverbs_opts opts = {
		.name = "mlx5_0",
		.space = &r->space,
		.ioas = &r->ioas,
		.ipv4 = UV_IPV4,
		.mac = { 2, 0, 10, 0, 0, 1 },
		.node_guid = 0x1234567890abcdef,
		.no_ioctl = no_ioctl,
		.blueflame = true,
		.epoch_ns = UV_EPOCH,
		.host = { .arg = r,
			  .channel_open = uv_open_channel,
			  .channel_put = uv_put_event,
			  .channel_take = uv_take_events,
			  .channel_release = uv_release_channel,
			  .pin = uv_pin,
			  .inode = uv_inode,
			  .copy_in = uv_copy_in,
			  .copy_out = uv_copy_out },
	};

	memset(r, 0, sizeof(*r));
	UV_MUST(!bf_sim_create(1, &r->sim));
	UV_MUST(!bf_fabric_create(r->sim, &r->fabric));
	UV_MUST(!bf_space_init(&r->space, r->sim, "host", 0));
	UV_MUST(!bf_ioas_init(&r->ioas, r->sim, "host", 4096));
	UV_MUST(!bf_region_create(&r->space, &mem, &r->mem));
	UV_MUST(!bf_ioas_map_region(&r->ioas, r->mem, BF_IOMMU_READ | BF_IOMMU_WRITE));
	dev.fabric = r->fabric;
	UV_MUST(!bf_mlx5_create(r->sim, &dev, &r->dev));
	opts.device = r->dev;
	opts.provider = &bf_mlx5_ib;
	r->request = uv_alloc(r, 65536);
	return bf_uverbs_create(r->sim, &opts, &r->u);
}

static inline void uv_rig_open(struct uv_rig *r, bool no_ioctl)
{
	UV_MUST(!uv_try_open(r, &bf_mlx5_instant, no_ioctl));
	UV_MUST(!bf_uverbs_open(r->u, &r->f));
}

static inline void uv_rig_close(struct uv_rig *r)
{
	bf_uverbs_destroy(r->u);
	bf_mlx5_destroy(r->dev);
	bf_fabric_destroy(r->fabric);
	bf_ioas_fini(&r->ioas);
	bf_space_fini(&r->space);
	bf_sim_destroy(r->sim);
}

static inline void uv_run(struct uv_rig *r)
{
	bf_sim_run(r->sim, r->sim->now_ps + 100 * BF_MS);
}

/* ---- a request by attributes ---- */

static inline void uv_begin(struct uv_rig *r, uint16_t object, uint16_t method)
{
	r->head = (struct uv_head){ .object_id = object, .method_id = method, .driver_id = RDMA_DRIVER_MLX5 };
	memset(r->attr, 0, sizeof(r->attr));
}

static inline struct ib_uverbs_attr *uv_add(struct uv_rig *r, uint16_t id, uint16_t len, uint64_t data)
{
	struct ib_uverbs_attr *a = &r->attr[r->head.num_attrs++];

	*a = (struct ib_uverbs_attr){ .attr_id = id, .len = len, .flags = UVERBS_ATTR_F_MANDATORY, .data = data };
	return a;
}

/* Bytes: in the attribute when they are few, else in the program's memory. */
static inline void uv_in(struct uv_rig *r, uint16_t id, const void *bytes, uint16_t len)
{
	uint64_t data = 0;

	if (len <= 8) {
		memcpy(&data, bytes, len);
	} else {
		data = r->request + 8192 + r->head.num_attrs * 2048u;
		UV_MUST(len <= 2048);
		memcpy(uv_host(r, data), bytes, len);
	}
	uv_add(r, id, len, data);
}

static inline void uv_in32(struct uv_rig *r, uint16_t id, uint32_t value)
{
	uv_in(r, id, &value, sizeof(value));
}

static inline void uv_in64(struct uv_rig *r, uint16_t id, uint64_t value)
{
	uv_in(r, id, &value, sizeof(value));
}

/* Room for an answer, full of 0xee; uv_answer() has it after the call. */
static inline void uv_out(struct uv_rig *r, uint16_t id, uint16_t len)
{
	uint64_t at = r->request + 8192 + r->head.num_attrs * 2048u;

	UV_MUST(len <= 2048);
	memset(uv_host(r, at), 0xee, len);
	uv_add(r, id, len, at);
}

static inline void uv_handle(struct uv_rig *r, uint16_t id, int64_t value)
{
	uv_add(r, id, 0, (uint64_t)value);
}

static inline struct ib_uverbs_attr *uv_find(struct uv_rig *r, uint16_t id)
{
	for (uint32_t i = 0; i < r->head.num_attrs; i++)
		if (r->attr[i].attr_id == id)
			return &r->attr[i];
	fprintf(stderr, "the request has no attribute 0x%x\n", id);
	abort();
}

static inline int uv_call(struct uv_rig *r)
{
	uint8_t *at = uv_host(r, r->request);
	struct ib_uverbs_attr back[UV_ATTRS];
	int rc;

	r->head.length = (uint16_t)(sizeof(r->head) + r->head.num_attrs * sizeof(r->attr[0]));
	memcpy(at, &r->head, sizeof(r->head));
	memcpy(at + sizeof(r->head), r->attr, r->head.num_attrs * sizeof(r->attr[0]));
	rc = bf_uverbs_ioctl(r->f, RDMA_VERBS_IOCTL, r->request);
	memcpy(back, at + sizeof(r->head), r->head.num_attrs * sizeof(r->attr[0]));
	if (!rc)
		memcpy(r->attr, back, sizeof(back));
	return rc;
}

static inline void *uv_answer(struct uv_rig *r, uint16_t id)
{
	return uv_host(r, uv_find(r, id)->data);
}

static inline uint32_t uv_answer32(struct uv_rig *r, uint16_t id)
{
	return bf_get_le32(uv_answer(r, id));
}

/* ---- a write command, by either ABI ---- */

struct uv_cmd {
	uint32_t number;
	const void *in;
	uint16_t in_len, out_len;
	const void *uhw;
	uint16_t uhw_len, uhw_out_len;
};

static inline int uv_invoke(struct uv_rig *r, const struct uv_cmd *c, void *out, void *uhw_out)
{
	int rc;

	uv_begin(r, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE);
	uv_in(r, UVERBS_ATTR_CORE_IN, c->in, c->in_len);
	if (c->out_len)
		uv_out(r, UVERBS_ATTR_CORE_OUT, c->out_len);
	uv_in64(r, UVERBS_ATTR_WRITE_CMD, c->number);
	if (c->uhw_len)
		uv_in(r, UVERBS_ATTR_UHW_IN, c->uhw, c->uhw_len);
	if (c->uhw_out_len)
		uv_out(r, UVERBS_ATTR_UHW_OUT, c->uhw_out_len);
	rc = uv_call(r);
	if (!rc && c->out_len)
		memcpy(out, uv_answer(r, UVERBS_ATTR_CORE_OUT), c->out_len);
	if (!rc && c->uhw_out_len)
		memcpy(uhw_out, uv_answer(r, UVERBS_ATTR_UHW_OUT), c->uhw_out_len);
	return rc;
}

/* The bytes of the command for write(2); returns their number. */
static inline uint32_t uv_write_build(struct uv_rig *r, const struct uv_cmd *c)
{
	uint64_t response = r->request + 32768;
	uint8_t *at = uv_host(r, r->request);
	uint32_t len = 8u + c->in_len + c->uhw_len;

	memset(uv_host(r, response), 0xee, 2048);
	bf_put_le32(at, c->number);
	memcpy(at + 8, c->in, c->in_len);
	if (c->uhw_len)
		memcpy(at + 8 + c->in_len, c->uhw, c->uhw_len);
	bf_put_le16(at + 4, (uint16_t)(len / 4));
	bf_put_le16(at + 6, (uint16_t)((c->out_len + c->uhw_out_len) / 4));
	if (c->out_len)
		bf_put_le64(at + 8, response);
	return len;
}

static inline int uv_write(struct uv_rig *r, const struct uv_cmd *c, void *out, void *uhw_out)
{
	uint32_t len = uv_write_build(r, c);
	int64_t rc = bf_uverbs_write(r->f, r->request, len);

	if (rc < 0)
		return (int)rc;
	UV_MUST(rc == len);
	if (out && c->out_len)
		memcpy(out, uv_host(r, r->request + 32768), c->out_len);
	if (uhw_out && c->uhw_out_len)
		memcpy(uhw_out, uv_host(r, r->request + 32768 + c->out_len), c->uhw_out_len);
	return 0;
}

#endif

/* DEVX event channels: entries of event queues for those who asked for them. */
#include "models/uverbs/mlx5/mlx5_ib_internal.h"

#include <stdlib.h>

#define MAX_TYPES 255u
#define EQE_BYTES sizeof(struct bf_mlx5_eqe)

int bf_mlx5_ib_devx_cmd_fd(struct bf_uv_call *c)
{
	struct bf_uv_channel *ch;
	int err;

	if (!bf_mlx5_ib_file_of(c->f)->devx)
		return -EINVAL;
	ch = bf_uv_channel_new(c, MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD, &err);
	if (!ch)
		return err;
	err = bf_uv_attr_handle(c, MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE, ch->fd);
	if (err)
		bf_uv_channel_destroy(ch);
	return err;
}

int bf_mlx5_ib_devx_event_fd(struct bf_uv_call *c)
{
	struct bf_uv_channel *ch;
	uint32_t flags;
	int err;

	if (bf_uv_attr_get(c, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS, &flags, sizeof(flags)))
		return -EFAULT;
	if (!bf_mlx5_ib_file_of(c->f)->devx || flags & ~(uint32_t)MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA)
		return -EINVAL;
	ch = bf_uv_channel_new(c, MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD, &err);
	if (!ch)
		return err;
	ch->flags = flags;
	err = bf_uv_attr_handle(c, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE, ch->fd);
	if (err)
		bf_uv_channel_destroy(ch);
	return err;
}

/* Which command makes the objects that an event type is about; 0: it is about none, ~0: no such type. */
static uint32_t maker_of(uint16_t type)
{
	switch (type) {
	case BF_MLX5_EVENT_COMP:
	case BF_MLX5_EVENT_CQ_ERROR:
		return BF_MLX5_CMD_CREATE_CQ;
	case BF_MLX5_EVENT_COMM_EST:
	case BF_MLX5_EVENT_SQ_DRAINED:
	case BF_MLX5_EVENT_WQ_CATAS_ERROR:
	case BF_MLX5_EVENT_WQ_INVAL_REQ_ERROR:
	case BF_MLX5_EVENT_WQ_ACCESS_ERROR:
	case BF_MLX5_EVENT_SRQ_LAST_WQE:
		return BF_MLX5_CMD_CREATE_QP;
	case BF_MLX5_EVENT_SRQ_CATAS_ERROR:
	case BF_MLX5_EVENT_SRQ_RQ_LIMIT:
		return BF_MLX5_CMD_CREATE_RMP;
	case BF_MLX5_EVENT_DCT_DRAINED:
		return BF_MLX5_CMD_CREATE_DCT;
	case BF_MLX5_EVENT_PORT_CHANGE:
		return 0;
	default:
		return UINT32_MAX;
	}
}

static int check_types(const struct bf_uv_object *o, const uint16_t *types, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t maker = maker_of(types[i]);

		if (maker == UINT32_MAX || (maker != 0) != (o != NULL))
			return -EINVAL;
	}
	return 0;
}

static int add(struct bf_uv_channel *ch, struct bf_uv_object *o, uint16_t type, uint64_t cookie)
{
	struct bf_uv_subscription *s = calloc(1, sizeof(*s)), **at = &ch->subscriptions;

	if (!s)
		return -ENOMEM;
	*s = (struct bf_uv_subscription){
		.object = o, .cookie = cookie, .type = type, .number = o ? ((struct bf_mlx5_ib_devx *)o)->number : 0
	};
	while (*at)
		at = &(*at)->next;
	*at = s;
	return 0;
}

int bf_mlx5_ib_devx_subscribe(struct bf_uv_call *c)
{
	struct bf_uv_object *o = bf_uv_attr_object(c, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE);
	const uint16_t list = MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST;
	struct bf_uv_channel *ch =
	    (struct bf_uv_channel *)bf_uv_attr_object(c, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE);
	uint32_t len = bf_uv_attr(c, list)->bytes.len, n = len / 2;
	uint16_t types[MAX_TYPES];
	uint64_t cookie;
	int err;

	if (bf_uv_attr(c, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_NUM)->present)
		return -EOPNOTSUPP; /* an eventfd of the program's own */
	if (len % 2 || n > MAX_TYPES)
		return -EINVAL;
	if (bf_uv_attr_get(c, list, types, len) ||
	    bf_uv_attr_get(c, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE, &cookie, sizeof(cookie)))
		return -EFAULT;
	err = check_types(o, types, n);
	for (uint32_t i = 0; i < n && !err; i++)
		err = add(ch, o, types[i], cookie);
	return err;
}

static bool wanted(const struct bf_uv_subscription *s, uint16_t type, uint32_t number)
{
	uint32_t maker = maker_of(type);

	if (s->type != type)
		return false;
	return !s->object || (s->number == number && ((const struct bf_mlx5_ib_devx *)s->object)->opcode == maker);
}

void bf_mlx5_ib_devx_event(struct bf_uverbs *u, uint16_t type, uint32_t number, const uint8_t *eqe)
{
	uint8_t event[sizeof(uint64_t) + EQE_BYTES];

	for (struct bf_uverbs_file *f = u->files; f; f = f->next) {
		for (struct bf_uv_object *o = (struct bf_uv_object *)f->channels; o; o = o->next) {
			struct bf_uv_channel *ch = (struct bf_uv_channel *)o;
			bool short_form = ch->flags & MLX5_IB_UAPI_DEVX_CR_EV_CH_FLAGS_OMIT_DATA;

			for (const struct bf_uv_subscription *s = ch->subscriptions; s; s = s->next) {
				if (!wanted(s, type, number))
					continue;
				memcpy(event, &s->cookie, sizeof(s->cookie));
				memcpy(event + sizeof(s->cookie), eqe, EQE_BYTES);
				bf_uv_put_raw(ch, event, short_form ? sizeof(s->cookie) : sizeof(event), number, type);
			}
		}
	}
}

/* Those of `object`, or with NULL all of them. */
static void remove_some(struct bf_uv_channel *ch, const struct bf_uv_object *object)
{
	struct bf_uv_subscription **at = &ch->subscriptions;

	while (*at) {
		struct bf_uv_subscription *s = *at;

		if (object && s->object != object) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		free(s);
	}
}

void bf_mlx5_ib_unsubscribe_channel(struct bf_uv_channel *ch)
{
	remove_some(ch, NULL);
}

void bf_mlx5_ib_unsubscribe_object(struct bf_uv_object *object)
{
	for (struct bf_uv_object *o = (struct bf_uv_object *)object->file->channels; o; o = o->next)
		remove_some((struct bf_uv_channel *)o, object);
}

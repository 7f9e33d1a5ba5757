/*
 * Commands of librdmacm, as bytes: a head with a number and two lengths, then the number's structure. The checks are
 * those of core/ucma.c ucma_write(), and one that it does not make: a structure must be there as far as the program's
 * length says, where the kernel reads what lies behind in the program's memory.
 */
#include <stdio.h>

#include "models/rdmacm/rdmacm_internal.h"

struct command {
	const char *name;
	uint16_t least, size;             /* of what comes in */
	uint16_t out;                     /* least room for what goes out */
	int (*run)(struct bf_cm_call *c); /* NULL: not offered */
};

#define END(type, last) ((uint16_t)(offsetof(struct type, last) + sizeof(((struct type *)0)->last)))
#define ALL(type) (uint16_t)sizeof(struct type), (uint16_t)sizeof(struct type)
#define OUT(type) ((uint16_t)sizeof(struct type))
#define FROM(type, last) END(type, last), (uint16_t)sizeof(struct type)
#define OLD_EVENT ((uint16_t)offsetof(struct rdma_ucm_event_resp, reserved))
#define OLD_ROUTE ((uint16_t)offsetof(struct rdma_ucm_query_route_resp, ibdev_index))

/* No kernel reads options. */
static const struct command commands[] = {
	[RDMA_USER_CM_CMD_CREATE_ID] = { "create_id", ALL(rdma_ucm_create_id), OUT(rdma_ucm_create_id_resp),
					 bf_cm_create_id },
	[RDMA_USER_CM_CMD_DESTROY_ID] = { "destroy_id", FROM(rdma_ucm_destroy_id, id), OUT(rdma_ucm_destroy_id_resp),
					  bf_cm_destroy_id },
	[RDMA_USER_CM_CMD_BIND_IP] = { "bind_ip", FROM(rdma_ucm_bind_ip, id), 0, bf_cm_bind_ip },
	[RDMA_USER_CM_CMD_RESOLVE_IP] = { "resolve_ip", ALL(rdma_ucm_resolve_ip), 0, bf_cm_resolve_ip },
	[RDMA_USER_CM_CMD_RESOLVE_ROUTE] = { "resolve_route", ALL(rdma_ucm_resolve_route), 0, bf_cm_resolve_route },
	[RDMA_USER_CM_CMD_QUERY_ROUTE] = { "query_route", FROM(rdma_ucm_query, id), OLD_ROUTE, bf_cm_query_route },
	[RDMA_USER_CM_CMD_CONNECT] = { "connect", FROM(rdma_ucm_connect, reserved), 0, bf_cm_connect },
	[RDMA_USER_CM_CMD_LISTEN] = { "listen", ALL(rdma_ucm_listen), 0, bf_cm_listen },
	[RDMA_USER_CM_CMD_ACCEPT] = { "accept", FROM(rdma_ucm_accept, reserved), 0, bf_cm_accept },
	[RDMA_USER_CM_CMD_REJECT] = { "reject", ALL(rdma_ucm_reject), 0, bf_cm_reject },
	[RDMA_USER_CM_CMD_DISCONNECT] = { "disconnect", ALL(rdma_ucm_disconnect), 0, bf_cm_disconnect },
	[RDMA_USER_CM_CMD_INIT_QP_ATTR] = { "init_qp_attr", ALL(rdma_ucm_init_qp_attr), OUT(ib_uverbs_qp_attr),
					    bf_cm_init_qp_attr },
	[RDMA_USER_CM_CMD_GET_EVENT] = { "get_event", ALL(rdma_ucm_get_event), OLD_EVENT, bf_cm_get_event },
	[RDMA_USER_CM_CMD_GET_OPTION] = { "get_option", 0, 0, 0, NULL },
	[RDMA_USER_CM_CMD_SET_OPTION] = { "set_option", ALL(rdma_ucm_set_option), 0, bf_cm_set_option },
	[RDMA_USER_CM_CMD_NOTIFY] = { "notify", ALL(rdma_ucm_notify), 0, bf_cm_notify },
	[RDMA_USER_CM_CMD_JOIN_IP_MCAST] = { "join_ip_mcast", ALL(rdma_ucm_join_ip_mcast), OUT(rdma_ucm_create_id_resp),
					     bf_cm_join_ip_mcast },
	[RDMA_USER_CM_CMD_LEAVE_MCAST] = { "leave_mcast", FROM(rdma_ucm_destroy_id, id), OUT(rdma_ucm_destroy_id_resp),
					   bf_cm_leave_mcast },
	[RDMA_USER_CM_CMD_MIGRATE_ID] = { "migrate_id", ALL(rdma_ucm_migrate_id), OUT(rdma_ucm_migrate_resp),
					  bf_cm_migrate_id },
	[RDMA_USER_CM_CMD_QUERY] = { "query", ALL(rdma_ucm_query), 0, bf_cm_query },
	[RDMA_USER_CM_CMD_BIND] = { "bind", ALL(rdma_ucm_bind), 0, bf_cm_bind },
	[RDMA_USER_CM_CMD_RESOLVE_ADDR] = { "resolve_addr", ALL(rdma_ucm_resolve_addr), 0, bf_cm_resolve_addr },
	[RDMA_USER_CM_CMD_JOIN_MCAST] = { "join_mcast", ALL(rdma_ucm_join_mcast), OUT(rdma_ucm_create_id_resp),
					  bf_cm_join_mcast },
};

int bf_cm_answer(struct bf_cm_call *c, uint64_t response, const void *from, uint32_t len)
{
	const struct bf_uverbs_host *h = &c->cm->opts.host;

	return h->copy_out(h->arg, response, from, len < c->out_len ? len : c->out_len) ? -EFAULT : 0;
}

static void record(const struct bf_cm_call *c, const char *name, int status)
{
	struct bf_rec_cm_call rec = { .status = status, .id = c->number };

	if (!bf_probe(c->cm->sim, BF_CLASS_QUEUE))
		return;
	snprintf(rec.name, sizeof(rec.name), "%s", name);
	BF_EMIT_MADE(c->cm->sim, c->cm->actor, cm_call, rec, NULL, 0);
}

static int run(struct bf_cm_call *c, const struct command *cmd, uint64_t address, uint32_t in_len)
{
	const struct bf_uverbs_host *h = &c->cm->opts.host;

	if (!cmd->run)
		return -ENOSYS;
	if (in_len < cmd->least)
		return -EINVAL;
	if (c->out_len < cmd->out)
		return -ENOSPC;
	if (h->copy_in(h->arg, &c->in, address, in_len < cmd->size ? in_len : cmd->size))
		return -EFAULT;
	return cmd->run(c);
}

bool bf_rdmacm_asks_for_event(const struct bf_uverbs_host *h, uint64_t address, uint64_t len)
{
	struct rdma_ucm_cmd_hdr head;

	return len >= sizeof(head) && !h->copy_in(h->arg, &head, address, sizeof(head)) &&
	       head.cmd == RDMA_USER_CM_CMD_GET_EVENT;
}

int64_t bf_rdmacm_write(struct bf_rdmacm_file *f, uint64_t address, uint64_t len)
{
	struct bf_cm_call c = { .cm = f->cm, .f = f, .number = BF_CM_NONE };
	const struct bf_uverbs_host *h = &f->cm->opts.host;
	struct rdma_ucm_cmd_hdr head;
	int err;

	if (len < sizeof(head))
		return -EINVAL;
	if (address + len < address || h->copy_in(h->arg, &head, address, sizeof(head)))
		return -EFAULT;
	if (head.cmd >= BF_ARRAY_LEN(commands) || head.in + sizeof(head) > len)
		return -EINVAL;
	c.out_len = head.out;
	err = run(&c, &commands[head.cmd], address + sizeof(head), head.in);
	/* Programs that look for events without waiting do so as often as they like. */
	if (head.cmd != RDMA_USER_CM_CMD_GET_EVENT || err != -EAGAIN)
		record(&c, commands[head.cmd].name, err);
	return err ? err : (int64_t)len;
}

/* Multicast groups that datagram queue pairs belong to. */
#include "models/uverbs/uverbs_internal.h"

#include <stdlib.h>

static struct bf_uv_mcast **find(struct bf_uv_qp *qp, const uint8_t gid[16], uint16_t mlid)
{
	struct bf_uv_mcast **at = &qp->mcast;

	while (*at && (memcmp((*at)->gid, gid, 16) || (*at)->mlid != mlid))
		at = &(*at)->next;
	return at;
}

BF_STATIC_ASSERT(sizeof(struct ib_uverbs_attach_mcast) == sizeof(struct ib_uverbs_detach_mcast),
		 "both requests have one layout");

/* What a request is about: the queue pair, and where its list has that group, or ends. 0 or a negative errno. */
static int ask(struct bf_uv_call *c, struct ib_uverbs_attach_mcast *cmd, struct bf_uv_qp **qp, struct bf_uv_mcast ***at)
{
	int err = bf_uv_request(c, cmd, sizeof(*cmd));

	if (err)
		return err;
	*qp = bf_uv_get_object(c, UVERBS_OBJECT_QP, cmd->qp_handle);
	if (!*qp)
		return -EINVAL;
	c->number = (*qp)->qpn;
	*at = find(*qp, cmd->gid, cmd->mlid);
	return 0;
}

/* Attaching twice is no error (core/uverbs_cmd.c ib_uverbs_attach_mcast()). */
int bf_uv_attach_mcast(struct bf_uv_call *c)
{
	struct ib_uverbs_attach_mcast cmd;
	struct bf_uv_mcast *m, **at;
	struct bf_uv_qp *qp;
	int err = ask(c, &cmd, &qp, &at);

	if (err || *at)
		return err;
	if (!bf_uv_gid_is_group(cmd.gid) || qp->type != IB_UVERBS_QPT_UD)
		return -EINVAL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	err = bf_uv_provider(c->u)->mcast(c->u, true, qp->qpn, cmd.gid);
	if (err) {
		free(m);
		return err;
	}
	memcpy(m->gid, cmd.gid, sizeof(m->gid));
	m->mlid = cmd.mlid;
	*at = m;
	return 0;
}

int bf_uv_detach_mcast(struct bf_uv_call *c)
{
	struct ib_uverbs_attach_mcast cmd;
	struct bf_uv_mcast *m, **at;
	struct bf_uv_qp *qp;
	int err = ask(c, &cmd, &qp, &at);

	if (err)
		return err;
	m = *at;
	if (!m)
		return -EINVAL;
	err = bf_uv_provider(c->u)->mcast(c->u, false, qp->qpn, cmd.gid);
	if (err)
		return err;
	*at = m->next;
	free(m);
	return 0;
}

void bf_uv_mcast_drop(struct bf_uv_qp *qp)
{
	while (qp->mcast) {
		struct bf_uv_mcast *m = qp->mcast;

		bf_uv_provider(qp->o.file->u)->mcast(qp->o.file->u, false, qp->qpn, m->gid);
		qp->mcast = m->next;
		free(m);
	}
}

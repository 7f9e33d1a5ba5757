/* Backend "rxe": looks for an RDMA device that could execute entries by verbs. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "drivers/backend/absent_internal.h"
#include "drivers/backend/backends_internal.h"

static int probe(char *why, size_t cap)
{
	char dev[64];

	if (bf_absent_first("/sys/class/infiniband", NULL, dev, sizeof(dev)))
		snprintf(why, cap, "this build has no verbs executor (RDMA device %s is there)", dev);
	else
		snprintf(why, cap,
			 "this build has no verbs executor, and the machine no RDMA device: "
			 "'modprobe rdma_rxe; rdma link add rxe0 type rxe netdev IFACE' makes one%s",
			 geteuid() ? " (as root)" : "");
	return -ENOTSUP;
}

static int world_open(const struct bf_world_opts *opts, struct bf_error *err, struct bf_world **out)
{
	(void)opts;
	*out = NULL;
	return bf_absent_open("rxe", probe, err);
}

const struct bf_backend bf_backend_rxe = {
	.name = "rxe",
	.summary = "entries executed by verbs on any RDMA device, soft-RoCE first",
	.probe = probe,
	.open = world_open,
	.platform = BF_PLATFORM_NATIVE,
};

#include <errno.h>

#include "models/fabric/fabric_internal.h"
#include "models/fabric/topology.h"

int bf_fabric_set_topology(struct bf_fabric *f, const struct bf_topology *t)
{
	if (f->count)
		return bf_fail(&f->sim->error, -EBUSY, "fabric: a topology is set before the first port");
	return t->kind == BF_TOPOLOGY_SWITCH ? 0 : bf_fail(&f->sim->error, -ENOTSUP, "fabric: one switch only");
}

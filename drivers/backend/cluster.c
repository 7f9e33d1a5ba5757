/* Worlds of clusters: which of the two kinds does it. */
#include "drivers/backend/cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/cluster_internal.h"

int bf_cluster_open(const struct bf_cluster_opts *opts, struct bf_error *err, struct bf_cluster_world **out)
{
	struct bf_cluster_world *w;
	int rc;

	*out = NULL;
	if (opts->platform != BF_PLATFORM_SIM)
		return bf_fail(err, -ENOTSUP, "no clusters of blocks for this platform in this build");
	w = calloc(1, sizeof(*w));
	if (!w)
		return bf_fail(err, -ENOMEM, "no memory for a world");
	w->opts = *opts;
	w->err = err;
	rc = bf_cluster_sim_open(w);
	if (rc) {
		bf_cluster_close(w);
		return rc;
	}
	*out = w;
	return 0;
}

void bf_cluster_close(struct bf_cluster_world *w)
{
	if (!w)
		return;
	bf_cluster_sim_close(w);
	free(w);
}

int bf_cluster_alloc(struct bf_cluster_world *w, uint64_t size, const char *name, struct bf_memory *out)
{
	return bf_cluster_sim_alloc(w, size, name, out);
}

int bf_cluster_run(struct bf_cluster_world *w, const struct bf_cluster_grid *grid, struct bf_cluster_result *out)
{
	memset(out, 0, sizeof(*out));
	return bf_cluster_sim_run(w, grid, out);
}

struct bf_sim *bf_cluster_sim(struct bf_cluster_world *w)
{
	return w->sim;
}

/*
 * Backend "rxe": the driver's rings, doorbells and completions are those of an mlx5 device, and any RDMA device
 * executes what is in them: soft-RoCE first, which every Linux machine can have. A thread looks at the doorbell pages,
 * fetches entries, posts them on queue pairs of that device, and writes what comes of them into the driver's CQs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "drivers/backend/backends_internal.h"
#include "drivers/backend/rxe_internal.h"

#define SPINS 2000u /* turns without work before the thread sleeps */
#define NAP_NS 50000
#define LINGER_NS 200000000ull /* for what was posted and nobody waited for */

static int probe(char *why, size_t cap)
{
	return bf_verbs_probe(false, why, cap);
}

static void world_close(struct bf_world *m)
{
	struct bf_rxe_world *w = m ? bf_rxe_world_of(m) : NULL;

	if (!w)
		return;
	bf_rxe_close_objects(w);
	bf_stream_close(&w->records);
	bf_stream_fini(&w->records);
	free(w->load);
	bf_verbs_world_close(&w->v);
	free(w);
}

static int world_open(const struct bf_world_opts *opts, struct bf_error *err, struct bf_world **out)
{
	struct bf_rxe_world *w = calloc(1, sizeof(*w));
	int rc;

	*out = NULL;
	if (!w)
		return bf_fail(err, -ENOMEM, "no memory for a world");
	rc = bf_verbs_world_open(&w->v, "rxe", false, opts, err);
	if (!rc) {
		w->load = calloc((size_t)w->v.m.npes * w->v.m.nics, sizeof(*w->load));
		rc = w->load ? 0 : bf_fail(err, -ENOMEM, "no memory for a world");
	}
	if (!rc)
		rc = bf_rxe_records_open(w, opts);
	if (rc)
		world_close(&w->v.m);
	else
		*out = &w->v.m;
	return rc;
}

/* ---- the thread ---- */

static uint32_t turn(struct bf_rxe_world *w)
{
	uint32_t work = bf_rxe_hear(w);

	for (struct bf_rxe_qp *qp = w->qps; qp; qp = qp->next) {
		if (!qp->vqp)
			continue;
		work += bf_rxe_receive(w, qp) + bf_rxe_send(w, qp);
		bf_rxe_retire(w, qp);
	}
	return work + bf_rxe_poll(w);
}

static void *serve(void *arg)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	struct bf_rxe_world *w = arg;
	uint32_t idle = 0, work;

	while (!__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE)) {
		pthread_mutex_lock(&w->v.lock);
		work = turn(w);
		pthread_mutex_unlock(&w->v.lock);
		idle = work ? 0 : idle + 1;
		if (idle > SPINS)
			nanosleep(&nap, NULL);
	}
	return NULL;
}

/* Entries whose completion no kernel waited for are on their way. */
static void linger(struct bf_rxe_world *w)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	bool busy = true;

	for (uint64_t waited = 0; busy && waited < LINGER_NS; waited += NAP_NS) {
		busy = false;
		pthread_mutex_lock(&w->v.lock);
		for (const struct bf_rxe_qp *qp = w->qps; qp; qp = qp->next)
			busy |= qp->vqp && qp->head != qp->tail;
		pthread_mutex_unlock(&w->v.lock);
		if (busy)
			nanosleep(&nap, NULL);
	}
}

static void describe_queues(const struct bf_rxe_world *w, char *report, size_t cap)
{
	for (const struct bf_rxe_qp *qp = w->qps; qp; qp = qp->next) {
		const size_t used = strlen(report);

		if (qp->vqp && (qp->head != qp->tail || qp->producer != qp->fetched))
			snprintf(report + used, cap - used,
				 "QP 0x%x on %s: %u entries fetched, %u of them posted, rung up to %u of %u\n", qp->qpn,
				 qp->nic->info.name, qp->tail - qp->head, qp->sends, qp->fetched, qp->producer);
	}
}

static int world_run(struct bf_world *m, struct bf_world_result *out)
{
	struct bf_rxe_world *w = bf_rxe_world_of(m);
	int rc;

	w->stop = false;
	rc = -pthread_create(&w->thread, NULL, serve, w);
	if (rc)
		return bf_fail(m->err, rc, "cannot start the thread that executes entries");
	rc = bf_workers_run(&w->v.workers, m, out);
	linger(w);
	__atomic_store_n(&w->stop, true, __ATOMIC_RELEASE);
	pthread_join(w->thread, NULL);
	if (out->end == BF_END_LIMIT)
		describe_queues(w, out->report, sizeof(out->report));
	bf_stream_flush(&w->records);
	out->hash = bf_stream_hash(&w->records);
	out->records = w->records.count;
	return rc;
}

const struct bf_backend bf_backend_rxe = {
	BF_BACKEND_HEAD,
	.name = "rxe",
	.summary = "mlx5 rings whose entries any RDMA device, such as soft-RoCE, executes through verbs",
	.devices = BF_DEVICE_MLX5,
	.records = BF_CLASS_QUEUE,
	.probe = probe,
	.open = world_open,
	.close = world_close,
	.alloc = bf_verbs_alloc,
	.nic_info = bf_verbs_nic_info,
	.command = bf_rxe_command,
	.map_uar = bf_rxe_map_uar,
	.port_up = bf_verbs_port_up,
	.address = bf_verbs_address,
	.launch = bf_machine_launch,
	.launch_cpu = bf_machine_launch_cpu,
	.reachable = bf_verbs_reachable,
	.describe = bf_verbs_describe,
	.run = world_run,
	.sim = bf_machine_sim,
	.platform = BF_PLATFORM_NATIVE,
};

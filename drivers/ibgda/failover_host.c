#include "drivers/ibgda/failover_host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/ibgda/failover_internal.h"
#include "models/mlx5/prm.h"
#include "sim/stats.h"

static uint32_t or_default(uint32_t v, uint32_t by_default)
{
	return v ? v : by_default;
}

static void fill_opts(struct bf_ibgda_failover *f, const struct bf_ibgda_failover_opts *opts)
{
	if (opts)
		f->opts = *opts;
	f->opts.poll_ns = or_default(f->opts.poll_ns, f->be->platform == BF_PLATFORM_SIM ? 2000 : 100000);
	f->opts.command_ns = or_default(f->opts.command_ns, 10000);
	f->opts.control_ns = or_default(f->opts.control_ns, 20000);
	f->opts.down_ns = or_default(f->opts.down_ns, 10000);
	f->opts.drain_ns = or_default(f->opts.drain_ns, 100000);
	f->opts.stable_ns = or_default(f->opts.stable_ns, 50000);
	f->opts.lanes = or_default(f->opts.lanes, BF_LANES);
}

/* A backup on the device of its primary is on that NIC's other port. */
static int find_port(struct bf_ibgda_failover *f, uint32_t pe, struct bf_failover_end *e,
		     const struct bf_ibgda_qp *first)
{
	int rc = bf_ibgda_host_device(f->host, pe, e->qp->dev_idx, &e->nic, &e->port);

	if (!rc && e->qp->is_backup && e->qp->dev_idx == first->dev_idx)
		e->port ^= 1;
	return rc;
}

static int open_rc(struct bf_ibgda_failover *f, uint32_t pe, uint32_t peer, uint32_t i)
{
	struct bf_failover_pe *s = &f->pe[pe];
	const uint32_t at = peer * f->nrc + i, theirs = pe * f->nrc + i;
	struct bf_failover_rc *r = &s->rc[at];
	int rc = 0;

	r->end[0].qp = bf_ibgda_host_qp(f->host, pe, peer, i);
	r->end[1].qp = bf_ibgda_host_backup_qp(f->host, pe, peer, i);
	if (!r->end[0].qp || !r->end[1].qp) {
		r->end[0].qp = NULL; /* the PE's own place, or a device without a partner: nothing to supervise */
		return 0;
	}
	for (uint32_t q = 0; !rc && q < 2; q++) {
		r->told[q] = &f->said[((uint64_t)pe * s->nrc + at) * 2 + q];
		r->heard[q] = &f->said[((uint64_t)peer * s->nrc + theirs) * 2 + q];
		rc = find_port(f, pe, &r->end[q], r->end[0].qp);
	}
	return rc;
}

/* What supervisors count is a statistic of the simulation, too. */
static int attach_stats(struct bf_failover_pe *s)
{
	const struct bf_ibgda_failover_totals *n = &s->totals;
	const struct {
		const char *name;
		const uint64_t *field;
	} stats[] = {
		{ "stopped", &n->stopped },         { "moved", &n->moved },       { "back", &n->back },
		{ "reconnected", &n->reconnected }, { "replayed", &n->replayed }, { "unknown", &n->unknown },
		{ "no_key", &n->no_key },           { "lost", &n->lost },
	};
	char base[24];
	int rc = 0;

	snprintf(base, sizeof(base), "failover.pe%u", s->pe);
	for (size_t i = 0; !rc && i < BF_ARRAY_LEN(stats); i++)
		rc = bf_stats_attach_part(s->f->be->sim(s->f->world), s->f, base, stats[i].name, "", stats[i].field);
	return rc ? bf_fail(s->f->err, rc, "no memory for failover's statistics") : 0;
}

static int open_pe(struct bf_ibgda_failover *f, uint32_t pe)
{
	struct bf_failover_pe *s = &f->pe[pe];
	struct bf_memory m;
	int rc;

	s->f = f;
	s->pe = pe;
	s->state = bf_ibgda_host_state(f->host, pe);
	s->nrc = f->npes * f->nrc;
	s->rc = calloc(s->nrc, sizeof(*s->rc));
	if (!s->rc)
		return bf_fail(f->err, -ENOMEM, "no memory for the supervisor of PE %u", pe);
	rc = f->be->alloc(f->world, pe, BF_PLACE_HOST, 64, "threads that ended", &m);
	s->ended = m.ptr;
	if (!rc)
		rc = attach_stats(s);
	for (uint32_t peer = 0; !rc && peer < f->npes; peer++)
		for (uint32_t i = 0; !rc && i < f->nrc; i++)
			rc = open_rc(f, pe, peer, i);
	return rc;
}

/* From another process. */
static void hear(void *arg, uint64_t where, uint64_t value)
{
	struct bf_ibgda_failover *f = arg;

	if (where < f->nsaid + f->npes)
		__atomic_store_n(&f->said[where], value, __ATOMIC_RELEASE);
}

void bf_ibgda_failover_say(struct bf_ibgda_failover *f, uint32_t to, uint64_t at_ns, uint64_t where)
{
	if (f->be->say)
		f->be->say(f->world, to, at_ns * BF_NS, where, f->said[where]);
}

int bf_ibgda_failover_open(const struct bf_backend *be, struct bf_world *w, struct bf_ibgda_host *h, uint32_t npes,
			   const struct bf_ibgda_failover_opts *opts, struct bf_error *err,
			   struct bf_ibgda_failover **out)
{
	const struct bf_ibgda_state *first = NULL;
	struct bf_ibgda_failover *f;
	uint32_t here = 0;
	int rc = 0;

	*out = NULL;
	for (uint32_t pe = 0; pe < npes; pe++) {
		const struct bf_ibgda_state *state = bf_ibgda_host_state(h, pe);

		here += state != NULL;
		first = first ? first : state;
	}
	if (!first || (here < npes && !be->say))
		return bf_fail(err, -ENOTSUP, "failover of PEs in several processes needs one simulation of them");
	if (!first->num_backup_per_pe || !be->port_up || !be->launch_cpu)
		return bf_fail(err, -EINVAL, "failover needs connections with backups, and a backend with CPU threads");
	f = calloc(1, sizeof(*f) + npes * sizeof(f->pe[0]));
	if (!f)
		return bf_fail(err, -ENOMEM, "no memory for failover");
	*f = (struct bf_ibgda_failover){
		.be = be, .world = w, .host = h, .err = err, .npes = npes, .nrc = first->num_rc_per_pe
	};
	fill_opts(f, opts);
	f->nsaid = (uint64_t)npes * npes * f->nrc * 2;
	f->said = calloc(f->nsaid + npes, sizeof(*f->said));
	if (!f->said)
		rc = bf_fail(err, -ENOMEM, "no memory for failover");
	for (uint32_t pe = 0; !rc && pe < npes; pe++)
		if (bf_ibgda_host_state(h, pe))
			rc = open_pe(f, pe);
	if (!rc && be->listen)
		be->listen(w, hear, f);
	if (rc) {
		bf_ibgda_failover_close(f);
		return rc;
	}
	*out = f;
	return 0;
}

void bf_ibgda_failover_close(struct bf_ibgda_failover *f)
{
	if (!f)
		return;
	if (f->be->listen)
		f->be->listen(f->world, NULL, NULL);
	bf_stats_detach(f->be->sim(f->world), f);
	for (uint32_t pe = 0; pe < f->npes; pe++)
		free(f->pe[pe].rc);
	free(f->said);
	free(f);
}

int bf_ibgda_failover_launch(struct bf_ibgda_failover *f, uint32_t pe, uint32_t blocks, uint32_t warps,
			     bf_kernel_fn *kernel, void *arg)
{
	const struct bf_failover_kernels *k =
	    f->be->platform == BF_PLATFORM_SIM ? &bf_ibgda_failover_sim : &bf_ibgda_failover_native;
	struct bf_failover_pe *s = &f->pe[pe];
	int rc;

	s->kernel = kernel;
	s->arg = arg;
	s->threads = blocks * warps * f->opts.lanes;
	s->counted = false;
	s->others_ended = 0;
	memset(s->ended, 0, sizeof(*s->ended));
	memset(f->said + f->nsaid, 0, f->npes * sizeof(*f->said));
	rc = f->be->launch(f->world, pe, blocks, warps, k->grid, s);
	return rc ? rc : f->be->launch_cpu(f->world, pe, 1, k->supervisor, s);
}

static int command(struct bf_failover_pe *s, const struct bf_failover_end *e, enum bf_mlx5_cmd_op op, uint32_t number,
		   uint8_t *out, size_t len)
{
	uint8_t in[16] = { 0 };
	int rc;

	BF_MLX5_SET(in, BF_CMD_OPCODE, (uint32_t)op);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, number);
	rc = s->f->be->command(s->f->world, s->pe, e->nic, in, sizeof(in), out, len);
	return rc ? rc : BF_MLX5_GET(out, BF_CMD_OUT_STATUS) != BF_MLX5_CMD_OK ? -EIO : 0;
}

int bf_ibgda_failover_stop(struct bf_failover_pe *s, const struct bf_failover_end *e)
{
	uint8_t out[16] = { 0 };

	return command(s, e, BF_MLX5_CMD_2ERR_QP, e->qp->qpn, out, sizeof(out));
}

int bf_ibgda_failover_ask_cq(struct bf_failover_pe *s, const struct bf_failover_end *e, uint32_t *producer)
{
	uint8_t out[16 + BF_CQC_LEN] = { 0 };
	const int rc = command(s, e, BF_MLX5_CMD_QUERY_CQ, e->qp->tx_wq.cq->cqn, out, sizeof(out));

	*producer = BF_MLX5_GET(out + 16, BF_CQC_PRODUCER);
	return rc;
}

static void add(struct bf_ibgda_failover_totals *to, const struct bf_ibgda_failover_totals *from)
{
	to->stopped += from->stopped;
	to->moved += from->moved;
	to->back += from->back;
	to->reconnected += from->reconnected;
	to->replayed += from->replayed;
	to->unknown += from->unknown;
	to->no_key += from->no_key;
	to->lost += from->lost;
}

void bf_ibgda_failover_totals(const struct bf_ibgda_failover *f, uint32_t pe, struct bf_ibgda_failover_totals *out)
{
	*out = (struct bf_ibgda_failover_totals){ 0 };
	for (uint32_t i = 0; i < f->npes; i++)
		if (pe == UINT32_MAX || pe == i)
			add(out, &f->pe[i].totals);
}

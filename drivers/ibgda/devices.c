/*
 * IBGDA, host side: which devices a PE uses. A device is a port of a NIC, as in NVSHMEM; candidates are all ports of
 * all NICs of the PE that pass the checks, and every refusal is kept so that "no device" can be explained.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "drivers/ibgda/host_internal.h"

#define CANDIDATES (BF_IBGDA_NICS_MAX * BF_IBGDA_PORTS_MAX)
#define CQE_VERSION 1u /* 64-byte CQEs with a user index: what the poller reads */
#define RC_ATOMICS (BF_ATOMIC_CS | BF_ATOMIC_FA | BF_ATOMIC_MASKED_CS | BF_ATOMIC_MASKED_FA)

struct candidate {
	uint32_t nic, port;
	struct bf_nic_info info;
	bool compact_av, dc;
};

struct search {
	struct bf_ibgda_transport *t;
	struct candidate found[CANDIDATES];
	uint32_t count;
	char reasons[160]; /* "mlx5_0:1 has no atomics; ..." */
};

static void BF_PRINTF(2, 3) refuse(struct search *s, const char *fmt, ...)
{
	const size_t used = strlen(s->reasons);
	va_list ap;

	if (used + 3 < sizeof(s->reasons) && used)
		memcpy(s->reasons + used, "; ", 3);
	va_start(ap, fmt);
	vsnprintf(s->reasons + strlen(s->reasons), sizeof(s->reasons) - strlen(s->reasons), fmt, ap);
	va_end(ap);
}

/* A capability page, or a register; zeros where the NIC has nothing to say. */
static int query(struct search *s, const struct candidate *c, uint8_t *in, size_t in_len, uint8_t *out, size_t out_len)
{
	struct bf_ibgda_transport *t = s->t;
	int rc = t->be->command(t->world, t->pe, c->nic, in, in_len, out, out_len);

	if (rc)
		return rc;
	return BF_MLX5_GET(out, BF_CMD_OUT_STATUS) == BF_MLX5_CMD_OK ? 0 : -EIO;
}

static int query_caps(struct search *s, const struct candidate *c, uint32_t type, uint8_t out[272])
{
	uint8_t in[16] = { 0 };

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_HCA_CAP);
	BF_MLX5_SET(in, BF_CMD_OP_MOD, type << 1 | 1);
	return query(s, c, in, sizeof(in), out, 272);
}

static bool port_is_up(struct search *s, const struct candidate *c)
{
	uint8_t in[BF_ACCESS_REG_DATA + BF_PAOS_LEN] = { 0 }, out[BF_ACCESS_REG_DATA + BF_PAOS_LEN] = { 0 };

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_ACCESS_REG);
	BF_MLX5_SET(in, BF_CMD_OP_MOD, BF_ACCESS_REG_READ);
	BF_MLX5_SET(in, BF_ACCESS_REG_ID, BF_REG_PAOS);
	BF_MLX5_SET(in + BF_ACCESS_REG_DATA, BF_PAOS_PORT, c->port + 1);
	return !query(s, c, in, sizeof(in), out, sizeof(out)) &&
	       BF_MLX5_GET(out + BF_ACCESS_REG_DATA, BF_PAOS_OPER) == BF_PAOS_UP;
}

/* Text after the name when the NIC cannot do what this transport needs; NULL when it can. */
static const char *lacks(struct search *s, struct candidate *c)
{
	const struct bf_ibgda_host_opts *o = &s->t->opts;
	uint8_t general[272] = { 0 }, atomic[272] = { 0 };
	const uint8_t *cap = general + BF_HCA_CAP;

	if (query_caps(s, c, BF_HCA_CAP_GENERAL, general) || query_caps(s, c, BF_HCA_CAP_ATOMIC, atomic))
		return "does not answer QUERY_HCA_CAP: no mlx5 device";
	if (BF_MLX5_GET(cap, BF_CAP_CQE_VERSION) != CQE_VERSION)
		return "has CQEs of another version";
	if (!o->no_rc && !BF_MLX5_GET(cap, BF_CAP_RC))
		return "has no RC transport";
	if (s->t->dc_wanted && !BF_MLX5_GET(cap, BF_CAP_DCT))
		return "has no DC transport";
	if (!o->plain_cq && !BF_MLX5_GET(cap, BF_CAP_CQ_OI))
		return "cannot ignore CQ overruns, which collapsed CQs need";
	if (1ull << BF_MLX5_GET(cap, BF_CAP_LOG_MAX_QP_SZ) < o->qp_depth || c->info.max_qp_depth < o->qp_depth)
		return "has shorter queues than QP_DEPTH";
	if (!c->info.atomics || !BF_MLX5_GET(cap, BF_CAP_ATOMIC) ||
	    (BF_MLX5_GET(atomic + BF_HCA_CAP, BF_ATOMIC_CAP_OPERATIONS) & RC_ATOMICS) != RC_ATOMICS)
		return "lacks atomics of 4 and 8 bytes, masked ones included";
	c->compact_av = BF_MLX5_GET(cap, BF_CAP_COMPACT_AV);
	c->dc = BF_MLX5_GET(cap, BF_CAP_DCT);
	return NULL;
}

/* ---- names ---- */

static bool prefixed(const char *name, const char *prefix)
{
	const bool not = *prefix == '^';

	return !strncmp(name, prefix + not, strlen(prefix + not )) != not ;
}

static bool is_hca(const struct candidate *c, const struct bf_ibgda_hca *h)
{
	return !strcmp(c->info.name, h->name) && (!h->port || h->port == c->port + 1);
}

/* HCA_LIST and HCA_PE_MAPPING count only with ENABLE_NIC_PE_MAPPING, as NVSHMEM's documentation has it. */
static const char *filtered(const struct bf_ibgda_env *env, const struct candidate *c)
{
	bool listed = false;

	if (!prefixed(c->info.name, env->hca_prefix))
		return "is not named as HCA_PREFIX wants";
	if (!env->enable_nic_pe_mapping || !env->hca_list.count || env->hca_pe_mapping.count)
		return NULL;
	for (uint32_t i = 0; i < env->hca_list.count; i++)
		listed |= is_hca(c, &env->hca_list.entry[i]);
	if (listed == env->hca_list.exclude)
		return env->hca_list.exclude ? "is excluded by HCA_LIST" : "is not in HCA_LIST";
	return NULL;
}

static void consider(struct search *s, const struct candidate *nic, uint32_t port)
{
	struct candidate c = *nic;
	const char *why;

	c.port = port;
	why = filtered(s->t->env, &c);
	if (!why)
		why = lacks(s, &c);
	if (!why && !port_is_up(s, &c))
		why = "is down";
	if (!why && s->t->env->ib_gid_index > 0)
		why = "has only GID 0, not IB_GID_INDEX";
	if (why)
		refuse(s, "%s:%u %s", c.info.name, port + 1, why);
	else
		s->found[s->count++] = c;
}

static int find_candidates(struct search *s)
{
	struct bf_ibgda_transport *t = s->t;
	struct candidate c = { 0 };
	int rc;

	for (uint32_t nic = 0; nic < BF_IBGDA_NICS_MAX; nic++) {
		rc = t->be->nic_info(t->world, t->pe, nic, &c.info);
		if (rc && !nic)
			return bf_fail(t->err, rc, "PE %u has no NIC", t->pe);
		if (rc)
			break;
		c.nic = nic;
		for (uint32_t port = 0; port < c.info.ports && port < BF_IBGDA_PORTS_MAX; port++)
			consider(s, &c, port);
	}
	if (!s->count)
		return bf_fail(t->err, -ENODEV, "PE %u has no device left: %s", t->pe, s->reasons);
	return 0;
}

/* ---- choice ---- */

/* Which entry of HCA_PE_MAPPING serves this PE: the counts one after the other, and again from the start. */
static int mapped(struct search *s, uint32_t *out)
{
	const struct bf_ibgda_hcas *map = &s->t->env->hca_pe_mapping;
	uint32_t total = 0, place, i = 0;

	for (uint32_t k = 0; k < map->count; k++)
		total += map->entry[k].count;
	place = s->t->pe % total;
	for (; place >= map->entry[i].count; i++)
		place -= map->entry[i].count;
	for (*out = 0; *out < s->count; (*out)++)
		if (is_hca(&s->found[*out], &map->entry[i]))
			return 0;
	return bf_fail(s->t->err, -ENODEV, "PE %u: HCA_PE_MAPPING names %s:%u, which is not there%s%s", s->t->pe,
		       map->entry[i].name, map->entry[i].port, s->reasons[0] ? ": " : "", s->reasons);
}

static int open_nic(struct bf_ibgda_transport *t, const struct candidate *c, struct bf_ibgda_nic **out)
{
	struct bf_ibgda_nic *nic = t->nic;
	uint8_t in[16] = { 0 };
	int rc = 0;

	while (nic < t->nic + t->nnics && nic->index != c->nic)
		nic++;
	*out = nic;
	if (nic < t->nic + t->nnics)
		return 0;
	*nic =
	    (struct bf_ibgda_nic){ .index = c->nic, .info = c->info, .pd = BF_IBGDA_NONE, .compact_av = c->compact_av };
	t->nnics++;
	for (uint32_t p = 0; !rc && p < c->info.ports && p < BF_IBGDA_PORTS_MAX; p++)
		rc = t->be->address(t->world, t->pe, c->nic, p, nic->port[p].gid, nic->port[p].mac);
	if (rc)
		return bf_fail(t->err, rc, "PE %u, %s: a port has no address", t->pe, c->info.name);
	rc = bf_ibgda_precheck(t, BF_IBGDA_LACKS_ADDRESS_HANDLE);
	if (rc)
		return rc;
	return bf_ibgda_create(t, nic, BF_MLX5_CMD_ALLOC_PD, "ALLOC_PD", in, sizeof(in), BF_IBGDA_KIND_PD, &nic->pd);
}

/*
 * Where the backups of each device are: the other port of a NIC with two, otherwise the neighbour in pairs (0 and 1, 2
 * and 3); an odd last one has none.
 */
static void pair_devices(struct bf_ibgda_transport *t)
{
	for (uint32_t i = 0; i < t->ndevs; i++) {
		struct bf_ibgda_device *d = &t->dev[i];
		const uint32_t other = i ^ 1;

		if (d->nic->info.ports > 1) {
			d->backup_nic = d->nic;
			d->backup_port = d->port ^ 1;
			d->backup_dev = i; /* keys are the NIC's, whichever port uses them */
		} else if (other < t->ndevs) {
			d->backup_nic = t->dev[other].nic;
			d->backup_port = t->dev[other].port;
			d->backup_dev = other;
		}
	}
}

static int choose(struct search *s)
{
	struct bf_ibgda_transport *t = s->t;
	const struct bf_ibgda_env *env = t->env;
	uint32_t first = 0, n = t->opts.devices ? t->opts.devices : env->ibgda_enable_multi_port ? s->count : 1;
	int rc = 0;

	if (n > BF_IBGDA_MAX_DEVICES)
		n = BF_IBGDA_MAX_DEVICES;
	if (n > s->count)
		return bf_fail(t->err, -ENODEV, "PE %u: %u devices wanted, there are %u%s%s", t->pe, n, s->count,
			       s->reasons[0] ? ": " : "", s->reasons);
	if (env->enable_nic_pe_mapping && env->hca_pe_mapping.count)
		rc = mapped(s, &first);
	else if (env->enable_nic_pe_mapping)
		first = t->pe % s->count;
	for (uint32_t i = 0; !rc && i < n; i++) {
		const struct candidate *c = &s->found[(first + i) % s->count];

		t->dev[i] = (struct bf_ibgda_device){ .port = c->port,
						      .candidate = (first + i) % s->count,
						      .dct_cqn = BF_IBGDA_NONE,
						      .dct_uar = BF_IBGDA_NONE };
		t->opts.no_dc |= !c->dc;
		rc = open_nic(t, c, &t->dev[i].nic);
		t->ndevs += !rc;
	}
	return rc;
}

int bf_ibgda_open_devices(struct bf_ibgda_transport *t)
{
	struct search s = { .t = t };
	int rc = find_candidates(&s);

	if (!rc)
		rc = choose(&s);
	if (!rc)
		pair_devices(t);
	return rc;
}

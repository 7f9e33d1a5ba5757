/* A PE's NICs, ConnectX on the network of all: their part of the modelled machine, and the backend calls that want one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/machine_internal.h"
#include "drivers/backend/ranks_internal.h"
#include "models/fabric/topology.h"
#include "models/mlx5/mlx5.h"

/*
 * Queue pairs of a PE's NICs have numbers of their own: its drivers name a queue pair by that alone. Hardware may give
 * out the same ones.
 */
#define QPNS_OF_A_NIC 0x10000u

struct nics {
	struct bf_mlx5 *nic[BF_NICS_MAX]; /* NULL: it has no more */
};

/* NULL: the PE has no such NIC. */
static struct bf_mlx5 *nic_of(const struct bf_pe *pe, uint32_t nic)
{
	const struct nics *n = pe->part[BF_DEVICE_AT_MLX5];

	return n && nic < BF_NICS_MAX ? n->nic[nic] : NULL;
}

/* 10.0.0.1 up for the first port of the first NIC of each PE; the other ports are on networks of their own. */
static uint32_t port_ipv4(uint32_t pe, uint32_t nic, uint32_t port)
{
	return (10u << 24 | (nic * BF_NIC_PORTS_MAX + port) << 16) + pe + 1;
}

static int open_nic(struct bf_world *m, uint32_t index, uint32_t nic, const struct bf_mlx5_profile *profile,
		    struct bf_mlx5 **out)
{
	struct bf_pe *pe = &m->pe[index];
	char name[32];
	struct bf_mlx5_opts opts = {
		.name = name,
		.profile = profile,
		.space = &pe->space,
		.ioas = &pe->ioas,
		.fabric = m->fabric,
		.ports = m->ports,
		.ipv4 = { port_ipv4(index, nic, 0), port_ipv4(index, nic, 1) },
		.host = index,
		.rail = nic * m->ports,
		.first_qpn = nic ? 0x100 + nic * QPNS_OF_A_NIC : 0,
		/* One for each queue pair of up to 64 to every peer: DeepEP has one for each expert of a PE. */
		.uar_pages = 64 + 64 * (m->npes - 1),
	};

	if (m->nics == 1)
		snprintf(name, sizeof(name), "nic%u", index);
	else
		snprintf(name, sizeof(name), "nic%u.%u", index, nic);
	return bf_mlx5_create(m->sim, &opts, out);
}

static int open_nics(struct bf_world *m, uint32_t index, const struct bf_world_opts *opts)
{
	struct nics *n = calloc(1, sizeof(*n));
	int rc = n ? 0 : bf_fail(&m->sim->error, -ENOMEM, "no memory for NICs");

	m->pe[index].part[BF_DEVICE_AT_MLX5] = n;
	for (uint32_t nic = 0; !rc && nic < m->nics; nic++)
		rc = open_nic(m, index, nic, opts->device_opts[BF_DEVICE_AT_MLX5], &n->nic[nic]);
	return rc;
}

static void close_nics(struct bf_pe *pe)
{
	struct bf_mlx5 *dev;

	for (uint32_t nic = 0; (dev = nic_of(pe, nic)) != NULL; nic++)
		bf_mlx5_destroy(dev);
	free(pe->part[BF_DEVICE_AT_MLX5]);
	pe->part[BF_DEVICE_AT_MLX5] = NULL;
}

static int poll_nics(struct bf_pe *pe)
{
	struct bf_mlx5 *dev;
	int found = 0;

	for (uint32_t nic = 0; (dev = nic_of(pe, nic)) != NULL; nic++)
		found |= bf_mlx5_poll_uars(dev);
	return found;
}

static int open_fabric(struct bf_world *m, const struct bf_world_opts *opts)
{
	struct bf_topology topology;
	int rc = bf_fabric_create(m->sim, &m->fabric);

	if (rc || !opts->topology)
		return rc;
	rc = bf_topology_parse(opts->topology, &topology, &m->sim->error);
	return rc ? rc : bf_fabric_set_topology(m->fabric, &topology);
}

/* What the others' PEs are here: addresses on the network. */
static int attach_remote(struct bf_world *m, uint32_t pe, uint32_t rank)
{
	int rc = 0;

	for (uint32_t nic = 0; nic < m->nics; nic++)
		for (uint32_t port = 0; !rc && port < m->ports; port++)
			rc = bf_fabric_attach_remote_at(m->fabric, port_ipv4(pe, nic, port), rank, pe,
							nic * m->ports + port);
	return rc;
}

static void close_fabric(struct bf_world *m)
{
	if (m->fabric)
		bf_fabric_destroy(m->fabric);
}

struct describe {
	struct bf_queue_report *report;
	const char *pe;
	uint32_t nic, nics;
};

static void describe_qp(void *arg, const struct bf_mlx5_qp_info *q)
{
	static const char *const states[] = { "RST", "INIT", "RTR", "RTS", "SQER", "SQD", "ERR" };
	struct describe *d = arg;
	char nic[8] = "", syndrome[64] = "";

	if (q->sq_completed == q->sq_producer && !q->syndrome && q->state == BF_MLX5_QPS_RTS)
		return;
	if (d->nics > 1)
		snprintf(nic, sizeof(nic), ".nic%u", d->nic % BF_NICS_MAX);
	if (q->syndrome)
		snprintf(syndrome, sizeof(syndrome), "; syndrome 0x%02x vendor 0x%02x", q->syndrome,
			 q->vendor_syndrome);
	bf_report_queue(
	    d->report,
	    "%s%s QP 0x%x %s: doorbell record %u, fetched %u, started %u, completed %u; PSN next %u, acknowledged %u; "
	    "%u doorbells, %u retries%s\n",
	    d->pe, nic, q->qpn, q->state < BF_ARRAY_LEN(states) ? states[q->state] : "?", q->sq_producer, q->sq_fetched,
	    q->sq_started, q->sq_completed, q->send_psn, q->acked_psn, q->doorbells, q->retries, syndrome);
}

static void describe_nics(struct bf_world *m, const struct bf_pe *pe, struct bf_queue_report *report)
{
	struct describe d = { .report = report, .pe = pe->name, .nics = m->nics };

	for (d.nic = 0; nic_of(pe, d.nic); d.nic++)
		bf_mlx5_each_qp(nic_of(pe, d.nic), describe_qp, &d);
}

static int check_nic(struct bf_world *m, uint32_t pe, uint32_t nic)
{
	const int rc = bf_machine_check_pe(m, pe);

	return rc || nic_of(&m->pe[pe], nic) ? rc : bf_fail(m->err, -ENODEV, "PE %u has no NIC %u", pe, nic);
}

/* In the general capabilities: struct mlx5_ifc_cmd_hca_cap_bits, include/linux/mlx5/mlx5_ifc.h in Linux. */
#define HCA_CAP_LOG_MAX_QP_SZ 0x11

/* Each NIC is the only function behind a root port of its own. */
int bf_machine_nic_info(struct bf_world *m, uint32_t pe, uint32_t nic, struct bf_nic_info *out)
{
	uint8_t in[16] = { 0 }, cap[16 + 0x20] = { 0 };
	int rc = bf_machine_check_pe(m, pe);

	if (rc)
		return rc;
	/* Who counts NICs asks for one too many: that is no error to tell of. */
	if (!nic_of(&m->pe[pe], nic))
		return -ENODEV;
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_HCA_CAP);
	rc = bf_machine_command(m, pe, nic, in, sizeof(in), cap, sizeof(cap));
	if (rc)
		return rc;
	*out = (struct bf_nic_info){ .ports = m->ports, .atomics = true };
	out->max_qp_depth = 1u << (cap[16 + HCA_CAP_LOG_MAX_QP_SZ] & 31);
	snprintf(out->name, sizeof(out->name), "mlx5_%u", nic);
	snprintf(out->pcie, sizeof(out->pcie), "/sys/devices/pci0000:00/0000:00:%02x.0/0000:%02x:00.0", nic + 1,
		 nic + 1);
	return 0;
}

int bf_machine_command(struct bf_world *m, uint32_t pe, uint32_t nic, const void *in, size_t in_len, void *out,
		       size_t out_len)
{
	int rc = check_nic(m, pe, nic);

	return rc ? rc : bf_mlx5_cmd(nic_of(&m->pe[pe], nic), in, in_len, out, out_len);
}

int bf_machine_map_uar(struct bf_world *m, uint32_t pe, uint32_t nic, struct bf_uar *out)
{
	uint8_t in[16] = { 0 }, reply[16] = { 0 };
	struct bf_region *r;
	int rc;

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_ALLOC_UAR);
	rc = bf_machine_command(m, pe, nic, in, sizeof(in), reply, sizeof(reply));
	if (rc)
		return rc;
	if (BF_MLX5_GET(reply, BF_CMD_OUT_STATUS) != BF_MLX5_CMD_OK)
		return bf_fail(m->err, -ENOSPC, "PE %u: ALLOC_UAR failed with status 0x%x", pe,
			       BF_MLX5_GET(reply, BF_CMD_OUT_STATUS));
	out->index = BF_MLX5_GET(reply, BF_CMD_OUT_NUMBER);
	r = bf_mlx5_uar(nic_of(&m->pe[pe], nic), out->index);
	if (!r)
		return bf_fail(m->err, -ENODEV, "PE %u: UAR %u has no page", pe, out->index);
	out->page = r->bytes;
	return bf_machine_expose(m, r);
}

static int port_info(struct bf_world *m, uint32_t pe, uint32_t nic, uint32_t port, struct bf_port_info *out)
{
	const int rc = check_nic(m, pe, nic);

	if (rc)
		return rc;
	if (port >= m->ports)
		return bf_fail(m->err, -EINVAL, "PE %u, NIC %u: no port %u", pe, nic, port);
	bf_port_info(bf_mlx5_port(nic_of(&m->pe[pe], nic), port + 1), out);
	return 0;
}

/* RoCEv2 over IPv4: the address mapped into IPv6 (InfiniBand Architecture, annex A17). */
int bf_machine_address(struct bf_world *m, uint32_t pe, uint32_t nic, uint32_t port, uint8_t gid[16], uint8_t mac[6])
{
	struct bf_port_info info;
	const int rc = port_info(m, pe, nic, port, &info);

	if (rc)
		return rc;
	memset(gid, 0, 10);
	gid[10] = gid[11] = 0xff;
	bf_put_be32(gid + 12, info.ipv4);
	memcpy(mac, info.mac, 6);
	return 0;
}

int bf_machine_port_up(struct bf_world *m, uint32_t pe, uint32_t nic, uint32_t port)
{
	struct bf_port_info info;
	const int rc = port_info(m, pe, nic, port, &info);

	return rc ? rc : info.up;
}

extern const struct bf_part bf_part_mlx5;
const struct bf_part bf_part_mlx5 = {
	.device = BF_DEVICE_MLX5,
	.kind = "nic",
	.actor = "nic",
	.open_shared = open_fabric,
	.close_shared = close_fabric,
	.open = open_nics,
	.open_remote = attach_remote,
	.close = close_nics,
	.poll = poll_nics,
	.describe = describe_nics,
};

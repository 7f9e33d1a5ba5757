/*
 * Flow tables: which received frames go where. flow_rx.c takes frames through them, flow_counter.c counts.
 *
 * A table has groups, a range of its entries each, that look at the same bits of a frame. Of the entries that match the
 * one with the lowest index counts (Linux drivers/net/ethernet/mellanox/mlx5/core/fs_core.c keeps its priorities by
 * that). It drops the frame, lets it go where it would go anyway, or forwards it: to TIRs, to a table of a higher
 * level. What no entry matches goes to the table's own next one, or is for nobody: a program's frames are all that
 * there is, since no kernel has a network interface here.
 *
 * Modelled are tables of received frames (NIC_RX) and the outer headers up to TCP and UDP. Other kinds, tunnels,
 * metadata and changes of the frame are refused by name.
 */
#include "models/mlx5/flow_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#define MOST_FLOWS (1u << BF_FT_LOG_MAX) /* of a device; each takes memory of this process */

/* ---- tables ---- */

static uint8_t refuse_kind(const struct bf_mlx5_mail *m)
{
	const uint32_t type = BF_MLX5_GET(m->in, BF_FT_TYPE);

	if (BF_MLX5_GET(m->in, BF_FT_OTHER_VPORT))
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM, "other_vport: there is one");
	if (type != BF_FT_NIC_RX)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM, "table_type %u: the model has NIC_RX (0) alone",
				      type);
	return BF_MLX5_CMD_OK;
}

static struct bf_mlx5_flow_table *find_table(const struct bf_mlx5_mail *m, uint8_t *status)
{
	const uint32_t id = BF_MLX5_GET(m->in, BF_FT_ID);
	struct bf_mlx5_flow_table *t;

	*status = refuse_kind(m);
	if (*status)
		return NULL;
	t = bf_mlx5_table_get(&m->dev->eth.tables, id);
	if (!t)
		*status = bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_RES, "table_id 0x%x: there is no such table", id);
	return t;
}

/* Where what does not match goes. Levels rise, so that no frame goes round. */
static uint8_t set_miss(struct bf_mlx5_mail *m, struct bf_mlx5_flow_table *t, const uint8_t *ftc)
{
	const uint32_t action = BF_MLX5_GET(ftc, BF_FTC_MISS_ACTION), id = BF_MLX5_GET(ftc, BF_FTC_MISS_ID);
	struct bf_mlx5_flow_table *next = NULL;

	if (action > BF_FT_MISS_TABLE)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM, "table_miss_action %u: default 0, table 1",
				      action);
	if (action == BF_FT_MISS_TABLE) {
		next = bf_mlx5_table_get(&m->dev->eth.tables, id);
		if (!next || next->level <= t->level)
			return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM,
					      "table_miss_id 0x%x: must be a table of a level above %u", id, t->level);
		next->users++;
	}
	if (t->miss)
		t->miss->users--;
	t->miss = next;
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_create_flow_table(struct bf_mlx5_mail *m)
{
	const uint8_t *ftc = m->in + BF_FT_CONTEXT;
	const uint32_t level = BF_MLX5_GET(ftc, BF_FTC_LEVEL), log_size = BF_MLX5_GET(ftc, BF_FTC_LOG_SIZE);
	struct bf_mlx5_flow_table *t;
	uint8_t status = refuse_kind(m);

	if (status)
		return status;
	if (BF_MLX5_GET(ftc, BF_FTC_UNSUPPORTED))
		return bf_mlx5_refuse(
		    m->dev, BF_MLX5_CMD_BAD_PARAM,
		    "flow_table_context 0x%x: no reformat, decapsulation, tables of the software's own "
		    "(sw_owner) or termination",
		    BF_MLX5_GET(ftc, BF_FTC_UNSUPPORTED));
	if (level > BF_FT_MAX_LEVEL || log_size > BF_FT_LOG_MAX)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM, "level %u, log_size %u: at most %u and %u", level,
				      log_size, BF_FT_MAX_LEVEL, BF_FT_LOG_MAX);
	t = calloc(1, sizeof(*t));
	if (!t)
		return BF_MLX5_CMD_NO_RES;
	t->level = level;
	t->size = 1u << log_size;
	status = set_miss(m, t, ftc);
	if (!status && bf_mlx5_table_add(&m->dev->eth.tables, t, &t->number)) {
		if (t->miss)
			t->miss->users--;
		status = BF_MLX5_CMD_LIM;
	}
	if (status)
		free(t);
	else
		m->number = t->number;
	return status;
}

uint8_t bf_mlx5_cmd_modify_flow_table(struct bf_mlx5_mail *m)
{
	const uint32_t what = BF_MLX5_GET(m->in, BF_FT_MODIFY_SELECT);
	uint8_t status;
	struct bf_mlx5_flow_table *t = find_table(m, &status);

	if (!t)
		return status;
	if (what != BF_FT_MODIFY_MISS)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM, "modify_field_select 0x%x: what misses (1) alone",
				      what);
	return set_miss(m, t, m->in + BF_FT_CONTEXT);
}

static void forget_entry(struct bf_mlx5 *dev, const struct bf_mlx5_flow_entry *e)
{
	if (e->counter)
		e->counter->users--;
	for (uint32_t i = 0; i < e->count; i++)
		if (e->to[i].table)
			((struct bf_mlx5_flow_table *)bf_mlx5_table_get(&dev->eth.tables, e->to[i].number))->users--;
		else
			bf_mlx5_tir_hold(dev, e->to[i].number, UINT32_MAX);
}

uint8_t bf_mlx5_cmd_destroy_flow_table(struct bf_mlx5_mail *m)
{
	uint8_t status;
	struct bf_mlx5_flow_table *t = find_table(m, &status);

	if (!t)
		return status;
	if (t->users || t->groups)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_RES_BUSY, "table_id 0x%x: has groups, or others lead to it",
				      t->number);
	if (t->miss)
		t->miss->users--;
	bf_mlx5_table_remove(&m->dev->eth.tables, t->number);
	free(t);
	return BF_MLX5_CMD_OK;
}

/* Where each frame begins. Table 0 is none. While there is one the port listens. */
uint8_t bf_mlx5_cmd_set_flow_root(struct bf_mlx5_mail *m)
{
	struct bf_mlx5_ethernet *eth = &m->dev->eth;
	struct bf_mlx5_flow_table *t = NULL;
	uint8_t status = refuse_kind(m);

	if (!status && BF_MLX5_GET(m->in, BF_FT_ID))
		t = find_table(m, &status);
	if (status)
		return status;
	for (uint32_t i = 0; t && !eth->root && i < m->dev->port_count; i++)
		if (bf_port_join(m->dev->ports[i].port, BF_FABRIC_RAW)) {
			while (i--)
				bf_port_leave(m->dev->ports[i].port, BF_FABRIC_RAW);
			return BF_MLX5_CMD_NO_RES;
		}
	for (uint32_t i = 0; !t && eth->root && i < m->dev->port_count; i++)
		bf_port_leave(m->dev->ports[i].port, BF_FABRIC_RAW);
	if (t)
		t->users++;
	if (eth->root)
		eth->root->users--;
	eth->root = t;
	return BF_MLX5_CMD_OK;
}

/* ---- groups ---- */

static struct bf_mlx5_flow_group **find_group(struct bf_mlx5_flow_table *t, uint32_t number)
{
	struct bf_mlx5_flow_group **at = &t->groups;

	while (*at && (*at)->number != number)
		at = &(*at)->next;
	return at;
}

/* Bits of the mask that the model does not look at; NULL: none. */
static const char *unseen(const uint8_t *mask, uint32_t criteria)
{
	static const uint8_t none[BF_MATCH_LEN];
	uint8_t rest[BF_MATCH_LEN];

	if (criteria & ~BF_FG_OUTER)
		return "match_criteria_enable: the outer headers (1) alone";
	memcpy(rest, mask, sizeof(rest));
	memset(rest + BF_MATCH_SMAC, 0, 6);
	BF_MLX5_SET(rest, BF_MATCH_ETHERTYPE, 0);
	memset(rest + BF_MATCH_DMAC, 0, 6);
	BF_MLX5_SET(rest, BF_MATCH_VLAN, 0);
	bf_put_be32(rest + 0x10, 0);
	BF_MLX5_SET(rest, BF_MATCH_TCP_SPORT, 0);
	BF_MLX5_SET(rest, BF_MATCH_TCP_DPORT, 0);
	BF_MLX5_SET(rest, BF_MATCH_TTL, 0);
	BF_MLX5_SET(rest, BF_MATCH_UDP_SPORT, 0);
	BF_MLX5_SET(rest, BF_MATCH_UDP_DPORT, 0);
	memset(rest + BF_MATCH_SRC_IP, 0, 32);
	return memcmp(rest, none, sizeof(rest)) ? "match_criteria: a bit that the model does not know" : NULL;
}

static bool overlaps(const struct bf_mlx5_flow_table *t, uint32_t start, uint32_t end)
{
	for (const struct bf_mlx5_flow_group *g = t->groups; g; g = g->next)
		if (start <= g->end && g->start <= end)
			return true;
	return false;
}

uint8_t bf_mlx5_cmd_create_flow_group(struct bf_mlx5_mail *m)
{
	const uint32_t start = BF_MLX5_GET(m->in, BF_FG_START), end = BF_MLX5_GET(m->in, BF_FG_END);
	const uint32_t criteria = BF_MLX5_GET(m->in, BF_FG_CRITERIA);
	const char *why = unseen(m->in + BF_FG_MASK, criteria);
	struct bf_mlx5_flow_group *g, **at;
	uint8_t status;
	struct bf_mlx5_flow_table *t = find_table(m, &status);

	if (!t)
		return status;
	if (why)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM, "%s", why);
	if (start > end || end >= t->size || overlaps(t, start, end))
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM,
				      "entries %" PRIu32 " to %" PRIu32 ": must be free ones of the table's %" PRIu32,
				      start, end, t->size);
	g = calloc(1, sizeof(*g));
	if (!g)
		return BF_MLX5_CMD_NO_RES;
	g->start = start;
	g->end = end;
	g->number = ++t->last_group;
	if (criteria)
		memcpy(g->mask, m->in + BF_FG_MASK, sizeof(g->mask));
	for (at = &t->groups; *at && (*at)->start < start;)
		at = &(*at)->next;
	g->next = *at;
	*at = g;
	m->number = g->number;
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_destroy_flow_group(struct bf_mlx5_mail *m)
{
	uint8_t status;
	struct bf_mlx5_flow_table *t = find_table(m, &status);
	struct bf_mlx5_flow_group **at, *g;

	if (!t)
		return status;
	at = find_group(t, BF_MLX5_GET(m->in, BF_FG_ID));
	g = *at;
	if (!g)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_RES, "group_id 0x%x: there is none",
				      BF_MLX5_GET(m->in, BF_FG_ID));
	if (g->entries)
		return BF_MLX5_CMD_RES_BUSY;
	*at = g->next;
	free(g);
	return BF_MLX5_CMD_OK;
}

/* ---- entries ---- */

/* With several tables in each of many levels, a frame would be looked up without end. */
static bool leads_to_table(const struct bf_mlx5_flow_entry *e)
{
	for (uint32_t i = 0; i < e->count; i++)
		if (e->to[i].table)
			return true;
	return false;
}

static uint8_t take_destination(struct bf_mlx5_mail *m, const struct bf_mlx5_flow_table *t,
				struct bf_mlx5_flow_entry *e, const uint8_t *d)
{
	const uint32_t type = BF_MLX5_GET(d, BF_FD_TYPE), id = BF_MLX5_GET(d, BF_FD_ID);
	struct bf_mlx5_flow_table *to;

	if (type == BF_FD_TIR) {
		if (!bf_mlx5_tir_hold(m->dev, id, 1))
			return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_RES, "destination TIR 0x%x: there is none", id);
	} else if (type == BF_FD_TABLE) {
		if (leads_to_table(e))
			return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM,
					      "destination table 0x%x: the model forwards to one table", id);
		to = bf_mlx5_table_get(&m->dev->eth.tables, id);
		if (!to || to->level <= t->level)
			return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM,
					      "destination table 0x%x: must be one of a level above %u", id, t->level);
		to->users++;
	} else {
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM,
				      "destination_type %u: the model has tables (1) and TIRs (2)", type);
	}
	e->to[e->count].number = id;
	e->to[e->count++].table = type == BF_FD_TABLE;
	return BF_MLX5_CMD_OK;
}

static uint8_t check_entry(struct bf_mlx5_mail *m, const uint8_t *fc)
{
	const uint32_t asked = BF_MLX5_GET(fc, BF_FTE_ACTION), action = asked & ~BF_FTE_COUNT,
		       n = BF_MLX5_GET(fc, BF_FTE_DESTINATIONS), counters = BF_MLX5_GET(fc, BF_FTE_COUNTERS);

	if (action != BF_FTE_ALLOW && action != BF_FTE_DROP && action != BF_FTE_FORWARD)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM,
				      "action 0x%x: allow 1, drop 2 or forward 4, and count 8; no changes of the frame",
				      asked);
	if (BF_MLX5_GET(fc, BF_FTE_EXTENDED))
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM, "extended_destination: not modelled");
	if (counters != !!(asked & BF_FTE_COUNT))
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM,
				      "flow_counter_list_size %u: one for action count, else 0", counters);
	if ((action == BF_FTE_FORWARD) != (n != 0) || n > BF_FTE_LIST_MAX)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM,
				      "destination_list_size %u: 1 to %u for action forward, else 0", n,
				      BF_FTE_LIST_MAX);
	if (m->in_len < BF_FTE_CONTEXT + BF_FTE_LIST + (size_t)(n + counters) * 8)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_INP_LEN,
				      "destination_list_size %u, flow_counter_list_size %u: beyond the mailbox of %zu "
				      "bytes",
				      n, counters, m->in_len);
	return BF_MLX5_CMD_OK;
}

static struct bf_mlx5_flow_entry **find_entry(struct bf_mlx5_flow_group *g, uint32_t index)
{
	struct bf_mlx5_flow_entry **at = &g->entries;

	while (*at && (*at)->index < index)
		at = &(*at)->next;
	return at;
}

/* An entry that is there is replaced (op_mod 1 names what changes; it is taken as a whole). */
uint8_t bf_mlx5_cmd_set_flow_entry(struct bf_mlx5_mail *m)
{
	const uint8_t *fc = m->in + BF_FTE_CONTEXT;
	const uint32_t index = BF_MLX5_GET(m->in, BF_FTE_INDEX), n = BF_MLX5_GET(fc, BF_FTE_DESTINATIONS);
	uint8_t status;
	struct bf_mlx5_flow_table *t = find_table(m, &status);
	struct bf_mlx5_flow_group *g = t ? *find_group(t, BF_MLX5_GET(fc, BF_FTE_GROUP)) : NULL;
	struct bf_mlx5_flow_entry *e, **at;

	if (!t)
		return status;
	if (!g || index < g->start || index > g->end)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM, "flow_index %u: not one of group 0x%x", index,
				      BF_MLX5_GET(fc, BF_FTE_GROUP));
	status = check_entry(m, fc);
	if (status)
		return status;
	if (m->dev->eth.flows >= MOST_FLOWS)
		return BF_MLX5_CMD_LIM;
	e = calloc(1, sizeof(*e));
	if (!e)
		return BF_MLX5_CMD_NO_RES;
	e->index = index;
	e->tag = BF_MLX5_GET(fc, BF_FTE_TAG);
	e->action = (uint16_t)(BF_MLX5_GET(fc, BF_FTE_ACTION) & ~BF_FTE_COUNT);
	memcpy(e->value, fc + BF_FTE_VALUE, sizeof(e->value));
	for (uint32_t i = 0; i < BF_MATCH_WORDS; i++)
		e->value[i] &= g->mask[i];
	for (uint32_t i = 0; i < n && !status; i++)
		status = take_destination(m, t, e, fc + BF_FTE_LIST + (size_t)i * 8);
	if (!status && BF_MLX5_GET(fc, BF_FTE_COUNTERS))
		status = bf_mlx5_flow_counter_take(m, fc + BF_FTE_LIST + (size_t)n * 8, &e->counter);
	if (status) {
		forget_entry(m->dev, e);
		free(e);
		return status;
	}
	at = find_entry(g, index);
	e->next = *at;
	if (*at && (*at)->index == index) {
		struct bf_mlx5_flow_entry *old = *at;

		e->next = old->next;
		forget_entry(m->dev, old);
		free(old);
	} else {
		m->dev->eth.flows++;
	}
	*at = e;
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_delete_flow_entry(struct bf_mlx5_mail *m)
{
	const uint32_t index = BF_MLX5_GET(m->in, BF_FTE_INDEX);
	uint8_t status;
	struct bf_mlx5_flow_table *t = find_table(m, &status);

	for (struct bf_mlx5_flow_group *g = t ? t->groups : NULL; g; g = g->next) {
		struct bf_mlx5_flow_entry **at = find_entry(g, index), *e = *at;

		if (!e || e->index != index)
			continue;
		*at = e->next;
		forget_entry(m->dev, e);
		free(e);
		m->dev->eth.flows--;
		return BF_MLX5_CMD_OK;
	}
	return t ? bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_RES, "flow_index %u: there is no entry", index) : status;
}

void bf_mlx5_flow_tables_free(struct bf_mlx5 *dev)
{
	struct bf_mlx5_flow_table *t;

	for (uint32_t i = 0; dev->eth.root && i < dev->port_count; i++)
		bf_port_leave(dev->ports[i].port, BF_FABRIC_RAW);
	dev->eth.root = NULL;
	for (uint32_t n = 0; (t = bf_mlx5_table_next(&dev->eth.tables, &n)); n++) {
		while (t->groups) {
			struct bf_mlx5_flow_group *g = t->groups;

			t->groups = g->next;
			while (g->entries) {
				struct bf_mlx5_flow_entry *e = g->entries;

				g->entries = e->next;
				free(e);
			}
			free(g);
		}
		free(t);
	}
	bf_mlx5_flow_counters_free(dev);
}

/*
 * NVMe commands as the Linux tracepoints print them, both ways (drivers/nvme/host/trace.c, include/linux/nvme.h
 * "show_opcode_name").
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "traces/import/ftrace.h"

#define FABRICS_OPCODE 0x7fu

/* Where a printed argument stands in CDW10 to CDW15: first bit of the 192, width; and how it is printed. */
struct argument {
	const char *name;
	uint8_t bit, width;
	bool hex;
};

static const struct argument rw[] = {
	{ "slba", 0, 64, false },    { "len", 64, 16, false },     { "ctrl", 80, 16, true },
	{ "dsmgmt", 96, 32, false }, { "reftag", 128, 32, false }, { 0 },
};
static const struct argument dsm[] = { { "nr", 0, 32, false }, { "attributes", 32, 32, false }, { 0 } };
static const struct argument identify[] = { { "cns", 0, 8, false }, { "ctrlid", 16, 16, false }, { 0 } };
static const struct argument create_sq[] = {
	{ "sqid", 0, 16, false },
	{ "qsize", 16, 16, false },
	{ "sq_flags", 32, 16, true },
	{ "cqid", 48, 16, false },
	{ 0 },
};
static const struct argument create_cq[] = {
	{ "cqid", 0, 16, false },
	{ "qsize", 16, 16, false },
	{ "cq_flags", 32, 16, true },
	{ "irq_vector", 48, 16, false },
	{ 0 },
};
static const struct argument delete_sq[] = { { "sqid", 0, 16, false }, { 0 } };
static const struct argument delete_cq[] = { { "cqid", 0, 16, false }, { 0 } };
static const struct argument set_features[] = {
	{ "fid", 0, 8, true },
	{ "sv", 31, 1, true },
	{ "cdw11", 32, 32, true },
	{ 0 },
};
static const struct argument get_features[] = {
	{ "fid", 0, 8, true },
	{ "sel", 8, 3, true },
	{ "cdw11", 32, 32, true },
	{ 0 },
};
static const struct argument format[] = {
	{ "lbaf", 0, 4, false }, { "mset", 4, 1, false }, { "pi", 5, 3, false },
	{ "pil", 8, 1, false },  { "ses", 9, 3, false },  { 0 },
};
static const struct argument lba_status[] = {
	{ "slba", 0, 64, true }, { "mndw", 64, 32, true }, { "rl", 96, 16, true }, { "atype", 120, 8, false }, { 0 },
};
static const struct argument zone_send[] = {
	{ "slba", 0, 64, false },
	{ "zsa", 96, 8, false },
	{ "all", 104, 1, false },
	{ 0 },
};
static const struct argument zone_recv[] = {
	{ "slba", 0, 64, false },   { "numd", 64, 32, false }, { "zra", 96, 8, false },
	{ "zrasf", 104, 8, false }, { "pr", 112, 1, false },   { 0 },
};
static const struct argument connect_args[] = {
	{ "recfmt", 0, 16, false }, { "qid", 16, 16, false },  { "sqsize", 32, 16, false },
	{ "cattr", 48, 8, false },  { "kato", 64, 32, false }, { 0 },
};
static const struct argument property_get[] = { { "attrib", 0, 8, false }, { "ofst", 32, 32, true }, { 0 } };
static const struct argument property_set[] = {
	{ "attrib", 0, 8, false },
	{ "ofst", 32, 32, true },
	{ "value", 64, 64, true },
	{ 0 },
};

struct command {
	const char *name;
	uint8_t opcode;              /* of a fabrics command: its type */
	const struct argument *args; /* NULL: 24 bytes from CDW10 on in hexadecimal */
};

static const struct command admin_commands[] = {
	{ "nvme_admin_delete_sq", 0x00, delete_sq },
	{ "nvme_admin_create_sq", 0x01, create_sq },
	{ "nvme_admin_get_log_page", 0x02, NULL },
	{ "nvme_admin_delete_cq", 0x04, delete_cq },
	{ "nvme_admin_create_cq", 0x05, create_cq },
	{ "nvme_admin_identify", 0x06, identify },
	{ "nvme_admin_abort_cmd", 0x08, NULL },
	{ "nvme_admin_set_features", 0x09, set_features },
	{ "nvme_admin_get_features", 0x0a, get_features },
	{ "nvme_admin_async_event", 0x0c, NULL },
	{ "nvme_admin_ns_mgmt", 0x0d, NULL },
	{ "nvme_admin_activate_fw", 0x10, NULL },
	{ "nvme_admin_download_fw", 0x11, NULL },
	{ "nvme_admin_dev_self_test", 0x14, NULL },
	{ "nvme_admin_ns_attach", 0x15, NULL },
	{ "nvme_admin_keep_alive", 0x18, NULL },
	{ "nvme_admin_directive_send", 0x19, NULL },
	{ "nvme_admin_directive_recv", 0x1a, NULL },
	{ "nvme_admin_virtual_mgmt", 0x1c, NULL },
	{ "nvme_admin_nvme_mi_send", 0x1d, NULL },
	{ "nvme_admin_nvme_mi_recv", 0x1e, NULL },
	{ "nvme_admin_dbbuf", 0x7c, NULL },
	{ "nvme_admin_format_nvm", 0x80, format },
	{ "nvme_admin_security_send", 0x81, NULL },
	{ "nvme_admin_security_recv", 0x82, NULL },
	{ "nvme_admin_sanitize_nvm", 0x84, NULL },
	{ "nvme_admin_get_lba_status", 0x86, lba_status },
	{ 0 },
};
static const struct command io_commands[] = {
	{ "nvme_cmd_flush", 0x00, NULL },
	{ "nvme_cmd_write", 0x01, rw },
	{ "nvme_cmd_read", 0x02, rw },
	{ "nvme_cmd_write_uncor", 0x04, NULL },
	{ "nvme_cmd_compare", 0x05, NULL },
	{ "nvme_cmd_write_zeroes", 0x08, rw },
	{ "nvme_cmd_dsm", 0x09, dsm },
	{ "nvme_cmd_verify", 0x0c, NULL },
	{ "nvme_cmd_resv_register", 0x0d, NULL },
	{ "nvme_cmd_resv_report", 0x0e, NULL },
	{ "nvme_cmd_resv_acquire", 0x11, NULL },
	{ "nvme_cmd_resv_release", 0x15, NULL },
	{ "nvme_cmd_copy", 0x19, NULL },
	{ "nvme_cmd_zone_mgmt_send", 0x79, zone_send },
	{ "nvme_cmd_zone_mgmt_recv", 0x7a, zone_recv },
	{ "nvme_cmd_zone_append", 0x7d, rw },
	{ 0 },
};
static const struct command fabrics_commands[] = {
	{ "nvme_fabrics_type_property_set", 0x00, property_set }, { "nvme_fabrics_type_connect", 0x01, connect_args },
	{ "nvme_fabrics_type_property_get", 0x04, property_get }, { "nvme_fabrics_type_auth_send", 0x05, NULL },
	{ "nvme_fabrics_type_auth_receive", 0x06, NULL },         { 0 },
};

static const struct command *by_code(const struct command *c, uint32_t code)
{
	while (c->name && c->opcode != code)
		c++;
	return c->name ? c : NULL;
}

static const struct command *find_command(uint32_t qid, uint32_t opcode, int32_t fctype)
{
	if (fctype >= 0)
		return by_code(fabrics_commands, (uint32_t)fctype);
	return by_code(qid ? io_commands : admin_commands, opcode);
}

const char *bf_ftrace_command_name(uint32_t qid, uint32_t opcode, int32_t fctype)
{
	const struct command *c = find_command(qid, opcode, fctype);

	return c ? c->name : NULL;
}

/* The dwords from CDW10 on, as bytes. */
static uint8_t *dwords(struct bf_nvme_sqe *sqe)
{
	return (uint8_t *)sqe + 40;
}

static uint64_t get_argument(const struct bf_nvme_sqe *sqe, const struct argument *a)
{
	const uint8_t *p = (const uint8_t *)sqe + 40 + a->bit / 32 * 4;
	const uint64_t word = a->width > 32 ? bf_get_le64(p) : bf_get_le32(p);

	return a->width == 64 ? word : word >> a->bit % 32 & ((1ull << a->width) - 1);
}

static void put_argument(struct bf_nvme_sqe *sqe, const struct argument *a, uint64_t value)
{
	uint8_t *p = dwords(sqe) + a->bit / 32 * 4;

	if (a->width == 64)
		bf_put_le64(p, value);
	else
		bf_put_le32(p, bf_get_le32(p) | (uint32_t)(value << a->bit % 32));
}

int bf_ftrace_command_text(uint32_t qid, uint32_t opcode, int32_t fctype, const struct bf_nvme_sqe *sqe, char *buf,
			   size_t cap)
{
	const struct command *c = find_command(qid, opcode, fctype);
	const uint8_t *bytes = (const uint8_t *)sqe + 40;
	char text[256];
	size_t used = 0;

	if (c && c->args) {
		for (const struct argument *a = c->args; a->name; a++)
			used += (size_t)snprintf(text + used, sizeof(text) - used,
						 a->hex ? "%s%s=0x%" PRIx64 : "%s%s=%" PRIu64, used ? ", " : "",
						 a->name, get_argument(sqe, a));
		return snprintf(buf, cap, "%s", text);
	}
	for (size_t i = 0; i < 24; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%02x", i ? " " : "cdw10=", bytes[i]);
	return snprintf(buf, cap, "%s", text);
}

/* ---- reading ---- */

struct cursor {
	const char *start, *p, *end;
	const char *why;
};

static bool at(const struct cursor *c, const char *set)
{
	return c->p < c->end && strchr(set, *c->p);
}

static size_t fail(struct cursor *c, const char *p, const char *why)
{
	c->p = p;
	c->why = why;
	return (size_t)(p - c->start) + 1;
}

/* A decimal number, or one with 0x in front. False when there is none, or none that fits into 64 bits. */
static bool number(struct cursor *c, uint64_t *out)
{
	uint64_t base = 10;
	const char *first;

	if (c->end - c->p > 2 && c->p[0] == '0' && (c->p[1] == 'x' || c->p[1] == 'X')) {
		base = 16;
		c->p += 2;
	}
	first = c->p;
	*out = 0;
	for (; c->p < c->end; c->p++) {
		const uint64_t d = (uint64_t)bf_hex_digit(*c->p); /* -1: larger than any base */

		if (d >= base)
			break;
		if (*out > (UINT64_MAX - d) / base)
			return false;
		*out = *out * base + d;
	}
	return c->p > first;
}

/* "cdw10=01 00 ...": up to 24 bytes. */
static bool hex_bytes(struct cursor *c, uint8_t *out)
{
	size_t n = 0;

	while (c->p < c->end) {
		if (n == 24 || c->end - c->p < 2 || bf_hex_digit(c->p[0]) < 0 || bf_hex_digit(c->p[1]) < 0)
			return false;
		out[n++] = (uint8_t)(bf_hex_digit(c->p[0]) << 4 | bf_hex_digit(c->p[1]));
		c->p += 2;
		while (at(c, " "))
			c->p++;
	}
	return n > 0;
}

static const struct command *command_named(const char *name, size_t len, const struct command *table)
{
	for (; table->name; table++)
		if (strlen(table->name) == len && memcmp(table->name, name, len) == 0)
			return table;
	return NULL;
}

static size_t read_name(struct cursor *c, uint32_t qid, struct bf_ftrace_event *ev, const struct command **out)
{
	const char *name = c->p;
	uint64_t code;
	size_t len;

	while (c->p < c->end && !at(c, " ,"))
		c->p++;
	len = (size_t)(c->p - name);
	ev->setup.fctype = -1;
	*out = command_named(name, len, qid ? io_commands : admin_commands);
	if (!*out && (*out = command_named(name, len, fabrics_commands))) {
		ev->setup.opcode = FABRICS_OPCODE;
		ev->setup.fctype = (*out)->opcode;
		ev->setup.sqe.nsid.b[0] = (*out)->opcode; /* a fabrics command's type has this place */
		return 0;
	}
	if (*out) {
		ev->setup.opcode = (*out)->opcode;
		return 0;
	}
	c->p = name;
	if (!number(c, &code) || code > 0xff || !(c->p == c->end || at(c, " ,")))
		return fail(c, name, "no such command");
	ev->setup.opcode = (uint32_t)code;
	return 0;
}

static size_t read_argument(struct cursor *c, const struct command *cmd, struct bf_ftrace_event *ev)
{
	const char *name = c->p, *value;
	uint64_t v;
	size_t len;

	while (c->p < c->end && !at(c, "=, "))
		c->p++;
	len = (size_t)(c->p - name);
	if (!len || !at(c, "="))
		return fail(c, name, "a name with '=' is expected here");
	value = ++c->p;
	if (len == 5 && memcmp(name, "cdw10", 5) == 0)
		return hex_bytes(c, dwords(&ev->setup.sqe))
			   ? 0
			   : fail(c, c->p, "up to 24 bytes in hexadecimal is expected here");
	if (!number(c, &v))
		return fail(c, value, "a number is expected here");
	for (const struct argument *a = cmd ? cmd->args : NULL; a && a->name; a++) {
		if (strlen(a->name) != len || memcmp(a->name, name, len) != 0)
			continue;
		if (a->width < 64 && v >> a->width)
			return fail(c, value, "the number is too large for its field");
		put_argument(&ev->setup.sqe, a, v);
	}
	return 0; /* arguments that later kernels add are not an error */
}

size_t bf_ftrace_command_parse(const char *text, size_t len, uint32_t qid, struct bf_ftrace_event *ev, const char **why)
{
	struct cursor c = { .start = text, .p = text, .end = text + len };
	const struct command *cmd = NULL;
	size_t bad;

	bad = read_name(&c, qid, ev, &cmd);
	while (!bad) {
		while (at(&c, " ,"))
			c.p++;
		if (c.p == c.end)
			break;
		bad = read_argument(&c, cmd, ev);
	}
	ev->setup.sqe.opcode = (uint8_t)ev->setup.opcode;
	*why = c.why;
	return bad;
}

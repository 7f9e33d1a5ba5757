/*
 * Identify data, SMART and error logs as text: one table a structure, one form a field.
 */
#include "models/nvme/text_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/nvme/prm.h"

/* How a value is printed. */
enum form {
	DEC,     /* 12 */
	GROUPED, /* 1,263,056 */
	UNITS,   /* 1,263,056 [646 GB]: thousands of 512 bytes */
	HEX,     /* 0x1f, and 0 as 0 */
	HEX02,   /* 0x00 */
	STRING,  /* padded with blanks, or ended by NUL */
	OUI,     /* 8ce38e, last byte first */
	UUID,    /* nothing when zero */
	KELVIN,  /* stored in Kelvin, printed in Celsius: "34 C" */
	CELSIUS, /* the same as "33 Celsius" */
	PERCENT, /* 10% */
	STATUS,  /* 0x2002(Invalid Field in Command: ...): the status field, bits 15:1 */
	PHASE,   /* bit 0 of the same word */
};

struct field {
	const char *key;
	uint16_t offset, size;
	enum form form;
};

static const struct field id_ctrl[] = {
	{ "vid", 0, 2, HEX },           { "ssvid", 2, 2, HEX },       { "sn", 4, 20, STRING },
	{ "mn", 24, 40, STRING },       { "fr", 64, 8, STRING },      { "rab", 72, 1, DEC },
	{ "ieee", 73, 3, OUI },         { "cmic", 76, 1, HEX },       { "mdts", 77, 1, DEC },
	{ "cntlid", 78, 2, HEX },       { "ver", 80, 4, HEX },        { "rtd3r", 84, 4, HEX },
	{ "rtd3e", 88, 4, HEX },        { "oaes", 92, 4, HEX },       { "ctratt", 96, 4, HEX },
	{ "rrls", 100, 2, HEX },        { "cntrltype", 111, 1, DEC }, { "fguid", 112, 16, UUID },
	{ "crdt1", 128, 2, DEC },       { "crdt2", 130, 2, DEC },     { "crdt3", 132, 2, DEC },
	{ "nvmsr", 253, 1, DEC },       { "vwci", 254, 1, DEC },      { "mec", 255, 1, DEC },
	{ "oacs", 256, 2, HEX },        { "acl", 258, 1, DEC },       { "aerl", 259, 1, DEC },
	{ "frmw", 260, 1, HEX },        { "lpa", 261, 1, HEX },       { "elpe", 262, 1, DEC },
	{ "npss", 263, 1, DEC },        { "avscc", 264, 1, HEX },     { "apsta", 265, 1, HEX },
	{ "wctemp", 266, 2, DEC },      { "cctemp", 268, 2, DEC },    { "mtfa", 270, 2, DEC },
	{ "hmpre", 272, 4, DEC },       { "hmmin", 276, 4, DEC },     { "tnvmcap", 280, 16, DEC },
	{ "unvmcap", 296, 16, DEC },    { "rpmbs", 312, 4, HEX },     { "edstt", 316, 2, DEC },
	{ "dsto", 318, 1, DEC },        { "fwug", 319, 1, DEC },      { "kas", 320, 2, DEC },
	{ "hctma", 322, 2, HEX },       { "mntmt", 324, 2, DEC },     { "mxtmt", 326, 2, DEC },
	{ "sanicap", 328, 4, HEX },     { "hmminds", 332, 4, DEC },   { "hmmaxd", 336, 2, DEC },
	{ "nsetidmax", 338, 2, DEC },   { "endgidmax", 340, 2, DEC }, { "anatt", 342, 1, DEC },
	{ "anacap", 343, 1, DEC },      { "anagrpmax", 344, 4, DEC }, { "nanagrpid", 348, 4, DEC },
	{ "pels", 352, 4, DEC },        { "sqes", 512, 1, HEX },      { "cqes", 513, 1, HEX },
	{ "maxcmd", 514, 2, DEC },      { "nn", 516, 4, DEC },        { "oncs", 520, 2, HEX },
	{ "fuses", 522, 2, HEX },       { "fna", 524, 1, HEX },       { "vwc", 525, 1, HEX },
	{ "awun", 526, 2, DEC },        { "awupf", 528, 2, DEC },     { "nvscc", 530, 1, DEC },
	{ "icsvscc", 530, 1, DEC },     { "nwpc", 531, 1, DEC },      { "acwu", 532, 2, DEC },
	{ "ocfs", 534, 2, HEX },        { "sgls", 536, 4, HEX },      { "mnan", 540, 4, DEC },
	{ "subnqn", 768, 256, STRING }, { "ioccsz", 1792, 4, DEC },   { "iorcsz", 1796, 4, DEC },
	{ "icdoff", 1800, 2, DEC },     { "ctrattr", 1802, 1, HEX },  { "fcatt", 1802, 1, HEX },
	{ "msdbd", 1803, 1, DEC },      { "ofcs", 1804, 2, DEC },     { 0 },
};

static const struct field id_ns[] = {
	{ "nsze", 0, 8, HEX },     { "ncap", 8, 8, HEX },
	{ "nuse", 16, 8, HEX },    { "nsfeat", 24, 1, HEX },
	{ "nlbaf", 25, 1, DEC },   { "flbas", 26, 1, HEX },
	{ "mc", 27, 1, HEX },      { "dpc", 28, 1, HEX },
	{ "dps", 29, 1, HEX },     { "nmic", 30, 1, HEX },
	{ "rescap", 31, 1, HEX },  { "fpi", 32, 1, HEX },
	{ "dlfeat", 33, 1, DEC },  { "nawun", 34, 2, DEC },
	{ "nawupf", 36, 2, DEC },  { "nacwu", 38, 2, DEC },
	{ "nabsn", 40, 2, DEC },   { "nabo", 42, 2, DEC },
	{ "nabspf", 44, 2, DEC },  { "noiob", 46, 2, DEC },
	{ "nvmcap", 48, 16, DEC }, { "npwg", 64, 2, DEC },
	{ "npwa", 66, 2, DEC },    { "npdg", 68, 2, DEC },
	{ "npda", 70, 2, DEC },    { "nows", 72, 2, DEC },
	{ "mssrl", 74, 2, DEC },   { "mcl", 76, 4, DEC },
	{ "msrc", 80, 1, DEC },    { "anagrpid", 92, 4, DEC },
	{ "nsattr", 99, 1, DEC },  { "nvmsetid", 100, 2, DEC },
	{ "endgid", 102, 2, DEC }, { 0 },
};

/* nvme-cli's keys, then smartctl's. */
static const struct field smart[] = {
	{ "critical_warning", 0, 1, HEX },
	{ "temperature", 1, 2, KELVIN },
	{ "available_spare", 3, 1, PERCENT },
	{ "available_spare_threshold", 4, 1, PERCENT },
	{ "percentage_used", 5, 1, PERCENT },
	{ "data_units_read", 32, 16, GROUPED },
	{ "data_units_written", 48, 16, GROUPED },
	{ "host_read_commands", 64, 16, GROUPED },
	{ "host_write_commands", 80, 16, GROUPED },
	{ "controller_busy_time", 96, 16, GROUPED },
	{ "power_cycles", 112, 16, GROUPED },
	{ "power_on_hours", 128, 16, GROUPED },
	{ "unsafe_shutdowns", 144, 16, GROUPED },
	{ "media_errors", 160, 16, GROUPED },
	{ "num_err_log_entries", 176, 16, GROUPED },
	{ "Critical Warning", 0, 1, HEX02 },
	{ "Temperature", 1, 2, CELSIUS },
	{ "Available Spare", 3, 1, PERCENT },
	{ "Available Spare Threshold", 4, 1, PERCENT },
	{ "Percentage Used", 5, 1, PERCENT },
	{ "Data Units Read", 32, 16, UNITS },
	{ "Data Units Written", 48, 16, UNITS },
	{ "Host Read Commands", 64, 16, GROUPED },
	{ "Host Write Commands", 80, 16, GROUPED },
	{ "Controller Busy Time", 96, 16, GROUPED },
	{ "Power Cycles", 112, 16, GROUPED },
	{ "Power On Hours", 128, 16, GROUPED },
	{ "Unsafe Shutdowns", 144, 16, GROUPED },
	{ "Media and Data Integrity Errors", 160, 16, GROUPED },
	{ "Error Information Log Entries", 176, 16, GROUPED },
	{ "Warning  Comp. Temperature Time", 192, 4, DEC },
	{ "Critical Comp. Temperature Time", 196, 4, DEC },
	{ "Temperature Sensor 1", 200, 2, CELSIUS },
	{ "Temperature Sensor 2", 202, 2, CELSIUS },
	{ "Temperature Sensor 3", 204, 2, CELSIUS },
	{ "Temperature Sensor 4", 206, 2, CELSIUS },
	{ "Temperature Sensor 5", 208, 2, CELSIUS },
	{ "Temperature Sensor 6", 210, 2, CELSIUS },
	{ "Temperature Sensor 7", 212, 2, CELSIUS },
	{ "Temperature Sensor 8", 214, 2, CELSIUS },
	{ 0 },
};

/* smartctl's and nvme-cli's keys in JSON, temperatures as they are stored. */
static const struct field smart_json[] = {
	{ "critical_warning", 0, 1, DEC },
	{ "temperature", 1, 2, DEC },
	{ "avail_spare", 3, 1, DEC },
	{ "spare_thresh", 4, 1, DEC },
	{ "percent_used", 5, 1, DEC },
	{ "endurance_grp_critical_warning_summary", 6, 1, DEC },
	{ "data_units_read", 32, 16, DEC },
	{ "data_units_written", 48, 16, DEC },
	{ "host_read_commands", 64, 16, DEC },
	{ "host_write_commands", 80, 16, DEC },
	{ "controller_busy_time", 96, 16, DEC },
	{ "power_cycles", 112, 16, DEC },
	{ "power_on_hours", 128, 16, DEC },
	{ "unsafe_shutdowns", 144, 16, DEC },
	{ "media_errors", 160, 16, DEC },
	{ "num_err_log_entries", 176, 16, DEC },
	{ "warning_temp_time", 192, 4, DEC },
	{ "critical_comp_time", 196, 4, DEC },
	{ "temperature_sensor_1", 200, 2, DEC },
	{ "temperature_sensor_2", 202, 2, DEC },
	{ "temperature_sensor_3", 204, 2, DEC },
	{ "temperature_sensor_4", 206, 2, DEC },
	{ "temperature_sensor_5", 208, 2, DEC },
	{ "temperature_sensor_6", 210, 2, DEC },
	{ "temperature_sensor_7", 212, 2, DEC },
	{ "temperature_sensor_8", 214, 2, DEC },
	{ 0 },
};

static const struct field error_entry[] = {
	{ "error_count", 0, 8, DEC },
	{ "sqid", 8, 2, DEC },
	{ "cmdid", 10, 2, HEX },
	{ "status_field", 12, 2, STATUS },
	{ "phase_tag", 12, 2, PHASE },
	{ "parm_err_loc", 14, 2, HEX },
	{ "lba", 16, 8, HEX },
	{ "nsid", 24, 4, HEX },
	{ "vs", 28, 1, DEC },
	{ "cs", 32, 8, DEC },
	{ "trtype_spec_info", 40, 2, DEC },
	{ 0 },
};

static const struct {
	const struct field *fields;
	size_t size;
} tables[BF_NVME_TEXTS] = {
	[BF_NVME_TEXT_ID_CTRL] = { id_ctrl, 4096 }, [BF_NVME_TEXT_ID_NS] = { id_ns, 4096 },
	[BF_NVME_TEXT_SMART] = { smart, 512 },      [BF_NVME_TEXT_SMART_JSON] = { smart_json, 512 },
	[BF_NVME_TEXT_ERROR] = { error_entry, 64 },
};

size_t bf_nvme_text_size(enum bf_nvme_text what)
{
	return tables[what].size;
}

/* Status codes in nvme-cli's words (linux-nvme/libnvme src/nvme/util.c). */
static const struct {
	uint16_t code;
	const char *text;
} statuses[] = {
	{ BF_NVME_SC_SUCCESS, "Successful Completion" },
	{ BF_NVME_SC_INVALID_OPCODE, "Invalid Command Opcode" },
	{ BF_NVME_SC_INVALID_FIELD, "Invalid Field in Command" },
	{ BF_NVME_SC_CID_CONFLICT, "Command ID Conflict" },
	{ BF_NVME_SC_DATA_TRANSFER, "Data Transfer Error" },
	{ 0x005, "Commands Aborted due to Power Loss Notification" },
	{ BF_NVME_SC_INTERNAL, "Internal Error" },
	{ BF_NVME_SC_ABORT_REQUESTED, "Command Abort Requested" },
	{ BF_NVME_SC_ABORT_SQ_DELETION, "Command Aborted due to SQ Deletion" },
	{ BF_NVME_SC_FAILED_FUSED, "Command Aborted due to Failed Fused Command" },
	{ BF_NVME_SC_MISSING_FUSED, "Command Aborted due to Missing Fused Command" },
	{ BF_NVME_SC_INVALID_NS_OR_FORMAT, "Invalid Namespace or Format" },
	{ BF_NVME_SC_SEQUENCE, "Command Sequence Error" },
	{ BF_NVME_SC_SGL_SEGMENT, "Invalid SGL Segment Descriptor" },
	{ BF_NVME_SC_SGL_COUNT, "Invalid Number of SGL Descriptors" },
	{ BF_NVME_SC_SGL_LENGTH, "Data SGL Length Invalid" },
	{ BF_NVME_SC_SGL_META_LENGTH, "Metadata SGL Length Invalid" },
	{ BF_NVME_SC_SGL_TYPE, "SGL Descriptor Type Invalid" },
	{ BF_NVME_SC_CMB_USE, "Invalid Use of Controller Memory Buffer" },
	{ BF_NVME_SC_PRP_OFFSET, "PRP Offset Invalid" },
	{ BF_NVME_SC_SGL_OFFSET, "SGL Offset Invalid" },
	{ BF_NVME_SC_NS_WRITE_PROTECTED, "Namespace is Write Protected" },
	{ BF_NVME_SC_LBA_RANGE, "LBA Out of Range" },
	{ BF_NVME_SC_CAPACITY, "Capacity Exceeded" },
	{ BF_NVME_SC_NS_NOT_READY, "Namespace Not Ready" },
	{ BF_NVME_SC_FORMAT_IN_PROGRESS, "Format In Progress" },
	{ BF_NVME_SC_CQ_INVALID, "Completion Queue Invalid" },
	{ BF_NVME_SC_QID, "Invalid Queue Identifier" },
	{ BF_NVME_SC_QUEUE_SIZE, "Invalid Queue Size" },
	{ BF_NVME_SC_ABORT_LIMIT, "Abort Command Limit Exceeded" },
	{ BF_NVME_SC_AER_LIMIT, "Asynchronous Event Request Limit Exceeded" },
	{ BF_NVME_SC_FW_SLOT, "Invalid Firmware Slot" },
	{ BF_NVME_SC_FW_IMAGE, "Invalid Firmware Image" },
	{ BF_NVME_SC_VECTOR, "Invalid Interrupt Vector" },
	{ BF_NVME_SC_LOG_PAGE, "Invalid Log Page" },
	{ BF_NVME_SC_FORMAT, "Invalid Format" },
	{ BF_NVME_SC_FW_NEEDS_RESET, "Firmware Activation Requires Conventional Reset" },
	{ BF_NVME_SC_QUEUE_DELETION, "Invalid Queue Deletion" },
	{ BF_NVME_SC_FEATURE_NOT_SAVEABLE, "Feature Identifier Not Saveable" },
	{ BF_NVME_SC_FEATURE_NOT_CHANGEABLE, "Feature Not Changeable" },
	{ BF_NVME_SC_FEATURE_NOT_PER_NS, "Feature Not Namespace Specific" },
	{ BF_NVME_SC_OVERLAP, "Overlapping Range" },
	{ BF_NVME_SC_NS_INSUFFICIENT_CAPACITY, "Namespace Insufficient Capacity" },
	{ BF_NVME_SC_NS_ID_UNAVAILABLE, "Namespace Identifier Unavailable" },
	{ BF_NVME_SC_NS_ALREADY_ATTACHED, "Namespace Already Attached" },
	{ BF_NVME_SC_NS_IS_PRIVATE, "Namespace Is Private" },
	{ BF_NVME_SC_NS_NOT_ATTACHED, "Namespace Not Attached" },
	{ BF_NVME_SC_THIN_PROVISIONING, "Thin Provisioning Not Supported" },
	{ BF_NVME_SC_CONTROLLER_LIST, "Controller List Invalid" },
	{ BF_NVME_SC_SELF_TEST_IN_PROGRESS, "Device Self-test In Progress" },
	{ BF_NVME_SC_COMMAND_SETS, "I/O Command Set Combination Rejected" },
	{ BF_NVME_SC_CONFLICTING_ATTRIBUTES, "Conflicting Attributes" },
	{ BF_NVME_SC_READ_ONLY_RANGE, "Attempted Write to Read Only Range" },
	{ BF_NVME_SC_SIZE_LIMIT, "Command Size Limit Exceeded" },
	{ BF_NVME_SC_WRITE_FAULT, "Write Fault" },
	{ BF_NVME_SC_UNRECOVERED_READ, "Unrecovered Read Error" },
	{ BF_NVME_SC_COMPARE, "Compare Failure" },
	{ BF_NVME_SC_DEALLOCATED, "Deallocated or Unwritten Logical Block" },
	{ 0x370, "Host Pathing Error" },
	{ 0x371, "Command Aborted By Host" },
};

const char *bf_nvme_status_text(uint32_t status)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(statuses); i++)
		if (statuses[i].code == (status & 0x7ff))
			return statuses[i].text;
	return NULL;
}

/* ---- lines ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Splits "key : value"; blanks around both are not part of them. */
static bool split(const char *line, size_t *key_len, const char **value)
{
	const char *colon = strchr(line, ':');

	if (!colon)
		return false;
	*key_len = (size_t)(colon - line);
	while (*key_len && is_blank(line[*key_len - 1]))
		--*key_len;
	for (*value = colon + 1; is_blank(**value);)
		++*value;
	return *key_len > 0;
}

static const struct field *find(enum bf_nvme_text what, const char *line, const char **value)
{
	size_t len;

	if (!split(line, &len, value))
		return NULL;
	for (const struct field *f = tables[what].fields; f->key; f++)
		if (strlen(f->key) == len && memcmp(f->key, line, len) == 0)
			return f;
	return NULL;
}

/* ---- numbers ---- */

static bf_u128 get(const uint8_t *bytes, const struct field *f)
{
	bf_u128 v = 0;

	for (unsigned i = f->size; i-- > 0;)
		v = v << 8 | bytes[f->offset + i];
	return v;
}

static void put(uint8_t *bytes, const struct field *f, bf_u128 v)
{
	for (unsigned i = 0; i < f->size; i++, v >>= 8)
		bytes[f->offset + i] = (uint8_t)v;
}

/* Decimal with commas between groups, or hexadecimal behind 0x; what follows is left. False when it does not fit. */
static bool number(const char *text, unsigned size, bf_u128 *out)
{
	const bf_u128 limit = size >= 16 ? ~(bf_u128)0 : ((bf_u128)1 << size * 8) - 1;
	const bool hex = text[0] == '0' && text[1] == 'x';
	const unsigned base = hex ? 16 : 10;
	const char *p = hex ? text + 2 : text, *first = p;

	for (*out = 0; *p; p++) {
		const unsigned d = (unsigned)bf_hex_digit(*p); /* -1: larger than any base */

		if (*p == ',' && !hex && p > first)
			continue;
		if (d >= base)
			break;
		if (*out > (limit - d) / base)
			return false;
		*out = *out * base + d;
	}
	return p > first;
}

static size_t print_decimal(bf_u128 v, bool grouped, char *out)
{
	char digits[64];
	size_t n = 0, len = 0;

	do {
		if (grouped && n % 4 == 3)
			digits[n++] = ',';
		digits[n++] = (char)('0' + (int)(v % 10));
		v /= 10;
	} while (v);
	while (n > 0)
		out[len++] = digits[--n];
	out[len] = '\0';
	return len;
}

/* smartctl's short form: three digits, cut off, of a decimal multiple. */
static void print_bytes(bf_u128 units, char *out, size_t cap)
{
	static const char *const names[] = { "B", "KB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB" };
	bf_u128 v = units * 512000, rest = 0;
	size_t i = 0;

	for (; v >= 1000 && i + 1 < BF_ARRAY_LEN(names); i++) {
		rest = v % 1000;
		v /= 1000;
	}
	if (v >= 100 || i == 0)
		snprintf(out, cap, "%u %s", (unsigned)v, names[i]);
	else if (v >= 10)
		snprintf(out, cap, "%u.%u %s", (unsigned)v, (unsigned)(rest / 100), names[i]);
	else
		snprintf(out, cap, "%u.%02u %s", (unsigned)v, (unsigned)(rest / 10), names[i]);
}

/* ---- one field ---- */

static int read_string(const struct field *f, const char *value, uint8_t *bytes)
{
	const size_t len = strlen(value);

	if (len > f->size)
		return -EBADMSG;
	memset(bytes + f->offset, f->size == 256 ? 0 : ' ', f->size); /* the NQN ends with NUL, names are padded */
	memcpy(bytes + f->offset, value, len);
	return 1;
}

static int read_oui(const struct field *f, const char *value, uint8_t *bytes)
{
	bf_u128 v;
	char hex[16];

	snprintf(hex, sizeof(hex), "0x%.8s", value);
	if (!number(hex, f->size, &v))
		return -EBADMSG;
	put(bytes, f, v);
	return 1;
}

static int read_uuid(const struct field *f, const char *value, uint8_t *bytes)
{
	unsigned n = 0;

	memset(bytes + f->offset, 0, f->size);
	for (; *value; value++) {
		const int d = bf_hex_digit(*value);

		if (*value == '-')
			continue;
		if (d < 0 || n == 32)
			return -EBADMSG;
		bytes[f->offset + n / 2] |= (uint8_t)(n % 2 ? d : d << 4);
		n++;
	}
	return n == 0 || n == 32 ? 1 : -EBADMSG;
}

int bf_nvme_text_read(enum bf_nvme_text what, const char *line, uint8_t *bytes)
{
	const char *value;
	const struct field *f = find(what, line, &value);
	bf_u128 v;

	if (!f)
		return bf_nvme_text_read_row(what, line, bytes);
	if (f->form == STRING)
		return read_string(f, value, bytes);
	if (f->form == OUI)
		return read_oui(f, value, bytes);
	if (f->form == UUID)
		return read_uuid(f, value, bytes);
	if ((f->form == KELVIN || f->form == CELSIUS) && *value == '-') {
		if (!number(value + 1, f->size, &v) || v > 273)
			return -EBADMSG;
		put(bytes, f, 273 - v);
		return 1;
	}
	if (!number(value, f->size, &v))
		return -EBADMSG;
	if (f->form == KELVIN || f->form == CELSIUS)
		v += 273;
	else if (f->form == STATUS)
		v = v << 1 | (bytes[f->offset] & 1);
	else if (f->form == PHASE)
		v = (get(bytes, f) & ~(bf_u128)1) | (v & 1);
	put(bytes, f, v);
	return 1;
}

static void print_string(const struct field *f, const uint8_t *bytes, char *out)
{
	size_t len = strnlen((const char *)bytes + f->offset, f->size);

	while (len && bytes[f->offset + len - 1] == ' ')
		len--;
	memcpy(out, bytes + f->offset, len);
	out[len] = '\0';
}

static void print_uuid(const struct field *f, const uint8_t *bytes, char *out)
{
	size_t used = 0;

	*out = '\0';
	for (unsigned i = 0; get(bytes, f) != 0 && i < 16; i++)
		used += (size_t)sprintf(out + used, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
					bytes[f->offset + i]);
}

/* `out` has room for any value. */
static void print_value(const struct field *f, const uint8_t *bytes, char *out, size_t cap)
{
	const bf_u128 v = f->size <= 16 ? get(bytes, f) : 0;
	const char *text;
	size_t n;

	switch (f->form) {
	case DEC:
	case GROUPED:
		print_decimal(v, f->form == GROUPED, out);
		break;
	case UNITS:
		n = print_decimal(v, true, out);
		n += (size_t)snprintf(out + n, cap - n, " [");
		print_bytes(v, out + n, cap - n);
		n = strlen(out);
		snprintf(out + n, cap - n, "]");
		break;
	case HEX:
		snprintf(out, cap, v ? "0x%" PRIx64 : "%" PRIx64, (uint64_t)v);
		break;
	case HEX02:
		snprintf(out, cap, "0x%02x", (unsigned)v);
		break;
	case STRING:
		print_string(f, bytes, out);
		break;
	case OUI:
		snprintf(out, cap, "%06x", (unsigned)v);
		break;
	case UUID:
		print_uuid(f, bytes, out);
		break;
	case KELVIN:
		snprintf(out, cap, "%d C", (int)v - 273);
		break;
	case CELSIUS:
		snprintf(out, cap, "%d Celsius", (int)v - 273);
		break;
	case PERCENT:
		snprintf(out, cap, "%u%%", (unsigned)v);
		break;
	case STATUS:
		text = bf_nvme_status_text((uint32_t)(v >> 1));
		snprintf(out, cap, "0x%x(%s)", (unsigned)(v >> 1), text ? text : "Unknown");
		break;
	case PHASE:
		snprintf(out, cap, "%u", (unsigned)(v & 1));
		break;
	}
}

int bf_nvme_text_print(enum bf_nvme_text what, const char *line, const uint8_t *bytes, char *out, size_t cap)
{
	const char *value;
	const struct field *f = find(what, line, &value);
	char text[300];
	size_t n;

	if (!f)
		return bf_nvme_text_print_row(what, line, bytes, out, cap);
	print_value(f, bytes, text, sizeof(text));
	n = (size_t)(value - line);
	snprintf(out, cap, "%.*s%s", (int)n, line, text);
	n = strlen(out);
	while (n && is_blank(out[n - 1]))
		out[--n] = '\0';
	return 1;
}

/*
 * Lines of several fields each.
 */
#include "models/nvme/text_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "models/nvme/prm.h"

/* ---- LBA formats (Identify Namespace, byte 128 up: four bytes each) ---- */

static uint8_t *lba_format(uint8_t *bytes, unsigned index)
{
	return bytes + 128 + (size_t)(index % 64) * 4;
}

static bool scan_lba_format(const char *line, unsigned *index, unsigned *ms, unsigned *ds, unsigned *rp, bool *wide)
{
	unsigned size;

	if (sscanf(line, "lbaf %2u : ms:%5u lbads:%2u rp:%1x", index, ms, ds, rp) == 4) {
		*wide = false;
		return *index < 64;
	}
	*wide = true;
	if (sscanf(line, "LBA Format %2u : Metadata Size: %5u bytes - Data Size: %9u bytes - Relative Performance: %1x",
		   index, ms, &size, rp) != 4 ||
	    *index >= 64 || size == 0 || (size & (size - 1)))
		return false;
	*ds = (unsigned)__builtin_ctz(size);
	return true;
}

static int read_lba_format(const char *line, uint8_t *bytes)
{
	unsigned index, ms, ds, rp;
	bool wide;

	if (!scan_lba_format(line, &index, &ms, &ds, &rp, &wide))
		return 0;
	bf_put_le16(lba_format(bytes, index), (uint16_t)ms);
	lba_format(bytes, index)[2] = (uint8_t)ds;
	lba_format(bytes, index)[3] = (uint8_t)rp;
	if (strstr(line, "(in use)"))
		bytes[26] = (uint8_t)((bytes[26] & 0x90) | (index & 15) | (index >> 4) << 5);
	return 1;
}

static int print_lba_format(const char *line, const uint8_t *bytes, char *out, size_t cap)
{
	static const char *const speeds[] = { "Best", "Better", "Good", "Degraded" };
	const unsigned used = (bytes[26] & 15u) | (bytes[26] >> 5 & 3u) << 4;
	unsigned index, ms, ds, rp;
	const uint8_t *f;
	bool wide;

	if (!scan_lba_format(line, &index, &ms, &ds, &rp, &wide))
		return 0;
	f = bytes + 128 + (size_t)index * 4;
	if (wide)
		snprintf(out, cap,
			 "LBA Format %2u : Metadata Size: %-3u bytes - Data Size: %2u bytes - Relative Performance: "
			 "%#x %s%s",
			 index, bf_get_le16(f), 1u << (f[2] & 31), f[3] & 3u, speeds[f[3] & 3],
			 index == used ? " (in use)" : "");
	else
		snprintf(out, cap, "lbaf %2u : ms:%-3u lbads:%-2u rp:%#x%s", index, bf_get_le16(f), f[2], f[3] & 3u,
			 index == used ? " (in use)" : "");
	return 1;
}

/* ---- power states (Identify Controller, byte 2048 up: 32 bytes each) ---- */

struct power {
	unsigned index, watts, fraction, digits, rrt, rrl;
	unsigned enlat, exlat;
	bool operational;
};

static bool scan_power(const char *line, struct power *s)
{
	char fraction[8], kind[24];

	if (sscanf(line, "ps %2u : mp:%4u.%4[0-9]W %20s enlat:%9u exlat:%9u rrt:%3u rrl:%3u", &s->index, &s->watts,
		   fraction, kind, &s->enlat, &s->exlat, &s->rrt, &s->rrl) != 8)
		return false;
	s->digits = (unsigned)strlen(fraction);
	s->operational = strcmp(kind, "operational") == 0;
	return s->index < 32 && (s->digits == 2 || s->digits == 4) && sscanf(fraction, "%u", &s->fraction) == 1 &&
	       (s->operational || strcmp(kind, "non-operational") == 0);
}

/* A maximum power of two decimals counts hundredths of a watt, one of four decimals ten-thousandths (MXPS). */
static int read_power(const char *line, uint8_t *bytes)
{
	struct power s;
	unsigned scaled;
	uint8_t *p;

	if (!scan_power(line, &s))
		return 0;
	p = bytes + 2048 + (size_t)s.index * 32;
	scaled = s.digits == 2 ? s.watts * 100 + s.fraction : s.watts * 10000 + s.fraction;
	if (scaled > UINT16_MAX || s.rrt > 31 || s.rrl > 31)
		return -EBADMSG;
	bf_put_le16(p, (uint16_t)scaled);
	p[3] = (uint8_t)((s.digits == 4) | (s.operational ? 0 : 2));
	bf_put_le32(p + 4, s.enlat);
	bf_put_le32(p + 8, s.exlat);
	p[12] = (uint8_t)s.rrt;
	p[13] = (uint8_t)s.rrl;
	return 1;
}

static int print_power(const char *line, const uint8_t *bytes, char *out, size_t cap)
{
	const uint8_t *p;
	struct power s;
	unsigned mp;

	if (!scan_power(line, &s))
		return 0;
	p = bytes + 2048 + (size_t)s.index * 32;
	mp = bf_get_le16(p);
	snprintf(out, cap,
		 p[3] & 1 ? "ps %4u : mp:%u.%04uW %s enlat:%" PRIu32 " exlat:%" PRIu32 " rrt:%u rrl:%u"
			  : "ps %4u : mp:%u.%02uW %s enlat:%" PRIu32 " exlat:%" PRIu32 " rrt:%u rrl:%u",
		 s.index, p[3] & 1 ? mp / 10000 : mp / 100, p[3] & 1 ? mp % 10000 : mp % 100,
		 p[3] & 2 ? "non-operational" : "operational", bf_get_le32(p + 4), bf_get_le32(p + 8), p[12], p[13]);
	return 1;
}

/* ---- an entry of the error log in smartctl's table ---- */

struct error_row {
	unsigned index, sqid, cid, status;
	unsigned long long count, lba;
	unsigned nsid;
	char where[8], vendor[8];
};

static bool scan_error(const char *line, struct error_row *r)
{
	return sscanf(line, " %3u %20llu %5u 0x%4x 0x%4x %6s %20llu %10u %6s", &r->index, &r->count, &r->sqid, &r->cid,
		      &r->status, r->where, &r->lba, &r->nsid, r->vendor) == 9;
}

static int read_error(const char *line, uint8_t *bytes)
{
	struct error_row r;
	unsigned where = 0xffff, vendor = 0;

	if (!scan_error(line, &r))
		return 0;
	if (strcmp(r.where, "-") != 0 && sscanf(r.where, "0x%4x", &where) != 1)
		return -EBADMSG;
	if (strcmp(r.vendor, "-") != 0 && sscanf(r.vendor, "0x%2x", &vendor) != 1)
		return -EBADMSG;
	bf_put_le64(bytes, r.count);
	bf_put_le16(bytes + 8, (uint16_t)r.sqid);
	bf_put_le16(bytes + 10, (uint16_t)r.cid);
	bf_put_le16(bytes + 12, (uint16_t)r.status);
	bf_put_le16(bytes + 14, (uint16_t)where);
	bf_put_le64(bytes + 16, r.lba);
	bf_put_le32(bytes + 24, r.nsid);
	bytes[28] = (uint8_t)vendor;
	return 1;
}

static int print_error(const char *line, const uint8_t *b, char *out, size_t cap)
{
	const char *text = bf_nvme_status_text(bf_get_le16(b + 12) >> 1);
	char where[8] = "-", vendor[8] = "-";
	struct error_row r;

	if (!scan_error(line, &r))
		return 0;
	if (bf_get_le16(b + 14) != 0xffff)
		snprintf(where, sizeof(where), "0x%03x", bf_get_le16(b + 14));
	if (b[28])
		snprintf(vendor, sizeof(vendor), "0x%02x", b[28]);
	snprintf(out, cap, "%3u %10" PRIu64 " %5u  0x%04x  0x%04x %6s %12" PRIu64 " %5" PRIu32 " %5s  %s", r.index,
		 bf_get_le64(b), bf_get_le16(b + 8), bf_get_le16(b + 10), bf_get_le16(b + 12), where,
		 bf_get_le64(b + 16), bf_get_le32(b + 24), vendor, text ? text : "Unknown");
	return 1;
}

int bf_nvme_text_read_row(enum bf_nvme_text what, const char *line, uint8_t *bytes)
{
	return what == BF_NVME_TEXT_ID_NS     ? read_lba_format(line, bytes)
	       : what == BF_NVME_TEXT_ID_CTRL ? read_power(line, bytes)
	       : what == BF_NVME_TEXT_ERROR   ? read_error(line, bytes)
					      : 0;
}

int bf_nvme_text_print_row(enum bf_nvme_text what, const char *line, const uint8_t *bytes, char *out, size_t cap)
{
	return what == BF_NVME_TEXT_ID_NS     ? print_lba_format(line, bytes, out, cap)
	       : what == BF_NVME_TEXT_ID_CTRL ? print_power(line, bytes, out, cap)
	       : what == BF_NVME_TEXT_ERROR   ? print_error(line, bytes, out, cap)
					      : 0;
}

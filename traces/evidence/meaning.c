/* What an error means, and its likely causes in order: which row of the tables (meanings_*.c) speaks of it. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "models/fabric/roce.h"
#include "sim/bytes.h"
#include "sim/member.h"
#include "traces/evidence/evidence_internal.h"

bool bf_evidence_follows(const struct bf_evidence *e)
{
	return e->device == BF_EVIDENCE_NIC && e->kind == BF_EVIDENCE_COMPLETION && bf_evidence_syndrome(e) == 0x05;
}

bool bf_evidence_harmless(const struct bf_evidence *e)
{
	return e->kind == BF_EVIDENCE_ENTRY || (e->kind == BF_EVIDENCE_PACKET && e->fact[BF_FACT_BTH] == CNP) ||
	       (e->device == BF_EVIDENCE_GPU && e->kind == BF_EVIDENCE_STRAY);
}

/* Of no device's own. */
static const struct bf_meaning_row rows[] = {
	{ BF_EVIDENCE_PCIE,
	  BF_EVIDENCE_FAULT,
	  -1,
	  -1,
	  { "PCIe or IOMMU fault",
	    "IOMMU|AER",
	    "A device's access was blocked, or a transfer over the link failed.",
	    { { NULL, NULL } }, /* what each device says */
	    "The requester's number names the device (lspci); compare the address with what was mapped for it." } },

};
static const struct bf_meaning_table path = { rows, BF_ARRAY_LEN(rows) };

static const struct bf_meaning_table *const tables[] = { &bf_meanings_nic, &bf_meanings_drive, &bf_meanings_copier,
							 &path, &bf_meanings_packets };

static const char *const known[] = { "PCIe     faults of IOMMUs, errors of links", NULL };
static const struct bf_evidence_about about_path = { .name = "pcie", .known = known };

static const struct bf_evidence_about *const abouts[BF_EVIDENCE_DEVICES] = {
	[BF_EVIDENCE_NIC] = &bf_about_nic,       [BF_EVIDENCE_DRIVE] = &bf_about_drive,
	[BF_EVIDENCE_COPIER] = &bf_about_copier, [BF_EVIDENCE_GPU] = &bf_about_gpu,
	[BF_EVIDENCE_PCIE] = &about_path,        [BF_EVIDENCE_ROCE] = &bf_about_packets,
};

const struct bf_evidence_about *bf_evidence_about(enum bf_evidence_device device)
{
	return abouts[device];
}

static const struct bf_cause_row *blocked_at(uint32_t i)
{
	for (size_t d = 0; d < BF_ARRAY_LEN(abouts); d++)
		if (abouts[d]->blocked.tell && i-- == 0)
			return &abouts[d]->blocked;
	return NULL;
}

const struct bf_cause_row *bf_meaning_cause(const struct bf_meaning *m, uint32_t i)
{
	if (m == &rows[0].m)
		return blocked_at(i);
	return i < BF_CAUSES_MAX && m->cause[i].tell ? &m->cause[i] : NULL;
}

/* Row `i` of all tables; NULL past the last. */
static const struct bf_meaning_row *row_at(size_t i)
{
	for (size_t t = 0; t < BF_ARRAY_LEN(tables); t++) {
		if (i < tables[t]->n)
			return &tables[t]->row[i];
		i -= tables[t]->n;
	}
	return NULL;
}

static const struct bf_meaning *find(const struct bf_evidence *e, int64_t code, int64_t vendor)
{
	const struct bf_meaning_row *fallback = NULL, *r;

	for (size_t i = 0; (r = row_at(i)) != NULL; i++) {
		if (r->device != e->device || (r->kind >= 0 && r->kind != (int)e->kind) ||
		    (r->kind < 0 && e->kind != BF_EVIDENCE_COMPLETION))
			continue;
		if (r->code >= 0 ? r->code != code : fallback != NULL)
			continue;
		if (r->vendor >= 0 && r->vendor != vendor)
			continue;
		if (r->code >= 0)
			return &r->m;
		fallback = r;
	}
	return fallback ? &fallback->m : NULL;
}

static int64_t packet_code(const struct bf_evidence *e)
{
	const int64_t aeth = e->fact[BF_FACT_AETH];

	if (aeth >= 0)
		return aeth >> 5 == 1 ? BF_AETH_RNR : aeth;
	if (e->fact[BF_FACT_BTH] == CNP)
		return CNP;
	return e->fact[BF_FACT_LATE] == 1 ? LATE : AGAIN;
}

const struct bf_meaning *bf_evidence_meaning(const struct bf_evidence *e)
{
	return find(e,
		    e->kind == BF_EVIDENCE_EVENT    ? e->fact[BF_FACT_EVENT]
		    : e->kind == BF_EVIDENCE_PACKET ? packet_code(e)
		    : e->fact[BF_FACT_DUE] >= 0     ? OUT_OF_PLACE
		    : e->device == BF_EVIDENCE_NIC  ? bf_evidence_syndrome(e)
						    : e->fact[BF_FACT_STATUS],
		    e->fact[BF_FACT_VENDOR]);
}

/* ---- by what somebody types ---- */

/* "REM_ACCESS_ERR" is "IBV_WC_REM_ACCESS_ERR" is "rem_access". */
static bool same_name(const char *word, const char *also)
{
	if (strncasecmp(word, "IBV_WC_", 7) == 0)
		word += 7;
	for (size_t n; *also; also += n + (also[n] == '|')) {
		n = strcspn(also, "|");
		if (strlen(word) <= n && strlen(word) >= 3 && strncasecmp(word, also, strlen(word)) == 0)
			return true;
	}
	return false;
}

/* "13/88", "0x13/0x88" and "13" are of NICs; "00/13" and "0x2013" of drives, since its types and flags stand in front.
 */
static const struct bf_meaning *by_code(const char *word)
{
	struct bf_evidence e = { .device = BF_EVIDENCE_NIC, .kind = BF_EVIDENCE_COMPLETION };
	char *end;
	const struct bf_meaning_row *r;
	unsigned long first = strtoul(word, &end, 16), second;

	if (end == word || (*end && *end != '/'))
		return NULL;
	if (!*end) {
		e.device = first > 0xff ? BF_EVIDENCE_DRIVE : BF_EVIDENCE_NIC;
		return find(&e, (int64_t)(first > 0xff ? first & 0x7ff : first), -1);
	}
	word = end + 1;
	second = strtoul(word, &end, 16);
	if (end == word || *end)
		return NULL;
	for (size_t i = 0; (r = row_at(i)) != NULL; i++)
		if (r->device == BF_EVIDENCE_NIC && r->kind < 0 && r->code == (int32_t)first && first)
			return find(&e, (int64_t)first, (int64_t)second);
	if (first > 7 || second > 0xff) /* a type has three bits, a code eight */
		return NULL;
	e.device = BF_EVIDENCE_DRIVE;
	return find(&e, (int64_t)(first << 8 | second), -1);
}

const struct bf_meaning *bf_meaning_find(const char *word)
{
	const struct bf_meaning_row *r;

	for (size_t i = 0; (r = row_at(i)) != NULL; i++)
		if (strcasecmp(word, r->m.name) == 0)
			return &r->m;
	for (size_t i = 0; (r = row_at(i)) != NULL; i++)
		if (same_name(word, r->m.also))
			return &r->m;
	return by_code(word);
}

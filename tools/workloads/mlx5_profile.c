#include "tools/workloads/mlx5_profile.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/member.h"
#include "sim/spell.h"

static const struct bf_mlx5_profile *const profiles[] = { &bf_mlx5_cx7,       &bf_mlx5_cx6,
							  &bf_mlx5_cx8,       &bf_mlx5_cx5_timed,
							  &bf_mlx5_cx6_timed, &bf_mlx5_cx7_timed,
							  &bf_mlx5_cx8_timed, NULL };

const struct bf_mlx5_profile *const *bf_mlx5_work_profiles(void)
{
	return profiles;
}

const char *bf_mlx5_work_profile_name(const void *own, uint32_t i)
{
	(void)own;
	return i < BF_ARRAY_LEN(profiles) && profiles[i] ? profiles[i]->name : NULL;
}

struct field {
	const char *name;
	size_t offset, size;
	uint64_t min, max;
	bool power_of_two;
};

#define FIELD(member, low, high)                                                                                       \
	{                                                                                                              \
#member, BF_MEMBER(struct bf_mlx5_profile, member), low, high, false                                   \
	}
#define FIELD_POW2(member, low, high)                                                                                  \
	{                                                                                                              \
#member, BF_MEMBER(struct bf_mlx5_profile, member), low, high, true                                    \
	}

/* A second is far beyond any of these times and keeps their sums far from 2^64. */
#define TIME_MAX BF_S

static const struct field fields[] = {
	FIELD(pcie.latency_ps, 0, TIME_MAX),
	FIELD(pcie.mem_ps, 0, TIME_MAX),
	FIELD(pcie.ps_per_kib, 0, TIME_MAX),
	FIELD_POW2(pcie.max_payload, 128, 4096),
	FIELD_POW2(pcie.max_read_request, 128, 4096),
	FIELD(pcie.tlp_overhead, 0, 256),
	FIELD(pcie.relaxed_ps, 0, TIME_MAX),
	FIELD(port_latency_ps, 0, TIME_MAX),
	FIELD(port_ps_per_kib, 0, TIME_MAX),
	FIELD(doorbell_ps, 0, TIME_MAX),
	FIELD(wqe_ps, 0, TIME_MAX),
	FIELD(packet_tx_ps, 0, TIME_MAX),
	FIELD(packet_rx_ps, 0, TIME_MAX),
	FIELD(answer_ps, 0, TIME_MAX),
	FIELD(gather_window, 0, 1u << 16),
	FIELD(atomics_hold, 0, 1),
	FIELD(ack_delay_ps, 0, TIME_MAX),
	FIELD(ack_every, 1, 1u << 16),
	FIELD(fetch_wqebbs, 1, 1u << 10),
	FIELD(bf_bytes, 64, 256),
	FIELD(max_outstanding, 1, 1u << 20),
	FIELD(log_max_qp, 1, 24),
	FIELD(log_max_cq, 1, 24),
	FIELD(log_max_mkey, 1, 24),
	FIELD(dct_contexts, 0, 1u << 16),
	FIELD(host_endian_atomics, 0, 1),
	FIELD(icrc, 0, 1),
	FIELD(traits.no_record, 0, 1),
	FIELD(traits.no_record_max, 0, 1u << 24),
	FIELD(traits.core_direct, 0, 1),
	FIELD(traits.ooo_rw, 0, 1),
	FIELD(traits.ooo_all, 0, 1),
	FIELD(traits.ordering_force, 0, 1),
	FIELD(traits.any_register, 0, 1),
	FIELD(traits.mode_refused_res, 0, 1),
	FIELD(traits.limit_is_lim, 0, 1),
	FIELD(traits.bell_back, 0, 1),
	FIELD(traits.bell_leads, 0, 1),
	FIELD(traits.bell_opmod, 0, 1),
	FIELD(traits.ring_voids_copy, 0, 1),
	FIELD(traits.wait_16, 0, 1),
	FIELD(traits.wait_needs_master, 0, 1),
	FIELD(traits.wait_for_good, 0, 1),
	FIELD(traits.any_cq_offset, 0, 1),
	FIELD(traits.looks_at_reserved, 0, 1),
	FIELD(traits.waits_for_receive, 0, 1),
	FIELD(traits.atomics_wait, 0, 1),
	FIELD(traits.order_ignored, 0, 1),
};

static uint64_t get_field(const struct field *f, const struct bf_mlx5_profile *p)
{
	return bf_member_get(p, f->offset, f->size);
}

/* Appends the texts to `buf` separated by commas, for a message. */
static void join(char *buf, size_t cap, const char *text)
{
	size_t used = strlen(buf);

	snprintf(buf + used, cap - used, "%s%s", used ? ", " : "", text);
}

static int unknown_name(const char *name, size_t len, struct bf_error *err)
{
	struct bf_spell s = { .word = name, .len = len };
	char known[128] = "", hint[64];

	for (const struct bf_mlx5_profile *const *p = profiles; *p; p++) {
		join(known, sizeof(known), (*p)->name);
		bf_spell_try(&s, (*p)->name);
	}
	return bf_fail(err, -EINVAL, "profile \"%.*s\" is not known%s%s%s", (int)len, name,
		       bf_spell_hint(&s, hint, sizeof(hint)), s.best ? " There are " : "; there are ", known);
}

static int unknown_field(const char *name, size_t len, struct bf_error *err)
{
	char known[512] = "";

	for (size_t i = 0; i < BF_ARRAY_LEN(fields); i++)
		if (strncmp(fields[i].name, name, 2) == 0)
			join(known, sizeof(known), fields[i].name);
	return bf_fail(err, -EINVAL, "profile field \"%.*s\" is not known%s%s; `belfry run --list` shows all", (int)len,
		       name, *known ? "; near it: " : "", known);
}

/* Parses one FIELD=VALUE of `len` bytes. */
static int set_by_text(const char *text, size_t len, struct bf_mlx5_profile *out, struct bf_error *err)
{
	const char *equals = memchr(text, '=', len);
	const size_t name_len = equals ? (size_t)(equals - text) : len;
	const struct field *f = NULL;
	char digits[24];
	uint64_t value;
	char *end;

	for (size_t i = 0; i < BF_ARRAY_LEN(fields); i++)
		if (strlen(fields[i].name) == name_len && strncmp(fields[i].name, text, name_len) == 0)
			f = &fields[i];
	if (!f)
		return unknown_field(text, name_len, err);
	if (!equals || len - name_len - 1 == 0 || len - name_len - 1 >= sizeof(digits) ||
	    !isdigit((unsigned char)equals[1]))
		return bf_fail(err, -EINVAL, "profile field %s needs a number: %s=%" PRIu64, f->name, f->name,
			       get_field(f, out));
	memcpy(digits, equals + 1, len - name_len - 1);
	digits[len - name_len - 1] = '\0';
	errno = 0;
	value = strtoull(digits, &end, digits[0] == '0' && tolower((unsigned char)digits[1]) == 'x' ? 16 : 10);
	if (*end || errno)
		return bf_fail(err, -EINVAL, "profile field %s: \"%s\" is not a number", f->name, digits);
	if (value < f->min || value > f->max || (f->power_of_two && (value & (value - 1)) != 0))
		return bf_fail(err, -EINVAL, "profile field %s is %s%" PRIu64 "..%" PRIu64 ", not %s", f->name,
			       f->power_of_two ? "a power of two in " : "", f->min, f->max, digits);
	bf_member_set(out, f->offset, f->size, value);
	return 0;
}

int bf_mlx5_work_profile_parse(const char *text, struct bf_mlx5_profile *out, struct bf_error *err)
{
	size_t len = strcspn(text, ",");
	const struct bf_mlx5_profile *const *p;

	for (p = profiles; *p; p++)
		if (strlen((*p)->name) == len && strncmp((*p)->name, text, len) == 0)
			break;
	if (!*p)
		return unknown_name(text, len, err);
	*out = **p;
	for (text += len; *text == ','; text += len) {
		int rc;

		text++;
		len = strcspn(text, ",");
		rc = set_by_text(text, len, out, err);
		if (rc)
			return rc;
	}
	return 0;
}

void bf_mlx5_work_profile_json(struct bf_json *j, const struct bf_mlx5_profile *profile)
{
	bf_json_text(j, "name", profile->name);
	for (size_t i = 0; i < BF_ARRAY_LEN(fields); i++)
		bf_json_u64(j, fields[i].name, get_field(&fields[i], profile));
}

void bf_mlx5_work_profile_print(FILE *out, const struct bf_mlx5_profile *profile)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(fields); i++)
		fprintf(out, "    %-22s %" PRIu64 "\n", fields[i].name, get_field(&fields[i], profile));
}

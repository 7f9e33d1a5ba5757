/* Fat binaries: entries one after the other, and the texts in them. */
#include "tools/cuda/fatbin.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#ifdef BELFRY_HAVE_ZSTD
#include <zstd.h>
#endif

#define HEADER 16u
#define ENTRY_MIN 64u

#define FLAG_LZ4 0x2000u
#define FLAG_ZSTD 0x8000u

/* A text unpacked is not larger than this; it bounds what a damaged entry can ask for. */
#define TEXT_MAX (1ull << 30)

/* Fields of an entry's header. */
enum { AT_KIND = 0, AT_HEADER = 4, AT_SIZE = 8, AT_PACKED = 16, AT_ARCH = 28, AT_FLAGS = 40, AT_FULL = 56 };

static uint32_t read32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t read64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

uint64_t bf_fatbin_size(const void *data)
{
	const uint8_t *p = data;

	if (!p || read32(p) != BF_FATBIN_MAGIC || (uint16_t)(read32(p + 4) >> 16) != HEADER)
		return 0;
	return read64(p + 8) < TEXT_MAX * 64 ? read64(p + 8) + HEADER : 0;
}

int bf_fatbin_next(const void *data, uint64_t len, uint64_t *at, struct bf_fatbin_entry *out, struct bf_error *err)
{
	const uint8_t *p = data;
	uint64_t header, size;
	uint32_t packed;

	*out = (struct bf_fatbin_entry){ 0 };
	if (!*at) {
		if (len < HEADER || bf_fatbin_size(p) != len)
			return bf_fail(err, -EINVAL,
				       "no fat binary: its header does not say its size, %" PRIu64 " bytes", len);
		*at = HEADER;
	}
	if (*at == len)
		return 0;
	p += *at;
	if (len - *at < ENTRY_MIN)
		return bf_fail(err, -EINVAL, "fat binary: %" PRIu64 " bytes behind its last entry", len - *at);
	header = read32(p + AT_HEADER);
	size = read64(p + AT_SIZE);
	packed = read32(p + AT_PACKED);
	if (header < ENTRY_MIN || header > len - *at || size > len - *at - header || packed > size)
		return bf_fail(err, -EINVAL,
			       "fat binary: the entry at %" PRIu64 " (header %" PRIu64 ", %" PRIu64
			       " bytes) runs past the end",
			       *at, header, size);
	out->kind = read32(p + AT_KIND) & 0xffff;
	out->arch = read32(p + AT_ARCH);
	out->flags = read64(p + AT_FLAGS);
	out->payload = p + header;
	out->payload_size = packed ? packed : size;
	out->full_size = out->flags & (FLAG_LZ4 | FLAG_ZSTD) ? read64(p + AT_FULL) : 0;
	*at += header + size;
	return 1;
}

/* A length that goes on in bytes of 255. */
static int more_length(const uint8_t **in, const uint8_t *end, size_t *length)
{
	uint8_t byte;

	do {
		if (*in == end || *length > TEXT_MAX)
			return -EINVAL;
		byte = *(*in)++;
		*length += byte;
	} while (byte == 255);
	return 0;
}

int bf_lz4_unpack(const uint8_t *in, size_t len, uint8_t *out, size_t size)
{
	const uint8_t *const in_end = in + len;
	size_t done = 0;

	while (in < in_end) {
		const uint8_t token = *in++;
		size_t literals = token >> 4, match = token & 15, offset;

		if (literals == 15 && more_length(&in, in_end, &literals))
			return -EINVAL;
		if (literals > (size_t)(in_end - in) || literals > size - done)
			return -EINVAL;
		memcpy(out + done, in, literals);
		in += literals;
		done += literals;
		if (in == in_end) /* the last sequence has no match */
			break;
		if (in_end - in < 2)
			return -EINVAL;
		offset = (size_t)in[0] | (size_t)in[1] << 8;
		in += 2;
		if (match == 15 && more_length(&in, in_end, &match))
			return -EINVAL;
		match += 4;
		if (!offset || offset > done || match > size - done)
			return -EINVAL;
		for (size_t i = 0; i < match; i++, done++) /* may overlap itself */
			out[done] = out[done - offset];
	}
	return done == size ? 0 : -EINVAL;
}

static int unpack_zstd(const struct bf_fatbin_entry *e, char *out, struct bf_error *err)
{
#ifdef BELFRY_HAVE_ZSTD
	const size_t got = ZSTD_decompress(out, e->full_size, e->payload, e->payload_size);

	return !ZSTD_isError(got) && got == e->full_size ? 0 : bf_fail(err, -EINVAL, "fat binary: damaged zstd data");
#else
	(void)e;
	(void)out;
	return bf_fail(
	    err, -ENOTSUP,
	    "its PTX is packed with zstd, which this build of Belfry lacks; nvcc --compress-mode=speed or none");
#endif
}

char *bf_fatbin_text(const struct bf_fatbin_entry *e, size_t *len, struct bf_error *err)
{
	const uint64_t size = e->full_size ? e->full_size : e->payload_size;
	char *text;
	int rc = 0;

	if (size > TEXT_MAX) {
		bf_fail(err, -EINVAL, "fat binary: a text of %" PRIu64 " bytes", size);
		return NULL;
	}
	text = malloc(size + 1);
	if (!text) {
		bf_fail(err, -ENOMEM, "no memory for a text of %" PRIu64 " bytes", size);
		return NULL;
	}
	if (!e->full_size)
		memcpy(text, e->payload, size);
	else if (e->flags & FLAG_ZSTD)
		rc = unpack_zstd(e, text, err);
	else if (bf_lz4_unpack(e->payload, e->payload_size, (uint8_t *)text, size))
		rc = bf_fail(err, -EINVAL, "fat binary: damaged LZ4 data");
	if (rc) {
		free(text);
		return NULL;
	}
	text[size] = '\0';
	*len = size;
	return text;
}

size_t bf_fatbin_wrapped(size_t len)
{
	return HEADER + ENTRY_MIN + ((len + 7) & ~(size_t)7);
}

void bf_fatbin_wrap(uint8_t *out, const char *text, size_t len)
{
	const uint32_t magic = BF_FATBIN_MAGIC, version = HEADER << 16 | 1, header = ENTRY_MIN;
	const uint64_t all = bf_fatbin_wrapped(len) - HEADER, payload = all - ENTRY_MIN;
	const uint16_t kind = BF_FATBIN_PTX;

	memcpy(out, &magic, sizeof(magic));
	memcpy(out + 4, &version, sizeof(version));
	memcpy(out + 8, &all, sizeof(all));
	memcpy(out + HEADER + AT_KIND, &kind, sizeof(kind));
	memcpy(out + HEADER + AT_HEADER, &header, sizeof(header));
	memcpy(out + HEADER + AT_SIZE, &payload, sizeof(payload));
	memcpy(out + HEADER + ENTRY_MIN, text, len);
}

static bool is_better(uint32_t one, uint32_t than, uint32_t arch)
{
	if (one <= arch)
		return than > arch || one > than;
	return than > arch && one < than;
}

int bf_fatbin_choose(const void *data, uint64_t len, uint32_t arch, struct bf_fatbin_choice *out, struct bf_error *err)
{
	struct bf_fatbin_entry e;
	uint64_t at = 0;
	int rc;

	*out = (struct bf_fatbin_choice){ 0 };
	while ((rc = bf_fatbin_next(data, len, &at, &e, err)) == 1) {
		if (e.kind == BF_FATBIN_CUBIN) {
			out->cubins++;
			out->cubin_arch = e.arch;
		} else if (e.kind == BF_FATBIN_LTO) {
			out->ltos++;
		} else if (e.kind == BF_FATBIN_PTX && (!out->ptx.kind || is_better(e.arch, out->ptx.arch, arch))) {
			out->ptx = e;
		}
	}
	return rc;
}

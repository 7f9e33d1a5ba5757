/* One chunk's payload: compression and checksums. */
#include <errno.h>
#include <string.h>

#ifdef BELFRY_HAVE_XXHASH
#include <xxhash.h>
#endif
#ifdef BELFRY_HAVE_ZSTD
#include <zstd.h>
#endif

#include "traces/container/trace_internal.h"

static uint32_t header_sum(const struct bf_chunk_header *head)
{
	struct bf_chunk_header copy = *head;
	bf_put_le32(copy.header_sum.b, 0);
	return (uint32_t)bf_hash_bytes(&copy, sizeof(copy));
}

bool bf_chunk_header_ok(const struct bf_chunk_header *head)
{
	return !memcmp(head->magic, BF_CHUNK_MAGIC, 8) && bf_get_le32(head->header_sum.b) == header_sum(head) &&
	       bf_get_le32(head->raw.b) <= BF_CHUNK_MAX && bf_get_le32(head->stored.b) <= BF_CHUNK_MAX &&
	       bf_get_le32(head->decls.b) <= bf_get_le32(head->raw.b);
}

void *bf_chunk_packer(void)
{
#ifdef BELFRY_HAVE_ZSTD
	return ZSTD_createCCtx();
#else
	return NULL;
#endif
}

void bf_chunk_packer_free(void *zstd)
{
#ifdef BELFRY_HAVE_ZSTD
	ZSTD_freeCCtx(zstd);
#else
	(void)zstd;
#endif
}

int bf_chunk_pack(struct bf_chunk_header *head, const uint8_t *raw, size_t raw_len, int level, void *zstd,
		  struct bf_bytes *room, const uint8_t **stored)
{
	size_t len = raw_len;
	*stored = raw;
	head->codec = BF_CODEC_NONE;
#ifdef BELFRY_HAVE_ZSTD
	if (zstd && level > 0) {
		room->len = 0;
		if (bf_bytes_room(room, ZSTD_compressBound(raw_len)))
			return -ENOMEM;
		size_t packed = ZSTD_compressCCtx(zstd, room->at, room->cap, raw, raw_len, level);
		if (!ZSTD_isError(packed) && packed < raw_len) {
			head->codec = BF_CODEC_ZSTD;
			len = packed;
			*stored = room->at;
		}
	}
#else
	(void)level, (void)zstd, (void)room;
#endif
#ifdef BELFRY_HAVE_XXHASH
	head->sum_kind = BF_SUM_XXH64;
	bf_put_le64(head->sum.b, XXH64(*stored, len, 0));
#else
	head->sum_kind = BF_SUM_FOLD;
	bf_put_le64(head->sum.b, bf_hash_bytes(*stored, len));
#endif
	bf_put_le32(head->stored.b, (uint32_t)len);
	bf_put_le32(head->raw.b, (uint32_t)raw_len);
	bf_put_le32(head->header_sum.b, header_sum(head));
	return 0;
}

static int check_sum(const struct bf_chunk_header *head, const uint8_t *stored, size_t len, struct bf_error *err)
{
	uint64_t want = bf_get_le64(head->sum.b), have = 0;
	switch (head->sum_kind) {
	case BF_SUM_FOLD:
		have = bf_hash_bytes(stored, len);
		break;
	case BF_SUM_XXH64:
#ifdef BELFRY_HAVE_XXHASH
		have = XXH64(stored, len, 0);
		break;
#else
		return bf_fail(err, -ENOTSUP, "checksum XXH64: this build lacks libxxhash");
#endif
	default:
		return bf_fail(err, -ENOTSUP, "checksum of unknown kind %u", head->sum_kind);
	}
	return have == want ? 0 : bf_fail(err, -EBADMSG, "wrong checksum");
}

#ifdef BELFRY_HAVE_ZSTD
/* Streaming, because a payload that was cut off still gives its first blocks that way. */
static int decompress(const uint8_t *stored, size_t len, bool whole, size_t want, struct bf_bytes *raw,
		      struct bf_error *err)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	if (!stream)
		return -ENOMEM;
	ZSTD_inBuffer in = { stored, len, 0 };
	ZSTD_outBuffer out = { raw->at, want, 0 };
	size_t rc = 1, before;
	do {
		before = in.pos + out.pos;
		rc = ZSTD_decompressStream(stream, &out, &in);
	} while (!ZSTD_isError(rc) && rc && in.pos + out.pos > before);
	ZSTD_freeDStream(stream);
	raw->len = out.pos;
	if (whole && (rc || out.pos != want || in.pos != len))
		return bf_fail(err, -EBADMSG, "zstd: %s", ZSTD_isError(rc) ? ZSTD_getErrorName(rc) : "wrong length");
	return 0;
}
#endif

int bf_chunk_unpack(const struct bf_chunk_header *head, const uint8_t *stored, size_t len, struct bf_bytes *raw,
		    struct bf_error *err)
{
	size_t want = bf_get_le32(head->raw.b);
	bool whole = len == bf_get_le32(head->stored.b);
	int rc = whole ? check_sum(head, stored, len, err) : 0;
	if (rc)
		return rc;
	raw->len = 0;
	switch (head->codec) {
	case BF_CODEC_NONE:
		if (len > want || (whole && len != want))
			return bf_fail(err, -EBADMSG, "%zu bytes instead of %zu", len, want);
		return bf_bytes_add(raw, stored, len);
	case BF_CODEC_ZSTD:
#ifdef BELFRY_HAVE_ZSTD
		if (bf_bytes_room(raw, want ? want : 1))
			return -ENOMEM;
		return decompress(stored, len, whole, want, raw, err);
#else
		return bf_fail(err, -ENOTSUP, "compressed with zstd: this build lacks libzstd");
#endif
	default:
		return bf_fail(err, -ENOTSUP, "compression of unknown kind %u", head->codec);
	}
}

/* UMEMs: registered pages that rings and doorbell records lie in. */
#include <inttypes.h>

#include "models/mlx5/device_internal.h"

#include <stdlib.h>

#define LOG_PAGE_MAX 43u     /* what the contexts of most objects can say */
#define MTT_PERMISSIONS 3ull /* bits [1:0] of a translation entry */

static uint64_t page_at(const uint8_t *list, uint32_t i)
{
	return bf_get_be64(list + 8 * i) & ~MTT_PERMISSIONS;
}

uint8_t bf_mlx5_umem_make(struct bf_mlx5 *dev, const uint8_t *list, uint32_t n, uint32_t log_page, uint64_t offset,
			  struct bf_mlx5_umem **out)
{
	bool contiguous = true;
	struct bf_mlx5_umem *u;
	uint32_t kept;

	if (offset >> log_page)
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_PARAM,
				      "page_offset 0x%" PRIx64 ": must lie in the first page, of 2^%u bytes", offset,
				      log_page);
	for (uint32_t i = 0; i < n; i++) {
		if (page_at(list, i) & ((1ull << log_page) - 1))
			return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_PARAM,
					      "page %u of the list, 0x%" PRIx64 ": must be a multiple of 2^%u", i,
					      page_at(list, i), log_page);
		contiguous = contiguous && page_at(list, i) == page_at(list, 0) + ((uint64_t)i << log_page);
	}
	kept = contiguous ? 1 : n;
	u = kept <= BF_MLX5_ENTRIES - dev->entries ? calloc(1, sizeof(*u) + kept * sizeof(u->pages[0])) : NULL;
	if (!u)
		return BF_MLX5_CMD_NO_RES;
	dev->entries += kept;
	u->log_page = log_page;
	u->page_offset = offset;
	u->npages = n;
	u->size = ((uint64_t)n << log_page) - offset;
	u->contiguous = contiguous;
	for (uint32_t i = 0; i < kept; i++)
		u->pages[i] = page_at(list, i);
	*out = u;
	return BF_MLX5_CMD_OK;
}

void bf_mlx5_umem_free(struct bf_mlx5 *dev, struct bf_mlx5_umem *u)
{
	dev->entries -= u->contiguous ? 1 : (uint32_t)u->npages;
	free(u);
}

struct bf_mlx5_umem *bf_mlx5_umem_find(const struct bf_mlx5 *dev, uint32_t id)
{
	struct bf_mlx5_umem *u = id <= 0xffffff ? bf_mlx5_table_get(&dev->umems, id) : NULL;

	return u && !u->owned ? u : NULL;
}

uint8_t bf_mlx5_cmd_create_umem(struct bf_mlx5_mail *m)
{
	const uint8_t *ctx = m->in + BF_CREATE_UMEM_CTX;
	/* The field counts from 4 KiB pages: 0 is 4 KiB (mlx5_ifc.h struct mlx5_ifc_umem_bits). */
	uint32_t log_page = BF_MLX5_GET(ctx, BF_UMEM_LOG_PAGE_SIZE) + 12, n = BF_MLX5_GET(ctx, BF_UMEM_NUM_MTT);
	struct bf_mlx5_umem *u;
	uint8_t status;

	if (!n || n > (m->in_len - BF_CREATE_UMEM_MTT) / 8)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_INP_LEN,
				      "num_of_mtt %u: must be 1 to the %zu that the mailbox of %zu bytes has", n,
				      (m->in_len - BF_CREATE_UMEM_MTT) / 8, m->in_len);
	status = bf_mlx5_umem_make(m->dev, m->in + BF_CREATE_UMEM_MTT, n, log_page,
				   BF_MLX5_GET(ctx, BF_UMEM_PAGE_OFFSET), &u);
	if (status)
		return status;
	if (bf_mlx5_table_add(&m->dev->umems, u, &u->number)) {
		bf_mlx5_umem_free(m->dev, u);
		return BF_MLX5_CMD_LIM;
	}
	m->number = u->number;
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_destroy_umem(struct bf_mlx5_mail *m)
{
	struct bf_mlx5_umem *u = bf_mlx5_umem_find(m->dev, m->number);

	if (!u)
		return BF_MLX5_CMD_BAD_RES;
	if (u->users)
		return BF_MLX5_CMD_RES_BUSY;
	bf_mlx5_table_remove(&m->dev->umems, m->number);
	bf_mlx5_umem_free(m->dev, u);
	return BF_MLX5_CMD_OK;
}

/* The page walk: IOVA of byte `at` of the UMEM. */
static uint64_t walk(const struct bf_mlx5_umem *u, uint64_t at, uint32_t len, uint32_t *run)
{
	uint64_t byte = u->page_offset + at, page = 1ull << u->log_page;
	uint64_t left = page - (byte & (page - 1));

	*run = left < len ? (uint32_t)left : len;
	if (u->contiguous)
		return u->pages[0] + byte;
	return u->pages[byte >> u->log_page] + (byte & (page - 1));
}

uint64_t bf_mlx5_buf_iova(const struct bf_mlx5_buf *b, uint64_t at, uint32_t len, uint32_t *run)
{
	if (BF_UNLIKELY(!bf_mlx5_buf_linear(b)))
		return walk(b->umem, (b->at & ~(uint64_t)BF_MLX5_BUF_SCATTERED) + at, len, run);
	*run = len;
	return b->at + at;
}

static bool is_linear(const struct bf_mlx5_umem *u, uint64_t offset, uint64_t len)
{
	uint64_t first = (u->page_offset + offset) >> u->log_page;
	uint64_t last = (u->page_offset + offset + len - 1) >> u->log_page;

	for (uint64_t i = first; !u->contiguous && i < last; i++)
		if (u->pages[i] + (1ull << u->log_page) != u->pages[i + 1])
			return false;
	return true;
}

uint8_t bf_mlx5_buf_in(struct bf_mlx5_buf *b, struct bf_mlx5_umem *u, uint64_t offset, uint64_t len)
{
	uint64_t align = len == BF_MLX5_DBR_BYTES ? len : BF_MLX5_WQEBB; /* no entry lies on two pages */
	uint32_t run;

	if ((offset | u->page_offset) & (align - 1))
		return BF_MLX5_CMD_BAD_PARAM;
	if (offset > u->size || len > u->size - offset)
		return BF_MLX5_CMD_BAD_SIZE;
	b->umem = u;
	b->at = is_linear(u, offset, len) ? walk(u, offset, 1, &run) : offset | BF_MLX5_BUF_SCATTERED;
	return BF_MLX5_CMD_OK;
}

/* What bf_mlx5_buf_in() refuses. */
static void refuse_place(struct bf_mlx5 *dev, uint8_t status, const struct bf_mlx5_umem *u, uint64_t offset,
			 uint64_t len)
{
	if (status == BF_MLX5_CMD_BAD_SIZE)
		bf_mlx5_refuse(dev, status,
			       "%" PRIu64 " bytes at offset 0x%" PRIx64 ": beyond the %" PRIu64 " of umem 0x%x", len,
			       offset, u->size, u->number);
	else
		bf_mlx5_refuse(dev, status, "a ring or record at offset 0x%" PRIx64 ": must be a multiple of %u",
			       offset, len == BF_MLX5_DBR_BYTES ? BF_MLX5_DBR_BYTES : BF_MLX5_WQEBB);
}

uint8_t bf_mlx5_buf_init(struct bf_mlx5 *dev, struct bf_mlx5_buf *b, bool valid, uint32_t id, uint64_t offset,
			 uint64_t len)
{
	uint64_t align = len == BF_MLX5_DBR_BYTES ? len : BF_MLX5_WQEBB;
	struct bf_mlx5_umem *u;
	uint8_t status;

	if (offset & (align - 1))
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_PARAM,
				      "a ring or record at 0x%" PRIx64 ": must be a multiple of %" PRIu64, offset,
				      align);
	*b = (struct bf_mlx5_buf){ .at = offset };
	if (!valid)
		return BF_MLX5_CMD_OK;
	u = bf_mlx5_umem_find(dev, id);
	if (!u)
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_RES, "umem 0x%x: there is no such memory", id);
	status = bf_mlx5_buf_in(b, u, offset, len);
	if (status)
		refuse_place(dev, status, u, offset, len);
	return status;
}

uint8_t bf_mlx5_buf_pages(const struct bf_mlx5_mail *m, struct bf_mlx5_buf *b, uint32_t log_page, uint32_t parts,
			  uint64_t len)
{
	struct bf_mlx5 *dev = m->dev;
	struct bf_mlx5_umem *u;
	uint64_t offset, pages;
	uint8_t status;

	log_page += 12;
	if (log_page > LOG_PAGE_MAX)
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_PARAM, "log_page_size %u: must be %u at most", log_page - 12,
				      LOG_PAGE_MAX - 12);
	offset = (uint64_t)parts << (log_page - 6);
	pages = (offset + len + (1ull << log_page) - 1) >> log_page;
	if (pages > (m->in_len - BF_CREATE_PAS) / 8)
		return bf_mlx5_refuse(dev, BF_MLX5_CMD_BAD_INP_LEN,
				      "a ring of %" PRIu64 " pages of 2^%u bytes: the mailbox has addresses of %zu",
				      pages, log_page, (m->in_len - BF_CREATE_PAS) / 8);
	status = bf_mlx5_umem_make(dev, m->in + BF_CREATE_PAS, (uint32_t)pages, log_page, offset, &u);
	if (status)
		return status;
	u->owned = true;
	if (bf_mlx5_table_add(&dev->umems, u, &u->number)) {
		bf_mlx5_umem_free(dev, u);
		return BF_MLX5_CMD_LIM;
	}
	status = bf_mlx5_buf_in(b, u, 0, len);
	if (status) {
		refuse_place(dev, status, u, offset, len);
		b->umem = u;
		bf_mlx5_buf_hold(dev, b, 0);
		b->umem = NULL;
	}
	return status;
}

void bf_mlx5_buf_hold(struct bf_mlx5 *dev, const struct bf_mlx5_buf *b, uint32_t by)
{
	struct bf_mlx5_umem *u = b->umem;

	if (!u)
		return;
	u->users += by;
	if (u->users || !u->owned)
		return;
	bf_mlx5_table_remove(&dev->umems, u->number);
	bf_mlx5_umem_free(dev, u);
}

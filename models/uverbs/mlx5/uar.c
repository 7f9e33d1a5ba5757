/* UAR pages: those that a program asks for one by one, those it gets with its context, and where it maps them. */
#include "models/uverbs/mlx5/mlx5_ib_internal.h"

/*
 * An mmap offset counts pages; bits 15:8 say what is mapped. Static pages go by index (0, or with a cache attribute 2
 * and 3), dynamic ones have entries above the commands of the ABI (Linux hw/mlx5/main.c mlx5_entry_to_mmap_offset():
 * MLX5_IB_MMAP_OFFSET_START is 9).
 */
#define TOKEN_COMMAND(t) ((t) >> 8 & 0xff)
#define TOKEN_INDEX(t) (((t)&0xff) | ((t) >> 16 << 8))
#define FIRST_ENTRY 9u
#define LAST_ENTRY 255u

static uint64_t token_of(uint32_t entry)
{
	uint32_t low = entry & 0xffff, high = FIRST_ENTRY + (entry >> 16);

	return (uint64_t)high << 8 | (low & 0xff) | (uint64_t)(low >> 8) << 16;
}

static uint32_t entry_of(uint64_t token)
{
	return ((uint32_t)TOKEN_COMMAND(token) - FIRST_ENTRY) << 16 | (uint32_t)(TOKEN_INDEX(token) & 0xffff);
}

int bf_mlx5_ib_alloc_uar(struct bf_uv_call *c)
{
	uint32_t length = BF_MLX5_UAR_BYTES;
	struct bf_mlx5_ib_uar *uar;
	uint64_t type, offset;
	int err = bf_uv_attr_get(c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, &type, sizeof(type));

	if (err)
		return err;
	if (type != MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF && type != MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC)
		return -EOPNOTSUPP;
	if ((bf_mlx5_ib_file_of(c->f)->last_entry >> 16) + FIRST_ENTRY >= LAST_ENTRY)
		return -ENOMEM;
	uar = bf_uv_new(c, MLX5_IB_OBJECT_UAR, sizeof(*uar));
	if (!uar)
		return -ENOMEM;
	err = bf_mlx5_ib_simple(c->u, BF_MLX5_CMD_ALLOC_UAR, 0, &uar->uar);
	if (err) {
		bf_uv_free(&uar->o);
		return err == -EAGAIN ? -ENOMEM : err;
	}
	uar->write_combining = type == MLX5_IB_UAPI_UAR_ALLOC_TYPE_BF;
	uar->entry = bf_mlx5_ib_file_of(c->f)->last_entry++;
	c->number = uar->uar;
	offset = token_of(uar->entry) * BF_UV_PAGE;
	if (bf_uv_attr_put(c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, &offset, sizeof(offset)) ||
	    bf_uv_attr_put(c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, &length, sizeof(length)) ||
	    bf_uv_attr_put(c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, &uar->uar, sizeof(uar->uar)) ||
	    bf_uv_attr_handle(c, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, uar->o.handle)) {
		bf_uv_destroy(&uar->o, true);
		return -EFAULT;
	}
	return 0;
}

int bf_mlx5_ib_uar_destroy(struct bf_uv_object *o, bool forced)
{
	(void)forced;
	return bf_mlx5_ib_simple(o->file->u, BF_MLX5_CMD_DEALLOC_UAR, ((struct bf_mlx5_ib_uar *)o)->uar, NULL);
}

int bf_mlx5_ib_static_uars(struct bf_uverbs_file *f, uint32_t regs)
{
	uint32_t pages = regs / BF_MLX5_IB_KERNEL_REGS;
	int err = 0;

	if (pages > BF_MLX5_IB_STATIC_UARS)
		return -ENOMEM;
	while (bf_mlx5_ib_file_of(f)->static_uars < pages && !err) {
		err = bf_mlx5_ib_simple(f->u, BF_MLX5_CMD_ALLOC_UAR, 0,
					&bf_mlx5_ib_file_of(f)->uar[bf_mlx5_ib_file_of(f)->static_uars]);
		bf_mlx5_ib_file_of(f)->static_uars += !err;
	}
	if (err)
		bf_mlx5_ib_static_uars_free(f);
	return err == -EAGAIN ? -ENOMEM : err;
}

void bf_mlx5_ib_static_uars_free(struct bf_uverbs_file *f)
{
	while (bf_mlx5_ib_file_of(f)->static_uars)
		bf_mlx5_ib_simple(f->u, BF_MLX5_CMD_DEALLOC_UAR,
				  bf_mlx5_ib_file_of(f)->uar[--bf_mlx5_ib_file_of(f)->static_uars], NULL);
}

/* Register 0 is for everybody (the kernel's "high class" one); the others go to who has the fewest companions. */
int bf_mlx5_ib_reg_take(struct bf_uverbs_file *f, uint32_t *reg, uint32_t *uar)
{
	uint32_t best = 0, n = bf_mlx5_ib_file_of(f)->static_uars * BF_MLX5_IB_KERNEL_REGS;

	if (!n)
		return -EINVAL;
	for (uint32_t i = 1; i < n; i++)
		if (!best || bf_mlx5_ib_file_of(f)->reg_users[i] < bf_mlx5_ib_file_of(f)->reg_users[best])
			best = i;
	bf_mlx5_ib_file_of(f)->reg_users[best]++;
	*reg = best;
	*uar = bf_mlx5_ib_file_of(f)->uar[best / BF_MLX5_IB_KERNEL_REGS];
	return 0;
}

void bf_mlx5_ib_reg_give(struct bf_uverbs_file *f, uint32_t reg)
{
	bf_mlx5_ib_file_of(f)->reg_users[reg]--;
}

uint32_t bf_mlx5_ib_reg_name(uint32_t reg)
{
	return reg / BF_MLX5_IB_KERNEL_REGS * BF_MLX5_IB_REGS_PER_UAR + reg % BF_MLX5_IB_KERNEL_REGS;
}

int64_t bf_mlx5_ib_reg_page(const struct bf_uverbs_file *f, uint32_t name)
{
	uint32_t page = name / BF_MLX5_IB_REGS_PER_UAR;

	return page < bf_mlx5_ib_file_of(f)->static_uars ? (int64_t)bf_mlx5_ib_file_of(f)->uar[page] : -EINVAL;
}

static const struct bf_mlx5_ib_uar *find_entry(const struct bf_uverbs_file *f, uint64_t token)
{
	for (const struct bf_uv_object *o = f->oldest; o; o = o->next)
		if (o->type == MLX5_IB_OBJECT_UAR && ((const struct bf_mlx5_ib_uar *)o)->entry == entry_of(token))
			return (const struct bf_mlx5_ib_uar *)o;
	return NULL;
}

int bf_mlx5_ib_mmap(struct bf_uverbs_file *f, uint64_t offset, uint64_t len, struct bf_uverbs_mapping *out)
{
	uint64_t token = offset / BF_UV_PAGE, command = TOKEN_COMMAND(token), index = TOKEN_INDEX(token);
	const struct bf_mlx5_ib_uar *dynamic;

	*out = (struct bf_uverbs_mapping){ 0 };
	if (f->context && !(offset % BF_UV_PAGE) && command == MLX5_IB_MMAP_DEVICE_MEM)
		return bf_mlx5_ib_dm_mmap(f, index, len, out);
	if (!f->context || offset % BF_UV_PAGE || len != BF_UV_PAGE)
		return -EINVAL;
	switch (command) {
	case MLX5_IB_MMAP_REGULAR_PAGE:
	case MLX5_IB_MMAP_WC_PAGE:
	case MLX5_IB_MMAP_NC_PAGE:
		if (index >= bf_mlx5_ib_file_of(f)->static_uars)
			return -EINVAL;
		out->uar = bf_mlx5_ib_file_of(f)->uar[index];
		out->write_combining = command != MLX5_IB_MMAP_NC_PAGE;
		break;
	case MLX5_IB_MMAP_GET_CONTIGUOUS_PAGES:
		return -ENOSYS;
	case MLX5_IB_MMAP_CORE_CLOCK:
		return -EOPNOTSUPP;
	case MLX5_IB_MMAP_CLOCK_INFO:
		if (index != MLX5_IB_CLOCK_INFO_V1)
			return -EINVAL;
		out->page = bf_mlx5_ib_of(f->u)->clock;
		return 0;
	default:
		dynamic = command >= FIRST_ENTRY ? find_entry(f, token) : NULL;
		if (!dynamic)
			return -EINVAL;
		out->uar = dynamic->uar;
		out->write_combining = dynamic->write_combining;
		break;
	}
	out->region = bf_mlx5_uar(f->u->opts.device, out->uar);
	return out->region ? 0 : -EINVAL;
}

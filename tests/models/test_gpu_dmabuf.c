/* Buffers, their physical addresses, who was given those, and what becomes of them. */
#include "tests/models/gpu_rig.h"

static struct gpu_rig rig;
static struct bf_iommufd *fd;
static uint32_t ioas, dev;

static struct bf_gpu_bo *alloc(const char *name, uint64_t size)
{
	struct bf_gpu_bo *bo;

	ck_assert_int_eq(bf_gpu_vram_alloc(rig.gpu, name, size, BF_GPU_MTYPE_UC, &bo), 0);
	return bo;
}

static struct bf_dmabuf *export(struct bf_gpu_bo *bo)
{
	struct bf_dmabuf *buf;

	ck_assert_int_eq(bf_gpu_bo_export(bo, &buf), 0);
	return buf;
}

static void open_rig(const struct bf_gpu_opts *opts)
{
	uint32_t pt;

	gpu_rig_open(&rig, 1, BF_ORDER_SC, opts);
	ck_assert_int_eq(bf_iommufd_open(rig.sim, &rig.space, &fd), 0);
	ck_assert_int_eq(bf_iommufd_ioas_alloc(fd, &ioas), 0);
	ck_assert_int_eq(bf_iommufd_bind(fd, "ssd", &rig.ssd, &dev), 0);
	pt = ioas;
	ck_assert_int_eq(bf_iommufd_attach(fd, dev, &pt), 0);
}

static void close_rig(void)
{
	bf_iommufd_close(fd);
	gpu_rig_close(&rig);
}

static int map_file(struct bf_dmabuf *buf, uint64_t *iova)
{
	return bf_iommufd_map_file(fd, ioas, BF_IOMMUFD_READABLE | BF_IOMMUFD_WRITEABLE, buf, 0, buf->size, iova);
}

/* The SSD writes `v` at I/O address `iova` and it lands. */
static void ssd_writes(uint64_t iova, uint32_t v)
{
	ck_assert_int_eq(bf_dma_write(&rig.ssd, iova, &v, 4, 0), 0);
	bf_sim_run(rig.sim, BF_NEVER);
}

static uint32_t word(const struct bf_gpu_bo *bo, uint64_t offset)
{
	return bf_get_le32(bf_gpu_bo_region(bo)->bytes + offset);
}

START_TEST(iommufd_maps_video_memory_as_pal)
{
	struct bf_gpu_bo *bo;
	struct bf_dmabuf *buf;
	uint64_t iova = 0;

	open_rig(NULL);
	bo = alloc("result", 3 * BF_PAGE);
	buf = export(bo);
	ck_assert_int_eq(map_file(buf, &iova), 0);
	ssd_writes(iova + 2 * BF_PAGE, 7);
	ck_assert_uint_eq(word(bo, 2 * BF_PAGE), 7);
	/* Handed out, it is pinned, and cannot move before it is unmapped. */
	ck_assert_int_eq(bf_gpu_bo_move(bo, BF_GPU_IN_VRAM), -EBUSY);
	ck_assert_int_eq(bf_gpu_vram_free(bo), -EBUSY);
	ck_assert_int_eq(bf_iommufd_unmap(fd, ioas, iova, 3 * BF_PAGE, NULL), 0);
	ck_assert_int_eq(bf_gpu_bo_move(bo, BF_GPU_IN_VRAM), 0);
	ck_assert_int_eq(bf_dma_write(&rig.ssd, iova, &iova, 4, 0), -EFAULT);
	bf_dmabuf_put(buf);
	ck_assert_int_eq(bf_gpu_vram_free(bo), 0);
	close_rig();
}
END_TEST

START_TEST(a_copy_of_video_memory_keeps_it_pinned)
{
	struct bf_gpu_bo *bo;
	struct bf_dmabuf *buf;
	uint64_t iova = 0, copy = 0;
	uint32_t second, pt;

	open_rig(NULL);
	bo = alloc("data", 2 * BF_PAGE);
	buf = export(bo);
	ck_assert_int_eq(map_file(buf, &iova), 0);
	ck_assert_int_eq(bf_iommufd_ioas_alloc(fd, &second), 0);
	ck_assert_int_eq(bf_iommufd_copy(fd, second, ioas, BF_IOMMUFD_WRITEABLE, BF_PAGE, iova + BF_PAGE, &copy), 0);
	ck_assert_int_eq(bf_iommufd_destroy(fd, ioas), -EBUSY);
	ck_assert_int_eq(bf_iommufd_unmap(fd, ioas, 0, UINT64_MAX, NULL), 0);
	ck_assert_int_eq(bf_gpu_bo_move(bo, BF_GPU_IN_VRAM), -EBUSY);
	pt = second;
	ck_assert_int_eq(bf_iommufd_attach(fd, dev, &pt), 0);
	ssd_writes(copy + 4, 11);
	ck_assert_uint_eq(word(bo, BF_PAGE + 4), 11);
	/* Revoked under both names, both are gone; unmapping what is left is fine. */
	bf_dmabuf_revoke(buf);
	ck_assert_int_eq(bf_dma_write(&rig.ssd, copy, &pt, 4, 0), -EFAULT);
	ck_assert_int_eq(bf_iommufd_unmap(fd, second, 0, UINT64_MAX, NULL), 0);
	ck_assert_int_eq(bf_gpu_bo_move(bo, BF_GPU_IN_VRAM), 0);
	bf_dmabuf_put(buf);
	close_rig();
}
END_TEST

START_TEST(a_stock_exporter_has_no_pal)
{
	struct bf_gpu_opts o = { .no_pal = true };
	struct bf_dmabuf *buf;
	uint64_t iova = 0;

	open_rig(&o);
	buf = export(alloc("result", BF_PAGE));
	ck_assert_int_eq(map_file(buf, &iova), -EINVAL);
	ck_assert_ptr_nonnull(strstr(rig.sim->error.text, "PAL"));
	bf_dmabuf_put(buf);
	close_rig();
}
END_TEST

START_TEST(host_memory_has_no_address_to_give)
{
	struct bf_gpu_bo *bo;
	struct bf_dmabuf *buf;
	uint64_t iova = 0;

	open_rig(NULL);
	bo = alloc("result", BF_PAGE);
	buf = export(bo);
	ck_assert_int_eq(bf_gpu_bo_move(bo, BF_GPU_IN_GTT), 0);
	ck_assert_int_eq(map_file(buf, &iova), -EINVAL);
	ck_assert_int_eq(bf_gpu_bo_move(bo, BF_GPU_IN_VRAM), 0);
	ck_assert_int_eq(map_file(buf, &iova), 0);
	bf_dmabuf_put(buf);
	close_rig();
}
END_TEST

static const struct bf_dmabuf_importer static_sgt = { .name = "static", .types = { BF_DMABUF_SGT }, .ntypes = 1 };

static void remap_later(struct bf_dmabuf_attach *a)
{
	++*(uint32_t *)a->arg;
	bf_dmabuf_unmap(a);
}

static const struct bf_dmabuf_importer dynamic_p2p = {
	.name = "nic", .types = { BF_DMABUF_SGT_P2P, BF_DMABUF_SGT }, .ntypes = 2, .move_notify = remap_later
};

START_TEST(the_first_type_that_both_have_is_taken)
{
	static const struct bf_dmabuf_importer any = { .name = "any",
						       .types = { BF_DMABUF_SGT, BF_DMABUF_PAL, BF_DMABUF_SGT_P2P },
						       .ntypes = 3 };
	static const struct bf_dmabuf_importer none = { .name = "none" };
	struct bf_dmabuf_attach *a;
	struct bf_dmabuf *buf, *bar;

	open_rig(NULL);
	buf = export(alloc("b", BF_PAGE));
	ck_assert_int_eq(bf_dmabuf_export_bar(bf_gpu_regs(rig.gpu), 0, BF_PAGE, &bar), 0);
	ck_assert_int_eq(bf_dmabuf_attach(buf, &any, NULL, &a), 0);
	ck_assert_int_eq(a->type, BF_DMABUF_SGT); /* the importer's order counts */
	bf_dmabuf_detach(a);
	ck_assert_int_eq(bf_dmabuf_attach(bar, &any, NULL, &a), 0);
	ck_assert_int_eq(a->type, BF_DMABUF_PAL);
	bf_dmabuf_detach(a);
	ck_assert_int_eq(bf_dmabuf_attach(bar, &static_sgt, NULL, &a), -EINVAL);
	ck_assert_int_eq(bf_dmabuf_attach(buf, &none, NULL, &a), -EINVAL);
	bf_dmabuf_put(buf);
	bf_dmabuf_put(bar);
	close_rig();
}
END_TEST

/* rocm-xio#181: a static importer gets the buffer in host memory, and nobody says so. */
START_TEST(a_static_importer_moves_the_buffer_to_host_memory)
{
	struct bf_dmabuf_attach *a;
	struct bf_gpu_bo *bo;
	struct bf_dmabuf *buf;

	open_rig(NULL);
	bo = alloc("data", BF_PAGE);
	memset(bf_gpu_bo_region(bo)->bytes, 0x5a, BF_PAGE);
	buf = export(bo);
	ck_assert_int_eq(bf_dmabuf_attach(buf, &static_sgt, NULL, &a), 0);
	ck_assert_int_eq(bf_gpu_bo_place(bo), BF_GPU_IN_VRAM);
	ck_assert_int_eq(bf_dmabuf_map(a), 0);
	ck_assert_int_eq(bf_gpu_bo_place(bo), BF_GPU_IN_GTT);
	ck_assert_uint_eq(bf_gpu_bo_paddr(bo, 0), 0);
	ck_assert_uint_eq(a->ranges[0].addr, bf_gpu_bo_region(bo)->va); /* no address in the aperture */
	ck_assert_uint_eq(word(bo, 0), 0x5a5a5a5a);
	/* The core has pinned it there for the static importer. */
	ck_assert_int_eq(bf_gpu_bo_move(bo, BF_GPU_IN_VRAM), -EBUSY);
	bf_dmabuf_unmap(a);
	ck_assert_int_eq(bf_gpu_bo_move(bo, BF_GPU_IN_VRAM), 0);
	/* Pinned in VRAM first, it fails instead, and says so. */
	ck_assert_int_eq(bf_dmabuf_pin(a), 0);
	ck_assert_int_eq(bf_dmabuf_map(a), -EINVAL);
	bf_dmabuf_detach(a);
	bf_dmabuf_put(buf);
	close_rig();
}
END_TEST

START_TEST(a_dynamic_importer_is_told_of_a_move)
{
	struct bf_dmabuf_attach *a;
	struct bf_gpu_bo *bo;
	struct bf_dmabuf *buf;
	uint32_t told = 0;
	uint64_t before;

	open_rig(NULL);
	bo = alloc("data", BF_PAGE);
	buf = export(bo);
	ck_assert_int_eq(bf_dmabuf_attach(buf, &dynamic_p2p, &told, &a), 0);
	ck_assert_int_eq(bf_dmabuf_map(a), 0);
	before = a->ranges[0].addr;
	ck_assert_uint_eq(before, bf_gpu_bo_paddr(bo, 0));
	ck_assert_int_eq(bf_gpu_bo_move(bo, BF_GPU_IN_VRAM), 0);
	ck_assert_uint_eq(told, 1);
	ck_assert(!a->mapped);
	ck_assert_int_eq(bf_dmabuf_map(a), 0);
	ck_assert_uint_ne(a->ranges[0].addr, before);
	ck_assert_int_eq(bf_dmabuf_map(a), -EBUSY);
	bf_dmabuf_detach(a);
	bf_dmabuf_put(buf);
	close_rig();
}
END_TEST

START_TEST(a_buffer_that_moved_leaves_the_device_writing_elsewhere)
{
	struct bf_gpu_opts o = { .pal_without_pin = true };
	struct bf_gpu_bo *bo, *heir;
	struct bf_dmabuf *buf;
	uint64_t iova = 0, old;
	char text[1024];

	open_rig(&o);
	bo = alloc("result", 2 * BF_PAGE);
	buf = export(bo);
	ck_assert_int_eq(map_file(buf, &iova), 0);
	old = bf_gpu_bo_paddr(bo, 0);
	ssd_writes(iova, 1);
	ck_assert_uint_eq(word(bo, 0), 1);
	ck_assert_int_eq(bf_gpu_bo_move(bo, BF_GPU_IN_VRAM), 0);
	ck_assert_uint_ne(bf_gpu_bo_paddr(bo, 0), old);
	ck_assert_uint_eq(word(bo, 0), 1); /* the GPU sees its data as ever */
	/* Nobody owns the old place: the write is lost. */
	ssd_writes(iova, 2);
	ck_assert_uint_eq(word(bo, 0), 1);
	ck_assert_uint_eq(bf_get_le32(bf_host(bf_gpu_aperture(rig.gpu), old)), 2);
	ck_assert_uint_eq(bf_gpu_stats(rig.gpu)->stray_writes, 1);
	/* Somebody gets the place: the write hits them. */
	heir = alloc("weights", 2 * BF_PAGE);
	ck_assert_uint_eq(bf_gpu_bo_paddr(heir, 0), old);
	ck_assert_ptr_eq(bf_gpu_owner(rig.gpu, old), heir);
	ssd_writes(iova + 8, 3);
	ck_assert_uint_eq(word(heir, 8), 3);
	ck_assert_uint_eq(word(bo, 8), 0);
	ck_assert_uint_eq(bf_gpu_stats(rig.gpu)->stray_writes, 2);
	bf_gpu_describe(rig.gpu, text, sizeof(text));
	ck_assert_msg(strstr(text, "for 'result', which has moved away; the memory belongs to 'weights' now") &&
			  strstr(text, "nobody owns the memory"),
		      "%s", text);
	/* A pin that comes too late keeps the wrong place. */
	ck_assert_int_eq(bf_dmabuf_pin(buf->attached), 0);
	ssd_writes(iova + 12, 4);
	ck_assert_uint_eq(word(heir, 12), 4);
	/* Back at its old place, the addresses are right again. */
	bf_dmabuf_unpin(buf->attached);
	ck_assert_int_eq(bf_gpu_vram_free(heir), 0);
	ck_assert_int_eq(bf_gpu_bo_move(bo, BF_GPU_IN_VRAM), 0);
	ck_assert_uint_eq(bf_gpu_bo_paddr(bo, 0), old);
	ssd_writes(iova, 5);
	ck_assert_uint_eq(word(bo, 0), 5);
	ck_assert_uint_eq(bf_gpu_stats(rig.gpu)->stray_writes, 3);
	ck_assert_int_eq(bf_iommufd_unmap(fd, ioas, 0, UINT64_MAX, NULL), 0);
	bf_dmabuf_put(buf);
	close_rig();
}
END_TEST

/* A posted write that is on its way when the buffer moves goes where its address leads when it lands. */
START_TEST(a_write_in_flight_lands_at_its_address)
{
	struct bf_gpu_opts o = { .pal_without_pin = true };
	struct bf_gpu_bo *bo;
	struct bf_dmabuf *buf;
	uint64_t iova = 0, old;
	const uint32_t v = 9;

	open_rig(&o);
	bo = alloc("result", BF_PAGE);
	buf = export(bo);
	ck_assert_int_eq(map_file(buf, &iova), 0);
	old = bf_gpu_bo_paddr(bo, 0);
	ck_assert_int_eq(bf_dma_write(&rig.ssd, iova, &v, 4, 0), 0);
	ck_assert_int_eq(bf_gpu_bo_move(bo, BF_GPU_IN_VRAM), 0);
	bf_sim_run(rig.sim, BF_NEVER);
	ck_assert_uint_eq(word(bo, 0), 0);
	ck_assert_uint_eq(bf_get_le32(bf_host(bf_gpu_aperture(rig.gpu), old)), 9);
	bf_dmabuf_put(buf);
	close_rig();
}
END_TEST

START_TEST(fragmented_memory_gives_a_list_of_addresses)
{
	struct bf_gpu_profile p = bf_gpu_navi31;
	struct bf_gpu_opts o = { .profile = &p };
	struct bf_gpu_bo *bo[8], *big, *no;
	struct bf_dmabuf *buf;
	uint64_t iova = 0;

	p.vram_bytes = 8 * BF_PAGE;
	open_rig(&o);
	for (uint32_t i = 0; i < 8; i++)
		bo[i] = alloc("small", BF_PAGE);
	ck_assert_int_eq(bf_gpu_vram_alloc(rig.gpu, "no", 1, BF_GPU_MTYPE_UC, &no), -ENOMEM);
	for (uint32_t i = 1; i < 8; i += 2)
		ck_assert_int_eq(bf_gpu_vram_free(bo[i]), 0);
	big = alloc("big", 3 * BF_PAGE);
	buf = export(big);
	ck_assert_int_eq(map_file(buf, &iova), 0);
	ck_assert_uint_eq(buf->attached->count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		ck_assert_uint_eq(buf->attached->ranges[i].addr, bf_gpu_aperture(rig.gpu)->va + (2 * i + 1) * BF_PAGE);
		ssd_writes(iova + i * BF_PAGE + 16, 100 + i);
		ck_assert_uint_eq(word(big, i * BF_PAGE + 16), 100 + i);
	}
	ck_assert_int_eq(bf_gpu_bo_move(big, BF_GPU_IN_VRAM), -EBUSY);
	bf_dmabuf_put(buf);
	close_rig();
}
END_TEST

/* A move cannot lose what the GPU had stored, cached or not, and makes nothing visible too late. */
START_TEST(a_move_takes_the_caches_along)
{
	struct bf_gpu_bo *bo;
	struct bf_region *r;

	open_rig(NULL);
	ck_assert_int_eq(bf_gpu_vram_alloc(rig.gpu, "rw", BF_PAGE, BF_GPU_MTYPE_RW, &bo), 0);
	r = bf_gpu_bo_region(bo);
	r->cache->ops->store(r->cache, r, 4, &(uint32_t){ 6 }, 4, false, 0);
	ck_assert_uint_eq(word(bo, 4), 0);
	ck_assert_int_eq(bf_gpu_bo_move(bo, BF_GPU_IN_GTT), 0);
	ck_assert_uint_eq(word(bo, 4), 6);
	/* Host memory is coherent. */
	r->cache->ops->store(r->cache, r, 8, &(uint32_t){ 7 }, 4, false, 0);
	ck_assert_uint_eq(word(bo, 8), 7);
	close_rig();
}
END_TEST

START_TEST(a_revoked_bar_is_gone)
{
	struct bf_dmabuf *bar;
	struct bf_dmabuf_attach *a;
	const uint32_t req = GPU_RIG_FLUSH;
	uint64_t iova = 0;

	open_rig(NULL);
	/* A doorbell page as a target of DMA: here, of all things, the GPU's registers. */
	ck_assert_int_eq(bf_dmabuf_export_bar(bf_gpu_regs(rig.gpu), 0xa000, BF_PAGE, &bar), 0);
	ck_assert_int_eq(map_file(bar, &iova), 0);
	ck_assert_int_eq(bf_dma_write(&rig.ssd, iova + (BF_GPU_GCVM_INVALIDATE_ENG17_REQ & 0xfff), &req, 4, 0), 0);
	bf_sim_run(rig.sim, BF_NEVER);
	ck_assert_uint_eq(bf_gpu_stats(rig.gpu)->invalidations, 1);
	bf_dmabuf_revoke(bar);
	ck_assert_int_eq(bf_dma_write(&rig.ssd, iova, &req, 4, 0), -EFAULT);
	ck_assert_int_eq(map_file(bar, &iova), -ENODEV);
	ck_assert_int_eq(bf_dmabuf_attach(bar, &dynamic_p2p, NULL, &a), -ENODEV);
	ck_assert_int_eq(bf_dmabuf_pin(bar->attached), -ENODEV);
	bf_dmabuf_put(bar);
	/* Unaligned or outside. */
	ck_assert_int_eq(bf_dmabuf_export_bar(bf_gpu_regs(rig.gpu), 1, BF_PAGE, &bar), -EINVAL);
	ck_assert_int_eq(bf_dmabuf_export_bar(bf_gpu_regs(rig.gpu), BF_GPU_REGS_SIZE, BF_PAGE, &bar), -EINVAL);
	ck_assert_int_eq(bf_dmabuf_export_bar(bf_gpu_regs(rig.gpu), 0, 0, &bar), -EINVAL);
	close_rig();
}
END_TEST

START_TEST(profiles_are_checked)
{
	struct bf_gpu_profile p = bf_gpu_navi31;
	struct bf_gpu_opts o = { .name = "g", .profile = &p };
	struct bf_gpu *gpu;

	open_rig(NULL);
	o.space = &rig.space;
	p.line = 96;
	ck_assert_int_eq(bf_gpu_create(rig.sim, &o, &gpu), -EINVAL);
	p.line = 64;
	p.vram_bytes = 100;
	ck_assert_int_eq(bf_gpu_create(rig.sim, &o, &gpu), -EINVAL);
	p.vram_bytes = BF_PAGE;
	p.l2_bytes = 0;
	ck_assert_int_eq(bf_gpu_create(rig.sim, &o, &gpu), -EINVAL);
	ck_assert_ptr_null(gpu);
	close_rig();
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("gpu_dmabuf");
	TCase *tc = tcase_create("dmabuf");

	tcase_add_test(tc, iommufd_maps_video_memory_as_pal);
	tcase_add_test(tc, a_copy_of_video_memory_keeps_it_pinned);
	tcase_add_test(tc, a_stock_exporter_has_no_pal);
	tcase_add_test(tc, host_memory_has_no_address_to_give);
	tcase_add_test(tc, the_first_type_that_both_have_is_taken);
	tcase_add_test(tc, a_static_importer_moves_the_buffer_to_host_memory);
	tcase_add_test(tc, a_dynamic_importer_is_told_of_a_move);
	tcase_add_test(tc, a_buffer_that_moved_leaves_the_device_writing_elsewhere);
	tcase_add_test(tc, a_write_in_flight_lands_at_its_address);
	tcase_add_test(tc, fragmented_memory_gives_a_list_of_addresses);
	tcase_add_test(tc, a_move_takes_the_caches_along);
	tcase_add_test(tc, a_revoked_bar_is_gone);
	tcase_add_test(tc, profiles_are_checked);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	SRunner *sr = srunner_create(suite());
	int failed;

	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}

/*
 * Backend "vfio" against a stand-in of the kernel: which device it takes, the sequence of calls by either interface,
 * refusals, clean-up, what it says of IOMMU faults.
 */
#include "drivers/backend/nvme_world.h"
#include "tests/drivers/vfio_kernel.h"

/* Everything but a run: a world, two pieces of memory, a DMA-BUF. */
static int use(struct fake *k, const char *device, struct bf_world **w, struct bf_error *err)
{
	const struct bf_world_opts opts = options(device);
	struct bf_memory m[2];
	int rc = bf_vfio_open(system_of(k), &opts, err, w);

	if (!rc)
		rc = bf_backend_vfio.alloc(*w, 0, BF_PLACE_HOST, 5000, "first", &m[0]);
	if (!rc)
		rc = bf_backend_vfio.alloc(*w, 0, BF_PLACE_HOST, 64, "second", &m[1]);
	if (!rc) {
		rc = bf_nvme_world(&bf_backend_vfio)->bar_dmabuf(*w, 0, 4096, 4096);
		if (rc == DMABUF)
			fake_close(k, DMABUF);
		rc = rc < 0 ? rc : 0;
	}
	return rc;
}

START_TEST(sequence)
{
	static const char *const by[] = { "open /dev/vfio/vfio\n"
					  "VFIO_GET_API_VERSION\n"
					  "VFIO_CHECK_EXTENSION\n"
					  "open /dev/vfio/7\n"
					  "VFIO_GROUP_GET_STATUS\n"
					  "VFIO_GROUP_SET_CONTAINER\n"
					  "VFIO_SET_IOMMU\n"
					  "VFIO_IOMMU_GET_INFO\n"
					  "VFIO_IOMMU_GET_INFO\n"
					  "VFIO_GROUP_GET_DEVICE_FD\n",
					  "open /dev/vfio/devices/vfio0\n"
					  "open /dev/iommu\n"
					  "VFIO_DEVICE_BIND_IOMMUFD\n"
					  "IOMMU_IOAS_ALLOC\n"
					  "VFIO_DEVICE_ATTACH_IOMMUFD_PT\n"
					  "IOMMU_IOAS_IOVA_RANGES\n" };
	static const char *const maps[] = { "VFIO_IOMMU_MAP_DMA", "IOMMU_IOAS_MAP" };
	static const char *const unmaps[] = { "VFIO_IOMMU_UNMAP_DMA", "IOMMU_IOAS_UNMAP" };
	static const char *const ends[] = { "close device\nclose group\nclose container\nclose log\n",
					    "close device\nclose iommufd\nclose log\n" };
	struct fake *k = new_fake();
	struct bf_error err = { 0 };
	struct bf_world *w;
	char expected[2048];

	ck_assert_msg(use(k, ways[_i], &w, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(k->command, 0x406); /* memory, bus master, no interrupt pin */
	bf_backend_vfio.close(w);
	snprintf(expected, sizeof(expected),
		 "%sVFIO_DEVICE_GET_INFO\nVFIO_DEVICE_GET_REGION_INFO\nVFIO_DEVICE_GET_REGION_INFO\n"
		 "command?\ncommand 0x406\nmmap BAR0 16384 at 0x0\n"
		 "memory 8192\n%s\nmap 0x100000000 8192\nmemory 4096\n%s\nmap 0x100003000 4096\n"
		 "VFIO_DEVICE_FEATURE\nexport region 0 0x1000 4096\nclose dma-buf\n"
		 "command?\ncommand 0x402\nVFIO_DEVICE_RESET\n"
		 "%s\nunmap 0x100003000 4096\nmunmap 4096\n%s\nunmap 0x100000000 8192\nmunmap 8192\nmunmap 16384\n%s",
		 by[_i], maps[_i], maps[_i], unmaps[_i], unmaps[_i], ends[_i]);
	ck_assert_str_eq(k->log, expected);
	ck_assert_int_eq(k->nmaps, 0);
	free_fake(k);
}
END_TEST

/* Whatever call is refused: the error says which and why, and everything is given back. */
START_TEST(refusals)
{
	for (uint32_t way = 0; way < 2; way++) {
		struct fake *k = new_fake();
		struct bf_error err = { 0 };
		struct bf_world *w;
		uint32_t calls;

		ck_assert_int_eq(use(k, ways[way], &w, &err), 0);
		calls = k->calls;
		bf_backend_vfio.close(w);
		ck_assert_uint_gt(calls, 12);
		free_fake(k);
		for (uint32_t n = 1; n <= calls; n++) {
			k = new_fake();
			k->fail_at = n;
			err = (struct bf_error){ 0 };
			ck_assert_msg(use(k, ways[way], &w, &err) < 0, "call %u, %s, was refused for nothing", n,
				      k->refused);
			ck_assert_msg(strstr(err.text, k->refused) != NULL, "%s: %s", k->refused, err.text);
			if (!strstr(k->refused, "mmap") && !strstr(k->refused, "memory"))
				ck_assert_msg(strstr(err.text, "Operation not permitted") != NULL, "%s", err.text);
			bf_backend_vfio.close(w);
			free_fake(k);
		}
		/* An end that goes wrong is an end all the same. */
		for (uint32_t n = calls + 1; n <= calls + 5; n++) {
			k = new_fake();
			ck_assert_int_eq(use(k, ways[way], &w, &err), 0);
			k->fail_at = n;
			bf_backend_vfio.close(w);
			free_fake(k);
		}
	}
}
END_TEST

static void expect_error(struct fake *k, const char *device, int rc, const char *text)
{
	const struct bf_world_opts opts = options(device);
	struct bf_error err = { 0 };
	struct bf_world *w;

	ck_assert_int_eq(bf_vfio_open(system_of(k), &opts, &err, &w), rc);
	ck_assert_msg(strstr(err.text, text) != NULL, "%s", err.text);
	ck_assert_ptr_null(w);
	free_fake(k);
}

static struct fake *without(const char *path, const char *text)
{
	struct fake *k = new_fake();

	k->override[0] = (struct entry){ path, text };
	return k;
}

START_TEST(what_is_missing_is_said)
{
	struct fake *k;

	expect_error(new_fake(), "0000:09:00.0", -ENODEV, "there is no PCI device 0000:09:00.0");
	expect_error(new_fake(), "0000:00:1f.2", -ENODEV, "is no NVMe controller");
	expect_error(new_fake(), "0000:01:00.0", -ENODEV, "at driver nvme, not at vfio-pci");
	expect_error(new_fake(), "0000:02:00.0,user", -EINVAL, "is not a PCI address");
	expect_error(new_fake(), "../../etc", -EINVAL, "is not a PCI address");
	expect_error(new_fake(), "nvme0", -EINVAL, "is not a PCI address");
	expect_error(without(PCI "0000:02:00.0/driver", NULL), NULL, -ENODEV, "driver_override");
	expect_error(without(PCI "0000:02:00.0/iommu_group", NULL), NULL, -ENODEV, "intel_iommu=on");
	expect_error(without(PCI "0000:02:00.0/vfio-dev/vfio0/dev", NULL), ",cdev", -ENODEV, "CONFIG_VFIO_DEVICE_CDEV");
	k = without(PCI "0000:03:00.0/driver", "mlx5_core");
	k->unviable = true;
	expect_error(k, ",group", -EPERM, "0000:03:00.0 (mlx5_core)");
	k = new_fake();
	k->fail_at = 1;
	k->fail_with = -EACCES;
	expect_error(k, NULL, -EACCES, "open of /dev/vfio/devices/vfio0: Permission denied");
	k = new_fake();
	k->fail_at = 4; /* the group's file */
	k->fail_with = -EBUSY;
	expect_error(k, ",group", -EBUSY, "another process has it");
	k = new_fake();
	k->short_config = true;
	expect_error(k, NULL, -EIO, "configuration space");
	k = new_fake();
	k->unmappable = true;
	expect_error(k, NULL, -ENODEV, "cannot be mapped");
}
END_TEST

START_TEST(other_worlds_are_refused)
{
	struct fake *k = new_fake();
	struct bf_world_opts o[6];
	struct bf_error err = { 0 };
	struct bf_memory m;
	struct bf_world *w;

	for (size_t i = 0; i < BF_ARRAY_LEN(o); i++)
		o[i] = options(NULL);
	o[0].devices = BF_DEVICE_NVME | BF_DEVICE_SDMA;
	o[1].npes = 2;
	o[2].faults = "drop prob=1";
	o[3].device_opts[BF_DEVICE_AT_NVME] = &(struct bf_nvme_world_opts){ .media_errors = "read-error 3" };
	o[4].device_opts[BF_DEVICE_AT_NVME] =
	    &(struct bf_nvme_world_opts){ .ns = &(struct bf_nvme_ns_opts){ .file = "disk" } };
	o[5].device_opts[BF_DEVICE_AT_NVME] = &(struct bf_nvme_world_opts){ .cmb_bytes = 4096 };
	for (size_t i = 0; i < BF_ARRAY_LEN(o); i++)
		ck_assert_int_eq(bf_vfio_open(system_of(k), &o[i], &err, &w), -ENOTSUP);
	o[0] = options(NULL);
	ck_assert_int_eq(bf_vfio_open(system_of(k), &o[0], &err, &w), 0);
	ck_assert_int_eq(bf_backend_vfio.alloc(w, 0, BF_PLACE_GPU, 64, "x", &m), -ENOTSUP);
	ck_assert_int_eq(bf_backend_vfio.alloc(w, 0, BF_PLACE_CMB, 64, "x", &m), -ENOTSUP);
	ck_assert_int_eq(bf_backend_vfio.alloc(w, 0, BF_PLACE_HOST, 0, "x", &m), -EINVAL);
	ck_assert_int_eq(bf_backend_vfio.alloc(w, 1, BF_PLACE_HOST, 64, "x", &m), -EINVAL);
	bf_backend_vfio.close(w);
	free_fake(k);
}
END_TEST

START_TEST(probe_tells_what_is_there)
{
	struct fake *k = new_fake();
	char why[512];

	ck_assert_int_eq(bf_vfio_probe(system_of(k), why, sizeof(why)), 0);
	ck_assert_str_eq(why, "1 NVMe controller at vfio-pci, the first 0000:02:00.0, by IOMMUFD (cdev) or group");
	k->override[0] = (struct entry){ "/dev/iommu", NULL };
	k->override[1] = (struct entry){ PCI "0000:01:00.0/driver", "vfio-pci" };
	ck_assert_int_eq(bf_vfio_probe(system_of(k), why, sizeof(why)), 0);
	ck_assert_str_eq(why, "2 NVMe controllers at vfio-pci, the first 0000:01:00.0, by group");
	k->fail_at = k->calls + 1;
	ck_assert_int_eq(bf_vfio_probe(system_of(k), why, sizeof(why)), -EPERM);
	ck_assert_ptr_nonnull(strstr(why, "/dev/vfio/vfio cannot be opened"));
	k->override[1] = (struct entry){ PCI "0000:02:00.0/driver", NULL };
	ck_assert_int_eq(bf_vfio_probe(system_of(k), why, sizeof(why)), -ENODEV);
	ck_assert_ptr_nonnull(strstr(why, "0000:01:00.0 is at driver nvme, not at vfio-pci"));
	k->override[0] = (struct entry){ PCI "0000:01:00.0/class", NULL };
	k->override[2] = (struct entry){ PCI "0000:02:00.0/class", NULL };
	ck_assert_int_eq(bf_vfio_probe(system_of(k), why, sizeof(why)), -ENODEV);
	ck_assert_ptr_nonnull(strstr(why, "no NVMe controller on PCI"));
	free_fake(k);
}
END_TEST

/* Addresses stay inside the IOMMU's ranges and apart from each other. */
START_TEST(addresses_come_from_the_ranges)
{
	struct fake *k = new_fake();
	const struct bf_world_opts opts = options(",group");
	struct bf_error err = { 0 };
	struct bf_memory m[3];
	struct bf_world *w;

	k->tight = true;
	ck_assert_int_eq(bf_vfio_open(system_of(k), &opts, &err, &w), 0);
	ck_assert_int_eq(bf_backend_vfio.alloc(w, 0, BF_PLACE_HOST, 8192, "a", &m[0]), 0);
	ck_assert_uint_eq(m[0].va, 0x100000000);
	ck_assert(bf_backend_vfio.reachable(w, 0, m[0].va, 8192));
	ck_assert(bf_backend_vfio.reachable(w, 0, m[0].va + 8191, 1));
	ck_assert(!bf_backend_vfio.reachable(w, 0, m[0].va + 8191, 2));
	ck_assert(!bf_backend_vfio.reachable(w, 0, m[0].va - 1, 1));
	/* The part above 4 GiB is used up. */
	ck_assert_int_eq(bf_backend_vfio.alloc(w, 0, BF_PLACE_HOST, 1 << 20, "b", &m[1]), 0);
	ck_assert_uint_eq(m[1].va, 0x100000);
	ck_assert_int_eq(bf_backend_vfio.alloc(w, 0, BF_PLACE_HOST, 4096, "c", &m[2]), 0);
	ck_assert_uint_eq(m[2].va, 0x201000);
	ck_assert_int_eq(bf_backend_vfio.alloc(w, 0, BF_PLACE_HOST, 5ull << 30, "d", &m[2]), -ENOSPC);
	ck_assert_ptr_nonnull(strstr(err.text, "no addresses left"));
	bf_backend_vfio.close(w);
	free_fake(k);

	k = new_fake();
	k->no_ranges = true; /* a kernel before 5.4 */
	ck_assert_int_eq(bf_vfio_open(system_of(k), &opts, &err, &w), 0);
	ck_assert_int_eq(bf_backend_vfio.alloc(w, 0, BF_PLACE_HOST, 4096, "a", &m[0]), 0);
	ck_assert_uint_eq(m[0].va, 0x100000000);
	bf_backend_vfio.close(w);
	free_fake(k);
}
END_TEST

START_TEST(faults_are_read_from_the_log)
{
	static const struct {
		const char *line;
		uint64_t iova;
		bool fault, write;
	} lines[] = {
		{ "3,812,1,-;DMAR: [DMA Read NO_PASID] Request device [02:00.0] fault addr 0x1000 [fault reason 0x06] "
		  "PTE "
		  "Read access is not set",
		  0x1000, true, false },
		{ "3,812,1,-;DMAR: [DMA Write] Request device [02:00.0] fault addr 12345000 [fault reason 05]",
		  0x12345000, true, true },
		{ "3,9,1,-;vfio-pci 0000:02:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x001b address=0xfffe0000 "
		  "flags=0x0020]",
		  0xfffe0000, true, true },
		{ "3,9,1,-;AMD-Vi: Event logged [IO_PAGE_FAULT device=02:00.0 domain=0x001b address=0x2000 "
		  "flags=0x0000]",
		  0x2000, true, false },
		{ "3,812,1,-;DMAR: [DMA Read] Request device [03:00.0] fault addr 0x1000 [fault reason 06]", 0, false,
		  false },
		{ "6,1,1,-;nvme nvme0: pci function 0000:02:00.0", 0, false, false },
		{ "3,812,1,-;DMAR: DRHD: handling fault status reg 2", 0, false, false },
	};

	for (size_t i = 0; i < BF_ARRAY_LEN(lines); i++) {
		uint64_t iova = 0;
		bool write = false;

		ck_assert_int_eq(bf_vfio_fault_line(lines[i].line, "0000:02:00.0", &iova, &write), lines[i].fault);
		ck_assert_uint_eq(iova, lines[i].iova);
		ck_assert_int_eq(write, lines[i].write);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("vfio");
	TCase *tc = tcase_create("vfio");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, sequence, 0, 2);
	tcase_add_test(tc, refusals);
	tcase_add_test(tc, what_is_missing_is_said);
	tcase_add_test(tc, other_worlds_are_refused);
	tcase_add_test(tc, probe_tells_what_is_there);
	tcase_add_test(tc, addresses_come_from_the_ranges);
	tcase_add_test(tc, faults_are_read_from_the_log);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

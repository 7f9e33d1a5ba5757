#include "sim/image.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/mem.h"

static int fill(int fd, const uint8_t *bytes, uint64_t len)
{
	while (len) {
		const ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		bytes += n;
		len -= (uint64_t)n;
	}
	return 0;
}

int bf_image_create(struct bf_image *im, const void *bytes, uint64_t len)
{
	const uint64_t size = (len + BF_PAGE - 1) & ~(uint64_t)(BF_PAGE - 1);
	const int fd = memfd_create("belfry image", MFD_CLOEXEC);
	int rc;

	*im = (struct bf_image){ 0 };
	if (fd < 0)
		return -errno;
	rc = len ? fill(fd, bytes, len) : -EINVAL;
	if (!rc && ftruncate(fd, (off_t)size))
		rc = -errno;
	if (rc)
		close(fd);
	else
		*im = (struct bf_image){ .fd = fd, .size = size };
	return rc;
}

void *bf_image_map(const struct bf_image *im)
{
	void *p = mmap(NULL, im->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, im->fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

void bf_image_destroy(struct bf_image *im)
{
	if (im->size)
		close(im->fd);
	*im = (struct bf_image){ 0 };
}

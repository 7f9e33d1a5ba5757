#include "tools/exec/dmabufs.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>

#define KEPT 1024u

/* A DMA-BUF has a file of its own, which all descriptors of it share. */
static struct {
	pthread_mutex_t lock;
	uint32_t count; /* ever noted */
	struct {
		dev_t dev;
		ino_t ino;
		uint64_t address, bytes;
	} made[KEPT];
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

void bf_dmabufs_note(int fd, uint64_t address, uint64_t bytes)
{
	struct stat st;

	if (fstat(fd, &st))
		return;
	pthread_mutex_lock(&table.lock);
	table.made[table.count % KEPT].dev = st.st_dev;
	table.made[table.count % KEPT].ino = st.st_ino;
	table.made[table.count % KEPT].address = address;
	table.made[table.count % KEPT].bytes = bytes;
	table.count++;
	pthread_mutex_unlock(&table.lock);
}

/* The latest counts: numbers of files come again. */
int bf_dmabufs_find(int fd, uint64_t offset, uint64_t len, uint64_t *address)
{
	struct stat st;
	int rc = -EOPNOTSUPP;

	if (fstat(fd, &st))
		return -EBADF;
	pthread_mutex_lock(&table.lock);
	for (uint32_t back = 1; rc == -EOPNOTSUPP && back <= KEPT && back <= table.count; back++) {
		const uint32_t i = (table.count - back) % KEPT;

		if (table.made[i].dev != st.st_dev || table.made[i].ino != st.st_ino)
			continue;
		rc = offset <= table.made[i].bytes && len <= table.made[i].bytes - offset ? 0 : -EINVAL;
		*address = table.made[i].address + offset;
	}
	pthread_mutex_unlock(&table.lock);
	return rc;
}

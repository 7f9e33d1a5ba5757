/* The media unit of a device: what its namespaces share. */
#include "models/nvme/media_internal.h"

#include <errno.h>
#include <stdlib.h>

int bf_nvme_media_open(struct bf_nvme *dev, const char *errors)
{
	struct bf_nvme_media_unit *u = calloc(1, sizeof(*u));
	int rc;

	dev->media = u;
	if (!u)
		return bf_fail(&dev->sim->error, -ENOMEM, "'%s': no memory for its media", dev->name);
	rc = bf_nvme_error_map_parse(errors, &dev->sim->error, &u->map);
	if (!rc) {
		u->has_rules = !bf_nvme_error_map_empty(u->map);
		rc = bf_nvme_time_open(dev);
	}
	if (rc)
		bf_nvme_media_close(dev);
	return rc;
}

static void free_stages(void *stage)
{
	while (stage) {
		void *next;

		memcpy(&next, stage, sizeof(next));
		free(stage);
		stage = next;
	}
}

void bf_nvme_media_close(struct bf_nvme *dev)
{
	struct bf_nvme_media_unit *u = dev->media;

	if (!u)
		return;
	bf_nvme_file_quiesce(dev, NULL);
	while (u->dead) {
		struct bf_nvme_media *next = u->dead->next_dead;

		bf_nvme_store_close(u->dead);
		u->dead = next;
	}
	for (uint32_t i = 0; i < BF_NVME_STAGE_CLASSES; i++)
		free_stages(u->stages[i]);
	bf_nvme_file_free_ops(u->free_ops);
	bf_nvme_error_map_destroy(u->map);
	free(u->read_ps);
	free(u->program_ps);
	free(u);
	dev->media = NULL;
}

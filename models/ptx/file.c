#include "models/ptx/module.h"
#include "sim/grow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_BYTES (64u << 10)

/* The whole stream in memory of the C library; 0 or a negative errno. */
static int read_whole(FILE *f, char **text, size_t *len)
{
	size_t room = 0;

	*text = NULL;
	*len = 0;
	for (;;) {
		size_t got;

		if (*len == room && BF_GROW(*text, room, room + READ_BYTES))
			return -ENOMEM;
		got = fread(*text + *len, 1, room - *len, f);
		*len += got;
		if (got == 0)
			return ferror(f) ? -EIO : 0;
	}
}

int bf_ptx_program_add_file(struct bf_ptx_program *p, const char *path, struct bf_ptx_strays *strays)
{
	bool standard = strcmp(path, "-") == 0;
	FILE *f = standard ? stdin : fopen(path, "rb");
	char *text;
	size_t len;
	int rc;

	if (!f)
		return bf_fail(&p->error, -errno, "cannot open %.150s: %s", path, strerror(errno));
	rc = read_whole(f, &text, &len);
	if (rc)
		bf_fail(&p->error, rc, "cannot read %.150s: %s", path, strerror(-rc));
	else
		rc = bf_ptx_program_add_excerpt(p, standard ? "<stdin>" : path, text, len, strays);
	free(text);
	if (!standard)
		fclose(f);
	return rc;
}

#include "drivers/backend/absent_internal.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

bool bf_absent_first(const char *dir, bool (*accept)(const char *dir, const char *entry), char *name, size_t cap)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	bool found = false;

	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.' || (accept && !accept(dir, e->d_name)))
			continue;
		if (!found || strcmp(e->d_name, name) < 0)
			snprintf(name, cap, "%s", e->d_name);
		found = true;
	}
	if (d)
		closedir(d);
	return found;
}

bool bf_absent_file_begins(const char *dir, const char *entry, const char *file, const char *prefix)
{
	char path[512], text[64] = "";
	FILE *f;

	if (snprintf(path, sizeof(path), "%s/%s/%s", dir, entry, file) >= (int)sizeof(path))
		return false;
	f = fopen(path, "r");
	if (!f)
		return false;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	return !strncmp(text, prefix, strlen(prefix));
}

int bf_absent_open(const char *name, int (*probe)(char *why, size_t cap), struct bf_error *err)
{
	char why[200];

	probe(why, sizeof(why));
	return bf_fail(err, -ENOTSUP, "backend %s: %s", name, why);
}

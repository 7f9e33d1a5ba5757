/*
 * Any bytes as the file of a command, one of those whose readers and writers have no target of their own: vectors of
 * `belfry check`, profiles of the sync unit, what `belfry diff` compares, what `belfry export` writes. The first byte
 * chooses the row below, the rest is the file. The command runs in this process, and may only end with an exit code
 * that is documented.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/cli/program.h"
#include "tools/workloads/hopper_profile.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* IN, OTHER and OUT stand for files of this process. */
static const char *const rows[][6] = {
	{ "check", "mlx5-cqe", "IN" },
	{ "check", "nvme", "IN" },
	{ "check", "sdma-rect", "IN" },
	{ "check", "hopper-mbarrier", "IN" },
	{ "check", "hopper-timing", "IN" },
	{ "profile" }, /* read, not run: a run with strange constants may take its time */
	{ "diff", "IN", "OTHER" },
	{ "diff", "IN", "OTHER", "--queues" },
	{ "diff", "IN", "OTHER", "--completions" },
	{ "export", "IN", "--to=html", "-o", "OUT" },
	{ "export", "IN", "--to=fst", "-o", "OUT" },
	{ "export", "IN", "--to=svg", "-o", "OUT" },
	{ "export", "IN", "--to=topology-svg", "-o", "OUT" },
	{ "export", "IN", "--to=ctf", "-o", "FOLDER" },
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static char home[] = "/dev/shm/belfry-fuzz-XXXXXX";
static char in[64], other[64], out[64], folder[64];

static void empty(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	char name[PATH_MAX];

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && snprintf(name, sizeof(name), "%s/%s", path, e->d_name) > 0)
			unlink(name);
	if (d)
		closedir(d);
	rmdir(path);
}

static void clean_up(void)
{
	empty(folder);
	empty(home);
}

/* What the commands say goes nowhere; libFuzzer has kept its own stream. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	if (!mkdtemp(home))
		abort();
	snprintf(in, sizeof(in), "%s/in.json", home);
	snprintf(other, sizeof(other), "%s/other", home);
	snprintf(out, sizeof(out), "%s/out", home);
	snprintf(folder, sizeof(folder), "%s/folder", home);
	atexit(clean_up);
	stdout = fopen("/dev/null", "w");
	stderr = fopen("/dev/null", "w");
	return stdout && stderr ? 0 : 1;
}

static void put(const char *path, const uint8_t *bytes, size_t len)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	close(fd);
}

static void read_profile(void)
{
	struct bf_hopper_profile profile;
	struct bf_error err = { 0 };
	char name[BF_HOPPER_PROFILE_NAME];

	if (!bf_hopper_profile_parse(in, name, &profile, &err) && bf_hopper_profile_check(&profile, &err))
		abort(); /* it has been checked */
}

static char *word(const char *text)
{
	return strdup(!strcmp(text, "IN")       ? in
		      : !strcmp(text, "OTHER")  ? other
		      : !strcmp(text, "OUT")    ? out
		      : !strcmp(text, "FOLDER") ? folder
						: text);
}

static void run(const char *const row[6])
{
	char *argv[8] = { strdup("belfry") };
	int argc = 1, code;

	while (argc < 7 && row[argc - 1]) {
		argv[argc] = word(row[argc - 1]);
		argc++;
	}
	code = bf_main(argc, argv, NULL);
	if (code < 0 || (code > 3 && code != 77))
		abort();
	while (argc--)
		free(argv[argc]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *const *row;

	if (size < 2)
		return 0;
	row = rows[data[0] % ROWS];
	put(in, data + 1, size - 1);
	if (!strcmp(row[0], "diff")) /* what is compared ends earlier, and is as long in every second input */
		put(other, data + 1, size - 1 - (size & 1 ? size / 8 : 0));
	if (!strcmp(row[0], "profile"))
		read_profile();
	else
		run(row);
	if (!strcmp(row[0], "export"))
		empty(folder);
	return 0;
}

/* belfry new: a small project that builds, runs, and has a mistake that Belfry names. */
#include "tools/commands/new.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/spell.h"
#include "tools/cli/cli.h"

static const struct bf_command_form *form(unsigned i)
{
	return bf_new_forms[i].name ? &bf_new_forms[i] : NULL;
}

static int refuse_project(const struct bf_args *args, const char *name)
{
	struct bf_spell s = { .word = name, .len = strlen(name) };
	char hint[64], all[128];
	size_t used = 0;

	for (unsigned i = 0; form(i); i++) {
		bf_spell_try(&s, form(i)->name);
		used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s",
					 !i            ? ""
					 : form(i + 1) ? ", "
						       : " and ",
					 form(i)->name);
	}
	return bf_cli_error(args, BF_EXIT_USAGE, "\"%s\" is not a project%s%s %s", name,
			    bf_spell_hint(&s, hint, sizeof(hint)), s.best ? " There are" : "; there are", all);
}

/* Makes the folder, or takes one that is there and empty. 0 or a negative errno. */
static int make_folder(const char *dir)
{
	const struct dirent *entry;
	DIR *d;
	int rc = 0;

	if (mkdir(dir, 0777) == 0)
		return 0;
	if (errno != EEXIST)
		return -errno;
	d = opendir(dir);
	if (!d)
		return -errno;
	while (!rc && (entry = readdir(d)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			rc = -ENOTEMPTY;
	closedir(d);
	return rc;
}

/* Never over a file that is there. */
static int write_file(const char *dir, const struct bf_new_file *file)
{
	char path[PATH_MAX];
	FILE *f;
	int rc = 0;

	if (snprintf(path, sizeof(path), "%s/%s", dir, file->name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	f = fopen(path, "wx");
	if (!f)
		return -errno;
	if (fwrite(file->text, 1, file->bytes, f) != file->bytes)
		rc = -EIO;
	if (fclose(f) != 0 && !rc)
		rc = -errno;
	return rc;
}

/* Where this program is installed, for CMake; false where CMake looks anyway, or when it runs from its build folder. */
static bool find_prefix(char prefix[PATH_MAX])
{
	char *slash;

	if (bf_cli_folder(prefix))
		return false;
	slash = strrchr(prefix, '/');
	if (!slash || slash == prefix || strcmp(slash, "/bin") != 0)
		return false;
	*slash = '\0';
	return strcmp(prefix, "/usr") != 0 && strcmp(prefix, "/usr/local") != 0;
}

static void say_next(const char *project, const char *dir)
{
	char prefix[PATH_MAX];
	const bool elsewhere = find_prefix(prefix);

	printf("\nNext:\n  cd %s\n  cmake -S . -B build%s%s\n  cmake --build build\n", dir,
	       elsewhere ? " -DCMAKE_PREFIX_PATH=" : "", elsewhere ? prefix : "");
	puts(strcmp(project, "device") != 0
		 ? "  build/trial\nIt fails, on purpose: README.md says how to go on."
		 : "  build/belfry run ring64-copy --bug no-fence --ordering adversarial\n"
		   "It fails, on purpose; without --bug it is good. README.md says how to go on.");
}

static int run_new(const struct bf_args *args)
{
	const char *project = bf_arg_positional(args, 0), *dir = bf_arg_positional(args, 1);
	struct bf_json j;
	int rc;

	for (unsigned i = 0; !form(i) || strcmp(form(i)->name, project) != 0; i++)
		if (!form(i))
			return refuse_project(args, project);
	rc = make_folder(dir);
	if (rc)
		return bf_cli_error(args, BF_EXIT_USAGE, "%s: %s", dir,
				    rc == -ENOTEMPTY ? "there are files already; another folder, please"
						     : strerror(-rc));
	if (bf_arg_json(args)) {
		bf_json_begin(&j, stdout);
		bf_json_open(&j, NULL, '{');
		bf_json_text(&j, "folder", dir);
		bf_json_open(&j, "files", '[');
	}
	for (const struct bf_new_file *f = bf_new_files; f->project; f++) {
		if (strcmp(f->project, project) != 0)
			continue;
		rc = write_file(dir, f);
		if (rc)
			return bf_cli_error(args, BF_EXIT_USAGE, "%s/%s: %s", dir, f->name, strerror(-rc));
		if (bf_arg_json(args))
			bf_json_text(&j, NULL, f->name);
		else
			printf("%s/%s\n", dir, f->name);
	}
	if (bf_arg_json(args)) {
		bf_json_close(&j, ']');
		bf_json_close(&j, '}');
		bf_json_end(&j);
	} else {
		say_next(project, dir);
	}
	return BF_EXIT_GOOD;
}

static const struct bf_opt options[] = { { .name = NULL } };

const struct bf_command bf_cmd_new = {
	.name = "new",
	.usage = "new PROJECT DIR",
	.summary = "write a small project: a test of your driver, or a device of your own",
	.details =
	    "Writes CMakeLists.txt, C files and a README into DIR, which must be empty or not exist. The project "
	    "builds against an installed Belfry, runs, and has a mistake whose cause Belfry names.\n"
	    "\n"
	    "Examples:\n"
	    "  belfry new trial my-driver\n"
	    "  belfry new cuda my-kernel\n"
	    "  belfry new device my-device",
	.options = options,
	.form = form,
	.min_args = 2,
	.max_args = 2,
	.run = run_new,
};

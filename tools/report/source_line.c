#include "tools/report/source_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/records_agent.h"
#include "tools/cli/cli.h"

/* A source file that was interpreted tells its lines itself. */
static bool is_text(const struct bf_place *place, struct bf_source_line *out)
{
	if (place->build_id != BF_IMAGE_IS_TEXT)
		return false;
	snprintf(out->file, sizeof(out->file), "%s", place->path);
	out->line = (int)place->offset;
	return true;
}

#ifdef BELFRY_HAVE_LIBDW

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>

#include "sim/bytes.h"

#define FILES 8u

struct file {
	char *path;
	Dwfl *dwfl;
	Dwfl_Module *module; /* NULL: it is not there, or no program */
	uint64_t build_id;
};

struct bf_sources {
	struct file files[FILES];
	uint32_t count;
};

struct bf_sources *bf_sources_open(void)
{
	return calloc(1, sizeof(struct bf_sources));
}

void bf_sources_free(struct bf_sources *s)
{
	for (uint32_t i = 0; s && i < s->count; i++) {
		free(s->files[i].path);
		dwfl_end(s->files[i].dwfl);
	}
	free(s);
}

/* libdw's own ends the program as if the workload had failed. */
__attribute__((noreturn)) static void end_without_memory(void)
{
	fputs("belfry: no memory for line numbers\n", stderr);
	exit(BF_EXIT_USAGE);
}

static void open_file(struct file *f, const char *path)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	const unsigned char *id;
	Dwarf_Addr bias;
	GElf_Addr at;
	Dwarf *lines;

	f->path = strdup(path);
	f->dwfl = dwfl_begin(&callbacks);
	if (!f->path || !f->dwfl)
		return;
	f->module = dwfl_report_offline(f->dwfl, "", path, -1);
	dwfl_report_end(f->dwfl, NULL, NULL);
	if (f->module && dwfl_module_build_id(f->module, &id, &at) >= 8)
		f->build_id = bf_get_be64(id);
	lines = f->module ? dwfl_module_getdwarf(f->module, &bias) : NULL;
	if (lines)
		dwarf_new_oom_handler(lines, end_without_memory);
}

static struct file *find_file(struct bf_sources *s, const char *path)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (strcmp(s->files[i].path, path) == 0)
			return &s->files[i];
	if (s->count == FILES)
		return NULL;
	open_file(&s->files[s->count], path);
	return s->files[s->count].path ? &s->files[s->count++] : NULL;
}

/* The primitives' own lines say nothing about who called them. */
static bool is_platform(const char *file)
{
	return strstr(file, "drivers/platform/") != NULL || strstr(file, "tools/plain/") != NULL ||
	       strncmp(file, "sim/", 4) == 0 || strstr(file, "/sim/") != NULL;
}

static void set(struct bf_source_line *out, const char *file, int line)
{
	/* A compiler cache may have made names relative to the build's folder; the way up says nothing to a reader. */
	while (file && strncmp(file, "../", 3) == 0)
		file += 3;
	snprintf(out->file, sizeof(out->file), "%s", file ? file : "");
	out->line = line;
}

/* Where an inlined function was called from. */
static void caller(Dwarf_Die *cu, Dwarf_Die *inlined, struct bf_source_line *out)
{
	Dwarf_Attribute attr;
	Dwarf_Word file = 0, line = 0;
	Dwarf_Files *files;
	const char *name;

	if (!dwarf_attr(inlined, DW_AT_call_file, &attr) || dwarf_formudata(&attr, &file) != 0 ||
	    !dwarf_attr(inlined, DW_AT_call_line, &attr) || dwarf_formudata(&attr, &line) != 0 ||
	    dwarf_getsrcfiles(cu, &files, NULL) != 0)
		return;
	name = dwarf_filesrc(files, (size_t)file, NULL, NULL);
	if (name)
		set(out, name, (int)line);
}

/* The unit that holds `pc`. clang writes no table of addresses for it. */
static Dwarf_Die *unit_at(Dwfl_Module *module, Dwarf_Addr pc, Dwarf_Addr *bias)
{
	Dwarf_Die *cu = dwfl_module_addrdie(module, pc, bias);

	if (cu)
		return cu;
	while ((cu = dwfl_module_nextcu(module, cu, bias)) != NULL)
		if (dwarf_haspc(cu, pc - *bias) > 0)
			return cu;
	return NULL;
}

/* Out of the inlined functions around `pc` of a unit, innermost first, until the line is the driver's. */
static void look_through(Dwarf_Die *cu, Dwarf_Addr pc, struct bf_source_line *out)
{
	Dwarf_Die *scopes = NULL, *chain = NULL;
	const int n = dwarf_getscopes(cu, pc, &scopes);
	const int m = n > 0 ? dwarf_getscopes_die(&scopes[0], &chain) : 0;

	for (int i = 0; i < m; i++) {
		const int tag = dwarf_tag(&chain[i]);
		const char *name = dwarf_diename(&chain[i]);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
			continue;
		snprintf(out->function, sizeof(out->function), "%s", name ? name : "");
		if (!is_platform(out->file) || tag == DW_TAG_subprogram)
			break;
		caller(cu, &chain[i], out);
	}
	free(chain);
	free(scopes);
}

bool bf_source_line(struct bf_sources *s, const struct bf_place *place, struct bf_source_line *out, const char **why)
{
	struct file *f = s && place->build_id != BF_IMAGE_IS_TEXT ? find_file(s, place->path) : NULL;
	const char *ignored, *name;
	Dwarf_Addr elf_bias = 0, bias = 0, pc;
	Dwarf_Line *line;
	Dwarf_Die *cu;
	int number;

	why = why ? why : &ignored;
	*out = (struct bf_source_line){ 0 };
	if (is_text(place, out))
		return true;
	*why = "the file is not there";
	if (!f || !f->module || !dwfl_module_getelf(f->module, &elf_bias))
		return false;
	*why = "the file is of another build";
	if (f->build_id != place->build_id)
		return false;
	/* The call is before the address that it returns to. */
	pc = place->offset + elf_bias - 1;
	cu = unit_at(f->module, pc, &bias);
	line = cu ? dwarf_getsrc_die(cu, pc - bias) : NULL;
	name = line && dwarf_lineno(line, &number) == 0 ? dwarf_linesrc(line, NULL, NULL) : NULL;
	*why = "it has no debug information there";
	if (!name)
		return false;
	set(out, name, number);
	look_through(cu, pc - bias, out);
	return true;
}

#else

struct bf_sources *bf_sources_open(void)
{
	return NULL;
}

void bf_sources_free(struct bf_sources *s)
{
	(void)s;
}

bool bf_source_line(struct bf_sources *s, const struct bf_place *place, struct bf_source_line *out, const char **why)
{
	(void)s;
	*out = (struct bf_source_line){ 0 };
	if (is_text(place, out))
		return true;
	if (why)
		*why = "built without libdw";
	return false;
}

#endif

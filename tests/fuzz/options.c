/*
 * What AddressSanitizer does in every fuzz target. What is freed is kept from use for as long as an execution lasts: 8
 * MiB of it are enough for that. With the default, 256 MiB, each execution touches new pages, which takes as long as
 * all else. ASAN_OPTIONS in the environment goes before.
 */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "quarantine_size_mb=8";
}

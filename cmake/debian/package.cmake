# What Debian's policy wants of a package and an installation does not have: compressed manual pages, a changelog, the
# licence. CPack runs this when all is staged, before it packs.
set(prefix "${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}")
set(doc "${prefix}/share/doc/belfry")

if(DEFINED ENV{SOURCE_DATE_EPOCH})
	set(when "@$ENV{SOURCE_DATE_EPOCH}")
else()
	set(when now)
endif()
execute_process(COMMAND date --utc --rfc-email --date ${when} OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE
	COMMAND_ERROR_IS_FATAL ANY)
file(WRITE "${doc}/changelog" "belfry (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Built from source; CHANGELOG.md of the source says what is new.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
configure_file("${CMAKE_CURRENT_LIST_DIR}/copyright" "${doc}/copyright" COPYONLY)
configure_file("${CMAKE_CURRENT_LIST_DIR}/overrides" "${prefix}/share/lintian/overrides/belfry" COPYONLY)
file(GLOB pages "${prefix}/share/man/man1/*.1")
execute_process(COMMAND gzip -9nf "${doc}/changelog" ${pages} COMMAND_ERROR_IS_FATAL ANY)

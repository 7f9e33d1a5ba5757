# belfry_vectors(STEM [OPTION...]): STEM.c, STEM_avx2.c and STEM_avx512.c of the library are the same code for any
# processor, for AVX2 and for AVX-512; which one is used is chosen when it runs. No contraction: each operation is
# rounded as it stands.
function(belfry_vectors stem)
	set(plain -ffp-contract=off ${ARGN})
	if(CMAKE_BUILD_TYPE MATCHES "Rel")
		list(APPEND plain -O3)
	endif()
	set(avx2 ${plain})
	set(avx512 ${plain})
	if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
		list(APPEND avx2 -mavx2 -mfma)
		list(APPEND avx512 -mavx2 -mfma -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512)
	endif()
	set_source_files_properties(${stem}.c TARGET_DIRECTORY belfry-objects PROPERTIES COMPILE_OPTIONS "${plain}")
	set_source_files_properties(${stem}_avx2.c TARGET_DIRECTORY belfry-objects PROPERTIES COMPILE_OPTIONS "${avx2}")
	set_source_files_properties(${stem}_avx512.c TARGET_DIRECTORY belfry-objects PROPERTIES COMPILE_OPTIONS "${avx512}")
endfunction()

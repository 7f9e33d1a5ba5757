# belfry_cuda_sources(TARGET FILE.cu...): CUDA sources as C++ of the target, for trials (docs/cuda-source.md).
function(belfry_cuda_sources target)
	if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
		set(volatile -mllvm -tsan-distinguish-volatile=1 -mllvm -tsan-instrument-read-before-write=1)
	else()
		set(volatile --param=tsan-distinguish-volatile=1)
	endif()
	foreach(source ${ARGN})
		get_filename_component(name ${source} NAME)
		get_filename_component(source ${source} ABSOLUTE)
		get_filename_component(folder ${source} DIRECTORY)
		set(made ${CMAKE_CURRENT_BINARY_DIR}/${target}.cuda/${name}.cc)
		add_custom_command(OUTPUT ${made} DEPENDS ${source} ${BELFRY_CUDA_SED} VERBATIM
			COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/${target}.cuda
			COMMAND sh -c "{ echo '# 1 \"'$1'\"'; sed -E -f $2 $1; } >$3" sh ${source} ${BELFRY_CUDA_SED} ${made})
		target_sources(${target} PRIVATE ${made})
		set_source_files_properties(${made} PROPERTIES COMPILE_OPTIONS "-fsanitize=thread;${volatile};-I${folder}")
	endforeach()
	target_compile_features(${target} PRIVATE cxx_std_17)
	target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include tools/plain/cuda.h>"
		"$<$<COMPILE_LANGUAGE:CXX>:-I${BELFRY_INCLUDE_DIR}/tools/plain/cuda>")
	target_link_libraries(${target} PRIVATE belfry::cuda)
endfunction()

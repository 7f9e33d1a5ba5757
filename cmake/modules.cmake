# Libraries of their own that Belfry loads when they are asked for, so that nothing else depends on what they need.

# The GPU's part is a library of its own that Belfry loads when asked for it.
if(BELFRY_CUDA)
	find_program(NVCC nvcc HINTS /usr/local/cuda/bin REQUIRED)
	foreach(arch ${BELFRY_CUDA_ARCHITECTURES})
		list(APPEND gencode -gencode arch=compute_${arch},code=sm_${arch})
	endforeach()
	file(GLOB_RECURSE device_code CONFIGURE_DEPENDS drivers/*.h models/*/prm*.h)
	set(cuda_library ${PROJECT_BINARY_DIR}/tools/libbelfry-cuda.so)
	add_custom_command(OUTPUT ${cuda_library}
		COMMAND ${NVCC} -std=c++17 -O2 -shared -Xcompiler -fPIC -I ${PROJECT_SOURCE_DIR} ${gencode}
			-o ${cuda_library} ${PROJECT_SOURCE_DIR}/drivers/backend/cuda_agent.cu
		DEPENDS drivers/backend/cuda_agent.cu ${device_code} VERBATIM)
	add_custom_target(belfry-cuda ALL DEPENDS ${cuda_library})
endif()

# The same code as PTX, for the machine that runs it (`--agent ptx`): texts that stand beside the program.
if(BELFRY_PTX)
	find_program(NVCC nvcc HINTS /usr/local/cuda/bin REQUIRED)
	file(GLOB_RECURSE device_code CONFIGURE_DEPENDS drivers/*.h models/*/prm*.h)
	foreach(name belfry-drivers belfry-drivers-right)
		set(file ${PROJECT_BINARY_DIR}/tools/${name}.ptx)
		set(right $<$<STREQUAL:${name},belfry-drivers-right>:-DBF_IBGDA_RIGHT>)
		add_custom_command(OUTPUT ${file}
			COMMAND ${NVCC} -std=c++17 -O2 -arch=sm_90 -lineinfo -ptx ${right} -I ${PROJECT_SOURCE_DIR}
				-o ${file} ${PROJECT_SOURCE_DIR}/drivers/backend/ptx_agent.cu
			DEPENDS drivers/backend/ptx_agent.cu ${device_code} COMMAND_EXPAND_LISTS VERBATIM)
		list(APPEND drivers_ptx ${file})
	endforeach()
	add_custom_target(belfry-drivers-ptx ALL DEPENDS ${drivers_ptx})
endif()

# What needs MPI is another such library, so that nothing else depends on an MPI.
if(BELFRY_MPI)
	find_package(MPI QUIET COMPONENTS C)
endif()
if(MPI_C_FOUND)
	add_library(belfry-mpi MODULE drivers/bootstrap/mpi_module.c drivers/bootstrap/exchange.c sim/error.c)
	target_include_directories(belfry-mpi PRIVATE ${PROJECT_SOURCE_DIR})
	# Where the MPI's own name is known, who loads this loads that first: a package of both needs no MPI to be installed.
	get_target_property(mpi MPI::MPI_C INTERFACE_LINK_LIBRARIES)
	list(GET mpi 0 mpi)
	execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${mpi} OUTPUT_VARIABLE names ERROR_QUIET)
	if(names MATCHES "SONAME +([^\n]+)")
		set_source_files_properties(drivers/bootstrap/mpi_load.c PROPERTIES
			COMPILE_DEFINITIONS BF_MPI_SONAME="${CMAKE_MATCH_1}")
		get_target_property(include MPI::MPI_C INTERFACE_INCLUDE_DIRECTORIES)
		target_include_directories(belfry-mpi SYSTEM PRIVATE ${include})
	else()
		target_link_libraries(belfry-mpi PRIVATE MPI::MPI_C)
	endif()
	set_target_properties(belfry-mpi PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tools)
endif()

# And what needs libibverbs and libmlx5: real RDMA devices for the backends mlx5 and rxe.
find_library(IBVERBS_LIBRARY ibverbs)
find_library(MLX5_LIBRARY mlx5)
find_path(IBVERBS_INCLUDE infiniband/mlx5dv.h)
if(IBVERBS_LIBRARY AND MLX5_LIBRARY AND IBVERBS_INCLUDE)
	add_library(belfry-verbs MODULE drivers/backend/verbs_module.c drivers/backend/verbs_module_qp.c)
	target_include_directories(belfry-verbs PRIVATE ${PROJECT_SOURCE_DIR})
	target_include_directories(belfry-verbs SYSTEM PRIVATE ${IBVERBS_INCLUDE})
	target_link_libraries(belfry-verbs PRIVATE ${IBVERBS_LIBRARY} ${MLX5_LIBRARY})
	set_target_properties(belfry-verbs PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tools)
	# Memory of GPUs by DMA-BUF: not in rdma-core before 42.
	include(CheckCSourceCompiles)
	set(CMAKE_REQUIRED_INCLUDES ${IBVERBS_INCLUDE})
	check_c_source_compiles("#include <infiniband/mlx5dv.h>
		int main(void) { struct mlx5dv_devx_umem_in in = { .comp_mask = MLX5DV_UMEM_MASK_DMABUF, .dmabuf_fd = 0 };
		return in.dmabuf_fd; }" BELFRY_HAVE_UMEM_DMABUF)
	unset(CMAKE_REQUIRED_INCLUDES)
	if(BELFRY_HAVE_UMEM_DMABUF)
		target_compile_definitions(belfry-verbs PRIVATE BELFRY_HAVE_UMEM_DMABUF=1)
	endif()
endif()

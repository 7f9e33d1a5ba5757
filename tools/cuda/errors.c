/* Names and texts of errors, by cuda.h and driver_types.h. */
#include "tools/cuda/driver_internal.h"

#define ERRORS(X)                                                                                                      \
	X(0, "CUDA_SUCCESS", "cudaSuccess", "no error")                                                                \
	X(1, "CUDA_ERROR_INVALID_VALUE", "cudaErrorInvalidValue", "invalid argument")                                  \
	X(2, "CUDA_ERROR_OUT_OF_MEMORY", "cudaErrorMemoryAllocation", "out of memory")                                 \
	X(3, "CUDA_ERROR_NOT_INITIALIZED", "cudaErrorInitializationError", "initialization error")                     \
	X(4, "CUDA_ERROR_DEINITIALIZED", "cudaErrorCudartUnloading", "driver shutting down")                           \
	X(9, "CUDA_ERROR_UNKNOWN", "cudaErrorInvalidConfiguration", "invalid configuration argument")                  \
	X(12, "CUDA_ERROR_UNKNOWN", "cudaErrorInvalidPitchValue", "invalid pitch argument")                            \
	X(13, "CUDA_ERROR_UNKNOWN", "cudaErrorInvalidSymbol", "invalid device symbol")                                 \
	X(21, "CUDA_ERROR_UNKNOWN", "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy")            \
	X(35, "CUDA_ERROR_UNKNOWN", "cudaErrorInsufficientDriver",                                                     \
	  "CUDA driver version is insufficient for CUDA runtime version")                                              \
	X(52, "CUDA_ERROR_UNKNOWN", "cudaErrorMissingConfiguration", "__global__ function call is not configured")     \
	X(98, "CUDA_ERROR_UNKNOWN", "cudaErrorInvalidDeviceFunction", "invalid device function")                       \
	X(46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "cudaErrorDevicesUnavailable",                                          \
	  "CUDA-capable device(s) is/are busy or unavailable")                                                         \
	X(100, "CUDA_ERROR_NO_DEVICE", "cudaErrorNoDevice", "no CUDA-capable device is detected")                      \
	X(101, "CUDA_ERROR_INVALID_DEVICE", "cudaErrorInvalidDevice", "invalid device ordinal")                        \
	X(200, "CUDA_ERROR_INVALID_IMAGE", "cudaErrorInvalidKernelImage", "device kernel image is invalid")            \
	X(201, "CUDA_ERROR_INVALID_CONTEXT", "cudaErrorDeviceUninitialized", "invalid device context")                 \
	X(209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "cudaErrorNoKernelImageForDevice",                                      \
	  "no kernel image is available for execution on the device")                                                  \
	X(215, "CUDA_ERROR_UNSUPPORTED_LIMIT", "cudaErrorUnsupportedLimit",                                            \
	  "limit is not supported on this architecture")                                                               \
	X(217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "cudaErrorPeerAccessUnsupported",                                 \
	  "peer access is not supported between these two devices")                                                    \
	X(218, "CUDA_ERROR_INVALID_PTX", "cudaErrorInvalidPtx", "a PTX JIT compilation failed")                        \
	X(301, "CUDA_ERROR_FILE_NOT_FOUND", "cudaErrorFileNotFound", "file not found")                                 \
	X(304, "CUDA_ERROR_OPERATING_SYSTEM", "cudaErrorOperatingSystem",                                              \
	  "OS call failed or operation not supported on this OS")                                                      \
	X(400, "CUDA_ERROR_INVALID_HANDLE", "cudaErrorInvalidResourceHandle", "invalid resource handle")               \
	X(401, "CUDA_ERROR_ILLEGAL_STATE", "cudaErrorIllegalState",                                                    \
	  "the operation cannot be performed in the present state")                                                    \
	X(500, "CUDA_ERROR_NOT_FOUND", "cudaErrorSymbolNotFound", "named symbol not found")                            \
	X(600, "CUDA_ERROR_NOT_READY", "cudaErrorNotReady", "device not ready")                                        \
	X(700, "CUDA_ERROR_ILLEGAL_ADDRESS", "cudaErrorIllegalAddress", "an illegal memory access was encountered")    \
	X(701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "cudaErrorLaunchOutOfResources",                                  \
	  "too many resources requested for launch")                                                                   \
	X(704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "cudaErrorPeerAccessAlreadyEnabled",                          \
	  "peer access is already enabled")                                                                            \
	X(705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "cudaErrorPeerAccessNotEnabled",                                  \
	  "peer access has not been enabled")                                                                          \
	X(710, "CUDA_ERROR_ASSERT", "cudaErrorAssert", "device-side assert triggered")                                 \
	X(712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "cudaErrorHostMemoryAlreadyRegistered",                    \
	  "part or all of the requested memory range is already mapped")                                               \
	X(713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "cudaErrorHostMemoryNotRegistered",                            \
	  "pointer does not correspond to a registered memory region")                                                 \
	X(714, "CUDA_ERROR_HARDWARE_STACK_ERROR", "cudaErrorHardwareStackError", "hardware stack error")               \
	X(715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "cudaErrorIllegalInstruction",                                        \
	  "an illegal instruction was encountered")                                                                    \
	X(716, "CUDA_ERROR_MISALIGNED_ADDRESS", "cudaErrorMisalignedAddress", "misaligned address")                    \
	X(717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "cudaErrorInvalidAddressSpace",                                     \
	  "operation not supported on global/shared address space")                                                    \
	X(719, "CUDA_ERROR_LAUNCH_FAILED", "cudaErrorLaunchFailure", "unspecified launch failure")                     \
	X(720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "cudaErrorCooperativeLaunchTooLarge",                        \
	  "too many blocks in cooperative launch")                                                                     \
	X(800, "CUDA_ERROR_NOT_PERMITTED", "cudaErrorNotPermitted", "operation not permitted")                         \
	X(801, "CUDA_ERROR_NOT_SUPPORTED", "cudaErrorNotSupported", "operation not supported")                         \
	X(900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "cudaErrorStreamCaptureUnsupported",                           \
	  "operation not permitted when stream is capturing")                                                          \
	X(901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "cudaErrorStreamCaptureInvalidated",                           \
	  "operation failed due to a previous error during capture")                                                   \
	X(902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "cudaErrorStreamCaptureMerge",                                       \
	  "operation would result in a merge of separate capture sequences")                                           \
	X(903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "cudaErrorStreamCaptureUnmatched",                               \
	  "capture was not ended in the same stream as it began")                                                      \
	X(904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "cudaErrorStreamCaptureUnjoined",                                 \
	  "capturing stream has unjoined work")                                                                        \
	X(905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "cudaErrorStreamCaptureIsolation",                               \
	  "dependency created on uncaptured work in another stream")                                                   \
	X(906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "cudaErrorStreamCaptureImplicit",                                 \
	  "operation would make the legacy stream depend on a capturing blocking stream")                              \
	X(907, "CUDA_ERROR_CAPTURED_EVENT", "cudaErrorCapturedEvent",                                                  \
	  "operation not permitted on an event last recorded in a capturing stream")                                   \
	X(908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "cudaErrorStreamCaptureWrongThread",                          \
	  "attempt to terminate a thread-local capture sequence from another thread")                                  \
	X(910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "cudaErrorGraphExecUpdateFailure",                              \
	  "the graph update was not performed because it included changes which violated constraints specific to "     \
	  "instantiated graph update")                                                                                 \
	X(912, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "cudaErrorInvalidClusterSize", "invalid cluster size")               \
	X(999, "CUDA_ERROR_UNKNOWN", "cudaErrorUnknown", "unknown error")

int cuGetErrorName(int error, const char **text)
{
	static const struct {
		int error;
		const char *text;
	} names[] = {
#define X(number, driver, runtime, words) { number, driver },
		ERRORS(X)
#undef X
	};

	for (size_t i = 0; i < BF_ARRAY_LEN(names); i++)
		if (names[i].error == error) {
			*text = names[i].text;
			return BF_CU_OK;
		}
	*text = NULL;
	return BF_CU_INVALID_VALUE;
}

const char *bf_cu_runtime_name(int error)
{
	switch (error) {
#define X(number, driver, runtime, words)                                                                              \
	case number:                                                                                                   \
		return runtime;
		ERRORS(X)
#undef X
	default:
		return NULL;
	}
}

int cuGetErrorString(int error, const char **text)
{
	switch (error) {
#define X(number, driver, runtime, words)                                                                              \
	case number:                                                                                                   \
		*text = words;                                                                                         \
		return BF_CU_OK;
		ERRORS(X)
#undef X
	default:
		*text = NULL;
		return BF_CU_INVALID_VALUE;
	}
}

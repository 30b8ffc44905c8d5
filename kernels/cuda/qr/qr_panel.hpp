// A panel of QR on the device.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/types.hpp"

namespace blaslift {

/// What qr_panel() takes at once.
index qr_panel_columns(Precision precision);

/// Bytes of device memory, aligned to 256, for any panel; those of one stream may share them.
std::size_t qr_panel_workspace();

/// Bytes of shared memory that a block has to be able to have; and cooperative launches have to be possible.
std::size_t qr_panel_shared_memory();

/// Starts it on `stream`, without waiting for anything; at most qr_panel_columns() columns.  Which way it is factored,
/// if it is not, is decided on the device.  The same bits in every run, on every device.  Returns the launches' error.
/// @param householder  column by column in any case, for comparison
cudaError_t qr_panel(const QrPanel& panel, void* workspace, cudaStream_t stream, bool householder = false);

/// Of one precision each: for qr_panel().
cudaError_t qr_panel_s(const QrPanel& panel, void* workspace, cudaStream_t stream, bool householder);
cudaError_t qr_panel_d(const QrPanel& panel, void* workspace, cudaStream_t stream, bool householder);
cudaError_t qr_panel_c(const QrPanel& panel, void* workspace, cudaStream_t stream, bool householder);
cudaError_t qr_panel_z(const QrPanel& panel, void* workspace, cudaStream_t stream, bool householder);

}  // namespace blaslift

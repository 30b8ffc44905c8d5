#include "kernels/cuda/core/context.hpp"

#include <cuda_runtime_api.h>

#include "kernels/cuda/core/driver.hpp"

namespace blaslift {
namespace {

struct Driver {
  CUresult (*get_current)(CUcontext*) = nullptr;
  CUresult (*set_current)(CUcontext) = nullptr;
  CUresult (*get_id)(CUcontext, unsigned long long*) = nullptr;
  CUresult (*retain)(CUcontext*, CUdevice) = nullptr;
  CUresult (*state)(CUdevice, unsigned*, int*) = nullptr;
  CUresult (*attributes)(unsigned, CUpointer_attribute*, void**, CUdeviceptr) = nullptr;
  bool complete = false;

  Driver() {
    complete = find_in_driver("cuCtxGetCurrent", get_current) && find_in_driver("cuCtxSetCurrent", set_current) &&
               find_in_driver("cuCtxGetId", get_id) && find_in_driver("cuDevicePrimaryCtxRetain", retain) &&
               find_in_driver("cuDevicePrimaryCtxGetState", state) &&
               find_in_driver("cuPointerGetAttributes", attributes);
  }
};

const Driver& driver() {
  static const Driver& found = *new Driver;
  return found;
}

/// What the driver knows of an address.
struct Known {
  bool at_all = false, on_a_device = false;
};

Known known_of(CUdeviceptr address) {
  CUmemorytype type{};
  unsigned managed = 0;
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
  void* answers[] = {&type, &managed};
  if (!driver().complete || driver().attributes(2, asked, answers, address) != CUDA_SUCCESS) return {};
  return {type != 0, type == CU_MEMORYTYPE_DEVICE && !managed};
}

/// The allocation that holds an address of which something is known; empty if that cannot be told.
struct Allocation {
  CUdeviceptr begin = 0;
  std::size_t size = 0;
};

Allocation allocation_of(CUdeviceptr address) {
  Allocation a;
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  void* answers[] = {&a.begin, &a.size};
  if (driver().attributes(2, asked, answers, address) != CUDA_SUCCESS) return {};
  return a;
}

}  // namespace

MemoryKind memory_kind_of(const void* memory, std::size_t bytes, bool everywhere) {
  const auto begin = reinterpret_cast<CUdeviceptr>(memory), end = begin + bytes;
  if (const Known first = known_of(begin); first.at_all) {
    if (first.on_a_device) return MemoryKind::on_a_device;
    const Allocation a = allocation_of(begin);
    return a.begin <= begin && end <= a.begin + a.size ? MemoryKind::reachable : MemoryKind::mixed;
  }
  constexpr CUdeviceptr stride = CUdeviceptr{2} << 20;
  for (CUdeviceptr at = begin + stride; everywhere && at < end; at += stride)
    if (known_of(at).at_all) return MemoryKind::mixed;
  return known_of(end - 1).at_all ? MemoryKind::mixed : MemoryKind::pageable;
}

CUcontext current_context() {
  CUcontext context = nullptr;
  if (driver().complete && driver().get_current(&context) != CUDA_SUCCESS) context = nullptr;
  return context;
}

void make_current(CUcontext context) {
  if (driver().complete) (void)driver().set_current(context);
}

std::string Context::open(int ordinal) {
  if (!driver().complete) return "the driver is older than CUDA 12";
  device_ = ordinal;  // CUdevice and the runtime's ordinal are the same number
  if (driver().retain(&context_, device_) != CUDA_SUCCESS) return "the device's context cannot be had";
  if (driver().set_current(context_) != CUDA_SUCCESS || driver().get_id(context_, &id_) != CUDA_SUCCESS)
    return "the device's context cannot be used";
  return {};
}

bool Context::enter(CUcontext& before) const {
  before = current_context();
  unsigned flags = 0;
  int active = 0;
  if (driver().state(device_, &flags, &active) != CUDA_SUCCESS || !active) return false;
  unsigned long long id = 0;
  // What is current already, as with programs that use the device themselves, costs no call here and in leave().
  if (before != context_ && driver().set_current(context_) != CUDA_SUCCESS) return leave(before), false;
  if (driver().get_id(context_, &id) != CUDA_SUCCESS || id != id_) return leave(before), false;
  return true;
}

void Context::leave(CUcontext before) const {
  if (before != context_) make_current(before);
}

}  // namespace blaslift

// The one symbol that a backend's module exports.
#pragma once
#include <cstdio>
#include <exception>

#include "kernels/backend.hpp"

/// Defines the module's entry: `open` is Backend* (const OpenRequest&, char* why, std::size_t why_size).
#define BLASLIFT_MODULE(open)                                                                   \
  extern "C" __attribute__((visibility("default"))) blaslift::Backend* blaslift_open_backend(   \
      int version, const blaslift::OpenRequest* request, char* why, std::size_t why_size) {     \
    if (version != blaslift::backend_version) {                                                 \
      std::snprintf(why, why_size, "the device module belongs to another version of blaslift"); \
      return nullptr;                                                                           \
    }                                                                                           \
    try {                                                                                       \
      return open(*request, why, why_size);                                                     \
    } catch (const std::exception&) {                                                           \
      std::snprintf(why, why_size, "out of memory");                                            \
      return nullptr;                                                                           \
    }                                                                                           \
  }

// What the golden tests say to the module that records lanes; found by name.
#pragma once
#include <cstddef>

extern "C" {
/// Forgets what was recorded and named.
void golden_begin(std::size_t piece_bytes);
/// Forgets what was recorded alone.
void golden_go_on();
/// Memory of a call's: offsets are into it.
/// @param place  as blaslift::MemoryKind
void golden_name(const char* name, const void* at, std::size_t bytes, int place);
/// What has been recorded.
const char* golden_text();
}

// How long LAPACK's routines take on a device: lines of a profile.
//
//   dsyevd_seconds 1 1024:0.011 4096:0.127
//   dsyevd_values_seconds 1 1024:0.004
//
// 1 is the form's version; then seconds of square matrices by their order, from device memory to device memory.  What a
// profile does not say is estimated (the families' costs), from an H100's times.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "impl/route/profile.hpp"

namespace blaslift {

/// What was timed.  Other drivers follow from these: gesv from getrf, sygvd from potrf and syevd.
enum class LapackWork : std::uint8_t {
  potrf,
  getrf,
  syevd_values,
  syevd,  ///< with vectors
  geev_values,
  geev,   ///< with right vectors
  gesdd,  ///< with vectors of both sides
  gebrd,
  gehrd
};
inline constexpr int lapack_works = 9;

/// "potrf", "syevd_values"
const char* name_of(LapackWork work);

struct LapackTime {
  index order;
  double seconds;
};
inline constexpr std::size_t most_lapack_times = 32;

/// Of one routine in one precision.
struct LapackTimes {
  LapackWork work;
  Precision precision;
  std::vector<LapackTime> times;  ///< ascending by order; not empty
};

extern const ProfileSection lapack_section;

SectionLine section_line(LapackTimes times);

/// Seconds that a matrix of this order takes, by what the profile says of others; none if it says nothing of this
/// routine.  Between orders it follows a power of the order; below the first it takes a share of that one's time, and
/// above the last it grows at least by the square, at most by the cube.
/// @param order  of a square matrix for which as much is computed; need not be whole
std::optional<double> measured_seconds(const Profile& profile, LapackWork work, Precision precision, double order);

}  // namespace blaslift

// What a lane computes, or the host BLAS in its stead: one type for all of it.
#pragma once
#include <bit>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "kernels/types.hpp"

namespace blaslift {

/// One of the structs of kernels/types.hpp, by reference: it must stay as long as this is used, and whoever is asked
/// for it copies what it needs later.  A new kind is a struct, and here a name, a constructor and a case; backends that
/// do not say that they can (Capabilities) are never asked for it.
class Operation {
 public:
  enum class Kind : std::uint8_t {
    gemm,
    combine,
    survey,
    symv,
    gemv,
    qr_panel,
    trsm,
    potrf,
    getrf,
    row_swaps,
    syevd,
    gebrd,
    svd,
    assign,
    geev,
    mirror,
    gemm_batch,
    sytrd,
    residues,
    gehrd,
    geqp3
  };
  static constexpr int kinds = 21;

  /// Some of them.
  class Kinds {
   public:
    constexpr Kinds(Kind kind) : Kinds(1u << static_cast<int>(kind)) {}
    static constexpr Kinds none() { return Kinds(0u); }
    constexpr Kinds operator|(Kinds others) const { return Kinds(bits_ | others.bits_); }
    constexpr bool has(Kind kind) const { return bits_ >> static_cast<int>(kind) & 1; }
    /// Whether all are so.
    template <class Test>
    constexpr bool all(const Test& test) const {
      for (unsigned rest = bits_; rest != 0; rest &= rest - 1)
        if (!test(static_cast<Kind>(std::countr_zero(rest)))) return false;
      return true;
    }

   private:
    constexpr explicit Kinds(unsigned bits) : bits_(bits) {}
    unsigned bits_;
  };

  Operation(const Gemm& x) : Operation(Kind::gemm, x, x.precision) {}
  Operation(const Combination& x) : Operation(Kind::combine, x, x.precision) {}
  Operation(const Survey& x) : Operation(Kind::survey, x, x.precision) {}
  Operation(const Symv& x) : Operation(Kind::symv, x, x.precision) {}
  Operation(const Gemv& x) : Operation(Kind::gemv, x, x.precision) {}
  Operation(const QrPanel& x) : Operation(Kind::qr_panel, x, x.precision) {}
  Operation(const Trsm& x) : Operation(Kind::trsm, x, x.precision) {}
  Operation(const Potrf& x) : Operation(Kind::potrf, x, x.precision) {}
  Operation(const Getrf& x) : Operation(Kind::getrf, x, x.precision) {}
  Operation(const RowSwaps& x) : Operation(Kind::row_swaps, x, x.precision) {}
  Operation(const Syevd& x) : Operation(Kind::syevd, x, x.precision) {}
  Operation(const Gebrd& x) : Operation(Kind::gebrd, x, x.precision) {}
  Operation(const Svd& x) : Operation(Kind::svd, x, x.precision) {}
  Operation(const Assign& x) : Operation(Kind::assign, x, x.precision) {}
  Operation(const Geev& x) : Operation(Kind::geev, x, x.precision) {}
  Operation(const Mirror& x) : Operation(Kind::mirror, x, x.precision) {}
  Operation(const GemmBatch& x) : Operation(Kind::gemm_batch, x, x.precision) {}
  Operation(const Sytrd& x) : Operation(Kind::sytrd, x, x.precision) {}
  Operation(const GemmByResidues& x) : Operation(Kind::residues, x, x.precision) {}
  Operation(const Gehrd& x) : Operation(Kind::gehrd, x, x.precision) {}
  Operation(const Geqp3& x) : Operation(Kind::geqp3, x, x.precision) {}

  /// Calls `see` with the struct.
  template <class See>
  decltype(auto) visit(See&& see) const {
    switch (kind) {
      case Kind::gemm: return see(*static_cast<const Gemm*>(of_));
      case Kind::combine: return see(*static_cast<const Combination*>(of_));
      case Kind::survey: return see(*static_cast<const Survey*>(of_));
      case Kind::symv: return see(*static_cast<const Symv*>(of_));
      case Kind::gemv: return see(*static_cast<const Gemv*>(of_));
      case Kind::qr_panel: return see(*static_cast<const QrPanel*>(of_));
      case Kind::trsm: return see(*static_cast<const Trsm*>(of_));
      case Kind::potrf: return see(*static_cast<const Potrf*>(of_));
      case Kind::getrf: return see(*static_cast<const Getrf*>(of_));
      case Kind::row_swaps: return see(*static_cast<const RowSwaps*>(of_));
      case Kind::syevd: return see(*static_cast<const Syevd*>(of_));
      case Kind::gebrd: return see(*static_cast<const Gebrd*>(of_));
      case Kind::svd: return see(*static_cast<const Svd*>(of_));
      case Kind::assign: return see(*static_cast<const Assign*>(of_));
      case Kind::geev: return see(*static_cast<const Geev*>(of_));
      case Kind::mirror: return see(*static_cast<const Mirror*>(of_));
      case Kind::sytrd: return see(*static_cast<const Sytrd*>(of_));
      case Kind::residues: return see(*static_cast<const GemmByResidues*>(of_));
      case Kind::gehrd: return see(*static_cast<const Gehrd*>(of_));
      case Kind::geqp3: return see(*static_cast<const Geqp3*>(of_));
      case Kind::gemm_batch: break;
    }
    return see(*static_cast<const GemmBatch*>(of_));
  }

  /// Null if it is another struct.
  template <class X>
  const X* get() const {
    return visit([](const auto& x) -> const X* {
      if constexpr (std::is_same_v<decltype(x), const X&>)
        return &x;
      else
        return nullptr;
    });
  }

  const Kind kind;
  const Element element;
  const std::int8_t stream;  ///< of the device's two
  const bool awaited;        ///< false: only what follows in its own stream comes after it

 private:
  template <class X>
  Operation(Kind k, const X& x, Element e) : kind(k), element(e), stream(x.stream), awaited(x.awaited), of_(&x) {}

  const void* of_;
};

/// Which kinds of operations, for which elements.
struct Capabilities {
  std::uint8_t elements[Operation::kinds] = {};  ///< a bit each

  constexpr bool can(Operation::Kind kind, Element element) const {
    return elements[static_cast<int>(kind)] >> element.name & 1;
  }
  constexpr bool can(Operation::Kinds all, Element element) const {
    return all.all([&](Operation::Kind kind) { return can(kind, element); });
  }
  /// @param letters  of the elements, as letter() has them
  constexpr Capabilities& add(Operation::Kind kind, std::string_view letters) {
    std::uint8_t& all = elements[static_cast<int>(kind)];
    for (int e = 0; e < element_count; ++e)
      if (letters.find(letter(static_cast<Element::Name>(e))) != letters.npos)
        all = static_cast<std::uint8_t>(all | 1 << e);
    return *this;
  }
};

}  // namespace blaslift

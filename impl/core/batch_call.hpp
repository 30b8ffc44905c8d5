// Batches of products with their matrices at other addresses, and in records.
//
// A kind of matrices of a batch is an operand if it is one matrix in memory (BatchForm), and otherwise as many as it
// has matrices.  Those that the call does not touch are none.  Operand "B.2" is the second batch's B, "C.1.7" the first
// one's seventh C.
#pragma once
#include <deque>
#include <new>
#include <string>
#include <vector>

#include "impl/core/signatures.hpp"

namespace blaslift {

/// Number i of a batch's products for any library: OpenBLAS's kernels of small products read A and B even where alpha
/// is zero, and then these may have no address.
template <class T>
GemmArgs<T> product_of(const GemmBatchArgs<T>& batch, index i) {
  GemmArgs<T> product = batch.product(i);
  if (!batch.multiplies()) product.k = 0, product.A = product.B = product.C;
  return product;
}

/// A copy of a call's batches, with arrays of addresses of its own.
template <class T>
class BatchCall {
 public:
  static constexpr index most_operands = 10000;  ///< each is mapped by itself

  struct Batch {
    GemmBatchArgs<T> args;  ///< that of the call, with strides where there are such
    bool apart[3];          ///< A, B and C: each of its matrices is an operand
    std::vector<const T*> a{}, b{};
    std::vector<T*> c{};
  };

  /// Throws std::bad_alloc, also where there are too many operands.
  template <class Args>
  explicit BatchCall(const Args& args) {
    args.for_each([this](const GemmBatchArgs<T>& given) {
      const GemmBatchArgs<T> x = given.evenly();
      if (!x.empty()) batches.push_back({x, {is_apart(x.a()), is_apart(x.b()), is_apart(x.c())}});
    });
    list();
  }
  /// Of batches that have no addresses yet.
  explicit BatchCall(std::vector<Batch> of) : batches(std::move(of)) { list(); }
  BatchCall(const BatchCall&) = delete;
  BatchCall& operator=(const BatchCall&) = delete;

  /// The batches with their operands at these addresses; the others are where they are.
  std::vector<Batch> at(void* const* operand) const {
    std::vector<Batch> moved = batches;
    for (Batch& x : moved) {
      GemmBatchArgs<T>& args = x.args;
      const auto move = [&](int kind, auto& first, index& stride, auto& each, auto& own) {
        if (!touches(args, kind)) return;
        if (!x.apart[kind]) return void(first = static_cast<T*>(*operand++));
        for (index i = 0; i < args.count; ++i) own.push_back(static_cast<T*>(*operand++));
        each = own.data();
        stride = 0;
      };
      move(0, args.A, args.stride_a, args.each_a, x.a);
      move(1, args.B, args.stride_b, args.each_b, x.b);
      move(2, args.C, args.stride_c, args.each_c, x.c);
    }
    return moved;
  }

  static index operands_of(const Batch& x) {
    index all = 0;
    for (int kind = 0; kind < 3; ++kind) all += !touches(x.args, kind) ? 0 : x.apart[kind] ? x.args.count : 1;
    return all;
  }

  /// "batches=2 transa.1=N ... apart.1=AC ...": what a record says of it.
  std::string words() const {
    std::string all = "batches=" + std::to_string(batches.size());
    for (std::size_t i = 0; i < batches.size(); ++i) {
      const std::string number = '.' + std::to_string(i + 1);
      std::string own = write_words<GemmBatchStridedSignature<T>>(batches[i].args) + " apart=";
      for (int kind = 0; kind < 3; ++kind)
        if (batches[i].apart[kind] && touches(batches[i].args, kind)) own += "ABC"[kind];
      if (own.back() == '=') own += '-';
      for (std::size_t at = 0; (at = own.find('=', at)) != own.npos; at += number.size() + 1) own.insert(at, number);
      all += ' ' + own;
    }
    return all;
  }

  std::vector<Batch> batches{};            ///< those that have results
  std::vector<CheckedOperand> operands{};  ///< in the order of the batches, and of A, B and C in each

 private:
  static bool is_apart(const BatchLayout& x) { return x.form == BatchForm::apart; }
  static bool touches(const GemmBatchArgs<T>& x, int kind) { return kind == 2 || x.multiplies(); }

  void list() {
    index all = 0;
    for (const Batch& x : batches) all += operands_of(x);
    if (all > most_operands) throw std::bad_alloc();
    for (std::size_t i = 0; i < batches.size(); ++i) {
      const Batch& x = batches[i];
      const auto kinds = list_operands<GemmBatchStridedSignature<T>>(x.args);
      for (int kind = 0; kind < 3; ++kind) {
        if (!touches(x.args, kind)) continue;
        CheckedOperand one = kinds[static_cast<std::size_t>(kind)];
        const std::string name = std::string(1, "ABC"[kind]) + '.' + std::to_string(i + 1);
        if (!x.apart[kind]) {
          one.name = names_.emplace_back(name).c_str();
          operands.push_back(one);
          continue;
        }
        const GemmArgs<T> p = x.args.product(0);
        one.stored.rows = kind == 0 ? p.rows_a() : kind == 1 ? p.rows_b() : p.m;
        one.stored.cols = kind == 0 ? p.cols_a() : kind == 1 ? p.cols_b() : p.n;
        for (index j = 0; j < x.args.count; ++j) {
          const GemmBatchArgs<T>& args = x.args;
          one.stored.at = kind == 0   ? static_cast<const void*>(args.a_at(j))
                          : kind == 1 ? static_cast<const void*>(args.b_at(j))
                                      : static_cast<const void*>(args.c_at(j));
          one.name = names_.emplace_back(name + '.' + std::to_string(j + 1)).c_str();
          operands.push_back(one);
        }
      }
    }
  }

  std::deque<std::string> names_{};
};

}  // namespace blaslift

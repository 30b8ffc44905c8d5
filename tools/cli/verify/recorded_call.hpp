// Calls that verification has kept in files (impl/observe/call_record.hpp), read: their words and data, and by a
// signature (impl/core/signature.hpp) their arguments and operands.
#pragma once
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "impl/core/batch_call.hpp"
#include "impl/core/signatures.hpp"
#include "impl/core/text.hpp"
#include "impl/observe/call_record.hpp"

namespace blaslift::cli {

struct Recorded {
  struct Block {
    std::string name;
    index rows, cols;
    std::size_t element;
    std::vector<char> data;  ///< column by column
  };
  RecordText text;
  std::vector<Block> blocks;

  /// The value of `name` in the arguments; throws std::runtime_error if there is none.
  std::string argument(const std::string& name) const;
  /// Null: it has none of that name.
  const Block* block(const std::string& name) const;
};

/// The value of `name` in words of name=value; empty if there is none.
std::string value_in(const std::string& words, const std::string& name);

/// Bytes that an operand or a record's data may have: this machine's memory.
extern std::uint64_t memory_for_calls;

/// Throws std::runtime_error for a file that is no such record, or not a whole one.
/// @param with_data  or the words alone; the data is looked through all the same
Recorded read_record(const std::string& path, bool with_data);

[[noreturn]] inline void fail(const std::string& why) { throw std::runtime_error(why); }

inline constexpr const char* not_a_call = "the record's arguments are not those of a call";

template <class T>
T number_in(const Recorded& r, const char* name) {
  T value{};
  if (!read_number(r.argument(name), value)) fail(std::string("the record's ") + name + " is not a number");
  return value;
}

/// Reads Args.
class ReadArguments final : public signatures::Visitor {
 public:
  explicit ReadArguments(const Recorded& r) : record_(r) {}

  void letter(const char* name, Choices among, signatures::Letter) override;
  void integer(const char* name, index&, bool used) override;
  void scalar(const char* name, signatures::Scalar) override;
  void real_scalar(const char* name, signatures::Scalar, bool used) override;
  /// As wide as the record's; what is only written has no block, and any width.
  void operand(const char* name, signatures::Pointer, signatures::Asked<Use>) override;
  void workspace(const char* name, signatures::Pointer, index& size, signatures::Asked<index>) override;
  void recorded(const char* name, bool&) override;

 private:
  const Recorded& record_;
};

/// An operand as the program had it; what is not in the record is NaN.
std::vector<char> storage_of(const Recorded& r, const CheckedOperand& x);

/// Sets all arguments of a call but its addresses.  Throws std::runtime_error for what is no call.
void read_arguments(const Recorded& r, signatures::Described call);
/// The operands of a call whose arguments these are, to which it has the addresses then; likewise.
std::vector<std::vector<char>> read_operands(const Recorded& r, signatures::Described call);

/// A call of that signature; likewise.
template <class Signature>
struct RecordedCall {
  explicit RecordedCall(const Recorded& r) {
    read_arguments(r, call());
    if constexpr (requires { args.regular(); })
      if (!args.regular()) fail(not_a_call);
    memory = read_operands(r, call());
  }
  RecordedCall(const RecordedCall&) = delete;
  RecordedCall& operator=(const RecordedCall&) = delete;

  signatures::Described call() { return signatures::described<Signature>(args); }

  typename Signature::Args args{};
  std::vector<std::vector<char>> memory{};
};

/// Batches of products; likewise.
template <class T>
struct RecordedBatches {
  explicit RecordedBatches(const Recorded& r) : call_(batches_in(r)) {
    std::vector<void*> at;
    std::uint64_t bytes = 0;
    for (const CheckedOperand& x : call_.operands) {
      memory.push_back(storage_of(r, x));
      at.push_back(memory.back().data());
      bytes += memory.back().size();
      if (bytes > memory_for_calls) fail("the record's matrices are larger than this machine's memory");
    }
    batches = call_.at(at.data());
  }
  RecordedBatches(const RecordedBatches&) = delete;
  RecordedBatches& operator=(const RecordedBatches&) = delete;

  std::vector<typename BatchCall<T>::Batch> batches{};
  std::vector<std::vector<char>> memory{};

 private:
  static std::vector<typename BatchCall<T>::Batch> batches_in(const Recorded& r) {
    constexpr index most = BatchCall<T>::most_operands;
    const auto count = number_in<index>(r, "batches");
    if (count < 1 || count > most) fail(not_a_call);
    std::vector<Recorded> ones(static_cast<std::size_t>(count));  // with the names of gemm_batch_strided
    std::istringstream words(r.text.arguments);
    for (std::string word; words >> word;) {  // "name.number=value"
      const std::size_t end = word.find('='), dot = word.rfind('.', end);
      std::size_t number = 0;
      if (end == word.npos || dot == word.npos || !read_number(word.substr(dot + 1, end - dot - 1), number)) continue;
      if (number < 1 || number > ones.size()) fail(not_a_call);
      ones[number - 1].text.arguments += word.erase(dot, end - dot) + ' ';
    }
    std::vector<typename BatchCall<T>::Batch> all;
    index operands = 0;
    for (const Recorded& one : ones) {
      typename BatchCall<T>::Batch x{};
      ReadArguments read(one);
      described(x.args).show(read);
      GemmBatchArgs<T> regular = x.args;
      index* const strides[] = {&regular.stride_a, &regular.stride_b, &regular.stride_c};
      const std::string apart = one.argument("apart");
      for (std::size_t kind = 0; kind < std::size(strides); ++kind) {
        x.apart[kind] = apart.find("ABC"[kind]) != apart.npos;
        if (x.apart[kind]) *strides[kind] = 0;
      }
      x.args = regular;
      const auto together = [](const BatchLayout& of) { return of.form != BatchForm::apart; };
      const bool many = x.apart[0] || x.apart[1] || x.apart[2],
                 results = x.apart[2] || (together(regular.c()) && !regular.same_results());
      if (!regular.valid() || regular.empty() || !together(regular.a()) || !together(regular.b()) || !results ||
          regular.count > (many ? most : index{1} << 32))
        fail(not_a_call);
      operands += BatchCall<T>::operands_of(x);
      if (operands > most) fail(not_a_call);
      all.push_back(std::move(x));
    }
    return all;
  }

  const BatchCall<T> call_;
};

}  // namespace blaslift::cli

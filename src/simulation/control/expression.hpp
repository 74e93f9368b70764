// Formulas of a case, evaluated by muParser.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace catena {

/// A formula over variables known by name: numbers, + - * / ^, comparisons, a ? b : c, and
/// functions such as sin, exp, sqrt, min, max.
class Expression {
 public:
  /// Throws Error at `where` for what is no formula, or uses a name beyond `names`.
  Expression(const std::string& text, const std::vector<std::string>& names,
             const std::string& where);
  ~Expression();
  Expression(Expression&&) noexcept;

  /// Places of the variables that it uses, in `names`, ascending.
  const std::vector<std::size_t>& used() const { return used_; }
  /// Its value; `values`: of the variables it uses, in the order of used().
  double evaluate(std::span<const double> values) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::vector<std::size_t> used_;
};

}  // namespace catena

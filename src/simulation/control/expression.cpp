#include "simulation/control/expression.hpp"

#include <muParser.h>

#include <algorithm>

#include "catena/base/error.hpp"
#include "catena/base/suggest.hpp"

namespace catena {

struct Expression::Impl {
  mu::Parser parser;
  std::vector<double> values;  ///< the parser reads them here: of all names
};

Expression::Expression(const std::string& text, const std::vector<std::string>& names,
                       const std::string& where)
    : impl_(std::make_unique<Impl>()) {
  impl_->values.assign(names.size(), 0.0);
  mu::Parser& parser = impl_->parser;
  try {
    // a probe's column is one name
    parser.DefineNameChars("0123456789_.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    parser.DefineConst("pi", 3.14159265358979323846);
    for (std::size_t k = 0; k < names.size(); ++k) parser.DefineVar(names[k], &impl_->values[k]);
    parser.SetExpr(text);
    parser.Eval();
    for (const auto& [name, place] : parser.GetUsedVar())
      used_.push_back(static_cast<std::size_t>(place - impl_->values.data()));
    std::ranges::sort(used_);
  } catch (const mu::Parser::exception_type& error) {
    if (error.GetCode() == mu::ecUNASSIGNABLE_TOKEN) {
      const std::string near = nearest_word(error.GetToken(), names);
      throw Error("'" + text + "': there is nothing called '" + error.GetToken() + "'", where,
                  near.empty() ? "use t, parameters, columns of probes, names of controllers"
                               : "did you mean " + near + "?");
    }
    throw Error("'" + text + "' is no formula: " + error.GetMsg(), where,
                "for example 10*sin(2*pi*t) - 3*hinge.angle");
  }
}

Expression::~Expression() = default;
Expression::Expression(Expression&&) noexcept = default;

double Expression::evaluate(std::span<const double> values) const {
  for (std::size_t k = 0; k < used_.size(); ++k) impl_->values[used_[k]] = values[k];
  return impl_->parser.Eval();
}

}  // namespace catena

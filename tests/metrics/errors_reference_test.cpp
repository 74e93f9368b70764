// Every error against values that tests/data/make_reference.py computed on its own.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "catena/metrics/errors.hpp"
#include "support/assembled.hpp"
#include "support/scene.hpp"

namespace catena {
namespace {

struct ReferenceCase {
  std::string name, law;
  test::Scene scene;
  std::vector<double> impulses, r, n;
  std::map<std::string, double> errors;
};

std::vector<double> numbers(std::istream& in, std::size_t count) {
  std::vector<double> out(count);
  for (double& x : out) in >> x;
  return out;
}

Vec3 vector(std::istream& in) {
  const std::vector<double> x = numbers(in, 3);
  return {x[0], x[1], x[2]};
}

Twist twist(std::istream& in) {
  const Vec3 v = vector(in);
  return {v, vector(in)};
}

ContactLaw law_of(const std::string& name) {
  if (name == "coulomb") return ContactLaw::coulomb;
  if (name == "ccp") return ContactLaw::ccp;
  return name == "box" ? ContactLaw::box : ContactLaw::frictionless;
}

void read_contact(std::istream& in, test::Scene& scene) {
  GlobalId a = 0, b = 0;
  in >> a >> b;
  const Vec3 normal = vector(in), tangent = vector(in), arm_a = vector(in), arm_b = vector(in);
  const std::vector<double> rest = numbers(in, 2);
  scene.add_contact(a, b, normal, arm_a, arm_b, rest[0], rest[1]).tangent = tangent;
}

void read_block(std::istream& in, test::Scene& scene) {
  test::SceneBlock block;
  std::string kind, word;
  std::size_t rows = 0;
  in >> kind >> rows;
  block.kind = kind == "bilateral"    ? BlockKind::bilateral
               : kind == "unilateral" ? BlockKind::unilateral
               : kind == "boxed"      ? BlockKind::boxed
                                      : BlockKind::contact;
  while (in >> word && word != ":") block.bodies.push_back(std::stoll(word));
  for (const GlobalId b : block.bodies)
    block.jacobians.push_back(
        numbers(in, rows * scene.bodies[static_cast<std::size_t>(b)].free_velocity.size()));
  block.q = numbers(in, rows);
  block.compliance = numbers(in, rows);
  block.lower = numbers(in, rows);
  block.upper = numbers(in, rows);
  for (const double flag : numbers(in, rows)) block.angular.push_back(flag != 0.0 ? 1 : 0);
  in >> block.friction;
  scene.blocks.push_back(block);
}

void read_line(const std::string& key, std::istream& in, ReferenceCase& c) {
  const auto rows = static_cast<std::size_t>(c.scene.n_rows());
  if (key == "prescribed") c.scene.add_prescribed(twist(in));
  if (key == "rigid") {
    const std::vector<double> m = numbers(in, 10);
    c.scene.add_rigid_full(m[0], Eigen::Map<const Mat3>(m.data() + 1), twist(in));
  }
  if (key == "dense") {
    std::size_t n = 0;
    in >> n;
    const std::vector<double> m = numbers(in, n * n);
    c.scene.add_dense(m, numbers(in, n));
  }
  if (key == "contact") read_contact(in, c.scene);
  if (key == "block") read_block(in, c.scene);
  if (key == "impulses") c.impulses = numbers(in, rows);
  if (key == "r") c.r = numbers(in, rows);
  if (key == "N") c.n = numbers(in, rows * rows);
  if (key == "error") {
    std::string name;
    in >> name;
    in >> c.errors[name];
  }
  if (!in) throw std::runtime_error("errors_reference.txt: bad record " + key);
}

std::vector<ReferenceCase> read_cases() {
  std::ifstream file(std::string(CATENA_TEST_DATA) + "/errors_reference.txt");
  std::vector<ReferenceCase> cases;
  std::string line, key;
  while (std::getline(file, line)) {
    std::istringstream in(line);
    in >> key;
    if (key == "case") {
      in >> cases.emplace_back().name >> cases.back().law;
      cases.back().scene.law = law_of(cases.back().law);
    } else if (key != "end") {
      read_line(key, in, cases.back());
    }
  }
  return cases;
}

void compare(const ReferenceCase& c, const ConstraintProblem& problem) {
  SCOPED_TRACE(c.name + " " + c.law + (problem.assembled ? " assembled" : " bodies"));
  DelassusOperator op(problem);
  const Errors e = ErrorEvaluator(problem, op).evaluate(c.impulses);
  std::map<std::string, double> found = {{"energy_joint", e.energy_joint},
                                         {"energy_normal", e.energy_normal},
                                         {"energy_friction", e.energy_friction},
                                         {"energy_limit", e.energy_limit},
                                         {"natural_map_angular", e.natural_map_angular},
                                         {"objective", e.objective},
                                         {"cone_violation", e.cone_violation}};
  for (std::size_t m = 0; m < kMetricNames.size(); ++m)
    found[std::string(kMetricNames[m])] = value_of(e, static_cast<Metric>(m));
  EXPECT_EQ(found.size(), c.errors.size());
  for (const auto& [name, value] : c.errors)
    EXPECT_NEAR(found.at(name), value, 1e-12 * std::max(1.0, std::abs(value))) << name;
}

ConstraintProblem assembled(const ReferenceCase& c) {
  ConstraintProblem problem(Communicator::self());
  problem.law = c.scene.law;
  AssembledOperator& op = problem.assembled.emplace();
  const std::size_t rows = c.r.size();
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < rows; ++j) {
      op.column.push_back(static_cast<Index>(j));
      op.value.push_back(c.n[i * rows + j]);
    }
    op.row_begin.push_back(static_cast<std::int64_t>(op.value.size()));
  }
  op.r = c.r;
  for (const RigidContact& contact : c.scene.contacts) {
    op.friction.push_back(contact.friction);
    op.name.push_back(static_cast<std::int64_t>(op.name.size()));
  }
  return problem;
}

TEST(ErrorsReference, ProblemsHaveThePythonOperator) {
  const std::vector<ReferenceCase> cases = read_cases();
  ASSERT_EQ(cases.size(), 8u);
  for (const ReferenceCase& c : cases) {
    const ConstraintProblem problem = test::whole(c.scene);
    const std::vector<double> n = test::assemble_dense(problem);
    std::vector<double> r(c.r.size());
    DelassusOperator(problem).free_residual(r);
    for (std::size_t i = 0; i < n.size(); ++i) EXPECT_NEAR(n[i], c.n[i], 1e-13);
    for (std::size_t i = 0; i < r.size(); ++i) EXPECT_NEAR(r[i], c.r[i], 1e-13);
  }
}

TEST(ErrorsReference, BodiesGiveThePythonErrors) {
  for (const ReferenceCase& c : read_cases()) compare(c, test::whole(c.scene));
}

TEST(ErrorsReference, AssembledOperatorGivesThePythonErrors) {
  for (const ReferenceCase& c : read_cases())
    if (c.name == "contacts") compare(c, assembled(c));
}

}  // namespace
}  // namespace catena

// Eigen's large functions on matrices of double: where this header is seen they are not compiled
// again, but taken from eigen_kernels.cpp. Both are part of builds with CATENA_PRECOMPILE alone
// (CMakeLists.txt): they save time of compilation, and change no result.
#pragma once

#include <Eigen/Dense>

// Products of dense matrices and triangular solves, which all decompositions use; of decompositions
// those that several files have. JacobiSVD is what Quaternion::FromTwoVectors calls.
#define CATENA_EIGEN_KERNELS(WHERE)                                                                \
  namespace Eigen {                                                                                \
  namespace internal {                                                                             \
  WHERE template struct gebp_kernel<double, double, Index, KernelOut, KernelTraits::mr,            \
                                    KernelTraits::nr, false, false>;                               \
  WHERE template struct gemm_pack_lhs<double, Index, KernelIn<ColMajor>, KernelTraits::mr,         \
                                      KernelTraits::LhsProgress, KernelTraits::LhsPacket4Packing,  \
                                      ColMajor>;                                                   \
  WHERE template struct gemm_pack_lhs<double, Index, KernelIn<RowMajor>, KernelTraits::mr,         \
                                      KernelTraits::LhsProgress, KernelTraits::LhsPacket4Packing,  \
                                      RowMajor>;                                                   \
  WHERE template struct gemm_pack_lhs<double, Index, KernelOut, KernelTraits::mr,                  \
                                      KernelTraits::LhsProgress, KernelTraits::LhsPacket4Packing,  \
                                      ColMajor, false, true>;                                      \
  WHERE template struct gemm_pack_rhs<double, Index, KernelIn<ColMajor>, KernelTraits::nr,         \
                                      ColMajor>;                                                   \
  WHERE template struct gemm_pack_rhs<double, Index, KernelIn<RowMajor>, KernelTraits::nr,         \
                                      RowMajor>;                                                   \
  WHERE template struct gemm_pack_rhs<double, Index, KernelIn<ColMajor>, KernelTraits::nr,         \
                                      ColMajor, false, true>;                                      \
  WHERE template struct gemm_pack_rhs<double, Index, KernelIn<RowMajor>, KernelTraits::nr,         \
                                      RowMajor, false, true>;                                      \
  WHERE template struct gemm_pack_rhs<double, Index, KernelOut, KernelTraits::nr, ColMajor, false, \
                                      true>;                                                       \
  WHERE template struct general_matrix_matrix_product<Index, double, ColMajor, false, double,      \
                                                      ColMajor, false, ColMajor, 1>;               \
  WHERE template struct general_matrix_matrix_product<Index, double, ColMajor, false, double,      \
                                                      RowMajor, false, ColMajor, 1>;               \
  WHERE template struct general_matrix_matrix_product<Index, double, RowMajor, false, double,      \
                                                      ColMajor, false, ColMajor, 1>;               \
  WHERE template struct general_matrix_vector_product<Index, double, KernelIn<RowMajor>, RowMajor, \
                                                      false, double, KernelIn<ColMajor>, false>;   \
  WHERE template struct general_matrix_vector_product<Index, double, KernelIn<RowMajor>, RowMajor, \
                                                      false, double, KernelIn<RowMajor>, false,    \
                                                      BuiltIn>;                                    \
  WHERE template struct general_matrix_vector_product<Index, double, KernelIn<ColMajor>, ColMajor, \
                                                      false, double, KernelIn<RowMajor>, false>;   \
  WHERE template struct general_matrix_vector_product<Index, double, KernelIn<ColMajor>, ColMajor, \
                                                      false, double, KernelIn<ColMajor>, false>;   \
  WHERE template struct selfadjoint_matrix_vector_product<double, Index, ColMajor, Lower, false,   \
                                                          false>;                                  \
  WHERE template struct triangular_matrix_vector_product<Index, UnitUpper, double, false, double,  \
                                                         false, RowMajor>;                         \
  WHERE template struct product_triangular_matrix_matrix<double, Index, Upper, true, RowMajor,     \
                                                         false, ColMajor, false, ColMajor, 1>;     \
  WHERE template struct product_triangular_matrix_matrix<double, Index, UnitUpper, true, RowMajor, \
                                                         false, ColMajor, false, ColMajor, 1>;     \
  WHERE template struct product_triangular_matrix_matrix<double, Index, Lower, true, ColMajor,     \
                                                         false, ColMajor, false, ColMajor, 1>;     \
  WHERE template struct product_triangular_matrix_matrix<double, Index, UnitLower, true, ColMajor, \
                                                         false, ColMajor, false, ColMajor, 1>;     \
  WHERE template struct triangular_solve_matrix<double, Index, OnTheLeft, UnitLower, false,        \
                                                ColMajor, ColMajor, 1>;                            \
  WHERE template struct triangular_solve_matrix<double, Index, OnTheLeft, Upper, false, ColMajor,  \
                                                ColMajor, 1>;                                      \
  WHERE template struct triangular_solve_matrix<double, Index, OnTheRight, Lower, false, ColMajor, \
                                                ColMajor, 1>;                                      \
  WHERE template struct triangular_solve_matrix<double, Index, OnTheRight, UnitUpper, false,       \
                                                ColMajor, ColMajor, 1>;                            \
  WHERE template struct triangular_solve_matrix<double, Index, OnTheRight, Upper, false, RowMajor, \
                                                ColMajor, 1>;                                      \
  WHERE template void evaluateProductBlockingSizesHeuristic<double, double, 1, Index>(Index&,      \
                                                                                      Index&,      \
                                                                                      Index&,      \
                                                                                      Index);      \
  WHERE template void evaluateProductBlockingSizesHeuristic<double, double, 4, Index>(Index&,      \
                                                                                      Index&,      \
                                                                                      Index&,      \
                                                                                      Index);      \
  }                                                                                                \
  WHERE template class JacobiSVD<Matrix<double, 2, 3>>;                                            \
  WHERE template class PartialPivLU<Matrix<double, Dynamic, Dynamic, RowMajor>>;                   \
  WHERE template class PartialPivLU<MatrixXd>;                                                     \
  WHERE template void ColPivHouseholderQR<MatrixXd>::computeInPlace();                             \
  WHERE template SelfAdjointEigenSolver<MatrixXd>& SelfAdjointEigenSolver<MatrixXd>::compute(      \
      const EigenBase<MatrixXd>&, int);                                                            \
  }

namespace Eigen {
namespace internal {
using KernelTraits = gebp_traits<double, double>;
template <int Order>
using KernelIn = const_blas_data_mapper<double, Index, Order>;
using KernelOut = blas_data_mapper<double, Index, ColMajor>;
}  // namespace internal
}  // namespace Eigen

CATENA_EIGEN_KERNELS(extern)

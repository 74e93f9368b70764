#include "math/eigen_kernels.hpp"

CATENA_EIGEN_KERNELS()

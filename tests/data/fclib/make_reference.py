#!/usr/bin/python3
"""Writes reference_w.txt: w = W lambda + q of every problem here, computed with numpy and
scipy alone, for lambda_i = sin(i + 1) in the file's order of contact rows.

Local problems: w = W lambda + q. Global ones: v = M^-1 (H lambda + f), w = H^T v + w0, through
a sparse LU of M. The test of the reader compares Catena's operator with these numbers.
"""
import glob
import os

import h5py
import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla


def read_matrix(group):
    m, n, nz = (int(np.ravel(group[k][()])[0]) for k in ("m", "n", "nz"))
    p, i, x = (group[k][()] for k in ("p", "i", "x"))
    if nz >= 0:  # i holds rows, p columns; duplicates add up
        return sp.coo_matrix((x[:nz], (i[:nz], p[:nz])), shape=(m, n)).tocsc()
    kind = sp.csc_matrix if nz == -1 else sp.csr_matrix
    return sp.csc_matrix(kind((x, i, p), shape=(m, n)))


def slips(path):
    with h5py.File(path, "r") as f:
        if "fclib_local" in f:
            g = f["fclib_local"]
            q = g["vectors/q"][()]
            return read_matrix(g["W"]) @ np.sin(np.arange(len(q)) + 1.0) + q
        g = f["fclib_global"]
        w = g["vectors/w"][()]
        h = read_matrix(g["H"])
        v = sla.splu(read_matrix(g["M"])).solve(
            h @ np.sin(np.arange(len(w)) + 1.0) + g["vectors/f"][()])
        return h.T @ v + w


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "reference_w.txt"), "w") as out:
        for path in sorted(glob.glob(os.path.join(here, "*.hdf5"))):
            w = slips(path)
            out.write("%s %d\n" % (os.path.basename(path), len(w)))
            out.writelines("%.16g\n" % x for x in w)


if __name__ == "__main__":
    main()

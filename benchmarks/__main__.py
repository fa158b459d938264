"""Run the benchmarks: ``python -m benchmarks [--quick] [--only SECTION]``."""

import os

# One thread, except in the benchmarks of threads. NumPy reads these when it is imported.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

from .run import main  # noqa: E402

main()

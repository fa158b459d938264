"""Dense linear algebra for symmetric positive definite matrices, compiled.

Imports point down: `columns` uses `factors`, which uses `rows`.
"""

from .columns import (
    column_norms_squared,
    column_products,
    column_quadratic,
    unwhiten_columns,
    whiten_columns,
)
from .factors import (
    cholesky,
    inverse_from_rows,
    inverse_rows,
    log_determinant,
    solve,
    symmetric,
    update_factor,
    whiten,
)
from .rows import (
    add_four,
    argmax,
    clear,
    clear_matrix,
    copy,
    copy_matrix,
    four_rows,
    inner,
    scale,
    subtract,
    sum_rows,
)

__all__ = [
    "add_four",
    "argmax",
    "cholesky",
    "clear",
    "clear_matrix",
    "column_norms_squared",
    "column_products",
    "column_quadratic",
    "copy",
    "copy_matrix",
    "four_rows",
    "inner",
    "inverse_from_rows",
    "inverse_rows",
    "log_determinant",
    "scale",
    "solve",
    "subtract",
    "sum_rows",
    "symmetric",
    "unwhiten_columns",
    "update_factor",
    "whiten",
    "whiten_columns",
]

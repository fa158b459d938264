"""Features: from a context and named actions to vectors, by a declaration.

>>> from driftbandits.features import Cyclic, Features, Number, OneHot
>>> features = Features(
...     context={"country": OneHot(["FR", "DE"]), "hour": Cyclic(24)},
...     action={"category": OneHot(["sport", "politics"]), "length": Number(800, 400)},
... )
>>> articles = {
...     "a17": {"category": "sport", "length": 600},
...     "a18": {"category": "arts", "length": 1000},
... }
>>> features.encode({"country": "FR", "hour": 14}, articles).shape
(2, 30)
"""

from .declaration import Features
from .errors import FeatureError
from .inputs import named_actions
from .kinds import Cyclic, Hashed, Ignored, Kind, Number, OneHot, Rest, Tags
from .layout import Coordinate
from .protocol import Encodes
from .slots import SlotTable
from .terms import PerAction, Term
from .transformer import FromTransformer

__all__ = [
    "Coordinate",
    "Cyclic",
    "Encodes",
    "FeatureError",
    "Features",
    "FromTransformer",
    "Hashed",
    "Ignored",
    "Kind",
    "Number",
    "OneHot",
    "PerAction",
    "Rest",
    "SlotTable",
    "Tags",
    "Term",
    "named_actions",
]

"""Contract checks for your own policies and stores, with or without pytest.

from driftbandits.testing import check_policy

check_policy(MyPolicy(dim=3, gamma=0.9))
"""

from .contract import ContractError
from .policies import POLICY_CHECKS, check_policy

__all__ = ["POLICY_CHECKS", "ContractError", "check_policy"]

"""What every policy promises: checks to hold one of your own to."""

from __future__ import annotations

from collections.abc import Callable

from ...policies import Policy
from ..contract import hold
from . import copies, deciding, happening, memory, refusing, time

POLICY_CHECKS: tuple[Callable[[Policy], None], ...] = (
    *deciding.CHECKS,
    *time.CHECKS,
    *memory.CHECKS,
    *happening.CHECKS,
    *copies.CHECKS,
    *refusing.CHECKS,
)
"""Every promise of a policy, one function each: ``check(policy)`` raises where it is not kept."""


def check_policy(policy: Policy) -> None:
    """Hold a policy to all that driftbandits promises of policies.

    The checks build policies of the same configuration; ``policy`` itself stays as it is. An
    operation that a policy does not offer, such as ``amend``, must be refused with a reason.
    Rewards that come late must count as if on time unless its class says otherwise in
    ``late_rewards``.

    With pytest, `POLICY_CHECKS` makes every promise a test of its own:

        @pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
        def test_my_policy(check):
            check(MyPolicy(dim=3, gamma=0.9))

    Raises:
        ContractError: Promises are not kept; the message lists them.

    Examples:
        >>> from driftbandits import DLinUCB
        >>> from driftbandits.testing import check_policy
        >>> check_policy(DLinUCB(dim=3, gamma=0.9))
    """
    if not isinstance(policy, Policy):
        raise TypeError(
            f"policy must be a policy, such as DLinUCB(dim=3, gamma=0.9), got {policy!r}"
        )
    hold(policy, POLICY_CHECKS, name=type(policy).__name__)

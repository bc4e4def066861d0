"""A small policy with canaries in its stream, and what a right pipeline makes of them."""

from __future__ import annotations

import numpy as np
import pytest

from ppm.audit.observation import Received
from ppm.audit.planting import Planting, plant
from ppm.dp.source import Seed
from ppm.protect.plan import Plan
from tests.audit.village import CANARIES, in_process, village


@pytest.fixture(scope="session")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return village(tmp_path_factory.mktemp("village"))


@pytest.fixture(scope="session")
def planting(plan: Plan) -> Planting:
    return plant(plan, [*plan.patterns], canaries=CANARIES, rng=np.random.default_rng(7))


@pytest.fixture(scope="session")
def received(plan: Plan, planting: Planting) -> list[Received]:
    """What a right pipeline hands out."""
    return in_process(plan, [*plan.terms], planting, Seed(7))

"""Purpose: the numbered checks. Importing `checks` is cheap; `all_checks()` loads every check file once.

A check is one file `cNN_name.py` here. It registers itself, with its help, when it is imported.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from checks.contract import REGISTER, Check


@cache
def all_checks() -> tuple[Check, ...]:
    """Every registered check in number order."""
    for module in pkgutil.iter_modules(__path__):
        if module.name.startswith("c") and module.name[1:3].isdigit():
            importlib.import_module(f"{__name__}.{module.name}")
    return REGISTER.all()

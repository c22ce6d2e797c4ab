"""Classifiers that learn and decide by what their mistakes cost."""

import lazy_loader

__version__ = "0.2.0.dev0"

# Imported when first used: scikit-learn and the compiler take seconds, and `stakes --help` needs neither.
# The names are in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]

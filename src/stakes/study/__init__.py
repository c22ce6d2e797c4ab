"""The study: train once, decide many, and find out which method saves the most money."""

import lazy_loader

# Imported when first used, as in `stakes` itself.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

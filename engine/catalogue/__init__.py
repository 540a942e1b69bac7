"""The catalogue: agent specs of one user on one computer, searched by words; see docs/reference/catalogue.md.

`catalogue.py` reads and `finding.py` searches; `writer.py` changes it, with packs from `pack_files.py`, `components.py`
and `acp_registry.py`. Approving an entry makes it discoverable and trusts none of its code.
"""

from engine.catalogue.catalogue import Catalogue
from engine.catalogue.entries import Addition, CatalogueEntry, Pack, Source, TrustedKey
from engine.catalogue.finding import find, find_specs

__all__ = ["Addition", "Catalogue", "CatalogueEntry", "Pack", "Source", "TrustedKey", "find", "find_specs"]

"""One HTML page that shows a result in a browser, without a network (docs/pictures.md)."""
from .page import View, server, write_page

__all__ = ["View", "server", "write_page"]

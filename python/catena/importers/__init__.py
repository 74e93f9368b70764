"""URDF and MJCF models as cases."""
from .errors import ImportProblem, Report
from .importer import Options, import_model

__all__ = ["ImportProblem", "Options", "Report", "import_model"]

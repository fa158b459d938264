"""The version of the package: stated here alone, and read by the build."""

__version__ = "0.1.0"

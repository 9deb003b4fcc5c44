"""Records events in an audit log service. Needs nothing but the standard library."""

from ._client import AuditlogError, Client, Rejection, Report

__all__ = ["AuditlogError", "Client", "Rejection", "Report"]

"""Publishes to inkcast: documents, users, batches and orders, and the check of webhooks (docs/publishers.md)."""

from .errors import ERROR_CODES, InkcastError
from .publisher import Publisher
from .webhook import verify_webhook

__all__ = ["ERROR_CODES", "InkcastError", "Publisher", "verify_webhook"]

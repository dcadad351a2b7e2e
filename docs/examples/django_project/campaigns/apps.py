"""The app. `manage.py migrate` makes the library's tables after its own."""

from django.apps import AppConfig
from django.db import DEFAULT_DB_ALIAS
from django.db.models.signals import post_migrate


class CampaignsConfig(AppConfig):
    """Campaigns, and the recipient fields that they ask for."""

    name = "campaigns"

    def ready(self):
        """Have the library's schema made, and brought up to date, whenever Django's is."""
        post_migrate.connect(self._migrate_fields, sender=self)

    def _migrate_fields(self, using, **_):
        from .fields import storage

        if using == DEFAULT_DB_ALIAS:
            storage.migrate()

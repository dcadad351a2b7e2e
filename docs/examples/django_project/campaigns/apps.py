"""The app configuration. `manage.py migrate` also creates the tables of the library."""

from django.apps import AppConfig
from django.db import DEFAULT_DB_ALIAS
from django.db.models.signals import post_migrate


class CampaignsConfig(AppConfig):
    """The app for campaigns and their recipient fields."""

    name = "campaigns"

    def ready(self):
        """Migrate the library's schema after each `migrate` of Django."""
        post_migrate.connect(self._migrate_fields, sender=self)

    def _migrate_fields(self, using, **_):
        from .fields import storage

        if using == DEFAULT_DB_ALIAS:
            storage.migrate()

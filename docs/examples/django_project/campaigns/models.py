"""What this project keeps itself."""

from django.conf import settings
from django.db import models


class Team(models.Model):
    """A customer of ours, which is an organization of the library's."""

    name = models.CharField(max_length=255)
    organization_id = models.BigIntegerField(unique=True)
    members = models.ManyToManyField(settings.AUTH_USER_MODEL)


class Campaign(models.Model):
    """An email campaign with a question, whose answers go to a recipient field."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE)
    title = models.CharField(max_length=255, unique=True)
    field_key = models.CharField(max_length=63)

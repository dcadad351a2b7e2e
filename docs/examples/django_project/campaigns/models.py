"""The models of this project."""

from django.conf import settings
from django.db import models


class Team(models.Model):
    """A customer, with its organization in the library."""

    name = models.CharField(max_length=255)
    organization_id = models.BigIntegerField(unique=True)
    members = models.ManyToManyField(settings.AUTH_USER_MODEL)


class Campaign(models.Model):
    """An email campaign with a question. A recipient field stores the answers."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE)
    title = models.CharField(max_length=255, unique=True)
    field_key = models.CharField(max_length=63)

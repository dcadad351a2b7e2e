"""The views for members of a team."""

from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import JsonResponse
from django.views.decorators.http import require_POST

from recipient_fields import DataType, FieldDraft

from .fields import core
from .models import Campaign


@require_POST
@login_required
@transaction.atomic
def start_campaign(request):
    """Create a campaign and its field in one transaction."""
    team = request.user.team_set.get()
    draft = FieldDraft(name=request.POST["question"], data_type=DataType.TEXT)
    field = core.fields.create_field(team.organization_id, draft)
    campaign = Campaign.objects.create(team=team, title=request.POST["title"], field_key=field.key)
    return JsonResponse({"campaign": campaign.id, "field": field.key}, status=201)


@login_required
def list_fields(request):
    """Return the keys of the team's fields."""
    team = request.user.team_set.get()
    fields = core.fields.list_fields(team.organization_id).fields
    return JsonResponse({"fields": [field.key for field in fields]})

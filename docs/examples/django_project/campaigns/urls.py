"""The URLs of the views."""

from django.urls import path

from . import views

urlpatterns = [
    path("campaigns", views.start_campaign),
    path("fields", views.list_fields),
]

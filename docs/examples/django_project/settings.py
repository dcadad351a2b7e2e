"""The settings of a Django project whose campaigns create recipient fields in the same database."""

import os

SECRET_KEY = os.environ.get("SECRET_KEY", "of-an-example")
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "testserver"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        # libpq reads the other parameters from the environment.
        "NAME": os.environ.get("PGDATABASE", "campaigns"),
        "CONN_MAX_AGE": 60,
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "campaigns",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "campaigns.middleware.FieldErrors",
]
ROOT_URLCONF = "campaigns.urls"
USE_TZ = True

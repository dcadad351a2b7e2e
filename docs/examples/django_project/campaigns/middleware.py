"""Convert errors of the library to responses."""

from django.http import JsonResponse

from recipient_fields import (
    CatalogTooLarge,
    FieldLimitReached,
    FieldNotFound,
    InvalidField,
    KeyTaken,
    OperationForbidden,
    StorageUnavailable,
)

STATUSES = {
    FieldNotFound: 404,
    CatalogTooLarge: 409,
    FieldLimitReached: 409,
    InvalidField: 422,
    KeyTaken: 409,
    OperationForbidden: 403,
}


class FieldErrors:
    """Middleware that responds if a view raises an error of the library."""

    def __init__(self, get_response):
        self._get_response = get_response

    def __call__(self, request):
        """Return the response of the view."""
        return self._get_response(request)

    def process_exception(self, _request, error):
        """Return the response for an error of the library, or None for other errors."""
        if isinstance(error, StorageUnavailable):
            return JsonResponse({"message": "Try again shortly."}, status=503)
        status = STATUSES.get(type(error))
        return status and JsonResponse({"message": str(error)}, status=status)

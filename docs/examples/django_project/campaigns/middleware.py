"""The library's refusals, as answers of this project."""

from django.http import JsonResponse

from recipient_fields.domain import (
    FieldLimitReached,
    FieldNotFound,
    InvalidField,
    KeyTaken,
    OperationForbidden,
    StorageUnavailable,
)

STATUSES = {
    FieldNotFound: 404,
    FieldLimitReached: 409,
    InvalidField: 422,
    KeyTaken: 409,
    OperationForbidden: 403,
}


class FieldErrors:
    """Answers for a view that lets one of the library's errors pass."""

    def __init__(self, get_response):
        self._get_response = get_response

    def __call__(self, request):
        """The view's own answer."""
        return self._get_response(request)

    def process_exception(self, _request, error):
        """An answer to what the library refuses; any other error is not ours."""
        if isinstance(error, StorageUnavailable):
            return JsonResponse({"message": "Try again shortly."}, status=503)
        status = STATUSES.get(type(error))
        return status and JsonResponse({"message": str(error)}, status=status)

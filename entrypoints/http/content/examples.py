"""The codes in the examples of the OpenAPI document."""

from __future__ import annotations

from recipient_fields.domain.esp import Esp

FIRST_NAME_CODES = {
    "codes": [
        {
            "esp": Esp.MAILCHIMP.value,
            "integration_id": 1,
            "integration_name": "Main list",
            "esp_field_name": "FNAME",
            "name_from": "sync",
            "state": "found",
            "similar_names": [],
            "insertion_code": "*|FNAME|*",
            "insertion_code_with_default": "*|IF:FNAME|**|FNAME|**|ELSE:|*DEFAULT*|END:IF|*",
            "value_expression": "FNAME",
            "prelude": None,
            "refusal": None,
        },
        {
            "esp": Esp.SALESFORCE.value,
            "integration_id": None,
            "integration_name": None,
            "esp_field_name": "fname",
            "name_from": "convention",
            "state": "unknown",
            "similar_names": [],
            "insertion_code": "%%=v(@fname)=%%",
            "insertion_code_with_default": '%%=IIf(Empty(@fname), "DEFAULT", @fname)=%%',
            "value_expression": "@fname",
            "prelude": '%%[ SET @fname = AttributeValue("fname") ]%%',
            "refusal": None,
        },
    ]
}
"""The first of the codes of the field `first_name`."""

"""The console: the web application for administrators, as HTML that works without a script.

To add a page:

1. Write a class in the module of its family (`fields.forms`, `accounts.api_keys`, …), derived from
   `Page`:

       class IntegrationDeletion(Page):
           changes = True  # A viewer gets 403 for GET too.

           def on_get(self, req, resp, integration_id):
               integration = self.get_integration(req, integration_id)
               self.pages.send(req, resp, "integrations/delete.html", integration=integration)

           def on_post(self, req, resp, integration_id):
               with claimed_form(req, self.core, "/settings/integrations"):
                   self.core.integrations.delete_integration(
                       visit(req).organization.id, integration_id)
               path = visit(req).path("/settings/integrations")
               self.pages.redirect(req, resp, path, Flash("The integration was deleted."))

   A form whose effect must not be repeated has it in `with claimed_form(…)`. If the same form was
   submitted before, this raises, and the browser is redirected to the path with a message.

   If the administrator enters something in the form, add `on_continue(req, resp)`. It shows the
   form with the inputs in `visit(req).form`, and saves nothing. `SessionGuard` calls it after a
   sign-in if the session had ended while the form was open: see `submitted_forms`.

2. Add its route to `app.create_console`. `{organization_id:id}` in the path is enough to keep
   organizations apart: before the page runs, `SessionGuard` checks the session, that the
   administrator has a role in that organization (otherwise 404), the role for each POST, the
   `Origin`, and the CSRF token. It removes the parameter; a page uses `visit(req).organization`
   only.
   `visit(req).form` has the inputs of a POST.
3. Write a template that extends `layout.html` and sets `section` to "fields", "content", "history"
   or "settings", or one that extends `settings.html`, sets `menu` to an entry of the side menu and
   fills `settings`. Each POST form contains `{{ hidden_inputs(page) }}` from `macros.html`.
   `page.path("/fields")` is a path in the current organization and `page.base` is `/console`. Put
   `<bdi>` around names. There are no `style` attributes and no inline scripts: the
   Content-Security-Policy rejects them.

Errors of the core become error pages in `error_pages`. A page catches only those that it shows
next to an input. `fields.fields.FieldDeletion` with `fields/delete.html` is a complete confirm
page, and `fields.forms.FieldCreation` with `fields/form.html` is a complete form.
"""

from __future__ import annotations

from recipient_fields.domain import SecretToken

ROOT = "/console"
"""The path of the console, below the path at which a server mounts the service."""

MAX_FILE_SIZE = 10 * 1024 * 1024
"""The maximum size of a list of recipients, in bytes."""

MAX_FORM_SIZE = MAX_FILE_SIZE + 64 * 1024
"""The maximum size of the form with the list, in bytes. No form may be larger."""

SHOWN_FIELDS = 20
"""Fields in a list of a page, before the reader opens the rest."""


def link_url(console: str, token: SecretToken) -> str:
    """Return the URL that an administrator opens. `console` is the URL of the console."""
    return f"{console}/links/{token.reveal()}"


def invitation_url(console: str, token: SecretToken) -> str:
    """Return the URL at which a person accepts an invitation. `console` is as in `link_url`."""
    return f"{console}/invitations/{token.reveal()}"

"""Test that campaigns and fields are stored in one transaction."""

from concurrent.futures import ThreadPoolExecutor

from django.contrib.auth import get_user_model
from django.db import IntegrityError, connection, connections, transaction
from django.test import TestCase, TransactionTestCase

from recipient_fields import DataType, FieldDraft, KeyTaken, StorageUnavailable

from .fields import core
from .models import Campaign, Team


def a_team():
    """Create a team with a member."""
    organization = core.administration.create_organization("Bakery")
    team = Team.objects.create(name="Bakery", organization_id=organization.id)
    team.members.add(get_user_model().objects.create_user("ada"))
    return team


def keys(team):
    """Return the keys of the team's fields, read with the connection of this thread."""
    return [field.key for field in core.fields.list_fields(team.organization_id).fields]


def elsewhere(look, *arguments):
    """Return the keys that another thread reads with its own connection."""

    def see():
        try:
            return look(*arguments)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as threads:
        return threads.submit(see).result()


def create(team, name):
    """Create a field."""
    draft = FieldDraft(name=name, data_type=DataType.TEXT)
    return core.fields.create_field(team.organization_id, draft)


class ViewTests(TestCase):
    """A TestCase also rolls back changes to the library's tables."""

    @classmethod
    def setUpTestData(cls):
        """Create a team."""
        cls.team = a_team()

    def setUp(self):
        """Log in as a member of the team."""
        self.client.force_login(self.team.members.get())

    def start(self, title, question):
        """Create a campaign and return the response."""
        return self.client.post("/campaigns", {"title": title, "question": question})

    def test_a_campaign_has_its_field(self):
        """Both are stored."""
        response = self.start("Spring", "Shoe size")
        self.assertEqual((response.status_code, response.json()["field"]), (201, "shoe_size"))
        self.assertEqual(self.client.get("/fields").json(), {"fields": ["shoe_size"]})
        self.assertEqual(Campaign.objects.get().field_key, "shoe_size")

    def test_what_the_library_refuses_leaves_no_campaign(self):
        """A key is taken, and a name has no letters."""
        self.start("Spring", "Shoe size")
        for question, status in (("Shoe size!", 409), ("?", 422)):
            self.assertEqual(self.start("Summer", question).status_code, status)
        self.assertEqual(Campaign.objects.count(), 1)

    def test_what_the_project_refuses_leaves_no_field(self):
        """Two campaigns have the same title."""
        self.start("Spring", "Shoe size")
        with self.assertRaises(IntegrityError), transaction.atomic():
            self.start("Spring", "Favourite color")
        self.assertEqual(keys(self.team), ["shoe_size"])


class TransactionTests(TransactionTestCase):
    """Tests that read with another connection."""

    def setUp(self):
        """Create a team."""
        self.team = a_team()

    def test_other_connections_see_a_field_only_after_the_transaction(self):
        """Also if the field is the first change in the transaction."""
        with transaction.atomic():
            create(self.team, "Shoe size")
            Campaign.objects.create(team=self.team, title="Spring", field_key="shoe_size")
            self.assertEqual(keys(self.team), ["shoe_size"])
            self.assertEqual(elsewhere(keys, self.team), [])
        self.assertEqual(elsewhere(keys, self.team), ["shoe_size"])
        self.assertEqual(elsewhere(Campaign.objects.count), 1)

    def test_a_rollback_removes_both(self):
        """Also if the field is created first."""
        for first, second in ((create, Team.objects.create), (Team.objects.create, create)):
            with self.assertRaises(ZeroDivisionError), transaction.atomic():
                for make in (first, second):
                    if make is create:
                        create(self.team, "Shoe size")
                    else:
                        make(name="Brewery", organization_id=0)
                raise ZeroDivisionError
            self.assertEqual(elsewhere(keys, self.team), [])
            self.assertEqual(Team.objects.count(), 1)

    def test_an_inner_rollback_removes_what_was_created_inside(self):
        """The outer transaction can continue."""
        with transaction.atomic():
            create(self.team, "City")
            with self.assertRaises(ZeroDivisionError), transaction.atomic():
                create(self.team, "Town")
                raise ZeroDivisionError
            with self.assertRaises(KeyTaken):
                create(self.team, "City")
            create(self.team, "Village")
            Team.objects.create(name="Brewery", organization_id=0)
        self.assertEqual(elsewhere(keys, self.team), ["city", "village"])
        self.assertEqual(Team.objects.count(), 2)

    def test_without_a_transaction_a_field_is_stored_at_once(self):
        """In autocommit mode."""
        create(self.team, "City")
        self.assertEqual(elsewhere(keys, self.team), ["city"])
        self.assertFalse(connection.in_atomic_block)

    def test_after_the_server_ended_the_connection_there_is_a_new_one(self):
        """The first use opens a new connection, but not inside a transaction."""
        for in_transaction in (False, True):
            if in_transaction:
                with self.assertRaises(StorageUnavailable), transaction.atomic():
                    self.end_connection()
                    keys(self.team)
            else:
                self.end_connection()
                self.assertRaises(StorageUnavailable, keys, self.team)
            self.assertEqual(keys(self.team), [])

    def end_connection(self):
        """Let the server close the connection of this thread."""
        pid = connection.connection.info.backend_pid

        def end():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])

        elsewhere(end)

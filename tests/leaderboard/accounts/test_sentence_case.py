import pytest
from django.template import Context, Template


def test_what_is_escaped_stays_escaped():
    template = Template("{% load sentence_case %}{% filter sentence_case %}{{ name }}{% endfilter %}")
    assert template.render(Context({"name": "A <B"})) == "A &lt;B"


@pytest.mark.django_db
def test_the_pages_of_sign_in_have_the_case_of_all_others(client):
    page = client.get("/accounts/login/").content.decode()
    assert "<h1>Sign in</h1>" in page
    assert "<title>Sign in · PlanArena</title>" in page
    assert "Sign In" not in page
    assert "Remember Me" not in page

"""The caching proxy of the chart: off by default, between ingress and web pods, and never for signed-in readers."""

import re

from tests.k8s.chart import build, named


def backend(manifests):
    (rule,) = named(manifests, "Ingress", "planarena")["spec"]["rules"]
    return rule["http"]["paths"][0]["backend"]["service"]["name"]


def test_without_it_the_ingress_leads_to_the_web_pods():
    manifests = build("production")
    assert backend(manifests) == "planarena-web"
    assert not [one for one in manifests if one["metadata"]["name"] == "planarena-page-cache"]


def test_with_it_the_ingress_leads_to_it_and_it_alone_reaches_the_web_pods():
    manifests = build("production with everything")
    assert backend(manifests) == "planarena-page-cache"
    policy = named(manifests, "NetworkPolicy", "page-cache")["spec"]
    ports = [port["port"] for rule in policy["egress"] for port in rule["ports"]]
    assert ports == [8000]


def test_readers_with_a_session_a_message_or_credentials_neither_read_nor_fill_it():
    text = named(build("production with everything"), "ConfigMap", "planarena-page-cache")["data"]["nginx.conf"]
    for directive in ("proxy_cache_bypass", "proxy_no_cache"):
        (words,) = re.findall(rf"^ *{directive} (.*);$", text, re.M)
        assert words.split() == ["$cookie_sessionid", "$cookie_messages", "$http_authorization"]
    assert "proxy_cache_valid " not in text.replace("no proxy_cache_valid", ""), "only the site says what is shared"
    assert "proxy_ignore_headers" not in text, "Vary and Cache-Control of the site hold"


def test_pages_of_the_last_minutes_are_shown_while_no_web_pod_answers_and_refused_ones_are_not():
    text = named(build("production with everything"), "ConfigMap", "planarena-page-cache")["data"]["nginx.conf"]
    (words,) = re.findall(r"^ *proxy_cache_use_stale (.*);$", text, re.M)
    assert {"error", "timeout", "http_503"} <= set(words.split())
    assert not {"http_403", "http_404", "http_429"} & set(words.split())
    assert "inactive=5m" in text

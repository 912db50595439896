"""Chat templates: published ones render as `transformers` renders them, bombs end within their budget."""

import tracemalloc

import pytest

from evaluator.core.language_model import FailureKind
from evaluator.sandbox.admission.chat_templates import check_template, render_template
from evaluator.sandbox.admission.template_environment import TemplateBudgetError, TemplateRefusedError
from tests.fakes.strategies import generate
from tests.fakes.tiny_models import byte_level_bpe, gpt2

TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
SYSTEM, USER = {"role": "system", "content": "Be brief. "}, {"role": "user", "content": " What's a plan?\n"}
BEGUN = {"role": "assistant", "content": "A plan is "}
CHATML = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
LLAMA_2 = (
    "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}"
    "{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}"
    "{% set system_message = false %}{% endif %}{% for message in loop_messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate') }}{% endif %}"
    "{% if loop.index0 == 0 and system_message != false %}"
    "{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}"
    "{% set content = message['content'] %}{% endif %}"
    "{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}"
    "{% elif message['role'] == 'assistant' %}{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}"
)
LLAMA_3 = """{{- bos_token }}
{%- if not date_string is defined %}{% set date_string = "26 Jul 2024" %}{% endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{{- "Today Date: " + date_string + "\\n\\n" }}
{{- system_message }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim
            + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {{- message.tool_calls | tojson(indent=4) }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""
QWEN_3 = """{%- macro shown(content) %}{{ content|trim }}{% endmacro %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and not(message.content.startswith('<tool_response>')) %}
        {%- set ns.multi_step_tool = false %}{%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}{%- else %}{%- set content = '' %}{%- endif %}
    {%- if message.role == "assistant" %}
        {%- set reasoning = '' %}
        {%- if '</think>' in content %}
            {%- set reasoning = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- generation %}{{- '<|im_start|>assistant\\n' ~ reasoning ~ content }}{% endgeneration %}
    {%- else %}
        {{- '<|im_start|>' ~ message.role ~ '\\n' ~ shown(content) ~ '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}"""
MISTRAL = """{%- set users = messages | selectattr("role", "equalto", "user") | list %}
{%- set names = messages | map(attribute="role") | join(", ") %}
{{- bos_token }}{% for m in messages %}{% if m.role == 'tool' %}{% continue %}{% endif %}
[{{ m.role|upper }}/{{ users|length }}/{{ names }}] {{ m.content|replace('plan', 'PLAN')|indent(2) }}
{%- for key, value in m.items() %} {{ key ~ '=' ~ value|tojson }}{% endfor %}
{% if not loop.last %}{{ ', ' * 2 }}{% endif %}{% endfor %}{{ dict(a=1).get('a') + range(3)|length }}"""
PUBLISHED = {"ChatML": CHATML, "Llama 2": LLAMA_2, "Llama 3": LLAMA_3, "Qwen3": QWEN_3, "Mistral": MISTRAL}


def rendered(template: str, *messages: dict[str, str], continues: bool = False) -> str:
    return render_template(template, messages=messages or (USER,), special_tokens=TOKENS, continues=continues)


def test_published_templates_render_as_transformers_renders_them():
    from transformers.utils.chat_template_utils import render_jinja_template

    for template in PUBLISHED.values():
        check_template(template)
        for messages in [(USER,), (SYSTEM, USER), (USER, BEGUN), (SYSTEM, USER, BEGUN, USER)]:
            continues = messages[-1] is BEGUN
            (wanted,), _ = render_jinja_template(
                conversations=[[dict(one) for one in messages]], chat_template=template,
                add_generation_prompt=not continues, continue_final_message=continues, **TOKENS,
            )  # fmt: skip
            assert rendered(template, *messages, continues=continues) == wanted


def doubled(start: str, step: str, end: str = "") -> str:
    return f"{{% set n = namespace(x={start}) %}}{{% for i in range(99) %}}{{% set n.x = {step} %}}{{% endfor %}}{end}"


BIG = "{% set x = 'a' * 390000 %}{% for i in range(9999) %}"
BUDGET = {
    "long text": "{{ 'a' * 10**9 }}",
    "long list": "{{ [1] * 10**9 }}",
    "negative and large": "{{ 10**9 * 'ab' }}",
    "long range": "{% for i in range(10**9) %}x{% endfor %}",
    "loops in loops": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
    "loop that selects nothing": "{% for i in range(99999) if i < 0 %}{% endfor %}" * 9,
    "doubling by ~": doubled("'aa'", "n.x ~ n.x", "{{ n.x }}"),
    "doubling by +": doubled("'aa'", "n.x + n.x"),
    "doubling by a list": doubled("[1]", "n.x + n.x"),
    "doubling by reference": doubled("[1]", "[n.x, n.x]"),
    "doubling by an object": doubled("[1]", "{'a': n.x, 'b': n.x}"),
    "doubling by dict()": doubled("[1]", "dict(a=n.x, b=n.x)"),
    "doubling by replace": doubled("'aa'", "n.x.replace('a', 'aa')"),
    "doubling by a filter": doubled("'aa'", "n.x|replace('a', 'aa')"),
    "doubling by join": doubled("'aa'", "n.x|join(n.x)"),
    "doubling by a method": doubled("'aa'", "n.x.join([n.x, n.x, n.x])"),
    "a namespace in itself": "{% set n = namespace() %}{% set n.a = [n, n] %}{{ n.a }}",
    "static text in a loop": "{% for i in range(90000) %}" + "a" * 500 + "{% endfor %}",
    "static text in a macro": "{% macro m() %}" + "a" * 9000 + "{% endmacro %}{% for i in range(9999) %}"
    "{% set x = m() %}{% endfor %}",
    "static text in a block": "{% for i in range(9999) %}{% set x %}" + "a" * 9000 + "{% endset %}{% endfor %}",
    "exponential macro": "{% macro f(n) %}{% if n %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(40) }}",
    "large power": "{{ 9**9**9 }}",
    "large product": doubled("99999", "n.x * n.x"),
    "wide indentation": "{{ messages|tojson(indent=10**9) }}",
    "wide separator": "{{ messages|tojson(separators=(', ' * 9999, ': ')) }}",
    "wide filter": "{{ 'a\nb'|indent(10**9) }}",
    "numbers as JSON": "{{ range(10**5)|list|tojson }}",
    "searching": BIG + "{% if x in x %}{% endif %}{% endfor %}",
    "comparing": BIG + "{% if x == x ~ '' %}{% endif %}{% endfor %}",
    "slicing": BIG + "{% set y = x[1:] %}{% endfor %}",
    "splitting": BIG + "{% set y = x.split('a') %}{% endfor %}",
    "a filter on long text": BIG + "{% set y = x|title %}{% endfor %}",
    "a test on long text": BIG + "{% if x is eq x %}{% endif %}{% endfor %}",
    "sorting": "{% set x = ('a ' * 190000).split() %}{% for i in range(9999) %}{% set y = x|sort %}{% endfor %}",
    "printing numbers": "{% for i in range(99999) %}{{ i }}{{ i }}{{ i }}{% endfor %}",
}
REFUSED = {
    "center": "{{ 'a'|center(10**9) }}", "ljust": "{{ 'a'.ljust(10**9) }}",
    "format": "{{ '{:>9999999999}'.format(1) }}",
    "percent": "{{ '%9999999999d' % 1 }}", "zfill": "{{ '1'.zfill(10**9) }}", "bytes": "{{ (1).to_bytes(10**9) }}",
    "expandtabs": "{{ '\t'.expandtabs(10**9) }}", "encode": "{{ 'a'.encode() * 10**9 }}",
    "batch": "{{ [1]|batch(10**9, 0)|list }}", "slice": "{{ [1]|slice(10**9)|list }}",
    "wordwrap": "{{ 'a'|wordwrap(1, wrapstring='x') }}", "sum": "{{ messages|sum(start=[]) }}",
    "round": "{{ 1.5|round(10**9, 'ceil') }}", "attr": "{{ messages|attr('__class__') }}",
    "lipsum": "{{ lipsum(n=10**6) }}", "cycler": "{{ cycler(1) }}", "include": "{% include 'x' %}",
    "import": "{% import 'x' as y %}", "extends": "{% extends 'x' %}",
    "block": "{% block x %}{{ self.x() }}{% endblock %}",
    "recursive": "{% for i in messages recursive %}{{ loop(messages) }}{% endfor %}",
    "class": "{{ ''.__class__.__mro__ }}", "environment": "{{ raise_exception.__globals__.keys() }}",
    "environment of a method": "{{ range.__self__.call.x }}", "date": "{{ strftime_now('%9999999999Y') }}",
    "namespace": "{{ namespace(__class__=1) }}", "deep": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "deep operators": "{{ " + "not " * 5000 + "1 }}", "deep blocks": "{% if 1 %}" * 500 + "{% endif %}" * 500,
    "endless recursion": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "mapped filter": "{{ 'a'|map('center', 10**9)|list }}",
    "large": "{{ 1 }}" * 13_000,
}  # fmt: skip


@pytest.mark.parametrize("kind", ["budget", "refused"])
def test_a_bomb_ends_within_its_budget_of_steps_and_characters_and_what_is_not_in_the_list_is_refused(kind):
    bombs, error = (BUDGET, TemplateBudgetError) if kind == "budget" else (REFUSED, Exception)
    for bomb, template in bombs.items():
        with pytest.raises(error) as refused:
            rendered(template)
        assert len(str(refused.value)) < 1000, bomb


@pytest.mark.parametrize("bomb", ["doubling by ~", "static text in a macro", "splitting"])
def test_a_bomb_fills_no_memory(bomb):
    tracemalloc.start()
    try:
        with pytest.raises(TemplateBudgetError):
            rendered(BUDGET[bomb])
        assert tracemalloc.get_traced_memory()[1] < 64 * 1024**2
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("template", ["{% for %}", "{{ 1", "{% endif %}", "{{ 'a'|center(3) }}", "{% include 'x' %}"])
def test_the_site_says_what_is_wrong_with_a_template_and_renders_nothing(template):
    with pytest.raises(TemplateRefusedError):
        check_template(template)
    check_template("{{ raise_exception('rendered') }}" + "{% for i in range(10**9) %}{% endfor %}")


def test_a_bomb_costs_its_own_call_as_the_planner_s_fault_with_a_sentence():
    from evaluator.planners.language_models.local.model import LocalModel
    from evaluator.planners.language_models.local.network import Network

    tokenizer = byte_level_bpe()
    tokenizer.chat_template = "{% if 'x' in messages[0].content %}{{ 'a' * 10**9 }}{% endif %}{{ messages[0].content }}"
    model = LocalModel(network=Network(module=gpt2(tokenizer), tokenizer=tokenizer), name="tiny")
    bad, good = model.answer([generate("x", max_tokens=2), generate("y", max_tokens=2)])
    assert bad.kind is FailureKind.REFUSED
    assert bad.message.startswith("The model's chat template takes more than")
    assert good.usage.completion_tokens > 0


def test_a_prompt_longer_than_any_is_refused_before_the_tokenizer_reads_it():
    from evaluator.planners.language_models.local.model import LocalModel
    from evaluator.planners.language_models.local.network import Network

    model = LocalModel(network=Network(module=gpt2(byte_level_bpe()), tokenizer=byte_level_bpe()), name="tiny")
    (found,) = model.answer([generate("x" * 400_001, max_tokens=2)])
    assert (found.kind, found.message) == (
        FailureKind.REFUSED,
        "The prompt has 400001 characters; at most 400000 are read.",
    )

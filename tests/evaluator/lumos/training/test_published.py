"""Files of published data sets become LUMOS's conversations; what is no file of theirs is refused."""

import json

import pytest
from typer.testing import CliRunner

from evaluator.lumos.mini.conversion import FORMS
from evaluator.lumos.training.published import SOURCES, convert
from evaluator.lumos.training.training import exchanges_of, read_conversations
from evaluator.training.lessons import DataError

GSM8K = [
    {
        "question": "Ann has 3 bags of 4 nuts and eats 5. How many nuts are left?",
        "answer": "She has 3*4=<<3*4=12>>12 nuts.\nThen 12-5=<<12-5=7>>7 are left.\n#### 7",
    },
    {"question": "How many?", "answer": "Nobody knows.\n#### 3"},
]
SVAMP = [{
    "ID": "chal-1", "Body": "There are 8 apples.", "Question": "How many are left without 3?",
    "Equation": "( 8.0 - 3.0 )", "Answer": 5.0, "Type": "Subtraction",
}]  # fmt: skip
ASDIV = """<?xml version="1.0" encoding="UTF-8"?>
<Machine-Reading-Corpus-File><ProblemSet>
<Problem ID="nluds-0001"><Body>Seven red apples and two green apples are in the basket.</Body>
<Question>How many apples are in the basket?</Question><Answer>9 (apples)</Answer><Formula>7+2=9</Formula></Problem>
<Problem ID="nluds-0002"><Body>A pie.</Body><Question>Which?</Question><Answer>apple</Answer><Formula>x</Formula>
</Problem>
</ProblemSet></Machine-Reading-Corpus-File>"""
MUSIQUE = {
    "id": "2hop__1_2", "question": "Where was the singer of Green born?", "answer": "Leeds",
    "question_decomposition": [
        {"id": 1, "question": "Green >> performer", "answer": "Steve Hill", "paragraph_support_idx": 7},
        {"id": 2, "question": "Where was #1 born?", "answer": "Leeds", "paragraph_support_idx": 2},
    ],
    "paragraphs": [
        {"idx": 7, "title": "Green (album)", "paragraph_text": "Green is an album by Steve Hill."},
        {"idx": 2, "title": "Steve Hill", "paragraph_text": "Steve Hill was born in Leeds."},
    ],
}  # fmt: skip


def file_of(folder, name, content):
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


@pytest.fixture
def files(tmp_path):
    return {
        "gsm8k": file_of(tmp_path, "gsm8k.jsonl", "\n".join(map(json.dumps, GSM8K))),
        "svamp": file_of(tmp_path, "svamp.json", json.dumps(SVAMP)),
        "asdiv": file_of(tmp_path, "asdiv.xml", ASDIV),
        "musique": file_of(tmp_path, "musique.jsonl", json.dumps(MUSIQUE)),
    }


def replies(folder, form):
    (conversation,) = read_conversations(folder / f"{form}.jsonl")
    return [exchange.reply for exchange in conversation]


@pytest.mark.parametrize(
    ("source", "actions", "left_out"),
    [
        ("gsm8k", ["R1 = Calculator(3*4)", "R2 = Calculator(R1-5)"], {"not annotated": 1}),
        ("svamp", ["R1 = Calculator(8 - 3)"], {}),
        ("asdiv", ["R1 = Calculator(7 + 2)"], {"the formula or the answer is no number": 1}),
        (
            "musique",
            [
                "R1 = KnowledgeQuery(Green (album)); "
                "R2 = ParagraphRetrieve(R1, Query: What is the performer of Green?); "
                "R3 = QA([R2], Question: What is the performer of Green?)",
                "R4 = KnowledgeQuery(R3); R5 = ParagraphRetrieve(R4, Query: Where was R3 born?); "
                "R6 = QA([R5], Question: Where was R3 born?)",
            ],
            {},
        ),
    ],
)
def test_a_solution_becomes_subgoals_and_actions_of_each_form(tmp_path, files, source, actions, left_out):
    written, without = convert(source=source, file=files[source], folder=tmp_path / "out")
    assert written == dict.fromkeys(FORMS, 1)
    assert without == left_out
    assert replies(tmp_path / "out", "ground_iterative") == actions
    plans = replies(tmp_path / "out", "plan_iterative")
    assert len(plans) == len(actions) + 1
    assert plans[-1] == "Yes, I will stop planning."


def test_results_are_in_the_conversation_and_name_no_reference(tmp_path, files):
    convert(source="musique", file=files["musique"], folder=tmp_path)
    record = json.loads((tmp_path / "plan_iterative.jsonl").read_text())
    assert record["dataset"] == "musique"
    prompts = [exchange.prompt for exchange in exchanges_of(record["messages"])]
    assert "The executed result for Subgoal 1 is Steve Hill." in prompts[1]
    assert "Find out: Where was Steve Hill born?" in prompts[2]


@pytest.mark.parametrize(
    ("source", "content", "says"),
    [
        ("gsm8k", "[]", "problem 0"),
        ("svamp", "{}", "expected a list"),
        ("asdiv", "<a/>", "no <Problem>"),
        ("asdiv", "<a", "is no XML"),
        ("asdiv", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "declares entities"),
        ("musique", '{"question": "a"}', "line 1"),
        ("musique", "[" * 100_000, "line 1"),
        ("musique", '{"question": "a", "paragraphs": 1, "question_decomposition": []}', "line 1"),
    ],
)
def test_what_is_no_file_of_the_data_set_is_refused_with_its_place(tmp_path, source, content, says):
    with pytest.raises(DataError, match=says):
        convert(source=source, file=file_of(tmp_path, "data", content), folder=tmp_path / "out")


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([], "it has no parts"),
        ([{"question": "Who is #2?", "answer": "a", "paragraph_support_idx": 7}], "refers to a later one"),
        ([{"question": "Who?", "answer": "a", "paragraph_support_idx": None}], "no paragraph or answer"),
    ],
)
def test_an_unusable_solution_is_left_out_and_counted(tmp_path, steps, why):
    file = file_of(tmp_path, "data", json.dumps({**MUSIQUE, "question_decomposition": steps}))
    written, left_out = convert(source="musique", file=file, folder=tmp_path / "out")
    assert set(written.values()) == {0}
    assert [why in reason for reason in left_out] == [True]


def test_the_command_names_what_it_wrote_and_refuses_half_a_choice(tmp_path, files):
    from evaluator.cli.main import app

    run = CliRunner().invoke
    out = run(app, ["lumos", "convert", "--from", "gsm8k", "--file", str(files["gsm8k"]), "--out", str(tmp_path / "o")])
    assert out.exit_code == 0, out.output
    assert "plan_iterative.jsonl: 1 conversations" in out.output
    assert "left out: 1, not annotated" in out.output
    assert run(app, ["lumos", "convert", "--from", "gsm8k"]).exit_code == 2
    assert run(app, ["lumos", "convert", "--from", "x", "--file", str(files["gsm8k"])]).exit_code == 2
    assert set(SOURCES) == {"gsm8k", "svamp", "asdiv", "musique"}

"""A real, tiny classifier, made and saved here, judges conversations in batches."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from grader.config.rewards import ConversationSettings, RewardTask
from grader.config.settings import Settings
from grader.model.errors import ConfigurationError
from grader.rewards.conversation import Classifier, _choices
from grader.rewards.core import RewardCore
from grader.rewards.sample import Sample
from tests.releases import installed

torch = installed("torch", "tokenizers")
transformers = installed("transformers")

pytestmark = [
    pytest.mark.timeout(90),
    pytest.mark.filterwarnings("default"),  # theirs, not ours
]

GOOD = "thank you very much indeed friend"
BAD = "no bad awful terrible wrong stupid"
RUDE = "go away you fool and never come back"


def make_model(folder: Path, liked: list[str], **config: object) -> Path:
    """Save a model that has learned to like some texts of `GOOD`, `BAD` and `RUDE`."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import DistilBertConfig, DistilBertForSequenceClassification

    texts = [GOOD, BAD, RUDE]
    words = dict.fromkeys(word for text in texts for word in text.split())
    vocabulary = {word: n for n, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words])}
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]"}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=names["unk_token"]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    torch.manual_seed(1)
    model = DistilBertForSequenceClassification(
        DistilBertConfig(
            vocab_size=len(vocabulary), dim=16, hidden_dim=16, n_layers=1, n_heads=2,
            max_position_embeddings=64, **{"num_labels": 2, **config},
        )
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)
    batch = fast(texts, return_tensors="pt", padding=True)
    inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
    wanted = torch.tensor([int(text in liked) for text in texts])
    if config.get("problem_type") == "multi_label_classification":
        columns = [wanted, *[torch.zeros_like(wanted)] * (model.config.num_labels - 1)]
        wanted = torch.stack(columns, dim=1).float()
    for _ in range(40):
        loss = model(**inputs, labels=wanted).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model"), [GOOD])


@pytest.fixture(scope="module")
def harm_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with labels of their own, of which the first means that a text is rude."""
    labels = {0: "toxic", 1: "threat", 2: "insult"}
    return make_model(
        tmp_path_factory.mktemp("harm"),
        [RUDE],
        problem_type="multi_label_classification",
        num_labels=3,
        id2label=labels,
        label2id={name: index for index, name in labels.items()},
    )


@pytest.fixture(scope="module")
def coherence_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("coherence"), [GOOD, RUDE])


def qualities(texts: list[str], settings: ConversationSettings) -> list[float]:
    (choice,) = _choices(settings).values()
    return Classifier(choice, settings).probabilities(texts)


def make_core(model: Path | None, **settings: object) -> RewardCore:
    conversation = ConversationSettings(
        model=str(model) if model else None,
        **settings,  # type: ignore[arg-type]
    )
    return RewardCore(replace(Settings(), task=RewardTask.CONVERSATION, conversation=conversation))


@pytest.fixture(scope="module")
def core(model_dir: Path) -> Iterator[RewardCore]:
    core = make_core(model_dir, gather_ms=50.0)
    yield core
    core.close()


def test_good_conversation_scores_more_than_a_bad_one(core: RewardCore) -> None:
    good, bad = core.rate([Sample(query=GOOD), Sample(query=BAD)])
    assert good.graded
    assert bad.graded
    assert 0 <= bad.score < 0.3
    assert 0.7 < good.score <= 1
    assert good.logs["conversation_quality"] == pytest.approx(good.score)


@pytest.mark.parametrize("odd", ["", " ", "\0", "\ud800", "x" * 2_000_000, "word " * 300_000])
def test_odd_conversation_costs_the_others_of_its_batch_nothing(core: RewardCore, odd: str) -> None:
    first, _, last = core.rate([Sample(query=GOOD), Sample(query=odd), Sample(query=GOOD)])
    assert first.graded
    assert first.score == last.score > 0.7


def test_label_is_not_needed(core: RewardCore) -> None:
    labels: list[object] = [None, "", {}, "anything"]
    ratings = core.rate([Sample(query=GOOD, label=label) for label in labels])
    assert len({rating.reward for rating in ratings}) == 1


def test_short_response_costs_the_penalty(core: RewardCore) -> None:
    long, short = core.rate(
        [Sample(query=f"Q {GOOD}", prompt="Q"), Sample(query="Q thank you", prompt="Q")]
    )
    assert short.score == pytest.approx(
        max(0.0, short.logs["conversation_quality"] - 0.5), abs=1e-6
    )
    assert long.score == pytest.approx(long.logs["conversation_quality"])


def test_single_calls_share_batches_of_one_model(core: RewardCore) -> None:
    batcher = core.conversation._open()["quality"]
    sizes: list[int] = []
    handle = batcher._handle

    def counted(texts: list[str]) -> list[float]:
        sizes.append(len(texts))
        return handle(texts)

    batcher._handle = counted
    try:
        threads = [
            threading.Thread(target=lambda: core.rate([Sample(query=GOOD)])) for _ in range(16)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        batcher._handle = handle
    assert sum(sizes) == 16
    assert len(sizes) < 8
    assert core.conversation._open()["quality"] is batcher


def test_heuristics_are_taken_off(model_dir: Path) -> None:
    core = make_core(model_dir, repetition_penalty=1.0, refusal_penalty=1.0, relevance_weight=0.5)
    looping, refusing, ignoring = core.rate(
        [
            Sample(query=f"{GOOD} " * 20),
            Sample(query="I'm sorry, I can't help with that, my very good friend."),
            Sample(query=f"Which planets? {GOOD}", prompt="Which planets?"),
        ]
    )
    assert looping.score < 0.2
    assert refusing.score == 0
    assert ignoring.logs["relevance"] == 0
    assert ignoring.score == pytest.approx(ignoring.logs["conversation_quality"] / 2)
    core.close()


def test_long_conversation_is_cut_at_its_beginning(core: RewardCore) -> None:
    (rating,) = core.rate([Sample(query=f"{BAD} " * 3000 + GOOD)])
    assert rating.graded


def test_model_that_is_not_set_or_does_not_load_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="GRADER_CONVERSATION_MODEL"):
        make_core(None).check()
    core = make_core(tmp_path)
    with pytest.raises(ConfigurationError, match="cannot be loaded"):
        core.check()
    (rating,) = core.rate([Sample(query=GOOD)])
    assert not rating.graded


def test_label_that_means_good_can_be_named(model_dir: Path) -> None:
    settings = ConversationSettings(model=str(model_dir), good_label="LABEL_0")
    good, bad = qualities([GOOD, BAD], settings)
    assert good < bad
    settings = ConversationSettings(model=str(model_dir), good_label="nice")
    with pytest.raises(ConfigurationError, match="no label 'nice'; set GRADER_CONVERSATION_GOOD"):
        qualities([GOOD], settings)


# ---------------------------------------------------------------- harm and coherence


def test_harm_and_coherence_are_off_and_logged_as_nothing(core: RewardCore) -> None:
    (rating,) = core.rate([Sample(query=RUDE)])
    assert (rating.logs["harm"], rating.logs["coherence"]) == (0, 0)
    assert rating.score == pytest.approx(rating.logs["conversation_quality"])
    assert list(core.conversation._open()) == ["quality"]


def test_harmful_response_loses_its_score(model_dir: Path, harm_dir: Path) -> None:
    core = make_core(model_dir, harm_model=str(harm_dir), harm_label="toxic", good_label="LABEL_0")
    rude, bad = core.rate([Sample(query=f"Q {RUDE}", prompt="Q"), Sample(query=BAD)])
    core.close()
    assert rude.logs["harm"] > 0.9
    assert bad.logs["harm"] < 0.1
    assert rude.logs["conversation_quality"] > 0.7
    assert rude.score < 0.1
    assert bad.score == pytest.approx(bad.logs["conversation_quality"] - bad.logs["harm"])
    assert "harm" in rude.note


def test_harm_of_the_prompt_is_not_the_response_s(model_dir: Path, harm_dir: Path) -> None:
    core = make_core(model_dir, harm_model=str(harm_dir), harm_label="toxic")
    (rating,) = core.rate([Sample(query=f"{RUDE}\n{GOOD}", prompt=f"{RUDE}\n")])
    core.close()
    assert rating.logs["harm"] < 0.1


def test_coherence_is_a_share_of_the_score(model_dir: Path, coherence_dir: Path) -> None:
    core = make_core(model_dir, coherence_model=str(coherence_dir), coherence_weight=0.4)
    good, bad, rude = core.rate([Sample(query=text) for text in (GOOD, BAD, RUDE)])
    core.close()
    for rating in (good, bad, rude):
        logs = rating.logs
        share = 0.6 * logs["conversation_quality"] + 0.4 * logs["coherence"]
        assert rating.score == pytest.approx(share)
    assert min(good.logs["coherence"], rude.logs["coherence"]) > 0.9 > bad.logs["coherence"]


@pytest.mark.parametrize("penalty", [0.0, 0.5, 1.0])
def test_score_stays_between_0_and_1_with_every_term(
    model_dir: Path, harm_dir: Path, coherence_dir: Path, penalty: float
) -> None:
    core = make_core(
        model_dir,
        harm_model=str(harm_dir),
        harm_label="toxic",
        coherence_model=str(coherence_dir),
        coherence_weight=0.5,
        relevance_weight=0.5,
        **dict.fromkeys(
            ("harm_penalty", "short_penalty", "refusal_penalty", "repetition_penalty"), penalty
        ),
    )
    texts = [GOOD, BAD, RUDE, "", "no", f"{RUDE} " * 20, "I'm sorry, I can't help with that."]
    ratings = core.rate([Sample(query=text) for text in texts])
    core.close()
    assert all(rating.graded and 0 <= rating.reward == rating.score <= 1 for rating in ratings)


def test_model_for_harm_with_many_labels_needs_one_named(model_dir: Path, harm_dir: Path) -> None:
    core = make_core(model_dir, harm_model=str(harm_dir))
    wanted = "has 3 labels; set GRADER_CONVERSATION_HARM_LABEL to one of: toxic, threat, insult"
    with pytest.raises(ConfigurationError, match=wanted):
        core.check()
    (rating,) = core.rate([Sample(query=GOOD)])
    assert not rating.graded


def test_shares_of_the_score_are_no_more_than_all_of_it() -> None:
    ConversationSettings(relevance_weight=1.0)
    with pytest.raises(ConfigurationError, match="relevance_weight"):
        ConversationSettings(relevance_weight=0.6, coherence_model="m", coherence_weight=0.5)


def test_model_is_where_the_settings_say_whatever_the_default_device(model_dir: Path) -> None:
    settings = ConversationSettings(model=str(model_dir))
    expected = qualities([GOOD, BAD], settings)
    torch.set_default_device("meta")
    try:
        assert qualities([GOOD, BAD], settings) == pytest.approx(expected)
    finally:
        torch.set_default_device(None)

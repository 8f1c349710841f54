"""Reviews of products: texts of heavy-tailed length, the tone of a product its own, written somewhere on a map."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as fn

from shedding.ingest.generators.popularity import key_of
from shedding.ingest.generators.rhythm import MINUTE, normal, uniform
from shedding.spec.dataset import GeneratorSource
from shedding.spec.traffic import ReviewTraffic

_PRAISE = ("good", "great", "lovely", "solid", "fast", "perfect")
_BLAME = ("bad", "poor", "broken", "slow", "cheap", "awful")
_PLAIN = (
    "the", "it", "and", "my", "was", "box", "after", "a", "week", "not", "very", "we", "bought", "this", "for", "in",
    "really", "with", "never", "work", "at", "home", "no", "box.", "day.", "again.", "price", "is", "on", "time.",
)  # fmt: skip
_WORDY = 0.2
"""Share of the words that say what the writer thinks."""


def reviews(source: GeneratorSource) -> dict[str, Column]:
    """Columns of a review, from `minute`, `index` and `calm`."""
    traffic, seed = source.traffic, source.seed
    assert isinstance(traffic, ReviewTraffic)
    minute, index = fn.col("minute"), fn.col("index")

    def draw(name: str) -> Column:
        return uniform(seed, name, minute, index)

    product = key_of(traffic, draw("product"), minute, index, fn.col("calm"), seed)
    liked = 0.2 + 0.6 * uniform(seed, "liked", product)
    length = fn.exp(fn.log(fn.lit(traffic.words)) + normal(seed, "length", minute, index) * traffic.spread)
    words = fn.least(fn.greatest(fn.floor(length), fn.lit(1)), fn.lit(traffic.longest)).cast("int")

    def word(place: Column) -> Column:
        kind, which = uniform(seed, "kind", minute, index, place), uniform(seed, "word", minute, index, place)
        said = fn.when(kind < _WORDY * liked, _one_of(_PRAISE, which)).when(kind < _WORDY, _one_of(_BLAME, which))
        return said.otherwise(_one_of(_PLAIN, which))

    far = fn.exp(normal(seed, "far", minute, index) * 1.2) * 0.2
    seconds = fn.floor(draw("second") * MINUTE)
    return {
        "time": fn.timestamp_micros((minute * MINUTE + seconds).cast("bigint")),
        "product": fn.concat(fn.lit("p"), product.cast("string")),
        "text": fn.array_join(fn.transform(fn.sequence(fn.lit(1), words), word), " "),
        "stars": fn.least(fn.floor(liked * 3 + draw("stars") * 3) + 1, fn.lit(5)).cast("int"),
        "longitude": fn.round(10.0 + far * (2 * draw("east") - 1) * 3, 4),
        "latitude": fn.round(50.0 + far * (2 * draw("north") - 1) * 2, 4),
    }


def _one_of(words: tuple[str, ...], place: Column) -> Column:
    return fn.get(fn.array(*[fn.lit(word) for word in words]), fn.floor(place * len(words)).cast("int"))

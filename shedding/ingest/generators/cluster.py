"""Task events of a compute cluster: few users own most events, each with a typical request."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as fn

from shedding.ingest.generators.popularity import key_of, value_factor
from shedding.ingest.generators.rhythm import MINUTE, normal, uniform
from shedding.spec.dataset import GeneratorSource
from shedding.spec.traffic import ClusterTraffic


def task_events(source: GeneratorSource) -> dict[str, Column]:
    """Columns of a task event, from `minute`, `index` and `calm`."""
    traffic, seed = source.traffic, source.seed
    assert isinstance(traffic, ClusterTraffic)
    minute, index = fn.col("minute"), fn.col("index")

    def draw(name: str) -> Column:
        return uniform(seed, name, minute, index)

    # A user submits many tasks at once: part of a minute's rows share one draw.
    together = fn.when(draw("together") < traffic.runs, uniform(seed, "run", minute)).otherwise(draw("user"))
    user = key_of(traffic, together, minute, index, fn.col("calm"), seed)
    typical = fn.exp(fn.lit(-3.4) + normal(seed, "typical", user) * 0.9)
    request = typical * fn.exp(normal(seed, "request", minute, index) * 0.3) * value_factor(traffic, minute)
    own_class = fn.floor(uniform(seed, "class", user) * traffic.classes)
    other_class = fn.floor(draw("other_class") * traffic.classes)
    seconds = fn.floor(draw("second") * MINUTE)
    return {
        "time": fn.timestamp_micros((minute * MINUTE + seconds).cast("bigint")),
        "job_id": fn.concat(user.cast("string"), fn.lit("."), fn.floor(draw("job") * 12).cast("string")),
        "task_index": fn.floor(draw("task") * 5000).cast("int"),
        "event_type": fn.floor(draw("event") * 5).cast("int"),
        "user_id": fn.concat(fn.lit("user"), user.cast("string")),
        "scheduling_class": fn.when(draw("usual") < 0.8, own_class).otherwise(other_class).cast("int"),
        "priority": fn.floor(uniform(seed, "priority", user) * 12).cast("int"),
        "cpu_request": fn.when(draw("missing") >= 0.002, fn.least(request, fn.lit(1.0))),
        "memory_request": fn.least(request * 0.8 * (0.5 + draw("memory")), fn.lit(1.0)),
    }

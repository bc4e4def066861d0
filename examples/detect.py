"""Which orders were served, and which were forgotten? The same question to a table and a stream.

.venv/bin/python examples/detect.py
"""

import os
import sys
from datetime import UTC, datetime, timedelta
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession

import ppm

KINDS = {"order": "kind = 'order'", "meal": "kind = 'meal'"}
PATTERNS = [
    ppm.Pattern(name="served", events=KINDS, sequence="order -> meal", within="30 min"),
    ppm.Pattern(name="forgotten", events=KINDS, sequence="order !-> meal", within="30 min"),
]
SCHEMA = "guest string, at timestamp, kind string, euros double"
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def rows(*events):
    return [(who, NOON + timedelta(minutes=m), kind, euros) for who, m, kind, euros in events]


LUNCH = rows(("Ada", 0, "order", 12.5), ("Ben", 5, "order", 9.0), ("Ada", 20, "meal", None))
LATER = rows(("Cleo", 50, "order", 15.0), ("Cleo", 75, "meal", None))

os.environ["PYSPARK_PYTHON"] = sys.executable  # Spark's workers need what is installed here
quiet = {"spark.log.level": "OFF", "spark.ui.enabled": False, "spark.ui.showConsoleProgress": False}
small = {"spark.sql.shuffle.partitions": 2, "spark.sql.session.timeZone": "UTC"}
spark = SparkSession.builder.master("local[2]").config(map=quiet | small).getOrCreate()
asked = {"subject": "guest", "time": "at", "measures": {"euros": "last(order.euros)"}}


def show(found):
    for one in found.orderBy("at").toArrow().to_pylist():
        print(f"  {one['at']:%H:%M} {one['pattern']}: {one['guest']}, {one['euros']} euros")


print("A table, all at once:")
table = spark.createDataFrame(LUNCH + LATER, SCHEMA)
show(ppm.detect(table, PATTERNS, shards=2, **asked))

print("A stream, as far as it is certain; rows may come 10 min late:")
with TemporaryDirectory() as folder:
    for part in (LUNCH, LATER):
        spark.createDataFrame(part, SCHEMA).coalesce(1).write.parquet(f"{folder}/in", mode="append")
    stream = spark.readStream.schema(table.schema).parquet(f"{folder}/in")
    found = ppm.detect(stream, PATTERNS, lateness="10 min", shards=2, **asked)
    files = found.writeStream.option("checkpointLocation", f"{folder}/checkpoint")
    query = files.trigger(availableNow=True).start(f"{folder}/out", format="parquet")
    query.awaitTermination()
    show(spark.read.parquet(f"{folder}/out"))
    print(f"The watermark is {query.lastProgress['eventTime']['watermark']}.")
spark.stop()

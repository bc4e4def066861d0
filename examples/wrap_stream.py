"""A stream that was there before, and the two lines that protect it.

.venv/bin/python examples/wrap_stream.py
"""

import os
import sys
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from zoneinfo import ZoneInfo

from pyspark.sql import SparkSession

import ppm

HOUSE = Path(__file__).parents[1] / "policies" / "quiet-house.yaml"
SCHEMA = "flat string, ts timestamp, sensor string, watts double"
DAY = datetime(2026, 3, 1, tzinfo=ZoneInfo("Europe/Oslo"))
DIARY = {  # what happens in flat-1 on this day, as hours and minutes
    "medicine_box": "07:05 20:02",
    "kitchen_tap": "07:09 12:01 17:40 20:04",
    "bed": "22:40 23:35",
    "bathroom": "06:40 22:55 23:40",
    "doorbell": "15:20",
    "front_door": "08:30 15:21 16:55",
    "oven": "12:05 17:45",
    "tv": "18:30 19:15 20:30 21:10",
}
PRIVATE = ["medicine_box", "kitchen_tap", "bed", "bathroom", "doorbell", "front_door"]


def rows():
    """Sensors report when something is used; the last row lets the day's last hour close."""
    for sensor, times in DIARY.items():
        for clock in times.split():
            hours, minutes = map(int, clock.split(":"))
            yield "flat-1", DAY + timedelta(hours=hours, minutes=minutes), sensor, None
    yield "flat-1", DAY + timedelta(days=1, minutes=10), "fridge", 90.0


def run(stream, folder):
    """Whatever is done with the stream: here it is written to files, and these are read."""
    files = stream.writeStream.option("checkpointLocation", f"{folder}/checkpoint")
    files.trigger(availableNow=True).start(f"{folder}/out", format="parquet").awaitTermination()
    return spark.read.parquet(f"{folder}/out").where("flat = 'flat-1'").collect()


def line_of(sensor, seen):
    hours = {(row.ts.astimezone(DAY.tzinfo) - DAY) // timedelta(hours=1) for row in seen
             if row.sensor == sensor}  # fmt: skip
    return "".join("#" if hour in hours else "." for hour in range(24))


os.environ["PYSPARK_PYTHON"] = sys.executable  # Spark's workers need what is installed here
quiet = {"spark.log.level": "OFF", "spark.ui.enabled": False, "spark.ui.showConsoleProgress": False}
small = {"spark.sql.shuffle.partitions": 2, "spark.sql.session.timeZone": "UTC"}
spark = SparkSession.builder.master("local[2]").config(map=quiet | small).getOrCreate()

with TemporaryDirectory() as folder:
    spark.createDataFrame([*rows()], SCHEMA).write.parquet(f"{folder}/in")
    sensors = spark.readStream.schema(SCHEMA).parquet(f"{folder}/in")
    before = run(sensors, f"{folder}/before")

    # A seed makes this page the same for everybody, and hides nothing: give a secret instead.
    guard = ppm.load(HOUSE, mode="evaluation", seed=2026)
    sensors = guard.protect(sensors, community="care-team")
    after = run(sensors, f"{folder}/after")

print("flat-1 on 1 March, hour by hour      what the care team gets")
for sensor in DIARY:
    said = "" if sensor in PRIVATE else "   exact"
    print(f"{sensor:12} {line_of(sensor, before)}   {line_of(sensor, after)}{said}")
print()
for promise in guard.explain("care-team").communities[0].patterns:
    print(f"{promise.pattern}: epsilon {promise.numbers.slot:g} a slot")
spark.stop()

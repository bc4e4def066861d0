"""A stream in a process of its own, so that a test can kill it: python stream_job.py FOLDER."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

import ppm


def main(folder: str) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.log.level", "OFF")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    rows = (
        spark.readStream.schema("who string, ts timestamp, n bigint, label string, price double")
        .option("maxFilesPerTrigger", 1)
        .parquet(f"{folder}/in")
    )
    found = ppm.detect(
        rows,
        ppm.Pattern.model_validate(
            {
                "name": "rise",
                "events": {kind.lower(): f"label = '{kind}'" for kind in "ABC"},
                "sequence": "a -> b -> c",
                "within": "10 min",
            }
        ),
        subject="who",
        time="ts",
        event_id="n",
        lateness="2 min",
        shards=4,
    )
    (
        found.writeStream.format("parquet")
        .option("path", f"{folder}/out")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start()
        .awaitTermination()
    )


if __name__ == "__main__":
    main(sys.argv[1])

import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import org.apache.flink.api.common.JobExecutionResult;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/**
 * The peer of ppm.detect: x -> y -> z per key with Flink CEP, from arrays in memory to a sink that
 * discards.
 *
 * <p>Arguments: file, events, events of the warm-up, lateness in ms, within in ms, whether to filter
 * irrelevant events before the exchange, and patterns as three labels each. Prints one line: matches
 * and milliseconds of the job, without the start of the JVM, loading and submission.
 */
public final class Detect {
    private static final int PARALLELISM = 2;

    /** One event; a POJO, so that Flink's own serializer takes it. */
    public static final class Event {
        public long key;
        public long time;
        public long id;
        public byte label;
    }

    /** What a user would be told: whose match, and the three events. */
    public static final class Match {
        public long key;
        public long[] times;
        public long[] ids;
    }

    /** Tasks are threads of this JVM, and a pattern's function may not have accumulators. */
    private static final LongAdder MATCHES = new LongAdder();

    private static long[] keys;
    private static long[] times;
    private static byte[] labels;

    public static void main(String[] args) throws Exception {
        int events = Integer.parseInt(args[1]);
        int warm = Integer.parseInt(args[2]);
        load(Path.of(args[0]), events);
        String[] patterns = args[6].split(",");
        Duration lateness = Duration.ofMillis(Long.parseLong(args[3]));
        Duration within = Duration.ofMillis(Long.parseLong(args[4]));
        boolean filters = Boolean.parseBoolean(args[5]);
        run(warm, lateness, within, filters, patterns);
        MATCHES.reset();
        JobExecutionResult result = run(events, lateness, within, filters, patterns);
        System.out.println(MATCHES.sum() + " " + result.getNetRuntime());
    }

    /** The file holds all keys, then all times, then all labels; an event's id is its place. */
    private static void load(Path file, int events) throws IOException {
        try (FileChannel channel = FileChannel.open(file)) {
            long rows = channel.size() / 17;
            MappedByteBuffer bytes = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size());
            bytes.order(ByteOrder.LITTLE_ENDIAN);
            keys = new long[events];
            times = new long[events];
            labels = new byte[events];
            bytes.asLongBuffer().get(0, keys).get((int) rows, times);
            bytes.get((int) (16 * rows), labels);
        }
    }

    private static JobExecutionResult run(
            int events, Duration lateness, Duration within, boolean filters, String[] patterns)
            throws Exception {
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.createLocalEnvironment(PARALLELISM);
        env.getConfig().enableObjectReuse();
        DataStream<Event> stream =
                env.fromSource(
                        source(events),
                        WatermarkStrategy.<Event>forBoundedOutOfOrderness(lateness)
                                .withTimestampAssigner((event, unset) -> event.time),
                        "events");
        if (filters) {
            String wanted = String.join("", patterns);
            stream = stream.filter(event -> wanted.indexOf(event.label) >= 0);
        }
        for (String pattern : patterns) {
            CEP.pattern(stream.keyBy(event -> event.key), sequence(pattern, within))
                    .process(new Tell())
                    .sinkTo(new DiscardingSink<>());
        }
        return env.execute();
    }

    /** Each of two readers gets one half of the numbers; both walk through all of time. */
    private static DataGeneratorSource<Event> source(int events) {
        int half = (events + 1) / 2;
        return new DataGeneratorSource<>(
                number -> at((int) (number < half ? 2 * number : 2 * (number - half) + 1)),
                events,
                RateLimiterStrategy.noOp(),
                TypeInformation.of(Event.class));
    }

    private static Event at(int place) {
        Event event = new Event();
        event.key = keys[place];
        event.time = times[place];
        event.id = place;
        event.label = labels[place];
        return event;
    }

    private static Pattern<Event, Event> sequence(String labels, Duration within) {
        return Pattern.<Event>begin("first", AfterMatchSkipStrategy.noSkip())
                .where(labelled(labels.charAt(0)))
                .followedBy("second")
                .where(labelled(labels.charAt(1)))
                .followedBy("third")
                .where(labelled(labels.charAt(2)))
                .within(within);
    }

    private static SimpleCondition<Event> labelled(char label) {
        return SimpleCondition.of(event -> event.label == label);
    }

    private static final class Tell extends PatternProcessFunction<Event, Match> {
        @Override
        public void processMatch(
                Map<String, List<Event>> found, Context context, Collector<Match> out) {
            Event first = found.get("first").get(0);
            Event second = found.get("second").get(0);
            Event third = found.get("third").get(0);
            Match match = new Match();
            match.key = first.key;
            match.times = new long[] {first.time, second.time, third.time};
            match.ids = new long[] {first.id, second.id, third.id};
            MATCHES.increment();
            out.collect(match);
        }
    }
}

package bench.neutral;

import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/**
 * The neutral workload on Kafka Streams, exactly once. Where to work is in the environment, as for
 * headrace's processes; the arguments are pairs of settings, NAME=VALUE.
 */
public final class Tickets {
    static final int CHANGE_ID = 1;
    static final int OUTCOME_ID = 2;
    static final int TICKET_ID = 3;
    static final String STORE = "tickets";
    static final String FIRST_STATE = "open";
    static final Map<String, Map<String, String>> TRANSITIONS = Map.of(
        "open", Map.of("take", "active"),
        "active", Map.of("ask", "waiting", "finish", "done", "drop", "dropped"),
        "waiting", Map.of("answer", "active"),
        "done", Map.of("reopen", "open"),
        "dropped", Map.of("reopen", "open"));

    private Tickets() {}

    /** Decides each change by the row of its ticket. */
    static final class Decide implements Processor<String, Change, String, Outcome> {
        private ProcessorContext<String, Outcome> context;
        private KeyValueStore<String, Ticket> tickets;

        @Override
        public void init(ProcessorContext<String, Outcome> context) {
            this.context = context;
            tickets = context.getStateStore(STORE);
        }

        @Override
        public void process(Record<String, Change> record) {
            Change change = record.value();
            Ticket ticket = tickets.get(record.key());
            if (ticket == null) {
                ticket = new Ticket(FIRST_STATE, 0L, 0L, -1L, "");
            }
            String before = ticket.getState();
            String after = TRANSITIONS.get(before).get(change.getAction());
            boolean legal = after != null;
            if (legal) {
                ticket.setState(after);
                ticket.setChanges(ticket.getChanges() + 1);
            } else {
                ticket.setRefusals(ticket.getRefusals() + 1);
            }
            ticket.setLast(change.getNumber());
            ticket.setTrace(change.getTrace());
            tickets.put(record.key(), ticket);
            context.forward(record.withValue(new Outcome(
                change.getTicket(), change.getNumber(), change.getAction(), before,
                legal ? after : before, change.getAt(), change.getTrace(), legal,
                legal ? null : "not allowed")));
        }
    }

    static Properties settings(String prefix, String[] pairs) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, prefix + "kstreams");
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, System.getenv("HEADRACE_BOOTSTRAP"));
        settings.put(StreamsConfig.STATE_DIR_CONFIG, System.getenv("HEADRACE_STATE_DIR"));
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        settings.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        for (String pair : pairs) {
            int at = pair.indexOf('=');
            settings.put(pair.substring(0, at), pair.substring(at + 1));
        }
        return settings;
    }

    public static void main(String[] pairs) throws InterruptedException {
        String prefix = System.getenv("HEADRACE_PREFIX");
        StreamsBuilder builder = new StreamsBuilder();
        builder.addStateStore(Stores.keyValueStoreBuilder(
            Stores.persistentKeyValueStore(STORE), Serdes.String(), new Framed<>(Ticket.class, TICKET_ID))
            .withCachingEnabled());
        builder
            .stream(prefix + "neutral.changes",
                Consumed.with(Serdes.String(), new Framed<>(Change.class, CHANGE_ID)))
            .process(Decide::new, STORE)
            .to(prefix + "neutral.outcomes",
                Produced.with(Serdes.String(), new Framed<>(Outcome.class, OUTCOME_ID)));
        KafkaStreams streams = new KafkaStreams(builder.build(), settings(prefix, pairs));
        CountDownLatch closed = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            streams.close();
            closed.countDown();
        }));
        streams.start();
        closed.await();
    }
}

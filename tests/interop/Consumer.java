// A consumer that knows Kafka, Avro and a schema registry, and nothing of headrace.
//
// java -cp … Consumer.java BOOTSTRAP REGISTRY TOPIC…
//
// Reads each topic from its start to its end.  Prints a line of JSON for each value.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

public class Consumer {
    static final ObjectMapper JSON = new ObjectMapper();
    static final HttpClient HTTP = HttpClient.newHttpClient();
    static final Map<Integer, Schema> SCHEMAS = new HashMap<>();

    public static void main(String[] args) throws Exception {
        Map<String, Object> config = Map.of(
            "bootstrap.servers", args[0],
            "isolation.level", "read_committed",
            "key.deserializer", ByteArrayDeserializer.class,
            "value.deserializer", ByteArrayDeserializer.class);
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(config)) {
            List<TopicPartition> partitions = new ArrayList<>();
            for (String topic : Arrays.asList(args).subList(2, args.length)) {
                consumer.partitionsFor(topic)
                    .forEach(info -> partitions.add(new TopicPartition(topic, info.partition())));
            }
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            while (partitions.stream().anyMatch(p -> consumer.position(p) < ends.get(p))) {
                for (ConsumerRecord<byte[], byte[]> found : consumer.poll(Duration.ofSeconds(1))) {
                    if (found.value() != null) {
                        print(found, decode(found.value(), args[1]));
                    }
                }
            }
        }
    }

    static GenericRecord decode(byte[] value, String registry) throws Exception {
        ByteBuffer framed = ByteBuffer.wrap(value);
        if (framed.get() != 0) {
            throw new IllegalStateException("not framed");
        }
        Schema schema = schema(framed.getInt(), registry);
        BinaryDecoder body = DecoderFactory.get().binaryDecoder(value, 5, value.length - 5, null);
        GenericRecord found = new GenericDatumReader<GenericRecord>(schema).read(null, body);
        if (!body.isEnd()) {
            throw new IllegalStateException("bytes are left over");
        }
        return found;
    }

    static Schema schema(int id, String registry) throws Exception {
        if (!SCHEMAS.containsKey(id)) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(registry + "/schemas/ids/" + id))
                .header("Accept", "application/vnd.schemaregistry.v1+json").build();
            String answer = HTTP.send(request, HttpResponse.BodyHandlers.ofString()).body();
            JsonNode text = JSON.readTree(answer).get("schema");
            SCHEMAS.put(id, new Schema.Parser().parse(text.asText()));
        }
        return SCHEMAS.get(id);
    }

    static void print(ConsumerRecord<byte[], byte[]> found, GenericRecord value) throws Exception {
        System.out.println(JSON.writeValueAsString(Map.of(
            "position", found.topic() + "/" + found.partition() + "/" + found.offset(),
            "record", value.getSchema().getFullName(),
            "value", JSON.readTree(value.toString()))));
    }
}

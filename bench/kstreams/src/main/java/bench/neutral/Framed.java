package bench.neutral;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.avro.specific.SpecificDatumReader;
import org.apache.avro.specific.SpecificDatumWriter;
import org.apache.avro.specific.SpecificRecordBase;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serializer;

/** The classes that Avro generates from a schema, in the frame of Confluent: 0, a schema id, the body. */
final class Framed<T extends SpecificRecordBase> implements Serde<T>, Serializer<T>, Deserializer<T> {
    private static final int FRAME = 5;
    private final byte id;
    private final SpecificDatumReader<T> reader;
    private final SpecificDatumWriter<T> writer;
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream(512);
    private BinaryDecoder decoder;
    private BinaryEncoder encoder;

    Framed(Class<T> type, int id) {
        this.id = (byte) id;
        reader = new SpecificDatumReader<>(type);
        writer = new SpecificDatumWriter<>(type);
    }

    @Override
    public byte[] serialize(String topic, T value) {
        if (value == null) {
            return null;
        }
        bytes.reset();
        for (int i = 1; i < FRAME; i++) {
            bytes.write(0);
        }
        bytes.write(id);
        try {
            encoder = EncoderFactory.get().binaryEncoder(bytes, encoder);
            writer.write(value, encoder);
            encoder.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    @Override
    public T deserialize(String topic, byte[] value) {
        if (value == null) {
            return null;
        }
        try {
            decoder = DecoderFactory.get().binaryDecoder(value, FRAME, value.length - FRAME, decoder);
            return reader.read(null, decoder);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public Serializer<T> serializer() {
        return this;
    }

    @Override
    public Deserializer<T> deserializer() {
        return this;
    }

    @Override
    public void configure(java.util.Map<String, ?> configs, boolean isKey) {}

    @Override
    public void close() {}
}

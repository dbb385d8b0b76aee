import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Publishes to everyone who has a document open.
 *
 * <pre>java -cp 'kafka-clients.jar:slf4j-api.jar' Producer.java localhost:9092 minutes '{"text":"hello from Java"}'</pre>
 */
public class Producer {
  public static void main(String[] args) throws Exception {
    String brokers = args[0];
    String guid = args[1];
    Map<String, Object> settings = Map.of("bootstrap.servers", brokers);
    try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
      // the key is the guid, so that a document's records keep their order; inkcast reads the headers only and passes
      // the value on unchanged
      var record = new ProducerRecord<>("documents.downlink", guid, args[2]);
      record.headers().add("x-operator", "broadcast".getBytes());
      record.headers().add("x-guid", guid.getBytes());
      var metadata = producer.send(record).get();
      System.out.println("partition " + metadata.partition() + ", offset " + metadata.offset());
    }
  }
}

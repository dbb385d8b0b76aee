// Publishes to everyone who has a document open.
//
//	go mod init producer && go get github.com/twmb/franz-go/pkg/kgo
//	go run producer.go localhost:9092 minutes '{"text":"hello from Go"}'
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	brokers, guid, value := os.Args[1], os.Args[2], os.Args[3]
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	// the key is the guid, so that a document's records keep their order; inkcast reads the headers only and passes the
	// value on unchanged
	record := &kgo.Record{
		Topic: "documents.downlink",
		Key:   []byte(guid),
		Value: []byte(value),
		Headers: []kgo.RecordHeader{
			{Key: "x-operator", Value: []byte("broadcast")},
			{Key: "x-guid", Value: []byte(guid)},
		},
	}
	if err := client.ProduceSync(context.Background(), record).FirstErr(); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("partition %d, offset %d\n", record.Partition, record.Offset)
}

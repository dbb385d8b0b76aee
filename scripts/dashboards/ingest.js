import { graph, highest, perSecond, processPanels, quantile, stat } from './panels.js'

const BAD = 'role="ingest",result!~"ok|duplicate|passed_over"'

/** @type {import('./panels.js').Dashboard} */
export const ingest = {
  name: 'inkcast-ingest',
  title: 'inkcast: ingest',
  about: 'From Kafka to the logs.',
  rows: {
    Now: [
      stat('Records', 'Ingested per second.', 'short', perSecond('records_total', 'role="ingest",result="ok"')),
      stat('Lag', 'Records that are not ingested yet.', 'short', `sum (${highest('kafka_lag', '', 'partition')})`, 10_000),
      stat('Dead letters', 'Per second.', 'short', perSecond('records_total', BAD), 1),
      stat('Canary', 'Age of the oldest canary.', 's', highest('canary_age_seconds'), 15)
    ],
    Records: [
      graph('Records', 'By operator.', 'short', [
        ['{{operator}}', perSecond('records_total', 'role="ingest",result="ok"', 'operator')]
      ]),
      graph('Dead letters', 'By error code. A publisher writes bad records.', 'short', [
        ['{{result}}', perSecond('records_total', BAD, 'result')]
      ]),
      graph('Duplicates', 'Dropped. A few after a restart are normal.', 'short', [
        ['{{result}}', perSecond('records_total', 'role="ingest",result=~"duplicate|passed_over"', 'result')]
      ])
    ],
    Delay: [
      graph('Lag by partition', 'Growth: ingest is too slow or stuck.', 'short', [
        ['{{partition}}', highest('kafka_lag', '', 'partition')]
      ]),
      graph('Produced to ingested', 'Time in Kafka and in ingest.', 's', [
        ['p50', quantile(0.5, 'stage_seconds', 'stage="produced_ingested"')],
        ['p99', quantile(0.99, 'stage_seconds', 'stage="produced_ingested"')]
      ]),
      graph('Canaries by partition', 'Above a second records are late; above 15 s none come through.', 's', [
        ['{{partition}}', highest('canary_age_seconds', '', 'partition')]
      ])
    ],
    Processes: processPanels('ingest')
  }
}

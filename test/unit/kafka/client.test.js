import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeKafka, createKafka } from '../../../src/kafka/client.js'
import { recordingLog } from '../../helpers/recording-log.js'
import { waitFor } from '../../helpers/wait.js'
import { freePort } from '../../services/ports.js'

test('a Kafka that cannot be reached is told with its address and the cause, whatever the log level', async () => {
  const port = await freePort()
  /** @type {string[]} */
  const told = []
  const settings = /** @type {any} */ ({ brokers: [`127.0.0.1:${port}`], ssl: false })
  const kafka = createKafka({
    settings,
    log: recordingLog().log,
    name: 'test',
    onWaits: (message) => {
      told.push(message)
    }
  })
  const ended = assert.rejects(kafka.producer().connect())
  await waitFor(() => told.length > 0)
  closeKafka(kafka)
  await ended
  assert.deepEqual(
    [...new Set(told)],
    [`Kafka cannot be used at 127.0.0.1:${port} (KAFKA_BROKERS): connect ECONNREFUSED 127.0.0.1:${port}; trying again`]
  )
})

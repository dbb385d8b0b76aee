import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../../src/base/common/clock.js'
import { createClient } from '../../../../src/kafka/kafkajs/client.js'
import { recordingLog } from '../../../helpers/recording-log.js'
import { waitFor } from '../../../helpers/wait.js'
import { freePort } from '../../../services/ports.js'

test('an unreachable Kafka is reported with its address and the cause, at any log level', async () => {
  const port = await freePort()
  /** @type {string[]} */
  const told = []
  const settings = /** @type {any} */ ({ brokers: [`127.0.0.1:${port}`], ssl: false })
  const kafka = createClient({
    settings,
    log: recordingLog().log,
    name: 'test',
    onWaits: (message) => { told.push(message) },
    clock: systemClock
  })
  const ended = assert.rejects(kafka.producer().connect())
  await waitFor(() => told.length > 0)
  settings.brokers.length = 0 // without brokers kafkajs stops retrying
  await ended
  assert.deepEqual(
    [...new Set(told)],
    [`Kafka cannot be used at 127.0.0.1:${port} (KAFKA_BROKERS): connect ECONNREFUSED 127.0.0.1:${port}; trying again`]
  )
})

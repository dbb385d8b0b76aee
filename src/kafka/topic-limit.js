import kafkajs from 'kafkajs'
import { closeQuietly } from './close.js'

const SETTING = 'max.message.bytes'
/** It is asked for beside the connection of a producer, which does not wait longer for it, ms. */
const TIMEOUT = 2000
const CLOSE_TIMEOUT = 1000

/**
 * How large the batch of one partition may be in a topic, bytes.
 *
 * @param {Pick<import('kafkajs').Kafka, 'admin'>} kafka
 * @param {string} topic
 * @returns {Promise<number | undefined>} undefined where Kafka does not tell: it takes the permission DescribeConfigs.
 *   Never rejects
 */
export async function fetchMaxBytes (kafka, topic) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((resolve) => { timer = setTimeout(resolve, TIMEOUT, undefined) })
  try {
    return await Promise.race([ask(kafka, topic).catch(() => undefined), late])
  } finally {
    clearTimeout(timer)
  }
}

/** @param {Pick<import('kafkajs').Kafka, 'admin'>} kafka @param {string} topic */
async function ask (kafka, topic) {
  const admin = kafka.admin({ retry: { retries: 0 } })
  try {
    await admin.connect()
    const resource = { type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configNames: [SETTING] }
    const {
      resources: [{ configEntries }]
    } = await admin.describeConfigs({ includeSynonyms: false, resources: [resource] })
    const bytes = Number(configEntries.find(({ configName }) => configName === SETTING)?.configValue)
    return bytes > 0 ? bytes : undefined
  } finally {
    closeQuietly(admin, CLOSE_TIMEOUT)
  }
}

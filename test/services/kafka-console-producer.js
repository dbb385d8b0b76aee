/**
 * Kafka's own Java producer, through its console tool: records and compressed batches from a client other than the one
 * under test.
 */
import { spawn } from 'node:child_process'

// The tool reads one record a line. Its usual separators (tab, comma, colon) occur in real headers, control characters
// don't.
const BETWEEN_FIELDS = '\u0001'
const BETWEEN_HEADERS = '\u0002'
const AFTER_HEADER_NAME = '\u0003'
const NOTHING = '\u0004'
// eslint-disable-next-line no-control-regex
const FORBIDDEN = /[\u0001-\u0004\r\n]/

/**
 * @typedef {object} JavaRecord
 * @property {string | null} [key]
 * @property {Record<string, string>} [headers]
 * @property {string | null} value one line of text; null is a tombstone
 */

/**
 * Sends the records, in order, in as few batches as possible, and resolves when the broker has acknowledged all of them
 * (about 0.7 s: it starts a Java process).
 *
 * @param {object} options
 * @param {string} options.classpath as startKafka and ensureKafkaJars give it
 * @param {string} options.brokers
 * @param {string} options.topic must exist
 * @param {JavaRecord[]} options.records
 * @param {'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd'} [options.compression] default none
 * @param {number} [options.timeoutMs] for the whole call, default 30,000
 * @returns {Promise<void>}
 * @throws {Error} with the tool's output when not everything was acknowledged; TypeError for text that does not fit on
 *   a line
 */
export async function produceWithJava ({
  classpath, brokers, topic, records,
  compression = 'none',
  timeoutMs = 30_000
}) {
  const input = records.map((record) => `${toLine(record)}\n`).join('')
  const { code, output } = await runTool(
    [
      '-cp',
      classpath,
      'org.apache.kafka.tools.ConsoleProducer',
      '--bootstrap-server',
      brokers,
      '--topic',
      topic,
      '--compression-codec',
      compression,
      // the tool's default sends after 1 s or 16 KB; batches of up to 1 MB are typical of a busy producer
      '--batch-size',
      String(1024 * 1024),
      '--max-block-ms',
      '10000',
      '--command-property',
      `max.request.size=${2 * 1024 * 1024}`,
      ...[
        'parse.headers=true',
        'parse.key=true',
        `headers.delimiter=${BETWEEN_FIELDS}`,
        `key.separator=${BETWEEN_FIELDS}`,
        `headers.separator=${BETWEEN_HEADERS}`,
        `headers.key.separator=${AFTER_HEADER_NAME}`,
        `null.marker=${NOTHING}`
      ].flatMap((property) => ['--reader-property', property])
    ],
    input,
    timeoutMs
  )
  // the tool only logs a refused record: its exit code stays 0
  if (code !== 0 || output.includes(' ERROR '))
    throw new Error(`the Java producer failed (exit code ${code})\n${output}`)
}

/**
 * @param {JavaRecord} record
 * @returns {string}
 */
function toLine ({ key = null, headers = {}, value }) {
  const names = Object.keys(headers)
  for (const text of [key, value, ...names, ...Object.values(headers)]) {
    if (text !== null && FORBIDDEN.test(text)) throw new TypeError(`not one line of text: ${JSON.stringify(text)}`)
  }
  return [
    names.length === 0
      ? NOTHING
      : names.map((name) => `${name}${AFTER_HEADER_NAME}${headers[name]}`).join(BETWEEN_HEADERS),
    key ?? NOTHING,
    value ?? NOTHING
  ].join(BETWEEN_FIELDS)
}

/**
 * @param {string[]} args
 * @param {string} input
 * @param {number} timeoutMs
 * @returns {Promise<{ code: number | null, output: string }>}
 */
function runTool (args, input, timeoutMs) {
  return new Promise((resolve, reject) => {
    const options = [
      '-Xmx128m',
      '-XX:TieredStopAtLevel=1',
      '-XX:+UseSerialGC',
      '-Dfile.encoding=UTF-8',
      '-Dorg.slf4j.simpleLogger.defaultLogLevel=error'
    ]
    const child = spawn('java', [...options, ...args],
      { timeout: timeoutMs, killSignal: 'SIGKILL', stdio: ['pipe', 'pipe', 'pipe'] })
    let output = ''
    const keep = (/** @type {Buffer} */ chunk) => { output = (output + chunk).slice(-4000) }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, output }))
    child.stdin.on('error', () => {}) // the tool ended before it had read everything; the exit code shows it
    child.stdin.end(input)
  })
}

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { pythonEnvironment } from './python-environment.js'

/** paho-mqtt, an MQTT client that shares no code with the JavaScript ones. */

const { python, lacks } = pythonEnvironment(['paho-mqtt==2.2.0'])
const run = promisify(execFile)

export { lacks as lacksPahoMqtt }

/**
 * Runs test/helpers/python_mqtt.py to its end.
 * @param {object} options
 * @returns {Promise<any[]>} what it printed
 */
export async function runPaho (options) {
  const file = fileURLToPath(new URL('python_mqtt.py', import.meta.url))
  const { stdout } = await run(python, [file, JSON.stringify(options)], { timeout: 30_000 })
  return stdout.trim().split('\n').map((line) => JSON.parse(line))
}

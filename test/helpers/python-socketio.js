import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { pythonEnvironment } from './python-environment.js'

/** python-socketio, a client of the Socket.IO protocol that shares no code with the JavaScript ones. */

const { python, lacks } = pythonEnvironment(['python-socketio==5.18.1', 'requests==2.34.2', 'websocket-client==1.9.2'])

export { lacks as lacksPythonSocketio }

/**
 * Starts test/helpers/python_client.py.
 * @param {{ after: (stop: () => unknown) => void }} t
 * @param {string[]} args
 */
export function startPythonClient (t, ...args) {
  const file = fileURLToPath(new URL('python_client.py', import.meta.url))
  const child = spawn(python, [file, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill())
  /** @type {any[]} */
  const printed = []
  createInterface(child.stdout).on('line', (line) => printed.push(JSON.parse(line)))
  return { printed, end: () => child.stdin.end('\n') }
}

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { onPath } from '../services/install.js'

/** The library of Standard Webhooks for Python: it shares no code with inkcast or with the one of JavaScript. */

const PACKAGE = 'standardwebhooks==1.1.0'
const folder = join(homedir(), '.cache', 'inkcast', PACKAGE)
const python = join(folder, 'bin', 'python')
const run = promisify(execFile)

const VERIFY = `
import base64, json, sys
from standardwebhooks.webhooks import Webhook, WebhookVerificationError
request = json.load(sys.stdin)
try:
    events = Webhook(request['secret']).verify(base64.b64decode(request['body']), request['headers'])
    print(json.dumps({'events': len(events)}))
except WebhookVerificationError as error:
    print(json.dumps({'error': str(error)}))
`

/** @returns {Promise<string | false>} why it is not available, as a reason to skip; installs it */
export async function lacksPythonWebhooks () {
  if (!onPath('python3')) return 'there is no python3'
  if (existsSync(join(folder, 'complete'))) return false
  try {
    await run('python3', ['-m', 'venv', folder])
    await run(python, ['-m', 'pip', 'install', '--quiet', PACKAGE], { timeout: 120_000 })
    await run('touch', [join(folder, 'complete')])
    return false
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    return `standardwebhooks cannot be installed: ${String(error).split('\n')[0]}`
  }
}

/**
 * @param {{ secret: string, headers: Record<string, unknown>, body: Buffer }} request
 * @returns {Promise<{ events?: number, error?: string }>}
 */
export async function verifyInPython ({ secret, headers, body }) {
  const running = run(python, ['-c', VERIFY])
  running.child.stdin?.end(JSON.stringify({ secret, headers, body: body.toString('base64') }))
  return JSON.parse((await running).stdout)
}

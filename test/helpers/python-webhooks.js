import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { pythonEnvironment } from './python-environment.js'

/** The library of Standard Webhooks for Python: it shares no code with inkcast or with the one of JavaScript. */

const { python, lacks } = pythonEnvironment(['standardwebhooks==1.1.0'])
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

export { lacks as lacksPythonWebhooks }

/**
 * @param {{ secret: string, headers: Record<string, unknown>, body: Buffer }} request
 * @returns {Promise<{ events?: number, error?: string }>}
 */
export async function verifyInPython ({ secret, headers, body }) {
  const running = run(python, ['-c', VERIFY])
  running.child.stdin?.end(JSON.stringify({ secret, headers, body: body.toString('base64') }))
  return JSON.parse((await running).stdout)
}

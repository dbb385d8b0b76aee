import { createServer } from 'node:http'
import { Webhook } from 'standardwebhooks'

const webhook = new Webhook(process.env.UPLINK_SECRETS ?? '')
/** Larger than any request of inkcast. Without a limit, a stranger who finds the port can fill the memory. */
const MAX_BODY = 8_000_000
createServer(async (req, res) => {
  let body = ''
  for await (const chunk of req) {
    body += chunk
    if (body.length > MAX_BODY) return void res.writeHead(413, { connection: 'close' }).end()
  }
  try {
    webhook.verify(body, /** @type {any} */ (req.headers))
  } catch {
    res.writeHead(401).end()
    return
  }
  const publish = []
  for (const { id, operator, guid, uid, event, data } of JSON.parse(body)) {
    if (operator === 'message') publish.push({ guid, event, value: { ...data, by: uid }, idempotencyKey: id })
    else console.log(operator, uid ?? '', guid ?? '')
  }
  res.setHeader('content-type', 'application/json')
  res.end(JSON.stringify({ publish }))
}).listen(Number(process.env.WEBHOOK_PORT ?? 4000))

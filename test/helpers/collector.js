import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'

/**
 * A collector of traces that keeps the spans it gets (OTLP over HTTP, as JSON), closed after the test.
 * @param {{ after: (stop: () => unknown) => void }} t
 */
export async function startCollector (t) {
  /**
   * @type {{ name: string, traceId: string, spanId: string, parentSpanId?: string, status: { code?: number },
   *   attributes: Record<string, any>, service: string, pid: number, ms: number }[]}
   */
  const spans = []
  const server = createServer(async (req, res) => {
    const { resourceSpans } = /** @type {any} */ (await json(req))
    for (const { resource, scopeSpans } of resourceSpans) {
      const { 'service.name': service, 'process.pid': pid } = fieldsOf(resource.attributes)
      for (const span of scopeSpans.flatMap((/** @type {any} */ { spans }) => spans)) {
        const ms = Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6
        spans.push({ ...span, attributes: fieldsOf(span.attributes), service, pid, ms })
      }
    }
    res.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', () => resolve(undefined)) })
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return { url: `http://127.0.0.1:${port}`, spans }
}

/** @param {{ key: string, value: Record<string, any> }[]} attributes @returns {Record<string, any>} */
const fieldsOf = (attributes) => Object.fromEntries(
  attributes.map(({ key, value }) => [key, 'intValue' in value ? Number(value.intValue) : Object.values(value)[0]])
)

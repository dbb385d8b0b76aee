import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startClient } from '../../helpers/inkcast-client.js'
import { waitFor } from '../../helpers/wait.js'
import { freePorts } from '../../services/ports.js'

for (const transports of /** @type {const} */ ([undefined, ['websocket'], ['polling']])) {
  test(`the client names the URL that does not answer: ${transports?.join() ?? 'both transports'}`, async (t) => {
    const [port] = await freePorts(1)
    const url = `http://127.0.0.1:${port}`
    const client = startClient(t, url, transports && { transports: [...transports] })
    await waitFor(() => client.reason)
    assert.equal(client.reason?.code, 'unavailable')
    assert.match(client.reason?.message ?? '', new RegExp(`^no answer from ${url} \\((xhr|websocket|timeout).*\\)$`))
  })
}
